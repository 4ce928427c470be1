"""Stores of .pgen and BGEN: what a column counts, what is missing, and what is refused."""

import importlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from plink import draw, imputed, write_plink
from zeronorm import BudgetRegressor, read_plink, write_store
from zeronorm.core.files import FileError
from zeronorm.data import as_design
from zeronorm.io import read_table
from zeronorm.io.store import sources as _genotypes
from zeronorm.io.store import writing as _convert

DATA = Path(os.environ.get("ZERONORM_DATA", "/nonexistent")) / "plink_example" / "regenie"
LIBRARIES = {".pgen": "pgenlib", ".bgen": "bgen"}


def write_bgen(path, copies):
    bgen = importlib.import_module("bgen")
    samples = [f"S{i}" for i in range(len(copies))]
    writer = bgen.BgenWriter(str(path), len(copies), samples=samples, layout=2)
    chances = {-1: [np.nan] * 3, 0: [0, 0, 1], 1: [0, 1, 0], 2: [1, 0, 0]}  # of the first allele
    for j, column in enumerate(copies.T):
        values = np.array([chances[int(c)] for c in column], float)
        writer.add_variant(f"v{j}", f"rs{j}", "1", 100 + j, ["A", "G"], values)
    writer.close()


def write_pgen(path, copies, dosages=False):
    pgenlib = importlib.import_module("pgenlib")
    n, p = copies.shape
    writer = pgenlib.PgenWriter(bytes(path), n, p, nonref_flags=False, dosage_present=dosages)
    for column in copies.T:
        if dosages:
            writer.append_dosages(np.where(np.isnan(column), -9, column).astype(np.float32))
        else:
            writer.append_biallelic(np.where(column < 0, -9, column).astype(np.int8))
    writer.close()
    lines = "".join(f"1\t{100 + j}\trs{j}\tG\tA\n" for j in range(p))
    path.with_suffix(".pvar").write_text("##note\n#CHROM\tPOS\tID\tREF\tALT\n" + lines)
    lines = "".join(f"F{i}\tS{i}\t1\t{i / 2}\n" for i in range(n))
    path.with_suffix(".psam").write_text("#FID\tIID\tSEX\ty\n" + lines)


WRITERS = {".pgen": write_pgen, ".bgen": write_bgen}


@pytest.fixture(params=WRITERS)
def suffix(request):
    pytest.importorskip(LIBRARIES[request.param])
    return request.param


def values_of(store):
    return as_design(store).gather(slice(None))


def test_a_store_has_what_a_bed_file_has(tmp_path, suffix):
    """Another allele would be counted, or missing genotypes taken for none."""
    copies = draw(37, 23)
    path = tmp_path / f"x{suffix}"
    WRITERS[suffix](path, copies)
    made = write_store(path, tmp_path / "x.zarr")
    assert (made.shape, made.dtype, made.is_sparse) == ((37, 23), "float32", False)
    missing = copies < 0
    assert (
        f"{missing.sum()} missing values of {missing.any(axis=0).sum()} columns are the means of "
        "their columns"
    ) in made.notes
    known = read_plink(write_plink(tmp_path / "known", copies))
    np.testing.assert_array_equal(values_of(tmp_path / "x.zarr"), imputed(copies))
    np.testing.assert_array_equal(values_of(tmp_path / "x.zarr"), known.X.gather(slice(None)))
    table = read_table(tmp_path / "x.zarr")
    assert table.feature_names == known.X.feature_names
    assert table.sample_names == known.samples["name"].tolist()


def test_blocks_and_what_was_ended_are_gone_on_with(tmp_path, suffix, monkeypatch):
    """A later block would begin at the wrong variant, or means be counted twice."""
    copies = draw(20, 60, missing=0.1)
    path = tmp_path / f"x{suffix}"
    WRITERS[suffix](path, copies)
    monkeypatch.setattr(_convert.DenseWriter, "end", lambda self, first, _: min(first + 7, 60))
    monkeypatch.setattr("zeronorm.io.store.writing.BLOCK_BYTES", 7 * 20 * 4)

    def stops(done, _):
        if done == 21:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(path, tmp_path / "x.zarr", progress=stops)
    assert not (tmp_path / "x.zarr").exists()
    made = write_store(path, tmp_path / "x.zarr")
    assert made.resumed == 21
    assert f"{(copies < 0).sum()} missing values" in made.notes[-1]
    np.testing.assert_array_equal(values_of(tmp_path / "x.zarr"), imputed(copies))


def test_memory_is_that_of_a_block(tmp_path, suffix):
    """A file larger than memory would be read as a whole."""
    path = tmp_path / f"x{suffix}"
    WRITERS[suffix](path, draw(20, 60))
    matrix, *_ = _genotypes.open_genotypes(path, ())
    assert matrix.end(0, 8 * 20 * 5) == 5
    assert matrix.end(58, 8 * 20 * 5) == 60
    assert matrix.end(3, 1) == 4
    whole = matrix.columns(0, 60)
    for first, last in ((50, 60), (3, 10), (10, 12)):  # back, and on
        np.testing.assert_array_equal(matrix.columns(first, last), whole[:, first:last])


@pytest.mark.parametrize(("name", "bed"), [
    ("example.pgen", "example"), ("example.bgen", "example"),
    ("example_3chr.bgen", "example_3chr"), ("example_3chr_zstd.bgen", "example_3chr"),
])  # fmt: skip
@pytest.mark.skipif(not DATA.exists(), reason="needs plink_example of ZERONORM_DATA")
def test_files_of_others_are_their_bed_files(tmp_path, name, bed):
    """A selection from another format of the same data would be another one."""
    pytest.importorskip(LIBRARIES[Path(name).suffix])
    made = write_store(DATA / name, tmp_path / "x.zarr")
    known = read_plink(DATA / bed)
    assert made.shape == known.X.shape
    table = read_table(tmp_path / "x.zarr")
    assert table.feature_names == known.X.feature_names
    np.testing.assert_array_equal(values_of(tmp_path / "x.zarr"), known.X.gather(slice(None)))
    y = known.X.gather([3, 100, 200]) @ [1.0, -2.0, 1.5] + known.phenotype
    one = BudgetRegressor(5).fit(known.X, y)
    other = BudgetRegressor(5).fit(str(tmp_path / "x.zarr"), y)
    assert one.support_.tolist() == other.support_.tolist()
    assert one.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()


@pytest.mark.skipif(not DATA.exists(), reason="needs plink_example of ZERONORM_DATA")
def test_the_command_keeps_columns_of_the_samples(run, tmp_path):
    """A phenotype that stands beside the genotypes would have to be joined by hand."""
    pytest.importorskip("pgenlib")
    out = run("convert", DATA / "example.pgen", "x.zarr", "--target", "PHENO1", "--quiet")
    assert "dosage of ALT" in " ".join(out.stdout.split())
    known = read_plink(DATA / "example").phenotype
    np.testing.assert_allclose(read_table("x.zarr", "PHENO1").y, known, rtol=1e-5)
    options = ("-k", 3, "--C", 0.1, "--no-cv", "--no-save", "--quiet", "--json")
    found, wanted = (
        json.loads(run("select", data, *target, *options).stdout)
        for data, target in (("x.zarr", ("--target", "PHENO1")), (DATA / "example.bed", ()))
    )
    chosen = [
        [one["name"] for one in document["models"][0]["features"]] for document in (found, wanted)
    ]
    assert len(chosen[0]) == 3
    assert chosen[0] == chosen[1]


def test_dosages_of_pgen(tmp_path):
    """Dosages would be read as the calls that they are nearest to."""
    pytest.importorskip("pgenlib")
    dosages = np.round(np.random.default_rng(0).uniform(0, 2, (30, 9)) * 64) / 64
    dosages[4, 2] = np.nan
    write_pgen(tmp_path / "x.pgen", dosages, dosages=True)
    write_store(tmp_path / "x.pgen", tmp_path / "x.zarr", target="y", keep=["SEX"])
    found = values_of(tmp_path / "x.zarr")
    there = ~np.isnan(dosages)
    np.testing.assert_allclose(found[there], dosages[there], atol=1e-4)
    assert found[4, 2] == pytest.approx(np.nanmean(dosages[:, 2]), abs=1e-4)
    table = read_table(tmp_path / "x.zarr", "y")
    assert table.y.tolist() == [i / 2 for i in range(30)]


def test_phased_and_haploid_bgen(tmp_path):
    """Chances of haplotypes would be read as those of genotypes."""
    bgen = pytest.importorskip("bgen")
    path, nan = tmp_path / "x.bgen", np.nan
    writer = bgen.BgenWriter(str(path), 3, samples=["a", "b", "c"], layout=2)
    one = np.array([[0.2, 0.8, 0.4, 0.6], [0, 1, 0, 1], [1, 0, 0, 1]])
    two = np.array([[0.2, 0.8, nan], [0, 1, 0], [1, 0, 0]])
    three = np.array([[0.2, 0.8, nan, nan], [nan] * 4, [1, 0, 0, 1]])
    haploid = np.array([1, 2, 2], np.uint8)
    alleles = ["A", "G"]
    for values, ploidy, phased in ((one, 2, True), (two, haploid, False), (three, haploid, True)):
        writer.add_variant(
            "v", "", "X", 5, alleles, values, ploidy=ploidy, phased=phased, bit_depth=16
        )
    writer.close()
    made = write_store(path, tmp_path / "x.zarr")
    wanted = [[0.6, 0.4, 0.4], [0.0, 1.0, 0.7], [1.0, 2.0, 1.0]]
    np.testing.assert_allclose(values_of(tmp_path / "x.zarr"), wanted, atol=1e-4)
    assert "1 missing values of 1 columns" in made.notes[-1]


def test_whole_calls_fit_into_small_integers(tmp_path, suffix):
    """A store would be four times as large as it must."""
    copies = draw(20, 8, missing=0)[:, :-1]
    path = tmp_path / f"x{suffix}"
    WRITERS[suffix](path, copies)
    assert write_store(path, tmp_path / "x.zarr", dtype="int8").dtype == "int8"
    np.testing.assert_array_equal(values_of(tmp_path / "x.zarr"), copies)


def test_cut_files(tmp_path, suffix):
    """The last variants would be lost in silence."""
    path = tmp_path / f"x{suffix}"
    WRITERS[suffix](path, draw(50, 40))
    whole = path.read_bytes()
    for size in (len(whole) - 5, len(whole) - 3, len(whole) // 2, 30, 3, 0):
        path.write_bytes(whole[:size])
        with pytest.raises(FileError, match=r"x\.(pgen|bgen)"):
            write_store(path, tmp_path / "x.zarr")
    path.write_bytes(b"something else\n" * 20)
    with pytest.raises(FileError, match="not readable as"):
        write_store(path, tmp_path / "x.zarr")
    with pytest.raises(FileError, match="no such file"):
        write_store(tmp_path / f"none{suffix}", tmp_path / "x.zarr")


def test_a_missing_library_is_named(tmp_path, monkeypatch, suffix):
    """A user would see an ImportError, and not how to go on."""
    path = tmp_path / f"x{suffix}"
    WRITERS[suffix](path, draw(5, 4))
    monkeypatch.setitem(sys.modules, LIBRARIES[suffix], None)
    with pytest.raises(FileError, match=r"pip install 'zeronorm\[genotypes\]'"):
        write_store(path, tmp_path / "x.zarr")


def test_files_that_do_not_belong_together(tmp_path):
    """Variants or samples would have the names of others."""
    pytest.importorskip("pgenlib")
    path = tmp_path / "x.pgen"
    write_pgen(path, draw(5, 4))
    text = path.with_suffix(".pvar").read_text()
    path.with_suffix(".pvar").write_text(text + "1\t9\trs9\tG\tA\n")
    with pytest.raises(FileError, match=r"5 samples and 4 variants, but 5 in \.psam and 5 in"):
        write_store(path, tmp_path / "x.zarr")
    for wrong, message in ((text[:-3], "line 6: 5 columns expected; got 4"),
                           (text.replace("G\tA", "G\tA,T"), "has 3 alleles"),
                           (text.replace("103", "x"), "must be a whole number"),
                           (text.replace("#CHROM", "CHROM"), "#CHROM is not there")):  # fmt: skip
        path.with_suffix(".pvar").write_text(wrong)
        with pytest.raises(FileError, match=message):
            write_store(path, tmp_path / "x.zarr")
    path.with_suffix(".pvar").write_text(text)
    known = path.with_suffix(".psam").read_text()
    path.with_suffix(".psam").write_text(known + "F0\tS0\t1\t1\n")
    with pytest.raises(FileError, match="'F0_S0' is there 2 times"):
        write_store(path, tmp_path / "x.zarr")
    path.with_suffix(".psam").write_text(known.replace("0.5", "NA"))
    with pytest.raises(FileError, match="'y' is missing in sample 2"):
        write_store(path, tmp_path / "x.zarr", target="y")
    with pytest.raises(FileError, match=r"no column 'z'.*'y'"):
        write_store(path, tmp_path / "x.zarr", target="z")
    for options in ({"id": "IID"}, {"drop": ["rs1"]}, {"layer": "DS"}):
        with pytest.raises(FileError, match="leave out"):
            write_store(path, tmp_path / "x.zarr", **options)


def test_a_list_of_variants_that_changes_begins_anew(tmp_path, monkeypatch):
    """Names of a new list would stand over the columns of an old one."""
    pytest.importorskip("pgenlib")
    path = tmp_path / "x.pgen"
    write_pgen(path, draw(5, 4))

    def grows(*_):
        with path.with_suffix(".psam").open("a") as file:
            file.write("\n")

    with pytest.raises(FileError, match="has changed while it was read"):
        write_store(path, tmp_path / "x.zarr", progress=grows)


def test_a_selection_says_that_a_store_comes_first(fails, tmp_path, suffix):
    """A user would be told that the file is of an unknown kind."""
    path = tmp_path / f"x{suffix}"
    WRITERS[suffix](path, draw(5, 4))
    assert "zeronorm convert" in fails("select", path, "--target", "y", "-k", 2)


def test_several_files_are_one_by_chromosome(tmp_path, suffix, monkeypatch):
    """chr10 would come before chr2, or a block over two files be read from one of them."""
    copies = draw(20, 60, missing=0.1)
    for number, part in ((1, copies[:, :13]), (2, copies[:, 13:40]), (10, copies[:, 40:])):
        WRITERS[suffix](tmp_path / f"chr{number}{suffix}", part)
    monkeypatch.setattr(_convert.DenseWriter, "end", lambda self, first, _: min(first + 7, 60))
    monkeypatch.setattr("zeronorm.io.store.writing.BLOCK_BYTES", 7 * 20 * 4)

    def stops(done, _):
        if done == 21:
            raise KeyboardInterrupt

    pattern = tmp_path / f"chr*{suffix}"
    with pytest.raises(KeyboardInterrupt):
        write_store(pattern, tmp_path / "x.zarr", progress=stops)
    made = write_store(pattern, tmp_path / "x.zarr")
    assert (made.resumed, made.shape) == (21, (20, 60))
    np.testing.assert_array_equal(values_of(tmp_path / "x.zarr"), imputed(copies))
    listed = [tmp_path / f"chr{number}{suffix}" for number in (1, 2, 10)]
    write_store(listed, tmp_path / "y.zarr")
    assert read_table(tmp_path / "y.zarr").feature_names == (
        read_table(tmp_path / "x.zarr").feature_names
    )
    np.testing.assert_array_equal(values_of(tmp_path / "y.zarr"), imputed(copies))


@pytest.mark.skipif(not DATA.exists(), reason="needs the example of PLINK")
def test_parts_of_a_file_are_the_whole(run, tmp_path):
    """A store of chromosomes would not be the store of all, or lose a column of the samples."""
    pgenlib = pytest.importorskip("pgenlib")
    whole = DATA / "example.pgen"
    reader = pgenlib.PgenReader(bytes(whole))
    n, p = reader.get_raw_sample_ct(), reader.get_variant_ct()
    lines = whole.with_suffix(".pvar").read_text().splitlines(keepends=True)
    header, rows = lines[:-p], lines[-p:]
    for number, (first, last) in ((2, (0, p // 3)), (10, (p // 3, p))):
        path = tmp_path / f"chr{number}.pgen"
        writer = pgenlib.PgenWriter(
            bytes(path), n, last - first, nonref_flags=False, dosage_present=True
        )
        for j in range(first, last):
            column = np.empty(n, np.float32)
            reader.read_dosages(j, column)
            writer.append_dosages(column)
        writer.close()
        path.with_suffix(".pvar").write_text("".join(header + rows[first:last]))
        path.with_suffix(".psam").write_bytes(whole.with_suffix(".psam").read_bytes())
    options = ("--target", "PHENO1", "--quiet")
    run("convert", tmp_path / "chr*.pgen", tmp_path / "parts.zarr", *options)
    run("convert", whole, tmp_path / "whole.zarr", *options)
    parts, known = (read_table(tmp_path / f"{one}.zarr", "PHENO1") for one in ("parts", "whole"))
    assert values_of(tmp_path / "parts.zarr").tobytes() == (
        values_of(tmp_path / "whole.zarr").tobytes()
    )
    assert (parts.feature_names, parts.sample_names) == (known.feature_names, known.sample_names)
    np.testing.assert_array_equal(parts.y, known.y)


def test_several_files_that_do_not_fit(tmp_path):
    """Rows of one person would be put beside those of another."""
    pytest.importorskip("pgenlib")
    for name, rows in (("a", 9), ("b", 8), ("c", 9)):
        write_pgen(tmp_path / f"{name}.pgen", draw(rows, 4))
    a, b, c = (tmp_path / f"{name}.pgen" for name in "abc")
    psam = c.with_suffix(".psam")
    psam.write_text(psam.read_text().replace("S3\t", "T3\t"))
    store = tmp_path / "x.zarr"
    with pytest.raises(FileError, match=r"b.pgen: 8 samples, but 9 in .*a.pgen. All files must"):
        write_store([a, b], store)
    with pytest.raises(FileError, match=r"c.pgen: sample 4 is 'T3', but 'S3' in .*a.pgen. All"):
        write_store([a, c], store)
    with pytest.raises(FileError, match=r"must all be .pgen or all .bgen"):
        write_store([a, tmp_path / "x.bgen"], store)
    with pytest.raises(ValueError, match=r"must name every file once; got .*a.pgen twice"):
        write_store([a, a], store)
    with pytest.raises(FileError, match=r"z\*.pgen: no such files"):
        write_store(tmp_path / "z*.pgen", store)
    assert not store.exists()


def test_samples_that_one_file_does_not_name(tmp_path):
    """Nothing would say that rows of two files are the same people."""
    bgen = pytest.importorskip("bgen")
    write_bgen(tmp_path / "a.bgen", draw(5, 3))
    writer = bgen.BgenWriter(str(tmp_path / "b.bgen"), 5, samples=None, layout=2)
    writer.add_variant("w0", "rt0", "2", 100, ["A", "G"], np.tile([0.0, 1.0, 0.0], (5, 1)))
    writer.close()
    for paths in (["a.bgen", "b.bgen"], ["b.bgen", "a.bgen"]):
        with pytest.raises(FileError, match=r"its samples have .*names, and those of"):
            write_store([tmp_path / name for name in paths], tmp_path / "x.zarr")


def test_a_compressed_list_of_variants(tmp_path):
    """The .pvar.zst that PLINK 2 writes would not be found, or not be read as the plain one."""
    pytest.importorskip("pgenlib")
    zstandard = pytest.importorskip("zstandard")
    copies = draw(12, 9)
    write_pgen(tmp_path / "x.pgen", copies)
    write_store(tmp_path / "x.pgen", tmp_path / "plain.zarr")
    plain = tmp_path / "x.pvar"
    packed = zstandard.ZstdCompressor().compress(plain.read_bytes())
    (tmp_path / "x.pvar.zst").write_bytes(packed)
    plain.unlink()
    write_store(tmp_path / "x.pgen", tmp_path / "packed.zarr")
    np.testing.assert_array_equal(values_of(tmp_path / "packed.zarr"), imputed(copies))
    names = [read_table(tmp_path / f"{one}.zarr").feature_names for one in ("plain", "packed")]
    assert names[0] == names[1]
