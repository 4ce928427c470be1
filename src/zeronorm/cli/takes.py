"""A command as a function of a record of its options, whose fields are its arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, field, fields
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from .shared_options import SHARED_OPTIONS

_Options = TypeVar("_Options")


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
    types = get_type_hints(record)
    annotations = {
        one.name: Annotated[types[one.name], one.metadata.get("info", SHARED_OPTIONS.get(one.name))]
        for one in fields(record)  # type: ignore[arg-type]
    }
    parameters = [
        one.replace(annotation=annotations[one.name])
        for one in inspect.signature(record).parameters.values()
    ]

    def decorate(command: Callable[[_Options], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def called(**values: Any) -> None:
            command(record(**values))

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = annotations
        return called

    return decorate
