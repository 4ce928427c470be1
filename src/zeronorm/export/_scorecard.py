"""A model as a scorecard: whole points for each feature, and what their sum means."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..persistence import LinearModel, LoadedClassifier, LoadedModel
from ..validate import check_iterations
from ._model import (
    as_model,
    cut,
    feature_names,
    labels,
    link_of,
    positive,
    sign,
    single,
    thresholds,
)  # fmt: skip

ROWS = 12  # of a table, about
ENDS = 4.6  # log-odds of 99%: a table without data goes as far
STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a scorecard differs from its model on some rows."""

    n_samples: int
    score: float  # the largest difference of scores
    probability: float | None  # of probabilities; None: a model without
    same: float | None  # the share of rows of the same predicted class; of classes
    correlation: float | None  # of the scores of both; None where one is constant


@dataclass(frozen=True, slots=True)
class Scorecard:
    """points_j = round(coef_j / unit), and a score of base + unit * total.

    total = sum_j points_j x_j, or sum_j points_j x_j / scale_j with points per standard deviation.
    """

    features: tuple[str, ...]
    columns: tuple[int, ...]  # of the data, from 0
    points: tuple[int, ...]
    scale: tuple[float, ...] | None  # standard deviations; None: points per unit of the feature
    unit: float  # of the score, for a point
    base: float  # the score at a total of 0
    meaning: str  # of `table`
    table: tuple[tuple[int, float], ...]  # totals, and what they mean
    agreement: Agreement | None  # with the model, on the data that were given
    decision: str = ""  # of two classes with a threshold: which one from which score and total on

    def total(self, X: Any) -> FloatArray:
        """Return the sums of points, (n_samples,); X (n_samples, p) of the features of the card."""
        X = np.asarray(X, np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.points):
            raise ValueError(
                f"X must have the {len(self.points)} features of the scorecard; got the shape "
                f"{X.shape}."
            )
        scaled = X if self.scale is None else X / np.array(self.scale)
        found: FloatArray = scaled @ np.array(self.points, np.float64)
        return found

    def score(self, X: Any) -> FloatArray:
        """Return the scores, (n_samples,), base + unit * total."""
        return self.base + self.unit * self.total(X)

    def __str__(self) -> str:
        """Return the card as text."""
        per = "one unit" if self.scale is None else "one standard deviation"
        lines = [f"points for {per} of a feature: round(effect / {self.unit:.6g})", ""]
        width = max(map(len, self.features))
        for place, name in enumerate(self.features):
            of = "" if self.scale is None else f"   per {self.scale[place]:.6g}"
            lines.append(f"  {name:{width}}  {self.points[place]:+4d}{of}")
        lines += ["", f"score = {self.base:.6g} + {self.unit:.6g} * total points", ""]
        lines += [self.decision, ""] if self.decision else []
        lines.append(f"  total  {self.meaning}")
        shown = _shown if self.meaning.startswith("probability") else "{:.4g}".format
        lines += [f"  {total:5d}  {shown(value)}" for total, value in self.table]
        return "\n".join([*lines, "", *self._loss()]) + "\n"

    def _loss(self) -> list[str]:
        """Return what rounding has cost, in sentences."""
        left_out = sum(point == 0 for point in self.points)
        some = "1 feature is" if left_out == 1 else f"{left_out} features are"
        way = "let the largest effect have more points."
        if self.scale is None:
            way = "given data, points are for one standard deviation."
        lines = [f"{some} rounded to 0 points; {way}"] * (left_out > 0)
        if self.agreement is None:
            bound = "the feature" if self.scale is None else "the feature in standard deviations"
            return [
                *lines,
                f"Rounding moves the score by up to {self.unit / 2:.4g} times {bound}, for each "
                "feature;",
                "agreement with the model is not known without data.",
            ]
        agreement = self.agreement
        lines.append(f"Against the full model, on {agreement.n_samples:,} rows:")
        if agreement.same is not None:
            lines.append(f"  the same class for {agreement.same:.1%} of them")
        if agreement.probability is not None:
            lines.append(f"  probabilities differ by up to {agreement.probability:.3f}")
        lines.append(f"  scores differ by up to {agreement.score:.4g}")
        if agreement.correlation is not None:
            lines.append(f"  scores have a correlation of {agreement.correlation:.4f}")
        return lines


def to_scorecard(
    model: Any, *, points: int = 10, X: Any = None, per: str | None = None
) -> Scorecard:
    """Return a scorecard: whole points in place of coefficients.

    points_j = round(e_j / unit), unit = max_j |e_j| / points, where e_j is the coefficient, or with
    per="sd" that of a standard deviation. score = base + unit * total; base is the intercept, and
    with X it is moved so that the mean score stays what it was.

    Parameters
    ----------
    model : fitted estimator, or what `load` returns, of one score
        Of two classes, numbers, or survival times.
    points : int
        Of the feature of the largest effect.
    X : data as for `predict`, or None
        On them standard deviations are taken, and agreement with the model is measured.
    per : "unit", "sd" or None
        None: "sd" with X, else "unit".

    Raises
    ------
    ValueError
        For a model of several scores or without features, ordered classes, and per="sd" without X.
    """
    loaded = as_model(model)
    single(loaded, "a scorecard", "Export each class against the others, or as sql or json.")
    link = link_of(loaded)
    if link == "ordered logit":
        raise ValueError(
            "model must have two classes, numbers or survival times for a scorecard; got "
            f"{thresholds(loaded).size + 1} ordered classes. Export it as sql or json."
        )
    check_iterations("points", points)
    per = per or ("unit" if X is None else "sd")
    if per not in ("unit", "sd") or (per == "sd" and X is None):
        raise ValueError(
            f"per must be 'unit', or 'sd' with X, on which standard deviations are taken; got "
            f"{per!r}{' without X' if per == 'sd' else ''}."
        )
    turn = sign(loaded)  # towards the positive class
    coef = turn * loaded.coef[0]
    if not coef.any():
        raise ValueError("model must have a feature of a coefficient that is not 0; got none.")
    values = None if X is None else _values(loaded, X)
    scale = np.ones(coef.size)
    if per == "sd" and values is not None:
        deviation = values.std(axis=0)
        scale = np.where(deviation > 0, deviation, 1.0)
    effect = coef * scale
    unit = float(np.abs(effect).max()) / points
    rounded = np.rint(effect / unit).astype(np.int64)
    base = turn * float(loaded.intercept_[0])
    if values is not None:
        base += float((coef - unit * rounded / scale) @ values.mean(axis=0))
    totals = None if values is None else (values / scale) @ rounded
    meaning, of_score = _meaning(loaded, link)
    rows = _totals(totals, base, unit, link)
    return Scorecard(
        tuple(feature_names(loaded)),
        tuple(loaded.columns.tolist()),
        tuple(rounded.tolist()),
        tuple(scale.tolist()) if per == "sd" else None,
        unit,
        base,
        meaning,
        tuple((total, of_score(base + unit * total)) for total in rows),
        _agreement(values, base + unit * totals, loaded, link)
        if values is not None and totals is not None
        else None,
        _decision(loaded, base, unit) if loaded.metadata["threshold"] else "",
    )


def _decision(model: LoadedModel, base: float, unit: float) -> str:
    """Return from which score and total on the positive class of two is predicted."""
    first, second = labels(model)
    one, other, at, sign_of = second, first, cut(model), ">"
    if not positive(model):
        one, other, at, sign_of = first, second, -cut(model), ">="
    total = (at - base) / unit
    return f"{one} where score {sign_of} {at:.6g}, total {sign_of} {total:.6g}, else {other}"


def _values(model: LoadedModel, X: Any) -> FloatArray:
    """Return the features of a model in data, (n_samples, p), as numbers."""
    from ..designs import as_design

    data, places = LinearModel._columns(model, X)
    stored = as_design(data).gather(places)
    values = np.asarray(stored if isinstance(stored, np.ndarray) else stored.toarray(), np.float64)
    if not len(values) or not np.isfinite(values).all():
        raise ValueError("X must have rows, and finite values in the features of the model.")
    return values


def _agreement(values: FloatArray, card: FloatArray, model: LoadedModel, link: str) -> Agreement:
    """Return how the scores of a card differ from those of its model."""
    from scipy.special import expit

    turn = sign(model)
    full = turn * (values @ model.coef[0] + model.intercept_[0])
    classifies = isinstance(model, LoadedClassifier)
    varies = card.std() > 0 and full.std() > 0
    return Agreement(
        len(card),
        float(np.abs(card - full).max()),
        float(np.abs(expit(card) - expit(full)).max()) if link == "logit" else None,
        float(np.mean((turn * card > cut(model)) == (turn * full > cut(model))))
        if classifies
        else None,
        float(np.corrcoef(card, full)[0, 1]) if varies else None,
    )


def _meaning(model: LoadedModel, link: str) -> tuple[str, Callable[[float], float]]:
    """Return what a score means, in words and as a function."""
    if link == "logit":
        return f"probability of {labels(model)[positive(model)]}", _sigmoid
    if link == "sign":
        return f"score, {labels(model)[positive(model)]} above 0", float
    if link == "identity":
        return "mean", float
    return ("mean" if link == "log" else "hazard, of that at a score of 0"), _exp


def _shown(probability: float) -> str:
    """Return a probability as text that calls none of them certain."""
    if probability < 0.00005:
        return "<0.0001"
    return ">0.9999" if probability > 0.99995 else f"{probability:.4f}"


def _sigmoid(score: float) -> float:
    """Return 1 / (1 + exp(-score))."""
    return 1.0 / (1.0 + math.exp(-score)) if score > -700 else 0.0


def _exp(score: float) -> float:
    """Return exp(score), infinite where that is too large."""
    return math.exp(score) if score < 700 else math.inf


def _totals(totals: FloatArray | None, base: float, unit: float, link: str) -> list[int]:
    """Return totals in even steps: those of the data, without data of scores around 0."""
    if totals is None:
        centre = 0.0 if link in ("logit", "sign") else base
        low, high = (centre - ENDS - base) / unit, (centre + ENDS - base) / unit
    else:
        low, high = float(totals.min()), float(totals.max())
    step = next(
        factor * 10**power
        for power in range(400)
        for factor in STEPS
        if factor * 10**power * ROWS >= high - low
    )
    first, last = math.floor(low / step), math.ceil(high / step)
    return [place * step for place in range(first, last + 1)]
