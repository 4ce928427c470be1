"""Losses of numbers: of residuals (squares, Huber, quantiles), of counts, of positive numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, xlog1py, xlogy

from ..core.errors import ParameterError
from ..core.types import FloatArray
from ..core.validation import check_positive
from .base import LossOfRows, NumericLoss, share_of

AT_END = 1e-12  # of the range between the ends: so near to one a residual counts as there
NORMAL = 1.4826  # of the median absolute deviation: the standard deviation of normal numbers


class _OfResiduals(LossOfRows):
    of_residuals: ClassVar[bool] = True

    def with_offset(self, y: FloatArray, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return y - o, and weights of 1, of which this is the loss with an offset o."""
        return y - offset, np.ones_like(y)


@dataclass(frozen=True, slots=True)
class LeastSquares(_OfResiduals):
    """f(y, z) = 1/2 (z - y)^2, for any real y."""

    name: ClassVar[str] = "least_squares"
    kernel: ClassVar[int] = 2
    quadratic: ClassVar[bool] = True

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return sum_i s_i f(y_i, z_i) and its gradient s_i (z_i - y_i)."""
        residual = z - y
        weighted = weight * residual
        return 0.5 * float(weighted @ residual), np.asarray(weighted)

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        return weight.copy()

    def negative_log_likelihood(
        self, value: float, y: FloatArray, weight: FloatArray, n_rows: float
    ) -> float:
        """Return n/2 log(2 value / n): that of normal errors, without constants."""
        return normal_likelihood(value, n_rows)

    def null(self, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
        centre = float(weight @ y) / float(weight.sum()) if intercept else 0.0
        return 0.5 * float(weight @ (y - centre) ** 2)

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        return float((0.5 * share_of(v, weight) - y) @ v)

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        return v

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return t = y'v / (2 quadratic + sum_i v_i^2 / s_i), 1 where that is not positive."""
        total = float(y @ v)
        square = 2.0 * quadratic + float(share_of(v, weight) @ v)
        return total / square if total > 0.0 and square > 0.0 else 1.0


class _Clipped(_OfResiduals, NumericLoss):
    """f(y, z) = max over a <= t <= b of t (y - z) - t^2 / 2, with a < 0 < b.

    1/2 r^2 of the residual r = y - z between a and b, and linear with the slopes a and b beyond.
    """

    flattens: ClassVar[bool] = True

    @property
    def kernel_parameters(self) -> tuple[float, float]:
        return self.ends

    @property
    def ends(self) -> tuple[float, float]:
        """A and b."""
        raise NotImplementedError

    def of_rows(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        residual = y - z
        t = np.clip(residual, *self.ends)
        return t * (residual - 0.5 * t), -t

    def bends(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return 1 from end to end, else 0: a generalised second derivative.

        The best intercept of a quantile puts a row at an end, which is to count whichever way
        that is rounded: without any row there is no Newton step.
        """
        residual, (low, high) = y - z, self.ends
        near = AT_END * (high - low)
        return np.asarray((residual > low - near) & (residual < high + near), np.float64)

    def majorant(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s min(1, d / |r - c|), c the middle and d half of the range between the ends.

        But for a part that is linear in r, f is a concave function of (r - c)^2.
        """
        low, high = self.ends
        away = np.abs(y - z - 0.5 * (low + high))
        return np.asarray(weight * np.minimum(1.0, 0.5 * (high - low) / np.maximum(away, 1e-300)))

    def interval(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = self.ends
        return np.full(y.shape, low), np.full(y.shape, high)

    def conjugates(self, t: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray((0.5 * t - y) * t)

    def margins(self, t: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(y - t)


@dataclass(frozen=True, slots=True)
class Huber(_Clipped):
    """f(y, z) = 1/2 r^2 for |r| <= d, d |r| - d^2 / 2 beyond, r = y - z: outliers pull no harder.

    Parameters
    ----------
    epsilon : d in standard deviations of the target, as its median absolute deviation tells them.
    width : d itself, in units of y; None: it follows from `epsilon` and the target.

    References
    ----------
    Huber, Robust estimation of a location parameter, Annals of Mathematical Statistics 35(1), 1964.
    """

    name: ClassVar[str] = "huber"
    kernel: ClassVar[int] = 5
    epsilon: float = 1.35
    width: float | None = None

    def __post_init__(self) -> None:
        """Refuse a width that is none."""
        _check("epsilon", self.epsilon)
        _check("width", self.width)

    @property
    def ends(self) -> tuple[float, float]:
        assert self.width is not None
        return -self.width, self.width

    @property
    def parameters(self) -> dict[str, float]:
        return {} if self.width is None else {"width": self.width}

    def fitted(self, y: FloatArray, weight: FloatArray) -> Huber:
        return self if self.width else replace(self, width=self.epsilon * deviation(y, weight))

    def negative_log_likelihood(
        self, value: float, y: FloatArray, weight: FloatArray, n_rows: float
    ) -> float:
        """Return n/2 log(2 value / n), as of least squares."""
        return normal_likelihood(value, n_rows)


@dataclass(frozen=True, slots=True)
class Quantile(_Clipped):
    """The loss of a quantile of y given x, smoothed: h times max(q r, (q - 1) r), r = y - z.

        f(y, z) = max over -(1 - q) h <= t <= q h of t r - t^2 / 2,

    which is the pinball loss times h, less at most h^2 / 2; near 0, in a range of the width h, it
    is 1/2 r^2.

    Parameters
    ----------
    quantile : q, between 0 and 1.
    smoothing : h in standard deviations of the target, as its median absolute deviation tells them.
    width : h itself, in units of y; None: it follows from `smoothing` and the target.

    References
    ----------
    Koenker and Bassett, Regression quantiles, Econometrica 46(1), 1978.
    """

    name: ClassVar[str] = "quantile"
    kernel: ClassVar[int] = 5
    quantile: float = 0.5
    smoothing: float = 0.05
    width: float | None = None

    def __post_init__(self) -> None:
        """Refuse a quantile or a width that is none."""
        _check("quantile", self.quantile, most=1.0)
        _check("smoothing", self.smoothing)
        _check("width", self.width)

    @property
    def ends(self) -> tuple[float, float]:
        assert self.width is not None
        return -(1.0 - self.quantile) * self.width, self.quantile * self.width

    @property
    def parameters(self) -> dict[str, float]:
        return {"quantile": self.quantile} | ({} if self.width is None else {"width": self.width})

    def fitted(self, y: FloatArray, weight: FloatArray) -> Quantile:
        return self if self.width else replace(self, width=self.smoothing * deviation(y, weight))

    def negative_log_likelihood(
        self, value: float, y: FloatArray, weight: FloatArray, n_rows: float
    ) -> float:
        """Return n log(value / n): that of asymmetric Laplace errors, without constants."""
        return n_rows * float(np.log(max(value / n_rows, np.finfo(float).tiny)))


def _check(name: str, value: float | None, most: float = np.inf) -> None:
    """Raise ValueError where a parameter of a loss is not positive, or not below `most`."""
    if value is not None and not check_positive(name, value) < most:
        raise ParameterError(name, f"must be below {most:g}", f"{value!r}")


def normal_likelihood(value: float, n_rows: float) -> float:
    """Return n/2 log(2 value / n)."""
    return 0.5 * n_rows * float(np.log(max(2.0 * value / n_rows, np.finfo(float).tiny)))


def weighted_median(values: FloatArray, weight: FloatArray) -> float:
    """Return the middle of the values below and above which there is half of the weight."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    below = np.searchsorted(total, 0.5 * total[-1], side="left")
    above = np.searchsorted(total, 0.5 * total[-1], side="right")
    last = values.size - 1
    return 0.5 * float(values[order[min(below, last)]] + values[order[min(above, last)]])


def deviation(y: FloatArray, weight: FloatArray) -> float:
    """Return the standard deviation that the median absolute deviation tells of.

    Where that is 0, as of a target that is mostly one number, the mean absolute deviation; of a
    constant target 1.
    """
    away = np.abs(y - weighted_median(y, weight))
    found = NORMAL * weighted_median(away, weight)
    return found or float(np.average(away, weights=weight)) or 1.0


# Losses of counts and of positive numbers, whose mean is e^z.

LARGEST_MARGIN = 300.0  # beyond it, to either side, losses go on as straight lines: no overflow


class _LogLink(NumericLoss):
    """What losses with the mean e^z have in common."""

    largest_offset: ClassVar[float] = 100.0
    noise: ClassVar[float] = 1e-20

    def mean(self, z: FloatArray) -> FloatArray:
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
        return np.exp(np.minimum(z, LARGEST_MARGIN))

    def interval(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.full(y.shape, -np.inf), y

    def conjugates(self, t: FloatArray, y: FloatArray) -> FloatArray:
        """Return r log r - r - y log y + y with r = y - t."""
        positive = y > 0
        share = np.divide(-t, y, out=np.zeros_like(y), where=positive)  # r / y - 1
        log_y = np.log(y, out=np.zeros_like(y), where=positive)
        of_counts = y * (xlog1py(1.0 + share, share) - share) - t * log_y
        return np.where(positive, of_counts, xlogy(-t, -t) + t)

    def margins(self, t: FloatArray, y: FloatArray) -> FloatArray:
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
        away = np.log(y) - z
        inner = np.minimum(away, LARGEST_MARGIN)
        slope = -np.expm1(inner)
        return np.expm1(inner) - inner - (away - inner) * slope, slope

    def bends(self, z: FloatArray, y: FloatArray) -> FloatArray:
        return np.exp(np.minimum(np.log(y) - z, LARGEST_MARGIN))

    def interval(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.full(y.shape, -1.0), np.full(y.shape, np.inf)

    def conjugates(self, t: FloatArray, y: FloatArray) -> FloatArray:
        return xlog1py(1.0 + t, t) - t - t * np.log(y)

    def margins(self, t: FloatArray, y: FloatArray) -> FloatArray:
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
