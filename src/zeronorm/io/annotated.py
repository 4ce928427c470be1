"""Single-cell files as matrices with names: .h5ad and Zarr of AnnData, .h5 of 10x Genomics.

Only names and the columns that are asked for are loaded; the matrix is read by blocks where it
lies. The layouts are those of https://anndata.readthedocs.io (on-disk format) and, of files older
than it, the compound tables that AnnData wrote up to 0.6; anndata itself is not needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, did_you_mean, quote
from ..core.types import Design
from ..data.blocks import Blocks
from ..data.foreign import SparseReader
from ..data.opening import open_lazy
from .unique import unique_names

RAW = "raw"


class MissingLayerError(FileError, KeyError):
    """There is no such layer."""

    __str__ = Exception.__str__


class Annotated:
    """A matrix of samples and features, and what a file says of both.

    Parameters
    ----------
    group : the root group, of h5py or zarr.
    path : for messages.
    layer : which matrix: a layer, "raw", of 10x a genome; None: X, or the only one.
    """

    def __init__(self, group: Any, path: str, layer: str | None = None) -> None:
        self._group, self._path, self.layer = group, path, layer
        self._genomes = genomes_of(group)
        if "X" not in group and not self._genomes and "layers" not in group:
            raise FileError(
                f"{path}: no matrix X in it, nor one of 10x Genomics; it holds "
                f"{', '.join(map(quote, list(group)[:12])) or 'nothing'}."
            )
        if self._genomes:
            self._open_10x(_chosen(self._genomes, layer, path))
        else:
            self._open_layer(layer)

    def design(self, n_threads: int = 1) -> Design:
        """Return the matrix as a design whose columns have names."""
        if self._genomes:
            return Blocks(self._matrix, n_threads).named(self.features)
        return open_lazy(self._matrix, n_threads).named(self.features)

    @property
    def layers(self) -> list[str]:
        """The names of the matrices beside X; of 10x those of all genomes."""
        if self._genomes:
            return sorted(self._genomes)
        layers = list(self._group["layers"]) if "layers" in self._group else []
        return [*layers, *([RAW] if "raw" in self._group or "raw.X" in self._group else [])]

    @property
    def columns(self) -> list[str]:
        """The names of what is known of the samples."""
        return [] if self._genomes else _columns_of(self._group["obs"])

    def column(self, name: str) -> NDArray[Any]:
        """Return numbers or text, one for each sample."""
        if name not in self.columns:
            raise FileError(
                f"{self._path}: obs has no column {quote(name)}.{did_you_mean(name, self.columns)}"
            )
        values, missing = _column(self._group, name)
        if values.shape != (len(self.samples),):
            raise FileError(
                f"{self._path}: the column {quote(name)} of obs must have one value for each of "
                f"{len(self.samples)} samples; its shape is {values.shape}."
            )
        row = np.flatnonzero(missing)
        if row.size:
            raise FileError(
                f"{self._path}: the column {quote(name)} of obs is missing in {row.size} samples, "
                f"the first of which is {quote(self.samples[row[0]])}. Leave them out, or fill "
                "them in."
            )
        return values

    def _open_layer(self, layer: str | None) -> None:
        """Find a matrix of AnnData, the names of its features and of the samples."""
        group, of = self._group, "var"
        if layer is None:
            if "X" not in group:
                raise FileError(
                    f"{self._path}: no matrix X in it; name one of the layers: "
                    f"{', '.join(map(quote, self.layers)) or 'there are none'}."
                )
            self._matrix = group["X"]
        elif "layers" in group and layer in group["layers"]:
            self._matrix = group["layers"][layer]
        elif layer == RAW and RAW in self.layers:
            self._matrix = group["raw.X"] if "raw.X" in group else group["raw"]["X"]
            of = "raw.var" if "raw.X" in group else "raw/var"
        else:
            raise MissingLayerError(
                f"{self._path}: no layer {quote(layer)} in it."
                + (did_you_mean(layer, self.layers) if self.layers else " It has X alone.")
            )
        for name in ("obs", of):
            if name not in group:
                raise FileError(f"{self._path}: no table {name} in it; write the file again.")
        self.samples = _index(group["obs"])
        names = _index(group[of])
        self.features, self.notes = unique_names(names)
        self.descriptions: list[str] | None = None
        self._check_sizes(tuple(_shape(self._matrix)))

    def _open_10x(self, group: Any) -> None:
        """Find a matrix of 10x Genomics, stored genes by cells, and its names."""
        newer = "features" in group
        part = group["features"] if newer else group
        ids, symbols = (
            _text(part["id" if newer else "genes"]),
            _text(part["name" if newer else "gene_names"]),
        )
        count = Counter(symbols)
        names = [
            symbol if count[symbol] == 1 else f"{symbol}_{id}"
            for id, symbol in zip(ids, symbols, strict=True)
        ]
        self.features, self.notes = unique_names(names)
        self.descriptions = ids
        self.samples = _text(group["barcodes"])
        n_features, n_samples = (int(size) for size in group["shape"][:])
        self._matrix = SparseReader(
            group["indptr"], group["indices"], group["data"], (n_samples, n_features),
            by_column=False, note="is stored by cell, so that every look at some genes reads all",
        )  # fmt: skip
        self._check_sizes((n_samples, n_features))

    def _check_sizes(self, shape: tuple[int, ...]) -> None:
        self.n_samples = len(self.samples)
        named = self.n_samples, len(self.features)
        if shape != named:
            raise FileError(
                f"{self._path}: the matrix has the shape {shape}, but {named[0]} samples and "
                f"{named[1]} features have names. Write the file again."
            )


def genomes_of(group: Any) -> dict[str, Any]:
    """Return the matrices of a file of 10x Genomics by genome; of newer files the only one."""
    needed = {"barcodes", "data", "indices", "indptr", "shape"}
    found = {
        name: group[name]
        for name in group
        if hasattr(group[name], "keys") and needed <= set(group[name])
    }
    return found


def _chosen(genomes: dict[str, Any], layer: str | None, path: str) -> Any:
    """Return one of the matrices of 10x Genomics."""
    names = sorted(genomes)
    if layer is None and len(names) == 1:
        return genomes[names[0]]
    if layer in genomes:
        return genomes[layer]
    listed = ", ".join(map(quote, names))
    if layer is None:
        raise FileError(f"{path}: has several genomes; name one as the layer: {listed}.")
    raise MissingLayerError(f"{path}: no genome {quote(layer)} in it; there is {listed}.")


def _shape(matrix: Any) -> Sequence[int]:
    """Return the shape of an array or of a group that is a sparse matrix."""
    shape = getattr(matrix, "shape", None)
    if shape is None:
        shape = matrix.attrs.get("shape", matrix.attrs.get("h5sparse_shape", ()))
    return [int(size) for size in shape]


def _is_table(frame: Any) -> bool:
    """Whether a data frame is one compound array, as AnnData wrote it up to 0.6."""
    return hasattr(frame, "dtype")


def _index(frame: Any) -> list[str]:
    """Return the names of the rows of a data frame."""
    if _is_table(frame):
        name = "index" if "index" in frame.dtype.names else frame.dtype.names[0]
        return _decoded(frame[name])
    name = _string(frame.attrs.get("_index", "_index"))
    return _text(frame[name])


def _columns_of(frame: Any) -> list[str]:
    if _is_table(frame):
        return [name for name in frame.dtype.names if name != "index"]
    index = _string(frame.attrs.get("_index", "_index"))
    return [name for name in frame if name not in (index, "__categories")]


def _column(group: Any, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return a column of obs, and where it has no value."""
    frame = group["obs"]
    if _is_table(frame):
        values = np.asarray(frame[name])
        categories = group["uns"].get(f"{name}_categories") if "uns" in group else None
        if categories is None:
            return _values(values)
        return _of_categories(values, categories)
    column = frame[name]
    if not hasattr(column, "keys"):
        if "categories" in column.attrs:  # AnnData 0.7: a reference to their names
            return _of_categories(column[:], frame["__categories"][name])
        return _values(column[:])
    if "codes" in column:
        return _of_categories(column["codes"][:], column["categories"])
    values, missing = _values(column["values"][:])  # a nullable type
    return values, missing | np.asarray(column["mask"][:], bool)


def _of_categories(codes: Any, categories: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the values of codes, -1 of which is none."""
    names, _ = _values(categories[:])
    codes = np.asarray(codes)
    missing = (codes < 0) | (codes >= len(names))
    if not len(names):
        return np.zeros(codes.shape), missing
    return names[np.where(missing, 0, codes)], missing


def _values(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return numbers, or text in place of bytes and objects, and where there is none."""
    values = np.asarray(values)
    if values.dtype.kind in "SOT":
        missing = np.array([value is None or value != value for value in values.tolist()], bool)
        return np.array(_decoded(values), str), missing
    if values.dtype.kind == "f":
        return values, np.isnan(values)
    return values, np.zeros(values.shape, bool)


def _text(array: Any) -> list[str]:
    """Return stored text; of a nullable one its values."""
    return _decoded(array["values"][:] if hasattr(array, "keys") else array[:])


def _decoded(values: Any) -> list[str]:
    return [_string(value) for value in np.asarray(values).tolist()]


def _string(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
