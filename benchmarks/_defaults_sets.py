"""The sets, splits and seeds of `defaults.py`.

The sets are in two halves, development and confirming. A source of data is in one half only, with
all tasks made of it. Drawn sets have another seed in each half; what is true of them stands in
their definition. Rows are split at random, 70 % train, within classes or events where there are
some, with the seeds of SEEDS, the same for all methods.

All methods get the same columns: missing values filled by the means of the training rows, columns
that are constant there left out, at most CAP of them, those of largest variance on the training
rows. Of long sets at most ROWS rows are drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import _protocol as protocol
import probabilities

TARGETS = ("classes", "regression", "counts", "responses", "survival")
HALVES = ("development", "confirming")
SEEDS = (91001, 91002, 91003)  # of the splits
SIZES = (5, 10, 20)
CAP, ROWS = 2000, 1000
SHARE = 0.7


@dataclass(frozen=True)
class Data:
    """All rows of a set; what is missing is NaN."""

    X: np.ndarray
    y: np.ndarray  # (n,), (n, responses), or (n, 2) of time and event; classes are 1 and -1
    exposure: np.ndarray | None = None
    truth: np.ndarray | None = None  # the features of the model that y was drawn by


@dataclass(frozen=True)
class Split:
    """One split of a set, prepared."""

    target: str
    X: np.ndarray
    y: np.ndarray
    exposure: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    exposure_test: np.ndarray
    columns: np.ndarray  # the columns of the set that X has
    truth: np.ndarray | None

    @property
    def sizes(self) -> list[int]:
        """The sizes that leave a feature out."""
        return [k for k in SIZES if k < self.X.shape[1]]


Read = Callable[[Path], Data]


# ------------------------------------------------------------------------------------- real sets


def _classes(name: str) -> Read:
    """Return a set of two classes of the other benchmarks."""

    def read(folder: Path) -> Data:
        one: Any = protocol.SETS.get(name) or probabilities.SETS[name]
        X, y = one.read(folder)
        X, y = _few(X, y)
        if one.text:
            X = protocol.unit_rows(X)
        X = _dense(X)
        if one.missing is not None:
            X[one.missing == X] = np.nan
        return Data(X, np.where(y > 0, 1.0, -1.0))

    return read


def _numbers(name: str, key: str, column: int | None = None, X: str = "X") -> Read:
    """Return a numeric target; rows without it are left out."""

    def read(folder: Path) -> Data:
        data = protocol.arrays(folder, name)
        y = np.asarray(data[key] if column is None else data[key][:, column], float)
        known = np.isfinite(y)
        return Data(_dense(data[X])[known], y[known])

    return read


def _responses(name: str, key: str, columns: slice | list[int]) -> Read:
    """Return several numeric targets; rows that lack one are left out."""

    def read(folder: Path) -> Data:
        data = protocol.arrays(folder, name)
        Y = np.asarray(data[key][:, columns], float)
        known = np.isfinite(Y).all(axis=1)
        return Data(_dense(data["X"])[known], Y[known])

    return read


def _proteins(*which: int) -> Read:
    """Return proteins of the tumours of breast_tcga, from their mRNA and microRNA."""

    def read(folder: Path) -> Data:
        X = protocol.arrays(folder, "breast_tcga")["X"].astype(float)
        Y = X[:, 384 + np.array(which)]
        return Data(X[:, :384], Y if len(which) > 1 else Y[:, 0])

    return read


def _gene(name: str, gene: int) -> Read:
    """Return a column of a set of classes, from its other columns."""

    def read(folder: Path) -> Data:
        X = _classes(name)(folder).X
        return Data(np.delete(X, gene, axis=1), X[:, gene])

    return read


def _crimes(column: int | None) -> Read:
    """Return a count of crimes with the population as exposure, or the log rates of all eight.

    What says how large a community is is no feature.
    """

    def read(folder: Path) -> Data:
        data = protocol.arrays(folder, "communities_counts")
        sizes = ["population", "numbUrban", "NumUnderPov", "NumKidsBornNeverMar", "NumImmig",
                 "HousVacant", "NumInShelters", "NumStreet"]  # fmt: skip
        X = _dense(data["X"])[:, ~np.isin(data["names"], sizes)]
        counts = np.asarray(data["counts"], float)
        exposure = data["exposure"] / 1e5
        y = np.log((counts + 0.5) / exposure[:, None]) if column is None else counts[:, column]
        known = np.isfinite(y if y.ndim == 1 else y.sum(axis=1))
        X, y, exposure = _few(X[known], y[known], exposure[known])
        return Data(X, y, None if column is None else exposure)

    return read


def _word(name: str, rank: int) -> Read:
    """Return how often a word stands in a text: the rank-th by the number of texts with it.

    The features are log(1 + count) of the other words.
    """

    def read(folder: Path) -> Data:
        counts = sp.csc_matrix(protocol.arrays(folder, name)["X"], dtype=float)
        often = np.argsort(-np.diff(counts.indptr), kind="stable")
        j = often[rank]
        y = counts[:, [j]].toarray().ravel()
        rest = np.sort(often[often != j])
        X, y = _few(counts.tocsr()[:, rest], y)
        return Data(np.log1p(_dense(X)), y)

    return read


def _claims(name: str, rows: int) -> Read:
    """Return the number of claims, with the exposure."""

    def read(folder: Path) -> Data:
        data = protocol.arrays(folder, name)
        return Data(*_few(_dense(data["X"]), data["y"].astype(float), data["exposure"], rows=rows))

    return read


def _times(name: str) -> Read:
    """Return the survival times of a shared set."""

    def read(folder: Path) -> Data:
        data = protocol.arrays(folder, name)
        return _survival(_dense(data["X"]), data["time"], data["event"])

    return read


def _shipped(load: str) -> Read:
    """Return a set that scikit-survival ships, with indicators for its categories."""

    def read(_: Path) -> Data:
        import sksurv.datasets

        X, y = getattr(sksurv.datasets, load)()
        event, time = y.dtype.names
        return _survival(_indicators(X), y[time], y[event])

    return read


def _lifelines(load: str, time: str, event: str, drop: tuple[str, ...] = ()) -> Read:
    """Return a set that lifelines ships."""

    def read(_: Path) -> Data:
        import lifelines.datasets

        frame = getattr(lifelines.datasets, load)()
        X = _indicators(frame.drop(columns=[time, event, *drop]))
        return _survival(X, frame[time], frame[event])

    return read


def _diabetes(_: Path) -> Data:
    """Return scikit-learn's diabetes, with squares and products."""
    from sklearn.datasets import load_diabetes
    from sklearn.preprocessing import PolynomialFeatures

    X, y = load_diabetes(return_X_y=True)
    return Data(PolynomialFeatures(2, include_bias=False).fit_transform(X), y)


def _tumours(_: Path) -> Data:
    """Return scikit-learn's breast cancer."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return Data(X, np.where(y > 0, 1.0, -1.0))


def _indicators(frame: Any) -> np.ndarray:
    """Return a frame as numbers; numbers that are written as categories are numbers."""
    import pandas as pd

    columns = []
    for name in frame.columns:
        one = frame[name]
        numbers = pd.to_numeric(one.astype(object), errors="coerce")
        if numbers.isna().sum() == one.isna().sum():
            columns.append(numbers.astype(float))
        else:
            columns.append(pd.get_dummies(one, prefix=name, drop_first=True, dtype=float))
    return pd.concat(columns, axis=1).to_numpy(float)


def _survival(X: np.ndarray, time: Any, event: Any) -> Data:
    """Return rows with a positive time."""
    y = np.column_stack([np.asarray(time, float), np.asarray(event, float) > 0])
    keep = y[:, 0] > 0
    X, y = _few(X[keep], y[keep], classes=y[keep, 1])
    return Data(X, y)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, float)


def _few(X: Any, *more: np.ndarray, rows: int = ROWS, classes: np.ndarray | None = None) -> Any:
    """Return at most so many rows of X and of the others, drawn, of two classes within each."""
    n = X.shape[0]
    if n <= rows:
        return (X, *more)
    y = more[0] if classes is None else classes
    of = y if np.unique(y).size == 2 else np.zeros(n)
    keep = protocol._stratified(of, rows / n, np.random.default_rng(protocol.FIRST_SEED))[0]
    return (X[keep], *(one[keep] for one in more))


# ------------------------------------------------------------------------------------ drawn sets


def _drawn(
    target: str, seed: int, n: int, p: int, true: int, corr: float, signal: float, q: int = 1
) -> Read:
    """Return a drawn set.

    n rows of p columns, an AR(corr) process; `true` of them, drawn, have coefficients of random
    signs and sizes from 1/2 to 1, one of each for each of q responses. The margins have the
    standard deviation `signal`; numbers have noise of deviation 1.
    """

    def read(_: Path) -> Data:
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, p))
        for j in range(1, p):
            X[:, j] = corr * X[:, j - 1] + np.sqrt(1.0 - corr**2) * X[:, j]
        return _outcome(target, X, rng, true, signal, q)

    return read


def _drawn_on(reader: Read, seed: int, true: int, signal: float) -> Read:
    """Return survival times drawn by `true` of the columns of a real X, as in `_drawn`."""

    def read(folder: Path) -> Data:
        X = reader(folder).X
        scale = X.std(axis=0)
        varied = np.flatnonzero(scale > 0)
        rng = np.random.default_rng(seed)
        wide = varied[np.argsort(-scale[varied], kind="stable")[:250]]  # CAP drops none
        Z = (X[:, wide] - X[:, wide].mean(axis=0)) / scale[wide]
        drawn = _outcome("survival", Z, rng, true, signal, 1)
        assert drawn.truth is not None
        return Data(X, drawn.y, None, np.sort(wide[drawn.truth]))

    return read


def _outcome(
    target: str, X: np.ndarray, rng: np.random.Generator, true: int, signal: float, q: int
) -> Data:
    """Return X with an outcome drawn by some of its columns."""
    n, p = X.shape
    truth = np.sort(rng.choice(p, true, replace=False))
    B = rng.choice([-1.0, 1.0], (true, q)) * rng.uniform(0.5, 1.0, (true, q))
    margin = X[:, truth] @ B
    margin *= signal / margin.std(axis=0)
    z = margin[:, 0]
    if target == "classes":
        y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-z)), 1.0, -1.0)
    elif target == "counts":
        y = rng.poisson(np.exp(1.0 + z)).astype(float)
    elif target == "survival":
        time = rng.exponential(np.exp(-z))
        censored = rng.exponential(2.0 * np.median(time), n)
        y = np.column_stack([np.minimum(time, censored), time <= censored])
    else:
        y = margin + rng.standard_normal((n, q))
        y = y[:, 0] if target == "regression" else y
    return Data(X, y, None, truth)


# -------------------------------------------------------------------------------------- the list


def _named(names: str, make: Callable[[str], Read]) -> dict[str, Read]:
    return {name: make(name) for name in names.split()}


# The drawn sets of half h (0, 1) have the seeds 7000 + 100 h and on; the signals are those of real
# sets: an R^2 of the truth from .4 to .9.
def _drawn_sets(h: int) -> dict[str, dict[str, Read]]:
    s = 7000 + 100 * h
    return {
        "classes": {
            "drawn, weak": _drawn("classes", s, 300, 500, 10, 0.5, 1.5),
            "drawn, strong": _drawn("classes", s + 1, 200, 1000, 5, 0.8, 4.0),
        },
        "regression": {
            "drawn, weak": _drawn("regression", s + 10, 150, 300, 10, 0.5, 0.8),
            "drawn, medium": _drawn("regression", s + 11, 300, 1000, 20, 0.0, 1.5),
            "drawn, strong": _drawn("regression", s + 12, 100, 500, 5, 0.8, 3.0),
        },
        "counts": {
            "drawn, weak": _drawn("counts", s + 20, 150, 300, 10, 0.5, 0.3),
            "drawn, medium": _drawn("counts", s + 21, 300, 1000, 20, 0.0, 0.6),
            "drawn, strong": _drawn("counts", s + 22, 120, 500, 5, 0.8, 0.9),
            "drawn, long": _drawn("counts", s + 23, 800, 200, 15, 0.3, 0.4),
        },
        "responses": {
            "drawn, weak": _drawn("responses", s + 30, 150, 300, 10, 0.5, 0.8, q=3),
            "drawn, medium": _drawn("responses", s + 31, 300, 1000, 20, 0.0, 1.5, q=5),
            "drawn, strong": _drawn("responses", s + 32, 100, 500, 5, 0.8, 3.0, q=4),
            "drawn, two": _drawn("responses", s + 33, 80, 200, 10, 0.3, 1.0, q=2),
            "drawn, long": _drawn("responses", s + 34, 600, 200, 15, 0.5, 0.6, q=6),
        },
        "survival": {
            "drawn, weak": _drawn("survival", s + 40, 200, 300, 10, 0.5, 0.8),
            "drawn, medium": _drawn("survival", s + 41, 400, 1000, 20, 0.0, 1.5),
            "drawn, strong": _drawn("survival", s + 42, 120, 500, 5, 0.8, 2.5),
        },
    }


def _development() -> dict[str, dict[str, Read]]:
    cookies = {f"cookie:{j}": _numbers("cookie", "Y", j) for j in range(4)}
    return {
        "classes": _named(
            "colon_alon prostate_ge ma_pomeroy ma_west birthwt splice relathe basehock "
            "bigsnpr_example srbct:ews lymphoma3:cll breast_tcga:luma", _classes),
        "regression": cookies
        | {f"breast_tcga:protein {j}": _proteins(j) for j in (20, 60, 100)}
        | {
            "arabidopsis_ft16": _numbers("arabidopsis_ft16", "ft16"),
            "boston": _numbers("boston", "y", X="X_cubic"),
            "birthwt:bwt": _numbers("birthwt", "bwt"),
            "colon_alon:gene": _gene("colon_alon", 700),
            "lymphoma3:gene": _gene("lymphoma3:cll", 1500),
        },
        "counts": {f"communities:{j}": _crimes(j) for j in (0, 2, 6, 7)}
        | {f"basehock:word {r}": _word("basehock", r) for r in (3, 10, 30)}
        | {f"relathe:word {r}": _word("relathe", r) for r in (5, 20)},
        "responses": {
            "cookie": _responses("cookie", "Y", slice(None)),
            "communities": _crimes(None),
            "arabidopsis:place": _responses("arabidopsis_ft16", "coordinates", slice(None)),
        }
        | {f"breast_tcga:proteins {j}": _proteins(*range(j, j + 5)) for j in (0, 35, 70, 105)},
        "survival": _named("chop nki70", _times)
        | {
            "gbsg2": _shipped("load_gbsg2"),
            "veterans": _shipped("load_veterans_lung_cancer"),
            "lung": _lifelines("load_lung", "time", "status", ("inst",)),
            "on colon_alon": _drawn_on(_classes("colon_alon"), 7050, 5, 2.0),
            "on prostate_ge": _drawn_on(_classes("prostate_ge"), 7051, 10, 1.5),
            "on bigsnpr_example": _drawn_on(_classes("bigsnpr_example"), 7052, 10, 1.0),
        },
    }  # fmt: skip


def _confirming() -> dict[str, dict[str, Read]]:
    return {
        "classes": _named(
            "leukemia_golub_split ma_gordon ma_borovecki arcene pcmac hapmap3:jptchb mice:bmi "
            "qsar:injury glioma:1 mnist10k a9a madelon", _classes)
        | {"breast_cancer": _tumours},
        "regression": {
            "gasoline": _numbers("gasoline", "y"),
            "tecator:0": _numbers("tecator", "Y", 0),
            "tecator:2": _numbers("tecator", "Y", 2),
            "riboflavin": _numbers("riboflavin", "y"),
            "trim32": _numbers("trim32", "y"),
            "diabetes": _diabetes,
            "leukemia_golub:gene": _gene("leukemia_golub_split", 3000),
            "ma_gordon:gene": _gene("ma_gordon", 5000),
        }
        | {f"rice:{j}": _numbers("rice_imputed", "pheno", j) for j in (5, 11, 13)}
        | {f"multidrug:{j}": _numbers("multidrug", "y", j) for j in (100, 1000)}
        | {f"yeast:{j}": _numbers("yeast_cellcycle", "y", j) for j in (4, 12)},
        "counts": {
            "datacar": _claims("datacar", 3000),
            "insurance_mass": _claims("insurance_mass", 64),
            "poisson_example": _numbers("poisson_example", "y"),
        }
        | {f"pcmac:word {r}": _word("pcmac", r) for r in (3, 10, 20, 30)},
        "responses": {
            "tecator": _responses("tecator", "Y", slice(None)),
            "yeast": _responses("yeast_cellcycle", "y", slice(None)),
        }
        | {f"multidrug:{j}": _responses("multidrug", "y", slice(j, j + 5)) for j in (27, 95, 1290)}
        | {f"rice:{j}": _responses("rice_imputed", "pheno", slice(j, j + 4)) for j in (0, 5)},
        "survival": _named("metastasis_gse7390 flchain cox_example", _times)
        | {
            "whas500": _shipped("load_whas500"),
            "aids": _shipped("load_aids"),
            "rossi": _lifelines("load_rossi", "week", "arrest"),
            "on leukemia_golub": _drawn_on(_classes("leukemia_golub_split"), 7150, 5, 2.0),
            "on ma_gordon": _drawn_on(_classes("ma_gordon"), 7151, 10, 1.5),
            "on hapmap3": _drawn_on(_classes("hapmap3:jptchb"), 7152, 10, 1.0),
        },
    }  # fmt: skip


def _all() -> dict[str, dict[str, dict[str, Read]]]:
    found = {}
    for h, sets in enumerate((_development(), _confirming())):
        drawn = _drawn_sets(h)
        found[HALVES[h]] = {target: sets[target] | drawn[target] for target in TARGETS}
    return found


SETS = _all()  # half -> target -> name -> reader


# ---------------------------------------------------------------------------------------- splits


def split(folder: Path, half: str, target: str, name: str, seed: int) -> Split:
    """Return one split of a set, prepared from its training rows."""
    data = SETS[half][target][name](folder)
    of = {"classes": data.y, "survival": data.y[..., -1]}.get(target, np.zeros(len(data.y)))
    train, test = protocol._stratified(of, SHARE, np.random.default_rng(seed))
    mean = np.nanmean(data.X[train], axis=0)
    filled = np.where(np.isnan(data.X), mean, data.X)
    spread = filled[train].std(axis=0)
    varied = np.flatnonzero(spread > 1e-9 * np.maximum(np.abs(mean), 1e-30))
    columns = np.sort(varied[np.argsort(-spread[varied], kind="stable")[:CAP]])
    X, y = filled[:, columns], data.y
    if target == "responses":  # their units are not comparable
        y = (y - y[train].mean(axis=0)) / y[train].std(axis=0)
    exposure = np.ones(len(y)) if data.exposure is None else np.asarray(data.exposure, float)
    few, new = (X[train], y[train], exposure[train]), (X[test], y[test], exposure[test])
    return Split(target, *few, *new, columns, data.truth)
