"""Loaded certificates, and their verification with the data of the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import quote
from ..core.frames import frame_of, names_of, numbers_of
from ..core.results import Certificate
from ..core.types import Design, FloatArray, IndexArray
from ..io.table import Layout
from ..verification import CertificateError, UndecidedError, verify
from .linear_model import named_among

MULTINOMIAL, ORDINAL = "multinomial", "ordinal"  # the losses of several classes at once
OF_ALL = (MULTINOMIAL, ORDINAL)

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
        return union_support(self.certificates)

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
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        offset: Any = None,
        rtol: float = 1e-10,
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
        from ..core.validation import check_sample_weight

        frame = frame_of(X)
        if frame is not None:
            self._check_names(names_of(frame))
            X = numbers_of(frame)
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
                "with that much memory, call zeronorm.verify."
            )
        labels = np.asarray(y)
        responses = self.metadata["target_name"]
        wanted: tuple[int, ...] = shape[:1]
        if isinstance(responses, list):
            wanted = (shape[0], len(responses))
        if labels.shape != wanted:
            values = "labels" if len(wanted) == 1 else f"rows of {wanted[1]} responses"
            raise ValueError(
                f"y must have {shape[0]} {values}; got an array of shape {labels.shape}."
            )
        weight = check_sample_weight(sample_weight, shape[0]).copy()
        if self.classes_.size:
            self._weigh_classes(labels, weight)
        used, expected = int((weight > 0).sum()), self.certificates[0].dual.shape[-1]
        if used != expected:
            of_classes = quote(", ".join(map(str, self.classes_)))
            raise ValueError(
                f"y must have {expected} samples of positive weight"
                f"{f' and of the classes {of_classes}' if self.classes_.size else ''}, as at the "
                f"fit; got {used}."
            )
        if not isinstance(X, Design):
            X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        if self.positive == [None]:
            (certificate,) = self.certificates
            given: dict[str, Any] = {"sample_weight": weight, "offset": offset}
            if certificate.loss == ORDINAL:
                labels = (labels[:, None] == self.classes_).argmax(axis=1)
            return [verify(X, labels, certificate, **given, rtol=rtol)]
        found, undecided = [], []
        for label, certificate in zip(self.positive, self.certificates, strict=True):
            own = labels == label
            if self.metadata["format"] == 1:
                certificate = signed(certificate, np.where(own, 1.0, -1.0)[weight > 0])
            try:
                one = verify(X, own, certificate, sample_weight=weight, rtol=rtol)
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
                raise ValueError(
                    f"X must have the columns of the fit, in their order; column {place} must be "
                    f"{quote(known)}, and is {found}."
                )

    def _weigh_classes(self, labels: NDArray[Any], weight: FloatArray) -> None:
        """Multiply weights by those of the classes; refuse rows of other classes."""
        for label, factor in zip(self.classes_, self.class_weight, strict=True):
            weight[labels == label] *= factor
        other = np.flatnonzero(~np.isin(labels, self.classes_) & (weight > 0))
        if other.size:
            known = quote(", ".join(map(str, self.classes_)))
            raise ValueError(
                f"y must have the classes {known}, as at the fit; {other.size} rows have others, "
                f"such as {quote(str(labels[other[0]]))}. Leave out rows that the fit had not "
                "(in Python: sample_weight 0)."
            )


def signed(certificate: Certificate, sign: FloatArray) -> Certificate:
    """Return a certificate of the first format with the signs of its dual values."""
    tree = certificate.tree
    if tree is not None:
        tree = replace(tree, dual=tree.dual * sign)
    return replace(certificate, dual=certificate.dual * sign, tree=tree)


def count_certificates(loss: Any, classes: NDArray[Any]) -> int:
    """Return how many certificates a fit has: one for each of several classes by themselves."""
    return 1 if classes.size in (0, 2) or loss in OF_ALL else classes.size


def union_support(certificates: Sequence[Certificate]) -> IndexArray:
    """Return the features of all certificates, sorted."""
    return np.unique(np.concatenate([one.support for one in certificates]))


def union_columns(certificates: Sequence[Certificate]) -> IndexArray:
    """Return the features of all certificates and their covariates, sorted."""
    return np.union1d(union_support(certificates), certificates[0].covariates)
