"""Save and load fitted models, and certificates with their proofs, without pickle.

A model file is a zip archive in the form of `numpy.savez` (any NumPy reads it) of five arrays:

========= ============================ =========================================================
metadata  (length,) uint8              JSON in UTF-8: versions, names, parameters, certificates,
                                       what the solver did (`history`: a row per step)
classes   (n_classes,) number or str   sorted
support   (k,) int64                   sorted, each in [0, n_features_in); empty for l1 at most
coef      (1 or n_classes, k) float64  finite
intercept (1 or n_classes,) float64    finite
========= ============================ =========================================================

A model on exactly k features is a refit: for every score the metadata have its `refit_C` and a
certificate, or null. A model of the l1 family is the solution of one problem: its certificates are
null, it has no `refit_C`, and `solutions` has the C, loss, objective and certified gap. Beside a
refit are the information criteria of all sizes that were fitted (`criteria`: a row per size).

Its archive comment, the last bytes of the file, is `zeronorm model 1 sha256 <digest of all bytes
before>`. The digest finds damage; it proves nothing about who wrote the file, so every size, type,
range and order is verified as well, before anything is allocated for it.

A certificate file is such an archive too (`zeronorm certificate 1 sha256 ...`), with all that
somebody who has the data needs to check it:

============ ========================= =========================================================
metadata     (length,) uint8           JSON in UTF-8: versions, size and names of the data, and for
                                       every certificate its problem and its figures
classes      (n_classes,)              sorted
class_weight (n_classes,) float64      positive: the weight of a row of each class
============ ========================= =========================================================

and for every certificate i (one for two classes, whose second counts as +1; else one for each class
against the others) support_i, coef_i, dual_i, forced_i and, of its tree, parent_i, feature_i,
inside_i, row_i and tree_dual_i, without rows where there is no tree. What they mean is said by
`zeronorm.result`.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import json
import math
import os
import re
import secrets
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._typing import FloatArray, IndexArray
from .criteria import CRITERIA
from .files import (
    FileError,
    Layout,
    PathLike,
    Table,
    check_path,
    did_you_mean,
    is_text,
    quote,
    read_npy,
)
from .result import Certificate, Result, Selection, Status, Step, Tree

FORMAT = 1
CERTIFICATE_FORMAT = 1

Require: TypeAlias = Callable[[bool, str], None]

_MEMBERS = ("metadata", "classes", "support", "coef", "intercept")
_MAX_SIZE = 1 << 30  # bytes; a model of a million features has a hundredth of it
_SHARED = ("metadata", "classes", "class_weight")
_OF_CERTIFICATE = {  # type and number of dimensions
    "support": ("<i8", 1),
    "coef": ("<f8", 1),
    "dual": ("<f8", 1),
    "forced": ("<i8", 1),
    "parent": ("<i8", 1),
    "feature": ("<i8", 1),
    "inside": ("|b1", 1),
    "row": ("<i8", 1),
    "tree_dual": ("<f8", 2),
}
_MAX_CERTIFICATE = 1 << 33  # bytes; a tree has a GiB of dual points at most, for every class
_MAX_DENSE = 1 << 31  # bytes of X in float64 that are verified; it takes a few times as much
_TRAILER = re.compile(rb"zeronorm (model|certificate) ([0-9]{1,9}) sha256 ([0-9a-f]{64})\Z")
_KEYS = {
    "format": int,
    "zeronorm": str,
    "created": str,
    "estimator": str,
    "parameters": dict,
    "n_features_in": int,
    "feature_names": (list, type(None)),
    "first_index": int,
    "target_name": (str, type(None)),
    "refit_C": list,
    "certificates": list,
    "history": list,
    "solutions": list,
    "criteria": list,
}
_STEP = {
    "n_features": int,
    "objective": (float, type(None)),
    "bound": (float, type(None)),
    "gap": (float, type(None)),
    "status": (str, type(None)),
}
_CERTIFICATE = {
    "C": float,
    "scaling": str,
    "objective": float,
    "bound": float,
    "gap": float,
    "proven": bool,
    "candidates": int,
    "fixed_in": int,
    "n_forced": int,
    "loss": str,
    "fit_intercept": bool,
}
_SOLUTION = {
    "C": float,
    "loss": str,
    "objective": (float, type(None)),
    "gap": (float, type(None)),
}
_CRITERIA = {
    "size": int,
    "log_loss": float,
    **dict.fromkeys(CRITERIA, (float, type(None))),
}
_LOSSES = ("logistic", "squared_hinge")
_SCALINGS = ("standardized", "scaled", "none")
_CERTIFICATE_KEYS = {
    "format": int,
    "zeronorm": str,
    "created": str,
    "n_samples": int,
    "n_features_in": int,
    "feature_names": (list, type(None)),
    "first_index": int,
    "target_name": (str, type(None)),
    "certificates": list,
}
_PROBLEM = {
    "C": float,
    "scaling": str,
    "loss": str,
    "fit_intercept": bool,
    "intercept": float,
    "objective": float,
    "bound": float,
    "fixed_in": int,
    "candidates": int,
    "equivalents": list,
}


class ModelFileError(FileError):
    """A file is not a sound model file; the message says what is wrong with it."""


class CertificateFileError(FileError):
    """A file is not a sound certificate file; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """A loaded model: predicts, and knows what it was made from.

    The score of a sample x for class c is `intercept_[c] + sum_j coef[c, j] x[support_[j]]`; with
    two classes there is one score, for the second of them.
    """

    classes_: NDArray[Any]  # (n_classes,) sorted
    support_: IndexArray  # (k,) sorted; empty for a model without features
    coef: FloatArray  # (1 or n_classes, k)
    intercept_: FloatArray  # (1 or n_classes,)
    n_features_in_: int
    feature_names: tuple[str, ...] | None  # k, of the support
    metadata: Mapping[str, Any]  # as written: versions, parameters, certificates, history...

    @property
    def layout(self) -> Layout:
        """How a file is to be read for this model."""
        return Layout(
            self.n_features_in_,
            self.feature_names or None,  # of none, no column is to be found by its name
            self.metadata["first_index"],
            self.metadata["target_name"],
        )

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores, (n_samples,) or (n_samples, n_classes) with three classes or more.

        Parameters
        ----------
        X : array, sparse matrix or array, data frame or Table
            (n_samples, n_features_in_). Where both X and the model have names, features are found
            by name: order does not matter and other columns may be missing or be there.

        Raises
        ------
        ValueError
            If features are missing, their number differs, or a value is NaN or infinite.
        """
        from .designs import as_design
        from .designs._operations import margins

        values, positions = self._columns(X)
        scores = margins(as_design(values), positions, self.coef.T, self.intercept_)
        bad = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        if bad.size:
            raise ValueError(
                f"X must be finite in the features of the model; row {bad[0]} has NaN, infinity or "
                "a value that is too large."
            )
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of the largest score, (n_samples,)."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities, (n_samples, n_classes): the logistic function of the scores.

        With three classes or more, one-versus-rest probabilities normalised to sum one.

        Raises
        ------
        ValueError
            As for `decision_function`, and where the scores are no log-odds: those of an l1 model
            with another loss than the logistic one.
        """
        from scipy.special import expit

        losses = {solution["loss"] for solution in self.metadata["solutions"]}
        if losses - {"logistic"}:
            raise ValueError(
                f"Probabilities need a model with loss='logistic'; this "
                f"{self.metadata['estimator']} has {min(losses)!r}, whose scores are no log-odds. "
                "Use decision_function or predict."
            )
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        proba = expit(scores)
        total = proba.sum(axis=1, keepdims=True)
        # All scores far below zero: the limit is the softmax of the scores.
        shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
        proba = np.where(total > 1e-200, proba, shifted)
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))

    def _columns(self, X: Any) -> tuple[Any, IndexArray]:
        """Return data and the positions of the support in it."""
        names: Sequence[Any] | None = None
        frame = None
        if isinstance(X, Table):
            X, names = X.X, X.feature_names
        elif hasattr(X, "columns") and not sp.issparse(X):
            import narwhals as nw

            frame = nw.from_native(X, eager_only=True)
            names = list(frame.columns)
        if names is not None and self.feature_names is not None:
            where = {name: j for j, name in enumerate(names)}
            missing = [name for name in self.feature_names if name not in where]
            if missing:
                hint = did_you_mean(missing[0], [str(name) for name in names])
                raise ValueError(
                    f"X must have the features of the model; {len(missing)} are missing, the first "
                    f"is {quote(missing[0])}.{hint}"
                )
            if frame is not None and not self.feature_names:
                return np.zeros((len(frame), 1)), self.support_  # of nothing, rows only
            if frame is not None:
                return frame.select(self.feature_names).to_numpy(), np.arange(len(self.support_))
            return X, np.array([where[name] for name in self.feature_names], np.int64)
        if frame is not None:
            X = frame.to_numpy()
        X = X if hasattr(X, "shape") else np.asarray(X)
        if len(X.shape) != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have {self.n_features_in_} features (those the model was trained on); got "
                f"the shape {X.shape}."
            )
        return X, self.support_


def save(
    estimator: Any,
    path: PathLike,
    *,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
    first_index: int = 0,
    target_name: str | None = None,
) -> Path:
    """Write a fitted classifier to a model file; return its path.

    The file appears complete or not at all: it is written beside its place under another name,
    flushed to the disk and moved. A model that was there before stays until then.

    Parameters
    ----------
    estimator : fitted classifier of this package
        Of `L1LogisticRegressionCV` the model at `C_` is written.
    path : path-like
    n_features : int or None
        Which of the sizes that were fitted (numbers of groups where groups were selected); if None
        that of the model, the largest or the one that the criterion chose. Only for classifiers
        that fit several sizes, not for those of the l1 family.
    feature_names : sequence of n_features_in_ str, or None
        Names of all features if the estimator was fitted on data without (`feature_names_in_`).
    first_index : int
        What the data file calls its first feature: `Table.first_index`.
    target_name : str or None
        Name of the target column.

    Raises
    ------
    ValueError
        If the size was not fitted, there is only one model, or the names do not fit.
    TypeError
        If the estimator is not fitted or not of this package.
    OSError
        If the file cannot be written; then nothing is left behind.
    """
    fitted = _contents(estimator, n_features)
    models = fitted.models
    support = np.unique(np.concatenate([model.support for model in models])).astype(np.int64)
    coef = np.zeros((len(models), support.size))
    for row, model in enumerate(models):
        coef[row, np.searchsorted(support, model.support)] = model.coef

    n_features_in = int(estimator.n_features_in_)
    names = feature_names
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    metadata = {
        **_header(FORMAT),
        "estimator": type(estimator).__name__,
        "parameters": {key: _plain(value) for key, value in estimator.get_params().items()},
        "n_features_in": n_features_in,
        "feature_names": _names_of(support, names, n_features_in),
        "first_index": first_index,
        "target_name": target_name,
        "refit_C": fitted.refit_C,
        "certificates": fitted.certificates,
        "history": [[_summarize_step(step) for step in steps] for steps in fitted.histories],
        "solutions": fitted.solutions,
        "criteria": fitted.criteria,
    }
    arrays = {
        "metadata": _encoded(metadata),
        "classes": _storable(np.asarray(estimator.classes_)),
        "support": support.astype("<i8"),
        "coef": coef.astype("<f8"),
        "intercept": np.array([model.intercept for model in models], "<f8"),
    }
    data = _pack(arrays)
    _unpack("the model", data)  # what cannot be read back is not written
    return write_file(path, data)


def _header(version: int) -> dict[str, Any]:
    """Return what the metadata of all files begin with."""
    from . import __version__

    return {
        "format": version,
        "zeronorm": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _names_of(support: IndexArray, names: Sequence[Any] | None, m: int) -> list[str] | None:
    """Return the names of a support, given those of all m features."""
    if names is None:
        return None
    if len(names) != m:
        raise ValueError(
            f"feature_names must have {m} names (the features of X); got {len(names)}."
        )
    chosen = [str(names[j]) for j in support]
    if len(set(chosen)) < len(chosen):
        raise ValueError("feature_names must be distinct; two selected features share one.")
    return chosen


def _encoded(metadata: Mapping[str, Any]) -> NDArray[Any]:
    return np.frombuffer(json.dumps(metadata, allow_nan=False).encode(), np.uint8)


@dataclass(frozen=True, slots=True)
class _Contents:
    """What a model file takes from an estimator, an entry for every score."""

    models: Sequence[Selection | Result]
    histories: Sequence[Sequence[Step]]
    certificates: list[dict[str, Any] | None]
    refit_C: list[float]  # none for models that are no refits
    solutions: list[dict[str, Any]]  # none for refits
    criteria: list[dict[str, Any]]  # a row for every size; none for models that are no refits


def _contents(estimator: Any, n_features: int | None) -> _Contents:
    """Return the models of a fitted classifier, those of one size where it has several."""
    # On use: reading a model file needs no estimators.
    from .estimators import L1LogisticRegression
    from .estimators._base import BudgetedClassifier
    from .estimators._l1 import gap_of

    kind = type(estimator).__name__
    if not isinstance(estimator, (BudgetedClassifier, L1LogisticRegression)):
        raise TypeError(f"estimator must be a fitted classifier of zeronorm; got {kind}.")
    if not hasattr(estimator, "support_"):
        raise TypeError(
            f"estimator must be a fitted classifier of zeronorm; got {kind}, which is not fitted. "
            "Call fit first."
        )
    if isinstance(estimator, BudgetedClassifier):
        paths = estimator.estimators_
        sizes = list(paths[0])
        size = estimator._size if n_features is None else n_features
        if size not in sizes:
            raise ValueError(f"n_features must be one of the fitted sizes {sizes}; got {size!r}.")
        chosen = [path[size] for path in paths]
        return _Contents(
            chosen,
            [path.history for path in paths],
            [summarize(model.certificate) for model in chosen],
            [float(model.refit_C) for model in chosen],
            [],
            tabulate(estimator.criteria_),
        )
    if n_features is not None:
        raise ValueError(
            f"n_features chooses one of several models, and {kind} has only one; got "
            f"{n_features!r}. Leave it out."
        )
    results = estimator._results
    Cs = np.broadcast_to(np.asarray(estimator.C_, np.float64), len(results))
    solutions = [
        {
            "C": float(C),
            "loss": estimator.loss,
            "objective": _finite(result.objective),
            "gap": _finite(gap_of(result)),
        }
        for C, result in zip(Cs, results, strict=True)
    ]
    none = [None for _ in results]
    histories = [result.history for result in results]
    return _Contents(results, histories, [*none], [], solutions, [])


def load(path: PathLike) -> LinearModel:
    """Read a model file. Nothing in it is executed or unpickled.

    Raises
    ------
    ModelFileError
        If the file is damaged, of a newer version, or no model file. It is a ValueError.
    MissingFileError
        If there is no such file. It is a FileNotFoundError.
    """
    path, data = _read_bytes(path, "model", _MAX_SIZE, ModelFileError)
    return _unpack(str(path), data)


@dataclass(frozen=True, slots=True, eq=False)
class SavedCertificate:
    """Certificates of one fit, and what is needed to check them."""

    classes_: NDArray[Any]  # (n_classes,) sorted
    certificates: tuple[Certificate, ...]  # one for two classes, else one for each of them
    class_weight: FloatArray  # (n_classes,) weight of a row of each class, in the loss
    feature_names: tuple[str, ...] | None  # of `support_`
    metadata: Mapping[str, Any]  # as written: versions, size and names of the data

    @property
    def positive(self) -> list[Any]:
        """The class that counts as +1 in each certificate; all others count as -1."""
        labels: list[Any] = self.classes_.tolist()
        return labels[1:] if len(labels) == 2 else labels

    @property
    def support_(self) -> IndexArray:
        """The features of all classes, sorted."""
        return _union(self.certificates)

    @property
    def layout(self) -> Layout:
        """How a file is to be read: with all features, at their places."""
        return Layout(
            self.metadata["n_features_in"],
            first_index=self.metadata["first_index"],
            target_name=self.metadata["target_name"],
        )

    def verify(
        self, X: Any, y: Any, *, sample_weight: Any = None, rtol: float = 1e-6
    ) -> list[dict[str, float]]:
        """Recompute objective, bound and gap of every certificate, in plain NumPy.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix, as at the fit; it is made dense.
        y : (n_samples,) labels.
        sample_weight : (n_samples,) of the fit; class weights are in the file.
        rtol : as in `zeronorm.certificate.verify`.

        Raises
        ------
        zeronorm.certificate.CertificateError
            Where a certificate claims more than the data show. It is a ValueError.
        ValueError
            Where X or y are of other data, or X is too large to be made dense.
        """
        from ._validate import check_sample_weight
        from .certificate import CertificateError, verify

        X = X if hasattr(X, "shape") else np.asarray(X)
        shape = (self.metadata["n_samples"], self.metadata["n_features_in"])
        if tuple(X.shape) != shape:
            raise ValueError(
                f"X must be what the certificate is for, {shape[0]} samples of {shape[1]} "
                f"features; got the shape {tuple(X.shape)}."
            )
        n_bytes = 8 * shape[0] * shape[1]
        if n_bytes > _MAX_DENSE:
            raise ValueError(
                f"X must be at most {_MAX_DENSE / 2**30:.2g} GiB as dense float64, of which "
                f"verification takes several copies; got {n_bytes / 2**30:.2g} GiB. On a machine "
                "with that much memory, call zeronorm.certificate.verify."
            )
        labels = np.asarray(y)
        if labels.shape != shape[:1]:
            raise ValueError(
                f"y must have {shape[0]} labels; got an array of shape {labels.shape}."
            )
        weight = check_sample_weight(sample_weight, shape[0]).copy()
        for label, factor in zip(self.classes_, self.class_weight, strict=True):
            weight[labels == label] *= factor
        weight[~np.isin(labels, self.classes_)] = 0.0
        used, expected = int((weight > 0).sum()), self.certificates[0].dual.size
        if used != expected:
            raise ValueError(
                f"y must have {expected} samples of positive weight and of the classes "
                f"{quote(', '.join(map(str, self.classes_)))}, as at the fit; got {used}."
            )
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        found = []
        for label, certificate in zip(self.positive, self.certificates, strict=True):
            try:
                one = verify(X, labels == label, certificate, sample_weight=weight, rtol=rtol)
            except CertificateError as error:
                which = f"class {quote(str(label))}: " if len(self.certificates) > 1 else ""
                raise CertificateError(f"{which}{error}") from None
            found.append(one)
        return found


def save_certificate(
    certificate: Certificate | Sequence[Certificate | None] | None,
    path: PathLike,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    feature_names: Sequence[str] | None = None,
    first_index: int = 0,
    target_name: str | None = None,
) -> Path:
    """Write certificates with their trees, so that others can check them; return the path.

    Parameters
    ----------
    certificate : Certificate, or a list of them for several classes
        Of a model (`certificate_`), of `zeronorm.certify`, or of a `Proof`.
    path : path-like
    X, y, sample_weight, class_weight : what was fitted
        Of X the size and the names of its columns are written, of the rest the classes and the
        weight of each. The data and the sample weights themselves are not.
    feature_names, first_index, target_name : as for `save`.

    Raises
    ------
    TypeError
        If there is no certificate.
    ValueError
        If the certificates are not of these data.
    OSError
        If the file cannot be written; then nothing is left behind.
    """
    from . import _validate
    from .designs import as_design

    listed = certificate if isinstance(certificate, list | tuple) else [certificate]
    given = [one for one in listed if isinstance(one, Certificate)]
    if not given or len(given) < len(listed):
        raise TypeError(
            f"certificate must be a Certificate or a list of them; got {certificate!r:.80}."
        )
    n, m = X.shape if hasattr(X, "shape") else as_design(X).shape
    labels = _validate.check_target(y, n)
    weight = _validate.check_sample_weight(sample_weight, n)
    rows = np.flatnonzero(weight > 0)
    factors = np.zeros(n)
    factors[rows] = _validate.class_factors(class_weight, labels[rows], weight[rows])
    classes, first = np.unique(labels[factors > 0], return_index=True)
    n_scores = 1 if classes.size == 2 else classes.size
    size = int((factors > 0).sum())
    if len(given) != n_scores or any(one.dual.size != size for one in given):
        raise ValueError(
            f"certificate must be of the fit to X and y, which have {classes.size} classes and "
            f"{size} samples of positive weight; got {len(given)} certificates, of "
            f"{given[0].dual.size} samples."
        )
    if feature_names is None:
        feature_names = _validate.feature_names(X)
    metadata = {
        **_header(CERTIFICATE_FORMAT),
        "n_samples": int(n),
        "n_features_in": int(m),
        "feature_names": _names_of(_union(given), feature_names, int(m)),
        "first_index": first_index,
        "target_name": target_name,
        "certificates": [_describe_certificate(one) for one in given],
    }
    arrays = {
        "metadata": _encoded(metadata),
        "classes": _storable(classes),
        "class_weight": factors[factors > 0][first].astype("<f8"),
    }
    for number, one in enumerate(given):
        tree = one.tree if one.tree is not None else _no_tree(size)
        values = {
            "support": one.support, "coef": one.coef, "dual": one.dual, "forced": one.forced,
            "parent": tree.parent, "feature": tree.feature, "inside": tree.inside,
            "row": tree.row, "tree_dual": tree.dual,
        }  # fmt: skip
        for name, (kind, _) in _OF_CERTIFICATE.items():
            arrays[f"{name}_{number}"] = np.asarray(values[name]).astype(kind, copy=False)
    data = _pack(arrays, "certificate", CERTIFICATE_FORMAT)
    _unpack_certificate("the certificate", data)  # what cannot be read back is not written
    return write_file(path, data)


def load_certificate(path: PathLike) -> SavedCertificate:
    """Read a certificate file. Nothing in it is executed or unpickled, and nothing is verified yet.

    Raises
    ------
    CertificateFileError
        If the file is damaged, of a newer version, or no certificate file. It is a ValueError.
    MissingFileError
        If there is no such file. It is a FileNotFoundError.
    """
    path, data = _read_bytes(path, "certificate", _MAX_CERTIFICATE, CertificateFileError)
    return _unpack_certificate(str(path), data)


def _union(certificates: Sequence[Certificate]) -> IndexArray:
    return np.unique(np.concatenate([one.support for one in certificates]))


def _no_tree(n: int) -> Tree:
    none = np.empty(0, np.int64)
    return Tree(none, none, np.empty(0, bool), none, np.empty((0, n)))


def _describe_certificate(certificate: Certificate) -> dict[str, Any]:
    """Return what the metadata say of a certificate."""
    return {
        "C": float(certificate.C),
        "scaling": certificate.scaling,
        "loss": certificate.loss,
        "fit_intercept": bool(certificate.fit_intercept),
        "intercept": float(certificate.intercept),
        "objective": float(certificate.objective),
        "bound": float(certificate.bound),
        "fixed_in": int(certificate.fixed_in),
        "candidates": int(certificate.candidates),
        "equivalents": [
            [int(feature), others.tolist()] for feature, others in certificate.equivalents.items()
        ],
    }


def _certificate_members(n_arrays: int) -> list[str]:
    """Return the names of the arrays of a certificate file, given their number."""
    n_certificates = max(1, (n_arrays - len(_SHARED)) // len(_OF_CERTIFICATE))
    numbered = [f"{name}_{i}" for i in range(n_certificates) for name in _OF_CERTIFICATE]
    return [*_SHARED, *numbered]


def _unpack_certificate(where: str, data: bytes) -> SavedCertificate:
    """Return the certificates in the bytes of a file, all of it verified but what they claim."""
    require = _requirement(where, CertificateFileError)
    arrays = _unpack_arrays(
        where, data, "certificate", CERTIFICATE_FORMAT, CertificateFileError, _certificate_members
    )
    metadata = _json(arrays["metadata"], require)
    _check_header(metadata, _CERTIFICATE_KEYS, CERTIFICATE_FORMAT, require)
    classes, class_weight = arrays["classes"], arrays["class_weight"]
    _check_classes(classes, require)
    require(
        class_weight.dtype == "<f8"
        and class_weight.shape == classes.shape
        and bool((np.isfinite(class_weight) & (class_weight > 0)).all()),
        f"class_weight must be {classes.size} positive float64",
    )
    n, m = metadata["n_samples"], metadata["n_features_in"]
    described = metadata["certificates"]
    n_scores = 1 if classes.size == 2 else classes.size
    require(
        len(described) == n_scores
        and len(arrays) == len(_SHARED) + n_scores * len(_OF_CERTIFICATE),
        f"there must be {n_scores} certificates for {classes.size} classes",
    )
    certificates = []
    for number, problem in enumerate(described):
        _check_record("a certificate", problem, _PROBLEM, require)
        _check_loss("a certificate", problem, require)
        require(problem["C"] > 0, "the C of a certificate must be positive")
        known = problem["scaling"] in _SCALINGS
        require(known, f"the scaling of a certificate must be one of {', '.join(_SCALINGS)}")
        values = {name: arrays[f"{name}_{number}"] for name in _OF_CERTIFICATE}
        tree = _check_certificate(values, m, require)
        equivalents = _check_equivalents(problem["equivalents"], m, require)
        own: dict[str, Any] = {key: problem[key] for key in _PROBLEM}
        own |= {name: values[name] for name in ("support", "coef", "dual", "forced")}
        certificates.append(Certificate(**{**own, "tree": tree, "equivalents": equivalents}))
    sizes = {one.dual.size for one in certificates}
    require(
        len(sizes) == 1 and 2 <= max(sizes) <= n,
        f"dual must be of one number of samples, at most {n} (n_samples), in all certificates",
    )
    names = metadata["feature_names"]
    _check_names(names, _union(certificates).size, require)
    return SavedCertificate(
        classes,
        tuple(certificates),
        class_weight.astype(np.float64),
        None if names is None else tuple(names),
        metadata,
    )


def _check_certificate(values: dict[str, NDArray[Any]], m: int, require: Require) -> Tree | None:
    """Check the arrays of a certificate; return its tree."""
    for name, (kind, n_dimensions) in _OF_CERTIFICATE.items():
        array = values[name]
        require(
            array.dtype == kind and array.ndim == n_dimensions,
            f"{name} must be {np.dtype(kind)} of {n_dimensions} dimensions; got {array.dtype} of "
            f"shape {array.shape}",
        )
        require(bool(np.isfinite(array).all()), f"{name} must be finite")
    support, forced, dual = values["support"], values["forced"], values["dual"]
    k = support.size
    require(k >= 1 and bool((np.diff(support) > 0).all()), "support must be sorted indices")
    for name, features in (("support", support), ("forced", forced)):
        within = bool(((features >= 0) & (features < m)).all())
        require(within, f"{name} must be between 0 and {m - 1}")
    require(np.unique(forced).size == forced.size <= k, "forced must be distinct features")
    require(values["coef"].size == k, f"coef must have {k} values, as support")
    parent, row, tree_dual = values["parent"], values["row"], values["tree_dual"]
    n_nodes = parent.size
    require(
        values["feature"].size == values["inside"].size == row.size == n_nodes
        and tree_dual.shape[1] == dual.size
        and (n_nodes > 0 or not len(tree_dual)),
        "the arrays of a tree must fit each other",
    )
    if not n_nodes:
        return None
    above = parent[1:]
    sound = parent[0] == -1 and bool(((above >= 0) & (above < np.arange(1, n_nodes))).all())
    require(sound, "parent must be numbers of earlier nodes, -1 of the first alone")
    feature = values["feature"]
    require(
        bool(((feature >= -1) & (feature < m)).all()), f"feature must be between -1 and {m - 1}"
    )
    require(
        bool(((row >= -1) & (row < len(tree_dual))).all()) and row[0] >= 0,
        "row must be rows of tree_dual, or -1 (not of the first node)",
    )
    return Tree(parent, feature, values["inside"], row, tree_dual)


def _check_equivalents(listed: list[Any], m: int, require: Require) -> dict[int, IndexArray]:
    """Return the equivalent features that the metadata list."""

    def is_feature(value: Any) -> bool:
        return type(value) is int and 0 <= value < m

    for entry in listed:
        require(
            isinstance(entry, list)
            and len(entry) == 2
            and is_feature(entry[0])
            and isinstance(entry[1], list)
            and all(map(is_feature, entry[1])),
            "equivalents must be features, each with a list of features",
        )
    return {feature: np.array(others, np.int64) for feature, others in listed}


def write_file(path: PathLike, data: bytes) -> Path:
    """Write a file so that it is there complete or not at all; an old one stays until then."""
    path = Path(path)
    final = Path(os.path.realpath(path))  # of a link the file behind it is replaced
    if not final.parent.is_dir():
        raise FileNotFoundError(f"{path}: no such directory {str(final.parent)!r}; create it.")
    if final.is_dir():
        raise IsADirectoryError(f"{path}: a directory; name a file in it.")
    if final.exists() and not final.is_file():
        raise ModelFileError(f"{path}: not a regular file; name a file.")
    temporary = final.with_name(f".zeronorm-{secrets.token_hex(8)}.tmp")
    try:
        # Created with the permissions that the user's mask gives to any new file.
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, final)
    except BaseException as error:  # Ctrl-C too must leave nothing behind
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):  # about the file that the user named
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise
    with contextlib.suppress(OSError, AttributeError):  # not on Windows
        folder = os.open(final.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return path


def _read_bytes(
    path: PathLike, kind: str, limit: int, error: type[FileError]
) -> tuple[Path, bytes]:
    """Return the path and the content of a file."""
    path = check_path(path)
    size = path.stat().st_size
    if size > limit:
        raise error(f"{path}: too large for a {kind} file ({size} bytes).")
    try:
        return path, path.read_bytes()
    except OSError as failure:
        reason = failure.strerror or failure
        raise error(f"{path}: cannot be read ({reason}).") from None


def _pack(arrays: Mapping[str, NDArray[Any]], kind: str = "model", version: int = FORMAT) -> bytes:
    """Return the bytes of a file."""
    buffer = io.BytesIO()
    blank = f"zeronorm {kind} {version} sha256 {'0' * 64}".encode()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, values in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(
                member, np.ascontiguousarray(values), (1, 0), allow_pickle=False
            )
            # A fixed time: equal models are equal files.
            archive.writestr(
                zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), member.getbuffer()
            )
        archive.comment = blank
    data = buffer.getbuffer()[: -len(blank)]
    digest = hashlib.sha256(data).hexdigest()
    return b"".join([data, f"zeronorm {kind} {version} sha256 {digest}".encode()])


def _requirement(where: str, error: type[FileError]) -> Require:
    """Return a function that refuses a file where a condition does not hold."""

    def require(condition: bool, message: str) -> None:
        if not condition:
            raise error(f"{where}: {message}.")

    return require


def _unpack_arrays(
    where: str,
    data: bytes,
    kind: str,
    newest: int,
    error: type[FileError],
    members: Callable[[int], Sequence[str]],
) -> dict[str, NDArray[Any]]:
    """Return the arrays in the bytes of a file.

    members : their names, by how many there are.
    """
    require = _requirement(where, error)
    require(len(data) > 0, "the file is empty")
    require(
        not (data[:1] == b"\x80" and data[1:2] <= b"\x05"),
        "a pickle, which is never loaded; zeronorm.persistence writes files that are",
    )
    trailer = _TRAILER.search(data[-200:])
    if trailer is None:
        raise error(f"{where}: not a {kind} file of zeronorm, or a truncated one.")
    digest = hashlib.sha256(memoryview(data)[: -len(trailer[0])]).hexdigest().encode()
    require(digest == trailer[3], "damaged: its checksum does not fit its content")
    found = trailer[1].decode()
    require(found == kind, f"a {found} file of zeronorm; a {kind} file is needed here")
    version = int(trailer[2])
    require(
        version <= newest,
        f"written by a newer zeronorm (format {version}, this one reads {newest}); upgrade with "
        "pip install -U zeronorm",
    )
    require(version == newest, f"unknown format {version}")

    arrays: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            there = [info.filename for info in infos]
            names = members(len(there))
            require(
                there == [f"{name}.npy" for name in names],
                f"must hold the arrays {', '.join(names)}; it holds {quote(', '.join(there))}",
            )
            for name, info in zip(names, infos, strict=True):
                require(
                    info.compress_type == zipfile.ZIP_STORED
                    and info.file_size == info.compress_size <= len(data),
                    f"the array {name} must be stored without compression",
                )
                with archive.open(info) as stream:
                    arrays[name] = read_npy(f"{where}: {name}", stream, info.file_size)
                    stream.read(1)
    except error:
        raise
    except FileError as refusal:
        raise error(str(refusal)) from None
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, ValueError) as failure:
        raise error(f"{where}: damaged ({failure}).") from None
    return arrays


def _unpack(where: str, data: bytes) -> LinearModel:
    """Return the model in the bytes of a model file, all of it verified."""
    require = _requirement(where, ModelFileError)
    arrays = _unpack_arrays(where, data, "model", FORMAT, ModelFileError, lambda _: _MEMBERS)
    metadata = _metadata(arrays["metadata"], require)
    classes, support = arrays["classes"], arrays["support"]
    coef, intercept = arrays["coef"], arrays["intercept"]
    _check_classes(classes, require)
    n_features = metadata["n_features_in"]
    n_scores = 1 if classes.size == 2 else classes.size
    k = support.size
    refit = not metadata["solutions"]
    require(support.dtype == "<i8" and support.ndim == 1, "support must be indices")
    require(k >= 1 or not refit, "support must be indices, at least one")
    require(bool((np.diff(support) > 0).all()), "support must be sorted and without repeats")
    low, high = (int(support[0]), int(support[-1])) if k else (0, 0)
    require(
        low >= 0 and high < n_features,
        f"support must be between 0 and {n_features - 1}; got {low} to {high}",
    )
    for name, values, shape in (
        ("coef", coef, (n_scores, k)),
        ("intercept", intercept, (n_scores,)),
    ):
        require(
            values.dtype == "<f8" and values.shape == shape,
            f"{name} must be float64 of shape {shape}; got {values.dtype} of shape {values.shape}",
        )
        require(bool(np.isfinite(values).all()), f"{name} must be finite")
    names = metadata["feature_names"]
    _check_names(names, k, require)
    for key in ("certificates", "history", "refit_C" if refit else "solutions"):
        require(len(metadata[key]) == n_scores, f"{key} must have {n_scores} entries")
    require(refit or not metadata["refit_C"], "refit_C must be empty beside solutions")
    return LinearModel(
        classes,
        support.astype(np.int64),
        coef.astype(np.float64),
        intercept.astype(np.float64),
        n_features,
        None if names is None else tuple(names),
        metadata,
    )


def _check_classes(classes: NDArray[Any], require: Require) -> None:
    require(
        classes.ndim == 1 and classes.size >= 2 and classes.dtype.kind in "biufU",
        "classes must be two or more numbers or strings",
    )
    require(classes.dtype.kind != "U" or is_text(classes), "classes must be valid text")
    ordered = all(a < b for a, b in itertools.pairwise(classes.tolist()))
    require(ordered, "classes must be distinct and sorted")


def _check_names(names: list[Any] | None, k: int, require: Require) -> None:
    require(
        names is None
        or (
            len(names) == k
            and all(isinstance(name, str) for name in names)
            and len(set(names)) == k
        ),
        f"feature_names must be {k} distinct strings",
    )


def _json(raw: NDArray[Any], require: Require) -> dict[str, Any]:
    """Return the metadata, a JSON object."""
    require(raw.dtype == np.uint8 and raw.ndim == 1, "metadata must be bytes")
    metadata: Any = None
    reason = ""
    try:
        metadata = json.loads(raw.tobytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        reason = str(error)
    require(not reason, f"metadata is not valid JSON ({quote(reason)})")
    require(isinstance(metadata, dict), "metadata must be a JSON object")
    return dict(metadata)


def _check_header(
    metadata: Mapping[str, Any], keys: Mapping[str, Any], version: int, require: Require
) -> None:
    """Check what the metadata of all files have."""
    _check_fields("metadata", metadata, keys, require)
    require(metadata["format"] == version, f"metadata says format {metadata['format']}")
    require(0 < metadata["n_features_in"] < 2**62, "n_features_in must be positive")
    require(metadata["first_index"] in (0, 1), "first_index must be 0 or 1")


def _metadata(raw: NDArray[Any], require: Require) -> dict[str, Any]:
    """Return the metadata with every entry of the right type."""
    metadata = _json(raw, require)
    _complete(metadata)
    _check_header(metadata, _KEYS, FORMAT, require)
    require(
        all(
            type(value) is float and math.isfinite(value) and value > 0
            for value in metadata["refit_C"]
        ),
        "refit_C must be positive numbers",
    )
    for certificate in metadata["certificates"]:
        if certificate is not None:
            _check_record("a certificate", certificate, _CERTIFICATE, require)
            _check_loss("a certificate", certificate, require)
    for solution in metadata["solutions"]:
        _check_record("a solution", solution, _SOLUTION, require)
        _check_loss("a solution", solution, require)
        require(solution["C"] > 0, "the C of a solution must be positive")
    for row in metadata["criteria"]:
        _check_record("a row of criteria", row, _CRITERIA, require)
        require(row["size"] > 0, "the size of a row of criteria must be positive")
    for history in metadata["history"]:
        require(isinstance(history, list), "a history must be a list of steps")
        for step in history:
            _check_record("a step", step, _STEP, require)
            require(
                step["status"] is None or step["status"] in Status.__members__,
                f"a step has the unknown status {quote(str(step['status']))}",
            )
    return metadata


def _complete(metadata: dict[str, Any]) -> None:
    """Add what files of earlier versions lack: all are refits, of the only loss there was."""
    metadata.setdefault("solutions", [])
    metadata.setdefault("criteria", [])
    certificates = metadata.get("certificates")
    if not isinstance(certificates, list):
        return
    metadata.setdefault("history", [[] for _ in certificates])
    for certificate in certificates:
        if isinstance(certificate, dict):
            certificate.setdefault("loss", "logistic")


def _check_record(what: str, record: Any, fields: Mapping[str, Any], require: Require) -> None:
    """Check an object with these fields, whose numbers are finite."""
    require(isinstance(record, dict), f"{what} must be a JSON object")
    _check_fields(what, record, fields, require)
    finite = all(math.isfinite(value) for value in record.values() if type(value) is float)
    require(finite, f"{what} must be finite")


def _check_loss(what: str, record: Mapping[str, Any], require: Require) -> None:
    known = record["loss"] in _LOSSES
    require(known, f"the loss of {what} must be one of {', '.join(_LOSSES)}")


def _check_fields(
    what: str, values: Mapping[str, Any], fields: Mapping[str, Any], require: Require
) -> None:
    unknown = [key for key in values if key not in fields]
    require(not unknown, f"{what} has the unknown entry {quote(unknown[0]) if unknown else ''}")
    for key, kind in fields.items():
        require(key in values, f"{what} has no {key}")
        kinds = kind if isinstance(kind, tuple) else (kind,)
        # `type`, not isinstance: true is no number.
        require(type(values[key]) in kinds, f"{what} has a wrong type of {key}")


def summarize(certificate: Certificate | None) -> dict[str, Any] | None:
    """Return the numbers of a certificate; support, coefficients and dual stay behind."""
    if certificate is None or not np.isfinite([certificate.objective, certificate.bound]).all():
        return None
    return {
        "C": float(certificate.C),
        "scaling": certificate.scaling,
        "objective": float(certificate.objective),
        "bound": float(certificate.bound),
        "gap": float(certificate.gap),
        "proven": bool(certificate.proven),
        "candidates": int(certificate.candidates),
        "fixed_in": int(certificate.fixed_in),
        "n_forced": int(certificate.n_forced),
        "loss": certificate.loss,
        "fit_intercept": bool(certificate.fit_intercept),
    }


def tabulate(criteria: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Return the columns of `criteria_` as rows; null for what is no number."""
    sizes = criteria["size"].tolist()
    columns = [[_finite(value) for value in criteria[name]] for name in ("log_loss", *CRITERIA)]
    return [
        {"size": size, **dict(zip(("log_loss", *CRITERIA), row, strict=True))}
        for size, *row in zip(sizes, *columns, strict=True)
    ]


def _summarize_step(step: Step) -> dict[str, Any]:
    """Return the numbers of a step; null for what it did not find out."""
    numbers = {
        "objective": step.objective,
        "bound": step.bound,
        "gap": step.extra.get("gap", math.nan),
    }
    return {
        "n_features": int(step.n_features),
        **{name: _finite(value) for name, value in numbers.items()},
        "status": None if step.status is None else step.status.name,
    }


def _finite(value: float) -> float | None:
    """Return a number, None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it; objects such as splitters as their repr."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else repr(float(value))
    if hasattr(value, "__array__"):  # a data frame's column too
        return _plain(np.asarray(value).tolist())
    if isinstance(value, (list, tuple, range)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return repr(value)


def _storable(classes: NDArray[Any]) -> NDArray[Any]:
    """Return class labels as numbers or str."""
    if classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes):
        classes = classes.astype(str)
    if classes.dtype.kind not in "biufU":
        raise TypeError(
            f"class labels must be numbers or strings to be saved; got {classes.dtype}. Encode "
            "them as strings."
        )
    return classes
