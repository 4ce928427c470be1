"""Offsets: what a model was fitted with, its predictions and scores need as well."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import zeronorm
from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    L1Regressor,
    L1RegressorCV,
)
from zeronorm.export import to_json, to_sql
from zeronorm.persistence import as_loaded, load, save

RNG = np.random.default_rng(0)
N = 120
X = RNG.standard_normal((N, 6))
OFFSET = RNG.uniform(0.0, 4.0, N)
COUNTS = RNG.poisson(np.exp(0.5 * X[:, 0] + OFFSET)).astype(float)
NUMBERS = X[:, 0] + OFFSET + 0.1 * RNG.standard_normal(N)
GROUPS = [0, 0, 1, 1, 2, 2]


def pairs(loss):
    return BudgetCV(BudgetRegressor(feature_groups=GROUPS, loss=loss, C=0.1), [1, 2], [1], cv=2)


MODELS = {
    "budget": (BudgetRegressor(1, loss="poisson"), COUNTS),
    "numbers": (BudgetRegressor(1), NUMBERS),
    "huber": (BudgetRegressor(1, loss="huber"), NUMBERS),
    "l1": (L1Regressor(loss="poisson"), COUNTS),
    "path": (L1RegressorCV(5, cv=2, loss="poisson"), COUNTS),
    "cv": (BudgetCV(BudgetRegressor(loss="poisson"), [1, 2], cv=2), COUNTS),
    "pairs": (pairs("poisson"), COUNTS),
    "pairs of numbers": (pairs("huber"), NUMBERS),
    "responses": (BudgetRegressor(1), np.column_stack([NUMBERS, -NUMBERS + 2 * OFFSET])),
}
each = pytest.mark.parametrize("name", MODELS)


def fitted(name, **given):
    model, y = MODELS[name]
    return sklearn.clone(model).fit(X, y, **given), y


@each
def test_a_fit_with_an_offset_predicts_with_one(name):
    """Rates would be taken for counts: a mean of 1 where y has one of 58, without a word."""
    model, y = fitted(name, offset=OFFSET)
    found = model.predict(X, offset=OFFSET)
    np.testing.assert_allclose(found.mean(axis=0), y.mean(axis=0), rtol=0.1)
    assert model.score(X, y, offset=OFFSET) > 0.7
    for call in (lambda: model.predict(X), lambda: model.score(X, y)):
        with pytest.raises(ValueError, match=r"fitted with one. Pass offset= .* or offset=0"):
            call()
    plain = model.predict(X, offset=0)
    log = "poisson" in str(getattr(model, "loss", getattr(model, "estimator", "")))
    moved = plain * np.exp(OFFSET) if log else plain.T + OFFSET
    np.testing.assert_allclose(found, moved.T if plain.ndim == 2 else moved, rtol=1e-9)
    with pytest.raises(ValueError, match="one per row of X"):
        model.predict(X, offset=OFFSET[:5])
    copy = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="offset is needed"):
        copy.predict(X)


@each
def test_a_fit_without_an_offset_needs_none(name):
    """An offset would be asked for where there was none, or one of an earlier fit be remembered."""
    model, y = fitted(name, offset=OFFSET)
    assert np.isfinite(model.fit(X, y).predict(X)).all()
    zero, _ = fitted(name, offset=np.zeros(N))
    np.testing.assert_allclose(zero.predict(X), model.predict(X), rtol=1e-6)


@pytest.mark.parametrize("name", ["budget", "numbers", "l1", "cv", "pairs"])
def test_model_files_keep_it(name, tmp_path):
    """A loaded model would predict rates in silence, or an older file be refused."""
    model, y = fitted(name, offset=OFFSET)
    own = getattr(model, "best_estimator_", model)
    loaded = load(save(own, tmp_path / "m.npz"))
    with pytest.raises(ValueError, match="offset is needed"):
        loaded.predict(X)
    np.testing.assert_allclose(loaded.predict(X, OFFSET), model.predict(X, OFFSET), rtol=1e-12)
    np.testing.assert_allclose(loaded.predict(X, 0), model.predict(X, 0), rtol=1e-12)
    for export in (to_json, to_sql):
        with pytest.raises(ValueError, match="the name of its column is not known"):
            export(own)
        assert "years" in str(export(as_loaded(own, columns={"exposure": "years"})))
    plain = load(save(getattr(model.fit(X, y), "best_estimator_", model), tmp_path / "p.npz"))
    assert np.isfinite(plain.predict(X)).all()


@pytest.mark.parametrize("name", ["budget", "cv", "pairs", "path"])
def test_scikit_learn_routes_it(name):
    """A search would score rates against counts where the offset is routed to `fit` alone."""
    model, y = MODELS[name]
    with sklearn.config_context(enable_metadata_routing=True):
        one = sklearn.clone(model).set_fit_request(offset=True)
        given = {"cv": 2, "params": {"offset": OFFSET}, "error_score": "raise"}
        with pytest.raises(ValueError, match="score"):
            cross_validate(one, X, y, **given)
        one.set_score_request(offset=True)
        right = cross_validate(one, X, y, **given)["test_score"]
        assert right.min() > 0.7
        steps = make_pipeline(StandardScaler(), one)
        assert cross_validate(steps, X, y, **given)["test_score"].min() > 0.7
        if name == "budget":
            search = GridSearchCV(one, {"n_features": [1, 2]}, cv=2).fit(X, y, offset=OFFSET)
            assert search.best_score_ > 0.7


def test_a_choice_of_budgets_is_scored_with_it():
    """Folds would choose by models without the offset."""
    splits = [(np.arange(N // 2), np.arange(N // 2, N)), (np.arange(N // 2, N), np.arange(N // 2))]
    search = BudgetCV(MODELS["pairs"][0].estimator, [1], [1], cv=splits)
    search.set_params(scoring="neg_mean_squared_error").fit(X, COUNTS, offset=OFFSET)
    for (train, test), score in zip(splits, -search.validation_.scores[0], strict=True):
        one = sklearn.clone(search.estimator).set_params(n_features=1, n_groups=1)
        one.fit(X[train], COUNTS[train], offset=OFFSET[train])
        away = one.predict(X[test], OFFSET[test]) - COUNTS[test]
        assert score == pytest.approx(np.mean(away**2), rel=1e-6)


def test_classifiers_have_none():
    """An offset would be passed over."""
    y = COUNTS > 5
    search = BudgetCV(BudgetClassifier(calibrate=False), [1], cv=2)
    with pytest.raises(ValueError, match="which has none"):
        search.fit(X, y, offset=OFFSET)
    with pytest.raises(TypeError, match="offset"):
        search.fit(X, y).predict(X, offset=OFFSET)
    found = zeronorm.cross_validate(MODELS["budget"][0], X, COUNTS, offset=OFFSET, cv=2)
    assert found.scores.min() > 0.7
