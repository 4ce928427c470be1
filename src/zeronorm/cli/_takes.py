"""A command as a function of a record of its options, whose fields are its arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

from ._panels import in_panel

_Options = TypeVar("_Options")


def takes(
    record: type[_Options],
) -> Callable[[Callable[[_Options], None]], Callable[..., None]]:
    """Return a decorator: a function of a record becomes one of the fields of the record."""
    hints = get_type_hints(record, include_extras=True)
    hints = {name: in_panel(name, hint) for name, hint in hints.items()}
    fields = inspect.signature(record).parameters.values()
    signature = inspect.Signature([one.replace(annotation=hints[one.name]) for one in fields])

    def decorate(command: Callable[[_Options], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def called(**values: Any) -> None:
            command(record(**values))

        called.__signature__ = signature  # type: ignore[attr-defined]
        called.__annotations__ = hints
        return called

    return decorate
