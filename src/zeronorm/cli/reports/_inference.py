"""The report of `zeronorm infer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from ..._effects import RATIOS, ratio_name, ratio_text
from .._messages import counted, show
from ._tables import (
    MAX_ROWS,
    aligned,
    like,
    open_console,
    print_features,
    print_header,
    print_pairs,
    print_rest,
    seconds_of,
    styled,
)
from ._words import target_name

_SMALL = 1e-4
_LEAST = 10  # A report of several splits shows so many features, and those of p below 1.


def print_inference(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print the features with their intervals or combined p-values, and what these are."""
    console = open_console()
    print_header(console, document["data"])
    console.print()
    rows, splits = document["features"], document["splits"]
    own = {row["index"]: row for row in splits[0]["features"]}
    most = MAX_ROWS
    if len(splits) > 1:
        most = min(most, max(_LEAST, sum(row["p_value"] < 1 for row in rows)))
    shown = rows[:most]
    columns: list[tuple[str, Sequence[Text]]]
    if len(splits) == 1:
        shown_rows = [own[row["index"]] for row in shown]
        columns = _intervals(shown_rows, document["confidence"], ratio_name(document["model"]))
    else:
        chosen = [styled(f"{row['chosen']:.0%}") for row in shown]
        columns = [("chosen", chosen)]
    for head, key in (("p", "p_value"), ("p of all", "adjusted_p_value")):
        columns.append((head, [styled(_p(row[key])) for row in shown]))
    sign = "positive: earlier events" if document["model"] == "cox" else ""
    if document["model"] == "linear":
        sign = f"positive raises {target_name(document['data'])}"
    elif document["classes"]:
        sign = f"positive speaks for {show(str(document['classes'][-1]), 30)}"
    title = styled((counted(len(rows)), "bold"), (f"   {sign}" if len(splits) == 1 else "", "dim"))
    ranks = [str(rank) for rank in range(1, len(shown) + 1)]
    print_features(console, title, shown, ("rank", ranks), columns)
    print_rest(console, len(rows) - most)
    console.print()
    facts = _facts(document)
    if not quiet:
        facts += _meaning(len(splits) > 1, document["model"])
    if document["features_file"] is not None:
        facts.append(("written", styled((show(document["features_file"]), "bold"))))
    if not quiet:
        facts.append(("seconds", seconds_of(document["seconds"])))
    print_pairs(console, facts, airy=True)


def _intervals(
    rows: Sequence[Mapping[str, Any]], confidence: float, ratio: str | None
) -> list[tuple[str, Sequence[Text]]]:
    """Return the columns of coefficients and their intervals, and of ratios for one unit."""
    texts = aligned([row["coefficient"] for row in rows], 3)
    ends = [
        " to ".join("-" if row[end] is None else like(text, row[end]) for end in ("lower", "upper"))
        for text, row in zip(texts, rows, strict=True)
    ]
    columns = {"coefficient": texts, f"{100 * confidence:g}% interval": ends}
    if ratio is not None:
        columns[ratio] = [ratio_text(row["coefficient"]) for row in rows]
    return [(head, [styled(text) for text in own]) for head, own in columns.items()]


def _p(value: float) -> str:
    return f"{value:.1e}" if value < _SMALL else f"{value:.4f}"


def _facts(document: Mapping[str, Any]) -> list[tuple[str, str | Text]]:
    """Return which samples chose, and which inferred."""
    splits = document["splits"]
    one, several = splits[0], len(splits) > 1
    each = f"{len(splits)} random splits; in each " if several else ""
    what = "Cox" if document["model"] == "cox" else document["model"]
    return [
        (
            "model",
            styled(
                (f"{what}, of {counted(len(one['features']))}", "bold"),
                f"; {each}{counted(one['n_chose'], 'sample')} chose, "
                f"{counted(one['n_inferred'], 'other')} "
                f"{'infers' if one['n_inferred'] == 1 else 'infer'}",
            ),
        )
    ]


def _meaning(several: bool, model: str) -> list[tuple[str, str | Text]]:
    """Return in plain words what intervals and p-values are, and what they are not."""
    if several:
        first = (
            "p is twice the median over the splits, 1 where a feature is not chosen: a p-value of "
            "its coefficient being 0 in every model that has it."
        )
    else:
        first = (
            "Intervals and p-values are as true as for features that were known before the data, "
            "since no sample that chose them is used again."
        )
    ratio = ratio_name(model)
    if ratio is not None and not several:
        first += (
            f" The {ratio} is the exponential of the coefficient: by what one unit of the feature "
            f"multiplies the {RATIOS[model][1]}, of a column of 0 and 1: 1 compared with 0."
        )
    if model != "linear":
        first += (
            " They are those of the likelihood ratio, which is a little too sure of itself unless "
            "samples are many times the features."
        )
    return [
        ("meaning", f"{first} p of all allows for all features at once."),
        (
            "",
            "Effects are those of these features together, without others, and no causes; other "
            "samples would choose others. The features are not those of zeronorm select, which all "
            "samples choose.",
        ),
    ]
