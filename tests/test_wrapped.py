"""Models inside scikit-learn's classifiers with a threshold or a calibration: files, folds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import balanced_accuracy_score, f1_score, make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from zeronorm import BudgetClassifier, L1Classifier, MeasureClassifier, cross_validate
from zeronorm.core.ranking import cut_of
from zeronorm.export import to_json, to_sklearn, to_sql
from zeronorm.inference.stability import StabilitySelection
from zeronorm.model_selection.cross_validation import permutation_test
from zeronorm.persistence import as_loaded, load, save

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 6))
Y = np.where(X[:, 0] + 0.8 * RNG.standard_normal(90) > 0.6, "yes", "no")
PLAIN = BudgetClassifier(2, calibrate=False)
HINGE = L1Classifier(n_features=2, loss="squared_hinge", refit_C=None)
F1 = make_scorer(f1_score, pos_label="yes")
WRAPPED = {
    "proba": FixedThresholdClassifier(PLAIN, threshold=0.3),
    "of the first": FixedThresholdClassifier(PLAIN, threshold=0.7, pos_label="no"),
    "score": FixedThresholdClassifier(PLAIN, threshold=-0.4, response_method="decision_function"),
    "score of the first": FixedThresholdClassifier(
        PLAIN, threshold=0.4, response_method="decision_function", pos_label="no"
    ),
    "auto": FixedThresholdClassifier(PLAIN),
    "no probabilities": FixedThresholdClassifier(HINGE, threshold=0.2),
    "measure": FixedThresholdClassifier(MeasureClassifier("f1", 2, pos_label="no"), threshold=0.1),
    "tuned": TunedThresholdClassifierCV(PLAIN, scoring=F1, cv=3),
    "tuned score": TunedThresholdClassifierCV(HINGE, scoring="balanced_accuracy", cv=3),
    "prefit": FixedThresholdClassifier(FrozenEstimator(PLAIN), threshold=0.3),
}


def fitted(name):
    wrapper = WRAPPED[name]
    if name == "prefit":
        frozen = FrozenEstimator(BudgetClassifier(2, calibrate=False).fit(X, Y))
        wrapper = FixedThresholdClassifier(frozen, threshold=0.3)
    return wrapper.fit(X, Y)


@pytest.mark.parametrize("name", WRAPPED)
def test_files_and_exports_keep_the_threshold(name, tmp_path):
    """A model with a threshold by scikit-learn could not be saved, or act from 0.5 in the file."""
    wrapper = fitted(name)
    expected = wrapper.predict(X)
    loaded = load(save(wrapper, tmp_path / "m.npz"))
    np.testing.assert_array_equal(loaded.predict(X), expected)
    np.testing.assert_array_equal(as_loaded(wrapper).predict(X), expected)
    assert (loaded.metadata["threshold"] is None) == (name == "auto")
    inner = as_loaded(loaded_of(wrapper))
    np.testing.assert_array_equal(inner.decision_function(X), loaded.decision_function(X))
    assert json.loads(to_json(wrapper))["cut"] == loaded.cut
    assert "SELECT" in to_sql(wrapper)
    np.testing.assert_array_equal(to_sklearn(wrapper).predict(X), expected)


def loaded_of(wrapper):
    inner = wrapper.estimator_
    return inner.estimator if isinstance(inner, FrozenEstimator) else inner


@pytest.mark.parametrize("probability", [1e-9, 0.3, 0.5, 0.73, 1 - 1e-9])
def test_a_probability_is_reached_as_it_is_rounded(probability):
    """A row whose probability is the threshold to the bit would be of the other class."""
    for score in (-40.0, -1.0, -1e-17, 0.0, 1e-300, 0.3, 2.0, 40.0):
        own = 1.0 / (1.0 + np.exp(-score))
        for at in (probability, own):
            cut = cut_of(at, 1, by_score=False)
            if 0 < at < 1:
                assert (score > cut) == (expit(score) >= at)
                assert (-score > cut_of(at, 0, by_score=False)) != (expit(score) >= at)


def test_a_threshold_that_no_file_can_keep_is_refused(tmp_path):
    """A probability of 0 or more than 1 would be kept as infinity."""
    always = FixedThresholdClassifier(PLAIN, threshold=0.0).fit(X, Y)
    with pytest.raises(ValueError, match="above 0 and below 1"):
        save(always, tmp_path / "m.npz")
    with pytest.raises(TypeError, match="must be fitted"):
        save(FixedThresholdClassifier(PLAIN), tmp_path / "m.npz")
    steps = FixedThresholdClassifier(make_pipeline(StandardScaler(), PLAIN)).fit(X, Y)
    with pytest.raises(TypeError, match="must be a fitted model of zeronorm; got Pipeline"):
        save(steps, tmp_path / "m.npz")


@pytest.mark.parametrize("inner", [PLAIN, BudgetClassifier(2, calibrate=True)])
def test_a_calibration_that_is_linear_is_kept(inner, tmp_path):
    """Probabilities of the file would be those before the calibration."""
    model = CalibratedClassifierCV(inner, ensemble=False, cv=3).fit(X, Y)
    loaded = load(save(model, tmp_path / "m.npz"))
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    acting = FixedThresholdClassifier(model, threshold=0.3).fit(X, Y)
    np.testing.assert_array_equal(as_loaded(acting).predict(X), acting.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        CalibratedClassifierCV(PLAIN, cv=3),
        CalibratedClassifierCV(PLAIN, ensemble=False, method="isotonic", cv=3),
        CalibratedClassifierCV(HINGE, ensemble=False, cv=3),
    ],
)
def test_other_calibrations_are_refused_with_a_way_out(model, tmp_path):
    """A mean of models, or steps, would be kept as one linear model."""
    with pytest.raises(TypeError, match=r"ensemble=False.*calibrated_classifiers_\[0\].estimator"):
        save(model.fit(X, Y), tmp_path / "m.npz")
    said = r"got CalibratedClassifierCV.*Pass estimator\.estimator"
    with pytest.raises(TypeError, match=said):
        cross_validate(model, X, Y)
    with pytest.raises(TypeError, match=said):
        StabilitySelection(model).fit(X, Y)


@pytest.mark.parametrize("name", ["proba", "of the first", "score", "score of the first"])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", F1, "roc_auc", "neg_log_loss"])
def test_folds_predict_from_the_threshold(name, scoring):
    """The accuracy would be that from 0.5 on, or the probabilities be moved."""
    folds = list(StratifiedKFold(3).split(X, Y))
    found = cross_validate(WRAPPED[name], X, Y, cv=folds, scoring=scoring)
    asked = "accuracy" if scoring is None else scoring
    expected = cross_val_score(WRAPPED[name], X, Y, cv=folds, scoring=asked)
    np.testing.assert_allclose(found.scores[0], expected, atol=1e-12)


def test_folds_have_other_scores_from_there_on():
    """Measures and the balanced accuracy beside them would be of labels from 0.5 on."""
    folds = list(StratifiedKFold(3).split(X, Y))
    found = cross_validate(WRAPPED["proba"], X, Y, cv=folds, measure="f1")
    expected = cross_val_score(WRAPPED["proba"], X, Y, cv=folds, scoring=F1)
    np.testing.assert_allclose(found.scores[0], expected)
    model = cross_validate(WRAPPED["proba"], X, Y, cv=folds)
    own = [
        balanced_accuracy_score(Y[test], WRAPPED["proba"].fit(X[train], Y[train]).predict(X[test]))
        for train, test in folds
    ]
    np.testing.assert_allclose(model.balanced_accuracy[0], own)
    assert permutation_test(WRAPPED["proba"], X, Y, 3, cv=folds).p_value.shape == (1,)


def test_a_threshold_that_folds_cannot_tune_is_refused():
    """It would be taken for 0.5; scores that need none are those of the model in it."""
    tuned = WRAPPED["tuned"]
    for options in ({}, {"scoring": F1}, {"measure": "f1"}):
        with pytest.raises(ValueError, match=r"further folds.*scikit-learn's cross_validate"):
            cross_validate(tuned, X, Y, cv=3, **options)
    for options in ({"scoring": "roc_auc"}, {"measure": "auc"}):
        found = [cross_validate(one, X, Y, cv=3, **options).scores for one in (tuned, PLAIN)]
        np.testing.assert_array_equal(*found)
    wrong = FixedThresholdClassifier(PLAIN, threshold=0.3, pos_label="maybe")
    with pytest.raises(ValueError, match="pos_label must be one of"):
        cross_validate(wrong, X, Y, cv=3)


@pytest.mark.parametrize("name", ["proba", "tuned"])
def test_stable_features_are_those_of_the_model(name):
    """A wrapper would be refused, though features do not depend on a threshold."""
    found = [
        StabilitySelection(one, n_pairs=2).fit(X, Y).stability_.frequency
        for one in (WRAPPED[name], PLAIN)
    ]
    np.testing.assert_array_equal(*found)
