"""The rows of the folds of a cross-validation, and the groups that folds keep together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..types import IndexArray
from .data import check_unmasked


def check_splits(splits: Iterable[Any], n_samples: int) -> list[tuple[IndexArray, IndexArray]]:
    """Return (train, test) row numbers: distinct ones in a test, some in a train."""
    checked = []
    for number_, split in enumerate(splits):
        if not isinstance(split, (Sequence, np.ndarray)) or len(split) != 2:
            length = f" of length {len(split)}" if hasattr(split, "__len__") else ""
            raise ValueError(
                "cv must give pairs (train, test) of row numbers; got a "
                f"{type(split).__name__}{length} as fold {number_}."
            )
        train, test = (
            _rows(rows, f"the {name} rows of fold {number_}", n_samples)
            for rows, name in zip(split, ("training", "held-out"), strict=True)
        )
        if not train.size:
            raise ValueError(
                f"cv must leave rows for training in every fold; fold {number_} has none."
            )
        twice = np.flatnonzero(np.bincount(test, minlength=1) > 1)
        if twice.size:
            raise ValueError(
                f"cv must hold out a row once in a fold; got row {twice[0]} twice in fold "
                f"{number_}. Use np.unique."
            )
        checked.append((train, test))
    if not checked:
        raise ValueError(
            "cv must give at least one (train, test) pair; got none. (A generator gives its pairs "
            "once: pass a list of them.)"
        )
    return checked


def check_groups(groups: Any, n_samples: int) -> IndexArray | None:
    """Return the number of the group of every row by its label, (n,); None where there are none."""
    if groups is None:
        return None
    rule = f"groups must be a label for every sample ({n_samples})"
    check_unmasked("groups", groups)
    try:
        labels = np.asarray(groups)
    except ValueError:
        raise ValueError(f"{rule}; got a ragged sequence.") from None
    if labels.shape != (n_samples,):
        got = f"shape {labels.shape}" if labels.ndim else repr(groups)
        raise ValueError(
            f"{rule}; got {got:.60}. The groups of features are feature_groups, a parameter of the "
            "estimator."
        )
    missing = np.flatnonzero(_missing(labels))
    if missing.size:
        raise ValueError(
            f"{rule}; sample {missing[0]} has none. Give it a label of its own, or leave it out."
        )
    try:
        code = np.unique(labels, return_inverse=True)[1]
    except TypeError:
        kinds = sorted({type(one).__name__ for one in labels.tolist()})
        raise ValueError(f"{rule} of one kind; got {' and '.join(kinds)}.") from None
    return code.astype(np.int64)


def _missing(labels: np.ndarray) -> np.ndarray:
    """Return which labels are None, NaN, NaT or NA."""
    if labels.dtype.kind in "fcmM":
        return np.asarray(np.isnat(labels) if labels.dtype.kind in "mM" else np.isnan(labels))
    if labels.dtype.kind != "O":
        return np.zeros(labels.shape, bool)
    absent = "NAType", "NaTType"
    return np.array([
        one is None or type(one).__name__ in absent or bool(one != one) for one in labels
    ], bool)  # fmt: skip


def check_together(
    folds: Sequence[tuple[IndexArray, IndexArray]], groups: IndexArray, name: str
) -> None:
    """Raise ValueError where a fold holds out a row and has another one of its group in training.

    name : what the folds are, in the message.
    """
    for number, (train, test) in enumerate(folds):
        learnt = np.zeros(int(groups.max()) + 1, bool)
        learnt[groups[train]] = True
        apart = np.flatnonzero(learnt[groups[test]])
        if apart.size:
            row = int(test[apart[0]])
            other = int(train[groups[train] == groups[row]][0])
            raise ValueError(
                f"cv must hold out the samples of a group together; fold {number} of {name} holds "
                f"out sample {row} and learns from sample {other}, whose group is the same. Pass a "
                "number of folds or GroupKFold as cv, or leave groups out."
            )


def _rows(rows: Any, what: str, n_samples: int) -> IndexArray:
    """Return the numbers of some rows."""
    try:
        index = np.asarray(rows)
    except ValueError:
        index = np.empty((0, 0))
    if index.ndim != 1:
        raise ValueError(
            f"cv must give row numbers in arrays of one dimension; got shape {index.shape} for "
            f"{what}."
        )
    if index.dtype == np.bool_:
        raise ValueError(
            f"cv must give row numbers; got booleans for {what}. Use np.flatnonzero(mask)."
        )
    if index.size and index.dtype.kind not in "iu":
        raise ValueError(
            f"cv must give row numbers as integers; got type {index.dtype} for {what}. Convert "
            "them with astype(int)."
        )
    outside = index[(index < 0) | (index >= n_samples)] if index.size else index
    if outside.size:
        raise ValueError(
            f"cv must give row numbers from 0 to {n_samples - 1} (all rows of X are counted); got "
            f"{outside[0]} in {what}."
        )
    return index.astype(np.int64)
