"""A model as JSON, complete enough to predict from by hand."""

from __future__ import annotations

import json
from typing import Any

from ..persistence import LoadedRegressor, LoadedSurvivalModel
from .model import (
    LINKS,
    as_model,
    cut,
    feature_names,
    in_order,
    labels,
    link_of,
    origins,
    outputs,
    thresholds,
)

SCHEMA = 1


def to_json(model: Any) -> str:
    """Return a model as a JSON document.

    score_c = intercepts[c] + sum over features of coef[c] * value (+ the offset, where there is
    one), in the units of the data; `link` says what the scores mean, `prediction` in a sentence.

    Parameters
    ----------
    model : fitted estimator, or what `load` returns

    Returns
    -------
    str
        An object of: schema (1), zeronorm (version), estimator; classes (labels, in their order
        where there is one; of numbers none), responses (names, where they are several), target;
        loss (name, parameters; of labels a name alone), link, prediction; features, a list of
        {name, column (from 0), coef (a number per score), covariate, group, origin (null, or what
        it is of a column of text, dates or gaps)}; intercepts (a number per score), thresholds (of
        ordered classes, growing), cut (of two classes; 0 where no threshold was chosen); offset
        ({column, log}: what is added to the score, or its logarithm), calibration ({scale,
        cv_log_loss}, or null: coefficients have been multiplied by scale already) and
        n_features_in.

    Raises
    ------
    TypeError, ValueError
        As `zeronorm.persistence.save`, and for a loss whose mean is no known function of the score.
    """
    return json.dumps(describe(model), indent=2, allow_nan=False)


def describe(given: Any) -> dict[str, Any]:
    """Return the object of `to_json`."""
    model = as_model(given)
    metadata = model.metadata
    link = link_of(model)
    classes = labels(model)
    ordered = link == "ordered logit"
    if ordered:
        classes = [classes[place] for place in in_order(model)]
    loss: Any = metadata["loss"]
    if loss is None:
        solved = metadata["solutions"]
        loss = {"name": solved[0]["loss"] if solved else _loss_of_labels(link), "parameters": {}}
    covariates = set(model.covariates_.tolist())
    groups = metadata["feature_groups"] or [None] * len(model.columns)
    regresses = isinstance(model, LoadedRegressor)
    target = metadata["target_name"]
    return {
        "schema": SCHEMA,
        "zeronorm": metadata["zeronorm"],
        "estimator": metadata["estimator"],
        "target": target if isinstance(target, str) else None,
        "classes": classes,
        "responses": outputs(model) if regresses and len(model.coef) > 1 else [],
        "loss": {"name": loss["name"], "parameters": loss["parameters"]},
        "link": link,
        "prediction": LINKS[link],
        "n_features_in": model.n_features_in_,
        "features": [
            {"name": name, "column": column, "coef": coef, "covariate": column in covariates,
             "group": group, "origin": origin}
            for name, column, coef, group, origin in zip(
                feature_names(model), model.columns.tolist(), model.coef.T.tolist(), groups,
                origins(model), strict=True,
            )
        ],
        "intercepts": [0.0] if ordered else model.intercept_.tolist(),
        "thresholds": thresholds(model).tolist(),
        "cut": cut(model),
        "offset": None if isinstance(model, LoadedSurvivalModel) else _offset_of(model),
        "calibration": metadata["calibration"],
    }  # fmt: skip


def _loss_of_labels(link: str) -> str:
    """Return the loss that a refit of labels has."""
    return {"ordered logit": "ordinal", "softmax": "multinomial"}.get(link, "logistic")


def _offset_of(model: Any) -> dict[str, Any] | None:
    """Return which column is added to the score, and whether its logarithm is; None: none."""
    for role in ("offset", "exposure"):
        if role in model.metadata["columns"]:
            return {"column": model.metadata["columns"][role], "log": role == "exposure"}
    if model.metadata["offset"]:
        raise ValueError(
            "the model was fitted with an offset, but the name of its column is not known. Pass "
            "as_loaded(model, columns={'offset': NAME}), or 'exposure' for a column whose "
            "logarithm is the offset; save has columns= too."
        )
    return None
