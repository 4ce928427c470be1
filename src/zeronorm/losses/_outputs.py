"""Losses of several outputs of every row that share their features: classes, or responses.

Margins, targets, weights and dual points are those of all outputs one after the other: entry
o n + i is row i of output o. The intercepts of the outputs are a part of the loss, which is that at
their best values; so its gradient has the sum 0 over the rows of every output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

from .._typing import Columns, FloatArray, IndexArray, Smooth
from ._base import LossOfRows, NumericLoss
from ._dual import balance, fit_intercept, share_of

ROUNDING = 1e-12  # relative: sums of a dual point below this are 0
MAX_NEWTON = 100
MAX_BALANCING = 10_000


class LossOfOutputs(LossOfRows):
    """What losses of several outputs share: the second derivative at the best intercepts."""

    n_outputs: int
    free: bool  # whether there are intercepts
    has_intercept: ClassVar[bool] = False  # that solvers know of
    separable: ClassVar[bool] = False

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return self.n_outputs

    def by_output(self, values: FloatArray) -> FloatArray:
        """Return entries as (outputs, n)."""
        return values.reshape(self.outputs, -1)

    def intercepts(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the best intercepts at margins, (outputs,)."""
        raise NotImplementedError

    def null(self, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
        """Return the value without features."""
        return float(self.value_gradient(np.zeros_like(weight), y, weight)[0])

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return the value at the best intercepts and its gradient."""
        raise NotImplementedError

    def _eliminated(self, Z: Columns, block: FloatArray) -> FloatArray:
        """Return what the intercepts take off the second derivative in coefficients of Z.

        block : (outputs n, outputs) the second derivative in margins times the columns of ones of
            the outputs.
        """
        cross = Z.dot(block)
        own = block.reshape(self.outputs, -1, self.outputs).sum(axis=1)
        values, vectors = np.linalg.eigh(0.5 * (own + own.T))
        kept = values > ROUNDING * max(float(values[-1]), 1e-300)
        root = (cross @ vectors[:, kept]) / np.sqrt(values[kept])
        return np.asarray(root @ root.T)


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
        z, y, s = self.by_output(z), self.by_output(y), self.by_output(weight)[0]
        if not self.free:
            return np.zeros(len(z))
        wanted = y @ s
        some = wanted > 0
        found = np.full(len(z), -np.inf)
        found[some] = _best_shifts(z[some], y[some], s, wanted[some])
        return found

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return the value at the best intercepts, and its gradient s (p - y)."""
        b = self.intercepts(z, y, weight)
        y, s = self.by_output(y), self.by_output(weight)[0]
        log_p = _log_shares(self.by_output(z), b)
        value = -float(s @ np.where(y > 0, log_p, 0.0).sum(axis=0))
        return max(value, 0.0), (s * (np.exp(log_p) - y)).ravel()

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s_i p_io: the second derivative is diag(s p) less what `coupling` gives."""
        return weight * self._shares(z, y, weight).ravel()

    def coupling(
        self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> FloatArray | None:
        """Return what the sums of a row and the intercepts take off."""
        p, s = self._shares(z, y, weight), self.by_output(weight)[0]
        rows = Z.summed((np.sqrt(s) * p).ravel(), self.outputs)
        found = np.asarray(rows.T @ rows)
        if self.free:
            block = -(s * p)[:, :, None] * p.T
            diagonal = np.arange(self.outputs)
            block[diagonal, :, diagonal] += s * p
            found += self._eliminated(Z, block.reshape(-1, self.outputs))
        return found

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return the conjugate at -v, infinite outside of its domain."""
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

    # Only log p of the entries that v moves counts, and these are numbers of single entries.
    best_scale = NumericLoss.best_scale

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return a point near v where the conjugate is finite.

        The entries of other classes are what rows of a class give to these. They are kept, none
        positive, up to a factor for each pair of classes where every class has to get what it
        gives; the entry of its own class is the rest of a row.
        """
        Y, s = self.by_output(y), self.by_output(weight)[0]
        own = Y.argmax(axis=0)
        given = np.where(Y > 0, 0.0, np.maximum(-self.by_output(v), 0.0))
        if self.free:
            flow = np.zeros((self.outputs, self.outputs))
            for o in range(self.outputs):
                flow[o] = given[:, own == o].sum(axis=1)
            given *= _circulating(flow)[own].T
        total = given.sum(axis=0)
        given *= min(1.0, float((s[total > 0] / total[total > 0]).min(initial=1.0)))
        found = -given
        found[own, np.arange(own.size)] = given.sum(axis=0)
        return found.ravel()

    def _shares(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return p at the best intercepts, (outputs, n)."""
        return np.exp(_log_shares(self.by_output(z), self.intercepts(z, y, weight)))


@dataclass(frozen=True, slots=True)
class Responses(LossOfOutputs):
    """The sum of one loss of numbers over several responses: sum_o sum_i s_i f(y_io, z_io + b_o).

    each : f.
    """

    each: Smooth
    n_outputs: int
    free: bool = True

    @property
    def name(self) -> str:
        """The name of f."""
        return self.each.name

    @property
    def target(self) -> str:  # type: ignore[override,unused-ignore]
        """What numbers the responses may have."""
        return self.each.target

    @property
    def parameters(self) -> dict[str, float]:
        """Those of f."""
        return self.each.parameters

    @property
    def final(self) -> Responses:
        """The sum of the final losses of f."""
        return replace(self, each=self.each.final)

    @property
    def of_residuals(self) -> bool:  # type: ignore[override]
        """Whether f is a function of y - z."""
        return self.each.of_residuals

    @property
    def largest_offset(self) -> float:  # type: ignore[override]
        """That of f."""
        return self.each.largest_offset

    @property
    def noise(self) -> float:  # type: ignore[override]
        """That of f."""
        return self.each.noise

    def fitted(self, y: FloatArray, weight: FloatArray) -> Responses:
        """Return the loss with the parameters of f that follow from all responses."""
        return replace(self, each=self.each.fitted(y, weight))

    def centred(self, y: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the responses less their means, where intercepts take these up, and the means."""
        Y, s = self.by_output(y), self.by_output(weight)[0]
        # The mean of a constant response, rounded, may be another number.
        constant = (Y[:, :1] == Y).all(axis=1)
        mean = np.where(constant, Y[:, 0], Y @ s / s.sum()) if self.free else np.zeros(len(Y))
        return (Y - mean[:, None]).ravel(), mean

    def intercepts(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the best intercepts."""
        if not self.free:
            return np.zeros(self.outputs)
        parts = zip(self.by_output(z), self.by_output(y), self.by_output(weight), strict=True)
        return np.array([fit_intercept(self.each, *part)[0] for part in parts])

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return the value at the best intercepts, and its gradient."""
        value, gradient = self.each.value_gradient(self._shifted(z, y, weight), y, weight)
        return value, -self._balanced(-gradient)

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return that of f: the second derivative is less by what `coupling` gives."""
        return self.each.curvature(self._shifted(z, y, weight), y, weight)

    def coupling(
        self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> FloatArray | None:
        """Return what the intercepts take off."""
        if not self.free:
            return None
        bend = self.by_output(self.curvature(z, y, weight))
        block = np.zeros((*bend.shape, self.outputs))
        diagonal = np.arange(self.outputs)
        block[diagonal, :, diagonal] = bend
        return self._eliminated(Z, block.reshape(-1, self.outputs))

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return the conjugate at -v, infinite outside of its domain."""
        V = self.by_output(v)
        if self.free and (np.abs(V.sum(axis=1)) > ROUNDING * np.abs(V).sum(axis=1)).any():
            return np.inf
        return self.each.conjugate(v, y, weight)

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return that of f over all outputs."""
        return self.each.best_scale(v, y, weight, quadratic)

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the point nearest to v for f, with the sum 0 over every output."""
        return self._balanced(self.each.inside(v, y, weight))

    def with_offset(self, y: FloatArray, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what f makes of offsets."""
        return self.each.with_offset(y, offset)

    def negative_log_likelihood(
        self, value: float, y: FloatArray, weight: FloatArray, n_rows: float
    ) -> float:
        """Return that of f, of so many times as many rows."""
        final: Any = self.each.final
        return float(final.negative_log_likelihood(value, y, weight, self.outputs * n_rows))

    def _shifted(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        b = self.intercepts(z, y, weight)
        return (self.by_output(z) + b[:, None]).ravel()

    def _balanced(self, v: FloatArray) -> FloatArray:
        if not self.free:
            return v
        return np.concatenate([balance(part) for part in self.by_output(v)])


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
        if np.abs(pull).max() <= 1e-15 * wanted.sum():
            break
        hessian = np.diag(sums) - (p * s) @ p.T
        hessian += float(sums.mean()) / len(b)  # along equal shifts, which change nothing
        step = np.linalg.lstsq(hessian, pull, rcond=1e-15)[0]
        trial = state(b + step)
        if not trial[0] <= value:
            step = np.log(wanted / np.maximum(sums, 1e-300))
            trial = state(b + step)
        if not trial[0] < value and np.abs(wanted - trial[1] @ s).max() >= np.abs(pull).max():
            break
        b, (value, p) = b + step, trial
    return np.asarray(b - b.mean())


def _circulating(flow: FloatArray) -> FloatArray:
    """Return factors in [0, 1] by which every class gets what it gives.

    flow : (q, q), not negative, what a class gives to others. The factors are x_a / x_b, found by
    balancing one class after another; a class that only gives, or only gets, has none.

    Source: Osborne, On pre-conditioning of matrices, Journal of the ACM 7(4), 1960.
    """
    q = len(flow)
    open_ = np.ones((q, q), bool)
    while True:  # classes that nothing leaves or enters take their flow from others
        left = np.where(open_, flow, 0.0)
        one_sided = (left.sum(axis=0) > 0) != (left.sum(axis=1) > 0)
        if not one_sided.any():
            break
        open_[one_sided] = False
        open_[:, one_sided] = False
    x = np.ones(q)
    for _ in range(MAX_BALANCING):
        worst = 0.0
        for o in range(q):
            gives = float(left[o] @ (x[o] / x))
            gets = float(left[:, o] @ (x / x[o]))
            if gives > 0.0 and gets > 0.0:
                worst = max(worst, abs(gives - gets) / (gives + gets))
                x[o] *= np.sqrt(gets / gives)
        if worst <= 1e-15:
            break
    factor = np.where(left > 0, x[:, None] / x, 0.0)
    return np.asarray(factor / max(1.0, float(factor.max(initial=0.0))))


def classes_as_outputs(codes: IndexArray, n_classes: int) -> FloatArray:
    """Return the target of `Multinomial` for the numbers of classes of the rows."""
    return np.asarray(np.arange(n_classes)[:, None] == codes, np.float64).ravel()


__all__ = ["LossOfOutputs", "Multinomial", "Responses", "classes_as_outputs"]
