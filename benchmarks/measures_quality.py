"""What training for the measure is worth: F1, PRBEP and precision at 50 of rare classes.

    python benchmarks/measures_quality.py
    python benchmarks/measures_quality.py --sets w8a --seeds 1

Sets with 3 to 5 % positives: 12,000 rows of w8a, and three classes of news20_multiclass against the
rest (counts, rows of unit norm, columns in fewer than 3 rows dropped). Random splits within
classes, two thirds train. k = 10, 30 and 100 features.

accuracy                `BudgetClassifier` with its defaults: features and model for the likelihood
accuracy, threshold     the same model, its threshold tuned for F1 on out-of-fold scores of 3 folds,
                        every fold with its own selection: what users do today
balanced                `BudgetClassifier(class_weight="balanced")`
hamming, f1, ...        `MeasureClassifier` with its defaults
f1, C by folds, ...     the same with C of the grid GRID that is best in its measure on 3 folds, for
                        each k by itself: `BudgetClassifier` chooses the C of its refit, too

Every k is a fit of its own. (With a list of sizes, the features of a small size are the first of
those of the largest, found in larger blocks: "f1, one list" is that.)

Rankings (PRBEP, precision at 50) do not depend on thresholds. "beside" is the difference from
`accuracy, threshold` on the same splits, mean and standard error over sets and splits; seconds are
CPU seconds of one thread for the three sizes together, folds included. With few splits of a set the
rows are not independent: read the errors as what they are.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common
import _protocol as protocol
import measures
from zeronorm import BudgetClassifier, MeasureClassifier
from zeronorm.measures import PRBEP, PrecisionAt, parse_measure

Row = dict[str, Any]
SIZES = (10, 30, 100)
FOLDS = 3
W8A_ROWS = 12_000
GRID = (0.001, 0.01, 0.1)
CLASSES = (1, 8, 15)  # atheism, autos, space
SETS = ("w8a", *(f"news20:{c}" for c in CLASSES))
BASE = "accuracy, threshold"
PLAIN = ("hamming", "f1", "prbep", "precision@50", "auc", "ap")
TUNED = ("f1", "prbep", "precision@50")
METHODS = (
    "accuracy", BASE, "balanced", *PLAIN, *(f"{key}, C by folds" for key in TUNED), "f1, one list",
)  # fmt: skip
JUDGED = ("F1", "PRBEP", "precision@50")


@dataclass(frozen=True)
class Linear:
    """A model on some features."""

    support: np.ndarray
    coef: np.ndarray
    intercept: float

    def scores(self, X: Any) -> np.ndarray:
        """Return X[:, support] @ coef + intercept."""
        return np.asarray(X[:, self.support] @ self.coef).ravel() + self.intercept


Models = dict[int, Linear]


def read(folder: Path, name: str) -> tuple[Any, np.ndarray]:
    """Return X by columns, and y of +-1."""
    data = protocol.arrays(folder, name.split(":")[0].replace("news20", "news20_multiclass"))
    X, y = data["X"], data["y"]
    if name == "w8a":
        share = W8A_ROWS / y.size
        rows = protocol._stratified(y, share, np.random.default_rng(protocol.FIRST_SEED))[0]
        return sp.csc_matrix(X[rows], dtype=np.float32), np.where(y[rows] > 0, 1, -1)
    X = sp.csc_matrix(measures.normalised(X))
    X = X[:, np.flatnonzero(X.getnnz(axis=0) >= 3)]
    return X, np.where(y == int(name.split(":")[1]), 1, -1)


def fitted(make: Callable[[Any], Any], X: Any, y: np.ndarray, one_list: bool = False) -> Models:
    """Return the models of all sizes; `make` returns an estimator for its n_features."""
    models = {}
    for size in (list(SIZES),) if one_list else SIZES:
        path = make(size).fit(X, y).path_
        for k in path:
            chosen = path[k]
            models[k] = Linear(chosen.support, np.asarray(chosen.coef), float(chosen.intercept))
    return models


def folds(y: np.ndarray, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows to train on and rows left out, each class in equal shares."""
    rng = np.random.default_rng(seed)
    place = np.empty(y.size, np.int64)
    for sign in (-1, 1):
        rows = rng.permutation(np.flatnonzero(y == sign))
        place[rows] = np.arange(rows.size) % FOLDS
    for fold in range(FOLDS):
        yield np.flatnonzero(place != fold), np.flatnonzero(place == fold)


def best_threshold(scores: np.ndarray, y: np.ndarray) -> float:
    """Return the threshold of the largest F1."""
    order = np.argsort(-scores, kind="stable")
    falling, hits = scores[order], np.cumsum(y[order] > 0)
    f1 = 2.0 * hits / (np.arange(1, y.size + 1) + hits[-1])
    f1[:-1][falling[:-1] == falling[1:]] = -1.0  # no threshold parts equal scores
    at = int(f1.argmax())
    return float(falling[at] if at + 1 == y.size else 0.5 * (falling[at] + falling[at + 1])) - 1e-12


def with_threshold(X: Any, y: np.ndarray, seed: int) -> Models:
    """Return accuracy-trained models with thresholds tuned on folds."""
    scores = {k: np.empty(y.size) for k in SIZES}
    for train, left in folds(y, seed):
        for k, model in fitted(budget(), X[train], y[train]).items():
            scores[k][left] = model.scores(X[left])
    return {
        k: Linear(m.support, m.coef, m.intercept - best_threshold(scores[k], y))
        for k, m in fitted(budget(), X, y).items()
    }


def by_folds(key: str, X: Any, y: np.ndarray, seed: int) -> Models:
    """Return models whose C is chosen on folds, for every size by itself."""
    measure = parse_measure(key)
    found = {(C, k): 0.0 for C in GRID for k in SIZES}
    for train, left in folds(y, seed):
        for C in GRID:
            for k, model in fitted(trained(key, C), X[train], y[train]).items():
                found[C, k] += measure.score(y[left].astype(float), model.scores(X[left]))
    best = {k: max(GRID, key=lambda C: found[C, k]) for k in SIZES}
    whole = {C: fitted(trained(key, C), X, y) for C in set(best.values())}
    return {k: whole[best[k]][k] for k in SIZES}


def budget(**options: Any) -> Callable[[Any], BudgetClassifier]:
    """Return the estimator that trains for the likelihood, by its n_features."""
    return lambda size: BudgetClassifier(size, n_threads=1, **options)


def trained(key: str, C: float | str = "auto") -> Callable[[Any], MeasureClassifier]:
    """Return the estimator that trains for a measure, by its n_features."""
    return lambda size: MeasureClassifier(key, size, C=C, n_threads=1)


def models_of(method: str, X: Any, y: np.ndarray, seed: int) -> Models:
    """Return the models of a method."""
    if method == "accuracy":
        return fitted(budget(), X, y)
    if method == BASE:
        return with_threshold(X, y, seed)
    if method == "balanced":
        return fitted(budget(class_weight="balanced"), X, y)
    key, _, how = method.partition(", ")
    if how == "C by folds":
        return by_folds(key, X, y, seed)
    return fitted(trained(key), X, y, one_list=how == "one list")


def judge(model: Linear, X: Any, y: np.ndarray) -> Row:
    """Return the three measures on test rows."""
    z, labels = model.scores(X), y.astype(float)
    return {
        "F1": parse_measure("f1").score(labels, z),
        "PRBEP": PRBEP().score(labels, z),
        "precision@50": PrecisionAt(50).score(labels, z),
    }


def measure(name: str, seed: int, options: Any) -> list[Row]:
    """Return the rows of one split."""
    X, y = read(common.data_folder(options.data), name)
    train, test = protocol._stratified(y, 2 / 3, np.random.default_rng(seed))
    X, X_test = sp.csr_matrix(X)[train], sp.csr_matrix(X)[test]
    rows: list[Row] = []
    for method in options.keys:
        begin = time.process_time()
        with common.log(f"{name}, {seed}, {method}"):
            models = models_of(method, X, y[train], seed)
        cpu = time.process_time() - begin
        for k, model in models.items():
            row = {"set": name, "seed": seed, "method": method, "k": k, "cpu": cpu}
            rows.append(row | judge(model, X_test, y[test]))
    return rows


def of(rows: Sequence[Row], **where: Any) -> dict[tuple[str, int], Row]:
    """Return the rows with these values by set and split."""
    return {
        (row["set"], row["seed"]): row
        for row in rows
        if all(row[key] == value for key, value in where.items())
    }


def mean_error(values: Sequence[float]) -> str:
    """Return mean +- standard error, in percent."""
    values = 100.0 * np.asarray(values)
    error = f" ± {values.std(ddof=1) / np.sqrt(values.size):.1f}" if values.size > 1 else ""
    return f"{values.mean():.1f}{error}"


def result_table(rows: Sequence[Row], k: int) -> str:
    """Return a row per method, the measures and their differences."""
    base, body = of(rows, method=BASE, k=k), []
    for method in METHODS:
        mine = of(rows, method=method, k=k)
        if not mine:
            continue
        line: list[Any] = [method]
        for key in JUDGED:
            line.append(f"{100.0 * np.mean([row[key] for row in mine.values()]):.1f}")
            beside = [row[key] - base[at][key] for at, row in mine.items() if at in base]
            line.append("-" if method == BASE or not beside else mean_error(beside))
        body.append([*line, f"{np.median([row['cpu'] for row in mine.values()]):.1f}"])
    header = ["trained for"]
    for key in JUDGED:
        header += [key, "beside"]
    return common.table([*header, "CPU s"], body)


def report(rows: list[Row], about: dict[str, Any], options: Any) -> None:
    """Write what there is so far."""
    title, _, rest = (__doc__ or "").strip().partition("\n")
    splits = {name: len({row["seed"] for row in rows if row["set"] == name}) for name in SETS}
    text = [
        f"# {title.rstrip('.')}",
        rest.split("\n\n", 1)[1].strip().replace("GRID", ", ".join(map(str, GRID))),
        "Splits: " + ", ".join(f"{name} {count}" for name, count in splits.items() if count) + ".",
    ]
    for k in SIZES:
        text += [f"## {k} features, test rows, percent", result_table(rows, k)]
    for name in SETS:
        mine = [row for row in rows if row["set"] == name]
        if mine:
            text += [f"## {name}"]
            for k in SIZES:
                text += [f"{k} features:", result_table(mine, k)]
    figures = {"machine": about, "options": {"folds": FOLDS, "grid": GRID}, "records": rows}
    common.write(options.results, "measures_quality", figures, "\n\n".join(text))


def main() -> None:
    """Measure and write measures_quality.json and .md."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default=";".join(METHODS), help="with semicolons")
    parser.add_argument("--seeds", type=int, default=3, help="splits of a set")
    parser.add_argument("--keep", action="store_true", help="keep what else the result file has")
    options = parser.parse_args()
    common.one_thread()
    warnings.simplefilter("ignore")
    names, options.keys = options.sets.split(","), options.methods.split(";")
    for option, given, known in (("sets", names, SETS), ("methods", options.keys, METHODS)):
        if unknown := [one for one in given if one not in known]:
            sys.exit(f"--{option}: unknown {unknown[0]!r}; there are: {', '.join(known)}.")
    about = common.machine()
    rows = common.kept(options.results, "measures_quality") if options.keep else []
    rows = [row for row in rows if not (row["set"] in names and row["method"] in options.keys)]
    for seed in range(protocol.FIRST_SEED, protocol.FIRST_SEED + options.seeds):
        for name in names:
            rows += measure(name, seed, options)
            report(rows, about, options)


if __name__ == "__main__":
    main()
