"""The convex relaxation of the l0 problem on gathered columns, by a semismooth Newton method.

    min_{u, b}  1/2 ||u_A||^2 + 1/2 ||u_F||_(q)^2 + sum_i s_i f(y_i, z_i'u + b)              (R)

A are the features that are fixed in, F the free ones, q = k - |A|, and

    1/2 ||u||_(q)^2 = min { 1/2 sum_j u_j^2 / d_j : 0 <= d_j <= 1, sum_j d_j <= q }

is half the squared k-support norm: the tightest convex function below the ridge term of vectors
with at most q entries. The value is a lower bound of the l0 problem with A fixed in; its dual is
D(v) = -conjugate(v) - 1/2 (sum_A c_j^2 + S_q(c_F^2)), c = Z'v, S_q the sum of the q largest.

At the solution with threshold t, features with |c_j| > t have d_j = 1 and u_j = c_j, those with
d_j = 0 have |c_j| <= t, and in between |c_j| = t and d_j = |u_j| / t. Given which are which and the
signs in between, the penalty is quadratic, 1/2 ||u_T||^2 + (s'u_E)^2 / (2 q'). A Newton step
minimises the penalty with the quadratic model of the loss, by guesses of which are which that the
proximal point of u + c gives (`pool.quadratic`). These are right near the solution; where C is
large, or columns are nearly collinear, they may be wrong everywhere else, and steps do not descend.
Then the same model is minimised by proximal steps (`pool.proximal`), as long as each half a gap is
left of the one before. At last an interior-point method comes near the solution: Newton steps in
u, b and d on

    1/2 ||u_A||^2 + 1/2 sum_F u_j^2 / d_j + sum_i s_i f(y_i, z_i'u + b)
        - mu (sum_F log d_j + sum_F log(1 - d_j) + log(q - sum_F d_j))

for mu that falls with the gap, over the columns of large scores.

Where a budget counts groups, |u_j| and |c_j| are the lengths of their parts, s is the directions
of those of u + c, and a Newton step has the curvature across these too, (I - s_g s_g') / d_g.

Where coefficients have signs, u and c count as far as they have them, and the interior-point method
has a barrier for these, too. Where they are bounded, all models are minimised by proximal steps;
where bounds change little, and of groups, the relaxation without them is solved, and its dual point
counts them.

Sources: Argyriou, Foygel and Srebro, Sparse prediction with the k-support norm, NIPS 2012; Li, Sun
and Toh, SIAM Journal on Optimization 28(1), 2018 (semismooth Newton steps for proximal problems);
Nesterov and Nemirovskii, Interior-Point Polynomial Algorithms, SIAM 1994 (barriers, central paths).
"""

from __future__ import annotations

import numpy as np

from ...core.types import Columns, FloatArray, IndexArray
from ...data.columns import SparseColumns
from ...data.views import some_of
from ..risk import Risk
from ..units import Units
from .compiled_relaxation import is_compiled, newton_steps
from .proximal import is_inside
from .relaxation_steps import RELAXATION_STEPS, Problem
from .relaxed import Relaxed
from .shared_curvature import SharedCurvature
from .signed_ridge import signed_ridge

MAX_ITERATIONS = 200
SLACK = 0.05  # of what is missing to the cutoff: a gap that is left where every step leaves a share


def relax(
    Z: Columns,
    units: Units,
    risk: Risk,
    n_fixed: int,
    n_free: int,
    *,
    columns: IndexArray | None = None,
    start: tuple[FloatArray, float] | None = None,
    tol: float = 1e-4,
    cutoff: float = np.inf,
    max_iter: int = MAX_ITERATIONS,
    deadline: float = np.inf,
    ahead: bool = False,
    shared: SharedCurvature | None = None,
    loose: bool = False,
) -> Relaxed:
    """Solve (R) to a certified gap of `tol` relative to the objective.

    Parameters
    ----------
    Z : (n, p) gathered columns, unit by unit, those of the fixed units first.
    columns : those of Z that count, in this order; all if None.
    units : of these columns, in their order.
    n_fixed : |A|.
    n_free : q, at most the number of free units; all of them enter where it is equal.
    start : (u, b) to start from.
    cutoff : stop as soon as the bound is above this value; where the objective is above, the
        tolerance is that of rounding.
    max_iter : steps; the bound is one after any of them.
    deadline : no further step begins when `time.perf_counter` is there.
    ahead : whether to say what dividing by a unit would bring, where the bound is not above.
    shared : the curvature of the columns of Z that other relaxations have, too.
    loose : whether the solution may be that without bounds on coefficients, where it is sooner had.
    """
    columns = np.arange(Z.shape[1]) if columns is None else columns
    u, b = (np.zeros(columns.size), 0.0) if start is None else start
    best, best_dual, begin = -np.inf, np.zeros(risk.size), 0
    best_scores = None
    nothing_to_choose = n_free == units.usable.size - n_fixed
    inside = loose or is_inside(u, n_fixed, n_free, units)
    if inside and is_compiled(Z, columns, units, risk):
        begin = min(RELAXATION_STEPS.max_newton, max_iter - 1)
        found, done = newton_steps(
            Z, columns, units, risk, n_fixed, n_free, (u, b), (tol, cutoff), begin
        )
        # A bound of all models is one of bounded ones, and their solution where it is inside.
        sure = loose or found.bound > cutoff or is_inside(found.coef, n_fixed, n_free, units)
        if done and sure:
            return found
        u, b, best, best_dual = found.coef, found.intercept, found.bound, found.dual
        if isinstance(Z, SparseColumns):  # where models of many columns are cheap
            begin, max_iter = 0, max_iter - begin
        best_scores = found.scores
    known = None if shared is None else (shared, columns)
    problem = Problem(some_of(Z, columns), units, risk, n_fixed, n_free, deadline, known)
    point = problem.at(problem.start(u), b)
    if nothing_to_choose:
        fit = signed_ridge(
            Z.take(columns), risk, units.signs, start=(u, point.b), tol=tol, of_value=True,
            cutoff=cutoff,
        )  # fmt: skip
        point = problem.at(fit.coef, fit.intercept)  # above the cutoff signs may be wrong
    for n_steps in range(begin, max_iter):
        dual, scores, bound, scale = problem.bound(point)
        if bound > best:
            best, best_dual, best_scores = bound, scale * dual, scale * scores
        # A value above the cutoff may still be shown to be there.
        wanted = tol if point.objective <= cutoff else RELAXATION_STEPS.finest
        enough = wanted * abs(point.objective)
        if cutoff < np.inf and problem.is_rough:
            enough = max(enough, SLACK * (cutoff - point.objective))
        done = best > cutoff or point.objective - best <= enough
        if done or problem.is_late():
            break
        following = problem.following(point, scores, best, wanted, cutoff, n_steps)
        if following is None:  # rounding: no decrease is left
            break
        point = following
    share = problem.share_of(point.u)
    into = out = np.zeros(share.size)
    if ahead and best <= cutoff and not problem.is_late():
        into, out = problem.rises(point, scores)
    return Relaxed(
        point.u, point.b, share, best_dual, point.objective, best, into, out, best_scores
    )
