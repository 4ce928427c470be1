"""How often planted leaks are named, and which columns of real data are.

    python benchmarks/leaks.py [--sets NAMES] [--draws N]

Real data: a fit of ten features to every target of every set, as estimators make it; what its
`LeakWarning` says of them is a false alarm. The levels of the rule (`zeronorm.estimators.leaks`)
were set by looking at every other set in the order of their names ("set by"), and confirmed on
the others. But the rule was first written down by a table of the nine largest concordances of all
sets, and the level of numbers (0.9) so that the responses of tecator and cookie, which are among
the planted ones, are named: both are seen, no fresh data.
Planted leaks: six kinds, ten draws each, one column put into real data. A copy of the target with
noise (classes: 0.25 of the distance of two classes; numbers: 0.2 standard deviations); the date of
death next to survival times, of the living the mean date or the last one; the time under
observation with an error of 5%; the cost of a claim next to the number of claims, a tenth of them
closed without cost; another response of the same samples; a flag that is set after the outcome, for
95% of those with and 2% of those without it. Named: a warning names the planted column.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

import _common as common
from zeronorm import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis
from zeronorm.estimators.leaks import LeakWarning

K = 10
MOST_ROWS = 5000  # of a set: its fits are to take seconds
COUNTS = ("communities_counts", "datacar", "insurance_mass", "poisson_example")
WITHOUT = ("splice_celegans", "plink_example", "news20ng")  # no table, or one that takes minutes
LEAK = "planted"


def load(folder: Path, name: str) -> dict[str, Any]:
    """Return the arrays of a set; missing values are means, most rows are left out evenly."""
    with np.load(folder / name / "arrays.npz", allow_pickle=False) as file:
        found = {key: file[key] for key in file.files}
    if (folder / name / "X.npz").exists():
        found["X"] = sp.load_npz(folder / name / "X.npz").tocsc()
    X = found["X"]
    if not sp.issparse(X) and X.dtype.kind == "f" and np.isnan(X).any():
        found["X"] = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return found


def targets(name: str, data: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield the targets of a set: what they are called, their kind and values."""
    if "time" in data:
        yield "survival", "survival", (data["event"] > 0, data["time"])
        return
    if "bag" in data:
        labels = data["y"] if data["y"].ndim == 1 else data["y"][:, 0]
        yield "label of the bag", "classes", labels[data["bag"]]
        return
    if "Y" in data:
        for number, one in enumerate(data["Y_names"]):
            yield str(one), "numbers", data["Y"][:, number]
        return
    y = data["y"]
    if y.ndim == 2:
        for number in (0, y.shape[1] // 2):
            yield str(data["y_names"][number]), "numbers", y[:, number]
    elif name in COUNTS:
        yield "count", "counts", y
    else:
        yield "y", "numbers" if y.dtype.kind == "f" else "classes", y
    for other, kind in (("bwt", "numbers"), ("y_high", "classes"), ("ft16", "numbers"),
                        ("louvain", "classes"), ("digit", "classes")):  # fmt: skip
        if other in data:
            yield other, kind, data[other]


def estimator_of(kind: str, k: int) -> Any:
    """Return the estimator of a kind of target."""
    if kind == "classes":
        return BudgetClassifier(k, calibrate=False)
    if kind == "survival":
        return BudgetSurvivalAnalysis(k)
    return BudgetRegressor(k, loss="poisson" if kind == "counts" else "least_squares")


def warned(X: Any, y: Any, kind: str) -> list[str]:
    """Return what a fit says of leaks."""
    if kind == "survival":
        y = np.rec.fromarrays([np.asarray(y[0], bool), y[1]], names=["event", "time"])
    else:
        keep = np.isfinite(np.asarray(y, np.float64))
        X, y = X[keep] if keep.sum() < keep.size else X, np.asarray(y)[keep]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        estimator_of(kind, min(K, X.shape[1])).fit(X, y)
    return [str(one.message) for one in found if one.category is LeakWarning]


def thinned(n: int, seed: int = 0) -> np.ndarray:
    """Return the rows that are kept of n, drawn where they are too many, in their order."""
    if n <= MOST_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, MOST_ROWS, replace=False))


def of_real(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return what fits to the targets of a set warn of."""
    data = load(folder, name)
    rows = []
    for called, kind, y in targets(name, data):
        X = data["X"]
        keep = thinned(X.shape[0])
        own = tuple(part[keep] for part in y) if kind == "survival" else y[keep]
        X = X[keep]
        names = data.get("names")
        if not sp.issparse(X) and names is not None and len(names) == X.shape[1]:
            X = pd.DataFrame(np.asarray(X, np.float64), columns=[str(one) for one in names])
        rows.append(
            {"set": name, "target": called, "kind": kind, "rows": int(X.shape[0]),
             "features": int(X.shape[1]), "warned": warned(X, own, kind)}
        )  # fmt: skip
    return rows


def frame(data: dict[str, Any], keep: np.ndarray, column: Any, name: str) -> pd.DataFrame:
    """Return the data with a planted column in their middle."""
    X = data["X"][keep]
    X = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
    found = pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])])
    found.insert(X.shape[1] // 2, name, np.asarray(column, np.float64))
    return found


def binary(data: dict[str, Any]) -> np.ndarray:
    """Return the classes of a set as whether they are the last one."""
    return np.asarray(data["y"] == data["y"].max())


def copies(folder: Path, draw: int, rng: np.random.Generator) -> tuple[Any, Any, str]:
    """Return data with a copy of the target, with noise."""
    sets = ("birthwt", "boston", "madelon", "tecator", "splice", "trim32", "a9a", "riboflavin",
            "colon_alon", "bardet")  # fmt: skip
    data = load(folder, sets[draw % len(sets)])
    keep = thinned(data["X"].shape[0], draw)
    y = data["y"][keep]
    if y.dtype.kind == "f":
        return (
            frame(data, keep, y + 0.2 * y.std() * rng.standard_normal(y.size), LEAK),
            y,
            "numbers",
        )
    code = (y == y.max()).astype(float)
    return frame(data, keep, code + 0.25 * rng.standard_normal(y.size), LEAK), code, "classes"


SURVIVAL = ("nki70", "metastasis_gse7390", "chop", "flchain", "cox_example")


def deaths(folder: Path, draw: int, rng: np.random.Generator) -> tuple[Any, Any, str]:
    """Return survival times with the date of death."""
    data = load(folder, SURVIVAL[draw % len(SURVIVAL)])
    keep = thinned(data["X"].shape[0], draw)
    event, time = data["event"][keep] > 0, data["time"][keep]
    date = rng.uniform(0, time.max(), time.size) + time
    living = date[event].mean() if draw < 5 else date.max()
    return (
        frame(data, keep, np.where(event, date, living), "date_of_death"),
        (event, time),
        "survival",
    )


def follow_ups(folder: Path, draw: int, rng: np.random.Generator) -> tuple[Any, Any, str]:
    """Return survival times with the time under observation, with an error."""
    data = load(folder, SURVIVAL[draw % len(SURVIVAL)])
    keep = thinned(data["X"].shape[0], draw)
    event, time = data["event"][keep] > 0, data["time"][keep]
    column = time * (1 + 0.05 * rng.standard_normal(time.size))
    return frame(data, keep, column, LEAK), (event, time), "survival"


def costs(folder: Path, draw: int, rng: np.random.Generator) -> tuple[Any, Any, str]:
    """Return numbers of claims with what they cost."""
    sets = ("datacar", "poisson_example", "datacar", "insurance_mass", "datacar")
    data = load(folder, sets[draw % len(sets)])
    keep = thinned(data["X"].shape[0], draw)
    y = data["y"][keep].astype(int)
    paid = rng.binomial(y, 0.9)
    cost = [float(rng.lognormal(7.0, 1.0, one).sum()) for one in paid.tolist()]
    return frame(data, keep, cost, "claim_cost"), y, "counts"


def responses(folder: Path, draw: int, rng: np.random.Generator) -> tuple[Any, Any, str]:
    """Return a target with another response of the same samples."""
    name, target, other, kind = (
        ("tecator", ("Y", 0), ("Y", 1), "numbers"), ("tecator", ("Y", 1), ("Y", 0), "numbers"),
        ("cookie", ("Y", 1), ("Y", 2), "numbers"), ("cookie", ("Y", 2), ("Y", 1), "numbers"),
        ("birthwt", "y", "bwt", "classes"), ("birthwt", "bwt", "y", "numbers"),
        ("boston", "y_high", "y", "classes"), ("boston", "y", "y_high", "numbers"),
        ("arabidopsis_ft16", "y", "ft16", "classes"),
        ("rice_imputed", ("pheno", 0), ("pheno", 1), "numbers"),
    )[draw % 10]  # fmt: skip
    data = load(folder, name)

    def values(where: Any) -> Any:
        return data[where] if isinstance(where, str) else data[where[0]][:, where[1]]

    y, column = values(target), values(other)
    keep = np.flatnonzero(
        np.isfinite(np.asarray(y, float)) & np.isfinite(np.asarray(column, float))
    )
    return frame(data, keep, column[keep], LEAK), y[keep], kind


def flags(folder: Path, draw: int, rng: np.random.Generator) -> tuple[Any, Any, str]:
    """Return classes, or survival times, with a flag that is set after the outcome."""
    sets = ("birthwt", "a9a", "madelon", "splice", "nki70", "pcmac", "bigsnpr_example",
            "qsar_hepatic", "chop", "arabidopsis_ft16")  # fmt: skip
    data = load(folder, sets[draw % len(sets)])
    keep = thinned(data["X"].shape[0], draw)
    survival = "time" in data
    outcome = data["event"][keep] > 0 if survival else binary(data)[keep]
    column = rng.random(keep.size) < np.where(outcome, 0.95, 0.02)
    y = (outcome, data["time"][keep]) if survival else outcome.astype(int)
    return frame(data, keep, column, LEAK), y, "survival" if survival else "classes"


KINDS = {
    "copy of the target with noise": copies,
    "date of death": deaths,
    "time under observation": follow_ups,
    "cost of the claim": costs,
    "another response": responses,
    "flag set after the outcome": flags,
}


def of_planted(folder: Path, kind: str, draw: int) -> dict[str, Any]:
    """Return whether a planted leak is named, and what else is."""
    rng = np.random.default_rng([11, list(KINDS).index(kind), draw])
    X, y, of = KINDS[kind](folder, draw, rng)
    planted = next(name for name in X.columns if not name.startswith("v"))
    said = warned(X, y, of)
    return {
        "kind": kind,
        "draw": draw,
        "named": any(f"'{planted}'" in one for one in said),
        "others": sum(f"'{planted}'" not in one for one in said),
        "said": said,
    }


def table(found: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    rows = []
    for kind in dict.fromkeys(one["kind"] for one in found["planted"]):
        own = [one for one in found["planted"] if one["kind"] == kind]
        rows.append([kind, len(own), sum(one["named"] for one in own),
                     sum(one["others"] for one in own)])  # fmt: skip
    named, draws = sum(row[2] for row in rows), sum(row[1] for row in rows)
    rows.append(["all", draws, named, sum(row[3] for row in rows)])
    parts = [common.table(["planted leak", "draws", "named", "warnings of other columns"], rows)]
    halves = []
    for half in ("set by", "confirmed on"):
        own = [one for one in found["real"] if one["half"] == half]
        alarms = sorted({one["set"] for one in own if one["warned"]})
        halves.append([half, len({one["set"] for one in own}), len(own), len(alarms),
                       ", ".join(alarms) or "-"])  # fmt: skip
    heads = ["real sets", "sets", "targets", "sets with a false alarm", "which"]
    parts.append(common.table(heads, halves))
    said = [f"- {one['set']}, {one['target']}: {text}" for one in found["real"]
            for text in one["warned"]]  # fmt: skip
    missed = [f"- {one['kind']}, draw {one['draw']}: not named" for one in found["planted"]
              if not one["named"]]  # fmt: skip
    return "\n\n".join([*parts, *(["\n".join(said + missed)] if said or missed else [])])


def main() -> None:
    """Measure, print and write the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--draws", type=int, default=10, help="of every kind of leak")
    parser.add_argument("--sets", nargs="*", default=None, help="real sets; default: all")
    options = parser.parse_args()
    machine, folder = common.machine(), common.data_folder(options.data)
    sets = sorted(one.parent.name for one in folder.glob("*/arrays.npz"))
    sets = [one for one in sets if one not in WITHOUT]
    halves = {one: ("set by", "confirmed on")[number % 2] for number, one in enumerate(sets)}
    real = []
    for one in options.sets if options.sets is not None else sets:
        with common.log(one):
            real += [{**row, "half": halves[one]} for row in of_real(folder, one)]
    planted = [of_planted(folder, kind, draw) for kind in KINDS for draw in range(options.draws)]
    found = {"real": real, "planted": planted}
    about = (__doc__ or "").split("\n\n", 2)[2].strip()
    text = "\n\n".join(["# Leaks", about, table(found)])
    common.write(options.results, "leaks", {"machine": machine, **found}, text)


if __name__ == "__main__":
    main()
