"""What of the curvature of a loss bounds can take into the ridge: that of squares, or of labels."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ...core.results import Tree
from ..pool.candidates import Candidates
from ..pool.curved import Curved
from ..pool.extraction import Squares


@dataclass(frozen=True, slots=True)
class ProofCurvatureTuning:
    """Constants, each with what it was measured for."""

    first_nodes: int = 25  # of a search before curvature is extracted
    rows_a_node: int = (
        64  # of the logistic loss one more for so many rows: its curvature takes longer
    )
    quick: float = 0.45  # of the gap: where these nodes close as much, more of them do better
    seconds: float = 3e-9  # that the curvature takes, for rows times rows times features: about
    share: float = 0.5  # of the time that is left, which it may take


PROOF_CURVATURE = ProofCurvatureTuning()


def nodes_before(problem: Candidates) -> int | None:
    """Return how many nodes a search has before it takes curvature; None: it never does.

    The nodes of several outputs are slow without it.
    """
    if Squares.can_pose(problem):
        return PROOF_CURVATURE.first_nodes if problem.risk.loss.outputs == 1 else 0
    if Curved.can_pose(problem):
        return PROOF_CURVATURE.first_nodes + problem.risk.size // PROOF_CURVATURE.rows_a_node
    return None


def with_curvature(
    problem: Candidates,
    bound: float,
    objective: float,
    *,
    so_far: float,
    upper: float,
    deadline: float,
) -> Candidates | None:
    """Return a problem with a part of its curvature in the ridge, None where that is not worth it.

    bound : of the relaxation without it.
    objective : of the best known model.
    so_far : the bound of the search without it.
    upper : models that are in question have an objective of so much at most.
    deadline : of `time.perf_counter`.
    """
    if Curved.can_pose(problem):
        seconds = PROOF_CURVATURE.seconds * problem.risk.size**2 * problem.n_units
        late = seconds > PROOF_CURVATURE.share * (deadline - time.perf_counter())
        if late or so_far - bound > PROOF_CURVATURE.quick * (objective - bound):
            return None
        return Curved.of(problem, bound, objective, upper, deadline)
    squares = Squares.of(problem)
    return squares and squares.extracted(bound, objective, deadline)


def noted(tree: Tree, problem: Candidates, m: int) -> Tree:
    """Return a tree with a note of the curvature that its bounds take; m: the features of X."""
    if isinstance(problem, Curved):
        return replace(tree, minorants=problem.minorants)
    if not problem.diagonal.any():
        return tree
    diagonal = np.zeros(m)
    diagonal[problem.names] = problem.diagonal
    return replace(tree, diagonal=diagonal)
