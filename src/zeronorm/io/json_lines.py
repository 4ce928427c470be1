"""Reads JSON lines: an object on each line, whose keys are columns."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from typing import Any

from ..core.files import FileError, did_you_mean, quote
from .delimited import Row, tables_of_cells
from .source import Source, Stream, not_utf8
from .table import Table, TableRequest
from .texts import shown

_GAPS = " A key that a line lacks is a missing value; where it means 0, write 0."
_MARK = b"\xef\xbb\xbf"  # of the order of bytes


def read_json_lines(
    source: Source, stream: Stream, request: TableRequest, size: int | None = None
) -> Iterator[Table]:
    """Yield the rows as tables of about `size` cells each; None: as one table."""
    lines = _objects(source, stream)
    first = next(lines, None)
    if first is None:
        raise FileError(f"{source}: no samples in it (only blank lines).")
    names = list(first[1])
    if not names:
        raise FileError(f"{source}: line {first[0]}: the object has no keys, which name columns.")
    like = request.like
    by_name = like is not None and like.names is not None  # others are not read then
    begin = [first]
    if by_name:
        wanted = _wanted(request) - {*names}
        most = None if size is None else max(1, size // len(names))
        for number, found in itertools.islice(lines if wanted else (), most):
            begin.append((number, found))
            names += [key for key in found if key in wanted]
            wanted -= found.keys()
            if not wanted:
                break

    def rows() -> Iterator[Row]:
        known = set(names)
        for number, found in itertools.chain(begin, lines):
            if not by_name and len(found.keys() & known) < len(found):
                _refuse_new_key(source, number, found, names)
            yield number, list(map(found.get, names))

    yield from tables_of_cells(source, names, rows(), request, size, gaps=_GAPS)


def rows_of_text(source: Source, text: str) -> list[list[str]]:
    """Return the keys of the first line, and what the lines of a text have of them, as text."""
    lines = _objects(source, io.BufferedReader(io.BytesIO(text.encode())))
    first = next(lines, None)
    if first is None:
        return []
    names = list(first[1])
    rows = [names]
    for number, found in itertools.chain([first], lines):
        _refuse_new_key(source, number, found, names)
        rows.append([*map(shown, map(found.get, names))])
    return rows


def _refuse_new_key(source: Source, number: int, found: dict[str, Any], names: list[str]) -> None:
    """Refuse a line with a key that the first line, whose keys are the columns, has not."""
    new = next((key for key in found if key not in names), None)
    if new is not None:
        hint = did_you_mean(new, names, given=found)
        raise FileError(
            f"{source}: line {number}: the key {quote(new)} is not on the first line, whose keys "
            f"are the columns.{hint} Write it there, with null where it has no value, or 0 where "
            "that is meant."
        )


def _wanted(request: TableRequest) -> set[str]:
    """Return the keys that are columns where any line has them: those that are asked for."""
    like = request.like
    named = [name for name in (request.target, request.id) if name is not None]
    asked = [*named, *(request.target or "").split(","), *request.columns.values()]
    return {*asked, *((like.sources or ()) if like is not None else ())}


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
            raise not_utf8(source, of_data=True) from None
        except (ValueError, RecursionError) as error:
            raise FileError(
                f"{source}: line {number}: not JSON ({error}). Write one {{object}} on each line, "
                "with each key once."
            ) from None
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
