"""Designs: every storage and wrapper x every operation against the dense float64 matrix."""

import os
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from generators import copies, gaussian, reversed_entries, sparse, with_duplicates
from python_paths import with_twins
from zeronorm import data as designs
from zeronorm._kernels import FLOAT32_SCAN_ERROR
from zeronorm.core.types import Design, Wrapper
from zeronorm.data import Dense, Rows, Scaled, Sparse, arrays, as_design
from zeronorm.data.operations import (
    center_scale,
    locate_nonfinite,
    margins,
    scan,
    score_errors,
    top_features,
)

N, P = 37, 11


def misaligned(X):
    raw = np.zeros(X.nbytes + 1, np.uint8)
    out = raw[1:].view(X.dtype).reshape(X.shape)
    out[:] = X
    assert not out.flags.aligned
    return out


def field(X):
    """X as a field of records: aligned or not, its strides are no multiple of its item size."""
    out = np.zeros(X.shape, np.dtype([("pad", np.int8, 3), ("x", X.dtype)]))["x"]
    out[:] = X
    assert any(stride % out.itemsize for stride in out.strides)
    return out


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def mapped(X, folder, dtype=None):
    path = folder / "x.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def path_of(X, folder):
    np.save(folder / "path.npy", X)
    return folder / "path.npy"


G = gaussian(N, P)
WIDE = gaussian(2 * N, 3 * P)
S = sparse(N, P)

# name -> how to make the user's X; `folder` is a temporary directory.
DENSE = {
    "float64 C": lambda folder: G,
    "float64 F": lambda folder: gaussian(N, P, order="F"),
    "float32 C": lambda folder: gaussian(N, P, dtype=np.float32),
    "float32 F": lambda folder: gaussian(N, P, dtype=np.float32, order="F"),
    "int8": lambda folder: gaussian(N, P, dtype=np.int8),
    "uint8 F": lambda folder: gaussian(N, P, dtype=np.uint8, order="F"),
    "bool": lambda folder: G > 0,
    "int16": lambda folder: gaussian(N, P, dtype=np.int16),
    "uint16": lambda folder: gaussian(N, P, dtype=np.uint16),
    "int32": lambda folder: gaussian(N, P, dtype=np.int32),
    "int64": lambda folder: gaussian(N, P, dtype=np.int64),
    "uint64": lambda folder: gaussian(N, P, dtype=np.uint64),
    "float16": lambda folder: gaussian(N, P, dtype=np.float16),
    "longdouble": lambda folder: gaussian(N, P, dtype=np.longdouble, order="F"),
    "big-endian float64": lambda folder: G.astype(">f8"),
    "big-endian float32 F": lambda folder: np.asfortranarray(G).astype(">f4"),
    "big-endian int16": lambda folder: gaussian(N, P, dtype=np.int16).astype(">i2"),
    "misaligned": lambda folder: misaligned(G),
    "misaligned float32": lambda folder: misaligned(G.astype(np.float32)),
    "field": lambda folder: field(G),
    "strided": lambda folder: WIDE[::2, ::3],
    "strided float32": lambda folder: WIDE.astype(np.float32).T[::3, ::2].T,
    "negative strides": lambda folder: G[::-1, ::-1],
    "negative strides F": lambda folder: gaussian(N, P, order="F")[::-1, ::-1],
    "read-only": lambda folder: read_only(G),
    "memmap": lambda folder: mapped(G, folder),
    "memmap F": lambda folder: mapped(np.asfortranarray(G), folder),
    "memmap float16": lambda folder: mapped(G.astype(np.float16), folder),
    "path": lambda folder: path_of(G, folder),
    "path text": lambda folder: str(path_of(G, folder)),
    "lists": lambda folder: G.tolist(),
    "objects": lambda folder: G.astype(object),
    "matrix": lambda folder: G.view(np.matrix),
    "one row": lambda folder: G[:1],
    "one column": lambda folder: G[:, :1],
    "one element": lambda folder: G[:1, :1],
    "broadcast": lambda folder: np.broadcast_to(G[:, :1], (N, P)),
}


def index_types(X, indptr, indices):
    X = X.copy()
    X.indptr, X.indices = X.indptr.astype(indptr), X.indices.astype(indices)
    return X


SPARSE = {
    "csc": lambda folder: S,
    "csr": lambda folder: S.tocsr(),
    "csc_matrix": lambda folder: sp.csc_matrix(S),
    "csr_matrix": lambda folder: sp.csr_matrix(S),
    "coo": lambda folder: S.tocoo(),
    "dok": lambda folder: S.todok(),
    "lil": lambda folder: S.tolil(),
    "bsr": lambda folder: sparse(36, 12).tobsr((3, 4)),
    "dia": lambda folder: S.todia(),
    "csc float32": lambda folder: sparse(N, P, dtype=np.float32),
    "csr float32": lambda folder: sparse(N, P, dtype=np.float32, form="csr"),
    "csc int8": lambda folder: sparse(N, P, dtype=np.int8),
    "csr uint8": lambda folder: sparse(N, P, dtype=np.uint8, form="csr"),
    "csc bool": lambda folder: sparse(N, P, dtype=bool),
    "csr int64": lambda folder: sparse(N, P, dtype=np.int64, form="csr"),
    "csc int32 wide": lambda folder: sparse(N, P, dtype=np.int32) * 1000,
    "csc int64 huge": lambda folder: sparse(N, P, dtype=np.int64) * (1 << 40),
    "csr uint16": lambda folder: sparse(N, P, dtype=np.uint16, form="csr"),
    "csc longdouble": lambda folder: sparse(N, P, dtype=np.longdouble),
    "csc int64 indices": lambda folder: index_types(S, np.int64, np.int64),
    "csr int64 indices": lambda folder: index_types(S.tocsr(), np.int64, np.int64),
    "csc mixed indices": lambda folder: index_types(S, np.int64, np.int32),
    "csr mixed indices": lambda folder: index_types(S.tocsr(), np.int32, np.int64),
    "csc int16 indices": lambda folder: index_types(S, np.uint32, np.int16),
    "csc unsorted": lambda folder: sparse(N, P, unsorted=True),
    "csr unsorted": lambda folder: sparse(N, P, form="csr", unsorted=True),
    "csc duplicates": lambda folder: with_duplicates(N, P),
    "csr duplicates": lambda folder: with_duplicates(N, P, form="csr"),
    "coo duplicates": lambda folder: with_duplicates(N, P).tocoo(),
    "csc bool duplicates": lambda folder: with_duplicates(N, P).astype(bool),
    "csc explicit zeros": lambda folder: explicit_zeros(),
    "csc read-only": lambda folder: frozen(sparse(N, P)),
    "csr empty": lambda folder: sp.csr_array((N, P)),
    "csc one row": lambda folder: sp.csc_array(S.tocsr()[[1], :]),
}
STORAGES = {**DENSE, **SPARSE}


def explicit_zeros():
    X = S.copy()
    X.data[::2] = 0
    assert X.nnz > np.count_nonzero(X.toarray())
    return X


def frozen(X):
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    return X


def reference(X):
    """The matrix as NumPy and SciPy see it, in float64."""
    if isinstance(X, (str, os.PathLike)):
        X = np.load(X)
    return np.asarray(X.toarray() if sp.issparse(X) else X).astype(np.float64)


@pytest.fixture(params=STORAGES)
def pair(request, tmp_path):
    """(X, its dense float64 twin); X must be unchanged afterwards."""
    X = STORAGES[request.param](tmp_path)
    twin, before = reference(X), copies(X) if not isinstance(X, os.PathLike) else []
    yield X, twin
    for old, new in zip(before, copies(X), strict=bool(before)):
        assert np.array_equal(old, new)


# What wrappers do, each with what it does to the dense twin.
def standardized(design, twin):
    rng = np.random.default_rng(3)
    mean, scale = rng.standard_normal(twin.shape[1]), rng.uniform(0.5, 2, twin.shape[1])
    return Scaled(design, mean, scale), (twin - mean) * scale


def scaled(design, twin):
    scale = np.random.default_rng(4).uniform(0.5, 2, twin.shape[1])
    scale[-1] = 0.0
    return Scaled(design, None, scale), twin * scale


def some_rows(design, twin):
    n = twin.shape[0]
    index = np.random.default_rng(5).permutation(n)[: max(1, n // 2)]
    return Rows(design, index), twin[index]


WRAPPERS = {
    "plain": lambda design, twin: (design, twin),
    "scaled": scaled,
    "standardized": standardized,
    "rows": some_rows,
    "scaled rows": lambda design, twin: scaled(*some_rows(design, twin)),
    "standardized rows": lambda design, twin: standardized(*some_rows(design, twin)),
    "rows standardized": lambda design, twin: some_rows(*standardized(design, twin)),
    "rows of rows": lambda design, twin: some_rows(*some_rows(design, twin)),
}


# Operations: each compares one operation of a design with the dense twin.
def bound(design, twin, v):
    """An error bound of scores; scaled designs amplify that of their storage a little."""
    columns = np.linalg.norm(np.abs(twin) + 20, axis=0)
    return 4 * (design.scan_error + 1e-15) * np.outer(columns, np.linalg.norm(v, axis=0))


def check_shape(design, twin, centred):
    assert isinstance(design, Design)
    assert design.shape == twin.shape
    assert 1 <= design.block <= twin.shape[1]


def check_correlate(design, twin, centred):
    n, p = twin.shape
    v = np.random.default_rng(6).standard_normal((n, 3))
    expected, error = twin.T @ v, bound(design, twin, v)
    full = design.correlate(v, 0, p)
    assert full.shape == (p, 3)
    assert full.dtype == np.float64
    assert np.all(np.abs(full - expected) <= error)
    one = design.correlate(v[:, 1], 0, p)
    assert one.shape == (p,)
    # Classes and folds that share a pass must get the bits of separate passes.
    assert np.array_equal(one, full[:, 1])
    assert np.array_equal(design.correlate(np.asfortranarray(v), 0, p), full)
    columns = np.vstack([design.correlate(v, j, j + 1) for j in range(p)])
    assert np.all(np.abs(columns - expected) <= error)
    half = p // 2
    assert np.all(np.abs(design.correlate(v, half, p) - expected[half:]) <= error[half:])
    assert design.correlate(v, half, half).shape == (0, 3)
    assert design.correlate(np.empty((n, 0)), 0, p).shape == (p, 0)


def check_scan(design, twin, centred):
    v = np.random.default_rng(7).standard_normal(twin.shape[0])
    scores = scan(design, v)
    assert np.all(np.abs(scores - twin.T @ v) <= bound(design, twin, v[:, None])[:, 0])


def check_gather(design, twin, centred):
    p = twin.shape[1]
    twin = twin if centred is None else centred
    for features in (
        np.array([p - 1, 0]), np.array([0, 0, p // 2]), np.arange(p), np.empty(0, np.int64),
        slice(0, p), slice(None), slice(p // 2, p), slice(0, 0), slice(None, None, 2),
    ):  # fmt: skip
        columns = design.gather(features)
        if sp.issparse(columns):
            assert isinstance(columns, sp.csc_array)
            assert columns.indices.dtype == np.int32
            assert columns.has_sorted_indices
            assert columns.has_canonical_format
            assert columns.dtype == np.float64
            columns = columns.toarray()
        else:
            assert columns.dtype == np.float64
            assert columns.flags.f_contiguous
        assert columns.shape == twin[:, features].shape
        assert np.allclose(columns, twin[:, features], rtol=1e-12, atol=1e-12)


def check_moments(design, twin, centred):
    n, p = twin.shape
    weight = np.random.default_rng(8).uniform(0, 2, n)
    size = np.abs(twin).max(initial=1.0) + 20
    for start, stop in ((0, p), (p // 2, p), (0, 0)):
        total, square = design.moments(weight, start, stop)
        assert np.allclose(total, weight @ twin[:, start:stop], atol=1e-12 * n * size)
        assert np.allclose(square, weight @ twin[:, start:stop] ** 2, atol=1e-12 * n * size**2)


def check_margins(design, twin, centred):
    twin = twin if centred is None else centred
    support, coef = np.array([0, twin.shape[1] - 1]), np.array([1.5, -2.0])
    expected = twin[:, support] @ coef + 0.5
    assert np.allclose(margins(design, support, coef, 0.5), expected, rtol=1e-12, atol=1e-10)
    several = margins(design, support, np.column_stack([coef, -coef]), np.array([0.5, -0.5]))
    assert np.allclose(several, np.column_stack([expected, -expected]), rtol=1e-12, atol=1e-10)


OPERATIONS = [
    check_shape, check_correlate, check_scan, check_gather, check_moments, check_margins,
]  # fmt: skip


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS.keys())
def test_every_operation(pair, wrap):
    """A solver would see another matrix than the user's on this storage."""
    X, twin = pair
    design, expected = wrap(as_design(X, n_threads=2), twin)
    gathered = None
    if sp.issparse(X):  # sparse columns are scaled but not centred when gathered
        gathered = expected - (wrap(as_design(0 * twin), 0 * twin)[1])
    for operation in OPERATIONS:
        operation(design, expected, gathered)


def test_moments_are_summed_in_float64():
    """Standard deviations of float32 columns would have three digits."""
    X = gaussian(4001, 5, dtype=np.float32)
    weight = np.random.default_rng(0).uniform(size=4001)
    total, square = as_design(X).moments(weight, 0, 5)
    twin = X.astype(np.float64)
    assert np.allclose(total, weight @ twin, rtol=1e-12)
    assert np.allclose(square, weight @ twin**2, rtol=1e-12)


@pytest.mark.parametrize(
    "X",
    [
        gaussian(3000, 600, dtype=np.float32), gaussian(3000, 600, order="F"),
        gaussian(3000, 600, dtype=np.int16), sparse(3000, 900), sparse(3000, 900, form="csr"),
        sparse(3000, 900, form="csr", unsorted=True),
    ],
)  # fmt: skip
def test_same_bits_for_any_number_of_threads(X):
    """A result could not be reproduced on another machine."""
    rng = np.random.default_rng(0)
    v, weight = rng.standard_normal((3000, 3)), rng.uniform(size=3000)
    answers = []
    for n_threads in (1, 2, 7):
        design = as_design(X, n_threads=n_threads)
        model = center_scale(design, weight, center=True)
        gathered = model.gather(np.arange(0, 600, 7))
        gathered = gathered.toarray() if sp.issparse(gathered) else gathered
        answers.append((scan(design, v), *design.moments(weight, 0, 600), scan(model, v), gathered))
    for other in answers[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(answers[0], other, strict=True))


@pytest.mark.parametrize("form", ["csc", "csr"])
def test_blocks_do_not_show(form, monkeypatch):
    """The storage by row adds up blocks of rows, the converter blocks of columns."""
    monkeypatch.setattr(designs.arrays, "ROW_ENTRIES", 10)
    monkeypatch.setattr(designs.arrays, "BLOCK_ENTRIES", 10)
    monkeypatch.setattr(designs.arrays, "BLOCK_BYTES", 10)
    monkeypatch.setattr(designs.arrays, "COLUMNS_PER_THREAD", 1)
    monkeypatch.setattr(designs.arrays, "CONVERTED", 10)
    monkeypatch.setattr(designs.arrays, "GATHER_ROWS", 2)
    monkeypatch.setattr(designs.views, "LINE", 1)
    monkeypatch.setattr(designs.views.feature_blocks, "__defaults__", (10,))
    monkeypatch.setattr(designs.operations, "IN_MEMORY", 10)
    for X in (sparse(N, P, form=form), G.astype(np.int16), gaussian(N, P, order="F")):
        for wrap in WRAPPERS.values():
            twin = reference(X)
            design, expected = wrap(as_design(X), twin)
            gathered = None
            if sp.issparse(X):
                gathered = expected - wrap(as_design(0 * twin), 0 * twin)[1]
                assert design.block == (P if form == "csr" else max(1, 10 * P // X.nnz))
            for operation in OPERATIONS:
                operation(design, expected, gathered)
            center_scale(design, np.ones(design.shape[0]), center=True)


def test_wrappers_split_a_scan():
    """Folds that share one pass over the base would get wrong scores."""
    base = as_design(G)
    index = np.arange(5, 30)
    rows = Rows(base, index)
    model = center_scale(rows, np.ones(25), center=True)
    v = np.random.default_rng(0).standard_normal((25, 2))
    wrapper: Wrapper = model
    assert wrapper.base is rows
    assert rows.base is base
    lowered = rows.lower(model.lower(v))
    assert lowered.shape == (N, 2)
    assert np.array_equal(lowered[index], v)
    assert np.count_nonzero(lowered) == v.size
    scores = base.correlate(lowered, 0, P)
    before = scores.copy()
    lifted = model.lift(rows.lift(scores, model.lower(v), 0, P), v, 0, P)
    assert np.array_equal(lifted, model.correlate(v, 0, P))
    assert np.array_equal(scores, before)


def test_designs_pass_through():
    """A design of the user's own would be converted."""
    design = as_design(G)
    assert as_design(design) is design
    assert as_design(Scaled(design, None, np.ones(P))).base is design
    assert isinstance(design, Dense)
    assert isinstance(as_design(S), Sparse)


def test_data_frames():
    """Users of pandas and polars would have to convert."""
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    for table in (pd.DataFrame(G), pl.DataFrame(G)):
        assert np.array_equal(as_design(table).gather(slice(None)), G)
    nullable = pd.DataFrame({"a": pd.array([1, 2, None]), "b": pd.array([1, 2, 3])})
    with pytest.raises(ValueError, match=r"Input X contains NaN .* at row 2, column 0"):
        as_design(nullable.astype(object))
    mixed = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    with pytest.raises(ValueError, match=r"must hold numbers; got text in column 'b'"):
        as_design(mixed)


# Memory.


def test_slices_are_views_where_storage_permits():
    """Blocks of columns would be copied for nothing."""
    X = gaussian(N, P, order="F")
    view = as_design(X).gather(slice(2, 5))
    assert np.shares_memory(view, X)
    assert not view.flags.writeable
    assert X.flags.writeable
    columns = as_design(S).gather(slice(2, 5))
    assert np.shares_memory(columns.data, S.data)
    assert np.shares_memory(columns.indices, S.indices)
    assert not columns.data.flags.writeable
    assert not columns.indices.flags.writeable
    standard = center_scale(as_design(X), np.ones(N), center=True).gather(slice(2, 5))
    assert not np.shares_memory(standard, X)


def peak_bytes(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "make",
    [
        lambda: gaussian(2000, 2000, dtype=np.float16, order="F"),
        lambda: gaussian(2000, 2000, dtype=np.float32),
        lambda: gaussian(2000, 2000, dtype=np.int8, order="F"),
        lambda: gaussian(4000, 2000)[::2],
        lambda: gaussian(2000, 2000).astype(">f8"),
    ],
)
def test_nothing_of_the_size_of_dense_data_is_copied(make, monkeypatch):
    """Data that fit in memory once would not fit."""
    monkeypatch.setattr(designs.arrays, "CONVERTED", 1 << 15)
    X = make()
    v = np.ones(2000)

    def use():
        design = as_design(X)
        model = center_scale(design, v, center=True)
        scan(model, v)
        model.gather(np.arange(10))

    assert peak_bytes(use) < X.nbytes / 4


@pytest.mark.parametrize(
    "X",
    [
        sparse(2000, 2000, form="csr"), sparse(2000, 2000, unsorted=True),
        index_types(sparse(2000, 2000), np.int64, np.int32), sparse(2000, 2000, dtype=bool),
        index_types(sparse(2000, 2000), np.int64, np.int64),
        sparse(2000, 2000, dtype=np.int64), sparse(2000, 2000, dtype=np.float32),
    ],
)  # fmt: skip
def test_sparse_data_are_not_copied(X):
    """The same; integers are narrowed into an eighth of their size."""
    v = np.ones(2000)

    def use():
        design = as_design(X)
        model = center_scale(design, v, center=True)
        scan(model, v)
        model.gather(np.arange(10))

    size = X.data.nbytes + X.indices.nbytes
    assert peak_bytes(use) < size / 4


def test_rows_are_read_in_panels():
    """Sums would miss rows, or begin anew in every panel."""
    narrow = np.random.default_rng(0).standard_normal((150, 1000)).astype(np.float32)
    wide = np.tile(narrow, 120)  # rows of 480 kB: more than one panel
    v = np.random.default_rng(1).standard_normal((150, 2))
    few, many = (Dense(x, n_threads=2) for x in (narrow, wide))
    scores = many.correlate(v, 0, wide.shape[1]).reshape(120, 1000, 2)
    assert (scores == few.correlate(v, 0, 1000)).all()
    for found, one in zip(
        many.moments(v[:, 0] ** 2, 0, wide.shape[1]),
        few.moments(v[:, 0] ** 2, 0, 1000),
        strict=True,
    ):
        assert (found.reshape(120, 1000) == one).all()


@pytest.mark.parametrize("dtype", [np.int64, np.float16, ">f8"])
def test_converted_maps_by_row_are_read_by_rows(tmp_path, monkeypatch, dtype):
    """Each range of columns would read the whole file, or rows between two parts be left out."""
    monkeypatch.setattr(arrays, "CONVERTED", 64)  # 4 rows
    x = (8 * np.random.default_rng(0).standard_normal((37, 16))).astype(dtype)
    design = Dense(mapped(x, tmp_path), n_threads=2)
    parts = [rows for rows, _, _ in design._blocks(0, 16)]
    assert [part.stop - part.start for part in parts] == [4] * 9 + [1]
    v = np.random.default_rng(1).standard_normal((37, 2))
    exact = x.astype(np.float64)
    np.testing.assert_allclose(design.correlate(v, 0, 16), exact.T @ v, rtol=1e-12, atol=1e-12)
    assert (design.correlate(v[:, 0], 3, 9) == design.correlate(v, 0, 16)[3:9, 0]).all()
    for found, power in zip(design.moments(v[:, 0] ** 2, 0, 16), (1, 2), strict=True):
        np.testing.assert_allclose(found, v[:, 0] ** 2 @ exact**power, rtol=1e-12, atol=1e-12)


def test_memory_map_by_row_is_read_in_one_piece(tmp_path):
    """Every block would read every page of the file again."""
    X = mapped(gaussian(8, 50_000), tmp_path)
    assert as_design(X, n_threads=1).block == 50_000
    assert as_design(np.asfortranarray(X), n_threads=1).block == 50_000


def test_integers_are_narrowed_exactly():
    """Counts in int64 would cost eight times their size, or wrap."""
    for values, dtype in [
        ([0, 255], np.uint8), ([-128, 127], np.int8), ([0, 256], np.float32),
        ([-129, 0], np.float32), ([0, 1 << 24], np.float32), ([0, (1 << 24) + 1], np.float64),
    ]:  # fmt: skip
        X = sp.csc_array(np.array(values, dtype=np.int64).reshape(1, 2))
        design = as_design(X)
        assert design._data.dtype == dtype
        assert np.array_equal(design.gather(slice(None)).toarray(), [values])


# Hostile input.

HOSTILE_DENSE = [
    # X, error, text
    (np.ones(5), ValueError, "X must be two-dimensional .* 1 dimension.* Reshape your data"),
    (np.float64(3), ValueError, "X must be two-dimensional .* 0 dimension"),
    (np.ones((2, 3, 4)), ValueError, "X must be two-dimensional .* 3 dimension"),
    (None, ValueError, "got a NoneType with 0 dimension"),
    ({"a": 1}, ValueError, "got a dict with 0 dimension"),
    (np.ones((0, 3)), ValueError, r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\)"),
    (np.ones((3, 0)), ValueError, r"Found array with 0 feature\(s\) \(shape=\(3, 0\)\)"),
    ([[1, 2], [3]], ValueError, "X must be a rectangular table of numbers; got a list"),
    (np.ones((2, 2), complex), ValueError, "Complex data not supported: .* got dtype complex128"),
    (np.ones((2, 2), "M8[s]"), TypeError, r"X must hold real numbers; got dtype datetime64\[s\]"),
    (np.ones((2, 2), "m8[s]"), TypeError, r"X must hold real numbers; got dtype timedelta64"),
    (np.zeros((2, 2), [("a", float)]), TypeError, "X must hold real numbers; got dtype"),
    (np.array([["1", "2"]]), ValueError, "got strings .* '1' at row 0, column 0"),
    (np.array([["1", "2"]]).astype("S"), ValueError, "got strings"),
    (np.ma.masked_equal([[1, 2], [3, 0]], 0), ValueError, r"masked entries.*; got 1.* \(1, 1\)"),
    ([[1.0, "a"], [2, 3]], ValueError, "X must hold numbers; got strings"),
    (np.array([[1, 2], [3, "4"]], object), ValueError, "the text '4' at row 1, column 1"),
    (np.array([[1, 2], [None, 3]], object), ValueError, r"contains NaN \(None\) at row 1, col"),
    (np.array([[1, 2], [3, {}]], object), TypeError, "row 1, column 1 .*argument must be a string"),
    (np.array([[1, 2j]], object), ValueError, "Complex data not supported: got 2j at row 0, col"),
    (np.array([[1, 10**400]], object), ValueError, "too large for float64 at row 0, column 1"),
]  # fmt: skip


@pytest.mark.parametrize(("X", "error", "text"), HOSTILE_DENSE)
def test_hostile_dense_input(X, error, text):
    """A crash, or an answer for another matrix than the user meant."""
    with pytest.raises(error, match=text):
        as_design(X)


def test_masked_arrays_without_masked_entries():
    """Arrays that are whole would be refused for their type."""
    X = np.ma.masked_equal([[1.0, 2.0], [3.0, 4.0]], 0)
    assert np.array_equal(as_design(X).gather(slice(None)), X.data)


def test_numbers_of_any_kind_in_objects():
    """Tables of mixed integers and floats would be refused."""
    from decimal import Decimal
    from fractions import Fraction

    X = np.array([[1, 2.5, True], [np.int8(3), Fraction(1, 2), np.float16(1)]], object)
    assert np.array_equal(as_design(X).gather(slice(None)), [[1, 2.5, 1], [3, 0.5, 1]])
    assert as_design(np.array([[Decimal("1.5")]], object)).gather(slice(None))[0, 0] == 1.5


def test_large_integers_do_not_wrap():
    """2**64 - 1 would become -1."""
    X = np.array([[2**64 - 1, 0], [2**63, 1]], np.uint64)
    assert np.array_equal(as_design(X).gather(slice(None)), X.astype(float))
    assert np.array_equal(as_design(sp.csr_array(X)).gather(slice(None)).toarray(), X.astype(float))
    assert np.array_equal(scan(as_design(X), np.ones(2)), [2.0**64 + 2.0**63, 1.0])


def test_paths(tmp_path):
    """Unpickling, or a crash, instead of an error."""
    np.save(tmp_path / "objects.npy", np.array([[1, "a"]], object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"the path '.*objects.npy', which cannot be read as one"):
        as_design(tmp_path / "objects.npy")
    (tmp_path / "text.csv").write_text("1,2\n3,4\n")
    with pytest.raises(ValueError, match="which cannot be read as one"):
        as_design(str(tmp_path / "text.csv"))
    (tmp_path / "empty.npy").touch()
    with pytest.raises(ValueError, match="which cannot be read as one"):
        as_design(tmp_path / "empty.npy")
    np.save(tmp_path / "full.npy", G)
    (tmp_path / "short.npy").write_bytes((tmp_path / "full.npy").read_bytes()[:-100])
    with pytest.raises(ValueError, match="which cannot be read as one"):
        as_design(tmp_path / "short.npy")
    with pytest.raises(FileNotFoundError):
        as_design(tmp_path / "nothing.npy")


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, True, "2", 1025, 10**11, 10**30])
def test_wrong_n_threads(n_threads):
    """A hang or a crash in the kernels."""
    with pytest.raises(
        (TypeError, ValueError), match="n_threads must be an integer from 1 to 1024"
    ):
        as_design(G, n_threads=n_threads)


def test_number_of_threads():
    """Another number would be started than was asked for."""
    assert as_design(G, n_threads=1024).n_threads == 1024
    assert as_design(G).n_threads == len(os.sched_getaffinity(0))
    assert Scaled(Rows(as_design(S, n_threads=3), np.arange(4)), None, np.ones(P)).n_threads == 3


def broken(form, **arrays):
    X = S.asformat(form).copy()
    for name, change in arrays.items():
        value = getattr(X, name).copy()
        if callable(change):
            value = change(value)
        else:
            value[change[0]] = change[1]
        setattr(X, name, value)
    return X


def coo_with(row=None, col=None, drop=0):
    X = S.tocoo().copy()
    r, c = X.row.copy(), X.col.copy()
    if row is not None:
        r[4] = row
    if col is not None:
        c[5] = col
    X.coords = (r, c)
    X.data = X.data[drop:]
    return X


def lil_with(column):
    X = S.tolil()
    i = next(i for i in range(N) if len(X.rows[i]) > 1)
    X.rows[i][-1] = column
    return X


def bsr_with(column):
    X = sparse(36, 12).tobsr((3, 4))
    X.indices[2] = column
    return X


def dia_with(**arrays):
    X = S.todia()
    for name, change in arrays.items():
        setattr(X, name, change(getattr(X, name).copy()))
    return X


HOSTILE_SPARSE = [
    (lambda: broken("csc", indices=(-1, 71)), "X has row index 71 in column 10, but only 37 rows"),
    (lambda: broken("csc", indices=(0, 37)), "X has row index 37 in column 0, but only 37 rows"),
    (lambda: broken("csc", indices=(0, -1)), "X has row index -1 in column 0, but only 37 rows"),
    (lambda: broken("csr", indices=(0, 99)), "X has column index 99 in row .*, but only 11 col"),
    (lambda: broken("csr", indices=(0, -5)), "X has column index -5 in row .*, but only 11 column"),
    (lambda: broken("csc", indptr=(3, 999)), r"X has indptr\[3\] = 999 after \d+; indptr must asc"),
    (lambda: broken("csc", indptr=(3, 0)), r"X has indptr\[3\] = 0 after \d+"),
    (lambda: broken("csc", indptr=(3, -7)), r"X has indptr\[3\] = -7 after"),
    (lambda: broken("csr", indptr=(0, 1)), r"X has indptr\[0\] = 1; indptr must ascend from 0"),
    (lambda: broken("csr", indptr=(-1, 10**9)), r"X has indptr\[37\] = 1000000000 after"),
    (lambda: broken("csc", indptr=lambda a: a + 2**32 * (a > 9).astype(int)), "indptr must ascend"),
    (lambda: broken("csc", indptr=lambda a: a[:-1]), "indptr of length 11; .* of length 12"),
    (lambda: broken("csc", indptr=lambda a: np.append(a, a[-1])), "indptr of length 13"),
    (lambda: broken("csr", indptr=lambda a: a[:0]), "indptr of length 0"),
    (lambda: broken("csc", indptr=lambda a: a.reshape(1, -1)), "an indptr of integers in one"),
    (lambda: broken("csc", indptr=lambda a: a.astype(float)), "an indptr of integers in one"),
    (lambda: broken("csc", indices=lambda a: a + 0.5), "an indices of integers in one dimension"),
    (lambda: broken("csc", indices=lambda a: a[:-3]), r"X has \d+ indices but values of shape"),
    (lambda: broken("csc", data=lambda a: a[:-3]), r"X has \d+ indices but values of shape"),
    (lambda: broken("csc", data=lambda a: np.column_stack([a, a])), "store one value per entry"),
    (lambda: broken("csr", data=lambda a: np.append(a, 1.0), indices=lambda a: np.append(a, 1)),
     r"stored values but its indptr ends at \d+; call X.prune\(\)"),
    (lambda: broken("csc", indices=lambda a: a.astype(np.uint64) + np.uint64(2**63)), "row index"),
    (lambda: coo_with(row=37), "X has row index 37 in entry 4, but only 37 rows"),
    (lambda: coo_with(row=-1), "X has row index -1 in entry 4, but only 37 rows"),
    (lambda: coo_with(col=2**31 - 1), "X has column index 2147483647 in entry 5, but only 11 col"),
    (lambda: coo_with(drop=1), "the three must be equal"),
    (lambda: lil_with(11), "X has column index 11 in row"),
    (lambda: lil_with(-3), "X has column index -3 in row"),
    (lambda: bsr_with(3), "X has column index 3 in row"),
    (lambda: dia_with(offsets=lambda a: a + 40), "offsets between -36 and 10; got"),
    (lambda: dia_with(offsets=lambda a: 0 * a), "X must have different offsets"),
    (lambda: dia_with(offsets=lambda a: a[:-1]), "every offset needs one row of values"),
    (lambda: dia_with(data=lambda a: a[0]), "every offset needs one row of values"),
    (lambda: sp.csc_array((0, 3)), r"Found array with 0 sample\(s\)"),
    (lambda: sp.csr_array((3, 0)), r"Found array with 0 feature\(s\)"),
    (lambda: S.astype(complex), "Complex data not supported"),
    (lambda: sp.coo_array(np.ones(4)), "X must be two-dimensional"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "text"), HOSTILE_SPARSE)
def test_hostile_sparse_input(make, text):
    """A kernel, or SciPy itself, would read outside the arrays."""
    X = make()
    before = copies(X)
    with pytest.raises(ValueError, match=text):
        as_design(X)
    assert all(np.array_equal(a, b) for a, b in zip(before, copies(X), strict=True))


def test_sparse_objects_are_refused():
    """Text would be converted."""
    X = S.copy()
    X.data = X.data.astype(object)
    with pytest.raises(TypeError, match="X must hold real numbers; got a sparse object"):
        as_design(X)


POISON = {
    "dense C": lambda x: x,
    "dense F": np.asfortranarray,
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "csc": sp.csc_array,
    "csr": sp.csr_array,
    "csr unsorted": lambda x: reversed_entries_nan(sp.csr_array(x)),
}


def reversed_entries_nan(X):
    """`reversed_entries` for data with NaN, which is not equal to itself."""
    data, X.data = X.data, np.arange(1.0, X.nnz + 1)
    X = reversed_entries(X)
    X.data = data[X.data.astype(int) - 1]
    return X


@pytest.mark.parametrize("store", POISON.values(), ids=POISON.keys())
@pytest.mark.parametrize(
    ("value", "text"),
    [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")],
)
def test_nan_and_infinity_are_located(store, value, text):
    """The user would have to search for it; or every entry but this one would be checked."""
    x = gaussian(60, 40)
    for row, column in ((0, 0), (3, 17), (59, 39)):
        poisoned = x.copy()
        poisoned[row, column] = value
        poisoned[min(row + 1, 59), column] = np.nan
        poisoned[row, column] = value
        design = as_design(store(poisoned))
        message = f"Input X contains {text} at row {row}, column {column};"
        weight = np.ones(60)
        with pytest.raises(ValueError, match=message):
            center_scale(design, weight, center=True)
        with pytest.raises(ValueError, match=message):
            scan(design, weight)
        with pytest.raises(ValueError, match=message):
            scan(Scaled(design, np.zeros(40), np.ones(40)), weight)
        with pytest.raises(ValueError, match=message):
            locate_nonfinite(design)
        with pytest.raises(ValueError, match=message):
            margins(design, np.array([column]), np.ones(1), 0.0)
        # Through wrappers the row is the one of the user's matrix, also if it is not selected.
        for index in (np.arange(60)[::-1], np.delete(np.arange(60), row)):
            rows = Rows(design, index)
            with pytest.raises(ValueError, match=message):
                center_scale(rows, np.ones(index.size), center=True)
            with pytest.raises(ValueError, match=message):
                scan(Scaled(rows, None, np.ones(40)), np.ones(index.size))


def test_first_of_several_is_named():
    """The message would change with the blocks."""
    x = gaussian(20, 9)
    x[15, 4] = x[7, 4] = np.nan
    x[0, 8] = np.inf
    for store in POISON.values():
        with pytest.raises(ValueError, match="NaN at row 7, column 4"):
            locate_nonfinite(as_design(store(x)))


@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sp.csc_array, sp.csr_array])
def test_too_large_values(store):
    """A silent model without this column."""
    x = gaussian(20, 9)
    x[3, 5] = 1e300
    with pytest.raises(ValueError, match=r"too large in column 5 \(up to 1e\+300 in magnitude\)"):
        center_scale(as_design(store(x)), np.ones(20), center=True)
    x[3, 5] = 1e308
    v = np.full(20, 100.0)
    with pytest.raises(ValueError, match=r"too large in column 5 \(up to 1e\+308"):
        scan(as_design(store(x)), v)
    with pytest.raises(ValueError, match=r"too large in column 5 \(up to 1e\+308"):
        locate_nonfinite(as_design(store(x)))


def test_vector_that_is_not_finite():
    """X would be blamed."""
    v = np.ones(N)
    v[3] = np.inf
    with pytest.raises(ValueError, match="vector of a scan is not finite although X is"):
        locate_nonfinite(as_design(G), v)
    with pytest.raises(ValueError, match="too large in column"):
        locate_nonfinite(as_design(G))


def test_shapes_are_checked_before_kernels():
    """A kernel would read outside the arrays."""
    for design in (as_design(G), as_design(S), as_design(S.tocsr()), Rows(as_design(G), [1, 2])):
        n = design.shape[0]
        with pytest.raises(ValueError, match=f"v must have {n} rows"):
            design.correlate(np.ones(n + 1), 0, P)
        with pytest.raises(ValueError, match=f"v must have {n} rows"):
            design.moments(np.ones(n - 1), 0, P)
        for start, stop in ((0, P + 1), (-1, 2), (3, 2)):
            with pytest.raises(ValueError, match="start and stop must be between 0 and 11"):
                design.correlate(np.ones(n), start, stop)
        for features in ([P], [-1, 0]):
            with pytest.raises(IndexError, match="features must be between 0 and 10"):
                design.gather(np.array(features))


def test_wrong_wrappers():
    """Rows taken twice would be counted once."""
    design = as_design(G)
    with pytest.raises(ValueError, match="index must not name a row twice"):
        Rows(design, np.array([1, 2, 1]))
    with pytest.raises(ValueError, match="index must be between 0 and 36"):
        Rows(design, np.array([1, 37]))
    with pytest.raises(ValueError, match="index must be a one-dimensional array"):
        Rows(design, np.array([], dtype=int))
    with pytest.raises(ValueError, match=r"scale must have shape \(11,\)"):
        Scaled(design, None, np.ones(3))


# Centring and scaling.


def exact_moments(x, weight):
    """Mean and standard deviation of each column in extended precision."""
    x, s = x.astype(np.longdouble), weight.astype(np.longdouble)
    mean = s @ x / s.sum()
    return mean, np.sqrt(s @ (x - mean) ** 2 / s.sum())


@pytest.mark.parametrize("store", POISON.values(), ids=POISON.keys())
def test_center_scale(store):
    """Selection would happen on other scales than stated."""
    x = gaussian(50, 12)
    x[:, 3] = 0.1
    x[:, 7] = 0.0
    x[::2, 8] = 0.0
    x[1::2, 8] = -0.0
    design = as_design(store(x))
    stored = design.gather(slice(None))
    stored = stored.toarray() if sp.issparse(stored) else stored
    weight = np.random.default_rng(0).uniform(0.1, 2, 50)
    mean, std = exact_moments(stored, weight)
    constant = [3, 7, 8]
    for center in (True, False):
        model = center_scale(design, weight, center=center)
        assert np.array_equal(np.flatnonzero(model.scale == 0), constant)
        live = np.setdiff1d(np.arange(12), constant)
        assert np.allclose(model.scale[live], 1 / std[live].astype(float), rtol=1e-12)
        if center and not sp.issparse(design.gather(slice(0, 1))):
            assert np.allclose(model.mean, mean.astype(float), rtol=1e-12, atol=1e-13)
            columns = model.gather(slice(None))
            assert np.allclose(weight @ columns, 0, atol=1e-10)
            assert np.allclose(weight @ columns[:, live] ** 2 / weight.sum(), 1)
        else:
            assert model.mean is None
        scores = scan(model, np.random.default_rng(1).standard_normal(50))
        assert np.array_equal(scores[constant], np.zeros(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.1, 1e8, -3e-7, 1e-12, 1.0, 16777217.0, 1e30])
@pytest.mark.parametrize("n", [3, 1000])
def test_constant_columns(dtype, value, n):
    """Rounding of a constant would be selected as a feature."""
    x = np.full((n, 3), value, dtype=dtype)
    x[:, 1] = np.arange(n)
    weight = np.random.default_rng(n).uniform(0.1, 1, n)
    for X in (x, sp.csc_array(x), sp.csr_array(x)):
        scale = center_scale(as_design(X), weight, center=True).scale
        assert scale[0] == 0
        assert scale[1] > 0
        assert scale[2] == 0


def test_constant_where_it_counts():
    """A column that varies only in rows of weight 0 is constant."""
    x = gaussian(30, 4) + 1e5
    x[:20, 2] = 7.0
    weight = np.ones(30)
    weight[20:] = 0
    model = center_scale(as_design(x), weight, center=True)
    assert np.array_equal(model.scale == 0, [False, False, True, False])
    assert np.all(center_scale(as_design(x[:1]), np.ones(1), center=True).scale == 0)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [30.0, 1e3, 1e5, 1e6])
def test_columns_far_from_zero(dtype, order, offset):
    """Scores of float32 columns with a large mean would be the rounding of a difference."""
    rng = np.random.default_rng(0)
    n, p = 2000, 40
    x = rng.standard_normal((n, p))
    x[:, ::2] += offset
    x = np.asarray(x, dtype=dtype, order=order)
    v = rng.standard_normal((n, 2)) + 0.5
    mean, std = exact_moments(x, np.ones(n))
    assert np.all(std > 0)
    standard = (x - mean) / std
    expected = (standard.T @ v).astype(float)
    design = as_design(x)
    model = center_scale(design, np.ones(n), center=True)
    assert np.allclose(model.scale, 1 / std.astype(float), rtol=1e-9)
    if dtype == np.float32 and offset > 100:
        assert np.array_equal(model.delicate, np.arange(0, p, 2))
    tolerance = 1e-8 if dtype == np.float64 else 1e-5
    assert np.allclose(scan(model, v), expected, rtol=0, atol=tolerance * np.linalg.norm(v) * 45)
    if dtype == np.float32 and offset > 100:
        assert np.allclose(scan(model, v)[::2], expected[::2], rtol=1e-9, atol=1e-7)
    part = model.correlate(v, 7, 20)
    assert np.allclose(part, scan(model, v)[7:20], rtol=1e-9, atol=1e-9)
    assert np.array_equal(model.correlate(v[:, 0], 7, 20), part[:, 0])
    total, square = model.moments(np.ones(n), 3, 20)
    assert np.allclose(total, 0, atol=1e-6)
    assert np.allclose(square, n, rtol=1e-6)
    index = np.arange(0, n, 2)
    rows = center_scale(Rows(design, index), np.ones(n // 2), center=True)
    mean, std = exact_moments(x[index], np.ones(n // 2))
    expected = (((x[index] - mean) / std).T @ v[index]).astype(float)
    assert np.allclose(
        scan(rows, v[index]), expected, rtol=0, atol=tolerance * np.linalg.norm(v) * 45
    )


def test_scales_from_tiny_to_huge():
    """The support would depend on the units."""
    x = gaussian(80, 25)
    units = 10.0 ** np.arange(-12, 13)
    v = np.random.default_rng(0).standard_normal(80)
    plain = scan(center_scale(as_design(x), np.ones(80), center=True), v)
    for X in (x * units, (x * units).astype(np.float32)):
        other = scan(center_scale(as_design(X), np.ones(80), center=True), v)
        assert np.allclose(other, plain, rtol=1e-5, atol=1e-4)
    for factor in (1e-120, 1e140):
        other = scan(center_scale(as_design(x * factor), np.ones(80), center=True), v)
        assert np.allclose(other, plain, rtol=1e-9, atol=1e-9)


def test_denormals_are_constant():
    """The result would depend on the mode of the processor."""
    x = gaussian(30, 3)
    x[:, 1] *= 1e-310
    model = center_scale(as_design(x), np.ones(30), center=True)
    assert np.array_equal(model.scale == 0, [False, True, False])
    assert np.all(np.isfinite(scan(model, np.ones(30))))


def test_duplicated_columns_score_the_same():
    """Ties between equal columns would be broken by rounding."""
    x = gaussian(40, 300, dtype=np.float32)
    x[:, 123] = x[:, 7]
    x[:, 299] = x[:, 7]
    for X in (x, np.asfortranarray(x), sp.csc_array(x), sp.csr_array(x)):
        model = center_scale(as_design(X, n_threads=2), np.ones(40), center=True)
        scores = scan(model, x[:, 7].astype(np.float64) - x[:, 7].mean())
        assert scores[7] == scores[123] == scores[299]
        assert np.array_equal(top_features(scores, 3), [7, 123, 299])


def test_scan_error():
    """A certificate would claim more than its scores prove."""
    n, p = 5003, 30
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64, np.int8, np.int16, np.float16):
        for order in "CF":
            x = gaussian(n, p, dtype=dtype, order=order)
            design = as_design(x)
            v = rng.standard_normal(n) * 10.0 ** rng.uniform(-6, 0, n)
            exact = x.astype(np.longdouble).T @ v.astype(np.longdouble)
            norms = np.linalg.norm(x.astype(float), axis=0) * np.linalg.norm(v)
            error = design.scan_error
            assert np.all(np.abs(scan(design, v) - exact) <= error * norms)
            native = np.dtype(dtype) in (np.float32, np.int8)
            assert error == FLOAT32_SCAN_ERROR if native else error < 1e-11
            wrapped = Scaled(Rows(design, np.arange(9)), None, np.ones(p))
            assert wrapped.scan_error == error
    assert as_design(sparse(N, P, dtype=np.float32)).scan_error < 1e-13


# top_features.


@pytest.mark.parametrize("k", [0, 1, 4, 39, 40, 100])
def test_top_features(k):
    """The wrong features would be picked, or others from run to run."""
    rng = np.random.default_rng(k)
    for scores in (rng.standard_normal(40), rng.integers(-2, 3, 40).astype(float), np.zeros(40)):
        before = scores.copy()
        order = np.argsort(-np.abs(scores), kind="stable")
        assert np.array_equal(top_features(scores, k), order[:k])
        assert np.array_equal(scores, before)
        assert top_features(scores, k).dtype == np.int64


def figures(x):
    """Return sums of scans and of gathered columns in several storages."""
    found = []
    for X in (x, x.astype(np.float32), sp.csc_array(x), sp.csr_array(x)):
        model = center_scale(as_design(X, n_threads=2), np.ones(len(x)), center=True)
        Z = model.gather(np.array([4, 1, 1]))
        c = scan(model, np.arange(len(x), dtype=float))
        found.append([float(a) for a in (*c, Z.sum(), (Z**2).sum())])
    return found


def test_scans_by_the_twins(monkeypatch):
    """Designs would not need of a kernel what its twin does, or more."""
    native = np.array(figures(G))
    with_twins(monkeypatch)
    twins = np.array(figures(G))
    assert np.allclose(native, twins, rtol=1e-4, atol=1e-3)
    assert np.allclose(native[[0, 2, 3]], twins[[0, 2, 3]], rtol=1e-9, atol=1e-9)


def stored_as(dense, form, index):
    """The matrix in CSR or CSC with indices of a type."""
    X = sp.csr_array(dense).asformat(form)
    X.indptr, X.indices = X.indptr.astype(index), X.indices.astype(index)
    return X


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.uint8])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_arranged_by_column(form, dtype, index):
    """A conversion would change values, or be made where columns can be read as they are."""
    rng = np.random.default_rng(0)
    dense = (rng.integers(0, 100, (70, 40)) * (rng.random((70, 40)) < 0.2)).astype(dtype)
    design = as_design(stored_as(dense, form, index))
    found = design.arranged(for_descent=True)
    assert (found is design) == (form == "csc" and dtype in (np.float32, np.float64))
    assert found.resident_columns() is not None
    assert found.resident_columns()[2].dtype == (np.float64 if dtype == np.float64 else np.float32)
    np.testing.assert_array_equal(found.gather(slice(0, 40)).toarray(), dense.astype(float))
    v = rng.standard_normal(70)
    np.testing.assert_allclose(found.correlate(v, 3, 30), dense[:, 3:30].T.astype(float) @ v)
    assert found.arranged(for_descent=True) is found


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_arranged_by_row(form, dtype, index):
    """Gram matrices of few columns with short rows would not be used, or be those of other data."""
    rng = np.random.default_rng(0)
    dense = (rng.integers(1, 100, (9000, 40)) * (rng.random((9000, 40)) < 0.2)).astype(dtype)
    design = as_design(stored_as(dense, form, index))
    found = design.arranged(for_descent=True)
    assert (found is design) == (form == "csr")
    assert found.resident_columns() is None
    indptr, indices, values = found.resident_rows()
    assert values.dtype == (np.float32 if form == "csc" and dtype == np.int8 else dtype)
    np.testing.assert_array_equal(
        sp.csr_array((values, indices, indptr), shape=dense.shape).toarray(), dense
    )
    assert found.arranged(for_descent=True) is found


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.int8])
@pytest.mark.parametrize("n", [60, 9000])
def test_arranged_for_scans(n, dtype, index):
    """Every gather would cost a pass over the rows; of columns nothing is to be copied."""
    rng = np.random.default_rng(0)
    dense = (rng.integers(1, 100, (n, 40)) * (rng.random((n, 40)) < 0.2)).astype(dtype)
    by_row, by_column = (as_design(stored_as(dense, form, index)) for form in ("csr", "csc"))
    found = by_row.arranged(for_descent=False)
    assert by_column.arranged(for_descent=False) is by_column
    assert found.arranged(for_descent=False) is found
    said, offsets = by_row.conversion_bytes(for_descent=False), 8 * 41
    assert found.resident_bytes - offsets <= said <= 2 * found.resident_bytes + 8 * n
    assert by_column.conversion_bytes(for_descent=False) == 0
    v = rng.standard_normal(n)
    assert np.array_equal(found.correlate(v, 0, 40), by_column.correlate(v, 0, 40))


def test_arranged_by_row_only_where_gram_matrices_are_cheap():
    """Products of pairs in long rows, of many columns or few rows would cost more than sweeps."""
    rng = np.random.default_rng(0)
    for n, p, density in ((9000, 40, 0.9), (4000, 600, 0.02), (1200, 320, 0.09), (500, 40, 0.2)):
        X = sp.random_array((n, p), density=density, rng=rng, format="csr")
        design = as_design(X).arranged(for_descent=True)
        assert design.resident_columns() is not None
        assert design.resident_rows() is None


def test_arranged_leaves_other_designs_alone(monkeypatch):
    """A file or a wrapper would be read into memory, or a huge matrix doubled."""
    X = np.ones((5, 3))
    rows = Rows(as_design(sp.csr_array(X)), np.arange(4))
    for design in (as_design(X), rows):
        assert design.arranged(for_descent=True) is design
    monkeypatch.setattr("zeronorm.data.arrays.MOST_CONVERTED", 14)
    design = as_design(sp.csr_array(X))
    assert design.arranged(for_descent=True) is design


@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e-3, 1.0, 1e10, 1e15])
@pytest.mark.parametrize("n", [1, 7, 3000])
def test_norm_bounds(n, scale):
    """Bounds of the error of float32 scans would be too small."""
    rng = np.random.default_rng(n)
    X = np.asfortranarray(scale * rng.standard_normal((n, 9)), dtype=np.float32)
    X[:, 3] = 0
    bounds, exact = as_design(X).norm_bounds(), np.linalg.norm(X.astype(float), axis=0)
    assert (bounds >= exact).all()
    if 1e-3 <= scale <= 1e10:
        np.testing.assert_allclose(bounds, exact, rtol=1e-3, atol=1e-15)


def test_norm_bounds_of_other_storages():
    """A file would be read for them, or float64 be rounded."""
    X = np.ones((5, 3))
    for stored in (X, np.ascontiguousarray(X, np.float32), X.astype(np.int8, order="F")):
        assert as_design(stored).norm_bounds() is None
    wide = np.asfortranarray(X, dtype=np.float32)
    assert as_design(1e25 * wide).norm_bounds() is None  # squares overflow
    assert score_errors(as_design(wide)) is not None
    np.testing.assert_allclose(
        score_errors(as_design(wide)),
        score_errors(as_design(np.ascontiguousarray(wide))),
        rtol=1e-3,
    )
