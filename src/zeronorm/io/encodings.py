"""Text in other encodings than UTF-8, which readers get as UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import IO, Any

from ..core.files import FileError

_PART = 1 << 20


def checked_encoding(name: str | None) -> str | None:
    """Return the name of an encoding as Python has it; None for UTF-8, which is read as it is.

    Raises a ValueError where there is no such encoding of text.
    """
    if name is None:
        return None
    try:
        "".encode(name)  # refuses the codecs that are none of text, as hex
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        raise ValueError(
            "encoding must be the name of an encoding of text, such as latin-1, cp1252 or utf-16; "
            f"got {name!r:.50}."
        ) from None
    return None if known in ("utf-8", "utf-8-sig") else known


class Recoded(io.RawIOBase):
    """The bytes of a text as UTF-8."""

    def __init__(self, name: str, inner: IO[bytes], encoding: str) -> None:
        self._name, self._inner, self._encoding = name, inner, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = memoryview(b"")
        self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        is_last = False
        while not self._ready and not is_last:
            part = self._inner.read(_PART)
            is_last = not part
            try:
                text = self._decoder.decode(part, is_last)
                self._ready = memoryview(text.encode())
            except UnicodeError as error:
                raise FileError(
                    f"{self._name}: not {self._encoding} text, near byte {self._n_bytes:,} "
                    f"({error.args[-1]}); say another --encoding."
                ) from None
            self._n_bytes += len(part)
        view = memoryview(buffer).cast("B")
        n = min(len(view), len(self._ready))
        view[:n], self._ready = self._ready[:n], self._ready[n:]
        return n
