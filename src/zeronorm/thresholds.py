"""From which probability on a row counts as positive: for costs, for a rate, and whether it pays.

All of it is for probabilities of rows that were held out of the fit, features and all, as
`held_out_probabilities` returns them; those of training rows are far too good.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from . import validate
from ._folds import splits
from ._typing import FloatArray


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold, and what it does to the rows that chose it: positive is p_i >= threshold."""

    threshold: float  # just above the highest score where no row is to be positive
    sensitivity: float  # the share of the positives that are found, TP / (TP + FN)
    specificity: float  # the share of the negatives that are left alone, TN / (TN + FP)
    precision: float  # the share of positives among the rows found, TP / (TP + FP); NaN of none
    share: float  # the share of all rows found, (TP + FP) / n
    cost: float  # mean cost of a row; NaN where no costs were given
    pos_label: Any = None  # the positive class
    rule: str = ""  # what it was chosen by, as "sensitivity=0.95"
    by_score: bool = False  # whether it is of scores (`decision_function`), not probabilities


@dataclass(frozen=True, slots=True)
class DecisionCurve:
    """The net benefit of acting on the rows above a threshold, for each threshold t.

        net(t) = TP(t) / n - FP(t) / n * t / (1 - t),

    in true positives a row: who acts from probability t on takes a false positive for t / (1 - t)
    of a true one. A model is of use at t where it does better than both treating all and none.
    """

    thresholds: FloatArray  # (m,)
    net_benefit: FloatArray  # (m,) of the model
    treat_all: FloatArray  # (m,) of acting on every row; of acting on none it is 0


def held_out_probabilities(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    groups: Any = None,
    pos_label: Any = None,
    random_state: int = 0,
) -> FloatArray:
    """Return the probability of the positive class of every row, by models of the other folds.

    Parameters
    ----------
    estimator : a classifier with `predict_proba`; it is cloned and fitted for every fold, with the
        selection of features, the choice of their number and calibration, as far as it has them.
    X, y : as for its `fit`.
    cv : number of stratified folds, shuffled, or a splitter of scikit-learn whose test rows are all
        rows once.
    groups : (n_samples,) labels; samples with the same label are held out together.
    pos_label : the positive class; None: the second of two, sorted.
    random_state : of the shuffle.

    Returns
    -------
    (n_samples,)
    """
    if not is_classifier(estimator):
        raise TypeError(f"estimator must be a classifier; got {type(estimator).__name__}.")
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"estimator must have probabilities (predict_proba); {type(estimator).__name__} has "
            "scores alone. BudgetClassifier has them."
        )
    y = np.asarray(y)
    positive = _positives(y, pos_label)[1]
    together = validate.check_groups(groups, y.size)
    folds = splits(y, np.ones(y.size), cv, random_state, groups=together)
    held_out = np.sort(np.concatenate([test for _, test in folds]))
    if not np.array_equal(held_out, np.arange(y.size)):
        raise ValueError(
            "cv must hold out every row once, as every row has one probability; got "
            f"{held_out.size} held-out rows for {y.size}. Folds that are not repeated do."
        )
    found, label = np.zeros(y.size), y[positive][0]
    # The labels are as they are: class weights and other parameters may name them.
    for train, test in folds:
        given = {}
        if together is not None and has_fit_parameter(estimator, "groups"):
            given = {"groups": together[train]}
        model = clone(estimator).fit(_safe_indexing(X, train), y[train], **given)
        known = np.flatnonzero(model.classes_ == label)
        if known.size:  # else no row of the other folds is positive
            found[test] = model.predict_proba(_safe_indexing(X, test))[:, known[0]]
    return found


def choose_threshold(
    y: Any,
    probability: Any,
    *,
    cost: tuple[float, float] | None = None,
    sensitivity: float | None = None,
    specificity: float | None = None,
    precision: float | None = None,
    at: float | None = None,
    pos_label: Any = None,
) -> Threshold:
    """Return the threshold that costs the least, or that keeps a rate at the least price.

    One of the five is given. With costs it is the t that minimises

        (c_fp FP(t) + c_fn FN(t)) / n,

    of equal ones the largest; with a rate, the largest t whose sensitivity is at least that, or
    the smallest t whose specificity or precision is. The threshold suits the rows that choose it a
    little better than new ones, the more so the fewer the positives.

    Parameters
    ----------
    y : (n_samples,) labels of two classes
    probability : (n_samples,) of the positive class, or any score; held out of the fit
    cost : (c_fp, c_fn), of a false positive and of a false negative
    sensitivity, specificity, precision : above 0, at most 1
    at : the threshold itself, above 0, at most 1, to learn what it does to these rows
    pos_label : the positive class; None: the second of two, sorted

    Raises
    ------
    ValueError
        Where none or several of the five are given, where no threshold has the precision, and where
        y has one class.
    """
    given = {"sensitivity": sensitivity, "specificity": specificity, "precision": precision}
    asked = {name: value for name, value in given.items() if value is not None}
    n_given = len(asked) + (cost is not None) + (at is not None)
    if n_given != 1:
        raise ValueError(
            f"one of cost, sensitivity, specificity, precision and at must be given; got {n_given}."
        )
    positive, score = _checked(y, probability, pos_label)
    # From none to all rows: thresholds at the scores, and one above them all.
    levels, first = np.unique(-score, return_inverse=True)
    n_levels = levels.size
    tp = np.concatenate([[0], np.cumsum(np.bincount(first, positive, n_levels))])
    fp = np.concatenate([[0], np.cumsum(np.bincount(first, ~positive, n_levels))])
    n_positive, n_negative, n = tp[-1], fp[-1], score.size
    thresholds = np.concatenate([[np.nextafter(-levels[0], np.inf)], -levels])
    costs = np.full(n_levels + 1, np.nan)
    if at is not None:
        value = validate.check_share("at", at)
        place = int(np.searchsorted(levels, -value, side="right"))
        thresholds[place], rule = value, f"{value:g}"
    elif cost is not None:
        c_fp, c_fn = _costs(cost)
        costs = (c_fp * fp + c_fn * (n_positive - tp)) / n
        place, rule = int(np.argmin(costs)), f"cost={c_fp:g}:{c_fn:g}"
    else:
        ((name, value),) = asked.items()
        least = validate.check_share(name, value)
        rule = f"{name}={least:g}"
        with np.errstate(invalid="ignore"):
            reached = {
                "sensitivity": tp / n_positive,
                "specificity": (n_negative - fp) / n_negative,  # 1 - 0.9 is below 0.1
                "precision": tp / (tp + fp),
            }[name] >= least
        if not reached.any():
            most = np.nanmax(tp[1:] / (tp + fp)[1:])
            raise ValueError(
                f"precision must be one that some threshold has; got {value:g}, and the highest is "
                f"{most:.3g}."
            )
        places = np.flatnonzero(reached)
        place = int(places[0] if name == "sensitivity" else places[-1])
    found = tp[place] + fp[place]
    return Threshold(
        threshold=float(thresholds[place]),
        sensitivity=float(tp[place] / n_positive),
        specificity=float((n_negative - fp[place]) / n_negative),
        precision=float(tp[place] / found) if found else float("nan"),
        share=float(found / n),
        cost=float(costs[place]),
        pos_label=np.asarray(y)[positive][:1].tolist()[0],
        rule=rule,
    )


def decision_curve(
    y: Any, probability: Any, thresholds: Any = None, *, pos_label: Any = None
) -> DecisionCurve:
    """Return whether acting on the predictions is better than acting on all rows, or on none.

    Parameters
    ----------
    y : (n_samples,) labels of two classes
    probability : (n_samples,) from 0 to 1, of the positive class; held out of the fit
    thresholds : (m,) above 0 and below 1, growing; None: 0.01 to 0.99
    pos_label : the positive class; None: the second of two, sorted

    Source
    ------
    Vickers and Elkin, Decision curve analysis, Medical Decision Making 26 (2006).
    """
    positive, p = _checked(y, probability, pos_label)
    if p.min() < 0 or p.max() > 1:
        raise ValueError(
            "probability must be from 0 to 1 for a decision curve; got "
            f"{p.min():.3g} to {p.max():.3g}. Use predict_proba, not decision_function."
        )
    t = np.linspace(0.01, 0.99, 99) if thresholds is None else np.asarray(thresholds, float)
    if t.ndim != 1 or t.size == 0 or not ((t > 0) & (t < 1)).all() or (np.diff(t) <= 0).any():
        raise ValueError("thresholds must be above 0 and below 1, and grow; got others.")
    odds = t / (1.0 - t)
    of_positives, of_negatives = np.sort(p[positive]), np.sort(p[~positive])
    tp = of_positives.size - np.searchsorted(of_positives, t, side="left")
    fp = of_negatives.size - np.searchsorted(of_negatives, t, side="left")
    prevalence = of_positives.size / p.size
    return DecisionCurve(t, (tp - fp * odds) / p.size, prevalence - (1.0 - prevalence) * odds)


def _positives(y: np.ndarray, pos_label: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, sorted, and which rows are positive."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"y must have two classes; got {len(classes)}.")
    if pos_label is None:
        if len(classes) > 2:
            raise ValueError(
                f"pos_label must say which of the {len(classes)} classes is positive; got none."
            )
        pos_label = classes[1]
    positive = y == pos_label
    if not np.any(positive):
        known = ", ".join(str(one) for one in classes[:5])
        raise ValueError(f"pos_label must be one of {known}; got {pos_label!r:.50}.")
    return classes, np.asarray(positive)


def _checked(y: Any, probability: Any, pos_label: Any) -> tuple[np.ndarray, FloatArray]:
    """Return which rows are positive, and their scores."""
    _, positive = _positives(np.asarray(y), pos_label)
    score = np.asarray(probability, float)
    if score.shape != positive.shape or not np.isfinite(score).all():
        raise ValueError(
            f"probability must be finite, one for each of the {positive.size} rows of y; got shape "
            f"{score.shape}. Of predict_proba take the column of the positive class."
        )
    return positive, score


def _costs(cost: Any) -> tuple[float, float]:
    found = np.asarray(cost, float)
    if found.shape != (2,) or not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise ValueError(
            "cost must be two numbers, not negative and not both 0, of a false positive and of a "
            f"false negative; got {cost!r:.60}."
        )
    return float(found[0]), float(found[1])


__all__ = [
    "DecisionCurve",
    "Threshold",
    "choose_threshold",
    "decision_curve",
    "held_out_probabilities",
]
