"""What a coefficient means: for one unit and one standard deviation (SD), as a sum and as a ratio.

Where a model has a logarithmic scale, the exponential of a coefficient is a ratio: by what one unit
of the feature multiplies the odds, the rate or the hazard. Of a column of 0 and 1 that is 1 against
0: a level against the base level. "Per SD" is another number, with another name.
"""

from __future__ import annotations

import math
from typing import Any

# What the exponential of a coefficient is called, by the loss, and what it multiplies.
RATIOS = {
    "logistic": ("odds ratio", "odds"),
    "ordinal": ("odds ratio", "odds of a higher class"),
    "poisson": ("rate ratio", "expected count"),
    "gamma": ("mean ratio", "mean"),
    "cox": ("hazard ratio", "hazard"),
    "cox_efron": ("hazard ratio", "hazard"),
}
_PLAIN = 7.0  # up to this logarithm a ratio is written without an exponent
_DECIMALS = (3, 9)  # at least, and at most


def ratio_name(loss: str | None) -> str | None:
    """Return what the exponential of a coefficient is called; None where it is no ratio."""
    return RATIOS[loss][0] if loss in RATIOS else None


def effects(coef: Any, deviation: Any, loss: str | None) -> dict[str, Any]:
    """Return a coefficient for one unit and for one SD, and both as ratios.

    Parameters
    ----------
    coef : a number, or those of several outputs. deviation : the SD of the feature.
    loss : by its name; the ratios are None where it has none.
    """
    import numpy as np

    plain = np.asarray(coef, np.float64)
    per_sd = plain * deviation
    has_ratio = ratio_name(loss) is not None
    return {
        "coefficient": plain.tolist(),
        "coefficient_per_sd": per_sd.tolist(),
        "ratio": ratio(plain) if has_ratio else None,
        "ratio_per_sd": ratio(per_sd) if has_ratio else None,
    }


def ratio(logarithm: Any) -> Any:
    """Return the exponential, of several a list; None where it is too large or small for a float.

    `ratio_text` writes these, too.
    """
    import numpy as np

    with np.errstate(over="ignore", under="ignore"):
        found = np.exp(np.asarray(logarithm, np.float64))
    if found.ndim:
        return [float(one) if 0.0 < one < math.inf else None for one in found]
    return float(found) if 0.0 < found < math.inf else None


def ratio_text(logarithm: float) -> str:
    """Return a ratio with three digits of how far it is from 1, or as a power of ten.

    >>> from zeronorm.core.effects import ratio_text
    >>> [ratio_text(value) for value in (0.0, -0.076, 0.00023, 5.2, 800.0)]
    ['1.000', '0.9268', '1.000230', '181.272', '2.7e+347']
    """
    if not abs(logarithm) < _PLAIN:
        if not math.isfinite(logarithm):
            return "inf" if logarithm > 0 else "0"
        power = logarithm / math.log(10)
        mantissa = f"{10 ** (power - math.floor(power)):.1f}"
        if mantissa == "10.0":
            return f"1.0e{math.floor(power) + 1:+d}"
        return f"{mantissa}e{math.floor(power):+d}"
    found = math.exp(logarithm)
    size = min(abs(math.expm1(logarithm)), found)
    digits = 2 - math.floor(math.log10(size)) if size > 0 else 0
    return f"{found:.{min(max(digits, _DECIMALS[0]), _DECIMALS[1])}f}"
