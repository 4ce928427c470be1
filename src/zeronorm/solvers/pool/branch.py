"""Branch and bound for the l0 problem on gathered candidates.

A node has units, features or groups of them, that are fixed in and units that are free. The
relaxation over them (`pool.relaxation`) gives a dual point: its bound ends the node where no model
of it can be better than wanted, and else rules out and fixes units (`pool.bounds`). What is left is
divided by the free unit that raises the bounds of both halves most, as far as that is of use, to
second order (`pool.quadratic`). The nodes of the smallest bounds come first, two at a time, whose
relaxations two threads solve; rounded relaxations, with exchanges, give better models on the way.

Source: Bertsimas, King and Mazumder, Annals of Statistics 44(2), 2016 (the l0 problem as one for
branch and bound); Atamturk and Gomez, ICML 2020 (safe screening of its variables).
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..._threads import one_by_one, waiting_threads
from ..._typing import FloatArray, IndexArray
from ...ordering import largest
from ...result import Progressed, Status, Tree
from .bounds import Bound
from .candidates import LEAF_TOL, Candidates
from .nodes import Node, half, parted
from .relaxed import Relaxed

PROVEN = 1e-9  # relative gap that counts as none
NODE_TOL = 1e-4
TREE_BYTES = 2**30  # of dual points
REPORT_SECONDS = 0.5
AT_ONCE = 2  # nodes, whatever the number of threads: the tree is the same
THREADED = 1 << 18  # entries of the columns of a node from which on threads are of use
EXCHANGED = 2**23  # numbers in the candidates that exchanges on the way look at, at most


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
        problem: Candidates,
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
        self._problem, self._gap = problem, max((1.0 - 1e-12) * gap, 0.5 * PROVEN)
        self.support = np.sort(support)
        self.objective = problem.objective(self.support)
        self._seen = {tuple(self.support.tolist())}
        # The bound of what is behind: of pruned nodes and of units that are ruled out.
        self._least = self.target
        self._parent: list[int] = []
        self._feature: list[int] = []  # by its name
        self._inside: list[bool] = []
        self._row: list[int] = []
        self._dual: list[FloatArray] = []
        root = np.arange(problem.n_units)
        nothing = np.empty(0, np.int64), np.empty(0), 0.0
        self._open: list[Node] = []
        if tree is None:
            self._row[self._number(-1, -1, False)] = 0  # all units
            self._dual.append(dual)
            number = self._number(0, -1, False)  # the candidates
            self._open = [Node(bound, number, root, problem.n_forced, dual, nothing)]
        else:
            self._replay(tree, Node(bound, 1, root, problem.n_forced, dual, nothing))
        self.history: list[Progressed] = []
        self._seconds = 0.0  # of earlier runs
        self._deadline = np.inf  # of this one

    @property
    def problem(self) -> Candidates:
        """What it is a search of."""
        return self._problem

    @property
    def target(self) -> float:
        """What a bound has to exceed: the wanted gap below the best objective."""
        return self.objective - self._gap * abs(self.objective)

    @property
    def bound(self) -> float:
        """The bound proven so far."""
        waiting = self._open[0].bound if self._open else np.inf
        return min(waiting, self._least, self.objective)

    @property
    def n_nodes(self) -> int:
        """The number of examined nodes."""
        return len(self._dual) - 1

    def tree(self) -> Tree:
        """Return the tree so far."""
        return Tree(
            np.array(self._parent, np.int64),
            np.array(self._feature, np.int64),
            np.array(self._inside, bool),
            np.array(self._row, np.int64),
            np.array(self._dual).reshape(len(self._dual), self._problem.risk.weight.size),
        )

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
        limit = TREE_BYTES // (8 * self._problem.risk.weight.size)
        limit = limit if max_nodes is None else min(limit, max_nodes)
        reported = -np.inf

        def record() -> None:
            nonlocal reported
            reported = time.perf_counter()
            seconds = self._seconds + reported - begin
            row = Progressed(seconds, self.n_nodes, len(self._open), self.objective, self.bound)
            self.history.append(row)
            if report is not None:
                report(row)

        status = Status.GAP
        begun: tuple[list[Node], int, int] = [], 0, 0  # what `_reopen` takes back
        try:
            with waiting_threads(AT_ONCE) as each:
                while self._open and self._open[0].bound < self.target:
                    if self.n_nodes >= limit:
                        status = Status.NODE_LIMIT
                        break
                    if time.perf_counter() >= self._deadline:
                        status = Status.TIME_LIMIT
                        break
                    before = self.objective
                    nodes = self._first(limit - self.n_nodes)
                    begun = nodes, len(self._parent), len(self._dual)
                    answers = (each if self._are_large(nodes) else one_by_one)(self._relaxed, nodes)
                    for _ in nodes:
                        heapq.heappop(self._open)
                    for place, node in enumerate(nodes):
                        begun = nodes[place:], len(self._parent), len(self._dual)
                        self._examine(node, answers[place])
                    begun = [], 0, 0
                    if self.objective < before or time.perf_counter() - reported >= REPORT_SECONDS:
                        record()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
            self._reopen(*begun)
        try:
            record()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        self._seconds += time.perf_counter() - begin
        if self.bound >= self.target:  # an interrupt may come after the last node
            return Status.GAP
        return Status.STALLED if status is Status.GAP else status  # rounding leaves a larger gap

    def _replay(self, tree: Tree, root: Node) -> None:
        """Rebuild the open nodes of an earlier search; nodes that it left too early are open again.

        root : node 1, the candidates. Decisions are made anew: the target may be another.
        """
        position = {name: unit for unit, name in enumerate(self._problem.names.tolist())}
        self._parent, self._feature = tree.parent.tolist(), tree.feature.tolist()
        self._inside, self._row = tree.inside.tolist(), tree.row.tolist()
        self._dual = list(tree.dual)
        self._dual[self._row[0]] = root.dual
        children: dict[int, list[int]] = {}
        for number, parent in enumerate(self._parent):
            children.setdefault(parent, []).append(number)
        waiting = [root]
        while waiting:
            node = waiting.pop()
            row = self._row[node.number]
            if row < 0:
                self._open.append(node)
                continue
            known = self._best_known(node, self._dual[row])
            self._dual[row] = known.dual
            if known.value >= self.target:
                self._least = min(self._least, known.value)
            elif node.number not in children:
                self._open.append(replace(node, bound=known.value, dual=known.dual))
            else:
                fixed, free = self._decide(node, known)
                for number in children[node.number]:
                    name, inside = self._feature[number], self._inside[number]
                    unit, most = position.get(name, -1), self._problem.budget
                    part = half(fixed, free, unit, inside, most)
                    left = part if name >= 0 else (fixed, free)
                    if left is not None and left[0].size <= most:
                        units = parted(*left)
                        waiting.append(Node(known.value, number, *units, known.dual, node.start))
        heapq.heapify(self._open)

    def _number(self, parent: int, unit: int, inside: bool) -> int:
        """Return the number of a new node of the tree, which a unit divides from its sibling.

        unit : -1: there is no sibling.
        """
        self._parent.append(parent)
        self._feature.append(int(self._problem.names[unit]) if unit >= 0 else -1)
        self._inside.append(inside)
        self._row.append(-1)
        return len(self._parent) - 1

    def _first(self, most: int) -> list[Node]:
        """Return the open nodes that come next, which stay open, so many at most."""
        if most < AT_ONCE or len(self._open) < AT_ONCE:
            return self._open[:1]
        second = min(self._open[1:3])
        return [self._open[0], second] if second.bound < self.target else self._open[:1]

    def _are_large(self, nodes: list[Node]) -> bool:
        """Return whether threads are of use: relaxations that share their curvature take turns."""
        n, shared = self._problem.Z.shape[0], self._problem.shared
        return shared is None and all(n * node.units.size >= THREADED for node in nodes)

    def _is_single(self, node: Node) -> bool:
        """Return whether one model is the best of a node: that with all of its units."""
        return node.units.size <= self._problem.budget

    def _relaxed(self, node: Node) -> Relaxed:
        """Return the solution of the relaxation of a node."""
        return self._relax(node, LEAF_TOL if self._is_single(node) else NODE_TOL)

    def _examine(self, node: Node, answer: Relaxed) -> None:
        """Bound a node; divide it where that is not enough.

        answer : its relaxation.
        """
        single = self._is_single(node)
        known = self._rounded(node, answer)
        if not single and known.value < self.target and self._may_end(answer):
            answer = self._relax(node, LEAF_TOL)
            known = self._rounded(node, answer)
        if self._row[node.number] < 0:
            self._row[node.number] = len(self._dual)
            self._dual.append(known.dual)
        else:  # it was examined in an earlier search
            self._dual[self._row[node.number]] = known.dual
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

    def _reopen(self, nodes: list[Node], n_known: int, n_duals: int) -> None:
        """Take back what was begun of some nodes: an interrupt can come between any two lines.

        n_known, n_duals : nodes of the tree, and dual points, before.
        """
        if not nodes:
            return
        for column in (self._parent, self._feature, self._inside, self._row):
            del column[n_known:]
        del self._dual[n_duals:]
        numbers = {node.number for node in nodes}
        for number in numbers:
            if self._row[number] >= n_duals:
                self._row[number] = -1
        others = [one for one in self._open if one.number < n_known and one.number not in numbers]
        self._open = [*nodes, *others]
        heapq.heapify(self._open)

    def _relax(self, node: Node, tol: float) -> Relaxed:
        return self._problem.relax(
            node.units, node.n_fixed, node.n_free(self._problem.budget),
            start=node.start, tol=tol, cutoff=self.target, deadline=self._deadline, ahead=True,
        )  # fmt: skip

    def _best_known(self, node: Node, dual: FloatArray, scores: FloatArray | None = None) -> Bound:
        """Return what a dual point proves of a node, or its parent's if that proves more."""
        known = self._bound(node, dual, scores)
        if known.value < node.bound:
            inherited = self._bound(node, node.dual)
            known = inherited if inherited.value > known.value else known
        return known

    def _bound(self, node: Node, dual: FloatArray, scores: FloatArray | None = None) -> Bound:
        chosen = node.units
        size = node.n_fixed + node.n_free(self._problem.budget)
        return self._problem.bound(dual, chosen, node.n_fixed, size, self.target, scores)

    def _round(self, chosen: IndexArray, n_fixed: int, answer: Relaxed) -> None:
        """Try the model of the largest coefficients.

        Where it is better, and at nodes 1, 2, 4, 8, ... in any case, units of it are exchanged:
        from other supports exchanges lead elsewhere.
        """
        problem = self._problem
        strength = problem.units.take(chosen).strength(answer.coef)
        strength[:n_fixed] = np.inf
        support = np.sort(chosen[largest(strength, min(problem.budget, chosen.size))])
        better = self._offer(support)
        n, now = problem.Z.shape[0] * problem.Z.shape[1], self.n_nodes
        if n <= EXCHANGED and (better or not now & (now - 1)):
            self._offer(problem.improved(support))

    def _offer(self, support: IndexArray) -> bool:
        """Keep a support where it is better than the best one."""
        key = tuple(support.tolist())
        if key in self._seen:
            return False
        self._seen.add(key)
        objective = self._problem.objective(support)
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
        if fixed.size > self._problem.budget:
            return  # no model has them all: none is better
        used = np.flatnonzero(answer.coef)
        columns = self._problem.units.features(node.units)
        start = columns[used], answer.coef[used], answer.intercept
        if fixed.size + free.size <= self._problem.budget:
            number = self._number(node.number, -1, False)
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
            part = half(fixed, free, unit, inside, self._problem.budget)
            assert part is not None
            number = self._number(node.number, unit, inside)
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
        return fixed, free if fixed.size < self._problem.budget else free[:0]
