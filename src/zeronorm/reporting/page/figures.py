"""Figures of a page: the displays of `plotting`, as SVG in images."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

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
from ...inference.stability import expected_low
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
from ...plotting.drawing import COLOURS, LONGEST_NAME, MOST_ROWS, pyplot, text
from ...plotting.manhattan import correlations
from ..documents.trust import Question
from ..records import ModelFound, NearSets, Selected, SelectionFound, StabilityFound, Trust
from .elements import NAME, Figure

if TYPE_CHECKING:
    from ...core.results import Proof
    from ...io.input import Samples

_BARS, _OTHERS = 20, 8  # features of the model with a bar, and others
_ROWS = 24  # features of near-optimal sets with a row
_SETS = 100  # of them with a column
_WIDE = 8.0  # inches from which a figure takes the whole width of the page
_LOOKS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "zeronorm",
    "font.family": ["DejaVu Sans"],
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "figure.dpi": 150,  # of the image that the points of many variants are
}
_ATTRIBUTE, _DIGITS = re.compile('="[^"]*"'), re.compile(r"-?\d+\.\d{3,}")


_Drawing: TypeAlias = tuple[str, str, Callable[[], Any]]


def figures_of(question: Question, trust: Trust, proofs: list[Proof]) -> list[Figure]:
    """Return the figures that there are for a model.

    proofs : of the search for better features, where it was run now.
    """
    plt = pyplot()
    found: list[Figure] = []
    cycle = {"axes.prop_cycle": plt.cycler(color=COLOURS)}  # of scikit-learn's displays
    with plt.rc_context(_LOOKS | cycle):
        for section, caption, draw in _drawings(question, trust, proofs):
            figure = draw().figure_
            wide = figure.get_figwidth() > _WIDE
            found.append(Figure(section, caption, _written(figure), wide))
            plt.close(figure)
    return found


def _written(figure: Any) -> str:
    """Return a figure as a data URI, laid out and drawn once; `savefig` would do both twice."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    layout = figure.get_layout_engine()
    if layout is not None:
        layout.set(w_pad=0.1)  # inches; fonts of browsers are a little wider
        layout.execute(figure)
        figure.set_layout_engine("none")
    file = io.BytesIO()
    canvas: Any = FigureCanvasSVG(figure)
    canvas.print_svg(file, metadata={"Date": None})
    svg = _ATTRIBUTE.sub(lambda one: _DIGITS.sub(_rounded, one[0]), file.getvalue().decode())
    svg = svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}"


def _drawings(question: Question, trust: Trust, proofs: list[Proof]) -> Iterator[_Drawing]:
    selection, chosen, samples = question.selection, question.chosen, question.samples
    unit = trust.unit
    caption = "The coefficients of the model, for one standard deviation of each feature"
    if len(selection.classes) == 2 and chosen.features[0].label is not None:
        caption += f"; positive favours {show(str(chosen.features[0].label), NAME)}"
    yield "features", caption, lambda: _coefficients(selection, chosen)
    if samples.table.variants is not None:
        caption = "Every variant by its correlation with the target; selected variants by name"
        yield "features", caption, lambda: _manhattan(question)
    sizes = [model.size for model in selection.models]
    if len({*sizes}) > 1:
        caption = "Which features the models of each size have"
        yield "features", caption, lambda: _supports(selection, unit)
        if all(model.cross_validation is not None for model in selection.models):
            caption = (
                f"The score on held-out samples by the number of {unit}, with a band of one "
                "standard error; below what is certified of the feature sets"
            )
            yield "new", caption, lambda: _sizes(selection, unit)
    if chosen.cross_validation is not None:
        yield from _held_out(question, chosen.cross_validation.folds)
    if trust.stability is not None:
        yield _half_samples(trust.stability)
    if len(proofs) == 1 and len(proofs[0].history) > 1:
        caption = "The search for better features: the best set found, and the bound of all others"
        yield "sure", caption, lambda: ProofDisplay.from_proof(proofs[0])
    for near in trust.near or ():
        caption = (
            f"The near-optimal feature sets, a column each, the best one first: their {unit}, and "
            "above by how much their objective is worse"
        )
        yield "instead", caption, partial(_near_optimal, near, unit)


def _coefficients(selection: SelectionFound, model: ModelFound) -> CoefficientsDisplay:
    """Draw the coefficients of a model, of covariates too, for one standard deviation."""
    labels = list(dict.fromkeys(row.label for row in model.features))
    outputs = selection.outputs or labels
    features: dict[str, list[float]] = {}
    for row in (*model.features, *model.covariates):
        own = features.setdefault(row.name, [0.0] * len(outputs))
        if isinstance(row.coefficient_per_sd, list):
            own[:] = row.coefficient_per_sd
        else:
            own[labels.index(row.label)] = row.coefficient_per_sd
    names = sorted(features, key=lambda name: -max(map(abs, features[name])))
    kept = names[:MOST_ROWS]
    return CoefficientsDisplay(
        names=[text(name) for name in kept],
        coef=np.array([features[name] for name in kept]).T,
        outputs=[text(str(one)) for one in outputs],
        unit="coefficient per standard deviation",
        n_left_out=len(names) - len(kept),
    ).plot()


def _manhattan(question: Question) -> ManhattanDisplay:
    samples, variants = question.samples, question.samples.table.variants
    p = len(variants)  # type: ignore[arg-type]
    found: dict[int, float] = {}
    for row in question.chosen.features:
        values = row.coefficient if isinstance(row.coefficient, list) else [row.coefficient]
        if row.index < p:
            found[row.index] = max([found.get(row.index, 0.0), *values], key=abs)
    selected = sorted(found)
    scores = correlations(
        question.estimator, samples.table.X, samples.y, samples.response.offset
    )[:p]  # fmt: skip
    coef = [found[j] for j in selected]
    return ManhattanDisplay(variants=variants, scores=scores, selected=selected, coef=coef).plot()


def _supports(selection: SelectionFound, unit: str) -> SupportsDisplay:
    """Draw which features the models of each size have, of several classes those of the first."""
    first = selection.models[0].features[0].label
    names: dict[str, dict[int, float]] = {}
    for model in selection.models:
        for row in sorted(model.features, key=lambda row: row.index):
            if row.label == first:
                names.setdefault(row.name, {})[model.size] = _sign(row)
    order = sorted(names, key=lambda name: (-len(names[name]), min(names[name])))
    kept, sizes = order[:MOST_ROWS], [model.size for model in selection.models]
    return SupportsDisplay(
        sizes=sizes,
        names=[text(name) for name in kept],
        signs=[[names[name].get(size, 0.0) for size in sizes] for name in kept],
        n_left_out=len(order) - len(kept),
        unit=unit,
    ).plot()


def _sign(row: Selected) -> float:
    return 2.0 if isinstance(row.coefficient, list) else float(np.sign(row.coefficient))


def _sizes(selection: SelectionFound, unit: str) -> SizesDisplay:
    """Draw the held-out score that compares the sizes, and what is certified of them."""
    models = selection.models
    held = [one.cross_validation for one in models if one.cross_validation is not None]
    by = held[0].deviance_name
    known = [one for one in held if one.deviance is not None and one.deviance_error is not None]
    by_loss = by is not None and len(known) == len(held) and models[0].measure is None
    certified = [[one for one in model.certificates if one is not None] for model in models]
    sums = None
    if all(len(own) == len(one.certificates) for own, one in zip(certified, models, strict=True)):
        sums = [(sum(c.objective for c in own), sum(c.bound for c in own)) for own in certified]
    return SizesDisplay(
        sizes=[model.size for model in models],
        mean=[-one.deviance for one in known] if by_loss else [one.mean for one in held],  # type: ignore[operator]
        standard_error=[one.deviance_error if by_loss else one.standard_error for one in held],
        baseline=-(held[0].baseline_deviance or 0.0) if by_loss else held[0].baseline,
        measure=str(by) if by_loss else models[0].measure or selection.score,
        chosen=selection.chosen,
        objective=None if sums is None else [one for one, _ in sums],
        bound=None if sums is None else [one for _, one in sums],
        unit=unit,
    ).plot()


def _half_samples(found: StabilityFound) -> _Drawing:
    """Return how often half-samples choose the features of the model, and the first of others."""
    own = [row for row in found.features if row.in_model][:_BARS]
    others = [row for row in found.features if not row.in_model and row.frequency][:_OTHERS]
    drawn = [*own, *others]
    names = [text(row.name) for row in own]
    names += [text(f"({row.name[: LONGEST_NAME - 2]})") for row in others]
    n = 2 * found.n_pairs
    thresholds = np.arange(n // 2 + 1, n + 1) / n
    q, p = found.n_chosen, found.n_candidates
    shares = np.array([row.frequency for row in found.features])
    caption = (
        f"How many of the half-samples choose each {found.unit[:-1]}: first those of the model, "
        "then, in brackets, others that are chosen most often. Below, how many reach each "
        "threshold, and how many of these may be chance"
    )
    return "sure", caption, lambda: StabilityDisplay(
        names=names,
        frequency=[row.frequency for row in drawn],
        simultaneous=[row.by_both for row in drawn],
        threshold=found.threshold,
        thresholds=thresholds,
        n_stable=[int((shares >= tau - 1e-9).sum()) for tau in thresholds],
        expected_low=[
            expected_low(q, p, tau, found.n_pairs, q / p, "none") for tau in thresholds.tolist()
        ],
        unit=found.unit,
        n_left_out=int((shares > 0).sum()) - sum(row.frequency > 0 for row in drawn),
    ).plot()  # fmt: skip


def _near_optimal(near: NearSets, unit: str) -> NearOptimalDisplay:
    """Draw near-optimal sets, of groups as of features."""
    drawn, rows = near.lists[:_SETS], near.features[:_ROWS]
    return NearOptimalDisplay(
        names=[text(row.name) for row in rows],
        present=[[row.name in one.features for one in drawn] for row in rows],
        excess=[one.worse_by for one in drawn],
        k=len(near.lists[0].features),
        within=near.within,
        complete_within=near.complete_within,
        n_left_out=len(near.features) - len(rows),
        counts=[row.n_lists for row in rows],
        n_supports=len(near.lists),
        unit=unit,
    ).plot()


def _held_out(question: Question, folds: int) -> Iterator[_Drawing]:
    """Yield what there is to draw of samples that are held out, by models of the other folds."""
    estimator, samples, chosen = question.estimator, question.samples, question.chosen
    size, X, y = chosen.size, samples.table.X, samples.y
    one, given = clone(estimator), {"cv": folds, "groups": samples.response.groups}
    if isinstance(estimator, BudgetSurvivalAnalysis) and "start" not in y.dtype.names:
        one.set_params(n_features=size)
        yield (
            "new",
            "Survival of samples by the risk that models of the other folds give them",
            lambda: KaplanMeierDisplay.from_estimator(one, X, y, **given),
        )
    if (
        type(estimator) is BudgetClassifier
        and len(question.selection.classes) == 2
        and chosen.n_groups is None
    ):
        one.set_params(n_features=size, criterion=None)
        label = np.unique(y)[1]
        caption = (
            f"Held-out probabilities of {show(str(label), NAME)}, all folds together: how they "
            "rank the samples (ROC curve; precision and recall), and how often samples of a "
            "predicted probability have this class (calibration, in five bins of equal size)"
        )
        yield "new", caption, lambda: _curves(one, samples, folds, label)


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
