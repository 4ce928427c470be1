"""Arguments that are paths: which are data, which files of zeronorm, and which may be written."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from ..io.input import is_genotypes, is_golub


def is_data(path: str) -> bool:
    """Return whether a path is data: what has no checksum of a model at its end."""
    from ..data.store import is_store
    from ..io.read import parts_of
    from ..persistence import is_archive

    if path == "-" or is_genotypes(path) or is_store(path) or is_golub(path):
        return True
    if not Path(path).is_file():
        return parts_of(path) is not None
    return not path.endswith(".model.npz") and not is_archive(path)


def refuse_swapped(command: str, archive: str, data: str) -> None:
    """Refuse the arguments of a command, a file of zeronorm and data, in each other's place."""
    from ..persistence import is_archive

    def is_one(path: str) -> bool:
        return Path(path).is_file() and is_archive(path)

    if is_one(data) and not is_one(archive):
        first, second = (data, archive) if command != "verify" else (archive, data)
        raise ValueError(
            f"{archive} is no file of zeronorm, and {data} is one: say zeronorm {command} "
            f"{shlex.quote(first)} {shlex.quote(second)}."
        )


def check_folder(path: Path, option: str = "--output") -> None:
    """Refuse an output that cannot become a file."""
    if path.is_dir():
        raise ValueError(f"{option} must be a file; {path} is a directory.")
    if not path.parent.is_dir():
        raise ValueError(f"{option}: no such directory {str(path.parent)!r}; create it.")


def refuse_overwriting(
    outputs: Iterable[Path],
    data: str,
    target: str | None,
    other: Path | str | None = None,
    option: str = "--output",
) -> None:
    """Refuse outputs that are an input as well: the data, the labels or another file."""
    sources = [source for source in (data, target, other) if source is not None]
    for path in outputs:
        for source in sources:
            if path.exists() and Path(source).exists() and path.samefile(source):
                raise ValueError(f"{option} {path} is an input as well; name another file.")
