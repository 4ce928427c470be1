"""What a line is told that typer cannot read: the option, what it takes, what was got, a way out.

Versions of typer word these errors in different ways, and the newer ones leave out what was got.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# What people call options, and how it is said here.
_JOIN = "A table of the samples is joined by their names: --samples FILE --target COLUMN."
_ELSEWHERE = {
    "--labels": _JOIN, "--label": _JOIN, "--pheno": _JOIN, "--phenotypes": _JOIN,
    "--install-completion": "zeronorm completion SHELL prints the script; see its --help.",
    "--show-completion": "zeronorm completion SHELL prints the script; see its --help.",
    "--labels-id": "The column of the names is found in a table of --samples by itself.",
}  # fmt: skip


def usage_message(error: Any, given: Sequence[str]) -> str:
    """Return the message for an error of typer. given : the arguments of the command."""
    message = " ".join(str(error.format_message()).split()).rstrip(".")
    if message.endswith("?"):
        return message
    context, kind = getattr(error, "ctx", None), type(error).__name__
    if context is None:
        return f"{message}."
    if kind == "BadParameter":
        return _bad_value(error, given) or f"{message}."
    if kind == "NoSuchOption":
        return _no_option(message, context, given)
    if kind == "MissingParameter" or "unexpected extra" in message:
        usage = re.sub(r"[{}]", "", " ".join(context.get_usage().split()))
        extra = [one for one in given if f"({one}" in message or f" {one})" in message]
        several = ""
        if any(Path(one).is_file() for one in extra) and "DATA" in usage:
            several = " Files with the same columns are one DATA by a pattern, as 'part-*.csv'."
        return f"{message}. {usage}.{several}"
    return f"{message}."


def _bad_value(error: Any, given: Sequence[str]) -> str | None:
    """Return the message about a number that is none; None for other values."""
    names = getattr(getattr(error, "param", None), "opts", ())
    text = str(error)
    if not names or not ("valid integer" in text or "valid number" in text or "float" in text):
        return None
    value = _value_of(names, given)
    what = "a whole number" if "integer" in text else "a number"
    got = "" if value is None else f"; got {value!r:.60}"
    return f"{names[0]} must be {what}{got}."


def _value_of(names: Sequence[str], given: Sequence[str]) -> str | None:
    """Return what was given for an option, the last time."""
    values = [value for one, value in itertools.pairwise(given) if one in names]
    values += [
        value for name, mark, value in (one.partition("=") for one in given)
        if mark and name in names
    ]  # fmt: skip
    return values[-1] if values else None


def _no_option(message: str, context: Any, given: Sequence[str]) -> str:
    """Return the message about an option that the command does not have."""
    known = {name for one in context.command.params for name in getattr(one, "opts", ())}
    for word in given:
        if word.partition("=")[0] in _ELSEWHERE and word.partition("=")[0] in message:
            return f"{message}. {_ELSEWHERE[word.partition('=')[0]]}"
        name = f"-{word.partition('=')[0]}"
        if word.startswith("-") and not word.startswith("--") and name in known:
            return f"No such option: {word}. Options of several letters have two dashes: {name}."
    return f"{message}. {context.command_path} --help lists those that there are."
