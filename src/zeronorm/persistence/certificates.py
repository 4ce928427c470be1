"""Certificates with their trees in a file, for others to load and to verify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import Column, Message, Parameter, ParameterError
from ..core.files import PathLike, quote, write_file
from ..core.frames import frame_of, names_of, numbers_of
from ..core.groups import Groups
from ..core.ranking import numbered
from ..core.results import Certificate
from ..core.types import Design, FloatArray, IndexArray
from ..io.table import Layout
from ..verification import CertificateError, UndecidedError, check_form, verify
from ..verification.form import check_range
from .archive import CertificateFileError, FileKind, check, pack, read_file, unpack
from .loaded import named_among
from .records import LABELLED, MULTINOMIAL, OF_ALL, ORDINAL, CertificateRecord, describe

# X has at most so many bytes in float64; verification takes a few times as much.
_MAX_DENSE = 1 << 31


@dataclass(frozen=True, slots=True, eq=False)
class SavedCertificate:
    """Certificates of one fit, and what is needed to check them."""

    classes_: NDArray[Any]  # (n_classes,) sorted, or in order; none of numbers and survival times
    # One for two classes, for none and for classes that share their features, else one for each.
    certificates: tuple[Certificate, ...]
    class_weight: FloatArray  # (n_classes,) weight of a row of each class, in the loss
    feature_names: tuple[str, ...] | None  # of `columns`
    metadata: Mapping[str, Any]  # as written: versions, size and names of the data

    @property
    def positive(self) -> list[Any]:
        """The class that counts as +1 in each certificate, all others as -1.

        None without classes, and where they share their features.
        """
        if self.certificates[0].loss in OF_ALL:
            return [None]
        labels: list[Any] = self.classes_.tolist()
        return (labels[1:] if len(labels) == 2 else labels) or [None]

    @property
    def outputs(self) -> list[Any]:
        """The classes or the responses that share the features of one certificate; else none."""
        if self.certificates[0].loss == MULTINOMIAL:
            return self.classes_.tolist()  # type: ignore[no-any-return]
        names = self.metadata["target_name"]
        return list(names) if isinstance(names, list) else []

    @property
    def support_(self) -> IndexArray:
        """The features of all classes, sorted."""
        return np.unique(np.concatenate([one.support for one in self.certificates]))

    @property
    def columns(self) -> IndexArray:
        """The features of all classes and the covariates, sorted."""
        return union_columns(self.certificates)

    @property
    def layout(self) -> Layout:
        """How a file is to be read: with all features, at their places."""
        return Layout(
            self.metadata["n_features_in"],
            first_index=self.metadata["first_index"],
            target_name=self.metadata["target_name"],
            covariates=named_among(
                self.certificates[0].covariates, self.columns, self.feature_names
            ),
            forced=named_among(self.certificates[0].forced, self.columns, self.feature_names),
            exact=True,
            columns=self.metadata["columns"],
        )

    def verify(
        self, X: Any, y: Any, *, sample_weight: Any = None, offset: Any = None, rtol: float = 1e-10
    ) -> list[dict[str, float]]:
        """Recompute objective, bound and gap of every certificate, in plain NumPy.

        Parameters
        ----------
        X : (n_samples, n_features) array, sparse matrix or design, as at the fit; made dense.
        y : (n_samples,) labels, numbers or survival times; (n_samples, n_responses) numbers.
        sample_weight, offset : (n_samples,) of the fit; class weights are in the file.
        rtol : as in `zeronorm.verify`.

        Raises
        ------
        zeronorm.verification.CertificateError
            Where a certificate claims more than the data show, or, an `UndecidedError`, where
            rounding leaves that open. It is a ValueError.
        ValueError
            Where X or y are of other data, or X is too large to be made dense.
        """
        # On use: reading a file needs no scikit-learn, which the checks import.
        from ..core.targets import check_sample_weight

        frame = frame_of(X)
        if frame is not None:
            self._check_names(names_of(frame))
            X = numbers_of(frame)
        X = X if hasattr(X, "shape") else np.asarray(X)
        shape = (self.metadata["n_samples"], self.metadata["n_features_in"])
        if tuple(X.shape) != shape:
            raise ParameterError(
                "X",
                f"must be what the certificate is for, {shape[0]} samples of {shape[1]} features",
                f"the shape {tuple(X.shape)}",
            )
        n_bytes = 8 * shape[0] * shape[1]
        if n_bytes > _MAX_DENSE:
            raise ParameterError(
                "X",
                f"must be at most {_MAX_DENSE / 2**30:.2g} GiB as dense float64, of which "
                "verification takes several copies",
                f"{n_bytes / 2**30:.2g} GiB",
                "On a machine with that much memory, call zeronorm.verify.",
            )
        labels = np.asarray(y)
        responses = self.metadata["target_name"]
        wanted: tuple[int, ...] = shape[:1]
        if isinstance(responses, list):
            wanted = (shape[0], len(responses))
        if labels.shape != wanted:
            values = "labels" if len(wanted) == 1 else f"rows of {wanted[1]} responses"
            raise ParameterError(
                "y", f"must have {shape[0]} {values}", f"an array of shape {labels.shape}"
            )
        weight = check_sample_weight(sample_weight, shape[0]).copy()
        if self.classes_.size:
            self._weigh_classes(labels, weight)
        used, expected = int((weight > 0).sum()), self.certificates[0].dual.shape[-1]
        if used != expected:
            of_classes = quote(", ".join(map(str, self.classes_)))
            raise ParameterError(
                "y",
                f"must have {expected} samples of positive weight"
                f"{f' and of the classes {of_classes}' if self.classes_.size else ''}, as at the "
                "fit",
                f"{used}",
            )
        if not isinstance(X, Design):
            X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        if self.positive == [None]:
            (certificate,) = self.certificates
            given: dict[str, Any] = {"sample_weight": weight, "offset": offset}
            if certificate.loss == ORDINAL:
                labels = (labels[:, None] == self.classes_).argmax(axis=1)
            return [verify(certificate, X, labels, **given, rtol=rtol)]
        found, undecided = [], []
        for label, certificate in zip(self.positive, self.certificates, strict=True):
            own = labels == label
            try:
                one = verify(certificate, X, own, sample_weight=weight, rtol=rtol)
            except CertificateError as error:
                which = f"class {quote(str(label))}: " if len(self.certificates) > 1 else ""
                named = type(error)(f"{which}{error}")
                if not isinstance(named, UndecidedError):
                    raise named from None
                undecided.append(named)  # the claims for another class may be false
                continue
            found.append(one)
        if undecided:
            raise undecided[0]
        return found

    def _check_names(self, names: Sequence[str] | None) -> None:
        """Raise where the features of the certificates have other names, or other places."""
        for place, known in zip(self.columns.tolist(), self.feature_names or (), strict=False):
            if names is not None and names[place : place + 1] != [known]:
                found = quote(names[place]) if place < len(names) else "not there"
                raise ParameterError(
                    "X",
                    Message(
                        "must have the columns of the fit, in their order; ",
                        Column(place),
                        f" must be {quote(known)}, and is {found}",
                    ),
                )

    def _weigh_classes(self, labels: NDArray[Any], weight: FloatArray) -> None:
        """Multiply weights by those of the classes; refuse rows of other classes."""
        for label, factor in zip(self.classes_, self.class_weight, strict=True):
            weight[labels == label] *= factor
        other = np.flatnonzero(~np.isin(labels, self.classes_) & (weight > 0))
        if other.size:
            known = quote(", ".join(map(str, self.classes_)))
            raise ParameterError(
                "y",
                f"must have the classes {known}, as at the fit; {other.size} rows have others, "
                f"such as {quote(str(labels[other[0]]))}",
                "",
                "Leave out rows that the fit had not (in Python: sample_weight 0).",
            )


def union_columns(certificates: Sequence[Certificate]) -> IndexArray:
    """Return the features of all certificates and their covariates, sorted."""
    supports = [one.support for one in certificates]
    return np.unique(np.concatenate([*supports, certificates[0].covariates]))


# Certificate files.

# A tree has a GiB of dual points at most, for every class.
CERTIFICATE = FileKind(
    "certificate", CertificateRecord, version=7, max_size=1 << 33, error=CertificateFileError
)
_MOST_UNEQUAL = 1e9  # Class weights differ by this factor at most.
# What certificates of all classes have in common.
_SAME = (
    "C", "scaling", "loss", "fit_intercept", "n_groups", "parameters", "covariates", "max_abs_coef",
)  # fmt: skip


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
    target_name: str | Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Path:
    """Write certificates with their trees, so that others can check them; return the path.

    Parameters
    ----------
    certificate : Certificate, or a list of them where each class has a model
        Of a model (`certificate_`), of `zeronorm.certify`, or of a `Proof`.
    path : path-like
    X, y, sample_weight, class_weight : what was fitted
        Of X the size and the names of its columns are written, of the rest the classes and the
        weight of each, where there are classes. The data, the sample weights and offsets themselves
        are not.
    feature_names, first_index, target_name, columns : as for `save`.

    Raises
    ------
    TypeError
        If there is no certificate.
    ValueError
        If the certificates are not of these data.
    OSError
        If the file cannot be written; then nothing is left behind.
    """
    # On use: reading a file needs no scikit-learn, which the checks import.
    from ..core.targets import check_sample_weight, check_target, class_order
    from ..io.opening import as_design

    listed = certificate if isinstance(certificate, list | tuple) else [certificate]
    given = [one for one in listed if isinstance(one, Certificate)]
    if not given or len(given) < len(listed):
        raise TypeError(
            f"certificate must be a Certificate or a list of them; got {certificate!r:.80}."
        )
    design = as_design(X)
    n, m = design.shape
    weight = check_sample_weight(sample_weight, n)
    classes, factors, size = np.empty(0, np.int64), np.empty(0), int((weight > 0).sum())
    n_outputs, outputs = 1, ""
    loss = given[0].loss
    if loss in LABELLED or loss in OF_ALL:
        order = class_order(y) if loss == ORDINAL else None
        labels = check_target(y, n)
        classes, factors, size = _weights(labels, weight, class_weight, order)
        n_outputs, outputs = classes.size, f"{classes.size} classes and "
    elif not loss.startswith("cox"):  # whose y may be a frame of two columns
        n_outputs = len(np.atleast_2d(np.asarray(y).T))
        outputs = f"{n_outputs} responses and " if n_outputs > 1 else ""
    expected = count_certificates(loss, classes)
    flat = loss in LABELLED or loss == ORDINAL or n_outputs == 1
    dual = (size,) if flat else (n_outputs, size)
    if len(given) != expected or any(one.dual.shape != dual for one in given):
        raise ParameterError(
            "certificate",
            Message(
                "must be of the fit to ",
                Parameter("X"),
                f" and y, which have {outputs}{size} samples of positive weight",
            ),
            f"{len(given)} certificates, with dual points of shape {given[0].dual.shape}",
        )
    groups, signs = given[0].groups, given[0].signs
    if not all(_equal(one.groups, groups) for one in given):
        raise ParameterError(
            "certificate", "must be of one fit", "certificates of different groups"
        )
    if not all(np.array_equal(one.signs, signs) for one in given):
        raise ParameterError("certificate", "must be of one fit", "certificates of different signs")
    if feature_names is None:
        feature_names = design.feature_names
    features = (union_columns(given), int(m), feature_names, first_index, target_name, columns)
    record = {
        **describe(CERTIFICATE, *features, classes, 1 if classes.size else n_outputs),
        "n_samples": int(n),
        "certificates": [_shared_out(one) for one in given],
        "groups": groups,
        "signs": signs.astype(np.int8),
        "class_weight": factors,
    }
    data = pack(CERTIFICATE, record)
    read_certificate("the certificate", data)  # what cannot be read back is not written
    return write_file(path, data)


def _shared_out(certificate: Certificate) -> Certificate:
    """Return a certificate as plain numbers, without what is of all classes."""
    with CERTIFICATE.reading("the certificate"):
        found = check_form(certificate)
    intercept = np.asarray(found.intercept).tolist()
    return replace(found, intercept=intercept, groups=None, signs=np.empty(0, np.int8))


def _weights(
    labels: NDArray[Any], weight: FloatArray, class_weight: Any, order: NDArray[Any] | None
) -> tuple[NDArray[Any], FloatArray, int]:
    """Return the classes, the weight of each, and the number of rows of positive weight.

    order : of the labels; None: they are sorted.
    """
    from ..core.targets import class_factors

    rows = np.flatnonzero(weight > 0)
    factors = np.zeros(labels.size)
    factors[rows] = class_factors(class_weight, labels[rows], weight[rows])
    used = factors > 0
    classes, first = np.unique(labels[used], return_index=True)
    of_classes = factors[used][first]
    if order is not None:
        places = np.argsort(numbered(classes, order))
        classes, of_classes = classes[places], of_classes[places]
    return classes, of_classes, int(used.sum())


def count_certificates(loss: Any, classes: NDArray[Any]) -> int:
    """Return how many certificates a fit has: one for each of several classes by themselves."""
    return 1 if classes.size in (0, 2) or loss in OF_ALL else classes.size


def _equal(one: Groups | None, other: Groups | None) -> bool:
    """Return whether all features have the same groups, or none has one."""
    if one is None or other is None or one is other:
        return one is other
    return np.array_equal(one.labels, other.labels) and np.array_equal(one.code, other.code)


def load_certificate(path: PathLike) -> SavedCertificate:
    """Read a certificate file. Nothing in it is executed or unpickled, and nothing is verified yet.

    Raises
    ------
    CertificateFileError
        If the file is damaged, of a newer version, or no certificate file. It is a ValueError.
    MissingFileError
        If there is no such file. It is a FileNotFoundError.
    """
    return read_certificate(*read_file(CERTIFICATE, path))


def read_certificate(where: str, data: bytes) -> SavedCertificate:
    """Return the certificates in the bytes of a file, all of it verified but what they claim."""
    with CERTIFICATE.reading(where):
        record, metadata = unpack(CERTIFICATE, data)
        return _saved(record, metadata)


def _saved(record: CertificateRecord, metadata: Mapping[str, Any]) -> SavedCertificate:
    classes, weights, groups = record.classes, record.class_weight, record.groups
    loss = record.certificates[0].loss
    record.check_classes(loss == ORDINAL)
    right = weights.shape == classes.shape and bool((weights > 0).all())
    check(right, f"class_weight must be {classes.size} positive numbers")
    # A class of next to no weight would make columns constant that tell the classes apart.
    check(
        weights.max(initial=0.0) / _MOST_UNEQUAL <= weights.min(initial=np.inf),
        f"class_weight must not differ by more than {_MOST_UNEQUAL:g}",
    )
    expected = count_certificates(loss, classes)
    check(
        len(record.certificates) == expected,
        f"there must be {expected} certificates for {classes.size} classes",
    )
    labelled = groups is None or (groups.labels.ndim == 1 and groups.labels.dtype.kind in "iuU")
    check(labelled, "groups.labels must be integers or text")
    certificates = tuple(_whole(one, record) for one in record.certificates)
    for name in _SAME:
        stated = [getattr(one, name) for one in certificates]
        same = all(np.array_equal(one, stated[0]) for one in stated)
        check(same, f"the certificates of all classes must have the same {name}")
    sizes, n = {one.dual.shape[-1] for one in certificates}, record.n_samples
    check(
        len(sizes) == 1 and 2 <= max(sizes) <= n,
        f"dual must be of one number of samples, at most {n} (n_samples), in all certificates",
    )
    names = record.names_of(union_columns(certificates).size)
    kept = ("certificates", "groups", "signs", "classes", "class_weight")
    metadata = {key: value for key, value in metadata.items() if key not in kept}
    return SavedCertificate(classes, certificates, weights, names, metadata)


def _whole(certificate: Certificate, record: CertificateRecord) -> Certificate:
    """Return a certificate with what the file has of all classes, its form checked."""
    check(
        certificate.groups is None and not certificate.signs.size,
        "groups and signs must be of all certificates, not of one",
    )
    intercept, m, n_classes = certificate.intercept, record.n_features_in, record.classes.size
    if isinstance(intercept, list) and all(type(value) is float for value in intercept):
        intercept = np.array(intercept)
    whole = replace(certificate, intercept=intercept, groups=record.groups, signs=record.signs)
    check_form(whole)
    check_range(whole, m)
    equivalents = [np.append(others, one) for one, others in whole.equivalents.items()]
    listed = np.concatenate([*equivalents, np.empty(0, np.int64)])
    check(bool(((listed >= 0) & (listed < m)).all()), f"equivalents must be of {m} features")
    tree, groups = whole.tree, whole.groups
    check(tree is None or bool((tree.feature < m).all()), f"tree.feature must be below {m}")
    check(groups is None or groups.code.size == m, f"groups.code must be {m} indices")
    labelled = whole.loss in LABELLED or whole.loss in OF_ALL
    check(labelled == (n_classes > 0), f"classes must not go with the loss {whole.loss}")
    n_outputs = n_classes if whole.loss == MULTINOMIAL else record.n_responses
    found = 1 if whole.dual.ndim == 1 else len(whole.dual)
    n_thresholds = np.size(intercept)
    check(
        whole.loss != ORDINAL or n_thresholds == n_classes - 1,
        f"the certificate must have {n_classes - 1} thresholds; it has {n_thresholds}",
    )
    check(
        found == n_outputs,
        f"the certificate must be of {n_outputs} outputs; it has the dual points of {found}",
    )
    return whole
