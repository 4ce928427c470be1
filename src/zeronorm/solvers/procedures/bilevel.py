"""Features in few groups for a task: budgets, scales, final fits, the path of the models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.criteria import information_criteria, no_criteria
from ...core.results import Path, Selection, Status, Step
from ...core.types import Design, FloatArray, IndexArray
from ...data import Scaled
from ...data.columns import gather
from ...data.operations import center_scale, on_scaling_of_x
from ...data.repeated import Repeated
from ...losses import without_covariates
from ..bilevel.search import BilevelFit, select_bilevel
from ..bilevel.task import BilevelTask, Size
from ..drive import Solver
from ..l0.hard_thresholding import Objective
from ..pool.left_out import approximate_loss_left_out
from ..request import Request
from ..task import Task
from .finish import negative_log_likelihood, refit_support


def bilevel_path(
    task: Task,
    sizes: Sequence[Size],
    request: Request,
    *,
    solver: str,
    max_iter: int,
) -> Solver[Path]:
    """Select at most k features in at most g groups for every (k, g) of `sizes`.

    Budgets larger than what there is are that. Classification has C before the loss; least squares
    has 1/C before the ridge, so that C may be infinite.
    """
    assert task.groups is not None
    C, q = request.C, task.loss.outputs
    usable, forced_groups = task.usable[::q], task.forced_groups
    groups = task.groups.take(np.arange(0, task.usable.size, q))  # of the features of X
    scaled = without_covariates(task.loss).quadratic
    objective = Objective(task.risk(1.0), 1.0 / C) if scaled else Objective(task.risk(C), 1.0)
    design, spread = task.design, None
    if task.scaling == "none":
        weight = task.sample_weight[: design.shape[0] // q]
        own = center_scale(task.design_of_features, weight, center=task.has_intercept)
        design, spread = _unscaled(own)
        design = design if q == 1 else Repeated(design, q)
    open_to = np.union1d(groups.of_features(np.flatnonzero(usable)), forced_groups)
    clipped = {}
    for size in sizes:
        k = min(size[0], task.n_usable)
        # Every feature opens a group at most, beside those that are forced.
        clipped[size] = k, min(size[1], k + forced_groups.size, open_to.size)
    forced = task.features(task.forced)
    problem = BilevelTask(design, objective, groups, forced, forced_groups, usable, spread)
    found = yield from select_bilevel(
        problem, sorted(set(clipped.values())), solver=solver, tol=request.tol, max_iter=max_iter,
        start=[task.features(columns) for columns in request.start], seconds=request.seconds,
    )  # fmt: skip
    entered = _entry_steps(found.history, usable.size)
    models = {
        size: _selection(task, design, found.fits[clipped[size]], request, entered)
        for size in sizes
    }
    order = np.concatenate([step.entered for step in found.history])
    _, first = np.unique(order, return_index=True)
    unfinished = [fit.status for fit in found.fits.values() if fit.status is not Status.CONVERGED]
    status = unfinished[0] if unfinished else Status.CONVERGED
    return Path(models, order[np.sort(first)], found.history, status, C=C, method=request.method)


def _unscaled(scaled: Scaled) -> tuple[Scaled, FloatArray]:
    """Return the columns as they are, centred where they were, and their deviations, 1 of none.

    The intercept takes up the means, and an offset of a column costs no digits.
    """
    usable = scaled.scale > 0
    spread = np.divide(1.0, scaled.scale, out=np.ones(usable.size), where=usable)
    return Scaled(scaled.base, scaled.mean, usable.astype(np.float64), scaled.rest), spread


def _selection(
    task: Task,
    design: Design,
    fit: BilevelFit,
    request: Request,
    entered: IndexArray,
) -> Selection:
    """Return the model of a size; design: that of the selection."""
    support, C = fit.support, request.C
    columns = task.columns(support)
    loo_loss, log_loss, criteria = np.nan, np.nan, no_criteria()
    if request.refit_C is None:
        Z, risk = gather(design, columns), task.risk(1.0)
        z = Z.times(fit.coef) + fit.intercept
        b, effects = risk.unpenalised(z, fit.intercept)
        coef, intercept = on_scaling_of_x(design, columns, fit.coef, b + task.origin)
        loss = without_covariates(task.loss)
        if loss.final == loss and not loss.quadratic:
            log_loss = risk.value_gradient(z)[0]
            ridge = np.ones(columns.size)
            loo_loss = approximate_loss_left_out(Z, risk, C, ridge, z, task.unit)
            loo_loss *= task.mean_exposure
    else:
        refitted = refit_support(task, gather(task.design, columns), columns, request.refit_C)
        coef, intercept, C = refitted.coef, refitted.intercept, refitted.C
        loo_loss, effects = refitted.loo_loss, refitted.effects
        log_loss = negative_log_likelihood(task, refitted)
    if not np.isnan(log_loss):
        n_free = columns.size + int(task.kept_covariates.sum()) * task.loss.outputs
        criteria = information_criteria(log_loss, n_free, task.n_rows, task.n_usable)
    return Selection(
        support, task.by_output(coef), intercept, C, entered[support], None, loo_loss, log_loss,
        criteria, objective=fit.objective, covariates=task.covariates, effects=effects,
    )  # fmt: skip


def _entry_steps(history: Sequence[Step], n_features: int) -> IndexArray:
    """Return the step, from 1, at which each feature became a candidate; 0: at none."""
    entered = np.zeros(n_features, np.int64)
    for number in range(len(history), 0, -1):
        entered[history[number - 1].entered] = number
    return entered
