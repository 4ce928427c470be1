"""Cross-validation of numbers, counts and survival times, and scorers of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import KFold

from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    MeasureClassifier,
    cross_validate,
)


def draw(n=120, p=20):
    """Columns and a linear score of two of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    return X, X[:, 3] - X[:, 5], rng


def folds_of(n, k=4):
    return list(KFold(k, shuffle=True, random_state=0).split(np.zeros(n)))


def test_scores_are_those_of_models_fitted_on_the_folds():
    """Scores would be of other rows, of other models, or optimistic."""
    X, z, rng = draw()
    numbers = 3.0 * z + rng.standard_normal(z.size)
    counts = rng.poisson(np.exp(z)).astype(float)
    offset = rng.uniform(-0.3, 0.3, z.size)
    for loss, y, o in (("least_squares", numbers, None), ("poisson", counts, offset)):
        model = BudgetRegressor([1, 2], loss=loss)
        found = cross_validate(model, X, y, cv=folds_of(z.size), offset=o)
        assert found.measure == ("r2" if loss == "least_squares" else "d2")
        for column, (train, test) in enumerate(folds_of(z.size)):
            own = None if o is None else o[train]
            fitted = BudgetRegressor(2, loss=loss).fit(X[train], y[train], offset=own)
            own = None if o is None else o[test]
            score = fitted.score(X[test], y[test], offset=own)
            assert found.scores[1, column] == pytest.approx(score, rel=1e-4)
        assert found.mean[1] > found.mean[0]


def test_survival_is_scored_by_concordance_and_folds_share_the_events():
    """A fold could have no event, or the score be an accuracy."""
    X, z, rng = draw()
    time = rng.exponential(np.exp(-2.0 * z))
    event = rng.random(z.size) < 0.3
    y = np.rec.fromarrays([event, time], names="event,time")
    found = cross_validate(BudgetSurvivalAnalysis([1, 2]), X, y, cv=5)
    assert found.measure == "c_index"
    assert (found.mean > 0.6).all()
    train, test = folds_of(z.size)[0]
    score = BudgetSurvivalAnalysis(2).fit(X[train], y[train]).score(X[test], y[test])
    one = cross_validate(BudgetSurvivalAnalysis([1, 2]), X, y, cv=[(train, test)])
    assert one.scores[1, 0] == pytest.approx(score, rel=1e-9)


def test_any_scorer_of_scikit_learn():
    """Log-loss, balanced accuracy or an error of one's own could not be asked for."""
    X, z, rng = draw()
    y = 3.0 * z + rng.standard_normal(z.size)
    named = cross_validate(BudgetRegressor(2), X, y, scoring="neg_mean_absolute_error")
    own = cross_validate(
        BudgetRegressor(2), X, y, scoring=make_scorer(mean_absolute_error, greater_is_better=False)
    )
    np.testing.assert_array_equal(named.scores, own.scores)
    assert (named.scores < 0).all()
    called = cross_validate(
        BudgetRegressor(2),
        X,
        y,
        scoring=lambda model, rows, y: -np.abs(model.predict(rows) - y).mean(),
    )
    np.testing.assert_allclose(called.scores, named.scores)
    labels = np.where(z > 0, "b", "a")
    classifier = BudgetClassifier(2, calibrate=False)
    accuracy = cross_validate(classifier, X, labels)
    same = cross_validate(classifier, X, labels, scoring="accuracy")
    np.testing.assert_array_equal(accuracy.scores, same.scores)
    assert (cross_validate(classifier, X, labels, scoring="neg_log_loss").scores < 0).all()
    assert (cross_validate(classifier, X, labels, scoring="roc_auc").mean > 0.9).all()
    three = np.digitize(z, [-1.0, 1.0])
    balanced = cross_validate(classifier, X, three, scoring="balanced_accuracy")
    assert balanced.mean[0] > 0.6
    weight = np.resize([1.0, 2.0], z.size)
    weighted = cross_validate(BudgetRegressor(2), X, y, scoring="r2", sample_weight=weight)
    plain = cross_validate(BudgetRegressor(2), X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted.scores, plain.scores)


def test_what_does_not_fit_is_named():
    """A measure of classes for numbers, or both, would be ignored."""
    X, z, _ = draw()
    y = np.rec.fromarrays([z > 0, np.abs(z)], names="event,time")
    with pytest.raises(ValueError, match="measure is of classes"):
        cross_validate(BudgetRegressor(2), X, z, measure="f1")
    with pytest.raises(ValueError, match="one or the other"):
        cross_validate(BudgetClassifier(2), X, z > 0, measure="f1", scoring="f1")
    with pytest.raises(ValueError, match="a scorer of risks for survival times"):
        cross_validate(BudgetSurvivalAnalysis(2), X, y, scoring="r2")
    with pytest.raises(ValueError, match="pos_label is of classes"):
        cross_validate(BudgetRegressor(2), X, z, pos_label=1)
    with pytest.raises(TypeError, match="with a budget"):
        cross_validate(object(), X, z)
    with pytest.raises(AttributeError, match="predict_proba"):
        cross_validate(MeasureClassifier("f1", 2), X, z > 0, scoring="neg_log_loss")
    assert cross_validate(BudgetRegressor(1), X, z, cv=60).scores.shape == (1, 60)


def test_too_few_events_are_called_events():
    """A user with three events would be told of the rows of a class 1."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))
    y = np.rec.fromarrays([np.arange(40) < 3, rng.exponential(size=40)], names="event,time")
    with pytest.raises(ValueError, match=r"between 2 and 3 \(the rows of class 'event'\); got 5"):
        cross_validate(BudgetSurvivalAnalysis(1), X, y)
