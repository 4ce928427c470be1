"""The program over the cuts of a measure by Clarabel, a solver for second-order cones.

It checks the method of the package, which takes no part of it.
"""

from __future__ import annotations

from itertools import pairwise

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpstrf

from zeronorm.core.types import FloatArray

TOLERANCE = 1e-8  # of its gap


def solve_by_clarabel(
    grams: FloatArray, delta: FloatArray, g: FloatArray, C: float
) -> tuple[FloatArray, FloatArray, float, float, float]:
    """Solve the program over K cuts and T blocks of features.

        min_{alpha, theta} theta - delta'alpha   over alpha >= 0, sum alpha <= C, g'alpha = 0
                           ||(F_t'alpha, theta - 1/2)|| <= theta + 1/2 for every block

    grams : (T, K, K) G_t = F_t F_t'.

    Returns
    -------
    alpha (K,), feasible; the weights of the blocks (T,); the multiplier b of the equality; the
    bound delta'alpha - max_t 1/2 alpha'G_t alpha; the value of the dual of this program.
    """
    n_cuts = delta.size
    rows, right, cones = [], [], []
    if np.any(g):
        rows.append(np.append(g, 0.0)[None])
        right.append(np.zeros(1))
        cones.append(clarabel.ZeroConeT(1))
    rows += [
        np.hstack([-np.eye(n_cuts), np.zeros((n_cuts, 1))]),
        np.append(np.ones(n_cuts), 0)[None],
    ]
    right.append(np.append(np.zeros(n_cuts), C))
    cones.append(clarabel.NonnegativeConeT(n_cuts + 1))
    for gram in grams:
        factor = _factor(gram)
        rank = factor.shape[1]
        block = np.zeros((rank + 2, n_cuts + 1))
        block[0, -1] = block[-1, -1] = -1.0
        block[1:-1, :-1] = -factor.T
        rows.append(block)
        right.append(np.concatenate([[0.5], np.zeros(rank), [-0.5]]))
        cones.append(clarabel.SecondOrderConeT(rank + 2))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel, settings.tol_gap_abs = TOLERANCE, 0.0
    found = clarabel.DefaultSolver(
        sp.csc_matrix((n_cuts + 1, n_cuts + 1)), np.append(-delta, 1.0),
        sp.csc_matrix(np.vstack(rows)), np.concatenate(right), cones, settings,
    ).solve()  # fmt: skip
    alpha = _feasible(np.array(found.x[:n_cuts]), g, C)
    dual = np.asarray(found.z)
    ends = np.cumsum([part.size for part in right])[-len(grams) - 1 :]
    weight = np.maximum(0.0, [dual[a] + dual[b - 1] for a, b in pairwise(ends)])
    quadratic = 0.5 * np.array([alpha @ gram @ alpha for gram in grams])
    bound = float(delta @ alpha) - float(quadratic.max())
    intercept = float(dual[0]) if np.any(g) else 0.0
    total = float(weight.sum())
    share = weight / total if total > 0.0 else np.full(len(grams), 1.0 / len(grams))
    return alpha, share, intercept, bound, -float(found.obj_val_dual)


def _feasible(alpha: FloatArray, g: FloatArray, C: float) -> FloatArray:
    """Return alpha moved into alpha >= 0, g'alpha = 0, sum alpha <= C."""
    alpha = np.maximum(0.0, np.nan_to_num(alpha))
    moment = alpha * g
    up, down = float(moment[g > 0].sum()), float(-moment[g < 0].sum())
    if up > 0.0:
        alpha[g > 0] *= min(1.0, down / up)
    if down > 0.0:
        alpha[g < 0] *= min(1.0, up / down)
    total = float(alpha.sum())
    return alpha * min(1.0, C / total) if total > 0.0 else alpha


def _factor(gram: FloatArray) -> FloatArray:
    """Return F with F F' = G by a pivoted Cholesky factorisation, as many columns as its rank."""
    size = len(gram)
    lower, pivot, rank, _ = dpstrf(gram, lower=1)
    factor = np.zeros((size, rank))
    factor[pivot - 1] = np.tril(lower)[:, :rank]
    return factor
