"""The embedded leukaemia data."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

Float32Array: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set with names."""

    X: Float32Array  # (n_samples, n_features)
    y: NDArray[np.str_]  # (n_samples,) class of each sample
    feature_names: list[str]  # n_features, unique
    descriptions: list[str]  # n_features, in words
    target_name: str
    about: str  # origin and licence


@overload
def load_golub(return_X_y: Literal[False] = False) -> Dataset: ...


@overload
def load_golub(return_X_y: Literal[True]) -> tuple[Float32Array, NDArray[np.str_]]: ...


def load_golub(return_X_y: bool = False) -> Dataset | tuple[Float32Array, NDArray[np.str_]]:
    """Return the leukaemia training set of Golub et al. (1999), which ships with the package.

    38 samples x 3051 genes, two classes: "ALL" (27) and "AML" (11). The data are under the
    LGPL-3; `about` holds origin, pre-processing and licence.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return only the pair (X, y).

    Returns
    -------
    Dataset or (X, y)
        X is (38, 3051) float32, y is (38,) of strings, `feature_names` are probe accessions.

    Source: Golub et al., Science 286 (1999) 531-537.
    """
    folder = resources.files(__package__)
    with (
        resources.as_file(folder / "golub.npz") as path,
        np.load(path, allow_pickle=False) as arrays,
    ):
        X = np.ascontiguousarray(arrays["expression"], dtype=np.float32)
        y = np.where(arrays["label"] == 1, "AML", "ALL")
        if return_X_y:
            return X, y
        names: list[str] = arrays["accession"].tolist()
        descriptions: list[str] = arrays["gene"].tolist()
    about = (folder / "ATTRIBUTION.txt").read_text(encoding="utf-8")
    return Dataset(X, y, names, descriptions, "leukaemia", about)
