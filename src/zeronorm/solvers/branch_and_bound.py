"""Branch and bound for the l0 problem on gathered candidates.

A node has units, features or groups of them, that are fixed in and units that are free. The
relaxation over them (`relaxation`) gives a dual point: its bound ends the node where no model of it
can be better than wanted, and else rules out and fixes units (`bounds`). What is left is divided by
the free unit that raises the bounds of both halves most, as far as that is of use, to second order
(`quadratic`). The nodes of the smallest bounds come first, some at a time, by threads, whose
answers are taken in the order of the questions: the tree is the same however many there are. Where
features count by themselves, a kernel goes on from each node (`Subtree`). Rounded relaxations, with
exchanges, give better models on the way.

Source: Bertsimas, King and Mazumder, Annals of Statistics 44(2), 2016 (the l0 problem as one for
branch and bound); Atamturk and Gomez, ICML 2020 (safe screening of its variables).
"""

from __future__ import annotations

import heapq
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from .. import _kernels
from ..core.parallel import at_last, map_threads, waiting_threads
from ..core.ranking import largest
from ..core.results import PROVEN, Progressed, Status, Tree
from ..core.types import Columns, FloatArray, IndexArray
from ..data.column_sets import ColumnsInPlace, some_of
from ..data.gathered import SparseColumns
from .bounds import DECIDED, Bound, bound_at, safe_scores
from .exchange import Exchanges, GroupExchanges
from .problem import BudgetUnits, Risk, Singles
from .relaxation import (
    MOST_ENTRIES,
    MOST_MOVED_GROWN,
    RELAXATION_STEPS,
    SHARED_CURVATURE,
    Relaxed,
    SharedCurvature,
    decided,
    entries,
    is_compiled,
    is_plain,
    relax,
    rule,
    stored,
)
from .ridge_fits import signed_ridge

# The l0 problem over the units, features or groups of them, that a bound has left.

# Columns that are not 0 in a relaxation, their coefficients, the intercept.
Start: TypeAlias = tuple[IndexArray, FloatArray, float]
NOTHING: Start = np.empty(0, np.int64), np.empty(0), 0.0
# Of the relaxation of a node; of the fit of a model.
NODE_TOL, LEAF_TOL = 1e-4, 1e-11
# Relaxations keep to bounds on coefficients where that closes so much of the gap that is left
# without; ROUGH is the tolerance of that comparison.
BINDING, ROUGH = 0.125, 1e-2


@dataclass(frozen=True, slots=True)
class RelaxationOptions:
    """Where a relaxation begins, and when it may end: see `relaxation.relax`."""

    start: Start
    tol: float
    cutoff: float = np.inf
    deadline: float = np.inf
    ahead: bool = False


@dataclass(frozen=True, slots=True)
class CandidateProblem:
    """The l0 problem over gathered columns, unit by unit, the forced ones first."""

    Z: Columns  # (n, p)
    units: BudgetUnits  # of the columns, in their order
    names: IndexArray  # (n_units,) what the tree calls them: features of X, or groups
    risk: Risk
    budget: int  # units of a model
    n_forced: int  # of them
    shared: SharedCurvature | None = field(default=None, kw_only=True)  # of all its relaxations
    # What the relaxation over all units starts from.
    start: Start = field(default=NOTHING, kw_only=True)
    # Whether relaxations may go beyond bounds on coefficients, which their dual points still count.
    loose: bool = field(default=False, kw_only=True)

    @property
    def diagonal(self) -> FloatArray:
        """(n_units,) what of the loss's curvature is a part of the ridge: none."""
        return np.zeros(self.n_units)

    @property
    def n_units(self) -> int:
        return int(self.names.size)

    def objective(self, support: IndexArray) -> float:
        """Return the least objective on some units."""
        columns = self.units.features(support)
        return signed_ridge(
            self.Z, self.risk, self.units.signs[columns], columns=columns, tol=LEAF_TOL,
            of_value=True,
        ).objective  # fmt: skip

    def relax(
        self, chosen: IndexArray, n_fixed: int, n_free: int, options: RelaxationOptions
    ) -> Relaxed:
        """Solve the relaxation over some units, the fixed ones first: see `relaxation.relax`."""
        used, coef, b = options.start
        u = np.zeros(self.Z.shape[1])
        u[used] = coef
        columns = self.units.features(chosen)
        return relax(
            self.Z, self.units.take(chosen), self.risk, n_fixed, n_free, columns=columns,
            start=(u[columns], b), tol=options.tol, cutoff=options.cutoff,
            deadline=options.deadline, ahead=options.ahead, shared=self.shared, loose=self.loose,
        )  # fmt: skip

    def bound(
        self,
        dual: FloatArray,
        chosen: IndexArray,
        n_fixed: int,
        size: int,
        upper: float,
        scores: FloatArray | None = None,
    ) -> Bound:
        """Return what a dual point shows of the models of `size` of some units.

        n_fixed : how many of them, the first, are in all models. scores : those of their columns,
        where they are known.
        """
        Z, columns, units = self.Z, self.units.features(chosen), self.units.take(chosen)
        if scores is None:
            scores = some_of(Z, columns).dot(dual)
        if isinstance(Z, ColumnsInPlace) and Z.errors is not None:
            scores = safe_scores(
                scores, float(np.linalg.norm(dual)) * Z.errors[columns], units,
                units.features(largest(units.strength(scores), size)),
                lambda some: Z.take(columns[some]).dot(dual),
            )  # fmt: skip
        known = decided(self.risk, dual, scores, size, n_fixed, upper, units)
        if known is None:
            known = bound_at(self.risk, dual, scores, size, np.arange(n_fixed), upper, units)
        return known

    def relaxed_loosely(self, tight: float, objective: float) -> CandidateProblem:
        """Return the problem with loose relaxations, where bounds on coefficients change little.

        tight, objective : the bound of the relaxation over all units, and the best known model.
        """
        every, n_free = np.arange(self.n_units), min(self.budget, self.n_units) - self.n_forced
        columns = self.units.features(every)
        quick = n_free > 0 and is_compiled(self.Z, columns, self.units, self.risk)
        if self.units.most == np.inf or not quick:
            return self
        answer = relax(
            self.Z, self.units, self.risk, self.n_forced, n_free, tol=ROUGH,
            max_iter=RELAXATION_STEPS.max_newton,
            loose=True,
        )  # fmt: skip
        bound = self.bound(answer.dual, every, self.n_forced, self.budget, np.inf).value
        binds = tight - bound >= BINDING * (objective - bound)
        return self if binds else replace(self, loose=True)

    def with_shared_curvature(self) -> CandidateProblem:
        """Return the problem with one curvature for all relaxations, where that costs less.

        It is that of the start. Other losses than squares need more steps with it; these take less
        where there are so many rows that the curvature in many columns, which proximal steps move,
        takes longer than passes over all.
        """
        Z, risk, loss = self.Z, self.risk, self.risk.loss
        many = Z.shape[0] >= SHARED_CURVATURE.many_rows and not isinstance(Z, SparseColumns)
        near = many and self.units.most < np.inf and not self.loose
        if not (loss.separable and loss.outputs == 1 and (loss.quadratic or near)):
            return self
        used, coef, intercept = self.start
        margins = Z.take(used).times(coef) + intercept
        return replace(self, shared=SharedCurvature(Z, risk, margins))

    def improved(self, support: IndexArray) -> IndexArray:
        """Return where exchanges of single units lead from some."""
        single = isinstance(self.units, Singles)
        kind = Exchanges if single else GroupExchanges
        exchanges = kind(self.Z, self.risk, self.units, keep=np.arange(self.n_forced))
        first = exchanges.fit(np.sort(self.units.features(support)))
        found = exchanges.improve(first) if single else exchanges.splice(first)
        return np.sort(self.units.of(found.columns))


# The nodes of a search.


@dataclass(frozen=True, slots=True)
class Node:
    """Models with all of its fixed units and some of the free ones."""

    bound: float  # what `dual` shows, of its parent's models at least
    number: int  # in the tree
    units: IndexArray  # all of them, the fixed ones first
    n_fixed: int
    dual: FloatArray  # the dual point that the tree has for it: its parent's until it is examined
    # Columns of Z that are not 0 in the relaxation of the parent, their coefficients, intercept.
    start: Start

    def __lt__(self, other: Node) -> bool:
        """Order by bound; of equal ones the deeper comes first, then the later."""
        if self.bound != other.bound:  # a search asks some ten times for every node
            return self.bound < other.bound
        return (self.n_fixed, self.number) > (other.n_fixed, other.number)

    @property
    def fixed(self) -> IndexArray:
        """Return those of all of its models."""
        return self.units[: self.n_fixed]

    @property
    def free(self) -> IndexArray:
        """Return the others."""
        return self.units[self.n_fixed :]

    def numbers(self, Z: Columns) -> int:
        """Return how many numbers there are in as many columns as it has units, or one."""
        return max(1, int(Z.shape[0]) * self.units.size)

    def is_single(self, budget: int) -> bool:
        """Return whether one model is the best of it: that with all of its units."""
        return self.units.size <= budget

    def n_free(self, budget: int) -> int:
        """Return how many free units its models of so many units have."""
        return min(budget, self.units.size) - self.n_fixed


@dataclass(frozen=True, slots=True)
class NodeQuestion:
    """A node that is examined next, and what its search knows when it asks."""

    node: Node
    numbers: int  # in its columns
    most: int  # nodes of what comes of it
    level: float  # of the bounds of nodes that come next
    support: IndexArray  # units of the best known model
    objective: float  # of it
    target: float  # what a bound has to exceed


def parted(fixed: IndexArray, free: IndexArray) -> tuple[IndexArray, int]:
    """Return the units of a node, and how many of them are fixed."""
    return np.concatenate([fixed, free]), fixed.size


def half(
    fixed: IndexArray, free: IndexArray, unit: int, inside: bool, budget: int
) -> tuple[IndexArray, IndexArray] | None:
    """Return the fixed and free units of the models with one of them, or of those without.

    unit : -1 where it is no candidate. None: there are no such models.
    """
    if unit in fixed:
        return (fixed, free) if inside else None
    others = free[free != unit]
    if not inside:
        return fixed, others
    if others.size == free.size:
        return None
    fixed = np.append(fixed, unit)
    return fixed, others if fixed.size < budget else others[:0]


# A part of a branch and bound search by a kernel: features by themselves.

_Rows: TypeAlias = tuple[IndexArray, IndexArray]  # one after the other, and where each ends


@dataclass(frozen=True, slots=True)
class Subtree:
    """Nodes that a search has examined, the first one among them, and those that are open after."""

    # Of the nodes but the first, in the order of their numbers; -1: no unit, not examined.
    parent: IndexArray  # 0: the first one
    unit: IndexArray
    inside: np.ndarray
    row: IndexArray  # of `dual`; that of the first node is 0
    dual: FloatArray  # (n_examined, n)
    least: float  # a bound of what is ended and ruled out
    support: IndexArray  # a model, better than the best known one if any is; empty: none is known
    is_better: bool
    _starts: tuple[_Rows, FloatArray, FloatArray]  # of `dual`: columns not at 0, their coefficients
    _open: tuple[()] | tuple[FloatArray, IndexArray, IndexArray, IndexArray, _Rows]

    def open(self, first: int) -> Iterator[Node]:
        """Yield the open nodes, the second node having this number."""
        if not self._open:
            return
        (used, ends), coef, intercept = self._starts
        bounds, numbers, rows, fixed, (units, last) = self._open
        each = zip(bounds.tolist(), numbers.tolist(), rows.tolist(), fixed.tolist(), strict=True)
        for i, (bound, number, row, n_fixed) in enumerate(each):
            some = slice(ends[row - 1] if row else 0, ends[row])
            own = units[last[i - 1] if i else 0 : last[i]]
            start = used[some], coef[some], float(intercept[row])
            yield Node(bound, first + number - 1, own, n_fixed, self.dual[row], start)


def can_grow(problem: CandidateProblem) -> bool:
    """Return whether the kernel takes the nodes of a problem that are small enough."""
    plain = type(problem) is CandidateProblem and is_plain(problem.units, problem.risk)
    return plain and (problem.loose or not problem.units.bounded)


def grown(problem: CandidateProblem, asked: NodeQuestion) -> Subtree | None:
    """Examine a node, and what comes of it.

    None where the node is too large, or its relaxation needs other steps than the compiled ones.
    """
    node = asked.node
    if entries(problem.Z, node.units) > MOST_ENTRIES:
        return None
    risk = problem.risk
    used, coef, intercept = node.start
    found = _kernels.grow(
        stored(problem.Z), np.ascontiguousarray(risk.y),
        np.ascontiguousarray(risk.weight), risk.loss.kernel, risk.loss.kernel_parameters,
        risk.intercept, node.units, node.n_fixed, node.bound, node.dual, used, coef, intercept,
        asked.target, asked.objective, asked.support, problem.budget, asked.most,
        problem.units.most, asked.level,
        (NODE_TOL, LEAF_TOL, PROVEN, DECIDED),
        rule(RELAXATION_STEPS.max_newton, MOST_MOVED_GROWN),
    )  # fmt: skip
    if not found:
        return None
    tree, (duals, *starts), nodes, least, support, is_better = found
    parent, unit, inside, row = tree
    return Subtree(
        parent, unit, inside.view(bool), row, duals.reshape(-1, risk.size), least, support,
        is_better, tuple(starts), nodes,
    )  # fmt: skip


class GrowingTree:
    """A tree while it grows: see `zeronorm.core.results.Tree`, which says the same in arrays."""

    def __init__(self) -> None:
        """Begin without a node."""
        self.parent, self.feature = array("q"), array("q")
        self.inside, self.row = array("b"), array("q")
        self.n_duals = 0
        self._duals: list[tuple[int, FloatArray]] = []  # some rows each, and which is the first

    @classmethod
    def of(cls, tree: Tree) -> GrowingTree:
        """Go on from an earlier one."""
        record = cls()
        record._extend(tree.parent, tree.feature, tree.inside, tree.row)
        record._append(tree.dual.copy())
        return record

    def tree(self, n_samples: int) -> Tree:
        """Return it as it is."""
        dual = np.empty((self.n_duals, n_samples))

        def copy(part: tuple[int, FloatArray]) -> None:
            first, rows = part
            dual[first : first + len(rows)] = rows

        map_threads(copy, self._duals)
        return Tree(
            np.array(self.parent, np.int64),
            np.array(self.feature, np.int64),
            np.array(self.inside, bool),
            np.array(self.row, np.int64),
            dual,
        )

    @property
    def size(self) -> tuple[int, int]:
        """How many nodes it has, and how many dual points."""
        return len(self.parent), self.n_duals

    def children(self) -> dict[int, list[int]]:
        """Return those of every node that has any."""
        found: dict[int, list[int]] = {}
        for number, parent in enumerate(self.parent):
            found.setdefault(parent, []).append(number)
        return found

    def add(self, parent: int, feature: int, inside: bool) -> int:
        """Return the number of a new node, which a feature divides from its sibling.

        feature : by its name; -1: there is no sibling.
        """
        self.parent.append(parent)
        self.feature.append(feature)
        self.inside.append(inside)
        self.row.append(-1)
        return len(self.parent) - 1

    def dual(self, number: int) -> FloatArray | None:
        """Return the dual point of a node, None where it is not examined."""
        row = self.row[number]
        if row < 0:
            return None
        first, rows = self._duals[bisect_right(self._duals, row, key=itemgetter(0)) - 1]
        dual: FloatArray = rows[row - first]
        return dual

    def keep(self, number: int, dual: FloatArray) -> None:
        """Set the dual point of a node."""
        known = self.dual(number)
        if known is None:
            self.row[number] = self.n_duals
            self._append(dual[None])
        else:  # it was examined in an earlier search
            known[:] = dual

    def graft(self, number: int, subtree: Subtree, names: IndexArray) -> int:
        """Add what comes of a node, and return the number of the first node that is new.

        names : of the units.
        """
        first = len(self.parent)
        self.keep(number, subtree.dual[0])
        rows = self.n_duals - 1
        self._append(subtree.dual[1:])
        self._extend(
            np.where(subtree.parent > 0, first - 1 + subtree.parent, number),
            np.where(subtree.unit < 0, -1, names[subtree.unit]),
            subtree.inside,
            np.where(subtree.row < 0, -1, rows + subtree.row),
        )
        return first

    def cut(self, size: tuple[int, int]) -> None:
        """Take back what was added since it had this size."""
        n_nodes, self.n_duals = size
        for column in (self.parent, self.feature, self.inside, self.row):
            del column[n_nodes:]
        while self._duals and self._duals[-1][0] >= self.n_duals:
            self._duals.pop()
        for number, row in enumerate(self.row):
            if row >= self.n_duals:
                self.row[number] = -1

    def _extend(
        self, parent: IndexArray, feature: IndexArray, inside: np.ndarray, row: IndexArray
    ) -> None:
        for column, values in (
            (self.parent, parent), (self.feature, feature), (self.inside, inside), (self.row, row),
        ):  # fmt: skip
            column.frombytes(values.astype(column.typecode).tobytes())

    def _append(self, duals: FloatArray) -> None:
        if len(duals):
            self._duals.append((self.n_duals, duals))
            self.n_duals += len(duals)


@dataclass(frozen=True, slots=True)
class BranchingTuning:
    """Constants of the branch-and-bound search."""

    tree_bytes: int = 2**30  # of dual points
    report_seconds: float = 0.5
    at_once: int = 16  # nodes, whatever the number of threads
    # Nodes of what comes of one: a better model is of use to the next ones only.
    most_grown: int = 32
    # Numbers in the columns of nodes that are examined at once, unless these are two
    small: int = 1 << 22
    threaded: int = 1 << 18  # entries of the columns of a node from which on threads are of use
    exchanged: int = 2**23  # numbers in the candidates that exchanges on the way look at, at most


BRANCHING = BranchingTuning()
# Nodes come next whose bounds are in a strip: of what is missing to the target, of the objective.
STRIP, NARROW = 0.1, 0.005

Answer: TypeAlias = Subtree | Relaxed | None  # of a node: None where there was no time for it
_Question: TypeAlias = tuple[NodeQuestion, Callable[[], Answer]]


class BranchAndBound:
    """A search that can be stopped at any node and go on.

    The verifier has one dual point for each node, that of the tree, and decides by it alone. So
    does the search: a node is bounded, ended and divided by the dual point that is kept for it, and
    where that of its parent proves more, that one is kept. All models of a node are models of its
    parent, so a dual point proves at least as much of it. Hence the verifier, whose claim is at
    most the target of any decision, takes all decisions of the search: what it has left at a node
    is among the node's models.
    """

    def __init__(
        self,
        problem: CandidateProblem,
        support: IndexArray,
        gap: float,
        dual: FloatArray,
        bound: float,
        tree: Tree | None = None,
    ) -> None:
        """Begin with the best known support, units of the candidates.

        gap : the wanted one, relative.
        dual, bound : what has ruled out the units that are no candidates, and its bound.
        tree : of an earlier search for the same problem, to go on from, whatever its gap was.
        """
        # A little less than wanted, so that rounding leaves no more than that.
        self._grows = can_grow(problem)
        self.problem, self._gap = problem, max((1.0 - 1e-12) * gap, 0.5 * PROVEN)
        self.support = np.sort(support)
        self.objective = problem.objective(self.support)
        self._seen = {tuple(self.support.tolist())}
        # The bound of what is behind: of pruned nodes and of units that are ruled out.
        self._least = self.target
        root = np.arange(problem.n_units)
        self._open: list[Node] = []
        if tree is None:
            self._record = GrowingTree()
            self._record.keep(self._record.add(-1, -1, False), dual)  # all units
            number = self._record.add(0, -1, False)  # the candidates
            self._open = [Node(bound, number, root, problem.n_forced, dual, problem.start)]
        else:
            self._record = GrowingTree.of(tree)
            self._replay(Node(bound, 1, root, problem.n_forced, dual, problem.start))
        self.history: list[Progressed] = []
        self._seconds = 0.0  # of earlier runs
        self._deadline = np.inf  # of this one
        # The first question first, and the size of the record without any of them.
        self._begun: tuple[list[_Question], tuple[int, int]] = [], self._record.size

    @property
    def target(self) -> float:
        """What a bound has to exceed: the wanted gap below the best objective."""
        return self.objective - self._gap * abs(self.objective)

    @property
    def bound(self) -> float:
        return min(self._waiting(), self._least, self.objective)

    @property
    def n_nodes(self) -> int:
        return self._record.n_duals - 1

    def tree(self) -> Tree:
        return self._record.tree(self.problem.risk.weight.size)

    def run(
        self,
        time_limit: float,
        max_nodes: int | None = None,
        report: Callable[[Progressed], None] | None = None,
    ) -> Status:
        """Search until the wanted gap is proven, so many seconds or nodes at most.

        report : called with every row that is added to the history.
        """
        begin = time.perf_counter()
        self._deadline = begin + time_limit
        limit = BRANCHING.tree_bytes // (8 * self.problem.risk.weight.size)
        limit = limit if max_nodes is None else min(limit, max_nodes)
        reported = -np.inf

        def record() -> None:
            nonlocal reported
            reported = time.perf_counter()
            seconds = self._seconds + reported - begin
            target = self.target
            nodes = [*self._open, *(asked.node for asked, _ in self._begun[0])]
            n_open = sum(node.bound < target for node in nodes)
            row = Progressed(seconds, self.n_nodes, n_open, self.objective, self.bound)
            self.history.append(row)
            if report is not None:
                report(row)

        interrupted = False
        try:
            with waiting_threads(BRANCHING.at_once) as threads:
                while self._ask(threads, limit):
                    before = self.objective
                    asked, answer = self._begun[0][0]
                    self._take(asked.node, answer())
                    self._begun = self._begun[0][1:], self._record.size
                    if (
                        self.objective < before
                        or time.perf_counter() - reported >= BRANCHING.report_seconds
                    ):
                        record()
        except KeyboardInterrupt:
            interrupted = True
            self._reopen()
        try:
            record()
        except KeyboardInterrupt:
            interrupted = True
        self._seconds += time.perf_counter() - begin
        if self.bound >= self.target:  # an interrupt may come after the last node
            return Status.GAP
        if interrupted:
            return Status.INTERRUPTED
        if not self._waiting() < self.target:
            return Status.STALLED  # rounding leaves a larger gap
        return Status.NODE_LIMIT if self.n_nodes >= limit else Status.TIME_LIMIT

    def _replay(self, root: Node) -> None:
        """Rebuild the open nodes of an earlier search; nodes that it left too early are open again.

        root : node 1, the candidates. Decisions are made anew: the target may be another.
        """
        position = {name: unit for unit, name in enumerate(self.problem.names.tolist())}
        record = self._record
        record.keep(0, root.dual)
        children, waiting = record.children(), [root]
        while waiting:
            node = waiting.pop()
            dual = record.dual(node.number)
            if dual is None:
                self._open.append(node)
                continue
            known = self._best_known(node, dual)
            record.keep(node.number, known.dual)
            if known.value >= self.target:
                self._least = min(self._least, known.value)
            elif node.number not in children:
                self._open.append(replace(node, bound=known.value, dual=known.dual))
            else:
                fixed, free = self._decide(node, known)
                for number in children[node.number]:
                    name, inside = record.feature[number], bool(record.inside[number])
                    unit, most = position.get(name, -1), self.problem.budget
                    part = half(fixed, free, unit, inside, most)
                    left = part if name >= 0 else (fixed, free)
                    if left is not None and left[0].size <= most:
                        units = parted(*left)
                        waiting.append(Node(known.value, number, *units, known.dual, node.start))
        heapq.heapify(self._open)

    def _waiting(self) -> float:
        """Return the smallest bound of the nodes that are open or begun."""
        nodes = [*self._open[:1], *(asked.node for asked, _ in self._begun[0])]
        return min([node.bound for node in nodes], default=np.inf)

    def _ask(self, threads: Callable[..., Callable[[], Answer]], limit: int) -> bool:
        """Begin with open nodes that come next, of so many in all; return whether any is begun.

        One is begun at least, large ones by twos, and as many as are small together and near in
        their bounds where the kernel takes them.
        """
        begun, target, objective = self._begun[0], self.target, self.objective
        numbers = sum([asked.numbers for asked, _ in begun])
        left = limit - self.n_nodes - sum([asked.most for asked, _ in begun])
        least = self._waiting()
        level = least + max(STRIP * (target - least), NARROW * abs(objective))
        while (
            self._open
            and self._open[0].bound < target
            and left > 0
            and len(begun) < BRANCHING.at_once
        ):
            node, own = self._open[0], self._open[0].numbers(self.problem.Z)
            numbers, large = numbers + own, self._is_large(own)
            several = self._grows and numbers <= BRANCHING.small and node.bound <= level
            late = time.perf_counter() >= self._deadline
            if late or (begun and not (several or (large and len(begun) < 2))):
                break
            most = (
                max(1, min(BRANCHING.most_grown, BRANCHING.small // own, self.n_nodes, left))
                if self._grows
                else 1
            )
            asked = NodeQuestion(node, own, most, level, self.support, objective, target)
            begun.append((asked, (threads if large else at_last)(self._answered, asked)))
            heapq.heappop(self._open)
            left -= most
        return bool(begun)

    def _is_large(self, numbers: int) -> bool:
        """Return whether threads are of use: relaxations that share their curvature take turns."""
        return (self._grows or numbers >= BRANCHING.threaded) and self.problem.shared is None

    def _answered(self, asked: NodeQuestion) -> Answer:
        """Return what comes of a node, or its relaxation; None where there is no time for it."""
        if time.perf_counter() >= self._deadline:
            return None
        found = grown(self.problem, asked) if self._grows else None
        if found is not None:
            return found
        single = asked.node.is_single(self.problem.budget)
        return self._relax(asked.node, LEAF_TOL if single else NODE_TOL, asked.target)

    def _take(self, node: Node, answer: Answer) -> None:
        if answer is None:
            heapq.heappush(self._open, node)
        elif isinstance(answer, Relaxed):
            self._examine(node, answer)
        else:
            if answer.support.size:
                self._try(answer.support, len(answer.dual), promising=answer.is_better)
            first = self._record.graft(node.number, answer, self.problem.names)
            self._least = min(self._least, answer.least)
            for one in answer.open(first):
                heapq.heappush(self._open, one)

    def _examine(self, node: Node, answer: Relaxed) -> None:
        """Bound a node; divide it where that is not enough.

        answer : its relaxation.
        """
        single = node.is_single(self.problem.budget)
        known = self._rounded(node, answer)
        if not single and known.value < self.target and self._may_end(answer):
            answer = self._relax(node, LEAF_TOL, self.target)
            known = self._rounded(node, answer)
        self._record.keep(node.number, known.dual)
        if known.value >= self.target or self._ends(node, known, single):
            self._least = min(self._least, known.value)
            return
        self._divide(node, answer, known)

    def _rounded(self, node: Node, answer: Relaxed) -> Bound:
        """Return what is known of a node by its relaxation; where it may have a model, try one."""
        known = self._best_known(node, answer.dual, answer.scores)
        target = self.target
        if known.value < max(target, self.objective):
            self._round(node.units, node.n_fixed, answer)
        # A better model decides more.
        return known if self.target == target else self._best_known(node, known.dual)

    def _may_end(self, answer: Relaxed) -> bool:
        """Return whether a relaxation ends its node if its bound is sharp enough: it is a model."""
        return bool(np.all((answer.share == 0) | (answer.share == 1)))

    def _ends(self, node: Node, known: Bound, single: bool) -> bool:
        """Return whether a node need not be divided whatever its bound: it has one model."""
        return single

    def _reopen(self) -> None:
        """Take back what was begun: an interrupt can come between any two lines."""
        begun, size = self._begun
        if begun:
            self._record.cut(size)
            nodes = {asked.node.number: asked.node for asked, _ in begun}
            others = [one for one in self._open if one.number < size[0] and one.number not in nodes]
            self._open = [*nodes.values(), *others]
            heapq.heapify(self._open)
        self._begun = [], self._record.size

    def _relax(self, node: Node, tol: float, target: float) -> Relaxed:
        options = RelaxationOptions(node.start, tol, target, self._deadline, ahead=True)
        n_free = node.n_free(self.problem.budget)
        return self.problem.relax(node.units, node.n_fixed, n_free, options)

    def _best_known(self, node: Node, dual: FloatArray, scores: FloatArray | None = None) -> Bound:
        """Return what a dual point proves of a node, or its parent's if that proves more."""
        known = self._bound(node, dual, scores)
        if known.value < node.bound:
            inherited = self._bound(node, node.dual)
            known = inherited if inherited.value > known.value else known
        return known

    def _bound(self, node: Node, dual: FloatArray, scores: FloatArray | None = None) -> Bound:
        size = node.n_fixed + node.n_free(self.problem.budget)
        return self.problem.bound(dual, node.units, node.n_fixed, size, self.target, scores)

    def _round(self, chosen: IndexArray, n_fixed: int, answer: Relaxed) -> None:
        """Try the model of the largest coefficients."""
        problem = self.problem
        strength = problem.units.take(chosen).strength(answer.coef)
        strength[:n_fixed] = np.inf
        support = np.sort(chosen[largest(strength, min(problem.budget, chosen.size))])
        self._try(support, 1)

    def _try(self, support: IndexArray, n_nodes: int, promising: bool = True) -> None:
        """Try a model of the next so many nodes, which may be better if it is promising.

        Where it is better, and at nodes 1, 2, 4, 8, ... in any case, units of it are exchanged:
        from other supports exchanges lead elsewhere.
        """
        better, Z, now = promising and self._offer(support), self.problem.Z, self.n_nodes
        doubled = (now + n_nodes).bit_length() > now.bit_length()
        if Z.shape[0] * Z.shape[1] <= BRANCHING.exchanged and (better or doubled):
            self._offer(self.problem.improved(support))

    def _offer(self, support: IndexArray) -> bool:
        """Keep a support where it is better than the best one."""
        key = tuple(support.tolist())
        if key in self._seen:
            return False
        self._seen.add(key)
        objective = self.problem.objective(support)
        self._note(support, objective)
        if not objective < self.objective - PROVEN * abs(self.objective):
            return False
        self.support, self.objective = support, objective
        return True

    def _note(self, support: IndexArray, objective: float) -> None:
        """Hear of a support that is tried, each once: a search for the best one needs no others."""

    def _divide(self, node: Node, answer: Relaxed, known: Bound) -> None:
        """Add the nodes of what is left of a node."""
        fixed, free = self._decide(node, known)
        if fixed.size > self.problem.budget:
            return  # no model has them all: none is better
        used = np.flatnonzero(answer.coef)
        columns = self.problem.units.features(node.units)
        start = columns[used], answer.coef[used], answer.intercept
        if fixed.size + free.size <= self.problem.budget:
            number = self._record.add(node.number, -1, False)
            units = parted(fixed, free)
            heapq.heappush(self._open, Node(known.value, number, *units, known.dual, start))
            return
        left = np.flatnonzero(known.undecided[node.n_fixed :]) + node.n_fixed
        enough = self.target - known.value  # a bound that rises by more ends no more nodes
        into, out = np.minimum(answer.into, enough), np.minimum(answer.out, enough)
        rise = (into * out)[left]
        if not rise.any():  # all shares are 0 or 1
            rise = answer.share[left]
        unit = int(free[np.argmax(rise)])
        for inside in (True, False):
            part = half(fixed, free, unit, inside, self.problem.budget)
            assert part is not None
            number = self._record.add(node.number, int(self.problem.names[unit]), inside)
            units = parted(*part)
            heapq.heappush(self._open, Node(known.value, number, *units, known.dual, start))

    def _decide(self, node: Node, known: Bound) -> tuple[IndexArray, IndexArray]:
        """Return the fixed and the free units that are left after what a bound decides."""
        n_fixed = node.n_fixed
        left = known.undecided[n_fixed:]
        if not left.all():
            self._least = min(self._least, self.target)
        fixed = np.concatenate([node.fixed, node.free[known.fixed[n_fixed:]]])
        free = node.free[left]
        return fixed, free if fixed.size < self.problem.budget else free[:0]


# Branch and bound for all models whose objective is within a share of the best one.
#
# The tree is that of `BranchAndBound`, with another target: a node ends where its bound is above (1
# + within) times the best objective, not above that objective itself. Where at most one unit of a
# node is free, its models are tried one by one. The node of the smallest bound comes first, so that
# at any time all models below that bound are known.


class NearBest(BranchAndBound):
    """A search for the models near the best one, of so many at most those of least objective."""

    def __init__(
        self,
        problem: CandidateProblem,
        support: IndexArray,
        within: float,
        most: int,
        dual: FloatArray,
        bound: float,
    ) -> None:
        """Begin as `BranchAndBound` does.

        within : relative to the best objective.
        most : how many models are kept.
        """
        self._within, self._most = within, most
        # A heap, the largest objective first. There is one model more than are kept: its objective
        # says what those that are not kept are above.
        self._heap: list[tuple[float, tuple[int, ...]]] = []
        super().__init__(problem, support, 0.0, dual, bound)
        self._grows = False  # the kernel's subtrees tell of no models but the best
        self._note(self.support, self.objective)

    @property
    def limit(self) -> float:
        """The largest objective that is near; what rounding leaves of a tie is a tie."""
        return self.objective + (self._within + PROVEN) * abs(self.objective)

    @property
    def target(self) -> float:
        """What a bound has to exceed: more than the limit, so that rounding ends no node early."""
        limit = self.limit
        if len(self._heap) > self._most:
            limit = min(limit, -self._heap[0][0])
        return limit + PROVEN * abs(self.objective)

    @property
    def bound(self) -> float:
        """What the objectives of all models are above that are not found."""
        return min(self._waiting(), self.target)

    def models(self) -> tuple[IndexArray, FloatArray, float, bool]:
        """Return the models that are near, (n_models, k), their objectives, a bound of all others.

        The last item is whether there are more of them than are kept. The smallest objective comes
        first; of equal ones the first by their units.
        """
        best = min(-value for value, _ in self._heap)
        limit = best + (self._within + PROVEN) * abs(best)
        found = sorted((-value, key) for value, key in self._heap if -value <= limit)
        bound = self.bound
        many = len(found) > self._most
        if many:
            bound = min(bound, found[-1][0])
            del found[-1]
        supports = np.array([key for _, key in found], np.int64)
        return supports, np.array([value for value, _ in found]), bound, many

    def _may_end(self, answer: Relaxed) -> bool:
        """Return False: other models of the node may be near, too."""
        return False

    def _ends(self, node: Node, known: Bound, single: bool) -> bool:
        """Return whether all models of a node have been tried, which it is worth where few are."""
        fixed, free = self._decide(node, known)
        n_free = self.problem.budget - fixed.size
        if free.size == n_free:
            self._offer(np.sort(np.concatenate([fixed, free])))
        elif n_free == 1:
            for unit in free:
                self._offer(np.sort(np.append(fixed, unit)))
        return n_free <= 1 or free.size <= n_free

    def _note(self, support: IndexArray, objective: float) -> None:
        """Keep a model that is near, and forget the worst of too many."""
        if support.size != self.problem.budget or objective > self.limit:
            return
        key = -objective, tuple(support.tolist())
        push = heapq.heappush if len(self._heap) <= self._most else heapq.heappushpop
        push(self._heap, key)
