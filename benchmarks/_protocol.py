"""The protocol of the quality benchmark: sets, splits, preparation, refit, and the l1 baseline.

Everything is prepared from training rows only. `select` is the matrix that the selection
procedures see, `user` the matrix of the final refit:

* dense and genotype columns: standardised (centred), the same for both;
* text: binarised, rows to unit length, columns in fewer than 2 training rows dropped (`user`);
  `select` divides its columns by their training standard deviation, without centring.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, log_expit

FIRST_SEED = 90001  # the specification's splits used other seeds
GIVEN = 0  # the "seed" of a split that comes with the data
GRID = (0.003, 0.03, 0.3, 5.0, 50.0)  # refit C, divided by the mean variance of the columns


@dataclass(frozen=True)
class Set:
    """A binary problem and how often it is split."""

    kind: str  # microarray, genotype, text or other
    repeats: int  # random 70/30 splits
    read: Callable[[Path], tuple[Any, np.ndarray]]
    text: bool = False  # prepared as text
    given: bool = False  # also (or only, with repeats 0) the split that comes with the data
    missing: int | None = None  # code of a missing value, replaced by the training mean
    unseen: bool = False  # not among the sets of the specification


@dataclass(frozen=True)
class Problem:
    """One split of one set."""

    select: Any
    user: Any
    y: np.ndarray
    test: Any
    y_test: np.ndarray


# ---------------------------------------------------------------------------------------- sets


def check_there(folder: Path, names: Iterable[str], otherwise: str = "") -> None:
    """End the script, before hours of it, where the folder of the data lacks one of these sets."""
    absent = [name for name in names if not (folder / name / "arrays.npz").is_file()]
    if absent:
        named = ", ".join(dict.fromkeys(absent))
        remedy = f"{otherwise}, or " if otherwise else ""
        sys.exit(f"{folder} has no {named}: {remedy}see benchmarks/README.md for where it is from.")


def arrays(folder: Path, name: str) -> dict[str, Any]:
    """Return the arrays of a set; nothing is unpickled."""
    check_there(folder, [name])
    with np.load(folder / name / "arrays.npz", allow_pickle=False) as stored:
        result = {key: stored[key] for key in stored.files}
    if (folder / name / "X.npz").exists():
        result["X"] = sp.load_npz(folder / name / "X.npz")
    return result


def _plain(name: str, rows: int | None = None) -> Callable[[Path], tuple[Any, np.ndarray]]:
    def read(folder: Path) -> tuple[Any, np.ndarray]:
        data = arrays(folder, name)
        X, y = data["X"], np.asarray(data["y"])
        keep = np.flatnonzero(y != 0)
        if rows is not None:
            keep = np.sort(_stratified(y, rows / y.size, np.random.default_rng(FIRST_SEED))[0])
        if keep.size < y.size:
            X, y = X[keep], y[keep]
        return X, np.where(y > 0, 1.0, -1.0)

    return read


def _classes(
    name: str, positive: tuple[int, ...], negative: tuple[int, ...] | None
) -> Callable[[Path], tuple[Any, np.ndarray]]:
    def read(folder: Path) -> tuple[Any, np.ndarray]:
        data = arrays(folder, name)
        X, y = data["X"], data["y"]
        one = np.isin(y, positive)
        rest = ~one if negative is None else np.isin(y, negative)
        keep = np.flatnonzero(one | rest)
        return X[keep], np.where(one[keep], 1.0, -1.0)

    return read


def _populations(
    positive: tuple[str, ...], negative: tuple[str, ...]
) -> Callable[[Path], tuple[Any, np.ndarray]]:
    def read(folder: Path) -> tuple[Any, np.ndarray]:
        pops = [str(p) for p in arrays(folder, "hapmap3")["pops"]]
        codes = [tuple(pops.index(p) for p in group) for group in (positive, negative)]
        return _classes("hapmap3", codes[0], codes[1])(folder)

    return read


def _trait(name: str, key: str) -> Callable[[Path], tuple[Any, np.ndarray]]:
    def read(folder: Path) -> tuple[Any, np.ndarray]:
        data = arrays(folder, name)
        return data["X"], np.where(np.asarray(data[key]) > 0, 1.0, -1.0)

    return read


def _splice(folder: Path) -> tuple[Any, np.ndarray]:
    """Positional 3-mers of the central 60 bases of 6000 training rows."""
    sys.path.insert(0, str(folder))
    try:
        import load
    finally:
        sys.path.pop(0)
    sequences, y, train, _ = load.splice_celegans()
    rng = np.random.default_rng(FIRST_SEED)
    rows = np.sort(_stratified(y[train], 6000 / len(train), rng)[0])
    middle = sequences.shape[1] // 2
    X = load.positional_kmers(sequences[train][rows], 3, middle - 30, middle + 30)
    return X, y[train][rows].astype(float)


def _mnist(folder: Path) -> tuple[Any, np.ndarray]:
    X, y = _plain("mnist10k", 4000)(folder)
    return X.reshape(len(X), -1), y


def _named() -> dict[str, Set]:
    micro = {
        name: Set("microarray", 8, _plain(name), given=name == "leukemia_golub_split")
        for name in (
            "leukemia_golub_split",
            "colon_alon",
            "prostate_ge",
            "ma_gordon",
            "ma_pomeroy",
            "ma_west",
            "ma_borovecki",
            "arcene",
        )
    }
    micro |= {
        f"glioma:{c}": Set("microarray", 8, _classes("glioma", (c,), None)) for c in (1, 3, 4)
    }
    genotype = {
        "hapmap3:jptchb": Set("genotype", 6, _populations(("JPT",), ("CHB", "CHD")), missing=-1),
        "mice:albino": Set("genotype", 4, _trait("mice", "y")),
        "mice:black": Set("genotype", 4, _trait("mice", "black")),
        "arabidopsis_ft16": Set("genotype", 8, _plain("arabidopsis_ft16")),
        "bigsnpr_example": Set("genotype", 6, _plain("bigsnpr_example")),
    }
    text = {
        name: Set("text", 5, _plain(name), text=True, given=name == "rcv1_small")
        for name in ("basehock", "relathe", "pcmac", "rcv1_small")
    }
    text["news20ng"] = Set("text", 0, _plain("news20ng"), text=True, given=True)
    other = {
        "splice_celegans": Set("other", 4, _splice, text=True),
        "a9a": Set("other", 4, _plain("a9a", 6000)),
        "madelon": Set("other", 4, _plain("madelon")),
    }
    unseen = {
        "rice_imputed:height": Set("genotype", 6, _plain("rice_imputed"), unseen=True),
        "mice:bmi": Set("genotype", 4, _trait("mice", "bmi_high"), unseen=True),
        "hapmap3:ceutsi": Set(
            "genotype", 6, _populations(("CEU",), ("TSI",)), missing=-1, unseen=True
        ),
        "news20:med-space": Set(
            "text", 5, _classes("news20_multiclass", (14,), (15,)), text=True, unseen=True
        ),
        "news20:guns-mideast": Set(
            "text", 5, _classes("news20_multiclass", (17,), (18,)), text=True, unseen=True
        ),
        "w8a": Set("other", 4, _plain("w8a", 6000), unseen=True),
        "mnist10k": Set("other", 4, _mnist, unseen=True),
    }
    return micro | genotype | text | other | unseen


SETS = _named()


def choose(names: str) -> list[str]:
    """Return the names of the sets for `named`, `unseen`, `all` or a list with commas."""
    if names == "all":
        return list(SETS)
    if names in {"named", "unseen"}:
        return [name for name, one in SETS.items() if one.unseen == (names == "unseen")]
    chosen = names.split(",")
    unknown = [name for name in chosen if name not in SETS]
    if unknown:
        sys.exit(f"--sets: unknown set {unknown[0]!r}; there are: {', '.join(SETS)}.")
    return chosen


def seeds(name: str, repeats: int | None = None) -> list[int]:
    """Return the seeds of the splits of a set; GIVEN stands for the split of the data."""
    one = SETS[name]
    count = one.repeats if repeats is None else min(repeats, one.repeats)
    return [GIVEN] * one.given + [FIRST_SEED + r for r in range(count)]


def _stratified(
    y: np.ndarray, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return (first, second): rows drawn within each class, `share` of them in the first part."""
    first, second = [], []
    for value in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == value))
        cut = round(share * rows.size)
        first.append(rows[:cut])
        second.append(rows[cut:])
    return np.sort(np.concatenate(first)), np.sort(np.concatenate(second))


def problem(folder: Path, name: str, seed: int) -> Problem:
    """Return one split of a set, prepared."""
    one = SETS[name]
    X, y = one.read(folder)
    if seed == GIVEN:
        stored = arrays(folder, name.split(":")[0])
        train, test = stored["train"], stored["test"]
    else:
        train, test = _stratified(y, 0.7, np.random.default_rng(seed))
    build = _text if one.text else _dense
    select, user, X_test = build(X, train, test, one.missing)
    return Problem(select, user, y[train], X_test, y[test])


def _dense(X: Any, train: np.ndarray, test: np.ndarray, missing: int | None) -> tuple[Any, ...]:
    if sp.issparse(X):
        X = X.toarray()
    fit, out = X[train].astype(float), X[test].astype(float)
    if missing is not None:
        known = fit != missing
        mean = np.where(known, fit, 0.0).sum(0) / np.maximum(known.sum(0), 1)
        fit, out = np.where(known, fit, mean), np.where(out != missing, out, mean)
    mean, std = fit.mean(0), fit.std(0)
    keep = std > 1e-9 * np.maximum(np.abs(mean), 1e-30)
    fit = np.asfortranarray((fit[:, keep] - mean[keep]) / std[keep])
    return fit, fit, (out[:, keep] - mean[keep]) / std[keep]


def unit_rows(X: Any, dtype: type = np.float64) -> sp.csr_matrix:
    """Return the 0/1 matrix of the non-zeros of X with rows of unit length."""
    X = sp.csr_matrix(X, copy=True)
    X.eliminate_zeros()
    length = np.diff(X.indptr)
    X.data = np.repeat(1.0 / np.sqrt(np.maximum(length, 1)), length).astype(dtype)
    return X


def _text(X: Any, train: np.ndarray, test: np.ndarray, missing: int | None) -> tuple[Any, ...]:
    X = unit_rows(X)
    fit, out = X[train], X[test]
    total = np.asarray(fit.sum(0)).ravel() / len(train)
    square = np.asarray(fit.multiply(fit).sum(0)).ravel() / len(train)
    variance = square - total**2
    count = np.bincount(fit.indices, minlength=fit.shape[1])
    keep = np.flatnonzero((count >= 2) & (variance > 1e-12 * square))
    fit, out = sp.csr_matrix(fit[:, keep]), sp.csr_matrix(out[:, keep])
    select = sp.csc_matrix(fit @ sp.diags_array(1.0 / np.sqrt(variance[keep])))
    return select, fit, out


# -------------------------------------------------------------------------- refit and accuracy


def columns(X: Any, features: np.ndarray) -> np.ndarray:
    """Return X[:, features] as a dense float64 array."""
    part = X[:, features]
    return np.asarray(part.toarray() if sp.issparse(part) else part, dtype=float)


def refit(Z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return coef, intercept and C of the L2 logistic refit.

    min 1/2 ||w||^2 + C sum_i log(1 + exp(-y_i (z_i'w + b))), C in GRID / v by approximate
    leave-one-out log-loss, v the mean variance of the columns.
    """
    n, k = Z.shape
    grid = np.array(GRID) / max(float(Z.var(0).mean()), 1e-300)
    A = np.hstack([Z, np.ones((n, 1))])
    penalty = np.append(np.ones(k), 0.0)
    theta = np.zeros(k + 1)
    best = (np.inf, theta, grid[0])
    for C in grid:
        theta, H = _newton(A, y, C, penalty, theta)
        margin = A @ theta
        s = expit(-y * margin)
        leverage = np.einsum("ij,ij->i", A, np.linalg.solve(H, A.T).T)
        w = C * s * (1 - s)
        out = margin - C * leverage * y * s / np.maximum(1 - w * leverage, 1e-12)
        loss = float(-log_expit(y * out).mean())
        if loss < best[0]:
            best = (loss, theta.copy(), C)
    _, theta, C = best
    return theta[:-1], float(theta[-1]), float(C)


def _newton(
    A: np.ndarray, y: np.ndarray, C: float, penalty: np.ndarray, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimiser of 1/2 theta' diag(penalty) theta + C loss, and its Hessian."""

    def value(t: np.ndarray) -> float:
        return float(0.5 * (penalty * t) @ t - C * log_expit(y * (A @ t)).sum())

    current = value(theta)
    for _ in range(100):
        s = expit(-y * (A @ theta))
        gradient = penalty * theta - C * (A.T @ (y * s))
        H = (A.T * (C * s * (1 - s))) @ A + np.diag(penalty)
        H[-1, -1] += 1e-12 * C * len(y)  # all rows saturated: the intercept has no curvature
        step = np.linalg.solve(H, gradient)
        decrease = float(gradient @ step)
        if decrease <= 1e-10 * max(1.0, abs(current)):
            break
        length = 1.0
        while (new := value(theta - length * step)) > current - 1e-4 * length * decrease:
            length *= 0.5
            if length < 1e-10:
                return theta, H
        theta, current = theta - length * step, new
    return theta, H


def accuracy(decision: np.ndarray, y: np.ndarray) -> float:
    """Return the share of rows on the right side; a decision of 0 counts as positive."""
    return float(np.mean(np.where(decision >= 0, 1.0, -1.0) == y))


def auc(decision: np.ndarray, y: np.ndarray) -> float:
    """Return the area under the ROC curve, ties at half."""
    from scipy.stats import rankdata

    positive = y > 0
    ranks = rankdata(decision)
    a, b = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - a * (a + 1) / 2) / (a * b))


def judge(problem: Problem, support: np.ndarray) -> dict[str, float]:
    """Return accuracy and AUC on the test rows after the common refit."""
    support = np.sort(np.asarray(support))
    coef, intercept, C = refit(columns(problem.user, support), problem.y)
    decision = columns(problem.test, support) @ coef + intercept
    return {
        "accuracy": accuracy(decision, problem.y_test),
        "auc": auc(decision, problem.y_test),
        "refit_C": C,
    }


# ----------------------------------------------------------------------------------- baselines


def correlation(X: Any, y: np.ndarray) -> np.ndarray:
    """Return |correlation| of every column with y, up to a common factor."""
    n = len(y)
    centred = y - y.mean()
    score = np.abs(np.asarray(X.T @ centred).ravel())
    if sp.issparse(X):
        mean = np.asarray(X.sum(0, dtype=np.float64)).ravel() / n
        square = np.asarray(X.multiply(X).sum(0, dtype=np.float64)).ravel() / n
    else:
        mean = X.mean(0, dtype=np.float64)
        square = np.einsum("ij,ij->j", X, X, dtype=np.float64) / n
    return score / np.sqrt(np.maximum(square - mean**2, 1e-300))


@dataclass(frozen=True)
class L1Path:
    """Supports along a path of l1 logistic regression, from the strongest penalty."""

    supports: list[np.ndarray]
    order: np.ndarray  # features in order of entry
    strength: np.ndarray  # |correlation|, for topping up

    def exactly(self, k: int) -> tuple[np.ndarray, int]:
        """Return k features, and how many of them are the path's own.

        The support at the largest C with at most k non-zeros, topped up in order of entry and
        then by |correlation|.
        """
        small = [support for support in self.supports if support.size <= k]
        own = small[-1] if small else np.array([], dtype=np.int64)
        rest = np.concatenate([self.order, np.argsort(-self.strength, kind="stable")])
        chosen = dict.fromkeys(own.tolist())
        for j in rest.tolist():
            if len(chosen) >= k:
                break
            chosen[j] = None
        return np.array(list(chosen)), int(own.size)


def l1_path(
    X: Any, y: np.ndarray, size: int, ratio: float = 0.9, floor: float = 1e-4, tol: float = 1e-4
) -> L1Path:
    """Follow min ||w||_1 + C sum_i log(1 + exp(-y_i (x_i'w + b))), b free, C growing by 1/ratio.

    Ends when the support has more than `size` features or lambda = 1/C is below `floor` times
    its largest value. Each point is solved by iteratively reweighted least squares over a
    working set with scikit-learn's coordinate descent, until no feature violates its optimality
    condition by more than tol * lambda (1e-3 outside the working set).
    """
    positive = y > 0
    z = np.full(len(y), np.log(positive.sum() / (~positive).sum()))
    scores = np.asarray(X.T @ (positive - expit(z))).ravel()
    top = float(np.abs(scores).max())
    working = np.array([], dtype=np.int64)
    w, b = np.zeros(0), float(z[0])
    Z = np.zeros((len(y), 0))
    supports: list[np.ndarray] = []
    order: list[int] = []
    previous = top
    lam = top * ratio
    while lam > floor * top:
        candidates = np.flatnonzero(np.abs(scores) >= 2 * lam - previous)  # the strong rule
        while True:
            working, w, Z = _extend(X, working, w, Z, candidates)
            w, b, z = _irls(Z, positive, lam, w, b, tol)
            scores = np.asarray(X.T @ (positive - expit(z))).ravel()
            candidates = np.flatnonzero(np.abs(scores) > lam * 1.001)
            if np.isin(candidates, working).all():
                break
        used = np.flatnonzero(w)
        support = working[used]
        new = used[~np.isin(support, order)]
        order += working[new[np.argsort(-np.abs(w[new]))]].tolist()
        supports.append(np.sort(support))
        if support.size > size:
            break
        working, w, Z = support, w[used], Z[:, used]
        previous, lam = lam, lam * ratio
    return L1Path(supports, np.array(order, dtype=np.int64), correlation(X, y))


def _extend(
    X: Any, working: np.ndarray, w: np.ndarray, Z: np.ndarray, candidates: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    new = np.setdiff1d(candidates, working)
    if new.size == 0:
        return working, w, Z
    Z = np.asfortranarray(np.hstack([Z, columns(X, new)]))
    return np.concatenate([working, new]), np.concatenate([w, np.zeros(new.size)]), Z


def _irls(
    Z: np.ndarray, positive: np.ndarray, lam: float, w: np.ndarray, b: float, tol: float
) -> tuple[np.ndarray, float, np.ndarray]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import enet_path

    sign = np.where(positive, 1.0, -1.0)

    def value(w: np.ndarray, z: np.ndarray) -> float:
        return float(lam * np.abs(w).sum() - log_expit(sign * z).sum())

    z = Z @ w + b
    current = value(w, z)
    for _ in range(200):
        p = expit(z)
        residual = positive - p
        slope = Z.T @ residual
        zero = np.maximum(np.abs(slope) - lam, 0.0)
        violation = np.where(w == 0, zero, np.abs(slope - lam * np.sign(w)))
        if max(violation.max(initial=0.0), abs(residual.sum())) <= tol * lam:
            break
        weight = np.maximum(p * (1 - p), 1e-5)
        target = z + residual / weight
        root, total = np.sqrt(weight), weight.sum()
        mean, level = weight @ Z / total, weight @ target / total
        A = np.asfortranarray(root[:, None] * (Z - mean))
        r = root * (target - level)
        if w.size:
            with warnings.catch_warnings():
                # A short inner solve is no harm: the loop checks the conditions itself.
                warnings.simplefilter("ignore", ConvergenceWarning)
                new = enet_path(
                    A,
                    r,
                    l1_ratio=1.0,
                    alphas=np.array([lam / len(r)]),
                    precompute=A.T @ A,
                    Xy=A.T @ r,
                    coef_init=w.copy(),  # it is overwritten
                    check_input=False,
                    tol=1e-8,
                    max_iter=2000,
                )[1][:, 0]
        else:
            new = w
        dw, db = new - w, level - mean @ new - b
        dz = Z @ dw + db
        length = 1.0
        while (trial := value(w + length * dw, z + length * dz)) > current:
            length *= 0.5
            if length < 1e-8:
                return w, b, z
        w, b, z, current = w + length * dw, b + length * db, z + length * dz, trial
        if length == 1.0:
            w = new  # keeps exact zeros
    return w, b, z


# ----------------------------------------------------------------------------------- synthetic


@dataclass(frozen=True)
class Synthetic:
    """X gaussian float32, y = sign(Xw), w from N(0, variance) on random columns.

    Blocks of 1000 columns have a generator each, so that any columns of the training or of the
    test rows can be drawn again without holding the rest.
    """

    n: int
    p: int
    informative: int
    variance: float
    seed: int = FIRST_SEED
    n_test: int = 2000

    def _block(self, part: int, start: int) -> np.ndarray:
        """Return 1000 columns of the training (0) or test (1) rows, one after the other."""
        rng = np.random.default_rng([self.seed, part, start])
        n = self.n_test if part else self.n
        return rng.standard_normal((min(1000, self.p - start), n), dtype=np.float32)

    @property
    def truth(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the informative features, sorted, and their coefficients."""
        rng = np.random.default_rng([self.seed, 2])
        features = np.sort(rng.choice(self.p, self.informative, replace=False))
        return features, rng.normal(0.0, np.sqrt(self.variance), self.informative)

    def columns(self, features: np.ndarray, test: bool = False) -> np.ndarray:
        """Return the given columns, float64, in the order given."""
        features = np.asarray(features)
        n = self.n_test if test else self.n
        Z = np.empty((n, features.size))
        for start in range(0, self.p, 1000):
            inside = np.flatnonzero((features >= start) & (features < start + 1000))
            if inside.size:
                Z[:, inside] = self._block(int(test), start)[features[inside] - start].T
        return Z

    def labels(self, test: bool = False) -> np.ndarray:
        """Return y in {-1, +1}."""
        features, w = self.truth
        return np.where(self.columns(features, test) @ w >= 0, 1.0, -1.0)

    def matrix(self, order: str = "F", dtype: type = np.float32) -> np.ndarray:
        """Return X of the training rows in the given memory order."""
        X = np.empty((self.n, self.p), dtype=dtype, order=order)  # type: ignore[call-overload]
        for start in range(0, self.p, 1000):
            block = self._block(0, start)
            X[:, start : start + len(block)] = block.T
        return X

    def judge(
        self, support: np.ndarray, coef: np.ndarray | None = None, intercept: float = 0.0
    ) -> dict[str, float]:
        """Return accuracy and the number of informative features found.

        Without coefficients of its own a support is judged after the common refit.
        """
        support = np.asarray(support)
        if coef is None:
            coef, intercept, _ = refit(self.columns(support), self.labels())
        decision = self.columns(support, test=True) @ coef + intercept
        return {
            "accuracy": accuracy(decision, self.labels(test=True)),
            "recovered": int(np.isin(support, self.truth[0]).sum()),
        }
