"""The search for the best k features or groups by exchanges: candidates by scans, a growing pool.

Exchanges work on a pool of gathered candidates. A scan at their result, c = X'v with v the dual
point, shows the features outside the pool that would lower the objective most: they join it, and
the exchanges go on until a scan shows nothing that helps. So all features compete, at a scan a
round. Further searches start from drawn candidates. A budget of groups has whole groups in all.

Sources: Zhu et al., PNAS 117(52), 2020 (splicing); Hazimeh and Mazumder, Operations Research 68(5),
2020 (swaps).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.ranking import largest
from ...core.results import Status, Step
from ...core.types import FloatArray, IndexArray
from ...data.columns import GatheredColumns
from ..found import BestDual
from ..pool.exchange import POOL_FACTOR, Exchanges, Fitted
from ..pool.group_exchange import GroupExchanges
from ..pool.relaxation import relax
from ..task import Task
from ..units import Units

NEW_MIN = 10  # candidates that a scan adds: so many, or k
# Features of a support left out in turn, to see what would take their place: at most, at least, and
# in between as many as cost so many products. And how many candidates for each.
MOST_LEFT_OUT, LEAST_LEFT_OUT, LEFT_OUT_PRODUCTS = 10, 4, 2e9
REPLACEMENTS = 20
DRAWN_SHARE = (-1.5, 0.0)  # Of C, as a power of ten: where elimination from a half begins.
# The relaxation over the pool gives dual points for the certificate, in so many steps, where it has
# at most so many elements and some ridge: without, it bounds next to nothing.
RELAXED_ELEMENTS, RELAXED_C, RELAXED_STEPS = 4e6, 10.0, 4


class Search:
    """The pool of candidates of one problem, and the best support of every size so far."""

    def __init__(
        self,
        task: Task,
        C: float,
        sizes: Sequence[int],
        tol: float,
        before: Search | None = None,
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
        self._exchanges: Exchanges | GroupExchanges | None = None
        if before is None:
            self.add(self.forced)  # first, as in every pool

    @property
    def exchanges(self) -> Exchanges | GroupExchanges:
        """Exchanges on the pool as it is."""
        Z, keep = self.pool.columns(), np.arange(self.forced.size)
        if self.task.groups is None:
            signs = self.task.signs[self.pool.features]
            if not isinstance(self._exchanges, Exchanges):
                self._exchanges = Exchanges(Z, self.risk, keep=keep, tol=self.tol)
            self._exchanges.extend(Z, signs)
            return self._exchanges
        code = np.repeat(np.arange(self.inside.size), self.task.units.sizes(self.inside))
        if not isinstance(self._exchanges, GroupExchanges):
            self._exchanges = GroupExchanges(Z, code, self.risk, keep=keep, tol=self.tol)
        self._exchanges.extend(Z, code)
        return self._exchanges

    @property
    def units(self) -> Units:
        """Those of the pool, features or groups of them, in its order."""
        return self.task.units.take(self.inside)

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
        self,
        columns: IndexArray,
        *,
        improve: bool = False,
        swaps: bool = True,
        tol: float | None = None,
    ) -> None:
        """Keep columns of the pool, sorted, where they are better than the best of their size.

        improve, swaps : whether to improve them before by exchanges, and by which.
        tol : the share by which they have to be better, by default that of the search.
        """
        known = self.best.get(self._size(columns))
        if known is not None and np.array_equal(known.columns, columns):
            return
        found = self.exchanges.fit(columns)
        self._keep(self.exchanges.improve(found, swaps=swaps) if improve else found, tol)

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
        """Return how many units columns of the pool are."""
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

    def restarted_from_all(self, random: np.random.Generator) -> Search:
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
        whole = Search(self.task, share * self.C, self.sizes, self.tol)
        whole.add(units)
        left = whole.exchanges.eliminate(np.arange(whole.pool.size), self.sizes)
        for k in self.sizes:
            kept = self.task.units.of(np.sort(whole.pool.features[left[k]]))
            self.add(kept)
            self.offer(self.place(kept), improve=True)
            self.record(k, kept)

    def _beside(self) -> Search:
        """Return a search of the same pool that has no support yet."""
        other = Search(self.task, self.C, self.sizes, self.tol, self)
        other._exchanges = self._exchanges  # it remembers what was tried in vain
        return other

    def restarted(self, random: np.random.Generator) -> Search:
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

    def take_over(self, other: Search) -> None:
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
        """Return the columns of some units of the pool, sorted."""
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
