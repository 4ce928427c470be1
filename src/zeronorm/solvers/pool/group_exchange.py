"""Backward elimination and splicing of whole groups of gathered columns, as `pool.exchange` does.

The l0 problem over groups counts the groups of which any column has a coefficient; a group enters
and leaves with all its columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._typing import Columns, FloatArray, IndexArray
from ..risk import Risk
from .exchange import (
    ACCURACY,
    DROP_SHARE,
    ELIMINATION_TOL,
    FIT_TOL,
    MAX_EXCHANGE,
    MAX_ROUNDS,
    ONE_BY_ONE,
    Fitted,
)
from .ridge import ridge


class GroupExchanges:
    """The l0 problem over groups on a pool of columns, and supports of it made better."""

    def __init__(
        self,
        Z: Columns,
        code: IndexArray,
        risk: Risk,
        *,
        keep: IndexArray,
        tol: float = 1e-7,
    ) -> None:
        """Begin with a pool.

        Z : (n, p) the pool. code : (p,) the group of every column, 0, 1, ...
        keep : groups that stay in every support.
        tol : decrease of the objective that counts, as a share of it.
        """
        self._Z, self._code, self._risk, self._tol = Z, code, risk, tol
        self._protected = np.zeros(int(code.max(initial=-1)) + 1, bool)
        self._protected[keep] = True

    def eliminate(self, sizes: Sequence[int]) -> dict[int, IndexArray]:
        """Eliminate the groups of smallest ||u_g|| until each of the sizes is reached.

        Returns the columns of nested supports, sorted, by the number of groups.
        """
        left = np.arange(self._protected.size)
        found: dict[int, IndexArray] = {}
        start: tuple[FloatArray, float] | None = None
        for size in sorted(set(sizes), reverse=True):
            while left.size > size:
                columns = self._columns(left)
                fit = ridge(self._Z, self._risk, columns=columns, start=start, tol=ELIMINATION_TOL)
                count = 1 if left.size <= ONE_BY_ONE else max(1, int(DROP_SHARE * left.size))
                length = self._sums(fit.coef**2, columns)[left]
                length[self._protected[left]] = np.inf
                # Of equal lengths the later group goes first, as features of a larger index do.
                worst = np.lexsort((-left, length))[: min(count, left.size - size)]
                stay = np.ones(left.size, bool)
                stay[worst] = False
                left = left[stay]
                kept = np.isin(self._code[columns], left)
                start = (fit.coef[kept], fit.intercept)
            found[size] = self._columns(left)
        return found

    def splice(self, columns: IndexArray) -> IndexArray:
        """Exchange groups of a support with others while the objective falls; return its columns.

        The sacrifice of a group inside and the gain of one outside are sums over its columns of
        those of `pool.exchange`: of the quadratic model with the diagonal of the curvature.
        """
        current = self._fit(columns)
        for _ in range(MAX_ROUNDS):
            inside = np.unique(self._code[current.columns])
            movable = inside[~self._protected[inside]]
            outside = np.setdiff1d(np.arange(self._protected.size), inside)
            count = min(MAX_EXCHANGE, movable.size, outside.size)
            if count == 0:
                break
            fit = current.fit
            bend = 1.0 + self._Z.squares(self._risk.curvature(fit.margins))
            scores = self._Z.dot(fit.dual)
            everything = np.arange(self._code.size)
            loss = self._sums(bend[current.columns] * fit.coef**2, current.columns)[movable]
            gain = self._sums(scores**2 / bend, everything)[outside]
            weakest = movable[np.lexsort((-movable, loss))]
            strongest = outside[np.argsort(-gain, kind="stable")]
            best: Fitted | None = None
            limit = current.objective * (1.0 - self._tol)
            while count >= 1:
                groups = np.setdiff1d(inside, weakest[:count])
                trial = self._fit(
                    self._columns(np.union1d(groups, strongest[:count])), current, limit
                )
                if trial.objective < limit:
                    best, limit = trial, trial.objective
                count //= 2
            if best is None:
                break
            current = best
        return current.columns

    def _fit(
        self, columns: IndexArray, near: Fitted | None = None, cutoff: float = np.inf
    ) -> Fitted:
        """Solve the problem on some sorted columns, from the coefficients of another support.

        cutoff : stop as soon as the bound shows that the optimum is not below this value.
        """
        start = None
        if near is not None:
            u = np.zeros(self._code.size)
            u[near.columns] = near.fit.coef
            start = (u[columns], near.fit.intercept)
        tol = min(FIT_TOL, ACCURACY * self._tol)
        fit = ridge(
            self._Z, self._risk, columns=columns, start=start, tol=tol, of_value=True,
            cutoff=cutoff,
        )  # fmt: skip
        return Fitted(columns, fit)

    def _columns(self, groups: IndexArray) -> IndexArray:
        return np.flatnonzero(np.isin(self._code, groups))

    def _sums(self, values: FloatArray, columns: IndexArray) -> FloatArray:
        """Return the sums of numbers of some columns by group, (n_groups,)."""
        sums = np.bincount(self._code[columns], values, self._protected.size)
        return np.asarray(sums, np.float64)


__all__ = ["GroupExchanges"]
