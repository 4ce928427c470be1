"""Figures of a page: the displays of `zeronorm.plots` as SVG that a strict policy lets through."""

from __future__ import annotations

import copy
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from xml.etree import ElementTree

import numpy as np

from ...estimators import BudgetClassifier, BudgetSurvivalAnalysis
from ...export._model import as_model, labels, positive
from ...model_selection import CrossValidation
from ...persistence import LoadedClassifier, LoadedModel
from ...plots import (
    CoefficientsDisplay,
    GenomeDisplay,
    GroupsDisplay,
    HeldOutDisplay,
    KaplanMeierDisplay,
    NearOptimalDisplay,
    ProofDisplay,
    SizesDisplay,
    StabilityDisplay,
    SupportsDisplay,
    WaterfallDisplay,
)
from ...plots._drawing import INK, LONGEST_NAME, pyplot
from .._messages import show
from ..documents._data import feature_name
from ..documents._units import Units
from ._cells import NAME

if TYPE_CHECKING:
    from ...near_optimal import NearOptimal
    from ...stability import StabilitySelection
    from .._selection import Samples
    from ..documents._trust import Evidence

_MOST_PARTS = 20_000_000  # numbers that the scores of all samples may take
_NEIGHBOURS = 400  # variants that a picture around one of them has
_BARS, _OTHERS = 20, 8  # features of the model with a bar, and others
_ROWS = 24  # features of nearly optimal lists with a row
_LISTS = 100  # nearly optimal ones with a column

_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
# What matplotlib says once for all elements, in a style element.
_COMMON = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
_LOOKS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "zeronorm",
    "font.family": ["DejaVu Sans"],
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}
_DIGITS = re.compile(r"-?\d+\.\d{3,}")
_FONT = re.compile(r"(?P<size>[\d.]+)px")


class Figure(NamedTuple):
    """A figure of a page: the section in which it stands, what it shows, and its SVG."""

    section: str
    caption: str
    svg: str
    wide: bool = False  # whether it needs all of the width


_Drawing: TypeAlias = tuple[str, str, Callable[[], Any]]


def figures_of(
    estimator: Any,
    samples: Samples,
    validation: CrossValidation | None,
    evidence: Evidence,
    document: Mapping[str, Any],
) -> list[Figure]:
    """Return the figures that there are for a model, that of its document."""
    plt = pyplot()
    found: list[Figure] = []
    with plt.rc_context(_LOOKS):
        for section, caption, draw in _drawings(estimator, samples, validation, evidence, document):
            display = draw()
            prefix = f"figure{len(found)}"
            if isinstance(display, GenomeDisplay):
                svg = inline(display.svg.encode(), prefix, caption)
                found.append(Figure(section, caption, svg, wide=True))
                continue
            figure = display.figure_
            svg = inline(_written(figure), prefix, caption)
            plt.close(figure)
            found.append(Figure(section, caption, svg))
    return found


def _written(figure: Any) -> bytes:
    """Return a figure as SVG, laid out and drawn once; `savefig` would do both twice."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    layout = figure.get_layout_engine()
    if layout is not None:
        layout.set(w_pad=0.1)  # inches; fonts of browsers are a little wider
        layout.execute(figure)
        figure.set_layout_engine("none")
    file = io.BytesIO()
    canvas: Any = FigureCanvasSVG(figure)
    canvas.print_svg(file, metadata={"Date": None})
    return file.getvalue()


def _drawings(
    estimator: Any,
    samples: Samples,
    validation: CrossValidation | None,
    evidence: Evidence,
    document: Mapping[str, Any],
) -> Iterator[_Drawing]:
    """Yield what there is to draw."""
    paths, size, X = estimator._paths, estimator.size_, samples.table.X
    named, units = _named(estimator, samples), Units.of(estimator, samples.table)
    (own,) = (one for one in document["models"] if one["size"] == document["chosen"])
    threshold = own["threshold"]  # None: from 0.5
    plain = not any(isinstance(one, tuple) for one in paths[0])
    model = as_model(named)
    model = replace(model, metadata={**model.metadata, "threshold": threshold})
    if model.metadata["feature_groups"] is not None:
        text = "How much each group of features moves the scores"
        yield "features", text, lambda: GroupsDisplay.from_estimator(model, X)
    caption = "The coefficients of the model, for one standard deviation of each feature"
    if len(labels(model)) == 2:
        caption += f"; positive speaks for {show(str(labels(model)[positive(model)]), NAME)}"
    yield "features", caption, lambda: CoefficientsDisplay.from_estimator(model, X)
    yield from _one_sample(model, samples, threshold)
    if samples.table.variants is not None:
        yield from _genome(estimator, samples)
    if plain and len(paths[0]) > 1:
        yield (
            "features",
            "Which features the models of each size have",
            lambda: SupportsDisplay.from_estimator(named),
        )
        if validation is not None:
            text = (
                f"The score on held-out samples by the number of {units.kind}, with a band of one "
                "standard error; below what is certified of the lists"
            )
            yield (
                "new",
                text,
                lambda: SizesDisplay.from_validation(
                    validation, chosen=size, paths=paths, unit=units.kind
                ),
            )
    if validation is not None:
        yield from _held_out(estimator, samples, validation.scores.shape[1], threshold)
    if evidence.halves is not None:
        yield _half_samples(evidence.halves, estimator, samples)
    if len(evidence.proofs) == 1 and len(evidence.proofs[0].history) > 1:
        text = "The search for a better list: the best one found, and the bound of all others"
        yield "sure", text, lambda: ProofDisplay.from_proof(evidence.proofs[0])
    for near in evidence.near:
        yield _near_optimal(near, units)


def _one_sample(
    model: LoadedModel, samples: Samples, threshold: Mapping[str, Any] | None
) -> Iterator[_Drawing]:
    """Yield the sample that the model is least sure of; of numbers that of the highest score."""
    X = samples.table.X
    if X.shape[0] * model.coef.size > _MOST_PARTS:
        return
    scores = model._values(X) @ model.coef.T
    if isinstance(model, LoadedClassifier) and model.intercept_.size == len(model.coef):
        scores = np.sort(scores + model.intercept_, axis=1)
        cut = 0.0
        if threshold is not None:
            cut = model.cut
        single = scores.shape[1] == 1
        lead = np.abs(scores[:, 0] - cut) if single else scores[:, -1] - scores[:, -2]
        row, what = int(lead.argmin()), "that it is least sure of"
    else:
        row, what = int(scores[:, 0].argmax()), "of the highest score"
    names = samples.table.sample_names
    name = f"number {row + 1}" if names is None else show(names[row], NAME)
    yield (
        "features",
        f"How the model comes to its score of one sample, the one {what} ({name})",
        lambda: WaterfallDisplay.from_estimator(model, X, row, reference=X),
    )


def _genome(estimator: Any, samples: Samples) -> Iterator[_Drawing]:
    """Yield the variants along the genome, and around the chosen one of the highest score."""
    variants = samples.table.variants
    whole = GenomeDisplay.from_estimator(
        estimator, samples.table.X, samples.y, variants=variants, offset=samples.response.offset
    )
    yield (
        "features",
        "Every variant by its correlation with the target, and the coefficients of the chosen ones",
        lambda: whole,
    )
    chosen = estimator.support_[estimator.support_ < len(whole.variants)]
    if chosen.size and len(whole.variants) > _NEIGHBOURS:
        first = int(chosen[np.argmax(whole.scores[chosen])])
        name = show(str(whole.variants["name"][first]), NAME)
        yield (
            "features",
            f"The same around {name}, the chosen variant of the highest correlation",
            lambda: whole.zoomed(first),
        )


def _half_samples(halves: StabilitySelection, estimator: Any, samples: Samples) -> _Drawing:
    """Return how often half-samples choose the features of the model, and the first of others."""
    stability, caption = halves.stability_, "How many of the half-samples choose each feature"
    if stability.unit != "features":
        return "sure", caption, lambda: StabilityDisplay.from_estimator(halves)
    order = np.argsort(-stability.frequency, kind="stable")
    most = stability.features[order]
    own = np.setdiff1d(estimator.support_, estimator.forced_features or [])
    others = most[~np.isin(most, own)][:_OTHERS]
    place = {int(j): at for at, j in enumerate(most)}
    own = np.array(sorted(own.tolist(), key=lambda j: place.get(j, most.size)))[:_BARS]
    features = np.concatenate([own, others]).astype(np.int64)
    names = [feature_name(samples.table, int(j)) for j in features]
    names[own.size :] = [f"({name[: LONGEST_NAME - 2]})" for name in names[own.size :]]
    caption += (
        ": first those of the model, then, in brackets, others that are chosen most often. Below, "
        "how many reach each threshold, and how many of these may be chance"
    )
    return (
        "sure",
        caption,
        lambda: StabilityDisplay.from_stability(
            stability, threshold=halves.threshold_, features=features, names=names
        ),
    )


def _near_optimal(near: NearOptimal, units: Units) -> _Drawing:
    """Return the lists that are nearly as good, of groups as of features."""
    names: Any = None
    if near.supports.dtype.kind in "iu":  # also the labels of some groups
        names = {int(one): units.name(one) for one in np.unique(near.supports)}
    return (
        "instead",
        "The lists that are nearly as good, a column each, the best one first: their "
        f"{units.kind}, and above by how much their objective is worse",
        lambda: NearOptimalDisplay.from_near_optimal(
            near, feature_names=names, n_drawn=_LISTS, n_rows=_ROWS
        ),
    )


def _held_out(
    estimator: Any, samples: Samples, folds: int, threshold: Mapping[str, Any] | None
) -> Iterator[_Drawing]:
    """Yield what there is to draw of samples that are held out; the models are fitted anew."""
    from sklearn.base import clone

    size, X, y = estimator.size_, samples.table.X, samples.y
    one, given = clone(estimator), {"cv": folds, "groups": samples.response.groups}
    if isinstance(estimator, BudgetSurvivalAnalysis) and "start" not in y.dtype.names:
        one.set_params(n_features=int(size))
        yield (
            "new",
            "Survival of samples by the risk that models of the other folds give them",
            lambda: KaplanMeierDisplay.from_estimator(one, X, y, **given),
        )
    if (
        type(estimator) is BudgetClassifier
        and len(estimator.classes_) == 2
        and not isinstance(size, tuple)
    ):
        one.set_params(n_features=int(size), criterion=None)
        text = (
            "Probabilities of samples by models of the other folds: how they rank them, whether "
            "they mean what they say, and what acting on them brings. All folds together, where "
            "the scores are means over them"
        )
        positive = 1
        if threshold is not None:
            positive = threshold["positive"]
            text += ". The vertical line is from where on the model acts"
        label = estimator.classes_[positive]

        def draw() -> HeldOutDisplay:
            shown = HeldOutDisplay.from_estimator(
                one, X, y, **given, pos_label=label,
                panels=("roc", "precision_recall", "reliability", "decision"),
            )  # fmt: skip
            if threshold is not None and threshold["probability"] is not None:
                shown.axes_["decision"].axvline(threshold["probability"], color=INK, linewidth=1)
            return shown

        yield "new", text, draw


def _named(estimator: Any, samples: Samples) -> Any:
    """Return the estimator with the names that its features have in the table."""
    names = samples.table.feature_names
    if names is not None and not hasattr(estimator, "feature_names_in_"):
        estimator = copy.copy(estimator)
        estimator.feature_names_in_ = np.asarray(names, object)
    return estimator


def inline(data: bytes, prefix: str, title: str) -> str:
    """Return the SVG of matplotlib for a page: no style but attributes, ids of its own.

    A policy without 'unsafe-inline' forbids `style` attributes, and gradients, clips and markers
    of several figures on one page would find each other's ids.
    """
    root = ElementTree.fromstring(data)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        _plain(element, prefix)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {**_COMMON, "role": "img", "aria-label": title}
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        element.tail = None
        if element.tag != "text":
            element.text = None
    root.set("xmlns", _SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _plain(element: ElementTree.Element, prefix: str) -> None:
    """Make the attributes of an element ones that a page may have."""
    attributes = element.attrib
    for declaration in filter(None, attributes.pop("style", "").split(";")):
        name, _, value = declaration.partition(":")
        name, value = name.strip(), value.strip()
        if name == "font":
            size = _FONT.search(value)
            name, value = "font-size", size["size"] if size else "10"
        if name != "font-family":
            attributes[name] = value
    link = attributes.pop(f"{{{_LINK}}}href", None)
    if link is not None:
        attributes["href"] = link
    for name, value in list(attributes.items()):
        if name == "id":
            attributes[name] = f"{prefix}-{value}"
        elif name == "href":
            attributes[name] = value.replace("#", f"#{prefix}-")
        elif "url(#" in value:
            attributes[name] = value.replace("url(#", f"url(#{prefix}-")
        elif name in ("d", "transform", "x", "y", "points"):
            rounded = _DIGITS.sub(lambda number: f"{float(number[0]):.2f}", value)
            attributes[name] = " ".join(rounded.split())
