"""Files of options: --save-config writes the options of a run in TOML, --config reads them.

Every command has both, whatever its options are: the keys are their long names without dashes, and
those of the arguments. `zeronorm` is the version that wrote the file, `command` its command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import typer

from ._messages import say_notes, show

_WORDS = {str: "text in quotes", int: "a whole number", float: "a number", bool: "true or false"}
_EXAMPLES = {str: '"text"', int: "5", float: "0.5", bool: "true"}


@dataclass(frozen=True, slots=True)
class _Option:
    """What a file may say of a field."""

    field: str
    kind: type  # of the value, or of each of several
    many: bool


@dataclass(frozen=True, slots=True)
class Config:
    """What a file said, for the notes about it."""

    path: Path
    version: str | None  # of the one that wrote it
    values: Mapping[str, Any]  # by field


def options_of(context: typer.Context, types: Mapping[str, Any]) -> dict[str, _Option]:
    """Return the options of a command that a file may say, by their keys.

    types : of the fields of its record.
    """
    found: dict[str, _Option] = {}
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in types:
            hint = types[name]
            if isinstance(hint, UnionType):
                (hint,) = (one for one in get_args(hint) if one is not NoneType)
            many = get_origin(hint) is list
            kind = get_args(hint)[0] if many else hint
            key = _name_of(parameter).removeprefix("--") if parameter.opts[0][:1] == "-" else name
            found[key] = _Option(name, str if kind is Path else kind, many)
    return found


def read_config(path: Path, command: str, options: Mapping[str, _Option]) -> Config:
    """Return what a file says.

    Raises
    ------
    ValueError
        Where it is no TOML, is of another command, or has keys or types that the command has not,
        with the line.
    """
    import tomllib

    try:
        text = path.read_bytes().decode()
        found = tomllib.loads(text)
    except ValueError as error:
        raise ValueError(f"--config {path} must be TOML in UTF-8: {error}.") from None
    version, of = found.pop("zeronorm", None), found.pop("command", command)
    if of != command:
        raise ValueError(
            f"{_place(path, text, 'command')}: the options of zeronorm {show(str(of), 40)}; got "
            f"zeronorm {command}. Name a file of that command."
        )
    values = {}
    for key, value in found.items():
        option = options.get(key)
        if option is None:
            from difflib import get_close_matches

            close = get_close_matches(key, options, 1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise ValueError(
                f"{_place(path, text, key)}: {show(key, 40)!r} must be an option of zeronorm "
                f"{command}.{hint} zeronorm {command} --help lists them."
            )
        values[option.field] = _value(value, option, f"{_place(path, text, key)}: {key}")
    return Config(path, None if version is None else str(version), values)


def _place(path: Path, text: str, key: str) -> str:
    """Return where a key stands."""
    begins = re.compile(rf"""\s*\[*\s*["']?{re.escape(key)}["']?\s*[=.\]]""")
    for number, line in enumerate(text.splitlines(), 1):
        if begins.match(line):
            return f"{path}, line {number}"
    return str(path)


def _value(value: Any, option: _Option, what: str) -> Any:
    """Return a value of the file, refused where it has another type; a whole number is text, too.

    what : the place and the key, for the message.
    """
    values = value if option.many and isinstance(value, list) else [value]
    taken = []
    for one in values:
        is_whole = isinstance(one, int) and not isinstance(one, bool)
        fits = isinstance(one, bool) if option.kind is bool else isinstance(one, str)
        if option.kind is int:
            fits = is_whole
        elif option.kind is float:
            fits = is_whole or isinstance(one, float)
        if not (fits or (option.kind is str and is_whole)):
            words, example = _WORDS[option.kind], _EXAMPLES[option.kind]
            key = what.rpartition(" ")[2]
            raise ValueError(
                f"{what} must be {words}{', or a list of these' if option.many else ''}; got "
                f"{show(repr(one), 60)}. For example: {key} = {example}"
            )
        taken.append(option.kind(one))
    return taken if option.many else taken[0]


def say_config(config: Config, context: typer.Context, quiet: bool) -> None:
    """Say which options of the line are in place of those of the file, and another version."""
    from .. import __version__

    notes = []
    if config.version not in (None, __version__):
        notes.append(
            f"{config.path} was saved by zeronorm {config.version}; this is {__version__}, whose "
            "defaults and results may differ"
        )
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        given = context.params.get(name)
        given = str(given) if isinstance(given, Path) else given
        if quiet or name not in config.values or source is None or source.name != "COMMANDLINE":
            continue
        if given != config.values[name]:
            notes.append(
                f"{_name_of(parameter)} is {_shown(given)}, as the line says, in place of "
                f"{_shown(config.values[name])} of {config.path}"
            )
    say_notes(notes)


def _name_of(parameter: Any) -> str:
    """Return what the line calls a parameter."""
    long = [name for name in parameter.opts if name.startswith("--")]
    return str(long[0] if long else parameter.name.upper())


def _shown(value: Any) -> str:
    return show(_toml(value), 60)


def config_text(command: str, options: Mapping[str, _Option], record: Any) -> str:
    """Return the file that repeats a run: every option that has a value, given or by default."""
    from .. import __version__

    lines = [
        f"# Again: zeronorm {command} --config THIS_FILE. Options on the line win.",
        f"zeronorm = {_toml(__version__)}",
        f"command = {_toml(command)}",
    ]
    values = {key: getattr(record, option.field) for key, option in options.items()}
    lines += [f"{key} = {_toml(value)}" for key, value in values.items() if value is not None]
    absent = [key for key, value in values.items() if value is None]
    lines += [f"# Not given: {', '.join(absent)}."] if absent else []
    text = "".join(f"{line}\n" for line in lines)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            "--save-config and --log need options in UTF-8; rename what has other bytes."
        ) from None
    return text


def _toml(value: Any) -> str:
    """Return a value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    # Strings of JSON are those of TOML, but for one character that TOML wants escaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def check_saved(path: Path | None) -> None:
    """Refuse what cannot become a file of options, or would be taken for something else."""
    from ._paths import check_folder

    if path is None:
        return
    check_folder(path, "--save-config")
    if path.suffix.lower() != ".toml":
        raise ValueError(f"--save-config must end in .toml; got {path}.")
