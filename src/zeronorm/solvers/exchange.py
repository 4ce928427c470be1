"""Backward elimination, splicing and swaps on gathered columns: from a pool to exactly k features.

All work on the ridge problem (`ridge_fits.ridge`) with unit penalty, on a pool that fits in memory;
no further scan of the data is needed. A unit is a feature, or a group of them, which enters and
leaves with all its columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
from .problem import BudgetUnits, Grouped, Risk, Singles, admitted
from .ridge_fits import (
    RIDGE_OUTPUTS,
    Movement,
    Ridge,
    bounded,
    in_kernel,
    kernel_of,
    outputs_in_kernel,
    signed_ridge,
)

# A pool has so many times the features that are wanted, and so many at least.
POOL_FACTOR, POOL_MIN = 3, 30
# Drop this share of the remaining features at once, and one at a time from this size on: dropping
# one by one everywhere selects no better and costs several times as much.
DROP_SHARE, ONE_BY_ONE = 0.15, 10


@dataclass(frozen=True, slots=True)
class ExchangeTuning:
    """Constants of the exchange search."""

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


# What kernels take of a problem: the columns, y, weights, which units stay, the loss and its
# parameters, whether with an intercept; of groups without the columns, with the outputs.
_PosedOfFeatures: TypeAlias = tuple[
    FloatArray, FloatArray, FloatArray, NDArray[np.uint8], int, tuple[float, float], bool
]
_PosedOfGroups: TypeAlias = tuple[
    FloatArray, FloatArray, NDArray[np.uint8], int, tuple[float, float], int, bool
]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Columns of a pool with their fit."""

    columns: IndexArray  # sorted
    fit: Ridge

    @property
    def objective(self) -> float:
        return self.fit.objective


class PoolExchanges(ABC):
    """The l0 problem on a pool of columns, and supports of it made better by exchanges of units.

    What was tried in vain is remembered, also while the pool grows.
    """

    _Z: Columns  # (n, p) the pool
    _units: BudgetUnits  # of its columns, all of them usable
    _signs: np.ndarray  # (p,) that coefficients may have
    _protected: np.ndarray  # (n_units,) mask of those that stay in every support

    def __init__(
        self,
        Z: Columns,
        risk: Risk,
        units: BudgetUnits | None = None,
        *,
        keep: IndexArray | None = None,
        tol: float = 1e-7,
        fit_tol: float = FIT_TOL,
    ) -> None:
        """Begin with a pool.

        Z : (n, p) the pool; columns on the selection scaling, so that |u_j| are comparable.
        units : of its columns; None: the columns, whose coefficients may have any sign.
        keep : units that stay in every support.
        tol : decrease of the objective that counts, as a share of it.
        fit_tol : certified gap of the fits, as a share of their objective, at most.
        """
        self._risk, self._asked, self._fit_asked = risk, tol, min(fit_tol, ACCURACY * tol)
        self._keep = np.empty(0, np.int64) if keep is None else keep
        self._failed: dict[bytes, float] = {}  # objectives that supports are known to reach
        self.extend(Z, units)

    def extend(self, Z: Columns, units: BudgetUnits | None = None) -> None:
        """Go on with a pool that begins with the columns and units of the one so far."""
        self._Z, self._units = Z, Singles(np.ones(Z.shape[1], bool)) if units is None else units
        self._signs, self._protected = self._units.signs, np.zeros(self._units.usable.size, bool)
        self._protected[self._keep] = True
        self._movement = Movement.of(Z, self._risk, self._signs)
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
        """Eliminate the units of smallest coefficients until each of the sizes is reached.

        columns : what to begin with, sorted, with all that stay; no fewer units than any size.
        tol : of the fits, relative to the objective of the model without features.

        Returns the columns of nested supports, sorted, by size.
        """
        falling, left = sorted(set(sizes), reverse=True), self._units_of(columns)
        if self._movement.is_still:
            strength = self._units.strength(self._movement.scores)[left]
            strength[self._protected[left]] = np.inf
            return {k: self._columns(np.sort(left[largest(strength, k)])) for k in falling}
        gone = self._eliminated_at_once(left, falling, self._movement.tolerance(tol))
        if gone is None:
            return self.eliminate_by_steps(left, falling, tol)
        return {k: self._columns(left[~np.isin(left, gone[: left.size - k])]) for k in falling}

    def eliminate_by_steps(
        self, left: IndexArray, sizes: Sequence[int], tol: float = EXCHANGE.elimination_tol
    ) -> dict[int, IndexArray]:
        """Do what `eliminate` does, in any pool; left : the units, sorted."""
        supports: dict[int, IndexArray] = {}
        start: tuple[FloatArray, float] | None = None
        tol = self._movement.tolerance(tol)
        for size in sorted(set(sizes), reverse=True):
            while left.size > size:
                columns = self._columns(left)
                fit = self._ridge(columns, start, tol, False, np.inf)
                count = 1 if left.size <= ONE_BY_ONE else max(1, int(DROP_SHARE * left.size))
                magnitude = self._units.strength(self._in_pool(fit.coef, columns))[left]
                magnitude[self._protected[left]] = np.inf
                # Of equal magnitudes the larger index goes first, so that ties keep the smaller.
                worst = np.lexsort((-left, magnitude))[: min(count, left.size - size)]
                left = np.delete(left, worst)
                stay = np.searchsorted(columns, self._columns(left))
                start = (fit.coef[stay], fit.intercept)
            supports[size] = self._columns(left)
        return supports

    def improve(self, current: Fitted, *, swaps: bool = True) -> Fitted:
        """Splice and swap until neither helps; without swaps, splice."""
        if self._movement.is_still:
            return current
        found = self._improved_at_once(current, swaps) if current.columns.size else None
        return self.improve_by_steps(current, swaps=swaps) if found is None else found

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
        """Exchange units of the support with others while the objective falls.

        With h_j = 1 + sum_i w_i z_ij^2, the backward sacrifice of a column inside is h_j u_j^2 / 2,
        the forward one of a column outside (z_j'v)^2 / (2 h_j), v the dual point; those of a group
        are the sums over its columns. For c = 5, 2, 1 the c smallest and the c largest change
        places; the best exchange is kept if the objective falls by more than `tol` times its value.

        Source: the splicing of best-subset selection (Zhu et al., PNAS 2020), with a ridge.
        """
        for _ in range(EXCHANGE.max_rounds):
            movable, outside = self._movable(current), self._outside(current)
            count = min(EXCHANGE.max_exchange, movable.size, outside.size)
            if count == 0:
                break
            scores = admitted(self._Z.dot(current.fit.dual), self._signs)
            bend = self._bend(self._risk.curvature(current.fit.margins))
            forward = self._units.sums(scores**2 / bend)[outside]
            weakest = movable[np.lexsort((-movable, self._sacrifices(current, bend)[movable]))]
            strongest = outside[np.argsort(-forward, kind="stable")]
            step = self._steps(scores, bend)
            best: Fitted | None = None
            limit = self._limit(current)
            while count >= 1:
                entering = np.sort(strongest[:count])
                coef = None if step is None else step[entering]
                trial = self._exchanged(current, weakest[:count], entering, coef, limit)
                if trial is not None:
                    best, limit = trial, trial.objective
                count //= 2
            if best is None:
                break
            current = best
        return current

    def swap(self, current: Fitted) -> Fitted:
        """Exchange one unit of the support for another while the objective falls.

        At the margins without column j of the support, column i outside would lower the objective
        by about g_i^2 / (2 h_i), g and h its first and second derivative there; groups by the sums
        of these. The pairs (j, i) that promise most are tried; the first that lowers the objective
        by more than `tol` times its value is made. Where none of them does, no single exchange is
        likely to help.

        Source: the swaps of Hazimeh and Mazumder, Operations Research 68(5), 2020, with a ridge.
        """
        while True:
            movable, outside = self._movable(current), self._outside(current, self._tried(current))
            following = None
            if outside.size and movable.size:
                movable = self._weakest(current, movable)
                promise, step = self._promises(current, movable, outside)
                limit = self._limit(current)
                for leaving, entering in best_pairs(promise, TRIALS_EACH, MOST_TRIALS):
                    coef = None if step is None else step[leaving, [entering]]
                    following = self._exchanged(
                        current, movable[[leaving]], outside[[entering]], coef, limit
                    )
                    if following is not None:
                        break
            if following is None:
                self._settle(current)
                return current
            current = following

    def left_out(self, current: Fitted, units: IndexArray) -> FloatArray:
        """Return minus the gradients of the loss without each of some units inside, (n, p)."""
        return self._without(current, units)[1]

    def _movable(self, current: Fitted) -> IndexArray:
        """Return the units of a support that may leave, sorted."""
        units = self._units_of(current.columns)
        movable: IndexArray = units[~self._protected[units]]
        return movable

    def _weakest(self, current: Fitted, movable: IndexArray) -> IndexArray:
        """Return those of some units inside that may leave: the least sacrifices."""
        if movable.size <= MOST_LEAVING:
            return movable
        bend = self._bend(self._risk.curvature(current.fit.margins))
        order = np.argsort(self._sacrifices(current, bend)[movable], kind="stable")
        return np.sort(movable[order[:MOST_LEAVING]])

    def _sacrifices(self, current: Fitted, bend: FloatArray) -> FloatArray:
        """Return twice those of the units, (n_units,), of the ones in the support."""
        columns = current.columns
        return self._units.sums(self._in_pool(bend[columns] * current.fit.coef**2, columns))

    def _exchanged(
        self,
        current: Fitted,
        leaving: IndexArray,
        entering: IndexArray,
        coef: FloatArray | None,
        limit: float,
    ) -> Fitted | None:
        """Return the support with some units exchanged where its objective is below a limit.

        The fit ends as soon as its certified bound shows that it is not.

        coef : of the columns that enter, to start from; None: 0.
        """
        stay = np.ones(current.columns.size, bool)
        stay[np.searchsorted(current.columns, self._columns(leaving))] = False
        fresh = self._columns(entering)
        columns = np.concatenate([current.columns[stay], fresh])
        order = np.argsort(columns)
        columns = columns[order]
        key = columns.tobytes()
        if self._failed.get(key, -np.inf) >= limit:
            return None
        coef = np.zeros(fresh.size) if coef is None else coef
        start = np.concatenate([current.fit.coef[stay], coef])[order]
        found = self.fit(columns, (start, current.fit.intercept), limit)
        if found.objective < limit:
            return found
        self._failed[key] = limit
        return None

    def _limit(self, current: Fitted) -> float:
        """Return what an objective has to be below to count as a decrease."""
        return current.objective * (1.0 - self._tol)

    def _outside(self, current: Fitted, first: int = 0) -> IndexArray:
        """Return the units of the pool from one on that are not in a support, sorted."""
        outside = np.ones(self._protected.size, bool)
        outside[:first] = False
        outside[self._units_of(current.columns)] = False
        return np.flatnonzero(outside)

    def _units_of(self, columns: IndexArray) -> IndexArray:
        """Return the units of sorted columns, sorted."""
        return np.sort(self._units.of(columns))

    def _columns(self, units: IndexArray) -> IndexArray:
        """Return the columns of units, sorted."""
        return np.sort(self._units.features(units))

    def _in_pool(self, values: FloatArray, columns: IndexArray) -> FloatArray:
        """Return numbers of some columns as those of all, 0 of the others."""
        found = np.zeros(self._signs.size)
        found[columns] = values
        return found

    @abstractmethod
    def _bend(self, curvature: FloatArray) -> FloatArray:
        """Return h_j = 1 + sum_i w_i z_ij^2 of the columns of the pool."""

    @abstractmethod
    def _steps(self, scores: FloatArray, bend: FloatArray) -> FloatArray | None:
        """Return the coefficients that columns start from as they enter; None: 0."""

    @abstractmethod
    def _without(
        self, current: Fitted, units: IndexArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what the model is without each of some units, the others as they are.

        The objectives, (n_units,); minus the gradients of the loss in the margins, (n, n_units);
        and the margins, (n, n_units).
        """

    @abstractmethod
    def _promises(
        self, current: Fitted, leaving: IndexArray, outside: IndexArray
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return estimates of the objective with one unit for another, and of its coefficient.

        (leaving, outside) both; infinite estimates are not worth a trial. Groups start from 0.
        """

    @abstractmethod
    def _tried(self, current: Fitted) -> int:
        """Return how many units of the pool, the first, are known not to help a support."""

    @abstractmethod
    def _settle(self, current: Fitted) -> None:
        """Remember that no swap helps a support."""

    @abstractmethod
    def _eliminated_at_once(
        self, left: IndexArray, sizes: list[int], tol: float
    ) -> IndexArray | None:
        """Return units in the order that they leave, by a kernel; None: it takes no such pool."""

    @abstractmethod
    def _improved_at_once(self, current: Fitted, swaps: bool) -> Fitted | None:
        """Return what `improve` does, by a kernel; None: it takes no such pool."""


class Exchanges(PoolExchanges):
    """Exchanges of single features. Threads may share one."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        # By size, the best support where swaps ended, and the number of columns that were there.
        self._settled: dict[int, tuple[Fitted, int]] = {}
        self._squares, self._growth = GrowingColumns(), Lock()
        super().__init__(*arguments, **options)

    def extend(self, Z: Columns, units: BudgetUnits | None = None) -> None:
        super().extend(Z.compact(), units)

    def improve_by_steps(self, current: Fitted, *, swaps: bool = True) -> Fitted:
        if self._tried(current) == self._Z.shape[1]:
            return current
        return super().improve_by_steps(current, swaps=swaps)

    def settle(self, found: Fitted, n_known: int) -> None:
        """Remember that exchanges with the first columns of the pool do not help a support."""
        best = self._settled.get(found.columns.size)
        if best is None or found.objective <= best[0].objective:
            self._settled[found.columns.size] = found, n_known

    def _settle(self, current: Fitted) -> None:
        self.settle(current, self._Z.shape[1])

    def _tried(self, current: Fitted) -> int:
        known, n_known = self._settled.get(current.columns.size, (current, 0))
        return n_known if np.array_equal(known.columns, current.columns) else 0

    def _is_small(self, p: int) -> bool:
        """Return whether a kernel makes exchanges of so many columns, all that it does at once."""
        few = self._Z.shape[0] * self._Z.shape[1] <= EXCHANGE.kernel_pool
        return few and in_kernel(self._Z, p, self._risk.loss) and not self._signs.any()

    def _for_kernel(self) -> _PosedOfFeatures:
        risk = self._risk
        assert self._Z.array is not None
        return (
            self._Z.array, risk.y.ravel(), risk.weight, self._protected.view(np.uint8),
            risk.loss.kernel, risk.loss.kernel_parameters, risk.intercept,
        )  # fmt: skip

    def _eliminated_at_once(
        self, left: IndexArray, sizes: list[int], tol: float
    ) -> IndexArray | None:
        if not self._is_small(left.size):
            return None
        gone = np.empty(left.size, np.int64)
        _kernels.dense_eliminate(
            *self._for_kernel(), left, np.array(sizes), tol, (ONE_BY_ONE, DROP_SHARE), gone
        )
        return gone

    def _improved_at_once(self, current: Fitted, swaps: bool) -> Fitted | None:
        (n, p), k = self._Z.shape, current.columns.size
        if not self._is_small(k):
            return None
        known, n_known = self._settled.get(k, (current, 0))
        columns, u = current.columns.copy(), current.fit.coef.copy()
        margins, dual, scores = np.empty(n), np.empty(n), np.empty(k)
        b, objective, bound, gap = _kernels.dense_exchange(
            *self._for_kernel(), current.fit.intercept, self._tol, self._fit_tol, swaps, RULE,
            EXCHANGE.won_back, known.columns, n_known, columns, u, margins, dual, scores,
        )  # fmt: skip
        if np.array_equal(columns, current.columns):
            found = current
        else:
            fit = Ridge(u, b, margins, dual, scores, objective, bound, gap)
            found = Fitted(columns, bounded(fit, self._risk, np.ones(k)))
        if swaps:
            self.settle(found, p)
        return found

    def _without(
        self, current: Fitted, units: IndexArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        # Columns in Fortran order: they are written one by one, and read by the BLAS.
        shape = self._risk.size, units.size
        descent, margins = np.empty(shape, order="F"), np.empty(shape, order="F")
        objective = np.empty(units.size)
        dense = self._Z.take(units).dense()
        coef = current.fit.coef
        penalty = 0.5 * float(coef @ coef)
        for place, j in enumerate(np.searchsorted(current.columns, units)):
            z = margins[:, place]
            np.subtract(current.fit.margins, coef[j] * dense[:, place], out=z)
            value, gradient = self._risk.value_gradient(z)
            np.negative(gradient, out=descent[:, place])
            objective[place] = value + penalty - 0.5 * coef[j] ** 2
        return objective, descent, margins

    def _promises(
        self, current: Fitted, leaving: IndexArray, outside: IndexArray
    ) -> tuple[FloatArray, FloatArray | None]:
        objective, descent, margins = self._without(current, leaving)
        curvature = np.empty_like(margins)
        for place, z in enumerate(margins.T):
            curvature[:, place] = self._risk.curvature(z)
        first = int(outside[0])  # a part of the pool is enough where swaps have seen the rest
        scores = self._Z.take(slice(first, None)).dot(descent)[outside - first]
        scores = admitted(scores, self._signs[outside]).T
        bend = self._bend(curvature, first)[outside - first].T
        gain = scores**2 / (2.0 * bend)
        return _worth_a_trial(objective, current, gain), scores / bend

    def _bend(self, curvature: FloatArray, first: int = 0) -> FloatArray:
        with self._growth:
            known = self._squares.size
            if known < self._Z.shape[1]:
                self._squares.append(self._Z.take(slice(known, None)).squared())
        squares = self._squares.columns().take(slice(first, self._Z.shape[1]))
        return 1.0 + squares.dot(curvature)

    def _steps(self, scores: FloatArray, bend: FloatArray) -> FloatArray | None:
        return scores / bend


class GroupExchanges(PoolExchanges):
    """Exchanges of whole groups, among them features in several outputs."""

    _code: IndexArray = np.empty(0, np.int64)  # (p,) the group of every column

    def extend(self, Z: Columns, units: BudgetUnits | None = None) -> None:
        super().extend(Z, units)
        if Z.shape[1] > self._code.size:
            self._settled = set[bytes]()  # supports that no swap in the pool as it is helps
        q, every = self._risk.loss.outputs, np.arange(self._protected.size)
        self._code = cast("Grouped", self._units).code
        self._of_features = np.array_equal(self._code, np.repeat(every[: Z.shape[1] // q], q))

    def _settle(self, current: Fitted) -> None:
        self._settled.add(current.columns.tobytes())

    def _tried(self, current: Fitted) -> int:
        return self._protected.size if current.columns.tobytes() in self._settled else 0

    def _in_kernel(self, k: int) -> FloatArray | None:
        """Return the pool where compiled solvers make the exchanges of k of its features."""
        loss: Any = self._risk.loss
        n = self._risk.size
        small = n * self._code.size <= RIDGE_OUTPUTS.kernel_pool and outputs_in_kernel(loss, n, k)
        return self._Z.repeated if small and k and self._of_features else None

    def _for_kernel(self) -> _PosedOfGroups:
        risk, loss = self._risk, cast("Any", self._risk.loss)
        kernel, kept = cast("int", kernel_of(loss)), self._protected.view(np.uint8)
        of_classes = kernel == RIDGE_OUTPUTS.of_classes
        parameters = (0.0, 0.0) if of_classes else loss.each.kernel_parameters
        return risk.y, risk.weight, kept, kernel, parameters, loss.outputs, loss.free

    def _eliminated_at_once(
        self, left: IndexArray, sizes: list[int], tol: float
    ) -> IndexArray | None:
        x = self._in_kernel(left.size)
        if x is None:
            return None
        gone = np.empty(left.size, np.int64)
        _kernels.output_eliminate(
            x, *self._for_kernel(), left, np.array(sizes), tol, (ONE_BY_ONE, DROP_SHARE), gone
        )
        return gone

    def _improved_at_once(self, current: Fitted, swaps: bool) -> Fitted | None:
        q, n = self._risk.loss.outputs, self._risk.size
        k = current.columns.size // q
        x = self._in_kernel(k)
        if x is None:
            return None
        if current.columns.tobytes() in self._settled:
            return current
        places, u = current.columns[::q] // q, current.fit.coef.copy()
        margins, dual, scores = np.empty(q * n), np.empty(q * n), np.empty(q * k)
        numbers = _kernels.output_exchange(
            x, *self._for_kernel(), self._tol, self._fit_tol, swaps, RULE, EXCHANGE.won_back,
            places, u, margins, dual, scores,
        )  # fmt: skip
        columns = (q * places[:, None] + np.arange(q)).ravel()
        if swaps:
            self._settled.add(columns.tobytes())
        if np.array_equal(columns, current.columns):
            return current
        fit = Ridge(u, numbers[0], margins, dual, scores, *numbers[1:])
        return Fitted(columns, bounded(fit, self._risk, np.ones(q * k)))

    def _without(
        self, current: Fitted, units: IndexArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        fit, own = current.fit, self._code[current.columns]
        Z = self._Z.take(current.columns)
        removed = np.where(own[:, None] == units, fit.coef[:, None], 0.0)
        margins = np.asfortranarray(fit.margins[:, None] - Z.times(removed))
        descent = np.empty_like(margins)
        objective = np.empty(units.size)
        penalty = 0.5 * (float(fit.coef @ fit.coef) - (removed**2).sum(axis=0))
        for place, z in enumerate(margins.T):
            value, gradient = self._risk.value_gradient(z)
            objective[place] = value + penalty[place]
            np.negative(gradient, out=descent[:, place])
        return objective, descent, margins

    def _promises(
        self, current: Fitted, leaving: IndexArray, outside: IndexArray
    ) -> tuple[FloatArray, FloatArray | None]:
        objective, descent, margins = self._without(current, leaving)
        scores = self._Z.dot(descent)
        gain = np.array([
            self._units.sums(own**2 / (2.0 * self._bend(self._risk.curvature(z))))[outside]
            for own, z in zip(scores.T, margins.T, strict=True)
        ])  # fmt: skip
        return _worth_a_trial(objective, current, gain), None

    def _bend(self, curvature: FloatArray) -> FloatArray:
        return 1.0 + self._Z.squares(curvature)

    def _steps(self, scores: FloatArray, bend: FloatArray) -> FloatArray | None:
        return None


def _worth_a_trial(objective: FloatArray, current: Fitted, gain: FloatArray) -> FloatArray:
    """Return the objectives less the gains, infinite where too little of what is lost comes back.

    objective : (leaving,) without each unit. gain : (leaving, outside) by each that enters.
    """
    lost = (objective - current.objective)[:, None]
    return np.where(gain < EXCHANGE.won_back * lost, np.inf, objective[:, None] - gain)
