"""Random experiments: forward selection among features and dummies, until enough dummies entered.

All experiments share their steps until a dummy enters one of them; what they ask of X is answered
for all of them in one pass a step. Of every model two numbers a feature are kept, in float32: the
product with the residual, and what of the squared norm the model leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..core.parallel import map_threads
from ..core.types import Design, FloatArray, IndexArray
from ..data.operations import memory
from .competition import EXPLAINED, SPANNED, residuals
from .dummies import Dummies

BYTES = 8  # of a feature in a model
BUSY = 1 << 18  # products that keep several threads busy


@dataclass(eq=False)
class Experiment:
    """What entered a model: features in order, and how many of them before each dummy."""

    dummies: Dummies
    features: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def before_dummy(self, number: int) -> list[int]:
        """Return the features that entered before a dummy; the first one has number 1."""
        return self.features[: self.ends[number - 1]] if number <= len(self.ends) else self.features


@dataclass(eq=False)
class _Model:
    """A model, and the experiments that have it."""

    members: list[Experiment]
    residual: FloatArray  # (n,) of norm 1
    free: FloatArray | None  # (n, r) an orthonormal basis of what is in every model; None: of 1
    columns: FloatArray  # (n, m) an orthonormal basis of what entered
    scores: NDArray[np.float32]  # (p,) x_j' residual, of columns of norm 1
    left: NDArray[np.float32]  # (p,) the squared norm of what x_j has beside the model
    past: list[tuple[float, float]]  # of every step the best |t| of a feature, and what entered
    unexplained: float = 1.0  # the share of the variance of the target
    is_full: bool = False  # whether nothing is left to explain, or nothing to explain it with
    best: float = 0.0  # |t| of the best feature
    feature: int = -1
    entered: tuple[FloatArray, float] | None = None  # what the next pass has to be told

    def apart(self, member: Experiment) -> _Model:
        """Return the same model for one experiment alone."""
        return _Model(
            [member], self.residual, self.free, self.columns, self.scores.copy(),
            self.left.copy(), list(self.past), self.unexplained, best=self.best,
        )  # fmt: skip

    @property
    def dimension(self) -> int:
        """What of the space of the rows is beside the model."""
        n_free = 1 if self.free is None else self.free.shape[1]
        return int(self.residual.size - n_free - self.columns.shape[1])

    def enter(self, column: FloatArray, t: float) -> None:
        """Let a column enter: of norm 1, orthogonal to the model, t its product with `residual`."""
        for member in self.members:
            member.dummies.follow(t, self.dimension)
        self.past.append((self.best, t))
        self.unexplained *= 1.0 - t * t
        self.is_full = self.unexplained < EXPLAINED
        self.residual = self.residual - t * column
        self.residual /= max(np.linalg.norm(self.residual), np.finfo(float).tiny)
        self.columns = np.column_stack([self.columns, column])
        self.entered = column, t

    def enter_feature(self, column: FloatArray) -> None:
        """Let the best feature enter."""
        column = self._beside(column)
        t = float(np.clip(column @ self.residual, -1.0, 1.0))
        for member in self.members:
            member.features.append(self.feature)
        self.enter(column if t >= 0 else -column, abs(t))

    def enter_dummy(self, t: float) -> None:
        """Let a dummy of a partial correlation enter; the rest of its direction is drawn."""
        (member,) = self.members
        member.ends.append(len(member.features))
        across = self._beside(member.dummies.rng.standard_normal(self.residual.size))
        across -= self.residual * (self.residual @ across)
        across /= np.linalg.norm(across)
        self.enter(abs(t) * self.residual + np.sqrt(1.0 - t * t) * across, abs(t))

    def update(self, products: FloatArray, start: int) -> None:
        """Take the products of some features, from `start` on, with what entered."""
        own = slice(start, start + products.size)
        scores, left, new = self.scores[own], self.left[own], products.astype(np.float32)
        if self.past and self.entered is not None:
            t = self.entered[1]
            scores -= np.float32(t) * new
            scores /= np.float32(np.sqrt(1.0 - t * t))
            left -= new * new
        else:
            scores[:] = new
        inside = left > SPANNED
        partial = np.where(inside, np.abs(scores) / np.sqrt(np.where(inside, left, 1.0)), 0.0)
        place = int(np.argmax(partial))
        if partial[place] > self.best:
            self.best, self.feature = min(float(partial[place]), 1.0), start + place

    def _beside(self, column: FloatArray) -> FloatArray:
        """Return what a column has beside the model, of norm 1."""
        for _ in range(2):  # the second time takes away the rounding of the first
            column = residuals(self.free, column)
            column = column - self.columns @ (self.columns.T @ column)
        return np.asarray(column / np.linalg.norm(column))


class Experiments:
    """Random experiments on the same data.

    Parameters
    ----------
    design : of standardised columns.
    left : (p,) the share of each squared norm that is beside `free`; 0: no candidate.
    y : (n,) the target, beside `free` if that is given, else not constant.
    dummies : those of every experiment.
    n_steps : how many columns may enter a model.
    free : (n, r) an orthonormal basis of what is in every model; None: of the constant.
    """

    def __init__(
        self,
        design: Design,
        left: np.ndarray,
        y: FloatArray,
        dummies: Sequence[Dummies],
        n_steps: int,
        free: FloatArray | None = None,
    ) -> None:
        n, p = design.shape
        _check_room(p, len(dummies))
        self._design, self._n_steps = design, n_steps
        self.all = [Experiment(one) for one in dummies]
        self.n_passes = 0
        residual = residuals(free, y)
        residual /= np.linalg.norm(residual)
        first = _Model(
            list(self.all), residual, free, np.empty((n, 0)), np.zeros(p, np.float32),
            left.astype(np.float32), [],
        )  # fmt: skip
        first.entered = residual, 0.0
        self._models = [first]

    def run(self, n_dummies: int) -> bool:
        """Go on until so many dummies have entered; return whether they have in all experiments."""
        while models := [one for one in self._models if self._goes_on(one, n_dummies)]:
            self._scan(models)
            self._models += [new for model in models for new in self._step(model)]
            self._models = [one for one in self._models if one.members]
        return all(len(one.ends) >= n_dummies for one in self.all)

    def votes(self, n_dummies: int) -> tuple[IndexArray, IndexArray]:
        """Return the features that entered before so many dummies, and in how many experiments."""
        entered = [one.before_dummy(n_dummies) for one in self.all]
        return np.unique(
            np.concatenate([np.array(one, np.int64) for one in entered]), return_counts=True
        )

    def _goes_on(self, model: _Model, n_dummies: int) -> bool:
        short = any(len(one.ends) < n_dummies for one in model.members)
        return short and not model.is_full and model.columns.shape[1] < self._n_steps

    def _scan(self, models: list[_Model]) -> None:
        """Tell models what entered them, in one pass over X, and find their best features."""
        self.n_passes += 1
        n, p = self._design.shape
        asked = [one for one in models if one.entered is not None]
        vectors = np.column_stack([one.entered[0] for one in asked if one.entered]) / np.sqrt(n)
        for one in asked:
            one.best, one.feature = 0.0, -1
        for start in range(0, p, self._design.block):
            stop = min(start + self._design.block, p)
            products = self._design.correlate(vectors, start, stop)

            def update(place: int, found: FloatArray = products, first: int = start) -> None:
                asked[place].update(found[:, place], first)

            map_threads(update, range(len(asked)), None if products.size > BUSY else 1)
        for one in asked:
            one.entered = None

    def _step(self, model: _Model) -> list[_Model]:
        """Let the best of all enter; return the models of experiments that leave this one."""
        stay, leave = [], []
        for member in model.members:
            t = member.dummies.enter(model.best, model.past, model.dimension)
            if t is None:
                stay.append(member)
            else:
                own = model.apart(member)
                own.enter_dummy(t)
                leave.append(own)
        model.members = stay
        if stay and model.feature < 0:
            model.is_full = True
        elif stay:
            found = self._design.gather(np.array([model.feature]))
            column = found if isinstance(found, np.ndarray) else found.toarray()
            model.enter_feature(column[:, 0])
        return leave


def _check_room(n_features: int, n_experiments: int) -> None:
    """Raise ValueError where the models of all experiments exceed the memory of this machine."""
    needed = BYTES * n_features * n_experiments
    if needed > memory():
        raise ValueError(
            f"n_experiments must be smaller: the models of {n_experiments} experiments on "
            f"{n_features:,} features take {needed / 2**30:.3g} GiB, and this machine has "
            f"{memory() / 2**30:.3g} GiB."
        )
