"""The search for the best k features or groups by exchanges: candidates by scans, a growing pool.

Exchanges work on a pool of gathered candidates. A scan at their result, c = X'v with v the dual
point, shows the features outside the pool that would lower the objective most: they join it, and
the exchanges go on until a scan shows nothing that helps. So all features compete, at a scan a
round. Further searches start from drawn candidates. A budget of groups has whole groups in all.

Sources: Zhu et al., PNAS 117(52), 2020 (splicing); Hazimeh and Mazumder, Operations Research 68(5),
2020 (swaps).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ..core.ranking import largest
from ..core.results import Path, Proof, Result, Status, Step
from ..core.types import Columns, Design, FloatArray, IndexArray
from ..data.gathered import GatheredColumns
from .certify import Goal, prove_support
from .driver import BestDual, PhaseClock, Scan, SearchResult, SelectionRequest, Solver
from .exchange import POOL_FACTOR, Exchanges, Fitted, GroupExchanges, PoolExchanges
from .final_fits import Refit
from .finish import finish, refit_support
from .problem import BudgetUnits, Risk, Task
from .relaxation import relax

NEW_MIN = 10  # candidates that a scan adds: so many, or k
# Features of a support left out in turn, to see what would take their place: at most, at least, and
# in between as many as cost so many products. And how many candidates for each.
MOST_LEFT_OUT, LEAST_LEFT_OUT, LEFT_OUT_PRODUCTS = 10, 4, 2e9
REPLACEMENTS = 20
DRAWN_SHARE = (-1.5, 0.0)  # Of C, as a power of ten: where elimination from a half begins.
# The relaxation over the pool gives dual points for the certificate, in so many steps, where it has
# at most so many elements and some ridge: without, it bounds next to nothing.
RELAXED_ELEMENTS, RELAXED_C, RELAXED_STEPS = 4e6, 10.0, 4


class L0Search:
    """The pool of candidates of one problem, and the best support of every size so far."""

    def __init__(
        self, task: Task, C: float, sizes: Sequence[int], tol: float, before: L0Search | None = None
    ) -> None:
        """Begin with the pool of another search, or with the forced features."""
        self.task, self.C, self.sizes, self.tol = task, C, sorted(set(sizes)), tol
        self.risk, self.forced = task.risk(C), task.units.of(task.forced)
        self.pool: GatheredColumns
        self.inside: IndexArray  # the units of the pool, in its order
        self.pool, self.inside = GatheredColumns(task.design, 0), np.empty(0, np.int64)
        if before is not None:
            self.pool, self.inside = before.pool, before.inside
        self.best: dict[int, Fitted] = {}
        self.history: list[Step] = []
        self.status = Status.BUDGET
        self.zero_dual = self.risk.first()[1]
        self._exchanges: PoolExchanges | None = None
        if before is None:
            self.add(self.forced)  # first, as in every pool

    @property
    def exchanges(self) -> PoolExchanges:
        """Exchanges on the pool as it is."""
        Z, units, kept = self.pool.columns(), self.units, np.arange(self.forced.size)
        if self._exchanges is None:
            kind = Exchanges if self.task.groups is None else GroupExchanges
            self._exchanges = kind(Z, self.risk, units, keep=kept, tol=self.tol)
        else:
            self._exchanges.extend(Z, units)
        return self._exchanges

    @property
    def units(self) -> BudgetUnits:
        """Those of the pool, features or groups of them, in its order."""
        single = self.task.groups is None
        return self.task.units.take(self.pool.features if single else self.inside)

    def add(self, units: IndexArray) -> IndexArray:
        """Gather the columns of units that are not in the pool; return the columns."""
        if self.task.groups is None:
            known = self.pool.position(units) >= 0
        else:
            known = np.isin(units, self.inside)
        fresh = np.sort(units[~known])  # so that ties keep the smaller index
        columns = self.task.units.features(fresh)
        if fresh.size:
            self.pool.add(columns)
            self.inside = np.concatenate([self.inside, fresh])
        return columns

    def place(self, units: IndexArray) -> IndexArray:
        """Return where the columns of units are in the pool, sorted."""
        return np.sort(self.pool.position(self.task.units.features(units)))

    def support(self, k: int) -> IndexArray:
        """Return the columns of the best model of a size, sorted."""
        return np.sort(self.pool.features[self.best[k].columns])

    def offer(
        self, columns: IndexArray, *, improve: bool = False, tol: float | None = None
    ) -> None:
        """Keep columns of the pool, sorted, where they are better than the best of their size.

        improve : whether to improve them before by exchanges.
        tol : the share by which they have to be better, by default that of the search.
        """
        known = self.best.get(self._size(columns))
        if known is not None and np.array_equal(known.columns, columns):
            return
        found = self.exchanges.fit(columns)
        self._keep(self.exchanges.improve(found) if improve else found, tol)

    def improve(self, k: int, *, swaps: bool = True) -> None:
        """Go on with exchanges from the best of a size."""
        self._keep(self.exchanges.improve(self.best[k], swaps=swaps))

    def _keep(self, found: Fitted, tol: float | None = None) -> None:
        size = self._size(found.columns)
        known = self.best.get(size)
        tol = self.tol if tol is None else tol
        if known is None or found.objective < known.objective * (1.0 - tol):
            self.best[size] = found

    def _size(self, columns: IndexArray) -> int:
        return columns.size if self.task.groups is None else self.units.of(columns).size

    def regrow(self, k: int) -> None:
        """Double the best of a size by the most promising of the pool, and eliminate to the size.

        Many features change at once, each beside all the others: where exchanges end, this may
        still find a better support.
        """
        columns = self._filled(self.best[k], min(2 * k, self.inside.size))
        self.offer(self.exchanges.eliminate(columns, [k])[k], improve=True)

    def eliminated(self, share: float) -> bool:
        """Offer what elimination leaves of all features at a share of C; return whether it helps.

        It looks at all features together, where the pool has those that scans have shown.
        """
        before = dict(self.best)
        self._offer_left(share, np.flatnonzero(self.task.units.usable))
        return any(self.best[k] is not before[k] for k in self.sizes)

    def restarted_from_all(self, random: np.random.Generator) -> L0Search:
        """Return a search from what elimination leaves of a drawn half of all features.

        The share of C is drawn, too: with more ridge other features are left. A pool has what goes
        with the supports that the search has met; a half of all features leads elsewhere.
        """
        other = self._beside()
        usable = np.flatnonzero(self.task.units.usable)
        size = max(self.sizes[-1], usable.size // 2)
        drawn = np.sort(random.permutation(usable)[:size])
        other._offer_left(10.0 ** random.uniform(*DRAWN_SHARE), drawn)
        return other

    def _offer_left(self, share: float, units: IndexArray) -> None:
        """Offer what elimination leaves of single features at a share of C."""
        whole = L0Search(self.task, share * self.C, self.sizes, self.tol)
        whole.add(units)
        left = whole.exchanges.eliminate(np.arange(whole.pool.size), self.sizes)
        for k in self.sizes:
            kept = self.task.units.of(np.sort(whole.pool.features[left[k]]))
            self.add(kept)
            self.offer(self.place(kept), improve=True)
            self.record(k, kept)

    def _beside(self) -> L0Search:
        """Return a search of the same pool that has no support yet."""
        other = L0Search(self.task, self.C, self.sizes, self.tol, self)
        other._exchanges = self._exchanges  # it remembers what was tried in vain
        return other

    def restarted(self, random: np.random.Generator) -> L0Search:
        """Return a search of the same pool, from what elimination leaves of a drawn part of it."""
        other = self._beside()
        free = np.arange(self.forced.size, self.inside.size)
        for k in self.sizes:
            drawn = max(k - self.forced.size, min(POOL_FACTOR * k + NEW_MIN, free.size // 2))
            part = np.append(np.arange(self.forced.size), random.permutation(free)[:drawn])
            left = other.exchanges.eliminate(self._columns(np.sort(part)), [k])[k]
            other.offer(left, improve=True)
            other.record(k, np.empty(0, np.int64))
        return other

    def take_over(self, other: L0Search) -> None:
        """Go on with the larger pool of a restart, and with what is better in it."""
        self.pool, self.inside, self._exchanges = other.pool, other.inside, other._exchanges
        self.history += other.history
        for k in self.sizes:
            self._keep(other.best[k])

    def neighbours(self) -> None:
        """Offer to every size the best of the next one: less its weakest, or with one more."""
        for smaller, larger in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            self.offer(self._cut(self.best[larger], smaller))
        for smaller, larger in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            # Any decrease counts where the objective would rise with the size.
            rises = self.best[larger].objective > self.best[smaller].objective
            filled = self._filled(self.best[smaller], larger)
            self.offer(filled, tol=0.0 if rises else None)

    def _cut(self, found: Fitted, k: int) -> IndexArray:
        strength = self._lengths(found)
        strength[: self.forced.size] = np.inf
        return self._columns(largest(strength, k))

    def _filled(self, found: Fitted, k: int) -> IndexArray:
        units = self.units
        scores = units.strength(self.pool.columns().dot(found.fit.dual))
        own = units.of(found.columns)
        scores[own] = -1.0
        return self._columns(np.append(own, largest(scores, k - own.size)))

    def _columns(self, units: IndexArray) -> IndexArray:
        return np.sort(self.units.features(units))

    def _lengths(self, found: Fitted) -> FloatArray:
        """Return the lengths of the coefficients of the units of the pool, -1 of those outside."""
        units, coef = self.units, np.zeros(self.pool.size)
        coef[found.columns] = found.fit.coef
        lengths, outside = units.strength(coef), np.ones(self.inside.size, bool)
        outside[units.of(found.columns)] = False
        lengths[outside] = -1.0
        return lengths

    def candidates(self, scores: FloatArray, k: int) -> IndexArray:
        """Return the strongest units outside of the pool, at most max(k, NEW_MIN)."""
        return self._fresh(scores, max(k, NEW_MIN))

    def replacements(self, scores: FloatArray) -> IndexArray:
        """Return the strongest units outside of the pool for each of some scan vectors."""
        found = [self._fresh(column, REPLACEMENTS) for column in np.ascontiguousarray(scores.T)]
        return np.unique(np.concatenate(found))

    def _fresh(self, scores: FloatArray, most: int) -> IndexArray:
        strength = self.strength(scores)
        strength[self.inside] = -1.0
        top = largest(strength, min(most, strength.size))
        return top[strength[top] > 0]

    def strength(self, scores: FloatArray) -> FloatArray:
        """Return the strength of scores of all units, -1 for those that may not be used."""
        strength = self.task.units.strength(scores)
        strength[~self.task.units.usable] = -1.0
        return strength

    def left_out(self, k: int) -> FloatArray:
        """Return scan vectors at the best model of size k without each of its weakest features.

        A feature that is much like one of the support has no score beside it: only where that one
        is left out it shows.
        """
        found = self.best[k]
        inside = np.sort(self.units.of(found.columns))
        movable = inside[inside >= self.forced.size]
        weakest = movable[np.argsort(self._lengths(found)[movable], kind="stable")]
        n, m = self.task.design.shape
        afforded = max(LEAST_LEFT_OUT, int(LEFT_OUT_PRODUCTS / (n * m)))
        return self.exchanges.left_out(found, weakest[: min(MOST_LEFT_OUT, afforded)])

    def relaxed(self, *, improve: bool) -> dict[int, BestDual]:
        """Solve the relaxation over the pool roughly, where that is cheap; return its dual points.

        They bound the problem over all features better than those of the fits.

        improve : whether to offer the supports of the largest coefficients, improved.
        """
        found: dict[int, BestDual] = {}
        if self.C > RELAXED_C:
            return {}
        for k in self.sizes:
            if self.risk.size * self.pool.size * k > RELAXED_ELEMENTS:
                continue
            best, n_forced = self.best[k], self.forced.size
            u = np.zeros(self.pool.size)
            u[best.columns] = best.fit.coef
            answer = relax(
                self.pool.columns(), self.units, self.risk, n_forced,
                k - n_forced, start=(u, best.fit.intercept), tol=0.01, max_iter=RELAXED_STEPS,
            )  # fmt: skip
            found[k] = BestDual(answer.bound, answer.dual)
            if improve:
                strength = self.units.strength(answer.coef)
                strength[:n_forced] = np.inf
                self.offer(self._columns(largest(strength, k)), improve=True)
        return found

    def record(self, k: int, entered: IndexArray) -> None:
        """Add the best of size k to the history, with its mean loss and least margin."""
        fit, y = self.best[k].fit, self.task.y
        loss = fit.objective - 0.5 * float(fit.coef @ fit.coef)
        extra = {"gap": fit.gap, "mean_loss": max(0.0, loss) / float(self.risk.weight.sum())}
        if self.task.loss.of_labels:
            extra["least_margin"] = float((y * fit.margins).min())
        self.history.append(Step(fit.objective, fit.bound, k, entered, {}, extra, Status.CONVERGED))


# The rounds of the search for the best k features or groups by exchanges: see `L0Search`.

# With next to no ridge the objective has many poor local optima: the search begins with this much
# of it, and goes on from what it finds there.
FIRST_STAGES = (0.1, 1.0)
MAX_ROUNDS = 20
# Elimination from all features, with the ridge of C and with more, where a Gram matrix of them or
# of the rows takes so many multiply-adds, and they have so many entries: what only tells something
# beside others is found there.
ELIMINATED, MOST_ENTRIES = 1e9, 1 << 22
ELIMINATED_C = (0.1, 1.0)  # as shares of C


def explore(
    task: Task,
    C: float,
    sizes: Sequence[int],
    tol: float,
    given: Sequence[IndexArray],
    clock: PhaseClock,
    *,
    swaps: bool,
    n_starts: int = 1,
) -> Solver[L0Search]:
    """Search for the best features of all sizes, from the strongest ones.

    given : features that the pool has from the start, of groups with all of theirs.
    swaps : whether to swap, begin with more ridge where there is next to none, and look for
        replacements; else there is only splicing.
    n_starts : how many searches there are, the further ones from drawn candidates; where that is
        cheap, the first of several goes on from what elimination leaves of all features, and the
        others begin with what it leaves of drawn halves of them.
    """
    stages = [stage for stage in FIRST_STAGES if swaps and stage < C] + [C]
    search = L0Search(task, stages[0], sizes, tol)
    scores = yield Scan(task.design, search.zero_dual)
    with clock.phase("gather"):
        for features in given:
            search.add(task.units.of(features))
    _begin(search, scores, clock, swaps=swaps)
    yield from _exchange(search, clock, swaps=swaps, replaces=swaps and len(stages) == 1)
    for stage in stages[1:]:
        before, search = search, L0Search(task, stage, sizes, tol, search)
        with clock.phase("select"):
            for k in search.sizes:
                search.offer(before.best[k].columns, improve=True)
                search.record(k, search.pool.features)
        yield from _exchange(search, clock, swaps=True, replaces=True)
    cheap = n_starts > 1 and _is_cheap(task)
    if cheap:
        with clock.phase("select"):
            helps = [search.eliminated(share) for share in ELIMINATED_C]
        if any(helps):
            yield from _exchange(search, clock, swaps=True, replaces=True)
    random = np.random.default_rng(0)
    for _ in range(1, n_starts):
        with clock.phase("select"):
            other = search.restarted_from_all(random) if cheap else search.restarted(random)
        yield from _exchange(other, clock, swaps=True, replaces=True)
        search.take_over(other)
    return search


def _is_cheap(task: Task) -> bool:
    """Return whether elimination from all features takes a second or two, and little memory.

    Groups, outputs that share features, rows that are not by themselves and sparse columns have no
    compiled fits, or fits of many columns that take minutes.
    """
    n, p = task.design.shape
    plain = task.groups is None and task.loss.separable and not task.design.is_sparse
    return plain and n * p <= MOST_ENTRIES and n * p * min(n, p) <= ELIMINATED


def _begin(search: L0Search, scores: FloatArray, clock: PhaseClock, *, swaps: bool) -> None:
    """Fill the pool with the features of the largest scores, and offer supports of all sizes.

    scores : of the model without features.

    They begin with the strongest features of the pool, and, where there are swaps, with what
    elimination leaves of it.
    """
    strength = search.strength(scores)
    strength[search.forced] = np.inf
    most = int(search.task.units.usable.sum())
    ranked = largest(strength, min(POOL_FACTOR * search.sizes[-1] + NEW_MIN, most))
    with clock.phase("gather"):
        entered = search.add(ranked if swaps else ranked[: search.sizes[-1]])
    with clock.phase("select"):
        for k in search.sizes:
            if swaps:
                pool = search.place(ranked[: POOL_FACTOR * k + NEW_MIN])
                search.offer(search.exchanges.eliminate(pool, [k])[k], improve=True)
            search.offer(search.place(ranked[:k]), improve=swaps)
            search.record(k, entered)


def _exchange(search: L0Search, clock: PhaseClock, *, swaps: bool, replaces: bool) -> Solver[None]:
    """Exchange until a scan at the best support of every size shows nothing that helps.

    replaces : whether to look for replacements then, and to go on from those.
    """
    task = search.task
    waiting = list(search.sizes)
    settled: dict[int, Fitted] = {}
    for _ in range(MAX_ROUNDS):
        vectors = np.column_stack([search.best[k].fit.dual for k in waiting])
        scores = yield Scan(task.design, vectors)
        with clock.phase("gather"):
            fresh = {
                k: search.add(search.candidates(np.ascontiguousarray(scores[:, place]), k))
                for place, k in enumerate(waiting)
            }
        with clock.phase("select"):
            before = dict(search.best)
            for k in waiting:
                search.improve(k, swaps=swaps)
                search.record(k, fresh[k])
            search.neighbours()
            waiting = [k for k in search.sizes if search.best[k] is not before[k]]
        if not waiting and replaces:
            waiting = yield from _replace(search, clock, settled)
        if not waiting:
            return


def _replace(search: L0Search, clock: PhaseClock, settled: dict[int, Fitted]) -> Solver[list[int]]:
    """Look for replacements of single features and of many; return the sizes that improved.

    settled : the supports that have had their turn; it grows.
    """
    before = dict(search.best)
    for k in search.sizes:
        if settled.get(k) is search.best[k]:
            continue
        settled[k] = search.best[k]
        if not (vectors := search.left_out(k)).shape[1]:
            continue
        scores = yield Scan(search.task.design, vectors)
        with clock.phase("gather"):
            fresh = search.add(search.replacements(scores))
        with clock.phase("select"):
            if fresh.size:
                search.improve(k)
            search.regrow(k)
            search.record(k, fresh)
    with clock.phase("select"):
        search.neighbours()
    return [k for k in search.sizes if search.best[k] is not before[k]]


# Iterative hard thresholding under any budget, plain and accelerated, a scan for each step.
#
#    min_{u, b}  rho/2 ||u||^2 + sum_i s_i f(y_i, x_i'u + b)  subject to  u in the budget        (H)
#
# with s the sample weights times C. A step goes from a search point v along minus the gradient, and
# to the nearest point of the budget: u <- P(v - grad F(v) / L), with F the objective at the best
# intercept. A line search doubles L until F falls by enough.
#
# Sources: Blumensath and Davies, Applied and Computational Harmonic Analysis 27(3), 2009; Xiang,
# Yang and Ye, KDD 2014, Algorithm 1 and Table 1 (the variants).
#
# Differences from the latter: the floor of the first L is a share of the mean curvature, not 1,
# which depends on the units of X; that of Barzilai and Borwein compares the gradients of search
# points, which are at hand; the intercept is always at its best; a run ends after three steps in a
# row that gain nothing, not at the first (the next ones begin at the mean curvature, as that of
# Barzilai and Borwein can be far too large), and its answer is the best point on its way.

# Returns the support, sorted, of the point of a budget that is nearest to a vector over all
# features.
Admit: TypeAlias = Callable[[FloatArray], IndexArray]
Gather: TypeAlias = Callable[[IndexArray], Columns]  # returns the columns of some features


@dataclass(frozen=True, slots=True)
class HardThresholdingTuning:
    """Constants of hard thresholding."""

    sufficient: float = 1e-3  # decrease of a step, as a share of L/2 ||step||^2
    most_doublings: int = 60  # of L, in columns of one length
    stalls: int = 3  # steps in a row that gain nothing, after which a run ends
    # Floor of L, as a share of the mean curvature of a typical column.
    least_curvature: float = 1e-8


HARD_THRESHOLDING = HardThresholdingTuning()


@dataclass(frozen=True, slots=True)
class Variant:
    """A member of the family of hard thresholding methods."""

    accelerated: bool  # whether the search point looks ahead along the last step
    spectral: bool  # whether L begins by the rule of Barzilai and Borwein, or always at one value
    lipschitz: bool  # whether L bounds the curvature along a step, or F has to fall


VARIANTS = {
    "ista": Variant(accelerated=False, spectral=True, lipschitz=False),
    "ista-l": Variant(accelerated=False, spectral=True, lipschitz=True),
    "fista": Variant(accelerated=True, spectral=True, lipschitz=True),
    "fista-c": Variant(accelerated=True, spectral=False, lipschitz=True),
}


@dataclass(frozen=True, slots=True)
class Objective:
    """(H) without its budget, on the scaling that selection uses."""

    risk: Risk
    ridge: float  # rho, not negative

    def place(self, z: FloatArray, coef: FloatArray) -> tuple[float, float, FloatArray]:
        """Return F, b and the gradient of the loss in the margins; z: the margins without b."""
        b, value, gradient = self.risk.best(z)
        return value + 0.5 * self.ridge * float(coef @ coef), b, gradient

    def curvature(self, margins: FloatArray, variance: float = 1.0) -> float:
        """Return the mean second derivative of F in a coefficient of a column of this variance."""
        total = float(self.risk.curvature(margins).sum()) / self.risk.loss.outputs
        return self.ridge + variance * total


@dataclass(frozen=True, slots=True)
class SparsePoint:
    """A sparse point, with what is known there."""

    support: IndexArray  # sorted
    coef: FloatArray
    z: FloatArray  # (n,) margins without the intercept
    intercept: float
    objective: float
    gradient: FloatArray  # (n,) of the loss in the margins; minus it is what a scan correlates

    def dense(self, n_features: int) -> FloatArray:
        """Return the coefficients of all features."""
        full = np.zeros(n_features)
        full[self.support] = self.coef
        return full


def zero_point(objective: Objective) -> SparsePoint:
    """Return the model without features."""
    z = np.zeros_like(objective.risk.weight)
    value, b, gradient = objective.place(z, np.empty(0))
    return SparsePoint(np.empty(0, np.int64), np.empty(0), z, b, value, gradient)


class Thresholding:
    """The iterates of one method of the family.

    Parameters
    ----------
    tol : decrease of the objective that counts, as a share of it.
    start : where to begin; the model without features by default.
    spread : (m,) standard deviations of the columns, positive; 1 by default.
    """

    def __init__(
        self,
        objective: Objective,
        admit: Admit,
        variant: Variant,
        tol: float,
        start: SparsePoint | None = None,
        spread: FloatArray | None = None,
    ) -> None:
        self._objective, self._admit, self._variant, self._tol = objective, admit, variant, tol
        self.current = zero_point(objective) if start is None else start
        self.best = self.current
        self.curvature = np.nan  # the L of the last step
        self._search = self.current  # the point whose gradient the next step takes
        # The one before, with its scores.
        self._searched: tuple[SparsePoint, FloatArray] | None = None
        self._momentum = 1.0
        self._stalls = 0
        self._variance, self._doublings = 1.0, HARD_THRESHOLDING.most_doublings
        if spread is not None:
            typical = float(np.median(spread))
            self._variance = typical**2
            self._doublings += int(2.0 * np.log2(spread.max() / typical)) + 1

    @property
    def vector(self) -> FloatArray:
        """What to correlate with the columns: minus the gradient of the loss in the margins."""
        return -self._search.gradient

    def step(self, scores: FloatArray, columns: Gather) -> bool:
        """Take a step from the scores X'vector; return whether to go on."""
        search = self._search
        trial = self._line_search(search, scores, columns)
        if trial is None:
            return False
        self._searched = search, scores
        gain = self.best.objective - trial.objective
        previous, self.current = self.current, trial
        if gain >= 0.0:
            self.best = trial
        stalled = not gain > self._tol * abs(trial.objective)
        self._stalls = self._stalls + 1 if stalled else 0
        if self._stalls >= HARD_THRESHOLDING.stalls:
            return False
        self._search = self._ahead(previous, trial) if self._variant.accelerated else trial
        return True

    def _line_search(
        self, search: SparsePoint, scores: FloatArray, columns: Gather
    ) -> SparsePoint | None:
        """Return the next point, None where rounding leaves no step that is good enough."""
        full = search.dense(scores.size)
        descent = scores - self._objective.ridge * full
        curvature = self._first_curvature(search, full, scores)
        for _ in range(self._doublings):
            target = full + descent / curvature
            support = self._admit(target)
            coef = target[support]
            z = columns(support).times(coef) if support.size else np.zeros(search.z.size)
            value, b, gradient = self._objective.place(z, coef)
            features = np.union1d(search.support, support)
            change = -full[features]
            change[np.searchsorted(features, support)] += coef
            square = 0.5 * curvature * float(change @ change)
            if self._variant.lipschitz:
                limit = search.objective - float(descent[features] @ change) + square
            else:
                limit = search.objective - HARD_THRESHOLDING.sufficient * square
            if value <= limit:
                self.curvature = curvature
                return SparsePoint(support, coef, z, b, value, gradient)
            curvature *= 2.0
        return None

    def _first_curvature(self, search: SparsePoint, full: FloatArray, scores: FloatArray) -> float:
        mean = self._objective.curvature(search.z + search.intercept, self._variance)
        if self._searched is None or self._stalls or not self._variant.spectral:
            return mean
        old, old_scores = self._searched
        features = np.union1d(old.support, search.support)
        moved = full[features]
        moved[np.searchsorted(features, old.support)] -= old.coef
        turned = self._objective.ridge * moved - (scores[features] - old_scores[features])
        bend = float(moved @ turned)
        size = float(moved @ moved)
        known = bend > 0 and size > 0
        return max(HARD_THRESHOLDING.least_curvature * mean, bend / size) if known else mean

    def _ahead(self, previous: SparsePoint, current: SparsePoint) -> SparsePoint:
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self._momentum**2))
        share = (self._momentum - 1.0) / following
        self._momentum = following
        if share == 0.0:
            return current
        features = np.union1d(previous.support, current.support)
        coef = np.zeros(features.size)
        coef[np.searchsorted(features, current.support)] += (1.0 + share) * current.coef
        coef[np.searchsorted(features, previous.support)] -= share * previous.coef
        z = (1.0 + share) * current.z - share * previous.z
        value, b, gradient = self._objective.place(z, coef)
        return SparsePoint(features, coef, z, b, value, gradient)


def hard_threshold(
    state: Thresholding, design: Design, columns: Gather, max_iter: int
) -> Solver[int]:
    """Take steps until none helps, a scan for each; return their number, `max_iter` at most.

    columns : returns the columns of some features.
    """
    for n_steps in range(max_iter):
        scores = yield Scan(design, state.vector)
        if not state.step(scores, columns):
            return n_steps
    return max_iter


# Exactly k features or groups by the l0 problem: exchanges, or hard thresholding.
#
#    min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b)  subject to  ||u||_0 <= k          (L0)
#
# Both (`explore`, `Thresholding`) touch all features by scans only.

SOLVERS = ("auto", "exchange", "splicing", "iht")
MAX_STEPS = 200  # of hard thresholding


def select_l0(
    task: Task,
    sizes: Sequence[int],
    request: SelectionRequest,
    *,
    solver: str = "auto",
    n_starts: int = 1,
    goal: Goal | None = None,
) -> Solver[Path]:
    """Select exactly k features for every k of `sizes` by solving (L0), by a generator of scans.

    Where the task has groups, k counts these, and they enter as a whole.

    Parameters
    ----------
    solver : "exchange" (and "auto"): from the strongest features, and from elimination inside a
        pool of them, by splicing and swaps, with scans for further candidates until none helps;
        for C above those of `FIRST_STAGES` from the models for these. "splicing": from the
        strongest features only, without swaps. "iht": iterative hard thresholding alone, a scan for
        each step.
    n_starts : searches by exchanges, the further ones from drawn candidates; the best is kept. With
        two or more, elimination from all features is another start where that is cheap.
    request : tol is the decrease of the objective that counts, as a share of it. The pool has the
        features of the start. Without certificates nothing is proven either.
    goal : as for `conclude`.
    """
    clock = PhaseClock(request.seconds)
    if solver == "iht":
        search = L0Search(task, request.C, sizes, request.tol)
        for k in search.sizes:
            yield from _threshold(search, k)
    else:
        search = yield from explore(
            task, request.C, sizes, request.tol, usable_starts(task, request), clock,
            swaps=solver != "splicing", n_starts=n_starts,
        )  # fmt: skip
    exchanges = solver in ("auto", "exchange")
    return (yield from conclude(search, request, clock, goal, improve=exchanges))


def usable_starts(task: Task, request: SelectionRequest) -> list[IndexArray]:
    """Return the features of the start that may be selected."""
    return [features[task.usable[features]] for features in request.start]


def conclude(
    search: L0Search,
    request: SelectionRequest,
    clock: PhaseClock,
    goal: Goal | None,
    *,
    improve: bool = False,
) -> Solver[Path]:
    """Prove, or certify, and refit the best supports that a search has found.

    goal : where it is given, branch and bound goes on to it for every size; a better support that
        it finds is the answer. An interrupt ends it for all sizes that are left: they get the
        certificates of a scan.
    improve : whether the rounded relaxation is tried as another start.
    """
    task = search.task
    proofs: dict[int, Proof] = {}
    duals: dict[int, BestDual] = {}
    fits: dict[int, tuple[IndexArray, Refit]] = {}

    def fit(k: int) -> None:
        support = task.columns(proofs[k].support) if k in proofs else search.support(k)
        Z = search.pool.columns().take(search.pool.position(support))
        with clock.phase("refit"):
            fits[k] = (support, refit_support(task, Z, support, request.refit_C))

    def ending(sizes: Sequence[int]) -> Solver[Path]:
        models, proven = {k: fits[k] for k in sizes}, {k: proofs[k] for k in sizes if k in proofs}
        return finish(task, request, models, [_answer(search, duals)], clock, proven)

    request.keep(lambda: fits, ending)
    if goal is not None and request.certify:
        if request.kept is not None:  # a proof may take hours
            for k in search.sizes:
                fit(k)
        for k in search.sizes:
            proving = prove_support(
                task, search.support(k), goal, C=request.C, report=request.report
            )
            proofs[k] = yield from clock.inside("prove", proving)
            units = task.units.of(task.columns(proofs[k].support))
            search.add(units)
            search.offer(search.place(units))
            if request.kept is not None:
                fit(k)
            if proofs[k].status is Status.INTERRUPTED:
                break
    elif request.certify:
        with clock.phase("certify"):
            duals = search.relaxed(improve=improve)
    for k in search.sizes:
        fit(k)
    return (yield from ending(search.sizes))


def _threshold(search: L0Search, k: int) -> Solver[None]:
    """Offer the support of k features or groups where hard thresholding ends."""
    task, units = search.task, search.task.units

    def columns(features: IndexArray) -> Columns:
        search.add(units.of(features))
        return search.pool.columns().take(search.pool.position(features))

    def admit(target: FloatArray) -> IndexArray:
        strength = search.strength(target)
        strength[search.forced] = np.inf
        return np.sort(units.features(largest(strength, k)))

    objective = Objective(search.risk, 1.0)
    state = Thresholding(objective, admit, VARIANTS["ista"], search.tol)
    yield from hard_threshold(state, task.design, columns, MAX_STEPS)
    search.offer(search.place(units.of(state.best.support)))
    search.record(k, state.best.support)


def _answer(search: L0Search, duals: dict[int, BestDual]) -> SearchResult:
    """Return the history of scans and exchanges, and dual points of the sizes.

    Every candidate entered once.
    """
    seen = np.zeros(search.task.design.shape[1], bool)
    steps = []
    for step in search.history:
        fresh = step.entered[~seen[step.entered]]
        seen[fresh] = True
        steps.append(replace(step, entered=fresh))
    support = np.sort(search.pool.features)
    result = Result(support, np.empty(0), 0.0, np.nan, {}, None, search.status, tuple(steps))
    return SearchResult(result, duals)
