"""The tree of a branch and bound search while it grows: see `pool.branch`."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from operator import itemgetter

import numpy as np

from ...core.parallel import map_threads
from ...core.results import Tree
from ...core.types import FloatArray, IndexArray
from .subtree import Subtree


class Record:
    """A tree while it grows: see `zeronorm.core.results.Tree`, which says the same in arrays."""

    def __init__(self) -> None:
        """Begin without a node."""
        self.parent, self.feature = array("q"), array("q")
        self.inside, self.row = array("b"), array("q")
        self.n_duals = 0
        self._duals: list[tuple[int, FloatArray]] = []  # some rows each, and which is the first

    @classmethod
    def of(cls, tree: Tree) -> Record:
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
        """Add nodes."""
        for column, values in (
            (self.parent, parent), (self.feature, feature), (self.inside, inside), (self.row, row),
        ):  # fmt: skip
            column.frombytes(values.astype(column.typecode).tobytes())

    def _append(self, duals: FloatArray) -> None:
        """Add dual points."""
        if len(duals):
            self._duals.append((self.n_duals, duals))
            self.n_duals += len(duals)
