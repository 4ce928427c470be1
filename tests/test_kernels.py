"""Native kernels against their NumPy twins, and what only the native ones promise."""

import ast
import sys
import threading
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import reference_kernels as reference
from python_paths import with_twins
from zeronorm import BudgetClassifier, BudgetRegressor, L1Classifier, MeasureClassifier, _kernels
from zeronorm._kernels import _native as native
from zeronorm.data.gathered import as_columns
from zeronorm.losses import Cox, LeastSquares, Logistic, SquaredHinge
from zeronorm.solvers import ridge
from zeronorm.solvers.exchange import EXCHANGE, RULE, Exchanges
from zeronorm.solvers.problem import Risk
from zeronorm.solvers.ridge_fits import newton

DENSE_TYPES = (np.float32, np.float64, np.int8, np.uint8)
INDEX_TYPES = (np.int32, np.int64)
THREADS = (1, 2, 7)
# A busy machine makes any deadline a matter of luck.
LOOSE = settings(deadline=None, max_examples=25)
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
    n, p, length = 2000, 1000, 150
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


def stub():
    """The functions of the stub, by name."""
    tree = ast.parse(Path(_kernels.__file__).with_name("_native.pyi").read_text(encoding="utf-8"))
    return {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}


def test_every_function_is_in_the_stub():
    """Code that calls a native function would not be checked, or be without specification."""
    public = {name for name in dir(native) if not name.startswith("_")}
    assert public == {*stub(), "FLOAT32_SCAN_ERROR", "LANES"}
    assert len(FUNCTIONS) == 49
    assert native.FLOAT32_SCAN_ERROR == reference.FLOAT32_SCAN_ERROR
    assert native.LANES == reference.LANES


def test_kernels_have_twins():
    """A kernel would be without an oracle: compiled solvers alone have their ways in Python."""
    solvers = list(stub())[list(stub()).index("dense_ridge") :]
    assert set(stub()) - set(solvers) == {n for n in FUNCTIONS if not n.startswith("multinomial")}


MODELS = {
    "budget": BudgetClassifier(3, calibrate=False),
    "groups": BudgetClassifier(3, n_groups=2, feature_groups=np.arange(20) // 2, calibrate=False),
    "counts": BudgetRegressor(3, loss="poisson"),
    "l1": L1Classifier(0.3),
    "measure": MeasureClassifier("f1", 3, tol=1e-6),
}


@pytest.mark.parametrize("store", [np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("name", MODELS)
def test_whole_fits_are_those_of_the_twins(name, store, monkeypatch):
    """A caller would rely on what a kernel does beside what is said of it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 20)) * (rng.random((60, 20)) < 0.7)
    y = X[:, 2] - X[:, 7] + X[:, 11] + 0.5 * rng.standard_normal(60)
    y = rng.poisson(np.exp(0.5 * y)) if name == "counts" else y > 0
    found = clone(MODELS[name]).fit(store(X), y)
    with_twins(monkeypatch)
    expected = clone(MODELS[name]).fit(store(X), y)
    np.testing.assert_array_equal(found.support_, expected.support_)
    rounding = 0.02 if name == "measure" else 1e-6  # cutting planes end within their tolerance
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=rounding, atol=1e-9)


def test_twins_rest_on_numpy_scipy_and_types_alone():
    """A twin that calls a solver would specify a kernel by that kernel."""
    roots = {"numpy", "scipy", *sys.stdlib_module_names}
    for path in Path(reference.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                modules = [] if node.level == 1 else ["." * node.level + (node.module or "")]
            else:
                modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                assert module.split(".")[0] in roots or module == "zeronorm.core.types", path


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
    """Scores would be wrong by more than the certificate allows for."""
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
    """Columns would be standardised with a wrong mean or scale."""
    x = dense(seed, n, p, dtype, layout)
    weight = np.random.default_rng(seed).random(n)
    found, expected = (filled(p), filled(p)), (filled(p), filled(p))
    native.dense_moments(x, weight, *found, 2)
    reference.dense_moments(x, weight, *expected, 1)
    wide = np.abs(x.astype(np.float64))
    assert_close(found[0], expected[0], weight @ wide)
    assert_close(found[1], expected[1], expected[1])


@pytest.mark.parametrize("layout", ["F", "C"])
@pytest.mark.parametrize("n", [8, 1000])
def test_scan_error_bound_in_the_worst_direction(layout, n):
    """The certificate's margin for rounding would be too small: all roundings one way."""
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
    """The audit by scan would miss a NaN or inf, even where v is zero, or blame its neighbours."""
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
    """A column of huge but finite values would be reported as not finite."""
    x = np.full((1000, 2), np.finfo(np.float32).max, order=layout, dtype=np.float32)
    v = np.full((1000, 2), [1e200, -3.7])
    out = filled(2, 2)
    native.dense_correlate(x, v, out, 1)
    assert np.allclose(out, 1000 * float(x[0, 0]) * v[:2], rtol=1e-6, atol=0)


@pytest.mark.parametrize("layout", ["F", "C", "every third column"])
@pytest.mark.parametrize("dtype", DENSE_TYPES)
def test_dense_bits(layout, dtype):
    """A result would depend on the threads, on how columns are cut into blocks, or on which
    scans are merged into one pass.
    """
    x = dense(1, 4500, 150, dtype, layout)
    rng = np.random.default_rng(0)
    v, weight = rng.standard_normal((4500, 11)), rng.random(4500)
    first = None
    for n_threads in THREADS:
        out, total, square = filled(150, 11), filled(150), filled(150)
        native.dense_correlate(x, v, out, n_threads)
        native.dense_moments(x, weight, total, square, n_threads)
        first = first or (out, total, square)
        assert all(map(np.array_equal, first, (out, total, square)))
    for k in (0, 1, 10):
        out = filled(150, 1)
        native.dense_correlate(x, np.ascontiguousarray(v[:, k : k + 1]), out, 2)
        assert np.array_equal(out[:, 0], first[0][:, k])
    for start, stop in ((0, 1), (7, 8), (5, 133), (149, 150)):
        out, total, square = filled(stop - start, 11), filled(stop - start), filled(stop - start)
        native.dense_correlate(x[:, start:stop], v, out, 2)
        native.dense_moments(x[:, start:stop], weight, total, square, 2)
        assert np.array_equal(out, first[0][start:stop])
        assert np.array_equal(total, first[1][start:stop])
        assert np.array_equal(square, first[2][start:stop])


def test_arrays_are_never_converted():
    """An output of another type would be copied, and the result silently lost."""
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


@pytest.mark.parametrize("form", ["csc", "csr"])
@given(
    seed=st.integers(0, 99),
    n=st.sampled_from((1, 2, 16, 80)),
    p=st.sampled_from((1, 2, 17, 90)),
    m=VECTORS,
    dtype=st.sampled_from(DENSE_TYPES),
    index=st.sampled_from(INDEX_TYPES),
    repeats=st.booleans(),
    shuffled=st.booleans(),
    empty=st.sampled_from((False, False, False, True)),
)
@LOOSE
def test_sparse_scans(form, seed, n, p, m, dtype, index, repeats, shuffled, empty):
    """Scores or moments of sparse data would be wrong, where storage is canonical or not."""
    n, p = (n, 0) if empty and form == "csc" else (0, p) if empty else (n, p)
    major, minor = (p, n) if form == "csc" else (n, p)
    x = compressed(seed, major, minor, dtype, index, repeats, shuffled)
    rng = np.random.default_rng(seed)
    v, weight = rng.standard_normal((n, m)), rng.random(n)
    found, expected, scale = filled(p, m), filled(p, m), filled(p, m)
    getattr(native, f"{form}_correlate")(*x, v, found, 2)
    getattr(reference, f"{form}_correlate")(*x, v, expected, 1)
    absolute = (*x[:2], np.abs(x[2].astype(np.float64)))
    getattr(reference, f"{form}_correlate")(*absolute, np.abs(v), scale, 1)
    assert_close(found, expected, scale)
    found, expected, scale = ((filled(p), filled(p)) for _ in range(3))
    getattr(native, f"{form}_moments")(*x, weight, *found, 2)
    getattr(reference, f"{form}_moments")(*x, weight, *expected, 1)
    getattr(reference, f"{form}_moments")(*absolute, weight, *scale, 1)
    assert_close(found[0], expected[0], scale[0])
    assert_close(found[1], expected[1], scale[1])


@pytest.mark.parametrize("unsorted", [False, True])
@pytest.mark.parametrize("index", INDEX_TYPES)
def test_sparse_bits(index, unsorted):
    """A result would depend on the number of threads or on which scans are merged."""
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


def rearranged(module, storage, p, wanted, n_threads):
    """CSR as CSC, of all columns and of some in their order."""
    position = np.full(p, -1, np.int32)
    position[wanted] = np.arange(wanted.size)
    all_columns = module.csr_to_csc(*storage, p, n_threads)
    return [*all_columns, *module.csr_gather(*storage, position, wanted.size, n_threads)]


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
def test_csr_by_column(seed, n, p, dtype, index, repeats, shuffled, share):
    """Entries would change place, order or value, or the columns be others than those selected."""
    x = compressed(seed, n, p, dtype, index, repeats, shuffled)
    wanted = np.random.default_rng(seed).permutation(p)[: int(share * p)]
    expected = rearranged(reference, x, p, wanted, 1)
    for n_threads in THREADS:
        found = rearranged(native, x, p, wanted, n_threads)
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)
    dense = sp.csr_array(x[::-1], shape=(n, p)).astype(float).toarray()
    columns = sp.csc_array(tuple(found[2::-1]), shape=(n, p)).astype(float).toarray()
    assert repeats or np.array_equal(columns, dense)
    chosen = sp.csc_array(tuple(found[:2:-1]), shape=(n, wanted.size)).toarray()
    assert np.allclose(chosen, dense[:, wanted])


def test_csr_by_column_of_many_rows():
    """The parts of the threads would be put together in the wrong order."""
    _, p, rows = big_compressed(np.int32, unsorted=False)
    expected = rearranged(reference, rows, p, np.arange(0, p, 7), 1)
    for n_threads in THREADS:
        found = rearranged(native, rows, p, np.arange(0, p, 7), n_threads)
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
    """Newton steps on sparse columns would use a wrong or unsymmetric Hessian."""
    indptr, indices, data = compressed(seed, q, n, np.float64, index, repeats, shuffled)
    z = (indptr, indices.astype(np.int32), data)
    weight = np.random.default_rng(seed).standard_normal(n)
    found, expected, scale = filled(q, q), filled(q, q), filled(q, q)
    native.sparse_gram(*z, weight, found, 2)
    reference.sparse_gram(*z, weight, expected, 1)
    reference.sparse_gram(*z[:2], np.abs(data), np.abs(weight), scale, 1)
    assert_close(found, expected, scale)
    assert np.array_equal(found, found.T)


def few_columns(dtype, index, n=9000, p=40, shuffled=False):
    """CSR storage of many rows and few columns, which have sums for every part of the rows."""
    rng = np.random.default_rng(3)
    x = rng.integers(-9 if dtype != np.uint8 else 0, 10, (n, p)) * (rng.random((n, p)) < 0.4)
    rows = sp.csr_array(x.astype(dtype))
    indices, values = rows.indices.astype(index), rows.data
    if shuffled:
        for first, last in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            order = rng.permutation(last - first)
            indices[first:last] = indices[first:last][order]
            values[first:last] = values[first:last][order]
    return x.astype(float), (rows.indptr.astype(index), indices, values)


@pytest.mark.parametrize(
    ("dtype", "index", "shuffled"),
    [(dtype, INDEX_TYPES[i % 2], i < 3) for i, dtype in enumerate(DENSE_TYPES)],
)
def test_few_columns_by_row(dtype, index, shuffled):
    """Tall problems would have another gradient or Hessian, or one that depends on the threads."""
    x, rows = few_columns(dtype, index, shuffled=shuffled)
    n, p = x.shape
    rng = np.random.default_rng(0)
    v, h, z = rng.standard_normal(n), rng.standard_normal(n), rng.standard_normal(p)
    h[::3] = 0
    position = np.full(p, -1, np.int32)
    chosen = rng.permutation(p)[:23]
    position[chosen] = np.arange(23)
    Z, matrix = x[:, chosen], rng.standard_normal((p, p))
    first = None
    for module in (native, reference):
        for n_threads in THREADS if module is native else (1,):
            terms, sums, gram = filled(3, p), v.copy(), filled(23, 23)
            scores, more = filled(p, 1), filled(p, 3)
            module.csr_terms(*rows, v, h, *terms, n_threads)
            module.csr_combine(*rows, z, sums, n_threads)
            module.csr_gram(*rows, position, h, gram, n_threads)
            forms = filled(n)
            module.csr_forms(*rows[:2], rows[2].astype(float), matrix, forms, n_threads)
            module.csr_correlate(*rows, v[:, None], scores, n_threads)
            module.csr_correlate(*rows, np.column_stack([h, v, h]), more, n_threads)
            for found, expected, scale in (
                (terms[0], x.T @ v, abs(x).T @ abs(v)),
                (terms[1], x.T @ h, abs(x).T @ abs(h)),
                (terms[2], (x**2).T @ h, (x**2).T @ abs(h)),
                (sums, v + x @ z, abs(v) + abs(x) @ abs(z)),
                (gram, Z.T @ (h[:, None] * Z), abs(Z).T @ (abs(h)[:, None] * abs(Z))),
                (scores[:, 0], x.T @ v, abs(x).T @ abs(v)),
                (forms, ((x @ matrix) * x).sum(axis=1), ((abs(x) @ abs(matrix)) * abs(x)).sum(1)),
            ):
                assert_close(found, expected, scale)
            found = (terms, sums, gram, scores, more, forms)
            if module is native:
                assert np.array_equal(gram, gram.T)
                first = found if first is None else first
                assert all(map(np.array_equal, found, first))
                assert np.array_equal(more[:, 1], scores[:, 0])


def test_sparse_gram_bits():
    """A fit would depend on the number of threads."""
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
    """Sound storage would be refused, or its order and duplicates be misjudged."""
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
@settings(parent=LOOSE, max_examples=100)
def test_audit_of_anything(indptr, indices, minor, index):
    """Broken storage would reach a kernel, which reads where it is told to."""
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
    """The message would point at the wrong entry."""
    arrays = np.array(indptr, dtype=index), np.array(indices, dtype=index)
    for module in (native, reference):
        assert module.audit_indices(*arrays, 3) == expected


# Smoothing coordinate descent

ACCURACY = 1e-8  # of the coordinate problems, as the solver asks for


def coordinate_problems(seed, n, n_blocks):
    """(level, slope, square, weight, q, alpha, rest) over many magnitudes, with padded blocks."""
    rng = np.random.default_rng(seed)
    size = n, n_blocks
    weight = 10 ** rng.uniform(-3, 3, n)
    tied = 10 ** rng.uniform(-3, 5, (n, 1)) * (1 + 1e-6 * rng.random(size))
    level = np.where(rng.random((n, 1)) < 0.5, rng.uniform(0, 1e5, size), tied)
    sign = np.where(rng.random((n, 1)) < 0.3, 1, rng.choice([-1, 1], size))
    slope = rng.choice([-1, 1], (n, 1)) * sign * 10 ** rng.uniform(-3, 3, size)
    square = np.where(rng.random(size) < 0.1, 0, 10 ** rng.uniform(-4, 4, size))
    padded = np.arange(n_blocks) >= rng.integers(1, n_blocks + 1, (n, 1))
    level[padded], slope[padded], square[padded] = -np.inf, 0, 0
    q = 10 ** rng.uniform(-6, 6, n)
    share = np.where(rng.random(n) < 0.3, 10 ** rng.uniform(-290, -1, n), rng.random(n))
    near, far = weight * share, weight - weight * share
    swap = rng.random(n) < 0.5
    return level, slope, square, weight, q, np.where(swap, far, near), np.where(swap, near, far)


def solve_coordinates(module, problems, accuracy):
    """(alpha, rest, bracket, evaluations) of one of the modules."""
    level, slope, square, weight, q, alpha, rest = problems
    alpha, rest, bracket, count = alpha.copy(), rest.copy(), filled(len(q), 2), filled(len(q))
    module.newton_bisections(level, slope, square, weight, q, accuracy, alpha, rest, bracket, count)
    return alpha, rest, bracket, count


def coordinate_derivative(problems, alpha, rest):
    """The derivative at other points than the start, and a bound of its rounding error.

    The exponents q s_t reach 1e11 and more: there the derivative itself is a matter of rounding.
    """
    level, slope, square, _, q, old, old_rest = problems
    z = np.where(alpha <= rest, alpha - old, old_rest - rest)[:, None]
    largest = np.where(alpha <= rest, np.maximum(alpha, old), np.maximum(rest, old_rest))
    q = q[:, None]
    s = level + z * (slope + 0.5 * square * z)
    share = np.exp(q * (s - s.max(axis=1, keepdims=True)))
    share /= share.sum(axis=1, keepdims=True)
    g = slope + square * z
    mean = np.sum(share * g, axis=1)
    odds = np.log(alpha) - np.log(rest)
    eps = np.finfo(float).eps
    magnitude = np.abs(slope) + square * np.abs(z)
    term = np.where(np.isfinite(level), np.abs(level) + np.abs(z) * magnitude, 0).max(axis=1)
    exponent = np.minimum(1, 8 * eps * q[:, 0] * term)
    spread = np.where(np.isfinite(level), np.abs(g - mean[:, None]), 0).max(axis=1)
    bend = np.sum(share * (square + q * (g - mean[:, None]) ** 2), axis=1)
    error = 64 * eps * (np.abs(odds) + magnitude.max(axis=1))
    return odds + mean, error + 4 * exponent * spread + 4 * eps * largest * bend


@pytest.mark.parametrize("n_blocks", [4, 8, 12])
def test_newton_bisections_find_the_root(n_blocks):
    """A coordinate would be left outside its box, or where the objective still falls."""
    problems = coordinate_problems(n_blocks, 4000, n_blocks)
    weight = problems[3]
    alpha, rest, bracket, count = solve_coordinates(native, problems, ACCURACY)
    assert np.all((alpha > 0) & (rest > 0))
    assert np.all(np.abs(alpha + rest - weight) <= 4e-16 * weight)
    least = np.minimum(alpha, rest)
    assert np.all((bracket[:, 0] <= least) & (least <= bracket[:, 1]))
    assert count.max() <= 120
    assert count.mean() <= 12
    error = coordinate_derivative(problems, alpha, rest)[1]
    assert np.median(error) < 1e-8
    lower = alpha <= rest
    moved = count > 0
    for end, sign in ((0, -1), (1, 1)):
        Z = bracket[:, end]
        known = moved & (Z > 0)  # 0 stands for no bound: the derivative is infinite
        point = np.where(lower, [Z, weight - Z], [weight - Z, Z])
        point = np.where(known, point, [alpha, rest])
        slope, error = coordinate_derivative(problems, *point)
        rising = sign * np.where(lower, slope, -slope) >= -error
        assert np.all(rising | ~known | (np.abs(slope) <= ACCURACY + error))
    slope, error = coordinate_derivative(problems, alpha, rest)
    solved = np.abs(slope) <= ACCURACY + error
    # The others have a root so near an end of the interval that no number is nearer.
    beyond = (least <= 2e-300 * weight) & (np.where(lower, slope, -slope) > 0)
    adjacent = bracket[:, 1] <= np.nextafter(bracket[:, 0], np.inf)
    assert np.all(solved | beyond | adjacent)
    assert np.mean(solved) > 0.98


@pytest.mark.parametrize("n_blocks", [4, 8, 12])
def test_newton_bisections_equal_the_reference(n_blocks):
    """The specification would be of another problem."""
    problems = coordinate_problems(100 + n_blocks, 40, n_blocks)
    found = solve_coordinates(native, problems, 1e-12)
    expected = solve_coordinates(reference, problems, 1e-12)
    error = coordinate_derivative(problems, *found[:2])[1]
    other_error = coordinate_derivative(problems, *expected[:2])[1]
    # The derivative rises by at least 1 with the log-odds.
    odds, other = (np.log(a) - np.log(b) for a, b in (found[:2], expected[:2]))
    close = np.minimum(error, 1e-6) + np.minimum(other_error, 1e-6) + 1e-11
    sharp = (error < 1e-6) & (other_error < 1e-6) & (np.abs(odds) < 685)
    assert np.mean(sharp) > 0.6
    assert np.all(np.abs(odds - other)[sharp] <= close[sharp])
    assert np.all((odds > 685) == (other > 685))
    assert np.all((odds < -685) == (other < -685))


def test_newton_bisection_with_huge_slopes_stops_early():
    """Roots below the smallest number would be approached by hundreds of evaluations."""
    n = 200
    slope = np.zeros((n, 4))
    slope[:, 0] = np.linspace(-2000, 2000, n)
    level = np.tile([1.0, -np.inf, -np.inf, -np.inf], (n, 1))
    ones = np.ones(n)
    for weight in (1e-30, 1e-12, 1.0, 1e3):
        start = 0.5 * weight * ones
        problems = level, slope, 0 * slope, weight * ones, ones, start, start
        alpha, rest, _, count = solve_coordinates(native, problems, ACCURACY)
        assert np.all(np.minimum(alpha, rest) > 0)
        assert count.max() <= 40
        inside = np.abs(slope[:, 0]) < 600
        odds = np.log(alpha) - np.log(rest)
        assert np.allclose(odds[inside], -slope[inside, 0], rtol=1e-7)
        assert np.all(np.abs(odds[~inside]) > 590)


def test_newton_bisection_ends_at_neighbouring_numbers():
    """With a spacing of 2.2e-16 the bracket never got below 2e-16: a thousand evaluations."""
    rng = np.random.default_rng(4)
    n = 3000
    level = np.tile([1e5, 1e5, -np.inf, -np.inf], (n, 1))
    slope = np.zeros((n, 4))
    slope[:, 0], slope[:, 1] = 1000 * rng.random(n), -1000 * rng.random(n)
    weight = rng.uniform(1, 4, n)
    start = 0.3 * weight
    problems = level, slope, np.zeros((n, 4)), weight, np.full(n, 1e6), start, weight - start
    _, _, bracket, count = solve_coordinates(native, problems, 0.0)
    assert np.all(bracket[:, 1] - bracket[:, 0] <= np.spacing(bracket[:, 1]))
    assert count.max() <= 150


def smoothing_problem(seed, n, depths, dtype=np.float64, padded=1, scale=1.0):
    """(rows, starts, square, weight, alpha, rest, scores, level).

    depths : entries for each block of a group, per group; the last `padded` blocks are padding.
    """
    rng = np.random.default_rng(seed)
    starts = np.append(0, np.cumsum(reference.LANES * np.array(depths)))
    block = block_of(starts)
    n_blocks = reference.LANES * len(depths)
    used = n_blocks - padded
    rows = (scale * rng.standard_normal((n, starts[-1]))).astype(dtype)
    rows *= rng.random(rows.shape) < 0.7
    rows[:, block >= used] = 0
    rows[:, np.flatnonzero(block == 1)[depths[0] // 2 + 1 :]] = 0  # a shorter block
    square = by_block(rows.astype(np.float64) ** 2, block, n_blocks)
    weight = 10 ** rng.uniform(-2, 1, n)
    alpha = weight * rng.uniform(0.001, 0.999, n)
    start = scores_and_level(rows, starts, alpha, used)
    return rows, starts, square, weight, alpha, weight - alpha, *start


def block_of(starts):
    """The block of every entry: groups of LANES, their blocks taking turns."""
    blocks = [
        first + np.tile(np.arange(reference.LANES), size // reference.LANES)
        for first, size in zip(
            reference.LANES * np.arange(len(starts) - 1), np.diff(starts), strict=True
        )
    ]
    return np.concatenate(blocks).astype(np.int32)


def by_block(entries, block, n_blocks):
    """The sums of the entries of each block."""
    return entries @ (block[:, None] == np.arange(n_blocks)).astype(float)


def scores_and_level(rows, starts, alpha, used):
    """c and s of the coordinates, afresh."""
    scores = alpha @ rows.astype(np.float64)
    block = block_of(starts)
    level = 0.5 * by_block(scores**2, block, reference.LANES * (len(starts) - 1))
    level[used:] = -np.inf
    return scores, level


def csr_rows(rows, starts, index):
    """The same rows in CSR, and the block of every column."""
    matrix = sp.csr_array(rows.astype(np.float64))
    indptr, indices = matrix.indptr.astype(index), matrix.indices.astype(np.int32)
    return indptr, indices, matrix.data, block_of(starts)


def sweep(function, storage, order, problem, q, accuracy=1e-12, ratio=0.0):
    """(alpha, rest, scores, level, evaluations) after a sweep."""
    square, weight, *changed = problem[2:]
    changed = [array.copy() for array in changed]
    for array in (*storage, order, square, weight):
        array.flags.writeable = False
    count = function(*storage, order, square, weight, q, accuracy, ratio, *changed)
    return *changed, count


def smoothed_objective(problem, alpha, rest, q, used):
    """The objective of a sweep, from its formula."""
    level = scores_and_level(*problem[:2], alpha, used)[1][:used]
    smooth = level.max() + np.log(np.exp(q * (level - level.max())).sum()) / q
    return smooth + np.sum(alpha * np.log(alpha) + rest * np.log(rest))


DEPTHS = ((1,), (2,), (3,), (4,), (30,), (5, 5), (9, 4), (30, 30, 30), (30, 1, 1), (7, 3, 2, 1, 1))
SHAPES = [(n, depths) for n in (0, 1, 9) for depths in DEPTHS]


@pytest.mark.parametrize("form", [np.float32, np.float64, "int32", "int64"])
@pytest.mark.parametrize(("n", "depths"), SHAPES)
def test_sweep(n, depths, form):
    """Coordinate descent would walk along other rows than those of the data."""
    for padded, q in ((0, 0.1), (1, 3.0), (3, 1.0)):
        dtype = np.float64 if isinstance(form, str) else form
        problem = smoothing_problem(n + depths[0], n, depths, dtype, padded)
        order = np.random.default_rng(1).permutation(n)
        storage, name = problem[:2], "dense_smoothing_sweep"
        if isinstance(form, str):
            storage, name = csr_rows(*problem[:2], form), "csr_smoothing_sweep"
        found = sweep(getattr(native, name), storage, order, problem, q)
        expected = sweep(getattr(reference, name), storage, order, problem, q)
        for a, b in zip(found[:4], expected[:4], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
        assert (found[4] > 0) == (n > 0)


@pytest.mark.parametrize("name", ["dense", "csr"])
def test_sweep_visits_what_it_is_told_to(name):
    """Coordinates would be skipped, or visited once where the order has them twice."""
    problem = smoothing_problem(0, 6, (3,))
    storage = problem[:2] if name == "dense" else csr_rows(*problem[:2], np.int32)
    function = getattr(native, f"{name}_smoothing_sweep")
    empty = sweep(function, storage, np.zeros(0, np.int64), problem, 1.0)
    assert empty[4] == 0
    assert all(map(np.array_equal, empty[:4], problem[4:]))
    order = np.array([4, 1, 4])
    found = sweep(function, storage, order, problem, 1.0)
    changed = np.flatnonzero(found[0] != problem[4])
    assert changed.tolist() == [1, 4]
    expected = sweep(reference.dense_smoothing_sweep, problem[:2], order, problem, 1.0)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)


@pytest.mark.parametrize("ratio", [0.0, 0.3])
@pytest.mark.parametrize(("q", "scale"), [(1e-4, 1.0), (1.0, 0.05), (1.0, 10.0), (1e4, 1.0)])
def test_sweep_never_increases_the_objective(q, scale, ratio):
    """The descent would not be one; the levels kept along the way would drift from the truth."""
    n, used = 200, 7
    problem = smoothing_problem(3, n, (5, 5), scale=scale)
    weight = problem[3]
    order = np.random.default_rng(3).permutation(n)
    before = smoothed_objective(problem, *problem[4:6], q, used)
    first = before
    for _ in range(4):
        alpha, rest, scores, level, _ = sweep(
            native.dense_smoothing_sweep, problem[:2], order, problem, q, ACCURACY, ratio
        )
        after = smoothed_objective(problem, alpha, rest, q, used)
        assert after <= before + 1e-12 * abs(first)
        fresh_scores, fresh_level = scores_and_level(*problem[:2], alpha, used)
        size = np.abs(problem[6]).max() + np.abs(scores).max()
        np.testing.assert_allclose(scores, fresh_scores, atol=1e-12 * size)
        np.testing.assert_allclose(
            level[:used], fresh_level[:used], rtol=1e-10, atol=1e-12 * problem[7][:used].max()
        )
        assert np.all(np.isneginf(level[used:]))
        np.testing.assert_allclose(alpha + rest, weight, rtol=1e-15)
        problem = (*problem[:4], alpha, rest, fresh_scores, fresh_level)
        before = after
    assert after < first


@pytest.mark.parametrize("q", [1e-10, 1.0, 1e15])
@pytest.mark.parametrize("name", ["dense", "csr"])
def test_sweep_with_extreme_values(name, q):
    """One NaN among the coordinates makes all levels NaN."""
    n, used = 60, 3
    rows, starts, _, weight, alpha, *_ = smoothing_problem(5, n, (4,))
    rows[:10] = 0
    rows[10:20] *= 1e6
    rows[20:30] *= 1e-200
    weight[30:40] = 1e-12
    weight[40:50] = 1e9
    alpha = np.minimum(alpha, 0.5 * weight)
    alpha[::3] = 1e-300
    rest = weight - alpha
    rest[1::3], alpha[1::3] = alpha[1::3].copy(), rest[1::3].copy()
    square = by_block(rows**2, block_of(starts), 4)
    problem = rows, starts, square, weight, alpha, rest
    problem += scores_and_level(rows, starts, alpha, used)
    storage = (rows, starts) if name == "dense" else csr_rows(rows, starts, np.int64)
    order = np.arange(n)
    function = getattr(native, f"{name}_smoothing_sweep")
    for _ in range(3):
        alpha, rest, scores, level, count = sweep(function, storage, order, problem, q, 1e-8, 0.3)
        for array in (alpha, rest, scores, level[:used]):
            assert np.all(np.isfinite(array))
        assert np.all((alpha > 0) & (rest > 0))
        np.testing.assert_allclose(alpha + rest, weight, rtol=1e-14)
        assert count <= 150 * n
        problem = rows, starts, square, weight, alpha, rest
        problem += scores_and_level(rows, starts, alpha, used)
    np.testing.assert_allclose(alpha[:10], 0.5 * weight[:10], rtol=1e-6)  # rows of zeros


# Losses


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 255, 256, 257, 1027])
@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 30.0, 900.0])
def test_logistic_loss(n, size):
    """Values, gradients and curvatures would lose digits, at the ends of the range or of the
    array.
    """
    rng = np.random.default_rng(n)
    z, y = size * rng.standard_normal(n), rng.choice([-1.0, 1.0], n)
    weight = rng.random(n) * (rng.random(n) < 0.9)
    found, expected = np.full(n, np.nan), np.full(n, np.nan)
    value = native.logistic_value_gradient(z, y, weight, found)
    assert value == pytest.approx(
        reference.logistic_value_gradient(z, y, weight, expected), rel=1e-14
    )
    np.testing.assert_allclose(found, expected, rtol=1e-15 * 8, atol=1e-300)
    native.logistic_curvature(z, weight, found)
    reference.logistic_curvature(z, weight, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-15 * 8, atol=1e-300)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 65])
def test_logistic_conjugate(n):
    """Bounds would be no bounds: a share of 1e-17, or of 1 up to rounding, would lose its
    digits.
    """
    rng = np.random.default_rng(n)
    for share in (
        rng.random(n), 10 ** rng.uniform(-320, 0, n), 1 - 10 ** rng.uniform(-17, 0, n),
        np.zeros(n), np.ones(n),
    ):  # fmt: skip
        weight = 10 ** rng.uniform(-3, 3, n)
        alpha = np.minimum(share * weight, weight)
        for one in range(n):
            found = native.logistic_conjugate(alpha[one : one + 1], weight[one : one + 1])
            expected = reference.logistic_conjugate(alpha[one : one + 1], weight[one : one + 1])
            assert found == pytest.approx(expected, rel=2e-15, abs=1e-290)
        assert native.logistic_conjugate(alpha, weight) == pytest.approx(
            reference.logistic_conjugate(alpha, weight), rel=1e-13, abs=1e-290
        )


@pytest.mark.parametrize("module", [native, reference], ids=["native", "twin"])
def test_losses_of_numbers_that_are_none(module):
    """NaN would vanish in a comparison, and a diverged fit look fine."""
    y, ones = np.ones(5), np.ones(5)
    for wrong in range(5):
        z = np.arange(5.0)
        z[wrong] = np.nan
        out = np.zeros(5)
        assert np.isnan(module.logistic_value_gradient(z, y, ones, out))
        assert np.isnan(out).nonzero()[0].tolist() == [wrong]
        module.logistic_curvature(z, ones, out)
        assert np.isnan(out).nonzero()[0].tolist() == [wrong]
        for outside in (np.nan, -0.1, 1.1):
            alpha = np.full(5, 0.3)
            alpha[wrong] = outside
            assert np.isnan(module.logistic_conjugate(alpha, ones))
    assert module.logistic_conjugate(np.array([0.5, 0.0]), np.array([1.0, 0.0])) == pytest.approx(
        -np.log(2)
    )


# Ridge


def ridge_problem(seed, n, p, scale=0.0):
    """x (n, m), p positions in it, y of both classes, weights and penalties; read-only."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p + 3)) * 10.0 ** rng.uniform(-scale, scale, p + 3)
    x += rng.uniform(-1, 1, p + 3) * np.abs(x).max(axis=0, initial=0.0)
    columns = rng.permutation(p + 3)[:p]
    y = rng.choice([-1.0, 1.0], n)
    y[:2] = [1.0, -1.0][:n]
    weight = 10 ** rng.uniform(-2, 2) * rng.uniform(0.1, 1.0, n) * (rng.random(n) < 0.9)
    weight[:2] = 1.0
    penalty = (
        rng.uniform(0.5, 2.0, p) * np.median(np.abs(x), axis=0)[columns] ** 2 if n else (np.ones(p))
    )
    for array in (x, columns, y, weight, penalty):
        array.flags.writeable = False
    return x, columns, y, weight, penalty


# Solvers: compiled, and the Python path beside the call.

WAYS = ("compiled", "python")
each_way = pytest.mark.parametrize("way", WAYS)


def named(b, u, fit):
    """A fit in Python as the compiled solvers return it."""
    names = ("margins", "dual", "scores", "objective", "bound", "gap")
    return {"b": b, "u": u} | {name: getattr(fit, name) for name in names}


def solved(way, problem, loss, intercept, tol=1e-7, cutoff=np.inf, start=None, of_value=False):
    """u, b, margins, dual, scores, objective, bound and gap by name; x may be sparse."""
    x, columns, y, weight, penalty = problem
    n, p = x.shape[0], columns.size
    u, b = (np.zeros(p), 0.0) if start is None else (start[0].copy(), start[1])
    if way == "python":
        Z = as_columns(np.asfortranarray(x[:, columns]))
        risk = Risk(y, weight, loss, intercept)
        fit = newton(Z, risk, penalty, (u, b), tol, of_value, cutoff)
        return named(fit.intercept, fit.coef, fit)
    margins, dual, scores = filled(n), filled(n), filled(p)
    solve = native.sparse_ridge if sp.issparse(x) else native.dense_ridge
    numbers = solve(
        *as_columns(x).storage, *problem[1:], loss.kernel, loss.kernel_parameters, intercept, b,
        tol, of_value, cutoff, u, margins, dual, scores,
    )  # fmt: skip
    names = ("b", "objective", "bound", "gap")
    arrays = {"u": u, "margins": margins, "dual": dual, "scores": scores}
    return dict(zip(names, numbers, strict=True)) | arrays


def assert_same_ridge(found, expected, problem, rounding=1e-9):
    """Equal up to rounding, of every array relative to its largest element."""
    zero = (expected["objective"] - expected["bound"]) / expected["gap"] if expected["gap"] else 1.0
    for name in ("objective", "bound"):
        assert abs(found[name] - expected[name]) <= 1e-12 * max(abs(zero), abs(expected[name]))
    assert abs(found["gap"] - expected["gap"]) <= 1e-11
    unit = np.sqrt(problem[4])
    size = max(1e-300, np.abs(expected["u"] * unit).max(initial=0.0))
    # Of a column of zeros u is 0 but for the rounding of a step from a start of order 1.
    zero = ~problem[0][:, problem[1]].any(axis=0)
    within = np.where(zero, np.maximum(1e-15, rounding * size), rounding * size)
    assert np.all(np.abs((found["u"] - expected["u"]) * unit) <= within)
    largest = max(1.0, np.abs(expected["margins"]).max(initial=0.0))
    assert abs(found["b"] - expected["b"]) <= rounding * max(largest, abs(expected["b"]))
    assert np.all(np.abs(found["margins"] - expected["margins"]) <= rounding * largest)
    assert np.all(np.abs(found["dual"] - expected["dual"]) <= rounding * largest * problem[3])
    signed = np.abs(problem[0][:, problem[1]]).T @ problem[3]
    assert np.all(np.abs(found["scores"] - expected["scores"]) <= rounding * largest * signed)


each_loss = pytest.mark.parametrize(
    "loss", [Logistic(), SquaredHinge()], ids=["logistic", "squared_hinge"]
)
each_intercept = pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "origin"])


@given(
    seed=st.integers(0, 10**6),
    n=st.sampled_from((2, 3, 7, 8, 9, 31, 511, 513)),
    p=st.sampled_from((0, 1, 2, 3, 4, 5, 8, 13)),
    loss=st.sampled_from((Logistic(), SquaredHinge())),
    intercept=st.booleans(),
    layout=st.sampled_from(("F", "C", "every second row", "every third column", "csc", "long csc")),
    tol=st.sampled_from((1e-2, 1e-7)),
    warm=st.booleans(),
)
@LOOSE
def test_ridge(seed, n, p, loss, intercept, layout, tol, warm):
    """Exchanges would compare supports by wrong objectives, certificates claim wrong bounds."""
    p = min(n, p)
    problem = ridge_problem(seed, n, p, scale=3.0)
    if layout.endswith("csc"):  # with rows and columns of zeros
        kept = np.random.default_rng(seed).random(problem[0].shape) < 0.3
        problem = problem[0] * kept, *problem[1:]
    compressed = sp.csc_array(problem[0])
    long = sp.csc_array(compressed)
    long.indptr = long.indptr.astype(np.int64)
    stored = {
        "csc": compressed,
        "long csc": long,
        "F": np.asfortranarray(problem[0]),
        "C": problem[0],
        "every second row": np.repeat(problem[0], 2, axis=0)[::2],
        "every third column": np.repeat(problem[0], 3, axis=1)[:, ::3],
    }[layout]
    start = None
    if warm:
        rng = np.random.default_rng(seed)
        start = rng.standard_normal(p) / np.sqrt(problem[4]), rng.standard_normal() * intercept
    options = (loss, intercept, tol, np.inf, start)
    found = solved("compiled", (stored, *problem[1:]), *options)
    expected = solved("python", problem, *options)
    assert found["gap"] <= tol + 1e-12
    assert expected["gap"] <= tol + 1e-12
    if isinstance(loss, SquaredHinge) and tol > 1e-6:
        return  # a step may end with rows at the kink: rounding decides how the next goes
    assert_same_ridge(found, expected, problem)


@each_loss
@each_intercept
@pytest.mark.parametrize("shape", [(40, 3), (700, 20), (64, 64)])
def test_ridge_to_the_last_digit(loss, intercept, shape):
    """Certificates would not reach the gap they are asked for."""
    problem = ridge_problem(1, *shape)
    found = solved("compiled", problem, loss, intercept, tol=1e-12)
    expected = solved("python", problem, loss, intercept, tol=1e-12)
    assert_same_ridge(found, expected, problem, rounding=1e-5)
    assert abs(found["gap"]) <= 1e-12


@each_way
@each_loss
def test_ridge_far_from_the_origin_has_a_dual_point(way, loss):
    """The intercept has too few digits to balance the classes: the bound would be none."""
    x, columns, y, weight, penalty = ridge_problem(9, 200, 2)
    start = np.full(2, 1e4), -2e10
    problem = np.asfortranarray(x + 1e6), columns, y, weight, penalty
    found = solved(way, problem, loss, True, 0.5, -1e300, start)
    assert np.abs(found["margins"]).max() < 1e8
    assert abs(found["dual"].sum()) <= 1e-14 * np.abs(found["dual"]).sum()


@each_loss
@each_intercept
def test_ridge_stops_at_a_cutoff(loss, intercept):
    """A trial that cannot win would be solved to its end."""
    problem = ridge_problem(2, 300, 6)
    best = solved("compiled", problem, loss, intercept, tol=1e-12)
    cutoff = 0.5 * best["objective"]
    found = solved("compiled", problem, loss, intercept, 1e-12, cutoff)
    expected = solved("python", problem, loss, intercept, 1e-12, cutoff)
    assert_same_ridge(found, expected, problem)
    assert cutoff <= found["bound"] <= best["bound"]
    if isinstance(loss, Logistic):  # whose first step is the last here
        assert found["gap"] > 1e3 * max(best["gap"], 1e-12)


@each_loss
@each_intercept
@pytest.mark.parametrize("power", [-150, -70, 70, 150])
def test_ridge_of_columns_in_any_units(loss, intercept, power):
    """Squares and their sums would overflow or underflow."""
    x, columns, y, weight, penalty = ridge_problem(3, 120, 5)
    units = 10.0 ** (power * np.array([1.0, -1.0, 0.5, 0.0, 1.0, 1.0, 0.0, 1.0]))
    plain = solved("compiled", (x, columns, y, weight, penalty), loss, intercept)
    scaled = x * units, columns, y, weight, penalty * units[columns] ** 2
    found = solved("compiled", scaled, loss, intercept)
    assert found["objective"] == pytest.approx(plain["objective"], rel=1e-12)
    assert found["bound"] == pytest.approx(plain["bound"], rel=1e-12)
    np.testing.assert_allclose(found["u"] * units[columns], plain["u"], rtol=1e-9)


@each_loss
@each_intercept
def test_ridge_of_columns_that_nearly_agree(loss, intercept):
    """Rounding makes the Newton system indefinite: the fit would end in NaN, or not at all."""
    x, columns, y, weight, _ = ridge_problem(4, 90, 6)
    close = x[:, :1] + 1e-9 * np.abs(x[:, :1]) * x
    problem = close, columns, y, 1e8 * weight, np.full(6, 1e-6)
    found = solved("compiled", problem, loss, intercept)
    expected = solved("python", problem, loss, intercept)
    assert found["objective"] == pytest.approx(expected["objective"], rel=1e-4)
    assert found["bound"] <= found["objective"]
    assert np.isfinite(found["u"]).all()


@each_loss
@each_intercept
@pytest.mark.parametrize("C", [1e-200, 1e3, 1e9])
def test_ridge_on_separated_rows(loss, intercept, C):
    """Huge margins and vanishing dual variables would give NaN, or a bound that is none."""
    x, columns, y, weight, penalty = ridge_problem(5, 60, 4)
    problem = np.abs(x) * y[:, None], columns, y, C * weight, penalty
    found = solved("compiled", problem, loss, intercept)
    expected = solved("python", problem, loss, intercept)
    assert found["objective"] == pytest.approx(expected["objective"], rel=1e-6, abs=1e-300)
    assert found["bound"] <= found["objective"] * (1 + 1e-12)
    x, columns, y, weight, penalty = problem
    risk = Risk(y, weight, loss, intercept)
    fit = ridge(as_columns(x), risk, columns=columns, penalty=penalty, tol=1e-7)
    assert fit.bound <= fit.objective * (1 + 1e-12)
    assert fit.gap <= 1e-7


@each_way
@each_loss
def test_ridge_of_one_class_and_of_no_rows(way, loss):
    """The intercept goes as far as the loss has digits, not further."""
    x, columns, _, _, penalty = ridge_problem(6, 30, 3)
    for rows in (30, 1, 0):
        problem = x[:rows], columns[: min(3, rows)], np.ones(rows), np.ones(rows), penalty[:rows]
        found = solved(way, problem, loss, True)
        assert 0 <= found["objective"] <= 1e-60
        assert np.isfinite(found["b"])
        assert not found["u"].size or np.abs(found["u"]).max() <= 1e-50


@each_way
@each_loss
@each_intercept
@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e200])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_ridge_refuses_what_overflows(way, loss, intercept, wrong):
    """A step of NaN would be taken for no progress, and the start for the solution."""
    x, columns, y, weight, penalty = ridge_problem(7, 50, 3)
    x = x.copy()
    x[11, columns[1]] = wrong
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        solved(way, (x, columns, y, weight, penalty), loss, intercept)


@each_intercept
@pytest.mark.parametrize("shape", [(2, 1), (40, 3), (9, 9), (700, 20)])
@pytest.mark.parametrize("centre", [0.0, -1e4])
def test_ridge_of_least_squares(intercept, shape, centre):
    """Coefficients, objective or dual point would not be those of the optimum in closed form."""
    x, columns, y, weight, penalty = ridge_problem(11, *shape)
    y = centre + np.random.default_rng(1).standard_normal(y.size)
    problem = x, columns, y, weight, penalty
    found = solved("compiled", problem, LeastSquares(), intercept, tol=1e-10)
    Z, total = x[:, columns], weight.sum()
    Zc, yc = (Z - weight @ Z / total, y - weight @ y / total) if intercept else (Z, y)
    u = np.linalg.solve(Zc.T @ (weight[:, None] * Zc) + np.diag(penalty), Zc.T @ (weight * yc))
    b = weight @ (y - Z @ u) / total if intercept else 0.0
    rest = y - Z @ u - b
    objective = 0.5 * weight @ rest**2 + 0.5 * penalty @ u**2
    np.testing.assert_allclose(found["u"], u, atol=1e-9 * np.abs(u).max())
    np.testing.assert_allclose(found["b"], b, atol=1e-9 * (1 + abs(centre)))
    np.testing.assert_allclose(found["margins"], Z @ u + b, atol=1e-9 * (1 + abs(centre)))
    size = np.abs(weight * y).max()
    np.testing.assert_allclose(found["dual"], weight * rest, atol=1e-9 * size)
    assert abs(found["dual"].sum()) <= 1e-12 * size * y.size or not intercept
    np.testing.assert_allclose(found["scores"], Z.T @ found["dual"], atol=1e-9 * size * y.size)
    zero = 0.5 * weight @ yc**2
    assert found["objective"] == pytest.approx(objective, abs=1e-10 * zero)
    assert found["bound"] <= objective + 1e-12 * zero
    assert found["gap"] == pytest.approx((found["objective"] - found["bound"]) / zero, abs=1e-12)
    assert found["gap"] <= 1e-10


def test_exchange_of_least_squares():
    """The search would weigh columns by another loss: it has to end at the best support."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 9))
    y = x[:, [1, 4, 6]] @ [2.0, -1.0, 0.5] + 0.1 * rng.standard_normal(40)
    pool = np.asfortranarray(x), y, np.ones(40), np.zeros(9, np.uint8)
    options = {"loss": LeastSquares(), "intercept": True, "swaps": True}
    for support in ([0, 2, 3], [1, 5, 8]):
        found = exchanged("compiled", pool, np.array(support), **options)
        assert found["columns"].tolist() == [1, 4, 6]
        problem = x, found["columns"], y, np.ones(40), np.ones(3)
        best = solved("compiled", problem, LeastSquares(), True, tol=1e-12)
        assert found["objective"] == pytest.approx(best["objective"], rel=1e-9)


def test_no_kernel_takes_a_loss_that_it_does_not_have():
    """Another loss would be minimised without a word."""
    problem = ridge_problem(1, 20, 2)
    x, columns, y, *rest = problem
    times = np.column_stack([np.abs(y), y > 0, np.zeros(20)]).ravel()
    with pytest.raises(ValueError, match="depends on other rows"):
        solved("compiled", (sp.csc_array(x), columns, times, *rest), Cox(), False)
    for number in (-1, 7):
        out = np.zeros(2), filled(20), filled(20), filled(2)
        with pytest.raises(ValueError, match="no loss of this number"):
            native.dense_ridge(
                *problem, number, (0.0, 0.0), True, 0.0, 1e-6, False, np.inf, *out
            )  # fmt: skip


@each_loss
def test_ridge_is_deterministic(loss):
    """Two fits of the same support would differ by what the memory held before."""
    problem = ridge_problem(8, 333, 9)
    first, second = (solved("compiled", problem, loss, True) for _ in range(2))
    assert all(np.array_equal(first[name], second[name]) for name in first)


def exchanged(way, pool, support, *, loss, intercept, swaps, known=None, n_known=0):
    """The columns, u, margins, dual, scores and the four numbers by name."""
    x, y, weight, is_kept = pool
    n, k = x.shape[0], support.size
    columns, u = support.copy(), np.zeros(k)
    known = support if known is None else known
    if way == "python":
        risk, keep = Risk(y, weight, loss, intercept), np.flatnonzero(is_kept)
        exchanges = Exchanges(as_columns(x), risk, keep=keep, tol=1e-6, fit_tol=1e-13)
        exchanges.settle(exchanges.fit(known), n_known)
        found = exchanges.improve_by_steps(exchanges.fit(columns, (u, 0.0)), swaps=swaps)
        fit = found.fit
        return {"columns": found.columns} | named(fit.intercept, fit.coef, fit)
    margins, dual, scores = filled(n), filled(n), filled(k)
    numbers = native.dense_exchange(
        x, y, weight, is_kept, loss.kernel, loss.kernel_parameters, intercept, 0.0, 1e-6, 1e-13,
        swaps, RULE, EXCHANGE.won_back, known, n_known, columns, u, margins, dual, scores,
    )  # fmt: skip
    names = ("b", "objective", "bound", "gap")
    arrays = {"columns": columns, "u": u, "margins": margins, "dual": dual, "scores": scores}
    return dict(zip(names, numbers, strict=True)) | arrays


def exchange_pool(seed, n, p, layout="F"):
    """x, y, weight, is_kept and the largest support to begin with; of correlated columns."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    x = {"F": np.asfortranarray(x), "C": x, "every second row": np.repeat(x, 2, axis=0)[::2]}[
        layout
    ]
    w = rng.standard_normal(p) * (np.arange(p) < 8)
    y = np.where(x @ w + rng.logistic(size=n) > 0, 1.0, -1.0)
    weight = 10 ** rng.uniform(-2, 2) * rng.uniform(0.5, 1.5, n)
    is_kept = np.zeros(p, np.uint8)
    is_kept[rng.permutation(p)[: rng.integers(0, 3)]] = 1
    return (x, y, weight, is_kept), rng.permutation(p)


@given(
    seed=st.integers(0, 10**6),
    n=st.sampled_from((30, 31, 64)),
    p=st.sampled_from((8, 9, 20)),
    k=st.sampled_from((1, 2, 5, 8)),
    loss=st.sampled_from((Logistic(), SquaredHinge())),
    intercept=st.booleans(),
    swaps=st.booleans(),
    layout=st.sampled_from(("F", "C", "every second row")),
)
@LOOSE
def test_exchange(seed, n, p, k, loss, intercept, swaps, layout):
    """The search would end at other supports than the specification says, or misstate their fit."""
    pool, order = exchange_pool(seed, n, p, layout)
    kept = np.flatnonzero(pool[3])
    others = order[~np.isin(order, kept)]
    support = np.sort(np.concatenate([kept, others[: max(0, min(k, p) - kept.size)]]))
    options = {"loss": loss, "intercept": intercept, "swaps": swaps}
    found = exchanged("compiled", pool, support, **options)
    expected = exchanged("python", pool, support, **options)
    np.testing.assert_array_equal(found["columns"], expected["columns"])
    assert found["objective"] == pytest.approx(expected["objective"], rel=1e-10)
    problem = (pool[0], found["columns"], *pool[1:3], np.ones(support.size))
    again = solved("compiled", problem, loss, intercept, 1e-13, of_value=True)
    assert found["objective"] == pytest.approx(again["objective"], rel=1e-10)
    for name in ("u", "margins", "dual", "scores"):
        size = max(1e-300, np.abs(again[name]).max())
        np.testing.assert_allclose(found[name], again[name], rtol=0, atol=1e-4 * size)
    np.testing.assert_allclose(
        found["margins"], pool[0][:, found["columns"]] @ found["u"] + found["b"], atol=1e-9
    )
    # What is known to be settled is left alone, but for columns that are new.
    settled = {"known": found["columns"], "n_known": p}
    again = exchanged("compiled", pool, found["columns"], **options, **settled)
    np.testing.assert_array_equal(again["columns"], found["columns"])


@each_way
def test_exchange_tries_only_what_is_new(way):
    """Exchanges would be tried again after every scan, or not with the columns of that scan."""
    pool, order = exchange_pool(3, 100, 40)
    support = np.sort(order[:5])
    options = {"loss": Logistic(), "intercept": True, "swaps": True}
    moved = exchanged(way, pool, support, **options)["columns"]
    assert not np.array_equal(moved, support)
    whole = {"known": support, "n_known": 40}
    stayed = exchanged(way, pool, support, **options, **whole)["columns"]
    np.testing.assert_array_equal(stayed, support)
    half = {"known": support, "n_known": 20}
    assert not np.array_equal(exchanged(way, pool, support, **options, **half)["columns"], support)


@each_loss
def test_exchange_passes_by_what_overflows(loss):
    """A column without an estimate would come first, and the fit with it fail."""
    (x, y, weight, is_kept), order = exchange_pool(4, 60, 25)
    x = x.copy(order="F")
    x[:, order[-1]] *= 1e200
    pool, support = (x, y, weight, is_kept), np.sort(order[:3])
    options = {"loss": loss, "intercept": True, "swaps": True}
    found = exchanged("compiled", pool, support, **options)["columns"]
    with np.errstate(over="ignore", invalid="ignore"):
        expected = exchanged("python", pool, support, **options)["columns"]
    np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(found, support)
    assert order[-1] not in found


@each_way
@each_loss
def test_exchange_refuses_what_overflows(way, loss):
    """A support with a column of NaN would be kept as the best one."""
    (x, y, weight, is_kept), order = exchange_pool(5, 50, 12)
    support = np.sort(order[:3])
    x = x.copy(order="F")
    x[7, support[1]] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        exchanged(
            way, (x, y, weight, is_kept), support, loss=loss, intercept=True,
            swaps=True,
        )  # fmt: skip


def test_the_gil_is_released():
    """Progress bars and Ctrl-C would have to wait for the end of a scan."""
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
    """More threads than work or than the system has, or none, would crash."""
    x, v, out = np.ones((100, 50), np.int8), np.ones((100, 1)), filled(50, 1)
    native.dense_correlate(x, v, out, n_threads)
    assert np.all(out == 100)


# Features in groups


def selected(module, name, arguments):
    """What a kernel puts out, and how many features it is."""
    out = np.full(min(arguments[3], arguments[0].size), -7, np.int64)
    count, undecided = getattr(module, name)(*arguments, out)
    return count, undecided, out


def bilevel_problem(seed, p, n_groups, k, g, ties):
    """Arguments of a selection in groups, some of them empty or opened; read-only."""
    rng = np.random.default_rng(seed)
    v = rng.integers(-3, 4, p).astype(float) if ties else rng.standard_normal(p)
    code = np.minimum(rng.integers(0, n_groups, p), rng.integers(0, n_groups, p))
    v *= rng.choice([0.5, 1.0, 4.0], n_groups)[code]
    opened = (rng.random(n_groups) < 0.2).astype(np.uint8)
    for array in (v, code, opened):
        array.flags.writeable = False
    return v, code, n_groups, k, g, opened


@given(
    seed=st.integers(0, 99),
    p=st.sampled_from((1, 2, 63, 64, 65, 128, 300)),
    n_groups=st.sampled_from((1, 2, 7, 20)),
    k=st.sampled_from((0, 1, 5, 12, 30)),
    g=st.sampled_from((0, 1, 3, 50)),
    ties=st.booleans(),
    power=st.sampled_from((-300, -160, 0, 160, 300)),
)
@LOOSE
def test_bilevel(seed, p, n_groups, k, g, ties, power):
    """The fast search would be compared with a wrong programme, or be wrong itself."""
    v, *rest = bilevel_problem(seed, p, n_groups, k, g, ties)
    arguments = (v * 10.0**power, *rest)
    expected = selected(reference, "bilevel_program", arguments)
    count, undecided, out = selected(native, "bilevel_program", arguments)
    assert (count, undecided) == expected[:2]
    assert np.array_equal(out, expected[2])
    count, undecided, out = selected(native, "bilevel_select", arguments)
    assert 0 <= undecided <= expected[1]
    worth = v**2
    assert np.all(out[count:] == -7)
    assert np.all(np.diff(out[:count]) > 0)
    assert np.isclose(worth[out[:count]].sum(), worth[expected[2][: expected[0]]].sum(), rtol=1e-13)
    if not ties:
        assert np.array_equal(out, expected[2])


@pytest.mark.parametrize("module", [native, reference], ids=["native", "twin"])
@pytest.mark.parametrize("name", ["bilevel_select", "bilevel_program"])
def test_bilevel_says_where_a_value_is_not_finite(module, name):
    """The message of the caller would name another place."""
    for p in (5, 64, 700):
        for place in {0, p // 2, p - 1}:
            for wrong in (np.nan, np.inf, -np.inf):
                v, *rest = bilevel_problem(0, p, 3, 4, 2, False)
                v = v.copy()
                v[[place, p - 1]] = wrong
                assert selected(module, name, (v, *rest))[0] == -1 - place


@pytest.mark.parametrize("module", [native, reference], ids=["native", "twin"])
@pytest.mark.parametrize("wrong", [-1, 3])
def test_bilevel_refuses_groups_that_there_are_not(module, wrong):
    """Memory outside of the arrays would be read and written."""
    v, code, *rest = bilevel_problem(0, 40, 3, 4, 2, False)
    code = code.copy()
    code[np.argmax(np.abs(v))] = wrong
    for name in ("bilevel_select", "bilevel_program"):
        with pytest.raises(IndexError, match="code of a group out of range"):
            selected(module, name, (v, code, *rest))


@pytest.mark.parametrize("p", [3000, 40_000])
def test_bilevel_of_large_groups(p):
    """Under the sanitizers: the filter, full groups, the residual programme."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 8, p)
    for v in (rng.standard_normal(p), np.sort(rng.random(p)), np.full(p, 3.0)):
        for scale in (np.ones(8), np.arange(1.0, 9.0) ** -0.5):
            values = v * scale[code]
            for k, g in ((3, 1), (40, 2), (100, 1), (300, 5)):
                arguments = (values, code, 8, k, g, np.zeros(8, np.uint8))
                found = selected(native, "bilevel_select", arguments)
                best = selected(native, "bilevel_program", arguments)
                sums = [np.sum(values[out[:count]] ** 2) for count, _, out in (found, best)]
                assert np.isclose(*sums, rtol=1e-13)
