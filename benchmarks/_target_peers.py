"""Exactly k features for any target by one library: see `_peers.py`.

    python _target_peers.py METHOD THREADS

{"op": "version"}
{"op": "warm"}                                first call, on a tiny problem
{"op": "load", "path": folder}                X.npy (standardised), y.npy, offset.npy
{"op": "fit", "k": k, "family": f, "C": C, "repeats": 5}
{"op": "drop"}                                frees the data

All are asked for exactly k features that minimise 1/2 ||u||^2 + C sum_i f(y_i, x_i'u + b): f half
the deviance of the family, or minus the logarithm of Cox's partial likelihood. Where a row has
several outputs (classes, responses), u_j is the row of its coefficients, and k of them are not 0.
Only supports matter: nothing that is returned here is compared but they.

zeronorm  BudgetRegressor, BudgetSurvivalAnalysis or BudgetClassifier, their defaults: certificate
          and refit included, and for classes the calibration of probabilities by folds
zeronorm_raw  BudgetClassifier without that calibration, which none of the others does; the same
          supports
zeronorm_l0  the defaults with method="l0"
zeronorm_l0_4  the same with four searches, methods.L0(n_starts=4)
abess     LinearRegression, PoissonRegression, GammaRegression, CoxPHSurvivalAnalysis,
          MultinomialRegression or MultiTaskRegression (support_size=k, alpha=1/(2C), of squares
          1/C), default options otherwise. That is the ridge above: the coefficients that it returns
          are those of this objective on their support
abess_0   the same with alpha=0. With a ridge LinearRegression, MultiTaskRegression and often
          MultinomialRegression return features without signal where planted ones are (of 100 rows
          with coefficients of 3, -2, 1 and 0 from alpha=1 on; of counts and times they do not), so
          that its better supports are often these. The better one of the two counts
adelie    the l1 path of grpnet to the first solution with k features or more, the k largest of it;
          of several outputs its grouped penalty
skglm     the l1 path of its solvers with ten solutions a decade, warm-started, as above
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from _common import PeakMemory, PeerWorker, clock, serve

QUICK = 0.05  # seconds; shorter fits are repeated at once, so that a median means something
Data = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def _zeronorm(data: Data, k: int, family: str, C: float, threads: int, method: Any) -> Any:
    from zeronorm import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis

    X, y, offset = data
    options = {"C": C, "method": method, "n_threads": threads}
    if family == "multinomial":
        return BudgetClassifier(k, **options).fit(X, y)
    if family == "cox":
        target = np.rec.fromarrays([y[:, 1] > 0, y[:, 0]], names="event,time")
        return BudgetSurvivalAnalysis(k, **options).fit(X, target)
    loss = "least_squares" if family in ("gaussian", "multigaussian") else family
    return BudgetRegressor(k, loss=loss, **options).fit(X, y, offset=offset)


def zeronorm(data: Data, k: int, family: str, C: float, threads: int) -> np.ndarray:
    """Its defaults."""
    return np.asarray(_zeronorm(data, k, family, C, threads, "auto").support_)


def zeronorm_l0(data: Data, k: int, family: str, C: float, threads: int) -> np.ndarray:
    """Exchanges among all features."""
    return np.asarray(_zeronorm(data, k, family, C, threads, "l0").support_)


def zeronorm_l0_4(data: Data, k: int, family: str, C: float, threads: int) -> np.ndarray:
    """Return the support of method="l0" with four searches."""
    from zeronorm import methods

    return np.asarray(_zeronorm(data, k, family, C, threads, methods.L0(n_starts=4)).support_)


def zeronorm_raw(data: Data, k: int, family: str, C: float, threads: int) -> np.ndarray:
    """Without calibration."""
    from zeronorm import BudgetClassifier

    if family != "multinomial":
        raise ValueError("as zeronorm")
    model = BudgetClassifier(k, C=C, n_threads=threads, calibrate=False)
    return np.asarray(model.fit(data[0], data[1]).support_)


def abess(data: Data, k: int, family: str, C: float, threads: int) -> np.ndarray:
    """Its defaults, with the ridge of the problem."""
    # Its objective is the summed loss (the sum of squares, not halved) plus alpha ||u||^2.
    alpha = (1.0 if family in ("gaussian", "multigaussian") else 0.5) / C
    return _abess(data, k, family, alpha, threads)


def abess_0(data: Data, k: int, family: str, C: float, threads: int) -> np.ndarray:
    """Its defaults."""
    return _abess(data, k, family, 0.0, threads)


def _abess(data: Data, k: int, family: str, alpha: float, threads: int) -> np.ndarray:
    """Select by it. It has no offset."""
    import abess as library

    X, y, offset = data
    if offset is not None:
        raise ValueError("it has no offset")
    kind = {
        "gaussian": library.LinearRegression,
        "poisson": library.PoissonRegression,
        "gamma": library.GammaRegression,
        "cox": library.CoxPHSurvivalAnalysis,
        "multinomial": library.MultinomialRegression,
        "multigaussian": library.MultiTaskRegression,
    }[family]
    model = kind(support_size=k, alpha=alpha, thread=threads)
    model.fit(X, _indicators(y) if family == "multinomial" else y)
    return np.flatnonzero(np.reshape(model.coef_, (X.shape[1], -1)).any(axis=1))


def _indicators(y: np.ndarray) -> np.ndarray:
    """Return a column of 0 and 1 for every class."""
    return np.asarray(y[:, None] == np.unique(y), np.float64)


def adelie(data: Data, k: int, family: str, C: float, threads: int) -> np.ndarray:
    """Follow the l1 path, and take the k largest coefficients."""
    import adelie as library

    X, y, offset = data
    if family == "cox":
        glm = library.glm.cox(start=np.zeros(len(y)) - 1.0, stop=y[:, 0], status=y[:, 1])
    elif family == "poisson":
        glm = library.glm.poisson(y=y)
    elif family == "gaussian":
        glm = library.glm.gaussian(y=y)
    elif family == "multigaussian":
        glm = library.glm.multigaussian(y=np.ascontiguousarray(y))
    elif family == "multinomial":
        glm = library.glm.multinomial(y=_indicators(y))
    else:
        raise ValueError("it has no such family")
    state = library.grpnet(
        X=np.asfortranarray(X), glm=glm, offsets=offset, n_threads=threads, progress_bar=False,
        early_exit=False, max_active_size=20 * k, lmda_path_size=200, min_ratio=1e-3,
    )  # fmt: skip
    return _cut([one.toarray().reshape(X.shape[1], -1) for one in state.betas], k)


def _cut(path: list[np.ndarray], k: int) -> np.ndarray:
    """Return the k largest of the first solution with k features or more."""
    for rows in path:
        coef = np.linalg.norm(rows.reshape(len(rows), -1), axis=1)
        if np.count_nonzero(coef) >= k:
            return np.sort(np.argsort(-np.abs(coef), kind="stable")[:k])
    raise ValueError(f"no solution with {k} features")


def skglm(data: Data, k: int, family: str, C: float, threads: int) -> np.ndarray:
    """Follow the l1 path, and take the k largest coefficients."""
    if family == "multigaussian":
        return _skglm_responses(data, k)
    from skglm.datafits import Cox, Poisson, Quadratic
    from skglm.penalties import L1
    from skglm.solvers import AndersonCD, ProxNewton
    from skglm.utils.jit_compilation import compiled_clone

    X, y, offset = data
    if offset is not None or family in ("gamma", "multinomial"):
        raise ValueError("it has no offset" if offset is not None else "it has no such family")
    target = np.asfortranarray(y, np.float64)
    if family == "gaussian":
        target = target - target.mean()
        solver, kind = AndersonCD(fit_intercept=False, tol=1e-6), Quadratic
    else:
        solver = ProxNewton(fit_intercept=family == "poisson", tol=1e-6, max_iter=50)
        kind = Poisson if family == "poisson" else Cox
    datafit = compiled_clone(kind())
    datafit.initialize(X, target)
    if family == "cox":
        first = np.abs(X.T @ datafit.raw_grad(target, np.zeros(len(X)))).max()
    else:
        first = np.abs(X.T @ (target - target.mean())).max() / len(X)
    path: list[np.ndarray] = []
    w, margins = np.zeros(X.shape[1] + (family == "poisson")), np.zeros(len(X))
    for strength in np.geomspace(first, 1e-3 * first, 31)[1:]:
        w = solver.solve(X, target, datafit, compiled_clone(L1(strength)), w.copy(), margins)[0]
        path.append(w[: X.shape[1]].copy())
        margins = X @ path[-1] + (w[-1] if family == "poisson" else 0.0)
        if np.count_nonzero(path[-1]) >= k:
            break
    return _cut(path, k)


def _skglm_responses(data: Data, k: int) -> np.ndarray:
    """Follow the path of the penalty on rows of coefficients."""
    from skglm.datafits import QuadraticMultiTask
    from skglm.penalties import L2_1
    from skglm.solvers import MultiTaskBCD
    from skglm.utils.jit_compilation import compiled_clone

    X, y, _ = data
    target = np.asfortranarray(y - y.mean(axis=0))
    datafit = compiled_clone(QuadraticMultiTask())
    datafit.initialize(X, target)
    first = np.linalg.norm(X.T @ target, axis=1).max() / len(X)
    path: list[np.ndarray] = []
    w, margins = np.zeros((X.shape[1], y.shape[1])), np.zeros(y.shape)
    for strength in np.geomspace(first, 1e-3 * first, 31)[1:]:
        solver = MultiTaskBCD(fit_intercept=False, tol=1e-6)
        w = solver.solve(X, target, datafit, compiled_clone(L2_1(strength)), w.copy(), margins)[0]
        path.append(w.copy())
        margins = X @ w
        if np.count_nonzero(w.any(axis=1)) >= k:
            break
    return _cut(path, k)


METHODS = {
    "zeronorm": ("zeronorm", zeronorm),
    "zeronorm_raw": ("zeronorm", zeronorm_raw),
    "zeronorm_l0": ("zeronorm", zeronorm_l0),
    "zeronorm_l0_4": ("zeronorm", zeronorm_l0_4),
    "abess": ("abess", abess),
    "abess_0": ("abess", abess_0),
    "adelie": ("adelie", adelie),
    "skglm": ("skglm", skglm),
}


class Worker(PeerWorker):
    """The state between requests."""

    def __init__(self, method: str, threads: int) -> None:
        self.environment, self.call = METHODS[method]
        self.threads = threads

    def warm(self, _: dict[str, Any]) -> dict[str, Any]:
        """Fit tiny problems, so that imports and compilation are over."""
        rng = np.random.default_rng(0)
        X = np.asfortranarray(rng.standard_normal((100, 30)))
        X = (X - X.mean(0)) / X.std(0)
        z = X[:, 0] - X[:, 1]
        targets = {
            "gaussian": z + rng.standard_normal(100),
            "poisson": rng.poisson(np.exp(z)).astype(float),
            "gamma": rng.gamma(2.0, np.exp(z)),
            "cox": np.column_stack([rng.exponential(np.exp(-z)), rng.random(100) < 0.7]),
            "multinomial": np.argmax(
                np.column_stack([z, -z, 0 * z]) + rng.gumbel(size=(100, 3)), 1
            ),
            "multigaussian": np.column_stack([z, -z]) + rng.standard_normal((100, 2)),
        }
        start = time.perf_counter()
        for family, y in targets.items():
            try:
                self.call((X, y, None), 2, family, 0.1, self.threads)
            except ValueError:
                continue
        return {"first": time.perf_counter() - start}

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Read the data; nothing is converted."""
        folder = Path(request["path"])
        given = folder / "offset.npy"
        offset = np.load(given) if given.exists() else None
        self.data = np.load(folder / "X.npy"), np.load(folder / "y.npy"), offset
        return {"x_mb": self.data[0].nbytes / 1e6}

    def drop(self, _: dict[str, Any]) -> dict[str, Any]:
        """Free the data."""
        del self.data
        return {}

    def fit(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the support, wall and CPU seconds of every repeat, and the peak of memory."""
        asked = (self.data, request["k"], request["family"], request["C"], self.threads)
        with PeakMemory() as memory:
            wall, cpu, support = clock(lambda: self.call(*asked))
        seconds = [(wall, cpu)]
        while len(seconds) < request["repeats"] and wall < QUICK:
            seconds.append(clock(lambda: self.call(*asked))[:2])
        walls, cpus = zip(*seconds, strict=True)
        reply = {"seconds": walls, "cpu_seconds": cpus, "peak_mb": memory.beyond}
        return {"support": support.tolist(), **reply}


if __name__ == "__main__":
    serve(Worker)
