"""Losses of a labelling or a ranking as a whole: F1, precision at k, PRBEP, AUC, average precision.

A measure is the structured hinge loss of all scores z = Xu + b at once,

    R(z) = max(0, max_{y'} Delta(y, y') - sum_i (y_i - y'_i) z_i),

Delta the loss of the labelling y' in percent (of `Hamming`: twice the number of errors, so that R
is twice the sum of hinge losses); of AUC and average precision y' is a ranking and the sum runs
over pairs. R is convex and not below Delta of what the scores predict. A solver asks for one thing,
the most violated labelling at some scores, as the cut R(z') >= delta - beta'z' that it gives.

A measure of one's own that depends on the numbers of true and false positives is a `Contingency`.

Sources: Joachims, A support vector method for multivariate performance measures, ICML 2005; Yue,
Finley, Radlinski and Joachims, A support vector method for optimizing average precision, SIGIR
2007.
The searches of F_beta and of average precision are O(n log n) here, not O(n^2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import validation as validate
from ..core.errors import InPython, Message, ParameterError
from ..core.types import FloatArray
from .base import AUC, AveragePrecision, Cut, Hamming, Measure, Weight
from .contingency import PRBEP, Contingency, FBeta, PrecisionAt, RecallAt

__all__ = [
    "AUC",
    "PRBEP",
    "AveragePrecision",
    "Contingency",
    "Cut",
    "FBeta",
    "Hamming",
    "Measure",
    "PrecisionAt",
    "RecallAt",
    "macro_average",
    "parse_measure",
]


def macro_average(
    measure: Measure,
    scores: FloatArray,
    labels: np.ndarray,
    classes: np.ndarray,
    weight: Weight = None,
    *,
    chance: bool = False,
) -> float:
    """Return the measure of scores, (n_samples, n_models), the mean over the models.

    labels : (n_samples,) of `classes`; each must have a row, and rows of other classes.
    chance : of a model that knows nothing of the rows instead of the scores.
    """
    positives = classes[1:] if scores.shape[1] == 1 else classes
    if weight is not None and not np.any(weight != 1.0):
        weight = None
    if weight is not None and not measure.weighted:
        rows = weight > 0
        if np.any(weight[rows] != 1.0):
            raise ParameterError(
                "sample_weight",
                f"must be 0 or 1 for {measure.name!r}, which counts rows",
                f"weights from {weight.min():g} to {weight.max():g}",
            )
        scores, labels, weight = scores[rows], labels[rows], None
    found = []
    for column, label in enumerate(positives):
        y = np.where(labels == label, 1.0, -1.0)
        if abs(float(y.sum())) == y.size:
            raise ParameterError(
                "y",
                f"must have rows of class {validate.plain(label)!r} and of others for "
                f"{measure.name!r}",
                f"{int((y > 0).sum())} of {y.size}",
            )
        one = measure.chance(y, weight) if chance else measure.score(y, scores[:, column], weight)
        found.append(one)
    return float(np.mean(found))


NAMES = "hamming, f1 (f2, f0.5, ...), precision@K, recall@K, prbep, auc or ap"


def parse_measure(measure: str | Measure) -> Measure:
    """Return the measure of a name, or the measure itself.

    Names are "hamming", "f1" and other "f<beta>", "precision@K" and "recall@K" with a number K of
    rows or "2p" (twice the positives), "prbep", "auc", "ap".
    """
    if isinstance(measure, Measure):
        return measure
    simple: dict[str, type[Any]] = {
        "hamming": Hamming,
        "prbep": PRBEP,
        "auc": AUC,
        "ap": AveragePrecision,
    }
    if isinstance(measure, str):
        name, _, k = measure.lower().partition("@")
        if name in simple and "@" not in measure:
            found: Measure = simple[name]()
            return found
        if name in ("precision", "recall") and k:
            count: int | str = int(k) if k.isdecimal() else k
            return PrecisionAt(count) if name == "precision" else RecallAt(count)
        if name.startswith("f") and "@" not in measure:
            try:
                return FBeta(float(name[1:]))
            except ValueError:
                pass
    raise ParameterError(
        "measure", Message(f"must be {NAMES}", InPython(", or a Measure")), f"{measure!r}"
    )
