"""The multinomial logistic loss of several classes on the same features."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import xlogy

from .. import _kernels
from .._typing import Columns, FloatArray, IndexArray
from ._base import NumericLoss
from ._dual import share_of
from ._outputs import ROUNDING, LossOfOutputs

MAX_NEWTON = 100
NEAR = 1e-13  # relative: shares that near to what is wanted are made equal to it afterwards
MAX_BALANCING = 10_000
ROUNDED = 1e-13  # relative, of what classes give and get: below, what no longer falls is rounding


_LATEST = threading.local()  # the last point: its parts are asked for one after the other


@dataclass(frozen=True, slots=True)
class _Point:
    """The loss at some margins."""

    loss: Multinomial
    z: FloatArray
    y: FloatArray
    weight: FloatArray
    intercepts: FloatArray  # (outputs,)
    shares: FloatArray  # (outputs, n) p
    value: float
    dual: FloatArray  # minus the gradient

    def is_of(self, loss: Multinomial, z: FloatArray, y: FloatArray, weight: FloatArray) -> bool:
        """Return whether this is the point of such margins."""
        same = self.y is y and self.weight is weight and self.loss == loss
        return same and np.array_equal(self.z, z)


@dataclass(frozen=True, slots=True)
class Multinomial(LossOfOutputs):
    """The multinomial logistic loss of classes.

        sum_i s_i [ log(sum_o e^(z_io + b_o)) - (z_ic + b_c) ],   c the class of row i,

    at its best b, or at b = 0. The target is 1 in the output of the class of a row, else 0. With
    p_io = y_io - v_io / s_i, which has to be a distribution over the outputs of every row, the
    conjugate is sum_i s_i sum_o p_io log p_io; where b is free, v has the sum 0 over every output.

    References
    ----------
    Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via
    coordinate descent, Journal of Statistical Software 33(1), 2010.
    """

    name: ClassVar[str] = "multinomial"
    of_labels: ClassVar[bool] = True
    n_outputs: int
    free: bool = True

    def intercepts(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the best intercepts, of mean 0; a class without rows has -inf."""
        if not self.free:
            return np.zeros(self.outputs)
        return self._at(z, y, weight).intercepts

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return the value at the best intercepts, and its gradient s (p - y)."""
        point = self._at(z, y, weight)
        return point.value, -point.dual

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s_i p_io: the second derivative is diag(s p) less what `coupling` gives."""
        return weight * self._shares(z, y, weight).ravel()

    def curvature_by_output(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s p (1 - p) q / (q - 1), (outputs, n).

        The loss does not change where all margins of a row move by one number. So it bends along
        moves of sum 0 alone, and there by so much where p are equal, or where there are two.
        """
        p, s = self._shares(z, y, weight), self.by_output(weight)[0]
        return np.asarray(s * p * (1.0 - p) * (self.outputs / (self.outputs - 1)))

    def blocks(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s (diag(p) - p p') of every row."""
        p, s = self._shares(z, y, weight), self.by_output(weight)[0]
        found = -(s * p)[:, None] * p
        diagonal = np.arange(self.outputs)
        found[diagonal, diagonal] += s * p
        return np.asarray(found)

    def coupling(
        self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> FloatArray | None:
        """Return what the sums of a row and the intercepts take off."""
        if _is_compiled() and Z.repeated is not None:
            return Z.gram(self.curvature(z, y, weight)) - self.hessian(Z, z, y, weight)
        p, s = self._shares(z, y, weight), self.by_output(weight)[0]
        rows = Z.summed((np.sqrt(s) * p).ravel(), self.outputs)
        found = np.asarray(rows.T @ rows)
        if self.free:
            block = self.blocks(z, y, weight).transpose(0, 2, 1)
            found += self._eliminated(Z, np.ascontiguousarray(block).reshape(-1, self.outputs))
        return found

    def hessian(self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the second derivative in coefficients of Z."""
        x = Z.repeated if _is_compiled() else None
        if x is None:
            return LossOfOutputs.hessian(self, Z, z, y, weight)
        found = np.empty((x.shape[1] * self.outputs,) * 2)
        _kernels.multinomial_hessian(
            x, np.arange(x.shape[1]), self._shares(z, y, weight).ravel(),
            np.ascontiguousarray(weight, np.float64), self.outputs, self.free, found,
        )  # fmt: skip
        return found

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return the conjugate at -v, infinite outside of its domain."""
        if _is_compiled():
            return _kernels.multinomial_conjugate(
                *_contiguous(v, y, weight), self.outputs, self.free
            )
        V, s = self.by_output(v), self.by_output(weight)[0]
        size = np.abs(V).sum(axis=0)
        outside = (np.abs(V.sum(axis=0)) > ROUNDING * size).any()
        if self.free:
            outside = outside or (np.abs(V.sum(axis=1)) > ROUNDING * np.abs(V).sum(axis=1)).any()
        p: FloatArray = self.by_output(y) - self.by_output(share_of(v, weight))
        if outside or (p < -ROUNDING).any():
            return np.inf
        p = np.maximum(p, 0.0)
        return float(s @ xlogy(p, p).sum(axis=0))

    def interval(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of v / s."""
        return y - 1.0, y

    def margins(self, t: FloatArray, y: FloatArray) -> FloatArray:
        """Return margins at which v / s is t, up to a constant of every row."""
        return np.asarray(np.log(y - t))

    def bends(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return by how much minus v / s falls with these margins: p."""
        return np.exp(z)

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return the c that maximises -conjugate(c v) - c**2 quadratic.

        Only log p of the entries that v moves counts, and these are numbers of single entries.
        """
        if _is_compiled():
            return _kernels.multinomial_scale(*_contiguous(v, y, weight), self.outputs, quadratic)
        # In Python, of one that has its margins and bends.
        return float(NumericLoss.best_scale(cast("Any", self), v, y, weight, quadratic))

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return a point near v where the conjugate is finite.

        The entries of other classes are what rows of a class give to these. They are kept, none
        positive, up to a factor for each pair of classes where every class has to get what it
        gives; the entry of its own class is the rest of a row.
        """
        if not _is_compiled():
            return self._inside_by_steps(v, y, weight)
        found = np.empty(v.size)
        _kernels.multinomial_inside(*_contiguous(v, y, weight), self.outputs, self.free, found)
        return found

    def _inside_by_steps(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        Y, s = self.by_output(y), self.by_output(weight)[0]
        own = Y.argmax(axis=0)
        given = np.where(Y > 0, 0.0, np.maximum(-self.by_output(v), 0.0))
        if self.free:
            flow = np.zeros((self.outputs, self.outputs))
            for o in range(self.outputs):
                flow[o] = given[:, own == o].sum(axis=1)
            given *= _circulating(flow)[own].T
        total = given.sum(axis=0)
        with np.errstate(over="ignore"):
            given *= min(1.0, float((s[total > 0] / total[total > 0]).min(initial=1.0)))
        found = -given
        found[own, np.arange(own.size)] = given.sum(axis=0)
        return found.ravel()

    def _shares(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return p at the best intercepts, (outputs, n)."""
        return self._at(z, y, weight).shares

    def _at(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> _Point:
        """Return the point of some margins."""
        latest: _Point | None = getattr(_LATEST, "point", None)
        if latest is not None and latest.is_of(self, z, y, weight):
            return latest
        point = self._compiled(z, y, weight) if _is_compiled() else self._by_steps(z, y, weight)
        for part in (point.intercepts, point.shares, point.dual):
            part.setflags(write=False)
        _LATEST.point = point
        return point

    def _compiled(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> _Point:
        b, p, dual = np.empty(self.outputs), np.empty(z.size), np.empty(z.size)
        value = _kernels.multinomial_at(
            *_contiguous(z, y, weight), self.outputs, self.free, b, p, dual
        )
        return _Point(self, z.copy(), y, weight, b, self.by_output(p), value, dual)

    def _by_steps(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> _Point:
        Z, Y, s = self.by_output(z), self.by_output(y), self.by_output(weight)[0]
        b = np.zeros(self.outputs)
        if self.free:
            wanted = Y @ s
            some = wanted > 0
            b = np.full(self.outputs, -np.inf)
            b[some] = _best_shifts(Z[some], Y[some], s, wanted[some])
        log_p = _log_shares(Z, b)
        value = max(-float(s @ np.where(Y > 0, log_p, 0.0).sum(axis=0)), 0.0)
        p = np.exp(log_p)
        # p - 1 of the own class has lost its digits where p is near 1, and sums have to be 0.
        dual = self._inside_by_steps((s * (Y - p)).ravel(), y, weight)
        return _Point(self, z.copy(), y, weight, b, p, value, dual)


def _is_compiled() -> bool:
    return _kernels.HAS_COMPILED_SOLVERS


def _contiguous(
    z: FloatArray, y: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return arrays as compiled functions take them."""
    found = [np.ascontiguousarray(one, np.float64) for one in (z, y, weight)]
    return found[0], found[1], found[2]


def _log_shares(z: FloatArray, b: FloatArray) -> FloatArray:
    """Return log p of the outputs, p_o = e^(z_o + b_o) / the sum of these, (outputs, n)."""
    moved = z + b[:, None]
    moved = moved - moved.max(axis=0)
    return np.asarray(moved - np.log(np.exp(moved).sum(axis=0)))


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


def _circulating(flow: FloatArray) -> FloatArray:
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


def classes_as_outputs(codes: IndexArray, n_classes: int) -> FloatArray:
    """Return the target of `Multinomial` for the numbers of classes of the rows."""
    return np.asarray(np.arange(n_classes)[:, None] == codes, np.float64).ravel()
