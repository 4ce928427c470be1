"""The multinomial loss at its best intercepts, and its dual points.

Margins, targets, weights and dual points are those of all outputs one after the other.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.sparse.csgraph import connected_components
from scipy.special import xlogy

from zeronorm.core.types import FloatArray, IndexArray

MAX_NEWTON = 100
NEAR = 1e-13  # relative: shares that near to what is wanted are made equal to it afterwards
MAX_BALANCING = 10_000
ROUNDED = 1e-13  # relative, of what classes give and get: below, what no longer falls is rounding
ROUNDING = 1e-12  # relative: sums of a dual point below this are 0


def multinomial_at(
    z: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    outputs: int,
    intercept: bool,
    intercepts: FloatArray,
    shares: FloatArray,
    dual: FloatArray,
) -> float:
    """Return the multinomial loss of margins at its best intercepts, or without any."""
    Z, Y, s = (one.reshape(outputs, -1) for one in (z, y, weight))
    s = s[0]
    intercepts[:] = 0.0
    if intercept:
        wanted = Y @ s
        some = wanted > 0
        intercepts[:] = -np.inf
        intercepts[some] = _best_shifts(Z[some], Y[some], s, wanted[some])
    moved = Z + intercepts[:, None]
    moved = moved - moved.max(axis=0)
    log_p = moved - np.log(np.exp(moved).sum(axis=0))
    p = np.exp(log_p)
    shares[:] = p.ravel()
    # p - 1 of the own class has lost its digits where p is near 1, and sums have to be 0.
    multinomial_inside((s * (Y - p)).ravel(), y, weight, outputs, intercept, dual)
    return max(-float(s @ np.where(Y > 0, log_p, 0.0).sum(axis=0)), 0.0)


def multinomial_inside(
    v: FloatArray, y: FloatArray, weight: FloatArray, outputs: int, intercept: bool, out: FloatArray
) -> None:
    """Put a point near v where the conjugate of that loss is finite into out, (q n,)."""
    V, Y, s = (one.reshape(outputs, -1) for one in (v, y, weight))
    s, own = s[0], Y.argmax(axis=0)
    given = np.where(Y > 0, 0.0, np.maximum(-V, 0.0))
    if intercept:
        flow = np.zeros((outputs, outputs))
        for o in range(outputs):
            flow[o] = given[:, own == o].sum(axis=1)
        given *= circulating(flow)[own].T
    total = given.sum(axis=0)
    with np.errstate(over="ignore"):
        given *= min(1.0, float((s[total > 0] / total[total > 0]).min(initial=1.0)))
    found = -given
    found[own, np.arange(own.size)] = given.sum(axis=0)
    out[:] = found.ravel()


def multinomial_hessian(
    x: FloatArray,
    columns: IndexArray,
    shares: FloatArray,
    weight: FloatArray,
    outputs: int,
    intercept: bool,
    out: FloatArray,
) -> None:
    """Put the second derivative in coefficients of that loss into out, (p q, p q)."""
    p, s = shares.reshape(outputs, -1), weight.reshape(outputs, -1)[0]
    X = x[:, columns]
    ones = np.ones((len(x), 1 if intercept else 0))
    Z = np.hstack([np.kron(X, np.eye(outputs)), np.kron(ones, np.eye(outputs))])
    Z = Z.reshape(len(x), outputs, -1)
    along = np.einsum("on,noj->nj", p, Z)
    whole = np.einsum("on,noj,nok->jk", s * p, Z, Z) - (s[:, None] * along).T @ along
    m = X.shape[1] * outputs
    own, cross = whole[m:, m:], whole[m:, :m]
    out[:] = whole[:m, :m] - cross.T @ np.linalg.pinv(own, rcond=ROUNDING, hermitian=True) @ cross


def multinomial_conjugate(
    v: FloatArray, y: FloatArray, weight: FloatArray, outputs: int, intercept: bool
) -> float:
    """Return the conjugate of that loss at -v, infinite outside of its domain."""
    V, Y, s = (one.reshape(outputs, -1) for one in (v, y, weight))
    outside = (np.abs(V.sum(axis=0)) > ROUNDING * np.abs(V).sum(axis=0)).any()
    if intercept:
        outside = outside or (np.abs(V.sum(axis=1)) > ROUNDING * np.abs(V).sum(axis=1)).any()
    p = Y - np.divide(V, s, out=np.zeros_like(V), where=s > 0)
    if outside or (p < -ROUNDING).any():
        return np.inf
    p = np.maximum(p, 0.0)
    return float(s[0] @ xlogy(p, p).sum(axis=0))


def multinomial_scale(
    v: FloatArray, y: FloatArray, weight: FloatArray, outputs: int, quadratic: float
) -> float:
    """Return the c that maximises -conjugate(c v) - c^2 quadratic.

    Its derivative sum v log(y - c v / s) - 2 c quadratic falls up to the end of the domain.
    """
    moved = v != 0
    if not moved.any():
        return 1.0
    V, Y, s = v[moved], y[moved], weight[moved]
    t = V / s
    with np.errstate(divide="ignore"):
        ends = np.where(t > 0, Y / t, (Y - 1.0) / t)
    end = (1.0 - 1e-12) * float(ends.min())
    if end <= 0.0:
        return 1.0

    def slope(c: float) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(V @ np.log(Y - c * t)) - 2.0 * c * quadratic

    if slope(end) > 0.0:
        return end
    low = end
    while slope(low) <= 0.0 and low > 1e-100:
        low *= 0.1
    return float(brentq(slope, low, end, xtol=1e-300, rtol=1e-14)) if slope(low) > 0.0 else low


def _best_shifts(z: FloatArray, y: FloatArray, s: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return the b of mean 0 at which the shares of every output have the sum that is wanted.

    Newton's method on the convex loss, with steps that scale every output to its sum where it does
    not get ahead; both fall.
    """
    b = np.log(wanted)
    own = float(s @ (y * z).sum(axis=0))

    def state(b: FloatArray) -> tuple[float, FloatArray]:
        moved = z + b[:, None]
        top = moved.max(axis=0)
        size = np.exp(moved - top)
        total = size.sum(axis=0)
        return float(s @ (np.log(total) + top)) - own - float(wanted @ b), size / total

    value, p = state(b)
    for _ in range(MAX_NEWTON):
        sums = p @ s
        pull = wanted - sums
        if np.abs(pull).max() <= NEAR * wanted.sum():
            break
        hessian = np.diag(sums) - (p * s) @ p.T
        hessian += float(sums.mean()) / len(b)  # along equal shifts, which change nothing
        try:
            step = np.linalg.solve(hessian, pull)
        except np.linalg.LinAlgError:  # an output has no share left
            step = np.zeros_like(b)
        trial = state(b + step)
        if not (trial[0] <= value and step.any()):
            step = np.log(wanted / np.maximum(sums, 1e-300))
            trial = state(b + step)
        if not trial[0] < value and np.abs(wanted - trial[1] @ s).max() >= np.abs(pull).max():
            break
        b, (value, p) = b + step, trial
    return np.asarray(b - b.mean())


def circulating(flow: FloatArray) -> FloatArray:
    """Return factors in [0, 1] by which every class gets what it gives.

    flow : (q, q), not negative, what a class gives to others. The factors are x_a / x_b, found by
    balancing one class after another. What a class gives that never comes back is left out.

    Source: Osborne, On pre-conditioning of matrices, Journal of the ACM 7(4), 1960.
    """
    q = len(flow)
    _, part = connected_components(flow > 0, connection="strong")
    left = np.where(part[:, None] == part, flow, 0.0)
    x = np.ones(q)
    before = np.inf
    for _ in range(MAX_BALANCING):
        worst = 0.0
        for o in range(q):
            gives = float(left[o] @ (x[o] / x))
            gets = float(left[:, o] @ (x / x[o]))
            if gives > 0.0 and gets > 0.0:
                worst = max(worst, abs(gives - gets) / (gives + gets))
                x[o] *= np.sqrt(gets / gives)
        if worst <= 1e-15 or before <= worst <= ROUNDED:
            break
        before = worst
    factor = np.where(left > 0, x[:, None] / x, 0.0)
    return np.asarray(factor / max(1.0, float(factor.max(initial=0.0))))
