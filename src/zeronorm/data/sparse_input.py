"""SciPy's sparse matrices, of any format, as designs: audited, and copied only where need be."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._kernels import (
    audit_indices,
)
from ..core.validation import flags
from .dense import NATIVE_TYPES, check_size
from .sparse import Sparse


def read_sparse(X: Any, n_threads: int) -> Sparse:
    """Return a SciPy sparse matrix of any format as a design; see `as_design`.

    CSC and CSR are read as they are. Only what the kernels cannot read is copied: duplicate
    entries (into a canonical copy), data of other types (narrowed, never widened where a smaller
    type holds the same values), pointers of another type than the indices.
    """
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional (samples by features); got {X.ndim}-D.")
    shape = (int(X.shape[0]), int(X.shape[1]))
    check_size(shape)
    _check_type(X.dtype)
    if X.format not in ("csc", "csr"):
        X = _to_csc(X, shape)
    by_column = X.format == "csc"
    _check_type(X.data.dtype)
    indptr, indices, data = X.indptr, X.indices, X.data
    indptr, indices, is_sorted, has_duplicates = _audit(
        indptr, indices, data, shape, by_column=by_column
    )
    if data.ndim != 1:
        raise ValueError(f"X must store one value per entry; got values of shape {data.shape}.")
    if has_duplicates:
        # Before narrowing: SciPy adds in the type of the caller.
        kind = np.float32 if data.dtype == np.float16 else data.dtype.newbyteorder("=")
        form = sp.csc_array if by_column else sp.csr_array
        canonical = form((data.astype(kind), indices.copy(), indptr.copy()), shape=shape)
        canonical.sum_duplicates()
        indptr, indices = _one_type(canonical.indptr, canonical.indices)
        data = canonical.data
        is_sorted = True
    return Sparse(
        indptr, indices, _narrow(data), shape,
        by_column=by_column, is_sorted=is_sorted, n_threads=n_threads,
    )  # fmt: skip


def _check_type(dtype: np.dtype[Any]) -> None:
    if dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: X must hold real numbers; got a sparse {dtype}. "
            "Pass real and imaginary parts as features of their own."
        )
    if dtype.kind not in "fiub":
        raise TypeError(f"X must hold real numbers; got a sparse {dtype}. Convert it first.")


def _to_csc(X: Any, shape: tuple[int, int]) -> Any:
    """Convert any other format once. SciPy trusts coordinates, so they are audited before."""
    if X.format == "lil":
        X = X.tocsr()
    elif X.format == "dok":
        X = X.tocoo()
    if X.format == "coo":
        if not X.row.size == X.col.size == X.data.size:
            raise ValueError(
                f"X has {X.row.size} row indices, {X.col.size} column indices and {X.data.size} "
                "values; the three must be equal. Rebuild the matrix."
            )
        for index, size, name in ((X.row, shape[0], "row"), (X.col, shape[1], "column")):
            wrong = (index < 0) | (index >= size)
            if wrong.any():
                at = int(np.argmax(wrong))
                raise ValueError(
                    f"X has {name} index {index[at]} in entry {at}, but only {size} {name}s; "
                    "rebuild the matrix."
                )
    elif X.format == "csr":
        _audit(X.indptr, X.indices, X.data, shape, by_column=False)
    elif X.format == "bsr":
        height, width = X.blocksize
        _audit(
            X.indptr, X.indices, X.data, (shape[0] // height, shape[1] // width), by_column=False
        )
    elif X.format == "dia":
        offsets, data = X.offsets, X.data
        if offsets.ndim != 1 or data.ndim != 2 or data.shape[0] != offsets.size:
            raise ValueError(
                f"X has offsets of shape {offsets.shape} but diagonals of shape {data.shape}; "
                "every offset needs one row of values. Rebuild the matrix."
            )
        wrong = (offsets <= -shape[0]) | (offsets >= shape[1])
        if wrong.any() or np.unique(offsets).size != offsets.size:
            raise ValueError(
                f"X must have different offsets between {1 - shape[0]} and {shape[1] - 1}; got "
                f"{offsets.tolist()}. Rebuild the matrix."
            )
    return X.tocsc()


def _audit(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    shape: tuple[int, int],
    *,
    by_column: bool,
) -> tuple[NDArray[Any], NDArray[Any], bool, bool]:
    """Check compressed storage; return (indptr, indices) of one type, is_sorted, has_duplicates.

    Raises ValueError with the position in the matrix before anything reads by these indices.
    """
    form, major, minor = ("CSC", "column", "row") if by_column else ("CSR", "row", "column")
    n_major, n_minor = (shape[1], shape[0]) if by_column else shape
    advice = "rebuild the matrix from its row indices, column indices and values."
    for name, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ValueError(
                f"X must have an {name} of integers in one dimension; got {array.ndim}-D "
                f"{array.dtype}; {advice}"
            )
    if indptr.size != n_major + 1:
        raise ValueError(
            f"X has an indptr of length {indptr.size}; {form} storage of {n_major} {major}s has "
            f"one of length {n_major + 1}; {advice}"
        )
    if data.shape[:1] != indices.shape:
        raise ValueError(
            f"X has {indices.size} indices but values of shape {data.shape}; the two must match; "
            f"{advice}"
        )
    indptr, indices = _one_type(indptr, indices)
    bad_indptr, bad_entry, is_sorted, has_duplicates = audit_indices(indptr, indices, n_minor)
    if bad_indptr >= 0:
        before = f" after {indptr[bad_indptr - 1]}" if bad_indptr else ""
        raise ValueError(
            f"X has indptr[{bad_indptr}] = {indptr[bad_indptr]}{before}; indptr must ascend from 0 "
            f"to {indices.size}, the number of stored values; {advice}"
        )
    if indptr[-1] != indices.size:
        raise ValueError(
            f"X has {indices.size} stored values but its indptr ends at {indptr[-1]}; "
            f"call X.prune() or {advice}"
        )
    if bad_entry >= 0:
        place = int(np.searchsorted(indptr, bad_entry, side="right")) - 1
        raise ValueError(
            f"X has {minor} index {indices[bad_entry]} in {major} {place}, but only {n_minor} "
            f"{minor}s; {advice}"
        )
    return indptr, indices, bool(is_sorted), bool(has_duplicates)


def _one_type(indptr: NDArray[Any], indices: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both in one of int32 and int64, contiguous; only `indptr` is copied if it can be."""
    narrow, wide = np.dtype(np.int32), np.dtype(np.int64)
    if indices.dtype not in (narrow, wide) or (
        indptr.dtype != narrow and indices.size >= np.iinfo(np.int32).max
    ):
        # Unsigned values beyond int64 turn negative: as wrong as before, and found.
        indices = indices.astype(wide, copy=False)
    if indptr.dtype != indices.dtype:
        # Clipping keeps what is out of range out of range, in the smaller type too.
        indptr = np.clip(indptr.astype(wide), -1, indices.size + 1).astype(indices.dtype)
    return np.ascontiguousarray(indptr), np.ascontiguousarray(indices)


def _narrow(data: NDArray[Any]) -> NDArray[Any]:
    """Return the stored values in a type of the kernels that holds them all exactly.

    Integers take the smallest one (counts in int64 become uint8); at most the values double in
    size. Only integers above 2**53 and longdouble are rounded.
    """
    native = data.dtype.newbyteorder("=")
    if data.dtype == np.bool_:
        data = flags("X", data)
    elif native in NATIVE_TYPES:
        data = data.astype(native, copy=False)
    elif data.dtype.kind == "f":
        with np.errstate(over="ignore"):  # longdouble beyond float64 becomes infinity
            data = data.astype(np.float32 if data.dtype.itemsize == 2 else np.float64)
    else:
        low, high = (int(data.min()), int(data.max())) if data.size else (0, 0)
        if low >= 0 and high <= np.iinfo(np.uint8).max:
            data = data.astype(np.uint8)
        elif low >= np.iinfo(np.int8).min and high <= np.iinfo(np.int8).max:
            data = data.astype(np.int8)
        else:
            exact = max(-low, high) <= 1 << 24
            data = data.astype(np.float32 if exact else np.float64)
    return np.require(data, requirements=["C", "A"])
