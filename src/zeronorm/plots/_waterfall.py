"""What each feature adds to the score of one row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validate
from ..export._model import as_model, feature_names, link_of, outputs, positive, sign
from ..persistence import LoadedClassifier, LoadedModel
from ._drawing import BLUE, INK, ORANGE, PALE, QUIET, chosen_model, new_axes, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PARTS = 20  # features with a bar of their own
_SCORES = {
    "logit": "log-odds of {}",
    "one-versus-rest": "log-odds of {} against the rest",
    "softmax": "score of {}",
    "ordered logit": "score: the higher, the higher the class",
    "sign": "score of {}",
    "largest": "score of {}",
    "identity": "prediction of {}",
    "log": "logarithm of the mean of {}",
    "risk": "logarithm of the hazard, relative",
}


class WaterfallDisplay:
    """The score of one row, from that of a mean row on: what each feature adds, one by one.

        score = base + sum_j coef_j (x_j - m_j),    base = intercept + sum_j coef_j m_j,

    with m_j the means of a reference. The largest parts come first; blue ones are solid and raise
    the score, orange ones are hatched and lower it. Of log-odds the upper axis has probabilities,
    of logarithms of means the means.

    Parameters
    ----------
    names : (p,) of the features, with their values, from the top
    parts : (p,) what each adds
    base : the score of the mean row
    score_name : what the score is, for the axis
    prediction : what the row is predicted to be, in words
    link : what the score means, as of the exports of a model; "" for none

    Attributes
    ----------
    ax_, figure_
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        names: Any,
        parts: Any,
        base: float,
        score_name: str = "score",
        prediction: str = "",
        link: str = "",
    ) -> None:
        self.names, self.parts = list(names), np.asarray(parts, float)
        self.base, self.score_name = float(base), score_name
        self.prediction, self.link = prediction, link

    @property
    def score(self) -> float:
        """The score of the row."""
        return self.base + float(self.parts.sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        row: int = 0,
        *,
        reference: Any = None,
        output: int | None = None,
        ax: Axes | None = None,
    ) -> WaterfallDisplay:
        """Draw one row as a fitted estimator, a search for a budget, or a loaded model sees it.

        X : as for predictions.
        row : which one of X, from 0.
        reference : rows whose means are m; None: the training rows, whose means the file of a model
            may have, else X.
        output : of several classes or responses the number of one; None: the predicted class, or
            the first response.
        ax : axes to draw on; None: a new figure.
        """
        model = as_model(chosen_model(estimator) if hasattr(estimator, "fit") else estimator)
        if reference is None and model.metadata["means"] is None:
            reference = X
        base, parts = model.contributions(X, reference)
        base, parts = sign(model) * base, sign(model) * parts
        row = _place("row", row, len(parts))
        scores = base + parts[row].sum(axis=1)
        if output is None:
            output = int(scores.argmax()) if isinstance(model, LoadedClassifier) else 0
        output = _place("output", output, len(base))
        link, of = link_of(model), output_of(model, output)
        values, names = model._values(X)[row], feature_names(model)
        display = cls(
            names=[f"{text(name)} = {one:.4g}" for name, one in zip(names, values, strict=True)],
            parts=parts[row, output],
            base=base[output],
            score_name=(_SCORES[link] if of else _SCORES[link].replace(" of {}", "")).format(
                text(of)
            ),
            prediction=_prediction(model, X, row, output, float(scores[output])),
            link=link,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> WaterfallDisplay:
        """Draw on given axes, or on those of a new figure, and return the display."""
        order = np.argsort(-np.abs(self.parts), kind="stable")
        parts, names = self.parts[order], [self.names[at] for at in order]
        if len(names) > MOST_PARTS:
            rest = parts[MOST_PARTS - 1 :]
            names = [*names[: MOST_PARTS - 1], f"{len(rest)} smaller ones"]
            parts = np.append(parts[: MOST_PARTS - 1], rest.sum())
        ends = self.base + np.cumsum(parts)
        starts = np.concatenate([[self.base], ends[:-1]])
        self.figure_, self.ax_ = new_axes(ax, height=1.7 + 0.27 * len(names))
        ax, last = self.ax_, len(names) + 1
        joints = [self.base, *ends]
        reach = float(np.ptp(joints)) or 1.0
        digits = max(0, 2 - math.floor(math.log10(reach)))
        for row, (start, part) in enumerate(zip(starts, parts, strict=True), 1):
            looks: dict[str, Any] = {"color": BLUE} if part >= 0 else {
                "facecolor": "white", "edgecolor": ORANGE, "hatch": "////"
            }  # fmt: skip
            ax.barh(row, part, 0.62, left=start, **looks)
            self._write(max(start, start + part), row, f"{part:+.{digits}f}", reach)
        for row, value in enumerate(joints):
            ax.plot([value, value], [row, row + 1], color=QUIET, linewidth=0.8, zorder=0)
        for row, value in ((0, self.base), (last, self.score)):
            ax.plot([value, value], [row - 0.4, row + 0.4], color=INK, linewidth=2.5)
            self._write(value, row, f"{value:.{digits}f}", reach, fontweight="bold")
        ax.set_yticks(range(last + 1), ["mean row", *names, "this row"], fontsize="small")
        ax.set_ylim(last + 0.6, -0.6)
        ax.set_xlim(min(joints) - 0.05 * reach, max(joints) + 0.16 * reach)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(self.score_name)
        ax.set_title(self.prediction, loc="left")
        self._draw_meaning(ax)
        return self

    def _write(self, x: float, row: int, words: str, reach: float, **more: Any) -> None:
        """Write words to the right of a place."""
        self.ax_.text(x + 0.015 * reach, row, words, va="center", fontsize="small", **more)

    def _draw_meaning(self, ax: Axes) -> None:
        """Draw what scores mean on an upper axis."""
        low, high = ax.get_xlim()
        if self.link == "logit":
            p = np.array([0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999])
            places, marks = np.log(p / (1 - p)), [f"{one:g}" for one in p]
            words = "probability"
            if low < 0 < high:
                ax.axvline(0, color=PALE, linewidth=4, zorder=0)
        elif self.link == "log":
            places = np.linspace(low, high, 6)
            marks, words = [f"{math.exp(one):.3g}" for one in places], "mean"
        else:
            return
        inside = (places >= low) & (places <= high)
        above = ax.secondary_xaxis("top")
        above.set_xticks(places[inside], [m for m, own in zip(marks, inside, strict=True) if own])
        above.tick_params(labelsize="small")
        above.set_xlabel(words, fontsize="small")


def _place(name: str, value: Any, n: int) -> int:
    """Return a place from 0 to n - 1, checked."""
    if not validate.is_integer(value) or not 0 <= value < n:
        raise ValueError(f"{name} must be an integer from 0 to {n - 1}; got {value!r:.40}.")
    return int(value)


def output_of(model: LoadedModel, output: int) -> str:
    """Return what a score is of: a class, a response, or nothing."""
    if isinstance(model, LoadedClassifier) and len(model.coef) == 1:
        return str(model.classes_[positive(model) if len(model.classes_) == 2 else -1])
    return outputs(model)[output]


def _prediction(model: LoadedModel, X: Any, row: int, output: int, score: float) -> str:
    """Return what is predicted of a row, in words."""
    link = link_of(model)
    if isinstance(model, LoadedClassifier):
        if link in ("sign", "largest", "ordered logit"):
            return f"predicted: {text(str(model.predict(X)[row]))}"
        place = output if len(model.coef) > 1 else positive(model)
        p = float(model.predict_proba(X)[row, place])
        shown = f"{p:.3f}" if 0.001 <= p <= 0.999 else "below 0.001" if p < 0.5 else "above 0.999"
        return f"probability of {text(str(model.classes_[place]))}: {shown}"
    name = output_of(model, output)
    of = f"prediction of {text(name)}" if name else "prediction"
    if link == "log":
        return f"{of}: {math.exp(score):.4g}"
    return "" if link == "risk" else f"{of}: {score:.4g}"


__all__ = ["WaterfallDisplay"]
