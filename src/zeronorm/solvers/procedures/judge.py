"""Choose how to select, and scale the models, by folds that repeat the whole selection.

Candidates differ in C, the weight of the loss, or in the method. Each is repeated in five folds,
all of them in lockstep, so that their scans share the same passes. The one whose models, at all
sizes together, have the least loss on the samples that the folds hold out is the one that selects
on all samples. One number a size then scales what its model says beyond the model without features
(see `scale`), by the same held-out samples.

Where there is one candidate, its folds run in lockstep with the fit itself. Folds of classes are
refitted with the C of the final fit in its scale-free form, C v, v the mean variance of their
columns; a number that the user gave is used as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ...core.results import Path
from ...core.types import Columns, FloatArray, IndexArray
from ...data import Rows
from ...data.columns import gather
from ...data.operations import column_scaling
from ..clock import PhaseClock
from ..drive import Solver, together
from ..pool.refit import variances
from ..task import Task
from .finish import refit_support
from .folds import Fold, folds_of
from .scale import Judge, OfClasses, OfNumbers


@dataclass(frozen=True, slots=True)
class JudgingTuning:
    """Constants, each with what it was measured for."""

    auto_rows: int = (
        1000  # sum of the weights from which calibrate="auto" leaves classes as they are
    )
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


def _within(sizes: Sequence[int], fold: Fold) -> tuple[int, ...]:
    """Return the sizes that a fold can have."""
    return tuple(sorted({min(k, fold.n_units) for k in sizes}))


def _held(folds: Sequence[Fold]) -> IndexArray:
    """Return the samples that folds hold out, sorted: all of them, unless there is one fold."""
    return np.sort(np.concatenate([fold.test for fold in folds]))


def _judge_of(
    tasks: Sequence[Task], labels: np.ndarray, folds: Sequence[Fold], of_classes: bool
) -> Judge:
    """Return what judges the margins of held-out samples."""
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


def _covariates(fold: Fold, task: Task) -> FloatArray:
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
    folds: Sequence[Fold],
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
    fold: Fold, column: int, path: Path, sizes: Sequence[int], free: dict[int, float] | None
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
