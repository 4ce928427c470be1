"""The covariates of a model, apart from the features that were selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from ...core.messages import counted, show
from .outputs import effect_columns
from .tables import effect_texts, print_features, rows_by_class, styled
from .words import Words


def print_covariates(
    console: Console,
    covariates: Sequence[Mapping[str, Any]],
    outputs: Sequence[Any],
    words: Words,
    labelled: bool,
    categories: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Print the covariates with their coefficients, of every class; nothing where there are none.

    outputs : the classes or responses that share the features of one model; else none.
    labelled : whether there are more classes than two, with models of their own or outputs.
    categories : columns of text among the covariates and the forced features, which users count as
        one each.
    """
    beside = "in every model, not counted, free of any penalty"
    texts = [one for one in categories if one["option"] == "--covariates"]
    more = sum(one["features"] - 1 for one in texts)
    beside += f": {category_words(texts)}" if texts else ""
    for label, rows in rows_by_class(covariates).items():
        of_class = f" of {show(str(label), 30)}" if labelled and not outputs else ""
        title = styled(
            (f"{counted(len(rows) - more, 'covariate')}{of_class}", "bold"), (f"   {beside}", "dim")
        )
        if outputs:
            columns = effect_columns(console, rows, outputs, words, labelled)
        else:
            columns = [(head, _cells(own)) for head, own in effect_texts(rows, words).items()]
        print_features(console, title, rows, ("", [""] * len(rows)), columns)
        console.print()


def category_words(categories: Sequence[Mapping[str, Any]]) -> str:
    """Return columns of text, and how many features stand for their levels."""
    words = []
    for one in categories:
        levels, features = one["levels"], one["features"]
        what = "" if features == levels else f" by {counted(features, 'feature')}"
        number = f"{'all ' * (levels > 2)}{counted(levels, 'level')}"
        words.append(f"{show(one['column'], 40)} ({number}{what})")
    return ", ".join(words)


def _cells(texts: Sequence[str]) -> list[Text]:
    return [styled(text) for text in texts]
