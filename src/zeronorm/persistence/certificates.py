"""Certificates with their trees in a file, for others to load and to verify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import PathLike, Require, quote, write_file
from ..core.frames import frame_of, names_of, numbers_of
from ..core.groups import Groups
from ..core.messages import span
from ..core.results import Certificate, Minorant, Tree
from ..core.types import Design, FloatArray, IndexArray
from ..io.npy import is_text
from ..io.table import Layout
from ..verification import CertificateError, UndecidedError, check_form, verify
from .archive import (
    FEATURES,
    LABELLED,
    MULTINOMIAL,
    OF_ALL,
    ORDINAL,
    VERSIONS,
    CertificateFileError,
    FileKind,
    check_classes,
    check_header,
    check_record,
    count_responses,
    decode,
    describe_features,
    describe_versions,
    encode,
    named_among,
    names_in,
    pack,
    read_file,
    storable,
    unpack,
    weights_of_classes,
)
from .records import as_record

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
        from ..core.targets import check_sample_weight

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
            return [verify(certificate, X, labels, **given, rtol=rtol)]
        found, undecided = [], []
        for label, certificate in zip(self.positive, self.certificates, strict=True):
            own = labels == label
            if self.metadata["format"] == 1:
                certificate = signed(certificate, np.where(own, 1.0, -1.0)[weight > 0])
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


def union_support(certificates: Sequence[Certificate]) -> IndexArray:
    """Return the features of all certificates, sorted."""
    return np.unique(np.concatenate([one.support for one in certificates]))


def union_columns(certificates: Sequence[Certificate]) -> IndexArray:
    """Return the features of all certificates and their covariates, sorted."""
    return np.union1d(union_support(certificates), certificates[0].covariates)


# Certificate files.

# A tree has a GiB of dual points at most, for every class.
# Files of format 1 have the sizes of dual values; their signs are those of the labels. Those of
# formats 1 and 2 are of one output, those before 4 of coefficients of any sign and without
# covariates, those before 5 of coefficients of any size, and those before 6 without minorants.
CERTIFICATE = FileKind(
    "certificate", version=6, oldest=1, max_size=1 << 33, error=CertificateFileError
)
_MOST_UNEQUAL = 1e9  # Class weights differ by this factor at most.
_SHARED = ("metadata", "classes", "class_weight")
_SIGNS = "signs"  # of the coefficients; there only where some may not have any
_ENTRIES = {
    **VERSIONS,
    "n_samples": int,
    **FEATURES,
    "certificates": list,
}
_PROBLEM = {
    "C": float,
    "scaling": str,
    "loss": str,
    "fit_intercept": bool,
    "intercept": (float, list),
    "objective": float,
    "bound": float,
    "fixed_in": int,
    "candidates": int,
    "equivalents": list,
    "n_groups": (int, type(None)),
    "max_abs_coef": (float, type(None)),
    "parameters": dict,
    "covariates": list,
    "effects": list,
    "diagonal": list,
    "minorants": list,
}
_OF_TREE = ("diagonal", "minorants")
_LATER: dict[str, Any] = {
    "n_groups": None, "max_abs_coef": None, "parameters": {}, "covariates": [], "effects": [],
    "diagonal": [], "minorants": [],
}  # fmt: skip
# What certificates of all classes have in common.
_SAME = (
    "C", "scaling", "loss", "fit_intercept", "n_groups", "parameters", "covariates", "max_abs_coef",
)  # fmt: skip
OF_GROUPS = ("group_of", "group_labels")  # They are there only where groups were selected.
# Each array has this type, and one of these numbers of dimensions: two of several outputs.
OF_CERTIFICATE = {
    "support": ("<i8", (1,)),
    "coef": ("<f8", (1, 2)),
    "dual": ("<f8", (1, 2)),
    "forced": ("<i8", (1,)),
    "parent": ("<i8", (1,)),
    "feature": ("<i8", (1,)),
    "inside": ("|b1", (1,)),
    "row": ("<i8", (1,)),
    "tree_dual": ("<f8", (2,)),
}


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
        classes, factors, size = weights_of_classes(labels, weight, class_weight, order)
        n_outputs, outputs = classes.size, f"{classes.size} classes and "
    elif not loss.startswith("cox"):  # whose y may be a frame of two columns
        n_outputs = len(np.atleast_2d(np.asarray(y).T))
        outputs = f"{n_outputs} responses and " if n_outputs > 1 else ""
    expected = count_certificates(loss, classes)
    flat = loss in LABELLED or loss == ORDINAL or n_outputs == 1
    dual = (size,) if flat else (n_outputs, size)
    if len(given) != expected or any(one.dual.shape != dual for one in given):
        raise ValueError(
            f"certificate must be of the fit to X and y, which have {outputs}"
            f"{size} samples of positive weight; got {len(given)} certificates, with dual points "
            f"of shape {given[0].dual.shape}."
        )
    groups = given[0].groups
    if not all(_equal(one.groups, groups) for one in given):
        raise ValueError("certificate must be of one fit; got certificates of different groups.")
    if feature_names is None:
        feature_names = design.feature_names
    metadata = {
        **describe_versions(CERTIFICATE),
        "n_samples": int(n),
        **describe_features(
            union_columns(given),
            int(m),
            feature_names,
            first_index,
            target_name,
            columns,
            1 if classes.size else n_outputs,
        ),
        "certificates": [_describe_certificate(one) for one in given],
    }
    arrays = {
        "metadata": encode(metadata),
        "classes": storable(classes),
        "class_weight": factors.astype("<f8"),
    }
    for number, one in enumerate(given):
        tree = one.tree if one.tree is not None else _no_tree(one.dual.size)
        values = {
            "support": one.support, "coef": one.coef, "dual": one.dual, "forced": one.forced,
            "parent": tree.parent, "feature": tree.feature, "inside": tree.inside,
            "row": tree.row, "tree_dual": tree.dual,
        }  # fmt: skip
        for name, (kind, _) in OF_CERTIFICATE.items():
            arrays[f"{name}_{number}"] = np.asarray(values[name]).astype(kind, copy=False)
    signs = given[0].signs
    if not all(np.array_equal(one.signs, signs) for one in given):
        raise ValueError("certificate must be of one fit; got certificates of different signs.")
    if signs.size:
        arrays[_SIGNS] = signs.astype("<i1", copy=False)
    if groups is not None:
        arrays["group_of"] = groups.code.astype("<i8", copy=False)
        arrays["group_labels"] = groups.labels
    data = pack(CERTIFICATE, arrays)
    read_certificate("the certificate", data)  # what cannot be read back is not written
    return write_file(path, data)


def count_certificates(loss: Any, classes: NDArray[Any]) -> int:
    """Return how many certificates a fit has: one for each of several classes by themselves."""
    return 1 if classes.size in (0, 2) or loss in OF_ALL else classes.size


def _equal(one: Groups | None, other: Groups | None) -> bool:
    if one is None or other is None or one is other:
        return one is other
    return np.array_equal(one.labels, other.labels) and np.array_equal(one.code, other.code)


def _no_tree(n: int) -> Tree:
    none = np.empty(0, np.int64)
    return Tree(none, none, np.empty(0, bool), none, np.empty((0, n)))


def _describe_certificate(certificate: Certificate) -> dict[str, Any]:
    equivalents = [
        [int(feature), others.tolist()] for feature, others in certificate.equivalents.items()
    ]
    arrays = dict.fromkeys(("intercept", "covariates", "effects"), np.asarray)
    fields = {name: kind for name, kind in _PROBLEM.items() if name not in _OF_TREE}
    record = as_record(certificate, fields | arrays)
    intercept = record["intercept"].astype(np.float64).tolist()  # of several outputs a list
    covariates = record["covariates"].astype(np.int64).tolist()
    effects = record["effects"].astype(np.float64).tolist()
    return record | {
        "equivalents": equivalents,
        "intercept": intercept,
        "covariates": covariates,
        "effects": effects,
        "diagonal": list_diagonal(certificate.tree),
        "minorants": list_minorants(certificate.tree),
    }


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
    require = CERTIFICATE.requirement(where)
    arrays = unpack(CERTIFICATE, where, data, _members)
    metadata = decode(arrays["metadata"], require)
    metadata.setdefault("columns", {})  # files of earlier versions
    check_header(metadata, _ENTRIES, CERTIFICATE, require)
    classes, class_weight = arrays["classes"], arrays["class_weight"]
    described = metadata["certificates"]
    loss = described[0].get("loss") if described and isinstance(described[0], dict) else None
    if classes.shape != (0,):  # of numbers and survival times there are none
        check_classes(classes, require, in_order=loss == ORDINAL)
    require(
        class_weight.dtype == "<f8"
        and class_weight.shape == classes.shape
        and bool((np.isfinite(class_weight) & (class_weight > 0)).all()),
        f"class_weight must be {classes.size} positive float64",
    )
    # A class of next to no weight would make columns constant that tell the classes apart.
    require(
        class_weight.max(initial=0.0) <= _MOST_UNEQUAL * class_weight.min(initial=np.inf),
        f"class_weight must not differ by more than {_MOST_UNEQUAL:g}",
    )
    n, m = metadata["n_samples"], metadata["n_features_in"]
    n_certificates = count_certificates(loss, classes)
    require(
        len(described) == n_certificates
        and (len(arrays) - len(_SHARED)) // len(OF_CERTIFICATE) == n_certificates,
        f"there must be {n_certificates} certificates for {classes.size} classes",
    )
    groups = check_groups(arrays, m, require)
    signs = check_signs(arrays.get(_SIGNS, np.empty(0, np.int8)), m, require)
    certificates = []
    for number, problem in enumerate(described):
        if isinstance(problem, dict):
            for name, nothing in _LATER.items():  # files of earlier versions
                problem.setdefault(name, nothing)
        check_record("a certificate", problem, _PROBLEM, require)
        n_groups = problem["n_groups"]
        require(
            (n_groups is None) == (groups is None),
            "n_groups must be there exactly where groups are",
        )
        values = {name: arrays[f"{name}_{number}"] for name in OF_CERTIFICATE}
        tree = check_certificate(values, m, require)
        equivalents = check_equivalents(problem["equivalents"], m, require)
        own: dict[str, Any] = {key: problem[key] for key in _PROBLEM}
        tree = with_diagonal(tree, own.pop("diagonal"), m, require)
        tree = with_minorants(tree, own.pop("minorants"), m, require)
        own |= {name: values[name] for name in ("support", "coef", "dual", "forced")}
        if isinstance(own["intercept"], list):
            require(
                all(type(value) is float for value in own["intercept"]),
                "intercept must be a number, or those of all outputs",
            )
            own["intercept"] = np.array(own["intercept"])
        own |= check_covariates(own, m, require)
        own |= {"tree": tree, "equivalents": equivalents, "groups": groups, "signs": signs}
        certificates.append(Certificate(**own))
        try:
            loss = check_form(certificates[-1]).loss
        except CertificateError as error:
            require(False, str(error).removesuffix("."))
        labelled = loss in LABELLED or loss in OF_ALL
        require(labelled == (classes.size > 0), f"classes must not go with the loss {loss}")
        _check_outputs(certificates[-1], metadata, classes.size, require)
    for name in _SAME:
        stated = [getattr(one, name) for one in certificates]
        same = all(np.array_equal(one, stated[0]) for one in stated)
        require(same, f"the certificates of all classes must have the same {name}")
    sizes = {one.dual.shape[-1] for one in certificates}
    require(
        len(sizes) == 1 and 2 <= max(sizes) <= n,
        f"dual must be of one number of samples, at most {n} (n_samples), in all certificates",
    )
    names = names_in(metadata, union_columns(certificates).size, require)
    weights = class_weight.astype(np.float64)
    return SavedCertificate(classes, tuple(certificates), weights, names, metadata)


def _members(n_arrays: int) -> list[str]:
    """Return the names of the arrays of a certificate file, given their number."""
    n_certificates, more = divmod(n_arrays - len(_SHARED), len(OF_CERTIFICATE))
    numbered = [f"{name}_{i}" for i in range(max(1, n_certificates)) for name in OF_CERTIFICATE]
    extra = {len(OF_GROUPS): OF_GROUPS, 1: (_SIGNS,)}.get(more, ())
    return [*_SHARED, *numbered, *extra]


def _check_outputs(
    certificate: Certificate, metadata: Mapping[str, Any], n_classes: int, require: Require
) -> None:
    """Check that a certificate has the outputs that the classes or the responses say."""
    n_outputs = n_classes if certificate.loss == MULTINOMIAL else count_responses(metadata)
    found = 1 if certificate.dual.ndim == 1 else len(certificate.dual)
    if certificate.loss == ORDINAL:
        n_thresholds = np.size(certificate.intercept)
        require(
            n_thresholds == n_classes - 1,
            f"the certificate must have {n_classes - 1} thresholds; it has {n_thresholds}",
        )
    require(
        found == n_outputs,
        f"the certificate must be of {n_outputs} outputs; it has the dual points of {found}",
    )


# What the parts of a certificate in a file must be.


def check_certificate(values: dict[str, NDArray[Any]], m: int, require: Require) -> Tree | None:
    """Check the arrays of a certificate; return its tree."""
    for name, (kind, n_dimensions) in OF_CERTIFICATE.items():
        array = values[name]
        require(
            array.dtype == kind and array.ndim in n_dimensions,
            f"{name} must be {np.dtype(kind)} of {' or '.join(map(str, n_dimensions))} dimensions; "
            f"got {array.dtype} of shape {array.shape}",
        )
        require(bool(np.isfinite(array).all()), f"{name} must be finite")
    for name in ("support", "forced", "feature"):
        require(bool((values[name] < m).all()), f"{name} must be below {m}")
    parent, dual = values["parent"], values["tree_dual"]
    require(
        dual.shape[1] == values["dual"].size and (parent.size > 0 or not len(dual)),
        "the arrays of a tree must fit each other",
    )
    if not parent.size:
        return None
    return Tree(parent, values["feature"], values["inside"], values["row"], dual)


_NUMBERS, _OF_MINORANT = ("intercept", "objective", "core"), ("coef", "bend", "diagonal")


def list_diagonal(tree: Tree | None) -> list[list[Any]]:
    """Return the features of the diagonal of a tree, each with what it is there."""
    if tree is None:
        return []
    features = np.flatnonzero(tree.diagonal)
    return [[int(feature), float(tree.diagonal[feature])] for feature in features]


def with_diagonal(tree: Tree | None, listed: list[Any], m: int, require: Require) -> Tree | None:
    """Return a tree with the diagonal that the metadata list."""
    if tree is None or not listed:
        require(not listed, "diagonal must be of a tree")
        return tree
    diagonal = np.zeros(m)
    for entry in listed:
        require(
            isinstance(entry, list)
            and [type(one) for one in entry] == [int, float]
            and 0 <= entry[0] < m
            and 0.0 < entry[1] < np.inf,
            "diagonal must be features, each with a positive number",
        )
        diagonal[entry[0]] = entry[1]
    return replace(tree, diagonal=diagonal)


def list_minorants(tree: Tree | None) -> list[dict[str, Any]]:
    """Return the minorants of a tree, as lists and numbers."""
    return [
        {
            "features": one.features.tolist(),
            **{name: float(getattr(one, name)) for name in _NUMBERS},
            **{name: getattr(one, name).astype(np.float64).tolist() for name in _OF_MINORANT},
        }
        for one in (() if tree is None else tree.minorants)
    ]


def with_minorants(tree: Tree | None, listed: list[Any], m: int, require: Require) -> Tree | None:
    """Return a tree with the minorants that the metadata list."""
    if tree is None or not listed:
        require(not listed, "minorants must be of a tree")
        return tree
    fields = {"features": list} | dict.fromkeys(_NUMBERS, float) | dict.fromkeys(_OF_MINORANT, list)
    found = []
    for one in listed:
        check_record("a minorant", one, fields, require)
        indices = all(type(feature) is int and 0 <= feature < m for feature in one["features"])
        numbers = all(type(value) is float for name in _OF_MINORANT for value in one[name])
        require(indices and numbers, f"minorants must be of numbers and of features below {m}")
        arrays = {name: np.array(one[name], np.float64) for name in _OF_MINORANT}
        own: dict[str, Any] = {name: one[name] for name in _NUMBERS}
        found.append(Minorant(np.array(one["features"], np.int64), **(own | arrays)))
    return replace(tree, minorants=tuple(found))


def check_groups(arrays: Mapping[str, NDArray[Any]], m: int, require: Require) -> Groups | None:
    """Return the groups of the features, None in the file of a budget of features."""
    if OF_GROUPS[0] not in arrays:
        return None
    code, labels = (arrays[name] for name in OF_GROUPS)
    require(code.dtype == "<i8" and code.shape == (m,), f"group_of must be {m} indices")
    require(
        labels.ndim == 1
        and labels.dtype.kind in "iuU"
        and (labels.dtype.kind != "U" or is_text(labels)),
        "group_labels must be integers or valid text",
    )
    within = bool(((code >= 0) & (code < labels.size)).all())
    require(within, f"group_of must be {span(0, labels.size - 1)}")
    return Groups(labels, code.astype(np.int64))


def check_signs(signs: NDArray[Any], m: int, require: Require) -> NDArray[Any]:
    """Return the signs of coefficients, of all features or none."""
    sound = signs.dtype == "|i1" and signs.shape in ((m,), (0,))
    require(sound and bool(np.isin(signs, (-1, 0, 1)).all()), f"signs must be {m} of -1, 0, 1")
    return signs


def check_covariates(own: Mapping[str, Any], m: int, require: Require) -> dict[str, NDArray[Any]]:
    """Return covariates and their coefficients as arrays."""
    covariates, effects = own["covariates"], own["effects"]
    known = all(type(one) is int and 0 <= one < m for one in covariates)
    require(known, f"covariates must be features, from 0 to {m - 1}")
    rows = effects if own["coef"].ndim == 2 and covariates else [effects]
    sound = all(
        isinstance(row, list)
        and len(row) == len(covariates)
        and all(type(value) is float for value in row)
        for row in rows
    )
    require(sound, "effects must be numbers, one for each covariate (and output)")
    return {"covariates": np.array(covariates, np.int64), "effects": np.array(effects, np.float64)}


def check_equivalents(listed: list[Any], m: int, require: Require) -> dict[int, IndexArray]:
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
