"""What a fit will need of memory, said before it begins."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.memory import available_memory, readable, used_memory
from ..core.types import Design
from ..solvers.exchange import POOL_FACTOR, POOL_MIN

# Vectors over all features that a fit holds at its peak, for dense data, whose scores have errors
# of their own, and for sparse ones; and copies of the gathered columns, 8 bytes for each of their
# entries. Measured by benchmarks/memory.py, which compares estimates with fits.
_VECTORS: Mapping[str, tuple[float, float]] = {
    "pool": (13.0, 9.5),
    "minimax": (13.0, 9.5),
    "greedy": (13.0, 10.5),
    "l0": (38.0, 15.0),
    "l1": (41.0, 12.0),
    "reweighted-l1": (41.0, 12.0),
    "bilevel": (30.0, 20.0),
    "l1_model": (20.0, 12.0),
    "measure": (20.0, 14.0),
}
_COPIES: Mapping[str, float] = {
    "pool": 4.1,
    "minimax": 1.8,
    "greedy": 2.4,
    "l0": 9.7,
    "l1": 2.0,
    "reweighted-l1": 2.0,
    "bilevel": 4.0,
    "l1_model": 2.0,
    "measure": 4.0,
}
NOT_MEASURED = "l0"  # counts for methods that are not in the tables: it needs the most
# Selections that run at a time are so many times one, of vectors; of gathered columns half of it.
LOCKSTEP = 1.6, 0.4  # for all, and for each
FULLER = 4.0  # as selected columns of sparse data are, beside the others
_NUMBERS = (int, np.integer, list, tuple, range, np.ndarray)
SMALL = 8 << 20  # what a fit takes whatever its size
NOTICED = 256 << 20  # smaller fits begin without a look at the memory that there is


class MemoryWarning(UserWarning):
    """A fit will probably need more memory than there is."""


@dataclass(frozen=True)
class MemoryEstimate:
    """The memory of this process at the peak of a fit, in bytes, by what needs it.

    Attributes
    ----------
    parts : bytes by name: "process" what the process has beside X at the moment; "X" the data as
        they lie in memory, 0 for files; "blocks" what is read of files at a time; "conversion" a
        copy of X in the storage that a method wants; "features" vectors over all features;
        "gathered" the columns of the features at hand; "other".
    available : bytes that the process can still take, infinity where the system does not tell.
    """

    parts: Mapping[str, int]
    available: float

    @property
    def total(self) -> int:
        """The bytes at the peak of the fit."""
        return sum(self.parts.values())

    @property
    def fit(self) -> int:
        """The bytes that the fit adds to what the process and X have already."""
        return self.total - self.parts["process"] - self.parts["X"]

    @property
    def fits(self) -> bool:
        """Whether there is room for that."""
        return self.fit <= self.available

    def __str__(self) -> str:
        named = ", ".join(f"{name} {readable(size)}" for name, size in self.parts.items() if size)
        return f"{readable(self.total)} ({named}); {readable(self.available)} are available"


def estimate_memory(X: Any, estimator: Any, y: Any = None) -> MemoryEstimate:
    """Return the memory that this process will have at the peak of `estimator.fit(X, y)`.

    By a model of few terms: so many vectors over the features, so many copies of the gathered
    columns, measured for every method, beside X and what is read of it at a time. On the fits of
    benchmarks/memory.py it is right within a factor of 1.5.

    Parameters
    ----------
    X : as for `fit`; its values are not looked at.
    estimator : of this package; it is not changed, and need not be fitted.
    y : as for `fit`, from which the number of classes or responses follows; None: one output.

    Returns
    -------
    MemoryEstimate
    """
    from ..core import validation as validate
    from ..io.opening import as_design

    design = as_design(validate.check_data(X))
    return estimate_of(design, estimator, 1 if y is None else outputs_of(estimator, y))


def outputs_of(estimator: Any, y: Any) -> int:
    """Return how many scores every row has."""
    values = np.asarray(y)
    if getattr(estimator, "_estimator_type", None) == "regressor" or values.ndim == 2:
        return int(values.shape[1]) if values.ndim == 2 else 1
    if values.dtype.names is not None or not hasattr(estimator, "predict_proba"):
        return 1
    n_classes = np.unique(values).size
    return 1 if n_classes <= 2 else n_classes


def estimate_of(design: Design, estimator: Any, outputs: int = 1) -> MemoryEstimate:
    """Return the estimate for a design."""
    n_samples, n_features = design.shape
    methods, n_selections = _selections_of(estimator, design)
    vectors = sum(_VECTORS[one][design.is_sparse] for one in methods) / len(methods)
    vectors += 2.0 * (outputs - 1)
    gathered = sum(_COPIES[one] * _columns_of(estimator, one, design) for one in methods)
    gathered *= 8 * n_samples * outputs / len(methods)
    if design.is_sparse:
        gathered *= min(1.0, FULLER * design.density)
    if n_selections > 1:
        times = LOCKSTEP[0] + LOCKSTEP[1] * n_selections
        vectors, gathered = times * vectors, times / 2.0 * gathered
    parts = {
        "process": 0.0,
        "X": design.resident_bytes,
        "blocks": design.read_bytes,
        "conversion": design.conversion_bytes(for_descent=any("l1" in one for one in methods)),
        "features": 8.0 * vectors * n_features,
        "gathered": gathered,
        "other": SMALL + 8.0 * 40 * n_samples * outputs,
    }
    parts["process"] = max(0, used_memory() - parts["X"])
    return MemoryEstimate({name: round(size) for name, size in parts.items()}, available_memory())


def _selections_of(estimator: Any, design: Design) -> tuple[list[str], int]:
    """Return the lines of the tables that a fit needs, and how many selections run at a time.

    Folds repeat a selection to compare values of C or methods, or next to it to scale its models.
    """
    from sklearn.base import is_classifier

    from ..solvers.folds import FOLDS, GRID, JUDGING

    inner, n_samples = getattr(estimator, "estimator", estimator), design.shape[0]
    if not hasattr(inner, "_plan"):  # no choice of a method
        return ["measure" if hasattr(inner, "measure") else "l1_model"], 1
    plan = inner._plan()
    compared = plan.compared(_largest(estimator, design), n_samples)
    found = [one.name if one.name in _VECTORS else NOT_MEASURED for one in compared]
    if len(found) > 1:
        return found, len(found) * (FOLDS.folds if n_samples < JUDGING.auto_rows else 1)
    if plan.tuned:
        return found, FOLDS.folds * len(GRID)
    scaled = plan.scaled
    if is_classifier(inner) and plan.counts != "both":
        automatic = inner.calibrate == "auto"
        scaled = n_samples < JUDGING.auto_rows if automatic else bool(inner.calibrate)
    return found, FOLDS.folds + 1 if scaled else 1


def _columns_of(estimator: Any, method: str, design: Design) -> int:
    """Return how many columns a fit gathers."""
    n_samples, n_features = design.shape
    largest = _largest(estimator, design)
    if method in ("l1", "reweighted-l1", "l1_model"):
        largest = max(largest, min(n_samples, 100))
    factor = 1 if method == "greedy" else POOL_FACTOR
    return min(n_features, max(factor * largest, POOL_MIN))


def _largest(estimator: Any, design: Design) -> int:
    """Return the largest number of features, or of groups, that a fit selects."""
    from .sizes import is_automatic, ladder

    sizes = getattr(estimator, "n_features", None)
    if sizes is None:
        sizes = getattr(estimator, "n_groups", None)
    if is_automatic(sizes):
        return max(ladder(*design.shape, 0))
    return int(np.max(sizes)) if isinstance(sizes, _NUMBERS) else 10


def is_noticed(shape: tuple[int, int]) -> bool:
    """Return whether a fit on data of this shape may need memory worth an estimate."""
    return shape[0] * shape[1] >= NOTICED // 64 or shape[1] >= NOTICED // 512


def warn_of_memory(design: Design, estimator: Any, labels: np.ndarray, stacklevel: int) -> None:
    """Warn where a fit will need more memory than there is.

    A warning and no error: the estimate may be wrong, and systems give more than they have.
    """
    estimate = estimate_of(design, estimator, outputs_of(estimator, labels))
    if estimate.fit > NOTICED and not estimate.fits:
        warnings.warn(
            f"This fit will need about {estimate}. Ask for fewer features, or fit where there is "
            "more memory.",
            MemoryWarning,
            stacklevel=stacklevel + 1,
        )
