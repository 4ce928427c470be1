"""The sparse group lasso: a solver by active groups with a certified gap, its classes, its path.

    min_{x, b}  sum_i s_i f(y_i, a_i'x + b) + sum_j l1_j |x_j| + sum_g l2_g ||x_g||

FISTA runs on the groups that have entered; one gradient over all features then gives a dual point,
hence a lower bound of the problem and a certified gap, and the groups to enter, those with
||S(A_g' theta, l1_g)|| > l2_g. Thresholds of 0 are allowed: such features are free.

Source: Simon, Friedman, Hastie and Tibshirani, A sparse-group lasso, JCGS 22(2), 2013.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_X_y

from zeronorm.core import validation as validate
from zeronorm.core.groups import Groups
from zeronorm.core.parallel import one_blas_thread
from zeronorm.core.targets import check_response
from zeronorm.core.types import FloatArray
from zeronorm.losses import LeastSquares, Logistic

from ._base import (
    Classifier,
    ConvexLoss,
    Data,
    Fit,
    LinearModel,
    LinearPath,
    Regressor,
    dense,
    prepare,
    warn_of_gap,
)
from ._fista import fista
from ._penalty import Penalty, dual_point, lower_bound

TOL = 1e-6
MAX_ITER = 20_000  # steps of FISTA, over all sets of active groups
FEWEST = 10  # groups that may enter at once; else as many as are active
LOSSES: dict[str, ConvexLoss] = {"least_squares": LeastSquares(), "logistic": Logistic()}
SLOW = "A larger penalty, standardize=True or a larger max_iter helps."


def solve(
    data: Data,
    l1: FloatArray,
    l2: FloatArray,
    *,
    start: FloatArray | None = None,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
) -> Fit:
    """Solve the problem with thresholds l1, (p,), and l2, (n_groups,), to a certified gap.

    start : (p + intercept,) coefficients to begin with.
    tol : of the certified gap, relative to the objective of the model without features.
    """
    p = data.n_features
    penalty = Penalty(np.concatenate([l1, np.zeros(int(data.intercept))]), l2, data.start)
    x = data.null() if start is None else start.copy()
    scale = data.null_objective or 1.0
    active = penalty.sums(x != 0.0) > 0
    active[np.unique(penalty.code[penalty.free[penalty.free < p]])] = True
    lipschitz, n_iter, inner = 0.0, 0, 0.1
    objective, bound = np.inf, 0.0
    while True:
        members = np.flatnonzero(
            np.append(active[penalty.code], np.ones(int(data.intercept), bool))
        )
        reduced = Penalty(
            penalty.features[members], l2[active],
            np.concatenate([[0], np.cumsum(data.sizes[active])]),
        )  # fmt: skip
        columns = np.asfortranarray(data.columns[:, members])

        def solved(
            u: FloatArray,
            z: FloatArray,
            columns: FloatArray = columns,
            reduced: Penalty = reduced,
            wanted: float = inner * scale,
        ) -> bool:
            value, below, _ = _certify(data, columns, reduced, u, z)
            return value - below <= wanted

        x[members], lipschitz, steps = fista(
            data.loss, columns, data.y, data.weight, reduced.prox, x[members], lipschitz, solved,
            max_iter - n_iter,
        )  # fmt: skip
        n_iter += steps
        z = columns @ x[members]
        objective, below, c = _certify(data, data.columns, penalty, x, z)
        bound = max(bound, below)
        gap = (objective - bound) / scale
        if gap <= tol or n_iter >= max_iter:
            break
        excess = np.where(active, 0.0, penalty.excess(c))
        entering = np.flatnonzero(excess > 0.0)
        if entering.size:
            inner = min(inner, max(0.3 * tol, 0.1 * gap))
        elif inner < 1e-3 * tol:  # rounding
            break
        else:
            inner *= 0.1
        most = max(FEWEST, int(active.sum()))
        active[entering[np.argsort(-excess[entering], kind="stable")[:most]]] = True
    return Fit(x, objective, max(gap, 0.0), n_iter)


def _certify(
    data: Data, columns: FloatArray, penalty: Penalty, x: FloatArray, z: FloatArray
) -> tuple[float, float, FloatArray]:
    """Return the objective, a lower bound of the problem over `columns`, and columns' theta."""
    value, theta = dual_point(data.loss, columns, z, data.y, data.weight, penalty.free)
    c = columns.T @ theta
    c[penalty.free] = 0.0
    theta = theta / max(1.0, penalty.dual_norm(c))
    return value + penalty.value(x), lower_bound(data.loss, theta, data.y, data.weight), c


def largest_penalty(data: Data, l1: FloatArray, l2: FloatArray) -> float:
    """Return the smallest t for which the thresholds t l1, t l2 give the model without features.

    Free features, but for the intercept, are not allowed.
    """
    z = np.full(data.y.size, data.null_intercept)
    theta = data.loss.value_gradient(z, data.y, data.weight)[1]
    return Penalty(l1, l2, data.start).dual_norm(data.features.T @ theta)


def check_group_weights(value: Any, groups: Groups) -> FloatArray:
    """Return the weight of every group, (n_groups,): sqrt of its size by default."""
    if value is None:
        return np.sqrt(groups.sizes)
    weights = np.asarray(value)
    rule = f"group_weights must be a number for every group ({len(groups)}), not negative"
    if weights.shape != (len(groups),) or weights.dtype.kind not in "iuf":
        raise ValueError(f"{rule}; got shape {weights.shape} of type {weights.dtype}.")
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if bad.size:
        raise ValueError(f"{rule}; got {weights[bad[0]]} for group {groups.labels[bad[0]]}.")
    return weights.astype(np.float64)


class _SparseGroupLasso(LinearModel):
    def __init__(
        self,
        l1: float = 1.0,
        l2: float = 1.0,
        *,
        feature_groups: Any = None,
        group_weights: Any = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        tol: float = TOL,
        max_iter: int = MAX_ITER,
    ) -> None:
        self.l1 = l1
        self.l2 = l2
        self.feature_groups = feature_groups
        self.group_weights = group_weights
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        validate.check_not_negative("l1", self.l1)
        validate.check_not_negative("l2", self.l2)
        validate.check_gap("tol", self.tol)
        validate.check_iterations("max_iter", self.max_iter)

    def _solve(self, data: Data, groups: Groups) -> Fit:
        l1 = np.full(data.n_features, float(self.l1))
        l2 = float(self.l2) * check_group_weights(self.group_weights, groups)
        fit = solve(data, l1, l2, tol=float(self.tol), max_iter=int(self.max_iter))
        warn_of_gap(fit.gap, float(self.tol), SLOW)
        return fit


class SparseGroupLassoRegressor(_SparseGroupLasso, Regressor):
    """Linear regression with an l1 penalty and one on the norms of groups.

        min_{x, b}  1/2 sum_i s_i (y_i - a_i'x - b)^2 + l1 ||x||_1 + l2 sum_g w_g ||x_g||

    `l2=0` is the lasso, `l1=0` the group lasso.

    Parameters
    ----------
    l1, l2 : float
        The penalties, not negative.
    feature_groups : (n_features_in_,) integers or strings, a dict of lists, or None
        The label of the group of every column of X, or the columns of every group by its label.
        None: every feature is a group of its own.
    group_weights : (n_groups,) not negative, or None
        w, in the order of the sorted labels of the groups, of those that have columns; None: the
        square roots of their sizes.
    fit_intercept : bool
        A free intercept, never penalised.
    standardize : bool
        Penalise as if columns had unit standard deviation; coefficients are for X as it is.
    tol : float
        Certified gap to stop at, relative to the objective of the model without features.
    max_iter : int
        The most steps of FISTA.

    Attributes
    ----------
    support_ : sorted features whose coefficient is not zero.
    coef_ : (n_features_in_,), of a classifier (1, n_features_in_).
    intercept_ : float, of a classifier (1,).
    objective_ : value of the problem.
    gap_ : its certified relative gap.
    n_iter_ : steps of FISTA.

    Examples
    --------
    >>> import numpy as np
    >>> from baselines import SparseGroupLassoRegressor
    >>> X = np.random.default_rng(0).standard_normal((50, 6))
    >>> y = X[:, 0] - X[:, 1]
    >>> model = SparseGroupLassoRegressor(5.0, 5.0, feature_groups=[0, 0, 0, 1, 1, 1]).fit(X, y)
    >>> model.support_
    array([0, 1])
    """


class SparseGroupLassoClassifier(_SparseGroupLasso, Classifier):
    """Logistic regression with an l1 penalty and one on the norms of groups, for two classes.

        min_{x, b}  sum_i s_i log(1 + exp(-y_i (a_i'x + b))) + l1 ||x||_1 + l2 sum_g w_g ||x_g||

    Parameters and attributes as of `SparseGroupLassoRegressor`.
    """


@one_blas_thread()
def sparse_group_lasso_path(
    X: Any,
    y: Any,
    feature_groups: Any = None,
    *,
    loss: str = "least_squares",
    l1_ratio: float = 0.5,
    penalties: Any = 30,
    penalty_ratio: float = 0.01,
    group_weights: Any = None,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    standardize: bool = True,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
) -> LinearPath:
    """Solve the sparse group lasso along a falling penalty, each from the solution before.

        l1 = l1_ratio penalty,  l2 = (1 - l1_ratio) penalty

    in the problem of `SparseGroupLassoRegressor`, or with `loss="logistic"` (y of -1 and +1) that
    of `SparseGroupLassoClassifier`.

    Parameters
    ----------
    l1_ratio : from 0, the group lasso, to 1, the lasso.
    penalties : how many, from the smallest that gives the model without features to `penalty_ratio`
        of it, evenly on a logarithmic scale; or falling positive numbers.
    """
    validate.check_option("loss", loss, list(LOSSES))
    ratio = validate.check_not_negative("l1_ratio", l1_ratio)
    if ratio > 1.0:
        raise ValueError(f"l1_ratio must be at most 1; got {l1_ratio!r}.")
    validate.check_share("penalty_ratio", penalty_ratio)
    validate.check_gap("tol", tol)
    validate.check_iterations("max_iter", max_iter)
    X, names = dense(X)
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=True)
    if loss == "logistic" and not np.array_equal(np.unique(y), [-1, 1]):
        raise ValueError(
            f"y must be -1 and +1 with loss='logistic'; got {np.unique(y)[:5].tolist()}."
        )
    data, partition = prepare(
        X, check_response(y, len(y)), LOSSES[loss], feature_groups, names=names,
        sample_weight=sample_weight, intercept=fit_intercept, standardize=standardize,
    )  # fmt: skip
    l1 = np.full(data.n_features, ratio)
    l2 = (1.0 - ratio) * check_group_weights(group_weights, partition)
    if validate.is_integer(penalties):
        count = validate.check_iterations("penalties", penalties)
        if not (l1.all() or l2.all()):
            raise ValueError(
                "penalties must be numbers where features have no penalty; got their number, "
                f"{count}, with l1_ratio={l1_ratio!r} and a weight of 0 in group_weights."
            )
        values = largest_penalty(data, l1, l2) * np.geomspace(1.0, penalty_ratio, count)
    else:
        values = check_array(penalties, dtype=np.float64, ensure_2d=False, input_name="penalties")
        if values.ndim != 1 or (values <= 0).any() or (np.diff(values) >= 0).any():
            raise ValueError("penalties must be a number of them, or falling positive numbers.")
    x, worst, models = None, 0.0, []
    for value in values:
        fit = solve(data, value * l1, value * l2, start=x, tol=tol, max_iter=max_iter)
        x, worst = fit.x, max(worst, fit.gap)
        models.append(data.unscale(x))
    warn_of_gap(worst, tol, SLOW, stacklevel=4)
    return LinearPath.of(values, models)
