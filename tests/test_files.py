"""Readers: what is read is what stands in the file, and what cannot be read is a clear error."""

import builtins
import bz2
import gzip
import io
import lzma
import os
import pickle
import re
import sys
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from zeronorm.core.files import FileError, MissingFileError
from zeronorm.data import as_design
from zeronorm.io import read_table
from zeronorm.io import (
    source as _source,
)
from zeronorm.io.groups import read_groups
from zeronorm.io.table import Dataset, Layout
from zeronorm.persistence import load

try:
    import pyarrow as pa
    from pyarrow.parquet import write_table
except ImportError:
    pa = None
try:
    import zstandard
except ImportError:
    zstandard = None

# Without the time in its header, which would be part of the name of a test.
gzipped = partial(gzip.compress, mtime=0)
COMPRESS = {"": bytes, ".gz": gzipped, ".bz2": bz2.compress, ".xz": lzma.compress}
if zstandard is not None:
    COMPRESS[".zst"] = zstandard.compress


@pytest.fixture
def write(tmp_path):
    """Write bytes or text to a file of the given name; return its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def zipped(content, name="data.csv"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def same(X, expected):
    values = X.toarray() if sp.issparse(X) else np.asarray(X)
    np.testing.assert_array_equal(values, expected)


# --- paths ---------------------------------------------------------------------------------


def test_missing_file_names_similar_ones(write, tmp_path):
    """A mistyped name would end in an error that does not help."""
    write("genes.csv", "a,b\n1,2\n")
    with pytest.raises(MissingFileError, match=r"no such file\. Did you mean 'genes\.csv'\?"):
        read_table(tmp_path / "gense.csv")
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "nothing" / "x.csv")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (".", "a directory; name a file in it"),
        ("a\0b", "cannot be read"),
        ("x" * 5000, "cannot be read"),
        ("/dev/null", "not a regular file"),
    ],
)
def test_paths_that_are_no_files(path, message):
    """A directory or a device would be read, or end in a traceback."""
    with pytest.raises(FileError, match=message):
        read_table(path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_unreadable_file(write):
    """A file without the right to read it would end in a traceback."""
    path = write("a.csv", "a,b\n1,2\n")
    path.chmod(0)
    with pytest.raises(FileError, match="cannot be read"):
        read_table(path)


@pytest.mark.parametrize("name", ["a.csv", "a.svm", "a.npz", "a.npy", "a.parquet", "a.csv.gz", "a"])
def test_empty_file(write, name):
    """A file of no bytes would end in a traceback."""
    with pytest.raises(FileError, match="the file is empty"):
        read_table(write(name, b""))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv.gz", b"a,b\n1,2\n", r"named \.gz but it holds no gzip data"),
        ("a.csv.bz2", gzipped(b"a,b\n1,2\n"), r"named \.bz2 but it holds no bzip2"),
        ("a.zip", b"a,b\n1,2\n", r"named \.zip but it holds no zip data"),
        ("a.zip", b"PK\x03\x04 not really", "the zip archive is truncated or damaged"),
        ("a.csv.gz", gzipped(gzipped(b"a,b\n1,2\n")), "compressed twice"),
        ("a.csv.gz", gzipped(b""), "the file is empty"),
        ("a.csv.zst", b"a,b\n1,2\n", r"named \.zst but it holds no zstd data"),
        ("a.npy", b"a,b\n1,2\n", r"named \.npy but its content is something else"),
        ("a.parquet", b"a,b\n1,2\n", r"named \.parquet but its content is something else"),
        ("a.csv", b"a,\x00b\n", "line 1: a NUL byte"),
        ("a.csv", b"\x01\x00\x02", "binary data of an unknown kind"),
        (
            "a.csv",
            "a,b\n1,2\n".encode("utf-16"),
            "UTF-16 text; say encoding='utf-16', or save it as UTF-8",
        ),
        ("a.npz", pickle.dumps(np.ones(3)), "a pickle, which is never loaded"),
        ("a.csv", pickle.dumps({"a": 1}), "a pickle, which is never loaded"),
    ],
)
def test_content_that_is_something_else(write, name, content, message):
    """A file whose name lies about its content would be misread."""
    with pytest.raises(FileError, match=message):
        read_table(write(name, content))


@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESS if suffix])
def test_truncated_compression(write, suffix):
    """Half a compressed file would be read as all of it."""
    rng = np.random.default_rng(0)
    text = "a,b\n" + "\n".join(f"{x!r},1" for x in rng.standard_normal(500).tolist())
    data = COMPRESS[suffix](text.encode())
    for cut in (len(data) - 1, len(data) // 2):
        with pytest.raises(FileError, match="truncated or damaged"):
            read_table(write("a.csv" + suffix, data[:cut]), "b")


def test_zstd(write, monkeypatch):
    """Frames after the first one would be lost, damage be read, or a missing package be no help."""
    zstandard = pytest.importorskip("zstandard")
    frames = [zstandard.compress(b"a,b\n1,"), zstandard.compress(b""), zstandard.compress(b"2\n")]
    for name in ("a.csv.zst", "a"):
        same(read_table(write(name, b"".join(frames)), "b").X, [[1]])
    for damaged in (b"".join(frames) + b"x", frames[0] + b"\0" * 9, b"\x28\xb5\x2f\xfd...."):
        with pytest.raises(FileError, match="the zstd data are truncated or damaged"):
            read_table(write("a.csv.zst", damaged), "b")
    path = write("a.csv.zst", b"".join(frames))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(FileError, match="zstd is not supported by this Python; install the pack"):
        read_table(path, "b")


def test_decompression_bomb(write, monkeypatch):
    """A small file could expand to fill the memory."""
    monkeypatch.setattr(_source, "_BOMB_SIZE", 1 << 16)
    bomb = b"0," * (1 << 19)
    for name, data in (
        ("a.csv.gz", gzipped(bomb)),
        ("a.csv.xz", lzma.compress(bomb)),
        ("a.zip", zipped(bomb)),
        *[("a.csv.zst", COMPRESS[".zst"](bomb))] * (".zst" in COMPRESS),
    ):
        with pytest.raises(FileError, match="expands to more than 200 times its size"):
            read_table(write(name, data))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=np.zeros((1000, 1000)))
    with pytest.raises(FileError, match="expands to more than 200 times"):
        read_table(write("a.npz", buffer.getvalue()))


def test_zip_with_several_files(write):
    """One of several files would be read without a word."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../a.csv", "a\n1\n")
        archive.writestr("b.csv", "a\n1\n")
    with pytest.raises(FileError, match="must hold one file; this one holds 2"):
        read_table(write("a.zip", buffer.getvalue()))


# --- svmlight ------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("name", ["a.svm", "a.txt", "a9a"])
@pytest.mark.parametrize("zero_based", [False, True])
def test_svmlight_round_trip(tmp_path, suffix, name, zero_based):
    """What scikit-learn writes would be read as another matrix."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 12)) < 0.3, rng.standard_normal((30, 12)).round(6), 0)
    X[0, [0, 11]] = 1.5  # the first and the last feature do occur
    X = sp.csr_array(X)
    y = rng.integers(0, 2, 30) * 2 - 1
    plain = io.BytesIO()
    dump_svmlight_file(X, y, plain, zero_based=zero_based)
    path = tmp_path / (name + suffix)
    path.write_bytes(COMPRESS[suffix](plain.getvalue()))
    table = read_table(path)
    same(table.X, X.toarray())
    same(table.y, y)
    assert table.y.dtype == np.int64
    assert table.X.indices.dtype == np.int32
    assert table.first_index == (0 if zero_based else 1)
    assert table.feature_names is None


@pytest.mark.parametrize(
    "text",
    [
        b"1 1:0.5 3:2\r\n-1 2:1\r\n",
        b"\xef\xbb\xbf1\t1:0.5\t3:2\n-1 2:1",
        b"# head\n\n1 1:0.5 3:2 # nan_1\n-1 2:1\n",
        b"1 qid:7 1:0.5 3:2\n-1 2:1\n",
        b" +1  1:5e-1 3:2.0 \n-1 2:+1\n",
    ],
)
def test_svmlight_variants(write, text):
    """Comments, blanks or query ids that the format allows would be refused."""
    table = read_table(write("a.svm", text))
    same(table.X, [[0.5, 0, 2], [0, 1, 0]])
    same(table.y, [1, -1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 1:nan\n", r"line 1, column 3: the value must be finite; got 'nan'"),
        (b"1 1:1\n1 1:-Inf\n", r"line 2, column 3: the value must be finite; got '-Inf'"),
        (b"1 1:1\n# x\n\n1 2:1 3:1e400\n", r"line 4, column 7: the value must be finite"),
        (b"1 1:1 1:2\n", r"line 1, column 7: indices must increase along a line; got 1 after 1"),
        (b"1 3:1 2:2\n", r"indices must increase along a line; got 2 after 3"),
        (b"1 1:1\n1 +3:2\n", r"line 2, column 3: the index must be a whole number.*; got '\+3'"),
        (b"1 qid:x 1:1\n", r"line 1, column 3: qid: must have a whole number.*; got 'qid:x'"),
        (b"1 qid: 1:1\n", r"line 1, column 3: qid: must have a whole number"),
        (b"1 qid:-3 1:1\n", r"line 1, column 3: qid: must have a whole number"),
        (b"1 1:1 qid:3\n", r"line 1, column 7: qid: .* follow the label; got 'qid:3'"),
        (b"1 qid:3 qid:4 1:1\n", r"line 1, column 9: qid: .* follow the label; got 'qid:4'"),
        (b"1 -1:2\n", r"the index must be a whole number, 0 or more; got '-1'"),
        (b"1 x:2\n", r"the index must be a whole number, 0 or more; got 'x'"),
        (b"1 1:\n", r"the value must be a number; got ''"),
        (b"1 1:1_000\n", r"the value must be a number; got '1_000'"),
        (b"1 1:0x10\n", r"the value must be a number; got '0x10'"),
        (b"1 1\n", r"expected index:value; got '1'"),
        (b"1 2147483648:1\n", r"the index must be below 2147483648"),
        (b"1 9223372036854775808:1\n", r"the index must be below 2147483648"),
        (b"1,2 1:1\n", r"line 1, column 1: the label must be one number; got '1,2'"),
        (b"cat 1:1\n", r"the label must be one number; got 'cat'"),
        (b"1 1:1\nnan 1:1\n", r"line 2, column 1: the label must be finite; got 'nan'"),
        (b"1e999 1:1\n", r"line 1, column 1: the label must be finite"),
        (b"1 1:1 \x85\xff\n", r"column 7: expected index:value; got '\\\\x85\\\\xff'"),
        (b"# only comments\n\n", "no samples in it"),
        (b"1\n-1\n", "no features in it"),
    ],
)
def test_svmlight_errors(write, text, message):
    """A bad line would be read, or refused without its number."""
    with pytest.raises(FileError, match=message):
        read_table(write("a.svm", text))


def test_svmlight_target_is_in_the_file(write):
    """A target that the format has no name for would be ignored."""
    path = write("a.svm", "1 1:1\n-1 2:1\n")
    with pytest.raises(FileError, match="holds its labels, but the target 'y' was given"):
        read_table(path, "y")
    labels = write("labels.txt", "a\nb\n")
    assert read_table(path, str(labels)).y.tolist() == ["a", "b"]


def test_svmlight_like_a_model(write):
    """A test file has fewer or more features, and its base is that of the training file."""
    path = write("a.svm", "1 1:1 3:2\n")
    same(read_table(path, like=Layout(5, first_index=1)).X, [[1, 0, 2, 0, 0]])
    same(read_table(path, like=Layout(5, first_index=0)).X, [[0, 1, 0, 2, 0]])
    table = read_table(path, like=Layout(2, first_index=1))
    same(table.X, [[1, 0]])
    assert table.notes == ("features above 2 were not in the training data and are ignored",)
    with pytest.raises(FileError, match="the index 0 occurs, but the model was trained on a file"):
        read_table(write("b.svm", "1 0:1\n"), like=Layout(2, first_index=1))


# --- delimited text ------------------------------------------------------------------------


def test_csv_names_that_occur_twice(write):
    """One of two columns of the same name would be read for the other."""
    table = read_table(write("a.csv", "x,x,z,z,,y\n1,2,3,4,5,0\n"), "y")
    names = ["x (1 of 2)", "x (2 of 2)", "z (1 of 2)", "z (2 of 2)", "unnamed (1 of 1)"]
    assert table.feature_names == names
    assert "5 features share a name or have none" in table.notes[0]
    # The same names find the features again, wherever they are read.
    like = Layout(5, ["x (2 of 2)", "z (1 of 2)", "unnamed (1 of 1)"])
    for text in ("x,x,z,z,\n1,2,3,4,5\n", "id,,z,new,x,y,z,x\n9,5,3,8,1,7,4,2\n"):
        same(read_table(write("b.csv", text), like=like).X, [[2, 3, 5]])
    # A column of such a name is that feature.
    text = "x (2 of 2),z (1 of 2),unnamed (1 of 1)\n2,3,5\n"
    same(read_table(write("b.csv", text), like=like).X, [[2, 3, 5]])


@pytest.mark.parametrize(
    ("header", "feature", "message"),
    [
        ("x,x,x", "x (1 of 2)", "3 columns have the name 'x', and the model was trained on 2, so "
         "that its feature 'x (1 of 2)' cannot be told. Give the column that is meant, and no "
         "other, the name 'x (1 of 2)'."),
        ("x,a,b", "x (2 of 2)", "1 column has the name 'x', and the model was trained on 2"),
        ("x,a,x", "x", "2 columns have the name 'x', and the model was trained on 1"),
        ("a,b,c", "x (1 of 2)", "the model needs the feature 'x (1 of 2)', which is not there"),
    ],
)  # fmt: skip
def test_other_numbers_of_columns_of_a_name_are_refused(write, header, feature, message):
    """A model would read the first of three columns for the first of two."""
    with pytest.raises(FileError, match=re.escape(message)):
        read_table(write("a.csv", f"{header}\n1,2,3\n"), like=Layout(3, [feature]))


def test_a_model_reads_columns_of_one_name_wherever_they_stand(run, write):
    """Where the target stands before them, another of these columns was read."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)).round(3)
    y = (X[:, 1] + 0.5 * X[:, 3] > 0).astype(int)
    rows = zip(X.tolist(), y.tolist(), strict=True)
    lines = [f"{a},{b},{t},{c},{d}" for (a, b, c, d), t in rows]
    write("train.csv", "\n".join(["MYC,MYC,y,TP53,TP53", *lines]))
    run("select", "train.csv", "--target", "y", "-k", "2", "--no-cv", "-o", "m.npz")
    model = load("m.npz")
    assert [model.feature_names[j] for j in range(2)] == ["MYC (2 of 2)", "TP53 (2 of 2)"]
    rows = [f"0,{c},{a},s{i},{d},{b}" for i, (a, b, c, d) in enumerate(X.tolist())]
    write("new.csv", "\n".join(["batch,TP53,MYC,name,TP53,MYC", *rows]))
    run("predict", "m.npz", "train.csv", "-o", "a.csv")
    run("predict", "m.npz", "new.csv", "-o", "b.csv")
    assert Path("a.csv").read_text() == Path("b.csv").read_text()


def test_csv_long_field(write):
    """A file that is no table would be read as one huge field."""
    with pytest.raises(FileError, match="not a table in CSV form"):
        read_table(write("a.csv", "a,b\n1," + "1" * 200_000 + "\n"), "a")


def test_csv_like_a_model(write):
    """New rows would be read by position where the model knows names."""
    layout = Layout(3, ["c", "a"], target_name="y")
    path = write("a.csv", "name,a,y,b,c\nrow,1,0,2,3\n")  # text in an unused column does not matter
    table = read_table(path, like=layout)
    same(table.X, [[3, 1]])
    assert table.feature_names == ["c", "a"]
    assert table.y.tolist() == [0]
    assert read_table(write("b.csv", "a,c\n1,2\n"), like=layout).y is None
    with pytest.raises(FileError, match=r"the model needs the feature 'c', which is not there"):
        read_table(write("c.csv", "a,b\n1,2\n"), like=layout)
    bare = write("d.csv", "1,2,0\n3,4,1\n")
    same(read_table(bare, "2", like=Layout(2)).X, [[1, 2], [3, 4]])
    with pytest.raises(
        FileError, match=r"3 features; the model was trained on 2\. Name the column of labels"
    ):
        read_table(bare, like=Layout(2))
    with pytest.raises(FileError, match=r"3 features; the model was trained on 5\.$"):
        read_table(bare, like=Layout(5))


numbers = st.floats(allow_nan=False, allow_infinity=False)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(1, 5).flatmap(lambda p: st.lists(st.tuples(*[numbers] * p), min_size=1, max_size=6))
)
def test_csv_values_are_exact(tmp_path, rows):
    """Numbers would be rounded by reading them."""
    p = len(rows[0])
    names = [f"x{j}" for j in range(p)]
    lines = [",".join([*names, "y"])] + [",".join([*map(repr, row), "k"]) for row in rows]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    same(read_table(path, "y").X, rows)


# --- Parquet -------------------------------------------------------------------------------


def without(monkeypatch, *modules):
    real = builtins.__import__

    def guarded(name, *args, **options):
        if name.split(".")[0] in modules:
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", guarded)


def parquet(columns):
    if pa is None:
        pytest.skip("pyarrow writes the files of these tests")
    buffer = io.BytesIO()
    write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def test_parquet(write):
    """Columns of a Parquet file would be lost or change their type."""
    data = parquet({"a": [1.5, 2.5], "y": ["u", "v"], "b": [1, -2], "c": [True, False]})
    for name, content in (("a.parquet", data), ("a.parquet.gz", gzipped(data)), ("a", data)):
        table = read_table(write(name, content), "y")
        same(table.X, [[1.5, 1, 1], [2.5, -2, 0]])
        assert table.feature_names == ["a", "b", "c"]
        assert table.y.tolist() == ["u", "v"]
    table = read_table(write("a.parquet", data), like=Layout(9, ["b"], target_name="y"))
    same(table.X, [[1], [-2]])
    assert table.y.tolist() == ["u", "v"]


def test_parquet_damaged(write):
    """A damaged file would end in a traceback."""
    data = parquet({"a": [1.0, 2.0], "y": [0, 1]})
    with pytest.raises(FileError, match="not a readable Parquet file"):
        read_table(write("a.parquet", data[:-20]), "y")


def test_clean_text_is_read_without_polars(write, monkeypatch):
    """Every command on a small file would take half a second longer."""
    without(monkeypatch, "polars", "pyarrow", "pandas")
    same(read_table(write("a.csv", "a,c,y\n1,u,0\n2,u,1\n"), "y").X[:, 0], [1, 2])


# --- NumPy ---------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8])
def test_npy_is_mapped(write, tmp_path, order, dtype):
    """Data larger than the memory could not be read."""
    X = np.asarray(np.arange(12).reshape(4, 3), dtype, order=order)
    write("y.npy", npy(np.array([0, 1, 0, 1])))
    table = read_table(write("a.npy", npy(X)), str(tmp_path / "y.npy"))
    assert isinstance(table.X, np.memmap)
    assert table.X.dtype == dtype
    same(table.X, X)
    assert table.y.tolist() == [0, 1, 0, 1]
    assert table.target_name == "y"
    same(read_table(write("a.npy.gz", gzipped(npy(X)))).X, X)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy(np.ones(3)), r"must have two dimensions .*; its shape is \(3,\)"),
        (npy(np.ones((2, 2), complex)), "must hold real numbers; its type is complex128"),
        (npy(np.array([["a", "b"]])), "must hold real numbers"),
        (npy(np.array([[None]]), allow_pickle=True), "an array of objects, which would have to"),
        (npy(np.zeros((2, 2), [("a", "f4")])), "an array of type"),
        (npy(np.ones((3, 3)))[:-1], "truncated or damaged: the shape"),
        (npy(np.ones((3, 3))) + b"x", "truncated or damaged: the shape"),
        (npy(np.ones((0, 3))), "no samples in it"),
        (npy(np.ones((3, 0))), "no features in it"),
        (b"\x93NUMPY\x01\x00\x10\x00 __import__('os')", "not a valid .npy array"),
        (b"\x93NUMPY\x09\x00\x10\x00", "not a valid .npy array|unknown .npy version"),
        (npy(np.ones((3, 3))).replace(b"(3, 3)", b"(3,-3)"), "a negative length|not a valid"),
    ],
)
def test_npy_errors(write, content, message):
    """An array that is no table would be read as one."""
    with pytest.raises(FileError, match=message):
        read_table(write("a.npy", content))


def test_npy_target_is_a_file(write):
    """A file without labels would be read as if it had some."""
    with pytest.raises(
        FileError, match=r"labels of a \.npy file stand in a file of their own; no f"
    ):
        read_table(write("a.npy", npy(np.eye(2))), "y")


def test_npy_huge_shape_is_not_allocated(write):
    """A false shape in a header would fill the memory."""
    content = npy(np.ones((100, 300))).replace(b"(100, 300), }", b"(100, 3000000000000), }")
    content = content.replace(b" " * 10 + b"\n", b"\n")  # the length of the header stays
    with pytest.raises(FileError, match=r"truncated or damaged: the shape \(100, 3000000000000\)"):
        read_table(write("a.npy", content))


def test_npz_dense(write):
    """Arrays of an archive would be lost or exchanged."""
    names = np.array(["g1", "g2"])
    content = npz(X=np.eye(2, dtype=np.float32), y=np.array([b"no", b"yes"]), feature_names=names)
    table = read_table(write("a.npz", content))
    same(table.X, np.eye(2))
    assert table.X.dtype == np.float32
    assert table.y.tolist() == ["no", "yes"]
    assert table.feature_names == ["g1", "g2"]
    table = read_table(write("b.npz", npz(data=np.eye(2), status=np.array([1.0, 2.0]))), "status")
    same(table.X, np.eye(2))
    assert table.y.dtype == np.int64


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_npz_sparse(write, tmp_path, form, kind):
    """What SciPy saves would be read as another matrix, or made dense."""
    X = sp.random_array((20, 9), density=0.2, rng=np.random.default_rng(0), format=form)
    path = tmp_path / "X.npz"
    sp.save_npz(path, X if kind == "array" else getattr(sp, f"{form}_matrix")(X))
    write("y.npy", npy(np.arange(20) % 2))
    table = read_table(path, str(tmp_path / "y.npy"))
    same(table.X, X.toarray())
    assert isinstance(table.X, sp.csr_array)
    parts = dict(np.load(path))
    same(read_table(write("b.npz", npz(**parts, label=np.arange(20) % 2))).y, np.arange(20) % 2)


def csr_parts(**changes):
    X = sp.csr_array(np.array([[1.0, 0, 2], [0, 3, 0]]))
    parts = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 3]),
        "data": X.data,
        "indices": X.indices,
        "indptr": X.indptr,
        "y": np.array([0, 1]),
    }
    return npz(**{key: value for key, value in {**parts, **changes}.items() if value is not None})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npz(a=np.eye(2), b=np.eye(2)), "no array X in it, and 2 other matrices"),
        (npz(a=np.ones(2)), r"no array X in it, and 0 .* It holds 'a' \(2,\)"),
        (npz(X=np.ones(3)), "must have two dimensions"),
        (npz(X=np.eye(2), y=np.ones(3)), "must hold one label for each of the 2 samples"),
        (npz(X=np.eye(2), y=np.array([1.0, np.nan])), r"label 2 is not finite \(nan\)"),
        (npz(X=np.eye(2), y=np.array([0, 2**31], np.uint32).view("U1")), "not valid text"),
        (npz(X=np.eye(2), y=np.array([b"a", b"\xff"])), "not valid text"),
        (npz(X=np.eye(2), y=np.array([1j, 2])), "must hold labels as numbers or strings"),
        (npz(X=np.eye(2), feature_names=np.array(["a"])), "must hold 2 strings"),
        (csr_parts(indices=np.array([0, 9, 1])), "a broken sparse matrix"),
        (csr_parts(indices=np.array([0, -1, 1])), "a broken sparse matrix"),
        (csr_parts(indptr=np.array([0, 5, 3])), "a broken sparse matrix"),
        (csr_parts(indptr=np.array([0, 2])), "a broken sparse matrix"),
        (
            npz(
                format="coo",
                shape=np.array([10**13, 4]),
                data=np.ones(1),
                row=np.array([2]),
                col=np.array([1]),
            ),
            r"a sparse matrix of 10000000000000 rows and 1 entries: .* need 298023 GiB of memory",
        ),
        (csr_parts(indices=np.array([0.0, 2, 1])), "indices of a sparse matrix must be whole"),
        (csr_parts(indptr=None), "without its array 'indptr'"),
        (csr_parts(shape=np.array([2, -3])), "the shape of a sparse matrix must be two numbers"),
        (csr_parts(format=np.array(b"bsr")), "sparse format 'bsr'; save it as CSR"),
        (csr_parts(data=np.array([1j, 2, 3])), "a sparse matrix must hold real numbers"),
    ],
)
def test_npz_errors(write, content, message):
    """An archive that is no table would be read as one."""
    with pytest.raises(FileError, match=message):
        read_table(write("a.npz", content))


def test_npz_unknown_target(write):
    """A mistyped name of an array would end in a traceback."""
    path = write("a.npz", npz(X=np.eye(2), status=np.array([1, 2])))
    with pytest.raises(FileError, match=r"no array 'statos'; .* Did you mean 'status'\?"):
        read_table(path, "statos")


def test_npz_objects_are_never_unpickled(write, tmp_path):
    """A data file from the net could run code."""
    flag = tmp_path / "executed"

    class Evil:
        def __reduce__(self):
            return (open, (str(flag), "w"))

    with pytest.raises(FileError, match="an array of objects"):
        read_table(write("a.npz", npz(X=np.array([[Evil()]], dtype=object))))
    assert not flag.exists()


def test_npz_bit_flip_in_the_data(write):
    """Damaged numbers would be read without a word."""
    content = bytearray(npz(X=np.ones((50, 50)), y=np.arange(50) % 2))
    content[content.index(b"\xf0?") + 40] ^= 1
    with pytest.raises(FileError, match="truncated or damaged"):
        read_table(write("a.npz", bytes(content)))


# --- labels in a file of their own ---------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("y.txt", b"class\na\nb\n"),
        ("y.csv", b"a\r\nb\r\n"),
        ("y.txt.gz", gzipped(b'"a"\n"b"\n')),
        ("y.npy", npy(np.array(["a", "b"]))),
        ("y.npy", npy(np.array([["a"], ["b"]]))),
        ("y.npz", npz(labels=np.array(["a", "b"]))),
    ],
)
def test_labels_from_a_file(write, name, content):
    """Labels in a file of their own would be read otherwise."""
    labels = write(name, content)
    for data in (write("X.npy", npy(np.eye(2))), write("X.csv", "p,q\n1,0\n0,1\n")):
        assert read_table(data, str(labels)).y.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("y.txt", b"a\n", r"must hold one label for each of the 2 samples; its shape is \(1,\)"),
        ("y.txt", b"a\nNA\n", r"line 2: the target is missing \('NA'\)"),
        ("y.npz", npz(q=np.ones(2)), "no array y; it holds 'q'"),
    ],
)
def test_labels_from_a_file_errors(write, name, content, message):
    """A file that holds no labels would be read as some."""
    labels = write(name, content)
    with pytest.raises(FileError, match=message):
        read_table(write("X.npy", npy(np.eye(2))), str(labels))


# --- groups of features --------------------------------------------------------------------

ABC = Dataset(np.zeros((2, 3)), None, ["a", "b, c", "d e"])
NUMBERED = Dataset(np.zeros((2, 3)), None, first_index=1)


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize(
    ("table", "text"),
    [
        (ABC, "a\tx\nb, c\ty\nd e\tx\n"),
        (ABC, "\ufefffeature\tgroup\r\n\r\nd e\tx\r\na\tx\r\nb, c\ty"),
        (ABC, 'gene,pathway\na,x\n"b, c",y\n"d e",x\n'),
        (ABC, "a ; x\nb, c ; y\n\nd e;x\n"),
        (ABC, "a | x\nb, c|y\nd e|x\n"),
        (ABC, '"d e"   x\na  x \n"b, c" y\n'),
        (NUMBERED, "1 x\n2 y\n3 x\n"),
        (NUMBERED, "feature,group\n3,x\n2,y\n1,x\n"),
    ],
)
def test_groups_of_features(write, suffix, table, text):
    """A feature would get another group, or the header be taken for one."""
    path = write("groups.txt" + suffix, COMPRESS[suffix](text.encode()))
    groups = read_groups(path, table)
    assert groups.labels.tolist() == ["x", "y"]
    assert groups.code.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("table", "content", "message"),
    [
        (
            ABC, "a,x\n'b,y\na,y\n",
            r"groups.txt: line 2: the data have no feature \"'b\"\. There is 'a', 'b, c', 'd e'",
        ),
        (ABC, "a x\nb x\n", "line 2: the data have no feature 'b'"),
        (ABC, "a1\tx\na\tx\n", "line 1: the data have no feature 'a1'"),
        (
            ABC, "a\tx\n\nb, c\tx\na\ty\n",
            "line 4: groups must not overlap; the feature 'a' is in the group 'y', and by line 1 "
            "in 'x'. Leave one of the lines out",
        ),
        (ABC, "a\tx\na\tx\n", "line 2: groups must not overlap"),
        (ABC, "f\tg\nb, c\tx\n", r"must have a group; 'a' \(and 1 more\) has none. Give it a"),
        (ABC, "f\tg\n", r"must have a group; 'a' \(and 2 more\) has none"),
        (ABC, "a\tx\nb, c\tx\nd e\n", "line 3: two columns are needed, a feature and its gr"),
        (ABC, "a\n", "line 1: two columns are needed, a feature and its group; got 1"),
        (ABC, "a,b,c\n", "line 1: two columns are needed, a feature and its group; got 3"),
        (ABC, "a\tx\nb, c\tNA\n", r"line 2: the feature 'b, c' has no group \('NA'\). Give it"),
        (ABC, "a\tx\nb, c,\t\n", "line 2: two columns are needed"),
        (NUMBERED, "0 x\n1 x\n2 y\n", "line 1: the data have no feature '0'. They have the numb"),
        (NUMBERED, "1 x\n4 y\n", "line 2: the data have no feature '4'. They have the numbers 1 t"),
        (NUMBERED, "1 x\n3 y\n", "must have a group; '2' has none"),
        (ABC, b"a\tx\nb\xff\ty\n", "line 2, byte 2: not UTF-8 text"),
        (ABC, npy(np.ones(3)), "groups must be text, with a feature and its group in every line"),
        (ABC, "", "the file is empty"),
        (ABC, 'a\t"' + "x" * 200_000 + '"', "not a table in CSV form"),
    ],
)  # fmt: skip
def test_groups_of_features_errors(write, table, content, message):
    """Features would be in a wrong group in silence, or the user not know which line it is."""
    with pytest.raises(FileError, match=message):
        read_groups(write("groups.txt", content), table)


GENES = Dataset(
    np.zeros((2, 6)), None, ["TP53", "MYC (1 of 2)", "MYC (2 of 2)", "EGFR", "KRAS", "x"]
)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_gene_sets_are_groups(write, suffix):
    """A gene would be in another set, or what does not match be dropped without a word."""
    text = "B\thttp://b\tMYC\tNOSUCH\tEGFR\r\n\r\nA\t\tTP53\tKRAS\tTP53\tGONE\t\r\nC\td\tGONE\n"
    path = write("sets.gmt" + suffix, COMPRESS[suffix](text.encode()))
    notes = []
    groups = read_groups(path, GENES, notes)
    assert [groups.labels[g] for g in groups.code] == ["A", "B", "B", "B", "A", "x"]
    assert notes == [
        f"2 of 3 sets of {path} have features of the data",
        "2 of their 6 genes are not in the data: NOSUCH, GONE",
        "1 of 6 features are in no set, and each is a group of its own: x",
    ]
    assert read_groups(path, GENES).labels.tolist() == groups.labels.tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("A\td\tTP53\tKRAS\nB\td\tEGFR\tKRAS\n", "line 2: groups must not overlap; the feature "
         "'KRAS' is in the set 'B', and by line 1 in 'A'. Leave out sets, or genes"),
        ("A\td\tMYC\nB\td\tMYC\n", r"'MYC \(1 of 2\)' is in the set 'B'.*\(2 features are in"),
        ("A\td\ttp53\n", "none of its genes is a feature .* as 'tp53'. Did you mean 'TP53'"),
        ("A\td\n", "line 1: a set is its name, a description and its genes, parted by"),
        ("A d TP53\n", "line 1: a set is its name, a description and its genes"),
        ("A\td\tTP53\n\nA\td\tMYC\n", "line 3: the set 'A' is in line 1 already"),
        ("x\td\tTP53\n", "'x' is a set, and a feature of the data in no set"),
        ("\n\n", "no gene sets in it"),
        (b"A\td\tTP\xff\n", "line 1, byte 7: not UTF-8 text"),
    ],
)  # fmt: skip
def test_gene_sets_that_are_refused(write, content, message):
    """A partition would be made of sets that are none."""
    with pytest.raises(FileError, match=message):
        read_groups(write("sets.gmt", content), GENES)


def test_the_command_takes_gene_sets(run, write):
    """The user would not see that most genes have other names in the sets."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8)).round(3)
    y = np.where(X[:, 0] + X[:, 1] > 0, "a", "b")
    lines = [",".join([*map(str, row), label]) for row, label in zip(X, y, strict=True)]
    write("a.csv", "\n".join([",".join([f"G{j}" for j in range(8)]) + ",y", *lines]) + "\n")
    write("sets.gmt", "ONE\td\tG0\tG1\tH5\nTWO\td\tG2\tG3\n")
    given = ("--target", "y", "-k", 2, "--groups", 1, "--group-file", "sets.gmt", "--no-cv")
    found = run("select", "a.csv", *given, "-o", "m.npz")
    assert "2 features in 1 of 6 groups" in found.stdout
    assert "ONE" in found.stdout
    assert "1 of their 5 genes are not in the data: H5" in found.stderr
    assert "4 of 8 features are in no set" in found.stderr


def test_no_file_of_groups(tmp_path):
    """A missing file of groups would end in a traceback."""
    with pytest.raises(MissingFileError, match=r"none.tsv: no such file"):
        read_groups(tmp_path / "none.tsv", ABC)


# --- anything at all -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_files_are_read_or_refused(tmp_path, data):
    """Never another exception, whatever stands in the file."""
    X = np.arange(12.0).reshape(4, 3)
    plain = {
        "a.csv": b"a,b,y\n1,2,0\n3,4,1\n",
        "a.svm": b"1 1:0.5 3:2\n-1 2:1\n",
        "a.npy": npy(X),
        "a.npz": npz(X=X, y=np.arange(4), feature_names=np.array(["a", "b", "c"])),
        "s.npz": csr_parts(),
        "a.csv.gz": gzipped(b"a,b,y\n1,2,0\n3,4,1\n"),
        "a.zip": zipped(b"a,b,y\n1,2,0\n3,4,1\n"),
    }
    name = data.draw(st.sampled_from(sorted(plain)))
    content = bytearray(plain[name])
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(content) - 1))
        action = data.draw(st.sampled_from(["flip", "cut", "insert"]))
        if action == "flip":
            content[position] = data.draw(st.integers(0, 255))
        elif action == "cut":
            del content[position:]
        else:
            content[position:position] = data.draw(st.binary(max_size=4))
        if not content:
            break
    path = tmp_path / name
    path.write_bytes(content)
    message = f"{path}: "
    try:
        table = read_table(path, "y" if ".csv" in name else None)
    except FileError as error:
        message = str(error)
    else:
        assert len(table.X.shape) == 2
    assert message.startswith(f"{path}: ")
    assert "\n" not in message


# --- names of samples ----------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_id_is_no_feature(write, tmp_path, form):
    """Tables whose first column names the samples cannot be read at all."""
    path = write("a.csv", "who,a,y\np1,1,u\np2,2,v\n")
    if form == "parquet":
        if pa is None:
            pytest.skip("needs pyarrow")
        path = tmp_path / "a.parquet"
        write_table(pa.table({"who": ["p1", "p2"], "a": [1, 2], "y": ["u", "v"]}), path)
    with pytest.raises(FileError, match="or say id='who' if it names the samples"):
        read_table(path, "y")
    table = read_table(path, "y", id="who")
    assert (table.sample_names, table.feature_names) == (["p1", "p2"], ["a"])
    same(table.X, [[1], [2]])
    with pytest.raises(FileError, match="the target and the id must be two columns"):
        read_table(path, "y", id="y")
    with pytest.raises(FileError, match=r"no column 'whom'\. Did you mean 'who'"):
        read_table(path, "y", id="whom")
    with pytest.raises(
        FileError, match=r"with target\. The last column is 'y'; not numbers: 'who'"
    ):
        read_table(path, need_labels=True)


def test_id_is_advised_only_for_names(write):
    """A column of categories, or of numbers with a slip, is declared to be names."""
    for column in (["f", "m", "f"], ["1.5", "2.5", "3.x"]):
        path = write("a.csv", "s,a,y\n" + "".join(f"{value},1,u\n" for value in column))
        with pytest.raises(FileError, match=r"is text|is no number") as caught:
            read_table(path, "y")
        assert "id" not in str(caught.value).split("column 's'")[1]
    with pytest.raises(
        FileError, match="only a column of CSV, JSON lines, Excel or Parquet can be the id; got 's'"
    ):
        read_table(write("a.npy", npy(np.ones((2, 2)))), id="s")


# --- columns beside the target --------------------------------------------------------------


@pytest.mark.parametrize("form", ["careful", "fast", "parquet"])
def test_columns_that_are_no_features(tmp_path, monkeypatch, form):
    """A time or an exposure would be a feature, or its missing value one of many."""
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame = pl.DataFrame(
        {"a": [1.5, 2.5, 3.5], "days": [3, 1, 2], "b": [0.5, 1.0, 2.0], "died": ["no", "yes", "no"]}
    )
    columns = {"time": "days", "event": "died"}
    path = tmp_path / ("d.parquet" if "parquet" in form else "d.csv")
    frame.write_parquet(path) if "parquet" in form else frame.write_csv(path)
    if form == "careful":
        monkeypatch.setattr("zeronorm.io.delimited.read_body", lambda *_: None)
    table = read_table(path, columns=columns)
    assert table.y is None
    assert table.feature_names == ["a", "b"]
    assert table.columns["time"].tolist() == [3, 1, 2]
    assert table.columns["event"].tolist() == ["no", "yes", "no"]
    assert table.column_names == columns
    np.testing.assert_array_equal(table.X, frame.select("a", "b").to_numpy())
    # A model knows the names; a file without them has none of them.
    layout = Layout(2, ["a", "b"], columns={**columns, "offset": "o"})
    assert read_table(path, like=layout).columns.keys() == {"time", "event"}
    with pytest.raises(FileError, match="the time and the event must be two columns, not one"):
        read_table(path, columns={"time": "days", "event": "days"})
    with pytest.raises(FileError, match=r"no column 'day'. Did you mean 'days'\?"):
        read_table(path, columns={"time": "day"})
    gap = frame.with_columns(days=pl.Series([3, None, 2]))
    gap.write_parquet(path) if "parquet" in form else gap.write_csv(path)
    with pytest.raises(FileError, match=r"'days': the time is missing"):
        read_table(path, columns=columns)


def test_columns_of_files_without_names(tmp_path):
    """What has no columns would have no times; a file of the wrong length would be cut."""
    (tmp_path / "d.svm").write_text("1 1:2.0\n0 1:1.0 2:3.0\n")
    (tmp_path / "t.txt").write_text("days\n4\n5\n")
    table = read_table(tmp_path / "d.svm", columns={"time": str(tmp_path / "t.txt")})
    assert table.columns["time"].tolist() == [4, 5]
    assert table.column_names == {"time": "t"}
    with pytest.raises(FileError, match=r"no file 'days'; the time must be a file of its own"):
        read_table(tmp_path / "d.svm", columns={"time": "days"})
    (tmp_path / "t.txt").write_text("4\n")
    with pytest.raises(FileError, match="one label for each of the 2 samples"):
        read_table(tmp_path / "d.svm", columns={"time": str(tmp_path / "t.txt")})


WAVES = [850 + 2 * j for j in range(12)]


@pytest.mark.parametrize("names", [WAVES, WAVES[::-1], [f"{wave}.25" for wave in WAVES]])
def test_wavelengths_are_names(tmp_path, names):
    """Spectra would be refused as they come from instruments."""
    path = tmp_path / "s.csv"
    rows = [",".join(["22.5", *(f"{2 + j % 3}.5" for j in range(12))]) for _ in range(4)]
    path.write_text("\n".join([",".join(["fat", *map(str, names)]), *rows]) + "\n")
    table = read_table(path, "fat")
    assert table.feature_names == [str(name) for name in names]
    assert table.X.shape == (4, 12)
    (tmp_path / "x.csv").write_text(
        "\n".join(line.partition(",")[2] for line in path.read_text().splitlines()) + "\n"
    )
    table = read_table(tmp_path / "x.csv")
    assert table.feature_names == [str(name) for name in names]
    assert table.X.shape == (4, 12)
    text = path.read_text().replace("fat,", "sample,").replace("22.5,", "S1,")
    lines = text.splitlines()
    lines[2:] = [line.replace("S1", f"S{n}") for n, line in enumerate(lines[2:], 2)]
    path.write_text("\n".join(lines) + "\n")
    table = read_table(path, id="sample")
    assert table.sample_names == ["S1", "S2", "S3", "S4"]
    assert table.feature_names == [str(name) for name in names]


@pytest.mark.parametrize(
    "first",
    [
        "a,1,2,4,8,16,32,64,128,256",  # nine numbers that rise may be a sample
        "a,1,2,4,8,16,32,64,128,256,255",
        "a,1,1,2,4,8,16,32,64,128,256",
    ],
)
def test_a_line_that_may_be_a_sample_is_no_header(tmp_path, first):
    """A sample would be lost."""
    rest = ",".join(["b", *"5739173915"[: first.count(",")]])
    (tmp_path / "s.csv").write_text("\n".join([first, rest, rest]) + "\n")
    with pytest.raises(FileError, match="mixes names and numbers"):
        read_table(tmp_path / "s.csv", "0")


def as_npy(path, values):
    np.save(path, values)
    return path


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["mapped", "packed", "npz", "sparse", "labels", "h5", "array"])
def test_a_boolean_that_is_no_boolean_is_refused(tmp_path, order, kind):
    """A byte of 104 would be the number 104 here, and True in NumPy."""
    values = np.array([[1, 0], [0, 1], [1, 1]], bool, order=order)
    sound = values.copy(order="K")
    values.view(np.uint8)[2, 1] = 104
    labels = np.ascontiguousarray(values[:, 1])

    def read(X, y):
        if kind == "mapped":
            return read_table(as_npy(tmp_path / "x.npy", X)).X
        if kind == "packed":
            np.save(tmp_path / "x.npy", X)
            (tmp_path / "x.npy.gz").write_bytes(gzip.compress((tmp_path / "x.npy").read_bytes()))
            return read_table(tmp_path / "x.npy.gz").X
        if kind == "npz":
            np.savez(tmp_path / "x.npz", X=X)
            return read_table(tmp_path / "x.npz").X
        if kind == "sparse":
            full = sp.csr_array(np.ones_like(X))
            full.data = np.ascontiguousarray(X).ravel()
            sp.save_npz(tmp_path / "x.npz", full)
            return (
                as_design(full).gather(slice(None))
                if order == "F"
                else read_table(tmp_path / "x.npz").X
            )
        if kind == "labels":
            np.savez(tmp_path / "x.npz", X=np.eye(3), y=y)
            return read_table(tmp_path / "x.npz").y
        if kind == "h5":
            h5py = pytest.importorskip("h5py")
            with h5py.File(tmp_path / "x.h5", "w") as file:
                return as_design(file.create_dataset("X", data=X)).gather(slice(None))
        return as_design(X).gather(slice(None))

    read(sound, np.ascontiguousarray(sound[:, 1]))
    with pytest.raises(ValueError, match=r"must be stored as 0 or 1; got 104 at \(?[0-9]"):
        read(values, labels)
