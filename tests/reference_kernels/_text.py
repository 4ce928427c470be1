"""Text of whole lines: where to cut it for threads, rows of svmlight files and of delimited text.

`text` is (size,) uint8 and ends with a line end.
"""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from zeronorm.core.types import FloatArray, IndexArray

Text = NDArray[np.uint8]

# What Python's float takes, but for blanks, underscores, other digits, infinity and NaN.
DECIMAL = rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_LABEL = re.compile(DECIMAL)
_QUERY = re.compile(rb"qid:[0-9]+")
_ENTRY = re.compile(rb"([0-9]+):(" + DECIMAL + rb")")


def cut_text(text: Text, mark: int, cuts: IndexArray, counts: IndexArray) -> None:
    """Cut text into pieces of whole lines, about equally long, some of them empty."""
    size, k = text.size, len(counts)
    ends = np.flatnonzero(text == ord("\n")) + 1
    cuts[:] = 0
    for i in range(1, k + 1):
        wanted = size // k * i
        later = int(ends[np.searchsorted(ends, wanted, "right")]) if wanted < size else size
        cuts[i] = size if i == k else cuts[i - 1] if wanted <= cuts[i - 1] else later
    for i in range(k):
        piece = text[cuts[i] : cuts[i + 1]]
        counts[i] = np.count_nonzero(piece == ord("\n")), np.count_nonzero(piece == mark)


def svmlight_rows(
    text: Text,
    cuts: IndexArray,
    counts: IndexArray,
    labels: FloatArray,
    lengths: IndexArray,
    indices: NDArray[np.int32],
    values: FloatArray,
    n_threads: int,
) -> tuple[int, int, int, int, int]:
    """Read lines "label [qid:number] [index:value ...] [# comment]"."""
    rows = entries = start = 0
    lowest, highest = 2**31 - 1, -1
    for line in text.tobytes().split(b"\n"):
        words = line.split(b"#", 1)[0].split()
        if words:
            row = _row(words)
            if row is None:
                return 0, 0, 2**31 - 1, -1, start
            label, places, numbers = row
            labels[rows], lengths[rows] = label, len(places)
            rows += 1
            indices[entries : entries + len(places)] = places
            values[entries : entries + len(places)] = numbers
            entries += len(places)
            if places:
                lowest, highest = min(lowest, places[0]), max(highest, places[-1])
        start += len(line) + 1
    return rows, entries, lowest, highest, -1


def _row(words: list[bytes]) -> tuple[float, list[int], list[float]] | None:
    """Return label, indices and values of a line; None if it breaks the format."""
    if not _LABEL.fullmatch(words[0]):
        return None
    pairs = words[2:] if len(words) > 1 and _QUERY.fullmatch(words[1]) else words[1:]
    found = [_ENTRY.fullmatch(pair) for pair in pairs]
    matches = [match for match in found if match is not None]
    indices = [int(match[1]) for match in matches]
    label, values = float(words[0]), [float(match[2]) for match in matches]
    increase = all(a < b for a, b in zip([-1, *indices], [*indices, 2**31], strict=True))
    if len(matches) < len(found) or not increase or not all(map(math.isfinite, [label, *values])):
        return None
    return label, indices, values


def delimited_rows(
    text: Text,
    cuts: IndexArray,
    counts: IndexArray,
    delimiter: int,
    places: IndexArray,
    numbers: FloatArray,
    spans: IndexArray,
    rows: IndexArray,
    n_threads: int,
) -> tuple[int, int]:
    """Read lines of fields, each plain or whole within quotes; lines without a byte are no rows."""
    mark = re.escape(bytes([delimiter]))
    number = re.compile(rb' *(DECIMAL) *|" *(DECIMAL) *"'.replace(b"DECIMAL", DECIMAL))
    field = re.compile(rb'"([^"\r\n\0]*)"|((?!")[^MARK\r\n\0]*)'.replace(b"MARK", mark))
    content = text.tobytes()
    n_lines = 0
    for piece in range(len(counts)):
        start, rows[piece] = int(cuts[piece]), 0
        for line in content[start : cuts[piece + 1]].split(b"\n")[:-1]:
            bare = line.removesuffix(b"\r")
            position = 0
            for j, place in enumerate(places.tolist() if bare else ()):
                match = (number if place >= 0 else field).match(bare, position)
                if match is None:
                    return start, j
                k = match.lastindex or 0
                row = n_lines + rows[piece]
                if place >= 0:
                    numbers[place, row] = float(match[k])
                    if not math.isfinite(numbers[place, row]):
                        return start, j
                elif place < -1:
                    spans[row, -2 - place] = start + match.start(k), start + match.end(k)
                position = match.end()
                end = len(bare) if j + 1 == places.size else position + 1
                if bare[position:end] != (b"" if j + 1 == places.size else bytes([delimiter])):
                    return start, j
                position = end
            rows[piece] += bool(bare)
            start += len(line) + 1
        n_lines += int(counts[piece, 0])
    return -1, -1
