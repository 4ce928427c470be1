"""How far data travel before a solver has them: through few files, each of which adds something."""

import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import zeronorm as zn
from zeronorm.core.types import Design

PACKAGE = str(Path(zn.__file__).parent) + "/"
MOST = 12  # files whose functions get X, or the design made of it, before the first solver runs
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
    """Whether a value is X, a design, or a list or record of such."""
    if value is X or isinstance(value, Design):
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
        if name == "solvers/driver.py":  # it runs solvers, and nothing runs before it
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
