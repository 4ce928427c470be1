"""The multinomial logistic loss of several classes on the same features."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import _kernels
from ..core.types import Columns, FloatArray, IndexArray
from .outputs import LossOfOutputs

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
        """Return the second derivative in coefficients of Z."""
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
        """Return the conjugate at -v, infinite outside of its domain."""
        return _kernels.multinomial_conjugate(*_contiguous(v, y, weight), self.outputs, self.free)

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return the c that maximises -conjugate(c v) - c**2 quadratic.

        Only log p of the entries that v moves counts, and these are numbers of single entries.
        """
        return _kernels.multinomial_scale(*_contiguous(v, y, weight), self.outputs, quadratic)

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return a point near v where the conjugate is finite.

        The entries of other classes are what rows of a class give to these. They are kept, none
        positive, up to a factor for each pair of classes where every class has to get what it
        gives; the entry of its own class is the rest of a row.
        """
        found = np.empty(v.size)
        _kernels.multinomial_inside(*_contiguous(v, y, weight), self.outputs, self.free, found)
        return found

    def _shares(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return p at the best intercepts, (outputs, n)."""
        return self._at(z, y, weight).shares

    def _at(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> _Point:
        """Return the point of some margins."""
        latest: _Point | None = getattr(_LATEST, "point", None)
        if latest is not None and latest.is_of(self, z, y, weight):
            return latest
        b, p, dual = np.empty(self.outputs), np.empty(z.size), np.empty(z.size)
        value = _kernels.multinomial_at(
            *_contiguous(z, y, weight), self.outputs, self.free, b, p, dual
        )
        point = _Point(self, z.copy(), y, weight, b, self.by_output(p), value, dual)
        for part in (point.intercepts, point.shares, point.dual):
            part.setflags(write=False)
        _LATEST.point = point
        return point


def _contiguous(
    z: FloatArray, y: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return arrays as compiled functions take them."""
    found = [np.ascontiguousarray(one, np.float64) for one in (z, y, weight)]
    return found[0], found[1], found[2]


def classes_as_outputs(codes: IndexArray, n_classes: int) -> FloatArray:
    """Return the target of `Multinomial` for the numbers of classes of the rows."""
    return np.asarray(np.arange(n_classes)[:, None] == codes, np.float64).ravel()
