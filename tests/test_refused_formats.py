"""Formats that zeronorm does not read: refused by name, with the way to convert them."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from zeronorm import write_store
from zeronorm.core.files import FileError
from zeronorm.io import read_table

VCF = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts0\n"
MARKET = "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 1.5\n2 2 2.5\n3 1 1.0E"


def readers(tmp_path):
    return (
        lambda path: read_table(path, "y"),
        lambda path: write_store(path, tmp_path / "x.zarr"),
    )


@pytest.mark.parametrize(
    "name", ["x.vcf", "X.VCF", "x.vcf.gz", "x.vcf.bgz", "x.vcf.zst", "x.vcf.xz"]
)
@pytest.mark.parametrize("text", [VCF, VCF + "1 10 rs1 A G . PASS . GT 0/0\n", VCF[:9], "\0" * 30])
def test_vcf_is_refused_by_name(tmp_path, name, text):
    """A genotype that is no genotype, or a blank for a tab, would end the process."""
    (tmp_path / name).write_text(text)
    message = r"(?i)vcf files are not read.*plink2 --vcf x.vcf.*--make-bed"
    for read in readers(tmp_path):
        with pytest.raises(FileError, match=message):
            read(tmp_path / name)
    assert not (tmp_path / "x.zarr").exists()


def test_bcf_and_several_files(tmp_path):
    """A pattern, a list or the binary form would get through to another reader."""
    (tmp_path / "chr1.vcf.gz").write_bytes(gzip.compress(VCF.encode()))
    (tmp_path / "chr2.vcf.gz").write_bytes(gzip.compress(VCF.encode()))
    (tmp_path / "x.bcf").write_bytes(gzip.compress(b"BCF\x02\x02" + bytes(9)))
    for read in readers(tmp_path):
        with pytest.raises(FileError, match=r"BCF files are not read.*plink2 --bcf x.bcf"):
            read(tmp_path / "x.bcf")
        with pytest.raises(FileError, match=r"chr1.vcf.gz: VCF files are not read"):
            read(tmp_path / "chr*.vcf.gz")
    with pytest.raises(FileError, match=r"chr1.vcf.gz: VCF files are not read"):
        write_store([tmp_path / "chr1.vcf.gz", tmp_path / "chr2.vcf.gz"], tmp_path / "x.zarr")


@pytest.mark.parametrize("name", ["x.mtx", "x.MTX", "x.mtx.gz", "x.mtx.bz2"])
@pytest.mark.parametrize("text", [MARKET, MARKET + "1\n", MARKET[:60], "1 2 3\n"])
def test_matrix_market_is_refused_by_name(tmp_path, name, text):
    """A number that is cut in its exponent would end the process."""
    (tmp_path / name).write_text(text)
    message = r'Matrix Market files are not read.*save_npz\("x.npz", scipy.io.mmread'
    for read in readers(tmp_path):
        with pytest.raises(FileError, match=message):
            read(tmp_path / name)


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x", "x.txt.gz"])
def test_content_tells_where_the_name_does_not(tmp_path, name):
    """A VCF file named .txt would be read as a table of one column."""
    for text, message in ((VCF, "VCF files are not read"), (MARKET, "Matrix Market files are not")):
        data = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        for read in readers(tmp_path):
            with pytest.raises(FileError, match=message):
                read(tmp_path / name)


def ten_x(tmp_path):
    """Write a folder of 10x Genomics as text: genes in rows, cells in columns."""
    X = sp.random_array((9, 15), density=0.3, rng=np.random.default_rng(0))
    folder = tmp_path / "filtered_feature_bc_matrix"
    folder.mkdir()
    scipy.io.mmwrite(folder / "matrix.mtx", X)
    (folder / "matrix.mtx.gz").write_bytes(gzip.compress((folder / "matrix.mtx").read_bytes()))
    (folder / "matrix.mtx").unlink()
    for name, lines in (
        ("features", [f"ENS{j}\tgene{j}\tGene Expression\n" for j in range(9)]),
        ("barcodes", [f"AC{i}-1\n" for i in range(15)]),
    ):
        (folder / f"{name}.tsv.gz").write_bytes(gzip.compress("".join(lines).encode()))
    return folder, X.toarray().T


def test_a_folder_of_10x_is_refused_by_name(tmp_path):
    """Genes would be taken for cells, or the user not be told of the .h5 file next to it."""
    folder, _ = ten_x(tmp_path)
    message = r"10x Genomics as text.*filtered_feature_bc_matrix.h5.*write_h5ad"
    for path in (folder, folder / "matrix.mtx.gz"):
        for read in readers(tmp_path):
            with pytest.raises(FileError, match=message):
                read(path)


def test_the_recipe_for_10x(tmp_path, monkeypatch):
    """The lines in docs/guide/cells.md would fail, or exchange genes and cells."""
    pytest.importorskip("anndata")
    _, X = ten_x(tmp_path)
    page = Path(__file__).parents[1] / "docs" / "guide" / "cells.md"
    lines = page.read_text().split("<!-- 10x as text -->\n")[1].split("```")[1]
    monkeypatch.chdir(tmp_path)
    exec(compile(lines.removeprefix("python\n"), "cells.md", "exec"), {})
    table = read_table("cells.h5ad")
    np.testing.assert_allclose(table.X.gather(slice(0, 9)).toarray(), X)
    assert (table.feature_names[2], table.sample_names[3]) == ("ENS2", "AC3-1")


def test_the_recipe_for_matrix_market(tmp_path):
    """The line in the message would write a file that zeronorm does not read."""
    X = sp.random_array((9, 15), density=0.3, rng=np.random.default_rng(0))
    scipy.io.mmwrite(tmp_path / "x.mtx", X)
    sp.save_npz(tmp_path / "x.npz", scipy.io.mmread(tmp_path / "x.mtx").tocsr())
    np.testing.assert_allclose(read_table(tmp_path / "x.npz").X.toarray(), X.toarray())
    assert write_store(tmp_path / "x.npz", tmp_path / "x.zarr").shape == X.shape


def test_a_command_says_it_too(fails, tmp_path):
    """A user of the command would see the message of another reader."""
    (tmp_path / "x.vcf").write_text(VCF)
    assert "plink2 --vcf x.vcf" in fails("select", tmp_path / "x.vcf", "--target", "y", "-k", 2)
    assert "plink2 --vcf x.vcf" in fails("convert", tmp_path / "x.vcf", tmp_path / "x.zarr")
    assert "plink2 --vcf x.vcf" in fails("info", tmp_path / "x.vcf")


@pytest.mark.parametrize("name", ["x.loom", "x.h5"])
def test_loom_is_refused_by_name_and_by_content(tmp_path, name):
    """Genes would be samples: loom has them in rows."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / name, "w") as file:
        file["matrix"] = np.ones((3, 5))
        for group in ("row_attrs", "col_attrs"):
            file.create_group(group)
    with pytest.raises(FileError, match=r"genes in rows, are not read.*read_loom\(\"x\.(loom|h5)"):
        read_table(tmp_path / name)
