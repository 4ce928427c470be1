"""How a proof closes, and all models that are nearly as good as the best one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import validation as validate
from ..core.errors import Message, Parameter, ParameterError
from ..core.results import Proof
from ..inspection.alternatives import NearOptimal
from .drawing import (
    BLUE,
    INK,
    MOST_ROWS,
    ORANGE,
    PALE,
    QUIET,
    SKY,
    chosen_model,
    new_axes,
    stacked_axes,
    text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class ProofDisplay:
    """The objective of the best features found and the bound of all others, over time.

    What is between the two curves is what other features could still gain; where they meet, no
    better features of this number exist.

    Parameters
    ----------
    seconds, objective, bound : (n,) the course of the search
    k : the number of features
    proven : whether the search shows that none are better

    Attributes
    ----------
    ax_, figure_
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, *, seconds: Any, objective: Any, bound: Any, k: int, proven: bool) -> None:
        self.seconds = np.asarray(seconds)
        self.objective, self.bound = np.asarray(objective), np.asarray(bound)
        self.k, self.proven = k, proven

    @classmethod
    def from_proof(cls, proof: Proof, *, ax: Axes | None = None) -> ProofDisplay:
        """Draw what `prove` returned.

        ax : axes to draw on; None: a new figure.
        """
        if not isinstance(proof, Proof):
            raise TypeError(
                f"proof must be what zeronorm.prove returned, of one class; got {proof!r:.60}."
            )
        course = proof.history
        display = cls(
            seconds=[at.seconds for at in course],
            objective=[at.objective for at in course],
            bound=[at.bound for at in course],
            k=proof.support.size,
            proven=proof.certificate.proven,
        )
        return display.plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> ProofDisplay:
        """Draw the proof of an estimator that was fitted with one, `proof_`.

        ax : axes to draw on; None: a new figure.
        """
        proof = getattr(chosen_model(estimator), "proof_", None)
        if proof is None:
            raise ParameterError(
                "estimator",
                Message(
                    "must have been fitted with a proof (method=zeronorm.methods.L0(",
                    Parameter.of("gap", 0),
                    ")); it has none",
                ),
                "",
                "Or pass what zeronorm.prove returns to from_proof.",
            )
        return cls.from_proof(proof, ax=ax)

    def plot(self, *, ax: Axes | None = None) -> ProofDisplay:
        """Draw on given axes, or on those of a new figure, and return the display."""
        self.figure_, self.ax_ = new_axes(ax)
        ax = self.ax_
        ax.fill_between(
            self.seconds, self.bound, self.objective, step="post", color=ORANGE, alpha=0.18,
            linewidth=0, label="what others could gain",
        )  # fmt: skip
        ax.step(self.seconds, self.objective, where="post", color=ORANGE, label="best found")
        ax.step(self.seconds, self.bound, "--", where="post", color=INK, label="bound")
        ax.set_xlabel("seconds")
        ax.set_ylabel("objective")
        gap = max(0.0, (self.objective[-1] - self.bound[-1]) / abs(self.objective[-1]))
        what, are = ("feature", "is") if self.k == 1 else (f"{self.k} features", "are")
        exist = "exists" if self.k == 1 else "exist"
        ax.set_title(
            f"no better {what} {exist}" if self.proven
            else f"no {what} {are} better by more than {gap:.2%}",
            loc="left",
        )  # fmt: skip
        ax.legend(fontsize="small", frameon=False)
        return self


MOST_LINES = 100  # supports that are drawn one by one; more are an image


class NearOptimalDisplay:
    """A grid of features and supports, the best support first; above, what each one costs.

    Features in all supports are dark and stand above, those in some follow, those in most of them
    first; beside each is in how many it is. Where the list is not complete, the costs
    at which supports may be missing are hatched, and a dashed line stands before the first of them.

    Parameters
    ----------
    names : (m,) of the features, from the top
    present : (m, n_supports) whether a support has a feature
    excess : (n_supports,) growing: (objective - best) / best
    k : the number of features, or of groups, of a support
    within : the share up to which supports were wanted
    complete_within : up to where none is missing; `within` where the list is complete
    n_left_out : features of supports without a row, those in the fewest
    counts : (m,) how many of all supports have a feature; None: of those in `present`
    n_supports : how many there are; None: those in `present`
    unit : what supports have, "features" or "groups"

    Attributes
    ----------
    axes_ : the axes of the costs, and of the grid
    figure_
    """

    figure_: Figure
    axes_: list[Axes]

    def __init__(
        self,
        *,
        names: Any,
        present: Any,
        excess: Any,
        k: int,
        within: float,
        complete_within: float,
        n_left_out: int = 0,
        counts: Any = None,
        n_supports: int | None = None,
        unit: str = "features",
    ) -> None:
        self.names, self.present = list(names), np.asarray(present, bool)
        self.excess, self.k = np.asarray(excess, float), k
        self.within, self.complete_within = within, complete_within
        self.n_left_out, self.unit = n_left_out, unit
        self.counts = self.present.sum(axis=1) if counts is None else np.asarray(counts)
        self.n_supports = len(self.excess) if n_supports is None else n_supports

    @classmethod
    def from_near_optimal(
        cls,
        near: NearOptimal,
        *,
        feature_names: Any = None,
        n_drawn: int | None = None,
        n_rows: int = MOST_ROWS,
        axes: Any = None,
    ) -> NearOptimalDisplay:
        """Draw what `near_optimal` returned.

        feature_names : of all columns of X, or a mapping of some of them to names, where supports
            are features; None: x and their numbers.
        n_drawn : how many supports have a column, the best ones; None: all.
        n_rows : how many features have a row at most, those in the most supports.
        axes : two axes to draw on; None: a new figure.
        """
        if not isinstance(near, NearOptimal):
            raise TypeError(
                "near must be what zeronorm.inspection.near_optimal returned, of one class; got "
                f"{near!r:.60}."
            )
        n_drawn = validate.check_count("n_drawn", n_drawn)
        n_rows = validate.check_iterations("n_rows", n_rows)
        features, count = np.unique(near.supports, return_counts=True)
        if feature_names is not None:
            _check_names(feature_names, features)
        present = np.array([(near.supports == one).any(axis=1) for one in features])
        order = np.lexsort((present.argmax(axis=1), -count))[:n_rows]
        labels = [_label(features[at], feature_names) for at in order]
        best = float(near.objectives[0])
        display = cls(
            names=labels,
            present=present[order, :n_drawn],
            excess=(near.objectives[:n_drawn] - best) / max(abs(best), 1e-300),
            k=near.supports.shape[1],
            within=near.within,
            complete_within=near.complete_within,
            n_left_out=features.size - order.size,
            counts=count[order],
            n_supports=len(near),
            unit="features" if features.dtype.kind in "iu" else "groups",
        )
        return display.plot(axes=axes)

    @property
    def complete(self) -> bool:
        """Whether no support is missing."""
        return self.complete_within >= self.within

    def plot(self, *, axes: Any = None) -> NearOptimalDisplay:
        """Draw on given axes, or on those of a new figure, and return the display."""
        heights = [1.5, 0.7 + 0.2 * len(self.names)]
        self.figure_, self.axes_ = stacked_axes(axes, heights, "costs and the grid", 7.2)
        self._draw_costs(self.axes_[0])
        self._draw_grid(self.axes_[1])
        return self

    def _draw_costs(self, ax: Axes) -> None:
        from matplotlib.ticker import PercentFormatter

        n = self.n_supports
        reach = (1.1 * float(self.excess.max()) if self.complete else self.within) or 0.01
        ax.bar(range(len(self.excess)), self.excess, 0.8, color=QUIET)
        ax.set_ylim(0, reach)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        ax.set_ylabel("worse by")
        others = "there are no others" if self.complete else "there may be others"
        ax.set_title(
            f"{n:,} {'set' if n == 1 else 'sets'} of {self.k} within {100 * self.within:,.6g} % of "
            f"the best: {others}",
            loc="left",
        )
        if self.complete:
            return
        ax.axhspan(self.complete_within, reach, facecolor="none", edgecolor=ORANGE, hatch="//",
                   linewidth=0, alpha=0.5, zorder=0)  # fmt: skip
        ax.axhline(self.complete_within, color=ORANGE, linewidth=1.2)
        ax.text(
            0.01, self.complete_within / reach - 0.03, color=ORANGE, fontsize="small",
            s=f"none is missing up to {100 * self.complete_within:.2g} %", va="top",
            transform=ax.transAxes,
        )  # fmt: skip
        first = np.searchsorted(self.excess, self.complete_within, side="right") - 0.5
        if first < len(self.excess) - 1:
            for one in self.axes_:
                one.axvline(first, color=ORANGE, linewidth=1.2, linestyle="--")

    def _draw_grid(self, ax: Axes) -> None:
        m, n = self.present.shape
        in_all = self.counts == self.n_supports
        if n <= MOST_LINES:
            self._draw_cells(ax, in_all)
        else:
            self._draw_image(ax, in_all)
        for row in range(1, m):
            ax.axhline(row - 0.5, color="white", linewidth=1)
        if in_all.any() and not in_all.all():
            ax.axhline(in_all.sum() - 0.5, color=INK, linewidth=1)
        counts = [
            "in all" if one else f"in {n:,}" for one, n in zip(in_all, self.counts, strict=True)
        ]
        ax.set_yticks(range(m), self.names, fontsize="small")
        beside = ax.secondary_yaxis("right")
        beside.set_yticks(range(m), counts, fontsize="small")
        for one in (ax, beside):
            one.tick_params(axis="y", length=0)
        beside.spines["right"].set_visible(False)
        ax.set_xticks([])
        sets = f"sets, the best {'first' if n == self.n_supports else f'{n:,} alone'}"
        rest = f"other {self.unit} are in none"
        if self.n_left_out:
            rest = f"{self.n_left_out:,} more {self.unit} are in fewer, all others in none"
        if not self.complete:
            rest += " of these"
        ax.set_xlabel(f"{sets}; {rest}")

    def _draw_cells(self, ax: Axes, in_all: np.ndarray) -> None:
        """Draw the grid as two shapes, so that it is sharp at any size."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        m, n = self.present.shape
        ax.set_facecolor(PALE)
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
        around = np.array([(-0.42, -0.5), (0.42, -0.5), (0.42, 0.5), (-0.42, 0.5), (-0.42, -0.5)])
        for own, colour in ((in_all, BLUE), (~in_all, SKY)):
            rows, columns = np.nonzero(self.present & own[:, None])
            if rows.size:
                corners = np.column_stack([columns, rows])[:, None] + around
                path = Path(corners.reshape(-1, 2), np.tile(codes, rows.size))
                ax.add_artist(PathPatch(path, facecolor=colour, linewidth=0))
        ax.set_xlim(-0.5, n - 0.5)
        ax.set_ylim(m - 0.5, -0.5)

    def _draw_image(self, ax: Axes, in_all: np.ndarray) -> None:
        from matplotlib.colors import ListedColormap

        ax.imshow(
            self.present * np.where(in_all, 2, 1)[:, None], vmin=0, vmax=2, aspect="auto",
            cmap=ListedColormap([PALE, SKY, BLUE]), interpolation="nearest",
        )  # fmt: skip


def _check_names(names: Any, features: np.ndarray) -> None:
    """Raise where names are not those of the columns that supports have."""
    if features.dtype.kind not in "iu":
        raise ParameterError(
            "feature_names",
            "must be None for supports of groups, which have labels of their own",
            f"{len(names):,}",
        )
    if not isinstance(names, Mapping) and len(names) <= features[-1]:
        raise ParameterError(
            "feature_names",
            Message("must name all columns of ", Parameter("X"), f", {features[-1] + 1:,} or more"),
            f"{len(names):,}",
        )


def _label(feature: Any, names: Any) -> str:
    """Return the label of a feature, or of a group."""
    if names is not None:
        return text(str(names[feature]))
    return text(f"x{feature}" if np.issubdtype(type(feature), np.integer) else str(feature))
