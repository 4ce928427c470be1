"""Whether features of a model stand for others that they are correlated with.

With z_i^2 = -d log(1 - t_i^2), t_i the partial correlation of feature i with the target given the
model without feature j and d the dimension that is left, the likelihood of the model with i in
the place of j is proportional to exp(z_i^2 / 2). Where one of j and its rivals is the one that
counts, and each is as likely beforehand, it is not j with the probability

    1 - exp(c z_j^2 / 2) / sum over j and its rivals of exp(c z_i^2 / 2),

as in a regression with a single effect. Rivals are correlated with j, given the rest of the model,
by more than one of p independent features would be. The power c of the likelihood would be 1 if no
effects were missing from the model; with missing ones it is too sure, and 0.8 was chosen in
simulations (benchmarks/results/false_discoveries.md is of other ones).

Source: Wang, Sarkar, Carbonetto and Stephens, A simple new approach to variable selection in
regression, with application to genetic fine mapping, JRSS B 82 (2020): the single effect.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from ..core.types import FloatArray, IndexArray
from .competition import Competition, residuals

POWER = 0.8  # of the likelihood
SPANNED = 1e-8  # of a squared norm: rounding
LARGEST = 600.0  # of an exponent


def stand_ins(competition: Competition, features: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Return for each feature the probability that another one is meant, and the likeliest other.

    One pass over X.

    features : (k,) of the model, linearly independent, k below n - 2.

    Returns
    -------
    (k,) probabilities, and (k,) features, -1 where there is no rival.
    """
    design, free = competition.design, competition.free
    n, p = design.shape
    k = features.size
    d = n - k - competition.n_free + 1
    gathered = design.gather(features)
    columns = gathered if isinstance(gathered, np.ndarray) else gathered.toarray()
    basis, triangle = np.linalg.qr(residuals(free, columns))
    y = residuals(free, competition.y)
    y /= np.linalg.norm(y)
    residual = y - basis @ (basis.T @ y)
    # Row j of the inverse of R is what column j has beside the others, but for its length.
    beside = np.linalg.pinv(triangle).T
    beside /= np.linalg.norm(beside, axis=0)
    own = beside.T @ (basis.T @ y)  # (k,) the product of the target with these directions
    rest = residual @ residual + own**2  # of the target without j
    exponent = -0.5 * POWER * d * np.log1p(-np.minimum(own**2 / rest, 1.0 - 1e-15))
    limit = _largest_of_chance(p, d)
    total, likeliest = np.zeros(k), np.full(k, -1, np.int64)
    largest = np.full(k, -np.inf)
    vectors = np.column_stack([basis, residual]) / np.sqrt(n)
    for start in range(0, p, design.block):
        stop = min(start + design.block, p)
        products = design.correlate(vectors, start, stop)
        along = products[:, :k] @ beside
        left = np.maximum(competition.left[start:stop] - (products[:, :k] ** 2).sum(axis=1), 0.0)
        for place in range(k):
            norm = left + along[:, place] ** 2
            rivals = np.flatnonzero((norm > SPANNED) & (along[:, place] ** 2 > limit**2 * norm))
            rivals = rivals[start + rivals != features[place]]
            if not rivals.size:
                continue
            score = products[rivals, k] + own[place] * along[rivals, place]
            t_square = score**2 / (norm[rivals] * rest[place])
            gain = -0.5 * POWER * d * np.log1p(-np.minimum(t_square, 1.0 - 1e-15)) - exponent[place]
            total[place] += np.exp(np.minimum(gain, LARGEST)).sum()
            best = int(np.argmax(gain))
            if gain[best] > largest[place]:
                largest[place], likeliest[place] = gain[best], start + rivals[best]
    return total / (1.0 + total), likeliest


def _largest_of_chance(p: int, dimension: int) -> float:
    """Return the correlation that one of p independent directions is expected to exceed."""
    square = special.betainccinv(0.5, 0.5 * (dimension - 1), min(1.0 / p, 1.0))
    return float(np.sqrt(square))
