"""What is said where folds or half-samples lack a class, or a level of a covariate."""

import csv
import json
import shlex

import numpy as np
import pytest

N = 60


def write(path, rare, levels=("A", "B"), lone=False):
    """Write rows, those of some numbers of the level `rare` of the covariate; even ones are no."""
    rng = np.random.default_rng(0)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["y", "the batch", *(f"g{j}" for j in range(5))])
        for i in range(N):
            x = rng.standard_normal(5).round(3)
            label = "lone" if lone and i == 7 else ("no", "yes")[i % 2]
            level = "rare" if i in rare else levels[i % 4 >= 2 if len(levels) > 1 else 0]
            writer.writerow([label, level, *x])


@pytest.fixture
def select(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return ("select", "a.csv", "--target", "y", "-k", 1, "--no-save")


BESIDE = ("--covariates", "the batch")
WHERE = """--where '`the batch` != "rare"'"""


def test_a_fold_without_a_class_at_a_level(run, fails, select):
    """Somebody would leave out the covariate, or all folds, for two rows of sixty."""
    write("a.csv", (10, 11))
    said = fails(*select, *BESIDE)
    assert "(In the training rows of fold" in said
    assert said.endswith(f"Ways out: leave those rows out by {WHERE}; say --no-cv.")
    document = json.loads(run(*select, *BESIDE, *shlex.split(WHERE), "--json").stdout)
    assert document["data"]["n_samples"] == N - 2
    assert document["n_covariates"] == 1
    assert document["models"][0]["cross_validation"]["folds"] == 5
    run(*select, *BESIDE, "--no-cv")
    said = fails("cv", *select[1:-1], *BESIDE)
    assert WHERE in said
    assert "--no-cv" not in said  # which it does not have


def test_more_folds_have_more_training_rows(run, fails, select):
    """Folds would be given up where more of them are a way."""
    write("a.csv", (2, 3, 4, 5))
    said = fails(*select, *BESIDE, "--cv", 2)
    assert "more folds (--cv), whose training rows are more" in said
    run(*select, *BESIDE, "--cv", 20)


def test_the_level_that_has_no_feature(run, fails, select):
    """The first level is where the others are 0, and would not be told."""
    write("a.csv", [i for i in range(N) if i not in (4, 5)], ("A",))
    said = fails(*select, *BESIDE, "--cv", 5)
    assert """--where '`the batch` != "A"', and the batch out of --covariates""" in said


def test_halves_without_a_class_at_a_level(run, select):
    """Half-samples would be left out, and nobody would know what to do about it."""
    write("a.csv", (10, 11))
    halves = (*BESIDE, "--no-cv", "--stability", 5, "--json")
    notes = json.loads(run(*select, *halves).stdout)["notes"]
    (note,) = [one for one in notes if "half-sample" in one]
    assert note.endswith(f"A way out: leave those rows out by {WHERE}")
    document = json.loads(run(*select, *halves, *shlex.split(WHERE)).stdout)
    assert document["stability"]["n_left_out"] == 0


def test_forced_levels_that_are_all_of_a_model(run, select):
    """A model without any feature that was selected would pass for one with the best features."""
    write("a.csv", range(0, N, 5))
    forced = (*select[:-3], "--force", "the batch", "--no-save", "--no-cv", "--json", "-k")
    told = (
        "the 3 forced features (3 of 'the batch') take all of k = 3: none is left for others; "
        "raise --features, or keep them out of k by --covariates"
    )
    assert told in json.loads(run(*forced, 3).stdout)["notes"]
    assert told in json.loads(run(*forced, "3:4", "--rule", "all").stdout)["notes"]
    assert told not in json.loads(run(*forced, 4).stdout)["notes"]


def test_a_class_of_one_row(run, select):
    """The row that stands in the way of folds and halves would be looked for by hand."""
    write("a.csv", (), lone=True)
    where = "--where \"y != 'lone'\""
    notes = json.loads(run(*select, "--stability", 5, "--json").stdout)["notes"]
    assert f"no cross-validation: the class lone has one sample; leave it out by {where}" in notes
    assert any(note.endswith(f"Leave that row out by {where}") for note in notes)
    two = ("--where", "y != 'no'")  # of which one is left then
    notes = json.loads(run(*select, *two, "--stability", 5, "--json").stdout)["notes"]
    assert "no cross-validation: the class lone has one sample" in notes
    assert any(note.endswith("Leave that row out") for note in notes)
    document = json.loads(run(*select, *shlex.split(where), "--json").stdout)
    assert document["models"][0]["cross_validation"]["folds"] == 5
