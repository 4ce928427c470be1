"""Certify supports with one scan: lower bounds of the l0 problem and safe fixing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._typing import Design, FloatArray, IndexArray, Smooth
from ..designs._operations import score_errors, top_features
from ..result import Certificate
from ._bounds import Bound, bound_at
from ._cutting_plane import BestDual
from ._drive import Scan, Solver
from ._ridge import ridge
from ._stopwatch import Stopwatch

REFIT_TOL = 1e-12
MAX_SCORES = 2**22  # scores that one scan may return: 32 MiB
MAX_RECOMPUTED = 200  # and 4 k: columns recomputed in float64


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
    clock: Stopwatch | None = None,
) -> Solver[list[Certificate]]:
    """Certify supports, all with one scan (more where their scores would fill the memory).

    Each support is refitted to optimality on the scaling of `design`; at its dual point alpha,
    objective - D_k(alpha) = 1/2 (S_k(c^2) - sum_{j in S} c_j^2). Dual points of the same problem
    found earlier (`known`, by size) are scanned along and taken where they prove more. Bounds stay
    bounds in float32 storage: scores near the k-th are recomputed in float64, the others enter with
    their error.

    clock : measures the seconds spent here, without the scans.
    """
    clock = Stopwatch() if clock is None else clock
    clock.start()
    forced = np.empty(0, np.int64) if forced is None else forced
    weight = C * sample_weight
    fits = [
        ridge(design.gather(support), y, weight, loss, intercept=intercept, tol=REFIT_TOL)
        for support in supports
    ]
    owners: list[int] = []
    alphas: list[FloatArray] = []
    for index, (support, fit) in enumerate(zip(supports, fits, strict=True)):
        owners.append(index)
        alphas.append(fit.alpha)
        if known is not None and support.size in known:
            owners.append(index)
            alphas.append(known[support.size].alpha)
    norms = score_errors(design, sample_weight)
    best: list[Bound | None] = [None] * len(supports)
    clock.stop()
    at_once = max(1, MAX_SCORES // design.shape[1])
    for first in range(0, len(alphas), at_once):
        vectors = np.column_stack([alpha * y for alpha in alphas[first : first + at_once]])
        scores = yield Scan(design, vectors)
        clock.start()
        for column in range(vectors.shape[1]):
            index, alpha = owners[first + column], alphas[first + column]
            support, fit = supports[index], fits[index]
            magnitude = safe_magnitudes(
                design, scores[:, column], vectors[:, column], support, norms, usable
            )
            proof = bound_at(loss, alpha, y, weight, magnitude, support.size, forced, fit.objective)
            best[index] = proof.joined(best[index])
        clock.stop()
    certificates = []
    for support, fit, found in zip(supports, fits, best, strict=True):
        assert found is not None
        dropped = found.dropped if usable is None else found.dropped | ~usable
        certificates.append(
            Certificate(
                C=C,
                scaling=scaling,
                support=support,
                coef=fit.coef,
                intercept=fit.intercept,
                objective=fit.objective,
                bound=min(found.value, fit.objective),
                dual=found.dual,
                fixed_in=int(found.fixed.sum()),
                candidates=int((~dropped).sum()),
                loss=loss.name,
                fit_intercept=intercept,
                forced=forced,
            )
        )
    return certificates


def safe_magnitudes(
    design: Design,
    scores: FloatArray,
    v: FloatArray,
    support: IndexArray,
    norms: FloatArray | None,
    usable: np.ndarray | None,
) -> FloatArray:
    """Return upper bounds of |c_j|, exact to float64 where they decide the k largest.

    norms : (m,) error of a score over ||v||, None where scans are exact to float64.
    """
    upper = np.abs(scores)
    if norms is not None:
        error = float(np.linalg.norm(v)) * norms
        lower = upper - error
        upper += error
        kth = np.partition(lower, -support.size)[-support.size]
        doubtful = np.flatnonzero(upper >= kth)
        if doubtful.size > MAX_RECOMPUTED + 4 * support.size:
            doubtful = top_features(scores, MAX_RECOMPUTED + 4 * support.size)
        doubtful = np.union1d(doubtful, support)
        upper[doubtful] = np.abs(np.asarray(design.gather(doubtful).T @ v))
    if usable is not None:
        upper[~usable] = 0.0
    return upper
