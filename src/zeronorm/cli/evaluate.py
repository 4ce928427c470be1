"""The command `zeronorm evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import persistence
from ..core.files import TargetError, did_you_mean, quote
from ..core.messages import Doubt, some
from ..io.input import Response, comparable, listed
from ..io.read import joined
from ..measures import parse_measure
from ..persistence import LoadedClassifier, LoadedRegressor, LoadedSurvivalModel
from ..reporting.documents.data import describe_data
from ..reporting.documents.evaluation import (
    confusion_by_class,
    judged,
    scores_by_response,
    scores_of_classes,
    scores_of_numbers,
    scores_of_shares,
    wilson,
)
from ..reporting.records import Evaluation, ThresholdUsed
from ..reporting.text.certificates import weighted_classes
from ..reporting.text.evaluation import print_evaluation
from .files import refuse_swapped
from .messages import show_document, watched
from .options import EvaluateOptions, RowsOptions
from .predict import (
    classes_in_order,
    confusion_of,
    judge_of,
    known_offset,
    read_blocks,
    response_in,
    unknown_classes,
    with_threshold,
)
from .target import columns_of, dates_of
from .training import note_on_rows

if TYPE_CHECKING:
    from ..io.table import Dataset
    from ..persistence import LoadedModel
    from ..reporting.documents.evaluation import Scores
    from ..reporting.records import ResponseScores


def evaluate(options: EvaluateOptions) -> None:
    """Say how good a model is on rows whose target is known, and how sure that is."""
    with watched(options) as work:
        refuse_swapped("evaluate", options.model, options.data)
        loaded = with_threshold(
            options.model, persistence.load(options.model), options.threshold, work.notes
        )
        work.notes.extend(note_on_rows(options, options.data, options.model, loaded.metadata))
        work.progress.phase(f"Reading {options.data}")
        rows = _read_rows(options, loaded, work.notes)
        weighted = weighted_classes(loaded.metadata["parameters"])
        if weighted is not None:
            work.notes.append(Doubt(f"the probabilities of {options.model} are {weighted}"))
        work.progress.phase("Resampling rows")
        classes, confusion, interval = _shown_classes(loaded), None, None
        if classes:
            right = rows.truth == rows.found["predicted"]
            interval = wilson(int(right.sum()), right.size)
            confusion = confusion_of(rows.truth, rows.found["predicted"], classes)
        scores = judged(rows.scores(), rows.scores_without_features(), *rows.size, interval)
        threshold = loaded.metadata["threshold"]
        document = Evaluation(
            model=options.model,
            data=describe_data(
                options.data,
                rows.table,
                rows.response,
                n_covariates=loaded.covariates_.size,
            ),
            loss=_loss_of(loaded),
            classes=classes,
            threshold=None if threshold is None else ThresholdUsed(**threshold),
            scores=scores,
            confusion=confusion,
            by_class=None if confusion is None else confusion_by_class(confusion, classes),
            by_response=rows.scores_by_response(),
            notes=work.notes,
        )
    show_document(document, options, print_evaluation)


@dataclass(frozen=True, slots=True, eq=False)
class _LabelledRows:
    """Rows whose target is known, and what a model predicts for them."""

    loaded: LoadedModel
    table: Dataset  # of all rows, without their features
    response: Response
    # (n,) labels, those of the model's classes alone; or as losses of numbers and of survival
    # times have their targets.
    truth: Any
    # "predicted", of classes also "scores" and where there are any "proba", of numbers "offset".
    found: Mapping[str, Any]

    @property
    def size(self) -> tuple[int, int]:
        """How many rows there are, and about how many additions a score of them takes."""
        n = len(self.truth)
        each = self.truth.shape[1] if self.truth.ndim == 2 else 1
        if self.response.task == "survival":
            each = int(self.truth[:, 1].sum())
        return n, n * max(1, each, len(_shown_classes(self.loaded)))

    def scores(self) -> Scores:
        """Return how good the predictions are."""
        predicted = self.found["predicted"]
        if isinstance(self.loaded, LoadedClassifier):
            classes, proba = self.loaded.classes_, self.found.get("proba")
            # Of several classes the probabilities order the rows by each, whatever the model.
            z = self.found["scores"] if proba is None or len(classes) == 2 else proba
            decision = z.reshape(len(z), -1)
            return scores_of_classes(
                self.truth,
                predicted,
                proba,
                classes,
                decision,
                *_measure_of(self.loaded),
            )
        judge = judge_of(self.loaded)
        if self.response.task == "survival":
            return {"c_index": partial(judge._score_of_margins, predicted, self.truth)}
        return scores_of_numbers(self.truth, predicted, judge._explained, judge._score_name)

    def scores_by_response(self) -> list[ResponseScores] | None:
        """Return how good the predictions of each response are; None where there is one target."""
        if self.response.task == "survival" or self.truth.ndim == 1:
            return None
        names = list(map(str, self.loaded.metadata["target_name"]))
        judge, predicted = judge_of(self.loaded), self.found["predicted"]
        return scores_by_response(names, self.truth, predicted, judge._explained, judge._score_name)

    def scores_without_features(self) -> Scores:
        """Return how good it is to say the same of all rows: what is best for these.

        Where they have an offset, the same is said beside that: an exposure alone predicts much.
        """
        if isinstance(self.loaded, LoadedClassifier):
            measure = _measure_of(self.loaded)
            return scores_of_shares(self.truth, self.loaded.classes_, *measure)
        if self.response.task == "survival":
            return {"c_index": lambda weight: 0.5}
        judge, offset = judge_of(self.loaded), self.found.get("offset")
        if offset is None:
            mean = self.truth.mean(axis=0)
            return scores_of_numbers(self.truth, mean, None, judge._score_name)
        loss = judge._loss()
        unit, weight = loss.with_offset(self.truth.T, offset)
        mean = np.average(unit, axis=-1, weights=weight)[..., None]
        plain = (mean + offset if loss.variance_power is None else mean * np.exp(offset)).T
        return scores_of_numbers(self.truth, plain, judge._explained, judge._score_name)


def _read_rows(options: RowsOptions, loaded: LoadedModel, notes: list[str]) -> _LabelledRows:
    """Return rows with their target and what a model predicts for them."""
    columns = columns_of(options)
    try:
        table, found, moments = _predicted(options, loaded, columns, notes)
    except TargetError as error:
        if options.target is not None:
            raise
        hint = did_you_mean(error.lacks or "", error.there, listing=False)
        raise ValueError(_no_target(options, loaded, hint)) from None
    names = {**loaded.metadata["columns"], **columns, **dates_of(options)}
    response = response_in(loaded, table, options.data, names)
    if response is None:
        raise ValueError(_no_target(options, loaded, ""))
    if moments.are_of_training(loaded.metadata["means"]):
        notes.append(
            Doubt(
                f"the features of {options.model} have the means of its training samples in "
                f"{options.data}: these seem to be the same samples, of which a model is too good"
            )
        )
    if isinstance(loaded, LoadedClassifier):
        truth = comparable(response.y, loaded.classes_)
        known = _known_classes(truth, loaded.classes_, notes)
        truth, found = truth[known], {name: array[known] for name, array in found.items()}
    else:
        predicted = found["predicted"]
        truth = np.asarray(judge_of(loaded)._target(response.y, len(predicted)))
        if response.task != "survival" and truth.shape != predicted.shape:
            raise ValueError(
                f"the model has {predicted.shape[1] if predicted.ndim == 2 else 1} responses; the "
                f"target has {truth.shape[1] if truth.ndim == 2 else 1}. Name them with --target."
            )
    return _LabelledRows(loaded, table, response, truth, found)


def _no_target(options: RowsOptions, loaded: LoadedModel, hint: str) -> str:
    """Return the error of data without a target that predictions could be compared with.

    hint : which column may be it.
    """
    survival = isinstance(loaded, LoadedSurvivalModel)
    own, known = loaded.metadata["target_name"], loaded.metadata["columns"]
    names = [known.get("time"), known.get("event")] if survival else own
    shown = [quote(str(name)) for name in ([names] if isinstance(names, str) else names or ())]
    where = some([options.data, *(options.samples or ())], 3)
    lacking = f"no {'column' if len(shown) < 2 else 'columns'} {some(shown, 5)}, so that there is "
    given = "--time COLUMN --event COLUMN" if survival else "--target COLUMN"
    return (
        f"{where}: {lacking if shown else ''}nothing to compare predictions with.{hint} Say "
        f"where the target is: {given}, of the data or of a table of the samples (--samples FILE)."
    )


@dataclass(slots=True)
class _Moments:
    """Means and standard deviations of columns that come block by block."""

    n: int = 0
    mean: Any = 0.0
    squares: Any = 0.0  # sums of squares about the mean

    def add(self, values: Any) -> None:
        """Take further rows, (n, p)."""
        m = len(values)
        mean, squares = values.mean(axis=0), values.var(axis=0) * m
        apart, total = mean - self.mean, self.n + m
        self.squares = self.squares + squares + apart**2 * (self.n * m / total)
        self.mean = self.mean + apart * (m / total)
        self.n = total

    def are_of_training(self, means: list[float] | None) -> bool:
        """Return whether all means are those of the training rows, up to rounding in float32."""
        if not means:
            return False
        near = 1e-6 * (np.abs(self.mean) + (self.squares / self.n) ** 0.5)
        return bool((np.abs(self.mean - np.array(means)) <= near).all())


def _predicted(
    options: RowsOptions, loaded: LoadedModel, columns: Mapping[str, str], notes: list[str]
) -> tuple[Dataset, dict[str, Any], _Moments]:
    """Return all rows without their features, and what is predicted for them, block by block."""
    seen: list[Dataset] = []
    parts: dict[str, list[Any]] = {}
    moments = _Moments()
    named = not isinstance(loaded, LoadedSurvivalModel)
    for table in read_blocks(options, loaded.layout, columns, notes, need_labels=named):
        values: dict[str, Any] = {}
        if isinstance(loaded, LoadedClassifier):
            values = {"predicted": loaded.predict(table), "scores": loaded.decision_function(table)}
            if all(solution["loss"] == "logistic" for solution in loaded.metadata["solutions"]):
                values["proba"] = loaded.predict_proba(table)
        elif isinstance(loaded, LoadedRegressor):
            offset = known_offset(loaded, table, options.data)
            values["predicted"] = loaded.predict(table, offset)
            if offset is not None:
                values["offset"] = offset
        else:
            values["predicted"] = loaded.predict(table)
        for name, array in values.items():
            parts.setdefault(name, []).append(array)
        moments.add(loaded._values(table))
        seen.append(replace(table, X=np.empty((table.X.shape[0], 0))))
    whole = joined(seen)
    notes[:0] = whole.notes
    X = np.broadcast_to(np.zeros(()), (whole.X.shape[0], loaded.n_features_in_))
    found = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    return replace(whole, X=X), found, moments


def _known_classes(truth: Any, classes: Any, notes: list[str]) -> Any:
    """Return which labels are of the classes of a model, (n,)."""
    known = np.isin(truth, classes)
    if not known.any():
        raise ValueError(
            f"the model knows the classes {listed(classes)}; {unknown_classes(truth, classes)}. "
            "Name the right column with --target, or write the classes as the training data have "
            "them."
        )
    if not known.all():
        notes.append(Doubt(f"left out: {unknown_classes(truth[~known], classes)}"))
    return known


def _measure_of(loaded: LoadedModel) -> tuple[Any, Any]:
    """Return the measure that a model of classes was trained for, and its positive; or None."""
    parameters = loaded.metadata["parameters"]
    try:
        measure = parse_measure(parameters["measure"])
    except (KeyError, ValueError):  # none, or one of the user's own
        return None, None
    return measure, parameters.get("pos_label")


def _loss_of(loaded: LoadedModel) -> str | None:
    """Return the loss of numbers and survival times by its name; of classes None."""
    if isinstance(loaded, LoadedClassifier):
        return None
    return "cox" if isinstance(loaded, LoadedSurvivalModel) else str(loaded.loss.name)


def _shown_classes(loaded: LoadedModel) -> list[Any]:
    """Return the classes of a model, ordered ones from the lowest; none of numbers."""
    return classes_in_order(loaded).tolist() if isinstance(loaded, LoadedClassifier) else []
