"""How far a support can be from the best one of its size: bounds and proofs.

`certify` bounds the l0 problem that `core.results.Certificate` states from below, for a support
found by anyone. `prove` goes on by branch and bound until a wanted gap is certain, or until no
better support exists. `zeronorm.verification` recomputes all that from the data, in plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core import validation as validate
from ..core.parallel import one_blas_thread
from ..core.results import Certificate, Progressed, Proof, Tree
from ..solvers import run_together
from ..solvers.certify.groups import tighten_groups
from ..solvers.certify.prove import Goal, prove_support
from .problems import Posed, is_of, pose


def certify(
    model: Any,
    X: Any,
    y: Any,
    *,
    problem: Any = None,
    feature_groups: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
    C: float | None = None,
    fit_intercept: bool | None = None,
    standardize: bool | None = None,
    max_abs_coef: float | None = None,
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
    X, y, sample_weight, offset : the data, as for `fit`; X may be anything that `fit` takes.
    problem : an estimator with a budget, which need not be fitted, whose parameters say what the
        support is certified for: its loss, C, class weights, covariates, forced features. None: as
        in the model, if it is one of this package with a budget, else classes, or survival times.
    feature_groups : of the columns, as for `BudgetClassifier`: the support is then certified as
        one of so many groups as it has features of. None: as in the model.
    C, fit_intercept, standardize : the problem. None: as in `problem`, else as in the model, if it
        is one of this package with a budget (then its class weights, forced features and loss count
        too), else C = 0.1, with intercept, on standardised columns.
    max_abs_coef : bound only models whose coefficients are at most so large, on the scaling of the
        problem (those of standardised columns by default). What is said then is that no such model
        has an objective below the bound, and a tighter one where C is large: a bound of models
        with any coefficients grows weak with the ridge. It is for who knows what an effect can be;
        a bound that follows from the data alone tightens nothing. The model's own coefficients may
        be larger. Of groups and of several outputs every coefficient is bounded by itself, and less
        is gained, as relaxations are solved without the bounds.
    n_threads : threads of the scans, None for all.

    Returns
    -------
    A `Certificate`; a list of them, one for each class against the rest, for several classes.

    Raises
    ------
    ValueError
        Where there is no support, it does not fit the data, C is infinite, or max_abs_coef is not
        positive; as `fit` otherwise.

    Examples
    --------
    >>> import zeronorm
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = zeronorm.BudgetClassifier(n_features=8).fit(X, y)
    >>> zeronorm.certify(model, X, y).gap < model.optimality_gap_
    True
    """
    posed = pose(
        model,
        problem,
        X,
        y,
        sample_weight,
        offset,
        C,
        fit_intercept,
        standardize,
        n_threads,
        feature_groups,
        max_abs_coef,
    )
    if posed[0].task.groups is None:
        proofs = _run(posed, n_threads, Goal(None, np.inf))
        certificates = [proof.certificate for proof in proofs]
    else:
        certificates = _run_groups(posed, n_threads)
    return certificates[0] if len(certificates) == 1 else certificates


def prove(
    model: Any,
    X: Any,
    y: Any,
    *,
    problem: Any = None,
    feature_groups: Any = None,
    gap: float = 0.01,
    time_limit: float = 60.0,
    max_nodes: int | None = None,
    resume: Proof | Sequence[Proof] | None = None,
    callback: Callable[[Progressed], None] | None = None,
    sample_weight: Any = None,
    offset: Any = None,
    C: float | None = None,
    fit_intercept: bool | None = None,
    standardize: bool | None = None,
    max_abs_coef: float | None = None,
    n_threads: int | None = None,
) -> Proof | list[Proof]:
    """Prove by branch and bound that no support of this size is better, up to a relative gap.

    First the bound of `certify` rules out features; then a tree over those that are left is
    searched, in memory. A better support that turns up on the way takes the place of the model's.
    Ctrl-C stops the search and returns what is proven so far.

    Parameters
    ----------
    model, X, y, problem, feature_groups, sample_weight, offset, C, fit_intercept, standardize,
    max_abs_coef, n_threads
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
        As `certify`; where `resume` is of another problem.

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
    validate.check_not_negative("gap", gap)
    validate.check_positive("time_limit", time_limit)
    validate.check_count("max_nodes", max_nodes)
    posed = pose(
        model,
        problem,
        X,
        y,
        sample_weight,
        offset,
        C,
        fit_intercept,
        standardize,
        n_threads,
        feature_groups,
        max_abs_coef,
    )
    trees: list[Tree | None] = [None] * len(posed)
    if resume is not None:
        earlier = [resume] if isinstance(resume, Proof) else list(resume)
        if not all(isinstance(proof, Proof) for proof in earlier):
            raise TypeError(f"resume must be what `prove` returned; got {resume!r:.50}.")
        posed, trees = _resumed(posed, earlier)
    proofs = _run(posed, n_threads, Goal(float(gap), float(time_limit), max_nodes), trees, callback)
    return proofs[0] if len(proofs) == 1 else proofs


@one_blas_thread
def _run(
    posed: Sequence[Posed],
    n_threads: int | None,
    goal: Goal,
    trees: Sequence[Tree | None] | None = None,
    report: Callable[[Progressed], None] | None = None,
) -> list[Proof]:
    return run_together(
        [
            prove_support(
                one.task, one.support, goal, C=one.C, dual=one.dual, resume=tree, report=report
            )
            for one, tree in zip(posed, trees or [None] * len(posed), strict=True)
        ],
        n_threads=n_threads,
    )


@one_blas_thread
def _run_groups(posed: Sequence[Posed], n_threads: int | None) -> list[Certificate]:
    return run_together(
        [tighten_groups(one.task, one.support, C=one.C, dual=one.dual) for one in posed],
        n_threads=n_threads,
    )


def _resumed(
    posed: Sequence[Posed], earlier: Sequence[Proof]
) -> tuple[list[Posed], list[Tree | None]]:
    """Return the problems with the supports of earlier proofs, and their trees."""
    if len(earlier) != len(posed):
        raise ValueError(
            f"resume must have a proof for each problem, {len(posed)}; got {len(earlier)}."
        )
    resumed: list[Posed] = []
    trees: list[Tree | None] = []
    for one, proof in zip(posed, earlier, strict=True):
        certificate = proof.certificate
        if not is_of(one, certificate):
            raise ValueError(
                "resume is a proof of another problem (size, groups, C, scaling, loss, intercept, "
                "forced features, covariates, signs, max_abs_coef, X, y or weights differ, or the "
                "order of the rows). Pass the model and the data of the earlier call."
            )
        support = one.task.columns(certificate.support)
        resumed.append(replace(one, support=support, dual=certificate.dual.ravel()))
        trees.append(certificate.tree)
    return resumed, trees


__all__ = ["certify", "prove"]
