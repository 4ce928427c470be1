"""The best k features by one library in its own environment: requests as in `_peers.py`.

    python _l0_peers.py METHOD THREADS

{"op": "version"}
{"op": "limit", "gb": 16}              ends an allocation beyond this size of the process
{"op": "warm"}                         first call, on a tiny problem
{"op": "load", "path": folder}         X.npy and y.npy of the folder
{"op": "load", "synthetic": {...}}     a `_protocol.Synthetic`, drawn here
{"op": "fit", "k": k, "C": C, "repeats": 5}
{"op": "drop"}                         frees the data

All are asked for exactly k features that minimise

    1/2 ||u||^2 + C sum_i log(1 + exp(-y_i (x_i'u + b))),     b free

for a dense X in column order and y in {-1, +1}: what a library has to convert, it converts within
the call. Only the supports matter: nothing that is returned here is compared but they.

zeronorm        L0LogisticRegression(n_features=k, C=C, tol=1e-5): certificate and final refit
                included, there is no option to leave them out
abess           LogisticRegression(support_size=k, alpha=1/(2C)), default options otherwise
abess_full      the same with important_search=0: exchanges with all features, not with 128
skscope         ScopeSolver, the objective and its gradient in NumPy, the intercept always in. Its
                own inner solver would pass over all of X for every gradient: the one here is the
                same L-BFGS on the gathered columns
fastsparsegams  L0L2 penalty with "CDPSI", gamma = 1/(2 C n) since it brings columns to unit norm.
                It has a penalty in place of a size: of the models of its path (and of a finer one
                around k where none has k features) the best with k features; where there is none,
                the k largest coefficients of the next larger model

Those that `incumbents.py` adds:

zeronorm_starts  BudgetClassifier(k, C=C, method=methods.L0(n_starts=4), tol=1e-5): four searches
zeronorm_many    the same with n_starts=32
zeronorm_budget  BudgetClassifier(k, C=C), its defaults, without calibrated probabilities
elimination_c  ridge logistic regression of scikit-learn with C = c, again and again without a tenth
            of the features of the smallest coefficients, one by one below 50
l1, elastic_net  the path of adelie, with half of the penalty a ridge for the latter, to the first
            solution with k features or more, and the k largest coefficients of it
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from _common import PeakMemory, PeerWorker, clock, serve

QUICK = 0.05  # seconds; shorter fits are repeated at once, so that a median means something
Found = tuple[np.ndarray, str]  # support, how the size was reached


def zeronorm(X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int) -> Found:
    """L0LogisticRegression, tol=1e-5."""
    from zeronorm.published import L0LogisticRegression

    model = L0LogisticRegression(k, C=C, calibrate=False, tol=1e-5, n_threads=threads).fit(X, y)
    return model.support_, f"{model.n_scans_} scans"


def zeronorm_starts(X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int) -> Found:
    """Four searches, tol=1e-5."""
    from zeronorm import methods

    return _budget(X, y, k, C, threads, methods.L0(n_starts=4), tol=1e-5)


def zeronorm_many(X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int) -> Found:
    """32 searches, tol=1e-5."""
    from zeronorm import methods

    return _budget(X, y, k, C, threads, methods.L0(n_starts=32), tol=1e-5)


def zeronorm_budget(X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int) -> Found:
    """Defaults of the estimator."""
    return _budget(X, y, k, C, threads, "auto")


def _budget(
    X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int, method: Any, **options: Any
) -> Found:
    from zeronorm import BudgetClassifier

    options |= {"C": C, "method": method, "calibrate": False, "n_threads": threads}
    model = BudgetClassifier(k, **options).fit(X, y)
    return model.support_, f"{model.n_scans_} scans"


ONE_BY_ONE = 50  # features below which elimination drops one at a time
KEPT = "of the elimination before"
_ELIMINATED: dict[str, Any] = {}  # the data of the last elimination, and what was left


def elimination(c: float, X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int) -> Found:
    """Drop features of the smallest coefficients; one elimination has the supports of all k."""
    kept = _ELIMINATED.get("X") is X
    if not kept:
        _ELIMINATED.update(X=X, left=_eliminate(X, y, c))
    left = _ELIMINATED["left"]
    return left[k], KEPT if kept else f"{len(left)} fits"


def _eliminate(X: np.ndarray, y: np.ndarray, c: float) -> dict[int, np.ndarray]:
    from sklearn.linear_model import LogisticRegression

    left = {X.shape[1]: np.arange(X.shape[1])}
    while (size := min(left)) > 1:
        w = np.abs(LogisticRegression(C=c, max_iter=1000).fit(X[:, left[size]], y).coef_[0])
        fewer = size - 1 if size <= ONE_BY_ONE else max(size - size // 10, ONE_BY_ONE)
        left[fewer] = left[size][np.sort(np.argsort(-w, kind="stable")[:fewer])]
    return left


def l1(X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int) -> Found:
    """Follow the l1 path."""
    return _path(X, y, k, threads, 1.0)


def elastic_net(X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int) -> Found:
    """Follow the path of l1 and a ridge."""
    return _path(X, y, k, threads, 0.5)


def _path(X: np.ndarray, y: np.ndarray, k: int, threads: int, share: float) -> Found:
    import adelie as ad

    state = ad.grpnet(
        X, ad.glm.binomial((y > 0).astype(np.float64)), alpha=share, n_threads=threads,
        progress_bar=False, early_exit=False, min_ratio=1e-3,
        exit_cond=lambda state: state.active_set_size >= k,
    )  # fmt: skip
    path = np.abs(state.betas.toarray())
    reached = np.flatnonzero(np.count_nonzero(path, axis=1) >= k)
    w = path[reached[0] if reached.size else -1]
    return np.sort(np.argsort(-w, kind="stable")[:k]), f"{len(path)} path points"


def abess(X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int) -> Found:
    """Its defaults."""
    return _abess(X, y, k, C, threads)


def abess_full(X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int) -> Found:
    """Splicing over all features."""
    return _abess(X, y, k, C, threads, important_search=0)


def _abess(X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int, **options: Any) -> Found:
    from abess import LogisticRegression

    # Its objective is the summed loss plus alpha ||u||^2.
    model = LogisticRegression(support_size=k, alpha=0.5 / C, thread=threads, **options)
    model.fit(X, (y > 0).astype(int))
    return np.flatnonzero(np.ravel(model.coef_)), "support_size"


def skscope(X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int) -> Found:
    """ScopeSolver, its defaults."""
    from scipy.optimize import minimize
    from scipy.special import expit
    from skscope import ScopeSolver

    p = X.shape[1]

    def parts(Z: np.ndarray, w: np.ndarray, b: float) -> tuple[float, np.ndarray]:
        margin = y * (Z @ w + b)
        value = float(np.logaddexp(0.0, -margin).sum() + 0.5 / C * w @ w)
        return value, -y * expit(-margin)

    def objective(theta: np.ndarray, _: Any) -> float:
        used = np.flatnonzero(theta[1:])
        return parts(X[:, used], theta[1:][used], theta[0])[0]

    def gradient(theta: np.ndarray, _: Any) -> np.ndarray:
        used = np.flatnonzero(theta[1:])
        residual = parts(X[:, used], theta[1:][used], theta[0])[1]
        return np.concatenate([[residual.sum()], X.T @ residual + theta[1:] / C])

    def solve(
        _: Any, __: Any, theta: np.ndarray, chosen: np.ndarray, data: Any
    ) -> tuple[float, np.ndarray]:
        features = np.sort(chosen)[1:] - 1  # the intercept is always there
        Z = X[:, features]

        def both(v: np.ndarray) -> tuple[float, np.ndarray]:
            value, residual = parts(Z, v[1:], v[0])
            return value, np.concatenate([[residual.sum()], Z.T @ residual + v[1:] / C])

        places = np.concatenate([[0], features + 1])
        found = minimize(both, theta[places], method="L-BFGS-B", jac=True)
        theta[places] = found.x
        return float(found.fun), theta

    solver = ScopeSolver(p + 1, k + 1, len(y), preselect=[0], numeric_solver=solve)
    solver.solve(objective, gradient=gradient)
    support = np.asarray(solver.get_support())
    return np.sort(support[support > 0]) - 1, "sparsity"


def fastsparsegams(X: np.ndarray, y: np.ndarray, k: int, C: float, threads: int) -> Found:
    """CDPSI along its path, and once more around k where the path misses it."""
    import fastsparsegams as library

    n = len(y)
    gamma = 0.5 / (C * n)
    options = {
        "loss": "Logistic",
        "penalty": "L0L2",
        "algorithm": "CDPSI",
        "gamma_max": gamma,
        "gamma_min": 0.5 * gamma,
    }

    def models(**more: Any) -> list[tuple[float, np.ndarray, float]]:
        got = library.fit(X, y, **options, **more)
        columns = got.coeffs[0].tocsc()
        return [
            (lam, np.ravel(columns[:, j].toarray()), b)
            for j, (lam, b) in enumerate(
                zip(got.lambda_0[0], np.ravel(got.intercepts[0]), strict=True)
            )
        ]

    def value(w: np.ndarray, b: float) -> float:
        used = np.flatnonzero(w)
        margin = y * (X[:, used] @ w[used] + b)
        return float(C * np.logaddexp(0.0, -margin).sum() + 0.5 * w @ w)

    path = models(num_lambda=100, num_gamma=1, max_support_size=k + 1)
    how = f"{len(path)} models"
    if not any(np.count_nonzero(w) == k for _, w, _ in path):
        above = min((lam for lam, w, _ in path if np.count_nonzero(w) < k), default=path[0][0])
        below = max((lam for lam, w, _ in path if np.count_nonzero(w) > k), default=0.5 * above)
        grid = [*(lam for lam, _, _ in path if lam > above), *np.geomspace(above, below, 20)]
        path += models(num_lambda=None, num_gamma=None, lambda_grid=[grid], max_support_size=k + 1)
        how = f"{len(path)} models, two paths"
    exact = [(value(w, b), w) for _, w, b in path if np.count_nonzero(w) == k]
    if exact:
        return np.flatnonzero(min(exact, key=lambda one: one[0])[1]), how
    larger = [w for _, w, _ in path if np.count_nonzero(w) > k]
    if not larger:
        return np.flatnonzero(path[-1][1]), f"{how}, none with {k} features or more"
    w = min(larger, key=np.count_nonzero)
    cut = np.argsort(-np.abs(w), kind="stable")[:k]
    return np.sort(cut), f"{how}, cut from {np.count_nonzero(w)}"


# method: (environment, call)
METHODS: dict[str, tuple[str, Callable[..., Found]]] = {
    "zeronorm": ("zeronorm", zeronorm),
    "abess": ("abess", abess),
    "abess_full": ("abess", abess_full),
    "skscope": ("skscope", skscope),
    "fastsparsegams": ("fastsparsegams", fastsparsegams),
    "zeronorm_starts": ("zeronorm", zeronorm_starts),
    "zeronorm_many": ("zeronorm", zeronorm_many),
    "zeronorm_budget": ("zeronorm", zeronorm_budget),
    **{f"elimination_{c:g}": ("sklearn", partial(elimination, c)) for c in (0.01, 0.1, 1.0, 10.0)},
    "l1": ("adelie", l1),
    "elastic_net": ("adelie", elastic_net),
}


class Worker(PeerWorker):
    """The state between requests."""

    def __init__(self, method: str, threads: int) -> None:
        self.environment, self.call = METHODS[method]
        self.threads = threads
        self.y = np.zeros(0)

    def warm(self, _: dict[str, Any]) -> dict[str, Any]:
        """Fit a tiny problem, so that imports and compilation are over."""
        rng = np.random.default_rng(0)
        X = np.asfortranarray(rng.standard_normal((200, 300)))
        y = np.where(X[:, :3].sum(1) + rng.logistic(size=200) > 0, 1.0, -1.0)
        start = time.perf_counter()
        self.call(X, y, 3, 0.1, self.threads)
        return {"first": time.perf_counter() - start}

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Read or draw the data; nothing is converted."""
        if "synthetic" in request:
            from _protocol import Synthetic

            data = Synthetic(**request["synthetic"])
            self.X, self.y = data.matrix("F"), data.labels()
        else:
            folder = Path(request["path"])
            self.X, self.y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
        return {"x_mb": self.X.nbytes / 1e6}

    def fit(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the support, the seconds of every repeat and the peak of memory."""
        arguments = (self.X, self.y, request["k"], request["C"], self.threads)
        with PeakMemory() as memory:
            wall, cpu, (support, how) = clock(lambda: self.call(*arguments))
        seconds, used = [wall], [cpu]
        while len(seconds) < request["repeats"] and wall < QUICK:
            wall, cpu, _ = clock(lambda: self.call(*arguments))
            seconds.append(wall)
            used.append(cpu)
        return {
            "support": np.asarray(support).tolist(),
            "how": how,
            "seconds": seconds,
            "cpu": used,
            "peak_mb": memory.beyond,
        }


if __name__ == "__main__":
    serve(Worker)
