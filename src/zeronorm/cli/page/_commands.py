"""The commands and code that make a page and what it says again, and the versions of these."""

from __future__ import annotations

import platform
import shlex
from dataclasses import fields
from importlib.metadata import version
from typing import Any

from sklearn.base import clone
from typer.models import ArgumentInfo

from ... import __version__
from .._shared_options import SHARED_OPTIONS
from ..documents._trust import has_bounds

_LIBRARIES = ("numpy", "scipy", "scikit-learn")
_OF_OUTPUT = ("as_json", "quiet", "debug")
# Options that say which rows and columns of DATA are meant, as certify and verify have them.
_OF_DATA = (
    "target", "id", "samples", "drop", "keep", "where", "layer", "time", "event", "start",
    "strata", "offset", "exposure",
)  # fmt: skip


def command_line(command: str, options: Any, *, only: tuple[str, ...] | None = None) -> str:
    """Return a command with the options that are not as they are by default.

    only : of all options those of these names; the arguments are left out then.
    """
    arguments, flags = [], []
    for one in fields(options):
        value = getattr(options, one.name)
        info = one.metadata.get("info", SHARED_OPTIONS.get(one.name))
        if one.name in _OF_OUTPUT or (only is not None and one.name not in only):
            continue
        if isinstance(info, ArgumentInfo):
            arguments += [] if value is None else [shlex.quote(str(value))]
        elif value != one.default:
            # typer keeps the first name of an annotated option where its default would be.
            names = getattr(info, "default", None), *(getattr(info, "param_decls", None) or ())
            flags += _flags(one.name, tuple(map(str, names)), value)
    words = ["zeronorm", *command.split(), *arguments, *flags]
    return " ".join(words)


def _flags(name: str, names: tuple[str, ...], value: Any) -> list[str]:
    """Return an option and its value, once for each of several values."""
    flag = next((one for one in names if one.startswith("--")), "--" + name.replace("_", "-"))
    if isinstance(value, bool):
        yes, _, no = flag.partition("/")
        return [yes if value else no or "--no-" + yes.removeprefix("--")]
    values = value if isinstance(value, list) else [value]
    return [part for one in values for part in (flag, shlex.quote(str(one)))]


def commands_of_data(options: Any, *but: str) -> str:
    """Return the options that say which rows and columns are meant, as typed, but for some."""
    wanted = {*_OF_DATA} - {*but}
    known = tuple(one.name for one in fields(options) if one.name in wanted)
    return command_line("", options, only=known).removeprefix("zeronorm").strip()


class _Word(str):
    """A variable of code, as a parameter."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def code_of_model(estimator: Any, read: str, *, together: bool = False) -> str:
    """Return the code that fits the model of a size again.

    read : the line that has the data. together : whether samples are in groups.
    """
    one, size = clone(estimator), estimator.size_
    data = "X, y, groups=groups" if together else "X, y"
    if together:
        read += "\n# groups: the group of every sample"
    if getattr(one, "feature_groups", None) is not None:
        read += "\n# feature_groups: the group of every feature, as --group-file has it"
        one.set_params(feature_groups=_Word("feature_groups"))
    if not isinstance(size, tuple):
        budget = "n_groups" if estimator.n_features is None else "n_features"
        one.set_params(**{budget: int(size)})
    return f"from zeronorm import {type(one).__name__}\n{read}\nmodel = {one!r}.fit({data})"


def code_of_report(
    estimator: Any, file: str, cv: int | None, n_pairs: int, time_limit: float, *, together: bool
) -> list[tuple[str, str]]:
    """Return what the code of a page from Python is for, and the code."""
    given = f"{file!r}, cv={cv}, n_pairs={n_pairs}, time_limit={time_limit:g}"
    given += ", groups=groups" if together else ""
    read = "# X, y: the samples and their target, as arrays"
    found = [
        ("The model", code_of_model(estimator, read, together=together)),
        ("This page", f"from zeronorm.reporting import report\nreport(model, X, y, {given})"),
    ]
    if has_bounds(estimator) and len(estimator._paths) == 1:
        found.append(
            (
                "The certificate of the list, and its check in plain NumPy, without a solver",
                "from zeronorm import certify, verify\nverify(X, y, certify(model, X, y))",
            )
        )
        found.append(
            ("Longer in search of a better list",
             "from zeronorm import prove\nprove(model, X, y, gap=0, time_limit=600)")
        )  # fmt: skip
    return found


def versions() -> dict[str, str]:
    """Return the versions of what is at work."""
    found = {"zeronorm": __version__, "Python": platform.python_version()}
    return found | {name: version(name) for name in _LIBRARIES}
