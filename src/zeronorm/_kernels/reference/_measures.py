"""Most violated labellings of measures, and the program over the cuts found so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeronorm._typing import FloatArray, IndexArray

# Of the interior point method.
MAX_STEPS = 100  # Newton steps


def f_labelling(positive: FloatArray, negative: FloatArray, beta: float) -> tuple[int, int]:
    """Return the numbers (a, b) of positives and negatives in the worst labelling.

    They maximise

    100 (1 - (1 + beta^2) a / (a + b + beta^2 n_positive)) + 2 P(a) + 2 N(b),

    P(a) and N(b) the sums of the a and b largest scores; the first pair with s = a + b growing.

    For a fixed s the loss is linear in a and the value concave, and the best a never falls with s:
    one pointer serves all s. `positive` and `negative` are scores in growing order.
    """
    p, n = positive[::-1], negative[::-1]
    square = beta * beta
    best, answer = -np.inf, (0, 0)
    a, b, value = 0, 0, 0.0  # value: P(a) + N(b)
    for s in range(p.size + n.size + 1):
        if s > 0:
            if b < n.size:
                value += n[b]
                b += 1
            else:
                value += p[a]
                a += 1
        kappa = 100.0 * (1.0 + square) / (s + square * p.size)
        while a < p.size and b > 0 and 2.0 * (p[a] - n[b - 1]) > kappa:
            value += p[a] - n[b - 1]
            a += 1
            b -= 1
        total = 100.0 - kappa * a + 2.0 * value
        if total > best:
            best, answer = total, (a, b)
    return answer


def ap_places(positive: FloatArray, negative: FloatArray, places: IndexArray) -> None:
    """Put into `places`, for every negative, how many positives the worst ranking puts above it.

    Scores are in falling order. The places o maximise, for the j-th negative (j = 1, 2, ...),

        sum_{i > o} 100/n_pos (j/(j+i) - (j-1)/(j+i-1)) - 200/(n_pos n_neg) (v_i - v_j),

    the first maximiser. They grow with j, as every term falls with j: halving the negatives halves
    the places that are left. Sums over i are differences of harmonic numbers and of prefix sums.
    """
    n_pos, n_neg = positive.size, negative.size
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, n_pos + n_neg + 1))])
    above = np.concatenate([[0.0], np.cumsum(positive)])
    pair = 2.0 / n_neg  # 200/(n_pos n_neg) over 100/n_pos
    waiting = [(0, n_neg, 0, n_pos)]
    while waiting:
        first, last, low, high = waiting.pop()
        if first >= last:
            continue
        middle = (first + last) // 2
        j = middle + 1
        o = np.arange(low, high + 1)
        value = (
            j * (harmonic[j + n_pos] - harmonic[j + o])
            - (j - 1) * (harmonic[j - 1 + n_pos] - harmonic[j - 1 + o])
            - pair * ((above[n_pos] - above[o]) - (n_pos - o) * negative[middle])
        )
        best = low + int(value.argmax())
        places[middle] = best
        waiting.append((first, middle, low, best))
        waiting.append((middle + 1, last, best, high))


def solve_cuts(
    grams: FloatArray,
    delta: FloatArray,
    g: FloatArray,
    C: float,
    tol: float,
    alpha: FloatArray,
    block_weight: FloatArray,
) -> tuple[float, float, float, int]:
    """Solve the program over K cuts and T blocks of features by a primal-dual interior point.

        max  delta'alpha - max_t 1/2 alpha'G_t alpha   over alpha >= 0, sum alpha <= C, g'alpha = 0

    grams : (T, K, K) G_t, symmetric and positive semidefinite.
    g : (K,) with entries of both signs, or zeros only: then there is no equality.
    tol : relative gap between the program and the problem it is the dual of.
    alpha, block_weight : (K,) and (T,) outputs; the second are the multipliers of the blocks.

    Returns
    -------
    The bound (the value of the program at alpha), the value of

        1/2 (sum_t mu_t sqrt(alpha'G_t alpha))^2 + C max_k (delta - sum_t mu_t G_t alpha - b g)_k^+,

    which is not below the optimum, b, and the number of Newton steps. All iterates are feasible;
    what is returned is the one with the smallest gap.
    """
    n_blocks, n_cuts = grams.shape[0], delta.size
    unit = float(delta.max(initial=0.0))
    alpha[:] = 0.0
    block_weight[:] = 1.0 / n_blocks
    if unit <= 0.0:
        return 0.0, 0.0, 0.0, 0
    with_equality = bool(np.any(g != 0.0))
    size = float(np.abs(g).max(initial=0.0))
    e = g / size if with_equality else np.zeros(n_cuts)
    a = np.full(n_cuts, 1.0)
    if with_equality:
        up, down = float(e[e > 0].sum()), float(-e[e < 0].sum())
        a[e > 0] *= min(1.0, down / up)
        a[e < 0] *= min(1.0, up / down)
    a /= a.sum()
    # In units of the alpha that is best along this ray: then nothing is far from 1.
    linear = float(delta @ a) / unit
    largest = 0.5 * float(np.max(grams @ a @ a)) / unit
    ray = C
    if linear > 0.0 and 2.0 * largest * C > linear:
        ray = linear / (2.0 * largest)
    G, d = grams * (ray / unit), delta / unit
    most = C / ray
    a *= 0.5
    product = 0.5 / n_cuts
    q = G @ a
    theta = 0.5 * float(np.max(q @ a)) + product * n_blocks
    slack = theta - 0.5 * (q @ a)
    mu = 1.0 / slack
    mu /= mu.sum()
    # Dual feasible: the residual stays at rounding, however far alpha has to go.
    rest = d - mu @ q
    z_sum = max(0.0, float(rest.max())) + 1.0
    z = z_sum - rest
    b = 0.0
    residual = np.zeros(n_cuts)
    best = np.inf
    bound = value = intercept = 0.0
    step = 0
    while True:
        quadratic = np.maximum(0.0, 0.5 * (q @ a))
        low = float(d @ a - quadratic.max())
        high = 0.5 * float(mu @ np.sqrt(2.0 * quadratic)) ** 2 + most * max(
            0.0, float((d - mu @ q - b * e).max())
        )
        if high - low < best:
            best, bound, value, intercept = high - low, low, high, b
            alpha[:], block_weight[:] = a, mu
        if best <= tol * value or step == MAX_STEPS:
            break
        step += 1

        room = most - float(a.sum())
        if room <= 0.0:  # by rounding
            break
        ratio = mu / slack
        mean_q = (ratio @ q) / ratio.sum()
        away = q - mean_q
        M = np.tensordot(mu, G, 1) + (away.T * ratio) @ away + z_sum / room + np.diag(z / a)
        try:
            factor = np.linalg.cholesky(M + np.diag(1e-15 * np.diag(M)))
        except np.linalg.LinAlgError:
            break

        offset = quadratic - theta + slack
        rest_mu = 1.0 - float(mu.sum())  # what rounding took
        system = _System(
            factor, e, a, z, z_sum, room, slack, q, ratio, mean_q, residual, offset, rest_mu
        )
        mean = (z @ a + z_sum * room + mu @ slack) / (n_cuts + n_blocks + 1)
        nothing = np.zeros(n_cuts)
        da, dtheta, dz, dz_sum, dmu, db = system.step(-z * a, -z_sum * room, -mu * slack, nothing)
        curve = 0.5 * (G @ da @ da)
        lin = dtheta - q @ da - offset
        eta = _step_length(1.0, a, da, room, slack, lin, z, dz, z_sum, dz_sum, mu, dmu)
        sigma = min(0.9, max(1e-3, (1.0 - 0.95 * eta) ** 2))
        target = sigma * mean
        shift = eta**2 * curve
        da, dtheta, dz, dz_sum, dmu, db = system.step(
            target - z * a - eta**2 * da * dz,
            target - z_sum * room + eta**2 * float(da.sum()) * dz_sum,
            target - mu * slack - eta**2 * dmu * (lin - curve) + eta**2 * mu * curve,
            eta**2 * (dmu @ (G @ da)),
        )
        G_da = G @ da
        curve = 0.5 * (G_da @ da)
        lin = dtheta - q @ da - offset - shift
        eta = _step_length(
            min(0.995, max(0.9, 1.0 - mean)), a, da, room, slack, lin, z, dz, z_sum, dz_sum, mu, dmu
        )
        a, z, mu, slack = a + eta * da, z + eta * dz, mu + eta * dmu, slack + eta * lin
        theta, z_sum, b = theta + eta * dtheta, z_sum + eta * dz_sum, b + eta * db
        q = q + eta * G_da
        residual = mu @ q - d - z + z_sum + b * e
        if not np.all(np.isfinite(q)):
            break
    alpha *= ray
    scale = ray * unit
    return bound * scale, value * scale, (intercept * unit / size if with_equality else 0.0), step


@dataclass
class _System:
    """The linear system of a Newton step, factorised."""

    factor: FloatArray
    e: FloatArray
    a: FloatArray
    z: FloatArray
    z_sum: float
    room: float
    slack: FloatArray
    q: FloatArray
    ratio: FloatArray
    mean_q: FloatArray
    residual: FloatArray
    offset: FloatArray
    rest_mu: float

    def solve(self, x: FloatArray) -> FloatArray:
        """Return M^-1 x."""
        return np.asarray(np.linalg.solve(self.factor.T, np.linalg.solve(self.factor, x)))

    def step(
        self, s_z: FloatArray, s_room: float, s_mu: FloatArray, extra: FloatArray
    ) -> tuple[FloatArray, float, FloatArray, float, FloatArray, float]:
        """Return the step for right-hand sides of the products and second order terms."""
        pull = s_mu / self.slack + self.ratio * self.offset
        pulled = float(pull.sum()) - self.rest_mu
        rhs = -self.residual - extra - pull @ self.q + s_z / self.a - s_room / self.room
        da = self.solve(rhs + self.mean_q * pulled)
        db = 0.0
        if self.e.any():
            across = self.solve(self.e)
            db = float(self.e @ da + self.e @ self.a) / float(self.e @ across)
            da = da - db * across
        dtheta = (pulled + float((self.ratio @ self.q) @ da)) / float(self.ratio.sum())
        dz = (s_z - self.z * da) / self.a
        dz_sum = (s_room + self.z_sum * float(da.sum())) / self.room
        dmu = pull - self.ratio * (dtheta - self.q @ da)
        return da, dtheta, dz, dz_sum, dmu, db


def _step_length(
    share: float, a: FloatArray, da: FloatArray, room: float, slack: FloatArray, dslack: FloatArray,
    z: FloatArray, dz: FloatArray, z_sum: float, dz_sum: float, mu: FloatArray, dmu: FloatArray,
) -> float:  # fmt: skip
    """Return the largest step, at most 1, that leaves 1 - share of every slack and multiplier."""
    eta = 1.0
    for x, dx in (
        (a, da),
        (z, dz),
        (mu, dmu),
        (slack, dslack),
        (np.array([room, z_sum]), np.array([-float(da.sum()), dz_sum])),
    ):
        falling = dx < 0
        if falling.any():
            eta = min(eta, float(np.min(-share * x[falling] / dx[falling])))
    return eta
