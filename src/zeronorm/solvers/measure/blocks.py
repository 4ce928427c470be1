"""The blocks of features of the outer layer: which come next, and what they bound."""

from __future__ import annotations

import numpy as np

from ...core.ranking import largest
from ...core.types import FloatArray, IndexArray
from ...data.columns import gather
from ...data.operations import offsets, score_errors
from ...data.wrappers import IN_MEMORY, feature_blocks
from ..minimax.cutting_plane import fit_budget, unseen
from .task import MeasureTask

CLOSE = 1e-9  # of the largest score: how far the scores of scans of float64 may be off


def dual_bound(delta: float, worst: float) -> float:
    """Return max_s s delta - s^2 worst over 0 <= s <= 1: any share of a dual point is one."""
    if delta <= 0.0:
        return 0.0
    s = min(1.0, delta / (2.0 * worst)) if worst > 0.0 else 1.0
    return s * delta - s * s * worst


class Blocks:
    """The features that are seen, and which come next."""

    def __init__(
        self,
        task: MeasureTask,
        n_features: int,
        block_size: int,
    ) -> None:
        self._forced = task.data.forced
        self._allowed = task.data.usable.copy()
        self._allowed[self._forced] = False
        self._n_allowed = int(self._allowed.sum())
        self._n_features = n_features
        self._design = task.data.design
        self._block_size = block_size
        self._seen = np.zeros(self._allowed.size, bool)
        self.n_seen = 0
        # Norms follow from means and scales only where these are of the standard deviations.
        scaled = task.data.scaling != "none"
        weight = task.data.sample_weight if scaled else None
        self._errors = score_errors(task.data.design, weight)

    @property
    def full(self) -> bool:
        """Whether there are as many features as there shall be."""
        return self.n_seen >= self._n_features

    @property
    def width(self) -> int:
        """The features of a block, forced ones in."""
        return self._block_size + self._forced.size

    def mass(self, scores: FloatArray, vector: FloatArray, size: int) -> float:
        """Return half the largest sum of squared scores of so many features, forced ones in.

        Scores are raised by what rounding may have taken from them.
        """
        if self._errors is not None:
            scores = np.abs(scores) + self._errors * np.linalg.norm(vector)
        square = scores**2
        forced = float(square[self._forced].sum())
        square[~self._allowed] = -1.0
        best = largest(square, min(max(0, size - self._forced.size), self._n_allowed))
        return 0.5 * (forced + float(square[best].sum()))

    def _sum_again(self, magnitude: FloatArray, vector: FloatArray) -> None:
        """Put scores from gathered columns in place of those that may decide about a block.

        Those of a scan depend on the storage of X, in their last bits or, summed in float32, in
        more: ties and the order of features must not.
        """
        reach = min(self._block_size + self.n_seen, self._n_allowed)
        if reach == 0:
            return
        last = float(np.partition(magnitude, magnitude.size - reach)[magnitude.size - reach])
        error = np.full(magnitude.size, CLOSE * float(magnitude.max()))
        if self._errors is not None:
            error += self._errors * np.linalg.norm(vector)
        lowest = last - float(error[magnitude >= last].max())
        decisive = np.flatnonzero(self._allowed & (magnitude + error >= lowest))
        for features in feature_blocks(decisive, self._design.shape[0], IN_MEMORY):
            # One product for each column: those of a matrix depend on the columns beside it.
            products = gather(self._design, features).dot_each(vector)
            products -= float(vector.sum()) * offsets(self._design, features)
            magnitude[features] = np.abs(products)

    def of_budget(
        self, scores: FloatArray, vector: FloatArray
    ) -> tuple[IndexArray, IndexArray] | None:
        """Return the new features of the next block, best first, and the block, under the budget.

        None: there are no more features.
        """
        magnitude, block = self._most_violated(scores, vector)
        missing = self._n_features - self.n_seen
        block = fit_budget(block, magnitude, self._seen, self._block_size, missing, self._forced)
        new = self._enter(block, magnitude)
        return (new, np.sort(block)) if new.size else None

    def most_violated(
        self, scores: FloatArray, vector: FloatArray
    ) -> tuple[IndexArray, IndexArray]:
        """Return the new features of the most violated block, best first, and the block."""
        magnitude, block = self._most_violated(scores, vector)
        return self._enter(block, magnitude), np.sort(block)

    def _most_violated(
        self, scores: FloatArray, vector: FloatArray
    ) -> tuple[FloatArray, IndexArray]:
        """Return what features count by, -1 where by nothing, and the block: forced ones first."""
        magnitude = np.abs(scores)
        magnitude[~self._allowed] = -1.0
        self._sum_again(magnitude, vector)
        best = largest(magnitude, min(self._block_size, self._n_allowed))
        return magnitude, np.concatenate([self._forced, best])

    def _enter(self, block: IndexArray, magnitude: FloatArray) -> IndexArray:
        """Take note of the features of a block; return those that were not seen before."""
        new = unseen(block, self._seen, magnitude)
        self._seen[new] = True
        self.n_seen += new.size
        return new
