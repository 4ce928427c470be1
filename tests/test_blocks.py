"""Data that are not in memory: read by blocks, every chunk once, and never loaded in silence."""

import os
import shutil
import warnings

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from annotated import write_matrix
from conftest import make_classification, slow
from generators import gaussian, sparse
from zeronorm import BudgetClassifier, L1Classifier, cross_validate, l1_path, verify
from zeronorm.core.frames import is_lazy
from zeronorm.data import Dense, as_design
from zeronorm.data import chunked as _foreign
from zeronorm.data import opening as _lazy
from zeronorm.data.chunked import Chunked
from zeronorm.data.operations import moments, scan
from zeronorm.verification import data as _columns

N, P = 37, 23
G = gaussian(N, P)
TINY = 600  # bytes of a read, so that small arrays are of many blocks


@pytest.fixture
def tiny(monkeypatch):
    """Make blocks of small arrays as many as those of large ones."""
    monkeypatch.setattr(_foreign, "READ_BYTES", TINY)
    monkeypatch.setattr(_foreign, "READ_ENTRIES", 20)


@pytest.fixture
def file(tmp_path):
    """An HDF5 file that is open."""
    with h5py.File(tmp_path / "x.h5", "w") as opened:
        yield opened


class Counted:
    """An array with chunks that counts how often each of them is read."""

    def __init__(self, x, chunks):
        self._x, self.chunks = x, chunks
        self.shape, self.dtype = x.shape, x.dtype
        self.reads = np.zeros([-(-n // c) for n, c in zip(x.shape, chunks, strict=True)], int)

    def __getitem__(self, key):
        keys = key if isinstance(key, tuple) else (key,)
        touched = tuple(
            slice(k.indices(n)[0] // c, -(-k.indices(n)[1] // c))
            for k, n, c in zip(keys, self.shape, self.chunks, strict=True)
            if k.indices(n)[0] < k.indices(n)[1]
        )
        if len(touched) == len(keys):
            self.reads[touched] += 1
        return self._x[key]


def of_chunks(x, chunks):
    design = as_design(Counted(x, chunks), n_threads=2)
    design.reader._array.reads[:] = 0  # of the look at one element
    return design, design.reader._array


@pytest.mark.parametrize("chunks", [(N, 1), (N, 4), (1, P), (5, P), (4, 6), (N, P), (1, 1)])
@pytest.mark.parametrize("dtype", [np.float64, *slow(np.float32, np.int32, np.bool_)])
def test_a_pass_reads_every_chunk_once(tiny, chunks, dtype):
    """A scan of a compressed file would unpack its chunks again for every block they lie in."""
    x = (G * 3).astype(dtype)
    design, source = of_chunks(x, chunks)
    scores = scan(design, np.ones((N, 2)))
    assert (source.reads == 1).all()
    np.testing.assert_allclose(scores[:, 1], x.astype(float).sum(axis=0), atol=1e-4)
    source.reads[:] = 0
    _, square = moments(design, np.ones(N))
    assert (source.reads == 1).all()
    np.testing.assert_allclose(square, (x.astype(float) ** 2).sum(axis=0), rtol=1e-6)
    source.reads[:] = 0
    coef = np.random.default_rng(0).standard_normal(P)
    np.testing.assert_allclose(design.combine(coef), x.astype(float) @ coef, atol=1e-10)
    assert (source.reads == 1).all()
    source.reads[:] = 0
    design.gather(np.array([3, 0, P - 1, 3]))
    assert source.reads.max() == 1
    design.gather(np.array([0, P - 1]))
    assert source.reads.max() == 1  # what was gathered last is at hand


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_a_pass_over_sparse_data_reads_every_chunk_once(tiny, form):
    """Chunks that two columns share would be unpacked twice."""
    S = sparse(N, P, density=0.5, form=form)
    parts = [Counted(part, (6,)) for part in (S.indices, S.data)]
    reader = _foreign.SparseReader(S.indptr, *parts, S.shape, by_column=form == "csc")
    design = Chunked(reader)
    assert len(reader.slabs) > 3 if form == "csr" else design.block < P
    np.testing.assert_allclose(scan(design, np.ones(N)), S.sum(axis=0), atol=1e-12)
    assert all((part.reads == 1).all() for part in parts)


@pytest.mark.parametrize("chunks", [(N, 4), (5, P), (4, 6)])
def test_the_bits_of_a_score_do_not_depend_on_its_block(tiny, chunks):
    """Folds, classes and restarts would differ in the last digits by what is read with them."""
    for dtype in (np.float32, np.float64, np.int32, np.float16):
        design, _ = of_chunks((3 * G).astype(dtype), chunks)
        v = np.random.default_rng(0).standard_normal(N)
        whole = design.correlate(v, 0, P)
        assert np.array_equal(scan(design, v), whole)
        ones = [design.correlate(v, j, j + 1)[0] for j in range(P)]
        assert np.array_equal(ones, whole)
        assert np.array_equal(design.correlate(np.column_stack([v, -v]), 0, P)[:, 0], whole)


def stored(file, storage):
    """Data in some storage, and the same in memory as a scan sees them: by row."""
    X, _ = make_classification(90, 60, seed=5)
    X = X.astype(np.float32)
    if storage in ("csr", "csc"):
        S = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0)).asformat(storage)
        return write_matrix(file, "x", S, chunk=50), S
    if storage == "contiguous":
        return file.create_dataset("x", data=X), X
    chunks = {"by column": (90, 7), "by row": (4, 60), "tiles": (16, 9)}[storage]
    return file.create_dataset("x", data=X, chunks=chunks, compression="gzip"), X


STORED = ("contiguous", "by column", "by row", "tiles", "csr", "csc")


@pytest.mark.parametrize("storage", STORED)
@pytest.mark.parametrize("method", ["pool", *slow("l0", "greedy", "minimax")])
def test_a_fit_is_that_of_the_array_in_memory(file, storage, method):
    """Another model would come of the same numbers, or rows of predictions be misread."""
    _, y = make_classification(90, 60, seed=5)
    lazy, X = stored(file, storage)
    model = BudgetClassifier(5, method=method, calibrate=False).fit(lazy, y)
    twin = BudgetClassifier(5, method=method, calibrate=False).fit(X, y)
    assert np.array_equal(model.support_, twin.support_)
    assert np.array_equal(model.coef_, twin.coef_)  # of one slab, so the same sums
    assert np.array_equal(model.predict_proba(lazy), twin.predict_proba(X))
    columns = model.transform(lazy)
    assert (columns != twin.transform(X)).sum() == 0


@pytest.mark.parametrize("storage", ["by row", "tiles", "csr", *slow("by column", "csc")])
def test_a_fit_in_many_blocks_selects_the_same(file, storage, monkeypatch):
    """What a solver asks of columns and slabs would be put together wrongly."""
    monkeypatch.setattr(_foreign, "READ_BYTES", 4000)
    monkeypatch.setattr(_foreign, "READ_ENTRIES", 300)
    _, y = make_classification(90, 60, seed=5)
    lazy, X = stored(file, storage)
    model = BudgetClassifier(5, calibrate=False).fit(lazy, y)
    twin = BudgetClassifier(5, calibrate=False).fit(X, y)
    assert np.array_equal(model.support_, twin.support_)
    np.testing.assert_allclose(model.coef_, twin.coef_, rtol=1e-9)
    l1, of_array = L1Classifier(C=0.3).fit(lazy, y), L1Classifier(C=0.3).fit(X, y)
    np.testing.assert_allclose(l1.coef_, of_array.coef_, atol=1e-3)
    path = l1_path(lazy, y, Cs=4)
    assert path.dual_gap.max() <= 1e-4
    scores = cross_validate(BudgetClassifier(3, calibrate=False), lazy, y, cv=3).scores
    assert np.array_equal(
        scores, cross_validate(BudgetClassifier(3, calibrate=False), X, y, cv=3).scores
    )


def test_plain_hdf5_is_mapped(file):
    """A file that the kernels can read where it lies would be copied block by block."""
    x = file.create_dataset("x", data=G.astype(np.float32))
    design = as_design(x)
    assert isinstance(design, Dense)
    assert design.storage == "dense float32, mapped"
    assert np.array_equal(scan(design, np.ones(N)), scan(as_design(x[:]), np.ones(N)))
    x[0, 0] = 7.0  # written, and not yet on disk
    assert as_design(x).gather(np.array([0]))[0, 0] == 7.0
    for name, options in {
        "fill": {"shape": (N, P), "dtype": "f4"},
        "fletcher": {"fletcher32": True},
    }.items():
        data = {} if name == "fill" else {"data": G}
        assert isinstance(as_design(file.create_dataset(name, **data, **options)), Chunked)


def test_hdf5_in_memory_and_virtual_is_not_mapped(tmp_path):
    """The offset of a dataset would be taken for one of a file that does not hold it."""
    with h5py.File(tmp_path / "core.h5", "w", driver="core", backing_store=False) as core:
        design = as_design(core.create_dataset("x", data=G))
        assert np.array_equal(design.gather(slice(None)), G)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=G)
    layout = h5py.VirtualLayout((N, P), float)
    layout[:] = h5py.VirtualSource(tmp_path / "a.h5", "x", (N, P))
    with h5py.File(tmp_path / "b.h5", "w") as file:
        design = as_design(file.create_virtual_dataset("x", layout))
        assert isinstance(design, Chunked)
        assert np.array_equal(design.gather(slice(None)), G)


# ------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda f: f.create_dataset("x", data=np.array([["a"]], "S1")), ValueError, "got strings"),
        (
            lambda f: f.create_dataset("x", data=[["a"]], dtype=h5py.string_dtype()),
            TypeError, "got dtype object",
        ),
        (lambda f: f.create_dataset("x", data=np.ones((2, 2, 2))), ValueError, "3 dimension"),
        (lambda f: f.create_dataset("x", data=np.ones(4)), ValueError, "1 dimension"),
        (lambda f: f.create_dataset("x", data=1.0), ValueError, "0 dimension"),
        (lambda f: f.create_dataset("x", (0, 3), "f4"), ValueError, "0 sample"),
        (lambda f: f.create_dataset("x", data=np.ones((2, 2), complex)), ValueError, "Complex"),
        (
            lambda f: f.create_dataset("x", data=np.zeros((2, 2), [("a", "f4")])),
            TypeError, "real numbers",
        ),
        (
            lambda f: f.create_dataset("x", data=np.array([[1, np.nan], [0, 1]]), chunks=(1, 2)),
            ValueError, "NaN at row 0, column 1",
        ),
    ],
)  # fmt: skip
def test_what_is_no_matrix_of_numbers_is_refused(file, make, error, message):
    """It would be loaded, or fail with words that help nobody."""
    with pytest.raises(error, match=message):
        BudgetClassifier(1, calibrate=False).fit(make(file), [0, 1])


def test_a_closed_file_is_refused(file):
    """The message would be HDF5's, of identifiers."""
    x = file.create_dataset("x", data=G, chunks=(5, 5))
    design = as_design(x)
    file.close()
    for act in (lambda: as_design(x), lambda: BudgetClassifier(1).fit(x, np.arange(N) % 2)):
        with pytest.raises(OSError, match=r"h5py\.Dataset, could not be read .*must stay open"):
            act()
    with pytest.raises(OSError, match="must stay open"):
        design.correlate(np.ones(N), 0, P)


def test_a_file_that_is_damaged_in_the_middle_of_a_fit_is_told(tmp_path):
    """A fit would go on with what is no longer there."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=G, chunks=(N, 4), compression="gzip")
    with h5py.File(path) as file:
        design = as_design(file["x"])
        os.truncate(path, path.stat().st_size // 2)
        with pytest.raises(OSError, match="could not be read"):
            scan(design, np.ones(N))


def test_an_array_that_lies_is_found():
    """Rows of a source that shrinks would be taken for others."""

    class Short(Counted):
        def __getitem__(self, key):
            found = super().__getitem__(key)
            return found if found.size == 1 else found[:-1]

    with pytest.raises(OSError, match="gave an array of shape"):
        scan(as_design(Short(G, (5, 5))), np.ones(N))

    class Masked(Counted):
        def __getitem__(self, key):
            return np.ma.masked_greater(super().__getitem__(key), 2.0)

    with pytest.raises(ValueError, match="masked entries"):
        scan(as_design(Masked(G, (5, 5))), np.ones(N))


def test_chunks_larger_than_memory_are_refused(monkeypatch):
    """Reading one of them would end the process."""
    monkeypatch.setattr(_foreign, "available_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match=r"chunks of 6\.81 kB, and 1 kB of memory"):
        as_design(Counted(G, (N, P)))
    as_design(Counted(G, (5, 5)))


class Whole:
    """An array that gives itself as a whole only."""

    shape, dtype = G.shape, G.dtype

    def __getitem__(self, key):
        raise NotImplementedError("no slices")

    def __array__(self, dtype=None, copy=None):
        return G


def test_what_cannot_be_cut_is_loaded_where_it_is_small(monkeypatch):
    """It would be loaded whatever its size, or refused although there is room for it."""
    assert np.array_equal(as_design(Whole()).gather(slice(None)), G)
    monkeypatch.setattr(_lazy, "available_memory", lambda: 2.0 * G.nbytes - 1)
    with pytest.raises(MemoryError, match=r"6\.81 kB, cannot be read by blocks.*no slices"):
        as_design(Whole())


@pytest.mark.parametrize("break_it", ["indptr", "index", "short"])
def test_a_broken_sparse_matrix_is_refused(file, break_it):
    """Kernels would read beyond the end of their arrays."""
    S = sparse(N, P, form="csc")
    if break_it == "indptr":
        S.indptr[3] = 10**6
    if break_it == "index":
        S.indices[5] = N
    group = write_matrix(file, "x", S)
    if break_it == "short":
        group["data"].resize((S.nnz - 1,))
    with pytest.raises(ValueError, match=r"indptr|row index"):
        scan(as_design(group), np.ones(N))


def test_a_group_that_does_not_say_what_it_is_is_refused(file):
    """Rows would be taken for columns."""
    group = file.create_group("bare")
    for name in ("data", "indices", "indptr"):
        group[name] = np.zeros(2)
    with pytest.raises(ValueError, match="sparse matrix as AnnData writes it"):
        as_design(group)


def test_a_large_compressed_file_is_told_once(file, monkeypatch):
    """Nobody would know that every scan unpacks it again."""
    monkeypatch.setattr(_lazy, "NOTED_BYTES", 100)
    x = file.create_dataset("x", data=G, chunks=(5, P), compression="gzip")
    with pytest.warns(UserWarning, match=r"is compressed.*stored by row.*zeronorm convert") as told:
        BudgetClassifier(2, calibrate=False).fit(x, np.arange(N) % 2)
    assert len(told) == 1


def test_what_has_no_room_is_verified_by_blocks(file, monkeypatch):
    """The verifier would load all of a file that no memory holds, or refuse it."""
    x = file.create_dataset("x", data=G, chunks=(5, P))
    y = np.arange(N) % 2
    certificate = BudgetClassifier(2, calibrate=False).fit(x, y).certificate_
    expected = verify(certificate, x, y)
    monkeypatch.setattr(_columns, "available_memory", lambda: 8.0 * G.size)
    for data in (x, as_design(x), G):
        assert verify(certificate, data, y) == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr(_columns, "available_memory", lambda: 8.0 * G.size / 17)
    for data in (x, as_design(x)):
        with pytest.raises(MemoryError, match="room in memory for 1 of its 23 columns at a time"):
            verify(certificate, data, y)
    verify(certificate, G, y)


def test_what_lies_in_memory_is_not_read_by_blocks():
    """A frame or a tensor would be cut where its memory can be read at once."""
    pd, xr = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    odd = pd.DataFrame(G[:, :3], columns=["group", "format", "indptr"])
    for X in (G, G.tolist(), pd.DataFrame(G), odd, pd.Series(G[0]), sp.csr_array(G), "x.npy", None):
        assert not is_lazy(X)
    assert not is_lazy(xr.DataArray(G))
    assert isinstance(as_design(xr.DataArray(G)), Dense)


# ------------------------------------------------------------------------------- other libraries


@pytest.mark.parametrize("version", [2, 3])
def test_zarr(tiny, tmp_path, version):
    """Chunks of zarr that are gone would be read as zeros, and a fit go on with them."""
    zarr = pytest.importorskip("zarr")
    x = zarr.create_array(
        tmp_path / "x.zarr", shape=(N, P), chunks=(5, 4), dtype=float, zarr_format=version
    )
    x[:] = G
    design = as_design(x)
    assert isinstance(design, Chunked)
    np.testing.assert_allclose(scan(design, np.ones(N)), G.sum(axis=0), atol=1e-12)
    group = zarr.create_group(tmp_path / "s.zarr", zarr_format=version)
    S = sparse(N, P, form="csr")
    group.attrs.update({"encoding-type": "csr_matrix", "shape": list(S.shape)})
    for name in ("data", "indices", "indptr"):
        group.create_array(name, data=getattr(S, name))
    np.testing.assert_allclose(
        scan(as_design(group), np.ones(N)), np.asarray(S.sum(axis=0)).ravel(), atol=1e-12
    )
    shutil.rmtree(tmp_path / "x.zarr")
    with pytest.raises(OSError, match="is gone"):
        scan(design, np.ones(N))


def test_xarray(file, tmp_path):
    """An array that xarray has not loaded would be loaded as a whole, and kept."""
    xr, zarr = pytest.importorskip("xarray"), pytest.importorskip("zarr")
    group = zarr.create_group(tmp_path / "x.zarr")
    own = group.create_array("x", shape=(N, P), chunks=(5, 4), dtype=float, dimension_names="ab")
    own[:] = G
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened = xr.open_zarr(tmp_path / "x.zarr", chunks=None, consolidated=False)
    assert is_lazy(opened.x)
    design = as_design(opened.x)
    assert isinstance(design, Chunked)
    assert np.array_equal(design.gather(slice(None)), G)
    assert is_lazy(opened.x)  # still
