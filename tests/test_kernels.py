"""Native kernels against their NumPy twins, and what only the native ones promise."""

import threading
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from zeronorm._kernels import _native as native
from zeronorm._kernels import reference

DENSE_TYPES = (np.float32, np.float64, np.int8, np.uint8)
INDEX_TYPES = (np.int32, np.int64)
THREADS = (1, 2, 7)
# A busy machine makes any deadline a matter of luck.
LOOSE = settings(deadline=None, max_examples=60)
NAMES = [name for name in dir(reference) if getattr(native, name, None) is not None]
FUNCTIONS = [name for name in NAMES if not name.startswith("_") and name.islower()]

# Around the widths of the loops: 8 and 16 partial sums, 32 lanes, runs of 256, tiles of 4096.
EDGES = (0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 255, 256, 257, 300)
ROWS = st.sampled_from((*EDGES, 4095, 4097, 4400))
COLUMNS = st.sampled_from((0, 1, 2, 5, 15, 16, 17, 40))
VECTORS = st.sampled_from((0, 1, 2, 3, 8, 11))
LAYOUTS = ("F", "C", "every second row", "every third column", "reversed", "broadcast")


def dense(seed, n, p, dtype, layout):
    """(n, p) of a type and layout; read-only."""
    rng = np.random.default_rng(seed)
    shape = {"every second row": (2 * n, p), "every third column": (n, 3 * p), "broadcast": (1, p)}
    size = shape.get(layout, (n, p))
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, size, endpoint=True).astype(dtype)
    else:
        x = (rng.standard_normal(size) * 10 ** rng.uniform(-3, 3, size[1])).astype(dtype)
    views = {
        "F": np.asfortranarray,
        "C": np.ascontiguousarray,
        "every second row": lambda a: np.asfortranarray(a)[::2],
        "every third column": lambda a: a[:, ::3],
        "reversed": lambda a: a[::-1, ::-1],
        "broadcast": lambda a: np.broadcast_to(a, (n, p)),
    }
    x = views[layout](x)
    x.flags.writeable = False
    assert x.shape == (n, p)
    return x


def compressed(seed, major, minor, dtype=np.float64, index=np.int32, repeats=False, shuffled=False):
    """(indptr, indices, data) of `major` rows or columns, some of them empty; read-only."""
    rng = np.random.default_rng(seed)
    length = rng.integers(0, min(minor, 70) + 1, major) * (rng.random(major) < 0.8)
    rows = [rng.choice(minor, size, replace=repeats) if size else [] for size in length]
    if not shuffled:
        rows = [np.sort(row) for row in rows]
    indices = np.concatenate([*rows, []]).astype(index)
    indptr = np.concatenate([[0], np.cumsum(length)]).astype(index)
    data = (
        rng.integers(-9, 10, indices.size)
        if dtype != np.uint8
        else rng.integers(0, 255, indices.size)
    )
    data = (data * (1 if np.issubdtype(dtype, np.integer) else 0.37)).astype(dtype)
    for array in (indptr, indices, data):
        array.flags.writeable = False
    return indptr, indices, data


def big_compressed(index, unsorted):
    """CSR storage with enough entries for several threads, most of them in few columns."""
    rng = np.random.default_rng(5)
    n, p, length = 3000, 2000, 300
    minor = (p * rng.random((n, length)) ** 3).astype(index)
    if not unsorted:
        minor.sort(axis=1)
    indptr = np.arange(n + 1, dtype=index) * length
    return n, p, (indptr, minor.ravel(), rng.standard_normal(n * length).astype(np.float32))


def assert_close(found, expected, scale):
    """Equal up to the rounding of float64 sums whose terms have the magnitudes `scale`."""
    assert np.all(np.abs(found - expected) <= 1e-13 * scale + 1e-300)


def filled(*shape):
    """An output whose every element has to be overwritten."""
    return np.full(shape, np.nan)


def test_every_native_function_has_a_twin():
    # A kernel would go without specification, or the reference build miss it.
    public = {name for name in dir(native) if not name.startswith("_")}
    assert public <= set(NAMES)
    assert len(FUNCTIONS) == 9
    assert native.FLOAT32_SCAN_ERROR == reference.FLOAT32_SCAN_ERROR


# Dense


@given(
    seed=st.integers(0, 99),
    n=ROWS,
    p=COLUMNS,
    m=VECTORS,
    dtype=st.sampled_from(DENSE_TYPES),
    layout=st.sampled_from(LAYOUTS),
    power=st.sampled_from((-290, -40, 0, 40, 290)),
)
@LOOSE
def test_dense_correlate(seed, n, p, m, dtype, layout, power):
    # Scores would be wrong by more than the certificate allows for.
    x = dense(seed, n, p, dtype, layout)
    v = np.random.default_rng(seed).standard_normal((n, m)) * 10.0**power
    v.flags.writeable = False
    found, expected = filled(p, m), filled(p, m)
    native.dense_correlate(x, v, found, 2)
    reference.dense_correlate(x, v, expected, 1)
    wide = x.astype(np.float64)
    bound = np.linalg.norm(wide, axis=0)[:, None] * (
        np.linalg.norm(v / 10.0**power, axis=0) * 10.0**power
    )
    assert not np.isnan(found).any()
    if dtype == np.float64:
        assert_close(found, expected, bound)
    else:
        assert np.all(np.abs(found - expected) <= native.FLOAT32_SCAN_ERROR * bound)


@given(
    seed=st.integers(0, 99),
    n=ROWS,
    p=COLUMNS,
    dtype=st.sampled_from(DENSE_TYPES),
    layout=st.sampled_from(LAYOUTS),
)
@LOOSE
def test_dense_moments(seed, n, p, dtype, layout):
    # Columns would be standardised with a wrong mean or scale.
    x = dense(seed, n, p, dtype, layout)
    weight = np.random.default_rng(seed).random(n)
    found, expected = (filled(p), filled(p)), (filled(p), filled(p))
    native.dense_moments(x, weight, *found, 2)
    reference.dense_moments(x, weight, *expected, 1)
    wide = np.abs(x.astype(np.float64))
    assert_close(found[0], expected[0], weight @ wide)
    assert_close(found[1], expected[1], expected[1])


@pytest.mark.parametrize("layout", ["F", "C"])
@pytest.mark.parametrize("n", [8, 300, 5000])
def test_scan_error_bound_in_the_worst_direction(layout, n):
    # The certificate's margin for rounding would be too small: all roundings one way.
    rng = np.random.default_rng(n)
    x = np.asarray(1 + rng.random((n, 4)), dtype=np.float32, order=layout)
    # Each entry of v loses almost half a unit in the last place, all with the same sign.
    v = 1 + np.floor(rng.random((n, 1)) * 2**22) * 2.0**-22 + 2.0**-24 * 0.999
    found = filled(4, 1)
    native.dense_correlate(x, v, found, 1)
    for column, value in zip(x.T, found[:, 0], strict=True):
        pairs = zip(column.tolist(), v[:, 0].tolist(), strict=True)
        exact = sum(Fraction(a) * Fraction(b) for a, b in pairs)
        limit = native.FLOAT32_SCAN_ERROR * np.linalg.norm(column.astype(float)) * np.linalg.norm(v)
        error = abs(float(Fraction(float(value)) - exact))
        assert limit / 100 < error <= limit  # a hard case


@pytest.mark.parametrize("layout", ["F", "C", "every third column"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nonfinite_values_propagate(layout, dtype):
    # The audit by scan would miss a NaN or inf, even where v is zero, or blame its neighbours.
    x = np.array(dense(0, 601, 40, dtype, layout), order=layout[0] if len(layout) == 1 else "C")
    x[600, 3], x[0, 17], x[300, 39] = np.nan, np.inf, -np.inf
    v = np.zeros((601, 1))
    out, total, square = filled(40, 1), filled(40), filled(40)
    native.dense_correlate(x, v, out, 2)
    native.dense_moments(x, np.ones(601), total, square, 2)
    for found in (out[:, 0], total, square):
        assert np.array_equal(np.flatnonzero(~np.isfinite(found)), [3, 17, 39])


@pytest.mark.parametrize("layout", ["F", "C"])
def test_finite_float32_never_overflows(layout):
    # A column of huge but finite values would be reported as not finite.
    x = np.full((1000, 2), np.finfo(np.float32).max, order=layout, dtype=np.float32)
    v = np.full((1000, 2), [1e200, -3.7])
    out = filled(2, 2)
    native.dense_correlate(x, v, out, 1)
    assert np.allclose(out, 1000 * float(x[0, 0]) * v[:2], rtol=1e-6, atol=0)


@pytest.mark.parametrize("layout", ["F", "C", "every third column"])
@pytest.mark.parametrize("dtype", DENSE_TYPES)
def test_dense_bits(layout, dtype):
    # A result would depend on the threads, on how columns are cut into blocks, or on which scans
    # are merged into one pass.
    x = dense(1, 4500, 300, dtype, layout)
    rng = np.random.default_rng(0)
    v, weight = rng.standard_normal((4500, 11)), rng.random(4500)
    first = None
    for n_threads in THREADS:
        out, total, square = filled(300, 11), filled(300), filled(300)
        native.dense_correlate(x, v, out, n_threads)
        native.dense_moments(x, weight, total, square, n_threads)
        first = first or (out, total, square)
        assert all(map(np.array_equal, first, (out, total, square)))
    for k in (0, 1, 10):
        out = filled(300, 1)
        native.dense_correlate(x, np.ascontiguousarray(v[:, k : k + 1]), out, 2)
        assert np.array_equal(out[:, 0], first[0][:, k])
    for start, stop in ((0, 1), (7, 8), (5, 133), (299, 300)):
        out, total, square = filled(stop - start, 11), filled(stop - start), filled(stop - start)
        native.dense_correlate(x[:, start:stop], v, out, 2)
        native.dense_moments(x[:, start:stop], weight, total, square, 2)
        assert np.array_equal(out, first[0][start:stop])
        assert np.array_equal(total, first[1][start:stop])
        assert np.array_equal(square, first[2][start:stop])


def test_memory_map(tmp_path):
    # A file that is larger than memory could not be scanned in place.
    x = dense(2, 50, 30, np.float32, "C")
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    v = np.random.default_rng(0).standard_normal((50, 1))
    found, expected = filled(30, 1), filled(30, 1)
    native.dense_correlate(mapped, v, found, 1)
    native.dense_correlate(x, v, expected, 1)
    assert np.array_equal(found, expected)


def test_arrays_are_never_converted():
    # An output of another type would be copied, and the result silently lost.
    x, v = np.ones((3, 2), np.float32), np.ones((3, 1))
    read_only = filled(2, 1)
    read_only.flags.writeable = False
    wrong = [
        (x, v, np.empty((2, 1), np.float32)),
        (x, v, filled(4, 1)[::2]),
        (x, v, read_only),
        (x, v.astype(np.float32), filled(2, 1)),
        (x.astype(np.float16), v, filled(2, 1)),
        (x.astype(">f4"), v, filled(2, 1)),
        (x.astype(np.int64), v, filled(2, 1)),
        (x.tolist(), v, filled(2, 1)),
    ]
    for arguments in wrong:
        with pytest.raises(TypeError, match="incompatible function arguments"):
            native.dense_correlate(*arguments, 1)


# Sparse


@given(
    seed=st.integers(0, 99),
    n=st.sampled_from((1, 2, 16, 80, 300)),
    p=st.sampled_from((0, 1, 2, 17, 90)),
    m=VECTORS,
    dtype=st.sampled_from(DENSE_TYPES),
    index=st.sampled_from(INDEX_TYPES),
    repeats=st.booleans(),
    shuffled=st.booleans(),
)
@LOOSE
def test_csc(seed, n, p, m, dtype, index, repeats, shuffled):
    # Scores or moments of sparse columns would be wrong, where storage is canonical or not.
    x = compressed(seed, p, n, dtype, index, repeats, shuffled)
    check_sparse("csc", x, seed, n, p, m)


@given(
    seed=st.integers(0, 99),
    n=st.sampled_from((0, 1, 2, 16, 80, 300)),
    p=st.sampled_from((1, 2, 17, 90)),
    m=VECTORS,
    dtype=st.sampled_from(DENSE_TYPES),
    index=st.sampled_from(INDEX_TYPES),
    repeats=st.booleans(),
    shuffled=st.booleans(),
)
@LOOSE
def test_csr(seed, n, p, m, dtype, index, repeats, shuffled):
    # Scores or moments of sparse rows would be wrong, where storage is canonical or not.
    x = compressed(seed, n, p, dtype, index, repeats, shuffled)
    check_sparse("csr", x, seed, n, p, m)


def check_sparse(form, x, seed, n, p, m):
    rng = np.random.default_rng(seed)
    v, weight = rng.standard_normal((n, m)), rng.random(n)
    found, expected, scale = filled(p, m), filled(p, m), filled(p, m)
    getattr(native, f"{form}_correlate")(*x, v, found, 2)
    getattr(reference, f"{form}_correlate")(*x, v, expected, 1)
    absolute = (*x[:2], np.abs(x[2].astype(np.float64)))
    getattr(reference, f"{form}_correlate")(*absolute, np.abs(v), scale, 1)
    assert_close(found, expected, scale)
    found, expected = (filled(p), filled(p)), (filled(p), filled(p))
    getattr(native, f"{form}_moments")(*x, weight, *found, 2)
    getattr(reference, f"{form}_moments")(*x, weight, *expected, 1)
    scale = filled(p), filled(p)
    getattr(reference, f"{form}_moments")(*absolute, weight, *scale, 1)
    assert_close(found[0], expected[0], scale[0])
    assert_close(found[1], expected[1], scale[1])


@pytest.mark.parametrize("unsorted", [False, True])
@pytest.mark.parametrize("index", INDEX_TYPES)
def test_sparse_bits(index, unsorted):
    # A result would depend on the number of threads or on which scans are merged.
    n, p, rows = big_compressed(index, unsorted)
    x = sp.csr_array(rows[::-1], shape=(n, p))
    columns = sp.csc_array(x)
    columns = (columns.indptr.astype(index), columns.indices.astype(index), columns.data)
    rng = np.random.default_rng(0)
    v, weight = rng.standard_normal((n, 11)), rng.random(n)
    for form, storage in (("csr", rows), ("csc", columns)):
        first = None
        for n_threads in THREADS:
            out, total, square = filled(p, 11), filled(p), filled(p)
            getattr(native, f"{form}_correlate")(*storage, v, out, n_threads)
            getattr(native, f"{form}_moments")(*storage, weight, total, square, n_threads)
            first = first or (out, total, square)
            assert all(map(np.array_equal, first, (out, total, square)))
        assert np.allclose(first[0], x.T @ v, atol=1e-9)
        for k in (0, 8, 10):
            out = filled(p, 1)
            one = np.ascontiguousarray(v[:, k : k + 1])
            getattr(native, f"{form}_correlate")(*storage, one, out, 2)
            assert np.array_equal(out[:, 0], first[0][:, k])


@given(
    seed=st.integers(0, 99),
    n=st.sampled_from((0, 1, 16, 300)),
    p=st.sampled_from((1, 17, 90)),
    dtype=st.sampled_from(DENSE_TYPES),
    index=st.sampled_from(INDEX_TYPES),
    repeats=st.booleans(),
    shuffled=st.booleans(),
    share=st.sampled_from((0.0, 0.3, 1.0)),
)
@LOOSE
def test_csr_gather(seed, n, p, dtype, index, repeats, shuffled, share):
    # The small problem would be solved on other columns than the ones selected.
    x = compressed(seed, n, p, dtype, index, repeats, shuffled)
    rng = np.random.default_rng(seed)
    wanted = rng.permutation(p)[: int(share * p)]
    position = np.full(p, -1, np.int32)
    position[wanted] = np.arange(wanted.size)
    expected = reference.csr_gather(*x, position, wanted.size, 1)
    for n_threads in THREADS:
        found = native.csr_gather(*x, position, wanted.size, n_threads)
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)
    gathered = sp.csc_array(found[::-1], shape=(n, wanted.size)).toarray()
    assert np.allclose(
        gathered, sp.csr_array(x[::-1], shape=(n, p)).astype(float).toarray()[:, wanted]
    )


def test_csr_gather_from_many_rows():
    # Blocks of rows would be put together in the wrong order.
    _, p, rows = big_compressed(np.int32, unsorted=False)
    position = np.where(np.arange(p) % 7 == 0, np.arange(p) // 7, -1).astype(np.int32)
    k = int(position.max()) + 1
    expected = reference.csr_gather(*rows, position, k, 1)
    for n_threads in THREADS:
        found = native.csr_gather(*rows, position, k, n_threads)
        assert all(map(np.array_equal, found, expected))
        assert all(array.flags.writeable for array in found)


@given(
    seed=st.integers(0, 99),
    n=st.sampled_from((1, 16, 300)),
    q=st.sampled_from((0, 1, 8, 9, 33, 70)),
    index=st.sampled_from(INDEX_TYPES),
    repeats=st.booleans(),
    shuffled=st.booleans(),
)
@LOOSE
def test_sparse_gram(seed, n, q, index, repeats, shuffled):
    # Newton steps on sparse columns would use a wrong or unsymmetric Hessian.
    indptr, indices, data = compressed(seed, q, n, np.float64, index, repeats, shuffled)
    z = (indptr, indices.astype(np.int32), data)
    weight = np.random.default_rng(seed).standard_normal(n)
    found, expected, scale = filled(q, q), filled(q, q), filled(q, q)
    native.sparse_gram(*z, weight, found, 2)
    reference.sparse_gram(*z, weight, expected, 1)
    reference.sparse_gram(*z[:2], np.abs(data), np.abs(weight), scale, 1)
    assert_close(found, expected, scale)
    assert np.array_equal(found, found.T)


def test_sparse_gram_bits():
    # A fit would depend on the number of threads.
    z = compressed(0, 400, 3000)
    weight = np.random.default_rng(0).random(3000)
    results = [filled(400, 400) for _ in THREADS]
    for n_threads, out in zip(THREADS, results, strict=True):
        native.sparse_gram(*z, weight, out, n_threads)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


# Audit


@given(
    seed=st.integers(0, 99),
    major=st.sampled_from((0, 1, 2, 17, 60)),
    minor=st.sampled_from((1, 2, 17, 90)),
    index=st.sampled_from(INDEX_TYPES),
    repeats=st.booleans(),
    shuffled=st.booleans(),
)
@LOOSE
def test_audit_of_sound_storage(seed, major, minor, index, repeats, shuffled):
    # Sound storage would be refused, or its order and duplicates be misjudged.
    indptr, indices, _ = compressed(
        seed, major, minor, index=index, repeats=repeats, shuffled=shuffled
    )
    found = native.audit_indices(indptr, indices, minor)
    assert found == reference.audit_indices(indptr, indices, minor)
    assert found[:2] == (-1, -1)
    rows = [indices[a:b] for a, b in pairwise(indptr)]
    assert found[2] == all(np.all(np.diff(row) >= 0) for row in rows)
    assert found[3] == any(np.unique(row).size < row.size for row in rows)


@given(
    indptr=st.lists(st.integers(-3, 9) | st.sampled_from((-(2**31), 2**31 - 1)), max_size=7),
    indices=st.lists(st.integers(-2, 6) | st.sampled_from((-(2**31), 2**31 - 1)), max_size=8),
    minor=st.integers(0, 5) | st.just(2**40),
    index=st.sampled_from(INDEX_TYPES),
)
@settings(parent=LOOSE, max_examples=300)
def test_audit_of_anything(indptr, indices, minor, index):
    # Broken storage would reach a kernel, which reads where it is told to.
    arrays = np.array(indptr, dtype=index), np.array(indices, dtype=index)
    if minor == 2**40 and len(indices) > 1:
        minor = 2**31  # unsorted rows need a marker of this size
        arrays = arrays[0], np.sort(arrays[1])
    assert native.audit_indices(*arrays, minor) == reference.audit_indices(*arrays, minor)


@pytest.mark.parametrize(
    ("indptr", "indices", "expected"),
    [
        ([0, 2, 1, 3], [0, 1, 0], (2, -1, False, False)),
        ([0, 2, 4], [0, 1, 0], (2, -1, False, False)),
        ([0, -1, 3], [0, 1, 0], (1, -1, False, False)),
        ([1, 2, 3], [0, 1, 0], (0, -1, False, False)),
        ([0, 2, 3], [0, 5, 0], (-1, 1, False, False)),
        ([0, 2, 3], [0, 1, -1], (-1, 2, False, False)),
        ([0, 1, 2], [0, 1, 99], (-1, -1, True, False)),
        ([0, 2, 4], [1, 0, 0, 1], (-1, -1, False, False)),
        ([0, 3, 4], [1, 0, 1, 1], (-1, -1, False, True)),
        ([0, 2, 4], [0, 0, 1, 0], (-1, -1, False, True)),
        ([0, 1, 1, 1, 2], [1, 0], (-1, -1, True, False)),
        ([0], [], (-1, -1, True, False)),
        ([], [], (-1, -1, True, False)),
    ],
)
@pytest.mark.parametrize("index", INDEX_TYPES)
def test_audit_names_the_first_fault(indptr, indices, expected, index):
    # The message would point at the wrong entry.
    arrays = np.array(indptr, dtype=index), np.array(indices, dtype=index)
    for module in (native, reference):
        assert module.audit_indices(*arrays, 3) == expected


# Threads


def test_the_gil_is_released():
    # Progress bars and Ctrl-C would have to wait for the end of a scan.
    x = np.ones((3000, 3000), np.float32)
    v, out = np.ones((3000, 40)), filled(3000, 40)
    worker = threading.Thread(target=native.dense_correlate, args=(x, v, out, 1))
    ticks = 0
    worker.start()
    while worker.is_alive():
        worker.join(0.001)
        ticks += 1
    assert ticks > 3
    assert np.all(out == 3000)


@pytest.mark.parametrize("n_threads", [-1, 0, 1, 10**6])
def test_any_number_of_threads(n_threads):
    # More threads than work or than the system has, or none, would crash.
    x, v, out = np.ones((100, 50), np.int8), np.ones((100, 1)), filled(50, 1)
    native.dense_correlate(x, v, out, n_threads)
    assert np.all(out == 100)
