"""Sparse data that lie by row: their columns, a few at a time.

The entries are gone through again for every few columns, and put where they belong as they come.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.files import FileError
from ...core.types import FloatArray, IndexArray
from ..svmlight import svmlight_blocks

# Rows, columns and values of some entries.
Entries: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

KINDS = {np.dtype(name) for name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32",
                                     "float32", "float64")}  # fmt: skip
ENTRY_BYTES = 16  # of a sparse entry in memory: row, column or place, value
PIECE = 1 << 20  # entries that are looked at together


class OfEntries(ABC):
    """Entries by row, of which the columns are known to have so many each."""

    is_sparse = True
    dtype: np.dtype[Any] = np.dtype(np.float64)
    shape: tuple[int, int]
    indptr: IndexArray

    @abstractmethod
    def _entries(self, first: int, last: int) -> Iterator[Entries]:
        """Yield the entries of some columns, these numbered from 0."""

    def columns(self, first: int, last: int) -> sp.csc_array[Any]:
        """Return some columns."""
        pointers = self.indptr[first : last + 1] - self.indptr[first]
        rows, values = np.empty(pointers[-1], np.int32), np.empty(pointers[-1], self.dtype)
        free = pointers[:-1].copy()
        for row, column, value in self._entries(first, last):
            order = np.argsort(column, kind="stable")
            column = column[order]
            begins = np.flatnonzero(np.diff(column, prepend=-1))  # of the runs of one column
            lengths = np.diff(begins, append=column.size)
            place = free[column] + np.arange(column.size) - np.repeat(begins, lengths)
            rows[place], values[place] = row[order], value[order]
            free[column[begins]] += lengths
        return sp.csc_array((values, rows, pointers), shape=(self.shape[0], last - first))

    def end(self, first: int, n_bytes: int) -> int:
        """Return where so many bytes are full, those of what is written among them."""
        return end_of(self.indptr, first, n_bytes // 2)


class OfText(OfEntries):
    """The columns of an svmlight file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        labels, counts, highest = [], np.zeros(1, np.int64), 0
        for rows in svmlight_blocks(path):
            labels.append(rows.labels)
            highest = max(highest, rows.highest)
            if highest >= counts.size:  # twice the room, so that few blocks copy the counts
                known = counts
                counts = np.zeros(max(2 * known.size, highest + 1), np.int64)
                counts[: known.size] = known
            np.add.at(counts, rows.indices, 1)  # in the time of the block, whatever the width
        counts = counts[: highest + 1]
        if not labels:
            raise FileError(f"{path}: no samples in it (only blank lines or comments).")
        if not counts.any():
            raise FileError(f"{path}: no features in it (every line is a label alone).")
        self.first_index = int(counts[0] == 0)
        self.labels: FloatArray = np.concatenate(labels)
        self.indptr = _pointers(counts[self.first_index :])
        self.shape = self.labels.size, self.indptr.size - 1

    def _entries(self, first: int, last: int) -> Iterator[Entries]:
        low = first + self.first_index
        for rows in svmlight_blocks(self._path):
            own, row = _within(rows.indices, rows.lengths, low, low + last - first)
            yield rows.start + row, rows.indices[own] - low, rows.values[own]


class OfCompressedRows(OfEntries):
    """The columns of a csr_array whose entries are mapped from a file."""

    def __init__(self, matrix: Any) -> None:
        self._matrix, self.shape, self.dtype = matrix, matrix.shape, kind_of(matrix.dtype)
        counts = np.zeros(self.shape[1], np.int64)
        for start in range(0, matrix.nnz, PIECE):
            np.add.at(counts, matrix.indices[start : start + PIECE], 1)
        self.indptr = _pointers(counts)

    def _entries(self, first: int, last: int) -> Iterator[Entries]:
        indptr, start = self._matrix.indptr.astype(np.int64), 0
        while start < self.shape[0]:
            full = np.searchsorted(indptr, indptr[start] + PIECE, side="right")
            stop = min(max(start + 1, int(full) - 1), self.shape[0])
            some = slice(indptr[start], indptr[stop])
            indices = self._matrix.indices[some]
            own, row = _within(indices, np.diff(indptr[start : stop + 1]), first, last)
            yield start + row, indices[own] - first, self._matrix.data[some][own]
            start = stop


class OfCompressedColumns:
    """The columns of a csc_array whose entries are mapped from a file."""

    is_sparse = True

    def __init__(self, matrix: Any) -> None:
        self._matrix, self.shape, self.dtype = matrix, matrix.shape, kind_of(matrix.dtype)
        self.indptr = matrix.indptr

    def columns(self, first: int, last: int) -> sp.csc_array[Any]:
        """Return some columns."""
        pointers = self.indptr[first : last + 1]
        some = slice(pointers[0], pointers[-1])
        values = np.array(self._matrix.data[some], self.dtype)
        rows = np.array(self._matrix.indices[some])
        shape = self.shape[0], last - first
        return sp.csc_array((values, rows, pointers - pointers[0]), shape=shape)

    def end(self, first: int, n_bytes: int) -> int:
        """Return where so many bytes are full, those of what is written among them."""
        return end_of(self.indptr, first, n_bytes // 2)


def kind_of(stored: Any) -> np.dtype[Any]:
    """Return the type in which numbers of a type are taken."""
    kind = np.dtype(stored).newbyteorder("=")
    kind = np.dtype(np.float32) if kind == np.float16 else kind
    return kind if kind in KINDS else np.dtype(np.float64)


def end_of(indptr: NDArray[Any], first: int, n_bytes: int) -> int:
    """Return the column before which so many bytes of entries are full; one fits always."""
    full = int(indptr[first]) + n_bytes // ENTRY_BYTES
    last = int(np.searchsorted(indptr, full, side="right")) - 1
    return min(max(last, first + 1), indptr.size - 1)


def _pointers(counts: IndexArray) -> IndexArray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _within(
    indices: NDArray[Any], lengths: IndexArray, low: int, high: int
) -> tuple[IndexArray, IndexArray]:
    """Return which entries of some rows have low <= index < high, and the row of each."""
    own = np.flatnonzero((indices >= low) & (indices < high))
    return own, np.searchsorted(np.cumsum(lengths), own, side="right")
