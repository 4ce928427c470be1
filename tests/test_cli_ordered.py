"""The command with ordered classes: what it prints, writes and refuses."""

import csv
import json

import numpy as np
import pytest

from conftest import write_csv
from zeronorm import BudgetClassifier
from zeronorm.methods import L0

rng = np.random.default_rng(5)
X = rng.standard_normal((90, 6))
STAGE = np.digitize(X[:, 1] - X[:, 4] + 0.6 * rng.logistic(size=90), [-0.7, 1.2])
NAMES = np.array(["none", "mild", "severe"])


@pytest.fixture
def data(tmp_path):
    """Return the name of a file of features, stages as numbers and as text."""
    columns = {f"x{j}": X[:, j] for j in range(6)} | {"stage": STAGE}
    write_csv(tmp_path / "numbers.csv", columns)
    write_csv(tmp_path / "text.csv", columns | {"stage": NAMES[STAGE]})
    return tmp_path


def words(result):
    return " ".join(result.stdout.split())


def test_numbers_are_ordered_by_their_size(run, data):
    """Odds ratios, thresholds or the certificate would be missing, or of another model."""
    text = words(run("select", "numbers.csv", "-k", "2", "--target", "stage", "--task", "ordered"))
    model = BudgetClassifier(2, loss="ordinal", calibrate=False).fit(X, STAGE)
    assert "stage: ordered, 0 " in text
    assert " < 1 " in text
    assert "odds ratio" in text
    assert "2 features above 1: raises the class" in text
    assert "factor on the odds of a higher class" in text
    low, high = model.thresholds_
    assert f"thresholds 0 | {low:.4g} | 1 | {high:.4g} | 2" in text
    assert "ordinal logistic loss, C = 0.1" in text
    assert "against" not in text
    result = run("select", "numbers.csv", "-k", "2", "--target", "stage", "--task", "ordered",
                 "--no-cv", "--json")  # fmt: skip
    document = json.loads(result.stdout)
    (found,) = document["models"]
    assert document["classes"] == [0, 1, 2]
    assert document["data"]["task"] == "ordered"
    np.testing.assert_allclose(found["thresholds"], model.thresholds_)
    coef = {row["index"]: row["coefficient"] for row in found["features"]}
    np.testing.assert_allclose([coef[j] for j in model.support_], model.coef_[0, model.support_])


def test_text_has_the_order_that_is_said(run, data):
    """Text would be ordered by the alphabet, or files be of other classes."""
    given = ("text.csv", "--target", "stage")
    text = words(run("select", *given, "-k", "2", "--order", "none, mild,severe", "-o", "m.npz",
                     "--prove", "--gap", "0", "--no-cv"))  # fmt: skip
    assert "ordered, none " in text
    assert "none | " in text
    model = BudgetClassifier(2, loss="ordinal", method=L0(gap=0.0), calibrate=False).fit(X, STAGE)
    assert "verified" in words(run("verify", "m.certificate.npz", "text.csv"))
    assert "classes none < mild < severe" in words(run("info", "m.npz"))
    text = words(run("predict", "m.npz", "text.csv", "--proba", "-o", "p.csv"))
    assert f"accuracy {model.score(X, STAGE):.3f}" in text
    with open("p.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["sample", "prediction", "p(none)", "p(mild)", "p(severe)"]
    assert [row[1] for row in rows[1:]] == NAMES[model.predict(X)].tolist()
    found = np.array([row[2:] for row in rows[1:]], float)
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("text.csv", "--task", "ordered"), "text, which has no order; say --order"),
        (("text.csv", "--order", "none,mild"), "--order must have every class"),
        (("text.csv", "--order", "none,mild,mild,severe"), "--order must have every class"),
        (("text.csv", "--order", "none,mild,severe", "--task", "numbers"), "--order is of ordered"),
        (("numbers.csv", "--task", "ordered", "--no-intercept"), "whose thresholds"),
        (("numbers.csv", "--task", "ordered", "--per-class"), "--per-class is of classes"),
        (("numbers.csv", "--task", "ordered", "--measure", "f1"), "--measure is of classes"),
        (("numbers.csv", "--task", "ordered", "--offset", "x1"), "--offset and --exposure"),
        (("numbers.csv", "--task", "ordered", "--method", "l1"), "greedy, l0, minimax, bilevel"),
        (("numbers.csv", "--task", "ordered", "--target", "x1"), "cannot be classes"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(fails, data, arguments, message):
    """An order would be guessed, or an option be ignored."""
    target = () if "--target" in arguments else ("--target", "stage")
    assert message in fails("select", *arguments, *target, "-k", "1")
