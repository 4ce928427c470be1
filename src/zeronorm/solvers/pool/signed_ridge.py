"""Ridge problems whose coefficients have signs: an active set around those without.

    min_{u, b}  1/2 sum_j p_j u_j^2 + sum_i s_i f(y_i, z_i'u + b)   subject to  sigma_j u_j >= 0

for the columns with a sign sigma_j of -1 or 1. The problem is solved on a set of free columns, the
others at 0: columns that come out with a wrong sign leave the set, and those whose scores show that
they would lower the objective join it. From one set to the next the objective falls, so that no set
comes twice, and the last one is that of the solution.

Source: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23; here many columns leave
and join at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.types import Columns, FloatArray, IndexArray
from ..risk import Risk
from ..signs import admitted
from .ridge import Ridge, ridge

ROUNDS_PER_COLUMN, MORE_ROUNDS = 3, 30  # sets, at most: far more than there are


def signed_ridge(
    Z: Columns,
    risk: Risk,
    signs: np.ndarray,
    *,
    columns: IndexArray | None = None,
    penalty: FloatArray | float = 1.0,
    start: tuple[FloatArray, float] | None = None,
    tol: float = 1e-6,
    of_value: bool = False,
    cutoff: float = np.inf,
) -> Ridge:
    """Solve the problem as `ridge` does one without signs; where there are none, that one.

    signs : (p,) of the columns of the problem; 0: any.
    """
    options: dict[str, Any] = {"tol": tol, "of_value": of_value}
    fit = ridge(
        Z, risk, columns=columns, penalty=penalty, start=start, cutoff=cutoff, **options
    )  # fmt: skip
    # A bound without signs is one with them, too.
    if not signs.any() or not (signs * fit.coef < 0.0).any() or fit.bound >= cutoff:
        return fit
    own = np.arange(Z.shape[1]) if columns is None else columns
    problem = _Signed(Z.take(own), risk, signs, np.full(own.size, penalty, np.float64), options)
    return problem.solve(fit)


class _Signed:
    def __init__(
        self,
        Z: Columns,
        risk: Risk,
        signs: np.ndarray,
        diagonal: FloatArray,
        options: dict[str, Any],
    ) -> None:
        self._Z, self._risk, self._signs = Z, risk, signs
        self._diagonal, self._options = diagonal, options
        self._zero_value = risk.null()

    def solve(self, unsigned: Ridge) -> Ridge:
        """Return the solution, from that without signs."""
        size = self._diagonal.size
        u = admitted(unsigned.coef, self._signs)
        free = (self._signs == 0) | (u != 0)
        b, _ = self._at(u, unsigned.intercept)
        best: Ridge | None = None  # over the last free columns that had it without wrong signs
        for _ in range(ROUNDS_PER_COLUMN * size + MORE_ROUNDS):
            fit = self._fit(free, u, b)
            wrong = admitted(fit.coef, self._signs) != fit.coef
            if not wrong.any():
                if best is not None and not fit.objective < best.objective:
                    break  # rounding: no decrease is left
                best, u, b = fit, fit.coef, fit.intercept
                joining = ~free & (admitted(fit.scores, self._signs) != 0)
                wanted = self._options["tol"] * (
                    fit.objective if self._options["of_value"] else self._zero_value
                )
                if not joining.any() or fit.objective - fit.bound <= wanted:
                    break
                free = free | joining
                continue
            u, b, leaving = self._towards(u, b, fit, wrong)
            free = free & ~leaving
        assert best is not None  # there are more rounds than columns
        return best

    def _towards(
        self, u: FloatArray, b: float, fit: Ridge, wrong: np.ndarray
    ) -> tuple[FloatArray, float, np.ndarray]:
        """Return a point between u and a solution with wrong signs, and the columns that leave.

        All of the wrong ones do where the objective falls without them; else the first that meets
        0 on the way.
        """
        before = self._at(u, b)[1]
        there = np.where(wrong, 0.0, fit.coef)
        b_there, objective = self._at(there, fit.intercept)
        if objective < before:
            return there, b_there, wrong
        share = np.full(u.size, np.inf)
        share[wrong] = np.abs(u[wrong]) / (np.abs(u[wrong]) + np.abs(fit.coef[wrong]))
        leaving = share == share.min()
        moved = np.where(leaving, 0.0, u + share.min() * (fit.coef - u))
        return moved, b, leaving

    def _at(self, u: FloatArray, b: float) -> tuple[float, float]:
        """Return the best intercept of coefficients and the objective; b: where to look for it."""
        b, value, _ = self._risk.best(self._Z.times(u), b)
        return b, value + 0.5 * float((self._diagonal * u) @ u)

    def _fit(self, free: np.ndarray, u: FloatArray, b: float) -> Ridge:
        """Return the solution over the free columns, as one of all: with their scores."""
        some = np.flatnonzero(free)
        fit = ridge(
            self._Z, self._risk, columns=some, penalty=self._diagonal[some], start=(u[some], b),
            **self._options,
        )  # fmt: skip
        coef = np.zeros(free.size)
        coef[some] = fit.coef
        scores = self._Z.dot(fit.dual)
        quadratic = 0.5 * float(admitted(scores, self._signs) ** 2 @ (1.0 / self._diagonal))
        bound = min(self._risk.bound(fit.dual, quadratic)[0], fit.objective)  # but for rounding
        gap = (fit.objective - bound) / self._zero_value if self._zero_value > 0 else 0.0
        return Ridge(coef, fit.intercept, fit.margins, fit.dual, scores, fit.objective, bound, gap)
