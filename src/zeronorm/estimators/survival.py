"""The front door of selection for survival times: Cox's model on so many features or groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.utils.validation import check_is_fitted

from ..core import validation as validate
from ..core.errors import ParameterError
from ..core.targets import check_events, check_sample_weight, check_survival
from ..core.types import Design, FloatArray, Likelihood
from ..data.operations import margins
from ..losses import Cox
from ..losses.cox import ties_of
from ..solvers.l1.setting import HeldOutScores, added_deviance_of
from .base import Model, SparseLinearModel, terms_of, with_parameters
from .budget import BudgetSelection
from .l1 import L1Fold, L1Folds, L1Model
from .problem import TrainingData

# The baseline of a Cox model: hazards over time, for the highest risk score of training.

LARGEST_SCORE = 700.0  # above that of all training rows: the survival is 0 by then


def survival_target(time: Any, event: Any, start: Any = None, strata: Any = None) -> np.ndarray:
    """Return survival times as the target y of a fit.

    Row i is under observation on (start_i, time_i], at whose end it has its event, or is censored.

    Parameters
    ----------
    time : (n_samples,) numbers, not negative, in any unit; or durations, as the difference of two
        dates, which become days.
    event : (n_samples,) True or 1 where the event was observed, False or 0 where a row is censored.
    start : (n_samples,) where rows come under observation late; None: at 0.
    strata : (n_samples,) labels of strata, each with a baseline of its own; None: one stratum.

    Returns
    -------
    (n_samples,) structured array: "event", "time" and maybe "stratum"; with `start` "start",
    "stop", "event" and maybe "stratum".

    Raises
    ------
    ValueError
        Where a time is negative, missing or not after its start, an event is neither of the two,
        or lengths differ.

    Examples
    --------
    >>> from zeronorm import survival_target
    >>> survival_target([5.0, 8.0], [True, False])["time"]
    array([5., 8.])
    """
    given = {"event": event, "time" if start is None else "stop": time}
    given |= {} if start is None else {"start": start}
    given |= {} if strata is None else {"stratum": strata}
    columns = {name: _in_days(name, np.asarray(values)) for name, values in given.items()}
    sizes = {name: values.shape for name, values in columns.items()}
    if len({*sizes.values()}) > 1 or columns["event"].ndim != 1:
        raise ValueError(
            f"{', '.join(sizes)} must be of one length, one number a row; got {sizes}."
        )
    y = np.empty(columns["event"].size, [(name, each.dtype) for name, each in columns.items()])
    for name, values in columns.items():
        y[name] = values
    check_survival(y, len(y))
    kinds = [(name, bool if name == "event" else y.dtype[name]) for name in columns]
    return np.asarray(y.astype(kinds))


def _in_days(name: str, values: np.ndarray) -> np.ndarray:
    """Return times that are durations as days, all else as it is; refuse times that are dates."""
    if name not in ("time", "stop", "start"):
        return values
    if values.dtype.kind == "M":
        raise ParameterError(
            name,
            "must be numbers or durations",
            "dates",
            "Pass the time since a first date: end - entry.",
        )
    return values / np.timedelta64(1, "D") if values.dtype.kind == "m" else values


@dataclass(frozen=True, slots=True)
class StepFunction:
    """A function that is constant between times and takes its new value at each of them."""

    x: FloatArray  # (n_times,) growing
    y: FloatArray  # (n_times,) the value from that time on
    before: float  # the value before the first time

    @property
    def domain(self) -> tuple[float, float]:
        """From 0 to the last time, as in scikit-survival; beyond it the last value stays."""
        return 0.0, float(self.x[-1])

    def __call__(self, time: Any) -> Any:
        """Return the values at some times; a number for a number."""
        place = np.searchsorted(self.x, time, side="right")
        found = np.append(self.before, self.y)[place]
        return float(found) if np.ndim(time) == 0 else found


@dataclass(frozen=True, slots=True)
class Baseline:
    """Breslow's or Efron's estimates, for rows whose risk score is the highest of training.

    At x = 0, which may be far from all rows, a hazard may leave the range of numbers.
    """

    highest: float
    hazards: tuple[StepFunction, ...]  # cumulative, of every stratum

    @property
    def times(self) -> FloatArray:
        """The times of the training rows, (n_times,)."""
        return np.unique(np.concatenate([one.x for one in self.hazards]))

    @property
    def at_zero(self) -> list[StepFunction]:
        """The cumulative hazards at x = 0."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            unit = np.exp(-self.highest)
            return [
                StepFunction(one.x, np.where(one.y > 0, one.y * unit, 0.0), 0.0)
                for one in self.hazards
            ]

    def cumulative_hazards(self, risk: FloatArray, return_array: bool) -> np.ndarray:
        """Return the cumulative hazard at every risk score; return_array: its values at `times`."""
        if len(self.hazards) > 1:
            raise ValueError(
                f"the model has {len(self.hazards)} strata, each with a baseline of "
                "its own: multiply the one of `cum_baseline_hazard_` by exp(predict(X))."
            )
        (baseline,) = self.hazards
        with np.errstate(over="ignore"):
            factor = np.exp(np.minimum(risk - self.highest, LARGEST_SCORE))
        if return_array:
            return np.asarray(factor[:, None] * baseline(self.times))
        return _objects([StepFunction(baseline.x, one * baseline.y, 0.0) for one in factor])

    def survivals(self, risk: FloatArray, return_array: bool) -> np.ndarray:
        """Return the probability of no event up to a time, as `cumulative_hazards`."""
        hazards = self.cumulative_hazards(risk, return_array)
        if return_array:
            return np.asarray(np.exp(-hazards))
        return _objects([StepFunction(one.x, np.exp(-one.y), 1.0) for one in hazards])


def baseline_of(z: FloatArray, y: FloatArray, weight: FloatArray, ties: str) -> Baseline:
    """Return Breslow's estimates, or Efron's, from the risk scores of the training rows."""
    used = weight > 0
    z, y, weight = z[used], y[used], weight[used]
    highest = float(z.max())
    hazards = []
    for one in np.unique(y[:, 2]):
        rows = y[:, 2] == one
        away = z[rows] - highest
        hazards.append(_hazard(away, y[rows], weight[rows], ties))
    return Baseline(highest, tuple(hazards))


def _hazard(z: FloatArray, y: FloatArray, weight: FloatArray, ties: str) -> StepFunction:
    """Return the cumulative baseline hazard at all times of rows; no z is positive."""
    event, size = y[:, 1] > 0, weight * np.exp(z)
    times, place = np.unique(y[:, 0], return_inverse=True)
    deaths = np.bincount(place, weight * event, times.size)
    at_risk = np.cumsum(np.bincount(place, size, times.size)[::-1])[::-1]
    if y.shape[1] == 4:
        some = np.flatnonzero(deaths)
        for now in some:
            at_risk[now] = size[(y[:, 3] < times[now]) & (place >= now)].sum()
    steps = np.divide(deaths, at_risk, out=np.zeros_like(deaths), where=deaths > 0)
    if ties == "efron":
        found = ties_of(place[event], weight[event] > 0, times.size)
        share = found.sums(size[event]) / at_risk[found.times]
        steps[found.times] *= found.rates(share)
    return StepFunction(times, np.cumsum(steps), 0.0)


def _objects(functions: list[StepFunction]) -> np.ndarray:
    found = np.empty(len(functions), object)
    found[:] = functions
    return found


TIED = 1e-8  # risk scores that near count as tied
BLOCK = 512  # events that are compared with all rows at once


class SurvivalModel(SparseLinearModel):
    """Base of Cox's models with sparse coefficients: targets, prediction, baselines."""

    loss = "cox"
    fit_intercept = True  # differences of margins alone count; columns are centred by it

    ties: Any  # a parameter of every such class

    def _keep_baseline(self, data: TrainingData) -> None:
        self._baselines = [
            baseline_of(
                _risk(data.design, model), data.labels, data.sample_weight, self._loss().ties
            )
            for model in self._models_of_sizes()
        ]
        self._set_baseline()

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
        return check_survival(y, n_samples)

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

    def _check_outcomes(self, labels: np.ndarray) -> None:
        check_events(labels)

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
        target = check_survival(y, risk.size)
        weight = check_sample_weight(sample_weight, risk.size)
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
    >>> from zeronorm import BudgetSurvivalAnalysis, survival_target
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> time = rng.exponential(np.exp(X[:, 3] - X[:, 7]))
    >>> y = survival_target(np.minimum(time, 2), time < 2)
    >>> model = BudgetSurvivalAnalysis(n_features=2).fit(X, y)
    >>> model.support_.tolist(), round(model.certificate_.gap, 2)
    ([3, 7], 0.04)
    >>> survival = model.predict_survival_function(X[:1])[0]
    >>> bool(survival(0.0) > survival(1.0))
    True
    """

    ties: Literal["breslow", "efron"] = "breslow"

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
        raise ParameterError(
            "y",
            "must have comparable pairs for a concordance: an event, and a row that outlives it",
        )
    return right / total


def _risk(design: Design, model: Model) -> FloatArray:
    """Return the risk scores of a model, (n_samples,)."""
    features, coef = terms_of(model)
    return margins(design, features, coef[:, None], np.zeros(1))[:, 0]


# Cox's proportional hazards with an l1 penalty, at one C or with exactly k features.


@with_parameters
class L1SurvivalAnalysis(L1Model, SurvivalModel):
    """Cox's proportional hazards with an l1 or elastic net penalty, and exactly k features of it.

        min_w  sum_j p_j (r |w_j| + (1 - r)/2 w_j^2) + C sum over event times t of
               [ D_t log(sum_{i: T_i >= t} s_i e^(x_i'w) / D_t) - sum_{events i at t} s_i x_i'w ]

    with p `penalty_factor`, r `l1_ratio`, s the sample weights and D_t the weight of the events at
    t: minus the logarithm of the partial likelihood, less its least value. C is the
    1 / (n_samples lambda) of glmnet, whose deviance is twice this, and the 1 / (n_samples alpha) of
    scikit-survival's `CoxnetSurvivalAnalysis`. All else is as in `L1Regressor`: with `n_features=k`
    C is found, and the model is a refit of these k features with a ridge.

    Parameters
    ----------
    C, n_features, refit_C, l1_ratio, penalty_factor, signs, standardize, tol, max_iter, warm_start,
    n_threads, checkpoint
        As in `L1Classifier`; "loo" chooses by the partial likelihood that each of five folds of the
        rows adds to that of the others.
    ties : "breslow" or "efron"
        As in `BudgetSurvivalAnalysis`.

    Attributes
    ----------
    As of `L1Classifier`, without those of classes and of the intercept; coef_ is (n_columns,), the
    log hazard ratios. unique_times_, cum_baseline_hazard_, baseline_survival_ :
        As of `BudgetSurvivalAnalysis`, whose targets and predictions these are.

    Warns
    -----
    ConvergenceWarning
        Where the solver stopped at a gap of more than twice `tol` (and more than 1e-9).
    UserWarning
        Where no solution has `n_features` features, and scores had to choose the others.

    References
    ----------
    Tibshirani, The lasso method for variable selection in the Cox model, Statistics in Medicine 16,
    1997. Simon, Friedman, Hastie and Tibshirani, Regularization paths for Cox's proportional
    hazards model via coordinate descent, Journal of Statistical Software 39(5), 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import L1SurvivalAnalysis, survival_target
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> time = rng.exponential(np.exp(X[:, 3] - X[:, 7]))
    >>> y = survival_target(np.minimum(time, 2), time < 2)
    >>> model = L1SurvivalAnalysis(n_features=2).fit(X, y)
    >>> model.support_.tolist(), bool(model.gap_ <= 1e-4)
    ([3, 7], True)
    """

    ties: Literal["breslow", "efron"] = "breslow"


# Cox's proportional hazards with an l1 penalty, C chosen by cross-validation.

SCORINGS = ("deviance", "c_index")


@with_parameters
class L1SurvivalAnalysisCV(L1Folds, SurvivalModel):
    """Cox's proportional hazards with an l1 or elastic net penalty, C chosen by cross-validation.

    The problem of `L1SurvivalAnalysis` for every C of a growing grid; the model is that of the
    chosen C. All folds and the whole data are followed in the same passes over X, as in
    `L1ClassifierCV`, whose twin this is.

    Parameters
    ----------
    Cs, rule, random_state
        As in `L1ClassifierCV`.
    cv : int, scikit-learn splitter, or (train, test) pairs of row numbers
        So many folds of the rows of positive weight, with the events in equal shares; the others
        number all rows of X.
    scoring : "deviance" or "c_index"
        Of the held-out rows. The former is the deviance that they add to that of the rows of
        training, both at the fold's model, per held-out event: a partial likelihood of few rows
        alone compares few pairs. The smaller the better, as in glmnet. "c_index" is Harrell's C
        among the held-out rows.
    l1_ratio, penalty_factor, signs, standardize, tol, max_iter, n_threads, checkpoint,
    ties
        As in `L1SurvivalAnalysis`; tol and max_iter hold at every C.

    Attributes
    ----------
    As of `L1ClassifierCV`, without those of classes and of the intercept, and of
    `L1SurvivalAnalysis`.

    Warns
    -----
    ConvergenceWarning
        Where the model of C_ stopped at a gap of more than twice `tol` (and more than 1e-9).

    References
    ----------
    Verweij and van Houwelingen, Cross-validation in survival analysis, Statistics in Medicine 12,
    1993. Simon, Friedman, Hastie and Tibshirani, as in `L1SurvivalAnalysis`.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import L1SurvivalAnalysisCV, survival_target
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> time = rng.exponential(np.exp(X[:, 3] - X[:, 7]))
    >>> y = survival_target(np.minimum(time, 2), time < 2)
    >>> model = L1SurvivalAnalysisCV().fit(X, y)
    >>> {3, 7} <= set(model.support_.tolist())
    True
    """

    scoring: str = "deviance"
    ties: Literal["breslow", "efron"] = "breslow"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validate.check_option("scoring", self.scoring, SCORINGS)

    def _shared_by_folds(self, labels: np.ndarray) -> np.ndarray:
        """Return what folds have in equal shares: the events."""
        return self._strata(labels, self.cv)

    def _held_out(self, fold: L1Fold, classes: Any, loss: Likelihood) -> HeldOutScores:
        """Return what scores the rows that a fold holds out."""
        y, rows = fold.data.labels, fold.test
        held = np.bincount(rows, fold.weight, len(y)).astype(np.float64)
        for part, deed in ((fold.drawn, "leave"), (held, "hold out")):
            if not (part @ y[:, 1] > 0):
                raise ParameterError(
                    "cv",
                    f"must {deed} an event in every fold; fold {fold.number} has none",
                    "",
                    "Use fewer folds.",
                )
        check_events(y[fold.learnt])
        if self.scoring == "deviance":
            everything = np.arange(len(y))
            return HeldOutScores(everything, 1, added_deviance_of(loss, y, fold.drawn, held))
        own, weight = y[rows], fold.weight

        def c_index(margins: FloatArray) -> float:
            return concordance(own, margins[:, 0], weight)

        return HeldOutScores(rows, 1, c_index)


# Harrell's C as a metric and as a scorer of scikit-learn, for survival times.


def c_index(y: Any, risk: Any, sample_weight: Any = None) -> float:
    """Return Harrell's C: the share of comparable pairs whose risks are in the order of events.

        C = sum_{(i, j)} w_i w_j ([r_i > r_j] + [r_i = r_j] / 2) / sum_{(i, j)} w_i w_j

    over the pairs of an event i and a row j that is under observation then and outlives it, in one
    stratum. It is what `score` of the models of survival times returns, see there.

    Parameters
    ----------
    y : (n_samples,) survival times, as for `BudgetSurvivalAnalysis.fit`.
    risk : (n_samples,) finite numbers: the higher, the sooner the event.
    sample_weight : (n_samples,) or None

    Raises
    ------
    ValueError
        Where risk is not a finite number for every row, or no pair can be compared.

    Source
    ------
    Harrell, Lee and Mark, Multivariable prognostic models, Statistics in Medicine 15 (1996).

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm.estimators import c_index
    >>> y = np.array([(True, 1), (True, 2), (False, 3)], dtype=[("event", "?"), ("time", "f8")])
    >>> round(c_index(y, [3.0, 1.0, 2.0]), 3)
    0.667
    """
    found = validate.as_numbers(risk)
    if found is None or found.ndim != 1 or not np.isfinite(found).all():
        raise ParameterError(
            "risk", "must be finite numbers, one for each row", validate.shown(risk)
        )
    target = check_survival(y, found.size)
    weight = check_sample_weight(sample_weight, found.size)
    return concordance(target, found, weight)


# For `scoring` of scikit-learn, of any estimator whose `predict` is a risk.
c_index_scorer = make_scorer(c_index)
