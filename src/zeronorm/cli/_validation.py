"""The cross-validation of `zeronorm select`, and its permutation test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._folds import usable_folds
from ._options import SelectOptions
from ._plan import OF_FOLDS, Plan
from ._progress import Work

if TYPE_CHECKING:
    from ..model_selection import CrossValidation
    from ..permutations import PermutationTest
    from ._selection import Samples


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


def validated(
    options: SelectOptions, estimator: Any, samples: Samples, folds: Any, work: Work
) -> tuple[CrossValidation, PermutationTest | None]:
    """Return the cross-validation of a selection, and its permutation test where one is wanted."""
    from ..model_selection import cross_validate
    from ..permutations import permutation_test

    X, y = samples.table.X, samples.y
    given: Any = {"cv": folds, "offset": samples.response.offset}
    n, phase = options.permutations, work.progress.phase
    phase("Cross-validating", total=int(estimator.n_scans_))
    advance = work.progress.advance
    if n is not None:
        phase("Permuting the labels", n, "permutation permutations")
        with work.timed("permutations"):
            found = permutation_test(
                estimator,
                X,
                y,
                n,
                **given,
                callback=advance,
            )
        return found.validation, found
    with work.timed("cross-validation"):
        validation = cross_validate(
            estimator, X, y, **given, callback=lambda at: advance(at.n_scans)
        )
    return validation, None
