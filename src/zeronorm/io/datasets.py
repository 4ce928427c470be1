"""HDF5 files of arrays alone: one of two dimensions is the matrix, others its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, did_you_mean, quote
from ..core.types import Design
from ..data.opening import open_lazy

_ANNDATA = {"obs", "var", "layers", "raw.X"}


def is_plain(group: Any) -> bool:
    """Return whether an HDF5 file has no part of an AnnData."""
    return not _ANNDATA & set(group)


class Datasets:
    """The arrays of an HDF5 file by their paths, as "study/expression".

    layer : which array is the matrix; None: "X", or the only one of two dimensions.
    """

    features: list[str] | None = None
    samples: list[str] | None = None
    descriptions: list[str] | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, group: Any, path: str, layer: str | None = None) -> None:
        layer = layer and layer.strip("/")
        self._path, self.layer = path, layer
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
                    f"{path}: has several datasets of two dimensions; name one with --dataset (in "
                    f"Python layer=...): {listed}."
                )
            layer = "X" if "X" in self.layers else self.layers[0]
        elif layer not in self.layers:
            raise FileError(
                f"{path}: no dataset {quote(layer)} of numbers in two dimensions in it; name with "
                f"--dataset one of {listed}.{did_you_mean(layer, self.layers, listing=False)}"
            )
        self._matrix = self._arrays[layer]
        self.n_samples = int(self._matrix.shape[0])
        self.columns = [
            name
            for name, one in self._arrays.items()
            if one.shape == (self.n_samples,) and (one.dtype.kind in "biuf" or _is_text(one))
        ]

    def column(self, name: str) -> NDArray[Any]:
        """Return numbers or text, one for each sample."""
        if name not in self.columns:
            raise FileError(
                f"{self._path}: no dataset {quote(name)} of {self.n_samples} values, one for each "
                f"sample, in it.{did_you_mean(name, self.columns)}"
            )
        array = self._arrays[name]
        values = np.array(array.asstr()[:], str) if _is_text(array) else np.asarray(array[:])
        gaps = np.flatnonzero(np.isnan(values) if values.dtype.kind == "f" else [])
        if gaps.size:
            raise FileError(
                f"{self._path}: the dataset {quote(name)} is NaN in {gaps.size} samples, the first "
                f"of which is that of row {gaps[0]}. Leave them out, or fill them in."
            )
        return values

    def design(self, n_threads: int = 1) -> Design:
        """Return the matrix."""
        return open_lazy(self._matrix, n_threads)

    def _see(self, name: str, one: Any) -> None:
        if hasattr(one, "shape"):
            self._arrays[name] = one


def _is_text(one: Any) -> bool:
    import h5py

    return h5py.check_string_dtype(one.dtype) is not None


def _is_matrix(one: Any) -> bool:
    return len(one.shape or ()) == 2 and one.dtype.kind in "biuf"
