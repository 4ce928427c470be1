"""zstd data, by Python itself (from 3.14 on) or by the package zstandard.

Both have readers of their own; that of zstandard takes half a file for a whole one.
"""

from __future__ import annotations

import importlib
import io
from typing import IO, Any

# Bytes taken at a time: they may expand to 32,000 times as many.
_STEP = 1 << 12


class Frames:
    """The decompressed bytes of a file of zstd frames.

    Damage is an OSError, a file that ends within a frame an EOFError, no library an ImportError.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._new, self._error = _library()
        self._frame: Any = None  # the one that is being read
        self._behind = b""  # what was taken of the file behind the last frame
        self._ready = io.BytesIO()

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes; none at the end."""
        while not (data := self._ready.read(size)):
            stored = self._behind or self._file.read(_STEP)
            self._behind = b""
            if not stored:
                if self._frame is not None:
                    raise EOFError("the file ends within a frame")
                return b""
            try:
                self._frame = self._frame or self._new()
                self._ready = io.BytesIO(self._frame.decompress(stored))
            except self._error as error:
                raise OSError(str(error)) from None
            if self._frame.eof:
                self._behind, self._frame = self._frame.unused_data, None
        return data


def _library() -> tuple[Any, type[Exception]]:
    """Return what makes a decompressor of one frame, and what it raises."""
    try:
        library = importlib.import_module("compression.zstd")
    except ImportError:
        library = importlib.import_module("zstandard")
        return library.ZstdDecompressor().decompressobj, library.ZstdError
    return library.ZstdDecompressor, library.ZstdError
