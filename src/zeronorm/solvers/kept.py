"""What an interrupt leaves of selections of several sizes: the models that are finished.

A procedure says of every task which sizes have their final fit, and how they become a path. Whoever
wants them wraps the solver by `keeping`; without that an interrupt ends a fit as any error does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from ..core.results import Path
from .drive import Solver, together

Ending: TypeAlias = Callable[[Sequence[int]], Solver[Path]]


class Kept:
    """The finished sizes of all tasks of a fit."""

    def __init__(self) -> None:
        self.interrupted = False
        self._tasks: list[tuple[Callable[[], Iterable[int]], Ending]] = []

    def add(self, finished: Callable[[], Iterable[int]], ending: Ending) -> None:
        """Add a task.

        finished : returns the sizes that have their final fit. ending : makes a path of such sizes.
        """
        self._tasks.append((finished, ending))

    def endings(self, n_tasks: int) -> list[Solver[Path]]:
        """Return what makes the paths of the sizes that all tasks have finished; none: nothing."""
        if len(self._tasks) < n_tasks:
            return []
        sizes = sorted(set.intersection(*(set(finished()) for finished, _ in self._tasks)))
        return [ending(sizes) for _, ending in self._tasks] if sizes else []


def keeping(solvers: Sequence[Solver[Any]], kept: Kept, n_tasks: int) -> Solver[list[Path]]:
    """Run solvers; where they are interrupted, return the paths of the sizes that are finished.

    solvers : of the path of each task, or one of a list of all.

    Raises
    ------
    KeyboardInterrupt
        Where no size is finished, or at a second interrupt.
    """
    try:
        results: list[Any] = yield from together(solvers)
        return results[0] if isinstance(results[0], list) else results
    except KeyboardInterrupt:
        endings = kept.endings(n_tasks)
        if not endings:
            raise
    kept.interrupted = True
    return (yield from together(endings))
