"""Survival of rows by their risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from ..core import validation as validate
from ..core.errors import ParameterError
from ..core.targets import check_survival
from ..core.types import FloatArray
from ..estimators import BudgetSurvivalAnalysis, L1SurvivalAnalysis
from ..estimators.folds import splits
from .drawing import BLUE, ORANGE, PURPLE, chosen_model, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOOKS = {1: "-", 2: "--", 3: "-."}
_QUANTILE = 1.959964  # of the normal distribution, for bands of 95 %


@dataclass(frozen=True, slots=True)
class Curve:
    """The Kaplan-Meier curve of a group of rows, from time 0 on."""

    times: FloatArray  # (m,) growing: 0 and all times of the rows
    alive: FloatArray  # (m,) the share that survives each
    low: FloatArray  # (m,) pointwise 95 % band; NaN where nobody survives
    high: FloatArray  # (m,)
    at_risk: FloatArray  # (m,) the rows observed until each time or longer
    censored: FloatArray  # (c,) the times of censoring


class KaplanMeierDisplay:
    """Kaplan-Meier curves of groups of rows, by the risk that a model predicts for them.

    With d_t the events at time t and n_t the rows at risk there, the curve of a group is

        S(t) = prod_{t' <= t} (1 - d_t' / n_t'),

    of rows of risks held out of the fit. Marks show where rows are censored, and the table below
    the numbers at risk, n_t. Bands are pointwise 95 % intervals, by Greenwood's variance

        V(t) = sum_{t' <= t} d_t' / (n_t' (n_t' - d_t'))

    on the scale of log(-log S(t)), so that they stay between 0 and 1.

    Parameters
    ----------
    curves : a `Curve` for each group, from the lowest risk
    names : of the groups

    Attributes
    ----------
    ax_, figure_

    Source
    ------
    Kaplan and Meier, Nonparametric estimation from incomplete observations, Journal of the American
    Statistical Association 53 (1958). Kalbfleisch and Prentice, The Statistical Analysis of Failure
    Time Data (2002), section 1.4, for the bands.
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, *, curves: Any, names: Any) -> None:
        self.curves, self.names = list(curves), list(names)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        cv: Any = 5,
        groups: Any = None,
        n_groups: int = 3,
        random_state: int | None = 0,
        ax: Axes | None = None,
    ) -> KaplanMeierDisplay:
        """Draw the survival of rows by risks that models of the other folds predict.

        estimator : for survival times; it is cloned and fitted in every fold, features and all.
        X, y : as for its `fit`.
        cv : number of folds with events in equal shares, or a splitter of scikit-learn.
        groups : (n_samples,) labels; samples with the same label are held out together.
        n_groups : from 2 to 3 groups of as many rows each, by their risk.
        ax : axes to draw on; None: a new figure.
        """
        model = chosen_model(estimator) if hasattr(estimator, "best_estimator_") else estimator
        if not isinstance(model, (BudgetSurvivalAnalysis, L1SurvivalAnalysis)):
            raise TypeError(f"estimator must be of survival times; got {type(estimator).__name__}.")
        target = check_survival(y, len(np.asarray(y)))
        together = validate.check_groups(groups, len(target))
        folds = splits(
            model._strata(target, cv), np.ones(len(target)), cv, random_state, groups=together
        )
        risk = cross_val_predict(clone(model), X, y, cv=folds)
        return cls.from_predictions(y, risk, n_groups=n_groups, ax=ax)

    @classmethod
    def from_predictions(
        cls, y: Any, risk: Any, *, n_groups: int = 3, ax: Axes | None = None
    ) -> KaplanMeierDisplay:
        """Draw the survival of rows by given risks.

        y : the target, as for `BudgetSurvivalAnalysis.fit`, without starts.
        risk : (n_samples,) the higher, the sooner the event.
        n_groups, ax : as of `from_estimator`.
        """
        risk = np.asarray(risk, float)
        if n_groups not in (2, 3):
            raise ParameterError("n_groups", "must be 2 or 3", f"{n_groups!r}")
        if risk.ndim != 1 or not np.isfinite(risk).all() or risk.size < 2 * n_groups:
            raise ParameterError(
                "risk",
                f"must be finite numbers, one for each of {2 * n_groups} or more rows",
                f"{risk.size} of shape {risk.shape}",
            )
        target = check_survival(y, risk.size)
        if target.shape[1] > 3:
            raise ParameterError(
                "y", "must have no starts for these curves", "rows that come under observation late"
            )
        parts = np.array_split(np.argsort(risk, kind="stable"), n_groups)
        words = ["low", "middle", "high"] if n_groups == 3 else ["low", "high"]
        curves = [_curve(target[rows, 0], target[rows, 1] > 0) for rows in parts]
        names = [
            f"{word} risk: {int(target[rows, 1].sum())} events in {rows.size}"
            for word, rows in zip(words, parts, strict=True)
        ]
        return cls(curves=curves, names=names).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> KaplanMeierDisplay:
        """Draw on given axes, or on those of a new figure, and return the display."""
        self.figure_, self.ax_ = new_axes(ax)
        ax = self.ax_
        colours = [BLUE, PURPLE, ORANGE] if len(self.curves) == 3 else [BLUE, ORANGE]
        for number, (curve, name) in enumerate(zip(self.curves, self.names, strict=True), 1):
            colour = colours[number - 1]
            ax.step(
                curve.times, curve.alive, _LOOKS[number], where="post", color=colour, label=name
            )
            ax.fill_between(
                curve.times,
                curve.low,
                curve.high,
                step="post",
                color=colour,
                alpha=0.12,
                linewidth=0,
            )
            last = np.searchsorted(curve.times, curve.censored, side="right") - 1
            ax.plot(curve.censored, curve.alive[last], "|", color=colour, markersize=6)
        ax.set_ylim(0, 1.03)
        ax.set_xlim(left=0)
        ax.set_xlabel("time")
        ax.set_ylabel("share without the event")
        ax.legend(fontsize="small", edgecolor="none", loc="best")
        self._draw_at_risk(ax, colours)
        return self

    def _draw_at_risk(self, ax: Axes, colours: list[str]) -> None:
        """Write the numbers at risk below the ticks, a line for each group."""
        top = ax.get_xlim()[1]
        ticks = [tick for tick in ax.get_xticks() if 0 <= tick <= top]
        look: dict[str, Any] = {"va": "top", "fontsize": "small"}
        head = ax.annotate(
            "at risk", (0, 0), (-14, -36), "axes fraction", "offset points", ha="right", **look
        )
        head.set_fontstyle("italic")
        for number, (curve, colour) in enumerate(zip(self.curves, colours, strict=True)):
            for tick in ticks:
                n = curve.at_risk[np.searchsorted(curve.times, tick) :][:1].sum()
                ax.annotate(
                    f"{n:.0f}", (tick, 0), (0, -36 - 12 * number), ax.get_xaxis_transform(),
                    "offset points", ha="center", color=colour, annotation_clip=False, **look,
                )  # fmt: skip


def _curve(time: FloatArray, event: np.ndarray) -> Curve:
    times, places = np.unique(time, return_inverse=True)
    died = np.bincount(places, event)
    at_risk = time.size - np.concatenate([[0], np.cumsum(np.bincount(places))[:-1]])
    alive = np.cumprod(1.0 - died / at_risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.cumsum(died / (at_risk * (at_risk - died)))) / np.log(alive)
        low, high = (alive ** np.exp(side * _QUANTILE * error) for side in (-1.0, 1.0))
    before = alive == 1.0  # no event yet
    low, high = np.where(before, 1.0, low), np.where(before, 1.0, high)
    return Curve(
        np.concatenate([[0.0], times]),
        np.concatenate([[1.0], alive]),
        np.concatenate([[1.0], low]),
        np.concatenate([[1.0], high]),
        np.concatenate([[time.size], at_risk]),
        time[~event],
    )
