"""The words of a model in the documents where they matter most."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..designs import as_design
from ..export._model import as_model
from ..persistence import LoadedModel
from ._drawing import BLUE, INK, MOST_ROWS, ORANGE, PALE, QUIET, chosen_model, new_axes, text
from ._waterfall import output_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEFORE, AFTER = 32, 48  # characters of a document around a word, itself among those after
_SPACE = "\u00a0"  # which keeps its width at the beginning of a line
_LOOKS: dict[int, dict[str, Any]] = {
    0: {"color": QUIET},
    1: {"color": BLUE, "fontweight": "bold"},
    -1: {"color": ORANGE, "fontweight": "bold", "fontstyle": "italic"},
}


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a model, and the document to whose score it adds most, in size."""

    word: str
    output: str  # the class or response to whose score it adds
    coef: float
    document: int | None  # None: no document has it
    part: float  # what it adds there
    context: str  # from the document, a line; empty where the word does not stand there as it is
    marks: tuple[int, ...]  # of each character: 1 or -1 in a word of the model, by its sign; else 0


class WordsDisplay:
    """The words of a model, each in the document where it matters most: a concordance.

    A line is a word j and the document i with the largest |coef_j x_ij|, the first one of equal
    ones, around the first place where the word stands. All words of the model there are marked:
    those that raise the score are bold and blue, those that lower it bold, slanted and orange. At
    the right is coef_j x_ij and the place of the document.

    Parameters
    ----------
    words : a `Word` for each line
    n_left_out : words without a line, those that add least

    Attributes
    ----------
    ax_, figure_
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, *, words: Sequence[Word], n_left_out: int = 0) -> None:
        self.words, self.n_left_out = list(words), n_left_out

    @classmethod
    def from_estimator(
        cls, estimator: Any, documents: Sequence[str], vectorizer: Any, *, ax: Axes | None = None
    ) -> WordsDisplay:
        """Draw a model of words: a fitted estimator, a search for a budget, or a loaded model.

        documents : texts, not only those of the fit.
        vectorizer : what makes X of them, fitted, with `transform` and `get_feature_names_out`; of
            a pipeline all steps but the last, `pipeline[:-1]`. Words that it changes (stems) are
            not found in the text, which is said.
        ax : axes to draw on; None: a new figure.
        """
        model = as_model(chosen_model(estimator) if hasattr(estimator, "fit") else estimator)
        documents = _checked(documents)
        if not hasattr(vectorizer, "get_feature_names_out"):
            raise TypeError(
                "vectorizer must have get_feature_names_out, as CountVectorizer and "
                f"TfidfVectorizer do; got {type(vectorizer).__name__}, whose columns have no names."
            )
        names = vectorizer.get_feature_names_out()
        if len(names) != model.n_features_in_:
            raise ValueError(
                f"vectorizer must make the {model.n_features_in_:,} columns of the fit; it makes "
                f"{len(names):,}."
            )
        words = _concordance(model, documents, vectorizer.transform(documents), names)
        words = sorted(words, key=lambda one: -abs(one.part))
        kept = sorted(words[:MOST_ROWS], key=lambda one: -one.part)
        return cls(words=kept, n_left_out=len(words) - len(kept)).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> WordsDisplay:
        """Draw on given axes, or on those of a new figure, and return the display."""
        n = len(self.words)
        self.figure_, self.ax_ = new_axes(ax, width=8.6, height=0.7 + 0.24 * n)
        ax, width = self.ax_, BEFORE + AFTER
        for row, one in enumerate(self.words):
            if not one.context:
                where = "no document has it" if one.document is None else "not in the text as it is"
                ax.text(0.5, row, where, ha="center", va="center", fontsize=8, color=QUIET)
            for mark, look in _LOOKS.items():
                line = "".join(
                    letter if own == mark else _SPACE
                    for letter, own in zip(one.context, one.marks, strict=True)
                )
                ax.text(
                    0.5, row, line.ljust(width, _SPACE), ha="center", va="center", fontsize=8,
                    family="DejaVu Sans Mono", parse_math=False, **look,
                )  # fmt: skip
            if row % 2:
                ax.axhspan(row - 0.5, row + 0.5, color=PALE, alpha=0.5, linewidth=0, zorder=0)
        ax.set_xlim(0, 1)
        ax.set_ylim(n - 0.5, -0.5)
        ax.set_xticks([])
        several = len({one.output for one in self.words}) > 1
        beside = ax.secondary_yaxis("right")
        ax.set_yticks(range(n), [text(one.word) for one in self.words], fontsize="small")
        notes = [
            "" if one.document is None
            else f"{one.part:+.2g}{f' to {text(one.output)}' if several else ''} in {one.document}"
            for one in self.words
        ]  # fmt: skip
        beside.set_yticks(range(n), notes, fontsize="small")
        for side in (ax, beside):
            side.tick_params(axis="y", length=0, labelcolor=INK)
            side.spines[:].set_visible(False)
        of = "their score" if several or not self.words else f"the score of {self.words[0].output}"
        ax.set_title(
            f"bold words raise {of}, slanted ones lower it; right: by how much, in which document",
            loc="left", fontsize="small",
        )  # fmt: skip
        if self.n_left_out:
            ax.set_xlabel(f"and {self.n_left_out:,} words that add less", fontsize="small")
        return self


def _checked(documents: Any) -> list[str]:
    """Return documents, which must be texts."""
    found = [documents] if isinstance(documents, str) else list(documents)
    wrong = next((one for one in found if not isinstance(one, str)), None)
    if isinstance(documents, str) or wrong is not None or not found:
        got = "one text" if isinstance(documents, str) else f"{wrong!r:.60}" if found else "none"
        raise ValueError(f"documents must be a list of one or more texts; got {got}.")
    return found


def _concordance(model: LoadedModel, documents: list[str], X: Any, names: Any) -> list[Word]:
    """Return every word of a model in the document to whose score it adds most."""
    values: Any = as_design(X).gather(model.columns)
    largest = np.asarray(abs(values).argmax(axis=0)).ravel()
    top = np.abs(model.coef).argmax(axis=0)  # the output of the largest coefficient
    coef = model.coef[top, np.arange(len(top))]
    patterns = [_pattern(str(names[column])) for column in model.columns]
    found = []
    for j, row in enumerate(largest.tolist()):
        value = float(values[row, j])
        context, marks = _context(documents[row], patterns, coef, j) if value else ("", ())
        found.append(
            Word(
                str(names[model.columns[j]]),
                output_of(model, int(top[j])),
                float(coef[j]),
                row if value else None,
                float(coef[j]) * value,
                context,
                marks,
            )
        )
    return found


def _pattern(word: str) -> re.Pattern[str]:
    """Return what finds a word, or words in a row, in a text: whole, in any case."""
    parts = r"\W+".join(re.escape(part) for part in word.split())
    return re.compile(rf"(?<!\w){parts}(?!\w)", re.IGNORECASE)


def _context(
    document: str, patterns: list[re.Pattern[str]], coef: Any, own: int
) -> tuple[str, tuple[int, ...]]:
    """Return the text around the first place of a word, and the signs of all words there."""
    line = "".join(one if one.isprintable() else " " for one in document)
    line = " ".join(line.split())
    place = patterns[own].search(line)
    if place is None:
        return "", ()
    begin, end = place.start() - BEFORE, place.start() + AFTER
    marks = np.zeros(len(line), int)
    order = [*(j for j in range(len(patterns)) if j != own), own]
    for j in order:
        for other in patterns[j].finditer(line, max(begin - 80, 0), end + 80):
            marks[other.start() : other.end()] = 1 if coef[j] > 0 else -1
    pad = max(0, -begin)
    context = _SPACE * pad + line[max(begin, 0) : end]
    return context, (*([0] * pad), *marks[max(begin, 0) : end].tolist())


__all__ = ["Word", "WordsDisplay"]
