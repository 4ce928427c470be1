"""What a certificate must be whatever the data are: its form, as plain numbers and new arrays."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from ..core.groups import Groups
from ..core.results import Certificate, Minorant, Tree
from ..core.types import FloatArray, IndexArray
from .losses import PARAMETERS

SCALINGS = ("standardized", "scaled", "none")
INTEGERS = (int, *(np.dtype(kind).type for kind in "bhilqBHILQ"))
# A gap of numbers of fewer bits is computed in their precision, where it may be 0.
NUMBERS = (int, float, np.float64)


class CertificateError(ValueError):
    """A certificate claims more than its data show; the message says what."""


class UndecidedError(CertificateError):
    """Figures are as claimed but for rounding, which is too large to verify them to rtol."""


def check_form(certificate: Certificate) -> Certificate:
    """Return a certificate as plain numbers and new float64 and int64 arrays, checked.

    Whatever is done with the copy, a number cannot change between two looks at it, or compare as
    what it is not.

    Raises
    ------
    CertificateError
        Where it contradicts itself, whatever the data are.
    """
    try:
        copied = _copied(certificate)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError(f"the certificate is none: {error}.") from None
    _check_fields(copied)
    return copied


def _copied(given: Any) -> Certificate:
    if type(given) is not Certificate:
        raise CertificateError(
            f"certificate must be a zeronorm.core.results.Certificate; got {type(given).__name__}. "
            "Of a fitted model pass model.certificate_ (or one of model.certificates_); a file of "
            "certificates is checked by zeronorm.persistence.load_certificate(path).verify(X, y)."
        )
    values = {field.name: getattr(given, field.name) for field in fields(Certificate)}
    several = getattr(values["dual"], "ndim", 1) == 2
    several |= _is_any(values["loss"], (str, np.str_)) and values["loss"] == "ordinal"
    values["intercept"] = _intercept(values["intercept"], several)
    for name in ("C", "objective", "bound"):
        if not _is_finite(values[name]):
            raise CertificateError(
                f"{name} of the certificate must be a finite number; got {values[name]!r:.60}."
            )
        values[name] = float(values[name])
    for name in ("fixed_in", "candidates"):
        if not is_count(values[name]):
            raise CertificateError(
                f"{name} of the certificate must be a number of features; got {values[name]!r:.60}."
            )
        values[name] = int(values[name])
    if values["max_abs_coef"] is not None:
        if not (_is_finite(values["max_abs_coef"]) and values["max_abs_coef"] > 0):
            raise CertificateError(
                "max_abs_coef of the certificate must be a positive number, or None; got "
                f"{values['max_abs_coef']!r:.60}."
            )
        values["max_abs_coef"] = float(values["max_abs_coef"])
    for name in ("support", "forced", "covariates"):
        values[name] = _indices(name, values[name])
    values["signs"] = _signs(values["signs"])
    for name in ("coef", "dual", "effects"):
        values[name] = _copy(values[name], "iuf")
    tree, groups = values["tree"], values["groups"]
    if tree is not None:
        if type(tree) is not Tree:
            raise CertificateError("the tree of the certificate must be a Tree, or None.")
        values["tree"] = Tree(
            parent=_copy(tree.parent, "i"),
            feature=_copy(tree.feature, "i"),
            inside=_copy(tree.inside, "b"),
            row=_copy(tree.row, "i"),
            dual=_copy(tree.dual, "iuf"),
            diagonal=_copy(tree.diagonal, "iuf"),
            minorants=_minorants(tree.minorants),
        )
    if groups is not None:
        if type(groups) is not Groups:
            raise CertificateError("the groups of the certificate must be Groups, or None.")
        code = _copy(groups.code, "iu")
        if len(groups.labels) > code.size:
            raise CertificateError("the groups of the certificate are more than its features.")
        values["groups"] = Groups(np.arange(len(groups.labels)), code)
    if type(values["equivalents"]) is not dict:
        raise CertificateError("equivalents of the certificate must be a dict.")
    values["equivalents"] = {
        feature: _copy(others, "iu") for feature, others in values["equivalents"].items()
    }
    values["parameters"] = _parameters(values["parameters"])
    return Certificate(**values)


def _minorants(given: Any) -> tuple[Minorant, ...]:
    """Return minorants that have what they must, of plain arrays."""
    if type(given) is not tuple or not all(type(one) is Minorant for one in given):
        raise CertificateError("tree.minorants of the certificate must be a tuple of Minorant.")
    found = []
    for one in given:
        numbers: dict[str, Any] = {
            name: getattr(one, name) for name in ("intercept", "objective", "core")
        }
        if not all(map(_is_finite, numbers.values())):
            raise CertificateError(f"{', '.join(numbers)} of a minorant must be finite numbers.")
        own = {name: _copy(getattr(one, name), "iuf") for name in ("coef", "bend", "diagonal")}
        features = _indices("the features of a minorant", one.features)
        found.append(Minorant(features, **(numbers | own)))
    return tuple(found)


def _intercept(given: Any, several: bool) -> Any:
    """Return a number, or those of all outputs, or of all thresholds between ordered classes."""
    if several and type(given) is np.ndarray:
        return _copy(given, "iuf")
    if not _is_finite(given):
        raise CertificateError(
            f"intercept of the certificate must be a finite number; got {given!r:.60}."
        )
    return float(given)


def _parameters(given: Any) -> dict[str, float]:
    if type(given) is not dict:
        raise CertificateError("parameters of the certificate must be a dict.")
    for name, value in given.items():
        if not (type(name) is str and _is_finite(value) and value > 0):
            raise CertificateError(
                f"parameters of the certificate must be positive numbers; got {name!r:.30}: "
                f"{value!r:.60}."
            )
    return {name: float(value) for name, value in given.items()}


def _signs(given: Any) -> np.ndarray:
    """Return the signs that coefficients may have, as int64."""
    found = _copy(given, "i")
    if found.shape != given.shape or found.ndim != 1 or not np.isin(found, (-1, 0, 1)).all():
        raise CertificateError("signs of the certificate must be integers: -1, 0 or 1.")
    return found


def _copy(values: Any, kinds: str) -> np.ndarray:
    """Return a new array of float64, int64 or booleans; NaN or nothing where that is not its kind.

    kinds : of NumPy's types: "iuf" for numbers, "iu" for indices, "b" for booleans.
    """
    if type(values) is not np.ndarray:  # a subclass may show others than it has
        raise CertificateError(
            f"arrays of the certificate must be those of NumPy; got {type(values).__name__}."
        )
    if values.dtype.kind not in kinds:
        return np.full(values.shape, np.nan) if "f" in kinds else np.empty(0, np.int64)
    kind: Any = bool if kinds == "b" else np.float64 if "f" in kinds else np.int64
    return np.array(values, kind)


def _check_fields(certificate: Certificate) -> None:
    for name, known in (("loss", tuple(PARAMETERS)), ("scaling", SCALINGS)):
        value = getattr(certificate, name)
        if not (_is_any(value, (str, np.str_)) and value in known):
            raise CertificateError(
                f"the {name} of the certificate must be {' or '.join(map(repr, known))}; "
                f"got {value!r:.60}."
            )
    wanted = PARAMETERS[certificate.loss]
    if tuple(sorted(certificate.parameters)) != wanted:
        raise CertificateError(
            f"parameters of the certificate must be {wanted} for the loss {certificate.loss!r}; "
            f"got {tuple(certificate.parameters)!r:.80}."
        )
    if not certificate.parameters.get("quantile", 0.5) < 1.0:
        raise CertificateError("the quantile must be below 1.")
    if not _is_any(certificate.fit_intercept, (bool, np.bool_)):
        raise CertificateError("fit_intercept of the certificate must be True or False.")
    if not certificate.C > 0:
        raise CertificateError(f"C of the certificate must be positive; got {certificate.C!r}.")
    if not certificate.fit_intercept and np.any(certificate.intercept):
        raise CertificateError("the certificate has an intercept in a problem without one.")
    if not 100.0 * certificate.gap < np.inf:
        raise CertificateError("the gap of the certificate is infinite.")
    k = certificate.support.size
    if not k:
        raise CertificateError("the support of the certificate has no features.")
    if not np.isin(certificate.forced, certificate.support).all():
        raise CertificateError("the certificate has forced features outside of its support.")
    counted = np.append(certificate.support, certificate.forced)
    if np.isin(certificate.covariates, counted).any():
        raise CertificateError("the certificate has covariates that its support has as well.")
    several = certificate.dual.ndim == 2
    single = ("logistic", "squared_hinge", "cox", "cox_efron", "ordinal")
    wrong = single if several else ("multinomial",)
    if certificate.loss in wrong or (several and len(certificate.dual) < 2):
        raise CertificateError(
            f"the dual point of the certificate has the shape {certificate.dual.shape}, which is "
            f"none of the loss {certificate.loss!r}."
        )
    outputs: tuple[int | None, ...] = (len(certificate.dual),) if several else ()
    ordered = certificate.loss == "ordinal"
    _finite("intercept", np.asarray(certificate.intercept), (None,) if ordered else outputs)
    if ordered:
        _check_thresholds(certificate)
    _finite("coef", certificate.coef, (*outputs, k))
    _finite("dual", certificate.dual, (*outputs, None))
    if certificate.covariates.size or certificate.effects.size:
        _finite("effects", certificate.effects, (*outputs, certificate.covariates.size))
    if several and certificate.equivalents:
        raise CertificateError("a certificate of several outputs has no equivalents.")
    if certificate.signs.size:
        _check_signs(certificate)
    if (certificate.groups is None) != (certificate.n_groups is None):
        raise CertificateError("the certificate has groups without their number, or the reverse.")
    if certificate.groups is not None:
        _check_groups(certificate, certificate.groups)
        if certificate.equivalents:
            raise CertificateError("equivalents are of single features, but there are groups.")
    if certificate.tree is not None:
        _check_tree(certificate.tree, certificate.dual.size)


def _check_thresholds(certificate: Certificate) -> None:
    """Raise CertificateError where the thresholds between ordered classes are none."""
    thresholds = -np.asarray(certificate.intercept)
    # Two classes are those of the logistic loss.
    if thresholds.size < 2 or not (np.diff(thresholds) > 0).all():
        raise CertificateError(
            "intercept of the certificate must be minus the thresholds between three ordered "
            "classes or more, which grow."
        )
    if not certificate.fit_intercept:
        raise CertificateError("fit_intercept of the certificate must be True: it has thresholds.")


def _is_any(value: Any, kinds: tuple[type, ...]) -> bool:
    """Return whether a value is of one of some types, not of one that says it is equal to them."""
    return any(type(value) is kind for kind in kinds)


def _is_finite(value: Any) -> bool:
    return _is_any(value, NUMBERS) and bool(abs(value) < np.inf)


def is_count(value: Any) -> bool:
    return _is_any(value, INTEGERS) and bool(value >= 0)


def _indices(name: str, values: Any) -> IndexArray:
    """Return features, which must be sorted and distinct."""
    found = _copy(values, "iu")
    sound = found.shape == values.shape or not values.size
    if not (sound and found.ndim == 1 and (found >= 0).all() and (found[1:] > found[:-1]).all()):
        raise CertificateError(
            f"{name} of the certificate must be indices of features, sorted, each once."
        )
    return found


def _finite(name: str, found: FloatArray, shape: tuple[int | None, ...]) -> None:
    right = found.ndim == len(shape) and all(
        want is None or want == got for want, got in zip(shape, found.shape, strict=False)
    )
    if not (right and np.isfinite(found).all()):
        wanted = tuple("any" if size is None else size for size in shape)
        raise CertificateError(
            f"{name} of the certificate must be finite numbers of shape {wanted}; got shape "
            f"{found.shape} or some that are not finite."
        )


def _check_signs(certificate: Certificate) -> None:
    if certificate.groups is not None or certificate.dual.ndim == 2:
        raise CertificateError("signs of the certificate are of single features with one output.")
    check_range(certificate, certificate.signs.size)
    if (certificate.signs[certificate.support] * certificate.coef < 0).any():
        raise CertificateError("coefficients of the certificate break the signs that it names.")


def _check_groups(certificate: Certificate, groups: Groups) -> None:
    code, budget = groups.code, certificate.n_groups
    if budget is None or not is_count(budget):
        raise CertificateError(f"n_groups must be a number of groups; got {budget!r:.60}.")
    if code.ndim != 1 or (code < 0).any() or (code >= len(groups)).any():
        raise CertificateError("the groups of the certificate must be one index for each feature.")
    check_range(certificate, code.size)
    if np.unique(code[certificate.support]).size > budget:
        raise CertificateError(
            f"the support of the certificate has features of more than {budget} groups."
        )


def check_range(certificate: Certificate, m: int) -> None:
    if np.max(certificate.support) >= m:
        raise CertificateError(
            f"the support of the certificate must be of {m} features; got feature "
            f"{int(np.max(certificate.support))}."
        )
    if np.max(certificate.covariates, initial=0) >= m:
        raise CertificateError(
            f"the covariates of the certificate must be of {m} features; got feature "
            f"{int(np.max(certificate.covariates))}."
        )
    if certificate.tree is not None and certificate.tree.diagonal.size not in (0, m):
        raise CertificateError(
            f"tree.diagonal of the certificate is of {certificate.tree.diagonal.size} features, "
            f"not of {m}."
        )
    for one in certificate.tree.minorants if certificate.tree is not None else ():
        if np.max(one.features) >= m:
            raise CertificateError(
                f"a minorant of the certificate must be of {m} features; got feature "
                f"{int(np.max(one.features))}."
            )
    if certificate.signs.size not in (0, m):
        raise CertificateError(
            f"the signs of the certificate are of {certificate.signs.size} features, not of {m}."
        )


def _check_tree(tree: Tree, n: int) -> None:
    """Raise CertificateError where the arrays of a tree are none."""
    parent, feature, inside, row, dual = (
        tree.parent, tree.feature, tree.inside, tree.row, tree.dual
    )  # fmt: skip
    size = parent.size
    if not (size and all(a.shape == (size,) for a in (parent, feature, inside, row))):
        raise CertificateError(
            "the tree of the certificate must have parent, feature, row (integers) and inside "
            "(booleans) for every node."
        )
    _finite("tree.dual", dual, (None, n))
    _finite("tree.diagonal", tree.diagonal, (None,))
    if (tree.diagonal < 0).any():
        raise CertificateError("tree.diagonal must not be negative.")
    for one in tree.minorants:
        for name, own in (("coefficients", one.coef), ("diagonal", one.diagonal)):
            _finite(f"the {name} of a minorant", own, one.features.shape)
        _finite("the bend of a minorant", one.bend, (n,))
        if not one.features.size:
            raise CertificateError("a minorant must have features.")
    if parent[0] != -1 or (parent[1:] < 0).any() or (parent[1:] >= np.arange(1, size)).any():
        raise CertificateError("parent must be numbers of earlier nodes, -1 of the first alone.")
    if (row < -1).any() or (row >= len(dual)).any() or row[0] < 0:
        raise CertificateError("row must be rows of tree.dual, or -1 (not of the first node).")
    if (row[parent[1:]] < 0).any():
        raise CertificateError("a node of the tree is divided without a dual point of its own.")
    if (feature < -1).any():
        raise CertificateError("feature must be indices of features, or -1.")
