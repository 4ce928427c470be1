"""Reads what 10x Genomics writes as text: a matrix in the Matrix Market format, and names."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _kernels
from ..files import FileError
from ..files._lines import PART, cut, parts_of
from ..files._source import Source
from ..files._spill import on_disk
from ._entries import TRIPLE, OfCompressedColumns, OfTriples

_BANNER = re.compile(
    rb"%%MatrixMarket +matrix +coordinate +(real|integer) +general *\r?", re.IGNORECASE
)
_SIZES = re.compile(rb" *([0-9]{1,10}) +([0-9]{1,10}) +([0-9]{1,18}) *\r?")


class _Odd(Exception):  # noqa: N818
    """Something that the fast reader does not know."""


def open_market(path: Path, spill: Path, *, of_cells: bool = False) -> Any:
    """Return a matrix in the Matrix Market format, its columns to be had a few at a time.

    Its entries lie in a file in `spill`. Symmetric matrices, patterns, and text with anything odd
    are loaded whole.

    of_cells : whether columns of the file are samples.
    """
    try:
        triples, shape = _read(Source(path), spill)
    except _Odd:
        matrix = _loaded(path)
        return OfCompressedColumns(sp.csc_array(matrix.T if of_cells else matrix))
    if of_cells:
        names = {"row": "column", "column": "row", "value": "value"}
        kind = np.dtype([(names[name], TRIPLE[name]) for name in TRIPLE.names or ()])
        triples, shape = triples.view(kind), (shape[1], shape[0])
    return OfTriples(triples, shape)


def _loaded(path: Path) -> Any:
    from scipy.io import mmread

    try:
        matrix = mmread(path)
    except (ValueError, OSError, TypeError) as error:
        raise FileError(f"{path}: not readable as Matrix Market ({error}).") from None
    if matrix.dtype.kind == "c":
        raise FileError(f"{path}: X must hold real numbers; these are complex.")
    return matrix


def _read(source: Source, spill: Path) -> tuple[NDArray[Any], tuple[int, int]]:
    """Return the entries, numbered from 0, mapped from a file, and the shape."""
    with source.open() as stream:
        parts = parts_of(source, stream, PART)
        head, rest = _header(parts)
        n_rows, n_columns, n_entries = head

        def triples() -> Iterator[NDArray[Any]]:
            for text in rest:
                yield _triples(text, (n_rows, n_columns))

        found = on_disk(triples(), spill).view(TRIPLE)
    if found.size != n_entries:
        raise _Odd
    return found, (n_rows, n_columns)


def _header(parts: Iterator[Any]) -> tuple[tuple[int, int, int], Iterator[Any]]:
    """Return rows, columns and entries, and the text after them."""
    text = next(parts, np.empty(0, np.uint8))
    begin, is_banner = 0, True
    while True:
        found = np.flatnonzero(text[begin : begin + (1 << 16)] == ord("\n"))
        if not found.size:
            raise _Odd
        line = text[begin : begin + found[0]].tobytes()
        begin += int(found[0]) + 1
        if is_banner and not _BANNER.fullmatch(line):
            raise _Odd
        sizes = _SIZES.fullmatch(line)
        if sizes is not None:
            n_rows, n_columns, n_entries = (int(number) for number in sizes.groups())
            if max(n_rows, n_columns) >= 2**31:
                raise _Odd
            return (n_rows, n_columns, n_entries), _after(text[begin:], parts)
        if not (is_banner or line.startswith(b"%") or not line.strip()):
            raise _Odd
        is_banner = False


def _after(text: Any, parts: Iterator[Any]) -> Iterator[Any]:
    if text.size:
        yield text
    yield from parts


def _triples(text: Any, shape: tuple[int, int]) -> NDArray[Any]:
    """Return the entries of some lines."""
    text = np.where(text == ord(" "), np.uint8(ord("\t")), text)  # what the kernel cuts at
    cuts, counts, n_threads = cut(text, b"\n")
    lines = counts[:, 0]
    numbers, rows = np.empty((3, lines.sum())), np.empty(len(counts), np.int64)
    spans = np.empty((lines.sum(), 0, 2), np.int64)
    line, _ = _kernels.delimited_rows(
        text, cuts, counts, ord("\t"), np.arange(3), numbers, spans, rows, n_threads
    )
    if line >= 0 or not np.array_equal(rows, lines):  # a blank line
        raise _Odd
    places = numbers[:2] - 1
    within = (places >= 0) & (places < np.array(shape)[:, None]) & (places == np.rint(places))
    if not within.all():
        raise _Odd
    found = np.empty(lines.sum(), TRIPLE)
    found["row"], found["column"], found["value"] = *places, numbers[2]
    return found


def read_column(folder: Path, stem: str) -> list[str]:
    """Return the first column of a file that may be compressed; nothing where there is none."""
    for path, opened in ((folder / stem, open), (folder / f"{stem}.gz", gzip.open)):
        if path.exists():
            with opened(path, "rt", encoding="utf-8") as stream:
                return [line.rstrip("\r\n").split("\t")[0] for line in stream if line.strip()]
    return []
