"""What models without features do on held-out rows, and scores that tell chance from worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from ..core.ranking import predicted
from ..core.results import Path
from ..core.types import Design, FloatArray
from ..data.operations import margins
from ..solvers import Task
from ..solvers.procedures.judge import without_features


def margins_without_features(tasks: Sequence[Task], design: Design) -> FloatArray:
    """Return the margins of rows by the models of no features, (n_samples, n_models)."""
    parts = []
    for task in tasks:
        intercept, effects = without_features(task)
        parts.append(np.tile(np.atleast_1d(intercept), (design.shape[0], 1)))
        if task.covariates.size:
            parts[-1] = margins(design, task.covariates, np.atleast_2d(effects).T, intercept)
    return np.hstack(parts)


def scores_of_shares(
    labels: np.ndarray, weight: FloatArray, classes: np.ndarray, *, normalised: bool
) -> FloatArray:
    """Return the scores of classes by their shares in the training rows, (1 or n_classes,).

    normalised : whether the probabilities of several classes are the softmax of their scores; else
        scores are log-odds.
    """
    share = np.array([weight[labels == one].sum() for one in classes]) / weight.sum()
    if len(classes) == 2:
        return np.asarray(np.log(share[1:] / share[:1]))
    return np.asarray(np.log(share) if normalised else np.log(share / (1.0 - share)))


def log_odds_of_softmax(z: FloatArray) -> FloatArray:
    """Return the log-odds of each class against all others, (n_samples, n_classes)."""
    columns = range(z.shape[1])
    others = [logsumexp(np.delete(z, column, axis=1), axis=1) for column in columns]
    return np.asarray(z - np.column_stack(others))


def balanced_accuracy(found: np.ndarray, labels: np.ndarray, weight: FloatArray) -> float:
    """Return the mean, over the classes of the rows, of the share of theirs that is found."""
    right = weight * (found == labels)
    parts = [labels == one for one in np.unique(labels)]
    return float(np.mean([right[part].sum() / weight[part].sum() for part in parts]))


def auc_of_classes(
    z: FloatArray, labels: np.ndarray, classes: np.ndarray, weight: FloatArray
) -> float:
    """Return the area under the ROC curve, of several classes the mean of each against the rest.

    z : (n_samples, 1) scores of the second of two classes, or (n_samples, n_classes). Classes
        without rows, or without others, are left out; NaN where none is left.
    """
    found = []
    for column, one in enumerate(classes[1:] if z.shape[1] == 1 else classes):
        positive = labels == one
        # Rows of equal scores count by half.
        values, place = np.unique(z[:, column], return_inverse=True)
        up = np.bincount(place, weight * positive, values.size)
        down = np.bincount(place, weight * ~positive, values.size)
        pairs = up.sum() * down.sum()
        if pairs > 0:
            found.append(float(up @ (np.cumsum(down) - 0.5 * down)) / pairs)
    return float(np.mean(found)) if found else float("nan")


@dataclass(frozen=True, slots=True)
class Fold:
    """The held-out rows of a fold, and the models that did not see them."""

    paths: list[Path]
    design: Design
    without_features: FloatArray  # (n, n_models) the scores of the model of no features
    training_weight: float
    labels: np.ndarray
    weight: FloatArray
    offset: FloatArray | None
    classes: np.ndarray  # of the scores
    names: np.ndarray  # the same with the positive one of two last
    reversed: bool  # whether that turned them round
    normalised: bool  # whether the softmax of several scores are probabilities

    def root_mean_square_error(self, z: FloatArray) -> float:
        """Return how far predictions (n, 1) are from the target, NaN of several responses."""
        if z.shape[1] > 1:
            return float("nan")
        predicted = z[:, 0] if self.offset is None else z[:, 0] + self.offset
        return float(np.sqrt(np.average((self.labels - predicted) ** 2, weights=self.weight)))

    def separation(self, z: FloatArray) -> tuple[float, float]:
        """Return balanced accuracy and AUC of the scores of classes."""
        found = self.classes[predicted(z)]
        if self.normalised and z.shape[1] > 1:  # only the probability of a class orders the rows
            z = log_odds_of_softmax(z)
        return (
            balanced_accuracy(found, self.labels, self.weight),
            auc_of_classes(z, self.labels, self.classes, self.weight),
        )
