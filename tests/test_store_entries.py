"""Stores of sparse files whose entries lie by row: no bit and no entry is lost."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from zeronorm import write_store
from zeronorm.data import as_design
from zeronorm.io import read_table
from zeronorm.io.store import sources as _entries
from zeronorm.io.store import writing as _writing

MEMORY = 1 << 20


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of a few entries, files of a few more."""
    monkeypatch.setattr(_entries, "PIECE", 53)
    monkeypatch.setattr(_writing, "SPARSE_ENTRIES", 97)


@pytest.fixture
def few_columns(monkeypatch):
    """Memory for a few columns at a time."""
    monkeypatch.setattr(
        _entries, "end_of", lambda indptr, first, _: min(first + 7, len(indptr) - 1)
    )


def drawn(seed=0, n=41, p=60, density=0.2, dtype=np.float64):
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 9, (n, p)) * (rng.random((n, p)) < density)
    values[-1, -1] = 3
    return sp.csr_array(values.astype(dtype))


def stored(made):
    return as_design(made.path).gather(slice(None))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float32", "float64"])
def test_npz_of_a_sparse_matrix(tmp_path, small_pieces, few_columns, form, dtype, compressed):
    """Entries at the ends of pieces would be lost, or be in another row."""
    X = drawn(dtype=dtype)
    sp.save_npz(tmp_path / "x.npz", X.asformat(form), compressed=compressed)
    made = write_store(tmp_path / "x.npz", tmp_path / "x.zarr", memory=MEMORY)
    assert made.is_sparse
    kept = dtype in ("bool", "int8", "uint8", "float32")
    assert made.dtype == (("uint8" if dtype == "bool" else dtype) if kept else "float64")
    np.testing.assert_array_equal(stored(made).toarray(), X.toarray())
    assert {one.name for one in tmp_path.iterdir()} == {"x.npz", "x.zarr"}


def test_rows_of_a_sparse_matrix_may_be_out_of_order(tmp_path, small_pieces, few_columns):
    """Indices that do not rise along a row, and entries that are there twice, are of SciPy too."""
    X = drawn().tocoo()
    order = np.random.default_rng(1).permutation(X.nnz)
    order = np.concatenate([order, order[:20]])
    rows = np.sort(X.row[order], kind="stable")
    indptr = np.searchsorted(rows, np.arange(X.shape[0] + 1))
    place = order[np.argsort(X.row[order], kind="stable")]
    twice = sp.csr_array((X.data[place], X.col[place], indptr), shape=X.shape)
    sp.save_npz(tmp_path / "x.npz", twice)
    made = write_store(tmp_path / "x.npz", tmp_path / "x.zarr", memory=MEMORY)
    np.testing.assert_array_equal(stored(made).toarray(), twice.toarray())


@pytest.mark.parametrize("order", ["C", "F"])
def test_npz_of_arrays(tmp_path, order):
    """The target, names, and numbers of an archive would be other ones."""
    X = np.asarray(np.random.default_rng(0).standard_normal((30, 8)), order=order)
    y = np.arange(30) % 2
    np.savez_compressed(tmp_path / "x.npz", X=X, y=y, feature_names=[f"g{j}" for j in range(8)])
    made = write_store(tmp_path / "x.npz", tmp_path / "x.zarr", memory=MEMORY)
    np.testing.assert_array_equal(stored(made), X)
    table = read_table(made.path)
    assert table.feature_names == [f"g{j}" for j in range(8)]
    np.testing.assert_array_equal(read_table(made.path, "y").y, y)


BOUNDED = """
import resource, sys
import zeronorm, zeronorm.io.store, zeronorm.io
fields = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
limit = 1024 * int(fields["VmData"].split()[0]) + (60 << 20)  # what is no map of a file
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
zeronorm.io.store.writing.SPARSE_ENTRIES = 1 << 18
zeronorm.write_store(sys.argv[1], sys.argv[2], memory=8 << 20)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory by the system")
def test_memory_is_bounded(tmp_path):
    """A matrix larger than memory would end the process."""
    rng = np.random.default_rng(0)
    X = sp.random_array((20_000, 2_000), density=0.15, rng=rng, format="csr")  # 72 MB of entries
    sp.save_npz(tmp_path / "x.npz", X, compressed=False)
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(tmp_path / "x.npz"), str(tmp_path / "x.zarr")],
        capture_output=True, text=True, check=False, env={"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = as_design(tmp_path / "x.zarr").gather(np.arange(3))
    np.testing.assert_array_equal(found.toarray(), sp.csc_array(X)[:, :3].toarray())
