"""SALM and ASALM: an augmented Lagrangian that splits the loss from the bound on the features.

    min_{w, b}  sum_i m_i f(y_i, z_i'w + b) + mu/2 ||w||^2   subject to  w = beta, ||beta||_0 <= k

with the mean loss, sum_i m_i = 1. It is (L0) of `solvers/l0.py` divided by the total weight
C sum_i s_i, so that mu = 1 / (C sum_i s_i), and rho has the scale of the paper. With gamma the
multipliers of w = beta, an iteration is

    (b, w) <- argmin mean loss + mu/2 ||w||^2 + rho/2 ||w - beta - gamma / rho||^2         (2.2)
    beta   <- H_k(w - gamma / rho)                                                         (2.3)
    ghat   <- gamma + rho (beta - w)                                                       (2.4)
    gamma  <- ghat (SALM), or extrapolated from ghat (ASALM)                               (2.5)

A fixed point has w = beta, no gradient on the support, and |gradient_j| <= rho min |beta_i| off it:
a large rho accepts almost any support, and with a small one the support never settles.

Where features are counted in units, the rows of the coefficients of several classes or whole groups
of features, H_k keeps the k units of the largest norm, and a fixed point is one in these norms: the
multinomial form that the paper names at its end.

Source: Zhou, Dang and Wang, Pure Mathematics 11(12), 2021, doi 10.12677/PM.2021.1112237 (ASALM);
Bai, Liang and Yang, Optimization Methods and Software 31, 2016 (SALM). Differences from the paper:
the ridge, unless it is switched off; forced features; rho adapts unless it is a number; (2.2) by
Newton's method unless another is asked for; ASALM is safeguarded unless that is switched off,
because its steps in gamma, which grow to 2 rho, make it diverge; the result is refitted on its
support.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...core import validation as validate
from ...core.errors import ParameterError
from ...core.ranking import largest
from ...core.results import Status, Step
from ...core.types import FloatArray, IndexArray
from ...solvers.problem import BudgetUnits, Singles
from .alpha_step import INNER_METHODS, AlphaStep, SplitProblem

METHODS = ("salm", "asalm")
STOPS = ("both", "primal")
ABSOLUTE = 1e-3  # eps_abs / eps_rel, as published
INNER = 1e-3  # tolerance of (2.2) over tol: below that of the dual residual for any size
RHO_SHARE, RHO_GROWTH = 0.1, 1.5  # adaptive rho: its first value over L, and its growth
PATIENCE, PROGRESS = 15, 0.9  # it grows where so many iterations leave more of the residuals
# Values of rho / L that a warning keeps to: raw ASALM blew up at 0.2 in two of three runs.
LEAST_RHO, LEAST_RHO_RAW, MOST_RHO = 0.1, 0.3, 10.0
RESTART = 0.999  # the safeguard: the share of the residuals that an accelerated step may leave
DIVERGED = 100.0  # times the first distance of w from beta


@dataclass(frozen=True, slots=True)
class Splitting:
    """The options of SALM and ASALM: `L0LogisticRegression(solver=Splitting("asalm", rho=0.5))`.

    Parameters
    ----------
    method : "salm" or "asalm".
    rho : penalty of w - beta in the problem with the mean loss, the paper's 0.5 for example; or
        "adaptive": a tenth of L, the largest curvature of the mean loss, times 1.5 where the
        support keeps changing and the residuals stall.
    inner : how (2.2) is solved: "newton-cg", "l-bfgs", or "bfgs" (the paper's: a dense inverse,
        exact steps).
    safeguard : of "asalm": momentum without the step beyond it, restarted where the residuals do
        not fall. False: as published.
    stop : "both": the primal residual ||w - beta|| and the dual one, rho times the step of beta,
        are both at most sqrt(p) 1e-3 tol + tol * max(||w||, ||beta||), or ||ghat|| (the rule of
        the paper's experiments); "primal": ||w - beta|| <= tol (of its algorithm).
    tol : 1e-3, as published.
    max_iter : the most iterations.
    ridge : False: mu = 0 in the iterations, as published. The loss of a support is nearly that with
        the ridge, unless it separates the classes; the refit has the ridge.

    Raises
    ------
    ValueError
        Where an option breaks a rule.
    """

    method: str = "salm"
    rho: float | str = "adaptive"
    inner: str = "newton-cg"
    safeguard: bool = True
    stop: str = "both"
    tol: float = 1e-3
    max_iter: int = 1000
    ridge: bool = True

    def __post_init__(self) -> None:
        """Check every option."""
        validate.check_option("method", self.method, METHODS)
        if self.rho != "adaptive":
            if isinstance(self.rho, str):
                raise ParameterError(
                    "rho", "must be 'adaptive' or a positive finite number", f"{self.rho!r}"
                )
            validate.check_positive("rho", self.rho)
        validate.check_option("inner", self.inner, tuple(INNER_METHODS))
        validate.check_flag("safeguard", self.safeguard)
        validate.check_flag("ridge", self.ridge)
        validate.check_option("stop", self.stop, STOPS)
        validate.check_gap("tol", self.tol)
        validate.check_iterations("max_iter", self.max_iter)

    @classmethod
    def of(cls, solver: str | Splitting) -> Splitting | None:
        """Return the options that a solver's name stands for; None for other solvers."""
        if isinstance(solver, Splitting):
            return solver
        return cls(solver) if solver in METHODS else None

    @property
    def raw(self) -> bool:
        """Whether this is ASALM as published."""
        return self.method == "asalm" and not self.safeguard

    def advice(self, curvature: float, converged: bool) -> str:
        """Return what is wrong with a fixed rho where L = curvature, "" if nothing is.

        A small one that converged did no harm: it asks for a better support.
        """
        if isinstance(self.rho, str) or curvature <= 0:
            return ""
        least = LEAST_RHO_RAW if self.raw else LEAST_RHO
        if self.rho < least * curvature and not converged:
            harm = "diverges or goes round" if self.raw else "goes round without settling"
            return (
                f"rho should be at least {least * curvature:.2g} for these data; with rho="
                f"{self.rho:g} {self.method} often {harm}. Use rho='adaptive'"
                + (", safeguard=True" if self.raw else "")
                + f" or rho={least * curvature:.2g}."
            )
        if self.rho > MOST_RHO * curvature:
            return (
                f"rho should be at most {MOST_RHO * curvature:.2g} for these data; with rho="
                f"{self.rho:g} {self.method} keeps nearly any support. Use rho='adaptive' or rho="
                f"{LEAST_RHO * curvature:.2g}."
            )
        return ""


@dataclass(frozen=True, slots=True)
class Split:
    """Where SALM or ASALM ended."""

    support: IndexArray  # sorted columns of Z, those of k units
    coef: FloatArray  # beta on the support; 0 where H_k had fewer to keep
    intercept: float
    gamma: FloatArray  # (p,) multipliers
    rho: float
    curvature: float  # L
    status: Status
    history: tuple[Step, ...]  # by iteration; what entered are columns of Z


class _Plain:
    """gamma <- ghat."""

    restarts = 0

    def step(self, gamma: FloatArray, ghat: FloatArray, left: float) -> FloatArray:
        """Return the next gamma; left: rho ||w - beta||^2 + rho ||step of beta||^2."""
        return ghat

    def restart(self) -> None:
        """Forget the momentum."""


class _Accelerated(_Plain):
    """(2.5), as published or safeguarded."""

    def __init__(self, safeguard: bool) -> None:
        self._safeguard = safeguard
        self._t, self._left = 1.0, math.inf
        self._before: FloatArray | None = None

    def step(self, gamma: FloatArray, ghat: FloatArray, left: float) -> FloatArray:
        t, following = self._t, 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * self._t**2))
        before = ghat if self._before is None else self._before  # t - 1 = 0 at the first step
        self._before, worse, self._left = ghat, left >= RESTART * self._left, left
        if self._safeguard and worse:
            self.restarts += 1
            self._t = 1.0
            return ghat
        self._t = following
        extrapolated = ghat + (t - 1.0) / following * (ghat - before)
        if self._safeguard:
            return extrapolated
        return extrapolated + t / following * (ghat - gamma)

    def restart(self) -> None:
        self._t, self._left = 1.0, math.inf


def split(
    problem: SplitProblem,
    k: int,
    options: Splitting,
    *,
    keep: IndexArray | None = None,
    start: tuple[FloatArray, float] | None = None,
    units: BudgetUnits | None = None,
) -> Split:
    """Run the splitting augmented Lagrangian method, plain or accelerated.

    Parameters
    ----------
    units : what k counts, by default the columns of Z: groups of them.
    keep : units that are always in the support, counted in k.
    start : (beta, b), (p,) of at most k units; gamma begins with the gradient there, so that a
        fixed point is left at once. By default all begin with 0.

    Returns
    -------
    The objective of a `Step` of its history is (L0) at (beta, b), without the ridge where the
    options say so. `extra` has `primal`, `dual`,
    `primal_tol`, `dual_tol`, `rho`, `curvature` (L), `restarts` and `inner_iterations`; `status` is
    that of the last one only.
    """
    p = problem.Z.shape[1]
    units = Singles(np.ones(p, bool)) if units is None else units
    total = 1.0 / problem.mu
    if not options.ridge:
        problem = problem.without_ridge()
    kept = np.empty(0, np.int64) if keep is None else keep
    curvature = problem.curvature()
    penalty = _Penalty(options, curvature)
    multipliers = _Accelerated(options.safeguard) if options.method == "asalm" else _Plain()
    alpha, gamma = np.zeros(p + 1), np.zeros(p)
    if start is not None:
        alpha[1:], alpha[0] = start
        gamma = problem.gradient(alpha)
    beta, support = alpha[1:].copy(), np.flatnonzero(alpha[1:])
    b, far = float(alpha[0]), math.inf
    history: list[Step] = []
    status = Status.MAX_ITER
    solve = INNER_METHODS[options.inner]
    while len(history) < options.max_iter:
        rho = penalty.rho
        step = AlphaStep(problem, problem.mu + rho, rho * beta + gamma)
        moved, n_inner = solve(step, alpha, INNER * options.tol)
        w = moved[1:]
        target = w - gamma / rho
        if not (np.isfinite(target).all() and np.isfinite(moved[0])):
            status = Status.DIVERGED
            break
        strength = units.strength(target)
        strength[kept] = np.inf
        chosen = np.sort(units.features(largest(strength, k)))
        fresh = np.zeros(p)
        fresh[chosen] = target[chosen]
        ghat = gamma + rho * (fresh - w)
        primal = float(np.linalg.norm(w - fresh))
        dual = rho * float(np.linalg.norm(fresh - beta))
        primal_tol, dual_tol = _tolerances(options, w, fresh, ghat)
        entered = np.setdiff1d(chosen, support)
        gamma = multipliers.step(gamma, ghat, rho * primal**2 + dual**2 / rho)
        alpha, beta, support, b = moved, fresh, chosen, float(moved[0])
        margins = problem.Z.times(beta) + b
        value = problem.mean.value_gradient(margins)[0]
        objective = total * (value + 0.5 * problem.mu * float(beta @ beta))
        extra = {
            "primal": primal, "dual": dual, "primal_tol": primal_tol, "dual_tol": dual_tol,
            "rho": rho, "curvature": curvature, "restarts": float(multipliers.restarts),
            "inner_iterations": float(n_inner),
        }  # fmt: skip
        history.append(Step(objective, math.nan, k, entered, {}, extra))
        if primal <= primal_tol and dual <= dual_tol:
            status = Status.CONVERGED
            break
        far = min(far, DIVERGED * primal) if len(history) == 1 else far
        if primal > far or not np.isfinite(gamma).all():
            status = Status.DIVERGED
            break
        if penalty.grown(max(primal / primal_tol, dual / dual_tol), entered.size > 0):
            multipliers.restart()
    if history:
        history[-1] = replace(history[-1], status=status)
    return Split(support, beta[support], b, gamma, penalty.rho, curvature, status, tuple(history))


def _tolerances(
    options: Splitting, w: FloatArray, beta: FloatArray, ghat: FloatArray
) -> tuple[float, float]:
    """Return the tolerances of the primal and of the dual residual."""
    if options.stop == "primal":
        return options.tol, math.inf
    absolute = math.sqrt(w.size) * ABSOLUTE * options.tol
    size = max(float(np.linalg.norm(w)), float(np.linalg.norm(beta)))
    return absolute + options.tol * size, absolute + options.tol * float(np.linalg.norm(ghat))


class _Penalty:
    """rho: fixed, or growing where the support keeps changing and the residuals stall.

    On a support that stays, every rho leads to the same point, and a larger one more slowly; but
    for raw ASALM, which a small rho makes go round there too.
    """

    def __init__(self, options: Splitting, curvature: float) -> None:
        self._adaptive, self._raw = isinstance(options.rho, str), options.raw
        share = LEAST_RHO_RAW if options.raw else RHO_SHARE
        first = share * curvature if curvature > 0 else 1.0
        self.rho = first if isinstance(options.rho, str) else float(options.rho)
        self._best, self._waited, self._changed = math.inf, 0, False

    def grown(self, residual: float, changed: bool) -> bool:
        """Take note of an iteration, its largest residual over tolerance; return if rho grew."""
        if not self._adaptive:
            return False
        self._changed |= changed
        if residual < PROGRESS * self._best:
            self._best, self._waited, self._changed = residual, 0, False
            return False
        self._waited += 1
        if self._waited < PATIENCE or not (self._changed or self._raw):
            return False
        self.rho *= RHO_GROWTH
        self._best, self._waited, self._changed = math.inf, 0, False
        return True
