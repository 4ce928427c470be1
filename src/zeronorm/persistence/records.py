"""What models and proofs found out, as JSON objects: made for metadata, checked in those of a file.

Numbers that are not known (NaN) or infinite are null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.criteria import CRITERIA
from ..core.files import Require, check_fields, quote
from ..core.results import Certificate, Selection, Status, Step, relative_gap

if TYPE_CHECKING:
    from ..estimators.wrapped import Threshold

_CERTIFICATE = {
    "C": float,
    "scaling": str,
    "objective": float,
    "bound": float,
    "gap": float,
    "proven": bool,
    "candidates": int,
    "fixed_in": int,
    "n_forced": int,
    "n_covariates": int,
    "loss": str,
    "fit_intercept": bool,
    "n_groups": (int, type(None)),
    "n_signed": int,
    "max_abs_coef": (float, type(None)),
}
_SOLUTION = {
    "C": (float, type(None)),
    "loss": str,
    "objective": (float, type(None)),
    "gap": (float, type(None)),
}
_CALIBRATION = {
    "scale": float,
    "cv_log_loss": (float, type(None)),
}
_THRESHOLD = {
    "positive": int,  # the place of the positive class among the sorted ones
    # From which one on a row is positive; one of them is null.
    "probability": (float, type(None)),
    "score": (float, type(None)),
    "rule": str,
}
_CRITERIA = {
    "size": (int, list),
    "log_loss": (float, type(None)),
    **dict.fromkeys(CRITERIA, (float, type(None))),
}
_STEP = {
    "n_features": int,
    "objective": (float, type(None)),
    "bound": (float, type(None)),
    "gap": (float, type(None)),
    "status": (str, type(None)),
}
LABELLED = ("logistic", "squared_hinge")


def summarize(certificate: Certificate | None) -> dict[str, Any] | None:
    """Return the numbers of a certificate; support, coefficients and dual stay behind."""
    if certificate is None or not np.isfinite([certificate.objective, certificate.bound]).all():
        return None
    return as_record(certificate, _CERTIFICATE)


def as_record(source: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes of an object as a JSON object, each of the first type of its field."""
    record = {}
    for name, kind in fields.items():
        value = getattr(source, name)
        first = kind[0] if isinstance(kind, tuple) else kind
        record[name] = None if value is None else first(value)
    return record


def summarize_solution(C: float, loss: str, objective: float, gap: float) -> dict[str, Any]:
    """Return the record of a solution of the l1 family."""
    return {
        "C": finite_or_none(C),
        "loss": loss,
        "objective": finite_or_none(objective),
        "gap": finite_or_none(gap),
    }


def summarize_calibration(model: Selection) -> dict[str, Any]:
    """Return what the margins of a model were multiplied by, and the log-loss out of fold."""
    return {"scale": float(model.scale), "cv_log_loss": finite_or_none(model.cv_log_loss)}


def summarize_threshold(threshold: Threshold | None, classes: Any) -> dict[str, Any] | None:
    """Return from which probability on a row is of the positive one of two classes."""
    if threshold is None:
        return None
    labels = np.sort(np.asarray(classes)).tolist()
    if len(labels) != 2 or threshold.pos_label not in labels:
        raise ValueError(
            f"threshold must be of a model of two classes, one of which is its pos_label; got "
            f"{threshold.pos_label!r:.50} of {len(labels)} classes. Pass the estimator in it."
        )
    value = float(threshold.threshold)
    if threshold.by_score and not math.isfinite(value):
        raise ValueError(f"threshold must be a finite score; got {value!r}.")
    if not threshold.by_score and not 0 < value < 1:
        raise ValueError(
            f"threshold must be a probability above 0 and below 1; got {value!r}. Set another one, "
            "or use response_method='decision_function'."
        )
    return {
        "positive": labels.index(threshold.pos_label),
        "probability": None if threshold.by_score else value,
        "score": value if threshold.by_score else None,
        "rule": threshold.rule,
    }


def summarize_step(step: Step) -> dict[str, Any]:
    """Return the numbers of a step; null for what it did not find out."""
    numbers = {
        "objective": step.objective,
        "bound": step.bound,
        "gap": step.extra.get("gap", math.nan),
    }
    return {
        "n_features": int(step.n_features),
        **{name: finite_or_none(value) for name, value in numbers.items()},
        "status": None if step.status is None else step.status.name,
    }


def tabulate(criteria: Mapping[str, NDArray[Any]] | None) -> list[dict[str, Any]]:
    """Return the columns of `criteria_` as rows, none where there are none; null for no number.

    A size is a number, or the list of both budgets of a bi-level model, [features, groups].
    """
    if criteria is None:
        return []
    sizes = criteria["size"].tolist()
    columns = [
        [finite_or_none(value) for value in criteria[name]] for name in ("log_loss", *CRITERIA)
    ]
    return [
        {"size": size, **dict(zip(("log_loss", *CRITERIA), row, strict=True))}
        for size, *row in zip(sizes, *columns, strict=True)
    ]


def finite_or_none(value: float) -> float | None:
    """Return a number, None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def check_summary(record: Any, losses: Sequence[str], require: Require) -> None:
    """Check what `summarize` returns, of one of some losses."""
    check_record("a certificate", record, _CERTIFICATE, require)
    check_loss("a certificate", record, losses, require)
    objective, gap = record["objective"], record["gap"]
    known = relative_gap(objective, record["bound"])
    require(
        gap == known and record["proven"] == (gap <= 1e-9),
        "gap and proven of a certificate must be those of its objective and bound",
    )


def check_solution(record: Any, losses: Sequence[str], require: Require) -> None:
    """Check what `summarize_solution` returns, of one of some losses."""
    check_record("a solution", record, _SOLUTION, require)
    check_loss("a solution", record, losses, require)
    C = record["C"]  # null: infinite
    require(C is None or C > 0, "the C of a solution must be positive")


def check_calibration(record: Any, require: Require) -> None:
    """Check what `summarize_calibration` returns."""
    check_record("a calibration", record, _CALIBRATION, require)
    require(record["scale"] > 0, "the scale of a calibration must be positive")


def check_threshold(record: Any, require: Require) -> None:
    """Check what `summarize_threshold` returns."""
    check_record("a threshold", record, _THRESHOLD, require)
    require(record["positive"] in (0, 1), "the positive class of a threshold must be 0 or 1")
    probability, score = record["probability"], record["score"]
    require((probability is None) != (score is None), "a threshold is a probability or a score")
    require(probability is None or 0 < probability < 1, "a threshold must be above 0 and below 1")


def check_step(record: Any, require: Require) -> None:
    """Check what `summarize_step` returns."""
    check_record("a step", record, _STEP, require)
    require(
        record["status"] is None or record["status"] in Status.__members__,
        f"a step has the unknown status {quote(str(record['status']))}",
    )


def check_criteria(record: Any, require: Require) -> None:
    """Check a row of what `tabulate` returns."""
    check_record("a row of criteria", record, _CRITERIA, require)
    size = record["size"]
    if isinstance(size, list):
        right = len(size) == 2 and all(type(budget) is int and budget > 0 for budget in size)
    else:
        right = size >= 0  # a model of the l1 norm may have no features
    require(right, "the size of a row of criteria must be a number of features, or a pair")


def check_record(what: str, record: Any, fields: Mapping[str, Any], require: Require) -> None:
    """Check an object with these fields, whose numbers are finite."""
    require(isinstance(record, dict), f"{what} must be a JSON object")
    check_fields(what, record, fields, require)
    finite = all(math.isfinite(value) for value in record.values() if type(value) is float)
    require(finite, f"{what} must be finite")


def check_loss(
    what: str, record: Mapping[str, Any], losses: Sequence[str], require: Require
) -> None:
    """Check the name of the loss in a record; those of labels have measures too."""
    known = record["loss"] in losses
    known = known or (losses[: len(LABELLED)] == LABELLED and record["loss"].startswith("measure "))
    require(known, f"the loss of {what} must be one of {', '.join(losses)}")
