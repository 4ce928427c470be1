"""The l0 problem over the units, features or groups of them, that a bound has left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._typing import Columns, IndexArray
from ..risk import Risk
from ..units import Singles, Units
from .exchange import Exchanges
from .group_exchange import GroupExchanges
from .ridge import Ridge
from .signed_ridge import signed_ridge

LEAF_TOL = 1e-11  # of the fit of a model


@dataclass(frozen=True, slots=True)
class Candidates:
    """The l0 problem over gathered columns, unit by unit, the forced ones first."""

    Z: Columns  # (n, p)
    units: Units  # of the columns, in their order
    names: IndexArray  # (n_units,) what the tree calls them: features of X, or groups
    risk: Risk
    budget: int  # units of a model
    n_forced: int  # of them

    @property
    def n_units(self) -> int:
        """The number of candidates."""
        return int(self.names.size)

    def fit(self, support: IndexArray, tol: float = LEAF_TOL) -> Ridge:
        """Solve the problem on some units."""
        columns = self.units.features(support)
        return signed_ridge(
            self.Z, self.risk, self.units.signs[columns], columns=columns, tol=tol, of_value=True
        )

    def improved(self, support: IndexArray) -> IndexArray:
        """Return where exchanges of single units lead from some."""
        forced = np.arange(self.n_forced)
        if isinstance(self.units, Singles):
            exchanges = Exchanges(self.Z, self.risk, keep=forced, signs=self.units.signs)
            return exchanges.swap(exchanges.fit(support)).columns
        units = np.arange(self.n_units)
        code = np.repeat(units, self.units.sizes(units))
        of_groups = GroupExchanges(self.Z, code, self.risk, keep=forced)
        found = of_groups.splice(of_groups.fit(np.sort(self.units.features(support))))
        return np.unique(code[found.columns])


__all__ = ["LEAF_TOL", "Candidates"]
