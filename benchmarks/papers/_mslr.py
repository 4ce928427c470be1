"""The shared protocol of the rerun of Tan, Tsang and Wang (IEEE TNNLS 24(10), 2013), "MSLR".

* `METHODS`: every method of the paper that exists here, and ours. A new one is one line.
* `SETS`: the real data sets, each with the set of the paper that it stands for.
* `measure`: selects, retrains, judges. One row (a dict) per method and number of features:

  - `seconds`: wall time of the selection alone, one thread, from the matrix in memory in the
    storage that the method wants (the conversion is not counted). Of the cutting planes: all scans,
    all inner problems, and one scan more, which certifies the last of them; no refit. Of l1-LR: one
    fit at one C. Of zeronorm's own defaults: the whole `fit`, with refit and certificate. Fits
    under half a second are repeated, the median of three counts.
  - `accuracy`: on the test rows after the paper's retraining, linear logistic regression with C = 5
    and no intercept on the selected features, the same code for all methods. `accuracy_free` is the
    same with a free intercept, which the paper does not have.
  - `recovered`: how many true features were selected, where they are known.
  - `error`: why there is no answer ("over 60 s"). Such a row is kept, never left out; larger
    numbers of features are then not tried, and say so.

Every selection runs in a process of its own, forked, so that it can be ended at the limit (Linux,
macOS). Methods of the paper that METHODS lacks are named in every report. l1-LR is LIBLINEAR -s 6
without bias through scikit-learn, which compiles LIBLINEAR's C++ code. Its default tolerance, 0.01,
is what the paper's seconds must be of; on correlated columns its supports are then several times
those of the optimum. So there are two: "l1-LR" at 0.01, and "l1-LR (tol 1e-4)".
"""

from __future__ import annotations

import argparse
import contextlib
import math
import multiprocessing
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common as common
import _protocol as protocol
import zeronorm
from zeronorm.data import as_design
from zeronorm.data.gathered import as_columns
from zeronorm.losses import Logistic, SquaredHinge
from zeronorm.published.solvers import INNER_SOLVERS
from zeronorm.solvers import (
    CuttingPlane,
    LogPenalty,
    Risk,
    SelectionRequest,
    Task,
    cutting_plane,
    greedy,
    l1_supports,
    refit,
    reweighted_supports,
    run,
)

Row = dict[str, Any]
PAPER_METHODS = ("l1-LR", "WLR", "GLR", "MSLR", "FGM-LR", "FGM-SVM")
RETRAINING_C = 5.0
FIRST_SEED = protocol.FIRST_SEED
GROWTH = 1.3  # of C along the grid of l1-LR
LOOSE, TIGHT = 0.01, 1e-4  # tolerances of LIBLINEAR
SHORT = 0.5  # seconds below which a fit is repeated


# ----------------------------------------------------------------------------------------- data


@dataclass(frozen=True)
class Data:
    """One problem: training and test rows, and the truth where it is known."""

    name: str
    X: Any  # (n, m) training rows, dense in F order or CSC
    y: np.ndarray  # (n,) +-1
    X_test: Any
    y_test: np.ndarray
    w: np.ndarray | None = None  # (m,) the true weights of synthetic data

    @cached_property
    def rowwise(self) -> Any:
        """X as LIBLINEAR wants it: float64, by rows."""
        if sp.issparse(self.X):
            return sp.csr_matrix(self.X, dtype=np.float64)
        return np.ascontiguousarray(self.X, dtype=np.float64)

    @cached_property
    def truth(self) -> np.ndarray:
        """All features, the true ones first by |w|, the others in random order."""
        assert self.w is not None
        mixed = np.random.default_rng(FIRST_SEED).permutation(self.w.size)
        return mixed[np.argsort(-np.abs(self.w[mixed]), kind="stable")]


def split(n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random training and test rows; `share` of them train."""
    rows = np.random.default_rng(seed).permutation(n)
    return np.sort(rows[: round(share * n)]), np.sort(rows[round(share * n) :])


Parts = tuple[Any, np.ndarray, Any, np.ndarray]  # X, y, X_test, y_test


@dataclass(frozen=True)
class Set:
    """A real data set, and the one of the paper that it stands for."""

    stands_for: str
    about: str
    read: Callable[[Path, int], Parts]  # folder of the data, seed of the split
    sizes: tuple[int, ...]
    sparse: bool
    given: bool = False  # the split comes with the data: the seed changes nothing
    stored: str = ""  # its folder among the data, where that has another name

    def load(self, name: str, folder: Path, seed: int) -> Data:
        """Return one split; columns that are constant in the training rows are dropped."""
        X, y, X_test, y_test = self.read(folder, seed)
        if sp.issparse(X):
            keep = np.flatnonzero(X.getnnz(axis=0))
            return Data(name, sp.csc_matrix(X)[:, keep], y, sp.csc_matrix(X_test)[:, keep], y_test)
        keep = np.flatnonzero(np.ptp(X, axis=0) > 0)
        return Data(name, np.asfortranarray(X[:, keep]), y, X_test[:, keep], y_test)


def _parts(X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> Parts:
    sign = np.where(y > 0, 1.0, -1.0)
    return X[train], sign[train], X[test], sign[test]


def _standardised(parts: Parts) -> Parts:
    """Centre and scale columns by the training rows."""
    X, y, X_test, y_test = parts
    mean, std = X.mean(0), X.std(0)
    std[std == 0] = 1.0
    return (X - mean) / std, y, (X_test - mean) / std, y_test


def _leukemia(rows: bool) -> Callable[[Path, int], Parts]:
    """Columns standardised by the training rows; before that rows, each by itself, or not."""

    def read(folder: Path, seed: int) -> Parts:
        stored = protocol.arrays(folder, "leukemia_golub_split")
        X = stored["X"]
        if rows:
            X = X - X.mean(1, keepdims=True)
            X /= X.std(1, keepdims=True)
        return _standardised(_parts(X, stored["y"], stored["train"], stored["test"]))

    return read


def _given_text(name: str, binary: bool) -> Callable[[Path, int], Parts]:
    def read(folder: Path, seed: int) -> Parts:
        stored = protocol.arrays(folder, name)
        X = protocol.unit_rows(stored["X"], np.float32) if binary else sp.csr_matrix(stored["X"])
        return _parts(X, stored["y"], stored["train"], stored["test"])

    return read


def random_split(name: str, share: float) -> Callable[[Path, int], Parts]:
    """Return a reader of random splits: text as 0/1 with unit rows, anything else as it is."""

    def read(folder: Path, seed: int) -> Parts:
        stored = protocol.arrays(folder, name)
        X, y = stored["X"], stored["y"]
        rows = np.flatnonzero(y)  # y = 0 is a missing label
        X, y = X[rows], y[rows]
        # Counts are made binary; the tf-idf values of rcv1 are of unit length as they come.
        if sp.issparse(X) and name != "rcv1_small":
            X = protocol.unit_rows(X, np.float32)
        elif not sp.issparse(X):
            X = X.astype(np.float32)
        return _parts(X, y, *split(X.shape[0], share, seed))

    return read


def _scene_bags(folder: Path, seed: int) -> Parts:
    """Return the MILES embedding of bags, s(x^k, B_i) = max_j exp(-|x_ij - x^k|^2 / sigma^2).

    x^k: all training instances, as the 10,800 = 1200 x 9 features of the paper's set say. Instance
    features are standardised by the training instances; sigma^2 is the median squared distance of
    random pairs of training instances.
    """
    stored = protocol.arrays(folder, "miml_scene")
    n_bags = stored["y"].shape[0]
    order = np.argsort(stored["bag"], kind="stable")
    bags = stored["X"][order].reshape(n_bags, -1, stored["X"].shape[1]).astype(np.float64)
    train, test = split(n_bags, 0.6, seed)
    concepts = bags[train].reshape(-1, bags.shape[2])
    mean, std = concepts.mean(0), concepts.std(0)
    bags, concepts = (bags - mean) / std, (concepts - mean) / std
    rng = np.random.default_rng(seed)
    first, second = rng.integers(len(concepts), size=(2, 10_000))
    sigma2 = float(np.median(((concepts[first] - concepts[second]) ** 2).sum(1)))
    X = np.empty((n_bags, len(concepts)), dtype=np.float32)
    length = (concepts**2).sum(1)
    for i, bag in enumerate(bags):
        distance = (bag**2).sum(1)[:, None] + length - 2.0 * (bag @ concepts.T)
        X[i] = np.exp(-np.maximum(distance.min(0), 0.0) / sigma2)
    return _parts(X, stored["y"][:, 0], train, test)


def _mnist(folder: Path, seed: int) -> Parts:
    """Columns standardised, then rows of unit length, as epsilon was prepared."""
    stored = protocol.arrays(folder, "mnist10k")
    X = stored["X"].reshape(len(stored["X"]), -1).astype(np.float32)
    X, y, X_test, y_test = _standardised(_parts(X, stored["y"], *split(len(X), 0.8, seed)))
    X, X_test = (A / np.linalg.norm(A, axis=1, keepdims=True) for A in (X, X_test))
    return X, y, X_test, y_test


FEW = (4, 8, 10, 20, 40, 60, 80, 100)
WIDE = (20, 40, 80, 120, 160, 200)
SETS = {
    "leukemia": Set(
        "Leukemia", "the same data and split, 7129 probes; columns standardised",
        _leukemia(rows=False), FEW, sparse=False, given=True, stored="leukemia_golub_split",
    ),
    "leukemia_rows": Set(
        "Leukemia", "the same; rows standardised first: how the paper's were prepared is not said",
        _leukemia(rows=True), FEW, sparse=False, given=True, stored="leukemia_golub_split",
    ),
    "pcmac": Set(
        "Arxiv astro-ph", "two groups of 20 Newsgroups, 0/1, rows of unit length, 67/33 at random",
        random_split("pcmac", 0.67), WIDE, sparse=True,
    ),
    "rcv1_small": Set(
        "RCV1", "1000 + 500 rows of RCV1, tf-idf; in the paper only in Table II",
        _given_text("rcv1_small", binary=False), WIDE, sparse=True, given=True,
    ),
    "mil_image": Set(
        "mil-image", "the same images: MILES embedding rebuilt from the instances, first scene",
        _scene_bags, WIDE, sparse=False, stored="miml_scene",
    ),
    "mice": Set(
        "SNP", "1814 mice, 10,346 SNPs as 0/1/2, albino or not; 42/58 at random as in the paper",
        random_split("mice", 0.42), WIDE, sparse=False,
    ),
    "arabidopsis": Set(
        "SNP", "162 plants, 53,859 SNPs as 0/1, late or early flowering; 70/30 at random",
        random_split("arabidopsis_ft16", 0.7), WIDE, sparse=False, stored="arabidopsis_ft16",
    ),
    "mnist10k": Set(
        "epsilon", "8000 + 2000 digits, odd or even, prepared as epsilon: many rows, all used",
        _mnist, WIDE, sparse=False,
    ),
    "news20ng": Set(
        "news20", "20 Newsgroups, words and bi-grams, 0/1, rows of unit length, older/newer posts",
        _given_text("news20ng", binary=True), (*WIDE, 400), sparse=True, given=True,
    ),
}  # fmt: skip


def folder_of(argument: str | None, names: Iterable[str]) -> Path:
    """Return the folder of the data, or end the script where it lacks one of these sets."""
    folder = common.data_folder(argument)
    stored = [SETS[name].stored or name for name in names]
    protocol.check_there(folder, stored, "leave it out by --sets")
    return folder


# -------------------------------------------------------------------------------------- methods


@dataclass(frozen=True)
class Picked:
    """What a selection gives: the features, and how it went."""

    support: np.ndarray
    extra: Row = field(default_factory=dict)


Select = Callable[[Data, float], Picked]


@dataclass(frozen=True)
class Method:
    """A way to select features.

    select : (data, k) -> features; (data, C) where `by_penalty`.
    paper : its name in the paper, "" where the paper does not have it.
    by_penalty : the number of features is what comes out of a grid of C.
    """

    label: str
    select: Select
    colour: str
    paper: str = ""
    marker: str = "o"
    by_penalty: bool = False
    needs: Callable[[Data], float] = lambda data: 0.0  # bytes beyond X
    prepare: Callable[[Data], Any] = lambda data: None  # not timed
    timed: bool = True


def by_minimax(estimator: str, solver: str = "", C: float | None = None) -> Select:
    """Return the selection of a published estimator: C, T_m and the solver are its own.

    Exactly k features come back: the paper's loop ends at a multiple of r, or earlier.
    """

    def select(data: Data, k: float) -> Picked:
        model = getattr(zeronorm.published, estimator).as_published(int(k))
        loss = SquaredHinge() if estimator == "FeatureGeneratingMachine" else Logistic()
        task = Task.of(
            as_design(data.X, n_threads=1), data.y, loss=loss, intercept=model.fit_intercept
        )
        options = CuttingPlane(
            math.ceil(k / model.max_blocks), inner=INNER_SOLVERS[solver or model.solver],
            inner_tol=model.tol,
        )  # fmt: skip
        outer = cutting_plane(task, int(k), options, C=model.C if C is None else C)
        answer = run(outer, n_threads=1)
        return Picked(answer.result.support, {"steps": steps(answer.result)})

    return select


def steps(result: Any) -> list[Row]:
    """Return the outer iterations of a run as plain dictionaries."""
    return [
        {
            "n_features": step.n_features,
            "objective": step.objective,
            "gap": step.extra.get("gap"),
            "outer_bound": step.extra.get("outer_bound"),
            "iterations": step.extra.get("inner_iterations"),
            "status": None if step.status is None else step.status.name,
            "seconds": step.seconds.get("solve"),
        }
        for step in result.history
    ]


def _liblinear(data: Data, C: float, tol: float) -> np.ndarray:
    """Return w of min ||w||_1 + C sum_i log(1 + exp(-y_i w'x_i)) by LIBLINEAR -s 6."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        C=C, l1_ratio=1.0, solver="liblinear", fit_intercept=False, tol=tol, max_iter=1000,
        random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit(data.rowwise, data.y).coef_[0])


def l1(tol: float) -> Select:
    """Return the selection by one fit of l1-LR at one C; as many features as come."""
    return lambda data, C: Picked(np.flatnonzero(_liblinear(data, C, tol)))


def smallest_C(data: Data) -> float:  # noqa: N802
    """Return the C below which l1-LR selects nothing: the slope at w = 0 is C/2 |X'y|."""
    return 2.0 / float(np.abs(np.asarray(data.X.T @ data.y.astype(data.X.dtype))).max())


def l1_search(data: Data, k: float) -> Picked:
    """Bisect log C until l1-LR selects k features within 2 %; at most 25 fits, tolerance 1e-4."""
    low = smallest_C(data)
    high, C = math.inf, 4.0 * low
    best = Picked(np.empty(0, np.int64))
    for _ in range(25):
        support = np.flatnonzero(_liblinear(data, C, TIGHT))
        if not best.support.size or abs(support.size - k) < abs(best.support.size - k):
            best = Picked(support, {"C": C})
        if abs(best.support.size - k) <= 0.02 * k:
            break
        low, high = (C, high) if support.size < k else (low, C)
        C = 4.0 * C if math.isinf(high) else math.sqrt(low * high)
    return best


def _task(data: Data) -> Task:
    """Return the problem of the paper's logistic methods: no intercept, columns as they are."""
    return Task.of(as_design(data.X, n_threads=1), data.y, intercept=False)


def l1_by_path(data: Data, k: float) -> Picked:
    """Follow the same problem as l1-LR by our working sets until k features, float32 as it is."""
    return Picked(run(l1_supports(_task(data), [int(k)]), n_threads=1)[0][int(k)])


def reweighted_l1(data: Data, k: float) -> Picked:
    """Follow the path in stages of reweighted l1, each until k features: WLR."""
    return Picked(
        run(reweighted_supports(_task(data), [int(k)], rule=LogPenalty()), n_threads=1)[0][int(k)]
    )


def forward_greedy(fit_C: float) -> Select:
    """Return the selection by k forward steps with fits of this C between them: GLR."""

    def select(data: Data, k: float) -> Picked:
        request = SelectionRequest(refit_C=1.0, tol=1e-6, certify=False)
        path = run(greedy(_task(data), [int(k)], request, fit_C=fit_C), n_threads=1)
        return Picked(path[int(k)].support)

    return select


def defaults(estimator: str) -> Select:
    """Return the whole `fit` of an estimator of ours with its defaults."""

    def select(data: Data, k: float) -> Picked:
        home = zeronorm if estimator == "BudgetClassifier" else zeronorm.published
        model = getattr(home, estimator)(int(k), n_threads=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Picked(model.fit(data.X, data.y).support_)

    return select


def _liblinear_bytes(data: Data) -> float:
    """Return what LIBLINEAR copies: float64 by rows, then two lists of 16 bytes an entry."""
    entries = data.X.nnz if sp.issparse(data.X) else data.X.size
    return 40.0 * entries


_MSLR, _FGM = "MinimaxLogisticRegression", "FeatureGeneratingMachine"
_L1 = {
    "paper": "l1-LR",
    "needs": _liblinear_bytes,
    "prepare": lambda data: data.rowwise,
}
METHODS = {
    "newton": Method("MSLR (newton)", by_minimax(_MSLR, "newton"), "tab:red", "MSLR"),
    "published": Method(
        "MSLR (smoothing, as published)", by_minimax(_MSLR, "smoothing-published"),
        "tab:orange", "MSLR", "s",
    ),
    "smoothing": Method(
        "MSLR (smoothing, gap-driven)", by_minimax(_MSLR, "smoothing"), "tab:pink", "MSLR", "D"
    ),
    "fgm-lr": Method("FGM-LR", by_minimax(_MSLR, "simplemkl"), "tab:brown", "FGM-LR", "^"),
    "fgm-svm": Method("FGM-SVM", by_minimax(_FGM), "tab:olive", "FGM-SVM", "v"),
    "l1": Method("l1-LR", l1(LOOSE), "tab:blue", marker="x", by_penalty=True, **_L1),
    "l1-tight": Method("l1-LR (tol 1e-4)", l1(TIGHT), "navy", marker="1", by_penalty=True, **_L1),
    "l1-search": Method("l1-LR (C searched)", l1_search, "tab:blue", marker="x", **_L1),
    "l1-path": Method("l1-LR (our path)", l1_by_path, "tab:cyan", "l1-LR", "+"),
    "wlr": Method("WLR (reweighted l1, 3 stages)", reweighted_l1, "tab:gray", "WLR", "<"),
    "glr": Method("GLR (greedy, ridge 1e-8)", forward_greedy(1e8), "goldenrod", "GLR", ">"),
    "glr-ridge": Method("GLR (greedy, C = 0.1)", forward_greedy(0.1), "khaki", "GLR", "P"),
    "truth": Method(
        "GroundTruth", lambda data, k: Picked(data.truth[: int(k)]), "black", "GroundTruth", "*",
        timed=False,
    ),
    "minimax": Method("zeronorm minimax, defaults", defaults(_MSLR), "tab:green", marker="p"),
    "budget": Method("BudgetClassifier, defaults", defaults("BudgetClassifier"), "tab:purple",
                     marker="h"),
}  # fmt: skip
MSLR_KEYS = tuple(key for key, method in METHODS.items() if method.paper == "MSLR")


def missing_methods() -> list[str]:
    """Return the paper's methods that no line of METHODS has."""
    return [name for name in PAPER_METHODS if name not in {m.paper for m in METHODS.values()}]


# -------------------------------------------------------------------------------------- measure


def limited(call: Callable[[], Any], limit: float) -> tuple[Any, str]:
    """Return (value, "") of a call in a forked process, or (None, why there is no value)."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def work() -> None:
        try:
            theirs.send((call(), ""))
        except Exception as error:  # reported as a row of the results
            theirs.send((None, f"failed: {type(error).__name__}: {error}"))

    process = context.Process(target=work, daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(limit):
            return None, f"over {limit:g} s"
        return ours.recv()
    except EOFError:
        process.join()
        code = process.exitcode or 0
        name = signal.Signals(-code).name if code < 0 else f"code {code}"
        return None, f"failed: the process ended with {name}"
    finally:
        process.kill()
        process.join()
        ours.close()


@cache
def _warm_up(method: Method) -> None:
    """Run a method once on toy data, here: imports and first calls are not counted."""
    rng = np.random.default_rng(0)
    w = np.arange(30.0) < 3
    X = np.asfortranarray(rng.standard_normal((40, 30)))
    toy = Data("toy", X, np.where(X @ w > 0, 1.0, -1.0), X, np.ones(40), w)
    with contextlib.suppress(Exception):  # what is wrong will be seen on the data themselves
        method.select(toy, 4.0 * smallest_C(toy) if method.by_penalty else 4)


def _timed(method: Method, data: Data, knob: float) -> tuple[float, Picked]:
    seconds = []
    begin = time.perf_counter()
    while True:
        spent, _, picked = common.clock(lambda: method.select(data, knob))
        seconds.append(spent)
        if len(seconds) == 3 or time.perf_counter() - begin > SHORT:
            return common.median(seconds), picked


def judge(data: Data, support: np.ndarray) -> Row:
    """Return the accuracy after the paper's retraining, and how much of the truth is in."""
    support = np.sort(support)
    row: Row = {"n_features": int(support.size)}
    Z = np.asfortranarray(protocol.columns(data.X, support))
    Z_test = protocol.columns(data.X_test, support)
    k, n = support.size, len(data.y)
    for name, intercept in (("accuracy", False), ("accuracy_free", True)):
        if k:
            risk = Risk(data.y, np.ones(n), Logistic(), intercept)
            fit = refit(as_columns(Z), np.zeros(k), np.ones(k), risk, C=RETRAINING_C)
            decision = Z_test @ fit.coef + fit.intercept
        else:
            decision = np.full(len(data.y_test), data.y.sum() if intercept else 0.0)
        row[name] = protocol.accuracy(decision, data.y_test)
    if data.w is not None:
        row["recovered"] = int(np.count_nonzero(data.w[support]))
    return row


def one(key: str, method: Method, data: Data, knob: float, limit: float, **tags: Any) -> Row:
    """Select once, retrain and judge: one row."""
    row: Row = {"set": data.name, "method": key, **tags}
    row["C" if method.by_penalty else "asked"] = knob
    available = _available_bytes()
    if method.needs(data) > 0.9 * available:
        needs = method.needs(data) / 1e9
        return row | {"error": f"not run: needs {needs:.0f} GB, {available / 1e9:.0f} GB are free"}
    method.prepare(data)
    _warm_up(method)
    answer, error = limited(lambda: _timed(method, data, knob), limit)
    if error:
        return row | {"error": error, "limit": limit}
    seconds, picked = answer
    row["seconds"] = seconds if method.timed else None
    return row | judge(data, picked.support) | picked.extra


def _available_bytes() -> float:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable"):
                return 1024.0 * int(line.split()[1])
    except OSError:
        pass
    return math.inf


def measure(
    data: Data,
    methods: Iterable[str] | Mapping[str, Method],
    sizes: Sequence[int],
    chosen: argparse.Namespace,
    **tags: Any,
) -> list[Row]:
    """Run the methods over the numbers of features; l1-LR over C until it has the largest.

    methods : keys of METHODS, or other methods by key.
    chosen : the options of the script; a method whose rows are kept from before is not run.
    tags : more keys of every row, for example the seed.
    """
    rows: list[Row] = []
    asked = methods if isinstance(methods, Mapping) else {key: METHODS[key] for key in methods}
    for key, method in asked.items():
        if method.paper == "GroundTruth" and data.w is None:
            continue
        known = chosen.kept.of({"set": data.name, "method": key, **tags})
        rows += known or chosen.kept.add(_over_sizes(key, method, data, sizes, chosen.limit, tags))
    return rows


def _over_sizes(
    key: str, method: Method, data: Data, sizes: Sequence[int], limit: float, tags: Row
) -> list[Row]:
    """Run one method over the numbers of features."""
    rows: list[Row] = []
    knobs = _penalties(data) if method.by_penalty else iter(sizes)
    stop = ""
    with common.log(f"{data.name} {tags}, {method.label}"):
        for point, knob in enumerate(knobs):
            if stop:
                name = "C" if method.by_penalty else "asked"
                row: Row = {"set": data.name, "method": key, **tags, name: knob, "error": stop}
            else:
                row = one(key, method, data, float(knob), limit, **tags)
            rows.append(row | {"point": point})
            if "error" in row and not stop:
                stop = f"not tried: {row['error']} before"
                if method.by_penalty:
                    break  # how many more would have been needed is not known
            if method.by_penalty and row.get("n_features", 0) >= max(sizes):
                break
    return rows


def _penalties(data: Data) -> Iterator[float]:
    """Return C growing by GROWTH from its smallest useful value, at most 38 times."""
    low = smallest_C(data)
    return (low * GROWTH**power for power in range(1, 39))


# ------------------------------------------------------------------------------------- analysis


def ok(rows: Iterable[Row], **where: Any) -> list[Row]:
    """Return the rows without error that have these values."""
    found = [row for row in rows if all(row.get(key) == value for key, value in where.items())]
    return [row for row in found if "error" not in row]


def curve(rows: Iterable[Row], value: str, **where: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return (number of features, value), means over the seeds, by number of features.

    Points where a seed has an error are left out: a mean over other seeds is another curve.
    """
    rows = [row for row in rows if all(row.get(key) == want for key, want in where.items())]
    bad = {row["point"] for row in rows if "error" in row}
    points: dict[int, list[Row]] = {}
    for row in rows:
        if row["point"] not in bad and row.get(value) is not None:
            points.setdefault(row["point"], []).append(row)
    pairs = sorted(
        (
            float(np.mean([r["n_features"] for r in group])),
            float(np.mean([r[value] for r in group])),
        )
        for group in points.values()
    )
    return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])


def at(found: tuple[np.ndarray, np.ndarray], k: float) -> float | None:
    """Return the value of a curve at k features, between its points; None outside of them."""
    x, y = found
    if not x.size or not x[0] <= k <= x[-1]:
        return None
    return float(np.interp(k, x, y))


def rows_table(rows: Sequence[Row], methods: Iterable[str] = METHODS) -> str:
    """Return the table of one set: means over the seeds, a row per method and point."""
    lines = []
    for key in methods:
        mine = [row for row in rows if row["method"] == key]
        for point in sorted({row["point"] for row in mine}):
            group = [row for row in mine if row["point"] == point]
            errors = sorted({row["error"] for row in group if "error" in row})
            good = [row for row in group if "error" not in row]
            label = METHODS[key].label if key in METHODS else key
            knob = group[0].get("asked")
            if not good:
                lines.append([label, f"({knob:g})" if knob else "-", "-", "-", "-", errors[0]])
                continue
            cells = [_mean(good, "accuracy", 4), _mean(good, "accuracy_free", 4),
                     _mean(good, "recovered", 1), _mean(good, "seconds", 3)]  # fmt: skip
            note = f"; {len(errors)} seed(s): {errors[0]}" if errors else ""
            lines.append([label, _mean(good, "n_features", 0) + note, *cells])
    header = ["method", "features", "accuracy", "with free intercept", "recovered", "s"]
    return common.table(header, lines)


def _mean(rows: Sequence[Row], key: str, digits: int) -> str:
    values = [row[key] for row in rows if row.get(key) is not None]
    return f"{np.mean(values):.{digits}f}" if values else "-"


# -------------------------------------------------------------------------------------- figures


@dataclass(frozen=True)
class Curve:
    """A line of a panel."""

    label: str
    x: Any
    y: Any
    colour: Any
    marker: str = "o"
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One set of axes."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    log: bool = False


def method_curves(
    rows: Sequence[Row], methods: Iterable[str], value: str, factor: float = 1.0, **where: Any
) -> list[Curve]:
    """Return a line per method: value against number of features."""
    result = []
    for key in methods:
        x, y = curve(rows, value, method=key, **where)
        if x.size:
            method = METHODS[key]
            result.append(Curve(method.label, x, factor * y, method.colour, method.marker))
    return result


def draw(path: Path, title: str, panels: Sequence[Panel], columns: int = 3) -> bool:
    """Write a PNG with the panels; False, and a line that says so, without matplotlib."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        print(f"no {path.name}: matplotlib is missing (pip install matplotlib)", file=sys.stderr)
        return False
    columns = min(columns, len(panels))
    lines = math.ceil(len(panels) / columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(4.6 * columns, 3.5 * lines + 0.9), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    legend: dict[str, Any] = {}
    for axis, panel in zip(axes.flat, panels, strict=False):
        for one_curve in panel.curves:
            style = "--" if one_curve.dashed else "-"
            (line,) = axis.plot(
                one_curve.x, one_curve.y, style, color=one_curve.colour, marker=one_curve.marker,
                markersize=4, linewidth=1.3,
            )  # fmt: skip
            legend.setdefault(one_curve.label, line)
        axis.set(xlabel=panel.x, ylabel=panel.y)
        axis.set_title(panel.title, fontsize=10)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        if panel.log:
            axis.set_yscale("log")
        axis.grid(alpha=0.3)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    figure.suptitle(title)
    if legend:
        # As many columns as fit: about 13 letters to an inch, 6 for the line and the gap.
        room = 13 * figure.get_figwidth() / (max(map(len, legend)) + 6)
        figure.legend(
            list(legend.values()), list(legend), loc="outside lower center",
            ncols=max(1, int(room)), fontsize=9,
        )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return True


# -------------------------------------------------------------------------------------- scripts


class Kept:
    """The rows of the methods that are done, in a file until the report of them all is written.

    With --keep the rows of an earlier run of the same size and limit are there from the start.
    """

    def __init__(self, chosen: argparse.Namespace, *, go_on: bool) -> None:
        self.folder, self.name = chosen.results, Path(sys.argv[0]).stem
        self.file = self.folder / f"{self.name}.rows.json"
        self.about = record(chosen)
        self.rows: list[Row] = []
        if go_on:  # rows that no report has yet include those of the report before
            name = f"{self.name}.rows" if self.file.exists() else self.name
            data = common.earlier(self.folder, name)
            for option in ("size", "limit") if data else ():
                of, now = data["options"][option], getattr(chosen, option)
                if of != now:
                    sys.exit(
                        f"--keep: {self.folder / name}.json is of the {option} {of}, not {now}."
                    )
            self.rows += data.get("runs", [])

    def of(self, tags: Row) -> list[Row]:
        """Return the rows with these tags."""
        return [row for row in self.rows if row.items() >= tags.items()]

    def add(self, rows: list[Row]) -> list[Row]:
        """Keep the rows of a method, and return them."""
        self.rows += rows
        common.write(self.folder, f"{self.name}.rows", {**self.about, "runs": self.rows}, None)
        return rows

    def close(self) -> None:
        """Remove the file of rows, as the report has them all."""
        self.file.unlink(missing_ok=True)


def options(
    doc: str | None, methods: str, *, seeds: int, full_seeds: int | None = None, limit: float = 60.0
) -> argparse.Namespace:
    """Return the options that all scripts have, in a process with one thread.

    Sets `size` ("tiny", "small" or "full"), `keys`, the methods asked for, and `kept`, the rows of
    an earlier run with --keep.
    """
    parser = common.parser(doc)
    parser.set_defaults(results=common.RESULTS / "papers")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--full", action="store_true", help="the sizes of the paper")
    how.add_argument("--tiny", action="store_true", help="seconds: does the script run")
    parser.add_argument("--seeds", type=int, default=None, help="draws or random splits")
    parser.add_argument("--limit", type=float, default=limit, help="seconds for one selection")
    parser.add_argument("--methods", default=methods, help=f"with commas, of {', '.join(METHODS)}")
    parser.add_argument("--sets", default=None, help="with commas; only where there are several")
    parser.add_argument("--keep", action="store_true", help="run only what the results lack")
    chosen = parser.parse_args()
    if chosen.keep and (chosen.sets, chosen.methods) != (None, methods):
        parser.error("--keep goes on with all sets and methods; a report of some would lose others")
    chosen.size = "full" if chosen.full else "tiny" if chosen.tiny else "small"
    if chosen.seeds is None:
        usual = (full_seeds or seeds) if chosen.full else seeds
        chosen.seeds = min(usual, 2) if chosen.tiny else usual
    chosen.keys = pick("--methods", chosen.methods, METHODS)
    chosen.kept = Kept(chosen, go_on=chosen.keep)
    common.one_thread()
    return chosen


def pick(option: str, names: str, known: Iterable[str]) -> list[str]:
    """Return the names of a list with commas, or end the script with those that there are."""
    known = list(known)
    chosen = names.split(",")
    unknown = [name for name in chosen if name not in known]
    if unknown:
        sys.exit(f"{option}: unknown {unknown[0]!r}; there are: {', '.join(known)}.")
    return chosen


def record(chosen: argparse.Namespace, **parts: Any) -> Row:
    """Return what every JSON file begins with, and the parts."""
    about = {key: getattr(chosen, key) for key in ("size", "seeds", "limit", "keys")}
    return {"machine": common.machine(), "options": about, **parts}


def introduction(doc: str | None, chosen: argparse.Namespace) -> str:
    """Return the docstring as the introduction of a report, with the size that was run."""
    title, _, rest = (doc or "").strip().partition("\n")
    absent = missing_methods()
    text = f"# {title.rstrip('.')}\n\nSize: **{chosen.size}**, {chosen.seeds} seed(s), limit "
    text += f"{chosen.limit:g} s per selection, one thread."
    if absent:
        text += f" The paper's {' and '.join(absent)} do not exist here and are missing."
    return f"{text}\n\n{rest.strip()}"
