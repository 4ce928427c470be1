"""The verifier: recomputes all that a certificate says, from the data, in plain NumPy.

It shares no code with the solvers and takes nothing on trust: what it proves, with its rounding, is
a theorem in docs/theory/certificate.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ._typing import FloatArray, IndexArray
from .groups import Groups
from .result import Certificate, Tree

LOSSES = ("logistic", "squared_hinge")
SCALINGS = ("standardized", "scaled", "none")
# Relative, as all differences below: of std to the largest entry of a column, of the sums of a dual
# point over both classes, of the objective to the optimum on the support, of the entries of equal
# columns (and of these to the largest one).
CONSTANT, BALANCED, OPTIMAL, EQUAL, EQUAL_TO_LARGEST = 1e-12, 1e-9, 1e-6, 1e-8, 1e-11
# A feature is decided by a bound above the objective by that; solvers ask for twice as much.
DECIDED = 1e-9
LEAST_SIZE = 1e-140  # a column with a smaller root mean square is 0: its squares underflow
LEAST_OBJECTIVE = 1e-200  # what is smaller cannot be told from 0
LEAST_SHARE = 1e-290  # of C s_i: a smaller dual value is 0, as its quotient has no digits
ROUNDOFF = 2.0**-53
INTEGERS = frozenset({int, *(np.dtype(kind).type for kind in "bhilqBHILQ")})
NUMBERS = frozenset({int, float, np.float16, np.float32, np.float64})
ROUNDING = 10.0  # of the bound, in units of rtol, that is accepted
MOST_WAITING = 1 << 27  # features of nodes that wait for their turn, in all


class CertificateError(ValueError):
    """A certificate claims more than its data show; the message says what."""


def verify(
    X: Any,
    y: Any,
    certificate: Certificate,
    *,
    sample_weight: Any = None,
    rtol: float = 1e-10,
) -> dict[str, float]:
    """Recompute a certificate from scratch in plain NumPy, sharing no code with the solvers.

    Checked are: that the support is what it is said to be, features that are not constant, with the
    forced ones, no more than the budget; the objective at the coefficients, and that no others on
    the support are better (by more than 1e-6 of it); the bound of the dual point; how many features
    that point rules out and fixes; and which columns are equal up to the sign. A tree is replayed
    from the root: the dual point of a node bounds its models, rules out and fixes features; every
    node must be bounded well enough or be divided without a rest. Figures of the certificate that
    say less than what is recomputed pass.

    Parameters
    ----------
    X : (n, m) array, the user's matrix; a sparse one is made dense.
    y : (n,) labels of two classes; the larger one (the second of `classes_`) counts as +1.
    certificate : what to check; loss, scaling, intercept, C, forced features and groups are those
        that it names: they state the problem.
    sample_weight : (n,) the weights of the fit, times those of the classes.
    rtol : by how much the objective and the bound may differ from the recomputed ones, relative to
        what is claimed, at most 1e-3. Rounding may be ten times as much; where it is more, a larger
        rtol is needed: for columns far from 0 that are not centred (from some 1e4 deviations on,
        where they are not standardised or have no intercept beside them), and for large values of
        X beside a large C.

    Returns
    -------
    The recomputed "objective", "bound" and "gap"; "rounding", an upper bound of what the rounding
    of this recomputation can have added to the bound, or taken from the objective; and "nodes", the
    number of nodes of the tree that it took.

    Raises
    ------
    CertificateError
        Where the certificate claims more than can be recomputed, contradicts itself, or is none.
        It is a ValueError.
    ValueError
        Where X, y, the weights or rtol are not what they must be.
    """
    certificate = check_form(certificate)
    if not 0 < rtol <= 1e-3:
        raise ValueError(f"rtol must be above 0 and at most 1e-3; got {rtol!r}.")
    with np.errstate(all="ignore"):  # what overflows or is no number fails every comparison below
        return _verify(_read(X, y, sample_weight, certificate), certificate, float(rtol))


def _verify(data: _Data, certificate: Certificate, rtol: float) -> dict[str, float]:
    objective, rounding = _objective(data, certificate)
    if not abs(objective - certificate.objective) <= rtol * abs(certificate.objective):
        raise CertificateError(
            f"the certificate claims the objective {certificate.objective!r}; recomputed: "
            f"{objective!r}."
        )
    units = _Units(data, certificate)
    root = units.node(data.feasible(certificate.dual), units.fixed, units.free)
    bound, rounding, n_nodes = root.bound, max(rounding, root.rounding), 0
    claim = certificate.bound - rtol * abs(certificate.bound)
    if certificate.tree is not None:
        of_tree, n_nodes = _replay(data, certificate.tree, units, claim)
        bound, rounding = min(certificate.bound, objective), max(rounding, of_tree)
    if not bound >= claim:
        raise CertificateError(
            f"the certificate claims the bound {certificate.bound!r}; its dual point shows only "
            f"{bound!r}."
        )
    if not rounding <= ROUNDING * rtol * objective:
        raise CertificateError(
            f"the certificate cannot be verified to rtol={rtol:g}: rounding may change its figures "
            f"by {rounding:.2g}. Standardise the columns, with an intercept, or use a smaller C, "
            "or pass a larger rtol."
        )
    _check_decided(data, units, root, certificate)
    _check_equivalents(data, certificate)
    return {
        "objective": objective,
        "bound": bound,
        "gap": max(0.0, objective - bound) / objective,
        "rounding": rounding,
        "nodes": n_nodes,
    }


# ------------------------------------------------------------------------------------- the form


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
            f"certificate must be a zeronorm.result.Certificate; got {type(given).__name__}."
        )
    values = {field.name: getattr(given, field.name) for field in fields(Certificate)}
    for name in ("C", "intercept", "objective", "bound"):
        if not _is_finite(values[name]):
            raise CertificateError(
                f"{name} of the certificate must be a finite number; got {values[name]!r:.60}."
            )
        values[name] = float(values[name])
    for name in ("fixed_in", "candidates"):
        if not _is_count(values[name]):
            raise CertificateError(
                f"{name} of the certificate must be a number of features; got {values[name]!r:.60}."
            )
        values[name] = int(values[name])
    for name in ("support", "forced"):
        values[name] = _indices(name, values[name])
    for name in ("coef", "dual"):
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
        feature: np.array(others) for feature, others in values["equivalents"].items()
    }
    return Certificate(**values)


def _copy(values: Any, kinds: str) -> np.ndarray:
    """Return a new array of float64, int64 or booleans; NaN or nothing where that is not its kind.

    kinds : of NumPy's types: "iuf" for numbers, "iu" for indices, "b" for booleans.
    """
    array = np.asarray(values)
    if isinstance(values, np.ma.MaskedArray) or array.dtype.kind not in kinds:
        return np.full(array.shape, np.nan) if "f" in kinds else np.empty(0, np.int64)
    kind: Any = bool if kinds == "b" else np.float64 if "f" in kinds else np.int64
    return np.array(array, kind)


def _check_fields(certificate: Certificate) -> None:
    for name, known in (("loss", LOSSES), ("scaling", SCALINGS)):
        value = getattr(certificate, name)
        if not (type(value) in (str, np.str_) and value in known):
            raise CertificateError(
                f"the {name} of the certificate must be {' or '.join(map(repr, known))}; "
                f"got {value!r:.60}."
            )
    if type(certificate.fit_intercept) not in (bool, np.bool_):
        raise CertificateError("fit_intercept of the certificate must be True or False.")
    if not certificate.C > 0:
        raise CertificateError(f"C of the certificate must be positive; got {certificate.C!r}.")
    if not certificate.fit_intercept and certificate.intercept != 0:
        raise CertificateError("the certificate has an intercept in a problem without one.")
    k = certificate.support.size
    if not k:
        raise CertificateError("the support of the certificate has no features.")
    if not np.isin(certificate.forced, certificate.support).all():
        raise CertificateError("the certificate has forced features outside of its support.")
    _finite("coef", certificate.coef, (k,))
    _finite("dual", certificate.dual, (None,))
    if (certificate.groups is None) != (certificate.n_groups is None):
        raise CertificateError("the certificate has groups without their number, or the reverse.")
    if certificate.groups is not None:
        _check_groups(certificate, certificate.groups)
        if certificate.equivalents:
            raise CertificateError("equivalents are of single features, but there are groups.")
    if certificate.tree is not None:
        _check_tree(certificate.tree, certificate.dual.size)


def _is_finite(value: Any) -> bool:
    return bool(type(value) in NUMBERS and abs(value) < np.inf)


def _is_count(value: Any) -> bool:
    return bool(type(value) in INTEGERS and value >= 0)


def _indices(name: str, values: Any) -> IndexArray:
    """Return features, which must be sorted and distinct."""
    size, found = np.size(values), _copy(values, "iu")
    sound = found.shape == np.shape(values) if size else True
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


def _check_groups(certificate: Certificate, groups: Groups) -> None:
    code, budget = groups.code, certificate.n_groups
    if budget is None or not _is_count(budget):
        raise CertificateError(f"n_groups must be a number of groups; got {budget!r:.60}.")
    if certificate.tree is not None:
        raise CertificateError("the certificate has a tree; there is none for groups.")
    if code.ndim != 1 or (code < 0).any() or (code >= len(groups)).any():
        raise CertificateError("the groups of the certificate must be one index for each feature.")
    _check_range(certificate, code.size)
    if np.unique(code[certificate.support]).size > budget:
        raise CertificateError(
            f"the support of the certificate has features of more than {budget} groups."
        )


def _check_range(certificate: Certificate, m: int) -> None:
    if np.max(certificate.support) >= m:
        raise CertificateError(
            f"the support of the certificate must be of {m} features; got feature "
            f"{int(np.max(certificate.support))}."
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
    if parent[0] != -1 or (parent[1:] < 0).any() or (parent[1:] >= np.arange(1, size)).any():
        raise CertificateError("parent must be numbers of earlier nodes, -1 of the first alone.")
    if (row < -1).any() or (row >= len(dual)).any() or row[0] < 0:
        raise CertificateError("row must be rows of tree.dual, or -1 (not of the first node).")
    if (row[parent[1:]] < 0).any():
        raise CertificateError("a node of the tree is divided without a dual point of its own.")
    if (feature < -1).any():
        raise CertificateError("feature must be indices of features, or -1.")


# ------------------------------------------------------------------------------------- the data


@dataclass(frozen=True, slots=True)
class _Data:
    """The data of a certificate, rows of positive weight, on its selection scaling."""

    X: FloatArray  # (n, m); columns that are constant are 0; centred where the intercept is free
    y: FloatArray  # (n,) +-1
    weight: FloatArray  # (n,) C s_i
    usable: np.ndarray  # (m,) columns that are not constant
    mean: FloatArray  # (m,) what X is centred by, more than its scaling is: a part of the intercept
    error: FloatArray  # (m,) rounding of a score, relative to the sum of the dual point
    told: FloatArray  # (n, m) the columns as the scaling has them
    loss: str
    intercept: bool

    def feasible(self, alpha: FloatArray) -> FloatArray:
        """Return a dual point that is feasible; the given one must be so but for rounding."""
        alpha = np.array(alpha, np.float64)
        total = float(alpha.sum())
        excess = float(alpha @ self.y)
        sound = bool((alpha >= 0).all()) and np.isfinite(total)
        if self.loss == "logistic":
            sound = sound and bool((alpha <= self.weight * (1.0 + BALANCED)).all())
            alpha = np.minimum(alpha, self.weight)
        if self.intercept:
            sound = sound and abs(excess) <= BALANCED * total
        if not sound:
            raise CertificateError("the dual point of the certificate is not feasible.")
        alpha = np.where(alpha < LEAST_SHARE * self.weight, 0.0, alpha)
        return self.balanced(alpha) if self.intercept else alpha

    def balanced(self, alpha: FloatArray) -> FloatArray:
        """Return alpha with the class of the larger sum shrunk to that of the other."""
        up, down = float(alpha[self.y > 0].sum()), float(alpha[self.y < 0].sum())
        if up == down:
            return alpha
        heavier = self.y > 0 if up > down else self.y < 0
        return np.asarray(np.where(heavier, alpha * (min(up, down) / max(up, down)), alpha))

    def conjugate(self, alpha: FloatArray) -> tuple[float, float]:
        """Return the conjugate of the loss at a feasible point, and what its rounding grows with.

        A relative error of alpha_i, as that of its share t of the weight, is one of
        alpha_i |log(t / (1 - t))|; each logarithm has one of its own.
        """
        share = alpha / self.weight
        if self.loss == "squared_hinge":
            return float(alpha @ (0.5 * share - 1.0)), float(alpha @ (2.0 * share + 2.0))
        positive = np.clip(share, 1e-300, None)
        rest = np.clip(1.0 - share, 1e-300, None)
        log_rest = np.where(share < 0.5, np.log1p(-np.minimum(share, 0.5)), np.log(rest))
        terms = self.weight * (share * np.log(positive) + rest * log_rest)  # none is positive
        return float(terms.sum()), -float(terms.sum() + 4.0 * alpha @ (np.log(positive) + log_rest))

    def value(self, z: FloatArray) -> float:
        """Return the loss of margins, without rows of weight 0."""
        if self.loss == "squared_hinge":
            return float(self.weight @ (0.5 * np.maximum(0.0, 1.0 - self.y * z) ** 2))
        return float(self.weight @ np.logaddexp(0.0, -self.y * z))

    def slopes(self, z: FloatArray) -> FloatArray:
        """Return the dual point of margins, -y_i times the derivative of the loss."""
        if self.loss == "squared_hinge":
            return np.asarray(self.weight * np.maximum(0.0, 1.0 - self.y * z))
        return np.asarray(self.weight * np.exp(-np.logaddexp(0.0, self.y * z)))


def _read(X: Any, y: Any, sample_weight: Any, certificate: Certificate) -> _Data:
    """Return the data on the scaling of a certificate."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    labels = np.asarray(y)
    if X.ndim != 2 or labels.shape != X.shape[:1]:
        raise ValueError(
            f"X must be (n, m) and y (n,); got the shapes {X.shape} and {labels.shape}."
        )
    n = len(labels)
    s = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if s.shape != (n,) or not (np.isfinite(s) & (s >= 0)).all():
        raise ValueError("sample_weight must be a finite number for each row of X, not negative.")
    X, labels, s = X[s > 0], labels[s > 0], s[s > 0]
    classes = np.unique(labels)
    if len(classes) != 2:
        raise ValueError(
            f"y must have two classes; got {len(classes)}. Verify one class at a time."
        )
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise ValueError("y must be labels; got NaN or infinity.")
    if not np.isfinite(X).all():
        raise ValueError("X must be finite; got NaN or infinity.")
    sign = np.where(labels == classes[1], 1.0, -1.0)
    (n, m) = X.shape
    if certificate.dual.size != n:
        raise CertificateError(
            f"the dual point of the certificate is of {certificate.dual.size} samples; X has {n} "
            "of positive weight."
        )
    if certificate.groups is not None and certificate.groups.code.size != m:
        raise CertificateError(
            f"the groups of the certificate are of {certificate.groups.code.size} features; X has "
            f"{m}."
        )
    _check_range(certificate, m)
    # Powers of two, by which columns are divided and multiplied without rounding, keep squares in
    # range; and the second mean removes the error of the first.
    size = np.abs(X).max(axis=0)
    unit = np.ldexp(1.0, np.clip(np.frexp(size)[1], -1021, 1023))
    Z, share = X / unit, s / s.max()
    share /= share.sum()
    mean = share @ Z
    away = Z - mean
    rest = share @ away
    away -= rest
    std = np.sqrt(np.einsum("i,ij,ij->j", share, away, away))
    constant = std <= CONSTANT * np.abs(Z).max(axis=0)
    constant |= np.sqrt(np.einsum("i,ij,ij->j", share, Z, Z)) < LEAST_SIZE / unit
    scale = np.where(constant, np.inf, 1.0 / unit if certificate.scaling == "none" else std)
    centred = certificate.scaling == "standardized"
    moved = bool(certificate.fit_intercept) and not centred
    away /= scale  # in place, as X may fill the memory
    Z /= scale
    values, told = (away if centred or moved else Z), (away if centred else Z)
    # Of a score, a sum of n products, and of its entries, whose mean and deviation are such sums.
    error = ROUNDOFF * (4 * n + 8) * np.abs(values).max(axis=0)
    if constant[certificate.support].any():
        raise CertificateError(
            "the support of the certificate has constant columns of X, which are no features."
        )
    return _Data(
        values, sign, certificate.C * s, ~constant,
        (mean + rest) / scale if moved else np.zeros(m), error, told,
        certificate.loss, bool(certificate.fit_intercept),
    )  # fmt: skip


def _objective(data: _Data, certificate: Certificate) -> tuple[float, float]:
    """Return the objective at the coefficients, which must be optimal, and its rounding."""
    support, coef = certificate.support, certificate.coef
    columns = data.X[:, support]
    z = columns @ coef + (certificate.intercept + float(data.mean[support] @ coef))
    objective = float(0.5 * coef @ coef + data.value(z))
    if not objective >= LEAST_OBJECTIVE:
        raise CertificateError(
            f"the objective of the certificate must be above {LEAST_OBJECTIVE:g}; recomputed: "
            f"{objective!r}. Use larger weights or a larger C."
        )
    slopes = data.slopes(z)
    alpha = data.balanced(slopes) if data.intercept else slopes
    scores = columns.T @ (alpha * data.y)
    conjugate, terms = data.conjugate(alpha)
    least = float(-conjugate - 0.5 * scores @ scores)
    error = data.error[support] * float(alpha.sum())
    blurred = 0.5 * float(error @ (2.0 * np.abs(scores) + error))
    if not objective - least <= OPTIMAL * objective + blurred:
        raise CertificateError(
            f"the coefficients of the certificate are not optimal on its support: their objective "
            f"is {objective!r}, the optimum is only known to be above {least!r}."
        )
    parts = abs(certificate.intercept) + float(np.abs(data.mean[support]) @ np.abs(coef))
    wrong = float(data.error[support] @ np.abs(coef)) + ROUNDOFF * (coef.size + 4) * parts
    # The slope of the squared hinge changes with the margin, by the weight at most.
    wrong = wrong * (float(slopes.sum()) + 0.5 * float(data.weight.sum()) * wrong)
    return objective, wrong + blurred + ROUNDOFF * (z.size + 8) * (objective + terms)


# --------------------------------------------------------------------------- what a point proves


@dataclass(frozen=True, slots=True)
class _Node:
    """What a dual point shows of the models with all fixed units and some of the free ones."""

    bound: float
    rounding: float
    square: FloatArray  # of the free units
    top: np.ndarray  # the free units in the best set
    last: float  # the smallest square in it
    following: float  # the largest square outside of it

    def excluded(self, limit: float) -> np.ndarray:
        """Return which free units are in no model with an objective of at most a limit."""
        return ~self.top & (self.bound + 0.5 * (self.last - self.square) > limit)

    def needed(self, limit: float) -> np.ndarray:
        """Return which free units are in all models with an objective of at most a limit."""
        return self.top & (self.bound + 0.5 * (self.square - self.following) > limit)


class _Units:
    """What the budget counts: features, or groups of them."""

    def __init__(self, data: _Data, certificate: Certificate) -> None:
        m, groups = data.usable.size, certificate.groups
        self._data, self._grouped = data, groups is not None
        self.code = np.arange(m) if groups is None else groups.code
        self.budget = certificate.support.size
        if certificate.n_groups is not None:
            self.budget = int(certificate.n_groups)
        self.fixed: IndexArray = np.unique(self.code[certificate.forced])
        self.free: IndexArray = np.setdiff1d(self.code[data.usable], self.fixed)

    def node(self, alpha: FloatArray, fixed: IndexArray, free: IndexArray) -> _Node:
        """Return what a feasible dual point shows."""
        square, wrong = self._squares(alpha, np.concatenate([fixed, free]))
        into, square = float(square[: fixed.size].sum()), square[fixed.size :]
        q = min(self.budget - fixed.size, free.size)
        order = np.argsort(-square, kind="stable")
        top = np.isin(np.arange(free.size), order[:q])
        conjugate, terms = self._data.conjugate(alpha)
        bound = -conjugate - 0.5 * (into + float(square[order[:q]].sum()))
        most = np.sort(wrong[fixed.size :])[free.size - q :]
        rounding = 0.5 * float(wrong[: fixed.size].sum() + most.sum())
        rounding += ROUNDOFF * (alpha.size + 8) * terms
        last = float(square[order[q - 1]]) if q else np.inf
        following = float(square[order[q]]) if q < free.size else 0.0
        return _Node(bound, rounding, square, top, last, following)

    def _squares(self, alpha: FloatArray, units: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return c_j^2 of units, summed in groups, and what rounding can have changed of it."""
        data = self._data
        X, error = data.X, data.error
        if not self._grouped:
            X, error = X[:, units], error[units]
        score = X.T @ (alpha * data.y)
        error = error * float(alpha.sum())
        square, wrong = score**2, error * (2.0 * np.abs(score) + error)
        # A score that is no number may be any: its feature is in the best set then.
        square, wrong = (np.where(np.isnan(one), np.inf, one) for one in (square, wrong))
        if not self._grouped:
            return square, wrong
        sums = [np.bincount(self.code, values)[units] for values in (square, wrong)]
        return sums[0].astype(np.float64), sums[1].astype(np.float64)


def _check_decided(data: _Data, units: _Units, root: _Node, certificate: Certificate) -> None:
    """Raise CertificateError where fewer features are decided than a certificate says."""
    limit = certificate.objective + DECIDED * abs(certificate.objective)
    out, into = units.free[root.excluded(limit)], units.free[root.needed(limit)]
    left = int((data.usable & ~np.isin(units.code, out)).sum())
    fixed = int((data.usable & np.isin(units.code, np.append(units.fixed, into))).sum())
    claimed = certificate.candidates, certificate.fixed_in
    if not (left <= claimed[0] <= data.usable.size and claimed[1] <= fixed):
        raise CertificateError(
            f"the certificate claims {claimed[0]} candidates and {claimed[1]} features fixed in; "
            f"its dual point leaves {left} of {data.usable.size} features and fixes {fixed}."
        )


def _check_equivalents(data: _Data, certificate: Certificate) -> None:
    """Raise CertificateError where columns that are called equal up to the sign are not."""
    support, m = certificate.support, data.usable.size
    for feature, others in certificate.equivalents.items():
        sound = _is_count(feature) and feature in support
        sound = sound and others.ndim == 1 and others.size > 0 and others.dtype.kind in "iu"
        sound = sound and bool(((others >= 0) & (others < m)).all())
        sound = sound and np.unique(others).size == others.size
        sound = sound and not np.isin(others, support).any()
        if sound:
            own, columns = data.told[:, [feature]], data.told[:, others]
            limit = EQUAL * np.abs(own) + EQUAL_TO_LARGEST * np.abs(own).max()
            same = (np.abs(columns - own) <= limit).all(axis=0)
            opposite = (np.abs(columns + own) <= limit).all(axis=0)
            sound = bool((same | opposite).all())
        if not sound:
            raise CertificateError(
                f"the certificate claims equivalents of feature {feature!r:.20}, which must be "
                "other features with the same column up to the sign."
            )


# -------------------------------------------------------------------------------------- the tree


def _replay(data: _Data, tree: Tree, units: _Units, claim: float) -> tuple[float, int]:
    """Return the rounding and the number of nodes below the root.

    Raises CertificateError where a model may be below the claim.
    """
    children: dict[int, list[int]] = {}
    for number, parent in enumerate(tree.parent.tolist()):
        children.setdefault(parent, []).append(number)
    rounding, n_nodes, n_waiting = 0.0, -1, 0
    waiting = [(0, units.fixed, units.free, np.empty(0))]
    while waiting:
        number, fixed, free, alpha = waiting.pop()
        n_nodes, n_waiting = n_nodes + 1, n_waiting - free.size
        if tree.row[number] >= 0:
            alpha = data.feasible(tree.dual[tree.row[number]])
        node = units.node(alpha, fixed, free)
        rounding = max(rounding, node.rounding)
        if node.bound >= claim:
            continue
        below = children.get(number, [])
        if not below:
            raise CertificateError(
                f"the certificate claims the bound {claim!r}; node {number} of its tree shows only "
                f"{node.bound!r}."
            )
        into, out = node.needed(claim), node.excluded(claim)
        fixed, free = np.append(fixed, free[into]), free[~into & ~out]
        if fixed.size > units.budget:
            continue  # no model has them all
        if fixed.size == units.budget:
            free = free[:0]
        branch = tree.feature[below]
        whole = branch.size == 1 and branch[0] == -1
        halves = branch.size == 2 and branch[0] == branch[1] and tree.inside[below].sum() == 1
        if not whole and not halves:
            raise CertificateError(f"node {number} of the tree is divided with a rest.")
        n_before = len(waiting)
        for child in below:
            feature, inside = tree.feature[child], tree.inside[child]
            if whole or (inside and feature in fixed):
                waiting.append((child, fixed, free, alpha))
            elif inside and feature in free:
                waiting.append((child, np.append(fixed, feature), free[free != feature], alpha))
            elif not inside and feature not in fixed:
                waiting.append((child, fixed, free[free != feature], alpha))
        n_waiting += sum(left[2].size for left in waiting[n_before:])
        if n_waiting > MOST_WAITING:
            raise CertificateError("the tree of the certificate is too deep to be replayed.")
    return rounding, n_nodes


__all__ = ["CertificateError", "check_form", "verify"]
