"""What a store has beside X: names, columns of the samples, how features were made, empty cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.types import IndexArray
from ...data.store import GAPS, INDEX, LATEST, OWN
from ...data.zarr import ZarrArray, write_group, write_texts
from ..coded_columns import describe_codings
from .sources import Contents


def describe(partial: Path, contents: Contents) -> None:
    """Write the names, the columns of the samples and the group."""
    n_samples, n_features = contents.matrix.shape
    if contents.gaps is not None:
        _write_gaps(partial, contents.gaps)
    _write_frame(partial / "var", contents.features or map(str, range(n_features)), n_features, {})
    samples = contents.samples or map(str, range(n_samples))
    _write_frame(partial / "obs", samples, n_samples, contents.columns)
    codings = describe_codings(range(n_features), contents.features, contents.codings)
    own = {"version": 1 if contents.gaps is None else LATEST, "codings": codings,
           "named": contents.features is not None,
           "samples named": contents.samples is not None,
           "first index": contents.first_index}  # fmt: skip
    write_group(partial, {"encoding-type": "anndata", "encoding-version": "0.1.0", OWN: own})


def _write_gaps(partial: Path, gaps: tuple[IndexArray, IndexArray]) -> None:
    """Write where X has 0 for a cell that was empty."""
    kind = {"encoding-type": "dict", "encoding-version": "0.1.0"}
    for name, values in zip(("indptr", "rows"), gaps, strict=True):
        array = ZarrArray(partial / GAPS / name, values.shape, values.shape, np.dtype("<i8"))
        array.write(0, values)
        array.create({"encoding-type": "array", "encoding-version": "0.2.0"})
    for group in (partial / GAPS, partial / GAPS.parent):
        write_group(group, kind)


def _write_frame(
    path: Path, names: Iterable[str], count: int, columns: Mapping[str, NDArray[Any]]
) -> None:
    """Write a data frame of so many rows as AnnData does."""
    text = {"encoding-type": "string-array", "encoding-version": "0.2.0"}
    write_texts(path / INDEX, names, count, text)
    for name, values in columns.items():
        if values.dtype.kind == "U":
            write_texts(path / name, values.tolist(), count, text)
            continue
        kind = np.dtype(np.bool_ if values.dtype == np.bool_ else
                        "<i8" if values.dtype.kind in "iu" else "<f8")  # fmt: skip
        array = ZarrArray(path / name, values.shape, values.shape, kind)
        array.write(0, values.astype(kind))
        array.create({"encoding-type": "array", "encoding-version": "0.2.0"})
    write_group(
        path,
        {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": INDEX,
         "column-order": list(columns)},
    )  # fmt: skip
