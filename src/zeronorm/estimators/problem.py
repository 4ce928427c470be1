"""The problem of a fit under a budget: validated rows, what is posed of them, who poses it.

Cross-validation and certificates ask an estimator (a `Selector`) for its problem as `fit` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..core.results import Path
from ..core.types import Design, FloatArray, IndexArray
from ..data import Rows, filled_over
from ..solvers import Task
from ..solvers.checkpoint import Identity
from ..solvers.driver import Solver, together
from ..solvers.folds import judged


@dataclass(frozen=True)
class Problem:
    """The data of a fit, posed: one task for each class against the rest, one for two classes."""

    tasks: list[Task]
    labels: np.ndarray  # (n,)
    classes: np.ndarray | None  # of a classifier; the positive one of two last
    sizes: tuple[Any, ...]  # growing: numbers of features or of groups, or pairs of them
    select: Callable[..., Solver[Path]]  # of a task and sizes; options as of `solver`
    C: float
    groups: IndexArray | None  # (n,) as of `Rowwise`
    plan: Any = None  # the `Plan` of an estimator with a budget

    def solver(
        self,
        starts: Sequence[Sequence[IndexArray]] | None = None,
        seconds: dict[str, float] | None = None,
        *,
        certify: bool = True,
        fit: bool = True,
        scaled: bool | None = None,
    ) -> Solver[list[Path]]:
        """Return the generator of scans of all tasks.

        starts : of each task, features of an earlier fit. seconds : filled by phase.
        certify : whether to certify, and to prove what is to be proven.
        fit : whether there are final fits; without them a path is of supports alone.
        scaled : whether models are scaled by folds; None: as the plan has it.
        """
        begins = [()] * len(self.tasks) if starts is None else starts

        def final(select: Callable[..., Solver[Path]]) -> list[Solver[Path]]:
            return [
                select(task, self.sizes, start=start, seconds=seconds, certify=certify, fit=fit)
                for task, start in zip(self.tasks, begins, strict=True)
            ]

        if self.plan is None:
            return together(final(self.select))
        of_classes = self.classes is not None
        plans = self.plan.candidates(self.tasks[0], self.sizes)
        if scaled is None:
            scaled = self.plan.scaled or (of_classes and len(plans) > 1)
        scaled = fit and scaled
        if len(plans) == 1 and not scaled:
            return together(final(plans[0].select))
        free = of_classes and len(plans) == 1 and self.plan.refit_C == "loo"
        ordinal = of_classes and self.tasks[0].loss.name == "ordinal"
        return judged(
            self.tasks, self.sizes, plans, self.tasks[0].y if ordinal else self.labels,
            lambda plan: final(plan.select),
            lambda plan, task, sizes: plan.of_fold().select(
                task, sizes, certify=False, fit=not free
            ),
            groups=self.groups, of_classes=of_classes, scaled=scaled, free=free, seconds=seconds,
        )  # fmt: skip

    @property
    def is_chosen(self) -> bool:
        """Whether folds choose C or the method."""
        return self.plan is not None and (len(self.plan.candidates(self.tasks[0], self.sizes)) > 1)


@runtime_checkable
class Selector(Protocol):
    """The protocol by which cross-validation, certificates and files use an estimator."""

    n_features: Any
    n_threads: Any
    checkpoint: Any

    def _read(
        self, X: Any, y: Any, sample_weight: Any, offset: Any = None, groups: Any = None
    ) -> Rowwise:
        """Return the data, validated as by `fit`."""

    def _identity(self, data: Rowwise, **more: Any) -> Identity:
        """Return what a checkpoint tells a run apart by, beside X."""

    def _strata(self, labels: np.ndarray, cv: Any) -> np.ndarray:
        """Return what folds have in equal shares, (n,)."""

    def _sizes_of_folds(self, data: Rowwise) -> tuple[Any, ...] | None:
        """Return the sizes of all folds, checked with all data; None: each has its own."""

    def _pose(self, data: Rowwise, sizes: tuple[Any, ...] | None = None) -> Problem:
        """Return the problem of `fit` on these rows."""


@dataclass(frozen=True, slots=True)
class Rowwise:
    """Validated arguments of fit: the rows of positive weight."""

    design: Design
    labels: np.ndarray  # (n,) of the classes, or the real targets
    sample_weight: FloatArray  # (n,) positive
    names: list[str] | None  # of the columns, if X has any
    encoding: Any = None  # of a data frame whose columns are not those of the design
    offset: FloatArray | None = None  # (n,) of the margins
    order: np.ndarray | None = None  # of ordered classes, where it is not that of their labels
    groups: IndexArray | None = None  # (n,) rows with the same number are in one fold

    def rows(self, index: IndexArray) -> Rowwise:
        """Return some of the rows, gaps filled by their means; no data are copied."""
        return replace(
            self,
            design=Rows(filled_over(self.design, index), index),
            labels=self.labels[index],
            sample_weight=self.sample_weight[index],
            offset=None if self.offset is None else self.offset[index],
            groups=None if self.groups is None else self.groups[index],
        )
