"""`LinearModel.contributions`: parts add up to the scores, and are those of a feature alone."""

import numpy as np
import pytest
import scipy.sparse as sp

from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Classifier,
    MeasureClassifier,
)
from zeronorm.persistence import load, save


def drawn(seed=0, n=60, p=8):
    return np.random.default_rng(seed).standard_normal((n, p)) + np.arange(p)


def fitted(kind, X):
    rng = np.random.default_rng(1)
    if kind == "two":
        return BudgetClassifier(3, calibrate=False).fit(X, X[:, 1] + X[:, 2] > 3)
    if kind == "reversed":
        y = np.where(X[:, 1] > 1, "a", "b")
        return MeasureClassifier("f1", 2, pos_label="a").fit(X, y)
    if kind == "several":
        return BudgetClassifier(3, calibrate=False).fit(X, np.argmax(X - np.arange(8), axis=1) % 3)
    if kind == "each":
        y = np.argmax(X - np.arange(8), axis=1) % 3
        return BudgetClassifier(2, multi_class="ovr", calibrate=False).fit(X, y)
    if kind == "ordered":
        y = np.digitize(X[:, 3] + rng.standard_normal(len(X)), [2.5, 3.5])
        return BudgetClassifier(2, loss="ordinal", calibrate=False).fit(X, y)
    if kind == "numbers":
        return BudgetRegressor(3, covariates=[0]).fit(X, X[:, 1] - X[:, 2])
    if kind == "responses":
        return BudgetRegressor(3).fit(X, X[:, 1:3] @ [[1, 2], [0, 1]])
    if kind == "counts":
        return BudgetRegressor(2, loss="poisson").fit(X, rng.poisson(np.exp(X[:, 1] - 1)))
    if kind == "l1":
        return L1Classifier(1.0).fit(X, X[:, 1] > 1)
    y = np.rec.fromarrays([X[:, 0] > -1, np.exp(-X[:, 1]) + 0.1], names="event,time")
    return BudgetSurvivalAnalysis(2).fit(X, y)


KINDS = (
    "two", "reversed", "several", "each", "ordered", "numbers", "responses", "counts", "l1",
    "survival",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_parts_add_up_to_the_scores(tmp_path, kind):
    """A mean row has none, and moving one feature changes its own part alone."""
    X = drawn()
    model = load(save(fitted(kind, X), tmp_path / "m.npz", X=X))
    base, own = model.contributions(X)
    assert own.mean(axis=0) == pytest.approx(np.zeros_like(own[0]), abs=1e-12)
    sums = base + own.sum(axis=2)
    if kind == "ordered":
        assert sums == pytest.approx(X[:, model.columns] @ model.coef.T)
    else:
        assert sums == pytest.approx(model._scores(X))
    moved = X.copy()
    moved[:, model.columns[0]] += 1.0
    _, others = model.contributions(moved)
    change = others - own
    assert change[:, :, 0] == pytest.approx(np.tile(model.coef[:, 0], (len(X), 1)))
    assert change[:, :, 1:] == pytest.approx(0.0)


def test_means_are_of_the_rows_that_are_named(tmp_path):
    """Sparse ones too; without any there is nothing to compare with."""
    X = drawn()
    fit = fitted("two", X)
    kept = load(save(fit, tmp_path / "m.npz", X=sp.csc_array(X)))
    assert kept.metadata["means"] == pytest.approx(X[:, kept.columns].mean(axis=0).tolist())
    bare = load(save(fit, tmp_path / "n.npz"))
    with pytest.raises(ValueError, match="has no means of its training rows; pass reference"):
        bare.contributions(X)
    _, found = bare.contributions(X, reference=X[:20])
    assert found[:20].mean(axis=0) == pytest.approx(np.zeros_like(found[0]), abs=1e-12)
    with pytest.raises(ValueError, match=r"row 1 \(from 0\) has nan in feature 1"):
        bare.contributions(np.where(np.arange(60)[:, None] == 1, np.nan, X))
