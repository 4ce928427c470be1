"""The embedded leukaemia data, and generators of the papers' synthetic data."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from ._typing import IndexArray

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
    folder = resources.files(__package__) / "data"
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


def make_paper_synthetic(
    n_samples: int = 5000,
    n_features: int = 100_000,
    n_informative: int = 300,
    w_std: float = 2.0,
    random_state: int | None = 0,
) -> tuple[Float32Array, NDArray[np.int64], IndexArray]:
    """Return X, y and the informative features of a synthetic set as the MSLR paper draws them.

    X_ij ~ N(0, 1); w_j ~ N(0, w_std**2) on `n_informative` random columns, else 0; y = sign(Xw),
    with sign(0) = 1. The paper's first set has the default sizes, its second one
    (20000, 10000, 600, 10.0).

    Parameters
    ----------
    n_samples, n_features : int
        The shape of X, at least 1.
    n_informative : int
        Features that y depends on, between 1 and n_features.
    w_std : float
        Standard deviation of the true weights, above 0. As y is a sign, it changes nothing but
        the rounding of w.
    random_state : int or None
        Seed; None for fresh entropy.

    Returns
    -------
    X : (n_samples, n_features) float32, F-ordered
    y : (n_samples,) int64, -1 or 1
    support : (n_informative,) int64, sorted

    Raises
    ------
    ValueError
        If a size is out of range.
    """
    n_samples = _size("n_samples", n_samples)
    n_features = _size("n_features", n_features)
    n_informative = _size("n_informative", n_informative)
    if n_informative > n_features:
        raise ValueError(
            f"n_informative must be between 1 and {n_features} (n_features); got {n_informative}."
        )
    if not (np.isfinite(w_std) and w_std > 0):
        raise ValueError(f"w_std must be a positive number; got {w_std!r}.")
    generator = np.random.default_rng(random_state)
    X = generator.standard_normal((n_features, n_samples), dtype=np.float32).T
    support = np.sort(generator.choice(n_features, n_informative, replace=False)).astype(np.int64)
    w = generator.normal(0.0, w_std, n_informative)
    y = np.where(X[:, support].astype(np.float64) @ w >= 0, 1, -1)
    return X, y, support


def _size(name: str, value: Any) -> int:
    """Return a positive int."""
    try:
        size = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be an integer; got {value!r}.") from None
    if size < 1:
        raise ValueError(f"{name} must be at least 1; got {size}.")
    return size
