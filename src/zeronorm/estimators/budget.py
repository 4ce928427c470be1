"""The front door of selection: classification and regression on so many features or groups."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from ..core import validation as validate
from ..core.budgets import (
    check_features,
    check_n_groups,
    check_signs_of_features,
    check_sizes,
    check_usable,
)
from ..core.criteria import CRITERIA, LEAST_ROWS, criteria_table
from ..core.errors import Message, Parameter, ParameterError
from ..core.groups import Groups
from ..core.ranking import numbered
from ..core.results import Path
from ..core.targets import check_ordered, check_weight_of_classes, class_order, responses
from ..core.types import Design, FloatArray, IndexArray, Smooth
from ..data.repeated import Repeated
from ..losses import Logistic, Multinomial, NumericLoss, Ordinal, Responses
from ..losses.multi_output import classes_as_outputs
from ..losses.ordinal import log_odds_of_classes
from ..methods import L0, L1, Bilevel, Method, MethodName, Minimax, Pool, named, names_of_methods
from ..solvers import SelectionRequest, Task
from ..solvers.convergence import rank
from ..solvers.driver import NO_REFIT, PartialResults, Solver, or_partial_results
from ..solvers.folds import JUDGING, weights_of_grid
from ..solvers.problem import selection_scaling
from .base import LinearClassifier, LinearRegressor, SparseLinearModel, with_parameters
from .covariates import check_adjusts, check_covariates, covariates_of
from .held_out import chosen_by_folds
from .problem import Problem, TrainingData
from .signs import absent_signs, check_one_output, check_signed
from .sizes import has_automatic, is_automatic, ladder, ladder_of_groups, sizes_of_rows

# A fit under a budget: how it begins, and what it keeps of the models of all sizes.


def begun(
    model: Any, data: TrainingData, seconds: dict[str, float], **options: Any
) -> tuple[Problem, Solver[list[Path]]]:
    """Return the problem of a fit, and its solver, with options as of `Problem.solver`.

    It begins with what the previous fit gives, where it had these columns and as many classes.
    """
    begin = time.perf_counter()
    model.__dict__.pop("_by_folds", None)
    if not has_automatic(model) or model.criterion is not None:
        problem = model._pose(data)
    else:
        validation = chosen_by_folds(model, data)
        seconds["cross-validation"] = time.perf_counter() - begin
        begin = time.perf_counter()
        problem = model._pose(data, validation.sizes)
        model._by_folds = validation, validation.choose()  # until the fit has ended
    seconds["standardize"] = time.perf_counter() - begin
    tasks, paths = problem.tasks, getattr(model, "_paths", ())
    starts = None
    n_columns = tasks[0].design_of_features.shape[1]
    same = len(paths) == len(tasks) and model._n_columns == n_columns
    if model.warm_start and same:
        starts = model._plan().method.start(paths)
    return problem, problem.solver(starts, seconds, **options)


def one_or_all(values: Sequence[Any]) -> Any:
    """Return the only value, or the tuple of those of all classes, in the order of `classes_`."""
    return values[0] if len(values) == 1 else tuple(values)


def keep_paths(model: SparseLinearModel, paths: Sequence[Path]) -> None:
    """Set the attributes that the paths of a fit give, and unset those of an earlier one."""
    sizes = list(paths[0])
    table = criteria_table(paths)
    model._paths = tuple(paths)
    chosen = sizes[-1 if model.criterion is None else int(np.argmin(table[model.criterion]))]
    model.__dict__.pop("validation_", None)
    by_folds = model.__dict__.pop("_by_folds", None)
    if by_folds is not None:
        model.validation_, chosen = by_folds
    known = {"path_": one_or_all(paths), "history_": one_or_all([path.history for path in paths])}
    model.__dict__.pop("criteria_", None)
    if not np.isnan(table["log_loss"]).all():
        known["criteria_"] = table
    model.__dict__.update(known)
    keep_size(model, chosen)


def keep_size(model: SparseLinearModel, size: Any) -> None:
    """Make one of the sizes of a fit the model that predicts.

    `certificate_`, `proof_` and `gap_` are there where they are known.
    """
    chosen = [path[size] for path in model._paths]
    model.size_ = size
    if model._paths[0].method:  # else the problem is that of a measure
        model.C_, model.method_ = model._paths[0].C, model._paths[0].method
    known: dict[str, Any] = {}
    certificates = [selection.certificate for selection in chosen]
    gaps = [selection.gap for selection in chosen]
    if all(certificates):
        known["certificate_"] = one_or_all(certificates)
        gaps = [certificate.gap for certificate in certificates if certificate is not None]
    if not np.isnan(gaps).any():
        known["gap_"] = float(max(gaps))
    if any(selection.proof for selection in chosen):
        known["proof_"] = one_or_all([selection.proof for selection in chosen])
    for name in ("certificate_", "gap_", "proof_"):
        model.__dict__.pop(name, None)
    model.__dict__.update(known)
    model._set_models(chosen)


# The parameters of an estimator that selects under a budget, as a plan.
#
# An estimator reads its parameters into a `Plan`, which is checked without data. The plan poses the
# data as a `Problem`: a task for every class, the sizes asked for, and what selects.

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
            raise ParameterError(
                "warm_start", f"must be False for {named}, which always begins anew"
            )
        plan = cls(
            method, loss, C, tol, refit_C, model.n_features, model.n_groups, model.feature_groups,
            model.signs, model.forced_features, model.forced_groups, model.covariates,
            model.criterion,
            bool(model.fit_intercept), bool(model.standardize), report=model._report,
            kept=model._kept,
        )  # fmt: skip
        by_itself = getattr(model, "method", None) == "auto"
        plan._check_budget(by_itself=by_itself)
        check_signed(plan.signs, plan.groups, plan.method)
        method.check(loss, plan.fit_intercept)
        return plan._judged(model, given, by_itself)

    def _judged(self, model: Any, given: bool, by_itself: bool) -> Plan:
        """Return the plan with what folds decide of it.

        given : whether C is a number. by_itself : whether the method follows from the budgets.
        """
        calibrate = validate.check_calibrate(model.calibrate)
        if self.counts == "both":
            if calibrate is True:
                way = "Use sklearn.calibration.CalibratedClassifierCV."
                raise ParameterError(
                    "calibrate",
                    "must be 'auto' or False for bi-level selection, which has no folds",
                    "True",
                    way if isinstance(model, ClassifierMixin) else "",
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
        check_adjusts(self.covariates, self.method)
        self._check_unbudgeted()
        if self.groups is None and self.forced_groups is not None:
            raise ValueError(
                Message(
                    "forced_groups names groups, but ",
                    Parameter("feature_groups"),
                    f" is None; got {self.forced_groups!r}. Pass the group of every column as ",
                    Parameter("feature_groups"),
                    ", or use ",
                    Parameter("forced_features"),
                    ".",
                )
            )
        if self.criterion is not None and (self.counts == "both" or self.groups is not None):
            raise ParameterError(
                "criterion",
                "chooses among numbers of single features",
                Message(
                    Parameter.of("criterion", self.criterion), " with ", Parameter("feature_groups")
                ),
                "Use cross_validate.",
            )
        if self.counts == "both" and not by_itself:
            return
        if self.groups is None and self.n_groups is not None:
            raise ParameterError(
                "n_groups",
                Message("counts groups, but ", Parameter("feature_groups"), " is None"),
                Message(Parameter.of("n_groups", self.n_groups)),
                Message(
                    "Pass the group of every column as ",
                    Parameter("feature_groups"),
                    ", or use ",
                    Parameter("n_features"),
                    ".",
                ),
            )
        if self.groups is None:
            return
        both = self.counts == "both"
        if not both and "groups" not in self.method.budgets:
            whole = names_of_methods(lambda one: "groups" in one.budgets)
            raise ValueError(
                Message(
                    Parameter.of("method", self.method.name),
                    " selects single features; got ",
                    Parameter("feature_groups"),
                    f". Leave them out, or use one of the methods {whole}, or 'bilevel'.",
                )
            )
        if not both and self.n_features is not None:
            raise ParameterError(
                "n_features",
                Message(
                    "must be None with ", Parameter("feature_groups"), ", which enter as a whole"
                ),
                Message(Parameter.of("n_features", self.n_features)),
                Message("Use ", Parameter("n_groups"), "."),
            )
        if self.n_groups is None and not self.method.unbudgeted():
            raise ParameterError(
                "feature_groups",
                Message("needs the number of them to select: pass ", Parameter("n_groups")),
            )
        if not both and self.forced_groups is not None:
            raise ValueError(
                Message(
                    "forced_groups is of bi-level selection; whole groups are forced by ",
                    Parameter("forced_features"),
                    f", a feature of each; got {self.forced_groups!r}.",
                )
            )

    def _check_unbudgeted(self) -> None:
        """Raise ValueError where a size is asked for although the method decides it."""
        option = self.method.unbudgeted()
        if not option:
            return
        for name in ("n_features", "n_groups", "criterion"):
            if getattr(self, name) is not None:
                raise ParameterError(
                    name,
                    f"must be None with {option}, where the blocks decide how large the model is",
                    f"{getattr(self, name)!r}",
                    "Leave one of them out.",
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
        data: TrainingData,
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
        forced = check_features("forced_features", self.forced_features, usable, data.names)
        beside = None
        if self.covariates is not None:
            beside = covariates_of(self.covariates, forced, data, usable)
        if sizes is None:
            sizes = self._sizes(groups, usable, forced, weight)
        else:
            check_usable(int(usable.sum()), usable.size)
        signs = check_signs_of_features(self.signs, usable.size, data.names)
        loss: Smooth = self.loss
        intercept, offset = self.fit_intercept, data.offset
        if outputs is not None:
            check_one_output(signs)
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
        if beside is not None:
            check_covariates(tasks, beside, data)
        return Problem(data, tasks, classes, sizes, self.select, self.C, self)

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
        sizes = check_sizes(wanted, n_usable, usable.size, forced.size)
        if self.criterion is not None:
            if weight.sum() < LEAST_ROWS:
                raise ParameterError(
                    "criterion",
                    Message(
                        "needs sample_weight (times ",
                        Parameter("class_weight"),
                        f") to count rows, at least {LEAST_ROWS} in sum",
                    ),
                    f"{weight.sum():g}",
                    Message(
                        "Scale them to the number of rows, or use ",
                        Parameter.of("criterion", None),
                        ".",
                    ),
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
            budgets = check_n_groups(self.n_groups, n_groups, n_forced)
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
        options["refit_C"] = NO_REFIT if no_fit else self.refit_C
        options |= {"start": start, "report": self.report, "kept": self.kept}
        request = SelectionRequest(self.C, tol=self.tol, method=self.method.name, **options)
        return self.method.select(task, sizes, request)

    def doubts(self, paths: Sequence[Path], size: Any) -> Iterator[Warning]:
        """Return the warnings that a fit gives."""
        yield from self.method.doubts(paths, size, paths[0].C, self.tol)
        yield from absent_signs(paths, size, self.signs)
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


# What estimators that select under a budget do at fit: their parameters are a `Plan`.

_LOG = logging.getLogger(__name__)


@with_parameters
class BudgetSelection(SparseLinearModel):
    """Base of the estimators with a budget, as those of one target need it.

    Classes and several responses override what differs.
    """

    n_features: int | str | Sequence[int] | None = field(default=None, kw_only=False)
    n_groups: int | str | Sequence[int] | None = None
    feature_groups: ArrayLike | Groups | Mapping[Any, Sequence[Any]] | str | None = None
    method: MethodName | Literal["auto"] | Method = "auto"
    C: float | Literal["auto"] = "auto"
    refit_C: float | Literal["auto", "loo"] | None = "auto"
    calibrate: bool | Literal["auto"] = "auto"
    standardize: bool = True
    forced_features: Any = None
    signs: int | ArrayLike | Mapping[Any, int] | None = None
    forced_groups: Any = None
    covariates: Any = None
    criterion: Literal["aic", "bic", "ebic", "gic"] | None = None
    tol: float | None = None
    warm_start: bool = False
    n_threads: int | None = None
    checkpoint: Any = None
    _kept: ClassVar[PartialResults | None] = None  # set for a fit: told which sizes are finished

    def _plan(self) -> Plan:
        """Return the selection as the parameters state it."""
        return Plan.of(self)

    def _method(self, automatic: type[Method]) -> Method:
        """Return what finds the features; automatic: the method of "auto"."""
        return named(self.method, automatic)

    def _check_parameters(self) -> None:
        """Raise ValueError where a parameter breaks a rule that no data are needed for."""
        self._plan()

    def _stored(self, design: Design) -> Design:
        """Return the design in the storage that scans and gathers want; those of l1 ask later."""
        is_l1 = "l1" in self._plan().method.name
        return design if is_l1 else design.arranged(for_descent=False)

    def _loss_weight(self) -> float:
        """Return what weights are compared with: 1, as C may be infinite."""
        return 1.0

    def _sizes_of_folds(self, data: TrainingData) -> tuple[Any, ...] | None:
        """Return the sizes of all folds, checked with all data; None: each has its own."""
        if self._plan().counts == "both" or is_automatic(self.n_groups):
            return self._pose(data).sizes
        return sizes_of_rows(self, data)

    def _pose(self, data: TrainingData, sizes: tuple[Any, ...] | None = None) -> Problem:
        """Return the problem of `fit` on these rows."""
        data, unit = self._weigh(data)
        return self._plan().pose(data, [data.labels], None, unit, sizes)

    def _begin(
        self, data: TrainingData, seconds: dict[str, float]
    ) -> tuple[np.ndarray | None, list[Solver[Any]]]:
        """Return no classes, and the solver."""
        return None, self._keeping(begun(self, data, seconds)[1], 1)

    def _keeping(self, solver: Solver[Any], n_tasks: int) -> list[Solver[Any]]:
        """Return the solver, as one that keeps what is finished where that is asked for."""
        return [solver if self._kept is None else or_partial_results([solver], self._kept, n_tasks)]

    def _store(self, results: list[Any]) -> None:
        """Set the attributes that the results of the solvers give."""
        keep_paths(self, results[0])
        self._plan().keep_groups(self)
        _LOG.info(
            "%s on %d features: size %s, %d passes over the data, %.2f s",
            type(self).__name__, self._n_columns, self.size_, self.n_scans_, self.seconds_["total"],
        )  # fmt: skip

    def _keep_size(self, size: Any) -> None:
        """Make one of the sizes of the fit the model that predicts."""
        keep_size(self, size)
        self._plan().keep_groups(self)

    def _doubts(self) -> Iterable[Warning]:
        """Return the warnings that a fit gives."""
        return self._plan().doubts(self._paths, self.size_)


@with_parameters
class BudgetClassifier(BudgetSelection, LinearClassifier):
    """Give me exactly k features, the best you can: a linear model on exactly k features.

        min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b)   subject to the budget

    on the selection scaling, with f the logistic loss log(1 + exp(-y z)) or the squared hinge
    1/2 max(0, 1 - y z)^2. The budget is one of

    - `n_features`: exactly so many features, ||u||_0 <= k;
    - `feature_groups` and `n_groups`: exactly that many whole groups of features;
    - `feature_groups`, `n_groups` and `n_features`: at most that many features in at
      most that many groups.

    By default a pool of 3k features is found by the minimax cutting plane (about six passes over
    X), reduced to k by backward elimination and splicing, refitted on the scaling of X, and
    certified: `certificate_` says how far the support can be from the best one of its size. More
    than two classes share their features, with the multinomial loss log(sum_c e^z_c) - z_y of a
    margin for each, or are one-versus-rest, each with a budget of its own; their scans are merged
    into the same passes.

    Parameters
    ----------
    n_features : int, list or range of int, "auto", or None
        How many features. A list gives a model of each size from one fit (`path_`); predictions use
        the largest. "auto": cross-validation chooses, five folds (or as many as the smallest class
        has rows) by the rule of one standard error among 1 to 6, 8, 10, 12, 15, 20, 25, 30, 40 and
        50 features, as `BudgetCV` with its defaults, or the criterion, where there is one. None:
        10, or all usable columns if fewer; with `feature_groups` whole groups.
    n_groups : int, list or range of int, "auto", or None
        How many groups; a list gives several models. Only with `feature_groups`. "auto":
        cross-validation chooses, as of n_features="auto", among the same numbers as far as half of
        the rows and the groups go; of more than six whole groups as far as they have, in the mean,
        no more features than there are rows. With a budget of features as well it chooses among
        pairs of no more groups than features, and the fewest groups are the smallest model.
    feature_groups : (n_features_in_,) labels, a dict of lists, `Groups`, "columns" or None
        The group of every column of X, or the columns (indices or names) of every group by its
        label. "columns": X is a data frame whose categorical columns (of strings, categories or
        booleans) are one-hot encoded; every column of the frame is a group. Constant columns of a
        group are left out.
    loss : "logistic", "squared_hinge" or "ordinal"
        f, which selects and certifies. The final fit is logistic all the same, unless
        `refit_C=None`. "ordinal" is of ordered classes: one model of proportional odds,
        P(class <= k) = sigma(b_k - x_i'u), with thresholds b_1 < b_2 < ... in place of an
        intercept, by the methods "pool", "l0", "minimax", "greedy" and "bilevel". The classes are
        numbers, or an ordered categorical of pandas; two are those of the logistic loss.
    method : str or a record of `zeronorm.methods`
        What finds the features: a name for its defaults, or a record with options, such as
        `methods.L0(gap=0.01)`.

        - "auto": "pool" for features, "minimax" for whole groups, "bilevel" for both budgets. For
          features with k >= 30 and k >= n/40, k the largest size and n the number of samples,
          "pool", "minimax" and "l1" are compared; from k >= n/20 on "minimax" and "l1" alone.
          (Several classes in one model, covariates and forced features do without "l1"; `signs`
          always have "pool".) The candidate with the least log-loss on held-out samples, scaled as
          by `calibrate`, selects on all samples: five folds repeat the whole selection, and from
          1000 samples on a single fold of a fifth of them. Its models are then scaled. `method_`
          says which one it is.
        - "pool": the pool, elimination and splicing, as above, also of whole groups.
        - "l0": exchanges among all features, and on demand a proof.
        - "minimax": the cutting plane itself; nested supports, of features or of groups.
        - "greedy": the feature or group that fits best what is left, a scan for each.
        - "l1": the l1 path, at the largest C with at most k features.
        - "reweighted-l1": the same in stages that penalise large coefficients less.
        - "bilevel": a search under both budgets, without a certificate; without `feature_groups`
          every column is a group, and `n_groups` may be None for any number.
    C : "auto" or float
        Weight of the summed loss during selection, for standardised columns. "auto": 0.1, and 1 for
        "bilevel". Folds do not choose it for classes.
    refit_C : "auto", "loo", float or None
        C of the final logistic fit on the scaling of X; "loo" chooses by approximate leave-one-out
        log-loss, and penalises the coefficients of standardised columns where deviations of the
        selected ones differ by more than 100 times. None, for "bilevel" only: the solution of the
        problem above is the model. "auto": "loo", and None for "bilevel".
    calibrate : "auto" or bool
        Whether the margins are multiplied by a number between 0.02 and 1.2 for each size, so that
        probabilities hold on new rows: the final fit does not know of the selection before it, and
        on few rows is far too sure. The number is the one of least log-loss on rows that are held
        out of folds, up to five, which repeat the whole selection in the same passes over X and
        with five times the other work. Labels, support and certificate stay what they are; several
        classes share the number. "auto": where the sample weights (times class weights) have a sum
        below 1000, or where folds have chosen the method, and not for "bilevel", which has no
        folds. It is not done where a class has one row only.
    fit_intercept : bool
        Whether the model has an intercept; it is never penalised.
    standardize : bool
        Whether columns are standardised during selection (lazily: X is never copied, and sparse
        columns are scaled but not centred). The final fit is on the scaling of X.
    forced_features : list of int or str, or None
        Always in the model (with whole groups: their groups), counted in the budgets. With
        feature_groups="columns" they are encoded columns, "column=category".
    signs : None, -1, 1, (n_features_in_,) of -1, 0 and 1, or a mapping
        The signs that coefficients may have: 1 is w_j >= 0, -1 is w_j <= 0, 0 any; one number for
        all features, or {feature: sign} for some, by index or name. Selection, bounds and the final
        fit keep them, by the methods "pool" and "l0" for single features. Positive coefficients
        speak for the second of two classes, or for the class of "ovr". There are k features in any
        case: where fewer can have their sign, a warning says how many have a coefficient that is
        not 0.
    covariates : list of int or str, or None
        Columns in every model beside the selected features: not counted in the budgets, and free
        of any penalty, as the intercept is, in selection, certificate and final fit. With a_i their
        entries, z_i = x_i'u + b + a_i'g in the problem above, which is over u, b and g. One that
        depends on earlier ones has the coefficient 0; all have any sign. By "pool", "l0",
        "minimax", "greedy" and "bilevel".
    forced_groups : list of labels, or None
        Of "bilevel": counted as groups of every model, with or without features of theirs.
    criterion : "aic", "bic", "ebic", "gic" or None
        What chooses among numbers of single features: the size with the smallest criterion is the
        model, the smallest one of equals. With a single number n_features the sizes are 1, ...,
        n_features (with forced features, from their number on). None: the largest size.

            criterion = 2 l + k a,   a = 2 (aic), log n (bic), log n + 2 log p (ebic),
                                         log(p) log(log n) (gic)

        with l the log-loss of the final fit summed over the rows with their weights, k the size
        (and the coefficients of covariates),
        n the sum of the weights (which count rows) and p the number of columns that are not
        constant. Of several classes, the sum over the models of each class against the others, and
        one size for all. Sources in `zeronorm.core.criteria`.
    multi_class : "auto", "multinomial" or "ovr"
        With more than two classes, "multinomial" selects n_features in all, in one model (by
        the methods "pool", "minimax", "greedy", "l0" and "bilevel", with the logistic loss and
        without signs). "ovr" selects n_features for each class, in a model against the others.
        Budgets of groups count alike. "auto" is "multinomial" where that is possible, else "ovr".
    class_weight : dict, "balanced" or None
    tol : float or None
        What solves single problems stops at this: a certified gap relative to the objective of the
        model without features ("pool", "minimax", 1e-3; "l1", 1e-4), or to its own ("greedy",
        1e-6); or a decrease of the objective as a share of it ("l0", 1e-4; "bilevel", 1e-6). None:
        that of the method.
    warm_start : bool
        Whether to begin with the features that the previous fit generated, without scanning for
        them again: after a change of budgets, C or some rows. Not used in the folds of `calibrate`,
        and not for paths ("l1").
    n_threads : int or None
        Threads of a scan; all allowed ones by default. The result does not depend on it.
    checkpoint : path-like or None
        A file that keeps every pass over the data: a killed fit goes on from it, see `Checkpoint`.

    Attributes
    ----------
    support_ : (k,) sorted indices of the selected features (of all classes), covariates not among
        them.
    covariates_ : (q,) sorted indices of the covariates; where there are some.
    coef_, intercept_ : the model on all features, covariates among them, (1 or n_classes,
        n_features_in_); where it is calibrated, the final fit times `path_[k].scale`.
    classes_ : labels.
    multi_class_ : "multinomial", "ovr" or, of ordered classes, "ordinal": how more than two classes
        are fitted.
    ordered_classes_, thresholds_ : of ordered classes, the labels from the lowest to the highest,
        and b, (n_classes - 1,); intercept_ is -b then, and coef_ has one row.
    size_ : the size of the model: a number of features, of groups, or the pair of both.
    C_ : C of the selection, and of the certificate.
    method_ : the name of the method that selected, as "auto" has chosen.
    path_ : a `Path`, the models of all sizes asked for; `path_[size]` is a `Selection`, with the
        honest log-loss of rows held out, `cv_log_loss`, where it is calibrated.
    history_ : a `Step` per scan or round: objective, bound and gap, and the features that entered.
    certificate_ : how far from the best support of its size this one can be. Not of "bilevel".
    gap_ : its gap; the largest of several classes.
    proof_ : how branch and bound ended, a `Proof`, where `methods.L0(gap=...)` asked for it.
    criteria_ : a table of all sizes as a dict of its columns (n_sizes,): "size", growing,
        "log_loss", minus the log-likelihood of the training rows, "aic", "bic", "ebic" and "gic".
        Of several classes, sums over the models of each class against the others. Not where the
        model has no log-loss.
    groups_ : the labels of the groups of the selected features, sorted; where there are groups.
    validation_ : with n_features="auto" or n_groups="auto", the `CrossValidation` that chose
        `size_`, a little too good for it; `nested_cross_validate` has an honest estimate.
    n_scans_ : passes over X, those of the folds not among them. seconds_ : by phase.

    Where three or more classes have a model each, path_, history_, certificate_ and proof_ are
    tuples, one entry for each class against the rest in the order of `classes_`.

    References
    ----------
    Tan, Tsang and Wang, Minimax sparse logistic regression for very high-dimensional feature
    selection, IEEE TNNLS 24(10), 2013. `zeronorm.published` has the sources of the other methods.

    Examples
    --------
    >>> from zeronorm import BudgetClassifier
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> model = BudgetClassifier(n_features=5).fit(X, y)
    >>> len(model.support_)
    5
    """

    _losses: ClassVar[dict[str, Smooth]] = LinearClassifier._losses | {Ordinal.name: Ordinal()}

    loss: Literal["logistic", "squared_hinge", "ordinal"] = "logistic"
    fit_intercept: bool = True
    multi_class: Literal["auto", "multinomial", "ovr"] = "auto"
    class_weight: Any = None

    def _check_parameters(self) -> None:
        plan = self._plan()
        validate.check_option("multi_class", self.multi_class, ["auto", "multinomial", "ovr"])
        if self.loss == Ordinal.name:
            self._check_ordinal(plan)

    def _loss_weight(self) -> float:
        return self._plan().C

    def _pose(self, data: TrainingData, sizes: tuple[Any, ...] | None = None) -> Problem:
        data, unit = self._weigh(data)
        classes, targets = self._problems(data.labels, data.sample_weight)
        plan, outputs = self._plan(), None
        if self.loss == Ordinal.name and len(classes) > 2:
            if data.order is not None:
                classes = data.order[np.isin(data.order, classes)]
            codes = numbered(data.labels, classes)
            check_weight_of_classes(codes, data.sample_weight)
            targets = [codes.astype(np.float64)]
        elif self.loss == Ordinal.name:  # two classes have no order
            plan = replace(plan, loss=Logistic())
        elif self._multi_class == "multinomial" and len(classes) > 2:
            self._check_shared(plan)
            outputs = Multinomial(len(classes), plan.fit_intercept)
            targets = [classes_as_outputs(np.searchsorted(classes, data.labels), len(classes))]
        return plan.pose(data, targets, classes, unit, sizes, outputs)

    @property
    def _multi_class(self) -> str:
        """How several classes are fitted: "multinomial", "ordinal" or "ovr"."""
        if self.loss == Ordinal.name:
            return "ordinal"
        if self.multi_class != "auto":
            return str(self.multi_class)
        return "multinomial" if unshared(self._plan()) is None else "ovr"

    def _check_shared(self, plan: Plan) -> None:
        """Raise ValueError where several classes cannot share their features."""
        wrong = unshared(plan)
        if wrong is not None:
            raise ValueError(
                Message(
                    Parameter.of("multi_class", "multinomial"),
                    " needs the logistic loss, no signs, and one of the methods "
                    f"{names_of_methods(lambda one: one.shares)}; got {wrong} for more than two "
                    "classes. Use ",
                    Parameter.of("multi_class", "ovr"),
                    ", which selects for each class against the others.",
                )
            )

    def _check_ordinal(self, plan: Plan) -> None:
        """Raise ValueError where ordered classes cannot be what the parameters ask for."""
        if not plan.fit_intercept:
            raise ParameterError(
                "fit_intercept",
                Message(
                    "must be True for ",
                    Parameter.of("loss", "ordinal"),
                    ", whose thresholds are intercepts",
                ),
                "False",
            )
        if self.multi_class != "auto":
            raise ParameterError(
                "multi_class",
                Message(
                    "must be 'auto' for ",
                    Parameter.of("loss", "ordinal"),
                    ", one model of all classes",
                ),
                f"{self.multi_class!r}",
                Message("Use ", Parameter.of("loss", "logistic"), " for classes without an order."),
            )
        # Thresholds are a part of the loss, as intercepts of several outputs are: the same methods
        # know them, not l1.
        if not plan.method.shares:
            raise ParameterError(
                "method",
                Message(
                    f"must be one of {names_of_methods(lambda one: one.shares)} for ",
                    Parameter.of("loss", "ordinal"),
                ),
                f"{plan.method.name!r}",
            )

    def _order(self, y: Any) -> np.ndarray | None:
        if self.loss != Ordinal.name:
            return None
        order = class_order(y)
        if order is None:
            check_ordered(y)
        return order

    def _begin(
        self, data: TrainingData, seconds: dict[str, float]
    ) -> tuple[np.ndarray | None, list[Solver[Any]]]:
        scaled = None if self.calibrate == "auto" else bool(self.calibrate)
        if self.calibrate == "auto" and float(data.sample_weight.sum()) < JUDGING.auto_rows:
            scaled = self._plan().counts != "both"
        problem, solver = begun(self, data, seconds, scaled=scaled)
        return problem.classes, self._keeping(solver, len(problem.tasks))

    @property
    def thresholds_(self) -> FloatArray:
        """The thresholds between ordered classes, (n_classes - 1,); of other losses there are none.

        P(class <= k) = sigma(thresholds_[k - 1] - X @ coef_[0]), k = 1, 2, ...
        """
        if self.loss != Ordinal.name or not hasattr(self, "intercept_"):
            raise AttributeError("thresholds_ is set by fit, with loss='ordinal'.")
        return np.asarray(-self.intercept_)

    def _set_classes(self, classes: np.ndarray) -> None:
        super()._set_classes(classes)
        if "multi_class" in self.get_params(deep=False):  # published classes know "ovr" alone
            self.multi_class_ = self._multi_class
        self.__dict__.pop("ordered_classes_", None)
        if self.loss == Ordinal.name:
            # Whoever reads probabilities beside labels takes the sorted ones for their columns.
            self.ordered_classes_, self.classes_ = classes, np.sort(classes)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores, (n_samples,) or (n_samples, n_classes).

        Those of the classes are X[:, support_] @ coef + intercept; of three ordered classes or
        more, the log-odds of each of them against all others.
        """
        scores = super().decision_function(X)
        if scores.ndim == 2 and self.loss == Ordinal.name:
            return scores[:, np.argsort(self.ordered_classes_, kind="stable")]
        return scores

    def _class_scores(self, margins: FloatArray) -> FloatArray:
        # Of two classes there is one threshold, and its scores are the log-odds already.
        if self.loss == Ordinal.name and margins.shape[1] > 1:
            return log_odds_of_classes(margins)
        return margins

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        if self._multi_class == "multinomial" and scores.ndim == 2:
            found: FloatArray = softmax(scores, axis=1)
            return found
        return super()._probabilities(scores)

    @property
    def _score_loss(self) -> str:
        # Whoever asks for predict_proba of the logistic loss is told of no wrong parameter yet.
        certain = self.loss in ("logistic", Ordinal.name)
        solution = not certain and self._plan().refit_C is None
        return str(self.loss) if solution else "logistic"


def unshared(plan: Plan) -> str | None:
    """Return what keeps several classes from sharing their features; None: nothing."""
    if not plan.method.shares:
        return f"method={plan.method.name!r}"
    if plan.loss.name != Logistic.name:
        return f"loss={plan.loss.name!r}"
    return None if plan.signs is None else "signs"


# The front door of selection for numbers, counts and positive numbers.


@with_parameters
class BudgetRegressor(BudgetSelection, LinearRegressor):
    """A regression on exactly k features, whole groups, or features in few groups.

        min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b + o_i)   subject to the budget

    on the selection scaling, with f the loss and o offsets that are known. Budgets, methods and
    certificates are those of `BudgetClassifier`, whose twin this is.

    Parameters
    ----------
    n_features, n_groups, feature_groups, method, forced_features, signs, forced_groups, covariates,
    fit_intercept, standardize, criterion, tol, warm_start, n_threads,
    checkpoint
        As in `BudgetClassifier`.
    loss : "least_squares", "huber", "quantile", "poisson", "gamma", or a loss
        What is small in the best model. "huber" is least squares that outliers pull less at;
        "quantile" the median, or with `losses.Quantile(0.9)` another quantile, smoothed; "poisson"
        is of counts, y >= 0, and "gamma" of positive numbers, both with the mean exp(x_i'u + b).
        A loss of your own is a `losses.NumericLoss`, which `losses.check_loss` tests.
    C : "auto" or float
        Weight of the summed loss during selection. "auto" chooses one C for all sizes of the fit:

            C m in {0.001, 0.01, 0.1, 1, 10},   m = sum_i f''_i / sum_i s_i

        with f''_i the curvature of sample i in the model without features (m is 1 for least
        squares, and the mean count for "poisson"). Five folds repeat the whole selection with each
        C. The C with the largest log-likelihood of the held-out samples, summed over sizes,
        selects on all samples; `C_` is its value. A fold has its share of small and large targets,
        holds all copies of a sample, and keeps `groups` of samples together. Where folds are
        impossible C m is 0.1: fewer than 10 different samples, one group of samples, or no column
        that varies in a fold. "greedy" and "l1" select without C; 0.1 (1 for "quantile") is that of
        their certificate. "bilevel" has no folds: 1, and inf for least squares, which alone can do
        without a ridge. Where that many features fit all different rows exactly, many supports do
        without one, and rounding chooses among them: a finite C has one best of them.
    refit_C : "auto", "loo", float or None
        C of the final fit on the scaling of X; "loo" chooses by the approximate leave-one-out loss,
        which is exact for least squares, as in `BudgetClassifier`. "auto": "loo", and None for
        "bilevel".
    calibrate : "auto" or bool
        Whether the models of a fit are scaled, one number a for each size: the coefficients times
        a, with the intercept and the effects of covariates fitted anew. With z the margins of the
        samples that the folds of C hold out, and z_0 those of the model without features,

            a = argmin over [0.02, 1.2] of  l(z_0 + a (z - z_0)) + (a - 1)^2 / 2

        with l minus the log-likelihood. The second term, a normal prior, keeps a near 1 where there
        are few samples. "auto": with C="auto". Where folds are impossible, and for "bilevel",
        nothing is scaled.

    Attributes
    ----------
    As of `BudgetClassifier`, `C_`, `method_` and `path_[k].scale` among them, without those of
    classes (`cv_log_loss` is NaN); coef_ is (n_columns,) and intercept_ a
    number, of several responses (n_responses, n_columns) and (n_responses,). `criteria_` counts
    minus the log-likelihood up to constants: of least squares and "huber" n/2 log(RSS/n), of
    "quantile" n log(mean loss), of "gamma" that of the likeliest shape.

    References
    ----------
    Bertsimas, King and Mazumder, Best subset selection via a modern optimization lens, Annals of
    Statistics 44(2), 2016. Of "bilevel": Xiang, Yang and Ye, Simultaneous feature and feature group
    selection through hard thresholding, KDD 2014. Of folds that repeat the whole selection:
    Ambroise and McLachlan, Selection bias in gene extraction on the basis of microarray
    gene-expression data, PNAS 99(10), 2002. Of the scale: van Houwelingen and Le Cessie, Predictive
    value of statistical models, Statistics in Medicine 9(11), 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import BudgetRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.standard_normal((100, 40)), np.repeat(np.arange(8), 5)
    >>> y = X[:, 10] + X[:, 12] - X[:, 30] + 0.1 * rng.standard_normal(100)
    >>> model = BudgetRegressor(n_features=3, method="l0").fit(X, y)
    >>> model.support_.tolist(), model.certificate_.loss
    ([10, 12, 30], 'least_squares')
    >>> model = BudgetRegressor(n_features=3, n_groups=2, feature_groups=groups).fit(X, y)
    >>> model.support_.tolist(), model.groups_.tolist()
    ([10, 12, 30], [2, 6])
    """

    loss: str | NumericLoss = "least_squares"
    fit_intercept: bool = True

    def _target(self, y: Any, n_samples: int) -> np.ndarray:
        columns = responses(y)
        if columns is None:
            return super()._target(y, n_samples)
        return np.column_stack(
            [super(BudgetRegressor, self)._target(one, n_samples) for one in columns]
        )

    def _pose(self, data: TrainingData, sizes: tuple[Any, ...] | None = None) -> Problem:
        if data.labels.ndim == 1:
            return super()._pose(data, sizes)
        data, unit = self._weigh(data)
        plan, q = self._plan(), data.labels.shape[1]
        if not plan.method.shares:
            raise ValueError(
                Message(
                    "several responses share their features by the methods "
                    f"{names_of_methods(lambda one: one.shares)}; got ",
                    Parameter.of("method", plan.method.name),
                    f" for y of {q} columns. Fit a model for each column for the others.",
                )
            )
        outputs = Responses(plan.loss, q, plan.fit_intercept)
        return plan.pose(data, [data.labels.T.ravel()], None, unit, sizes, outputs)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: several responses, where the method can select for all of them."""
        tags = super().__sklearn_tags__()
        try:
            tags.target_tags.multi_output = self._plan().method.shares
        except ValueError:  # parameters break a rule, as fit will say
            tags.target_tags.multi_output = True
        return tags
