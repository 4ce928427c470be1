"""Messages of the package in the words of the command: options in place of Python's parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..core.messages import with_names

# What a message calls a parameter, and the option that sets it.
OPTIONS = {
    "n_features": "--features",
    "n_groups": "--groups",
    "feature_groups": "--group-file",
    "forced_features": "--force",
    "covariates": "--covariates",
    "signs": "--nonnegative or --nonpositive",
    "method": "--method",
    "n_starts": "--starts",
    "gap": "--gap",
    "max_abs_coef": "--max-abs-coef",
    "time_limit": "--time-limit",
    "criterion": "--rule",
    "measure": "--measure",
    "pos_label": "--positive",
    "loss": "--loss",
    "level": "--level",
    "ties": "--ties",
    "C": "--C",
    "refit_C": "--refit-c",
    "calibrate": "--calibrate",
    "class_weight": "--class-weight",
    "standardize": "--standardize",
    "fit_intercept": "--intercept",
    "multi_class": "--shared",
    "cv": "--cv",
    "groups": "--cv-groups",
    "scoring": "--scoring",
    "l1_ratio": "--l1-ratio",
    "max_features": "--max-features",
    "tol": "--tol",
    "rtol": "--rtol",
    "n_threads": "--threads",
    "checkpoint": "--checkpoint",
    "offset": "--offset",
    "encoding": "--encoding",
    "X": "DATA",
    "y": "the target",
}
_SWITCHES = {"standardize", "fit_intercept", "calibrate"}
# Short words stand for a parameter only at the beginning, others anywhere but in quotes and paths.
_BEGINNING = re.compile(rf"({'|'.join(OPTIONS)})(?= )")
_LONG = "|".join(name for name in OPTIONS if "_" in name)
_WITHIN = re.compile(rf"(?<![\w'\"/.-])({_LONG})(?![\w'\"/=]|\.\w)")
_VALUE = re.compile(rf"(?<![\w'\"/.-])({'|'.join(OPTIONS)})='?([\w.+-]*\w)'?")
_SWITCH = re.compile(r"pass \w+=True \((--[\w-]+)\)")
_OF_DATA = re.compile(r"\b(of|in|to) X\b(?!['\"=])")


def in_options(message: str) -> str:
    """Return a message that says `n_threads` as one that says `--threads`."""
    begins = _BEGINNING.match(message)
    if begins is not None and begins[1] not in ("X", "y"):
        # Python's way not to give it, and values that the command cannot be given.
        rule, got, rest = message.partition("; got")
        for of_python in (" or a dict", ", or a Measure"):
            rule = rule.replace(of_python, "")
        message = re.sub(r"\bNone(, | or )", "", rule) + got + rest
    message = _SWITCH.sub(r"say \1", message)
    message = _VALUE.sub(_with_value, message)
    begins = _BEGINNING.match(message)
    if begins is not None:
        message = OPTIONS[begins[1]] + message[begins.end() :]
    message = _WITHIN.sub(lambda found: OPTIONS[found[1]], message)
    return _OF_DATA.sub(r"\1 DATA", message)


@contextmanager
def columns_named(names: Sequence[str] | None) -> Iterator[None]:
    """Give a column its name in an error that has its number alone."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        changed = with_names(message, names)
        if changed == message:
            raise
        raise ValueError(changed) from error


@contextmanager
def notes_named(notes: list[str], names: Sequence[str] | None) -> Iterator[None]:
    """Say what is noted meanwhile in the words of the command, with the names of columns."""
    before = len(notes)
    yield
    notes[before:] = [type(one)(in_options(with_names(one, names))) for one in notes[before:]]


def _with_value(found: re.Match[str]) -> str:
    """Return a parameter with its value as the option with it."""
    name, value = found[1], found[2]
    if name in _SWITCHES:
        return OPTIONS[name] if value == "True" else OPTIONS[name].replace("--", "--no-")
    return f"{OPTIONS[name]} {value}"
