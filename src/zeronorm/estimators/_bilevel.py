"""What the bi-level classifier and regressor share: groups, budgets, scales, the solver's call."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import validate as _validate
from .._typing import FloatArray, IndexArray
from ..designs import Scaled
from ..groups import Groups
from ..result import Status, Step
from ..solvers._bilevel import (
    SOLVERS,
    BilevelPath,
    BilevelTask,
    Size,
    select_bilevel,
)
from ..solvers._drive import Solver
from ._frames import EncodedFrame
from ._sparse_linear import Rowwise


class Bilevel:
    """Parameters and problems that classification and regression share."""

    n_features: Any
    n_groups: Any
    groups: Any
    forced_features: Any
    forced_groups: Any
    solver: Any
    tol: Any
    max_iter: Any

    # Set by cross-validation, whose folds may have fewer usable columns than all data.
    _sizes_of_folds: tuple[Size, ...] | None = None

    def _check_bilevel(self) -> None:
        """Raise ValueError where a parameter breaks a rule that no data are needed for."""
        _validate.check_option("solver", self.solver, SOLVERS)
        _validate.check_iterations("max_iter", self.max_iter)
        if self.groups is None and self.forced_groups is not None:
            raise ValueError(
                f"forced_groups names groups, but groups is None; got {self.forced_groups!r}. Pass "
                "the group of every column as groups, or use forced_features."
            )

    def _numeric(self, X: Any) -> tuple[Any, list[str] | None, Any]:
        """Return X as numbers, one-hot where the columns of a frame are the groups."""
        if not (isinstance(self.groups, str) and self.groups == "columns"):
            return X, _validate.feature_names(X), None
        encoding, matrix = EncodedFrame.fit(X)
        return matrix, encoding.names, encoding

    def _groups_of(self, data: Rowwise) -> Groups:
        """Return the groups of the columns; each is one of its own where none are given."""
        return self._partition(data.encoding, data.design.shape[1], data.names)

    def _partition(
        self, encoding: EncodedFrame | None, n_columns: int, names: Sequence[str] | None
    ) -> Groups:
        if encoding is not None:
            return encoding.groups
        if self.groups is None:
            own = np.arange(n_columns)
            return Groups(own, own)
        return Groups.of(self.groups, n_columns, names)

    @property
    def groups_(self: Any) -> np.ndarray:
        """The labels of the groups of the selected features, sorted."""
        if not hasattr(self, "support_"):
            raise AttributeError("groups_ is set by fit.")
        names = getattr(self, "feature_names_in_", None)
        groups = self._partition(
            self._encoding, self._n_columns, None if names is None else list(names)
        )
        return np.asarray(groups.labels[groups.of_features(self.support_)])

    def _sizes(
        self, groups: Groups | None, usable: np.ndarray, forced: IndexArray
    ) -> tuple[Any, ...]:
        """Return the sizes: (features, groups)."""
        assert groups is not None
        if self._sizes_of_folds is not None:
            _validate.check_usable(int(usable.sum()), usable.size)
            return self._sizes_of_folds
        forced_groups = groups.places("forced_groups", self.forced_groups)
        n_usable = int(usable.sum())
        ks = _validate.check_sizes(self.n_features, n_usable, usable.size, forced.size)
        n_forced = np.union1d(groups.of_features(forced), forced_groups).size
        n_groups = np.union1d(groups.of_features(np.flatnonzero(usable)), forced_groups).size
        gs: tuple[int, ...] = (n_groups,)
        if self.n_groups is not None:
            gs = _validate.check_n_groups(self.n_groups, n_groups, n_forced)
        return tuple((k, g) for k in ks for g in gs)

    @property
    def n_iter_(self: Any) -> int:
        """Passes over X."""
        if not hasattr(self, "n_scans_"):
            raise AttributeError("n_iter_ is set by fit.")
        return int(self.n_scans_)

    def _warn_of_ends(self, history: Sequence[Step], stacklevel: int) -> None:
        """Warn where a published method did not converge."""
        for number, step in enumerate(history, start=1):
            if step.status is Status.MAX_ITER:
                warnings.warn(
                    f"solver={self.solver!r} did not converge in max_iter={self.max_iter} steps "
                    f"(step {number} of `history_`, {step.n_features} features). Use a larger "
                    "max_iter or tol, or solver='auto'.",
                    ConvergenceWarning,
                    stacklevel=stacklevel,
                )
                return

    def _select(
        self,
        task: BilevelTask,
        sizes: Sequence[Size],
        start: Sequence[IndexArray],
        seconds: dict[str, float] | None,
    ) -> Solver[BilevelPath]:
        """Solve all sizes; budgets larger than what there is are that."""
        usable = np.ones(task.groups.code.size, bool) if task.usable is None else task.usable
        open_to = np.union1d(task.groups.of_features(np.flatnonzero(usable)), task.forced_groups)
        clipped = {}
        for size in sizes:
            k = min(size[0], int(usable.sum()))
            # Every feature opens a group at most, beside those that are forced.
            clipped[size] = k, min(size[1], k + task.forced_groups.size, open_to.size)
        path = yield from select_bilevel(
            task, sorted(set(clipped.values())), solver=self.solver, tol=float(self.tol),
            max_iter=int(self.max_iter), start=start, seconds=seconds,
        )  # fmt: skip
        return BilevelPath({size: path.fits[clipped[size]] for size in sizes}, path.history)


def unscaled(scaled: Scaled) -> tuple[Scaled, FloatArray]:
    """Return the columns as they are, centred where they were, and their deviations, 1 of none.

    The intercept takes up the means, and an offset of a column costs no digits.
    """
    usable = scaled.scale > 0
    spread = np.divide(1.0, scaled.scale, out=np.ones(usable.size), where=usable)
    return Scaled(scaled.base, scaled.mean, usable.astype(np.float64)), spread


__all__ = ["Bilevel", "unscaled"]
