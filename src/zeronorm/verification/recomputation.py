"""The figures of a certificate, recomputed from the data in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.results import Certificate, Tree
from .bound import Curvature, Extraction, Node, Units, replay
from .data import Data, read_data
from .form import CertificateError, UndecidedError, check_form, is_count
from .losses import ROUNDOFF

OPTIMAL = 1e-6  # The objective is above the optimum on the support by this share at most.
# Entries of equal columns differ by such shares of themselves and of the largest one at most.
EQUAL, EQUAL_TO_LARGEST = 1e-8, 1e-11
# A bound above the objective by this share decides about a feature; solvers ask for twice as much.
DECIDED = 1e-9
LEAST_OBJECTIVE = 1e-200  # A smaller objective cannot be told from 0.
RTOL = 1e-10  # unless the user gives another
ROUNDING = 10.0  # The bound may have this rounding, in units of rtol.
COARSEST = 1e-3  # No rtol is larger.


def verify(
    certificate: Certificate,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    rtol: float = RTOL,
) -> dict[str, float]:
    """Recompute a certificate from scratch in plain NumPy, sharing no code with the solvers.

    Checked are: that the support is what it is said to be, features that are not constant, with the
    forced ones, no more than the budget; the objective at the coefficients, and that no others on
    the support are better (by more than 1e-6 of it); the bound of the dual point; how many features
    that point rules out and fixes; and which columns are equal up to the sign. A tree is replayed
    from the root: the dual point of a node bounds its models, rules out and fixes features; every
    node must be bounded well enough or be divided without a rest. Figures of the certificate that
    say less than what is recomputed pass.

    Parameters
    ----------
    certificate : what to check; loss, scaling, intercept, C, forced features and groups are those
        that it names: they state the problem.
    X : (n, m) the user's matrix, an array, sparse, a design or not in memory; it is read by blocks
        of columns, all of which are held where there is room.
    y : (n,) labels of two classes, of which the larger one (the second of `classes_`) counts as +1;
        numbers for the losses of numbers; numbers or an ordered categorical for ordered classes.
    sample_weight : (n,) the weights of the fit, times those of the classes.
    offset : (n,) of the margins, as at the fit; None: 0.
    rtol : by how much the objective and the bound may differ from the recomputed ones, relative to
        what is claimed, at most 1e-3. Rounding may be ten times as much; where it is more, a larger
        rtol is needed: for columns far from 0 that are not centred (from some 1e4 deviations on,
        where they are not standardised or have no intercept beside them), for large values of X
        beside a large C, and for survival times of many thousands of rows.

    Returns
    -------
    The recomputed "objective", "bound" and "gap" (of a tree that shows the claimed bound to rtol
    alone, those of the bound that is weaker by rtol); "rounding", an upper bound of what the
    rounding of this recomputation can have added to the bound, or taken from the objective; and
    "nodes", the number of nodes of the tree that it took.

    Raises
    ------
    CertificateError
        Where the certificate claims more than can be recomputed, contradicts itself, or is none.
        It is a ValueError.
    UndecidedError
        Where objective and bound are as claimed but for rounding, which is too large to verify them
        to rtol; the message has the rtol that is needed. It is a CertificateError.
    ValueError
        Where X, y, the weights or rtol are not what they must be.
    MemoryError
        Where X is not in memory, which has no room for a 64th of its columns at a time.
    """
    certificate = check_form(certificate)
    if not 0 < rtol <= COARSEST:
        raise ValueError(f"rtol must be above 0 and at most 1e-3; got {rtol!r}.")
    with np.errstate(all="ignore"):  # what overflows or is no number fails every comparison below
        data = read_data(X, y, sample_weight, certificate, offset)
        return _verify(data, certificate, float(rtol))


def _verify(data: Data, certificate: Certificate, rtol: float) -> dict[str, float]:
    objective, rounding = _objective(data, certificate)
    wrong = abs(objective - certificate.objective)
    if not wrong <= rtol * abs(certificate.objective):
        if wrong <= rounding:
            raise _undecided(objective, max(wrong, rounding / ROUNDING), rounding, rtol)
        raise CertificateError(
            f"the certificate claims the objective {certificate.objective!r}; recomputed: "
            f"{objective!r}."
        )
    units = Units(data, certificate)
    root = units.node(data.feasible(certificate.dual), units.fixed, units.free)
    bound, rounding, n_nodes = root.bound, max(rounding, root.rounding), 0
    claim = certificate.bound - rtol * abs(certificate.bound)
    short = root.short_of(claim)
    if certificate.tree is not None:
        extraction = _extraction(data, certificate, certificate.tree, claim)
        shown, of_tree, n_nodes, short = replay(data, certificate.tree, units, claim, extraction)
        # A tree that shows the bound to rtol alone was replayed for what is weaker by that.
        bound = min(certificate.bound, shown) if shown >= certificate.bound - of_tree else claim
        bound, rounding = min(bound, objective), max(rounding, of_tree)
        if not bound >= claim:
            short = np.inf
    if short == np.inf:
        raise CertificateError(
            f"the certificate claims the bound {certificate.bound!r}; its dual point shows only "
            f"{bound!r}."
        )
    if short > 0.0:
        wrong = short + rtol * abs(certificate.bound)
        raise _undecided(objective, max(wrong, rounding / ROUNDING), rounding, rtol)
    if not rounding <= ROUNDING * rtol * objective:
        raise _undecided(objective, rounding / ROUNDING, rounding, rtol)
    _check_decided(data, units, root, certificate)
    _check_equivalents(data, certificate)
    return {
        "objective": objective,
        "bound": bound,
        "gap": max(0.0, objective - bound) / objective,
        "rounding": float(rounding),
        "nodes": n_nodes,
    }


def _extraction(
    data: Data, certificate: Certificate, tree: Tree, claim: float
) -> Extraction | Curvature | None:
    """Return what of the curvature of the loss the bounds of a tree take, None if there is none."""
    if tree.minorants:
        return Curvature.of(data, certificate, tree.minorants, claim)
    return Extraction.of(data, certificate, tree.diagonal) if tree.diagonal.any() else None


def _undecided(objective: float, wrong: float, rounding: float, rtol: float) -> UndecidedError:
    """Return the error where figures are as claimed but for rounding; wrong is to be below rtol."""
    needed = 10.0 ** np.ceil(np.log10(wrong / objective))
    remedy = f"Use rtol={needed:g}, or standardise" if needed <= COARSEST else "Standardise"
    return UndecidedError(
        f"the certificate can be neither verified nor refuted to rtol={rtol:g}: rounding may "
        f"change its figures by {rounding:.2g}, and nothing false was found beyond that. {remedy} "
        "the columns, with an intercept, or select with a smaller C."
    )


def _objective(data: Data, certificate: Certificate) -> tuple[float, float]:
    """Return the objective at the coefficients, which must be optimal, and its rounding."""
    support, coef = certificate.support, certificate.coef.reshape(data.outputs, -1)
    intercept = data.loss.intercepts(certificate.intercept) - data.centre
    features = np.append(support, certificate.covariates)
    every = np.hstack([coef, certificate.effects.reshape(data.outputs, -1)])
    mean = data.X.mean[features]
    z = (data.X.take(features) @ every.T + (intercept + every @ mean)).T.ravel()
    losses, terms_of_losses = data.losses(z)
    square = float(coef.ravel() @ coef.ravel())
    objective = float(0.5 * square + losses.sum())
    if not objective >= LEAST_OBJECTIVE:
        raise CertificateError(
            f"the objective of the certificate must be above {LEAST_OBJECTIVE:g}; recomputed: "
            f"{objective!r}. Use larger weights or a larger C."
        )
    slopes = data.slopes(z)
    dual = data.balanced(slopes)
    scores = data.scores(dual, support)
    conjugate, wrong_conjugate = data.conjugate(dual)
    least = float(-conjugate - 0.5 * (scores**2).sum())
    error = data.errors(dual, support)
    blurred = 0.5 * float((error * (2.0 * np.abs(scores) + error)).sum())
    parts = np.abs(intercept) + np.abs(every) @ np.abs(mean)
    wrongs = np.abs(every) @ data.error[features] + ROUNDOFF * (every.shape[1] + 4) * parts
    wrong = float(wrongs.max()) + data.blur
    # Slopes change with the margin, by the weight times the second derivative at most.
    bends = data.weight * data.loss.steepness(z, data.y, wrong)
    near = OPTIMAL * objective + blurred
    if not objective - least <= near:
        moved = wrong * bends
        error = data.X.largest[support][:, None] * moved.reshape(data.outputs, -1).sum(axis=1)
        slack = 0.5 * float((error * (2.0 * np.abs(scores) + error)).sum())
        slack += float(np.abs(z) @ moved) + 0.5 * wrong * float(moved.sum())
        if objective - least <= near + slack:
            raise _undecided(objective, np.inf, slack, OPTIMAL)
        raise CertificateError(
            f"the coefficients of the certificate are not optimal on its support: their objective "
            f"is {objective!r}, the optimum is only known to be above {least!r}."
        )
    bend = float(bends.sum())
    wrong = wrong * (float(np.abs(slopes).sum()) + 0.5 * bend * wrong)
    terms = 0.5 * square + float(terms_of_losses @ data.coarse)
    return objective, wrong + blurred + wrong_conjugate + ROUNDOFF * (z.size + 8) * terms


def _check_decided(data: Data, units: Units, root: Node, certificate: Certificate) -> None:
    """Raise CertificateError where fewer features are decided than a certificate says."""
    limit = certificate.objective + DECIDED * abs(certificate.objective)
    out, into = units.free[root.outside() > limit], units.free[root.inside() > limit]
    left = int((data.usable & ~np.isin(units.code, out)).sum())
    fixed = int((data.usable & np.isin(units.code, np.append(units.fixed, into))).sum())
    claimed = certificate.candidates, certificate.fixed_in
    if not (left <= claimed[0] <= data.usable.size and claimed[1] <= fixed):
        raise CertificateError(
            f"the certificate claims {claimed[0]} candidates and {claimed[1]} features fixed in; "
            f"its dual point leaves {left} of {data.usable.size} features and fixes {fixed}."
        )


def _check_equivalents(data: Data, certificate: Certificate) -> None:
    """Raise CertificateError where columns that are called equal up to the sign are not."""
    support, m = certificate.support, data.usable.size
    taken = np.append(support, certificate.covariates)
    for feature, others in certificate.equivalents.items():
        sound = is_count(feature) and feature in support
        sound = sound and others.ndim == 1 and others.size > 0 and others.dtype.kind in "iu"
        sound = sound and bool(((others >= 0) & (others < m)).all())
        sound = sound and np.unique(others).size == others.size
        sound = sound and feature not in certificate.forced
        if not (sound and not np.isin(others, taken).any()):
            raise _no_equivalents(feature)
    named = np.unique(np.concatenate([support, *certificate.equivalents.values()]))
    told = data.X.told(named if certificate.equivalents else named[:0])  # in one pass over X
    for feature, others in certificate.equivalents.items():
        own, columns = (told[:, np.searchsorted(named, one)] for one in ([feature], others))
        limit = EQUAL * np.abs(own) + EQUAL_TO_LARGEST * np.abs(own).max()
        same = (np.abs(columns - own) <= limit).all(axis=0)
        opposite = (np.abs(columns + own) <= limit).all(axis=0)
        if certificate.signs.size:  # the coefficient of an opposite column has the other sign
            coef = certificate.coef[support == feature] * certificate.signs[others]
            same, opposite = same & (coef >= 0), opposite & (coef <= 0)
        if not (same | opposite).all():
            raise _no_equivalents(feature)


def _no_equivalents(feature: Any) -> CertificateError:
    return CertificateError(
        f"the certificate claims equivalents of feature {feature!r:.20}, which must not be "
        "forced, and be other features with the same column up to the sign, whose coefficients may "
        "have the sign that follows."
    )
