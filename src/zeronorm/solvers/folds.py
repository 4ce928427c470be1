"""Folds that repeat a selection, within a fit: which samples each holds out.

Equal samples are in one fold: a weight of 2 says the same as a sample that is there twice, and of a
sample that was drawn twice no copy is held out next to the other. Nothing depends on the order of
the samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

from ..core.results import Path
from ..core.types import Columns, Design, FloatArray, IndexArray
from ..data import Rows
from ..data.gathered import gather
from ..data.operations import column_scaling, multiply, unscaled
from ..data.views import filled_over
from ..losses import Cox, Responses, without_covariates
from ..losses.ordinal import ordered_log_loss
from .driver import PhaseClock, Solver, together
from .final_fits import variances
from .finish import refit_support
from .problem import EQUAL_ROWS, Task


@dataclass(frozen=True, slots=True)
class FoldsTuning:
    """Constants of the division into folds."""

    folds: int = 5
    least_samples: int = 10  # different samples, or events, that numbers and times need for folds
    share: float = 1e12  # the unit of shares that are compared: a class as a whole
    # Folds that differ by less are equal: integer weights count as repeated rows.
    equal: float = 1e-9


FOLDS = FoldsTuning()


@dataclass(frozen=True, slots=True)
class TaskFold:
    """The problems of all classes on the samples of a fold, and the samples that it holds out."""

    tasks: list[Task]
    storage: Design  # of all samples, on the scaling of the user
    test: IndexArray
    n_units: int  # what can be selected: columns that are constant in the fold cannot
    # Whether margins have no intercept, as risks of survival times, so that those of several folds
    # need an origin in common: the mean of the training samples; that of the covariates.
    has_origin: bool
    origin: FloatArray


def folds_of(
    tasks: Sequence[Task], labels: np.ndarray, groups: IndexArray | None, *, of_classes: bool
) -> list[TaskFold]:
    """Return the folds of the samples of some problems that share X; none where there can be none.

    labels : (n,) of classes; else the target, (n,), (n, n_responses), or of survival times.
    groups : (n,) samples with the same number are held out together; None: each by itself.
    """
    task = tasks[0]
    storage, scale = unscaled(task.design_of_features)
    is_survival = isinstance(without_covariates(task.loss), Cox)
    if groups is not None:
        strata = labels if of_classes else np.zeros(len(labels))
        strata = labels[:, 1] if is_survival else strata
        number = fold_numbers_of_groups(groups, strata, task.sample_weight[: len(labels)])
    else:
        # The legacy generator, whose numbers are the same in every version of NumPy.
        direction = np.random.RandomState(0).uniform(-1.0, 1.0, scale.size)
        place = multiply(storage, direction * scale)
        if of_classes:
            number = fold_numbers(place, labels)
        else:
            number = folds_of_numbers(place, labels, is_survival=is_survival)
    folds: list[TaskFold] = []
    origin = np.zeros(task.covariates.size)
    if is_survival and origin.size:
        origin = task.sample_weight @ gather(storage, task.covariates).dense()
        origin /= task.sample_weight.sum()
    for f in range(int(number.max()) + 1 if number.any() else 0):
        held_out = number == f
        train = np.flatnonzero(~held_out)
        # What classes share is made once: the scales cost a pass over X.
        first = task.rows(train)
        own = task.places(train)
        folds.append(
            TaskFold(
                [replace(first, y=other.y[own]) for other in tasks],
                filled_over(storage, train),
                np.flatnonzero(held_out),
                int(first.units.usable.sum()),
                is_survival,
                origin,
            )
        )
    return folds if folds and min(fold.n_units for fold in folds) > 0 else []


def fold_numbers(place: FloatArray, labels: np.ndarray) -> IndexArray:
    """Return the fold, from 0, that holds each row out, (n,); 0 for all where there can be none.

    Stratified: the different rows of a class, in the order of their places, go to the folds in
    turn. There are `FOLDS.folds` folds, fewer where a class has fewer rows.

    place : (n,) a number for every row, the same for equal rows.
    """
    codes = np.unique(labels, return_inverse=True)[1]
    order = np.lexsort((place, codes))
    new = np.diff(place[order], prepend=-np.inf) > EQUAL_ROWS * np.abs(place).max()
    new |= np.diff(codes[order], prepend=-1) > 0
    number = np.empty(order.size, np.int64)
    number[order] = np.cumsum(new) - 1
    fewest = int(np.bincount(codes[order[new]]).min())
    return number % min(FOLDS.folds, fewest) if fewest > 1 else np.zeros_like(number)


def fold_numbers_of_groups(
    groups: IndexArray, labels: np.ndarray, weight: FloatArray
) -> IndexArray:
    """Return the same where samples with the same number in `groups` are held out together.

    There are fewer than `FOLDS.folds` where a class is in fewer groups. 0 for all samples where a
    class is in a single group, or where all groups with it are in one fold.
    """
    fewest = int(members(labels, groups)[1].min())
    if fewest < 2:
        return np.zeros(labels.size, np.int64)
    number = folds_of_groups(groups, weight, min(FOLDS.folds, fewest), labels)
    learnt = int(members(labels, number)[1].min()) > 1
    return number if learnt else np.zeros_like(number)


def folds_of_numbers(
    place: FloatArray, target: np.ndarray, *, is_survival: bool = False
) -> IndexArray:
    """Return the same of numbers, counts, several responses or survival times.

    The different samples, in the order of their targets, go to the folds in turn, so that every
    fold has its share of small and large ones; of survival times those with an event, in the order
    of their times, and then the others. Fewer samples, or events, than `FOLDS.least_samples` have
    no folds.

    target : (n,), (n, n_responses), or of survival times (n, 3) and more: time, event, stratum.
    """
    columns = target.reshape(len(target), -1).T
    keys = [1.0 - columns[1], columns[0], *columns[2:]] if is_survival else list(columns)
    order = np.lexsort((place, *keys[::-1]))
    new = np.diff(place[order], prepend=-np.inf) > EQUAL_ROWS * np.abs(place).max()
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    number = np.empty(order.size, np.int64)
    number[order] = np.cumsum(new) - 1
    counted = np.unique(number[keys[0] == keys[0].min()] if is_survival else number).size
    return number % FOLDS.folds if counted >= FOLDS.least_samples else np.zeros_like(number)


def members(labels: np.ndarray, groups: IndexArray | None) -> tuple[np.ndarray, IndexArray]:
    """Return the classes, and how many rows each has, or in how many groups it occurs."""
    classes, code = np.unique(labels, return_inverse=True)
    if groups is not None:
        code = np.unique(np.column_stack([code, groups]), axis=0)[:, 0]
    return classes, np.bincount(code, minlength=classes.size).astype(np.int64)


def folds_of_groups(
    groups: IndexArray,
    weight: FloatArray,
    n_folds: int,
    labels: np.ndarray | None = None,
    shuffle: Callable[[int], np.ndarray] = np.arange,
) -> IndexArray:
    """Return the fold, from 0, that holds each row out, (n,); a group is in one fold.

    Groups go to the folds one by one, those with the largest share of a class first, each where it
    leaves the shares of the classes the most equal. The folds do not depend on the order of the
    rows, and an integer weight counts as that many rows.

    Parameters
    ----------
    groups : (n,) the number of the group of every row.
    weight : (n,) not negative.
    n_folds : at most the number of groups.
    labels : (n,) what folds should have in equal shares; None: the weight alone.
    shuffle : the order of groups that are alike, given their number.
    """
    own, group = np.unique(groups, return_inverse=True)
    code = np.zeros(group.size, np.int64)
    if labels is not None:
        code = np.unique(labels, return_inverse=True)[1]
    totals = np.zeros((own.size, int(code.max(initial=0)) + 1))
    np.add.at(totals, (group, code), weight)
    whole = totals.sum(axis=0)
    # Whole numbers, whose sums are exact.
    shares = np.rint(totals / np.where(whole > 0, whole, 1.0) * FOLDS.share)
    size = np.rint(totals.sum(axis=1) / max(float(whole.sum()), 1e-300) * FOLDS.share)
    most = shares.max(axis=1)
    fold = np.empty(own.size, np.int64)
    held, weights = np.zeros((n_folds, shares.shape[1])), np.zeros(n_folds)
    order = np.asarray(shuffle(own.size))
    for one in order[np.lexsort((-size[order], -most[order]))]:
        # What the sum of squares of the shares grows by, but for what is the same for all folds.
        growth = held @ shares[one]
        near = np.flatnonzero(growth <= growth.min() + FOLDS.equal * FOLDS.share * most[one])
        fold[one] = chosen = near[weights[near].argmin()]
        held[chosen] += shares[one]
        weights[chosen] += size[one]
    return fold[group]


# One number by which the margins of held-out samples are nearest to their targets.
#
# The final fit knows nothing of the selection before it, and on few samples its margins are too
# large. With z_i the margin of sample i under the model of the fold that holds it out, the number
# multiplies what a model says beyond the model without features.

LEAST, MOST = 0.02, 1.2  # of the scale
FACTORS = np.geomspace(LEAST, MOST, 16)  # the loss need not be convex
HALVINGS = 40  # of an interval of the grid: to the last bits
PRIOR = 1.0  # standard deviation around 1 of the scale of numbers, times and counts


class MarginJudge(Protocol):
    """Targets of all samples, by which margins of held-out samples are judged."""

    def loss(self, z: FloatArray) -> float:
        """Return the loss of margins, (n, n_scores), that compares ways to select."""

    def scale(self, z: FloatArray) -> tuple[float, float]:
        """Return the best number in [LEAST, MOST], and the mean loss after scaling."""


@dataclass(frozen=True, slots=True)
class OfClasses:
    """Log-losses of class labels.

        a = argmin over [0.02, 1.2] of  sum_i s_i log(1 + exp(-y_i a z_i)),

    Several classes share it, so that no decision changes: it minimises the log-loss of their
    probabilities, which are those of each class against the others divided by their sum, or of a
    model of all classes the multinomial or the ordinal ones.

    codes : (n,) the class of each sample. weight : (n,).
    kind : "each", or the loss of a model of all classes: "multinomial" or "ordinal".
    """

    codes: IndexArray
    weight: FloatArray
    kind: str = "each"

    def loss(self, z: FloatArray) -> float:
        """Return the mean log-loss after scaling."""
        return self.scale(z)[1]

    def scale(self, z: FloatArray) -> tuple[float, float]:
        """Return the number by which margins have the least log-loss, and that mean.

        z : (n, 1) margins of the second of two classes, (n, n_classes) of each against the others,
            or of ordered classes (n, n_classes - 1) at the thresholds.
        """
        each, rising = self._log_loss(z)
        return _least(lambda a: float(self.weight @ each(a)) / float(self.weight.sum()), rising)

    def each(self, z: FloatArray, *, scaled: bool) -> FloatArray:
        """Return the log-loss of every sample, after scaling or of margins as they are, (n,)."""
        return self._log_loss(z)[0](self.scale(z)[0] if scaled else 1.0)

    def _log_loss(
        self, z: FloatArray
    ) -> tuple[Callable[[float], FloatArray], Callable[[float], bool]]:
        """Return the log-losses by a, and whether their mean rises there."""
        codes, weight = self.codes, self.weight
        if self.kind == "ordinal":
            return (
                lambda a: ordered_log_loss(a * z, codes)[0],
                lambda a: float(weight @ ordered_log_loss(a * z, codes)[1]) > 0.0,
            )
        shared = self.kind == "multinomial"
        if z.shape[1] == 1:
            z = np.hstack([-z, z])  # their probabilities have the sum 1
        rows = np.arange(codes.size)

        def log_size(a: float) -> FloatArray:
            return np.asarray(a * z if shared else log_expit(a * z))

        def each(a: float) -> FloatArray:
            size = log_size(a)
            return np.asarray(np.logaddexp.reduce(size, axis=1) - size[rows, codes])

        def rising(a: float) -> bool:
            log_proba = log_size(a)
            log_proba -= np.logaddexp.reduce(log_proba, axis=1)[:, None]
            change = z if shared else z * expit(-a * z)
            slope = (np.exp(log_proba) * change).sum(axis=1) - change[rows, codes]
            return float(weight @ slope) > 0.0

        return each, rising


@dataclass(frozen=True, slots=True)
class OfNumbers:
    """Minus the log-likelihood l of numbers, counts or survival times, of all outputs.

        a = argmin over [0.02, 1.2] of  l(null + a (z - null)) + (a - 1)^2 / (2 PRIOR^2),

    where null are the margins of the model without features. Few samples, or events, say little
    about a, which the second term then keeps near 1.

    task : of all samples. null : (n, n_outputs).
    """

    task: Task
    null: FloatArray

    def loss(self, z: FloatArray) -> float:
        """Return minus the log-likelihood of margins as they are, infinite where it overflows."""
        task, risk, each = self.task, self.task.risk(1.0), self._each()
        by_output = (z - task.origin).T.ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            loss = each.value_gradient(by_output, risk.y, risk.weight)[0]
        if not np.isfinite(loss):
            return np.inf
        n_rows = task.n_rows * task.loss.outputs
        found = float(each.negative_log_likelihood(loss, risk.y, risk.weight, n_rows))
        # The likelihood of counts has their unit, as of rates for a person or for a million.
        of_counts = getattr(each, "variance_power", None) == 1.0
        return found * float(risk.weight.sum() / (risk.weight @ risk.y)) if of_counts else found

    def _each(self) -> Any:
        loss: Any = without_covariates(self.task.loss)
        return (loss.each if isinstance(loss, Responses) else loss).final

    def scale(self, z: FloatArray) -> tuple[float, float]:
        """Return the scale; the mean loss is of no use to probabilities: NaN."""
        beyond = z - self.null

        def objective(a: float) -> float:
            return self.loss(self.null + a * beyond) + (a - 1.0) ** 2 / (2.0 * PRIOR**2)

        values = [objective(a) for a in FACTORS]
        best = int(np.argmin(values))
        ends = FACTORS[max(best - 1, 0)], FACTORS[min(best + 1, FACTORS.size - 1)]
        found = minimize_scalar(objective, bounds=ends, method="bounded", options={"xatol": 1e-6})
        return (float(found.x) if found.fun < values[best] else float(FACTORS[best])), float("nan")


def _least(loss: Callable[[float], float], rising: Callable[[float], bool]) -> tuple[float, float]:
    """Return where in [LEAST, MOST] a loss is least, and its value there."""
    best = int(np.argmin([loss(a) for a in FACTORS]))
    low, high = FACTORS[max(best - 1, 0)], FACTORS[min(best + 1, FACTORS.size - 1)]
    if rising(low):
        high = low
    elif not rising(high):
        low = high
    for _ in range(HALVINGS if low < high else 0):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if rising(middle) else (middle, high)
    a = float(0.5 * (low + high))
    return a, loss(a)


# Choose how to select, and scale the models, by folds that repeat the whole selection.
#
# Candidates differ in C, the weight of the loss, or in the method. Each is repeated in five folds,
# all of them in lockstep, so that their scans share the same passes. The one whose models, at all
# sizes together, have the least loss on the samples that the folds hold out is the one that selects
# on all samples. One number a size then scales what its model says beyond the model without
# features (see `scale`), by the same held-out samples.
#
# Where there is one candidate, its folds run in lockstep with the fit itself. Folds of classes are
# refitted with the C of the final fit in its scale-free form, C v, v the mean variance of their
# columns; a number that the user gave is used as it is.


@dataclass(frozen=True, slots=True)
class JudgingTuning:
    """Constants of the choice by held-out losses."""

    # Sum of the weights from which calibrate="auto" leaves classes as they are.
    auto_rows: int = 1000
    equal: float = 1e-7  # of a loss, relative: less is rounding
    default: int = 2  # the place there of what selects where folds are impossible


JUDGING = JudgingTuning()
GRID = (0.001, 0.01, 0.1, 1.0, 10.0)  # of C times the mean curvature of the loss

T = TypeVar("T")


def weights_of_grid(task: Task) -> tuple[float, ...]:
    """Return the values of C that are compared, growing.

    They are relative to the mean second derivative of the loss without features, which is 1 for
    least squares, the mean count for counts and the share of events for survival times: so the unit
    of a rate, or the length of a follow-up, has no part in the choice.
    """
    risk = task.risk(1.0)
    b = risk.best(np.zeros_like(risk.weight))[0]
    bend = float(risk.majorant(np.full_like(risk.weight, b)).sum() / task.sample_weight.sum())
    return tuple(C / bend for C in GRID) if np.isfinite(bend) and bend > 0 else GRID


def judged(
    tasks: Sequence[Task],
    sizes: Sequence[int],
    candidates: Sequence[T],
    labels: np.ndarray,
    final: Callable[[T], Sequence[Solver[Path]]],
    repeat: Callable[[T, Task, tuple[Any, ...]], Solver[Path]],
    *,
    groups: IndexArray | None,
    of_classes: bool,
    scaled: bool,
    free: bool,
    seconds: dict[str, float] | None = None,
) -> Solver[list[Path]]:
    """Run the selections of all tasks by the candidate that their folds choose, and scale them.

    Where folds are impossible (one class has a single sample or group, there are fewer than 10
    different samples or events, one group, or no column varies in a fold) the first candidate
    selects, and the models stay as they are.

    Parameters
    ----------
    tasks : one for each class. sizes : what is selected.
    candidates : of which the first one is the default.
    labels : (n,) of classes, of which folds have equal shares; else the target.
    final : returns the selections of the tasks by a candidate.
    repeat : returns the selection of a task of a fold by a candidate, without a certificate; where
        `free`, of its supports only.
    groups : (n,) samples with the same number are held out together; None: each by itself.
    of_classes : whether labels are classes.
    scaled : whether the models are scaled.
    free : whether folds are refitted with C v of the final fits, instead of a C of their own.
    seconds : filled with the seconds of the folds, as "folds".
    """
    clock = PhaseClock(seconds)
    with clock.phase("folds"):
        folds = folds_of(tasks, labels, groups, of_classes=of_classes)
        if of_classes and len(candidates) > 1 and tasks[0].n_rows >= JUDGING.auto_rows:
            folds = folds[:1]  # a fifth of this many samples tells candidates apart
    if not folds:
        return (yield from together(final(candidates[0])))

    def repeats(candidate: T) -> list[Solver[Path]]:
        return [
            clock.inside("folds", repeat(candidate, task, _within(sizes, fold)))
            for fold in folds
            for task in fold.tasks
        ]

    n, single = len(tasks), len(candidates) == 1
    paths: list[Path] = []
    if single:
        found = yield from together([*final(candidates[0]), *repeats(candidates[0])])
        paths, of_folds = found[:n], found[n:]
    else:
        of_folds = yield from together([one for each in candidates for one in repeats(each)])
    with clock.phase("folds"):
        judge = _judge_of(tasks, labels, folds, of_classes)
        C: list[dict[int, float] | None] = [None] * n
        if free:
            C = [_scale_free(*one) for one in zip(tasks, paths, strict=True)]
        margins = [
            _margins(folds, of_folds[first : first + n * len(folds)], sizes, C)
            for first in range(0, len(of_folds), n * len(folds))
        ]
    best = 0
    if not single:
        losses = np.array([sum(judge.loss(z) for z in one.values()) for one in margins])
        # Candidates that select the same features in all folds differ by rounding: the first one.
        slack = JUDGING.equal * max(1.0, abs(float(losses.min())))
        best = int(np.argmax(losses <= losses.min() + slack))
        found = yield from together(final(candidates[best]))
        paths = [replace(path, n_folds=len(folds)) for path in found]
    if not scaled:
        return paths
    with clock.phase("folds"):
        scales = {k: judge.scale(z) for k, z in margins[best].items()}
        both = zip(tasks, paths, strict=True)
        return [_scaled(task, path, scales, of_classes) for task, path in both]


def _within(sizes: Sequence[int], fold: TaskFold) -> tuple[int, ...]:
    return tuple(sorted({min(k, fold.n_units) for k in sizes}))


def _held(folds: Sequence[TaskFold]) -> IndexArray:
    """Return the samples that folds hold out, sorted: all of them, unless there is one fold."""
    return np.sort(np.concatenate([fold.test for fold in folds]))


def _judge_of(
    tasks: Sequence[Task], labels: np.ndarray, folds: Sequence[TaskFold], of_classes: bool
) -> MarginJudge:
    if of_classes:
        codes, held = np.unique(labels, return_inverse=True)[1], _held(folds)
        own = tasks[0].loss
        shared = own.outputs > 1 or own.own_intercepts
        return OfClasses(codes[held], tasks[0].sample_weight[held], own.name if shared else "each")
    (task,) = tasks
    null = np.empty((len(labels), task.loss.outputs))
    for fold in folds:
        intercept, effects = without_features(fold.tasks[0])
        null[fold.test] = _covariates(fold, task) @ np.atleast_2d(effects).T + intercept
    return OfNumbers(task, null)


def _covariates(fold: TaskFold, task: Task) -> FloatArray:
    """Return the covariates of held-out samples, (n_held_out, n_covariates)."""
    if not task.covariates.size:
        return np.empty((fold.test.size, 0))
    return gather(Rows(fold.storage, fold.test), task.covariates).dense() - fold.origin


def without_features(task: Task) -> tuple[Any, FloatArray]:
    """Return the intercept of the model without features, and the effects of its covariates."""
    risk = replace(task.risk(1.0), loss=task.loss.final)
    b = risk.best(np.zeros_like(risk.weight))[0]
    intercept, effects = risk.unpenalised(np.full_like(risk.weight, b), b)
    return intercept + risk.origin, effects


def _margins(
    folds: Sequence[TaskFold],
    paths: Sequence[Path],
    sizes: Sequence[int],
    free: Sequence[dict[int, float] | None],
) -> dict[int, FloatArray]:
    """Return the margins of held-out samples, in their order, by size.

    paths : of each fold, one for each of its tasks. free : of each task, see `_held_out`.
    """
    places = [(fold, column) for fold in folds for column in range(len(free))]
    parts = [
        _held_out(fold, column, path, sizes, free[column])
        for (fold, column), path in zip(places, paths, strict=True)
    ]
    held = _held(folds)
    margins: dict[int, FloatArray] = {}
    for k in sizes:
        width = parts[0][k].shape[1]
        margins[k] = np.empty((held.size, width * len(free)))
        for (fold, column), part in zip(places, parts, strict=True):
            rows = np.searchsorted(held, fold.test)
            margins[k][rows, column * width : (column + 1) * width] = part[k]
    return margins


def _gathered(task: Task, path: Path) -> tuple[IndexArray, Columns, FloatArray]:
    """Return the features of all sizes, sorted, their columns, and the variances of these in X."""
    features = np.unique(np.concatenate([path[k].support for k in path]))
    columns = task.columns(features)
    Z = gather(task.design, columns)
    _, scale = column_scaling(task.design, columns)
    return features, Z, variances(Z, 1.0 / scale, task.sample_weight)


def _scale_free(task: Task, path: Path) -> dict[int, float]:
    """Return C v of the final fits of a path, by size."""
    features, _, variance = _gathered(task, path)
    return {
        k: path[k].refit_C
        * float(variance[task.columns(np.searchsorted(features, path[k].support))].mean())
        for k in path
    }


def _held_out(
    fold: TaskFold, column: int, path: Path, sizes: Sequence[int], free: dict[int, float] | None
) -> dict[int, FloatArray]:
    """Return the margins of the rows that a fold holds out, by size.

    column : the class. path : selected on the other rows. free : C v of the refits, None where the
    models of the path are these.
    """
    task = fold.tasks[column]
    features, Z, variance = _gathered(task, path)
    outside = gather(Rows(fold.storage, fold.test), features)
    beside = _covariates(fold, task)
    margins: dict[int, FloatArray] = {}
    for k in sizes:
        model = path[min(k, fold.n_units)]
        place = np.searchsorted(features, model.support)
        coef, intercept, effects = model.coef, model.intercept, model.effects
        if free is not None:
            columns = task.columns(place)
            C = free[k] / float(variance[columns].mean())
            support = task.columns(model.support)
            fit = refit_support(task, Z.take(columns), support, C, chosen=True)
            coef, intercept, effects = task.by_output(fit.coef), fit.intercept, fit.effects
        scores = outside.take(place).times(coef.T)
        if fold.has_origin:  # sparse columns are not centred
            weight, own = task.sample_weight, task.columns(place)
            training = Z.take(own).times(coef / column_scaling(task.design, model.support)[1])
            scores = scores - weight @ training / weight.sum()
        if beside.size:
            scores = scores + beside @ effects.T
        margins[k] = scores.reshape(len(fold.test), -1) + intercept
    return margins


def _scaled(
    task: Task, path: Path, scales: dict[int, tuple[float, float]], of_classes: bool
) -> Path:
    """Return the path with its models scaled; scales: the number and the log-loss, by size."""
    models = {}
    for k in path:
        a, loss = scales[k]
        model = path[k]
        intercept, effects = a * model.intercept, a * model.effects
        if not of_classes:
            intercept, effects = _beside(task, a * model.coef, model.support)
        models[k] = replace(
            model, coef=a * model.coef, intercept=intercept, effects=effects,
            scale=a, cv_log_loss=loss,
        )  # fmt: skip
    return replace(path, selections=models)


def _beside(task: Task, coef: FloatArray, support: IndexArray) -> tuple[Any, FloatArray]:
    """Return the best intercept and effects of covariates next to coefficients of X."""
    columns = task.columns(support)
    mean, scale = column_scaling(task.design, columns)
    Z, by_column = gather(task.design, columns), coef.T.ravel()
    z = Z.times(by_column / scale)
    risk = replace(task.risk(1.0), loss=task.loss.final)
    b = risk.best(z)[0]
    intercept, effects = risk.unpenalised(z + b, b)
    # X = mean + Z / scale, so that the means are a part of the intercept, of each output its own.
    of_means = (mean * by_column).reshape(support.size, -1).sum(axis=0)
    return intercept + risk.origin - (of_means if coef.ndim > 1 else float(of_means[0])), effects
