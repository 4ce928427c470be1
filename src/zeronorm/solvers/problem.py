"""The selection problem that an estimator poses, one per class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np

from ..core.budgets import check_spread
from ..core.groups import Groups
from ..core.types import EXACT_SCAN, Columns, Design, FloatArray, IndexArray, Smooth, Wrapper
from ..data import Scaled
from ..data.gathered import gather
from ..data.operations import center_scale, moments, select_rows
from ..data.views import IN_MEMORY, feature_blocks
from ..losses import (
    Logistic,
    LossOfOutputs,
    Responses,
    adjusted,
    as_adjusted,
    balance,
    dual_bound,
    fit_intercept,
    rows_of,
    started,
)

# The weighted loss of a problem as a function of the margins, with its intercept and its dual.

NEAR = 1e-9  # relative, of a dual point
LEAST_SCALE = 1e-300  # A gap is relative to the model without features, and to this at least.


@dataclass(frozen=True, slots=True)
class Risk:
    """sum_i s_i f(y_i, z_i + b), with b free or 0."""

    y: FloatArray  # (n,) the target
    weight: FloatArray  # (n,) s: sample weights times C, positive
    loss: Smooth
    intercept: bool = True  # whether b is free, else it is 0
    # What was taken off the target, a number or one of each output: b of the user's is so much
    # larger.
    origin: Any = 0.0

    @classmethod
    def centred(cls, y: FloatArray, weight: FloatArray, loss: Smooth, intercept: bool) -> Risk:
        """Return the loss, fitted to the target less its mean, where a free b takes that up.

        Residuals of a target far from 0 would have its rounding instead of their own.
        """
        if loss.outputs > 1 and loss.of_residuals:
            y, means = cast("Responses", loss).centred(y, weight)
            return cls(y, weight, loss.fitted(y, weight), intercept, means)
        loss = loss.fitted(y, weight)
        if not (intercept and loss.of_residuals):
            return cls(y, weight, loss, intercept)
        constant = bool((y == y[0]).all())  # its mean, rounded, may be another number
        origin = float(y[0]) if constant else float(weight @ y) / float(weight.sum())
        return cls(y - origin, weight, loss, intercept, origin)

    @property
    def size(self) -> int:
        return self.weight.size // self.loss.outputs

    def times(self, C: float) -> Risk:
        """Return C times this."""
        return Risk(self.y, C * self.weight, self.loss, self.intercept, self.origin)

    def rows(self, index: IndexArray) -> Risk:
        places = self.places(index)
        loss = rows_of(self.loss, index)
        return replace(self, y=self.y[places], weight=self.weight[places], loss=loss)

    def places(self, index: IndexArray) -> IndexArray:
        """Return where the margins of some rows are: of each in every output."""
        return places_of(index, self.size, self.loss.outputs)

    def value_gradient(self, z: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at margins z, b among them, and its gradient in these."""
        return self.loss.value_gradient(z, self.y, self.weight)

    def curvature(self, z: FloatArray) -> FloatArray:
        """Return the second derivatives at margins z, b among them."""
        return self.loss.curvature(z, self.y, self.weight)

    def curvature_by_output(self, z: FloatArray) -> FloatArray:
        """Return the second derivatives in an output by itself, (outputs, n)."""
        if self.loss.outputs == 1:
            return self.curvature(z)[None]
        return cast("LossOfOutputs", self.loss).curvature_by_output(z, self.y, self.weight)

    def majorant(self, z: FloatArray) -> FloatArray:
        """Return the curvature of a quadratic nowhere below the loss, where it flattens."""
        return self.loss.majorant(z, self.y, self.weight)

    def coupling(self, Z: Columns, z: FloatArray) -> FloatArray | None:
        """Return what the second derivative in coefficients of Z is less than Z'WZ; None: 0."""
        if self.loss.separable:
            return None
        return self.loss.coupling(Z, z, self.y, self.weight)

    def hessian(self, Z: Columns, z: FloatArray) -> FloatArray | None:
        """Return the second derivative in coefficients of Z; None: that of rows by themselves."""
        if self.loss.separable:
            return None
        return self.loss.hessian(Z, z, self.y, self.weight)

    def shared_hessian(self, Z: Columns) -> FloatArray | None:
        """Return that of one output, where all have the same one at all margins; else None."""
        return self.loss.shared_hessian(Z, self.weight)

    def best(self, z: FloatArray, start: float = 0.0) -> tuple[float, float, FloatArray]:
        """Return the best b for margins z without it, the value there and its gradient in z.

        start : where the search for a free b begins.
        """
        if self.intercept:
            return fit_intercept(self.loss, z, self.y, self.weight, start)
        return 0.0, *self.value_gradient(z)

    def intercepts(self, z: FloatArray) -> FloatArray:
        """Return the best intercepts that are a part of the loss, for margins without them."""
        return cast("LossOfOutputs", self.loss).intercepts(z, self.y, self.weight)

    def unpenalised(self, z: FloatArray, b: float) -> tuple[Any, FloatArray]:
        """Return the intercept and the coefficients of the covariates at margins, b among them.

        b : what the solver knows as the intercept. Of several outputs the intercepts are (outputs,)
        and the coefficients (outputs, q), else a number and (q,).
        """
        adjusted = as_adjusted(self.loss)
        if adjusted is not None:
            return adjusted.unpenalised(z, self.y, self.weight)
        none = np.empty((self.loss.outputs, 0) if self.loss.outputs > 1 else 0)
        if self.loss.own_intercepts:
            return self.intercepts(z), none
        return b, none

    def margins(self, z: FloatArray) -> FloatArray:
        """Return margins as the target has them, of several outputs (n, outputs) with intercepts.

        z : b among them, but for several outputs.
        """
        if self.loss.outputs == 1:
            return np.asarray(z + self.origin)
        found = z.reshape(self.loss.outputs, -1) + (self.intercepts(z) + self.origin)[:, None]
        return np.asarray(found.T)

    def dual_point(self, gradient: FloatArray) -> FloatArray:
        """Return the dual point v = -gradient, where b is free with a sum of 0."""
        return balance(-gradient) if self.intercept else -gradient

    def conjugate(self, v: FloatArray) -> float:
        """Return the conjugate at -v."""
        return self.loss.conjugate(v, self.y, self.weight)

    def is_inside(self, v: FloatArray) -> bool:
        """Return whether the conjugate is finite at -v."""
        if not self.loss.separable:  # sums of v over rows are 0 but for rounding
            return bool(np.isfinite(self.conjugate(v)))
        return np.array_equal(self.loss.inside(v, self.y, self.weight), v)

    def is_near_inside(self, v: FloatArray) -> bool:
        """Return whether it is finite but for rounding at -v."""
        away = np.abs(self.loss.inside(v, self.y, self.weight) - v)
        return bool((away <= NEAR * np.abs(v)).all())

    def bound(self, v: FloatArray, quadratic: float) -> tuple[float, float]:
        """Return max_t -conjugate(t v) - t**2 quadratic, and its t: see `losses.dual_bound`."""
        return dual_bound(self.loss, v, self.y, self.weight, quadratic)

    def null(self) -> float:
        """Return the least value of the model without features, not 0."""
        return max(self.loss.null(self.y, self.weight, self.intercept), self._least_scale)

    def first(self) -> tuple[float, FloatArray, float]:
        """Return value (not 0, even of a constant target), dual point and b without features."""
        b, value, gradient = self.best(np.zeros_like(self.weight))
        return max(value, self._least_scale), self.dual_point(gradient), b

    @property
    def _least_scale(self) -> float:
        """What a gap is relative to where the target is constant, but for rounding."""
        return max(LEAST_SCALE, self.loss.noise * float(self.weight.sum()))


def places_of(index: IndexArray, n: int, outputs: int) -> IndexArray:
    """Return the places of some of n rows among the entries of all outputs."""
    if outputs == 1:
        return index
    return np.asarray((n * np.arange(outputs)[:, None] + index).ravel())


# Signs that coefficients may have: -1, 0 for any, or 1, a number for each feature.
#
# With u_j >= 0 instead of a free u_j, max over u_j of u_j c_j - u_j^2 / 2 is max(0, c_j)^2 / 2: in
# bounds and strengths a score counts where its sign is admitted, else it is 0.


def free_signs(n_features: int) -> np.ndarray:
    """Return the signs of coefficients that may have any, (n_features,)."""
    return np.zeros(n_features, np.int8)


def admitted(values: FloatArray, signs: np.ndarray) -> FloatArray:
    """Return values, 0 instead of those that do not have the sign that they may have.

    Of coefficients it is the nearest point that has the signs. values : (m,) or (m, n).
    """
    if not signs.any():
        return values
    shape = (-1,) + (1,) * (values.ndim - 1)
    return np.where(signs.reshape(shape) * values < 0.0, 0.0, values)


def oriented(magnitudes: FloatArray, signs: np.ndarray) -> FloatArray:
    """Return magnitudes, (m,), as values that have the signs that they may have."""
    negative = signs < 0
    return np.where(negative, -magnitudes, magnitudes) if negative.any() else magnitudes


# What a budget counts, and a scan compares: single features, or whole groups of them.


class BudgetUnits(Protocol):
    """The features, in units of which each is in a model as a whole or not at all."""

    usable: np.ndarray  # (n_units,) mask
    # (n_features,) the sign that the coefficient of each feature may have, 0: any.
    signs: np.ndarray
    most: float  # what relaxations keep coefficients to, of single features; inf: to nothing
    bounded: bool  # whether the coefficients of models are bounded

    def features(self, units: IndexArray) -> IndexArray:
        """Return the usable features of some units, unit by unit, ascending in each."""

    def sizes(self, units: IndexArray) -> IndexArray:
        """Return how many usable features some units have."""

    def of(self, features: IndexArray) -> IndexArray:
        """Return the units of features, each once, in order of the features."""

    def strength(self, scores: FloatArray) -> FloatArray:
        """Return what the units are worth, not negative, as a new array (n_units,)."""

    def worth(self, scores: FloatArray) -> FloatArray:
        """Return twice what the best coefficients of each unit bring: see `worths`."""

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sums of numbers of the features over the usable ones of each unit."""

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return what the units have as that of their features, (m,)."""

    def bend_across(self, matrix: FloatArray, direction: FloatArray, curvature: FloatArray) -> None:
        """Add the block diagonal matrix of c_g (I - e_g e_g') to a matrix, all features usable.

        direction : (m,) e_g, unit vectors or 0. curvature : (n_units,) c_g.
        """

    def take(self, units: IndexArray) -> BudgetUnits:
        """Return some units, as those of their features in the order of `features`."""


class Singles:
    """Every feature by itself: |c_j|, and 0 where c_j has a sign that its coefficient may not have.

    usable : (m,) mask of the features that may be selected.
    signs : (m,) of their coefficients, by default any.
    most : what their coefficients are at most in size.
    signed : whether any of them has a sign.
    """

    def __init__(
        self, usable: np.ndarray, signs: np.ndarray | None = None, most: float = np.inf
    ) -> None:
        self.usable, self.most, self.bounded = usable, most, most < np.inf
        self.signs = free_signs(usable.size) if signs is None else signs
        self.signed = signs is not None and bool(signs.any())

    def features(self, units: IndexArray) -> IndexArray:
        """Return the features, which are the units."""
        return units

    def sizes(self, units: IndexArray) -> IndexArray:
        """Return ones."""
        return np.ones(units.size, np.int64)

    def of(self, features: IndexArray) -> IndexArray:
        """Return the different features, in order."""
        return _unique(features)

    def strength(self, scores: FloatArray) -> FloatArray:
        """Return |c_j| of the scores that signs admit, 0 of others."""
        return np.abs(admitted(scores, self.signs) if self.signed else scores)

    def worth(self, scores: FloatArray) -> FloatArray:
        """Return those of the features, 0 of scores that signs do not admit."""
        return worths(self.strength(scores), self.most)

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the numbers."""
        return values

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers."""
        return values

    def bend_across(self, matrix: FloatArray, direction: FloatArray, curvature: FloatArray) -> None:
        """Add nothing: features have no other direction."""

    def take(self, units: IndexArray) -> Singles:
        """Return some features."""
        signs = self.signs[units] if self.signed else None
        return Singles(self.usable[units], signs, self.most)


class Grouped:
    """Groups: ||c_g|| over the usable features of each.

    Relaxations do not keep to bounds on coefficients, which dual points count all the same.
    """

    most = np.inf

    def __init__(
        self, code: IndexArray, n_units: int, usable: np.ndarray, limit: float = np.inf
    ) -> None:
        """Begin with the group of every feature, 0, 1, ..., and the mask of the usable ones.

        limit : what their coefficients are at most in size.
        """
        self._limit, self.bounded = limit, limit < np.inf
        self.code, self.signs = code, free_signs(code.size)
        features = np.flatnonzero(usable)
        owner = code[features]
        order = np.argsort(owner, kind="stable")
        self._features, self._owner = features[order], owner[order]
        size = np.bincount(owner, minlength=n_units)
        self._end = np.cumsum(size)
        self._begin = self._end - size
        self.usable = size > 0

    def features(self, units: IndexArray) -> IndexArray:
        """Return the usable features of some groups, group by group."""
        size = self.sizes(units)
        start = np.repeat(self._begin[units] - np.cumsum(size) + size, size)
        return self._features[start + np.arange(start.size)]

    def sizes(self, units: IndexArray) -> IndexArray:
        """Return how many usable features some groups have."""
        return self._end[units] - self._begin[units]

    def of(self, features: IndexArray) -> IndexArray:
        """Return the groups of features, in order of the features."""
        return _unique(self.code[features])

    def strength(self, scores: FloatArray) -> FloatArray:
        """Return ||c_g|| over the usable features."""
        return np.sqrt(self.sums(scores**2))

    def worth(self, scores: FloatArray) -> FloatArray:
        """Return the sums over the usable features."""
        return self.sums(worths(scores, self._limit))

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sums over the usable features."""
        sums = np.bincount(self._owner, values[self._features], self.usable.size)
        return np.asarray(sums, np.float64)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return the number of its group for every feature."""
        return values[self.code]

    def bend_across(self, matrix: FloatArray, direction: FloatArray, curvature: FloatArray) -> None:
        """Add the matrix."""
        same = self.code[:, None] == self.code
        scaled = self.spread(curvature)
        matrix -= np.where(same, np.outer(scaled * direction, direction), 0.0)
        np.einsum("ii->i", matrix)[:] += scaled

    def take(self, units: IndexArray) -> Grouped:
        """Return some groups."""
        code = np.repeat(np.arange(units.size), self.sizes(units))
        return Grouped(code, units.size, np.ones(code.size, bool), self._limit)


def worths(values: FloatArray, most: float) -> FloatArray:
    """Return twice the largest u c - u^2 / 2 over |u| <= most, of each c: c^2 where that is inside.

    It is the quadratic of c up to `most`, and linear from there on: a Huber function.
    """
    square = values * values
    if most == np.inf:
        return square
    return np.where(square <= most * most, square, most * (2.0 * np.abs(values) - most))


def _unique(values: IndexArray) -> IndexArray:
    return values[np.sort(np.unique(values, return_index=True)[1])]


class ByOutputs(ABC):
    """A design with a column of every feature in each output, feature by feature."""

    design: Design

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The number of outputs, q."""

    @property
    def design_of_features(self) -> Design:
        """The design whose columns are the features."""
        return self.design if self.outputs == 1 else cast("Wrapper", self.design).base

    def columns(self, features: IndexArray) -> IndexArray:
        """Return the columns of features: of each in all outputs."""
        q = self.outputs
        return features if q == 1 else (q * features[:, None] + np.arange(q)).ravel()

    def features(self, columns: IndexArray) -> IndexArray:
        """Return the features of columns, each once, in order."""
        q = self.outputs
        return columns if q == 1 else np.array(list(dict.fromkeys((columns // q).tolist())), int)


@dataclass(frozen=True)
class Task(ByOutputs):
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
    def units(self) -> BudgetUnits:
        """What the budget counts: features, or groups of them."""
        if self.groups is None:
            return Singles(self.usable, self.signs, self.max_abs_coef)
        return Grouped(self.groups.code, len(self.groups), self.usable, self.max_abs_coef)

    @property
    def kept_covariates(self) -> np.ndarray:
        """(q,) which covariates have coefficients: the others depend on them."""
        loss = as_adjusted(self.loss)
        return np.empty(0, bool) if loss is None else loss.kept

    @property
    def outputs(self) -> int:
        return self.loss.outputs

    def places(self, index: IndexArray) -> IndexArray:
        """Return where the entries of some rows are: of each in every output."""
        q = self.loss.outputs
        return places_of(index, self.sample_weight.size // q, q)

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


# The scaling of the columns that selection sees, and the form of it that measures need.

MOMENT_BITS = 20


def selection_scaling(
    design: Design, weight: FloatArray, *, center: bool, standardize: bool
) -> tuple[Design, str, np.ndarray]:
    """Return the design that selection sees, the name of its scaling and what can be selected.

    One pass over X gives the scales, and finds what is not finite. Constant columns cannot be
    selected. Without `standardize` X stays as it is.
    """
    scaled = center_scale(design, weight, center=center)
    usable = scaled.scale > 0
    if standardize:
        return scaled, "scaled" if scaled.mean is None else "standardized", usable
    check_spread(scaled.scale)
    return design, "none", usable


def centred(design: Design, weight: FloatArray) -> Scaled:
    """Return a design with centred columns, in any storage."""
    base = design.base if isinstance(design, Scaled) else design
    scale = design.scale if isinstance(design, Scaled) else np.ones(base.shape[1])
    if isinstance(design, Scaled) and design.mean is not None:
        return design
    return Scaled(base, moments(base, weight)[0] / weight.sum(), scale)


def rounded(design: Design) -> Design:
    """Return the design with scales of 20 bits, and means in 2^-20 of the standard deviation.

    Sums in another order, by row or by column, of another type, differ in their last bits, and the
    methods for measures end at another point where any bit differs. No scale needs more digits.
    """
    if not isinstance(design, Scaled):
        return design
    digits, exponent = np.frexp(design.scale)
    scale = np.ldexp(np.round(np.ldexp(digits, MOMENT_BITS)), exponent - MOMENT_BITS)
    if design.mean is None:
        return Scaled(design.base, None, scale)
    # Of the power of 2 next to the standard deviation; where the scale is 0, of 1.
    shift = np.where(scale > 0.0, exponent, 0) + MOMENT_BITS
    with np.errstate(over="ignore"):
        steps = np.ldexp(design.mean, shift)
    mean = np.where(np.isfinite(steps), np.ldexp(np.round(steps), -shift), design.mean)
    return Scaled(design.base, mean, scale)


# Which features are the best ones of a scan, however X is stored.
#
# Sums in another order, by row or by column, differ in their last bits, and those of float32, small
# integers and booleans in more. That would decide between features that are tied: of columns with
# few values many are.

# Shares of the largest strength: what is summed again after a scan in float32, and what is equal.
CLOSE, EQUAL_BITS = 1e-5, 36
# Rows are equal whose projections on a direction differ by less than this share of the largest one.
EQUAL_ROWS = 1e-9


def copies(Z: Columns, kept: np.ndarray) -> np.ndarray:
    """Return which columns equal another one, up to the sign, that is kept or before them, (p,).

    Columns are compared whose projections on a direction agree.

    kept : (p,) mask of columns that are no copies, whatever they equal.
    """
    n, p = Z.shape
    direction: Any = np.random.RandomState(0).uniform(-1.0, 1.0, n)
    size = np.abs(Z.dot(direction))
    order = np.argsort(size, kind="stable")
    near = np.diff(size[order]) <= EQUAL_ROWS * size[order[1:]]
    found = np.zeros(p, bool)
    for block in np.split(order, np.flatnonzero(~near) + 1):
        if block.size == 1:
            continue
        different: list[FloatArray] = []
        for place in block[np.lexsort((block, ~kept[block]))]:
            own = Z.take(np.array([place])).dense()[:, 0]
            limit = EQUAL_ROWS * float(np.abs(own).max())
            found[place] = any(
                min(float(np.abs(other - own).max()), float(np.abs(other + own).max())) <= limit
                for other in different
            )
            if not found[place]:
                different.append(own)
    return np.asarray(found & ~kept)


def ranked(
    design: Design,
    units: BudgetUnits,
    strength: FloatArray,
    scores: FloatArray,
    vector: FloatArray,
    best: IndexArray,
) -> IndexArray:
    """Return the best units and those that are as good, best first, ties by the smaller index.

    Strengths that are nearly equal are made exactly so; those of a scan in float32 are summed again
    before that, from gathered columns.

    strength : (n_units,) of the scores, -1 where a unit may not enter; changed where tied.
    scores : (n_features,) of the vector (n,); changed in the same units.
    best : the units of the largest strengths, best first.
    """
    if not best.size or strength[best[0]] <= 0.0:
        return best
    top, last = float(strength[best[0]]), float(strength[best[-1]])
    exact = design.scan_error <= EXACT_SCAN
    equal = float(np.ldexp(1.0, np.frexp(top)[1] - EQUAL_BITS))
    close = equal if exact else CLOSE * top
    near = np.flatnonzero(strength >= max(0.0, last - close))
    near = near[np.argsort(-strength[near], kind="stable")]
    close_to_next = -np.diff(strength[near]) <= close
    is_tied = np.zeros(near.size, bool)
    is_tied[:-1] |= close_to_next
    is_tied[1:] |= close_to_next
    tied = np.sort(near[is_tied])
    if not tied.size:
        return near
    if not exact:
        for features in feature_blocks(units.features(tied), design.shape[0], IN_MEMORY):
            scores[features] = gather(design, features).dot(vector)
        strength[tied] = units.strength(scores)[tied]
    strength[tied] = np.round(strength[tied] / equal) * equal
    near.sort()
    return near[np.argsort(-strength[near], kind="stable")]
