"""Data frames with categorical columns as numbers: one-hot, a group of columns for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from .._typing import IndexArray
from .._validate import feature_names
from ..groups import Groups

CATEGORICAL = ("category", "object", "str", "bool", "categorical", "enum", "utf8", "string")


@dataclass(frozen=True, eq=False)
class EncodedFrame:
    """How a data frame becomes a matrix: categorical columns one-hot, the others as they are.

    Categories that were not seen by `fit` are zero in all columns; missing ones are a category.
    """

    transformer: Any
    names: list[str]  # of the columns of the matrix
    groups: Groups  # a group for every column of the frame

    @classmethod
    def fit(cls, X: Any) -> tuple[EncodedFrame, Any]:
        """Return the encoding of a frame, and the matrix, dense or sparse, whichever is smaller.

        Raises
        ------
        ValueError
            Where X is no data frame with names of its columns.
        """
        columns = feature_names(X)
        if columns is None:
            raise ValueError(
                "groups='columns' needs X as a data frame with names of its columns; got "
                f"{type(X).__name__}. Pass the group of every column as groups."
            )
        twice = [name for name in columns if columns.count(name) > 1]
        if twice:
            raise ValueError(f"groups='columns' needs distinct names of columns; got {twice[0]!r}.")
        steps = [
            (name, _encoder() if _is_categorical(X[name]) else "passthrough", [name])
            for name in columns
        ]
        transformer = ColumnTransformer(steps, verbose_feature_names_out=False)
        matrix = transformer.fit_transform(X)
        code: list[IndexArray] = []
        for place, name in enumerate(columns):
            part = transformer.output_indices_[name]
            code.append(np.full(part.stop - part.start, place, np.int64))
        # Groups are sorted by label; the columns of a frame are not.
        order = np.argsort(np.array(columns), kind="stable")
        rank = np.empty(len(columns), np.int64)
        rank[order] = np.arange(len(columns))
        groups = Groups(np.array(columns)[order], rank[np.concatenate(code)])
        return cls(transformer, list(transformer.get_feature_names_out()), groups), matrix

    def transform(self, X: Any) -> Any:
        """Return the matrix of another frame with these columns."""
        return self.transformer.transform(X)


def _encoder() -> OneHotEncoder:
    return OneHotEncoder(handle_unknown="ignore", feature_name_combiner=_name_of)


def _name_of(column: str, category: Any) -> str:
    return f"{column}={category}"


def _is_categorical(column: Any) -> bool:
    """Return whether a column of a frame holds categories, strings or booleans."""
    return str(column.dtype).lower().split("(")[0].startswith(CATEGORICAL)


__all__ = ["EncodedFrame"]
