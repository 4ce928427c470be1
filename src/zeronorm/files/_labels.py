"""Labels: one number or string per sample, in the file of X or in a file of their own.

Whole numbers become int64, whatever the file had them in; other numbers and strings stay what they
are. A label that is missing is refused, and so is one for more or fewer samples than X has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import FileError, quote
from ._npy import decoded, listed, load_npz, read_npy
from ._source import Source, check_path, format_of, is_label_file, not_utf8
from ._table import MISSING, Request, first_nonfinite, strict_float

LABEL_KEYS = ("y", "target", "label", "labels")


def read_labels(target: str, n_samples: int) -> tuple[NDArray[Any], str]:
    """Return labels from a file of their own, and its name, which is theirs."""
    source = Source(check_path(target))
    return _labels_in(source, n_samples), source.path.stem


def read_others(
    source: Source, request: Request, n_samples: int, found: Mapping[str, tuple[str, NDArray[Any]]]
) -> dict[str, Any]:
    """Return `columns` and `column_names` of a table.

    found : what the file of X has of them, each with its name; others have files of their own.
    """
    found = dict(found)
    for what, name in request.columns.items():
        if what in found:
            continue
        if not is_label_file(name):
            raise FileError(
                f"{source}: has no columns with names, and there is no file {quote(name)}; the "
                f"{what} must be a file of its own (.npy, .npz or one column of text), or a column "
                "of CSV or Parquet."
            )
        values, stem = read_labels(name, n_samples)
        found[what] = (stem, values)
    return {
        "columns": {what: values for what, (_, values) in found.items()},
        "column_names": {what: name for what, (name, _) in found.items()},
    }


def _labels_in(source: Source, n_samples: int) -> NDArray[Any]:
    with source.open() as stream:
        form = format_of(source, stream)
        if form == "npy":
            return as_labels(source, read_npy(str(source), stream, None), n_samples, "the array")
        if form == "npz":
            arrays = load_npz(source)
            key = next((k for k in LABEL_KEYS if k in arrays), None)
            if key is None:
                raise FileError(f"{source}: no array y; it holds {listed(arrays)}.")
            return as_labels(source, arrays[key].load(), n_samples, f"the array {quote(key)}")
        if form == "parquet":
            raise FileError(f"{source}: labels must be a .npy, .npz or one-column text file.")
        try:
            text = stream.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise not_utf8(source) from None
    labels = [line.strip().strip('"') for line in text.splitlines()]
    while labels and not labels[-1]:
        labels.pop()
    skip = len(labels) == n_samples + 1  # a header line
    for number, label in enumerate(labels[skip:], 1 + skip):
        if label.lower() in MISSING:
            raise FileError(f"{source}: line {number}: the target is missing ({quote(label)}).")
    return as_labels(source, labels_from_text(labels[skip:]), n_samples, "the file")


def labels_from_text(labels: list[str]) -> NDArray[Any]:
    """Return labels as int64, float64 or strings: the first that holds them all."""
    numbers = [strict_float(label) for label in labels]
    values = [value for value in numbers if value is not None and math.isfinite(value)]
    if len(values) < len(labels):
        return np.array(labels)
    return _whole(np.array(values))


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """Return floats that are whole numbers as int64."""
    if values.dtype.kind == "f" and (np.abs(values) < 2**53).all() and (values % 1 == 0).all():
        return values.astype(np.int64)
    return values


def as_labels(source: Source, values: NDArray[Any], n_samples: int, what: str) -> NDArray[Any]:
    """Return one label per sample."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_samples,):
        raise FileError(
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
    return _whole(values)
