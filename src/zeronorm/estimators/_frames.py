"""Data frames with categorical columns as numbers: one-hot, a group of columns for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from .._typing import IndexArray
from ..groups import Groups
from ..validate import feature_names

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
            given = "one without such names" if hasattr(X, "columns") else type(X).__name__
            raise ValueError(
                "feature_groups='columns' needs X as a data frame whose columns have strings as "
                f"names; got {given}. Rename them, or pass the group of every column as "
                "feature_groups."
            )
        if len(set(columns)) < len(columns):
            twice = next(name for place, name in enumerate(columns) if name in columns[:place])
            raise ValueError(
                f"feature_groups='columns' needs distinct names of columns; got {twice!r}."
            )
        # Steps are named by number: not every name of a column may be that of a step.
        steps = [
            (str(place), _encoder() if _is_categorical(X[name]) else "passthrough", [name])
            for place, name in enumerate(columns)
        ]
        transformer = ColumnTransformer(steps, verbose_feature_names_out=False)
        try:
            matrix = transformer.fit_transform(X)
        except (TypeError, ValueError) as error:
            for name in columns if len(X) else ():
                _blame(X, name, _encoder().fit if _is_categorical(X[name]) else None, error)
            raise
        code: list[IndexArray] = []
        names: list[str] = []
        for place, (_, step, own) in enumerate(transformer.transformers_):
            encoded = isinstance(step, OneHotEncoder)
            part = step.get_feature_names_out(own).tolist() if encoded else own
            code.append(np.full(len(part), place, np.int64))
            names += part
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise ValueError(
                "feature_groups='columns' names encoded columns 'column=category', which must be "
                f"distinct from all others; got {repeated[0]!r} twice. Rename a column of X."
            )
        # Groups are sorted by label; the columns of a frame are not.
        order = np.argsort(np.array(columns), kind="stable")
        rank = np.empty(len(columns), np.int64)
        rank[order] = np.arange(len(columns))
        groups = Groups(np.array(columns)[order], rank[np.concatenate(code)])
        return cls(transformer, names, groups), matrix

    def transform(self, X: Any) -> Any:
        """Return the matrix of another frame with these columns."""
        try:
            return self.transformer.transform(X)
        except (TypeError, ValueError) as error:
            for _, step, own in self.transformer.transformers_:
                if isinstance(step, OneHotEncoder):
                    _blame(X, own[0], step.transform, error)
            raise


def _blame(X: Any, name: str, encode: Callable[[Any], Any] | None, error: Exception) -> None:
    """Raise with the name of a column of a frame where it cannot become numbers."""
    column = X[name]
    try:
        if encode is not None:
            encode(X[[name]])
        elif np.asarray(column).dtype.kind not in "biuf":
            raise TypeError
    except (TypeError, ValueError):
        raise ValueError(
            f"feature_groups='columns' cannot encode column {name!r} of X, of type {column.dtype}: "
            f"{error} Columns must be of numbers, strings, categories or booleans, of one type in "
            "fit and predict; make missing values NaN or a category of their own."
        ) from error


def _encoder() -> OneHotEncoder:
    return OneHotEncoder(handle_unknown="ignore", feature_name_combiner=_name_of)


def _name_of(column: str, category: Any) -> str:
    return f"{column}={category}"


def _is_categorical(column: Any) -> bool:
    """Return whether a column of a frame holds categories, strings or booleans."""
    return str(column.dtype).lower().split("(")[0].startswith(CATEGORICAL)


def encoded(X: Any, feature_groups: Any) -> tuple[Any, list[str] | None, Any]:
    """Return X as numbers, one-hot where the columns of a frame are the groups."""
    if not (isinstance(feature_groups, str) and feature_groups == "columns"):
        return X, feature_names(X), None
    encoding, matrix = EncodedFrame.fit(X)
    return matrix, encoding.names, encoding
