"""Names of effects and scores by task: classes, numbers, counts, survival times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...core.effects import RATIOS
from ...core.messages import counted, show, some
from ..records import DataRead, Span, ThresholdUsed


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a report for a task."""

    what: str  # that coefficients add to
    ratio: str = ""  # what their exponentials are called; "" where these are no ratios
    multiplied: str = ""  # by a ratio
    sign: str = ""  # what effects say by their sign, or by being above 1
    score: str = ""
    baseline: str = ""  # what a score is compared with

    @property
    def legend(self) -> str:
        """Return the meaning of the columns of effects."""
        if not self.ratio:
            return (
                f"coefficient: change of the {self.what} per unit of the feature; coefficient per "
                "SD: per standard deviation"
            )
        return (
            f"{self.ratio}: factor on the {self.multiplied} per unit of the feature (of a column "
            f"of 0 and 1: 1 compared with 0); {self.ratio} per SD: per standard deviation; "
            "coefficient: logarithm of the ratio"
        )


_MAX_NAMED = 6  # responses that a line names
_SCORES = {
    "accuracy": ("accuracy", ""),
    "r2": ("R²", "0: as good as the mean; 1: perfect"),
    "d2": ("deviance explained", "0: as good as the mean; 1: perfect"),
    "c_index": ("Harrell's C", "0.5: chance; 1: all in order"),
}


def words_of(data: DataRead, loss: str, score: str, quantile: float | None = None) -> Words:
    """Return the words for some data and a loss.

    data : of a document. score : the name of it, as in a document. quantile : of its loss.
    """
    several = isinstance(data.target, list)
    target = "the response" if several else show(str(data.target or "the target"), 40)
    name, baseline = _SCORES[score]
    ratio, multiplied = RATIOS.get(loss, ("", ""))
    if data.task in (None, "classes"):
        what = "log-odds" if ratio or loss == "multinomial" else "score"
        return Words(what, ratio, multiplied, "", name, _largest(data))
    if data.task == "ordered":
        sign = "above 1: raises the class"
        return Words("log-odds", ratio, multiplied, sign, name, _largest(data))
    if loss == "quantile":
        name, baseline = "pinball loss explained", "0: as good as one quantile; 1: perfect"
    if several:
        baseline = f"{baseline} (the mean of the responses)"
    if ratio:
        signs = {"poisson": f"more {target}", "gamma": f"higher {target}"}
        sign = f"above 1: {signs.get(loss, 'earlier events')}"
        if several:
            sign = "above 1: raises the response"
        return Words(f"logarithm of the {multiplied}", ratio, multiplied, sign, name, baseline)
    which = "mean"
    if loss == "quantile":
        which = "median" if quantile in (None, 0.5) else f"{quantile:g} quantile"
    what = f"{which} of {target}"
    return Words(what, "", "", f"positive raises {target}", name, baseline)


def _largest(data: DataRead) -> str:
    """Return the accuracy without features, that of the largest class."""
    counts = data.class_counts
    if not counts:
        return ""
    label = max(counts, key=counts.__getitem__)
    return (
        f"{counts[label] / sum(counts.values()):.3f}: the largest class, {show(label, 30)}, for all"
    )


def describe_target(data: DataRead) -> str:
    """Return what there is to see of numbers, counts or survival times, in a line."""
    found = data.range
    assert found is not None
    if found.responses:
        return _describe_responses(data, found.responses)
    ends = f"{found.least:.6g} to {found.largest:.6g}"
    if data.task == "survival":
        strata = f", {found.strata:,} strata" if found.strata else ""
        have = "has" if found.events == 1 else "have"
        events = f"{found.events:,} of {counted(data.n_samples, 'sample')} {have} the event"
        return f"survival: times {ends}, {events}{strata}"
    return f"{data.task} from {ends}, mean {found.mean:.4g}{_describe_offset(data)}"


def _describe_responses(data: DataRead, ranges: Sequence[Span]) -> str:
    """Return the ranges of the first responses."""
    names = data.target or ()
    described = [
        f"{show(name, 30)} {one.least:.4g} to {one.largest:.4g}"
        for name, one in zip(names, ranges, strict=True)
    ]
    return f"{data.task}, {some(described, _MAX_NAMED)}{_describe_offset(data)}"


def _describe_offset(data: DataRead) -> str:
    """Return what there is to say of an offset."""
    columns = data.columns
    if "exposure" in columns and data.range is not None:
        return f"; {show(columns['exposure'], 40)} {data.range.exposure:.6g} in all"
    return f"; offset {show(columns['offset'], 40)}" if "offset" in columns else ""


def target_name(data: DataRead) -> str:
    """Return what the target is called."""
    columns = data.columns
    if isinstance(data.target, list):
        return f"{len(data.target):,} responses"
    names: Sequence[str] = (data.target or "target",)
    if data.task == "survival":
        names = (columns["time"], columns["event"])
    return ", ".join(show(name, 40) for name in names)


def sentence(record: ThresholdUsed, classes: Any) -> str:
    """Return from which probability on which class is predicted, and why."""
    label = show(str(classes[record.positive]), 30)
    by_score = record.probability is None
    what, value = ("score", record.score) if by_score else ("probability", record.probability)
    why = "" if record.rule == f"{value:g}" else f" ({record.rule})"
    return f"{label!r} from a {what} of {value:.3g} on{why}"
