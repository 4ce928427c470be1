"""Intervals and p-values for a chosen model, from rows that did not choose it."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import stats
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from ..core import validation as validate
from ..core.errors import ParameterError
from ..core.frames import in_memory, out_of_core
from ..core.parallel import one_blas_thread
from ..core.targets import check_offset, check_range, check_response, check_survival, check_target
from ..core.types import Design, FloatArray, IndexArray
from ..io.opening import as_design
from ..losses import Poisson

MODELS = ("linear", "logistic", "poisson", "cox")
COLUMNS = ("coef", "error", "lower", "upper", "p_value", "adjusted")
FAR, FLAT = 200.0, 1e-6  # margins, and curvature of a row, where coefficients grow without end


class SplitInference(NamedTuple):
    """Estimates on the samples that did not select, for each of B splits.

    models : (B,) pandas data frames, a row for each chosen feature: `feature` (its number), `name`,
        and COLUMNS, of which `adjusted` is p times the chosen features.
    chosen_on, inferred_on : (B,) the rows that chose, and all others. model : one of MODELS.
    """

    models: tuple[Any, ...]
    chosen_on: tuple[IndexArray, ...]
    inferred_on: tuple[IndexArray, ...]
    model: str

    @property
    def table(self) -> Any:
        """All splits as one data frame, the smallest p first: see `split_inference`."""
        import pandas as pd

        n = len(self.models)
        if n == 1:
            return self.models[0].sort_values("p_value", ignore_index=True)

        def combined(p: Any) -> float:
            half, all_ = (n + 1) // 2, np.sort([*p, *[1.0] * (n - len(p))])
            return float(min(all_[half - 1] * n / half, 1.0))

        rows = pd.concat(self.models).groupby(["feature", "name"])
        found = rows[["p_value", "adjusted"]].agg(combined).assign(chosen=rows.size() / n)
        return found.reset_index().sort_values("p_value", ignore_index=True, kind="stable")

    def __repr__(self) -> str:
        text = self.table.to_string(index=False, float_format="{:.3g}".format)
        return f"{self.model} model of {self.inferred_on[0].size} rows\n{text}"


@one_blas_thread()
def split_inference(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_splits: int = 1,
    share: float = 0.5,
    confidence_level: float = 0.95,
    model: Literal["auto", "linear", "logistic", "poisson", "cox"] = "auto",
    groups: Any = None,
    offset: Any = None,
    random_state: int | None = 0,
) -> SplitInference:
    """Choose features on some rows, and infer on all others how they act together.

    With S the features that the estimator chooses on a random share of the rows, and b the
    coefficients of these alone in the model of all rows of that kind,

        P(lower_j <= b_j <= upper_j) = confidence_level  (j in S),    P(p_j <= a) = a  if b_j = 0,

    for rows many times the features: S is fixed given the rows that chose it. The models are those
    of statsmodels with sandwich errors: HC3 of least squares, HC1 of logistic and Poisson models,
    Lin and Wei's of Cox's model (ties by Efron) times sqrt(m / (m - k)). Quantiles are Student's
    with m - k - 1 degrees of freedom: k features, m rows (events; groups, where there are any).

    Of B splits, p is 1 where a feature is not chosen. The smallest p that half of the splits
    (h = ceil(B / 2)) do not exceed, times B / h, is a p-value of the feature having a coefficient
    of 0 in every model that has it, however dependent the splits are.

    Parameters
    ----------
    estimator : any selector with `fit`, `get_support`, `transform` and `get_feature_names_out`.
    X, y : as for its `fit`. n_splits : B. random_state : of the splits; None: others every time.
    share : of rows, or groups, that choose, with classes or events alike.
    confidence_level : of the intervals.
    model : "linear", "logistic" (two classes), "poisson" or "cox"; "auto": by y and the estimator.
    groups : (n_samples,) labels; samples with one label are on one side, and errors allow for
        dependence within groups, for groups many times the features.
    offset : (n_samples,) known part of the linear predictor, which the estimator's `fit` must take:
        of counts the logarithm of the exposure.

    Raises
    ------
    ValueError, where a parameter breaks its rule, or the other rows do not determine coefficients.

    Source
    ------
    Cox, Biometrika 62 (1975); Meinshausen, Meier, Buehlmann, JASA 104 (2009) and Rueger, Metrika 25
    (1978) for several splits; MacKinnon, White, J. Econometrics 29 (1985); Lin, Wei, JASA 84 (1989)
    """
    if find_spec("statsmodels") is None:
        raise ImportError("inference needs statsmodels: pip install 'zeronorm[inference]'.")
    validate.check_iterations("n_splits", n_splits)
    for name, value in (("confidence_level", confidence_level), ("share", share)):
        if not 0 < validate.number(value) < 1:
            raise ParameterError(name, "must be above 0 and below 1", validate.shown(value))
    validate.check_option("model", model, ("auto", *MODELS))
    if out_of_core(X) or isinstance(X, str | Path):
        X = as_design(validate.check_data(X))
    X, y = X if hasattr(X, "shape") else np.asarray(X), in_memory(y)
    take = X.__getitem__ if isinstance(X, Design) else lambda rows: _safe_indexing(X, rows)
    kind, target = _target(estimator, y, n := int(X.shape[0]), model)
    given: dict[str, Any] = {"groups": validate.check_groups(in_memory(groups), n)}
    given["offset"] = None if offset is None else check_offset(offset, n, FAR)
    if offset is not None and not has_fit_parameter(estimator, "offset"):
        raise ParameterError("offset", f"must be None: {type(estimator).__name__} takes none")
    strata = {"logistic": target, "cox": target.T[1:2].ravel()}.get(kind, np.zeros(n))
    split = StratifiedShuffleSplit if groups is None else GroupShuffleSplit
    drawn = split(n_splits, train_size=share, random_state=random_state)
    found = []
    for both in drawn.split(strata, strata, given["groups"]):
        ours, others = map(np.sort, both)
        own = {key: one[ours] for key, one in given.items()
               if one is not None and has_fit_parameter(estimator, key)}  # fmt: skip
        fitted = clone(estimator).fit(take(ours), _safe_indexing(y, ours), **own)
        Z = fitted.transform(take(others))
        Z = np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, np.float64)
        rest = (None if one is None else one[others] for one in given.values())
        table = _estimates(kind, Z, target[others], confidence_level, *rest)
        table.insert(0, "feature", np.flatnonzero(fitted.get_support()))
        table.insert(1, "name", fitted.get_feature_names_out().astype(object))
        found.append((table, ours, others))
    models, chosen_on, inferred_on = zip(*found, strict=True)
    return SplitInference(models, chosen_on, inferred_on, kind)


def _target(estimator: Any, y: Any, n: int, model: str) -> tuple[str, FloatArray]:
    """Return the kind of model that a target and an estimator ask for, and the target as it is."""
    inner = getattr(estimator, "estimator", estimator)
    if model == "auto":
        model = "poisson" if getattr(inner, "loss", None) == "poisson" else "linear"
        if getattr(getattr(y, "dtype", None), "names", None) or len(getattr(y, "columns", ())) > 1:
            model = "cox"
        elif is_classifier(inner) or np.asarray(y).dtype.kind not in "iuf":
            model = "logistic"
    if model != "logistic":
        y = (check_survival if model == "cox" else check_response)(y, n)
        return model, check_range(Poisson(), y) if model == "poisson" else y
    classes, code = np.unique(check_target(y, n), return_inverse=True)
    if classes.size != 2:
        raise ParameterError("y", "must have two classes for a logistic model", str(classes.size))
    return model, code.astype(np.float64)


def _estimates(kind: str, Z: FloatArray, y: FloatArray, level: float, groups: Any, d: Any) -> Any:
    """Return what statsmodels says of the coefficients of all columns, as a data frame."""
    import pandas as pd
    import statsmodels.api as sm

    if not Z.size:
        return pd.DataFrame(columns=COLUMNS, dtype=float)
    d = np.zeros(len(y)) if d is None else d
    labels = np.arange(len(y)) if groups is None else groups
    if kind == "cox":  # rows at risk at no event say nothing; statsmodels has NaN for them
        start, e = y[:, 3] if y.shape[1] > 3 else np.full(len(y), -1.0), y[y[:, 1] > 0]
        seen = (y[:, 2:3] == e[:, 2]) & (start[:, None] < e[:, 0]) & (e[:, 0] <= y[:, :1])
        Z, y, labels, d, start = (one[seen.any(axis=1)] for one in (Z, y, labels, d, start))
    labels = np.unique(labels, return_inverse=True)[1]
    k, m = Z.shape[1], int(y[:, 1].sum() if kind == "cox" and groups is None else labels.max() + 1)
    if m < k + 2:
        of = "rows (events, groups)"
        raise ValueError(f"inference on {m} {of} allows {m - 2} features; got {k}. Choose fewer.")
    spread = Z.std(axis=0)
    Z = (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    columns = sm.add_constant(Z, has_constant="add")
    how = {"cov_type": "cluster", "cov_kwds": {"groups": labels}}
    with warnings.catch_warnings(action="ignore"):  # what they are about is refused below
        if kind == "cox":
            start = np.maximum(np.nextafter(start, np.inf), 0)  # at risk after it, not at it
            fit = sm.PHReg(y[:, 0], Z, y[:, 1], start, y[:, 2], d, "efron").fit(groups=labels)
        elif kind == "linear":
            fit = sm.OLS(y - d, columns).fit(**({"cov_type": "HC3"} if groups is None else how))
        else:
            family = sm.families.Binomial() if kind == "logistic" else sm.families.Poisson()
            fit = sm.GLM(y, columns, family, offset=d).fit(**how)
        curvature = columns.T @ columns if kind == "linear" else -fit.model.hessian(fit.params)
    coef, error = fit.params[-k:], fit.bse[-k:] * (np.sqrt(m / (m - k)) if kind == "cox" else 1.0)
    sound = np.isfinite([*coef, *error, *curvature.flat]).all() and np.ptp(Z @ coef) < FAR
    if not sound or np.linalg.eigvalsh(curvature)[0] <= FLAT * m:
        raise ValueError(
            "rows of inference must determine the coefficients; there a feature is constant, or of "
            "others, or they separate the classes or order the events. Choose fewer features."
        )
    p = 2 * stats.t.sf(np.abs(coef) / error, m - k - 1)
    ends = coef + np.outer([-1, 1], stats.t.isf(0.5 - level / 2, m - k - 1) * error)
    found = *(one / spread for one in (coef, error, *ends)), p, np.minimum(k * p, 1.0)
    return pd.DataFrame(dict(zip(COLUMNS, found, strict=True)))
