"""The log of a run, and the logger of the package."""

import logging
import os
import re
import signal
from pathlib import Path

import pytest

import zeronorm
from zeronorm import BudgetClassifier
from zeronorm.estimators import _folded

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} (DEBUG|INFO|WARNING|ERROR) +(.*)")


def told(file="run.log"):
    """The lines of a log by their levels, without those of a traceback."""
    return [found.groups() for line in Path(file).read_text().splitlines()
            if (found := STAMP.fullmatch(line))]  # fmt: skip


def test_a_log_has_what_was_done(run):
    """Nobody could tell later what a run was asked for, with which versions, on which data."""
    result = run("select", "golub", "-k", 2, "--cv", 20, "--no-save", "--log", "run.log")
    assert "folds instead of 20" in result.stderr
    lines = told()
    texts = [text for _, text in lines]
    assert any(text.startswith(f"zeronorm {zeronorm.__version__}, Python 3.") for text in texts)
    assert {'option features = "2"', "option cv = 20", "phase: Reading golub"} <= {*texts}
    assert sum(level == "DEBUG" and text.startswith("pass ") for level, text in lines) > 10
    assert any("n_samples 38, n_features 3051, storage dense float32" in text for text in texts)
    assert any(text.startswith("note: 11 folds instead of 20") for text in texts)
    assert re.fullmatch(r"done after [\d.]+ s", texts[-1])


def test_a_log_goes_on(run):
    """An earlier run, or the reason why it failed, would be gone."""
    run("select", "golub", "-k", 0, "--log", "run.log", code=2)
    assert told()[-1][0] == "ERROR"
    assert "ValueError: --features must be at least 1" in Path("run.log").read_text()
    n_lines = len(told())
    run("info", "golub", "--log", "run.log")
    assert len(told()) > n_lines
    assert told()[-1][1].startswith("done")


def test_an_interrupt_is_logged(run, monkeypatch):
    """A log that ends in the middle would say nothing of why."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(_folded, "run_together", lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        run("select", "golub", "-k", 2, "--no-save", "--log", "run.log", code=130)
    finally:
        signal.signal(signal.SIGINT, previous)
    texts = [text for _, text in told()]
    assert "note: interrupted in the cross-validation, which is left out" in texts
    assert texts[-1].endswith("exit code 130")


@pytest.mark.parametrize("file", ["golub.csv", "none/run.log"])
def test_a_log_is_no_other_file(fails, file):
    """A log would be written behind the rows of the data."""
    assert "--log" in fails("select", "golub", "--log", file)
    assert os.listdir() == []


def test_the_logger_of_the_package(binary, caplog, capsys):
    """A program could not have the package in its own log, or would have it without asking."""
    model = BudgetClassifier(2)
    with caplog.at_level(logging.DEBUG, "zeronorm"):
        model.fit(*binary)
    (line,) = [record for record in caplog.records if record.levelno == logging.INFO]
    assert line.getMessage().startswith("BudgetClassifier on 40 features: size 2, ")
    passes = [record for record in caplog.records if record.levelno == logging.DEBUG]
    assert len(passes) == model.n_scans_
    assert capsys.readouterr() == ("", "")
