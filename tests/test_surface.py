"""The public surface: what is imported where, and what every estimator has after `fit`."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path as FilePath
from typing import get_type_hints

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

import zeronorm
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Classifier,
    L1ClassifierCV,
    L1Regressor,
    L1RegressorCV,
    L1SurvivalAnalysis,
    L1SurvivalAnalysisCV,
    MeasureClassifier,
    methods,
    published,
)
from zeronorm.core.results import Certificate, Path, Proof, Step
from zeronorm.estimators import L1Path
from zeronorm.methods import METHODS

SOURCE = FilePath(zeronorm.__file__).parent
SUBMODULES = [
    one.stem
    for one in SOURCE.iterdir()
    if not one.stem.startswith("_") and (one.suffix == ".py" or (one / "__init__.py").is_file())
]


def imported(path: FilePath) -> set[str]:
    """Return the modules that a file of the package imports, with their full names."""
    package = ("zeronorm", *path.relative_to(SOURCE).parts[:-1])
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


@pytest.mark.slow
def test_nothing_imports_the_published_algorithms() -> None:
    """A user of the main path would load them, and could not do without them."""
    for path in SOURCE.rglob("*.py"):
        if path.is_relative_to(SOURCE / "published") or path == SOURCE / "__init__.py":
            continue
        assert not any(name.startswith("zeronorm.published") for name in imported(path)), path


def test_the_documentation_has_every_method() -> None:
    """A method or an option would be there that nobody can find, or be described and not be
    there.
    """
    text = (FilePath(__file__).parents[1] / "docs" / "api.md").read_text()
    for name, kind in METHODS.items():
        options = ", ".join(f"{one.name}={one.default!r}" for one in fields(kind))
        assert f'`{kind.__name__}({options})` | "{name}"'.replace("'", '"') in text
        assert {kind.__name__, "METHODS"} <= set(dir(methods))


def test_public_names() -> None:
    """A name that is not there, or one that nobody has decided to make public."""
    assert len(zeronorm.__all__) <= 34
    for name in zeronorm.__all__:
        assert getattr(zeronorm, name) is not None


# --------------------------------------------------------------------------- results of `fit`

GROUPS = {"feature_groups": np.repeat(np.arange(6), 2), "n_groups": 2}
BOTH = {"n_features": 3, **GROUPS}
FOUND = "size_ path_ history_ n_scans_ seconds_"
SELECTED = f"{FOUND} C_ method_"
GROUPED = f"{SELECTED} groups_"
CERTIFIED = f"{SELECTED} certificate_ gap_ criteria_"
CURVES = "unique_times_ cum_baseline_hazard_ baseline_survival_"
SOLVED = "C_ objective_ gap_ history_ n_iter_ n_scans_ seconds_"
# Every estimator with the results that it has, beside those of a linear model.
FOLDED = f"{SOLVED} Cs_ C_best_ C_1se_ scores_ mean_score_ standard_error_ n_selected_ l1_path_"
SURVIVAL = (BudgetSurvivalAnalysis, L1SurvivalAnalysis, L1SurvivalAnalysisCV)
TABLE = [
    (BudgetClassifier(3), CERTIFIED),
    (BudgetClassifier(3, loss="squared_hinge", refit_C=1.0), CERTIFIED),
    *((BudgetClassifier(3, method=name), CERTIFIED) for name in METHODS if name != "bilevel"),
    (BudgetClassifier(3, method=methods.L0(gap=0.5)), f"{CERTIFIED} proof_"),
    (BudgetClassifier(3, criterion="bic"), CERTIFIED),
    (BudgetClassifier(**GROUPS), f"{CERTIFIED} groups_"),
    (BudgetClassifier(**GROUPS, method="greedy"), f"{CERTIFIED} groups_"),
    (BudgetClassifier(**BOTH), f"{SELECTED} groups_ criteria_"),
    (BudgetClassifier(**BOTH, loss="squared_hinge"), f"{SELECTED} groups_"),
    (
        BudgetClassifier(**BOTH, loss="squared_hinge", refit_C="loo"),
        f"{SELECTED} groups_ criteria_",
    ),
    *((BudgetRegressor(3, method=name), CERTIFIED) for name in METHODS if name != "bilevel"),
    (BudgetRegressor(3), CERTIFIED),
    (BudgetRegressor(3, criterion="bic"), CERTIFIED),
    *((BudgetRegressor(3, loss=name), CERTIFIED) for name in ("huber", "quantile", "poisson")),
    (BudgetRegressor(3, loss="gamma", method=methods.L0(gap=0.5)), f"{CERTIFIED} proof_"),
    (BudgetRegressor(**BOTH, loss="poisson", refit_C="loo"), f"{GROUPED} criteria_"),
    (BudgetSurvivalAnalysis(3), f"{CERTIFIED} {CURVES}"),
    (BudgetSurvivalAnalysis(**GROUPS), f"{CERTIFIED} groups_ {CURVES}"),
    (BudgetSurvivalAnalysis(**BOTH, refit_C=1.0), f"{GROUPED} criteria_ {CURVES}"),
    (BudgetRegressor(**GROUPS), f"{CERTIFIED} groups_"),
    (BudgetRegressor(**BOTH), GROUPED),
    (BudgetRegressor(**BOTH, refit_C="loo"), f"{GROUPED} criteria_"),
    (L1Classifier(0.2), SOLVED),
    (L1Classifier(n_features=3), f"{SOLVED} refit_C_"),
    (L1Classifier(n_features=3, refit_C=None), SOLVED),
    (L1Classifier(0.2, multi_class="multinomial"), SOLVED),
    (L1ClassifierCV(10, cv=2), FOLDED),
    (L1Regressor(0.2), SOLVED),
    (L1Regressor(n_features=3), f"{SOLVED} refit_C_"),
    (L1RegressorCV(10, cv=2), FOLDED),
    (L1Regressor(0.2, loss="poisson"), SOLVED),
    (L1RegressorCV(10, cv=2, loss="poisson"), FOLDED),
    (L1SurvivalAnalysis(0.2), f"{SOLVED} {CURVES}"),
    (L1SurvivalAnalysis(n_features=3, refit_C=1.0), f"{SOLVED} refit_C_ {CURVES}"),
    (L1SurvivalAnalysisCV(10, cv=2), f"{FOLDED} {CURVES}"),
    (MeasureClassifier("f1", 3), f"{FOUND} gap_"),
    (MeasureClassifier("f1", 3, refit=False), FOUND),
    (published.L0LogisticRegression(3), CERTIFIED),
    (published.MinimaxLogisticRegression(3), CERTIFIED),
    (published.FeatureGeneratingMachine(3), CERTIFIED),
    (published.GreedyLogisticRegression(3), CERTIFIED),
    (
        published.BilevelClassifier(3, 2, feature_groups=GROUPS["feature_groups"]),
        f"{SELECTED} groups_ criteria_ n_iter_",
    ),
    (published.BilevelRegressor(3), f"{SELECTED} groups_ n_iter_"),
    (published.L1LogisticRegression(0.2), SOLVED),
    (published.ReweightedL1LogisticRegression(0.2), SOLVED),
    (published.TwoLayerClassifier("f1", 3), f"{FOUND} gap_"),
]
LINEAR = {"support_", "coef_", "intercept_", "n_features_in_"}
# What every result is, of one problem; of several classes it is a tuple of these, in their order.
PER_CLASS = {
    "path_": Path,
    "certificate_": Certificate,
    "proof_": Proof,
    "history_": tuple,
    "objective_": float,
    "refit_C_": float,
    "l1_path_": L1Path,
}
OVERALL = {
    "gap_": float,
    "criteria_": dict,
    "n_iter_": int,
    "n_scans_": int,
    "seconds_": dict,
    "groups_": np.ndarray,
    "size_": (int, tuple),
}


def results_of(model) -> set[str]:
    """Return the public attributes that a fit has set."""
    names = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    return {name for name in names if hasattr(model, name)}


def table_data(model, n_classes=2):
    """Return data that an estimator can be fitted on."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 12))
    z = X[:, 2] - X[:, 5] + 0.5 * X[:, 7] + 0.3 * rng.standard_normal(90)
    if isinstance(model, SURVIVAL):
        event = np.resize([True, True, False], 90)
        return X, np.rec.fromarrays([event, np.exp(-z)], names="event,time")
    if is_regressor(model):
        positive = getattr(model, "loss", "") in ("poisson", "gamma")
        return X, np.ceil(np.exp(z)) if positive else z
    return X, np.digitize(z, np.quantile(z, np.arange(1, n_classes) / n_classes))


each_row = pytest.mark.parametrize(("model", "results"), TABLE, ids=lambda value: str(value)[:60])


@each_row
@pytest.mark.filterwarnings("ignore")
def test_every_estimator_has_the_results_of_the_table(model, results):
    """A result would be None or NaN, of another type than elsewhere, or left from another fit."""
    X, y = table_data(model)
    assert not results_of(clone(model))
    fitted = clone(model).fit(X, y)
    classes = {"classes_"} if is_classifier(model) else set()
    if isinstance(model, BudgetClassifier) and "multi_class" in model.get_params():
        classes.add("multi_class_")
    linear = LINEAR - ({"intercept_"} if isinstance(model, SURVIVAL) else set())
    assert results_of(fitted) == linear | classes | set(results.split())
    for name, kind in {**PER_CLASS, **OVERALL}.items():
        if name in results.split():
            value = getattr(fitted, name)
            assert isinstance(value, kind), name
            assert not (isinstance(value, float) and np.isnan(value)), name
    for step in fitted.history_:
        assert isinstance(step, Step)
    if "criteria_" in results.split():
        table = fitted.criteria_
        assert not any(np.isnan(column).any() for column in table.values())
        counts = [fitted.path_[size].support.size for size in fitted.path_]
        np.testing.assert_allclose(table["aic"], 2.0 * (table["log_loss"] + counts))
    if "certificate_" in results.split():
        assert fitted.gap_ == fitted.certificate_.gap


@each_row
@pytest.mark.filterwarnings("ignore")
def test_results_of_several_classes_are_in_their_order(model, results):
    """A user would read the result of one class for another, or none, or two types."""
    if not is_classifier(model):
        return
    model = clone(model)
    if "calibrate" in model.get_params():
        model.set_params(calibrate=False)  # the classes share one number
    if "multi_class" in model.get_params():
        model.set_params(multi_class="ovr")
    X, y = table_data(model, n_classes=3)
    names = np.array(["b", "c", "a"])[y]
    several = clone(model).fit(X, names)
    assert several.classes_.tolist() == ["a", "b", "c"]
    for name in set(results.split()) & set(PER_CLASS):
        assert type(getattr(several, name)) is tuple, name
        assert [isinstance(one, PER_CLASS[name]) for one in getattr(several, name)] == [True] * 3
    if "path_" in results.split() and getattr(model, "criterion", None) is None:
        for label, path in zip(several.classes_, several.path_, strict=True):
            own = clone(model).fit(X, names == label).path_
            np.testing.assert_array_equal(own[max(own)].support, path[max(path)].support)


def test_results_of_an_earlier_fit_do_not_stay():
    """A certificate of other data and another method would be taken for that of the model."""
    X, y = table_data(BudgetClassifier())
    model = BudgetClassifier(3, method=methods.L0(gap=0.5)).fit(X, y)
    model.set_params(**BOTH, method="auto").fit(X, y)
    gone = ("certificate_", "gap_", "proof_")
    assert not [name for name in gone if hasattr(model, name)]
    model.set_params(n_features=3, n_groups=None, feature_groups=None).fit(X, y)
    assert model.certificate_.support.size == 3
    assert not hasattr(model, "groups_")


def test_classes_have_few_bases():
    """What a method does would be spread over a tower of classes again."""
    for name in zeronorm.__all__:
        kind = getattr(zeronorm, name)
        if isinstance(kind, type):
            own = [base for base in kind.__mro__[1:] if base.__module__.startswith("zeronorm")]
            own = [base for base in own if base.__name__ != "NestedParameters"]  # of every one
            assert len(own) <= 3, own


def test_annotations_of_parameters_are_types():
    """Tools that read them would fail at the names that a base has from its own module."""
    for name in zeronorm.__all__:
        kind = getattr(zeronorm, name)
        if isinstance(kind, type) and issubclass(kind, BaseEstimator):
            known = get_type_hints(kind.__init__)
            assert known.keys() - {"return"} == inspect.signature(kind).parameters.keys()


def test_names_of_the_documentation_are_there_after_import_zeronorm():
    """`import zeronorm` and then zeronorm.inspection.prove, as pages say it, would be an error."""
    root = FilePath(__file__).parents[1]
    pages = [root / "README.md", *(root / "docs").rglob("*.md")]
    texts = [page.read_text() for page in pages]
    named = re.compile(r"(?<![\w/.'-])zeronorm((?:\.\w+)+)")
    written = {name for text in texts for name in named.findall(text)}
    rows = re.findall(r"^\| `([a-z_]+(?:\.\w+)+)", (root / "docs/api.md").read_text(), re.M)
    written |= {f".{name.removeprefix('zeronorm.')}" for name in (*rows, *SUBMODULES)}
    written = {name for name in written if not name.endswith((".git", ".md", ".npz"))}
    assert written > {".report", ".inspection.near_optimal", ".inference.StabilitySelection"}
    program = (
        "import functools, sys, zeronorm\n"
        "for name in sys.argv[1:]: functools.reduce(getattr, name[1:].split('.'), zeronorm)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *sorted(written)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="no attribute 'no_such_module'"):
        _ = zeronorm.no_such_module
