"""Information criteria: what a model pays for its size.

    criterion = 2 l + k a,    l = sum_i s_i log(1 + exp(-y_i (x_i'w + b)))  of labels,
                              l = n/2 log(sum_i s_i (y_i - x_i'w - b)^2 / n)  of numbers,

with l minus the log-likelihood of the model on its training rows, up to constants, k its number of
features, and a what a feature costs, n = sum_i s_i rows and p features to choose from:

========= ========================= ==============================================================
"aic"     2                         Akaike, IEEE Transactions on Automatic Control 19(6), 1974
"bic"     log n                     Schwarz, Annals of Statistics 6(2), 1978
"ebic"    log n + 2 log p           Chen and Chen, Biometrika 95(3), 2008, with gamma = 1
"gic"     log(p) log(log n)         Fan and Tang, JRSS B 75(3), 2013
========= ========================= ==============================================================

The smaller the better. The intercept is not counted: it is in all models. Chen and Chen charge
2 gamma log binom(p, k), which is 2 gamma log k! below 2 gamma k log p, or more; the latter is what
abess computes. With gamma = 1 they prove consistency where p grows as any power of n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .results import Path

CRITERIA = ("aic", "bic", "ebic", "gic")
LEAST_ROWS = 3  # With so many rows log(log n), and so every cost, is positive.


def information_criteria(
    log_loss: float, n_features: int, n_rows: float, n_candidates: int
) -> dict[str, float]:
    """Return the criteria by name.

    Parameters
    ----------
    log_loss : l.
    n_features : k.
    n_rows : n, the sum of the sample weights: integer weights equal repeated rows. Weights that sum
        to 1 or less have no "gic": it is NaN.
    n_candidates : p.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        log_n, log_p = np.log([n_rows, n_candidates])
        costs = (2.0, log_n, log_n + 2.0 * log_p, log_p * np.log(log_n))
    return {
        name: 2.0 * log_loss + n_features * float(cost)
        for name, cost in zip(CRITERIA, costs, strict=True)
    }


def no_criteria() -> dict[str, float]:
    """Return NaN for every criterion: of a model without a likelihood."""
    return dict.fromkeys(CRITERIA, math.nan)


def criteria_table(paths: Sequence[Path]) -> dict[str, np.ndarray]:
    """Return the information criteria of every size: a table, as a dict of its columns (n_sizes,).

    Of several classes, the sums over the models of each class against the others.
    """
    sizes = list(paths[0])
    models = [[path[k] for path in paths] for k in sizes]
    table = {"size": np.array(sizes)}
    table["log_loss"] = np.array([sum(model.log_loss for model in row) for row in models])
    for name in CRITERIA:
        table[name] = np.array(
            [sum(model.criteria.get(name, np.nan) for model in row) for row in models]
        )
    return table
