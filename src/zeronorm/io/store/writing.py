"""Makes a store of data, a few columns at a time, to be gone on with after any end; checks one.

What is being written is a directory beside the store, `NAME.partial`, which gets the store's name
when all of it is on the disk. It has a journal of the columns that are there.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.errors import Column, InPython, Message, Parameter, ParameterError
from ...core.files import FileError, PathLike, locks, quote, remove_leftovers
from ...core.types import IndexArray
from ...data.arrays import BLOCK_BYTES
from ...data.store import (
    GAPS,
    INDEX,
    LATEST,
    METADATA,
    OWN,
    BlockError,
    StoreError,
    ZarrArray,
    columns_of,
    open_array,
    open_store,
    read_node,
    read_texts,
    write_group,
    write_texts,
    write_whole,
)
from ..arrays import check_unnamed, read_names
from ..encoding import FREQUENT, WAYS, describe_codings
from ..read import parts_of
from ..svmlight import check_ends
from ..table import Dataset
from .sources import (
    KINDS,
    Contents,
    Matrix,
    OfDesign,
    OfText,
    beside,
    of_genotypes,
    of_table,
    open_source,
    several,
)

LEAST_MEMORY = 1 << 20
PARTIAL = ".partial"
SPARSE_ENTRIES = 1 << 23  # in a file: 64 MiB of float64
JOURNAL_FILE = "journal.json"
_LENGTHS, _TAIL = "lengths", "tail-"
_PARTS = {"X", "obs", "var", "uns", METADATA, JOURNAL_FILE}  # of a store
_NAME = re.compile(r"[^./\\\0][^/\\\0]*")  # a name of a directory that is not hidden


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


def write_store(
    data: Any,
    store: str | os.PathLike[str],
    *,
    target: str | None = None,
    id: str | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    layer: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    dtype: str | None = None,
    memory: int = 1 << 30,
    missing: str | None = None,
    feature_names: PathLike | None = None,
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
        svmlight (plain or compressed), .npy, .npz, CSV, JSON lines, .xlsx, Parquet (a file, or a
        directory or pattern of files with the same columns), .h5ad, 10x .h5, a directory of Zarr;
        genotypes as .pgen or .bgen, also several such files with the same samples, by a list of
        paths or a pattern, as chr*.pgen (chr2 before chr10); or what estimators take as X; or a
        Dataset, as read_table returns it, with all of its columns.
        svmlight, Parquet, .npy, .h5ad, Zarr and genotypes are read a few columns at a time. The
        arrays of .npz lie in a file without a name beside the store until the conversion ends. CSV
        is gone through once: its numbers lie by row in such a file, 8 bytes each, and memory has
        `memory` (two blocks of the store if more), 48 MiB, and what is kept of the samples. CSV
        with text, dates or empty cells, below 64 KiB, or with anything that the fast reader does
        not know, as line ends within quotes or blanks between fields, is loaded. A column of
        genotypes is the dosage of an allele, from 0 to 2, of ALT in .pgen, of the first one in
        BGEN: the allele that read_plink counts where PLINK 2 has written both files. A missing one
        is the mean of its variant over the samples, and `notes` says how many there are.
    store : path
        Where it is to be, by custom NAME.zarr.
    target, id, keep, drop : names of columns of CSV, Parquet, .npz or obs
        The target (several with commas between them), the names of samples, other columns that are
        no features and stay with the samples, as times to an event, and columns that are left out.
        The labels of svmlight are kept as "label", obs of AnnData as a whole. Of .pgen and BGEN
        they are columns of the .psam or .sample file.
    layer : str
        Which matrix of an AnnData, which dataset of HDF5.
    encoding : str
        Of CSV and JSON lines that are not UTF-8, as "latin-1"; it is as of `read_table`.
    decimal : "," or "."
        The decimal mark of numbers in CSV, as of `read_table`.
    dtype : "float32", "float64", "uint8", ... or None
        The type of the numbers; None: the one that they have. Numbers that change in it are an
        error, but for rounding to float32.
    missing : "mean", "indicator" or None
        What becomes of empty cells of a table, as in `read_table`. The store keeps where they are,
        as `uns/missing`, and has 0 there: what reads it as X fills them with means over the rows of
        training, in every fold by its own.
    feature_names : path-like or None
        A file with the names of features that have none, a line each, as of `read_table`.
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
    >>> made = zeronorm.write_store(X, Path(tempfile.mkdtemp()) / "small.zarr")
    >>> made.shape, made.dtype
    ((3, 4), 'float64')
    """
    path = Path(store).absolute()
    if memory < LEAST_MEMORY:
        raise ParameterError("memory", f"must be at least {LEAST_MEMORY:,} bytes", f"{memory}")
    _check_free(path, overwrite)
    ways = [way for way in WAYS if way != FREQUENT]  # which takes all rows of a column at once
    if missing not in (None, *ways):
        raise ParameterError(
            "missing", f"must be one of {', '.join(ways)}, or None", f"{missing!r:.50}"
        )
    remove_leftovers(path.parent)
    contents, sources, identity = _opened(
        data, target, id, keep, drop, layer, encoding, decimal, missing, path.parent
    )
    if feature_names is not None:
        contents = _named(data, contents, feature_names, encoding)
    matrix = contents.matrix
    _check_names(contents)
    kind = _kind(matrix, dtype)
    if identity is not None:
        identity |= {"shape": list(matrix.shape), "dtype": kind.name, "sparse": matrix.is_sparse}
    partial = path.with_name(path.name + PARTIAL)
    with alone(partial):
        _check_free(path, overwrite)  # another conversion may have ended since
        journal = ConversionJournal.begin(partial, identity)
        resumed = journal.columns
        with _ended(partial, journal, matrix):
            writer = (SparseWriter if matrix.is_sparse else DenseWriter)(
                partial / "X", matrix, kind
            )
            writer.resume(journal)
            while journal.columns < matrix.shape[1]:
                first = journal.columns
                last = writer.end(first, memory)
                values = matrix.columns(first, last)
                if contents.impute:
                    values = _imputed(values, journal)
                _check_finite(values, first, contents.features)
                journal.record(last, **writer.write(first, last, values))
                if progress is not None:
                    progress(last, matrix.shape[1])
            writer.finish(journal)
            if identity is not None:
                _check_unchanged(sources, identity, partial)
            describe(partial, contents)
            _replace(partial, path)
    tidy(path)
    notes = contents.notes
    if journal.missing:
        notes += (
            f"{journal.missing:,} missing values of {journal.incomplete:,} columns are the means "
            "of their columns",
        )
    return Conversion(
        path, matrix.shape, matrix.is_sparse, kind.name, tuple(contents.columns), resumed, notes
    )


def _named(data: Any, contents: Contents, path: PathLike, encoding: str | None) -> Contents:
    """Return contents with the names of features that a file has."""
    names, matrix = read_names(path, encoding), contents.matrix
    source, notes = data if isinstance(data, str | os.PathLike) else "data", list[str]()
    if isinstance(matrix, OfText):
        notes = check_ends(source, path, names, matrix.ends, matrix.first_index)
        matrix.widen(len(names))
    check_unnamed(source, path, contents.features, len(names), matrix.shape[1])
    return replace(contents, features=names, notes=(*contents.notes, *notes))


def _check_free(path: Path, overwrite: bool) -> None:
    """Raise an OSError where a store cannot be."""
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(
            Message(
                f"{path}: exists; remove it, give another name, or pass ",
                Parameter.of("overwrite", True),
                ".",
            )
        )
    if os.path.lexists(path) and not (path / METADATA).exists():
        raise FileExistsError(f"{path}: exists and is no store; it is not replaced.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: no such directory; create it first.")


def _opened(
    data: Any, target: str | None, id: str | None, keep: Sequence[str], drop: Sequence[str],
    layer: str | None, encoding: str | None, decimal: str | None, missing: str | None, spill: Path,
) -> tuple[Contents, Sequence[Path], dict[str, Any] | None]:  # fmt: skip
    """Return what data hold, their files, and what says that these are the same in a later call."""
    asked = [target, id, *keep, *drop, layer, encoding, decimal, missing]
    paths = several(data)
    if paths is not None:
        if missing is not None:
            raise FileError(f"{paths[0]}: genotypes are filled by means; leave out missing.")
        identity = _identity(paths, asked)
        return of_genotypes(paths, target, id, keep, drop, layer), paths, identity
    if isinstance(data, str | os.PathLike):
        source = Path(data).absolute()
        paths = (None if source.is_dir() else parts_of(source)) or [source]
        identity = _identity(paths, asked)
        contents = open_source(
            source, target, id, keep, drop, layer, encoding, decimal, missing, spill
        )
        return contents, paths, identity
    if isinstance(data, Dataset) and not any(asked):
        return of_table(data), [], None
    if any(asked):
        raise ValueError(
            "target, id, keep, drop, layer, encoding, decimal and missing are of files; convert "
            "an array of the features alone, a Dataset that was read with them, or the file."
        )
    named = getattr(data, "columns", None)
    design = OfDesign(data)
    names = design.names or (None if named is None else [str(name) for name in named])
    return Contents(design, names), [], None


def _identity(paths: Sequence[Path], asked: Sequence[str | None]) -> dict[str, Any]:
    """Return what says that files are the same ones in a later call, wherever they lie by then."""
    placeless = [one and (Path(one).name if os.path.isabs(one) else one) for one in asked]
    names = [path.name for path in paths]
    return {"source": names, "written": [*map(_written, paths)], "asked": placeless}


def _check_unchanged(paths: Sequence[Path], identity: Mapping[str, Any], partial: Path) -> None:
    """Raise FileError where a file is not the one that was begun with; forget what was written."""
    for path, before in zip(paths, identity["written"], strict=True):
        if _written(path) != before:
            shutil.rmtree(partial)
            raise FileError(f"{path}: has changed while it was read; convert it again.")


@contextmanager
def _ended(partial: Path, journal: ConversionJournal, matrix: Matrix) -> Iterator[None]:
    """Keep what is written when a conversion of a file ends early, and nothing of one of arrays.

    Nothing says that an array of a later call is the same one.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        n_features = matrix.shape[1]
        raise OSError(
            error.errno,
            f"no space left on the disk after {journal.columns:,} of {n_features:,} features; "
            "make room and convert again, which goes on from there, or remove this directory",
            str(partial),
        ) from None
    finally:
        if journal.identity is None:
            shutil.rmtree(partial, ignore_errors=True)


def _kind(matrix: Matrix, dtype: str | None) -> np.dtype[Any]:
    kind = matrix.dtype
    if dtype is not None:
        names = sorted(one.name for one in KINDS)
        if dtype not in names:
            raise ParameterError(
                "dtype",
                Message("must be ", InPython("None or "), f"one of {', '.join(names)}"),
                f"{dtype!r}",
            )
        kind = np.dtype(dtype)
    if matrix.is_sparse and kind.itemsize == 2:
        return np.dtype(np.float32)
    if matrix.is_sparse and kind in (np.int32, np.uint32):
        return np.dtype(np.float64)
    return kind


def _imputed(values: NDArray[Any], journal: ConversionJournal) -> NDArray[Any]:
    """Put the mean of its column where a number is NaN, 0 where all are, and count these."""
    missing = np.isnan(values)
    counts = missing.sum(axis=0)
    journal.missing += int(counts.sum())
    journal.incomplete += int(np.count_nonzero(counts))
    for j in np.flatnonzero(counts):
        known = values[~missing[:, j], j]
        values[missing[:, j], j] = known.mean(dtype=np.float64) if known.size else 0.0
    return values


def _check_finite(values: Any, first: int, names: Sequence[str] | None) -> None:
    """Raise FileError with the place of the first number that is NaN or infinite."""
    is_sparse = sp.issparse(values)
    stored = values.data if is_sparse else values
    if stored.dtype.kind != "f" or np.isfinite(stored).all():
        return
    if is_sparse:
        entries: Any = values.tocoo()
        places = np.column_stack([entries.row, entries.col])[~np.isfinite(entries.data)]
    else:
        places = np.argwhere(~np.isfinite(values))
    row, column = places[0].tolist()
    name = f" ({quote(names[first + column])})" if names is not None else ""
    raise FileError(
        Message(
            f"Input X contains NaN or infinity at row {row}, ",
            Column(first + column),
            f"{name}; remove or impute missing values.",
        )
    )


def _check_names(contents: Contents) -> None:
    """Raise FileError where names or columns of the samples cannot be stored, before all work."""
    for name, values in contents.columns.items():
        if not _NAME.fullmatch(name) or name in (INDEX, METADATA) or len(name.encode()) > 200:
            raise FileError(f"the column {quote(name)} cannot be stored by that name; rename it.")
        fits = values.dtype.kind in "Ubif" or (
            values.dtype.kind == "u" and (values <= np.iinfo(np.int64).max).all()
        )
        if not fits:
            raise FileError(
                f"the column {quote(name)} must be text or numbers, without gaps and below 2^63; "
                f"got {values.dtype}."
            )
    names = contents.features
    if names is None:
        return
    if len(names) != contents.matrix.shape[1]:
        raise FileError(f"{contents.matrix.shape[1]} features must have as many names; got "
                        f"{len(names)}.")  # fmt: skip
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise FileError(f"{times} features have the name {quote(name)}; rename all but one.")


def _written(source: Path) -> list[int]:
    """Return sizes and times of writing of a file, or of the files of a directory, in sum."""
    files = (
        [source, *beside(source)]
        if source.is_file()
        else sorted(p for p in source.rglob("*") if p.is_file())
    )
    found = [one.stat() for one in files]
    return [sum(one.st_size for one in found), sum(one.st_mtime_ns for one in found)]


def _replace(partial: Path, path: Path) -> None:
    """Give the store its name; one that is there is taken away when the new one is complete."""
    for folder in (partial, *(one for one in partial.rglob("*") if one.is_dir())):
        _sync(folder)
    old = path.with_name(path.name + ".replaced")
    if old.is_dir() and {one.name for one in old.iterdir()} <= _PARTS:
        shutil.rmtree(old)  # of an earlier call that was ended here
    if path.exists():
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


# The directory that is being written, its journal and its matrix.


@contextmanager
def alone(partial: Path) -> Iterator[None]:
    """Make a directory and hold it, by a lock that ends with the process.

    FileExistsError where another conversion holds it: two would write one store of both.
    """
    partial.mkdir(exist_ok=True)
    handle = os.open(partial, os.O_RDONLY)
    try:
        if not (_is_locked(handle) and _is_at(partial, handle)):
            raise FileExistsError(
                f"{partial}: another conversion is writing it; wait for it, or name another store."
            )
        yield
    finally:
        os.close(handle)


def _is_locked(handle: int) -> bool:
    """Lock a directory; where the system has no locks there is none to be had by others."""
    if locks is None:  # pragma: no cover
        return True
    try:
        locks.flock(handle, locks.LOCK_EX | locks.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def _is_at(path: Path, handle: int) -> bool:
    """Whether a directory still has its name: the one that held it before may have renamed it."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def tidy(store: Path) -> None:
    """Take away what only an unfinished store needs."""
    leftover = (store / JOURNAL_FILE, store / "X" / _LENGTHS, *(store / "X").glob(f"{_TAIL}*"))
    for old in leftover:
        old.unlink(missing_ok=True)


@dataclass(slots=True)
class ConversionJournal:
    """What of a conversion is on the disk."""

    path: Path
    identity: Mapping[str, Any] | None
    columns: int = 0
    entries: int = 0
    missing: int = 0  # numbers that are the mean of their column
    incomplete: int = 0  # columns with such

    @classmethod
    def begin(cls, partial: Path, identity: Mapping[str, Any] | None) -> ConversionJournal:
        """Return the journal of an unfinished conversion of the same data, or a new one."""
        file = partial / JOURNAL_FILE
        try:
            known = json.loads(file.read_bytes())
            if identity is not None and known["identity"] == identity:
                counts = ("columns", "entries", "missing", "incomplete")
                return cls(file, identity, *(int(known[name]) for name in counts))
        except (OSError, ValueError, KeyError, TypeError):
            pass
        if not file.exists() and any(partial.iterdir()):
            raise FileExistsError(f"{partial}: exists and is no unfinished store; remove it.")
        for old in partial.iterdir():
            if old.is_dir():
                shutil.rmtree(old)
            else:
                old.unlink()
        journal = cls(file, identity)
        journal.record(0)
        return journal

    def record(self, columns: int, entries: int = 0) -> None:
        """Note what is on the disk by now."""
        self.columns, self.entries = columns, entries
        text = json.dumps({key: value for key, value in asdict(self).items() if key != "path"})
        write_whole(self.path, [text.encode()])


class DenseWriter:
    """Blocks of whole columns."""

    def __init__(self, path: Path, matrix: Matrix, kind: np.dtype[Any]) -> None:
        self._matrix, (n_samples, n_features) = matrix, matrix.shape
        width = min(max(1, BLOCK_BYTES // (n_samples * kind.itemsize)), n_features)
        self._array = ZarrArray(path, matrix.shape, (n_samples, width), kind.newbyteorder("<"))
        self._width = width

    def resume(self, journal: ConversionJournal) -> None:
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

    def finish(self, journal: ConversionJournal) -> None:
        """Write the metadata."""
        self._array.create({"encoding-type": "array", "encoding-version": "0.2.0"})


class SparseWriter:
    """Entries by column, in files of equal length; what fills none yet waits in a file of its own.

    A file of the lengths of columns grows with them.
    """

    def __init__(self, path: Path, matrix: Matrix, kind: np.dtype[Any]) -> None:
        self._path, self._matrix, self._kind = path, matrix, kind
        self._lengths = path / _LENGTHS
        self._indices, self._data = np.empty(0, np.int32), np.empty(0, kind)
        path.mkdir(exist_ok=True)

    def resume(self, journal: ConversionJournal) -> None:
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
        for old in self._path.glob(f"{_TAIL}*"):
            if old not in (self._tail(first), self._tail(last)):
                old.unlink()
        return {"entries": self._entries}

    def finish(self, journal: ConversionJournal) -> None:
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

    def _arrays(self) -> tuple[ZarrArray, ZarrArray]:
        shape, chunk = (self._entries,), (min(SPARSE_ENTRIES, max(1, self._entries)),)
        kinds = {"indices": np.dtype("<i4"), "data": self._kind.newbyteorder("<")}
        indices, data = (ZarrArray(self._path / k, shape, chunk, t) for k, t in kinds.items())
        return indices, data

    def _write_file(self, number: int, indices: NDArray[Any], data: NDArray[Any]) -> None:
        for array, values in zip(self._arrays(), (indices, data), strict=True):
            array.write(number, values)

    def _tail(self, columns: int) -> Path:
        return self._path / f"{_TAIL}{columns}"


def _cast(values: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return numbers in a type, in which they may be rounded to float32 alone."""
    if values.dtype == kind:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        found = values.astype(kind)
    if kind.kind != "f" and not np.array_equal(found, values):
        raise ParameterError(
            "dtype", "must hold the numbers of the data", kind.name, "Take a wider one."
        )
    if kind == np.float32 and not np.isfinite(found).all():
        raise ParameterError("dtype", "must hold numbers above 3e38", "float32", "Take float64.")
    return found


# What a store has beside X: names, columns of the samples, how features were made, empty cells.


def describe(partial: Path, contents: Contents) -> None:
    """Write the names, the columns of the samples and the group."""
    n_samples, n_features = contents.matrix.shape
    if contents.gaps is not None:
        _write_gaps(partial, contents.gaps)
    _write_frame(partial / "var", contents.features or map(str, range(n_features)), n_features, {})
    samples = contents.samples or map(str, range(n_samples))
    _write_frame(partial / "obs", samples, n_samples, contents.columns)
    codings = describe_codings(range(n_features), contents.features, contents.codings)
    own = {"version": 1 if contents.gaps is None else LATEST, "codings": codings,
           "named": contents.features is not None,
           "samples named": contents.samples is not None,
           "first index": contents.first_index}  # fmt: skip
    write_group(partial, {"encoding-type": "anndata", "encoding-version": "0.1.0", OWN: own})


def _write_gaps(partial: Path, gaps: tuple[IndexArray, IndexArray]) -> None:
    """Write where X has 0 for a cell that was empty."""
    kind = {"encoding-type": "dict", "encoding-version": "0.1.0"}
    for name, values in zip(("indptr", "rows"), gaps, strict=True):
        array = ZarrArray(partial / GAPS / name, values.shape, values.shape, np.dtype("<i8"))
        array.write(0, values)
        array.create({"encoding-type": "array", "encoding-version": "0.2.0"})
    for group in (partial / GAPS, partial / GAPS.parent):
        write_group(group, kind)


def _write_frame(
    path: Path, names: Iterable[str], count: int, columns: Mapping[str, NDArray[Any]]
) -> None:
    """Write a data frame of `count` rows as AnnData does."""
    text = {"encoding-type": "string-array", "encoding-version": "0.2.0"}
    write_texts(path / INDEX, names, count, text)
    for name, values in columns.items():
        if values.dtype.kind == "U":
            write_texts(path / name, values.tolist(), count, text)
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


# Compares all blocks of a store with their checksums, and says what is wrong where.

_Columns = Callable[[int], tuple[int, int]]  # which columns have a part in a block


@dataclass(frozen=True, slots=True)
class Damage:
    """A file of a store that is missing, of another size or with other bytes than were written.

    file : the file. columns : (first, last) of the features that it has a part of, last included;
    None of names and columns of samples. reason : what is wrong, and what to do.
    """

    file: Path
    columns: tuple[int, int] | None
    reason: str


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """What `check_store` has found.

    files : how many were looked at. damage : those that are not what was written; none in a sound
    store.
    """

    files: int
    damage: tuple[Damage, ...]


def check_store(path: str | os.PathLike[str]) -> StoreCheck:
    """Compare all blocks of a store with their checksums, names and labels too.

    It takes a pass over the files, one of them in memory at a time.

    Parameters
    ----------
    path : path
        A store that `convert` wrote.

    Returns
    -------
    StoreCheck

    Raises
    ------
    StoreError
        If it is no store, of a newer version, or its metadata are damaged: they say which files
        there have to be.

    Examples
    --------
    >>> import numpy as np, tempfile, zeronorm
    >>> from pathlib import Path
    >>> made = zeronorm.write_store(np.eye(3), Path(tempfile.mkdtemp()) / "small.zarr")
    >>> zeronorm.io.check_store(made.path).damage
    ()
    """
    path = Path(path).absolute()
    with suppress(BlockError):  # the pointers, which are looked at below
        open_store(path)
    files, found = 0, []
    for file, columns, look in _files(path):
        files += 1
        try:
            look()
        except (StoreError, OSError) as error:  # a disk that fails, too
            found.append(Damage(file, columns, str(error).removeprefix(f"{file}: ")))
    return StoreCheck(files, tuple(found))


def _files(path: Path) -> Iterator[tuple[Path, tuple[int, int] | None, Callable[[], object]]]:
    """Yield every file with its columns, and what raises StoreError if it is not sound."""
    for array, columns in _arrays(path / "X"):
        for number in range(array.n_chunks):
            yield array.file(number), columns(number), partial(array.check, number)
    for node in (path / GAPS / "indptr", path / GAPS / "rows"):
        if node.exists():
            yield from _one_block(node)
    for frame in (path / "var", path / "obs"):
        for name in (INDEX, *columns_of(frame)):
            node = frame / name
            if read_node(node).get("data_type") == "string":
                yield node / "c" / "0", None, partial(read_texts, node)
            else:
                yield from _one_block(node)


def _one_block(node: Path) -> Iterator[tuple[Path, None, Callable[[], object]]]:
    """Yield the file of an array that is written as one block, however many its metadata claim."""
    array = open_array(node)
    if array.n_chunks:
        yield array.file(0), None, array.whole


def _arrays(path: Path) -> Iterator[tuple[ZarrArray, _Columns]]:
    """Yield the arrays of a matrix, and the columns of their blocks."""
    attributes = read_node(path)["attributes"]
    if attributes["encoding-type"] == "array":
        x = open_array(path)
        width, n_features = x.chunk[1], x.shape[1]
        yield x, lambda number: (number * width, min((number + 1) * width, n_features) - 1)
        return
    pointers = open_array(path / "indptr")
    everything = 0, int(attributes["shape"][1]) - 1
    yield pointers, lambda number: everything
    try:
        starts = pointers.whole()
    except BlockError:  # nobody knows which columns the entries are of
        starts = None

    for name in ("indices", "data"):
        array = open_array(path / name)
        size = array.chunk[0]

        def columns(number: int, size: int = size) -> tuple[int, int]:
            if starts is None:
                return everything
            ends = number * size, min((number + 1) * size, int(starts[-1])) - 1
            first, last = np.searchsorted(starts, ends, side="right") - 1
            return int(first), int(last)

        yield array, columns
