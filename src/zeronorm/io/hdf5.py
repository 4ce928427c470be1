"""Reads HDF5 files and stores as tables: the matrix by blocks, the target and others from obs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, WhereError, did_you_mean, quote
from ..core.messages import option
from ..core.types import Design
from ..data.chunked import Chunked, SparseReader
from ..data.opening import open_lazy
from ..data.store import (
    INDEX,
    Store,
    StoreError,
    columns_of,
    open_array,
    open_store,
    read_node,
    read_texts,
)
from ..data.views import Filled, Rows
from .arrays import as_labels, read_labels
from .encoding import notes_of, with_fills
from .source import Source, Stream, check_path, is_label_file, of_loom
from .table import Dataset, Layout, TableRequest, is_missing, places_of_features, unique_names


class CellMatrix:
    """A matrix of samples and features, and columns of the samples: what all files have."""

    layer: str | None = None
    layers: Sequence[str] = ()  # the names of other matrices
    columns: Sequence[str] = ()  # of the samples, by name
    samples: list[str] | None = None  # their names, where they have any
    features: list[str] | None = None
    descriptions: list[str] | None = None
    notes: tuple[str, ...] = ()
    kept: NDArray[np.int64] | None = None  # the rows that are chosen; None: all
    n_samples: int
    n_rows: int  # of the file
    path: object  # for messages
    words = "the column {} of obs", "missing"  # how messages call a column, and a gap in it

    def _values(self, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return a column that is there, and where it has no value."""
        raise NotImplementedError

    def _whole(self, n_threads: int) -> Design:
        """Return the matrix with all rows."""
        raise NotImplementedError

    def cells_of(self, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return numbers or text, one for each row of the file, and where there is none."""
        what = self.words[0].format(quote(name))
        if name not in self.columns:
            raise FileError(
                f"{self.path}: no {what.removeprefix('the ')} with a value for each of "
                f"{self.n_rows} samples.{did_you_mean(name, self.columns)}"
            )
        values, missing = self._values(name)
        if values.shape != (self.n_rows,):
            raise FileError(
                f"{self.path}: {what} must have one value for each of {self.n_rows} samples; its "
                f"shape is {values.shape}. Write the file again."
            )
        return values, missing

    def column(self, name: str) -> NDArray[Any]:
        """Return numbers or text, one for each sample."""
        values, missing = self.cells_of(name)
        rows = np.arange(self.n_rows) if self.kept is None else self.kept
        gaps = rows[missing[rows]]
        if gaps.size:
            what, absent = self.words
            names = dict(zip(rows.tolist(), self.samples or (), strict=False))
            first = quote(names[gaps[0]]) if names else f"that of row {gaps[0]}"
            raise FileError(
                f"{self.path}: {what.format(quote(name))} is {absent} in {gaps.size} samples, the "
                f"first of which is {first}. Leave them out, or fill them in."
            )
        return values[rows]

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Leave out all other samples."""
        if self.samples is not None:
            self.samples = [self.samples[row] for row in rows]
        self.kept, self.n_samples = rows, rows.size

    def design(self, n_threads: int = 1) -> Design:
        """Return the matrix, of the rows that are chosen."""
        design = self._whole(n_threads)
        return design if self.kept is None else Rows(design, self.kept)


def _choose_rows(source: Any, cells: CellMatrix, request: TableRequest) -> None:
    """Leave out the samples that do not pass the condition of a request."""
    where = request.where
    if where is None:
        return
    compared = []
    for one in where.comparisons:
        if one.name not in cells.columns:
            hint = did_you_mean(one.name, cells.columns)
            error = WhereError(f"{source}: no column {quote(one.name)}.{hint}")
            error.lacks, error.there = one.name, list(cells.columns)
            raise error
        values, missing = cells.cells_of(one.name)
        pairs = zip(values.tolist(), missing.tolist(), strict=True)
        compared.append([None if absent else value for value, absent in pairs])
    rows = [
        row
        for row, own in enumerate(zip(*compared, strict=True))
        if request.keeps(own, f"{source}: sample {row}")
    ]
    if not rows:
        raise where.nothing_kept(source)
    cells.keep(np.array(rows, np.int64))


def open_annotated(path: str, layer: str | None = None) -> Annotated | Datasets:
    """Open an HDF5 file; it stays open as long as its matrix is used."""
    try:
        import h5py
    except ImportError:
        raise FileError(
            f"{path}: HDF5 files need h5py; install it with pip install 'zeronorm[hdf5]'."
        ) from None

    check_path(path)
    with _damage(path):
        file = h5py.File(path, "r")
        if {"matrix", "row_attrs", "col_attrs"} <= file.keys():
            raise of_loom(Path(path))
        is_array = is_plain(file) and not genomes_of(file)
        return (Datasets if is_array else Annotated)(file, path, layer)


def read_hdf5(source: Source, stream: Stream, request: TableRequest) -> Dataset:
    """Read an HDF5 file."""
    if source.compression is not None:
        raise FileError(f"{source}: a compressed HDF5 file has to be unpacked first.")
    layer = request.layer
    if layer is None and request.like is not None:
        layer = request.like.columns.get("layer")
    cells = open_annotated(str(source), layer)
    with _damage(str(source)):
        return table_from(source, cells, request)


def table_from(source: Any, cells: CellMatrix, request: TableRequest) -> Dataset:
    """Return the table of an opened file, or of a store."""
    like, known = request.like, cells.columns
    n_rows = cells.n_samples
    _choose_rows(source, cells, request)
    target = request.target
    if target is None and like is not None and isinstance(like.target_name, str):
        target = like.target_name if like.target_name in known else None
    if target is None and request.need_labels and like is None:
        raise FileError(
            f"{source}: nothing says what to predict; name a column of obs with "
            f"{option('--target')}.{did_you_mean('', known)}"
        )
    y, name = (None, None) if target is None else _target(source, cells, target, n_rows)
    columns, column_names = {}, {}
    roles = _roles(request, known)
    asked = roles if target is None else {"target": target, **roles}
    for role, own in roles.items():
        columns[role], column_names[role] = _one(source, cells, own, n_rows)
    if cells.layer is not None:
        column_names["layer"] = cells.layer
    X: Any = cells.design()
    names = cells.features
    descriptions = cells.descriptions
    if like is not None and like.names is not None and not like.exact and names is not None:
        places = places_of_features(source, like.names, names)
        X, descriptions = X.gather(np.array(places, np.int64)), None
        names = list(like.names)
    return Dataset(
        X, y, names, name, cells.samples, descriptions, notes=cells.notes,
        columns=columns, column_names=column_names, known=known, layers=cells.layers,
        by_position=tuple(role for role, own in asked.items() if _is_file(cells, own)),
    )  # fmt: skip


def _roles(request: TableRequest, known: Sequence[str]) -> dict[str, str]:
    """Return the columns that are asked for, and those of a model that the file has."""
    roles = dict(request.columns)
    if request.like is not None:
        others = request.like.columns.items()
        roles |= {
            role: name
            for role, name in others
            if role not in roles and name in known and role not in ("layer", "event_value")
        }
    return roles


def _target(
    source: Any, cells: CellMatrix, target: str, n_rows: int
) -> tuple[NDArray[Any], str | tuple[str, ...]]:
    """Return the target, a column of obs, several of numbers, or a file of its own."""
    parts = [part.strip() for part in target.split(",")]
    if len(parts) == 1 or target in cells.columns:
        return _one(source, cells, target, n_rows)
    values = [cells.column(part) for part in parts]
    for part, one in zip(parts, values, strict=True):
        if one.dtype.kind not in "biuf":
            raise FileError(
                f"{source}: the column {quote(part)} of obs: targets of several columns must be "
                "numbers; name one column for classes."
            )
    return np.column_stack(values).astype(np.float64), tuple(parts)


def _one(source: Any, cells: CellMatrix, name: str, n_rows: int) -> tuple[NDArray[Any], str]:
    n_samples = cells.n_samples
    if _is_file(cells, name):  # with a label for each row of the file
        values, stem = read_labels(name, n_rows, several=False)
        return values if cells.kept is None else values[cells.kept], str(stem)
    values = cells.column(name)
    return as_labels(source, values, n_samples, f"the column {quote(name)} of obs"), name


def _is_file(cells: CellMatrix, name: str) -> bool:
    """Return whether what is asked for is a file of labels, and no column."""
    return name not in cells.columns and is_label_file(name)


@contextmanager
def _damage(path: str) -> Iterator[None]:
    """Turn what h5py raises of a damaged file into a FileError."""
    try:
        yield
    except (ValueError, MemoryError):
        raise
    except (OSError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path}: not a readable HDF5 file of AnnData or 10x Genomics "
            f"({' '.join(str(error).split())})."
        ) from error


# Single-cell files as matrices with names: .h5ad and Zarr of AnnData, .h5 of 10x Genomics.
#
# Only names and the columns that are asked for are loaded; the matrix is read by blocks where it
# lies. The layouts are those of https://anndata.readthedocs.io (on-disk format) and, of files older
# than it, the compound tables that AnnData wrote up to 0.6; anndata itself is not needed.

RAW = "raw"


class MissingLayerError(FileError, KeyError):
    """There is no such layer."""

    __str__ = Exception.__str__


class Annotated(CellMatrix):
    """A matrix of samples and features, and what a file says of both.

    Parameters
    ----------
    group : the root group, of h5py or zarr.
    path : for messages.
    layer : which matrix: a layer, "raw", of 10x a genome; None: X, or the only one.
    """

    def __init__(self, group: Any, path: str, layer: str | None = None) -> None:
        self._group, self.path, self.layer = group, path, layer
        self._genomes = genomes_of(group)
        if "X" not in group and not self._genomes and "layers" not in group:
            raise FileError(
                f"{path}: no matrix X in it, nor one of 10x Genomics; it holds "
                f"{', '.join(map(quote, list(group)[:12])) or 'nothing'}."
            )
        if self._genomes:
            self.layers = sorted(self._genomes)
            self._open_10x(_chosen(self._genomes, layer, path))
        else:
            has_raw = "raw" in group or "raw.X" in group
            self.layers = [*group.get("layers", ()), *([RAW] if has_raw else [])]
            self._open_layer(layer)
            self.columns = _columns_of(group["obs"])

    def _whole(self, n_threads: int) -> Design:
        """Return the matrix as a design whose columns have names."""
        found = Chunked if self._genomes else open_lazy
        return found(self._matrix, n_threads).named(self.features)

    def _values(self, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        return _column(self._group, name)

    def _open_layer(self, layer: str | None) -> None:
        """Find a matrix of AnnData, the names of its features and of the samples."""
        group, of = self._group, "var"
        if layer is None:
            if "X" not in group:
                raise FileError(
                    f"{self.path}: no matrix X in it; name one of the layers: "
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
                f"{self.path}: no layer {quote(layer)} in it."
                + (did_you_mean(layer, self.layers) if self.layers else " It has X alone.")
            )
        for name in ("obs", of):
            if name not in group:
                raise FileError(f"{self.path}: no table {name} in it; write the file again.")
        self.samples = _index(group["obs"])
        names = _index(group[of])
        self.features, self.notes = unique_names(names)
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
        self.n_samples = self.n_rows = len(self.samples or [])
        named = self.n_samples, len(self.features or [])
        if shape != named:
            raise FileError(
                f"{self.path}: the matrix has the shape {shape}, but {named[0]} samples and "
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
    names, absent = _values(categories[:])
    codes = np.asarray(codes)
    missing = (codes < 0) | (codes >= len(names))
    if not len(names):
        return np.zeros(codes.shape), missing
    codes = np.where(missing, 0, codes)
    return names[codes], missing | absent[codes]


def _values(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return numbers or text, and a mask of missing values; bytes and objects become text.

    Words such as NA are missing here as well.
    """
    values = np.asarray(values)
    if values.dtype.kind in "SOTU":
        texts = _decoded(values)
        pairs = zip(values.tolist(), texts, strict=True)
        missing = [is_missing(value) or is_missing(text) for value, text in pairs]
        return np.array(texts, str), np.array(missing, bool)
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


# HDF5 files of arrays alone: one of two dimensions is the matrix, others its columns.

_ANNDATA = {"obs", "var", "layers", "raw.X"}


def is_plain(group: Any) -> bool:
    """Return whether an HDF5 file has no part of an AnnData."""
    return not _ANNDATA & set(group)


class Datasets(CellMatrix):
    """The arrays of an HDF5 file by their paths, as "study/expression".

    layer : which array is the matrix; None: "X", or the only one of two dimensions.
    """

    words = "the dataset {}", "NaN"

    def __init__(self, group: Any, path: str, layer: str | None = None) -> None:
        layer = layer and layer.strip("/")
        self.path, self.layer = path, layer
        self._arrays: dict[str, Any] = {}
        group.visititems(self._see)
        self.layers = [name for name, one in self._arrays.items() if _is_matrix(one)]
        listed = ", ".join(map(quote, self.layers[:12]))
        if not self.layers:
            raise FileError(
                f"{path}: no matrix X in it, nor another dataset of two dimensions, nor one of 10x "
                f"Genomics; it holds {', '.join(map(quote, list(group)[:12])) or 'nothing'}."
            )
        if layer is None:
            if "X" not in self.layers and len(self.layers) > 1:
                raise FileError(
                    f"{path}: has several datasets of two dimensions; name one with "
                    f"{option('--layer')}: {listed}."
                )
            layer = "X" if "X" in self.layers else self.layers[0]
        elif layer not in self.layers:
            raise FileError(
                f"{path}: no dataset {quote(layer)} of numbers in two dimensions in it; name one "
                f"with {option('--layer')}: {listed}."
                f"{did_you_mean(layer, self.layers, listing=False)}"
            )
        self._matrix = self._arrays[layer]
        self.n_samples = self.n_rows = int(self._matrix.shape[0])
        self.columns = [
            name
            for name, one in self._arrays.items()
            if one.shape == (self.n_samples,) and (one.dtype.kind in "biuf" or _is_text(one))
        ]

    def _values(self, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        array = self._arrays[name]
        values = np.array(array.asstr()[:], str) if _is_text(array) else np.asarray(array[:])
        return values, np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)

    def _whole(self, n_threads: int) -> Design:
        return open_lazy(self._matrix, n_threads)

    def _see(self, name: str, one: Any) -> None:
        if hasattr(one, "shape"):
            self._arrays[name] = one


def _is_text(one: Any) -> bool:
    import h5py

    return h5py.check_string_dtype(one.dtype) is not None


def _is_matrix(one: Any) -> bool:
    return len(one.shape or ()) == 2 and one.dtype.kind in "biuf"


# Reads stores as tables: the matrix where it lies, the target and others from obs.


class _Stored(CellMatrix):
    """A store, as `table_from` asks for it."""

    features: list[str]

    def __init__(self, path: Path, like: Layout | None) -> None:
        self.path: Path = path
        self._design, self._like = open_store(path), like
        self._gaps = self._design.gaps
        self.columns = columns_of(path / "obs")
        shape = self._design.shape
        self.features = self._design.feature_names or [str(j) for j in range(shape[1])]
        self.n_samples = self.n_rows = shape[0]
        self.samples = [str(i) for i in range(shape[0])]
        if self._design.has_samples:
            self.samples = read_texts(path / "obs" / INDEX)

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Leave out all other samples."""
        if self._gaps is not None:
            raise FileError(
                f"{self.path}: a store with gaps, which means of all rows fill; choose the rows "
                "where it is converted."
            )
        super().keep(rows)

    def _values(self, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        path = self.path / "obs" / name
        values: NDArray[Any]
        if read_node(path).get("data_type") == "string":
            values = np.array(read_texts(path))
        else:
            values = open_array(path).whole()
        return values, np.array([is_missing(value) for value in values.tolist()], bool)

    def _whole(self, n_threads: int) -> Design:
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

    def coded(self, table: Dataset) -> Dataset:
        """Return a table with what is known of the columns that its features came from."""
        records, path = self._design.codings, self.path
        if not records:
            return table
        from .encoding import check_codings, codings_of

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


def read_stored(path: Path, request: TableRequest) -> Dataset:
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
