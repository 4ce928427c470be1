"""Reads JSON lines: an object on each line, whose keys are columns."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from ._cells import Row, tables_of_cells
from ._errors import FileError, did_you_mean, quote
from ._source import Source, Stream, not_utf8
from ._table import Request, Table

_MARK = b"\xef\xbb\xbf"  # of the order of bytes


def read_json_lines(
    source: Source, stream: Stream, request: Request, size: int | None = None
) -> Iterator[Table]:
    """Yield the rows as tables of about `size` cells each; None: as one table."""
    lines = _objects(source, stream)
    first = next(lines, None)
    if first is None:
        raise FileError(f"{source}: no samples in it (only blank lines).")
    names = list(first[1])
    if not names:
        raise FileError(f"{source}: line {first[0]}: the object has no keys, which name columns.")

    def rows() -> Iterator[Row]:
        known, like = set(names), request.like
        by_name = like is not None and like.names is not None  # others are not read then
        for number, found in itertools.chain([first], lines):
            if not by_name and len(found.keys() & known) < len(found):
                new = next(key for key in found if key not in known)
                raise FileError(
                    f"{source}: line {number}: the key {quote(new)} is not on the first line, whose"
                    f" keys are the columns.{did_you_mean(new, names)} Write it there, with null "
                    "where it has no value."
                )
            yield number, list(map(found.get, names))

    yield from tables_of_cells(source, names, rows(), request, size)


def _objects(source: Source, stream: Stream) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line that is not blank, and its object."""
    decoder = json.JSONDecoder(object_pairs_hook=_distinct)
    for number, line in enumerate(stream, 1):
        text = line.removeprefix(_MARK) if number == 1 else line
        if not text.strip():
            continue
        try:
            found = decoder.decode(text.decode("utf-8"))
        except UnicodeDecodeError:
            raise not_utf8(source) from None
        except (ValueError, RecursionError) as error:
            hint = "" if text.lstrip().startswith(b"{") else "; every line must be one {object}"
            raise FileError(f"{source}: line {number}: not JSON ({error}){hint}.") from None
        if not isinstance(found, dict):
            raise FileError(
                f'{source}: line {number}: must be an object, as {{"age": 61}}; got '
                f"{quote(str(found))}. Write one object on each line."
            )
        yield number, found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {quote(twice)} occurs twice")
    return found
