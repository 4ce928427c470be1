"""What is watched while a command works: progress, the seconds of its phases, warnings."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._messages import one_line, show

if TYPE_CHECKING:
    from ..result import Progressed


class Progress:
    """A bar on stderr, on a terminal only, and only for work that takes more than a second."""

    def __init__(self, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Progress:
        if self._wanted:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                SpinnerColumn,
                TextColumn,
                TimeElapsedColumn,
            )

            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=30),
                TextColumn("{task.fields[count]}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("", total=None, count="")
            self._timer = threading.Timer(1.0, self._bar.start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._bar.stop()

    def phase(self, description: str, total: int | None = None) -> None:
        """Begin a phase of work; `total` passes over the data if known."""
        if self._bar is not None:
            self._bar.reset(self._task, description=show(description, 60), total=total, count="")

    def advance(self, passes: int) -> None:
        """Report the number of passes done in this phase."""
        if self._bar is not None:
            what = "pass" if passes == 1 else "passes"
            self._bar.update(self._task, completed=passes, count=f"{passes} {what}")

    def searched(self, state: Progressed) -> None:
        """Report where a branch and bound stands."""
        if self._bar is not None:
            what = "node" if state.n_nodes == 1 else "nodes"
            count = f"{state.n_nodes:,} {what}, {state.seconds:.0f} s, gap {100 * state.gap:.2f}%"
            self._bar.update(self._task, description="Proving", count=count)


def _fit(estimator: Any, progress: Progress, X: Any, y: Any, **more: Any) -> None:
    """Fit, and report the course of a proof, and scans where scikit-learn has callbacks."""
    estimator._report = progress.searched
    if not hasattr(estimator, "set_callbacks"):
        estimator.fit(X, y, **more)
        return
    estimator.set_callbacks(_FitCallback(progress))
    estimator.fit(X, y, **more)
    estimator.set_callbacks()


class _FitCallback:
    """Counts the scans of a fit, by scikit-learn's callback API."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._passes = 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin a fit."""
        self._passes = 0

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
        """Do nothing at the beginning of a scan."""

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> bool:
        """Count a scan; never ask to stop."""
        if context.task_name == "scan":
            self._passes += 1
            self._progress.advance(self._passes)
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """End a fit."""


@dataclass(frozen=True, slots=True)
class Work:
    """A command at work: its progress, the notes that it will print, the seconds of its phases."""

    progress: Progress
    notes: list[str]
    seconds: dict[str, float]

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the time that the block takes to the seconds of this name."""
        begin = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin

    def fit(self, estimator: Any, X: Any, y: Any, **more: Any) -> None:
        """Fit, with progress, and take the seconds of the phases of the fit."""
        begin = time.perf_counter()
        _fit(estimator, self.progress, X, y, **more)
        rest = time.perf_counter() - begin
        for name, value in estimator.seconds_.items():
            if name != "total":
                self.seconds[name] = self.seconds.get(name, 0.0) + value
                rest -= value
        self.seconds["other"] = max(0.0, rest)


@contextmanager
def watched(quiet: bool) -> Iterator[Work]:
    """Watch the block; its seconds have their total at its end."""
    begin = time.perf_counter()
    seconds: dict[str, float] = {}
    with Progress(quiet) as progress, _collected_warnings() as notes:
        yield Work(progress, notes, seconds)
    seconds["total"] = time.perf_counter() - begin


@contextmanager
def _collected_warnings() -> Iterator[list[str]]:
    """Yield a list that receives the texts of warnings, each once, in place of stderr."""
    notes: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)  # for programmers

        def keep(message: Warning | str, *_: Any, **__: Any) -> None:
            text = one_line(message).rstrip(".")
            if text not in notes:
                notes.append(text)

        warnings.showwarning = keep
        yield notes
