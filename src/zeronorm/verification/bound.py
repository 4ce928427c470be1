"""The bound of a dual point, and of a tree of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.results import Certificate, Tree
from ..core.types import FloatArray, IndexArray
from .data import Data
from .extraction import Extraction, Shifted
from .form import CertificateError
from .minorant import Curvature

MOST_WAITING = 1 << 27  # The nodes that wait for their turn have so many features in all.


@dataclass(frozen=True, slots=True)
class Node:
    """What a dual point shows of the models with all fixed units and some of the free ones."""

    bound: float
    rounding: float
    square: FloatArray  # of the free units, or what a bound on coefficients makes of it
    top: np.ndarray  # the free units in the best set
    last: float  # the smallest square in it
    following: float  # the largest square outside of it

    def short_of(self, claim: float) -> float:
        """Return by how much the bound is below a claim: infinity where rounding is less."""
        if self.bound >= claim:
            return 0.0
        wrong = claim - self.bound
        return wrong if wrong <= self.rounding else np.inf

    def outside(self) -> FloatArray:
        """Return a bound of the models with each free unit; -inf of the best set, which tells none.

        A unit whose bound is above an objective is in no model as good as that.
        """
        return np.where(self.top, -np.inf, self.bound + 0.5 * (self.last - self.square))

    def inside(self) -> FloatArray:
        """Return a bound of the models without each free unit; -inf outside of the best set.

        A unit whose bound is above an objective is in all models as good as that.
        """
        return np.where(self.top, self.bound + 0.5 * (self.square - self.following), -np.inf)


class Units:
    """What the budget counts: features, or groups of them."""

    def __init__(self, data: Data, certificate: Certificate) -> None:
        m, groups = data.usable.size, certificate.groups
        self._data, self._grouped = data, groups is not None
        self.code = np.arange(m) if groups is None else groups.code
        self._n_units = int(self.code.max(initial=-1)) + 1
        self.most = certificate.max_abs_coef
        self.budget = certificate.support.size
        if certificate.n_groups is not None:
            self.budget = int(certificate.n_groups)
        self.fixed: IndexArray = np.unique(self.code[certificate.forced])
        self.free: IndexArray = np.setdiff1d(self.code[data.usable], self.fixed)

    def features(self, units: IndexArray) -> IndexArray:
        """Return the features of some units, in their order where each is one feature."""
        if not self._grouped:
            return units
        chosen = np.zeros(self._n_units, bool)
        chosen[units] = True
        return np.flatnonzero(chosen[self.code])

    def node(
        self,
        dual: FloatArray,
        fixed: IndexArray,
        free: IndexArray,
        extraction: Extraction | Curvature | None = None,
    ) -> Node:
        """Return what a feasible dual point shows, with D where it covers the units.

        Of a minorant the loss itself may show more.
        """
        if extraction is None or not extraction.covers(np.concatenate([fixed, free])):
            return self._shown(dual, fixed, free, None)
        node = self._shown(dual, fixed, free, extraction.at(dual))
        if isinstance(extraction, Extraction):
            return node
        plain = self._shown(dual, fixed, free, None)
        return node if node.bound > plain.bound else plain

    def _shown(
        self, dual: FloatArray, fixed: IndexArray, free: IndexArray, shifted: Shifted | None
    ) -> Node:
        chosen = np.concatenate([fixed, free])
        if shifted is not None:
            dual = shifted.dual
        square, wrong = self._squares(dual, chosen, shifted)
        into, square = float(square[: fixed.size].sum()), square[fixed.size :]
        q = min(self.budget - fixed.size, free.size)
        order = np.argsort(-square, kind="stable")
        top = np.isin(np.arange(free.size), order[:q])
        conjugate, wrong_conjugate = self._data.conjugate(dual)
        bound = -conjugate - 0.5 * (into + float(square[order[:q]].sum()))
        most = np.sort(wrong[fixed.size :])[free.size - q :]
        rounding = 0.5 * float(wrong[: fixed.size].sum() + most.sum())
        rounding += wrong_conjugate
        if shifted is not None:
            bound, rounding = bound + shifted.value, rounding + shifted.rounding
        last = float(square[order[q - 1]]) if q else np.inf
        following = float(square[order[q]]) if q < free.size else 0.0
        return Node(bound, rounding, square, top, last, following)

    def _squares(
        self, dual: FloatArray, units: IndexArray, shifted: Shifted | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return c_j^2 of units, summed in groups, and what rounding can have changed of it.

        shifted : with D, the scores are c_j + D_j u0_j, and the squares are divided by 1 + D_j.
        """
        data = self._data
        own = self.features(units)
        error, score = data.errors(dual, own), data.scores(dual, own)
        ridge: Any = 1.0
        if shifted is not None:
            score, error = score + shifted.shift[own], error + shifted.spread[own]
            ridge = 1.0 + shifted.part[own]
        each = score**2
        if self.most is not None:
            # Among |u| <= M, u c - u^2 / 2 is M |c| - M^2 / 2 at most where |c| > M. That grows
            # less than the square does, so that what rounding may have changed is no more.
            larger = each > self.most * self.most  # which may be infinite
            each[larger] = self.most * (2.0 * np.abs(score[larger]) - self.most)
        square = each.sum(axis=1) / ridge
        wrong = (error * (2.0 * np.abs(score) + error)).sum(axis=1) / ridge
        # A score that is no number may be any: its feature is in the best set then.
        square, wrong = (np.where(np.isnan(one), np.inf, one) for one in (square, wrong))
        if not self._grouped:
            return square, wrong
        code = self.code[own]
        sums = [np.bincount(code, values, self._n_units)[units] for values in (square, wrong)]
        return sums[0].astype(np.float64), sums[1].astype(np.float64)


def replay(
    data: Data, tree: Tree, units: Units, claim: float, extraction: Extraction | Curvature | None
) -> tuple[float, float, int, float]:
    """Return the bound, its rounding, the number of nodes below the root and what is left short.

    The bound is at least the claim where nothing is left short by rounding.

    extraction : D, for all nodes but the root.

    Raises CertificateError where a model may be below the claim.
    """
    children: dict[int, list[int]] = {}
    for number, parent in enumerate(tree.parent.tolist()):
        children.setdefault(parent, []).append(number)
    shown, rounding, short, n_nodes, n_waiting = np.inf, 0.0, 0.0, -1, 0
    waiting = [(0, units.fixed, units.free, np.empty(0), 0.0)]
    while waiting:
        number, fixed, free, dual, doubt = waiting.pop()
        n_nodes, n_waiting = n_nodes + 1, n_waiting - free.size
        if tree.row[number] >= 0:
            dual = data.feasible(tree.dual[tree.row[number]])
        node = units.node(dual, fixed, free, extraction if number else None)
        rounding = max(rounding, node.rounding)
        if node.bound >= claim:
            shown = min(shown, node.bound)
            continue
        # Where rounding may end a node, so it may have ended one of its units in the search.
        missing = node.short_of(claim)
        doubt = max(doubt, missing if missing < np.inf else 0.0)
        below = children.get(number, [])
        if not below and doubt > 0.0:
            short = max(short, doubt)
            continue
        if not below:
            raise CertificateError(
                f"the certificate claims the bound {claim!r}; node {number} of its tree shows only "
                f"{node.bound!r}."
            )
        of_models = np.maximum(node.inside(), node.outside())  # that this node need not look at
        decided = of_models > claim
        shown = min(shown, float(of_models[decided].min(initial=np.inf)))
        fixed, free = np.append(fixed, free[decided & node.top]), free[~decided]
        if fixed.size > units.budget:
            continue  # no model has them all
        if fixed.size == units.budget:
            free = free[:0]
        branch = tree.feature[below]
        whole = branch.size == 1 and branch[0] == -1
        halves = branch.size == 2 and branch[0] == branch[1] and tree.inside[below].sum() == 1
        if not whole and not halves:
            raise CertificateError(f"node {number} of the tree is divided with a rest.")
        n_before = len(waiting)
        if not number:
            data.X.hold(units.features(np.append(fixed, free)))
        for child in below:
            feature, inside = tree.feature[child], tree.inside[child]
            others = free[free != feature]
            if whole or (inside and feature in fixed):
                waiting.append((child, fixed, free, dual, doubt))
            elif inside and feature in free:
                waiting.append((child, np.append(fixed, feature), others, dual, doubt))
            elif not inside and feature not in fixed:
                waiting.append((child, fixed, others, dual, doubt))
        n_waiting += sum(left[2].size for left in waiting[n_before:])
        if n_waiting > MOST_WAITING:
            raise CertificateError("the tree of the certificate is too deep to be replayed.")
    return shown, rounding, n_nodes, short
