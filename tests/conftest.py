"""Shared data of the tests: small, seeded, with properties that are asserted here."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import typer.testing

from zeronorm import cli

COMMAND = typer.main.get_command(cli.app)  # made once: typer would make it for every call
BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))  # whose competitors are tested, where it is here
collect_ignore = [] if BENCHMARKS.is_dir() else ["test_baselines.py"]
LONG = frozenset((Path(__file__).parent / "slow.txt").read_text(encoding="utf-8").splitlines())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark slow what slow.txt lists: a test, or one of its cases."""
    for item in items:
        function = getattr(item, "originalname", item.name)
        if {f"{item.path.name}::{name}" for name in (item.name, function)} & LONG:
            item.add_marker(pytest.mark.slow)


def slow(*values):
    """Return further cases of a parametrized test, which run with the slow tests only."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def slow_among(values, *named):
    """Return cases of a parametrized test of which those named run with the slow tests only."""
    return [*(one for one in values if one not in named), *slow(*named)]


def foreign_options(command, told):
    """Return the options in messages that a command does not have, nor the one that they name."""
    found = []
    for line in told.splitlines():
        if "No such option" in line:  # which tells the one that was given
            continue
        for part in re.split(r"(?<=[.;:]) ", line):
            part = re.sub(r"\bplink2? .*", "", part)  # which has options of its own
            other = re.search(r"zeronorm (\w+)", part)
            named = other[1] if other and other[1] in cli.COMMANDS else command
            own = COMMAND.commands[named].params
            known = {"--help", *(name for one in own for name in (*one.opts, *one.secondary_opts))}
            found += {*re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", part)} - known
    return found


def write_csv(path, columns):
    """Write columns, by their names, as a CSV file."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(np.asarray(one).tolist() for one in columns.values()), strict=True))


def make_classification(n, p, informative=4, n_classes=2, seed=0, noise=0.5):
    """Gaussian X, labels 0..n_classes-1 from a sparse linear model with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    w = np.zeros((p, n_classes))
    for c in range(n_classes):
        chosen = rng.permutation(min(p, 3 * n_classes + informative))[:informative]
        w[chosen, c] = rng.choice([-1, 1], informative) * rng.uniform(1, 2, informative)
    score = X @ (w[:, 1:2] if n_classes == 2 else w)
    score = score + noise * rng.logistic(size=score.shape)
    y = (score[:, 0] > 0.3).astype(int) if n_classes == 2 else score.argmax(axis=1)
    counts = np.bincount(y, minlength=n_classes)
    assert counts.min() >= n // (4 * n_classes)
    return X, y


@pytest.fixture(scope="session")
def binary():
    """(X, y) of shape (120, 40), labels 0 and 1; columns of different units and offsets."""
    X, y = make_classification(120, 40, seed=1)
    rng = np.random.default_rng(2)
    X = X * 10 ** rng.uniform(-2, 2, 40) + rng.uniform(-3, 3, 40)
    X.flags.writeable = y.flags.writeable = False
    return X, y


@pytest.fixture(scope="session")
def multiclass():
    """(X, y) of shape (150, 25), labels 0, 1 and 2."""
    X, y = make_classification(150, 25, n_classes=3, seed=3)
    X.flags.writeable = y.flags.writeable = False
    return X, y


@pytest.fixture(scope="session")
def signed():
    """(X, y) of shape (150, 60) for the functional interface: unit columns, labels -1 and +1."""
    X, y = make_classification(150, 60, informative=6, seed=4)
    X.flags.writeable = False
    labels = np.where(y == 1, 1.0, -1.0)
    labels.flags.writeable = False
    return X, labels


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in an empty folder, without calibration unless told; return its result."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(typer.testing, "_get_command", lambda app: COMMAND)

    def run(*arguments, code=0, calibrate=False):
        # Else every fit is six.
        if arguments[:1] == ("select",) and not calibrate and "--calibrate" not in arguments:
            arguments = ("select", "--no-calibrate", *arguments[1:])
        result = typer.testing.CliRunner().invoke(cli.app, [str(one) for one in arguments])
        assert result.exit_code == code, result.output
        if arguments[:1] and arguments[0] in cli.COMMANDS:
            assert not foreign_options(arguments[0], result.stderr), result.stderr
        return result

    return run


@pytest.fixture
def piped(run):
    """Run the command with bytes on standard input; return its result."""

    def piped(content, *arguments, code=0):
        result = typer.testing.CliRunner().invoke(cli.app, [*map(str, arguments)], input=content)
        assert result.exit_code == code, result.output
        return result

    return piped


@pytest.fixture
def fails(run):
    """Run a command that must fail with one line on stderr; return the line."""

    def fails(*arguments, code=2):
        result = run(*arguments, code=code)
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        assert result.stderr.startswith("Error: ")
        assert "Traceback" not in result.output
        return result.stderr.strip()

    return fails
