"""What every format is made from: the model as a file has it, its names and its link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..core.types import FloatArray
from ..persistence import (
    LinearModel,
    LoadedClassifier,
    LoadedModel,
    LoadedRegressor,
    LoadedSurvivalModel,
    as_loaded,
)
from ..persistence.loaded import is_ordinal, shares_features

if TYPE_CHECKING:
    from ..io.encoding import Coding

Label: TypeAlias = "str | int | float | bool"

# What the scores of a model mean, by name.
LINKS = {
    "logit": "probability of the second class = 1 / (1 + exp(-score)); predicted is the second "
    "class where score > cut, else the first",
    "one-versus-rest": "probability of class c = p_c / sum of all p, p_c = 1 / (1 + "
    "exp(-score_c)); predicted is the class of the largest score",
    "softmax": "probability of class c = exp(score_c) / sum of exp of all scores; predicted is the "
    "class of the largest score",
    "ordered logit": "probability of class j or a lower one = 1 / (1 + exp(score - threshold_j)); "
    "predicted is the class of the largest probability",
    "sign": "predicted is the second class where score > cut, else the first; no probabilities",
    "largest": "predicted is the class of the largest score; no probabilities",
    "identity": "mean (or quantile) = score",
    "log": "mean = exp(score)",
    "risk": "hazard = baseline hazard * exp(score): the higher the score, the sooner the event",
}


def as_model(model: Any) -> LoadedModel:
    """Return a loaded model, or a fitted estimator as one; raise TypeError for anything else."""
    if isinstance(model, LinearModel):
        return model  # type: ignore[return-value]
    from ..estimators import BagClassifier  # on use: loaded models need no estimators

    if isinstance(model, BagClassifier):
        raise TypeError(
            "model must predict from columns of X to be exported; got BagClassifier, which "
            "predicts from similarities with instances. Predict in Python."
        )
    found: LoadedModel = as_loaded(model)
    return found


def link_of(model: LoadedModel) -> str:
    """Return what the scores of a model mean, one of `LINKS`."""
    if isinstance(model, LoadedSurvivalModel):
        return "risk"
    if isinstance(model, LoadedRegressor):
        return _link_of_mean(model.loss)
    n_classes = len(model.classes_)
    if is_ordinal(model.metadata, n_classes):
        return "ordered logit"
    if any(solution["loss"] != "logistic" for solution in model.metadata["solutions"]):
        return "sign" if n_classes == 2 else "largest"
    if n_classes == 2:
        return "logit"
    return "softmax" if shares_features(model.metadata, n_classes) else "one-versus-rest"


def _link_of_mean(loss: Any) -> str:
    """Return the link of a loss of numbers, by what it predicts of a few margins."""
    z = np.array([[-2.0], [-0.5], [0.0], [1.5]])
    means = np.asarray(loss.mean(z))
    if np.array_equal(means, z):
        return "identity"
    if np.allclose(means, np.exp(z), rtol=1e-14, atol=0.0):
        return "log"
    raise ValueError(
        f"model must have a loss whose mean is the score or exp(score), to be exported; got "
        f"{loss!r:.80}, whose mean is another function of it. Predict in Python."
    )


def feature_names(model: LoadedModel) -> list[str]:
    """Return the names of the features of a model, p; where it has none x and their numbers."""
    if model.feature_names is not None:
        return list(model.feature_names)
    first = model.metadata["first_index"]
    return [f"x{column + first}" for column in model.columns.tolist()]


def origins(model: LoadedModel) -> list[dict[str, Any] | None]:
    """Return what each feature is of its column of a table; None where it is the column itself.

    An object of "column", "kind" and what that has: "level" (1 where the column is "value", else
    0), "missing" (1 where it is empty), "filled" (the column, "fill" where it is empty), "date" (a
    part of a date, as the name of the feature says, and "fill" for days where it is empty). "empty"
    is what a level is where the cell is empty; None: such rows are refused.
    """
    return [_origin(name, model.codings.get(name)) for name in feature_names(model)]


def _origin(name: str, coding: Coding | None) -> dict[str, Any] | None:
    if coding is None:
        return None
    of = {"column": coding.column}
    if coding.gaps == "indicator" and name == coding.absent:
        return {**of, "kind": "missing"}
    if coding.kind == "date":
        empty = None if coding.gaps is None else 0.0
        if name == coding.number:
            days = {"part": "days", "origin": coding.origin, "fill": coding.fill}
            return {**of, "kind": "date", **days}
        part, _, value = name.removeprefix(f"{coding.column}: ").partition("=")
        return {**of, "kind": "date", "part": part, "value": value, "empty": empty}
    if coding.kind == "number":
        return {**of, "kind": "filled", "fill": coding.fill}
    value = name.removeprefix(f"{coding.column}=")
    return {**of, "kind": "level", "value": value, "empty": None if coding.gaps is None else 0.0}


@dataclass(frozen=True, slots=True)
class RawColumn:
    """A column of a table, and which features of a model are made of it."""

    name: str
    kind: str  # "number", "category" or "date"
    features: dict[int, dict[str, Any] | None]  # the origin of each, by its place in the model

    def of_kind(self, kind: str) -> list[int]:
        """Return the places of the features of a kind of origin."""
        found = self.features.items()
        return [place for place, origin in found if origin is not None and origin["kind"] == kind]


def raw_columns(model: LoadedModel, what: str, instead: str) -> list[RawColumn]:
    """Return the columns that features are made of, in the order of the first feature of each.

    Raises ValueError where one has dates, which `what` has not; `instead` says what to do.
    """
    found: dict[str, RawColumn] = {}
    names = feature_names(model)
    for place, (name, origin) in enumerate(zip(names, origins(model), strict=True)):
        coding = model.codings.get(name)
        column, kind = (name, "number") if coding is None else (coding.column, coding.kind)
        if kind == "date":
            raise ValueError(
                f"{what} cannot be made of dates; got the feature {name!r}. {instead}, or drop the "
                f"column {column!r} and select again."
            )
        found.setdefault(column, RawColumn(column, kind, {})).features[place] = origin
    return list(found.values())


def labels(model: LoadedModel) -> list[Label]:
    """Return the classes as plain values, sorted; none of numbers and survival times."""
    return model.classes_.tolist() if isinstance(model, LoadedClassifier) else []


def in_order(model: LoadedModel) -> list[int]:
    """Return the places among the sorted classes of the ordered ones, lowest first."""
    assert isinstance(model, LoadedClassifier)
    found: list[int] = np.searchsorted(model.classes_, model.ordered_classes_).tolist()
    return found


def outputs(model: LoadedModel) -> list[str]:
    """Return what each score is of: a class, a response, or "" where there is one alone."""
    if len(model.coef) == 1:
        return [""]
    if isinstance(model, LoadedClassifier):
        return [str(label) for label in labels(model)]
    return [str(name) for name in model.metadata["target_name"]]


def thresholds(model: LoadedModel) -> FloatArray:
    """Return the thresholds between ordered classes, growing; none of other models."""
    ordered = link_of(model) == "ordered logit"
    return -model.intercept_ if ordered else np.empty(0)


def cut(model: LoadedModel) -> float:
    """Return the score above which a row is of the second of two classes; of others 0."""
    return model.cut if isinstance(model, LoadedClassifier) else 0.0


def positive(model: LoadedModel) -> int:
    """Return the place of the class of two for which coefficients are shown: that to be found.

    It is the second one, unless a threshold or the measure of the training names the first. Of
    other models it is 1, too.
    """
    record, given = model.metadata["threshold"], model.metadata["parameters"]
    if record is not None:
        return int(record["positive"])
    if len(labels(model)) != 2 or None in (given.get("measure"), given.get("pos_label")):
        return 1
    return int(str(given["pos_label"]) != str(labels(model)[0]))


def sign(model: LoadedModel) -> float:
    """Return by what the coefficients of a model are multiplied to be shown for that class."""
    return 1.0 if positive(model) else -1.0
