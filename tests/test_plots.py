"""Pictures: what is drawn is what was found, and labels are text."""

import sys
from dataclasses import replace

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
import matplotlib.pyplot as plt

from golub import load_golub
from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Classifier,
    MeasureClassifier,
    cross_validate,
    plotting,
    prove,
)
from zeronorm.inference.stability import StabilitySelection
from zeronorm.inspection.alternatives import near_optimal
from zeronorm.persistence import load, save


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def golub():
    return load_golub(return_X_y=True)


@pytest.fixture(scope="module")
def search(golub):
    X, y = golub
    return BudgetCV(BudgetClassifier(calibrate=False), n_features=[1, 2, 3, 5, 8]).fit(X, y)


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


@pytest.mark.parametrize("grouped", [False, True])
def test_sizes_of_an_estimator_that_chose_its_own(grouped):
    """It would end in an error of an attribute that only BudgetCV has."""
    X, y = load_golub(return_X_y=True)
    groups = {"feature_groups": np.arange(60) % 6, "n_groups": "auto"} if grouped else {}
    model = BudgetClassifier(None if grouped else "auto", calibrate=False, **groups)
    model.fit(X[:, :60], y)
    display = plotting.SizesDisplay.from_estimator(model)
    assert display.chosen == model.size_
    assert display.sizes.tolist() == list(model.validation_.sizes)
    assert display.bound is not None


def test_sizes_show_scores_and_what_is_certified(search):
    """Means, band, baseline and chosen size above; objectives and bounds of every size below."""
    display = plotting.SizesDisplay.from_estimator(search)
    upper, lower = display.axes_
    known, validation = lines(upper), search.validation_
    assert np.array_equal(known["mean ± 1 SE"].get_ydata(), -validation.deviance.mean(axis=1))
    assert np.array_equal(known["mean ± 1 SE"].get_xdata(), validation.sizes)
    assert known[f"chosen: {search.n_features_}"].get_xdata()[0] == search.n_features_
    plain = validation.baseline_deviance.mean()
    assert known["no features"].get_ydata()[0] == pytest.approx(-plain)
    certificates = [search.best_estimator_.path_[k].certificate for k in validation.sizes]
    beneath = lines(lower)
    assert beneath["objective"].get_ydata() == pytest.approx(
        [one.objective for one in certificates]
    )
    assert beneath["certified bound"].get_ydata() == pytest.approx(
        [one.bound for one in certificates]
    )
    assert upper.get_ylabel() == "minus log-loss, held out"
    asked = replace(validation, measure="c_index", asked=True)
    survival = plotting.SizesDisplay.from_validation(asked)
    assert survival.axes_[0].get_ylabel() == "Harrell's C, held out"
    own = lines(survival.axes_[0])
    assert np.array_equal(own["mean ± 1 SE"].get_ydata(), validation.mean)
    assert own["no features"].get_ydata()[0] == pytest.approx(validation.baseline.mean())


def test_sizes_of_several_classes_add_up():
    """The objectives of models of one class against the others are one curve, their sum."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, 20)), np.arange(60) % 3
    one = BudgetClassifier(multi_class="ovr", calibrate=False)
    found = BudgetCV(one, n_features=[1, 3], cv=3).fit(X, y)
    display = plotting.SizesDisplay.from_estimator(found)
    total = sum(path[3].certificate.objective for path in found.best_estimator_.path_)
    assert display.objective[1] == pytest.approx(total)
    assert np.all(display.bound <= display.objective)


def test_sizes_of_a_measure_have_its_bound(golub):
    """The problem of a measure has no certificate, but a value and a bound."""
    X, y = golub
    found = BudgetCV(MeasureClassifier("f1"), n_features=[1, 3], cv=3).fit(X[:, :200], y)
    display = plotting.SizesDisplay.from_estimator(found)
    model = found.best_estimator_.path_[3]
    assert display.objective[1] == model.objective
    assert display.bound[1] == model.bound


def test_sizes_of_folds_alone_have_one_panel(golub):
    """Without models of all rows nothing is known of certificates."""
    X, y = golub
    found = cross_validate(BudgetClassifier(n_features=[1, 2]), X[:, :100], y, cv=3)
    display = plotting.SizesDisplay.from_validation(found)
    assert len(display.axes_) == 1
    assert display.chosen == found.choose()
    fig, axes = plt.subplots(2)
    with pytest.raises(ValueError, match="axes must be 1, of scores; got 2"):
        display.plot(axes=axes)
    assert display.plot(axes=axes[0]).figure_ is fig


def test_supports_are_drawn_as_they_are(search):
    """A ribbon is where a model has a feature, and says the sign of its coefficient."""
    display = plotting.SupportsDisplay.from_estimator(search)
    path = search.best_estimator_.path_
    drawn = np.zeros((len(display.sizes), 3051))
    for name, signs in zip(display.names, display.signs, strict=True):
        drawn[:, int(name[1:])] = signs
    for row, k in zip(drawn, display.sizes, strict=True):
        assert np.array_equal(np.flatnonzero(row), path[k].support)
        assert np.array_equal(row[path[k].support], np.sign(path[k].coef))
    spans = [
        path.get_extents().width
        for ribbons in display.ax_.collections
        for path in ribbons.get_paths()
    ]
    assert sum(spans) == pytest.approx(sum(display.sizes))  # a unit for each feature of each model


def test_supports_of_many_features_say_what_is_left_out():
    """A picture of hundreds of ribbons would not be read."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 80))
    model = BudgetRegressor(n_features=[5, 60]).fit(X, X[:, :60].sum(axis=1))
    display = plotting.SupportsDisplay.from_estimator(model)
    assert len(display.names) == 40
    left = np.union1d(model.path_[5].support, model.path_[60].support).size - 40
    assert display.ax_.get_title(loc="right") == f"and {left} more, in the fewest models"


def test_a_proof_closes(golub):
    """The curves are its course, and the title says what it shows."""
    X, y = golub
    model = BudgetClassifier(n_features=3, calibrate=False).fit(X, y)
    proof = prove(model, X, y, gap=0)
    display = plotting.ProofDisplay.from_proof(proof)
    known = lines(display.ax_)
    assert known["bound"].get_ydata()[-1] == proof.certificate.bound
    assert known["best found"].get_ydata()[-1] == proof.certificate.objective
    assert display.ax_.get_title(loc="left") == "no better 3 features exist"
    single = prove(BudgetClassifier(n_features=1, calibrate=False).fit(X, y), X, y, gap=0)
    title = plotting.ProofDisplay.from_proof(single).ax_.get_title("left")
    assert title == "no better feature exists"
    open_end = prove(model, X, y, gap=0.5)
    assert "are better by more than" in plotting.ProofDisplay.from_proof(open_end).ax_.get_title(
        "left"
    )
    with pytest.raises(ValueError, match="must have been fitted with a proof"):
        plotting.ProofDisplay.from_estimator(model)


def test_coefficients_of_each_class():
    """Each class has its marks, on the scale of one standard deviation where X is given."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 6)) * [1, 10, 100, 1, 1, 1]
    y = np.array(["a", "b", "c"])[(X[:, 1] > 0).astype(int) + (X[:, 2] > 0)]
    model = BudgetClassifier(n_features=3, calibrate=False).fit(X, y)
    display = plotting.CoefficientsDisplay.from_estimator(model, X)
    expected = model.coef_ * X.std(axis=0)
    for name, output in zip("abc", display.coef, strict=True):
        assert name in lines(display.ax_)
        for feature, value in zip(display.names, output, strict=True):
            row = list(model.classes_).index(name)
            assert value == pytest.approx(expected[row, int(feature[1:])])
    largest = np.abs(display.coef).max(axis=0)
    assert np.all(np.diff(largest) <= 0)
    with pytest.raises(ValueError, match="X must have the columns of the fit"):
        plotting.CoefficientsDisplay.from_estimator(model, X[:, :1])


def test_coefficients_of_a_file(tmp_path, golub):
    """A loaded model draws as the fitted one, names and all; sparse X too."""
    import scipy.sparse as sp

    X, y = golub
    model = L1Classifier(n_features=4).fit(X, y)
    path = tmp_path / "model.npz"
    save(model, path, feature_names=[f"g{j}" for j in range(X.shape[1])])
    one = plotting.CoefficientsDisplay.from_estimator(load(path), sp.csc_array(X))
    two = plotting.CoefficientsDisplay.from_estimator(model, X)
    assert one.coef == pytest.approx(two.coef)
    assert [name[1:] for name in one.names] == [name[1:] for name in two.names]


def test_names_are_text():
    """A name with dollars is no formula, and one of a megabyte or of two lines breaks nothing."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    names = ["$\\frac{1$", "x" * 10**6, "two\nlines\x1b[31m", "<b>bold</b>"]
    X = pandas.DataFrame(rng.standard_normal((40, 4)), columns=names)
    model = BudgetRegressor(n_features=[2, 4]).fit(X, X.sum(axis=1))
    for display in (
        plotting.CoefficientsDisplay.from_estimator(model),
        plotting.SupportsDisplay.from_estimator(model),
    ):
        display.figure_.canvas.draw()
        assert all(len(name) <= 31 and name.isprintable() for name in display.names)
        assert "\\$" in next(name for name in display.names if "frac" in name)


def survival(n, rng):
    X = rng.standard_normal((n, 20))
    time, censored = rng.exponential(np.exp(-2 * X[:, 0])), rng.exponential(2, n)
    y = np.array(
        list(zip(time <= censored, np.minimum(time, censored), strict=True)),
        dtype=[("event", bool), ("time", float)],
    )
    return X, y


def test_kaplan_meier_by_hand():
    """Of events at 1, 3, 4 and a row censored at 2: 3/4, then 3/4 * 1/2, then 0."""
    y = np.array(
        [(True, 1.0), (False, 2.0), (True, 3.0), (True, 4.0)] * 2,
        dtype=[("event", bool), ("time", float)],
    )
    risk = np.repeat([0.0, 1.0], 4)
    display = plotting.KaplanMeierDisplay.from_predictions(y, risk, n_groups=2)
    for curve in display.curves:
        assert curve.times.tolist() == [0, 1, 2, 3, 4]
        assert curve.alive == pytest.approx([1, 0.75, 0.75, 0.375, 0])
        assert curve.at_risk.tolist() == [4, 4, 3, 2, 1]
        assert curve.censored.tolist() == [2]
        # As survfit(conf.type = "log-log") of R: V = 1/12, and from 3 on 1/12 + 1/2.
        assert curve.low == pytest.approx([1, 0.128, 0.128, 0.0111, np.nan], abs=1e-3, nan_ok=True)
        assert curve.high == pytest.approx([1, 0.961, 0.961, 0.808, np.nan], abs=1e-3, nan_ok=True)
    shown = [one.get_text() for one in display.ax_.texts]
    ticks = [tick for tick in display.ax_.get_xticks() if 0 <= tick <= display.ax_.get_xlim()[1]]
    assert shown[0] == "at risk"
    assert shown[1 : 1 + len(ticks)] == [str(4 - (t > 1) - (t > 2) - (t > 3)) for t in ticks]
    assert display.names == ["low risk: 3 events in 4", "high risk: 3 events in 4"]


def test_risks_are_held_out():
    """On noise the groups of held-out risk do not part; with a signal the high risk dies first."""
    rng = np.random.default_rng(5)
    X, y = survival(150, rng)
    model = BudgetSurvivalAnalysis(n_features=2)
    display = plotting.KaplanMeierDisplay.from_estimator(model, X, y)
    halves = [one.times[one.alive <= 0.5][0] for one in display.curves]
    assert halves[0] > 2 * halves[2]
    noise = rng.standard_normal((150, 400))
    apart = plotting.KaplanMeierDisplay.from_estimator(
        BudgetSurvivalAnalysis(n_features=10), noise, y
    )
    halves = [one.times[one.alive <= 0.5][0] for one in apart.curves]
    assert halves[0] < 4 * halves[2]  # on training risks it is 20 times and more


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: plotting.SizesDisplay.from_estimator(BudgetClassifier()),
            "a fitted BudgetCV, or have chosen",
        ),
        (lambda: plotting.SupportsDisplay.from_estimator(BudgetClassifier()), "must be fitted"),
        (lambda: plotting.CoefficientsDisplay.from_estimator(BudgetClassifier()), "must be fitted"),
        (lambda: plotting.ProofDisplay.from_proof([]), "what zeronorm.prove returned"),
        (
            lambda: plotting.KaplanMeierDisplay.from_estimator(BudgetClassifier(), [[1.0]], [1]),
            "of survival times; got BudgetClassifier",
        ),
        (
            lambda: plotting.KaplanMeierDisplay.from_predictions(
                survival(9, np.random.default_rng(0))[1], np.zeros(9), n_groups=4
            ),
            "n_groups must be 2 or 3; got 4",
        ),
        (
            lambda: plotting.KaplanMeierDisplay.from_predictions(
                survival(9, np.random.default_rng(0))[1], np.full(9, np.nan)
            ),
            "risk must be finite numbers",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(call, message):
    """A picture of nothing, or an error of matplotlib, would leave the user to guess."""
    with pytest.raises((TypeError, ValueError), match=message):
        call()
    assert not plt.get_fignums()


def test_pairs_of_budgets_have_no_line(golub):
    """Features in groups have two sizes."""
    X, y = golub
    groups = np.arange(100) // 5
    model = BudgetClassifier(n_features=4, n_groups=2, feature_groups=groups).fit(X[:, :100], y)
    with pytest.raises(ValueError, match="got pairs of both"):
        plotting.SupportsDisplay.from_estimator(model)


def test_without_matplotlib_it_says_what_to_install(search, monkeypatch):
    """matplotlib is optional."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "zeronorm\[plots\]"'):
        plotting.SupportsDisplay.from_estimator(search)


def test_stability_bars_are_frequencies_and_the_bound_is_its_own():
    """Bars, stable ones apart, and below at every threshold what the record says of it."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 40))
    y = X[:, 3] + X[:, 5] + 0.5 * rng.standard_normal(60)
    selection = StabilitySelection(BudgetRegressor(4), 8, threshold=0.8).fit(X, y)
    display = plotting.StabilityDisplay.from_estimator(selection)
    stability = selection.stability_
    bars, thresholds = display.axes_
    stable, others = bars.containers[:2]
    assert [bar.get_width() for bar in [*stable, *others]] == sorted(
        stability.frequency, reverse=True
    )[: len(display.names)]
    assert len(stable) == selection.support_.size
    assert {display.names[j] for j in range(len(stable))} == {f"x{j}" for j in selection.support_}
    known = lines(thresholds)
    counts = known[f"stable: {selection.support_.size}"]
    bound = next(line for label, line in known.items() if label.startswith("expected"))
    for tau, low, n in zip(bound.get_xdata(), bound.get_ydata(), counts.get_ydata(), strict=True):
        assert low == stability.expected_low(tau)
        assert n == stability.stable(tau).size
    assert f"at most {selection.expected_low_:.2g}" in bound.get_label()
    with pytest.raises(TypeError, match="a fitted StabilitySelection"):
        plotting.StabilityDisplay.from_estimator(BudgetClassifier())
    assert set(selection.support_) >= {3, 5}
    with pytest.raises(ValueError, match=r"threshold must be above 0\.5"):
        plotting.StabilityDisplay.from_stability(stability, threshold=0.3)


def cells_of(grid, display):
    """The grid as it is drawn: 0 where nothing is, 2 in rows of features of all models, else 1."""
    found = np.zeros(display.present.shape, int)
    for patch in grid.patches:
        corners = patch.get_path().vertices.reshape(-1, 5, 2)
        columns, rows = np.round(corners[:, :4].mean(axis=1)).astype(int).T
        dark = matplotlib.colors.to_hex(patch.get_facecolor()) == "#0072b2"
        found[rows, columns] = 2 if dark else 1
    return found


def test_the_best_of_many_models_are_drawn(golub):
    """A picture for a page would have a column for each of a thousand models, or lose count."""
    X, y = golub
    near = near_optimal(X, y, 3, within=0.03)
    display = plotting.NearOptimalDisplay.from_near_optimal(near, n_drawn=2, n_rows=4)
    assert display.present.shape == (4, 2)
    whole = plotting.NearOptimalDisplay.from_near_optimal(near)
    assert display.counts.tolist() == whole.present.sum(axis=1)[:4].tolist()
    assert display.names == whole.names[:4]
    assert display.axes_[0].get_title(loc="left") == whole.axes_[0].get_title(loc="left")
    assert "the best 2 alone" in display.axes_[1].get_xlabel()
    assert len(near) > 2
    image = plotting.NearOptimalDisplay(
        names="ab", present=np.eye(2, 150, dtype=bool), excess=np.arange(150.0), k=1, within=150,
        complete_within=150,
    ).plot()  # fmt: skip
    assert image.axes_[1].images[0].get_array().sum() == 2
    with pytest.raises(ValueError, match="n_drawn must be None or an integer of at least 1; got 0"):
        plotting.NearOptimalDisplay.from_near_optimal(near, n_drawn=0)
    with pytest.raises(ValueError, match=r"n_rows must be an integer of at least 1; got 1\.5"):
        plotting.NearOptimalDisplay.from_near_optimal(near, n_rows=1.5)


def test_bars_of_given_features(golub):
    """A feature of the model that no half chose would be missing, or have another's bar."""
    X, y = golub
    selection = StabilitySelection(BudgetClassifier(2, calibrate=False), 5).fit(X[:, :30], y)
    stability = selection.stability_
    unseen = int(np.setdiff1d(np.arange(30), stability.features)[0])
    own = [unseen, *stability.features[::-1].tolist()]
    display = plotting.StabilityDisplay.from_stability(stability, features=own)
    assert display.names == [f"x{j}" for j in own]
    assert display.frequency.tolist() == [0.0, *stability.frequency[::-1]]
    assert display.n_left_out == 0
    with pytest.raises(ValueError, match="names must be 1, one of each feature; got 2"):
        plotting.StabilityDisplay.from_stability(stability, features=[unseen], names=["a", "b"])


def test_good_models_are_a_grid(golub):
    """Each column has the features of a support; what is in all stands above."""
    X, y = golub
    near = near_optimal(X, y, 3, within=0.03)
    display = plotting.NearOptimalDisplay.from_near_optimal(near)
    costs, grid = display.axes_
    cells = cells_of(grid, display)
    for column, support in enumerate(near.supports):
        assert {display.names[row] for row in np.flatnonzero(cells[:, column])} == {
            f"x{j}" for j in support
        }
    assert [bar.get_height() for bar in costs.patches] == pytest.approx(
        near.objectives / near.objectives[0] - 1
    )
    in_all = [name for name, row in zip(display.names, cells, strict=True) if (row == 2).all()]
    assert sorted(in_all) == sorted(f"x{j}" for j in near.in_all)
    assert 0 < len(in_all) < len(display.names)
    assert display.names[: len(in_all)] == in_all
    assert costs.get_title(loc="left").endswith("there are no others")
    named = plotting.NearOptimalDisplay.from_near_optimal(
        near, feature_names=[f"$g{j}" for j in range(X.shape[1])]
    )
    with pytest.raises(ValueError, match="feature_names must name all columns"):
        plotting.NearOptimalDisplay.from_near_optimal(near, feature_names=["g"])
    assert named.names[0] == rf"\$g{display.names[0][1:]}"


def test_a_list_with_gaps_says_so(golub):
    """Whoever sees 5 of 45 sets would think that there are no others."""
    X, y = golub
    near = near_optimal(X, y, 5, limit=5)
    display = plotting.NearOptimalDisplay.from_near_optimal(near)
    assert display.axes_[0].get_title(loc="left").endswith("there may be others")
    words = " ".join(text.get_text() for text in display.axes_[0].texts)
    assert f"up to {100 * near.complete_within:.2g} %" in words
    with pytest.raises(TypeError, match="of one class; got"):
        plotting.NearOptimalDisplay.from_near_optimal([near])
