"""What estimators that select under a budget do at fit: their parameters are a `Plan`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from ..core.types import Design
from ..methods import Method, named
from ..solvers.drive import Solver
from ..solvers.kept import Kept, keeping
from .parameters import with_parameters
from .problem import Problem
from .rowwise import Rowwise
from .selected import begun, keep_paths, keep_size
from .selecting import Plan
from .sizes import is_automatic, sizes_of_rows
from .sparse_linear import SparseLinearModel

_LOG = logging.getLogger(__name__)


@with_parameters
class BudgetSelection(SparseLinearModel):
    """Base of the estimators with a budget, as those of one target need it.

    Classes and several responses override what differs.
    """

    n_features: int | str | Sequence[int] | None = field(default=None, kw_only=False)
    n_groups: int | str | Sequence[int] | None = None
    feature_groups: Any = None
    method: str | Method = "auto"
    C: float | str = "auto"
    refit_C: float | str | None = "auto"
    calibrate: bool | str = "auto"
    standardize: bool = True
    forced_features: Any = None
    signs: Any = None
    forced_groups: Any = None
    covariates: Any = None
    criterion: str | None = None
    tol: float | None = None
    warm_start: bool = False
    n_threads: int | None = None
    checkpoint: Any = None
    _kept: ClassVar[Kept | None] = None  # set for a fit: told which sizes are finished

    def _plan(self) -> Plan:
        """Return the selection as the parameters state it."""
        return Plan.of(self)

    def _method(self, automatic: type[Method]) -> Method:
        """Return what finds the features; automatic: the method of "auto"."""
        return named(self.method, automatic)

    def _check_parameters(self) -> None:
        """Raise ValueError where a parameter breaks a rule that no data are needed for."""
        self._plan()

    def _stored(self, design: Design) -> Design:
        """Return the design in the storage that scans and gathers want; those of l1 ask later."""
        is_l1 = "l1" in self._plan().method.name
        return design if is_l1 else design.arranged(for_descent=False)

    def _loss_weight(self) -> float:
        """Return what weights are compared with: 1, as C may be infinite."""
        return 1.0

    def _sizes_of_folds(self, data: Rowwise) -> tuple[Any, ...] | None:
        """Return the sizes of all folds, checked with all data; None: each has its own."""
        if self._plan().counts == "both" or is_automatic(self.n_groups):
            return self._pose(data).sizes
        return sizes_of_rows(self, data)

    def _pose(self, data: Rowwise, sizes: tuple[Any, ...] | None = None) -> Problem:
        """Return the problem of `fit` on these rows."""
        data, unit = self._weigh(data)
        return self._plan().pose(data, [data.labels], None, unit, sizes)

    def _begin(
        self, data: Rowwise, seconds: dict[str, float]
    ) -> tuple[np.ndarray | None, list[Solver[Any]]]:
        """Return no classes, and the solver."""
        return None, self._keeping(begun(self, data, seconds)[1], 1)

    def _keeping(self, solver: Solver[Any], n_tasks: int) -> list[Solver[Any]]:
        """Return the solver, as one that keeps what is finished where that is asked for."""
        return [solver if self._kept is None else keeping([solver], self._kept, n_tasks)]

    def _store(self, results: list[Any]) -> None:
        """Set the attributes that the results of the solvers give."""
        keep_paths(self, results[0])
        self._plan().keep_groups(self)
        _LOG.info(
            "%s on %d features: size %s, %d passes over the data, %.2f s",
            type(self).__name__, self._n_columns, self.size_, self.n_scans_, self.seconds_["total"],
        )  # fmt: skip

    def _keep_size(self, size: Any) -> None:
        """Make one of the sizes of the fit the model that predicts."""
        keep_size(self, size)
        self._plan().keep_groups(self)

    def _doubts(self) -> Iterable[Warning]:
        """Return the warnings that a fit gives."""
        return self._plan().doubts(self._paths, self.size_)
