"""The check of a store: every damaged file is told, with the columns that it has a part of."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from zeronorm import write_store
from zeronorm.cli import app
from zeronorm.io import read_table
from zeronorm.io.store import StoreError, check_store
from zeronorm.io.store import writing as _writing

N, P, WIDTH, ENTRIES = 25, 43, 10, 97


@pytest.fixture(params=["dense", "sparse"])
def store(request, tmp_path, monkeypatch):
    """A store in blocks of 10 columns or 97 entries, its matrix, and the folders of its blocks."""
    monkeypatch.setattr(_writing, "BLOCK_BYTES", 8 * N * WIDTH)
    monkeypatch.setattr(_writing, "SPARSE_ENTRIES", ENTRIES)
    rng = np.random.default_rng(0)
    X = rng.integers(1, 9, (N, P)) * (rng.random((N, P)) < 0.4).astype(float)
    X[:, 7] = 0
    path = tmp_path / "x.zarr"
    if request.param == "dense":
        write_store(X, path)
        return path, X, [path / "X" / "c" / "0"]
    write_store(sp.csc_array(X), path)
    return path, X, [path / "X" / name / "c" for name in ("indices", "data")]


def columns_of(X, folder, number):
    """The first and the last column of a block, from the matrix alone."""
    if folder.name == "0":
        return number * WIDTH, min(number * WIDTH + WIDTH, P) - 1
    column = np.nonzero(X.T)[0][number * ENTRIES : (number + 1) * ENTRIES]
    return int(column[0]), int(column[-1])


def flip(file):
    data = bytearray(file.read_bytes())
    data[11] ^= 4
    file.write_bytes(data)


def shorten(file):
    file.write_bytes(file.read_bytes()[:-5])


def test_a_sound_store_has_no_damage(store):
    """Whoever checks a sound store would throw it away."""
    path, _, _ = store
    found = check_store(path)
    blocks = [file for file in path.rglob("*") if file.is_file() and file.name != "zarr.json"]
    assert (found.files, found.damage) == (len(blocks), ())


def loop(file):
    file.unlink()
    file.symlink_to(file.name)


@pytest.mark.parametrize(
    ("damage", "words"),
    [(flip, "checksum"), (shorten, "must have"), (lambda file: file.unlink(), "missing"),
     (loop, "symbolic links")],
    ids=["flipped", "shortened", "removed", "unreadable"],
)  # fmt: skip
def test_every_damaged_block_is_told_with_its_columns(store, damage, words):
    """A block after the first damaged one would be found by the next check only, or never."""
    path, X, folders = store
    wanted = {}
    for folder in folders:
        last = len(list(folder.iterdir())) - 1
        for number in (1, last):
            damage(folder / str(number))
            wanted[folder / str(number)] = columns_of(X, folder, number)
    found = check_store(path).damage
    assert {one.file: one.columns for one in found} == wanted
    assert all(words in one.reason for one in found)


@pytest.mark.parametrize("damage", [flip, shorten, lambda file: file.unlink()])
def test_names_and_samples_are_checked(tmp_path, damage):
    """Columns would have names of others, samples another label."""
    table = tmp_path / "t.csv"
    table.write_text("a,b,y,kind\n" + "".join(f"{i},{i % 3},{i % 2},k{i}\n" for i in range(9)))
    path = write_store(table, tmp_path / "x.zarr", target="y", keep=["kind"]).path
    files = [path / "var/_index/c/0", path / "obs/y/c/0", path / "obs/kind/c/0"]
    for file in files:
        damage(file)
    found = check_store(path).damage
    assert {one.file for one in found} == set(files)
    assert {one.columns for one in found} == {None}


@pytest.mark.parametrize("store", ["sparse"], indirect=True)
def test_entries_of_damaged_pointers_may_be_of_any_column(store):
    """Without pointers nobody knows the columns of an entry; the rest is checked all the same."""
    path, _, folders = store
    flip(path / "X" / "indptr" / "c" / "0")
    flip(folders[1] / "2")
    found = check_store(path).damage
    assert [one.file.parts[-3] for one in found] == ["indptr", "data"]
    assert {one.columns for one in found} == {(0, P - 1)}


@pytest.mark.parametrize("order", [5, "y", [1]])
def test_columns_of_samples_are_names(store, order):
    """Another type would be an error of Python, or letters taken for names."""
    path, _, _ = store
    metadata = json.loads((path / "obs/zarr.json").read_text())
    metadata["attributes"]["column-order"] = order
    (path / "obs/zarr.json").write_text(json.dumps(metadata))
    for use in (check_store, read_table):
        with pytest.raises(ValueError, match="column-order must be a list of names"):
            use(path)


def test_metadata_that_are_gone_are_an_error(store):
    """Nobody would know which files there have to be."""
    path, _, _ = store
    (path / "X" / "zarr.json").unlink()
    with pytest.raises(StoreError, match="no such file"):
        check_store(path)


def test_the_command_tells_and_fails(store):
    """A script would go on with a damaged store."""
    path, X, folders = store
    run = CliRunner().invoke
    sound = run(app, ["info", str(path), "--check"])
    assert sound.exit_code == 0, sound.output
    assert "none" in sound.stdout
    flip(folders[0] / "1")
    found = run(app, ["info", str(path), "--check", "--json"])
    assert found.exit_code == 1
    (one,) = json.loads(found.stdout)["damage"]
    assert one["file"] == str(folders[0] / "1")
    assert tuple(one["columns"]) == columns_of(X, folders[0], 1)
    told = run(app, ["info", str(path), "--check"])
    assert told.exit_code == 1
    assert "columns {} to {}".format(*columns_of(X, folders[0], 1)) in " ".join(told.stdout.split())


@pytest.mark.parametrize("arguments", [[], ["demo"]])
def test_only_stores_are_checked(arguments):
    """A file without checksums would pass as sound."""
    found = CliRunner().invoke(app, ["info", *arguments, "--check"])
    assert found.exit_code != 0
    assert "--check is of a store" in found.output
