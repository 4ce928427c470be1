"""What the verifier asks of the multinomial loss, whose rows couple the outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.types import FloatArray
from .loss import Loss

MOST_ROUNDS = 10_000
BALANCED = 1e-14  # relative: rounding leaves no more


@dataclass(frozen=True)
class Multinomial(Loss):
    """log(sum_o e^z_o) - z_c, c the class; y is 1 in the output of it, else 0.

    Arrays have all rows of the first output, then those of the next one. -v_o of the outputs of
    other classes is what a row gives to these, v_c the sum of that: p = y - v / s is a distribution
    then, and the conjugate is the sum of p log p.
    """

    outputs: int = 2
    labels: ClassVar[bool] = True
    classes: ClassVar[bool] = True

    def ends(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return y - 1 and y."""
        return y - 1.0, y

    def conjugate(self, t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return p log p, and its terms: p = 1 - t of the own class has the rounding of 1."""
        p = np.clip(y - t, 0.0, 1.0)
        size = np.where(y > 0, 1.0 + self.outputs, p)
        log_p = np.log(np.maximum(p, 1e-300))
        return p * log_p, 4.0 * size * (1.0 + np.abs(log_p))

    def values(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the loss of a row at the output of its class."""
        Z, Y = z.reshape(self.outputs, -1), y.reshape(self.outputs, -1)
        away = Z - (Y * Z).sum(axis=0)
        top = away.max(axis=0)
        own = np.log(np.exp(away - top).sum(axis=0)) + top
        found = np.where(Y > 0, own, 0.0)
        terms = np.where(Y > 0, own + 2.0 * np.abs(Z).max(axis=0) + self.outputs, 0.0)
        return found.ravel(), 4.0 * terms.ravel()

    def shares(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return y less the probabilities."""
        Z = z.reshape(self.outputs, -1)
        size = np.exp(Z - Z.max(axis=0))
        return np.asarray(y - (size / size.sum(axis=0)).ravel())

    def balanced(
        self, dual: FloatArray, y: FloatArray, weight: FloatArray, free: bool
    ) -> FloatArray:
        """Return a feasible point: rows give no more than they have, classes what they get."""
        Y, s = y.reshape(self.outputs, -1), weight.reshape(self.outputs, -1)[0]
        given = np.where(Y > 0, 0.0, np.maximum(-dual.reshape(self.outputs, -1), 0.0))
        own = Y.argmax(axis=0)
        if free:
            flow = np.array([given[:, own == c].sum(axis=1) for c in range(self.outputs)])
            given = given * _factors(flow)[own].T
        total = given.sum(axis=0)
        most = (s[total > 0] / total[total > 0]).min(initial=1.0)
        given = given * min(1.0, float(most) * (1.0 - 1e-15))
        found = -given
        found[own, np.arange(own.size)] = given.sum(axis=0)
        return np.asarray(found.ravel())


def _factors(flow: FloatArray) -> FloatArray:
    """Return factors x_a / x_b, at most 1, of what class a gives to b, by which all get as much."""
    # What never comes back cannot be balanced: it is left out.
    reached = (flow > 0) | np.eye(len(flow), dtype=bool)
    for _ in flow:
        reached = (reached @ reached) > 0
    left = np.where(reached & reached.T, flow, 0.0)
    scale = np.ones(len(flow))
    for _ in range(MOST_ROUNDS):
        gives, gets = (left / scale).sum(axis=1) * scale, (left.T * scale).sum(axis=1) / scale
        moving = gives > 0
        if not (np.abs(gives - gets) > 1e-15 * (gives + gets)).any():
            break
        place = int(np.argmax(np.where(moving, np.abs(gives - gets) / (gives + gets), 0.0)))
        scale[place] *= np.sqrt(gets[place] / gives[place])
    else:
        if not (np.abs(gives - gets) <= BALANCED * (gives + gets)).all():
            return np.zeros_like(flow)
    found = np.where(left > 0, scale[:, None] / scale, 0.0)
    return np.asarray(found / max(1.0, float(found.max(initial=0.0))))
