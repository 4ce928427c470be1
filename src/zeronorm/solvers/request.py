"""What every selection is asked for, whatever its method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..core.results import Progressed
from ..core.types import IndexArray
from .kept import Ending, Kept

LATER = "later"  # refit_C of models of which only the supports are wanted


@dataclass(frozen=True, slots=True)
class Request:
    """Weights, tolerance and the ends of a selection."""

    # Weight of the summed loss: in the selection, unless the method has its own, and in the
    # certificate.
    C: float = 0.1
    # That of the final fit; None: the solution is the model; LATER: there is none, and coefficients
    # are 0.
    refit_C: float | str | None = "loo"
    tol: float = 1e-3  # to which problems are solved; each method says how it is counted
    certify: bool = True  # whether the models get certificates: a scan more
    start: Sequence[IndexArray] = ()  # features of an earlier fit, in lists as they entered
    report: Callable[[Progressed], None] | None = None  # told where a proof stands
    seconds: dict[str, float] | None = None  # filled with the seconds of each phase
    kept: Kept | None = None  # told which sizes are finished, for an interrupt
    method: str = ""  # as of `Path.method`

    def keep(self, finished: Callable[[], Iterable[int]], ending: Ending) -> None:
        """Say which sizes are finished, and how they become a path."""
        if self.kept is not None:
            self.kept.add(finished, ending)
