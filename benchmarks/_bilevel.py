"""What the benchmarks of features in groups share: drawn data, methods, cross-validation.

* `draw`: data with few active groups, and few active features in each.
* `METHODS`: how each procedure is asked, one entry each. A `Method` returns from training data the
  models of a whole grid of settings, from the smallest to the largest.
* `choose`: cross-validation over that grid, the same for all of them and with the same folds: the
  setting of the least mean loss on the left-out rows is fitted to all rows. `rule="1se"`: the
  smallest setting whose loss is within a standard error of the least.

Columns are standardised by the training rows of a fold, for everybody; coefficients are brought
back. Seconds are CPU seconds of one thread, of the cross-validation and of the final fits.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import lfilter

import _common as common
from baselines import (
    ConstrainedDCClassifier,
    ConstrainedDCRegressor,
    FractionalClassifier,
    FractionalRegressor,
    GroupOMPClassifier,
    GroupOMPRegressor,
    OMPClassifier,
    OMPRegressor,
    sparse_group_lasso_path,
)
from zeronorm.published import BilevelClassifier, BilevelRegressor

# Of the convex problems: a certified gap. Nearly unpenalised ones with more features than rows end
# at the number of steps, far beyond what cross-validation chooses.
TOL, MAX_ITER = 1e-4, 2000

Row = dict[str, Any]
Setting = tuple[float, ...]


# ----------------------------------------------------------------------------------------- data


@dataclass(frozen=True)
class Drawn:
    """A drawn problem of regression, and the truth."""

    X: np.ndarray  # (n, p), F order
    y: np.ndarray
    groups: np.ndarray  # (p,) int64, contiguous
    w: np.ndarray  # (p,) the true coefficients
    noise: float  # its standard deviation
    X_test: np.ndarray
    y_test: np.ndarray


def draw(
    n: int, p: int, size: int, active: int, per_group: int, *, seed: int, rho: float = 0.0,
    ratio: float | None = None, n_test: int = 0, scattered: bool = False,
) -> Drawn:  # fmt: skip
    """Return gaussian data with groups of equal size, `active` of them with active features.

    Coefficients are +-U(0.5, 1.5). Within a group columns are an AR(1) process of rho. The noise
    has standard deviation 1, or that which makes the variance of the signal `ratio` times its own.
    scattered : the same number of active features, drawn from all features.
    """
    rng = np.random.default_rng(seed)

    def rows(count: int) -> np.ndarray:
        Z = rng.standard_normal((count, p // size, size))
        if rho:
            Z[:, :, 1:] *= np.sqrt(1.0 - rho**2)
            Z = lfilter([1.0], [1.0, -rho], Z, axis=2)
        return np.asfortranarray(Z.reshape(count, p))

    X, X_test = rows(n), rows(n_test)
    chosen = rng.choice(p // size, active, replace=False)
    truth = np.concatenate(
        [code * size + rng.choice(size, per_group, replace=False) for code in chosen]
    )
    if scattered:
        truth = rng.choice(p, active * per_group, replace=False)
    w = np.zeros(p)
    w[truth] = rng.choice([-1.0, 1.0], truth.size) * rng.uniform(0.5, 1.5, truth.size)
    place = np.arange(size)
    bend = rho ** np.abs(place[:, None] - place) if rho else np.eye(size)
    blocks = w.reshape(-1, size)
    variance = float(np.einsum("gi,ij,gj->", blocks, bend, blocks))
    noise = 1.0 if ratio is None else float(np.sqrt(variance / ratio))
    y = X[:, truth] @ w[truth] + noise * rng.standard_normal(n)
    y_test = X_test[:, truth] @ w[truth] + noise * rng.standard_normal(n_test)
    return Drawn(X, y, np.repeat(np.arange(p // size), size), w, noise, X_test, y_test)


def recovery(data: Drawn, support: np.ndarray) -> Row:
    """Return how many features and groups were selected, falsely selected and missed."""
    truth = np.flatnonzero(data.w)
    row: Row = {}
    for name, found, true in (
        ("feature", support, truth),
        ("group", np.unique(data.groups[support]), np.unique(data.groups[truth])),
    ):
        hits = int(np.isin(found, true).sum())
        row |= {
            f"{name}s": int(found.size),
            f"{name}_fp": int(found.size - hits),
            f"{name}_fn": int(true.size - hits),
            f"{name}_f1": 2.0 * hits / (found.size + true.size),
        }
    return row


def standardised(
    X: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (Z, groups, features, mean, scale) of the columns that are not constant."""
    mean, scale = X.mean(0), X.std(0)
    features = np.flatnonzero(scale > 1e-9 * np.maximum(np.abs(mean), 1e-30))
    mean, scale = mean[features], scale[features]
    codes = np.unique(groups[features], return_inverse=True)[1].astype(np.int64)
    return np.asfortranarray((X[:, features] - mean) / scale), codes, features, mean, scale


# -------------------------------------------------------------------------------------- methods


@dataclass(frozen=True)
class Task:
    """Training data: standardised columns, y (of logistic models +-1), groups as codes."""

    Z: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    logistic: bool

    def scores(self) -> np.ndarray:
        """Return |gradient of the mean loss| at the empty model, by feature."""
        empty = self.y.mean()  # of +-1 labels: (y - mean) / 2 is minus the gradient
        return np.abs(self.Z.T @ (self.y - empty)) / self.y.size * (0.5 if self.logistic else 1.0)


Models = list[tuple[float, np.ndarray]]  # intercept and coefficients, for every setting
Fit = Callable[[Task, Sequence[Setting]], Models]


def one_by_one(make: Callable[[Task, Setting], Any]) -> Fit:
    """Return the procedure that fits a new estimator for every setting."""

    def fit(task: Task, settings: Sequence[Setting]) -> Models:
        models = [make(task, setting).fit(task.Z, task.y) for setting in settings]
        return [(float(np.ravel(m.intercept_)[0]), np.ravel(m.coef_)) for m in models]

    return fit


def refitted(fit: Fit) -> Fit:
    """Return the procedure that ends with least squares on the support.

    Supports of more than half as many features as rows are not wanted: the model without
    features stands for them.
    """

    def again(task: Task, settings: Sequence[Setting]) -> Models:
        models = []
        for _, coef in fit(task, settings):
            support = np.flatnonzero(coef)
            few = support.size <= 0.5 * task.y.size
            models.append(least_squares(task, support if few else support[:0]))
        return models

    return again


def least_squares(task: Task, support: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the least-squares model on a support."""
    coef = np.zeros(task.Z.shape[1])
    centre = float(task.y.mean())
    if support.size:
        coef[support] = np.linalg.lstsq(task.Z[:, support], task.y - centre, rcond=None)[0]
    return centre, coef


def bilevel(solver: str = "auto", groups: bool = True) -> Fit:
    """Return features in groups, or, with all groups allowed, features alone.

    One call for all pairs that are wanted, where they fill most of a table, else one for each
    number of groups.
    """

    def fit(task: Task, settings: Sequence[Setting]) -> Models:
        estimator = BilevelClassifier if task.logistic else BilevelRegressor
        p, n_groups = task.Z.shape[1], int(task.groups.max()) + 1
        pairs = [
            (min(int(s[0]), p), min(int(s[1]), n_groups) if groups else n_groups) for s in settings
        ]
        ks, gs = {k for k, _ in pairs}, {g for _, g in pairs}
        full = 2 * len(pairs) > len(ks) * len(gs)
        tables = [(ks, gs)] if full else [({k for k, g in pairs if g == one}, {one}) for one in gs]
        found: dict[tuple[int, int], tuple[float, np.ndarray]] = {}
        for features, numbers in tables:
            model = estimator(
                sorted(features), sorted(numbers), feature_groups=task.groups, solver=solver,
                n_threads=1, tol=1e-6 if solver == "auto" else 1e-5, max_iter=500,
            ).fit(task.Z, task.y)  # fmt: skip
            for k, g in set(pairs) & {(k, g) for k in features for g in numbers}:
                coef = np.zeros(p)
                coef[model.path_[k, g].support] = model.path_[k, g].coef
                found[k, g] = float(model.path_[k, g].intercept), coef
        return [found[pair] for pair in pairs]

    return fit


def pursuit(groups: bool) -> Fit:
    """Return matching pursuit of features or of groups.

    Its models of least squares are those on the first steps of the longest pursuit: one call.
    """

    def make(task: Task, setting: Setting) -> Any:
        size = int(setting[0])
        if groups:
            several = GroupOMPClassifier if task.logistic else GroupOMPRegressor
            return several(size, feature_groups=task.groups)
        return (OMPClassifier if task.logistic else OMPRegressor)(size)

    def fit(task: Task, settings: Sequence[Setting]) -> Models:
        if task.logistic:
            return one_by_one(make)(task, settings)
        order = make(task, max(settings)).fit(task.Z, task.y).order_
        labels = task.groups if groups else np.arange(task.Z.shape[1])
        taken = [np.flatnonzero(np.isin(labels, order[: int(size)])) for (size,) in settings]
        return [least_squares(task, features) for features in taken]

    return fit


def fractional(norm: int, max_iter: int = MAX_ITER) -> Callable[[Task, Setting], Any]:
    """Return what makes the fractional model of a penalty, with so many steps for each pass."""

    def make(task: Task, setting: Setting) -> Any:
        estimator = FractionalClassifier if task.logistic else FractionalRegressor
        penalty = setting[0] * task.y.size
        return estimator(
            penalty, norm, feature_groups=task.groups, standardize=False, tol=TOL, max_iter=max_iter
        )

    return make


def _dc(task: Task, setting: Setting) -> Any:
    """Return the DC approximation of (k, g), or of (k, g, tau)."""
    estimator = ConstrainedDCClassifier if task.logistic else ConstrainedDCRegressor
    k, g, *tau = setting
    k, g = min(int(k), task.Z.shape[1]), min(int(g), int(task.groups.max()) + 1)
    return estimator(
        k, g, *tau, feature_groups=task.groups, standardize=False, tol=TOL, max_iter=MAX_ITER
    )


def sparse_group_lasso(max_iter: int = MAX_ITER) -> Fit:
    """Return the models of (penalty, share of the l1 norm); those of one share are a path."""

    def fit(task: Task, settings: Sequence[Setting]) -> Models:
        models: dict[Setting, tuple[float, np.ndarray]] = {}
        for share in dict.fromkeys(share for _, share in settings):
            falling = sorted({pen for pen, other in settings if other == share}, reverse=True)
            path = sparse_group_lasso_path(
                task.Z, task.y, task.groups, loss="logistic" if task.logistic else "least_squares",
                l1_ratio=share, penalties=np.array(falling) * task.y.size, standardize=False,
                tol=TOL, max_iter=max_iter,
            )  # fmt: skip
            coefs = path.coef.toarray()
            for place, penalty in enumerate(falling):
                models[penalty, share] = float(path.intercept[place]), coefs[place]
        return [models[penalty, share] for penalty, share in settings]

    return fit


@dataclass(frozen=True)
class Method:
    """A procedure. `fit` is None for those of another environment, which is `peer`."""

    label: str
    colour: str
    fit: Fit | None
    peer: str = ""
    path: bool = False  # models of earlier settings are warm starts of later ones


METHODS = {
    "bilevel": Method("zeronorm", "tab:red", bilevel()),
    "ista": Method("ISTA", "tab:pink", bilevel("ista")),
    "features": Method("zeronorm, groups unknown", "tab:orange", bilevel(groups=False)),
    "abess": Method("abess", "tab:green", None, "abess"),
    "abess_groups": Method("abess, whole groups", "limegreen", None, "abess"),
    "omp": Method("OMP", "tab:blue", pursuit(groups=False)),
    "gomp": Method("group OMP", "tab:cyan", pursuit(groups=True)),
    "sgl": Method("sparse group lasso", "tab:purple", sparse_group_lasso(), path=True),
    "sgl_refit": Method(
        "sparse group lasso, refitted", "plum", refitted(sparse_group_lasso()), path=True
    ),
    "frac12": Method("frac(1, 2)", "tab:brown", one_by_one(fractional(1))),
    "frac21": Method("frac(2, 1)", "tab:olive", one_by_one(fractional(2))),
    "dc": Method("DC approximation", "tab:gray", one_by_one(_dc)),
}


# ----------------------------------------------------------------------------- cross-validation


def folds_of(n: int, n_folds: int, seed: int, y: np.ndarray | None = None) -> np.ndarray:
    """Return the fold of every row; with labels y as many of each label in every fold."""
    rng = np.random.default_rng(seed)
    fold = np.empty(n, np.int64)
    classes = (
        [np.arange(n)] if y is None else [np.flatnonzero(y == label) for label in np.unique(y)]
    )
    start = 0
    for rows in classes:
        fold[rng.permutation(rows)] = (start + np.arange(rows.size)) % n_folds
        start += rows.size
    return fold


def loss(y: np.ndarray, z: np.ndarray, logistic: bool) -> np.ndarray:
    """Return the squared errors, or the log-losses of labels +-1."""
    return np.logaddexp(0.0, -y * z) if logistic else (y - z) ** 2


@dataclass(frozen=True)
class Chosen:
    """A model that cross-validation chose."""

    setting: Setting
    intercept: float
    coef: np.ndarray  # (p,) of the columns as they were given
    cpu: float  # seconds of the cross-validation and of the last fits

    def decision(self, X: np.ndarray) -> np.ndarray:
        """Return X w + b."""
        used = np.flatnonzero(self.coef)
        return np.asarray(X[:, used] @ self.coef[used] + self.intercept)


def choose(
    method: Method,
    grid: Callable[[Task], Sequence[Setting]],
    X: np.ndarray,
    y: np.ndarray,
    groups: np.ndarray,
    fold: np.ndarray,
    logistic: bool = False,
    ask: Callable[..., dict[str, Any]] | None = None,
) -> dict[str, Chosen]:
    """Return the models with the least mean loss, "min", and by one standard error, "1se".

    grid : returns the settings for the standardised training data, the smallest models first.
    ask : sends a request to the process of `method.peer`.
    """
    everything = np.arange(y.size)
    parts = [everything[fold != one] for one in range(int(fold.max()) + 1)]
    tasks, back = [], []
    for rows in (*parts, everything):
        Z, codes, features, mean, scale = standardised(X[rows], groups)
        tasks.append(Task(Z, y[rows], codes, logistic))
        back.append((features, mean, scale))
    settings = list(grid(tasks[-1]))
    begin = time.process_time()
    if method.fit is None:
        assert ask is not None
        all_models, cpu = _elsewhere(tasks, settings, ask)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            all_models = [method.fit(task, settings) for task in tasks[:-1]]
        cpu = time.process_time() - begin
    total = np.zeros((len(parts), len(settings)))
    for place, rows in enumerate(parts):
        held = np.setdiff1d(everything, rows)
        features, mean, scale = back[place]
        Z = (X[np.ix_(held, features)] - mean) / scale
        for column, (intercept, coef) in enumerate(all_models[place]):
            total[place, column] = loss(y[held], Z @ coef + intercept, logistic).mean()
    mean_loss = total.mean(0)
    best = int(np.argmin(mean_loss))
    error = float(total[:, best].std(ddof=1) / np.sqrt(len(parts)))
    smallest = int(np.flatnonzero(mean_loss <= mean_loss[best] + error)[0])
    result: dict[str, Chosen] = {}
    for rule, place in (("min", best), ("1se", smallest)):
        begin = time.process_time()
        if method.fit is None:
            intercept, coef = all_models[-1][place]
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                first = 0 if method.path else place
                intercept, coef = method.fit(tasks[-1], settings[first : place + 1])[-1]
        features, mean, scale = back[-1]
        full = np.zeros(X.shape[1])
        full[features] = coef / scale
        spent = cpu + time.process_time() - begin
        centre = float(intercept - mean @ full[features])
        result[rule] = Chosen(settings[place], centre, full, spent)
    return result


def _elsewhere(
    tasks: Sequence[Task], settings: Sequence[Setting], ask: Callable[..., dict[str, Any]]
) -> tuple[list[Models], float]:
    """Return the models of all tasks, fitted in another environment, and the CPU seconds."""
    found, cpu = [], 0.0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for task in tasks:
            common.save_problem(folder, task.Z, task.y)
            np.save(folder / "groups.npy", task.groups)
            ask(op="load", path=temporary)
            sizes = [int(size) for (size,) in settings]
            out = str(folder / "models.npy")
            cpu += ask(op="many", sizes=sizes, logistic=task.logistic, out=out)["cpu"]
            models = np.load(out)
            found.append([(float(model[0]), model[1:]) for model in models])
    return found, cpu


# ---------------------------------------------------------------------------------------- grids


def largest_penalty(scores: np.ndarray, groups: np.ndarray, l1_share: float) -> float:
    """Return the least penalty of the sparse group lasso whose model is empty.

    scores : |gradient of the mean loss| at the empty model; groups contiguous.
    """
    start = np.flatnonzero(np.diff(groups, prepend=-1))
    root = np.sqrt(np.bincount(groups))
    low, high = 0.0, float(scores.max() / max(l1_share, 1e-3) + np.sqrt((scores**2).sum()))
    for _ in range(60):
        middle = 0.5 * (low + high)
        left = np.maximum(scores - l1_share * middle, 0.0)
        empty = np.sqrt(np.add.reduceat(left**2, start)) <= (1.0 - l1_share) * middle * root
        low, high = (low, middle) if empty.all() else (middle, high)
    return high
