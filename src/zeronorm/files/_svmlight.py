"""Reads svmlight files: a label and index:value pairs on each line.

A kernel reads parts of the text on all threads. It tells at most where a line breaks the format;
that line is gone through again here for a message with line and column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _kernels
from .._typing import FloatArray, IndexArray
from ._errors import FileError, quote
from ._labels import as_labels, read_labels, read_others
from ._lines import PART, cut, parts_of
from ._source import PathLike, Source, Stream, check_path, is_label_file
from ._table import Request, Table

_NUMBER = re.compile(
    r"[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Rows:
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


def svmlight_blocks(path: PathLike, size: int = PART) -> Iterator[Rows]:
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


def _blocks(source: Source, stream: Stream, size: int) -> Iterator[Rows]:
    start = n_lines = 0
    for text in parts_of(stream, size):
        cuts, counts, n_threads = cut(text, b":")
        lines, colons = counts.sum(0).tolist()
        labels, lengths = np.empty(lines), np.empty(lines, np.int64)
        indices, values = np.empty(colons, np.int32), np.empty(colons)
        rows, entries, lowest, highest, fault = _kernels.svmlight_rows(
            text, cuts, counts, labels, lengths, indices, values, n_threads
        )
        if fault >= 0:
            before = np.count_nonzero(text[:fault] == ord("\n"))
            line, *_ = text[fault:].tobytes().split(b"\n", 1)
            _report_line(source, n_lines + int(before) + 1, line)
        if rows:
            yield Rows(
                start,
                labels[:rows],
                lengths[:rows],
                indices[:entries],
                values[:entries],
                lowest,
                highest,
            )
        start += rows
        n_lines += lines


def _joined(blocks: list[Rows], first: int, least: int) -> sp.csr_array[Any]:
    """Return the matrix of all blocks, and empty the list.

    first : the index of its first column. least : how many columns it has at least.
    """
    n_entries = sum(block.values.size for block in blocks)
    width = max(least, max(block.highest for block in blocks) + 1 - first)
    index_type = np.int32 if max(width, n_entries) < 2**31 else np.int64
    indptr = np.zeros(sum(block.labels.size for block in blocks) + 1, index_type)
    np.cumsum(np.concatenate([block.lengths for block in blocks]), out=indptr[1:])
    indices = np.empty(n_entries, index_type)
    values = np.empty(n_entries)
    end = n_entries
    while blocks:  # each is let go once it is copied, so that there is little more than one copy
        block = blocks.pop()
        start = end - block.values.size
        np.subtract(block.indices, first, out=indices[start:end])
        values[start:end] = block.values
        end = start
    return sp.csr_array((values, indices, indptr), shape=(indptr.size - 1, width))


def read_svmlight(
    source: Source,
    stream: Stream,
    request: Request,
) -> Table:
    """Read an svmlight file."""
    target, like = request.target, request.like

    blocks = list(_blocks(source, stream, PART))
    if not blocks:
        raise FileError(f"{source}: no samples in it (only blank lines or comments).")
    lowest = min(block.lowest for block in blocks)
    if max(block.highest for block in blocks) < 0:
        raise FileError(f"{source}: no features in it (every line is a label alone).")
    y = np.concatenate([block.labels for block in blocks])
    n_samples = y.size

    first = int(lowest > 0)
    if like is not None:
        if first == 0 and like.first_index == 1:
            raise FileError(
                f"{source}: the index 0 occurs, but the model was trained on a file whose indices "
                "start at 1; add 1 to every index of this file."
            )
        first = like.first_index
    notes: tuple[str, ...] = ()
    X = _joined(blocks, first, 0 if like is None else like.n_features)
    width = X.shape[1]
    if like is not None and width > like.n_features:
        last = like.n_features + first - 1
        if like.exact:
            raise FileError(
                f"{source}: must have the features of the certificate, up to {last}; got feature "
                f"{width + first - 1}."
            )
        notes = (f"features above {last} were not in the training data and are ignored",)
        X = X[:, : like.n_features]
    if target is None:
        labels: NDArray[Any] = as_labels(source, y, n_samples, "labels")
        name: str | tuple[str, ...] | None = None
    else:
        if not is_label_file(target):
            raise FileError(
                f"{source}: an svmlight file holds its labels, but the target {quote(target)} was "
                "given; leave it out, or name a file of labels."
            )
        labels, name = read_labels(target, n_samples)
    others = read_others(source, request, n_samples, {})
    return Table(X, labels, target_name=name, first_index=first, notes=notes, **others)


def _report_line(source: Source, number: int, line: bytes) -> NoReturn:
    """Raise the error of a line that breaks the format, with line and column."""
    text = line.split(b"#", 1)[0]

    def fail(start: int, message: str) -> NoReturn:
        raise FileError(f"{source}: line {number}, column {start + 1}: {message}")

    def number_at(start: int, token: str, what: str, rule: str) -> None:
        if not _NUMBER.fullmatch(token):
            fail(start, f"the {what} must be {rule}; got {quote(token)}.")
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
