"""Figures of a page: the displays of `plotting` as SVG that a strict policy lets through."""

from __future__ import annotations

import copy
import io
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay
from sklearn.utils import _safe_indexing

from ...core import validation as validate
from ...core.messages import show
from ...core.types import FloatArray
from ...estimators import BudgetClassifier, BudgetSurvivalAnalysis
from ...estimators.folds import splits
from ...estimators.held_out import CrossValidation
from ...export.formats import as_model, labels, positive
from ...plotting import (
    CoefficientsDisplay,
    KaplanMeierDisplay,
    ManhattanDisplay,
    NearOptimalDisplay,
    ProofDisplay,
    SizesDisplay,
    StabilityDisplay,
    SupportsDisplay,
)
from ...plotting.drawing import COLOURS, LONGEST_NAME, pyplot
from ..documents.data import feature_name
from ..documents.trust import CountedUnits
from .elements import NAME, Figure

if TYPE_CHECKING:
    from ...inference.stability import StabilitySelection
    from ...inspection.alternatives import NearOptimal
    from ...io.input import Samples
    from ..documents.trust import Evidence

_BARS, _OTHERS = 20, 8  # features of the model with a bar, and others
_ROWS = 24  # features of nearly optimal lists with a row
_LISTS = 100  # nearly optimal ones with a column
_WIDE = 8.0  # inches from which a figure takes the whole width of the page
_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
# What matplotlib says once for all elements, in a style element.
_COMMON = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
_LOOKS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "zeronorm",
    "font.family": ["DejaVu Sans"],
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "figure.dpi": 150,  # of the image that the points of many variants are
}
_DIGITS = re.compile(r"-?\d+\.\d{3,}")
_FONT = re.compile(r"(?P<size>[\d.]+)px")


_Drawing: TypeAlias = tuple[str, str, Callable[[], Any]]


def figures_of(
    estimator: Any,
    samples: Samples,
    validation: CrossValidation | None,
    evidence: Evidence,
) -> list[Figure]:
    """Return the figures that there are for a model."""
    plt = pyplot()
    found: list[Figure] = []
    cycle = {"axes.prop_cycle": plt.cycler(color=COLOURS)}  # of scikit-learn's displays
    with plt.rc_context(_LOOKS | cycle):
        for section, caption, draw in _drawings(estimator, samples, validation, evidence):
            figure = draw().figure_
            svg = _inline(_written(figure), f"figure{len(found)}", caption)
            found.append(Figure(section, caption, svg, wide=figure.get_figwidth() > _WIDE))
            plt.close(figure)
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
) -> Iterator[_Drawing]:
    paths, size, X = estimator._paths, estimator.size_, samples.table.X
    named, units = _named(estimator, samples), CountedUnits.of(estimator, samples.table)
    plain = not any(isinstance(one, tuple) for one in paths[0])
    model = as_model(named)
    caption = "The coefficients of the model, for one standard deviation of each feature"
    if len(labels(model)) == 2:
        caption += f"; positive speaks for {show(str(labels(model)[positive(model)]), NAME)}"
    yield "features", caption, lambda: CoefficientsDisplay.from_estimator(model, X)
    if samples.table.variants is not None:
        yield (
            "features",
            "Every variant by its correlation with the target; selected variants by name",
            lambda: ManhattanDisplay.from_estimator(
                estimator, X, samples.y, variants=samples.table.variants,
                offset=samples.response.offset,
            ),
        )  # fmt: skip
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
        yield from _held_out(estimator, samples, validation.scores.shape[1])
    if evidence.halves is not None:
        yield _half_samples(evidence.halves, estimator, samples)
    if len(evidence.proofs) == 1 and len(evidence.proofs[0].history) > 1:
        text = "The search for a better list: the best one found, and the bound of all others"
        yield "sure", text, lambda: ProofDisplay.from_proof(evidence.proofs[0])
    for near in evidence.near:
        yield _near_optimal(near, units)


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


def _near_optimal(near: NearOptimal, units: CountedUnits) -> _Drawing:
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


def _held_out(estimator: Any, samples: Samples, folds: int) -> Iterator[_Drawing]:
    """Yield what there is to draw of samples that are held out; the models are fitted anew."""
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
        label = estimator.classes_[1]
        text = (
            f"Held-out probabilities of {show(str(label), NAME)}, all folds together: how they "
            "rank the samples (ROC curve; precision and recall), and how often samples of a "
            "predicted probability have this class (calibration, in five bins of equal size)"
        )
        yield "new", text, lambda: _curves(one, samples, folds, label)


def _curves(model: Any, samples: Samples, folds: int, label: Any) -> CalibrationDisplay:
    """Draw ROC, precision-recall and calibration curves, side by side; return the last display."""
    positive = np.asarray(samples.y) == label
    p = _held_out_probability(model, samples, folds, label)
    _, (roc, recall, calibration) = pyplot().subplots(
        1, 3, figsize=(10.5, 3.6), layout="constrained"
    )
    common: dict[str, Any] = {"name": "held out"}
    chance: dict[str, Any] = {**common, "plot_chance_level": True, "despine": True}
    RocCurveDisplay.from_predictions(positive, p, ax=roc, **chance)
    PrecisionRecallDisplay.from_predictions(positive, p, ax=recall, **chance)
    display = CalibrationDisplay.from_predictions(
        positive, p, n_bins=5, strategy="quantile", ax=calibration, **common
    )
    calibration.spines[["top", "right"]].set_visible(False)
    calibration.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")  # as of the others
    names = (("false positive rate", "true positive rate"), ("recall", "precision"),
             ("predicted probability", "observed frequency"))  # fmt: skip
    for ax, (below, left) in zip((roc, recall, calibration), names, strict=True):
        ax.set(xlabel=below, ylabel=left)
        ax.legend(fontsize="small", loc="best", edgecolor="none")
    return display


def _held_out_probability(model: Any, samples: Samples, folds: int, label: Any) -> FloatArray:
    """Return the probability of a class for every sample, by models of the other folds, (n,).

    `cross_val_predict` would number the classes, so that weights of classes by name are lost.
    """
    X, y = samples.table.X, np.asarray(samples.y)
    groups = validate.check_groups(samples.response.groups, y.size)
    found = np.zeros(y.size)
    for train, test in splits(y, np.ones(y.size), folds, 0, groups=groups):
        given = {} if groups is None else {"groups": groups[train]}
        fitted = clone(model).fit(_safe_indexing(X, train), y[train], **given)
        found[test] = fitted.predict_proba(_safe_indexing(X, test)) @ (fitted.classes_ == label)
    return found


def _named(estimator: Any, samples: Samples) -> Any:
    """Return the estimator with the names that its features have in the table."""
    names = samples.table.feature_names
    if names is not None and not hasattr(estimator, "feature_names_in_"):
        estimator = copy.copy(estimator)
        estimator.feature_names_in_ = np.asarray(names, object)
    return estimator


def _inline(data: bytes, prefix: str, title: str) -> str:
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
