"""What lies on the disk for a while instead of in memory: numbers, and standard input."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError


def on_disk(parts: Iterable[NDArray[Any]], folder: Path) -> NDArray[np.uint8]:
    """Return the bytes of arrays one after the other, mapped from a file in a folder.

    The file has no name, and ends with the map. Bytes are written and mapped then: to fill a map of
    a file that the disk has no room for would end the process.

    Raises
    ------
    FileError
        If there is no room.
    """
    size = 0
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for part in parts:
            try:
                part.tofile(file)
            except OSError as error:
                raise FileError(
                    f"{folder}: numbers cannot be kept there on the way beyond {size / 1e6:,.0f} "
                    f"MB ({error}). Make room there, or put the store on another disk."
                ) from None
            size += part.nbytes
        return np.memmap(file, np.uint8, "r", 0, (size,)) if size else np.empty(0, np.uint8)


@contextmanager
def standard_input() -> Iterator[Path]:
    """Yield a file with all bytes of standard input; it is gone afterwards."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise FileError(
            "-: standard input has no data; give it some, as in: zeronorm ... - < rows.csv."
        )
    with tempfile.NamedTemporaryFile(prefix="zeronorm-") as file:
        try:
            shutil.copyfileobj(stream, file, 1 << 20)
            file.flush()
        except OSError as error:
            raise FileError(
                f"-: standard input cannot be kept in {tempfile.gettempdir()} ({error}). Make room "
                "there, or name another directory in the environment variable TMPDIR."
            ) from None
        yield Path(file.name)
