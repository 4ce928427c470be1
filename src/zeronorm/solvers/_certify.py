"""Certify supports with one scan: lower bounds of the l0 problem and safe fixing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._typing import Design, FloatArray, IndexArray, Smooth
from ..certificate import bound_and_fix
from ..designs import Scaled
from ..designs._operations import scan_error, top_features
from ..result import Certificate
from ._cutting_plane import BestDual
from ._drive import Scan, Solver
from ._ridge import ridge

# Below this relative error of a scan (float64 sums) rounding does not touch the digits of a bound.
EXACT_SCAN = 1e-9
REFIT_TOL = 1e-10


def certify_supports(
    design: Design,
    y: FloatArray,
    loss: Smooth,
    supports: Sequence[IndexArray],
    *,
    C: float,
    sample_weight: FloatArray,
    scaling: str,
    intercept: bool = True,
    forced: IndexArray | None = None,
    usable: np.ndarray | None = None,
    known: Mapping[int, BestDual] | None = None,
) -> Solver[list[Certificate]]:
    """Certify supports, all with one scan.

    Each support is refitted to optimality on the scaling of `design`; at its dual point alpha,
    objective - D_k(alpha) = 1/2 (S_k(c^2) - sum_{j in S} c_j^2). Bounds of the same problem found
    earlier (`known`, by size) replace it where they are better. Bounds stay bounds in float32
    storage: scores near the k-th are recomputed in float64, the others enter with their error.
    """
    forced = np.empty(0, np.int64) if forced is None else forced
    weight = C * sample_weight
    fits = []
    for support in supports:
        Z = design.gather(support)
        fits.append((Z, ridge(Z, y, weight, loss, intercept=intercept, tol=REFIT_TOL)))
    vectors = np.column_stack([fit.alpha * y for _, fit in fits])
    scores = yield Scan(design, vectors)
    certificates = []
    for index, support in enumerate(supports):
        fit = fits[index][1]
        magnitude = np.abs(scores[:, index])
        magnitude[support] = np.abs(fit.scores)
        magnitude = _safe_magnitudes(
            design, magnitude, vectors[:, index], support, sample_weight, usable
        )
        fixed_in, candidates, bound, scale = bound_and_fix(
            loss, fit.alpha, y, weight, magnitude**2, support.size, forced, fit.objective
        )
        dual = scale * fit.alpha
        if known is not None and support.size in known and known[support.size].bound > bound:
            bound, dual = known[support.size].bound, known[support.size].alpha
        certificates.append(
            Certificate(
                C=C,
                scaling=scaling,
                support=support,
                coef=fit.coef,
                intercept=fit.intercept,
                objective=fit.objective,
                bound=min(bound, fit.objective),
                dual=dual,
                fixed_in=fixed_in,
                candidates=candidates,
                n_forced=int(forced.size),
            )
        )
    return certificates


def _safe_magnitudes(
    design: Design,
    magnitude: FloatArray,
    v: FloatArray,
    support: IndexArray,
    sample_weight: FloatArray,
    usable: np.ndarray | None,
) -> FloatArray:
    """Return upper bounds of |c_j|, exact to float64 where they decide the k largest."""
    if usable is not None:
        magnitude = np.where(usable, magnitude, 0.0)
    factor = scan_error(design)
    if factor <= EXACT_SCAN:
        return magnitude
    error = factor * float(np.linalg.norm(v)) * _column_norms(design, sample_weight)
    exact = magnitude[support]
    k = support.size
    kth = np.partition(magnitude - error, -k)[-k]
    doubtful = np.flatnonzero(magnitude + error >= kth)
    if doubtful.size > 4 * k + 200:
        doubtful = top_features(magnitude, 4 * k + 200)
    upper = magnitude + error
    if usable is not None:
        upper[~usable] = 0.0
        doubtful = doubtful[usable[doubtful]]
    upper[doubtful] = np.abs(np.asarray(design.gather(doubtful).T @ v))
    upper[support] = exact
    return upper


def _column_norms(design: Design, sample_weight: FloatArray) -> FloatArray:
    """Return ||x_j|| of the stored columns times the scale that `design` applies to them."""
    n = design.shape[0]
    if isinstance(design, Scaled):
        if design.mean is not None and np.ptp(sample_weight) == 0:
            # ||x_j||^2 = n (mean^2 + std^2) and scale = 1 / std
            return np.asarray(np.sqrt(n * ((design.mean * design.scale) ** 2 + 1.0)))
        return _column_norms(design.base, sample_weight) * design.scale
    return np.asarray(np.sqrt(design.moments(np.ones(n), 0, design.shape[1])[1]))
