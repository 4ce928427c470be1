"""Opening X: whatever holds it, as a design."""

from __future__ import annotations

import operator
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import ParameterError
from ..core.frames import (
    frame_of,
    is_annotated,
    is_dask,
    is_lazy,
    is_sparse_group,
    names_of,
    numbers_of,
)
from ..core.memory import LARGEST_SHARE, available_memory, readable
from ..core.parallel import allowed_cores
from ..core.types import Design
from .arrays import Dense, read_dense, read_sparse
from .chunked import ArrayReader, Chunked, Reader, SparseReader, chunks_of, name_of, unreadable
from .store import is_store, open_filled

MAX_THREADS = 1024  # more are of no use, and starting them is not free
NOTED_BYTES = 256 << 20  # of less, nobody notices that every scan reads and unpacks it again


def as_design(X: Any, n_threads: int | None = None) -> Design:
    """Return X as a design, without a copy wherever its storage can be read as it is.

    Parameters
    ----------
    X : two-dimensional, samples by features:
        a NumPy array of any real type, order and strides (memory maps and read-only arrays too);
        the path of a .npy file, which is mapped and not loaded;
        the path of a store, as `zeronorm.write_store` writes it, whose blocks are mapped;
        a SciPy sparse matrix or array of any format (other than CSC and CSR are converted to CSC);
        a data frame of numbers, by narwhals, whose names are those of the columns; nested lists;
        an array of h5py, zarr or xarray, or another one with `shape`, `dtype` and slicing by
        columns: it is read block by block, or mapped where an HDF5 file holds it in one piece;
        a group of HDF5 or Zarr that is a sparse matrix as AnnData writes it;
        an AnnData, in memory or backed: its X, and `var_names` as the names of the columns;
        a Dask array or data frame, whose columns are scanned by the workers of the current client
        of `distributed`, or by threads;
        a design, which is returned as it is.
        X is never changed, and must not be changed by others while the design is in use.
    n_threads : threads of a scan, from 1 to 1024; None: as many as this process may use. They
        change no bit of any result.

    Raises
    ------
    TypeError, ValueError
        Where X is no matrix of real numbers, has no rows or no columns, or is sparse with broken
        indices. NaN and infinity are found by the first scan.
    MemoryError
        Where X can only be loaded, and has more than half of the memory that is available.
    OSError
        Where X is of a file that is closed or gone.
    """
    threads = resolve_threads(n_threads)
    if sp.issparse(X):
        return read_sparse(X, threads)
    if not isinstance(X, np.ndarray) and isinstance(X, Design):
        return X
    if isinstance(X, str | os.PathLike):
        return _open(Path(X), threads)
    if is_dask(X):
        from .dask import open_dask

        return open_dask(X, threads)
    if is_lazy(X):
        return open_lazy(X, threads)
    frame = frame_of(X)
    if frame is not None:
        return as_design(numbers_of(frame), threads).named(names_of(frame))
    return read_dense(X, threads)


def _open(path: Path, n_threads: int) -> Design:
    if is_store(path):
        return open_filled(path, n_threads)
    if path.suffix in (".bed", ".h5ad", ".h5"):
        raise ValueError(
            f"{path}: genotypes and single cells are opened by zeronorm.io; pass "
            "zeronorm.io.as_design(path)."
        )
    return read_dense(path, n_threads)


def resolve_threads(n_threads: int | None) -> int:
    """Return a number of threads after its check; None: as many as this process may use."""
    if n_threads is None:
        return min(allowed_cores(), MAX_THREADS)
    message = (
        f"n_threads must be an integer from 1 to {MAX_THREADS}, or None (all); got {n_threads!r}."
    )
    if isinstance(n_threads, bool | np.bool_):
        raise TypeError(message)
    try:
        threads = operator.index(n_threads)
    except TypeError:
        raise TypeError(message) from None
    if not 1 <= threads <= MAX_THREADS:
        raise ValueError(message)
    return threads


# Data that other libraries have on disk: mapped where they lie plainly, else read by blocks.


def open_lazy(X: Any, n_threads: int = 1) -> Design:
    """Return data that are not in memory as a design; see `zeronorm.data.as_design`.

    Parameters
    ----------
    X : what `frames.is_lazy` knows: an array of h5py, zarr, xarray or of their kind; a group that
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
        raise ParameterError(
            "X",
            "must be two-dimensional (samples by features)",
            f"a {name_of(X)} with {len(shape)} dimension(s), shape {shape}",
            "Take one matrix of it.",
        )
    if not all(isinstance(size, int | np.integer) for size in shape):
        raise ParameterError(
            "X",
            "must be of a known size",
            f"a {name_of(X)} of shape {shape}",
            "Compute its chunks.",
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
        raise ParameterError(
            "X",
            "must be a sparse matrix as AnnData writes it, a group with encoding-type "
            "csr_matrix or csc_matrix and a shape",
            f"{form or 'none'!r}",
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


def _by_blocks(reader: Reader, n_threads: int) -> Chunked:
    if reader.note and reader.nbytes > NOTED_BYTES:
        warnings.warn(
            f"X ({readable(reader.nbytes)}) {reader.note}. `zeronorm convert` writes a store of it "
            "that scans map as it lies.",
            UserWarning,
            stacklevel=2,
        )
    return Chunked(reader, n_threads)


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
        raise ParameterError(
            "X", "must have a matrix X", "an AnnData without one", "Pass a layer of it."
        )

    return as_design(matrix, n_threads).named(names)
