"""A picture of a selection of variants along the genome, as SVG text.

Above, how every variant correlates with what is left of the target without variants; below, the
coefficients of the chosen ones. It is made of text alone, and weighs no more for a million variants
than for ten thousand: points that would lie on each other are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ._threads import one_blas_thread
from ._typing import FloatArray, IndexArray
from .designs._operations import scan
from .genotypes import Plink

WIDTH, LEFT, RIGHT = 1120, 66, 26
TOP, UPPER, BETWEEN, LOWER, BOTTOM = 168, 250, 46, 96, 40
NAMED = 60  # chosen variants with a label, at most
LINE = 14.0  # between labels
_TOUCHING = 3  # so near are points without room between them
SHADES = "#8fa3b8", "#c3ced9"  # of chromosomes, in turn
MORE, LESS, INK, QUIET, GRID = "#b45309", "#1d4ed8", "#1f2933", "#66788a", "#e4e9ee"
FONT = "font-family='Inter, Helvetica, Arial, sans-serif'"


@dataclass(frozen=True, slots=True)
class _Genome:
    """Where variants lie on the horizontal axis."""

    x: FloatArray  # (p,)
    order: list[str]  # the chromosomes
    low: FloatArray  # (n_chromosomes,) the least position of each
    code: IndexArray  # (p,) of each variant the place of its chromosome in the order
    span: float  # of all positions
    ends: FloatArray  # (n_chromosomes + 1,) where they begin, and where the last one ends

    @classmethod
    def of(cls, variants: NDArray[np.void]) -> _Genome:
        """Lay the chromosomes side by side, each as long as its variants reach."""
        names = [str(name) for name in variants["chromosome"].tolist()]
        order = sorted(set(names), key=_natural)
        places = {name: i for i, name in enumerate(order)}
        code = np.array([places[name] for name in names])
        position = variants["position"].astype(float)
        low, high = np.full(len(order), np.inf), np.full(len(order), -np.inf)
        np.minimum.at(low, code, position)
        np.maximum.at(high, code, position)
        span = np.maximum(high - low, 1.0)
        space = 0.004 * span.sum() if len(order) > 1 else 0.0
        begin = np.concatenate([[0.0], np.cumsum(span + space)])
        factor = (WIDTH - LEFT - RIGHT) / begin[-1]
        x = LEFT + factor * (begin[code] + 0.5 * space + position - low[code])
        return cls(x, order, low, code, float(begin[-1]), LEFT + factor * begin)

    def ticks(self) -> list[tuple[float, str]]:
        """Return places on the axis with their positions, in millions, where there is one room."""
        if len(self.order) > 1:
            return []
        begin, end = self.ends
        first, scale = float(self.low[0]), (end - begin) / self.span
        step = _step(0.5 * self.span)
        places = step * np.arange(np.ceil(first / step), (first + self.span) / step)
        return [
            (float(begin + scale * (place - first)), f"{place / 1e6:.10g} Mb")
            for place in places.tolist()
        ]


@one_blas_thread
def genome_view(genotypes: Plink, model: Any, y: ArrayLike, *, title: str | None = None) -> str:
    """Return the picture of a fitted selection; one more scan of the genotypes.

    Above, for each variant |x_j'v| / (||x_j|| ||v||) with x_j its centred column and v what the
    model without variants (with intercept and covariates) leaves of the target: of numbers the
    absolute correlation with the residual. Of several outputs it is the largest. Below, the
    coefficients, for each copy of the allele.

    Parameters
    ----------
    genotypes : what `read_plink` returned.
    model : a fitted estimator with a budget; its first columns are those of `genotypes.X`, as after
        `with_columns`.
    y : (n_samples,) the target of the fit, of all samples.
    title : by default how many variants were chosen of how many.

    Returns
    -------
    The text of an SVG file.

    Raises
    ------
    ValueError
        Where the model is of other columns.
    """
    p = len(genotypes.variants)
    if model.n_features_in_ != p:
        raise ValueError(
            f"model must be fitted to the {p:,} variants of genotypes; it has "
            f"{model.n_features_in_:,} columns. With covariates, `drawn` takes scores of your own."
        )
    return drawn(genotypes.variants, model, correlations(model, genotypes.X, y), title)


def correlations(model: Any, X: Any, y: Any, offset: Any = None) -> FloatArray:
    """Return the correlation of each column with what the model without features leaves, (m,)."""
    found = np.zeros(model.n_features_in_)
    poser = clone(model).set_params(standardize=True)  # columns of norm sqrt(n)
    for task in poser._pose(poser._read(X, y, None, offset)).tasks:
        v = task.risk(1.0).first()[1]
        q = task.loss.outputs
        sizes = np.linalg.norm(v.reshape(q, -1), axis=1) * np.sqrt(v.size / q)
        scores = np.abs(scan(task.design, v)).reshape(-1, q) / np.maximum(sizes, 1e-300)
        np.maximum(found, scores.max(axis=1), out=found)
    return found


def drawn(
    variants: NDArray[np.void], model: Any, scores: FloatArray, title: str | None = None
) -> str:
    """Return the picture of given scores, of the first columns of a model.

    scores : (p or more,) not negative.
    """
    p = len(variants)
    genome = _Genome.of(variants)
    chosen = model.support_[model.support_ < p]
    chosen = chosen[np.argsort(genome.x[chosen], kind="stable")]
    coef = np.atleast_2d(model.coef_)[:, chosen]
    largest = np.abs(coef).argmax(axis=0)
    effect = coef[largest, np.arange(chosen.size)]
    scores = scores[:p]
    top = _ceiling(float(scores.max(initial=0.0)))
    height = TOP + UPPER + BETWEEN + LOWER + BOTTOM
    base = TOP + UPPER
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' "
        f"height='{height}' {FONT} font-size='11'>",
        f"<rect width='{WIDTH}' height='{height}' fill='#ffffff'/>",
        _text(LEFT, 34, title or f"{chosen.size} of {p:,} variants", size=18, weight=600),
        _text(LEFT, 54, "Every variant by its correlation with the target; the chosen ones by name",
              fill=QUIET, size=12),
        *_legend(coef.shape[0]),
        *_axis(top, TOP, UPPER, "|correlation|"),
        *_points(genome, scores, top),
        *_chromosomes(genome, base),
        *_chosen(genome, variants, chosen, scores, top, effect),
        *_effects(genome.x[chosen], effect, base + BETWEEN),
        "</svg>",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def _natural(name: str) -> tuple[int, int, str]:
    """Return a key by which 2 comes before 10, and numbers before X."""
    bare = name.lower().removeprefix("chr")
    return (0, int(bare), name) if bare.isdigit() else (1, 0, name)


def _ceiling(value: float) -> float:
    """Return the next of 1, 2, 2.5, 5 times a power of 10 in fifths; 1 for nothing."""
    if value <= 0:
        return 1.0
    step = _step(value)
    return float(step * np.ceil(value / step))


def _step(value: float) -> float:
    """Return the least of 1, 2, 2.5, 5 times a power of 10 of which 4 are the value or more."""
    power = 10.0 ** np.floor(np.log10(value / 4))
    return float(power * next(one for one in (1, 2, 2.5, 5, 10) if one * power >= value / 4))


def _text(
    x: float, y: float, text: str, *, fill: str = INK, size: int = 11, weight: int = 400,
    more: str = "",
) -> str:  # fmt: skip
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' fill='{fill}' font-size='{size}' font-weight='{weight}'"
        f"{more}>{escape(text)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1.0) -> str:
    return (
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{color}' "
        f"stroke-width='{width}'/>"
    )


def _dot(x: float, y: float, color: str, radius: float = 4.2) -> str:
    return (
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius}' fill='{color}' stroke='#ffffff' "
        "stroke-width='1.4'/>"
    )


def _legend(n_outputs: int) -> list[str]:
    right = WIDTH - RIGHT
    rows = ((MORE, "the target grows with copies"), (LESS, "it falls"))
    if n_outputs > 1:
        rows = ((MORE, "largest coefficient positive"), (LESS, "negative"))
    parts, x = [], right - 290.0
    for color, words in rows:
        parts += [_dot(x, 30, color), _text(x + 10, 34, words, fill=QUIET)]
        x += 190
    return parts


def _axis(top: float, begin: float, height: float, words: str) -> list[str]:
    parts = []
    for share in np.linspace(0.0, 1.0, 5):
        y = begin + height * (1 - share)
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y, GRID))
        label = _text(LEFT - 8, y + 4, f"{top * share:.3g}", fill=QUIET, more=" text-anchor='end'")
        parts.append(label)
    middle = begin + height / 2
    turned = f" text-anchor='middle' transform='rotate(-90 18 {middle:.1f})'"
    return [*parts, _text(18, middle, words, fill=QUIET, more=turned)]


def _points(genome: _Genome, scores: FloatArray, top: float) -> list[str]:
    """Return the points of all variants, those on each other once, a path for each shade.

    Points without room between them are one line, so that the text is bounded by the picture.
    """
    parts = []
    for shade, color in enumerate(SHADES):
        own = genome.code % len(SHADES) == shade
        if not own.any():
            continue
        x = np.round(genome.x[own])
        y = np.round(TOP + UPPER * (1 - scores[own] / top))
        places = np.unique(np.column_stack([x, y]), axis=0).astype(int)
        begins = np.flatnonzero(
            np.r_[True, (np.diff(places[:, 0]) != 0) | (np.diff(places[:, 1]) > _TOUCHING)]
        )
        lengths = places[np.r_[begins[1:] - 1, len(places) - 1], 1] - places[begins, 1]
        path = "".join(
            f"M{a} {b}v{length}"
            for (a, b), length in zip(places[begins].tolist(), lengths.tolist(), strict=True)
        )
        parts.append(
            f"<path d='{path}' stroke='{color}' stroke-width='3' stroke-linecap='round' "
            "fill='none'/>"
        )
    return parts


def _chromosomes(genome: _Genome, base: float) -> list[str]:
    parts, last = [_line(LEFT, base, WIDTH - RIGHT, base, QUIET)], -np.inf
    several = genome.order if len(genome.order) > 1 else []
    for name, begin, end in zip(several, genome.ends, genome.ends[1:], strict=False):
        middle = float(begin + end) / 2
        if middle - last >= 8 + 6 * len(name):  # a label beside the one before
            more = " text-anchor='middle'"
            parts.append(_text(middle, base + 17, name, fill=QUIET, more=more))
            last = middle
    for place, label in genome.ticks():
        parts.append(_line(place, base, place, base + 5, QUIET))
        parts.append(_text(place, base + 17, label, fill=QUIET, more=" text-anchor='middle'"))
    word = "chromosome" if len(genome.order) > 1 else f"position on chromosome {genome.order[0]}"
    more = " text-anchor='end'"
    return [*parts, _text(WIDTH - RIGHT, base + 32, word, fill=QUIET, more=more)]


def _chosen(
    genome: _Genome,
    variants: NDArray[np.void],
    chosen: IndexArray,
    scores: FloatArray,
    top: float,
    effect: FloatArray,
) -> list[str]:
    """Return the chosen variants with their names above, led to their points by lines."""
    x, y = genome.x[chosen], TOP + UPPER * (1 - scores[chosen] / top)
    named = np.sort(np.argsort(-scores[chosen], kind="stable")[:NAMED])
    at = dict(zip(named.tolist(), _spread(x[named]), strict=True))
    lines, dots = [], []
    for i in range(chosen.size):
        color = MORE if effect[i] >= 0 else LESS
        dots.append(_dot(x[i], y[i], color))
        if i not in at:
            continue
        place, foot = at[i], TOP - 20
        lines.append(
            f"<path d='M{x[i]:.1f} {y[i]:.1f}V{TOP - 6}L{place:.1f} {foot}' stroke='{color}' "
            "stroke-opacity='0.45' fill='none'/>"
        )
        name = str(variants["name"][chosen[i]])
        name = name if len(name) <= 16 else name[:15] + "…"
        turned = f" transform='rotate(-58 {place + 3:.1f} {foot - 4})'"
        dots.append(_text(place + 3, foot - 4, name, weight=500, more=turned))
    return [*lines, *dots]


def _spread(x: FloatArray) -> list[float]:
    """Return ascending places for labels at least `LINE` apart, near to theirs."""
    gap = min(LINE, (WIDTH - RIGHT - 40 - LEFT) / max(len(x), 1))
    blocks: list[list[float]] = []  # sum of what the places less their gaps should be, and how many
    for i, place in enumerate(x.tolist()):
        blocks.append([place - i * gap, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    own = [total / count for total, count in blocks for _ in range(int(count))]
    low, high = float(LEFT), WIDTH - RIGHT - 40 - gap * (len(own) - 1)
    return [min(max(place, low), max(low, high)) + i * gap for i, place in enumerate(own)]


def _effects(x: Sequence[float] | FloatArray, effect: FloatArray, begin: float) -> list[str]:
    middle, reach = begin + LOWER / 2, LOWER / 2 - 6
    largest = float(np.abs(effect).max(initial=0.0))
    turned = f" text-anchor='middle' transform='rotate(-90 18 {middle:.1f})'"
    parts = [_text(18, middle, "coefficient", fill=QUIET, more=turned)]
    for share in (-1.0, 0.0, 1.0):
        y = middle - share * reach
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y, QUIET if share == 0 else GRID))
        words = f"{largest * share:+.2g}" if share else "0"
        parts.append(_text(LEFT - 8, y + 4, words, fill=QUIET, more=" text-anchor='end'"))
    for place, value in zip(np.asarray(x).tolist(), effect.tolist(), strict=True):
        end = middle - reach * value / (largest or 1.0)
        color = MORE if value >= 0 else LESS
        parts += [_line(place, middle, place, end, color, 2.0), _dot(place, end, color, 3.4)]
    return parts


__all__ = ["drawn", "genome_view"]
