"""Reads .npy and .npz files as tables.

Which array is X, which holds the labels and which the names is decided here; that the arrays are
what their headers claim has been verified by `_npy` before.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.files import FileError, did_you_mean, quote
from .labels import LABEL_KEYS, as_labels, as_target, read_labels, read_others
from .npy import Member, checked_flags, decoded, listed, load_npz, read_npy, read_npy_header
from .source import Source, Stream, is_label_file, similar_files
from .table import Request, Table
from .unique import unique_names

ROW_BYTES = 32  # A sample takes so many beside its entries: their begin, label, weight, margin.


def read_npy_table(
    source: Source,
    stream: Stream,
    request: Request,
) -> Table:
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
    return Table(X, y, target_name=name, **others)


def read_npz(
    source: Source,
    stream: Stream,
    request: Request,
) -> Table:
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
    return Table(
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
    if ROW_BYTES * size[0] > _memory():
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


def _memory() -> float:
    """Return the bytes of memory of this machine, infinity where the system does not tell."""
    if not hasattr(os, "sysconf"):
        return math.inf
    return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")


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
