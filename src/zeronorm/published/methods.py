"""Methods of selection with the published solvers among their options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ..core import validation as validate
from ..core.errors import Message, Parameter, ParameterError
from ..core.results import Path, Status
from ..core.types import IndexArray, Smooth
from ..methods import L0, Minimax
from ..solvers import CuttingPlane, SelectionRequest, Task, select_nested
from ..solvers.driver import Solver
from ..solvers.l0 import SOLVERS
from .solvers import (
    INNER_SOLVERS,
    Splitting,
    check_supported,
    select_by_splitting,
    select_union,
)
from .solvers.splitting import METHODS

# Parameters of `BudgetClassifier` that no paper has, with the values that they have then.
UNPUBLISHED: dict[str, Any] = dict.fromkeys(
    ("method", "signs", "forced_groups", "covariates", "criterion", "checkpoint")
)


@dataclass(frozen=True)
class MinimaxBy(Minimax):
    """The minimax cutting plane with one of several solvers of the problem over its blocks.

    Parameters
    ----------
    block_size, max_blocks
        As in `methods.Minimax`.
    solver : str
        "newton", that of `methods.Minimax`; "fista", "simplemkl", "smoothing" or
        "smoothing-published", to reproduce and to compare.
    union : bool
        Whether the model is the union of `max_blocks` blocks of `block_size` features (groups),
        whatever its size: the published loop. There is no budget then: n_features and n_groups are
        None. Fewer blocks where the problem over all features is solved to `tol` before.
    """

    rules = Minimax.rules | {"union": "flag"}

    solver: str = "newton"
    union: bool = False

    def check(self, loss: Smooth, fit_intercept: bool) -> None:
        """Raise ValueError where an option breaks a rule."""
        super().check(loss, fit_intercept)
        validate.check_option("solver", self.solver, list(INNER_SOLVERS))
        if self.union and self.block_size is None:
            raise ParameterError(
                "block_size",
                "must be a number with union=True, that of the features or groups of a block",
                "None",
            )
        if self.solver.startswith("smoothing"):
            check_supported(self.solver, loss, fit_intercept)

    def unbudgeted(self) -> str:
        """Return the option by which the blocks decide how large a model is."""
        return "union=True" if self.union else ""

    def most(self, n_units: int, n_forced: int) -> int:
        """Return how many features, or groups, the union may have."""
        assert self.block_size is not None  # or check has refused it
        if self.block_size > n_units:
            raise ParameterError(
                "block_size",
                Message(
                    f"must be at most {n_units}, the features (groups) of ",
                    Parameter("X"),
                    " that are not constant",
                ),
                f"{self.block_size}",
            )
        if self.max_blocks is None:
            return n_units
        return min(n_units, n_forced + self.block_size * self.max_blocks)

    def select(self, task: Task, sizes: Sequence[Any], request: SelectionRequest) -> Solver[Path]:
        """Return the generator of scans."""
        r, T, inner = self.block_size, self.max_blocks, INNER_SOLVERS[self.solver]
        if self.union and r is not None:
            options = CuttingPlane(r, T, inner, inner_tol=request.tol, tol=request.tol)
            return select_union(task, sizes[-1], request, options)
        return select_nested(task, sizes, request, block_size=r, max_blocks=T, inner=inner)

    def blame(self) -> tuple[str, str]:
        """Return what has failed, and what helps."""
        newton = self.solver == "newton"
        return f"solver={self.solver!r}", (
            "A smaller C helps." if newton else "Use solver='newton'."
        )


@dataclass(frozen=True)
class L0By(L0):
    """`methods.L0`, or the splitting augmented Lagrangian methods in its place.

    Parameters
    ----------
    gap, time_limit
        As in `methods.L0`.
    solver : str or Splitting
        One of `methods.L0`; "salm", "asalm", or a `Splitting` with their options. These see columns
        in memory only: of more than 10^7 numbers the strongest. Of several classes they keep rows
        of coefficients, of groups all of each.
    """

    solver: Any = "auto"

    def _check_solver(self) -> None:
        if not isinstance(self.solver, Splitting):
            validate.check_option("solver", self.solver, [*SOLVERS, *METHODS])

    def keeps_signs(self) -> bool:
        """Return True of exchanges."""
        return self._splitting is None and super().keeps_signs()

    @property
    def _splitting(self) -> Splitting | None:
        """The options of SALM or ASALM; None for the other solvers."""
        return Splitting.of(self.solver)

    def select(self, task: Task, sizes: Sequence[Any], request: SelectionRequest) -> Solver[Path]:
        """Return the generator of scans."""
        options = self._splitting
        if options is None:
            return super().select(task, sizes, request)
        return select_by_splitting(task, sizes, request, options, self._goal())

    def start(self, paths: Sequence[Path]) -> list[list[IndexArray]]:
        """Return the candidates of a fit; SALM and ASALM begin at its models."""
        if self._splitting is None:
            return super().start(paths)
        return [[path[k].support for k in path] for path in paths]

    def doubts(self, paths: Sequence[Path], size: Any, C: float, tol: float) -> Iterator[Warning]:
        """Return the warnings that a fit gives."""
        yield from super().doubts(paths, size, C, tol)
        if self._splitting is not None:
            yield from _doubts(self._splitting, paths)


def _doubts(options: Splitting, paths: Sequence[Path]) -> Iterator[Warning]:
    """Return the warnings that SALM or ASALM saw some features only, or did not converge."""
    ends: list[tuple[int, Any]] = [  # the last iterations, with their numbers in the history
        (number, step)
        for path in paths
        for number, step in enumerate(path.history, start=1)
        if "primal" in step.extra and step.status is not None
    ]
    seen = min((step.extra["columns"] for _, step in ends), default=0.0)
    usable = max((step.extra["usable"] for _, step in ends), default=0.0)
    if seen < usable:
        yield UserWarning(
            f"solver={options.method!r} holds its columns in memory: of {usable:.0f} features it "
            f"saw the {seen:.0f} with the largest |X'(y - mean)|. Use solver='auto', which sees "
            "all."
        )
    failed = next((end for end in ends if end[1].status is not Status.CONVERGED), None)
    advice = next(
        filter(None, (options.advice(end.extra["curvature"], failed is None) for _, end in ends)),
        "",
    )
    if failed is None:
        if advice:
            yield UserWarning(advice)
        return
    number, step = failed
    diverged = step.status is Status.DIVERGED
    how = "diverged" if diverged else f"did not converge in {options.max_iter} iterations"
    remedy = "safeguard=True" if options.raw else "a larger max_iter"
    yield ConvergenceWarning(
        f"solver={options.method!r} {how}: step {number} of `history_` has a primal residual of "
        f"{step.extra['primal']:.2g} (asked: {step.extra['primal_tol']:.2g}) and a dual one of "
        f"{step.extra['dual']:.2g} (asked: {step.extra['dual_tol']:.2g}). The support has the "
        "requested size, but its features may not be those of the method. "
        + (advice or f"Use {remedy}, or solver='auto'.")
    )
