"""The parameters of an estimator that selects under a budget, as a plan.

An estimator reads its parameters into a `Plan`, which is checked without data. The plan poses the
data as a `Problem`: a task for every class, the sizes asked for, and what selects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from sklearn.base import ClassifierMixin

from ..core import validation as validate
from ..core.criteria import CRITERIA, LEAST_ROWS
from ..core.groups import Groups
from ..core.results import Path
from ..core.types import FloatArray, IndexArray, Smooth
from ..data.repeated import Repeated
from ..losses import Multinomial, Responses
from ..methods import L0, L1, Bilevel, Method, Minimax, Pool, names_of
from ..solvers import Request, Task
from ..solvers.convergence import rank
from ..solvers.drive import Solver
from ..solvers.procedures.judge import JUDGING, weights_of_grid
from ..solvers.request import LATER
from ..solvers.scaling import selection_scaling
from . import covariates as _covariates
from . import signs as _signs
from .problem import Problem
from .rowwise import Rowwise
from .sizes import is_automatic, ladder, ladder_of_groups

# Budgets, in features and as a share of the samples, from which on other methods are candidates
# next to the pool; and the share from which on the pool is none (benchmarks/_budgets.py).
RIVAL_FEATURES, RIVAL_SHARE, ALONE_SHARE = 30, 0.025, 0.05


@dataclass(frozen=True)
class Plan:
    """A selection as the parameters of an estimator state it."""

    method: Method
    loss: Smooth
    C: float
    tol: float
    refit_C: float | str | None
    n_features: Any
    n_groups: Any
    groups: Any
    signs: Any
    forced_features: Any
    forced_groups: Any
    covariates: Any
    criterion: str | None
    fit_intercept: bool
    standardize: bool
    rivalled: bool = False  # whether the method, of classes, is chosen by folds where k is large
    tuned: bool = False  # whether C, of numbers and times, is chosen by folds
    scaled: bool = False  # whether models are scaled by folds, in outer folds too
    report: Any = field(default=None)  # told where a proof stands
    kept: Any = field(default=None)  # told which sizes are finished

    @classmethod
    def of(cls, model: Any) -> Plan:
        """Return the plan of an estimator.

        Raises
        ------
        ValueError
            Where a parameter breaks a rule that no data are needed for.
        """
        loss = model._loss()
        automatic: type[Method] = Pool
        if model.feature_groups is not None:
            automatic = Minimax if model.n_features is None else Bilevel
        method = model._method(automatic)
        C, given = method.default_weight(loss.name), not is_automatic(model.C)
        if given:
            check = validate.check_positive
            if np.isinf(C):
                check = validate.check_positive_or_infinite
            C = check("C", model.C)
        refit_C = model.refit_C
        if isinstance(refit_C, str) and refit_C == "auto":
            refit_C = method.refit_C
        elif refit_C is not None or method.refit_C is not None:
            validate.check_refit_penalty(refit_C)
        tol = method.tol if model.tol is None else validate.check_positive("tol", model.tol)
        validate.check_count("n_threads", model.n_threads)
        for name in ("fit_intercept", "standardize", "warm_start"):
            validate.check_flag(name, getattr(model, name))
        if model.warm_start and (method.unbudgeted() or not method.starts_warm):
            named = method.unbudgeted() or f"method={method.name!r}"
            raise ValueError(f"warm_start must be False for {named}, which always begins anew.")
        plan = cls(
            method, loss, C, tol, refit_C, model.n_features, model.n_groups, model.feature_groups,
            model.signs, model.forced_features, model.forced_groups, model.covariates,
            model.criterion,
            bool(model.fit_intercept), bool(model.standardize), report=model._report,
            kept=model._kept,
        )  # fmt: skip
        by_itself = getattr(model, "method", None) == "auto"
        plan._check_budget(by_itself=by_itself)
        _signs.check_signs(plan.signs, plan.groups, plan.method)
        method.check(loss, plan.fit_intercept)
        return plan._judged(model, given, by_itself)

    def _judged(self, model: Any, given: bool, by_itself: bool) -> Plan:
        """Return the plan with what folds decide of it.

        given : whether C is a number. by_itself : whether the method follows from the budgets.
        """
        calibrate = validate.check_calibrate(model.calibrate)
        if self.counts == "both":
            if calibrate is True:
                remedy = " Use sklearn.calibration.CalibratedClassifierCV."
                raise ValueError(
                    "calibrate must be 'auto' or False for bi-level selection, which has no folds; "
                    f"got True.{remedy if isinstance(model, ClassifierMixin) else ''}"
                )
            return self
        if isinstance(model, ClassifierMixin):
            single = self.counts == "features" and self.signs is None
            return replace(self, rivalled=by_itself and single)
        scaled = not given if calibrate == "auto" else bool(calibrate)
        return replace(self, tuned=not given and self.method.penalises, scaled=scaled)

    @property
    def counts(self) -> str:
        """What is selected: "features", whole "groups", or features in few groups: "both"."""
        if "both" in self.method.budgets:
            return "both"
        return "features" if self.groups is None else "groups"

    def _check_budget(self, by_itself: bool) -> None:
        """Raise ValueError where budgets, groups and the method do not fit.

        by_itself : whether the method follows from the budgets.
        """
        validate.check_option("criterion", self.criterion, [None, *CRITERIA])
        _covariates.check_method(self.covariates, self.method)
        self._check_unbudgeted()
        if self.groups is None and self.forced_groups is not None:
            raise ValueError(
                "forced_groups names groups, but feature_groups is None; got "
                f"{self.forced_groups!r}. Pass the group of every column as feature_groups, or use "
                "forced_features."
            )
        if self.criterion is not None and (self.counts == "both" or self.groups is not None):
            raise ValueError(
                "criterion chooses among numbers of single features; got "
                f"criterion={self.criterion!r} with feature_groups. Use cross_validate."
            )
        if self.counts == "both" and not by_itself:
            return
        if self.groups is None and self.n_groups is not None:
            raise ValueError(
                "n_groups counts groups, but feature_groups is None; got "
                f"n_groups={self.n_groups!r}. Pass the group of every column as feature_groups, or "
                "use n_features."
            )
        if self.groups is None:
            return
        both = self.counts == "both"
        if not both and "groups" not in self.method.budgets:
            whole = names_of(lambda one: "groups" in one.budgets)
            raise ValueError(
                f"method={self.method.name!r} selects single features; got feature_groups. Leave "
                f"them out, or use one of the methods {whole}, or 'bilevel'."
            )
        if not both and self.n_features is not None:
            raise ValueError(
                "n_features must be None with feature_groups, which enter as a whole; got "
                f"n_features={self.n_features!r}. Use n_groups."
            )
        if self.n_groups is None and not self.method.unbudgeted():
            raise ValueError("feature_groups needs the number of them to select: pass n_groups.")
        if not both and self.forced_groups is not None:
            raise ValueError(
                "forced_groups is of bi-level selection; whole groups are forced by "
                f"forced_features, a feature of each; got {self.forced_groups!r}."
            )

    def _check_unbudgeted(self) -> None:
        """Raise ValueError where a size is asked for although the method decides it."""
        option = self.method.unbudgeted()
        if not option:
            return
        for name in ("n_features", "n_groups", "criterion"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name} must be None with {option}, where the blocks decide how large the "
                    f"model is; got {getattr(self, name)!r}. Leave one of them out."
                )

    def partition(
        self, encoding: Any, n_columns: int, names: Sequence[str] | None
    ) -> Groups | None:
        """Return the groups of the columns; of a bi-level selection without any, each its own."""
        if encoding is not None:
            return encoding.groups  # type: ignore[no-any-return]
        if self.groups is not None:
            return Groups.of(self.groups, n_columns, names)
        own = np.arange(n_columns)
        return Groups(own, own) if self.counts == "both" else None

    def pose(
        self,
        data: Rowwise,
        targets: Sequence[FloatArray],
        classes: np.ndarray | None,
        unit: FloatArray | None,
        sizes: tuple[Any, ...] | None = None,
        outputs: Multinomial | Responses | None = None,
    ) -> Problem:
        """Pose the problem of some rows; one pass over X gives the scales and finds NaN.

        targets : y of every task. unit : (n,) class weights. sizes : where they are known.
        outputs : the loss of several outputs, of which targets has the one y, (outputs n,).
        """
        weight = data.sample_weight
        self.method.check_weight(weight)
        design, scaling, usable = selection_scaling(
            data.design, weight, center=self.fit_intercept, standardize=self.standardize
        )
        groups = self.partition(data.encoding, usable.size, data.names)
        beside = _covariates.taken(self.covariates, self.forced_features, data, usable)
        forced = validate.check_features(
            "forced_features", self.forced_features, usable, data.names
        )
        if sizes is None:
            sizes = self._sizes(groups, usable, forced, weight)
        else:
            validate.check_usable(int(usable.sum()), usable.size)
        signs = validate.check_signs_of_features(self.signs, usable.size, data.names)
        loss: Smooth = self.loss
        intercept, offset = self.fit_intercept, data.offset
        if outputs is not None:
            _signs.check_one_output(signs)
            q, loss, intercept = outputs.outputs, cast("Smooth", outputs), False
            design, weight, usable = Repeated(design, q), np.tile(weight, q), np.repeat(usable, q)
            forced = (forced[:, None] * q + np.arange(q)).ravel()
            unit, offset = (None if one is None else np.tile(one, q) for one in (unit, offset))
            own = np.arange(usable.size // q)
            groups = Groups(own, own) if groups is None else groups
            groups = Groups(groups.labels, np.repeat(groups.code, q))
        tasks = [
            Task.of(
                design, y, weight, scaling, loss=loss, intercept=intercept, forced=forced,
                unit=unit, usable=usable, groups=groups,
                forced_groups=self._forced_groups(groups), offset=offset, covariates=beside,
                signs=signs,
            )
            for y in targets
        ]  # fmt: skip
        _covariates.check_tasks(tasks, beside, data)
        return Problem(
            tasks, data.labels, classes, sizes, self.select, self.C, data.groups, self
        )  # fmt: skip

    def _sizes(
        self, groups: Groups | None, usable: np.ndarray, forced: IndexArray, weight: FloatArray
    ) -> tuple[Any, ...]:
        """Return the wanted sizes, growing."""
        forced_groups = self._forced_groups(groups)
        n_usable, wanted = int(usable.sum()), self.n_features
        if is_automatic(wanted):
            wanted = ladder(weight.size, n_usable, forced.size)
        elif groups is None and self.method.unbudgeted():
            wanted = self.method.most(n_usable, forced.size)
        sizes = validate.check_sizes(wanted, n_usable, usable.size, forced.size)
        if self.criterion is not None:
            if weight.sum() < LEAST_ROWS:
                raise ValueError(
                    f"criterion needs sample_weight (times class_weight) to count rows, at least "
                    f"{LEAST_ROWS} in sum; got {weight.sum():g}. Scale them to the number of rows, "
                    "or use criterion=None."
                )
            if np.ndim(wanted) == 0:
                return tuple(range(max(1, forced.size), sizes[0] + 1))
        if groups is None:
            return sizes
        n_forced = np.union1d(groups.of_features(forced), forced_groups).size
        n_groups = np.union1d(groups.of_features(np.flatnonzero(usable)), forced_groups).size
        budgets: tuple[int, ...] = (n_groups,)
        if is_automatic(self.n_groups):
            budgets = ladder(weight.size, n_groups, n_forced)
            if self.counts == "groups":
                budgets = ladder_of_groups(weight.size, n_groups, n_forced, n_usable)
        elif self.method.unbudgeted():
            budgets = (self.method.most(n_groups, n_forced),)
        elif self.n_groups is not None:
            budgets = validate.check_n_groups(self.n_groups, n_groups, n_forced)
        if self.counts == "groups":
            return budgets
        pairs = tuple((k, g) for k in sizes for g in budgets)
        if is_automatic(self.n_groups):  # a budget of more groups than features is slack
            pairs = tuple((k, g) for k, g in pairs if g <= max(k, budgets[0]))
        return pairs

    def _forced_groups(self, groups: Groups | None) -> IndexArray:
        """Return the places of the groups that are counted in every model."""
        if groups is None:
            return np.empty(0, np.int64)
        return groups.places("forced_groups", self.forced_groups)

    def select(self, task: Task, sizes: tuple[Any, ...], **options: Any) -> Solver[Path]:
        """Return the generator of scans that selects for one task."""
        start = [task.columns(features) for features in options.pop("start", ())]
        no_fit = not options.pop("fit", True) and self.refit_C is not None
        options["refit_C"] = LATER if no_fit else self.refit_C
        options |= {"start": start, "report": self.report, "kept": self.kept}
        request = Request(self.C, tol=self.tol, method=self.method.name, **options)
        return self.method.select(task, sizes, request)

    def doubts(self, paths: Sequence[Path], size: Any) -> Iterator[Warning]:
        """Return the warnings that a fit gives."""
        yield from self.method.doubts(paths, size, paths[0].C, self.tol)
        yield from _signs.absent(paths, size, self.signs)
        if isinstance(self.method, L0) and self.n_features is not None:
            yield from rank(paths, size)

    def keep_groups(self, model: Any) -> None:
        """Set the labels of the groups of the selected features, where there are groups."""
        model.__dict__.pop("groups_", None)
        names = getattr(model, "feature_names_in_", None)
        groups = self.partition(
            model._encoding, model._n_columns, None if names is None else list(names)
        )
        if groups is not None:
            model.groups_ = np.asarray(groups.labels[groups.of_features(model.support_)])

    def compared(self, largest: int, n_rows: float) -> list[Method]:
        """Return the methods that folds compare; largest: of the numbers of features."""
        least = max(RIVAL_FEATURES, RIVAL_SHARE * n_rows)
        if not self.rivalled or largest < least:
            return [self.method]
        pool = [self.method] if largest < ALONE_SHARE * n_rows else []
        return [*pool, Minimax(), L1()]

    def candidates(self, task: Task, sizes: Sequence[Any]) -> list[Plan]:
        """Return the plans among which held-out samples choose; the first is the default.

        Elimination among three times too many candidates fits the training samples where the budget
        is not small against their number: then the cutting plane itself and the l1 path are
        candidates too, and from ALONE_SHARE on a pool is not formed.
        """
        if self.rivalled:
            alone = task.loss.outputs == 1 and not task.loss.own_intercepts
            alone &= not (task.forced.size or task.covariates.size)
            return [
                replace(self, method=one, tol=min(self.tol, one.tol))
                for one in self.compared(max(sizes), task.n_rows)
                if alone or not isinstance(one, L1)
            ]
        if not self.tuned:
            return [self]
        grid = [replace(self, C=C) for C in weights_of_grid(task)]
        return [grid[JUDGING.default], *grid[: JUDGING.default], *grid[JUDGING.default + 1 :]]

    def of_fold(self) -> Plan:
        """Return the plan of a fold, of which nothing is kept."""
        return replace(self, kept=None, report=None)
