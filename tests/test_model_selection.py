"""Cross-validation of the procedure, and the menu of `tune`."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from zeronorm import BudgetClassifier, MinimaxLogisticRegression
from zeronorm.datasets import load_golub
from zeronorm.model_selection import cross_validate


@pytest.fixture(scope="module")
def golub():
    return load_golub(return_X_y=True)


def test_cross_validation_equals_fits_on_copied_folds(golub):
    """Folds without copies would see other rows, scales or labels than folds cut out by hand."""
    X, y = golub
    model = BudgetClassifier(n_features=[3, 8])
    answer = cross_validate(model, X, y, cv=4, random_state=1)
    by_hand = []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=1).split(X, y):
        by_hand.append(
            BudgetClassifier(n_features=8).fit(X[train], y[train]).score(X[test], y[test])
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
    answer = cross_validate(MinimaxLogisticRegression(2), X, y, cv=3, sample_weight=weight)
    assert answer.mean[0] > 0.8


def test_default_size_where_folds_have_other_usable_columns():
    """Folds with fewer usable columns would leave no size in common, and an empty answer."""
    X = np.zeros((12, 3))
    X[0, 0] = 1.0
    X[:, 1] = np.arange(12)
    X[:, 2] = np.arange(12) % 5
    answer = cross_validate(BudgetClassifier(), X, np.arange(12) % 2, cv=3)
    assert len(answer.sizes) == 1


@pytest.mark.parametrize("cv", [1, 12])
def test_bad_number_of_folds(golub, cv):
    """Folds without one of the classes would fail deep inside."""
    with pytest.raises(ValueError, match="cv must be between 2 and 11"):
        cross_validate(BudgetClassifier(3), *golub, cv=cv)


def test_tune_with_a_forced_feature_that_is_constant_in_a_fold():
    """A forced column without variance in a fold would divide by zero or never end."""
    X = np.zeros((9, 3))
    X[0, 0] = 1.0
    X[:, 1], X[:, 2] = np.arange(9), np.arange(9) % 3
    model = BudgetClassifier(2, forced_features=[0], tune=True).fit(X, np.arange(9) % 2)
    assert 0 in model.support_
    lonely = BudgetClassifier(1, forced_features=[0], tune=True)
    assert lonely.fit(np.eye(8, 1), np.arange(8) % 2).support_.tolist() == [0]
