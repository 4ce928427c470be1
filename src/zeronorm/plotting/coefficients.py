"""The coefficients of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.types import FloatArray, IndexArray
from ..data.operations import deviations
from ..export.model import as_model, feature_names, labels, outputs, positive
from ..io.opening import as_design
from .drawing import COLOURS, MARKERS, MOST_ROWS, PALE, QUIET, chosen_model, new_axes, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class CoefficientsDisplay:
    """The coefficients of a model, a line for each feature, a mark for each class or response.

    Parameters
    ----------
    names : (k,) of the features, from the top
    coef : (n_outputs, k)
    outputs : (n_outputs,) classes or responses, or one empty name
    unit : what a coefficient is per, for the axis
    n_left_out : features without a line, those of the smallest coefficients

    Attributes
    ----------
    ax_, figure_
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self, *, names: Any, coef: Any, outputs: Any = ("",), unit: str = "", n_left_out: int = 0
    ) -> None:
        self.names, self.coef = list(names), np.atleast_2d(coef)
        self.outputs, self.unit, self.n_left_out = list(outputs), unit, n_left_out

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, ax: Axes | None = None
    ) -> CoefficientsDisplay:
        """Draw a fitted estimator with few features, a search for a budget, or a loaded model.

        X : (n_samples, n_features) numbers; where they are given, coefficients are multiplied by
            the standard deviation of their columns, so that features of different units compare.
        ax : axes to draw on; None: a new figure.
        """
        model = as_model(chosen_model(estimator) if hasattr(estimator, "fit") else estimator)
        coef, unit = model.coef, "coefficient"
        if not positive(model):
            coef, unit = -coef, f"coefficient for {text(str(labels(model)[0]))}"
        if X is not None:
            coef, unit = coef * _deviations(X, model.columns), f"{unit} per standard deviation"
        order = np.argsort(-np.abs(coef).max(axis=0), kind="stable")
        names = feature_names(model)
        kept = order[:MOST_ROWS]
        display = cls(
            names=[text(names[j]) for j in kept],
            coef=coef[:, kept],
            outputs=[text(name) for name in outputs(model)],
            unit=unit,
            n_left_out=len(names) - len(kept),
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> CoefficientsDisplay:
        """Draw on given axes, or on those of a new figure, and return the display."""
        self.figure_, self.ax_ = new_axes(ax, height=1.1 + 0.27 * len(self.names))
        ax, several = self.ax_, len(self.outputs) > 1
        for row in range(len(self.names)):
            ax.axhline(row, color=PALE, linewidth=0.6, zorder=0)
        ax.axvline(0, color=QUIET, linewidth=0.8)
        rows = np.arange(len(self.names))
        for number, (name, values) in enumerate(zip(self.outputs, self.coef, strict=True)):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            shift = 0.5 * (number + 0.5) / len(self.outputs) - 0.25
            ax.hlines(rows + shift, 0, values, color=colour, linewidth=1.2)
            ax.plot(values, rows + shift, marker, color=colour, markersize=6, label=name)
        ax.set_yticks(rows, self.names, fontsize="small")
        ax.set_ylim(len(self.names) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(self.unit)
        if self.n_left_out:
            ax.set_title(f"and {self.n_left_out} smaller ones", loc="right", fontsize="small")
        if several:
            ax.legend(
                fontsize="small", frameon=False, ncols=4,
                loc="lower left", bbox_to_anchor=(0.0, 1.0),
            )  # fmt: skip
        return self


def _deviations(X: Any, columns: IndexArray) -> FloatArray:
    """Return the standard deviations of columns of X."""
    design = as_design(X)
    if columns.size and columns.max() >= design.shape[1]:
        raise ValueError(
            f"X must have the columns of the fit, {columns.max() + 1:,} or more; got "
            f"{design.shape[1]:,}."
        )
    return deviations(design.gather(columns))


__all__ = ["CoefficientsDisplay"]
