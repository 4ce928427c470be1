"""Whether the penalty of a selection costs accuracy: its folds again, at larger C.

C weighs the summed loss of all rows while features are chosen. The final fit has a C of its own, so
that a strong penalty shows in which features are chosen, and not in how large coefficients are.
Where columns are nearly collinear, as channels of spectra are, the features that only say much
together are the ones that it prevents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor

from ._folds import repeats_of
from ._threads import one_blas_thread
from ._typing import FloatArray
from .estimators._folded import Folded
from .methods import Pool
from .model_selection import Validation, fold_models
from .result import Path
from .solvers import is_penalised, reselect

FACTORS = (10.0, 100.0)  # C times these is looked at
ERRORS = 2.0  # standard errors that a fall must exceed
FEW = 1_000_000  # entries of X up to which whole selections are repeated
LEAST = 0.05  # A share of the loss below this is not worth another selection.


@dataclass(frozen=True, slots=True)
class WeakerPenalty:
    """A larger C whose features predict held-out rows better.

    With l_i the loss of a held-out row by the selection as it is, m_i at the larger C, d = l - m,

        fall = sum_i s_i d_i / sum_i s_i l_i,

    and `error` is the standard error of that over the rows, all l being given.
    """

    C: float
    score: float  # the mean over the folds of their score at C
    score_before: float  # and as it is
    fall: float
    error: float


def weaker_penalty(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    sample_weight: Any = None,
    offset: Any = None,
    groups: Any = None,
    random_state: int | None = 0,
) -> WeakerPenalty | None:
    """Say whether a larger C selects features that predict held-out rows better; None: it does not.

    In every fold the selection is repeated at 10 C and 100 C, on its training rows, and predicts
    the held-out rows. Where X has more than a million entries only elimination and splicing are,
    among the candidates that the fold has found, so that X is not scanned again. The value of the
    least loss is told where the fall of the loss is

        more than twice its standard error, and at least 0.05 of the loss,

    and the score is above 0, that of a constant. So no row has a part in the choice of features
    that predict it. Of the model at that C nothing is known but this: it is to be selected.

    The loss of a row is the squared error where the score is R^2, else half the deviance. Where the
    ridge shrinks no combination of the candidates by 0.05, nothing is compared, as larger C have
    nothing to change. Nothing is told of classes, where the same comparison of log-losses predicts
    new rows no better, nor of survival times, whose loss is not one of rows.

    Parameters
    ----------
    estimator : a regressor with a budget of one size, by method "pool"
    X, y, sample_weight, offset : as for its `fit`
    cv, groups, random_state : of the folds, as of `cross_validate`

    Raises
    ------
    TypeError
        Where the estimator is another one.
    ValueError
        As by `cross_validate`.

    Source
    ------
    `benchmarks/weaker_penalty.py`: its rule was written down before 38 of its sets were fitted at a
    larger C. That whole selections are repeated was decided after, and ten further sets had no part
    in either.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import BudgetRegressor
    >>> from zeronorm.weaker_penalty import weaker_penalty
    >>> rng = np.random.default_rng(0)
    >>> level = rng.normal(size=100)
    >>> X = level[:, None] + 0.1 * rng.normal(size=(100, 20))
    >>> y = X[:, 3] - X[:, 11] + 0.01 * rng.normal(size=100)
    >>> found = weaker_penalty(BudgetRegressor(2, C=1e-3), X, y)
    >>> found.C
    0.1
    """
    refusal = (
        "estimator must be a BudgetRegressor of one size that selects by method 'pool'; got "
        f"{estimator!r:.80}."
    )
    if not is_compared(estimator):
        raise TypeError(refusal)
    posed, paths = fold_models(
        estimator, X, y, cv=cv, sample_weight=sample_weight, offset=offset, groups=groups,
        random_state=random_state,
    )  # fmt: skip
    if len(posed.folded.sizes) > 1:
        raise TypeError(refusal)
    return of_folds(posed, paths, posed.folded.sizes[0])


def is_compared(estimator: Any) -> bool:
    """Return whether a larger C can be looked at: of numbers, and of candidates in a pool."""
    if not (is_regressor(estimator) and hasattr(estimator, "_plan")):
        return False
    plan = estimator._plan()
    loss = plan.loss
    known = estimator._score_name == "r2" or loss.variance_power is not None
    return known and isinstance(plan.method, Pool) and plan.refit_C is not None


@one_blas_thread
def of_folds(posed: Validation, paths: Sequence[list[Path]], size: Any) -> WeakerPenalty | None:
    """Return what `weaker_penalty` does, of a size of a cross-validation and its models."""
    estimator, folded = posed.judge.estimator, posed.folded
    plan = estimator._plan()
    tasks = [problem.tasks[0] for problem in folded.problems]
    pools = [own[0] for own in paths]
    if not any(map(partial(is_penalised, C=plan.C, least=LEAST), tasks, pools)):
        return None
    losses, weight, before = _held_out(posed, paths, size)
    total = float(weight @ losses)
    if not 0 < total < np.inf:  # all rows are predicted without an error, or one is far off
        return None
    repeats = repeats_of([test for _, test in folded.folds])
    best: WeakerPenalty | None = None
    for C in (factor * plan.C for factor in FACTORS):
        if np.prod(folded.data.design.shape) <= FEW:
            again = Folded.pose(clone(estimator).set_params(C=C), folded.data, folded.folds).run()
        else:
            again = [
                [replace(pool, selections={size: reselect(task, pool, size, C, plan.refit_C)})]
                for task, pool in zip(tasks, pools, strict=True)
            ]
        found, _, score = _held_out(posed, again, size)
        if not np.isfinite(found).all():
            continue
        gain = losses - found
        fall = float(weight @ gain) / total
        spread = weight * (gain - float(weight @ gain) / float(weight.sum()))
        error = float(np.sqrt(repeats * (spread @ spread))) / total
        told = fall > ERRORS * error and fall >= LEAST and score > 0
        if told and (best is None or fall > best.fall):
            best = WeakerPenalty(C, score, before, fall, error)
    return best


def _held_out(
    posed: Validation, paths: Sequence[list[Path]], size: Any
) -> tuple[FloatArray, FloatArray, float]:
    """Return the losses of all held-out rows, their weights, and the mean score of the folds."""
    judge = posed.judge
    loss, squared = judge.estimator._loss(), judge.estimator._score_name == "r2"
    losses, weights, scores = [], [], []
    for number, own in enumerate(paths):
        fold = posed.held_out(number, own)
        z = judge.scores_of(fold, size)
        scores.append(judge.score(z, fold))
        moved = z if fold.offset is None else z + fold.offset[:, None]
        y = fold.labels.reshape(len(moved), -1)
        with np.errstate(over="ignore", invalid="ignore"):  # of rates far off
            of_row = (y - loss.mean(moved)) ** 2 if squared else loss.of_rows(moved, y)[0]
        losses.append(np.sum(of_row, axis=1))
        weights.append(fold.weight)
    return np.concatenate(losses), np.concatenate(weights), float(np.mean(scores))


__all__ = ["WeakerPenalty", "weaker_penalty"]
