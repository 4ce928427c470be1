"""What the rows that a fold holds out say of bi-level models, of any loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..core import validation as validate
from ..core.ranking import numbered
from ..core.types import FloatArray, IndexArray
from ..data import Rows
from ..data.filled import filled_over
from ..estimators.rowwise import Rowwise
from ..estimators.sparse_linear import Model, margins_of
from ..estimators.survival import SurvivalModel, concordance
from ..solvers.l1.held_out import CLASSIFIED, SCORES, added_deviance_of, multinomial_log_loss

SCORES_OF_NUMBERS, SCORES_OF_SURVIVAL = ("squared_error", "deviance"), ("deviance", "c_index")


def scoring_of(estimator: Any, scoring: str | None) -> str:
    """Return what scores the models of an estimator; None: what its loss is compared by.

    Raises
    ------
    ValueError
        Where the estimator cannot be scored by it.
    """
    survival = isinstance(estimator, SurvivalModel)
    if not is_classifier(estimator):
        known = SCORES_OF_SURVIVAL if survival else SCORES_OF_NUMBERS
        validate.check_option("scoring", scoring, [None, *known])
        squared = not survival and estimator._loss().quadratic
        return scoring or ("squared_error" if squared else "deviance")
    validate.check_option("scoring", scoring, [None, *CLASSIFIED])
    gives = hasattr(estimator, "predict_proba")
    if scoring == "log_loss" and not gives:
        raise ValueError(
            f"scoring={scoring!r} is not for a classifier with loss={estimator.loss!r}; use "
            "'accuracy' or 'auc'."
        )
    return scoring or ("log_loss" if gives else "accuracy")


class Judge:
    """Scores of the models of a fold on the rows that it holds out."""

    def __init__(self, estimator: Any, scoring: str, data: Rowwise) -> None:
        """Begin with all rows: the widths of Huber's loss and of quantiles follow from them."""
        self.estimator, self.scoring, self.data = estimator, scoring, data
        self.loss: Any = None
        if not is_classifier(estimator):
            loss, rows = estimator._loss(), np.flatnonzero(data.sample_weight > 0)
            y, weight = self._by_output(rows)
            if data.offset is not None:
                y, _ = loss.with_offset(y, np.resize(data.offset[rows], y.size))
            self.loss = loss.fitted(y, weight)

    def score(
        self,
        models: Sequence[Model],
        fold: tuple[IndexArray, IndexArray],
        classes: np.ndarray | None,
    ) -> float:
        """Return the score of models, of each class one or of all of them.

        fold : the rows of training, and those held out.
        """
        train, test = fold
        design = filled_over(self.data.design, train)
        if classes is not None:
            return self._score_of_classes(models, Rows(design, test), classes)
        if isinstance(self.estimator, SurvivalModel):
            return self._score_of_times(margins_of(models, design), fold)
        z = margins_of(models, Rows(design, test))
        if self.data.offset is not None:
            z = z + self.data.offset[test, None]
        y, weight = self._by_output(test)
        if self.scoring == "squared_error":
            mean = self.loss.mean(z).T.ravel()
            return SCORES["squared_error"](mean[:, None], y, weight)
        return float(self.loss.deviance(z.T.ravel(), y, weight)) / float(weight.sum())

    def _score_of_classes(
        self, models: Sequence[Model], held_out: Rows, classes: np.ndarray
    ) -> float:
        margins, test = margins_of(models, held_out), held_out.index
        z = self.estimator._class_scores(margins)
        judge = SCORES[self.scoring]
        if self.scoring == "log_loss" and len(models) < margins.shape[1]:  # one model of all
            judge = multinomial_log_loss
        codes = numbered(self.data.labels[test], classes)
        return judge(z, codes, self.data.sample_weight[test])

    def _score_of_times(self, z: FloatArray, fold: tuple[IndexArray, IndexArray]) -> float:
        y, weight = self.data.labels, self.data.sample_weight
        _, test = fold
        if self.scoring == "c_index":
            return concordance(y[test], z[test, 0], weight[test])
        learnt, held = (np.bincount(rows, weight[rows], len(y)).astype(np.float64) for rows in fold)
        return added_deviance_of(self.loss, y, learnt, held)(z)

    def check(self, number: int, test: IndexArray) -> None:
        """Raise ValueError where a fold holds out nothing that can be scored."""
        of_times = isinstance(self.estimator, SurvivalModel)
        if of_times and not (self.data.labels[test, 1] > 0).any():
            raise ValueError(
                f"cv must hold out an event in every fold; fold {number} has none. Use fewer folds."
            )

    def _by_output(self, rows: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return target and weights of some rows, one output after the other."""
        y, weight = self.data.labels[rows], self.data.sample_weight[rows]
        if y.ndim == 1 or isinstance(self.estimator, SurvivalModel):
            return y, weight
        return y.T.ravel(), np.tile(weight, y.shape[1])
