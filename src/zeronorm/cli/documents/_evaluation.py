"""How good predictions are on labelled rows, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..._chance import auc_of_classes, balanced_accuracy
from ..._typing import FloatArray

RESAMPLES = 200
_WORK = 2e8  # comparisons or additions that all resamples of a score may take, about

# The score of rows by their weights; and of a model without features.
_Score = Callable[[FloatArray], float]


def scores_of_classes(
    labels: np.ndarray,
    predicted: np.ndarray,
    proba: FloatArray | None,
    classes: np.ndarray,
    decision: FloatArray,
) -> list[dict[str, Any]]:
    """Return the scores of a classifier, each with its standard error and that without features.

    The model without features gives every row the shares of the classes in these rows.

    Parameters
    ----------
    labels, predicted : (n,)
    proba : (n, n_classes), in the order of `classes`, which are sorted; None where there are none
    decision : (n, 1) or (n, n_classes), what orders the rows by each class
    """  # fmt: skip
    right = (labels == predicted).astype(float)
    largest = _largest(labels)
    scores: dict[str, tuple[_Score, _Score]] = {
        "accuracy": (_mean_of(right), _mean_of((labels == largest).astype(float))),
        "balanced_accuracy": (
            lambda w: balanced_accuracy(predicted, labels, w),
            _constant(1.0 / np.unique(labels).size),
        ),
        "auc": (lambda w: auc_of_classes(decision, labels, classes, w), _constant(0.5)),
    }
    if proba is not None:
        hot = labels[:, None] == classes
        share = np.tile(hot.mean(axis=0), (labels.size, 1))
        with np.errstate(divide="ignore"):
            losses, plain = (-np.log(p[hot.nonzero()]) for p in (proba, share))
        scores["log_loss"] = _mean_of(losses), _mean_of(plain)
        two = len(classes) == 2  # as of one event, which halves the sum over both
        squares, plain = (((p - hot) ** 2).sum(axis=1) / (2 if two else 1) for p in (proba, share))
        scores["brier"] = _mean_of(squares), _mean_of(plain)
    found = _judged(scores, labels.size, labels.size * len(classes))
    found[0]["interval"] = wilson(int(right.sum()), right.size)
    return found


def scores_of_numbers(
    y: FloatArray, predicted: FloatArray, explained: Callable[[FloatArray], float], name: str
) -> list[dict[str, Any]]:
    """Return the scores of numbers; the model without features predicts their mean.

    y, predicted : (n,), or (n, n_responses). explained : R^2 or D^2 by weights; name : which.
    """
    error, plain = y - predicted, y - y.mean(axis=0)
    squares, plain_squares = (_by_row(one**2) for one in (error, plain))
    scores: dict[str, tuple[_Score, _Score]] = {
        name: (explained, _constant(0.0)),
        "rmse": (_root(_mean_of(squares)), _root(_mean_of(plain_squares))),
        "mae": (_mean_of(_by_row(np.abs(error))), _mean_of(_by_row(np.abs(plain)))),
    }
    return _judged(scores, len(y), y.size)


def scores_of_risk(
    y: FloatArray, risk: FloatArray, concordance: Callable[[FloatArray], float]
) -> list[dict[str, Any]]:
    """Return Harrell's C of risk scores."""
    events = int(y[:, 1].sum())
    return _judged({"c_index": (concordance, _constant(0.5))}, risk.size, risk.size * events)


def confusion_by_class(confusion: list[list[int]], classes: list[Any]) -> list[dict[str, Any]]:
    """Return of each class its rows, the share of them that is found, and that of right finds."""
    counts = np.array(confusion)
    rows = []
    for number, label in enumerate(classes):
        n, found, right = counts[number].sum(), counts[:, number].sum(), counts[number, number]
        rows.append(
            {
                "class": label,
                "n_samples": int(n),
                "recall": float(right / n) if n else None,
                "recall_interval": wilson(int(right), int(n)) if n else None,
                "precision": float(right / found) if found else None,
            }
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


def _judged(scores: Mapping[str, tuple[_Score, _Score]], n: int, work: int) -> list[dict[str, Any]]:
    """Return scores with the standard errors that resampled rows give them and their advantages.

    Rows are drawn n times with replacement; a resample in which a score is not defined is left out.
    """
    rng = np.random.default_rng(0)
    times = int(np.clip(_WORK / max(1, work), 20, RESAMPLES))
    weights = [
        np.bincount(rng.integers(n, size=n), minlength=n).astype(float) for _ in range(times)
    ]
    ones = np.ones(n)
    found = []
    for name, (score, plain) in scores.items():
        value, baseline = score(ones), plain(ones)
        drawn = np.array([[_or_nan(one, w) for one in (score, plain)] for w in weights])
        drawn = drawn[np.isfinite(drawn).all(axis=1)]
        enough = len(drawn) > times // 2
        errors = [drawn[:, 0], drawn[:, 0] - drawn[:, 1]]
        own, gain = (float(one.std(ddof=1)) if enough else None for one in errors)
        found.append(
            {
                "name": name,
                "value": value if np.isfinite(value) else None,
                "standard_error": own,
                "baseline": baseline if np.isfinite(baseline) else None,
                "advantage_error": gain,
                "interval": None,
            }
        )
    return found


def _or_nan(score: _Score, weight: FloatArray) -> float:
    try:
        with np.errstate(invalid="ignore"):  # a class of which no row was drawn
            return score(weight)
    except ValueError:  # without a pair to compare, or numbers that differ
        return float("nan")


def _mean_of(values: FloatArray) -> _Score:
    return lambda weight: float(weight @ values / weight.sum())


def _root(score: _Score) -> _Score:
    return lambda weight: float(np.sqrt(score(weight)))


def _constant(value: float) -> _Score:
    return lambda weight: value


def _by_row(values: FloatArray) -> FloatArray:
    """Return the mean over the responses of each row."""
    return values if values.ndim == 1 else np.asarray(values.mean(axis=1))


def _largest(labels: np.ndarray) -> Any:
    known, counts = np.unique(labels, return_counts=True)
    return known[counts.argmax()]
