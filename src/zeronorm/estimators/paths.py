"""l1 solutions along a growing C, as a function."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core import validation as validate
from ..core.errors import Message, Parameter, ParameterError
from ..core.parallel import one_blas_thread
from ..core.results import Result
from ..core.targets import LEAST_L1_LOSS, check_total_weight
from ..solvers import l1_path as solve_path
from ..solvers import run
from ..solvers.l1.path import saturated
from ..solvers.l1.setting import gap_of
from .l1 import UNRELATED, L1Classifier, L1Path, L1Regressor, grid, path_of, posed
from .survival import L1SurvivalAnalysis
from .warnings import l1_remedy


@one_blas_thread()
def l1_path(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    Cs: Any = 100,
    C_ratio: float | None = None,
    max_features: int | None = None,
    loss: Any = "logistic",
    **parameters: Any,
) -> L1Path:
    """Solve an l1 problem at every C of a growing grid, each from the solution before it.

        min_{w, b}  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum_i s_i f(y_i, x_i'w + b)

    as `L1Classifier` solves it at one C, with the same certificate, `L1Regressor` or
    `L1SurvivalAnalysis`, as the loss says; p, r, s and f are described there. For two classes, for
    numbers, or for survival times.

    The strong rule names the features that may enter at the next C; the pass over X that certifies
    the solution finds those it left out. Mostly one pass serves five values of C.

    Parameters
    ----------
    X : array, sparse matrix or array, data frame, path of a .npy file, or a Design
        (n_samples, n_features). Never modified.
    y : (n_samples,) labels of two classes; numbers, or survival times, as for `fit` of those.
    sample_weight : (n_samples,) not negative; integer weights equal repeated rows, within `tol`.
    offset : (n_samples,) of the margins, for losses of numbers; see `L1Regressor.fit`.
    Cs : int or (n_Cs,)
        So many values (at most 10,000) in geometric progression, from the C below which no
        penalised feature enters; or these values, growing.
    C_ratio : float or None
        Of the last to the first of so many values: by default 100 where X has fewer rows (counted
        by their weights; of survival times the events) than columns, else 1e4.
    max_features : int or None
        The path ends with its first solution of more features.
    loss : "logistic", "squared_hinge", or a loss of numbers as in `L1Regressor`; or "cox", or
        "cox_efron" with Efron's ties.
    **parameters : l1_ratio, penalty_factor, signs, fit_intercept, standardize, class_weight, tol,
        max_iter, n_threads, as for `L1Classifier`; tol and max_iter hold at every C.

    Returns
    -------
    L1Path. With an integer Cs it ends early, with the first solution whose loss is below 1e-3 of
    that without features: after it coefficients grow, and little else happens.

    Raises
    ------
    ValueError
        Where a parameter or the data break a rule; the message says which and what to do.

    Warns
    -----
    ConvergenceWarning
        Where a solution has a gap of more than twice `tol` (and more than 1e-9).

    References
    ----------
    Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via
    coordinate descent, Journal of Statistical Software 33, 2010.
    Tibshirani et al., Strong rules for discarding predictors in lasso-type problems, JRSS B 74,
    2012.

    Examples
    --------
    >>> from zeronorm import l1_path
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> path = l1_path(X, y, standardize=True)
    >>> path.support(path.at_most(5)).size <= 5
    True
    """
    model = _model_of(loss, parameters)
    values = validate.check_grid(Cs)
    if C_ratio is not None:
        validate.check_ratio("C_ratio", C_ratio)
    validate.check_count("max_features", max_features)
    data, _ = model._weigh(model._read(X, y, sample_weight, offset))
    design, weight = data.design, data.sample_weight
    found = posed(model, data)
    setting, classes = found.setting, found.classes
    if classes is not None and len(classes) > 2:
        raise ParameterError(
            "y",
            "must have two classes for a path",
            str(len(classes)),
            "Use L1ClassifierCV, or make one path for each class against the others.",
        )
    if not isinstance(values, int):
        check_total_weight(values[-1], weight, LEAST_L1_LOSS)
    (problem,) = found.problems(design, weight)
    most = design.shape[1] if max_features is None else int(max_features)
    stop_early = isinstance(values, int)

    def enough(result: Result) -> bool:
        return result.support.size > most or (stop_early and saturated(result))

    n_scans = 0

    def count(progress: Any) -> None:
        nonlocal n_scans
        n_scans = progress.n_scans

    solver = solve_path(
        problem, lambda smallest: grid(values, C_ratio, smallest, problem),
        tol=setting.tol, max_iter=setting.max_iter, enough=enough,
    )  # fmt: skip
    solutions = run(solver, count, model.n_threads)
    if not solutions:
        raise ValueError(UNRELATED)
    Cs = np.array([C for C, _ in solutions])
    results = [result for _, result in solutions]
    worst = max(results, key=gap_of)
    setting.explain(worst, design, weight)
    if not setting.solves(worst):
        warnings.warn(
            f"The path has a solution with a certified gap of {gap_of(worst):.2g} (asked: "
            f"tol={setting.tol:g}): {worst.status.value}. `dual_gap` has those of all. "
            f"{l1_remedy(setting, worst)}",
            ConvergenceWarning,
            stacklevel=3,  # the decorator counts
        )
    return path_of(Cs, results, design.shape[1], n_scans, classes, model._score_loss, data.names)


# Parameters of the estimators at one C that a path has as well.
SHARED = (
    "l1_ratio", "penalty_factor", "signs", "fit_intercept", "standardize", "class_weight", "tol",
    "max_iter", "n_threads",
)  # fmt: skip


def _model_of(loss: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the estimator of a loss."""
    unknown = sorted(set(parameters) - set(SHARED))
    if unknown:
        raise ValueError(
            f"parameters of a path must be some of {', '.join(SHARED)}; got {', '.join(unknown)}."
        )
    given = dict(parameters)
    of_survival: dict[str, Any] = {"cox": "breslow", "cox_efron": "efron"}
    if isinstance(loss, str) or not hasattr(loss, "of_labels"):
        known = [*L1Classifier._losses, *L1Regressor._losses, *of_survival]
        validate.check_option("loss", loss, known)
    if getattr(loss, "of_labels", loss in L1Classifier._losses):
        return L1Classifier(loss=loss, **given)
    class_weight = given.pop("class_weight", None)
    if class_weight is not None:
        raise ParameterError(
            "class_weight",
            Message("must be None for ", Parameter.of("loss", loss), ", which has no classes"),
            validate.shown(class_weight),
            "Use sample_weight.",
        )
    if loss not in of_survival:
        return L1Regressor(loss=loss, **given)
    if not validate.check_flag("fit_intercept", given.pop("fit_intercept", True)):
        raise ParameterError(
            "fit_intercept",
            Message(
                "must be True for ",
                Parameter.of("loss", loss),
                ", which has no intercept: leave it out",
            ),
        )
    return L1SurvivalAnalysis(ties=of_survival[loss], **given)
