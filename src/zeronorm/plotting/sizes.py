"""The score of every size, and what is certified of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.results import Path
from ..core.types import FloatArray
from ..estimators.cross_validation import CrossValidation, standard_error
from .drawing import BLUE, INK, ORANGE, PALE, QUIET, budget_paths, stacked_axes, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What scores are called that have a short name.
_WORDS = {
    "c_index": "Harrell's C",
    "r2": "R²",
    "d2": "deviance explained",
    "log_loss": "minus log-loss",
    "squared_error": "minus half the squared error",
    "deviance": "minus half the deviance",
    "partial_likelihood": "log partial likelihood of an event",
}


class SizesDisplay:
    """The score of every number of features, and below how good the search for them was.

    Above are the mean of the held-out scores that compare sizes (minus the loss of a sample, or the
    score that was asked for) with a band of one standard error, the size that is taken, and the
    score without features. Below are the objective of the selection of every size and its certified
    lower bound: no other k features are below it, so that what is between can be gained at most.

    Parameters
    ----------
    sizes : (n,) numbers of features, or of groups, growing
    mean, standard_error : (n,) of the scores
    baseline : the score without features
    measure : the name of the score
    chosen : the size that is taken, one of `sizes`; None: none is marked
    objective, bound : (n,) of the problems that selected, sums over the classes of their own;
        None: no lower panel
    unit : what sizes count, "features" or "groups"

    Attributes
    ----------
    axes_ : the axes of both panels, (1,) or (2,)
    figure_ : their figure
    """

    figure_: Figure
    axes_: list[Axes]

    def __init__(
        self,
        *,
        sizes: Any,
        mean: Any,
        standard_error: Any,
        baseline: float,
        measure: str,
        chosen: int | None = None,
        objective: Any = None,
        bound: Any = None,
        unit: str = "features",
    ) -> None:
        self.sizes = np.asarray(sizes)
        self.mean, self.standard_error = np.asarray(mean), np.asarray(standard_error)
        self.baseline, self.measure, self.chosen = baseline, measure, chosen
        self.unit = unit
        self.objective = None if objective is None else np.asarray(objective)
        self.bound = None if bound is None else np.asarray(bound)

    @classmethod
    def from_estimator(cls, estimator: Any, *, axes: Any = None) -> SizesDisplay:
        """Draw a fitted `BudgetCV`, or another estimator whose size its folds have chosen.

        estimator : of numbers of features or of groups, with "auto" or in a `BudgetCV`.
        axes : two axes to draw on, of the scores and of the certificate; None: a new figure.
        """
        validation = getattr(estimator, "validation_", None)
        if not isinstance(validation, CrossValidation):
            raise TypeError(
                "estimator must be a fitted BudgetCV, or have chosen n_features='auto'; got "
                f"{estimator!r:.60}. Of a CrossValidation use from_validation."
            )
        paths = budget_paths(estimator)
        chosen = getattr(estimator, "best_estimator_", estimator).size_
        unit = unit_of(estimator)
        return cls.from_validation(validation, chosen=chosen, paths=paths, unit=unit, axes=axes)

    @classmethod
    def from_validation(
        cls,
        validation: CrossValidation,
        *,
        chosen: int | None = None,
        paths: Any = (),
        unit: str = "features",
        axes: Any = None,
    ) -> SizesDisplay:
        """Draw what `cross_validate` returned.

        chosen : the size that is taken; None: by `validation.choose()`.
        paths : `path_` of an estimator that was fitted for the same sizes on all rows.
        unit : what sizes count, "features" or "groups".
        axes : as of `from_estimator`.
        """
        if any(isinstance(size, tuple) for size in validation.sizes):
            raise ValueError(
                "sizes must be numbers of features or of groups to be drawn on a line; got pairs "
                "of both."
            )
        compared, baseline = validation.compared, validation.baseline
        if compared is not validation.scores:
            assert validation.baseline_deviance is not None
            baseline = -validation.baseline_deviance
        several = compared.shape[1] > 1
        paths = [paths] if isinstance(paths, Path) else list(paths)
        objective, bound = _certified(paths, validation.sizes)
        display = cls(
            sizes=validation.sizes,
            mean=compared.mean(axis=1),
            standard_error=standard_error(compared, validation.repeats)
            if several
            else np.zeros(len(compared)),
            baseline=float(np.mean(baseline)),
            measure=validation.chosen_by,
            chosen=validation.choose() if chosen is None and several else chosen,
            objective=objective,
            bound=bound,
            unit=unit,
        )
        return display.plot(axes=axes)

    def plot(self, *, axes: Any = None) -> SizesDisplay:
        """Draw on given axes, or on those of a new figure, and return the display."""
        alone = self.objective is None
        heights, what = ([3.6], "scores") if alone else ([3.1, 2.1], "scores and objectives")
        self.figure_, self.axes_ = stacked_axes(axes, heights, what)
        from matplotlib.ticker import MaxNLocator

        self._draw_scores(self.axes_[0])
        if self.objective is not None:
            self._draw_certified(self.axes_[1])
        for ax in self.axes_:
            if self.chosen is not None:
                ax.axvline(self.chosen, color=PALE, linewidth=6, zorder=0)
        self.axes_[-1].set_xlabel(f"number of {self.unit}")
        self.axes_[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        return self

    def _draw_scores(self, ax: Axes) -> None:
        low, high = self.mean - self.standard_error, self.mean + self.standard_error
        ax.fill_between(self.sizes, low, high, color=BLUE, alpha=0.18, linewidth=0)
        ax.plot(self.sizes, self.mean, "-o", color=BLUE, markersize=4, label="mean ± 1 SE")
        ax.axhline(self.baseline, color=QUIET, linewidth=1, linestyle="--", label="no features")
        if self.chosen is not None:
            place = int(np.flatnonzero(self.sizes == self.chosen)[0])
            ax.plot(
                self.chosen, self.mean[place], "s", color=INK, markersize=8,
                fillstyle="none", label=f"chosen: {self.chosen}",
            )  # fmt: skip
        ax.set_ylabel(f"{_WORDS.get(self.measure, self.measure)}, held out")
        ax.legend(fontsize="small", frameon=False, ncols=2)

    def _draw_certified(self, ax: Axes) -> None:
        assert self.objective is not None
        ax.plot(self.sizes, self.objective, "-o", color=ORANGE, markersize=4, label="objective")
        if self.bound is not None:
            ax.plot(self.sizes, self.bound, "--", color=INK, linewidth=1, label="certified bound")
            ax.fill_between(
                self.sizes, self.bound, self.objective, color=ORANGE, alpha=0.18, linewidth=0
            )
        ax.set_ylabel("of the selection")
        ax.legend(fontsize="small", frameon=False)


def _certified(
    paths: list[Path], sizes: tuple[Any, ...]
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return objectives and bounds of every size, sums over the classes; None where not known."""
    if not paths:
        return None, None
    found = np.zeros((2, len(sizes)))
    for path in paths:
        for place, size in enumerate(sizes):
            selection = path[size]
            known = selection if selection.certificate is None else selection.certificate
            if known.objective is None or known.bound is None:
                return None, None
            found[:, place] += known.objective, known.bound
    return found[0], found[1]


__all__ = ["SizesDisplay"]
