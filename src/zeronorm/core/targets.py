"""Checks of targets: labels, responses, events and times; of offsets and the weights of rows."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .errors import InPython, Message, Parameter, ParameterError
from .types import FloatArray
from .validation import LARGEST, as_numbers, check_not_negative, check_unmasked, plain, shown

# Labels of one of these are of one type, and so are those of any other class.
LABELS: tuple[Any, ...] = (str, bytes, numbers.Number | np.bool_)
# Numbers are taken for counts or measurements where there are more different ones than this, and
# fewer rows of each.
MANY_CLASSES, ROWS_OF_CLASS = 30, 5
NUMBERS = 10  # More classes than so many that are numbers may be counts or measurements.
LEAST_LOSS = 1e-100  # of C times the weights: squares of it are still normal numbers
LEAST_L1_LOSS = 1e-300  # It is not squared: the model without features is right down to here.
LEAST_WEIGHT = 1e-200  # Products of it with scores and shares stay normal numbers.
LEAST_SHARE = 1e-13  # of the weight: with less, rows or thresholds have no digits left

_WEIGHTS = Message("must be ", InPython("None, "), "'balanced'", InPython(" or a dict"))


def check_target(y: Any, n_samples: int, sample: str = "row of X") -> np.ndarray:
    """Return y as an array of labels, (n_samples,); `sample` is what messages call a sample."""
    one = sample.split()[0]
    if y is None:
        raise ValueError(
            f"requires y to be passed, but the target y is None; pass one label per {sample}."
        )
    if getattr(getattr(y, "dtype", None), "names", None) is not None:
        raise ParameterError(
            "y",
            f"must be one label per {sample}",
            f"a structured array of {y.dtype.names}",
            "Events and times are for BudgetSurvivalAnalysis.",
        )
    check_unmasked("y", y)
    columns = responses(y)
    if columns is not None:
        raise ValueError(
            f"y should be a 1d array, one label per {sample}; got {len(columns)} columns. "
            f"{_remedy_of_columns(y)}"
        )
    if class_order(y) is not None:
        y = np.asarray(y)
    # A sequence would become an array of strings, None and NaN too.
    if isinstance(y, Sequence) and not isinstance(y, str):
        check_labels(y, sample)
    y = column_or_1d(y, warn=True)
    if y.dtype.kind in "OmM":  # other types have no missing values but NaN
        check_labels(y, sample)
    assert_all_finite(y, input_name="y")
    _check_few(y)
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise ValueError(f"{error} Numbers are for BudgetRegressor or L1Regressor.") from None
    if len(y) != n_samples:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"y must have one label per {sample}; got {len(y)} labels for {n_samples} {one}s."
        )
    return np.asarray(y)


def _remedy_of_columns(y: Any) -> str:
    """Return what to do with several columns: labels as yes and no, one-hot classes, numbers."""
    values = np.asarray(y)
    try:
        indicators = bool(np.isin(values, (0, 1)).all())
    except TypeError:  # what NumPy cannot compare
        indicators = False
    if not indicators:
        return "Several columns of numbers are for BudgetRegressor."
    if (values.sum(axis=1) == 1).all():
        return "They are one class in each row: pass y.argmax(axis=1)."
    return (
        "Several labels of a row are for scikit-learn's MultiOutputClassifier or "
        "OneVsRestClassifier around this estimator, which fit a model for every label."
    )


def _check_few(y: np.ndarray) -> None:
    """Raise where integers are so many that they can hardly be classes."""
    if y.dtype.kind not in "iuf" or not (y % 1 == 0).all():
        return
    n_classes = np.unique(y).size
    if n_classes > MANY_CLASSES and n_classes > y.size / ROWS_OF_CLASS:
        raise ParameterError(
            "y",
            "must be labels of classes",
            f"{n_classes} different numbers in {y.size} rows",
            Message(
                "Counts and other numbers are for BudgetRegressor (",
                Parameter.of("loss", "poisson"),
                " of counts); if they are names of classes, convert them to strings.",
            ),
        )


def count_numbers(labels: np.ndarray) -> int:
    """Return how many classes there are that seem to be numbers; 0 where they are few, or names."""
    classes = np.unique(labels)
    if classes.size <= NUMBERS:
        return 0
    if classes.dtype.kind not in "iuf":
        try:
            classes.astype(np.float64)
        except (TypeError, ValueError):
            return 0
    return classes.size


def class_order(y: Any) -> np.ndarray | None:
    """Return the categories of an ordered categorical, as of pandas, in their order; else None."""
    kind: Any = getattr(y, "dtype", None)
    if getattr(kind, "ordered", None) is not True:
        return None
    return np.asarray(kind.categories)


def check_ordered(y: Any) -> None:
    """Raise where labels have no order of their own: where they are no numbers."""
    labels = np.asarray(y)
    if labels.dtype.kind not in "iufb":
        first = plain(labels.ravel()[0]) if labels.size else "none"
        raise ParameterError(
            "y",
            Message(
                "must have an order for ",
                Parameter.of("loss", "ordinal"),
                ": numbers, which are ordered by their size, or an ordered categorical",
            ),
            f"labels such as {first!r:.40}",
            "Use pandas.Categorical(y, [lowest, ..., highest], ordered=True), or number the "
            "classes.",
        )


def check_response(y: Any, n_samples: int) -> FloatArray:
    """Return the real target of a regression, (n_samples,): finite numbers."""
    if y is None:
        raise ValueError(
            Message(
                "requires y to be passed, but the target y is None; pass one number per row of ",
                Parameter("X"),
                ".",
            )
        )
    check_unmasked("y", y)
    values = None
    if getattr(getattr(y, "dtype", None), "kind", "") != "c":
        y = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)
        values = as_numbers(y)
    if values is None:
        raise ParameterError(
            "y",
            Message("must be numbers, one per row of ", Parameter("X")),
            shown(y),
            "Convert strings, complex and missing values to floats, or use BudgetClassifier for "
            "labels, BudgetSurvivalAnalysis for events and times.",
        )
    assert_all_finite(values, input_name="y")
    if len(values) != n_samples:
        raise ValueError(
            Message(
                "Found input variables with inconsistent numbers of samples: y must have one "
                "number per row of ",
                Parameter("X"),
                f"; got {len(values)} numbers for {n_samples} rows.",
            )
        )
    if n_samples < 2:
        raise ParameterError(
            "X", "must have at least two rows for a regression", f"{n_samples} sample"
        )
    largest = np.abs(values).max()
    if largest > LARGEST or 0 < largest < 1 / LARGEST:
        rule = f"at most {LARGEST:g}" if largest > 1 else f"somewhere at least {1 / LARGEST:g}"
        raise ParameterError("y", f"must be {rule} in magnitude", f"{largest:g}", "Rescale it.")
    return values


def responses(y: Any) -> np.ndarray | None:
    """Return the columns of a target of several responses; None where it is none."""
    try:
        found = np.asarray(y)
    except ValueError:  # a ragged sequence
        return None
    if found.ndim != 2 or found.shape[1] < 2:
        return None
    check_unmasked("y", y)
    return found.T


def check_range(loss: Any, y: FloatArray) -> FloatArray:
    """Return a target whose numbers are where those of a loss are."""
    if loss.target == "any":
        return y
    bad = np.flatnonzero(~((y > 0) if loss.target == "positive" else (y >= 0)))
    if bad.size:
        raise ParameterError(
            "y",
            Message(f"must be {loss.target} for ", Parameter.of("loss", loss.name)),
            f"{y[bad[0]]:g} at row {bad[0]}",
            Message("Remove such rows, or use ", Parameter.of("loss", "least_squares"), "."),
        )
    return y


def check_some_positive(loss: Any, y: FloatArray) -> None:
    """Raise where no row of positive weight has a positive count."""
    if loss.target == "not negative" and not (y > 0).any():
        raise ParameterError(
            "y",
            Message("must have a positive number for ", Parameter.of("loss", loss.name)),
            "only zeros, of which the best mean is 0",
        )


def check_offset(offset: Any, n_samples: int, largest: float) -> FloatArray:
    """Return offsets of the margins, (n_samples,): numbers, at most `largest` in magnitude."""
    check_unmasked("offset", offset)
    values = as_numbers(offset)
    if values is not None and values.ndim == 0:
        values = np.full(n_samples, float(values))
    if values is None or values.shape != (n_samples,):
        raise ParameterError(
            "offset",
            Message(
                "must be numbers, one per row of ",
                Parameter("X"),
                f" ({n_samples}, or one for all)",
            ),
            shown(offset),
        )
    bad = np.flatnonzero(~(np.abs(values) <= largest))
    if bad.size:
        raise ParameterError(
            "offset",
            f"must be finite, at most {largest:g} in magnitude",
            f"{values[bad[0]]:g} at row {bad[0]}",
            "Of an exposure it is the logarithm, which a positive exposure has.",
        )
    return values


def check_new_offset(
    offset: Any, n_samples: int, largest: float, *, fitted: bool
) -> FloatArray | None:
    """Return the offset of new rows, (n_samples,); None where neither they nor the fit have one.

    fitted : whether the model was fitted with an offset, without which it predicts other numbers.
    """
    if offset is not None:
        return check_offset(offset, n_samples, largest)
    if fitted:
        raise ParameterError(
            "offset",
            "is needed: the model was fitted with one",
            "",
            Message(
                "Pass offset= for the rows of ",
                Parameter("X"),
                ", or ",
                Parameter.of("offset", 0),
                " for predictions without it (of counts, the rate per unit of exposure).",
            ),
        )
    return None


def check_labels(y: Iterable[Any], sample: str, name: str = "y") -> None:
    """Raise where a label is missing, or where labels are of several types, as numbers and text."""
    one = sample.split()[0]
    first: tuple[Any, Any, int] | None = None
    for place, label in enumerate(y):
        while isinstance(label, (list, tuple)) and len(label) == 1:  # a column
            label = label[0]
        if _is_missing(label):
            raise ParameterError(
                name,
                f"must have a label for every {sample}",
                f"{label!r} at {one} {place}",
                f"Remove such {one}s, or give them a label.",
            )
        kind = next((k for k in LABELS if isinstance(label, k)), type(label))
        if first is None:
            first = (kind, label, place)
        elif first[0] != kind:
            raise ParameterError(
                name,
                "must have labels of one type",
                f"{plain(first[1])!r} at {one} {first[2]} and {plain(label)!r} at {one} {place}",
                "Convert them to strings, or to numbers.",
            )


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, or pandas' or NumPy's mark of what is missing."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    # NumPy's dates and durations are not equal to themselves either where they are missing.
    comparable = isinstance(label, (numbers.Number, np.datetime64, np.timedelta64))
    return comparable and bool(label != label)


def check_two_classes(classes: np.ndarray) -> None:
    """Raise where the labels (of rows with positive weight) have fewer than two classes."""
    if len(classes) < 2:
        label = plain(classes[0]) if len(classes) else "none"
        raise ParameterError("y", "must have at least two classes", f"one class: {label!r}")


def check_pos_label(classes: np.ndarray, pos_label: Any) -> tuple[np.ndarray, bool]:
    """Return the classes with `pos_label` the second of two, and whether that reversed them."""
    if pos_label is None:
        return classes, False
    if len(classes) != 2:
        raise ParameterError(
            "pos_label",
            "is for two classes",
            f"{len(classes)}, each of which is the positive one in turn",
            "Leave it out.",
        )
    place = np.flatnonzero(classes == pos_label)
    if place.size != 1:
        raise ParameterError(
            "pos_label", f"must be one of the classes {classes.tolist()}", shown(pos_label)
        )
    return (classes, False) if place[0] == 1 else (classes[::-1], True)


def check_sample_weight(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return weights as (n_samples,) float64: finite, not negative, not all zero."""
    if sample_weight is None:
        return np.ones(n_samples)
    check_unmasked("sample_weight", sample_weight)
    weight = as_numbers(sample_weight)
    if weight is None:
        raise ParameterError(
            "sample_weight",
            Message("must be numbers, one per row of ", Parameter("X")),
            shown(sample_weight),
            "Convert strings, complex and missing values to floats.",
        )
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar; got shape {weight.shape}.")
    if len(weight) != n_samples:
        raise ParameterError(
            "sample_weight",
            Message("must have one weight per row of ", Parameter("X"), f" ({n_samples})"),
            str(len(weight)),
        )
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if bad.size:
        raise ParameterError(
            "sample_weight", "must be finite and not negative", f"{weight[bad[0]]} at row {bad[0]}"
        )
    if not np.any(weight > 0):
        raise ParameterError("sample_weight", "must have a positive weight", "only zeros")
    return weight


def class_factors(class_weight: Any, y: np.ndarray, weight: FloatArray) -> FloatArray:
    """Return the class weight of every row, (n_samples,).

    "balanced" gives every class the same total, sum(weight) / n_classes, of the weighted samples:
    integer weights equal repeated rows.
    """
    if class_weight is None:
        return np.ones(len(y))
    classes, codes = np.unique(y, return_inverse=True)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ParameterError("class_weight", _WEIGHTS, shown(class_weight))
        totals = np.bincount(codes, weights=weight)
        factors = np.where(
            totals > 0, weight.sum() / (len(classes) * np.maximum(totals, 1e-300)), 0.0
        )
        return np.asarray(factors[codes])
    if not isinstance(class_weight, dict):
        raise ParameterError("class_weight", _WEIGHTS, shown(class_weight))
    unknown = [label for label in class_weight if label not in set(classes.tolist())]
    if unknown:
        raise ParameterError(
            "class_weight",
            f"has the label {plain(unknown[0])!r}, which is not in y (labels "
            f"{[plain(label) for label in classes.tolist()]!r})",
        )
    values = [
        check_not_negative("class_weight", class_weight.get(c, 1.0)) for c in classes.tolist()
    ]
    return np.asarray(np.array(values)[codes])


def check_total_weight(C: float, weight: FloatArray, least: float = LEAST_LOSS) -> None:
    """Raise where C times a weight would overflow or vanish, or one row has all the weight."""
    if C * float(weight.max()) > LARGEST:
        raise ValueError(
            Message(
                "sample_weight (times ",
                Parameter("class_weight"),
                f" and C) must be at most {LARGEST:g}; got {C * float(weight.max()):g}.",
            )
        )
    largest, total = float(weight.max()), float(weight.sum())
    if largest < LEAST_WEIGHT:
        raise ValueError(
            Message(
                "sample_weight (times ",
                Parameter("class_weight"),
                f") must be at least {LEAST_WEIGHT:g} in some row; got {largest:g}. Divide the "
                "weights by their mean.",
            )
        )
    if C * total < least:
        raise ParameterError(
            "C",
            Message(
                "times the sum of sample_weight (times ",
                Parameter("class_weight"),
                f") must be at least {least:g}",
            ),
            f"{C * total:g}",
            "Such a loss moves no coefficient: use a larger C.",
        )
    others = float(weight[np.arange(weight.size) != weight.argmax()].sum())
    if 0.0 < others <= LEAST_SHARE * total:
        raise ValueError(
            Message(
                "sample_weight (times ",
                Parameter("class_weight"),
                f" and the exposure of an offset) must leave more than {LEAST_SHARE:g} of the "
                f"whole weight to all rows but one; got {others / total:g}: beside row "
                f"{int(weight.argmax())} nothing of them is left in floating point. Lower that "
                "weight, or pass that row alone.",
            )
        )


def check_weight_of_classes(codes: np.ndarray, weight: FloatArray) -> None:
    """Raise where an ordered class has so little weight that its thresholds would be one number."""
    share = np.bincount(codes, weight) / weight.sum()
    if not share.min() >= LEAST_SHARE:
        raise ValueError(
            Message(
                "sample_weight (times ",
                Parameter("class_weight"),
                f") must give every class at least {LEAST_SHARE:g} of the whole weight for ",
                Parameter.of("loss", "ordinal"),
                f"; got {share.min():g}. Remove the rows of that class, or raise their weights.",
            )
        )


# Survival targets: events and times.

FORM = (
    "what zeronorm.survival_target(time, event) returns, or a structured array or data frame with "
    "columns of the names event (True, or False where a row is censored), time and maybe stratum, "
    "with start and stop instead of time where rows come under observation late; columns of other "
    "names stand in the order event, time, stratum"
)
NAMES = (("event", "status"), ("stop", "time"), ("stratum", "strata"))


def check_survival(y: Any, n_samples: int) -> FloatArray:
    """Return (n_samples, 3) of survival times: time, event (0 or 1) and number of the stratum.

    Where rows come under observation late, so that it matters, (n_samples, 4): the start as well.
    """
    if y is None:
        raise ValueError(f"requires y to be passed, but the target y is None; pass {FORM}.")
    columns, start = _by_name(_columns(y))
    if not 2 <= len(columns) <= 3:
        raise ParameterError("y", f"must be {FORM}", f"{len(columns)} columns")
    event, time = columns[0], as_numbers(columns[1])
    if len(event) != n_samples:
        raise ValueError(
            Message(
                "Found input variables with inconsistent numbers of samples: y must have one time "
                "per row of ",
                Parameter("X"),
                f"; got {len(event)} times for {n_samples} rows.",
            )
        )
    if not all(
        isinstance(one, (bool, np.bool_, numbers.Real)) and one in (0, 1) for one in event.tolist()
    ):
        known = [plain(one) for one in np.unique(event.astype(str))[:5]]
        raise ValueError(
            f"the event of y must be True or False (or 1 and 0); got {known}. "
            "Compare it with what stands for an event: status == 2, for example."
        )
    if time is None or time.shape != (n_samples,):
        raise ValueError(f"the time of y must be numbers; got {shown(columns[1])}.")
    bad = np.flatnonzero(~((time >= 0) & (time <= LARGEST)))
    if bad.size:
        raise ValueError(
            f"the time of y must be finite and not negative, at most {LARGEST:g}; got "
            f"{time[bad[0]]:g} at row {bad[0]}. Remove such rows."
        )
    stratum = np.zeros(n_samples)
    if len(columns) == 3:
        named = np.array([str(one) for one in columns[2].tolist()])
        missing = np.flatnonzero(np.isin(named, ("nan", "None", "<NA>", "NaT")))
        if missing.size:
            raise ValueError(
                f"the stratum of y must be there; got {named[missing[0]]} at "
                f"row {missing[0]}. Give such rows a stratum of their own, or remove them."
            )
        stratum = np.unique(named, return_inverse=True)[1].astype(np.float64)
    found = np.column_stack([time, event.astype(np.float64), stratum])
    return found if start is None else _with_start(found, as_numbers(start))


def _by_name(named: dict[str, np.ndarray]) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Return event, time and maybe stratum, and the start where a column is named so."""
    by_name = {name.lower(): values for name, values in named.items()}
    if "start" not in by_name:
        event, time = ([name for name in names if name in by_name] for names in NAMES[:2])
        if not event or not time:
            return list(named.values()), None
        if len(event) > 1 or len(time) > 1:
            raise ParameterError(
                "y",
                "must have one event and one time",
                f"{list(named)}",
                f"Leave out one of {' and '.join(map(repr, event if len(event) > 1 else time))}.",
            )
        stratum = [values for name, values in by_name.items() if name not in (event[0], time[0])]
        return [by_name[event[0]], by_name[time[0]], *stratum], None
    found = []
    for names in NAMES:
        known = [name for name in names if name in by_name]
        if len(known) > 1 or (not known and names is not NAMES[2]):
            raise ParameterError(
                "y",
                f"has a column 'start', so it must have one {' or '.join(map(repr, names))}",
                f"{list(named)}",
            )
        found += [by_name[name] for name in known]
    if len(found) + 1 < len(named):
        raise ParameterError("y", f"must be {FORM}", f"{list(named)}")
    return found, by_name["start"]


def _with_start(found: FloatArray, start: FloatArray | None) -> FloatArray:
    """Return a target with its starts; without them where all rows are there from the first on."""
    if start is None or start.shape != (len(found),):
        raise ValueError(f"the start of y must be numbers; got {shown(start)}.")
    bad = np.flatnonzero(~((start >= -LARGEST) & (start < found[:, 0])))
    if bad.size:
        raise ValueError(
            f"the start of y must be before the stop; got {start[bad[0]]:g} and "
            f"{found[bad[0], 0]:g} at row {bad[0]}. Remove such rows, which are under observation "
            "for no time, or correct them."
        )
    events = found[:, 1] > 0
    if not events.any() or start.max() < found[events, 0].min():
        return found
    return np.column_stack([found, start])


def _columns(y: Any) -> dict[str, np.ndarray]:
    """Return the columns of a structured array or of a data frame."""
    if hasattr(y, "columns") and hasattr(y, "__len__"):
        import narwhals as nw

        frame = nw.from_native(y, eager_only=True)
        return {str(name): frame[name].to_numpy() for name in frame.columns}
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is None:
        raise ParameterError("y", f"must be {FORM}", shown(y))
    for name in names:
        check_unmasked("y", y[name])
    return {name: np.asarray(y[name]) for name in names}


def check_events(y: FloatArray) -> None:
    """Raise where rows of positive weight have no event that another row outlives."""
    if not (y[:, 1] > 0).any():
        raise ParameterError(
            "y",
            "must have an event; all rows (of positive weight) are censored",
            "",
            "Check how events are coded: the first column is True where there is one.",
        )
    for stratum in np.unique(y[:, 2]):
        own = y[y[:, 2] == stratum]
        time, event = own[:, :2].T
        if y.shape[1] == 4:
            times, deaths = np.unique(time[event > 0], return_counts=True)
            at_risk = [((own[:, 3] < t) & (time >= t)).sum() for t in times]
            if (at_risk > deaths).any():
                return
            continue
        first = time[event > 0].min(initial=np.inf)
        at_risk = time >= first
        if at_risk.sum() > 1 and not (event[at_risk].all() and (time[at_risk] == first).all()):
            return
    raise ParameterError(
        "y",
        "must have an event at which other rows are at risk and live on",
        "none: there is nothing to compare",
        "Use later times, or fewer strata.",
    )
