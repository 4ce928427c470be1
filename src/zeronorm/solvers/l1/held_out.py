"""What held-out rows say of the models of a fold: scores of margins, and who waits for whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.special import log_expit, logsumexp
from sklearn.metrics import roc_auc_score

from ...core.ranking import predicted
from ...core.types import FloatArray, IndexArray, Likelihood

Score: TypeAlias = Callable[[FloatArray], float]  # of margins (n, n_problems)


class HeldOut:
    """The rows that a fold holds out: scored at a C as soon as all classes have solved it."""

    def __init__(self, rows: IndexArray, n_problems: int, score: Score) -> None:
        """Begin without scores.

        rows : those whose margins are scored, the rows that the fold holds out or more.
        """
        self.scores: dict[int, float] = {}
        self._rows, self._n_problems, self._score = rows, n_problems, score
        self._waiting: dict[int, dict[int, FloatArray]] = {}

    def add(self, problem: int, step: int, z: FloatArray) -> None:
        """Take the margins (n_samples,) of one class at one C."""
        waiting = self._waiting.setdefault(step, {})
        waiting[problem] = z[self._rows]
        if len(waiting) == self._n_problems:
            del self._waiting[step]
            margins = np.column_stack([waiting[number] for number in range(self._n_problems)])
            self.scores[step] = self._score(margins)


def _log_loss(margins: FloatArray, codes: IndexArray, weight: FloatArray) -> float:
    """Return the mean of -log p of the true class, p as of `predict_proba`."""
    if margins.shape[1] == 1:
        log_proba = log_expit(np.where(codes == 1, 1.0, -1.0) * margins[:, 0])
    else:
        each = log_expit(margins)
        log_proba = each[np.arange(codes.size), codes] - logsumexp(each, axis=1)
    return -float(np.average(log_proba, weights=weight))


def multinomial_log_loss(margins: FloatArray, codes: IndexArray, weight: FloatArray) -> float:
    """Return the mean of -log p of the true class, p of a multinomial model."""
    log_proba = margins[np.arange(codes.size), codes] - logsumexp(margins, axis=1)
    return -float(np.average(log_proba, weights=weight))


def _accuracy(margins: FloatArray, codes: IndexArray, weight: FloatArray) -> float:
    """Return the share of the weight whose label is predicted."""
    return float(np.average(predicted(margins) == codes, weights=weight))


def _auc(margins: FloatArray, codes: IndexArray, weight: FloatArray) -> float:
    """Return the area under the ROC curve of two classes."""
    return float(roc_auc_score(codes, margins[:, 0], sample_weight=weight))


def _squared_error(margins: FloatArray, target: FloatArray, weight: FloatArray) -> float:
    """Return the mean of (target - prediction)^2."""
    return float(np.average((target - margins[:, 0]) ** 2, weights=weight))


def deviance_of(loss: Likelihood, y: FloatArray, weight: FloatArray, total: float) -> Score:
    """Return the score by the deviance of a loss, less what a perfect fit has: its mean.

    total : the sum of the sample weights, of which an exposure is no part.
    """
    return lambda margins: loss.deviance(margins[:, 0], y, weight) / total


def added_deviance_of(
    loss: Likelihood, y: FloatArray, train: FloatArray, test: FloatArray
) -> Score:
    """Return the score by the deviance that held-out rows add to that of the others, per event.

    What a partial likelihood says of few rows alone is little: those of the fold are compared with
    all. Source: Verweij and van Houwelingen, Cross-validation in survival analysis, Statistics in
    Medicine 12, 1993; as in glmnet.

    y : of all rows, survival times. train, test : (n,) their weights, 0 of rows without part.
    """
    events = float(test @ (y[:, 1] > 0))
    parts = [(np.flatnonzero(weight > 0), weight) for weight in (train + test, train)]
    known = [(rows, np.ascontiguousarray(y[rows]), weight[rows]) for rows, weight in parts]

    def score(margins: FloatArray) -> float:
        both, learnt = (
            loss.deviance(np.ascontiguousarray(margins[rows, 0]), own, weight)
            for rows, own, weight in known
        )
        return (both - learnt) / events

    return score


# Of margins (n, n_problems), the codes of the classes or real targets (n,), and weights (n,).
SCORES: dict[str, Callable[[FloatArray, np.ndarray, FloatArray], float]] = {
    "squared_error": _squared_error,
    "log_loss": _log_loss,
    "accuracy": _accuracy,
    "auc": _auc,
}
CLASSIFIED = ("log_loss", "accuracy", "auc")  # of labels
LOWER = ("log_loss", "squared_error", "deviance")  # the smaller the better
