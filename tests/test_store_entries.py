"""Stores of sparse files whose entries lie by row or in any order: no bit and no entry is lost."""

import gzip
import subprocess
import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from zeronorm import convert
from zeronorm.designs import as_design
from zeronorm.files import FileError, read_table
from zeronorm.store import _entries, _market, _writing

MEMORY = 1 << 20


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of a few entries, files of a few more."""
    monkeypatch.setattr(_entries, "PIECE", 53)
    monkeypatch.setattr(_writing, "SPARSE_ENTRIES", 97)
    monkeypatch.setattr(_market, "PART", 400)


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
    made = convert(tmp_path / "x.npz", tmp_path / "x.zarr", memory=MEMORY)
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
    made = convert(tmp_path / "x.npz", tmp_path / "x.zarr", memory=MEMORY)
    np.testing.assert_array_equal(stored(made).toarray(), twice.toarray())


@pytest.mark.parametrize("order", ["C", "F"])
def test_npz_of_arrays(tmp_path, order):
    """The target, names, and numbers of an archive would be other ones."""
    X = np.asarray(np.random.default_rng(0).standard_normal((30, 8)), order=order)
    y = np.arange(30) % 2
    np.savez_compressed(tmp_path / "x.npz", X=X, y=y, feature_names=[f"g{j}" for j in range(8)])
    made = convert(tmp_path / "x.npz", tmp_path / "x.zarr", memory=MEMORY)
    np.testing.assert_array_equal(stored(made), X)
    table = read_table(made.path)
    assert table.feature_names == [f"g{j}" for j in range(8)]
    np.testing.assert_array_equal(read_table(made.path, "y").y, y)


@pytest.mark.parametrize("field", ["real", "integer"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_matrix_market(tmp_path, small_pieces, few_columns, monkeypatch, field, suffix):
    """An entry would be in the next column, or the text be loaded whole."""
    X = drawn(dtype=np.float64 if field == "real" else np.int64)
    X.data = X.data * (1 / 3 if field == "real" else 1)
    path = tmp_path / f"x.mtx{suffix}"
    shuffled = X.tocoo()
    order = np.random.default_rng(0).permutation(X.nnz)
    shuffled = sp.coo_array(
        (shuffled.data[order], (shuffled.row[order], shuffled.col[order])), shape=X.shape
    )
    scipy.io.mmwrite(tmp_path / "x.mtx", shuffled, field=field, precision=17, comment=" of a test")
    if suffix:
        path.write_bytes(gzip.compress((tmp_path / "x.mtx").read_bytes()))
    monkeypatch.setattr(_market, "_loaded", None)
    made = convert(path, tmp_path / "x.zarr", memory=MEMORY)
    np.testing.assert_array_equal(
        stored(made).toarray(), scipy.io.mmread(tmp_path / "x.mtx").toarray()
    )


BANNER = "%%MatrixMarket matrix coordinate "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BANNER + "pattern general\n2 2 1\n1 2\n", ""),
        (BANNER + "real symmetric\n2 2 1\n2 1 4\n", ""),
        (BANNER + "real general\n2 2 1\n1   2\t4\n", ""),
        (BANNER + "real general\n2 2 2\n1 2 4\n\n1 1 5\n", ""),
        (BANNER + "real general\n2 2 2\n1 2 4\n", "not readable as Matrix Market"),
        (BANNER + "real general\n2 2 1\n1 3 4\n", "not readable as Matrix Market"),
        (BANNER + "real general\n2 2 1\n0 1 4\n", "not readable as Matrix Market"),
        (BANNER + "real general\n2 2 1\n1 1 x\n", "not readable as Matrix Market"),
        (BANNER + "real general\n2 2 1\n1.5 1 4\n", "not readable as Matrix Market"),
        (BANNER + "complex general\n2 2 1\n1 1 4 5\n", "must hold real numbers"),
        ("1 2 3\n", "not readable as Matrix Market"),
        ("", "the file is empty"),
    ],
)
def test_other_texts_of_matrix_market(tmp_path, text, message):
    """What the fast reader does not know would be read as something else."""
    path = tmp_path / "x.mtx"
    path.write_text(text)
    if message:
        with pytest.raises(FileError, match=message):
            convert(path, tmp_path / "x.zarr")
        return
    known = scipy.io.mmread(path).toarray()
    made = convert(path, tmp_path / "x.zarr")
    np.testing.assert_array_equal(stored(made).toarray(), known)


BOUNDED = """
import resource, sys
import zeronorm, zeronorm.store, zeronorm.files
fields = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
limit = 1024 * int(fields["VmData"].split()[0]) + (60 << 20)  # what is no map of a file
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
zeronorm.store._writing.SPARSE_ENTRIES = 1 << 18
zeronorm.convert(sys.argv[1], sys.argv[2], memory=8 << 20)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory by the system")
@pytest.mark.parametrize("name", ["x.npz", "x.mtx"])
def test_memory_is_bounded(tmp_path, name):
    """A matrix larger than memory would end the process."""
    rng = np.random.default_rng(0)
    X = sp.random_array((20_000, 2_000), density=0.15, rng=rng, format="csr")  # 72 MB of entries
    if name == "x.npz":
        sp.save_npz(tmp_path / name, X, compressed=False)
    else:
        scipy.io.mmwrite(tmp_path / name, X, precision=5)
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(tmp_path / name), str(tmp_path / "x.zarr")],
        capture_output=True, text=True, check=False, env={"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    read = sp.load_npz(tmp_path / name) if name == "x.npz" else scipy.io.mmread(tmp_path / name)
    found = as_design(tmp_path / "x.zarr").gather(np.arange(3))
    np.testing.assert_array_equal(found.toarray(), sp.csc_array(read)[:, :3].toarray())
