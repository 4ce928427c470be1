"""The methods that `defaults.py` compares: ours without an option, and simple ones.

default    the front door: `BudgetClassifier`, `BudgetRegressor` (of counts with loss="poisson", the
           one option, and the logarithm of an exposure as offset), `BudgetSurvivalAnalysis`, one
           fit of all sizes
each       the same with a fit for each size
l1, l0,    the same as default, with that `method`
minimax
single     the k features of largest association with the target, one at a time: the correlation
           with classes and numbers, the sum of its squares over responses, the score test of counts
           and of Cox's model
lasso_k    the l1 path (of responses the multi-task one): the last point with at most k features,
           filled up to k in the order of entry and then by the association
enet_k     the same with half of the penalty a ridge
abess      its default fit of size k (of counts with an exposure: the rates, weighted by it)
lasso_cv   the lasso of any size, the penalty by five folds, with its own coefficients

Paths of the lasso: scikit-learn's of numbers and responses, scikit-survival's Coxnet of survival
times, `glm_path` below of classes and counts. single, lasso_k, enet_k and abess end with the ridge
of `_defaults_ridge.py`; ours end with their own final fits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

import _protocol as protocol
from _defaults_figures import (
    Linear,
    partial_likelihood,
    poisson_deviance,
    risk_order,
    structured,
    survival_curves,
)
from _defaults_ridge import Standard, folds, ridge, standard
from _defaults_sets import Split

Models = dict[int, Linear]  # by k

ABESS_LIMIT = 60.0  # seconds of the clock for its fits of one split
POINTS, RATIO = 88, 0.9  # of a path: down to 1e-4 of the largest penalty
CV_POINTS, CV_LEAST = 20, 2e-2  # of the path of lasso_cv, and the least share of the largest


# ------------------------------------------------------------------------------------------- ours


def ours(p: Split, sizes: list[int], **options: Any) -> Models:
    """Return our models; that of the largest size is checked to predict what the estimator does."""
    import zeronorm

    y: np.ndarray = structured(p.y) if p.target == "survival" else p.y
    fit, new = {}, {}
    kind: Any = zeronorm.BudgetRegressor
    if p.target == "classes":
        kind = zeronorm.BudgetClassifier
    elif p.target == "survival":
        kind = zeronorm.BudgetSurvivalAnalysis
    elif p.target == "counts":
        options["loss"] = "poisson"
        if np.ptp(p.exposure) > 0:
            fit, new = {"offset": np.log(p.exposure)}, {"offset": np.log(p.exposure_test)}
    model = kind(sizes, n_threads=1, **options).fit(p.X, y, **fit)
    found = {}
    for k in sizes:
        one = model.path_[k]
        intercept = 0.0 if p.target == "survival" else one.intercept
        found[k] = Linear(np.asarray(one.support), np.asarray(one.coef), intercept)
    _check(p, model, found[max(sizes)], new)
    return found


def _check(p: Split, model: Any, linear: Linear, new: dict[str, np.ndarray]) -> None:
    """Raise an error where the estimator predicts something else than its linear model."""
    z = linear.margins(p.X_test)
    if p.target == "classes":
        said, expected = model.predict_proba(p.X_test)[:, 1], expit(z)
    elif p.target == "survival":
        times = np.quantile(p.y[:, 0], [0.2, 0.5, 0.7])
        curves = model.predict_survival_function(p.X_test)
        said = np.array([curve(times) for curve in curves])
        expected = survival_curves(p.y, linear.margins(p.X), z, times)
    else:
        said = model.predict(p.X_test, **new)
        expected = p.exposure_test * np.exp(z) if p.target == "counts" else z
    if not np.allclose(said, expected, rtol=1e-6, atol=1e-9):
        raise AssertionError("the estimator does not predict what its path_ says.")


def each(p: Split, sizes: list[int]) -> Models:
    """Return the defaults of a fit for each size."""
    return {k: ours(p, [k])[k] for k in sizes}


def _with(method: str) -> Callable[[Split, list[int]], Models]:
    return lambda p, sizes: ours(p, sizes, method=method)


# ------------------------------------------------------------------------------------- association


def association(p: Split, Z: np.ndarray) -> np.ndarray:
    """Return how strongly each column, alone, is associated with the target."""
    if p.target in ("classes", "regression", "responses"):
        y = p.y.reshape(len(p.y), -1) - p.y.mean(axis=0)
        return np.asarray(((Z.T @ y) ** 2).sum(axis=1))
    if p.target == "counts":
        mean = p.exposure * p.y.sum() / p.exposure.sum()
        centred = Z - mean @ Z / mean.sum()
        return np.asarray((Z.T @ (p.y - mean)) ** 2 / (mean @ centred**2))
    order, last = risk_order(p.y)
    X, event = Z[order], p.y[order, 1] > 0
    count = (last[event] + 1.0)[:, None]
    first = np.cumsum(X, axis=0)[last[event]] / count
    second = np.cumsum(X**2, axis=0)[last[event]] / count
    return np.asarray((X[event] - first).sum(axis=0) ** 2 / (second - first**2).sum(axis=0))


# --------------------------------------------------------------------------------------- l1 paths


class Point(NamedTuple):
    """A point of a path, on standardised columns."""

    support: np.ndarray
    coef: np.ndarray
    intercept: float


def glm_path(
    Z: np.ndarray, y: np.ndarray, exposure: np.ndarray | None, mix: float, grid: np.ndarray | None
) -> Iterator[Point]:
    """Yield the points of min f(Zw + b) + lam (mix ||w||_1 + (1 - mix)/2 ||w||^2), b free.

    f is the summed logistic loss of y of 1 and -1, or with an exposure the Poisson one. Weighted
    least squares over a working set with scikit-learn's coordinate descent, until no other column
    is above its bound by 1e-3 of lam. grid : the values of lam; None for shares of the largest.
    """
    of_counts = exposure is not None
    positive = y > 0
    offset = np.zeros(len(y)) if exposure is None else np.log(exposure)

    def state(z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss, minus its derivative, and its second derivative."""
        if of_counts:
            mean = np.exp(np.minimum(z + offset, 100.0))
            return float((mean - y * (z + offset)).sum()), y - mean, np.maximum(mean, 1e-8)
        share = expit(z)
        loss = np.logaddexp(0.0, np.where(positive, -z, z)).sum()
        return float(loss), positive - share, np.maximum(share * (1.0 - share), 1e-5)

    share = y.sum() / np.exp(offset).sum() if of_counts else positive.mean()
    b = float(np.log(share) if of_counts else np.log(share / (1.0 - share)))
    scores = Z.T @ state(np.full(len(y), b))[1]
    top = float(np.abs(scores).max()) / mix
    w = np.zeros(Z.shape[1])
    previous = top
    for lam in top * RATIO ** np.arange(1, POINTS) if grid is None else grid:
        working = np.flatnonzero((w != 0) | (np.abs(scores) >= mix * (2 * lam - previous)))
        while True:
            w[working], b, residual = _reweighted(Z[:, working], w[working], b, lam, mix, state)
            scores = Z.T @ residual
            out = np.setdiff1d(np.flatnonzero(np.abs(scores) > 1.001 * mix * lam), working)
            if out.size == 0:
                break
            working = np.sort(np.concatenate([working, out]))
        previous = lam
        support = np.flatnonzero(w)
        yield Point(support, w[support].copy(), b)


def _reweighted(
    Z: np.ndarray, w: np.ndarray, b: float, lam: float, mix: float, state: Callable[..., Any]
) -> tuple[np.ndarray, float, np.ndarray]:
    from sklearn.linear_model import enet_path

    def penalty(w: np.ndarray) -> float:
        return lam * (mix * float(np.abs(w).sum()) + 0.5 * (1.0 - mix) * float(w @ w))

    loss, residual, weight = state(Z @ w + b)
    for _ in range(50):
        total = weight.sum()
        target = Z @ w + b + residual / weight
        mean, level, root = weight @ Z / total, weight @ target / total, np.sqrt(weight)
        new = w
        if w.size:
            A, r = np.asfortranarray(root[:, None] * (Z - mean)), root * (target - level)
            new = enet_path(
                A, r, l1_ratio=mix, alphas=[lam / len(r)], coef_init=w.copy(), tol=1e-6,
                max_iter=1000,
            )[1][:, 0]  # fmt: skip
        dw, db = new - w, level - float(mean @ new) - b
        length, before = 1.0, loss + penalty(w)
        while length > 1e-6:
            part = state(Z @ (w + length * dw) + b + length * db)
            if part[0] + penalty(w + length * dw) <= before + 1e-12 * abs(before):
                break
            length *= 0.5
        else:
            break
        w, b = w + length * dw, b + length * db
        loss, residual, weight = part
        if before - loss - penalty(w) <= 1e-7 * abs(before):
            break
    return w, b, residual


def path_supports(p: Split, Z: np.ndarray, mix: float, size: int) -> protocol.L1Path:
    """Return the supports of a path as far as one has more than `size` features."""
    supports: list[np.ndarray] = []
    order: list[int] = []
    strength = association(p, Z)
    for coef in _coefficients(p, Z, mix):
        support = np.flatnonzero(coef)
        new = support[~np.isin(support, order)]
        order += new[np.argsort(-np.abs(coef[new]), kind="stable")].tolist()
        supports.append(support)
        if support.size > size:
            break
    return protocol.L1Path(supports, np.array(order, dtype=np.int64), strength)


def _coefficients(p: Split, Z: np.ndarray, mix: float) -> Iterator[np.ndarray]:
    """Yield the coefficients along a path; of responses their norms."""
    if p.target in ("classes", "counts"):
        for point in glm_path(Z, p.y, p.exposure if p.target == "counts" else None, mix, None):
            w = np.zeros(Z.shape[1])
            w[point.support] = point.coef
            yield w
    elif p.target == "survival":
        yield from coxnet(Z, p.y, mix, None)[0].T
    else:
        from sklearn.linear_model import enet_path

        y = p.y - p.y.mean(axis=0)
        n = len(y)
        top = np.sqrt(association(p, Z).max()) / n / mix
        w = np.zeros((*y.shape[1:], Z.shape[1]))
        for alpha in top * RATIO ** np.arange(1, POINTS):
            start = np.asfortranarray(w)
            w = enet_path(
                Z, y, l1_ratio=mix, alphas=[alpha], coef_init=start, tol=1e-6, max_iter=5000
            )[1][..., 0]
            yield w if w.ndim == 1 else np.linalg.norm(w, axis=0)


def coxnet(Z: np.ndarray, y: np.ndarray, mix: float, grid: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients (p, points) of scikit-survival's path, and its penalties."""
    from sksurv.linear_model import CoxnetSurvivalAnalysis

    options = {"alphas": grid} if grid is not None else {"n_alphas": 60, "alpha_min_ratio": 0.02}
    model = CoxnetSurvivalAnalysis(l1_ratio=mix, max_iter=20000, **options).fit(Z, structured(y))
    return model.coef_, model.alphas_


# ------------------------------------------------------------------------------ lasso of any size


def lasso_cv(p: Split, sizes: list[int]) -> Models:
    """Return the lasso with the penalty of the least held-out deviance, the same for all k."""
    s = standard(p)
    if p.target in ("regression", "responses"):
        from sklearn.linear_model import LassoCV, MultiTaskLassoCV

        kind = LassoCV if p.target == "regression" else MultiTaskLassoCV
        found = kind(eps=CV_LEAST, alphas=CV_POINTS, cv=folds(p)).fit(s.Z, p.y)
        coef, intercept = found.coef_, found.intercept_
    elif p.target == "survival":
        coef, intercept = _cox_lasso(p, s.Z), 0.0
    else:
        coef, intercept = _glm_lasso(p, s.Z)
    support = np.flatnonzero(np.abs(coef).reshape(-1, s.Z.shape[1]).any(axis=0))
    return dict.fromkeys(sizes, s.model(support, coef[..., support], intercept))


def _cox_lasso(p: Split, Z: np.ndarray) -> np.ndarray:
    from sksurv.linear_model import CoxnetSurvivalAnalysis

    found = CoxnetSurvivalAnalysis(l1_ratio=1.0, n_alphas=CV_POINTS, alpha_min_ratio=0.05)
    found.fit(Z, structured(p.y))
    grid, score = found.alphas_, np.zeros(len(found.alphas_))
    for train, _ in folds(p):
        for i, w in enumerate(coxnet(Z[train], p.y[train], 1.0, grid)[0].T):
            own = partial_likelihood(Z[train] @ w, p.y[train])
            score[i] += partial_likelihood(Z @ w, p.y) - own
    return np.asarray(found.coef_[:, int(np.argmax(score))])


def _glm_lasso(p: Split, Z: np.ndarray) -> tuple[np.ndarray, float]:
    exposure = p.exposure if p.target == "counts" else None

    def losses(point: Point, rows: np.ndarray) -> float:
        z = Z[np.ix_(rows, point.support)] @ point.coef + point.intercept
        if exposure is None:
            return float(np.logaddexp(0.0, -p.y[rows] * z).sum())
        return float(poisson_deviance(p.y[rows], z, exposure[rows]).sum())

    if exposure is None:
        gradient = (p.y > 0) - (p.y > 0).mean()
    else:
        gradient = p.y - exposure * p.y.sum() / exposure.sum()
    grid = np.abs(Z.T @ gradient).max() * np.geomspace(1.0, CV_LEAST, CV_POINTS)
    total = np.zeros(CV_POINTS)
    for train, test in folds(p):
        own = None if exposure is None else exposure[train]
        share = grid * len(train) / len(p.y)
        total += [losses(one, test) for one in glm_path(Z[train], p.y[train], own, 1.0, share)]
    best = int(np.argmin(total))
    *_, point = glm_path(Z, p.y, exposure, 1.0, grid[: best + 1])
    w = np.zeros(Z.shape[1])
    w[point.support] = point.coef
    return w, point.intercept


# ------------------------------------------------------------------------------------- exactly k


def _of_supports(p: Split, s: Standard, supports: dict[int, np.ndarray]) -> Models:
    return {k: ridge(p, s, support) for k, support in supports.items()}


def single(p: Split, sizes: list[int]) -> Models:
    """Return the models of the largest single associations."""
    s = standard(p)
    order = np.argsort(-association(p, s.Z), kind="stable")
    return _of_supports(p, s, {k: order[:k] for k in sizes})


def lasso_k(p: Split, sizes: list[int], mix: float = 1.0) -> Models:
    """Return the models of exactly k features of an l1 path."""
    s = standard(p)
    path = path_supports(p, s.Z, mix, max(sizes))
    return _of_supports(p, s, {k: path.exactly(k)[0] for k in sizes})


def enet_k(p: Split, sizes: list[int]) -> Models:
    """Return the models of exactly k features of the path of the elastic net."""
    return lasso_k(p, sizes, 0.5)


def abess(p: Split, sizes: list[int]) -> Models:
    """Return the models of abess' supports; it runs in a process of its own, which may crash."""
    s = standard(p)
    context = get_context("fork")
    ours, its = context.Pipe(duplex=False)
    process = context.Process(target=_abess, args=(p, s.Z, sizes, its))
    process.start()
    its.close()
    try:
        found = ours.recv() if ours.poll(ABESS_LIMIT) else f"over {ABESS_LIMIT:g} s"
    except EOFError:
        found = "its process ended"
    process.kill()
    process.join()
    if isinstance(found, str):
        raise RuntimeError(f"abess: {found}")
    order = np.argsort(-association(p, s.Z), kind="stable")
    for k in sizes:  # short answers are filled up
        rest = order[~np.isin(order, found[k])]
        found[k] = np.concatenate([found[k], rest])[:k]
    return _of_supports(p, s, found)


def _abess(p: Split, Z: np.ndarray, sizes: list[int], pipe: Any) -> None:
    """Send the supports of abess, or what went wrong."""
    import abess as library

    kinds = {
        "classes": library.LogisticRegression,
        "regression": library.LinearRegression,
        "counts": library.PoissonRegression,
        "responses": library.MultiTaskRegression,
        "survival": library.CoxPHSurvivalAnalysis,
    }
    options = {}
    y = p.y
    if p.target == "classes":
        y = (y > 0).astype(int)
    elif p.target == "counts" and np.ptp(p.exposure) > 0:
        y, options = y / p.exposure, {"sample_weight": p.exposure / p.exposure.mean()}
    try:
        found = {}
        for k in sizes:
            model = kinds[p.target](support_size=k, thread=1).fit(np.array(Z), y, **options)
            coef = np.asarray(model.coef_).reshape(Z.shape[1], -1)
            found[k] = np.flatnonzero(coef.any(axis=1))
        pipe.send(found)
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}"[:200])


METHODS: dict[str, Callable[[Split, list[int]], Models]] = {
    "default": ours,
    "l1": _with("l1"),
    "l0": _with("l0"),
    "minimax": _with("minimax"),
    "single": single,
    "lasso_k": lasso_k,
    "enet_k": enet_k,
    "abess": abess,
    "lasso_cv": lasso_cv,
    "each": each,
}
OURS = ("default", "l1", "l0", "minimax", "each")
REFUSED = {("responses", "l1")}  # the methods that the package does not have for a target


def run(name: str, p: Split) -> Models:
    """Return the models of a method by k."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return METHODS[name](p, p.sizes)
