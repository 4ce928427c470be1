"""The tree of a branch and bound search while it grows: see `pool.branch`."""

from __future__ import annotations

import numpy as np

from ..._typing import FloatArray, IndexArray
from ...result import Tree
from .subtree import Subtree


class Record:
    """A tree while it grows: see `zeronorm.result.Tree`, which says the same in arrays."""

    def __init__(self) -> None:
        """Begin without a node."""
        self.parent: list[int] = []
        self.feature: list[int] = []
        self.inside: list[bool] = []
        self.row: list[int] = []
        self.dual: list[FloatArray] = []

    @classmethod
    def of(cls, tree: Tree) -> Record:
        """Go on from an earlier one."""
        record = cls()
        record.parent, record.feature = tree.parent.tolist(), tree.feature.tolist()
        record.inside, record.row = tree.inside.tolist(), tree.row.tolist()
        record.dual = list(tree.dual)
        return record

    def tree(self, n_samples: int) -> Tree:
        """Return it as it is."""
        return Tree(
            np.array(self.parent, np.int64),
            np.array(self.feature, np.int64),
            np.array(self.inside, bool),
            np.array(self.row, np.int64),
            np.array(self.dual).reshape(len(self.dual), n_samples),
        )

    @property
    def size(self) -> tuple[int, int]:
        """How many nodes it has, and how many dual points."""
        return len(self.parent), len(self.dual)

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

    def keep(self, number: int, dual: FloatArray) -> None:
        """Set the dual point of a node."""
        if self.row[number] < 0:
            self.row[number] = len(self.dual)
            self.dual.append(dual)
        else:  # it was examined in an earlier search
            self.dual[self.row[number]] = dual

    def graft(self, number: int, subtree: Subtree, names: IndexArray) -> int:
        """Add what comes of a node, and return the number of the first node that is new.

        names : of the units.
        """
        first = len(self.parent)
        self.keep(number, subtree.dual[0])
        rows = len(self.dual) - 1
        self.dual.extend(subtree.dual[1:])
        self.parent += np.where(subtree.parent > 0, first - 1 + subtree.parent, number).tolist()
        self.feature += np.where(subtree.unit < 0, -1, names[subtree.unit]).tolist()
        self.inside += subtree.inside.tolist()
        self.row += np.where(subtree.row < 0, -1, rows + subtree.row).tolist()
        return first

    def cut(self, size: tuple[int, int]) -> None:
        """Take back what was added since it had this size."""
        n_nodes, n_duals = size
        for column in (self.parent, self.feature, self.inside, self.row):
            del column[n_nodes:]
        del self.dual[n_duals:]
        self.row = [row if row < n_duals else -1 for row in self.row]
