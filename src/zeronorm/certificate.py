"""How far a support can be from the best one of its size: bounds, proofs, verification.

`certify` bounds the l0 problem that `zeronorm.result.Certificate` states from below, for a support
found by anyone. `prove` goes on by branch and bound until a wanted gap is certain, or until no
better support exists. `verify` recomputes all that from the data, in plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from . import _validate
from ._typing import FloatArray, IndexArray
from .estimators import L0LogisticRegression
from .estimators._base import BudgetedClassifier
from .groups import Groups
from .result import Certificate, Progressed, Proof, Tree
from .solvers import Task, run_together
from .solvers._blas import one_blas_thread
from .solvers._certify_groups import tighten_groups
from .solvers._prove import prove_support


class CertificateError(ValueError):
    """A certificate claims more than its data show; the message says what."""


def certify(
    model: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    C: float | None = None,
    fit_intercept: bool | None = None,
    standardize: bool | None = None,
    n_threads: int | None = None,
) -> Certificate | list[Certificate]:
    """Return how far the support of a model can be from the best one of its size.

        objective = min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b)   on the support
        bound    <= the same of every support of k features

    The bound is that of the convex relaxation (the minimax model with r = k), solved to 1e-4 by
    scans of X; the scores of the last one rule out most features. `prove` goes further. Of a model
    of g groups of features the bound is that of all supports of g groups.

    Parameters
    ----------
    model : a fitted classifier of this package or of scikit-learn's kind (with `coef_`, or
        `get_support()`), or the support itself: indices of features, or a mask of all.
    X, y, sample_weight : the data, as for `fit`; X may be anything that `fit` takes.
    groups : of the columns, as for `MinimaxLogisticRegression`: the support is then certified as
        one of so many groups as it has features of. None: as in the model.
    C, fit_intercept, standardize : the problem. None: as in the model, if it is one of this
        package with a budget (then its class weights, forced features and loss count too), else
        C = 0.1, with intercept, on standardised columns.
    n_threads : threads of the scans, None for all.

    Returns
    -------
    A `Certificate`; a list of them, one for each class against the rest, for several classes.

    Raises
    ------
    ValueError
        Where there is no support, or it does not fit the data; as `fit` otherwise.

    Examples
    --------
    >>> import zeronorm
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = zeronorm.BudgetClassifier(n_features=8).fit(X, y)
    >>> zeronorm.certify(model, X, y).gap < model.optimality_gap_
    True
    """
    posed = _pose(model, X, y, sample_weight, C, fit_intercept, standardize, n_threads, groups)
    if posed[0].task.groups is None:
        proofs = _run(posed, n_threads, gap=None, time_limit=np.inf)
        certificates = [proof.certificate for proof in proofs]
    else:
        certificates = _run_groups(posed, n_threads)
    return certificates[0] if len(certificates) == 1 else certificates


def prove(
    model: Any,
    X: Any,
    y: Any,
    *,
    gap: float = 0.01,
    time_limit: float = 60.0,
    max_nodes: int | None = None,
    resume: Proof | Sequence[Proof] | None = None,
    callback: Callable[[Progressed], None] | None = None,
    sample_weight: Any = None,
    C: float | None = None,
    fit_intercept: bool | None = None,
    standardize: bool | None = None,
    n_threads: int | None = None,
) -> Proof | list[Proof]:
    """Prove by branch and bound that no support of this size is better, up to a relative gap.

    First the bound of `certify` rules out features; then a tree over those that are left is
    searched, in memory. A better support that turns up on the way takes the place of the model's.
    Ctrl-C stops the search and returns what is proven so far.

    Parameters
    ----------
    model, X, y, sample_weight, C, fit_intercept, standardize, n_threads
        As in `certify`.
    gap : the wanted (objective - bound) / objective; 0 for a proof that no better support exists.
    time_limit : seconds, for each class.
    max_nodes : nodes of the tree; by default as many as 1 GiB of their dual points.
    resume : what an earlier call returned for the same data: the search goes on from there.
    callback : called about twice a second with a `Progressed`: seconds, nodes, objective, bound.

    Returns
    -------
    A `Proof`, with the certificate of the best support, why the search ended, and its course; a
    list of them, one for each class against the rest, for several classes.

    Raises
    ------
    ValueError
        As `certify`; where the model selects groups, or `resume` is of another problem.

    Examples
    --------
    >>> import zeronorm
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = zeronorm.BudgetClassifier(n_features=5).fit(X, y)
    >>> proof = zeronorm.prove(model, X, y, gap=0)
    >>> proof.status.name, proof.improved
    ('OPTIMAL', True)
    """
    _validate.check_not_negative("gap", gap)
    _validate.check_positive("time_limit", time_limit)
    _validate.check_count("max_nodes", max_nodes)
    posed = _pose(model, X, y, sample_weight, C, fit_intercept, standardize, n_threads)
    if posed[0].task.groups is not None:
        raise ValueError(
            "prove searches for the best features, one by one; got a model of groups of features. "
            "Use certify, which bounds all models of so many groups."
        )
    trees: list[Tree | None] = [None] * len(posed)
    if resume is not None:
        earlier = [resume] if isinstance(resume, Proof) else list(resume)
        posed, trees = _resumed(posed, earlier)
    proofs = _run(
        posed, n_threads, trees, gap=float(gap), time_limit=float(time_limit), max_nodes=max_nodes,
        report=callback,
    )  # fmt: skip
    return proofs[0] if len(proofs) == 1 else proofs


@dataclass(frozen=True, slots=True)
class _Posed:
    """One binary problem with the support in question."""

    task: Task
    support: IndexArray
    C: float
    dual: FloatArray | None = None  # a dual point to begin with: that of an earlier certificate


@one_blas_thread
def _run(
    posed: Sequence[_Posed],
    n_threads: int | None,
    trees: Sequence[Tree | None] | None = None,
    **options: Any,
) -> list[Proof]:
    return run_together(
        [
            prove_support(one.task, one.support, C=one.C, dual=one.dual, resume=tree, **options)
            for one, tree in zip(posed, trees or [None] * len(posed), strict=True)
        ],
        n_threads=n_threads,
    )


@one_blas_thread
def _run_groups(posed: Sequence[_Posed], n_threads: int | None) -> list[Certificate]:
    return run_together(
        [tighten_groups(one.task, one.support, C=one.C, dual=one.dual) for one in posed],
        n_threads=n_threads,
    )


def _pose(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    C: float | None,
    fit_intercept: bool | None,
    standardize: bool | None,
    n_threads: int | None,
    groups: Any = None,
) -> list[_Posed]:
    """Return the binary problems of a model, on its selection scaling."""
    supports = _supports(model)
    options = {"C": C, "fit_intercept": fit_intercept, "standardize": standardize}
    chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    chosen |= {"n_features": int(supports[0].size), "n_threads": n_threads}
    if isinstance(model, BudgetedClassifier):
        if model.groups is not None:
            del chosen["n_features"]
            chosen["n_groups"] = model._size
        if model.criterion is not None:
            chosen["criterion"] = None  # the size is chosen
        poser = clone(model).set_params(**chosen)
    else:
        poser = L0LogisticRegression(**chosen)
    data = poser._read(X, y, sample_weight)
    m = data.design.shape[1]
    for support in supports:
        if support[-1] >= m:
            raise ValueError(
                f"the support of the model has feature {int(support[-1])}, but X has {m} columns. "
                "Pass the X that the model was fitted on."
            )
    problem = poser._pose(data)
    for support in supports:
        unusable = support[~problem.usable[support]]
        if unusable.size:
            raise ValueError(
                f"the support has constant columns of X, {unusable[:5].tolist()}: constant columns "
                "are no features. Drop them from the support."
            )
        if not np.isin(problem.forced, support).all():
            raise ValueError("the support lacks forced features of the model.")
    if groups is not None:
        problem = replace(problem, groups=Groups.of(groups, m, data.names))
    tasks = problem.tasks(bool(poser.fit_intercept))
    if len(tasks) != len(supports):
        raise ValueError(
            f"the model has {len(supports)} supports, but y has {len(problem.classes)} classes. "
            "Pass the y that the model was fitted on, or one support and a y of two classes."
        )
    posed = [
        _Posed(task, support, float(poser.C)) for task, support in zip(tasks, supports, strict=True)
    ]
    if not isinstance(model, BudgetedClassifier):
        return posed
    known = [path[model._size].certificate for path in model.estimators_]
    return [
        one if own is None or not _is_of(one, own) else replace(one, dual=own.dual)
        for one, own in zip(posed, known, strict=True)
    ]


def _supports(model: Any) -> list[IndexArray]:
    """Return the sorted support of every binary problem of a model."""
    if hasattr(model, "fit"):
        check_is_fitted(model)
    if isinstance(model, BudgetedClassifier):
        return [path[model._size].support for path in model.estimators_]
    if hasattr(model, "coef_"):
        coef = np.atleast_2d(_dense(model.coef_))
        found = [np.flatnonzero(row) for row in coef]
    elif hasattr(model, "get_support"):
        found = [np.flatnonzero(model.get_support())]
    else:
        found = [_indices(model)]
    for support in found:
        if not support.size:
            raise ValueError(
                "model has no feature with a coefficient: there is nothing to certify."
            )
    return [np.asarray(support, dtype=np.int64) for support in found]


def _dense(coef: Any) -> np.ndarray:
    return np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef)


def _indices(model: Any) -> np.ndarray:
    """Return the support that was passed in place of a model."""
    rule = (
        "model must be a fitted classifier with coef_ or get_support(), the indices of the "
        "features, or a mask of all of them"
    )
    try:
        given = np.asarray(model)
    except (TypeError, ValueError):
        given = np.empty(0, object)
    if given.dtype == bool and given.ndim == 1:
        return np.flatnonzero(given)
    if given.shape == (0,) and given.dtype != object:
        return np.empty(0, np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given < 0).any():
        raise ValueError(f"{rule}; got {model!r:.80}.")
    if np.unique(given).size < given.size:
        raise ValueError(f"{rule}; got an index twice.")
    return np.sort(given)


def _resumed(
    posed: Sequence[_Posed], earlier: Sequence[Proof]
) -> tuple[list[_Posed], list[Tree | None]]:
    """Return the problems with the supports of earlier proofs, and their trees."""
    if len(earlier) != len(posed):
        raise ValueError(
            f"resume must have a proof for each problem, {len(posed)}; got {len(earlier)}."
        )
    resumed: list[_Posed] = []
    trees: list[Tree | None] = []
    for one, proof in zip(posed, earlier, strict=True):
        certificate = proof.certificate
        if certificate.support.size != one.support.size or not _is_of(one, certificate):
            raise ValueError(
                "resume is a proof of another problem (size, C, scaling, loss, intercept, X, y or "
                "weights differ). Pass the model and the data of the earlier call."
            )
        resumed.append(replace(one, support=certificate.support, dual=certificate.dual))
        trees.append(certificate.tree)
    return resumed, trees


def _is_of(posed: _Posed, certificate: Certificate) -> bool:
    """Return whether a certificate is of a problem, and its model has the same objective there.

    Dual points of other labels would not be feasible, and their bounds false.
    """
    task, support = posed.task, certificate.support
    same = (
        certificate.C == posed.C
        and certificate.dual.size == task.y.size
        and certificate.scaling == task.scaling
        and certificate.loss == task.loss.name
        and certificate.fit_intercept == task.intercept
        and support[-1] < task.design.shape[1]
    )
    if not same:
        return False
    z = np.asarray(task.design.gather(support) @ certificate.coef) + certificate.intercept
    loss, _ = task.loss.value_gradient(z, task.y, posed.C * task.sample_weight)
    objective = loss + 0.5 * certificate.coef @ certificate.coef
    return bool(abs(objective - certificate.objective) <= 1e-6 * abs(certificate.objective))


def verify(
    X: Any,
    y: Any,
    certificate: Certificate,
    *,
    sample_weight: FloatArray | None = None,
    rtol: float = 1e-6,
) -> dict[str, float]:
    """Recompute a certificate from scratch in plain NumPy, sharing no code with the solvers.

    A tree is replayed: the dual point of a node bounds its models, rules out and fixes features as
    it did in the search; every node must be bounded well enough or be divided without a rest.

    Parameters
    ----------
    X : (n, m) array, dense, the user's matrix.
    y : (n,) labels of two classes; the larger one (the second of `classes_`) counts as +1.
    certificate : what to check; loss, intercept, forced features and groups are those that it
        names.
    sample_weight : (n,) the weights of the fit, times those of the classes.
    rtol : difference that counts as rounding, relative to the objective.

    Returns
    -------
    The recomputed objective, bound and gap.

    Raises
    ------
    CertificateError
        Where the dual point is not feasible or the certificate claims more than can be recomputed.
        It is a ValueError.
    ValueError
        Where the loss is unknown or y has not two classes.
    """
    loss, forced = certificate.loss, certificate.forced
    if loss not in ("logistic", "squared_hinge"):
        raise ValueError(
            f"the loss of the certificate must be 'logistic' or 'squared_hinge'; got {loss!r}."
        )
    X = np.asarray(X, dtype=np.float64)
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(
            f"y must have two classes; got {len(classes)}. Verify one class at a time."
        )
    y = np.where(np.asarray(y) == classes[1], 1.0, -1.0)
    s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    X, y, s = X[s > 0], y[s > 0], s[s > 0]
    alpha, weight = certificate.dual, certificate.C * s
    mean = s @ X / s.sum()
    std = np.sqrt(s @ (X - mean) ** 2 / s.sum())
    constant = std <= 1e-12 * np.abs(X).max(axis=0)
    if certificate.scaling != "none":
        centre = mean if certificate.scaling == "standardized" else 0.0
        X = (X - centre) / np.where(constant, np.inf, std)
    X = np.where(constant, 0.0, X)  # constant columns are no features
    z = X[:, certificate.support] @ certificate.coef + certificate.intercept
    if loss == "logistic":
        values = np.logaddexp(0.0, -y * z)
    else:
        values = 0.5 * np.maximum(0.0, 1.0 - y * z) ** 2
    conjugate = _conjugate(certificate, alpha, y, weight)
    if not certificate.fit_intercept and certificate.intercept != 0:
        raise CertificateError("the certificate has an intercept in a problem without one.")
    if not np.isin(forced, certificate.support).all():
        raise CertificateError("the certificate has forced features outside of its support.")
    largest = _largest_sum((X.T @ (alpha * y)) ** 2, certificate)
    objective = float(0.5 * certificate.coef @ certificate.coef + weight @ values)
    bound = float(-conjugate - 0.5 * largest)
    slack = rtol * max(1e-12, abs(objective))
    if certificate.tree is not None:
        usable = np.flatnonzero(~constant)
        _replay(X, y, weight, certificate, usable, certificate.bound - slack)
        bound = certificate.bound
    if certificate.objective < objective - slack or certificate.bound > bound + slack:
        raise CertificateError(
            f"the certificate claims objective {certificate.objective!r} and bound "
            f"{certificate.bound!r}; recomputed: {objective!r} and {bound!r}."
        )
    return {"objective": objective, "bound": bound, "gap": (objective - bound) / abs(objective)}


def _largest_sum(square: FloatArray, certificate: Certificate) -> float:
    """Return the largest sum over a set of features that the budget of a certificate admits."""
    forced, budget = certificate.forced, len(certificate.support)
    if certificate.groups is not None and certificate.n_groups is not None:
        if certificate.tree is not None:
            raise CertificateError("the certificate has a tree; there is none for groups.")
        code, budget = certificate.groups.code, certificate.n_groups
        if len(code) != len(square):
            raise CertificateError(
                f"the groups of the certificate are of {len(code)} features; X has {len(square)}."
            )
        if len(np.unique(code[certificate.support])) > budget:
            raise CertificateError(
                f"the support of the certificate has features of more than {budget} groups."
            )
        square = np.asarray(np.bincount(code, square), np.float64)
        forced = np.unique(code[forced])
    elif certificate.groups is not None or certificate.n_groups is not None:
        raise CertificateError("the certificate has groups without their number, or the reverse.")
    free = np.sort(np.delete(square, forced))[::-1][: budget - len(forced)]
    return float(square[forced].sum() + free.sum())


def _conjugate(
    certificate: Certificate, alpha: FloatArray, y: FloatArray, weight: FloatArray
) -> float:
    """Return the conjugate of the loss at a dual point, which must be feasible."""
    feasible = bool(np.all(alpha >= 0))
    if certificate.loss == "logistic":
        feasible = feasible and bool(np.all(alpha <= weight))
    if not feasible or (certificate.fit_intercept and abs(alpha @ y) > 1e-9 * alpha.sum()):
        raise CertificateError("the dual point of the certificate is not feasible.")
    if certificate.loss == "squared_hinge":
        return float(np.sum(alpha**2 / (2.0 * weight) - alpha))
    share = np.clip(alpha / weight, 1e-300, 1.0)
    rest = np.clip(1.0 - share, 1e-300, 1.0)
    return float(weight @ (share * np.log(share) + rest * np.log(rest)))


def _replay(
    X: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    certificate: Certificate,
    usable: IndexArray,
    claim: float,
) -> None:
    """Raise CertificateError where a tree does not prove that no model is below the claim.

    X : (n, m) on the selection scaling.
    usable : the features of X.
    """
    tree = certificate.tree
    assert tree is not None
    k = certificate.support.size
    children: dict[int, list[int]] = {}
    for number, parent in enumerate(tree.parent.tolist()):
        children.setdefault(parent, []).append(number)
    forced = certificate.forced
    waiting = [(0, forced, np.setdiff1d(usable, forced), tree.dual[tree.row[0]])]
    while waiting:
        number, fixed, free, alpha = waiting.pop()
        if tree.row[number] >= 0:
            alpha = tree.dual[tree.row[number]]
        into = (X[:, fixed].T @ (alpha * y)) ** 2
        square = (X[:, free].T @ (alpha * y)) ** 2
        q = min(k - fixed.size, free.size)
        order = np.argsort(-square, kind="stable")
        top = square[order[:q]]
        bound = -_conjugate(certificate, alpha, y, weight) - 0.5 * (into.sum() + top.sum())
        below = children.get(number, [])
        if bound >= claim or not below:
            if bound < claim:
                raise CertificateError(
                    f"the certificate claims the bound {certificate.bound!r}; node {number} of its "
                    f"tree shows only {float(bound)!r}."
                )
            continue
        # With a feature outside the top forced in, or one inside forced out, the bound rises.
        last = top[-1] if q else np.inf
        following = square[order[q]] if q < free.size else 0.0
        is_top = np.isin(np.arange(free.size), order[:q])
        dropped = ~is_top & (bound + 0.5 * (last - square) > claim)
        needed = is_top & (bound + 0.5 * (square - following) > claim)
        fixed = np.append(fixed, free[needed])
        free = free[~dropped & ~needed]
        if fixed.size > k:
            continue
        if fixed.size == k:
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


__all__ = ["CertificateError", "certify", "prove", "verify"]
