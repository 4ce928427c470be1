"""Folds within folds: what a selection is worth whose size is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from ..core import validation as validate
from ..core.files import PathLike
from ..core.parallel import one_blas_thread
from ..core.types import FloatArray
from ..estimators.cross_validation import CrossValidation, standard_error
from ..estimators.folded import named_fold
from ..estimators.folds import repeats_of
from ..estimators.validation import Validation
from ..solvers import Progress, run_together
from ..solvers.checkpoint import recorded
from ..solvers.drive import Solver
from .cross_validation import prepared
from .search import BudgetCV


@dataclass(frozen=True, slots=True)
class NestedCrossValidation:
    """The scores of a search for the size on rows that neither chose a size nor fitted a model."""

    sizes: tuple[Any, ...]  # of every outer fold, the size that its inner folds choose
    scores: FloatArray  # (n_folds,) of that size on the rows that the outer fold holds out
    baseline: FloatArray  # (n_folds,) the same of the model without features
    measure: str
    validations: tuple[CrossValidation, ...]  # the inner ones
    repeats: float = 1.0  # how often a row is held out by outer folds

    @property
    def mean(self) -> float:
        """Mean of the scores over the outer folds."""
        return float(self.scores.mean())

    @property
    def standard_error(self) -> float:
        """Its standard error, as of `CrossValidation`; of one fold NaN."""
        if self.scores.size < 2:
            return float("nan")
        return float(standard_error(self.scores[None, :], self.repeats)[0])


@one_blas_thread
def nested_cross_validate(
    search: Any,
    X: Any,
    y: Any,
    *,
    cv: int | BaseCrossValidator | Iterable[Any] = 5,
    sample_weight: Any = None,
    offset: Any = None,
    groups: Any = None,
    random_state: int | None = 0,
    checkpoint: PathLike | None = None,
    callback: Callable[[Progress], None] | None = None,
) -> NestedCrossValidation:
    """Cross-validate a search for the number of features, the choice of the size with the rest.

    For every outer fold f, with rows T_f of training and H_f held out,

        k_f = the size that `search` chooses by the inner folds of T_f,
        s_f = the score on H_f of the model of k_f features that is selected on T_f,

    and the estimate is the mean of s_f. The rows H_f choose nothing, as in
    `cross_val_score(search, X, y)`, whose scores these are; but all inner and outer folds are
    selected in the same passes over X, for all sizes.

    Parameters
    ----------
    search : a `BudgetCV`, or an estimator with n_features="auto", or with groups and
        n_groups="auto". It is neither fitted nor changed.
        Its `cv` is of the inner folds, a number or a splitter, and its `scoring` or `measure` is of
        both. Scores of classes are not calibrated, as of `cross_validate`.
    X, y, sample_weight, offset : as for `fit` of its estimator.
    groups : as of `cross_validate`, of the outer and the inner folds.
    cv, random_state, checkpoint, callback : of the outer folds, as of `cross_validate`.

    Returns
    -------
    A `NestedCrossValidation`: `sizes` and `scores` of the outer folds, `mean`, `standard_error`,
    the `baseline` without features, and the inner `validations`.

    Raises
    ------
    TypeError, ValueError
        As by `cross_validate` and `fit` of the search, and where its `cv` are pairs of row numbers,
        which cannot be of all outer folds.

    Source
    ------
    Varma and Simon, Bias in error estimation when using cross-validation for model selection, BMC
    Bioinformatics 7(91), 2006. Stone, Cross-validatory choice and assessment of statistical
    predictions, JRSS B 36(2), 1974.

    Examples
    --------
    >>> from zeronorm import BudgetClassifier, BudgetCV
    >>> from zeronorm.datasets import load_golub
    >>> from zeronorm.model_selection.nested import nested_cross_validate
    >>> X, y = load_golub(return_X_y=True)
    >>> honest = nested_cross_validate(BudgetCV(BudgetClassifier()), X, y)
    >>> len(honest.sizes), honest.scores.shape
    (5, (5,))
    """
    if not isinstance(search, BudgetCV):
        search = BudgetCV(search, getattr(search, "n_features", "auto"))
    inner_cv = search.cv
    if not (validate.is_integer(inner_cv) or hasattr(inner_cv, "split")):
        raise ValueError(
            "cv of the search must be a number of folds or a splitter, as every outer fold has "
            f"other rows; got {validate.shown(inner_cv)}."
        )
    model = search._model()
    judge, data = prepared(
        model, X, y, sample_weight, search.measure, search.scoring, offset, groups
    )
    with recorded(search.estimator.checkpoint if checkpoint is None else checkpoint):
        outer = Validation.pose(judge, data, cv, None, random_state)
        inner = []
        for number, (train, _) in enumerate(outer.folded.folds):
            with named_fold(number):
                part = data.rows(train)
                inner.append(Validation.pose(judge, part, inner_cv, None, search.random_state))
        solvers: list[Solver[Any]] = []
        for problem, own in zip(outer.folded.problems, inner, strict=True):
            solvers.append(replace(problem, sizes=own.folded.sizes).solver(certify=False))
            solvers += own.folded.solvers()
        rows = outer.folded.rows()
        for number, own in enumerate(inner):
            rows |= {f"fold {number} {name}": each for name, each in own.folded.rows().items()}
        identity = model._identity(data, **rows)
        paths = iter(run_together(solvers, callback, model.n_threads, identity))
        sizes, scores, baseline, validations = [], [], [], []
        for number, own in enumerate(inner):
            fold = outer.held_out(number, next(paths))
            validation = own.scored([next(paths) for _ in own.folded.problems])
            size = validation.choose(search.rule)
            sizes.append(size)
            scores.append(judge.score(judge.scores_of(fold, size), fold))
            baseline.append(judge.baseline(fold))
            validations.append(validation)
    tests = [test for _, test in outer.folded.folds]
    return NestedCrossValidation(
        tuple(sizes), np.array(scores), np.array(baseline), judge.name, tuple(validations),
        repeats_of(tests),
    )  # fmt: skip


__all__ = ["NestedCrossValidation", "nested_cross_validate"]
