"""How the probabilities of held-out rows do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from ..thresholds import decision_curve, held_out_probabilities
from ._drawing import BLUE, ORANGE, QUIET, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = ("roc", "precision_recall", "reliability", "decision")


class HeldOutDisplay:
    """Four views of probabilities that were held out of the fit.

    "roc": the share of positives found against the share of negatives found by mistake, at every
    threshold. "precision_recall": the share of positives among the rows found against the share of
    positives found. "reliability": how often rows of a probability are positive, in bins of as many
    rows each; on the diagonal probabilities mean what they say. "decision": the net benefit of
    acting on the rows above a threshold, beside acting on all rows and on none, see
    `zeronorm.thresholds.DecisionCurve`.

    Parameters
    ----------
    positive : (n_samples,) bool
    probability : (n_samples,)
    n_bins : of the reliability

    Attributes
    ----------
    axes_ : the axes of each panel by its name
    figure_
    """

    figure_: Figure
    axes_: dict[str, Axes]

    def __init__(self, *, positive: Any, probability: Any, n_bins: int = 5) -> None:
        self.positive = np.asarray(positive, bool)
        self.probability = np.asarray(probability, float)
        self.n_bins = n_bins

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        cv: Any = 5,
        groups: Any = None,
        pos_label: Any = None,
        random_state: int = 0,
        n_bins: int = 5,
        panels: Any = PANELS,
        axes: Any = None,
    ) -> HeldOutDisplay:
        """Draw a classifier, which is fitted anew for every fold.

        estimator, X, y, cv, groups, pos_label, random_state : as of `held_out_probabilities`.
        n_bins, panels, axes : as of `from_predictions`.
        """
        probability = held_out_probabilities(
            estimator, X, y, cv=cv, groups=groups, pos_label=pos_label, random_state=random_state
        )
        return cls.from_predictions(
            y, probability, pos_label=pos_label, n_bins=n_bins, panels=panels, axes=axes
        )

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        probability: Any,
        *,
        pos_label: Any = None,
        n_bins: int = 5,
        panels: Any = PANELS,
        axes: Any = None,
    ) -> HeldOutDisplay:
        """Draw given probabilities.

        y, probability, pos_label : as of `zeronorm.thresholds.decision_curve`.
        n_bins : of the reliability.
        panels : which views, by their names.
        axes : as many axes to draw on; None: a new figure.
        """
        y = np.asarray(y)
        decision_curve(y, probability, [0.5], pos_label=pos_label)  # refuses what is none
        positive = y == (np.unique(y)[1] if pos_label is None else pos_label)
        display = cls(positive=positive, probability=probability, n_bins=n_bins)
        return display.plot(panels=panels, axes=axes)

    def plot(self, *, panels: Any = PANELS, axes: Any = None) -> HeldOutDisplay:
        """Draw on given axes, or on those of a new figure, and return the display."""
        panels = list(panels)
        unknown = [name for name in panels if name not in PANELS]
        if unknown or not panels:
            raise ValueError(f"panels must be of {', '.join(PANELS)}; got {panels}.")
        if axes is None:
            n_rows = 1 if len(panels) < 3 else 2
            n_columns = -(-len(panels) // n_rows)
            size = 3.6 * n_columns, 3.2 * n_rows
            figure, grid = pyplot().subplots(
                n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
            )
            axes = grid.ravel()[: len(panels)]
            for empty in grid.ravel()[len(panels) :]:
                figure.delaxes(empty)
        axes = list(np.ravel(axes))
        if len(axes) != len(panels):
            raise ValueError(f"axes must be {len(panels)}, one for each panel; got {len(axes)}.")
        self.axes_ = dict(zip(panels, axes, strict=True))
        self.figure_ = axes[0].get_figure(root=True)
        for name, ax in self.axes_.items():
            getattr(self, f"_draw_{name}")(ax)
            ax.spines[["top", "right"]].set_visible(False)
        return self

    def _draw_roc(self, ax: Axes) -> None:
        fpr, tpr, _ = roc_curve(self.positive, self.probability)
        area = roc_auc_score(self.positive, self.probability)
        ax.plot(fpr, tpr, color=BLUE, label=f"held out, AUC {area:.3f}")
        ax.plot([0, 1], [0, 1], "--", color=QUIET, linewidth=1, label="chance")
        ax.set_xlabel("false positives of negatives")
        ax.set_ylabel("positives found")
        ax.legend(fontsize="small", frameon=False, loc="lower right")

    def _draw_precision_recall(self, ax: Axes) -> None:
        precision, recall, _ = precision_recall_curve(self.positive, self.probability)
        mean = average_precision_score(self.positive, self.probability)
        ax.step(recall, precision, where="post", color=BLUE, label=f"held out, AP {mean:.3f}")
        share = float(self.positive.mean())
        ax.axhline(share, linestyle="--", color=QUIET, linewidth=1, label=f"chance {share:.3f}")
        ax.set_ylim(0, 1.03)
        ax.set_xlabel("positives found (recall)")
        ax.set_ylabel("positives among found (precision)")
        # Where there is no room, a line runs through it.
        ax.legend(fontsize="small", loc="best", edgecolor="none", facecolor="white")

    def _draw_reliability(self, ax: Axes) -> None:
        order = np.argsort(self.probability, kind="stable")
        bins = [rows for rows in np.array_split(order, self.n_bins) if rows.size]
        p = np.array([self.probability[rows].mean() for rows in bins])
        share = np.array([self.positive[rows].mean() for rows in bins])
        sizes = np.array([rows.size for rows in bins])
        error = np.sqrt(np.maximum(p * (1 - p), 0) / sizes)
        ax.plot([0, 1], [0, 1], "--", color=QUIET, linewidth=1, label="as they say")
        ax.errorbar(p, share, yerr=2 * error, fmt="-o", color=BLUE, markersize=4, capsize=2,
                    label="held out ± 2 SE")  # fmt: skip
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlabel("probability")
        ax.set_ylabel("share of positives")
        ax.legend(fontsize="small", edgecolor="none", facecolor="white", loc="best")

    def _draw_decision(self, ax: Axes) -> None:
        curve = decision_curve(self.positive, self.probability)
        ax.plot(curve.thresholds, curve.net_benefit, color=BLUE, label="model")
        ax.plot(curve.thresholds, curve.treat_all, "-.", color=ORANGE, label="all rows")
        ax.axhline(0, linestyle="--", color=QUIET, linewidth=1, label="none")
        top = max(float(curve.net_benefit.max()), float(self.positive.mean()))
        ax.set_ylim(-0.25 * top, 1.1 * top)
        ax.set_xlabel("threshold")
        ax.set_ylabel("net benefit a row")
        ax.legend(fontsize="small", frameon=False)


__all__ = ["HeldOutDisplay"]
