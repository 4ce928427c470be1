"""gzip of HDF5, unpacked beside h5py: its values, its errors, and all that only h5py knows."""

import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zeronorm._threads import solver_threads
from zeronorm.designs import _foreign, _inflated, as_design
from zeronorm.designs._inflated import Inflated, inflated

h5py = pytest.importorskip("h5py")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="reads by os.pread")
GZIP = {"compression": "gzip", "compression_opts": 3}
SHUFFLED = {**GZIP, "shuffle": True}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Chunks of any size count, and a thread has a few of them."""
    monkeypatch.setattr(_inflated, "SMALLEST", 1)
    monkeypatch.setattr(_inflated, "_PIECE", 100)


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


def written(path, values, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=values, **options)
    return h5py.File(path, "r")["x"]


@pytest.mark.parametrize("options", [GZIP, SHUFFLED], ids=["plain", "shuffled"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "i8", "f2", "f4", "f8", ">f4", ">i8"])
@pytest.mark.parametrize(("shape", "chunks"), [((97,), (10,)), ((30,), (64,)), ((23, 17), (5, 4))])
def test_values_are_those_of_h5py(tmp_path, options, dtype, shape, chunks):
    """A number would be in another place, or in another order of bytes."""
    chunks = tuple(min(size, n) for size, n in zip(chunks, shape, strict=True))
    values = numbers(shape, dtype)
    dataset = written(tmp_path / "x.h5", values, chunks=chunks, **options)
    found = inflated(dataset)
    assert isinstance(found, Inflated)
    for n_threads in (1, 3):
        with solver_threads(n_threads):
            np.testing.assert_array_equal(found[...] if len(shape) == 1 else found[:, :], values)
    assert found[:].dtype == values.dtype
    for first, last in ((0, 0), (3, 4), (7, 29), (11, 1000), (-5, None)):
        np.testing.assert_array_equal(found[first:last], dataset[first:last])
        if len(shape) == 2:
            np.testing.assert_array_equal(found[first:last, 2:9], dataset[first:last, 2:9])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_box_of_any_chunks(tmp_path_factory, data):
    """The ends of chunks and of boxes would meet wrongly."""
    shape = data.draw(st.tuples(st.integers(1, 40), st.integers(1, 40)))
    chunks = tuple(data.draw(st.integers(1, n)) for n in shape)
    values = numbers(shape, data.draw(st.sampled_from(["u1", "i4", "f8"])))
    path = tmp_path_factory.mktemp("boxes") / "x.h5"
    options = data.draw(st.sampled_from([GZIP, SHUFFLED]))
    found = inflated(written(path, values, chunks=chunks, **options))
    assert isinstance(found, Inflated)
    box = tuple(slice(*sorted(data.draw(st.integers(0, n + 2)) for _ in range(2))) for n in shape)
    np.testing.assert_array_equal(found[box], values[box])


@pytest.mark.parametrize(
    "options",
    [
        {"chunks": (5,), "compression": "lzf"},
        {"chunks": (5,), **GZIP, "fletcher32": True},
        {"chunks": (5,), "shuffle": True},
        {"chunks": (5,), **GZIP, "scaleoffset": 0},
        {"chunks": (5,)},
        {},
    ],
)
def test_what_only_h5py_knows_stays_with_it(tmp_path, options):
    """Bytes of a filter that is not known would be taken for numbers."""
    values = numbers((31,), "i4")
    dataset = written(tmp_path / "x.h5", values, **options)
    assert inflated(dataset) is dataset


def test_files_that_may_change_stay_with_h5py(tmp_path):
    """What is written may not be in the file yet."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", data=numbers((31,), "i4"), chunks=(5,), **GZIP)
        assert inflated(dataset) is dataset
    with h5py.File(tmp_path / "y.h5", "w", userblock_size=512) as file:
        file.create_dataset("x", data=numbers((31,), "i4"), chunks=(5,), **GZIP)
    dataset = h5py.File(tmp_path / "y.h5", "r")["x"]
    assert inflated(dataset) is dataset
    array = numbers((31,), "i4")
    assert inflated(array) is array


def test_chunks_that_are_not_there_or_not_packed(tmp_path):
    """The fill value would be forgotten, or bytes that no filter packed be unpacked."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", (40,), "i4", chunks=(10,), fillvalue=7, **GZIP)
        dataset[10:20] = np.arange(10)
        dataset.id.write_direct_chunk((20,), np.arange(50, 60, dtype="i4").tobytes(), 1)
    found = inflated(h5py.File(tmp_path / "x.h5", "r")["x"])
    assert isinstance(found, Inflated)
    wanted = np.concatenate([np.full(10, 7), np.arange(10), np.arange(50, 60), np.full(10, 7)])
    np.testing.assert_array_equal(found[:], wanted)


@pytest.mark.parametrize(
    "stored",
    [b"no gzip", zlib.compress(np.arange(9, dtype="i4").tobytes()), zlib.compress(bytes(60))],
    ids=["damaged", "short", "long"],
)
def test_a_damaged_chunk_is_an_error_of_h5py(tmp_path, stored):
    """Numbers of another place, or of nowhere, would be taken."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", (40,), "i4", chunks=(10,), **GZIP)
        dataset[:] = np.arange(40)
        dataset.id.write_direct_chunk((20,), stored, 0)
    dataset = h5py.File(tmp_path / "x.h5", "r")["x"]
    found = inflated(dataset)
    np.testing.assert_array_equal(found[:20], np.arange(20))
    outcomes = []
    for one in (dataset, found):
        try:
            outcomes.append(one[20:30].tolist())
        except OSError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


def test_a_scan_reads_by_it(tmp_path, monkeypatch):
    """A compressed file would be read by h5py alone, at a third of the speed."""
    values = numbers((60, 30), "f4")
    dataset = written(tmp_path / "x.h5", values, chunks=(60, 4), **SHUFFLED)
    used = []
    known = Inflated.__getitem__
    monkeypatch.setattr(
        Inflated, "__getitem__", lambda self, key: used.append(key) or known(self, key)
    )
    v = np.random.default_rng(1).standard_normal(60)
    scores = as_design(dataset).correlate(v, 0, 30)
    assert used
    monkeypatch.setattr(_foreign, "inflated", lambda array: array)
    np.testing.assert_array_equal(scores, as_design(dataset).correlate(v, 0, 30))
