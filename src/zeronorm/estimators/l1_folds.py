"""What the l1 estimators chosen by cross-validation share: folds as weights, all in one pass."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from ..core import validation as validate
from ..core.results import Result
from ..core.types import Design, FloatArray, IndexArray
from ..data.filled import filled_over
from ..solvers import L1Problem
from ..solvers.drive import Solver
from ..solvers.l1.held_out import LOWER, HeldOut
from ..solvers.l1.path import l1_folds
from ..solvers.l1.problem import Point
from ..solvers.l1.setting import gap_of
from . import doubts as _doubts
from . import l1_problem as _l1_problem
from .folds import RULES, best_and_near, splits
from .l1_paths import grid, path_of
from .parameters import with_parameters
from .rowwise import Rowwise
from .selected import one_or_all
from .sparse_linear import SparseLinearModel


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold, and what its held-out rows are scored from."""

    number: int
    drawn: FloatArray  # (n,) sample weights, times how often a row is learnt from
    learnt: np.ndarray  # (n,) whether a row has a weight in the fit
    test: IndexArray
    data: Rowwise
    targets: list[FloatArray]  # of every problem, with the offset
    exposure: FloatArray | None

    @property
    def weight(self) -> FloatArray:
        """The sample weights of the rows held out."""
        return np.asarray(self.data.sample_weight[self.test])


@dataclass(frozen=True, slots=True)
class _Solved:
    """What the solver of all folds found."""

    Cs: FloatArray
    scores: FloatArray  # (n_Cs, n_folds)
    solutions: list[list[Result]]  # of all data: [problem][C]
    names: list[str] | None


@with_parameters
class L1Folds(SparseLinearModel):
    """Base of the l1 estimators whose C is chosen by cross-validation."""

    Cs: Any = field(default=100, kw_only=False)
    cv: Any = 5
    rule: str = "1se"
    random_state: int | None = 0
    l1_ratio: float = 1.0
    penalty_factor: Any = None
    signs: Any = None
    standardize: bool = False
    tol: float = 1e-4
    max_iter: int = 1000
    n_threads: int | None = None
    checkpoint: Any = None

    @abstractmethod
    def _shared_by_folds(self, labels: np.ndarray) -> np.ndarray | None:
        """Return what folds have in equal shares, if anything."""

    @abstractmethod
    def _held_out(self, fold: Fold, classes: Any, loss: Any) -> HeldOut:
        """Return what scores the rows that a fold holds out."""

    def _stored(self, design: Design) -> Design:
        """Return the design in the storage that descents over columns want."""
        return design.arranged(for_descent=True)

    def _check_parameters(self) -> None:
        """Raise ValueError where a parameter breaks a rule."""
        _l1_problem.check_common(self)
        validate.check_grid(self.Cs)
        validate.check_option("rule", self.rule, RULES)
        validate.check_seed(self.random_state)

    def _read(
        self, X: Any, y: Any, sample_weight: Any, offset: Any = None, groups: Any = None
    ) -> Rowwise:
        """Validate everything; rows of weight 0 stay, as splits number all rows."""
        data = super()._read(X, y, None, offset, groups)
        weight = validate.check_sample_weight(sample_weight, len(data.labels))
        return replace(data, sample_weight=weight)

    def _begin(
        self, data: Rowwise, seconds: dict[str, float]
    ) -> tuple[np.ndarray | None, list[Solver[Any]]]:
        """Return the classes, if any, and the solver of all folds and all data."""
        started = time.perf_counter()
        design, labels, sample_weight = data.design, data.labels, data.sample_weight
        weight = sample_weight * self._unit(labels, sample_weight)
        found = _l1_problem.posed(self, replace(data, sample_weight=weight))
        setting, classes = found.setting, found.classes
        values = validate.check_grid(self.Cs)
        largest = 1.0 if isinstance(values, int) else values[-1]
        validate.check_total_weight(largest, weight, validate.LEAST_L1_LOSS)
        whole = found.problems(design, weight)
        folds: list[list[L1Problem]] = []
        held_out: list[HeldOut] = []
        strata = self._shared_by_folds(labels)
        for train, test in splits(
            labels if strata is None else strata, weight, self.cv, self.random_state,
            several=True, stratify=strata is not None, groups=data.groups,
        ):  # fmt: skip
            drawn = sample_weight * np.bincount(train, minlength=weight.size)
            part = drawn * self._unit(labels, drawn)
            fold = Fold(len(folds), drawn, part > 0, test, data, found.targets, found.exposure)
            held_out.append(self._held_out(fold, classes, whole[0].risk.loss))
            part *= weight.sum() / part.sum()
            own = _l1_problem.posed(self, replace(data, sample_weight=part))
            folds.append(own.problems(filled_over(design, np.flatnonzero(part)), part))
        seconds["standardize"] = time.perf_counter() - started

        def told(fold: int, number: int, step: int, point: Point) -> None:
            held_out[fold].add(number, step, folds[fold][number].risk.margins(point.z))

        def solver() -> Solver[_Solved]:
            Cs, solutions, seconds["solve"] = yield from l1_folds(
                whole, folds, lambda smallest: grid(values, None, smallest, whole[0]), told,
                tol=setting.tol, max_iter=setting.max_iter,
                stop_early=isinstance(values, int), n_threads=design.n_threads,
            )  # fmt: skip
            setting.explain(max(chain(*solutions), key=gap_of), design, weight)
            scores = np.array([[fold.scores[step] for fold in held_out] for step in range(len(Cs))])
            return _Solved(Cs, scores, solutions, data.names)

        return classes, [solver()]

    def _store(self, results: list[_Solved]) -> None:
        """Set the attributes that the solutions give."""
        (solved,) = results
        self.Cs_, self.scores_ = solved.Cs, solved.scores
        n_folds = solved.scores.shape[1]
        self.mean_score_ = solved.scores.mean(axis=1)
        self.standard_error_ = solved.scores.std(axis=1, ddof=1) / np.sqrt(n_folds)
        mean = -self.mean_score_ if self.scoring in LOWER else self.mean_score_
        best, near = best_and_near(mean, self.standard_error_)
        chosen = near if self.rule == "1se" else best
        solve = self.seconds_["solve"]  # of the folds too
        models = [path[chosen] for path in solved.solutions]
        _l1_problem.keep_solutions(self, models, float(solved.Cs[chosen]))
        self.seconds_["solve"] = solve
        self.C_best_, self.C_1se_ = float(solved.Cs[best]), float(solved.Cs[near])
        self.n_iter_ = max(sum(len(one.history) for one in path) for path in solved.solutions)
        classes = getattr(self, "classes_", None)
        found = solved.solutions
        if classes is not None and _l1_problem.shares(self, len(classes)):
            found = [list(part) for part in zip(*map(_l1_problem.parts, found[0]), strict=True)]
        paths = [
            path_of(
                solved.Cs, path, self.n_features_in_, self.n_scans_, classes, self._score_loss,
                solved.names,
            )
            for path in found
        ]  # fmt: skip
        self.l1_path_ = one_or_all(paths)
        supports = [[one.support for one in ones] for ones in zip(*found, strict=True)]
        self.n_selected_ = np.array([np.unique(np.concatenate(some)).size for some in supports])

    def _doubts(self) -> Iterable[Warning]:
        """Return the warnings that a fit gives."""
        return _doubts.l1_gap(_l1_problem.setting_of(self), self._results, 0.0, "auto")
