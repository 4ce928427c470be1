"""The folds of a cross-validation: rows to train on and rows held out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state

from ..core import validation as validate
from ..core.errors import Message, Parameter, ParameterError
from ..core.messages import span
from ..core.results import Path
from ..core.types import FloatArray, IndexArray
from ..measures import Measure, macro_average
from ..solvers import Progress, run_together
from ..solvers.driver import Solver
from ..solvers.folds import folds_of_groups, members
from .problem import Problem, TrainingData
from .sizes import has_automatic

RULES = ("1se", "best")
EQUAL = 1e-9  # scores that near are equal: integer weights choose as repeated rows do


def splits(
    labels: np.ndarray,
    weight: FloatArray,
    cv: Any,
    random_state: int | None,
    several: bool = False,
    stratify: bool = True,
    groups: IndexArray | None = None,
) -> list[tuple[IndexArray, IndexArray]]:
    """Return (train, test) row numbers of every fold, without the rows of weight 0.

    cv : number of folds; a splitter, or pairs of row numbers, of all rows.
    several : whether one fold is too few: a standard error needs two.
    stratify : whether a number of folds have the classes in equal shares.
    groups : (n,) rows with the same number are held out together; None: each by itself.
    """
    used = np.flatnonzero(weight > 0)
    if validate.is_integer(cv):
        strata = labels[used] if stratify else None
        if groups is None:
            drawn = _folds(strata, used.size, cv, random_state)
        else:
            drawn = _folds_together(strata, groups[used], weight[used], cv, random_state)
        return [(used[train], used[test]) for train, test in drawn]
    pairs: Any = cv
    if hasattr(cv, "split") and not isinstance(cv, (str, bytes, type)):
        pairs = _split(cv, labels, groups)
    elif isinstance(cv, (str, bytes, dict, set)) or not isinstance(cv, Iterable):
        raise ParameterError(
            "cv",
            "must be a number of folds, a splitter or splits",
            validate.shown(cv),
            "Splits are (train, test) pairs of row numbers.",
        )
    folds = [
        (train[weight[train] > 0], test[weight[test] > 0])
        for train, test in validate.check_splits(pairs, len(labels))
    ]
    for number, (train, test) in enumerate(folds):
        for rows, deed in ((train, "leave"), (test, "hold out")):
            if not rows.size:
                raise ParameterError(
                    "cv",
                    f"must {deed} a row of positive weight in every fold; fold {number} has none",
                )
    if several and len(folds) < 2:
        raise ParameterError("cv", "must have at least two folds", str(len(folds)))
    if groups is not None:
        validate.check_together(folds, groups, validate.shown(cv))
    return folds


def _split(splitter: Any, labels: np.ndarray, groups: IndexArray | None) -> Any:
    """Return the (train, test) pairs of a splitter."""
    given = [] if "groups" not in signature(splitter.split).parameters else [groups]
    try:
        with warnings.catch_warnings():  # of groups that folds pass over, which is checked
            warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
            return list(splitter.split(np.zeros(len(labels)), labels, *given))
    except ValueError as error:
        if groups is not None or "groups" not in str(error):
            raise
        raise ValueError(
            f"cv={validate.shown(splitter)} needs the group of every sample; got none. Pass "
            "groups=, a label for every sample, or another cv."
        ) from error


def _folds_together(
    labels: np.ndarray | None,
    groups: IndexArray,
    weight: FloatArray,
    cv: Any,
    random_state: int | None,
) -> list[tuple[IndexArray, IndexArray]]:
    """Return (train, test) row numbers of folds of whole groups."""
    most, of = int(np.unique(groups).size), "the groups of samples of positive weight"
    if labels is not None:
        classes, counts = members(labels, groups)
        label, fewest = validate.plain(classes[counts.argmin()]), int(counts.min())
        if fewest < 2:
            raise ParameterError(
                "cv",
                f"needs every class in at least two groups; all samples of class {label!r} are "
                "in one",
                "",
                "Leave that class out, or pass splits.",
            )
        if fewest < most:
            most, of = fewest, f"the groups that have a sample of class {label!r}"
    if most < 2:
        raise ParameterError("cv", "needs at least two groups of samples", f"{most}")
    if not 2 <= cv <= most:
        raise ParameterError("cv", f"must be {span(2, most)} ({of})", validate.shown(cv))
    shuffle = check_random_state(random_state).permutation
    number = folds_of_groups(groups, weight, int(cv), labels, shuffle)
    if labels is not None and members(labels, number)[1].min() < 2:
        raise ParameterError(
            "cv",
            f"must leave samples of every class for training; no {cv} folds of whole groups do",
            "",
            "Use fewer folds, or pass splits.",
        )
    return [(np.flatnonzero(number != one), np.flatnonzero(number == one)) for one in range(cv)]


def _folds(
    labels: np.ndarray | None, n: int, cv: Any, random_state: int | None
) -> list[tuple[IndexArray, IndexArray]]:
    """Return (train, test) row numbers of folds of n rows, stratified where there are labels."""
    if labels is None:
        if n < 2:
            raise ParameterError("cv", "needs at least two rows of positive weight", str(n))
        if not 2 <= cv <= n:
            raise ParameterError(
                "cv", f"must be {span(2, n)} (the rows of positive weight)", validate.shown(cv)
            )
        return list(KFold(int(cv), shuffle=True, random_state=random_state).split(np.zeros(n)))
    classes, counts = np.unique(labels, return_counts=True)
    smallest, most = validate.plain(classes[counts.argmin()]), int(counts.min())
    if most < 2:
        raise ParameterError(
            "cv",
            "needs at least two rows (of positive weight) of every class",
            f"1 sample of class {smallest!r}",
            "Leave that class out, or pass splits.",
        )
    if not 2 <= cv <= most:
        raise ParameterError(
            "cv", f"must be {span(2, most)} (the rows of class {smallest!r})", validate.shown(cv)
        )
    splitter = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
    return list(splitter.split(np.zeros(n), labels))


def check_fold(
    number: int, classes: np.ndarray, train: np.ndarray, test: np.ndarray, scoring: str | None
) -> None:
    """Raise where a fold, by its labels, has nothing to learn from or to score."""
    if scoring == "auc" and classes.size > 2:
        raise ValueError(
            Message(
                Parameter.of("scoring", "auc"),
                f" needs two classes; got {classes.size}. Use ",
                Parameter.of("scoring", "log_loss"),
                ".",
            )
        )
    missing = np.setdiff1d(classes, train)
    if missing.size:
        raise ParameterError(
            "cv",
            f"must leave rows of every class (of positive weight) for training; fold {number} "
            f"has none of class {validate.plain(missing[0])!r}",
        )
    if scoring == "auc" and len(np.unique(test)) < 2:
        raise ValueError(
            Message(
                Parameter.of("scoring", "auc"),
                f" needs held-out rows of both classes; those of fold {number} are all of one. Use "
                "fewer folds, or ",
                Parameter.of("scoring", "log_loss"),
                ".",
            )
        )


def check_folds(
    measure: Measure,
    labels: np.ndarray,
    weight: FloatArray,
    folds: Sequence[tuple[IndexArray, IndexArray]],
    classes: Sequence[np.ndarray],
) -> None:
    """Raise ValueError where a measure cannot score all rows, or those held out of a fold.

    classes : of every fold, the positive one of two last.
    """

    def score(rows: IndexArray, classes: np.ndarray) -> None:
        equal = np.zeros((rows.size, 1 if len(classes) == 2 else len(classes)))
        macro_average(measure, equal, labels[rows], classes, weight[rows])

    score(np.flatnonzero(weight > 0), classes[0])
    for number, (_, test) in enumerate(folds):
        try:
            score(test, classes[number])
        except ValueError as error:
            rows = (
                f" These are the {test.size} held-out rows of fold {number}: use fewer folds, or "
                "another measure."
            )
            raise ValueError(Message(error, rows)) from None


def repeats_of(tests: Sequence[IndexArray]) -> float:
    """Return how often a row that is held out at all is held out, in the mean."""
    rows = np.concatenate(tests)
    return rows.size / np.unique(rows).size


def best_and_near(mean: FloatArray, error: FloatArray) -> tuple[int, int]:
    """Return the first of the best means, and the first within one standard error of it.

    mean, error : (n_models,), the larger the better; models from the smallest one on.
    """
    best = int(np.argmax(mean >= mean.max() - EQUAL))
    return best, int(np.argmax(mean >= mean[best] - error[best] - EQUAL))


# The selections of all folds of a cross-validation, solved in the same passes over X.


class FoldError(ValueError):
    """The training rows of a fold have no model, for which the cause says why."""


@contextmanager
def named_fold(number: int) -> Iterator[None]:
    """Let errors say in the training rows of which fold they are."""
    try:
        yield
    except ValueError as error:
        raise FoldError(Message(error, f" (In the training rows of fold {number}.)")) from error


@dataclass(frozen=True, slots=True)
class Folded:
    """The problems of an estimator on the training rows of every fold, with the same sizes."""

    estimator: Any
    data: TrainingData  # all rows, those of weight 0 too
    folds: list[tuple[IndexArray, IndexArray]]  # (train, test), without rows of weight 0
    problems: list[Problem]

    @classmethod
    def pose(
        cls, estimator: Any, data: TrainingData, folds: list[tuple[IndexArray, IndexArray]]
    ) -> Folded:
        """Pose the problems; sizes that no fold could have are an error, or left out of "auto"."""
        known = estimator._sizes_of_folds(data.rows(np.flatnonzero(data.sample_weight > 0)))
        problems = []
        for number, (train, _) in enumerate(folds):
            with named_fold(number):
                problems.append(estimator._pose(data.rows(train), known))
        sizes = problems[0].sizes
        if estimator.n_features is None:  # the default follows the usable columns of a fold
            sizes = min(problem.sizes for problem in problems)
        elif has_automatic(estimator) and not isinstance(sizes[0], tuple):
            units = [task.units.usable for one in problems for task in one.tasks]
            most = min(int(np.count_nonzero(usable)) for usable in units)
            sizes = tuple(k for k in sizes if k <= most) or sizes[:1]
        return cls(estimator, data, folds, [replace(one, sizes=sizes) for one in problems])

    @property
    def sizes(self) -> tuple[Any, ...]:
        """What is selected in every fold."""
        return self.problems[0].sizes

    def solvers(self) -> list[Solver[list[Path]]]:
        """Return the generators of scans of all folds, each of the paths of its classes."""
        return [problem.solver(certify=False) for problem in self.problems]

    def rows(self) -> dict[str, IndexArray]:
        """Return what a checkpoint tells the folds apart by."""
        return {f"fold {i}": np.concatenate(fold) for i, fold in enumerate(self.folds)}

    def run(self, callback: Callable[[Progress], None] | None = None) -> list[list[Path]]:
        """Return the paths of every fold, of its classes."""
        identity = self.estimator._identity(self.data, **self.rows())
        threads = self.estimator.n_threads
        return run_together(self.solvers(), callback, threads, identity)


# Samples that belong together: whole groups of rows as folds, as halves, in other orders.


def order_of_groups(
    groups: IndexArray, of_row: list[IndexArray], generator: np.random.Generator
) -> tuple[IndexArray, bool]:
    """Return whose labels every row gets where groups are exchanged, (n,), and how.

    Where the rows of each group are alike, a group gets those of any other, and the second is True;
    else those of a group with as many rows, in a random order.

    of_row : numbers of what a row has, each (n,).
    """
    order = np.argsort(groups, kind="stable")
    counts = np.unique(groups, return_counts=True)[1]
    starts = np.cumsum(counts) - counts
    first = np.repeat(order[starts], counts)  # a row of the group of each, in that order
    if all((one[order] == one[first]).all() for one in of_row):
        source = order[starts][generator.permutation(counts.size)]
        found = np.empty_like(order)
        found[order] = np.repeat(source, counts)
        return found, True
    found = np.empty_like(order)
    for size in np.unique(counts):
        blocks = order[starts[counts == size][:, None] + np.arange(size)]
        moved = blocks[generator.permutation(len(blocks))]
        found[blocks] = generator.permuted(moved, axis=1)
    return found, False


def kinds_of_groups(
    strata: np.ndarray, groups: IndexArray
) -> tuple[np.ndarray, IndexArray, IndexArray]:
    """Return the classes, the kind of every group, and the number of the group of every row.

    The kind of a group is the number of the class of all its rows; of groups with rows of several
    classes, the number of classes.
    """
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    classes, code = np.unique(strata, return_inverse=True)
    kinds = code[first]
    kinds[number[code != kinds[number]]] = classes.size
    return classes, kinds.astype(np.int64), number.astype(np.int64)
