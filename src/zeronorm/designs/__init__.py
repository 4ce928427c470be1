"""Data: how X is stored, behind the three methods of `zeronorm._typing.Design`."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._frames import frame_of, names_of, numbers_of
from .._typing import Design, Wrapper
from ..validate import is_dask, is_lazy
from ._beside import Beside
from ._dense import Dense, read_dense
from ._filled import filled_over
from ._lazy import open_lazy
from ._products import Products
from ._read_sparse import read_sparse
from ._sparse import Sparse
from ._store import is_store, open_filled
from ._wrappers import Rows, Scaled

__all__ = [
    "Beside",
    "Dense",
    "Design",
    "Products",
    "Rows",
    "Scaled",
    "Sparse",
    "Wrapper",
    "as_design",
    "filled_over",
    "resolve_threads",
]

MAX_THREADS = 1024  # more are of no use, and starting them is not free


def as_design(X: Any, n_threads: int | None = None) -> Design:
    """Return X as a design, without a copy wherever its storage can be read as it is.

    Parameters
    ----------
    X : two-dimensional, samples by features:
        a NumPy array of any real type, order and strides (memory maps and read-only arrays too);
        the path of a .npy file, which is mapped and not loaded;
        the path of a store, as `zeronorm.convert` writes it, whose blocks are mapped one by one;
        the path of a .bed file of genotypes, as `read_plink` opens it by default, or of a
        single-cell file (.h5ad, .h5 of 10x Genomics), of which X is read by blocks;
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
        from ._dask import open_dask

        return open_dask(X, threads)
    if is_lazy(X):
        return open_lazy(X, threads)
    frame = frame_of(X)
    if frame is not None:
        return as_design(numbers_of(frame), threads).named(names_of(frame))
    return read_dense(X, threads)


def _open(path: Path, n_threads: int) -> Design:
    """Return what lies at a path as a design."""
    if is_store(path):
        return open_filled(path, n_threads)
    if path.suffix == ".bed":
        from ..genotypes import read_plink

        return read_plink(path, n_threads=n_threads).X
    if path.suffix in (".h5ad", ".h5"):
        from ..files._hdf5 import open_annotated

        return open_annotated(str(path)).design(n_threads)
    return read_dense(path, n_threads)


def resolve_threads(n_threads: int | None) -> int:
    """Return a number of threads after its check; None: as many as this process may use."""
    if n_threads is None:
        has_affinity = hasattr(os, "sched_getaffinity")
        cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
        return min(cores, MAX_THREADS)
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
