"""The command with several classes or responses that share their features."""

import csv
import json
import re

import numpy as np
import pytest

from conftest import write_csv
from zeronorm import BudgetClassifier, BudgetRegressor, methods, persistence
from zeronorm.core.effects import ratio_text

rng = np.random.default_rng(7)
X = np.asfortranarray(rng.standard_normal((90, 8)))  # as files are read
MEANS = X[:, [1, 4, 6]] @ rng.standard_normal((3, 3))
KINDS = np.array(["red", "green", "blue"])[(3 * MEANS + rng.gumbel(size=(90, 3))).argmax(axis=1)]
TRAITS = MEANS + 0.3 * rng.standard_normal((90, 3)) + [0.0, 50.0, -3.0]
COUNTS = rng.poisson(np.exp(0.3 * MEANS + 1.0))
YEARS = rng.uniform(0.5, 4.0, 90)
NAMES = ["fat", "water", "protein"]


@pytest.fixture(autouse=True)
def narrow(run, monkeypatch):
    """Let reports be 80 columns wide."""
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def write(tmp_path):
    """Write a CSV file of the features and some columns; return its name."""

    def write(**columns):
        columns = {f"x{j}": X[:, j] for j in range(8)} | columns
        write_csv(tmp_path / "d.csv", columns)
        return "d.csv"

    return write


def words(result):
    return " ".join(result.stdout.split())


def traits(values=TRAITS, **more):
    return dict(zip(NAMES, np.asarray(values).T, strict=True)) | more


# --- classes -------------------------------------------------------------------------------


def test_classes_share_their_features_by_default(run, write):
    """The command would select others than Python, or not say for which class they speak."""
    data = write(kind=KINDS)
    command = ("select", data, "-k", 3, "--target", "kind", "--certificate", "c.npz",
               "--no-calibrate")  # fmt: skip
    model = BudgetClassifier(3, calibrate=False).fit(X, KINDS)
    text = run(*command).stdout
    assert "3 features in all, shared by the 3 classes   positive favours the class" in text
    header = next(line for line in text.splitlines() if line.startswith("rank"))
    assert header.split() == ["rank", "feature", "blue", "green", "red"]
    largest = max(np.unique(KINDS, return_counts=True)[1]) / 90
    assert f"(always 'blue': {largest:.3f})\n" in text
    legend = (
        "each number: the coefficient per SD, the change of the log-odds of the class, against the "
        "mean of all classes per standard deviation of the feature"
    )
    assert legend in " ".join(text.split())
    assert "multinomial loss, C = 0.1" in text
    assert "not accuracy on new data" in " ".join(text.split())
    document = json.loads(run(*command, "--no-cv", "--json").stdout)
    assert document["outputs"] == ["blue", "green", "red"]
    assert document["parameters"]["multi_class"] == "multinomial"
    rows = document["models"][0]["features"]
    assert sorted(row["index"] for row in rows) == model.support_.tolist()
    for row in rows:
        np.testing.assert_allclose(row["coefficient"], model.coef_[:, row["index"]], rtol=1e-9)
        effect = model.coef_[:, row["index"]] * X[:, row["index"]].std()
        np.testing.assert_allclose(row["coefficient_per_sd"], effect, rtol=1e-9)
    sizes = [np.linalg.norm(row["coefficient_per_sd"]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert document["models"][0]["intercept"] == pytest.approx(model.intercept_)
    largest = rows[0]["coefficient_per_sd"]
    assert any(f"{value:+.2f}" in text for value in largest)


def test_models_and_certificates_of_shared_features(run, write):
    """What select wrote could not be used or checked by the other commands."""
    data = write(kind=KINDS)
    run("select", data, "-k", 3, "--target", "kind", "--certificate", "c.npz", "--class-weight",
        "balanced", "--no-cv", "-o", "m.npz", "--no-calibrate")  # fmt: skip
    model = BudgetClassifier(3, class_weight="balanced", calibrate=False).fit(X, KINDS)
    checked = run("verify", "c.npz", data).stdout
    assert "3 features, shared by the 3 classes: " in checked
    assert "verified" in checked
    document = json.loads(run("verify", "c.npz", data, "--json").stdout)
    assert document["verified"]
    assert document["outputs"] == ["blue", "green", "red"]
    assert [claim["class"] for claim in document["claims"]] == [None]
    refuted = run("verify", "c.npz", write(kind=KINDS[::-1]), code=1)
    assert "refuted" in refuted.stdout
    run("predict", "m.npz", write(kind=KINDS), "--proba", "-o", "p.csv")
    with open("p.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["sample", "prediction", "p(blue)", "p(green)", "p(red)"]
    np.testing.assert_array_equal(
        np.array([row[2:] for row in rows], float), model.predict_proba(X)
    )
    heads = [line.split() for line in run("info", "m.npz").stdout.splitlines()]
    assert ["feature", "blue", "green", "red"] in heads


def test_proofs_of_shared_features(run, write):
    """--prove would prove a model for each class, or its tree be lost in the file."""
    data = write(kind=KINDS)
    text = run("select", data, "-k", 2, "--target", "kind", "--prove", "--gap", 0, "--no-cv",
               "--no-calibrate", "-o", "m.npz").stdout  # fmt: skip
    assert "2 features in all, shared by the 3 classes" in text
    assert re.search(r"proven: no other 2 features[^.]*lower", " ".join(text.split()))
    saved = persistence.load_certificate("m.certificate.npz")
    model = BudgetClassifier(2, method=methods.L0(gap=0.0), calibrate=False).fit(X, KINDS)
    assert model.certificate_.proven
    np.testing.assert_array_equal(saved.support_, model.support_)
    saved.verify(X, KINDS)
    assert "verified" in run("verify", "m.certificate.npz", data).stdout
    data = write(fat=TRAITS[:, 0], water=TRAITS[:, 1])
    document = json.loads(
        run("select", data, "-k", 1, "--target", "fat,water", "--prove", "--no-cv", "--json").stdout
    )
    (proof,) = document["models"][0]["proofs"]
    assert proof["status"] in ("OPTIMAL", "GAP")


def test_many_classes_fit_the_terminal(run):
    """A table of many classes would be broken, or lack the class that a feature speaks for."""
    y = rng.integers(0, 12, 360)
    Z = rng.standard_normal((360, 6))
    Z[:, 2] += 2.0 * (y == 5)
    np.savez("m.npz", X=Z, y=np.array([f"kind of sample {k}" for k in range(12)])[y])
    options = ("-k", 2, "--no-cv", "--no-save", "--no-calibrate")
    text = run("select", "m.npz", *options).stdout
    assert "2 features in all, shared by the 12 classes" in text
    assert "strongest" in text
    assert max(map(len, text.splitlines())) <= 80
    names = np.array(["a", "bb", *(f"long name {k}" for k in range(10))])
    np.savez("m.npz", X=Z, y=names[y])
    rows = json.loads(run("select", "m.npz", *options, "--json").stdout)["models"][0]["features"]
    (row,) = (row for row in rows if row["index"] == 2)
    speaks_for = np.unique(names)[np.argmax(row["coefficient_per_sd"])]
    assert speaks_for == "long name 3"
    lines = run("select", "m.npz", *options).stdout.splitlines()
    (line,) = (line for line in lines if line.split()[1:2] == ["2"])
    assert "long name 3 +" in line


def test_sizes_and_criteria_of_classes(run, write):
    """Tables of sizes would be those of classes by themselves."""
    data = write(kind=KINDS)
    command = ("select", data, "--target", "kind", "--no-cv", "--no-calibrate")
    model = BudgetClassifier(3, criterion="bic", calibrate=False).fit(X, KINDS)
    text = run(*command, "-k", 3, "--rule", "bic", "--force", "x0").stdout
    assert "chosen" in text
    document = json.loads(run(*command, "-k", 3, "--rule", "bic", "--json").stdout)
    assert document["chosen"] == model.size_
    several = run(*command, "-k", "1,2", "--rule", "all", "--certificate", "c.npz").stdout
    assert "certified gap" in several
    for k in (1, 2):
        saved = persistence.load_certificate(f"c-k{k}.npz")
        assert saved.support_.size == k
        saved.verify(X, KINDS)


def test_each_class_by_itself(run, fails, write):
    """--per-class would be ignored, or a method select for each class without a word."""
    data = write(kind=KINDS)
    command = ("select", data, "-k", 2, "--target", "kind", "--no-cv", "--no-calibrate")
    text = run(*command, "--per-class").stdout
    assert text.count("against the other classes") == 3
    document = json.loads(run(*command, "--per-class", "--json").stdout)
    assert document["outputs"] == []
    assert {row["class"] for row in document["models"][0]["features"]} == {"red", "green", "blue"}
    say = "--method l1 cannot select for several classes at once"
    assert f"{say}. Use --per-class" in fails(*command, "--method", "l1", "--shared")
    chosen = run(*command, "--method", "l1")
    assert f"{say}, so that each of the 3 classes has a model" in " ".join(chosen.stderr.split())
    assert chosen.stdout.count("against the other classes") == 3
    document = json.loads(run(*command, "--method", "l1", "--json").stdout)
    assert document["parameters"]["multi_class"] == "ovr"
    assert "cannot select" not in run(*command, "--method", "l1", "--per-class").stderr
    measured = ("--measure", "f1", "--shared")
    assert "a method of its own, which has no --shared" in fails(*command[:6], "--no-cv", *measured)
    numbers = fails("select", write(fat=TRAITS[:, 0]), "-k", 1, "--target", "fat", "--shared",
                    "--task", "numbers")  # fmt: skip
    assert "--shared is of classes, but --task says numbers" in numbers
    two = write(kind=KINDS == "red")
    for option in ("--shared", "--per-class"):
        text = run("select", two, "-k", 2, "--target", "kind", "--no-cv", option).stdout
        assert "2 features   positive favours" in text


# --- responses -----------------------------------------------------------------------------


def test_responses(run, write):
    """Several columns would be taken for features, or the report be of one of them."""
    data = write(**traits())
    command = ("select", data, "-k", "2,3", "--target", "fat,water, protein", "--certificate",
               "c.npz", "-o", "m.npz", "--rule", "all")  # fmt: skip
    result = run(*command)
    text = words(result)
    fitted = BudgetRegressor([2, 3], calibrate=False).fit(X, TRAITS)
    assert "90 samples \u00d7 8 features" in text
    assert f"3 responses: numbers, fat {TRAITS[:, 0].min():.4g} to" in text
    assert "3 features in all, shared by the 3 responses positive raises the response" in text
    assert "rank feature fat water protein" in text
    assert f"{fitted.score(X, TRAITS):.3f} on the training data: fat 0.9" in text
    assert "0: as good as the mean; 1: perfect (the mean of the responses)" in text
    document = json.loads(run(*command, "--json").stdout)
    assert document["data"]["target"] == document["outputs"] == NAMES
    model = document["models"][1]
    for row in model["features"]:
        np.testing.assert_allclose(row["coefficient"], fitted.coef_[:, row["index"]], rtol=1e-9)
    assert model["intercept"] == pytest.approx(fitted.intercept_)
    assert model["training_score"] == pytest.approx(fitted.score(X, TRAITS))
    assert np.mean(model["training_scores"]) == pytest.approx(model["training_score"])
    assert model["cross_validation"]["mean"] > 0.5
    checked = words(run("verify", "c-k3.npz", data))  # which knows the names of its responses
    assert "verified" in checked
    assert "3 features, shared by the 3 responses: " in checked
    run("predict", "m-k3.npz", data, "-o", "p.csv")
    with open("p.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["sample", *NAMES]
    np.testing.assert_array_equal(np.array(rows, float)[:, 1:], fitted.predict(X))
    shown = words(run("predict", "m-k3.npz", data))
    assert "sample fat water protein" in shown
    assert f"R² {fitted.score(X, TRAITS):.3f}" in shown
    predicted = json.loads(run("predict", "m-k3.npz", data, "--json").stdout)
    assert predicted["responses"] == NAMES
    assert np.shape(predicted["predictions"]) == (90, 3)
    assert "responses fat, water, protein" in words(run("info", "m-k3.npz"))
    unknown = run("predict", "m-k3.npz", write())  # without responses
    assert "R²" not in unknown.stdout


def test_counts_of_an_exposure(run, write):
    """An exposure would be of the first response alone."""
    data = write(**traits(COUNTS, years=YEARS))
    command = ("select", data, "-k", 2, "--target", ",".join(NAMES), "--exposure", "years")
    text = words(run(*command, "--no-cv", "--certificate", "c.npz", "-o", "m.npz"))
    fitted = BudgetRegressor(2, loss="poisson", calibrate=False)
    fitted.fit(X, COUNTS, offset=np.log(YEARS))
    assert f"years {YEARS.sum():.6g} in all" in text
    assert "above 1: raises the response" in text
    row = fitted.support_[0]
    assert f" {ratio_text(fitted.coef_[0, row])} " in text
    assert "by years without features" in text
    assert "verified" in run("verify", "c.npz", data).stdout
    predicted = json.loads(run("predict", "m.npz", data, "--json").stdout)
    np.testing.assert_allclose(
        predicted["predictions"], fitted.predict(X, np.log(YEARS)), rtol=1e-12
    )
    assert predicted["score"] == pytest.approx(fitted.score(X, COUNTS, offset=np.log(YEARS)))


def test_responses_in_files_of_arrays(run):
    """Responses could be given in CSV alone, or lose their names."""
    np.savez("d.npz", X=X, y=TRAITS, target_names=np.array(NAMES))
    np.save("x.npy", X)
    np.save("t.npy", TRAITS)
    options = ("-k", 2, "--no-cv", "--no-save", "--json")
    named = json.loads(run("select", "d.npz", *options).stdout)
    plain = json.loads(run("select", "x.npy", "--target", "t.npy", *options).stdout)
    assert named["outputs"] == NAMES
    assert plain["outputs"] == ["t 1", "t 2", "t 3"]
    assert named["models"][0]["training_score"] == plain["models"][0]["training_score"]


@pytest.mark.parametrize(
    ("arguments", "changes", "message"),
    [
        (("--target", "fat,watr"), {}, "no column 'watr'. Did you mean 'water'?"),
        (("--target", "fat,fat"), {}, "the target 'fat,fat' must name different columns"),
        (("--target", "fat,water", "--exposure", "fat"), {}, "the target and the exposure must be"),
        (("--target", "fat,kind"), {"kind": KINDS},
         "column 'kind': targets of several columns must be finite numbers; name one"),
        (("--target", "fat,water", "--task", "classes"), {},
         "classes are one target; got 2 columns. Name one of them"),
        (("--target", "fat,water"), {"water": np.full(90, 3.0)},
         "the target 'water' is 3 in all samples; there is nothing to explain"),
        (("--target", "fat,water", "--task", "counts"), {},
         "the target must be 0 or more for counts; got"),
        (("--target", "fat,water"), {"water": ["NA", *TRAITS[1:, 1]]},
         "line 2, column 'water': the target is missing ('NA'). Drop the row"),
        (("--target", "fat,water", "--method", "l1"), {},
         "several responses share their features by the methods"),
        (("--target", "fat,water", "--per-class"), {}, "classes are one target; got 2 columns"),
    ],
)  # fmt: skip
def test_bad_responses(fails, write, arguments, changes, message):
    """A mistake in the data would end in a traceback, or in another model than was asked for."""
    assert message in fails("select", write(**(traits() | changes)), "-k", 2, *arguments)


def test_commands_that_are_for_one_response(run, fails, write):
    """A path, or a score, would be of responses that are not those of the model."""
    data = write(**traits())
    message = fails("path", data, "--target", "fat,water", "--loss", "least_squares")
    assert "a path is for one target; got 2 responses. Name one of them" in message
    run("select", data, "-k", 2, "--target", "fat,water", "--no-cv", "-o", "m.npz",
        "--certificate", "c.npz")  # fmt: skip
    result = run("predict", "m.npz", data, "--target", "fat")
    assert "Note: no score: the data have not as many targets" in result.stderr
    assert "--proba is of classes" in fails("predict", "m.npz", data, "--proba")


# --- few groups ----------------------------------------------------------------------------


@pytest.mark.parametrize("targets", ["kind", "fat,water"])
def test_features_in_few_groups_that_outputs_share(run, write, tmp_path, targets):
    """--groups would be refused, or the report not say in which groups the features are."""
    data = write(kind=KINDS) if targets == "kind" else write(fat=TRAITS[:, 0], water=TRAITS[:, 1])
    (tmp_path / "g.csv").write_text("".join(f"x{j},g{j % 2}\n" for j in range(8)))
    command = ("select", data, "-k", 2, "--target", targets, "--groups", 1, "--no-cv",
               "--group-file", "g.csv")  # fmt: skip
    text = words(run(*command))
    what = "3 classes" if targets == "kind" else "2 responses"
    assert f"2 features in 1 of 2 groups, shared by the {what}" in text
    assert "no certificate" in text
    document = json.loads(run(*command, "--json").stdout)
    rows = document["models"][0]["features"]
    assert len(document["outputs"]) == int(what[0])
    assert len({row["group"] for row in rows}) == 1
    estimator = BudgetClassifier if targets == "kind" else BudgetRegressor
    y = KINDS if targets == "kind" else TRAITS[:, :2]
    model = estimator(2, n_groups=1, feature_groups=np.arange(8) % 2, refit_C="loo").fit(X, y)
    assert {row["index"] for row in rows} == set(model.support_.tolist())
