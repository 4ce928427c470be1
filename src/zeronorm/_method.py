"""What every method of selection is; `methods` has them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ._typing import FloatArray, IndexArray, Smooth
    from .result import Path
    from .solvers import Request, Task
    from .solvers.drive import Solver


@dataclass(frozen=True)
class Method(ABC):
    """What finds the features; the final fit and the certificate do not depend on it."""

    name: ClassVar[str]
    sentence: ClassVar[str]  # what it does; {k} and {groups} stand for the budgets
    # What the command calls the moment at which a feature entered, and what that counts.
    entered: ClassVar[tuple[str, str]] = ("", "")
    budgets: ClassVar[tuple[str, ...]] = ("features",)  # "features", "groups" or "both"
    tol: ClassVar[float] = 1e-3  # unless the user gives one, as refit_C
    refit_C: ClassVar[float | str | None] = "loo"  # None: the solution itself is the model
    rules: ClassVar[dict[str, str]] = {}  # what `zeronorm.validate` checks of an option
    shares: ClassVar[bool] = True  # whether several outputs may share their features
    starts_warm: ClassVar[bool] = True  # whether it can begin with the features of another fit
    adjusts: ClassVar[bool] = True  # whether there may be covariates
    penalises: ClassVar[bool] = True  # whether C has a part in what is selected

    def default_weight(self, loss: str) -> float:
        """Return the weight of a loss where the user gives none.

        Of a quantile few rows have a curvature.
        """
        return 1.0 if loss == "quantile" else 0.1

    def check(self, loss: Smooth, fit_intercept: bool) -> None:
        """Raise ValueError where an option breaks a rule that no data are needed for."""
        from . import validate

        for name, rule in self.rules.items():
            getattr(validate, f"check_{rule}")(name, getattr(self, name))

    def keeps_signs(self) -> bool:
        """Return whether coefficients may be asked to have signs."""
        return False

    def unbudgeted(self) -> str:
        """Return the option by which the method decides how large a model is; "": the budget does.

        Such a method begins anew at every fit.
        """
        return ""

    def most(self, n_units: int, n_forced: int) -> int:
        """Return how many features, or groups, a model has at most where the method decides.

        n_units, n_forced : the usable ones, and those that are forced.
        """
        raise NotImplementedError

    def check_weight(self, weight: FloatArray) -> None:  # noqa: B027
        """Raise ValueError where a constant of the method is too large for these weights."""

    @abstractmethod
    def select(self, task: Task, sizes: Sequence[Any], request: Request) -> Solver[Path]:
        """Return the generator of scans that selects for a task."""

    def blame(self) -> tuple[str, str]:
        """Return what has failed where a problem is left unsolved, and what helps."""
        return "The solver", "A smaller C helps."

    def doubts(self, paths: Sequence[Path], size: Any, C: float, tol: float) -> Iterator[Warning]:
        """Return the warnings that a fit gives: its paths, and the size of its model."""
        from .estimators import _doubts

        return _doubts.open_gaps(paths, tol, *self.blame())

    def start(self, paths: Sequence[Path]) -> list[list[IndexArray]]:
        """Return what a fit after these paths begins with: lists of features for each path."""
        return [[step.entered for step in path.history] for path in paths]
