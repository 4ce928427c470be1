"""Labels, one number or string per sample, and tables in .npy and .npz files.

Labels lie in the file of X or in one of their own; several responses are several columns of
numbers. Whole numbers become int64, whatever the file had them in; other numbers and strings stay
what they are. A label that is missing is refused, and so is one for more or fewer samples than X
has.

In .npy and .npz files which array is X, which holds the labels and which the names is decided here;
that the arrays are what their headers claim has been verified by `npy` before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.files import FileError, PathLike, TargetError, did_you_mean, quote
from ..core.memory import machine_memory
from ..core.messages import counted, option, remedy
from .npy import Member, checked_flags, decoded, listed, load_npz, read_npy, read_npy_header
from .source import (
    Source,
    Stream,
    check_path,
    checked_encoding,
    format_of,
    is_label_file,
    not_utf8,
    similar_files,
)
from .table import MISSING, Dataset, TableColumns, TableRequest, first_nonfinite, unique_names
from .texts import are_codes, strict_float


def read_names(path: PathLike, encoding: str | None = None) -> list[str]:
    """Return the names of features in a file, a line each; refuse blank and repeated ones."""
    source = Source(check_path(path), None, checked_encoding(encoding))
    with source.open() as stream:
        try:
            lines = stream.read().decode("utf-8-sig").split("\n")
        except UnicodeDecodeError:
            raise not_utf8(source, True) from None
    names = [line.strip() for line in (lines if lines[-1].strip() else lines[:-1])]
    first: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if not name or "\t" in name or "\0" in name:
            what = "is empty" if not name else f"is {quote(name)}"
            raise FileError(f"{source}: line {number} {what}; write one name on each line.")
        if first.setdefault(name, number) != number:
            raise FileError(
                f"{source}: line {number}: {quote(name)} is the name on line {first[name]} as "
                "well. Write different names."
            )
    return names


def check_unnamed(source: object, path: PathLike, names: object, n_names: int, n: int) -> None:
    """Refuse names from a file for features that have names, or that are not as many.

    names : of the features as they are. n : the number of features.
    """
    if names is not None:
        raise FileError(
            f"{source}: its features have names; leave out {option('--feature-names')}."
        )
    if n_names != n:
        raise FileError(
            f"{path}: {counted(n_names, 'name')}, and {source} has {counted(n)}. Write a line for "
            "each, in their order."
        )


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
    request: TableRequest,
    columns: TableColumns,
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
    source: Source | str, columns: TableColumns, stored: Mapping[int, NDArray[Any]]
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
    request: TableRequest,
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
                f"{count + 1} fields. "
                + remedy(
                    "leave one of them in the file",
                    "join it by the names of the samples with --samples FILE --target COLUMN",
                )
            )


def labels_from_text(labels: list[str]) -> NDArray[Any]:
    """Return labels as int64, float64 or strings: the first that holds them all.

    Codes with zeros before them are strings.
    """
    if are_codes(labels):
        return np.array(labels)
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


ROW_BYTES = 32  # of a sample beside its entries: their begin, label, weight, margin.


def read_npy_table(
    source: Source,
    stream: Stream,
    request: TableRequest,
) -> Dataset:
    """Read a .npy file, memory-mapped unless it is compressed."""
    target = request.target
    X: NDArray[Any]
    if source.compression is None:
        # The header and its sizes are checked by the strict reader; then only a map is made.
        shape, fortran, dtype = read_npy_header(str(source), stream, source.size)
        if math.prod(shape):
            order: Any = "F" if fortran else "C"
            X = np.memmap(source.path, dtype, "r", stream.tell(), shape, order)
            checked_flags(str(source), X)
        else:
            X = np.empty(shape, dtype)
    else:
        X = read_npy(str(source), stream, None, request.spill)
    X = _as_matrix(source, X, "the array")
    y: NDArray[Any] | None = None
    name: str | tuple[str, ...] | None = None
    if target is not None:
        if not is_label_file(target):
            raise FileError(
                f"{source}: labels of a .npy file stand in a file of their own; no file "
                f"{quote(target)}.{similar_files(Path(target))}"
            )
        y, name = read_labels(target, X.shape[0])
    others = read_others(source, request, X.shape[0], {}, labels=target is not None)
    return Dataset(X, y, target_name=name, **others)


def read_npz(
    source: Source,
    stream: Stream,
    request: TableRequest,
) -> Dataset:
    """Read an .npz file: named arrays, or a sparse matrix as SciPy saves it."""
    arrays = load_npz(source)
    X: NDArray[Any] | sp.csr_array[Any]
    if {"format", "shape", "data"} <= arrays.keys():
        X = _sparse_from(source, arrays, request.spill)
    else:
        name = "X"
        if name not in arrays:
            matrices = [key for key in arrays if len(arrays[key].shape) == 2]
            if len(matrices) != 1:
                raise FileError(
                    f"{source}: no array X in it, and {len(matrices)} other matrices; save the "
                    f"data as X. It holds {listed(arrays)}."
                )
            name = matrices[0]
        X = _as_matrix(source, arrays[name].load(request.spill), f"the array {quote(name)}")
    n_samples, n_features = X.shape

    y: NDArray[Any] | None = None
    target_name: str | tuple[str, ...] | None = None
    key = request.target
    if key is None:
        key = next((k for k in LABEL_KEYS if k in arrays and arrays[k].shape != ()), None)
    if key is not None and key in arrays:
        values = arrays[key].load()
        n_responses = values.shape[1] if values.ndim == 2 else 1
        own = None
        if n_responses > 1:  # of a vector of classes they may be those of the classes
            own = _names_from(source, arrays, "target_names", n_responses)
        what = f"the array {quote(key)}"
        y, target_name = as_target(source, values, n_samples, what, key, own)
    elif key is not None:
        if not is_label_file(key):
            raise FileError(
                f"{source}: no array {quote(key)}; it holds {listed(arrays)}."
                f"{did_you_mean(key, list(arrays))}"
            )
        y, target_name = read_labels(key, n_samples)
    found = {
        what: (name, as_labels(source, arrays[name].load(), n_samples, f"the array {quote(name)}"))
        for what, name in request.columns.items()
        if name in arrays
    }
    notes: tuple[str, ...] = ()
    names = _names_from(source, arrays, "feature_names", n_features)
    if names is not None:
        names, notes = unique_names(names)
    return Dataset(
        X,
        y,
        names,
        target_name,
        _names_from(source, arrays, "sample_names", n_samples),
        _names_from(source, arrays, "descriptions", n_features),
        notes=notes,
        **read_others(
            source, request, n_samples, found, labels=key is not None and key not in arrays
        ),
    )


def _as_matrix(source: Source, values: NDArray[Any], what: str) -> NDArray[Any]:
    if values.ndim != 2:
        raise FileError(
            f"{source}: {what} must have two dimensions (samples x features); its shape is "
            f"{values.shape}."
        )
    if values.dtype.kind not in "biuf":
        raise FileError(f"{source}: {what} must hold real numbers; its type is {values.dtype}.")
    return values.view(np.uint8) if values.dtype == np.bool_ else values


def _sparse_from(source: Source, arrays: Mapping[str, Member], spill: Path | None) -> Any:
    """Return the matrix that `scipy.sparse.save_npz` wrote, as CSR; on the disk CSC stays CSC."""
    value = arrays["format"].load()
    text = value.item() if value.shape == () and value.dtype.kind in "SU" else None
    form = text.decode("ascii", "replace") if isinstance(text, bytes) else text
    needed = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}
    if form not in needed:
        raise FileError(f"{source}: sparse format {quote(str(form))}; save it as CSR (X.tocsr()).")
    missing = [key for key in needed[form] if key not in arrays]
    if missing:
        raise FileError(f"{source}: a sparse matrix without its array {quote(missing[0])}.")
    shape = arrays["shape"].load()
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
        raise FileError(f"{source}: the shape of a sparse matrix must be two numbers, 0 or more.")
    data = arrays["data"].load(spill)
    if data.dtype.kind not in "biuf" or data.ndim != 1:
        raise FileError(f"{source}: a sparse matrix must hold real numbers; got {data.dtype}.")
    if data.dtype == np.bool_:
        data = data.view(np.uint8)
    index = [arrays[key].load(None if key == "indptr" else spill) for key in needed[form]]
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in index):
        raise FileError(f"{source}: the indices of a sparse matrix must be whole numbers.")
    size = (int(shape[0]), int(shape[1]))
    if ROW_BYTES * size[0] > machine_memory():
        raise _too_many_rows(source, size[0], data.size)
    try:
        if form == "coo":
            return sp.csr_array(sp.coo_array((data, (index[0], index[1])), shape=size))
        kind = sp.csr_array if form == "csr" else sp.csc_array
        matrix = kind((data, index[0], index[1]), shape=size)
        # A conversion trusts the indices: they are checked before it.
        matrix.check_format(full_check=True)
        return matrix if spill is not None else sp.csr_array(matrix)
    except MemoryError:
        raise _too_many_rows(source, size[0], data.size) from None
    except (ValueError, OverflowError) as error:
        raise FileError(f"{source}: a broken sparse matrix ({error}).") from None


def _too_many_rows(source: Source, n_rows: int, n_entries: int) -> FileError:
    return FileError(
        f"{source}: a sparse matrix of {n_rows} rows and {n_entries} entries: numbers for "
        f"every row need {ROW_BYTES * n_rows / 2**30:.0f} GiB of memory, more than there is. Leave "
        "out the rows without entries, or correct the array shape."
    )


def _names_from(
    source: Source, arrays: Mapping[str, Member], key: str, size: int
) -> list[str] | None:
    if key not in arrays:
        return None
    values = arrays[key].load()
    if values.dtype.kind not in "US" or values.shape != (size,):
        raise FileError(
            f"{source}: the array {key} must hold {size} strings; it holds {values.dtype} of shape "
            f"{values.shape}."
        )
    return [str(value) for value in decoded(source, values).tolist()]
