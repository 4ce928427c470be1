"""Opens data that other libraries have on disk: mapped where they lie plainly, else by blocks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._memory import LARGEST_SHARE, available_memory, readable
from .._typing import Design
from ..validate import is_annotated, is_sparse_group
from ._blocks import Blocks
from ._dense import Dense, read_dense
from ._foreign import ArrayReader, Reader, SparseReader, chunks_of, name_of, unreadable

NOTED_BYTES = 256 << 20  # of less, nobody notices that every scan reads and unpacks it again


def open_lazy(X: Any, n_threads: int = 1) -> Design:
    """Return data that are not in memory as a design; see `zeronorm.designs.as_design`.

    Parameters
    ----------
    X : what `validate.is_lazy` knows: an array of h5py, zarr, xarray or of their kind; a group that
        is a sparse matrix, of a file or of AnnData; an AnnData, whose X is taken.
    """
    if is_annotated(X):
        return _open_annotated(X, n_threads)
    if is_sparse_group(X):
        return _by_blocks(sparse_reader(X), n_threads)
    try:
        shape, dtype = tuple(X.shape), np.dtype(X.dtype)
    except Exception as error:
        raise unreadable(X, error) from error
    if len(shape) != 2:
        raise ValueError(
            f"X must be two-dimensional (samples by features); got a {name_of(X)} with "
            f"{len(shape)} dimension(s), shape {shape}. Take one matrix of it."
        )
    if not all(isinstance(size, int | np.integer) for size in shape):
        raise ValueError(
            f"X must be of a known size; got a {name_of(X)} of shape {shape}. Compute its chunks."
        )
    mapped = _mapped(X)
    if mapped is not None:
        return Dense(mapped, n_threads)
    reader = array_reader(X)
    try:
        part = np.asarray(X[0:1, 0:1])
    except Exception as error:
        return _loaded(X, shape[0] * shape[1] * dtype.itemsize, n_threads, error)
    if part.shape != (1, 1):
        return _loaded(X, shape[0] * shape[1] * dtype.itemsize, n_threads, None)
    return _by_blocks(reader, n_threads)


def array_reader(X: Any) -> ArrayReader:
    """Return a reader of a two-dimensional array with slicing, and what a store would gain."""
    chunks = chunks_of(X)
    if chunks is None and hasattr(X, "id") and hasattr(X, "compression"):
        chunks = (1, int(X.shape[1]))  # HDF5 in one piece is by row
    packed = getattr(X, "compression", None) or getattr(X, "compressors", None)
    by_row = chunks is not None and len(chunks) == 2 and chunks[0] < X.shape[0]
    return ArrayReader(
        X, chunks if chunks is None else (chunks[0], chunks[1]), _note(bool(packed), by_row)
    )


def sparse_reader(X: Any) -> SparseReader:
    """Return a reader of a group that is a sparse matrix, as AnnData writes it."""
    group = X.group if hasattr(X, "group") else X
    attributes = dict(group.attrs)
    form = str(attributes.get("encoding-type", attributes.get("h5sparse_format", "")))
    shape = attributes.get("shape", attributes.get("h5sparse_shape"))
    by = {"csr_matrix": False, "csc_matrix": True, "csr": False, "csc": True}
    if form not in by or shape is None or len(shape) != 2:
        raise ValueError(
            "X must be a sparse matrix as AnnData writes it, a group with encoding-type "
            f"csr_matrix or csc_matrix and a shape; got {form or 'none'!r}."
        )
    packed = getattr(group["data"], "compression", None) or getattr(
        group["data"], "compressors", None
    )
    return SparseReader(
        group["indptr"], group["indices"], group["data"], (int(shape[0]), int(shape[1])),
        by_column=by[form], note=_note(bool(packed), not by[form]),
    )  # fmt: skip


def _note(packed: bool, by_row: bool) -> str:
    """Return what reading costs more than it need."""
    reasons = []
    if packed:
        reasons.append("is compressed, so that every scan unpacks it again")
    if by_row:
        reasons.append("is stored by row, so that every look at some columns reads all of it")
    return " and ".join(reasons)


def _by_blocks(reader: Reader, n_threads: int) -> Blocks:
    if reader.note and reader.nbytes > NOTED_BYTES:
        warnings.warn(
            f"X ({readable(reader.nbytes)}) {reader.note}. `zeronorm convert` writes a store of it "
            "that scans map as it lies.",
            UserWarning,
            stacklevel=2,
        )
    return Blocks(reader, n_threads)


def _loaded(X: Any, size: int, n_threads: int, error: Exception | None) -> Design:
    """Return what gives no blocks as an array in memory, where it has room there."""
    limit = LARGEST_SHARE * available_memory()
    if size > limit:
        why = "" if error is None else f" ({type(error).__name__}: {error})"
        raise MemoryError(
            f"X, a {name_of(X)} of {readable(size)}, cannot be read by blocks X[rows, columns]"
            f"{why}, and is not loaded: at most {readable(limit)} are, half of the memory that is "
            "available. Pass a file, or an array that can be cut."
        )
    try:
        x = np.asarray(X)
    except Exception:
        if error is None:
            raise
        raise unreadable(X, error) from error
    return read_dense(x, n_threads)


def _mapped(X: Any) -> NDArray[Any] | None:
    """Return an HDF5 dataset that lies in its file in one piece as a map of it."""
    try:
        plain = X.chunks is None and X.file.driver == "sec2" and not X.is_virtual
        offset = X.id.get_offset() if plain and not X.external else None
        if offset is None or X.dtype.kind not in "fiu" or X.id.get_storage_size() != X.nbytes:
            return None
        if X.file.mode != "r":
            X.file.flush()
        return np.memmap(X.file.filename, X.dtype, "r", offset, X.shape)
    except (AttributeError, OSError, ValueError, RuntimeError):
        return None


def _open_annotated(X: Any, n_threads: int) -> Design:
    """Return the X of an AnnData, whose columns have the names of its variables."""
    names = [str(name) for name in X.var_names]
    if bool(getattr(X, "isbacked", False)) and bool(getattr(X, "is_view", False)):
        # The parts of a file that a view stands for come out in memory, or not at all.
        whole = X._adata_ref.X
        share = X.shape[0] / max(1, whole.shape[0])
        size = (
            share * getattr(whole, "nbytes", 0)
            if not is_sparse_group(whole)
            else share * (sparse_reader(whole).nbytes)
        )
        limit = LARGEST_SHARE * available_memory()
        if size > limit:
            raise MemoryError(
                f"X, a view of an AnnData in backed mode, stands for about {readable(size)}, and "
                f"at most {readable(limit)} are loaded, half of the memory that is available. "
                "Write the view to a file of its own (X.copy('part.h5ad')), or fit on all samples "
                "with a sample_weight of 0 for those to leave out."
            )
    matrix = X.X
    if matrix is None:
        raise ValueError("X must have a matrix X; got an AnnData without one. Pass a layer of it.")
    from . import as_design  # which opens whatever that is

    return as_design(matrix, n_threads).named(names)
