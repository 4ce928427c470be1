"""A model as text: JSON, complete enough to predict from by hand, and a query of standard SQL.

Both are made from the model as a file has it, its names and its link: what its scores mean.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..core.errors import ParameterError
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
from .pipelines import SQLColumns, parts_of

if TYPE_CHECKING:
    from ..io.encoding import Coding
SCHEMA = 1
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


def to_sql(model: Any, *, table: str = "data", key: str | None = None) -> str:
    """Return a query of standard SQL that predicts for every row of a table.

    Its columns are score, probability (of the second class) and predicted for two classes; score_1,
    ..., probability_1, ... and predicted for several, in the order of `to_json`; mean, or mean_1,
    ..., for numbers and counts; risk for survival times. NULL in a feature gives NULL.

    model : fitted estimator, what `load` returns, or a fitted `Pipeline` of scikit-learn that ends
    in one of these. Before it scalers, `SimpleImputer`, `MissingIndicator`, `OneHotEncoder`,
    `OrdinalEncoder`, selectors of features, and `ColumnTransformer` and `FeatureUnion` of these
    become a part of the query. key : a column to keep. table : it has, as numbers, the features (x
    and a number where they have no names) and the offset or exposure; with a pipeline the columns
    that its first step takes. Raises ValueError, as `to_json`, for features made of text, dates or
    gaps, for other steps, and for names and labels with a backslash or a control character.
    """
    steps, model = parts_of(model)
    given = describe(model)
    columns = SQLColumns(_written, steps) if steps else None
    link, offset = given["link"], given["offset"]
    sums = [[_written(base)] for base in given["intercepts"]]
    for one in given["features"]:
        if one["origin"] is not None:
            raise ParameterError(
                "SQL",
                "must have features that are columns of numbers",
                f"{one['name']!r:.60}, made of {one['origin']['column']!r:.60}",
                "Use to_json or to_sklearn(model, by='name').",
            )
        for terms, coef in zip(sums, one["coef"], strict=True):
            column = _written(one["name"]) if columns is None else columns[one["column"]]
            terms += [f"{_written(coef)} * {column}"] * bool(coef)
    if offset is not None:
        column = _written(offset["column"])
        sums = [[*terms, f"LN({column})" if offset["log"] else column] for terms in sums]
    what = {"identity": "mean", "log": "mean", "risk": "risk"}.get(link, "score")
    s = [f'"{what}{end}"' for end in _ends(sums)]
    kept = [] if key is None else [_written(key)]
    if {one.casefold() for one in kept} & {*s}:
        raise ParameterError(
            "key", "must be no column of the predictions", f"{key!r}", "Rename it."
        )
    form = "EXP({}) AS {}" if link == "log" else "{} AS {}"
    inner = [form.format("\n    + ".join(t), name) for t, name in zip(sums, s, strict=True)]
    up = [_share(s[0], [s[0], _written(one)]) for one in given["thresholds"]]
    odds = [_share(one, [one, "0E0"]) for one in s]  # 1 / (1 + exp(-score))
    chances = {
        "logit": odds,
        "softmax": [_share(one, s) for one in s],
        "one-versus-rest": [f"{one} / ({' + '.join(odds)})" for one in odds],
        "ordered logit": [f"{a} - {b}" for a, b in zip(["1E0", *up], [*up, "0E0"], strict=True)],
    }.get(link, [])
    pair = [_written(given["cut"]), *s]
    ranked = {"logit": pair, "sign": pair, "ordered logit": chances}.get(link, s)
    outer = [*kept, *s, *(f"{p} AS probability{_ends(chances)[j]}" for j, p in enumerate(chances))]
    text = f"CASE WHEN {' + '.join(ranked)} IS NULL THEN NULL"
    for one, value in enumerate(_written(label, "'") for label in given["classes"]):
        wins = " AND ".join(f"{ranked[one]} >= {other}" for other in ranked[one + 1 :])
        text += f" WHEN {wins} THEN {value}" if wins else f" ELSE {value} END AS predicted"
    outer += [text] * bool(given["classes"])
    source = f"SELECT {', '.join([*kept, *inner])}\n  FROM {_written(table)}"
    return "SELECT\n  " + ",\n  ".join(outer) + f"\nFROM (\n  {source}\n) AS scores\n"


def _ends(values: list[Any]) -> list[str]:
    return [f"_{place}" for place in range(1, len(values) + 1)] if len(values) > 1 else [""]


def _share(one: str, others: list[str]) -> str:
    """Return 1 / sum of exp(other - one); beyond exp(700) servers overflow."""
    form = "EXP(CASE WHEN {0} > 700 THEN 700 WHEN {0} < -700 THEN -700 ELSE {0} END)"
    powers = ["1E0" if other == one else form.format(f"{other} - {one}") for other in others]
    return f"(1E0 / ({' + '.join(powers)}))"


def _written(value: Any, mark: str = '"') -> str:
    if not isinstance(value, str):  # with an exponent servers take it for a double
        return str(value).upper() + "E0" * (isinstance(value, float) and "e" not in str(value))
    if "\\" in value or not value.isprintable() or not value:
        raise ParameterError(
            "SQL",
            "must have names and labels without backslashes and control characters, which "
            "servers read differently",
            f"{value!r:.60}",
            "Rename it, or use to_json or to_sklearn.",
        )
    return mark + value.replace(mark, 2 * mark) + mark


# What every format is made from.


def as_model(model: Any) -> LoadedModel:
    """Return a loaded model, or a fitted estimator as one; raise TypeError for anything else."""
    if isinstance(model, LinearModel):
        return model  # type: ignore[return-value]
    from ..estimators import MultipleInstanceClassifier  # on use: loaded models need no estimators

    if isinstance(model, MultipleInstanceClassifier):
        raise TypeError(
            "model must predict from columns of X to be exported; got MultipleInstanceClassifier, "
            "which predicts from similarities with instances. Predict in Python."
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
    raise ParameterError(
        "model",
        "must have a loss whose mean is the score or exp(score), to be exported",
        f"{loss!r:.80}, whose mean is another function of it",
        "Predict in Python.",
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
    0), "missing" (1 where it is empty), "filled" (the column, "fill" where it is empty; without its
    "unit", if it has one), "date" (the days since "origin" of dates written in an "order", "fill"
    where it is empty). "empty" is what a level is where the cell is empty; None: such rows are
    refused.
    """
    return [_origin(name, model.codings.get(name)) for name in feature_names(model)]


def _origin(name: str, coding: Coding | None) -> dict[str, Any] | None:
    if coding is None:
        return None
    of = {"column": coding.column}
    if coding.gaps == "indicator" and name == coding.absent:
        return {**of, "kind": "missing"}
    if coding.kind == "date":
        days = {"origin": coding.origin, "order": coding.form, "fill": coding.fill}
        return {**of, "kind": "date", **days}
    if coding.kind == "number":
        unit = {} if coding.form is None else {"unit": coding.form}
        return {**of, "kind": "filled", "fill": coding.fill, **unit}
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

    Raises ValueError where one has dates or units, which `what` does not read; `instead` says what
    to do.
    """
    found: dict[str, RawColumn] = {}
    names = feature_names(model)
    for place, (name, origin) in enumerate(zip(names, origins(model), strict=True)):
        coding = model.codings.get(name)
        column, kind = (name, "number") if coding is None else (coding.column, coding.kind)
        if kind != "category" and coding is not None and coding.form is not None:
            read = "dates" if kind == "date" else "units"
            raise ValueError(
                f"{what} cannot be made of {read}; got the feature {name!r}. {instead}, or drop "
                f"the column {column!r} and select again."
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
