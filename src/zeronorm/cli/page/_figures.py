"""Figures of a page: the displays of `zeronorm.plots` as SVG that a strict policy lets through."""

from __future__ import annotations

import copy
import io
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from ...estimators import BudgetClassifier, BudgetSurvivalAnalysis
from ...model_selection import CrossValidation
from ...plots import (
    CoefficientsDisplay,
    HeldOutDisplay,
    KaplanMeierDisplay,
    ProofDisplay,
    SizesDisplay,
    SupportsDisplay,
)
from ...plots._drawing import pyplot
from ...result import Proof

if TYPE_CHECKING:
    from .._selection import Samples

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


def check_matplotlib() -> None:
    """Raise ImportError, which says what to install, where there is no matplotlib."""
    pyplot()


def figures_of(
    estimator: Any,
    samples: Samples,
    validation: CrossValidation | None,
    proofs: list[Proof],
) -> list[tuple[str, str]]:
    """Return the figures that there are for a model: a sentence for each, and the SVG."""
    plt = pyplot()
    found: list[tuple[str, str]] = []
    with plt.rc_context(_LOOKS):
        for caption, draw in _drawings(estimator, samples, validation, proofs):
            figure = draw().figure_
            file = io.BytesIO()
            figure.savefig(file, format="svg", metadata={"Date": None})
            plt.close(figure)
            found.append((caption, inline(file.getvalue(), f"figure{len(found)}", caption)))
    return found


def _drawings(
    estimator: Any, samples: Samples, validation: CrossValidation | None, proofs: list[Proof]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what there is to draw."""
    paths, size, X = estimator._paths, estimator.size_, samples.table.X
    sizes = list(paths[0])
    plain = not any(isinstance(one, tuple) for one in sizes)
    if plain and len(sizes) > 1:
        if validation is not None:
            text = "The score on held-out rows by the number of features"
            yield text, lambda: SizesDisplay.from_validation(validation, chosen=size, paths=paths)
        yield (
            "Which features the models of each size have",
            lambda: SupportsDisplay.from_estimator(_named(estimator, samples)),
        )
    yield (
        "The coefficients of the model, for one standard deviation of each feature",
        lambda: CoefficientsDisplay.from_estimator(_named(estimator, samples), X),
    )
    if len(proofs) == 1 and len(proofs[0].history) > 1:
        text = "The search for a better list: the best one found, and the bound of all others"
        yield text, lambda: ProofDisplay.from_proof(proofs[0])
    if validation is not None:
        yield from _held_out(estimator, samples, validation.scores.shape[1], size)


def _held_out(
    estimator: Any, samples: Samples, folds: int, size: Any
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what there is to draw of rows that are held out; the models are fitted anew."""
    from sklearn.base import clone

    X, y = samples.table.X, samples.y
    one = clone(estimator)
    if isinstance(estimator, BudgetSurvivalAnalysis) and "start" not in y.dtype.names:
        one.set_params(n_features=int(size))
        yield (
            "Survival of rows by the risk that models of the other folds give them",
            lambda: KaplanMeierDisplay.from_estimator(one, X, y, cv=folds),
        )
    if (
        type(estimator) is BudgetClassifier
        and len(estimator.classes_) == 2
        and not isinstance(size, tuple)
    ):
        one.set_params(n_features=int(size), criterion=None)
        yield (
            "Probabilities of rows by models of the other folds: how they rank, and whether they "
            "mean what they say",
            lambda: HeldOutDisplay.from_estimator(
                one, X, y, cv=folds, panels=("roc", "reliability")
            ),
        )


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
