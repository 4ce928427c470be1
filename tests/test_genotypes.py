"""Genotypes in two bits: kernels, files of PLINK, filters, and what estimators make of them."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_val_score

import reference_kernels as reference
from plink import draw, imputed, write_plink
from zeronorm import BudgetClassifier, BudgetRegressor, cross_validate, read_plink
from zeronorm._kernels import FLOAT32_SCAN_ERROR
from zeronorm._kernels import _native as native
from zeronorm.core.files import FileError, MissingFileError
from zeronorm.data import Beside, Rows, Scaled
from zeronorm.data.genotypes import Genotypes, packed_rows
from zeronorm.io.opening import as_design

# Around the widths of the loops: bytes of 4, words of 32, runs of 256 genotypes.
ROWS = (1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 255, 256, 257, 300, 4099)
DATA = Path(os.environ.get("ZERONORM_DATA", "/nonexistent"))
with_plink_data = pytest.mark.skipif(
    not (DATA / "plink_example").exists(), reason="needs the genotype files of ZERONORM_DATA"
)


def random_bytes(n, p, seed=0):
    """(packed, index, values) of p columns, in another order than in the file."""
    rng = np.random.default_rng(seed)
    packed = rng.integers(0, 256, (p + 3, (n + 3) // 4), dtype=np.uint8)
    index = rng.permutation(p + 3)[:p]
    return packed, index, rng.standard_normal((p, 4)).astype(np.float32)


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("m", [0, 1, 2, 3, 4, 7])
def test_products_are_those_of_the_twin(n, m):
    """A score would be of other genotypes at the end of a byte, word or run."""
    packed, index, values = random_bytes(n, 9)
    v = np.random.default_rng(1).standard_normal((n, m))
    out, twin, several = (np.full((9, m), np.nan) for _ in range(3))
    native.genotypes_correlate(packed, index, values, v, out, 1)
    native.genotypes_correlate(packed, index, values, v, several, 7)
    reference.genotypes_correlate(packed, index, values, v, twin, 1)
    x = np.empty((9, n))
    reference.genotypes_gather(packed, index, values, x, 1)
    size = np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(v, axis=0))
    assert np.all(np.abs(out - twin) <= FLOAT32_SCAN_ERROR * size)
    assert np.array_equal(out, several)
    for k in range(m):  # alone a vector has the same bits
        one = np.empty((9, 1))
        native.genotypes_correlate(packed, index, values, v[:, k : k + 1].copy(), one, 1)
        assert np.array_equal(one[:, 0], out[:, k])
    for j in range(9):  # and so has a column
        own = np.empty((1, m))
        native.genotypes_correlate(packed, index[j : j + 1], values[j : j + 1], v, own, 1)
        assert np.array_equal(own[0], out[j])


@pytest.mark.parametrize("n", ROWS)
def test_other_kernels_are_their_twins(n):
    """Means, scalings and gathered columns would be of other genotypes."""
    packed, index, values = random_bytes(n, 6)
    rng = np.random.default_rng(2)
    weight = rng.uniform(0, 2, n)
    sums = [[np.empty(6), np.empty(6)] for _ in range(2)]
    columns = [np.empty((6, n)) for _ in range(2)]
    counts = [np.empty((6, 4), np.int64) for _ in range(2)]
    chosen = rng.random(n) < 0.6
    for kernels, moments, gathered, count in zip(
        (native, reference), sums, columns, counts, strict=True
    ):
        kernels.genotypes_moments(packed, index, values, weight, *moments, 3)
        kernels.genotypes_gather(packed, index, values, gathered, 3)
        kernels.genotypes_count(packed, index, packed_rows(chosen), count, 3)
    assert np.allclose(sums[0], sums[1], rtol=1e-12, atol=1e-12 * n)
    assert np.array_equal(*columns)
    assert np.array_equal(*counts)
    assert np.array_equal(counts[0].sum(axis=1), np.full(6, chosen.sum()))


@pytest.mark.parametrize("coding", ["additive", "dominant", "recessive"])
@pytest.mark.parametrize("n", [1, 3, 4, 37])
@pytest.mark.parametrize("padding", [0b00, 0b01, 0b11])
def test_values_of_a_file(tmp_path, coding, n, padding):
    """A genotype would be another number than its copies, or padding be counted."""
    copies = draw(n, 7)
    meaning = {"additive": (0, 1, 2), "dominant": (0, 1, 1), "recessive": (0, 0, 1)}[coding]
    found = read_plink(write_plink(tmp_path / "x", copies, padding=padding), coding=coding)
    twin = imputed(copies, meaning)
    assert np.array_equal(found.X.gather(slice(None)), twin)
    total, square = found.X.moments(np.ones(n), 0, 7)
    assert np.allclose(total, twin.sum(axis=0))
    assert np.allclose(square, (twin**2).sum(axis=0))
    counts = np.stack([(copies == c).sum(axis=0) for c in (2, 1, 0, -1)], axis=1)
    assert np.array_equal(found.X.counts(), counts)


@pytest.mark.parametrize("budget", [1, 4])
def test_models_are_those_of_the_matrix(tmp_path, budget):
    """Selecting from a file would be another selection than from its numbers."""
    copies = draw(200, 60, missing=0.03)
    twin = imputed(copies)
    rng = np.random.default_rng(0)
    y = twin[:, [3, 17, 40]] @ [1.0, -2.0, 1.5] + rng.standard_normal(200)
    path = write_plink(tmp_path / "x", copies, y)
    weight = rng.uniform(0.5, 2, 200)
    for model, target in (
        (BudgetRegressor(budget), y),
        (BudgetClassifier(budget, calibrate=False), y > y.mean()),
    ):
        for extra in ({}, {"sample_weight": weight}):
            expected = model.fit(twin, target, **extra)
            support, coef, scores = model.support_, model.coef_, model.predict(twin)
            gap = model.gap_
            expected.fit(path, target, **extra)
            assert np.array_equal(model.support_, support)
            np.testing.assert_allclose(model.coef_, coef, rtol=1e-5, atol=1e-8)
            np.testing.assert_allclose(model.gap_, gap, rtol=1e-3, atol=1e-5)
            np.testing.assert_allclose(model.predict(path), scores, rtol=1e-5, atol=1e-6)
            names = [f"rs{j}_A" for j in support]
            assert model.get_feature_names_out().tolist() == names


def test_files_of_chromosomes_are_one_set(tmp_path):
    """Variants would be lost, or come in the order of text: 10 before 2."""
    copies = draw(30, 24)
    for number, part in (("1", slice(0, 7)), ("2", slice(7, 8)), ("10", slice(8, 24))):
        write_plink(tmp_path / f"chr{number}", copies[:, part], first=part.start)
    whole = read_plink(tmp_path / "chr*.bed")
    assert whole.variants["name"].tolist() == [f"rs{j}" for j in range(24)]
    assert isinstance(whole.X, Beside)
    assert np.array_equal(whole.X.gather(slice(None)), imputed(copies))
    some = read_plink(tmp_path / "chr*.bed", variants=["rs3", "rs20"])
    assert np.array_equal(some.X.gather(slice(None)), imputed(copies)[:, [3, 20]])
    order = [tmp_path / f"chr{number}.bed" for number in (10, 1)]
    listed = read_plink(order).X.gather(slice(None))
    assert np.array_equal(listed, imputed(copies)[:, [*range(8, 24), *range(7)]])
    v = np.random.default_rng(0).standard_normal((30, 2))
    scores = whole.X.correlate(v, 5, 20)
    assert np.allclose(scores, imputed(copies)[:, 5:20].T @ v, atol=1e-4)


def test_filters(tmp_path):
    """Rare, incomplete or unasked variants would stay, or means be over samples left out."""
    copies = draw(41, 30, missing=0.2)
    path = write_plink(tmp_path / "x", copies)
    rows = np.arange(0, 41, 3)
    found = read_plink(path, samples=[f"S{i}" for i in rows], min_maf=0.2, max_missing=0.25)
    kept = copies[rows]
    observed = (kept >= 0).sum(axis=0)
    share = np.where(kept > 0, kept, 0).sum(axis=0) / np.maximum(2 * observed, 1)
    passing = (np.minimum(share, 1 - share) >= 0.2) & (1 - observed / rows.size <= 0.25)
    assert 0 < passing.sum() < 30
    assert np.array_equal(found.variants["position"], 100 + np.flatnonzero(passing))
    assert found.samples["name"].tolist() == [f"S{i}" for i in rows]
    twin = imputed(copies, rows=rows)[rows][:, passing]
    assert np.array_equal(found.X.gather(slice(None)), twin)
    mask = np.zeros(41, bool)
    mask[rows] = True
    pairs = [(f"F{i // 2}", f"S{i}") for i in rows]
    for samples in (mask, pairs):
        same = read_plink(path, samples=samples, variants=passing)
        assert np.array_equal(same.X.gather(slice(None)), twin)


def test_folds_and_covariates(tmp_path):
    """Cross-validation, and columns beside the genotypes, would see other rows or columns."""
    copies = draw(120, 40, missing=0.0)
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 80, 120)
    y = imputed(copies)[:, 5] + 0.1 * age + 0.3 * rng.standard_normal(120)
    genotypes = read_plink(write_plink(tmp_path / "x", copies, y))
    X = genotypes.with_columns({"age": age})
    assert X.feature_names[-1] == "age"
    matrix = np.column_stack([imputed(copies), age])
    model = BudgetRegressor(2, covariates=["age"]).fit(X, y)
    expected = BudgetRegressor(2, covariates=[40]).fit(matrix, y)
    assert np.array_equal(model.support_, expected.support_)
    assert 5 in model.support_
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-4, atol=1e-7)
    folds = cross_validate(model, X, y, cv=KFold(3))
    direct = cross_val_score(expected, matrix, y, cv=KFold(3))
    np.testing.assert_allclose(folds.scores[0], direct, rtol=1e-5)


def test_phenotypes(tmp_path):
    """Cases would be numbers, or missing phenotypes a value."""
    copies = draw(6, 3)
    for given, expected in (
        (["1.5", "NA", "-9", "2", "1e-3", "7"], [1.5, np.nan, np.nan, 2, 1e-3, 7]),
        (["1", "2", "-9", "0", "2", "1"], [0, 1, np.nan, np.nan, 1, 0]),
    ):
        found = read_plink(write_plink(tmp_path / "x", copies, given))
        np.testing.assert_array_equal(found.phenotype, expected)
    text = read_plink(write_plink(tmp_path / "x", copies, ["tall"] * 6))
    with pytest.raises(ValueError, match="must be finite numbers, or NA; got 'tall'"):
        _ = text.phenotype


def test_tables_are_matched_by_name(tmp_path):
    """A phenotype would go to another sample because a table has another order."""
    copies = draw(6, 3)
    found = read_plink(write_plink(tmp_path / "x", copies))
    values, rows = found.aligned(["S4", "S0", "S99", "S2"], [4.0, 0.0, 99.0, 2.0])
    assert rows.tolist() == [0, 2, 4]
    assert values.tolist() == [0.0, 2.0, 4.0]
    pairs = [("F2", "S4"), ("F9", "S0")]
    values, rows = found.aligned(pairs, ["yes", "no"])
    assert (rows.tolist(), values.tolist()) == ([4], ["yes"])
    assert np.array_equal(
        Rows(found.X, rows).gather(slice(None)), found.X.gather(slice(None))[rows]
    )
    for names, message in (
        (["S1", "S1"], "names must be distinct; got 'S1' twice"),
        (["s1", "s2"], r"none of 2 is, the first is 's1'. Did you mean 'S1'"),
        ([["a", "b", "c"]] * 2, r"got shape \(2, 3\)"),
        (["S1"], "one entry for every name"),
    ):
        with pytest.raises(ValueError, match=message):
            found.aligned(names, [1.0, 2.0])


def test_people_of_one_name(tmp_path):
    """Two people of one name, or of one family and name, would get the values of one of them."""
    path = write_plink(tmp_path / "x", draw(4, 3))
    fam = path.with_suffix(".fam")
    fam.write_text(fam.read_text().replace("F1 S2", "F1 S0"))
    found = read_plink(path)
    with pytest.raises(ValueError, match=r"got 'S0' twice. Name them by family and name"):
        found.aligned(["S0", "S1"], [1.0, 2.0])
    assert found.aligned([("F1", "S0"), ("F0", "S1")], [1.0, 2.0])[1].tolist() == [1, 2]


def test_names_are_checked_in_prediction(tmp_path):
    """Variants of another file, or the other allele, would pass for those of fit."""
    copies = np.abs(draw(50, 8, missing=0.0))
    y = copies[:, 2] + 0.0
    path = write_plink(tmp_path / "x", copies, y)
    model = BudgetRegressor(1).fit(path, y)
    other = write_plink(tmp_path / "other", 2 - np.abs(copies))
    other.with_suffix(".bim").write_text(
        path.with_suffix(".bim").read_text().replace("A\tG", "G\tA")
    )
    with pytest.raises(ValueError, match="column 0 is 'rs0_G', and was 'rs0_A'"):
        model.predict(other)
    few = model.predict(write_plink(tmp_path / "few", copies[:, :7]))
    np.testing.assert_array_equal(few, model.predict(path))
    with pytest.raises(ValueError, match=r"has 2 features.*the first is 'rs2_A'"):
        model.predict(write_plink(tmp_path / "fewer", copies[:, :2]))


def test_names_are_distinct(tmp_path):
    """Two variants without a name would be one in a file of a model, or change it by a filter."""
    path = write_plink(tmp_path / "x", draw(5, 5))
    bim = "1 . 0 5 A G\n1 rs1 0 6 A G\n1 rs1 0 7 A T\n1 rs1 0 7 A T\n1 rs2 0 8 A T\n"
    path.with_suffix(".bim").write_text(bim)
    names = ["1:5:G:A_A", "1:6:G:A_A", "1:7:T:A_A", "1:7:T:A_A#2", "rs2_A"]
    assert read_plink(path).X.feature_names == names
    mask = np.array([False, True, False, True, True])
    kept = [name for name, keep in zip(names, mask, strict=True) if keep]
    assert read_plink(path, variants=mask).X.feature_names == kept


def broken(path, change):
    """Change the bytes of a file, and return the path of the set."""
    path.write_bytes(change(path.read_bytes()))
    return path.with_suffix(".bed")


BROKEN = {
    "empty": (".bed", lambda b: b"", "no .bed file of PLINK 1; it is empty"),
    "text": (".bed", lambda b: b"hello, world", "begins with 68 65 6c, not with 6c 1b"),
    "by sample": (".bed", lambda b: b"\x6c\x1b\x00" + b[3:], "--make-bed --out NEW"),
    "mode": (".bed", lambda b: b"\x6c\x1b\x30" + b[3:], "third byte of a .bed file is 1; got '30'"),
    "cut": (".bed", lambda b: b[:-1], "7 variants of 37 samples are 73 bytes; the file has 72"),
    "long": (".bed", lambda b: b + b"\x00" * 10, "which is 8 variants. It is cut or belongs"),
    "few variants": (".bim", lambda b: b"\n".join(b.splitlines()[:6]), "6 variants of 37 samples"),
    "columns": (
        ".bim",
        lambda b: b.replace(b"A\tG\n", b"A\n", 1),
        "line 1: a variant has 6 columns",
    ),
    "position": (".bim", lambda b: b.replace(b"\t102\t", b"\tx\t"), "position of variant 3 .*'x'"),
    "underscore": (".bim", lambda b: b.replace(b"\t102\t", b"\t1_2\t"), "variant 3 .*'1_2'"),
    "far": (".bim", lambda b: b.replace(b"\t102\t", b"\t" + b"9" * 20 + b"\t"), "position of var"),
    "header": (
        ".fam",
        lambda b: b"#FID IID a b c d\n" + b,
        "line 1: '#FID IID a b c d' is a header",
    ),
    "no variants": (".bim", lambda b: b"\n", "no variants in it"),
    "binary": (".bim", lambda b: b"\xff\xfe\x00", "no text file"),
    "no samples": (".fam", lambda b: b"", "no samples in it"),
    "few samples": (".fam", lambda b: b"\n".join(b.splitlines()[:30]), "of 30 samples"),
    "fam columns": (".fam", lambda b: b.replace(b" 0 0 ", b" 0 ", 1), "line 1: a sample has 6"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files(tmp_path, case):
    """Genotypes would be those of other variants or samples, without a word."""
    suffix, change, message = BROKEN[case]
    path = write_plink(tmp_path / "x", draw(37, 7))
    with pytest.raises(FileError, match=message):
        read_plink(broken(path.with_suffix(suffix), change))


def test_texts_of_other_systems(tmp_path):
    """The first sample and the first chromosome would have a mark in their names."""
    path = write_plink(tmp_path / "x", draw(5, 3))
    for suffix in (".bim", ".fam"):
        text = path.with_suffix(suffix).read_bytes().replace(b"\n", b"\r\n")
        path.with_suffix(suffix).write_bytes(b"\xef\xbb\xbf" + text)
    genotypes = read_plink(path)
    assert genotypes.samples[0].tolist() == ("F0", "S0", "0", "0", "1", "-9")
    assert genotypes.variants[0].tolist() == ("1", "rs0", 100, "A", "G")


def test_a_file_given_twice(tmp_path):
    """Every variant would be two columns of one name."""
    path = write_plink(tmp_path / "x", draw(5, 3))
    with pytest.raises(ValueError, match="every file once"):
        read_plink([path, tmp_path / "x"])


@pytest.mark.parametrize("column", [[1.0, 2.0], ["x"] * 5, np.ones((5, 2)), 1.0])
def test_columns_that_are_none(tmp_path, column):
    """A wrong covariate would be two columns with one name, or an error of NumPy's."""
    genotypes = read_plink(write_plink(tmp_path / "x", draw(5, 3)))
    with pytest.raises(ValueError, match=r"columns\['b'\] must be \(5,\) numbers"):
        genotypes.with_columns({"a": np.ones(5), "b": column})


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [([], [], "at least one"), (["S0"], 1, r"got shape \(\)"), (["S0"], [1, 2], "every name")],
)
def test_tables_of_nothing(tmp_path, names, values, message):
    """An empty table would be an index out of range."""
    genotypes = read_plink(write_plink(tmp_path / "x", draw(5, 3)))
    with pytest.raises(ValueError, match=message):
        genotypes.aligned(names, values)


@pytest.mark.parametrize("suffix", [".bed", ".bim", ".fam"])
def test_missing_files(tmp_path, suffix):
    """A user would not learn which of three files is not there."""
    path = write_plink(tmp_path / "x", draw(5, 2))
    path.with_suffix(suffix).unlink()
    with pytest.raises(MissingFileError, match=rf"x\{suffix}: no such file; genotypes are three"):
        read_plink(path.with_suffix(""))
    with pytest.raises(MissingFileError, match="no such files"):
        read_plink(tmp_path / "chr*.bed")


def test_sets_of_other_samples_are_refused(tmp_path):
    """Genotypes of one person would stand beside those of another."""
    for name, n in (("a1", 8), ("a2", 8), ("b2", 7)):
        write_plink(tmp_path / name, draw(n, 3))
    fam = tmp_path / "a2.fam"
    fam.write_text(fam.read_text().replace("S5", "T5"))
    with pytest.raises(FileError, match="sample 6 is 'F2 T5', but 'F2 S5' in"):
        read_plink(tmp_path / "a*.bed")
    with pytest.raises(FileError, match="7 samples, but 8 in"):
        read_plink([tmp_path / "a1.bed", tmp_path / "b2.bed"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"coding": "allelic"}, "coding must be one of additive, dominant, recessive"),
        ({"min_maf": 0.6}, "min_maf must be from 0 to 0.5; got 0.6"),
        ({"max_missing": -0.1}, "max_missing must be from 0 to 1"),
        ({"min_maf": float("nan")}, "min_maf must be from 0 to 0.5; got nan"),
        ({"min_maf": 0.5}, "leave none of 7 variants"),
        ({"samples": ["S1", "Z"]}, "1 of 2 are not, as 'Z'"),
        ({"samples": np.zeros(37, bool)}, "samples must keep at least one"),
        ({"samples": np.zeros(36, bool)}, r"must have shape \(37,\)"),
        ({"variants": ["rs1", "rs77"]}, "1 of 2 are not, as 'rs77'"),
        ({"variants": [["1", "rs1"]]}, "must be names, or a mask"),
        ({"samples": "S1"}, r"samples must be names or .*; got shape \(\)"),
    ],
)
def test_wrong_parameters(tmp_path, wrong, message):
    """A mistyped name would silently select less, or everything."""
    path = write_plink(tmp_path / "x", draw(37, 7))
    with pytest.raises(ValueError, match=message):
        read_plink(path, **wrong)


def test_a_file_that_shrinks(tmp_path):
    """Reading a mapped file beyond its end ends the process."""
    path = write_plink(tmp_path / "x", draw(37, 2000))
    genotypes = read_plink(path).X
    with path.open("r+b") as file:
        file.truncate(100)
    with pytest.raises(OSError, match="changed while it was read"):
        BudgetRegressor(1).fit(genotypes, np.arange(37.0))
    with pytest.raises(OSError, match="changed while it was read"):
        genotypes.gather(np.array([1999]))


def test_blocks_do_not_show(tmp_path, monkeypatch):
    """Columns would be lost or repeated where a scan of a large file goes block by block."""
    path = write_plink(tmp_path / "x", draw(37, 50))
    monkeypatch.setattr("zeronorm.data.genotypes.BLOCK_BYTES", 70)
    monkeypatch.setattr("zeronorm.data.genotypes.LARGE", 0)
    small = as_design(path)
    assert small.block == 7
    y = np.random.default_rng(0).standard_normal(37)
    found = BudgetRegressor(5).fit(small, y)
    counts = small.counts()
    monkeypatch.undo()
    assert np.array_equal(counts, as_design(path).counts())
    assert np.array_equal(found.coef_, BudgetRegressor(5).fit(path, y).coef_)


def test_columns_side_by_side():
    """Sparse columns beside others would be centred in one place and not in the other."""
    with pytest.raises(ValueError, match=r"same number of rows; got \[3, 4\]"):
        Beside([as_design(np.ones((3, 1))), as_design(np.ones((4, 1)))])
    import scipy.sparse as sp

    with pytest.raises(ValueError, match="must not be sparse"):
        Beside([as_design(np.ones((3, 1))), as_design(sp.eye_array(3).tocsc())])
    scaled = Scaled(as_design(np.ones((3, 1), np.float32)), None, np.full(1, 1e6))
    with pytest.raises(ValueError, match=r"must not be scaled.*Scaled\(Beside\(parts\)"):
        Beside([scaled, as_design(np.ones((3, 1)))])
    both = Beside([as_design(np.ones((3, 1))), as_design(np.ones((3, 2), np.float32))])
    assert both.feature_names is None
    assert both.scan_error == FLOAT32_SCAN_ERROR


@with_plink_data
def test_files_of_others():
    """Files that other programs wrote would be misread."""
    folder = DATA / "plink_example"
    with np.load(folder / "arrays.npz") as known:
        for name, n, p, counts in zip(
            known["files"], known["n"], known["p"], known["counts"], strict=True
        ):
            found = read_plink(folder / str(name)).X
            assert found.shape == (n, p)
            assert found.counts().sum(axis=0)[[2, 1, 0, 3]].tolist() == counts.tolist()
    values = np.load(folder / "bed_reader" / "some_missing.val.npy")
    found = read_plink(folder / "bed_reader" / "some_missing").X.gather(slice(None))
    assert np.array_equal(found[~np.isnan(values)], values[~np.isnan(values)])


@with_plink_data
def test_known_answer():
    """The variants that the phenotype was made of would not be found, or with another sign."""
    folder = DATA / "plink_example" / "mendel"
    genotypes = read_plink(folder / "normal")
    true = [
        line.split(",") for line in (folder / "normal_true_beta.txt").read_text().splitlines()[1:]
    ]
    sex = np.loadtxt(folder / "covariates.txt", delimiter=",")[:, 1]
    X = genotypes.with_columns({"sex": sex})
    model = BudgetRegressor(7, covariates=["sex"], method="l0").fit(X, genotypes.phenotype)
    effects = {name: float(effect) for name, effect, *_ in true if name.startswith("snp")}
    assert len(effects) == 8, true[:3]
    for feature, coef in zip(model.support_, model.coef_[model.support_], strict=True):
        name = genotypes.variants["name"][feature]
        assert effects[name] * coef < 0  # theirs are effects of the other allele


@pytest.mark.skipif(not (DATA / "hapmap3").exists(), reason="needs hapmap3 of ZERONORM_DATA")
def test_bed_reader_agrees():
    """Another program would read other genotypes from the same file."""
    bed_reader = pytest.importorskip("bed_reader")
    path = DATA / "hapmap3" / "hapmap3.bed"
    theirs = bed_reader.open_bed(path).read(dtype="float64")
    ours = read_plink(path).X.gather(slice(None))
    known = ~np.isnan(theirs)
    assert np.array_equal(ours[known], theirs[known])
    mean = np.float32(np.nanmean(theirs, axis=0))
    assert np.array_equal(ours[~known], np.broadcast_to(mean, ours.shape)[~known])


def test_genotypes_class_needs_no_reader(tmp_path):
    """A design of one file would not stand by itself."""
    copies = draw(9, 4)
    path = write_plink(tmp_path / "x", copies)
    design = Genotypes(path, 9, 4, kept=np.array([2, 0]))
    assert np.array_equal(design.gather(slice(None)), imputed(copies)[:, [2, 0]])
