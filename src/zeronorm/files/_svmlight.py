"""Reads svmlight files: a label and index:value pairs on each line.

scikit-learn parses; a line that it would misread in silence, or that it refuses, is gone through
again here for a message with line and column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._errors import FileError, quote
from ._labels import as_labels, read_labels, read_others
from ._source import Source, Stream, is_label_file
from ._table import Request, Table, first_nonfinite, strict_float

SUSPECT = re.compile(rb"[nN_]|\s\+")
QUERY = re.compile(rb"\s*\S+\s+qid:[0-9]+\s(?!.*qid)")


class _Lines:
    """The lines of an svmlight file for scikit-learn's parser, which needs `read` to be there.

    It counts, so that an error has a line number, drops a byte order mark, and looks for what
    the parser would accept in silence: nan and inf (an n is in both), 1_000, an index +3, and a
    query qid:x, which it skips.
    """

    def __init__(self, source: Source, stream: Stream) -> None:
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
            if SUSPECT.search(line) or (b"qid" in line and not QUERY.match(line)):
                _check_line(self._source, number, line)
            yield line


def read_svmlight(
    source: Source,
    stream: Stream,
    request: Request,
) -> Table:
    """Read an svmlight file."""
    from sklearn.datasets import load_svmlight_file

    target, like = request.target, request.like

    lines = _Lines(source, stream)
    try:
        matrix, y = load_svmlight_file(lines, zero_based=True)
    except FileError:
        raise
    except (ValueError, OverflowError, TypeError, IndexError) as error:
        _check_line(source, lines.number, lines.line)
        raise FileError(f"{source}: line {lines.number}: {error}.") from None
    X = sp.csr_array(matrix)
    n_samples = y.size
    if not n_samples:
        raise FileError(f"{source}: no samples in it (only blank lines or comments).")
    if not X.nnz:
        raise FileError(f"{source}: no features in it (every line is a label alone).")
    position = first_nonfinite(X.data)
    if position is not None:  # overflow: nan and inf were refused by the line
        _report_row(source, int(np.searchsorted(X.indptr, position, "right")) - 1)
    row = first_nonfinite(y)
    if row is not None:
        _report_row(source, row)

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


def _report_row(source: Source, row: int) -> NoReturn:
    """Raise the error of one row, found again by counting lines."""
    with source.open() as stream:
        count = 0
        for number, line in enumerate(stream, 1):
            if line.split(b"#", 1)[0].strip():
                if count == row:
                    _check_line(source, number, line.removeprefix(b"\xef\xbb\xbf"))
                count += 1
    raise FileError(f"{source}: a value of sample {row + 1} is not finite.")


def _check_line(source: Source, number: int, line: bytes) -> None:
    """Raise a FileError with line and column if the line breaks the format."""
    text = line.split(b"#", 1)[0]

    def fail(start: int, message: str) -> NoReturn:
        raise FileError(f"{source}: line {number}, column {start + 1}: {message}")

    previous = -1
    for order, match in enumerate(re.finditer(rb"\S+", text)):
        start = match.start()
        token = match[0].decode("utf-8", "backslashreplace")
        shown = quote(token)
        if order == 0:
            value = strict_float(token)
            if value is None:
                fail(start, f"the label must be one number; got {shown}.")
            if not math.isfinite(value):
                fail(start, f"the label must be finite; got {shown}.")
            continue
        if token.startswith("qid:"):
            if order != 1 or not re.fullmatch(r"[0-9]+", token[4:]):
                fail(start, f"qid: must have a whole number and follow the label; got {shown}.")
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
        value = strict_float(rest)
        if value is None:
            fail(start, f"the value must be a number; got {quote(rest)}.")
        if not math.isfinite(value):
            fail(start, f"the value must be finite; got {quote(rest)}.")
