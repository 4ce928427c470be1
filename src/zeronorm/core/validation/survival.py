"""Survival targets: events and times."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ..types import FloatArray
from .data import check_unmasked
from .numbers import LARGEST, as_numbers, plain, shown

FORM = (
    "a structured array, or a data frame, whose first column is the event (True, or False where a "
    "row is censored), the second the time, and a third, if there is one, the stratum; or, where "
    "rows come under observation late, columns of the names start, stop, event and maybe stratum"
)
NAMES = (("event", "status"), ("stop", "time"), ("stratum", "strata"))  # beside one named start


def check_survival(y: Any, n_samples: int) -> FloatArray:
    """Return (n_samples, 3) of survival times: time, event (0 or 1) and number of the stratum.

    Where rows come under observation late, so that it matters, (n_samples, 4): the start as well.
    """
    if y is None:
        raise ValueError(f"requires y to be passed, but the target y is None; pass {FORM}.")
    columns, start = _by_name(_columns(y))
    if not 2 <= len(columns) <= 3:
        raise ValueError(f"y must be {FORM}; got {len(columns)} columns.")
    event, time = columns[0], as_numbers(columns[1])
    if len(event) != n_samples:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: y must have one time per "
            f"row of X; got {len(event)} times for {n_samples} rows."
        )
    if not all(isinstance(one, (bool, np.bool_, Real)) and one in (0, 1) for one in event.tolist()):
        known = [plain(one) for one in np.unique(event.astype(str))[:5]]
        raise ValueError(
            f"the event of y, its first column, must be True or False (or 1 and 0); got {known}. "
            "Compare it with what stands for an event: status == 2, for example."
        )
    if time is None or time.shape != (n_samples,):
        raise ValueError(
            f"the time of y, its second column, must be numbers; got {shown(columns[1])}."
        )
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
                f"the stratum of y, its third column, must be there; got {named[missing[0]]} at "
                f"row {missing[0]}. Give such rows a stratum of their own, or remove them."
            )
        stratum = np.unique(named, return_inverse=True)[1].astype(np.float64)
    found = np.column_stack([time, event.astype(np.float64), stratum])
    return found if start is None else _with_start(found, as_numbers(start))


def _by_name(named: dict[str, np.ndarray]) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Return event, time and maybe stratum, and the start where a column is named so."""
    by_name = {name.lower(): values for name, values in named.items()}
    if "start" not in by_name:
        return list(named.values()), None
    found = []
    for names in NAMES:
        known = [name for name in names if name in by_name]
        if len(known) > 1 or (not known and names is not NAMES[2]):
            raise ValueError(
                f"y has a column 'start', so it must have one {' or '.join(map(repr, names))}; got "
                f"{list(named)}."
            )
        found += [by_name[name] for name in known]
    if len(found) + 1 < len(named):
        raise ValueError(f"y must be {FORM}; got {list(named)}.")
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
        raise ValueError(f"y must be {FORM}; got {shown(y)}.")
    for name in names:
        check_unmasked("y", y[name])
    return {name: np.asarray(y[name]) for name in names}


def check_events(y: FloatArray) -> None:
    """Raise where rows of positive weight have no event that another row outlives."""
    if not (y[:, 1] > 0).any():
        raise ValueError(
            "y must have an event; all rows (of positive weight) are censored. Check how events "
            "are coded: the first column is True where there is one."
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
    raise ValueError(
        "y must have an event at which other rows are at risk and live on; got none: there is "
        "nothing to compare. Use later times, or fewer strata."
    )
