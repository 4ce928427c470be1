"""The relaxation of the l0 problem where the loss is quadratic, on few columns.

    min_u  1/2 u'Hu - r'u + 1/2 ||u_A||^2 + 1/2 ||u_F||_(q)^2                                   (Q)

with A the fixed and F the free units, as in `pool.relaxation`, whose Newton steps are such
problems. The proximal point of u + c / t, c = r - Hu, says which units have the share d_g = 1,
which one between 0 and 1, and the directions e_g of these; at the solution it says so for any
t > 0. Given that, the problem is a linear system:

    (H + P) u = r,    P = I on units of share 1,  P = ww' / l on those between,

with w the directions one after the other and l = q - |share 1|; of groups P has the curvature
across e_g too. Such systems are solved until the sets are those of the solution, which a gap
certifies: with t = 1, the curvature of the ridge, and, where that leads nowhere, with that of the
loss, which may be far larger.

At the solution the same system says what dividing by a unit between would bring. With G the inverse
of H + P and e = e_g, with 0 in other places: if the part e'u has to be 0, the value rises by
(e'u)^2 / (2 e'Ge), as in any least squares. If the share of the unit has to be 1, with l - 1 for
the others, P changes by aa' / (l (l - 1)), a = l e - w, and the value rises by

    (a'u)^2 / (2 (l (l - 1) + a'Ga)).

Both are exact as long as no other unit enters, leaves or reaches a share of 1.

Source: Li, Sun and Toh, SIAM Journal on Optimization 28(1), 2018 (semismooth Newton steps).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import _kernels
from ...core.types import FloatArray, IndexArray
from ..signs import admitted
from ..units import Units
from .ridge import solve_positive
from .support_norm import MOST_BASE, proximal_shares, support_norm, top_squares


@dataclass(frozen=True, slots=True)
class QuadraticTuning:
    """Constants, each with what it was measured for."""

    max_steps: int = 60
    most_proximal: int = 3  # steps that are none of Newton's: more of them are slow
    halvings: int = 8
    flat: float = 1e-9  # curvature added for units in between, which may be more than the rows
    most_compiled: int = 150  # columns; with more of them LAPACK is faster
    no_descent: float = 1e-14  # relative to the value
    whole: float = 1.0 - 1e-12  # a share that is 1 but for rounding


QUADRATIC = QuadraticTuning()
# as kernels take it
RULE = (
    (QUADRATIC.max_steps, QUADRATIC.most_proximal, QUADRATIC.halvings),
    (QUADRATIC.flat, QUADRATIC.no_descent, MOST_BASE, QUADRATIC.whole),
)


@dataclass(frozen=True, slots=True)
class _System:
    """The linear system of some sets."""

    matrix: FloatArray  # H + P on the columns of share 1, then on those between
    columns: IndexArray
    n_inside: int  # of them with share 1
    between: IndexArray  # units
    owner: IndexArray  # of each column between, its place among these
    direction: FloatArray  # of these columns
    left: int  # l


class Quadratic:
    """(Q), the columns of the fixed units first."""

    def __init__(
        self, matrix: FloatArray, right: FloatArray, units: Units, n_fixed: int, n_free: int
    ) -> None:
        """Pose it with H, r, the units of the columns in their order, |A| and q."""
        self._matrix, self._right, self._units = matrix, right, units
        self._n_fixed, self._q = n_fixed, n_free
        n_own = int(units.sizes(np.arange(n_fixed)).sum())
        self._own, self._others = slice(0, n_own), slice(n_own, right.size)
        self._free = units.take(np.arange(n_fixed, units.usable.size))

    def minimise(self, u: FloatArray, tol: float) -> FloatArray:
        """Return a point whose value is within `tol` of the least, or the last one that is lower.

        u : where to start.
        """
        if self._is_small():
            u = u.copy()
            _kernels.minimise_quadratic(
                np.ascontiguousarray(self._matrix), self._right, self._n_fixed, self._q, tol, RULE,
                u,
            )  # fmt: skip
            return u
        image = self._matrix @ u
        penalty = self._penalty(u)
        value = 0.5 * float(u @ image) - float(self._right @ u) + penalty
        typical = float(np.einsum("ii->i", self._matrix).mean()) if u.size else 0.0
        typical = typical if typical > 0 else 1.0
        left = QUADRATIC.most_proximal
        for _ in range(QUADRATIC.max_steps):
            scores = self._right - image
            if penalty + self._conjugate(scores) - float(u @ scores) <= tol:
                break
            for way in range(3 if left else 2):
                towards = (
                    self._proximal_point(u, scores) if way == 2
                    else self.target(u, scores, typical if way else 1.0)
                )  # fmt: skip
                move = towards - u
                along = self._matrix @ move
                slope, bend = -float(move @ scores), float(move @ along)
                smooth, step = value - penalty, 1.0
                for _ in range(QUADRATIC.halvings):
                    of_trial = self._penalty(u + step * move)
                    trial = smooth + step * slope + 0.5 * step * step * bend + of_trial
                    if trial < value - QUADRATIC.no_descent * abs(value):
                        break
                    step *= 0.5
                else:
                    continue
                break
            else:
                break
            left -= way == 2
            u, image = u + step * move, image + step * along
            value, penalty = trial, of_trial
        return u

    def _is_small(self) -> bool:
        """Return whether a compiled solver does it: features by themselves, too few for BLAS."""
        alone = self._units.usable.size == self._right.size <= QUADRATIC.most_compiled
        return alone and not bool(self._units.signs.any())

    def target(self, u: FloatArray, scores: FloatArray, curvature: float = 1.0) -> FloatArray:
        """Return the minimum given the sets at u, with units at 0 that would turn back.

        curvature : t.
        """
        system, target = self._system(u + scores / curvature, curvature), np.zeros_like(u)
        right, signs = self._right[system.columns], self._units.signs[system.columns]
        left = np.arange(right.size)
        while left.size:
            found = np.zeros(right.size)
            try:
                found[left] = solve_scaled(system.matrix[np.ix_(left, left)], right[left])
            except np.linalg.LinAlgError:
                return u
            along = found[system.n_inside :] * system.direction
            stays = admitted(found, signs) == found
            stays[system.n_inside :] &= np.bincount(system.owner, along)[system.owner] > 0
            if stays[left].all():
                target[system.columns] = found
                break
            left = left[stays[left]]
        return target

    def _proximal_point(self, u: FloatArray, scores: FloatArray) -> FloatArray:
        """Return where a proximal gradient step leads, from which there is always descent."""
        bend = float(np.abs(self._matrix).sum(axis=1).max()) or 1.0
        target = admitted(u + scores / bend, self._units.signs)
        share = np.ones(self._units.usable.size)
        length = self._free.strength(target[self._others])
        share[self._n_fixed :] = proximal_shares(length, self._q, bend)
        share = self._units.spread(share)
        return target * (bend * share / (bend * share + 1.0))

    def rises(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return by how much the value rises if a unit must be in, and if it must be out.

        u : a solution. Of units whose share is not between 0 and 1 both are 0.
        """
        into, out = np.zeros(self._units.usable.size), np.zeros(self._units.usable.size)
        one = self._system(u + self._right - self._matrix @ u)
        if not one.between.size:
            return into, out
        try:
            inverse = np.linalg.inv(one.matrix)
        except np.linalg.LinAlgError:
            return into, out
        u = (inverse @ self._right[one.columns])[one.n_inside :]
        inverse = inverse[one.n_inside :, one.n_inside :]
        directions = np.zeros((u.size, one.between.size))
        directions[np.arange(u.size), one.owner] = one.direction
        images = inverse @ directions
        own = np.maximum(np.einsum("ij,ij->j", directions, images), 1e-300)
        shared, left = one.direction @ images, one.left
        length = np.maximum(u @ directions, 0.0)
        across = left * (left - 1.0) + left**2 * own - 2.0 * left * shared + float(shared.sum())
        away = left * length - length.sum()
        into[one.between] = 0.5 * away**2 / np.maximum(across, 1e-300)
        out[one.between] = 0.5 * length**2 / own
        return into, out

    def _system(self, v: FloatArray, curvature: float = 1.0) -> _System:
        """Return the system of the sets that a point v = u + c / t shows."""
        share = np.ones(self._units.usable.size)
        length = self._free.strength(v[self._others])
        share[self._n_fixed :] = proximal_shares(length, self._q, curvature)
        share[share >= QUADRATIC.whole] = 1.0
        inside = np.flatnonzero(share == 1.0)
        left = self._n_fixed + self._q - inside.size
        between = np.flatnonzero((share > 0) & (share < 1) & (left > 0))  # 0: by rounding
        if self._units.signs.any():  # units are features then: those of a wrong sign stay 0
            inside = inside[admitted(v, self._units.signs)[inside] != 0]
        columns = self._units.features(np.concatenate([inside, between]))
        n_inside = int(self._units.sizes(inside).sum())
        matrix = self._matrix[np.ix_(columns, columns)]
        diagonal = np.einsum("ii->i", matrix)
        diagonal[:n_inside] += 1.0
        units, part = self._units.take(between), v[columns[n_inside:]]
        direction = part / units.spread(units.strength(part))
        if between.size:
            corner = matrix[n_inside:, n_inside:]
            corner += np.outer(direction, direction / left)
            units.bend_across(corner, direction, 1.0 / share[between])
            diagonal[n_inside:] += QUADRATIC.flat * (1.0 + diagonal[n_inside:])
        owner = np.repeat(np.arange(between.size), self._units.sizes(between))
        return _System(matrix, columns, n_inside, between, owner, direction, left)

    def _penalty(self, u: FloatArray) -> float:
        own = u[self._own]
        rest = support_norm(self._free.strength(u[self._others]), self._q)[0]
        return 0.5 * float(own @ own) + rest

    def _conjugate(self, scores: FloatArray) -> float:
        own = admitted(scores[self._own], self._units.signs[self._own])
        rest = top_squares(self._free.strength(scores[self._others]), self._q)
        return 0.5 * (float(own @ own) + rest)


def solve_scaled(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive definite system, whose scales may differ by many orders; it is changed."""
    unit = 1.0 / np.sqrt(np.einsum("ii->i", matrix))
    matrix *= unit[:, None]
    matrix *= unit
    return np.asarray(unit * solve_positive(matrix, unit * right))
