"""The scaling of the columns that selection sees, and the form of it that measures need."""

from __future__ import annotations

import numpy as np

from ..core import validation as validate
from ..core.types import Design, FloatArray
from ..data import Scaled
from ..data.operations import center_scale

MOMENT_BITS = 20


def selection_scaling(
    design: Design, weight: FloatArray, *, center: bool, standardize: bool
) -> tuple[Design, str, np.ndarray]:
    """Return the design that selection sees, the name of its scaling and what can be selected.

    One pass over X gives the scales, and finds what is not finite. Constant columns cannot be
    selected. Without `standardize` X stays as it is.
    """
    scaled = center_scale(design, weight, center=center)
    usable = scaled.scale > 0
    if standardize:
        return scaled, "scaled" if scaled.mean is None else "standardized", usable
    validate.check_spread(scaled.scale)
    return design, "none", usable


def centred(design: Design, weight: FloatArray) -> Scaled:
    """Return a design with centred columns, in any storage."""
    base = design.base if isinstance(design, Scaled) else design
    scale = design.scale if isinstance(design, Scaled) else np.ones(base.shape[1])
    if isinstance(design, Scaled) and design.mean is not None:
        return design
    n_features = base.shape[1]
    mean = np.empty(n_features)
    for first in range(0, n_features, base.block):
        last = min(first + base.block, n_features)
        mean[first:last] = base.moments(weight, first, last)[0]
    return Scaled(base, mean / weight.sum(), scale)


def rounded(design: Design) -> Design:
    """Return the design with scales of 20 bits, and means in 2^-20 of the standard deviation.

    Sums in another order, by row or by column, of another type, differ in their last bits, and the
    methods for measures end at another point where any bit differs. No scale needs more digits.
    """
    if not isinstance(design, Scaled):
        return design
    digits, exponent = np.frexp(design.scale)
    scale = np.ldexp(np.round(np.ldexp(digits, MOMENT_BITS)), exponent - MOMENT_BITS)
    if design.mean is None:
        return Scaled(design.base, None, scale)
    # Of the power of 2 next to the standard deviation; where the scale is 0, of 1.
    shift = np.where(scale > 0.0, exponent, 0) + MOMENT_BITS
    with np.errstate(over="ignore"):
        steps = np.ldexp(design.mean, shift)
    mean = np.where(np.isfinite(steps), np.ldexp(np.round(steps), -shift), design.mean)
    return Scaled(design.base, mean, scale)
