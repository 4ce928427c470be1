"""What files hold, as dataclasses that msgspec reads, and how it is made from fits.

Annotations say what a field may be, `__post_init__` what fields must be beside each other. A number
that may be unknown (NaN) or infinite is `Known`: null.
"""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from .._version import __version__
from ..core.criteria import CRITERIA
from ..core.errors import Message, Parameter, ParameterError
from ..core.files import quote
from ..core.groups import Groups
from ..core.results import Certificate, Status, relative_gap
from ..core.types import FloatArray, IndexArray
from ..io.encoding import check_codings
from ..io.table import ROLES
from .archive import FileKind, check, plain

if TYPE_CHECKING:
    from ..estimators.wrapped import Threshold

Positive: TypeAlias = Annotated[float, Meta(gt=0)]
Counted: TypeAlias = Annotated[int, Meta(ge=0)]
AtLeastOne: TypeAlias = Annotated[int, Meta(ge=1)]
Known: TypeAlias = float | None

LABELLED = ("logistic", "squared_hinge")
MULTINOMIAL, ORDINAL = "multinomial", "ordinal"  # the losses of several classes at once
OF_ALL = (MULTINOMIAL, ORDINAL)
_COLUMNS = (
    *ROLES, "event_value", "layer", "missing", "id", "where", "row_numbers", "na", "dates",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Header:
    """What models and certificates have in common: versions, features, names."""

    format: int
    zeronorm: str
    created: str
    n_features_in: Annotated[int, Meta(gt=0, lt=2**62)]
    feature_names: list[str] | None  # of the columns of the model
    first_index: Literal[0, 1]
    target_name: str | list[str] | None
    columns: dict[str, str]  # names of what else is no feature, by what it is
    classes: NDArray[Any]

    def __post_init__(self) -> None:
        """Check names."""
        names = self.target_name
        several = not isinstance(names, list) or len({*names}) == len(names) > 1
        check(several, "target_name must be a name, or those of two or more responses, distinct")
        unknown = [what for what in self.columns if what not in _COLUMNS]
        check(
            not unknown, f"columns must be names by {', '.join(ROLES)}; got {quote(str(unknown))}"
        )
        try:
            shlex.split(self.columns.get("row_numbers", ""))
        except ValueError:
            check(False, "columns has row_numbers that are no list of quoted names")

    @property
    def n_responses(self) -> int:
        """The number of responses of the target."""
        return len(self.target_name) if isinstance(self.target_name, list) else 1

    def names_of(self, k: int) -> tuple[str, ...] | None:
        """Return the names of the k columns of the model."""
        names = self.feature_names
        right = names is None or len({*names}) == len(names) == k
        check(right, f"feature_names must be {k} distinct strings")
        return None if names is None else tuple(names)

    def check_classes(self, ordinal: bool) -> None:
        """Check that classes are sorted, or have an order of their own."""
        classes = self.classes
        right = classes.ndim == 1 and classes.size != 1 and classes.dtype.kind in "biufU"
        check(right, "classes must be none, or two or more numbers or strings")
        apart = np.unique(classes).size == classes.size
        check(
            apart and (ordinal or bool((classes[1:] > classes[:-1]).all())),
            "classes must be distinct and sorted, or in an order of their own",
        )


def describe(
    kind: FileKind[Any],
    support: IndexArray,
    n_features: int,
    names: Sequence[Any] | None,
    first_index: int,
    target_name: str | Sequence[str] | None,
    columns: Mapping[str, str] | None,
    classes: NDArray[Any],
    n_responses: int,
) -> dict[str, Any]:
    """Return the fields of `Header`.

    names : of all features; those of the support are written.
    target_name : of several responses the name of each; None: they are numbered.
    """
    if names is not None:
        if len(names) != n_features:
            raise ParameterError(
                "feature_names",
                Message(f"must have {n_features} names (the features of ", Parameter("X"), ")"),
                str(len(names)),
            )
        names = [str(names[j]) for j in support]
        if len(set(names)) < len(names):
            raise ParameterError(
                "feature_names", "must be distinct; two selected features share one"
            )
    if n_responses > 1:
        if target_name is None:
            target_name = [f"response {number}" for number in range(1, n_responses + 1)]
        listed = [] if isinstance(target_name, str) else [str(name) for name in target_name]
        if len(listed) != n_responses or len(set(listed)) < n_responses:
            raise ParameterError(
                "target_name",
                f"must be a list of {n_responses} distinct names, one for each response",
                f"{target_name!r:.80}",
            )
        target_name = listed
    elif not isinstance(target_name, str | None):
        raise ParameterError(
            "target_name", "must be one name for one target", f"{target_name!r:.80}"
        )
    if classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes):
        classes = classes.astype(str)
    if classes.dtype.kind not in "biufU":
        raise TypeError(
            f"class labels must be numbers or strings to be saved; got {classes.dtype}. Encode "
            "them as strings."
        )
    return {
        "format": kind.version,
        "zeronorm": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "n_features_in": n_features,
        "feature_names": names,
        "first_index": first_index,
        "target_name": target_name,
        "columns": dict(columns or {}),
        "classes": classes,
    }


# Certificates and their figures.


@dataclass(frozen=True, kw_only=True)
class CertificateRecord(Header):
    """A certificate file."""

    n_samples: AtLeastOne
    # Without groups and signs, which are those of all of them.
    certificates: Annotated[list[Certificate], Meta(min_length=1)]
    groups: Groups | None
    signs: NDArray[np.int8]
    class_weight: FloatArray


class Certified(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A lower bound on the objective of all feature sets of a size.

    bound : no feature set of this size has a lower objective.
    gap : (objective - bound) / objective.
    candidates : features that are not ruled out.
    fixed_in : features that belong to every optimal model.
    n_groups : the size, where whole groups are selected.
    max_abs_coef : the bound on the coefficients under which the certificate holds.
    """

    C: float
    scaling: str
    objective: float
    bound: float
    gap: float
    proven: bool
    candidates: int
    fixed_in: int
    n_forced: int
    n_covariates: int
    loss: str
    fit_intercept: bool
    n_groups: int | None
    n_signed: int
    max_abs_coef: float | None

    def check(self) -> None:
        """Check that what is said of the proof follows from its figures."""
        gap = relative_gap(self.objective, self.bound)
        check(
            self.gap == gap and self.proven == (gap <= 1e-9),
            "gap and proven of a certificate must be those of its objective and bound",
        )


def summarize(certificate: Certificate | None) -> Certified | None:
    """Return the figures of a certificate; None where they are not finite."""
    if certificate is None or not np.isfinite([certificate.objective, certificate.bound]).all():
        return None
    found = {name: getattr(certificate, name) for name in Certified.__struct_fields__}
    return Certified(**plain(found, {}))


# Parts of models.


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A problem of the l1 family, or of a model without a refit, and how well it is solved."""

    C: Positive | None
    loss: str
    objective: Known
    gap: Known


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What the margins of a refit were multiplied by, and its log-loss out of fold."""

    scale: Positive
    cv_log_loss: Known


@dataclass(frozen=True, kw_only=True)
class ThresholdRecord:
    """From which probability, or score, a row is of the positive one of two classes."""

    positive: Literal[0, 1]  # its place among the sorted classes
    probability: Annotated[float, Meta(gt=0, lt=1)] | None
    score: float | None
    rule: str

    def __post_init__(self) -> None:
        """Check that it is one of both."""
        one = (self.probability is None) != (self.score is None)
        check(one, "a threshold is a probability or a score")

    @classmethod
    def of(cls, threshold: Threshold | None, classes: Any) -> ThresholdRecord | None:
        """Return the record of a threshold between two classes."""
        if threshold is None:
            return None
        labels = np.sort(np.asarray(classes)).tolist()
        if len(labels) != 2 or threshold.pos_label not in labels:
            raise ParameterError(
                "threshold",
                Message(
                    "must be of a model of two classes, one of which is its ",
                    Parameter("pos_label"),
                ),
                f"{threshold.pos_label!r:.50} of {len(labels)} classes",
                "Pass the estimator in it.",
            )
        value = float(threshold.threshold)
        if threshold.by_score and not math.isfinite(value):
            raise ParameterError("threshold", "must be a finite score", f"{value!r}")
        if not threshold.by_score and not 0 < value < 1:
            raise ParameterError(
                "threshold",
                "must be a probability above 0 and below 1",
                f"{value!r}",
                "Set another one, or use response_method='decision_function'.",
            )
        probability, score = (None, value) if threshold.by_score else (value, None)
        positive: Any = labels.index(threshold.pos_label)
        return cls(positive=positive, probability=probability, score=score, rule=threshold.rule)


@dataclass(frozen=True, kw_only=True)
class CriteriaRow:
    """The information criteria of a size: of features, or of [features, groups]."""

    size: Counted | Annotated[list[AtLeastOne], Meta(min_length=2, max_length=2)]
    log_loss: Known
    aic: Known
    bic: Known
    ebic: Known
    gic: Known


def tabulate(criteria: Mapping[str, NDArray[Any]] | None) -> list[dict[str, Any]]:
    """Return the columns of `criteria_` as rows, none where there are none; null for no number."""
    if criteria is None:
        return []
    names = ("log_loss", *CRITERIA)
    rows = zip(criteria["size"].tolist(), *(criteria[name] for name in names), strict=True)
    return [{"size": size, **known(**dict(zip(names, row, strict=True)))} for size, *row in rows]


@dataclass(frozen=True, kw_only=True)
class StepFigures:
    """A row of a history."""

    n_features: int
    objective: Known
    bound: Known
    gap: Known
    status: Literal[tuple(Status.__members__)] | None  # type: ignore[valid-type]


def known(**numbers: float) -> dict[str, float | None]:
    """Return numbers by name; None for NaN and infinity."""
    return {name: finite_or_none(value) for name, value in numbers.items()}


def finite_or_none(value: float) -> float | None:
    """Return a number, None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True, kw_only=True)
class LossRecord:
    """The loss of a model: a name and numbers. No file has anything imported."""

    name: str
    # Where it is not of this package: the name of its class, of which an object is to be passed.
    of_class: str | None
    parameters: dict[str, bool | int | float | str | None]

    @classmethod
    def of(cls, loss: Any) -> LossRecord:
        """Return the record of a loss: the fields of a dataclass, else its attributes.

        Raises
        ------
        TypeError
            Where another program could not import the class, or a parameter is no number or text.
        """
        kind = type(loss)
        own = _known().get(loss.name) is not kind
        path = f"{kind.__module__}.{kind.__qualname__}"
        found: Any = sys.modules.get(kind.__module__)
        for name in kind.__qualname__.split("."):
            found = getattr(found, name, None)
        if own and found is not kind:
            raise TypeError(
                "loss must be of a class at the top level of a module, so that whoever loads the "
                f"model can import it; got {path}. Define it in a module."
            )
        names = [one.name for one in fields(loss)] if is_dataclass(loss) else [*vars(loss)]
        parameters = {}
        for name in names:
            value = getattr(loss, name)
            value = value.item() if isinstance(value, np.generic) else value
            infinite = type(value) is float and not math.isfinite(value)
            if type(value) not in (bool, int, float, str, type(None)) or infinite:
                raise TypeError(
                    "loss must be stated with finite numbers and text to be saved; got "
                    f"{name}={value!r:.60} of {kind.__name__}."
                )
            parameters[name] = value
        return cls(name=str(loss.name), of_class=path if own else None, parameters=parameters)

    def made(self, losses: Iterable[Any]) -> Any:
        """Return the loss: one of this package, or one of those that were passed."""
        if self.of_class is None:
            known = _known()
            check(self.name in known, f"the loss must be one of {', '.join(known)}")
            try:
                return known[self.name](**self.parameters)
            except (TypeError, ValueError) as error:
                text = quote(str(error))
            raise ValueError(f"the parameters of the loss {self.name} are wrong ({text})")
        for loss in losses:
            if LossRecord.of(loss) == self:
                return loss
        stated = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        call = f"{self.of_class.rpartition('.')[2]}({stated})"
        raise ValueError(
            f"its loss is {call} of {self.of_class!r}, which is not of zeronorm, and nothing is "
            f"imported that a file names; import it, and load the model with losses=[{call}]"
        )


def _known() -> dict[str, type]:
    """Return the losses of this package that are not of labels, by name."""
    # On use: certificates are read, and verified, without.
    from ..losses import OF_NUMBERS, Cox

    return {one.name: type(one) for one in OF_NUMBERS} | {"cox": Cox, "cox_efron": Cox}


# How far predictions of numbers were from the targets of rows out of fold, for intervals.
#
# An interval is the prediction plus and minus a quantile of these absolute errors. Of rows
# exchangeable with those of the training it has its coverage approximately, where leaving a fold
# out changes the fit little, and on the average over rows: not given the features of one. No bound
# on it holds for all fits; that of CV+, which keeps the models of all folds, is 1 - 2 alpha for a
# coverage of 1 - alpha (Barber, Candes, Ramdas, Tibshirani, "Predictive inference with the
# jackknife+", The Annals of Statistics 49, 2021, where this interval is compared with it).

MOST = 1000  # order statistics that a file keeps


@dataclass(frozen=True, kw_only=True)
class Errors:
    """The number of rows out of fold, and order statistics of their absolute errors."""

    n: AtLeastOne
    absolute: Annotated[list[Annotated[float, Meta(ge=0)]], Meta(min_length=1)]

    def __post_init__(self) -> None:
        """Check that they are in order, and as many as there must be."""
        right = len(self.absolute) == min(self.n, MOST) and self.absolute == sorted(self.absolute)
        check(right, f"absolute errors must be {min(self.n, MOST)} numbers that grow")


def has_intervals(loss: Any, n_targets: int) -> bool:
    """Return whether a model may have intervals: of one target, by a loss of residuals."""
    return loss is not None and n_targets == 1 and bool(loss.of_residuals)


def summarize_errors(errors: Any) -> dict[str, Any]:
    """Return the fields of `Errors`.

    Of n rows all, or of more than 1000 those of the ranks ceil(i n / 1000).
    """
    values = np.asarray(errors, np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ParameterError(
            "errors",
            "must be finite numbers, one for each row out of fold",
            f"an array of shape {values.shape}",
        )
    n = values.size
    most = min(n, MOST)
    ranks = -(-np.arange(1, most + 1) * n // most)
    return asdict(Errors(n=n, absolute=np.sort(np.abs(values))[ranks - 1].tolist()))


def half_width(record: Mapping[str, Any], coverage: float) -> float:
    """Return the half of an interval: the absolute error of rank ceil((n + 1) coverage).

    Raises
    ------
    ValueError
        If the coverage is not between 0 and 1, or so high that no error has that rank.
    """
    if not 0 < coverage < 1:
        raise ParameterError("coverage", "must be above 0 and below 1", f"{coverage:g}")
    n, values = record["n"], record["absolute"]
    rank = max(1, math.ceil((n + 1) * coverage - 1e-9))
    if rank > n:
        raise ParameterError(
            "coverage",
            f"must be at most {n / (n + 1):.4g}, as there are the errors of {n} rows out of fold",
            f"{coverage:g}",
        )
    place = -(-rank * len(values) // n)
    return float(values[place - 1])


# Models.


@dataclass(frozen=True, kw_only=True)
class Hazard:
    """The cumulative baseline hazard of a stratum, at the score `highest_score`."""

    time: FloatArray
    hazard: FloatArray

    def __post_init__(self) -> None:
        """Check that it is one."""
        time, hazard = self.time, self.hazard
        check(time.ndim == 1 and time.shape == hazard.shape, "time and hazard must fit each other")
        check(time.size > 0, "time must have an event")
        check(bool((time >= 0).all() and (hazard >= 0).all()), "time, hazard must not be negative")
        grows = (time[1:] > time[:-1]).all() and (hazard[1:] >= hazard[:-1]).all()
        check(bool(grows), "time and hazard must grow within a stratum")


@dataclass(frozen=True, kw_only=True)
class ModelRecord(Header):
    """A model file."""

    estimator: str
    parameters: dict[str, Any]
    codings: list[dict[str, Any]]
    refit_C: list[Positive | None]
    certificates: list[Certified | None]
    history: list[list[StepFigures]]
    solutions: list[Solution]
    criteria: list[CriteriaRow]
    calibration: Calibration | None
    threshold: ThresholdRecord | None
    feature_groups: list[int | str] | None
    covariates: list[int]
    loss: LossRecord | None
    highest_score: float | None
    strata: list[Hazard] | None
    means: list[float] | None
    n_samples: AtLeastOne | None
    errors: Errors | None
    offset: bool
    support: IndexArray
    coef: FloatArray
    intercept: FloatArray
    report: NDArray[np.uint8]  # what `select` found, as JSON, compressed; empty: nothing

    def __post_init__(self) -> None:
        """Check what is of one model of several, and what is beside what."""
        super().__post_init__()
        self.check_classes(self.ordinal)
        check_codings(self.codings, check)
        labelled, calibration = self.loss is None, self.calibration
        check(labelled == (self.classes.size > 0), "classes must be none beside a loss of numbers")
        check(not labelled or self.errors is None, "errors must be null without a loss of numbers")
        losses: tuple[str, ...] = LABELLED
        if self.loss is not None:
            losses = (self.loss.name,)
        elif len(self.certificates) == 1 and "multi_class" in self.parameters:
            losses = (*LABELLED, *OF_ALL)
        for one in (*self.certificates, *self.solutions):
            known = one is None or one.loss in losses
            known = known or (labelled and one is not None and one.loss.startswith("measure "))
            check(known, f"the loss of a certificate or solution must be of {', '.join(losses)}")
        no_loss = calibration is None or calibration.cv_log_loss is None
        check(no_loss or labelled, "cv_log_loss must be null without classes")
        check(not (self.solutions and calibration), "calibration must be null beside solutions")
        if self.threshold is not None:
            check(self.classes.size == 2, "threshold must be null but for two classes")
            has_odds = {one.loss for one in self.solutions} <= {"logistic"}
            check(
                has_odds or self.threshold.probability is None,
                "threshold must be a score for a model without probabilities",
            )
        shared = not labelled or self.parameters.get("multi_class") == "multinomial"
        n_models = 1 if shared else self.n_scores
        for key in ("certificates", "history", "refit_C", "solutions"):
            optional = key == "solutions" or (key == "refit_C" and bool(self.solutions))
            entries = getattr(self, key)
            right = len(entries) == n_models or (optional and not entries)
            check(right, f"{key} must have {n_models} entries")
        for certified in self.certificates:
            if certified is not None:
                certified.check()
        self._check_columns()

    @property
    def ordinal(self) -> bool:
        """Whether the classes are ordered, with thresholds for intercepts."""
        return self.classes.size > 2 and self.parameters.get("loss") == "ordinal"

    @property
    def n_scores(self) -> int:
        """The number of scores: of several classes one for each, of numbers one per response."""
        if not self.classes.size:
            return self.n_responses
        return 1 if self.classes.size == 2 or self.ordinal else self.classes.size

    def _check_columns(self) -> None:
        """Check the columns of the model and what there is for each."""
        support, coef, intercept, k = self.support, self.coef, self.intercept, self.support.size
        # Not by differences, which may leave the range of int64.
        sorted_ = support.ndim == 1 and bool((support[1:] > support[:-1]).all())
        check(sorted_, "support must be sorted indices without repeats")
        check(k > 0 or bool(self.solutions), "support must be indices, at least one")
        least, last = (int(support[0]), int(support[-1])) if k else (0, 0)
        check(
            least >= 0 and last < self.n_features_in,
            f"support must be between 0 and {self.n_features_in - 1}; got {least} to {last}",
        )
        n = self.n_scores
        n_intercepts = self.classes.size - 1 if self.ordinal else n
        for name, values, shape in (
            ("coef", coef, (n, k)),
            ("intercept", intercept, (n_intercepts,)),
        ):
            check(values.shape == shape, f"{name} must be of shape {shape}; got {values.shape}")
        falls = not self.ordinal or bool((intercept[1:] < intercept[:-1]).all())
        check(falls, "intercept must fall: it is minus the thresholds between ordered classes")
        covariates = self.covariates
        among = {*covariates} <= {*support.tolist()} and covariates == sorted({*covariates})
        check(among, "covariates must be columns of the model, sorted, each once")
        check(len(covariates) < k or not covariates, "a model must have more than its covariates")
        for key in ("feature_groups", "means"):
            entries = getattr(self, key)
            check(entries is None or len(entries) == k, f"{key} must be {k}, one for each column")
