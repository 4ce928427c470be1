"""The losses as the verifier knows them: plain formulas of a row, that share no code with ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.types import FloatArray
from .loss import Loss
from .multinomial import Multinomial
from .ordinal import Ordinal
from .survival import Cox


class Logistic(Loss):
    """log(1 + exp(-y z))."""

    labels = True

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return 0 and y, in order."""
        return np.minimum(y, 0.0), np.maximum(y, 0.0)

    def conjugate(self, t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return minus the entropy of |t|.

        A relative error of t is one of t log(t / (1 - t)); each logarithm has one of its own.
        """
        share = np.abs(t)
        positive = np.clip(share, 1e-300, None)
        rest = np.clip(1.0 - share, 1e-300, None)
        log_rest = np.where(share < 0.5, np.log1p(-np.minimum(share, 0.5)), np.log(rest))
        found = share * np.log(positive) + rest * log_rest  # none is positive
        return found, -(found + 4.0 * share * (np.log(positive) + log_rest))

    def values(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f twice."""
        found = np.logaddexp(0.0, -y * z)
        return found, found

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return y / (1 + exp(y z))."""
        return np.asarray(y * np.exp(-np.logaddexp(0.0, y * z)))


class _Square(Loss):
    """What is 1/2 t^2 for a share t; a square without its weight may underflow."""

    def conjugates(
        self, v: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return v t / 2 - y v."""
        own, square = y * v, v * (v / weight)
        return 0.5 * square - own, 2.0 * (square + np.abs(own))


class SquaredHinge(_Square):
    """1/2 max(0, 1 - y z)^2."""

    labels = True

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return 0, and infinity of the sign of y."""
        return np.where(y < 0, -np.inf, 0.0), np.where(y > 0, np.inf, 0.0)

    def losses(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the weighted losses twice."""
        away = np.maximum(0.0, 1.0 - y * z)
        found = 0.5 * (weight * away) * away
        return found, found

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return y max(0, 1 - y z)."""
        return np.asarray(y * np.maximum(0.0, 1.0 - y * z))


@dataclass(frozen=True)
class Residual(_Square):
    """max over low <= t <= high of t (y - z) - t^2 / 2: least squares where there are no ends."""

    centred: ClassVar[bool] = True
    low: float = -np.inf
    high: float = np.inf

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the two ends."""
        return np.full(y.shape, self.low), np.full(y.shape, self.high)

    def losses(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the weighted losses twice; a square alone may underflow."""
        away = y - z
        t = np.clip(away, self.low, self.high)
        found = (weight * t) * (away - 0.5 * t)
        return found, found

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return the residual, clipped."""
        return np.asarray(np.clip(y - z, self.low, self.high))

    def offset(self, y: FloatArray, o: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return y - o and 1."""
        return y - o, np.ones_like(y)


class Poisson(Loss):
    """e^z - y z - y + y log y, y >= 0."""

    least = 0.0

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return -inf and y."""
        return np.full(y.shape, -np.inf), y

    def conjugate(self, t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return r log r - r - y log y + y with r = y - t."""
        r = np.maximum(y - t, 0.0)
        log_r, log_y = _log(r), _log(y)
        # r log(r / y) - r + y, and the rest of what r log r is.
        ratio = np.where(y > 0, -t / np.where(y > 0, y, 1.0), 0.0)
        near = np.where(np.abs(ratio) < 0.5, np.log1p(np.clip(ratio, -0.5, 0.5)), log_r - log_y)
        found = np.where(y > 0, r * near + t - t * log_y, r * log_r + t)
        size = np.abs(t)
        return found, 4.0 * (r * np.abs(near) + size * (1.0 + np.abs(log_r) + np.abs(log_y)))

    def values(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f and the sum of its terms."""
        away = np.where(y > 0, z - _log(y), 0.0)
        near = y * (np.expm1(np.minimum(away, 1.0)) - away)
        mean = np.exp(z)
        found = np.where(y > 0, np.where(away < 1.0, near, mean - y * (1.0 + away)), mean)
        return found, (mean + y) * (2.0 + np.abs(z) + np.abs(np.where(y > 0, _log(y), 0.0)))

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return y - e^z."""
        return np.asarray(y - np.exp(z))

    def steepness(self, z: FloatArray, y: FloatArray, by: float) -> FloatArray:
        """Return e^z, moved."""
        return np.exp(z + by)

    def offset(self, y: FloatArray, o: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return y e^-o and e^o."""
        return y / np.exp(o), np.exp(o)


class Gamma(Loss):
    """z + y e^-z - 1 - log y, y > 0."""

    least = 2.0**-1022  # the smallest number with all its digits

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return -1 and infinity."""
        return np.full(y.shape, -1.0), np.full(y.shape, np.inf)

    def conjugate(self, t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return q log q - q + 1 - t log y with q = 1 + t."""
        q = np.maximum(1.0 + t, 0.0)
        log_q, log_y = np.where(q > 0, np.log1p(np.maximum(t, -1.0)), 0.0), np.log(y)
        found = q * log_q - t - t * log_y
        return found, 4.0 * (q * np.abs(log_q) + np.abs(t) * (1.0 + np.abs(log_q) + np.abs(log_y)))

    def values(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f and the sum of its terms."""
        away = np.log(y) - z
        found = np.expm1(away) - away
        return found, (1.0 + np.exp(away)) * (2.0 + np.abs(z) + np.abs(np.log(y)))

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return y e^-z - 1."""
        return np.asarray(np.expm1(np.log(y) - z))

    def steepness(self, z: FloatArray, y: FloatArray, by: float) -> FloatArray:
        """Return y e^-z, moved."""
        return np.exp(np.log(y) - z + by)

    def offset(self, y: FloatArray, o: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return y e^-o and 1."""
        return y * np.exp(-o), np.ones_like(y)


def _log(x: FloatArray) -> FloatArray:
    """Return log x, of next to nothing that of 1e-300."""
    return np.log(np.maximum(x, 1e-300))


# The numbers that a loss is stated with, by its name; all are positive, and levels are below 1.
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "logistic": (),
    "squared_hinge": (),
    "least_squares": (),
    "huber": ("width",),
    "quantile": ("level", "width"),
    "poisson": (),
    "gamma": (),
    "cox": (),
    "cox_efron": (),
    "multinomial": (),
    "ordinal": (),
}
_PLAIN: Mapping[str, Callable[[], Loss]] = {
    "logistic": Logistic,
    "squared_hinge": SquaredHinge,
    "least_squares": Residual,
    "poisson": Poisson,
    "gamma": Gamma,
    "cox": Cox,
    "cox_efron": lambda: Cox(efron=True),
}


def loss_of(
    name: str, parameters: Mapping[str, float], outputs: int = 1, intercept: Any = 0.0
) -> Loss:
    """Return the loss of a name that is known, with its parameters.

    intercept : of the certificate; of ordered classes minus the thresholds.
    """
    if name == "ordinal":
        return Ordinal(-np.asarray(intercept, np.float64))
    if name == "multinomial":
        return Multinomial(outputs)
    if name == "huber":
        return Residual(-parameters["width"], parameters["width"])
    if name == "quantile":
        level, width = parameters["level"], parameters["width"]
        return Residual(-(1.0 - level) * width, level * width)
    return _PLAIN[name]()
