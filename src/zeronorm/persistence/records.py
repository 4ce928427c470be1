"""What fits found out, as JSON objects: made for the metadata of a model, checked when read.

Numbers that are not known (NaN) or infinite are null.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.criteria import CRITERIA
from ..core.files import Require, check_fields, quote
from ..core.results import (
    Certificate,
    Selection,
    Status,
    Step,
    relative_gap,
)
from .archive import LABELLED, check_record

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


def check_loss(
    what: str, record: Mapping[str, Any], losses: Sequence[str], require: Require
) -> None:
    """Check the name of the loss in a record; those of labels have measures too."""
    known = record["loss"] in losses
    known = known or (losses[: len(LABELLED)] == LABELLED and record["loss"].startswith("measure "))
    require(known, f"the loss of {what} must be one of {', '.join(losses)}")


# The loss of a model in its file: a name and numbers. No file has anything imported.
#
# A loss of one's own goes by the name of its class, and whoever loads the model passes the object.

_LOSS = {"name": str, "class": (str, type(None)), "parameters": dict}
_PLAIN = (bool, int, float, str, type(None))


def _known() -> dict[str, type]:
    """Return the losses of this package that are not of labels, by name."""
    # On use: certificates are read, and verified, without.
    from ..losses import OF_NUMBERS, Cox

    return {one.name: type(one) for one in OF_NUMBERS} | {"cox": Cox, "cox_efron": Cox}


def describe_loss(loss: Any) -> dict[str, Any]:
    """Return the record of a loss: its name, the name of its class where it is not of this package.

    Raises
    ------
    TypeError
        Where another program could not import the class, or a parameter is no number or text.
    """
    kind = type(loss)
    own = _known().get(loss.name) is not kind
    if own:
        _check_importable(kind)
    return {
        "name": str(loss.name),
        "class": f"{kind.__module__}.{kind.__qualname__}" if own else None,
        "parameters": _parameters(loss),
    }


def _check_importable(kind: type) -> None:
    """Refuse a class that is not found where it says it is."""
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not kind:
        raise TypeError(
            "loss must be of a class at the top level of a module, so that whoever loads the model "
            f"can import it; got {kind.__module__}.{kind.__qualname__}. Define it in a module."
        )


def _parameters(loss: Any) -> dict[str, Any]:
    """Return what a loss is stated with: the fields of a dataclass, else its attributes."""
    names = [one.name for one in fields(loss)] if is_dataclass(loss) else [*vars(loss)]
    found = {}
    for name in names:
        value = getattr(loss, name)
        value = value.item() if isinstance(value, np.generic) else value
        if type(value) not in _PLAIN or (type(value) is float and not math.isfinite(value)):
            raise TypeError(
                "loss must be stated with finite numbers and text to be saved; got "
                f"{name}={value!r:.60} of {type(loss).__name__}."
            )
        found[name] = value
    return found


def check_loss_record(record: Any, require: Require) -> None:
    """Check what `describe_loss` returns."""
    check_fields("loss", record, _LOSS, require)
    plain = all(type(value) in _PLAIN for value in record["parameters"].values())
    require(plain, "the parameters of the loss must be numbers or text")


def loss_in(record: Mapping[str, Any], losses: Iterable[Any], require: Require) -> Any:
    """Return the loss of a record: one of this package, or one of those that were passed."""
    name, kind = record["name"], record["class"]
    if kind is None:
        known = _known()
        require(name in known, f"the loss must be one of {', '.join(known)}")
        problem = ""
        try:
            return known[name](**record["parameters"])
        except (TypeError, ValueError) as error:
            problem = str(error)
        require(False, f"the parameters of the loss {name} are wrong ({problem.rstrip('.')})")
    for loss in losses:
        if describe_loss(loss) == record:
            return loss
    stated = ", ".join(f"{key}={value!r}" for key, value in record["parameters"].items())
    call = f"{kind.rpartition('.')[2]}({stated})"
    require(
        False,
        f"its loss is {call} of {kind!r}, which is not of zeronorm, and nothing is imported that a "
        f"file names; import it, and load the model with losses=[{call}]",
    )


# How far predictions of numbers were from the targets of rows out of fold, for intervals.
#
# An interval is the prediction plus and minus a quantile of these absolute errors. Of rows
# exchangeable with those of the training it has its coverage approximately, where leaving a fold
# out changes the fit little, and on the average over rows: not given the features of one. No bound
# on it holds for all fits; that of CV+, which keeps the models of all folds, is 1 - 2 alpha for a
# coverage of 1 - alpha (Barber, Candes, Ramdas, Tibshirani, "Predictive inference with the
# jackknife+", The Annals of Statistics 49, 2021, where this interval is compared with it).

MOST = 1000  # order statistics that a file keeps


def has_intervals(loss: Any, n_targets: int) -> bool:
    """Return whether a model may have intervals: of one target, by a loss of residuals."""
    return loss is not None and n_targets == 1 and bool(loss.of_residuals)


def summarize_errors(errors: Any) -> dict[str, Any]:
    """Return the number of rows out of fold, and order statistics of their absolute errors.

    Of n rows all, or of more than 1000 those of the ranks ceil(i n / 1000).
    """
    values = np.asarray(errors, np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(
            "errors must be finite numbers, one for each row out of fold; got an array of shape "
            f"{values.shape}."
        )
    n = values.size
    most = min(n, MOST)
    ranks = -(-np.arange(1, most + 1) * n // most)
    return {"n": n, "absolute": np.sort(np.abs(values))[ranks - 1].tolist()}


def check_errors(record: Any, require: Require) -> None:
    """Check what `summarize_errors` returns."""
    known = isinstance(record, dict) and record.keys() == {"n", "absolute"}
    require(known and type(record["n"]) is int, "errors must have n and absolute")
    n, values = record["n"], record["absolute"]
    right = isinstance(values, list) and 0 < len(values) == min(n, MOST)
    right = right and all(type(one) is float and 0 <= one < math.inf for one in values)
    require(right and values == sorted(values), "absolute errors must be numbers that grow")


def half_width(record: Mapping[str, Any], coverage: float) -> float:
    """Return the half of an interval: the absolute error of rank ceil((n + 1) coverage).

    Raises
    ------
    ValueError
        If the coverage is not between 0 and 1, or so high that no error has that rank.
    """
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be above 0 and below 1; got {coverage:g}.")
    n, values = record["n"], record["absolute"]
    rank = max(1, math.ceil((n + 1) * coverage - 1e-9))
    if rank > n:
        raise ValueError(
            f"coverage must be at most {n / (n + 1):.4g}, as there are the errors of {n} rows out "
            f"of fold; got {coverage:g}."
        )
    place = -(-rank * len(values) // n)
    return float(values[place - 1])
