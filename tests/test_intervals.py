"""Intervals around predictions of numbers, by the errors of rows out of fold."""

import json

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict

from conftest import write_csv
from zeronorm import BudgetClassifier, BudgetRegressor
from zeronorm.estimators.folds import splits
from zeronorm.persistence import load, save
from zeronorm.persistence.records import half_width, summarize_errors


def sample(n, seed=0):
    """Numbers of two of eight features, and noise of heavy tails."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8))
    return X, X[:, 0] - 2 * X[:, 1] + rng.standard_t(5, n)


@pytest.mark.parametrize("n", [1, 9, 10, 999, 1000, 1001, 12345])
def test_the_width_is_an_order_statistic(n):
    """An interval would be narrower than the rank of its errors says, by a place or by many."""
    errors = np.random.default_rng(n).standard_normal(n)
    record = summarize_errors(errors)
    known = np.sort(np.abs(errors))
    for share in (0.01, 0.5, 0.7, 0.9, n / (n + 1)):
        rank = max(1, int(np.ceil(np.round((n + 1) * share, 9))))
        if rank > n:
            continue
        found = half_width(record, share)
        place = np.searchsorted(known, found) + 1
        assert rank <= place <= rank + n / 1000
    with pytest.raises(ValueError, match=f"at most .* errors of {n} rows out of fold; got 0.99999"):
        half_width(record, 0.99999)


def test_new_rows_are_inside_as_often_as_is_said():
    """The share would be that of the training rows, to which a selection is fitted."""
    X, y = sample(150)
    model = BudgetRegressor(2)
    errors = y - cross_val_predict(model, X, y, cv=5)
    new, truth = sample(20000, 1)
    predicted = model.fit(X, y).predict(new)
    for share in (0.5, 0.8, 0.95):
        half = half_width(summarize_errors(errors), share)
        inside = np.mean(np.abs(truth - predicted) <= half)
        # Of n errors a share is uncertain by sqrt(p (1 - p) / n).
        assert abs(inside - share) < 3 * np.sqrt(share * (1 - share) / 150)


def test_files_keep_errors(tmp_path):
    """A model would have forgotten by what its intervals are."""
    X, y = sample(60)
    model = BudgetRegressor(2).fit(X, y)
    errors = np.linspace(-3, 2, 60)
    save(model, tmp_path / "m.npz", errors=errors)
    loaded = load(tmp_path / "m.npz")
    half = np.sort(np.abs(errors))[int(np.ceil(61 * 0.8)) - 1]
    predicted = loaded.predict(X)
    found = loaded.predict_interval(X, 0.8)
    np.testing.assert_allclose(found, np.column_stack([predicted - half, predicted + half]))
    offset = np.arange(60.0)
    np.testing.assert_allclose(
        loaded.predict_interval(X, 0.8, offset), found + offset[:, None], rtol=1e-12
    )
    save(model, tmp_path / "m.npz")
    with pytest.raises(ValueError, match="no errors of rows out of fold; zeronorm select"):
        load(tmp_path / "m.npz").predict_interval(X)
    with pytest.raises(ValueError, match="errors must be finite numbers"):
        save(model, tmp_path / "m.npz", errors=[np.nan])
    others = {
        "classes": BudgetClassifier(2, calibrate=False).fit(X, y > 0),
        "several": BudgetRegressor(2).fit(X, np.column_stack([y, -y])),
        "counts": BudgetRegressor(2, loss="poisson").fit(X, np.round(np.abs(y))),
    }
    for other in others.values():
        with pytest.raises(ValueError, match="errors are of models of one target with a loss"):
            save(other, tmp_path / "m.npz", errors=errors)


@pytest.fixture
def numbers(tmp_path):
    """Tables of rows to select from, and of new ones."""
    for name, n, seed in (("t", 80, 0), ("new", 50, 1)):
        X, y = sample(n, seed)
        columns = {f"x{j}": X[:, j] for j in range(8)}
        kind = np.where(y > 0, "a", "b")
        write_csv(tmp_path / f"{name}.csv", {**columns, "y": y, "kind": kind})
    return sample(80)


@pytest.mark.parametrize("options", [(), ("--loss", "huber")])
def test_the_command_writes_intervals(run, numbers, tmp_path, options):
    """The errors would be of another size, of training rows, or those of other folds."""
    X, y = numbers
    given = ("--target", "y", "--drop", "kind", "-k", "1,2", "--rule", "all", *options)
    run("select", "t.csv", *given, "-q", "-o", "m.npz")
    _, truth = sample(50, 1)
    loss = options[1] if options else "least_squares"
    for k in (1, 2):
        errors = np.empty(80)
        strata = BudgetRegressor(k)._strata(y, 5)
        for train, test in splits(strata, np.ones(80), 5, 0):
            fitted = BudgetRegressor(k, loss=loss, calibrate=False).fit(X[train], y[train])
            errors[test] = y[test] - fitted.predict(X[test])
        half = np.sort(np.abs(errors))[int(np.ceil(81 * 0.9)) - 1]
        file = f"m-k{k}.npz"
        shown = json.loads(run("predict", file, "new.csv", "--interval", 0.9, "--json").stdout)
        assert shown["interval"]["half_width"] == pytest.approx(half, rel=1e-6)
        assert shown["interval"]["n_errors"] == 80
        apart = np.abs(np.array(shown["predictions"]) - truth)
        assert shown["interval"]["inside"] == pytest.approx(np.mean(apart <= half))
        run("predict", file, "new.csv", "--interval", 0.9, "-o", "p.csv")
        table = np.genfromtxt(tmp_path / "p.csv", delimiter=",", names=True)
        np.testing.assert_allclose(table["lower"], table["prediction"] - half, rtol=1e-6)
        np.testing.assert_allclose(table["upper"], table["prediction"] + half, rtol=1e-6)
    said = run("predict", "m-k2.npz", "new.csv", "--interval", 0.9).stdout
    assert "around each prediction covers about 0.9 of samples like those" in " ".join(said.split())


@pytest.mark.parametrize(
    ("options", "share", "message"),
    [
        (("--target", "y", "--drop", "kind"), "1", "--interval must be a share of rows, above 0"),
        (("--target", "y", "--drop", "kind"), "0.99", "--interval must be at most 0.9877 of m.npz"),
        (("--target", "y", "--drop", "kind", "--no-cv"), "0.9", "was selected without folds"),
        (("--target", "kind", "--drop", "y"), "0.9", "m.npz is of classes, of which --proba says"),
        (("--target", "y,x7", "--drop", "kind"), "0.9", "m.npz is of 2 responses. Leave it out"),
    ],
)
def test_models_without_intervals_are_told(run, fails, numbers, options, share, message):
    """An interval would be of nothing."""
    run("select", "t.csv", *options, "-k", 2, "-q", "-o", "m.npz")
    assert message in fails("predict", "m.npz", "new.csv", "--interval", share)
