"""Files under a sound checksum around what is none: each is refused by name, none is loaded."""

import hashlib
import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from archives import parts, rewrite
from conftest import slow
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Classifier,
)
from zeronorm.core.results import Minorant
from zeronorm.losses import Quantile
from zeronorm.persistence import (
    CertificateFileError,
    ModelFileError,
    load,
    load_certificate,
    save,
    save_certificate,
)
from zeronorm.persistence.archive import plain, unpack
from zeronorm.persistence.certificates import CERTIFICATE
from zeronorm.persistence.models import MODEL
from zeronorm.published import BilevelClassifier, L0LogisticRegression, MinimaxLogisticRegression

N, M = 60, 8
rng = np.random.default_rng(5)
X = rng.standard_normal((N, M))
MARGIN = X[:, 1] - X[:, 4]
BINARY = (MARGIN + rng.logistic(size=N) > 0).astype(int)
CLASSES = np.array(["b", "a", "c"])[np.digitize(MARGIN + rng.logistic(size=N), (-1.0, 1.0))]
ORDERED = np.digitize(MARGIN + rng.logistic(size=N), (-1.0, 1.0))
NUMBERS = MARGIN + rng.standard_normal(N)
RESPONSES = np.column_stack([NUMBERS, X[:, 6] + NUMBERS[::-1], MARGIN**2])
TIMES = np.rec.fromarrays([BINARY > 0, rng.exponential(size=N)], names="event,time")
SETS = np.array([f"set {j // 2}" for j in range(M)])


def proven():
    return (
        L0LogisticRegression(3, C=1.0, gap=0, class_weight="balanced", calibrate=False)
        .fit(X, BINARY)
        .certificate_
    )


def of_minorants():
    """A certificate whose tree has a minorant."""
    one = Minorant(np.array([0, 3]), np.ones(2), 0.0, 1e9, 1.0, np.ones(N), np.ones(2))
    certificate = proven()
    return replace(certificate, tree=replace(certificate.tree, minorants=(one,)))


MODELS = {
    "refit": lambda: BudgetClassifier([1, 3], n_threads=1, calibrate=False).fit(X, BINARY),
    "l1": lambda: L1Classifier(0.1, standardize=True).fit(X, BINARY),
    "bilevel": lambda: BilevelClassifier(
        [2, 4], [1, 2], feature_groups=SETS, refit_C="loo").fit(X, BINARY),
    "quantile": lambda: BudgetRegressor(2, loss=Quantile(0.8)).fit(X, NUMBERS),
    "survival": lambda: BudgetSurvivalAnalysis(2).fit(X, TIMES),
    "responses": lambda: BudgetRegressor([2, 3]).fit(X, RESPONSES),
    "ordinal": lambda: BudgetClassifier(2, loss="ordinal", calibrate=False).fit(X, ORDERED),
    "ovr": lambda: BudgetClassifier(2, multi_class="ovr", calibrate=False).fit(X, CLASSES),
}  # fmt: skip
CERTIFICATES = {
    "proof": lambda: (proven(), BINARY,
        {"class_weight": "balanced", "feature_names": [f"g{j}" for j in range(M)]}),
    "minorants": lambda: (of_minorants(), BINARY, {}),
    "groups": lambda: (MinimaxLogisticRegression(
        feature_groups=SETS, n_groups=2, calibrate=False).fit(X, BINARY).certificate_, BINARY, {}),
    "classes": lambda: (
        BudgetClassifier(2, calibrate=False).fit(X, CLASSES).certificate_, CLASSES, {}),
    "ordered": lambda: (BudgetClassifier(2, loss="ordinal", calibrate=False).fit(
        X, ORDERED).certificate_, ORDERED, {}),
    "each": lambda: (BudgetClassifier(2, multi_class="ovr", calibrate=False).fit(
        X, CLASSES).certificate_, CLASSES, {}),
    "targets": lambda: (BudgetRegressor(2).fit(X, RESPONSES).certificate_, RESPONSES, {}),
    "signs": lambda: (BudgetRegressor(2, signs=[0] * 7 + [1]).fit(X, NUMBERS).certificate_,
                      NUMBERS, {}),
}  # fmt: skip
KEPT = {}


@pytest.fixture
def path(request, tmp_path):
    """A file of a name in `MODELS` or `CERTIFICATES`; what is in it is made once."""
    name = request.param
    if name not in KEPT:
        if name in MODELS:
            KEPT[name] = save(MODELS[name](), tmp_path / "m").read_bytes()
        else:
            certificate, y, names = CERTIFICATES[name]()
            KEPT[name] = save_certificate(certificate, tmp_path / "c", X, y, **names).read_bytes()
    path = tmp_path / name
    path.write_bytes(KEPT[name])
    return path


def kind_of(path):
    """Return the kind of a file, what reads it, and the error."""
    if path.name in MODELS:
        return MODEL, load, ModelFileError
    return CERTIFICATE, load_certificate, CertificateFileError


def edited(arrays, place, value):
    """Put a value into the arrays or the metadata; ...: take out what is there."""
    if place in arrays and (isinstance(value, np.ndarray) or callable(value) or value is ...):
        where, key = arrays, place
    else:
        *way, key = (int(one) if one.isdigit() else one for one in place.split("."))
        where = arrays["metadata"]
        for one in way:
            where = where[one]
    if value is ...:
        del where[key]
    else:
        where[key] = value(where[key]) if callable(value) else value


THRESHOLD = {"positive": 1, "probability": 0.3, "score": None, "rule": "0.3"}
C0 = "certificates.0."
NAN = float("nan")
# File, place, value and what the error says; of several changes place and value are tuples.
CASES = [
    # Arrays of models
    ("refit", "support", np.array([3, 1, 5]), "support must be sorted indices without repeats"),
    ("refit", "support", np.array([1, 1, 5]), "support must be sorted indices without repeats"),
    ("refit", "support", np.array([1, 5, 8]), "support must be between 0 and 7; got 1 to 8"),
    ("refit", "support", np.array([-1, 2, 5]), "support must be between 0 and 7; got -1"),
    ("refit", "support", np.array([5, 4 - 2**63, 7]), "support must be sorted indices"),
    ("refit", "support", np.array([1.0, 2, 3]), "support must be int64; got float64"),
    ("refit", "support", np.array([1, 2, 3], np.int32), "support must be int64; got int32"),
    ("refit", "support", np.array([[1, 2]]), "support must be sorted indices"),
    ("refit", ("support", "coef"), (np.array([], int), np.ones((1, 0))), "at least one"),
    ("refit", "coef", np.ones((1, 4)), r"coef must be of shape \(1, 3\); got \(1, 4\)"),
    ("refit", "coef", np.ones((2, 3)), r"coef must be of shape \(1, 3\); got \(2, 3\)"),
    ("refit", "coef", np.ones((1, 3), np.float32), "coef must be float64; got float32"),
    ("refit", "coef", np.array([[1, NAN, 3]]), "coef must be finite"),
    ("refit", "coef", ..., "there is no array 'coef'"),
    ("refit", "more", np.ones(1), "the array 'more' is unknown"),
    ("refit", "intercept", np.array([np.inf]), "intercept must be finite"),
    ("refit", "intercept", np.zeros(2), r"intercept must be of shape \(1,\)"),
    ("refit", "classes", np.array([1]), "classes must be none, or two or more"),
    ("refit", "classes", np.array([], int), "classes must be none beside a loss of numbers"),
    ("refit", "classes", np.array([1, 0]), "classes must be distinct and sorted"),
    ("refit", "classes", np.array(["a", "a"]), "classes must be distinct and sorted"),
    ("refit", "classes", np.array([0.0, NAN]), "classes must be finite"),
    ("refit", "classes", np.array([1j, 2]), "two or more numbers or strings"),
    ("refit", "classes", np.array([[0, 1]]), "two or more numbers or strings"),
    ("refit", "classes", np.array([0, 2**31], np.uint32).view("U1"), "must be valid text"),
    ("refit", "classes", np.array([0, 1, 2]), r"coef must be of shape \(3, 3\)"),
    # Metadata of models
    ("refit", "metadata", np.frombuffer(b"{", np.uint8), "metadata: Input data was truncated"),
    ("refit", "metadata", np.frombuffer(b"\xff", np.uint8), "metadata: JSON is malformed"),
    ("refit", "metadata", np.frombuffer(b"[" * 10**5, np.uint8), "metadata: Expected `object`"),
    ("refit", "metadata", np.frombuffer(b"[]", np.uint8), "metadata: Expected `object`"),
    ("refit", "metadata", np.zeros(3), "metadata must be bytes"),
    ("refit", "extra", 1, "metadata has the unknown or missing entry 'extra'"),
    ("refit", "\x1b[2J", 1, r"unknown or missing entry '\\x1b\[2J'"),
    ("refit", "created", ..., "missing required field `created`"),
    ("refit", "n_features_in", "8", r"Expected `int`, got `str` - at `\$.n_features_in`"),
    ("refit", "n_features_in", True, r"Expected `int`, got `bool` - at `\$.n_features_in`"),
    ("refit", "n_features_in", -8, r"Expected `int` >= 1 - at `\$.n_features_in`"),
    ("refit", "n_features_in", 10**30, r"Expected `int` <= .* - at `\$.n_features_in`"),
    ("refit", "first_index", 7, r"Invalid enum value 7 - at `\$.first_index`"),
    ("refit", "format", 8, "damaged: its content says format 8"),
    ("refit", "feature_names", ["a"], "feature_names must be 3 distinct strings"),
    ("refit", "feature_names", ["a"] * 3, "feature_names must be 3 distinct strings"),
    ("refit", "feature_names", [1, 2, 3], r"Expected `str`, .* `\$.feature_names\[0\]`"),
    ("refit", "parameters", lambda p: p | {"a": [[[]]] * 3, "b": 1e999}, "JSON is malformed"),
    ("refit", "columns", {"colour": "x"}, "columns must be names by time, event"),
    ("refit", "columns", {"time": 3}, "Expected `str`, got `int`"),
    ("refit", "columns", {"row_numbers": "'a"}, "row_numbers that are no list of quoted names"),
    ("refit", "n_samples", 0, r"Expected `int` >= 1 - at `\$.n_samples`"),
    ("refit", "n_samples", "40", r"Expected `int \| null`, got `str` - at `\$.n_samples`"),
    ("refit", "means", [1.0], "means must be 3, one for each column"),
    ("refit", "means", [1.0, 2.0, "3"], r"Expected `float`, got `str` - at `\$.means\[2\]`"),
    ("refit", "errors", {"n": 1, "absolute": [1.0]}, "null without a loss of numbers"),
    ("refit", "offset", 1, r"Expected `bool`, got `int` - at `\$.offset`"),
    ("refit", "codings", [{"column": "a"}], "a coding has no kind"),
    ("refit", "threshold", 3, r"got `int` - at `\$.threshold`"),
    ("refit", "threshold", {}, r"missing required field `positive` - at `\$.threshold`"),
    ("refit", "threshold", THRESHOLD | {"positive": 2}, "Invalid enum value 2"),
    ("refit", "threshold", THRESHOLD | {"probability": 1.0}, "Expected `float` < 1.0"),
    ("refit", "threshold", THRESHOLD | {"score": 1.0}, "a threshold is a probability or a score"),
    ("refit", "threshold", THRESHOLD | {"share": 0.5}, "entry 'threshold.share'"),
    ("refit", "covariates", [0.5], r"Expected `int`, got `float` - at `\$.covariates\[0\]`"),
    ("refit", "covariates", [99], "covariates must be columns of the model"),
    ("refit", ("support", "covariates"), (np.array([1, 4, 6]), [1, 4, 6]), "more than its cov"),
    ("refit", "refit_C", [], "refit_C must have 1 entries"),
    ("refit", "refit_C", [-1.0], r"Expected `float` > 0.0 - at `\$.refit_C\[0\]`"),
    ("refit", "refit_C", ["1"], r"Expected `float \| null`, got `str` - at `\$.refit_C\[0\]`"),
    ("refit", "calibration", {"scale": 0.0, "cv_log_loss": None}, "Expected `float` > 0.0"),
    ("refit", "certificates", [None, None], "certificates must have 1 entries"),
    ("refit", "certificates", [3], r"got `int` - at `\$.certificates\[0\]`"),
    ("refit", C0 + "gap", "small", r"Expected `float`, .* at `\$.certificates\[0\].gap`"),
    ("refit", C0 + "more", 1, "unknown field `more`"),
    ("refit", C0 + "bound", NAN, "metadata: JSON is malformed"),
    ("refit", C0 + "bound", None, r"Expected `float`, got `null`"),
    ("refit", C0 + "proven", lambda p: not p, "gap and proven of a certificate must be those of"),
    ("refit", C0 + "gap", lambda gap: gap + 0.1, "gap and proven of a certificate must be"),
    ("refit", C0 + "loss", "hinge", "the loss of a certificate or solution must be of logistic"),
    ("refit", C0 + "loss", 1, r"Expected `str`, got `int` - at `\$.certificates\[0\].loss`"),
    ("refit", "history", [], "history must have 1 entries"),
    ("refit", "history", {}, r"Expected `array`, got `object` - at `\$.history`"),
    ("refit", "history", [3], r"Expected `array`, got `int` - at `\$.history\[0\]`"),
    ("refit", "history", [[3]], r"Expected `object`, got `int` - at `\$.history\[0\]\[0\]`"),
    ("refit", "history.0.0.gap", "small", r"got `str` - at `\$.history\[0\]\[0\].gap`"),
    ("refit", "history.0.0.more", 1, "unknown or missing entry 'history.0.0.more'"),
    ("refit", "history.0.0.bound", float("inf"), "metadata: JSON is malformed"),
    ("refit", "history.0.0.status", "DONE", "Invalid enum value 'DONE'"),
    ("refit", "criteria", {}, r"Expected `array`, got `object` - at `\$.criteria`"),
    ("refit", "criteria", [3], r"Expected `object`, got `int` - at `\$.criteria\[0\]`"),
    ("refit", "criteria", [{"size": 3}], "missing required field `log_loss`"),
    ("refit", "criteria.0.size", -1, r"Expected `int` >= 0 - at `\$.criteria\[0\].size`"),
    ("refit", "criteria.0.size", 2.0, r"got `float` - at `\$.criteria\[0\].size`"),
    ("refit", "criteria.0.hqic", 1.0, "unknown or missing entry 'criteria.0.hqic'"),
    # Models of the l1 family
    ("l1", "solutions", {}, r"Expected `array`, got `object` - at `\$.solutions`"),
    ("l1", "solutions", [None], r"Expected `object`, got `null` - at `\$.solutions\[0\]`"),
    ("l1", "solutions", [{}], r"missing required field `C` - at `\$.solutions\[0\]`"),
    ("l1", "solutions", lambda some: 2 * some, "solutions must have 1 entries"),
    ("l1", "solutions", [], "refit_C must have 1 entries"),
    ("l1", "refit_C", [1.0, 1.0], "refit_C must have 1 entries"),
    ("l1", "certificates", [], "certificates must have 1 entries"),
    ("l1", "solutions.0.C", 0.0, r"Expected `float` > 0.0 - at `\$.solutions\[0\].C`"),
    ("l1", "solutions.0.gap", "small", r"got `str` - at `\$.solutions\[0\].gap`"),
    ("l1", "solutions.0.objective", True, r"got `bool` - at `\$.solutions\[0\].objective`"),
    ("l1", "solutions.0.loss", "hinge", "the loss of a certificate or solution must be of log"),
    ("l1", "solutions.0.loss", None, r"Expected `str`, got `null`"),
    ("l1", "solutions.0.more", 1, "unknown or missing entry 'solutions.0.more'"),
    ("l1", "calibration", {"scale": 1.0, "cv_log_loss": None}, "must be null beside solutions"),
    ("l1", ("solutions.0.loss", "threshold"), ("squared_hinge", THRESHOLD), "must be a score for"),
    ("l1", "support", np.array([], np.int64), r"coef must be of shape \(1, 0\)"),
    # Groups
    ("bilevel", "feature_groups", ["set 1"], "feature_groups must be 4, one for each column"),
    ("bilevel", "feature_groups", [None] * 4, r"got `null` - at `\$.feature_groups\[0\]`"),
    ("bilevel", "feature_groups", {}, r"got `object` - at `\$.feature_groups`"),
    ("bilevel", "criteria.0.size", [8, 0], r"Expected `int` >= 1"),
    ("bilevel", "criteria.0.size", [8, 2, 1], "Expected `array` of length <= 2"),
    ("bilevel", "criteria.0.size", [8], "Expected `array` of length >= 2"),
    ("bilevel", "criteria.0.size", [8, 2.0], "Expected `int`, got `float`"),
    ("bilevel", "criteria.0.size", "8", "Expected `int | array`, got `str`"),
    # Numbers
    ("quantile", "loss", None, "classes must be none beside a loss"),
    ("quantile", "loss", 3, r"got `int` - at `\$.loss`"),
    ("quantile", "loss", {}, r"missing required field `name` - at `\$.loss`"),
    ("quantile", "loss.name", "hinge", "the loss of a certificate or solution must be of hinge"),
    ("quantile", ("loss.name", C0 + "loss"), ("hinge", "hinge"), "the loss must be one of least"),
    ("quantile", ("loss.name", C0 + "loss"), ("cox", "cox"), "the loss cox are wrong|highest_sc"),
    ("quantile", "loss.parameters", {"quantile": 2.0}, "parameters of the loss quantile are wrong"),
    ("quantile", "loss.parameters", {"depth": 2.0}, "parameters of the loss quantile are wrong"),
    ("quantile", "loss.parameters", {"quantile": [1]}, r"got `array` - at `\$.loss.parameters"),
    ("quantile", "loss.of_class", "antigravity.Loss", "of 'antigravity.Loss', which is not of"),
    ("quantile", "highest_score", 1.0, "highest_score and strata must be there exactly"),
    ("quantile", "calibration", {"scale": 1.0, "cv_log_loss": 0.5}, "null without classes"),
    ("quantile", "threshold", THRESHOLD, "threshold must be null but for two classes"),
    ("quantile", "classes", np.array([0, 1]), "classes must be none beside a loss of numbers"),
    ("quantile", "errors", {"n": 1}, "missing required field `absolute`"),
    ("quantile", "errors", {"n": 2, "absolute": [1.0]}, "absolute errors must be 2 numbers"),
    ("quantile", "errors", {"n": 0, "absolute": []}, "Expected `int` >= 1"),
    ("quantile", "errors", {"n": True, "absolute": [1.0]}, "Expected `int`, got `bool`"),
    ("quantile", "errors", {"n": 1, "absolute": ["1"]}, "Expected `float`, got `str`"),
    ("quantile", "errors", {"n": 1, "absolute": [-1.0]}, "Expected `float` >= 0.0"),
    ("quantile", "errors", {"n": 1, "absolute": [NAN]}, "metadata: JSON is malformed"),
    ("quantile", "errors", {"n": 2, "absolute": [2.0, 1.0]}, "2 numbers that grow"),
    ("quantile", "errors", [1.0], r"got `array` - at `\$.errors`"),
    # Survival times
    ("survival", "highest_score", None, "highest_score and strata must be there exactly"),
    ("survival", "intercept", np.ones(1), "intercept must be 0 for the loss cox"),
    ("survival", "strata.0.time", lambda t: -t, "time, hazard must not be negative"),
    ("survival", "strata.0.time", lambda t: 0 * t, "time and hazard must grow within a stratum"),
    ("survival", "strata.0.hazard", lambda h: h[::-1], "time and hazard must grow within a strat"),
    ("survival", "strata.0.hazard", lambda h: h + np.inf, "strata.0.hazard must be finite"),
    ("survival", "strata.0.hazard", np.ones((2, 2)), "time and hazard must fit each other"),
    ("survival", ("strata.0.time", "strata.0.hazard"), (np.ones(0), np.ones(0)), "have an event"),
    ("survival", "strata.0.hazard", ..., "there is no array 'strata.0.hazard'"),
    # Responses
    ("responses", "target_name", "fat", r"coef must be of shape \(1, 3\); got \(3, 3\)"),
    ("responses", "target_name", ["a", "b"], r"coef must be of shape \(2, 3\); got \(3, 3\)"),
    ("responses", "target_name", ["a", "a", "b"], "or those of two or more responses"),
    ("responses", "target_name", ["a"], "or those of two or more responses"),
    ("responses", "target_name", ["a", 1, "b"], r"got `int` - at `\$.target_name\[1\]`"),
    ("responses", "intercept", np.ones(1), r"intercept must be of shape \(3,\)"),
    ("responses", "refit_C", [1.0, 1.0, 1.0], "refit_C must have 1 entries"),
    # Several classes
    ("ordinal", "intercept", lambda b: b[::-1], "intercept must fall: it is minus the thresholds"),
    ("ordinal", "intercept", np.ones(1), r"intercept must be of shape \(2,\)"),
    ("ordinal", "classes", np.array([2, 1, 2]), "classes must be distinct"),
    ("ovr", "classes", lambda c: c[::-1], "classes must be distinct and sorted"),
    ("ovr", "certificates", lambda some: some[:2], "certificates must have 3 entries"),
    ("ovr", "history", lambda some: some[:2], "history must have 3 entries"),
    ("ovr", "threshold", THRESHOLD, "threshold must be null but for two classes"),
    # Certificates
    ("proof", "class_weight", np.array([1.0, -1.0]), "class_weight must be 2 positive numbers"),
    ("proof", "class_weight", np.ones(3), "class_weight must be 2 positive numbers"),
    ("proof", "class_weight", np.array([1.0, 2e9]), "must not differ by more than 1e"),
    ("proof", "class_weight", np.array([1e308, 1.0]), "must not differ by more than 1e"),
    ("proof", "classes", np.array([0, 1, 2]), "class_weight must be 3"),
    ("proof", C0 + "support", np.array([3, 2, 5]), "must be indices of features, sorted"),
    ("proof", C0 + "support", np.array([1, 2, 8]), "must be of 8 features; got feature 8"),
    ("proof", C0 + "support", np.array([1, 2], np.int32), "must be int64; got int32"),
    ("proof", C0 + "coef", np.ones(4), "coef of the certificate must be finite numbers of shape"),
    ("proof", C0 + "coef", np.full(3, NAN), "coef must be finite"),
    ("proof", C0 + "forced", np.array([3, 3]), "must be indices of features, sorted"),
    ("proof", C0 + "forced", np.array([77]), "forced features outside of its support"),
    ("proof", C0 + "dual", np.ones(59), "tree.dual of the certificate must be finite numbers of"),
    ("proof", C0 + "tree.dual", lambda v: v[:, :5], "tree.dual of the certificate must be finite"),
    ("proof", C0 + "tree.row", np.zeros(0, np.int64), "tree of the certificate must have parent"),
    ("proof", C0 + "tree.inside", lambda v: v.astype(int), "tree of the certificate must have"),
    ("proof", C0 + "tree.parent", lambda v: 0 * v, "parent must be numbers of earlier"),
    ("proof", C0 + "tree.parent", lambda v: v + 2, "parent must be numbers of earlier"),
    ("proof", C0 + "tree.feature", lambda v: v + 8, "tree.feature must be below 8"),
    ("proof", C0 + "tree.row", lambda v: v + 10**6, "row must be rows of tree.dual"),
    ("proof", C0 + "tree.row", lambda v: 0 * v - 1, "row must be rows of tree.dual"),
    ("proof", C0 + "tree.diagonal", np.ones(3), "tree.diagonal .* is of 3 features, not of 8"),
    ("proof", C0 + "tree.diagonal", -np.ones(8), "tree.diagonal must not be negative"),
    ("proof", "format", 4, "damaged: its content says format 4"),
    ("proof", "n_samples", "a", r"Expected `int`, got `str` - at `\$.n_samples`"),
    ("proof", "n_samples", 59, "dual must be of one number of samples, at most 59"),
    ("proof", "certificates", [], "Expected `array` of length >= 1"),
    ("proof", "certificates", [3], r"Expected `object`, got `int` - at `\$.certificates\[0\]`"),
    ("proof", "certificates", lambda some: 2 * some, "there is no array"),
    ("proof", "feature_names", ["a"], "feature_names must be 3 distinct strings"),
    ("proof", C0 + "C", -1.0, "C of the certificate must be positive"),
    ("proof", C0 + "scaling", "other", "the scaling of the certificate must be 'standardized' or"),
    ("proof", C0 + "loss", "hinge", "the loss of the certificate must be 'logistic' or"),
    ("proof", C0 + "loss", "least_squares", "classes must not go with the loss least_squares"),
    ("proof", C0 + "bound", NAN, "metadata: JSON is malformed"),
    ("proof", C0 + "bound", 1e999, "metadata: JSON is malformed"),
    ("proof", C0 + "equivalents", [[1]], "Expected `object`, got `array`"),
    ("proof", C0 + "equivalents", {"1": [2]}, "there is no array"),
    ("proof", (C0 + "equivalents", C0 + "equivalents.1"),
     ({"1": C0 + "equivalents.1"}, np.array([99])), "must be of 8 features"),
    ("proof", (C0 + "equivalents", "e"), ({"1": "e"}, np.array([2])), "every array by its place"),
    ("proof", (C0 + "equivalents", "e"), ({"a": "e"}, np.array([2])), "Expected `int`"),
    ("proof", C0 + "more", 1, "unknown or missing entry 'certificates.0.more'"),
    ("proof", C0 + "tree.more", 1, "unknown or missing entry 'certificates.0.tree.more'"),
    ("proof", C0 + "max_abs_coef", ..., "unknown or missing entry 'certificates.0.max_abs_coef'"),
    # Their minorants
    *[("minorants", C0 + "tree.minorants.0." + name, value, message) for name, value, message in [
        ("features", np.array([0, 10**9]), "a minorant of the certificate must be of 8 features"),
        ("features", np.array([-1, 2]), "features of a minorant of the certificate must be ind"),
        ("features", np.array([0.0, 1.0]), "minorants.0.features must be int64"),
        ("bend", ["1"], "there is no array"),
        ("bend", np.ones(3), "the bend of a minorant"),
        ("core", None, "Expected `float`, got `null`"),
        ("coef", 1.0, "there is no array"),
        ("diagonal", np.ones(1), "the diagonal of a minorant"),
        ("more", 1, "unknown or missing entry"),
    ]],
    # Groups
    ("groups", C0 + "n_groups", None, "groups without their number, or the reverse"),
    ("groups", "groups", None, "the array 'groups.* is unknown"),
    ("groups", "groups.labels", ..., "there is no array 'groups.labels'"),
    ("groups", C0 + "n_groups", 0, "features of more than 0 groups"),
    ("groups", C0 + "n_groups", 2.0, r"got `float` - at `\$.certificates\[0\].n_groups`"),
    ("groups", "groups.code", np.zeros(7, np.int64), "features; got feature|must be 8 indices"),
    ("groups", "groups.code", np.zeros(9, np.int64), "groups.code must be 8 indices"),
    ("groups", "groups.code", np.zeros(8, np.int32), "groups.code must be int64; got int32"),
    ("groups", "groups.code", np.full(8, 9), "groups of the certificate must be one index for"),
    ("groups", "groups.code", np.full(8, -1), "groups of the certificate must be one index for"),
    ("groups", "groups.labels", np.arange(4.0), "groups.labels must be integers or text"),
    ("groups", "groups.labels", np.zeros((4, 1), np.int64), "groups.labels must be integers or t"),
    ("groups", (C0 + "groups", C0 + "groups.labels", C0 + "groups.code"),
     ({"labels": C0 + "groups.labels", "code": C0 + "groups.code"}, np.arange(9), np.zeros(8, int)),
     "groups and signs must be of all certificates"),
    # Several outputs
    ("classes", C0 + "dual", lambda v: v[:2], "finite numbers of shape"),
    ("classes", C0 + "dual", np.ravel, "intercept of the certificate must be a finite number"),
    ("classes", C0 + "dual", lambda v: v[None], "intercept of the certificate must be a finite num"
     "|finite numbers of shape"),
    ("classes", C0 + "dual", lambda v: v * NAN, "dual must be finite"),
    ("classes", C0 + "coef", np.ravel, "coef of the certificate must be finite numbers of sha"),
    ("classes", C0 + "coef", lambda w: w[:2], "coef of the certificate must be finite numbers"),
    ("classes", "classes", lambda c: c[:2], "class_weight must be 2"),
    ("classes", ("classes", "class_weight"), (lambda c: c[:2], np.ones(2)),
     "must be of 2 outputs; it has the dual points of 3"),
    ("classes", ("classes", "class_weight"), (np.array([*"abcd"]), np.ones(4)),
     "must be of 4 outputs; it has the dual points of 3"),
    ("classes", C0 + "intercept", 0.5, "intercept of the certificate must be finite numbers of"),
    ("classes", C0 + "intercept", [0.5, 1.0], "intercept of the certificate must be finite num"),
    ("classes", C0 + "intercept", ["a", 1.0, 2.0], "must be a finite number; got"),
    ("classes", C0 + "intercept", None, "intercept of the certificate must be a finite number"),
    ("classes", C0 + "loss", "logistic", "there must be 3 certificates for 3 classes"),
    ("classes", C0 + "loss", "least_squares", "there must be 3 certificates for 3 classes"),
    ("classes", "n_samples", 59, "dual must be of one number of samples, at most 59"),
    ("ordered", C0 + "intercept", [2.0, 1.0, 0.0], "must have 2 thresholds; it has 3"),
    ("ordered", C0 + "intercept", [1.0, 2.0], "minus the thresholds between three ordered classes"),
    ("each", C0 + "C", 1e-9, "the certificates of all classes must have the same C"),
    ("each", "classes", lambda c: c[::-1], "classes must be distinct and sorted"),
    ("each", "certificates", lambda some: some[:2], "the array .* is unknown"),
    ("targets", "target_name", None, "must be of 1 outputs; it has the dual points of 3"),
    ("targets", "target_name", ["a", "b"], "must be of 2 outputs; it has the dual points of 3"),
    ("targets", C0 + "loss", "multinomial", "must be of 0 outputs|classes must not go with"),
    ("targets", C0 + "loss", "cox", "the shape .* is none of the loss 'cox'"),
    ("signs", "signs", np.zeros(6, np.int8), "support of the certificate must be of 6|are of 6"),
    ("signs", "signs", np.ones(8, np.int64), "signs must be int8; got int64"),
    ("signs", "signs", np.array([2] * 8, np.int8) * (np.arange(8) == 0), "must be integers: -1"),
    ("signs", "signs", ..., "there is no array 'signs'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "place", "value", "message"), CASES, indirect=["path"],
    ids=[f"{one[0]}-{one[1]}-{number}" for number, one in enumerate(CASES)],
)  # fmt: skip
def test_unsound_content_is_refused_by_name(path, place, value, message):
    """A forged file would be loaded as a model or a certificate, or end in a traceback."""
    kind, read, error = kind_of(path)
    arrays = parts(path)
    places, values = (place, value) if isinstance(place, tuple) else ((place,), (value,))
    for one, other in zip(places, values, strict=True):
        if isinstance(other, np.ndarray) and one not in arrays:
            arrays[one] = other
        else:
            edited(arrays, one, other)
    rewrite(kind, path, arrays)
    with pytest.raises(error, match=f"{path.name}: .*(?:{message})"):
        read(path)


@pytest.mark.parametrize("path", [*MODELS, *CERTIFICATES], indirect=True)
def test_a_file_is_its_record_and_back(path):
    """The cases above would be refused for their making, or a field be lost on the way."""
    kind, read, _ = kind_of(path)
    rewrite(kind, path, parts(path))
    read(path)
    record, given = unpack(kind, path.read_bytes())
    arrays = {}
    assert plain(record, arrays) == given
    found = parts(path)
    assert {*arrays} == {*found} - {"metadata"}
    for name, values in arrays.items():
        np.testing.assert_array_equal(values, found[name], strict=True)


@pytest.mark.parametrize("path", [*MODELS, *CERTIFICATES], indirect=True)
def test_every_truncation_and_bit_flip_is_refused(path):
    """A flipped bit or half a file would change a model, or what is proven, without a word."""
    kind, _, error = kind_of(path)
    data = bytearray(path.read_bytes())
    step = 1 if path.name in ("refit", "l1") else max(1, len(data) // 3000)
    for position in range(0, len(data), step):
        data[position] ^= 1 << (position % 8)
        with pytest.raises(error):
            unpacked(kind, data)
        data[position] ^= 1 << (position % 8)
    for length in [*range(0, len(data), 30 * step), len(data) - 1]:
        with pytest.raises(error):
            unpacked(kind, data[:length])
    for changed in (data + b"x", b"x" + data, data[:100] + data[101:], data * 2):
        with pytest.raises(error):
            unpacked(kind, changed)


def unpacked(kind, data):
    """Read bytes as files are read."""
    with kind.reading("m"):
        unpack(kind, bytes(data))


def test_members_that_overlap_are_refused():
    """A small file could name one array a million times, and fill the memory with it."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        with archive.open("b.npy", "w") as member:
            np.save(member, np.zeros(1000))
        info = archive.infolist()[0]
        end = inner.tell()
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as archive:
        with archive.open("a.npy", "w") as member:
            np.save(member, np.frombuffer(inner.getvalue()[:end], np.uint8))
        info.header_offset = outer.getvalue().index(inner.getvalue()[:30])
        archive.filelist.append(info)
        archive.comment = b"zeronorm model 9 sha256 " + b"0" * 64
    with zipfile.ZipFile(outer) as archive:
        assert archive.namelist() == ["a.npy", "b.npy"]
    data = outer.getvalue()[:-88]
    data += b"zeronorm model 9 sha256 " + hashlib.sha256(data).hexdigest().encode()
    with pytest.raises(ModelFileError, match="damaged: its arrays overlap"):
        unpacked(MODEL, data)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, np.float64("nan")])
def test_numbers_that_json_has_not_are_refused_on_writing(value):
    """Msgspec writes null for NaN and infinity without a word: a number would be unknown."""
    with pytest.raises(ValueError, match=r"a\.1\.b must be finite to be saved; got"):
        plain({"a": [0, {"b": value}]}, {})


DRAWN = [None, True, -1, 2, 10**30, 0.5, -1e308, "", "\x1b[31m", [], {}, [1.5], ["a"], {"1": "e"}]
ARRAYS = [
    np.zeros(0), np.array(1.0), np.zeros((2, 2, 2)), np.array([-(2**63), 2**62]), np.arange(3),
    np.full(3, 1e308), np.array(["a", "b"]), np.array([b"a"]), np.array([True, False]),
    np.array([1j]), np.zeros((3, 0)), np.int8([1]), np.uint64([2**64 - 1, 1]),
]  # fmt: skip


def entries(value, way=()):
    """Yield the way to every entry of JSON, an entry of an array as well."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*way, key)
            yield from entries(part, (*way, key))


@pytest.mark.parametrize("seed", [0, *slow(range(1, 20))])
@pytest.mark.parametrize("path", [*MODELS, *CERTIFICATES], indirect=True)
def test_drawn_damage_is_refused_or_sound(path, seed):
    """A file that nobody thought of would end in a traceback, or be loaded and fail later."""
    kind, read, error = kind_of(path)
    draw, whole = np.random.default_rng([seed, len(path.name)]), path.read_bytes()
    for _ in range(12):
        path.write_bytes(whole)
        arrays = parts(path)
        name = str(draw.choice([*arrays]))
        if name == "metadata":
            ways = [*entries(arrays["metadata"])]
            *way, last = ways[draw.integers(len(ways))]
            where = arrays["metadata"]
            for one in way:
                where = where[one]
            where[last] = DRAWN[draw.integers(len(DRAWN))]
        else:
            arrays[name] = ARRAYS[draw.integers(len(ARRAYS))]
        rewrite(kind, path, arrays)
        loaded = refusal = None
        try:
            loaded = read(path)
        except error as raised:
            refusal = str(raised)
        assert refusal is None or refusal.isprintable()
        if loaded is None:
            continue
        assert repr(loaded)
        assert loaded.layout.n_features == loaded.metadata["n_features_in"]
        if kind is MODEL and loaded.n_features_in_ == M and not loaded.metadata["offset"]:
            assert len(loaded.predict(X)) == N


UNKNOWN = [
    *[("refit", place) for place in (
        "refit_C.0", "calibration.cv_log_loss", "n_samples", "means", "feature_groups",
        "history.0.0.bound", "history.0.0.objective", "history.0.0.gap", "history.0.0.status",
        *(f"criteria.0.{name}" for name in ("log_loss", "aic", "bic", "ebic", "gic")),
    )],
    *[("l1", f"solutions.0.{name}") for name in ("C", "objective", "gap")],
    ("quantile", "errors"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "place"), UNKNOWN, indirect=["path"], ids=str)
def test_what_is_not_known_or_infinite_stays_so(path, place):
    """Null would be refused, or come back as a number."""
    arrays = parts(path)
    edited(arrays, place, None)
    found = load(rewrite(MODEL, path, arrays)).metadata
    for key in place.split("."):
        found = found[int(key) if key.isdigit() else key]
    assert found is None
