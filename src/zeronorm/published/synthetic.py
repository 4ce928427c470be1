"""Synthetic data as the papers draw them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.errors import Message, Parameter, ParameterError
from ..core.messages import span
from ..core.types import IndexArray
from ..core.validation import check_iterations


def make_paper_synthetic(
    n_samples: int = 5000,
    n_features: int = 100_000,
    n_informative: int = 300,
    w_std: float = 2.0,
    random_state: int | None = 0,
) -> tuple[NDArray[np.float32], NDArray[np.int64], IndexArray]:
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
    n_samples = check_iterations("n_samples", n_samples)
    n_features = check_iterations("n_features", n_features)
    n_informative = check_iterations("n_informative", n_informative)
    if n_informative > n_features:
        raise ParameterError(
            "n_informative",
            Message(f"must be {span(1, n_features)} (", Parameter("n_features"), ")"),
            str(n_informative),
        )
    if not (np.isfinite(w_std) and w_std > 0):
        raise ParameterError("w_std", "must be a positive number", f"{w_std!r}")
    generator = np.random.default_rng(random_state)
    X = generator.standard_normal((n_features, n_samples), dtype=np.float32).T
    support = np.sort(generator.choice(n_features, n_informative, replace=False)).astype(np.int64)
    w = generator.normal(0.0, w_std, n_informative)
    y = np.where(X[:, support].astype(np.float64) @ w >= 0, 1, -1)
    return X, y, support
