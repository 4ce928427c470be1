"""What a cross-validation found: scores of every size, and the rules that choose one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from ..core import validation as validate
from ..core.types import FloatArray
from .folds import EQUAL, RULES

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
    # without features, which is 1/2 without covariates; of others baseline_deviance less deviance.
    advantage: FloatArray
    advantage_error: FloatArray  # (n_sizes,) standard error of its mean, see `better_than_chance`
    degrees: float = 0.0  # of freedom of that error
    # (n_sizes, n_folds): mean loss of a held-out sample, the less the better, and (n_folds,) that
    # of the model without features. "log_loss", after the one factor of the margins of all folds
    # that is best for the size; "squared_error" (half of it), or half the "deviance" of another
    # loss; "partial_likelihood", minus the logarithm of it by event, of the samples held out
    # together. None of the models of a measure, and where a fold did not see a class.
    deviance: FloatArray | None = None
    baseline_deviance: FloatArray | None = None
    deviance_name: str | None = None
    asked: bool = False  # whether the user said what scores
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

        Of a size that was not chosen by these folds: mean(advantage) > limit_of_chance() e. Of
        classes, with d_f the advantage in fold f of F, and s their standard deviation,

            e = s sqrt(1/F + r),  r the held-out weight over the training's

        (1 / (F - 1) of F equal folds), as folds share most of their training rows: over sets of
        noise the mean spreads 1.2 to 1.6 times as far as s / sqrt(F) says. Of one fold s is 0.

        Of numbers, counts and survival times, with d_i the loss of held-out sample i (or event)
        without features less that with them, and c_i its part of the mean,

            e^2 = n / (n - 1) sum_i c_i^2 (d_i - mean(d))^2,

        samples of one of `groups`, and repeats of a sample, summed before the square. A weight is
        no number of samples: it is in c_i alone.

        How often noise passes is in benchmarks/results/chance.md; what does not pass may still be
        more than chance, as `permutation_test` tells with more power.

        Sources: Nadeau and Bengio, Inference for the generalization error, Machine Learning 52
        (2003). Bayle, Bayle, Janson and Mackey, Cross-validation confidence intervals for test
        error, NeurIPS 2020.
        """
        return np.asarray(
            self.advantage.mean(axis=1) > self.limit_of_chance() * self.advantage_error
        )

    def limit_of_chance(self, compared: int = 1) -> float:
        """Return how many of its errors an advantage must have to be more than chance.

        The quantile of Student's t that noise exceeds once in 20 times, with F - 1 degrees of
        freedom of classes in F folds, else n - 1 of n samples, events or groups.

        compared : how many sizes the folds chose one of: the best of them has more by chance. The
            probability is shared by sqrt(compared), as sizes that share folds and features are no
            independent tries: noise passes in 1 to 8 % of the sets, as one size does; by `compared`
            itself (Bonferroni) in up to 6 %, and weak signals less than half as often
            (benchmarks/results/chance.md).
        """
        if self.degrees < 1:
            return 0.0
        return float(stdtrit(self.degrees, 1.0 - LEVEL / np.sqrt(compared)))

    @property
    def chosen_by(self) -> str:
        """What `choose` compares sizes by: `deviance_name`, or the `measure` that was asked for."""
        by_measure = self.asked or self.deviance_name is None
        return self.measure if by_measure else str(self.deviance_name)

    @property
    def compared(self) -> FloatArray:
        """What `choose` compares, the larger the better, (n_sizes, n_folds): see `chosen_by`."""
        if self.asked or self.deviance is None:
            return self.scores
        return np.asarray(-self.deviance)

    def choose(self, rule: str = "1se", among: Sequence[Any] | None = None) -> Any:
        """Return the size that a rule takes, by `chosen_by`.

        rule : "best", the size of the best mean over the folds, the smallest of equal ones; or
            "1se", the smallest size that is worse by at most one standard error of the difference,
            which is that of the differences in the folds. Of pairs the fewest groups are the
            smallest, then the fewest features.
        among : the sizes to choose from; None: all.
        """
        validate.check_option("rule", rule, RULES)
        if self.scores.shape[1] < 2:
            raise ValueError(
                f"cv must give at least two folds to choose a size; got {self.scores.shape[1]}."
            )
        scores = self.compared
        if np.isnan(scores).any():
            fold = int(np.isnan(scores).any(axis=0).argmax())
            raise ValueError(
                f"scores must be numbers to choose a size; {self.chosen_by!r} is NaN for the rows "
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
        found = best = int(np.argmax(mean >= mean.max() - slack))
        if rule == "1se":
            with np.errstate(invalid="ignore"):  # losses may have overflowed
                behind = scores[best] - scores
            error = standard_error(behind, self.repeats)
            found = int(np.argmax(mean >= mean[best] - error - slack))
        return self.sizes[order[found]]


def standard_error(scores: FloatArray, repeats: float = 1.0) -> FloatArray:
    """Return the standard error of means over folds, (n_sizes,), as of `CrossValidation`.

    scores : (n_sizes, n_folds). repeats : how often a row is held out.
    """
    with np.errstate(invalid="ignore"):  # scores may have overflowed
        return np.asarray(scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1] / repeats))


def corrected_error(advantage: FloatArray, shared: float) -> FloatArray:
    """Return the standard error of means over folds that share training rows, (n_sizes,).

    advantage : (n_sizes, n_folds). shared : the held-out weight over that of training.
    """
    n_folds = advantage.shape[1]
    if n_folds < 2:
        return np.zeros(len(advantage))
    return np.asarray(advantage.std(axis=1, ddof=1) * np.sqrt(1.0 / n_folds + shared))
