"""One l1 problem of counts, survival times or classes by one library: see `_peers.py`.

    python _l1_loss_peers.py METHOD THREADS

{"op": "version"}
{"op": "warm", "family": f}                             first call, on a tiny problem
{"op": "load", "path": folder}                          X.npy (standardised) and y.npy
{"op": "fit", "family": f, "C": C, "tol": tol, "out": file.npy, "repeats": 5}
{"op": "drop"}                                          frees the data

All solve  min ||w||_1 + C sum_i f_i  with a free intercept where the family has one, from zero:
f half the deviance of a count ("poisson"), minus the logarithm of Cox's partial likelihood without
ties ("cox"), or the multinomial log-loss with every coefficient penalised ("multinomial").

zeronorm  L1Regressor, L1SurvivalAnalysis, L1Classifier(multi_class="multinomial")
skglm     ProxNewton with its Poisson and Cox
sksurv    CoxnetSurvivalAnalysis, the algorithm of glmnet, at one value of its path
sklearn   LogisticRegression(solver="saga")
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from _common import PeerWorker, clock, serve

QUICK = 0.05  # seconds; shorter fits are repeated at once, so that a median means something
UNLIMITED = 100_000  # iterations


def zeronorm(X: Any, y: Any, family: str, C: float, tol: float, threads: int) -> np.ndarray:
    """Its estimators; tol is the certified gap."""
    from zeronorm import L1Classifier, L1Regressor, L1SurvivalAnalysis

    options = {"C": C, "tol": tol, "n_threads": threads}
    if family == "cox":
        target = np.rec.fromarrays([y[:, 1] > 0, y[:, 0]], names="event,time")
        return np.asarray(L1SurvivalAnalysis(**options).fit(X, target).coef_)
    if family == "multinomial":
        model = L1Classifier(multi_class="multinomial", **options).fit(X, y)
        return np.asarray(model.coef_)
    return np.asarray(L1Regressor(loss="poisson", **options).fit(X, y).coef_)


def skglm(X: Any, y: Any, family: str, C: float, tol: float, threads: int) -> np.ndarray:
    """Its proximal Newton method; tol is a violation."""
    from skglm.datafits import Cox, Poisson
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton
    from skglm.utils.jit_compilation import compiled_clone

    if family == "multinomial":
        raise ValueError("it has no such family")
    target, free = np.asfortranarray(y, np.float64), family == "poisson"
    datafit = compiled_clone((Poisson if free else Cox)())
    datafit.initialize(X, target)
    solver = ProxNewton(fit_intercept=free, tol=tol, max_iter=100, max_pn_iter=1000)
    penalty = compiled_clone(L1(1.0 / (C * len(X))))
    return np.asarray(solver.solve(X, target, datafit, penalty)[0][: X.shape[1]])


def sksurv(X: Any, y: Any, family: str, C: float, tol: float, threads: int) -> np.ndarray:
    """Its Coxnet; tol is a change of the coefficients."""
    from sksurv.linear_model import CoxnetSurvivalAnalysis

    if family != "cox":
        raise ValueError("it has no such family")
    target = np.rec.fromarrays([y[:, 1] > 0, y[:, 0]], names="event,time")
    alphas = [1.0 / (C * len(X))]
    model = CoxnetSurvivalAnalysis(alphas=alphas, l1_ratio=1.0, tol=tol, max_iter=UNLIMITED)
    return np.asarray(model.fit(X, target).coef_[:, 0])


def sklearn(X: Any, y: Any, family: str, C: float, tol: float, threads: int) -> np.ndarray:
    """Its saga; tol is a change of the coefficients."""
    from sklearn.linear_model import LogisticRegression

    if family != "multinomial":
        raise ValueError("it has no such family")
    model = LogisticRegression(
        C=C, l1_ratio=1.0, penalty="elasticnet", solver="saga", tol=tol, max_iter=UNLIMITED,
        random_state=0,
    )  # fmt: skip
    return np.asarray(model.fit(X, y).coef_)


METHODS = {one.__name__: one for one in (zeronorm, skglm, sksurv, sklearn)}


def tiny(family: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a problem that is solved at once."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((100, 30)))
    z = X[:, 0] - X[:, 1]
    if family == "cox":
        return X, np.column_stack([rng.exponential(np.exp(-z)), rng.random(100) < 0.7]) * 1.0
    if family == "multinomial":
        return X, np.digitize(z, [-1.0, 1.0])
    return X, rng.poisson(np.exp(z)) * 1.0


class Worker(PeerWorker):
    """The state between requests."""

    def __init__(self, method: str, threads: int) -> None:
        self.environment, self.call = method, METHODS[method]
        self.threads = threads

    def warm(self, request: dict[str, Any]) -> dict[str, Any]:
        """Fit a tiny problem, so that imports and compilation are over."""
        start = time.perf_counter()
        self.call(*tiny(request["family"]), request["family"], 0.1, 1e-4, self.threads)
        return {"first": time.perf_counter() - start}

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Read the data; nothing is converted."""
        folder = Path(request["path"])
        self.data = np.load(folder / "X.npy"), np.load(folder / "y.npy")
        return {}

    def drop(self, _: dict[str, Any]) -> dict[str, Any]:
        """Free the data."""
        del self.data
        return {}

    def fit(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write the coefficients; return the seconds of CPU and of the clock."""
        asked = (*self.data, request["family"], request["C"], request["tol"], self.threads)
        runs = [clock(lambda: self.call(*asked))]
        while len(runs) < request["repeats"] and runs[0][0] < QUICK:
            runs.append(clock(lambda: self.call(*asked)))
        np.save(request["out"], runs[0][2])
        return {"seconds": [run[0] for run in runs], "cpu": [run[1] for run in runs]}


if __name__ == "__main__":
    serve(Worker)
