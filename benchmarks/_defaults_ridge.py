"""The final fit of the rivals in `defaults.py`: a ridge on k features.

Its strength is chosen by rows left out, the features taken as given: of numbers and responses by
scikit-learn's RidgeCV (leave-one-out), of classes by its LogisticRegressionCV and of counts by its
PoissonRegressor over five folds, of survival times by `cox_ridge` over five folds (the partial
likelihood that the rows of a fold add to that of the others).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from _defaults_figures import Linear, partial_likelihood, poisson_deviance, risk_order
from _defaults_sets import Split

FOLDS = 5
RIDGES = np.logspace(-3, 4, 15)  # of summed squares
SHRINKAGE = np.logspace(-3, 3, 9)  # of summed log-likelihoods


class Standard(NamedTuple):
    """Training columns of mean 0 and standard deviation 1."""

    Z: np.ndarray
    mean: np.ndarray
    scale: np.ndarray

    def model(self, support: np.ndarray, coef: np.ndarray, intercept: Any) -> Linear:
        """Return a model of Z for the columns as they are."""
        own = coef / self.scale[support]
        return Linear(support, own, intercept - own @ self.mean[support])


def standard(p: Split) -> Standard:
    """Return the columns standardised."""
    mean, scale = p.X.mean(axis=0), p.X.std(axis=0)
    return Standard(np.asfortranarray((p.X - mean) / scale), mean, scale)


def folds(p: Split) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return five folds, of classes and events in equal shares."""
    from sklearn.model_selection import KFold, StratifiedKFold

    n = len(p.y)
    if p.target not in ("classes", "survival"):
        return list(KFold(FOLDS, shuffle=True, random_state=0).split(np.zeros(n)))
    of = p.y if p.target == "classes" else p.y[:, 1]
    few = int(min(np.unique(of, return_counts=True)[1].min(), FOLDS))
    kind = KFold(FOLDS, shuffle=True, random_state=0)
    if few > 1:
        kind = StratifiedKFold(few, shuffle=True, random_state=0)
    return list(kind.split(np.zeros(n), of))


def ridge(p: Split, s: Standard, support: np.ndarray) -> Linear:
    """Return the refit of a support, its strength chosen by rows left out."""
    support = np.sort(np.asarray(support))
    Z = s.Z[:, support]
    if p.target in ("regression", "responses"):
        from sklearn.linear_model import RidgeCV

        found = RidgeCV(RIDGES).fit(Z, p.y)
        return s.model(support, found.coef_, found.intercept_)
    if p.target == "classes":
        from sklearn.linear_model import LogisticRegressionCV

        found = LogisticRegressionCV(
            Cs=1.0 / SHRINKAGE, cv=folds(p), scoring="neg_log_loss", max_iter=200,
            solver="newton-cholesky", l1_ratios=(0.0,), use_legacy_attributes=False,
        ).fit(Z, p.y)  # fmt: skip
        return s.model(support, found.coef_[0], found.intercept_[0])
    if p.target == "counts":
        return s.model(support, *_poisson_ridge(p, Z))
    best, start = (-np.inf, 0.0), np.zeros(support.size)
    starts = [start] * FOLDS
    for alpha in SHRINKAGE[::-1]:
        score = 0.0
        for f, (train, _) in enumerate(folds(p)):
            starts[f] = w = cox_ridge(Z[train], p.y[train], alpha, starts[f])
            score += partial_likelihood(Z @ w, p.y) - partial_likelihood(Z[train] @ w, p.y[train])
        best = max(best, (score, alpha))
    return s.model(support, cox_ridge(Z, p.y, best[1], start), 0.0)


def _poisson_ridge(p: Split, Z: np.ndarray) -> tuple[np.ndarray, float]:
    from sklearn.linear_model import PoissonRegressor

    rate = p.y / p.exposure

    def fit(alpha: float, rows: np.ndarray) -> Any:
        # It divides the deviance by the sum of the weights.
        own = PoissonRegressor(
            alpha=alpha / p.exposure[rows].sum(), solver="newton-cholesky", max_iter=200
        )
        return own.fit(Z[rows], rate[rows], sample_weight=p.exposure[rows])

    best = (np.inf, 0.0)
    for alpha in SHRINKAGE:
        loss = 0.0
        for train, test in folds(p):
            found = fit(alpha, train)
            z = Z[test] @ found.coef_ + found.intercept_
            loss += poisson_deviance(p.y[test], z, p.exposure[test]).sum()
        best = min(best, (float(loss), alpha))
    found = fit(best[1], np.arange(len(rate)))
    return found.coef_, float(found.intercept_)


def cox_ridge(Z: np.ndarray, y: np.ndarray, alpha: float, start: np.ndarray) -> np.ndarray:
    """Return the minimiser of minus the log partial likelihood + alpha/2 ||w||^2, by Newton."""
    order, last = risk_order(y)
    X, event = Z[order], y[order, 1] > 0
    rows = last[event]

    def value(w: np.ndarray) -> float:
        return 0.5 * alpha * float(w @ w) - partial_likelihood(Z @ w, y)

    w = start
    current = value(w)
    for _ in range(50):
        m = X @ w
        size = np.exp(m - m.max())
        s0 = np.cumsum(size)[rows]
        s1 = np.cumsum(size[:, None] * X, axis=0)[rows] / s0[:, None]
        s2 = np.cumsum(size[:, None, None] * X[:, :, None] * X[:, None, :], axis=0)[rows]
        H = (s2 / s0[:, None, None]).sum(axis=0) - s1.T @ s1 + alpha * np.eye(w.size)
        gradient = s1.sum(axis=0) - X[event].sum(axis=0) + alpha * w
        step = np.linalg.solve(H, gradient)
        if gradient @ step < 1e-9:
            break
        length = 1.0
        while (new := value(w - length * step)) > current and length > 1e-8:
            length *= 0.5
        if length <= 1e-8:
            break
        w, current = w - length * step, new
    return w
