"""What effects and scores of a task are called: of classes, numbers, counts, survival times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._messages import counted, show, some


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a report for a task."""

    head: str  # of the column of effects of one standard deviation
    effect: str  # what they are, for a legend
    ratio: bool = False  # whether an effect is a factor, of what has a logarithmic scale
    sign: str = ""  # what effects say by their sign, or by being above 1
    score: str = ""
    baseline: str = ""  # what a score is compared with


_MAX_NAMED = 6  # A line names so many responses.
_ADDS = "what one standard deviation of the feature adds to the"
_TIMES = "by what one standard deviation of the feature multiplies the"
_PER_DEVIATION = "per s.d."
_OF_RATES = {
    "poisson": ("rate ratio", "expected count"),
    "gamma": ("mean ratio", "mean"),
    "cox": ("hazard ratio", "hazard"),
    "cox_efron": ("hazard ratio", "hazard"),
}
_SCORES = {
    "accuracy": ("accuracy", ""),
    "r2": ("R²", "0: as good as one mean for all; 1: perfect"),
    "d2": ("deviance explained", "0: as good as one mean for all; 1: perfect"),
    "c_index": ("Harrell's C", "0.5: chance; 1: all in order"),
}


def words_of(data: Mapping[str, Any], loss: str, score: str, level: float | None = None) -> Words:
    """Return the words for some data and a loss.

    data : of a document. score : the name of it, as in a document. level : of a quantile.
    """
    several = isinstance(data["target"], list)
    target = "the response" if several else show(data["target"] or "the target", 40)
    name, baseline = _SCORES[score]
    if data["task"] in (None, "classes"):
        return Words(_PER_DEVIATION, f"{_ADDS} log-odds", score=name, baseline=_largest(data))
    if data["task"] == "ordered":
        what, sign = "odds of a higher class", "above 1: raises the class"
        return Words("odds ratio", f"{_TIMES} {what}", True, sign, name, _largest(data))
    if loss == "quantile":
        name, baseline = "pinball loss explained", "0: as good as one quantile for all; 1: perfect"
    if several:
        baseline = f"{baseline} (the mean of the responses)"
    if loss in _OF_RATES:
        head, what = _OF_RATES[loss]
        signs = {"poisson": f"more {target}", "gamma": f"higher {target}"}
        sign = f"above 1: {signs.get(loss, 'earlier events')}"
        if several:
            sign = "above 1: raises the response"
        return Words(head, f"{_TIMES} {what}", True, sign, name, baseline)
    quantile = "median" if level in (None, 0.5) else f"{level:g} quantile"
    what = quantile if loss == "quantile" else "mean"
    effect = f"{_ADDS} {what} of {target}"
    return Words(_PER_DEVIATION, effect, False, f"positive raises {target}", name, baseline)


def _largest(data: Mapping[str, Any]) -> str:
    """Return the accuracy without features, that of the largest class."""
    counts = data["class_counts"]
    if not counts:
        return ""
    label = max(counts, key=counts.get)
    return (
        f"{counts[label] / sum(counts.values()):.3f}: the largest class, {show(label, 30)}, for all"
    )


def describe_target(data: Mapping[str, Any]) -> str:
    """Return what there is to see of numbers, counts or survival times, in a line."""
    found = data["range"]
    if "responses" in found:
        return _describe_responses(data)
    ends = f"{found['least']:.6g} to {found['largest']:.6g}"
    if data["task"] == "survival":
        strata = f", {found['strata']:,} strata" if "strata" in found else ""
        have = "has" if found["events"] == 1 else "have"
        events = f"{found['events']:,} of {counted(data['n_samples'], 'sample')} {have} the event"
        return f"survival: times {ends}, {events}{strata}"
    return f"{data['task']} from {ends}, mean {found['mean']:.4g}{_describe_offset(data)}"


def _describe_responses(data: Mapping[str, Any]) -> str:
    """Return the ranges of the first responses."""
    names, ranges = data["target"], data["range"]["responses"]
    described = [
        f"{show(name, 30)} {one['least']:.4g} to {one['largest']:.4g}"
        for name, one in zip(names, ranges, strict=True)
    ]
    return f"{data['task']}, {some(described, _MAX_NAMED)}{_describe_offset(data)}"


def _describe_offset(data: Mapping[str, Any]) -> str:
    """Return what there is to say of an offset."""
    columns = data["columns"]
    if "exposure" in columns:
        return f"; {show(columns['exposure'], 40)} {data['range']['exposure']:.6g} in all"
    return f"; offset {show(columns['offset'], 40)}" if "offset" in columns else ""


def target_name(data: Mapping[str, Any]) -> str:
    """Return what the target is called."""
    columns = data["columns"]
    if isinstance(data["target"], list):
        return f"{len(data['target']):,} responses"
    names: Sequence[str] = (data["target"] or "target",)
    if data["task"] == "survival":
        names = (columns["time"], columns["event"])
    return ", ".join(show(name, 40) for name in names)
