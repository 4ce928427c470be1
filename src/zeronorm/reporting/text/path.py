"""The report of `zeronorm path`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from ...core.messages import counted, show
from .tables import (
    GAP,
    empty_grid,
    four_digits,
    open_console,
    print_features,
    print_header,
    print_models,
    print_pairs,
    print_rest,
    seconds_fact,
    styled,
)
from .words import words_of

# A legend says this of the columns of a path.
_POINTS = {
    "explained": "the share of the loss that the features take away",
    "certified gap": "how far the objective can be from the best one, as a share of that without "
    "features",
}
_POINTS_OF_CLASSES = "Of all classes, the mean share explained and the largest gap."
_MAX_ENTRIES = 20  # A report shows so many features in the order in which they enter.
_MAX_POINTS = 20  # A report shows so many points of a path.


def print_path(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print points of an l1 path, and the model chosen or the order in which features enter."""
    console = open_console()
    chosen, classes = document["chosen"], document["classes"]
    print_header(console, document["data"])
    console.print()
    shown = [head for head in _print_points(console, document) if head in _POINTS]
    console.print()
    if shown and not quiet:
        legend = "; ".join(f"{head}: {_POINTS[head]}" for head in shown) + "."
        if len(classes) > 2:
            legend += f" {_POINTS_OF_CLASSES}"
        console.print(styled((legend, "dim")))
        console.print()
    if chosen is None:
        _print_entries(console, document["entered"])
        console.print()
    elif chosen["features"]:
        survival = document["data"]["task"] == "survival"
        score = "accuracy" if classes else "c_index" if survival else "r2"
        words = words_of(document["data"], document["parameters"]["loss"], score)
        print_models(console, chosen["features"], classes, ("point", "point"), words)
        if not quiet:
            legend = f"{words.legend}; point: the point of the path at which it entered."
            console.print(styled((legend, "dim")))
            console.print()
    print_pairs(console, _path_facts(document, quiet), airy=True)


def _print_points(console: Console, document: Mapping[str, Any]) -> list[str]:
    """Print the points where the number of features changes; return the heads of the columns.

    Where the terminal is narrow, columns are left out: a number that is cut says nothing.
    """
    points, chosen = document["path"], document["chosen"]
    marks: dict[int, list[str]] = {}
    if chosen is not None:
        marks.setdefault(chosen["best_point"], []).append("best")
        marks.setdefault(chosen["point"], []).append("1 s.e.")
    shown = _shown_points(points, marks)
    columns = {
        "point": [str(point["point"]) for point in shown],
        "C": [four_digits(point["C"]) for point in shown],
        "features": [f"{point['n_features']:,}" for point in shown],
        "explained": [f"{100 * max(0.0, point['explained']):.1f}%" for point in shown],
        "certified gap": [f"{point['gap']:.0e}" if point["gap"] else "0" for point in shown],
    }
    if chosen is not None:
        score = document["parameters"]["scoring"].replace("_", "-")
        columns[score] = [
            f"{point['score']:.3f} ± {point['standard_error']:.3f}" for point in shown
        ]
        columns[""] = [", ".join(marks.get(point["point"], ())) for point in shown]
    for head in ("certified gap", "explained", "point"):
        width = sum(max(len(head), *map(len, cells)) + GAP for head, cells in columns.items())
        if width > console.width:
            del columns[head]
    grid = empty_grid()
    for head in columns:
        grid.add_column(head, justify="right" if head else "left")
    for point, cells in zip(shown, zip(*columns.values(), strict=True), strict=True):
        grid.add_row(*cells, style="bold" if point["point"] in marks else "")
    console.print(grid)
    more = len(points) - len(shown)
    if more > 0:
        rest = "point" if more == 1 else "points"
        file = document["file"]
        where = "--output FILE.csv writes all" if file is None else f"{show(file)} has all"
        console.print(styled((f"{more:,} more {rest}; {where}.", "dim")))
    return list(columns)


def _shown_points(
    points: Sequence[Mapping[str, Any]], marked: Iterable[int]
) -> list[Mapping[str, Any]]:
    """Return the first, last and marked points, and those where the number of features changes."""
    last = len(points)
    if last <= _MAX_POINTS:
        return list(points)
    kept = {1, last, *marked}
    changes = [
        new["point"]
        for old, new in itertools.pairwise(points)
        if new["n_features"] != old["n_features"] and new["point"] not in kept
    ]
    room = _MAX_POINTS - len(kept)
    if len(changes) > room:  # evenly
        changes = [changes[(2 * i + 1) * len(changes) // (2 * room)] for i in range(room)]
    return [points[number - 1] for number in sorted(kept.union(changes))]


def _print_entries(console: Console, entries: Sequence[Mapping[str, Any]]) -> None:
    """Print the features that enter first."""
    rows = entries[:_MAX_ENTRIES]
    if not rows:
        console.print(styled(("no feature enters", "bold"), ("   up to this C", "dim")))
        return
    what = "1 feature enters" if len(entries) == 1 else f"{len(entries):,} features enter"
    title = styled(
        (what, "bold"), ("   in the order of their points, then of their columns", "dim")
    )
    columns = [
        ("C", [styled(four_digits(row["C"])) for row in rows]),
        ("point", [styled((str(row["point"]), "dim")) for row in rows]),
    ]
    numbers = [str(number) for number in range(1, len(rows) + 1)]
    print_features(console, title, rows, ("", numbers), columns)
    print_rest(console, len(entries) - len(rows))


def _path_facts(document: Mapping[str, Any], quiet: bool) -> list[tuple[str, str | Text]]:
    """Return what stands under the tables of a path."""
    parameters, chosen = document["parameters"], document["chosen"]
    facts: list[tuple[str, str | Text]] = []
    if chosen is not None:
        best = document["path"][chosen["best_point"] - 1]
        score = parameters["scoring"].replace("_", "-")
        size = chosen["n_features"]
        last = ""
        if chosen["best_point"] == len(document["path"]):
            last = "; the best is the last point, so that a longer path may be better"
        facts.append(
            (
                "chosen",
                styled(
                    (f"C = {four_digits(chosen['C'])}, {counted(size)}", "bold"),
                    f": the smallest C whose {score} is within one standard error of the best "
                    f"(C = {four_digits(best['C'])}, {counted(best['n_features'])}), "
                    f"in {parameters['cv']}-fold cross-validation of the path{last}",
                ),
            )
        )
    ratio = parameters["l1_ratio"]
    penalty = "l1" if ratio == 1 else f"{ratio:g} l1 and {1 - ratio:g} ridge"
    scaling = "standardised columns" if parameters["standardize"] else "columns as they are"
    text = f"{penalty} penalty, {scaling}; C weighs the {parameters['loss'].replace('_', ' ')} loss"
    facts.append(("problem", text))
    if not quiet:
        facts.append(seconds_fact(document, "for all folds" if chosen is not None else ""))
    if document["file"] is not None:
        facts.append(("written", styled((show(document["file"]), "bold"))))
    return facts
