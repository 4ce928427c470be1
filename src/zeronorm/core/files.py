"""Files: how the readers refuse them, and how they are written, complete or not at all.

Every refusal is a `FileError` that names the file, the place and the remedy. Text from a file gets
into a message only through `quote`, and errors of other libraries only as one line.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

PathLike: TypeAlias = "str | os.PathLike[str]"
Require: TypeAlias = Callable[[bool, str], None]


class FileError(ValueError):
    """A file cannot be read as a table; the message says where, why and what to do."""

    column: str | None = None  # the first one of the features, where it is text and in the way
    lacks: str | None = None  # the column that was asked for and is none of those that are there
    there: Sequence[str] = ()


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file."""


class MissingFeaturesError(FileError):
    """Columns that a model needs are not there."""


class GapError(FileError):
    """A row has no value in a column that is read as it stands, as the target."""

    def __init__(self, role: str, what: str, remedy: str) -> None:
        super().__init__(f"{what}.{remedy}")
        self.role, self.what = role, what


class TargetError(FileError):
    """The target is not there, or not of these samples: features may be in the rows."""


class WhereError(FileError):
    """Rows cannot be chosen by the columns that --where compares: there are no such columns."""


class SampleNamesError(FileError):
    """A column of features holds text, and it may be the names of the samples."""


@contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Turn an OSError into a FileError."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error}).") from None


@contextmanager
def engine_errors(message: str) -> Iterator[None]:
    """Turn whatever a data frame library raises into a FileError: its own types have no base.

    A panic of polars is no Exception.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError, FileError):
        raise
    except BaseException as error:
        said = error.args[0] if error.args else ""
        said = said.decode(errors="replace") if isinstance(said, bytes) else str(error)
        reason = (said.splitlines() or [type(error).__name__])[0]
        raise FileError(f"{message} ({reason}).") from None


def quote(text: str) -> str:
    """Return text from a file for a message: cut, quoted, control characters escaped."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def did_you_mean(
    word: str, words: Sequence[str], listing: bool = True, given: Collection[str] = ()
) -> str:
    """Return a sentence with the words most like this one, or with all of a few; or nothing.

    given : those that are said already, beside this one: they cannot be what is meant.
    """
    taken = {*given}
    others = (name for name in reversed(words) if len(name) <= 200 and name not in taken)
    lower = {name.lower(): name for name in others}
    found = difflib.get_close_matches(word.lower()[:200], list(itertools.islice(lower, 20000)), 3)
    if found:
        return f" Did you mean {' or '.join(quote(lower[name]) for name in found)}?"
    if listing and words and len(words) <= 12:
        return f" There is {', '.join(quote(name) for name in words)}."
    return ""


def check_fields(
    what: str, values: Mapping[str, Any], fields: Mapping[str, Any], require: Require
) -> None:
    """Check that an object has these fields, each of its type, and no other."""
    unknown = [key for key in values if key not in fields]
    require(not unknown, f"{what} has the unknown entry {quote(unknown[0]) if unknown else ''}")
    for key, kind in fields.items():
        require(key in values, f"{what} has no {key}")
        kinds = kind if isinstance(kind, tuple) else (kind,)
        # `type`, not isinstance: true is no number.
        require(type(values[key]) in kinds, f"{what} has a wrong type of {key}")


# Files that are written.

locks: Any = None
with contextlib.suppress(ImportError):  # Windows has no such locks
    import fcntl

    locks = fcntl


def write_file(path: PathLike, data: bytes) -> Path:
    """Write a file so that it is there complete or not at all; an old one stays until then."""
    with writing(path) as file:
        file.write(data)
    return Path(path)


@contextlib.contextmanager
def writing(path: PathLike) -> Iterator[BinaryIO]:
    """Yield a file to write to that is there complete at the end, or not at all."""
    path = Path(path)
    final = Path(os.path.realpath(path))  # the file behind a link is replaced
    if not final.parent.is_dir():
        raise FileNotFoundError(f"{path}: no such directory {str(final.parent)!r}; create it.")
    if final.is_dir():
        raise IsADirectoryError(f"{path}: a directory; name a file in it.")
    if final.exists() and not final.is_file():
        raise FileError(f"{path}: not a regular file; name a file.")
    remove_leftovers(final.parent)
    temporary = final.with_name(f".zeronorm-{secrets.token_hex(8)}.tmp")
    try:
        with open(_begun(temporary), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, final)
    except BaseException as error:  # Ctrl-C too must leave nothing behind
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.strerror:  # about the file that the user named
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise
    with contextlib.suppress(OSError, AttributeError):  # not on Windows
        folder = os.open(final.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _begun(path: Path) -> int:
    """Return a new file, locked, with the permissions that the user's mask gives to any."""
    while True:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        if locks is None:  # pragma: no cover
            return handle
        with contextlib.suppress(OSError):  # a file system without locks
            locks.flock(handle, locks.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)  # taken for a leftover before it was locked


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes have left of files in a folder.

    A process locks the file that it writes, and the system unlocks it when the process ends. Where
    there are no locks, nothing is removed.
    """
    for old in folder.glob(".zeronorm-*.tmp") if locks is not None else ():
        with contextlib.suppress(OSError):  # locked, gone by now, or somebody else's
            handle = os.open(old, os.O_RDWR | os.O_NOFOLLOW)
            try:
                locks.flock(handle, locks.LOCK_EX | locks.LOCK_NB)
                old.unlink()
            finally:
                os.close(handle)
