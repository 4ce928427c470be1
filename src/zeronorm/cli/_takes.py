"""A command as a function of a record of its options, whose fields are its arguments.

Beside them every command has the options of its run: files of options (`_config`),
and a log (`_log`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, field, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from ._config import Config, check_saved, config_text, options_of, read_config, say_config
from ._log import logged
from ._panels import in_panel
from ._shared_options import SHARED_OPTIONS

_Options = TypeVar("_Options")
_CONFIG = "zeronorm.config"  # Where a context keeps what the file of --config said.


def option(help: str, *names: str, default: Any = None, **more: Any) -> Any:
    """Return a field for an option; MISSING stands for the default of one that must be given."""
    return field(default=default, metadata={"info": typer.Option(*names, help=help, **more)})


def argument(help: str, *, metavar: str, default: Any = MISSING) -> Any:
    """Return a field for an argument."""
    return field(default=default, metadata={"info": typer.Argument(help=help, metavar=metavar)})


def takes(
    record: type[_Options],
) -> Callable[[Callable[[_Options], None]], Callable[..., None]]:
    """Return a decorator: a function of a record becomes one of the fields of the record."""
    types: dict[str, Any] = get_type_hints(record)
    annotations: dict[str, Any] = {}
    for one in fields(record):  # type: ignore[arg-type]
        info = one.metadata.get("info", SHARED_OPTIONS.get(one.name))
        annotations[one.name] = Annotated[types[one.name], in_panel(one.name, info)]
    parameters = [
        one.replace(annotation=annotations[one.name])
        for one in inspect.signature(record).parameters.values()
    ]

    def read(context: typer.Context, path: Path | None) -> Path | None:
        """Take the values of a file as defaults, before any other option is looked at."""
        if path is not None and not context.resilient_parsing:
            command = str(context.info_name)
            config = read_config(path, command, options_of(context, types))
            context.meta[_CONFIG] = config
            context.default_map = dict(config.values)
        return path

    of_run = {
        "config": typer.Option(
            metavar="FILE", is_eager=True, callback=read,
            help="Options as --save-config wrote them; those of the line win.",
        ),
        "log": typer.Option(metavar="FILE", help="What is done, and when (.log)."),
        "save_config": typer.Option(metavar="FILE", help="All options (.toml), to rerun."),
    }  # fmt: skip
    annotations["context"] = typer.Context
    parameters.append(_keyword("context", typer.Context))
    for name, info in of_run.items():
        annotations[name] = Annotated[Path | None, in_panel(name, info)]
        parameters.append(_keyword(name, annotations[name]).replace(default=None))

    def decorate(command: Callable[[_Options], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def called(
            *,
            context: typer.Context,
            config: Path | None,
            save_config: Path | None,
            log: Path | None,
            **values: Any,
        ) -> None:
            options = record(**values)
            said: Config | None = context.meta.get(_CONFIG)
            if said is not None:
                say_config(said, context, bool(values.get("quiet")))
            if save_config is log is None:
                command(options)
                return
            check_saved(save_config)
            text = config_text(str(context.info_name), options_of(context, types), options)
            with logged(log, text):
                try:
                    command(options)
                except typer.Exit:
                    _write(save_config, text)
                    raise
                _write(save_config, text)

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = annotations
        return called

    return decorate


def _keyword(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)


def _write(path: Path | None, text: str) -> None:
    if path is not None:
        from ..persistence import write_file

        write_file(path, text.encode())
