"""How the readers refuse: their exceptions, and the words of a message.

Every refusal is a `FileError` that names the file, the place and the remedy. Text from a file gets
into a message only through `quote`, and errors of other libraries only as one line.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


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
