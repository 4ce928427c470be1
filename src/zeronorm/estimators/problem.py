"""The problem of a fit under a budget: `problem_of` makes it from an estimator and its data.

Everything that fits, certifies or cross-validates a selection begins here:

    estimator and X, y, ...  ->  TrainingData  ->  Problem  ->  a Path for each of its tasks

`TrainingData` are the arguments of `fit` after their checks. A `Problem` is all that a solver needs
of them: a `Task` for each class against the rest, or one, on the selection scaling; the budget; and
what selects. Solvers see tasks alone (`solvers/problem.py`). Cross-validation poses the problem of
some of the samples by `Selector._pose`, as `fit` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..core.groups import Groups
from ..core.results import Path
from ..core.types import Design, FloatArray, IndexArray, Smooth
from ..data import Rows, filled_over
from ..solvers import Task
from ..solvers.checkpoint import Identity
from ..solvers.driver import Solver, together
from ..solvers.folds import judged


@dataclass(frozen=True, slots=True)
class TrainingData:
    """The arguments of `fit`, validated: the samples of positive weight."""

    design: Design
    labels: np.ndarray  # (n,) of the classes, or the real targets
    sample_weight: FloatArray  # (n,) positive
    names: list[str] | None  # of the columns, if X has any
    encoding: Any = None  # of a data frame whose columns are not those of the design
    offset: FloatArray | None = None  # (n,) of the margins
    order: np.ndarray | None = None  # of ordered classes, where it is not that of their labels
    groups: IndexArray | None = None  # (n,) rows with the same number are in one fold

    def rows(self, index: IndexArray) -> TrainingData:
        """Return some of the rows, gaps filled by their means; no data are copied."""
        return replace(
            self,
            design=Rows(filled_over(self.design, index), index),
            labels=self.labels[index],
            sample_weight=self.sample_weight[index],
            offset=None if self.offset is None else self.offset[index],
            groups=None if self.groups is None else self.groups[index],
        )


@dataclass(frozen=True)
class Problem:
    """A selection under a budget, posed on data: what `fit` solves and certificates bound."""

    data: TrainingData  # with the class weights in its sample weights
    tasks: list[Task]  # one for each class against the rest, one for two classes or numbers
    classes: np.ndarray | None  # of a classifier; the positive one of two last
    sizes: tuple[Any, ...]  # the budget, growing: numbers of features or of groups, or pairs
    select: Callable[..., Solver[Path]]  # of a task and sizes; options as of `solver`
    C: float
    plan: Any = None  # the `Plan` of an estimator with a budget

    @property
    def design(self) -> Design:
        """X on the selection scaling, (n_samples, n_features)."""
        return self.tasks[0].design_of_features

    @property
    def loss(self) -> Smooth:
        """The loss that selects, with covariates and outputs as parts of it."""
        return self.tasks[0].loss

    @property
    def weights(self) -> FloatArray:
        """Sample weights times class weights, (n_samples,)."""
        return self.data.sample_weight

    @property
    def usable(self) -> np.ndarray:
        """Which features may be selected, (n_features,) bool: those that are not constant."""
        return self.tasks[0].usable[:: self.tasks[0].outputs]

    @property
    def groups(self) -> Groups | None:
        """The groups of the features that the budget counts; None where it counts features."""
        return self.tasks[0].groups_of_features()

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
            self.tasks, self.sizes, plans, self.tasks[0].y if ordinal else self.data.labels,
            lambda plan: final(plan.select),
            lambda plan, task, sizes: plan.of_fold().select(
                task, sizes, certify=False, fit=not free
            ),
            groups=self.data.groups, of_classes=of_classes, scaled=scaled, free=free,
            seconds=seconds,
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
    ) -> TrainingData:
        """Return the data, validated as by `fit`."""

    def _identity(self, data: TrainingData, **more: Any) -> Identity:
        """Return what a checkpoint tells a run apart by, beside X."""

    def _strata(self, labels: np.ndarray, cv: Any) -> np.ndarray:
        """Return what folds have in equal shares, (n,)."""

    def _sizes_of_folds(self, data: TrainingData) -> tuple[Any, ...] | None:
        """Return the sizes of all folds, checked with all data; None: each has its own."""

    def _pose(self, data: TrainingData, sizes: tuple[Any, ...] | None = None) -> Problem:
        """Return the problem of `fit` on these rows."""


def problem_of(
    estimator: Selector,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    groups: Any = None,
    sizes: tuple[Any, ...] | None = None,
) -> Problem:
    """Return the problem that an estimator with a budget solves on some data; nothing is fitted.

    Parameters
    ----------
    estimator : BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis or MeasureClassifier,
        which need not be fitted
    X, y, sample_weight, offset, groups : as for `fit`
    sizes : the budget, growing, where it is not that of the estimator

    Raises
    ------
    ValueError
        Where a parameter or the data break a rule, as for `fit`.

    Examples
    --------
    >>> from zeronorm import BudgetClassifier
    >>> from zeronorm.datasets import load_demo
    >>> from zeronorm.estimators import problem_of
    >>> problem = problem_of(BudgetClassifier(n_features=[3, 5]), *load_demo(return_X_y=True))
    >>> problem.design.shape, problem.sizes, problem.loss.name, int(problem.usable.sum())
    ((72, 2400), (3, 5), 'logistic', 2400)
    """
    data = estimator._read(X, y, sample_weight, offset, groups)
    return estimator._pose(data, sizes)
