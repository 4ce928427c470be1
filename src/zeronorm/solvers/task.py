"""The selection problem that an estimator poses, one per class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from ..core.groups import Groups
from ..core.types import Design, FloatArray, IndexArray, Smooth, Wrapper
from ..data.operations import select_rows
from ..losses import Logistic, adjusted, as_adjusted, rows_of, started
from .risk import Risk, places_of
from .signs import free_signs
from .units import Units, units_of


@dataclass(frozen=True)
class Task:
    """One problem: the data on the selection scaling, target, weights and what may be selected."""

    design: Design
    y: FloatArray  # (n,) the target: labels +-1, or numbers less their origin
    sample_weight: FloatArray  # (n,) positive
    scaling: str  # "standardized", "scaled" or "none"
    loss: Smooth
    intercept: bool
    forced: IndexArray  # features in every model, sorted
    unit: FloatArray  # (n,) class weights: the weight of one row
    usable: np.ndarray  # (m,) mask of the features that may be selected
    groups: Groups | None  # of the features, for budgets of groups
    forced_groups: IndexArray  # groups that every model counts, for budgets of both
    origin: Any  # of the target, see Risk: a number, or one of each output
    exposure: FloatArray  # (n,) what an offset of the margins makes of the weight of a row
    covariates: IndexArray  # (q,) features of X in every model, free of any penalty, see `Adjusted`
    signs: np.ndarray  # (m,) what coefficients may have: -1, 0 for any, 1; of single features
    max_abs_coef: float = np.inf  # of the models that a bound is about

    @classmethod
    def of(
        cls,
        design: Design,
        y: FloatArray,
        sample_weight: FloatArray | None = None,
        scaling: str = "none",
        *,
        loss: Smooth | None = None,
        intercept: bool = True,
        forced: IndexArray | None = None,
        unit: FloatArray | None = None,
        usable: np.ndarray | None = None,
        groups: Groups | None = None,
        forced_groups: IndexArray | None = None,
        offset: FloatArray | None = None,
        covariates: tuple[IndexArray, FloatArray] | None = None,
        signs: np.ndarray | None = None,
    ) -> Task:
        """Return a task; what is not given has no effect: weights of 1, all features usable.

        covariates : features of X that are not usable, and their columns, (n, q).
        """
        n, m = design.shape
        weight = np.ones(n) if sample_weight is None else sample_weight
        loss, exposure = Logistic() if loss is None else loss, np.ones(n)
        if offset is not None:
            y, exposure = loss.with_offset(y, offset)
        risk = Risk.centred(y, weight * exposure, loss, intercept)
        own = np.empty(0, np.int64)
        if covariates is not None:
            own, columns = covariates
            free = bool(getattr(loss, "free", intercept))
            rows = risk.weight.reshape(loss.outputs, -1).sum(axis=0)
            with_them: Any = adjusted(risk.loss, risk.y, columns, rows, free)
            risk = replace(risk, loss=with_them, intercept=False)
        return cls(
            design,
            risk.y,
            weight,
            scaling,
            risk.loss,
            risk.intercept,
            np.empty(0, np.int64) if forced is None else np.sort(forced),
            exposure if unit is None else exposure * unit,
            np.ones(m, bool) if usable is None else usable,
            groups,
            np.empty(0, np.int64) if forced_groups is None else forced_groups,
            risk.origin,
            exposure,
            own,
            free_signs(m) if signs is None else signs,
        )

    def risk(self, C: float) -> Risk:
        """Return the loss, weighted by C times the sample weights."""
        weight = C * self.sample_weight * self.exposure
        return Risk(self.y, weight, self.loss, self.intercept, self.origin)

    @property
    def n_rows(self) -> float:
        """The sum of the weights: the number of rows, were they repeated."""
        return float(self.sample_weight.sum()) / self.loss.outputs

    @property
    def mean_exposure(self) -> float:
        """The mean over the rows of what an offset makes of the weight of one."""
        return float(self.sample_weight @ self.exposure / self.sample_weight.sum())

    @property
    def n_usable(self) -> int:
        """How many features may be selected."""
        return int(self.usable.sum()) // self.loss.outputs

    @cached_property
    def units(self) -> Units:
        """What the budget counts: features, or groups of them."""
        return units_of(self.usable, self.groups, self.signs, self.max_abs_coef)

    @property
    def kept_covariates(self) -> np.ndarray:
        """(q,) which covariates have coefficients: the others depend on them."""
        loss = as_adjusted(self.loss)
        return np.empty(0, bool) if loss is None else loss.kept

    @property
    def design_of_features(self) -> Design:
        """The design whose columns are features of X."""
        return self.design if self.loss.outputs == 1 else cast("Wrapper", self.design).base

    def places(self, index: IndexArray) -> IndexArray:
        """Return where the entries of some rows are: of each in every output."""
        q = self.loss.outputs
        return places_of(index, self.sample_weight.size // q, q)

    def columns(self, features: IndexArray) -> IndexArray:
        """Return the columns of the design that features of X are: of each output one."""
        q = self.loss.outputs
        return features if q == 1 else (features[:, None] * q + np.arange(q)).ravel()

    def features(self, columns: IndexArray) -> IndexArray:
        """Return the features of X of columns of the design, each once, in order."""
        q = self.loss.outputs
        return columns if q == 1 else np.array(list(dict.fromkeys((columns // q).tolist())), int)

    def with_groups(self, groups: Groups) -> Task:
        """Return the problem with other groups of the features of X."""
        code = np.repeat(groups.code, self.loss.outputs)
        return replace(self, groups=Groups(groups.labels, code))

    def groups_of_features(self) -> Groups | None:
        """Return the groups of the features of X; None where each is its own."""
        q = self.loss.outputs
        if self.groups is None or q == 1:
            return self.groups
        of_features = self.groups.take(np.arange(0, self.usable.size, q))
        return None if len(of_features) == of_features.code.size else of_features

    def named(self, units: IndexArray) -> IndexArray:
        """Return what a certificate calls some units: features of X, or its groups by number."""
        if self.groups is None or self.groups_of_features() is not None:
            return units
        return self.features(self.units.features(units))

    @property
    def has_intercept(self) -> bool:
        """Whether an intercept is free, or that of every output."""
        return bool(getattr(self.loss, "free", self.intercept))

    def by_output(self, coef: FloatArray) -> FloatArray:
        """Return coefficients, (p,); of several outputs (outputs, features)."""
        q = self.loss.outputs
        return coef if q == 1 else np.ascontiguousarray(coef.reshape(-1, q).T)

    def rows(self, index: IndexArray) -> Task:
        """Return the problem on some rows, with the scales of these; no data are copied.

        Columns that are constant there cannot be selected, and are not forced either.
        """
        places = self.places(index)
        y, weight = self.y[places], self.sample_weight[places]
        design, varies = select_rows(self.design, index, weight)
        usable = self.usable & varies
        return replace(
            self,
            design=design,
            loss=started(rows_of(self.loss, index), y, weight),
            y=y,
            sample_weight=weight,
            forced=self.forced[usable[self.forced]],
            unit=self.unit[places],
            exposure=self.exposure[places],
            usable=usable,
        )
