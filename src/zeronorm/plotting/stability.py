"""How often half-samples choose each feature, and what that guarantees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..inference.error_bounds import check_threshold
from ..inference.stability import Stability, StabilitySelection
from .drawing import BLUE, INK, ORANGE, PALE, stacked_axes, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ABOVE: dict[str, Any] = {
    "fontsize": "small", "frameon": False, "ncols": 3, "loc": "lower left",
    "bbox_to_anchor": (0.0, 1.0),
}  # fmt: skip


class StabilityDisplay:
    """Bars of how often half-samples choose each feature; below, what every threshold guarantees.

    A bar is the share f_j of the half-samples that choose the feature, a mark on it the share of
    the pairs of which both halves do. Bars that reach the threshold are the stable set. Below are,
    for every threshold tau, the number of features with f_j >= tau, and the bound on how many of
    them may be expected to be features that are seldom chosen, see `Stability.expected_low`.

    Parameters
    ----------
    names : (m,) of the features or groups, those chosen most often first
    frequency, simultaneous : (m,) shares of the half-samples, and of the pairs
    threshold : of the stable set
    thresholds, n_stable, expected_low : (n,) growing, and what each of them gives
    unit : "features" or "groups"
    n_left_out : features that were chosen, without a bar

    Attributes
    ----------
    axes_ : the axes of the bars, and of the thresholds
    figure_
    """

    figure_: Figure
    axes_: list[Axes]

    def __init__(
        self,
        *,
        names: Any,
        frequency: Any,
        simultaneous: Any,
        threshold: float,
        thresholds: Any,
        n_stable: Any,
        expected_low: Any,
        unit: str = "features",
        n_left_out: int = 0,
    ) -> None:
        self.names = list(names)
        self.frequency, self.simultaneous = np.asarray(frequency), np.asarray(simultaneous)
        self.threshold, self.thresholds = threshold, np.asarray(thresholds)
        self.n_stable, self.expected_low = np.asarray(n_stable), np.asarray(expected_low)
        self.unit, self.n_left_out = unit, n_left_out

    @classmethod
    def from_estimator(cls, estimator: StabilitySelection, *, axes: Any = None) -> StabilityDisplay:
        """Draw a fitted `StabilitySelection`, at its threshold.

        axes : two axes to draw on; None: a new figure.
        """
        stability = getattr(estimator, "stability_", None)
        if not isinstance(stability, Stability):
            raise TypeError(
                f"estimator must be a fitted StabilitySelection; got {estimator!r:.60}. Of a "
                "Stability use from_stability."
            )
        return cls.from_stability(
            stability, threshold=estimator.threshold_, assume=estimator.assume, axes=axes
        )

    @classmethod
    def from_stability(
        cls,
        stability: Stability,
        *,
        threshold: float = 0.75,
        assume: str = "none",
        features: Any = None,
        names: Any = None,
        axes: Any = None,
    ) -> StabilityDisplay:
        """Draw what half-samples chose.

        threshold : of the stable set, above 0.5 and at most 1.
        assume : of the bound, as of `Stability.expected_low`.
        features : columns of X that have a bar, from the top; None: those chosen most often.
        names : of these; None: their own.
        axes : as of `from_estimator`.
        """
        threshold, own = check_threshold(threshold), stability.features
        if features is None:
            features = own[stability._shown()]
        features = np.asarray(features, np.int64)
        known = np.flatnonzero(np.isin(features, own))
        places = np.searchsorted(own, features[known])
        shares = np.zeros((2, features.size))  # of a feature that no half chose 0
        shares[:, known] = stability.frequency[places], stability.simultaneous[places]
        if names is None:
            names = [f"x{one}" for one in features]
            for at, place in zip(known, places, strict=True):
                names[at] = names[at] if stability.names is None else stability.names[place]
        if len(names) != features.size:
            raise ValueError(
                f"names must be {features.size}, one of each feature; got {len(names)}."
            )
        n_halves = len(stability.chosen)
        thresholds = np.arange(n_halves // 2 + 1, n_halves + 1) / n_halves
        display = cls(
            names=[text(str(name)) for name in names],
            frequency=shares[0],
            simultaneous=shares[1],
            threshold=threshold,
            thresholds=thresholds,
            n_stable=[stability.stable(tau).size for tau in thresholds],
            expected_low=[stability.expected_low(tau, assume=assume) for tau in thresholds],
            unit=stability.unit,
            n_left_out=own.size - known.size,
        )
        return display.plot(axes=axes)

    def plot(self, *, axes: Any = None) -> StabilityDisplay:
        """Draw on given axes, or on those of a new figure, and return the display."""
        heights = [0.9 + 0.24 * len(self.names), 1.8]
        self.figure_, self.axes_ = stacked_axes(axes, heights, "bars and thresholds")
        self._draw_frequencies(self.axes_[0])
        self._draw_thresholds(self.axes_[1])
        for ax in self.axes_:
            ax.axvline(self.threshold, color=INK, linewidth=1, linestyle="--")
            ax.set_xlim(0, 1)
            ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        return self

    def _draw_frequencies(self, ax: Axes) -> None:
        rows = np.arange(len(self.names))
        stable = self.frequency >= self.threshold - 1e-9
        for own, colour, label in ((stable, BLUE, "stable"), (~stable, PALE, "not stable")):
            if own.any():
                ax.barh(rows[own], self.frequency[own], 0.7, color=colour, edgecolor=BLUE,
                        linewidth=0.6, label=label)  # fmt: skip
        ax.plot(self.simultaneous, rows, "o", color=INK, markersize=4.5, markeredgecolor="white",
                label="by both halves of a pair")  # fmt: skip
        ax.set_yticks(rows, self.names, fontsize="small")
        ax.set_ylim(len(self.names) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.tick_params(axis="x", labelbottom=True)
        rest = f"; {self.n_left_out:,} more are chosen" if self.n_left_out else ""
        ax.set_xlabel(f"half-samples that choose it{rest}")
        ax.legend(**_ABOVE)

    def _draw_thresholds(self, ax: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        last = len(self.thresholds) - 1
        place = min(int(np.searchsorted(self.thresholds, self.threshold - 1e-9)), last)
        n, bound = self.n_stable[place], self.expected_low[place]
        ax.step(self.thresholds, self.n_stable, color=BLUE, label=f"stable: {n}")
        ax.step(self.thresholds, self.expected_low, ":", color=ORANGE, linewidth=2,
                label=f"expected of seldom chosen ones: at most {bound:.2g}")  # fmt: skip
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        ax.set_ylabel(self.unit)
        ax.set_xlabel("threshold")
        ax.legend(**_ABOVE)


__all__ = ["StabilityDisplay"]
