"""The front door of selection for survival times: Cox's model on so many features or groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..core import validation as validate
from ..core.types import Design, FloatArray
from ..data.operations import margins
from ..losses import Cox
from .baseline import Baseline, StepFunction, baseline_of
from .budget_selection import BudgetSelection
from .parameters import with_parameters
from .rowwise import Rowwise
from .sparse_linear import Model, SparseLinearModel, terms_of, with_callbacks

TIED = 1e-8  # risk scores that near count as tied
BLOCK = 512  # events that are compared with all rows at once


class SurvivalModel(SparseLinearModel):
    """Base of Cox's models with sparse coefficients: targets, prediction, baselines."""

    loss = "cox"
    fit_intercept = True  # differences of margins alone count; columns are centred by it

    ties: Any  # a parameter of every such class

    @with_callbacks  # type: ignore[untyped-decorator,unused-ignore]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the model and return it.

        Parameters
        ----------
        X, sample_weight, groups : as for `BudgetClassifier`.
        y : (n_samples,) structured array of the event (True where it was observed, False where the
            row is censored), the time until then, and maybe the stratum; or of start, stop, event
            and maybe stratum, by these names; or a data frame of them.

        Raises
        ------
        ValueError
            Where a parameter or the data break a rule; the message says which and what to do.
        """
        self._fit(X, y, sample_weight, groups=groups)
        design = self._prediction_design(X)
        target = validate.check_survival(y, design.shape[0])
        weight = validate.check_sample_weight(sample_weight, design.shape[0])
        self._baselines = [
            baseline_of(_risk(design, model), target, weight, self._loss().ties)
            for model in self._models_of_sizes()
        ]
        self._set_baseline()
        return self

    def _models_of_sizes(self) -> Sequence[Model]:
        """Return the models of the fit, in the order of their sizes where there are several."""
        return self._models[:1]

    @property
    def _place(self) -> int:
        """The place among them of the one that predicts."""
        return 0

    def _loss(self) -> Cox:
        """Return the loss of the selection."""
        return Cox(self.ties)

    @property
    def _score_loss(self) -> str:
        """The loss that the scores were fitted for."""
        return self._loss().name

    def _target(self, y: Any, n_samples: int) -> np.ndarray:
        return validate.check_survival(y, n_samples)

    def _unit(self, labels: np.ndarray, sample_weight: FloatArray) -> FloatArray:
        return np.ones_like(sample_weight)

    def _problems(self, labels: np.ndarray, weight: FloatArray) -> tuple[None, list[FloatArray]]:
        """Return no classes, and the target, without the events of rows without weight.

        Of their times nobody with a weight may be at risk.
        """
        seen = weight > 0
        if seen.all():
            return None, [labels]
        target = labels.copy()
        target[:, 1] *= seen
        return None, [target]

    def _strata(self, y: FloatArray, cv: Any) -> np.ndarray:
        """Return what became of every row, which folds have in equal shares."""
        return np.where(y[:, 1] > 0, "event", "censored")  # messages name them

    @property
    def _score_name(self) -> str:
        """What `score` returns."""
        return "c_index"

    def _score_of_margins(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return the score of margins."""
        return concordance(y, z, weight)

    def _weigh(self, data: Rowwise) -> tuple[Rowwise, None]:
        validate.check_total_weight(self._loss_weight(), data.sample_weight, self._least_loss)
        validate.check_events(data.labels)
        return data, None

    def _set_models(self, models: Sequence[Model]) -> None:
        super()._set_models(models)
        del self.intercept_

    def _set_baseline(self) -> None:
        """Set the estimates of the baseline."""
        baseline = self._baseline()
        self.unique_times_ = baseline.times
        hazards = baseline.at_zero
        survivals = [StepFunction(one.x, np.exp(-one.y), 1.0) for one in hazards]
        several = len(hazards) > 1
        self.cum_baseline_hazard_: Any = tuple(hazards) if several else hazards[0]
        self.baseline_survival_: Any = tuple(survivals) if several else survivals[0]

    @property
    def coef_(self) -> FloatArray:
        """Log hazard ratios of all features, (n_columns,), made on demand."""
        return np.asarray(self._all_coef()[0])

    def _scores(self, X: Any) -> FloatArray:
        """Return X @ coef, (n_samples, 1)."""
        check_is_fitted(self)
        features, coef = self._terms()
        design, places = self._prediction_columns(X, features)
        return margins(design, places, coef.T, np.zeros(1))

    def predict(self, X: Any) -> FloatArray:
        """Return the risk scores X[:, support_] @ coef, (n_samples,): the higher, the sooner."""
        return self._scores(X)[:, 0]

    def predict_cumulative_hazard_function(self, X: Any, return_array: bool = False) -> np.ndarray:
        """Return the cumulative hazard of every row: the baseline's times exp(risk score).

        An array of `StepFunction`, (n_samples,); return_array: of their values at `unique_times_`,
        (n_samples, n_times).
        """
        return self._baseline().cumulative_hazards(self.predict(X), return_array)

    def predict_survival_function(self, X: Any, return_array: bool = False) -> np.ndarray:
        """Return the probability of no event up to a time, of every row: exp(-cumulative hazard).

        As `predict_cumulative_hazard_function`.
        """
        return self._baseline().survivals(self.predict(X), return_array)

    def _baseline(self) -> Baseline:
        check_is_fitted(self)
        return self._baselines[self._place]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return Harrell's C: the share of comparable pairs whose risk scores are in order.

        A pair is comparable where the one with the event has the smaller time, or the same as one
        that is censored; ties of risk scores count one half. Rows of different strata are not
        compared, and of start-stop times an event only with rows that are at risk then, as by R's
        concordance. A pair has the weight of the row with the event times that of the other.
        """
        risk = self.predict(X)
        target = validate.check_survival(y, risk.size)
        weight = validate.check_sample_weight(sample_weight, risk.size)
        return concordance(target, risk, weight)


@with_parameters
class BudgetSurvivalAnalysis(BudgetSelection, SurvivalModel):
    """Cox's proportional hazards on exactly k features, whole groups, or features in few groups.

        min_u  1/2 ||u||^2 + C sum over event times t of
               [ D_t log(sum_{i: T_i >= t} s_i e^(x_i'u) / D_t) - sum_{events i at t} s_i x_i'u ]

    subject to the budget, on the selection scaling, with D_t the weight of the events at t: minus
    the logarithm of the partial likelihood, with ties as Breslow or Efron has them, less its least
    value.
    Budgets, methods and certificates are those of `BudgetClassifier`.

    Parameters
    ----------
    n_features, n_groups, feature_groups, method, forced_features, signs, forced_groups, covariates,
    standardize, criterion, tol, warm_start, n_threads, checkpoint
        As in `BudgetClassifier`.
    C : "auto" or float
        Weight of the summed loss during selection. "auto" chooses one C for all sizes by five folds
        that repeat the whole selection, as in `BudgetRegressor`: C m in {0.001, 0.01, 0.1, 1, 10},
        m the mean curvature of the loss, about the share of events. The partial likelihoods are
        those of the held-out samples of each fold among themselves. Where there are fewer than 10
        different samples with an event, one group of samples, or no column that varies in a fold,
        C m is 0.1. "greedy" and "l1" select without C; 0.1 is that of their certificate. 1 for
        "bilevel".
    refit_C : "auto", "loo", float or None
        C of the final fit on the scaling of X; "loo" chooses by the partial likelihood that each of
        five folds of the rows adds to that of the others, else as in `BudgetClassifier`. "auto":
        "loo", and None for "bilevel".
    calibrate : "auto" or bool
        Whether the log hazard ratios are multiplied by one number for each size, in [0.02, 1.2], as
        in `BudgetRegressor`; the effects of covariates are fitted anew. "auto": with C="auto".
    ties : "breslow" or "efron"
        How events at the same time are counted. Efron's are as R's survival has them, d events one
        after the other, each with their mean weight: nearer to the likelihood of times without
        ties, but a weight of 2 is not the row twice. Without ties the two are the same.

    Attributes
    ----------
    As of `BudgetClassifier`, without those of classes and of the intercept, which a partial
    likelihood does not have; coef_ is (n_columns,), the log hazard ratios.
    unique_times_ : (n_times,) the times of the training rows.
    cum_baseline_hazard_, baseline_survival_ : StepFunction
        Breslow's estimates at x = 0, or Efron's, as the ties are; of each stratum, in a tuple,
        where there are several.

    Notes
    -----
    The target is a structured array as of scikit-survival (`sksurv.util.Surv`): the event, True or
    False, and the time; a third field is the stratum: rows are compared within it only. Where rows
    come under observation late, as in a counting process, its fields are named start, stop, event
    and maybe stratum, in any order: a row is at risk at t with start < t <= stop. Several rows of
    one person, with other values of X, are rows like others.

    References
    ----------
    Cox, Regression models and life-tables, JRSS B 34(2), 1972. Efron, The efficiency of Cox's
    likelihood function for censored data, JASA 72(359), 1977. Harrell et al., Evaluating the yield
    of medical tests, JAMA 247(18), 1982.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import BudgetSurvivalAnalysis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> time = rng.exponential(np.exp(X[:, 3] - X[:, 7]))
    >>> y = np.rec.fromarrays([time < 2, np.minimum(time, 2)], names="event,time")
    >>> model = BudgetSurvivalAnalysis(n_features=2).fit(X, y)
    >>> model.support_.tolist(), model.certificate_.proven
    ([3, 7], True)
    >>> survival = model.predict_survival_function(X[:1])[0]
    >>> bool(survival(0.0) > survival(1.0))
    True
    """

    ties: str = "breslow"

    def _keep_size(self, size: Any) -> None:
        super()._keep_size(size)
        self._set_baseline()

    def _models_of_sizes(self) -> Sequence[Model]:
        (path,) = self._paths
        return [path[size] for size in path]

    @property
    def _place(self) -> int:
        return [*self._paths[0]].index(self.size_)


def concordance(y: FloatArray, risk: FloatArray, weight: FloatArray) -> float:
    """Return Harrell's C of risk scores; y: (n, 3) of time, event and stratum; or with starts."""
    right, total = 0.0, 0.0
    events = np.flatnonzero((y[:, 1] > 0) & (weight > 0))
    for start in range(0, events.size, BLOCK):
        own = events[start : start + BLOCK, None]
        later = y[own, 0] < y[:, 0]
        later |= (y[own, 0] == y[:, 0]) & (y[:, 1] == 0)
        later &= y[own, 2] == y[:, 2]
        if y.shape[1] == 4:
            later &= y[:, 3] < y[own, 0]
        away = risk[own] - risk
        order = np.where(np.abs(away) <= TIED, 0.5, away > 0)
        pairs = later * weight * weight[own]
        right += float((pairs * order).sum())
        total += float(pairs.sum())
    if total == 0.0:
        raise ValueError(
            "y must have comparable pairs for a concordance: an event, and a row that outlives it."
        )
    return right / total


def _risk(design: Design, model: Model) -> FloatArray:
    """Return the risk scores of a model, (n_samples,)."""
    features, coef = terms_of(model)
    return margins(design, features, coef[:, None], np.zeros(1))[:, 0]
