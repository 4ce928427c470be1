"""Text in parts of whole lines, as kernels take it; a part is read while another is parsed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..core.files import FileError
from ..core.parallel import current_threads
from .source import Source, Stream

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
    text, following = np.empty(max(size, 2), np.uint8), np.empty(max(size, 2), np.uint8)
    with ThreadPoolExecutor(1) as reader:
        text, n_bytes, is_last = _fill(stream, text, text[:0])
        start = len(_MARK) if text[: len(_MARK)].tobytes() == _MARK else 0
        while n_bytes > start:
            end = _last_line_end(text, 0, n_bytes)
            if not is_last:
                filling = reader.submit(_fill, stream, following, text[end:n_bytes])
            elif source.compression is source.encoding is None and stream.tell() != source.size:
                raise FileError(
                    f"{source}: changed while it was read: it had {source.size} bytes, then "
                    f"{stream.tell()}."
                )
            yield text[start:end]
            if is_last:
                return
            following, (text, n_bytes, is_last) = text, filling.result()
            start = 0


def _fill(stream: Stream, buffer: Text, tail: Text) -> tuple[Text, int, bool]:
    """Return a buffer with the tail of a part and what follows it, its bytes, whether all is read.

    It is the buffer, or a larger one until a line ends in it; the last part gets a line end.
    """
    while True:
        n_bytes = tail.size
        if n_bytes >= buffer.size - 1:
            buffer = np.empty(2 * n_bytes + 2, np.uint8)
        buffer[:n_bytes] = tail
        while n_bytes < buffer.size - 1:
            count = stream.readinto(buffer[n_bytes:-1].data)
            if not count:
                if n_bytes and buffer[n_bytes - 1] != ord("\n"):
                    buffer[n_bytes] = ord("\n")
                    n_bytes += 1
                return buffer, n_bytes, True
            n_bytes += count
        if _last_line_end(buffer, tail.size, n_bytes) > tail.size:
            return buffer, n_bytes, False
        tail = buffer[:n_bytes]


def _last_line_end(text: Text, start: int, stop: int) -> int:
    """Return where the last line that ends in text[start:stop] does; `start` if none does."""
    while stop > start:
        first = max(start, stop - (1 << 16))
        ends = np.flatnonzero(text[first:stop] == ord("\n"))
        if ends.size:
            return first + int(ends[-1]) + 1
        stop = first
    return start


def cut(text: Text, mark: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return what `_kernels.cut_text` says of text, and the number of threads for its pieces."""
    n_threads = current_threads()
    n_pieces = max(1, min(text.size // _PIECE, 4 * n_threads))
    cuts = np.empty(n_pieces + 1, np.int64)
    counts = np.empty((n_pieces, 2), np.int64)
    _kernels.cut_text(text, ord(mark), cuts, counts)
    return cuts, counts, n_threads
