"""Reads what 10x Genomics writes as text: a matrix in the Matrix Market format, and names."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from ..files import FileError


def read_market(path: Path) -> Any:
    """Return a matrix in the Matrix Market format."""
    from scipy.io import mmread

    try:
        return sp.csc_array(mmread(path))
    except (ValueError, OSError, TypeError) as error:
        raise FileError(f"{path}: not readable as Matrix Market ({error}).") from None


def read_column(folder: Path, stem: str) -> list[str]:
    """Return the first column of a file that may be compressed; nothing where there is none."""
    for path, opened in ((folder / stem, open), (folder / f"{stem}.gz", gzip.open)):
        if path.exists():
            with opened(path, "rt", encoding="utf-8") as stream:
                return [line.rstrip("\r\n").split("\t")[0] for line in stream if line.strip()]
    return []
