"""Selected variants along the genome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression

from ..core.errors import Message, Parameter, ParameterError
from ..core.parallel import one_blas_thread
from ..core.types import FloatArray, IndexArray
from ..data.operations import scan
from ..estimators.problem import problem_of
from .drawing import BLUE, INK, ORANGE, QUIET, chosen_model, new_axes, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADES = "#8fa3b8", "#c3ced9"  # of chromosomes, in turn
MOST_NAMES = 40  # selected variants with a name, at most
GAP = 0.02  # between names, of the width of the axes
LOOKS = (("^", ORANGE, "positive"), ("v", BLUE, "negative"))  # by the sign of the coefficient


class ManhattanDisplay:
    """Correlation of every variant with the target, along the genome; selected variants by name.

    The height of variant j is

        |x_j'v| / (||x_j|| ||v||),

    with x_j its centred column and v the negative gradient of the loss at the model without
    variants (with intercept and covariates); for squared loss it is the absolute correlation with
    the residual. For several outputs it is the largest one. Chromosomes alternate in colour;
    triangles are selected variants and point up where the coefficient is positive.

    Points are drawn as one image inside the figure, also in SVG and PDF, so that a million variants
    take a few seconds and make no large file.

    Parameters
    ----------
    variants : (p,) records of chromosome, name and position, such as `read_plink(...).variants`
    scores : (p,) heights, not negative
    selected : (k,) positions of the selected variants in `variants`
    coef : (k,) their coefficients

    Attributes
    ----------
    positions_ : (p,) of the variants on the horizontal axis, in bases; chromosomes lie side by side
    ax_, figure_

    Raises
    ------
    ValueError
        If the lengths differ, or if a variant is selected that is not there.
    """

    ax_: Axes
    figure_: Figure
    positions_: FloatArray

    def __init__(self, *, variants: Any, scores: Any, selected: Any, coef: Any) -> None:
        self.variants, self.scores = variants, np.asarray(scores, float)
        self.selected, self.coef = np.asarray(selected, np.int64), np.asarray(coef, float)
        p, k = len(variants), self.selected.size
        if p == 0 or self.scores.shape != (p,) or self.coef.shape != (k,):
            raise ParameterError(
                "variants",
                "must be one or more, with a score each, and selected ones with a coefficient each",
                f"{p:,} variants, scores of shape {self.scores.shape}, {k:,} selected variants, "
                f"coefficients of shape {self.coef.shape}",
            )
        if k and not 0 <= self.selected.min() <= self.selected.max() < p:
            raise ParameterError(
                "selected",
                f"must be positions in variants, 0 to {p - 1}",
                f"{self.selected.min()} to {self.selected.max()}",
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        variants: Any,
        offset: Any = None,
        ax: Axes | None = None,
    ) -> ManhattanDisplay:
        """Draw a fitted estimator with a budget, or a search for one; this takes one pass over X.

        X, y, offset : of the fit. The first columns of X are the variants; others are covariates.
        variants : (p,) records, such as `read_plink(...).variants`.
        ax : axes to draw on; None: a new figure.
        """
        model, p = chosen_model(estimator), len(variants)
        if p > model.n_features_in_:
            raise ParameterError(
                "variants",
                Message(
                    "must be those of the first columns of ",
                    Parameter("X"),
                    f", at most {model.n_features_in_:,}",
                ),
                f"{p:,}",
            )
        selected = model.support_[model.support_ < p]
        coef = np.atleast_2d(model.coef_)[:, selected]
        largest = np.abs(coef).argmax(axis=0)
        display = cls(
            variants=variants,
            scores=correlations(model, X, y, offset)[:p],
            selected=selected,
            coef=coef[largest, np.arange(selected.size)],
        )
        return display.plot(ax=ax)

    def plot(
        self, *, region: tuple[str, float, float] | None = None, ax: Axes | None = None
    ) -> ManhattanDisplay:
        """Draw on given axes, or on those of a new figure, and return the display.

        region : (chromosome, start, end), positions in bases, to draw a part of a chromosome;
            None: all variants.
        """
        chromosome = _names(self.variants["chromosome"])
        base = self.variants["position"].astype(float)
        shown = np.ones(base.size, bool)
        if region is not None:
            name, start, end = region
            shown = (chromosome == str(name)) & (base >= start) & (base <= end)
            if not shown.any():
                raise ParameterError(
                    "region",
                    "must be (chromosome, start, end) with variants in it",
                    f"{region!r:.80}",
                )
        order = sorted(set(chromosome[shown].tolist()), key=_natural)
        self.figure_, self.ax_ = new_axes(ax, width=10.0, height=4.4)
        self.positions_, ends = _side_by_side(chromosome, base, shown, order)
        n_shown = int(shown.sum())
        selected = np.isin(np.arange(base.size), self.selected)
        for number, name in enumerate(order):
            own = shown & (chromosome == name) & ~selected
            self.ax_.plot(
                self.positions_[own], self.scores[own], "o", color=SHADES[number % len(SHADES)],
                markersize=2.6 if n_shown > 5000 else 4.0, markeredgewidth=0, rasterized=True,
                label=f"{n_shown:,} variants" if number == 0 else None,
            )  # fmt: skip
        self.ax_.set_ylim(0.0, 1.05 * float(self.scores[shown].max()) or 1.0)
        self.ax_.set_ylabel("|correlation| with the target")
        self._draw_chromosomes(order, ends)
        kept = shown[self.selected]
        self._draw_selected(self.selected[kept], self.coef[kept])
        self.ax_.legend(
            fontsize="small", frameon=False, ncols=3, loc="upper right",
            bbox_to_anchor=(1.0, -0.15), handletextpad=0.2, columnspacing=1.2, borderaxespad=0.0,
        )  # fmt: skip
        return self

    def _draw_selected(self, selected: IndexArray, coef: FloatArray) -> None:
        """Mark the selected variants, and lead lines from them to the names of the highest."""
        x, y = self.positions_[selected], self.scores[selected]
        for (marker, colour, sign), own in zip(LOOKS, (coef >= 0, coef < 0), strict=True):
            if own.any():
                self.ax_.plot(
                    x[own], y[own], marker, color=colour, markersize=7, markeredgecolor="white",
                    markeredgewidth=0.7, label=f"{own.sum()} selected, {sign} coefficient",
                )  # fmt: skip
        named = np.argsort(-y, kind="stable")[:MOST_NAMES]
        named = named[np.argsort(x[named], kind="stable")]
        (low, high), (_, top) = self.ax_.get_xlim(), self.ax_.get_ylim()
        at = (x[named] - low) / (high - low)
        lead: dict[str, Any] = {"color": QUIET, "alpha": 0.5, "linewidth": 0.7}
        self.ax_.vlines(x[named], y[named], top, zorder=1, **lead)
        above: dict[str, Any] = {"transform": self.ax_.transAxes, "clip_on": False}
        for start, end, i in zip(at, _spread(at), named, strict=True):
            self.ax_.plot([start, end], [1.0, 1.05], **lead, **above)
            self.ax_.text(
                end, 1.06, text(str(self.variants["name"][selected[i]])), rotation=58,
                rotation_mode="anchor", va="center", fontsize="small", color=INK, **above,
            )  # fmt: skip

    def _draw_chromosomes(self, order: list[str], ends: FloatArray) -> None:
        """Label the chromosomes, or the positions where there is only one."""
        ax = self.ax_
        if len(order) == 1:
            ax.xaxis.set_major_formatter(lambda base, _: f"{base / 1e6:.10g}")
            ax.set_xlabel(f"position on chromosome {text(order[0])} (Mb)")
            return
        places, labels, last = [], [], -np.inf
        for name, begin, end in zip(order, ends, ends[1:], strict=False):
            middle, room = 0.5 * (begin + end), (0.008 + 0.005 * len(name)) * ends[-1]
            if middle - last >= room:
                places.append(middle)
                labels.append(text(name))
                last = middle
        ax.set_xticks(places, labels, fontsize="small")
        ax.tick_params(axis="x", length=0)
        ax.set_xlim(-0.01 * ends[-1], 1.01 * ends[-1])
        ax.set_xlabel("chromosome")


@one_blas_thread()
def correlations(model: Any, X: Any, y: Any, offset: Any) -> FloatArray:
    """Return the correlation of each column with what the model without features leaves, (m,)."""
    poser = clone(model).set_params(standardize=True)  # columns of norm sqrt(n)
    problem = problem_of(poser, X, y, offset=offset)
    found = np.zeros(problem.data.design.shape[1])
    for task in problem.tasks:
        v = task.risk(1.0).first()[1]
        q = task.loss.outputs
        sizes = np.linalg.norm(v.reshape(q, -1), axis=1) * np.sqrt(v.size / q)
        scores = np.abs(scan(task.design, v)).reshape(-1, q) / np.maximum(sizes, 1e-300)
        np.maximum(found, scores.max(axis=1), out=found)
    return found


def _names(chromosome: NDArray[Any]) -> NDArray[Any]:
    """Return names of chromosomes as text."""
    return np.array([str(name) for name in chromosome.tolist()])


def _natural(name: str) -> tuple[int, int, str]:
    """Return a key by which 2 comes before 10, and numbers before X."""
    bare = name.lower().removeprefix("chr")
    return (0, int(bare), name) if bare.isdigit() else (1, 0, name)


def _side_by_side(
    chromosome: NDArray[Any], base: FloatArray, shown: NDArray[np.bool_], order: list[str]
) -> tuple[FloatArray, FloatArray]:
    """Return the positions of variants on the axis, and the ends of the chromosomes there.

    A chromosome is as long as its variants reach; a single one keeps its own positions.
    """
    if len(order) == 1:
        return base, np.array([base[shown].min(), base[shown].max()])
    own = [shown & (chromosome == name) for name in order]
    low = np.array([base[rows].min() for rows in own])
    span = np.array([np.ptp(base[rows]) for rows in own])
    space = max(0.004 * span.sum(), 1.0)
    ends = np.concatenate([[0.0], np.cumsum(span + space)])
    places = np.zeros(base.size)
    for rows, first, begin in zip(own, low, ends[:-1], strict=True):
        places[rows] = base[rows] - first + begin + 0.5 * space
    return places, ends


def _spread(x: FloatArray) -> FloatArray:
    """Return ascending places from 0 to 1, at least `GAP` apart where there is room, near to x."""
    steps = min(GAP, 0.97 / max(1, x.size)) * np.arange(x.size)
    if not x.size:
        return x
    near: FloatArray = isotonic_regression(x - steps)
    near = np.clip(near, 0.0, 0.97 - steps[-1])
    return near + steps
