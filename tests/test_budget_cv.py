"""The number of features by cross-validation: `BudgetCV`, and the rules of `CrossValidation`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    cross_val_score,
)

from conftest import slow, slow_among
from generators import gaussian
from golub import load_golub
from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    Checkpoint,
    MeasureClassifier,
    cross_validate,
    persistence,
)
from zeronorm.estimators.held_out import CrossValidation
from zeronorm.estimators.sizes import AUTOMATIC
from zeronorm.model_selection.search import automatic_budgets
from zeronorm.published import GreedyLogisticRegression

RNG = np.random.default_rng(3)
X = gaussian(80, 60)
SIGNAL = X[:, 3] + X[:, 17] - X[:, 40] + 0.3 * RNG.standard_normal(80)
TIMES = np.rec.fromarrays(
    [RNG.random(80) < 0.7, RNG.exponential(np.exp(-SIGNAL)) + 0.01], names="event,time"
)
FEW = X[::2]
GROUPS = np.repeat(np.arange(12), 5)
LABELS = np.median(SIGNAL) < SIGNAL
KINDS = np.digitize(SIGNAL, np.quantile(SIGNAL, [0.3, 0.7]))
CASES = {
    "numbers": (BudgetRegressor(), SIGNAL),
    "counts": (BudgetRegressor(loss="poisson"), RNG.poisson(np.exp(0.5 * SIGNAL))),
    "responses": (BudgetRegressor(), np.column_stack([SIGNAL, X[:, 3] - X[:, 17]])),
    "classes": (BudgetClassifier(calibrate=False), LABELS),
    "kinds": (BudgetClassifier(calibrate=False), KINDS),
    "ordered": (BudgetClassifier(loss="ordinal", calibrate=False), KINDS),
    "against": (BudgetClassifier(multi_class="ovr", calibrate=False), KINDS),
    "survival": (BudgetSurvivalAnalysis(), TIMES),
    "measure": (MeasureClassifier("f1"), LABELS),
    "groups": (BudgetRegressor(n_groups=3, feature_groups=GROUPS), SIGNAL),
}


def by_hand(scores, rule="1se", repeats=1):
    """Return the place of the size that a rule takes."""
    mean = scores.mean(axis=1)
    best = int(np.argmax(mean >= mean.max() - 1e-9))
    error = (scores - scores[best]).std(axis=1, ddof=1) / np.sqrt(scores.shape[1] / repeats)
    return int(np.argmax(mean >= mean[best] - 1e-9 - error * (rule == "1se")))


@pytest.mark.parametrize("name", slow_among(CASES, "ordered"))
@pytest.mark.parametrize("rule", ["1se", *slow("best")])
def test_the_chosen_size_is_the_model(name, rule, tmp_path):
    """The model must be that of the size that the folds choose, by hand, in all that it has."""
    estimator, y = CASES[name]
    sizes = [1, 2, 3, 6, 9]
    search = BudgetCV(estimator, sizes, cv=KFold(4), rule=rule).fit(X, y)
    several = clone(estimator).set_params(n_features=sizes)
    found = cross_validate(several, X, y, cv=KFold(4))
    expected = found.sizes[by_hand(found.scores if found.asked else -found.deviance, rule)]
    assert search.best_estimator_.size_ == expected
    assert search.n_features_ == np.ravel(expected)[0]
    assert np.array_equal(search.validation_.scores, found.scores)
    # A saved model of that size is another way to it.
    persistence.save(several.fit(X, y), tmp_path / "m.npz", n_features=expected)
    loaded = persistence.load(tmp_path / "m.npz")
    assert np.array_equal(search.predict(X), loaded.predict(X))
    own, path = search.best_estimator_, several._paths
    models = [one[expected] for one in path]
    assert set(search.support_) == {int(i) for model in models for i in model.support}
    if hasattr(own, "gap_"):
        gaps = [one.gap if one.certificate is None else one.certificate.gap for one in models]
        assert own.gap_ == max(gaps)
    if name == "survival":
        times = np.array([0.1, 1.0])
        survival = [f(times) for f in own.predict_survival_function(X[:5])]
        again = clone(estimator).set_params(n_features=[expected]).fit(X, y)
        if np.array_equal(again.support_, own.support_):
            assert np.allclose(survival, [f(times) for f in again.predict_survival_function(X[:5])])
    if name == "groups":
        assert set(search.best_estimator_.groups_) == set(GROUPS[search.support_])


def test_golub_needs_few_genes():
    """On real data the sizes of the folds are compared on rows that chose nothing."""
    X, y = load_golub(return_X_y=True)
    search = BudgetCV(BudgetClassifier(calibrate=False)).fit(X, y)
    assert search.validation_.sizes == tuple(k for k in AUTOMATIC if k <= 19)
    gain = search.validation_.compared
    worse = gain[gain.mean(axis=1).argmax()] - gain  # in every fold
    error = worse.std(axis=1, ddof=1) / np.sqrt(5)
    near = worse.mean(axis=1) <= error + 1e-9
    assert search.n_features_ == search.validation_.sizes[int(near.argmax())] <= 12
    assert search.predict_proba(X).shape == (len(y), 2)
    assert search.transform(X).shape[1] == search.n_features_
    assert search.classes_.tolist() == ["ALL", "AML"]
    honest = cross_val_score(search, X, y, cv=3)
    assert honest.mean() > 0.7


def test_automatic_sizes():
    """They end at half of the rows, at the usable columns, and begin with what is forced."""

    def sizes(X, y, **options):
        return tuple(automatic_budgets(BudgetRegressor("auto", **options), X, y)["n_features"])

    y = SIGNAL
    assert sizes(X, y) == tuple(k for k in AUTOMATIC if k <= 40)
    assert sizes(X[:9], y[:9]) == (1, 2, 3, 4)
    few = np.hstack([X[:, :5], np.ones((80, 20))])
    assert sizes(few, y) == (1, 2, 3, 4, 5)
    assert sizes(few, y, covariates=[0], forced_features=[1, 2]) == (2, 3, 4)
    BudgetCV(BudgetRegressor(covariates=[0], forced_features=[1, 2])).fit(few, y)
    assert automatic_budgets(BudgetRegressor(3), X, y) == {}


def test_automatic_numbers_of_groups():
    """They end at half of the rows and at the groups, above six where features outnumber rows."""

    def numbers(groups, rows=80, **options):
        estimator = BudgetRegressor(feature_groups=groups, n_groups="auto", **options)
        return automatic_budgets(estimator, X[:rows], SIGNAL[:rows])["n_groups"]

    assert numbers(GROUPS) == [1, 2, 3, 4, 5, 6, 8, 10, 12]
    assert numbers(GROUPS, rows=50) == [1, 2, 3, 4, 5, 6, 8, 10]
    assert numbers(GROUPS, rows=20) == [1, 2, 3, 4, 5, 6]
    assert numbers(GROUPS, rows=6) == [1, 2, 3]
    assert numbers(np.arange(60) // 20) == [1, 2, 3]
    assert numbers(GROUPS, forced_features=[0, 5, 9]) == [2, 3, 4, 5, 6, 8, 10, 12]
    pairs = BudgetRegressor([2, 4], feature_groups=GROUPS, n_groups="auto").fit(X, SIGNAL)._paths[0]
    assert set(pairs) == {(k, g) for k in (2, 4) for g in range(1, k + 1)}


GROUPED = {
    "numbers": (BudgetRegressor(), SIGNAL, [1, 2, 3, 4, 5, 6, 8]),
    "greedy": (BudgetRegressor(method="greedy"), SIGNAL, [1, 2, 3, 4, 5, 6, 8]),
    "classes": (BudgetClassifier(calibrate=False), LABELS, [1, 2, 3, 4, 5, 6, 8]),
    "kinds": (BudgetClassifier(calibrate=False), KINDS, [1, 2, 3, 4, 5, 6, 8]),
    "survival": (BudgetSurvivalAnalysis(), TIMES, [1, 2, 3, 4, 5, 6, 8]),
    "both": (BudgetRegressor(3), SIGNAL, [(3, 1), (3, 2), (3, 3)]),
}


@pytest.mark.parametrize("name", GROUPED)
def test_an_automatic_number_of_groups(name):
    """The number of groups must be that of the folds, by hand, and the model that of a fit."""
    estimator, y, sizes = GROUPED[name]
    X, y = FEW, y[::2]
    estimator = clone(estimator).set_params(feature_groups=GROUPS)
    own = clone(estimator).set_params(n_groups="auto").fit(X, y)
    assert list(own.validation_.sizes) == list(own._paths[0]) == sizes
    numbers = sorted({int(np.ravel(size)[-1]) for size in sizes})
    listed = clone(estimator).set_params(n_groups=numbers)
    found = cross_validate(listed, X, y)
    np.testing.assert_array_equal(own.validation_.scores, found.scores)
    assert own.size_ == sizes[by_hand(-found.deviance)]
    n_groups = int(np.ravel(own.size_)[-1])
    listed.fit(X, y)._keep_size(own.size_)
    np.testing.assert_array_equal(own.support_, listed.support_)
    np.testing.assert_array_equal(own.coef_, listed.coef_)
    assert len(set(own.groups_)) == n_groups or name == "both"
    search = BudgetCV(clone(own), [3] if name == "both" else None).fit(X, y)
    assert search.n_groups_ == n_groups
    assert getattr(search, "n_features_", None) == (3 if name == "both" else None)
    np.testing.assert_array_equal(search.support_, own.support_)


def test_of_pairs_the_fewest_groups_are_the_smallest():
    """A model of few features in many groups would be preferred."""
    scores = np.array([[0.1, 0.2], [0.9, 0.9], [0.9, 0.9], [0.1, 0.3]])
    sizes = ((1, 1), (1, 2), (5, 1), (5, 2))
    found = CrossValidation(sizes, scores, "r2", np.zeros(2), scores, np.ones(4))
    assert found.choose() == found.choose("best") == (5, 1)
    assert found.choose(among=[(1, 1), (1, 2)]) == (1, 2)
    with pytest.raises(ValueError, match="among must have one of the sizes"):
        found.choose(among=[2])
    estimator = BudgetRegressor(feature_groups=GROUPS, n_groups=[1, 2, 3])
    search = BudgetCV(estimator, [1, 2, 3, 5]).fit(FEW, SIGNAL[::2])
    rival = BudgetCV(estimator, [1, 2, 3, 5], [1, 2, 3]).fit(FEW, SIGNAL[::2])
    assert (search.n_features_, search.n_groups_) == (rival.n_features_, rival.n_groups_)


@pytest.mark.parametrize(
    "name", ["numbers", "responses", "classes", "survival", *slow("ordered", "measure", "against")]
)
def test_an_automatic_estimator_is_the_search(name):
    """n_features="auto" must be `BudgetCV` with its defaults, in all that a model has."""
    estimator, y = CASES[name]
    X, y = FEW, y[::2]
    own = clone(estimator).set_params(n_features="auto").fit(X, y)
    search = BudgetCV(estimator).fit(X, y)
    assert own.n_features == "auto"
    assert own.size_ == search.n_features_
    assert own.validation_.sizes == search.validation_.sizes == tuple(own._paths[0])
    np.testing.assert_array_equal(own.validation_.scores, search.validation_.scores)
    np.testing.assert_array_equal(own.support_, search.support_)
    np.testing.assert_array_equal(own.coef_, search.coef_)
    np.testing.assert_array_equal(own.predict(X), search.predict(X))
    again = clone(own)
    assert again.get_params()["n_features"] == "auto"
    assert not hasattr(again, "validation_")
    own.set_params(n_features=2).fit(X, y)
    assert not hasattr(own, "validation_")
    assert own.size_ == 2


@pytest.mark.slow
def test_automatic_sizes_of_an_estimator(tmp_path):
    """Weights, offsets, criteria, columns and files would be forgotten, or a proper fold fail."""
    X, y = FEW, SIGNAL[::2]
    weight = np.resize([0.0, 1.0, 2.0], 40)
    own = BudgetRegressor("auto", checkpoint=tmp_path / "c")
    search = BudgetCV(BudgetRegressor()).fit(X, y, weight)
    for _ in range(2):
        own.fit(X, y, weight)
        np.testing.assert_array_equal(own.coef_, search.coef_)
    counts, offset = RNG.poisson(np.exp(0.5 * y)), RNG.random(40)
    own = BudgetRegressor("auto", loss="poisson").fit(X, counts, offset=offset)
    search = BudgetCV(BudgetRegressor(loss="poisson")).fit(X, counts, offset=offset)
    np.testing.assert_array_equal(own.coef_, search.coef_)
    by_criterion = BudgetRegressor("auto", criterion="ebic").fit(X, y)
    assert not hasattr(by_criterion, "validation_")
    listed = BudgetRegressor(AUTOMATIC[:11], criterion="ebic").fit(X, y)
    assert by_criterion.size_ == listed.size_
    part = X[:, :20]
    both = BudgetRegressor("auto", n_groups=[1, 2], feature_groups=GROUPS[:20]).fit(part, y)
    assert both.size_ in both.validation_.sizes
    assert both.size_ == cross_validate(both, part, y).choose()
    rare = np.hstack([X[:, :3], np.eye(40)[:, :2]])  # constant where a fold holds their row out
    assert BudgetRegressor("auto").fit(rare, y).validation_.sizes == (1, 2, 3, 4)
    persistence.save(both, tmp_path / "m.npz")
    assert np.array_equal(persistence.load(tmp_path / "m.npz").predict(part), both.predict(part))


def test_a_failed_automatic_fit_leaves_the_model_before_it():
    """The scores of a fit that failed would stand beside the model of another."""
    model = BudgetRegressor("auto").fit(FEW, SIGNAL[::2])
    before = model.validation_, model.coef_.copy()
    with pytest.raises(ValueError, match="at least two rows"):
        model.fit(X[:1], SIGNAL[:1])
    assert model.validation_ is before[0]
    assert np.array_equal(model.coef_, before[1])
    with pytest.raises(ValueError, match="n_features must be"):
        BudgetRegressor("automatic").fit(X, SIGNAL)
    rare = np.arange(40) < 1
    with pytest.raises(ValueError, match=r"n_features='auto' .* got 1 sample of class True"):
        BudgetClassifier("auto").fit(FEW, rare)
    three = BudgetClassifier("auto", calibrate=False).fit(FEW[:, :4], np.arange(40) < 3)
    assert three.validation_.scores.shape[1] == 3
    with pytest.raises(ValueError, match="n_features must be None with feature_groups"):
        BudgetRegressor("auto", feature_groups=GROUPS, n_groups=2, method="pool").fit(X, SIGNAL)


def test_repeats_add_no_rows():
    """Ten repeats of five folds would look like fifty independent folds."""
    model = BudgetClassifier([1, 2, 4], calibrate=False)
    cv = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=0)
    found = cross_validate(model, X, LABELS, cv=cv)
    assert found.scores.shape == (3, 12)
    assert found.repeats == 3
    own = np.empty((3, 12))
    for column, (train, test) in enumerate(cv.split(X, LABELS)):
        one = clone(model).fit(X[train], LABELS[train])
        for row, k in enumerate([1, 2, 4]):
            one._keep_size(k)
            own[row, column] = one.score(X[test], LABELS[test])
    np.testing.assert_allclose(found.scores, own)
    spread = own.std(axis=1, ddof=1)
    np.testing.assert_allclose(found.standard_error, spread / np.sqrt(4))
    shuffled = ShuffleSplit(9, test_size=0.2, random_state=0)
    found = cross_validate(model, X, LABELS, cv=shuffled)
    rows = np.concatenate([test for _, test in shuffled.split(X)])
    assert found.repeats == rows.size / np.unique(rows).size
    numbers = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    search = BudgetCV(BudgetRegressor(), [1, 2, 3, 6], cv=numbers).fit(X, SIGNAL)
    assert search.n_features_ == [1, 2, 3, 6][by_hand(-search.validation_.deviance, repeats=2)]
    weight = np.resize([1.0, 0.0], 80)
    assert cross_validate(model, X, LABELS, cv=cv, sample_weight=weight).repeats == 3


def test_a_checkpoint_has_the_folds_and_the_fit(tmp_path):
    """The fit would refuse the file of its folds, or begin anew after a kill."""
    estimator = BudgetRegressor(checkpoint=tmp_path / "c")
    plain = BudgetCV(BudgetRegressor(), [1, 2, 3]).fit(X, SIGNAL)
    for _ in range(2):
        search = BudgetCV(estimator, [1, 2, 3]).fit(X, SIGNAL)
        assert np.array_equal(search.coef_, plain.coef_)
        assert search.best_estimator_.checkpoint == tmp_path / "c"
    with Checkpoint(tmp_path / "c") as known:
        BudgetCV(BudgetRegressor(), [1, 2, 3]).fit(X, SIGNAL)
    assert known.n_known > search.best_estimator_.n_scans_


def test_estimators_without_a_checkpoint():
    """The published methods, which keep no scans, could not be searched over."""
    search = BudgetCV(GreedyLogisticRegression(calibrate=False), [1, 2], cv=3).fit(X, LABELS)
    assert search.n_features_ == search.best_estimator_.size_
    assert "checkpoint" not in search.best_estimator_.get_params()


def test_rules():
    """The smallest size within one standard error, and the smallest of equal best ones."""
    scores = np.array([[0.5, 0.7], [0.7, 0.9], [0.8, 0.9], [0.8, 0.9]])
    found = CrossValidation((1, 2, 5, 9), scores, "accuracy", np.zeros(2), scores, np.ones(4))
    assert found.choose("best") == 5
    assert found.choose() == 2
    with pytest.raises(ValueError, match="rule must be one of"):
        found.choose("least")
    gap = np.where(scores == 0.9, np.nan, scores)
    with pytest.raises(ValueError, match="'r2' is NaN for the rows held out of fold 1"):
        CrossValidation((1, 2, 5, 9), gap, "r2", np.zeros(2), gap, np.ones(4)).choose()
    once = scores[:2, :1]
    with pytest.raises(ValueError, match="cv must give at least two folds"):
        CrossValidation((1, 2), once, "accuracy", np.zeros(1), once, np.ones(2)).choose()


def test_accuracy_does_not_choose():
    """With few positives all sizes are as accurate: one feature would be enough."""
    rng = np.random.default_rng(1)
    data = rng.standard_normal((800, 30))
    z = data[:, 0] + data[:, 1] + data[:, 2] - 3.4
    y = rng.random(800) < 1 / (1 + np.exp(-z))
    found = cross_validate(BudgetClassifier([1, 2, 3, 6], calibrate=False), data, y)
    assert found.mean.max() - found.baseline.mean() < 0.01
    assert found.chosen_by == "log_loss"
    loss = found.deviance.mean(axis=1)
    assert found.choose("best") == found.sizes[int(loss.argmin())]
    assert found.choose() > 1
    for asked in ({"measure": "accuracy"}, {"scoring": "balanced_accuracy"}):
        one = cross_validate(BudgetClassifier([1, 2], calibrate=False), data, y, **asked)
        assert one.chosen_by == next(iter(asked.values()))
        np.testing.assert_array_equal(one.compared, one.scores)
    numbers = cross_validate(BudgetRegressor([1, 2]), X, SIGNAL, scoring="r2")
    assert numbers.chosen_by == "r2"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_features": 3}, ValueError, "n_features must be 'auto' or a list or range of sizes"),
        ({"n_features": "all"}, ValueError, "n_features must be 'auto'"),
        ({"n_features": None}, ValueError, "n_features must be 'auto'"),
        (
            {"estimator": BudgetRegressor(feature_groups=GROUPS, n_groups=3), "n_features": None},
            ValueError,
            "n_groups must be 'auto' or a list or range of sizes to compare; got 3",
        ),
        (
            {"estimator": BudgetRegressor(n_groups="auto")},
            ValueError,
            "n_groups counts groups, but feature_groups is None",
        ),
        ({"rule": "2se"}, ValueError, "rule must be one of"),
        ({"cv": 1}, ValueError, "cv must be between 2 and"),
        ({"cv": [(np.arange(40), np.arange(40, 80))]}, ValueError, "at least two folds"),
        ({"n_features": [1, 99]}, ValueError, "n_features"),
        ({"estimator": KFold(3)}, TypeError, "estimator must be one of zeronorm"),
        ({"estimator": BudgetCV(BudgetRegressor(), [1], [1])}, TypeError, "estimator must be"),
        ({"scoring": "r3"}, ValueError, "r3"),
    ],
)
def test_bad_input(options, error, message):
    """What cannot be must be told with the parameter and the rule."""
    with pytest.raises(error, match=message):
        BudgetCV(**{"estimator": BudgetRegressor(), "n_features": [1, 2], **options}).fit(X, SIGNAL)
