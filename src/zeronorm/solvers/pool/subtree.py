"""A part of a branch and bound search by a kernel: features by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ... import _kernels
from ...core.types import FloatArray, IndexArray
from .bounds import DECIDED
from .candidates import LEAF_TOL, Candidates
from .compiled_relaxation import MOST_ENTRIES, MOST_MOVED_GROWN, entries, is_plain, rule, stored
from .nodes import NODE_TOL, PROVEN, Asked, Node
from .relaxation_steps import RELAXATION_STEPS

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


def can_grow(problem: Candidates) -> bool:
    """Return whether the kernel takes the nodes of a problem that are small enough."""
    plain = type(problem) is Candidates and is_plain(problem.units, problem.risk)
    return plain and (problem.loose or not problem.units.bounded)


def grown(problem: Candidates, asked: Asked) -> Subtree | None:
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
