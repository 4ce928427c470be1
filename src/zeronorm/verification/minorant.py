"""Bounds of the logistic loss with a part D of its curvature in the ridge.

A minorant is the loss between two margins -h and h of every row, and quadratics of the curvature
a_i beyond (weights included). It has at least that curvature everywhere if f'' has it from -h to h.
Past h the loss less its tail is convex, then concave, and 0 at h with a slope of 0: up to a margin
M it is not negative if it is not at M. So the loss of models whose margins are within such ends is
at least the minorant, and with A = diag(a), v a dual point, z the margins where it is minus the
slope of the minorant, any u0 and b0, and e = z - X u0 - b0, for every u and b

    loss(u) >= -conjugate(v) - c'u + 1/2 ||X (u - u0) + (b - b0) - e||_A^2,    c = X'v.

X is centred by A where the intercept is free, and the best b0 makes the sum of A e 0. The square is
at least that of X (u - u0), less 2 (u - u0)'X'Ae, plus that of e; the first is at least
(u - u0)'D(u - u0) where X'AX - D is positive semidefinite.

The ends of margins follow from the minorant before, or the loss itself: see `_ends`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ..core.results import Certificate, Minorant
from ..core.types import FloatArray, IndexArray
from .data import Data
from .extraction import Shifted, inverse_beside
from .form import CertificateError
from .loss import ROUNDOFF

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

    def covers(self, units: IndexArray) -> bool:
        """Return whether the models of some features are bounded with D."""
        return bool(np.isin(units, self.features).all())

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
