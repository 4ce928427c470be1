"""Reads HDF5 files as tables: the matrix by blocks, the target and others from obs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, did_you_mean, quote
from ..core.types import Design
from .labels import as_labels, read_labels
from .source import Source, Stream, check_path, is_label_file
from .table import Request, Table
from .unique import places_of_features

if TYPE_CHECKING:
    from .annotated import Annotated
    from .datasets import Datasets


class Cells(Protocol):
    """A matrix of samples and features, and columns of the samples."""

    layer: str | None

    @property
    def layers(self) -> Sequence[str]:
        """The names of other matrices."""

    @property
    def samples(self) -> list[str] | None:
        """Their names, where they have any."""

    @property
    def features(self) -> list[str] | None:
        """Their names, where they have any."""

    n_samples: int
    descriptions: list[str] | None
    notes: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    def column(self, name: str) -> NDArray[Any]:
        """Return numbers or text, one for each sample."""

    def design(self) -> Design:
        """Return the matrix."""


def open_annotated(path: str, layer: str | None = None) -> Annotated | Datasets:
    """Open an HDF5 file; it stays open as long as its matrix is used."""
    try:
        import h5py
    except ImportError:
        raise FileError(
            f"{path}: HDF5 files need h5py; install it with pip install 'zeronorm[hdf5]'."
        ) from None
    from .annotated import Annotated, genomes_of
    from .datasets import Datasets, is_plain

    check_path(path)
    with _damage(path):
        file = h5py.File(path, "r")
        is_array = is_plain(file) and not genomes_of(file)
        return (Datasets if is_array else Annotated)(file, path, layer)


def read_hdf5(source: Source, stream: Stream, request: Request) -> Table:
    """Read an HDF5 file."""
    if source.compression is not None:
        raise FileError(f"{source}: a compressed HDF5 file has to be unpacked first.")
    layer = request.layer
    if layer is None and request.like is not None:
        layer = request.like.columns.get("layer")
    cells = open_annotated(str(source), layer)
    with _damage(str(source)):
        return table_from(source, cells, request)


def table_from(source: Any, cells: Cells, request: Request) -> Table:
    """Return the table of an opened file, or of a store."""
    like, known = request.like, cells.columns
    target = request.target
    if target is None and like is not None and isinstance(like.target_name, str):
        target = like.target_name if like.target_name in known else None
    if target is None and request.need_labels and like is None:
        raise FileError(
            f"{source}: nothing says what to predict; name a column of obs with --target."
            f"{did_you_mean('', known)}"
        )
    y, name = (None, None) if target is None else _target(source, cells, target)
    columns, column_names = {}, {}
    roles = _roles(request, known)
    asked = roles if target is None else {"target": target, **roles}
    for role, own in roles.items():
        columns[role], column_names[role] = _one(source, cells, own)
    if cells.layer is not None:
        column_names["layer"] = cells.layer
    X: Any = cells.design()
    names = cells.features
    descriptions = cells.descriptions
    if like is not None and like.names is not None and not like.exact and names is not None:
        X, descriptions = _needed(source, X, names, like.names), None
        names = list(like.names)
    return Table(
        X, y, names, name, cells.samples, descriptions, notes=cells.notes,
        columns=columns, column_names=column_names, known=known, layers=cells.layers,
        by_position=tuple(role for role, own in asked.items() if _is_file(cells, own)),
    )  # fmt: skip


def _roles(request: Request, known: list[str]) -> dict[str, str]:
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


def _target(source: Any, cells: Cells, target: str) -> tuple[NDArray[Any], str | tuple[str, ...]]:
    """Return the target, a column of obs, several of numbers, or a file of its own."""
    parts = [part.strip() for part in target.split(",")]
    if len(parts) == 1 or target in cells.columns:
        return _one(source, cells, target)
    values = [cells.column(part) for part in parts]
    for part, one in zip(parts, values, strict=True):
        if one.dtype.kind not in "biuf":
            raise FileError(
                f"{source}: the column {quote(part)} of obs: targets of several columns must be "
                "numbers; name one column for classes."
            )
    return np.column_stack(values).astype(np.float64), tuple(parts)


def _one(source: Any, cells: Cells, name: str) -> tuple[NDArray[Any], str]:
    n_samples = cells.n_samples
    if _is_file(cells, name):
        values, stem = read_labels(name, n_samples, several=False)
        return values, str(stem)
    values = cells.column(name)
    return as_labels(source, values, n_samples, f"the column {quote(name)} of obs"), name


def _is_file(cells: Cells, name: str) -> bool:
    """Return whether what is asked for is a file of labels, and no column."""
    return name not in cells.columns and is_label_file(name)


def _needed(source: Any, X: Design, names: list[str], wanted: Any) -> Any:
    """Return the columns that a model needs, by name."""
    return X.gather(np.array(places_of_features(source, wanted, names), np.int64))


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
