"""Reads stores as tables: the matrix where it lies, the target and others from obs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..designs._store import INDEX, Store, columns_of, open_store
from ..designs._zarr import StoreError, open_array, read_node, read_texts
from ._errors import FileError, did_you_mean, quote
from ._hdf5 import table_from
from ._table import Request, Table


class _Stored:
    """A store, as `table_from` asks for it."""

    layer: str | None = None
    layers: Sequence[str] = ()
    descriptions: list[str] | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self._path, self._design = path, open_store(path)
        self.columns = columns_of(path / "obs")
        shape = self._design.shape
        self.features = self._design.feature_names or [str(j) for j in range(shape[1])]
        self.n_samples = shape[0]
        self.samples = [str(i) for i in range(shape[0])]
        if self._design.has_samples:
            self.samples = read_texts(path / "obs" / INDEX)

    def column(self, name: str) -> NDArray[Any]:
        """Return numbers or text, one for each sample."""
        if name not in self.columns:
            raise FileError(
                f"{self._path}: obs has no column {quote(name)}.{did_you_mean(name, self.columns)}"
            )
        path = self._path / "obs" / name
        if read_node(path).get("data_type") == "string":
            values: NDArray[Any] = np.array(read_texts(path))
        else:
            values = open_array(path).whole()
        if values.shape != (self._design.shape[0],):
            raise StoreError(
                f"{path}: must have one value for each of {self._design.shape[0]} samples; its "
                f"shape is {values.shape}. Convert the data again."
            )
        return values

    def design(self) -> Store:
        """Return the matrix."""
        return self._design


def read_stored(path: Path, request: Request) -> Table:
    """Read a store."""
    try:
        stored = _Stored(path)
        only = stored.columns[0] if len(stored.columns) == 1 else None
        if request.target is None and request.need_labels and request.like is None and only:
            request = replace(request, target=only)
        table = table_from(path, stored, request)
        design = stored.design()
        return replace(
            table,
            feature_names=table.feature_names if design.feature_names else None,
            sample_names=table.sample_names if design.has_samples else None,
            first_index=design.first_index,
        )
    except StoreError as error:
        raise FileError(str(error)) from None
