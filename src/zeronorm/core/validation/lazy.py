"""Which X is not in memory: files, designs, and what other libraries have in place of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..types import Design


def out_of_core(X: Any) -> bool:
    """Return whether X is not to be loaded, nor searched for NaN, before a scan reads it."""
    return isinstance(X, str | Path | np.memmap | Design) or is_lazy(X)


def is_lazy(X: Any) -> bool:
    """Return whether X is data of another library that may not be in memory, known by what it has.

    An array with `shape`, `dtype` and slicing that hands out no memory of its own; AnnData; a group
    of arrays that are a sparse matrix. Data frames and what NumPy reads in place are none.
    """
    if isinstance(X, np.ndarray | np.generic | Design | Sequence | Path) or sp.issparse(X):
        return False
    if is_dask(X):
        return True
    kind = type(X)
    if hasattr(kind, "iloc") or hasattr(kind, "__array_interface__"):
        return False  # frames have their columns as attributes, of any names
    if is_annotated(X) or is_sparse_group(X):
        return True
    if not all(_has(X, name) for name in ("shape", "dtype", "__getitem__")):
        return False
    if getattr(_of(X, "variable"), "_in_memory", False):  # xarray
        return False
    try:
        np.dtype(_of(X, "dtype"))
    except TypeError:
        return False
    try:
        memoryview(X)
    except (TypeError, ValueError, BufferError):
        return True
    return False


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array, data frame or series."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "__dask_graph__")


def in_memory(values: Any) -> Any:
    """Return numbers of the samples: those of Dask computed, all others as they are."""
    return values.compute() if is_dask(values) else values


def is_annotated(X: Any) -> bool:
    """Return whether X is an AnnData: a matrix with the names of its samples and features."""
    return all(_has(X, name) for name in ("X", "obs", "obs_names", "var_names"))


def is_sparse_group(X: Any) -> bool:
    """Return whether X is a sparse matrix of a file: a group of its arrays, or AnnData's for it."""
    if _has(X, "group") and _has(X, "format"):
        return True
    return _has(X, "attrs") and _has(X, "keys") and "indptr" in X


def _has(X: Any, name: str) -> bool:
    """Return whether an object has an attribute, which those of closed files may not give."""
    try:
        return hasattr(X, name)
    except Exception:
        return True


def _of(X: Any, name: str) -> Any:
    """Return an attribute; None where there is none, or where it cannot be given any more."""
    try:
        return getattr(X, name, None)
    except Exception:
        return None
