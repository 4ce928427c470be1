"""What was selected: the score of every size, how stable, with which features, how they count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import ParameterError
from ..core.results import Path
from ..core.types import FloatArray, IndexArray
from ..data.operations import deviations
from ..estimators.held_out import CrossValidation, standard_error
from ..export.formats import as_model, feature_names, labels, outputs, positive
from ..inference.stability import Stability, StabilitySelection, check_threshold
from ..io.opening import as_design
from .drawing import (
    BLUE,
    COLOURS,
    INK,
    MARKERS,
    MOST_ROWS,
    ORANGE,
    PALE,
    QUIET,
    budget_paths,
    chosen_model,
    names_of,
    new_axes,
    stacked_axes,
    text,
    unit_of,
)

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
            raise ParameterError(
                "sizes",
                "must be numbers of features or of groups to be drawn on a line",
                "pairs of both",
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


# How often half-samples choose each feature, and what that guarantees.

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
            raise ParameterError(
                "names", f"must be {features.size}, one of each feature", str(len(names))
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


# Which features the models of all sizes have.


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
            raise ParameterError("output", f"must be below {len(paths)}, from 0", f"{output!r}")
        path = paths[output]
        sizes = list(path)
        if any(isinstance(size, tuple) for size in sizes):
            raise ParameterError(
                "sizes", "must be numbers of features or of groups", "pairs of both"
            )
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
        raise ParameterError(
            "X",
            f"must have the columns of the fit, {columns.max() + 1:,} or more",
            f"{design.shape[1]:,}",
        )
    return deviations(design.gather(columns))
