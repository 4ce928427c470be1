"""A model as a query of standard SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..persistence import LoadedModel
from ._json import offset_of
from ._model import (
    Label,
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
from ._sql_dates import date_part

FAR = 700  # exp(-FAR) is 0 beside 1, and no server calls it an underflow
Columns = dict[str, str]  # expressions by the names that they get


def to_sql(model: Any, *, table: str | Sequence[str] = "data", key: str | None = None) -> str:
    """Return a query that predicts for every row of a table.

    Its columns are the score, the probability and the predicted class of two classes; of several
    classes a score and a probability for each, as "score_LABEL", and the predicted one; of numbers
    the mean, exp(score) for log links (of several responses "mean_NAME"); of survival times the
    risk. A row with NULL in a feature has NULL.

    The SQL is standard (ISO 9075): only arithmetic, CASE, EXP, LN and nested SELECT, with FLOOR,
    LENGTH and SUBSTR where there are dates, which are text as ISO 8601 has it, or DATE or
    TIMESTAMP. Names are quoted, with " doubled; numbers are the shortest that read back as the same
    double, with an exponent, so that servers take them for doubles and not for decimals of few
    places.

    Parameters
    ----------
    model : fitted estimator, or what `load` returns
        Columns go by the names of its features, without names by x and their number; where features
        were made of columns of text, dates or gaps, by those of these columns. The column of the
        offset or the exposure of `zeronorm select` is added as in the fit.
    table : str, or several: schema and name
    key : str or None
        A column of the table to keep beside the predictions.

    Raises
    ------
    ValueError
        If a name or a label has a NUL or a backslash, a name is empty, key is the name of a
        prediction, or a score has no expression: as `to_json`.
    """
    loaded = as_model(model)
    stages, kept = _stages(loaded, scores(loaded))
    taken = [name for stage in stages for name in stage]
    if key is not None and key.casefold() in map(str.casefold, taken):
        raise ValueError(
            f"key must be no column of the predictions, {', '.join(taken)}; got {key!r}. Rename it."
        )
    path = [table] if isinstance(table, str) else list(table)
    query = ".".join(identifier(part, "table") for part in path)
    carried: list[str] = [] if key is None else [identifier(key, "key")]
    for number, stage in enumerate(stages):
        last = number == len(stages) - 1
        if last:  # what was worked out on the way is left behind
            kept_before = [identifier(name) for name in kept if name not in stage]
            carried = carried[: key is not None] + kept_before
        columns = [*carried, *(f"{text} AS {identifier(name)}" for name, text in stage.items())]
        source = query if number == 0 else f'(\n{_indented(query)}\n) AS "step_{number}"'
        query = "SELECT\n" + ",\n".join(f"  {text}" for text in columns) + f"\nFROM {source}"
        carried += [identifier(name) for name in stage]
    return query + "\n"


def scores(model: LoadedModel) -> list[str]:
    """Return the expression of every score; of ordered classes that without thresholds."""
    names = [
        identifier(name, "feature") if origin is None else coded(origin)
        for name, origin in zip(feature_names(model), origins(model), strict=True)
    ]
    ordered = link_of(model) == "ordered logit"
    intercepts = [0.0] if ordered else model.intercept_.tolist()
    offset = offset_of(model)
    found = []
    for intercept, row in zip(intercepts, model.coef.tolist(), strict=True):
        terms = [number(intercept)]
        terms += [f"{number(c)} * {n}" for c, n in zip(row, names, strict=True) if c]
        if offset is not None:
            column = identifier(offset["column"], offset["column"])
            terms.append(f"LN({column})" if offset["log"] else column)
        found.append("\n    + ".join(terms))
    return found


def coded(origin: dict[str, Any]) -> str:
    """Return the expression of a feature that is made of a column of text, dates or gaps."""
    column = identifier(origin["column"], "column")
    if origin["kind"] == "date":
        part, fill = date_part(column, origin), origin.get("fill")
        return part if fill is None else f"COALESCE({part}, {number(fill)})"
    if origin["kind"] == "filled":
        return f"COALESCE({column}, {number(origin['fill'])})"
    if origin["kind"] == "missing":
        return f"CASE WHEN {column} IS NULL THEN 1E0 ELSE 0E0 END"
    empty = "" if origin["empty"] == 0.0 else f"WHEN {column} IS NULL THEN NULL "
    return f"CASE {empty}WHEN {column} = {literal(origin['value'])} THEN 1E0 ELSE 0E0 END"


def _stages(model: LoadedModel, expressions: list[str]) -> tuple[list[Columns], list[str]]:
    """Return the SELECTs, the innermost first, and the names of the columns that are kept."""
    link, classes = link_of(model), labels(model)
    if link in ("identity", "log"):
        means = _named("mean", outputs(model))
        values = [f"EXP({one})" if link == "log" else one for one in expressions]
        return [dict(zip(means, values, strict=True))], means
    if link == "risk":
        return [{"risk": expressions[0]}], ["risk"]
    names = _named("score", outputs(model))
    stages = [dict(zip(names, expressions, strict=True))]
    if link in ("logit", "sign"):
        score = identifier(names[0])
        last = {"probability": sigmoid(score)} if link == "logit" else {}
        limit = number(cut(model)) if cut(model) else "0"
        last["predicted"] = (
            f"CASE WHEN {score} > {limit} THEN {literal(classes[1])} "
            f"WHEN {score} <= {limit} THEN {literal(classes[0])} END"
        )
        return [*stages, last], [*names, *last]
    best = {"predicted": largest(names, [literal(label) for label in classes])}
    if link == "largest":
        return [*stages, best], [*names, *best]
    probabilities = _named("probability", [str(label) for label in classes])
    if link == "ordered logit":
        stages += _ordered(model, names[0], probabilities)
    else:
        stages += _normalised(link, names, probabilities)
        stages[-1] |= best
        return stages, [*names, *probabilities, *best]
    best = {"predicted": largest(probabilities, [literal(label) for label in classes])}
    return [*stages, best], [*names, *probabilities, *best]


def _ordered(model: LoadedModel, score: str, probabilities: list[str]) -> list[Columns]:
    """Return the probabilities of ordered classes, differences of those of higher ones."""
    cuts = thresholds(model).tolist()
    above = [f"above_{place}" for place in range(1, len(cuts) + 1)]
    first = {
        name: sigmoid(f"({identifier(score)} + {number(-cut)})")
        for name, cut in zip(above, cuts, strict=True)
    }
    ends = ["1E0", *map(identifier, above), "0E0"]
    second = {
        probabilities[place]: f"{ends[rank]} - {ends[rank + 1]}"
        for rank, place in enumerate(in_order(model))
    }
    return [first, second]


def _normalised(link: str, names: list[str], probabilities: list[str]) -> list[Columns]:
    """Return probabilities of classes that sum to one, each of e to what is largest at 0."""
    stages: list[Columns] = []
    logs = names
    if link == "one-versus-rest":  # the logarithm of 1 / (1 + exp(-score))
        logs = [f"log_{place}" for place in range(1, len(names) + 1)]
        each = zip(logs, map(identifier, names), strict=True)
        stages.append(
            {
                log: f"CASE WHEN {s} < -40 THEN {s} WHEN {s} > {FAR} THEN 0E0 "
                f"ELSE -LN(1 + EXP(-({s}))) END"
                for log, s in each
            }
        )
    stages.append({"largest": largest(logs, [identifier(log) for log in logs])})
    weights = [f"weight_{place}" for place in range(1, len(names) + 1)]
    stages.append(
        {
            weight: f'CASE WHEN {identifier(log)} - "largest" < -{FAR} THEN 0E0 '
            f'ELSE EXP({identifier(log)} - "largest") END'
            for weight, log in zip(weights, logs, strict=True)
        }
    )
    total = " + ".join(map(identifier, weights))
    pairs = zip(probabilities, weights, strict=True)
    stages.append({name: f"{identifier(weight)} / ({total})" for name, weight in pairs})
    return stages


def sigmoid(score: str) -> str:
    """Return 1 / (1 + exp(-score)), without overflow."""
    return (
        f"CASE WHEN {score} > {FAR} THEN 1E0 WHEN {score} < -{FAR} THEN 0E0 "
        f"ELSE 1 / (1 + EXP(-({score}))) END"
    )


def largest(names: Sequence[str], values: Sequence[str]) -> str:
    """Return the value of the largest column, the first that ties; NULL beside a NULL."""
    columns = [identifier(name) for name in names]
    text = f"CASE WHEN ({' + '.join(columns)}) IS NULL THEN NULL"
    for place, column in enumerate(columns[:-1]):
        wins = " AND ".join(f"{column} >= {other}" for other in columns[place + 1 :])
        text += f" WHEN {wins} THEN {values[place]}"
    return f"{text} ELSE {values[-1]} END"


def identifier(name: str, what: str = "name") -> str:
    """Return a quoted identifier."""
    if not name or "\0" in name:
        raise ValueError(
            f"SQL must have names of at least one character and without NUL; got {name!r:.40} for "
            f"{what}. Rename it."
        )
    _refuse_backslash(name, what)
    return '"' + name.replace('"', '""') + '"'


def number(value: float) -> str:
    """Return a number that reads back as the same double, which it is for any server."""
    text = repr(float(value))
    return text if "e" in text else f"{text}E0"


def literal(label: Label) -> str:
    """Return the label of a class."""
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, str):
        if "\0" in label:
            raise ValueError(f"SQL must have text without NUL; got the class {label!r:.40}.")
        _refuse_backslash(label, "a class or a level")
        return "'" + label.replace("'", "''") + "'"
    return repr(label)


def _refuse_backslash(text: str, what: str) -> None:
    """Raise ValueError where servers do not agree on where a quoted text ends."""
    if "\\" in text:
        raise ValueError(
            f"SQL must have names and text without a backslash; got {text!r:.60} for {what}. In "
            "standard SQL it is a character as any other; MySQL, BigQuery, ClickHouse and "
            "Databricks take it for an escape, and what follows for part of the query. Rename it, "
            "or export another format (json, onnx)."
        )


def _named(what: str, parts: Iterable[str]) -> list[str]:
    """Return the names of columns; numbers in place of what differs by its case alone."""
    parts = list(parts)
    if parts == [""]:
        return [what]
    if len({part.casefold() for part in parts}) < len(parts):
        parts = [str(place) for place in range(1, len(parts) + 1)]
    return [f"{what}_{part}" for part in parts]


def _indented(text: str) -> str:
    """Return lines with two more spaces before each."""
    return "\n".join(f"  {line}" for line in text.split("\n"))
