"""Cross-validation of the procedure."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, StratifiedKFold

from golub import load_golub
from zeronorm import BudgetClassifier, BudgetRegressor, L1ClassifierCV, MeasureClassifier
from zeronorm.measures import Contingency, parse_measure
from zeronorm.model_selection.cross_validation import cross_validate
from zeronorm.published import BilevelClassifier, MinimaxLogisticRegression


@pytest.fixture(scope="module")
def golub():
    return load_golub(return_X_y=True)


def test_cross_validation_equals_fits_on_copied_folds(golub):
    """Folds without copies would see other rows, scales or labels than folds cut out by hand."""
    X, y = golub
    model = BudgetClassifier(n_features=[3, 8], calibrate=False)
    answer = cross_validate(model, X, y, cv=4, random_state=1)
    by_hand = []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=1).split(X, y):
        by_hand.append(
            BudgetClassifier(n_features=8, calibrate=False)
            .fit(X[train], y[train])
            .score(X[test], y[test])
        )
    assert answer.sizes == (3, 8)
    np.testing.assert_allclose(answer.scores[1], by_hand, atol=1e-12)
    spread = np.std(by_hand, ddof=1) / 2
    assert answer.standard_error[1] == pytest.approx(spread)
    assert not hasattr(model, "classes_")


def test_cross_validation_with_weights_and_several_classes():
    """Weights of held-out rows would be ignored, or classes mixed up."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.standard_normal((90, 12))
    X[:, :3] += 3 * np.eye(3)[y]
    weight = rng.uniform(0.5, 2, 90)
    answer = cross_validate(
        MinimaxLogisticRegression(2, calibrate=False), X, y, cv=3, sample_weight=weight
    )
    assert answer.mean[0] > 0.8


def test_only_estimators_with_a_budget_are_cross_validated():
    """An estimator without a budget would fail somewhere inside."""
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(TypeError, match=r"L1ClassifierCV\. Use scikit-learn's cross_"):
        cross_validate(L1ClassifierCV(), X, X[:, 0])


def test_default_size_where_folds_have_other_usable_columns():
    """Folds with fewer usable columns would leave no size in common, and an empty answer."""
    X = np.zeros((12, 3))
    X[0, 0] = 1.0
    X[:, 1] = np.arange(12)
    X[:, 2] = np.arange(12) % 5
    answer = cross_validate(BudgetClassifier(calibrate=False), X, np.arange(12) % 2, cv=3)
    assert len(answer.sizes) == 1


def test_features_and_groups_equal_fits_on_copied_folds(golub):
    """Pairs of budgets would be mixed up, or the groups be those of other columns."""
    X, y = golub
    groups = np.arange(X.shape[1]) % 7
    model = BilevelClassifier([3, 6], [1, 2], feature_groups=groups, refit_C=1.0)
    answer = cross_validate(model, X, y, cv=3, random_state=1)
    assert answer.sizes == ((3, 1), (3, 2), (6, 1), (6, 2))
    folds = StratifiedKFold(3, shuffle=True, random_state=1).split(X, y)
    for column, (train, test) in enumerate(folds):
        fitted = clone(model).fit(X[train], y[train])
        for row, size in enumerate(answer.sizes):
            found = fitted.path_[size]
            z = X[test][:, found.support] @ found.coef + found.intercept
            right = fitted.classes_[(z > 0).astype(int)] == y[test]
            assert answer.scores[row, column] == pytest.approx(right.mean())


@pytest.mark.parametrize("budgets", [(2, 3), (None, 3), (2, None), (None, None)])
def test_groups_that_are_constant_in_a_fold(budgets):
    """A fold would have no model of the size, or the budget be called too large."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    y = (X[:, 0] > 0).astype(int)
    X[1:, 4:] = 0
    model = BilevelClassifier(*budgets, feature_groups=np.arange(6) // 2)
    answer = cross_validate(model, X, y, cv=4)
    ((k, g),) = answer.sizes
    assert (k, g) == (budgets[0] or 6, 3)
    assert answer.mean[0] > 0.6


@pytest.mark.parametrize("cv", [1, 12])
def test_bad_number_of_folds(golub, cv):
    """Folds without one of the classes would fail deep inside."""
    with pytest.raises(ValueError, match="cv must be between 2 and 11"):
        cross_validate(BudgetClassifier(3), *golub, cv=cv)


EVEN, ODD = np.arange(0, 38, 2), np.arange(1, 38, 2)
FOLD = (EVEN, ODD)
SPLITS = r"cv must be a number of folds, a splitter or splits; got"


@pytest.mark.parametrize("method", ["cross_validate", "CV"])
@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([(np.arange(38) % 2 == 0, np.arange(38) % 2 == 1)],
         r"got booleans for the training rows of fold 0. Use np.flatnonzero\(mask\)"),
        ([FOLD, (EVEN, [True, False])], "got booleans for the held-out rows of fold 1"),
        ([(EVEN.astype(float), ODD)], "as integers; got type float64 for the training rows"),
        ([(EVEN, ["1", "3"])], "as integers; got type <U1 for the held-out rows of fold 0"),
        ([(EVEN, [-1])], r"from 0 to 37 \(all rows of X are counted\); got -1 in the held-out"),
        ([([5, 38], ODD)], "row numbers from 0 to 37 .*; got 38 in the training rows of fold 0"),
        ([(EVEN, ODD, ODD)], "pairs .train, test. of row numbers; got a tuple of length 3"),
        ([3, 4], "pairs .train, test. of row numbers; got a int as fold 0"),
        ([(EVEN[None], ODD)], r"one dimension; got shape \(1, 19\) for the training rows"),
        ([(EVEN, [[1], [2, 3]])], "one dimension; got shape"),
        ([FOLD, ([], ODD)], "cv must leave rows for training in every fold; fold 1 has none"),
        ([(EVEN, [1, 3, 1])], "got row 1 twice in fold 0"),
        ([], "cv must give at least one .train, test. pair; got none"),
        *[(cv, SPLITS) for cv in (None, 2.0, "five", {0: FOLD}, True)],
    ],
    ids=lambda v: str(v)[:30],
)  # fmt: skip
def test_bad_splits(golub, method, cv, message):
    """Masks would be read as rows 0 and 1, other rows than meant be held out."""
    fits = {
        "CV": L1ClassifierCV(5, cv=cv).fit,
        "cross_validate": partial(cross_validate, BudgetClassifier(3, calibrate=False), cv=cv),
    }
    with pytest.raises(ValueError, match=message):
        fits[method](*golub)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "0", True, 10**400], ids=lambda v: str(v)[:9])
def test_bad_seed(golub, seed):
    """A seed of another kind would fail deep inside, or not be one."""
    message = "random_state must be None or an integer from 0 to 4294967295; got"
    with pytest.raises(ValueError, match=message):
        cross_validate(BudgetClassifier(3), *golub, random_state=seed)
    with pytest.raises(ValueError, match=message):
        L1ClassifierCV(random_state=seed).fit(*golub)


def test_splits_number_all_rows(golub):
    """Rows of weight 0 would shift the numbers of those after them."""
    X, y = golub
    weight = np.ones(38)
    weight[[0, 7, 30, 31, 33]] = 0
    answer = cross_validate(
        BudgetClassifier(3, calibrate=False), X, y, cv=[FOLD, FOLD[::-1]], sample_weight=weight
    )
    for number, (train, test) in enumerate([FOLD, FOLD[::-1]]):
        train, test = train[weight[train] > 0], test[weight[test] > 0]
        model = BudgetClassifier(3, calibrate=False).fit(X[train], y[train])
        assert answer.scores[0, number] == model.score(X[test], y[test])
    with pytest.raises(ValueError, match=r"hold out a row of positive weight .*; fold 0 has none"):
        cross_validate(BudgetClassifier(3), X, y, cv=[(EVEN, [7, 31])], sample_weight=weight)


def test_a_class_with_one_row(golub):
    """Between 2 and 1 folds would be asked for."""
    y = np.array(["a"] * 37 + ["b"])
    with pytest.raises(ValueError, match=r"two rows .* got 1 sample of class 'b'"):
        cross_validate(BudgetClassifier(3), golub[0], y)


# --- scored by a measure -------------------------------------------------------------------


@pytest.fixture
def skewed():
    """Labels of one positive in eight, that depend on two features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 15))
    score = X[:, 3] - X[:, 7] + 0.5 * rng.standard_normal(160)
    return X, np.where(score >= np.sort(score)[-20], "b", "a")


@pytest.mark.parametrize("measure", ["f1", "precision@5", "auc"])
def test_measure_of_held_out_rows(skewed, measure):
    """Held-out rows would be scored by something else, or by another threshold."""
    X, y = skewed
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    for model in (
        BudgetClassifier([2, 4], calibrate=False),
        MeasureClassifier(measure, [2, 4], tol=1e-8),
    ):
        found = cross_validate(model, X, y, cv=3, measure=measure)
        assert found.measure == measure
        for row, k in enumerate((2, 4)):
            for column, (train, test) in enumerate(folds):
                alone = clone(model).set_params(n_features=[2, 4]).fit(X[train], y[train])
                path = alone.path_[k]
                z = X[test][:, path.support] @ path.coef + path.intercept
                expected = parse_measure(measure).score(np.where(y[test] == "b", 1.0, -1.0), z)
                assert found.scores[row, column] == pytest.approx(expected, abs=1e-9)


def test_the_measure_of_an_estimator_is_what_it_is_scored_by(skewed):
    """A model that is trained for F1 would be judged by its accuracy, or the reverse."""
    X, y = skewed
    model = MeasureClassifier("f1", 2)
    assert cross_validate(model, X, y).measure == "f1"
    assert cross_validate(model, X, y, measure="accuracy").measure == "accuracy"
    assert cross_validate(BudgetClassifier(2, calibrate=False), X, y).measure == "accuracy"
    mean = cross_validate(BudgetClassifier(2, calibrate=False), X, y, measure="f1").mean
    assert 0.3 < mean[0] < 1
    accuracy = Contingency(lambda a, b, n_pos, n_neg: 100 * (n_pos - a + b) / (n_pos + n_neg))
    found = cross_validate(BudgetClassifier(2, calibrate=False), X, y, measure=accuracy)
    np.testing.assert_allclose(
        found.scores, cross_validate(BudgetClassifier(2, calibrate=False), X, y).scores
    )


def test_the_positive_of_two_classes(skewed):
    """F1 of the common class would be reported as that of the rare one."""
    X, y = skewed
    rare = cross_validate(
        BudgetClassifier(2, calibrate=False), X, y, measure="f1", pos_label="b"
    ).mean[0]
    common = cross_validate(
        BudgetClassifier(2, calibrate=False), X, y, measure="f1", pos_label="a"
    ).mean[0]
    assert rare == cross_validate(BudgetClassifier(2, calibrate=False), X, y, measure="f1").mean[0]
    assert rare < 0.9 < common
    other = MeasureClassifier("f1", 2, pos_label="a")
    renamed = np.where(y == "a", "y", "x")  # the same rows, the other class second
    np.testing.assert_array_equal(
        cross_validate(other, X, y).scores,
        cross_validate(MeasureClassifier("f1", 2), X, renamed).scores,
    )


def test_rows_without_features_are_of_the_first_class():
    """Scores of 0 are of the first class, whichever is the positive one."""
    rng = np.random.default_rng(0)
    X = (rng.random((200, 8)) < 0.2).astype(float)
    y = np.where(X[:, 0] + X[:, 1] > 0, "b", "a")
    model = BudgetClassifier(2, fit_intercept=False, standardize=False, calibrate=False)
    found = cross_validate(model, X, y, measure="f1", pos_label="a")
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    for column, (train, test) in enumerate(folds):
        said = model.fit(X[train], y[train]).predict(X[test])
        assert found.scores[0, column] == pytest.approx(f1_score(y[test], said, pos_label="a"))


def test_measure_of_several_classes_is_the_mean(skewed):
    """Classes would be weighted, or one of them be left out."""
    X, _ = skewed
    y = np.digitize(X[:, 3] - X[:, 7], [-0.8, 0.8])
    found = cross_validate(BudgetClassifier(2, calibrate=False), X, y, cv=3, measure="auc")
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)
    for column, (train, test) in enumerate(folds):
        z = BudgetClassifier(2, calibrate=False).fit(X[train], y[train]).decision_function(X[test])
        auc = parse_measure("auc")
        values = [auc.score(np.where(y[test] == c, 1.0, -1.0), z[:, c]) for c in range(3)]
        assert found.scores[0, column] == pytest.approx(np.mean(values), abs=1e-9)


def test_folds_that_cannot_be_scored(skewed):
    """The error would come after hours of fits, and not say whose rows it means."""
    X, y = skewed
    started = []
    for measure, cv, message in (
        ("precision@50", 4, "must be between 1 and 40 .* 40 held-out rows of fold 0: use fewer"),
        ("f1", [(np.arange(160), np.flatnonzero(y == "a"))], "class 'b' and of others for 'f1'"),
    ):
        with pytest.raises(ValueError, match=message):
            cross_validate(
                BudgetClassifier(2), X, y, cv=cv, measure=measure, callback=started.append
            )
    half = np.full(160, 0.5)
    with pytest.raises(ValueError, match=r"must be 0 or 1 for 'precision@5'.*0\.5"):
        cross_validate(BudgetClassifier(2), X, y, measure="precision@5", sample_weight=half)
    with pytest.raises(ValueError, match="measure must be hamming, f1"):
        cross_validate(BudgetClassifier(2), X, y, measure="f")
    with pytest.raises(ValueError, match="pos_label must be one of the classes"):
        cross_validate(BudgetClassifier(2), X, y, measure="f1", pos_label="c")
    with pytest.raises(ValueError, match="pos_label must be one of the classes"):
        cross_validate(BudgetClassifier(2), X, y, pos_label="c")
    with pytest.raises(ValueError, match="pos_label is for two classes; got 3"):
        cross_validate(BudgetClassifier(2), X, np.arange(160) % 3, pos_label=1)
    # Of the common class there would be twice as many as there are rows.
    cross_validate(BudgetClassifier(2, calibrate=False), X, y, measure="recall@2p", pos_label="b")
    with pytest.raises(ValueError, match="got 2p = 280"):
        cross_validate(BudgetClassifier(2), X, y, measure="recall@2p", pos_label="a")
    assert not started


def test_errors_are_in_the_units_of_the_target():
    """A chemist would be told how much is explained, and not how far predictions are off."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 30))
    y = 50 + 3 * X[:, 4] - 2 * X[:, 9] + rng.standard_normal(60)
    weight, offset = rng.uniform(0.5, 2, 60), rng.standard_normal(60)
    splits = list(KFold(4, shuffle=True, random_state=0).split(X))
    model = BudgetRegressor([1, 2])
    found = cross_validate(model, X, y, cv=splits, sample_weight=weight, offset=offset)
    for fold, (train, test) in enumerate(splits):
        model.fit(X[train], y[train], weight[train], offset=offset[train])
        for row, k in enumerate(found.sizes):
            own = model.path_[k]
            z = X[test][:, own.support] @ own.coef + own.intercept + offset[test]
            wanted = np.sqrt(np.average((y[test] - z) ** 2, weights=weight[test]))
            assert found.rmse[row, fold] == pytest.approx(wanted, rel=1e-8)
        mean = np.average((y - offset)[train], weights=weight[train])
        left = (y - offset - mean)[test]
        wanted = np.sqrt(np.average(left**2, weights=weight[test]))
        assert found.baseline_rmse[fold] == pytest.approx(wanted, rel=1e-8)
    counts = cross_validate(BudgetRegressor([1], loss="poisson"), X, rng.poisson(2.0, 60), cv=3)
    assert counts.rmse is None
