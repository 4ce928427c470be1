"""Which features the models of all sizes have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.results import Path
from ..core.types import FloatArray
from .drawing import (
    BLUE,
    MOST_ROWS,
    ORANGE,
    PALE,
    QUIET,
    budget_paths,
    chosen_model,
    names_of,
    new_axes,
    unit_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class SupportsDisplay:
    """A ribbon for every feature, over the sizes whose models have it.

    Features that stay from the size at which they enter are solid ribbons; gaps show which ones
    give way to others. A ribbon is blue where the coefficient is positive, orange and thinner where
    it is negative, and grey where several classes or responses share the feature.

    Parameters
    ----------
    sizes : (n,) numbers of features, or of groups, growing
    names : (m,) of the features, from the top
    signs : (m, n) of each feature in each model: 1, -1, 2 for several outputs, 0 where it is absent
    n_left_out : features of these models without a ribbon, those in the fewest of them
    unit : what sizes count, "features" or "groups"

    Attributes
    ----------
    ax_, figure_
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self, *, sizes: Any, names: Any, signs: Any, n_left_out: int = 0, unit: str = "features"
    ) -> None:
        self.sizes, self.names = np.asarray(sizes), list(names)
        self.signs, self.n_left_out, self.unit = np.asarray(signs), n_left_out, unit

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, output: int = 0, ax: Axes | None = None
    ) -> SupportsDisplay:
        """Draw the models of an estimator with a budget, fitted for several sizes, or `BudgetCV`.

        output : of models of one class against the others the number of the class.
        ax : axes to draw on; None: a new figure.
        """
        paths = budget_paths(estimator)
        if not 0 <= output < len(paths):
            raise ValueError(f"output must be below {len(paths)}, from 0; got {output!r}.")
        path = paths[output]
        sizes = list(path)
        if any(isinstance(size, tuple) for size in sizes):
            raise ValueError("sizes must be numbers of features or of groups; got pairs of both.")
        features, signs = _signs_of(path)
        kept = min(len(features), MOST_ROWS)
        display = cls(
            sizes=sizes,
            names=names_of(chosen_model(estimator), features[:kept]),
            signs=signs[:kept],
            n_left_out=len(features) - kept,
            unit=unit_of(estimator),
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> SupportsDisplay:
        """Draw on given axes, or on those of a new figure, and return the display."""
        height = 1.0 + 0.24 * len(self.names)
        self.figure_, self.ax_ = new_axes(ax, height=height)
        ax = self.ax_
        places = np.arange(len(self.sizes) + 1) - 0.5
        looks = {1: (BLUE, 0.72), -1: (ORANGE, 0.44), 2: (QUIET, 0.72)}
        for row, present in enumerate(self.signs):
            ax.axhline(row, color=PALE, linewidth=0.6, zorder=0)
            for sign, (colour, thick) in looks.items():
                spans = [(places[i], 1.0) for i in np.flatnonzero(present == sign)]
                ax.broken_barh(spans, (row - thick / 2, thick), color=colour, linewidth=0)
        ax.set_yticks(range(len(self.names)), self.names, fontsize="small")
        ax.set_ylim(len(self.names) - 0.4, -0.6)
        ax.set_xticks(range(len(self.sizes)), [str(size) for size in self.sizes])
        ax.set_xlim(-0.5, len(self.sizes) - 0.5)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"number of {self.unit}")
        if self.n_left_out:
            ax.set_title(
                f"and {self.n_left_out} more, in the fewest models", loc="right", fontsize="small"
            )
        handles = [
            ax.plot([], [], linewidth=8 * thick, color=looks[sign][0], label=label)[0]
            for sign, label in {1: "positive", -1: "negative", 2: "in several outputs"}.items()
            for thick in [looks[sign][1]]
            if (self.signs == sign).any()
        ]
        ax.legend(
            handles=handles, fontsize="small", frameon=False, ncols=3,
            loc="lower left", bbox_to_anchor=(0.0, 1.0),
        )  # fmt: skip
        return self


def _signs_of(path: Path) -> tuple[list[int], FloatArray]:
    """Return the features of all models, those in most of them first, and their signs."""
    models = [path[size] for size in path]
    features = np.unique(np.concatenate([model.support for model in models]))
    signs = np.zeros((features.size, len(models)))
    for column, model in enumerate(models):
        coef = np.atleast_2d(model.coef)
        own = np.sign(coef[0]) if len(coef) == 1 else np.full(model.support.size, 2.0)
        signs[np.searchsorted(features, model.support), column] = own
    present = signs != 0
    first = present.argmax(axis=1)
    order = np.lexsort((features, first, -present.sum(axis=1)))
    return features[order].tolist(), signs[order]


__all__ = ["SupportsDisplay"]
