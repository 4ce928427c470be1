"""The bound of a dual point, and of a tree of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from ..core.results import Certificate, Minorant, Tree
from ..core.types import FloatArray, IndexArray
from .data import Data
from .form import CertificateError
from .losses import ROUNDOFF

MOST_WAITING = 1 << 27  # The nodes that wait for their turn have so many features in all.


def replay(
    data: Data, tree: Tree, units: Units, claim: float, extraction: Extraction | Curvature | None
) -> tuple[float, float, int, float]:
    """Return the bound, its rounding, the number of nodes below the root and what is left short.

    The bound is at least the claim where nothing is left short by rounding.

    extraction : D, for all nodes but the root.

    Raises CertificateError where a model may be below the claim.
    """
    children: dict[int, list[int]] = {}
    for number, parent in enumerate(tree.parent.tolist()):
        children.setdefault(parent, []).append(number)
    shown, rounding, short, n_nodes, n_waiting = np.inf, 0.0, 0.0, -1, 0
    waiting = [(0, units.fixed, units.free, np.empty(0), 0.0)]
    while waiting:
        number, fixed, free, dual, doubt = waiting.pop()
        n_nodes, n_waiting = n_nodes + 1, n_waiting - free.size
        if tree.row[number] >= 0:
            dual = data.feasible(tree.dual[tree.row[number]])
        node = units.node(dual, fixed, free, extraction if number else None)
        rounding = max(rounding, node.rounding)
        if node.bound >= claim:
            shown = min(shown, node.bound)
            continue
        # Where rounding may end a node, so it may have ended one of its units in the search.
        missing = node.short_of(claim)
        doubt = max(doubt, missing if missing < np.inf else 0.0)
        below = children.get(number, [])
        if not below and doubt > 0.0:
            short = max(short, doubt)
            continue
        if not below:
            raise CertificateError(
                f"the certificate claims the bound {claim!r}; node {number} of its tree shows only "
                f"{node.bound!r}."
            )
        of_models = np.maximum(node.inside(), node.outside())  # that this node need not look at
        decided = of_models > claim
        shown = min(shown, float(of_models[decided].min(initial=np.inf)))
        fixed, free = np.append(fixed, free[decided & node.top]), free[~decided]
        if fixed.size > units.budget:
            continue  # no model has them all
        if fixed.size == units.budget:
            free = free[:0]
        branch = tree.feature[below]
        whole = branch.size == 1 and branch[0] == -1
        halves = branch.size == 2 and branch[0] == branch[1] and tree.inside[below].sum() == 1
        if not whole and not halves:
            raise CertificateError(f"node {number} of the tree is divided with a rest.")
        n_before = len(waiting)
        if not number:
            data.X.hold(units.features(np.append(fixed, free)))
        for child in below:
            feature, inside = tree.feature[child], tree.inside[child]
            others = free[free != feature]
            if whole or (inside and feature in fixed):
                waiting.append((child, fixed, free, dual, doubt))
            elif inside and feature in free:
                waiting.append((child, np.append(fixed, feature), others, dual, doubt))
            elif not inside and feature not in fixed:
                waiting.append((child, fixed, others, dual, doubt))
        n_waiting += sum(left[2].size for left in waiting[n_before:])
        if n_waiting > MOST_WAITING:
            raise CertificateError("the tree of the certificate is too deep to be replayed.")
    return shown, rounding, n_nodes, short


@dataclass(frozen=True, slots=True)
class Node:
    """What a dual point shows of the models with all fixed units and some of the free ones."""

    bound: float
    rounding: float
    square: FloatArray  # of the free units, or what a bound on coefficients makes of it
    top: np.ndarray  # the free units in the best set
    last: float  # the smallest square in it
    following: float  # the largest square outside of it

    def short_of(self, claim: float) -> float:
        """Return by how much the bound is below a claim: infinity where rounding is less."""
        if self.bound >= claim:
            return 0.0
        wrong = claim - self.bound
        return wrong if wrong <= self.rounding else np.inf

    def outside(self) -> FloatArray:
        """Return a bound of the models with each free unit; -inf of the best set, which tells none.

        A unit whose bound is above an objective is in no model as good as that.
        """
        return np.where(self.top, -np.inf, self.bound + 0.5 * (self.last - self.square))

    def inside(self) -> FloatArray:
        """Return a bound of the models without each free unit; -inf outside of the best set.

        A unit whose bound is above an objective is in all models as good as that.
        """
        return np.where(self.top, self.bound + 0.5 * (self.square - self.following), -np.inf)


class Units:
    """What the budget counts: features, or groups of them."""

    def __init__(self, data: Data, certificate: Certificate) -> None:
        m, groups = data.usable.size, certificate.groups
        self._data, self._grouped = data, groups is not None
        self.code = np.arange(m) if groups is None else groups.code
        self._n_units = int(self.code.max(initial=-1)) + 1
        self.most = certificate.max_abs_coef
        self.budget = certificate.support.size
        if certificate.n_groups is not None:
            self.budget = int(certificate.n_groups)
        self.fixed: IndexArray = np.unique(self.code[certificate.forced])
        self.free: IndexArray = np.setdiff1d(self.code[data.usable], self.fixed)

    def features(self, units: IndexArray) -> IndexArray:
        """Return the features of some units, in their order where each is one feature."""
        if not self._grouped:
            return units
        chosen = np.zeros(self._n_units, bool)
        chosen[units] = True
        return np.flatnonzero(chosen[self.code])

    def node(
        self,
        dual: FloatArray,
        fixed: IndexArray,
        free: IndexArray,
        extraction: Extraction | Curvature | None = None,
    ) -> Node:
        """Return what a feasible dual point shows, with D where it covers the units.

        Of a minorant the loss itself may show more.
        """
        units = np.concatenate([fixed, free])
        if extraction is None or not np.isin(units, extraction.features).all():
            return self._shown(dual, fixed, free, None)
        node = self._shown(dual, fixed, free, extraction.at(dual))
        if isinstance(extraction, Extraction):
            return node
        plain = self._shown(dual, fixed, free, None)
        return node if node.bound > plain.bound else plain

    def _shown(
        self, dual: FloatArray, fixed: IndexArray, free: IndexArray, shifted: Shifted | None
    ) -> Node:
        chosen = np.concatenate([fixed, free])
        if shifted is not None:
            dual = shifted.dual
        square, wrong = self._squares(dual, chosen, shifted)
        into, square = float(square[: fixed.size].sum()), square[fixed.size :]
        q = min(self.budget - fixed.size, free.size)
        order = np.argsort(-square, kind="stable")
        top = np.isin(np.arange(free.size), order[:q])
        conjugate, wrong_conjugate = self._data.conjugate(dual)
        bound = -conjugate - 0.5 * (into + float(square[order[:q]].sum()))
        most = np.sort(wrong[fixed.size :])[free.size - q :]
        rounding = 0.5 * float(wrong[: fixed.size].sum() + most.sum())
        rounding += wrong_conjugate
        if shifted is not None:
            bound, rounding = bound + shifted.value, rounding + shifted.rounding
        last = float(square[order[q - 1]]) if q else np.inf
        following = float(square[order[q]]) if q < free.size else 0.0
        return Node(bound, rounding, square, top, last, following)

    def _squares(
        self, dual: FloatArray, units: IndexArray, shifted: Shifted | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return c_j^2 of units, summed in groups, and what rounding can have changed of it.

        shifted : with D, the scores are c_j + D_j u0_j, and the squares are divided by 1 + D_j.
        """
        data = self._data
        own = self.features(units)
        error, score = data.errors(dual, own), data.scores(dual, own)
        ridge: Any = 1.0
        if shifted is not None:
            score, error = score + shifted.shift[own], error + shifted.spread[own]
            ridge = 1.0 + shifted.part[own]
        each = score**2
        if self.most is not None:
            # Among |u| <= M, u c - u^2 / 2 is M |c| - M^2 / 2 at most where |c| > M. That grows
            # less than the square does, so that what rounding may have changed is no more.
            larger = each > self.most * self.most  # which may be infinite
            each[larger] = self.most * (2.0 * np.abs(score[larger]) - self.most)
        square = each.sum(axis=1) / ridge
        wrong = (error * (2.0 * np.abs(score) + error)).sum(axis=1) / ridge
        # A score that is no number may be any: its feature is in the best set then.
        square, wrong = (np.where(np.isnan(one), np.inf, one) for one in (square, wrong))
        if not self._grouped:
            return square, wrong
        code = self.code[own]
        sums = [np.bincount(code, values, self._n_units)[units] for values in (square, wrong)]
        return sums[0].astype(np.float64), sums[1].astype(np.float64)


# Bounds of least squares with a part D of the loss's curvature in the ridge.
#
# Let (1 - a) H - D be positive semidefinite, H = X'WX over the features where D_j > 0. For every u
# on these features, any u0 on them and any dual point v, with c = X'v and e = y - v / w - X u0,
#
#     loss(u) = -conjugate(v) - c'u + 1/2 ||X (u - u0) - e||_W^2
#            >= -conjugate(v) - c'u + 1/2 (u - u0)'D(u - u0) - 1/2 (1 / a - 1) ||e||_W^2,
#
# as ||x - e||^2 >= (1 - a) ||x||^2 - (1 / a - 1) ||e||^2. With the ridge that is at least the sum
# of -conjugate(v), 1/2 u0'Du0, the last term, and -1/2 (c_j + D_j u0_j)^2 / (1 + D_j) for each
# feature with a coefficient. v is made the dual point of u0, so that e is rounding, and its square
# nothing.

SHARE = 1e-6  # a
LEAST = 1e-250  # Squares of columns times weights below may underflow.


@dataclass(frozen=True, slots=True)
class Extraction:
    """D of a tree, of which (1 - a) H - D has been found to be positive semidefinite."""

    data: Data
    features: IndexArray  # where D_j > 0
    X: FloatArray  # (n, p) these columns
    diagonal: FloatArray  # D there
    inverse: FloatArray  # that of H, nearly
    size: FloatArray  # the largest entry of each of these columns

    @classmethod
    def of(cls, data: Data, certificate: Certificate, diagonal: FloatArray) -> Extraction:
        """Return that of a certificate; raise CertificateError where it bounds nothing."""
        plain = certificate.loss == "least_squares" and certificate.groups is None
        plain = plain and certificate.max_abs_coef is None
        if not plain or data.signs.size or data.covariates is not None:
            raise CertificateError(
                "tree.diagonal is of least squares over single features, without signs, covariates "
                "and max_abs_coef."
            )
        features = np.flatnonzero(diagonal)
        if not data.usable[features].all():
            raise CertificateError("tree.diagonal must be 0 for what is no feature.")
        too_much = "tree.diagonal of the certificate is more than the curvature of the loss."
        if features.size > data.X.shape[0]:  # H has no such rank
            raise CertificateError(too_much)
        X, D = data.X.take(features), diagonal[features]
        n, weight = len(X), data.weight[: len(X)]
        size = data.error[features] / (ROUNDOFF * (4 * n + 8))
        inverse = inverse_beside(X, weight, D, size)
        if inverse is None:
            raise CertificateError(too_much)
        return cls(data, features, X, D, inverse, size)

    def at(self, dual: FloatArray) -> Shifted:
        """Return what a dual point shows with D."""
        data, X = self.data, self.X
        (n, p), q, D = X.shape, data.outputs, self.diagonal[:, None]
        target = data.weight * data.y - dual  # W (y - v / w)
        right = X.T @ target.reshape(q, n).T
        u = self.inverse @ right
        before = data.weight * (data.y - (X @ u).T.ravel())
        v = data.balanced(before)
        # e, as the columns and sums are known to so many roundings.
        parts = np.abs(data.y).reshape(q, n) + (self.size @ np.abs(u))[:, None]
        away = ROUNDOFF * (4 * n + p + 16) * parts.ravel() + data.blur
        away += np.abs(v - before) / data.weight
        value = 0.5 * float((D * u**2).sum())
        wrong_value = 0.5 / SHARE * float(data.weight @ away**2) + ROUNDOFF * (u.size + 8) * value
        if not np.isfinite(value + wrong_value + float(np.abs(v).sum())):
            raise CertificateError("a dual point of the certificate is too large.")
        shift = np.zeros((data.usable.size, q))
        shift[self.features] = D * u
        spread, part = np.zeros((data.usable.size, q)), np.zeros(data.usable.size)
        spread[self.features] = 8 * ROUNDOFF * np.abs(D * u)
        part[self.features] = self.diagonal
        return Shifted(v, shift, spread, part, value, wrong_value)


def inverse_beside(
    X: FloatArray, weight: FloatArray, D: FloatArray, size: FloatArray
) -> FloatArray | None:
    """Return the inverse of H = X'WX, nearly; None unless (1 - a) H - D is shown to be positive.

    size : the largest entry of each column.
    """
    n, p = X.shape
    # The columns are known to (4 n + 8) roundings of their largest entry, the sums to n + 2
    # more; a factor of Cholesky is that of a matrix which is (p + 2) times the trace away
    # (Higham, sections 3.1 and 10.1). In norm all of that is a multiple of the sum of squares.
    shift = ROUNDOFF * (12 * n + 4 * p + 64) * float(size @ size) * float(weight.sum())
    if not float(size.min()) ** 2 * float(weight.min()) >= LEAST:
        raise CertificateError("tree.diagonal is of columns or weights too small for it.")
    matrix = X.T @ (weight[:, None] * X)
    try:
        least = (1.0 - SHARE) * (matrix - shift * np.eye(p))
        lower = np.linalg.cholesky(least - np.diag(D))
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(lower).all():  # not every LAPACK raises where it meets NaN
        return None
    # Any u0 bounds, but the search has that of H: one of H less its rounding shows less.
    return np.asarray(np.linalg.inv(matrix), np.float64)


@dataclass(frozen=True, slots=True)
class Shifted:
    """A dual point as D has it."""

    dual: FloatArray
    shift: FloatArray  # (m, outputs) what is added to scores
    spread: FloatArray  # (m, outputs) by how much these may be wrong, beside their own rounding
    part: FloatArray  # (m,) D
    value: float  # what is added to the bound
    rounding: float  # of it


# Bounds of the logistic loss with a part D of its curvature in the ridge.
#
# A minorant is the loss between two margins -h and h of every row, and quadratics of the curvature
# a_i beyond (weights included). It has at least that curvature everywhere if f'' has it from -h to
# h. Past h the loss less its tail is convex, then concave, and 0 at h with a slope of 0: up to a
# margin M it is not negative if it is not at M. So the loss of models whose margins are within such
# ends is at least the minorant, and with A = diag(a), v a dual point, z the margins where it is
# minus the slope of the minorant, any u0 and b0, and e = z - X u0 - b0, for every u and b
#
#     loss(u) >= -conjugate(v) - c'u + 1/2 ||X (u - u0) + (b - b0) - e||_A^2,    c = X'v.
#
# X is centred by A where the intercept is free, and the best b0 makes the sum of A e 0. The square
# is at least that of X (u - u0), less 2 (u - u0)'X'Ae, plus that of e; the first is at least (u -
# u0)'D(u - u0) where X'AX - D is positive semidefinite.
#
# The ends of margins follow from the minorant before, or the loss itself: see `_ends`.

ROWS = 64  # margins at a time
STRENGTH = 2.0  # of the ridge of the moves: any would do, that of the search shows what it saw
TRIES, LIKELY = 2, (0.01, 100.0)
SAFE = 1e-8  # by what share ends are taken to be further away than they were found: for rounding
ABOVE = 1e-10  # the same of the objective
SMALL = 1e-12
NOTHING = "a minorant of the tree is shown by nothing."


@dataclass(frozen=True, slots=True)
class Tails:
    """A minorant in the margins; with an infinite core it is the loss."""

    y: FloatArray
    weight: FloatArray
    core: float
    bend: FloatArray

    def at(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return value, slope and curvature of every row, for margins (n,) or (n, several)."""
        y, weight, bend = self.y, self.weight, self.bend
        if z.ndim == 2:
            y, weight, bend = y[:, None], weight[:, None], bend[:, None]
        near = np.clip(z, -self.core, self.core)
        past, share = z - near, special.expit(-y * near)
        slope = -y * weight * share
        value = weight * np.logaddexp(0.0, -y * near) + slope * past + 0.5 * bend * past**2
        curvature = np.where(past == 0.0, weight * share * (1.0 - share), bend)
        return value, slope + bend * past, curvature

    def is_below(self, low: FloatArray, high: FloatArray) -> bool:
        """Return whether this is no more than the loss for margins from low to high."""
        h, y, weight = self.core, self.y, self.weight
        sound = np.isfinite(h) and h > 0 and bool((self.bend > 0).all())
        sound = sound and bool((self.bend <= weight * special.expit(h) * special.expit(-h)).all())
        for z in (np.minimum(low, -h), np.maximum(high, h)):
            loss = weight * np.logaddexp(0.0, -y * z)
            sound = sound and bool((self.at(z)[0] <= loss).all())
        return sound

    def margins(self, v: FloatArray) -> FloatArray:
        """Return where v is minus the slope."""
        share = self.y * v / self.weight
        near = np.clip(share, special.expit(-self.core), special.expit(self.core))
        at_near = self.y * (np.log1p(-near) - np.log(near))
        return np.asarray(at_near - self.y * self.weight * (share - near) / self.bend)


@dataclass(frozen=True, slots=True)
class Curvature:
    """The last minorant of a tree, with what was checked of it."""

    data: Data
    features: IndexArray
    X: FloatArray  # (n, p) their columns
    size: FloatArray  # (p,) the largest entries
    n_forced: int
    budget: int
    tails: Tails
    diagonal: FloatArray  # (p,) D
    low: FloatArray  # (n,) the ends of margins
    high: FloatArray
    centre: FloatArray  # (p,) means by A
    inverse: FloatArray  # of H

    @classmethod
    def of(
        cls, data: Data, certificate: Certificate, minorants: tuple[Minorant, ...], claim: float
    ) -> Curvature:
        """Return that of a certificate; raise CertificateError where it bounds nothing.

        claim : the bound; models with a larger objective than a minorant is of are above it.
        """
        plain = certificate.loss == "logistic" and certificate.groups is None
        plain = plain and certificate.max_abs_coef is None
        if not plain or data.signs.size or data.covariates is not None:
            raise CertificateError(
                "tree.minorants are of the logistic loss over single features, without signs, "
                "covariates and max_abs_coef."
            )
        features, n = minorants[0].features, data.y.size
        sound = features.size <= n and bool(data.usable[features].all())
        if not (sound and np.isin(certificate.forced, features).all()):
            raise CertificateError("tree.minorants must be of features, the forced among them.")
        forced = np.isin(features, certificate.forced)
        features = np.concatenate([features[forced], features[~forced]])
        X, nothing = data.X.take(features), np.zeros(features.size)
        size = data.error[features] / (ROUNDOFF * (4 * n + 8))
        known = cls(
            data, features, X, size, int(forced.sum()), certificate.support.size,
            Tails(data.y, data.weight, np.inf, np.zeros(n)), nothing, nothing, nothing, nothing,
            np.empty((0, 0)),
        )  # fmt: skip
        for minorant in minorants:
            if not np.array_equal(minorant.features, np.sort(features)):
                raise CertificateError("tree.minorants must be of the same features.")
            order = np.argsort(np.argsort(features))  # where each is among the sorted ones
            if not minorant.objective >= claim:
                raise CertificateError(
                    "a minorant of the tree is of models that are better than the bound alone."
                )
            known = known._followed_by(minorant, order)
        return known

    def _followed_by(self, minorant: Minorant, order: IndexArray) -> Curvature:
        """Return the next minorant, which this one has to show."""
        data, X, D = self.data, self.X, minorant.diagonal[order]
        low, high = self._ends(minorant.coef[order], minorant.intercept, minorant.objective)
        tails = replace(self.tails, core=minorant.core, bend=minorant.bend)
        if not tails.is_below(low, high):
            raise CertificateError(
                "a minorant of the tree may be above the loss at margins that better models have."
            )
        bend = tails.bend
        centre = bend @ X / float(bend.sum()) if data.intercept else np.zeros(D.size)
        inverse = inverse_beside(X - centre, bend, D, 2.0 * self.size) if (D > 0).all() else None
        if inverse is None:
            raise CertificateError(
                "the diagonal of a minorant of the tree must be positive, and within its curvature."
            )
        return replace(
            self, tails=tails, diagonal=D, low=low, high=high, centre=centre, inverse=inverse
        )

    def _ends(self, u: FloatArray, b: float, objective: float) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest margins of models with an objective of so much at most.

        For any theta > 0 and any sign, a margin is at most (objective - B) / theta, B a bound of
        objective - theta sign z_i from the dual point of margins that are moved from X u + b; with
        a free intercept theta is what the slopes there add up to.
        """
        data, X, tails, D = self.data, self.X, self.tails, self.diagonal
        (n, p), limit = X.shape, objective + ABOVE * abs(objective)
        Z = np.hstack([np.ones((n, int(data.intercept))), X])
        z = X @ u + b
        _, slope, bend = tails.at(z)
        ridge = np.append(np.zeros(Z.shape[1] - p), STRENGTH * (1.0 + D))
        try:
            inverse = np.linalg.inv(Z.T @ (bend[:, None] * Z) + np.diag(ridge))
        except np.linalg.LinAlgError:  # no curvature is left where the moves start
            raise CertificateError(NOTHING) from None
        nowhere = np.zeros((1, p))
        known, _, _ = self._least(u[:, None], z[:, None], nowhere, 1.0, np.zeros(1))
        gap = max(objective - float(known[0]), SMALL * abs(objective))

        def ends(rows: IndexArray, ratio: float) -> tuple[FloatArray, float]:
            """Return how far margins go down and up, and what moves cost beside a guess."""
            away = inverse @ Z[rows].T
            lever = np.einsum("ij,ji->i", Z[rows], away)
            scale = 1.0 / (1.0 + (tails.bend - bend)[rows] * lever)
            away, lever = scale * away, scale * lever
            found, dear = np.full((2, rows.size), np.inf), np.empty((2, rows.size))
            for side, sign in enumerate((-1.0, 1.0)):
                theta = np.sqrt(2.0 * gap / (ratio * lever))
                move = sign * theta * away
                moved = tails.at(z[:, None] + Z @ move)[1] - slope[:, None]
                move += inverse @ (sign * theta * Z[rows].T - Z.T @ moved - ridge[:, None] * move)
                least, theta, wrong = self._least(
                    u[:, None] + move[-p:], z[:, None] + Z @ move, X[rows], sign, theta
                )
                found[side] = np.where(theta > 0, (limit - least + wrong) / theta, np.inf)
                dear[side] = 2.0 * (objective - gap - least) / (theta**2 * lever)
            known = dear[np.isfinite(dear)]
            return found, float(np.clip(np.median(known), *LIKELY)) if known.size else ratio

        every, ratio = np.arange(n), 1.0
        for _ in range(TRIES):
            ratio = ends(every[:: -(-n // ROWS)], ratio)[1]
        found = [ends(every[first : first + ROWS], ratio)[0] for first in range(0, n, ROWS)]
        low, high = np.hstack(found)
        if not np.isfinite(low).all() or not np.isfinite(high).all():
            raise CertificateError(NOTHING)
        return -low - SAFE * np.abs(low), high + SAFE * np.abs(high)

    def _least(
        self, u: FloatArray, z: FloatArray, pushed: FloatArray, sign: float, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return B for points u (p, several) of margins z, theta, and the rounding of B."""
        X, D = self.X, self.diagonal[:, None]
        value, slopes, _ = self.tails.at(z)
        theta = sign * slopes.sum(axis=0) if self.data.intercept else theta
        score = sign * theta * pushed.T - X.T @ slopes + D * u
        square, q = score**2 / (1.0 + D), self.budget - self.n_forced
        free = np.sort(square[self.n_forced :], axis=0)
        most = square[: self.n_forced].sum(axis=0) + free[max(len(free) - q, 0) :].sum(axis=0)
        beside, loss = 0.5 * (D * u**2).sum(axis=0), slopes * z
        found = (value - loss).sum(axis=0) + beside - 0.5 * most
        # What rounding can have added: to every sum, and to the scores of a best set.
        n, p = X.shape
        parts = (value + np.abs(loss)).sum(axis=0) + beside + most
        wrong = float(self.data.error[self.features].max()) * (np.abs(slopes).sum(axis=0) + theta)
        wrong = self.budget * wrong * (2.0 * np.abs(score).max(axis=0) + wrong)
        return found, theta, wrong + ROUNDOFF * (8 * n + 8 * p + 64) * parts

    def at(self, dual: FloatArray) -> Shifted:
        """Return what a dual point shows with D."""
        data, X, D, bend = self.data, self.X, self.diagonal, self.tails.bend
        n, p = X.shape
        z = self.tails.margins(dual)
        value, slope, _ = self.tails.at(z)
        free = float(bend @ z) / float(bend.sum()) if data.intercept else 0.0
        target = bend * (z - free)
        u = self.inverse @ (X.T @ target - self.centre * float(target.sum()))
        away = z - free - (X @ u - float(self.centre @ u))  # e
        rest = X.T @ (bend * away) - self.centre * float(bend @ away)
        parts = 0.5 * float(bend @ away**2), 0.5 * float(D @ u**2), float(rest @ u)
        conjugate, _ = data.conjugate(dual)
        own = float(dual @ z + value.sum()) + conjugate + sum(parts)
        # z is where v is the slope but for rounding, which counts at any margin of a better model.
        terms = float(value.sum()) + float(np.abs(dual) @ np.abs(z)) + abs(conjugate)
        terms += sum(abs(part) for part in parts)
        wrong = ROUNDOFF * (8 * n + 8 * p + 64) * terms
        wrong += float(np.abs(dual + slope) @ (np.abs(z) + np.maximum(-self.low, self.high)))
        if not np.isfinite(own + wrong):
            raise CertificateError("a dual point of the certificate is too large.")
        m = data.usable.size
        shift, spread, part = np.zeros((m, 1)), np.zeros((m, 1)), np.zeros(m)
        shift[self.features, 0], part[self.features] = rest + D * u, D
        sums = 2.0 * self.size * float(bend @ np.abs(away))
        spread[self.features, 0] = ROUNDOFF * ((4 * n + 8) * sums + 8 * np.abs(D * u))
        return Shifted(dual, shift, spread, part, own, wrong)
