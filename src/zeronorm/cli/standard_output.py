"""Standard output as a binary file, on which names and labels cannot act on a terminal.

Files keep every character. On a terminal, or in a pipe to one, control characters would move the
cursor, set the title or exchange what was printed before: there they are escaped.
"""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from typing import Any, BinaryIO, cast

from .messages import say_notes

# C0 but tabs and line ends, DEL and C1, and what turns the direction of text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def standard_output() -> BinaryIO:
    """Return standard output for UTF-8 in whole pieces, escaped unless it is a regular file."""
    sys.stdout.flush()
    try:
        is_file = stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):
        is_file = False
    if is_file:
        return sys.stdout.buffer
    return cast("BinaryIO", _Escaping(sys.stdout.buffer))


class _Escaping(io.RawIOBase):
    """A stream whose text is escaped, with a note where that changes anything."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._told = stream, False

    def write(self, data: Any) -> int:
        text = bytes(data).decode("utf-8", "backslashreplace")
        shown = _CONTROL.sub(lambda one: one[0].encode("unicode_escape").decode(), text)
        if shown != text and not self._told:
            self._told = True
            say_notes(
                ["control characters of names are escaped on standard output; a file keeps them"]
            )
        self._stream.write(shown.encode())
        return len(data)

    def flush(self) -> None:
        self._stream.flush()
