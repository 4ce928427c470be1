"""Most violated labellings of measures, and the program over the cuts found so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeronorm.core.types import FloatArray, IndexArray

# Of the interior point method.
MAX_STEPS = 100  # Newton steps


def f_labelling(positive: FloatArray, negative: FloatArray, beta: float) -> tuple[int, int]:
    """Return the numbers (a, b) of positives and negatives in the worst labelling."""
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
    """Put into `places`, for every negative, how many positives the worst ranking puts above it."""
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
    """Solve the program over K cuts and T blocks of features by a primal-dual interior point."""
    unit = float(delta.max(initial=0.0))
    alpha[:] = 0.0
    block_weight[:] = 1.0 / grams.shape[0]
    if unit <= 0.0:
        return 0.0, 0.0, 0.0, 0
    size = float(np.abs(g).max(initial=0.0))
    e = g / size if size > 0.0 else np.zeros(delta.size)
    a = np.full(delta.size, 1.0)
    if size > 0.0:
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
    program = _Program(grams * (ray / unit), delta / unit, e, C / ray)
    point: _Point | None = program.start(0.5 * a)
    best = np.inf
    bound = value = intercept = 0.0
    step = 0
    while point is not None:
        low, high = program.values(point)
        if high - low < best:
            best, bound, value, intercept = high - low, low, high, point.b
            alpha[:], block_weight[:] = point.a, point.mu
        if best <= tol * value or step == MAX_STEPS:
            break
        step += 1
        point = program.advance(point)
    alpha *= ray
    scale = ray * unit
    return bound * scale, value * scale, (intercept * unit / size if size > 0.0 else 0.0), step


@dataclass(frozen=True)
class _Point:
    """An iterate: alpha, theta, b, what is left of every bound, and the multipliers."""

    a: FloatArray
    theta: float
    b: float
    slack: FloatArray  # theta - 1/2 a'G_t a, for every block
    z: FloatArray  # of a >= 0
    z_sum: float  # of sum a <= most
    mu: FloatArray  # of the blocks
    q: FloatArray  # G_t a
    residual: FloatArray  # of the equations of the multipliers

    @property
    def quadratic(self) -> FloatArray:
        """1/2 a'G_t a of every block."""
        return np.maximum(0.0, 0.5 * (self.q @ self.a))


@dataclass(frozen=True)
class _Program:
    """max d'a - theta over a'G_t a / 2 <= theta, a >= 0, sum a <= most, e'a = 0."""

    G: FloatArray
    d: FloatArray
    e: FloatArray
    most: float

    def start(self, a: FloatArray) -> _Point:
        """Return a point inside: dual feasible, so that the residual stays at rounding."""
        q = self.G @ a
        theta = 0.5 * float(np.max(q @ a)) + 0.5 / a.size * len(self.G)
        slack = theta - 0.5 * (q @ a)
        mu = 1.0 / slack
        mu /= mu.sum()
        rest = self.d - mu @ q
        z_sum = max(0.0, float(rest.max())) + 1.0
        return _Point(a, theta, 0.0, slack, z_sum - rest, z_sum, mu, q, np.zeros(a.size))

    def values(self, at: _Point) -> tuple[float, float]:
        """Return the value of the program at a, and of the problem that it is the dual of."""
        quadratic = at.quadratic
        violated = max(0.0, float((self.d - at.mu @ at.q - at.b * self.e).max()))
        root = float(at.mu @ np.sqrt(2.0 * quadratic))
        return float(self.d @ at.a - quadratic.max()), 0.5 * root**2 + self.most * violated

    def advance(self, at: _Point) -> _Point | None:
        """Return the next point; None where rounding leaves none."""
        room = self.most - float(at.a.sum())
        if room <= 0.0:
            return None
        try:
            system = _System.of(self, at, room)
        except np.linalg.LinAlgError:
            return None
        a, z, mu, q = at.a, at.z, at.mu, at.q
        mean = float(z @ a + at.z_sum * room + mu @ at.slack) / (a.size + mu.size + 1)
        nothing = np.zeros(a.size)
        # The predictor, which aims at no complementarity, and the corrector with its second order.
        da, dtheta, dz, dz_sum, dmu, db = system.step(
            -z * a, -at.z_sum * room, -mu * at.slack, nothing
        )
        curve = 0.5 * (self.G @ da @ da)
        lin = dtheta - q @ da - system.offset
        eta = _step_length(1.0, at, room, da, lin, dz, dz_sum, dmu)
        sigma = min(0.9, max(1e-3, (1.0 - 0.95 * eta) ** 2))
        target = sigma * mean
        shift = eta**2 * curve
        da, dtheta, dz, dz_sum, dmu, db = system.step(
            target - z * a - eta**2 * da * dz,
            target - at.z_sum * room + eta**2 * float(da.sum()) * dz_sum,
            target - mu * at.slack - eta**2 * dmu * (lin - curve) + eta**2 * mu * curve,
            eta**2 * (dmu @ (self.G @ da)),
        )
        G_da = self.G @ da
        lin = dtheta - q @ da - system.offset - shift
        share = min(0.995, max(0.9, 1.0 - mean))
        eta = _step_length(share, at, room, da, lin, dz, dz_sum, dmu)
        a, z, mu, q = a + eta * da, z + eta * dz, mu + eta * dmu, q + eta * G_da
        z_sum, b = at.z_sum + eta * dz_sum, at.b + eta * db
        residual = mu @ q - self.d - z + z_sum + b * self.e
        if not np.all(np.isfinite(q)):
            return None
        theta, slack = at.theta + eta * dtheta, at.slack + eta * lin
        return _Point(a, theta, b, slack, z, z_sum, mu, q, residual)


@dataclass(frozen=True)
class _System:
    """The linear system of a Newton step, factorised."""

    factor: FloatArray
    e: FloatArray
    at: _Point
    room: float
    ratio: FloatArray
    mean_q: FloatArray
    offset: FloatArray

    @classmethod
    def of(cls, program: _Program, at: _Point, room: float) -> _System:
        """Return the system at a point; LinAlgError where it is not positive definite."""
        ratio = at.mu / at.slack
        mean_q = (ratio @ at.q) / ratio.sum()
        away = at.q - mean_q
        M = np.tensordot(at.mu, program.G, 1) + (away.T * ratio) @ away + at.z_sum / room
        M += np.diag(at.z / at.a)
        factor = np.linalg.cholesky(M + np.diag(1e-15 * np.diag(M)))
        offset = at.quadratic - at.theta + at.slack
        return cls(factor, program.e, at, room, ratio, mean_q, offset)

    def solve(self, x: FloatArray) -> FloatArray:
        """Return M^-1 x."""
        return np.asarray(np.linalg.solve(self.factor.T, np.linalg.solve(self.factor, x)))

    def step(
        self, s_z: FloatArray, s_room: float, s_mu: FloatArray, extra: FloatArray
    ) -> tuple[FloatArray, float, FloatArray, float, FloatArray, float]:
        """Return the step for right-hand sides of the products and second order terms."""
        at, ratio = self.at, self.ratio
        pull = s_mu / at.slack + ratio * self.offset
        pulled = float(pull.sum()) - (1.0 - float(at.mu.sum()))  # less what rounding took
        rhs = -at.residual - extra - pull @ at.q + s_z / at.a - s_room / self.room
        da = self.solve(rhs + self.mean_q * pulled)
        db = 0.0
        if self.e.any():
            across = self.solve(self.e)
            db = float(self.e @ da + self.e @ at.a) / float(self.e @ across)
            da = da - db * across
        dtheta = (pulled + float((ratio @ at.q) @ da)) / float(ratio.sum())
        dz = (s_z - at.z * da) / at.a
        dz_sum = (s_room + at.z_sum * float(da.sum())) / self.room
        dmu = pull - ratio * (dtheta - at.q @ da)
        return da, dtheta, dz, dz_sum, dmu, db


def _step_length(
    share: float, at: _Point, room: float, da: FloatArray, dslack: FloatArray, dz: FloatArray,
    dz_sum: float, dmu: FloatArray,
) -> float:  # fmt: skip
    """Return the largest step, at most 1, that leaves 1 - share of every slack and multiplier."""
    eta = 1.0
    for x, dx in (
        (at.a, da),
        (at.z, dz),
        (at.mu, dmu),
        (at.slack, dslack),
        (np.array([room, at.z_sum]), np.array([-float(da.sum()), dz_sum])),
    ):
        falling = dx < 0
        if falling.any():
            eta = min(eta, float(np.min(-share * x[falling] / dx[falling])))
    return eta
