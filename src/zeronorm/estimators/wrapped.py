"""Models of this package inside scikit-learn's classifiers with a threshold or a calibration."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.errors import ParameterError
from ..core.ranking import cut_of

_WITH_THRESHOLD = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")


@dataclass(frozen=True, slots=True)
class Threshold:
    """The probability or score from which the positive one of two classes is predicted."""

    threshold: float
    pos_label: Any
    rule: str  # how it was found: the number itself, or "tuned for SCORE"
    by_score: bool


def without_threshold(estimator: Any) -> Any:
    """Return the estimator inside a classifier of scikit-learn with a threshold, or itself.

    It is the parameter, not fitted: features and scores do not depend on the threshold.
    """
    return estimator.estimator if _is_of(estimator, *_WITH_THRESHOLD) else estimator


def way_out(name: str, estimator: Any) -> str:
    """Return the remedy where a calibration stands for the estimator in it; "" elsewhere."""
    if not _is_of(estimator, "CalibratedClassifierCV"):
        return ""
    return (
        f" Pass {name}.estimator: a calibration changes probabilities, not features, and "
        "BudgetClassifier(calibrate=True) has its own."
    )


def cut_asked(estimator: Any, classes: np.ndarray) -> float:
    """Return the score above which a classifier predicts the second of two classes.

    estimator : not fitted; 0 where it is no classifier with a threshold.

    Raises
    ------
    ValueError
        If the threshold is yet to be tuned, by folds of its own, or there are not two classes.
    """
    if not _is_of(estimator, *_WITH_THRESHOLD):
        return 0.0
    if _is_of(estimator, "TunedThresholdClassifierCV"):
        raise ValueError(
            "TunedThresholdClassifierCV tunes its threshold on further folds, which these passes "
            "do not have: use scikit-learn's cross_validate, a scoring that needs no threshold, as "
            "'roc_auc', or FixedThresholdClassifier."
        )
    if len(classes) != 2:
        raise ValueError(f"a threshold is of two classes; got {len(classes)}.")
    asked = _threshold_of(estimator, classes)
    if asked is None:
        return 0.0
    labels = classes.tolist()
    if asked.pos_label not in labels:
        raise ParameterError("pos_label", f"must be one of {labels}", f"{asked.pos_label!r:.50}")
    positive = labels.index(asked.pos_label)
    return cut_of(asked.threshold, positive, by_score=asked.by_score)


def model_and_threshold(estimator: Any) -> tuple[Any, Threshold | None]:
    """Return the fitted model inside wrappers of scikit-learn, and the threshold it acts from.

    Raises
    ------
    TypeError
        If a calibration makes another model of it than a linear one.
    """
    threshold, model = None, estimator
    if _is_of(model, *_WITH_THRESHOLD):
        model = _frozen(getattr(model, "estimator_", model.estimator))
        if not hasattr(model, "classes_"):
            raise TypeError(f"estimator must be fitted; got {type(estimator).__name__}. Call fit.")
        threshold = _threshold_of(estimator, model.classes_)
    if _is_of(model, "CalibratedClassifierCV"):
        model = _calibrated(model)
    return model, threshold


def _frozen(estimator: Any) -> Any:
    """Return the estimator inside a FrozenEstimator, or itself."""
    return estimator.estimator if _is_of(estimator, "FrozenEstimator") else estimator


def _is_of(estimator: Any, *names: str) -> bool:
    """Return whether an object is of these classes of scikit-learn, without an import of them."""
    kind = type(estimator)
    return kind.__name__ in names and kind.__module__.startswith("sklearn.")


def _threshold_of(wrapper: Any, classes: Any) -> Threshold | None:
    """Return the threshold of a wrapper; None where it is the usual one."""
    inner = getattr(wrapper, "estimator_", wrapper.estimator)
    method = wrapper.response_method
    if method == "auto":
        method = "predict_proba" if hasattr(inner, "predict_proba") else "decision_function"
    if _is_of(wrapper, "TunedThresholdClassifierCV"):
        at, label = wrapper.best_threshold_, wrapper._curve_scorer._get_pos_label()
        by = wrapper.scoring
        rule = f"tuned for {by}" if isinstance(by, str) else "tuned"
    else:
        at, label = wrapper.threshold, wrapper.pos_label
        if isinstance(at, str):  # "auto"
            return None
        rule = f"{at:g}"
    label = np.asarray(classes).tolist()[1] if label is None else label
    return Threshold(float(at), label, rule, by_score=method == "decision_function")


def _calibrated(wrapper: Any) -> Any:
    """Return a model with the probabilities of a calibration: 1 / (1 + exp(a f(x) + b))."""
    found = getattr(wrapper, "calibrated_classifiers_", [])
    kinds = {type(one).__name__ for each in found for one in each.calibrators}
    model: Any = _frozen(found[0].estimator) if found else None
    paths: Any = getattr(model, "_paths", ())
    plan = getattr(model, "_plan", None)
    refitted = plan is not None and plan().refit_C is not None
    single = len(paths) == 1 and np.size(getattr(model, "classes_", ())) == 2
    if len(found) != 1 or kinds != {"_SigmoidCalibration"} or not (single and refitted):
        raise TypeError(
            "CalibratedClassifierCV is a linear model only of two classes, with method='sigmoid' "
            "and ensemble=False, around a BudgetClassifier with a final fit. Fit it so, or pass "
            "the model in it, estimator.calibrated_classifiers_[0].estimator; BudgetClassifier("
            "calibrate=True) scales its own probabilities."
        )
    (calibrator,) = found[0].calibrators
    factor, shift = -float(calibrator.a_), -float(calibrator.b_)
    (path,) = paths
    chosen = path[model.size_]
    scaled = replace(
        chosen,
        coef=factor * chosen.coef,
        effects=factor * chosen.effects,
        intercept=factor * chosen.intercept + shift,
        scale=abs(factor) * chosen.scale,
        cv_log_loss=np.nan,
    )
    own: Any = copy.copy(model)
    own._paths = (replace(path, selections={**path.selections, model.size_: scaled}),)
    return own
