"""Makes a store of data: a few columns at a time, to be gone on with after any end.

What is being written is a directory beside the store, `NAME.partial`, which gets the store's name
when all of it is on the disk. It has a journal of the columns that are there.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.files import FileError, quote, remove_leftovers
from ...data.store import INDEX
from ...data.zarr import METADATA
from ..codings import FREQUENT, WAYS
from ..parts import parts_of
from ..table import Table
from .describing import describe
from .entries import KINDS
from .genotypes import beside
from .several import several
from .sources import Contents, Matrix, OfDesign, of_genotypes, of_table, open_source
from .writing import JOURNAL_FILE, DenseWriter, Journal, SparseWriter, alone, tidy

LEAST_MEMORY = 1 << 20
PARTIAL = ".partial"
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


def convert(
    data: Any,
    store: str | os.PathLike[str],
    *,
    target: str | None = None,
    id: str | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    layer: str | None = None,
    encoding: str | None = None,
    dtype: str | None = None,
    memory: int = 1 << 30,
    missing: str | None = None,
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
        Table, as read_table returns it, with all of its columns.
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
    dtype : "float32", "float64", "uint8", ... or None
        The type of the numbers; None: the one that they have. Numbers that change in it are an
        error, but for rounding to float32.
    missing : "mean", "indicator" or None
        What becomes of empty cells of a table, as in `read_table`. The store keeps where they are,
        as `uns/missing`, and has 0 there: what reads it as X fills them with means over the rows of
        training, in every fold by its own.
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
    _check_free(path, overwrite)
    ways = [way for way in WAYS if way != FREQUENT]  # which takes all rows of a column at once
    if missing not in (None, *ways):
        raise ValueError(f"missing must be one of {', '.join(ways)}, or None; got {missing!r:.50}.")
    remove_leftovers(path.parent)
    contents, sources, identity = _opened(
        data, target, id, keep, drop, layer, encoding, missing, path.parent
    )
    matrix = contents.matrix
    _check_names(contents)
    kind = _kind(matrix, dtype)
    if identity is not None:
        identity |= {"shape": list(matrix.shape), "dtype": kind.name, "sparse": matrix.is_sparse}
    partial = path.with_name(path.name + PARTIAL)
    with alone(partial):
        _check_free(path, overwrite)  # another conversion may have ended since
        journal = Journal.begin(partial, identity)
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


def _check_free(path: Path, overwrite: bool) -> None:
    """Raise an OSError where a store cannot be."""
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(
            f"{path}: exists; remove it, give another name, or pass overwrite=True (--overwrite)."
        )
    if os.path.lexists(path) and not (path / METADATA).exists():
        raise FileExistsError(f"{path}: exists and is no store; it is not replaced.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: no such directory; create it first.")


def _opened(
    data: Any, target: str | None, id: str | None, keep: Sequence[str], drop: Sequence[str],
    layer: str | None, encoding: str | None, missing: str | None, spill: Path,
) -> tuple[Contents, Sequence[Path], dict[str, Any] | None]:  # fmt: skip
    """Return what data hold, their files, and what says that these are the same in a later call."""
    asked = [target, id, *keep, *drop, layer, encoding, missing]
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
        contents = open_source(source, target, id, keep, drop, layer, encoding, missing, spill)
        return contents, paths, identity
    if isinstance(data, Table) and not any(asked):
        return of_table(data), [], None
    if any(asked):
        raise ValueError(
            "target, id, keep, drop, layer, encoding and missing are of files; convert an array "
            "of the features alone, a Table that was read with them, or the file."
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
def _ended(partial: Path, journal: Journal, matrix: Matrix) -> Iterator[None]:
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


def _imputed(values: NDArray[Any], journal: Journal) -> NDArray[Any]:
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
        f"Input X contains NaN or infinity at row {row}, column {first + column}{name}; remove or "
        "impute missing values."
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
