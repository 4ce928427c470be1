"""Models for other programs: a fitted estimator, or a model that was loaded, in other formats.

`FORMATS` is the table of those that `zeronorm info MODEL --format NAME` writes; `to_sklearn` is for
Python alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..persistence import as_loaded
from ._json import to_json
from ._onnx import to_onnx
from ._scorecard import Agreement, Scorecard, to_scorecard
from ._sklearn import to_sklearn
from ._sql import to_sql

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
    """A format that is a file: how a model is made into it, and that into bytes."""

    make: Callable[..., Any]  # of a model, and options
    options: tuple[str, ...] = ()  # of these the command has: names of its options
    is_text: bool = True

    def encode(self, made: Any) -> bytes:
        """Return the bytes of the file."""
        if not self.is_text:
            return bytes(made.SerializeToString())
        return (str(made).rstrip("\n") + "\n").encode("utf-8")


FORMATS = {
    "json": Format(to_json),
    "sql": Format(to_sql, ("table", "key")),
    "scorecard": Format(to_scorecard, ("points", "data")),
    "onnx": Format(to_onnx, is_text=False),
}
