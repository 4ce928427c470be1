"""Options of records as parameters: of methods, losses, solvers and measures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, validation_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    L1Regressor,
    L1RegressorCV,
    MeasureClassifier,
    losses,
    measures,
    methods,
)
from zeronorm.published import L0By, L0LogisticRegression, Splitting

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5))
Y = X[:, 0] - X[:, 3] + RNG.standard_normal(60)
# An estimator, an option, a value, and the parameter as it is then.
CASES = [
    (BudgetClassifier(2, method=methods.L0()), "method__gap", 0.1, methods.L0(gap=0.1)),
    (BudgetClassifier(2, method="l0"), "method__gap", 0.1, methods.L0(gap=0.1)),
    (BudgetRegressor(2, loss=losses.Huber()), "loss__epsilon", 2.0, losses.Huber(2.0)),
    (BudgetRegressor(2, loss="quantile"), "loss__quantile", 0.9, losses.Quantile(0.9)),
    (L1Regressor(loss="huber"), "loss__epsilon", 2.0, losses.Huber(2.0)),
    (L1RegressorCV(loss=losses.Quantile(0.2)), "loss__quantile", 0.9, losses.Quantile(0.9)),
    (L0LogisticRegression(2, solver=Splitting()), "solver__tol", 0.1, Splitting(tol=0.1)),
    (L0LogisticRegression(2, solver="asalm"), "solver__rho", 0.5, Splitting("asalm", rho=0.5)),
    (MeasureClassifier("f1", 2), "measure__beta", 2.0, measures.FBeta(2.0)),
]


@pytest.mark.parametrize(("model", "option", "value", "expected"), CASES)
def test_options_of_records_are_parameters(model, option, value, expected):
    """A search could tune options of methods alone, or change the record of another estimator."""
    name, _, own = option.partition("__")
    before = getattr(model, name)
    changed = clone(model).set_params(**{option: value})
    assert getattr(changed, name) == expected
    assert getattr(model, name) == before
    assert changed.get_params()[option] == getattr(getattr(changed, name), own) == value
    assert option not in changed.get_params(deep=False)
    assert clone(changed).get_params()[option] == value
    outside = make_pipeline(StandardScaler(), clone(model))
    outside.set_params(**{f"{type(model).__name__.lower()}__{option}": value})
    assert getattr(outside[-1], name) == expected
    with pytest.raises(ValueError, match=rf"{name}=.* has the options .*{own}.*; got \['other'\]"):
        clone(model).set_params(**{f"{name}__other": 1})


def test_records_in_records_and_in_searches():
    """Options below a record in a record, or below the estimator of a search, would be unknown."""
    model = BudgetClassifier(2, method=L0By(solver=Splitting()))
    model.set_params(method__solver__tol=0.1, method__gap=0.5)
    assert model.method == L0By(gap=0.5, solver=Splitting(tol=0.1))
    assert model.get_params()["method__solver__tol"] == 0.1
    search = BudgetCV(BudgetRegressor(loss="huber"), [1, 2]).set_params(
        estimator__loss__epsilon=2.0
    )
    assert search.estimator.loss == losses.Huber(2.0)
    both = BudgetRegressor().set_params(loss=losses.Quantile(0.9), loss__smoothing=0.1)
    assert both.loss == losses.Quantile(0.9, smoothing=0.1)
    with pytest.raises(ValueError, match=r"loss='least_squares' has the options \[\]"):
        BudgetRegressor().set_params(loss__epsilon=2.0)
    with pytest.raises(ValueError, match="Invalid parameter 'losses'"):
        BudgetRegressor().set_params(losses__epsilon=2.0)


def test_scikit_learn_tunes_them():
    """GridSearchCV would refuse the names, or fit every value alike."""
    search = GridSearchCV(BudgetRegressor(2, loss="huber"), {"loss__epsilon": [1.0, 5.0]}, cv=2)
    search.fit(X, Y)
    assert search.best_estimator_.loss == losses.Huber(search.best_params_["loss__epsilon"])
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] != scores[1]
    given = {"param_name": "loss__epsilon", "param_range": [1.0, 5.0], "cv": 2}
    _, found = validation_curve(BudgetRegressor(2, loss="huber"), X, Y, **given)
    np.testing.assert_array_equal(found.mean(axis=1), scores)
