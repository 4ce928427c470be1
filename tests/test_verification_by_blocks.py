"""The verifier where X has no room in memory: it reads blocks of columns, and finds the same."""

import dataclasses
import functools

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

import oracles
import zeronorm
from zeronorm import BudgetClassifier, BudgetRegressor, verify
from zeronorm.data import as_design
from zeronorm.verification import CertificateError
from zeronorm.verification import data as _columns

FIGURES = ("objective", "bound", "gap")
ROWS, COLUMNS = 60, 40


@pytest.fixture
def blocks(monkeypatch):
    """Make blocks of three columns."""
    monkeypatch.setattr(_columns, "CELLS", 3 * ROWS)
    monkeypatch.setattr(_columns, "LEAST_COLUMNS", 3)


def free(monkeypatch, share):
    """Let the free memory be a share of X in float64."""
    monkeypatch.setattr(_columns, "available_memory", lambda: share * 8.0 * ROWS * COLUMNS)


def draw(seed=5):
    """Return columns of all sizes, one constant and two equal, numbers and their signs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, COLUMNS)) * 10.0 ** rng.uniform(-2, 2, COLUMNS)
    X += 3 * X.std(axis=0)
    X[:, 7], X[:, 30] = 4.0, -X[:, 2]
    z = X[:, [2, 11, 25]] / X[:, [2, 11, 25]].std(axis=0) @ [1.0, -1.0, 0.8]
    z += rng.standard_normal(ROWS)
    return X, z - z.mean()


NAMES = [
    "weights", "not centred", "no intercept", "neither", "bounded", "searched",
    "extracted", "sparse", "groups", "signs", "covariates", "outputs",
]  # fmt: skip


def certificates():
    """Yield the name of a problem, data, a certificate and weights of the rows."""
    X, z = draw()
    y, weight = (z > 0).astype(int), np.random.default_rng(1).integers(0, 3, ROWS) * 1.0
    groups = np.arange(COLUMNS) % 13
    weak = np.random.default_rng(0).standard_normal((200, 30))  # where trees have a diagonal
    noisy = 0.4 * weak[:, :15].sum(axis=1) + 3.0 * np.random.default_rng(1).standard_normal(200)
    searched = {"gap": 0.0, "time_limit": 60}
    yield "weights", X, y, zeronorm.certify([2, 11], X, y, sample_weight=weight), weight
    for name, options in (
        ("not centred", {"standardize": False}),
        ("no intercept", {"fit_intercept": False}),
        ("neither", {"standardize": False, "fit_intercept": False}),
        ("bounded", {"max_abs_coef": 0.5}),
    ):
        yield name, X, y, zeronorm.certify([2, 11, 25], X, y, C=0.01, **options), None
    S = sp.csc_array(np.where(3 * X.std(axis=0) < X, X, 0.0))
    for name, model, data, target in (
        ("searched", BudgetClassifier(3, C=0.3, calibrate=False), X, y),
        ("extracted", BudgetRegressor(4, C=1.0), weak, noisy),
        ("sparse", BudgetClassifier(3, calibrate=False), S, y),
        ("groups", BudgetClassifier(n_groups=2, feature_groups=groups, calibrate=False), X, y),
        ("signs", BudgetRegressor(3, signs=1), X, z),
        ("covariates", BudgetRegressor(2, covariates=[0, 33]), X, z),
        ("outputs", BudgetRegressor(2), X, np.column_stack([z, X[:, 11]])),
    ):
        proof = zeronorm.prove(model.fit(data, target), data, target, **searched)
        yield name, data, target, proof.certificate, None


@functools.cache
def cases():
    """Return them by name."""
    return {case[0]: case[1:] for case in certificates()}


def alike(found, expected):
    """Fail where figures are not those of a verification in memory."""
    assert found["nodes"] == expected["nodes"]
    for name in FIGURES:
        assert found[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name
    assert found["rounding"] == pytest.approx(expected["rounding"], rel=1e-3, abs=0.0)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("case", NAMES)
def test_blocks_have_the_figures_of_the_whole(case, held, blocks, monkeypatch):
    """A scaling, a sign or an order of columns would be another in a block, or read a second time.

    held : whether the columns that the root of a tree leaves are held.
    """
    X, y, certificate, weight = cases()[case]
    expected = verify(certificate, X, y, sample_weight=weight)
    memory = iter([0.0])
    monkeypatch.setattr(_columns, "available_memory", lambda: next(memory, np.inf if held else 0.0))
    alike(verify(certificate, X, y, sample_weight=weight), expected)


def test_cases_have_trees():
    """Nothing would be seen of the nodes below a root."""
    assert list(cases()) == NAMES
    deep = [case for case, own in cases().items() if own[2].tree is not None]
    assert {"searched", "extracted", "groups"} <= set(deep)
    assert cases()["extracted"][2].tree.diagonal.any()
    assert cases()["searched"][2].equivalents


@pytest.mark.parametrize("case", ["searched", "extracted", "groups"])
def test_what_is_false_is_refused_by_blocks(case, blocks, monkeypatch):
    """A column that no block has would be in no bound."""
    X, y, certificate, _ = cases()[case]
    free(monkeypatch, 0.0)
    higher = certificate.bound + 1e-3 * certificate.objective
    objective = max(higher, certificate.objective)
    for changes in (
        {"objective": objective, "bound": higher},
        {"candidates": certificate.candidates - 1, "tree": certificate.tree},
        {"equivalents": {int(certificate.support[0]): np.array([20])}},
    ):
        if certificate.groups is not None and "equivalents" in changes:
            continue
        with pytest.raises(CertificateError):
            verify(dataclasses.replace(certificate, **changes), X, y)


class Watched:
    """An array out of memory that knows the largest of its reads, and how many there were."""

    chunks = None

    def __init__(self, x):
        self._x, self.shape, self.dtype = x, x.shape, x.dtype
        self.reads, self.most = 0, 0

    def __getitem__(self, key):
        part = self._x[key]
        self.reads, self.most = self.reads + 1, max(self.most, part.size)
        return part


@pytest.mark.parametrize("kind", ["watched", "hdf5", "dask", "design", "sparse design"])
def test_data_out_of_memory_are_read_by_shares(kind, tmp_path, monkeypatch, request):
    """A proof over more data than the memory holds could not be verified, or would fill it."""
    X, y, certificate, _ = cases()["searched"]
    expected = verify(certificate, X, y)
    monkeypatch.setattr(_columns, "CELLS", ROWS)
    monkeypatch.setattr(_columns, "LEAST_COLUMNS", 1)
    free(monkeypatch, 0.8)  # not enough to hold all of them; four at a time
    if kind == "hdf5":
        file = h5py.File(tmp_path / "x.h5", "w")
        request.addfinalizer(file.close)
        data = file.create_dataset("x", data=X, chunks=(7, 11))
    elif kind == "dask":
        data = pytest.importorskip("dask.array").from_array(X, chunks=(13, 9))
    elif kind == "watched":
        data = Watched(X)
    else:
        data = as_design(X if kind == "design" else sp.csc_array(X))
    alike(verify(certificate, data, y), expected)
    if kind == "watched":
        assert data.most == 4 * ROWS
        assert data.reads >= 20  # two times all of it at least


def test_data_that_would_be_read_too_often_are_refused(monkeypatch):
    """A file beside a little memory would be read thousands of times."""
    X, y, certificate, _ = cases()["searched"]
    free(monkeypatch, 6 / COLUMNS)  # a column is to take 15 % of the memory
    for data in (Watched(X), as_design(X)):
        with pytest.raises(MemoryError, match=r"for 1 of its 40 columns at a time.* takes 3.2 kB"):
            verify(certificate, data, y)
    verify(certificate, X, y)  # which is in memory


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.bool_, ">f4", np.float16])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_kind_of_number_is_read(kind, order, blocks, monkeypatch):
    """Columns would be scaled in their own precision, where sums have other digits."""
    rng = np.random.default_rng(0)
    X = np.asarray(rng.integers(0, 2, (ROWS, COLUMNS)).astype(kind), order=order)
    y = (X[:, 3].astype(float) + rng.standard_normal(ROWS) > 0.5).astype(int)
    certificate = zeronorm.certify([3, 4], X.astype(float), y)
    expected = verify(certificate, X.astype(float), y)
    free(monkeypatch, 0.0)
    alike(verify(certificate, X, y), expected)


def test_nothing_that_is_no_number_is_read(blocks, monkeypatch):
    """NaN in the last block, or of a type of its own, would be in sums."""
    X, y, certificate, _ = cases()["searched"]
    free(monkeypatch, 0.0)
    for wrong in (np.nan, np.inf, -np.inf):
        odd = X.copy()
        odd[-1, -1] = wrong
        with pytest.raises(ValueError, match="X must be finite"):
            verify(certificate, odd, y)
    with pytest.raises(ValueError, match="X must hold numbers; got dtype <U1"):
        verify(certificate, np.full(X.shape, "x"), y)


def test_a_held_column_is_the_one_that_is_read(blocks, monkeypatch):
    """Nodes below the root would have bounds of other bits than the root."""
    X = cases()["weights"][0]
    s = np.random.default_rng(1).integers(0, 3, ROWS) * 1.0
    features = np.array([5, 0, 39, 7, 2])
    for scaling, intercept in (("standardized", True), ("scaled", False), ("none", True)):
        free(monkeypatch, np.inf)
        whole = _columns.ScaledColumns(_columns.Source(X), s, scaling, intercept)
        free(monkeypatch, 0.9)  # too little to hold them
        read = _columns.ScaledColumns(_columns.Source(X), s, scaling, intercept)
        np.testing.assert_array_equal(whole.take(features), read.take(features))
        assert not whole.take(features)[:, 3].any()
        free(monkeypatch, np.inf)
        read.hold(features[1:])
        read.hold(features)
        np.testing.assert_array_equal(whole.take(features[:2]), read.take(features[:2]))
        np.testing.assert_array_equal(whole.take(features[::-1]), read.take(features[::-1]))
        others = np.array([39, 1, 5])  # of which one is not held
        np.testing.assert_array_equal(whole.take(others), read.take(others))
        read.hold(np.array([1, 2, 7]))
        np.testing.assert_array_equal(whole.take(features), read.take(features))
        own = X[s > 0] if scaling == "none" else oracles.standardise(
            X[s > 0], s[s > 0], center=scaling == "standardized"
        )[0]  # fmt: skip
        np.testing.assert_allclose(read.told(features)[:, [0, 1, 2, 4]], own[:, [5, 0, 39, 2]])


def test_memory_that_nobody_tells_is_enough(tmp_path, monkeypatch):
    """Where the system does not tell, files could not be verified at all."""
    X, y, certificate, _ = cases()["searched"]
    expected = verify(certificate, X, y)
    monkeypatch.setattr(_columns, "available_memory", lambda: np.inf)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for data in (X, file.create_dataset("x", data=X), as_design(X), Watched(X)):
            alike(verify(certificate, data, y), expected)


def test_rows_beside_little_memory_are_refused(monkeypatch):
    """Sixteen columns of very many rows would fill it."""
    many = Watched(np.broadcast_to(np.ones(1, np.int8), (10**6, 100)))
    monkeypatch.setattr(_columns, "available_memory", lambda: 8e7)
    with pytest.raises(MemoryError, match=r"for 2 of its 100 columns at a time.* takes 107 MB"):
        _columns.Source(many).plan(8e7)
    few = _columns.Source(many)
    few.plan(1.2e8)
    assert few.width == 2
    in_memory = _columns.Source(np.broadcast_to(np.ones(1, np.int8), (10**6, 100)))
    in_memory.plan(8e7)
    assert in_memory.width == 1


def test_chunks_of_unknown_sizes_are_counted():
    """Rows that Dask has filtered, which a fit takes, could not be verified."""
    da = pytest.importorskip("dask.array")
    X, y, certificate, _ = cases()["searched"]
    D = da.from_array(X, chunks=(13, 9))
    rows, columns = da.ones(ROWS, dtype=bool, chunks=13), da.ones(COLUMNS, dtype=bool, chunks=9)
    for odd in (D[rows], D[:, columns]):
        alike(verify(certificate, odd, y), verify(certificate, X, y))


@pytest.mark.parametrize("name", ["chunks", "tocsc", "toarray", "compute"])
def test_columns_of_a_frame_are_no_methods(name):
    """A data frame would be taken for another kind of data by the name of a column."""
    pd = pytest.importorskip("pandas")
    X, y, certificate, _ = cases()["searched"]
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(COLUMNS)]).rename(columns={"c3": name})
    alike(verify(certificate, frame, y), verify(certificate, X, y))


def test_equivalents_are_read_once():
    """A file would be read twice for each feature that another can stand for."""
    X, z = draw()
    X, y = np.column_stack([X, X[:, [11, 25]]]), (z > 0).astype(int)
    certificate = zeronorm.certify([2, 11, 25], X, y, standardize=False)
    assert len(certificate.equivalents) == 3
    data = Watched(X)
    verify(certificate, data, y)
    assert data.reads == 2  # all of it, and these once more, as they are not centred
    with pytest.raises(CertificateError, match="equivalents of feature 11"):
        verify(dataclasses.replace(certificate, equivalents={11: np.array([41])}), X, y)


@pytest.mark.parametrize("what", [object(), {}, "x.npy", 3.0, sp.coo_array(np.ones(5))])
def test_what_is_no_matrix_is_told(what):
    """The error would be one of a conversion that nobody asked for."""
    _, y, certificate, _ = cases()["searched"]
    with pytest.raises(ValueError, match="X must be "):
        verify(certificate, what, y)


def test_a_mapped_file_is_read_by_shares(tmp_path, monkeypatch):
    """Blocks of a few columns would each touch every page of a file that is stored by row."""
    X, y, certificate, _ = cases()["searched"]
    np.save(tmp_path / "x.npy", X)
    expected = verify(certificate, X, y)
    free(monkeypatch, 0.9)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    alike(verify(certificate, mapped, y), expected)
    free(monkeypatch, 0.1)
    with pytest.raises(MemoryError, match="room in memory for 1 of its 40 columns"):
        verify(certificate, mapped, y)


def test_what_is_held_is_not_read_again(monkeypatch):
    """Every node of a tree would read all of a file."""
    X = draw()[0]
    free(monkeypatch, 0.9)
    data = Watched(X)
    columns = _columns.ScaledColumns(_columns.Source(data), np.ones(ROWS), "standardized", True)
    chosen = np.arange(0, COLUMNS, 3)
    columns.hold(chosen)  # 14 of 40, in less than half of the memory
    before = data.reads
    v = np.random.default_rng(0).standard_normal((ROWS, 2))
    np.testing.assert_allclose(columns.dot(v, chosen[::2]), columns.take(chosen[::2]).T @ v)
    assert data.reads == before
    free(monkeypatch, 0.5)
    columns.hold(np.arange(COLUMNS))  # too many
    assert data.reads == before


def test_columns_that_differ_by_a_number_are_no_equivalents():
    """With columns as they are a feature would be said to take the place of another."""
    X, z = draw()
    X, y = np.column_stack([X, X[:, 11] + 5.0]), (z > 0).astype(int)
    certificate = zeronorm.certify([2, 11, 25], X, y, standardize=False)
    assert 40 not in certificate.equivalents.get(11, [])
    wrong = dataclasses.replace(certificate, equivalents={11: np.array([40])})
    with pytest.raises(CertificateError, match="equivalents of feature 11"):
        verify(wrong, X, y)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array])
def test_chunks_may_be_sparse(kind):
    """Those of a Dask array would be objects that no array can hold."""
    da = pytest.importorskip("dask.array")
    X, y, certificate, _ = cases()["sparse"]
    dense = X.toarray()
    data = da.from_array(dense, chunks=(20, COLUMNS)).map_blocks(kind)
    alike(verify(certificate, data, y), verify(certificate, X, y))


def test_what_becomes_an_array_has_room(monkeypatch):
    """A frame of sparse columns would fill the memory as an array."""
    pd = pytest.importorskip("pandas")
    X, y, certificate, _ = cases()["searched"]
    frame = pd.DataFrame(X)
    free(monkeypatch, 0.99)
    with pytest.raises(MemoryError, match=r"room in memory as an array.* 19.2 kB"):
        verify(certificate, frame, y)
    free(monkeypatch, 1.0)
    alike(verify(certificate, frame, y), verify(certificate, X, y))
