"""Small matrices for the tests. Every generator asserts the property it is used for."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def gaussian(n, p, seed=0, dtype=np.float64, order="C"):
    """(n, p) normal values with column offsets, of the given type and order."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.uniform(-2, 2, p)
    if np.dtype(dtype).kind in "iub":
        X = np.clip(np.round(40 * X), -100, 100)
    if np.dtype(dtype).kind in "ub":
        X = np.abs(X)
    X = np.asarray(X, dtype=dtype, order=order)
    assert X.dtype == dtype
    assert X.flags.f_contiguous if order == "F" else X.flags.c_contiguous
    assert np.all(np.ptp(X.astype(np.float64), axis=0) > 0)
    return X


def sparse(n, p, density=0.3, seed=0, dtype=np.float64, form="csc", unsorted=False):
    """(n, p) SciPy sparse array with an empty column, and empty rows where it is tall."""
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((n, p)) * (rng.random((n, p)) < density)
    if np.dtype(dtype).kind in "iub":
        dense = np.round(3 * dense)
    if np.dtype(dtype).kind in "ub":
        dense = np.abs(dense)
    dense[:, p // 2] = 0
    X = sp.csc_array(dense.astype(dtype)).asformat(form)
    if unsorted:
        X = reversed_entries(X)
    assert X.nnz == np.count_nonzero(dense.astype(dtype)) > 0
    assert np.array_equal(X.toarray(), dense.astype(dtype))
    return X


def reversed_entries(X):
    """A CSC or CSR copy of X with the entries of every column (row) in descending order."""
    order = np.concatenate(
        [np.arange(X.indptr[i + 1] - 1, X.indptr[i] - 1, -1) for i in range(X.indptr.size - 1)]
    )
    out = type(X)((X.data[order], X.indices[order], X.indptr.copy()), shape=X.shape)
    assert not out.has_sorted_indices
    assert np.array_equal(out.toarray(), X.toarray())
    return out


def with_duplicates(n, p, seed=0, form="csc"):
    """(n, p) CSC or CSR in which positions are stored up to three times."""
    rng = np.random.default_rng(seed)
    count = n * p // 2
    row, column = rng.integers(0, n, count), rng.integers(0, p, count)
    row[:3], column[:3] = 1, 2
    major, minor, size = (column, row, p) if form == "csc" else (row, column, n)
    order = np.argsort(major, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=size))])
    data = rng.standard_normal(count)
    kind = sp.csc_array if form == "csc" else sp.csr_array
    X = kind((data, minor[order].astype(np.int32), indptr.astype(np.int32)), shape=(n, p))
    assert X.nnz == count > np.count_nonzero(X.toarray())
    return X


def tied_scores(p, seed=0):
    """(p,) scores with few different magnitudes, so that every cut is a tie."""
    scores = np.random.default_rng(seed).integers(-3, 4, p).astype(float)
    assert np.unique(np.abs(scores)).size < p
    return scores


def copies(X):
    """The arrays a caller could see change, as copies."""
    if sp.issparse(X):
        names = ("data", "indices", "indptr", "row", "col", "offsets")
        return [np.array(getattr(X, name)) for name in names if hasattr(X, name)]
    return [np.array(X)]


def instance(seed, n=30, p=8, *, correlated=True):
    """Return a small problem with columns that stand in for each other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    if correlated:
        X[:, 1:] += rng.uniform(0, 1.5) * X[:, :1]
    w = rng.standard_normal(p) * (rng.random(p) < 0.5)
    y = np.where(X @ w + rng.logistic(size=n) > 0, 1.0, -1.0)
    y[0], y[1] = 1.0, -1.0
    assert np.ptp(y) == 2
    return X, y
