"""A model as a query of standard SQL over columns of numbers."""

from typing import Any

from .json import describe


def to_sql(model: Any, *, table: str = "data", key: str | None = None) -> str:
    """Return a query of standard SQL that predicts for every row of a table.

    Its columns are score, probability (of the second class) and predicted for two classes; score_1,
    ..., probability_1, ... and predicted for several, in the order of `to_json`; mean, or mean_1,
    ..., for numbers and counts; risk for survival times. NULL in a feature gives NULL.

    model : fitted estimator, or what `load` returns. key : a column to keep. table : it has, as
    numbers, the features (x and a number where they have no names) and the offset or exposure.
    Raises ValueError, as `to_json`, for features made of text, dates or gaps, and for names and
    labels with a backslash or a control character.
    """
    given = describe(model)
    link, offset = given["link"], given["offset"]
    sums = [[_written(base)] for base in given["intercepts"]]
    for one in given["features"]:
        if one["origin"] is not None:
            raise ValueError(
                f"SQL must have features that are columns of numbers; got {one['name']!r:.60}, made"
                f" of {one['origin']['column']!r:.60}. Use to_json or to_sklearn(model, by='name')."
            )
        for terms, coef in zip(sums, one["coef"], strict=True):
            terms += [f"{_written(coef)} * {_written(one['name'])}"] * bool(coef)
    if offset is not None:
        column = _written(offset["column"])
        sums = [[*terms, f"LN({column})" if offset["log"] else column] for terms in sums]
    what = {"identity": "mean", "log": "mean", "risk": "risk"}.get(link, "score")
    s = [f'"{what}{end}"' for end in _ends(sums)]
    kept = [] if key is None else [_written(key)]
    if {one.casefold() for one in kept} & {*s}:
        raise ValueError(f"key must be no column of the predictions; got {key!r}. Rename it.")
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
        raise ValueError(
            "SQL must have names and labels without backslashes and control characters, which "
            f"servers read differently; got {value!r:.60}. Rename it, or use to_json or to_sklearn."
        )
    return mark + value.replace(mark, 2 * mark) + mark
