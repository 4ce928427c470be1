"""What one dual point proves of the l0 problem: a lower bound, features ruled out or fixed in.

For every v where the conjugate of the loss is finite (and sum_i v_i = 0 where the intercept is
free), c = X'v and S_k the sum of the k largest entries of a vector,

    D_k(v) = -conjugate(v) - 1/2 S_k(c^2)

is a lower bound of the l0 problem that `core.results.Certificate` states. One scan after a refit
gives it. For another budget than k features the largest sum of c_j^2 over an admissible set stands
instead of S_k: see `BestSet`. Among models with |u_j| <= M the square of a larger score than M is
replaced by 2 M |c_j| - M^2, twice the largest u_j c_j - u_j^2 / 2: see `problem.worths`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.types import FloatArray, IndexArray
from ..data.operations import top_features
from .problem import BudgetUnits, Risk, Singles, admitted, oriented

DECIDED = 2e-9  # a feature is decided where a bound is above a value by this share: twice as much
# as the verifier asks for, so that what rounding differs by takes none of these decisions back

MAX_RECOMPUTED = 200  # and 4 k: columns recomputed in float64


@dataclass(frozen=True, slots=True)
class Bound:
    """What one dual point proves about the l0 problem of one size."""

    value: float  # D_k at the rescaled dual point
    dual: FloatArray  # (n_samples,) that point
    dropped: np.ndarray  # (n_units,) those in no model better than the best known one
    fixed: np.ndarray  # (n_units,) those in every better model

    @property
    def undecided(self) -> np.ndarray:
        """(n_units,) mask of the others."""
        return np.asarray(~(self.dropped | self.fixed))


@dataclass(frozen=True, slots=True)
class BestSet:
    """The largest sum of squares over an admissible set, and what it costs to change the set.

    What `bound_at` needs to know of a budget. A cost may be less than the true one: then less is
    decided. It is -inf where it cannot decide, inf where it decides whatever the bound is.
    """

    value: float
    entering: FloatArray  # (m,) by how much the sum falls if the set must have a feature
    chosen: IndexArray  # features of the best set
    leaving: FloatArray  # (n_chosen,) by how much it falls if the set must not have one of them


def best_features(square: FloatArray, k: int, forced: IndexArray) -> BestSet:
    """Return the best k features, or units, the forced ones among them.

    With the others sorted, q = k - n_forced, it costs s_(q) - s_j to take in j outside of the best
    q, and s_j - s_(q+1) to do without j inside.
    """
    free = square.copy()
    free[forced] = 0.0
    top = top_features(free, k - forced.size)
    value = float(square[forced].sum() + free[top].sum())
    following = free.copy()
    following[top] = 0.0
    last = float(free[top].min()) if top.size else np.inf
    leaving = free[top] - float(following.max(initial=0.0))
    entering = np.subtract(last, free, out=following)
    entering[top] = entering[forced] = -np.inf
    # Forced features come last, as scores of 0 can bring them into the top as well.
    chosen = np.concatenate([top, forced])
    leaving = np.concatenate([leaving, np.full(forced.size, np.inf)])
    return BestSet(value, entering, chosen, leaving)


def bound_at(
    risk: Risk,
    dual: FloatArray,
    magnitude: FloatArray,
    k: int,
    forced: IndexArray,
    upper: float,
    units: BudgetUnits | None = None,
) -> Bound:
    """Return the bound of a dual point and the units it decides.

    A unit outside of the best set is dropped where D_k + 1/2 (cost of taking it in) > upper, and
    one inside is fixed where D_k + 1/2 (cost of doing without it) > upper: both are D_k of the
    problem with the unit forced in or out.

    magnitude : (m,) |c_j| of the features or upper bounds of it; zero for those that may not enter.
    k : the budget. forced : units.
    upper : objective of the best known model.
    units : None: the features, whose coefficients have no bounds.
    """
    units = Singles(np.ones(magnitude.size, bool)) if units is None else units
    if not units.bounded:
        best = best_features(units.worth(magnitude), k, forced)
        value, scale = risk.bound(dual, 0.5 * best.value)
        return decide(best, value, scale, dual, upper)

    def best_at(t: float) -> BestSet:
        return best_features(units.worth(t * magnitude), k, forced)

    unbounded = best_features(units.strength(magnitude) ** 2, k, forced)
    scale = risk.bound(dual, 0.5 * unbounded.value)[1]
    value, scale = bounded(risk, dual, scale, lambda t: best_at(t).value)
    return decide(best_at(scale), value, 1.0, scale * dual, upper)


def bounded(
    risk: Risk, dual: FloatArray, scale: float, worth: Callable[[float], float]
) -> tuple[float, float]:
    """Return the larger bound at a dual point times a scale, or times 1, and which that is.

    Where coefficients are bounded the best scale has no closed form.

    worth : the largest sum over an admissible set, given the scale.
    """
    values = {t: -risk.conjugate(t * dual) - 0.5 * worth(t) for t in {scale, 1.0}}
    best = max(values, key=lambda t: values[t])
    return values[best], best


def decide(best: BestSet, value: float, scale: float, dual: FloatArray, upper: float) -> Bound:
    """Return the bound of `scale` times a dual point and the features that it decides.

    best : of the scores of the dual point itself.
    """
    limit = upper + DECIDED * abs(upper)
    half = 0.5 * scale**2
    fixed = np.zeros(best.entering.size, bool)
    with np.errstate(invalid="ignore"):  # 0 times inf decides nothing
        dropped = value + half * best.entering > limit
        fixed[best.chosen] = value + half * best.leaving > limit
    return Bound(value, scale * dual, dropped, fixed)


def safe_scores(
    scores: FloatArray,
    error: FloatArray,
    units: BudgetUnits,
    support: IndexArray,
    exact: Callable[[IndexArray], FloatArray],
) -> FloatArray:
    """Return scores that are no smaller than they are, exact where they decide the largest units.

    A score counts where its column's coefficient may have its sign, and keeps it there.

    error : by how much each may err. units : of the columns. support : columns; as many units as
    they are of are in question. exact : returns the scores of some columns without that error.
    """
    signs = units.signs
    upper = np.abs(admitted(scores, signs))
    lower = units.strength(oriented(np.maximum(upper - error, 0.0), signs))
    n = units.of(support).size
    kth = np.partition(lower, -n)[-n]
    upper += error
    doubtful = np.flatnonzero(units.strength(oriented(upper, signs)) >= kth)
    most = MAX_RECOMPUTED + 4 * support.size
    if units.sizes(doubtful).sum() > most:
        doubtful = top_features(units.strength(scores), most)
    doubtful = np.union1d(units.features(doubtful)[:most], support)
    upper[doubtful] = np.abs(admitted(exact(doubtful), signs[doubtful]))
    return oriented(upper, signs)
