"""Where the answers to scans may be kept: what the driver asks before it reads the data.

The solvers know nothing of it. Between their scans they compute the same bits every time, so that
a fit is known by the answers to its scans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TypeAlias

from ..core.types import Design, FloatArray
from ..data.operations import scan

# What a run is told apart by: names and values of all that it depends on, but for the data.
Identity: TypeAlias = Callable[[], Mapping[str, str]]


class Journal:
    """Keeps nothing: every scan reads the data."""

    def begin(self, identity: Identity) -> None:
        """Begin a run of a solver."""

    def scores(self, base: Design, vectors: FloatArray, designs: Sequence[Design]) -> FloatArray:
        """Return X'v of the columns of `base`, (n_features, m).

        vectors : (n_samples, m). designs : those whose scans these are, wrappers of `base`.
        """
        return scan(base, vectors)


current: ContextVar[Journal] = ContextVar("journal", default=Journal())  # noqa: B039
