"""Checks of what a user passes: numbers and options, X and its names, the rows of folds.

A message names the parameter, the rule, what was got and the remedy. Targets and weights are
checked in `targets`, sizes and what is said of features in `budgets`, the storage of X in
`data.opening`.
"""

from __future__ import annotations

import numbers
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.validation import validate_data

from .errors import Column, InPython, Message, Parameter, ParameterError
from .frames import frame_of, names_of, numbers_of, out_of_core
from .types import Design, FloatArray, IndexArray

# Squares of weights up to this stay finite.
LARGEST = 1e100
SMALLEST_SIGMA = 1e-40  # Squared distances up to LARGEST stay finite when they are divided by it.
LARGEST_GRID = 10_000  # The path has at most so many values of C.
LARGEST_SEED = 2**32 - 1
_NONE_OR = InPython("None or ")


def number(value: Any) -> float:
    """Return a real number as a float, NaN instead of anything else (booleans too).

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


def as_numbers(value: Any) -> FloatArray | None:
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
    if len(text) <= 80 and "\n" not in text:
        return text
    if isinstance(value, np.ndarray):
        names = value.dtype.names
        fields = value.dtype if names is None else f"fields {', '.join(names)}"
        return f"an array of shape {value.shape} of {fields}"
    return f"{text[:60]}... ({type(value).__name__})"


def dimensions(value: Any) -> int:
    """Return the number of dimensions, 1 of a ragged sequence."""
    try:
        return int(np.ndim(value))
    except ValueError:
        return 1


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer, and no boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def _within(name: str, value: Any, rule: str, holds: Callable[[float], bool]) -> float:
    """Return a number for which a rule holds."""
    got = number(value)
    if not holds(got):
        raise ParameterError(name, Message("must be ", rule), shown(value))
    return got


def _not_above(name: str, value: Any) -> float:
    return _within(name, value, f"at most {LARGEST:g}", lambda got: got <= LARGEST)


def check_positive(name: str, value: Any) -> float:
    """Return a positive finite number."""
    _within(name, value, "a positive finite number", lambda got: 0 < got < np.inf)
    return _not_above(name, value)


def check_sigma(value: Any) -> float | str:
    """Return "median" or a number whose square, and that of distances over it, stay finite."""
    if isinstance(value, str) and value == "median":
        return value
    rule = f"'median' or a number from {SMALLEST_SIGMA:g} to {LARGEST:g}"
    return _within("sigma", value, rule, lambda got: SMALLEST_SIGMA <= got <= LARGEST)


def check_positive_or_infinite(name: str, value: Any) -> float:
    """Return a positive number with a finite inverse, or inf."""
    if number(value) == np.inf == value:  # an integer beyond the range of floats is not infinite
        return float("inf")
    check_positive(name, value)
    return _within(name, value, f"at least {1.0 / LARGEST:g}", lambda got: got >= 1.0 / LARGEST)


def check_not_negative(name: str, value: Any) -> float:
    """Return a finite number of at least 0."""
    return _within(name, value, "finite and not negative", lambda got: 0 <= got < np.inf)


def check_gap(name: str, value: Any) -> float:
    """Return the share of the objective without features that a certified gap is to be within."""
    got = check_positive(name, value)
    if got > 1:
        raise ParameterError(
            name,
            "must be at most 1, the gap of a model without features",
            shown(value),
            "Use 1e-4, say.",
        )
    return got


def check_share(name: str, value: Any) -> float:
    """Return a number above 0 and at most 1."""
    return _within(name, value, "above 0 and at most 1", lambda got: 0 < got <= 1)


def check_ratio(name: str, value: Any) -> float:
    """Return a finite number above 1."""
    rule = Message(_NONE_OR, "a number above 1")
    _within(name, value, rule, lambda got: 1 < got < np.inf)
    return _not_above(name, value)


def check_count(name: str, value: Any) -> int | None:
    """Return a positive integer, or None."""
    if value is None:
        return None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not is_integer(value) or int(value) < 1:
        rule = Message("must be ", _NONE_OR, "an integer of at least 1")
        raise ParameterError(name, rule, shown(value))
    return int(value)


def check_iterations(name: str, value: Any) -> int:
    """Return a positive integer."""
    if not is_integer(value) or int(value) < 1:
        raise ParameterError(name, "must be an integer of at least 1", shown(value))
    return int(value)


def check_seed(value: Any) -> int | None:
    """Return the seed of a shuffle, or None for another one at every call."""
    if value is None:
        return None
    if not is_integer(value) or not 0 <= int(value) <= LARGEST_SEED:
        raise ParameterError(
            "random_state", f"must be None or an integer from 0 to {LARGEST_SEED}", shown(value)
        )
    return int(value)


def check_option(name: str, value: Any, options: Sequence[str | None]) -> str | None:
    """Return one of the options, strings or None."""
    if not isinstance(value, str | None) or value not in options:
        texts = [f"{one!r}, " for one in options[:-1]] + [repr(options[-1])]
        listed = [InPython(text) if "None" in text else text for text in texts]
        raise ParameterError(name, Message("must be one of ", *listed), shown(value))
    return value


def check_flag(name: str, value: Any) -> bool:
    """Return a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(name, "must be True or False", shown(value))
    return bool(value)


def check_calibrate(value: Any) -> bool | str:
    """Return "auto" or a bool."""
    if isinstance(value, str) and value == "auto":
        return value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ParameterError("calibrate", "must be 'auto', True or False", f"{value!r}")


def check_refit_penalty(value: Any) -> float | str:
    """Return "loo" or a positive finite number."""
    if isinstance(value, str):
        if value != "loo":
            raise ParameterError(
                "refit_C", "must be 'loo' or a positive finite number", shown(value)
            )
        return value
    return check_positive("refit_C", value)


def check_grid(Cs: Any) -> int | FloatArray:
    """Return the number of the values of C, or the values: positive, finite and growing."""
    if isinstance(Cs, np.ndarray) and Cs.ndim == 0:
        Cs = Cs.item()
    if is_integer(Cs) and int(Cs) >= 2:
        if Cs > LARGEST_GRID:
            raise ParameterError(
                "Cs",
                f"must be at most {LARGEST_GRID}, or an array of numbers",
                shown(Cs),
                "It is the number of values of C.",
            )
        return int(Cs)
    values = as_numbers(Cs)
    flags = isinstance(Cs, (list, tuple)) and any(isinstance(C, (bool, np.bool_)) for C in Cs)
    flags = flags or getattr(Cs, "dtype", None) == np.bool_
    if values is None or values.ndim != 1 or values.size == 0 or flags:
        raise ParameterError(
            "Cs", "must be an integer of at least 2, or an array of numbers", shown(Cs)
        )
    bad = np.flatnonzero(~((values > 0) & (values <= LARGEST)))
    if bad.size:
        raise ParameterError(
            "Cs", f"must be positive and finite (at most {LARGEST:g})", f"{values[bad[0]]}"
        )
    falls = np.flatnonzero(np.diff(values) <= 0)
    if falls.size:
        raise ParameterError(
            "Cs", "must grow", f"{values[falls[0] + 1]:g} after {values[falls[0]]:g}", "Sort it."
        )
    return values


# X as it is passed, and its names.


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
        raise ParameterError(
            "X",
            f"has {n} features, but {of} is expecting {estimator.n_features_in_} features as input",
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
        raise ParameterError(
            "X",
            Message(
                "must have the columns that fit has seen, in their order; ",
                Column(place),
                f" is {names[place]!r}, and was {fitted[place]!r}. {way}",
            ),
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
    rule = (
        f"has {design.shape[1]} features, but {estimator} is expecting {n_fitted} features as input"
    )
    if names is None or fitted is None:
        way = (
            "Pass all columns of the fit, or fit and predict on stores whose columns have names: "
            "then those of the model suffice."
        )
        raise ParameterError("X", rule, "", way)
    wanted = [str(fitted[j]) for j in features]
    count = Counter(names)
    twice = next((name for name in wanted if count[name] > 1), None)
    if twice is not None:
        way = f"By name {twice!r} is there {count[twice]} times; rename all but one."
        raise ParameterError("X", rule, "", way)
    where = {name: j for j, name in enumerate(names)}
    missing = [name for name in wanted if name not in where]
    if missing:
        way = (
            f"By name {len(missing)} of the model are missing, the first is {missing[0]!r}. Pass "
            "data that have them."
        )
        raise ParameterError("X", rule, "", way)
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
        raise ParameterError(
            name,
            "must not have masked entries, which have no value",
            f"{int(mask.sum())}, the first one at {place if len(place) > 1 else place[0]}",
            f"Fill them with {name}.filled(value), impute them, or leave these rows out.",
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


# The rows of folds, and the groups that folds keep together.


def check_splits(splits: Iterable[Any], n_samples: int) -> list[tuple[IndexArray, IndexArray]]:
    """Return (train, test) row numbers: distinct ones in a test, some in a train."""
    checked = []
    for number_, split in enumerate(splits):
        if not isinstance(split, (Sequence, np.ndarray)) or len(split) != 2:
            length = f" of length {len(split)}" if hasattr(split, "__len__") else ""
            raise ParameterError(
                "cv",
                "must give pairs (train, test) of row numbers",
                f"a {type(split).__name__}{length} as fold {number_}",
            )
        train, test = (
            _rows(rows, f"the {name} rows of fold {number_}", n_samples)
            for rows, name in zip(split, ("training", "held-out"), strict=True)
        )
        if not train.size:
            raise ParameterError(
                "cv", f"must leave rows for training in every fold; fold {number_} has none"
            )
        twice = np.flatnonzero(np.bincount(test, minlength=1) > 1)
        if twice.size:
            raise ParameterError(
                "cv",
                "must hold out a row once in a fold",
                f"row {twice[0]} twice in fold {number_}",
                "Use np.unique.",
            )
        checked.append((train, test))
    if not checked:
        raise ParameterError(
            "cv",
            "must give at least one (train, test) pair",
            "none",
            "(A generator gives its pairs once: pass a list of them.)",
        )
    return checked


def check_groups(groups: Any, n_samples: int) -> IndexArray | None:
    """Return the number of the group of every row by its label, (n,); None where there are none."""
    if groups is None:
        return None
    rule = f"must be a label for every sample ({n_samples})"
    check_unmasked("groups", groups)
    try:
        labels = np.asarray(groups)
    except ValueError:
        raise ParameterError("groups", rule, "a ragged sequence") from None
    if labels.shape != (n_samples,):
        got = f"shape {labels.shape}" if labels.ndim else repr(groups)
        ways = "The groups of features are feature_groups, a parameter of the estimator."
        raise ParameterError("groups", rule, f"{got:.60}", ways)
    missing = np.flatnonzero(_missing(labels))
    if missing.size:
        way = "Give it a label of its own, or leave it out."
        raise ParameterError("groups", f"{rule}; sample {missing[0]} has none", "", way)
    try:
        code = np.unique(labels, return_inverse=True)[1]
    except TypeError:
        kinds = sorted({type(one).__name__ for one in labels.tolist()})
        raise ParameterError("groups", f"{rule} of one kind", " and ".join(kinds)) from None
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
            raise ParameterError(
                "cv",
                f"must hold out the samples of a group together; fold {number} of {name} holds "
                f"out sample {row} and learns from sample {other}, whose group is the same",
                "",
                "Pass a number of folds or GroupKFold as cv, or leave groups out.",
            )


def _rows(rows: Any, what: str, n_samples: int) -> IndexArray:
    try:
        index = np.asarray(rows)
    except ValueError:
        index = np.empty((0, 0))
    if index.ndim != 1:
        raise ParameterError(
            "cv",
            "must give row numbers in arrays of one dimension",
            f"shape {index.shape} for {what}",
        )
    if index.dtype == np.bool_:
        raise ParameterError(
            "cv", "must give row numbers", f"booleans for {what}", "Use np.flatnonzero(mask)."
        )
    if index.size and index.dtype.kind not in "iu":
        raise ParameterError(
            "cv",
            "must give row numbers as integers",
            f"type {index.dtype} for {what}",
            "Convert them with astype(int).",
        )
    outside = index[(index < 0) | (index >= n_samples)] if index.size else index
    if outside.size:
        raise ParameterError(
            "cv",
            Message(
                f"must give row numbers from 0 to {n_samples - 1} (all rows of ",
                Parameter("X"),
                " are counted)",
            ),
            f"{outside[0]} in {what}",
        )
    return index.astype(np.int64)
