"""Models and certificates of several classes or responses on shared features, in files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

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
