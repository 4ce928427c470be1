"""The permutations of `zeronorm select`: what is refused, and the test."""

from __future__ import annotations

from typing import Any

from ._options import SelectOptions
from ._progress import Work


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


def permuted(n: int, estimator: Any, X: Any, y: Any, folds: int, offset: Any, work: Work) -> Any:
    """Return the permutation test of a selection; the cross-validation is a part of it."""
    from ..permutations import permutation_test

    return permutation_test(
        estimator,
        X,
        y,
        n,
        cv=folds,
        offset=offset,
        callback=lambda done: work.progress.phase(f"Permuting the labels, {done} of {n} done"),
    )
