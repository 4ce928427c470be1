"""Ctrl-C in `zeronorm select`: what is finished is kept, what is not is told."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from golub import GOLUB, load_golub
from zeronorm import BudgetClassifier, persistence
from zeronorm.cli.selection import ranges
from zeronorm.estimators import folds as _folded
from zeronorm.solvers import greedy_steps, l0, selection
from zeronorm.solvers.checkpoint import ScanJournal

NO_FOLDS = ("--rule", "all", "--no-cv")


@pytest.fixture(autouse=True)
def interruptible():
    """A shell that runs the tests in the background has SIGINT ignored, in their commands too."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture
def interrupt(monkeypatch):
    """Send SIGINT at the given calls, from 1, of a function of a module or class."""

    def interrupt(owner, name, *calls):
        own, count = getattr(owner, name), iter(range(1, 10_000))

        def interrupted(*arguments, **options):
            if next(count) in calls:
                signal.raise_signal(signal.SIGINT)
            return own(*arguments, **options)

        monkeypatch.setattr(owner, name, interrupted)

    return interrupt


def same_models(sizes, k, method="auto"):
    """Whether the files of these sizes hold the models of an uninterrupted fit of all of k."""
    golub = load_golub()
    whole = BudgetClassifier(k, method=method, calibrate=False).fit(golub.X, golub.y)
    for size in sizes:
        model = persistence.load(f"golub-k{size}.model.npz")
        np.testing.assert_array_equal(model.support_, whole.path_[size].support)
        np.testing.assert_array_equal(model.coef.ravel(), whole.path_[size].coef)


def test_finished_sizes_are_kept(run, interrupt):
    """Twelve sizes would be lost for the sake of the last one, or kept as others than they are."""
    interrupt(selection, "refit_support", 5)
    result = run("select", GOLUB, "-k", "1:12", code=130)
    assert result.stderr.splitlines()[0] == (
        "Note: interrupted: the sizes 9 to 12 are finished, 1 to 8 are lacking; nothing is "
        "calibrated or cross-validated."
    )
    assert result.stderr.endswith("Interrupted.\n")
    assert "the largest of the 4 sizes from 9 to 12" in result.stdout
    assert "not proven optimal: no 12 features lower the objective" in result.stdout
    assert sorted(os.listdir()) == sorted(f"golub-k{k}.model.npz" for k in range(9, 13))
    same_models(range(9, 13), range(1, 13))


def test_an_interrupt_of_a_scan(run, interrupt):
    """Scans are most of the time of large data, and belong to no procedure."""
    interrupt(ScanJournal, "scores", 10)
    document = json.loads(run("select", GOLUB, "-k", "1:12", "--json", code=130).stdout)
    assert document["interrupted"] == {"during": "selection", "lacking": [1, 2]}
    assert [model["n_features"] for model in document["models"]] == list(range(3, 13))
    assert all(model["certificates"][0]["gap"] < 0.1 for model in document["models"])
    same_models(range(3, 13), range(1, 13))


def test_an_interrupt_of_the_calibration(run, interrupt):
    """The folds that repeat the selection would take what they calibrate with them."""
    interrupt(ScanJournal, "scores", 10)
    result = run("select", GOLUB, "-k", "1:12", code=130, calibrate=True)
    assert "3 to 12 are finished, 1 to 2 are lacking" in result.stderr


def test_greedy_steps_are_kept(run, interrupt):
    """Each step of a greedy selection is a pass over the data, and its model is finished then."""
    interrupt(greedy_steps, "ranked", 4)
    result = run("select", GOLUB, "-k", "1:6", "--method", "greedy", code=130)
    assert "the sizes 1 to 3 are finished, 4 to 6 are lacking" in result.stderr
    same_models([1, 2, 3], range(1, 7), "greedy")


def test_one_file_is_named_for_all(run, interrupt):
    """Models of several sizes would overwrite each other in the file of the one to be chosen."""
    interrupt(_folded, "run_together", 1)
    result = run("select", GOLUB, "-k", "2,3", "-o", "m.model.npz", "--json", code=130)
    document = json.loads(result.stdout)
    assert document["interrupted"] == {"during": "cross-validation", "lacking": []}
    assert (document["rule"], document["models"][0]["cross_validation"]) == ("all", None)
    assert sorted(os.listdir()) == ["m-k2.model.npz", "m-k3.model.npz"]
    same = run("select", GOLUB, "-k", "2", "-o", "m.model.npz", code=0)
    assert "m.model.npz" in same.stdout


def test_an_interrupt_of_the_folds_keeps_one_size(run, interrupt):
    """A model that is fitted would be lost to the folds that only score it."""
    interrupt(_folded, "run_together", 1)
    result = run("select", GOLUB, "-k", 3, code=130)
    assert "Note: interrupted in the cross-validation, which is left out." in result.stderr
    assert "on the training data" in result.stdout
    assert os.listdir() == ["golub-k3.model.npz"]


def test_an_interrupt_between_the_nodes_of_a_proof(run, interrupt):
    """The model of a proof would be lost where the interrupt meets one of its scans."""
    interrupt(l0, "prove_support", 2)
    proof = ("select", GOLUB, "-k", "7,8", "--prove", "--time-limit", 1, *NO_FOLDS)
    document = json.loads(run(*proof, "--json", code=130).stdout)
    first, second = document["models"]
    assert document["interrupted"] == {"during": "selection", "lacking": []}
    assert first["proofs"][0]["status"] in ("TIME_LIMIT", "GAP")
    assert second["proofs"] == [None]
    for model in (first, second):
        assert 0 < model["certificates"][0]["gap"] < 0.1
        file = model["certificate_file"]
        assert "verified" in run("verify", file, GOLUB).stdout


@pytest.mark.parametrize("calls", [(1,), (10, 11)])
def test_nothing_finished_or_a_second_one(run, interrupt, calls):
    """Ctrl-C would not end the command, or leave something half done."""
    interrupt(ScanJournal, "scores", *calls)
    result = run("select", GOLUB, "-k", "1:12", code=130)
    assert (result.stdout, result.stderr) == ("", "Interrupted.\n")
    assert os.listdir() == []


def test_with_a_checkpoint_nothing_is_ended(run, monkeypatch):
    """The file would be gone, or be that of another fit, where the command is to go on."""
    whole = ("select", GOLUB, "-k", "1:12", "--rule", "all", "--no-cv", "--json")
    command = (*whole, "--checkpoint", "c")
    count = iter(range(1, 100))
    own = selection.refit_support

    def interrupted(*arguments):
        if next(count) == 5:
            signal.raise_signal(signal.SIGINT)
        return own(*arguments)

    monkeypatch.setattr(selection, "refit_support", interrupted)
    assert run(*command, code=130).stdout == ""
    assert os.listdir() == ["c"]
    again, other = (json.loads(run(*one).stdout) for one in (command, whole))
    assert again["models"] == other["models"]
    assert "c" not in os.listdir()


@pytest.mark.slow
def test_a_process(tmp_path):
    """A signal from outside would meet other code than a raised one."""
    code = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from zeronorm.solvers import selection
own, count = selection.refit_support, iter(range(1, 100))
def refit_support(*arguments, **options):
    if next(count) == 5:
        print("ready", file=sys.stderr, flush=True)
        while True:  # until the signal comes
            signal.pause()
    return own(*arguments, **options)
selection.refit_support = refit_support
from zeronorm.cli import main
main()
"""
    arguments = ["select", GOLUB, "-k", "1:12", "--no-calibrate", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "Interrupted.\n")
    assert json.loads(out)["interrupted"]["lacking"] == list(range(1, 9))
    assert len(os.listdir(tmp_path)) == 4


@pytest.mark.parametrize(
    ("sizes", "text"), [([3], "3"), ([1, 2, 3, 7, 9, 10], "1 to 3, 7, 9 to 10")]
)
def test_ranges(sizes, text):
    """A note would list sixty numbers, or leave one out."""
    assert ranges(sizes) == text
