"""Backward elimination, splicing and swaps of whole groups of gathered columns, as `pool.exchange`.

The l0 problem over groups counts the groups of which any column has a coefficient; a group enters
and leaves with all its columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ... import _kernels
from ...core.ranking import best_pairs, largest
from ...core.types import Columns, FloatArray, IndexArray
from ..risk import Risk
from .exchange import (
    ACCURACY,
    DROP_SHARE,
    EXCHANGE,
    FIT_TOL,
    MOST_LEAVING,
    MOST_TRIALS,
    ONE_BY_ONE,
    RULE,
    TRIALS_EACH,
    Fitted,
)
from .movement import Movement
from .outputs import RIDGE_OUTPUTS, in_kernel, kernel_of
from .ridge import Ridge, bounded, ridge

# y, weights, which groups stay, the loss and its parameters, outputs, whether with intercepts.
_Posed: TypeAlias = tuple[
    FloatArray, FloatArray, NDArray[np.uint8], int, tuple[float, float], int, bool
]


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
        self._risk, self._keep, self._asked = risk, keep, tol
        self._failed: dict[bytes, float] = {}  # objectives that supports are known to reach
        self._settled: set[bytes] = set()  # supports that no swap in the pool as it is helps
        self._Z = Z
        self.extend(Z, code)

    def extend(self, Z: Columns, code: IndexArray) -> None:
        """Go on with a pool that begins with the columns of the one so far."""
        if Z.shape[1] > self._Z.shape[1]:
            self._settled.clear()
        self._Z, self._code = Z, code
        self._movement = Movement.of(Z, self._risk)
        self._tol = self._movement.tolerance(self._asked)
        self._fit_tol = self._movement.tolerance(min(FIT_TOL, ACCURACY * self._asked))
        q = self._risk.loss.outputs
        self._of_features = np.array_equal(code, np.repeat(np.arange(code.size // q), q))
        self._protected = np.zeros(int(code.max(initial=-1)) + 1, bool)
        self._protected[self._keep] = True

    def eliminate(self, columns: IndexArray, sizes: Sequence[int]) -> dict[int, IndexArray]:
        """Eliminate the groups of smallest ||u_g|| until each of the sizes is reached.

        columns : of the groups to begin with.

        Returns the columns of nested supports, sorted, by the number of groups.
        """
        left = np.unique(self._code[columns])
        if self._movement.is_still:
            every = np.arange(self._code.size)
            strength = np.sqrt(self._sums(self._movement.scores**2, every)[left])
            strength[self._protected[left]] = np.inf
            return {k: self._columns(np.sort(left[largest(strength, k)])) for k in sizes}
        x = self._in_kernel(left.size)
        if x is None:
            return self.eliminate_by_steps(left, sizes)
        gone, falling = np.empty(left.size, np.int64), sorted(set(sizes), reverse=True)
        _kernels.output_eliminate(
            x, *self._for_kernel(), left, np.array(falling),
            self._movement.tolerance(EXCHANGE.elimination_tol),
            (ONE_BY_ONE, DROP_SHARE), gone,
        )  # fmt: skip
        return {k: self._columns(left[~np.isin(left, gone[: left.size - k])]) for k in falling}

    def eliminate_by_steps(self, left: IndexArray, sizes: Sequence[int]) -> dict[int, IndexArray]:
        """Do what `eliminate` does, in any pool; left : the groups, sorted."""
        found: dict[int, IndexArray] = {}
        start: tuple[FloatArray, float] | None = None
        tol = self._movement.tolerance(EXCHANGE.elimination_tol)
        for size in sorted(set(sizes), reverse=True):
            while left.size > size:
                columns = self._columns(left)
                fit = ridge(self._Z, self._risk, columns=columns, start=start, tol=tol)
                count = 1 if left.size <= ONE_BY_ONE else max(1, int(DROP_SHARE * left.size))
                length = self._sums(fit.coef**2, columns)[left]
                length[self._protected[left]] = np.inf
                # Of equal lengths the later group goes first, as features of a larger index do.
                worst = np.lexsort((-left, length))[: min(count, left.size - size)]
                stay = np.ones(left.size, bool)
                stay[worst] = False
                left = left[stay]
                kept = self._among(left)[self._code[columns]]
                start = (fit.coef[kept], fit.intercept)
            found[size] = self._columns(left)
        return found

    def improve(self, current: Fitted, *, swaps: bool = True) -> Fitted:
        """Splice and swap until neither helps; without swaps, splice."""
        if self._movement.is_still:
            return current
        q, n = self._risk.loss.outputs, self._risk.size
        k = current.columns.size // q
        x = self._in_kernel(k)
        if x is None:
            return self.improve_by_steps(current, swaps=swaps)
        if current.columns.tobytes() in self._settled:
            return current
        places, u = current.columns[::q] // q, current.fit.coef.copy()
        margins, dual, scores = np.empty(q * n), np.empty(q * n), np.empty(q * k)
        numbers = _kernels.output_exchange(
            x, *self._for_kernel(), self._tol, self._fit_tol, swaps, RULE, EXCHANGE.won_back,
            places, u,
            margins, dual, scores,
        )  # fmt: skip
        columns = (q * places[:, None] + np.arange(q)).ravel()
        if swaps:
            self._settled.add(columns.tobytes())
        if np.array_equal(columns, current.columns):
            return current
        fit = Ridge(u, numbers[0], margins, dual, scores, *numbers[1:])
        return Fitted(columns, bounded(fit, self._risk, np.ones(q * k)))

    def _in_kernel(self, k: int) -> FloatArray | None:
        """Return the pool where compiled solvers make the exchanges of k of its features."""
        loss: Any = self._risk.loss
        n = self._risk.size
        small = n * self._code.size <= RIDGE_OUTPUTS.kernel_pool and in_kernel(loss, n, k)
        return self._Z.repeated if small and k and self._of_features else None

    def _for_kernel(self) -> _Posed:
        """Return what compiled solvers take of the problem."""
        risk, loss = self._risk, cast("Any", self._risk.loss)
        kernel = cast("int", kernel_of(loss))
        parameters = (
            (0.0, 0.0) if kernel == RIDGE_OUTPUTS.of_classes else loss.each.kernel_parameters
        )
        kept = self._protected.view(np.uint8)
        return risk.y, risk.weight, kept, kernel, parameters, loss.outputs, loss.free

    def improve_by_steps(self, current: Fitted, *, swaps: bool = True) -> Fitted:
        """Do what `improve` does, in any pool."""
        while True:
            spliced = self.splice(current)
            if not swaps:
                return spliced
            current = self.swap(spliced)
            if current is spliced:
                return current

    def splice(self, current: Fitted) -> Fitted:
        """Exchange groups of a support with others while the objective falls.

        The sacrifice of a group inside and the gain of one outside are sums over its columns of
        those of `pool.exchange`: of the quadratic model with the diagonal of the curvature.
        """
        for _ in range(EXCHANGE.max_rounds):
            inside = np.unique(self._code[current.columns])
            movable = inside[~self._protected[inside]]
            outside = np.flatnonzero(~self._among(inside))
            count = min(EXCHANGE.max_exchange, movable.size, outside.size)
            if count == 0:
                break
            fit = current.fit
            bend = self._bend(fit.margins)
            scores = self._Z.dot(fit.dual)
            everything = np.arange(self._code.size)
            loss = self._sums(bend[current.columns] * fit.coef**2, current.columns)[movable]
            gain = self._sums(scores**2 / bend, everything)[outside]
            weakest = movable[np.lexsort((-movable, loss))]
            strongest = outside[np.argsort(-gain, kind="stable")]
            best: Fitted | None = None
            limit = current.objective * (1.0 - self._tol)
            while count >= 1:
                trial = self._exchanged(current, weakest[:count], strongest[:count], limit)
                if trial is not None:
                    best, limit = trial, trial.objective
                count //= 2
            if best is None:
                break
            current = best
        return current

    def swap(self, current: Fitted) -> Fitted:
        """Exchange one group of the support for another while the objective falls.

        Which pairs promise most is told by the margins without the one that leaves, as of columns
        in `Exchanges.swap`.
        """
        while current.columns.tobytes() not in self._settled:
            inside = np.unique(self._code[current.columns])
            movable = inside[~self._protected[inside]]
            outside = np.flatnonzero(~self._among(inside))
            following = None
            if movable.size and outside.size:
                movable = self._weakest(current, movable)
                limit = current.objective * (1.0 - self._tol)
                for leaving, entering in best_pairs(
                    self._promises(current, movable, outside), TRIALS_EACH, MOST_TRIALS
                ):
                    following = self._exchanged(
                        current, movable[[leaving]], outside[[entering]], limit
                    )
                    if following is not None:
                        break
            if following is None:
                self._settled.add(current.columns.tobytes())
                break
            current = following
        return current

    def left_out(self, current: Fitted, groups: IndexArray) -> FloatArray:
        """Return minus the gradients of the loss without each of some groups, (n, n_groups)."""
        return self._without(current, groups)[1]

    def _without(
        self, current: Fitted, groups: IndexArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what the model is without each of some groups, as `Exchanges.without`."""
        fit, own = current.fit, self._code[current.columns]
        Z = self._Z.take(current.columns)
        removed = np.where(own[:, None] == groups, fit.coef[:, None], 0.0)
        margins = np.asfortranarray(fit.margins[:, None] - Z.times(removed))
        descent = np.empty_like(margins)
        objective = np.empty(groups.size)
        penalty = 0.5 * (float(fit.coef @ fit.coef) - (removed**2).sum(axis=0))
        for place, z in enumerate(margins.T):
            value, gradient = self._risk.value_gradient(z)
            objective[place] = value + penalty[place]
            np.negative(gradient, out=descent[:, place])
        return objective, descent, margins

    def _promises(self, current: Fitted, leaving: IndexArray, outside: IndexArray) -> FloatArray:
        """Return estimates of the objective with one group for another, (leaving, outside)."""
        objective, descent, margins = self._without(current, leaving)
        scores = self._Z.dot(descent)
        everything = np.arange(self._code.size)
        gain = np.array([
            self._sums(own**2 / (2.0 * self._bend(z)), everything)[outside]
            for own, z in zip(scores.T, margins.T, strict=True)
        ])  # fmt: skip
        lost = (objective - current.objective)[:, None]
        return np.where(gain < EXCHANGE.won_back * lost, np.inf, objective[:, None] - gain)

    def _weakest(self, current: Fitted, movable: IndexArray) -> IndexArray:
        """Return those of some groups inside that may leave: the least sacrifices."""
        bend = self._bend(current.fit.margins)[current.columns]
        sacrifice = self._sums(bend * current.fit.coef**2, current.columns)[movable]
        return np.sort(movable[np.argsort(sacrifice, kind="stable")[:MOST_LEAVING]])

    def _exchanged(
        self, current: Fitted, leaving: IndexArray, entering: IndexArray, limit: float
    ) -> Fitted | None:
        """Return the support with some groups exchanged where its objective is below a limit."""
        own = self._code[current.columns]
        stay = current.columns[~np.isin(own, leaving)]
        columns = np.union1d(stay, self._columns(entering))
        key = columns.tobytes()
        if self._failed.get(key, -np.inf) >= limit:
            return None
        found = self.fit(columns, current, limit)
        if found.objective < limit:
            return found
        self._failed[key] = limit
        return None

    def _bend(self, margins: FloatArray) -> FloatArray:
        """Return 1 + sum_i w_i z_ij^2 of all columns."""
        return 1.0 + self._Z.squares(self._risk.curvature(margins))

    def fit(
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
        fit = ridge(
            self._Z, self._risk, columns=columns, start=start, tol=self._fit_tol, of_value=True,
            cutoff=cutoff,
        )  # fmt: skip
        return Fitted(columns, fit)

    def _columns(self, groups: IndexArray) -> IndexArray:
        return np.flatnonzero(self._among(groups)[self._code])

    def _among(self, groups: IndexArray) -> np.ndarray:
        """Return the mask of some groups, (n_groups,)."""
        mask = np.zeros(self._protected.size, bool)
        mask[groups] = True
        return mask

    def _sums(self, values: FloatArray, columns: IndexArray) -> FloatArray:
        """Return the sums of numbers of some columns by group, (n_groups,)."""
        sums = np.bincount(self._code[columns], values, self._protected.size)
        return np.asarray(sums, np.float64)
