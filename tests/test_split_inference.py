"""Split-sample inference: estimates against other computations, rows, rules of p-values, errors."""

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from scipy import optimize, stats
from sklearn.feature_selection import SelectKBest, f_regression

from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Regressor,
    convert,
)
from zeronorm._submodel import Estimates, estimates, target_of
from zeronorm.false_discoveries import FalseDiscoverySelector
from zeronorm.split_inference import ChosenModel, SplitInference, split_inference
from zeronorm.stability import StabilitySelection


def sample(n=120, p=40, seed=0):
    """Numbers, and a target that the first three columns make."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] - X[:, 1] + X[:, 2] + rng.standard_normal(n)


def survival(y, seed=0):
    rng = np.random.default_rng(seed)
    found = np.zeros(y.size, [("event", bool), ("time", float)])
    found["time"], found["event"] = rng.exponential(np.exp(-y)), rng.random(y.size) < 0.7
    return found


# Estimates


def test_linear_models_are_those_of_student():
    """Of one feature SciPy's line, of several the textbook's formula, at any scale."""
    X, y = sample()
    found = estimates("linear", 1e5 * X[:, :1] + 1e6, y, 0.9)
    line = stats.linregress(1e5 * X[:, 0] + 1e6, y)
    np.testing.assert_allclose(found.coef, line.slope, rtol=1e-8)
    np.testing.assert_allclose(found.error, line.stderr, rtol=1e-8)
    np.testing.assert_allclose(found.p_values, line.pvalue, rtol=1e-6)
    reach = stats.t.ppf(0.95, 118) * line.stderr
    np.testing.assert_allclose(found.upper - found.coef, reach, rtol=1e-8)
    Z = np.column_stack([X[:, :4], np.ones(120)])
    coef, rest = np.linalg.lstsq(Z, y, rcond=None)[:2]
    error = np.sqrt(np.diag(np.linalg.inv(Z.T @ Z)) * rest / 115)
    found = estimates("linear", X[:, :4], y, 0.95)
    np.testing.assert_allclose(found.coef, coef[:4])
    np.testing.assert_allclose(found.error, error[:4])


def losses(kind, X, y):
    """Minus the log-likelihood of coefficients, written down another way."""
    if kind == "logistic":
        return lambda b: np.logaddexp(0, -y * (X @ b[:-1] + b[-1])).sum()
    time, event = y[:, 0], y[:, 1] > 0

    def partial(b):
        z = X @ b
        at_risk = [np.log(np.exp(z[time >= one]).sum()) for one in time[event]]
        return np.sum(at_risk) - z[event].sum()

    return partial


@pytest.mark.parametrize("kind", ["logistic", "cox"])
def test_likelihoods_are_those_of_a_minimiser(kind):
    """The largest likelihood, its curvature, and its loss at the ends of intervals and at 0."""
    X, y = sample(80, 3)
    target = target_of(kind, y > 0 if kind == "logistic" else survival(y), 80)
    found = estimates(kind, 50 * X + 7, target, 0.95)
    loss = losses(kind, X, target)
    size = 4 if kind == "logistic" else 3
    best = optimize.minimize(loss, np.zeros(size), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(50 * found.coef, best.x[:3], atol=1e-5)
    steps = 1e-4 * np.eye(size)
    curvature = [
        [
            sum(a * b * loss(best.x + a * one + b * other) / 4e-8 for a in (-1, 1) for b in (-1, 1))
            for one in steps
        ]
        for other in steps
    ]
    error = np.sqrt(np.diag(np.linalg.inv(curvature)))
    np.testing.assert_allclose(50 * found.error, error[:3], rtol=1e-3)

    def lost(place, value):
        free = [one for one in range(size) if one != place]

        def rest(b):
            whole = np.zeros(size)
            whole[free], whole[place] = b, value
            return loss(whole)

        start = best.x[free]
        return 2 * (optimize.minimize(rest, start, method="BFGS").fun - best.fun)

    for place in range(3):
        for end in (found.lower[place], found.upper[place]):
            assert lost(place, 50 * end) == pytest.approx(stats.chi2.ppf(0.95, 1), abs=1e-3)
        assert found.p_values[place] == pytest.approx(stats.chi2.sf(lost(place, 0.0), 1), rel=1e-3)


# Splits


def test_the_others_infer():
    """The estimator sees the rows that choose, and the estimates are of all others alone."""
    X, y = sample()
    (one,) = split_inference(BudgetRegressor(3), X, y, share=0.4, random_state=3).models
    assert one.chosen_on.size == 48
    assert np.array_equal(np.sort(np.concatenate([one.chosen_on, one.inferred_on])), np.arange(120))
    fitted = BudgetRegressor(3).fit(X[one.chosen_on], y[one.chosen_on])
    assert np.array_equal(one.features, fitted.support_)
    rows = one.inferred_on
    own = estimates("linear", X[np.ix_(rows, one.features)], y[rows], 0.95)
    np.testing.assert_allclose(own.coef, one.estimates.coef, rtol=1e-10)
    changed = y.copy()
    changed[rows] = 7 * np.arange(rows.size)
    (other,) = split_inference(BudgetRegressor(3), X, changed, share=0.4, random_state=3).models
    assert np.array_equal(other.features, one.features)


def test_classes_and_events_are_in_equal_shares():
    """Half of each, so that both sides have them."""
    X, y = sample()
    labels = np.where(y > 1.5, "ill", "well")
    found = split_inference(BudgetClassifier(2), X, labels)
    assert found.model == "logistic"
    rows = found.models[0].chosen_on
    assert (labels[rows] == "ill").sum() == round((labels == "ill").sum() / 2)
    times = survival(y)
    found = split_inference(BudgetSurvivalAnalysis(2), X, times)
    assert found.model == "cox"
    rows = found.models[0].chosen_on
    assert times["event"][rows].sum() == round(times["event"].sum() / 2)
    # The coefficient is of the second class in their order: "well", of small y.
    place = list(split_inference(BudgetClassifier(1), X, labels).models[0].features)
    assert place[0] in (0, 1, 2)


def test_any_selector(tmp_path):
    """Those of the package and of scikit-learn, on any storage, with names."""
    X, y = sample()
    frame = pandas.DataFrame(X, columns=[f"gene {one}" for one in range(40)])
    convert(X, tmp_path / "store")
    for estimator in (
        BudgetRegressor(3), BudgetCV(BudgetRegressor([1, 3])), L1Regressor(n_features=3),
        SelectKBest(f_regression, k=3), FalseDiscoverySelector(),
        StabilitySelection(BudgetRegressor(3), 5),
    ):  # fmt: skip
        found = split_inference(estimator, X, y)
        assert set(found.features) & {0, 1, 2}, estimator
        assert not hasattr(estimator, "support_")
    plain = split_inference(BudgetRegressor(3), X, y)
    for given in (sp.csr_array(X), frame, tmp_path / "store"):
        found = split_inference(BudgetRegressor(3), given, y)
        np.testing.assert_allclose(found.p_values, plain.p_values, rtol=1e-8)
    named = split_inference(BudgetRegressor(3), frame, y, n_splits=2)
    assert set(named.names) >= {"gene 0"}
    assert "gene 0" in repr(named)
    assert "95% interval" in repr(plain)


def test_nothing_chosen():
    """An empty set has no estimates."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 30)), rng.standard_normal(60)
    found = split_inference(FalseDiscoverySelector(0.01), X, y, n_splits=2)
    assert found.features.size == found.p_values.size == 0
    assert "splits of a linear model" in repr(found)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.03], 0.03),
        ([0.03, 0.5], 0.06),  # the smaller one times 2
        ([0.5, 0.01, 0.02], 0.02 * 3 / 2),
        ([0.2, 0.3, 0.4, 0.9, 0.9], 0.4 * 5 / 3),
        ([0.9, 0.9, 0.9], 1.0),
    ],
)
def test_the_rule_of_several_splits(values, expected):
    """The p-value that half of them do not exceed, for any dependence."""
    none, one = np.empty(0, np.int64), np.ones(1)
    models = [
        ChosenModel(np.array([4]), ("x",), Estimates(one, one, one, one, np.array([p])), none, none)
        for p in values
    ]
    found = SplitInference(tuple(models), "linear", 0.95)
    assert found.p_values == pytest.approx([expected])
    absent = ChosenModel(none, (), Estimates(*[np.empty(0)] * 5), none, none)
    mixed = SplitInference((*models, *[absent] * (len(values) + 1)), "linear", 0.95)
    assert mixed.p_values.tolist() == [1.0]


def test_adjusted_p_values_count_the_features_of_each_split():
    """Bonferroni within a split, then the rule."""
    ones, rows = np.ones(4), np.arange(3)
    found = Estimates(ones, ones, ones, ones, np.array([0.001, 0.02, 0.2, 0.5]))
    model = ChosenModel(np.arange(4), tuple("abcd"), found, rows, rows)
    one = SplitInference((model,), "linear", 0.95)
    np.testing.assert_allclose(one.adjusted_p_values, [0.004, 0.08, 0.8, 1.0])


@pytest.mark.slow
def test_coverage_of_a_greedy_choice():
    """Of noise alone, where the rows that chose would find effects every time."""
    covered, same = [], []
    for draw in range(300):
        rng = np.random.default_rng([draw, 1])
        X, y = rng.standard_normal((60, 100)), rng.standard_normal(60)
        (one,) = split_inference(BudgetRegressor(3), X, y, random_state=draw).models
        covered.append(((one.estimates.lower <= 0) & (one.estimates.upper >= 0)).mean())
        rows = one.chosen_on
        own = estimates("linear", X[np.ix_(rows, one.features)], y[rows], 0.95)
        same.append(((own.lower <= 0) & (own.upper >= 0)).mean())
    assert np.mean(covered) == pytest.approx(0.95, abs=0.025)
    assert np.mean(same) < 0.5


# Errors


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_splits": 0}, r"n_splits must be an integer of at least 1; got 0"),
        ({"share": 1}, r"share must be above 0 and below 1; got 1"),
        ({"share": 0.001}, r"share must leave rows on both sides; got 0\.001 of 120 rows"),
        ({"level": 95}, r"level must be above 0 and below 1; got 95"),
        ({"model": "probit"}, r"model must be one of 'auto', 'linear', 'logistic', 'cox'"),
        ({"random_state": -1}, r"random_state must be None or an integer"),
        ({"share": 0.95}, r"must choose at most 4 features for inference on 6 rows; got 5"),
    ],
)
def test_what_cannot_be(parameters, message):
    """One error names the parameter, the rule and what was got."""
    with pytest.raises(ValueError, match=message):
        split_inference(BudgetRegressor(5), *sample(), **parameters)


def test_gaps_are_told_where_they_are():
    """The row of a half would be named, which is another one of the data."""
    X, y = sample()
    X[97, 5] = np.nan
    with pytest.raises(ValueError, match=r"X must be finite .* got nan at row 97, column 5"):
        split_inference(BudgetRegressor(3), X, y, share=0.99)


def test_too_few_rows_are_told():
    """A user would read that at most -1 features may be chosen."""
    X, y = sample()
    with pytest.raises(ValueError, match=r"inference must have at least 3 rows .* got 1\."):
        split_inference(BudgetRegressor(1), X[:3], y[:3])


def test_data_that_cannot_be():
    """Separation, constant columns and copies in the rows of inference, too few events."""
    X, y = sample()
    with pytest.raises(ValueError, match=r"2 chosen features separate the classes.*grow without"):
        split_inference(SelectKBest(f_regression, k=2), np.column_stack([y, X]), (y > 0) * 1.0,
                        model="logistic")  # fmt: skip
    ordered = np.zeros(120, [("event", bool), ("time", float)])
    ordered["event"], ordered["time"] = True, np.exp(-y)
    with pytest.raises(ValueError, match=r"chosen features order the events"):
        split_inference(BudgetSurvivalAnalysis(1), np.column_stack([y, X]), ordered)
    few = survival(y)
    few["event"][6:] = False
    with pytest.raises(ValueError, match=r"fewer features than the rows.*have events; got 4 f"):
        split_inference(BudgetSurvivalAnalysis(4), X, few)
    rare = np.column_stack([np.arange(120) == 5, X])
    chosen = split_inference(BudgetRegressor(1), X, y).models[0].chosen_on
    rare[:, 0] = np.arange(120) == chosen[0]
    spiked = y + 1e3 * rare[:, 0]
    with pytest.raises(ValueError, match=r"feature x0 is constant there"):
        split_inference(BudgetRegressor(1), rare, spiked)
    with pytest.raises(ValueError, match=r"independent columns.*those at x0, x1 are not"):
        split_inference(SelectKBest(f_regression, k=2), np.column_stack([y, 2 * y, X]), y)
    with pytest.raises(ValueError, match=r"y must have two classes for a logistic model; got 3"):
        split_inference(BudgetClassifier(2), X, np.arange(120) % 3)
    with pytest.raises(TypeError, match=r"estimator must be a selector, with fit; got int"):
        split_inference(3, X, y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        split_inference(BudgetRegressor(2), X, y[:100])
    with pytest.raises(ValueError, match=r"y must be the target of every row; got None"):
        split_inference(BudgetRegressor(2), X, None)
