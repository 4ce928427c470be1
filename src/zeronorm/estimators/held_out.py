"""A selection on folds: what judges held-out rows, and the scores of every size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp, stdtrit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import get_scorer
from sklearn.utils.metaestimators import available_if

from ..core import validation as validate
from ..core.errors import ParameterError
from ..core.ranking import numbered, predicted
from ..core.results import Path
from ..core.targets import check_pos_label
from ..core.types import Design, FloatArray, IndexArray
from ..data import Rows, filled_over
from ..data.operations import margins
from ..losses import Responses
from ..measures import Measure, macro_average, parse_measure
from ..solvers import Task
from ..solvers.folds import OfClasses, members, without_features
from .base import gives_probabilities, margins_of
from .folds import EQUAL, RULES, Folded, check_folds, repeats_of, splits
from .problem import Problem, TrainingData
from .sizes import FOLDS, is_automatic

# What a cross-validation found: scores of every size, and the rules that choose one.

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
            raise ParameterError(
                "cv", "must give at least two folds to choose a size", f"{self.scores.shape[1]}"
            )
        scores = self.compared
        if np.isnan(scores).any():
            fold = int(np.isnan(scores).any(axis=0).argmax())
            raise ParameterError(
                "scores",
                f"must be numbers to choose a size; {self.chosen_by!r} is NaN for the rows held "
                f"out of fold {fold}",
                "",
                "Use fewer folds, or another score.",
            )
        sizes = [size if isinstance(size, tuple) else (size,) for size in self.sizes]
        places = [at for at, size in enumerate(self.sizes) if among is None or size in among]
        if not places:
            raise ParameterError(
                "among", f"must have one of the sizes {self.sizes}", f"{among!r:.80}"
            )
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


# What models without features do on held-out rows, and scores that tell chance from worth.


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


# What held-out samples say of models: their losses, beside those of the model without features.

LOG_LOSS, SQUARED, DEVIANCE, PARTIAL = (
    "log_loss", "squared_error", "deviance", "partial_likelihood",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OfLabels:
    """Log-losses of classes by margins, with the one factor of all folds that is best.

    That of the model without features is 1: no feature was chosen for it.
    """

    judge: OfClasses
    name: str = LOG_LOSS

    def losses(self, z: Sequence[FloatArray], *, null: bool = False) -> FloatArray:
        """Return the losses of margins of every fold, (n,)."""
        return self.judge.each(np.concatenate(z), scaled=not null)


@dataclass(frozen=True, slots=True)
class OfRows:
    """Losses of numbers and counts by margins."""

    loss: Any  # of one response
    y: FloatArray  # (n, n_responses) as the loss has it with an offset
    exposure: FloatArray  # (n, n_responses)

    @classmethod
    def of(cls, estimator: Any, y: FloatArray, weight: FloatArray, offset: Any) -> OfRows:
        """Return those of a target; the widths of Huber's loss and of quantiles follow from it."""
        loss, columns = estimator._loss(), np.atleast_2d(y.T)
        n_responses, n = columns.shape
        flat, exposure = columns.ravel(), np.ones(y.size)
        if offset is not None:
            flat, exposure = loss.with_offset(flat, np.resize(offset, flat.size))
        fitted = loss.fitted(flat, np.tile(weight, n_responses) * exposure)
        each = (fitted.each if isinstance(fitted, Responses) else fitted).final
        shape = n_responses, n
        return cls(each, flat.reshape(shape).T, exposure.reshape(shape).T)

    @property
    def name(self) -> str:
        """What the losses are."""
        return SQUARED if self.loss.quadratic else DEVIANCE

    def losses(self, z: Sequence[FloatArray], *, null: bool = False) -> FloatArray:
        """Return the losses of margins of every fold, (n,)."""
        margins = np.concatenate(z)
        flat, y = margins.T.ravel(), self.y.T.ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            if self.loss.quadratic:
                found = 0.5 * (y - flat) ** 2
            elif hasattr(self.loss, "of_rows"):
                found = self.loss.of_rows(flat, y)[0]
            else:
                one = np.ones(1)
                values = (self.loss.value_gradient(flat[i : i + 1], y[i : i + 1], one)[0]
                          for i in range(y.size))  # fmt: skip
                found = np.fromiter(values, float, y.size)
        found = np.where(np.isnan(found), np.inf, found) * self.exposure.T.ravel()
        return np.asarray(found.reshape(margins.shape[1], -1).sum(axis=0))


@dataclass(frozen=True, slots=True)
class OfTimes:
    """Losses of events among the samples that are held out with them."""

    y: Sequence[FloatArray]  # of every fold, survival times
    weight: Sequence[FloatArray]
    efron: bool
    name: str = PARTIAL

    def losses(self, z: Sequence[FloatArray], *, null: bool = False) -> FloatArray:
        """Return the losses of margins of every fold, (n,)."""
        folds = zip(self.y, self.weight, z, strict=True)
        return np.concatenate(
            [losses_of_events(y, weight, own[:, 0], self.efron) for y, weight, own in folds]
        )


def losses_of_events(y: FloatArray, weight: FloatArray, z: FloatArray, efron: bool) -> FloatArray:
    """Return minus the logarithm that each event adds to Cox's partial likelihood, (n,).

        log(sum of s_j e^z_j over the samples at risk) - z_i,

    with Efron's ties the mean of these logarithms, as `Cox` has them; 0 of other samples.

    y : (n, 3) or (n, 4) as of `CoxOfEntries`. weight : (n,) s, positive.
    """
    found, size = np.zeros(len(y)), np.log(weight) + z
    for stratum in np.unique(y[:, 2]):
        rows = np.flatnonzero(y[:, 2] == stratum)
        rows = rows[np.argsort(-y[rows, 0], kind="stable")]
        time, event, own = y[rows, 0], y[rows, 1] > 0, size[rows]
        sums = np.logaddexp.accumulate(own)
        for t in np.unique(time[event]):
            end = np.searchsorted(-time, -t, side="right")
            if y.shape[1] > 3:
                total = np.logaddexp.reduce(own[:end][y[rows[:end], 3] < t])
            else:
                total = sums[end - 1]
            now = np.flatnonzero(event & (time == t))
            logarithm = total
            if efron and now.size > 1:
                share = np.exp(min(np.logaddexp.reduce(own[now]) - total, 0.0))
                logarithm = total + np.log1p(-np.arange(now.size) / now.size * share).mean()
            found[rows[now]] = logarithm - z[rows[now]]
    return found


class HeldOutLosses:
    """Losses of held-out samples, of the models of all sizes and of those without features.

    Each is minus what the sample adds to the log-likelihood, up to what depends on the target
    alone: the log-loss; half the squared error, or half of another deviance, the sum over the
    responses; of an event minus its logarithm in the partial likelihood of the samples held out
    with it, and of other survival times 0.
    """

    def __init__(
        self,
        judge: OfLabels | OfRows | OfTimes,
        null: Sequence[FloatArray],
        weight: FloatArray,
        fold: IndexArray,
        unit: IndexArray,
    ) -> None:
        """Begin without models of features.

        null : margins of every fold. weight : (n,) of the losses, one fold after the other. fold :
        (n,) the number of it. unit : (n,) samples with the same number count as one.
        """
        self.judge, self._of_classes = judge, isinstance(judge, OfLabels)
        total = np.bincount(fold, weight)
        self._n_folds = total.size
        # Each in the mean of its fold, where anything has a weight.
        self._share = weight / np.where(total > 0, total, 1.0)[fold]
        self._first = np.searchsorted(fold, np.arange(total.size))
        self._unit = np.unique(unit, return_inverse=True)[1]
        self._n_units = int(np.unique(unit[weight > 0]).size)
        self._null = judge.losses(null, null=True)
        self._by_fold: list[FloatArray] = []
        self._error: list[float] = []

    @classmethod
    def of(cls, folded: Folded, folds: Sequence[Fold]) -> HeldOutLosses | None:
        """Return those of the samples that folds hold out.

        None where there are none: of a measure, whose models are no probabilities, and of a class
        that a fold did not see.
        """
        estimator, data = folded.estimator, folded.data
        tests = [test for _, test in folded.folds]
        rows, weight = np.concatenate(tests), np.concatenate([fold.weight for fold in folds])
        judge: OfLabels | OfRows | OfTimes
        null = [fold.without_features for fold in folds]
        if is_classifier(estimator):
            of_row = data.sample_weight * estimator._unit(data.labels, data.sample_weight)
            weight = of_row[rows]
            codes = _codes(np.concatenate([fold.labels for fold in folds]), folds, weight)
            if codes is None or hasattr(estimator, "measure"):
                return None
            loss = folded.problems[0].tasks[0].loss
            kind = loss.name if loss.outputs > 1 or loss.own_intercepts else "each"
            judge = OfLabels(OfClasses(codes, weight, kind))
            null = []
            for problem, fold, (train, _) in zip(folded.problems, folds, folded.folds, strict=True):
                if problem.tasks[0].covariates.size or kind == "ordinal":
                    null.append(margins_without_features(problem.tasks, fold.design))
                    continue
                own = scores_of_shares(
                    data.labels[train], of_row[train], np.asarray(problem.classes),
                    normalised=kind != "each",
                )  # fmt: skip
                null.append(np.tile(own, (fold.weight.size, 1)))
        elif is_regressor(estimator):
            offset = None if data.offset is None else data.offset[rows]
            judge = OfRows.of(estimator, data.labels[rows], weight, offset)
        else:
            weights = [fold.weight for fold in folds]
            judge = OfTimes([fold.labels for fold in folds], weights, estimator.ties == "efron")
            weight = weight * (data.labels[rows, 1] > 0)
        number = np.repeat(np.arange(len(folds)), [test.size for test in tests])
        unit = rows if data.groups is None else data.groups[rows]
        return cls(judge, null, weight, number, unit)

    def take(self, margins: Sequence[FloatArray]) -> None:
        """Take the margins of the next size, of every fold, without an offset."""
        loss = self.judge.losses(margins)
        self._by_fold.append(self._means(loss))
        if not self._of_classes:
            self._error.append(self._error_of(self._null - loss))

    def figures(self) -> dict[str, Any]:
        """Return what `CrossValidation` has of them."""
        loss, null = np.array(self._by_fold), self._means(self._null)
        found = {"deviance": loss, "baseline_deviance": null, "deviance_name": self.judge.name}
        if self._of_classes:
            return found
        error = np.array(self._error)
        return found | {
            "advantage": null - loss, "advantage_error": error, "degrees": self._n_units - 1,
        }  # fmt: skip

    def _means(self, values: FloatArray) -> FloatArray:
        """Return the weighted mean in every fold, (n_folds,); 0 where nothing has a weight."""
        own = np.where(self._share > 0, values, 0.0) * self._share
        return np.asarray(np.add.reduceat(own, self._first))

    def _error_of(self, values: FloatArray) -> float:
        """Return the standard error of the mean over the folds of `_means`.

        With c_i the weight of a sample in that mean, d_i its value, and U units,

            sqrt( U / (U - 1) sum over units of (sum_{i of the unit} c_i (d_i - mean))^2 ).

        NaN of one unit.
        """
        if self._n_units < 2:
            return float("nan")
        share = self._share / self._n_folds
        with np.errstate(invalid="ignore", over="ignore"):
            own = np.where(share > 0, values, 0.0)
            of_unit = np.bincount(self._unit, share * (own - share @ own / share.sum()))
            return float(np.sqrt(self._n_units / (self._n_units - 1.0) * (of_unit @ of_unit)))


def _codes(labels: np.ndarray, folds: Sequence[Fold], weight: FloatArray) -> IndexArray | None:
    """Return the places of labels among the classes of the folds; None: not all have theirs."""
    classes = folds[0].classes
    if any(not np.array_equal(fold.classes, classes) for fold in folds):
        return None
    order = np.argsort(classes, kind="stable")
    place = order[np.minimum(np.searchsorted(classes[order], labels), classes.size - 1)]
    return None if (weight > 0)[classes[place] != labels].any() else place


# Margins of held-out rows as a fitted model, for scorers of scikit-learn.


class HeldOut(BaseEstimator):  # type: ignore[misc]
    """What scorers take for a fitted model: it knows the margins of the rows that are asked."""

    @staticmethod
    def of(estimator: Any, z: FloatArray, classes: np.ndarray, cut: float = 0.0) -> HeldOut:
        """Return one for held-out rows; z : scores of classes, or margins, offsets among them.

        cut : what has been subtracted from the scores of two classes, to predict from another one.
        """
        found = _Numbers() if is_regressor(estimator) else Risks()
        if is_classifier(estimator):
            found, found.classes_ = _Classes(), classes
            if z.shape[1] > 1:  # scorers take the sorted classes for the columns
                order = np.argsort(classes, kind="stable")
                z, found.classes_ = z[:, order], classes[order]
        found.estimator, found.z, found.cut = estimator, z, cut
        return found

    estimator: Any
    classes_: np.ndarray
    z: FloatArray
    cut: float

    def __sklearn_is_fitted__(self) -> bool:
        """Return True."""
        return True


class _Numbers(RegressorMixin, HeldOut):  # type: ignore[misc]
    def predict(self, X: np.ndarray) -> FloatArray:
        """Return the means."""
        means: FloatArray = self.estimator._loss().mean(self.z[X[:, 0]])
        return means[:, 0] if means.shape[1] == 1 else means


class Risks(HeldOut):
    """An estimator whose predictions on held-out rows are risks."""

    def predict(self, X: np.ndarray) -> FloatArray:
        """Return the risks."""
        return np.asarray(self.z[X[:, 0], 0])


def as_times(target: FloatArray) -> np.ndarray:
    """Return survival times as scorers take them, a structured array, of those of a fit."""
    time, event, stratum, *start = target.T
    columns: dict[str, Any] = {"event": event > 0, "time": time}
    if start:
        columns = {"start": start[0], "stop": time, "event": event > 0}
    if np.unique(stratum).size > 1:
        columns["stratum"] = stratum
    found = np.empty(len(target), [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        found[name] = values
    return found


def _gives_probabilities(held_out: HeldOut) -> bool:
    """Raise AttributeError where the margins are no log-odds."""
    return gives_probabilities(held_out.estimator)


class _Classes(ClassifierMixin, HeldOut):  # type: ignore[misc]
    def decision_function(self, X: np.ndarray) -> FloatArray:
        """Return the margins."""
        z = self.z[X[:, 0]] + self.cut
        return np.asarray(z[:, 0] if z.shape[1] == 1 else z)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the labels."""
        return np.asarray(self.classes_[predicted(self.z[X[:, 0]])])

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator,unused-ignore]
    def predict_proba(self, X: np.ndarray) -> FloatArray:
        """Return the probabilities, not calibrated."""
        found: FloatArray = self.estimator._probabilities(self.decision_function(X))
        return found


def validated(
    judge: Judge,
    data: TrainingData,
    cv: Any,
    pos_label: Any,
    random_state: int | None,
) -> CrossValidation:
    """Return the cross-validation of what is prepared."""
    posed = Validation.pose(judge, data, cv, pos_label, random_state)
    return posed.scored(posed.folded.run())


@dataclass(frozen=True, slots=True)
class Validation:
    """A cross-validation before it is run: the problems of its folds, and what scores them."""

    judge: Judge
    folded: Folded
    classes: list[np.ndarray]  # of each fold, in the order of its scores
    ordered: list[tuple[np.ndarray, bool]]  # as of `check_pos_label`
    labels: np.ndarray  # as scorers take them

    @classmethod
    def pose(
        cls, judge: Judge, data: TrainingData, cv: Any, pos_label: Any, random_state: int | None
    ) -> Validation:
        """Draw the folds and pose their problems; nothing is fitted."""
        validate.check_seed(random_state)
        estimator, labels = judge.estimator, data.labels
        # Groups are too coarse for quantiles of numbers.
        stratify = data.groups is None or not is_regressor(estimator)
        folds = splits(
            estimator._strata(labels, cv), data.sample_weight, cv, random_state,
            stratify=stratify, groups=data.groups,
        )  # fmt: skip
        folded = Folded.pose(estimator, data, folds)
        classes = [np.asarray(problem.classes) for problem in folded.problems]
        ordered = [(own, False) for own in classes]
        if is_classifier(estimator):
            ordered = [check_pos_label(own, pos_label) for own in classes]
        elif pos_label is not None:
            raise ParameterError("pos_label", "is of classes", f"{pos_label!r} for numbers")
        if judge.measure is not None:
            names = [one for one, _ in ordered]
            check_folds(judge.measure, labels, data.sample_weight, folds, names)
        if data.order is not None and min(map(len, classes)) > 2:
            # Scorers that measure distances of classes want their numbers, and sort the names.
            labels = numbered(labels, data.order)
            classes = [numbered(own, data.order) for own in classes]
            ordered = [(own, False) for own in classes]
        return cls(judge, folded, classes, ordered, labels)

    def held_out(self, number: int, paths: list[Path]) -> Fold:
        """Return what a fold holds out, and its models."""
        data, (train, test) = self.folded.data, self.folded.folds[number]
        return Fold(
            paths,
            Rows(filled_over(data.design, train), test),
            self.judge.without_features(self.folded.problems[number], data, train, test),
            float(data.sample_weight[train].sum()),
            self.labels[test],
            data.sample_weight[test],
            None if data.offset is None else data.offset[test],
            self.classes[number],
            *self.ordered[number],
            self.judge.normalised,
        )

    def scored(self, paths: Sequence[list[Path]]) -> CrossValidation:
        """Return the scores of the models of every fold."""
        folds = [self.held_out(number, own) for number, own in enumerate(paths)]
        return _scored(self.judge, self.folded, folds)


def _scored(judge: Judge, folded: Folded, folds: list[Fold]) -> CrossValidation:
    """Score the models of all folds, and beside them those without features."""
    sizes, shape = folded.sizes, (len(folded.sizes), len(folds))
    of_classes = is_classifier(judge.estimator)
    baseline = np.array([judge.baseline(fold) for fold in folds])
    scores, separation, error_of = np.empty(shape), np.empty((2, *shape)), np.empty(shape)
    held_out = HeldOutLosses.of(folded, folds)
    for row, k in enumerate(sizes):
        margins = [model_scores(fold.paths, k, fold.design) for fold in folds]
        if held_out is not None:
            held_out.take(margins)
        for column, fold in enumerate(folds):
            z = judge.class_scores(margins[column])
            scores[row, column] = judge.score(z, fold)
            if of_classes:
                separation[:, row, column] = fold.separation(z)
            elif judge.in_units:
                error_of[row, column] = fold.root_mean_square_error(z)
    beside: dict[str, Any] = {} if held_out is None else held_out.figures()
    if judge.in_units:
        without = [fold.root_mean_square_error(fold.without_features) for fold in folds]
        beside |= {"rmse": error_of, "baseline_rmse": np.array(without)}
    if of_classes:
        chance = np.array([fold.separation(fold.without_features) for fold in folds]).T
        # A fold may hold out rows of one class only, which have no order to be right about.
        told = int(not np.isnan(separation[1]).any())
        advantage = separation[told] - chance[told]
        shared = np.mean([fold.weight.sum() / fold.training_weight for fold in folds])
        beside |= {
            "balanced_accuracy": separation[0],
            "auc": separation[1],
            "advantage": advantage,
            "advantage_error": corrected_error(advantage, float(shared)),
            "degrees": len(folds) - 1,
        }
    tests = [test for _, test in folded.folds]
    return CrossValidation(
        sizes, scores, judge.name, baseline, **beside, asked=judge.asked, repeats=repeats_of(tests)
    )


@dataclass(frozen=True, slots=True)
class Judge:
    """What held-out rows are scored by."""

    estimator: Any
    name: str
    measure: Measure | None = None  # of classes; None: accuracy, or a scorer
    scorer: Callable[..., float] | None = None  # of scikit-learn
    cut: float = 0.0  # the score above which the second of two classes is predicted
    asked: bool = False  # whether the user says what scores

    @classmethod
    def of(cls, estimator: Any, measure: Any, scoring: Any) -> Judge:
        """Return what `cross_validate` was asked for."""
        if scoring is not None:
            if measure is not None:
                raise ParameterError("measure", "and scoring are one or the other", "both")
            if not (is_classifier(estimator) or is_regressor(estimator)):
                if isinstance(scoring, str) and scoring == estimator._score_name:
                    return cls(estimator, scoring, asked=True)
                if not callable(scoring):
                    raise ParameterError(
                        "scoring",
                        "must be None, 'c_index' or a scorer of risks for survival times, such "
                        "as make_scorer(c_index)",
                        f"{scoring!r:.50}",
                    )
            name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
            return cls(estimator, name, None, get_scorer(scoring), asked=True)
        if not is_classifier(estimator):
            if measure is not None:
                raise ParameterError("measure", "is of classes", f"{measure!r:.50}", "Use scoring.")
            return cls(estimator, estimator._score_name)
        if measure is None:
            measure = getattr(estimator, "measure", None)
        if measure is None or (isinstance(measure, str) and measure == "accuracy"):
            return cls(estimator, "accuracy", asked=measure is not None)
        parsed = parse_measure(measure)
        return cls(estimator, parsed.name, parsed, asked=True)

    @property
    def in_units(self) -> bool:
        """Whether margins are predictions, in the units of one target."""
        return bool(is_regressor(self.estimator) and self.estimator._score_name == "r2")

    def class_scores(self, z: FloatArray) -> FloatArray:
        """Return the scores of classes that margins give, less the cut; of others the margins."""
        if not is_classifier(self.estimator):
            return z
        scores: FloatArray = self.estimator._class_scores(z)
        return scores - self.cut if self.cut else scores

    def scores_of(self, fold: Fold, size: Any) -> FloatArray:
        """Return the scores of held-out rows by the models of a size, as `class_scores`."""
        return self.class_scores(model_scores(fold.paths, size, fold.design))

    def without_features(
        self, problem: Problem, data: TrainingData, train: IndexArray, test: IndexArray
    ) -> FloatArray:
        """Return the scores of held-out rows by the model of no features, as `class_scores`.

        Of classes these are their shares in the training rows, whatever their weights in the loss;
        beside covariates those of the fit of these.
        """
        if problem.classes is None or self.with_covariates:
            z = margins_without_features(problem.tasks, Rows(data.design, test))
            return self.class_scores(z)
        shares = scores_of_shares(
            data.labels[train],
            data.sample_weight[train],
            problem.classes,
            normalised=self.normalised,
        )
        return np.tile(shares - self.cut, (test.size, 1))

    @property
    def normalised(self) -> bool:
        """Whether the softmax of the scores of several classes are their probabilities."""
        return bool(self.estimator._multi_class == "multinomial")

    @property
    def with_covariates(self) -> bool:
        """Whether there are columns in every model."""
        return getattr(self.estimator, "covariates", None) is not None

    def baseline(self, fold: Fold) -> float:
        """Return the score of the model of no features."""
        z = fold.without_features
        if self.measure is None or self.with_covariates:
            return self.score(z, fold)
        return macro_average(self.measure, z, fold.labels, fold.names, fold.weight, chance=True)

    def score(self, z: FloatArray, fold: Fold) -> float:
        """Return the score of held-out rows; z : (n, n_models) as `class_scores`."""
        labels, weight = fold.labels, fold.weight
        moved = z if fold.offset is None else z + fold.offset[:, None]
        if self.scorer is not None:
            given = HeldOut.of(self.estimator, moved, fold.classes, self.cut)
            equal = bool((weight == weight[0]).all())
            options = {} if equal else {"sample_weight": weight}
            if isinstance(given, Risks):
                labels = as_times(labels)
            return float(self.scorer(given, np.arange(len(z))[:, None], labels, **options))
        if not is_classifier(self.estimator):
            moved = moved[:, 0] if moved.shape[1] == 1 else moved
            return float(self.estimator._score_of_margins(moved, labels, weight))
        if self.measure is None:
            found = fold.classes[predicted(z)]
            return float(np.average(found == labels, weights=weight))
        # A score of 0 is of the first class, which is the positive one then.
        z = np.where(z == 0.0, np.finfo(float).tiny, -z) if fold.reversed else z
        return float(macro_average(self.measure, z, labels, fold.names, weight))


def model_scores(paths: Sequence[Path], k: Any, design: Design) -> FloatArray:
    """Return the scores of the models of size k, (n_samples, n_models)."""
    return margins_of([path[k] for path in paths], design)


def chosen_by_folds(estimator: Any, data: TrainingData) -> CrossValidation:
    """Return the cross-validation that chooses the size of a fit with a budget of "auto".

    That of `BudgetCV` with its defaults, in fewer folds where a class has fewer rows.
    """
    groups = data.groups
    folds = data.design.shape[0] if groups is None else int(np.unique(groups).size)
    if not is_regressor(estimator):
        classes, counts = members(estimator._strata(data.labels, FOLDS), groups)
        folds = int(counts.min())
        if folds < 2:
            rare = validate.plain(classes[counts.argmin()])
            of = "features" if is_automatic(estimator.n_features) else "groups"
            need, got = "two rows (of positive weight)", "1 sample of"
            if groups is not None:
                need, got = "samples in two groups", "1 group with a sample of"
            raise ValueError(
                f"n_{of}='auto' is chosen by folds, for which every class needs {need}; got {got} "
                f"class {rare!r}. Pass a number of {of}."
            )
    return validated(Judge.of(estimator, None, None), data, min(FOLDS, folds), None, 0)
