"""CSV as a store, by way of the disk: the same bits as in memory, in bounded memory."""

import gzip
import signal
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from zeronorm import write_store
from zeronorm.core.files import FileError
from zeronorm.data import as_design
from zeronorm.io import delimited as _fast_delimited
from zeronorm.io import read_table
from zeronorm.io import source as _spill
from zeronorm.io.store import writing as _convert
from zeronorm.io.store import writing as _writing
from zeronorm.io.store.sources import StoredByRow, open_source


def write(path, n, p, seed=0):
    """Write numbers of many digits with a target, a time and names of samples, in parts."""
    rng = np.random.default_rng(seed)
    mark = "\t" if ".tsv" in path.name else ","
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt") as stream:
        print("", *(f"g{j}" for j in range(p)), "kind", "days", sep=mark, file=stream)
        for i in range(n):
            row = rng.standard_normal(p).tolist()
            print(f"s{i}", *row, "ab"[i % 2], i + 0.5, sep=mark, file=stream)
    return path


@pytest.fixture
def small_parts(monkeypatch):
    """Text in parts of a few rows, blocks of a few columns."""
    monkeypatch.setattr(_fast_delimited, "PART", 20_000)
    monkeypatch.setattr(_writing, "BLOCK_BYTES", 20_000)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
def test_text_by_way_of_the_disk_has_the_same_bits(tmp_path, small_parts, name):
    """A model of the store would be another than that of the text."""
    path = write(tmp_path / name, 150, 90)
    table = read_table(path, "kind", columns={"days": "days"})
    made = write_store(path, tmp_path / "x.zarr", target="kind", keep=["days"], memory=1 << 20)
    assert (made.shape, made.dtype) == ((150, 90), "float64")
    found = read_table(tmp_path / "x.zarr", "kind", columns={"days": "days"})
    np.testing.assert_array_equal(found.X.gather(slice(None)), table.X)
    np.testing.assert_array_equal(found.y, table.y)
    np.testing.assert_array_equal(found.columns["days"], table.columns["days"])
    assert found.feature_names == table.feature_names
    assert list(found.sample_names) == list(table.sample_names)
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([name, "x.zarr"])


@pytest.mark.parametrize("odd", ["nan", "word", '"1\n"'])
def test_odd_fields_are_told_as_before(tmp_path, small_parts, odd):
    """A field in the middle of a large file would be read as a number, or leave a file behind."""
    path = write(tmp_path / "t.csv", 150, 90)
    lines = path.read_text().split("\n")
    fields = lines[100].split(",")
    fields[5] = odd
    lines[100] = ",".join(fields)
    path.write_text("\n".join(lines))
    if odd.startswith('"'):  # text that only the careful reader knows
        wanted = read_table(path, "kind", drop=["days"]).X
        write_store(path, tmp_path / "x.zarr", target="kind", drop=["days"])
        found = as_design(tmp_path / "x.zarr").gather(slice(None))
        np.testing.assert_array_equal(found, wanted)
        return
    with pytest.raises(FileError, match="line 101: ") as wanted:
        read_table(path, "kind", drop=["days"])
    with pytest.raises(FileError) as found:
        write_store(path, tmp_path / "x.zarr", target="kind", drop=["days"])
    assert str(found.value) == str(wanted.value)
    assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.slow
def test_a_killed_conversion_of_text_goes_on(tmp_path, small_parts):
    """A file without a name would stay, or the columns before the end would be lost."""
    path = write(tmp_path / "t.csv", 150, 90)
    code = f"""
import os, signal
from zeronorm import write_store
from zeronorm.io.store import writing
writing.BLOCK_BYTES = 20_000
writing.DenseWriter.end = lambda self, first, memory: min(first + self._width, 90)
write_store({str(path)!r}, {str(tmp_path / "x.zarr")!r}, target="kind", drop=["days"],
        progress=lambda done, all: done > 40 and os.kill(os.getpid(), signal.SIGKILL))
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False)
    assert ended.returncode == -signal.SIGKILL
    left = sorted(one.name for one in tmp_path.iterdir())
    assert left == ["t.csv", "x.zarr" + _convert.PARTIAL]
    made = write_store(path, tmp_path / "x.zarr", target="kind", drop=["days"])
    assert made.resumed > 40
    wanted = read_table(path, "kind", drop=["days"])
    np.testing.assert_array_equal(as_design(made.path).gather(slice(None)), wanted.X)


def test_a_full_disk_is_told(tmp_path, small_parts, monkeypatch):
    """The name of no file, and no remedy, would be said of numbers that find no room."""
    path = write(tmp_path / "t.csv", 150, 90)
    monkeypatch.setattr(  # no byte can be written to a file that is open for reading
        _spill.tempfile, "TemporaryFile", lambda **_: path.open("rb", buffering=0)
    )
    with pytest.raises(FileError, match=r"cannot be kept there .* beyond 0 MB .* another disk"):
        write_store(path, tmp_path / "x.zarr", target="kind", drop=["days"])
    assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("kind", ["float32", "int8", "bool"])
def test_arrays_by_row_are_read_by_slabs_of_rows(tmp_path, monkeypatch, kind):
    """Rows at the end of a slab would be lost, or columns of another block taken."""
    monkeypatch.setattr(StoredByRow, "_SLAB", 300)
    monkeypatch.setattr(_writing, "BLOCK_BYTES", 2000)
    X = np.random.default_rng(0).integers(0, 2, (70, 41)).astype(kind)
    np.save(tmp_path / "x.npy", X)
    made = write_store(tmp_path / "x.npy", tmp_path / "x.zarr", memory=1 << 20)
    found = open_source(tmp_path / "x.npy", None, None, (), (), None, None, None, None, tmp_path)
    assert isinstance(found.matrix, StoredByRow)
    assert made.shape == (70, 41)
    np.testing.assert_array_equal(as_design(made.path).gather(slice(None)), X)


@pytest.mark.slow
def test_text_larger_than_its_memory(tmp_path, monkeypatch):
    """A table larger than memory would end the process."""
    monkeypatch.setattr(_writing, "BLOCK_BYTES", 8 << 20)
    n, p, memory = 2600, 4000, 8 << 20
    path = write(tmp_path / "t.csv", n, p)
    assert path.stat().st_size > 190 << 20
    tracemalloc.start()
    write_store(path, tmp_path / "x.zarr", target="kind", drop=["days"], memory=memory)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < memory + (48 << 20) < 8 * n * p
    design = as_design(tmp_path / "x.zarr")
    some = np.array([0, 1777, p - 1])
    row = np.random.default_rng(0).standard_normal(p)
    np.testing.assert_array_equal(design.gather(some)[0], row[some])


def test_a_table_with_the_name_of_a_format_within_its_own_is_a_table(tmp_path):
    """A table of sites, named counts.vcf.csv, would be taken for genotypes."""
    path = tmp_path / "counts.vcf.csv"
    path.write_text("a,b,y\n" + "".join(f"{i},{i % 3},{i % 2}\n" for i in range(9)))
    assert read_table(path, "y").X.shape == (9, 2)
    with pytest.raises(FileError, match="VCF files are not read"):
        read_table(path.rename(tmp_path / "counts.vcf"), "y")
