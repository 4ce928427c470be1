"""The best k features with a proof, or without, by one library in its own environment.

    python _rival_peers.py METHOD THREADS

{"op": "version"}
{"op": "limit", "gb": 16}       ends an allocation beyond this size of the process
{"op": "warm"}                  first call, on a tiny problem
{"op": "load", "path": folder}  X.npy, standardised, in column order; y.npy, centred, or -1 and +1
{"op": "fit", "family": "numbers" or "classes", "k": k, "C": C, "most": M, "penalty": l,
 "smaller": [a support of k - 1 features], "gap": 1e-4, "seconds": 15}
{"op": "drop"}                  frees the data

All are asked for exactly k features that minimise

    1/2 ||u||^2 + C sum_i f(y_i, x_i'u + b)

with f half the square for numbers, where b = 0 is the best as columns and y are centred, and the
logistic loss for classes, b free. What they state otherwise is turned into this one, here:

zeronorm    a fit, then `prove(gap=gap, max_abs_coef=M)`: among coefficients of at most M
zeronorm_free  the same among all coefficients
l0bnb       BNBTree.solve(l0=l, l2=1/(2C), m=M) of 1/2 ||y - Xu||^2 + l0 ||u||_0 + l2 ||u||^2,
            |u| <= M. Where its penalised optimum has the bound B, no support of k features is
            below B - l0 k, times C here. It starts from the model of k - 1 features that it is
            given, as its path starts from the model before. Numbers only
l0bnb_path  its `fit_path` as its documentation shows it: penalties and M by its own rules, until a
            model has k features. It returns no bound
okridge     BNBTree(lambda2=1/C).solve(k) of ||y - Xu||^2 - ||y||^2 + lambda2 ||u||^2, times C/2
            here, plus C/2 ||y||^2; coefficients have no bound. Nodes within `gap` of its own
            objective are closed: where its tree ends, this is what is proven. Numbers only
combss      linear.model or logistic.model, fit(q=k, lam_ridge=r), Frank-Wolfe, its default. It has
            mean losses and r ||v||^2 for columns of unit length, which these are not but of length
            sqrt(n): v = sqrt(n) u, and r = 1 / (2 C n^2). It cannot be asked for k without all
            smaller sizes
abess       LinearRegression or LogisticRegression, its ridge as in `_target_peers.py`
abess_0     LinearRegression without a ridge: see there
skscope     ScopeSolver with this objective in NumPy; inner problems on gathered columns, by a
            linear system for numbers and L-BFGS for classes

A fit has `seconds` on the clock; what is longer ends in a TimeoutError. Those with bounds are told
their time limit, and get twice as much again for what comes before it or is not interrupted.
"""

from __future__ import annotations

import contextlib
import io
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import _l0_peers as logistic
import _target_peers as targets
from _common import PeerWorker, clock, serve

GRACE = 3.0  # how much longer than its time limit a search with bounds may take
Course = list[list[float]]  # seconds, objective, bound


@dataclass(frozen=True)
class Asked:
    """A problem as it is asked."""

    family: str
    k: int
    C: float
    most: float | None
    penalty: float | None
    smaller: list[int]
    gap: float
    seconds: float
    threads: int


@dataclass
class Found:
    """A model, and what is proven."""

    support: np.ndarray
    how: str = ""
    bound: float | None = None
    course: Course | None = None


def _fitted(X: np.ndarray, y: np.ndarray, asked: Asked) -> Any:
    from zeronorm import BudgetClassifier, BudgetRegressor

    options = {"method": "l0", "C": asked.C, "standardize": False, "n_threads": asked.threads}
    if asked.family == "numbers":
        return BudgetRegressor(asked.k, fit_intercept=False, **options).fit(X, y)
    return BudgetClassifier(asked.k, calibrate=False, **options).fit(X, y)


def zeronorm(X: np.ndarray, y: np.ndarray, asked: Asked) -> Found:
    """Prove among bounded coefficients."""
    from zeronorm import prove

    start = time.perf_counter()
    model = _fitted(X, y, asked)
    fitted = time.perf_counter() - start
    proof = prove(
        model, X, y, gap=asked.gap, max_abs_coef=asked.most,
        time_limit=max(asked.seconds - fitted, 0.1), n_threads=asked.threads,
    )  # fmt: skip
    course = [[fitted + one.seconds, one.objective, one.bound] for one in proof.history]
    end = proof.certificate
    how = f"{proof.status.name}, {proof.history[-1].n_nodes} nodes"
    return Found(np.asarray(end.support), how, end.bound, course)


def zeronorm_free(X: np.ndarray, y: np.ndarray, asked: Asked) -> Found:
    """Prove among all coefficients."""
    return zeronorm(X, y, Asked(**{**vars(asked), "most": None}))


@contextlib.contextmanager
def _lines() -> Iterator[io.StringIO]:
    """Keep what is printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        yield printed


def _course(text: str) -> Course:
    """Return seconds, objective and bound of lines with "d:", "u:" and "t:"."""
    number = r"\s*([-+.\de]+)"
    pattern = rf"d:{number}.*?u:{number}.*?t:{number}"
    return [[float(t), float(u), float(d)] for d, u, t in re.findall(pattern, text)]


def l0bnb(X: np.ndarray, y: np.ndarray, asked: Asked) -> Found:
    """Search at the penalty that has k features."""
    from l0bnb.tree import BNBTree

    if asked.penalty is None:
        raise ValueError(f"no penalty has a best model of {asked.k} features")
    tree = BNBTree(X, y)
    penalty, C = float(asked.penalty), asked.C
    most = 1e20 if asked.most is None else asked.most
    warm = np.zeros(X.shape[1])
    warm[asked.smaller] = 1.0  # only which ones counts
    with _lines() as printed:
        found = tree.solve(
            penalty, 0.5 / C, most, warm_start=warm, gap_tol=asked.gap, time_limit=asked.seconds,
            verbose=True,
        )  # fmt: skip
    size = np.count_nonzero(found.beta)
    own = found.gap
    if tree.bfs_queue.empty() and tree.dfs_queue.empty() and found.sol_time < asked.seconds:
        own = 0.0  # no node is left, but its gap is of the last level that it closed in order
    # Before its first bound its gap is above 1.
    bound = C * (found.cost - min(own, 1.0) * abs(found.cost) - penalty * asked.k)
    course = [
        [t, C * (u - penalty * size), max(C * (d - penalty * asked.k), 0.0)]
        for t, u, d in _course(printed.getvalue())
    ]
    how = f"{size} features, {tree.number_of_nodes} nodes"
    return Found(np.flatnonzero(found.beta), how, max(bound, 0.0), course)


def l0bnb_path(X: np.ndarray, y: np.ndarray, asked: Asked) -> Found:
    """Follow its path of penalties."""
    from l0bnb import fit_path

    with _lines():
        path = fit_path(
            X, y, lambda_2=0.5 / asked.C, max_nonzeros=asked.k, intercept=False, normalize=False,
            gap_tol=asked.gap, time_limit=asked.seconds,
        )  # fmt: skip
    sizes = [np.count_nonzero(one["B"]) for one in path]
    exact = [one for one, size in zip(path, sizes, strict=True) if size == asked.k]
    last = exact[-1] if exact else path[-1]
    return Found(np.flatnonzero(last["B"]), f"{len(path)} penalties, M = {last['M']:.3g}")


def okridge(X: np.ndarray, y: np.ndarray, asked: Asked) -> Found:
    """Search, what it does before counted in the time."""
    from okridge.tree import BNBTree

    start = time.perf_counter()
    with _lines() as printed:
        tree = BNBTree(X, y, lambda2=1.0 / asked.C)
        before = time.perf_counter() - start
        left = max(asked.seconds - before, 0.1)
        upper, beta, gap, lower, _ = tree.solve(
            asked.k, gap_tol=asked.gap, verbose=True, time_limit=left
        )
    shift = float(y @ y)
    if gap == 0.0:
        lower = upper - asked.gap * abs(upper)
    bound = 0.5 * asked.C * max(lower + shift, 0.0)
    course = [
        [before + t, 0.5 * asked.C * (u + shift), 0.5 * asked.C * max(d + shift, 0.0)]
        for t, u, d in _course(printed.getvalue())
    ]
    how = f"{tree.number_of_nodes} nodes, {before:.1f} s before the search"
    return Found(np.flatnonzero(beta), how, bound, course)


def combss(X: np.ndarray, y: np.ndarray, asked: Asked) -> Found:
    """Take the last of its supports of 1 to k features."""
    from combss import linear, logistic

    numbers = asked.family == "numbers"
    model = (linear if numbers else logistic).model()
    target = y if numbers else (y > 0).astype(int)
    ridge = 0.5 / (asked.C * len(y) ** 2)
    model.fit(X, target, q=asked.k, lam_ridge=ridge, verbose=False)
    return Found(np.asarray(model.subset_list[-1], int), f"supports of 1 to {asked.k}")


def abess(X: np.ndarray, y: np.ndarray, asked: Asked) -> Found:
    """Its defaults, with the ridge of the problem."""
    if asked.family == "classes":
        return Found(*logistic.abess(X, y, asked.k, asked.C, asked.threads))
    data = (X, y, None)
    return Found(targets.abess(data, asked.k, "gaussian", asked.C, asked.threads), "support_size")


def abess_0(X: np.ndarray, y: np.ndarray, asked: Asked) -> Found:
    """Its defaults."""
    data = (X, y, None)
    return Found(targets.abess_0(data, asked.k, "gaussian", asked.C, asked.threads), "no ridge")


def skscope(X: np.ndarray, y: np.ndarray, asked: Asked) -> Found:
    """ScopeSolver, its defaults."""
    if asked.family == "classes":
        return Found(*logistic.skscope(X, y, asked.k, asked.C, asked.threads))
    from skscope import ScopeSolver

    ridge = 1.0 / asked.C

    def residual(theta: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(theta)
        return np.asarray(y - X[:, used] @ theta[used])

    def objective(theta: np.ndarray, _: Any) -> float:
        r = residual(theta)
        return float(0.5 * r @ r + 0.5 * ridge * theta @ theta)

    def gradient(theta: np.ndarray, _: Any) -> np.ndarray:
        return np.asarray(ridge * theta - X.T @ residual(theta))

    def solve(
        _: Any, __: Any, theta: np.ndarray, chosen: np.ndarray, data: Any
    ) -> tuple[float, np.ndarray]:
        Z = X[:, chosen]
        theta[chosen] = np.linalg.solve(Z.T @ Z + ridge * np.eye(len(chosen)), Z.T @ y)
        return objective(theta, data), theta

    solver = ScopeSolver(X.shape[1], asked.k, len(y), numeric_solver=solve)
    solver.solve(objective, gradient=gradient)
    return Found(np.sort(np.asarray(solver.get_support())), "sparsity")


# method: (environment, call)
METHODS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray, Asked], Found]]] = {
    "zeronorm": ("zeronorm", zeronorm),
    "zeronorm_free": ("zeronorm", zeronorm_free),
    "l0bnb": ("l0bnb", l0bnb),
    "l0bnb_path": ("l0bnb", l0bnb_path),
    "okridge": ("okridge", okridge),
    "combss": ("combss", combss),
    "abess": ("abess", abess),
    "abess_0": ("abess", abess_0),
    "skscope": ("skscope", skscope),
}
NUMBERS_ONLY = ("l0bnb", "l0bnb_path", "okridge", "abess_0")  # no other loss


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after so many seconds, as soon as Python runs again."""

    def end(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    # Again and again: compiled code may swallow an exception, or make another one of it.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
    start = time.perf_counter()
    try:
        yield
    except Exception as error:
        if time.perf_counter() - start > seconds:
            raise TimeoutError(f"over {seconds:g} s") from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


class Worker(PeerWorker):
    """The state between requests."""

    def __init__(self, method: str, threads: int) -> None:
        self.method, self.threads = method, threads
        self.environment, self.call = METHODS[method]
        self.y = np.zeros(0)

    def warm(self, _: dict[str, Any]) -> dict[str, Any]:
        """Solve tiny problems, so that imports and compilation are over."""
        rng = np.random.default_rng(0)
        X = np.asfortranarray(rng.standard_normal((60, 20)))
        X = (X - X.mean(0)) / X.std(0)
        score = X[:, :2].sum(1) + rng.standard_normal(60)
        start = time.perf_counter()
        for family, y in (("numbers", score - score.mean()), ("classes", np.sign(score))):
            if family == "numbers" or self.method not in NUMBERS_ONLY:
                self.call(X, y, Asked(family, 2, 1.0, 2.0, 5.0, [0], 1e-4, 60.0, self.threads))
        return {"first": time.perf_counter() - start}

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Read the data; nothing is converted."""
        folder = Path(request["path"])
        self.X, self.y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
        return {"x_mb": self.X.nbytes / 1e6}

    def fit(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the support, the bound, its course and the seconds."""
        del request["op"]
        asked = Asked(**request, threads=self.threads)
        bounded = self.environment in ("zeronorm", "okridge") or self.call is l0bnb
        with _at_most(asked.seconds * (GRACE if bounded else 1.0)):
            wall, cpu, found = clock(lambda: self.call(self.X, self.y, asked))
        return vars(found) | {"support": found.support.tolist(), "seconds": wall, "cpu": cpu}


if __name__ == "__main__":
    serve(Worker)
