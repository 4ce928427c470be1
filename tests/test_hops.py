"""How far data travel before a solver has them: through few files, each of which adds something."""

import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import zeronorm as zn
from conftest import COMMAND
from zeronorm.cli.options import ReadingOptions
from zeronorm.core.types import Design
from zeronorm.io import Dataset

PACKAGE = str(Path(zn.__file__).parent) + "/"
MOST = 12  # files whose functions get X, or the design made of it, before the first solver runs
MOST_OF_COMMAND = 27  # files whose functions get DATA of select: the path, the table, X, the design
BEGINS = {("solvers/driver.py", "run"), ("solvers/driver.py", "run_together")}
SHAPE = (60, 8)  # of the data of the command
ESTIMATORS = {
    "classifier": lambda: zn.BudgetClassifier(2, calibrate=False),
    "regressor": lambda: zn.BudgetRegressor(2, C=1.0),
    "survival": lambda: zn.BudgetSurvivalAnalysis(2, C=1.0),
    "l1 classifier": lambda: zn.L1Classifier(C=0.1),
    "l1 regressor": lambda: zn.L1Regressor(C=0.1),
    "l1 survival": lambda: zn.L1SurvivalAnalysis(C=0.1),
}


def target_of(name, X):
    """The target of an estimator: labels, numbers or times."""
    z = np.asarray(X[:, [0]].todense() if sp.issparse(X) else X[:, [0]]).ravel()
    if "survival" in name:
        return zn.survival_target(np.exp(-z), np.ones(z.size, bool))
    return z > 0.1 if "classifier" in name else z


def carries(value, X, depth=2):
    """Whether a value is X, a table, a design, or a list or record of such."""
    if value is X or isinstance(value, (Design, Dataset)):
        return True
    if isinstance(value, (str, Path)):
        return str(value) == str(X)
    if isinstance(value, ReadingOptions):  # which are all options, not DATA alone
        return False
    if isinstance(value, np.ndarray) and value.shape == SHAPE and value is not X:
        return True
    if not depth:
        return False
    parts = value if isinstance(value, (tuple, list)) else ()
    if is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, one.name, None) for one in fields(value)]
    return any(carries(one, X, depth - 1) for one in parts)


def files_before_a_solver(fit, X):
    """The files with a function that X or a design is passed to, `self` of a design included."""
    found, running = set(), True

    def look(frame, event, _):
        nonlocal running
        code = frame.f_code
        if not running or event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        name = code.co_filename.removeprefix(PACKAGE)
        if (name, code.co_name) in BEGINS:  # nothing of a solver runs before it
            running = False
            return
        count = code.co_argcount + code.co_kwonlyargcount
        if any(carries(frame.f_locals.get(one), X) for one in code.co_varnames[:count]):
            found.add(name)

    sys.setprofile(look)
    try:
        fit()
    finally:
        sys.setprofile(None)
    assert not running
    return found


@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array, sp.csr_array])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_data_pass_through_few_files(name, storage):
    """Whoever follows a fit from its X to its solver reads a dozen files at most."""
    X = np.random.default_rng(0).standard_normal((40, 6))
    X, y = storage(np.where(X > 0, X, 0.0)), target_of(name, X)
    ESTIMATORS[name]().fit(X, y)  # what is imported on use is there
    found = files_before_a_solver(lambda: ESTIMATORS[name]().fit(X, y), X)
    assert {"estimators/base.py", "data/arrays.py"} <= found
    assert len(found) <= MOST, sorted(found)


def test_data_of_the_command_pass_through_few_files(tmp_path, monkeypatch):
    """Whoever follows DATA of select to the solver has to read no more files than now."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal(SHAPE)
    header = ",".join(["y", *(f"x{j}" for j in range(SHAPE[1]))])
    rows = [f"{'ab'[int(x[0] > 0)]},{','.join(map(str, x))}" for x in X]
    Path("d.csv").write_text("\n".join([header, *rows]) + "\n")
    words = ["select", "d.csv", "--target", "y", "-k", "2", "--no-cv", "--quiet"]
    COMMAND.main(words, standalone_mode=False)  # what is imported on use is there
    found = files_before_a_solver(lambda: COMMAND.main(words, standalone_mode=False), "d.csv")
    assert {"io/input.py", "io/read.py", "cli/target.py", "estimators/base.py"} <= found
    assert len(found) <= MOST_OF_COMMAND, "\n".join(sorted(found))
