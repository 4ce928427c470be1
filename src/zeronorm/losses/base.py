"""What losses are unless they say otherwise, and what certificates and fits need of any loss."""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from .. import _kernels
from ..core.errors import Message, Parameter, ParameterError
from ..core.types import Columns, Curved, FloatArray, Smooth

SCALE_TOL = 1e-7  # relative, of the scale of a dual point: the bound is flat there
FLAT = 1e-12  # relative: directions of less curvature are left alone
ROUNDING = 1e-14  # relative, of a dual point at an end of its interval
LEAST_SCALE, MOST_STEPS = 1e-100, 400  # of a dual point: less is 0; until it is found
INSIDE = 1.0 - 1e-12  # of the way to the end of the interval that a dual point is scaled at most


class LossOfRows:
    """A sum over rows, with a free intercept, whose form does not depend on the target."""

    kernel: ClassVar[int] = -1
    compiled_dual: ClassVar[bool] = True  # where it has a kernel, whether for its dual points too
    of_labels: ClassVar[bool] = False
    of_residuals: ClassVar[bool] = False
    quadratic: ClassVar[bool] = False
    has_intercept: ClassVar[bool] = True
    separable: ClassVar[bool] = True
    own_intercepts: ClassVar[bool] = False  # whether its value is that at its best `intercepts`
    flattens: ClassVar[bool] = False  # whether rows lose their curvature where it is needed
    largest_offset: ClassVar[float] = 1e100
    noise: ClassVar[float] = 0.0  # the loss of a row that is no more than rounding
    counts_rows: ClassVar[bool] = False  # whether a weight of 2 is another thing than two rows
    variance_power: ClassVar[float | None] = None  # of the Tweedie deviance that is twice the loss
    target: ClassVar[str] = "any"  # what numbers y may have: "any", "not negative" or "positive"

    def __init_subclass__(cls) -> None:
        """Take away the kernel that a class has from its base: it may be of another form."""
        if "kernel" not in vars(cls):
            cls.kernel = -1

    @property
    def kernel_parameters(self) -> tuple[float, float]:
        return 0.0, 0.0

    @property
    def outputs(self) -> int:
        return 1

    @property
    def parameters(self) -> dict[str, float]:
        return {}

    @property
    def final(self) -> Any:
        return self

    def coupling(
        self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> FloatArray | None:
        return None

    def hessian(
        self: Any, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> FloatArray:
        found = Z.gram(self.curvature(z, y, weight))
        taken = self.coupling(Z, z, y, weight)
        return found if taken is None else found - taken

    def shared_hessian(self, Z: Columns, weight: FloatArray) -> FloatArray | None:
        return None

    def majorant(self: Any, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the curvature of a quadratic that touches the loss at z and is nowhere below it.

        Losses that do not flatten have none of their own: steps by their curvature get ahead.
        """
        return np.asarray(self.curvature(z, y, weight))

    def blocks(self: Any, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the second derivatives in the margins of a row, (1, 1, n) of one output."""
        return np.asarray(self.curvature(z, y, weight)[None, None])

    def fitted(self, y: FloatArray, weight: FloatArray) -> Any:
        return self

    def with_offset(self, y: FloatArray, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the target and the weights of which this is the loss with an offset."""
        raise ParameterError(
            "offset",
            Message(
                "must be None for ",
                Parameter.of("loss", getattr(self, "name", self)),
                ", which has none",
            ),
        )

    def mean(self, z: FloatArray) -> FloatArray:
        """Return what margins predict: themselves."""
        return z

    def deviance(self: Any, z: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return twice the loss: as its least value is 0, that is less what a perfect fit has."""
        return 2.0 * float(self.value_gradient(z, y, weight)[0])

    def negative_log_likelihood(
        self, value: float, y: FloatArray, weight: FloatArray, n_rows: float
    ) -> float:
        """Return the loss: it is that, up to what depends on the target alone."""
        return value

    def null(self: Any, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
        zero = np.zeros_like(weight)
        if intercept:
            return fit_intercept(self, zero, y, weight)[1]
        return float(self.value_gradient(zero, y, weight)[0])


class NumericLoss(LossOfRows, ABC):
    """A loss of numbers, from functions of one row: the duals' shares t = v / s are -f'(z).

    f is not negative, and 0 at its least value over z, so that gaps are shares of what there is to
    explain; twice the loss is the deviance.
    """

    name: ClassVar[str]

    def __eq__(self, other: object) -> bool:
        """Return whether another loss is of this class, with the same attributes."""
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        """Return what equal losses have in common."""
        return hash(type(self))

    @abstractmethod
    def of_rows(self, z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f and its derivative in z, both (n,)."""

    @abstractmethod
    def bends(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Return the second derivative of f in z, (n,)."""

    @abstractmethod
    def interval(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the interval of t where the conjugate is finite, with 0 inside."""

    @abstractmethod
    def conjugates(self, t: FloatArray, y: FloatArray) -> FloatArray:
        """Return the conjugate of f at -t, (n,), for t in the interval."""

    @abstractmethod
    def margins(self, t: FloatArray, y: FloatArray) -> FloatArray:
        """Return the z with f'(z) = -t, (n,); infinite at an end of the interval."""

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        if is_compiled(self):
            return at_margins(self, z, y, weight)[1:3]
        value, slope = self.of_rows(z, y)
        return float(weight @ value), np.asarray(weight * slope)

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        if is_compiled(self):
            return at_margins(self, z, y, weight)[3]
        return np.asarray(weight * self.bends(z, y))

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return sum_i s_i f*(y_i, -v_i / s_i); infinite where a v_i is outside its interval."""
        if has_compiled_dual(self):
            return compiled_conjugate(self, v, y, weight)
        t = share_of(v, weight)
        low, high = self.interval(y)
        within = np.clip(t, low, high)
        if not (np.abs(t - within) <= ROUNDING * np.abs(t)).all():
            return np.inf
        return float(weight @ self.conjugates(within, y))

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return v clipped to the interval of every row, that of 0 alone where it has no weight."""
        ends = [
            np.multiply(weight, end, out=np.zeros_like(v), where=weight > 0)
            for end in self.interval(y)
        ]
        return np.clip(v, *ends)

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return the c that maximises -conjugate(c v) - c**2 quadratic.

        The derivative sum_i v_i z_i(c) - 2 c quadratic falls, with z_i(c) the margin whose dual
        share is c v_i / s_i, by 2 quadratic + sum_i v_i^2 / (s_i f''(z_i)).
        """
        if has_compiled_dual(self):
            return compiled_scale(self, v, y, weight, quadratic)
        t = share_of(v, weight)
        low, high = self.interval(y)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ends = np.where(t > 0, high / t, np.where(t < 0, low / t, np.inf))
        end = INSIDE * float(ends.min(initial=np.inf))
        moved = t != 0
        if not moved.all():
            t, y, v = t[moved], y[moved], v[moved]
        if not moved.any() or end <= 0.0:
            return 1.0

        def slopes(c: float) -> tuple[float, float]:
            z = self.margins(c * t, y)
            fall = float(v @ (t / self.bends(z, y))) + 2.0 * quadratic
            return float(v @ z) - 2.0 * c * quadratic, fall

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return root_of_falling(slopes, end)


def that_of_each(name: str) -> Any:
    """Return a property of a loss made of another one: that of `each`."""
    return property(lambda loss: getattr(loss.each, name))


class LossOfAnother(LossOfRows):
    """A loss made of another one, `each`, f, which it is as but for what it says itself."""

    each: Any

    name = that_of_each("name")
    parameters = that_of_each("parameters")
    target = that_of_each("target")
    of_residuals = that_of_each("of_residuals")
    noise = that_of_each("noise")

    @property
    def final(self) -> Any:
        return replace(self, each=self.each.final)  # type: ignore[type-var]

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        return float(self.each.best_scale(v, y, weight, quadratic))


# Dual bounds, feasible points, best intercepts.


def dual_bound(
    loss: Smooth, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
) -> tuple[float, float]:
    """Return max_t -conjugate(t v) - t**2 quadratic, and its t.

    `quadratic` is the value at v of the quadratic part of the dual, for example
    1/2 max_t ||c_{S_t}||^2. Without the rescaling the bound is useless far from the optimum. Where
    rounding leaves v outside of the domain the bound is that of 0, the least value of the loss.
    """
    scale = loss.best_scale(v, y, weight, quadratic)
    value = -loss.conjugate(scale * v, y, weight) - scale * (scale * quadratic)
    if value > -np.inf:
        return value, scale
    return -loss.conjugate(np.zeros_like(v), y, weight), 0.0


def share_of(alpha: FloatArray, weight: FloatArray) -> FloatArray:
    """Return alpha / weight, 0 where a row has no weight (and alpha is 0)."""
    return np.divide(alpha, weight, out=np.zeros_like(alpha), where=weight > 0)


def balance(v: FloatArray) -> FloatArray:
    """Return v with its heavier sign shrunk so that sum_i v_i = 0.

    At the optimal intercept the sum is zero up to rounding; after this it is a feasible dual
    point exactly, and bounds computed from it are bounds. Where a sign has nothing, as by
    underflow, the other one is left with nothing as well.
    """
    positive = v > 0
    up, down = float(v[positive].sum()), -float(v[~positive].sum())
    if up == down:
        return v
    heavier = positive if up > down else ~positive
    return np.where(heavier, min(up, down) / max(up, down) * v, v)


def balance_each(V: FloatArray) -> FloatArray:
    """Return the rows of V, each as `balance` has it."""
    above = np.maximum(V, 0.0)
    up, down = above.sum(axis=1), (above - V).sum(axis=1)
    light = np.minimum(up, down)
    factors = [
        np.divide(light, one, out=np.ones_like(one), where=one > light) for one in (up, down)
    ]
    return np.asarray(np.where(V > 0, factors[0][:, None], factors[1][:, None]) * V)


def fit_intercept(
    loss: Curved, z: FloatArray, y: FloatArray, weight: FloatArray, start: float = 0.0
) -> tuple[float, float, FloatArray]:
    """Return b = argmin_b sum_i s_i f(y_i, z_i + b), the value there and the gradient in z.

    Newton's method on the increasing derivative, with a bracket that bisection can fall back to;
    of least squares it is a weighted mean.
    """
    if not loss.has_intercept:
        return 0.0, *loss.value_gradient(z, y, weight)
    if loss.quadratic:
        b = float(weight @ (y - z)) / float(weight.sum())
        return b, *loss.value_gradient(z + b, y, weight)
    if loss.kernel >= 0:
        return at_margins(loss, z, y, weight, start, intercept=True)[:3]
    b = start
    low, high = -np.inf, np.inf
    width = 1.0
    for _ in range(200):
        value, gradient = loss.value_gradient(z + b, y, weight)
        slope = float(gradient.sum())
        if abs(slope) <= 1e-13 * float(np.abs(gradient).sum()):
            break
        if slope > 0:
            high = b
        else:
            low = b
        bend = float(loss.curvature(z + b, y, weight).sum())
        proposal = b - slope / bend if bend > 0 else np.nan
        if not (low < proposal < high) or abs(proposal - b) > 10.0 * width:
            if np.isinf(low) or np.isinf(high):  # expand towards the missing end
                proposal = b - np.sign(slope) * width
                width *= 4.0
            else:
                proposal = 0.5 * (low + high)
        if abs(proposal - b) <= 1e-15 * max(1.0, abs(b)):
            break
        b = float(proposal)
    return b, value, gradient


def taken_off(cross: FloatArray, own: FloatArray) -> FloatArray:
    """Return C H^+ C', what coefficients at their best take off a second derivative.

    cross : C, (p, r) of others and of these. own : H, (r, r), positive semidefinite.
    """
    values, vectors = np.linalg.eigh(own)
    kept = values > FLAT * max(float(values[-1]), 1e-300)
    root = (cross @ vectors[:, kept]) / np.sqrt(values[kept])
    return np.asarray(root @ root.T)


def root_of_falling(slopes: Callable[[float], tuple[float, float]], end: float) -> float:
    """Return the root in (0, end] of a function that falls, `end` where it is positive there.

    Newton's method in a bracket. It does not begin at the end, where the function may fall so
    steeply that no step leaves it.

    slopes : of a number, returns the value there and minus the derivative.
    """
    c, low, high = min(1.0, 0.5 * end), 0.0, end
    for _ in range(MOST_STEPS):
        value, fall = slopes(c)
        low, high = (c, high) if value > 0.0 else (low, c)
        following = c + value / fall if fall > 0.0 else np.nan
        if not low < following < high:
            if high == np.inf:
                following = 4.0 * c
            elif high < end:
                following = np.sqrt(low) * np.sqrt(high) if low > 0.0 else 0.25 * c
            elif slopes(end)[0] > 0.0:
                return end
            else:
                following = 0.5 * (c + end)
        if abs(following - c) <= SCALE_TOL * c or following < LEAST_SCALE:
            return float(following)
        c = float(following)
    return c


# Losses that kernels know.


def is_compiled(loss: Curved) -> bool:
    """Return whether `at_margins` takes a loss: labels and squares have shorter ways."""
    return loss.kernel >= 0 and not (loss.quadratic or getattr(loss, "of_labels", False))


def has_compiled_dual(loss: Curved) -> bool:
    """Return whether the compiled solvers know the dual points of a loss."""
    return loss.kernel >= 0 and getattr(loss, "compiled_dual", False)


def compiled_scale(
    loss: Curved, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
) -> float:
    """Return `best_scale` of a loss whose dual points are compiled."""
    return _kernels.loss_scale(
        *as_arrays(v, y, weight), loss.kernel, loss.kernel_parameters, quadratic
    )


def compiled_conjugate(loss: Curved, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """Return `conjugate` of a loss whose dual points are compiled."""
    return _kernels.loss_conjugate(*as_arrays(v, y, weight), loss.kernel, loss.kernel_parameters)


def at_margins(
    loss: Curved,
    z: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    start: float = 0.0,
    *,
    intercept: bool = False,
) -> tuple[float, float, FloatArray, FloatArray]:
    """Return b, the value at z + b, its gradient and its curvature there, of a compiled loss.

    intercept : whether b moves from `start` to its best value.
    """
    gradient, curvature = np.empty(z.size), np.empty(z.size)
    b, value = _kernels.loss_at(
        *as_arrays(z, y, weight), loss.kernel, loss.kernel_parameters, intercept, start, gradient,
        curvature,
    )  # fmt: skip
    return b, value, gradient, curvature


def as_arrays(
    v: FloatArray, y: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return arrays as kernels take them."""
    return (
        np.ascontiguousarray(v, np.float64),
        np.asarray(y, np.float64).ravel(),
        np.ascontiguousarray(weight, np.float64),
    )


class Latest(threading.local):
    """The last answer in a thread: value and derivatives are asked for one after the other."""

    _asked: tuple[Any, ...] = ()
    _found: Any = None

    def at(self, loss: object, z: FloatArray, y: FloatArray, weight: FloatArray) -> Any:
        """Return what was kept of the same loss, margins, target and weights, or None."""
        if not self._asked:
            return None
        own, margins, target, weights = self._asked
        same = target is y and weights is weight and own == loss
        return self._found if same and np.array_equal(margins, z) else None

    def keep(
        self, found: Any, loss: object, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> None:
        self._asked, self._found = (loss, z.copy(), y, weight), found


# What is worked out of a target once, for all margins.

_Made = TypeVar("_Made")
_KNOWN: dict[tuple[Any, ...], tuple[weakref.ref[FloatArray], Any]] = {}


def kept_with(y: FloatArray, make: Callable[..., _Made], *options: Any) -> _Made:
    """Return make(y, *options), which is kept as long as y lives."""
    key = id(y), make, options
    known = _KNOWN.get(key)
    if known is not None and known[0]() is y:
        return known[1]  # type: ignore[no-any-return]
    found = make(y, *options)

    def forget(_: object) -> None:
        _KNOWN.pop(key, None)

    _KNOWN[key] = weakref.ref(y, forget), found
    return found
