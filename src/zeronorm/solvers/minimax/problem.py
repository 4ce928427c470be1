"""The inner problem of the minimax family: what its solvers are given, and what they return.

Over the generated blocks S_1..S_T with membership matrix E,

    min_{lambda in simplex} min_{u, b}  1/2 sum_j u_j^2 / (E lambda)_j + sum_i s_i f(y_i, z_i'u + b)

with s the sample weights times C. It equals loss + 1/2 (sum_t ||v_t||)^2, one vector v_t per block
with u = sum_t v_t, and is jointly convex in (u, b, lambda). The dual problem is

    max_v  -conjugate(v) - max_t 1/2 ||c_{S_t}||^2,    c = Z'v,

with sum_i v_i = 0 where b is free. Any v, on its best scale, gives a lower bound.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ...core.results import Status
from ...core.types import Columns, FloatArray
from ..risk import Risk


@dataclass(frozen=True, slots=True)
class Blocks:
    """The inner problem: gathered columns, their membership in blocks, labels and weights."""

    Z: Columns  # (n, p)
    membership: FloatArray  # (p, T) 0/1
    risk: Risk
    scale: float  # objective of the model without features: gaps are relative to it


@dataclass(frozen=True, slots=True)
class State:
    """A point of the inner problem: where a solver starts."""

    coef: FloatArray  # (p,) u
    intercept: float
    block_weight: FloatArray  # (T,) lambda


@dataclass(frozen=True, slots=True)
class Iterate:
    """One row of the history of an inner solver: the best values up to an iteration."""

    objective: float
    bound: float
    seconds: float  # since the start of the solver
    extra: Mapping[str, float] = field(default_factory=dict)  # by name, for example q


@dataclass(frozen=True, slots=True)
class Inner:
    """The answer of an inner solver, with its certificate."""

    state: State
    dual: FloatArray  # (n,) dual point, the vector of the next scan
    objective: float  # at the state
    bound: float
    n_iter: int
    status: Status  # CONVERGED, STALLED or MAX_ITER
    history: tuple[Iterate, ...]


class InnerSolver(Protocol):
    """Solve the problem over the generated blocks to a relative certified gap."""

    def __call__(self, blocks: Blocks, state: State, tol: float) -> Inner:
        """Return a point with objective - bound <= tol * blocks.scale, or say why not."""


@dataclass(frozen=True, slots=True)
class Point:
    """The value of a primal point, and the dual point that its margins give."""

    intercept: float  # optimal for the margins where it is free
    objective: float
    dual: FloatArray  # (n,) v
    scores: FloatArray  # (p,) Z'v
    bound: float


def assess(
    blocks: Blocks, coef: FloatArray, block_weight: FloatArray, z: FloatArray, start: float
) -> Point:
    """Return the value of (coef, block_weight), given z = Z coef, and its certificate.

    start : where the search for a free intercept begins.
    """
    b, value, gradient = blocks.risk.best(z, start)
    dual = blocks.risk.dual_point(gradient)
    scores = blocks.Z.dot(dual)
    objective = value + penalty(coef, blocks.membership @ block_weight)
    return Point(b, objective, dual, scores, bound_of(blocks, dual, scores))


def bound_of(blocks: Blocks, dual: FloatArray, scores: FloatArray) -> float:
    """Return the lower bound that v proves, on its best scale; scores = Z'v."""
    worst = 0.5 * float((blocks.membership.T @ scores**2).max(initial=0.0))
    return blocks.risk.bound(dual, worst)[0]


def penalty(u: FloatArray, d: FloatArray) -> float:
    """Return 1/2 sum_j u_j^2 / d_j, with 0/0 = 0."""
    used = u != 0
    if not np.all(d[used] > 0):
        return np.inf
    return 0.5 * float((u[used] ** 2 / d[used]).sum())


class Recorder:
    """Keeps the best objective and bound of a run, and its history.

    objective : that of the start, where the first row of the history is not of the start itself.
    """

    def __init__(self, blocks: Blocks, tol: float, objective: float = np.inf) -> None:
        self._begin = time.perf_counter()
        self._scale = blocks.scale
        self._tol = tol
        self.objective = objective
        self.bound = -np.inf
        self.history: list[Iterate] = []

    @property
    def gap(self) -> float:
        """(objective - bound) / scale."""
        return (self.objective - self.bound) / self._scale

    @property
    def converged(self) -> bool:
        """Whether the gap is at most the tolerance."""
        return self.gap <= self._tol

    def add(self, objective: float, bound: float, **extra: float) -> None:
        """Add an iteration."""
        self.objective = min(self.objective, objective)
        self.bound = max(self.bound, bound)
        seconds = time.perf_counter() - self._begin
        self.history.append(Iterate(self.objective, self.bound, seconds, extra))

    def answer(self, state: State, dual: FloatArray, status: Status) -> Inner:
        """Return the answer; the state has the best objective, or one equal to rounding."""
        return Inner(
            state,
            dual,
            self.objective,
            self.bound,
            len(self.history) - 1,
            status,
            tuple(self.history),
        )
