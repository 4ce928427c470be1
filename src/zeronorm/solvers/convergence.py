"""Warnings of problems that a selection left unsolved, or whose data cannot tell supports apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.errors import Message, Parameter
from ..core.results import GAP_SLACK, Path, Status

# Rounding ends progress at gaps far below this, however small a tolerance was asked.
GAP_FLOOR = 1e-6


SEPARATED = 1e-3  # mean log-loss below which classes count as separated


def open_gaps(paths: Sequence[Path], tol: float, solver: str, remedy: str) -> Iterator[Warning]:
    """Return the warning that a problem was not solved, that of the largest certified gap.

    solver, remedy : what solves the problems of the selection, and what helps where it fails.
    """
    limit = max(GAP_SLACK * tol, GAP_FLOOR)
    steps = [
        (_known(step.extra.get("gap", 0.0)), number, step.status)
        for path in paths
        for number, step in enumerate(path.history, start=1)
    ]
    gap, number, status = max(steps, key=lambda step: step[0], default=(0.0, 0, None))
    if status is not None and not gap <= limit:
        yield ConvergenceWarning(
            Message(
                f"{solver} stopped at a certified gap of {gap:.2g} (asked: ",
                Parameter.of("tol", tol),
                f") at step {number} of the selection ({status.value}); the model is whole, but "
                "its features may not be those of the method. "
                f"{remedy} `history_` has the gap of every step.",
            )
        )
        return
    gap = max(path.gap for path in paths)
    if not gap <= limit:
        yield ConvergenceWarning(
            Message(
                f"A problem over the selected features stopped at a certified gap of {gap:.2g} "
                "(asked: ",
                Parameter.of("tol", tol),
                "); the model is whole, but its coefficients may be inaccurate. A smaller C or ",
                Parameter("refit_C"),
                " helps.",
            )
        )


def _known(gap: float) -> float:
    """Return a gap, infinite where it is not known."""
    return np.inf if np.isnan(gap) else gap


def separation(paths: Sequence[Path], k: int, C: float) -> Iterator[Warning]:
    """Return the warning that only the ridge bounds the coefficients."""
    ends = [step for path in paths for step in path.history if step.n_features == k and step.status]
    for end in ends[-len(paths) :]:
        if end.extra.get("mean_loss", 1.0) < SEPARATED and end.extra.get("least_margin", 0) > 0:
            yield UserWarning(
                f"The {k} features separate the classes: their mean log-loss is "
                f"{end.extra['mean_loss']:.2g}, and only the ridge (C={C:g}) bounds the "
                "coefficients and tells such supports apart. Use a smaller C, or fewer features."
            )
            return


def rank(paths: Sequence[Path], k: int) -> Iterator[Warning]:
    """Return the warning that there are more features than the rows allow."""
    certificate = paths[0][k].certificate
    if certificate is None:
        return
    n = certificate.dual.shape[-1]
    if k >= n:
        yield UserWarning(
            Message(
                Parameter.of("n_features", k),
                f" is more than the {n - 1} features that {n} samples can tell apart: the rank of ",
                Parameter("X"),
                " is below it, and only the ridge makes the model unique. Use fewer features.",
            )
        )


def steps_left(paths: Sequence[Path], solver: str, max_iter: int) -> Iterator[Warning]:
    """Return the warning that hard thresholding did not converge."""
    history = [step for path in paths for step in path.history]
    for number, step in enumerate(history, start=1):
        if step.status is Status.MAX_ITER:
            yield ConvergenceWarning(
                f"solver={solver!r} did not converge in max_iter={max_iter} steps "
                f"(step {number} of `history_`, {step.n_features} features). Use a larger "
                "max_iter or tol, or solver='auto'."
            )
            return
