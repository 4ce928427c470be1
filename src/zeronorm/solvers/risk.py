"""The weighted loss of a problem as a function of the margins, with its intercept and its dual."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..core.types import Columns, FloatArray, IndexArray, Smooth
from ..losses import (
    LossOfOutputs,
    Responses,
    as_adjusted,
    balance,
    dual_bound,
    fit_intercept,
    rows_of,
)

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

        Residuals of a target far from 0 would have its rounding in place of their own.
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
        """The number of rows."""
        return self.weight.size // self.loss.outputs

    def times(self, C: float) -> Risk:
        """Return C times this."""
        return Risk(self.y, C * self.weight, self.loss, self.intercept, self.origin)

    def rows(self, index: IndexArray) -> Risk:
        """Return the loss of some rows."""
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
