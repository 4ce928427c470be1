"""Models and certificates of several classes or responses on shared features, in files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from archives import parts, rewrite
from zeronorm import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis, certify, verify
from zeronorm.losses import Quantile
from zeronorm.persistence import (
    CertificateFileError,
    ModelFileError,
    load,
    load_certificate,
    save,
    save_certificate,
)
from zeronorm.persistence import (
    certificates as _certificates,
)
from zeronorm.persistence import (
    models as _models,
)
from zeronorm.persistence.certificates import CERTIFICATE
from zeronorm.persistence.models import MODEL
from zeronorm.verification import CertificateError

N, Q, M = 60, 3, 8
rng = np.random.default_rng(5)
X = rng.standard_normal((N, M))
MEANS = X[:, [1, 4, 6]] @ rng.standard_normal((3, Q))
CLASSES = np.array(["b", "a", "c"])[(2.0 * MEANS + rng.gumbel(size=(N, Q))).argmax(axis=1)]
NUMBERS = MEANS + 0.3 * rng.standard_normal((N, Q)) + [0.0, 100.0, -7.0]
COUNTS = rng.poisson(np.exp(0.3 * MEANS)) + 0.0
OFFSET = rng.uniform(-1.0, 1.0, N)
NAMES = ["fat", "water", "protein"]


@pytest.fixture(scope="module")
def of_classes():
    return BudgetClassifier([2, 3], calibrate=False).fit(X, CLASSES)


@pytest.fixture(scope="module")
def of_responses():
    return BudgetRegressor([2, 3]).fit(X, NUMBERS)


# --- models --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "Y", "offset"),
    [
        ("least_squares", NUMBERS, None),
        (Quantile(0.8), NUMBERS, None),
        ("huber", NUMBERS, OFFSET),
        ("poisson", COUNTS, OFFSET),
    ],
    ids=["least_squares", "quantile", "huber", "poisson"],
)
def test_regressors_of_several_responses(tmp_path, loss, Y, offset):
    """A saved model of several responses would predict something else, or not be saved."""
    fitted = BudgetRegressor([1, 3], loss=loss).fit(X, Y, offset=offset)
    model = load(save(fitted, tmp_path / "m", target_name=NAMES))
    assert model.coef.shape == (Q, 3)
    assert model.metadata["target_name"] == NAMES
    zero = None if offset is None else 0  # a fit with an offset asks for one
    np.testing.assert_array_equal(model.predict(X, zero), fitted.predict(X, zero))
    np.testing.assert_array_equal(model.predict(X, OFFSET), fitted.predict(X, OFFSET))
    one = load(save(fitted, tmp_path / "m", n_features=1))
    assert one.metadata["target_name"] == ["response 1", "response 2", "response 3"]
    alone = BudgetRegressor(1, loss=loss, C=fitted.C_, calibrate=True).fit(X, Y, offset=offset)
    np.testing.assert_array_equal(one.predict(X, zero), alone.predict(X, zero))


def test_models_of_the_first_format_are_read(tmp_path, of_classes, monkeypatch):
    """Files that were written before there were several responses would not load."""
    monkeypatch.setattr(_models, "MODEL", replace(MODEL, version=1))
    monkeypatch.setattr("zeronorm.persistence.models.MODEL", replace(MODEL, version=1))
    numbers = BudgetRegressor(2).fit(X, NUMBERS[:, 0])
    paths = [save(of_classes, tmp_path / "c"), save(numbers, tmp_path / "n")]
    monkeypatch.undo()
    for path, fitted in zip(paths, (of_classes, numbers), strict=True):
        model = load(path)
        assert model.metadata["format"] == 1
        np.testing.assert_array_equal(model.predict(X), fitted.predict(X))


@pytest.mark.parametrize("names", ["fat", NAMES[:2], ["fat", "fat", "water"]])
def test_names_of_responses_that_are_none(tmp_path, of_responses, names):
    """Predictions would stand under wrong names."""
    message = "target_name must be a list of 3 distinct names, one for each response; got"
    with pytest.raises(ValueError, match=message):
        save(of_responses, tmp_path / "m", target_name=names)
    with pytest.raises(ValueError, match=message):
        save_certificate(of_responses.certificate_, tmp_path / "m", X, NUMBERS, target_name=names)
    with pytest.raises(ValueError, match="target_name must be one name for one target; got"):
        save(BudgetRegressor(1).fit(X, NUMBERS[:, 0]), tmp_path / "m", target_name=NAMES)
    assert not list(tmp_path.iterdir())


def check_refused(kind, path, edit, message):
    """Check that a file is refused after an edit, and not before."""
    read, error = (
        (load, ModelFileError) if kind is MODEL else (load_certificate, CertificateFileError)
    )
    read(rewrite(kind, path, parts(path)))
    arrays = parts(path)
    edit(arrays)
    with pytest.raises(error, match=message):
        read(rewrite(kind, path, arrays))


def meta(**changes):
    return lambda arrays: arrays["metadata"].update(changes)


def array(**changes):
    return lambda arrays: arrays.update(changes)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (meta(target_name="fat"), r"coef must be float64 of shape \(1, 3\); got .* \(3, 3\)"),
        (meta(target_name=NAMES[:2]), r"coef must be float64 of shape \(2, 3\)"),
        (meta(target_name=["a", "a", "b"]), "target_name must be a name, or those of two or more"),
        (meta(target_name=["a", 1, "b"]), "target_name must be a name, or those of two or more"),
        (meta(target_name=["a"]), "target_name must be a name, or those of two or more"),
        (array(coef=np.ones((2, 3))), r"coef must be float64 of shape \(3, 3\)"),
        (array(coef=np.full((3, 3), np.nan)), "coef must be finite"),
        (array(intercept=np.ones(1)), r"intercept must be float64 of shape \(3,\)"),
        (meta(refit_C=[1.0, 1.0, 1.0]), "refit_C must have 1 entries"),
        (meta(history=[]), "history must have 1 entries"),
    ],
)
def test_unsound_models_of_responses(tmp_path, of_responses, edit, message):
    """A forged file would give a model that contradicts itself."""
    path = save(of_responses, tmp_path / "m")
    check_refused(MODEL, path, edit, message)


# --- certificates --------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_certificates_of_classes(tmp_path, weighted):
    """What proves a shared support could not be given to others, or be verified by them."""
    class_weight = "balanced" if weighted else None
    rows = np.arange(N) % 5 if weighted else None
    fitted = BudgetClassifier(3, class_weight=class_weight, calibrate=False)
    fitted.fit(X, CLASSES, sample_weight=rows)
    certificate = certify(fitted, X, CLASSES, sample_weight=rows)
    given = {"sample_weight": rows, "class_weight": class_weight}
    saved = load_certificate(save_certificate(certificate, tmp_path / "c", X, CLASSES, **given))
    assert saved.classes_.tolist() == ["a", "b", "c"]
    assert saved.positive == [None]
    (one,) = saved.certificates
    for name in ("support", "coef", "intercept", "dual", "objective", "bound"):
        np.testing.assert_array_equal(getattr(one, name), getattr(certificate, name))
    (found,) = saved.verify(X, CLASSES, sample_weight=rows)
    assert found["objective"] == pytest.approx(certificate.objective, rel=1e-9)
    assert found["bound"] == pytest.approx(certificate.bound, rel=1e-9)
    with pytest.raises(CertificateError):
        saved.verify(X, CLASSES[::-1], sample_weight=rows)
    with pytest.raises(ValueError, match="y must have the classes 'a, b, c', as at the fit"):
        saved.verify(X, np.where(CLASSES == "a", "d", CLASSES), sample_weight=rows)


@pytest.mark.parametrize(("loss", "Y"), [("least_squares", NUMBERS), ("poisson", COUNTS)])
def test_certificates_of_responses(tmp_path, loss, Y):
    """A certificate of several responses would not outlive the session, or hold for others."""
    offset = OFFSET if loss == "poisson" else None
    fitted = BudgetRegressor(2, loss=loss).fit(X, Y, offset=offset)
    certificate = fitted.certificate_
    saved = load_certificate(save_certificate(certificate, tmp_path / "c", X, Y))
    assert saved.classes_.size == 0
    assert saved.metadata["target_name"] == ["response 1", "response 2", "response 3"]
    (found,) = saved.verify(X, Y, offset=offset)
    assert found == verify(certificate, X, Y, offset=offset)
    with pytest.raises(CertificateError):
        saved.verify(X, Y[:, [1, 0, 2]], offset=offset)
    for wrong in (Y[:, 0], Y[:, :2], Y[:-1]):
        with pytest.raises(ValueError, match="y must have 60 rows of 3 responses; got an array"):
            saved.verify(X, wrong, offset=offset)


def test_certificates_of_groups_with_outputs(tmp_path):
    """The groups of a certificate of several classes would be lost."""
    groups = np.arange(M) // 2
    model = BudgetClassifier(feature_groups=groups, n_groups=2, calibrate=False).fit(X, CLASSES)
    saved = load_certificate(save_certificate(model.certificate_, tmp_path / "c", X, CLASSES))
    assert saved.certificates[0].n_groups == 2
    saved.verify(X, CLASSES)


def test_certificates_of_other_data_are_not_written(tmp_path, of_classes, of_responses):
    """A file would say of data what was never fitted to them."""
    for model, y, message in (
        (of_classes, np.arange(N) % 4, "which have 4 classes and 60 samples"),
        (of_classes, np.arange(N) % 2, "which have 2 classes and 60 samples"),
        (of_responses, NUMBERS[:, :2], "which have 2 responses and 60 samples"),
        (of_responses, NUMBERS[:, 0], "which have 60 samples"),
    ):
        with pytest.raises(ValueError, match=message):
            save_certificate(model.certificate_, tmp_path / "c", X, y)
    per_class = BudgetClassifier(1, multi_class="ovr", calibrate=False).fit(X, CLASSES)
    with pytest.raises(ValueError, match="got 1 certificates"):
        save_certificate(per_class.certificate_[0], tmp_path / "c", X, CLASSES)
    assert not list(tmp_path.iterdir())
    times = pd.DataFrame({"event": np.arange(N) % 2 > 0, "time": rng.exponential(size=N)})
    survival = BudgetSurvivalAnalysis(1).fit(X, times)
    save_certificate(survival.certificate_, tmp_path / "t", X, times)  # no two responses


def test_certificates_of_the_second_format_are_read(tmp_path, monkeypatch):
    """Files that were written before there were several outputs could not be verified."""
    monkeypatch.setattr(_certificates, "CERTIFICATE", replace(CERTIFICATE, version=2))
    binary = CLASSES == "a"
    fitted = BudgetClassifier(2, calibrate=False).fit(X, binary)
    path = save_certificate(fitted.certificate_, tmp_path / "c", X, binary)
    monkeypatch.undo()
    saved = load_certificate(path)
    assert saved.metadata["format"] == 2
    saved.verify(X, binary)


def claim(**changes):
    return lambda arrays: arrays["metadata"]["certificates"][0].update(changes)


def of_dual(change):
    """Change the dual point, and with it the width of those of a tree that is not there."""

    def edit(arrays):
        arrays["dual_0"] = change(arrays["dual_0"])
        arrays["tree_dual_0"] = np.empty((0, arrays["dual_0"].size))

    return edit


def of_array(name, change):
    return lambda arrays: arrays.update({name: change(arrays[name])})


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (of_dual(lambda v: v[:2]), "finite numbers of shape"),
        (of_dual(np.ravel), "intercept of the certificate must be a finite number; got"),
        (of_dual(lambda v: v[0]), "intercept of the certificate must be a finite number; got"),
        (of_dual(lambda v: v[None]), "dual must be float64 of 1 or 2 dimensions"),
        (of_array("dual_0", lambda v: v[:2]), "the arrays of a tree must fit each other"),
        (of_array("dual_0", lambda v: v * np.nan), "dual must be finite"),
        (of_array("coef_0", np.ravel), "coef of the certificate must be finite numbers of sha"),
        (of_array("coef_0", lambda w: w[:2]), "coef of the certificate must be finite numbers"),
        (of_array("tree_dual_0", lambda v: v[:, :5]), "the arrays of a tree must fit each other"),
        (of_array("classes", lambda c: c[:2]), "class_weight must be 2"),
        (
            lambda a: a.update(classes=a["classes"][:2], class_weight=np.ones(2)),
            "must be of 2 outputs; it has the dual points of 3",
        ),
        (
            lambda a: a.update(classes=np.array([*"abcd"]), class_weight=np.ones(4)),
            "must be of 4 outputs; it has the dual points of 3",
        ),
        (claim(intercept=0.5), "intercept of the certificate must be finite numbers of shape"),
        (claim(intercept=[0.5, 1.0]), "intercept of the certificate must be finite numbers"),
        (claim(intercept=["a", 1.0, 2.0]), "intercept must be a number, or those of all outputs"),
        (claim(intercept=[1, 2, 3]), "intercept must be a number, or those of all outputs"),
        (claim(intercept=None), "a certificate has a wrong type of intercept"),
        (claim(loss="logistic"), "there must be 3 certificates for 3 classes"),
        (claim(loss="least_squares"), "there must be 3 certificates for 3 classes"),
        (meta(certificates=[[]]), "there must be 3 certificates for 3 classes"),
        (meta(n_samples=59), "dual must be of one number of samples, at most 59"),
    ],
)
def test_unsound_certificates_of_classes(tmp_path, of_classes, edit, message):
    """A forged file would give a certificate that contradicts itself."""
    path = save_certificate(of_classes.certificate_, tmp_path / "c", X, CLASSES)
    check_refused(CERTIFICATE, path, edit, message)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (meta(target_name=None), "must be of 1 outputs; it has the dual points of 3"),
        (meta(target_name=["a", "b"]), "must be of 2 outputs; it has the dual points of 3"),
        (claim(loss="multinomial"), "must be of 0 outputs|classes must not go with"),
        (claim(loss="cox"), "the shape .* is none of the loss 'cox'"),
    ],
)
def test_unsound_certificates_of_responses(tmp_path, of_responses, edit, message):
    """A forged file would be of other responses than it says."""
    path = save_certificate(of_responses.certificate_, tmp_path / "c", X, NUMBERS)
    check_refused(CERTIFICATE, path, edit, message)


def test_false_claims_and_damaged_files(tmp_path, of_classes):
    """A forged bound would verify, or half a file be read as a whole one."""
    certificate = of_classes.certificate_
    for changes in (
        {"bound": certificate.bound * 1.01, "objective": certificate.objective * 1.01},
        {"bound": 1.001 * certificate.objective},
        {"dual": certificate.dual[[1, 0, 2]]},
        {"coef": certificate.coef[[1, 0, 2]]},
    ):
        path = save_certificate(replace(certificate, **changes), tmp_path / "c", X, CLASSES)
        with pytest.raises(CertificateError):
            load_certificate(path).verify(X, CLASSES)
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[: len(whole) // 2], whole[1:], b""):
        path.write_bytes(damaged)
        with pytest.raises(CertificateFileError):
            load_certificate(path)
    with pytest.raises(CertificateFileError, match="a model file of zeronorm; a certificate"):
        load_certificate(save(of_classes, tmp_path / "m"))
    with pytest.raises(ModelFileError, match="a certificate file of zeronorm; a model file"):
        load(save_certificate(certificate, tmp_path / "c", X, CLASSES))
