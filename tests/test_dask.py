"""Dask: the same bits for every chunking and any workers, faults of workers, what is refused."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import slow
from generators import gaussian, sparse
from plink import draw, imputed, write_plink
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    cross_validate,
    estimate_memory,
    from_dask,
    read_plink,
    verify,
    write_store,
)
from zeronorm.data import Dense, Rows, as_design
from zeronorm.data import (
    dask as _dask,
)
from zeronorm.data import dask as _dask_chunks
from zeronorm.data import dask as _workers
from zeronorm.data.dask import Threads, Workers, shared_out
from zeronorm.data.operations import center_scale, locate_nonfinite, margins, scan
from zeronorm.verification import CertificateError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

N, P = 67, 90
X = np.asfortranarray(gaussian(N, P, dtype=np.float32))
CHUNKS = [(N, P), (N, (1, 40, 49)), (13, 17)]
MORE_CHUNKS = [(N, 7), (10, P), ((1, 66), 90), (1, P)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of a few columns, so that small data have many."""
    monkeypatch.setattr(_dask_chunks, "SMALL_BYTES", 5 * 4 * N)
    monkeypatch.setattr(_dask_chunks, "LARGE_BYTES", 20 * 4 * N)
    monkeypatch.setattr(_dask, "SPAN", N * 8)


@pytest.fixture
def usual_blocks(small_blocks, monkeypatch):
    """Blocks of the sizes that they have."""
    monkeypatch.undo()


def in_process(n_workers):
    return distributed.Client(
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=False,
            dashboard_address=":0",
        ),
        set_as_default=False,
    )


@pytest.fixture(scope="module")
def client():
    """Three workers in this process."""
    with in_process(3) as client, client.cluster:
        yield client


def results(design):
    """Everything that a design is asked for, as arrays."""
    rng = np.random.default_rng(1)
    n, p = design.shape
    v, weight = rng.standard_normal((n, 3)), rng.uniform(0, 2, n)
    scaled = center_scale(design, weight, center=True)
    rows = Rows(design, rng.permutation(n)[: n // 2])
    found = [
        scan(design, v), scan(design, v[:, 0]), design.correlate(v, 3, p - 2),
        design.correlate(v, 4, 4), *design.moments(weight, 0, p), *design.moments(weight, 5, 8),
        design.gather([5, 0, p - 1, 5]), design.gather(slice(2, 9)), design.gather([]),
        scan(scaled, v), scaled.gather([1, 2]), scan(rows, v[: n // 2]), rows.gather([4]),
        margins(design, np.array([3, 1]), np.array([0.5, 2.0]), 1.0),
    ]  # fmt: skip
    return [one.toarray() if sp.issparse(one) else one for one in found]


def assert_same(found, expected):
    for own, other in zip(found, expected, strict=True):
        assert own.dtype == other.dtype
        assert np.array_equal(own, other)


@pytest.mark.parametrize(
    ("edges", "blocks"),
    [
        ([0, 9], [0, 9]),
        ([0, 1, 2, 3, 40], [0, 40]),  # joined until they are large enough
        ([0, 40, 80, 84], [0, 40, 84]),  # a few columns at the end join the block before
        ([0, 40, 295, 299], [0, 40, 295, 299]),  # which may be too large for that
        ([0, 600], [0, 200, 400, 600]),
        ([0, 10, 600, 610], [0, 10, 206, 403, 610]),
    ],
)
def test_blocks_are_of_about_one_size(monkeypatch, edges, blocks):
    """One worker would have twice the columns of another, or a block more than its memory."""
    monkeypatch.setattr(_dask_chunks, "SMALL_BYTES", 32 << 20)
    monkeypatch.setattr(_dask_chunks, "LARGE_BYTES", 256 << 20)
    assert _dask_chunks.edges_of(edges, 1 << 20) == blocks


@pytest.mark.parametrize("chunks", [*CHUNKS, *slow(*MORE_CHUNKS)], ids=str)
@pytest.mark.parametrize("where", ["threads", "workers"])
def test_bits_are_those_of_the_array_for_every_chunking(client, where, chunks):
    """Chunks must change no bit of anything: they are how data happen to lie."""
    lazy = da.from_array(X, chunks=chunks)
    design = from_dask(lazy, client) if where == "workers" else as_design(lazy)
    assert isinstance(design._blocks, Workers if where == "workers" else Threads)
    whole = Dense(X)
    assert_same(results(design), results(whole))
    assert np.array_equal(design.norm_bounds(), whole.norm_bounds())
    assert np.array_equal(design.some_rows(), whole.some_rows())
    assert design.scan_error == whole.scan_error
    coef = np.random.default_rng(0).standard_normal(P)
    reference = as_design(da.from_array(X, chunks=(N, P))).combine(coef)
    assert np.array_equal(design.combine(coef), reference)
    assert np.allclose(reference, X @ coef, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.bool_, np.float16, np.int64, ">f4"])
def test_types_are_read_as_in_memory(dtype):
    """A type that chunks lost would give other scores, or certificates with a wrong error."""
    values = np.asfortranarray((gaussian(N, P) * 3).astype(dtype))
    design = as_design(da.from_array(values, chunks=(20, 31)))
    assert_same(results(design), results(Dense(values)))
    assert design.scan_error == Dense(values).scan_error


@pytest.mark.parametrize("n_workers", [2, *slow(1)])
def test_bits_do_not_depend_on_the_number_of_workers(n_workers):
    """A fit must not depend on who takes part."""
    y = X[:, 3] - X[:, 50] + X[:, 70] > 0
    expected = BudgetClassifier(3).fit(X, y)
    with in_process(n_workers) as client, client.cluster:
        model = BudgetClassifier(3).fit(from_dask(da.from_array(X, chunks=(30, 13)), client), y)
    reference = BudgetClassifier(3).fit(da.from_array(X, chunks=(N, P)), y)
    assert np.array_equal(model.coef_, reference.coef_)
    assert np.array_equal(model.support_, expected.support_)
    assert np.allclose(model.coef_, expected.coef_, rtol=1e-6)


def test_estimators_take_dask_arrays_and_targets(client):
    """fit, predict, transform and cross_validate must take X, y and weights of Dask."""
    lazy = da.from_array(X, chunks=(25, 11))
    y = X[:, 3] - X[:, 50]
    weight = np.arange(N) % 3
    with client.as_current():
        model = BudgetRegressor(2).fit(
            lazy, da.from_array(y, chunks=9), sample_weight=da.from_array(weight, chunks=5)
        )
        assert model.support_.tolist() == [3, 50]
        assert model.n_features_in_ == P
        assert np.array_equal(model.predict(lazy), model.predict(X))
        assert np.array_equal(model.transform(lazy), X[:, [3, 50]].astype(float))
        scores = cross_validate(BudgetRegressor(2), lazy, da.from_array(y, chunks=9)).scores
    assert np.allclose(scores, cross_validate(BudgetRegressor(2), X, y).scores, rtol=1e-6)


@pytest.mark.parametrize("form", ["csr", *slow("csc", "csr_matrix")])
def test_sparse_chunks(client, form):
    """Chunks of SciPy's matrices must stay sparse and give what the whole matrix gives."""
    whole = sparse(N, P)
    make = {"csc": sp.csc_array, "csr": sp.csr_array, "csr_matrix": sp.csr_matrix}[form]
    lazy = da.from_array(whole.toarray(), chunks=(40, 23)).map_blocks(make)
    for design in (as_design(lazy), from_dask(lazy, client)):
        assert design.is_sparse
        assert_same(results(design), results(as_design(whole)))
        assert design.some_rows() is None
        coef = np.random.default_rng(0).standard_normal(P)
        assert np.allclose(design.combine(coef), whole @ coef)


def test_data_frames_are_read_with_their_names():
    """A frame's names must reach the model, and its rows be counted, as their number is unknown."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X[:, :20], columns=[f"g{j}" for j in range(20)])
    frame["g7"] = (frame["g7"] > 0).astype("int8")
    lazy = dd.from_pandas(frame, npartitions=4)
    y = frame["g3"] + 2 * frame["g7"]
    model = BudgetRegressor(2).fit(lazy, dd.from_pandas(y, npartitions=4))
    assert model.feature_names_in_.tolist() == [*frame.columns]
    assert model.get_feature_names_out().tolist() == ["g3", "g7"]
    assert np.allclose(model.predict(lazy), BudgetRegressor(2).fit(frame, y).predict(frame))
    for kind in ("category", "str", "Int64"):
        wrong = dd.from_pandas(frame.assign(g5=frame["g7"].astype(kind)), npartitions=2)
        with pytest.raises(ValueError, match=r"X must hold numbers; got the column 'g5' of type"):
            as_design(wrong)


def test_chunks_of_unknown_size_are_counted():
    """A filter of rows leaves chunks of unknown sizes; these must be found out, X unchanged."""
    lazy = da.from_array(X, chunks=(20, 30))
    some = lazy[da.from_array(X[:, 0] > 0, chunks=20)]
    design = as_design(some)
    assert np.isnan(some.shape[0])
    assert_same(results(design), results(Dense(np.asfortranarray(X[X[:, 0] > 0]))))


def test_what_is_no_matrix_of_numbers_is_refused():
    """Each must be refused by name before any work, or where a chunk is not what X says."""
    with pytest.raises(ValueError, match="must be two-dimensional"):
        as_design(da.ones((3, 4, 5)))
    with pytest.raises(ValueError, match="Complex data not supported"):
        as_design(da.ones((3, 4), dtype=complex))
    with pytest.raises(ValueError, match="X must hold numbers; got strings"):
        as_design(da.from_array(np.array([["a", "b"]])))
    with pytest.raises(TypeError, match="X must hold real numbers; got dtype object"):
        as_design(da.from_array(np.array([[1, None]], object), chunks=2))
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        as_design(da.ones((3, 0)))
    lying = da.from_array(X, chunks=(N, 30)).map_blocks(lambda x: x.astype("U5"), dtype=float)
    with pytest.raises(TypeError, match="X must have chunks of one type of numbers, float64"):
        scan(as_design(lying), np.ones(N))
    hidden = da.from_array(X, chunks=(N, 30)).map_blocks(sp.csr_array, meta=np.empty((0, 0)))
    with pytest.raises(TypeError, match=r"X is said to have dense chunks; got a cs._array"):
        scan(as_design(hidden), np.ones(N))


def test_nan_is_found_where_it_is(client):
    """The message must name the row and column of the whole X, not of a chunk."""
    wrong = X.copy()
    wrong[40, 66] = np.nan
    lazy = da.from_array(wrong, chunks=(13, 17))
    with pytest.raises(ValueError, match="NaN at row 40, column 66"):
        BudgetRegressor(2).fit(from_dask(lazy, client), X[:, 0])
    with pytest.raises(ValueError, match="NaN at row 40, column 66"):
        locate_nonfinite(as_design(lazy))


@pytest.mark.parametrize("order", ["F", "C"])
def test_workers_open_files_by_their_paths(client, tmp_path, order):
    """A file must be mapped by the workers, with the bits of the file mapped here."""
    path = tmp_path / "x.npy"
    np.save(path, np.asarray(X, order=order))
    here, there = as_design(path), from_dask(path, client)
    assert len(there._edges) > 5
    assert_same(results(there), results(here))
    assert np.array_equal(there.some_rows(), here.some_rows())
    assert len(pickle.dumps(here)) < 1000
    again = pickle.loads(pickle.dumps(as_design(np.load(path, mmap_mode="r")[:, 5:])))
    assert np.array_equal(again.gather([0, 1]), X[:, 5:7].astype(float))
    stored = pickle.dumps(here)
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(OSError, match="the file changed since it was opened"):
        pickle.loads(stored)


def test_genotypes_are_opened_by_the_workers(client, tmp_path):
    """Genotypes with covariates beside them must be scanned by path, rows be chosen as here."""
    copies = draw(50, 40)
    chosen = np.arange(50) % 5 > 0
    plink = read_plink(write_plink(tmp_path / "a", copies), samples=chosen)
    here = plink.with_columns({"age": np.linspace(0, 1, 40)})
    there = from_dask(here, client)
    assert_same(results(there), results(here))
    assert there.feature_names == here.feature_names
    y = imputed(copies, rows=np.flatnonzero(chosen))[chosen][:, [3, 8]].sum(axis=1)
    expected = BudgetRegressor(2).fit(plink.X, y)
    model = BudgetRegressor(2).fit(from_dask(plink.X, client), y)
    assert np.array_equal(model.support_, expected.support_)
    assert np.array_equal(model.coef_, expected.coef_)


@pytest.mark.parametrize("is_sparse", [False, *slow(True)])
def test_stores_are_opened_by_the_workers(client, tmp_path, is_sparse):
    """A store must be mapped by the workers, with the bits and the names that it has here."""
    path = tmp_path / "x.zarr"
    write_store(sparse(N, P) if is_sparse else X, path)
    here, there = as_design(path), from_dask(path, client)
    assert len(pickle.dumps(here)) < 1000
    assert_same(results(there), results(here))
    assert there.storage == f"{here.storage}, opened by the workers of a cluster"
    y = here.gather([3, 50]).sum(axis=1)
    expected = BudgetRegressor(2).fit(path, np.asarray(y).ravel())
    model = BudgetRegressor(2).fit(there, np.asarray(y).ravel())
    assert np.array_equal(model.support_, expected.support_)
    assert np.array_equal(model.coef_, expected.coef_)


def test_memory_of_threads_and_workers(client):
    """What threads make of chunks must count in an estimate, unlike what workers make."""
    lazy = da.from_array(X, chunks=(20, 13))
    assert from_dask(lazy, client).read_bytes == 0
    design = as_design(lazy)
    widest = np.diff(design._edges).max() * N * 4
    assert design.read_bytes == 2 * design.n_threads * widest
    assert design.resident_bytes == 0
    estimate = estimate_memory(lazy, BudgetRegressor(2))
    assert estimate.parts["blocks"] == design.read_bytes


def test_certificates_are_verified_on_dask_data(client):
    """verify must take what fit took, and refuse a certificate of other data."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    lazy = da.from_array(X, chunks=(25, 30))
    y = X[:, 3] - X[:, 50] + np.sin(np.arange(N))
    weight = da.from_array(np.arange(N) % 3, chunks=5)
    certificate = BudgetRegressor(2).fit(lazy, y, sample_weight=weight).certificate_
    expected = verify(certificate, X, y, sample_weight=weight.compute())
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    chunks = lazy.map_blocks(sp.csr_array)
    for same in (lazy, from_dask(lazy, client), frame, chunks):
        found = verify(certificate, same, da.from_array(y, chunks=20), sample_weight=weight)
        assert found == expected
    with pytest.raises(CertificateError):
        verify(certificate, lazy[:, ::-1], y, sample_weight=weight)


def test_data_in_memory_are_not_sent(client, monkeypatch):
    """What lies in memory must be refused with the remedy, not travel through the scheduler."""
    monkeypatch.setattr(_dask, "MOST_PICKLED", 1000)
    with pytest.raises(ValueError, match=r"X must be a Dask array, or a file on storage .* got "):
        from_dask(X, client)
    with pytest.raises(ValueError, match="client must be a client of distributed where X is a fi"):
        from_dask("x.npy")


def test_blocks_are_shared_out_evenly():
    """Blocks must stay where they are, and move only from those with too many."""
    assert shared_out(["a", "a", "b", "b"], [["a"]] * 4, ["a", "b"]) == ["a", "a", "b", "b"]
    assert shared_out(["a", "a", "b", "b"], [[], [], ["b"], ["b"]], ["b"]) == ["b"] * 4
    assert shared_out([None] * 4, [["a"], ["a"], ["a"], []], ["a", "b"]) == ["a", "a", "b", "b"]
    joined = shared_out(["a"] * 3 + ["b"] * 3, [["a"]] * 3 + [["b"]] * 3, ["a", "b", "c"])
    assert joined == ["a", "a", "c", "b", "b", "c"]


def test_workers_that_join_and_leave(client):
    """The next scan must use a worker that joined, do without one that left, and keep its bits."""
    with in_process(1) as own, own.cluster as cluster:
        design = from_dask(da.from_array(X, chunks=(20, 13)), own)
        v = np.random.default_rng(0).standard_normal(N)
        expected = scan(Dense(X), v)
        assert np.array_equal(scan(design, v), expected)
        cluster.scale(3)
        own.wait_for_workers(3)
        assert np.array_equal(scan(design, v), expected)
        assert len(set(design._blocks._owners)) == 3
        own.retire_workers([next(iter(own.nthreads()))])
        assert np.array_equal(scan(design, v), expected)
        assert len(set(design._blocks._owners)) == 2


@pytest.fixture(scope="module")
def processes():
    """Two workers that are processes of their own, which come back when they are killed.

    A cluster of Dask looks for a lost worker a while later, and closes its nanny for good where it
    is away then: by the next kill, in a test of several.
    """
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="1GiB"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def pid_of_one(client, number=0):
    """Return the process of a worker, when it is there, without asking one that may be dead."""
    client.wait_for_workers(2, timeout=60)
    nanny = [*client.cluster.workers.values()][number]
    for _ in range(600):
        if nanny.pid:
            return nanny.pid
        time.sleep(0.1)
    raise TimeoutError


@pytest.mark.slow
def test_a_killed_worker_costs_no_fit(processes):
    """SIGKILL between scans of a fit: the fit must end, with the same bits."""
    lazy = da.from_array(X, chunks=(20, 13))
    y = X[:, 3] - X[:, 50] + X[:, 70] > 0
    expected = BudgetClassifier(3, calibrate=False).fit(lazy, y)
    design = from_dask(lazy, processes)
    correlate, calls = design.correlate, []

    def deadly(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            os.kill(pid_of_one(processes), signal.SIGKILL)
        return correlate(*arguments)

    design.correlate = deadly
    model = BudgetClassifier(3, calibrate=False).fit(design, y)
    assert len(calls) > 2
    assert np.array_equal(model.coef_, expected.coef_)


@pytest.mark.slow
def test_a_task_of_the_cluster_may_fit(processes):
    """A fit in a task must not wait for the thread that it holds itself."""
    y = X[:, 3] - X[:, 50]

    def fit():
        return BudgetRegressor(2).fit(da.from_array(X, chunks=(20, 30)), y).support_

    assert processes.submit(fit).result(timeout=60).tolist() == [3, 50]


@pytest.mark.slow
@pytest.mark.parametrize("source", ["array", "file"])
def test_workers_killed_in_the_middle_of_scans(processes, usual_blocks, tmp_path, source):
    """Kills at random moments of scans: every scan must have its bits all the same."""
    x = np.asfortranarray(gaussian(2000, 20_000, dtype=np.float32))
    np.save(tmp_path / "x.npy", x)

    def read(block_info=None):
        start, stop = block_info[None]["array-location"][1]
        return np.load(tmp_path / "x.npy", mmap_mode="r")[:, start:stop]

    lazy = da.map_blocks(read, chunks=(2000, (2000,) * 10), dtype=x.dtype, meta=np.empty((0, 0)))
    design = from_dask(lazy if source == "array" else tmp_path / "x.npy", processes)
    rng = np.random.default_rng(0)
    v = rng.standard_normal(2000)
    expected = scan(Dense(x), v)
    for number in range(4):
        pid = pid_of_one(processes, number % 2)
        timer = threading.Timer(rng.uniform(0, 0.1), os.kill, (pid, signal.SIGKILL))
        timer.start()
        assert np.array_equal(scan(design, v), expected)
        timer.join()
        assert np.array_equal(scan(design, v), expected)


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_that_travelled_are_read_where_they_lie(processes, sparse):
    """A block from another worker comes at any address; kernels must not convert it every time."""
    x = sp.random_array((500, 40), density=0.5, rng=0, dtype=np.float32, format="csc")
    x = x if sparse else x.toarray("F")
    parts = [x[:, start : start + 10] for start in (0, 10, 20, 30)]
    processes.wait_for_workers(2, timeout=60)  # one that was killed comes back
    first = next(iter(processes.nthreads()))
    futures = [processes.submit(copy.copy, part, workers=[first], pure=False) for part in parts]
    processes.gather([processes.submit(np.shape, one) for one in futures])
    blocks = Workers(processes, futures)
    jobs = [(number, (0, 10)) for number in range(4)]
    v = np.random.default_rng(0).standard_normal((500, 1))
    for _ in range(10):  # a busy scheduler may place a block elsewhere once more
        found = blocks.each(_dask._correlate, jobs, v)
        assert np.array_equal(np.concatenate(found), scan(as_design(x), v))
        owners = blocks._owners
        aligned = [
            processes.submit(_workers._is_aligned, block, workers=[owner], pure=False)
            for block, owner in zip(blocks._blocks, owners, strict=True)
        ]
        settled = len(set(owners)) == 2 and all(processes.gather(aligned))
        if settled:
            break
    assert settled


@pytest.mark.slow
def test_a_worker_out_of_memory(usual_blocks):
    """A block that no worker has room for must end with what to do, not with a wait."""
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", memory_limit="400MiB"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        huge = da.zeros((1000, 400_000), chunks=(1000, 400_000), dtype=np.float32)
        with pytest.raises(MemoryError, match="they ran out of memory: give each worker more"):
            scan(from_dask(huge, client), np.ones(1000))


BEGUN = threading.Event()


def slowly(x):
    BEGUN.set()
    time.sleep(0.5)
    return x


@pytest.mark.slow
def test_a_cluster_that_loses_its_workers(monkeypatch):
    """A scan that nobody works on must end with what to do: Dask itself waits for ever."""
    monkeypatch.setattr(_workers, "WAIT", 0.4)
    monkeypatch.setattr(_workers, "POLL", 0.1)
    with in_process(1) as own, own.cluster as cluster:
        design = from_dask(da.from_array(X, chunks=(N, 30)).map_blocks(slowly, meta=X[:0, :0]), own)
        leaving = threading.Thread(target=lambda: BEGUN.wait(10) and cluster.scale(0))
        leaving.start()
        with pytest.raises(TimeoutError, match="had no worker that works for 0 seconds"):
            scan(design, np.ones(N))
        leaving.join()
        with pytest.raises(TimeoutError, match="Start more"):
            scan(design, np.ones(N))


@pytest.mark.slow
def test_a_scheduler_that_dies(tmp_path):
    """The fit must end with an error of the connection, not wait for a scheduler."""
    begin = {"cwd": tmp_path, "stderr": subprocess.PIPE, "text": True}
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "dask", "scheduler", "--port", "0", "--no-dashboard"], **begin
    )
    address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
    worker = subprocess.Popen(
        [sys.executable, "-m", "dask", "worker", address, "--no-nanny", "--no-dashboard"],
        cwd=tmp_path, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with distributed.Client(address, set_as_default=False, timeout=10) as own:
            own.wait_for_workers(1, timeout=30)
            lazy = da.from_array(X, chunks=(N, 30)).map_blocks(
                lambda x: (time.sleep(1), x)[1], dtype=X.dtype, meta=X[:0, :0]
            )
            timer = threading.Timer(0.5, scheduler.kill)
            timer.start()
            with pytest.raises(ConnectionError, match="is lost"):
                scan(from_dask(lazy, own), np.ones(N))
            timer.join()
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()
        scheduler.stderr.close()


@pytest.mark.slow
def test_select_with_a_scheduler(processes, tmp_path):
    """The command must give the model of the file read here, and say what is wrong with ADDRESS."""
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", (X[:, 3] - X[:, 50] > 0).astype(int))

    def select(name, *options):
        return subprocess.run(
            [sys.executable, "-m", "zeronorm", "select", "x.npy", "--target", "y.npy", "-k", "2",
             "--no-cv", "--no-calibrate", "-o", name, *options],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert select("here.npz").returncode == 0
    done = select("there.npz", "--scheduler", processes.scheduler.address)
    assert done.returncode == 0, done.stderr
    assert "opened by the workers of a cluster" in " ".join(done.stdout.split())
    with np.load(tmp_path / "here.npz") as here, np.load(tmp_path / "there.npz") as there:
        assert np.array_equal(here["coef"], there["coef"])
    wrong = select("no.npz", "--scheduler", "tcp://127.0.0.1:1")
    assert wrong.returncode == 2
    assert "--scheduler must be the address of a Dask scheduler" in wrong.stderr
