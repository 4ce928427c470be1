"""Compares all blocks of a store with their checksums, and says what is wrong where."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ...data.store import GAPS, INDEX, columns_of, open_store
from ...data.zarr import BlockError, StoreError, ZarrArray, open_array, read_node, read_texts

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
    >>> made = zeronorm.convert(np.eye(3), Path(tempfile.mkdtemp()) / "small.zarr")
    >>> zeronorm.io.store.check_store(made.path).damage
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
