"""What data are before they are a store: columns to be had a few at a time, and their names."""

from __future__ import annotations

import glob
import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.errors import ParameterError
from ...core.files import FileError, did_you_mean, engine_errors, quote
from ...core.frames import categories_of_pandas
from ...core.types import FloatArray, IndexArray
from ...data.views import Filled
from ..arrays import as_whole
from ..encoding import Coding
from ..genotypes import (
    as_variants,
    distinct,
    names_of_variants,
    read_psam,
    read_pvar,
    read_sample,
    variant,
)
from ..hdf5 import Annotated, CellMatrix, open_annotated
from ..opening import as_design
from ..read import matching, parts_of, read_request
from ..source import check_path, refuse_format
from ..svmlight import svmlight_blocks
from ..table import Dataset, TableRequest

_HDF5 = (".h5ad", ".h5", ".hdf5")
_TEXT = (".svm", ".svmlight", ".libsvm")
LABEL = "label"
_ZARR = ("zarr.json", ".zgroup", ".zarray")
KINDS = {np.dtype(name) for name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32",
                                     "float32", "float64")}  # fmt: skip


class Matrix(Protocol):
    """Columns to be had a few at a time."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""

    @property
    def is_sparse(self) -> bool:
        """Whether zeros are not stored."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that a store has them in."""

    def columns(self, first: int, last: int) -> Any:
        """Return some columns: an array, or a csc_array with sorted indices."""

    def end(self, first: int, n_bytes: int) -> int:
        """Return the column before which `n_bytes` bytes of memory are full; one fits always."""


@dataclass(frozen=True, slots=True)
class Contents:
    """A matrix, and what is known of its samples and features."""

    matrix: Matrix
    features: Sequence[str] | None = None
    samples: Sequence[str] | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # of the samples, by name
    notes: tuple[str, ...] = ()
    impute: bool = False  # whether NaN is the mean of its column
    # How features came from columns of a table, and the cells that were empty: (indptr, rows).
    codings: Mapping[str, Coding] = field(default_factory=dict)
    gaps: tuple[IndexArray, IndexArray] | None = None
    first_index: int = 0  # what the data call their first feature when features have no names


def open_source(
    path: Path, target: str | None, id: str | None, keep: Sequence[str], drop: Sequence[str],
    layer: str | None, encoding: str | None, decimal: str | None, missing: str | None, spill: Path,
) -> Contents:  # fmt: skip
    """Return what a file holds; see `convert`. spill : where text may lie as numbers meanwhile."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if any(suffix in _TEXT for suffix in suffixes):
        _refuse(path, "svmlight has", target=target, id=id, keep=keep, drop=drop)
        _refuse_missing(path, missing)
        matrix = OfText(path)
        labels = {LABEL: as_whole(matrix.labels)}
        return Contents(matrix, columns=labels, first_index=matrix.first_index)
    if genotypes_suffix(path) is not None and not path.is_dir():
        _refuse_missing(path, missing)
        return of_genotypes([path], target, id, keep, drop, layer)
    if suffixes[-1:] and suffixes[-1] in _HDF5:
        _refuse_missing(path, missing)
        return _of_cells(open_annotated(str(path), layer), target, keep)
    parquet = [path] if suffixes[-1:] == [".parquet"] else None
    if path.is_dir():
        parquet = _parquet_in(path)
        if parquet is None:
            _refuse_missing(path, missing)
            return _of_zarr(path, target, keep, layer)
    elif parquet is not None:
        parquet = parts_of(path) or parquet
    if parquet is not None and missing is None:
        numbers = _of_parquet(parquet, target, id, keep, drop)
        if numbers is not None:
            return numbers
    request = TableRequest(
        target, id=id, columns={name: name for name in keep}, drop=tuple(drop), layer=layer,
        encoding=encoding, decimal=decimal, missing=missing, spill=spill,
    )  # fmt: skip
    return of_table(read_request(path, request))


def of_table(table: Dataset) -> Contents:
    """Return a table that was read as a whole."""
    columns = dict(table.columns)
    if table.y is not None:
        columns = _targets(table.y, table.target_name) | columns
    filled = table.X if isinstance(table.X, Filled) else None
    return Contents(
        _matrix_of(table.X if filled is None else filled.base), table.feature_names,
        table.sample_names, columns, table.notes, codings=table.codings,
        gaps=None if filled is None else filled.gaps, first_index=table.first_index,
    )  # fmt: skip


def _matrix_of(X: Any) -> Matrix:
    """Return what was read as a matrix that is not copied as a whole."""
    if sp.issparse(X):
        return (OfCompressedColumns if isinstance(X, sp.csc_array) else OfCompressedRows)(X)
    by_row = isinstance(X, np.memmap) and X.ndim == 2 and X.flags.c_contiguous and X.dtype in KINDS
    return StoredByRow(np.asarray(X)) if by_row else OfDesign(X)


def _refuse(path: Path, data: str, **given: Any) -> None:
    """Raise where columns are named that data do not have."""
    for what, value in given.items():
        if value:
            raise FileError(f"{path}: {data} no columns to name; leave out {what}.")


def _refuse_missing(path: Path, missing: str | None) -> None:
    if missing is not None:
        raise FileError(f"{path}: only empty cells of tables can be filled; leave out missing.")


def _of_cells(cells: CellMatrix, target: str | None, keep: Sequence[str]) -> Contents:
    """Return a matrix of AnnData or 10x, with all columns of obs that have no gaps."""
    columns, notes = {}, list(cells.notes)
    needed = {*keep, *(target.split(",") if target else ())}
    for name in needed:
        columns[name] = cells.column(name)
    for name in cells.columns:
        if "/" in name and name not in needed:
            notes.append(f"left out: the column {quote(name)}, which lies in a group")
            continue
        try:
            columns.setdefault(name, cells.column(name))
        except FileError as error:
            notes.append(f"left out: {error}")
    return Contents(OfDesign(cells.design()), cells.features, cells.samples, columns, tuple(notes))


def _parquet_in(path: Path) -> list[Path] | None:
    """Return the Parquet files of a directory; None where it is of Zarr."""
    if any((path / name).exists() for name in _ZARR):
        return None
    refuse_format(path)
    found = sorted(path.glob("*.parquet"))
    if not found:
        raise FileError(
            f"{path}: a directory must be of Zarr or hold Parquet files; name a file in it."
        )
    return found


def _of_zarr(path: Path, target: str | None, keep: Sequence[str], layer: str | None) -> Contents:
    """Return an array of Zarr, or a matrix of AnnData."""
    try:
        import zarr
    except ImportError:
        raise FileError(
            f"{path}: Zarr needs the package zarr; install it with pip install 'zeronorm[zarr]'."
        ) from None
    with engine_errors(f"{path}: not readable as Zarr, or damaged"):
        node = zarr.open(path, mode="r")
        if isinstance(node, zarr.Array):
            return Contents(OfDesign(node))
        return _of_cells(Annotated(node, str(path), layer), target, keep)


def _of_parquet(
    paths: Sequence[Path], target: str | None, id: str | None, keep: Sequence[str],
    drop: Sequence[str],
) -> Contents | None:  # fmt: skip
    """Return the columns of Parquet files, which must have the same ones; None: not all numbers."""
    import polars as pl

    with engine_errors(f"{paths[0]}: not a readable Parquet file"):
        schema = pl.read_parquet_schema(paths[0])
        categories = categories_of_pandas(
            pl.read_parquet_metadata(paths[0]).get("pandas", "{}"), schema
        )
    names = [*schema]
    for path in paths[1:]:
        with engine_errors(f"{path}: not a readable Parquet file"):
            others_of = [*pl.read_parquet_schema(path)]
        if others_of != names:
            raise FileError(f"{path}: its columns are not those of {paths[0]}.")
    targets = target.split(",") if target else []
    others = [*targets, *keep, *([id] if id else [])]
    for name in (*others, *drop):
        if name not in schema:
            hint = did_you_mean(name, names, given={*others, *drop})
            raise FileError(f"{paths[0]}: no column {quote(name)}.{hint}")
    features = [name for name in names if name not in {*others, *drop}]
    if not {*features}.isdisjoint(categories):
        return None
    types = {schema[name] for name in features}
    if not all(kind.is_integer() or kind.is_float() or kind == pl.Boolean for kind in types):
        return None
    kinds = {pl.Series([], dtype=kind).to_numpy().dtype for kind in types}
    if not features:
        raise FileError(f"{paths[0]}: no features in it.")
    common = np.result_type(*kinds)
    matrix = OfParquet(paths, features, common.name if common in KINDS else "float64")
    read = [_columns_of(path, others) for path in paths]
    columns = {
        name: np.concatenate([np.asarray(table[name].to_list()) for table in read])
        for name in others
    }
    samples = None if id is None else [str(name) for name in columns.pop(id).tolist()]
    return Contents(matrix, features, samples, columns)


def _columns_of(path: Path, names: Sequence[str]) -> Any:
    """Return some columns of a Parquet file."""
    import polars as pl

    with engine_errors(f"{path}: not a readable Parquet file"):
        return pl.read_parquet(path, columns=list(names), glob=False, hive_partitioning=False)


def _targets(y: NDArray[Any], name: str | tuple[str, ...] | None) -> dict[str, NDArray[Any]]:
    if y.ndim == 1:
        return {name if isinstance(name, str) else LABEL: y}
    names = name if isinstance(name, tuple) else tuple(f"{LABEL} {j}" for j in range(y.shape[1]))
    return dict(zip(names, y.T, strict=True))


class OfDesign:
    """The columns of what `as_design` reads."""

    def __init__(self, X: Any) -> None:
        sparse: Any = X if sp.issparse(X) else None
        if sparse is not None:
            X = sparse = sparse.tocsc()
        self._design = as_design(X, 1)
        self.names = self._design.feature_names
        self.shape, self.is_sparse = self._design.shape, self._design.is_sparse
        stored = X.dtype if hasattr(X, "dtype") else getattr(self._design, "dtype", np.float64)
        self.dtype = kind_of(stored)
        self._indptr = None if sparse is None else np.asarray(sparse.indptr)
        # An array gives its columns in the type that it has.
        taken = isinstance(X, np.ndarray) and kind_of(X.dtype) == np.dtype(X.dtype).newbyteorder(
            "="
        )
        self._array = X if taken else None

    def columns(self, first: int, last: int) -> Any:
        """Return some columns."""
        if self._array is not None:
            return self._array[:, first:last]
        return self._design.gather(slice(first, last))

    def end(self, first: int, n_bytes: int) -> int:
        """Return where `n_bytes` bytes are full."""
        n_samples, n_features = self.shape
        if self._indptr is None:  # of a sparse file no more is known
            return min(n_features, first + max(1, n_bytes // (8 * n_samples)))
        return end_of(self._indptr, first, n_bytes)


class StoredByRow:
    """The columns of numbers that lie by row in a mapped file: a pass over it for a few columns."""

    is_sparse = False
    _SLAB = 1 << 24

    def __init__(self, rows: NDArray[Any]) -> None:
        self._rows = rows
        self.shape: tuple[int, int] = (rows.shape[0], rows.shape[1])
        self.dtype: np.dtype[Any] = rows.dtype

    def columns(self, first: int, last: int) -> NDArray[Any]:
        """Return some columns."""
        n_samples, n_features = self.shape
        out = np.empty((n_samples, last - first), self.dtype, order="F")
        step = max(1, self._SLAB // (n_features * self.dtype.itemsize))
        for start in range(0, n_samples, step):
            rows = slice(start, start + step)
            out[rows] = self._rows[rows, first:last]
        return out

    def end(self, first: int, n_bytes: int) -> int:
        """Return where `n_bytes` bytes are full, those of a block that is written among them."""
        size: int = 2 * self.dtype.itemsize * max(1, self.shape[0])
        return min(self.shape[1], first + max(1, n_bytes // size))


class OfParquet:
    """The columns of Parquet files with the same columns, one after the other by rows.

    Every file is read for the columns that are asked for, and no others.
    """

    is_sparse = False

    def __init__(self, paths: Sequence[Path], features: Sequence[str], kind: str) -> None:
        import polars as pl

        self._paths, self._features = paths, features
        self.dtype = np.dtype(kind)
        scans = [pl.scan_parquet(path, glob=False, hive_partitioning=False) for path in paths]
        self.shape = sum(scan.select(pl.len()).collect().item() for scan in scans), len(features)

    def columns(self, first: int, last: int) -> NDArray[Any]:
        """Return some columns."""
        out = np.empty((self.shape[0], last - first), self.dtype, order="F")
        top = 0
        for path in self._paths:
            table = _columns_of(path, self._features[first:last])
            rows = slice(top, top + len(table))
            for place, column in enumerate(table):
                if column.null_count():
                    raise FileError(
                        f"{path}: the column {quote(column.name)} has "
                        f"{column.null_count()} missing values; say what they are (missing), or "
                        "leave it out (drop)."
                    )
                out[rows, place] = column.to_numpy()
            top = rows.stop
        return out

    def end(self, first: int, n_bytes: int) -> int:
        """Return where `n_bytes` bytes are full."""
        size: int = 2 * self.dtype.itemsize * max(1, self.shape[0])
        return min(self.shape[1], first + max(1, n_bytes // size))


# Sparse data that lie by row: their columns, a few at a time.
#
# The entries are gone through again for every few columns, and put where they belong as they come.

Entries: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # rows, columns, values
ENTRY_BYTES = 16  # of a sparse entry in memory: row, column or place, value
PIECE = 1 << 20  # entries that are looked at together


class OfEntries(ABC):
    """Entries by row, of which the number in each column is known."""

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
        """Return where `n_bytes` bytes are full, those of what is written among them."""
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
        self.ends = int(np.flatnonzero(counts)[0]), highest
        self.labels: FloatArray = np.concatenate(labels)
        self.indptr = _pointers(counts[self.first_index :])
        self.shape = self.labels.size, self.indptr.size - 1

    def widen(self, n_features: int) -> None:
        """Add features that are 0 in all rows."""
        self.indptr = np.pad(self.indptr, (0, n_features - self.shape[1]), "edge")
        self.shape = self.shape[0], n_features

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
        """Return where `n_bytes` bytes are full, those of what is written among them."""
        return end_of(self.indptr, first, n_bytes // 2)


def kind_of(stored: Any) -> np.dtype[Any]:
    """Return the type in which numbers of a type are taken."""
    kind = np.dtype(stored).newbyteorder("=")
    kind = np.dtype(np.float32) if kind == np.float16 else kind
    return kind if kind in KINDS else np.dtype(np.float64)


def end_of(indptr: NDArray[Any], first: int, n_bytes: int) -> int:
    """Return the column before which `n_bytes` bytes of entries are full; one fits always."""
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


# Genotypes of PLINK 2 and BGEN: dosages of one allele, a few variants at a time.
#
# What is missing is NaN here; `convert` makes it the mean of the variant. The libraries that read
# the formats are optional and are imported on use.

_BESIDE = {
    ".pgen": (".pvar", ".pvar.zst", ".psam", ".pgen.pgi"),
    ".bgen": (".sample",),
}
_LIBRARIES = {".pgen": "pgenlib", ".bgen": "bgen"}


def genotypes_suffix(path: Path) -> str | None:
    """Return .pgen or .bgen where a file is named so."""
    suffix = path.suffix.lower()
    return suffix if suffix in _BESIDE else None


def beside(path: Path) -> list[Path]:
    """Return the files that genotypes are in beside their own one, of those that there are."""
    suffix = genotypes_suffix(path)
    others = (path.with_suffix(other) for other in _BESIDE[suffix]) if suffix else ()
    return [other for other in others if other.is_file()]


class Dosages:
    """Dosages of one allele of each variant, (n_samples, n_variants) in float32.

    variants : records of chromosome, name, position, allele (the counted one) and other.
    samples : their names, None where the files have none.
    about : other columns of the samples, as text.
    """

    is_sparse = False
    dtype = np.dtype(np.float32)

    path: Path
    variants: NDArray[np.void]
    samples: list[str] | None
    n_samples: int
    about: dict[str, list[str]]

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_variants)."""
        return self.n_samples, len(self.variants)

    def columns(self, first: int, last: int) -> NDArray[np.float32]:
        """Return some variants, NaN where a dosage is missing."""
        out = np.empty((last - first, self.n_samples), np.float32)
        self.fill(first, out)
        return out.T

    def fill(self, first: int, out: NDArray[np.float32]) -> None:
        """Fill (some variants, n_samples) numbers, NaN where a dosage is missing."""
        last = first + len(out)
        with _damage_of(f"{self.path}: variants {first + 1} to {last} cannot be read"):
            self._read(first, out)
        wrong = np.argwhere((out < 0) | (out > 2.001))  # 16 bits round 2 a little
        if wrong.size:
            place, row = wrong[0].tolist()
            raise FileError(
                f"{self.path}: the dosage of the variant "
                f"{quote(self.variants['name'][first + place])} in sample {row + 1} must be from 0 "
                f"to 2; got {out[place, row]:g}."
            )

    def end(self, first: int, n_bytes: int) -> int:
        """Return where `n_bytes` bytes are full."""
        return min(self.shape[1], first + max(1, n_bytes // (8 * self.n_samples)))

    def _read(self, first: int, out: NDArray[np.float32]) -> None:
        """Fill (some variants, n_samples) numbers."""
        raise NotImplementedError


class OfPgen(Dosages):
    """A .pgen file, which gives any variants; .pvar and .psam are beside it."""

    def __init__(self, path: Path) -> None:
        library = _library(path, ".pgen")
        self.path = path
        plain, packed = path.with_suffix(".pvar"), path.with_suffix(".pvar.zst")
        self.variants = read_pvar(packed if packed.is_file() and not plain.is_file() else plain)
        self.samples, self.about = read_psam(path.with_suffix(".psam"))
        self.n_samples = len(self.samples)
        with _damage_of(f"{path}: not readable as .pgen, damaged or truncated"):
            self._reader = library.PgenReader(bytes(path))
        found = self._reader.get_raw_sample_ct(), self._reader.get_variant_ct()
        if found != self.shape:
            raise FileError(
                f"{path}: {found[0]} samples and {found[1]} variants, but {self.n_samples} in "
                f".psam and {len(self.variants)} in .pvar; name files that belong together."
            )

    def _read(self, first: int, out: NDArray[np.float32]) -> None:
        self._reader.read_dosages_range(first, first + len(out), out)
        out[out == -9.0] = np.nan


class OfBgen(Dosages):
    """A .bgen file, of which the first allele is counted, as of .bed files.

    Variants come one after the other: a later block begins where the one before ended.
    """

    _next = -1
    _stream: Iterator[NDArray[Any]]

    def __init__(self, path: Path) -> None:
        self.path, self._library = path, _library(path, ".bgen")
        size, found, end = path.stat().st_size, [], 0
        with _damage_of(f"{path}: not readable as .bgen, damaged or truncated"):
            with self._library.BgenReader(str(path), delay_parsing=True) as reader:
                header, names = reader.header, list(reader.samples)
            for one in self._opened():
                name = one.rsid if one.rsid not in ("", ".") else one.varid
                found.append(variant(path, one.chrom, name, one.pos, one.alleles, counted=0))
                end = one.next_variant_offset
        if len(found) != header.nvariants or end > size:
            raise FileError(
                f"{path}: {header.nvariants} variants by its header, of which {len(found)} are "
                f"there, up to byte {end:,}; the file has {size:,}. It is cut; copy it again."
            )
        self.variants = as_variants(path, found)
        self.n_samples, self.about, own = header.nsamples, {}, None
        if path.with_suffix(".sample").is_file():
            own, self.about = read_sample(path.with_suffix(".sample"))
            if len(own) != self.n_samples:
                raise FileError(
                    f"{path.with_suffix('.sample')}: {len(own)} samples, but {self.n_samples} in "
                    f"{path}; name files that belong together."
                )
        self.samples = distinct(path, names) if header.has_sample_ids else own

    def _read(self, first: int, out: NDArray[np.float32]) -> None:
        if first != self._next:
            self._stream = map(self._dosages, islice(self._opened(), first, None))
        self._next = -1  # until all of the block are there
        read = 0
        for read, one in enumerate(islice(self._stream, len(out)), 1):
            out[read - 1] = one
        if read < len(out):
            raise FileError(
                f"{self.path}: ends after {first + read} of {len(self.variants)} variants."
            )
        self._next = first + len(out)

    def _opened(self) -> Iterator[Any]:
        yield from self._library.BgenReader(str(self.path), delay_parsing=True)

    def _dosages(self, one: Any) -> NDArray[Any]:
        """Return 2 p_0 + p_1 (p_0 + p_2 of phased ones), of haploid samples 2 p_0."""
        ploidy = np.asarray(one.ploidy)
        if not np.isin(ploidy, (1, 2)).all():
            raise FileError(
                f"{self.path}: the variant {quote(one.rsid)} has {ploidy.max()} copies in a sample;"
                " a dosage is of one or two."
            )
        chances = one.probabilities
        twice = 2.0 * chances[:, 0]
        if chances.shape[1] < 3:
            return np.asarray(twice)
        both = chances[:, 0] + chances[:, 2] if one.is_phased else twice + chances[:, 1]
        return np.asarray(np.where(ploidy == 1, twice, both))


def open_genotypes(
    path: Path, wanted: Sequence[str]
) -> tuple[Dosages, dict[str, NDArray[Any]], tuple[str, ...]]:
    """Return the genotypes of a file, columns of the samples and notes."""
    check_path(path)
    dosages: Dosages
    if genotypes_suffix(path) == ".bgen":
        dosages, notes = OfBgen(path), ["columns are the dosage of the first of both alleles"]
    else:
        dosages, notes = OfPgen(path), ["columns are the dosage of ALT"]
    if dosages.samples is None:
        notes.append("the file names no samples; they stay in its order")
    columns = {name: _column(path, name, dosages.about) for name in wanted}
    return dosages, columns, tuple(notes)


def _column(path: Path, name: str, about: dict[str, list[str]]) -> NDArray[Any]:
    """Return a column of the samples, as numbers where all of it are."""
    if name not in about:
        raise FileError(
            f"{path}: the samples have no column {quote(name)} (.psam and .sample files have "
            f"such).{did_you_mean(name, list(about))}"
        )
    text = about[name]
    gap = next((row for row, value in enumerate(text, 1) if value in ("NA", "nan", ".")), None)
    if gap is not None:
        raise FileError(
            f"{path}: the column {quote(name)} is missing in sample {gap}; a store has no gaps. "
            "Leave the column out, and give the target as a file when selecting."
        )
    for kind in (np.int64, np.float64):
        with suppress(ValueError, OverflowError):
            return np.array(text).astype(kind)
    return np.array(text)


def _library(path: Path, suffix: str) -> Any:
    name = _LIBRARIES[suffix]
    try:
        return importlib.import_module(name)
    except ImportError:
        raise FileError(
            f"{path}: {suffix} needs the package {name}; install it with pip install "
            "'zeronorm[genotypes]'."
        ) from None


@contextmanager
def _damage_of(message: str) -> Iterator[None]:
    """Turn whatever a library raises into a FileError, also memory that damaged counts ask for."""
    try:
        with engine_errors(message):
            yield
    except MemoryError:
        raise FileError(
            f"{message} (it asks for more memory than there is). Where the file is small, its "
            "header is damaged: copy it again."
        ) from None


# Several files of genotypes as one, as of chromosomes: their variants side by side.


def several(data: Any) -> list[Path] | None:
    """Return the files of genotypes that a pattern or a list names; None of other data."""
    if isinstance(data, str | os.PathLike):
        text = os.fspath(data)
        if not glob.has_magic(text) or Path(text).exists() or not genotypes_suffix(Path(text)):
            return None
        names: Sequence[Any] = matching(text)
    elif isinstance(data, list | tuple) and data:
        if not all(isinstance(one, str | os.PathLike) for one in data):
            return None
        names = data
    else:
        return None
    paths = [Path(name).absolute() for name in names]
    kind = genotypes_suffix(paths[0])
    for place, path in enumerate(paths):
        refuse_format(path)
        if kind is None or genotypes_suffix(path) != kind:
            raise FileError(
                f"{path}: several files must all be .pgen or all .bgen; the first one "
                f"is {paths[0].name}. Convert files of other formats each by itself."
            )
        if path in paths[:place]:
            raise ParameterError("data", "must name every file once", f"{path} twice")
    return paths


def of_genotypes(
    paths: Sequence[Path], target: str | None, id: str | None, keep: Sequence[str],
    drop: Sequence[str], layer: str | None,
) -> Contents:  # fmt: skip
    """Return the genotypes of files with the same samples, side by side."""
    _refuse(paths[0], "genotypes have", id=id, drop=drop)
    if layer is not None:
        raise FileError(f"{paths[0]}: genotypes have no layers; leave out {quote(layer)}.")
    wanted = [*(target.split(",") if target else ()), *keep]
    matrix, columns, notes = open_several(paths, wanted)
    names = names_of_variants(matrix.variants)
    return Contents(matrix, names, matrix.samples, columns, notes, impute=True)


def open_several(
    paths: Sequence[Path], wanted: Sequence[str]
) -> tuple[Dosages, dict[str, NDArray[Any]], tuple[str, ...]]:
    """Return the genotypes of files, columns of the samples from the first one, and notes."""
    matrix, columns, notes = open_genotypes(paths[0], wanted)
    if len(paths) == 1:
        return matrix, columns, notes
    parts = [matrix, *(open_genotypes(path, ())[0] for path in paths[1:])]
    return JoinedDosages(parts), columns, notes


class JoinedDosages(Dosages):
    """The variants of several files, one file after the other."""

    def __init__(self, parts: Sequence[Dosages]) -> None:
        first = parts[0]
        for part in parts[1:]:
            _check_samples(first, part)
        self.path, self._parts = first.path, parts
        self.variants = np.concatenate([part.variants for part in parts])
        self.samples, self.n_samples, self.about = first.samples, first.n_samples, first.about
        self._starts = np.cumsum([0, *(len(part.variants) for part in parts)]).tolist()

    def fill(self, first: int, out: NDArray[np.float32]) -> None:
        """Fill (some variants, n_samples) numbers, of each file its own."""
        last = first + len(out)
        for part, start, end in zip(self._parts, self._starts, self._starts[1:], strict=False):
            low, high = max(first, start), min(last, end)
            if low < high:
                part.fill(low - start, out[low - first : high - first])


def _check_samples(first: Dosages, part: Dosages) -> None:
    rule = "All files must have the same samples in the same order; give each set by itself."
    if part.n_samples != first.n_samples:
        raise FileError(
            f"{part.path}: {part.n_samples} samples, but {first.n_samples} in {first.path}. {rule}"
        )
    if (part.samples is None) != (first.samples is None):
        raise FileError(
            f"{part.path}: its samples have {'no' if part.samples is None else 'some'} names, and "
            f"those of {first.path} have {'no' if first.samples is None else 'some'}. {rule}"
        )
    for row, (here, there) in enumerate(zip(part.samples or (), first.samples or (), strict=True)):
        if here != there:
            raise FileError(
                f"{part.path}: sample {row + 1} is {quote(here)}, but {quote(there)} in "
                f"{first.path}. {rule}"
            )
