"""Text in parts of whole lines, as kernels take it; a part is read while another is parsed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from .._threads import current_threads
from ._errors import FileError
from ._source import Source, Stream

Text: TypeAlias = NDArray[np.uint8]

PART = 1 << 22  # bytes: enough for threads to pay, few enough to stay in the caches
_PIECE = 1 << 16  # bytes that are worth a thread
_MARK = b"\xef\xbb\xbf"  # of the order of bytes


def parts_of(source: Source, stream: Stream, size: int = PART) -> Iterator[Text]:
    """Yield the text of an opened source in parts that end with a line end.

    A byte order mark is left out. A part has `size` bytes or a little less, more only where a line
    has; it is overwritten after the next one was taken. A file that changes its length meanwhile is
    a FileError.
    """
    buffers = [bytearray(max(size, 2)) for _ in range(2)]
    with ThreadPoolExecutor(1) as reader:
        buffers[0], n_bytes, is_last = _fill(stream, buffers[0], b"")
        start = len(_MARK) if buffers[0].startswith(_MARK) else 0
        while n_bytes > start:
            text = buffers[0]
            end = text.rfind(b"\n", 0, n_bytes) + 1
            if not is_last:
                following = reader.submit(_fill, stream, buffers[1], text[end:n_bytes])
            elif source.compression is None and stream.tell() != source.size:
                raise FileError(
                    f"{source}: changed while it was read: it had {source.size} bytes, then "
                    f"{stream.tell()}."
                )
            yield np.frombuffer(text, np.uint8, end - start, start)
            if is_last:
                return
            buffers[1], n_bytes, is_last = following.result()
            buffers.reverse()
            start = 0


def _fill(
    stream: Stream, buffer: bytearray, tail: bytes | bytearray
) -> tuple[bytearray, int, bool]:
    """Return a buffer with the tail of a part and what follows it, its bytes, whether all is read.

    It is the buffer, or a larger one until a line ends in it; the last part gets a line end.
    """
    n_bytes = 0
    while True:
        if len(tail) >= len(buffer) - 1:
            buffer = bytearray(2 * len(tail) + 2)
        buffer[: len(tail)] = tail
        n_bytes = len(tail)
        with memoryview(buffer) as view:
            while n_bytes < len(buffer) - 1:
                count = stream.readinto(view[n_bytes:-1])
                if not count:
                    if n_bytes and buffer[n_bytes - 1] != ord("\n"):
                        view[n_bytes] = ord("\n")
                        n_bytes += 1
                    return buffer, n_bytes, True
                n_bytes += count
            if buffer.rfind(b"\n", len(tail), n_bytes) >= 0:
                return buffer, n_bytes, False
            tail = bytes(view[:n_bytes])


def cut(text: Text, mark: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return what `_kernels.cut_text` says of text, and the number of threads for its pieces."""
    n_threads = current_threads()
    n_pieces = max(1, min(text.size // _PIECE, 4 * n_threads))
    cuts = np.empty(n_pieces + 1, np.int64)
    counts = np.empty((n_pieces, 2), np.int64)
    _kernels.cut_text(text, ord(mark), cuts, counts)
    return cuts, counts, n_threads
