"""What solvers return: records, not tuples.

`Result` is the answer of one solver to one problem. `Selection` is a model that a user asked for:
a support of exactly k features with its final refit and its certificate. `Path` holds the
selections of one class at several sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

import numpy as np

from .errors import ParameterError
from .groups import Groups
from .types import FloatArray, IndexArray

SMALLEST = 5e-324  # A gap of an objective of 0 is relative to this.
_MAX_SIZES = 8  # A line has so many sizes.
# A solver has failed where its certified gap is above this many times the tolerance.
GAP_SLACK = 2.0
PROVEN = 1e-9  # relative gap that counts as none
# Objectives of one model that differ by this share at most are of the same problem.
SAME_OBJECTIVE = 1e-6


def _name(status: Status | None) -> str:
    return f"status={None if status is None else status.name}"


def relative_gap(objective: float, bound: float) -> float:
    """Return (objective - bound) / objective, not negative."""
    return max(0.0, objective - bound) / max(abs(objective), SMALLEST)


class Status(Enum):
    """Why a solver stopped, one line each."""

    CONVERGED = "the certified gap (of SALM: the residual) is at most the tolerance"
    BUDGET = "the requested number of features is reached"
    MAX_BLOCKS = "the largest number of blocks is generated"
    REPEATED = "the most active block was generated before: the optimum over blocks is reached"
    STALLED = "the solver found no further progress; the gap is above the tolerance"
    MAX_ITER = "the largest number of iterations is reached; the gap is above the tolerance"
    OPTIMAL = "no better support exists"
    GAP = "the wanted gap is proven"
    TIME_LIMIT = "the time limit is reached; the gap is above the wanted one"
    NODE_LIMIT = "the largest number of nodes is reached; the gap is above the wanted one"
    COMPLETE = "every support that is near enough to the best one is found"
    LIMIT = "more supports are near enough to the best one than are kept; those kept are the best"
    CANDIDATES = "too many features on other machines are left; the gap is above the wanted one"
    INTERRUPTED = "interrupted; the gap is above the wanted one"
    DIVERGED = "the iterates grow without bound"

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make it again; skops makes objects by this alone."""
        return type(self), (self.value,)


@dataclass(frozen=True, slots=True)
class Step:
    """One row of a history: the state after one outer iteration."""

    objective: float  # of the problem over the features generated so far
    bound: float  # certified lower bound of the same problem (inner)
    n_features: int  # features generated so far
    entered: IndexArray  # features that entered at this step, largest |score| first
    seconds: Mapping[str, float] = field(default_factory=dict)  # by phase: scan, gather, solve
    extra: Mapping[str, float] = field(default_factory=dict)  # residuals and counts by name
    status: Status | None = None  # of the inner problem; None where none was solved at this step

    def __repr__(self) -> str:
        """Return the figures, without the arrays."""
        return (
            f"Step(objective={self.objective:.6g}, bound={self.bound:.6g}, "
            f"n_features={self.n_features}, n_entered={len(self.entered)}, {_name(self.status)})"
        )


@dataclass(frozen=True, slots=True)
class Minorant:
    """What the logistic loss is at least where models better than the best known one can be.

    For margins between -core and core it is the loss; beyond them it goes on from there with the
    second derivative `bend`. That is below the loss up to margins that no better model of some
    features has, as the bounds show that moves from the model in `coef` lead to, with the minorant
    before this one. A part of its curvature, `diagonal`, counts as ridge.
    """

    features: IndexArray  # (p,)
    coef: FloatArray  # (p,) on the selection scaling, of a relaxation
    intercept: float  # beside columns of mean 0 where it is free
    objective: float  # better models have one of so much at most
    core: float
    bend: FloatArray  # (n_samples,) weights included
    diagonal: FloatArray  # (p,)


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree of a branch and bound: a proof that anyone can check, node by node.

    The models of a node have all its fixed features and no others than its fixed and free ones. At
    the root the forced features are fixed, all others free. The dual point of a node bounds its
    models, rules out free features and fixes some (see `zeronorm.verify`); what is left
    is divided by one free feature: the models with it and those without.
    """

    parent: IndexArray  # (n_nodes,) number of the node above, smaller than its own; -1 at the root
    feature: IndexArray  # (n_nodes,) what divides it from its sibling; -1: a node without sibling
    inside: np.ndarray  # (n_nodes,) bool: whether its models have that feature
    row: IndexArray  # (n_nodes,) its row of `dual`; -1: not examined, the dual of its parent counts
    dual: FloatArray  # (n_examined, n_samples)
    # (n_features,) what of the curvature of least squares the bounds below the root count as a part
    # of the ridge, 0 for features of no node below it; or none.
    diagonal: FloatArray = field(default_factory=lambda: np.empty(0))
    # Of the logistic loss, each shown by the one before; the bounds below the root have the last.
    minorants: tuple[Minorant, ...] = ()

    def __repr__(self) -> str:
        """Return the sizes, without the arrays."""
        n_examined, n_samples = self.dual.shape
        return f"Tree(n_nodes={self.parent.size}, n_examined={n_examined}, n_samples={n_samples})"


@dataclass(frozen=True, slots=True)
class Certificate:
    """How far a support can be from the best one of its size.

    The problem is, on the selection scaling of the columns and with its own refit,

        min_{u, b} 1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b)  subject to  ||u||_0 <= k     (L0)

    with f the loss (see `zeronorm.losses`), for example the logistic one, log(1 + exp(-y z)), over
    columns that are not constant: constant columns are no features.
    Of several outputs (classes of "multinomial", responses) every feature has a coefficient for
    each, k features may have any, and coef, intercept and dual have a row for every output. With
    `groups` the constraint is that u has nonzeros in at most `n_groups` of them. It says nothing
    about test accuracy, and the final refit (at another C; logistic for the squared hinge) is
    another model on the support.
    """

    C: float
    scaling: str  # "standardized", "scaled" (sparse columns are not centred) or "none"
    support: IndexArray  # (k,) sorted
    coef: FloatArray  # (k,) or (outputs, k), optimal on the support, on the selection scaling
    # A number, or (outputs,); of the loss "ordinal" minus the thresholds, (n_classes - 1,).
    intercept: Any
    objective: float  # value of (L0) at coef, intercept: an upper bound of the optimum
    bound: float  # certified lower bound of the optimum
    # v, minus a gradient in the margins, that proves the bound: (n_samples,), (outputs, n_samples).
    dual: FloatArray
    fixed_in: int  # features in every better model; of groups: features of the groups in it
    candidates: int  # features not excluded from every better model
    loss: str = "logistic"  # f, by its name in `zeronorm.losses`
    fit_intercept: bool = True  # whether b is free; else it is 0
    # Features forced by the user: the bound holds among models with them (with their groups).
    forced: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    tree: Tree | None = None  # what proves the bound where `dual` alone does not
    # Other features whose columns equal, up to the sign, that of a feature of the support: they can
    # take its place. Only `certify` and `prove` look for them.
    equivalents: Mapping[int, IndexArray] = field(default_factory=dict)
    n_groups: int | None = None  # the budget where it counts groups of features
    groups: Groups | None = None  # these
    # The numbers that f is stated with: "width" of "huber", "quantile" and "width" of "quantile".
    parameters: Mapping[str, float] = field(default_factory=dict)
    # Columns in every model that the budget does not count: their coefficients are free of any
    # penalty, as b is, so that z_i = x_i'u + a_i'g + b with a the columns and g the effects.
    covariates: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    # (q,) or (outputs, q): g, on the selection scaling.
    effects: FloatArray = field(default_factory=lambda: np.empty(0))
    # The signs that coefficients of the features of X may have, -1, 0 for any, or 1: (m,) int8, or
    # none where any may have any.
    signs: np.ndarray = field(default_factory=lambda: np.empty(0, np.int8))
    # The bound holds among models with |u_j| <= max_abs_coef, as coef need not be; None: among all.
    max_abs_coef: float | None = None

    def __repr__(self) -> str:
        """Return the figures, without the arrays."""
        budget = "" if self.n_groups is None else f"n_groups={self.n_groups}, "
        if self.covariates.size:
            budget += f"n_covariates={self.covariates.size}, "
        if self.max_abs_coef is not None:
            budget += f"max_abs_coef={self.max_abs_coef:g}, "
        return (
            f"Certificate({budget}k={self.support.size}, loss={self.loss!r}, C={self.C:g}, "
            f"scaling={self.scaling!r}, "
            f"objective={self.objective:.6g}, bound={self.bound:.6g}, gap={self.gap:.2%}, "
            f"proven={self.proven}, candidates={self.candidates})"
        )

    @property
    def n_forced(self) -> int:
        """The number of forced features."""
        return int(self.forced.size)

    @property
    def n_covariates(self) -> int:
        """The number of covariates."""
        return int(self.covariates.size)

    @property
    def n_signed(self) -> int:
        """The number of features whose coefficients may not have any sign."""
        return int(np.count_nonzero(self.signs))

    @property
    def gap(self) -> float:
        """(objective - bound) / objective, not negative."""
        return relative_gap(self.objective, self.bound)

    @property
    def proven(self) -> bool:
        """Whether no model that the bound is of is better: gap <= 1e-9."""
        return self.gap <= PROVEN


@dataclass(frozen=True, slots=True)
class Progressed:
    """Where a branch and bound stands."""

    seconds: float
    n_nodes: int  # examined so far
    n_open: int  # still to be examined
    objective: float  # of the best model
    bound: float

    @property
    def gap(self) -> float:
        """(objective - bound) / objective, not negative."""
        return relative_gap(self.objective, self.bound)


@dataclass(frozen=True, slots=True)
class Proof:
    """What a branch and bound has shown."""

    certificate: Certificate  # of the best support found, with the tree
    status: Status  # OPTIMAL, GAP, or what stopped it
    improved: bool  # whether that support is better than the one to be proven
    history: tuple[Progressed, ...]  # the last row is the end

    def __repr__(self) -> str:
        """Return the figures, without the arrays."""
        end = self.history[-1]
        return (
            f"Proof(k={self.support.size}, {_name(self.status)}, improved={self.improved}, "
            f"gap={self.certificate.gap:.2%}, n_nodes={end.n_nodes}, seconds={end.seconds:.3g})"
        )

    @property
    def support(self) -> IndexArray:
        """(k,) the best support found, sorted."""
        return self.certificate.support


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of a solver."""

    support: IndexArray  # (k,) sorted feature indices
    coef: FloatArray  # (k,) values on the support, for the scaling of the design solved on
    intercept: Any  # a number; of several outputs (outputs,)
    objective: float  # of the problem that the solver's docstring states
    bounds: Mapping[str, float]  # certified lower bounds by name: inner, outer, l0
    dual: FloatArray | None  # (n_samples,) what proves them; also the warm start
    status: Status
    history: tuple[Step, ...]  # a row per outer iteration

    def __repr__(self) -> str:
        """Return the figures, without the arrays."""
        bounds = ", ".join(f"{name}: {value:.6g}" for name, value in self.bounds.items())
        return (
            f"Result(k={self.support.size}, objective={self.objective:.6g}, bounds={{{bounds}}}, "
            f"{_name(self.status)}, n_steps={len(self.history)})"
        )

    @property
    def order(self) -> IndexArray:
        """The features in order of entry: its prefixes are the nested path over all k."""
        if not self.history:
            return self.support
        return np.concatenate([step.entered for step in self.history])


@dataclass(frozen=True, slots=True)
class Selection:
    """A model with exactly k features, on the user's scaling of X.

    Where it is scaled, `coef` is that of the final refit times `scale`; `refit_C`, `loo_loss`,
    `log_loss` and `criteria` are of the refit before that.
    """

    support: IndexArray  # (k,) sorted feature indices
    coef: FloatArray  # (k,) or (outputs, k) final refit, times `scale`
    intercept: Any  # a number, or (outputs,)
    refit_C: float  # the C of the final refit; where "loo" chose it, see docs/theory/select.md
    entered: IndexArray  # (k,) outer step, from 1, at which each feature of the support entered
    certificate: Certificate | None
    loo_loss: float  # mean approximate leave-one-out loss of a row, of the refit
    log_loss: float  # minus the log-likelihood of the refit, up to constants, on its training rows
    criteria: Mapping[str, float]  # information criteria of the refit by name, see `criteria`
    proof: Proof | None = None  # where one was asked for; it ends in the certificate
    # The problem of a measure has no certificate. These are its value at the coefficients, and a
    # lower bound of that value over all supports of this size.
    objective: float | None = None
    bound: float | None = None
    scale: float = 1.0  # of the margins beyond the model without features; 1: not scaled
    # Of rows held out, after scaling, the mean over all classes; NaN where none are known.
    cv_log_loss: float = float("nan")
    # Features that are in every model beside the support, and their coefficients as in `coef`.
    covariates: IndexArray = field(default_factory=lambda: np.empty(0, np.int64))
    effects: FloatArray = field(default_factory=lambda: np.empty(0))

    def __repr__(self) -> str:
        """Return the figures, without the arrays."""
        gap = self.gap if self.certificate is None else self.certificate.gap
        beside = f"n_covariates={self.covariates.size}, " if self.covariates.size else ""
        return (
            f"Selection(k={self.support.size}, {beside}refit_C={self.refit_C:.4g}, "
            f"loo_loss={self.loo_loss:.4g}, log_loss={self.log_loss:.4g}, scale={self.scale:.4g}, "
            f"gap={gap:.2%})"
        )

    @property
    def n_features(self) -> int:
        """The size of the support."""
        return int(self.support.size)

    @property
    def terms(self) -> tuple[IndexArray, FloatArray]:
        """All features of the model, those of the support and then the covariates; and coef."""
        if not self.covariates.size:
            return self.support, self.coef
        features = np.concatenate([self.support, self.covariates])
        return features, np.concatenate([self.coef, self.effects], axis=-1)

    @property
    def gap(self) -> float:
        """(objective - bound) / objective of the problem of a measure; NaN without a bound."""
        if self.objective is None or self.bound is None:
            return float("nan")
        return relative_gap(float(self.objective), float(self.bound))


@dataclass(frozen=True, slots=True)
class Path:
    """The models of a selection: `path[k]` is the one of size k, for every size asked for.

    Every method returns one for each of its tasks, so of one-versus-rest classes one for each.
    Estimators keep them, folds are scored by them, and model files and reports are made of them.
    A size is a number of features or of groups; of a bi-level selection it is the pair of both.
    """

    selections: Mapping[Any, Selection]
    order: IndexArray  # features in order of entry into the pool of candidates
    history: tuple[Step, ...]
    status: Status
    gap: float = 0.0  # largest certified gap of the inner problems and final fits, relative
    C: float = np.nan  # weight of the summed loss in the selection
    method: str = ""  # that found the features, of `zeronorm.methods`
    n_folds: int = 0  # that chose C or the method, 0 where none did

    def __post_init__(self) -> None:
        object.__setattr__(self, "selections", dict(self.selections))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make it again; a list for the mapping, as keys of JSON are no pairs."""
        rest = [getattr(self, one.name) for one in fields(self)[1:]]
        return type(self), ([*self.selections.items()], *rest)

    def __repr__(self) -> str:
        """Return the sizes and the figures, without the models."""
        sizes = [str(size) for size in self]
        shown = sizes if len(sizes) <= _MAX_SIZES else [*sizes[:3], "...", sizes[-1]]
        return (
            f"Path(sizes=[{', '.join(shown)}], n_candidates={self.order.size}, "
            f"n_steps={len(self.history)}, {_name(self.status)}, gap={self.gap:.2g})"
        )

    def __getitem__(self, k: Any) -> Selection:
        """Return the model of size k."""
        return self.selections[k]

    @property
    def certificates(self) -> dict[Any, Certificate]:
        """The certificates of the models by their sizes, of those that have one."""
        found = {size: self[size].certificate for size in self}
        return {size: one for size, one in found.items() if one is not None}

    @property
    def proofs(self) -> dict[Any, Proof]:
        """The proofs of the models by their sizes, where branch and bound was asked for."""
        found = {size: self[size].proof for size in self}
        return {size: one for size, one in found.items() if one is not None}

    def support(self, k: int) -> IndexArray:
        """Return the first k features in order of entry, sorted: the nested path at any size."""
        if not 1 <= k <= self.order.size:
            raise ParameterError(
                "k", f"must be at least 1, and at most {self.order.size} (the candidates)", f"{k}"
            )
        return np.sort(self.order[:k])

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the sizes, smallest first."""
        return iter(sorted(self.selections))

    def __len__(self) -> int:
        """Return the number of sizes."""
        return len(self.selections)
