"""Certificates with their trees in a file, for others to load and to verify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.files import PathLike, Require, write_file
from ..core.groups import Groups
from ..core.results import Certificate, Tree
from ..verification import CertificateError, check_form
from .archive import CertificateFileError, FileKind, pack, read_file, unpack
from .certificate_parts import (
    OF_CERTIFICATE,
    OF_GROUPS,
    check_certificate,
    check_covariates,
    check_equivalents,
    check_groups,
    check_signs,
    list_diagonal,
    list_minorants,
    with_diagonal,
    with_minorants,
)
from .header import (
    FEATURES,
    VERSIONS,
    check_classes,
    check_header,
    count_responses,
    decode,
    describe_features,
    describe_versions,
    encode,
    names_in,
    storable,
    weights_of_classes,
)
from .records import LABELLED, as_record, check_record
from .saved_certificate import (
    MULTINOMIAL,
    OF_ALL,
    ORDINAL,
    SavedCertificate,
    count_certificates,
    union_columns,
)

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
    from ..core import validation as validate
    from ..io.opening import as_design

    listed = certificate if isinstance(certificate, list | tuple) else [certificate]
    given = [one for one in listed if isinstance(one, Certificate)]
    if not given or len(given) < len(listed):
        raise TypeError(
            f"certificate must be a Certificate or a list of them; got {certificate!r:.80}."
        )
    design = as_design(X)
    n, m = design.shape
    weight = validate.check_sample_weight(sample_weight, n)
    classes, factors, size = np.empty(0, np.int64), np.empty(0), int((weight > 0).sum())
    n_outputs, outputs = 1, ""
    loss = given[0].loss
    if loss in LABELLED or loss in OF_ALL:
        order = validate.class_order(y) if loss == ORDINAL else None
        labels = validate.check_target(y, n)
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


def _equal(one: Groups | None, other: Groups | None) -> bool:
    """Return whether groups are the same."""
    if one is None or other is None or one is other:
        return one is other
    return np.array_equal(one.labels, other.labels) and np.array_equal(one.code, other.code)


def _no_tree(n: int) -> Tree:
    none = np.empty(0, np.int64)
    return Tree(none, none, np.empty(0, bool), none, np.empty((0, n)))


def _describe_certificate(certificate: Certificate) -> dict[str, Any]:
    """Return what the metadata say of a certificate."""
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


def _members(n_arrays: int) -> list[str]:
    """Return the names of the arrays of a certificate file, given their number."""
    n_certificates, more = divmod(n_arrays - len(_SHARED), len(OF_CERTIFICATE))
    numbered = [f"{name}_{i}" for i in range(max(1, n_certificates)) for name in OF_CERTIFICATE]
    extra = {len(OF_GROUPS): OF_GROUPS, 1: (_SIGNS,)}.get(more, ())
    return [*_SHARED, *numbered, *extra]


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
