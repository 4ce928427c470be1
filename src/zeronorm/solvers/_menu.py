"""Procedures that select exactly k features, by name: what a user or `tune` chooses from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..result import Path
from ._drive import Solver
from ._greedy import greedy
from ._l0 import select_l0
from ._select import select, select_l1, select_nested
from ._task import Task


@dataclass(frozen=True, slots=True)
class Procedure:
    """A method with its C."""

    method: str  # "pool", "nested" (with blocks of k/10), "l1", "reweighted-l1", "greedy" or "l0"
    C: float  # of the selection where it has one, and of the certificate


MENU = (
    Procedure("pool", 0.1),
    Procedure("pool", 0.01),
    Procedure("pool", 1.0),
    Procedure("l1", 0.1),
    Procedure("nested", 10.0),
)


def follow(
    procedure: Procedure,
    task: Task,
    sizes: Sequence[int],
    *,
    refit_C: float | str = "loo",
    tol: float = 1e-3,
    certify: bool = True,
    seconds: dict[str, float] | None = None,
) -> Solver[Path]:
    """Select by a procedure.

    tol : of the minimax family; the others have their own.
    """
    C = procedure.C
    if procedure.method == "pool":
        return select(task, sizes, C=C, refit_C=refit_C, tol=tol, certify=certify, seconds=seconds)
    if procedure.method == "nested":
        return select_nested(
            task, sizes, C=C, max_blocks=10, refit_C=refit_C, tol=tol, certify=certify,
            seconds=seconds,
        )  # fmt: skip
    if procedure.method == "greedy":
        return greedy(task, sizes, C=C, refit_C=refit_C, certify=certify, seconds=seconds)
    if procedure.method == "l0":
        return select_l0(task, sizes, C=C, refit_C=refit_C, certify=certify, seconds=seconds)
    return select_l1(
        task, sizes, C=C, refit_C=refit_C, reweighted=procedure.method == "reweighted-l1",
        certify=certify, seconds=seconds,
    )  # fmt: skip
