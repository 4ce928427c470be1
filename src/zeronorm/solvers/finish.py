"""The end of every selection: final fits, certificates, and the path of the models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..core.criteria import information_criteria
from ..core.results import Certificate, Path, Proof, Selection
from ..core.types import Columns, IndexArray
from ..data.operations import column_scaling
from .certify import certify_supports
from .driver import NO_REFIT, PhaseClock, SearchResult, SelectionRequest, Solver
from .final_fits import Refit, refit
from .problem import Task


def refit_support(
    task: Task, Z: Columns, support: IndexArray, C: float | str | None, *, chosen: bool = False
) -> Refit:
    """Refit the gathered columns of a support on the user's scaling of X.

    C : as `refit_C` of a request.
    chosen : whether a number C was chosen by "loo" for other rows.
    """
    assert C is not None  # the solution itself would be the model
    if C == NO_REFIT:
        return Refit(np.zeros(support.size), 0.0, np.nan, np.nan, np.nan, 0.0, np.empty(0))
    mean, scale = column_scaling(task.design, support)
    risk = replace(task.risk(1.0), loss=task.loss.final)
    signs = task.signs[support]
    fit = refit(
        Z.compact(), mean, 1.0 / scale, risk, C=C, chosen=chosen, unit=task.unit, signs=signs
    )
    return replace(fit, loo_loss=fit.loo_loss * task.mean_exposure)  # of a row, not of its weight


def negative_log_likelihood(task: Task, fit: Refit) -> float:
    """Return what information criteria count of a refit."""
    risk = task.risk(1.0)
    return task.loss.final.negative_log_likelihood(fit.loss, risk.y, risk.weight, task.n_rows)


def finish(
    task: Task,
    request: SelectionRequest,
    fits: dict[int, tuple[IndexArray, Refit]],
    pools: list[SearchResult],
    clock: PhaseClock,
    proofs: Mapping[int, Proof] | None = None,
) -> Solver[Path]:
    """Certify the supports, where they are not proven, and put the path together."""
    sizes = sorted(fits)
    proofs = {} if proofs is None else proofs
    certificates: dict[int, Certificate] = {k: proof.certificate for k, proof in proofs.items()}
    left = [k for k in sizes if k not in proofs]
    if request.certify and left:
        known = {k: best for pool in pools for k, best in pool.l0_bounds.items()}
        found = yield from clock.inside(
            "certify", certify_supports(task, [fits[k][0] for k in left], C=request.C, known=known)
        )
        certificates.update(zip(left, found, strict=True))
    selections = {}
    entry = _entry_steps(pools)
    for k in sizes:
        support, fit = fits[k]
        log_loss = negative_log_likelihood(task, fit)
        free = int(task.kept_covariates.sum()) * task.loss.outputs
        criteria = information_criteria(log_loss, support.size + free, task.n_rows, task.n_usable)
        features, own = task.features(support), support[:: task.loss.outputs]
        selections[k] = Selection(
            features, task.by_output(fit.coef), fit.intercept, fit.C,
            np.array([entry.get(one, 0) for one in own.tolist()], np.int64),
            certificates.get(k), fit.loo_loss, log_loss, criteria, proofs.get(k),
            covariates=task.covariates, effects=fit.effects,
        )  # fmt: skip
    first = pools[0].result
    history = tuple(
        replace(
            step,
            entered=task.features(step.entered),
            n_features=step.n_features // task.loss.outputs,
        )
        for step in first.history
    )
    gaps = [step.extra.get("gap", 0.0) for pool in pools for step in pool.result.history]
    gaps += [fit.gap for _, fit in fits.values()]
    return Path(
        selections, task.features(first.order), history, first.status, max(gaps),
        request.C, request.method,
    )  # fmt: skip


def _entry_steps(pools: list[SearchResult]) -> dict[int, int]:
    """Return the outer step, from 1, at which each feature entered the first pool that has it."""
    first: dict[int, int] = {}
    for pool in pools:
        for number, step in enumerate(pool.result.history, start=1):
            for feature in step.entered.tolist():
                first.setdefault(feature, number)
    return first
