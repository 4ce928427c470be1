"""What data are before they are a store: columns to be had a few at a time, and their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.files import FileError, did_you_mean, engine_errors, quote
from ...core.frames import categories_of_schema
from ...core.types import FloatArray, IndexArray
from ...data.filled import Filled
from ..annotated import Annotated
from ..codings import Coding
from ..elsewhere import refuse_format
from ..hdf5 import Cells, open_annotated
from ..opening import as_design
from ..parts import parts_of
from ..plink import names_of_variants
from ..read import read_request
from ..table import Request, Table
from .entries import KINDS, OfCompressedColumns, OfCompressedRows, OfText, end_of, kind_of
from .genotypes import genotypes_suffix
from .several import open_several

_HDF5 = (".h5ad", ".h5", ".hdf5")
_TEXT = (".svm", ".svmlight", ".libsvm")
LABEL = "label"
_ZARR = ("zarr.json", ".zgroup", ".zarray")


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
        """Return the column before which so many bytes of memory are full; one fits always."""


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
        """Return where so many bytes are full."""
        n_samples, n_features = self.shape
        if self._indptr is None:  # of a sparse file no more is known
            return min(n_features, first + max(1, n_bytes // (8 * n_samples)))
        return end_of(self._indptr, first, n_bytes)


class OfRows:
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
        """Return where so many bytes are full, those of a block that is written among them."""
        size: int = 2 * self.dtype.itemsize * max(1, self.shape[0])
        return min(self.shape[1], first + max(1, n_bytes // size))


class OfParquet:
    """The columns of Parquet files with the same columns, one after the other by rows.

    Every file is read for the columns that are asked for, and no others.
    """

    is_sparse = False

    def __init__(self, paths: Sequence[Path], features: Sequence[str], kind: str) -> None:
        from pyarrow import parquet

        self._paths, self._features = paths, features
        self.dtype = np.dtype(kind)
        rows = sum(parquet.read_metadata(path).num_rows for path in paths)
        self.shape = rows, len(features)

    def columns(self, first: int, last: int) -> NDArray[Any]:
        """Return some columns."""
        from pyarrow import parquet

        out = np.empty((self.shape[0], last - first), self.dtype, order="F")
        top = 0
        for path in self._paths:
            table = parquet.read_table(path, columns=list(self._features[first:last]))
            rows = slice(top, top + table.num_rows)
            for place, column in enumerate(table.itercolumns()):
                if column.null_count:
                    raise FileError(
                        f"{path}: the column {quote(self._features[first + place])} has "
                        f"{column.null_count} missing values; say what they are (missing), or "
                        "leave it out (drop)."
                    )
                out[rows, place] = column.to_numpy()
            top = rows.stop
        return out

    def end(self, first: int, n_bytes: int) -> int:
        """Return where so many bytes are full."""
        size: int = 2 * self.dtype.itemsize * max(1, self.shape[0])
        return min(self.shape[1], first + max(1, n_bytes // size))


def open_source(
    path: Path, target: str | None, id: str | None, keep: Sequence[str], drop: Sequence[str],
    layer: str | None, encoding: str | None, missing: str | None, spill: Path,
) -> Contents:  # fmt: skip
    """Return what a file holds; see `convert`. spill : where text may lie as numbers meanwhile."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if any(suffix in _TEXT for suffix in suffixes):
        _refuse(path, "svmlight has", target=target, id=id, keep=keep, drop=drop)
        _refuse_missing(path, missing)
        matrix = OfText(path)
        labels = {LABEL: _plain(matrix.labels)}
        return Contents(matrix, columns=labels, first_index=matrix.first_index)
    if genotypes_suffix(path) is not None and not path.is_dir():
        _refuse_missing(path, missing)
        return of_genotypes([path], target, id, keep, drop, layer)
    if suffixes[-1:] and suffixes[-1] in _HDF5:
        _refuse_missing(path, missing)
        return _of_annotated(path, target, keep, layer)
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
    request = Request(
        target, id=id, columns={name: name for name in keep}, drop=tuple(drop), layer=layer,
        encoding=encoding, missing=missing, spill=spill,
    )  # fmt: skip
    return of_table(read_request(path, request))


def of_table(table: Table) -> Contents:
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
    return OfRows(np.asarray(X)) if by_row else OfDesign(X)


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


def _refuse(path: Path, data: str, **given: Any) -> None:
    """Raise where columns are named that data do not have."""
    for what, value in given.items():
        if value:
            raise FileError(f"{path}: {data} no columns to name; leave out {what}.")


def _refuse_missing(path: Path, missing: str | None) -> None:
    if missing is not None:
        raise FileError(f"{path}: only empty cells of tables can be filled; leave out missing.")


def _of_annotated(
    path: Path, target: str | None, keep: Sequence[str], layer: str | None
) -> Contents:
    """Return a matrix of AnnData or 10x, with all columns of obs that have no gaps."""
    return _of_cells(open_annotated(str(path), layer), target, keep)


def _of_cells(cells: Cells, target: str | None, keep: Sequence[str]) -> Contents:
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
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise FileError(
            f"{paths[0]}: Parquet needs pyarrow; install it with pip install 'zeronorm[files]'."
        ) from None
    schema = parquet.read_schema(paths[0])
    for path in paths[1:]:
        if parquet.read_schema(path).names != schema.names:
            raise FileError(f"{path}: its columns are not those of {paths[0]}.")
    targets = target.split(",") if target else []
    others = [*targets, *keep, *([id] if id else [])]
    for name in (*others, *drop):
        if schema.names.count(name) != 1:
            hint = did_you_mean(name, schema.names, given={*others, *drop})
            raise FileError(f"{paths[0]}: no column {quote(name)}.{hint}")
    features = [name for name in schema.names if name not in {*others, *drop}]
    if not {*features}.isdisjoint(categories_of_schema(schema)):
        return None
    kinds = set()
    for name in features:
        kind = schema.field(name).type
        if not (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        ):
            return None
        kinds.add(np.dtype(kind.to_pandas_dtype()))
    if not features:
        raise FileError(f"{paths[0]}: no features in it.")
    common = np.result_type(*kinds)
    matrix = OfParquet(paths, features, common.name if common in KINDS else "float64")
    read = [parquet.read_table(path, columns=others) for path in paths]
    columns = {
        name: np.concatenate([np.asarray(table[name].to_pylist()) for table in read])
        for name in others
    }
    samples = None if id is None else [str(name) for name in columns.pop(id).tolist()]
    return Contents(matrix, features, samples, columns)


def _targets(y: NDArray[Any], name: str | tuple[str, ...] | None) -> dict[str, NDArray[Any]]:
    if y.ndim == 1:
        return {name if isinstance(name, str) else LABEL: y}
    names = name if isinstance(name, tuple) else tuple(f"{LABEL} {j}" for j in range(y.shape[1]))
    return dict(zip(names, y.T, strict=True))


def _plain(labels: FloatArray) -> NDArray[Any]:
    """Return whole numbers as such."""
    whole = (labels == np.rint(labels)).all() and np.abs(labels).max() < 2**53
    return labels.astype(np.int64) if whole else labels
