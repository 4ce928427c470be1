"""Any storage of X as a design, files of genotypes and of single cells among it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import data
from ..core.types import Design

if TYPE_CHECKING:
    import numpy as np


def as_design(X: Any, n_threads: int | None = None) -> Design:
    """Return X as a design, as `zeronorm.data.as_design` does, with two more kinds of paths.

    Parameters
    ----------
    X : what `zeronorm.data.as_design` takes; or the path of a .bed file of genotypes, as
        `read_plink` opens it by default, or of a single-cell file (.h5ad, .h5 of 10x Genomics), of
        which X is read by blocks.
    n_threads : threads of a scan, from 1 to 1024; None: as many as this process may use.
    """
    suffix = Path(X).suffix if isinstance(X, str | os.PathLike) else ""
    if suffix == ".bed":
        from .genotypes import read_plink

        return read_plink(X, n_threads=data.resolve_threads(n_threads)).X
    if suffix in (".h5ad", ".h5"):
        from .hdf5 import open_annotated

        return open_annotated(str(X)).design(data.resolve_threads(n_threads))
    return data.as_design(X, n_threads)


def dense_columns(X: Any, indices: np.ndarray, threads: int | None = None) -> Iterator[np.ndarray]:
    """Yield columns of the data as float64, one at a time."""
    gathered = as_design(X, n_threads=threads).gather(indices)
    for j in range(indices.size):
        column = gathered[:, [j]]
        dense = column if isinstance(column, np.ndarray) else column.toarray()
        yield np.asarray(dense, np.float64).ravel()
