"""What several models have in common: features, coefficients, what their files say of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from ..._typing import FloatArray
from ...export._model import feature_names, link_of, outputs
from ...persistence import LoadedClassifier, LoadedModel, LoadedSurvivalModel
from .._input import listed


def describe_model(file: str, loaded: LoadedModel) -> dict[str, Any]:
    """Return how a model was made, and what its file says of its objective and its bounds."""
    metadata = loaded.metadata
    certificates = metadata["certificates"]
    known = [one for one in certificates if one is not None]
    solved = known if len(known) == len(certificates) else metadata["solutions"]
    objectives = [one["objective"] for one in solved]
    gaps = [one["gap"] for one in solved]
    whole = bool(solved) and None not in objectives
    return {
        "file": file,
        "estimator": metadata["estimator"],
        "method": metadata["parameters"].get("method"),
        "loss": None if metadata["loss"] is None else metadata["loss"]["name"],
        "link": link_of(loaded),
        "n_selected": int(loaded.support_.size),
        "n_covariates": int(loaded.covariates_.size),
        "n_features": loaded.n_features_in_,
        "C": solved[0]["C"] if solved else None,
        "scaling": known[0]["scaling"] if known else None,
        "objective": sum(objectives) if whole else None,  # of several classes that of all
        "gap": max(gaps) if solved and None not in gaps else None,
        "proven": bool(known) and all(one["proven"] for one in certificates if one is not None),
        "calibration": metadata["calibration"],
        "threshold": metadata["threshold"],
        "certificates": certificates,
    }


def check_comparable(files: Sequence[str], models: Sequence[LoadedModel], named: bool) -> None:
    """Refuse models of which one predicts something else than the first.

    named : whether the user says what the target is, whatever the files call it.
    """
    first = models[0]
    for file, other in zip(files[1:], models[1:], strict=True):
        kinds = [_kind(one) for one in (first, other)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"models must be of one target; {files[0]} predicts {kinds[0]}, {file} {kinds[1]}."
            )
        targets = [_target(one) for one in (first, other)]
        if not named and None not in targets and targets[0] != targets[1]:
            raise ValueError(
                f"models must be of one target; that of {files[0]} is {targets[0]}, that of {file} "
                f"{targets[1]}. If these are the same, name the column of DATA with --target (of "
                "survival times --time and --event)."
            )


def _kind(model: LoadedModel) -> str:
    if isinstance(model, LoadedClassifier):
        return f"the classes {listed(model.classes_)}"
    if isinstance(model, LoadedSurvivalModel):
        return "survival times"
    n_responses = len(model.coef)
    return "numbers" if n_responses == 1 else f"{n_responses} responses"


def _target(model: LoadedModel) -> str | None:
    """Return what the target was called."""
    if isinstance(model, LoadedSurvivalModel):
        columns = model.metadata["columns"]
        named = [columns[role] for role in ("time", "event") if role in columns]
        return ", ".join(named) or None
    name = model.metadata["target_name"]
    return name if name is None or isinstance(name, str) else ", ".join(name)


def names_in_common(files: Sequence[str], models: Sequence[LoadedModel]) -> list[list[str]]:
    """Return of each model the names of its features, the same for the same feature."""
    first = models[0]
    for file, other in zip(files[1:], models[1:], strict=True):
        named = [one.feature_names is not None for one in (first, other)]
        if named[0] != named[1]:
            with_, without = (files[0], file) if named[0] else (file, files[0])
            raise ValueError(
                f"models must have features that can be told to be the same; those of {with_} "
                f"have names, those of {without} only numbers. Select both from data with names."
            )
        if not named[0] and first.n_features_in_ != other.n_features_in_:
            raise ValueError(
                "models without names of features must be of one set of features; "
                f"{files[0]} is of {first.n_features_in_:,}, {file} of {other.n_features_in_:,}. "
                "Select both from data with names."
            )
    if first.feature_names is not None:
        return [feature_names(one) for one in models]
    start = first.metadata["first_index"]
    return [[f"x{column + start}" for column in one.columns.tolist()] for one in models]


def describe_overlap(
    models: Sequence[LoadedModel], names: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Return which selected features models share, all of them and two by two."""
    chosen = []
    for model, own in zip(models, names, strict=True):
        beside = {*model.covariates_.tolist()}
        pairs = zip(model.columns.tolist(), own, strict=True)
        chosen.append([name for column, name in pairs if column not in beside])
    sets = [{*one} for one in chosen]
    pairs_of_models = []
    for i, j in combinations(range(len(sets)), 2):
        union = len(sets[i] | sets[j])
        shared = len(sets[i] & sets[j])
        pairs_of_models.append(
            {
                "models": [i + 1, j + 1],
                "shared": shared,
                "union": union,
                "jaccard": shared / union if union else 1.0,
            }
        )
    common = set.intersection(*sets)
    return {
        "shared": [name for name in chosen[0] if name in common],
        "n_union": len(set.union(*sets)),
        "pairs": pairs_of_models,
    }


def describe_coefficients(
    models: Sequence[LoadedModel],
    names: Sequence[Sequence[str]],
    deviations: Sequence[FloatArray] | None,
) -> list[dict[str, Any]]:
    """Return the coefficients of each feature in all models; those that most models have first.

    deviations : of the features of each model; None where no data are known.
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for number, (model, own) in enumerate(zip(models, names, strict=True)):
        beside = {*model.covariates_.tolist()}
        for of, values in zip(outputs(model), model.coef.tolist(), strict=True):
            for place, (name, value) in enumerate(zip(own, values, strict=True)):
                if value == 0.0 and len(model.coef) > 1:  # of another class's model
                    continue
                row = rows.setdefault(
                    (name, of),
                    {
                        "feature": name,
                        "of": of,
                        "covariate": False,
                        "coefficients": [None] * len(models),
                        "coefficients_per_sd": None if deviations is None else [None] * len(models),
                    },
                )
                row["covariate"] |= model.columns[place] in beside
                row["coefficients"][number] = value
                if deviations is not None:
                    row["coefficients_per_sd"][number] = value * float(deviations[number][place])
    return sorted(rows.values(), key=_importance)


def _importance(row: dict[str, Any]) -> tuple[int, float]:
    """Return the key that sorts features: first those of most models, then the large ones."""
    values = [
        abs(one) for one in row["coefficients_per_sd"] or row["coefficients"] if one is not None
    ]
    return -len(values), -max(values)
