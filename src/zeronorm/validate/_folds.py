"""The rows of the folds of a cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._typing import IndexArray


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
