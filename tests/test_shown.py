"""How results show themselves: one line for a record, a table of features in a notebook."""

import numpy as np
import pytest
from sklearn import config_context

from conftest import make_classification
from golub import load_golub
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Classifier,
    MeasureClassifier,
    methods,
)
from zeronorm.persistence import load, save


@pytest.fixture(scope="module")
def proven():
    """A proven selection of two sizes."""
    X, y = make_classification(60, 30, seed=2)
    method = methods.L0(gap=0.0, time_limit=20)
    return BudgetClassifier([2, 3], method=method, calibrate=False).fit(X, y)


def test_records_are_one_line(proven):
    """A path in a session would print pages of arrays, and hide what it is."""
    path, model = proven.path_, proven.path_[3]
    shown = [path, model, model.certificate, model.proof, path.history, *path.history]
    if model.certificate.tree is not None:
        shown.append(model.certificate.tree)
    for record in shown[:4] + shown[5:]:
        text = repr(record)
        assert "\n" not in text
        assert "array" not in text
        assert len(text) < 250
        assert text.startswith(f"{type(record).__name__}(")
    assert repr(path).startswith("Path(sizes=[2, 3], n_candidates=")
    assert "status=" in repr(path)
    assert repr(model).startswith("Selection(k=3, refit_C=")
    assert f"gap={model.certificate.gap:.2%}" in repr(model)
    assert "improved=" in repr(model.proof)


def test_many_sizes_are_few_words():
    """The sizes of a long path would fill the line."""
    X, y = make_classification(60, 30, seed=2)
    path = BudgetRegressor(list(range(1, 15))).fit(X, X[:, 0] + y).path_
    assert repr(path).startswith("Path(sizes=[1, 2, 3, ..., 14], ")


def test_a_tree_is_one_line():
    """A proof with a tree would print the dual points of all nodes."""
    golub = load_golub()
    method = methods.L0(gap=0.0, time_limit=3)
    fitted = BudgetClassifier(3, method=method, calibrate=False).fit(golub.X, golub.y)
    tree = fitted.certificate_.tree
    assert tree is not None
    assert repr(tree).startswith(f"Tree(n_nodes={tree.parent.size}, n_examined=")
    assert len(repr(tree)) < 100


def test_notebooks_show_the_features():
    """A notebook would show parameters and not what was selected."""
    golub = load_golub()
    model = BudgetClassifier(3, calibrate=False)
    assert "<table>" not in model._repr_html_()[-200:]
    model.fit(golub.X, golub.y)
    html = model._repr_html_()
    assert "sk-" in html
    table = html[html.rindex("<table>") :]
    for j, coef in zip(model.support_, model.coef_[0, model.support_], strict=True):
        assert f"<td>x{j}</td><td>{j}</td><td>{coef:+.5g}</td>" in table
    assert "3 features of 3,051" in html
    assert f"certificate: gap {model.certificate_.gap:.2%}" in html
    assert f"leave-one-out loss {model.path_[3].loo_loss:.4g}" in html
    assert model._repr_mimebundle_()["text/html"].endswith("</table>")
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")


def test_names_are_escaped_and_classes_named():
    """A column's name would run in the notebook, or coefficients of classes would be mixed up."""
    pd = pytest.importorskip("pandas")
    X, y = make_classification(90, 8, n_classes=3, seed=1)
    frame = pd.DataFrame(X, columns=[f"<b>{j}</b>" for j in range(8)])
    model = BudgetClassifier(2, calibrate=False).fit(frame, np.array(["a", "b", "c"])[y])
    html = model._repr_html_()
    assert "<b>" not in html[html.rindex("<table>") :]
    assert "&lt;b&gt;" in html
    for label in "abc":
        assert f"<th>coefficient ({label})</th>" in html


def test_other_estimators_show_what_they_have():
    """A model without a certificate would fail to be shown."""
    X, y = make_classification(60, 130, seed=2)
    assert "duality gap" in L1Classifier(C=1.0).fit(X, y)._repr_html_()
    assert "gap of the measure" in MeasureClassifier("f1", n_features=3).fit(X, y)._repr_html_()
    many = BudgetRegressor(110).fit(X, X[:, 0] + y)._repr_html_()
    assert "and 10 more" in many


def test_loaded_models_are_a_line(tmp_path):
    """A loaded model would print its whole metadata over hundreds of lines."""
    golub = load_golub()
    model = BudgetClassifier(5, covariates=[7], calibrate=False).fit(golub.X, golub.y)
    save(model, tmp_path / "m.npz", feature_names=golub.feature_names)
    loaded = load(tmp_path / "m.npz")
    first = ", ".join(loaded.feature_names[:3])
    gap = f"certificate: gap {model.certificate_.gap:.2%}"
    assert repr(loaded) == (
        "LoadedClassifier(BudgetClassifier; 5 of 3,051 features and 1 covariate: "
        f"{first}, ...; classes: ALL, AML; {gap})"
    )
    html = loaded._repr_html_()
    assert gap in html
    for name, coef in zip(loaded.feature_names, loaded.coef[0], strict=True):
        assert f"<tr><td>{name}</td><td>{coef:+.5g}</td></tr>" in html
    assert f"<tr><td>(intercept)</td><td>{loaded.intercept_[0]:+.5g}</td></tr>" in html


def test_loaded_models_of_any_kind_are_shown(tmp_path):
    """A loaded model of several outputs, without names or of survival times would fail."""
    X, y = make_classification(90, 8, n_classes=3, seed=1)
    pairs = zip(np.arange(90) % 3 > 0, 1.0 + np.arange(90), strict=True)
    time = np.array([*pairs], dtype=[("event", bool), ("time", float)])
    for number, model in enumerate(
        [
            BudgetClassifier(2, calibrate=False).fit(X, np.array(["<a>", "b", "c"])[y]),
            BudgetRegressor(2).fit(X, np.column_stack([X[:, 0] + y, X[:, 1]])),
            BudgetSurvivalAnalysis(2).fit(X, time),
            L1Classifier(C=1.0).fit(X, y),
        ]
    ):
        loaded = load(save(model, tmp_path / f"{number}.npz"))
        assert len(repr(loaded)) < 250
        html = loaded._repr_html_()
        for j in loaded.columns:
            assert f"<td>x{j}</td>" in html
        assert "<a>" not in html
        heads = html.count("<th>coefficient")
        assert heads == len(loaded.coef)
