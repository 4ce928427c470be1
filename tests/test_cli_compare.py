"""`zeronorm compare`: what models share, and whether they differ on the same rows."""

import json

import numpy as np
import pytest
import typer.testing
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import f1_score, log_loss, roc_auc_score

from conftest import slow, write_csv
from zeronorm import cli
from zeronorm.cli.documents._evaluation import correlation, judged, mcnemar, scores_of_numbers
from zeronorm.persistence import load

OTHERS = ("kind", "ill", "fat", "ash", "days", "died")


@pytest.fixture
def made(run, tmp_path):
    """A function that selects for a target; old.csv and new.csv lie beside the models."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 6)) * [1, 1, 5, 1, 1, 1]
    noise = rng.standard_normal((150, 3))
    out = {f"g{j}": X[:, j] for j in range(6)}
    out["kind"] = np.array(["a", "b", "c"])[np.argmax(X[:, [0, 1, 3]] + noise, axis=1)]
    out["ill"] = np.where(X[:, 0] + X[:, 1] + noise[:, 0] > 0.5, "yes", "no")
    out["fat"], out["ash"] = X[:, 1] - X[:, 2] + noise[:, 0], X[:, 2] + noise[:, 1]
    out["days"] = rng.exponential(np.exp(-X[:, 0])) + 0.01
    out["died"] = (rng.random(150) < 0.7).astype(int)
    for name, rows in {"old": slice(90), "new": slice(90, None)}.items():
        write_csv(tmp_path / f"{name}.csv", {key: one[rows] for key, one in out.items()})

    def made(name, k, targets, *more):
        given = ("--target", targets) if "days" not in targets else ("--time", "days")
        given += ("--event", "died") if "died" in targets else ()
        drop = [x for one in OTHERS if one not in targets.split(",") for x in ("--drop", one)]
        run("select", "old.csv", *given, *drop, "-k", k, "--no-cv", "-q", "-o", name, *more)
        return load(tmp_path / name)

    made.new = {key: one[90:] for key, one in out.items()}
    made.X = X[90:]
    return made


def compared(run, *arguments):
    return json.loads(run("compare", *arguments, "--json").stdout)


def by_name(document, place):
    return {one["name"]: one for one in document["scores"][place]["scores"]}


def test_models_share_what_both_have(run, made):
    """Coefficients stand side by side, as the files have them."""
    models = made("1.npz", 2, "ill"), made("2.npz", 4, "ill")
    document = compared(run, "1.npz", "2.npz")
    first, second = (dict(zip(m.feature_names, m.coef[0], strict=True)) for m in models)
    shared, union = first.keys() & second.keys(), first.keys() | second.keys()
    (pair,) = document["overlap"]["pairs"]
    assert {*document["overlap"]["shared"]} == shared
    assert pair["jaccard"] == pytest.approx(len(shared) / len(union))
    assert {row["feature"] for row in document["features"]} == union
    for row in document["features"]:
        assert row["coefficients"] == [first.get(row["feature"]), second.get(row["feature"])]
        assert row["coefficients_per_sd"] is None
    told = [one["objective"] for one in document["models"]]
    assert told == [m.metadata["certificates"][0]["objective"] for m in models]
    assert document["data"] is None
    assert document["scores"] == []


def test_scores_are_of_the_same_rows(run, made):
    """They are scikit-learn's, and the difference is that of both."""
    models = made("1.npz", 1, "ill"), made("2.npz", 3, "ill")
    document = compared(run, "1.npz", "2.npz", "new.csv")
    y = made.new["ill"]
    for place, model in enumerate(models):
        found = by_name(document, place)
        proba = model.predict_proba(made.X)
        assert found["auc"]["value"] == pytest.approx(roc_auc_score(y == "yes", proba[:, 1]))
        assert found["log_loss"]["value"] == pytest.approx(log_loss(y, proba))
    first, second = by_name(document, 0), by_name(document, 1)
    gain = second["auc"]["value"] - first["auc"]["value"]
    assert second["auc"]["difference"] == pytest.approx(gain)
    assert first["auc"]["difference"] is None
    predicted = [model.predict(made.X) for model in models]
    agreement = document["scores"][1]["agreement"]
    assert agreement == pytest.approx(np.mean(predicted[0] == predicted[1]))
    assert document["scores"][1]["mcnemar"] == mcnemar(y, *predicted)
    spread = {f"g{j}": made.X[:, j].std() for j in range(6)}
    for row in document["features"]:
        for value, per in zip(row["coefficients"], row["coefficients_per_sd"], strict=True):
            expected = None if value is None else pytest.approx(value * spread[row["feature"]])
            assert per == expected


def test_mcnemar_by_hand():
    """Of 10 rows that only one gets right, 9 are of the second: p = 2 (1 + 10) / 2^10."""
    truth = np.zeros(15, int)
    first = np.array([0] + [1] * 9 + [0] * 3 + [1] * 2)
    second = np.array([1] + [0] * 9 + [0] * 3 + [1] * 2)
    found = mcnemar(truth, first, second)
    assert (found["first_alone"], found["second_alone"]) == (1, 9)
    assert found["p_value"] == pytest.approx(22 / 1024)
    assert mcnemar(truth, first, first)["p_value"] == 1.0


def test_the_error_of_a_difference_is_that_of_pairs():
    """What both models get wrong alike is no part of it: it is far below that of either score."""
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(200)
    y = 3 * noise
    own, other = (scores_of_numbers(y, y + noise + d, None, "r2") for d in (0.0, 0.01))
    mae = judged(own, other, 200, 200)[2]
    assert mae["advantage_error"] < 0.05 * mae["standard_error"]
    errors = np.abs(noise) - np.abs(noise + 0.01)
    assert mae["value"] - mae["baseline"] == pytest.approx(errors.mean())
    assert mae["advantage_error"] == pytest.approx(errors.std() / np.sqrt(200), rel=0.2)


def test_correlations_of_predictions():
    """Of several responses it is the mean; a constant has none."""
    a, b = np.random.default_rng(2).standard_normal((2, 30, 2))
    expected = np.mean([pearsonr(a[:, j], b[:, j])[0] for j in range(2)])
    assert correlation(a, b) == pytest.approx(expected)
    assert correlation(a[:, 0], b[:, 0], ranks=True) == pytest.approx(spearmanr(a, b)[0][0, 2])
    assert correlation(a[:, 0], np.ones(30)) is None


@pytest.mark.parametrize(
    "case",
    [
        ("kind", ("--per-class",)),
        ("days,died", ()),
        *slow(("fat", ("--loss", "huber")), ("fat,ash", ())),
    ],
)
def test_every_family_can_be_compared(run, made, case):
    """Several classes, losses and responses, and survival times; a model equals itself."""
    target, more = case
    made("1.npz", 2, target)
    made("2.npz", 2, target, *more)
    document = compared(run, "1.npz", "2.npz", "1.npz", "new.csv")
    assert {row["of"] for row in document["features"]} <= {"", "a", "b", "c", "fat", "ash"}
    assert len(document["overlap"]["pairs"]) == 3
    assert document["overlap"]["pairs"][1] | {"models": 0} == {
        "models": 0, "shared": 2, "union": 2, "jaccard": 1.0,
    }  # fmt: skip
    for score in document["scores"][2]["scores"]:  # the third is the first
        assert score["difference"] == 0.0
        assert score["difference_error"] == 0.0
    text = run("compare", "1.npz", "2.npz", "1.npz", "new.csv").stdout
    assert "no difference between model 3 and model 1" in text


@pytest.mark.slow
def test_a_measure_is_scored_for_all(run, made):
    """Models that were not trained for it have it too; one alone has probabilities."""
    made("1.npz", 2, "ill", "--measure", "f1", "--positive", "no")
    model = made("2.npz", 2, "ill")
    document = compared(run, "1.npz", "2.npz", "new.csv")
    found = by_name(document, 1)
    expected = f1_score(made.new["ill"], model.predict(made.X), pos_label="no")
    assert found["f1"]["value"] == pytest.approx(expected)
    assert found["f1"]["difference"] is not None
    assert found["log_loss"]["value"] is not None
    assert found["log_loss"]["difference"] is None


def test_worse_models_are_said_to_be_worse(run, made):
    """One that lacks the feature that matters."""
    made("1.npz", 2, "fat")
    made("2.npz", 1, "fat", "--drop", "g2")
    text = " ".join(run("compare", "1.npz", "2.npz", "new.csv").stdout.split())
    assert "against model 1, model 2 is worse by R², root mean squared error" in text


def test_standard_input_is_read_for_every_model(run, made):
    """It can be read only once."""
    made("1.npz", 1, "ill")
    made("2.npz", 2, "ill")
    keys = [*(f"g{j}" for j in range(6)), "ill"]
    rows = zip(*(made.new[key].tolist() for key in keys), strict=True)
    text = "\n".join(json.dumps(dict(zip(keys, row, strict=True))) for row in rows)
    arguments = ["compare", "1.npz", "2.npz", "-", "--json"]
    result = typer.testing.CliRunner().invoke(cli.app, arguments, input=text)
    document = json.loads(result.stdout)
    from_file = compared(run, "1.npz", "2.npz", "new.csv")
    assert document["scores"] == from_file["scores"]
    assert document["data"]["source"] == "-"


def test_what_cannot_be_compared_is_refused(run, fails, made, tmp_path):
    """Models of other targets, or features that may not be the same."""
    made("ill.npz", 1, "ill")
    made("more.npz", 2, "ill")
    made("kind.npz", 1, "kind")
    made("fat.npz", 1, "fat")
    made("ash.npz", 1, "ash")
    assert "two models or more; got ill.npz." in fails("compare", "ill.npz")
    message = fails("compare", "ill.npz", "new.csv")
    assert "got ill.npz and new.csv, which is no model file" in message
    message = fails("compare", "ill.npz", "kind.npz")
    assert "ill.npz predicts the classes no, yes, kind.npz the classes a, b, c" in message
    assert "no, yes, fat.npz numbers" in fails("compare", "ill.npz", "fat.npz")
    assert "that of fat.npz is fat, that of ash.npz ash" in fails("compare", "fat.npz", "ash.npz")
    renamed = compared(run, "fat.npz", "ash.npz", "new.csv", "--target", "ash")
    assert renamed["data"]["target"] == "ash"
    message = fails("compare", "ill.npz", "more.npz", "--target", "ill")
    assert "--target is of DATA; name DATA after the models" in message
    bare = {key: made.new[key] for key in ("g0", "g1", "g2", "g3", "g4", "g5")}
    write_csv(tmp_path / "bare.csv", bare)
    message = fails("compare", "ill.npz", "more.npz", "bare.csv")
    assert "nothing to compare predictions with" in message
    write_csv(tmp_path / "few.csv", {"g5": made.new["g5"], "ill": made.new["ill"]})
    assert "needs the feature 'g1'" in fails("compare", "ill.npz", "more.npz", "few.csv")
    np.savez(tmp_path / "plain.npz", X=made.X, y=(made.new["ill"] == "yes").astype(int))
    run("select", "plain.npz", "-k", "1", "--no-cv", "-q", "-o", "numbers.model.npz")
    np.savez(tmp_path / "wide.npz", X=np.tile(made.X, 2), y=(made.X[:, 0] > 0).astype(int))
    run("select", "wide.npz", "-k", "1", "--no-cv", "-q", "-o", "wide.model.npz")
    message = fails("compare", "numbers.model.npz", "wide.model.npz")
    assert "numbers.model.npz is of 6, wide.model.npz of 12" in message


def test_models_that_take_other_rows_are_told_what_differs(run, fails, tmp_path):
    """They were said to have other targets, which the user would look for in vain."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))
    kind = np.where(X[:, 0] > 0, "a", "b")
    names = [f"S{i}" for i in range(40)]
    write_csv(tmp_path / "x.csv", {"": names, **{f"g{j}": X[:, j] for j in range(4)}})
    batch = np.where(np.arange(40) % 8 == 3, "", np.array(["B1", "B2"])[np.arange(40) % 2])
    write_csv(tmp_path / "s.csv", {"id": names, "kind": kind, "batch": batch})
    given = ("--samples", "s.csv", "--target", "kind", "--covariates", "batch", "-k", 1, "--no-cv")
    run("select", "x.csv", *given, "-q", "-o", "1.npz", "--missing", "indicator")
    run("select", "x.csv", *given, "-q", "-o", "2.npz")
    said = fails("compare", "1.npz", "2.npz", "x.csv", "--samples", "s.csv")
    assert "on the same rows, and 1.npz takes 40 and 2.npz takes 35 of them" in said
    assert "5 samples left out: no covariate 'batch'" in said
    assert "1.npz fills gaps by indicator; 2.npz fills no gaps" in said
    assert "other targets" not in said
    asked = ("compare", "1.npz", "2.npz", "x.csv", "--samples", "s.csv", "--where", "batch != ''")
    assert json.loads(run(*asked, "--json").stdout)["data"]["n_samples"] == 35
