"""The methods of selection: a frozen record for each, which owns its options and their defaults.

    BudgetClassifier(8, method="l0")                      a method with its defaults
    BudgetClassifier(8, method=methods.L0(gap=0.01))      with other options

`METHODS` is the one table of them: of what solves a problem, its defaults of C, tol and refit_C,
and what the command says of a method. Solvers are imported late, for the command.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from .core.errors import ParameterError

if TYPE_CHECKING:
    from .core.results import Path
    from .core.types import FloatArray, IndexArray, Smooth
    from .solvers import CappedL1, LogPenalty, SelectionRequest, Task
    from .solvers.certify import Goal
    from .solvers.driver import Solver


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
    rules: ClassVar[dict[str, str]] = {}  # what `zeronorm.core.validation` checks of an option
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
        from .core import validation as validate

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
    def select(self, task: Task, sizes: Sequence[Any], request: SelectionRequest) -> Solver[Path]:
        """Return the generator of scans that selects for a task."""

    def blame(self) -> tuple[str, str]:
        """Return what has failed where a problem is left unsolved, and what helps."""
        return "The solver", "A smaller C helps."

    def doubts(self, paths: Sequence[Path], size: Any, C: float, tol: float) -> Iterator[Warning]:
        """Return the warnings that a fit gives: its paths, and the size of its model."""
        from .solvers.convergence import open_gaps

        return open_gaps(paths, tol, *self.blame())

    def start(self, paths: Sequence[Path]) -> list[list[IndexArray]]:
        """Return what a fit after these paths begins with: lists of features for each path."""
        return [[step.entered for step in path.history] for path in paths]


@dataclass(frozen=True)
class Pool(Method):
    """A pool of 3k features by the minimax cutting plane, then elimination and splicing: "auto".

    Parameters
    ----------
    factor : float
        Candidates in the pool for each feature to select, at least 1; a pool has 30 or more.
    block_size, max_blocks : int or None
        Features per scan of the pool, or its scans; a fifth of the pool by default.
    """

    name = "pool"
    sentence = "pool: candidates by the minimax cutting plane, reduced to {k} by elimination"
    entered = ("block", "the scan at which it entered")
    budgets = ("features", "groups")
    rules = {"block_size": "count", "max_blocks": "count"}  # noqa: RUF012

    block_size: int | None = None
    max_blocks: int | None = None
    factor: float = 3.0

    def check(self, loss: Smooth, fit_intercept: bool) -> None:
        """Raise ValueError where an option breaks a rule."""
        from .core import validation as validate

        super().check(loss, fit_intercept)
        if not validate.check_positive("factor", self.factor) >= 1.0:
            raise ParameterError("factor", "must be at least 1", f"{self.factor!r}")

    def keeps_signs(self) -> bool:
        """Return True."""
        return True

    def select(self, task: Task, sizes: Sequence[Any], request: SelectionRequest) -> Solver[Path]:
        """Return the generator of scans."""
        from .solvers import select

        options: Any = {"block_size": self.block_size, "max_blocks": self.max_blocks}
        return select(task, sizes, request, factor=float(self.factor), **options)


@dataclass(frozen=True)
class Minimax(Method):
    """The minimax cutting plane itself: nested supports of features, or of whole groups.

    Every scan adds the block with the largest scores; the problem over the blocks is solved to a
    certified gap, and its dual point gives the next scan.

    Parameters
    ----------
    block_size : int or None
        Features (groups) per scan; by default the budget divided by max_blocks, or a third of it
        (with several sizes: of the smallest, at least a thirtieth of the largest).
    max_blocks : int or None
        How many scans generate blocks; it yields to the budget.
    """

    name = "minimax"
    sentence = "minimax: the first {k} features of the minimax cutting plane"
    entered = ("block", "the scan at which it entered")
    budgets = ("features", "groups")
    rules = {"block_size": "count", "max_blocks": "count"}  # noqa: RUF012

    block_size: int | None = None
    max_blocks: int | None = None

    def select(self, task: Task, sizes: Sequence[Any], request: SelectionRequest) -> Solver[Path]:
        """Return the generator of scans."""
        from .solvers import select_nested

        return select_nested(
            task, sizes, request, block_size=self.block_size, max_blocks=self.max_blocks
        )


@dataclass(frozen=True)
class Greedy(Method):
    """Forward greedy steps: the feature, or the whole group, that fits best what is left.

    Every step costs a scan, and features stay once they are in: the order of entry is a path.

    Parameters
    ----------
    fit_C : float
        Weight of the loss in the fits between steps. Published methods have 1e8 or no penalty, and
        often do worse where features outnumber samples by far.
    """

    name = "greedy"
    sentence = "greedy: in every scan the feature that fits best what is left"
    entered = ("step", "the step at which it entered")
    budgets = ("features", "groups")
    tol = 1e-6
    rules = {"fit_C": "positive"}  # noqa: RUF012
    penalises = False

    # The default C of the certificate: the fits are then of the problem that is certified.
    fit_C: float = 0.1

    def check_weight(self, weight: FloatArray) -> None:
        """Raise ValueError where fit_C is too large for these weights."""
        from .core.targets import check_total_weight

        check_total_weight(float(self.fit_C), weight)

    def select(self, task: Task, sizes: Sequence[Any], request: SelectionRequest) -> Solver[Path]:
        """Return the generator of scans."""
        from .solvers import greedy

        return greedy(task, sizes, request, fit_C=float(self.fit_C))

    def blame(self) -> tuple[str, str]:
        """Return what has failed, and what helps."""
        return "A fit", "A smaller fit_C helps."


@dataclass(frozen=True)
class L0(Method):
    """Exchanges among all features or groups for the best k, and on demand a proof that they are.

    Parameters
    ----------
    gap : float or None
        Where it is given, branch and bound goes on until no support of this size can lower the
        objective by more than this share of it (0: none at all), until the time is over, or until
        Ctrl-C; the best support found is the model, `proof_` tells the end. Folds prove nothing.
    time_limit : float
        Seconds of that, for every size and class.
    solver : str
        "auto", "exchange": exchanges. "splicing": these from the strongest features only. "iht":
        iterative hard thresholding.
    n_starts : int
        Searches by exchanges, from draws of the candidates met so far or, where elimination takes a
        second or two at most, from what it leaves of all features and of halves.
    """

    name = "l0"
    sentence = "l0: exchanges among all features until none is found that helps"
    entered = ("step", "the scan or round of exchanges at which it became a candidate")
    budgets: ClassVar[tuple[str, ...]] = ("features", "groups")
    tol = 1e-4
    rules = {"time_limit": "positive", "n_starts": "iterations"}  # noqa: RUF012

    gap: float | None = None
    time_limit: float = 60.0
    solver: str = "auto"
    n_starts: int = 1

    def check(self, loss: Smooth, fit_intercept: bool) -> None:
        """Raise ValueError where an option breaks a rule."""
        from .core import validation as validate

        super().check(loss, fit_intercept)
        self._check_solver()
        if self.gap is not None:
            validate.check_not_negative("gap", self.gap)
        if self.n_starts > 1 and self.solver not in ("auto", "exchange"):
            raise ParameterError("n_starts", "above 1 needs solver='exchange'", f"{self.solver!r}")

    def keeps_signs(self) -> bool:
        """Return True of exchanges."""
        return self.solver != "iht"

    def _check_solver(self) -> None:
        from .core import validation as validate
        from .solvers.l0 import SOLVERS

        validate.check_option("solver", self.solver, SOLVERS)

    def select(self, task: Task, sizes: Sequence[Any], request: SelectionRequest) -> Solver[Path]:
        """Return the generator of scans."""
        from .solvers import select_l0

        goal, n_starts = self._goal(), int(self.n_starts)
        return select_l0(task, sizes, request, solver=self.solver, n_starts=n_starts, goal=goal)

    def _goal(self) -> Goal | None:
        """Return when a proof may end; None: nothing is proven."""
        from .solvers.certify import Goal

        return None if self.gap is None else Goal(float(self.gap), float(self.time_limit))

    def doubts(self, paths: Sequence[Path], size: Any, C: float, tol: float) -> Iterator[Warning]:
        """Return the warnings that a fit gives."""
        from .solvers.convergence import separation

        yield from super().doubts(paths, size, C, tol)
        yield from separation(paths, size, C)


@dataclass(frozen=True)
class L1(Method):
    """The l1 path: the features of the largest C with at most k of them, completed to k.

    Parameters
    ----------
    max_iter : int
        The most iterations at one C.
    """

    name = "l1"
    sentence = "l1: the path, at the largest C with at most {k} features"
    entered = ("point", "the point of the path at which it entered")
    tol = 1e-4
    rules = {"max_iter": "iterations"}  # noqa: RUF012
    shares = False
    starts_warm = False
    adjusts = False
    penalises = False

    max_iter: int = 50

    def select(self, task: Task, sizes: Sequence[Any], request: SelectionRequest) -> Solver[Path]:
        """Return the generator of scans."""
        from .solvers import select_l1

        return select_l1(task, sizes, request, max_iter=int(self.max_iter))


@dataclass(frozen=True)
class ReweightedL1(L1):
    """The l1 path in stages, each with smaller penalties of what is large in the one before.

    Parameters
    ----------
    weights : "log" or "capped"
        The penalty of a stage: epsilon / (a + epsilon) of that of the first stage, or all of it
        where a < threshold and 1e-6 of it elsewhere, with a the penalty that a feature paid before.
    n_stages : int
        How many l1 paths are followed; 1 is l1.
    epsilon, threshold : float or None
        Of "log" and of "capped": by default the mean of the a that are not zero, and 0.3 of it.
    max_iter : int
        The most iterations at one C.
    """

    name = "reweighted-l1"
    sentence = "reweighted-l1: the path in stages that penalise large coefficients less"
    entered = ("", "")  # the last stage has all its features from the beginning

    weights: str = "log"
    n_stages: int = 3
    epsilon: float | None = None
    threshold: float | None = None

    def check(self, loss: Smooth, fit_intercept: bool) -> None:
        """Raise ValueError where an option breaks a rule."""
        from .core import validation as validate

        super().check(loss, fit_intercept)
        validate.check_option("weights", self.weights, ["log", "capped"])
        validate.check_iterations("n_stages", self.n_stages)
        for name, rule in (("epsilon", "log"), ("threshold", "capped")):
            value = getattr(self, name)
            if value is None:
                continue
            validate.check_positive(name, value)
            if self.weights != rule:
                got = f"{name}={value!r} with weights={self.weights!r}"
                raise ParameterError(name, f"is of weights={rule!r}", got, "Leave it out.")

    def rule(self) -> LogPenalty | CappedL1:
        """Return the rule of the weights."""
        from .solvers import CappedL1, LogPenalty

        log = self.weights == "log"
        value = self.epsilon if log else self.threshold
        kind = LogPenalty if log else CappedL1
        return kind(None if value is None else float(value), int(self.n_stages))

    def select(self, task: Task, sizes: Sequence[Any], request: SelectionRequest) -> Solver[Path]:
        """Return the generator of scans."""
        from .solvers import select_l1

        return select_l1(task, sizes, request, max_iter=int(self.max_iter), rule=self.rule())


@dataclass(frozen=True)
class Bilevel(Method):
    """At most k features in at most g groups: exchanges under both budgets at once.

    Parameters
    ----------
    solver : str
        "auto": the search, a few scans for any number of iterations. The published methods of hard
        thresholding have a scan for each step: "ista" (with a sufficient decrease), "ista-l" (with
        a Lipschitz condition); accelerated, "fista" (first step by Barzilai and Borwein) and
        "fista-c" (constant steps).
    max_iter : int
        The most steps of the published methods.
    """

    name = "bilevel"
    sentence = (
        "bilevel: exchanges among all features, at most {k} of them in at most {groups} groups, "
        "until none is found that helps"
    )
    entered = ("step", "the step of the search at which it became a candidate")
    budgets = ("both",)
    tol = 1e-6
    refit_C = None
    rules = {"max_iter": "iterations"}  # noqa: RUF012

    solver: str = "auto"
    max_iter: int = 10_000

    def default_weight(self, loss: str) -> float:
        """Return 1, and infinity for least squares, which then has no penalty."""
        return float("inf") if loss == "least_squares" else 1.0

    def check(self, loss: Smooth, fit_intercept: bool) -> None:
        """Raise ValueError where an option breaks a rule."""
        from .core import validation as validate
        from .solvers.bilevel import SOLVERS

        super().check(loss, fit_intercept)
        validate.check_option("solver", self.solver, SOLVERS)

    def select(self, task: Task, sizes: Sequence[Any], request: SelectionRequest) -> Solver[Path]:
        """Return the generator of scans."""
        from .solvers.bilevel import bilevel_path

        return bilevel_path(task, sizes, request, solver=self.solver, max_iter=int(self.max_iter))

    def start(self, paths: Sequence[Path]) -> list[list[IndexArray]]:
        """Return the support first: the published methods begin at it, where budgets admit it."""
        own = [path[max(path)].support for path in paths]
        return [
            [support, *blocks] for support, blocks in zip(own, super().start(paths), strict=True)
        ]

    def doubts(self, paths: Sequence[Path], size: Any, C: float, tol: float) -> Iterator[Warning]:
        """Return the warning that a published method did not converge."""
        from .solvers.convergence import steps_left

        return steps_left(paths, self.solver, self.max_iter)


METHODS: dict[str, type[Method]] = {
    kind.name: kind for kind in (Pool, L1, ReweightedL1, Greedy, L0, Minimax, Bilevel)
}


MethodName: TypeAlias = Literal["pool", "l1", "reweighted-l1", "greedy", "l0", "minimax", "bilevel"]


def names_of_methods(can: Callable[[type[Method]], bool]) -> str:
    """Return the names of the methods that can do something, as a part of a sentence."""
    names = [repr(kind.name) for kind in METHODS.values() if can(kind)]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def named(method: str | Method, auto: type[Method]) -> Method:
    """Return a method by its name, or as it is; "auto" is that of the problem."""
    from .core import validation as validate

    if isinstance(method, Method):
        return method
    validate.check_option("method", method, ["auto", *METHODS])
    return auto() if method == "auto" else METHODS[method]()
