"""Models for other programs: a fitted estimator, or a model that was loaded, in other formats.

`FORMATS` is the table of those that `zeronorm info MODEL --format NAME` writes; `to_sklearn` is for
Python alone.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..persistence import as_loaded
    from ._json import to_json
    from ._onnx import to_onnx
    from ._scorecard import Agreement, Scorecard, to_scorecard
    from ._sklearn import to_sklearn
    from ._sql import to_sql

# Names are imported on use: the table is read before NumPy is there.
_HOMES = {
    "as_loaded": "..persistence",
    "to_json": "._json",
    "to_onnx": "._onnx",
    **dict.fromkeys(("Agreement", "Scorecard", "to_scorecard"), "._scorecard"),
    "to_sklearn": "._sklearn",
    "to_sql": "._sql",
}

__all__ = [
    "FORMATS",
    "Agreement",
    "Format",
    "Scorecard",
    "as_loaded",
    "to_json",
    "to_onnx",
    "to_scorecard",
    "to_sklearn",
    "to_sql",
]


@dataclass(frozen=True, slots=True)
class Format:
    """A format that is a file: which function makes a model into it, and how that is bytes."""

    function: str  # of a model and options
    options: tuple[str, ...] = ()  # of the command, by their names
    is_text: bool = True

    def make(self, model: Any, **options: Any) -> Any:
        """Return a model in this format."""
        return _found(self.function)(model, **options)

    def encode(self, made: Any) -> bytes:
        """Return the bytes of the file."""
        if not self.is_text:
            return bytes(made.SerializeToString())
        return (str(made).rstrip("\n") + "\n").encode("utf-8")


FORMATS = {
    "json": Format("to_json"),
    "sql": Format("to_sql", ("table", "key")),
    "scorecard": Format("to_scorecard", ("points", "data")),
    "onnx": Format("to_onnx", is_text=False),
}


def _found(name: str) -> Any:
    """Return a public name, imported."""
    return getattr(importlib.import_module(_HOMES[name], __name__), name)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return _found(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
