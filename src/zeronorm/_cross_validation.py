"""What a cross-validation found: scores of every size, and the rules that choose one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from . import validate
from ._folds import EQUAL, RULES, best_and_near
from ._typing import FloatArray

LEVEL = 0.05  # of the sets of noise, how many may pass for more than chance


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """Scores on held-out rows, for every size of the budget, and what they are without features."""

    # They are the keys of `path_`: numbers, or pairs of features and groups. Without a budget the
    # only size is the number of usable columns.
    sizes: tuple[Any, ...]
    scores: FloatArray  # (n_sizes, n_folds) weighted accuracy, or the measure
    measure: str
    # The score of the model without features on the same rows, (n_folds,): of the largest class of
    # the training rows for all, of their mean (or what the loss has for it), of the covariates
    # alone where there are any; of a measure of classes what it is by chance, see `Measure.chance`.
    baseline: FloatArray
    # (n_sizes, n_folds) what `better_than_chance` is of: of classes AUC less that of the model
    # without features, which is 1/2 without covariates; of others score less baseline.
    advantage: FloatArray
    advantage_error: FloatArray  # (n_sizes,) standard error of its mean, see `better_than_chance`
    # Of classifiers, (n_sizes, n_folds): the mean over the classes of the share of their rows that
    # is predicted right, and the area under the ROC curve (of several classes the mean of each
    # against the others; NaN where the held-out rows are of one class).
    balanced_accuracy: FloatArray | None = None
    auc: FloatArray | None = None
    # Of numbers, (n_sizes, n_folds): the square root of the mean squared error, in the units of the
    # target (NaN of several responses), and (n_folds,) that of the model without features.
    rmse: FloatArray | None = None
    baseline_rmse: FloatArray | None = None
    repeats: float = 1.0  # how often a row is held out: r of folds that are drawn r times

    @property
    def mean(self) -> FloatArray:
        """Mean over the folds, (n_sizes,)."""
        return np.asarray(self.scores.mean(axis=1))

    @property
    def standard_error(self) -> FloatArray:
        """The standard error of `mean`, (n_sizes,).

        With s the standard deviation over the F folds, and R how often a row is held out,

            s / sqrt(F / R):

        F / R folds hold out other rows, and count as independent. Repeats of them hold out the
        same rows: they take the chance of the division out of `mean`, and add no rows to it, so
        that more of them make it no smaller. Neither does the variance s^2 (1/F + r) of Nadeau and
        Bengio (2003) go to 0 as F grows, r the held-out rows over those of training, for these are
        other divisions of the same rows.

        Source: Breiman et al., Classification and regression trees, 1984, section 3.4.3, for R = 1.
        """
        return standard_error(self.scores, self.repeats)

    @property
    def better_than_chance(self) -> np.ndarray:
        """Whether `advantage` is more than chance has in 19 of 20 sets of noise, (n_sizes,).

        Of a size that was not chosen by these folds: with d_f the advantage in fold f of F, and s
        their standard deviation,

            mean(d) > limit_of_chance() s sqrt(1/F + r),  r the held-out weight over the training's

        (1 / (F - 1) of F equal folds), as folds share most of their training rows: over sets of
        noise the mean spreads 1.2 to 1.6 times as far as s / sqrt(F) says. Of one fold s is 0. How
        often noise passes is in benchmarks/results/chance.md; what does not pass may still be
        more than chance, as `permutation_test` tells with more power.

        Source: Nadeau and Bengio, Inference for the generalization error, Machine Learning 52
        (2003).
        """
        return np.asarray(
            self.advantage.mean(axis=1) > self.limit_of_chance() * self.advantage_error
        )

    def limit_of_chance(self, compared: int = 1) -> float:
        """Return how many of its errors an advantage must have to be more than chance.

        The quantile of Student's t with F - 1 degrees of freedom that noise exceeds once in 20
        times, as the corrected test of Nadeau and Bengio has it.

        compared : how many sizes the folds chose one of: the best of them has more by chance. The
            probability is shared by sqrt(compared), as sizes that share folds and features are no
            independent tries: noise passes in 1 to 8 % of the sets, as one size does; by `compared`
            itself (Bonferroni) in up to 6 %, and weak signals less than half as often
            (benchmarks/results/chance.md).
        """
        n_folds = self.advantage.shape[1]
        if n_folds < 2:
            return 0.0
        return float(stdtrit(n_folds - 1, 1.0 - LEVEL / np.sqrt(compared)))

    @property
    def chosen_by(self) -> str:
        """The score by which `choose` compares sizes: `measure`, or "auc" in place of accuracy.

        The latter where no size is more accurate than the largest class alone by more than two
        standard errors: with few positives all sizes are as accurate, however well they rank.
        """
        if self.measure != "accuracy" or self.auc is None or np.isnan(self.auc).any():
            return self.measure
        gain = self.scores - self.baseline
        better = gain.mean(axis=1) > 2.0 * standard_error(gain, self.repeats)
        return "accuracy" if better.any() else "auc"

    def choose(self, rule: str = "1se", among: Sequence[Any] | None = None) -> Any:
        """Return the size that a rule takes, by the score `chosen_by`.

        rule : "1se", the smallest size whose mean is within one standard error of the best mean; or
            "best", the size of the best mean, the smallest of equal ones. Of pairs the fewest
            groups are the smallest, then the fewest features.
        among : the sizes to choose from; None: all.
        """
        validate.check_option("rule", rule, RULES)
        if self.scores.shape[1] < 2:
            raise ValueError(
                f"cv must give at least two folds to choose a size; got {self.scores.shape[1]}."
            )
        scores = self.scores if self.auc is None or self.chosen_by != "auc" else self.auc
        if np.isnan(scores).any():
            fold = int(np.isnan(scores).any(axis=0).argmax())
            raise ValueError(
                f"scores must be numbers to choose a size; {self.measure!r} is NaN for the rows "
                f"held out of fold {fold}. Use fewer folds, or another score."
            )
        sizes = [size if isinstance(size, tuple) else (size,) for size in self.sizes]
        places = [at for at, size in enumerate(self.sizes) if among is None or size in among]
        if not places:
            raise ValueError(f"among must have one of the sizes {self.sizes}; got {among!r:.80}.")
        order = sorted(places, key=lambda at: sizes[at][::-1])
        scores = scores[order]
        mean = scores.mean(axis=1)
        slack = EQUAL * max(1.0, float(np.abs(mean).max(where=np.isfinite(mean), initial=0)))
        best, near = best_and_near(mean, standard_error(scores, self.repeats), slack)
        return self.sizes[order[near if rule == "1se" else best]]


def standard_error(scores: FloatArray, repeats: float = 1.0) -> FloatArray:
    """Return the standard error of means over folds, (n_sizes,), as of `CrossValidation`.

    scores : (n_sizes, n_folds). repeats : how often a row is held out.
    """
    with np.errstate(invalid="ignore"):  # scores may have overflowed
        return np.asarray(scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1] / repeats))
