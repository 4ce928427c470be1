"""Checks of how many features a model may have, which it must have, and what is said of each.

The sizes; forced features and covariates; signs, costs and penalty factors; the scale of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import Column, Message, Parameter, ParameterError
from .messages import span
from .types import FloatArray, IndexArray
from .validation import (
    LARGEST,
    as_numbers,
    check_unmasked,
    dimensions,
    is_integer,
    number,
    shown,
)

LARGEST_SPREAD = 1e50  # Products of columns with deviations up to this stay finite.


@dataclass(frozen=True, slots=True)
class AtFault:
    """The rows without which there would be a model: those with one value in all of some columns.

    columns : their indices. value : 1 of the rows of a level of a category; 0 of its base level,
    of which all columns of the category are 0.
    """

    columns: tuple[int, ...]
    value: float


class UnfittableError(ValueError):
    """Covariates or forced features have no coefficients on these rows; on others they may.

    at_fault : the rows that keep them from these, where they are known.
    """

    def __init__(self, message: str, at_fault: AtFault | None = None) -> None:
        super().__init__(message)
        self.at_fault = at_fault


def check_sizes(n_features: Any, n_usable: int, n_columns: int, n_forced: int) -> tuple[int, ...]:
    """Return the wanted sizes, sorted: an int, a sequence of ints, or None for min(10, usable)."""
    check_usable(n_usable, n_columns)
    if n_features is None:
        return (max(min(10, n_usable), n_forced),)
    least = f"the forced features: it must be at least {n_forced} (the length of "
    forced = Message(least, Parameter("forced_features"), ")")
    allowed = _allowed(n_usable, n_columns)
    return _check_counts("n_features", n_features, n_usable, allowed, n_forced, forced)


def check_size(n_features: Any, n_usable: int, n_columns: int, n_free: int) -> int:
    """Return the number of features of an l1 model, the never penalised ones among them."""
    check_usable(n_usable, n_columns)
    free = (
        f"the features that are never penalised: it must be at least {n_free} (the zeros of "
        "penalty_factor)"
    )
    allowed = _allowed(n_usable, n_columns)
    return _check_counts("n_features", n_features, n_usable, allowed, n_free, free)[0]


def check_n_groups(n_groups: Any, n_usable: int, n_forced: int) -> tuple[int, ...]:
    """Return the wanted numbers of groups, sorted.

    n_usable : groups with a column that is not constant.
    n_forced : groups with a forced feature.
    """
    forced = f"the groups of forced features: it must be at least {n_forced}"
    allowed = _allowed(n_usable)
    return _check_counts("n_groups", n_groups, n_usable, allowed, n_forced, forced)


def check_k(k: int, n_usable: int, n_columns: int, n_forced: int, *, groups: bool) -> int:
    """Return the size of all supports in question, of features or of groups."""
    what = "groups" if groups else "features"
    forced = f"the forced {what}: it must be at least {n_forced}"
    allowed = _allowed(n_usable, None if groups else n_columns)
    return _check_counts("k", k, n_usable, allowed, n_forced, forced)[0]


def _allowed(n_usable: int, n_columns: int | None = None) -> str:
    """Return the rule of how many features a model may have; without n_columns, of groups."""
    if n_usable == 1:  # scikit-learn looks for the words "n_features=1"
        only = Parameter.of("n_groups" if n_columns is None else "n_features", 1)
        return Message("must be 1 (", only, " is the only choice)")
    if n_columns is None:
        of = Message("the groups with a non-constant column")
    else:
        kind = "features" if n_usable == n_columns else "non-constant features"
        of = Message(f"the {kind} of ", Parameter("X"))
    return Message(f"must be between 1 and {n_usable} (", of, ")")


def _check_counts(
    name: str, wanted: Any, largest: int, allowed: str, least: int, counted: str
) -> tuple[int, ...]:
    """Return an integer or a list of integers as sorted, distinct integers.

    largest, allowed : how many there are, and how messages say it.
    least, counted : how many always count, and what they are.
    """
    if isinstance(wanted, np.ndarray) and wanted.ndim == 0:
        wanted = wanted.item()
    values = [wanted] if dimensions(wanted) == 0 else list(wanted)
    rule = "must be an integer or a list of integers"
    if not values:
        raise ParameterError(name, rule, "an empty list")
    for value in values:
        if not is_integer(value):
            raise ParameterError(name, rule, shown(value))
        if not 1 <= int(value) <= largest:
            raise ParameterError(name, allowed, shown(value))
        if int(value) < least:
            raise ParameterError(name, Message("counts ", counted), shown(value))
    return tuple(sorted({int(value) for value in values}))


def check_usable(n_usable: int, n_columns: int) -> None:
    """Raise where X has no column to select."""
    if n_usable == 0:
        raise ParameterError(
            "X",
            f"must have a column that is not constant, to select from; all its {n_columns} "
            "columns are constant, or vary by less than 1e-15 of their size, which is rounding: "
            "subtract a constant from such columns first",
        )


def check_features(
    parameter: str, given: Any, usable: np.ndarray, names: Sequence[str] | None
) -> IndexArray:
    """Return features of a parameter as sorted indices; they are given as indices or as names.

    usable : (m,) mask of the columns that are not constant.
    """
    n_columns = usable.size
    if given is None:
        return np.empty(0, np.int64)
    if (
        isinstance(given, (str, bytes))
        or not isinstance(given, (Sequence, np.ndarray))
        or (isinstance(given, np.ndarray) and given.ndim != 1)
    ):
        raise ParameterError(
            parameter, "must be a list of indices or of feature names", shown(given)
        )
    rule = "a list of indices or of feature names"
    result = np.sort(places_of_features(parameter, given, rule, n_columns, names))
    constant = result[~usable[result]]
    if constant.size:
        column = int(constant[0])
        got = Column(column) if names is None else f"column {names[column]!r:.80}"
        raise UnfittableError(
            Message(
                Parameter(parameter), " must not be constant columns of ", Parameter("X"),
                "; got ", got, ".",
            ),
            AtFault((column,), 1.0) if parameter == "covariates" else None,
        )  # fmt: skip
    return result


def check_apart(covariates: IndexArray, forced: IndexArray) -> None:
    """Raise where a covariate is forced as well."""
    both = np.intersect1d(covariates, forced)
    if both.size:
        raise ParameterError(
            "covariates",
            Message(
                "are in every model and must not be ", Parameter("forced_features"), " as well"
            ),
            Message(Column(both[0]), " in both"),
            "Leave it in one: forced features are counted and penalised.",
        )


def check_adjustable(
    loss: Any,
    y: FloatArray,
    weight: FloatArray,
    find: Callable[[], tuple[Message, AtFault | None]],
) -> None:
    """Raise where covariates leave nothing to explain, or have no finite coefficients.

    find : says which rows are at fault, for the end of a sentence, and finds them.
    """
    n, r = loss.basis.shape
    if r == 0:
        raise ParameterError(
            "covariates",
            "must vary within the strata, whose differences count; all are constant there",
            "",
            "Leave them out.",
        )
    if r >= n:
        raise ParameterError(
            "covariates",
            "must be fewer than the rows, as they are fitted without a penalty",
            f"{r} independent columns, with the intercept, for {n} rows",
            "Pass fewer, or principal components of them.",
        )
    if not loss.of_residuals and loss.final.separates(y, weight):
        where, at_fault = find()
        raise UnfittableError(
            Message(
                Parameter("covariates"),
                " must not determine the target of some rows alone, as they have no finite "
                "coefficients without a penalty then",
                where,
                ". Leave out that covariate, or pass it as one of ",
                Parameter("forced_features"),
                ", which have a penalty.",
            ),
            at_fault,
        )


def check_signs_of_features(
    signs: Any, n_columns: int, names: Sequence[str] | None
) -> np.ndarray | None:
    """Return the sign that the coefficient of every column may have, int8, 0: any; None: all any.

    They are given for all columns, as `check_signs` takes them, or for some by index or name.
    """
    if isinstance(signs, Mapping):
        rule = "a mapping from indices or feature names to -1, 0 or 1"
        places = places_of_features("signs", list(signs), rule, n_columns, names)
        found = np.zeros(n_columns)
        for (feature, value), place in zip(signs.items(), places, strict=True):
            if number(value) not in (-1, 0, 1):
                raise ParameterError(
                    "signs",
                    "must be -1, 0 or 1",
                    f"{shown(value)} for feature {feature!r:.60}",
                    "It is the sign that the coefficient may have, 0 for any.",
                )
            found[place] = number(value)
    else:
        found = check_signs(signs, n_columns)
    return found.astype(np.int8) if found.any() else None


def places_of_features(
    parameter: str,
    features: Iterable[Any],
    rule: str,
    n_columns: int,
    names: Sequence[str] | None,
) -> IndexArray:
    """Return the indices of distinct features that are given as indices or as names.

    parameter, rule : what messages call it, and what it must be.
    """
    index: list[int] = []
    for item in features:
        if isinstance(item, str):
            if names is None:
                rule = (
                    f"has the name {item!r}, but X has no feature names; pass indices, or X as a "
                    "data frame"
                )
                raise ParameterError(parameter, rule)
            found = [j for j, name in enumerate(names) if name == item]
            if len(found) != 1:
                problem = "unknown" if not found else "not unique"
                raise ParameterError(parameter, f"has the {problem} feature name {item!r}")
            index.append(found[0])
        elif not is_integer(item):
            raise ParameterError(parameter, f"must be {rule}", f"{item!r}")
        elif not 0 <= int(item) < n_columns:
            raise ParameterError(
                parameter,
                Message(f"must be {span(0, n_columns - 1)} (the columns of ", Parameter("X"), ")"),
                shown(item),
            )
        else:
            index.append(int(item))
    result = np.array(index, dtype=np.int64)
    ordered = np.sort(result)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if twice.size:
        raise ParameterError(parameter, "must be distinct", f"{twice[0]} twice")
    return result


def check_penalty_factor(value: Any, n_columns: int) -> FloatArray:
    """Return the penalty factor of every column, (n_columns,): 1 by default, not all zero."""
    if value is None:
        return np.ones(n_columns)
    factor = _per_column("penalty_factor", value, n_columns)
    bad = np.flatnonzero(~((factor >= 0) & (factor <= LARGEST)))
    if bad.size:
        raise ParameterError(
            "penalty_factor",
            f"must be finite (at most {LARGEST:g}) and not negative",
            Message(f"{factor[bad[0]]} for ", Column(bad[0])),
        )
    if not np.any(factor > 0):
        raise ParameterError("penalty_factor", "must have a positive number", "only zeros")
    return factor


def check_cost(value: Any, n_columns: int) -> FloatArray:
    """Return what every column costs, (n_columns,), not negative."""
    cost = _per_column("cost", value, n_columns)
    bad = np.flatnonzero(~((cost >= 0) & (cost <= LARGEST)))
    if bad.size:
        raise ParameterError(
            "cost",
            f"must be finite (at most {LARGEST:g}) and not negative",
            Message(f"{cost[bad[0]]} for ", Column(bad[0])),
        )
    return cost


def check_signs(value: Any, n_columns: int) -> FloatArray:
    """Return the sign that the coefficient of every column may have, (n_columns,); 0: any."""
    if value is None:
        return np.zeros(n_columns)
    if dimensions(value) == 0:
        one = number(value)
        if one not in (-1, 0, 1):
            raise ParameterError(
                "signs",
                Message(
                    "must be None, -1, 0 or 1, or one of these numbers for every column of ",
                    Parameter("X"),
                ),
                shown(value),
            )
        return np.full(n_columns, one)
    sign = _per_column("signs", value, n_columns)
    bad = np.flatnonzero(~np.isin(sign, (-1, 0, 1)))
    if bad.size:
        raise ParameterError(
            "signs",
            "must be -1, 0 or 1",
            Message(f"{sign[bad[0]]:g} for ", Column(bad[0])),
            "It is the sign that the coefficient may have, 0 for any.",
        )
    return sign


def _per_column(name: str, value: Any, n_columns: int) -> FloatArray:
    check_unmasked(name, value)
    found = as_numbers(value)
    if found is None:
        raise ParameterError(
            name,
            Message("must be numbers, one for every column of ", Parameter("X"), f" ({n_columns})"),
            shown(value),
            "Convert strings, complex and missing values to floats.",
        )
    if found.shape != (n_columns,):
        raise ParameterError(
            name,
            Message("must have one number for every column of ", Parameter("X"), f" ({n_columns})"),
            f"shape {found.shape}",
        )
    return found


def check_spread(scale: FloatArray, largest: float = np.inf) -> None:
    """Raise where products of columns that are not scaled would overflow further on.

    scale : (n_features,) 1 / standard deviation, 0 for constant columns.
    largest : the deviation from which on standardize=True does not help either.
    """
    used = np.flatnonzero(scale > 0)
    if used.size and scale[used].min() < 1.0 / LARGEST_SPREAD:
        column = used[scale[used].argmin()]
        std = 1.0 / scale[column]
        raise ValueError(
            Message(
                Parameter.of("standardize", False),
                " needs columns of ",
                Parameter("X"),
                f" with a standard deviation of at most {LARGEST_SPREAD:g}; got {std:.3g} in ",
                Column(int(column)),
                ". Rescale it",
                *((", or use ", Parameter.of("standardize", True)) if std < largest else ()),
                ".",
            )
        )


def check_squares(square: FloatArray, largest: float, first: int = 0) -> None:
    """Raise where squares of columns overflow further on.

    square : sums of squares of columns, from the column `first` on, times the weights of the rows.
    """
    column = int(square.argmax())
    if not square[column] < largest:
        raise ParameterError(
            "X",
            Message(
                "has values too large in ",
                Column(first + column),
                ": their squares, times the weights of the rows and C, must sum to less than "
                f"{largest:g}",
            ),
            f"{square[column]:.3g}",
            Message(
                "Rescale that column; ", Parameter.of("standardize", True), " does not help here."
            ),
        )
