"""l1 solutions along a growing C, as a function: `l1_path`, and its record `L1Path`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from ..core import validation as validate
from ..core.parallel import one_blas_thread
from ..core.results import Result
from ..core.types import FloatArray, IndexArray
from ..data.operations import margins
from ..io.opening import as_design
from ..solvers import L1Problem, run
from ..solvers import l1_path as solve_path
from ..solvers.l1.setting import gap_of
from ..solvers.l1.walk import saturated
from .doubts import l1_remedy
from .l1 import L1Classifier, L1Regressor
from .l1_problem import posed
from .l1_survival import L1SurvivalAnalysis

# Of the largest C to the smallest one, with fewer samples than features, and else: as in glmnet.
WIDE_RATIO, TALL_RATIO = 100.0, 1e4
LARGEST_C = 1e160  # Where only larger ones bring a feature in, squares of scores are 0.
UNRELATED = (
    "X must have a penalised feature that some C brings in; all their scores are 0, but for "
    "rounding. Are all columns constant or below 1e-160, or y, or are they excluded by "
    "signs, or do the features without a penalty separate the classes, or fit y?"
)


@dataclass(frozen=True, eq=False)
class L1Path:
    """Solutions of an l1 problem along a growing C.

    Coefficients are for X as it is: `coef[[i]]` those of solution i, `support(i)` its features.
    """

    Cs: FloatArray  # (n_Cs,) growing
    coef: Any  # (n_Cs, n_features) csr_array
    intercept: FloatArray  # (n_Cs,)
    objective: FloatArray  # (n_Cs,)
    bound: FloatArray  # (n_Cs,) certified lower bounds of the best objective
    dual_gap: FloatArray  # (n_Cs,) (objective - bound) / objective without features
    explained: FloatArray  # (n_Cs,) share of the loss (the deviance) without features that is gone
    n_scans: int  # passes over X
    classes: np.ndarray | None  # (2,) labels; scores above 0 are for the second
    loss: str  # its name
    feature_names: tuple[str, ...] | None  # of the columns of X, if it has any

    @property
    def n_selected(self) -> IndexArray:
        """The number of features of every solution, (n_Cs,)."""
        return np.asarray(np.diff(self.coef.indptr), np.int64)

    def __len__(self) -> int:
        """Return the number of solutions."""
        return int(self.Cs.size)

    def __repr__(self) -> str:
        """Return the figures, without the arrays."""
        return (
            f"L1Path({len(self)} solutions, C from {self.Cs[0]:.3g} to {self.Cs[-1]:.3g}, "
            f"{self.n_selected[0]} to {self.n_selected[-1]} of {self.coef.shape[1]} features, "
            f"dual_gap<={self.dual_gap.max():.1e})"
        )

    def support(self, i: int) -> IndexArray:
        """Return the features of solution i, sorted; IndexError where there is none."""
        try:
            i = range(len(self))[i]
        except IndexError:
            raise IndexError(
                f"i must be between 0 and {len(self) - 1}: the path has {len(self)} solutions; "
                f"got {i}."
            ) from None
        own = slice(self.coef.indptr[i], self.coef.indptr[i + 1])
        return np.asarray(self.coef.indices[own], np.int64)

    def at_most(self, k: int) -> int:
        """Return the number of the solution with the largest C of those with at most k features.

        Raises
        ------
        ValueError
            Where every solution has more.
        """
        small = np.flatnonzero(self.n_selected <= k)
        if not small.size:
            raise ValueError(
                f"k must be at least {self.n_selected.min()}, the fewest features of a solution of "
                f"this path; got {k}."
            )
        return int(small[-1])

    def decision_function(self, X: Any, *, n_threads: int | None = None) -> FloatArray:
        """Return X coef' + intercept of every solution, (n_samples, n_Cs).

        They are scores of the classes, or what a solution of least squares predicts.

        X : as for `l1_path`; only the features of some solution are read.
        """
        design = as_design(validate.check_data(X), n_threads=n_threads)
        n_features = self.coef.shape[1]
        if design.shape[1] != n_features:
            raise ValueError(
                f"X must have {n_features} columns, as the path was fitted on; got "
                f"{design.shape[1]}."
            )
        used = np.unique(self.coef.indices).astype(np.int64)
        return margins(design, used, self.coef[:, used].toarray().T, self.intercept)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of the second class by every solution, (n_samples, n_Cs)."""
        if self.loss != "logistic":
            raise ValueError(
                f"Probabilities need loss='logistic'; got {self.loss!r}, whose scores are no "
                "log-odds. Use decision_function."
            )
        return np.asarray(expit(self.decision_function(X)))


@one_blas_thread
def l1_path(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    Cs: Any = 100,
    C_ratio: float | None = None,
    max_features: int | None = None,
    l1_ratio: float = 1.0,
    loss: Any = "logistic",
    penalty_factor: Any = None,
    signs: Any = None,
    fit_intercept: bool = True,
    standardize: bool = False,
    class_weight: Any = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    n_threads: int | None = None,
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
    l1_ratio, penalty_factor, signs, fit_intercept, standardize, class_weight, tol, max_iter,
    n_threads : as for `L1Classifier`; tol and max_iter hold at every C.

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
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> path = l1_path(X, y, standardize=True)
    >>> path.support(path.at_most(5)).size <= 5
    True
    """
    model = _model_of(loss, class_weight, fit_intercept)
    model.set_params(
        l1_ratio=l1_ratio,
        penalty_factor=penalty_factor,
        signs=signs,
        standardize=standardize,
        tol=tol,
        max_iter=max_iter,
        n_threads=n_threads,
    )
    values = validate.check_grid(Cs)
    if C_ratio is not None:
        validate.check_ratio("C_ratio", C_ratio)
    validate.check_count("max_features", max_features)
    data, _ = model._weigh(model._read(X, y, sample_weight, offset))
    design, weight = data.design, data.sample_weight
    found = posed(model, data)
    setting, classes = found.setting, found.classes
    if classes is not None and len(classes) > 2:
        raise ValueError(
            f"y must have two classes for a path; got {len(classes)}. Use L1ClassifierCV, "
            "or make one path for each class against the others."
        )
    if not isinstance(values, int):
        validate.check_total_weight(values[-1], weight, validate.LEAST_L1_LOSS)
    (problem,) = found.problems(design, weight)
    most = design.shape[1] if max_features is None else int(max_features)
    stop_early = isinstance(values, int)

    def enough(result: Result, pull: FloatArray) -> bool:
        return result.support.size > most or (stop_early and saturated(result))

    n_scans = 0

    def count(progress: Any) -> None:
        nonlocal n_scans
        n_scans = progress.n_scans

    solver = solve_path(
        problem, lambda smallest: grid(values, C_ratio, smallest, problem),
        tol=float(tol), max_iter=int(max_iter), enough=enough, n_threads=design.n_threads,
    )  # fmt: skip
    solutions = run(solver, count, n_threads)
    if not solutions:
        raise ValueError(UNRELATED)
    Cs = np.array([C for C, _ in solutions])
    results = [result for _, result in solutions]
    worst = max(results, key=gap_of)
    setting.explain(worst, design, weight)
    if not setting.solves(worst):
        warnings.warn(
            f"The path has a solution with a certified gap of {gap_of(worst):.2g} (asked: "
            f"tol={tol:g}): {worst.status.value}. `dual_gap` has those of all. "
            f"{l1_remedy(setting, worst)}",
            ConvergenceWarning,
            stacklevel=3,  # the decorator counts
        )
    return path_of(Cs, results, design.shape[1], n_scans, classes, model._score_loss, data.names)


def _model_of(loss: Any, class_weight: Any, fit_intercept: Any) -> Any:
    """Return the estimator of a loss."""
    of_survival = {f"cox{name}": ties for name, ties in (("", "breslow"), ("_efron", "efron"))}
    if isinstance(loss, str) or not hasattr(loss, "of_labels"):
        known = [*L1Classifier._losses, *L1Regressor._losses, *of_survival]
        validate.check_option("loss", loss, known)
    if getattr(loss, "of_labels", loss in L1Classifier._losses):
        return L1Classifier(loss=loss, class_weight=class_weight, fit_intercept=fit_intercept)
    if class_weight is not None:
        raise ValueError(
            f"class_weight must be None for loss={loss!r}, which has no classes; got "
            f"{validate.shown(class_weight)}. Use sample_weight."
        )
    if loss not in of_survival:
        return L1Regressor(loss=loss, fit_intercept=fit_intercept)
    if not validate.check_flag("fit_intercept", fit_intercept):
        raise ValueError(
            f"fit_intercept must be True for loss={loss!r}, which has no intercept: leave it out."
        )
    return L1SurvivalAnalysis(ties=of_survival[loss])


def grid(
    Cs: int | FloatArray, ratio: float | None, smallest: float, problem: L1Problem
) -> FloatArray:
    """Return values of C, growing, from the smallest one of interest where they are not given."""
    if not smallest < LARGEST_C:
        raise ValueError(UNRELATED)
    if not isinstance(Cs, int):
        return Cs
    if ratio is None:
        y, of_survival = problem.risk.y, problem.risk.loss.target == "survival"
        # Of survival times events count: more features than these can order all of them.
        size = float(problem.risk.weight @ y[:, 1]) if of_survival else problem.size
        ratio = WIDE_RATIO if size < problem.design.shape[1] else TALL_RATIO
    return np.asarray(smallest * np.geomspace(1.0, ratio, Cs))


def path_of(
    Cs: FloatArray,
    results: Sequence[Result],
    n_features: int,
    n_scans: int,
    classes: np.ndarray | None,
    loss: str,
    names: Sequence[str] | None,
) -> L1Path:
    """Return the record of the solutions at every C."""
    sizes = [result.support.size for result in results]
    coef = sp.csr_array(
        (
            np.concatenate([result.coef for result in results]),
            np.concatenate([result.support for result in results]),
            np.concatenate([[0], np.cumsum(sizes)]),
        ),
        shape=(len(results), n_features),
    )
    return L1Path(
        Cs, coef,
        intercept=np.array([result.intercept for result in results]),
        objective=np.array([result.objective for result in results]),
        bound=np.array([result.bounds["dual"] for result in results]),
        dual_gap=np.array([gap_of(result) for result in results]),
        explained=np.array([result.history[-1].extra["explained"] for result in results]),
        n_scans=n_scans, classes=classes, loss=loss,
        feature_names=None if names is None else tuple(names),
    )  # fmt: skip
