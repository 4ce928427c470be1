"""Cross-validation of the choice of a size: `nested_cross_validate`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from conftest import slow_among
from generators import gaussian
from zeronorm import BudgetClassifier, BudgetCV, BudgetRegressor, BudgetSurvivalAnalysis
from zeronorm.model_selection.search import nested_cross_validate

RNG = np.random.default_rng(5)
X = gaussian(72, 30)
SIGNAL = X[:, 3] + X[:, 17] - X[:, 20] + 0.5 * RNG.standard_normal(72)
TIMES = np.rec.fromarrays(
    [RNG.random(72) < 0.8, RNG.exponential(np.exp(-SIGNAL)) + 0.01], names="event,time"
)
KINDS = np.array(["a", "b", "c"])[np.digitize(SIGNAL, np.quantile(SIGNAL, [0.3, 0.7]))]
OUTER = list(KFold(3, shuffle=True, random_state=1).split(X))
CASES = {
    "numbers": (BudgetRegressor(), [1, 2, 3, 5], SIGNAL),
    "auto": (BudgetRegressor(), "auto", SIGNAL),
    "counts": (BudgetRegressor(loss="poisson"), [1, 3], RNG.poisson(np.exp(0.5 * SIGNAL))),
    "kinds": (BudgetClassifier(calibrate=False), [1, 2, 4], KINDS),
    "against": (BudgetClassifier(calibrate=False, multi_class="ovr"), [1, 2], KINDS),
    "survival": (BudgetSurvivalAnalysis(), [1, 2, 3], TIMES),
    "groups": (BudgetRegressor(feature_groups=np.arange(30) // 3, n_groups="auto"), None, SIGNAL),
}


@pytest.mark.parametrize("name", slow_among(CASES, "auto", "kinds", "against", "counts"))
def test_it_equals_a_loop_over_searches(name):
    """Held-out rows would choose a size, or the score be of another model."""
    estimator, sizes, y = CASES[name]
    search = BudgetCV(estimator, sizes, cv=KFold(4, shuffle=True, random_state=2))
    found = nested_cross_validate(search, X, y, cv=OUTER)
    for number, (train, test) in enumerate(OUTER):
        one = BudgetCV(estimator, sizes, cv=search.cv).fit(X[train], y[train])
        assert found.sizes[number] == one.best_estimator_.size_
        np.testing.assert_allclose(found.validations[number].scores, one.validation_.scores)
        assert found.scores[number] == pytest.approx(one.score(X[test], y[test]), rel=1e-6)
    assert found.mean == pytest.approx(found.scores.mean())
    assert found.standard_error == pytest.approx(found.scores.std(ddof=1) / np.sqrt(3))
    assert found.baseline.shape == (3,)
    assert found.mean > found.baseline.mean()


@pytest.mark.slow
def test_choosing_on_noise_is_not_rewarded():
    """The best of many sizes on noise looks better than it is; the estimate must not."""
    rng = np.random.default_rng(0)
    search = BudgetCV(BudgetClassifier(calibrate=False), range(1, 7), rule="best")
    own, honest = [], []
    for _ in range(4):
        noise, y = rng.standard_normal((40, 200)), np.arange(40) % 2
        found = nested_cross_validate(search, noise, y, cv=4)
        own.append(np.mean([one.mean.max() for one in found.validations]))
        honest.append(found.mean)
    assert np.mean(own) > np.mean(honest) + 0.02
    assert np.mean(honest) < 0.6


def test_an_automatic_estimator_is_its_own_search(tmp_path):
    """The estimator would be another search than `BudgetCV`, or a checkpoint change it."""
    plain = nested_cross_validate(BudgetCV(BudgetRegressor()), X, SIGNAL, cv=3)
    for _ in range(2):
        own = nested_cross_validate(
            BudgetRegressor("auto"), X, SIGNAL, cv=3, checkpoint=tmp_path / "c"
        )
        assert own.sizes == plain.sizes
        np.testing.assert_array_equal(own.scores, plain.scores)


def test_an_automatic_number_of_groups_is_no_other_budget():
    """The choice of whole groups would become one of features in few groups."""
    estimator = BudgetRegressor(feature_groups=np.arange(30) // 3, n_groups="auto")
    own = nested_cross_validate(estimator, X, SIGNAL, cv=3)
    listed = clone(estimator).set_params(n_groups=[1, 2, 3, 4, 5, 6, 8, 10])
    assert own.sizes == nested_cross_validate(BudgetCV(listed, None), X, SIGNAL, cv=3).sizes
    with pytest.raises(ValueError, match=r"n_features must be 'auto' or a list .* got 4"):
        nested_cross_validate(BudgetRegressor(4), X, SIGNAL)


def test_all_folds_share_the_passes():
    """Thirty folds would be thirty times the passes of one."""
    passes = []
    search = BudgetCV(BudgetRegressor(), [1, 2, 3])
    nested_cross_validate(search, X, SIGNAL, callback=lambda at: passes.append(at.n_scans))
    one = BudgetRegressor([1, 2, 3]).fit(X, SIGNAL)
    assert passes[-1] <= 2 * one.n_scans_


def test_weights_and_offsets():
    """Rows of weight 0 would be learnt from, or scored."""
    weight = np.resize([1.0, 2.0, 0.0], len(X))
    used = np.flatnonzero(weight)
    place = np.full(len(X), -1)
    place[used] = np.arange(used.size)
    outer = [tuple(place[rows][place[rows] >= 0] for rows in fold) for fold in OUTER]
    search = BudgetCV(BudgetRegressor(), [1, 2, 3], cv=3)
    all_rows = nested_cross_validate(search, X, SIGNAL, cv=OUTER, sample_weight=weight)
    some = nested_cross_validate(
        search, X[used], SIGNAL[used], cv=outer, sample_weight=weight[used]
    )
    assert all_rows.sizes == some.sizes
    np.testing.assert_allclose(all_rows.scores, some.scores)


@pytest.mark.parametrize(
    ("search", "y", "options", "message"),
    [
        (BudgetCV(BudgetRegressor(), [1, 2], cv=OUTER), SIGNAL, {}, "cv of the search must be a"),
        (BudgetCV(BudgetRegressor(), [1, 2], rule="x"), SIGNAL, {}, "rule must be one of"),
        (BudgetCV(BudgetRegressor(), [1, 2]), SIGNAL, {"cv": 1}, "cv must be between 2 and"),
        (BudgetCV(BudgetRegressor(), [1, 99]), SIGNAL, {}, "n_features"),
        (BudgetCV(BudgetClassifier(), [1], cv=30), KINDS, {}, "between 2 and 17 .* fold 0"),
        (
            BudgetCV(BudgetClassifier(), [1]), np.arange(72) == 0, {},
            "cv needs at least two rows .* of every class",
        ),
    ],
)  # fmt: skip
def test_bad_input(search, y, options, message):
    """What cannot be must be told with the parameter and the rule."""
    with pytest.raises(ValueError, match=message):
        nested_cross_validate(search, X, y, **options)
    with pytest.raises(TypeError, match="estimator must be one of zeronorm"):
        nested_cross_validate(KFold(3), X, SIGNAL)
