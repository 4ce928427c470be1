"""Quadratic models of the relaxation of the l0 problem, on few columns, by three methods.

    min_u  1/2 u'Hu - r'u + 1/2 ||u_A||^2 + 1/2 ||u_F||_(q)^2                                (Q)

with A the fixed and F the free units, as in `relaxation`, whose Newton steps are such problems:
`Quadratic` looks for the sets of the solution, `ProximalQuadratic` takes proximal steps, and
`ShareProblem` has the shares for variables.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .. import _kernels
from ..core.ranking import largest
from ..core.types import FloatArray, IndexArray
from .problem import BudgetUnits, admitted, worths
from .ridge_fits import solve_positive

# The k-support norm: its value, its proximal map and the sum of squares that is its dual.
#
#     1/2 ||h||_(q)^2 = min { 1/2 sum_g h_g^2 / d_g : 0 <= d_g <= 1, sum_g d_g <= q },  h >= 0
#
# Source: Argyriou, Foygel and Srebro, Sparse prediction with the k-support norm, NIPS 2012.

MOST_BASE = 1e10  # the shares of less curvature are these to ten digits


def top_squares(values: FloatArray, q: int, most: float = np.inf) -> float:
    """Return the sum of the q largest squares, or of what is in their place."""
    square = worths(values, most)
    if q >= square.size:
        return float(square.sum())
    return float(np.partition(square, square.size - q)[square.size - q :].sum()) if q else 0.0


def support_norm(u: FloatArray, q: int) -> tuple[float, float]:
    """Return 1/2 ||u||_(q)^2 and the threshold t with d_j = min(1, |u_j| / t); t = 0: all d_j = 1.

    With |u| sorted, r entries are above t = (sum of the others) / (q - r).
    """
    size = np.abs(u[u != 0])
    if size.size <= q:
        return 0.5 * float(size @ size), 0.0
    if q == 0:
        return np.inf, np.inf
    size = np.sort(size)[::-1]
    rest = np.cumsum(size[::-1])[::-1][:q]
    threshold = rest / (q - np.arange(q))
    r = int(np.argmax(size[:q] <= threshold))  # it holds for the last one
    above = size[:r]
    return 0.5 * (float(above @ above) + float(rest[r]) ** 2 / (q - r)), float(threshold[r])


def shares(u: FloatArray, q: int) -> FloatArray:
    """Return these d_j."""
    threshold = support_norm(u, q)[1]
    size = np.abs(u)
    return np.asarray(np.minimum(1.0, size / threshold) if threshold > 0 else size > 0, np.float64)


def proximal_shares(size: FloatArray, q: int, curvature: float) -> FloatArray:
    """Return the d_j of argmin_u curvature/2 ||u - v||^2 + 1/2 ||u||_(q)^2, size = |v|.

    u_j = v_j curvature d_j / (curvature d_j + 1), where d_j = clip(x |v_j| - 1/curvature, 0, 1) for
    the x at which they sum to q. The sum is linear between the breakpoints of the d_j.
    """
    if q == 0:
        return np.zeros(size.size)
    if np.count_nonzero(size) <= q:
        share = np.zeros(size.size)
        share[largest(size, min(q, size.size))] = 1.0
        return share
    base = min(1.0 / curvature, MOST_BASE)
    qth = float(np.partition(size, size.size - q)[size.size - q])
    # At (1 + base) / qth the sum is at least q: what is zero there is zero at the solution.
    some: IndexArray = np.flatnonzero(size >= qth * (base / (1.0 + base)))
    a = size[some]

    def total(x: float) -> float:
        return float(np.clip(x * a - base, 0.0, 1.0).sum())

    points = np.concatenate([base / a, (1.0 + base) / a])
    order = np.argsort(points)
    points, slopes = points[order], np.cumsum(np.concatenate([a, -a])[order])
    totals = np.cumsum(slopes[:-1] * np.diff(points))  # at all points but the first
    low = min(int(np.searchsorted(totals, q, side="right")), points.size - 2)
    high = low + 1
    below, above = total(points[low]), total(points[high])
    x = points[high]
    if above > below:
        x = points[low] + (points[high] - points[low]) * (q - below) / (above - below)
    share = np.zeros(size.size)
    share[some] = np.clip(x * a - base, 0.0, 1.0)
    return share


class PosedQuadratic:
    """(Q), the columns of the fixed units first."""

    def __init__(
        self, matrix: FloatArray, right: FloatArray, units: BudgetUnits, n_fixed: int, n_free: int
    ) -> None:
        """Pose it with H, r, the units of the columns in their order, |A| and q."""
        self._matrix, self._right, self._units = matrix, right, units
        self._n_fixed, self._q = n_fixed, n_free
        n_own = int(units.sizes(np.arange(n_fixed)).sum())
        self._own, self._others = slice(0, n_own), slice(n_own, right.size)
        self._free = units.take(np.arange(n_fixed, units.usable.size))

    def _penalty(self, u: FloatArray) -> float:
        own = u[self._own]
        rest = support_norm(self._free.strength(u[self._others]), self._q)[0]
        return 0.5 * float(own @ own) + rest


# The sets of the solution: which units have the share 1, and which one between.
#
# The proximal point of u + c / t, c = r - Hu, says which units have the share d_g = 1, which one
# between 0 and 1, and the directions e_g of these; at the solution it says so for any t > 0. Given
# that, the problem is a linear system:
#
#     (H + P) u = r,    P = I on units of share 1,  P = ww' / l on those between,
#
# with w the directions one after the other and l = q - |share 1|; of groups P has the curvature
# across e_g too. Such systems are solved until the sets are those of the solution, which a gap
# certifies: with t = 1, the curvature of the ridge, and, where that leads nowhere, with that of the
# loss, which may be far larger.
#
# At the solution the same system says what dividing by a unit between would bring. With G the
# inverse of H + P and e = e_g, with 0 in other places: if the part e'u has to be 0, the value rises
# by (e'u)^2 / (2 e'Ge), as in any least squares. If the share of the unit has to be 1, with l - 1
# for the others, P changes by aa' / (l (l - 1)), a = l e - w, and the value rises by
#
#     (a'u)^2 / (2 (l (l - 1) + a'Ga)).
#
# Both are exact as long as no other unit enters, leaves or reaches a share of 1.
#
# Source: Li, Sun and Toh, SIAM Journal on Optimization 28(1), 2018 (semismooth Newton steps).


@dataclass(frozen=True, slots=True)
class QuadraticTuning:
    """Constants of the quadratic program over k-support norms."""

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


class Quadratic(PosedQuadratic):
    """(Q) by the sets of its solution."""

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


# Proximal gradient steps, coefficients bounded or not.
#
# They have momentum that starts anew where it leads back: where many coefficients are not 0 and the
# columns are far from collinear, they are faster than the search for the sets of the solution.
#
# Among vectors with at most q entries, none larger than M in size, the tightest convex function
# below the ridge term is
#
#     min { 1/2 sum_j u_j^2 / d_j : |u_j| / M <= d_j <= 1, sum_j d_j <= q },
#
# which is half the squared k-support norm where |u_j| <= M and sum_j |u_j| <= q M, and infinite
# elsewhere: the shares d_j = min(1, |u_j| / t) of that norm are |u_j| / M or more as soon as t <=
# M. In the dual the square of a score is replaced by a Huber function, `problem.worths`. The
# proximal point is that of the k-support norm, cut off at M, where it is within the sum; otherwise
# it is the nearest point of that sum and size.
#
# Sources: Liu, Shafiee and Lodi, arXiv:2502.09502, 2025 (the relaxation with bounds, proximal
# steps); O'Donoghue and Candes, Foundations of Computational Mathematics 15, 2015 (restarts of
# momentum).


@dataclass(frozen=True, slots=True)
class ProximalTuning:
    """Constants of the proximal steps with bounds on coefficients."""

    max_steps: int = 300  # before the loss is looked at again
    power_steps: int = 10  # for the largest curvature, which steps raise where it is too small
    raised_by: float = 1.5


PROXIMAL = ProximalTuning()


def is_inside(u: FloatArray, n_own: int, q: int, units: BudgetUnits) -> bool:
    """Return whether the penalty of coefficients near these is the one without bounds."""
    if units.most == np.inf:
        return True
    largest, total = np.abs(u).max(initial=0.0), np.abs(u[n_own:]).sum()
    return bool(largest < units.most and total < q * units.most)


def within(u: FloatArray, n_own: int, q: int, units: BudgetUnits) -> FloatArray:
    """Return coefficients scaled and cut off so that the penalty is finite.

    n_own : how many of them, the first, are fixed in.
    """
    u = np.clip(admitted(u, units.signs), -units.most, units.most)
    free = u[n_own:]
    total, allowed = float(np.abs(free).sum()), q * units.most
    if total > allowed:
        free *= allowed / total
    return u


def proximal_point(v: FloatArray, q: int, curvature: float, most: float) -> FloatArray:
    """Return argmin_u curvature/2 ||u - v||^2 + the penalty of q free features."""
    size = np.abs(v)
    if np.clip(size / most - 1.0 / curvature, 0.0, 1.0).sum() > q:
        return np.sign(v) * np.clip(size - _threshold(size, q * most, most), 0.0, most)
    share = curvature * proximal_shares(size, q, curvature)
    return np.clip(v * (share / (share + 1.0)), -most, most)


def _threshold(size: FloatArray, total: float, most: float) -> float:
    """Return the t at which clip(size - t, 0, most) sum to a total, which they exceed at 0."""
    descending = np.sort(size)[::-1]
    sums = np.concatenate([[0.0], np.cumsum(descending)])

    def total_at(t: FloatArray) -> FloatArray:
        above = np.searchsorted(-descending, -t, side="left")
        cut = np.searchsorted(-descending, -(t + most), side="right")
        return np.asarray(sums[above] - sums[cut] - t * (above - cut) + most * cut)

    points = np.sort(np.concatenate([[0.0], size, size - most]))
    points = points[points >= 0.0]
    totals = total_at(points)  # they fall, and are linear in between
    last = max(int(np.count_nonzero(totals >= total)) - 1, 0)  # rounding may leave none
    if last + 1 == points.size or totals[last] == totals[last + 1]:
        return float(points[last])
    way = (totals[last] - total) / (totals[last] - totals[last + 1])
    return float(points[last] + way * (points[last + 1] - points[last]))


class ProximalQuadratic(PosedQuadratic):
    """(Q) by proximal steps."""

    def minimise(self, u: FloatArray, tol: float) -> FloatArray:
        """Return a point whose gap is at most `tol`, or the lowest one found.

        u : where to start; its penalty is finite.
        """
        image, bend = self._matrix @ u, self._bend()
        if not np.isfinite(image).all():  # sums over columns overflow
            return u
        best, least = u, self._value(u, image)
        ahead, image_ahead, momentum = u, image, 1.0
        for _ in range(PROXIMAL.max_steps):
            while True:
                following = self._proximal_point(ahead, self._right - image_ahead, bend)
                move = following - ahead
                along = self._matrix @ move
                if not float(move @ along) > bend * float(move @ move) * (1.0 + 1e-9):
                    break
                bend *= PROXIMAL.raised_by
            image_following = image_ahead + along
            value = self._value(following, image_following)
            if value < least:
                best, least = following, value
            scores = self._right - image_following
            gap = self._penalty(following) + self._conjugate(scores) - float(following @ scores)
            if gap <= tol:
                return following
            if float(move @ (following - u)) < 0.0:  # it led back
                ahead, image_ahead, momentum = following, image_following, 1.0
            else:
                further = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
                share = (momentum - 1.0) / further
                ahead = following + share * (following - u)
                image_ahead = image_following + share * (image_following - image)
                momentum = further
            u, image = following, image_following
        return best

    def _bend(self) -> float:
        """Return the largest curvature, nearly, or less."""
        v = np.ones(self._right.size)
        largest = 1e-300
        for _ in range(PROXIMAL.power_steps):
            image = self._matrix @ v
            size = float(np.linalg.norm(image))
            if not size > 0.0:
                break
            largest, v = size / float(np.linalg.norm(v)), image / size
        return largest

    def _proximal_point(self, u: FloatArray, scores: FloatArray, bend: float) -> FloatArray:
        v, most = admitted(u + scores / bend, self._units.signs), self._units.most
        own = np.clip(v[self._own] * (bend / (bend + 1.0)), -most, most)
        others = v[self._others]
        length = self._free.strength(others)
        moved = proximal_point(length, self._q, bend, most)
        share = np.divide(moved, length, out=np.zeros_like(length), where=length > 0.0)
        return np.concatenate([own, others * self._free.spread(share)])

    def _value(self, u: FloatArray, image: FloatArray) -> float:
        return 0.5 * float(u @ image) - float(self._right @ u) + self._penalty(u)

    def _conjugate(self, scores: FloatArray) -> float:
        own = admitted(scores[self._own], self._units.signs[self._own])
        free, most = self._free.strength(scores[self._others]), self._units.most
        return 0.5 * (float(worths(own, most).sum()) + top_squares(free, self._q, most))


# The problem in its shares, whatever the number of outputs.
#
#     min { phi(d) : 0 <= d_j <= 1, d_j = 1 of fixed units, the others sum to q },
#     phi(d) = min_U  1/2 sum_j ||u_j||^2 / d_j + 1/2 tr U'PU - tr R'U                          (S)
#
# with a row u_j of U for every unit. It is (Q) with the coefficients
# eliminated: phi is convex and smooth in d, and has as many variables as there are units, not times
# outputs. With c = R - PU at the minimum, u_j = d_j c_j, the derivative is -1/2 ||c_j||^2, and the
# second one
#
#     phi_ij = B_ij c_i'c_j,    B = (I + PD)^-1 P.
#
# Newton steps go over the shares that are not at an end, or leave it, to the least value of their
# model within the constraints, nearly; where one does not descend, the best shares of U come next,
# d_j = min(1, ||u_j|| / t), which always do. Of any d the dual value is -1/2 tr U'PU - 1/2 S, with
# S the sum of ||c_j||^2 over the fixed units and the q of the others where it is largest.
#
# Source: Bertsimas and Van Parys, Annals of Statistics 48(1), 2020 (the problem in the shares).


@dataclass(frozen=True, slots=True)
class SharesTuning:
    """Constants of the Newton steps over the shares of units."""

    max_steps: int = 100
    most_plain: int = 10  # of them that are none of Newton's: more of them are slow
    halvings: int = 12
    rounding: float = 1e-13  # of values, relative
    descent: float = 1e-4  # of a step, as a share of what its slope promises
    smallest: float = 1e-9  # shares below are 0
    flat: float = 1e-12  # curvature added, relative


SHARES = SharesTuning()


@dataclass(frozen=True, slots=True)
class Shares:
    """A point of (S)."""

    share: FloatArray  # (n_units,)
    coef: FloatArray  # (n_units, outputs) U
    scores: FloatArray  # (n_units, outputs) c
    value: float  # phi
    bound: float  # the dual value
    into: FloatArray  # (n_units,) by how much phi rises, nearly, if a share must be 1; 0 at ends
    out: FloatArray  # if it must be 0

    @property
    def gap(self) -> float:
        """The value less the bound."""
        return self.value - self.bound


class ShareProblem:
    """(S), the fixed units first."""

    def __init__(self, P: FloatArray, R: FloatArray, n_fixed: int, n_free: int) -> None:
        """Pose it with P, R, how many units are fixed, and q."""
        self._P, self._R, self._n_fixed, self._q = P, R, n_fixed, n_free

    def minimise(
        self, coef: FloatArray, tol: float, cutoff: float, rest: float, deadline: float = np.inf
    ) -> Shares:
        """Return a point of a small gap, or of a bound above the cutoff, or the last that descends.

        coef : (n_units, outputs) U to start with the shares of.
        tol : of the gap, relative to what the value and `rest` are together.
        """
        point, left = self._at(self._start(coef)), SHARES.most_plain
        for _ in range(SHARES.max_steps):
            late = time.perf_counter() >= deadline
            done = point.bound > cutoff or point.gap <= tol * abs(rest + point.value)
            if done or late or not left:
                break
            following = self._newton_step(point)
            if following is None:
                following, left = self._plain_step(point), left - 1
            if following is None:  # rounding: no decrease is left
                break
            point = following
        into, out = self._rises(point)
        return Shares(point.share, point.coef, point.scores, point.value, point.bound, into, out)

    def _start(self, coef: FloatArray) -> FloatArray:
        share = np.ones(len(self._R))
        free = self._shares_of(coef)
        missing = self._q - float(free.sum())
        if missing > 0:  # fewer than q are not 0
            free += missing * (1.0 - free) / max(float((1.0 - free).sum()), SHARES.smallest)
        share[self._n_fixed :] = np.minimum(free, 1.0)
        return share

    def _shares_of(self, coef: FloatArray) -> FloatArray:
        return shares(np.sqrt((coef[self._n_fixed :] ** 2).sum(axis=1)), self._q)

    def _at(self, share: FloatArray) -> Shares:
        used = np.flatnonzero(share)
        root = np.sqrt(share[used])
        matrix = root[:, None] * self._P[np.ix_(used, used)] * root
        np.einsum("ii->i", matrix)[:] += 1.0
        part = root[:, None] * cho_solve(
            cho_factor(matrix, check_finite=False), root[:, None] * self._R[used],
            check_finite=False,
        )  # fmt: skip
        image = self._P[:, used] @ part
        coef, scores = np.zeros_like(self._R), self._R - image
        coef[used] = part
        value = -0.5 * float((self._R[used] * part).sum())
        size = np.sqrt((scores**2).sum(axis=1))
        largest = float((size[: self._n_fixed] ** 2).sum()) + top_squares(
            size[self._n_fixed :], self._q
        )
        bound = -0.5 * float((part * image[used]).sum()) - 0.5 * largest
        nothing = np.zeros(len(share))
        return Shares(share, coef, scores, value, bound, nothing, nothing)

    def _curvature(self, point: Shares, moving: np.ndarray) -> FloatArray:
        """Return the second derivative of phi in some shares."""
        used = np.flatnonzero(point.share)
        root = np.sqrt(point.share[used])
        matrix = root[:, None] * self._P[np.ix_(used, used)] * root
        np.einsum("ii->i", matrix)[:] += 1.0
        beside = root[:, None] * self._P[np.ix_(used, moving)]
        inner = cho_solve(cho_factor(matrix, check_finite=False), beside, check_finite=False)
        bend = self._P[np.ix_(moving, moving)] - beside.T @ inner
        scores = point.scores[moving]
        found = bend * (scores @ scores.T)
        np.einsum("ii->i", found)[:] += SHARES.flat * float(np.trace(found)) + 1e-300
        return np.asarray(found)

    def _newton_step(self, point: Shares) -> Shares | None:
        found = self._newton(point)
        if found is None:
            return None
        (move, promised), step = found, 1.0
        for _ in range(SHARES.halvings):
            share = np.clip(point.share + step * move, 0.0, 1.0)
            share[share < SHARES.smallest] = 0.0
            share[share > 1.0 - SHARES.smallest] = 1.0
            following = self._at(share)
            if following.value <= point.value + SHARES.descent * step * promised:
                return following
            level = following.value <= point.value + SHARES.rounding * abs(point.value)
            if level and following.gap <= 0.5 * point.gap:
                return following  # near the solution the value has no more digits
            step *= 0.5
        return None

    def _plain_step(self, point: Shares) -> Shares | None:
        share = point.share.copy()
        share[self._n_fixed :] = self._shares_of(point.coef)
        found = self._at(share)
        return found if found.value < point.value else None

    def _newton(self, point: Shares) -> tuple[FloatArray, float] | None:
        """Return the Newton direction of the shares that are not at an end, or leave it.

        And how steep phi falls along it.
        """
        n, share = self._n_fixed, point.share
        if not 0 < self._q < share.size - n:
            return None
        free = np.arange(share.size) >= n
        square = (point.scores**2).sum(axis=1)
        inner = free & (share > 0) & (share < 1)
        if inner.any():
            level = float(square[inner].mean())
        else:
            level = float(np.sort(square[n:])[::-1][self._q - 1 : self._q + 1].mean())
        moving = inner | (free & (share == 0) & (square > level))
        moving |= free & (share == 1) & (square < level)
        some = np.flatnonzero(moving)
        if some.size < 2:
            return None
        # Moves sum to 0: with the level in the slopes, their rounding would hide what is left.
        slope = 0.5 * (level - square[some])
        move = np.zeros(share.size)
        try:
            move[some] = least_between(
                self._curvature(point, some), slope, -share[some], 1.0 - share[some]
            )
        except np.linalg.LinAlgError:  # rounding
            return None
        promised = float(slope @ move[some])
        return (move, promised) if promised < 0 else None

    def _rises(self, point: Shares) -> tuple[FloatArray, FloatArray]:
        """Return by how much phi rises, to second order, if a share has to be 1, or 0."""
        share = point.share
        into, out = np.zeros(share.size), np.zeros(share.size)
        some = np.flatnonzero((share > 0) & (share < 1))
        some = some[some >= self._n_fixed]
        if some.size > 1:
            inverse = np.linalg.inv(self._curvature(point, some))
            total = inverse.sum(axis=1)
            own = np.diag(inverse) - total**2 / float(total.sum())
            own = np.maximum(own, 1e-300)
            into[some] = 0.5 * (1.0 - share[some]) ** 2 / own
            out[some] = 0.5 * share[some] ** 2 / own
        return into, out


def least_between(
    H: FloatArray, slope: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Return a point of a small value 1/2 x'Hx + slope'x where sum x = 0, low <= x <= high.

    From x = 0 it goes to the minimum over the entries that are not at an end, or as far as the
    first of these that comes there, which stays: the value falls every time.
    """
    x, free = np.zeros(slope.size), np.ones(slope.size, bool)
    while free.sum() > 1:
        own = np.flatnonzero(free)
        factor = cho_factor(H[np.ix_(own, own)], check_finite=False)
        right = np.column_stack([-(slope + H @ x)[own], np.ones(own.size)])
        one, other = cho_solve(factor, right, check_finite=False).T
        step = one - other * (float(one.sum()) / float(other.sum()))
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(step < 0, low[own] - x[own], high[own] - x[own]) / step
        reach[step == 0] = np.inf
        length = min(1.0, float(reach.min()))
        x[own] += length * step
        if length == 1.0:
            break
        ended = own[reach <= length + SHARES.smallest]
        x[ended] = np.where(step[reach <= length + SHARES.smallest] < 0, low[ended], high[ended])
        free[ended] = False
    return x
