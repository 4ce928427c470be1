"""What every half-sample chooses: exactly so many of the candidates, by scans that all share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..core import validation as validate
from ..core.groups import Groups
from ..core.parallel import solver_threads
from ..core.types import Design, IndexArray
from ..data import Rows
from ..data.filled import filling_of
from ..data.moments import measured
from ..data.operations import memory
from ..estimators.problem import Problem
from ..estimators.rowwise import Rowwise
from ..io.opening import as_design
from ..solvers import run_together
from ..solvers.journal import Identity
from .screening import Null, Screen, best_columns

MEMORY_SHARE = 0.25  # of the machine, for the halves that are solved together
VECTORS = 8  # of float64 over all features that a half has without screening


@dataclass(frozen=True)
class Budget:
    """How many of what a half chooses: features, or whole groups."""

    size: Any  # the key of the path
    n_chosen: int
    candidates: IndexArray  # features, or places of groups, that are not in every model
    groups: Groups | None  # where these are counted

    @classmethod
    def of(cls, model: Any, problem: Problem) -> Budget:
        """Return the budget of an estimator, posed for all rows."""
        if len(problem.sizes) > 1:
            name = "n_features" if model.n_groups is None else "n_features and n_groups"
            raise ValueError(
                f"{name} must be one size without a criterion, as every half-sample chooses "
                f"exactly so many; got the sizes {', '.join(map(str, problem.sizes[:5]))}"
                f"{', ...' if len(problem.sizes) > 5 else ''}."
            )
        (size,), task = problem.sizes, problem.tasks[0]
        candidates = task.features(np.flatnonzero(task.usable))
        forced = task.features(task.forced)
        groups = None if isinstance(size, tuple) else task.groups_of_features()
        if groups is not None:
            candidates, forced = (np.unique(groups.code[one]) for one in (candidates, forced))
        free = (size[0] if isinstance(size, tuple) else size) - forced.size
        if free < 1:
            raise ValueError(
                f"forced_features must leave something to choose; got all {forced.size} of "
                f"{size}. Ask for more."
            )
        candidates = candidates[~np.isin(candidates, forced)]
        n_chosen = min(int(free) * len(problem.tasks), candidates.size)
        return cls(size, n_chosen, candidates, groups)

    @property
    def unit(self) -> str:
        """What is counted."""
        return "features" if self.groups is None else "groups"

    def check(self, n_rows: int) -> None:
        """Raise ValueError where a half has too few rows for so many features."""
        size = self.size[0] if isinstance(self.size, tuple) else self.size
        if self.groups is None and size >= n_rows:
            raise ValueError(
                f"n_features must be at most {n_rows - 1} for stability, less than the {n_rows} "
                f"rows of a half-sample, which as many features fit whatever they are; got {size}."
            )

    def chosen(self, features: IndexArray) -> IndexArray:
        """Return which of the candidates the models of a half have, by their features."""
        features = np.unique(features)
        units = features if self.groups is None else np.unique(self.groups.code[features])
        places = np.searchsorted(self.candidates, units).clip(max=self.candidates.size - 1)
        return np.asarray(units[self.candidates[places] == units])

    def columns(self, units: IndexArray) -> IndexArray:
        """Return the features that are counted as these."""
        if self.groups is None:
            return units
        return np.flatnonzero(np.isin(self.groups.code, units))

    def names(self, units: IndexArray, columns: Sequence[str] | None) -> tuple[str, ...] | None:
        """Return the names of some features or groups, where they have some."""
        if self.groups is not None:
            return tuple(str(self.groups.labels[one]) for one in units)
        return None if columns is None else tuple(str(columns[one]) for one in units)


@dataclass(frozen=True)
class Halves:
    """Half-samples of data, and what they choose."""

    model: Any  # an estimator that is ours to change
    data: Rowwise
    whole: Problem  # of all rows
    budget: Budget
    rows: list[IndexArray]

    def choices(self, screen: int | None) -> list[IndexArray | validate.UnfittableError]:
        """Return what every half chooses; in place of that why a half has no model.

        screen : among how many features of each half, None: all.
        """
        budget = self.budget
        if self.model.n_features is None and budget.groups is None:
            # The default follows the usable columns, of which halves may have fewer.
            self.model.set_params(n_features=budget.size)
        if screen is not None:
            self._check_screen(screen)
        if screen is None or screen >= budget.candidates.size:
            return list(self._among_all())
        return list(self._among_best(screen))

    def _check_screen(self, screen: int) -> None:
        """Raise ValueError where features cannot be screened."""
        budget, data = self.budget, self.data
        single = isinstance(budget.size, int) and budget.groups is None
        stored = data.encoding is None and filling_of(data.design) is None
        recorded = self.model.checkpoint is not None
        if not (single and stored and hasattr(self.model, "_plan")) or recorded:
            raise ValueError(
                "screen must be None with groups, measures, categories, gaps or a checkpoint, "
                f"where halves choose among all features; got {screen}."
            )
        if screen < budget.size:
            raise ValueError(
                f"screen must be at least {budget.size}, the features that a half chooses; got "
                f"{screen}."
            )

    def _among_all(self) -> Iterator[IndexArray | validate.UnfittableError]:
        """Yield the choices of halves among all features, by scans that many halves share."""
        sizes = self.whole.sizes if isinstance(self.budget.size, tuple) else None
        width = VECTORS * self.whole.tasks[0].usable.size * len(self.whole.tasks)
        for first, batch in self._batches(width):
            parts = [self.data.rows(rows) for rows in batch]
            weights = [self.model._weigh(part)[0].sample_weight for part in parts]
            designs = measured(
                [(cast("Rows", part.design), one) for part, one in zip(parts, weights, strict=True)]
            )
            problems = [
                self._posed(replace(part, design=design), first + place, sizes)
                for place, (part, design) in enumerate(zip(parts, designs, strict=True))
            ]
            rows = {f"half {first + place}": one for place, one in enumerate(batch)}
            yield from self._solved(problems, self.model._identity(self.data, **rows))

    def _among_best(self, size: int) -> Iterator[IndexArray | validate.UnfittableError]:
        """Yield the choices of halves among the features of the largest scores of each.

        One pass over X finds these; halves that are solved together share their gathered columns.
        """
        task, own = self.whole.tasks[0], self.budget.candidates
        forced, covariates = np.unique(task.features(task.forced)), task.covariates
        n_features = task.design_of_features.shape[1]
        allowed = np.zeros(n_features, bool)
        allowed[own] = True
        signs = task.signs if task.loss.outputs == 1 else np.zeros(n_features, np.int8)
        plan = self.model._plan()
        screen = Screen(size, allowed, signs, plan.fit_intercept, plan.standardize)
        nulls = [self._null(number) for number in range(len(self.rows))]
        with solver_threads(self.model.n_threads):
            known = [one for one in nulls if isinstance(one, Null)]
            scored = iter(best_columns(self.data.design, known, screen) if known else ())
        # A half without a model has no scores.
        beside = np.concatenate([forced, covariates])
        best = [
            np.union1d(next(scored) if isinstance(one, Null) else beside, beside) for one in nulls
        ]
        for first, batch in self._batches(3 * size * self.data.labels.shape[0]):
            columns = np.unique(np.concatenate(best[first : first + len(batch)]))
            gathered: Any = self.data.design.gather(columns)
            problems: list[Problem | validate.UnfittableError] = []
            for number, rows in enumerate(batch, start=first):
                features, null = best[number], nulls[number]
                if isinstance(null, validate.UnfittableError):
                    problems.append(null)
                    continue
                places = np.searchsorted(columns, features)
                if isinstance(gathered, np.ndarray):
                    X: Any = gathered.T[np.ix_(places, rows)].T
                else:
                    X = gathered[:, places][rows]
                self._set_features(features, covariates, forced, signs[features], self.budget.size)
                part = self._part(rows, as_design(X, n_threads=self.model.n_threads))
                problems.append(self._posed(part, number, columns=features))
            yield from self._solved(problems, columns=best[first : first + len(batch)])

    def _null(self, number: int) -> Null | validate.UnfittableError:
        """Return a half without features: with covariates alone, where there are any."""
        rows, covariates = self.rows[number], self.whole.tasks[0].covariates
        of_data = self.data.names
        beside: Any = self.data.design.gather(covariates)
        beside = beside if isinstance(beside, np.ndarray) else beside.toarray()
        # A model needs a column that varies, whatever it is.
        X = np.column_stack([beside[rows], np.arange(rows.size)])
        of_covariates = np.arange(covariates.size)
        self._set_features(of_covariates, of_covariates, of_covariates[:0], None, 1)
        names = [str(one) if of_data is None else of_data[one] for one in covariates]
        part = replace(self._part(rows, as_design(X)), names=[*names, "the row"])
        problem = self._posed(part, number, columns=covariates)
        if isinstance(problem, validate.UnfittableError):
            return problem
        risks = [task.risk(1.0) for task in problem.tasks]
        duals = [risk.first()[1].reshape(-1, rows.size).T for risk in risks]
        weight = problem.tasks[0].sample_weight[: rows.size]
        return Null(rows, weight, duals)

    def _set_features(
        self,
        features: IndexArray,
        covariates: IndexArray,
        forced: IndexArray,
        signs: np.ndarray | None,
        size: int,
    ) -> None:
        """Tell the estimator what its parameters are where X has these features alone."""

        def places(some: IndexArray) -> list[int] | None:
            return np.searchsorted(features, some).tolist() if some.size else None

        self.model.set_params(
            n_features=size, covariates=places(covariates), forced_features=places(forced),
            signs=None if signs is None or not signs.any() else signs,
        )  # fmt: skip

    def _part(self, rows: IndexArray, design: Design) -> Rowwise:
        """Return a half with other columns."""
        data = self.data
        return replace(
            data, design=design, labels=data.labels[rows], sample_weight=data.sample_weight[rows],
            offset=None if data.offset is None else data.offset[rows], names=None, groups=None,
        )  # fmt: skip

    def _posed(
        self,
        part: Rowwise,
        number: int,
        sizes: tuple[Any, ...] | None = None,
        columns: IndexArray | None = None,
    ) -> Problem | validate.UnfittableError:
        """Return the problem of a half, or why it has none.

        columns : of X those that the half has; None: all.
        """
        try:
            problem: Problem = self.model._pose(part, sizes)
        except ValueError as error:
            text = f"{error} These are the {part.labels.shape[0]} rows of half-sample {number}."
            if isinstance(error, validate.UnfittableError):
                fault = error.at_fault
                if fault is not None and columns is not None:
                    fault = replace(fault, columns=tuple(columns[[*fault.columns]].tolist()))
                return validate.UnfittableError(text, fault)
            raise ValueError(text) from None
        return problem

    def _solved(
        self,
        problems: Sequence[Problem | validate.UnfittableError],
        identity: Identity = dict,
        columns: Sequence[IndexArray] | None = None,
    ) -> Iterator[IndexArray | validate.UnfittableError]:
        """Yield what halves choose that are solved together, or why they have no problem.

        columns : of every half the features that its columns are; None: those of X.
        """
        solvers = [
            problem.solver(certify=False, fit=False)
            for problem in problems
            if not isinstance(problem, validate.UnfittableError)
        ]
        paths = iter(run_together(solvers, None, self.model.n_threads, identity) if solvers else ())
        for place, problem in enumerate(problems):
            if isinstance(problem, validate.UnfittableError):
                yield problem
                continue
            models = [path[self.budget.size] for path in next(paths)]
            features = np.concatenate([model.support for model in models])
            yield self.budget.chosen(features if columns is None else columns[place][features])

    def _batches(self, width: float) -> Iterator[tuple[int, list[IndexArray]]]:
        """Yield the halves that are solved together, each list with the number of its first.

        width : numbers that one of them needs.
        """
        room = int(MEMORY_SHARE * min(memory(), 2.0**62) / (8.0 * width))
        count = max(1, min(len(self.rows), room))
        for first in range(0, len(self.rows), count):
            yield first, self.rows[first : first + count]
