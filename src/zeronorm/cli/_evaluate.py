"""The command `zeronorm evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ._input import comparable, listed, read_blocks
from ._output import show_document
from ._predict import confusion_of, known_offset, response_in
from ._progress import watched
from ._rows_options import EvaluateOptions
from ._takes import takes
from ._target import Response, columns_of

if TYPE_CHECKING:
    from ..files import Table
    from ..persistence import LoadedModel


@takes(EvaluateOptions)
def evaluate(options: EvaluateOptions) -> None:
    """Say how good a model is on rows whose target is known, and how sure that is."""
    with watched(options.quiet or options.as_json) as work:
        work.progress.phase("Starting")
        from .. import persistence
        from .documents._data import describe_data
        from .reports._evaluation import print_evaluation

        loaded = persistence.load(options.model)
        columns = columns_of(options)
        work.progress.phase(f"Reading {options.data}")
        table, found = _predicted(options, loaded, columns, work.notes)
        names = {**loaded.metadata["columns"], **columns}
        response = response_in(loaded, table, options.data, names)
        if response is None:
            raise ValueError(
                f"{options.data}: nothing to compare predictions with; say where the target is: "
                "--target, or of survival times --time and --event."
            )
        work.progress.phase("Resampling rows")
        judged = _judged(loaded, response, found, work.notes)
    document = {
        "model": options.model,
        "data": describe_data(options.data, table, response),
        "loss": _loss_of(loaded),
        "classes": shown_classes(loaded),
        **judged,
        "notes": work.notes,
    }
    show_document(document, options, print_evaluation)


def _predicted(
    options: EvaluateOptions, loaded: LoadedModel, columns: Mapping[str, str], notes: list[str]
) -> tuple[Table, dict[str, Any]]:
    """Return all rows without their features, and what is predicted for them, block by block."""
    import numpy as np

    from ..files import joined
    from ..persistence import LoadedClassifier, LoadedRegressor

    seen: list[Table] = []
    parts: dict[str, list[Any]] = {}
    for table in read_blocks(options, loaded.layout, columns, notes):
        values: dict[str, Any] = {}
        if isinstance(loaded, LoadedClassifier):
            values = {"predicted": loaded.predict(table), "scores": loaded.decision_function(table)}
            if all(solution["loss"] == "logistic" for solution in loaded.metadata["solutions"]):
                values["proba"] = loaded.predict_proba(table)
        elif isinstance(loaded, LoadedRegressor):
            offset = known_offset(loaded, table, options.data, notes)
            values["predicted"] = loaded.predict(table, offset)
        else:
            values["predicted"] = loaded.predict(table)
        for name, array in values.items():
            parts.setdefault(name, []).append(array)
        seen.append(replace(table, X=np.empty((table.X.shape[0], 0))))
    whole = joined(seen)
    notes[:0] = whole.notes
    X = np.broadcast_to(np.zeros(()), (whole.X.shape[0], loaded.n_features_in_))
    return replace(whole, X=X), {name: np.concatenate(arrays) for name, arrays in parts.items()}


def _loss_of(loaded: LoadedModel) -> str | None:
    """Return the loss of numbers and survival times by its name; of classes None."""
    from ..persistence import LoadedClassifier, LoadedSurvivalModel

    if isinstance(loaded, LoadedClassifier):
        return None
    return "cox" if isinstance(loaded, LoadedSurvivalModel) else str(loaded.loss.name)


def shown_classes(loaded: LoadedModel) -> list[Any]:
    """Return the classes of a model, ordered ones from the lowest; none of numbers."""
    from ..persistence import LoadedClassifier

    if not isinstance(loaded, LoadedClassifier):
        return []
    ordered: list[Any] = loaded.ordered_classes_.tolist()
    return ordered or loaded.classes_.tolist()


def _judged(
    loaded: LoadedModel, response: Response, found: dict[str, Any], notes: list[str]
) -> dict[str, Any]:
    """Return the scores of predictions, as a document has them."""
    import numpy as np

    from ..estimators import BudgetRegressor, BudgetSurvivalAnalysis
    from ..persistence import LoadedClassifier, LoadedSurvivalModel
    from .documents._evaluation import (
        confusion_by_class,
        scores_of_classes,
        scores_of_numbers,
        scores_of_risk,
    )

    predicted = found["predicted"]
    none: dict[str, Any] = {"confusion": None, "by_class": None}
    if isinstance(loaded, LoadedClassifier):
        classes, shown = loaded.classes_, shown_classes(loaded)
        truth = comparable(response.y, classes)
        known = np.isin(truth, classes)
        if not known.any():
            raise ValueError(
                f"the model knows the classes {listed(classes)}; the target has none of them, but "
                f"{listed(np.unique(truth))}. Name the right column with --target."
            )
        if not known.all():
            notes.append(
                f"{int((~known).sum()):,} samples left out: their classes "
                f"{listed(np.unique(truth[~known]))} are none of the model's"
            )
        truth, predicted = truth[known], predicted[known]
        proba = found["proba"][known] if "proba" in found else None
        # Of several classes the probabilities order the rows by each of them, whatever the model.
        scores = found["scores"][known] if proba is None or len(classes) == 2 else proba
        confusion = confusion_of(truth, predicted, shown)
        return {
            "scores": scores_of_classes(
                truth, predicted, proba, classes, scores.reshape(len(truth), -1)
            ),
            "confusion": confusion,
            "by_class": confusion_by_class(confusion, shown),
        }
    if isinstance(loaded, LoadedSurvivalModel):
        judge = BudgetSurvivalAnalysis()
        target = judge._target(response.y, len(predicted))
        concordance = partial(judge._score_of_margins, predicted, target)
        return {"scores": scores_of_risk(target, predicted, concordance), **none}
    regressor = BudgetRegressor(loss=loaded.loss)
    y = np.asarray(regressor._target(response.y, len(predicted)))
    if y.shape != predicted.shape:
        raise ValueError(
            f"the model has {predicted.shape[1] if predicted.ndim == 2 else 1} responses; the "
            f"target has {y.shape[1] if y.ndim == 2 else 1}. Name them with --target."
        )
    explained = partial(regressor._explained, y, predicted)
    return {"scores": scores_of_numbers(y, predicted, explained, regressor._score_name), **none}
