"""Single-cell files: .h5ad of AnnData, .h5 of 10x Genomics, in Python and by the command."""

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from annotated import write_10x, write_frame, write_h5ad, write_matrix
from zeronorm.core.files import FileError
from zeronorm.io import read_table
from zeronorm.io.opening import as_design

N, P = 60, 15
RNG = np.random.default_rng(0)
COUNTS = sp.random_array((N, P), density=0.6, rng=RNG, format="csr")
COUNTS.data = np.ceil(5 * COUNTS.data).astype(np.float32)
LOGGED = sp.csr_array(COUNTS)
LOGGED.data = np.log1p(LOGGED.data)
MARGIN = LOGGED.toarray()[:, 3] - LOGGED.toarray()[:, 7] + 0.1 * RNG.standard_normal(N)
CODES = (np.median(MARGIN) < MARGIN).astype(int)
TYPES = ["B cell", "T cell"]
GENES = [f"GENE{j}" for j in range(P)]
OBS = {
    "cell_type": (CODES, TYPES),
    "age": MARGIN + 30.0,
    "batch": np.array(["one", "two"] * (N // 2)),
    "time": np.exp(-MARGIN),
    "died": np.arange(N) % 3 > 0,
    "odd": (np.where(np.arange(N) == 4, -1, CODES), TYPES),
}


@pytest.fixture
def cells(tmp_path):
    """A file of today's layout, in the folder of the command."""
    layers = {"counts": sp.csc_array(COUNTS), "dense": LOGGED.toarray()}
    raw = (LOGGED[:, ::-1].tocsr(), GENES[::-1])
    write_h5ad(tmp_path / "cells.h5ad", LOGGED, OBS, GENES, layers, raw)
    return tmp_path / "cells.h5ad"


def matrix(table):
    columns = table.X.gather(slice(None))
    return columns.toarray() if sp.issparse(columns) else columns


@pytest.mark.parametrize(
    ("layer", "expected"),
    [(None, LOGGED), ("counts", COUNTS), ("dense", LOGGED), ("raw", LOGGED[:, ::-1])],
)
def test_layers(cells, layer, expected):
    """A model would be of another matrix than the one that was asked for."""
    table = read_table(cells, "cell_type", layer=layer)
    assert np.array_equal(matrix(table), expected.toarray())
    assert table.feature_names == (GENES[::-1] if layer == "raw" else GENES)
    assert table.sample_names[:2] == ["cell0", "cell1"]
    assert table.y.tolist() == [TYPES[code] for code in CODES]
    assert table.X.is_sparse == (layer != "dense")


def test_obs(cells):
    """Numbers would be classes, or a cell without a type be one of the last type."""
    assert read_table(cells, "age").y.dtype == np.float64
    assert read_table(cells, "batch").y[:2].tolist() == ["one", "two"]
    both = read_table(cells, "age,time")
    assert both.y.shape == (N, 2)
    assert both.target_name == ("age", "time")
    table = read_table(cells, None, columns={"time": "time", "event": "died"})
    assert table.columns["event"].dtype == bool
    assert np.array_equal(table.columns["time"], OBS["time"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "odd"}, r"'odd' of obs is missing in 1 samples, the first of which is 'cell4'"),
        ({"target": "celltype"}, r"no column 'celltype' of obs .* Did you mean 'cell_type'"),
        ({"target": "age,batch"}, r"targets of several columns must be numbers"),
        ({"need_labels": True}, r"nothing says what to predict; name a column of obs"),
        ({"layer": "count"}, r"no layer 'count' in it\. Did you mean 'counts'"),
        ({"id": "batch"}, r"only a column of CSV, JSON lines, Excel or Parquet can be the id"),
        ({"columns": {"time": "tme"}}, r"no column 'tme' of obs .* Did you mean 'time'"),
    ],
)
def test_what_is_not_there_is_told(cells, options, message):
    """The message would be HDF5's, or another column be taken."""
    with pytest.raises(FileError, match=message):
        read_table(cells, **options)


def test_a_layer_that_is_not_there_is_a_key_error(cells):
    """Code for AnnData's layers catches KeyError."""
    with pytest.raises(KeyError) as caught:
        read_table(cells, layer="nope")
    assert str(caught.value).startswith(f"{cells}: no layer 'nope' in it.")


def test_layouts_of_earlier_years(tmp_path):
    """Files of AnnData 0.6 and 0.7 would not open, and most files in archives are such."""
    old = tmp_path / "old.h5ad"
    with h5py.File(old, "w") as file:
        kind = [("index", "S8"), ("kind", "i1"), ("size", "f4")]
        obs = np.array([(b"c%d" % i, CODES[i], i) for i in range(N)], kind)
        file["obs"] = obs
        file["var"] = np.array(
            [(name.encode(), 0) for name in GENES], [("index", "S8"), ("m", "f4")]
        )
        file["uns/kind_categories"] = np.array(TYPES, "S")
        write_matrix(file, "X", LOGGED.toarray())
        part = write_matrix(file, "raw.X", LOGGED)
        part.attrs["h5sparse_format"], part.attrs["h5sparse_shape"] = "csr", LOGGED.shape
        del part.attrs["encoding-type"], part.attrs["shape"]
        file["raw.var"] = file["var"][:]
    for layer in (None, "raw"):
        table = read_table(old, "kind", layer=layer)
        assert table.y.tolist() == [TYPES[code] for code in CODES]
        assert np.array_equal(matrix(table), LOGGED.toarray())
        assert table.feature_names == GENES
        assert table.sample_names[5] == "c5"
    middle = write_h5ad(tmp_path / "0.7.h5ad", LOGGED, {"kind": CODES.astype("i1")}, GENES)
    with h5py.File(middle, "r+") as file:
        file["obs"].create_group("__categories")["kind"] = np.array(TYPES, "S")
        file["obs/kind"].attrs["categories"] = file["obs/__categories/kind"].ref
    table = read_table(middle, "kind")
    assert table.y.tolist() == [TYPES[code] for code in CODES]


def test_nullable_columns(tmp_path):
    """What stands below a mask would be a value."""
    path = write_h5ad(tmp_path / "n.h5ad", LOGGED, {"a": np.ones(N)}, GENES)
    with h5py.File(path, "r+") as file:
        for name, row in (("whole", None), ("holes", 3)):
            part = file["obs"].create_group(name)
            part["values"], part["mask"] = np.arange(N), np.arange(N) == row
    assert read_table(path, "whole").y.tolist() == list(range(N))
    with pytest.raises(FileError, match=r"'holes' of obs is missing in 1 samples.*'cell3'"):
        read_table(path, "holes")


def test_10x(tmp_path):
    """Genes would be cells, or two genes of one symbol be one."""
    table = read_table(write_10x(tmp_path / "v3.h5", COUNTS))
    assert np.array_equal(matrix(table), COUNTS.toarray())
    assert table.feature_names[:3] == ["TWIN_ENSG0", "TWIN_ENSG1", "S2"]
    assert table.descriptions[2] == "ENSG2"
    assert table.sample_names[1] == "c1"
    assert table.y is None
    older = write_10x(tmp_path / "v2.h5", COUNTS, genomes=["hg19", "mm10"])
    assert np.array_equal(matrix(read_table(older, layer="mm10")), COUNTS.toarray())
    with pytest.raises(FileError, match="several genomes; name one as the layer: 'hg19', 'mm10'"):
        read_table(older)
    with pytest.raises(KeyError, match="no genome 'mm9'"):
        read_table(older, layer="mm9")


def test_damage(tmp_path, cells):
    """A file that was copied in part would end in words of HDF5, or in a wrong matrix."""
    whole = cells.read_bytes()
    for name, content in {"half": whole[: len(whole) // 2], "text": b"a,b\n1,2\n"}.items():
        (tmp_path / f"{name}.h5ad").write_bytes(content)
        with pytest.raises(FileError, match=r"not a readable HDF5|named \.h5ad but"):
            read_table(tmp_path / f"{name}.h5ad", "cell_type")
    for name, change, message in (
        ("names", lambda f: f["var"].move("names", "other"), "not a readable HDF5"),
        ("obs", lambda f: f.pop("obs"), "no table obs"),
        ("short", lambda f: (f.pop("var"), write_frame(f, "var", GENES[1:], {})), "have names"),
        ("empty", lambda f: [f.pop(key) for key in ("X", "layers")], "no matrix X in it"),
    ):
        copy = Path(shutil.copy(cells, tmp_path / f"{name}.h5ad"))
        with h5py.File(copy, "r+") as file:
            change(file)
        with pytest.raises(FileError, match=message):
            read_table(copy, "cell_type")


# ---------------------------------------------------------------------------------- the command


def test_select_predict_and_verify(run, cells, tmp_path):
    """Another layer would be read than the one a model was trained on, without a word."""
    chosen = ("--obs", "cell_type", "--layer", "counts")
    options = ("-k", "2", "-o", "m.npz", "--certificate", "c.npz", "--json", "--no-cv")
    document = json.loads(run("select", "cells.h5ad", *chosen, *options).stdout)
    names = {row["name"] for row in document["models"][0]["features"]}
    assert names == {"GENE3", "GENE7"}
    assert document["data"]["storage"] == "sparse float32, read by blocks"
    assert document["data"]["columns"] == {"layer": "counts"}
    assert run("verify", "c.npz", "cells.h5ad", "--obs", "cell_type").exit_code == 0
    other = write_h5ad(
        tmp_path / "other.h5ad", sp.csr_array((N, P)), {}, GENES[::-1],
        {"counts": COUNTS[:, ::-1].tocsr()},
    )  # fmt: skip
    assert run("predict", "m.npz", "cells.h5ad", "-o", "a.csv").exit_code == 0
    assert run("predict", "m.npz", other.name, "-o", "b.csv").exit_code == 0
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    assert (tmp_path / "a.csv").read_text().splitlines()[1].startswith("cell0,")
    lacking = write_h5ad(tmp_path / "less.h5ad", COUNTS, {}, [f"h{j}" for j in range(P)])
    result = run("predict", "m.npz", lacking.name, code=2)
    assert "no layer 'counts'" in result.stderr


def test_other_targets(run, cells):
    """Survival times and numbers of obs would be read as classes."""
    survival = ("--time", "time", "--event", "died", "-k", "2", "--no-save", "--no-cv", "--json")
    document = json.loads(run("select", "cells.h5ad", *survival).stdout)
    assert document["data"]["task"] == "survival"
    assert {row["name"] for row in document["models"][0]["features"]} == {"GENE3", "GENE7"}
    numbers = ("--target", "age", "-k", "2", "--no-save", "--cv", "3", "--json")
    document = json.loads(run("select", "cells.h5ad", *numbers).stdout)
    assert document["data"]["task"] == "numbers"
    assert document["models"][0]["cross_validation"]["mean"] > 0.7


def test_10x_with_labels_of_their_own(run, tmp_path):
    """Counts of Cell Ranger have no obs: nothing could be selected for."""
    write_10x(tmp_path / "v3.h5", COUNTS)
    (tmp_path / "types.txt").write_text("\n".join(TYPES[code] for code in CODES) + "\n")
    options = (
        "-k",
        "2",
        "--target",
        "types.txt",
        "--by-position",
        "--no-save",
        "--no-cv",
        "--json",
    )
    document = json.loads(run("select", "v3.h5", *options).stdout)
    assert {row["name"] for row in document["models"][0]["features"]} == {"S3", "S7"}


# --------------------------------------------------------------------------------------- AnnData


@pytest.mark.parametrize("backed", [None, "r"])
def test_anndata(cells, backed):
    """An AnnData would be refused, loaded as a whole, or lose the names of its genes."""
    anndata = pytest.importorskip("anndata")
    from zeronorm import BudgetClassifier

    data = anndata.read_h5ad(cells, backed=backed)
    model = BudgetClassifier(2, calibrate=False).fit(data, data.obs["cell_type"])
    assert sorted(model.get_feature_names_out()) == ["GENE3", "GENE7"]
    assert model.score(data, data.obs["cell_type"]) > 0.8
    view = data[5:, :]
    assert view.is_view
    design = as_design(view)
    assert design.shape == (N - 5, P)
    part = BudgetClassifier(2, calibrate=False).fit(view, view.obs["cell_type"])
    assert sorted(part.get_feature_names_out()) == ["GENE3", "GENE7"]
    if backed is None:  # where backed, AnnData itself cannot reverse columns
        with pytest.raises(ValueError, match="X must have the columns that fit has seen"):
            model.predict(data[:, ::-1])


def test_the_path_of_a_file_is_data(cells):
    """`fit("cells.h5ad", y)` would be taken for the path of a .npy file."""
    design = as_design(str(cells))
    assert design.feature_names == GENES
    assert design.shape == (N, P)
    with pytest.raises(FileNotFoundError):
        as_design(str(cells) + ".h5ad")


@pytest.mark.parametrize(
    "labels", [["T", "nan", "B", "NA"], ([0, 1, 2, 3], ["T", "nan", "B", "NA"])]
)
def test_words_for_missing_labels_are_no_class(tmp_path, labels):
    """A gap that went through text would be a class of its own here, and a gap in CSV."""
    path = write_h5ad(tmp_path / "a.h5ad", np.arange(12.0).reshape(4, 3), {"kind": labels})
    with pytest.raises(FileError, match=r"'kind' of obs is missing in 2 samples, .* 'cell1'"):
        read_table(path, "kind")


def test_rows_are_chosen_by_obs(run, tmp_path):
    """--where would be refused, or X, names and labels be of different cells."""
    rng = np.random.default_rng(3)
    X = sp.csr_array(rng.poisson(1.0, (N, 6)).astype(np.float32))
    batch = np.arange(N) % 3
    age = np.where(np.arange(N) % 5 == 0, np.nan, np.arange(N))
    y = np.where(np.arange(N) % 2, "sick", "well")
    obs = {"batch": (np.where(batch == 2, -1, batch), ["B0", "B1"]), "age": age, "y": y}
    path = write_h5ad(tmp_path / "a.h5ad", X, obs)
    kept = np.flatnonzero((batch == 0) | (age >= 20))
    where = "batch in ('B0') or age >= 20"
    table = read_table(path, "y", where=where)
    np.testing.assert_array_equal(matrix(table), X.toarray()[kept])
    assert table.y.tolist() == y[kept].tolist()
    assert table.sample_names == [f"cell{i}" for i in kept]
    assert any(note.startswith(f"kept {len(kept)} of {N} rows") for note in table.notes)
    # A gap in rows that are left out is none.
    assert read_table(path, "y", where="age > 3", columns={"offset": "age"}).y.size
    with pytest.raises(FileError, match="no samples are left: kept 0 of"):
        read_table(path, "y", where="age > 1000")
    with pytest.raises(FileError, match=r"no column 'bach'\. Did you mean 'batch'"):
        read_table(path, "y", where="bach == 'B0'")
    asked = ("--target", "y", "-k", 2, "--no-cv", "--no-save", "--json")
    chosen = json.loads(run("select", path, *asked, "--where", where).stdout)["models"]
    np.savez(tmp_path / "b.npz", X=matrix(table), y=table.y)
    again = json.loads(run("select", "b.npz", *asked[2:]).stdout)["models"]
    indices = [[one["index"] for one in models[0]["features"]] for models in (chosen, again)]
    assert indices[0] == indices[1]
