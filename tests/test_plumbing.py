"""Estimators under scikit-learn's tools, and what these ask of them beyond its own checks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFECV
from sklearn.inspection import permutation_importance
from sklearn.model_selection import HalvingGridSearchCV, cross_val_score, learning_curve
from sklearn.multioutput import MultiOutputClassifier

from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    L1Classifier,
    L1Regressor,
    L1SurvivalAnalysis,
    MultipleInstanceClassifier,
)
from zeronorm.published import BilevelClassifier

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 6))
SCORE = X[:, 0] + X[:, 2] - X[:, 5] + 0.5 * RNG.standard_normal(90)
Y = SCORE > 0
THREE = np.digitize(SCORE, [-0.7, 0.7])
TIMES = np.rec.fromarrays([np.resize([True, True, False], 90), np.exp(-SCORE)], names="event,time")


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (L1Classifier(C=1e-6), Y),
        (L1Regressor(loss="quantile", C=1e-6), SCORE),
        (L1SurvivalAnalysis(C=1e-6), TIMES),
    ],
)
def test_a_fit_has_an_iteration_at_least(model, y):
    """n_iter_ would be 0, which scikit-learn takes for a fit that did not run."""
    assert model.fit(X, y).n_iter_ >= 1


@pytest.mark.parametrize(
    ("model", "y"),
    [(L1Classifier(), Y), (L1Regressor(), SCORE), (L1Regressor(loss="poisson"), np.exp(SCORE))],
)
@pytest.mark.parametrize("value", [0.0, 3.0, 1e9 + 0.1])
def test_columns_that_do_not_vary_are_told(model, y, value):
    """A constant would be returned as a model, without a word."""
    flat = np.full((90, 4), value)
    for data in (flat, sp.csc_array(flat)):
        with pytest.warns(UserWarning, match="All columns of X are constant"):
            model.fit(data, y)
    weight = np.ones(90)
    weight[0], flat[0, 0] = 0.0, 5.0  # a row without weight does not count
    with pytest.warns(UserWarning, match="rows with a positive weight"):
        model.fit(flat, y, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert type(model)(C=1e-6).fit(X, y > 0 if y is Y else y).support_.size == 0
    with pytest.warns(UserWarning, match="All columns of X are zero"):
        type(model)(fit_intercept=False).fit(np.zeros((90, 4)), y)


@pytest.mark.parametrize("n_threads", [1025, 10**6, 2**40])
def test_no_estimator_takes_so_many_threads(n_threads):
    """Threads would be started until the machine has no more."""
    with pytest.raises(ValueError, match="n_threads must be an integer from 1 to 1024"):
        MultipleInstanceClassifier(n_threads=n_threads).fit(
            [X[:3], X[3:5], X[5:9], X[9:]], [0, 1, 0, 1]
        )
    with pytest.raises(ValueError, match="n_threads must be an integer from 1 to 1024"):
        L1Classifier(n_threads=n_threads).fit(X, Y)


@pytest.mark.parametrize(
    "search",
    [
        BudgetCV(BudgetClassifier(calibrate=False), [1, 2], cv=2),
        BudgetCV(BilevelClassifier(C=0.1), [1, 2], [1], cv=2),
    ],
)
def test_one_row_is_named_as_scikit_learn_does(search):
    """Its check of a single sample would not find the reason in the message."""
    with pytest.raises(ValueError, match=r"1 sample|one class"):
        search.fit(X[:1], Y[:1])


def test_elimination_needs_the_number_of_features():
    """The guide's call would fit fewer columns than the model is to have, or fail."""
    found = RFECV(BudgetClassifier(3, calibrate=False), cv=3, min_features_to_select=3).fit(X, Y)
    assert found.n_features_ >= 3
    assert found.estimator_.support_.size == 3


def test_ensembles_and_searches_of_several_classes():
    """A tool of scikit-learn would not fit the estimators, or leave their classes out."""
    plain = BudgetClassifier(2, calibrate=False)
    hinge = BudgetClassifier(2, loss="squared_hinge", calibrate=False)
    pair = [("a", plain), ("b", hinge)]
    for tool in (
        VotingClassifier(pair, voting="soft"),
        StackingClassifier(pair, cv=2),
        BaggingClassifier(hinge, n_estimators=3, random_state=0),
        HalvingGridSearchCV(plain, {"n_features": [1, 2]}, cv=2, min_resources=40, random_state=0),
    ):
        assert tool.fit(X, THREE).score(X, THREE) > 0.5
    both = MultiOutputClassifier(hinge).fit(X, np.column_stack([Y, THREE]))
    assert both.predict(X).shape == (90, 2)
    assert learning_curve(hinge, X, THREE, cv=2, train_sizes=[0.5, 1.0])[1].shape == (2, 2)
    fitted = hinge.fit(X, THREE)
    importance = permutation_importance(fitted, X, THREE, n_repeats=2, random_state=0)
    assert not importance.importances_mean[np.setdiff1d(np.arange(6), fitted.support_)].any()
    assert np.isfinite(cross_val_score(BudgetRegressor(2), X, SCORE, cv=2)).all()
