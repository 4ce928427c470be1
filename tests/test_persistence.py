"""Model files: the same predictions to the bit, and no damage that goes unnoticed."""

import dataclasses
import io
import os
import pickle
import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from archives import parts
from zeronorm import BudgetClassifier, BudgetRegressor, L1Classifier, L1ClassifierCV, certify
from zeronorm.core.files import FileError, MissingFileError
from zeronorm.core.groups import Groups
from zeronorm.io.table import Dataset
from zeronorm.persistence import (
    CertificateFileError,
    ModelFileError,
    load,
    load_certificate,
    save,
    save_certificate,
    write_file,
)
from zeronorm.persistence import certificates as certificates
from zeronorm.persistence import models as models
from zeronorm.persistence.models import MODEL
from zeronorm.published import (
    BilevelClassifier,
    FeatureGeneratingMachine,
    GreedyLogisticRegression,
    L0LogisticRegression,
    MinimaxLogisticRegression,
    ReweightedL1LogisticRegression,
)
from zeronorm.verification import CertificateError


@pytest.fixture(scope="module")
def fitted(binary):
    return BudgetClassifier([2, 5], n_threads=1, calibrate=False).fit(*binary)


@pytest.fixture
def path(fitted, tmp_path):
    return save(fitted, tmp_path / "a.model.npz")


# --- round trips ---------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["C", "F", "float32", "csr", "csc", "frame", "table", "list"])
def test_predictions_are_equal_to_the_bit(fitted, path, binary, storage):
    """A loaded model would predict otherwise than the one that was saved."""
    pd = pytest.importorskip("pandas")
    X = binary[0]
    X = {
        "C": lambda: X,
        "F": lambda: np.asfortranarray(X),
        "float32": lambda: X.astype(np.float32),
        "csr": lambda: sp.csr_array(X),
        "csc": lambda: sp.csc_matrix(X),
        "frame": lambda: pd.DataFrame(X),
        "table": lambda: Dataset(X, None),
        "list": lambda: X.tolist(),
    }[storage]()
    reference = np.asarray(X.X if isinstance(X, Dataset) else X) if storage != "csr" else X
    reference = X if storage == "csc" else reference
    model = load(path)
    np.testing.assert_array_equal(model.decision_function(X), fitted.decision_function(reference))
    np.testing.assert_array_equal(model.predict(X), fitted.predict(reference))
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(reference))


@pytest.mark.parametrize(("multi_class", "n_models"), [("multinomial", 1), ("ovr", 3)])
def test_multiclass_predictions_are_equal_to_the_bit(multiclass, tmp_path, multi_class, n_models):
    """Classes would be mixed up in the file."""
    X, y = multiclass
    names = np.array(["red", "green", "blue"])
    fitted = BudgetClassifier(4, multi_class=multi_class, n_threads=1).fit(X, names[y])
    model = load(save(fitted, tmp_path / "m"))
    assert model.classes_.tolist() == ["blue", "green", "red"]
    np.testing.assert_array_equal(model.decision_function(X), fitted.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert len(model.metadata["certificates"]) == n_models


@pytest.mark.parametrize(
    "labels", [[False, True], [1, 2], [-1.0, 2.0], ["é", "日本"], [np.int8(0), np.int8(1)]]
)
def test_classes_keep_their_type(binary, tmp_path, labels):
    """Labels would come back as another type."""
    X, y = binary
    values = np.array(labels)
    model = load(save(BudgetClassifier(2, calibrate=False).fit(X, values[y]), tmp_path / "m"))
    assert model.classes_.dtype == values.dtype
    np.testing.assert_array_equal(model.classes_, values)


def test_labels_of_a_data_frame(binary, tmp_path):
    """Pandas keeps strings as objects or in a type of its own; the file holds plain strings."""
    pd = pytest.importorskip("pandas")
    X, y = binary
    labels = pd.Series(np.array(["n", "p"], dtype=object)[y])
    model = load(save(BudgetClassifier(2, calibrate=False).fit(X, labels), tmp_path / "m"))
    assert model.classes_.tolist() == ["n", "p"]


def test_one_of_several_sizes(fitted, binary, tmp_path):
    """Another size than the one asked for would be saved."""
    model = load(save(fitted, tmp_path / "m", n_features=2))
    selection = fitted.path_[2]
    np.testing.assert_array_equal(model.support_, selection.support)
    np.testing.assert_array_equal(model.coef[0], selection.coef)
    with pytest.raises(ValueError, match=r"must be one of the fitted sizes \[2, 5\]; got 3"):
        save(fitted, tmp_path / "m", n_features=3)


def test_metadata(fitted, path):
    """A file would not say what model it holds, or how good it was proven to be."""
    metadata = load(path).metadata
    assert metadata["estimator"] == "BudgetClassifier"
    assert metadata["parameters"]["n_features"] == [2, 5]
    assert metadata["n_features_in"] == 40
    certificate = fitted.certificate_
    assert metadata["certificates"][0]["bound"] == certificate.bound
    assert metadata["certificates"][0]["gap"] == certificate.gap
    assert load(path).layout.n_features == 40


def test_loss_of_the_certificate_and_status_of_the_steps(binary, multiclass, tmp_path):
    """A model file would not tell what was certified, or which inner problems were solved."""
    for X, y in (binary, multiclass):
        fitted = FeatureGeneratingMachine([2, 5], tol=1e-18, calibrate=False).fit(X, y)
        metadata = load(save(fitted, tmp_path / "m", n_features=2)).metadata
        assert metadata["estimator"] == "FeatureGeneratingMachine"
        assert len(metadata["certificates"]) == len(metadata["history"]) == len(fitted._paths)
        assert {one["loss"] for one in metadata["certificates"]} == {"squared_hinge"}
        for path, steps in zip(fitted._paths, metadata["history"], strict=True):
            assert "STALLED" in [step["status"] for step in steps]
            for step, stored in zip(path.history, steps, strict=True):
                assert stored == {
                    "n_features": step.n_features,
                    "objective": step.objective,
                    "bound": step.bound,
                    "gap": step.extra["gap"],
                    "status": step.status.name,
                }


def test_steps_without_an_inner_problem_have_no_status(fitted, path):
    """A step that solved nothing would be recorded as solved."""
    (steps,) = load(path).metadata["history"]
    assert steps[0]["status"] == "CONVERGED"
    assert steps[-1]["status"] is None
    assert steps[-1]["gap"] is None


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("at", [0.05, 0.5, 0.9])
def test_a_threshold_is_kept(fitted, binary, tmp_path, positive, at):
    """A model would act from another probability on than the one that it was saved with."""
    X, y = binary
    label = fitted.classes_[positive]
    p = fitted.predict_proba(X)[:, positive]
    model = load(save(acting(fitted, at, label).fit(X, y), tmp_path / "m.npz"))
    np.testing.assert_array_equal(model.predict(X) == label, p >= at)
    told = {"positive": positive, "probability": at, "score": None, "rule": f"{at:g}"}
    assert model.metadata["threshold"] == told
    np.testing.assert_array_equal(model.predict_proba(X)[:, positive], p)


def acting(fitted, threshold, label=None):
    """Scikit-learn's classifier that predicts a class of a fitted model from a probability on."""
    return FixedThresholdClassifier(
        FrozenEstimator(fitted), threshold=threshold, pos_label=label,
        response_method="predict_proba",
    )  # fmt: skip


def test_a_threshold_that_a_row_reaches_exactly(fitted, binary, tmp_path):
    """At a score of 0 a row is of the first class, but at the threshold it is positive."""
    model = load(save(acting(fitted, 0.5).fit(*binary), tmp_path / "m.npz"))
    assert expit(model.cut) < 0.5 == expit(np.nextafter(model.cut, 1.0))  # as these are rounded
    assert model.cut < 0
    cut = load(save(acting(fitted, 0.5, fitted.classes_[0]).fit(*binary), tmp_path / "m.npz")).cut
    assert cut >= 0
    assert expit(-np.nextafter(cut, 1.0)) < 0.5 == expit(-cut)


def test_a_threshold_that_is_no_probability_is_refused(fitted, binary, tmp_path):
    """It would be in the file, and predict one class for all rows."""
    with pytest.raises(ValueError, match=r"above 0 and below 1; got 1\.0"):
        save(acting(fitted, 1.0).fit(*binary), tmp_path / "m.npz")
    assert not (tmp_path / "m.npz").exists()


def test_any_numpy_reads_the_file(path, fitted):
    """Models could not be read without this package."""
    arrays = parts(path)
    np.testing.assert_array_equal(arrays["support"], fitted.support_)
    assert sorted(arrays) == ["classes", "coef", "intercept", "metadata", "report", "support"]


# --- every classifier ----------------------------------------------------------------------

CLASSIFIERS = [
    BudgetClassifier(3),
    BudgetClassifier(3, method="l1", multi_class="ovr"),
    FeatureGeneratingMachine(3),
    GreedyLogisticRegression(n_features=3),
    L0LogisticRegression(n_features=[2, 4]),
    GreedyLogisticRegression(feature_groups=np.arange(25) // 5, n_groups=[1, 2]),
    MinimaxLogisticRegression(3),
    L1Classifier(0.5),
    L1Classifier(0.5, loss="squared_hinge"),
    L1Classifier(n_features=3, standardize=True),
    ReweightedL1LogisticRegression(0.5),
    ReweightedL1LogisticRegression(n_features=3, loss="squared_hinge"),
    L1ClassifierCV(5, cv=3),
    L1ClassifierCV([0.01, 0.1, 1.0], cv=3, loss="squared_hinge", scoring="accuracy"),
]
L1_FAMILY = [one for one in CLASSIFIERS if isinstance(one, L1Classifier)]


@pytest.fixture(params=[2, 3])
def labelled(multiclass, request):
    """(X, y) with labels of two or three classes."""
    X, y = multiclass
    return X, np.array(["red", "green", "blue"])[y % request.param]


@pytest.mark.parametrize("estimator", L1_FAMILY, ids=str)
def test_solutions_of_the_l1_family(estimator, labelled, tmp_path):
    """The C, the objective or the gap of an l1 solution would be lost."""
    fitted = clone(estimator).fit(*labelled)
    metadata = load(save(fitted, tmp_path / "m")).metadata
    n_scores = len(fitted.intercept_)
    assert metadata["certificates"] == [None] * n_scores
    refit_C = np.ravel(getattr(fitted, "refit_C_", [])).tolist()
    assert metadata["refit_C"] == refit_C
    assert bool(refit_C) == (getattr(fitted, "n_features", None) is not None)
    solutions = metadata["solutions"]
    assert [one["C"] for one in solutions] == np.broadcast_to(fitted.C_, n_scores).tolist()
    assert [one["objective"] for one in solutions] == np.ravel(fitted.objective_).tolist()
    assert max(one["gap"] for one in solutions) == fitted.gap_
    assert {one["loss"] for one in solutions} == {fitted.loss}
    several = len(metadata["history"]) > 1
    histories = fitted.history_ if several else [fitted.history_]
    for stored, steps in zip(metadata["history"], histories, strict=True):
        assert [one["gap"] for one in stored] == [step.extra["gap"] for step in steps]
        names = [None if step.status is None else step.status.name for step in steps]
        assert [one["status"] for one in stored] == names


def test_refits_have_no_solutions(path):
    """A refit would be recorded as a solution of an l1 problem."""
    assert load(path).metadata["solutions"] == []


def test_squared_hinge_has_no_probabilities(labelled, tmp_path):
    """Margins of a hinge would be loaded as log-odds."""
    X, y = labelled
    model = load(save(L1Classifier(loss="squared_hinge").fit(X, y), tmp_path / "m"))
    with pytest.raises(ValueError, match=r"need a model with loss='logistic'; this L1Classifier"):
        model.predict_proba(X)
    # The loss of a selection is not that of the refit.
    refit = load(save(FeatureGeneratingMachine(2).fit(X, y), tmp_path / "m"))
    np.testing.assert_allclose(refit.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("storage", ["array", "csc", "frame", "polars", "table"])
@pytest.mark.parametrize("named", [False, True])
def test_model_without_features(labelled, tmp_path, storage, named):
    """A model without features could not be saved, or not predict."""
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = labelled
    names = [f"g{j}" for j in range(X.shape[1])]
    fitted = L1Classifier(1e-6).fit(X, y)
    assert fitted.support_.size == 0
    model = load(save(fitted, tmp_path / "m", feature_names=names if named else None))
    assert model.support_.size == 0
    assert model.layout.names is None  # a file is read for all its features
    data = {
        "array": lambda: X,
        "csc": lambda: sp.csc_array(X),
        "frame": lambda: pd.DataFrame(X, columns=names),
        "polars": lambda: pl.DataFrame(X, names),
        "table": lambda: Dataset(X, None, names),
    }[storage]()
    np.testing.assert_array_equal(model.decision_function(data), fitted.decision_function(X))
    np.testing.assert_array_equal(model.predict(data), fitted.predict(X))
    np.testing.assert_array_equal(model.predict_proba(data), fitted.predict_proba(X))


def test_parameters_are_plain(multiclass, tmp_path):
    """Parameters in the file would need the classes that made them."""
    pd = pytest.importorskip("pandas")
    X, y = multiclass
    m = X.shape[1]
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    fitted = L1ClassifierCV(
        np.geomspace(0.01, 1, 3),
        cv=splitter,
        penalty_factor=pd.Series(np.ones(m)),
        signs=np.zeros(m, np.int8),
        class_weight={np.int64(0): 2.0},
        standardize=np.True_,
        tol=np.float64(1e-3),
    ).fit(X, y)
    parameters = load(save(fitted, tmp_path / "m")).metadata["parameters"]
    np.testing.assert_allclose(parameters["Cs"], [0.01, 0.1, 1.0])
    assert parameters["cv"] == repr(splitter)
    assert parameters["penalty_factor"] == [1.0] * m
    assert parameters["signs"] == [0] * m
    assert parameters["class_weight"] == {"0": 2.0}
    assert parameters["standardize"] is True
    assert parameters["tol"] == 1e-3


def test_parameters_of_no_dimension(binary, tmp_path):
    """A size given as a NumPy scalar could not be saved."""
    fitted = BudgetClassifier(np.array(2), calibrate=False).fit(*binary)
    assert load(save(fitted, tmp_path / "m")).metadata["parameters"]["n_features"] == 2


def test_gap_that_is_not_known(binary, tmp_path):
    """NaN and infinity have no place in JSON."""
    fitted = L1Classifier(0.01).fit(*binary)
    (result,) = fitted._results
    last = result.history[-1]
    step = replace(last, bound=-np.inf, extra={**last.extra, "gap": np.nan})
    fitted._results = (replace(result, history=(*result.history[:-1], step)),)
    metadata = load(save(fitted, tmp_path / "m")).metadata
    assert metadata["solutions"][0]["gap"] is None
    assert metadata["history"][0][-1]["bound"] is metadata["history"][0][-1]["gap"] is None


# --- features by name ----------------------------------------------------------------------


@pytest.fixture
def named(binary, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = binary
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(40)])
    fitted = BudgetClassifier(4, n_threads=1, calibrate=False).fit(frame, y)
    return frame, fitted, load(save(fitted, tmp_path / "m", target_name="t"))


def test_reordered_columns_are_found_by_name(named):
    """Columns in another order would be predicted from."""
    frame, fitted, model = named
    expected = fitted.decision_function(frame)
    assert model.feature_names == tuple(frame.columns[fitted.support_])
    turned = frame[frame.columns[::-1]]
    np.testing.assert_array_equal(model.decision_function(turned), expected)
    few = turned[[name for name in turned.columns if name in model.feature_names]]
    np.testing.assert_array_equal(model.decision_function(few), expected)
    table = Dataset(turned.to_numpy(), None, list(turned.columns))
    np.testing.assert_array_equal(model.decision_function(table), expected)
    np.testing.assert_array_equal(model.decision_function(frame.to_numpy()), expected)


def test_polars_frame(named):
    """Polars frames would be read by position."""
    pl = pytest.importorskip("polars")
    frame, fitted, model = named
    turned = pl.DataFrame({name: frame[name].to_numpy() for name in frame.columns[::-1]})
    np.testing.assert_array_equal(model.decision_function(turned), fitted.decision_function(frame))


def test_missing_columns(named):
    """A missing column would be predicted from as if it were another one."""
    frame, _, model = named
    first = model.feature_names[0]
    with pytest.raises(ValueError, match=f"1 are missing, the first is '{first}'"):
        model.predict(frame.drop(columns=first))


def test_names_given_for_an_array(fitted, tmp_path):
    """Names given at saving would be lost, or not fit the columns."""
    names = [f"gene {j}" for j in range(40)]
    model = load(save(fitted, tmp_path / "m", feature_names=names))
    assert model.feature_names == tuple(names[j] for j in fitted.support_)
    with pytest.raises(ValueError, match=r"must have 40 names \(the features of X\); got 3"):
        save(fitted, tmp_path / "m", feature_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="must be distinct"):
        save(fitted, tmp_path / "m", feature_names=["a"] * 40)


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\nb", "=cmd()", "x" * 10**6, "", "\0"])
def test_hostile_names_survive(fitted, tmp_path, name):
    """A name with odd characters would be changed, or break the file."""
    names = [f"{name}{j}" for j in range(40)]
    assert load(save(fitted, tmp_path / "m", feature_names=names)).feature_names[0] == (
        f"{name}{fitted.support_[0]}"
    )


def test_names_that_are_no_unicode_are_refused(fitted, tmp_path):
    """Half a character has no place in UTF-8: another name would be written, or a traceback end."""
    names = [f"\ud800{j}" for j in range(40)]
    with pytest.raises(ValueError, match=r"must be Unicode to be saved; got '\\ud800.*Rename it"):
        save(fitted, tmp_path / "m", feature_names=names)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((3, 7)), r"X must have 40 features .*; got the shape \(3, 7\)"),
        (np.ones(40), r"got the shape \(40,\)"),
        (sp.csr_array((3, 41)), r"got the shape \(3, 41\)"),
    ],
)
def test_wrong_shape(path, X, message):
    """Rows of another table would be predicted."""
    with pytest.raises(ValueError, match=message):
        load(path).predict(X)


def test_nan_in_a_feature_of_the_model(path, binary, fitted):
    """NaN would be predicted as a class, or refused where it is not read."""
    X = np.array(binary[0])
    other = next(j for j in range(40) if j not in fitted.support_)
    X[5, other] = np.nan  # not read, so no matter
    model = load(path)
    np.testing.assert_array_equal(model.predict(X), fitted.predict(binary[0]))
    X[7, fitted.support_[0]] = np.nan
    with pytest.raises(ValueError, match=r"(row|sample).? 7"):
        model.predict(X)


# --- damage --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"hello", "not a model file of zeronorm, or a truncated one"),
        (pickle.dumps({"a": 1}), "a pickle, which is never loaded"),
    ],
)
def test_other_files(tmp_path, content, message):
    """What is no model file would be read as one, or crash."""
    path = tmp_path / "m"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        load(path)


def test_missing_and_odd_paths(tmp_path):
    """A path that is no file would end in a traceback."""
    with pytest.raises(MissingFileError, match="no such file"):
        load(tmp_path / "none")
    with pytest.raises(FileError, match="a directory"):
        load(tmp_path)


def test_size_limit(path, monkeypatch):
    """A huge file would be read into memory."""
    monkeypatch.setattr(models, "MODEL", replace(MODEL, max_size=100))
    with pytest.raises(ModelFileError, match="too large for a model file"):
        load(path)


@pytest.fixture(scope="module")
def l1_fitted(binary):
    return L1Classifier(0.1, standardize=True).fit(*binary)


def sealed(path, change=None, names=None, compression=zipfile.ZIP_STORED):
    """Write an archive by hand, with a sound checksum."""
    import hashlib

    arrays = {f"{name}.npy": value for name, value in raw(path).items()}
    arrays.update(change or {})
    buffer = io.BytesIO()
    trailer = b"zeronorm model 9 sha256 " + b"0" * 64
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name in names or arrays:
            archive.writestr(name, arrays[name])
        archive.comment = trailer
    data = buffer.getvalue()[: -len(trailer)]
    path.write_bytes(data + b"zeronorm model 9 sha256 " + hashlib.sha256(data).hexdigest().encode())


def raw(path):
    with zipfile.ZipFile(path) as archive:
        return {name[:-4]: archive.read(name) for name in archive.namelist()}


def test_hand_made_archive_is_the_control(path):
    """The tests below would refuse archives for their making alone."""
    sealed(path)
    load(path)


def test_compressed_archive(path):
    """A small file could expand to fill the memory."""
    sealed(path, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="must be stored without compression"):
        load(path)


def test_objects_are_never_unpickled(path, tmp_path):
    """A model file from the net could run code."""
    flag = tmp_path / "executed"

    class Evil:
        def __reduce__(self):
            return (open, (str(flag), "w"))

    buffer = io.BytesIO()
    np.save(buffer, np.array([Evil(), Evil()], dtype=object), allow_pickle=True)
    sealed(path, {"classes.npy": buffer.getvalue()})
    with pytest.raises(
        ModelFileError, match="an array of objects, which would have to be unpickled"
    ):
        load(path)
    assert not flag.exists()


def test_huge_shape_is_not_allocated(path):
    """A false shape in a header would fill the memory."""
    header = raw(path)["coef"].replace(b"(1, 5), }", b"(1, 99999999999999), }")
    sealed(path, {"coef.npy": header.replace(b" " * 13 + b"\n", b"\n")})
    with pytest.raises(
        ModelFileError, match=r"truncated or damaged: the shape \(1, 99999999999999\)"
    ):
        load(path)


@pytest.mark.parametrize(
    ("version", "message"), [(10, r"a newer .*; upgrade"), (8, r"an older .*; fit, and save it")]
)
def test_other_formats(path, version, message):
    """A file of another version would be misread instead of refused."""
    import hashlib

    data = path.read_bytes()
    body = data[: data.rindex(b"zeronorm model")]
    digest = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(body + b"zeronorm model %d sha256 " % version + digest)
    with pytest.raises(ModelFileError, match=f"written by {message}"):
        load(path)


# --- certificates --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certified(binary):
    X, y = binary
    return L0LogisticRegression(5, C=1.0, gap=0, class_weight="balanced", calibrate=False).fit(X, y)


@pytest.fixture
def proof_file(certified, binary, tmp_path):
    names = [f"g{j}" for j in range(40)]
    return save_certificate(
        certified.certificate_, tmp_path / "c.npz", *binary, class_weight="balanced",
        feature_names=names, target_name="t",
    )  # fmt: skip


def test_round_trip_of_a_certificate(certified, proof_file, binary):
    """A certificate would lose a part in the file, and not verify."""
    X, y = binary
    saved = load_certificate(proof_file)
    (found,), expected = saved.certificates, certified.certificate_
    assert expected.tree is not None
    for field in dataclasses.fields(expected):
        if field.name not in ("tree", "equivalents"):
            np.testing.assert_array_equal(
                getattr(found, field.name), getattr(expected, field.name), strict=False
            )
    for field in dataclasses.fields(expected.tree):
        np.testing.assert_array_equal(
            getattr(found.tree, field.name), getattr(expected.tree, field.name)
        )
    assert saved.feature_names == tuple(f"g{j}" for j in expected.support)
    assert saved.layout.target_name == "t"
    assert saved.classes_.tolist() == [0, 1]
    assert saved.positive == [1]
    np.testing.assert_allclose(saved.class_weight, 120 / (2 * np.bincount(y)))
    for data in (X, sp.csr_array(X)):
        (checked,) = saved.verify(data, y)
        assert checked["objective"] == pytest.approx(expected.objective, rel=1e-9)


def test_equivalents_and_no_tree(binary, tmp_path):
    """Equal columns would be lost, or a certificate without a tree be refused."""
    X, y = binary
    X = np.column_stack([X, -X[:, :2]])
    certificate = certify([0, 1, 7], X, y)
    assert certificate.tree is None
    saved = load_certificate(save_certificate(certificate, tmp_path / "c", X, y))
    (found,) = saved.certificates
    assert found.tree is None
    assert {k: v.tolist() for k, v in found.equivalents.items()} == {0: [40], 1: [41]}
    assert saved.feature_names is None
    saved.verify(X, y)


def test_certificates_of_classes_with_weights(multiclass, tmp_path):
    """Otherwise: classes have the wrong signs, or rows the wrong weights."""
    X, y = multiclass
    labels = np.array(["red", "green", "blue"])[y]
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weights = {"red": 2.0, "green": 0.5}
    model = L0LogisticRegression(2, class_weight=weights, calibrate=False).fit(
        X, labels, sample_weight=weight
    )
    path = save_certificate(
        model.certificate_, tmp_path / "c", X, labels, sample_weight=weight, class_weight=weights
    )
    saved = load_certificate(path)
    assert saved.positive == ["blue", "green", "red"]
    assert saved.class_weight.tolist() == [1.0, 0.5, 2.0]
    checked = saved.verify(X, labels, sample_weight=weight)
    for one, certificate in zip(checked, model.certificate_, strict=True):
        assert one["objective"] == pytest.approx(certificate.objective, rel=1e-9)
    with pytest.raises(ValueError, match=r"must have .* samples of positive weight"):
        saved.verify(X, labels)
    swapped = np.where(labels == "red", "green", np.where(labels == "green", "red", labels))
    with pytest.raises(CertificateError, match="class 'blue': "):
        saved.verify(X, swapped, sample_weight=weight)


def test_rows_of_other_classes_are_not_left_out_in_silence(binary, tmp_path):
    """A certificate of two of three classes would pass for one of all rows."""
    X, y = binary
    three = np.where(np.arange(len(y)) % 3 == 0, 2, y)
    keep = three < 2
    weight = keep.astype(float)
    certificate = certify([0, 1], X, y, sample_weight=weight)
    path = save_certificate(certificate, tmp_path / "c", X, y, sample_weight=weight)
    saved = load_certificate(path)
    saved.verify(X, three, sample_weight=weight)
    with pytest.raises(
        ValueError, match=r"must have the classes '0, 1'.* rows have others, such as '2'"
    ):
        saved.verify(X, three)


def test_classes_have_one_problem(multiclass, tmp_path):
    """A report of one C for all classes would be false for the others."""
    X, y = multiclass
    model = L0LogisticRegression(2, calibrate=False).fit(X, y)
    for changes in ({"C": 1e-9}, {"scaling": "none"}, {"fit_intercept": False, "intercept": 0.0}):
        forged = [*model.certificate_[:2], replace(model.certificate_[2], **changes)]
        with pytest.raises(CertificateFileError, match="all classes must have the same"):
            save_certificate(forged, tmp_path / "c", X, y)


def test_tampered_certificates_are_refuted(certified, binary, tmp_path):
    """A changed certificate would verify."""
    X, y = binary
    certificate = certified.certificate_
    tree = certificate.tree
    for change in (
        {"bound": certificate.bound * 1.01, "objective": certificate.objective * 1.01},
        {"objective": certificate.objective * 0.99},
        {"coef": certificate.coef * 1.1},
        {"tree": None},
        {"dual": certificate.dual * 0.9, "tree": None},
        {"tree": replace(tree, dual=tree.dual * 0.9)},
        {"tree": replace(tree, inside=np.ones_like(tree.inside))},
    ):
        path = save_certificate(
            replace(certificate, **change), tmp_path / "c", X, y, class_weight="balanced"
        )
        with pytest.raises(CertificateError):
            load_certificate(path).verify(X, y)


def test_certificates_that_do_not_fit_are_not_saved(certified, binary, multiclass, tmp_path):
    """A certificate would be saved beside data that it is not about."""
    path, certificate = tmp_path / "c", certified.certificate_
    with pytest.raises(TypeError, match="must be a Certificate or a list of them; got None"):
        save_certificate(None, path, *binary)
    with pytest.raises(TypeError, match="must be a Certificate or a list of them"):
        save_certificate([certificate, None], path, *binary)
    with pytest.raises(
        ValueError, match=r"3 classes and 150 samples .*; got 1 certificates, .* shape \(120,\)"
    ):
        save_certificate(certificate, path, *multiclass)
    with pytest.raises(ValueError, match="must have 40 names"):
        save_certificate(certificate, path, *binary, feature_names=["a"])
    with pytest.raises(CertificateFileError, match="loss of the certificate must be"):
        save_certificate(replace(certificate, loss="hinge"), path, *binary)
    regressor = BudgetRegressor(2).fit(*binary)
    with pytest.raises(ValueError, match=r"have 120 samples of positive weight; got 2 certif"):
        save_certificate([regressor.certificate_] * 2, path, *binary)
    assert not list(tmp_path.iterdir())


def test_files_of_the_other_kind(proof_file, path):
    """A model would be read as a certificate, or the other way."""
    with pytest.raises(CertificateFileError, match="a model file of zeronorm; a certificate file"):
        load_certificate(path)
    with pytest.raises(ModelFileError, match="a certificate file of zeronorm; a model file is"):
        load(proof_file)


# --- budgets of groups ---------------------------------------------------------------------

SETS = np.array([f"set {g}" for g in np.random.default_rng(0).integers(0, 9, 40)])


@pytest.fixture(scope="module")
def grouped(binary):
    X, y = binary
    return MinimaxLogisticRegression(
        feature_groups=SETS, n_groups=[1, 3], class_weight="balanced", calibrate=False
    ).fit(X, y)


@pytest.fixture
def group_file(grouped, binary, tmp_path):
    return save_certificate(
        grouped.certificate_, tmp_path / "g.npz", *binary, class_weight="balanced"
    )


def test_models_of_groups(grouped, tmp_path):
    """The file would say nothing of groups, or hold another size than asked for."""
    for n_groups in (None, 1):
        model = load(save(grouped, tmp_path / "m", n_features=n_groups))
        assert model.metadata["certificates"][0]["n_groups"] == (n_groups or 3)
        assert model.metadata["parameters"]["feature_groups"] == SETS.tolist()
        expected = grouped.path_[n_groups or 3]
        np.testing.assert_array_equal(model.support_, expected.support)
        np.testing.assert_array_equal(model.coef[0], expected.coef)
    with pytest.raises(ValueError, match=r"one of the fitted sizes \[1, 3\]; got 2"):
        save(grouped, tmp_path / "m", n_features=2)


@pytest.fixture(scope="module")
def bilevel(binary):
    return BilevelClassifier([3, 8], [1, 2], feature_groups=SETS, refit_C="loo").fit(*binary)


@pytest.mark.parametrize("size", [None, (3, 1), [3, 1], (8, 1), (np.int64(3), 2)])
def test_models_of_features_and_groups(bilevel, binary, tmp_path, size):
    """The file would hold another pair than asked for, or the wrong groups of its features."""
    model = load(save(bilevel, tmp_path / "m", n_features=size))
    expected = bilevel.path_[(8, 2) if size is None else tuple(size)]
    np.testing.assert_array_equal(model.support_, expected.support)
    np.testing.assert_array_equal(model.coef[0], expected.coef)
    metadata = model.metadata
    assert metadata["feature_groups"] == SETS[expected.support].tolist()
    assert metadata["parameters"]["feature_groups"] == SETS.tolist()
    assert metadata["certificates"] == [None]
    assert metadata["refit_C"] == [expected.refit_C]
    assert [row["size"] for row in metadata["criteria"]] == [[3, 1], [3, 2], [8, 1], [8, 2]]
    assert [row["bic"] for row in metadata["criteria"]] == bilevel.criteria_["bic"].tolist()
    assert {step["bound"] for step in metadata["history"][0]} == {None}
    if size is None:
        X = binary[0]
        np.testing.assert_array_equal(model.predict_proba(X), bilevel.predict_proba(X))


def test_sizes_of_features_and_groups_that_were_not_fitted(bilevel, tmp_path):
    """A size that was not fitted would be saved as another one."""
    message = r"one of the fitted sizes \[\(3, 1\), \(3, 2\), \(8, 1\), \(8, 2\)\]; got"
    for size in (3, (3, 3), (2, 3), [3], "3"):
        with pytest.raises(ValueError, match=message):
            save(bilevel, tmp_path / "m", n_features=size)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_bilevel_models_without_a_refit_are_solutions(labelled, tmp_path, loss):
    """Scores that are no log-odds would be turned into probabilities, or NaN break the file."""
    X, y = labelled
    fitted = BilevelClassifier(4, 2, feature_groups=np.arange(25) // 5, loss=loss, C=0.5).fit(X, y)
    model = load(save(fitted, tmp_path / "m"))
    np.testing.assert_array_equal(model.decision_function(X), fitted.decision_function(X))
    expected = {"C": 0.5, "loss": loss, "objective": None, "gap": None}
    assert model.metadata["solutions"] == [expected] * len(fitted.intercept_)
    assert model.metadata["refit_C"] == []
    rows = model.metadata["criteria"]
    assert len(rows) == (loss == "logistic")
    if loss == "logistic":
        assert rows[0]["aic"] > rows[0]["log_loss"]
        np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
    else:
        with pytest.raises(ValueError, match="scores are no log-odds"):
            model.predict_proba(X)


def test_groups_of_a_model_from_any_description(binary, tmp_path):
    """Only labels by column would be understood, or a million labels be written for ten."""
    pd = pytest.importorskip("pandas")
    X, y = binary
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(40)])
    lists = {f"set {g}": [] for g in range(9)}
    for name, label in zip(frame.columns, SETS, strict=True):
        lists[label].append(name)
    made = Groups.of(SETS, 40)
    for groups, written in ((lists, lists), (made, "9 groups of 40 features")):
        fitted = BilevelClassifier(3, 2, feature_groups=groups).fit(frame, y)
        metadata = load(save(fitted, tmp_path / "m")).metadata
        assert metadata["feature_groups"] == SETS[fitted.support_].tolist()
        assert metadata["parameters"]["feature_groups"] == written
    numbered = BilevelClassifier(3, 2, feature_groups=np.arange(40) // 8).fit(X, y)
    metadata = load(save(numbered, tmp_path / "m")).metadata
    assert metadata["feature_groups"] == (numbered.support_ // 8).tolist()


def test_models_of_encoded_frames_are_not_saved(binary, tmp_path):
    """Positions among the encoded columns would be taken for columns of the frame."""
    pd = pytest.importorskip("pandas")
    X, y = binary
    frame = pd.DataFrame({"a": X[:, 0], "b": np.array(["u", "v", "w"])[np.arange(120) % 3]})
    fitted = BilevelClassifier(2, 2, feature_groups="columns").fit(frame, y)
    with pytest.raises(
        ValueError, match="feature_groups='columns' encodes the columns of a data frame"
    ):
        save(fitted, tmp_path / "m")


def test_round_trip_of_a_certificate_of_groups(grouped, group_file, binary):
    """The loaded certificate would be of features, or of other groups."""
    X, y = binary
    saved = load_certificate(group_file)
    (found,), expected = saved.certificates, grouped.certificate_
    for field in dataclasses.fields(expected):
        if field.name != "groups":
            np.testing.assert_array_equal(
                getattr(found, field.name), getattr(expected, field.name), strict=False
            )
    np.testing.assert_array_equal(found.groups.labels[found.groups.code], SETS)
    for data in (X, sp.csr_array(X)):
        (checked,) = saved.verify(data, y)
        assert checked["bound"] == pytest.approx(expected.bound, rel=1e-9)


def test_certificates_of_groups_of_several_classes(multiclass, tmp_path):
    """The groups would be taken for arrays of a further class."""
    X, y = multiclass
    model = FeatureGeneratingMachine(
        feature_groups=np.arange(25) // 5, n_groups=2, calibrate=False
    ).fit(X, y)
    certificates = [replace(one, groups=pickle.loads(pickle.dumps(one.groups)))
                    for one in model.certificate_]  # fmt: skip
    saved = load_certificate(save_certificate(certificates, tmp_path / "c", X, y))
    assert [one.n_groups for one in saved.certificates] == [2, 2, 2]
    assert len(saved.verify(X, y)) == 3
    certificates[1] = replace(certificates[1], groups=Groups.of(np.arange(25), 25))
    with pytest.raises(ValueError, match="certificates of different groups"):
        save_certificate(certificates, tmp_path / "c", X, y)


def test_tampered_certificates_of_groups_are_refuted(grouped, binary, tmp_path):
    """A changed budget would pass under a sound checksum."""
    X, y = binary
    certificate = grouped.certificate_
    labels = certificate.groups.labels
    for change in (
        {"n_groups": 4},
        {"n_groups": 2},
        {"n_groups": None, "groups": None},
        {"groups": Groups(labels, certificate.groups.code[::-1])},
    ):
        forged = replace(certificate, **change)
        with pytest.raises((CertificateError, CertificateFileError)):
            load_certificate(
                save_certificate(forged, tmp_path / "c", X, y, class_weight="balanced")
            ).verify(X, y)


# --- what cannot be saved ------------------------------------------------------------------


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_not_fitted(tmp_path, estimator):
    """A model without fit would leave a file."""
    name = type(estimator).__name__
    message = f"must be a fitted model of zeronorm; got {name}, which is not fitted. Call fit"
    with pytest.raises(TypeError, match=message):
        save(estimator, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_other_objects(binary, l1_fitted, tmp_path):
    """What is no model of the package would be saved as one."""
    other = GaussianNB().fit(*binary)
    loaded = load(save(l1_fitted, tmp_path / "m"))
    for thing in (other, loaded, None, L1Classifier, "model"):
        name = type(thing).__name__
        with pytest.raises(TypeError, match=f"a fitted model of zeronorm; got {name}"):
            save(thing, tmp_path / "x")
    assert [item.name for item in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("estimator", L1_FAMILY[::2], ids=str)
def test_size_of_a_model_that_has_one(multiclass, tmp_path, estimator):
    """A size would be ignored where a model has only one."""
    fitted = clone(estimator).fit(*multiclass)
    with pytest.raises(ValueError, match=r"one of several models, and .* has only one; got 3"):
        save(fitted, tmp_path / "m", n_features=3)
    assert not list(tmp_path.iterdir())


# --- writing -------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_failed_write_leaves_the_old_file(path, fitted, monkeypatch, failure, where):
    """A full disk would destroy the model of the fit before."""
    before = path.read_bytes()

    def fail(*_):
        raise failure

    monkeypatch.setattr(os, where, fail)
    with pytest.raises((KeyboardInterrupt, OSError)) as caught:
        save(fitted, path, n_features=2)
    if isinstance(failure, OSError):
        assert re.search(r"No space left on device: '.*a\.model\.npz'", str(caught.value))
    assert path.read_bytes() == before
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_write_file(tmp_path):
    """A file would have other rights than the user's, or replace a link."""
    target = tmp_path / "a"
    write_file(target, b"one")
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~mask
    write_file(target, b"two")
    assert target.read_bytes() == b"two"
    link = tmp_path / "link"
    link.symlink_to(target)
    write_file(link, b"three")
    assert link.is_symlink()
    assert target.read_bytes() == b"three"


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("none/a", FileNotFoundError, "no such directory"),
        (".", IsADirectoryError, "a directory; name a file in it"),
        ("/dev/null", FileError, "not a regular file"),
    ],
)
def test_write_file_refuses(tmp_path, name, error, message):
    """A path that cannot be written to would leave half a file."""
    with pytest.raises(error, match=message):
        write_file(tmp_path / name, b"x")
    assert not list(tmp_path.iterdir())
