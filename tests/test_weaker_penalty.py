"""Whether a larger C does better on held-out rows: against whole selections at that C."""

import json

import numpy as np
import pytest

from zeronorm import BudgetClassifier, BudgetRegressor
from zeronorm import weaker_penalty as module
from zeronorm._folds import splits
from zeronorm.solvers.procedures import select
from zeronorm.weaker_penalty import weaker_penalty


def level_and_differences(n=90, p=20, seed=0):
    """Columns that share a level, and numbers made of what two of them differ by."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, p))
    return X, X[:, 3] - X[:, 11] + 0.02 * rng.normal(size=n)


def by_hand(model, X, y, C, loss, **given):
    """The losses of held-out rows, by selections at C of the training rows of every fold.

    With so few columns the candidates are all of them, whatever the C.
    """
    weight = given.get("sample_weight", np.ones(len(X)))
    losses = np.empty(len(X))
    for train, test in splits(model._strata(y, 5), weight, 5, 0):
        own = {name: values[train] for name, values in given.items()}
        fitted = type(model)(**{**model.get_params(), "C": C}).fit(X[train], y[train], **own)
        beside = {"offset": given["offset"][test]} if "offset" in given else {}
        losses[test] = loss(y[test], fitted.predict(X[test], **beside))
    return losses


def squares(y, mean):
    return ((y - mean) ** 2).reshape(len(y), -1).sum(axis=1)


def deviances(y, mean):
    return np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / mean), 0.0) - y + mean


def cases():
    X, y = level_and_differences()
    rng = np.random.default_rng(1)
    yield "numbers", BudgetRegressor(2, C=1e-3), X, y, squares, {}
    weight = rng.uniform(0.5, 2.0, len(y))
    yield "weights", BudgetRegressor(2, C=1e-3), X, y, squares, {"sample_weight": weight}
    both = np.column_stack([y, X[:, 5] - X[:, 3]])
    yield "responses", BudgetRegressor(3, C=1e-3), X, both, squares, {}
    batch = np.column_stack([X, rng.normal(size=len(y))])
    yield "covariates", BudgetRegressor(2, C=1e-3, covariates=[20]), batch, y, squares, {}
    pairs = np.repeat(np.arange(10), 2)
    groups = BudgetRegressor(n_groups=2, feature_groups=pairs, method="pool", C=1e-3)
    yield "groups", groups, X, y, squares, {}
    signed = BudgetRegressor(2, C=1e-3, signs={3: 1})
    yield "signs", signed, X, y, squares, {}
    X, y = level_and_differences(200)
    offset = rng.uniform(-0.5, 0.5, 200)
    counts = rng.poisson(np.exp(2.0 + 5.0 * y + offset)).astype(float)
    rates = BudgetRegressor(2, loss="poisson", C=1e-4)
    yield "counts", rates, X, counts, deviances, {"offset": offset}


@pytest.mark.parametrize("few", [0, module.FEW], ids=["candidates", "whole"])
@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case[0])
def test_the_fall_is_that_of_whole_selections(case, few, monkeypatch):
    """A figure of other rows, or of features that these rows chose, would flatter the larger C."""
    monkeypatch.setattr(module, "FEW", few)
    _, model, X, y, loss, given = case
    found = weaker_penalty(model, X, y, **given)
    assert found is not None
    s = given.get("sample_weight", np.ones(len(X)))
    before = by_hand(model, X, y, model.C, loss, **given)
    falls = {}
    for C in (10 * model.C, 100 * model.C):
        d = before - by_hand(model, X, y, C, loss, **given)
        error = np.sqrt(np.sum((s * (d - np.average(d, weights=s))) ** 2))
        falls[C] = (s @ d) / (s @ before), error / (s @ before)
    best = max(falls, key=lambda C: falls[C][0])
    assert pytest.approx(best) == found.C
    assert (found.fall, found.error) == pytest.approx(falls[best], rel=1e-6)
    assert found.score > found.score_before
    assert found.fall > 2 * found.error


def test_nothing_is_told_where_nothing_is_won():
    """A user would be sent to another C by noise."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, noise = rng.normal(size=(60, 40)), rng.normal(size=60)
        assert weaker_penalty(BudgetRegressor(3), X, noise) is None
        assert weaker_penalty(BudgetRegressor(3), X, X[:, 0] + 0.5 * noise) is None


def test_a_weak_penalty_is_not_compared(monkeypatch):
    """Every selection of many rows would take twice the time for nothing."""
    X, y = level_and_differences(400)
    assert weaker_penalty(BudgetRegressor(2, C=1e-3), X, y) is not None
    assert weaker_penalty(BudgetRegressor(2, C=100.0), X, y) is None
    calls, reduced = [], select._reduced
    monkeypatch.setattr(select, "_reduced", lambda *given: calls.append(1) or reduced(*given))
    assert weaker_penalty(BudgetRegressor(2, C=100.0), X, y) is None
    assert len(calls) == 5  # those of the folds


def test_targets_without_an_error_are_no_matter():
    """The share of a loss of 0 is no number."""
    X = level_and_differences()[0]
    assert weaker_penalty(BudgetRegressor(2, C=1e-3), X, np.zeros(len(X))) is None


@pytest.mark.parametrize(
    "model",
    [
        BudgetClassifier(2),
        BudgetRegressor([2, 3]),
        BudgetRegressor(2, method="l0"),
        BudgetRegressor(2, loss="quantile"),
    ],
)
def test_other_estimators_are_refused(model):
    """They have no pool of candidates, or no loss of rows; None would say that C is right."""
    X, y = level_and_differences()
    target = (y > 0) if isinstance(model, BudgetClassifier) else y
    with pytest.raises(TypeError, match="must be a BudgetRegressor of one size"):
        weaker_penalty(model, X, target)


def test_the_command_tells_of_it(run, tmp_path):
    """A user of spectra would take what the penalty costs for what the features are worth."""
    X, y = level_and_differences()
    names = [*(f"nm{j}" for j in range(20)), "fat"]
    rows = [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
    (tmp_path / "spectra.csv").write_text("\n".join([",".join(names), *rows]))
    given = ("select", "spectra.csv", "--target", "fat", "-k", "2", "-C", "0.001", "--no-save")
    document = json.loads(run(*given, "--json").stdout)
    found = weaker_penalty(BudgetRegressor(2, C=1e-3), X, y)
    assert document["weaker_penalty"] == {
        "C": found.C,
        "score": found.score,
        "score_before": found.score_before,
        "fall": found.fall,
        "error": found.error,
    }
    (note,) = document["notes"][-1:]
    assert f"try -C {found.C:g}" in note
    assert f"R² {found.score:.3f} in place of {found.score_before:.3f}" in note
    better = ("--permutations", "1", "-C", f"{found.C:g}", "--json")
    again = json.loads(run(*given[:6], *better, "--no-save").stdout)
    assert again["weaker_penalty"] is None
    (model,) = again["models"]
    assert model["cross_validation"]["mean"] == pytest.approx(found.score)  # as it was told
    assert model["permutations"]["own"] == model["cross_validation"]["mean"]
    assert json.loads(run("select", "golub", "-k", "2", "--json").stdout)["weaker_penalty"] is None
