"""Backward elimination, splicing and swaps on gathered columns: from a pool to exactly k features.

All work on the ridge problem (`ridge_fits.ridge`) with unit penalty, on a pool that fits in memory;
no further scan of the data is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..core.ranking import best_pairs, largest
from ..core.types import Columns, FloatArray, IndexArray
from ..data.gathered import GrowingColumns
from .problem import Risk, admitted, free_signs
from .ridge_fits import (
    RIDGE_OUTPUTS,
    Movement,
    Ridge,
    bounded,
    in_kernel,
    kernel_of,
    outputs_in_kernel,
    ridge,
    signed_ridge,
)

# A pool has so many times the features that are wanted, and so many at least.
POOL_FACTOR, POOL_MIN = 3, 30
# Drop this share of the remaining features at once, and one at a time from this size on: dropping
# one by one everywhere selects no better and costs several times as much.
DROP_SHARE, ONE_BY_ONE = 0.15, 10


@dataclass(frozen=True, slots=True)
class ExchangeTuning:
    """Constants, each with what it was measured for."""

    elimination_tol: float = 1e-3  # of fits that only rank coefficients
    max_exchange: int = 5  # features exchanged at once by splicing
    max_rounds: int = 30
    won_back: float = 0.5
    # In dense pools of so many numbers a kernel makes the exchanges in one call: above it the BLAS
    # is faster, and an interrupt would have to wait.
    kernel_pool: float = 4e5


EXCHANGE = ExchangeTuning()
# Fits are accurate to this share of the decrease that counts, of their own objective, or to FIT_TOL
# if that is less: others would undo each other's exchanges where the data separate.
ACCURACY, FIT_TOL = 0.1, 1e-7
# Swaps: the weakest features that may leave, the exchanges that are tried before giving up, and of
# these how many for one leaving feature. Exchanges that are estimated to win back less than this
# share of what is lost by the one that leaves are not tried: few of those that help are such.
MOST_LEAVING, MOST_TRIALS, TRIALS_EACH = 16, 6, 3
RULE = EXCHANGE.max_exchange, EXCHANGE.max_rounds, MOST_LEAVING, MOST_TRIALS, TRIALS_EACH


@dataclass(frozen=True, slots=True)
class Fitted:
    """Columns of a pool with their fit."""

    columns: IndexArray  # sorted
    fit: Ridge

    @property
    def objective(self) -> float:
        """That of the fit."""
        return self.fit.objective


class Exchanges:
    """The l0 problem on a pool of columns, and supports of it made better by exchanges.

    What was tried in vain is remembered, also while the pool grows. Threads may share one.
    """

    def __init__(
        self,
        Z: Columns,
        risk: Risk,
        *,
        keep: IndexArray | None = None,
        signs: np.ndarray | None = None,
        tol: float = 1e-7,
        fit_tol: float | None = None,
    ) -> None:
        """Begin with a pool.

        Z : (n, p) the pool; columns on the selection scaling, so that |u_j| are comparable.
        keep : columns of Z that stay in every support.
        signs : (p,) that coefficients may have, by default any.
        tol : decrease of the objective that counts, as a share of it.
        fit_tol : certified gap of the fits, as a share of their objective.
        """
        self._risk, self._asked = risk, tol
        self._fit_asked = min(FIT_TOL, ACCURACY * tol) if fit_tol is None else fit_tol
        self._keep = np.empty(0, np.int64) if keep is None else keep
        self._failed: dict[bytes, float] = {}  # objectives that supports are known to reach
        # By size, the best support where swaps ended, and the number of columns that were there.
        self._settled: dict[int, tuple[Fitted, int]] = {}
        self._squares, self._growth = GrowingColumns(), Lock()
        self.extend(Z, signs)

    def extend(self, Z: Columns, signs: np.ndarray | None = None) -> None:
        """Go on with a pool that begins with the columns of the one so far; signs: of all."""
        self._signs = free_signs(Z.shape[1]) if signs is None else signs
        self._Z, self._protected = Z.compact(), np.zeros(Z.shape[1], bool)
        self._protected[self._keep] = True
        self._movement = Movement.of(self._Z, self._risk, self._signs)
        self._tol = self._movement.tolerance(self._asked)
        self._fit_tol = self._movement.tolerance(self._fit_asked)

    def fit(
        self,
        columns: IndexArray,
        start: tuple[FloatArray, float] | None = None,
        cutoff: float = np.inf,
    ) -> Fitted:
        """Solve the problem on some sorted columns.

        cutoff : stop as soon as the bound shows that the optimum is not below this value.
        """
        return Fitted(columns, self._ridge(columns, start, self._fit_tol, True, cutoff))

    def _ridge(
        self,
        columns: IndexArray,
        start: tuple[FloatArray, float] | None,
        tol: float,
        of_value: bool,
        cutoff: float,
    ) -> Ridge:
        return signed_ridge(
            self._Z, self._risk, self._signs[columns], columns=columns, start=start, tol=tol,
            of_value=of_value, cutoff=cutoff,
        )  # fmt: skip

    def eliminate(
        self, columns: IndexArray, sizes: Sequence[int], tol: float = EXCHANGE.elimination_tol
    ) -> dict[int, IndexArray]:
        """Eliminate the columns of smallest |u_j| until each of the sizes is reached.

        columns : what to begin with, sorted, with all that stay; at least so many as any size.
        tol : of the fits, relative to the objective of the model without features.

        Returns nested supports, sorted, by size.
        """
        falling = sorted(set(sizes), reverse=True)
        tol = self._movement.tolerance(tol)
        if self._movement.is_still:
            strength = np.abs(self._movement.scores[columns])
            strength[self._protected[columns]] = np.inf
            return {k: np.sort(columns[largest(strength, k)]) for k in falling}
        if self._is_small(columns.size):
            return self._at_once(columns, falling, tol)
        left = columns
        supports: dict[int, IndexArray] = {}
        start: tuple[FloatArray, float] | None = None
        for size in falling:
            while left.size > size:
                fit = self._ridge(left, start, tol, False, np.inf)
                count = 1 if left.size <= ONE_BY_ONE else max(1, int(DROP_SHARE * left.size))
                count = min(count, left.size - size)
                magnitude = np.where(self._protected[left], np.inf, np.abs(fit.coef))
                # Of equal magnitudes the larger index goes first, so that ties keep the smaller.
                worst = np.lexsort((-left, magnitude))[:count]
                stay = np.ones(left.size, bool)
                stay[worst] = False
                left = left[stay]
                start = (fit.coef[stay], fit.intercept)
            supports[size] = left
        return supports

    def _is_small(self, p: int) -> bool:
        """Return whether a kernel makes exchanges of so many columns, all that it does at once."""
        few = self._Z.shape[0] * self._Z.shape[1] <= EXCHANGE.kernel_pool
        return few and in_kernel(self._Z, p, self._risk.loss) and not self._signs.any()

    def _at_once(self, columns: IndexArray, sizes: list[int], tol: float) -> dict[int, IndexArray]:
        risk, gone = self._risk, np.empty(columns.size, np.int64)
        assert self._Z.array is not None
        _kernels.dense_eliminate(
            self._Z.array, risk.y.ravel(), risk.weight, self._protected.view(np.uint8),
            risk.loss.kernel, risk.loss.kernel_parameters, risk.intercept, columns,
            np.array(sizes), tol, (ONE_BY_ONE, DROP_SHARE), gone,
        )  # fmt: skip
        return {k: columns[~np.isin(columns, gone[: columns.size - k])] for k in sizes}

    def splice(self, current: Fitted) -> Fitted:
        """Exchange columns of the support with others while the objective falls.

        With h_j = 1 + sum_i w_i z_ij^2, the backward sacrifice of a column inside is h_j u_j^2 / 2,
        the forward one of a column outside (z_j'v)^2 / (2 h_j), v the dual point. For c = 5, 2, 1
        the c smallest and the c largest change places; the best exchange is kept if the objective
        falls by more than `tol` times its value.

        Source: the splicing of best-subset selection (Zhu et al., PNAS 2020), with a ridge.
        """
        for _ in range(EXCHANGE.max_rounds):
            support, fit = current.columns, current.fit
            outside = self._outside(support)
            movable = np.flatnonzero(~self._protected[support])
            most = min(EXCHANGE.max_exchange, movable.size, outside.size)
            if most == 0:
                break
            scores = admitted(self._Z.dot(fit.dual), self._signs)
            bend = self._bend(self._risk.curvature(fit.margins))
            backward = bend[support[movable]] * fit.coef[movable] ** 2
            forward = scores[outside] ** 2 / bend[outside]
            weakest = movable[np.lexsort((-support[movable], backward))]
            strongest = outside[np.argsort(-forward, kind="stable")]
            step = scores / bend
            best: Fitted | None = None
            limit, count = self._limit(current), most
            while count >= 1:
                trial = self._exchanged(
                    current, weakest[:count], strongest[:count], step[strongest[:count]], limit
                )
                if trial is not None:
                    best, limit = trial, trial.objective
                count //= 2
            if best is None:
                break
            current = best
        return current

    def swap(self, current: Fitted) -> Fitted:
        """Exchange one column of the support for another while the objective falls.

        At the margins without column j of the support, column i outside would lower the objective
        by about g_i^2 / (2 h_i), g and h its first and second derivative there. The pairs (j, i)
        that promise most are tried; the first that lowers the objective by more than `tol` times
        its value is made. Where none of them does, no single exchange is likely to help.

        Source: the swaps of Hazimeh and Mazumder, Operations Research 68(5), 2020, with a ridge.
        """
        while True:
            outside = self._outside(current.columns, self._tried(current))
            movable = np.flatnonzero(~self._protected[current.columns])
            following = None
            if outside.size and movable.size:
                movable = self._weakest(current, movable)
                promise, step = self._promises(current, movable, outside)
                limit = self._limit(current)
                for leaving, entering in best_pairs(promise, TRIALS_EACH, MOST_TRIALS):
                    following = self._exchanged(
                        current, movable[[leaving]], outside[[entering]],
                        step[leaving, [entering]], limit,
                    )  # fmt: skip
                    if following is not None:
                        break
            if following is None:
                self.settle(current, self._Z.shape[1])
                return current
            current = following

    def improve(self, current: Fitted, *, swaps: bool = True) -> Fitted:
        """Splice and swap until neither helps; without swaps, splice."""
        (n, p), k = self._Z.shape, current.columns.size
        if self._movement.is_still:
            return current
        if k == 0 or not self._is_small(k):
            return self.improve_by_steps(current, swaps=swaps)
        known, n_known = self._settled.get(k, (current, 0))
        columns, u = current.columns.copy(), current.fit.coef.copy()
        assert self._Z.array is not None
        risk = self._risk
        margins, dual, scores = np.empty(n), np.empty(n), np.empty(k)
        b, objective, bound, gap = _kernels.dense_exchange(
            self._Z.array, risk.y.ravel(), risk.weight, self._protected.view(np.uint8),
            risk.loss.kernel, risk.loss.kernel_parameters, risk.intercept, current.fit.intercept,
            self._tol, self._fit_tol, swaps, RULE, EXCHANGE.won_back,
            known.columns, n_known, columns, u,
            margins, dual, scores,
        )  # fmt: skip
        if np.array_equal(columns, current.columns):
            found = current
        else:
            fit = Ridge(u, b, margins, dual, scores, objective, bound, gap)
            found = Fitted(columns, bounded(fit, risk, np.ones(k)))
        if swaps:
            self.settle(found, p)
        return found

    def improve_by_steps(self, current: Fitted, *, swaps: bool = True) -> Fitted:
        """Do what `improve` does, in any pool."""
        if self._tried(current) == self._Z.shape[1]:
            return current
        while True:
            spliced = self.splice(current)
            if not swaps:
                return spliced
            current = self.swap(spliced)
            if current is spliced:
                return current

    def settle(self, found: Fitted, n_known: int) -> None:
        """Remember that exchanges with the first columns of the pool do not help a support."""
        best = self._settled.get(found.columns.size)
        if best is None or found.objective <= best[0].objective:
            self._settled[found.columns.size] = found, n_known

    def _tried(self, current: Fitted) -> int:
        """Return how many columns of the pool are known not to help a support."""
        known, n_known = self._settled.get(current.columns.size, (current, 0))
        return n_known if np.array_equal(known.columns, current.columns) else 0

    def left_out(self, current: Fitted, columns: IndexArray) -> FloatArray:
        """Return minus the gradients of the loss without each of some columns inside, (n, p)."""
        return self.without(current, np.searchsorted(current.columns, columns))[1]

    def without(
        self, current: Fitted, places: IndexArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what the model is without each of some columns, the others as they are.

        places : where the columns are in the support.

        Returns the objectives, (p,); minus the gradients of the loss in the margins, (n, p); and
        the margins, (n, p).
        """
        # Columns in Fortran order: they are written one by one, and read by the BLAS.
        shape = self._risk.size, places.size
        descent, margins = np.empty(shape, order="F"), np.empty(shape, order="F")
        objective = np.empty(places.size)
        dense = self._Z.take(current.columns[places]).dense()
        coef = current.fit.coef
        penalty = 0.5 * float(coef @ coef)
        for place, j in enumerate(places):
            z = margins[:, place]
            np.subtract(current.fit.margins, coef[j] * dense[:, place], out=z)
            value, gradient = self._risk.value_gradient(z)
            np.negative(gradient, out=descent[:, place])
            objective[place] = value + penalty - 0.5 * coef[j] ** 2
        return objective, descent, margins

    def _promises(
        self, current: Fitted, leaving: IndexArray, outside: IndexArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return estimates of the objective with one column for another, and of its coefficient.

        (leaving, outside) both; infinite estimates are not worth a trial.
        """
        objective, descent, margins = self.without(current, leaving)
        curvature = np.empty_like(margins)
        for place, z in enumerate(margins.T):
            curvature[:, place] = self._risk.curvature(z)
        first = int(outside[0])  # a part of the pool is enough where swaps have seen the rest
        scores = self._Z.take(slice(first, None)).dot(descent)[outside - first]
        scores = admitted(scores, self._signs[outside]).T
        bend = self._bend(curvature, first)[outside - first].T
        gain = scores**2 / (2.0 * bend)
        lost = (objective - current.objective)[:, None]
        return np.where(
            gain < EXCHANGE.won_back * lost, np.inf, objective[:, None] - gain
        ), scores / bend

    def _weakest(self, current: Fitted, movable: IndexArray) -> IndexArray:
        """Return those of the places in the support that may leave: the least sacrifices."""
        if movable.size <= MOST_LEAVING:
            return movable
        bend = self._bend(self._risk.curvature(current.fit.margins))[current.columns[movable]]
        sacrifice = bend * current.fit.coef[movable] ** 2
        return np.sort(movable[np.argsort(sacrifice, kind="stable")[:MOST_LEAVING]])

    def _exchanged(
        self,
        current: Fitted,
        leaving: IndexArray,
        entering: IndexArray,
        coef: FloatArray,
        limit: float,
    ) -> Fitted | None:
        """Return the support with some columns exchanged where its objective is below a limit.

        The fit ends as soon as its certified bound shows that it is not.

        leaving : places in the support.
        entering, coef : columns of the pool, and coefficients to start from.
        """
        stay = np.ones(current.columns.size, bool)
        stay[leaving] = False
        columns = np.concatenate([current.columns[stay], entering])
        order = np.argsort(columns)
        columns = columns[order]
        key = columns.tobytes()
        if self._failed.get(key, -np.inf) >= limit:
            return None
        start = np.concatenate([current.fit.coef[stay], coef])[order]
        found = self.fit(columns, (start, current.fit.intercept), limit)
        if found.objective < limit:
            return found
        self._failed[key] = limit
        return None

    def _limit(self, current: Fitted) -> float:
        """Return what an objective has to be below to count as a decrease."""
        return current.objective * (1.0 - self._tol)

    def _bend(self, curvature: FloatArray, first: int = 0) -> FloatArray:
        """Return h_j = 1 + sum_i w_i z_ij^2 of the columns of the pool from one on."""
        with self._growth:
            known = self._squares.size
            if known < self._Z.shape[1]:
                self._squares.append(self._Z.take(slice(known, None)).squared())
        squares = self._squares.columns().take(slice(first, self._Z.shape[1]))
        return 1.0 + squares.dot(curvature)

    def _outside(self, columns: IndexArray, first: int = 0) -> IndexArray:
        """Return the columns of the pool from one on that are not among some, sorted."""
        outside = np.ones(self._Z.shape[1], bool)
        outside[:first] = False
        outside[columns] = False
        return np.flatnonzero(outside)


# The same of whole groups of columns.
#
# The l0 problem over groups counts the groups of which any column has a coefficient; a group enters
# and leaves with all its columns.

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
        small = n * self._code.size <= RIDGE_OUTPUTS.kernel_pool and outputs_in_kernel(loss, n, k)
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
        those of `Exchanges.splice`: of the quadratic model with the diagonal of the curvature.
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
