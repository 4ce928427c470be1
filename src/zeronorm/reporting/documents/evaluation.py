"""How good predictions are on labelled rows, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ...core.types import FloatArray
from ...estimators.held_out import auc_of_classes, balanced_accuracy
from ...measures import Measure, macro_average
from ...persistence import finite_or_none
from ..records import ClassScores, Interval, ResponseScores, Score

RESAMPLES = 200
_WORK = 2e8  # comparisons or additions that all resamples of a score may take, about

# The score of some predictions, by the weights of their rows, (n,).
Scored: TypeAlias = Callable[[FloatArray], float]
Scores: TypeAlias = Mapping[str, Scored]


def scores_of_classes(
    labels: np.ndarray,
    predicted: np.ndarray,
    proba: FloatArray | None,
    classes: np.ndarray,
    decision: FloatArray,
    measure: Measure | None = None,
    positive: Any = None,
) -> Scores:
    """Return the scores of a classifier: accuracy, AUC, log-loss, Brier score and its measure.

    Parameters
    ----------
    labels, predicted : (n,)
    proba : (n, n_classes), in the order of `classes`, which are sorted; None where there are none
    decision : (n, 1) or (n, n_classes), what orders the rows by each class
    measure : what the model was trained for; positive : of two classes the one that it counts,
        None: the second
    """  # fmt: skip
    scores: dict[str, Scored] = {
        "accuracy": _mean_of((labels == predicted).astype(float)),
        "balanced_accuracy": lambda w: balanced_accuracy(predicted, labels, w),
        "auc": lambda w: auc_of_classes(decision, labels, classes, w),
    }
    if proba is not None:
        hot = labels[:, None] == classes
        with np.errstate(divide="ignore"):
            losses = -np.log(proba[hot.nonzero()])
        # The score of two classes is that of one event, half the sum over both.
        squares = ((proba - hot) ** 2).sum(axis=1) / (2 if len(classes) == 2 else 1)
        scores |= {"log_loss": _mean_of(losses), "brier": _mean_of(squares)}
    if measure is not None and measure.name not in scores:
        scores[measure.name] = _measured(measure, labels, decision, classes, positive)
    return scores


def scores_of_shares(
    labels: np.ndarray,
    classes: np.ndarray,
    measure: Measure | None = None,
    positive: Any = None,
) -> Scores:
    """Return the scores of the model without features: every row has the shares of the classes."""
    known, counts = np.unique(labels, return_counts=True)
    largest = np.full(labels.shape, known[counts.argmax()])
    share = np.tile((labels[:, None] == classes).mean(axis=0), (labels.size, 1))
    scores = {
        **scores_of_classes(labels, largest, share, classes, share[:, 1:2]),
        "balanced_accuracy": _constant(1.0 / known.size),
        "auc": _constant(0.5),
    }
    if measure is not None and measure.name not in scores:
        none = np.zeros((labels.size, 1 if len(classes) == 2 else len(classes)))
        scores[measure.name] = _measured(measure, labels, none, classes, positive, chance=True)
    return scores


def scores_of_numbers(
    y: FloatArray, predicted: FloatArray, explained: Callable[..., float] | None, name: str
) -> Scores:
    """Return the scores of numbers: what they explain, and errors in the unit of the target.

    y, predicted : (n,), or (n, n_responses). explained : R^2 or D^2 of both with the weights of the
        rows, which of a y of one value is undefined; None: of one mean for all. name : which.
    """
    error = y - predicted
    if explained is None:
        share = _constant(0.0)
    elif (y == y[0]).all(axis=0).any():
        share = _constant(float("nan"))
    else:
        share = partial(explained, y, predicted)
    return {
        name: share,
        "rmse": _root(_mean_of(_by_row(error**2))),
        "mae": _mean_of(_by_row(np.abs(error))),
    }


def scores_by_response(
    names: Sequence[str],
    y: FloatArray,
    predicted: FloatArray,
    explained: Callable[..., float],
    name: str,
) -> list[ResponseScores]:
    """Return of each response what is explained of it, and errors in its own unit.

    names : of the responses. y, predicted : (n, n_responses). explained, name : as of
        `scores_of_numbers`.
    """
    ones = np.ones(len(y))
    rows = []
    for response, own, found in zip(names, y.T, predicted.T, strict=True):
        scores = scores_of_numbers(own, found, explained, name)
        values = {key: finite_or_none(_or_nan(score, ones)) for key, score in scores.items()}
        rows.append(ResponseScores(response=response, score=values.pop(name), **values))
    return rows


def confusion_by_class(confusion: list[list[int]], classes: list[Any]) -> list[ClassScores]:
    """Return of each class its rows, the share of them that is found, and that of right finds."""
    counts = np.array(confusion)
    rows = []
    for number, label in enumerate(classes):
        n, found, right = counts[number].sum(), counts[:, number].sum(), counts[number, number]
        rows.append(
            ClassScores(
                label=label,
                n_samples=int(n),
                recall=float(right / n) if n else None,
                recall_interval=wilson(int(right), int(n)) if n else None,
                precision=float(right / found) if found else None,
            )
        )
    return rows


def wilson(right: int, n: int) -> list[float]:
    """Return the interval of 95 % of a share, which is none of width 0 where all are right.

    Source: Wilson, Probable inference, Journal of the American Statistical Association 22 (1927).
    """
    z = 1.959964
    middle = (right + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * float(np.sqrt(right * (n - right) / n + z**2 / 4))
    return [max(0.0, middle - half), min(1.0, middle + half)]


def judged(
    scores: Scores, others: Scores, n: int, work: int, first: Interval | None = None
) -> list[Score]:
    """Return the scores of a model and of another, with the errors of the first and of its gain.

    Rows are drawn n times with replacement, the same for both; a resample in which a score is not
    defined is left out.

    others : of one without features. work : additions that a score takes.
    first : the interval of the first score.
    """
    rng = np.random.default_rng(0)
    times = int(np.clip(_WORK / max(1, work), 20, RESAMPLES))
    weights = [
        np.bincount(rng.integers(n, size=n), minlength=n).astype(float) for _ in range(times)
    ]
    ones = np.ones(n)
    found: list[Score] = []
    for name in scores:
        if name not in others:
            continue
        both = scores[name], others[name]
        value, baseline = (_or_nan(one, ones) for one in both)
        drawn = np.array([[_or_nan(one, w) for one in both] for w in weights])
        drawn = drawn[np.isfinite(drawn).all(axis=1)]
        enough = n > 1 and len(drawn) > times // 2
        errors = [drawn[:, 0], drawn[:, 0] - drawn[:, 1]]
        own, gain = (float(one.std(ddof=1)) if enough else None for one in errors)
        found.append(
            Score(
                name=name,
                value=finite_or_none(value),
                standard_error=own,
                baseline=finite_or_none(baseline),
                advantage_error=gain,
                interval=None if found else first,
            )
        )
    return found


def _or_nan(score: Scored, weight: FloatArray) -> float:
    try:
        with np.errstate(invalid="ignore"):  # a class of which no row was drawn
            return score(weight)
    except ValueError:  # without a pair to compare, or numbers that differ
        return float("nan")


def _mean_of(values: FloatArray) -> Scored:
    return lambda weight: float(weight @ values / weight.sum())


def _root(score: Scored) -> Scored:
    return lambda weight: float(np.sqrt(score(weight)))


def _constant(value: float) -> Scored:
    return lambda weight: value


def _by_row(values: FloatArray) -> FloatArray:
    """Return the mean over the responses of each row."""
    return values if values.ndim == 1 else np.asarray(values.mean(axis=1))


def _measured(
    measure: Measure,
    labels: np.ndarray,
    decision: FloatArray,
    classes: np.ndarray,
    positive: Any,
    chance: bool = False,
) -> Scored:
    """Return a measure as a score; a row counts as often as it was drawn."""
    if len(classes) == 2 and positive == classes[0]:
        decision, classes = -decision, classes[::-1]

    def score(weight: FloatArray) -> float:
        rows = np.repeat(np.arange(weight.size), weight.astype(np.int64))
        return macro_average(measure, decision[rows], labels[rows], classes, chance=chance)

    return score
