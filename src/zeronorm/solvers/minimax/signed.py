"""The inner problem of the minimax family where coefficients have signs.

An active set around any inner solver: columns whose coefficients come out with a wrong sign leave
the problem, and those whose scores show that they would lower the objective join it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.results import Status
from ..signs import admitted
from . import Blocks, Inner, InnerSolver, State

MOST_JOINS = 5  # after which columns only leave: the dual point bounds the problem all the same


def solve_signed(
    inner: InnerSolver, blocks: Blocks, signs: np.ndarray, state: State, tol: float
) -> Inner:
    """Solve the problem over blocks with sigma_j u_j >= 0 as `inner` does one without signs.

    signs : (p,) sigma, 0 for any.
    """
    Z, membership, risk = blocks.Z, blocks.membership, blocks.risk
    free, n_joins, n_iter = np.ones(signs.size, bool), 0, 0
    while True:
        some = np.flatnonzero(free)
        if not some.size:
            scale, dual, b = risk.first()
            alone = replace(state, coef=np.zeros(signs.size), intercept=b)
            answer = Inner(alone, dual, scale, scale, 0, Status.CONVERGED, ())
        else:
            part = replace(blocks, Z=Z.take(some), membership=membership[some])
            answer = inner(part, replace(state, coef=state.coef[some]), tol)
        coef = np.zeros(signs.size)
        coef[some] = answer.state.coef[: some.size]
        right = admitted(coef, signs)
        state = replace(answer.state, coef=right)
        n_iter += answer.n_iter
        wrong = right != coef
        if wrong.any():
            free &= ~wrong
            continue
        scores = admitted(Z.dot(answer.dual), signs)
        largest = float((membership.T @ scores**2).max(initial=0.0))
        bound = risk.bound(answer.dual, 0.5 * largest)[0]
        joining = ~free & (scores != 0)
        solved = answer.objective - bound <= tol * blocks.scale
        if solved or n_joins == MOST_JOINS or not joining.any():
            return replace(answer, state=state, bound=bound, n_iter=n_iter)
        free |= joining
        n_joins += 1
