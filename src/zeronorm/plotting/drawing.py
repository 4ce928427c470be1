"""What all displays share: axes to draw on, colours, names that are text and no markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import ParameterError
from ..estimators.base import feature_name
from ..model_selection import BudgetCV

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
SKY, YELLOW, INK, QUIET, PALE = "#56b4e9", "#e69f00", "#1f2933", "#66788a", "#e4e9ee"
COLOURS = BLUE, ORANGE, GREEN, PURPLE, YELLOW, SKY, INK, QUIET
MARKERS = "o", "s", "^", "D", "v", "P", "X", "*"
LONGEST_NAME = 28
MOST_ROWS = 40  # features with a line of their own, at most


def new_axes(ax: Axes | None, width: float = 6.4, height: float = 4.0) -> tuple[Figure, Axes]:
    """Return the axes of the caller, or those of a new figure.

    width, height : inches of a new figure.
    """
    if ax is None:
        _, found = pyplot().subplots(figsize=(width, height), layout="constrained")
        ax = found
    figure = ax.get_figure(root=True)
    assert figure is not None
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return figure, ax


def stacked_axes(
    axes: Any, heights: Sequence[float], what: str, width: float = 6.4
) -> tuple[Figure, list[Axes]]:
    """Return the axes of the caller, or those of a new figure one below the other.

    width, heights : inches of a new figure. what : the axes are of.
    """
    if axes is None:
        _, axes = pyplot().subplots(
            len(heights), sharex=True, figsize=(width, sum(heights)), layout="constrained",
            gridspec_kw={"height_ratios": heights},
        )  # fmt: skip
    found: list[Axes] = list(np.ravel(axes))
    if len(found) != len(heights):
        raise ParameterError("axes", f"must be {len(heights)}, of {what}", str(len(found)))
    figure = found[0].get_figure(root=True)
    assert figure is not None
    for ax in found:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, found


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'Pictures need the package matplotlib: pip install "zeronorm[plots]".'
        ) from error
    return plt


def text(name: str) -> str:
    """Return a name as a label that fits: dollars start no formula, and nothing breaks the line."""
    name = "".join(one if one.isprintable() else "?" for one in name)
    short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")


def names_of(model: Any, features: Any) -> list[str]:
    """Return the names of features as labels."""
    return [text(feature_name(model, int(j))) for j in features]


def chosen_model(estimator: Any) -> Any:
    """Return the model that a search for a budget has chosen, or the estimator itself, fitted."""
    model = estimator._best if isinstance(estimator, BudgetCV) else estimator
    if not hasattr(model, "support_"):
        raise ParameterError(
            "estimator",
            "must be fitted, with features that it selected",
            f"{estimator!r:.60}",
            "Call its fit first.",
        )
    return model


def unit_of(estimator: Any) -> str:
    """Return what a number counts that is the size of a model: features, or whole groups."""
    return (
        "features" if getattr(chosen_model(estimator), "feature_groups", None) is None else "groups"
    )


def budget_paths(estimator: Any) -> Any:
    """Return the paths of an estimator with a budget, one for each class of its own."""
    paths = getattr(chosen_model(estimator), "_paths", None)
    if paths is None:
        raise TypeError(
            "estimator must have a budget of features, as BudgetClassifier and BudgetCV have; got "
            f"{type(estimator).__name__}."
        )
    return paths
