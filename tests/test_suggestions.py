"""What "Did you mean" offers: never what is said already, or is there beside what is missing."""

import json

import numpy as np
import pytest

from conftest import write_csv
from zeronorm.core.files import FileError, did_you_mean
from zeronorm.io import read_table
from zeronorm.io.groups import read_groups
from zeronorm.persistence import load

N = 40


@pytest.fixture
def table(tmp_path):
    """Rows with two ages, two outcomes, and genes of names alike."""
    rng = np.random.default_rng(0)
    genes = {f"gene{j}": rng.standard_normal(N).round(3) for j in range(1, 5)}
    columns = {
        **genes,
        "age": rng.integers(20, 60, N),
        "outcome": np.where(genes["gene1"] > 0, "a", "b"),
    }
    write_csv(tmp_path / "t.csv", columns)
    return columns


def test_what_is_given_is_no_suggestion():
    """A user would be sent to the word that stands there already."""
    words = ["age", "ages", "stage"]
    assert did_you_mean("agee", words) == " Did you mean 'age' or 'ages' or 'stage'?"
    assert did_you_mean("agee", words, given=["age", "stage"]) == " Did you mean 'ages'?"
    everything = did_you_mean("agee", ["age"], given=["age"])  # what there is, is told whole
    assert everything == " There is 'age'."


@pytest.mark.parametrize(
    ("options", "wrong", "given"),
    [
        (("--target", "outcome", "--covariates", "age,agee"), "agee", "age"),
        (("--target", "outcome", "--force", "gene1", "--force", "gene11"), "gene11", "gene1"),
        (("--target", "gene1,gene11", "--drop", "outcome"), "gene11", "gene1"),
        (("--target", "outcome", "--drop", "outcom"), "outcom", "outcome"),
        (("--target", "age", "--offset", "aged", "--drop", "outcome"), "aged", "age"),
        (("--target", "outcome", "--id", "outcomes"), "outcomes", "outcome"),
    ],
)
def test_options_are_not_sent_to_what_others_name(fails, table, options, wrong, given):
    """An option would be told to name the column that another one names."""
    said = fails("select", "t.csv", *options, "-k", 2, "--no-cv")
    assert f"{wrong!r}" in said
    assert f"{given!r}" not in said.partition("Did you mean")[2]


def test_rows_may_be_chosen_by_any_column(fails, table):
    """A condition on the target with a slip in it would have no suggestion."""
    said = fails("select", "t.csv", "--target", "outcome", "-k", 1, "--where", "outcom != 'c'")
    assert "Did you mean 'outcome'" in said


def test_models_are_not_sent_to_their_other_features(run, fails, table, tmp_path):
    """A column that the model needs for itself would be offered for one that is missing."""
    run("select", "t.csv", "--target", "outcome", "-k", 4, "--no-cv", "-q", "-o", "m.npz",
        "--drop", "age")  # fmt: skip
    write_csv(tmp_path / "new.csv", {k: v for k, v in table.items() if k != "gene2"})
    said = fails("predict", "m.npz", "new.csv")
    assert "needs the feature 'gene2', which is not there." in said
    assert "Did you mean" not in said
    other = {("gene_2" if name == "gene2" else name): one for name, one in table.items()}
    write_csv(tmp_path / "new.csv", other)
    assert "which is not there. Did you mean 'gene_2'?" in fails("predict", "m.npz", "new.csv")
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({k: v for k, v in table.items() if k != "gene2"})
    with pytest.raises(ValueError, match="the first is 'gene2'") as told:
        load("m.npz").predict(frame)
    assert "Did you mean" not in str(told.value)
    assert "Did you mean" not in fails("evaluate", "m.npz", "t.csv", "--target", "gene_1")


def test_lines_are_not_sent_to_the_keys_that_they_have(tmp_path):
    """Of a line with a key too many the right one, which is there as well, would be named."""
    rows = [{"age": 1.0, "size": 2.0}, {"age": 2.0, "size": 1.0, "sizes": 3.0}]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(FileError, match="the key 'sizes' is not on the first line") as told:
        read_table(tmp_path / "r.jsonl")
    assert "Did you mean" not in str(told.value)


def test_groups_are_not_sent_to_features_of_other_lines(table, tmp_path):
    """Who follows the advice has a feature in two lines."""
    known = read_table(tmp_path / "t.csv", "outcome")
    lines = ["feature\tgroup", "gene1\ta", "gene11\ta", "gene2\ta", "gene4\tb"]
    (tmp_path / "g.tsv").write_text("\n".join(lines))
    with pytest.raises(FileError, match="no feature 'gene11'") as told:
        read_groups(tmp_path / "g.tsv", known)
    assert str(told.value).endswith("Did you mean 'gene3'?")


def test_columns_that_tables_are_joined_for_are_not_offered(fails, table, tmp_path):
    """A covariate with a slip would be told to be the one beside it."""
    genes = {name: one for name, one in table.items() if name.startswith("gene")}
    known = {name: one for name, one in table.items() if name not in genes}
    names = {"id": [f"S{i}" for i in range(N)]}
    write_csv(tmp_path / "d.csv", {**names, **genes})
    write_csv(tmp_path / "s.csv", {**names, **known})
    given = ("select", "d.csv", "--samples", "s.csv", "--target", "outcome", "-k", 2, "--no-cv")
    said = fails(*given, "--covariates", "age,agee")
    assert "'agee'" in said
    assert "'age'" not in said.partition("Did you mean")[2]
    assert "Did you mean 'age'?" in fails(*given, "--covariates", "agee")
