"""Independent answers: written from the mathematics, sharing no code with the package.

Everything here is slow, small and direct: Newton's method on ridge problems, enumeration of all
supports, conic programs solved by Clarabel, leave-one-out by refitting. Objectives are

    1/2 ||u||^2 + C sum_i s_i f(m_i),   m_i = y_i (x_i'u + b),  b never penalised.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq

# --------------------------------------------------------------------------------- instances


class Instance(NamedTuple):
    """Data with labels -1/+1, and blocks of features where the instance has some."""

    X: np.ndarray
    y: np.ndarray
    blocks: list[np.ndarray]


def instance_one():
    """Return the 30 x 10 instance with three overlapping blocks of three features."""
    rng = np.random.default_rng(2013)
    X = rng.standard_normal((30, 10))
    w = np.zeros(10)
    w[:4] = 2, -1.5, 1, 0.5
    y = np.where(X @ w + 0.5 * rng.standard_normal(30) > 0, 1, -1)
    assert abs(X[0, 0] + 0.3952986281846824) < 1e-12
    assert y.sum() == -6
    assert abs(X.sum() - 1.176238866161) < 1e-11
    return Instance(X, y, [np.array(b) for b in ([0, 1, 2], [0, 3, 4], [1, 5, 6])])


def instance_two(seed):
    """Return a 40 x 12 instance with four random blocks of three features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 12))
    w = np.zeros(12)
    w[:4] = 2, -1.5, 1, 0.5
    y = np.where(X @ w + 0.5 * rng.standard_normal(40) > 0, 1, -1)
    assert len(set(y)) == 2
    return Instance(X, y, [np.sort(rng.choice(12, 3, replace=False)) for _ in range(4)])


def certificate_instance(seed):
    """Return a 60 x 12 instance with one correlated pair (C = 0.3, k = 3, no intercept)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 12))
    X[:, 5] = 0.9 * X[:, 0] + 0.4 * rng.standard_normal(60)
    w = np.zeros(12)
    w[:3] = 1.5, -1, 0.8
    y = np.where(X @ w + 0.5 * rng.logistic(size=60) > 0, 1, -1)
    assert len(set(y)) == 2
    assert np.corrcoef(X[:, 0], X[:, 5])[0, 1] > 0.8
    return Instance(X, y, [])


# Values of the reduced problem on instance_one: (loss, C, intercept) -> (optimum, lambda, b).
REDUCED_ONE = {
    ("logistic", 0.1, False): (1.7727155247, (1, 0, 0), 0.0),
    ("logistic", 0.1, True): (1.7366830901, (0.93094430, 0.06905570, 0), -0.33737865),
    ("logistic", 1, False): (10.9897950501, (0.92205399, 0.07794601, 0), 0.0),
    ("logistic", 1, True): (10.8870014489, (0.91066596, 0.08933404, 0), -0.22522946),
    ("logistic", 10, False): (53.7859163985, (0.89751373, 0.05717945, 0.04530681), 0.0),
    ("logistic", 10, True): (53.7712963832, (0.89956665, 0.05508002, 0.04535333), -0.04082582),
    ("squared_hinge", 0.1, False): (0.8495135388, (0.92447887, 0.07552113, 0), 0.0),
    ("squared_hinge", 1, False): (3.8710385959, (0.88856970, 0.06594863, 0.04548166), 0.0),
    ("squared_hinge", 10, False): (17.9548859862, (0.81474860, 0.08349561, 0.10175579), 0.0),
}

# Values of the full problem on instance_one, no intercept: (C, r) -> (optimum, support).
FULL_ONE = {
    (0.1, 2): (1.7901960482, (0, 1, 4)),
    (1, 2): (11.5233515852, (0, 1, 2, 4, 8)),
    (1, 3): (10.7327751552, (0, 1, 2, 4, 5, 8)),
    (10, 3): (48.6263378607, (0, 1, 2, 4, 5, 8)),
}

# Column 0 of instance_one doubled, C = 1: r -> optimum of the full problem.
FULL_ONE_DOUBLED = {2: 11.47005150, 3: 10.27162978}

# First blocks at C = 1 on instance_one: r -> (block, optimum over the blocks so far) in order.
FIRST_BLOCKS = {
    2: (((0, 1), 12.01120168), ((2, 4), 11.74475575), ((0, 8), 11.69144897)),
    3: (((0, 1, 4), 11.57543597), ((2, 8, 0), 10.98913019), ((0, 1, 2), 10.80883489)),
}

# Values of the reduced problem on instance_two, logistic: (seed, C, intercept) -> optimum.
REDUCED_TWO = {
    (0, 0.5, False): 9.3643188225,
    (0, 1, False): 16.4734282524,
    (0, 10, False): 105.9952584548,
    (0, 0.5, True): 9.2968929545,
    (0, 1, True): 16.3529597202,
    (0, 10, True): 105.8171383337,
    (1, 0.5, False): 10.3820398618,
    (1, 1, False): 19.0368290279,
    (1, 10, False): 147.5598920216,
    (1, 0.5, True): 9.4812055515,
    (1, 1, True): 17.5212984397,
    (1, 10, True): 140.3681436649,
    (2, 0.5, False): 11.7352452,
    (2, 1, False): 22.7021538922,
    (2, 10, False): 214.9315012,
    (2, 0.5, True): 10.8628728579,
    (2, 1, True): 20.6322211777,
    (2, 10, True): 185.7130698223,
}

# The budgeted problem on certificate_instance, C = 0.3, k = 3, no intercept:
# seed -> (optimum, support, second best, unscaled bound at the dual of the refit).
BUDGETED = {
    0: (7.953136, (0, 1, 2), 8.565764, 7.445694),
    1: (9.262761, (0, 1, 2), 9.519976, 6.639382),
    2: (7.427527, (0, 1, 5), 7.582835, 6.759016),
    3: (8.190295, (1, 2, 5), 8.237276, 6.097845),
    4: (7.784169, (0, 1, 2), 7.825826, 7.060175),
    5: (8.573554, (0, 1, 6), 8.720145, 7.282478),
}

# Feature generating machine on instance_one: C -> (V of its own scaling, fixed-margin optimum).
MARGIN_MACHINE = {0.1: 0.2942860691, 1: 0.0645821512, 10: 0.0139237865}

# ---------------------------------------------------------------------------- losses, norms


def softplus(t):
    """Return log(1 + exp(t)) for any t."""
    return np.logaddexp(0, t)


def loss_values(loss, m):
    """Return f(m), (n,), for margins m."""
    return softplus(-m) if loss == "logistic" else 0.5 * np.maximum(0, 1 - m) ** 2


def loss_slopes(loss, m):
    """Return -f'(m) and f''(m), (n,) each."""
    if loss == "logistic":
        s = np.exp(-softplus(m))
        return s, s * (1 - s)
    return np.maximum(0, 1 - m), (m < 1).astype(float)


def entropy(t):
    """Return the binary entropy, 0 at the ends."""
    with np.errstate(divide="ignore", invalid="ignore"):
        h = -t * np.log(t) - (1 - t) * np.log(1 - t)
    return np.where((t <= 0) | (t >= 1), 0.0, h)


def dual_value(loss, alpha, C, weight):
    """Return the concave part of the dual: minus the conjugate of the weighted loss."""
    cap = C * weight
    if loss == "logistic":
        return float(np.sum(cap * entropy(alpha / cap)))
    return float(np.sum(alpha - alpha**2 / (2 * cap)))


def k_support(u, r):
    """Return 1/2 of the squared k-support norm of u, and the scalings d that attain it."""
    order = np.argsort(-np.abs(u), kind="stable")
    a = np.abs(u)[order]
    d = np.ones(len(u))
    if np.count_nonzero(a) <= r:
        return 0.5 * float(a @ a), d
    for g in range(r):
        theta = a[g:].sum() / (r - g)
        above = np.inf if g == 0 else a[g - 1]
        if above >= theta >= a[g]:
            d[order] = np.minimum(1, a / theta)
            return 0.5 * float(a[:g] @ a[:g]) + 0.5 * float(a[g:].sum() ** 2) / (r - g), d
    raise AssertionError("no split found")


def top_sum(score, k):
    """Return the sum of the k largest entries."""
    return float(np.sort(score)[::-1][:k].sum())


# ------------------------------------------------------------------------- ridge, enumeration


class Fit(NamedTuple):
    """A ridge solution."""

    coef: np.ndarray
    intercept: float
    objective: float
    alpha: np.ndarray


def ridge(X, y, C, *, loss="logistic", intercept=False, weight=None):
    """Minimise 1/2 ||u||^2 + C sum s_i f(m_i) by damped Newton on all unknowns at once."""
    n, p = X.shape
    s = np.ones(n) if weight is None else np.asarray(weight, float)
    Z = np.column_stack([X, np.ones(n)]) if intercept else np.asarray(X, float)
    ridge_diag = np.ones(Z.shape[1])
    ridge_diag[p:] = 0
    v = np.zeros(Z.shape[1])

    def value(v):
        return 0.5 * ridge_diag @ v**2 + C * s @ loss_values(loss, y * (Z @ v))

    f = value(v)
    for _ in range(200):
        slope, curve = loss_slopes(loss, y * (Z @ v))
        gradient = ridge_diag * v - Z.T @ (C * s * slope * y)
        H = np.diag(ridge_diag) + (Z.T * (C * s * curve)) @ Z
        if intercept and H[p, p] <= 0:
            H[p, p] = 1e-12
        step = np.linalg.solve(H, gradient)
        if gradient @ step <= 1e-10 * (1 + f):  # quadratic convergence: one full step finishes
            v = v - step
            break
        t = 1.0
        while value(v - t * step) > f - 1e-4 * t * (gradient @ step):
            t /= 2
        v = v - t * step
        f = value(v)
    else:
        raise AssertionError("Newton's method did not converge")
    f = value(v)
    slope, _ = loss_slopes(loss, y * (Z @ v))
    return Fit(v[:p], float(v[p]) if intercept else 0.0, float(f), C * s * slope)


def enumerate_supports(X, y, C, k, *, forced=(), **options):
    """Return [(optimum, support)] over all supports of size k that contain `forced`, best first.

    Every support is solved to full accuracy, with the weights and intercept of `options`.
    """
    found = []
    for support in itertools.combinations(range(X.shape[1]), k):
        if set(forced) <= set(support):
            found.append((ridge(X[:, support], y, C, **options).objective, support))
    return sorted(found)


def enumerate_groups(X, y, C, n_groups, groups, *, forced=(), **options):
    """Return [(optimum, support)] over all choices of whole groups with those of `forced`."""
    must = {groups[j] for j in forced}
    found = []
    for chosen in itertools.combinations(np.unique(groups), n_groups):
        if must <= set(chosen):
            support = np.flatnonzero(np.isin(groups, chosen))
            found.append((ridge(X[:, support], y, C, **options).objective, tuple(support)))
    return sorted(found)


def unscaled_bound(X, y, C, k, alpha, *, loss="logistic", weight=None):
    """Return D_k(alpha): a lower bound of the best k-feature objective for feasible alpha."""
    s = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    c = X.T @ (alpha * y)
    return dual_value(loss, alpha, C, s) - 0.5 * top_sum(c**2, k)


def scaled_bound(X, y, C, k, alpha, *, loss="logistic", weight=None):
    """Return the largest D_k(t alpha) over t > 0 by bounded scalar minimisation."""
    from scipy.optimize import minimize_scalar

    s = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    M = 0.5 * top_sum((X.T @ (alpha * y)) ** 2, k)
    cap = np.min(C * s / alpha) if loss == "logistic" else 1e3 * max(1, C)

    def negative(t):
        return t * t * M - dual_value(loss, t * alpha, C, s)

    best = minimize_scalar(negative, bounds=(0, cap), method="bounded", options={"xatol": 1e-13})
    return -float(best.fun)


def margin_machine(X, y, C, blocks):
    """Return V = min over the simplex of max_t 1/2 ||c_t||^2 + ||alpha||^2 / (2C), and alpha.

    The dual of the machine with a free margin, as a conic program of its own.
    """
    n, T = len(y), len(blocks)
    Z = X * y[:, None]
    P = sp.block_diag([sp.eye(n) / C, sp.csc_matrix((1, 1))], format="csc")
    q = np.r_[np.zeros(n), 1.0]
    rows = [np.r_[np.ones(n), 0][None], np.c_[-np.eye(n), np.zeros(n)]]
    rhs = [np.ones(1), np.zeros(n)]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)]
    for block in blocks:
        # 1/2 ||c||^2 <= v  <=>  ||(2 c, 2 v - 1)|| <= 2 v + 1
        A = np.zeros((len(block) + 2, n + 1))
        A[0, n], A[1, n] = -2, -2
        A[2:, :n] = -2 * Z[:, block].T
        rows.append(A)
        rhs.append(np.r_[1.0, -1.0, np.zeros(len(block))])
        cones.append(clarabel.SecondOrderConeT(len(block) + 2))
    assert len(cones) == T + 2
    x, value = _solve(P, q, sp.csc_matrix(np.vstack(rows)), np.concatenate(rhs), cones)
    return value, x[:n]


# ------------------------------------------------------------------------------ conic solver


def _solve(P, q, A, b, cones):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    settings.max_iter = 300
    solver = clarabel.DefaultSolver(
        sp.triu(P, format="csc"), q, sp.csc_matrix(A), b, cones, settings
    )
    solution = solver.solve()
    assert str(solution.status) in {"Solved", "AlmostSolved", "InsufficientProgress"}
    assert abs(solution.obj_val - solution.obj_val_dual) <= 1e-5 * (1 + abs(solution.obj_val))
    return np.array(solution.x), float(solution.obj_val)


def _loss_cones(margin_map, loss, C, s, offset):
    """Return the parts of a conic program for C sum s_i f(margin_map @ x).

    margin_map is (n, offset); the new unknowns stand behind column `offset`: xi (n), and for the
    logistic loss two helpers of n each, exp(-xi) <= a, exp(-m - xi) <= c, a + c <= 1.
    """
    n = margin_map.shape[0]
    eye, zero, M = sp.eye(n), sp.csc_matrix((n, n)), sp.csc_matrix(margin_map)
    none = sp.csc_matrix((n, offset))
    if loss == "squared_hinge":
        A = sp.vstack([sp.hstack([-M, -eye]), sp.hstack([none, -eye])])
        cones = [clarabel.NonnegativeConeT(2 * n)]
        return sp.diags(C * s), np.zeros(n), A, np.r_[-np.ones(n), np.zeros(n)], cones
    first = [sp.hstack([none, eye, zero, zero]), None, sp.hstack([none, zero, -eye, zero])]
    second = [sp.hstack([M, eye, zero, zero]), None, sp.hstack([none, zero, zero, -eye])]
    blank = sp.csc_matrix((n, offset + 3 * n))
    rows, rhs, cones = [], [], []
    for x, _, z in (first, second):
        stacked = sp.vstack([x, blank, z], format="csr")
        order = np.arange(3 * n).reshape(3, n).T.ravel()  # triples (x, 1, z) in a row
        rows.append(stacked[order])
        rhs.append(np.tile([0.0, 1.0, 0.0], n))
        cones += [clarabel.ExponentialConeT()] * n
    rows.append(sp.hstack([none, zero, eye, eye]))
    rhs.append(np.ones(n))
    cones.append(clarabel.NonnegativeConeT(n))
    q = np.r_[C * s, np.zeros(2 * n)]
    return sp.csc_matrix((3 * n, 3 * n)), q, sp.vstack(rows), np.concatenate(rhs), cones


class Conic(NamedTuple):
    """A conic solution: effective weights, intercept, optimum, weights of blocks or features."""

    coef: np.ndarray
    intercept: float
    objective: float
    scaling: np.ndarray


def reduced_problem(X, y, blocks, C, *, loss="logistic", intercept=False, weight=None):
    """Minimise 1/2 (sum_t ||v_t||)^2 + C sum s_i f(m_i), one vector v_t per block, conically."""
    n, m = X.shape
    s = np.ones(n) if weight is None else np.asarray(weight, float)
    T, columns = len(blocks), np.concatenate(blocks)
    p = len(columns)
    # unknowns: v (p), b (1), norms (T), their sum (1)
    head = p + 1 + T + 1
    margin_map = np.zeros((n, head))
    margin_map[:, :p] = y[:, None] * X[:, columns]
    margin_map[:, p] = y if intercept else 0
    P_loss, q_loss, A_loss, b_loss, cones_loss = _loss_cones(margin_map, loss, C, s, head)
    P_head = np.zeros(head)
    P_head[-1] = 1
    tail = A_loss.shape[1] - head
    equal = np.zeros((2, head))
    equal[0, p] = 0 if intercept else 1
    equal[1, p + 1 : p + 1 + T], equal[1, -1] = 1, -1
    rows, rhs, cones = [equal], [np.zeros(2)], [clarabel.ZeroConeT(2)]
    start = 0
    for t, block in enumerate(blocks):
        A = np.zeros((len(block) + 1, head))
        A[0, p + 1 + t] = -1
        A[1:, start : start + len(block)] = -np.eye(len(block))
        start += len(block)
        rows.append(A)
        rhs.append(np.zeros(len(block) + 1))
        cones.append(clarabel.SecondOrderConeT(len(block) + 1))
    head_rows = sp.csc_matrix(np.vstack(rows))
    A = sp.vstack([sp.hstack([head_rows, sp.csc_matrix((head_rows.shape[0], tail))]), A_loss])
    P = sp.block_diag([sp.diags(P_head), P_loss], format="csc")
    q = np.r_[np.zeros(head), q_loss]
    x, _ = _solve(P, q, A, np.concatenate([*rhs, b_loss]), cones + cones_loss)
    coef = np.zeros(m)
    np.add.at(coef, columns, x[:p])
    norms = x[p + 1 : p + 1 + T]
    margins = y * (X @ coef + x[p] * intercept)
    objective = 0.5 * norms.sum() ** 2 + C * float(s @ loss_values(loss, margins))
    return Conic(coef, float(x[p]) if intercept else 0.0, objective, norms / norms.sum())


def full_problem(X, y, r, C, *, loss="logistic", intercept=False, weight=None, groups=None):
    """Minimise 1/2 sum ||u_g||^2 / d_g + C sum s_i f(m_i), 0 <= d <= 1, sum d <= r, conically.

    groups : (m,) labels 0, 1, ... of the features; without them every feature is one by itself.
    """
    n, m = X.shape
    s = np.ones(n) if weight is None else np.asarray(weight, float)
    groups = np.arange(m) if groups is None else np.asarray(groups)
    G = int(groups.max()) + 1
    head = m + 2 * G + 1  # u, d, q (q_g d_g >= ||u_g||^2), b
    margin_map = np.zeros((n, head))
    margin_map[:, :m] = y[:, None] * X
    margin_map[:, -1] = y if intercept else 0
    P_loss, q_loss, A_loss, b_loss, cones_loss = _loss_cones(margin_map, loss, C, s, head)
    rows = [np.zeros((1, head)), np.zeros((G + 1, head))]
    rows[0][0, -1] = 0 if intercept else 1
    rows[1][:G, m : m + G] = np.eye(G)
    rows[1][G, m : m + G] = 1
    rhs = [np.zeros(1), np.r_[np.ones(G), r]]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(G + 1)]
    for g in range(G):
        members = np.flatnonzero(groups == g)
        A = np.zeros((2 + members.size, head))
        A[0, m + g], A[0, m + G + g] = -1, -1
        A[1, m + g], A[1, m + G + g] = 1, -1
        A[2 + np.arange(members.size), members] = -2
        rows.append(A)
        rhs.append(np.zeros(len(A)))
        cones.append(clarabel.SecondOrderConeT(len(A)))
    head_rows = sp.csc_matrix(np.vstack(rows))
    tail = A_loss.shape[1] - head
    A = sp.vstack([sp.hstack([head_rows, sp.csc_matrix((head_rows.shape[0], tail))]), A_loss])
    P = sp.block_diag([sp.csc_matrix((head, head)), P_loss], format="csc")
    q = np.r_[np.zeros(m + G), np.full(G, 0.5), 0, q_loss]
    x, _ = _solve(P, q, A, np.concatenate([*rhs, b_loss]), cones + cones_loss)
    u, b = x[:m], float(x[head - 1]) * intercept
    length = np.sqrt(np.bincount(groups, u**2))
    objective = k_support(length, r)[0] + C * float(s @ loss_values(loss, y * (X @ u + b)))
    return Conic(u, b, objective, x[m : m + G])


# ----------------------------------------------------------------- leave-one-out, repetition


def leave_one_out(X, y, C, *, weight=None):
    """Return the exact leave-one-out decision values eta_i of the ridge fit with free intercept.

    One unit of weight is removed from row i, then the whole model is refitted.
    """
    n = len(y)
    s = np.ones(n) if weight is None else np.asarray(weight, float)
    eta = np.empty(n)
    for i in range(n):
        rest = s.copy()
        rest[i] = max(0.0, rest[i] - 1)
        fit = ridge(X, y, C, intercept=True, weight=rest)
        eta[i] = X[i] @ fit.coef + fit.intercept
    return eta


def leave_one_out_loss(X, y, C, *, weight=None):
    """Return the weighted mean log-loss of the exact leave-one-out predictions."""
    s = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    return float(s @ softplus(-y * leave_one_out(X, y, C, weight=weight)) / s.sum())


def repeat_rows(X, y, weight):
    """Return the data with row i repeated weight[i] times (0: removed)."""
    index = np.repeat(np.arange(len(y)), weight)
    return X[index], y[index]


def standardise(X, weight=None, *, center=True):
    """Return columns of weighted variance one (constant ones zero), mean and multiplier."""
    s = np.ones(len(X)) if weight is None else np.asarray(weight, float)
    mean = s @ X / s.sum()
    std = np.sqrt(np.maximum(0, s @ (X - mean) ** 2 / s.sum()))
    scale = np.where(std > 0, 1 / np.where(std > 0, std, 1), 0)
    mean = mean if center else np.zeros_like(mean)
    return (X - mean) * scale, mean, scale


# --------------------------------------------------------------------------------- verifier


class Proof(NamedTuple):
    """What plain NumPy finds for a claimed certificate."""

    objective: float
    bound: float
    feasible: bool

    @property
    def gap(self):
        """(objective - bound) / objective."""
        return (self.objective - self.bound) / self.objective


def prove(X, y, C, k, support, coef, intercept, alpha, *, weight=None, forced=(), free=False):
    """Recompute a logistic certificate from scratch: objective, bound and dual feasibility."""
    s = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    keep = s > 0
    X, y, s, alpha = X[keep], y[keep], s[keep], np.asarray(alpha)[keep]
    margins = y * (X[:, support] @ coef + intercept)
    objective = 0.5 * coef @ coef + C * s @ softplus(-margins)
    feasible = bool(np.all(alpha >= 0) and np.all(alpha <= C * s))
    if free:  # with a free intercept the dual has an equality constraint
        feasible &= abs(alpha @ y) <= 1e-9 * alpha.sum()
    square = (X.T @ (alpha * y)) ** 2
    must = np.isin(np.arange(X.shape[1]), forced)
    worst = square[must].sum() + top_sum(square[~must], k - must.sum())
    bound = C * s @ entropy(alpha / (C * s)) - 0.5 * worst
    return Proof(float(objective), float(bound), feasible)


# --------------------------------------------------------- measures of labellings and rankings


def labelling_loss(name, y, other):
    """Return Delta(y, other) of a labelling in percent, None where the measure excludes it."""
    name, _, k = name.partition("@")
    a, b = int(np.sum((y > 0) & (other > 0))), int(np.sum((y < 0) & (other > 0)))
    positives = int(np.sum(y > 0))
    if name == "hamming":
        return 2.0 * (b + positives - a)
    if name.startswith("f"):
        square = float(name[1:]) ** 2
        return 100 * (1 - (1 + square) * a / ((1 + square) * a + b + square * (positives - a)))
    k = int(k) if k else positives
    if a + b != k:
        return None
    return 100 * (1 - a / (k if name == "precision" else positives))


def all_cuts(name, y):
    """Return (delta, beta), (K,) and (K, n): the cuts of every labelling, pair labels, ranking."""
    n = len(y)
    positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    pairs = list(itertools.product(positive, negative))
    delta, beta = [], []
    if name == "auc":
        for swapped in itertools.product((False, True), repeat=len(pairs)):
            cut = np.zeros(n)
            for i, j in itertools.compress(pairs, swapped):
                cut[i] += 100 / len(pairs)
                cut[j] -= 100 / len(pairs)
            delta.append(100 * sum(swapped) / len(pairs))
            beta.append(cut)
    elif name == "ap":
        for ranking in itertools.permutations(range(n)):
            place = np.argsort(ranking)
            cut = np.zeros(n)
            for i, j in pairs:
                if place[j] < place[i]:
                    cut[i] += 200 / len(pairs)
                    cut[j] -= 200 / len(pairs)
            hits = np.cumsum(y[list(ranking)] > 0)[np.sort(place[positive])]
            delta.append(100 * (1 - np.mean(hits / (np.sort(place[positive]) + 1))))
            beta.append(cut)
    else:
        for other in itertools.product((-1.0, 1.0), repeat=n):
            loss = labelling_loss(name, y, np.array(other))
            if loss is not None:
                delta.append(loss)
                beta.append(y - np.array(other))
    both = np.unique(np.column_stack([delta, beta]).round(12), axis=0)
    return both[:, 0], both[:, 1:]


def cut_program(factors, delta, g, C):
    """Maximise delta'a - max_t 1/2 ||F_t'a||^2 over a >= 0, sum a <= C, g'a = 0, conically.

    factors : F_t, (K, s_t). Return the optimum and a.
    """
    K, most = len(delta), delta.max()
    unit = C * most  # of the program in terms of a / C
    rows = [np.r_[g, 0.0][None], np.c_[-np.eye(K), np.zeros(K)], np.r_[np.ones(K), 0.0][None]]
    rhs = [np.zeros(1 + K), [1.0]]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(K + 1)]
    if not np.any(g):
        rows, rhs, cones = rows[1:], [np.zeros(K), [1.0]], cones[1:]
    for F in factors:
        # 1/2 ||c||^2 <= v  <=>  ||(c, v - 1/2)|| <= v + 1/2
        A = np.zeros((F.shape[1] + 2, K + 1))
        A[0, K] = A[-1, K] = -1
        A[1:-1, :K] = -F.T * np.sqrt(C / most)
        rows.append(A)
        rhs.append(np.r_[0.5, np.zeros(F.shape[1]), -0.5])
        cones.append(clarabel.SecondOrderConeT(len(A)))
    x, value = _solve(
        sp.csc_matrix((K + 1, K + 1)), np.r_[-delta / most, 1.0], np.vstack(rows),
        np.concatenate(rhs), cones,
    )  # fmt: skip
    return -unit * value, C * x[:K]


def polyhedral_problem(X, blocks, beta, delta, *, intercept=False, owner=None, cost=1.0):
    """Minimise 1/2 (sum_t ||v_t||)^2 + cost sum_r xi_r, xi_r >= 0, conically.

    xi_r >= delta_k - beta_k'(Xu + b) for the rows k with owner[k] = r; by default one r owns all.
    """
    m = X.shape[1]
    owner = np.zeros(len(delta), int) if owner is None else np.asarray(owner)
    T, R, columns = len(blocks), int(owner.max()) + 1, np.concatenate(blocks)
    p = len(columns)
    # unknowns: v (p), b (1), norms (T), their sum (1), xi (R)
    size = p + 1 + T + 1 + R
    equal = np.zeros((2, size))
    equal[0, p] = 0 if intercept else 1
    equal[1, p + 1 : p + 1 + T], equal[1, p + 1 + T] = 1, -1
    loss = np.zeros((len(delta) + R, size))
    loss[: len(delta), :p] = -beta @ X[:, columns]
    loss[: len(delta), p] = -beta.sum(axis=1)
    loss[np.arange(len(delta)), size - R + owner] = -1
    loss[len(delta) :, size - R :] = -np.eye(R)
    rows, rhs = [equal, loss], [np.zeros(2), -delta, np.zeros(R)]
    cones = [clarabel.ZeroConeT(2), clarabel.NonnegativeConeT(len(loss))]
    start = 0
    for t, block in enumerate(blocks):
        A = np.zeros((len(block) + 1, size))
        A[0, p + 1 + t] = -1
        A[1:, start : start + len(block)] = -np.eye(len(block))
        start += len(block)
        rows.append(A)
        rhs.append(np.zeros(len(A)))
        cones.append(clarabel.SecondOrderConeT(len(A)))
    P, q = np.zeros(size), np.zeros(size)
    P[p + 1 + T], q[size - R :] = 1, cost
    x, value = _solve(sp.diags(P, format="csc"), q, np.vstack(rows), np.concatenate(rhs), cones)
    coef = np.zeros(m)
    np.add.at(coef, columns, x[:p])
    norms = x[p + 1 : p + 1 + T]
    return Conic(coef, float(x[p]) * intercept, value, norms / max(norms.sum(), 1e-300))


def measure_problem(X, y, blocks, name, C, *, intercept=False):
    """Minimise 1/2 (sum_t ||v_t||)^2 + C R(Xu + b) for a measure, conically.

    AUC has a slack per pair, Hamming one per row, the others a row for every cut.
    """
    n = len(y)
    if name == "hamming":
        beta, delta, owner, cost = np.diag(y), np.ones(n), np.arange(n), 2 * C
    elif name == "auc":
        pairs = list(itertools.product(np.flatnonzero(y > 0), np.flatnonzero(y < 0)))
        beta = np.array([np.eye(n)[i] - np.eye(n)[j] for i, j in pairs])
        delta, owner, cost = np.ones(len(pairs)), np.arange(len(pairs)), 100 * C / len(pairs)
    else:
        (delta, beta), owner, cost = all_cuts(name, y), None, C
    return polyhedral_problem(
        X, blocks, beta, delta, intercept=intercept, owner=owner, cost=cost
    )  # fmt: skip


# -------------------------------------------------------------------------- hard thresholding


class Thresholded(NamedTuple):
    """An iterate of hard thresholding."""

    coef: np.ndarray
    intercept: float
    objective: float
    curvature: float  # the L of the step that led there


# Table 1 of Xiang, Yang and Ye (KDD 2014): acceleration, L from Barzilai and Borwein, criterion.
THRESHOLDING = {
    "ista": (False, True, "decrease"),
    "ista-l": (False, True, "lipschitz"),
    "fista": (True, True, "lipschitz"),
    "fista-c": (True, False, "lipschitz"),
}


def nearest_bilevel(v, code, n_features, n_groups):
    """Return the nearest vector with so many features in so many groups, by enumeration."""
    best, kept = -1.0, None
    for groups in itertools.combinations(np.unique(code), n_groups):
        inside = np.flatnonzero(np.isin(code, groups))
        largest = inside[np.argsort(-(v[inside] ** 2), kind="stable")][:n_features]
        if (v[largest] ** 2).sum() > best:
            best, kept = (v[largest] ** 2).sum(), largest
    found = np.zeros(len(v))
    found[kept] = v[kept]
    return found


def hard_thresholding(X, y, weight, loss, rho, code, size, variant, tol, *, intercept=False):
    """Return the iterates of Algorithms 1 and 2 of that paper, from zero, over dense vectors.

    Where the package departs from the paper, by its documentation: the first L of a step is at
    least 1e-8 of the mean curvature, not 1, and the mean curvature itself where the step before
    gained nothing or the rule has no positive value; differences of gradients are between search
    points; the intercept is at its best; a run ends after three steps in a row that do not gain
    `tol` of the objective.
    """
    accelerated, spectral, criterion = THRESHOLDING[variant]

    def losses(z):
        """Return the values, their slopes and their curvatures in the margins."""
        if loss == "ls":
            return 0.5 * (z - y) ** 2, z - y, np.ones(len(y))
        slope, bend = loss_slopes("logistic", y * z)
        return softplus(-y * z), -y * slope, bend

    def at(u):
        """Return the objective, the intercept, the gradient and the mean curvature."""
        z, b = X @ u, 0.0
        if intercept and loss == "ls":
            b = weight @ (y - z) / weight.sum()
        elif intercept:
            b = brentq(lambda b: weight @ losses(z + b)[1], -50, 50, xtol=1e-14, rtol=1e-15)
        value, slope, bend = losses(z + b)
        gradient = X.T @ (weight * slope) + rho * u
        return 0.5 * rho * u @ u + weight @ value, b, gradient, rho + weight @ bend

    u = point = np.zeros(X.shape[1])
    value, b, gradient, mean = at(u)
    iterates = [Thresholded(u, b, value, np.nan)]
    best, stalls, momentum, before = value, 0, 1.0, None
    while stalls < 3:
        L = mean
        if spectral and before is not None and stalls == 0:
            moved, turned = point - before[0], gradient - before[1]
            if moved @ turned > 0:
                L = max(1e-8 * mean, (moved @ turned) / (moved @ moved))
        while True:
            new = nearest_bilevel(point - gradient / L, code, *size)
            step, (here, b, *rest) = new - point, at(new)
            if criterion == "decrease":
                limit = value - 1e-3 * L / 2 * step @ step
            else:
                limit = value + gradient @ step + L / 2 * step @ step
            if here <= limit:
                break
            L *= 2
        stalls = stalls + 1 if best - here <= tol * here else 0
        best, before = min(best, here), (point, gradient)
        point, value, (gradient, mean) = new, here, rest
        if accelerated:
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            point = new + (momentum - 1) / following * (new - u)
            momentum = following
            value, _, gradient, mean = at(point)
        u = new
        iterates.append(Thresholded(u, b, here, L))
    return iterates


# ---------------------------------------------------------------------------------- newGLMNET


class NewtonStep(NamedTuple):
    """What an outer iteration of newGLMNET did."""

    coef: np.ndarray
    objective: float
    visited: int  # features that outer shrinking left
    sweeps: int  # of the inner problem
    target: float  # sum of the violations at which the inner problem ended


def newglmnet(X, y, C, n_steps, random):
    """Return the first steps of newGLMNET (Yuan, Ho and Lin, JMLR 2012, Algorithms 3 and 4).

        min_u ||u||_1 + C sum_i log(1 + exp(-y_i x_i'u))

    with sigma = 0.01, halvings, nu = 1e-12, and the violation at 0 as the first inner tolerance.

    random : random(k) gives an object for step k; its shuffle(order, n) puts the first n of the
        features into the order of the next sweep. The published code leaves that order open.
    """

    def violation(g, t):
        """Return the least |subgradient| at t where the smooth part has the derivative g."""
        return np.where(t != 0, np.abs(g + np.sign(t)), np.maximum(np.abs(g) - 1, 0))

    def objective(z, u):
        return C * softplus(-y * z).sum() + np.abs(u).sum()

    (n, m), u, z = X.shape, np.zeros(X.shape[1]), np.zeros(len(y))
    largest, target, steps = np.inf, None, []
    for step in range(n_steps):
        slope, bend = loss_slopes("logistic", y * z)
        gradient = X.T @ (-C * y * slope)
        H = (X.T * (C * bend)) @ X + 1e-12 * np.eye(m)
        violations = violation(gradient, u)
        target = violations.sum() if target is None else target
        J = np.flatnonzero((u != 0) | (np.abs(gradient) >= 1 - largest / n))
        largest = violations[J].max()
        # The inner problem: T are the first n_active of `order`.
        d, inner, sweeps, done = np.zeros(m), np.inf, 0, False
        order, n_active, visits = np.arange(len(J)), len(J), random(step)
        while not done and sweeps < 1000:
            visits.shuffle(order, n_active)
            met, k, sweeps = [], 0, sweeps + 1
            while k < n_active:
                j = J[order[k]]
                g, t = gradient[j] + H[j] @ d, u[j] + d[j]
                if t == 0 and np.abs(g) < 1 - inner / n:
                    n_active -= 1
                    order[[k, n_active]] = order[[n_active, k]]
                    continue
                met.append(violation(g, t))
                centre = H[j, j] * t - g
                new = np.sign(centre) * max(abs(centre) - 1, 0) / H[j, j]
                d[j] = new - u[j] if new else -u[j]
                k += 1
            inner = max(met)
            if sum(met) <= target:
                done, n_active, inner = n_active == len(J), len(J), np.inf
        along, share = X @ d, 1.0
        decrease = gradient @ d + np.abs(u + d).sum() - np.abs(u).sum()
        before = objective(z, u)
        while objective(z + share * along, u + share * d) - before > 0.01 * share * decrease:
            share /= 2
        u, z = u + share * d, z + share * along
        steps.append(NewtonStep(u, objective(z, u), len(J), sweeps, target))
        if sweeps == 1:
            target /= 4
    return steps
