"""Numbers, options and what messages show of them."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..types import FloatArray

# Squares of weights up to this stay finite.
LARGEST = 1e100
SMALLEST_SIGMA = 1e-40  # Squared distances up to LARGEST stay finite when they are divided by it.
LARGEST_GRID = 10_000  # The path has at most so many values of C.
LARGEST_SEED = 2**32 - 1


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
        raise ValueError(f"{name} must be {rule}; got {shown(value)}.")
    return got


def _not_above(name: str, value: Any) -> float:
    """Return a number of at most LARGEST."""
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
        raise ValueError(
            f"{name} must be at most 1, the gap of a model without features; got {shown(value)}. "
            "Use 1e-4, say."
        )
    return got


def check_share(name: str, value: Any) -> float:
    """Return a number above 0 and at most 1."""
    return _within(name, value, "above 0 and at most 1", lambda got: 0 < got <= 1)


def check_ratio(name: str, value: Any) -> float:
    """Return a finite number above 1."""
    _within(name, value, "None or a number above 1", lambda got: 1 < got < np.inf)
    return _not_above(name, value)


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


def check_seed(value: Any) -> int | None:
    """Return the seed of a shuffle, or None for another one at every call."""
    if value is None:
        return None
    if not is_integer(value) or not 0 <= int(value) <= LARGEST_SEED:
        raise ValueError(
            f"random_state must be None or an integer from 0 to {LARGEST_SEED}; got {shown(value)}."
        )
    return int(value)


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
    values = as_numbers(Cs)
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
