"""Read a table of samples from a file: svmlight, npz, npy, CSV and its kin, Parquet.

What a file holds is decided by its content first (compression, NumPy, Parquet) and by its name
second (CSV, svmlight); plain text without a telling name is looked at. Nothing is guessed that
could be wrong in silence, nothing is unpickled, and every refusal is a `FileError` that names the
file, the place and the remedy.
"""

from __future__ import annotations

import bz2
import csv
import difflib
import gzip
import io
import itertools
import lzma
import math
import operator
import os
import re
import stat
import zipfile
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

PathLike: TypeAlias = "str | os.PathLike[str]"
Stream: TypeAlias = "io.BufferedReader[Any]"

_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zip": "zip"}
_SVMLIGHT = {".svm", ".svmlight", ".libsvm"}
_DELIMITERS = {".csv": ",;\t|", ".tsv": "\t", ".tab": "\t"}
_MISSING = {"", "na", "n/a", "nan", "null", "#n/a", "?"}
_LABEL_KEYS = ("y", "target", "label", "labels")
_FILES_EXTRA = "pip install 'zeronorm[files]'"

# What expands beyond both is not data: text compresses 3 to 50 times, a bomb 1000 times.
_BOMB_SIZE = 1 << 30  # bytes
_BOMB_RATIO = 200

# Above this many bytes of CSV the multi-threaded reader pays for its import.
_FAST_SIZE = 4 << 20


class FileError(ValueError):
    """A file cannot be read as a table; the message says where, why and what to do."""


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file."""


@dataclass(frozen=True, slots=True)
class Table:
    """Samples read from a file."""

    X: NDArray[Any] | sp.csr_array[Any]  # (n_samples, n_features)
    y: NDArray[Any] | None  # (n_samples,)
    feature_names: list[str] | None = None  # n_features, unique
    target_name: str | None = None
    sample_names: list[str] | None = None  # n_samples
    descriptions: list[str] | None = None  # n_features, in words
    first_index: int = 0  # what the file calls its first feature when features have no names
    notes: tuple[str, ...] = ()  # what a user should know about the reading


@dataclass(frozen=True, slots=True)
class Layout:
    """The table that a model was trained on: how another file of the same kind is to be read."""

    n_features: int
    names: Sequence[str] | None = None  # of the features the model needs
    first_index: int = 0
    target_name: str | None = None


def read_table(path: PathLike, target: str | None = None, *, like: Layout | None = None) -> Table:
    """Read samples from a file.

    ==================================== =======================================================
    svmlight (.svm .libsvm .svmlight,    X csr float64, y the labels of the file. Indices from 0
    or text that looks like it)          if a 0 occurs, else from 1
    .npz                                 X the array "X" or the only matrix, y the array `target`,
                                         "y" or "label"; or what `scipy.sparse.save_npz` writes,
                                         with or without labels beside it
    .npy                                 X memory-mapped (in memory if the file is compressed)
    CSV, TSV (any of , ; tab |)          X float64, y the column `target`; a first column without
                                         a name holds names of samples
    Parquet                              X float32 or float64, y the column `target`; needs
                                         polars or pyarrow (extra `files`)
    ==================================== =======================================================

    Each of them plain or compressed (.gz, .bz2, .xz, .zip with one file inside).

    Parameters
    ----------
    path : path-like
    target : str or None
        The labels: name of a column or array, else index of a column (negative from the end),
        else path of a .npy, .npz or one-column text file. None where the file says it by itself.
    like : Layout or None
        Read as the training data of a model were: the same first index, and of a file with names
        only the features that the model needs, wherever they stand.

    Returns
    -------
    Table
        X is not searched for NaN in .npy and .npz files (the first scan of a fit does it).

    Raises
    ------
    MissingFileError
        If there is no such file (it is a FileError and a FileNotFoundError).
    FileError
        If the file cannot be read: a ValueError with the file, the line and column, the remedy.
    """
    source = _Source(check_path(path))
    with source.open() as stream:
        head = stream.peek(1 << 16)
        kind = _kind(source, head)
        table = _READERS[kind](source, stream, head, target, like)
    if not table.X.shape[0]:
        raise FileError(f"{source}: no samples in it.")
    if not table.X.shape[1]:
        raise FileError(f"{source}: no features in it.")
    return table


# ---------------------------------------------------------------------------------------------
# Opening


class _Source:
    """A regular file and how it is compressed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size
        with _os_errors(path), path.open("rb") as file:
            magic = file.read(8)
        if not magic:
            raise FileError(f"{self}: the file is empty.")
        self.compression = next(
            (name for key, name in _COMPRESSIONS.items() if magic.startswith(key)), None
        )
        outer = path.suffix.lower()
        self.suffix = outer
        expected = _SUFFIXES.get(outer)
        if magic.startswith(b"PK\x03\x04") and not self._is_npz():
            self.compression = "zip"
        if expected is not None:
            if self.compression != expected:
                raise FileError(f"{self}: named {outer} but it holds no {expected} data.")
            self.suffix = Path(path.stem).suffix.lower()
        elif magic.startswith(b"\x28\xb5\x2f\xfd"):
            raise FileError(f"{self}: zstd is not supported; decompress it first (zstd -d).")

    def __str__(self) -> str:
        return str(self.path)

    def _is_npz(self) -> bool:
        try:
            with zipfile.ZipFile(self.path) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise FileError(f"{self}: the zip archive is truncated or damaged ({error}).") from None
        return bool(names) and all(name.endswith(".npy") for name in names)

    @contextmanager
    def open(self) -> Iterator[Stream]:
        """Yield the decompressed bytes."""
        with ExitStack() as stack:
            with _os_errors(self.path):
                file = stack.enter_context(io.BufferedReader(io.FileIO(self.path), 1 << 17))
            stored = self.size
            inner: Any
            if self.compression is None:
                yield file
                return
            if self.compression == "gzip":
                inner = stack.enter_context(gzip.GzipFile(fileobj=file))
            elif self.compression == "bzip2":
                inner = stack.enter_context(bz2.BZ2File(file))
            elif self.compression == "xz":
                inner = stack.enter_context(lzma.LZMAFile(file))
            else:
                inner, stored = self._only_member(stack.enter_context(zipfile.ZipFile(file)))
            guarded = _Guarded(self, inner, stored)
            yield stack.enter_context(io.BufferedReader(guarded, 1 << 17))

    def _only_member(self, archive: zipfile.ZipFile) -> tuple[IO[bytes], int]:
        members = [info for info in archive.infolist() if not info.is_dir()]
        if len(members) != 1:
            raise FileError(
                f"{self}: a zip archive must hold one file; this one holds {len(members)}. "
                "Extract the one you mean."
            )
        self.suffix = Path(members[0].filename).suffix.lower()
        return _open_member(self, archive, members[0]), members[0].compress_size


def _open_member(source: _Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member of a zip archive, or refuse it as a FileError."""
    try:
        return archive.open(info)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, ValueError) as error:
        # RuntimeError: encrypted.
        raise FileError(f"{source}: cannot read {quote(info.filename)} ({error}).") from None


class _Guarded(io.RawIOBase):
    """Decompressed bytes: damage becomes a `FileError`, a decompression bomb is refused."""

    def __init__(self, source: _Source, inner: IO[bytes], stored: int) -> None:
        self._source, self._inner, self._stored = source, inner, stored
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        try:
            data = self._inner.read(len(view))
        except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
            raise FileError(
                f"{self._source}: the {self._source.compression} data are truncated or damaged "
                f"({error})."
            ) from None
        self._count += len(data)
        _refuse_bomb(self._source, self._count, self._stored)
        view[: len(data)] = data
        return len(data)


def _refuse_bomb(source: _Source, size: int, stored: int) -> None:
    if size > _BOMB_SIZE and size > _BOMB_RATIO * stored:
        raise FileError(
            f"{source}: expands to more than {_BOMB_RATIO} times its size and beyond 1 GiB; "
            "decompress it yourself if that is meant."
        )


@contextmanager
def _os_errors(path: Path) -> Iterator[None]:
    """Turn an OSError into a FileError."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error}).") from None


@contextmanager
def _engine_errors(message: str) -> Iterator[None]:
    """Turn whatever a data frame library raises into a FileError: its own types have no base.

    A panic of polars is no Exception.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError, FileError):
        raise
    except BaseException as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FileError(f"{message} ({reason}).") from None


def check_path(path: PathLike) -> Path:
    """Return the path of a regular file."""
    path = Path(path)
    if str(path) == "-":
        raise FileError("-: standard input is not supported; write the data to a file.")
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"{path}: no such file.{_similar_files(path)}") from None
    except (OSError, ValueError) as error:  # too long, not permitted, a NUL in it
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(f"{quote(str(path))}: cannot be read ({reason}).") from None
    if stat.S_ISDIR(mode):
        raise FileError(f"{path}: a directory; name a file in it.")
    if not stat.S_ISREG(mode):
        raise FileError(f"{path}: not a regular file; write the data to a file first.")
    return path


def _similar_files(path: Path) -> str:
    try:
        names = os.listdir(path.parent)
    except OSError:
        return ""
    return did_you_mean(path.name, names, listing=False)


def _kind(source: _Source, head: bytes) -> str:
    """Return the name of the reader for this content."""
    if not head:
        raise FileError(f"{source}: the file is empty.")
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        return "npz"
    if any(head.startswith(magic) for magic in _COMPRESSIONS):
        raise FileError(f"{source}: compressed twice; decompress it once.")
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        raise FileError(f"{source}: a pickle, which is never loaded; save arrays as .npz instead.")
    if source.suffix in {".npy", ".npz", ".parquet"}:
        raise FileError(f"{source}: named {source.suffix} but its content is something else.")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(f"{source}: UTF-16 text; save it as UTF-8.")
    if b"\x00" in head:
        raise FileError(
            f"{source}: binary data of an unknown kind; expected svmlight, CSV, npz, npy or "
            "Parquet."
        )
    if source.suffix in _SVMLIGHT:
        return "svmlight"
    if source.suffix in _DELIMITERS:
        return "delimited"
    return "svmlight" if _looks_like_svmlight(head) else "delimited"


def _looks_like_svmlight(head: bytes) -> bool:
    lines = head.removeprefix(b"\xef\xbb\xbf").splitlines()[:20]
    return any(re.match(rb"\s*[^\s,;]+(\s+qid:\d+)?(\s+\d+:[^\s:]+)+", line) for line in lines)


# ---------------------------------------------------------------------------------------------
# svmlight


class _Lines:
    """The lines of an svmlight file for scikit-learn's parser, which needs `read` to be there.

    It counts, so that an error has a line number, drops a byte order mark, and looks for what
    the parser would accept in silence: nan and inf (an n is in both) and 1_000.
    """

    def __init__(self, source: _Source, stream: Stream) -> None:
        self._source, self._stream = source, stream
        self.number = 0
        self.line = b""

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size)

    def __iter__(self) -> Iterator[bytes]:
        for number, line in enumerate(self._stream, 1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            self.number, self.line = number, line
            if b"n" in line or b"N" in line or b"_" in line:
                _check_svmlight_line(self._source, number, line)
            yield line


def _read_svmlight(
    source: _Source,
    stream: Stream,
    head: bytes,
    target: str | None,
    like: Layout | None,
) -> Table:
    from sklearn.datasets import load_svmlight_file

    lines = _Lines(source, stream)
    try:
        matrix, y = load_svmlight_file(lines, zero_based=True)
    except FileError:
        raise
    except (ValueError, OverflowError, TypeError, IndexError) as error:
        _check_svmlight_line(source, lines.number, lines.line)
        raise FileError(f"{source}: line {lines.number}: {error}.") from None
    X = sp.csr_array(matrix)
    n_samples = y.size
    if not n_samples:
        raise FileError(f"{source}: no samples in it (only blank lines or comments).")
    if not X.nnz:
        raise FileError(f"{source}: no features in it (every line is a label alone).")
    if not np.isfinite(X.data).all():  # overflow: nan and inf were refused by the line
        position = int(np.flatnonzero(~np.isfinite(X.data))[0])
        _report_svmlight_row(source, int(np.searchsorted(X.indptr, position, "right")) - 1)
    if not np.isfinite(y).all():
        _report_svmlight_row(source, int(np.flatnonzero(~np.isfinite(y))[0]))

    first = int(X.indices.min() > 0)
    if like is not None:
        if first == 0 and like.first_index == 1:
            raise FileError(
                f"{source}: the index 0 occurs, but the model was trained on a file whose indices "
                "start at 1; add 1 to every index of this file."
            )
        first = like.first_index
    notes: tuple[str, ...] = ()
    indices = X.indices - first
    n_features = int(indices.max()) + 1
    width = n_features if like is None else max(n_features, like.n_features)
    index_type = np.int32 if max(width, X.nnz) < 2**31 else np.int64
    X = sp.csr_array(
        (X.data, indices.astype(index_type), X.indptr.astype(index_type)), shape=(n_samples, width)
    )
    if like is not None and width > like.n_features:
        last = like.n_features + first - 1
        notes = (f"features above {last} were not in the training data and are ignored",)
        X = X[:, : like.n_features]
    labels, name = _as_labels(source, y, n_samples, "labels"), None
    if target is not None:
        if _is_label_file(target):
            labels, name = _read_labels(target, n_samples), Path(target).stem
        else:
            raise FileError(
                f"{source}: an svmlight file holds its labels, but the target {quote(target)} was "
                "given; leave it out, or name a file of labels."
            )
    return Table(X, labels, target_name=name, first_index=first, notes=notes)


def _report_svmlight_row(source: _Source, row: int) -> None:
    """Raise the error of one row, found again by counting lines."""
    with source.open() as stream:
        count = 0
        for number, line in enumerate(stream, 1):
            if line.split(b"#", 1)[0].strip():
                if count == row:
                    _check_svmlight_line(source, number, line.removeprefix(b"\xef\xbb\xbf"))
                count += 1
    raise FileError(f"{source}: a value of sample {row + 1} is not finite.")


def _check_svmlight_line(source: _Source, number: int, line: bytes) -> None:
    """Raise a FileError with line and column if the line breaks the format."""
    text = line.split(b"#", 1)[0]

    def fail(start: int, message: str) -> None:
        raise FileError(f"{source}: line {number}, column {start + 1}: {message}")

    previous = -1
    for order, match in enumerate(re.finditer(rb"\S+", text)):
        start = match.start()
        token = match[0].decode("utf-8", "backslashreplace")
        shown = quote(token)
        if order == 0:
            value = _strict_float(token)
            if value is None:
                fail(start, f"the label must be one number; got {shown}.")
            elif not math.isfinite(value):
                fail(start, f"the label must be finite; got {shown}.")
            continue
        if token.startswith("qid:"):
            continue
        index, colon, rest = token.partition(":")
        if not colon:
            fail(start, f"expected index:value; got {shown}.")
        if not re.fullmatch(r"[0-9]+", index):
            fail(start, f"the index must be a whole number, 0 or more; got {quote(index)}.")
        if len(index) > 10 or int(index) >= 2**31:
            fail(start, f"the index must be below 2147483648; got {quote(index)}.")
        if int(index) <= previous:
            fail(start, f"indices must increase along a line; got {index} after {previous}.")
        previous = int(index)
        value = _strict_float(rest)
        if value is None:
            fail(start, f"the value must be a number; got {quote(rest)}.")
        elif not math.isfinite(value):
            fail(start, f"the value must be finite; got {quote(rest)}.")


def _strict_float(token: str) -> float | None:
    """Return the number that a token is, or None: no underscores, which Python's float takes."""
    if "_" in token:
        return None
    try:
        return float(token)
    except ValueError:
        return None


# ---------------------------------------------------------------------------------------------
# Delimited text


@dataclass(frozen=True, slots=True)
class _Columns:
    """What the columns of a delimited file are."""

    names: list[str] | None  # of all columns
    n_columns: int
    features: list[int]  # positions
    target: int | None
    samples: int | None  # position of the names of samples
    skip_lines: int  # 1 if the first line is a header

    def name(self, position: int) -> str:
        if self.names is None:
            return f"column {position}"
        return f"column {quote(self.names[position])}"

    def feature_names(self, like: Layout | None) -> tuple[list[str] | None, tuple[str, ...]]:
        """Return unique names of the features and a note if some had to be changed."""
        if self.names is None:
            # Numbers of columns tell the features of this file apart, but another file may have
            # its target elsewhere: there only the order counts.
            return None if like is not None else [f"column {j}" for j in self.features], ()
        if like is not None and like.names is not None:
            return list(like.names), ()
        return _unique([self.names[j] for j in self.features], self.features)


def _read_delimited(
    source: _Source,
    stream: Stream,
    head: bytes,
    target: str | None,
    like: Layout | None,
) -> Table:
    # `head` may end inside a character; only its first line is used.
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").splitlines()
    first_line = start[0].decode("utf-8", "replace") if start else ""
    delimiter = _delimiter(first_line, _DELIMITERS.get(source.suffix, ",;\t|"))
    try:
        table, labels, samples, columns, lines = _parse_delimited(
            source, stream, delimiter, target, like
        )
    except UnicodeDecodeError:
        _report_encoding(source)
        raise FileError(f"{source}: not UTF-8 text; convert it with iconv.") from None
    except csv.Error as error:
        raise FileError(f"{source}: not a table in CSV form ({error}).") from None
    if not np.isfinite(table).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(table))[0])
        where = f"line {lines[row]}, " if lines is not None else f"row {row + 1}, "
        raise FileError(
            f"{source}: {where}{columns.name(columns.features[column])}: a value is missing or not "
            f"finite ({table[row, column]}); fill it in or drop the row or column."
        )
    names, notes = columns.feature_names(like)
    y, name = None, None
    if labels is not None and columns.target is not None:
        y = _labels_from_text(labels)
        if columns.names is not None:
            name = columns.names[columns.target]
        else:
            name = f"column {columns.target}"
    elif target is not None:
        y, name = _read_labels(target, table.shape[0]), Path(target).stem
    return Table(table, y, names, name, samples, notes=notes)


def _delimiter(line: str, candidates: str) -> str:
    """Return the candidate that occurs most outside quotes; blank as the last resort."""
    bare = re.sub(r'"[^"]*"', '""', line)
    count, best = max((bare.count(c), -i) for i, c in enumerate(candidates))
    if not count and len(candidates) > 1 and " " in bare.strip():
        return " "
    return candidates[-best]


def _parse_delimited(
    source: _Source,
    stream: Stream,
    delimiter: str,
    target: str | None,
    like: Layout | None,
) -> tuple[NDArray[np.float64], list[str] | None, list[str] | None, _Columns, array[int] | None]:
    """Return X, labels, names of samples, the columns and the line of every row."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        return _parse_lines(source, text, delimiter, target, like)
    finally:
        text.detach()  # whoever opened the stream closes it


def _parse_lines(
    source: _Source, text: io.TextIOWrapper, delimiter: str, target: str | None, like: Layout | None
) -> tuple[NDArray[np.float64], list[str] | None, list[str] | None, _Columns, array[int] | None]:
    underscore = False

    def watched() -> Iterator[str]:
        # Python's float takes 1_000; a fast search by line tells where to look closer.
        nonlocal underscore
        for line in text:
            if "\x00" in line:
                raise csv.Error("a NUL byte in it")
            underscore = underscore or "_" in line
            yield line

    reader = csv.reader(
        watched(), delimiter=delimiter, skipinitialspace=delimiter == " ", strict=True
    )
    rows = (row for row in reader if row)
    first = next(rows, None)
    second = next(rows, None)
    if first is None:
        raise FileError(f"{source}: no samples in it (only blank lines).")
    columns = _arrange(source, first, second, target, like)
    if columns.skip_lines and second is None:
        raise FileError(f"{source}: a header line and no samples under it.")
    fast = _parse_fast(source, delimiter, columns)
    if fast is not None:
        return *fast, columns, None

    pending = [row for row in (first, second)[columns.skip_lines :] if row is not None]
    n_pending = len(pending)
    underscore = any("_" in field for row in pending for field in row)
    values, lines = array("d"), array("q")
    labels: list[str] | None = None if columns.target is None else []
    samples: list[str] | None = None if columns.samples is None else []
    pick: Callable[[list[str]], Sequence[str]]
    dropped = sorted(set(range(columns.n_columns)) - set(columns.features), reverse=True)
    if len(dropped) <= 3 and columns.features == sorted(columns.features):
        # All columns but a few, the usual case: deleting is faster than picking.
        def pick(row: list[str]) -> Sequence[str]:
            for position in dropped:
                del row[position]
            return row
    elif len(columns.features) > 1:
        pick = operator.itemgetter(*columns.features)
    else:
        only = columns.features[0]

        def pick(row: list[str]) -> Sequence[str]:
            return (row[only],)

    for count, row in enumerate(itertools.chain(pending, rows)):
        number = reader.line_num
        if count < n_pending:
            number -= n_pending - 1 - count
        if len(row) != columns.n_columns:
            raise FileError(
                f"{source}: line {number} has {len(row)} fields; the lines before have "
                f"{columns.n_columns}."
            )
        if labels is not None and columns.target is not None:
            label = row[columns.target].strip()
            if label.lower() in _MISSING:
                raise FileError(
                    f"{source}: line {number}, {columns.name(columns.target)}: the target is "
                    f"missing ({quote(label)}); drop the row."
                )
            labels.append(label)
        if samples is not None and columns.samples is not None:
            samples.append(row[columns.samples])
        fields = pick(row)
        try:
            values.extend(map(float, fields))
        except ValueError:
            _report_field(source, columns, number, fields)
        if underscore and any("_" in field for field in fields):
            _report_field(source, columns, number, fields)
        lines.append(number)
    X = np.frombuffer(values, np.float64).reshape(len(lines), len(columns.features))
    return X, labels, samples, columns, lines


def _arrange(
    source: _Source,
    first: list[str],
    second: list[str] | None,
    target: str | None,
    like: Layout | None,
) -> _Columns:
    """Decide from the first two lines what each column is."""
    n_columns = len(first)
    names: list[str] | None = None
    samples: int | None = None
    if _is_header(source, first):
        names = [name.strip() for name in first]
        if second is not None and len(second) == len(first) + 1:  # as R writes row names
            names.insert(0, "")
        n_columns = len(names)
        if not names[0] and n_columns > 1:
            samples = 0
    return _assign(source, names, n_columns, samples, target, like)


def _assign(
    source: _Source,
    names: list[str] | None,
    n_columns: int,
    samples: int | None,
    target: str | None,
    like: Layout | None,
) -> _Columns:
    """Find the target and the features among the columns."""
    position = None
    if target is not None:
        position = _find_column(source, target, names, n_columns)
    elif like is not None and like.target_name and names and names.count(like.target_name) == 1:
        position = names.index(like.target_name)
    if like is not None and like.names is not None and names is not None:
        features = _find_features(source, like.names, names)
    else:
        features = [j for j in range(n_columns) if j not in (position, samples)]
        if like is not None and len(features) != like.n_features:
            hint = ""
            if len(features) == like.n_features + 1 and position is None:
                hint = " If one of them holds labels, name it with --target."
            raise FileError(
                f"{source}: {len(features)} features; the model was trained on "
                f"{like.n_features}.{hint}"
            )
    if not features:
        raise FileError(f"{source}: no features in it (one column, which is the target).")
    return _Columns(names, n_columns, features, position, samples, int(names is not None))


def _is_header(source: _Source, fields: list[str]) -> bool:
    """Whether the first line holds names; an error where it could be either."""
    filled = [field for field in fields if field.strip()]
    numbers = [value for field in filled if (value := _strict_float(field)) is not None]
    words = len(filled) - len(numbers)
    consecutive = bool(numbers) and numbers == list(
        np.arange(numbers[0], numbers[0] + len(numbers))
    )
    if not words:
        # Data, unless a data frame without names wrote 0, 1, 2, ... there.
        return bool(
            consecutive
            and numbers[0] == 0
            and (not fields[0].strip() or len(numbers) >= 5)
            and len(fields) - len(filled) <= 1
        )
    missing = all(
        field.strip().lower() in _MISSING for field in filled if _strict_float(field) is None
    )
    if missing and numbers:
        return False  # a sample with missing values: the body reports it
    if numbers and not (consecutive and len(numbers) > 1):
        raise FileError(
            f"{source}: the first line mixes names and numbers, so it may be a header or a sample; "
            "add a header line."
        )
    return True


def _find_column(
    source: _Source, target: str, names: list[str] | None, n_columns: int
) -> int | None:
    """Return the position of the target column; None if the target is a file of labels."""
    if names is not None:
        count = names.count(target)
        if count == 1:
            return names.index(target)
        if count > 1:
            positions = ", ".join(str(j) for j, name in enumerate(names) if name == target)
            raise FileError(
                f"{source}: {count} columns have the name {quote(target)} (positions "
                f"{positions}); give the target by position."
            )
    if re.fullmatch(r"-?[0-9]{1,18}", target):
        position = int(target)
        if not -n_columns <= position < n_columns:
            raise FileError(
                f"{source}: the target column must be between {-n_columns} and {n_columns - 1}; "
                f"got {position}."
            )
        return position % n_columns
    if _is_label_file(target):
        return None
    if names is None:
        raise FileError(
            f"{source}: no header line, so the target column is a number between 0 and "
            f"{n_columns - 1} (-1 is the last); got {quote(target)}."
        )
    raise FileError(f"{source}: no column {quote(target)}.{did_you_mean(target, names)}")


def _find_features(source: _Source, wanted: Sequence[str], names: list[str]) -> list[int]:
    """Return where the features of a model stand."""
    # Names made unique at training are made unique in the same way here.
    unique, _ = _unique(names, range(len(names)))
    position = {name: j for j, name in enumerate(unique)}
    missing = [name for name in wanted if name not in position]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        shown = ", ".join(quote(name) for name in missing[:3])
        raise FileError(
            f"{source}: the model needs the features {shown}{more}, which are not there."
            f"{did_you_mean(missing[0], names)}"
        )
    return [position[name] for name in wanted]


def _report_field(source: _Source, columns: _Columns, number: int, fields: Sequence[str]) -> None:
    """Raise the error of the first field of a line that is not a number."""
    bad = [order for order, field in enumerate(fields) if _strict_float(field) is None]
    if not bad:
        return
    field = fields[bad[0]].strip()
    name = columns.name(columns.features[bad[0]])
    if field.lower() in _MISSING:
        raise FileError(
            f"{source}: line {number}, {name}: a value is missing ({quote(field)}); fill it in or "
            "drop the row or column."
        )
    if re.fullmatch(r"[-+]?[0-9]+,[0-9]+([eE][-+]?[0-9]+)?", field):
        raise FileError(
            f"{source}: line {number}, {name}: {quote(field)} has a decimal comma; write numbers "
            "with a point."
        )
    others = sum(1 for j in bad[1:] if fields[j].strip().lower() not in _MISSING)
    more = f" (and {others} more on this line)" if others else ""
    raise FileError(
        f"{source}: line {number}, {name}{more}: features must be numbers; got {quote(field)}. "
        "Drop the column, make it the target, or encode it (one column of 0 and 1 per value)."
    )


def _report_encoding(source: _Source) -> None:
    """Raise the error of the first line that is not UTF-8."""
    with source.open() as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise FileError(
                    f"{source}: line {number}, byte {error.start + 1}: not UTF-8 text; convert it, "
                    "for example with iconv -f latin1 -t utf8."
                ) from None


def _parse_fast(
    source: _Source, delimiter: str, columns: _Columns
) -> tuple[NDArray[np.float64], list[str] | None, list[str] | None] | None:
    """Return what `_parse_delimited` returns, by polars; None if it cannot or anything is odd.

    Every cell is read as text and cast strictly, so what it accepts has the same value in the
    careful reader, and whatever it does not accept is left to that one and its messages.
    """
    if source.size < _FAST_SIZE or delimiter == " ":
        return None
    try:
        import polars as pl
    except ImportError:
        return None
    try:
        with _engine_errors("polars"):
            return _parse_polars(pl, source, delimiter, columns)
    except FileError:
        return None


def _parse_polars(
    pl: Any, source: _Source, delimiter: str, columns: _Columns
) -> tuple[NDArray[np.float64], list[str] | None, list[str] | None] | None:
    with source.open() as stream:
        data: Path | bytes = source.path if source.compression is None else stream.read()
        frame = pl.read_csv(
            data,
            separator=delimiter,
            has_header=False,
            skip_rows=columns.skip_lines,
            infer_schema=False,
        )
    if frame.width != columns.n_columns:
        return None
    labels = samples = None
    if columns.target is not None:
        labels = [(label or "").strip() for label in frame[:, columns.target].to_list()]
        if any(label.lower() in _MISSING for label in labels):
            return None
    if columns.samples is not None:
        samples = [name or "" for name in frame[:, columns.samples].to_list()]
    X = np.empty((frame.height, len(columns.features)), order="F")
    for order, position in enumerate(columns.features):
        column = frame[:, position].cast(pl.Float64, strict=False)
        if column.null_count():
            return None
        X[:, order] = column.to_numpy()
    return (X, labels, samples) if np.isfinite(X).all() else None


# ---------------------------------------------------------------------------------------------
# Parquet


def _read_parquet(
    source: _Source,
    stream: Stream,
    head: bytes,
    target: str | None,
    like: Layout | None,
) -> Table:
    import narwhals as nw

    data: Any = source.path if source.compression is None else io.BytesIO(stream.read())
    read: Callable[[Any], Any]
    try:  # pyarrow first: it turns all damage into exceptions, where polars may panic
        import pyarrow.parquet as pq

        read = pq.read_table
    except ImportError:
        try:
            import polars as pl

            read = pl.read_parquet
        except ImportError:
            raise FileError(
                f"{source}: Parquet files need polars or pyarrow; install one with {_FILES_EXTRA}."
            ) from None
    with _engine_errors(f"{source}: not a readable Parquet file"):
        return _table_from(source, nw.from_native(read(data), eager_only=True), target, like)


def _table_from(source: _Source, frame: Any, target: str | None, like: Layout | None) -> Table:
    """Return the table in a data frame of narwhals."""
    import narwhals as nw

    names: list[str] = frame.columns
    samples = next((j for j, name in enumerate(names) if name == "__index_level_0__"), None)
    columns = _assign(source, names, len(names), samples, target, like)
    matrix: list[NDArray[Any]] = []
    for position in columns.features:
        series = frame[names[position]]
        if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
            raise FileError(
                f"{source}: {columns.name(position)}: features must be numbers; got the type "
                f"{series.dtype}. Drop the column, make it the target, or encode it (one column of "
                "0 and 1 per value)."
            )
        if series.dtype.is_decimal() or series.dtype == nw.Boolean:
            series = series.cast(nw.Float64)
        if series.null_count():
            row = int(np.flatnonzero(series.is_null().to_numpy())[0])
            raise FileError(
                f"{source}: row {row + 1}, {columns.name(position)}: a value is missing; fill it "
                "in or drop the row or column."
            )
        values = series.to_numpy()
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise FileError(
                f"{source}: row {row + 1}, {columns.name(position)}: a value is not finite "
                f"({values[row]}); fill it in or drop the row or column."
            )
        matrix.append(values)
    types = {values.dtype for values in matrix}
    kept = (np.float32, np.int8, np.uint8)  # what a scan reads without conversion
    dtype = types.pop() if len(types) == 1 and next(iter(types)) in kept else np.dtype(np.float64)
    X = np.empty((len(frame), len(matrix)), dtype, order="F")
    for order, values in enumerate(matrix):
        X[:, order] = values
    unique, notes = columns.feature_names(like)
    y, name = None, None
    if columns.target is not None:
        name = names[columns.target]
        series = frame[name]
        if series.null_count():
            row = int(np.flatnonzero(series.is_null().to_numpy())[0])
            raise FileError(
                f"{source}: row {row + 1}, {columns.name(columns.target)}: the target is missing; "
                "drop the row."
            )
        y = _as_labels(
            source, np.asarray(series.to_list()), len(frame), columns.name(columns.target)
        )
    elif target is not None:
        y, name = _read_labels(target, len(frame)), Path(target).stem
    sample_names = None if samples is None else [str(v) for v in frame[names[samples]].to_list()]
    return Table(X, y, unique, name, sample_names, notes=notes)


# ---------------------------------------------------------------------------------------------
# NumPy


def _read_npy(
    source: _Source,
    stream: Stream,
    head: bytes,
    target: str | None,
    like: Layout | None,
) -> Table:
    X: NDArray[Any]
    if source.compression is None:
        # The header and its sizes are checked by the strict reader; then only a map is made.
        offset, shape, fortran, dtype = read_npy_header(str(source), stream, source.size)
        order: Any = "F" if fortran else "C"
        if math.prod(shape):
            X = np.memmap(source.path, dtype, "r", offset, shape, order)
        else:
            X = np.empty(shape, dtype)
    else:
        X = read_npy(str(source), stream, None)
    X = _as_matrix(source, X, "the array")
    y, name = None, None
    if target is not None:
        if not _is_label_file(target):
            raise FileError(
                f"{source}: labels of a .npy file stand in a file of their own; no file "
                f"{quote(target)}.{_similar_files(Path(target))}"
            )
        y, name = _read_labels(target, X.shape[0]), Path(target).stem
    return Table(X, y, target_name=name)


def _read_npz(
    source: _Source,
    stream: Stream,
    head: bytes,
    target: str | None,
    like: Layout | None,
) -> Table:
    arrays = _load_npz(source)
    X: NDArray[Any] | sp.csr_array[Any]
    if {"format", "shape", "data"} <= arrays.keys():
        X = _sparse_from(source, arrays)
    else:
        name = "X"
        if name not in arrays:
            matrices = [key for key in arrays if len(arrays[key].shape) == 2]
            if len(matrices) != 1:
                raise FileError(
                    f"{source}: no array X in it, and {len(matrices)} other matrices; save the "
                    f"data as X. It holds {_listed(arrays)}."
                )
            name = matrices[0]
        X = _as_matrix(source, arrays[name].load(), f"the array {quote(name)}")
    n_samples, n_features = X.shape

    y, target_name = None, None
    key = target
    if key is None:
        key = next((k for k in _LABEL_KEYS if k in arrays and arrays[k].shape != ()), None)
    if key in arrays and key is not None:
        y = _as_labels(source, arrays[key].load(), n_samples, f"the array {quote(key)}")
        target_name = key
    elif key is not None:
        if not _is_label_file(key):
            raise FileError(
                f"{source}: no array {quote(key)}; it holds {_listed(arrays)}."
                f"{did_you_mean(key, list(arrays))}"
            )
        y, target_name = _read_labels(key, n_samples), Path(key).stem
    notes: tuple[str, ...] = ()
    names = _names_from(source, arrays, "feature_names", n_features)
    if names is not None:
        names, notes = _unique(names, range(n_features))
    return Table(
        X,
        y,
        names,
        target_name,
        _names_from(source, arrays, "sample_names", n_samples),
        _names_from(source, arrays, "descriptions", n_features),
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class _Member:
    """An array in an npz file that is not read yet."""

    shape: tuple[int, ...]
    load: Callable[[], NDArray[Any]]


def _load_npz(source: _Source) -> Mapping[str, _Member]:
    """Return the arrays of an npz file by name; only their headers are read."""
    members: dict[str, _Member] = {}
    try:
        with zipfile.ZipFile(source.path) as archive:
            infos = archive.infolist()
            for info in infos:
                _refuse_bomb(source, info.file_size, info.compress_size)
                where = f"{source}: {quote(info.filename)}"
                with _open_member(source, archive, info) as stream:
                    _, shape, _, _ = read_npy_header(where, stream, info.file_size)
                key = info.filename.removesuffix(".npy")
                if key in members:
                    raise FileError(f"{source}: two arrays have the name {quote(key)}.")
                members[key] = _Member(shape, _loader(source, info.filename))
    except (zipfile.BadZipFile, OSError, zlib.error, EOFError, lzma.LZMAError) as error:
        raise FileError(f"{source}: truncated or damaged ({error}).") from None
    return members


def _loader(source: _Source, member: str) -> Callable[[], NDArray[Any]]:
    def load() -> NDArray[Any]:
        where = f"{source}: {quote(member)}"
        try:
            with zipfile.ZipFile(source.path) as archive:
                info = archive.getinfo(member)
                with _open_member(source, archive, info) as stream:
                    values = read_npy(where, stream, info.file_size)
                    stream.read(1)  # at its end the archive's checksum is compared
        except (zipfile.BadZipFile, OSError, zlib.error, EOFError, lzma.LZMAError) as error:
            raise FileError(f"{where}: truncated or damaged ({error}).") from None
        return values

    return load


def read_npy_header(
    where: str, stream: IO[bytes], size: int | None
) -> tuple[int, tuple[int, ...], bool, np.dtype[Any]]:
    """Return offset, shape, Fortran order and type of an array in .npy form, all verified.

    Nothing is allocated. `size` is the number of bytes there are, header included; None if
    unknown. Arrays of objects are refused: they would have to be unpickled.
    """
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
            offset = 10
        elif version == (2, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
            offset = 12
        else:
            raise FileError(f"{where}: unknown .npy version {version}; save it with numpy.save.")
    except FileError:
        raise
    except Exception as error:  # NumPy parses the header as Python source: it may fail anyhow
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(f"{where}: not a valid .npy array ({quote(reason)}).") from None
    if dtype.hasobject:
        raise FileError(
            f"{where}: an array of objects, which would have to be unpickled; save numbers."
        )
    if dtype.names is not None or dtype.kind not in "biufcSU":
        raise FileError(f"{where}: an array of type {dtype}; save plain numbers or strings.")
    if any(length < 0 for length in shape):
        raise FileError(f"{where}: a negative length in the shape {shape}.")
    if size is not None:
        offset = stream.tell()
        expected = offset + math.prod(shape) * dtype.itemsize
        if size != expected:
            raise FileError(
                f"{where}: truncated or damaged: the shape {shape} of {dtype} needs {expected} "
                f"bytes, there are {size}."
            )
    return offset, shape, fortran, dtype


def read_npy(where: str, stream: IO[bytes], size: int | None) -> NDArray[Any]:
    """Return an array in .npy form, every claim of its header verified; never unpickles."""
    _, shape, fortran, dtype = read_npy_header(where, stream, size)
    n_bytes = math.prod(shape) * dtype.itemsize
    try:
        buffer = np.empty(n_bytes, np.uint8)
    except (MemoryError, ValueError, OverflowError):
        raise FileError(f"{where}: the shape {shape} of {dtype} does not fit in memory.") from None
    done = 0
    while done < n_bytes:
        chunk = stream.read(min(1 << 22, n_bytes - done))
        if not chunk:
            raise FileError(f"{where}: truncated: {n_bytes} bytes expected, {done} are there.")
        buffer[done : done + len(chunk)] = np.frombuffer(chunk, np.uint8)
        done += len(chunk)
    if not n_bytes:
        return np.empty(shape, dtype)
    return buffer.view(dtype).reshape(shape, order="F" if fortran else "C")


def _as_matrix(source: _Source, values: NDArray[Any], what: str) -> NDArray[Any]:
    if values.ndim != 2:
        raise FileError(
            f"{source}: {what} must have two dimensions (samples x features); its shape is "
            f"{values.shape}."
        )
    if values.dtype.kind not in "biuf":
        raise FileError(f"{source}: {what} must hold real numbers; its type is {values.dtype}.")
    return values.view(np.uint8) if values.dtype == np.bool_ else values


def _sparse_from(source: _Source, arrays: Mapping[str, _Member]) -> sp.csr_array[Any]:
    """Return the matrix that `scipy.sparse.save_npz` wrote, as CSR."""
    value = arrays["format"].load()
    text = value.item() if value.shape == () and value.dtype.kind in "SU" else None
    form = text.decode("ascii", "replace") if isinstance(text, bytes) else text
    needed = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}
    if form not in needed:
        raise FileError(f"{source}: sparse format {quote(str(form))}; save it as CSR (X.tocsr()).")
    missing = [key for key in needed[form] if key not in arrays]
    if missing:
        raise FileError(f"{source}: a sparse matrix without its array {quote(missing[0])}.")
    shape = arrays["shape"].load()
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
        raise FileError(f"{source}: the shape of a sparse matrix must be two numbers, 0 or more.")
    data = arrays["data"].load()
    if data.dtype.kind not in "biuf" or data.ndim != 1:
        raise FileError(f"{source}: a sparse matrix must hold real numbers; got {data.dtype}.")
    if data.dtype == np.bool_:
        data = data.view(np.uint8)
    index = [arrays[key].load() for key in needed[form]]
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in index):
        raise FileError(f"{source}: the indices of a sparse matrix must be whole numbers.")
    size = (int(shape[0]), int(shape[1]))
    try:
        if form == "coo":
            return sp.csr_array(sp.coo_array((data, (index[0], index[1])), shape=size))
        kind = sp.csr_array if form == "csr" else sp.csc_array
        matrix = kind((data, index[0], index[1]), shape=size)
        # A conversion trusts the indices: they are checked before it.
        matrix.check_format(full_check=True)
        return sp.csr_array(matrix)
    except (ValueError, OverflowError, MemoryError) as error:
        raise FileError(f"{source}: a broken sparse matrix ({error}).") from None


def _names_from(
    source: _Source, arrays: Mapping[str, _Member], key: str, size: int
) -> list[str] | None:
    if key not in arrays:
        return None
    values = arrays[key].load()
    if values.dtype.kind not in "US" or values.shape != (size,):
        raise FileError(
            f"{source}: the array {key} must hold {size} strings; it holds {values.dtype} of shape "
            f"{values.shape}."
        )
    return [str(value) for value in _decoded(source, values).tolist()]


def _decoded(source: _Source, values: NDArray[Any]) -> NDArray[Any]:
    """Return strings as str; refuse what is no text."""
    try:
        if values.dtype.kind == "S":
            return np.char.decode(values, "utf-8")
        valid = is_text(values)
    except UnicodeDecodeError:
        valid = False
    if not valid:
        raise FileError(f"{source}: strings that are not valid text.")
    return values


def is_text(values: NDArray[Any]) -> bool:
    """Whether an array of str holds code points only: NumPy reads any 32 bits as one."""
    if not values.size or not values.dtype.itemsize:
        return True
    kind = np.dtype(np.uint32).newbyteorder(values.dtype.byteorder)
    codes = np.ascontiguousarray(values).reshape(-1).view(kind)
    return bool(codes.max() <= 0x10FFFF)


# ---------------------------------------------------------------------------------------------
# Labels and names


def _is_label_file(target: str) -> bool:
    try:
        return Path(target).is_file()
    except (OSError, ValueError):
        return False


def _read_labels(target: str, n_samples: int) -> NDArray[Any]:
    """Return labels from a file of their own."""
    source = _Source(check_path(target))
    with source.open() as stream:
        head = stream.peek(1 << 16)
        kind = _kind(source, head)
        if kind == "npy":
            return _as_labels(source, read_npy(str(source), stream, None), n_samples, "the array")
        if kind == "npz":
            arrays = _load_npz(source)
            key = next((k for k in _LABEL_KEYS if k in arrays), None)
            if key is None:
                raise FileError(f"{source}: no array y; it holds {_listed(arrays)}.")
            return _as_labels(source, arrays[key].load(), n_samples, f"the array {quote(key)}")
        if kind == "parquet":
            raise FileError(f"{source}: labels must be a .npy, .npz or one-column text file.")
        try:
            text = stream.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            _report_encoding(source)
            raise
    labels = [line.strip().strip('"') for line in text.splitlines()]
    while labels and not labels[-1]:
        labels.pop()
    skip = len(labels) == n_samples + 1  # a header line
    for number, label in enumerate(labels[skip:], 1 + skip):
        if label.lower() in _MISSING:
            raise FileError(f"{source}: line {number}: the target is missing ({quote(label)}).")
    return _as_labels(source, _labels_from_text(labels[skip:]), n_samples, "the file")


def _labels_from_text(labels: list[str]) -> NDArray[Any]:
    """Return labels as int64, float64 or strings: the first that holds them all."""
    numbers = [_strict_float(label) for label in labels]
    values = [value for value in numbers if value is not None and math.isfinite(value)]
    if len(values) < len(labels):
        return np.array(labels)
    return _whole(np.array(values))


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """Return floats that are whole numbers as int64."""
    if values.dtype.kind == "f" and (np.abs(values) < 2**53).all() and (values % 1 == 0).all():
        return values.astype(np.int64)
    return values


def _as_labels(source: _Source, values: NDArray[Any], n_samples: int, what: str) -> NDArray[Any]:
    """Return one label per sample."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_samples,):
        raise FileError(
            f"{source}: {what} must hold one label for each of the {n_samples} samples; its shape "
            f"is {values.shape}."
        )
    if values.dtype.kind in "US":
        return _decoded(source, values)
    if values.dtype.kind not in "biuf":
        raise FileError(
            f"{source}: {what} must hold labels as numbers or strings; its type is {values.dtype}."
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise FileError(f"{source}: {what}: label {row + 1} is not finite ({values[row]}).")
    return _whole(values)


def _unique(names: Sequence[str], positions: Iterable[int]) -> tuple[list[str], tuple[str, ...]]:
    """Return the names, those that are empty or occur twice marked by their position."""
    count = Counter(names)
    if len(count) == len(names) and "" not in count:
        return list(names), ()
    taken = set(count)
    unique: list[str] = []
    changed = 0
    for name, position in zip(names, positions, strict=True):
        if name and count[name] == 1:
            unique.append(name)
            continue
        changed += 1
        candidate = f"{name or 'column'}#{position}"
        while candidate in taken:
            candidate += "'"
        taken.add(candidate)
        unique.append(candidate)
    return unique, (f"{changed} features share a name or have none; '#' and position was added",)


def _listed(arrays: Mapping[str, _Member]) -> str:
    shown = [f"{quote(key)} {member.shape}" for key, member in itertools.islice(arrays.items(), 8)]
    return ", ".join(shown) + (", ..." if len(arrays) > 8 else "") if shown else "nothing"


def quote(text: str) -> str:
    """Return text from a file for a message: cut, quoted, control characters escaped."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def did_you_mean(word: str, words: Sequence[str], listing: bool = True) -> str:
    """Return a sentence with the words most like this one, or with all of a few; or nothing."""
    lower = {name.lower(): name for name in reversed(words) if len(name) <= 200}
    found = difflib.get_close_matches(word.lower()[:200], list(itertools.islice(lower, 20000)), 3)
    if found:
        return f" Did you mean {' or '.join(quote(lower[name]) for name in found)}?"
    if listing and words and len(words) <= 12:
        return f" There is {', '.join(quote(name) for name in words)}."
    return ""


_Reader: TypeAlias = Callable[[_Source, "Stream", bytes, "str | None", "Layout | None"], Table]
_READERS: Mapping[str, _Reader] = {
    "svmlight": _read_svmlight,
    "delimited": _read_delimited,
    "parquet": _read_parquet,
    "npy": _read_npy,
    "npz": _read_npz,
}
