"""The folds of a cross-validation: rows to train on and rows held out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from . import validate
from ._typing import FloatArray, IndexArray

RULES = ("1se", "best")
EQUAL = 1e-9  # scores that near are equal: integer weights choose as repeated rows do


def splits(
    labels: np.ndarray,
    weight: FloatArray,
    cv: Any,
    random_state: int | None,
    several: bool = False,
    stratify: bool = True,
) -> list[tuple[IndexArray, IndexArray]]:
    """Return (train, test) row numbers of every fold, without the rows of weight 0.

    cv : number of folds; a splitter, or pairs of row numbers, of all rows.
    several : whether one fold is too few: a standard error needs two.
    stratify : whether a number of folds have the classes in equal shares.
    """
    used = np.flatnonzero(weight > 0)
    if validate.is_integer(cv):
        drawn = _folds(labels[used] if stratify else None, used.size, cv, random_state)
        return [(used[train], used[test]) for train, test in drawn]
    pairs: Any = cv
    if hasattr(cv, "split") and not isinstance(cv, (str, bytes, type)):
        pairs = cv.split(np.zeros(len(labels)), labels)
    elif isinstance(cv, (str, bytes, dict, set)) or not isinstance(cv, Iterable):
        raise ValueError(
            f"cv must be a number of folds, a splitter or splits; got {validate.shown(cv)}. "
            "Splits are (train, test) pairs of row numbers."
        )
    folds = [
        (train[weight[train] > 0], test[weight[test] > 0])
        for train, test in validate.check_splits(pairs, len(labels))
    ]
    for number, (train, test) in enumerate(folds):
        for rows, deed in ((train, "leave"), (test, "hold out")):
            if not rows.size:
                raise ValueError(
                    f"cv must {deed} a row of positive weight in every fold; fold {number} has "
                    "none."
                )
    if several and len(folds) < 2:
        raise ValueError(f"cv must have at least two folds; got {len(folds)}.")
    return folds


def _folds(
    labels: np.ndarray | None, n: int, cv: Any, random_state: int | None
) -> list[tuple[IndexArray, IndexArray]]:
    """Return (train, test) row numbers of folds of n rows, stratified where there are labels."""
    if labels is None:
        if n < 2:
            raise ValueError(f"cv needs at least two rows of positive weight; got {n}.")
        if not 2 <= cv <= n:
            raise ValueError(
                f"cv must be between 2 and {n} (the rows of positive weight); got "
                f"{validate.shown(cv)}."
            )
        return list(KFold(int(cv), shuffle=True, random_state=random_state).split(np.zeros(n)))
    classes, counts = np.unique(labels, return_counts=True)
    smallest, most = validate.plain(classes[counts.argmin()]), int(counts.min())
    if most < 2:
        raise ValueError(
            "cv needs at least two rows (of positive weight) of every class; got 1 sample of class "
            f"{smallest!r}. Leave that class out, or pass splits."
        )
    if not 2 <= cv <= most:
        raise ValueError(
            f"cv must be between 2 and {most} (the rows of class {smallest!r}); got "
            f"{validate.shown(cv)}."
        )
    splitter = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
    return list(splitter.split(np.zeros(n), labels))


def check_fold(
    number: int, classes: np.ndarray, train: np.ndarray, test: np.ndarray, scoring: str | None
) -> None:
    """Raise where a fold, by its labels, has nothing to learn from or to score."""
    if scoring == "auc" and classes.size > 2:
        raise ValueError(
            f"scoring='auc' needs two classes; got {classes.size}. Use scoring='log_loss'."
        )
    missing = np.setdiff1d(classes, train)
    if missing.size:
        raise ValueError(
            f"cv must leave rows of every class (of positive weight) for training; fold "
            f"{number} has none of class {validate.plain(missing[0])!r}."
        )
    if scoring == "auc" and len(np.unique(test)) < 2:
        raise ValueError(
            f"scoring='auc' needs held-out rows of both classes; those of fold {number} are "
            "all of one. Use fewer folds, or scoring='log_loss'."
        )


def repeats_of(tests: Sequence[IndexArray]) -> float:
    """Return how often a row that is held out at all is held out, in the mean."""
    rows = np.concatenate(tests)
    return rows.size / np.unique(rows).size


def best_and_near(mean: FloatArray, error: FloatArray, slack: float = EQUAL) -> tuple[int, int]:
    """Return the first of the best means, and the first within one standard error of it.

    mean, error : (n_models,), the larger the better; models from the smallest one on.
    slack : by how much means may differ that count as equal.
    """
    best = int(np.argmax(mean >= mean.max() - slack))
    return best, int(np.argmax(mean >= mean[best] - error[best] - slack))
