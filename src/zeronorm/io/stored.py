"""Reads stores as tables: the matrix where it lies, the target and others from obs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, did_you_mean, quote
from ..core.types import Design
from ..data.filled import Filled
from ..data.store import INDEX, Store, columns_of, open_store
from ..data.zarr import StoreError, open_array, read_node, read_texts
from .coded import with_fills
from .coded_notes import notes_of
from .hdf5 import table_from
from .table import Layout, Request, Table


class _Stored:
    """A store, as `table_from` asks for it."""

    layer: str | None = None
    layers: Sequence[str] = ()
    descriptions: list[str] | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, path: Path, like: Layout | None) -> None:
        self._path, self._design, self._like = path, open_store(path), like
        self._gaps = self._design.gaps
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

    def design(self) -> Design:
        """Return the matrix, with means in its gaps or, where there is a model, what it has."""
        gaps = self._gaps
        if gaps is None:
            return self._design
        mean = None
        if self._like is not None and self._like.names is not None:
            known = {name: coding.fill for name, coding in self._like.codings.items()}
            mean = np.array([known.get(name) or 0.0 for name in self.features])
        return Filled(self._design, gaps, mean=mean)

    @property
    def named(self) -> Store:
        """The matrix, which knows what has names."""
        return self._design

    def coded(self, table: Table) -> Table:
        """Return a table with what is known of the columns that its features came from."""
        records, path = self._design.codings, self._path
        if not records:
            return table
        from .coded_columns import check_codings, codings_of

        def require(condition: bool, rule: str) -> None:
            if not condition:
                raise StoreError(f"{path}: {rule}; convert the data again.")

        require(isinstance(records, list), "codings must be a list")
        check_codings(records, require)
        codings = codings_of(records, self.features, require)
        if self._gaps is None:
            return replace(table, codings=codings)
        if isinstance(table.X, Filled):
            codings = with_fills(self.features, table.X.mean, codings)
        counts = dict(zip(self.features, np.diff(self._gaps[0]).tolist(), strict=True))
        filled = {
            one.column: counts[name]
            for name, one in codings.items()
            if one.number == name and counts[name]
        }
        by_model = self._like is not None and self._like.names is not None
        notes = notes_of(filled, {}, by_model, codings)
        return replace(table, codings=codings, filled=filled, notes=(*table.notes, *notes))


def read_stored(path: Path, request: Request) -> Table:
    """Read a store."""
    try:
        stored = _Stored(path, request.like)
        only = stored.columns[0] if len(stored.columns) == 1 else None
        if request.target is None and request.need_labels and request.like is None and only:
            request = replace(request, target=only)
        table = table_from(path, stored, request)
        design = stored.named
        return replace(
            stored.coded(table),
            feature_names=table.feature_names if design.feature_names else None,
            sample_names=table.sample_names if design.has_samples else None,
            first_index=design.first_index,
        )
    except StoreError as error:
        raise FileError(str(error)) from None
