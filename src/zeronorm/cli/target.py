"""What is to be predicted, as the data have it: classes, numbers, counts or survival times."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.messages import show
from ..io.input import Response, read
from ..reporting.warnings import RepeatedNames, alike_labels, alike_levels, other_sheets
from .folds import groups_of
from .guess import guess_task
from .options import DiscoverOptions, PathOptions, SelectOptions, VerifyOptions
from .order import in_order
from .row_numbers import without_row_numbers
from .rows_options import RowsOptions

if TYPE_CHECKING:
    from ..io.table import Layout, Table

_EVENTS = {"1": True, "0": False, "true": True, "false": False}


def columns_of(
    options: SelectOptions | VerifyOptions | RowsOptions | PathOptions | DiscoverOptions,
) -> dict[str, str]:
    """Return the columns that the options name beside the target, by what they are."""
    from ..io.table import ROLES

    named = {role: getattr(options, role, None) for role in ROLES}
    found = {role: str(name) for role, name in named.items() if name is not None}
    column, equals, value = found.get("event", "").rpartition("=")
    if equals:
        found |= {"event": column, "event_value": value}
    return found


def read_response(
    options: SelectOptions | VerifyOptions | PathOptions | DiscoverOptions,
    task: str,
    like: Layout | None = None,
) -> tuple[Table, Response]:
    """Return the data, and the target that they must have; of numbers not only one."""
    from ..io.read import WITH_COLUMNS

    survival = task == "survival"
    columns = columns_of(options)
    dropped, force = [*(options.drop or ())], getattr(options, "force", None) or ()

    def read_without(*names: str) -> Table:
        dropped.extend(names)
        return read(
            options.data, options.target, options.id, like, not survival, columns, dropped,
            options.samples or (), _covariates_of(options), force,
            getattr(options, "threads", None), options.layer, options.where,
            getattr(options, "missing", None), options.encoding, options.by_position,
            options.transpose, getattr(options, "intercept", True),
        )  # fmt: skip

    table = read_without()
    notes: list[str] = []
    if like is None:
        notes = [*other_sheets(table, options.layer, options.data), *alike_levels(table)]
        kept = [*(getattr(options, "keep", None) or ()), *_covariates_of(options), *force]
        again = read_without if table.form in WITH_COLUMNS and options.data != "-" else None
        table = without_row_numbers(table, kept, table.n_before, again)
    if table.y is None and not survival:
        raise ValueError(f"{options.data}: nothing says what to predict; name it with --target.")
    known = {} if like is None else like.columns
    by_loss = isinstance(options, PathOptions)
    order = getattr(options, "order", None)
    response = response_of(table, task, options.data, {**known, **columns}, by_loss, order)
    if by_loss and response.task != "survival" and response.y.ndim == 2:
        raise ValueError(
            f"{options.data}: a path is for one target; got {response.y.shape[1]} responses. Name "
            "one of them with --target."
        )
    if response.task in ("numbers", "counts"):
        for name, column in targets_of(table, response.y):
            if (column == column[0]).all():
                raise ValueError(
                    f"{options.data}: the {name} is {column[0]:g} in all samples; there is nothing "
                    "to explain. Name another one with --target."
                )
            _check_range(response.task, column, getattr(options, "loss", None), options.data)
    repeated = RepeatedNames()
    repeated.take(table)
    notes = [*table.notes, *notes, *repeated.notes(), *alike_labels(response)]
    return replace(table, notes=tuple(notes)), replace(response, groups=groups_of(table))


def _covariates_of(options: Any) -> list[str]:
    """Return the names of --covariates, of commands that have them."""
    text = getattr(options, "covariates", None)
    return [] if text is None else [name.strip() for name in text.split(",")]


def targets_of(table: Table, y: Any) -> list[tuple[str, Any]]:
    """Return the columns of a target, each with what messages call it."""
    from ..core.files import quote

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
    table: Table,
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
    import numpy as np

    guess = None
    offset = offset_of(table, data)
    if task == "survival":
        return Response(task, _survival(table, data, columns.get("event_value")))
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
        task, guess = guess_task(y, targets_of(table, y)[0][0], data)
        if offset is not None and task == "classes":
            task, guess = "numbers", None
    targets = targets_of(table, y)
    if task in ("classes", "ordered"):
        labels = _labels(y, targets[0][0], data, by_loss)
        known = in_order(labels, order, targets[0][0], data) if task == "ordered" else None
        return Response(task, labels, guess=guess, order=known)
    numbers = [_numbers(column, name, data) for name, column in targets]
    return Response(task, numbers[0] if y.ndim == 1 else np.column_stack(numbers), offset, guess)


def _labels(y: Any, name: str, data: str, by_loss: bool) -> Any:
    """Return labels of classes, which real numbers and very many whole ones are not.

    by_loss : whether the command has no --task, so that another loss says another target.
    """
    import numpy as np

    from ..core.targets import check_target

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


def _numbers(values: Any, name: str, data: str) -> Any:
    """Return a column of finite numbers as floats."""
    import numpy as np

    from ..core.files import quote
    from ..io.texts import strict_float

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


def offset_of(table: Table, data: str) -> Any:
    """Return the offset that a table has, as such or as an exposure; None without."""
    import numpy as np

    from ..core.files import quote

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


def _survival(table: Table, data: str, value: str | None) -> Any:
    """Return events, times and maybe strata, as a structured array."""
    import numpy as np

    from ..core.files import quote

    for role in ("time", "event"):
        if role not in table.columns:
            raise ValueError(f"{data}: survival times are needed; say where with --{role} COLUMN.")
    time_name = f"time {quote(table.column_names['time'])}"
    time = _numbers(table.columns["time"], time_name, data)
    bad = np.flatnonzero(time < 0)
    if bad.size:
        raise ValueError(
            f"{data}: the {time_name} must not be negative; got {time[bad[0]]:g} in sample "
            f"{bad[0] + 1}. Remove such rows."
        )
    event = _events(table.columns["event"], table.column_names["event"], data, value)
    parts = {"event": event, "time": time}
    if "start" in table.columns:
        name = f"start {quote(table.column_names['start'])}"
        parts["start"] = start = _numbers(table.columns["start"], name, data)
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


def _events(values: Any, name: str, data: str, value: str | None) -> Any:
    """Return where events were observed.

    value : what stands for an event; None: 1, or True.
    """
    import numpy as np

    from ..core.files import quote

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
