"""Losses of counts and of positive numbers, whose mean is e^z."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, xlog1py, xlogy

from ..core.types import FloatArray
from .base import NumericLoss

LARGEST_MARGIN = 300.0  # beyond it, to either side, losses go on as straight lines: no overflow


class _LogLink(NumericLoss):
    """What losses with the mean e^z have in common."""

    largest_offset: ClassVar[float] = 100.0
    noise: ClassVar[float] = 1e-20

    def mean(self, z: FloatArray) -> FloatArray:
        """Return e^z."""
        with np.errstate(over="ignore"):
            return np.exp(z)


@dataclass(frozen=True, slots=True)
class Poisson(_LogLink):
    """f(y, z) = e^z - y z - y + y log y, y >= 0: half the deviance of a count with the mean e^z.

    An offset o of the margins is the loss of the rate y e^-o with the weight s e^o.
    """

    name: ClassVar[str] = "poisson"
    kernel: ClassVar[int] = 3
    variance_power: ClassVar[float | None] = 1.0
    target: ClassVar[str] = "not negative"

    def of_rows(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f and e^z - y."""
        inner = np.minimum(z, LARGEST_MARGIN)
        rate, beyond = np.exp(inner), z - inner
        positive = y > 0
        centre = np.log(y, out=np.zeros_like(y), where=positive)
        away = inner - centre
        # y (e^d - 1 - d) with d = z - log y: no digits are lost near the least value.
        near = y * (np.expm1(np.minimum(away, 1.0)) - np.minimum(away, 1.0))
        value = np.where(positive & (away <= 1.0), near, rate - y * (1.0 + away))
        slope = rate - y
        return np.where(positive, value, rate) + beyond * slope, slope

    def bends(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return e^z."""
        return np.exp(np.minimum(z, LARGEST_MARGIN))

    def interval(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return -inf and y."""
        return np.full(y.shape, -np.inf), y

    def conjugates(self, t: FloatArray, y: FloatArray) -> FloatArray:
        """Return r log r - r - y log y + y with r = y - t."""
        positive = y > 0
        share = np.divide(-t, y, out=np.zeros_like(y), where=positive)  # r / y - 1
        log_y = np.log(y, out=np.zeros_like(y), where=positive)
        of_counts = y * (xlog1py(1.0 + share, share) - share) - t * log_y
        return np.where(positive, of_counts, xlogy(-t, -t) + t)

    def margins(self, t: FloatArray, y: FloatArray) -> FloatArray:
        """Return log(y - t)."""
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(y - t, 0.0))

    def with_offset(self, y: FloatArray, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rates y e^-o and the weights e^o of which this is the loss with an offset."""
        exposure = np.exp(offset)
        return y / exposure, exposure


@dataclass(frozen=True, slots=True)
class Gamma(_LogLink):
    """f(y, z) = z + y e^-z - 1 - log y, y > 0: half the deviance of a Gamma variable of mean e^z.

    An offset o of the margins is the loss of y e^-o.
    """

    name: ClassVar[str] = "gamma"
    kernel: ClassVar[int] = 4
    variance_power: ClassVar[float | None] = 2.0
    target: ClassVar[str] = "positive"

    def of_rows(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f and 1 - y e^-z."""
        away = np.log(y) - z
        inner = np.minimum(away, LARGEST_MARGIN)
        slope = -np.expm1(inner)
        return np.expm1(inner) - inner - (away - inner) * slope, slope

    def bends(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return y e^-z."""
        return np.exp(np.minimum(np.log(y) - z, LARGEST_MARGIN))

    def interval(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return -1 and inf."""
        return np.full(y.shape, -1.0), np.full(y.shape, np.inf)

    def conjugates(self, t: FloatArray, y: FloatArray) -> FloatArray:
        """Return q log q - q + 1 - t log y with q = 1 + t."""
        return xlog1py(1.0 + t, t) - t - t * np.log(y)

    def margins(self, t: FloatArray, y: FloatArray) -> FloatArray:
        """Return log(y / (1 + t))."""
        with np.errstate(divide="ignore"):
            return np.log(y) - np.log1p(np.maximum(t, -1.0))

    def negative_log_likelihood(
        self, value: float, y: FloatArray, weight: FloatArray, n_rows: float
    ) -> float:
        """Return that of Gamma variables of the likeliest shape."""
        dispersion = max(value / n_rows, 1e-12)  # = log(shape) - digamma(shape)
        shape = brentq(
            lambda a: np.log(a) - digamma(a) - dispersion, 0.49 / dispersion, 1.0 / dispersion
        )
        of_shape = shape - shape * np.log(shape) + gammaln(shape)
        return float(shape * value + n_rows * of_shape + weight @ np.log(y))

    def with_offset(self, y: FloatArray, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return y e^-o, and weights of 1, of which this is the loss with an offset."""
        return y * np.exp(-offset), np.ones_like(y)
