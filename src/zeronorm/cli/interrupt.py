"""Ctrl-C in `zeronorm select`: what is finished is reported and written.

With --checkpoint nothing is written, as the same command goes on from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..core.messages import Doubt
from ..solvers.driver import PartialResults
from .options import SelectOptions
from .progress import Work

EXIT_CODE = 130


@dataclass(slots=True)
class Interrupt:
    """Whether there was one, when, and what it has left out."""

    # "selection", "cross-validation", "comparison of penalties" or "stability"
    during: str | None = None
    lacking: list[int] = field(default_factory=list)  # numbers of features

    def describe(self) -> dict[str, Any] | None:
        """Return what a document says of it; None without one."""
        if self.during is None:
            return None
        return {"during": self.during, "lacking": self.lacking}

    def fit(
        self, options: SelectOptions, estimator: Any, X: Any, y: Any, work: Work, **more: Any
    ) -> None:
        """Fit; an interrupt leaves the sizes that are finished by then, if there are any."""
        kept = None if options.checkpoint is not None else PartialResults()
        estimator._kept = kept
        try:
            work.fit(estimator, X, y, **more)
        finally:
            estimator._kept = None
        if kept is not None and kept.interrupted:
            done = list(estimator._paths[0])
            self.during = "selection"
            self.lacking = sorted({*estimator.n_features} - {*done})
            lacking = f", {ranges(self.lacking)} are lacking" if self.lacking else ""
            work.notes.append(
                Doubt(
                    f"interrupted: the sizes {ranges(done)} are finished{lacking}; nothing is "
                    "calibrated or cross-validated"
                )
            )

    @contextmanager
    def validating(
        self, options: SelectOptions, work: Work, what: str = "cross-validation"
    ) -> Iterator[None]:
        """Validate in the block; an interrupt leaves that out, and keeps the models."""
        try:
            yield
        except KeyboardInterrupt:
            if options.checkpoint is not None:
                raise
            self.during = what
            work.notes.append(Doubt(f"interrupted in the {what}, which is left out"))


def ranges(sizes: Sequence[int]) -> str:
    """Return growing numbers as text, neighbours as first and last: 1 to 3, 7."""
    runs: list[list[int]] = []
    for k in sizes:
        if runs and runs[-1][-1] == k - 1:
            runs[-1].append(k)
        else:
            runs.append([k])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]} to {r[-1]}" for r in runs)
