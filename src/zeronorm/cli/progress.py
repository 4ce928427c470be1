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

from ..core.messages import Doubt, LeakWarning, one_line, show
from .names import in_options

if TYPE_CHECKING:
    from ..core.results import Progressed


class Progress:
    """A bar on stderr, on a terminal only, and only for work that takes more than a second."""

    def __init__(self, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None
        self._timer: threading.Timer | None = None
        self._total: int | None = None
        self._unit = ["pass", "passes"]
        self._first: tuple[float, int] | None = None  # when how many units were told at first
        self._goal, self._gap = (0.0, float("inf")), 0.0

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

    def phase(self, description: str, total: int | None = None, unit: str = "pass passes") -> None:
        """Begin a phase of work.

        total : how many units there are to do, if that is known. unit : one and several of them.
        """
        self._total, self._unit, self._first = total, unit.split(), None
        if self._bar is not None:
            self._bar.remove_task(self._task)  # rich forgets no total
            self._task = self._bar.add_task(show(description, 60), total=total, count="")

    def advance(self, done: int) -> None:
        """Report how many units are done in this phase: how many that is of all, the time left."""
        total = self._total if self._total is not None and done <= self._total else None
        of, unit = "" if total is None else f" of {total:,}", self._unit[(total or done) != 1]
        self._show(done, total, f"{done:,}{of} {unit}{self._left(done, total)}")

    def proving(self, gap: float, limit: float) -> None:
        """Say where a branch and bound ends: at a gap, or after so many seconds."""
        self._goal = gap, limit

    def searched(self, state: Progressed) -> None:
        """Report where a branch and bound stands: as far as the gap has closed, or the time gone.

        A gap closes ever more slowly, so that the time left is that of the limit.
        """
        if state.n_nodes == 0:
            self._gap = state.gap
        gap, limit = self._goal
        what = "node" if state.n_nodes == 1 else "nodes"
        wide = max(self._gap, state.gap) - gap
        share = max((wide + gap - state.gap) / wide if wide > 0 else 1.0, state.seconds / limit)
        count = f"{state.n_nodes:,} {what}, {state.seconds:.0f} s, gap {100 * state.gap:.2f}%"
        if limit < float("inf"):
            count += f", at most {_clock(limit - state.seconds)} left"
        self._show(min(share, 1.0), 1, count, description="Proving")

    def _show(self, done: float, total: int | None, count: str, **more: Any) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, count=count, **more)

    def _left(self, done: int, total: int | None) -> str:
        """Return the share that is done, and the time left at the pace since the first report."""
        now = time.monotonic()
        if self._first is None:  # what an earlier run has done comes at once
            self._first = now, done
        if not total:
            return ""
        begin, before = self._first
        text = f", {100 * done // total}%"
        if done > before:
            text += f", {_clock((now - begin) * (total - done) / (done - before))} left"
        return text


def _clock(seconds: float) -> str:
    """Return a time as 1:02:03, or 2:03."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


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
        warnings.simplefilter("ignore", LeakWarning)  # notes say more: see `_doubts`
        # The report says what a target was taken for, unless the user has said it.
        for text in (r"y has \d+ classes, all of them numbers", "The number of unique classes is"):
            warnings.filterwarnings("ignore", text)

        def keep(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            text = in_options(one_line(message).rstrip("."))
            if issubclass(category, UserWarning):  # also those of fits that did not converge
                text = Doubt(text)
            if text not in notes:
                notes.append(text)

        warnings.showwarning = keep
        yield notes
