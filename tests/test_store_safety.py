"""Stores: numbers that would be wrong in silence, two writers, names that cannot be stored."""

import json
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from zeronorm import BudgetClassifier, write_store
from zeronorm.cli import app
from zeronorm.core.files import FileError
from zeronorm.data import as_design
from zeronorm.data.store import open_array
from zeronorm.io import read_table
from zeronorm.io.store import (
    StoreError,
)
from zeronorm.io.store import sources as _entries
from zeronorm.io.store import (
    sources as _sources,
)
from zeronorm.io.store import writing as _convert
from zeronorm.io.store import (
    writing as _writing,
)
from zeronorm.io.table import Layout
from zeronorm.persistence import write_file


def text(folder, first=1, n=40, p=30):
    """An svmlight file, whose indices begin at 0 or 1, and its matrix."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 10, (n, p)) * (rng.random((n, p)) < 0.3)
    X[0, [0, -1]] = 1
    X = sp.csr_array(X.astype(float))
    dump_svmlight_file(X, np.arange(n) % 2, str(folder / "x.svm"), zero_based=not first)
    return folder / "x.svm", X


@pytest.mark.parametrize("first", [0, 1])
def test_a_model_of_a_store_reads_the_text_alike(tmp_path, first):
    """A model of the store would take each feature of the text for its neighbour."""
    data, X = text(tmp_path, first)
    write_store(data, tmp_path / "x.zarr")
    of_text, of_store = read_table(data), read_table(tmp_path / "x.zarr")
    assert of_store.first_index == of_text.first_index == first
    like = Layout(X.shape[1], first_index=of_store.first_index)
    np.testing.assert_array_equal(read_table(data, like=like).X.toarray(), X.toarray())


def changed(path, place=9):
    stored = bytearray(path.read_bytes())
    stored[place] ^= 1
    path.write_bytes(bytes(stored))


def table(folder):
    lines = ["who,g1,g2,kind,days"] + [f"s{i},{i}.5,{i % 3},{i % 2},{i}" for i in range(20)]
    (folder / "x.csv").write_text("\n".join(lines))
    write_store(folder / "x.csv", folder / "x.zarr", target="kind", id="who", keep=["days"])
    return folder / "x.zarr"


@pytest.mark.parametrize("array", ["obs/kind", "obs/days", "obs/_index", "var/_index"])
def test_a_changed_byte_of_labels_and_names_is_told(tmp_path, array):
    """A model would be of other labels or have other names, without a word."""
    path = table(tmp_path)
    changed(path / array / "c" / "0")
    with pytest.raises(FileError, match=r"c/0: the checksum of this block is"):
        read_table(path, "kind", columns={"time": "days"})


def test_a_changed_byte_of_pointers_is_told(tmp_path):
    """An entry would be in another column."""
    data, _ = text(tmp_path)
    write_store(data, tmp_path / "x.zarr")
    changed(tmp_path / "x.zarr" / "X" / "indptr" / "c" / "0", 8)
    with pytest.raises(StoreError, match="the checksum of this block is"):
        as_design(tmp_path / "x.zarr")


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_shape_is_that_of_the_names(tmp_path, is_sparse):
    """Columns of zeros would be features, or features be lost, where metadata have changed."""
    X = np.ones((5, 7))
    write_store(sp.csc_array(X) if is_sparse else X, tmp_path / "x.zarr")
    file = tmp_path / "x.zarr" / "X" / "zarr.json"
    node = json.loads(file.read_text())
    (node["attributes"] if is_sparse else node)["shape"] = [6, 7] if is_sparse else [5, 6]
    file.write_text(json.dumps(node))
    with pytest.raises(StoreError, match="X is of"):
        as_design(tmp_path / "x.zarr")


def test_entries_before_the_first_pointer_are_not_lost(tmp_path):
    """Entries that belong to no column would be left out."""
    data, _ = text(tmp_path)
    path = tmp_path / "x.zarr"
    write_store(data, path)
    indptr = open_array(path / "X" / "indptr")
    pointers = indptr.whole()
    pointers[0] = 1
    indptr.write(0, pointers)
    with pytest.raises(StoreError, match="do not belong to each other"):
        as_design(path)


@pytest.mark.parametrize("array", ["obs/kind", "X"])
def test_memory_is_not_asked_for_what_metadata_say(tmp_path, array):
    """A number in a file of text would fill the memory of the machine."""
    path = table(tmp_path)
    file = path / array / "zarr.json"
    node = json.loads(file.read_text())
    node["shape"][-1] = node["chunk_grid"]["configuration"]["chunk_shape"][-1] = 10**17
    file.write_text(json.dumps(node))
    with pytest.raises(FileError, match=r"must have|X is of"):
        read_table(path, "kind")
    node["attributes"] = []
    file.write_text(json.dumps(node))
    with pytest.raises(FileError, match="attributes must be"):
        read_table(path, "kind")


@pytest.mark.parametrize("flag", ["named", "samples named", "first index"])
def test_what_a_store_says_of_its_names_is_not_guessed(tmp_path, flag):
    """Names would be lost."""
    path = table(tmp_path)
    node = json.loads((path / "zarr.json").read_text())
    node["attributes"]["zeronorm"].pop(flag)
    (path / "zarr.json").write_text(json.dumps(node))
    with pytest.raises(StoreError, match="not what zeronorm writes"):
        as_design(path)


def test_two_conversions_at_once_are_refused(tmp_path):
    """Blocks of two data sets would be one store."""
    path, first, second = tmp_path / "x.zarr", np.zeros((6, 4)), np.ones((6, 4))
    begun, go_on = threading.Event(), threading.Event()

    def waits(*_):
        begun.set()
        assert go_on.wait(20)

    one = threading.Thread(target=write_store, args=(first, path), kwargs={"progress": waits})
    one.start()
    try:
        assert begun.wait(20)
        with pytest.raises(FileExistsError, match="another conversion is writing it"):
            write_store(second, path)
    finally:
        go_on.set()
        one.join()
    np.testing.assert_array_equal(as_design(path).gather(np.arange(4)), first)
    assert [one.name for one in tmp_path.iterdir()] == ["x.zarr"]


def test_a_conversion_that_ended_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    """The later of two conversions would take away the store of the other, unasked."""
    path, known = tmp_path / "x.zarr", _convert._kind

    def meanwhile(*arguments):
        monkeypatch.setattr(_convert, "_kind", known)
        write_store(np.zeros((3, 2)), path)
        return known(*arguments)

    monkeypatch.setattr(_convert, "_kind", meanwhile)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_store(np.ones((3, 2)), path)
    assert not as_design(path).gather(np.arange(2)).any()


def test_a_directory_that_was_renamed_is_not_held(tmp_path, monkeypatch):
    """A conversion would write into the store that another one has just finished."""
    partial = tmp_path / "x.zarr.partial"

    def renamed(_):
        partial.rename(tmp_path / "x.zarr")
        return True

    monkeypatch.setattr(_writing, "_is_locked", renamed)
    with pytest.raises(FileExistsError, match="another conversion"), _writing.alone(partial):
        pass


def test_a_file_that_changes_while_it_is_read_makes_no_store(tmp_path, monkeypatch):
    """Columns of the older file would stand beside those of the newer one."""
    data, _ = text(tmp_path)
    monkeypatch.setattr(_entries.OfText, "end", lambda self, first, _: first + 10)

    def grows(last, _):
        if last == 10:
            data.write_text(data.read_text().replace(":1 ", ":2 ") + "\n")

    with pytest.raises(FileError, match=r"x\.svm: has changed while it was read"):
        write_store(data, tmp_path / "x.zarr", progress=grows)
    assert [one.name for one in tmp_path.iterdir()] == ["x.svm"]


@pytest.mark.parametrize("name", ["a/b", "..", "", "_index", "zarr.json", "q" * 300])
def test_names_of_columns_that_are_no_names_of_files(tmp_path, name):
    """The work of hours would end in an error, or a store have lost its labels."""
    (tmp_path / "x.csv").write_text(f"g,{name}\n1,2\n2,3\n")
    with pytest.raises(FileError, match="cannot be stored by that name"):
        write_store(tmp_path / "x.csv", tmp_path / "x.zarr", target=name)
    assert not list(tmp_path.glob("x.zarr*"))


def test_labels_that_64_bits_do_not_hold(tmp_path):
    """2^63 would be stored as -2^63; a missing label as NaN."""
    for wrong in (np.array([1, 2**63], np.uint64), np.array([1, None], object)):
        np.savez(tmp_path / "x.npz", X=np.eye(2))
        contents = _sources.Contents(_sources.OfDesign(np.eye(2)), columns={"y": wrong})
        with pytest.raises(FileError, match="'y' must be text or numbers"):
            _convert._check_names(contents)


def test_columns_of_an_array_are_not_ignored(tmp_path):
    """A user would take the labels for kept."""
    with pytest.raises(ValueError, match="are of files; convert an array of the features alone"):
        write_store(np.eye(3), tmp_path / "x.zarr", target="y")


def test_counts_of_text_do_not_grow_with_the_width(tmp_path, monkeypatch):
    """Entries of a block beyond all before would be counted in another column."""
    rows = ["1 5:1", "0 2:1 900:3", "1 900:2 70000:1", "0 3:1"]
    (tmp_path / "x.svm").write_text("\n".join(rows) + "\n")
    known = _entries.svmlight_blocks
    monkeypatch.setattr(_entries, "svmlight_blocks", lambda path: known(path, size=1 << 12))
    (tmp_path / "y.svm").write_text("\n".join(f"0 {j}:1" for j in range(1, 5000)) + "\n")
    for name in ("x.svm", "y.svm"):
        wanted = read_table(tmp_path / name).X.tocsc()
        source = _entries.OfText(tmp_path / name)
        assert source.shape == wanted.shape
        np.testing.assert_array_equal(source.indptr, wanted.indptr)


def test_single_precision_stays_so(tmp_path):
    """A store of an HDF5 file would be twice as large, and scans of it give other bits."""
    h5py = pytest.importorskip("h5py")
    X = np.random.default_rng(0).standard_normal((20, 6)).astype(np.float32)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("X", data=X, chunks=(20, 2), compression="gzip")
        made = write_store(file["X"], tmp_path / "x.zarr")
        found = write_store(as_design(file["X"]), tmp_path / "y.zarr")
    assert made.dtype == found.dtype == "float32"
    np.testing.assert_array_equal(as_design(tmp_path / "y.zarr").gather(np.arange(6)), X)


def test_info_shows_a_store(tmp_path):
    """A user would be told to name a file in it."""
    found = CliRunner().invoke(app, ["info", str(table(tmp_path)), "--json"])
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert (document["n_samples"], document["n_features"]) == (20, 2)
    assert document["storage"] == "dense float64, mapped by blocks"
    assert sorted(document["columns"]) == ["days", "kind"]


def test_a_fit_of_a_cut_store_is_an_error(tmp_path):
    """The process would end where a file was cut between two scans."""
    X = np.asfortranarray(np.random.default_rng(0).standard_normal((30, 40)))
    write_store(X, tmp_path / "x.zarr")
    block = tmp_path / "x.zarr" / "X" / "c" / "0" / "0"
    block.write_bytes(block.read_bytes()[:-100])
    with pytest.raises(OSError, match="must have"):
        BudgetClassifier(2, calibrate=False).fit(tmp_path / "x.zarr", np.arange(30) % 2)
    shutil.rmtree(tmp_path / "x.zarr")


KILLED = """
import os, signal, sys
from zeronorm.persistence import writing
with writing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_what_a_kill_leaves_is_removed_and_what_is_being_written_is_not(tmp_path):
    """Half files would pile up beside models, or a concurrent writer lose its own."""
    command = [sys.executable, "-c", KILLED]
    for _ in range(2):
        killed = subprocess.run([*command, tmp_path / "a.npz", "kill"], check=False)
        assert killed.returncode == -signal.SIGKILL
    assert len([*tmp_path.glob(".zeronorm-*.tmp")]) == 1  # the second removed that of the first
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, tmp_path / "b.npz", "wait"], stdin=pipe, stdout=pipe) as busy:
        assert busy.stdout.readline() == b"ready\n"
        write_file(tmp_path / "c.npz", b"whole")
        left = [*tmp_path.glob(".zeronorm-*.tmp")]
        assert [one.read_bytes() for one in left] == [b"half"]
        busy.communicate(b"")
        assert busy.returncode == 0
    assert (tmp_path / "b.npz").read_bytes() == b"half"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b.npz", "c.npz"]
    subprocess.run([*command, tmp_path / "a.npz", "kill"], check=False)
    write_store(np.eye(3), tmp_path / "x.zarr")
    assert not [*tmp_path.glob(".zeronorm-*.tmp")]


def stopped(data, store, **options):
    """Convert up to the first blocks."""

    def stop(done, _):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(data, store, progress=stop, **options)


@pytest.mark.parametrize("name", ["x.npy", "x.csv"])
def test_a_half_converted_store_may_be_moved(tmp_path, monkeypatch, name):
    """The journal would have the old place, and the work begin anew."""
    monkeypatch.setattr("zeronorm.io.store.writing.BLOCK_BYTES", 7 * 20 * 8)
    monkeypatch.setattr(
        "zeronorm.io.store.writing.DenseWriter.end",
        lambda self, first, _: min(first + 7, 60 if name == "x.npy" else 59),
    )
    X = np.random.default_rng(0).standard_normal((20, 60))
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    if name == "x.npy":
        np.save(old / name, X)
        np.save(old / "y.npy", np.arange(20))
    else:
        np.savetxt(old / name, X, delimiter=",", header=",".join(f"g{j}" for j in range(60)),
                   comments="")  # fmt: skip
    target = {"target": str(old / "y.npy")} if name == "x.npy" else {"target": "g3"}
    stopped(old / name, old / "x.zarr", **target)
    journal = (old / "x.zarr.partial" / "journal.json").read_text()
    assert str(tmp_path) not in journal
    old.rename(new)
    if name == "x.npy":
        target = {"target": str(new / "y.npy")}
    made = write_store(new / name, new / "x.zarr", **target)
    assert made.resumed == 7
    kept = X if name == "x.npy" else np.delete(X, 3, axis=1)
    np.testing.assert_array_equal(as_design(made.path).gather(slice(None)), kept)


def test_what_a_kill_leaves_of_a_replaced_store_is_removed(tmp_path):
    """The old store would stay under another name, or the new one not get its place."""
    for left in (["X", "obs", "var", "zarr.json"], ["X"], []):
        write_store(np.eye(3), tmp_path / "x.zarr", overwrite=True)
        old = tmp_path / "x.zarr.replaced"
        old.mkdir()
        for name in left:
            (old / name).mkdir()
        write_store(2 * np.eye(3), tmp_path / "x.zarr", overwrite=True)
        assert not old.exists()
        np.testing.assert_array_equal(
            as_design(tmp_path / "x.zarr").gather(slice(None)), 2 * np.eye(3)
        )
    (tmp_path / "x.zarr.replaced").mkdir()
    (tmp_path / "x.zarr.replaced" / "thesis.txt").write_text("mine")
    with pytest.raises(OSError, match="not empty"):
        write_store(np.eye(3), tmp_path / "x.zarr", overwrite=True)
