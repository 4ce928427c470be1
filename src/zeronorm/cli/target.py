"""The data of a command, and their target: classes, numbers, counts or survival times."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.files import quote
from ..core.messages import Doubt, Leaked, remedy, show
from ..core.targets import MANY_CLASSES, ROWS_OF_CLASS, check_target
from ..core.targets import NUMBERS as DISTINCT
from ..io.input import Response, listed, read_table
from ..io.meaning import (
    Unclear,
    date_of,
    days_of,
    is_written_out,
    number_problem,
    numbers_of,
    order_of,
    unit_of,
)
from ..io.read import WITH_COLUMNS
from ..io.table import ROLES
from ..io.texts import Texts, strict_float
from ..reporting.warnings import NUMBERS, RepeatedNames, alike_labels
from .options import DiscoverOptions, PathOptions, ReadingOptions, SelectOptions, VerifyOptions

if TYPE_CHECKING:
    from ..io.table import Dataset, Layout


_EVENTS = {"1": True, "0": False, "true": True, "false": False}


def columns_of(
    options: ReadingOptions,
) -> dict[str, str]:
    """Return the columns that the options name beside the target, by what they are."""
    named = {role: getattr(options, role, None) for role in ROLES}
    found = {role: str(name) for role, name in named.items() if name is not None}
    column, equals, value = found.get("event", "").rpartition("=")
    if equals:
        found |= {"event": column, "event_value": value}
    return found


def dates_of(options: ReadingOptions) -> dict[str, str]:
    """Return how dates are written, as `response_of` takes it; nothing where no option says it."""
    return {} if options.dates is None else {"dates": options.dates}


def read_response(
    options: SelectOptions | VerifyOptions | PathOptions | DiscoverOptions,
    task: str,
    like: Layout | None = None,
) -> tuple[Dataset, Response]:
    """Return the data, and the target that they must have; of numbers not only one."""
    survival = task == "survival"
    columns = columns_of(options)
    dropped, force = [*(options.drop or ())], getattr(options, "force", None) or ()

    def read_without(*names: str) -> Dataset:
        dropped.extend(names)
        return read_table(
            options.data, options.target, samples=options.samples or (), id=options.id, like=like,
            need_labels=not survival, columns=columns, drop=dropped, only=options.only or (),
            where=options.where,
            missing=getattr(options, "missing", None), na=options.na, dates=options.dates,
            decimal=options.decimal, encoding=options.encoding, layer=options.layer,
            covariates=_covariates_of(options), force=force, by_position=options.by_position,
            transpose=options.transpose, feature_names=options.feature_names,
            intercept=getattr(options, "intercept", True),
            threads=getattr(options, "threads", None),
        )  # fmt: skip

    table = read_without()
    if like is None:
        kept = [*(getattr(options, "keep", None) or ()), *_covariates_of(options), *force]
        again = read_without if table.form in WITH_COLUMNS and options.data != "-" else None
        table = _without_row_numbers(table, kept, table.n_before, again)
    if table.y is None and not survival:
        raise ValueError(f"{options.data}: nothing says what to predict; name it with --target.")
    known = {} if like is None else like.columns
    by_loss = isinstance(options, PathOptions)
    order = getattr(options, "order", None)
    names = {**known, **columns, **dates_of(options)}
    response = response_of(table, task, options.data, names, by_loss, order)
    if survival and "time_from" in table.columns:
        dates = _order_of_times(table, options.data, names.get("dates"))
        table = replace(table, column_names={**table.column_names, "dates": dates})
    if by_loss and response.task != "survival" and response.y.ndim == 2:
        raise ValueError(
            f"{options.data}: a path is for one target; got {response.y.shape[1]} responses. Name "
            "one of them with --target."
        )
    if response.task in ("numbers", "counts"):
        for name, column in _targets_of(table, response.y):
            if (column == column[0]).all():
                raise ValueError(
                    f"{options.data}: the {name} is {column[0]:g} in all samples; there is nothing "
                    "to explain. Name another one with --target."
                )
            _check_range(response.task, column, getattr(options, "loss", None), options.data)
    repeated = RepeatedNames()
    repeated.take(table)
    notes = [*table.notes, *repeated.notes(), *alike_labels(response)]
    return replace(table, notes=tuple(notes)), replace(response, groups=_groups_of(table))


def _covariates_of(options: Any) -> list[str]:
    """Return the names of --covariates, of commands that have them."""
    text = getattr(options, "covariates", None)
    return [] if text is None else [name.strip() for name in text.split(",")]


def _targets_of(table: Dataset, y: Any) -> list[tuple[str, Any]]:
    """Return the columns of a target, each with what messages call it."""
    given = table.target_name or "y"
    names = (given,) if isinstance(given, str) else given
    columns = [y] if y.ndim == 1 else y.T
    return [(f"target {quote(name)}", column) for name, column in zip(names, columns, strict=True)]


def _check_range(task: str, y: Any, loss: str | None, data: str) -> None:
    """Refuse numbers that counts, or a loss of positive numbers, cannot be."""
    positive, counts = loss == "gamma", task == "counts"
    if not (positive or counts):
        return
    bad = (~(y > 0) if positive else ~(y >= 0)).nonzero()[0]
    if bad.size:
        rule = "positive for --loss gamma" if positive else "0 or more for counts"
        remedy = "say --loss least_squares" if positive else "say --task numbers"
        raise ValueError(
            f"{data}: the target must be {rule}; got {y[bad[0]]:g} in sample {bad[0] + 1}. Remove "
            f"such rows, or {remedy}."
        )


def response_of(
    table: Dataset,
    task: str,
    data: str,
    columns: Mapping[str, str],
    by_loss: bool = False,
    order: str | None = None,
) -> Response:
    """Return the target of a task in a table.

    task : "auto" where the target itself tells. columns : as of `columns_of`.
    by_loss : as of `_labels`. order : the labels of ordered classes, with commas between them.
    """
    guess = None
    offset = offset_of(table, data)
    if task == "survival":
        return Response(task, _survival(table, data, columns))
    y: Any = table.y
    if y.ndim == 2 and task in ("classes", "ordered"):
        remedy = "" if by_loss else ", or say --task numbers"
        raise ValueError(
            f"{data}: classes are one target; got {y.shape[1]} columns. Name one of them with "
            f"--target{remedy}."
        )
    if task == "auto" and y.ndim == 2:
        task = "numbers"
    if task == "auto":
        task, guess = _guess(y, _targets_of(table, y)[0][0], data)
        if offset is not None and task == "classes":
            task, guess = "numbers", None
    targets = _targets_of(table, y)
    if task in ("classes", "ordered"):
        labels = _labels(y, targets[0][0], data, by_loss)
        known = _in_order(labels, order, targets[0][0], data) if task == "ordered" else None
        return Response(task, labels, guess=guess, order=known)
    numbers = [_numbers(column, name, data) for name, column in targets]
    return Response(task, numbers[0] if y.ndim == 1 else np.column_stack(numbers), offset, guess)


def _guess(y: Any, name: str, data: str) -> tuple[str, str | None]:
    """Return what a target is, and why, where it could be something else.

    name : of the target, for messages. data : what it is of.
    """
    values, counts = np.unique(y, return_counts=True)
    if y.dtype.kind == "U":
        _refuse_dates(values.tolist(), name, data)
    unit = _unit(y) if y.dtype.kind == "U" and values.size > DISTINCT else None
    if unit is not None:
        written = f" with the unit {unit!r}" if unit else ""
        return "numbers", f"{values.size:,} distinct numbers{written} in {y.size:,} rows"
    _refuse_spoilt_numbers(y, name, data)
    if y.dtype.kind not in "iuf":
        many = values.size > max(DISTINCT, y.size / 2)  # as dates and names are
        return "classes", f"{values.size:,} distinct texts in {y.size:,} rows" if many else None
    if y.dtype.kind == "f":  # not whole: no classes, however few
        return "numbers", f"{values.size:,} distinct values in {y.size:,} rows"
    if values.size <= 2:
        return "classes", None
    found = f"{values.size:,} distinct whole numbers in {y.size:,} rows"
    counted = ", or --task counts if they count something" if values[0] >= 0 else ""
    few = values.size <= max(MANY_CLASSES, y.size / ROWS_OF_CLASS)
    if few and (values.size <= DISTINCT or counts.min() > 1):
        return "classes", f"{found}; say --task numbers if they are measurements{counted}"
    counted = counted.replace(", or", "; say", 1)
    return "numbers", f"{found}{counted}"


def _refuse_dates(values: list[str], name: str, data: str) -> None:
    """Refuse labels most of which are dates: each would be a class."""
    dates = [text for text in values if date_of(text) is not None]
    if 2 * len(dates) > len(values) > 2:
        raise ValueError(
            f"{data}: the {name} has dates, as {quote(dates[0])}, which are no classes. Write the "
            "number that is to be predicted, as days; name dates of survival with --task survival "
            "--time COLUMN --time-from COLUMN; or say --task classes."
        )


def _refuse_spoilt_numbers(y: Any, name: str, data: str) -> None:
    """Refuse text of many values most of which are numbers: a few slips make a class of each."""
    if y.dtype.kind != "U":
        return
    values = np.unique(y).tolist()
    odd = {text for text in values if strict_float(text) is None}
    commas = {text for text in odd if strict_float(text.replace(",", ".", 1)) is not None}
    if not odd or len(values) <= DISTINCT or 2 * len(odd - commas) >= len(values):
        return
    row, text = next((row, text) for row, text in enumerate(y.tolist()) if text in (commas or odd))
    remedy = "Mend such values; names of classes that look like numbers need --task classes."
    if commas:
        remedy = "Write decimals with a point, thousands without a comma."
    raise ValueError(
        f"{data}: the {name} must be numbers, as most of it are, or classes; got {quote(text)} in "
        f"sample {row + 1}. {remedy}"
    )


def _unit(y: Any) -> str | None:
    """Return the unit of text that is numbers all along, "" for none; None of other text."""
    counts = Texts.of(y.tolist()).counts()
    unit = unit_of(counts)
    if unit is None or number_problem(counts, unit) is not None:
        return None
    return unit if unit or is_written_out(counts) else None


def _labels(y: Any, name: str, data: str, by_loss: bool) -> Any:
    """Return labels of classes, which real numbers and very many whole ones are not.

    by_loss : whether the command has no --task, so that another loss says another target.
    """
    try:
        return check_target(y, y.size)
    except ValueError:
        n_values = np.unique(y).size
        if y.dtype.kind not in "iuf" or n_values <= 2:
            raise
        numbers, counts = "--task numbers", "--task counts"
        if by_loss:
            numbers, counts = "--loss least_squares", "--loss poisson"
        raise ValueError(
            f"{data}: the {name} has {n_values:,} distinct "
            f"numbers in {y.size:,} rows, which cannot be classes; say {numbers}, or {counts} "
            "if they count something. Names of classes are text."
        ) from None


def _in_order(labels: Any, order: str | None, name: str, data: str) -> Any:
    """Return the labels from the lowest to the highest; numbers are by their size."""
    classes = np.unique(labels)
    if order is None:
        if labels.dtype.kind not in "iuf":
            raise ValueError(
                f"{data}: the {name} is text, which has no order; say --order with its classes, "
                f"the lowest first. They are, by the alphabet: {listed(classes)}."
            )
        return classes
    known = {str(label): label for label in classes.tolist()}
    given = [text.strip() for text in order.split(",")]
    if len(set(given)) < len(given) or set(given) != set(known):
        raise ValueError(
            f"--order must have every class of the {name} once, with commas between them: "
            f"{listed(classes)}; got {quote(order)}."
        )
    return np.array([known[text] for text in given], classes.dtype)


def _numbers(values: Any, name: str, data: str) -> Any:
    """Return a column of finite numbers as floats, without the unit that they share."""
    if values.dtype.kind == "U" and _unit(values) is not None:
        return numbers_of(Texts.of(values.tolist()))
    if values.dtype.kind == "U":
        numbers = [strict_float(text) for text in values.tolist()]
        number, bad = next(
            (row, text)
            for row, (value, text) in enumerate(zip(numbers, values.tolist(), strict=True), 1)
            if value is None or not np.isfinite(value)
        )
        raise ValueError(
            f"{data}: the {name} must be finite numbers; got {quote(bad)} in sample {number}."
        )
    return values.astype(np.float64)


def offset_of(table: Dataset, data: str) -> Any:
    """Return the offset that a table has, as such or as an exposure; None without."""
    for role in ("offset", "exposure"):
        if role not in table.columns:
            continue
        name = f"{role} {quote(table.column_names[role])}"
        values = _numbers(table.columns[role], name, data)
        if role == "offset":
            return values
        bad = np.flatnonzero(values <= 0)
        if bad.size:
            raise ValueError(
                f"{data}: the {name} must be positive; got {values[bad[0]]:g} in sample "
                f"{bad[0] + 1}. Remove such rows."
            )
        return np.log(values)
    return None


def _survival(table: Dataset, data: str, columns: Mapping[str, str]) -> Any:
    """Return events, times and maybe strata, as a structured array. columns : as of `columns_of`.

    Dates become days since those of `time_from`.
    """
    for role in ("time", "event"):
        if role not in table.columns:
            raise ValueError(f"{data}: survival times are needed; say where with --{role} COLUMN.")
    time_name = f"time {quote(table.column_names['time'])}"
    numbers = _times(table, data, columns.get("dates"))
    time = numbers["time"]
    bad = np.flatnonzero(time < 0)
    if bad.size:
        raise ValueError(
            f"{data}: the {time_name} must not be negative; got {time[bad[0]]:g} in sample "
            f"{bad[0] + 1}. Remove such rows."
        )
    value = columns.get("event_value")
    event = _events(table.columns["event"], table.column_names["event"], data, value)
    parts = {"event": event, "time": time}
    if "start" in table.columns:
        name = f"start {quote(table.column_names['start'])}"
        parts["start"] = start = numbers["start"]
        bad = np.flatnonzero(start >= time)
        if bad.size:
            raise ValueError(
                f"{data}: the {name} must be before the time; got {start[bad[0]]:g} and "
                f"{time[bad[0]]:g} in sample {bad[0] + 1}. Remove such rows, or correct them."
            )
    if "strata" in table.columns:
        parts["stratum"] = table.columns["strata"]
    y = np.empty(time.size, [(part, values.dtype) for part, values in parts.items()])
    for part, values in parts.items():
        y[part] = values
    return y


def _times(table: Dataset, data: str, dates: str | None) -> dict[str, Any]:
    """Return the times and starts as numbers: of dates the days since those of `time_from`.

    dates : how they are written, one of `ORDERS`; None: as all of them together say.
    """
    known = {role: table.columns[role] for role in ("time", "start") if role in table.columns}
    if "time_from" in table.columns:
        order = _order_of_times(table, data, dates)
        since = "2000-01-01"
        roles = {**known, "time_from": table.columns["time_from"]}
        days = {
            role: days_of(Texts.of(map(str, values.tolist())), order, since)
            for role, values in roles.items()
        }
        return {role: days[role] - days["time_from"] for role in known}
    for role, values in known.items():
        if values.dtype.kind == "U" and date_of(values[0]) is not None:
            way = remedy("say --time-from COLUMN, with the date at which the time begins")
            name = f"{role} {quote(table.column_names[role])}"
            raise ValueError(f"{data}: the {name} has dates, as {quote(values[0])}.{way}")
    return {
        role: _numbers(values, f"{role} {quote(table.column_names[role])}", data)
        for role, values in known.items()
    }


def _order_of_times(table: Dataset, data: str, dates: str | None) -> str:
    """Return how the dates of survival times are written; refuse what is none. dates : as above."""
    texts = {
        role: [*map(str, table.columns[role].tolist())]
        for role in ("time", "start", "time_from")
        if role in table.columns
    }
    order = order_of({text: date_of(text) for own in texts.values() for text in own}, dates)
    if not isinstance(order, Unclear):
        return order
    cells = ((role, row, text) for role, own in texts.items() for row, text in enumerate(own, 1))
    role, row, text = next(cell for cell in cells if order.holds(cell[2]))
    name = f"date {quote(table.column_names[role])} of --{role.replace('_', '-')}"
    what = order.what.removesuffix(", as most of the column are")
    raise ValueError(
        f"{data}: the {name}: {quote(text)} in sample {row} {what}.{remedy(*order.ways)}"
    )


def _events(values: Any, name: str, data: str, value: str | None) -> Any:
    """Return where events were observed.

    value : what stands for an event; None: 1, or True.
    """
    option = f"--event {show(shlex.quote(name + '=VALUE'))}"
    texts = [str(one) for one in values.tolist()]
    seen = sorted(set(texts))
    shown = ", ".join(quote(one) for one in seen[:5]) + (", ..." if len(seen) > 5 else "")
    if value is not None:
        if value not in seen:
            raise ValueError(
                f"{data}: the event {quote(name)} is never {quote(value)}; it has the values "
                f"{shown}."
            )
        return np.array([one == value for one in texts])
    if not all(one.lower() in _EVENTS for one in seen):
        raise ValueError(
            f"{data}: the event {quote(name)} must be 1 where the event was observed and 0 where "
            f"the row is censored; got {shown}. Say which value is the event: {option}."
        )
    event = np.array([_EVENTS[one.lower()] for one in texts])
    if not event.any():
        raise ValueError(
            f"{data}: the event {quote(name)} is nowhere 1: all rows are censored. If another "
            f"value stands for the event, say {option}."
        )
    return event


_FEWEST = 5  # rows that a column must number
_FEW = 64  # columns of a design that are all looked at; of more the first and the last
_SHOWN = 40


def _without_row_numbers(
    table: Dataset,
    kept: Collection[str],
    n_rows: int | None,
    again: Callable[[str], Dataset] | None,
) -> Dataset:
    """Return a table without the columns that number its rows, with notes that say so.

    Numbers from 0 or 1 in the order of the rows are left out; where rows were left out, numbers of
    the rows of the file, too. Others that only rise or fall by one step have a note.

    kept : columns that are asked for by name. n_rows : of the file where --where left some out.
    again : reads the data without a column, where that is the way to leave it out.
    """
    names = table.feature_names
    notes: list[str] = []
    left_out: list[str] = []
    for j, what in _numberings(table.X, n_rows):
        name = f"{j + table.first_index}" if names is None else names[j]
        shown = f"column {show(name, _SHOWN)!r} {what[1]}"
        if name in kept:
            continue
        if names is None:
            notes.append(Leaked(f"{shown}; if it measures nothing, leave it out of the array"))
            continue
        if not what[0] or table.X.shape[1] == 1:
            notes.append(Leaked(f"{shown}; {NUMBERS}"))
            continue
        notes.append(
            Doubt(
                f"{shown}: it numbers the rows and is no feature; if it is one, say "
                f"--keep {show(shlex.quote(name), _SHOWN)}"
            )
        )
        place = (table.feature_names or []).index(name)
        before = table
        if not hasattr(table.X, "gather"):
            table = _without(table, place)
        elif again is not None:
            table = again(name)
        else:
            notes[-1] = Leaked(f"{shown}; {NUMBERS}")
        if table is not before:
            left_out.append(name)
    if left_out:
        known = {**table.column_names, "row_numbers": shlex.join(left_out)}
        table = replace(table, column_names=known)
    return replace(table, notes=(*table.notes, *notes)) if notes else table


def _numberings(X: Any, n_rows: int | None) -> list[tuple[int, tuple[bool, str]]]:
    """Return the columns that number rows: whether surely, and in words how."""
    from ..data.operations import dense  # which verify has not
    from ..io.opening import as_design

    n, p = X.shape
    if n < _FEWEST:
        return []
    if hasattr(X, "gather"):
        places = np.arange(p) if p <= _FEW else np.array([0, p - 1])
    else:  # of most columns two or three rows say that they number none
        head = X[:_FEWEST]
        head = np.asarray(head if isinstance(head, np.ndarray) else head.toarray())
        if head.dtype.kind not in "iuf":
            return []
        steps = np.diff(head.astype(np.float64), axis=0)
        with np.errstate(invalid="ignore"):
            whole = (head == np.floor(head)).all(axis=0)
            places = np.flatnonzero(whole & ((steps > 0).all(axis=0) | (steps < 0).all(axis=0)))
    design = as_design(X)
    found = []
    for j in places.tolist():
        what = _numbering(dense(design.gather(np.array([j]))).ravel(), n_rows)
        if what is not None:
            found.append((j, what))
    return found


def _numbering(column: Any, n_rows: int | None) -> tuple[bool, str] | None:
    """Return whether a column surely numbers the rows, and how; None where it does not."""
    steps = np.diff(column)
    if not np.isfinite(steps).all() or not (column == np.floor(column)).all():
        return None
    first, last = int(column[0]), int(column[-1])
    if (steps == 1).all() and first in (0, 1):
        return True, f"holds {first}, {first + 1}, {first + 2}, ... in the order of the rows"
    if n_rows is not None and (steps > 0).all() and first >= 0 and last <= n_rows:
        return True, f"holds numbers of the rows of the file ({first} to {last}, in order)"
    if steps[0] and (steps == steps[0]).all():
        way = "rises" if steps[0] > 0 else "falls"
        return False, f"{way} by {abs(steps[0]):g} from each row to the next"
    return None


def _without(table: Dataset, place: int) -> Dataset:
    """Return a table without one of its features."""
    X: Any = table.X
    p = X.shape[1]
    if place == 0:
        X = X[:, 1:]  # a view: the first column is where row numbers are
    elif place == p - 1:
        X = X[:, : p - 1]
    else:
        X = X[:, np.delete(np.arange(p), place)]
    names, told = list(table.feature_names or ()), table.descriptions
    del names[place]
    if told is not None:
        told = [*told[:place], *told[place + 1 :]]
    return replace(table, X=X, feature_names=names, descriptions=told)


def _groups_of(table: Dataset) -> Any:
    """Return the number of the group of every sample, (n,); None where each is by itself.

    Without --cv-groups samples of one name are a group: others of a sample that is held out would
    say what its target is.
    """
    labels = table.columns.get("cv_groups", table.sample_names)
    if labels is None:
        return None
    names, code = np.unique(np.asarray(labels), return_inverse=True)
    alone = "cv_groups" not in table.columns and names.size == code.size
    return None if alone else code
