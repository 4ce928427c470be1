"""MeasureClassifier: what is asked for is what comes, in every measure, and every error text."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import metrics
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from zeronorm import MeasureClassifier
from zeronorm.model_selection.cross_validation import cross_validate
from zeronorm.persistence import load, save
from zeronorm.published import TwoLayerClassifier

ALL = ["hamming", "f1", "f2", "precision@10", "recall@2p", "prbep", "auc", "ap"]
each_measure = pytest.mark.parametrize("measure", ALL)


@pytest.fixture(scope="module")
def skewed():
    """(X, y) of shape (120, 10), a sixth of the labels 1; columns of different units."""
    rng = np.random.default_rng(20)
    X = rng.standard_normal((120, 10))
    score = X[:, :4] @ [2, -2, 2, 2] + 0.5 * rng.standard_normal(120)
    y = (score > np.sort(score)[100 - 1]).astype(int)
    assert y.sum() == 20
    X = X * 10 ** rng.uniform(-2, 2, 10) + rng.uniform(-3, 3, 10)
    X.flags.writeable = y.flags.writeable = False
    return X, y


def decisions(model, X):
    """Return the scores that support, coefficients and intercept give."""
    return X[:, model.support_] @ model.coef_[0, model.support_] + model.intercept_[0]


# ------------------------------------------------------------------------------------- budgets


@each_measure
def test_exactly_k(measure, skewed):
    """A user who asks for k features would get another number."""
    X, y = skewed
    for k, block_size in ((1, None), (7, 3)):
        model = MeasureClassifier(measure, n_features=k, block_size=block_size).fit(X, y)
        assert model.support_.size == k
        assert (np.diff(model.support_) > 0).all()
        assert model.coef_.shape == (1, 10)
        assert not model.coef_[0, np.setdiff1d(np.arange(10), model.support_)].any()
        assert model.transform(X).shape == (120, k)
        np.testing.assert_allclose(model.decision_function(X), decisions(model, X), atol=1e-9)
        np.testing.assert_array_equal(model.predict(X), (decisions(model, X) > 0).astype(int))


@each_measure
def test_finds_the_features_that_matter_and_beats_chance(measure, skewed):
    """Selection or weights would be no better than chance."""
    X, y = skewed
    model = MeasureClassifier(measure, n_features=4).fit(X, y)
    assert {0, 1, 2} < set(model.support_)
    np.testing.assert_array_equal(np.sign(model.coef_[0, :3]), [1, -1, 1])
    assert metrics.roc_auc_score(y, model.decision_function(X)) > 0.9
    assert metrics.f1_score(y, model.predict(X)) > 0.5 or measure == "precision@10"


def test_several_sizes_from_one_fit(skewed):
    """path_ would not hold the models asked for, or predictions not use the largest."""
    X, y = skewed
    model = MeasureClassifier("f1", n_features=[9, 3, 5]).fit(X, y)
    assert list(model.path_) == [3, 5, 9]
    for k in (3, 5, 9):
        selection = model.path_[k]
        assert selection.support.size == selection.coef.size == k
        assert (selection.entered >= 1).all()
        assert 0 <= selection.bound <= selection.objective
    np.testing.assert_array_equal(model.path_[9].support, model.support_)
    np.testing.assert_array_equal(model.coef_[0, model.support_], model.path_[9].coef)
    gap = 1 - model.path_[9].bound / model.path_[9].objective
    assert model.gap_ == pytest.approx(gap)


def test_constant_columns_are_never_selected(skewed):
    """A constant column would be selected or give NaN, also where all features are asked for."""
    X, y = skewed
    X = np.column_stack([np.zeros(120), X[:, :5], np.full(120, 1e8)])
    for measure in ("f1", "precision@10"):
        for k in (5, None):
            model = MeasureClassifier(measure, n_features=k).fit(X, y)
            np.testing.assert_array_equal(model.support_, [1, 2, 3, 4, 5])
    with pytest.raises(ValueError, match=r"n_features must be between 1 and 5 .*got 6"):
        MeasureClassifier(n_features=6).fit(X, y)
    with pytest.raises(ValueError, match="column"):
        MeasureClassifier().fit(np.ones((120, 3)), y)


@pytest.mark.parametrize("measure", ["f1", "prbep", "auc", "hamming"])
def test_all_features_is_the_model_over_one_block_of_them(measure, skewed):
    """n_features=None would be another model than a budget of all features."""
    X, y = skewed
    X = X[:, :6]
    C = 10.0 if measure == "auc" else 0.1
    machine = MeasureClassifier(measure, C=C, tol=1e-6).fit(X, y)
    model = MeasureClassifier(measure, n_features=6, C=C, tol=1e-6).fit(X, y)
    assert machine.support_.size == 6
    assert list(machine.path_) == [6]
    assert machine.path_[6].objective == pytest.approx(model.path_[6].objective, rel=1e-4)
    scores, others = machine.decision_function(X), model.decision_function(X)
    np.testing.assert_allclose(scores, others, atol=2e-2 * np.abs(others).max())


def test_refit_false_is_the_relaxed_model_as_published(skewed):
    """The weights over the generated blocks would be replaced by a refit, or certified as one."""
    X, y = skewed
    model = TwoLayerClassifier("f1", n_features=6, refit=False).fit(X, y)
    assert model.support_.size == 6
    assert not hasattr(model, "gap_")
    assert model.path_[6].objective == model.history_[-1].objective
    refitted = TwoLayerClassifier("f1", n_features=6).fit(X, y)
    np.testing.assert_array_equal(refitted.support_, model.support_)
    assert np.abs(refitted.coef_ - model.coef_).max() > 1e-3 * np.abs(model.coef_).max()
    with pytest.raises(ValueError, match=r"n_features must be one number with refit=False.*\[2, 6"):
        MeasureClassifier("f1", n_features=[2, 6], refit=False).fit(X, y)


@pytest.mark.parametrize("kind", [MeasureClassifier, TwoLayerClassifier])
def test_all_features_by_blocks_to_a_gap(kind, skewed, tmp_path):
    """A user could not ask for the published problem over all features, nor see how exact it is."""
    X, y = skewed
    options = {"block_size": 3, "refit": False, "tol": 1e-3, "C": 0.02}
    model = kind("f1", **options).fit(X, y)
    selection = model.path_[model.size_]
    without = model.history_[0].extra["without_features"]
    assert selection.objective - selection.bound <= 1e-3 * without
    assert model.gap_ == pytest.approx(1 - selection.bound / selection.objective)
    assert 4 <= model.support_.size < 10
    np.testing.assert_array_equal(model.support_, np.sort(model.path_.order))
    np.testing.assert_allclose(model.decision_function(X), decisions(model, X), atol=1e-9)
    assert model.size_ == 10  # the key of path_, whatever the number is that blocks have
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    found = cross_validate(kind("f1", **options), X, y, cv=3)  # folds differ in their unions
    assert found.scores.shape == (1, 3)
    refitted = kind("f1", **{**options, "refit": True}).fit(X, y)
    np.testing.assert_array_equal(refitted.support_, model.support_)
    assert refitted.path_[10].objective < selection.objective


def test_blocks_over_all_features_of_several_classes(multiclass):
    """Classes whose models have other numbers of features would not fit in one record."""
    X, y = multiclass
    model = MeasureClassifier("f1", block_size=2, refit=False, C=0.01).fit(X, y)
    supports = [path[model.size_].support for path in model.path_]
    assert len(supports) == len(model.classes_)
    np.testing.assert_array_equal(model.support_, np.unique(np.concatenate(supports)))


def test_blocks_that_end_before_the_gap_are_told(skewed):
    """max_blocks would end an unfinished problem without a word, or be passed over."""
    X, y = skewed
    with pytest.warns(ConvergenceWarning, match=r"gap of 0\.\d+ after max_blocks=1 blocks"):
        MeasureClassifier("f1", block_size=2, max_blocks=1).fit(X, y)
    with pytest.raises(ValueError, match="max_blocks needs block_size where n_features is None"):
        MeasureClassifier("f1", max_blocks=3).fit(X, y)


def test_history_has_bounds_that_hold(skewed):
    """The rows of history_ would show bounds above objectives, or gaps that were not reached."""
    X, y = skewed
    model = MeasureClassifier("f1", n_features=8, block_size=2, refit=False, tol=1e-4).fit(X, y)
    history = model.history_
    assert sum(len(step.entered) for step in history) == 8
    assert all(step.extra["outer_bound"] <= step.objective for step in history)
    assert all(step.bound <= step.objective for step in history)
    assert history[-1].extra["gap"] <= 1e-4
    assert np.all(np.diff([step.objective for step in history]) <= 1e-9)
    assert np.all(np.diff([step.extra["outer_bound"] for step in history]) >= 0)


# ---------------------------------------------------------------------------- labels and classes


@pytest.mark.parametrize("measure", ["f1", "precision@10", "ap"])
def test_pos_label(measure, skewed):
    """The rare class would be found only where its label happens to sort last."""
    X, y = skewed
    plain = MeasureClassifier(measure, n_features=4).fit(X, y)
    names = np.where(y == 1, "ill", "well")  # sorted, the rare class comes first
    model = MeasureClassifier(measure, n_features=4, pos_label="ill").fit(X, names)
    assert list(model.classes_) == ["well", "ill"]
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.intercept_, plain.intercept_)
    np.testing.assert_array_equal(model.predict(X) == "ill", plain.predict(X) == 1)
    assert model.score(X, names) == plain.score(X, y)
    other = MeasureClassifier(measure, n_features=4, pos_label=0).fit(X, y)
    assert list(other.classes_) == [1, 0]
    assert other.decision_function(X)[y == 0].mean() > other.decision_function(X)[y == 1].mean()
    default = MeasureClassifier(measure, n_features=4).fit(X, names)
    np.testing.assert_array_equal(default.coef_, other.coef_)


def test_bad_pos_label(skewed, multiclass):
    """An unknown label would leave no positives."""
    message = "pos_label must be one of the classes [0, 1]; got 'yes'."
    with pytest.raises(ValueError, match=re.escape(message)):
        MeasureClassifier(n_features=2, pos_label="yes").fit(*skewed)
    message = (
        "pos_label is for two classes; got 3, each of which is the positive one in turn. Leave it "
        "out."
    )
    with pytest.raises(ValueError, match=message):
        MeasureClassifier(n_features=2, pos_label=1).fit(*multiclass)


@pytest.mark.parametrize("measure", ["f1", "prbep", "auc"])
def test_several_classes_are_one_versus_rest_with_merged_scans(measure, multiclass):
    """Several classes would be another model than one fit per class, or cost their scans."""
    X, y = multiclass
    model = MeasureClassifier(measure, n_features=4).fit(X, y)
    assert model.coef_.shape == (3, 25)
    assert len(model.path_) == len(model.history_) == 3
    scans, scores, union = [], [], set()
    for c in range(3):
        alone = MeasureClassifier(measure, n_features=4).fit(X, y == c)
        np.testing.assert_array_equal(model.path_[c][4].support, alone.support_)
        np.testing.assert_array_equal(model.coef_[c], alone.coef_[0])
        assert model.intercept_[c] == alone.intercept_[0]
        scans.append(alone.n_scans_)
        scores.append(alone.score(X, y == c))
        union |= set(alone.support_)
    np.testing.assert_array_equal(model.support_, sorted(union))
    assert model.n_scans_ == max(scans) < sum(scans)
    assert model.score(X, y) == pytest.approx(np.mean(scores))
    decision = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), decision.argmax(axis=1))
    top = model.predict_top(X, 5, label=2)
    np.testing.assert_array_equal(top, np.argsort(-decision[:, 2], kind="stable")[:5])
    gaps = [1 - path[4].bound / path[4].objective for path in model.path_]
    assert model.gap_ == pytest.approx(max(gaps))


# ------------------------------------------------------------------------- thresholds and scores


@pytest.mark.parametrize(
    ("measure", "count"),
    [("precision@10", 10), ("precision@0.5p", 10), ("recall@2p", 40), ("prbep", 20), ("auc", 20),
     ("ap", 20)],
)  # fmt: skip
def test_predictions_on_the_training_rows_are_as_many_as_the_measure_says(measure, count, skewed):
    """predict would label another number of rows than the measure is about."""
    X, y = skewed
    for stored, k in ((X, 3), (sp.csr_array(X), 3), (X[:, :8], None)):
        model = MeasureClassifier(measure, n_features=k).fit(stored, y)
        assert model.predict(stored).sum() == count
        chosen = model.predict(stored) == 1
        top = model.predict_top(stored, count)
        np.testing.assert_array_equal(np.sort(top), np.flatnonzero(chosen))
        if "@" in measure:
            hits = y[chosen].sum()
            expected = hits / (count if measure.startswith("precision") else 20)
            assert model.score(stored, y) == pytest.approx(expected)


def test_predict_top(skewed):
    """The rows with the largest scores would be others, or in another order."""
    X, y = skewed
    model = MeasureClassifier("prbep", n_features=3).fit(X, y)
    order = np.argsort(-model.decision_function(X), kind="stable")
    for k in (1, 17, 120):
        np.testing.assert_array_equal(model.predict_top(X, k), order[:k])
    for k in (0, 121, 2.0, True, None):
        message = f"k must be between 1 and 120 (the rows of X); got {k!r}."
        with pytest.raises(ValueError, match=re.escape(message)):
            model.predict_top(X, k)
    with pytest.raises(ValueError, match="label is for several classes; got 1 with two"):
        model.predict_top(X, 3, label=1)


def test_predict_top_needs_a_label_of_several_classes(multiclass):
    """Some class would be ranked that nobody asked for."""
    X, y = multiclass
    model = MeasureClassifier(n_features=3).fit(X, y)
    for label in (None, 7):
        message = f"label must be one of the classes [0, 1, 2]; got {label!r}."
        with pytest.raises(ValueError, match=re.escape(message)):
            model.predict_top(X, 3, label=label)


def test_score_is_the_measure(skewed):
    """Cross-validation would compare models by something else."""
    X, y = skewed
    expected = {
        "f1": lambda m: metrics.f1_score(y, m.predict(X)),
        "f0.5": lambda m: metrics.fbeta_score(y, m.predict(X), beta=0.5),
        "hamming": lambda m: metrics.accuracy_score(y, m.predict(X)),
        "auc": lambda m: metrics.roc_auc_score(y, m.decision_function(X)),
        "ap": lambda m: metrics.average_precision_score(y, m.decision_function(X)),
        "prbep": lambda m: metrics.precision_score(y, m.predict(X)),
    }
    for measure, score in expected.items():
        model = MeasureClassifier(measure, n_features=3).fit(X, y)
        assert model.score(X, y) == pytest.approx(score(model))
    # Rows of weight 0 are left out, also where the measure has no other weights.
    keep = np.arange(120) % 3 > 0
    for measure in ("f1", "prbep"):
        model = MeasureClassifier(measure, n_features=3).fit(X, y)
        assert model.score(X, y, sample_weight=keep) == model.score(X[keep], y[keep])
    with pytest.raises(ValueError, match="sample_weight must be 0 or 1 for 'prbep', which counts"):
        model.score(X, y, sample_weight=1 + keep)
    weight = np.random.default_rng(0).uniform(1, 2, 120)
    model = MeasureClassifier("auc", n_features=3).fit(X, y)
    assert model.score(X, y, sample_weight=weight) == pytest.approx(
        metrics.roc_auc_score(y, model.decision_function(X), sample_weight=weight)
    )


def test_score_of_unknown_or_missing_classes(skewed, multiclass):
    """A measure that is not defined for the rows would be returned as a number."""
    X, y = skewed
    model = MeasureClassifier("f1", n_features=3).fit(X, y)
    message = "y must have rows of class 1 and of others for 'f1'; got 0 of 120."
    with pytest.raises(ValueError, match=message):
        model.score(X, np.zeros(120, int))
    message = "y must have the classes [0, 1] only; got [2]."
    with pytest.raises(ValueError, match=re.escape(message)):
        model.score(X, np.where(np.arange(120) < 5, 2, y))
    with pytest.raises(
        ValueError, match="y must have one label per row of X; got 3 labels for 120"
    ):
        model.score(X, y[:3])
    X, y = multiclass
    model = MeasureClassifier("auc", n_features=3).fit(X, y)
    with pytest.raises(ValueError, match="y must have rows of class 2 and of others for 'auc'"):
        model.score(X[y < 2], y[y < 2])
    few = MeasureClassifier("precision@20", n_features=3).fit(X, y)
    rows = np.sort(np.concatenate([np.flatnonzero(y == c)[:3] for c in range(3)]))
    with pytest.raises(ValueError, match=r"k of precision@20 must be between 1 and 9 \(the rows\)"):
        few.score(X[rows], y[rows])


# ----------------------------------------------------------------------- storages, weights, tools


def test_a_shift_of_the_columns_changes_nothing_in_precision_at_k(skewed):
    """Without an intercept the offset of columns would take its part."""
    X, y = skewed
    first = MeasureClassifier("precision@10", n_features=4, tol=1e-5).fit(X, y)
    for standardize in (True, False):
        X = StandardScaler().fit_transform(skewed[0])
        here = MeasureClassifier("precision@10", n_features=4, standardize=standardize, tol=1e-5)
        there = clone(here).fit(X + 7, y)
        here.fit(X, y)
        np.testing.assert_array_equal(here.support_, first.support_)
        np.testing.assert_array_equal(there.support_, first.support_)
        np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-2 * np.abs(here.coef_).max())
    # Unless the user wants the columns as they are.
    raw = MeasureClassifier("precision@10", n_features=4, fit_intercept=False).fit(X + 7, y)
    assert np.abs(raw.coef_ - here.coef_).max() > 0.1 * np.abs(here.coef_).max()


def test_balanced_classes_raise_the_recall(skewed):
    """class_weight would be refused for F1, or change nothing."""
    X, y = skewed
    X = X[:, :3]  # classes overlap
    plain = MeasureClassifier("f1").fit(X, y)
    balanced = MeasureClassifier("f1", class_weight="balanced").fit(X, y)
    found = [metrics.recall_score(y, model.predict(X)) for model in (plain, balanced)]
    assert found[1] > found[0]
    weight = np.where(y > 0, 120 / 40, 120 / 200)
    same = MeasureClassifier("f1").fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(same.coef_, balanced.coef_)
    score = metrics.f1_score(y, same.predict(X), sample_weight=weight)
    assert same.score(X, y, weight) == pytest.approx(score)


def test_weights_are_refused_where_the_measure_counts_rows(skewed):
    """Weights would be ignored."""
    X, y = skewed
    weight = np.linspace(0.5, 1.5, 120)
    for measure in ("precision@10", "prbep", "ap"):
        message = (
            f"sample_weight and class_weight must be 0 or 1 for {measure!r}, which counts rows; "
            "got weights from 0.5 to 1.5. Use a measure of the labels, such as 'f1', or 'auc' with "
            "weights."
        )
        with pytest.raises(ValueError, match=re.escape(message)):
            MeasureClassifier(measure, n_features=3).fit(X, y, sample_weight=weight)
        with pytest.raises(ValueError, match="sample_weight and class_weight must be 0 or 1"):
            MeasureClassifier(measure, n_features=3, class_weight="balanced").fit(X, y)
        keep = np.arange(120) % 2
        first = MeasureClassifier(measure, n_features=3).fit(X, y, sample_weight=keep)
        second = MeasureClassifier(measure, n_features=3).fit(X[keep > 0], y[keep > 0])
        np.testing.assert_array_equal(first.support_, second.support_)
        objectives = first.path_[3].objective, second.path_[3].objective
        zero = 10000 if measure == "ap" else 100  # at most C times 100
        assert abs(objectives[0] - objectives[1]) <= 1e-3 * zero


def rare(noise):
    """(X, y, X_test, y_test), six percent of the labels 1, five features of 60 that matter."""
    rng = np.random.default_rng(23)
    X = rng.standard_normal((1500, 60))
    score = X[:, :5].sum(axis=1) + noise * rng.standard_normal(1500)
    y = score > np.quantile(score, 0.94)
    return X[:750], y[:750], X[750:], y[750:]


def test_trains_for_the_measure_not_for_accuracy():
    """F1 of a rare class would be no better than that of a model that maximises accuracy."""
    X, y, X_test, y_test = rare(1.5)
    scores = {
        measure: MeasureClassifier(measure, n_features=5, C=0.1).fit(X, y).predict(X_test)
        for measure in ("f1", "hamming")
    }
    scores = {measure: metrics.f1_score(y_test, found) for measure, found in scores.items()}
    assert scores["f1"] > scores["hamming"] + 0.1


def test_no_features_is_the_optimum_where_a_rare_class_overlaps_much():
    """What the documentation says of such data, and what to do then, would not be so."""
    X, y, X_test, y_test = rare(2.0)
    for C in (0.1, 1.0):
        with pytest.warns(ConvergenceWarning, match="No features lower the loss of 'f1'"):
            model = MeasureClassifier("f1", n_features=5, C=C).fit(X, y)
        assert model.path_[5].objective == pytest.approx(100 * C, rel=2e-3)
        assert np.unique(model.predict(X)).size == 1
    auc = MeasureClassifier("auc", n_features=5).fit(X, y)
    assert metrics.f1_score(y_test, auc.predict(X_test)) > 0.3


def test_default_weight_of_the_loss(skewed):
    """C="auto" would not be 0.1, or 100 for means over pairs."""
    X, y = skewed
    for measure, C in (("f1", 0.1), ("hamming", 0.1), ("precision@10", 0.1), ("auc", 100.0),
                       ("ap", 100.0)):  # fmt: skip
        automatic = MeasureClassifier(measure, n_features=2).fit(X, y)
        given = MeasureClassifier(measure, n_features=2, C=C).fit(X, y)
        np.testing.assert_array_equal(automatic.coef_, given.coef_)


def test_there_are_no_probabilities(skewed):
    """Scores that are no log-odds would be turned into probabilities and criteria."""
    X, y = skewed
    for model in (MeasureClassifier(n_features=2), MeasureClassifier(n_features=2).fit(X, y)):
        for name in ("predict_proba", "predict_log_proba"):
            assert not hasattr(model, name)
    assert not hasattr(model, "criteria_")
    with pytest.raises(AttributeError) as error:
        model.predict_proba(X)
    assert "are of 'measure f1', no log-odds. Use decision_function" in str(error.value.__cause__)


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("measure", ["precision@10", "recall@2p"])
def test_a_free_intercept_is_refused_where_it_spoils_the_measure(measure, skewed):
    """R would be 0 for any features: the model would be nothing, without a word."""
    message = (
        f"fit_intercept must be 'auto' or False for {measure!r}; got True. Each labelling of k "
        "rows has the same number of positives, so a free intercept lowers the loss to 0 for any "
        "features. The threshold is set after training."
    )
    with pytest.raises(ValueError, match=message):
        MeasureClassifier(measure, n_features=2, fit_intercept=True).fit(*skewed)


def test_intercept_where_it_is_idle(skewed):
    """PRBEP, AUC and average precision would depend on fit_intercept=True."""
    X, y = skewed
    for measure in ("prbep", "auc", "ap"):
        free = MeasureClassifier(measure, n_features=3, fit_intercept=True).fit(X, y)
        automatic = MeasureClassifier(measure, n_features=3).fit(X, y)
        np.testing.assert_array_equal(free.coef_, automatic.coef_)
        np.testing.assert_array_equal(free.intercept_, automatic.intercept_)
    bare = MeasureClassifier("hamming", n_features=3, fit_intercept=False, C=0.1).fit(X, y)
    assert bare.intercept_[0] == 0.0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("measure", "f", "measure must be hamming, f1 (f2, f0.5, ...), precision@K, recall@K, "),
        ("measure", "precision@0", 'k must be an integer of at least 1, or a string like "2p"'),
        ("measure", "precision@121", "k of precision@121 must be between 1 and 120 (the rows)"),
        ("measure", "recall@7p", "must be between 1 and 120 (the rows); got 7p = 140."),
        ("measure", "recall@120", "k of recall@120 must be below 120 (the rows): the recall of"),
        ("measure", "recall@6p", "k of recall@6p must be below 120 (the rows): the recall of"),
        ("C", 0, "C must be a positive finite number; got 0"),
        ("C", "high", "C must be a positive finite number; got 'high'"),
        ("C", None, "C must be a positive finite number; got None"),
        ("tol", 0, "tol must be a positive finite number; got 0"),
        ("block_size", 0, "block_size must be None or an integer of at least 1; got 0"),
        ("max_blocks", 1.5, "max_blocks must be None or an integer of at least 1; got 1.5"),
        ("n_threads", 0, "n_threads must be None or an integer of at least 1; got 0"),
        ("refit", "loo", "refit must be True or False; got 'loo'"),
        ("standardize", 1, "standardize must be True or False; got 1"),
        ("fit_intercept", "yes", "fit_intercept must be"),
        ("n_features", 11, "n_features must be between 1 and 10 (the features of X); got 11"),
        ("n_features", 0, "n_features must be between 1 and 10 (the features of X); got 0"),
        ("n_features", 1.5, "n_features must be an integer or a list of integers; got 1.5"),
        ("forced_features", [0, 1, 2], "n_features counts the forced features: it must be"),
        ("forced_features", [10], "forced_features must be between 0 and 9 (the columns"),
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameter(name, value, message, skewed):
    """A wrong option would be ignored or fail deep inside."""
    with pytest.raises(ValueError, match=re.escape(message)):
        MeasureClassifier(**{"n_features": 2, name: value}).fit(*skewed)


def test_all_features_are_cross_validated_where_folds_have_constant_columns(skewed):
    """Folds with fewer usable columns than others would have no model of the common size."""
    X, y = skewed
    X = X[:, :6].copy()
    X[:, 5] = 0.0
    X[0, 5] = 1.0  # constant wherever row 0 is held out
    found = cross_validate(MeasureClassifier("f1", C=0.1), X, y, cv=3)
    assert found.scores.shape == (1, 3)
    assert found.measure == "f1"
    assert found.mean[0] > 0.1


def test_a_saved_model_without_weights_predicts_the_same_class(skewed, tmp_path):
    """The classes of a `pos_label` are sorted in a file: scores of 0 would change sides."""
    X, y = skewed
    labels = np.where(y == 1, "fraud", "plain")
    for C in (1e-6, 0.1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = MeasureClassifier("prbep", 3, C=C, pos_label="fraud").fit(X, labels)
        loaded = load(save(model, tmp_path / "model"))
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


# ----------------------------------------------------------------------------------- C


@pytest.mark.parametrize("measure", ["f1", "auc", "hamming"])
def test_any_c_ends_with_a_model_of_the_least_loss(measure, skewed):
    """A C beyond what float64 resolves would never end, or give a model that says nothing."""
    X, y = skewed
    loss = {}
    for C in (1e6, 1e17, 1e20, 1e100):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = MeasureClassifier(measure, n_features=4, C=C).fit(X, y)
        assert max(step.extra.get("inner_iterations", 0) for step in model.history_) < 100
        assert model.path_[4].bound <= model.path_[4].objective
        loss[C] = model.path_[4].objective / C
        np.testing.assert_array_equal(model.support_, [0, 1, 2, 3])
        if C != 1e20:
            assert [one.category for one in caught] == [ConvergenceWarning] * (C == 1e100)
    assert loss[1e17] == pytest.approx(loss[1e6], rel=0.05)
    assert loss[1e20] == pytest.approx(loss[1e6], rel=0.05)
    assert loss[1e100] == pytest.approx(loss[1e6], rel=0.05)
