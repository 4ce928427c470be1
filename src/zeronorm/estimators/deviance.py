"""What held-out samples say of models: their losses, beside those of the model without features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from ..core.types import FloatArray, IndexArray
from ..losses import Responses
from ..solvers.procedures.scale import OfClasses
from .chance import Fold, margins_without_features, scores_of_shares
from .folded import Folded

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
