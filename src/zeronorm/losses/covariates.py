"""A loss at the best coefficients of covariates: columns in every model, free of any penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from ..core.types import Columns, FloatArray, IndexArray, Smooth
from ..data.gathered import DenseColumns
from .base import FLAT, Latest, LossOfAnother, fit_intercept, kept_with, that_of_each
from .cox import parts_of, rows_of_strata

CONSTANT = 1e-11  # A column that varies by less, relative to its size, is constant.
DEPENDENT = 1e-6  # A column with a smaller part of its own, relative to it, depends on others.
SEPARATED = 1e-10  # relative curvature at the best coefficients, less of which is none
ORTHOGONAL = 1e-11  # relative: sums of a dual point below this are 0
NEAR = 1e-14  # relative: Newton's method ends at such sums of a gradient
LEVEL = 1e-13  # relative: values that differ by less are equal
DAMPINGS = (0.0, 1e-9, 1e-6, 1e-4, 1e-2, 1.0)  # of Newton steps, relative to the sum of the weights
MAX_NEWTON, MAX_HALVINGS = 100, 60

_LATEST = Latest()  # the best coefficients


@dataclass(frozen=True, slots=True, eq=False)
class Adjusted(LossOfAnother):
    """The loss at the best coefficients of covariates a_i, and at the best intercepts.

        F(z) = min over b, g of  sum_i s_i f(y_i, z_i + b + a_i'g)

    Several outputs have b and g of their own. F is convex in z; its gradient is that of f at the
    best b and g, so that a dual point v has the sum 0 times every covariate, A'v = 0, as it has the
    sum 0 where an intercept is free; there its conjugate is that of f, and elsewhere infinite. The
    second derivative is less by what b and g take off (a Schur complement), see `coupling`. So no
    solver need know of covariates; those that kernels make fast take them for columns that they do
    not penalise, and come here for the last digits (`solvers.ridge_fits.joined`).
    """

    each: Smooth  # f, without intercepts
    basis: FloatArray  # (n, r) orthonormal in the weights; of the covariates, and 1 if b is free
    back: FloatArray  # (1 + q, r) what the coefficients of the basis say of b and g
    kept: np.ndarray  # (q,) mask: the other covariates depend on these, and have coefficients of 0
    free: bool  # whether there are intercepts
    start: FloatArray  # (outputs, r) near the best coefficients of the basis: at margins of 0

    has_intercept: ClassVar[bool] = False  # that solvers know of
    separable: ClassVar[bool] = False

    # As of thresholds: f is at their best values too.
    own_intercepts = that_of_each("own_intercepts")
    outputs = that_of_each("outputs")
    of_labels = that_of_each("of_labels")

    @property
    def at_margins(self) -> Any:
        """f, without intercepts and covariates."""
        return self.each

    def free_columns(self, n: int) -> FloatArray:
        """Return the columns whose coefficients are not penalised: the basis."""
        return self.basis

    def rows(self, index: IndexArray) -> Adjusted:
        return replace(self, basis=self.basis[index])

    def solution(
        self, z: FloatArray, y: FloatArray, weight: FloatArray, start: FloatArray | None = None
    ) -> FloatArray:
        """Return the best coefficients of the basis at margins, (outputs, r); start: near them."""
        found: FloatArray | None = _LATEST.at(self, z, y, weight)
        if found is None:
            found = self._newton(z, y, weight, self.start if start is None else start)
            found.setflags(write=False)
            _LATEST.keep(found, self, z, y, weight)
        return found

    def moved(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return margins of f: z with the best intercepts and covariates."""
        return z + self.shift(self.solution(z, y, weight))

    def shift(self, solution: FloatArray) -> FloatArray:
        """Return what coefficients of the basis add to the margins, (outputs n,)."""
        return np.asarray((self.basis @ solution.T).T.ravel())

    def unpenalised(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[Any, FloatArray]:
        """Return the intercept and the coefficients of the covariates at margins.

        Of several outputs (outputs,) and (outputs, q), else a number, or minus the thresholds of
        ordered classes, and (q,).
        """
        solution = self.solution(z, y, weight)
        found = solution @ self.back.T
        if self.outputs > 1:
            return found[:, 0], found[:, 1:]
        shift = float(found[0, 0])
        if self.each.own_intercepts:
            own: Any = self.each
            return own.intercepts(z + self.shift(solution), y, weight) + shift, found[0, 1:]
        return shift, found[0, 1:]

    def null(self, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
        return float(self.value_gradient(np.zeros_like(weight), y, weight)[0])

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        return self.each.value_gradient(self.moved(z, y, weight), y, weight)

    def near(
        self, z: FloatArray, y: FloatArray, weight: FloatArray, solution: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return a value above that at the best coefficients, and a dual point; solution: near."""
        value, gradient = self.each.value_gradient(z + self.shift(solution), y, weight)
        return value, self._orthogonal(-gradient, y)

    def started(self, y: FloatArray, weight: FloatArray) -> Adjusted:
        """Return the loss with the best coefficients at margins of 0 for its start, if finite."""
        if self.basis.shape[1] == 0 or self.separates(y, weight):
            return self
        return replace(self, start=self.solution(np.zeros_like(weight), y, weight))

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return that of f: the second derivative is less by what `coupling` gives."""
        return self.each.curvature(self.moved(z, y, weight), y, weight)

    def curvature_by_output(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return those of f, (outputs, n)."""
        several: Any = self.each
        return np.asarray(several.curvature_by_output(self.moved(z, y, weight), y, weight))

    def coupling(
        self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> FloatArray | None:
        """Return what is taken off: by f itself, and by the covariates, Z'HN (N'HN)^+ N'HZ.

        H is the second derivative of f in the margins, N the basis in every output.
        """
        moved = self.moved(z, y, weight)
        taken = self.each.coupling(Z, moved, y, weight)
        if self._is_joint():
            p, columns = Z.shape[1], np.hstack([Z.dense(), self.basis])
            joint = DenseColumns(np.asfortranarray(columns))
            bent = self.each.curvature(moved, y, weight)
            cross = Z.dot(bent[:, None] * self.basis)
            off = self.each.coupling(joint, moved, y, weight)
            if off is not None:
                cross = cross - off[:p, p:]
        else:
            cross = Z.dot(self._bent(moved, y, weight))
        root = cross @ _inverse_root(self._own(moved, y, weight))
        found = root @ root.T
        return np.asarray(found if taken is None else taken + found)

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        V = v.reshape(self.outputs, -1)
        sums = np.abs(V @ self.basis)
        if (sums > ORTHOGONAL * (np.abs(V) @ np.abs(self.basis))).any():
            return np.inf
        return self.each.conjugate(v, y, weight)

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return a point near v that is inside for f, and orthogonal to the basis if v nearly is.

        What is taken off is in proportion to the entries of v, whose signs stay where it is little.
        """
        return self._orthogonal(self.each.inside(v, y, weight), y)

    def _orthogonal(self, v: FloatArray, y: FloatArray) -> FloatArray:
        V = v.reshape(self.outputs, -1).copy()
        for one in V:
            size, basis = np.abs(one), self.basis
            if self.target == "survival":  # sums over strata stay 0, and what was in proportion
                basis = basis.copy()
                for rows in kept_with(y, _alike):
                    basis[rows] -= size[rows] @ basis[rows] / max(size[rows].sum(), 1e-300)
            step = _inverse_root(basis.T @ (size[:, None] * basis))
            one -= size * (basis @ (step @ (step.T @ (basis.T @ one))))
        return V.ravel()

    def negative_log_likelihood(
        self, value: float, y: FloatArray, weight: FloatArray, n_rows: float
    ) -> float:
        return float(self.each.final.negative_log_likelihood(value, y, weight, n_rows))

    def mean(self, z: FloatArray) -> FloatArray:
        return np.asarray(self.each.final.mean(z))

    def separates(self, y: FloatArray, weight: FloatArray) -> bool:
        """Return whether no best coefficients are finite: the covariates determine some targets.

        Along a direction in which the loss falls for ever its curvature is lost.
        """
        zero = np.zeros_like(weight)
        moved = self.moved(zero, y, weight)
        start, end = (self.each.value_gradient(z, y, weight)[0] for z in (zero, moved))
        if end <= SEPARATED * start:
            return True
        values = np.linalg.eigvalsh(self._own(moved, y, weight))
        # A single column has no other to compare with, but the rows have curvature.
        largest = max(float(values[-1]), float(self.each.curvature(moved, y, weight).sum()))
        flat = int((values <= SEPARATED * max(largest, 1e-300)).sum())
        # Equal coefficients of all classes change nothing.
        return flat > (self.basis.shape[1] if self.outputs > 1 and self.of_labels else 0)

    def _is_joint(self) -> bool:
        """Return whether rows depend on each other in the one output of f."""
        return self.outputs == 1 and not self.each.separable

    def _bent(self, moved: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return HN, (outputs n, outputs r)."""
        q, each = self.outputs, self.each
        if q == 1:
            return np.asarray(each.curvature(moved, y, weight)[:, None] * self.basis)
        several: Any = each
        blocks = several.blocks(moved, y, weight)
        found = np.einsum("abn,nr->anbr", blocks, self.basis)
        return np.asarray(found.reshape(moved.size, q * self.basis.shape[1]))

    def _own(self, moved: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return N'HN."""
        q = self.outputs
        bent = self._bent(moved, y, weight)
        parts = bent.reshape(q, -1, bent.shape[1])
        found = np.concatenate([self.basis.T @ part for part in parts])
        if self._is_joint():
            off = self.each.coupling(DenseColumns(self.basis), moved, y, weight)
            found = found if off is None else found - off
        return np.asarray(0.5 * (found + found.T))

    def _newton(
        self, z: FloatArray, y: FloatArray, weight: FloatArray, found: FloatArray
    ) -> FloatArray:
        q, r = self.outputs, self.basis.shape[1]
        if q == 1 and self.free and self.each.has_intercept:
            found = found.copy()
            moved = z + self.shift(found)
            found[0, 0] += fit_intercept(self.each, moved, y, weight)[0] / self.basis[0, 0]

        def at(solution: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            """Return value, sums over the basis and the sizes of what is summed."""
            value, gradient = self.each.value_gradient(z + self.shift(solution), y, weight)
            rows = gradient.reshape(q, -1)
            return value, rows @ self.basis, np.abs(rows) @ np.abs(self.basis)

        now, total = at(found), float(weight.sum())
        for _ in range(MAX_NEWTON):
            if (np.abs(now[1]) <= NEAR * now[2]).all():
                break
            own = self._own(z + self.shift(found), y, weight)
            done = bool((np.abs(now[1]) <= ORTHOGONAL * now[2]).all())
            # Where few rows have a curvature there are directions without any.
            for damping in DAMPINGS[: 1 if done else None]:
                root = _inverse_root(own + damping * total * np.eye(q * r))
                step = (root @ (root.T @ now[1].ravel())).reshape(q, r)
                trial = at(found - step)
                for _ in range(MAX_HALVINGS):
                    if trial[0] <= now[0] + LEVEL * abs(now[0]):
                        break
                    step *= 0.5
                    trial = at(found - step)
                # Where rounding hides a decrease the sums still fall.
                ahead = trial[0] < now[0] - LEVEL * abs(now[0])
                ahead |= bool(np.abs(trial[1]).max() < 0.9 * np.abs(now[1]).max())
                if ahead:
                    break
            if not ahead:
                break
            found, now = found - step, trial
        return found


def adjusted(
    loss: Smooth, y: FloatArray, columns: FloatArray, weight: FloatArray, free: bool
) -> Adjusted:
    """Return a loss at the best coefficients of covariates.

    columns : (n, q) the covariates. weight : (n,) of the rows. free : whether there are intercepts.

    A covariate that is a combination of earlier ones (and of 1, or of the strata) has the
    coefficient 0, as in R.
    """
    constant = free and (loss.has_intercept or loss.outputs > 1)
    share = weight / weight.sum()
    centre = np.zeros(columns.shape[1])
    centred = columns.copy()
    if loss.target == "survival":  # a constant in a stratum changes nothing
        for rows in kept_with(y, _alike):
            centred[rows] -= share[rows] @ columns[rows] / share[rows].sum()
    elif constant or (loss.own_intercepts and loss.outputs == 1):  # thresholds take it up
        centre = share @ columns
        centred -= centre
        centred -= share @ centred
    size = np.sqrt(share @ columns**2)
    std = np.sqrt(share @ centred**2)
    kept = std > CONSTANT * np.maximum(size, 1e-300)
    unit = np.where(kept, std, 1.0)
    root = np.sqrt(share)[:, None]
    ones = np.ones((len(columns), 1 if constant else 0))
    own = np.abs(np.diag(np.linalg.qr(root * (centred / unit), mode="r")))
    kept[: own.size] &= own > DEPENDENT
    kept[own.size :] = False
    used = np.hstack([ones, centred[:, kept] / unit[kept]])
    inverse = np.linalg.inv(np.linalg.qr(root * used, mode="r"))
    n_ones = ones.shape[1]
    back = np.zeros((1 + kept.size, used.shape[1]))
    back[1:][kept] = inverse[n_ones:] / unit[kept][:, None]
    back[0] = inverse[:n_ones].sum(axis=0) - centre @ back[1:]
    each: Any = replace(loss, free=False) if loss.outputs > 1 else loss  # type: ignore[type-var]
    start = np.zeros((loss.outputs, used.shape[1]))
    found = Adjusted(each, np.ascontiguousarray(used @ inverse), back, kept, free, start)
    each_row = np.tile(weight / loss.outputs, loss.outputs)
    return found.started(y, each_row)


def as_adjusted(loss: object) -> Adjusted | None:
    """Return a loss with covariates; None: it has none."""
    return loss if isinstance(loss, Adjusted) else None


def without_covariates(loss: Smooth) -> Smooth:
    """Return the loss that is at the best coefficients of covariates, or one without any."""
    own = as_adjusted(loss)
    return loss if own is None else own.each


def started(loss: Smooth, y: FloatArray, weight: FloatArray) -> Smooth:
    """Return the loss with a start that is near its best coefficients on these rows, if any."""
    own = as_adjusted(loss)
    return loss if own is None else cast("Smooth", own.started(y, weight))


def rows_of(loss: Smooth, index: IndexArray) -> Smooth:
    """Return the loss of some rows; only one with covariates is another one there."""
    own = as_adjusted(loss)
    return loss if own is None else cast("Smooth", own.rows(index))


def _alike(y: FloatArray) -> list[IndexArray]:
    """Return the rows over each of which a constant of the margins changes nothing."""
    return (parts_of if y.shape[1] == 4 else rows_of_strata)(y)


def _inverse_root(matrix: FloatArray) -> FloatArray:
    """Return R with R R' the inverse of a positive semidefinite matrix, 0 where it is flat."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > FLAT * max(float(values[-1]), 1e-300)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))
