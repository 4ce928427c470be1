"""Losses of several outputs of every row that share their features: classes, or responses.

Margins, targets, weights and dual points are those of all outputs one after the other: entry o n
+ i is row i of output o. The intercepts of the outputs are a part of the loss, which is that at
their best values; so its gradient has the sum 0 over the rows of every output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .. import _kernels
from ..core.types import Columns, FloatArray, IndexArray, Smooth
from .base import (
    Latest,
    LossOfAnother,
    LossOfRows,
    as_arrays,
    balance_each,
    fit_intercept,
    taken_off,
    that_of_each,
)

ROUNDING = 1e-12  # relative: sums of a dual point below this are 0


class LossOfOutputs(LossOfRows):
    """What losses of several outputs share: the second derivative at the best intercepts."""

    n_outputs: int
    free: bool  # whether there are intercepts
    has_intercept: ClassVar[bool] = False  # that solvers know of
    own_intercepts: ClassVar[bool] = True
    separable: ClassVar[bool] = False

    @property
    def outputs(self) -> int:
        return self.n_outputs

    def by_output(self, values: FloatArray) -> FloatArray:
        """Return entries as (outputs, n)."""
        return values.reshape(self.outputs, -1)

    def intercepts(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the best intercepts at margins, (outputs,)."""
        raise NotImplementedError

    def curvature_by_output(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the second derivatives in an output by itself, (outputs, n)."""
        raise NotImplementedError

    @property
    def at_margins(self) -> Any:
        """The loss without intercepts."""
        return replace(self, free=False)  # type: ignore[type-var]

    def moved(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return margins with the best intercepts."""
        return z + np.repeat(self.intercepts(z, y, weight), z.size // self.outputs)

    def free_columns(self, n: int) -> FloatArray:
        """Return the columns without a penalty: 1, where there are intercepts."""
        return np.ones((n, 1 if self.free else 0))

    def null(self, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
        return float(self.value_gradient(np.zeros_like(weight), y, weight)[0])

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        raise NotImplementedError

    def blocks(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        raise NotImplementedError

    def _eliminated(self, Z: Columns, block: FloatArray) -> FloatArray:
        """Return what the intercepts take off the second derivative in coefficients of Z.

        block : (outputs n, outputs) the second derivative in margins times the columns of ones of
            the outputs.
        """
        cross = Z.dot(block)
        own = block.reshape(self.outputs, -1, self.outputs).sum(axis=1)
        return taken_off(cross, 0.5 * (own + own.T))


@dataclass(frozen=True, slots=True)
class Responses(LossOfAnother, LossOfOutputs):
    """The sum of one loss of numbers over several responses: sum_o sum_i s_i f(y_io, z_io + b_o).

    each : f.
    """

    each: Smooth
    n_outputs: int
    free: bool = True

    quadratic = that_of_each("quadratic")
    largest_offset = that_of_each("largest_offset")

    def fitted(self, y: FloatArray, weight: FloatArray) -> Responses:
        return replace(self, each=self.each.fitted(y, weight))

    def centred(self, y: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the responses less their means, where intercepts take these up, and the means."""
        Y, s = self.by_output(y), self.by_output(weight)[0]
        # The mean of a constant response, rounded, may be another number.
        constant = (Y[:, :1] == Y).all(axis=1)
        mean = np.where(constant, Y[:, 0], Y @ s / s.sum()) if self.free else np.zeros(len(Y))
        return (Y - mean[:, None]).ravel(), mean

    def intercepts(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        if not self.free:
            return np.zeros(self.outputs)
        if self.each.quadratic:  # a weighted mean
            s = self.by_output(weight)
            return np.asarray(np.vecdot(s, self.by_output(y) - self.by_output(z)) / s.sum(axis=1))
        parts = zip(self.by_output(z), self.by_output(y), self.by_output(weight), strict=True)
        return np.array([fit_intercept(self.each, *part)[0] for part in parts])

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        value, gradient = self.each.value_gradient(self._shifted(z, y, weight), y, weight)
        return value, -self._balanced(-gradient)

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return that of f: the second derivative is less by what `coupling` gives."""
        return self.each.curvature(self._shifted(z, y, weight), y, weight)

    def curvature_by_output(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        return self.by_output(self.curvature(z, y, weight))

    def blocks(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s f'' of every row and output, on the diagonal."""
        bend = self.by_output(self.curvature(z, y, weight))
        found = np.zeros((self.outputs, *bend.shape))
        diagonal = np.arange(self.outputs)
        found[diagonal, diagonal] = bend
        return found

    def coupling(
        self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> FloatArray | None:
        """Return what the intercepts take off."""
        if not self.free:
            return None
        if Z.repeated is not None:  # of every output by itself: (Z'w)(Z'w)' / sum w
            bend = self.curvature(z, y, weight)
            total = self.by_output(bend).sum(axis=1)
            cross = Z.dot(bend).reshape(-1, self.outputs)
            cross = cross / np.sqrt(np.where(total > 0, total, np.inf))
            found = np.zeros((*cross.shape, *cross.shape))
            for o, own in enumerate(cross.T):
                found[:, o, :, o] = np.outer(own, own)
            return found.reshape(cross.size, cross.size)
        block = self.blocks(z, y, weight).transpose(0, 2, 1)
        return self._eliminated(Z, np.ascontiguousarray(block).reshape(-1, self.outputs))

    def hessian(self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        shared = self.shared_hessian(Z, weight)
        if shared is None:
            return LossOfOutputs.hessian(self, Z, z, y, weight)
        return np.asarray(np.kron(shared, np.eye(self.outputs)), np.float64)

    def shared_hessian(self, Z: Columns, weight: FloatArray) -> FloatArray | None:
        s = self.by_output(weight)
        if not self.each.quadratic or Z.repeated is None or not (s == s[0]).all():
            return None
        x = Z.of_output(0)
        found = x.gram(s[0])
        if self.free:
            cross = x.dot(s[0])
            found -= np.outer(cross, cross / s[0].sum())
        return found

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        V = self.by_output(v)
        if self.free and (np.abs(V.sum(axis=1)) > ROUNDING * np.abs(V).sum(axis=1)).any():
            return np.inf
        return self.each.conjugate(v, y, weight)

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the point nearest to v for f, with the sum 0 over every output."""
        return self._balanced(self.each.inside(v, y, weight))

    def with_offset(self, y: FloatArray, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
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
        return balance_each(self.by_output(v)).ravel()


_LATEST = Latest()  # points


@dataclass(frozen=True, slots=True)
class _Point:
    intercepts: FloatArray  # (outputs,)
    shares: FloatArray  # (outputs, n) p
    value: float
    dual: FloatArray  # minus the gradient


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
        if Z.repeated is not None:
            return Z.gram(self.curvature(z, y, weight)) - self.hessian(Z, z, y, weight)
        p, s = self._shares(z, y, weight), self.by_output(weight)[0]
        rows = Z.summed((np.sqrt(s) * p).ravel(), self.outputs)
        found = np.asarray(rows.T @ rows)
        if self.free:
            block = self.blocks(z, y, weight).transpose(0, 2, 1)
            found += self._eliminated(Z, np.ascontiguousarray(block).reshape(-1, self.outputs))
        return found

    def hessian(self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        x = Z.repeated
        if x is None:
            return LossOfOutputs.hessian(self, Z, z, y, weight)
        found = np.empty((x.shape[1] * self.outputs,) * 2)
        _kernels.multinomial_hessian(
            x, np.arange(x.shape[1]), self._shares(z, y, weight).ravel(),
            np.ascontiguousarray(weight, np.float64), self.outputs, self.free, found,
        )  # fmt: skip
        return found

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        return _kernels.multinomial_conjugate(*as_arrays(v, y, weight), self.outputs, self.free)

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return the c that maximises -conjugate(c v) - c**2 quadratic.

        Only log p of the entries that v moves counts, and these are numbers of single entries.
        """
        return _kernels.multinomial_scale(*as_arrays(v, y, weight), self.outputs, quadratic)

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return a point near v where the conjugate is finite.

        The entries of other classes are what rows of a class give to these. They are kept, none
        positive, up to a factor for each pair of classes where every class has to get what it
        gives; the entry of its own class is the rest of a row.
        """
        found = np.empty(v.size)
        _kernels.multinomial_inside(*as_arrays(v, y, weight), self.outputs, self.free, found)
        return found

    def _shares(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return p at the best intercepts, (outputs, n)."""
        return self._at(z, y, weight).shares

    def _at(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> _Point:
        latest: _Point | None = _LATEST.at(self, z, y, weight)
        if latest is not None:
            return latest
        b, p, dual = np.empty(self.outputs), np.empty(z.size), np.empty(z.size)
        value = _kernels.multinomial_at(
            *as_arrays(z, y, weight), self.outputs, self.free, b, p, dual
        )
        point = _Point(b, self.by_output(p), value, dual)
        for part in (point.intercepts, point.shares, point.dual):
            part.setflags(write=False)
        _LATEST.keep(point, self, z, y, weight)
        return point


def classes_as_outputs(codes: IndexArray, n_classes: int) -> FloatArray:
    """Return the target of `Multinomial` for the numbers of classes of the rows."""
    return np.asarray(np.arange(n_classes)[:, None] == codes, np.float64).ravel()
