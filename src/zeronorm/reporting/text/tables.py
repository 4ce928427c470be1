"""The parts of text reports: a console, tables fitted to its width, pairs, numbers.

Text from a file goes through `show`. A table gives its numbers the width they need and cuts names
and descriptions to what is left.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import IO, Any, TypeVar, cast

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...core.effects import ratio_text
from ...core.messages import counted, show
from ..records import Category, DataRead, Feature, PathFound, Selected, SelectionFound, Term
from .words import Words, describe_target, target_name

_TermT = TypeVar("_TermT", bound=Term)

styled = Text.assemble  # of texts and (text, style)

GAP = 2  # cells between two columns of a table
LEAST_NAME, LEAST_GROUP = 7, 5  # cells of the names of a feature and of its group
WRAPPED = 11  # cells of a head in a narrow terminal, where it is no single word
MAX_ROWS = 50  # features of a model that a report shows
_HEAD = 14  # characters of a name at the head of a column, at most
_NAMES = 22  # cells that rank and names of the features need, at least,
_GROUPS = 8  # and those of their groups.
_STRONGEST = ("strongest", "second", "third")


def open_console() -> Console:
    """Return the console that writes to standard output as it is now."""
    file = sys.stdout if sys.stdout.isatty() else cast("IO[str]", _Trimmed())
    return Console(file=file, highlight=False, markup=False, emoji=False)


class _Trimmed:
    """Standard output without the blanks that fill the ends of lines."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stdout, name)

    def write(self, text: str) -> int:
        return sys.stdout.write(re.sub(r" +(?=\n)", "", text))


def empty_grid() -> Table:
    """Return an empty table with a line under its header and nothing else drawn."""
    return Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        header_style="dim",
        border_style="dim",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def print_pairs(
    console: Console, pairs: Sequence[tuple[str, str | Text]], airy: bool = False
) -> None:
    """Print a list of names and texts, the texts wrapped in a column of their own."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for order, (name, value) in enumerate(pairs):
        if airy and name and order:
            grid.add_row("", "")
        grid.add_row(name, value)
    console.print(grid)


def print_header(console: Console, data: DataRead) -> None:
    n_beside = data.n_covariates
    beside = f" beside {n_beside:,} of covariates" if n_beside else ""
    in_groups = "" if data.n_groups is None else f" in {counted(data.n_groups, 'group')}"
    console.print(
        styled(
            (show(data.source, 60), "bold"),
            f"   {counted(data.n_samples, 'sample')} \u00d7 "
            f"{counted(data.n_features - n_beside)}{beside}{in_groups}   {data.storage}",
        )
    )
    counts = data.class_counts
    if counts:
        shown = [f"{show(label, 30)} {count:,}" for label, count in list(counts.items())[:12]]
        between = " < " if data.task == "ordered" else ", "
        more = f", and {len(counts) - 12} more" if len(counts) > 12 else ""
        name = show(str(data.target or "classes"), 40)
        kind = "ordered, " if data.task == "ordered" else ""
        console.print(styled((f"{name}: ", "dim"), f"{kind}{between.join(shown)}{more}"))
    elif data.range is not None:
        console.print(styled((f"{target_name(data)}: ", "dim"), describe_target(data)))
    if data.guess is not None:
        console.print(styled((f"read as {data.task}: {data.guess}", "dim")))


def thresholds_text(classes: Sequence[Any], thresholds: Sequence[float]) -> Text:
    """Return where ordered classes end and the next begin, in units of the coefficients."""
    text = styled(show(str(classes[0]), 30))
    for label, threshold in zip(classes[1:], thresholds, strict=True):
        text.append_text(styled((f" | {threshold:.4g} | ", "bold"), show(str(label), 30)))
    return text


def print_models(
    console: Console,
    features: Sequence[Selected],
    classes: Sequence[Any],
    entered: tuple[str, str] | None,
    words: Words,
    n_groups: int | None = None,
) -> None:
    """Print the features of every class with their coefficients.

    entered : head and field of when a feature entered. words : of the task.
    n_groups : how many groups there are, where the features are in groups.
    """
    for label, own in rows_by_class(features).items():
        rows = own[:MAX_ROWS]
        colours = ["green" if cast("float", row.coefficient) > 0 else "red" for row in rows]
        columns = [
            (head, [styled(pair) for pair in zip(texts, colours, strict=True)])
            for head, texts in _effect_texts(rows, words).items()
        ]
        if entered is not None:
            head, key = entered
            columns.append((head, [styled((str(getattr(row, key) or "-"), "dim")) for row in rows]))
        ranks = [str(row.rank) for row in rows]
        title = _title(own, label, classes, n_groups, words)
        print_features(console, title, rows, ("rank", ranks), columns, n_groups is not None)
        print_rest(console, len(own) - len(rows))
        console.print()


def _effect_texts(rows: Sequence[Term], words: Words) -> dict[str, list[str]]:
    """Return the columns of effects, for one unit and for one SD, as ratios where there are any."""
    plain = [cast("float", row.coefficient) for row in rows]
    per_sd = [cast("float", row.coefficient_per_sd) for row in rows]
    found = {"coefficient": aligned(plain)}
    if not words.ratio:
        return found | {"coefficient per SD": aligned(per_sd, 3)}
    return found | {
        words.ratio: [ratio_text(value) for value in plain],
        f"{words.ratio} per SD": [ratio_text(value) for value in per_sd],
    }


def _title(
    rows: Sequence[Selected],
    label: Any,
    classes: Sequence[Any],
    n_groups: int | None,
    words: Words,
) -> Text:
    what, in_groups = "feature" if len(rows) == 1 else "features", ""
    if n_groups is not None:
        in_groups = f" in {count_groups(rows):,} of {counted(n_groups, 'group')}"
    shown = show(str(label), 30)
    if len(classes) > 2:
        return styled(
            (f"{len(rows)} {what} of {shown}{in_groups}", "bold"),
            ("   against the other classes", "dim"),
        )
    sign = words.sign or f"positive favours {shown}"
    return styled((f"{len(rows)} {what}{in_groups}", "bold"), (f"   {sign}", "dim"))


def count_groups(rows: Sequence[Selected]) -> int:
    """Return how many groups some features are in."""
    return len({row.group for row in rows})


def rows_by_class(features: Sequence[_TermT]) -> dict[Any, list[_TermT]]:
    """Return the features of every class."""
    classes: dict[Any, list[_TermT]] = {}
    for row in features:
        classes.setdefault(row.label, []).append(row)
    return classes


def print_features(
    console: Console,
    title: Text,
    rows: Sequence[Feature],
    first: tuple[str, Sequence[str]],
    columns: Sequence[tuple[str, Sequence[Text]]],
    grouped: bool = False,
) -> None:
    """Print a row per feature; names and descriptions share what the numbers leave of the width.

    Where that is little, heads take two lines; where it is too little, the last columns are left
    out, and a line below tells which.

    first, columns : head and cells before and after the name.
    grouped : whether the names of their groups are shown, which have their share before the others.
    """
    described = any(row.description for row in rows)
    least, n_shown = LEAST_NAME + (LEAST_GROUP + GAP if grouped else 0), len(columns)

    def room_beside(shown: Sequence[tuple[str, Sequence[str | Text]]]) -> int:
        widths = (max(map(cell_len, head.split("\n"))) for head, _ in shown)
        cells = (max(map(len, column)) for _, column in shown)
        return console.width - sum(max(each) + GAP for each in zip(widths, cells, strict=True))

    if room_beside([first, *columns]) < least:
        columns = [(fill(head, WRAPPED), cells) for head, cells in columns]
    while n_shown > 1 and room_beside([first, *columns[:n_shown]]) < least:
        n_shown -= 1
    columns, left_out = columns[:n_shown], columns[n_shown:]
    room = room_beside([first, *columns])
    names = [show(row.name) for row in rows]
    groups = [show(getattr(row, "group", "")) for row in rows] if grouped else []
    if grouped:
        share = max(LEAST_GROUP, (room - GAP) // 2)
        width_of_groups = min(max(LEAST_GROUP, *map(cell_len, groups)), share)
        room -= width_of_groups + GAP
    width = min(max(LEAST_NAME, *(cell_len(name) for name in names)), max(LEAST_NAME, room))
    if described:
        width = min(width, max(12, room // 2))
    rest = room - width - GAP  # of a description; less than a word is of no use
    described = described and rest >= 11
    grid = empty_grid()
    grid.add_column(first[0], justify="right", no_wrap=True)
    grid.add_column("feature", no_wrap=True, overflow="ellipsis", width=width, style="bold")
    if grouped:
        grid.add_column("group", no_wrap=True, overflow="ellipsis", width=width_of_groups)
    if described:
        grid.add_column("description", no_wrap=True, overflow="ellipsis", max_width=rest)
    for head, _ in columns:
        grid.add_column(head, justify="right", no_wrap=True)
    for number, (row, name) in enumerate(zip(rows, names, strict=True)):
        cells: list[str | Text] = [first[1][number], styled(name)]
        if grouped:
            cells.append(styled(groups[number]))
        if described:
            cells.append(styled((show(row.description or ""), "dim")))
        grid.add_row(*cells, *(column[number] for _, column in columns))
    console.print(title)
    console.print(grid)
    if left_out:
        heads = ", ".join(head.replace("\n", " ") for head, _ in left_out)
        console.print(styled((f"Too wide for {console.width} columns, in --json: {heads}", "dim")))


def print_rest(console: Console, more: int) -> None:
    """Print how many rows a table leaves out, if any."""
    if more > 0:
        console.print(styled((f"{more:,} more; --json lists them all.", "dim")))


def seconds_fact(document: SelectionFound | PathFound, purpose: str) -> tuple[str, Text]:
    """Return the seconds by phase, and the passes over the data for a purpose."""
    passes = f"{counted(document.n_scans, 'pass')} over the data {purpose}".rstrip()
    return "seconds", seconds_of(document.seconds).append_text(styled("\n", (passes, "dim")))


def seconds_of(seconds: Mapping[str, float]) -> Text:
    """Return the seconds in all, and by phase."""
    phases = [
        f"{name} {value:.2f}"
        for name, value in seconds.items()
        if name != "total" and value >= 0.005
    ]
    return styled((f"{seconds['total']:.2f}", "bold"), f": {', '.join(phases)}")


def four_digits(value: float) -> str:
    """Return a positive number with four digits."""
    return f"{value:#.4g}".rstrip(".")


def aligned(values: Sequence[float], least: int = 4) -> list[str]:
    """Return numbers with signs and one number of decimals, all of them three digits or more."""
    sizes = [abs(value) for value in values if value]
    low, high = min(sizes, default=1.0), max(sizes, default=1.0)
    decimals = max(least, 3 - int(f"{low:e}".partition("e")[2]) - 1)
    if high >= 1e6 or decimals > 7:
        return [f"{value:+.3e}" for value in values]
    if high >= 1e3:
        decimals = min(decimals, 2)
    return [f"{value:+.{decimals}f}" for value in values]


def like(text: str, value: float) -> str:
    """Return a number with the decimals of one that `aligned` has written."""
    if "e" in text:
        return f"{value:+.3e}"
    return f"{value:+.{len(text.partition('.')[2])}f}"


def print_outputs(
    console: Console,
    features: Sequence[Selected],
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
    columns = _effect_columns(console, rows, outputs, words, of_classes, grouped)
    what = "classes" if of_classes else "responses"
    among = "in all"
    if n_groups is not None:
        among = f"in {count_groups(features)} of {counted(n_groups, 'group')}"
    title = styled(
        (f"{counted(len(features))} {among}, shared by the {len(outputs)} {what}", "bold"),
        (f"   {words.sign or 'positive favours the class'}", "dim"),
    )
    ranks = "rank", [str(row.rank) for row in rows]
    print_features(console, title, rows, ranks, columns, grouped)
    print_rest(console, len(features) - len(rows))
    console.print()


def outputs_legend(words: Words, of_classes: bool) -> str:
    """Return what the numbers of the table are."""
    if words.ratio:
        return (
            f"each number: the {words.ratio}, the factor on the {words.multiplied} per unit of the "
            "feature (of a column of 0 and 1: 1 compared with 0)"
        )
    of = " of the class, against the mean of all classes" if of_classes else ""
    return (
        f"each number: the coefficient per SD, the change of the {words.what}{of} per standard "
        "deviation of the feature"
    )


def _effect_columns(
    console: Console,
    rows: Sequence[Term],
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
    largest = max(abs(value) for row in rows for value in getattr(row, key))
    for output in range(q):
        effects = [getattr(row, key)[output] for row in rows]
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
    rows: Sequence[Term],
    heads: Sequence[str],
    table: Sequence[Sequence[Text]],
) -> list[tuple[str, Sequence[Text]]]:
    """Return the outputs of the largest effects of every row, in as many columns as there is room.

    table : the cells of all outputs.
    """
    orders = [
        sorted(range(len(heads)), key=lambda o, row=row: -abs(row.coefficient_per_sd[o]))  # type: ignore[misc]
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


def print_covariates(
    console: Console,
    covariates: Sequence[Term],
    outputs: Sequence[Any],
    words: Words,
    labelled: bool,
    categories: Sequence[Category] = (),
) -> None:
    """Print the covariates with their coefficients, of every class; nothing where there are none.

    outputs : the classes or responses that share the features of one model; else none.
    labelled : whether there are more classes than two, with models of their own or outputs.
    categories : columns of text among the covariates and the forced features, which users count as
        one each.
    """
    beside = "in every model, not counted, not penalised"
    texts = [one for one in categories if one.option == "--covariates"]
    more = sum(one.features - 1 for one in texts)
    beside += f": {category_words(texts)}" if texts else ""
    for label, rows in rows_by_class(covariates).items():
        of_class = f" of {show(str(label), 30)}" if labelled and not outputs else ""
        title = styled(
            (f"{counted(len(rows) - more, 'covariate')}{of_class}", "bold"), (f"   {beside}", "dim")
        )
        if outputs:
            columns = _effect_columns(console, rows, outputs, words, labelled)
        else:
            effects = _effect_texts(rows, words)
            columns = [(head, [*map(styled, own)]) for head, own in effects.items()]
        print_features(console, title, rows, ("", [""] * len(rows)), columns)
        console.print()


def category_words(categories: Sequence[Category]) -> str:
    """Return columns of text, and how many features stand for their levels."""
    words = []
    for one in categories:
        levels, features = one.levels, one.features
        what = "" if features == levels else f" by {counted(features, 'feature')}"
        number = f"{'all ' * (levels > 2)}{counted(levels, 'level')}"
        words.append(f"{show(one.column, 40)} ({number}{what})")
    return ", ".join(words)
