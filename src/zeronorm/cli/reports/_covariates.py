"""The covariates of a model, apart from the features that were selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from .._messages import show
from ._outputs import effect_columns
from ._tables import aligned, counted, print_features, ratios, rows_by_class, styled
from ._words import Words


def print_covariates(
    console: Console,
    covariates: Sequence[Mapping[str, Any]],
    outputs: Sequence[Any],
    words: Words,
    labelled: bool,
) -> None:
    """Print the covariates with their coefficients, of every class; nothing where there are none.

    outputs : the classes or responses that share the features of one model; else none.
    labelled : whether there are more classes than two, with models of their own or outputs.
    """
    beside = "in every model, not counted, free of any penalty"
    for label, rows in rows_by_class(covariates).items():
        of_class = f" of {show(str(label), 30)}" if labelled and not outputs else ""
        title = styled(
            (f"{counted(len(rows), 'covariate')}{of_class}", "bold"), (f"   {beside}", "dim")
        )
        if outputs:
            columns = effect_columns(console, rows, outputs, words, labelled)
        else:
            effects = [row["per_deviation"] for row in rows]
            columns = [
                ("coefficient", _cells(aligned([row["coefficient"] for row in rows]))),
                (words.head, _cells(ratios(effects) if words.ratio else aligned(effects, 3))),
            ]
        print_features(console, title, rows, ("", [""] * len(rows)), columns)
        console.print()


def _cells(texts: Sequence[str]) -> list[Text]:
    return [styled(text) for text in texts]
