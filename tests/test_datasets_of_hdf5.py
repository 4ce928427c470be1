"""HDF5 files of arrays alone: which one is the matrix, and what says which."""

import json

import numpy as np
import pytest

from zeronorm import write_store
from zeronorm.core.files import FileError
from zeronorm.data import as_design
from zeronorm.io import read_table

h5py = pytest.importorskip("h5py")


@pytest.fixture
def path(tmp_path):
    """A file with two matrices and columns of their samples."""
    rng = np.random.default_rng(0)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["study/expression"] = rng.normal(size=(40, 9))
        file["study/other"] = np.zeros((40, 3))
        file["y"] = (file["study/expression"][:, 2] > 0).astype(int)
        file["kind"] = np.array(["a", "b"] * 20, dtype=h5py.string_dtype())
    return tmp_path / "x.h5"


def test_a_dataset_is_named_on_the_command_line(run, fails, path):
    """A user would have to write the matrix to another file."""
    options = ("--target", "y", "-k", 1, "--no-cv", "--quiet", "--json", "-o", "m.npz")
    message = fails("select", path, *options)
    for part in ("--layer", "study/expression", "study/other"):
        assert part in message
    named = ("--dataset", "study/expression")
    document = json.loads(run("select", path, *named, *options).stdout)
    assert [one["index"] for one in document["models"][0]["features"]] == [2]
    found = json.loads(run("info", path, *named, "--json").stdout)
    assert (found["n_samples"], found["n_features"]) == (40, 9)
    assert found["columns"] == ["kind", "y"]
    predicted = run("predict", "m.npz", path, "--target", "y", "--quiet", "--json")
    data = json.loads(predicted.stdout)["data"]
    assert (data["n_samples"], data["columns"]) == (40, {"layer": "study/expression"})
    with h5py.File(path, "a") as file:
        file["study/age"] = np.arange(40)
        file["gaps"] = np.full(40, np.nan)
    run("convert", path, "x.zarr", *named, "--target", "y", "--quiet")
    with h5py.File(path) as file:
        X, y = file["study/expression"][:], file["y"][:]
    np.testing.assert_array_equal(as_design("x.zarr").gather(slice(None)), X)
    table = read_table("x.zarr", "y")
    assert table.y.tolist() == y.tolist()
    assert table.feature_names is None
    assert sorted(table.known) == ["kind", "y"]
    with pytest.raises(FileError, match="'gaps' is NaN in 40 samples"):
        read_table(path, "gaps", layer="/study/expression")


def test_what_is_taken_where_none_is_named(path, tmp_path):
    """X would have to be named where it is plain which one it is."""
    with pytest.raises(FileError, match="several datasets of two dimensions; name one with layer: "):
        write_store(path, tmp_path / "x.zarr")
    with h5py.File(path, "a") as file:
        file["X"] = np.ones((40, 4))
    assert read_table(path).X.shape == (40, 4)
    assert read_table(path, "kind").y.tolist() == ["a", "b"] * 20
    with pytest.raises(FileError, match=r"no dataset 'study/expresion'.*'study/expression'"):
        read_table(path, layer="study/expresion")
    with pytest.raises(FileError, match="no dataset 'study/other' with a value for each of 40 samples"):
        read_table(path, "study/other")
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["y"] = np.ones(3)
    with pytest.raises(FileError, match=r"no matrix X in it.*it holds 'y'"):
        read_table(tmp_path / "y.h5")
