"""Data frames with categorical columns as numbers: one-hot, a group of columns for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import Message, Parameter, ParameterError
from ..core.frames import frame_of, is_number, kinds_of, names_of, values_of
from ..core.groups import Groups
from ..core.validation import check_columns

_CATEGORIES = ("categories", "text", "booleans", "objects")
_SPARSE = 0.3  # share of nonzero entries below which the matrix is sparse
_RULE = (
    "Columns must be of numbers, strings, categories or booleans, of one type in fit and predict; "
    "make missing values NaN or a category of their own."
)


@dataclass(frozen=True, eq=False)
class EncodedFrame:
    """How a data frame becomes a matrix: categorical columns one-hot, the others as they are.

    Categories that were not seen by `fit` are zero in all columns; missing ones are a category.
    """

    columns: list[str]  # of the frame
    levels: list[list[Any] | None]  # of each, sorted, the missing one, None, last; None: numbers
    names: list[str]  # of the columns of the matrix
    groups: Groups  # a group for every column of the frame

    @classmethod
    def fit(cls, X: Any) -> tuple[EncodedFrame, Any]:
        """Return the encoding of a frame, and the matrix, dense or sparse, whichever is smaller.

        Raises
        ------
        ValueError
            Where X is no data frame with names of its columns, or a column cannot be encoded.
        """
        frame = frame_of(X)
        columns = None if frame is None else names_of(frame)
        if columns is None:
            given = type(X).__name__ if frame is None else "one without such names"
            raise ValueError(
                Message(
                    Parameter.of("feature_groups", "columns"),
                    f" needs X as a data frame whose columns have strings as names; got {given}. "
                    "Rename them, or pass the group of every column as ",
                    Parameter("feature_groups"),
                    ".",
                )
            )
        levels: list[list[Any] | None] = []
        names: list[str] = []
        code: list[int] = []
        for place, (name, kind) in enumerate(kinds_of(frame).items()):
            own = _levels(name, frame[name]) if kind in _CATEGORIES else None
            some = [name] if own is None else [_name_of(name, level) for level in own]
            levels.append(own)
            names += some
            code += [place] * len(some)
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise ValueError(
                Message(
                    Parameter.of("feature_groups", "columns"),
                    " names encoded columns 'column=category', which must be distinct from all "
                    f"others; got {repeated[0]!r} twice. Rename a column of ",
                    Parameter("X"),
                    ".",
                )
            )
        # Groups are sorted by label; the columns of a frame are not.
        order = np.argsort(np.array(columns), kind="stable")
        rank = np.empty(len(columns), np.int64)
        rank[order] = np.arange(len(columns))
        groups = Groups(np.array(columns)[order], rank[np.array(code, np.int64)])
        encoding = cls(columns, levels, names, groups)
        return encoding, encoding._matrix(frame)

    def transform(self, estimator: Any, X: Any) -> Any:
        """Return the matrix of another frame with the columns of the fit of an estimator."""
        frame = frame_of(X)
        if frame is None:
            raise ParameterError(
                "X", "must be a data frame with the columns of the fit", f"{type(X).__name__}"
            )
        check_columns(estimator, frame)
        return self._matrix(frame)

    def _matrix(self, frame: Any) -> Any:
        """Return the matrix of a frame, (n_samples, n_names)."""
        kinds = kinds_of(frame)
        parts: list[Any] = []
        for name, levels in zip(self.columns, self.levels, strict=True):
            kind, column = kinds[name], frame[name]
            if levels is None:
                values = values_of(column, kind)
                if not is_number(kind) and (kind != "others" or values.dtype.kind not in "biuf"):
                    raise _refusal(name, column.dtype, "it holds no numbers.")
                parts.append(values[:, None])
            else:
                parts.append(_one_hot(name, column, levels))
        if len(self.columns) < _SPARSE * len(self.names):
            return sp.csr_array(sp.hstack([sp.csc_array(part, dtype=np.float64) for part in parts]))
        return np.hstack(parts, dtype=np.float64)


def _labels(column: Any) -> list[Any]:
    """Return the labels in a column, None where one is missing."""
    missing = column.is_null().to_list()
    return [
        None if gap or value != value else value
        for value, gap in zip(column.to_list(), missing, strict=True)
    ]


def _levels(name: str, column: Any) -> list[Any]:
    """Return the labels that occur in a column, sorted, that of missing values last."""
    try:
        found = set(_labels(column))
        return sorted(found - {None}) + [None] * (None in found)
    except TypeError as error:
        raise _refusal(name, column.dtype, f"{error}.") from error


def _one_hot(name: str, column: Any, levels: Sequence[Any]) -> NDArray[np.uint8]:
    """Return whether the labels of a column are those of the fit, (n_samples, n_levels)."""
    labels = _labels(column)
    known = {type(level) for level in levels if level is not None}
    types = {type(label) for label in labels if label is not None}
    if known and types and known.isdisjoint(types):
        got, was = (sorted(one.__name__ for one in some) for some in (types, known))
        raise _refusal(name, column.dtype, f"its labels are {got[0]}, and were {was[0]} in fit.")
    place = {level: j for j, level in enumerate(levels)}
    codes = np.array([place.get(label, -1) for label in labels], np.int64)
    return np.asarray(codes[:, None] == np.arange(len(levels)), np.uint8)


def _refusal(name: str, dtype: Any, why: str) -> ValueError:
    return ValueError(
        f"feature_groups='columns' cannot encode column {name!r} of X, of type {dtype}: {why} "
        f"{_RULE}"
    )


def _name_of(column: str, level: Any) -> str:
    return f"{column}={'nan' if level is None else level}"
