"""Cox's proportional hazards with an l1 penalty, C chosen by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import validation as validate
from ..core.types import FloatArray, Likelihood
from ..solvers.l1.held_out import HeldOut, added_deviance_of
from .l1_folds import Fold, L1Folds
from .parameters import with_parameters
from .survival import SurvivalModel, concordance

SCORINGS = ("deviance", "c_index")


@with_parameters
class L1SurvivalAnalysisCV(L1Folds, SurvivalModel):
    """Cox's proportional hazards with an l1 or elastic net penalty, C chosen by cross-validation.

    The problem of `L1SurvivalAnalysis` for every C of a growing grid; the model is that of the
    chosen C. All folds and the whole data are followed in the same passes over X, as in
    `L1ClassifierCV`, whose twin this is.

    Parameters
    ----------
    Cs, rule, random_state
        As in `L1ClassifierCV`.
    cv : int, scikit-learn splitter, or (train, test) pairs of row numbers
        So many folds of the rows of positive weight, with the events in equal shares; the others
        number all rows of X.
    scoring : "deviance" or "c_index"
        Of the held-out rows. The former is the deviance that they add to that of the rows of
        training, both at the fold's model, per held-out event: a partial likelihood of few rows
        alone compares few pairs. The smaller the better, as in glmnet. "c_index" is Harrell's C
        among the held-out rows.
    l1_ratio, penalty_factor, signs, standardize, tol, max_iter, n_threads, checkpoint,
    ties
        As in `L1SurvivalAnalysis`; tol and max_iter hold at every C.

    Attributes
    ----------
    As of `L1ClassifierCV`, without those of classes and of the intercept, and of
    `L1SurvivalAnalysis`.

    Warns
    -----
    ConvergenceWarning
        Where the model of C_ stopped at a gap of more than twice `tol` (and more than 1e-9).

    References
    ----------
    Verweij and van Houwelingen, Cross-validation in survival analysis, Statistics in Medicine 12,
    1993. Simon, Friedman, Hastie and Tibshirani, as in `L1SurvivalAnalysis`.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import L1SurvivalAnalysisCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 40))
    >>> time = rng.exponential(np.exp(X[:, 3] - X[:, 7]))
    >>> y = np.rec.fromarrays([time < 2, np.minimum(time, 2)], names="event,time")
    >>> model = L1SurvivalAnalysisCV().fit(X, y)
    >>> {3, 7} <= set(model.support_.tolist())
    True
    """

    scoring: str = "deviance"
    ties: str = "breslow"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validate.check_option("scoring", self.scoring, SCORINGS)

    def _shared_by_folds(self, labels: np.ndarray) -> np.ndarray:
        """Return what folds have in equal shares: the events."""
        return self._strata(labels, self.cv)

    def _held_out(self, fold: Fold, classes: Any, loss: Likelihood) -> HeldOut:
        """Return what scores the rows that a fold holds out."""
        y, rows = fold.data.labels, fold.test
        held = np.bincount(rows, fold.weight, len(y)).astype(np.float64)
        for part, deed in ((fold.drawn, "leave"), (held, "hold out")):
            if not (part @ y[:, 1] > 0):
                raise ValueError(
                    f"cv must {deed} an event in every fold; fold {fold.number} has none. Use "
                    "fewer folds."
                )
        validate.check_events(y[fold.learnt])
        if self.scoring == "deviance":
            everything = np.arange(len(y))
            return HeldOut(everything, 1, added_deviance_of(loss, y, fold.drawn, held))
        own, weight = y[rows], fold.weight

        def c_index(margins: FloatArray) -> float:
            return concordance(own, margins[:, 0], weight)

        return HeldOut(rows, 1, c_index)
