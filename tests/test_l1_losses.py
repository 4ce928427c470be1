"""l1 problems of counts, positive numbers, robust losses and survival times, by other formulas."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance

from conftest import slow
from zeronorm import (
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Regressor,
    L1RegressorCV,
    L1SurvivalAnalysis,
    L1SurvivalAnalysisCV,
    l1_path,
)
from zeronorm.losses import Huber, Quantile
from zeronorm.persistence import load, save

N, M = 90, 25
TIGHT = 1e-11
NUMBERS = ["poisson", "gamma", "huber", "quantile"]
SURVIVAL = ["cox", "cox_efron"]


@pytest.fixture(scope="module")
def data():
    """X, targets by loss, weights and offsets; times are rounded, so that there are ties."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, M)) * rng.uniform(0.5, 2, M) + rng.uniform(-1, 1, M)
    z = X[:, [1, 4, 9]] @ [0.5, -0.4, 0.3]
    z -= z.mean()
    offset = rng.uniform(-0.5, 1.0, N)
    time = np.ceil(10 * rng.exponential(np.exp(-z)))
    y = {
        "poisson": rng.poisson(np.exp(z + offset)).astype(float),
        "gamma": rng.gamma(2.0, np.exp(z + offset) / 2.0),
        "huber": z + offset + rng.standard_t(2, N),
        "quantile": z + offset + rng.standard_t(2, N),
        "cox": np.rec.fromarrays([time < 25, np.minimum(time, 25)], names="event,time"),
    }
    y["cox_efron"] = y["cox"]
    return X, y, rng.uniform(0.2, 2.0, N), offset


def widths(y):
    """The losses of residuals with their widths stated: the formulas below need these."""
    return {"huber": Huber(width=0.8), "quantile": Quantile(0.7, width=0.3)}.get(y, y)


def value_gradient(loss, y, z, weight):
    """Sum of the losses, up to constants, and the gradient in the margins, by plain formulas."""
    if loss == "poisson":
        return weight @ (np.exp(z) - y * z), weight * (np.exp(z) - y)
    if loss == "gamma":
        return weight @ (z + y * np.exp(-z)), weight * (1.0 - y * np.exp(-z))
    if loss in ("huber", "quantile"):
        low, high = (-0.8, 0.8) if loss == "huber" else (-0.3 * 0.3, 0.7 * 0.3)
        r = y - z
        t = np.clip(r, low, high)
        return weight @ (t * r - 0.5 * t * t), -weight * t
    return partial_likelihood(y, z, weight, efron=loss == "cox_efron")


def partial_likelihood(y, z, weight, efron):
    """Minus the logarithm of the partial likelihood and its gradient, event time by event time."""
    value, gradient = 0.0, np.zeros_like(z)
    size = weight * np.exp(z)
    for t in np.unique(y["time"][y["event"]]):
        risk, dead = y["time"] >= t, (y["time"] == t) & y["event"]
        d = int(dead.sum())
        shares = np.arange(d) / d if efron else np.zeros(d)
        for share in shares:
            part = size * (risk - share * dead)
            value += weight[dead].sum() / d * np.log(part.sum())
            gradient += weight[dead].sum() / d * part / part.sum()
        value -= weight[dead] @ z[dead]
        gradient[dead] -= weight[dead]
    return value, gradient


def fitted(loss, data, **options):
    """A fit of the loss with weights, and offsets where it takes them; and what enters margins."""
    X, y, weight, offset = data
    if loss in SURVIVAL:
        ties = "efron" if loss == "cox_efron" else "breslow"
        return L1SurvivalAnalysis(ties=ties, **options).fit(X, y[loss], weight), np.zeros(N)
    model = L1Regressor(loss=widths(loss), **options).fit(X, y[loss], weight, offset=offset)
    return model, offset


@pytest.mark.parametrize("loss", [*NUMBERS, *SURVIVAL])
@pytest.mark.parametrize(
    "options", [{}, {"l1_ratio": 0.5}, {"signs": 1}, *slow({"standardize": True})]
)
def test_the_optimality_conditions_hold(loss, options, data):
    """The model would solve another problem than that of the docstring, or none."""
    X, y, weight, _ = data
    C = 0.8 if loss == "quantile" else 0.15
    model, offset = fitted(loss, data, C=C, tol=TIGHT, **options)
    w = model.coef_
    assert 0 < model.support_.size < M
    assert model.gap_ <= TIGHT
    z = X @ w + getattr(model, "intercept_", 0.0) + offset
    c = -C * value_gradient(loss, y[loss], z, weight)[1]
    size = np.abs(c).sum()
    assert abs(c.sum()) <= 1e-9 * size
    p = np.ones(M)
    if options.get("standardize"):
        mean = np.average(X, axis=0, weights=weight)
        p = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    ratio = options.get("l1_ratio", 1.0)
    pull = X.T @ c - (1 - ratio) * p**2 * w
    on = w != 0
    np.testing.assert_allclose(pull[on], (ratio * p * np.sign(w))[on], atol=1e-3)
    limit = ratio * p[~on] * (1 + 1e-4)
    assert (pull[~on] <= limit).all()
    if "signs" in options:
        assert (w >= 0).all()
    else:
        assert (pull[~on] >= -limit).all()


@pytest.mark.parametrize("loss", [*NUMBERS, *SURVIVAL])
def test_the_objective_is_that_of_a_general_solver(loss, data):
    """A certified gap would be that of another problem; the best value is found without it."""
    X, y, weight, _ = data
    C = 0.8 if loss == "quantile" else 0.15
    model, offset = fitted(loss, data, C=C, tol=1e-9)
    free = loss not in SURVIVAL

    def objective(x):
        w = x[:M] - x[M : 2 * M]
        value, gradient = value_gradient(loss, y[loss], X @ w + x[-1] * free + offset, weight)
        slope = C * (X.T @ gradient)
        end = [C * gradient.sum() * free]
        return x[: 2 * M].sum() + C * value, np.concatenate([1 + slope, 1 - slope, end])

    bounds = [(0, None)] * (2 * M) + [(None, None)]
    found = minimize(
        objective, np.zeros(2 * M + 1), jac=True, bounds=bounds, method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-14, "gtol": 1e-9},
    )  # fmt: skip
    w = model.coef_
    x = np.concatenate([np.maximum(w, 0), np.maximum(-w, 0), [getattr(model, "intercept_", 0.0)]])
    ours = objective(x)[0]
    null = objective(np.append(np.zeros(2 * M), x[-1]))[0] - ours
    assert ours <= found.fun + 1e-7 * max(abs(null), 1.0)


@pytest.mark.parametrize("loss", [*NUMBERS, *SURVIVAL])
def test_the_gap_bounds_the_suboptimality(loss, data):
    """A certificate would claim more than there is."""
    C = 0.8 if loss == "quantile" else 0.15
    best = fitted(loss, data, C=C, tol=TIGHT)[0].objective_
    for tol in (0.5, 0.05, 1e-3):
        model = fitted(loss, data, C=C, tol=tol)[0]
        null = fitted(loss, data, C=1e-12)[0].objective_ * C / 1e-12
        assert model.gap_ <= tol
        assert best * (1 - 1e-9) <= model.objective_
        assert model.objective_ <= best + model.gap_ * null * (1 + 1e-9)


@pytest.mark.parametrize("loss", [*NUMBERS, *SURVIVAL])
def test_a_path_has_the_solutions_of_single_fits(loss, data):
    """A dual point between two others would certify what it does not prove."""
    X, y, weight, offset = data
    more = {} if loss in SURVIVAL else {"offset": offset}
    path = l1_path(X, y[loss], sample_weight=weight, loss=widths(loss), Cs=25, C_ratio=50.0, **more)
    assert path.loss == loss
    assert path.dual_gap.max() <= 1e-4
    assert path.n_scans < len(path)
    for i in (5, 15, 24):
        model = fitted(loss, data, C=path.Cs[i], tol=TIGHT)[0]
        null = fitted(loss, data, C=path.Cs[0] / 2)[0].objective_ * 2 * path.Cs[i] / path.Cs[0]
        assert path.bound[i] <= model.objective_ * (1 + 1e-9)
        assert path.objective[i] <= model.objective_ + 1.1e-4 * null


@pytest.mark.parametrize("loss", [*NUMBERS, *SURVIVAL])
@pytest.mark.parametrize("method", ["l1", *slow("reweighted-l1")])
def test_budgets_follow_the_path_of_every_loss(loss, method, data):
    """The l1 methods would refuse a loss, or select by another one."""
    X, y, weight, offset = data
    if loss in SURVIVAL:
        budget = BudgetSurvivalAnalysis(4, method=method).fit(X, y[loss], weight)
        alone = L1SurvivalAnalysis(n_features=4, standardize=True).fit(X, y[loss], weight)
    else:
        budget = BudgetRegressor(4, loss=widths(loss), method=method)
        budget.fit(X, y[loss], weight, offset=offset)
        alone = L1Regressor(n_features=4, loss=widths(loss), standardize=True)
        alone.fit(X, y[loss], weight, offset=offset)
    assert budget.support_.size == 4
    if method == "l1" and loss != "cox_efron":
        assert set(budget.support_.tolist()) == set(alone.support_.tolist())


def fold_of(n, k=3):
    """(train, test) pairs of row numbers."""
    rows = np.arange(n)
    return [(rows[rows % k != f], rows[rows % k == f]) for f in range(k)]


@pytest.mark.parametrize(
    ("loss", "deviance"), [("poisson", mean_poisson_deviance), ("gamma", mean_gamma_deviance)]
)
def test_folds_of_rates_are_scored_by_their_deviance(loss, deviance, data):
    """Scores would be of other rows, without the offset, or of another C than that of the fold."""
    X, y, weight, offset = data
    Cs = [0.02, 0.05, 0.2]
    folds = fold_of(N)
    model = L1RegressorCV(Cs, cv=folds, loss=loss, rule="best", tol=1e-9)
    model.fit(X, y[loss], weight, offset=offset)
    assert model.scoring == "deviance"
    for column, (train, test) in enumerate(folds):
        for row, C in enumerate(Cs):
            alone = L1Regressor(C * weight.sum() / weight[train].sum(), loss=loss, tol=1e-9)
            alone.fit(X[train], y[loss][train], weight[train], offset=offset[train])
            found = alone.predict(X[test], offset=offset[test])
            expected = deviance(y[loss][test], found, sample_weight=weight[test])
            assert model.scores_[row, column] == pytest.approx(expected, rel=1e-4)
    assert Cs[int(np.argmin(model.mean_score_))] == model.C_


@pytest.mark.parametrize("loss", ["cox", *slow("cox_efron")])
def test_folds_of_survival_times_are_scored_by_the_deviance_they_add(loss, data):
    """Held-out rows would be compared among themselves, or folds be those of other rows."""
    X, y, weight, _ = data
    Cs = [0.05, 0.1, 0.3]
    folds, y, efron = fold_of(N), y[loss], loss == "cox_efron"
    ties = "efron" if efron else "breslow"
    model = L1SurvivalAnalysisCV(Cs, cv=folds, tol=1e-9, ties=ties).fit(X, y, weight)

    def deviance(z, rows):
        found = partial_likelihood(y[rows], z[rows], weight[rows], efron)[0]
        for t in np.unique(y["time"][rows][y["event"][rows]]):
            d = weight[rows][(y["time"][rows] == t) & y["event"][rows]]
            found -= d.sum() * np.log(d.sum())
            if efron:  # the likelihood of tied events that is the largest
                left = 1.0 - np.arange(d.size) / d.size
                found -= d.sum() / d.size * np.log(left).sum()
        return 2.0 * found

    for column, (train, test) in enumerate(folds):
        for row, C in enumerate(Cs):
            alone = L1SurvivalAnalysis(C * weight.sum() / weight[train].sum(), tol=1e-9, ties=ties)
            z = alone.fit(X[train], y[train], weight[train]).predict(X)
            events = weight[test][y["event"][test]].sum()
            expected = (deviance(z, np.arange(N)) - deviance(z, train)) / events
            assert model.scores_[row, column] == pytest.approx(expected, rel=1e-4)
    assert model.C_best_ == Cs[int(np.argmin(model.mean_score_))]
    judged = L1SurvivalAnalysisCV(Cs, cv=folds, scoring="c_index", ties=ties).fit(X, y, weight)
    train, test = folds[0]
    alone = L1SurvivalAnalysis(Cs[1] * weight.sum() / weight[train].sum(), ties=ties)
    expected = alone.fit(X[train], y[train], weight[train]).score(X[test], y[test], weight[test])
    assert judged.scores_[1, 0] == pytest.approx(expected, abs=0.01)
    assert judged.C_best_ == Cs[int(np.argmax(judged.mean_score_))]


@pytest.mark.parametrize("storage", ["starts", "strata"])
def test_starts_and_strata_are_those_of_the_partial_likelihood(storage, data):
    """Rows would be compared with others than those at risk."""
    X, y, _, _ = data
    rng = np.random.default_rng(0)
    event, time = y["cox"]["event"], y["cox"]["time"]
    if storage == "starts":
        start = np.floor(time * rng.uniform(0, 0.6, N))
        target = np.rec.fromarrays([start, time, event], names="start,stop,event")
        at_risk = (start < time[:, None]) & (time >= time[:, None])
    else:
        stratum = rng.integers(0, 3, N)
        target = np.rec.fromarrays([event, time, stratum], names="event,time,stratum")
        at_risk = (stratum == stratum[:, None]) & (time >= time[:, None])
    model = L1SurvivalAnalysis(0.3, tol=1e-9).fit(X, target)
    share = at_risk * np.exp(model.predict(X))
    gradient = (event[:, None] * share / share.sum(axis=1, keepdims=True)).sum(axis=0) - event
    pull, w = -0.3 * (X.T @ gradient), model.coef_
    assert 0 < model.support_.size < M
    np.testing.assert_allclose(pull[w != 0], np.sign(w[w != 0]), atol=1e-3)
    assert (np.abs(pull) <= 1 + 1e-3).all()
    folds = L1SurvivalAnalysisCV(10, cv=3, tol=1e-6).fit(X, target)
    assert np.isfinite(folds.scores_).all()


@pytest.mark.parametrize("loss", ["poisson", "cox"])
def test_features_without_a_penalty_stay_in(loss, data):
    """The dual of a free feature asks for a score of 0: no gap would be certified, in folds too."""
    X, y, weight, _ = data
    factor = np.ones(M)
    factor[[0, 7]] = 0.0
    model, _ = fitted(loss, data, C=0.05, penalty_factor=factor, tol=1e-6)
    assert {0, 7} <= set(model.support_.tolist())
    assert model.gap_ <= 1e-6
    kind = L1SurvivalAnalysisCV if loss == "cox" else L1RegressorCV
    options = {} if loss == "cox" else {"loss": loss}
    folds = kind(8, cv=3, penalty_factor=factor, **options).fit(X, y[loss], weight)
    assert folds.l1_path_.dual_gap.max() <= 1e-4


def test_rows_of_weight_0_change_no_fold_of_survival_times(data):
    """The last times may be those of rows that are held out: nobody is at risk at them."""
    X, y, _, _ = data
    y = y["cox"].copy()
    y["event"][np.argmax(y["time"])] = True
    weight = np.ones(N)
    weight[np.argmax(y["time"])] = 0.0
    kept = weight > 0
    Cs, folds = [0.05, 0.2], fold_of(N)
    own = np.cumsum(kept) - 1
    of_kept = [tuple(own[part[kept[part]]] for part in fold) for fold in folds]
    ours = L1SurvivalAnalysisCV(Cs, cv=folds, tol=1e-9).fit(X, y, weight)
    theirs = L1SurvivalAnalysisCV(Cs, cv=of_kept, tol=1e-9).fit(X[kept], y[kept])
    np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::zeronorm.estimators.LeakWarning")  # one column does order them
@pytest.mark.filterwarnings("error")
def test_a_likelihood_without_a_maximum_has_a_solution(data):
    """The steps would go on without end where features order all events."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, 60))
    time = np.argsort(np.argsort(X[:, 0])) + 1.0
    y = np.rec.fromarrays([np.ones(30, bool), time], names="event,time")
    model = L1SurvivalAnalysis(50.0).fit(X, y)
    assert model.gap_ <= 1e-4
    assert model.score(X, y) > 0.99
    path = l1_path(X, y, loss="cox", Cs=20)
    assert path.dual_gap.max() <= 1e-4


@pytest.mark.parametrize("kind", [L1SurvivalAnalysis, L1SurvivalAnalysisCV])
def test_a_file_predicts_as_the_model(kind, data, tmp_path):
    """A saved model would have lost its baseline, or its loss."""
    X, y, _, _ = data
    model = kind().fit(X, y["cox"])
    loaded = load(save(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    ours = model.predict_survival_function(X[:3], return_array=True)
    np.testing.assert_array_equal(loaded.predict_survival_function(X[:3], True), ours)
    assert loaded.metadata["solutions"][0]["loss"] == "cox"


def test_bad_input_is_refused(data):
    """Errors would come from somewhere deep, or not at all."""
    X, y, _, offset = data
    with pytest.raises(ValueError, match="y must"):
        L1Regressor(loss="poisson").fit(X, y["huber"])
    with pytest.raises(ValueError, match="offset"):
        L1Regressor(loss="poisson").fit(X, y["poisson"], offset=offset[1:])
    with pytest.raises(ValueError, match="loss must be one of"):
        L1Regressor(loss="cox").fit(X, y["huber"])
    with pytest.raises(ValueError, match="fit_intercept must be True for loss='cox'"):
        l1_path(X, y["cox"], loss="cox", fit_intercept=False)
    with pytest.raises(ValueError, match="offset must be None"):
        l1_path(X, y["cox"], loss="cox", offset=offset)
    with pytest.raises(ValueError, match="scoring must be one of 'deviance', 'c_index'"):
        L1SurvivalAnalysisCV(scoring="accuracy").fit(X, y["cox"])
    with pytest.raises(ValueError, match="ties must be one of"):
        L1SurvivalAnalysis(ties="exact").fit(X, y["cox"])
    one = y["cox"].copy()
    one["event"][1:] = False
    one["time"][0], one["event"][0] = 1.0, True
    rows = np.arange(N)
    with pytest.raises(ValueError, match="cv must leave an event in every fold; fold 0 has none"):
        L1SurvivalAnalysisCV(cv=[(rows[1:], rows[:1]), (rows[:-1], rows[-1:])]).fit(X, one)
    with pytest.raises(ValueError, match="cv must hold out an event in every fold"):
        L1SurvivalAnalysisCV(cv=[(rows[:-1], rows[-1:]), (rows[1:], rows[:1])]).fit(X, one)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert L1SurvivalAnalysis(1e-9).fit(X, y["cox"]).support_.size == 0


@pytest.mark.parametrize("loss", [*NUMBERS, *SURVIVAL])
def test_covariates_have_the_penalty_factor_0(loss, data):
    """Columns without a penalty are shrunk, or no bound is certified beside them."""
    X, y, weight, _ = data
    factor = np.ones(M)
    factor[[1, 4]] = 0.0
    C = 0.8 if loss == "quantile" else 0.15
    model, offset = fitted(loss, data, C=C, tol=TIGHT, penalty_factor=factor)
    assert model.gap_ <= TIGHT
    assert {1, 4} < set(model.support_.tolist())
    z = X @ model.coef_ + getattr(model, "intercept_", 0.0) + offset
    c = -C * value_gradient(loss, y[loss], z, weight)[1]
    free = np.abs(X[:, [1, 4]].T @ c)
    assert (free <= 1e-6 * np.abs(X[:, [1, 4]]).T @ np.abs(c)).all()


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("C", [3.0, 30.0])
def test_quantiles_of_few_rows_and_many_columns(level, C):
    """Hardly a row has a curvature at zero: no step gets ahead, and the gap stays at 0.9."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 400)) + 1.5 * rng.standard_normal((60, 1))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.standard_t(2, 60)
    model = L1Regressor(C, loss=Quantile(level), max_iter=30).fit(X, y)
    assert model.gap_ <= 1e-4
    assert model.n_iter_ < 20


@pytest.mark.parametrize("loss", [Huber(width=0.7), Quantile(0.8, width=0.5)])
def test_the_majorant_is_nowhere_below_the_loss(loss):
    """Steps by a curvature that is too small do not descend."""
    rng = np.random.default_rng(4)
    y, z, weight = rng.normal(size=200), 3.0 * rng.normal(size=200), np.ones(1)
    for at, target in zip(z, y, strict=True):
        at, target = np.array([at]), np.array([target])
        value, gradient = loss.value_gradient(at, target, weight)
        bend = loss.majorant(at, target, weight)
        for d in np.linspace(-6.0, 6.0, 41):
            above = value + gradient[0] * d + 0.5 * bend[0] * d**2
            assert loss.value_gradient(at + d, target, weight)[0] <= above + 1e-12
