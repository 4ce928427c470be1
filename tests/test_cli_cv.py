"""`zeronorm cv`: the folds of select, without its model."""

import json

import pytest

from golub import GOLUB


def scores(run, command, *arguments):
    document = json.loads(run(command, GOLUB, *arguments, "--json").stdout)
    return document, [model["cross_validation"]["mean"] for model in document["models"]]


@pytest.mark.parametrize(
    "options", [("-k", "1:4"), ("-k", "3", "--cv", "3"), ("-k", "1,3", "--rule", "best")]
)
def test_scores_are_those_of_select(run, tmp_path, options):
    """Another number would be chosen than select chooses, or files be left behind."""
    document, found = scores(run, "cv", *options)
    wanted_document, wanted = scores(run, "select", *options, "--no-save")
    assert found == wanted
    assert document["chosen"] == wanted_document["chosen"]
    assert document["chosen_by"] == wanted_document["chosen_by"]
    assert not list(tmp_path.iterdir())


def test_the_report_is_of_sizes_alone(run):
    """A reader who compares sizes would look for them among features and certificates."""
    text = run("cv", GOLUB, "-k", "1:4").stdout
    assert "cross-validated" in text
    assert "within one standard error" in text
    assert "coefficient" not in text
    assert "objective" not in text
    single = run("cv", GOLUB, "-k", "3").stdout
    assert "in 5-fold cross-validation" in single


def test_options_of_the_model_are_unknown(fails):
    """They would be taken without a word, and do nothing."""
    for option in (("--output", "m.npz"), ("--no-cv",), ("--prove",)):
        assert "No such option" in fails("cv", GOLUB, "-k", "2", *option)
