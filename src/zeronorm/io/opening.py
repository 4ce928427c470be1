"""Any storage of X as a design: files of genotypes and of single cells too, and on a cluster."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import data
from ..core.errors import ParameterError
from ..core.frames import is_dask
from ..core.types import Design, Wrapper
from ..data.dask import OnCluster, client_of, open_dask, share_out
from ..data.operations import dense
from .genotypes import read_plink
from .hdf5 import open_annotated


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
        return read_plink(X, n_threads=data.resolve_threads(n_threads)).X
    if suffix in (".h5ad", ".h5"):
        return open_annotated(str(X)).design(data.resolve_threads(n_threads))
    return data.as_design(X, n_threads)


def dense_columns(X: Any, indices: np.ndarray, threads: int | None = None) -> Iterator[np.ndarray]:
    """Yield columns of the data as float64, one at a time."""
    gathered = as_design(X, n_threads=threads).gather(indices)
    for j in range(indices.size):
        yield dense(gathered[:, [j]]).ravel()


def from_dask(X: Any, client: Any = None) -> Design:
    """Return X as data that the workers of a Dask cluster scan, for any estimator or function.

    Workers answer the scans of a fit; the fit itself runs where it is called. To the workers go
    vectors over the samples, 8 bytes for each sample and vector; back come the scores, 8 bytes for
    each feature and vector, and the columns that the fit asks for. The bits of the result depend on
    neither the chunks of X nor the workers. A worker that dies or leaves costs the time to read its
    part of X again; one that joins gets a part of the work from the next scan on.

    Parameters
    ----------
    X : Dask array or data frame of numbers (estimators take these as they are, too, with the
        current client); or a path, or what `read_plink` or another reader opened, of files on
        storage that all workers see at the same path: .npy, .bed, a store.
    client : `distributed.Client`; None: the current one. Without any, Dask arrays and data frames
        are read by threads of this process.

    Returns
    -------
    design, (n_samples, n_features).

    Raises
    ------
    ValueError
        Where X lies in the memory of this process, or is a file and there is no client.
    TypeError
        Where X is no matrix of real numbers.

    Examples
    --------
    >>> import dask.array
    >>> from zeronorm import BudgetRegressor, from_dask
    >>> x = dask.array.random.default_rng(0).standard_normal((200, 1000), chunks=(200, 300))
    >>> y = (x[:, 7] - x[:, 70]).compute()
    >>> BudgetRegressor(2).fit(from_dask(x), y).support_
    array([ 7, 70])
    """
    if is_dask(X):
        return open_dask(X, data.resolve_threads(None), client)
    if isinstance(X, OnCluster):
        return X
    client = client_of(client)
    if client is None:
        raise ParameterError(
            "client",
            "must be a client of distributed where X is a file",
            "None, and there is no current one",
            "Make one: distributed.Client(address).",
        )
    return _shared(as_design(X), client)


def _shared(design: Design, client: Any) -> Design:
    """Return a design on the workers; wrappers, as a choice of rows, stay in this process."""
    if not isinstance(design, Wrapper):
        return share_out(design, client)
    found = copy.copy(design)
    found.base = _shared(design.base, client)
    return found
