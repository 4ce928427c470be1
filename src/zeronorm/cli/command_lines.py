"""TODO."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import Any

from typer.models import ArgumentInfo

from .shared_options import SHARED_OPTIONS

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
