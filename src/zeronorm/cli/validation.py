"""The cross-validation of `zeronorm select`, and its permutation test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .folds import usable_folds
from .options import SelectOptions
from .plan import OF_FOLDS, Plan
from .progress import Work

if TYPE_CHECKING:
    from ..core.results import Path
    from ..estimators.validation import CrossValidation, Validation
    from ..io.input import Samples
    from ..model_selection.cross_validation import PermutationTest


def check_permutations(options: SelectOptions) -> None:
    """Refuse a number of permutations that is none, or does not go with other options."""
    n = options.permutations
    if n is None:
        return
    if n < 1:
        raise ValueError(
            f"--permutations must be at least 1; got {n}. With 99 the least p is 0.01; leave it "
            "out for none."
        )
    if options.no_cv:
        raise ValueError(
            f"--permutations {n} repeats the cross-validation, and --no-cv has none; leave out one "
            "of them."
        )
    if options.covariates is not None:
        raise ValueError(
            f"--permutations {n} does not go with --covariates: permuted labels lose them together "
            "with the features, so that p would be of both; leave out one of them."
        )


def folds_of(plan: Plan, samples: Samples, work: Work) -> Any:
    """Return the folds, None without; refuse a rule that has none to choose by."""
    folds, of = plan.folds, (samples.table, samples.response)
    folds = None if folds is None else usable_folds(folds, *of, work.notes)
    if folds is None and plan.rule in OF_FOLDS:
        raise ValueError(
            f"--rule {plan.rule} chooses by cross-validation, which these data do not allow "
            f"({work.notes[-1]}). Say one size (--features K), --rule ebic, or --rule all."
        )
    return folds


@dataclass(frozen=True, slots=True, eq=False)
class Validated:
    """The cross-validation of a selection, with the models of its folds."""

    posed: Validation
    paths: list[list[Path]]
    scores: CrossValidation
    permutations: PermutationTest | None

    def errors(self, estimator: Any, size: Any) -> Any:
        """Return how far predictions of held-out rows are from their targets, (n,).

        None where these are not numbers of one target, as intervals need them.
        """
        import numpy as np

        from ..estimators import BudgetRegressor
        from ..persistence.records import has_intervals

        if not isinstance(estimator, BudgetRegressor):
            return None
        found = []
        for number, own in enumerate(self.paths):
            fold = self.posed.held_out(number, own)
            z = self.posed.judge.scores_of(fold, size)
            if not has_intervals(estimator._loss(), z.shape[1]):
                return None
            offset = 0.0 if fold.offset is None else fold.offset
            found.append(fold.labels.ravel() - z[:, 0] - offset)
        return np.concatenate(found)


def validated(
    options: SelectOptions, estimator: Any, samples: Samples, folds: Any, work: Work
) -> Validated:
    """Return the cross-validation of a selection, and its permutation test where one is wanted."""
    from ..model_selection.cross_validation import fold_models, permuted

    work.progress.phase("Cross-validating", total=int(estimator.n_scans_))
    advance, found = work.progress.advance, None
    with work.timed("cross-validation"):
        posed, paths = fold_models(
            estimator, samples.table.X, samples.y, cv=folds, offset=samples.response.offset,
            groups=samples.response.groups, callback=lambda at: advance(at.n_scans),
        )  # fmt: skip
        scores = posed.scored(paths)
    n = options.permutations
    if n is not None:
        work.progress.phase("Permuting the labels", n, "permutation permutations")
        with work.timed("permutations"):
            found = permuted(posed, scores, n, folds, callback=advance)
    return Validated(posed, paths, scores, found)
