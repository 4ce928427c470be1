"""One binary problem of selection for a measure: what both layers of its solver start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.types import FloatArray
from ...measures import Cut, Measure
from ..task import Task
from .cuts import average_by_class


@dataclass(frozen=True, slots=True)
class MeasureRequest:
    """How the two layers are to select.

    block_size : B; by default a tenth of the size, of several a tenth of the smallest, but at least
        a thirtieth of the largest.
    max_blocks : the most blocks; it yields to the sizes.
    tol : certified gap of the final models (with `published`, of all problems), relative to the
        objective of the model without features.
    refit : whether the final model is the solution over the selected features as one block, or that
        of the problem over the generated blocks.
    published : whether by the published method.
    """

    block_size: int | None = None
    max_blocks: int | None = None
    tol: float = 1e-3
    refit: bool = True
    published: bool = False

    def block_of(self, sizes: Sequence[int]) -> int:
        """Return the number of features of a block for models of these sizes, growing."""
        if self.block_size is not None:
            return self.block_size
        if sizes[0] < sizes[-1] and self.max_blocks is None:
            return max(-(-sizes[0] // 10), -(-sizes[-1] // 30))
        return -(-sizes[-1] // (10 if self.max_blocks is None else self.max_blocks))


@dataclass(frozen=True, slots=True)
class MeasureTask:
    """One binary problem: the data of a `Task` and the measure with its weight C."""

    data: Task
    measure: Measure
    C: float

    @property
    def intercept(self) -> bool:
        """Whether b is free."""
        return self.data.intercept and self.measure.intercept == "free"

    @property
    def weight(self) -> FloatArray | None:
        """The sample weights, where the measure has them and they differ from 1."""
        weight = self.data.sample_weight
        return weight if self.measure.weighted and np.any(weight != 1.0) else None

    def cut(self, z: FloatArray) -> Cut:
        """Return the cut that is tight at scores z."""
        return self.measure.cut(z, self.data.y, self.weight)

    def constant_cuts(self) -> list[Cut]:
        """Return the cuts of an intercept of +-infinity, where it is free."""
        if not self.intercept:
            return []
        return self.measure.constant_cuts(self.data.y, self.weight)

    def without_features(self) -> tuple[float, float]:
        """Return the best intercept of the model without features, and its objective.

        R along constant scores is convex and piecewise linear: the crossing of two cuts is the next
        b.
        """
        n = self.data.y.size

        def line(b: float) -> tuple[float, float]:
            cut = self.cut(np.full(n, b))
            return cut.at(np.full(n, b)), -float(cut.beta.sum())

        if not self.intercept:
            return 0.0, self.C * max(0.0, line(0.0)[0])
        # Value at 0 and slope of the two outermost lines.
        rising, falling = sorted(
            ((cut.delta, -float(cut.beta.sum())) for cut in self.constant_cuts()),
            key=lambda found: -found[1],
        )
        best, answer = np.inf, 0.0
        for _ in range(50):
            b = (falling[0] - rising[0]) / (rising[1] - falling[1])
            value, slope = line(b)
            if value < best:
                best, answer = value, b
            if value <= rising[0] + rising[1] * b + 1e-9 * abs(value):
                break
            if slope >= 0.0:
                rising = (value - slope * b, slope)
            else:
                falling = (value - slope * b, slope)
        return answer, self.C * max(0.0, best)

    def first_vector(self) -> tuple[FloatArray, float]:
        """Return the vector of the first scan, and its delta: sum_k alpha_k (beta_k, delta_k)."""
        y = self.data.y
        if self.intercept:
            # The mixture of the two constant labellings with sum(beta) = 0.
            one, other = self.constant_cuts()
            up, down = float(one.beta.sum()), float(other.beta.sum())
            share = down / (down - up)
            vector = share * one.beta + (1.0 - share) * other.beta
            return self.C * vector, self.C * (share * one.delta + (1.0 - share) * other.delta)
        cut = self.cut(np.zeros(y.size))
        beta = average_by_class(cut.beta, y, self.weight)
        return self.C * beta, self.C * cut.delta
