"""The report of `zeronorm explain`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._effects import ratio_text
from .._messages import counted, show
from ._tables import empty_grid, open_console, print_pairs, styled

_MAX_SAMPLES = 3  # A report shows so many.
_MAX_FEATURES = 20  # and of each so many features, those that add most.
_MAX_OUTPUTS = 4
_BAR = 24  # cells
# What a score is, what its sign says, and whether its exponential is a factor.
_SCORES = {
    "logit": ("log-odds", "the odds"),
    "one-versus-rest": ("log-odds", "the odds"),
    "softmax": ("score", ""),
    "ordered logit": ("score", "the odds of a higher class"),
    "sign": ("score", ""),
    "largest": ("score", ""),
    "identity": ("prediction", ""),
    "log": ("logarithm of the mean", "the mean"),
    "risk": ("risk score", "the hazard"),
}


def print_explanations(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print the first samples: what each feature adds, the largest first."""
    console = open_console()
    console.print(
        styled(
            (show(document["source"], 60), "bold"),
            f"   {counted(document['n_samples'], 'sample')}   by {show(document['model'])}",
        )
    )
    console.print()
    if document["file"] is not None:
        print_pairs(console, [("written", styled((show(document["file"]), "bold")))])
        return
    for one in document["samples"][:_MAX_SAMPLES]:
        _print_sample(console, document, one)
    more = len(document["samples"]) - _MAX_SAMPLES
    if more > 0:
        text = f"{more:,} more; --sample NAME shows one, --output FILE.csv writes them all.\n"
        console.print(styled((text, "dim")))
    if not quiet:
        console.print(styled((_legend(document), "dim")))


def _print_sample(console: Any, document: Mapping[str, Any], one: Mapping[str, Any]) -> None:
    """Print what a sample is predicted to be, and why: for each output, or the predicted class."""
    prediction = one["prediction"]
    chance = "" if one["probability"] is None else f", probability {one['probability']:.3f}"
    if isinstance(prediction, list):
        shown = ", ".join(f"{value:.5g}" for value in prediction)
    else:
        number = isinstance(prediction, float)
        shown = f"{prediction:.5g}" if number else show(str(prediction), 40)
    console.print(styled((show(str(one["sample"]), 60), "bold"), f"   {shown}{chance}"))
    outputs = document["outputs"]
    if str(prediction) in outputs and len(outputs) > 1:
        outputs = [str(prediction)]  # of several classes the predicted one
    for output in outputs[:_MAX_OUTPUTS]:
        score = one["scores"][output]
        what, factor = _SCORES[document["link"]]
        grid = empty_grid()
        grid.add_column(styled(f"feature{f' ({show(output, 30)})' if output else ''}"))
        for head in ("value", "adds", *(["times"] if factor else [])):
            grid.add_column(head, justify="right")
        grid.add_column("")
        form = _common_form(score["parts"])
        grid.add_row("mean sample", "", form(document["base"][output]), *([""] * bool(factor)))
        if one["offset"] is not None:
            more = [ratio_text(one["offset"])] if factor else []
            grid.add_row("offset", "", form(one["offset"]), *more)
        parts = sorted(
            zip(document["features"], one["values"], score["parts"], strict=True),
            key=lambda part: -abs(part[2]),
        )
        largest = max((abs(part) for _, _, part in parts), default=0.0) or 1.0
        for name, value, part in parts[:_MAX_FEATURES]:
            bar = "█" * max(round(_BAR * abs(part) / largest), 0)
            colour = "blue" if part > 0 else "red"
            times = [ratio_text(part)] if factor else []
            adds = styled((form(part), "bold"))
            cells = [styled(show(name, 40)), styled(f"{value:.5g}"), adds, *map(styled, times)]
            grid.add_row(*cells, styled((bar, colour)))
        rest = parts[_MAX_FEATURES:]
        if rest:
            total = sum(part for _, _, part in rest)
            grid.add_row(f"{len(rest):,} more", "", form(total))
        grid.add_row(what, "", styled((form(score["score"]), "bold")))
        console.print(grid)
        console.print()


def _common_form(parts: Sequence[float]) -> Callable[[float], str]:
    """Return how numbers are shown that add up: with the decimals of the largest part."""
    largest = max(map(abs, parts), default=0.0)
    decimals = max(0, 3 - int(f"{largest:e}".partition("e")[2])) if largest else 4
    return ("{:+.4g}" if decimals > 7 else f"{{:+.{decimals}f}}").format


def _legend(document: Mapping[str, Any]) -> str:
    """Return how to read the numbers."""
    what, factor = _SCORES[document["link"]]
    text = (
        "adds: coefficient times (value less its mean); means are those of "
        f"{show(document['compared_with'], 60)}. All lines add up to the {what}"
    )
    if document["link"] in ("logit", "sign"):
        label = show(str(document["positive"]), 30)
        text += f", which is positive where {label} is more likely"
    if factor:
        text += f"; times: by what the line multiplies {factor}"
    return f"{text}. It says what the model does, not what causes what."
