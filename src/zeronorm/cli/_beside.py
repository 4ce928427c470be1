"""Columns of tables of samples beside the features of the data: covariates, numbers or text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..files._codings import Coding
    from ..files._texts import Texts
    from ._joined import Known


def with_columns(
    X: Any,
    features: list[str] | None,
    known: Known,
    names: Sequence[str],
    codings: Mapping[str, Coding],
) -> tuple[Any, list[str] | None, dict[str, Coding]]:
    """Return X with columns of tables behind its own, their names, and how text became features.

    codings : of a model, by column.
    """
    import numpy as np
    import scipy.sparse as sp

    from ..files import quote

    made: dict[str, Coding] = {}
    if not names:
        return X, features, made
    if features is None or not (isinstance(X, np.ndarray) or sp.issparse(X)):
        raise ValueError(
            f"{known.data}: covariates of --samples go beside columns with names in memory; write "
            f"{quote(names[0])} into the data."
        )
    values: dict[str, Any] = {}
    for name in names:
        column = known.values(name)
        if column.dtype.kind == "U":
            from ..files._texts import Texts

            coding, found = _coded(known, name, Texts.of(column.tolist()), codings.get(name))
            made |= dict.fromkeys(found, coding)
            values |= found
        else:
            values[name] = column.astype(np.float64)
    for name in values.keys() & set(features):
        raise ValueError(
            f"{known.data}: the covariate {quote(name)} is a column of the data and of "
            "--samples; rename one of them."
        )
    beside: Any = np.column_stack([*values.values()]).astype(np.float64, copy=False)
    names = [*features, *values]
    if isinstance(X, np.ndarray):
        return np.asfortranarray(np.hstack([X, beside])), names, made
    parts: Any = [X, sp.csr_array(beside)]
    return sp.csr_array(sp.hstack(parts)), names, made


def _coded(
    known: Known, name: str, texts: Texts, coding: Coding | None
) -> tuple[Coding, dict[str, Any]]:
    """Return how a column of text is coded, as by a model where there is one, and its features."""
    from ..files import quote
    from ..files._coded import notes_of
    from ..files._codings import Problem, fitted

    result = coding or fitted(name, texts, None)
    problem = None if coding is None else coding.problem(texts)
    if problem is not None:
        shown = quote("" if problem.row is None else texts[problem.row])
        raise ValueError(
            f"{known.data}: the covariate {quote(name)}: {shown} {problem.what}. {problem.remedy}."
        )
    if isinstance(result, Problem) or result.kind != "category":
        what = result.what if isinstance(result, Problem) else "is a date"
        raise ValueError(
            f"{known.data}: the covariate {quote(name)} must be numbers, or text of few values; "
            f"got {quote(texts[0])}, which {what}."
        )
    unseen = result.unseen(texts)
    if unseen.size:
        example = texts[int(unseen[0])]
        known.notes.extend(notes_of({}, {name: (unseen.size, example)}, by_model=True))
    return result, dict(zip(result.names(), result.features(texts), strict=True))


def picked(X: Any, features: list[str], wanted: Sequence[str], data: str) -> tuple[Any, list[str]]:
    """Return the columns that a model needs, in its order."""
    from ..files._unique import places_of_features

    return X[:, places_of_features(data, wanted, features)], [*wanted]
