"""The command on genotypes: tables of samples, joined by name, and what it says of them."""

import json

import numpy as np
import pytest

from plink import draw, write_plink

N, P = 60, 20
COPIES = draw(N, P, missing=0.02)
NOISE = np.random.default_rng(0).standard_normal(N)
AGE = np.random.default_rng(1).uniform(20, 80, N).round(1)
TRAIT = (np.maximum(COPIES[:, 3], 0) - np.maximum(COPIES[:, 7], 0) + AGE / 20 + 0.3 * NOISE).round(
    4
)


@pytest.fixture
def data(tmp_path):
    """Genotypes and two tables of their samples, in other orders, in the folder of the command."""
    write_plink(tmp_path / "d", COPIES, np.where(np.median(TRAIT) < TRAIT, 2, 1))
    rows = np.random.default_rng(2).permutation(N)
    lines = [f"F{i // 2} S{i} {TRAIT[i]} {'NA' if i == 5 else 'yes'}" for i in rows]
    lines[3:3] = ["F99 S99 1.5 yes"]
    (tmp_path / "trait.txt").write_text("\n".join(["#FID IID trait smokes", *lines]) + "\n")
    ages = [f"S{i},{AGE[i]},{'north' if i % 2 else 'south'}" for i in reversed(range(N)) if i != 9]
    (tmp_path / "age.csv").write_text("\n".join(["IID,age,site", *ages]) + "\n")
    return "d.bed"


BOTH = ("--samples", "trait.txt", "--samples", "age.csv")


def test_tables_are_joined_by_name(run, data, tmp_path):
    """A trait would be that of another sample, or samples without an age be taken for some."""
    chosen = (*BOTH, "--target", "trait", "--covariates", "age", "--certificate", "c.npz")
    result = run("select", data, "-k", "2", *chosen, "-o", "m.npz", "--json")
    document = json.loads(result.stdout)
    assert document["data"]["n_samples"] == N - 1
    assert document["data"]["storage"] == "genotypes, two bits each"
    names = [row["name"] for row in document["models"][0]["features"]]
    assert sorted(names) == ["rs3_A", "rs7_A"]
    assert [row["name"] for row in document["models"][0]["covariates"]] == ["age"]
    assert document["models"][0]["cross_validation"]["mean"] > 0.7
    assert document["notes"][:3] == [
        "60 of 60 samples are in trait.txt; 1 of its lines is of no sample",
        "59 of 60 samples are in age.csv; 0 of its lines are of no sample",
        "1 sample left out: no covariate 'age'",
    ]
    verified = run("verify", "c.npz", data, *BOTH)
    assert verified.exit_code == 0
    assert "verified" in verified.stdout
    predicted = run("predict", "m.npz", data, "--samples", "age.csv", "-o", "p.csv")
    assert predicted.exit_code == 0
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert len(lines) == N
    assert lines[1].startswith("S0,")
    scored = run("predict", "m.npz", data, *BOTH, "--target", "trait")
    assert "R²" in scored.stdout


def test_a_table_of_genotypes_in_another_encoding(run, data, tmp_path):
    """A table that Windows wrote could be joined to other data alone."""
    text = (tmp_path / "age.csv").read_text().replace("north", "Köln")
    (tmp_path / "age.csv").write_bytes(text.encode("cp1252"))
    given = ("-k", "2", *BOTH, "--target", "site", "--encoding", "cp1252", "--no-cv", "--json")
    document = json.loads(run("select", data, *given).stdout)
    assert document["classes"] == ["Köln", "south"]


def test_blocks_are_families_of_the_fam_file(run, data, tmp_path):
    """Families would have to be written into another table; those without one would be kin."""
    asked = ("discover", data, *BOTH, "--target", "trait", "--covariates", "age", "--json")
    document = json.loads(run(*asked, "--blocks", "FID").stdout)
    assert document["blocks"]["column"] == "FID"
    assert document["blocks"]["n_blocks"] == 30
    assert "rs7_A" in {row["name"] for row in document["features"]}
    assert [row["name"] for row in document["covariates"]] == ["age"]
    lines = [line.split() for line in (tmp_path / "d.fam").read_text().splitlines()]
    people = [[("0" if one[1] in ("S0", "S1") else one[0]), *one[1:]] for one in lines]
    (tmp_path / "d.fam").write_text("\n".join(" ".join(one) for one in people) + "\n")
    own = ("discover", data, "--samples", "age.csv", "--target", "age", "--blocks", "FID", "--json")
    document = json.loads(run(*own).stdout)
    assert document["blocks"]["n_blocks"] == 31


def test_a_model_asks_for_its_covariates(run, fails, data):
    """Predictions would be those of an age of 0."""
    chosen = (*BOTH, "--target", "trait", "--covariates", "age", "--no-cv", "-o", "m.npz")
    run("select", data, "-k", "2", *chosen)
    lacking = fails("predict", "m.npz", data, "--samples", "trait.txt")
    assert "no column for the covariate 'age'" in lacking


def test_covariates_of_text_beside_genotypes(run, data, tmp_path):
    """A site of recruitment had to be written as columns of 0 and 1 by hand, for every model."""
    given = ("-k", "2", *BOTH, "--target", "trait", "--no-cv", "--json", "--covariates", "age,site")
    files = ("-o", "m.npz", "--certificate", "c.npz")
    (model,) = json.loads(run("select", data, *given, *files).stdout)["models"]
    assert [one["name"] for one in model["covariates"]] == ["age", "site=south"]
    assert "verified" in run("verify", "c.npz", data, *BOTH).stdout
    predict = ("predict", "m.npz", data, "--samples", "age.csv", "--json")
    found = json.loads(run(*predict).stdout)["predictions"]
    assert len(found) == N - 1
    table = tmp_path / "age.csv"
    text = table.read_text()
    table.write_text(text.replace("south", "Mars", 1))
    said = run(*predict).stdout
    assert "1 row has a value of 'site' that the model never saw, as 'Mars'" in said
    table.write_text(text.replace("south", "1").replace("north", "0"))
    (by_hand,) = json.loads(run("select", data, *given, "-o", "m.npz").stdout)["models"]
    for one, other in zip(model["covariates"], by_hand["covariates"], strict=True):
        np.testing.assert_allclose(one["coefficient"], other["coefficient"], rtol=1e-9)
    np.testing.assert_allclose(found, json.loads(run(*predict).stdout)["predictions"], rtol=1e-9)


def test_a_fam_file_that_lacks_a_line_is_refused(fails, data, tmp_path):
    """Everybody behind the line would have the genotypes of another: the file has the same size."""
    lines = (tmp_path / "d.fam").read_text().splitlines()
    (tmp_path / "d.fam").write_text("\n".join([*lines[:7], *lines[8:]]) + "\n")
    assert "genotypes of more than 59 samples" in fails("select", data, "-k", "2")


def test_variants_are_named_without_their_allele(run, fails, data):
    """A list of published variants has their ids alone, and each would have to be completed."""
    given = ("--samples", "trait.txt", "--target", "trait")
    document = json.loads(run("certify", "rs7,rs3_A", data, *given, "--json").stdout)
    assert sorted(one["name"] for one in document["features"]) == ["rs3_A", "rs7_A"]
    forced = run("select", data, "-k", "1", *given, "--no-cv", "--json", "--force", "rs5").stdout
    (feature,) = json.loads(forced)["models"][0]["features"]
    assert feature["name"] == "rs5_A"
    assert "Did you mean 'rs7_A'" in fails("select", data, *given, "--signs", "rs7=+")


def test_phenotypes_of_the_set(run, data):
    """Cases and controls would be the numbers 2 and 1, or need a table."""
    for target in ((), ("--target", "phenotype"), ("--target", "phenotype", *BOTH)):
        document = json.loads(run("select", data, "-k", "2", "--no-cv", "--json", *target).stdout)
        assert document["classes"] == [0, 1]
        assert "controls and cases, 1 and 2 in the .fam file, are 0 and 1" in document["notes"]
        assert document["data"]["target"] == "phenotype"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (BOTH, "say what to predict with --target: phenotype for that of the .fam file, or a col"),
        ((*BOTH, "--target", "trai"), "no column for the target 'trai'. Did you mean 'trait'?"),
        (("--target", "trait"), "no column for the target 'trait'. Name a table with --samples."),
        (("--id", "IID"), "genotypes have no columns to name; leave out --id."),
        (("--samples", "none.txt", "--target", "x"), "none.txt"),
    ],
)
def test_refusals(fails, data, arguments, message):
    """Another target than was meant would be explained, or a mistyped name pass."""
    assert message in fails("select", data, "-k", "2", *arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("F0 S0 1.0\nF0 S1 2.0\n", "the first line must name the columns, FID and IID or IID"),
        ("IID y\nS0 1\nS0 2\n", "the sample 'S0' has several lines"),
        ("IID y\nS0 1\nS1\n", "line 3: 2 columns as in the first line; got 1"),
        ("", "the file is empty"),
        ("IID y\n", "no samples in it"),
        ("IID y y\nS0 1 2\n", "the column 'y' is there several times"),
        ("\xff\xfe", "UTF-16 text; say --encoding utf-16, or save it as UTF-8."),
        ("IID y\nS0 1\nM\xfcller 2\n", "line 3, byte 2: not UTF-8 text; say --encoding NAME"),
        ("IID y\nS0 1\nS1 \0\n", "line 3: a NUL byte"),
        ("PAR1\0\0", "not a readable Parquet file"),
        ("\x93NUMPY", "no table with names of columns; write the table of the samples as CSV"),
        ('IID,y\nS0,1\nS1,"' + 140000 * "x", "line 3: not a table in CSV form (field larger than"),
        (
            "IID y\nX0 1\nX1 2\n",
            "0 of 60 samples are in t.txt (it begins with 'X0', the data with 'S0')",
        ),
        ("IID y\nS0 NA\nS1 -9.0\nS2 .\n", "no target 'y' but -9, which stands for a missing one"),
        (
            "IID y\nS0 1\nS1 high\n",
            "must be finite numbers, or text alone; got 'high' among",
        ),
        ('IID,y\nS0,1\nS1,"1\n2"\n', "must be finite numbers, or text alone; got '1\\n2'"),
        ("IID y\nS0 1.5\nS1 inf\n", "must be finite numbers, or text alone; got 'inf'"),
    ],
)
def test_broken_tables(fails, data, tmp_path, text, message):
    """A table without names, or with a sample twice, would be read in some way."""
    (tmp_path / "t.txt").write_bytes(text.encode("latin-1"))
    assert message in fails("select", data, "-k", "2", "--samples", "t.txt", "--target", "y")


def test_names_that_repeat(fails, data, tmp_path):
    """Two people of one name in two families would get the trait of one of them."""
    fam = tmp_path / "d.fam"
    fam.write_text(fam.read_text().replace("F1 S2 ", "F1 S0 "))
    said = fails("select", data, "-k", "2", "--samples", "age.csv", "--target", "age")
    assert "samples of the .fam file must be distinct; got 'S0' twice. Name them by family" in said


def test_samples_are_kept_by_columns_of_the_tables(run, fails, data):
    """A cohort could not be chosen, as genotypes have no columns of their own for it."""
    chosen = ("select", data, "-k", "2", "--no-save", "--no-cv", *BOTH, "--target", "trait")
    document = json.loads(run(*chosen, "--where", "site == 'north'", "--json").stdout)
    north = [i for i in range(1, N, 2) if i != 9]
    assert document["data"]["n_samples"] == len(north)
    assert (
        f"kept {len(north)} of 60 rows (site == 'north'); 1 have no value there"
        in document["notes"]
    )
    message = fails(*chosen, "--where", "rs3_A > 0")
    assert (
        "compares columns of --samples alone, and there is no 'rs3_A'. There is 'trait', 'smokes', "
        "'age', 'site'."
    ) in message
