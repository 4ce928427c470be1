"""Every check of what a user passes to an estimator, and every message.

A message names the parameter, the rule, what was got and the remedy. Checks of the storage of X are
in `designs`.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ._typing import Design, FloatArray, IndexArray
from .designs._dense import check_unmasked

# Squares of weights up to this stay finite.
LARGEST = 1e100
LARGEST_SPREAD = 1e50
SMALLEST_SIGMA = 1e-40  # of values up to LARGEST
LARGEST_GRID = 10_000  # values of C
LARGEST_SEED = 2**32 - 1
# Labels of one of these are of one type, and so are those of any other class.
LABELS: tuple[Any, ...] = (str, bytes, numbers.Number | np.bool_)


def check_data(X: Any) -> Any:
    """Return X as something `as_design` takes: arrays, sparse matrices, paths and designs pass.

    Data frames and nested sequences become arrays. Values are not converted or copied, and NaN and
    infinity are found later, by the first scan.
    """
    if sp.issparse(X) or isinstance(X, str | Path | np.memmap | Design):
        return X
    check_unmasked("X", X)
    matrix = sparse_frame(X)
    if matrix is not None:
        return matrix
    return check_array(X, dtype=None, ensure_all_finite=False, estimator="X")


def sparse_frame(X: Any) -> Any:
    """Return a pandas frame whose columns are all sparse as a CSC matrix, None of anything else."""
    kinds = list(getattr(X, "dtypes", ())) if hasattr(X, "sparse") else []
    if not kinds or any(type(kind).__name__ != "SparseDtype" for kind in kinds):
        return None
    if any(kind.fill_value != 0 for kind in kinds):
        raise ValueError(
            "X must have 0 as the fill value of all sparse columns; got "
            f"{shown(next(kind.fill_value for kind in kinds if kind.fill_value != 0))}. Use "
            "X.sparse.to_dense()."
        )
    return X.sparse.to_coo().tocsc()


def number(value: Any) -> float:
    """Return a real number as a float, NaN in place of anything else (booleans too).

    Integers and fractions beyond the range of floats become infinite.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf  # type: ignore[operator]


def _numbers(value: Any) -> FloatArray | None:
    """Return numbers as a float64 array of their own; None where some are no real numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged sequence
        return None
    if array.dtype.kind == "O":
        flat = array.ravel().tolist()
        if not all(isinstance(one, numbers.Real) and not isinstance(one, bool) for one in flat):
            return None
        return np.array([number(one) for one in flat]).reshape(array.shape)
    if array.dtype.kind not in "biuf":
        return None
    return array.astype(np.float64)


def plain(value: Any) -> Any:
    """Return a label or a number as a plain Python value, as messages show it."""
    return value.item() if isinstance(value, np.generic) else value


def shown(value: Any) -> str:
    """Return what was got, as far as a message has room for it."""
    try:
        text = repr(plain(value))
    except ValueError:  # Python does not print integers of more than 4300 digits
        return "an integer of thousands of digits"
    return text if len(text) <= 80 else f"{text[:60]}... ({type(value).__name__})"


def dimensions(value: Any) -> int:
    """Return the number of dimensions, 1 of a ragged sequence."""
    try:
        return int(np.ndim(value))
    except ValueError:
        return 1


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer, and no boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def check_target(y: Any, n_samples: int, sample: str = "row of X") -> np.ndarray:
    """Return y as an array of labels, (n_samples,); `sample` is what messages call a sample."""
    one = sample.split()[0]
    if y is None:
        raise ValueError(
            f"requires y to be passed, but the target y is None; pass one label per {sample}."
        )
    check_unmasked("y", y)
    # As arrays sequences would become strings, None and NaN too.
    if isinstance(y, Sequence) and not isinstance(y, str):
        _check_labels(y, sample)
    y = column_or_1d(y, warn=True)
    if y.dtype.kind in "OmM":  # other types have no missing values but NaN
        _check_labels(y, sample)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    if len(y) != n_samples:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"y must have one label per {sample}; got {len(y)} labels for {n_samples} {one}s."
        )
    return np.asarray(y)


def check_response(y: Any, n_samples: int) -> FloatArray:
    """Return the real target of a regression, (n_samples,): finite numbers."""
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None; pass one number per row of X."
        )
    check_unmasked("y", y)
    values = None
    if getattr(getattr(y, "dtype", None), "kind", "") != "c":
        y = column_or_1d(y, warn=True)
        values = _numbers(y)
    if values is None:
        raise ValueError(
            f"y must be numbers, one per row of X; got {shown(y)}. Convert strings, complex and "
            "missing values to floats, or use a classifier."
        )
    assert_all_finite(values, input_name="y")
    if len(values) != n_samples:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"y must have one number per row of X; got {len(values)} numbers for {n_samples} rows."
        )
    if n_samples < 2:
        raise ValueError(f"X must have at least two rows for a regression; got {n_samples} sample.")
    if np.abs(values).max() > LARGEST:
        raise ValueError(
            f"y must be at most {LARGEST:g} in magnitude; got {np.abs(values).max():g}. Rescale it."
        )
    return values


def _check_labels(y: Iterable[Any], sample: str) -> None:
    """Raise where a label is missing, or where labels are of several types, as numbers and text."""
    one = sample.split()[0]
    first: tuple[Any, Any, int] | None = None
    for place, label in enumerate(y):
        while isinstance(label, (list, tuple)) and len(label) == 1:  # a column
            label = label[0]
        if _is_missing(label):
            raise ValueError(
                f"y must have a label for every {sample}; got {label!r} at {one} {place}. Remove "
                f"such {one}s, or give them a label."
            )
        kind = next((k for k in LABELS if isinstance(label, k)), type(label))
        if first is None:
            first = (kind, label, place)
        elif first[0] != kind:
            raise ValueError(
                f"y must have labels of one type; got {plain(first[1])!r} at {one} {first[2]} and "
                f"{plain(label)!r} at {one} {place}. Convert them to strings, or to numbers."
            )


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, or pandas' or NumPy's mark of what is missing."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    # NumPy's dates and durations are not equal to themselves either where they are missing.
    comparable = isinstance(label, (numbers.Number, np.datetime64, np.timedelta64))
    return comparable and bool(label != label)


def check_two_classes(classes: np.ndarray) -> None:
    """Raise where the labels (of rows with positive weight) have fewer than two classes."""
    if len(classes) < 2:
        label = plain(classes[0]) if len(classes) else "none"
        raise ValueError(f"y must have at least two classes; got one class: {label!r}.")


def check_sample_weight(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return weights as (n_samples,) float64: finite, not negative, not all zero."""
    if sample_weight is None:
        return np.ones(n_samples)
    check_unmasked("sample_weight", sample_weight)
    weight = _numbers(sample_weight)
    if weight is None:
        raise ValueError(
            "sample_weight must be numbers, one per row of X; got "
            f"{shown(sample_weight)}. Convert strings, complex and missing values to floats."
        )
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
    check_usable(n_usable, n_columns)
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
            raise ValueError(
                f"n_features must be an integer or a list of integers; got {shown(value)}."
            )
        if not 1 <= int(value) <= n_usable:
            what = (
                f"the {usable} of X" if n_usable > 1 else f"X has {n_usable} feature(s) to select"
            )
            raise ValueError(
                f"n_features must be between 1 and {n_usable} ({what}); got {shown(value)}."
            )
        if int(value) < n_forced:
            raise ValueError(
                "n_features counts the forced features: it must be at least "
                f"{n_forced} (the length of forced_features); got {shown(value)}."
            )
    return tuple(sorted({int(value) for value in values}))


def check_usable(n_usable: int, n_columns: int) -> None:
    """Raise where X has no column to select."""
    if n_usable == 0:
        raise ValueError(
            "X must have a column that is not constant, to select from; "
            f"all its {n_columns} columns are constant."
        )


def check_pos_label(classes: np.ndarray, pos_label: Any) -> tuple[np.ndarray, bool]:
    """Return the classes with `pos_label` the second of two, and whether that reversed them."""
    if pos_label is None:
        return classes, False
    if len(classes) != 2:
        raise ValueError(
            f"pos_label is for two classes; got {len(classes)}, each of which is the positive one "
            "in turn. Leave it out."
        )
    place = np.flatnonzero(classes == pos_label)
    if place.size != 1:
        raise ValueError(
            f"pos_label must be one of the classes {classes.tolist()}; got {shown(pos_label)}."
        )
    return (classes, False) if place[0] == 1 else (classes[::-1], True)


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
            f"forced_features must be a list of indices or of feature names; got {shown(forced)}."
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
                f"(the columns of X); got {shown(item)}."
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
    got = number(value)
    if not 0 < got < np.inf:
        raise ValueError(f"{name} must be a positive finite number; got {shown(value)}.")
    if got > LARGEST:
        raise ValueError(f"{name} must be at most {LARGEST:g}; got {shown(value)}.")
    return got


def check_sigma(value: Any) -> float | str:
    """Return "median" or a number whose square, and that of distances over it, stay finite."""
    if isinstance(value, str) and value == "median":
        return value
    got = number(value)
    if not SMALLEST_SIGMA <= got <= LARGEST:
        raise ValueError(
            f"sigma must be 'median' or a number from {SMALLEST_SIGMA:g} to {LARGEST:g}; got "
            f"{shown(value)}."
        )
    return got


def check_positive_or_infinite(name: str, value: Any) -> float:
    """Return a positive number with a finite inverse, or inf."""
    if number(value) == np.inf == value:  # an integer beyond the range of floats is not infinite
        return float("inf")
    got = check_positive(name, value)
    if got < 1.0 / LARGEST:
        raise ValueError(f"{name} must be at least {1.0 / LARGEST:g}; got {shown(value)}.")
    return got


def check_gap(name: str, value: Any) -> float:
    """Return the share of the objective without features that a certified gap is to be within."""
    got = check_positive(name, value)
    if got > 1:
        raise ValueError(
            f"{name} must be at most 1, the gap of a model without features; got {shown(value)}. "
            "Use 1e-4, say."
        )
    return got


def check_count(name: str, value: Any) -> int | None:
    """Return a positive integer, or None."""
    if value is None:
        return None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not is_integer(value) or int(value) < 1:
        raise ValueError(f"{name} must be None or an integer of at least 1; got {shown(value)}.")
    return int(value)


def check_iterations(name: str, value: Any) -> int:
    """Return a positive integer."""
    if not is_integer(value) or int(value) < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {shown(value)}.")
    return int(value)


def check_share(name: str, value: Any) -> float:
    """Return a number above 0 and at most 1."""
    got = number(value)
    if not 0 < got <= 1:
        raise ValueError(f"{name} must be above 0 and at most 1; got {shown(value)}.")
    return got


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
    if dimensions(value) == 0:
        one = number(value)
        if one not in (-1, 0, 1):
            raise ValueError(
                f"signs must be None, -1, 0 or 1, or one of these numbers for every column of X; "
                f"got {shown(value)}."
            )
        return np.full(n_columns, one)
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
    check_unmasked(name, value)
    found = _numbers(value)
    if found is None:
        raise ValueError(
            f"{name} must be numbers, one for every column of X ({n_columns}); got "
            f"{shown(value)}. Convert strings, complex and missing values to floats."
        )
    if found.shape != (n_columns,):
        raise ValueError(
            f"{name} must have one number for every column of X ({n_columns}); "
            f"got shape {found.shape}."
        )
    return found


def check_option(name: str, value: Any, options: Sequence[str | None]) -> str | None:
    """Return one of the options, strings or None."""
    if not isinstance(value, str | None) or value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name} must be one of {listed}; got {shown(value)}.")
    return value


def check_flag(name: str, value: Any) -> bool:
    """Return a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False; got {shown(value)}.")
    return bool(value)


def check_calibrate(value: Any) -> bool | str:
    """Return "auto" or a bool."""
    if isinstance(value, str) and value == "auto":
        return value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ValueError(f"calibrate must be 'auto', True or False; got {value!r}.")


def check_refit_penalty(value: Any) -> float | str:
    """Return "loo" or a positive finite number."""
    if isinstance(value, str):
        if value != "loo":
            raise ValueError(
                f"refit_C must be 'loo' or a positive finite number; got {shown(value)}."
            )
        return value
    return check_positive("refit_C", value)


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
            f"standardize=False needs columns of X with a standard deviation of at most "
            f"{LARGEST_SPREAD:g}; got {std:.3g} in column {column}. "
            + ("Rescale it, or use standardize=True." if std < largest else "Rescale it.")
        )


def check_squares(square: FloatArray, largest: float, first: int = 0) -> None:
    """Raise where squares of columns overflow further on.

    square : sums of squares of columns, from the column `first` on, times the weights of the rows.
    """
    column = int(square.argmax())
    if not square[column] < largest:
        raise ValueError(
            f"X has values too large in column {first + column}: their squares, times the weights "
            f"of the rows and C, must sum to less than {largest:g}; got {square[column]:.3g}. "
            "Rescale that column; standardize=True does not help here."
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
    if columns is None or sp.issparse(X) or isinstance(X, Design):
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
                f"class_weight must be None, 'balanced' or a dict; got {shown(class_weight)}."
            )
        totals = np.bincount(codes, weights=weight)
        factors = np.where(
            totals > 0, weight.sum() / (len(classes) * np.maximum(totals, 1e-300)), 0.0
        )
        return np.asarray(factors[codes])
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict; got {shown(class_weight)}."
        )
    unknown = [label for label in class_weight if label not in set(classes.tolist())]
    if unknown:
        raise ValueError(
            f"class_weight has the label {plain(unknown[0])!r}, which is not in y "
            f"(labels {[plain(label) for label in classes.tolist()]!r})."
        )
    values = [
        check_not_negative("class_weight", class_weight.get(c, 1.0)) for c in classes.tolist()
    ]
    return np.asarray(np.array(values)[codes])


def check_not_negative(name: str, value: Any) -> float:
    """Return a finite number of at least 0."""
    got = number(value)
    if not 0 <= got < np.inf:
        raise ValueError(f"{name} must be finite and not negative; got {shown(value)}.")
    return got


def check_size(n_features: Any, n_usable: int, n_columns: int, n_free: int) -> int:
    """Return the number of features of an l1 model, the never penalised ones among them."""
    check_usable(n_usable, n_columns)
    k = int(n_features)
    if k > n_usable:
        usable = "features" if n_usable == n_columns else "non-constant features"
        what = f"the {usable} of X" if n_usable > 1 else "X has 1 feature(s) to select"
        raise ValueError(f"n_features must be between 1 and {n_usable} ({what}); got {k}.")
    if k < n_free:
        raise ValueError(
            "n_features counts the features that are never penalised: it must be at least "
            f"{n_free} (the zeros of penalty_factor); got {k}."
        )
    return k


def check_grid(Cs: Any) -> int | FloatArray:
    """Return the number of the values of C, or the values: positive, finite and growing."""
    if isinstance(Cs, np.ndarray) and Cs.ndim == 0:
        Cs = Cs.item()
    if is_integer(Cs) and int(Cs) >= 2:
        if Cs > LARGEST_GRID:
            raise ValueError(
                f"Cs must be at most {LARGEST_GRID}, or an array of numbers; got {shown(Cs)}. It "
                "is the number of values of C."
            )
        return int(Cs)
    values = _numbers(Cs)
    flags = isinstance(Cs, (list, tuple)) and any(isinstance(C, (bool, np.bool_)) for C in Cs)
    flags = flags or getattr(Cs, "dtype", None) == np.bool_
    if values is None or values.ndim != 1 or values.size == 0 or flags:
        raise ValueError(
            f"Cs must be an integer of at least 2, or an array of numbers; got {shown(Cs)}."
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
    got = number(value)
    if not 1 < got < np.inf:
        raise ValueError(f"{name} must be None or a number above 1; got {shown(value)}.")
    if got > LARGEST:
        raise ValueError(f"{name} must be at most {LARGEST:g}; got {shown(value)}.")
    return got


def check_seed(value: Any) -> int | None:
    """Return the seed of a shuffle, or None for another one at every call."""
    if value is None:
        return None
    if not is_integer(value) or not 0 <= int(value) <= LARGEST_SEED:
        raise ValueError(
            f"random_state must be None or an integer from 0 to {LARGEST_SEED}; got {shown(value)}."
        )
    return int(value)


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


def check_n_groups(n_groups: Any, n_usable: int, n_forced: int) -> tuple[int, ...]:
    """Return the wanted numbers of groups, sorted.

    n_usable : groups with a column that is not constant.
    n_forced : groups with a forced feature.
    """
    if isinstance(n_groups, np.ndarray) and n_groups.ndim == 0:
        n_groups = n_groups.item()
    values = [n_groups] if dimensions(n_groups) == 0 else list(n_groups)
    if not values:
        raise ValueError("n_groups must be an integer or a list of integers; got an empty list.")
    for value in values:
        if not is_integer(value):
            raise ValueError(
                f"n_groups must be an integer or a list of integers; got {shown(value)}."
            )
        if not 1 <= int(value) <= n_usable:
            raise ValueError(
                f"n_groups must be between 1 and {n_usable} (the groups with a non-constant "
                f"column); got {shown(value)}."
            )
        if int(value) < n_forced:
            raise ValueError(
                f"n_groups counts the groups of forced features: it must be at least {n_forced}; "
                f"got {shown(value)}."
            )
    return tuple(sorted({int(value) for value in values}))
