"""Reads svmlight files: a label and index:value pairs on each line.

A kernel reads parts of the text on all threads. It tells at most where a line breaks the format;
that line is gone through again here for a message with line and column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _kernels
from ..core.files import FileError, PathLike, quote
from ..core.messages import Doubt, counted
from ..core.types import FloatArray, IndexArray
from .arrays import as_labels, read_labels, read_names, read_others
from .delimited import PART, Text, cut, parts_of
from .source import Source, Stream, check_path, is_label_file
from .table import Dataset, TableRequest

T = TypeVar("T", bound=np.generic)

_NUMBER = re.compile(
    r"[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class SvmlightRows:
    """Successive rows of an svmlight file, their indices as the file has them.

    Parameters
    ----------
    start : int
        The number of the first of them among all rows of the file.
    labels : (n,) float64
    lengths : (n,) int64, the entries of each row
    indices : int32, increasing along a row
    values : float64
    lowest, highest : int
        Of all indices; 2**31 - 1 and -1 where there is none.
    """

    start: int
    labels: FloatArray
    lengths: IndexArray
    indices: NDArray[np.int32]
    values: FloatArray
    lowest: int
    highest: int

    @property
    def matrix(self) -> sp.csr_array[Any]:
        """The rows as a matrix of as many columns as they need, from 0."""
        indptr = np.zeros(self.labels.size + 1, np.int64)
        np.cumsum(self.lengths, out=indptr[1:])
        shape = (self.labels.size, self.highest + 1)
        small = max(shape[1], self.values.size) < 2**31
        index_type = np.int32 if small else np.int64
        return sp.csr_array(
            (self.values, self.indices.astype(index_type), indptr.astype(index_type)), shape=shape
        )


def svmlight_blocks(path: PathLike, size: int = PART) -> Iterator[SvmlightRows]:
    """Yield the rows of an svmlight file, plain or compressed, block by block.

    Parameters
    ----------
    path : path-like
    size : int
        The bytes of text of a block. All that is in memory at a time is twice this text and the
        block; only a line that is longer takes more.

    Raises
    ------
    FileError
        If a line breaks the format, with line and column, or the file cannot be read; rows before
        that line may have been yielded.
    """
    source = Source(check_path(path))
    with source.open() as stream:
        yield from _blocks(source, stream, size)


def _blocks(source: Source, stream: Stream, size: int) -> Iterator[SvmlightRows]:
    start = n_lines = 0
    for text in parts_of(source, stream, size):
        read = _Reading(source)
        read.add(text, n_lines)
        if read.n_rows:
            yield read.rows(start)
        start += read.n_rows
        n_lines += read.n_lines


def _whole(source: Source, stream: Stream) -> SvmlightRows:
    read = _Reading(source)
    n_bytes = 0
    for text in parts_of(source, stream, PART):
        n_bytes += text.size
        # The rest of a plain file will be as what is known of it; pages that stay empty cost none.
        rest = 1.5 if source.compression else max(1.1 * source.size / n_bytes, 1.0)
        read.add(text, read.n_lines, rest)
    return read.rows(0)


class _Reading:
    """The rows of some parts of a text, one behind the other in the same arrays."""

    def __init__(self, source: Source) -> None:
        self._source = source
        # Each may be longer than what was read into it.
        self._labels, self._lengths = np.empty(0), np.empty(0, np.int64)
        self._indices, self._values = np.empty(0, np.int32), np.empty(0)
        self.n_lines = self.n_rows = self.n_entries = 0
        self.lowest, self.highest = 2**31 - 1, -1

    def add(self, text: Text, n_lines: int, rest: float = 1.0) -> None:
        """Add the rows of a part.

        n_lines : those before it. rest : how many times the rows there are up to its end the arrays
        should take, where they have to grow.
        """
        cuts, counts, n_threads = cut(text, b":")
        lines, colons = counts.sum(0).tolist()
        self._labels = _with_room(self._labels, self.n_rows + lines, rest)
        self._lengths = _with_room(self._lengths, self.n_rows + lines, rest)
        self._indices = _with_room(self._indices, self.n_entries + colons, rest)
        self._values = _with_room(self._values, self.n_entries + colons, rest)
        n_rows, n_entries, lowest, highest, fault = _kernels.svmlight_rows(
            text,
            cuts,
            counts,
            self._labels[self.n_rows :],
            self._lengths[self.n_rows :],
            self._indices[self.n_entries :],
            self._values[self.n_entries :],
            n_threads,
        )
        if fault >= 0:
            before = np.count_nonzero(text[:fault] == ord("\n"))
            line, *_ = text[fault:].tobytes().split(b"\n", 1)
            _report_line(self._source, n_lines + int(before) + 1, line)
        self.n_lines += lines
        self.n_rows += n_rows
        self.n_entries += n_entries
        self.lowest, self.highest = min(self.lowest, lowest), max(self.highest, highest)

    def rows(self, start: int) -> SvmlightRows:
        """Return what was read; the number of its first row is `start`."""
        return SvmlightRows(
            start,
            self._labels[: self.n_rows],
            self._lengths[: self.n_rows],
            self._indices[: self.n_entries],
            self._values[: self.n_entries],
            self.lowest,
            self.highest,
        )


def _with_room(array: NDArray[T], size: int, rest: float) -> NDArray[T]:
    """Return the array if it has `size` elements, else one of `rest` times as many, with its own.

    It grows where it lies, as the system lets it: a copy would take as much memory again.
    """
    if size <= array.size:
        return array
    if not array.size:
        return np.empty(int(rest * size), array.dtype)
    array.resize(int(rest * size), refcheck=False)
    return array


def _matrix(rows: SvmlightRows, first: int, width: int) -> sp.csr_array[Any]:
    """Return the matrix of `width` columns from the index `first`; takes the arrays of the rows."""
    index_type = np.int32 if max(width, rows.values.size) < 2**31 else np.int64
    indptr = np.zeros(rows.labels.size + 1, index_type)
    np.cumsum(rows.lengths, out=indptr[1:])
    indices = rows.indices
    indices -= np.int32(first)
    return sp.csr_array(
        (rows.values, indices.astype(index_type, copy=False), indptr),
        shape=(indptr.size - 1, width),
    )


def read_svmlight(
    source: Source,
    stream: Stream,
    request: TableRequest,
) -> Dataset:
    """Read an svmlight file."""
    target, like = request.target, request.like

    rows = _whole(source, stream)
    n_samples = rows.labels.size
    if not n_samples:
        raise FileError(f"{source}: no samples in it (only blank lines or comments).")
    if rows.highest < 0:
        raise FileError(f"{source}: no features in it (every line is a label alone).")

    first = int(rows.lowest > 0)
    if like is not None:
        if first == 0 and like.first_index == 1:
            raise FileError(
                f"{source}: the index 0 occurs, but the model was trained on a file whose indices "
                "start at 1; add 1 to every index of this file."
            )
        first = like.first_index
    notes: tuple[str, ...] = ()
    width = rows.highest + 1 - first
    if request.feature_names is not None:
        names = read_names(request.feature_names, request.encoding)
        ends = rows.lowest, rows.highest
        notes = tuple(check_ends(source, request.feature_names, names, ends, first))
        width = len(names)
    elif like is not None:
        width = max(width, like.n_features)
    X = _matrix(rows, first, width)
    if like is not None and request.feature_names is None and width > like.n_features:
        last = like.n_features + first - 1
        if like.exact:
            raise FileError(
                f"{source}: must have the features of the certificate, up to {last}; got feature "
                f"{width + first - 1}."
            )
        notes = (f"features above {last} were not in the training data and are ignored",)
        X = X[:, : like.n_features]
    if target is None:
        labels: NDArray[Any] = as_labels(source, rows.labels, n_samples, "labels")
        name: str | tuple[str, ...] | None = None
    else:
        if not is_label_file(target):
            raise FileError(
                f"{source}: an svmlight file holds its labels, but the target {quote(target)} was "
                "given; leave it out, or name a file of labels."
            )
        labels, name = read_labels(target, n_samples)
    others = read_others(source, request, n_samples, {}, labels=target is not None)
    return Dataset(X, labels, target_name=name, first_index=first, notes=notes, **others)


def check_ends(
    source: object, path: PathLike, names: Sequence[str], ends: tuple[int, int], first: int
) -> list[str]:
    """Refuse an index without a name; return a note where names fit other indices as well.

    path : of the file with the names. ends : the least and the highest index that occur.
    first : the index of the first name.
    """
    last, (lowest, highest) = len(names) - 1 + first, ends
    if highest > last:
        raise FileError(
            f"{source}: the index {highest} has no name; {path} has {counted(len(names), 'name')}, "
            f"for the indices {first} to {last}."
        )
    if not lowest or highest == len(names):  # which one reading alone allows
        return []
    why = "no index is 0" if first else "in the training of the model"
    return [Doubt(f"the index {first} is {quote(names[0])} of {path}, as {why}")]


def _report_line(source: Source, number: int, line: bytes) -> NoReturn:
    """Raise the error of a line that breaks the format, with line and column."""
    text = line.split(b"#", 1)[0]

    def fail(start: int, message: str) -> NoReturn:
        raise FileError(f"{source}: line {number}, column {start + 1}: {message}")

    def number_at(start: int, token: str, what: str, rule: str) -> None:
        if not _NUMBER.fullmatch(token):
            several = what == "label" and all(map(_NUMBER.fullmatch, token.split(",")))
            advice = " Write a file for each of several labels." if several else ""
            fail(start, f"the {what} must be {rule}; got {quote(token)}.{advice}")
        if not math.isfinite(float(token)):
            fail(start, f"the {what} must be finite; got {quote(token)}.")

    previous = -1
    for order, match in enumerate(re.finditer(rb"\S+", text)):
        start = match.start()
        token = match[0].decode("utf-8", "backslashreplace")
        if order == 0:
            number_at(start, token, "label", "one number")
            continue
        if token.startswith("qid:"):
            if order != 1 or not re.fullmatch(r"[0-9]+", token[4:]):
                fail(
                    start,
                    f"qid: must have a whole number and follow the label; got {quote(token)}.",
                )
            continue
        index, colon, rest = token.partition(":")
        if not colon:
            fail(start, f"expected index:value; got {quote(token)}.")
        if not re.fullmatch(r"[0-9]+", index):
            fail(start, f"the index must be a whole number, 0 or more; got {quote(index)}.")
        digits = index.lstrip("0") or "0"
        if len(digits) > 10 or int(digits) >= 2**31:
            fail(start, f"the index must be below 2147483648; got {quote(index)}.")
        if int(digits) <= previous:
            fail(start, f"indices must increase along a line; got {digits} after {previous}.")
        previous = int(digits)
        number_at(start, rest, "value", "a number")
    raise FileError(f"{source}: line {number}: not a line of an svmlight file.")
