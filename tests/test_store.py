"""Stores: what is written, what scans read of it, and what becomes of damage and sudden ends."""

import json
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import reference_kernels as reference
from zeronorm import BudgetClassifier, BudgetRegressor, write_store
from zeronorm._kernels import _native as native
from zeronorm.cli import app
from zeronorm.core.files import FileError
from zeronorm.data import as_design
from zeronorm.data import store as _store
from zeronorm.data import store as _zarr
from zeronorm.io import read_table
from zeronorm.io.store import StoreError, check_store
from zeronorm.io.store import writing as _convert
from zeronorm.io.store import writing as _writing

TYPES = ("bool", "int8", "uint8", "int16", "int32", "uint16", "float32", "float64")


def dense(dtype="float32", n=30, p=170, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 5, (n, p)) if np.dtype(dtype).kind == "f" else rng.integers(0, 2, (n, p))
    return np.asfortranarray(x.astype(dtype))


def sparse(n=60, p=200, density=0.1, seed=0, dtype="float64"):
    """A matrix whose last column has an entry where any has one: text would not tell else."""
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 10, (n, p)) * (rng.random((n, p)) < density)
    x[0, -1] = density > 0
    return sp.csc_array(x.astype(dtype))


@pytest.fixture
def small_files(monkeypatch):
    """Blocks of a few columns, files of a few entries, texts in pieces of a few."""
    monkeypatch.setattr(_zarr, "_TEXT_BYTES", 50)
    monkeypatch.setattr(_writing, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(_writing, "SPARSE_ENTRIES", 97)


def same(found, X, seed=0):
    """Whether a design answers as that of a matrix does, to the last bit."""
    known = as_design(X)
    n, p = known.shape
    assert found.shape == known.shape
    v = np.random.default_rng(seed).standard_normal((n, 3))
    for start, stop in ((0, p), (0, 0), (p // 3, p - p // 4), (p - 1, p)):
        np.testing.assert_array_equal(
            found.correlate(v, start, stop), known.correlate(v, start, stop)
        )
        for one, other in zip(
            found.moments(v[:, 0] ** 2, start, stop),
            known.moments(v[:, 0] ** 2, start, stop),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)
    some = np.random.default_rng(seed).permutation(p)[: p // 2]
    for features in (some, slice(2, 9), some[:0]):
        one, other = found.gather(features), known.gather(features)
        if sp.issparse(one):
            one, other = one.toarray(), other.toarray()
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_dense_store_answers_as_the_array(tmp_path, small_files, dtype):
    """A fit of a store would be another than that of the data."""
    X = dense(dtype)
    made = write_store(X, tmp_path / "x.zarr")
    assert (made.shape, made.dtype, made.is_sparse) == (X.shape, dtype, False)
    same(as_design(tmp_path / "x.zarr"), X)


@pytest.mark.parametrize("share", [0.0, 0.25])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("form", [dense, sparse])
def test_threads_and_kept_maps_change_no_bit(
    tmp_path, small_files, monkeypatch, form, n_threads, share
):
    """Threads that read files of their own would write over each other, or leave columns out."""
    monkeypatch.setattr(_store, "KEPT_SHARE", share)
    used, parts = set(), type(as_design(form())).correlate

    def watched(self, *arguments):
        used.add(threading.get_ident())
        time.sleep(0.001)  # so that no thread has done all before another begins
        return parts(self, *arguments)

    X = form()
    write_store(X, tmp_path / "x.zarr")
    design = as_design(tmp_path / "x.zarr", n_threads=n_threads)
    same(design, X)
    monkeypatch.setattr(type(as_design(X)), "correlate", watched)
    design.correlate(np.ones(X.shape[0]), 0, design.shape[1])
    assert min(2, n_threads) <= len(used) <= n_threads


@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8", "int8", "bool"])
@pytest.mark.parametrize("density", [0.0, 0.1, 1.0])
def test_a_sparse_store_answers_as_the_matrix(tmp_path, small_files, dtype, density):
    """Columns that lie in more files than one would be read wrongly."""
    X = sparse(density=density, dtype=dtype)
    write_store(X, tmp_path / "x.zarr")
    same(as_design(tmp_path / "x.zarr"), X)


def test_a_column_longer_than_a_file(tmp_path, small_files):
    """A column in three files would be cut."""
    X = sparse(n=400, p=3, density=0.9)
    write_store(X, tmp_path / "x.zarr")
    same(as_design(tmp_path / "x.zarr"), X)


@pytest.mark.parametrize("form", [dense, sparse])
def test_others_open_it(tmp_path, small_files, form):
    """The data would be locked into this package."""
    zarr = pytest.importorskip("zarr", minversion="3")
    X = form()
    write_store(X, tmp_path / "x.zarr")
    if form is dense:
        np.testing.assert_array_equal(zarr.open(tmp_path / "x.zarr")["X"][:], X)
    anndata = pytest.importorskip("anndata")
    found = anndata.read_zarr(tmp_path / "x.zarr").X
    np.testing.assert_array_equal(found.toarray() if form is sparse else found,
                                  X.toarray() if form is sparse else X)  # fmt: skip


def test_a_table_becomes_a_store_with_names_target_and_times(tmp_path):
    """Names, the target or other columns of the samples would be lost, or become features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    lines = ["who,g1,g2,days,g3,g4,g5,kind,junk"]
    for i, row in enumerate(X):
        g = [repr(float(value)) for value in row]
        lines.append(f"s{i},{g[0]},{g[1]},{i}.5,{g[2]},{g[3]},{g[4]},{'ab'[i % 2]},7")
    (tmp_path / "x.csv").write_text("\n".join(lines))
    made = write_store(
        tmp_path / "x.csv", tmp_path / "x.zarr", target="kind", id="who", keep=["days"],
        drop=["junk"],
    )  # fmt: skip
    assert set(made.columns) == {"kind", "days"}
    table = read_table(tmp_path / "x.zarr", "kind", columns={"time": "days"})
    assert table.feature_names == ["g1", "g2", "g3", "g4", "g5"]
    assert table.sample_names == [f"s{i}" for i in range(40)]
    assert table.y.tolist() == ["a", "b"] * 20
    assert table.columns["time"].tolist() == [i + 0.5 for i in range(40)]
    same(table.X, np.asfortranarray(X))
    with pytest.raises(FileError, match=r"no column 'kinds'.*kind"):
        read_table(tmp_path / "x.zarr", "kinds")


def test_svmlight_streams_into_a_store(tmp_path, small_files, monkeypatch):
    """Text that is larger than memory would be read whole, or its entries lost between passes."""
    X, y = sparse(n=80, p=300), np.arange(80) % 3
    dump_svmlight_file(X.tocsr(), y, str(tmp_path / "x.svm"), zero_based=False)
    passes = []
    known = _convert.open_source

    def counted(*arguments):
        contents = known(*arguments)
        columns = contents.matrix.columns
        contents.matrix.columns = lambda *range: (passes.append(range), columns(*range))[1]
        contents.matrix.end = lambda first, _: min(first + 70, 300)
        return contents

    monkeypatch.setattr(_convert, "open_source", counted)
    write_store(tmp_path / "x.svm", tmp_path / "x.zarr")
    assert len(passes) == 5
    table = read_table(tmp_path / "x.zarr", need_labels=True)
    assert table.y.tolist() == y.tolist()
    same(table.X, X)


def test_parquet_files_of_a_directory(tmp_path):
    """Rows of several files would be mixed up, or a missing value taken for a number."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = dense(n=50, p=20), np.array(["u", "v"] * 25)
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, rows in enumerate((slice(0, 13), slice(13, 50))):
        columns = {f"g{j}": X[rows, j] for j in range(20)} | {"y": y[rows]}
        parquet.write_table(pa.table(columns), folder / f"{number}.parquet")
    write_store(folder, tmp_path / "x.zarr", target="y", memory=1 << 20)
    table = read_table(tmp_path / "x.zarr", "y")
    same(table.X, X)
    assert table.y.tolist() == y.tolist()
    columns["g3"] = pa.array([None, *X[14:50, 3].tolist()])
    parquet.write_table(pa.table(columns), folder / "1.parquet")
    with pytest.raises(FileError, match=r"1\.parquet: the column 'g3' has 1 missing"):
        write_store(folder, tmp_path / "z.zarr", target="y")


def test_single_cells_keep_obs(tmp_path):
    """What is known of cells would be lost."""
    h5py = pytest.importorskip("h5py")
    X = sparse(n=30, p=12)
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "shape": X.shape})
        rows = X.tocsr()
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(rows, name)
        for table, size in (("obs", 30), ("var", 12)):
            frame = file.create_group(table)
            frame.attrs.update({"encoding-type": "dataframe", "_index": "names"})
            frame.attrs["column-order"] = ["age"] if table == "obs" else np.empty(0, "S1")
            frame["names"] = [f"{table}{i}" for i in range(size)]
        file["obs"]["age"] = np.arange(30.0)
    made = write_store(tmp_path / "x.h5ad", tmp_path / "x.zarr")
    assert made.columns == ("age",)
    table = read_table(tmp_path / "x.zarr", "age")
    same(table.X, X)
    assert table.feature_names[3] == "var3"
    assert table.y.tolist() == list(range(30))


@pytest.mark.parametrize("form", [dense, sparse])
def test_fits_are_those_of_the_data(tmp_path, small_files, form):
    """A selection from a store would be another one."""
    X = form()
    rng = np.random.default_rng(1)
    y = np.asarray(X[:, [7]].sum(axis=1)).ravel() + 0.1 * rng.standard_normal(X.shape[0])
    write_store(X, tmp_path / "x.zarr")
    for estimator, target in (
        (BudgetRegressor(3), y), (BudgetClassifier(3, calibrate=False), y > np.median(y)),
    ):  # fmt: skip
        known = estimator.fit(X, target)
        coef, predicted = known.coef_.copy(), known.predict(X)
        found = estimator.fit(str(tmp_path / "x.zarr"), target)
        np.testing.assert_array_equal(found.coef_, coef)
        np.testing.assert_array_equal(found.predict(tmp_path / "x.zarr"), predicted)


KILLED = """
import os, signal, sys
import numpy as np
from zeronorm.io.store import write_store, writing
writing.BLOCK_BYTES, writing.SPARSE_ENTRIES = 2000, 97
left = int(sys.argv[3])
for name in ("replace", "fsync", "truncate"):
    known = getattr(os, name)
    def counted(*arguments, known=known):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return known(*arguments)
    setattr(os, name, counted)
import zeronorm.io.store.sources as sources
for kind in (sources.OfDesign, sources.OfText):
    kind.end = lambda self, first, _: min(first + 40, self.shape[1])
print(write_store(sys.argv[1], sys.argv[2]).resumed)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("name", ["x.npy", "x.svm"])
@pytest.mark.slow
def test_a_killed_conversion_is_gone_on_with(tmp_path, name):
    """Hours of work would be lost, or a store be there that is not whole."""
    X = dense("float64", p=120) if name == "x.npy" else sparse(n=40, p=120)
    if name == "x.npy":
        np.save(tmp_path / name, X)
    else:
        dump_svmlight_file(X.tocsr(), np.zeros(40), str(tmp_path / name), zero_based=False)
    path, resumed = tmp_path / "x.zarr", []
    for steps in range(3, 200, 6):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, tmp_path / name, path, str(steps)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            resumed.append(int(done.stdout))
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert not path.exists()
    assert resumed
    assert resumed[0] > 0
    same(as_design(path), X)
    assert not check_store(path).damage
    assert [one.name for one in tmp_path.glob("x.zarr*")] == ["x.zarr"]


def test_other_data_begin_anew(tmp_path, small_files, monkeypatch):
    """Columns of an older file would be mixed with those of the new one."""
    np.save(tmp_path / "x.npy", dense("float64"))
    broken = _writing.DenseWriter.write

    def full(self, first, last, values):
        if first >= 100:
            raise OSError(28, "No space left on device")
        return broken(self, first, first + (last - first), values)

    monkeypatch.setattr(_convert.DenseWriter, "write", full)
    monkeypatch.setattr(_convert.DenseWriter, "end", lambda self, first, _: min(first + 8, 170))
    with pytest.raises(OSError, match="no space left on the disk after 104 of 170"):
        write_store(tmp_path / "x.npy", tmp_path / "x.zarr")
    assert not (tmp_path / "x.zarr").exists()
    monkeypatch.setattr(_convert.DenseWriter, "write", broken)
    X = dense("float64", seed=5)
    time.sleep(0.01)
    np.save(tmp_path / "x.npy", X)
    assert write_store(tmp_path / "x.npy", tmp_path / "x.zarr").resumed == 0
    same(as_design(tmp_path / "x.zarr"), X)


def test_an_array_leaves_nothing_behind(tmp_path, small_files, monkeypatch):
    """A later conversion of another array would go on with the columns of this one."""
    monkeypatch.setattr(_convert.DenseWriter, "end", lambda self, first, _: min(first + 8, 170))
    X = dense()
    X[2, 160] = np.inf
    with pytest.raises(FileError, match="column 160"):
        write_store(X, tmp_path / "x.zarr")
    assert not list(tmp_path.iterdir())


def test_directories_of_others_are_not_removed(tmp_path):
    """Files of the user would be gone where a conversion would have its own."""
    mine = tmp_path / "x.zarr.partial" / "mine"
    mine.parent.mkdir()
    mine.write_text("thesis")
    with pytest.raises(FileExistsError, match="no unfinished store"):
        write_store(dense(), tmp_path / "x.zarr")
    assert mine.read_text() == "thesis"


def test_an_end_after_the_last_column_is_gone_on_with(tmp_path, small_files, monkeypatch):
    """What the journal needs would be gone before the journal, and no call would end well."""
    X = sparse(n=40, p=120)
    dump_svmlight_file(X.tocsr(), np.zeros(40), str(tmp_path / "x.svm"), zero_based=False)

    def ended(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_convert, "_replace", ended)
        with pytest.raises(KeyboardInterrupt):
            write_store(tmp_path / "x.svm", tmp_path / "x.zarr")
    assert write_store(tmp_path / "x.svm", tmp_path / "x.zarr").resumed == 120
    same(as_design(tmp_path / "x.zarr"), X)
    left = {one.name for one in (tmp_path / "x.zarr" / "X").iterdir()}
    assert left == {"data", "indices", "indptr", "zarr.json"}
    assert not (tmp_path / "x.zarr" / "journal.json").exists()


def test_names_that_occur_twice_are_refused(tmp_path):
    """A model would not know which of two columns it has."""
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="unique column names; got 'a' 2 times"):
        write_store(pd.DataFrame(np.eye(3), columns=["a", "b", "a"]), tmp_path / "x.zarr")


@pytest.mark.parametrize("form", [dense, sparse])
def test_a_store_is_pickled_as_its_path(tmp_path, small_files, form):
    """Workers would be sent the data."""
    X = form(p=2000)
    write_store(X, tmp_path / "x.zarr")
    sent = pickle.dumps(as_design(tmp_path / "x.zarr"))
    assert len(sent) < 1000
    same(pickle.loads(sent), X)


@pytest.mark.parametrize("form", [dense, sparse])
def test_damage_is_told_with_its_file(tmp_path, small_files, form):
    """Changed bytes would become another model; a file that shrank would end the process."""
    write_store(form(), tmp_path / "x.zarr")
    array = tmp_path / "x.zarr" / "X" / ("c/0" if form is dense else "data/c")
    block = array / "1"
    design = as_design(tmp_path / "x.zarr")
    v = np.ones(design.shape[0])
    kept = block.read_bytes()
    block.write_bytes(kept[:-9])
    with pytest.raises(OSError, match="must have"):
        design.correlate(v, 0, design.shape[1])
    block.unlink()
    with pytest.raises(OSError, match="missing"):
        as_design(tmp_path / "x.zarr").correlate(v, 0, design.shape[1])


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("form", [dense, sparse])
def test_every_changed_bit_of_a_block_is_noticed(tmp_path, small_files, form, n_threads):
    """A fit would use numbers that nobody wrote, and say nothing."""
    write_store(form(), tmp_path / "x.zarr")
    blocks = sorted(one for one in (tmp_path / "x.zarr" / "X").rglob("c/**/*") if one.is_file())
    rng, v = np.random.default_rng(0), np.ones(form().shape[0])

    def scan():
        design = as_design(tmp_path / "x.zarr", n_threads)
        design.correlate(v, 0, design.shape[1])

    scan()
    for block in blocks:
        kept = block.read_bytes()
        for place in {0, len(kept) - 1, int(rng.integers(len(kept)))}:
            changed = bytearray(kept)
            changed[place] ^= 1 << int(rng.integers(8))
            block.write_bytes(changed)
            with pytest.raises(StoreError, match=rf"{block.name}: the checksum of this block is"):
                scan()
        block.write_bytes(kept)
    scan()


def test_a_block_is_compared_once(tmp_path, small_files, monkeypatch):
    """Every pass would read every block twice; a file that changed later would be trusted."""
    write_store(dense(), tmp_path / "x.zarr")
    design, seen = as_design(tmp_path / "x.zarr"), []
    sound = _zarr._sound
    monkeypatch.setattr(
        _zarr, "_sound", lambda file, stored: seen.append(file) or sound(file, stored)
    )
    for _ in range(3):
        as_design(tmp_path / "x.zarr").correlate(np.ones(design.shape[0]), 0, design.shape[1])
    assert len(seen) == len(set(seen)) == len([*(tmp_path / "x.zarr/X/c/0").iterdir()])


def test_indices_that_point_nowhere_are_not_read(tmp_path, small_files):
    """A damaged store would read memory that is not its own."""
    write_store(sparse(), tmp_path / "x.zarr")
    block = tmp_path / "x.zarr" / "X" / "indices" / "c" / "1"
    values = np.frombuffer(block.read_bytes(), np.uint8).copy()
    values[:4] = 255
    block.write_bytes(values[:-4].tobytes() + _zarr._checksum(values[:-4]))
    with pytest.raises(StoreError, match="rows that are not there"):
        as_design(tmp_path / "x.zarr").correlate(np.ones(60), 0, 200)


def test_metadata_are_not_trusted(tmp_path):
    """A newer layout, or none, would be misread."""
    path = tmp_path / "x.zarr"
    write_store(dense(), path)
    node = json.loads((path / "zarr.json").read_text())
    node["attributes"]["zeronorm"]["version"] = 99
    (path / "zarr.json").write_text(json.dumps(node))
    with pytest.raises(StoreError, match=r"version 99.*update zeronorm"):
        as_design(path)
    del node["attributes"]["zeronorm"]
    (path / "zarr.json").write_text(json.dumps(node))
    with pytest.raises(StoreError, match="no store of zeronorm"):
        as_design(path)
    (path / "zarr.json").write_text("{")
    with pytest.raises(StoreError, match="not readable as metadata"):
        as_design(path)


def test_bad_input(tmp_path):
    """A user would not learn what to do."""
    X = dense()
    X[3, 7] = np.nan
    with pytest.raises(FileError, match="NaN or infinity at row 3, column 7"):
        write_store(X, tmp_path / "x.zarr")
    X = dense()
    with pytest.raises(ValueError, match="dtype must be None or one of"):
        write_store(X, tmp_path / "x.zarr", dtype="complex64")
    with pytest.raises(ValueError, match="dtype must hold the numbers of the data; got int8"):
        write_store(X, tmp_path / "x.zarr", dtype="int8")
    with pytest.raises(ValueError, match="above 3e38"):
        write_store(np.full((2, 2), 1e300), tmp_path / "x.zarr", dtype="float32")
    with pytest.raises(ValueError, match="memory must be"):
        write_store(X, tmp_path / "x.zarr", memory=0)
    write_store(X, tmp_path / "x.zarr")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_store(X, tmp_path / "x.zarr")
    write_store(2 * X, tmp_path / "x.zarr", overwrite=True)
    same(as_design(tmp_path / "x.zarr"), 2 * X)
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileExistsError, match="no store"):
        write_store(X, tmp_path / "mine", overwrite=True)
    with pytest.raises(FileNotFoundError, match="no such directory"):
        write_store(X, tmp_path / "none" / "x.zarr")


def test_the_command(tmp_path):
    """A user who writes no code would have no store."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    y = (X[:, 2] > 0).astype(int)
    rows = "\n".join(
        ",".join(map(repr, [*map(float, x), int(c)])) for x, c in zip(X, y, strict=True)
    )
    data, store = tmp_path / "x.csv", tmp_path / "x.zarr"
    data.write_text(",".join([f"g{j}" for j in range(8)] + ["y"]) + "\n" + rows)
    run = CliRunner().invoke
    found = run(app, ["convert", str(data), str(store), "--target", "y", "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["shape"] == [60, 8]
    arguments = ["-k", "1", "--no-cv", "--no-save", "--json"]
    found = run(app, ["select", str(store), "--target", "y", *arguments])
    assert found.exit_code == 0, found.output
    assert "g2" in found.stdout
    found = run(app, ["convert", str(data), str(store), "--target", "y"])
    assert found.exit_code != 0


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 31, 1000])
def test_checksums_are_those_of_the_twin(size):
    """Others would refuse the blocks."""
    values = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    assert native.crc32c(values, 0) == reference.crc32c(values, 0)
    half = native.crc32c(values[: size // 2].copy(), 0)
    assert native.crc32c(values[size // 2 :].copy(), half) == native.crc32c(values, 0)


def test_a_known_checksum():
    """Both would be wrong in the same way."""
    assert native.crc32c(np.frombuffer(b"123456789", np.uint8), 0) == 0xE3069283


def test_prediction_from_a_store_with_fewer_columns(tmp_path):
    """A store of the chosen columns alone would be refused although their names are known."""
    import pandas as pd

    X = np.random.default_rng(5).standard_normal((60, 12))
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(12)])
    y = (X[:, 3] - X[:, 7] > 0).astype(int)
    fewer = {"few": ["g7", "g1", "g3"], "other": ["g7", "g1"], "all": list(frame)}
    for name, columns in fewer.items():
        write_store(frame[columns], tmp_path / f"{name}.zarr")
    model = BudgetClassifier(2).fit(tmp_path / "all.zarr", y)
    assert model.support_.tolist() == [3, 7]
    known = model.decision_function(tmp_path / "all.zarr")
    np.testing.assert_allclose(model.decision_function(tmp_path / "few.zarr"), known, rtol=1e-12)
    assert np.array_equal(model.transform(tmp_path / "few.zarr"), X[:, [3, 7]])
    with pytest.raises(ValueError, match="1 of the model are missing, the first is 'g3'"):
        model.predict(tmp_path / "other.zarr")
    twice = as_design(X[:, :3]).named(["g3", "g7", "g3"])
    with pytest.raises(ValueError, match="'g3' is there 2 times; rename all but one"):
        model.predict(twice)
    write_store(X[:, :3], tmp_path / "plain.zarr")
    with pytest.raises(ValueError, match=r"expecting 12 features as input.*whose columns"):
        model.predict(tmp_path / "plain.zarr")
