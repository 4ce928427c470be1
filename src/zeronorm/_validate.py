"""Every check of what a user passes to an estimator, and every message.

A message names the parameter, the rule, what was got and the remedy. Checks of the storage of X are
in `designs`.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ._typing import Design, FloatArray, IndexArray

# Squares of weights up to this stay finite.
LARGEST = 1e100
LARGEST_SPREAD = 1e50


def check_data(X: Any) -> Any:
    """Return X as something `as_design` takes: arrays, sparse matrices, paths and designs pass.

    Data frames and nested sequences become arrays. Values are not converted or copied, and NaN and
    infinity are found later, by the first scan.
    """
    if sp.issparse(X) or isinstance(X, str | Path | np.memmap | Design):
        return X
    return check_array(X, dtype=None, ensure_all_finite=False, estimator="X")


def check_target(y: Any, n_samples: int) -> np.ndarray:
    """Return y as an array of labels, (n_samples,)."""
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None; pass one label per row of X."
        )
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    if len(y) != n_samples:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"y must have one label per row of X; got {len(y)} labels for {n_samples} rows."
        )
    return np.asarray(y)


def check_two_classes(classes: np.ndarray) -> None:
    """Raise where the labels (of rows with positive weight) have fewer than two classes."""
    if len(classes) < 2:
        label = classes[0].item() if len(classes) else "none"
        raise ValueError(f"y must have at least two classes; got one class: {label!r}.")


def check_sample_weight(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return weights as (n_samples,) float64: finite, not negative, not all zero."""
    if sample_weight is None:
        return np.ones(n_samples)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must be numbers, one per row of X.") from None
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar; got shape {weight.shape}.")
    if len(weight) != n_samples:
        raise ValueError(
            f"sample_weight must have one weight per row of X ({n_samples}); got {len(weight)}."
        )
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if bad.size:
        raise ValueError(
            f"sample_weight must be finite and not negative; got {weight[bad[0]]} at row {bad[0]}."
        )
    if not np.any(weight > 0):
        raise ValueError("sample_weight must have a positive weight; got only zeros.")
    return weight


def check_sizes(n_features: Any, n_usable: int, n_columns: int, n_forced: int) -> tuple[int, ...]:
    """Return the wanted sizes, sorted: an int, a sequence of ints, or None for min(10, usable)."""
    if n_usable == 0:
        raise ValueError(
            "X must have a column that is not constant, to select from; "
            f"all its {n_columns} columns are constant."
        )
    if n_features is None:
        return (max(min(10, n_usable), n_forced),)
    if isinstance(n_features, np.ndarray) and n_features.ndim == 0:
        n_features = n_features.item()
    single = isinstance(n_features, (numbers.Number, str)) or not isinstance(
        n_features, (Sequence, np.ndarray)
    )
    values = [n_features] if single else list(n_features)
    if not values:
        raise ValueError("n_features must be an integer or a list of integers; got an empty list.")
    usable = "features" if n_usable == n_columns else "non-constant features"
    for value in values:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
            raise ValueError(f"n_features must be an integer or a list of integers; got {value!r}.")
        if not 1 <= int(value) <= n_usable:
            what = (
                f"the {usable} of X" if n_usable > 1 else f"X has {n_usable} feature(s) to select"
            )
            raise ValueError(f"n_features must be between 1 and {n_usable} ({what}); got {value}.")
        if int(value) < n_forced:
            raise ValueError(
                "n_features counts the forced features: it must be at least "
                f"{n_forced} (the length of forced_features); got {value}."
            )
    return tuple(sorted({int(value) for value in values}))


def check_forced(
    forced: Any, n_columns: int, names: Sequence[str] | None, usable: np.ndarray
) -> IndexArray:
    """Return forced features as sorted indices; they are given as indices or as names."""
    if forced is None:
        return np.empty(0, np.int64)
    if (
        isinstance(forced, (str, bytes))
        or not isinstance(forced, (Sequence, np.ndarray))
        or (isinstance(forced, np.ndarray) and forced.ndim != 1)
    ):
        raise ValueError(
            f"forced_features must be a list of indices or of feature names; got {forced!r}."
        )
    index: list[int] = []
    for item in forced:
        if isinstance(item, str):
            if names is None:
                raise ValueError(
                    f"forced_features has the name {item!r}, but X has no feature names; "
                    "pass indices, or X as a data frame."
                )
            found = [j for j, name in enumerate(names) if name == item]
            if len(found) != 1:
                problem = "unknown" if not found else "not unique"
                raise ValueError(f"forced_features has the {problem} feature name {item!r}.")
            index.append(found[0])
        elif isinstance(item, (bool, np.bool_)) or not isinstance(item, numbers.Integral):
            raise ValueError(
                f"forced_features must be a list of indices or of feature names; got {item!r}."
            )
        elif not 0 <= int(item) < n_columns:
            raise ValueError(
                f"forced_features must be between 0 and {n_columns - 1} "
                f"(the columns of X); got {item}."
            )
        else:
            index.append(int(item))
    result = np.array(sorted(index), dtype=np.int64)
    twice = result[1:][result[1:] == result[:-1]]
    if twice.size:
        raise ValueError(f"forced_features must be distinct; got {twice[0]} twice.")
    constant = result[~usable[result]]
    if constant.size:
        raise ValueError(
            f"forced_features must not be constant columns of X; got column {constant[0]}."
        )
    return result


def check_positive(name: str, value: Any) -> float:
    """Return a positive finite number."""
    if (
        isinstance(value, (bool, np.bool_))
        or not isinstance(value, numbers.Real)
        or not 0 < float(value) < np.inf
    ):
        raise ValueError(f"{name} must be a positive finite number; got {value!r}.")
    if float(value) > LARGEST:
        raise ValueError(f"{name} must be at most {LARGEST:g}; got {value!r}.")
    return float(value)


def check_count(name: str, value: Any) -> int | None:
    """Return a positive integer, or None."""
    if value is None:
        return None
    integral = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not integral or int(value) < 1:
        raise ValueError(f"{name} must be None or an integer of at least 1; got {value!r}.")
    return int(value)


def check_iterations(name: str, value: Any) -> int:
    """Return a positive integer."""
    integral = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not integral or int(value) < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")
    return int(value)


def check_share(name: str, value: Any) -> float:
    """Return a number above 0 and at most 1."""
    real = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not real or not 0 < float(value) <= 1:
        raise ValueError(f"{name} must be above 0 and at most 1; got {value!r}.")
    return float(value)


def check_penalty_factor(value: Any, n_columns: int) -> FloatArray:
    """Return the penalty factor of every column, (n_columns,): 1 by default, not all zero."""
    if value is None:
        return np.ones(n_columns)
    factor = _per_column("penalty_factor", value, n_columns)
    bad = np.flatnonzero(~((factor >= 0) & (factor <= LARGEST)))
    if bad.size:
        raise ValueError(
            f"penalty_factor must be finite (at most {LARGEST:g}) and not negative; "
            f"got {factor[bad[0]]} for column {bad[0]}."
        )
    if not np.any(factor > 0):
        raise ValueError("penalty_factor must have a positive number; got only zeros.")
    return factor


def check_signs(value: Any, n_columns: int) -> FloatArray:
    """Return the sign that the coefficient of every column may have, (n_columns,); 0: any."""
    if value is None:
        return np.zeros(n_columns)
    if np.ndim(value) == 0:
        if isinstance(value, (str, bytes, bool, np.bool_)) or value not in (-1, 0, 1):
            raise ValueError(
                f"signs must be None, -1, 0 or 1, or one of these numbers for every column of X; "
                f"got {value!r}."
            )
        return np.full(n_columns, float(value))
    sign = _per_column("signs", value, n_columns)
    bad = np.flatnonzero(~np.isin(sign, (-1, 0, 1)))
    if bad.size:
        raise ValueError(
            f"signs must be -1, 0 or 1; got {sign[bad[0]]:g} for column {bad[0]}. "
            "It is the sign that the coefficient may have, 0 for any."
        )
    return sign


def _per_column(name: str, value: Any, n_columns: int) -> FloatArray:
    """Return numbers, one per column of X, as float64."""
    try:
        numbers_ = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be numbers, one for every column of X ({n_columns}); got {value!r}."
        ) from None
    if numbers_.shape != (n_columns,):
        raise ValueError(
            f"{name} must have one number for every column of X ({n_columns}); "
            f"got shape {numbers_.shape}."
        )
    return numbers_


def check_option(name: str, value: Any, options: Sequence[str]) -> str:
    """Return a string that is one of the options."""
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}.")
    return value


def check_flag(name: str, value: Any) -> bool:
    """Return a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False; got {value!r}.")
    return bool(value)


def check_refit_penalty(value: Any) -> float | str:
    """Return "loo" or a positive finite number."""
    if isinstance(value, str):
        if value != "loo":
            raise ValueError(f"refit_C must be 'loo' or a positive finite number; got {value!r}.")
        return value
    return check_positive("refit_C", value)


def check_spread(scale: FloatArray) -> None:
    """Raise where products of columns that are not scaled would overflow further on.

    scale : (n_features,) 1 / standard deviation, 0 for constant columns.
    """
    used = np.flatnonzero(scale > 0)
    if used.size and scale[used].min() < 1.0 / LARGEST_SPREAD:
        column = used[scale[used].argmin()]
        raise ValueError(
            f"standardize=False needs columns of X with a standard deviation of at most "
            f"{LARGEST_SPREAD:g}; got {1.0 / scale[column]:.3g} in column {column}. Rescale it, "
            "or use standardize=True."
        )


def check_total_weight(C: float, weight: FloatArray) -> None:
    """Raise where C times a weight would overflow further on."""
    if C * float(weight.max()) > LARGEST:
        raise ValueError(
            f"sample_weight (times class_weight and C) must be at most {LARGEST:g}; "
            f"got {C * float(weight.max()):g}."
        )


def feature_names(X: Any) -> list[str] | None:
    """Return the column names of a data frame, None where there are none or no strings."""
    columns = getattr(X, "columns", None)
    if columns is None or sp.issparse(X):
        return None
    names = list(columns)
    kinds = sorted({type(name).__name__ for name in names})
    if "str" in kinds and len(kinds) > 1:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {kinds} as feature name / column name types; convert them to strings."
        )
    return names if kinds == ["str"] else None


def class_factors(class_weight: Any, y: np.ndarray, weight: FloatArray) -> FloatArray:
    """Return the class weight of every row, (n_samples,).

    "balanced" gives every class the same total, sum(weight) / n_classes, of the weighted samples:
    integer weights equal repeated rows.
    """
    if class_weight is None:
        return np.ones(len(y))
    classes, codes = np.unique(y, return_inverse=True)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be None, 'balanced' or a dict; got {class_weight!r}."
            )
        totals = np.bincount(codes, weights=weight)
        factors = np.where(
            totals > 0, weight.sum() / (len(classes) * np.maximum(totals, 1e-300)), 0.0
        )
        return np.asarray(factors[codes])
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict; got {class_weight!r}.")
    unknown = [label for label in class_weight if label not in set(classes.tolist())]
    if unknown:
        raise ValueError(
            f"class_weight has the label {unknown[0]!r}, which is not in y "
            f"(labels {classes.tolist()!r})."
        )
    values = [
        check_not_negative("class_weight", class_weight.get(c, 1.0)) for c in classes.tolist()
    ]
    return np.asarray(np.array(values)[codes])


def check_not_negative(name: str, value: Any) -> float:
    """Return a finite number of at least 0."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name} must be finite and not negative; got {value!r}.")
    return float(value)


def check_size(n_features: Any, n_usable: int, n_columns: int, n_free: int) -> int:
    """Return the number of features of an l1 model, the never penalised ones among them."""
    k = int(n_features)
    if k > n_usable:
        usable = "features" if n_usable == n_columns else "non-constant features"
        raise ValueError(
            f"n_features must be between 1 and {n_usable} (the {usable} of X); got {k}."
        )
    if k < n_free:
        raise ValueError(
            "n_features counts the features that are never penalised: it must be at least "
            f"{n_free} (the zeros of penalty_factor); got {k}."
        )
    return k


def check_grid(Cs: Any) -> int | FloatArray:
    """Return the number of the values of C, or the values: positive, finite and growing."""
    if isinstance(Cs, numbers.Integral) and int(Cs) >= 2:
        return int(Cs)
    try:
        values = np.array(Cs, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.ndim != 1 or values.size == 0 or isinstance(Cs, (str, bytes)):
        raise ValueError(
            f"Cs must be an integer of at least 2, or an array of numbers; got {Cs!r}."
        )
    bad = np.flatnonzero(~((values > 0) & (values <= LARGEST)))
    if bad.size:
        raise ValueError(
            f"Cs must be positive and finite (at most {LARGEST:g}); got {values[bad[0]]}."
        )
    falls = np.flatnonzero(np.diff(values) <= 0)
    if falls.size:
        raise ValueError(
            f"Cs must grow; got {values[falls[0] + 1]:g} after {values[falls[0]]:g}. Sort it."
        )
    return values


def check_ratio(name: str, value: Any) -> float:
    """Return a finite number above 1."""
    real = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not real or not 1 < float(value) <= LARGEST:
        raise ValueError(f"{name} must be None or a number above 1; got {value!r}.")
    return float(value)


def check_groups(groups: Any, n_columns: int) -> IndexArray:
    """Return the group of every column as codes 0, 1, ... in the order of the labels, (m,)."""
    rule = f"groups must be integers or strings, one for every column of X ({n_columns})"
    try:
        labels = np.asarray(groups)
    except ValueError:
        raise ValueError(f"{rule}; got a ragged sequence.") from None
    if labels.shape != (n_columns,):
        raise ValueError(f"{rule}; got shape {labels.shape}.")
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):
        labels = labels.astype(str)
    if labels.dtype.kind not in "iuU":
        raise ValueError(f"{rule}; got values of type {labels.dtype}.")
    return np.unique(labels, return_inverse=True)[1].astype(np.int64, copy=False)


def check_n_groups(n_groups: Any, n_usable: int, n_forced: int) -> tuple[int, ...]:
    """Return the wanted numbers of groups, sorted.

    n_usable : groups with a column that is not constant.
    n_forced : groups with a forced feature.
    """
    single = np.ndim(n_groups) == 0
    values = [n_groups] if single else list(n_groups)
    if not values:
        raise ValueError("n_groups must be an integer or a list of integers; got an empty list.")
    for value in values:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
            raise ValueError(f"n_groups must be an integer or a list of integers; got {value!r}.")
        if not 1 <= int(value) <= n_usable:
            raise ValueError(
                f"n_groups must be between 1 and {n_usable} (the groups with a non-constant "
                f"column); got {value}."
            )
        if int(value) < n_forced:
            raise ValueError(
                f"n_groups counts the groups of forced features: it must be at least {n_forced}; "
                f"got {value}."
            )
    return tuple(sorted({int(value) for value in values}))
