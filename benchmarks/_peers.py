"""One library in its own environment: requests as lines of JSON on stdin, replies on stdout.

    python _peers.py METHOD THREADS

{"op": "load", "path": folder}      X.npy or X.npz and y.npy of the folder
{"op": "load", "synthetic": {...}}  a `_protocol.Synthetic`, drawn here
{"op": "fit", "k": k, "options": {...}}
{"op": "products", "count": 11}     BLAS products with the loaded X, for scale
{"op": "version"}
{"op": "quit"}

`load` also converts the data to what the library wants (`prepare`, timed apart). `fit` selects
exactly k features and answers with the support, wall and CPU seconds, the peak of resident memory
beyond the loaded and converted data, and how the size was reached. Nothing is refitted here.

The l1 libraries cannot be asked for a size. All but adelie search alike (`_search`): 1/C falls
from its largest useful value by a fixed ratio until there are at least k non-zeros, then the last
interval is bisected until the count lies in [k, 1.02 k]; the k largest coefficients are kept.
Libraries with a warm start use it with ratio 0.9, the others start cold with ratio 0.5.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from _common import PACKAGES, PeakMemory, clock, resident, serve

Weights = np.ndarray
Found = tuple[np.ndarray, str]  # support, how it was reached


def _largest(w: Weights, k: int) -> np.ndarray:
    """Return the k largest |w| among the non-zeros, or all of them."""
    used = np.flatnonzero(w)
    return used[np.argsort(-np.abs(w[used]), kind="stable")[:k]]


def _lambda_max(X: Any, y: np.ndarray, intercept: bool) -> float:
    """Return the smallest penalty of the summed loss at which all coefficients are zero."""
    residual = (y > 0) - ((y > 0).mean() if intercept else 0.5)
    return float(np.abs(np.asarray(X.T @ residual)).max())


def _search(fit: Callable[[float], Weights], top: float, k: int, ratio: float) -> Found:
    """Return k features by a search on the penalty, as described above."""
    fits = 0
    lam, above = top, top

    def enough(w: Weights) -> bool:
        return k <= np.count_nonzero(w) <= max(k, int(1.02 * k))

    while True:
        above, lam = lam, lam * ratio
        w = fit(lam)
        fits += 1
        if np.count_nonzero(w) >= k or lam < 1e-5 * top:
            break
    below = lam
    best = w
    while not enough(best) and np.count_nonzero(best) > k and fits < 60:
        if below / above > 1 - 1e-6:
            break
        middle = float(np.sqrt(above * below))
        w = fit(middle)
        fits += 1
        if np.count_nonzero(w) >= k:
            below, best = middle, w
        else:
            above = middle
    count = np.count_nonzero(best)
    return _largest(best, k), f"{fits} fits, {count} non-zeros"


class Marginal:
    """|correlation| with the label: one pass over X."""

    def __init__(self, X: Any, y: np.ndarray, threads: int) -> None:
        self.X, self.y = X, y

    def fit(self, k: int) -> Found:
        """Select k features."""
        from _protocol import correlation

        score = correlation(self.X, self.y)
        return np.argsort(-score, kind="stable")[:k], "one pass"


class Liblinear:
    """LIBLINEAR -s 6 (l1 logistic regression), the regularised bias of -B 1."""

    def __init__(self, X: Any, y: np.ndarray, threads: int) -> None:
        import scipy.sparse as sp
        from liblinear.liblinearutil import problem

        self.p = X.shape[1]
        self.top = _lambda_max(X, y, True)
        self.problem = problem(y, sp.csr_matrix(X), bias=1)

    def fit(self, k: int) -> Found:
        """Select k features."""
        from liblinear.liblinearutil import parameter, train

        def one(lam: float) -> Weights:
            model = train(self.problem, parameter(f"-s 6 -c {1 / lam} -q"))
            return np.ctypeslib.as_array(model.w, shape=(self.p + 1,))[: self.p].copy()

        return _search(one, self.top, k, 0.5)


class Sklearn:
    """scikit-learn's LogisticRegression with solver="liblinear", a regularised intercept."""

    def __init__(self, X: Any, y: np.ndarray, threads: int) -> None:
        import scipy.sparse as sp

        self.X, self.y = (sp.csr_matrix(X) if sp.issparse(X) else np.ascontiguousarray(X)), y
        self.top = _lambda_max(X, y, True)

    def fit(self, k: int) -> Found:
        """Select k features."""
        from sklearn.linear_model import LogisticRegression

        def one(lam: float) -> Weights:
            model = LogisticRegression(C=1 / lam, l1_ratio=1, solver="liblinear", tol=1e-3)
            return np.asarray(model.fit(self.X, self.y).coef_[0])

        return _search(one, self.top, k, 0.5)


class Abess:
    """abess.LogisticRegression(support_size=k), default options otherwise."""

    def __init__(self, X: Any, y: np.ndarray, threads: int) -> None:
        import scipy.sparse as sp

        self.X, self.y, self.threads = X, (y > 0).astype(int), max(threads, 1)
        self.sparse = sp.issparse(X)

    def fit(self, k: int) -> Found:
        """Select k features."""
        from abess import LogisticRegression

        model = LogisticRegression(support_size=k, thread=self.threads)
        model.fit(self.X, self.y, sparse_matrix=self.sparse)
        return np.flatnonzero(np.asarray(model.coef_).ravel()), "support_size"


class Adelie:
    """adelie's l1 path of 100 points, ended once more than k features are active."""

    def __init__(self, X: Any, y: np.ndarray, threads: int) -> None:
        import adelie as ad
        import scipy.sparse as sp

        self.threads = max(threads, 1)
        if sp.issparse(X):
            X = sp.csc_matrix(X).astype(np.float64)
            X.sort_indices()
            self.X, dtype = ad.matrix.sparse(X, n_threads=self.threads), np.float64
        else:
            dtype = np.float32 if X.dtype == np.float32 else np.float64
            self.X = ad.matrix.dense(np.asfortranarray(X, dtype=dtype), n_threads=self.threads)
        self.glm = ad.glm.binomial((y > 0).astype(dtype), dtype=dtype)

    def fit(self, k: int) -> Found:
        """Select k features."""
        import adelie as ad

        state = ad.grpnet(
            self.X,
            self.glm,
            n_threads=self.threads,
            progress_bar=False,
            early_exit=False,
            min_ratio=1e-3,
            exit_cond=lambda state: state.active_set_size >= k,
        )
        betas = state.betas.tocsr()
        betas.eliminate_zeros()
        counts = np.diff(betas.indptr)
        reached = np.flatnonzero(counts >= k)
        point = int(reached[0]) if reached.size else len(counts) - 1
        w = np.asarray(betas[point].todense()).ravel()
        return _largest(w, k), f"{len(counts)} path points, {counts[point]} non-zeros"


class Celer:
    """celer.LogisticRegression, warm started. It has no intercept."""

    def __init__(self, X: Any, y: np.ndarray, threads: int) -> None:
        import scipy.sparse as sp

        self.X = sp.csc_matrix(X) if sp.issparse(X) else np.asfortranarray(X, dtype=np.float64)
        self.y = y
        self.top = _lambda_max(X, y, False)

    def fit(self, k: int) -> Found:
        """Select k features."""
        from celer import LogisticRegression

        model = LogisticRegression(warm_start=True, tol=1e-3)

        def one(lam: float) -> Weights:
            model.set_params(C=1 / lam)
            return np.array(model.fit(self.X, self.y).coef_[0])

        return _search(one, self.top, k, 0.9)


class Skglm:
    """skglm.SparseLogisticRegression, warm started, free intercept."""

    def __init__(self, X: Any, y: np.ndarray, threads: int) -> None:
        import scipy.sparse as sp

        self.X = sp.csc_matrix(X) if sp.issparse(X) else np.asfortranarray(X, dtype=np.float64)
        self.y = y
        self.top = _lambda_max(X, y, True)

    def fit(self, k: int) -> Found:
        """Select k features."""
        from skglm import SparseLogisticRegression

        model = SparseLogisticRegression(warm_start=True, tol=1e-3)

        def one(lam: float) -> Weights:
            model.set_params(alpha=lam / len(self.y))
            return np.array(model.fit(self.X, self.y).coef_[0])

        return _search(one, self.top, k, 0.9)


class Budget:
    """zeronorm.BudgetClassifier(n_features=k), default options otherwise."""

    def __init__(self, X: Any, y: np.ndarray, threads: int) -> None:
        self.X, self.y, self.threads = X, y, threads or None
        self.model: Any = None

    def fit(self, k: int, **options: Any) -> Found:
        """Select k features; `self.model` is the fitted estimator."""
        from zeronorm import BudgetClassifier

        self.model = BudgetClassifier(k, n_threads=self.threads, **options).fit(self.X, self.y)
        return self.model.support_, f"{self.model.n_scans_} scans"


class Plain(Budget):
    """zeronorm.BudgetClassifier(n_features=k) without calibrated probabilities: one selection."""

    def fit(self, k: int, **options: Any) -> Found:
        """Select k features."""
        return super().fit(k, calibrate=False, **options)


class Minimax(Budget):
    """zeronorm.published.MinimaxLogisticRegression(n_features=k), default options otherwise."""

    def fit(self, k: int, **options: Any) -> Found:
        """Select k features."""
        from zeronorm.published import MinimaxLogisticRegression

        self.model = MinimaxLogisticRegression(k, n_threads=self.threads, **options)
        self.model.fit(self.X, self.y)
        return self.model.support_, f"{self.model.n_scans_} scans"


class Published(Budget):
    """zeronorm.published.MinimaxLogisticRegression.as_published(k): the paper's settings."""

    def fit(self, k: int, **options: Any) -> Found:
        """Select k features."""
        from zeronorm.published import MinimaxLogisticRegression

        self.model = MinimaxLogisticRegression.as_published(k)
        self.model.set_params(n_threads=self.threads, **options).fit(self.X, self.y)
        return self.model.support_, f"{self.model.n_scans_} scans"


# method: (environment, class)
METHODS: dict[str, tuple[str, Any]] = {
    "zeronorm": ("zeronorm", Budget),
    "zeronorm_plain": ("zeronorm", Plain),
    "zeronorm_minimax": ("zeronorm", Minimax),
    "zeronorm_published": ("zeronorm", Published),
    "liblinear": ("liblinear", Liblinear),
    "sklearn": ("sklearn", Sklearn),
    "abess": ("abess", Abess),
    "adelie": ("adelie", Adelie),
    "celer": ("celer", Celer),
    "skglm": ("skglm", Skglm),
    "marginal": ("zeronorm", Marginal),
}
IMPORTS = {"liblinear": "liblinear.liblinearutil"}


class Worker:
    """The state between requests."""

    def __init__(self, method: str, threads: int) -> None:
        self.environment, self.kind = METHODS[method]
        self.threads = threads
        self.engine: Any = None

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Read or draw the data, and convert them."""
        self.engine = None
        if "synthetic" in request:
            from _protocol import Synthetic

            data = Synthetic(**request["synthetic"])
            X, y = data.matrix(request.get("order", "F")), data.labels()
        else:
            folder = Path(request["path"])
            y = np.load(folder / "y.npy")
            if (folder / "X.npy").exists():
                X = np.load(folder / "X.npy")
            else:
                import scipy.sparse as sp

                X = sp.load_npz(folder / "X.npz")
        importlib.import_module(IMPORTS.get(self.environment, self.environment))
        raw = resident()
        seconds, _, self.engine = clock(lambda: self.kind(X, y, self.threads))
        return {"prepare": seconds, "raw_mb": raw, "resident_mb": resident()}

    def fit(self, request: dict[str, Any]) -> dict[str, Any]:
        """Select k features."""
        options = request.get("options", {})
        with PeakMemory() as memory:
            wall, cpu, (support, how) = clock(lambda: self.engine.fit(request["k"], **options))
        return {
            "support": np.asarray(support).tolist(),
            "seconds": wall,
            "cpu": cpu,
            "peak_mb": memory.beyond,
            "how": how,
            **self._own_model(),
        }

    def _own_model(self) -> dict[str, Any]:
        model = getattr(self.engine, "model", None)
        if model is None:
            return {}
        coef = np.asarray(model.coef_)[0, model.support_]
        return {
            "coef": coef.tolist(),
            "intercept": float(np.ravel(model.intercept_)[0]),
            "phases": {name: float(value) for name, value in model.seconds_.items()},
        }

    def products(self, request: dict[str, Any]) -> dict[str, Any]:
        """Time X.T @ v by BLAS on the very array that is fitted, in its own type."""
        X = self.engine.X
        v = np.random.default_rng(0).standard_normal(X.shape[0]).astype(X.dtype)

        def run() -> None:
            for _ in range(request["count"]):
                X.T @ v

        seconds, cpu, _ = clock(run)
        return {"seconds": seconds, "cpu": cpu, "x_mb": X.nbytes / 1e6}

    def version(self, _: dict[str, Any]) -> dict[str, Any]:
        """Return the version of the library."""
        name = "numpy" if self.kind is Marginal else self.environment
        name = PACKAGES.get(name, name)
        return {"version": importlib.metadata.version(name)}


if __name__ == "__main__":
    serve(Worker)
