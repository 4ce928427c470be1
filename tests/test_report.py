"""`zeronorm.reporting.create`: the page of the command from Python; what it refuses."""

import sys

import numpy as np
import pytest

from conftest import slow
from golub import GOLUB, load_golub
from test_cli_report import EVIL, Page
from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Classifier,
    prove,
    report,
)
from zeronorm.estimators import LeakWarning
from zeronorm.inspection.replacements import substitutes
from zeronorm.reporting.text.certificates import percent

pytest.importorskip("matplotlib")
QUICK = {"n_pairs": 2, "time_limit": 0.0, "cv": 3}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    return X, X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(60)


@pytest.fixture(scope="module")
def model(data):
    X, z = data
    return BudgetClassifier(2).fit(X, z > 0)


@pytest.mark.slow
def test_the_page_is_that_of_the_command(run, tmp_path):
    """A second builder would say something else of the same selection."""
    golub = load_golub()
    given = ("-k", "1:3", "--rule", "all", "--no-cv", "--no-calibrate", "-o", "m.npz")
    run("select", GOLUB, *given)
    run("report", "m-k3.npz", GOLUB, "--cv", 3, "--pairs", 2,
        "--time-limit", 0, "-o", "command.html")  # fmt: skip
    model = BudgetClassifier([1, 2, 3], calibrate=False).fit(golub.X, golub.y)
    names = {"feature_names": golub.feature_names, "descriptions": golub.descriptions}
    page = tmp_path / "python.html"
    assert report(model, golub.X, golub.y, page, **names, **QUICK) == page
    found, wanted = Page(page), Page(tmp_path / "command.html")
    for own, other in zip(found.sizes, wanted.sizes, strict=True):
        assert own["texts"] == other["texts"]
        assert own["tables"] == other["tables"]
    assert found.text.count("M27891_at") == wanted.text.count("M27891_at") > 0


def test_names_are_text(data, tmp_path):
    """A name would be executed by whoever opens the page."""
    X, z = data
    labels = np.where(z > 0, "yes", EVIL)
    model = BudgetClassifier(2).fit(X, labels)
    names = [f"{EVIL}{j}" for j in range(12)]
    page = Page(
        report(
            model, X, labels, tmp_path / "p.html", feature_names=names, descriptions=names[::-1],
            target_name=EVIL, title=EVIL, **QUICK,
        )
    )  # fmt: skip
    assert EVIL in page.text
    assert not {"b", "iframe", "a", "svg"} & {tag for tag, _ in page.elements}
    assert len(page.inside("script")) == 2
    assert not any(
        name == "style" or name.startswith("on") for _, own in page.elements for name in own
    )


def test_a_search_has_its_own_folds_and_sizes(data, tmp_path):
    """The page would be of another cross-validation than the one that chose."""
    X, z = data
    search = BudgetCV(BudgetRegressor(), n_features=[1, 2, 4], cv=4).fit(X, z)
    page = Page(report(search, X, z, tmp_path / "p.html", **QUICK))
    assert [size["k"] for size in page.sizes] == [1, 2, 4]
    assert f"{search.n_features_} of 12 features that predict" in page.text
    place = search.validation_.sizes.index(search.n_features_)
    assert f"{search.validation_.mean[place]:.3f} ±" in page.text
    assert "4-fold cross-validation" in page.text
    assert "R²: 0: as good as the mean; 1: perfect." in page.text


def test_substitutes_have_scores_on_held_out_rows(data, tmp_path):
    """A reader would not know whether a substitute predicts new rows as well as the feature."""
    X, z = data
    X = np.column_stack([X, X[:, 0] + 0.1 * np.random.default_rng(1).standard_normal(60)])
    model = BudgetRegressor([1, 2]).fit(X, z)
    page = Page(report(model, X, z, tmp_path / "p.html", **QUICK))
    cells = page.inside("td")
    for one in substitutes(model, X, z, n=3, cv=3):
        for score, more, error in [
            (one.score_without, one.score_without - one.score, one.error_without),
            *zip(one.scores, one.scores - one.score, one.errors, strict=True),
        ]:
            place = cells.index(f"{more:+.3f} ± {error:.3f}")
            assert f"{score:.3f}" in cells[place - 1 :]
        assert f"the model has {one.score:.3f}" in page.text
    assert "of 6 substitutes" in page.text
    without = Page(report(model, X, z, tmp_path / "q.html", **QUICK | {"cv": None}))
    assert "on held-out samples" not in without.text


@pytest.mark.parametrize("kind", ["numbers", "lists", *slow("few")])
def test_groups_have_a_page(data, tmp_path, kind):
    """Labels that are numbers would be taken for features, and groups have no page from Python."""
    X, z = data
    groups = np.arange(12) // 3 + 5
    if kind == "lists":
        groups = {f"set {g}": [f"f{j}" for j in range(3 * g, 3 * g + 3)] for g in range(4)}
        X = pytest.importorskip("pandas").DataFrame(X, columns=[f"f{j}" for j in range(12)])
    k = 2 if kind == "few" else None
    model = BudgetClassifier(k, n_groups=2, feature_groups=groups).fit(X, z > 0)
    limit = {"time_limit": 0.2}
    page = Page(report(model, X, z > 0, tmp_path / "p.html", **QUICK | limit))
    (size,) = page.sizes
    if kind == "few":  # no bounds are known of them
        assert "2 of 12 features" in page.text
        assert size["texts"]["instead"].startswith("Unknown")
        assert "set" not in size["tables"]
        return
    assert "2 of 4 groups of features" in page.text
    rows = size["tables"]["groups"]
    known = {str(one.feature): one for one in substitutes(model, X, z > 0)}
    assert {row[1][0] for row in rows} == set(known)
    for row in rows:
        assert row[-4][0] == str(known[row[1][0]].features[0])
        assert row[-1][0] == ", ".join(one[1][0] for one in size["tables"]["features"]
                                       if one[2][0] == row[1][0])  # fmt: skip
    assert "of 2 groups" in size["texts"]["instead"]


@pytest.mark.slow
def test_the_page_of_large_groups_is_small(tmp_path):
    """A page of sets of a thousand genes could not be sent."""
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((40, 3600)), np.arange(3600) // 600
    z = X[:, :600].sum(axis=1) + X[:, 1200:1800].sum(axis=1)
    model = BudgetClassifier(None, n_groups=2, feature_groups=groups).fit(X, z > 0)
    names = [f"gene {j}" for j in range(3600)]
    path = report(model, X, z > 0, tmp_path / "p.html", feature_names=names, **QUICK)
    (size,) = Page(path).sizes
    assert len(size["tables"]["features"]) == 500
    assert [row[2][0] for row in size["tables"]["groups"]] == ["600", "600"]
    assert all(row[-1][0].endswith("and 592 more") for row in size["tables"]["groups"])
    assert path.stat().st_size < 350_000


def test_forced_features_have_no_share_of_the_half_samples(data, tmp_path):
    """A feature that every list must have would seem to be in none of them."""
    X, z = data
    for given in (
        {"n_features": 2},
        {"n_features": None, "n_groups": 2, "feature_groups": [*"aabbccddeeff"]},
    ):
        model = BudgetClassifier(**given, forced_features=[5]).fit(X, z > 0)
        (size,) = Page(report(model, X, z > 0, tmp_path / "p.html", **QUICK)).sizes
        what = "group" if "feature_groups" in given else "feature"
        said = size["texts"]["sure"]
        assert " of 1" in said
        assert f"(1 {what} forced into all)" in said
        assert " 0%" not in said
        rows = size["tables"].get("groups", size["tables"]["features"])
        (forced,) = [row for row in rows if row[1][0] in ("c", "5")]
        assert forced[4 if "groups" in given else 5][0] == "-"


def test_a_substitute_that_is_better_makes_a_better_list(tmp_path):
    """The page would call a list the best one known beside a feature that makes a better one."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 400))
    z = X[:, :8].sum(axis=1) + rng.standard_normal(60)
    model = BudgetRegressor(6, method="greedy").fit(X, z)
    best = min(substitutes(model, X, z), key=lambda one: one.costs[0])
    assert best.costs[0] < -0.01
    # The search ends before it has looked at any list.
    given = {"n_pairs": 0, "cv": None, "time_limit": 1e-9}
    text = Page(report(model, X, z, tmp_path / "p.html", **given)).sizes[0]["texts"]["better"]
    gain = f"{-100 * best.costs[0]:.2g}% lower"
    assert text.startswith(
        f"Not optimal: with {best.features[0]} instead of {best.feature} the objective"
    )
    assert gain in text
    proof = prove(model, X, z, gap=0, time_limit=1e-9).certificate
    bound, objective = proof.bound, proof.objective * (1 + best.costs[0])
    assert f"at most {percent((objective - bound) / objective)} more can be gained" in text


@pytest.mark.slow
def test_every_model_has_a_page(data, tmp_path):
    """Of a target there would be no page, or figures would be lacking."""
    X, z = data
    times = np.zeros(60, [("event", bool), ("time", float)])
    times["event"], times["time"] = np.arange(60) % 3 > 0, np.exp(-z)
    for model, y, shown in (
        (BudgetRegressor(2), np.column_stack([z, 1 - z]), "2 responses"),
        (BudgetSurvivalAnalysis(2), times, "Survival of samples by the risk"),
        (BudgetClassifier(2, loss="ordinal"), np.digitize(z, [-0.5, 0.5]), "odds ratio"),
    ):
        page = Page(report(model.fit(X, y), X, y, tmp_path / "p.html", **QUICK))
        assert shown in page.text
        assert "How many of the half-samples choose each feature" in page.text


def test_a_frame_has_names(data, tmp_path):
    """Columns of a frame would be numbers without names, or text be taken for numbers."""
    pandas = pytest.importorskip("pandas")
    X, z = data
    frame = pandas.DataFrame(X, columns=[f"gene {j}" for j in range(12)])
    model = BudgetRegressor(2).fit(frame, z)
    page = Page(report(model, frame, z, tmp_path / "p.html", **QUICK))
    assert all(f"gene {j}" in page.text for j in model.support_)
    frame["gene 3"] = "text"
    with pytest.raises(ValueError, match="got text in column 'gene 3'"):
        report(model, frame, z, tmp_path / "p.html")


def test_other_data_are_refused(data, model, tmp_path):
    """The page would say of other rows, or of a fit without weights, that they are this model's."""
    X, z = data
    path = tmp_path / "p.html"
    with pytest.raises(ValueError, match=r"X and y must be those of the fit.* objective"):
        report(model, X[::-1], z > 0, path)
    weighted = BudgetClassifier(2).fit(X, z > 0, sample_weight=np.arange(60) % 7 + 1.0)
    with pytest.raises(ValueError, match="without weights of samples"):
        report(weighted, X, z > 0, path)
    assert not path.exists()


def test_bad_arguments_are_refused_before_any_work(data, model, tmp_path, monkeypatch):
    """Minutes of work would end in an error that names nothing."""
    X, z = data
    y, path = z > 0, tmp_path / "p.html"
    for given, message in (
        ({"cv": 1}, "cv must be None or an integer of at least 2; got 1"),
        ({"n_pairs": -1}, "n_pairs must be an integer of at least 1; got -1"),
        ({"n_pairs": False}, "n_pairs must be an integer"),
        ({"time_limit": -1}, "time_limit must be finite and not negative; got -1"),
        ({"time_limit": np.inf}, "time_limit must be finite and not negative; got inf"),
        ({"feature_names": ["a"]}, "feature_names must be 12 different names"),
        ({"feature_names": ["a"] * 12}, "got 12, 1 of them different"),
        ({"descriptions": ["a"]}, "descriptions must be 12, one of each column of X; got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            report(model, X, y, path, **given)
    for bad, message in (
        ("p.txt", r"path must be that of a page, NAME.html; got"),
        ("nowhere/p.html", "has no such directory"),
    ):
        with pytest.raises(ValueError, match=message):
            report(model, X, y, tmp_path / bad)
    with pytest.raises(ValueError, match="estimator must be fitted"):
        report(BudgetCV(BudgetClassifier()), X, y, path)
    with pytest.raises(TypeError, match=r"estimator must be one of BudgetClassifier.*got L1Class"):
        report(L1Classifier().fit(X, y), X, y, path)
    frame = pytest.importorskip("pandas").DataFrame(X, columns=[f"f{j}" for j in range(12)])
    columns = BudgetClassifier(None, n_groups=1, feature_groups="columns").fit(frame, y)
    with pytest.raises(ValueError, match=r"got feature_groups='columns'.*get_dummies"):
        report(columns, frame, y, path)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "zeronorm\[plots\]"'):
        report(model, X, y, path)
    assert not path.exists()


def test_the_data_are_checked(data, tmp_path):
    """The page would say that no feature is the target in disguise, without a look."""
    X, z = data
    X = X.copy()
    X[:, 5] = z > 0
    with pytest.warns(LeakWarning, match="'x5' is the target itself"):
        model = BudgetClassifier(2).fit(X, z > 0)
    page = Page(report(model, X, z > 0, tmp_path / "p.html", **QUICK))
    assert "gives the target away were found" not in page.text
    assert "Read this first" in page.text


def test_a_report_of_patients(tmp_path):
    """Folds of the page would hold out known patients."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(20), 3)
    X = rng.standard_normal((20, 12))[patient] + 0.1 * rng.standard_normal((60, 12))
    y = (np.arange(20) % 2)[patient]
    model = BudgetClassifier(2).fit(X, y, groups=patient)
    options = {"n_pairs": 0, "time_limit": 0}
    paths = tmp_path / "page.html", tmp_path / "rows.html"
    page = Page(report(model, X, y, paths[0], groups=patient, **options))
    assert "groups=groups" in page.text
    rows = Page(report(model, X, y, paths[1], **options))
    assert page.sizes[0]["texts"]["new"] != rows.sizes[0]["texts"]["new"]
