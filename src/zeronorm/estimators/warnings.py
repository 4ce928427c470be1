"""What a fit says where its result is not what was asked for: warnings, with what helps."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from ..core.errors import Message, Parameter
from ..core.results import Result, Status
from ..core.targets import count_numbers
from ..core.types import Design, FloatArray
from ..data.gathered import DenseColumns
from ..data.operations import coarse_columns, dense, moments
from ..solvers.l1.path import LARGEST
from ..solvers.l1.setting import L1Setting, gap_of
from ..solvers.problem import copies
from . import leaks

WEAK = 1e-3  # share of coefficients that the penalty leaves
CONSTANT = 1e-14  # of the sum of squares: less around the mean is rounding
MOST_COMPARED = 2**25  # values of the selected columns, of which copies are looked for


def warn_of_numbers(estimator: Any, labels: np.ndarray, stacklevel: int) -> None:
    """Warn before a fit of classes that may be counts or measurements."""
    if not is_classifier(estimator) or getattr(estimator, "loss", None) == "ordinal":
        return
    n_classes = count_numbers(labels)
    if n_classes:
        others = {"L1Classifier": "L1Regressor", "L1ClassifierCV": "L1RegressorCV"}
        warnings.warn(
            f"y has {n_classes} classes, all of them numbers, in {labels.size:,} rows. Counts and "
            f"measurements are for {others.get(type(estimator).__name__, 'BudgetRegressor')} "
            "(loss='poisson' of counts). If these are classes, give them names that are no "
            "numbers, as 'c7', and this warning goes.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def warn_after(data: Any, estimator: Any, stacklevel: int) -> None:
    """Warn after a fit of what it leaves in doubt, and of columns that tell the target too well.

    data : the `TrainingData` of the fit.
    """
    for doubt in (*estimator._doubts(), *doubts_of_data(estimator, data)):
        warnings.warn(doubt, stacklevel=stacklevel + 1)
    kind = "survival" if getattr(estimator, "loss", None) == "cox" else "numbers"
    kind = "classes" if is_classifier(estimator) else kind
    names = data.names if data.encoding is None else data.encoding.names
    leaks.warn(data.design, estimator.support_, data.labels, kind, names, stacklevel + 1)


def doubts_of_data(model: Any, data: Any) -> Iterator[Warning]:
    """Return the warnings that a fitted model gives next to its data, a `TrainingData`."""
    if not model.support_.size:
        yield from nothing_varies(data, around_mean=bool(model.fit_intercept))
    yield from weak_loss(model, data.labels, data.sample_weight)
    yield from lost_digits(data.design, model.coef_, data.names)
    if hasattr(model, "_plan") and getattr(model, "feature_groups", None) is None:
        yield from copied(data.design, model.coef_, data.names)


def copied(design: Design, coef: FloatArray, names: Sequence[str] | None) -> Iterator[Warning]:
    """Return the warning that a model has a feature twice, as two equal columns.

    coef : (n_features,) or (outputs, n_features).
    """
    used = np.flatnonzero(np.atleast_2d(coef).any(axis=0))
    used = used[used < design.shape[1]]
    if not 2 <= used.size < design.shape[1] or not 2 < design.shape[0] <= MOST_COMPARED / used.size:
        return  # nothing else could be there; of two rows all columns are equal
    Z = np.array(dense(design.gather(used)), np.float64)
    Z -= Z.mean(axis=0)
    Z /= np.maximum(Z.std(axis=0), np.finfo(float).tiny)
    found = np.flatnonzero(copies(DenseColumns(Z), np.zeros(used.size, bool)))
    if found.size:
        second = found[0]
        away = np.minimum(*(np.abs(Z + sign * Z[:, [second]]).max(axis=0) for sign in (-1, 1)))
        pair = used[[int(np.argmin(away[:second])), second]]
        one, other = pair if names is None else (repr(names[j]) for j in pair)
        yield UserWarning(
            Message(
                Parameter("X"),
                f" columns {one!s:.80} and {other!s:.80} are equal up to their units, and the "
                "model has both: they share one effect, and say no more than one of them. "
                "Leave such columns out of ",
                Parameter("X"),
                f" (got {found.size} in the model).",
            )
        )


def lost_digits(design: Design, coef: FloatArray, names: Sequence[str] | None) -> Iterator[Warning]:
    """Return the warning that features of a model lie so far from 0 that predictions lose digits.

    coef : (n_features,) or (outputs, n_features).
    """
    used = np.flatnonzero(np.atleast_2d(coef).any(axis=0))
    found = coarse_columns(design, used[used < design.shape[1]])
    if found.size:
        name = found[0] if names is None else repr(names[found[0]])
        yield UserWarning(
            Message(
                Parameter("X"),
                f" column {name!s:.80} varies by less than 1e-12 of its size: float64 keeps fewer "
                "than four digits of its differences, and predictions lose them. Subtract a "
                f"constant from such columns (got {found.size} in the model), such as the first "
                "time of all.",
            )
        )


def weak_loss(model: Any, y: np.ndarray, weight: FloatArray) -> Iterator[Warning]:
    """Return the warning that the penalty leaves next to nothing of coefficients.

    On standardised columns a coefficient is about h / (1 + h) of the one without a penalty, with
    h = C sum_i s_i f'' at the model without features.
    """
    if not (hasattr(model, "_plan") and getattr(model, "standardize", False)):
        return
    plan, C = model._plan(), model.C_
    rates = getattr(plan.loss, "variance_power", None) == 1.0
    bend = np.average(y, axis=0, weights=weight) if rates else 0.25 if is_classifier(model) else 1.0
    h = float(C * weight.sum() * np.mean(bend))
    if h < WEAK:
        remedy = ", or counts with their exposure instead of small rates" if rates else ""
        yield ConvergenceWarning(
            f"C={C:g} is too small for these data: next to the penalty the loss can hardly "
            f"move, coefficients of the selection are about {h:.1g} of those without a penalty, "
            f"and features are ranked by their single scores. Use a C of {WEAK / h * C:.1g} "
            f"or more{remedy}."
        )


def nothing_varies(data: Any, *, around_mean: bool) -> Iterator[Warning]:
    """Return the warning that no column of X can enter a model, which is then a constant.

    around_mean : whether there is an intercept, so that a constant column is none at all.
    """
    weight = data.sample_weight
    sums, squares = moments(data.design, weight)
    of_mean = sums**2 / weight.sum() if around_mean else 0.0
    if not (squares - of_mean > CONSTANT * squares).any():
        yield UserWarning(
            Message(
                "All columns of ",
                Parameter("X"),
                f" are {'constant' if around_mean else 'zero'} on the rows with a positive "
                "weight: the model has no features and predicts the same for every row. Check "
                "that X has the right columns.",
            )
        )


def l1_gap(
    setting: L1Setting, results: Sequence[Result], refit_gap: float, solver: str
) -> Iterator[Warning]:
    """Return the warning that an l1 problem was not solved, that of the largest gap, or a refit."""
    result = max(results, key=gap_of)
    if not setting.solves(result):
        yield ConvergenceWarning(
            f"solver={solver!r} stopped at a certified gap of {gap_of(result):.2g} (asked: "
            f"tol={setting.tol:g}): {result.status.value}. The objective is proven to be that near "
            "to the best one; the support is not certain, it may lack features or have too many. "
            f"{l1_remedy(setting, result, solver)} `history_` has the gap of every iteration."
        )
    elif not refit_gap <= setting.widest:
        yield ConvergenceWarning(
            Message(
                f"The refit stopped at a certified gap of {refit_gap:.2g} (asked: ",
                Parameter.of("tol", setting.tol),
                "): its coefficients may be inaccurate. A smaller ",
                Parameter("refit_C"),
                " helps.",
            )
        )


def open_violations(
    setting: L1Setting, results: Sequence[Result], solver: str
) -> Iterator[Warning]:
    """Return the warning that the optimality conditions are violated by more than was asked."""
    for result in results:
        if result.status is not Status.CONVERGED:
            yield ConvergenceWarning(
                f"solver={solver!r} stopped before the violations of the optimality conditions "
                f"added up to tol={setting.tol:g} times those of the model without features: "
                f"{result.status.value}. Use a larger tol or max_iter, or solver='working-set' "
                "with stop='gap'."
            )
            return


def l1_remedy(setting: L1Setting, result: Result, solver: str = "auto") -> str:
    """Return what helps where an l1 solver stopped too early."""
    stalled = result.status is Status.STALLED
    if solver in ("glmnet", "cdn") or (solver == "newglmnet" and stalled):
        return "Use solver='working-set'."
    if not stalled:
        return f"Use a larger max_iter than {setting.max_iter}."
    if not setting.standardize:
        return "Scale the columns of X, or use standardize=True."
    return "Use a smaller C."


def l1_size(
    setting: L1Setting, n_features: Any, reached: int | None, C: Any, refit_C: Any
) -> Iterator[Warning]:
    """Return the warning that the path has no solution of the size that was asked for."""
    if n_features is None or reached is None or reached >= int(n_features):
        return
    yield UserWarning(
        Message(
            Parameter.of("n_features", n_features),
            ": within ",
            Parameter.of("tol", setting.tol),
            f" no l1 solution was found that has more than {reached} features (at "
            f"C={np.max(C):.3g}). The search ends where next to nothing is left of the loss, or "
            f"where C is {LARGEST:g} times that of the first feature. The others were chosen by "
            f"their scores{', with coefficients of 0' if refit_C is None else ''}. Use a smaller ",
            Parameter("n_features"),
            " or tol, or a selection under a budget.",
        )
    )
