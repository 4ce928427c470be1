"""Labels: one number or string per sample, in the file of X or in a file of their own.

Several responses are several columns of numbers.

Whole numbers become int64, whatever the file had them in; other numbers and strings stay what they
are. A label that is missing is refused, and so is one for more or fewer samples than X has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, TargetError, quote
from .npy import decoded, listed, load_npz, read_npy
from .source import Source, check_path, format_of, is_label_file, not_utf8
from .table import MISSING, Columns, Request, first_nonfinite, strict_float

LABEL_KEYS = ("y", "target", "label", "labels")


def read_labels(
    target: str, n_samples: int, several: bool = True
) -> tuple[NDArray[Any], str | tuple[str, ...]]:
    """Return labels from a file of their own, and its name, which is theirs.

    several : whether they may be several responses.
    """
    source = Source(check_path(target))
    values, what = _values_in(source, n_samples)
    if several:
        return as_target(source, values, n_samples, what, source.path.stem)
    return as_labels(source, values, n_samples, what), source.path.stem


def read_kept(
    source: Source | str,
    request: Request,
    columns: Columns,
    stored: Mapping[int, NDArray[Any]],
    n_samples: int,
) -> dict[str, Any]:
    """Return what a table has beside its features, as it takes them.

    stored : the columns that are kept, by position; what is not among them has files of its own.
    """
    y: NDArray[Any] | None = None
    name: str | tuple[str, ...] | None = None
    if columns.targets:
        y, name = _target_in(source, columns, stored)
    elif request.target is not None:
        y, name = read_labels(request.target, n_samples)
    found = {
        what: (columns.plain_name(place), stored[place]) for what, place in columns.others.items()
    }
    labels = request.target is not None and not columns.targets
    others = read_others(source, request, n_samples, found, labels=labels)
    kept = {"y": y, "target_name": name, **others}
    if columns.samples is not None and (own := columns.plain_name(columns.samples)):
        kept["column_names"]["id"] = own
    return kept


def _target_in(
    source: Source | str, columns: Columns, stored: Mapping[int, NDArray[Any]]
) -> tuple[NDArray[Any], str | tuple[str, ...]]:
    """Return the target of a file with columns, and its name."""
    if len(columns.targets) == 1:
        (position,) = columns.targets
        return stored[position], columns.plain_name(position)
    for position in columns.targets:
        if stored[position].dtype.kind == "U":
            raise FileError(
                f"{source}: {columns.name(position)}: targets of several columns must be finite "
                "numbers; name one column for classes."
            )
    responses = np.column_stack([stored[position] for position in columns.targets])
    return responses.astype(np.float64), tuple(map(columns.plain_name, columns.targets))


def read_others(
    source: Source | str,
    request: Request,
    n_samples: int,
    found: Mapping[str, tuple[str, NDArray[Any]]],
    *,
    labels: bool,
) -> dict[str, Any]:
    """Return `columns`, `column_names` and `by_position` of a table.

    found : what the file of X has of them, each with its name; others have files of their own.
    labels : whether the target has one.
    """
    found, by_position = dict(found), ["target"] if labels else []
    for what, name in request.columns.items():
        if what in found:
            continue
        if not is_label_file(name):
            raise FileError(
                f"{source}: has no columns with names, and there is no file {quote(name)}; the "
                f"{what} must be a file of its own (.npy, .npz or one column of text), or a column "
                "of CSV or Parquet."
            )
        values, stem = read_labels(name, n_samples, several=False)
        found[what] = (str(stem), values)
        by_position.append(what)
    return {
        "by_position": tuple(by_position),
        "columns": {what: values for what, (_, values) in found.items()},
        "column_names": {what: name for what, (name, _) in found.items()},
    }


def _values_in(source: Source, n_samples: int) -> tuple[NDArray[Any], str]:
    """Return what stands in a file of labels, and what messages call it."""
    with source.open() as stream:
        form = format_of(source, stream)
        if form == "npy":
            return read_npy(str(source), stream, None), "the array"
        if form == "npz":
            arrays = load_npz(source)
            key = next((k for k in LABEL_KEYS if k in arrays), None)
            if key is None:
                raise FileError(f"{source}: no array y; it holds {listed(arrays)}.")
            return arrays[key].load(), f"the array {quote(key)}"
        if form == "parquet":
            raise FileError(f"{source}: labels must be a .npy, .npz or one-column text file.")
        try:
            text = stream.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise not_utf8(source) from None
    _check_one_column(source, [line for line in text.splitlines() if line.strip()])
    labels = [line.strip().strip('"') for line in text.splitlines()]
    while labels and not labels[-1]:
        labels.pop()
    skip = len(labels) == n_samples + 1  # a header line
    for number, label in enumerate(labels[skip:], 1 + skip):
        if label.lower() in MISSING:
            raise FileError(f"{source}: line {number}: the target is missing ({quote(label)}).")
    return labels_from_text(labels[skip:]), "the file"


def _check_one_column(source: Source, lines: list[str]) -> None:
    """Refuse a table, each line of which would be a label."""
    for mark in ("\t", ";", ","):
        counts = {re.sub(r'"[^"]*"', "", line).count(mark) for line in lines}
        if len(lines) > 1 and len(counts) == 1 and (count := counts.pop()):
            raise FileError(
                f"{source}: labels must be one column, with a line for each sample; every line has "
                f"{count + 1} fields. Leave one of them in the file; or let the command join it by "
                "the names of the samples: --samples FILE --target COLUMN."
            )


def labels_from_text(labels: list[str]) -> NDArray[Any]:
    """Return labels as int64, float64 or strings: the first that holds them all."""
    values = np.empty(len(labels))
    for place, label in enumerate(labels):
        value = strict_float(label)
        if value is None or not math.isfinite(value):
            return np.array(labels)
        values[place] = value
    return as_whole(values)


def as_whole(values: NDArray[Any]) -> NDArray[Any]:
    """Return floats that are whole numbers as int64."""
    if values.dtype.kind == "f" and (np.abs(values) < 2**53).all() and (values % 1 == 0).all():
        return values.astype(np.int64)
    return values


def as_target(
    source: Source,
    values: NDArray[Any],
    n_samples: int,
    what: str,
    name: str,
    names: Sequence[str] | None = None,
) -> tuple[NDArray[Any], str | tuple[str, ...]]:
    """Return one label per sample, or several responses, with the name of each.

    names : of several responses; None: they are numbered.
    """
    if values.ndim != 2 or values.shape[1] < 2 or values.dtype.kind not in "biuf":
        return as_labels(source, values, n_samples, what), name
    for column in values.T:
        as_labels(source, column, n_samples, what)
    if names is None:
        names = [f"{name} {number}" for number in range(1, values.shape[1] + 1)]
    return values.astype(np.float64), tuple(names)


def as_labels(
    source: Source | str, values: NDArray[Any], n_samples: int, what: str
) -> NDArray[Any]:
    """Return one label per sample."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_samples,):
        raise TargetError(
            f"{source}: {what} must hold one label for each of the {n_samples} samples; its shape "
            f"is {values.shape}."
        )
    if values.dtype.kind in "US":
        return decoded(source, values)
    if values.dtype.kind not in "biuf":
        raise FileError(
            f"{source}: {what} must hold labels as numbers or strings; its type is {values.dtype}."
        )
    row = first_nonfinite(values)
    if row is not None:
        raise FileError(f"{source}: {what}: label {row + 1} is not finite ({values[row]}).")
    return as_whole(values)
