"""Split-sample inference: estimates against other computations, rows, rules of p-values, errors."""

import numpy as np
import pandas as pd
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
    write_store,
)
from zeronorm.inference import split
from zeronorm.inference.false_discoveries import FalseDiscoverySelector
from zeronorm.inference.split import SplitInference, _estimates, split_inference
from zeronorm.inference.stability import StabilitySelection

sm = pytest.importorskip("statsmodels.api")


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


def columns_of(y):
    """Survival times as `_estimates` takes them."""
    return np.column_stack([y["time"], y["event"], np.zeros(y.size)])


# Estimates


@pytest.mark.parametrize("clustered", [False, True])
def test_linear_models_have_robust_errors(clustered):
    """HC3, or errors of groups, by the textbook's formula, at any scale of a feature."""
    X, y = sample()
    X, labels = X[:, :4], np.arange(120) // 3
    found = _estimates("linear", 1e5 * X + 1e6, y, 0.9, labels if clustered else None, None)
    Z = np.column_stack([np.ones(120), X])
    inverse = np.linalg.inv(Z.T @ Z)
    coef = inverse @ Z.T @ y
    rest = y - Z @ coef
    scores, factor, m = Z * (rest / (1 - np.einsum("ij,jk,ik->i", Z, inverse, Z)))[:, None], 1, 120
    if clustered:
        scores = np.array([(Z * rest[:, None])[labels == one].sum(axis=0) for one in range(40)])
        factor, m = 40 / 39 * 119 / 115, 40
    error = np.sqrt(factor * np.diag(inverse @ scores.T @ scores @ inverse))[1:]
    np.testing.assert_allclose(1e5 * found["coef"], coef[1:], rtol=1e-7)
    np.testing.assert_allclose(1e5 * found["error"], error, rtol=1e-6)
    reach = stats.t.ppf(0.95, m - 5) * error
    np.testing.assert_allclose(1e5 * (found["upper"] - found["coef"]), reach, rtol=1e-6)
    np.testing.assert_allclose(1e5 * (found["coef"] - found["lower"]), reach, rtol=1e-6)
    p = 2 * stats.t.sf(np.abs(coef[1:]) / error, m - 5)
    np.testing.assert_allclose(found["p_value"], p, rtol=1e-5)
    np.testing.assert_allclose(found["adjusted"], np.minimum(4 * p, 1))


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("kind", ["logistic", "poisson", "cox"])
def test_other_models_are_those_of_statsmodels(kind, clustered):
    """Scaling of columns, an offset or groups of rows would be lost on the way there."""
    X, y = sample()
    X, offset = X[:, :3], np.linspace(-0.5, 0.5, 120)
    labels = np.arange(120) // 3 if clustered else np.arange(120)
    if kind == "cox":
        target = columns_of(survival(y))
        target[:, 0] += target[target[:, 1] > 0, 0].max() * (target[:, 1] == 0)  # all at risk
        model = sm.PHReg(target[:, 0], X, target[:, 1], offset=offset, ties="efron")
        known = model.fit(groups=labels)
        m = 40 if clustered else int(target[:, 1].sum())
        coef, error = known.params, known.bse * np.sqrt(m / (m - 3))
    else:
        target = (y > 0) * 1.0 if kind == "logistic" else np.floor(np.exp(0.5 * y))
        family = sm.families.Binomial() if kind == "logistic" else sm.families.Poisson()
        model = sm.GLM(target, sm.add_constant(X), family, offset=offset)
        known = model.fit(cov_type="cluster", cov_kwds={"groups": labels})
        coef, error, m = known.params[1:], known.bse[1:], 40 if clustered else 120
    found = _estimates(kind, 50 * X + 7, target, 0.95, labels if clustered else None, offset)
    np.testing.assert_allclose(50 * found["coef"], coef, rtol=1e-4)
    np.testing.assert_allclose(50 * found["error"], error, rtol=1e-4)
    p = 2 * stats.t.sf(np.abs(coef) / error, m - 4)
    np.testing.assert_allclose(found["p_value"], p, rtol=1e-2, atol=1e-12)


def losses(kind, X, y):
    """Minus the log-likelihood of coefficients, written down another way."""
    if kind == "logistic":
        return lambda b: np.logaddexp(0, -(2 * y - 1) * (X @ b[:-1] + b[-1])).sum()
    if kind == "poisson":
        return lambda b: (np.exp(X @ b[:-1] + b[-1]) - y * (X @ b[:-1] + b[-1])).sum()
    time, event = y[:, 0], y[:, 1] > 0

    def partial(b):
        z = X @ b
        at_risk = [np.log(np.exp(z[time >= one]).sum()) for one in time[event]]
        return np.sum(at_risk) - z[event].sum()

    return partial


@pytest.mark.parametrize("kind", ["logistic", "poisson", "cox"])
def test_likelihoods_are_those_of_a_minimiser(kind):
    """The coefficients are where the likelihood is largest, rows censored early or not."""
    X, y = sample(80, 3)
    target = {"logistic": (y > 0) * 1.0, "poisson": np.floor(np.exp(0.5 * y))}.get(kind)
    if kind == "cox":
        target = columns_of(survival(y))
        target[:5, :2] = 0.0, 0.0  # censored before the first event
    found = _estimates(kind, 50 * X + 7, target, 0.95, None, None)
    loss = losses(kind, X, target)
    size = 3 if kind == "cox" else 4
    best = optimize.minimize(loss, np.zeros(size), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(50 * found["coef"], best.x[:3], atol=1e-4)
    assert np.isfinite(found).all(axis=None)


def test_rows_that_come_late_are_at_risk_after_their_start():
    """statsmodels has rows at risk at their start, and those of no event at all of them."""
    X, y = sample(80, 3)
    late = np.column_stack([columns_of(survival(y)), np.zeros(80)])
    late[:, 3] = np.linspace(0, 0.7, 80) * late[:, 0]
    late[1, 3] = late[(late[:, 1] > 0) & (late[:, 0] < late[1, 0]), 0].max()  # that of an event
    between = np.sort(late[late[:, 1] > 0, 0])[10:12]
    late[2] = between[1] - 1e-9, 0, 0, between[0] + 1e-9

    def loss(b):
        z, time, event, start = X @ b, late[:, 0], late[:, 1] > 0, late[:, 3]
        risk = (time >= time[event][:, None]) & (start < time[event][:, None])
        return np.log((risk * np.exp(z)).sum(axis=1)).sum() - z[event].sum()

    best = optimize.minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-7})
    found = _estimates("cox", X, late, 0.95, None, None)
    np.testing.assert_allclose(found["coef"], best.x, atol=1e-4)


# Splits


def test_the_others_infer():
    """The estimator sees the rows that choose, and the estimates are of all others alone."""
    X, y = sample()
    found = split_inference(BudgetRegressor(3), X, y, share=0.4, random_state=3)
    (chosen,), (rows,), (table,) = found.chosen_on, found.inferred_on, found.models
    assert chosen.size == 48
    assert np.array_equal(np.sort(np.concatenate([chosen, rows])), np.arange(120))
    fitted = BudgetRegressor(3).fit(X[chosen], y[chosen])
    assert np.array_equal(table["feature"], fitted.support_)
    own = _estimates("linear", X[np.ix_(rows, fitted.support_)], y[rows], 0.95, None, None)
    np.testing.assert_allclose(own["coef"], table["coef"], rtol=1e-10)
    changed = y.copy()
    changed[rows] = 7 * np.arange(rows.size)
    other = split_inference(BudgetRegressor(3), X, changed, share=0.4, random_state=3)
    assert np.array_equal(other.models[0]["feature"], table["feature"])


def test_classes_and_events_are_in_equal_shares():
    """Half of each, so that both sides have them."""
    X, y = sample()
    labels = np.where(y > 1.5, "ill", "well")
    found = split_inference(BudgetClassifier(2), X, labels)
    assert found.model == "logistic"
    assert (labels[found.chosen_on[0]] == "ill").sum() == round((labels == "ill").sum() / 2)
    times = survival(y)
    found = split_inference(BudgetSurvivalAnalysis(2), X, times)
    assert found.model == "cox"
    assert times["event"][found.chosen_on[0]].sum() == round(times["event"].sum() / 2)
    # The coefficient is of the second class in their order: "well", of small y.
    table = split_inference(BudgetClassifier(3), X, labels).table.set_index("feature")
    signs = {0: -1, 1: 1, 2: -1}
    assert all(np.sign(table["coef"][j]) == signs[j] for j in table.index if j in signs)


def test_counts_have_their_exposure():
    """Persons observed for longer would be taken for others, by those that choose or infer."""
    X, _ = sample(200)
    rng = np.random.default_rng(1)
    years = rng.uniform(0.5, 9.0, 200)
    y = rng.poisson(years * np.exp(0.5 * X[:, 0]))
    model = BudgetRegressor(2, loss="poisson")
    found = split_inference(model, X, y, offset=np.log(years))
    assert found.model == "poisson"
    (table,), (rows,) = found.models, found.inferred_on
    known = _estimates("poisson", X[np.ix_(rows, table["feature"])], y[rows] * 1.0, 0.95, None,
                       np.log(years)[rows])  # fmt: skip
    np.testing.assert_allclose(table["coef"], known["coef"])
    assert table.set_index("feature")["coef"][0] == pytest.approx(0.5, abs=0.15)
    with pytest.raises(ValueError, match=r"offset must be None: SelectKBest takes none"):
        split_inference(SelectKBest(f_regression, k=2), X, y, offset=np.log(years))


def test_groups_have_errors_of_groups():
    """Copies of a sample would pass for as many samples, with errors far too small."""
    X, y = sample()
    X, y, groups = np.repeat(X, 4, axis=0), np.repeat(y, 4), np.repeat(np.arange(120), 4)
    found = split_inference(BudgetRegressor(3), X, y, groups=groups)
    (chosen,), (rows,), (table,) = found.chosen_on, found.inferred_on, found.models
    assert not {*groups[chosen]} & {*groups[rows]}
    alone = _estimates("linear", X[np.ix_(rows, table["feature"])], y[rows], 0.95, None, None)
    assert (table["error"] > 1.7 * alone["error"]).all()


def test_any_selector(tmp_path):
    """Those of the package and of scikit-learn, on any storage, with names."""
    X, y = sample()
    frame = pd.DataFrame(X, columns=[f"gene {one}" for one in range(40)])
    write_store(X, tmp_path / "store")
    for estimator in (
        BudgetRegressor(3), BudgetCV(BudgetRegressor([1, 3])), L1Regressor(n_features=3),
        SelectKBest(f_regression, k=3), FalseDiscoverySelector(),
        StabilitySelection(BudgetRegressor(3), 5),
    ):  # fmt: skip
        found = split_inference(estimator, X, y)
        assert {*found.table["feature"]} & {0, 1, 2}, estimator
        assert not hasattr(estimator, "support_")
    plain = split_inference(BudgetRegressor(3), X, y)
    for given in (sp.csr_array(X), frame, tmp_path / "store"):
        found = split_inference(BudgetRegressor(3), given, y)
        np.testing.assert_allclose(found.table["p_value"], plain.table["p_value"], rtol=1e-8)
    named = split_inference(BudgetRegressor(3), frame, y, n_splits=2)
    assert "gene 0" in {*named.table["name"]}
    assert "gene 0" in repr(named)


@pytest.mark.filterwarnings("ignore:No features were selected")
def test_nothing_chosen():
    """An empty set has no estimates."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 30)), rng.standard_normal(60)
    for n_splits in (1, 2):
        found = split_inference(FalseDiscoverySelector(0.01), X, y, n_splits=n_splits)
        assert len(found.table) == 0
        assert {"name", "p_value", "adjusted"} <= {*found.table.columns}
        assert "linear model" in repr(found)


def models_of(*values, size=1):
    """Tables of splits, in each of which one feature has a p-value."""
    rows = np.arange(3)
    tables = tuple(
        pd.DataFrame({"feature": 4, "name": "x", "p_value": p, "adjusted": min(size * p, 1)}, [0])
        for p in values
    )
    return SplitInference(tables, (rows,) * len(values), (rows,) * len(values), "linear")


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
    """The p-value that half of them do not exceed, for any dependence; adjusted by each size."""
    found = models_of(*values, size=2)
    assert found.table["p_value"].tolist() == pytest.approx([expected])
    assert found.table["adjusted"].tolist() == pytest.approx([min(2 * expected, 1.0)])
    nothing = found.models[0].iloc[:0]
    mixed = found._replace(models=(*found.models, *[nothing] * (len(values) + 1))).table
    assert mixed["p_value"].tolist() == [1.0]
    assert mixed["chosen"].tolist() == [len(values) / (2 * len(values) + 1)]


@pytest.mark.slow
def test_coverage_of_a_greedy_choice():
    """Of noise alone, where the rows that chose would find effects every time."""
    covered, same = [], []
    for draw in range(150):
        rng = np.random.default_rng([draw, 1])
        X, y = rng.standard_normal((60, 100)), rng.standard_normal(60)
        found = split_inference(BudgetRegressor(3), X, y, random_state=draw)
        (table,), (rows,) = found.models, found.chosen_on
        covered.append(((table["lower"] <= 0) & (table["upper"] >= 0)).mean())
        own = _estimates("linear", X[np.ix_(rows, table["feature"])], y[rows], 0.95, None, None)
        same.append(((own["lower"] <= 0) & (own["upper"] >= 0)).mean())
    assert np.mean(covered) == pytest.approx(0.95, abs=0.025)
    assert np.mean(same) < 0.5


# Errors


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_splits": 0}, r"n_splits must be an integer of at least 1; got 0"),
        ({"share": 1.0}, "share must be above 0 and below 1; got 1"),
        ({"share": None}, "share must be above 0 and below 1; got None"),
        ({"share": float("nan")}, "share must be above 0 and below 1; got nan"),
        ({"model": "poisson"}, "y must be not negative for loss='poisson'"),
        ({"share": 0.001}, r"train set will be empty|train_size = 0"),
        ({"confidence_level": 95}, r"confidence_level must be above 0 and below 1; got 95"),
        (
            {"model": "probit"},
            r"model must be one of 'auto', 'linear', 'logistic', 'poisson', 'cox'",
        ),
        ({"random_state": -1}, r"random_state|-1 cannot be used to seed|Seed must be between"),
        ({"share": 0.95}, r"inference on 6 rows .* allows 4 features; got 5\. Choose fewer"),
    ],
)
def test_what_cannot_be(parameters, message):
    """One error names the parameter, the rule and what was got."""
    with pytest.raises(ValueError, match=message):
        split_inference(BudgetRegressor(5), *sample(), **parameters)


def test_data_that_cannot_be():
    """Separation, constant columns and copies in the rows of inference, too few events."""
    X, y = sample()
    wrong = r"rows of inference must determine the coefficients"
    two = SelectKBest(f_regression, k=2)
    with pytest.raises(ValueError, match=wrong):
        split_inference(two, np.column_stack([y, X]), (y > 0) * 1.0, model="logistic")
    ordered = np.zeros(120, [("event", bool), ("time", float)])
    ordered["event"], ordered["time"] = True, np.exp(-y)
    with pytest.raises(ValueError, match=wrong):
        split_inference(BudgetSurvivalAnalysis(1), np.column_stack([y, X]), ordered)
    few = survival(y)
    few["event"][6:] = False
    with pytest.raises(ValueError, match=r"inference on \d rows \(events, groups\) allows"):
        split_inference(BudgetSurvivalAnalysis(4), X, few)
    chosen = split_inference(BudgetRegressor(1), X, y).chosen_on[0]
    rare = np.column_stack([np.arange(120) == chosen[0], X])
    with pytest.raises(ValueError, match=wrong):
        split_inference(BudgetRegressor(1), rare, y + 1e3 * rare[:, 0])
    with pytest.raises(ValueError, match=wrong):
        split_inference(two, np.column_stack([y + X[:, 0], 2 * (y + X[:, 0]), X]), y)
    with pytest.raises(ValueError, match=r"y must have two classes for a logistic model; got 3"):
        split_inference(BudgetClassifier(2), X, np.arange(120) % 3)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        split_inference(BudgetRegressor(2), X, y[:100])
    with pytest.raises(ValueError, match=r"requires y to be passed"):
        split_inference(BudgetRegressor(2), X, None)


def test_it_says_what_to_install(monkeypatch):
    """An error of an import would come after a long selection, without a way out."""
    monkeypatch.setattr(split, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'zeronorm\[inference\]'"):
        split_inference(BudgetRegressor(2), *sample())
