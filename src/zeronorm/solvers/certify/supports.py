"""Certify supports with one scan: lower bounds of the l0 problem and safe fixing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.results import Certificate
from ...core.types import Columns, FloatArray, IndexArray
from ...data.columns import gather
from ...data.operations import column_scaling, score_errors, top_features
from ..clock import Stopwatch
from ..drive import Scan, Solver
from ..found import BestDual
from ..pool.bounds import Bound, bound_at, safe_scores
from ..pool.ridge import Ridge
from ..pool.signed_ridge import signed_ridge
from ..signs import admitted, oriented
from ..task import Task


@dataclass(frozen=True, slots=True)
class SupportsTuning:
    """Constants, each with what it was measured for."""

    refit_tol: float = 1e-12
    optimal: float = 5e-7  # relative gap of a fit, above which its certificate would be refused
    max_scores: int = 2**22  # scores that one scan may return: 32 MiB


SUPPORTS = SupportsTuning()
FAR, FAR_ROUNDING = 100.0, 2.0**-48  # columns with a mean of so many deviations; of their scores


def certify_supports(
    task: Task,
    supports: Sequence[IndexArray],
    *,
    C: float,
    known: Mapping[int, BestDual] | None = None,
    clock: Stopwatch | None = None,
) -> Solver[list[Certificate]]:
    """Certify supports, all with one scan (more where their scores would fill the memory).

    Each support is refitted to optimality on the scaling of `design`; at its dual point v,
    objective - D_k(v) = 1/2 (S_k(c^2) - sum_{j in S} c_j^2). Dual points of the same problem
    found earlier (`known`, by size) are scanned along and taken where they prove more. Bounds stay
    bounds in float32 storage: scores near the k-th are recomputed in float64, the others enter with
    their error.

    Where the task has groups, a support is certified as one of so many groups as it has features
    of, and `known` is by their number; the groups of forced features are forced.

    clock : measures the seconds spent here, without the scans.
    """
    clock = Stopwatch() if clock is None else clock
    clock.start()
    design, risk = task.design, task.risk(C)
    sizes = [task.units.of(support).size for support in supports]
    features = np.unique(np.concatenate(supports))
    Z = gather(design, features)  # of all: they are nested, or nearly so
    fits = [
        signed_ridge(
            Z.take(np.searchsorted(features, support)).compact(),
            risk, task.signs[support], tol=SUPPORTS.refit_tol, of_value=True,
        )
        for support in supports
    ]  # fmt: skip
    for fit in fits:
        check_optimal(fit)
    owners: list[int] = []
    duals: list[FloatArray] = []
    for index, (size, fit) in enumerate(zip(sizes, fits, strict=True)):
        owners.append(index)
        duals.append(fit.dual)
        if known is not None and size in known:
            owners.append(index)
            duals.append(known[size].dual)
    norms = score_errors(design, task.sample_weight)
    far, blur = far_from_zero(task, features, Z)
    best: list[Bound | None] = [None] * len(supports)
    clock.stop()
    at_once = max(1, SUPPORTS.max_scores // design.shape[1])
    for first in range(0, len(duals), at_once):
        vectors = np.column_stack(duals[first : first + at_once])
        scores = yield Scan(design, vectors)
        clock.start()
        for column in range(vectors.shape[1]):
            index, dual = owners[first + column], duals[first + column]
            size, upper, known_best = sizes[index], fits[index].objective, best[index]
            magnitude = safe_magnitudes(
                task, scores[:, column], vectors[:, column], supports[index], norms
            )
            if far.size:  # the scores that count may be of other columns
                top = np.union1d(far, top_features(magnitude, min(magnitude.size, 2 * size + 8)))
                far, blur = far_from_zero(task, top, gather(design, top))
                magnitude[far] += blur * float(np.abs(vectors[:, column]).sum())
            proof = bound_at(
                risk, dual, magnitude, size, task.forced, upper, task.groups, task.max_abs_coef
            )
            if known_best is None or proof.value > known_best.value:
                best[index] = proof
        clock.stop()
    certificates = []
    for support, fit, found in zip(supports, fits, best, strict=True):
        assert found is not None
        certificates.append(certificate_of(task, C, support, fit, found))
    return certificates


def check_optimal(fit: Ridge) -> None:
    """Raise LinAlgError where rounding kept the coefficients of a support from the best ones."""
    gap = fit.objective - fit.bound
    if not gap <= SUPPORTS.optimal * fit.objective:
        raise np.linalg.LinAlgError(
            f"rounding keeps {fit.coef.size} coefficients from their best values: their objective "
            f"is {fit.objective:.6g}, and the least one is only known to be above {fit.bound:.6g}. "
            "Standardise the columns (standardize=True), subtract numbers near their means from "
            "them, or choose a smaller C."
        )


def certificate_of(
    task: Task, C: float, support: IndexArray, fit: Ridge, found: Bound
) -> Certificate:
    """Return what the fit of a support and one dual point say of it."""
    q = task.loss.outputs
    intercept, effects = task.risk(C).unpenalised(fit.margins, fit.intercept)
    kept = task.kept_covariates
    covariates = task.covariates[kept]
    if not covariates.size:
        effects = np.empty(0)
    else:
        # The columns of the covariates are those of X; here all are on the selection scaling.
        mean, scale = column_scaling(task.design, covariates * q)
        intercept = intercept + effects[..., kept] @ mean
        effects = effects[..., kept] / scale
    groups = task.groups_of_features()
    # To a verifier covariates that depend on others are features, of no use to any model.
    features = task.usable.copy()
    features[task.columns(task.covariates[~kept])] = True
    return Certificate(
        C=C,
        scaling=task.scaling,
        support=task.features(support),
        coef=task.by_output(fit.coef),
        intercept=intercept + task.origin,
        objective=fit.objective,
        bound=min(found.value, fit.objective),
        dual=found.dual if q == 1 else found.dual.reshape(q, -1),
        fixed_in=int((found.fixed & features).sum()) // q,
        candidates=int((features & ~found.dropped).sum()) // q,
        loss=task.loss.name,
        fit_intercept=task.has_intercept,
        forced=task.features(task.forced),
        parameters=task.loss.parameters,
        groups=groups,
        n_groups=None if groups is None else task.units.of(support).size,
        covariates=covariates,
        effects=effects,
        signs=signs_of(task),
        max_abs_coef=None if task.max_abs_coef == np.inf else task.max_abs_coef,
    )


def signs_of(task: Task) -> np.ndarray:
    """Return the signs that a certificate names: (m,), none where coefficients may have any."""
    return task.signs if task.signs.any() else task.signs[:0]


def safe_magnitudes(
    task: Task,
    scores: FloatArray,
    v: FloatArray,
    support: IndexArray,
    norms: FloatArray | None,
) -> FloatArray:
    """Return upper bounds of |c_j|, exact to float64 where they decide the largest units.

    A score counts where its feature's coefficient may have its sign, and keeps it there.

    norms : (m,) error of a score over ||v||, None where scans are exact to float64.
    support : as many units as it has are in question.
    """
    if norms is None:
        upper = oriented(np.abs(admitted(scores, task.signs)), task.signs)
    else:
        upper = safe_scores(
            scores, float(np.linalg.norm(v)) * norms, task.units, support,
            lambda columns: gather(task.design, columns).dot(v),
        )  # fmt: skip
    upper[~task.usable] = 0.0
    return upper


def far_from_zero(
    task: Task, features: IndexArray, columns: Columns
) -> tuple[IndexArray, FloatArray]:
    """Return the features whose columns lie far from 0, and what is added to their |c_j| / sum |v|.

    The mean of such a column is subtracted with the rounding of its size: by the design, or by the
    sum over a dual point where the intercept alone does it. A verifier, which centres twice, can
    tell that.

    columns : those of the features.
    """
    if not task.has_intercept or task.design.is_sparse:
        return features[:0], np.empty(0)
    mean, scale = column_scaling(task.design, features)
    dense = columns.dense()
    away = np.abs(dense.mean(axis=0)) + np.abs(mean * scale)
    far = (away > FAR * dense.std(axis=0)) & task.usable[features]
    return features[far], FAR_ROUNDING * np.sqrt(len(dense)) * away[far]
