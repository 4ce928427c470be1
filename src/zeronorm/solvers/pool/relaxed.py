"""Points of a relaxation of the l0 problem, and its solution: see `pool.relaxation`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.types import FloatArray
from ..units import Units
from .support_norm import support_norm


@dataclass(frozen=True, slots=True)
class Point:
    """Coefficients, and what they give."""

    u: FloatArray
    b: float
    z: FloatArray  # (n,) Zu, without the intercept
    gradient: FloatArray  # (n,) of the loss in the margins
    loss: float
    objective: float


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A solution of (R)."""

    coef: FloatArray  # (p,)
    intercept: float
    share: FloatArray  # (n_units,) d_g: 1 where fixed in
    dual: FloatArray  # (n,) the dual point of the bound
    objective: float
    bound: float  # the best D(v) on the way
    into: FloatArray  # (n_units,) by how much the value rises, nearly, if a unit must be in; 0
    out: FloatArray  # where its share is 0 or 1, or that was not asked for; the same of out
    # (p,) Z'v of the dual point; None where a bound has others.
    scores: FloatArray | None = None


def shares_of(u: FloatArray, units: Units, n_fixed: int, q: int) -> FloatArray:
    """Return the d_g of coefficients, 1 for fixed units."""
    share = np.ones(units.usable.size)
    free = units.strength(u)[n_fixed:]
    threshold = support_norm(free, q)[1]
    share[n_fixed:] = np.minimum(1.0, free / threshold) if threshold > 0 else free > 0
    return share
