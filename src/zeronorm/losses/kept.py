"""What is worked out of a target once, for all margins."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from ..core.types import FloatArray

_Made = TypeVar("_Made")
_KNOWN: dict[tuple[Any, ...], tuple[weakref.ref[FloatArray], Any]] = {}


def kept_with(y: FloatArray, make: Callable[..., _Made], *options: Any) -> _Made:
    """Return make(y, *options), which is kept as long as y lives."""
    key = id(y), make, options
    known = _KNOWN.get(key)
    if known is not None and known[0]() is y:
        return known[1]  # type: ignore[no-any-return]
    found = make(y, *options)

    def forget(_: object) -> None:
        _KNOWN.pop(key, None)

    _KNOWN[key] = weakref.ref(y, forget), found
    return found
