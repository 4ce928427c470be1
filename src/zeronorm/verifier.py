"""The verifier: recomputes all that a certificate says, from the data, in plain NumPy.

It shares no code with the solvers and takes nothing on trust: what it proves, with its rounding, is
a theorem in docs/theory/certificate.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._typing import FloatArray, IndexArray
from .groups import Groups
from .result import Certificate, Tree

LOSSES = ("logistic", "squared_hinge")
SCALINGS = ("standardized", "scaled", "none")
# Relative, as all differences below: of std to the largest entry of a column, of the sums of a dual
# point over both classes, of the objective to the optimum on the support, of equal columns.
CONSTANT, BALANCED, OPTIMAL, EQUAL = 1e-12, 1e-9, 1e-6, 1e-8
# A feature is decided by a bound above the objective by that; solvers ask for twice as much.
DECIDED = 1e-9


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
        what is claimed, from 0 to 1e-3. More is needed only for columns whose means are more than
        1e6 standard deviations from 0, which rounding blurs.

    Returns
    -------
    The recomputed "objective", "bound" and "gap", and "rounding", an upper bound of what the
    rounding of this recomputation can have added to the bound.

    Raises
    ------
    CertificateError
        Where the certificate claims more than can be recomputed, contradicts itself, or is none.
        It is a ValueError.
    ValueError
        Where X, y, the weights or rtol are not what they must be.
    """
    check_form(certificate)
    data = _read(X, y, sample_weight, certificate)
    if not 0 <= rtol <= 1e-3:
        raise ValueError(f"rtol must be between 0 and 1e-3; got {rtol!r}.")
    with np.errstate(all="ignore"):  # what overflows or is no number fails every comparison below
        return _verify(data, certificate, rtol)


def _verify(data: _Data, certificate: Certificate, rtol: float) -> dict[str, float]:
    objective = _objective(data, certificate)
    if not abs(objective - certificate.objective) <= rtol * abs(certificate.objective):
        raise CertificateError(
            f"the certificate claims the objective {certificate.objective!r}; recomputed: "
            f"{objective!r}."
        )
    units = _Units(data, certificate)
    root = units.node(data.feasible(certificate.dual), units.fixed, units.free)
    bound, rounding = root.bound, root.rounding
    claim = certificate.bound - rtol * abs(certificate.bound)
    if certificate.tree is not None:
        rounding = _replay(data, certificate.tree, units, claim)
        bound = min(certificate.bound, objective)
    if not bound >= claim:
        raise CertificateError(
            f"the certificate claims the bound {certificate.bound!r}; its dual point shows only "
            f"{bound!r}."
        )
    _check_decided(data, units, root, certificate)
    _check_equivalents(data, certificate)
    gap = max(0.0, objective - bound) / max(objective, 1e-300)
    return {"objective": objective, "bound": bound, "gap": gap, "rounding": float(rounding)}


# ------------------------------------------------------------------------------------- the form


def check_form(certificate: Certificate) -> None:
    """Raise CertificateError where a certificate contradicts itself, whatever the data are."""
    for name, known in (("loss", LOSSES), ("scaling", SCALINGS)):
        value = getattr(certificate, name)
        if not (isinstance(value, str) and value in known):
            raise CertificateError(
                f"the {name} of the certificate must be {' or '.join(map(repr, known))}; "
                f"got {value!r:.60}."
            )
    if not isinstance(certificate.fit_intercept, bool | np.bool_):
        raise CertificateError("fit_intercept of the certificate must be True or False.")
    for name in ("C", "intercept", "objective", "bound"):
        value = getattr(certificate, name)
        if not _is_finite(value):
            raise CertificateError(
                f"{name} of the certificate must be a finite number; got {value!r:.60}."
            )
    if not certificate.C > 0:
        raise CertificateError(f"C of the certificate must be positive; got {certificate.C!r}.")
    if not certificate.fit_intercept and certificate.intercept != 0:
        raise CertificateError("the certificate has an intercept in a problem without one.")
    k = _indices("support", certificate.support).size
    forced = _indices("forced", certificate.forced)
    if not k:
        raise CertificateError("the support of the certificate has no features.")
    if not np.isin(forced, certificate.support).all():
        raise CertificateError("the certificate has forced features outside of its support.")
    _finite("coef", certificate.coef, (k,))
    _finite("dual", certificate.dual, (None,))
    for name in ("fixed_in", "candidates"):
        value = getattr(certificate, name)
        if not _is_count(value):
            raise CertificateError(
                f"{name} of the certificate must be a number of features; got {value!r:.60}."
            )
    if (certificate.groups is None) != (certificate.n_groups is None):
        raise CertificateError("the certificate has groups without their number, or the reverse.")
    if certificate.groups is not None:
        _check_groups(certificate, certificate.groups)
    if certificate.tree is not None:
        _check_tree(certificate.tree, np.asarray(certificate.dual).size)


def _is_finite(value: Any) -> bool:
    known = isinstance(value, int | float | np.floating) and type(value) is not bool
    return bool(known and abs(value) < np.inf)


def _is_count(value: Any) -> bool:
    return bool(isinstance(value, int | np.integer) and type(value) is not bool and value >= 0)


def _indices(name: str, values: Any) -> IndexArray:
    """Return features that must be sorted and distinct."""
    found = np.asarray(values)
    right = found.ndim == 1 and (found.dtype.kind in "iu" or not found.size)
    if not (right and (found >= 0).all() and (found[1:] > found[:-1]).all()):
        raise CertificateError(
            f"{name} of the certificate must be indices of features, sorted, each once."
        )
    return found


def _finite(name: str, values: Any, shape: tuple[int | None, ...]) -> None:
    found = np.asarray(values)
    right = found.ndim == len(shape) and found.dtype.kind in "iuf"
    right = right and all(
        want is None or want == got for want, got in zip(shape, found.shape, strict=True)
    )
    if not (right and np.isfinite(found).all()):
        wanted = tuple("any" if size is None else size for size in shape)
        raise CertificateError(
            f"{name} of the certificate must be finite numbers of shape {wanted}; got shape "
            f"{found.shape} or some that are not finite."
        )


def _check_groups(certificate: Certificate, groups: Groups) -> None:
    code, budget = np.asarray(groups.code), certificate.n_groups
    if budget is None or not _is_count(budget):
        raise CertificateError(f"n_groups must be a number of groups; got {budget!r:.60}.")
    if certificate.tree is not None:
        raise CertificateError("the certificate has a tree; there is none for groups.")
    if code.ndim != 1 or code.dtype.kind != "i" or (code < 0).any() or (code >= len(groups)).any():
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
    parent, feature, row = (np.asarray(v) for v in (tree.parent, tree.feature, tree.row))
    inside, dual = np.asarray(tree.inside), np.asarray(tree.dual)
    size = parent.size
    right = all(a.shape == (size,) and a.dtype.kind == "i" for a in (parent, feature, row))
    if not (size and right and inside.shape == (size,) and inside.dtype == bool):
        raise CertificateError(
            "the tree of the certificate must have parent, feature, row (integers) and inside "
            "(booleans) for every node."
        )
    _finite("tree.dual", dual, (None, n))
    if parent[0] != -1 or (parent[1:] < 0).any() or (parent[1:] >= np.arange(1, size)).any():
        raise CertificateError("parent must be numbers of earlier nodes, -1 of the first alone.")
    if (row < -1).any() or (row >= len(dual)).any() or row[0] < 0:
        raise CertificateError("row must be rows of tree.dual, or -1 (not of the first node).")
    if (feature < -1).any():
        raise CertificateError("feature must be indices of features, or -1.")


# ------------------------------------------------------------------------------------- the data


@dataclass(frozen=True, slots=True)
class _Data:
    """The data of a certificate, rows of positive weight, on its selection scaling."""

    X: FloatArray  # (n, m); columns that are constant are 0
    y: FloatArray  # (n,) +-1
    weight: FloatArray  # (n,) C s_i
    usable: np.ndarray  # (m,) columns that are not constant
    error: FloatArray  # (m,) rounding of a score, relative to the sum of the dual point
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
            alpha = self.balanced(alpha)
        if not sound:
            raise CertificateError("the dual point of the certificate is not feasible.")
        return alpha

    def balanced(self, alpha: FloatArray) -> FloatArray:
        """Return alpha with the class of the larger sum shrunk to that of the other."""
        up, down = float(alpha[self.y > 0].sum()), float(alpha[self.y < 0].sum())
        if up == down:
            return alpha
        heavier = self.y > 0 if up > down else self.y < 0
        return np.asarray(np.where(heavier, alpha * (min(up, down) / max(up, down)), alpha))

    def conjugate(self, alpha: FloatArray) -> tuple[float, float]:
        """Return the conjugate of the loss at a feasible point, and the sum of |its terms|."""
        share = alpha / self.weight
        if self.loss == "squared_hinge":
            return float(alpha @ (0.5 * share - 1.0)), float(alpha @ (0.5 * share + 1.0))
        positive = np.clip(share, 1e-300, None)
        rest = np.clip(1.0 - share, 1e-300, None)
        log_rest = np.where(share < 0.5, np.log1p(-np.minimum(share, 0.5)), np.log(rest))
        terms = self.weight * (share * np.log(positive) + rest * log_rest)
        return float(terms.sum()), -float(terms.sum())  # no term is positive

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
    if not np.isfinite(X).all():
        raise ValueError("X must be finite; got NaN or infinity.")
    sign = np.where(labels == classes[1], 1.0, -1.0)
    (n, m) = X.shape
    if np.size(certificate.dual) != n:
        raise CertificateError(
            f"the dual point of the certificate is of {np.size(certificate.dual)} samples; X has "
            f"{n} of positive weight."
        )
    if certificate.groups is not None and len(certificate.groups.code) != m:
        raise CertificateError(
            f"the groups of the certificate are of {len(certificate.groups.code)} features; X has "
            f"{m}."
        )
    _check_range(certificate, m)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = s @ X / s.sum()
        std = np.sqrt(s @ (X - mean) ** 2 / s.sum())
        size = np.abs(X).max(axis=0)
        usable = ~(std <= CONSTANT * size)
        scale = np.where(usable, std, np.inf) if certificate.scaling != "none" else np.ones(m)
        if certificate.scaling == "standardized":
            X = X - mean
        X = np.where(usable, X / scale, 0.0)
        # Of n products, and of a centred and scaled entry: gamma_n (|x| + offset in deviations).
        error = n * np.finfo(float).eps * (np.abs(X).max(axis=0) + 2.0) * (size / scale + 2.0)
    if not usable[certificate.support].all():
        raise CertificateError(
            "the support of the certificate has constant columns of X, which are no features."
        )
    return _Data(
        X, sign, certificate.C * s, usable, error, certificate.loss, bool(certificate.fit_intercept)
    )  # fmt: skip


def _objective(data: _Data, certificate: Certificate) -> float:
    """Return the objective at the coefficients, which must be optimal on the support."""
    coef = np.asarray(certificate.coef)
    columns = data.X[:, certificate.support]
    z = columns @ coef + certificate.intercept
    objective = float(0.5 * coef @ coef + data.value(z))
    alpha = data.slopes(z)
    alpha = data.balanced(alpha) if data.intercept else alpha
    scores = columns.T @ (alpha * data.y)
    least = float(-data.conjugate(alpha)[0] - 0.5 * scores @ scores)
    if not objective - least <= OPTIMAL * abs(objective):
        raise CertificateError(
            f"the coefficients of the certificate are not optimal on its support: their objective "
            f"is {objective!r}, the optimum is only known to be above {least!r}."
        )
    return objective


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
        self.code = np.arange(m) if groups is None else np.asarray(groups.code)
        self.budget = np.size(certificate.support)
        if certificate.n_groups is not None:
            self.budget = int(certificate.n_groups)
        self.fixed: IndexArray = np.unique(self.code[np.asarray(certificate.forced, np.int64)])
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
        rounding += (alpha.size + 8) * np.finfo(float).eps * terms
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
    support, m = np.asarray(certificate.support), data.usable.size
    for feature, listed in certificate.equivalents.items():
        others = np.asarray(listed)
        sound = _is_count(feature) and feature in support
        sound = sound and others.ndim == 1 and others.size > 0 and others.dtype.kind in "iu"
        sound = sound and bool(((others >= 0) & (others < m)).all())
        sound = sound and np.unique(others).size == others.size
        sound = sound and not np.isin(others, support).any()
        if sound:
            own = data.X[:, [feature]]
            away = np.minimum(
                np.abs(data.X[:, others] - own).max(axis=0),
                np.abs(data.X[:, others] + own).max(axis=0),
            )
            sound = bool((away <= EQUAL * np.abs(own).max()).all())
        if not sound:
            raise CertificateError(
                f"the certificate claims equivalents of feature {feature!r:.20}, which must be "
                "other features with the same column up to the sign."
            )


# -------------------------------------------------------------------------------------- the tree


def _replay(data: _Data, tree: Tree, units: _Units, claim: float) -> float:
    """Return the rounding; raise CertificateError where a model may be below the claim."""
    children: dict[int, list[int]] = {}
    for number, parent in enumerate(tree.parent.tolist()):
        children.setdefault(parent, []).append(number)
    rounding = 0.0
    waiting = [(0, units.fixed, units.free, np.empty(0))]
    while waiting:
        number, fixed, free, alpha = waiting.pop()
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
        for child in below:
            feature, inside = tree.feature[child], tree.inside[child]
            if whole or (inside and feature in fixed):
                waiting.append((child, fixed, free, alpha))
            elif inside and feature in free:
                waiting.append((child, np.append(fixed, feature), free[free != feature], alpha))
            elif not inside and feature not in fixed:
                waiting.append((child, fixed, free[free != feature], alpha))
    return rounding


__all__ = ["CertificateError", "check_form", "verify"]
