"""The features that several classes or responses share, as a table: features x outputs.

Where the outputs are more than fit, a row has those that its feature says most about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from ...core.effects import ratio_text
from ...core.messages import counted, show
from .tables import GAP, MAX_ROWS, count_groups, print_features, print_rest, styled
from .words import Words

_HEAD = 14  # A name at the head of a column has so many characters at most.
_NAMES = 22  # What rank and names of the features need, at least,
_GROUPS = 8  # and those of their groups.
_STRONGEST = ("strongest", "second", "third")


def print_outputs(
    console: Console,
    features: Sequence[Mapping[str, Any]],
    outputs: Sequence[Any],
    words: Words,
    of_classes: bool,
    n_groups: int | None = None,
) -> None:
    """Print the effects of the features, a row for each, on the outputs.

    words : of the task. of_classes : whether the outputs are classes; else they are responses.
    n_groups : of all features, where there is a budget of them.
    """
    rows, grouped = features[:MAX_ROWS], n_groups is not None
    columns = effect_columns(console, rows, outputs, words, of_classes, grouped)
    what = "classes" if of_classes else "responses"
    among = "in all"
    if n_groups is not None:
        among = f"in {count_groups(features)} of {counted(n_groups, 'group')}"
    title = styled(
        (f"{counted(len(features))} {among}, shared by the {len(outputs)} {what}", "bold"),
        (f"   {words.sign or 'positive speaks for the class'}", "dim"),
    )
    ranks = "rank", [str(row["rank"]) for row in rows]
    print_features(console, title, rows, ranks, columns, grouped)
    print_rest(console, len(features) - len(rows))
    console.print()


def outputs_legend(words: Words, of_classes: bool) -> str:
    """Return what the numbers of the table are."""
    if words.ratio:
        return (
            f"each number: the {words.ratio}, by what one unit of the feature multiplies the "
            f"{words.multiplied}, of a column of 0 and 1: 1 compared with 0"
        )
    of = " of the class, against the mean of all classes" if of_classes else ""
    return (
        "each number: the coefficient per SD, what one standard deviation of the feature adds to "
        f"the {words.what}{of}"
    )


def effect_columns(
    console: Console,
    rows: Sequence[Mapping[str, Any]],
    outputs: Sequence[Any],
    words: Words,
    of_classes: bool,
    grouped: bool = False,
) -> list[tuple[str, Sequence[Text]]]:
    """Return heads and cells of the effects of features on the outputs, as many as there is room.

    of_classes : whether the outputs are classes; else they are responses.
    grouped : whether the names of groups stand beside those of features.
    """
    q = len(outputs)
    table: list[list[Text]] = [[] for _ in rows]
    key = "coefficient" if words.ratio else "coefficient_per_sd"
    largest = max(abs(value) for row in rows for value in row[key])
    for output in range(q):
        effects = [row[key][output] for row in rows]
        # Log-odds have one unit, responses have their own.
        size = largest if of_classes else max(map(abs, effects))
        texts = [*map(ratio_text, effects)] if words.ratio else _three_digits(effects, size)
        for cells, text, effect in zip(table, texts, effects, strict=True):
            colour = "green" if effect > 0 else "red" if effect < 0 else "dim"
            cells.append(styled((text, colour)))
    heads = [show(str(output), _HEAD) for output in outputs]
    columns: list[tuple[str, Sequence[Text]]] = [
        (head, [own[o] for own in table]) for o, head in enumerate(heads)
    ]
    width = sum(max(len(head), *map(len, own)) + GAP for head, own in columns)
    room = console.width - _NAMES - _GROUPS * grouped
    if width > room:
        return _strongest(room, rows, heads, table)
    return columns


def _three_digits(values: Sequence[float], size: float) -> list[str]:
    """Return numbers with signs and as many decimals as give one of a size three digits."""
    exponent = f"{size:e}".partition("e")[2]
    digits = 2 - int(exponent)
    if not -4 < digits < 8:
        return [f"{value:+.2e}" for value in values]
    return [f"{value:+.{max(digits, 0)}f}" for value in values]


def _strongest(
    room: int,
    rows: Sequence[Mapping[str, Any]],
    heads: Sequence[str],
    table: Sequence[Sequence[Text]],
) -> list[tuple[str, Sequence[Text]]]:
    """Return the outputs of the largest effects of every row, in as many columns as there is room.

    table : the cells of all outputs.
    """
    orders = [
        sorted(range(len(heads)), key=lambda o, row=row: -abs(row["coefficient_per_sd"][o]))  # type: ignore[misc]
        for row in rows
    ]
    columns: list[tuple[str, Sequence[Text]]] = []
    for place, head in enumerate(_STRONGEST):
        cells = [
            styled((f"{heads[order[place]]} ", "dim"), own[order[place]])
            for order, own in zip(orders, table, strict=True)
        ]
        room -= max(len(head), *map(len, cells)) + GAP
        if columns and room < 0:
            break
        columns.append((head, cells))
    return columns
