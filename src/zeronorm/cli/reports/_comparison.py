"""The report of `zeronorm compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._messages import counted, show, some
from .._threshold import sentence
from ._claims import loss_words, percent
from ._evaluation import is_loss, number, print_costs, title
from ._tables import MAX_ROWS, empty_grid, open_console, print_header, print_rest, styled

_MAX_SHARED = 12  # A line names so many features.


def print_comparison(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print the models, what they share, their coefficients, and their scores beside the first."""
    console = open_console()
    if document["data"] is not None:
        print_header(console, document["data"])
        console.print()
    console.print(_models_grid(document["models"]))
    _print_thresholds(console, document)
    console.print()
    _print_overlap(console, document)
    _print_coefficients(console, document)
    if document["data"] is not None:
        console.print(_scores_grid(document["scores"]))
        console.print()
        print_costs(console, document["costs"], [one["scores"] for one in document["scores"]])
        for place, one in enumerate(document["scores"][1:], 2):
            console.print(_verdict(place, one))
        console.print()
    if not quiet:
        console.print(styled((_legend(document), "dim")))


def _models_grid(models: Sequence[Mapping[str, Any]]) -> Any:
    """Return a line for each model, with what its file says of it."""
    grid = empty_grid()
    grid.add_column("", justify="right")
    grid.add_column("model", overflow="fold")
    grid.add_column("made by")
    for head in ("features", "C", "objective", "gap"):
        grid.add_column(head, justify="right")
    for place, one in enumerate(models, 1):
        how = [one["estimator"], one["method"], one["loss"] and loss_words(one["loss"])]
        gap = "proven" if one["proven"] and not one["gap"] else None
        if gap is None:
            gap = "-" if one["gap"] is None else percent(one["gap"])
        more = f" + {one['n_covariates']}" if one["n_covariates"] else ""
        grid.add_row(
            str(place),
            styled((show(one["file"]), "bold")),
            styled(show(", ".join(filter(None, how)), 60)),
            f"{one['n_selected']:,}{more}",
            "-" if one["C"] is None else f"{one['C']:g}",
            "-" if one["objective"] is None else f"{one['objective']:.5g}",
            gap,
        )
    return grid


def _print_thresholds(console: Any, document: Mapping[str, Any]) -> None:
    """Print what each model predicts, where one does not predict the likelier class."""
    records = [one["threshold"] for one in document["models"]]
    classes = sorted(document["classes"])
    for place, record in enumerate(records if any(records) else (), 1):
        acts = "the likelier class" if record is None else sentence(record, classes)
        console.print(styled((f"model {place} predicts ", "dim"), acts))


def _print_overlap(console: Any, document: Mapping[str, Any]) -> None:
    """Print which features all models share, and of three or more what each two do."""
    overlap = document["overlap"]
    shared = overlap["shared"]
    pairs = overlap["pairs"]
    named = f": {some([show(name, 30) for name in shared], _MAX_SHARED)}" if shared else ""
    jaccard = f", Jaccard index {pairs[0]['jaccard']:.2f}" if len(pairs) == 1 else ""
    console.print(
        styled(
            (f"{len(shared):,} of {counted(overlap['n_union'])} in all models{jaccard}", "bold"),
            named,
        )
    )
    if len(pairs) > 1:
        grid = empty_grid()
        for head in ("models", "shared", "of", "Jaccard index"):
            grid.add_column(head, justify="right")
        for one in pairs:
            first, second = one["models"]
            counts = f"{one['shared']:,}", f"{one['union']:,}"
            grid.add_row(f"{first}, {second}", *counts, f"{one['jaccard']:.2f}")
        console.print(grid)
    console.print()


def _print_coefficients(console: Any, document: Mapping[str, Any]) -> None:
    """Print the coefficients of the models side by side."""
    rows = document["features"]
    several = any(row["of"] for row in rows)
    grid = empty_grid()
    grid.add_column("feature", style="bold", overflow="ellipsis", no_wrap=True)
    if several:
        grid.add_column("of", overflow="ellipsis", no_wrap=True)
    key = "coefficients" if document["data"] is None else "coefficients_per_sd"
    what = "coefficient" if document["data"] is None else "per SD"
    for place in range(1, len(document["models"]) + 1):
        grid.add_column(f"{place}: {what}", justify="right")
    for row in rows[:MAX_ROWS]:
        cells = [styled(show(row["feature"]) + " *" * row["covariate"])]
        if several:
            cells.append(styled(show(row["of"], 30)))
        for value in row[key]:
            colour = "" if value is None else "green" if value > 0 else "red"
            cells.append(styled(("" if value is None else f"{value:+.4g}", colour)))
        grid.add_row(*cells)
    console.print(grid)
    print_rest(console, len(rows) - MAX_ROWS)
    if len(document["classes"]) == 2:
        label = show(str(document["classes"][1]), 30)
        console.print(styled((f"positive speaks for {label}", "dim")))
    console.print()


def _scores_grid(models: Sequence[Mapping[str, Any]]) -> Any:
    """Return the scores of all models, one kind after the other."""
    grid = empty_grid()
    grid.add_column("score")
    for head in ("model", "value", "± s.e.", "less model 1", "± s.e."):
        grid.add_column(head, justify="right")
    grid.add_column("")
    names = [score["name"] for score in models[0]["scores"]]
    names += [s["name"] for one in models[1:] for s in one["scores"] if s["name"] not in names]
    for name in dict.fromkeys(names):
        head = title(name)
        for place, one in enumerate(models, 1):
            score = next((score for score in one["scores"] if score["name"] == name), None)
            if score is None:
                continue
            value, difference = score["value"], score["difference"]
            error = number(score["standard_error"], beside=value)
            gain = "" if difference is None else f"{'+' * (difference >= 0)}{number(difference)}"
            of_gain = "" if place == 1 else number(score["difference_error"], beside=difference)
            more = "smaller is better" if head and is_loss(name) else ""
            shown = styled((number(value), "bold"))
            grid.add_row(head, str(place), shown, error, gain, of_gain, more)
            head = ""
    return grid


def _verdict(place: int, one: Mapping[str, Any]) -> Any:
    """Return in a line what is to be told of a model and the first."""
    better: list[str] = []
    worse: list[str] = []
    for score in one["scores"]:
        gain, error = score["difference"], score["difference_error"]
        if gain is not None and error is not None and abs(gain) > 2.0 * error:
            more = gain < 0 if is_loss(score["name"]) else gain > 0
            (better if more else worse).append(title(score["name"]))
    found = [
        f"{word} by {', '.join(by)}" for word, by in (("better", better), ("worse", worse)) if by
    ]
    said = f"against model 1, model {place} is {' and '.join(found)}"
    if not found:
        said = f"no difference between model {place} and model 1 that these samples can tell"
    parts = [(said, "bold")]
    if one["agreement"] is not None:
        test = one["mcnemar"]
        parts.append(
            (
                f"; the same prediction for {one['agreement']:.1%} of the samples; only "
                f"model {place} is right for {test['second_alone']:,}, only model 1 for "
                f"{test['first_alone']:,} (McNemar's p = {test['p_value']:.3g})",
                "",
            )
        )
    elif one["correlation"] is not None:
        parts.append((f"; correlation of the predictions {one['correlation']:.3f}", ""))
    return styled(*parts)


def _legend(document: Mapping[str, Any]) -> str:
    """Return how to read the numbers."""
    text = (
        "C, objective and gap are those of each selection, to be compared where data, loss and "
        "scaling are the same"
    )
    if document["data"] is None:
        return f"{text}. With DATA after the models they are compared on the same samples."
    return (
        f"{text}. per SD: coefficient times the standard deviation of the feature in DATA; less "
        "model 1: on the same samples, and on the same ones drawn anew for its standard error. "
        "True of new samples only where these had no part in the selection of any of the models."
    )
