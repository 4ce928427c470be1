"""Features in groups by one library in its own environment: requests as in `_peers.py`.

    python _bilevel_peers.py METHOD THREADS

{"op": "version"}
{"op": "limit", "gb": 10}               ends an allocation beyond this size of the process
{"op": "warm"}                          first and second call, on a tiny problem
{"op": "load", "path": folder}          X.npy, y.npy and groups.npy of the folder
{"op": "fit", "k": 50, "g": 10, "penalty": 0.1}
{"op": "path", "k": 50, "g": 10, "penalties": [...]}      only of those with a penalty
{"op": "many", "sizes": [...], "logistic": false, "out": file}     only abess
{"op": "drop"}                          frees the data

X is dense float64 in column order, which most of them want; what else a library has to convert, it
converts within the call. Groups are contiguous. With L(w, b) = 1/(2n) ||y - Xw - b||^2 and the
weights sqrt(p_g) of groups of p_g features, they are asked for

zeronorm        BilevelRegressor(n_features=k, n_groups=g): min L, at most k features of g groups
omp             OrthogonalMatchingPursuit(n_nonzero_coefs=k) of scikit-learn; no groups
abess           LinearRegression(support_size=k): no groups
abess_groups    LinearRegression(support_size=g, group=...): whole groups
adelie          grpnet: min L + penalty * sum_g sqrt(p_g) ||w_g||, tol 1e-7 (its default)
celer           GroupLasso: the same problem, tol 1e-4 (its default, relative to ||y||^2 / n)
skglm           GroupLasso: the same problem, tol 1e-4 (its default)
groupyr         SGL: min L + penalty * (a ||w||_1 + (1 - a) sum_g sqrt(p_g) ||w_g||), a = 1/2,
                tol 1e-7 (its default). The proximal step of 0.3.4 shrinks groups only where all of
                them are active, else it keeps or removes them: its models are others than stated
asgl            Regressor(penalization="sgl"): the same problem, its loss is 2 L; solved by CVXPY,
                coefficients below 1e-3 are zeros (its default)

"fit" is a cold start at one penalty. "path" goes down the penalties, each from the last (adelie:
its own path), and ends where k features of g groups are in the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from _common import PeakMemory, PeerWorker, clock, serve

L1_SHARE = 0.5  # of the sparse group lasso

Coefs = Iterator[np.ndarray]


def zeronorm(X: np.ndarray, y: np.ndarray, groups: np.ndarray, k: int, g: int) -> np.ndarray:
    """BilevelRegressor."""
    from zeronorm.published import BilevelRegressor

    return np.asarray(BilevelRegressor(k, g, feature_groups=groups, n_threads=1).fit(X, y).coef_)


def omp(X: np.ndarray, y: np.ndarray, groups: np.ndarray, k: int, g: int) -> np.ndarray:
    """Orthogonal matching pursuit of scikit-learn."""
    from sklearn.linear_model import OrthogonalMatchingPursuit

    return np.asarray(OrthogonalMatchingPursuit(n_nonzero_coefs=k).fit(X, y).coef_)


def abess(X: np.ndarray, y: np.ndarray, groups: np.ndarray, k: int, g: int) -> np.ndarray:
    """Splicing with its defaults."""
    from abess import LinearRegression

    return np.ravel(LinearRegression(support_size=k).fit(X, y).coef_)


def abess_groups(X: np.ndarray, y: np.ndarray, groups: np.ndarray, k: int, g: int) -> np.ndarray:
    """Splicing of groups with its defaults."""
    from abess import LinearRegression

    return np.ravel(LinearRegression(support_size=g, group=groups).fit(X, y).coef_)


def adelie(X: np.ndarray, y: np.ndarray, groups: np.ndarray, penalties: Any, k: int) -> Coefs:
    """Its group elastic net; k = 0: the whole path."""
    import adelie as ad

    start = np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1])
    size = int(np.diff(start).max(initial=1))
    state = ad.grpnet(
        ad.matrix.dense(X, method="naive", n_threads=1),
        ad.glm.gaussian(y),
        groups=start,
        lmda_path=np.asarray(penalties),
        early_exit=False,
        progress_bar=False,
        exit_cond=(lambda state: state.active_set_size * size >= k) if k else None,
    )
    betas = state.betas.tocsr()
    for row in range(betas.shape[0]):
        yield betas[row].toarray().ravel()


def celer(X: np.ndarray, y: np.ndarray, groups: np.ndarray, penalties: Any, k: int) -> Coefs:
    """GroupLasso, from one penalty to the next."""
    from celer import GroupLasso

    yield from _stepwise(GroupLasso, X, y, groups, penalties)


def skglm(X: np.ndarray, y: np.ndarray, groups: np.ndarray, penalties: Any, k: int) -> Coefs:
    """GroupLasso, from one penalty to the next."""
    from skglm import GroupLasso

    yield from _stepwise(GroupLasso, X, y, groups, penalties)


def _stepwise(
    estimator: Any, X: np.ndarray, y: np.ndarray, groups: np.ndarray, penalties: Any
) -> Coefs:
    sizes = np.bincount(groups)
    model = estimator(
        groups=sizes.tolist(), alpha=1.0, weights=np.sqrt(sizes), warm_start=len(penalties) > 1
    )
    for penalty in penalties:
        yield np.array(model.set_params(alpha=penalty).fit(X, y).coef_)


def groupyr(X: np.ndarray, y: np.ndarray, groups: np.ndarray, penalties: Any, k: int) -> Coefs:
    """SGL, from one penalty to the next."""
    from groupyr import SGL

    members = [np.flatnonzero(groups == code) for code in range(groups.max() + 1)]
    model = SGL(l1_ratio=L1_SHARE, groups=members, warm_start=len(penalties) > 1)
    for penalty in penalties:
        yield np.array(model.set_params(alpha=penalty).fit(X, y).coef_)


def asgl(X: np.ndarray, y: np.ndarray, groups: np.ndarray, penalties: Any, k: int) -> Coefs:
    """Regressor, penalty by penalty."""
    from asgl import Regressor

    for penalty in penalties:
        model = Regressor(model="lm", penalization="sgl", lambda1=2.0 * penalty, alpha=L1_SHARE)
        yield np.ravel(model.fit(X, y, group_index=groups).coef_)


Call = Callable[..., Any]
BUDGETS: dict[str, tuple[str, Call]] = {
    "zeronorm": ("zeronorm", zeronorm),
    "omp": ("sklearn", omp),
    "abess": ("abess", abess),
    "abess_groups": ("abess", abess_groups),
}
PENALISED: dict[str, tuple[str, Call]] = {
    "adelie": ("adelie", adelie),
    "celer": ("celer", celer),
    "skglm": ("skglm", skglm),
    "groupyr": ("groupyr", groupyr),
    "asgl": ("asgl", asgl),
}
METHODS = BUDGETS | PENALISED


def enough(coef: np.ndarray, groups: np.ndarray, k: int, g: int) -> bool:
    """Return whether a model has at least k features and at least g groups."""
    used = np.flatnonzero(coef)
    return bool(used.size >= k and np.unique(groups[used]).size >= g)


class Worker(PeerWorker):
    """The state between requests."""

    def __init__(self, method: str, threads: int) -> None:
        self.method = method
        self.environment, self.call = METHODS[method]
        self.y = self.groups = np.zeros(0)

    def warm(self, _: dict[str, Any]) -> dict[str, Any]:
        """Time the first and the second call on a tiny problem; the difference is compilation."""
        rng = np.random.default_rng(0)
        self.X = np.asfortranarray(rng.standard_normal((60, 40)))
        self.y = self.X[:, :3].sum(1) + 0.1 * rng.standard_normal(60)
        self.groups = np.repeat(np.arange(8), 5)
        seconds = [clock(lambda: self._one(3, 1, 0.1))[:2] for _ in range(2)]
        self.drop({})
        return {"first": seconds[0], "second": seconds[1]}

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Read the data; nothing is converted."""
        folder = Path(request["path"])
        self.X, self.y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
        self.groups = np.load(folder / "groups.npy")
        return {"x_mb": self.X.nbytes / 1e6}

    def _one(self, k: int, g: int, penalty: float | None) -> np.ndarray:
        if self.method in BUDGETS:
            return np.asarray(self.call(self.X, self.y, self.groups, k, g))
        return next(iter(self.call(self.X, self.y, self.groups, [penalty], 0)))

    def fit(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the support, the seconds and the peak of memory."""
        with PeakMemory() as memory:
            wall, cpu, coef = clock(
                lambda: self._one(request["k"], request["g"], request.get("penalty"))
            )
        return {
            "support": np.flatnonzero(coef).tolist(),
            "seconds": wall,
            "cpu": cpu,
            "peak_mb": memory.beyond,
        }

    def path(self, request: dict[str, Any]) -> dict[str, Any]:
        """Go down the penalties until k features of g groups are in; return where that was."""
        k, g, penalties = request["k"], request["g"], request["penalties"]

        def walk() -> tuple[int, np.ndarray]:
            coef = np.zeros(self.groups.size)
            found = self.call(self.X, self.y, self.groups, penalties, max(k, g * self._size))
            for place, coef in enumerate(found):
                if enough(coef, self.groups, k, g):
                    return place, coef
            return -1, coef

        wall, cpu, (place, coef) = clock(walk)
        return {
            "place": place,
            "support": np.flatnonzero(coef).tolist(),
            "seconds": wall,
            "cpu": cpu,
        }

    @property
    def _size(self) -> int:
        return int(np.bincount(self.groups).max())

    def many(self, request: dict[str, Any]) -> dict[str, Any]:
        """Fit abess at all sizes; write an array (sizes, 1 + p), the intercept first."""
        from abess import LinearRegression, LogisticRegression

        logistic = request["logistic"]
        estimator = LogisticRegression if logistic else LinearRegression
        group = self.groups if self.method == "abess_groups" else None
        y = (self.y > 0).astype(int) if logistic else self.y

        def fit_all() -> np.ndarray:
            models = [
                estimator(support_size=size, group=group).fit(self.X, y)
                for size in request["sizes"]
            ]
            return np.array([np.append(m.intercept_, m.coef_) for m in models])

        wall, cpu, found = clock(fit_all)
        np.save(request["out"], found)
        return {"seconds": wall, "cpu": cpu}


if __name__ == "__main__":
    serve(Worker)
