"""The selections of all folds of a cross-validation, solved in the same passes over X."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.results import Path
from ..core.types import IndexArray
from ..solvers import Progress, run_together
from ..solvers.drive import Solver
from .problem import Problem
from .rowwise import Rowwise
from .sizes import has_automatic


class FoldError(ValueError):
    """The training rows of a fold have no model, for which the cause says why."""


@contextmanager
def named_fold(number: int) -> Iterator[None]:
    """Let errors say in the training rows of which fold they are."""
    try:
        yield
    except ValueError as error:
        raise FoldError(f"{error} (In the training rows of fold {number}.)") from error


@dataclass(frozen=True, slots=True)
class Folded:
    """The problems of an estimator on the training rows of every fold, with the same sizes."""

    estimator: Any
    data: Rowwise  # all rows, those of weight 0 too
    folds: list[tuple[IndexArray, IndexArray]]  # (train, test), without rows of weight 0
    problems: list[Problem]

    @classmethod
    def pose(
        cls, estimator: Any, data: Rowwise, folds: list[tuple[IndexArray, IndexArray]]
    ) -> Folded:
        """Pose the problems; sizes that no fold could have are an error, or left out of "auto"."""
        known = estimator._sizes_of_folds(data.rows(np.flatnonzero(data.sample_weight > 0)))
        problems = []
        for number, (train, _) in enumerate(folds):
            with named_fold(number):
                problems.append(estimator._pose(data.rows(train), known))
        sizes = problems[0].sizes
        if estimator.n_features is None:  # the default follows the usable columns of a fold
            sizes = min(problem.sizes for problem in problems)
        elif has_automatic(estimator) and not isinstance(sizes[0], tuple):
            units = [task.units.usable for one in problems for task in one.tasks]
            most = min(int(np.count_nonzero(usable)) for usable in units)
            sizes = tuple(k for k in sizes if k <= most) or sizes[:1]
        return cls(estimator, data, folds, [replace(one, sizes=sizes) for one in problems])

    @property
    def sizes(self) -> tuple[Any, ...]:
        """What is selected in every fold."""
        return self.problems[0].sizes

    def solvers(self) -> list[Solver[list[Path]]]:
        """Return the generators of scans of all folds, each of the paths of its classes."""
        return [problem.solver(certify=False) for problem in self.problems]

    def rows(self) -> dict[str, IndexArray]:
        """Return what a checkpoint tells the folds apart by."""
        return {f"fold {i}": np.concatenate(fold) for i, fold in enumerate(self.folds)}

    def run(self, callback: Callable[[Progress], None] | None = None) -> list[list[Path]]:
        """Return the paths of every fold, of its classes."""
        identity = self.estimator._identity(self.data, **self.rows())
        threads = self.estimator.n_threads
        return run_together(self.solvers(), callback, threads, identity)
