"""Probabilities that hold: the margins of a final fit times one number, fitted out of fold.

The final fit knows nothing of the selection before it, and a leave-one-out loss that does not
repeat the selection does not show it: on few rows its margins are too large. Here the whole
selection is repeated in F folds, in lockstep with the fit itself, so that their scans share its
passes. With z_i the margin of row i under the model of the fold that holds it out,

    a = argmin over [0.02, 1.2] of  sum_i s_i log(1 + exp(-y_i a z_i)),

one number for every size. Several classes share it, so that no decision changes: it minimises the
log-loss of their probabilities, which are those of each class against the others divided by their
sum, or of a model of all classes the multinomial or the ordinal ones. The models of the folds are
refitted with the C of the final fit in its scale-free form, C v, v the mean variance of their
columns; a number that the user gave is used as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, log_expit

from ..._together import folds_of_groups, members
from ..._typing import Columns, Design, FloatArray, IndexArray
from ...designs import Rows
from ...designs._columns import gather
from ...designs._filled import filled_over
from ...designs._operations import column_scaling, multiply, unscaled
from ...losses._ordinal import ordered_log_loss
from ...result import Path
from ..clock import PhaseClock
from ..drive import Solver, together
from ..pool.refit import variances
from ..task import Task
from ..ties import EQUAL_ROWS
from .finish import refit_support

AUTO_ROWS = 1000  # sum of the weights from which calibrate="auto" leaves the final fit as it is
FOLDS = 5
LEAST, MOST = 0.02, 1.2  # of the scale
GRID = np.geomspace(LEAST, MOST, 16)  # of several classes the loss need not be convex
HALVINGS = 40  # of an interval of the grid: to the last bits


@dataclass(frozen=True, slots=True)
class _Fold:
    """The problems of all classes on the rows of a fold, and the rows that it holds out."""

    tasks: list[Task]
    storage: Design  # of all rows, on the scaling of the user
    test: IndexArray
    n_units: int  # what can be selected: columns that are constant in the fold cannot


def calibrated(
    selections: Sequence[Solver[Path]],
    tasks: Sequence[Task],
    sizes: Sequence[int],
    labels: np.ndarray,
    select: Callable[[Task, Sequence[int]], Solver[Path]],
    refit_C: float | str | None,
    seconds: dict[str, float] | None = None,
    groups: IndexArray | None = None,
) -> Solver[list[Path]]:
    """Run the selections of all classes, and scale their models by what their folds show.

    Where a class has a single row (equal rows count as one) or is in a single group, or where the
    columns of a fold are constant, there is nothing to learn: the models stay as they are.

    Parameters
    ----------
    selections : of the tasks, one for each class.
    sizes : what they select.
    labels : (n,) of the classes; the folds have equal shares of each.
    select : returns the selection of so many features for a task: the same procedure.
    refit_C : of the selections. Where it is "loo", only the supports of `select` are used.
    seconds : filled with the seconds of the folds, as "calibrate".
    groups : (n,) rows with the same number are held out together; None: each by itself.
    """
    clock = PhaseClock(seconds)
    with clock.phase("calibrate"):
        folds = _folds(tasks, labels, groups)
    if not folds or min(fold.n_units for fold in folds) == 0:
        return (yield from together(selections))
    repeated = [
        clock.inside("calibrate", select(task, sorted({min(k, fold.n_units) for k in sizes})))
        for fold in folds
        for task in fold.tasks
    ]
    repeats = yield from together([*selections, *repeated])
    n = len(tasks)
    paths, of_folds = repeats[:n], repeats[n:]
    with clock.phase("calibrate"):
        # A model has a score for each output, or for each threshold between ordered classes.
        width = int(np.size(paths[0][sizes[0]].intercept))
        z = {k: np.empty((labels.size, n * width)) for k in sizes}
        for column, (task, path) in enumerate(zip(tasks, paths, strict=True)):
            free = _scale_free(task, path) if refit_C == "loo" else None
            for number, fold in enumerate(folds):
                margins = _held_out(fold, column, of_folds[number * n + column], sizes, free)
                for k in sizes:
                    z[k][fold.test, column : column + width] = margins[k]
        codes = np.unique(labels, return_inverse=True)[1]
        weight = tasks[0].sample_weight[: labels.size]
        kind = tasks[0].loss.name if width > 1 else "each"
        found = {k: best_scale(z[k], codes, weight, kind) for k in sizes}
        return [_scaled(path, found) for path in paths]


def best_scale(
    z: FloatArray, codes: IndexArray, weight: FloatArray, kind: str = "each"
) -> tuple[float, float]:
    """Return the number in [LEAST, MOST] by which margins have the least log-loss, and that mean.

    z : (n, 1) margins of the second of two classes, (n, n_classes) of each against the others, or
        of ordered classes (n, n_classes - 1) at the thresholds.
    codes : (n,) the class of each row. weight : (n,).
    kind : "each", or the loss of a model of all classes: "multinomial" or "ordinal".
    """
    if kind == "ordinal":
        return _least(*_ordered_log_loss(z, codes, weight))
    return _least(*_log_loss(z, codes, weight, shared=kind == "multinomial"))


def _ordered_log_loss(
    z: FloatArray, codes: IndexArray, weight: FloatArray
) -> tuple[Callable[[float], float], Callable[[float], bool]]:
    """Return the mean log-loss of ordered classes by a, and whether it rises there."""
    total = float(weight.sum())
    return (
        lambda a: float(weight @ ordered_log_loss(a * z, codes)[0]) / total,
        lambda a: float(weight @ ordered_log_loss(a * z, codes)[1]) > 0.0,
    )


def _log_loss(
    z: FloatArray, codes: IndexArray, weight: FloatArray, *, shared: bool
) -> tuple[Callable[[float], float], Callable[[float], bool]]:
    """Return the mean log-loss of classes by a, and whether it rises there."""
    if z.shape[1] == 1:
        z = np.hstack([-z, z])  # their probabilities have the sum 1
    rows = np.arange(codes.size)
    total = float(weight.sum())

    def log_size(a: float) -> FloatArray:
        return np.asarray(a * z if shared else log_expit(a * z))

    def loss(a: float) -> float:
        size = log_size(a)
        total_of_classes = np.logaddexp.reduce(size, axis=1)
        return float(weight @ (total_of_classes - size[rows, codes])) / total

    def rising(a: float) -> bool:
        log_proba = log_size(a)
        log_proba -= np.logaddexp.reduce(log_proba, axis=1)[:, None]
        change = z if shared else z * expit(-a * z)
        slope = (np.exp(log_proba) * change).sum(axis=1) - change[rows, codes]
        return float(weight @ slope) > 0.0

    return loss, rising


def _least(loss: Callable[[float], float], rising: Callable[[float], bool]) -> tuple[float, float]:
    """Return where in [LEAST, MOST] a loss is least, and its value there."""
    best = int(np.argmin([loss(a) for a in GRID]))
    low, high = GRID[max(best - 1, 0)], GRID[min(best + 1, GRID.size - 1)]
    if rising(low):
        high = low
    elif not rising(high):
        low = high
    for _ in range(HALVINGS if low < high else 0):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if rising(middle) else (middle, high)
    a = float(0.5 * (low + high))
    return a, loss(a)


def fold_numbers(place: FloatArray, labels: np.ndarray) -> IndexArray:
    """Return the fold, from 0, that holds each row out, (n,); 0 for all where there can be none.

    Stratified: the different rows of a class, in the order of their places, go to the folds in
    turn. There are FOLDS folds, fewer where a class has fewer rows.

    place : (n,) a number for every row, the same for equal rows.
    """
    codes = np.unique(labels, return_inverse=True)[1]
    order = np.lexsort((place, codes))
    new = np.diff(place[order], prepend=-np.inf) > EQUAL_ROWS * np.abs(place).max()
    new |= np.diff(codes[order], prepend=-1) > 0
    number = np.empty(order.size, np.int64)
    number[order] = np.cumsum(new) - 1
    fewest = int(np.bincount(codes[order[new]]).min())
    return number % min(FOLDS, fewest) if fewest > 1 else np.zeros_like(number)


def fold_numbers_of_groups(
    groups: IndexArray, labels: np.ndarray, weight: FloatArray
) -> IndexArray:
    """Return the same where rows with the same number in `groups` are held out together.

    There are fewer than FOLDS folds where a class is in fewer groups. 0 for all rows where a class
    is in a single group, or where all groups with it are in one fold.
    """
    fewest = int(members(labels, groups)[1].min())
    if fewest < 2:
        return np.zeros(labels.size, np.int64)
    number = folds_of_groups(groups, weight, min(FOLDS, fewest), labels)
    learnt = int(members(labels, number)[1].min()) > 1
    return number if learnt else np.zeros_like(number)


def _folds(tasks: Sequence[Task], labels: np.ndarray, groups: IndexArray | None) -> list[_Fold]:
    """Return the folds of the rows; none where a class has a single row, or is in a single group.

    Equal rows of a class are in one fold: a weight of 2 says the same as a row that is there twice,
    and of a row that was drawn twice no copy is held out beside the other.
    """
    task = tasks[0]
    storage, scale = unscaled(task.design_of_features)
    if groups is None:
        # The legacy generator, whose numbers are the same in every version of NumPy.
        direction = np.random.RandomState(0).uniform(-1.0, 1.0, scale.size)
        number = fold_numbers(multiply(storage, direction * scale), labels)
    else:
        number = fold_numbers_of_groups(groups, labels, task.sample_weight[: labels.size])
    folds: list[_Fold] = []
    for f in range(int(number.max()) + 1 if number.any() else 0):
        held_out = number == f
        train = np.flatnonzero(~held_out)
        # What classes share is made once: the scales cost a pass over X.
        first = task.rows(train)
        own = task.places(train)
        folds.append(
            _Fold(
                [replace(first, y=other.y[own]) for other in tasks],
                filled_over(storage, train),
                np.flatnonzero(held_out),
                int(first.units.usable.sum()),
            )
        )
    return folds


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
    fold: _Fold, column: int, path: Path, sizes: Sequence[int], free: dict[int, float] | None
) -> dict[int, FloatArray]:
    """Return the margins of the rows that a fold holds out, by size.

    column : the class. path : selected on the other rows. free : C v of the refits, None where the
    models of the path are these.
    """
    task = fold.tasks[column]
    features, Z, variance = _gathered(task, path)
    outside = gather(Rows(fold.storage, fold.test), features)
    beside = np.empty((fold.test.size, 0))
    if task.covariates.size:
        beside = gather(Rows(fold.storage, fold.test), task.covariates).dense()
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
        if task.covariates.size:
            scores = scores + beside @ effects.T
        margins[k] = scores.reshape(len(fold.test), -1) + intercept
    return margins


def _scaled(path: Path, found: dict[int, tuple[float, float]]) -> Path:
    """Return the path with its models scaled; found: the scale and the log-loss, by size."""
    models = {}
    for k in path:
        a, loss = found[k]
        model = path[k]
        models[k] = replace(
            model, coef=a * model.coef, intercept=a * model.intercept, effects=a * model.effects,
            scale=a, cv_log_loss=loss,
        )  # fmt: skip
    return replace(path, selections=models)
