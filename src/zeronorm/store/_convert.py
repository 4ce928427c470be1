"""Makes a store of data: a few columns at a time, to be gone on with after any end.

What is being written is a directory beside the store, `NAME.partial`, which gets the store's name
when all of it is on the disk. It has a journal of the columns that are there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..designs._dense import BLOCK_BYTES
from ..designs._store import INDEX, LATEST, OWN
from ..designs._zarr import METADATA, ZarrArray, write_group, write_texts
from ..files import FileError, quote
from ._sources import KINDS, Contents, Matrix, OfDesign, open_source

SPARSE_ENTRIES = 1 << 23  # in a file: 64 MiB of float64
LEAST_MEMORY = 1 << 20
PARTIAL = ".partial"
_JOURNAL = "journal.json"


@dataclass(frozen=True, slots=True)
class Conversion:
    """What `convert` has written.

    path : the store. shape : (n_samples, n_features). is_sparse : whether zeros are not stored.
    dtype : of its numbers. columns : what there is of the samples, as "label".
    resumed : the columns that an earlier, unfinished conversion had written.
    notes : what a user should know of the reading.
    """

    path: Path
    shape: tuple[int, int]
    is_sparse: bool
    dtype: str
    columns: tuple[str, ...]
    resumed: int
    notes: tuple[str, ...]


def convert(
    data: Any,
    store: str | os.PathLike[str],
    *,
    target: str | None = None,
    id: str | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    layer: str | None = None,
    dtype: str | None = None,
    memory: int = 1 << 30,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Conversion:
    """Write data as a store, which may be larger than memory and which scans map where it lies.

    A store is a directory of Zarr v3, laid out as an AnnData: `X` in blocks of whole columns
    without compression, each with a CRC-32C, or as a CSC matrix; names of features in `var`, names
    and columns of samples in `obs`. zarr, dask and anndata open it. A conversion that was ended,
    in whatever way, is gone on with when it is called again.

    Parameters
    ----------
    data : path or matrix
        svmlight (plain or compressed), .npy, .npz, CSV, Parquet (a file, or a directory of files
        with the same columns), .mtx or a directory of 10x Genomics, .h5ad, 10x .h5, a directory of
        Zarr; or what estimators take as X. svmlight, Parquet, .npy, .h5ad and Zarr are read a few
        columns at a time; .npz, .mtx and CSV are loaded.
    store : path
        Where it is to be, by custom NAME.zarr.
    target, id, keep, drop : names of columns of CSV, Parquet, .npz or obs
        The target (several with commas between them), the names of samples, other columns that are
        no features and stay with the samples, as times to an event, and columns that are left out.
        The labels of svmlight are kept as "label", obs of AnnData as a whole.
    layer : str
        Which matrix of an AnnData.
    dtype : "float32", "float64", "uint8", ... or None
        The type of the numbers; None: the one that they have. Numbers that change in it are an
        error, but for rounding to float32.
    memory : int
        Bytes that columns on the way may take, about.
    overwrite : bool
        Whether a store that is there is replaced, when the new one is complete.
    progress : callable or None
        Called with the columns that are written and their number.

    Returns
    -------
    Conversion

    Raises
    ------
    FileError, ValueError, OSError
        If the data cannot be read, have NaN or infinity, or cannot be written. What has been
        written by then is kept for the next call.

    Examples
    --------
    >>> import numpy as np, tempfile, zeronorm
    >>> from pathlib import Path
    >>> X = np.arange(12.0).reshape(3, 4)
    >>> made = zeronorm.convert(X, Path(tempfile.mkdtemp()) / "small.zarr")
    >>> made.shape, made.dtype
    ((3, 4), 'float64')
    """
    path = Path(store).absolute()
    if memory < LEAST_MEMORY:
        raise ValueError(f"memory must be at least {LEAST_MEMORY:,} bytes; got {memory}.")
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"{path}: exists; remove it, give another name, or pass overwrite=True (--overwrite)."
        )
    if path.exists() and not (path / METADATA).exists():
        raise FileExistsError(f"{path}: exists and is no store; it is not replaced.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: no such directory; create it first.")
    identity: dict[str, Any] = {}
    if isinstance(data, str | os.PathLike):
        source = Path(data).absolute()
        contents = open_source(source, target, id, keep, drop, layer)
        identity = {"source": str(source), "written": _written(source), "layer": layer}
    else:
        named = getattr(data, "columns", None)
        design = OfDesign(data)
        names = design.names or (None if named is None else [str(name) for name in named])
        contents = Contents(design, names)
    matrix = contents.matrix
    kind = _kind(matrix, dtype)
    identity |= {
        "shape": list(matrix.shape), "dtype": kind.name, "sparse": matrix.is_sparse,
        "features": [target, id, *keep, *drop],
    }  # fmt: skip
    partial = path.with_name(path.name + PARTIAL)
    journal = _Journal.begin(partial, identity if "source" in identity else None)
    resumed = journal.columns
    writer = (_SparseWriter if matrix.is_sparse else _DenseWriter)(partial / "X", matrix, kind)
    writer.resume(journal)
    while journal.columns < matrix.shape[1]:
        first = journal.columns
        last = writer.end(first, memory)
        values = matrix.columns(first, last)
        _check_finite(values, first, contents.features)
        journal.record(last, **writer.write(first, last, values))
        if progress is not None:
            progress(last, matrix.shape[1])
    writer.finish(journal)
    _describe(partial, contents)
    journal.remove()
    _replace(partial, path)
    return Conversion(
        path, matrix.shape, matrix.is_sparse, kind.name, tuple(contents.columns), resumed,
        contents.notes,
    )  # fmt: skip


@dataclass(slots=True)
class _Journal:
    """What of a conversion is on the disk."""

    path: Path
    identity: Mapping[str, Any] | None
    columns: int = 0
    entries: int = 0

    @classmethod
    def begin(cls, partial: Path, identity: Mapping[str, Any] | None) -> _Journal:
        """Return the journal of an unfinished conversion of the same data, or a new one."""
        file = partial / _JOURNAL
        try:
            known = json.loads(file.read_bytes())
            if identity is not None and known["identity"] == identity:
                return cls(file, identity, int(known["columns"]), int(known["entries"]))
        except (OSError, ValueError, KeyError, TypeError):
            pass
        if partial.exists():
            shutil.rmtree(partial)
        partial.mkdir()
        journal = cls(file, identity)
        journal.record(0)
        return journal

    def record(self, columns: int, entries: int = 0) -> None:
        """Note what is on the disk by now."""
        self.columns, self.entries = columns, entries
        text = json.dumps({key: value for key, value in asdict(self).items() if key != "path"})
        following = self.path.with_suffix(".next")
        with following.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        following.replace(self.path)

    def remove(self) -> None:
        """Take it away: the store is complete."""
        self.path.unlink()


class _DenseWriter:
    """Blocks of whole columns."""

    def __init__(self, path: Path, matrix: Matrix, kind: np.dtype[Any]) -> None:
        self._matrix, (n_samples, n_features) = matrix, matrix.shape
        width = min(max(1, BLOCK_BYTES // (n_samples * kind.itemsize)), n_features)
        self._array = ZarrArray(path, matrix.shape, (n_samples, width), kind.newbyteorder("<"))
        self._width = width

    def resume(self, journal: _Journal) -> None:
        """Nothing has to be found again."""

    def end(self, first: int, memory: int) -> int:
        """Return where the columns end that are read next: whole blocks."""
        last = self._matrix.end(first, memory)
        whole = first + max(1, (last - first) // self._width) * self._width
        return min(whole, self._matrix.shape[1])

    def write(self, first: int, last: int, values: Any) -> dict[str, int]:
        """Write blocks."""
        for start in range(first, last, self._width):
            part = values[:, start - first : min(start + self._width, last) - first]
            self._array.write(start // self._width, _cast(part, self._array.dtype))
        return {}

    def finish(self, journal: _Journal) -> None:
        """Write the metadata."""
        self._array.create({"encoding-type": "array", "encoding-version": "0.2.0"})


class _SparseWriter:
    """Entries by column, in files of equal length; what fills none yet waits in a file of its own.

    A file of the lengths of columns grows with them.
    """

    def __init__(self, path: Path, matrix: Matrix, kind: np.dtype[Any]) -> None:
        self._path, self._matrix, self._kind = path, matrix, kind
        self._lengths = path / "lengths"
        self._indices, self._data = np.empty(0, np.int32), np.empty(0, kind)
        path.mkdir(exist_ok=True)

    def resume(self, journal: _Journal) -> None:
        """Find the entries that fill no file yet, and forget what was written after them."""
        if journal.columns:
            with np.load(self._tail(journal.columns)) as tail:
                self._indices, self._data = tail["indices"], tail["data"]
            os.truncate(self._lengths, 8 * journal.columns)
        else:
            self._lengths.write_bytes(b"")
        self._entries = journal.entries

    def end(self, first: int, memory: int) -> int:
        """Return where the columns end that are read next."""
        return self._matrix.end(first, memory)

    def write(self, first: int, last: int, values: Any) -> dict[str, int]:
        """Write the entries that fill files; keep the others."""
        columns = sp.csc_array(values)
        columns.sum_duplicates()
        with self._lengths.open("ab") as stream:
            stream.write(np.diff(columns.indptr).astype("<i8").tobytes())
            stream.flush()
            os.fsync(stream.fileno())
        begin = self._entries - self._indices.size
        indices = np.concatenate([self._indices, columns.indices.astype(np.int32)])
        data = np.concatenate([self._data, _cast(columns.data, self._kind)])
        self._entries += columns.nnz
        whole = indices.size // SPARSE_ENTRIES * SPARSE_ENTRIES
        for start in range(0, whole, SPARSE_ENTRIES):
            own = slice(start, start + SPARSE_ENTRIES)
            self._write_file((begin + start) // SPARSE_ENTRIES, indices[own], data[own])
        self._indices, self._data = indices[whole:], data[whole:]
        with self._tail(last).open("wb") as stream:
            np.savez(stream, indices=self._indices, data=self._data)
            stream.flush()
            os.fsync(stream.fileno())
        for old in self._path.glob("tail-*"):
            if old not in (self._tail(first), self._tail(last)):
                old.unlink()
        return {"entries": self._entries}

    def finish(self, journal: _Journal) -> None:
        """Write what is left, the pointers and the metadata."""
        if self._indices.size:
            number = (self._entries - self._indices.size) // SPARSE_ENTRIES
            self._write_file(number, self._indices, self._data)
        lengths = np.fromfile(self._lengths, "<i8")
        pointers = np.concatenate([[0], np.cumsum(lengths)]).astype("<i8")
        indptr = ZarrArray(self._path / "indptr", pointers.shape, pointers.shape, pointers.dtype)
        indptr.write(0, pointers)
        for array in (indptr, *self._arrays()):
            array.create({})
        attributes = {
            "encoding-type": "csc_matrix", "encoding-version": "0.1.0",
            "shape": list(self._matrix.shape),
        }  # fmt: skip
        write_group(self._path, attributes)
        for old in (self._lengths, *self._path.glob("tail-*")):
            old.unlink()

    def _arrays(self) -> tuple[ZarrArray, ZarrArray]:
        shape, chunk = (self._entries,), (min(SPARSE_ENTRIES, max(1, self._entries)),)
        kinds = {"indices": np.dtype("<i4"), "data": self._kind.newbyteorder("<")}
        indices, data = (ZarrArray(self._path / k, shape, chunk, t) for k, t in kinds.items())
        return indices, data

    def _write_file(self, number: int, indices: NDArray[Any], data: NDArray[Any]) -> None:
        for array, values in zip(self._arrays(), (indices, data), strict=True):
            array.write(number, values)

    def _tail(self, columns: int) -> Path:
        return self._path / f"tail-{columns}"


def _kind(matrix: Matrix, dtype: str | None) -> np.dtype[Any]:
    """Return the type of the numbers of a store."""
    kind = matrix.dtype
    if dtype is not None:
        names = sorted(one.name for one in KINDS)
        if dtype not in names:
            raise ValueError(f"dtype must be one of {', '.join(names)}, or None; got {dtype!r}.")
        kind = np.dtype(dtype)
    if matrix.is_sparse and kind.itemsize == 2:
        return np.dtype(np.float32)
    if matrix.is_sparse and kind in (np.int32, np.uint32):
        return np.dtype(np.float64)
    return kind


def _cast(values: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return numbers in a type, in which they may be rounded to float32 alone."""
    if values.dtype == kind:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        found = values.astype(kind)
    if kind.kind != "f" and not np.array_equal(found, values):
        raise ValueError(f"dtype {kind.name} does not hold these numbers; take a wider one.")
    if kind == np.float32 and not np.isfinite(found).all():
        raise ValueError("dtype float32 does not hold numbers above 3e38; take float64.")
    return found


def _check_finite(values: Any, first: int, names: Sequence[str] | None) -> None:
    stored = values.data if sp.issparse(values) else values
    if stored.dtype.kind != "f" or np.isfinite(stored).all():
        return
    columns = sp.coo_array(values) if sp.issparse(values) else None
    if columns is not None:
        wrong = int(np.flatnonzero(~np.isfinite(columns.data))[0])
        row, column = int(columns.row[wrong]), int(columns.col[wrong])
    else:
        row, column = (int(place[0]) for place in np.nonzero(~np.isfinite(values)))
    name = f" ({quote(names[first + column])})" if names is not None else ""
    raise FileError(
        f"Input X contains NaN or infinity at row {row}, column {first + column}{name}; remove or "
        "impute missing values."
    )


def _describe(partial: Path, contents: Contents) -> None:
    """Write the names, the columns of the samples and the group."""
    n_samples, n_features = contents.matrix.shape
    features = contents.features or [str(j) for j in range(n_features)]
    samples = contents.samples or [str(i) for i in range(n_samples)]
    _write_frame(partial / "var", features, {})
    _write_frame(partial / "obs", samples, contents.columns)
    own = {"version": LATEST, "named": contents.features is not None,
           "samples named": contents.samples is not None}  # fmt: skip
    write_group(partial, {"encoding-type": "anndata", "encoding-version": "0.1.0", OWN: own})


def _write_frame(path: Path, names: Iterable[str], columns: Mapping[str, NDArray[Any]]) -> None:
    """Write a data frame as AnnData does."""
    text = {"encoding-type": "string-array", "encoding-version": "0.2.0"}
    write_texts(path / INDEX, list(names), text)
    for name, values in columns.items():
        if "/" in name or name == INDEX or name.startswith("."):
            raise FileError(f"the column {quote(name)} cannot be stored by that name; rename it.")
        if values.dtype.kind == "U":
            write_texts(path / name, values.tolist(), text)
            continue
        kind = np.dtype(np.bool_ if values.dtype == np.bool_ else
                        "<i8" if values.dtype.kind in "iu" else "<f8")  # fmt: skip
        array = ZarrArray(path / name, values.shape, values.shape, kind)
        array.write(0, values.astype(kind))
        array.create({"encoding-type": "array", "encoding-version": "0.2.0"})
    write_group(
        path,
        {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": INDEX,
         "column-order": list(columns)},
    )  # fmt: skip


def _written(source: Path) -> list[int]:
    """Return sizes and times of writing of a file, or of the files of a directory, in sum."""
    files = [source] if source.is_file() else sorted(p for p in source.rglob("*") if p.is_file())
    found = [one.stat() for one in files]
    return [sum(one.st_size for one in found), sum(one.st_mtime_ns for one in found)]


def _replace(partial: Path, path: Path) -> None:
    """Give the store its name; one that is there is taken away when the new one is complete."""
    _sync(partial)
    if path.exists():
        old = path.with_name(path.name + ".old")
        path.rename(old)
        partial.rename(path)
        shutil.rmtree(old)
    else:
        partial.rename(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Have the names in a directory on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
