"""All models near the best one: the list is that of enumeration, or says what it lacks."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from zeronorm import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis
from zeronorm.designs._columns import gather
from zeronorm.near_optimal import NearOptimal, near_optimal
from zeronorm.solvers.pool.signed_ridge import signed_ridge

N, M, K = 40, 9, 3


def drawn(seed: int, n: int = N, m: int = M) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated columns, of which many sets do nearly the same, and a signal."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m)) + rng.standard_normal((n, 1))
    return X, X[:, :4] @ np.array([1.0, -0.8, 0.6, 0.4]) + rng.standard_normal(n)


def classes(signal: np.ndarray, many: int) -> np.ndarray:
    """Return classes of about equal size, in order of the signal."""
    return np.searchsorted(np.quantile(signal, np.linspace(0, 1, many + 1)[1:-1]), signal)


def times(signal: np.ndarray) -> np.ndarray:
    """Return survival times, two thirds of them events."""
    y = np.empty(signal.size, [("event", bool), ("time", float)])
    y["event"], y["time"] = np.arange(signal.size) % 3 > 0, np.round(np.exp(-signal) + 0.1, 1)
    return y


PROBLEMS = {
    "logistic": (BudgetClassifier(), lambda s: classes(s, 2)),
    "squared_hinge": (BudgetClassifier(loss="squared_hinge"), lambda s: classes(s, 2)),
    "ordinal": (BudgetClassifier(loss="ordinal"), lambda s: classes(s, 3)),
    "multinomial": (BudgetClassifier(), lambda s: classes(s, 3)),
    "least_squares": (BudgetRegressor(), lambda s: s),
    "huber": (BudgetRegressor(loss="huber"), lambda s: s),
    "quantile": (BudgetRegressor(loss="quantile"), lambda s: s),
    "poisson": (BudgetRegressor(loss="poisson"), lambda s: np.floor(np.exp(0.5 * s))),
    "gamma": (BudgetRegressor(loss="gamma"), lambda s: np.exp(0.3 * s)),
    "responses": (BudgetRegressor(), lambda s: np.column_stack([s, np.roll(s, 1)])),
    "cox": (BudgetSurvivalAnalysis(), times),
    "forced": (BudgetClassifier(forced_features=[5]), lambda s: classes(s, 2)),
    "signs": (BudgetClassifier(signs=1), lambda s: classes(s, 2)),
    "covariates": (BudgetClassifier(covariates=[7]), lambda s: classes(s, 2)),
    "weights": (BudgetClassifier(class_weight={0: 3.0, 1: 1.0}), lambda s: classes(s, 2)),
    "raw": (BudgetClassifier(standardize=False, fit_intercept=False), lambda s: classes(s, 2)),
}


def enumerated(
    estimator: Any, X: np.ndarray, y: np.ndarray, k: int
) -> dict[tuple[int, ...], float]:
    """Return the objective of every support, each fitted by itself."""
    poser = clone(estimator).set_params(n_features=k)
    problem = poser._pose(poser._read(X, y, None), (k,))
    (task,) = problem.tasks
    risk, forced = task.risk(problem.C), set(task.features(task.forced).tolist())
    choice = [j for j in range(X.shape[1]) if j not in task.covariates]
    found = {}
    for support in combinations(choice, k):
        if forced <= set(support):
            columns = task.columns(np.array(support))
            Z = gather(task.design, columns)
            fit = signed_ridge(Z, risk, task.signs[columns], tol=1e-12, of_value=True)
            found[support] = fit.objective
    return found


def as_dict(near: NearOptimal) -> dict[tuple[int, ...], float]:
    """Return the objectives by support."""
    assert np.all(np.diff(near.supports, axis=1) > 0)
    supports = map(tuple, near.supports.tolist())
    return dict(zip(supports, near.objectives.tolist(), strict=True))


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_the_list_is_that_of_enumeration(name: str) -> None:
    """A model near the best one would be missing, or one that is not would be listed."""
    estimator, target = PROBLEMS[name]
    X, signal = drawn(3)
    y = target(signal)
    if name == "raw":
        X = X * np.linspace(0.5, 1.5, M)
    every = enumerated(estimator, X, y, K)
    best = min(every.values())
    counts = []
    for within in (0.0, 0.02, 0.1):
        near = near_optimal(X, y, K, within=within, estimator=estimator, n_threads=1)
        assert isinstance(near, NearOptimal)
        limit = (1 + within + 1e-9) * best
        wanted = {support: value for support, value in every.items() if value <= limit}
        assert near.complete
        assert near.complete_within == within
        found = as_dict(near)
        assert set(found) == set(wanted)
        assert all(found[one] == pytest.approx(wanted[one], rel=1e-8) for one in wanted)
        assert np.all(np.diff(near.objectives) >= 0)
        assert near.bound >= (1 + within) * best
        rest = [value for support, value in every.items() if support not in wanted]
        assert min(rest, default=np.inf) >= near.bound * (1 - 1e-9)
        counts.append(len(near))
    assert counts[0] < counts[-1]  # else the case would be one of a single model
