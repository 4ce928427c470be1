"""Folds that repeat a selection, within a fit: which samples each holds out.

Equal samples are in one fold: a weight of 2 says the same as a sample that is there twice, and of a
sample that was drawn twice no copy is held out next to the other. Nothing depends on the order of
the samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.types import Design, FloatArray, IndexArray
from ...data.columns import gather
from ...data.filled import filled_over
from ...data.operations import multiply, unscaled
from ...losses import Cox, without_covariates
from ..task import Task
from ..ties import EQUAL_ROWS


@dataclass(frozen=True, slots=True)
class FoldsTuning:
    """Constants, each with what it was measured for."""

    folds: int = 5
    least_samples: int = 10  # different samples, or events, that numbers and times need for folds
    share: float = 1e12  # the unit of shares that are compared: a class as a whole
    equal: float = (
        1e-9  # folds that differ by less are equal: integer weights count as repeated rows
    )


FOLDS = FoldsTuning()


@dataclass(frozen=True, slots=True)
class Fold:
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
) -> list[Fold]:
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
    folds: list[Fold] = []
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
            Fold(
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
    return number % min(FOLDS.folds, fewest) if fewest > 1 else np.zeros_like(number)


def fold_numbers_of_groups(
    groups: IndexArray, labels: np.ndarray, weight: FloatArray
) -> IndexArray:
    """Return the same where samples with the same number in `groups` are held out together.

    There are fewer than FOLDS folds where a class is in fewer groups. 0 for all samples where a
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
    of their times, and then the others. Fewer than LEAST_SAMPLES samples, or events, have no folds.

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
