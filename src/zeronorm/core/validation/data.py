"""X as it is passed, its names, and numbers for each of its columns."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.validation import validate_data

from ..frames import frame_of, names_of, numbers_of
from ..types import Design, FloatArray, IndexArray
from .lazy import out_of_core
from .numbers import LARGEST, as_numbers, dimensions, number, shown

LARGEST_SPREAD = 1e50  # Products of columns with deviations up to this stay finite.


def check_data(X: Any) -> Any:
    """Return X as something `as_design` takes: arrays, frames, sparse matrices, paths, designs.

    Nested sequences become arrays. Values are not converted or copied, and NaN and infinity are
    found later, by the first scan.
    """
    if out_of_core(X) or sp.issparse(X) or frame_of(X) is not None:
        return X
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind == "f" and X.size:
        return X  # check_array looks for what it is not
    check_unmasked("X", X)
    return check_array(X, dtype=None, ensure_all_finite=False, estimator="X")


def feature_names(X: Any) -> list[str] | None:
    """Return the column names of a data frame, None where there are none or no strings."""
    frame = frame_of(X)
    return None if frame is None else names_of(frame)


def keep_names(estimator: Any, names: Sequence[str] | None) -> None:
    """Set `feature_names_in_` of an estimator; unset it where X has no names."""
    estimator.__dict__.pop("feature_names_in_", None)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def as_fitted(estimator: Any, X: Any) -> Any:
    """Return X, data in memory, as numbers, where it has the columns of the fit in their order.

    That is the check of scikit-learn, in its words, for data frames of any library.

    Raises
    ------
    TypeError, ValueError
        Where columns are missing, are new or in another order, hold no numbers, or have NaN or
        infinity.
    """
    frame = frame_of(X)
    if frame is not None:
        check_columns(estimator, frame)
        X = numbers_of(frame)
        assert_all_finite(getattr(X, "data", X) if sp.issparse(X) else X, input_name="X")
    elif sp.issparse(X):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        values = getattr(X, "data", None)
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            assert_all_finite(values, input_name="X")
    else:
        check_unmasked("X", X)
        X = validate_data(estimator, X, reset=False, dtype=None)
    return X


def check_columns(estimator: Any, frame: Any) -> None:
    """Raise ValueError where a frame has not the columns of the fit, in their order.

    Warn where only one of both has names.
    """
    of, n = type(estimator).__name__, frame.shape[1]
    fitted, names = getattr(estimator, "feature_names_in_", None), names_of(frame)
    if fitted is None and names is not None:
        told = f"X has feature names, but {of} was fitted without feature names"
        warnings.warn(told, stacklevel=2)
    elif fitted is not None and names is None:
        told = f"X does not have valid feature names, but {of} was fitted with feature names"
        warnings.warn(told, stacklevel=2)
    elif fitted is not None and names is not None and list(fitted) != names:
        raise ValueError(
            "The feature names should match those that were passed during fit.\n"
            + (
                _listed("Feature names unseen at fit time:", {*names} - {*fitted})
                + _listed("Feature names seen at fit time, yet now missing:", {*fitted} - {*names})
                or "Feature names must be in the same order as they were in fit.\n"
            )
        )
    if n != estimator.n_features_in_:
        raise ValueError(
            f"X has {n} features, but {of} is expecting {estimator.n_features_in_} features as "
            "input."
        )


def _listed(title: str, names: Collection[str]) -> str:
    """Return some names under a title, "" where there are none."""
    lines = [f"- {name}\n" for name in sorted(names)]
    return "".join([f"{title}\n", *lines[:5], "- ...\n" * (len(lines) > 5)]) if lines else ""


def check_names(names: Sequence[str] | None, fitted: Any) -> None:
    """Raise where the columns of a design have other names, or another order, than in fit.

    Designs of another number of columns are left to other checks.
    """
    if names is None or fitted is None or len(names) != len(fitted):
        return
    place = next((j for j, name in enumerate(names) if name != fitted[j]), None)
    if place is not None:
        way = "Put them in that order"
        if names[place] not in set(fitted):
            way = "Read the same data (of genotypes the same variants, counting the same alleles)"
        raise ValueError(
            f"X must have the columns that fit has seen, in their order; column {place} is "
            f"{names[place]!r}, and was {fitted[place]!r}. {way}."
        )


def names_of_fit(model: Any) -> Any:
    """Return the names of the columns of the design that a model was fitted to, None without."""
    encoding = getattr(model, "_encoding", None)
    return getattr(model, "feature_names_in_", None) if encoding is None else encoding.names


def columns_of_fit(
    features: IndexArray, design: Design, n_fitted: int, fitted: Any, estimator: str
) -> IndexArray:
    """Return where features of the fit are in a design: by name where it has not as many columns.

    fitted : the names of the `n_fitted` columns of the fit, or None.
    """
    names = design.feature_names
    if design.shape[1] == n_fitted:
        check_names(names, fitted)
        return features
    said = (
        f"X has {design.shape[1]} features, but {estimator} is expecting {n_fitted} features as "
        "input."
    )
    if names is None or fitted is None:
        raise ValueError(
            f"{said} Pass all columns of the fit, or fit and predict on stores whose columns have "
            "names: then those of the model suffice."
        )
    wanted = [str(fitted[j]) for j in features]
    count = Counter(names)
    twice = next((name for name in wanted if count[name] > 1), None)
    if twice is not None:
        raise ValueError(
            f"{said} By name {twice!r} is there {count[twice]} times; rename all but one."
        )
    where = {name: j for j, name in enumerate(names)}
    missing = [name for name in wanted if name not in where]
    if missing:
        raise ValueError(
            f"{said} By name {len(missing)} of the model are missing, the first is {missing[0]!r}. "
            "Pass data that have them."
        )
    return np.array([where[name] for name in wanted], np.int64)


def model_inside(name: str, value: Any) -> str:
    """Return the remedy where a fitted pipeline or search stands for the model in it; "" elsewhere.

    name : of the parameter.
    """
    way = name
    if hasattr(value, "best_estimator_"):
        way, value = f"{way}.best_estimator_", value.best_estimator_
    first = ""
    if hasattr(value, "named_steps"):
        first = f", and data as {way}[:-1] makes them"
        way, value = f"{way}[-1]", value[-1]
    inside = way != name and type(value).__module__.partition(".")[0] == __name__.partition(".")[0]
    return f" Pass the model in it, {way}{first}." if inside else ""


def check_unmasked(name: str, value: Any) -> None:
    """Raise where a masked array has masked entries; arrays made of it would show what is below."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        mask = np.ma.getmaskarray(value)
        place = tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))
        raise ValueError(
            f"{name} must not have masked entries, which have no value; got {int(mask.sum())}, the "
            f"first one at {place if len(place) > 1 else place[0]}. Fill them with "
            f"{name}.filled(value), impute them, or leave these rows out."
        )


def flags(name: str, values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return booleans as 0 and 1 without a copy; ValueError where a byte is neither.

    NumPy takes such a byte for True in some operations and for its number in others.
    """
    stored = values.view(np.uint8)
    if stored.size and stored.max() > 1:
        line = next(i for i, one in enumerate(stored) if one.max() > 1)
        place = (line, *(int(i) for i in np.argwhere(stored[line] > 1)[0]))
        raise ValueError(
            f"{name}: a boolean must be stored as 0 or 1; got {stored[place]} at "
            f"{place if len(place) > 1 else line}. The data are damaged, or no booleans: write "
            "them again, or as uint8 if they are numbers."
        )
    return stored


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


def check_cost(value: Any, n_columns: int) -> FloatArray:
    """Return what every column costs, (n_columns,), not negative."""
    cost = _per_column("cost", value, n_columns)
    bad = np.flatnonzero(~((cost >= 0) & (cost <= LARGEST)))
    if bad.size:
        raise ValueError(
            f"cost must be finite (at most {LARGEST:g}) and not negative; "
            f"got {cost[bad[0]]} for column {bad[0]}."
        )
    return cost


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
    found = as_numbers(value)
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
