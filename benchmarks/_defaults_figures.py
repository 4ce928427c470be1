"""The figures by which `defaults.py` compares models: of new rows, from the margins alone.

classes     the log-loss, the accuracy, the area under the ROC curve
regression  R^2, of no model 0: beside the mean of the training rows
responses   the mean of R^2 over the responses
counts      the share of the deviance that the model explains, of no model 0: beside the rate of the
            training rows; the deviance of a row
survival    the partial log-likelihood of an event, of no model 0; Harrell's C; the integrated Brier
            score of scikit-survival, from the 10 % to the 80 % quantile of the training times, and
            its excess over that of the Kaplan-Meier curve of the training rows

R^2 and the share of the deviance count as LEAST where they are below it, so that no mean hangs on
one model that no one would use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import _protocol as protocol
from _defaults_sets import Split

LEAST = -1.0
TIMES = 40  # at which the Brier score is taken


class Linear(NamedTuple):
    """A model: features among the columns of the split, coefficients, intercept."""

    support: np.ndarray
    coef: np.ndarray  # (k,) or (responses, k)
    intercept: Any

    def margins(self, X: np.ndarray) -> np.ndarray:
        """Return the margins of rows, (n,) or (n, responses)."""
        return np.asarray(X[:, self.support] @ np.asarray(self.coef).T + self.intercept)


def poisson_deviance(y: np.ndarray, margin: np.ndarray, exposure: np.ndarray) -> np.ndarray:
    """Return the deviance of every row."""
    mean = exposure * np.exp(np.minimum(margin, 300.0))
    log = np.log(np.where(y > 0, y, 1.0)) - np.log(mean)
    return np.asarray(2.0 * (np.where(y > 0, y * log, 0.0) - y + mean))


def risk_order(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows from the latest time on, and for each the last row of its risk set there."""
    order = np.argsort(-y[:, 0], kind="stable")
    time = -y[order, 0]
    return order, np.searchsorted(time, time, side="right") - 1


def partial_likelihood(margin: np.ndarray, y: np.ndarray) -> float:
    """Return the log partial likelihood (Breslow's) less that of margins of 0."""
    order, last = risk_order(y)
    m, event = margin[order], y[order, 1] > 0
    top = m.max()
    total = np.log(np.cumsum(np.exp(m - top))[last]) + top
    return float((m - total + np.log(last + 1.0))[event].sum())


def survival_curves(y: np.ndarray, margin: np.ndarray, new: np.ndarray, at: Any) -> np.ndarray:
    """Return survival at times, by Breslow's baseline of the training rows, (new rows, times)."""
    order, last = risk_order(y)
    event = y[order, 1] > 0
    top = margin.max()
    step = event / np.cumsum(np.exp(margin[order] - top))[last]
    hazard = np.array([step[y[order, 0] <= t].sum() for t in at])
    return np.exp(-np.outer(np.exp(new - top), hazard))


def structured(y: np.ndarray) -> np.ndarray:
    """Return times and events as scikit-survival has them."""
    return np.rec.fromarrays([y[:, 1] > 0, y[:, 0]], names="event,time")


def figures(p: Split, model: Linear) -> dict[str, float]:
    """Return the figures of the test rows."""
    z, y = model.margins(p.X_test), p.y_test
    if p.target == "classes":
        loss = float(np.logaddexp(0.0, -y * z).mean())
        return {
            "log_loss": loss,
            "accuracy": protocol.accuracy(z, y),
            "auc": protocol.auc(z, y),
        }
    if p.target == "counts":
        rate = np.full(len(y), np.log(p.y.sum() / p.exposure.sum()))
        none = poisson_deviance(y, rate, p.exposure_test).mean()
        own = poisson_deviance(y, z, p.exposure_test).mean()
        return {"d2": max(LEAST, float(1.0 - own / none)), "deviance": float(own)}
    if p.target == "survival":
        return _of_survival(p, model.margins(p.X), z)
    left = ((y - z) ** 2).sum(axis=0) / ((y - p.y.mean(axis=0)) ** 2).sum(axis=0)
    return {"r2": max(LEAST, float(np.mean(1.0 - left)))}


def _of_survival(p: Split, train: np.ndarray, z: np.ndarray) -> dict[str, float]:
    from sksurv.metrics import concordance_index_censored
    from sksurv.nonparametric import kaplan_meier_estimator

    y, event = p.y_test, p.y_test[:, 1] > 0
    low, high = np.quantile(p.y[:, 0], [0.1, 0.8])
    low, high = max(low, y[:, 0].min()), min(high, np.sort(y[:, 0])[-2])
    times = np.linspace(low, high, TIMES, endpoint=False)
    at, curve = kaplan_meier_estimator(p.y[:, 1] > 0, p.y[:, 0])
    steps = np.concatenate([[1.0], curve])[np.searchsorted(at, times, side="right")]
    brier = _brier(p, survival_curves(p.y, train, z, times), times)
    beside = _brier(p, np.tile(steps, (len(y), 1)), times)
    return {
        "loglik": partial_likelihood(z, y) / event.sum(),
        "c_index": float(concordance_index_censored(event, y[:, 0], z)[0]),
        "brier": brier,
        "brier_excess": brier - beside,
    }


def _brier(p: Split, survival: np.ndarray, times: np.ndarray) -> float:
    """Return the integrated Brier score.

    Times after the last one asked for count as censored there: that changes no score, and
    scikit-survival refuses times after those of the training rows.
    """
    from sksurv.metrics import integrated_brier_score

    last = np.nextafter(times[-1], np.inf)
    y = p.y_test.copy()
    late = y[:, 0] > last
    y[late] = last, 0.0
    return float(integrated_brier_score(structured(p.y), structured(y), survival, times))
