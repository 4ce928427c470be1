"""The best k features found: hard thresholding, splicing and swaps, candidates by scans.

    min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b)   subject to  ||u||_0 <= k          (L0)

Exchanges work on a pool of gathered candidates. A scan at their result, c = X'(alpha y), shows the
features outside the pool that would lower the objective most: they join it, and the exchanges go on
until a scan shows nothing that helps. So all features compete, at a scan a round.

SALM and ASALM (`_splitting`) do without scans, on all columns in memory, or on those that fit.

Sources: Blumensath and Davies, Applied and Computational Harmonic Analysis 27(3), 2009 (iterative
hard thresholding); Zhu et al., PNAS 117(52), 2020 (splicing); Hazimeh and Mazumder, Operations
Research 68(5), 2020 (swaps).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from .._typing import Columns, FloatArray, IndexArray
from ..losses import fit_intercept
from ..result import Path, Progressed, Proof, Result, Status, Step
from ..structures import largest
from ._cutting_plane import BestDual, GatheredColumns, Minimax, first_dual
from ._drive import Scan, Solver
from ._exchange import Failures, eliminate, splice, swap
from ._prove import prove_support
from ._relaxation import relax
from ._ridge import Ridge, ridge, take
from ._select import POOL_FACTOR, POOL_MIN, _Clock, _finish, refit_support
from ._splitting import METHODS, SplitProblem, Splitting, asalm, salm
from ._task import Task

SOLVERS = ("auto", "exchange", "splicing", "iht", *METHODS)
FIT_TOL = 1e-7  # of the fits that supports are compared by, at most a tenth of what counts
NEW_MIN = 20  # candidates that a scan adds: so many, or k
MAX_ROUNDS = 20
# Features of a support that are left out in turn, to see what would take their place: at most, at
# least, and in between as many as cost so many products. And how many candidates for each.
MOST_LEFT_OUT, LEAST_LEFT_OUT, LEFT_OUT_PRODUCTS = 50, 4, 2e9
REPLACEMENTS = 20
IHT_ITERATIONS = 200
SUFFICIENT = 1e-3  # decrease of a thresholding step, as a share of t/2 ||step||^2
MOST_DOUBLINGS = 60
# Where the relaxation over the pool gives a dual point for the certificate, and in how many steps.
RELAXED_ELEMENTS, RELAXED_STEPS = 2e6, 6
SPLIT_ELEMENTS = 10_000_000  # of columns (and of the dense inverse of BFGS) that SALM holds


@dataclass(frozen=True, slots=True)
class Found:
    """A support with its fit."""

    support: IndexArray  # sorted features
    fit: Ridge

    @property
    def objective(self) -> float:
        return self.fit.objective


class Search:
    """The pool of candidates of one problem, and the best support of every size so far."""

    def __init__(self, task: Task, C: float, sizes: Sequence[int], tol: float) -> None:
        self.task, self.sizes, self.tol = task, sorted(set(sizes)), tol
        self.weight = C * task.sample_weight
        self.forced = np.empty(0, np.int64) if task.forced is None else np.sort(task.forced)
        self.pool = GatheredColumns(task.design, 0)
        self.best: dict[int, Found] = {}
        self.history: list[Step] = []
        self._failed = Failures()  # by places in the pool, which only grows
        self.status = Status.BUDGET
        self.zero_alpha = first_dual(task.loss, task.y, self.weight, task.intercept)[1]

    @property
    def n_usable(self) -> int:
        """How many features may be used."""
        task = self.task
        return task.design.shape[1] if task.usable is None else int(task.usable.sum())

    def add(self, features: IndexArray) -> IndexArray:
        """Gather what is not in the pool; return what that was."""
        fresh = features[self.pool.position(features) < 0]
        if fresh.size:
            self.pool.add(fresh)
        return fresh

    def fit(self, support: IndexArray, start: tuple[FloatArray, float] | None = None) -> Ridge:
        """Solve (L0) on a support of the pool."""
        task = self.task
        return ridge(
            self.pool.columns(),
            task.y,
            self.weight,
            task.loss,
            columns=self.pool.position(support),
            intercept=task.intercept,
            start=start,
            tol=min(FIT_TOL, 0.1 * self.tol),
            of_value=True,
        )

    def has(self, support: IndexArray) -> bool:
        """Return whether a support, sorted, is the best of its size."""
        known = self.best.get(support.size)
        return known is not None and np.array_equal(known.support, support)

    def offer(self, support: IndexArray, tol: float | None = None) -> bool:
        """Keep a support of the pool where it is better than the best of its size, by `tol`."""
        support = np.sort(support)
        if self.has(support):
            return False
        known = self.best.get(support.size)
        fit = self.fit(support)
        tol = self.tol if tol is None else tol
        if known is not None and not fit.objective < known.objective * (1.0 - tol):
            return False
        self.best[support.size] = Found(support, fit)
        return True

    def improve(self, support: IndexArray, *, swaps: bool = True) -> IndexArray:
        """Return what splicing and swaps make of a support of the pool."""
        task, Z = self.task, self.pool.columns()
        keep, place = self.pool.position(self.forced), self.pool.position(support)
        while True:
            place = splice(
                Z, task.y, self.weight, task.loss, place, intercept=task.intercept, keep=keep,
                tol=self.tol, failed=self._failed,
            )  # fmt: skip
            if not swaps:
                break
            before = np.sort(place)
            place = swap(
                Z, task.y, self.weight, task.loss, before, intercept=task.intercept, keep=keep,
                tol=self.tol, failed=self._failed,
            )  # fmt: skip
            if np.array_equal(place, before):
                break
        return np.sort(self.pool.features[place])

    def eliminated(self, pool: IndexArray, k: int) -> IndexArray:
        """Return the support of size k that backward elimination leaves of features of the pool."""
        task = self.task
        pool = np.union1d(pool, self.forced)
        columns = take(self.pool.columns(), self.pool.position(pool))
        found = eliminate(
            columns, task.y, self.weight, task.loss, [k], intercept=task.intercept,
            keep=np.searchsorted(pool, self.forced),
        )  # fmt: skip
        return pool[found[k]]

    def neighbours(self) -> None:
        """Offer to every size the best of the next one: less its weakest, or with one more."""
        for smaller, larger in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            self.offer(self._cut(self.best[larger], smaller))
        for smaller, larger in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            # Any decrease counts where the objective would rise with the size.
            rises = self.best[larger].objective > self.best[smaller].objective
            self.offer(self._filled(self.best[smaller], larger), 0.0 if rises else None)

    def _cut(self, found: Found, k: int) -> IndexArray:
        strength = np.abs(found.fit.coef)
        strength[np.isin(found.support, self.forced)] = np.inf
        return found.support[largest(strength, k)]

    def _filled(self, found: Found, k: int) -> IndexArray:
        scores = np.abs(self.pool.columns().T @ (found.fit.alpha * self.task.y))
        scores[self.pool.position(found.support)] = -1.0
        more = self.pool.features[largest(scores, k - found.support.size)]
        return np.append(found.support, more)

    def candidates(self, scores: FloatArray, k: int) -> IndexArray:
        """Return the strongest features outside of the pool, at most max(k, NEW_MIN)."""
        return self._fresh(scores, max(k, NEW_MIN))

    def _fresh(self, scores: FloatArray, most: int) -> IndexArray:
        strength = self.strength(scores)
        strength[self.pool.features] = -1.0
        top = largest(strength, min(most, strength.size))
        return top[strength[top] > 0]

    def left_out(self, k: int) -> FloatArray:
        """Return scan vectors at the best model of size k without each of its weakest features.

        A feature that is much like one of the support has no score beside it: only where that one
        is left out it shows.
        """
        task, found = self.task, self.best[k]
        movable = np.flatnonzero(~np.isin(found.support, self.forced))
        weakest = movable[np.argsort(np.abs(found.fit.coef[movable]), kind="stable")]
        n, m = task.design.shape
        afforded = max(LEAST_LEFT_OUT, int(LEFT_OUT_PRODUCTS / (n * m)))
        weakest = weakest[: min(MOST_LEFT_OUT, afforded)]
        Z = take(self.pool.columns(), self.pool.position(found.support[weakest]))
        parts = Z.toarray() if sp.issparse(Z) else np.asarray(Z)
        margins = found.fit.margins[:, None] - parts * found.fit.coef[weakest]
        vectors = np.empty_like(margins)
        for place, z in enumerate(np.ascontiguousarray(margins.T)):
            vectors[:, place] = -task.loss.value_gradient(z, task.y, self.weight)[1]
        return vectors

    def replacements(self, scores: FloatArray) -> IndexArray:
        """Return the strongest features outside of the pool for each of some scan vectors."""
        found = [self._fresh(column, REPLACEMENTS) for column in np.ascontiguousarray(scores.T)]
        return np.unique(np.concatenate(found))

    def strength(self, scores: FloatArray) -> FloatArray:
        """Return |c_j|, -1 for features that may not be used."""
        strength = np.abs(scores)
        if self.task.usable is not None:
            strength[~self.task.usable] = -1.0
        return strength

    def relaxed(self, *, improve: bool) -> dict[int, BestDual]:
        """Solve the relaxation over the pool roughly, where that is cheap; return its dual points.

        They bound the problem over all features better than those of the fits.

        improve : whether to offer the supports of the largest coefficients, improved.
        """
        task, found = self.task, {}
        for k in self.sizes:
            if task.y.size * self.pool.size * k > RELAXED_ELEMENTS:
                continue
            fit, n_forced = self.best[k].fit, self.forced.size
            u = np.zeros(self.pool.size)
            u[self.pool.position(self.best[k].support)] = fit.coef
            answer = relax(
                self.pool.columns(), task.y, self.weight, task.loss, n_forced, k - n_forced,
                intercept=task.intercept, start=(u, fit.intercept), tol=0.01,
                max_iter=RELAXED_STEPS,
            )  # fmt: skip
            found[k] = BestDual(answer.bound, answer.alpha)
            strength = np.abs(answer.coef)
            strength[:n_forced] = np.inf
            rounded = np.sort(self.pool.features[largest(strength, k)])
            if improve and not self.has(rounded):
                self.offer(self.improve(rounded))
        return found

    def record(self, k: int, entered: IndexArray) -> None:
        """Add the best of size k to the history, with its mean loss and least margin."""
        fit, y = self.best[k].fit, self.task.y
        loss = fit.objective - 0.5 * float(fit.coef @ fit.coef)
        extra = {
            "gap": fit.gap,
            "mean_loss": max(0.0, loss) / float(self.weight.sum()),
            "least_margin": float((y * fit.margins).min()),
        }
        self.history.append(Step(fit.objective, fit.bound, k, entered, {}, extra, Status.CONVERGED))


def select_l0(
    task: Task,
    sizes: Sequence[int],
    *,
    C: float = 0.1,
    refit_C: float | str = "loo",
    solver: str | Splitting = "auto",
    tol: float = 1e-4,
    certify: bool = True,
    gap: float | None = None,
    time_limit: float = 60.0,
    report: Callable[[Progressed], None] | None = None,
    start: Sequence[IndexArray] = (),
    seconds: dict[str, float] | None = None,
) -> Solver[Path]:
    """Select exactly k features for every k of `sizes` by solving (L0), by a generator of scans.

    Parameters
    ----------
    solver : "exchange" (and "auto"): from the strongest features, and from elimination inside a
        pool of them, by splicing and swaps, with scans for further candidates until none helps.
        "splicing": from the strongest features only, without swaps. "iht":
        iterative hard thresholding alone, a scan for each step. "salm", "asalm" or a `Splitting`:
        the augmented Lagrangian methods, on all columns, or on the features of the largest scores
        where these are more than SPLIT_ELEMENTS numbers.
    tol : decrease of the objective that counts, as a share of it; a `Splitting` has its own.
    start : features of an earlier fit: the pool has them from the start. SALM and ASALM begin at
        the fit of the first of them that has k features.
    certify : whether to scan once more for the certificates; without, nothing is proven either.
    gap : where it is given, branch and bound goes on to such a certified gap of every size, so
        many seconds at most; a better support that it finds is the answer. An interrupt ends it
        for all sizes that are left: they get the certificates of a scan.
    report : called now and then with where the search stands.
    seconds : filled with the seconds of each phase.
    """
    clock = _Clock(seconds)
    search = Search(task, C, sizes, tol)
    options = Splitting.of(solver)
    given = [search.forced]
    given += [f if task.usable is None else f[task.usable[f]] for f in start]
    if options is None:
        with clock.phase("gather"):
            for features in given:
                search.add(features)
    if options is not None:
        yield from _fill(search, options, np.unique(np.concatenate(given)), clock)
        with clock.phase("select"):
            for k in search.sizes:
                _split(search, k, options, start)
    elif solver == "iht":
        for k in search.sizes:
            support = yield from _threshold(search, k)
            search.offer(support)
            search.record(k, support)
    else:
        scores = yield Scan(task.design, search.zero_alpha * task.y)
        _start(search, scores, clock, swaps=solver != "splicing")
        yield from _exchange(search, clock, swaps=solver != "splicing")
    proofs: dict[int, Proof] = {}
    duals: dict[int, BestDual] = {}
    if gap is not None and certify:
        for k in search.sizes:
            proving = prove_support(
                task, search.best[k].support, C=C, gap=gap, time_limit=time_limit, report=report
            )
            proofs[k] = yield from clock.inside("prove", proving)
            search.add(proofs[k].support)
            search.offer(proofs[k].support)
            if proofs[k].status is Status.INTERRUPTED:
                break
    elif certify:
        with clock.phase("certify"):
            duals = search.relaxed(improve=solver in ("auto", "exchange"))
    fits = {}
    with clock.phase("refit"):
        for k in search.sizes:
            support = proofs[k].support if k in proofs else search.best[k].support
            Z = take(search.pool.columns(), search.pool.position(support))
            fits[k] = (support, refit_support(task, Z, support, refit_C))
    return (yield from _finish(task, fits, [_answer(search, duals)], C, certify, clock, proofs))


def _start(search: Search, scores: FloatArray, clock: _Clock, *, swaps: bool) -> None:
    """Fill the pool with the features of the largest scores, and offer supports of all sizes.

    scores : of the model without features.

    They begin with the strongest features of the pool, and, where there are swaps, with what
    elimination leaves of it.
    """
    strength = search.strength(scores)
    strength[search.forced] = np.inf
    ranked = largest(strength, min(POOL_FACTOR * search.sizes[-1] + NEW_MIN, search.n_usable))
    with clock.phase("gather"):
        entered = search.add(ranked if swaps else ranked[: search.sizes[-1]])
    with clock.phase("select"):
        for k in search.sizes:
            starts = [np.sort(ranked[:k])]
            if swaps:
                pool = ranked[: POOL_FACTOR * k + NEW_MIN]
                starts.insert(0, search.eliminated(pool, k))
            for support in starts:
                if not search.has(support):
                    search.offer(search.improve(support) if swaps else support)
            search.record(k, entered)


def _exchange(search: Search, clock: _Clock, *, swaps: bool) -> Solver[None]:
    """Exchange until a scan at the best support of every size shows nothing that helps."""
    task = search.task
    waiting = list(search.sizes)
    settled: dict[int, Found] = {}
    for _ in range(MAX_ROUNDS):
        vectors = np.column_stack([search.best[k].fit.alpha * task.y for k in waiting])
        scores = yield Scan(task.design, vectors)
        with clock.phase("gather"):
            fresh = {
                k: search.add(search.candidates(np.ascontiguousarray(scores[:, place]), k))
                for place, k in enumerate(waiting)
            }
        with clock.phase("select"):
            before = {k: search.best[k] for k in search.sizes}
            for k in waiting:
                search.offer(search.improve(search.best[k].support, swaps=swaps))
                search.record(k, fresh[k])
            search.neighbours()
            waiting = [k for k in search.sizes if search.best[k] is not before[k]]
        if not waiting and swaps:
            waiting = yield from _replace(search, clock, settled)
        if not waiting:
            return


def _replace(search: Search, clock: _Clock, settled: dict[int, Found]) -> Solver[list[int]]:
    """Look for replacements of single features; return the sizes that improved.

    settled : the supports that have had their turn; it grows.
    """
    before = dict(search.best)
    for k in search.sizes:
        if settled.get(k) is search.best[k]:
            continue
        settled[k] = search.best[k]
        vectors = search.left_out(k)
        if not vectors.shape[1]:
            continue
        scores = yield Scan(search.task.design, vectors)
        with clock.phase("gather"):
            fresh = search.add(search.replacements(scores))
        with clock.phase("select"):
            if fresh.size:
                search.offer(search.improve(search.best[k].support))
                search.record(k, fresh)
    with clock.phase("select"):
        search.neighbours()
    return [k for k in search.sizes if search.best[k] is not before[k]]


def _fill(search: Search, options: Splitting, given: IndexArray, clock: _Clock) -> Solver[None]:
    """Gather all features that may be used, or as many of the largest scores as may be held."""
    task = search.task
    n, m = task.design.shape
    features = np.arange(m) if task.usable is None else np.flatnonzero(task.usable)
    side = max(n, int(SPLIT_ELEMENTS**0.5)) if options.inner == "bfgs" else n
    room = max(SPLIT_ELEMENTS // side, POOL_FACTOR * search.sizes[-1], POOL_MIN, given.size)
    if features.size > room:
        scores = yield Scan(task.design, search.zero_alpha * task.y)
        strength = search.strength(scores)
        strength[given] = np.inf
        features = np.sort(largest(strength, room))
    with clock.phase("gather"):
        search.add(search.forced)  # first, as in every pool
        search.add(features)


def _split(search: Search, k: int, options: Splitting, start: Sequence[IndexArray]) -> None:
    """Offer the support of k features that SALM or ASALM finds in the pool."""
    task, pool = search.task, search.pool
    method = salm if options.method == "salm" else asalm
    found = method(
        SplitProblem(pool.columns(), task.y, search.weight, task.loss, task.intercept), k, options,
        keep=pool.position(search.forced), start=_split_start(search, k, start),
    )  # fmt: skip
    if search.status in (Status.BUDGET, Status.CONVERGED):  # the first that fails is told
        search.status = found.status
    columns = {"columns": float(pool.size), "usable": float(search.n_usable)}
    search.history += [
        replace(step, entered=pool.features[step.entered], extra={**step.extra, **columns})
        for step in found.history
    ]
    support = pool.features[found.support]
    search.offer(support)
    search.record(k, support)


def _split_start(
    search: Search, k: int, start: Sequence[IndexArray]
) -> tuple[FloatArray, float] | None:
    """Return beta and b of the fit of the first start that is a support of k features."""
    for support in start:
        places = search.pool.position(support)
        if support.size == k and (places >= 0).all() and np.isin(search.forced, support).all():
            fit = search.fit(support)
            beta = np.zeros(search.pool.size)
            beta[places] = fit.coef
            return beta, fit.intercept
    return None


def _threshold(search: Search, k: int) -> Solver[IndexArray]:
    """Return the support of iterative hard thresholding on all features, a scan for each step."""
    task = search.task

    def columns(features: IndexArray) -> Columns:
        search.add(features)
        return take(search.pool.columns(), search.pool.position(features))

    state = Thresholding(task, search.weight, k, search.forced, search.tol, task.usable)
    for _ in range(IHT_ITERATIONS):
        scores = yield Scan(task.design, state.vector)
        if not state.step(scores, columns):
            break
    return state.support


class Thresholding:
    """The iterates of hard thresholding: u <- H_k(u - grad / t), the intercept always at its best.

    The first t is the mean curvature of a standardised column, later ones are those of Barzilai and
    Borwein; t doubles until the objective falls by enough, so that it never rises.
    """

    def __init__(
        self,
        task: Task,
        weight: FloatArray,
        k: int,
        keep: IndexArray,
        tol: float,
        usable: np.ndarray | None = None,
    ) -> None:
        self._tol, self._usable = tol, usable
        self._task, self._weight, self._k, self._keep = task, weight, k, keep
        self.support, self._coef = np.empty(0, np.int64), np.empty(0)
        self._place(np.zeros(task.y.size))
        self._objective = self._loss
        self._before: tuple[IndexArray, FloatArray, FloatArray] | None = None

    @property
    def vector(self) -> FloatArray:
        """What to correlate with the columns: minus the gradient of the loss in the margins."""
        return -self._gradient

    def _place(self, z: FloatArray) -> None:
        """Go to margins z, without the intercept."""
        task = self._task
        if task.intercept:
            b, self._loss, self._gradient = fit_intercept(task.loss, z, task.y, self._weight)
            self._margins = z + b
        else:
            self._loss, self._gradient = task.loss.value_gradient(z, task.y, self._weight)
            self._margins = z

    def step(self, scores: FloatArray, columns: Callable[[IndexArray], Columns]) -> bool:
        """Take a step from the scores at the point; return whether to go on.

        columns : returns the columns of some features.
        """
        old, u = self.support, self._coef
        full = np.zeros(scores.size)
        full[old] = u
        descent = scores - full
        t = self._curvature(scores, full)
        for _ in range(MOST_DOUBLINGS):
            target = full + descent / t
            strength = np.abs(target)
            strength[self._keep] = np.inf
            if self._usable is not None:
                strength[~self._usable] = -1.0
            new = np.sort(largest(strength, self._k))
            moved = target[new]
            change = float(np.sum((moved - full[new]) ** 2) + np.sum(full[old] ** 2))
            change -= float(np.sum(full[np.intersect1d(old, new)] ** 2))
            point = self._loss, self._gradient, self._margins
            self._place(np.asarray(columns(new) @ moved))
            objective = self._loss + 0.5 * float(moved @ moved)
            if objective <= self._objective - 0.5 * SUFFICIENT * t * change:
                break
            self._loss, self._gradient, self._margins = point
            t *= 2.0
        else:
            return False
        decrease = self._objective - objective
        self._before = (old, u, scores)
        self.support, self._coef, self._objective = new, moved, objective
        return decrease > self._tol * abs(objective)

    def _curvature(self, scores: FloatArray, full: FloatArray) -> float:
        """Return the t to try first."""
        curvature = self._task.loss.curvature(self._margins, self._task.y, self._weight)
        mean = 1.0 + float(curvature.sum())
        if self._before is None:
            return mean
        old, u, old_scores = self._before
        features = np.union1d(old, self.support)
        moved = full[features]
        moved[np.searchsorted(features, old)] -= u
        bend = float(moved @ (moved - (scores - old_scores)[features]))
        size = float(moved @ moved)
        return bend / size if bend > 0 and size > 0 else mean


def _answer(search: Search, duals: dict[int, BestDual]) -> Minimax:
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
    return Minimax(result, duals)


__all__ = ["SOLVERS", "select_l0"]
