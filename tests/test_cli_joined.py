"""The command on tables of the samples in files of their own, joined by the samples' names."""

import datetime
import gzip
import json
import pathlib
import re

import numpy as np
import pytest

from conftest import slow
from zeronorm import BudgetClassifier, certify
from zeronorm.data import as_design
from zeronorm.io import read_table
from zeronorm.persistence import load

N, P = 40, 12
KINDS = ("ALL", "AML")


@pytest.fixture
def tables(tmp_path):
    """Genes by sample and by row, and a table of the samples in another order, with others."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P))
    age, kind = rng.integers(20, 80, N), (X[:, 3] + 0.3 * rng.standard_normal(N) > 0).astype(int)
    names = [f"S{i:02d}" for i in range(N)]
    genes = [f"g{j}" for j in range(P)]
    rows = [",".join([name, *map(repr, row.tolist())]) for name, row in zip(names, X, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join([",".join(["sample", *genes]), *rows]) + "\n")
    rows = [
        ",".join([gene, *map(repr, row.tolist())]) for gene, row in zip(genes, X.T, strict=True)
    ]
    (tmp_path / "genes.csv").write_text("\n".join([",".join(["gene", *names]), *rows]) + "\n")
    order = rng.permutation(N)
    lines = [f"{age[i]}\t{names[i]}\t{KINDS[kind[i]]}" for i in order]
    (tmp_path / "pheno.tsv").write_text("\n".join(["age\tid\tkind", *lines, "33\tX1\tALL"]) + "\n")
    (tmp_path / "joined.csv").write_text(
        "\n".join(
            [
                ",".join([*genes, "kind"]),
                *(",".join([*map(repr, X[i].tolist()), KINDS[kind[i]]]) for i in range(N)),
            ]
        )
    )
    return X, kind, age


GIVEN = ("--samples", "pheno.tsv", "--target", "kind")


def chosen(run, *arguments):
    document = json.loads(run("select", *arguments, "-k", "2", "--no-cv", "--json").stdout)
    model = document["models"][-1]
    return document, [(one["name"], one["coefficient"]) for one in model["features"]]


@pytest.mark.parametrize("data", ["rows.csv", "genes.csv"])
def test_labels_are_joined_by_name(run, tables, data):
    """Each sample would have the label of the one that is in its place in the other file."""
    document, found = chosen(run, data, *GIVEN)
    _, wanted = chosen(run, "joined.csv", "--target", "kind")
    assert [name for name, _ in found] == [name for name, _ in wanted]
    np.testing.assert_allclose([w for _, w in found], [w for _, w in wanted], rtol=1e-9)
    notes = " ".join(document["notes"])
    assert "40 of 40 samples are in pheno.tsv; 1 of its lines is of no sample" in notes
    assert ("taken the other way round" in notes) == (data == "genes.csv")


@pytest.mark.parametrize("data", ["rows.csv", "genes.csv"])
def test_predictions_keep_names_and_covariates(run, tables, tmp_path, data):
    """A model would be given other columns, or people without an age be given one."""
    table = tmp_path / "pheno.tsv"
    lines = [line for line in table.read_text().splitlines() if "S00" not in line]
    table.write_text("\n".join([*lines, "NA\tS00\tALL"]) + "\n")
    covariates = ("--covariates", "age")
    files = ("-o", "m.npz", "--certificate", "c.npz")
    run("select", data, *GIVEN, *covariates, "-k", "2", "--no-cv", "--quiet", *files)
    assert "verified" in run("verify", "c.npz", data, "--samples", "pheno.tsv").stdout
    said = run("predict", "m.npz", data, *GIVEN, "-o", "p.csv").stderr
    assert "sample left out: no covariate 'age'" in said.replace("\n", " ")
    rows = [line.split(",") for line in (tmp_path / "p.csv").read_text().splitlines()[1:]]
    names = [line.split("\t")[1] for line in lines[1:]]
    assert sorted(row[0] for row in rows) == sorted(set(names) - {"X1"})
    known = {name: kind for _, name, kind in (line.split("\t") for line in lines[1:])}
    right = [known[name] == label for name, label, *_ in rows]
    assert np.mean(right) > 0.8


def test_survival_from_a_table(run, tables, tmp_path):
    """Times and events would be those of others."""
    X, _, _ = tables
    lines = [f"S{i:02d},{np.exp(X[i, 5]):.6f},{int(i % 4 > 0)}" for i in reversed(range(N))]
    (tmp_path / "times.csv").write_text("\n".join(["id,days,died", *lines]) + "\n")
    given = ("--samples", "times.csv", "--time", "days", "--event", "died")
    document, found = chosen(run, "genes.csv", *given)
    assert document["data"]["task"] == "survival"
    assert found[0][0] == "g5"


@pytest.mark.parametrize("data", ["rows.csv", "genes.csv"])
def test_covariates_of_text_are_their_values(run, tables, tmp_path, data):
    """A batch could not be in the model, or other people's batches be taken for other ones."""
    X, kind, _ = tables
    batch = np.array(["B1", "B2", "B3"])[np.arange(N) % 3]
    lines = [f"S{i:02d}\t{KINDS[kind[i]]}\t{batch[i]}" for i in reversed(range(N))]
    (tmp_path / "batch.tsv").write_text("\n".join(["id\tkind\tbatch", *lines]) + "\n")
    given = ("--samples", "batch.tsv", "--target", "kind")
    options = ("--covariates", "batch", "-k", "2", "--no-cv", "--no-calibrate", "--json")
    files = ("-o", "m.npz", "--certificate", "c.npz")
    (model,) = json.loads(run("select", data, *given, *options, *files).stdout)["models"]
    beside = np.column_stack([X, batch == "B2", batch == "B3"]).astype(float)
    wanted = BudgetClassifier(2, covariates=[P, P + 1], calibrate=False).fit(beside, kind)
    assert sorted(one["index"] for one in model["features"]) == wanted.support_.tolist()
    found = {one["name"]: one["coefficient"] for one in model["covariates"]}
    assert list(found) == ["batch=B2", "batch=B3"]
    np.testing.assert_allclose([*found.values()], wanted.coef_[0, [P, P + 1]], rtol=1e-6)
    assert "verified" in run("verify", "c.npz", data, "--samples", "batch.tsv").stdout
    # New samples: a table of B3 alone, and of a batch that the model never saw.
    for label, column in (("B3", [0.0, 1.0]), ("B9", [0.0, 0.0])):
        lines = [f"S{i:02d}\t{label}" for i in range(N)]
        (tmp_path / "new.tsv").write_text("\n".join(["id\tbatch", *lines]) + "\n")
        files = ("--samples", "new.tsv", "--proba", "--json")
        result = run("predict", "m.npz", data, *files)
        new = np.column_stack([X, np.tile(column, (N, 1))])
        shown = json.loads(result.stdout)
        np.testing.assert_allclose(shown["probabilities"], wanted.predict_proba(new), atol=1e-6)
        unseen = any("that the model never saw, as 'B9'" in note for note in shown["notes"])
        assert unseen == (label == "B9")
    (tmp_path / "new.tsv").write_text((tmp_path / "new.tsv").read_text().replace("B9", "b3"))
    message = run("predict", "m.npz", data, "--samples", "new.tsv", code=2).stderr
    assert "'batch': 'b3' differs from 'B3', which the model knows, by case or blanks" in message


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ("id\tkind\nZ1\tALL\nZ2\tAML\n", (), "no sample of the data is in it"),
        ("id\tkind\nS01\tALL\nS01\tAML\n", (), "the sample 'S01' has several lines"),
        ("id\tkind\nS01\tALL\nS02\n", (), "line 3: 2 columns as in the first line; got 1"),
        ("id\tkind\nS01\tALL\nS02\tNA\n", (), ""),
        ("id\tother\nS01\t1\nS02\t2\n", (), "kind"),
        ("id\tkind\tg1\nS01\tALL\t1\nS02\tAML\t2\nS03\tALL\t1\nS04\tAML\t2\n",
         ("--covariates", "g1"), "is a column of the data and of --samples"),
        ("id\tkind\tsex\nS01\tALL\ta\nS02\tAML\tb\nS03\tALL\tc\nS04\tAML\td\n",
         ("--covariates", "sex"), "must be numbers, or text of few values; got"),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit(fails, tables, tmp_path, table, options, message):
    """Few samples, or none, would be fitted without a word."""
    (tmp_path / "t.tsv").write_text(table)
    given = ("--samples", "t.tsv", "--target", "kind", *options)
    assert message in fails("select", "rows.csv", "-k", "2", *given)


def test_samples_need_names(fails, tables, tmp_path):
    """Rows would be matched by their places."""
    said = fails("select", "joined.csv", "--drop", "kind", "-k", "2", *GIVEN)
    assert "have no names by which --samples could be joined" in said
    text = (tmp_path / "rows.csv").read_text().replace("S01,", "S02,")
    (tmp_path / "twice.csv").write_text(text)
    assert "must have distinct names; got 'S02' 2 times" in fails(
        "select", "twice.csv", "--id", "sample", "-k", "2", *GIVEN
    )
    said = fails("select", "rows.csv", "-k", "2", "--samples", "pheno.tsv")
    assert "say what to predict with --target, a column of --samples: 'age', 'id', 'kind'" in said
    said = fails("select", "rows.csv", "-k", "2", *GIVEN, "-o", "pheno.tsv")
    assert "--output pheno.tsv is an input as well" in said
    assert "demo has no names of samples" in fails("select", "demo", "-k", "2", *GIVEN)


def test_a_table_is_no_file_of_labels(fails, tables):
    """Every line of it would be a class of its own."""
    said = fails("select", "rows.csv", "--id", "sample", "-k", "2", "--target", "pheno.tsv")
    assert "labels must be one column" in said
    assert "every line has 3 fields" in said
    assert "--samples FILE --target COLUMN" in said


def test_features_in_rows_may_have_names_twice_or_numbers(run, tables, tmp_path):
    """The names of rows, as probes of one gene, or numbers, would be taken for a feature."""
    lines = (tmp_path / "genes.csv").read_text().splitlines()
    twice = [line.replace("g5,", "g3,") for line in lines]
    (tmp_path / "twice.csv").write_text("\n".join(twice) + "\n")
    numbers = [
        lines[0],
        *(f"{7000 + j},{line.partition(',')[2]}" for j, line in enumerate(lines[1:])),
    ]
    (tmp_path / "numbers.csv").write_text("\n".join(numbers) + "\n")
    _, wanted = chosen(run, "genes.csv", *GIVEN)
    names = {"twice.csv": {"g3": "g3 (1 of 2)", "g5": "g3 (2 of 2)"}, "numbers.csv": {}}
    names["numbers.csv"] = {f"g{j}": str(7000 + j) for j in range(P)}
    for data, known in names.items():
        document, found = chosen(run, data, *GIVEN)
        assert [name for name, _ in found] == [known.get(name, name) for name, _ in wanted]
        assert document["data"]["n_samples"] == N
        assert ("share a name" in " ".join(document["notes"])) == (data == "twice.csv")


@pytest.mark.parametrize("data", ["rows.csv", "genes.csv"])
def test_columns_of_tables_can_be_forced(run, tables, tmp_path, data):
    """A batch that is to be in k and penalised could be named of DATA alone."""
    given = (*GIVEN, "--force", "age", "-k", "3", "--no-cv", "--no-calibrate", "--json")
    (model,) = json.loads(run("select", data, *given, "-o", "m.npz").stdout)["models"]
    X, kind, age = tables
    beside = np.column_stack([X, age])
    wanted = BudgetClassifier(3, forced_features=[P], calibrate=False).fit(beside, kind)
    assert sorted(one["index"] for one in model["features"]) == wanted.support_.tolist()
    run("predict", "m.npz", data, "--samples", "pheno.tsv", "-o", "p.csv")
    rows = [line.split(",") for line in (tmp_path / "p.csv").read_text().splitlines()[1:]]
    assert {name: label for name, label, *_ in rows} == {
        f"S{i:02d}": KINDS[label] for i, label in enumerate(wanted.predict(beside))
    }


@pytest.mark.parametrize("data", ["rows.csv", "genes.csv"])
def test_the_target_is_not_forced(fails, tables, data):
    """It would predict itself."""
    said = fails("select", data, *GIVEN, "--force", "kind", "-k", "3", "--no-cv")
    assert "'kind' is that of --target, and cannot be a feature as well" in said


def test_predictions_of_features_in_rows_need_no_table(run, tables, tmp_path):
    """New samples have no table, and come in the form of the old ones."""
    run("select", "genes.csv", *GIVEN, "-k", "2", "--no-cv", "--quiet", "-o", "m.npz")
    run("predict", "m.npz", "rows.csv", "--id", "sample", "-o", "one.csv")
    said = run("predict", "m.npz", "genes.csv", "-o", "two.csv").stderr
    assert "taken the other way round" in said.replace("\n", " ")
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "two.csv").read_text()


def test_covariates_that_are_not_in_rows_are_told_and_the_page_names_their_table(
    run, fails, tables, tmp_path
):
    """The genes are there; of a covariate of text each level is a feature, which no file has."""
    header, *lines = (tmp_path / "pheno.tsv").read_text().splitlines()
    levels = [f"{line}\t{'ABC'[place % 3]}" for place, line in enumerate(lines)]
    (tmp_path / "both.tsv").write_text("\n".join([f"{header}\tbatch", *levels]) + "\n")
    given = ("--samples", "both.tsv", "--target", "kind", "-k", 2, "--no-cv")
    page = ("--report", "page.html", "--pairs", 1, "--time-limit", 0)
    for covariates, message in (
        ("batch,age", "its covariates 'batch', 'age' are not there; name a table"),
        ("age", "its covariate 'age' is not there; name a table of the samples that has it with"),
    ):
        run("select", "genes.csv", *given, "--covariates", covariates, "-o", "m.npz")
        assert message in fails("predict", "m.npz", "genes.csv")
    run("report", "m.npz", "genes.csv", "--samples", "both.tsv", "-o", "page.html", *page[2:])
    assert (
        "zeronorm predict m.npz NEW.csv --samples NEW.tsv" in (tmp_path / "page.html").read_text()
    )


def test_neither_samples_nor_features_are_refused(run, fails, tables, tmp_path):
    """Rows of something else would be predicted."""
    run("select", "genes.csv", *GIVEN, "-k", "2", "--no-cv", "--quiet", "-o", "m.npz")
    text = (tmp_path / "genes.csv").read_text().replace("\ng", "\nh")
    (tmp_path / "others.csv").write_text(text)
    assert "the model needs the features" in fails("predict", "m.npz", "others.csv")


def test_a_batch_that_determines_a_class_is_named(fails, tables, tmp_path):
    """A reader would have to find out which of the batches, and what to do in words of Python."""
    _, kind, _ = tables
    odd, others = np.arange(N) % 2 > 0, np.array(["B2", "B3"])[np.arange(N) // 2 % 2]
    base = "with 0 in column 'batch=B2' and column 'batch=B3' none has 'AML'"
    for batch, where in (
        (np.where(odd | (kind > 0), "B1", "B2"), "with 1 in column 'batch=B2' none has 'AML'"),
        (np.where(odd | (kind > 0), others, "B1"), base),
    ):
        lines = [f"S{i:02d}\t{KINDS[kind[i]]}\t{batch[i]}" for i in range(N)]
        (tmp_path / "batch.tsv").write_text("\n".join(["id\tkind\tbatch", *lines]) + "\n")
        given = ("--samples", "batch.tsv", "--target", "kind", "--covariates", "batch")
        said = fails("select", "genes.csv", *given, "-k", "2")
        assert f"rows {where}" in said
        assert "pass it as one of --force, which have a penalty" in said


@pytest.mark.parametrize("data", ["rows.csv", "genes.csv"])
def test_names_in_another_case_are_refused(fails, tables, tmp_path, data):
    """Half of the samples would be left out as if they had no target."""
    table = tmp_path / "pheno.tsv"
    text = table.read_text()
    for some in (["S07"], [f"S{i:02d}" for i in range(N)]):
        changed = text
        for name in some:
            changed = changed.replace(f"\t{name}\t", f"\t{name.lower()}\t")
        table.write_text(changed)
        said = fails("select", data, *GIVEN, "-k", "2", "--no-cv", "--quiet")
        verb = "sample differs" if len(some) == 1 else "samples differ"
        assert (
            f"{data}: {len(some)} {verb} by case or blanks alone from a name in pheno.tsv" in said
        )
        assert f"as '{some[0]}' from '{some[0].lower()}' (line" in said
        assert said.endswith("Write the names in one way.")


def test_a_sample_in_two_columns_is_refused(fails, tables, tmp_path):
    """Both would be left out, as if they had no target."""
    lines = (tmp_path / "genes.csv").read_text().splitlines()
    lines[0] = lines[0].replace("S05", "S04")
    (tmp_path / "genes.csv").write_text("\n".join(lines) + "\n")
    said = fails("select", "genes.csv", *GIVEN, "-k", "2", "--no-cv")
    assert "the sample 'S04' has several columns" in said


def test_evaluate_finds_the_target_by_its_name(run, tables):
    """The model has it, and so has the table."""
    run("select", "genes.csv", *GIVEN, "-k", "2", "--no-cv", "--quiet", "-o", "m.npz")
    given = ("m.npz", "genes.csv", "--samples", "pheno.tsv", "--json")
    document = json.loads(run("evaluate", *given).stdout)
    assert document["data"]["n_samples"] == N


def test_samples_left_out_are_told_even_in_quiet(run, tables, tmp_path):
    """Half of the samples would be lost without a word."""
    table = tmp_path / "pheno.tsv"
    lines = table.read_text().splitlines()
    table.write_text("\n".join(lines[:21]) + "\n")
    said = run("select", "genes.csv", *GIVEN, "-k", "2", "--no-cv", "--no-save", "--quiet").stderr
    assert "20 samples left out" in said


@pytest.mark.parametrize("data", ["rows.csv", "genes.csv"])
def test_rows_are_kept_by_columns_of_the_table(run, fails, tables, data):
    """The biologist's batch, which the expression data do not have, could not be chosen."""
    _, kind, age = tables
    old = age >= 50
    where = ("--where", "age >= 50")
    document, _ = chosen(run, data, *GIVEN, *where)
    assert f"kept {old.sum()} of 40 rows (age >= 50)" in " ".join(document["notes"])
    counts = document["data"]["class_counts"]
    assert counts == {name: int((kind[old] == i).sum()) for i, name in enumerate(KINDS)}
    assert "with the number 1" in fails("select", data, *GIVEN, "--where", "kind > 1")
    assert "no samples are left" in fails("select", data, *GIVEN, "--where", "age > 99")


def test_rows_are_kept_by_columns_of_both(run, tables):
    """A comparison of the data would be looked for in the table, or the other way round."""
    X, _, age = tables
    document, _ = chosen(run, "rows.csv", *GIVEN, "--where", "age >= 40 and g3 > 0")
    assert document["data"]["n_samples"] == ((age >= 40) & (X[:, 3] > 0)).sum()
    notes = " ".join(document["notes"])
    assert "(g3 > 0)" in notes
    assert "(age >= 40)" in notes


@pytest.fixture
def labels(tables, tmp_path):
    """The labels alone, in the order of the samples."""
    (tmp_path / "labels.txt").write_text("\n".join(KINDS[one] for one in tables[1]) + "\n")


def test_labels_are_not_taken_by_position_unasked(run, fails, labels):
    """Labels in another order than the samples would give a model of noise."""
    given = ("--target", "labels.txt", "-k", "2", "--no-cv", "-o", "m.npz")
    for command in (
        ("select", "rows.csv", "--id", "sample"),
        ("select", "genes.csv", "--transpose"),
    ):
        message = fails(*command, *given)
        assert "its samples have names, as 'S00', and the lines of --target labels.txt" in message
        assert "--samples FILE --target COLUMN" in message
        assert "--by-position" in message
    text = run("select", "rows.csv", "--id", "sample", *given, "--by-position").stdout
    assert "g3" in text
    evaluate = ("evaluate", "m.npz", "rows.csv", "--id", "sample", "--target", "labels.txt")
    assert "--by-position" in fails(*evaluate)
    assert "accuracy" in run(*evaluate, "--by-position").stdout


def test_features_in_rows_by_request(run, fails, labels):
    """Labels without names could not be used where the genes are in the rows."""
    given = ("--target", "labels.txt", "--by-position")
    _, found = chosen(run, "genes.csv", "--transpose", *given)
    _, wanted = chosen(run, "joined.csv", "--target", "kind")
    assert [name for name, _ in found] == [name for name, _ in wanted]
    message = fails("select", "genes.csv", "-k", "2", "--target", "labels.txt")
    assert "has 40 columns of numbers: where features are in the rows, say --transpose" in message
    for bad in (("--where", "a > 1"), ("--samples", "pheno.tsv"), ("--drop", "g1")):
        assert f"cannot be with {bad[0]}" in fails(
            "select", "genes.csv", "--transpose", *given, *bad
        )
    message = fails("select", "genes.csv", "--transpose", "--target", "kind")
    assert "--samples FILE --target kind" in message
    assert "leave out --transpose" in fails("select", "demo", "-k", "2", "--transpose")


def test_features_in_rows_are_hinted_at(fails, tables, tmp_path):
    """Who points at genes in rows would look for a column that cannot be there."""
    lines = (tmp_path / "genes.csv").read_text().splitlines()
    few = "\n".join(",".join(line.split(",")[:6]) for line in lines)
    (tmp_path / "few.csv").write_text(few + "\n")  # more rows than columns
    message = fails("select", "few.csv", "-k", "2", "--target", "kind")
    assert "no column 'kind'" in message
    assert "--samples FILE --target kind" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "pheno.tsv:kind"), "with --samples pheno.tsv --target kind: it is joined"),
        ((*GIVEN, "--covariates", "pheno.tsv"), "with --samples pheno.tsv --covariates COLUMN"),
        ((*GIVEN, "--force", "pheno.tsv:age"), "with --samples pheno.tsv --force age"),
    ],
)
def test_what_others_would_write_is_told_the_way(fails, tables, arguments, message):
    """A table of phenotypes would be given in the way of another program, to no avail."""
    assert message in fails("select", "rows.csv", "-k", "2", *arguments)


def test_names_that_do_not_fit_are_told_with_their_lines(fails, tables, tmp_path):
    """Of hundreds of lines nobody would find the one that is there twice."""
    table = tmp_path / "pheno.tsv"
    first, *lines = table.read_text().splitlines()
    sample = lines[3].split("\t")[1]
    table.write_text("\n".join([first, *lines, lines[3]]) + "\n")
    message = fails("select", "genes.csv", *GIVEN)
    assert f"the sample '{sample}' has several lines: 5, 43. Leave one" in message
    table.write_text("\n".join([first, *lines[:3], lines[3].replace("S", "s"), *lines[4:]]) + "\n")
    assert f"'{sample}' from 's{sample[1:]}' (line 5). Write the names in one way." in fails(
        "select", "genes.csv", *GIVEN
    )
    table.write_text("\n".join([first, *(line.replace("S", "Z") for line in lines)]) + "\n")
    message = fails("select", "genes.csv", *GIVEN)
    assert "no sample of the data is in it" in message
    assert "the rows of the data with 'g0' and their columns with 'S00'" in message


@pytest.mark.parametrize("data", ["genes.csv", *slow("rows.csv")])
def test_a_model_with_a_batch_is_looked_at_again(run, tables, tmp_path, data):
    """Reports and proofs of a model would be without its covariates of text, or be refused."""
    batch = ["B1", "B2", "B3"]
    lines = [f"S{i:02d}\t{KINDS[tables[1][i]]}\t{batch[i % 3]}\t{tables[2][i]}" for i in range(N)]
    (tmp_path / "batch.tsv").write_text("\n".join(["id\tkind\tbatch\tage", *lines]) + "\n")
    given = ("--samples", "batch.tsv", "--target", "kind")
    asked = (*given, "--covariates", "batch,age", "-k", 2, "--no-cv", "-o", "m.npz", "--json")
    selected = json.loads(run("select", data, *asked).stdout)
    document = json.loads(run("certify", "m.npz", data, *given, "--json").stdout)
    assert document["data"]["n_features"] == selected["data"]["n_features"]
    pytest.importorskip("matplotlib")
    quick = ("--pairs", 0, "--time-limit", 0, "--cv", 3)
    run("report", "m.npz", data, *given, *quick, "-o", "page.html")
    assert "batch=B2" in (tmp_path / "page.html").read_text()


def test_lines_that_lack_are_not_looked_for_one_by_one(run, tables, tmp_path, monkeypatch):
    """A join of tens of thousands of rows with text would read the file again for each of them."""
    from zeronorm.io import delimited as _fast_delimited

    X, kind, _ = tables
    lines = [f"S{i:02d},{float(X[i, 3])!r},{'ab'[i % 2]}" for i in range(N)]
    (tmp_path / "text.csv").write_text("\n".join(["id,g3,site", *lines]) + "\n")
    lines = [f"S{i:02d}\t{KINDS[kind[i]]}\t{i}" for i in range(1, N)]
    (tmp_path / "some.tsv").write_text("\n".join(["id\tkind\tage", *lines]) + "\n")
    looked = []
    find = _fast_delimited._Lines.__iter__
    monkeypatch.setattr(
        _fast_delimited._Lines, "__iter__", lambda own: looked.append(1) or find(own)
    )
    given = ("--samples", "some.tsv", "--target", "kind", "--covariates", "age")
    document, _ = chosen(run, "text.csv", "--id", "id", *given)
    assert document["data"]["n_samples"] == N - 1
    assert not looked


def test_a_table_of_which_nothing_is_used_is_told(run, tables, tmp_path):
    """A second table would be joined in vain, and its columns be looked for in the model."""
    lines = [f"S{i:02d}\t{i % 7}" for i in range(N)]
    (tmp_path / "more.tsv").write_text("\n".join(["id\tvisits", *lines]) + "\n")
    both = (*GIVEN, "--samples", "more.tsv")
    document, _ = chosen(run, "rows.csv", *both)
    unused = [note for note in document["notes"] if "is used" in note]
    assert unused == [
        "no column of more.tsv is used: name them with --target, --covariates or --force"
    ]
    for used in (("--covariates", "visits"), ("--where", "visits < 5")):
        document, _ = chosen(run, "rows.csv", *both, *used)
        assert not [note for note in document["notes"] if "is used" in note]


def test_a_period_that_is_kept_is_no_feature(run, tables, tmp_path):
    """A filter by date would take the dates out of the model without a word."""
    X, kind, _ = tables
    lines = [f"2024-{1 + i % 12:02d}-05,{float(X[i, 3])!r},{KINDS[kind[i]]}" for i in range(N)]
    (tmp_path / "dates.csv").write_text("\n".join(["seen,g3,kind", *lines]) + "\n")
    command = ("select", "dates.csv", "--target", "kind", "-k", 1, "--no-cv", "--json")
    notes = json.loads(run(*command, "--where", "seen >= '2024-03-01'").stdout)["notes"]
    assert "the column 'seen' is compared with text, and is no feature" in notes


@pytest.mark.parametrize("name", ["labels", "labels.npy", "several.npy"])
def test_labels_by_position_are_told_whatever_their_file_is_called(fails, tables, tmp_path, name):
    """A file without a suffix, or of several responses, would be taken as if it were a column."""
    X, kind, _ = tables
    labels = np.array(KINDS)[kind] if name != "several.npy" else X[:, :2] + 1.0
    if name == "labels":
        (tmp_path / name).write_text("\n".join(labels.tolist()) + "\n")
    else:
        np.save(tmp_path / name, labels)
    message = fails("select", "rows.csv", "--id", "sample", "--target", name, "-k", "2")
    assert f"the lines of --target {name} have none: their order may be another" in message


def test_a_column_is_no_file_of_its_name(run, tables, tmp_path):
    """A file that happens to have the name of a column would keep it from being the target."""
    _, kind, _ = tables
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    cells = ["kind", *(KINDS[one] for one in kind)]
    (tmp_path / "own.csv").write_text(
        "\n".join(f"{line},{cell}" for line, cell in zip(lines, cells, strict=True)) + "\n"
    )
    (tmp_path / "kind").write_text("other\n" * N)
    (tmp_path / "g1").write_text("other\n")
    given = ("--id", "sample", "--target", "kind", "--covariates", "g1")
    document, _ = chosen(run, "own.csv", *given)
    assert document["data"]["class_counts"].keys() == {*KINDS}


def test_only_what_may_be_turned_is_read_twice(fails, tables, tmp_path, monkeypatch):
    """A bad cell in a file of gigabytes would be told after twice the time."""
    from zeronorm.io import input as read_input

    monkeypatch.setattr(read_input, "across_hint", lambda *_: " HINT")
    text = (tmp_path / "joined.csv").read_text()
    (tmp_path / "bad.csv").write_text(text.replace("ALL\n", ",\n", 1))
    assert "HINT" not in fails("select", "bad.csv", "--target", "kind", "-k", "2")
    assert "HINT" in fails("select", "joined.csv", "--target", "sort", "-k", "2")


@pytest.mark.parametrize("data", ["rows.csv", "genes.csv"])
def test_names_that_differ_by_blanks_are_told_of_models_too(run, fails, tables, tmp_path, data):
    """Genes were taken for the samples, and a remedy was offered that no command has there."""
    run("select", data, *GIVEN, "-k", "2", "--no-cv", "--quiet", "-o", "m.npz")
    text = (tmp_path / "pheno.tsv").read_text()
    (tmp_path / "other.tsv").write_text(text.replace("\tS", "\ts "))
    for command in ("predict", "evaluate"):
        said = fails(command, "m.npz", data, "--samples", "other.tsv")
        assert f"{data}: 40 samples differ by case or blanks alone from a name in other.tsv" in said
        assert re.search(
            r"as 'S\d\d' from 's \d\d' \(line \d+\)\. Write the names in one way", said
        )


@pytest.mark.parametrize("data", ["rows.csv", "genes.csv"])
def test_a_table_of_other_samples_is_told(run, fails, tables, tmp_path, data):
    """New samples with the table of the old ones: genes were taken for samples."""
    run("select", data, *GIVEN, "-k", "2", "--no-cv", "--quiet", "-o", "m.npz")
    genes = (tmp_path / data).read_text().replace("S", "N")
    (tmp_path / "new.csv").write_text(genes.replace("g5,", "g4,") if data == "genes.csv" else genes)
    for command in ("predict", "evaluate"):
        said = fails(command, "m.npz", "new.csv", "--samples", "pheno.tsv")
        assert "pheno.tsv: no sample of the data is in it" in said
        assert "the rows of the data with 'N00' and their columns with 'g0'" in said


def test_the_data_are_no_table_of_their_samples(run, fails, tables):
    """Their rows would be looked for in themselves."""
    run("select", "genes.csv", *GIVEN, "-k", "2", "--no-cv", "--quiet", "-o", "m.npz")
    for given in (
        ("predict", "m.npz", "genes.csv"), ("evaluate", "m.npz", "genes.csv"),
        ("select", "genes.csv", "--target", "kind"),
    ):  # fmt: skip
        said = fails(*given, "--samples", "genes.csv")
        assert "--samples genes.csv is DATA itself; name a table with a line for each" in said


@pytest.mark.parametrize("data", ["rows.csv", "genes.csv"])
def test_a_wrong_column_of_a_table_is_told_with_the_table(run, fails, tables, data):
    """The data were blamed, and nothing like the name is in them."""
    run("select", data, *GIVEN, "-k", "2", "--no-cv", "--quiet", "-o", "m.npz")
    nearest = f"pheno.tsv: no column {{!r}}, and none in {data}. Did you mean {{!r}}"
    given = ("--samples", "pheno.tsv", "--target")
    chosen = ("select", data, "-k", 2, "--no-cv", *given)
    for wrong, right, line in (
        ("kidn", "kind", (*chosen, "kidn")),
        ("kidn", "kind", ("predict", "m.npz", data, *given, "kidn")),
        ("kidn", "kind", ("evaluate", "m.npz", data, *given, "kidn")),
        ("agee", "age", (*chosen, "kind", "--where", "agee > 1")),
        (
            "agee",
            "age",
            ("predict", "m.npz", data, "--samples", "pheno.tsv", "--where", "agee > 1"),
        ),
        ("agee", "age", ("select", data, *given[:2], "--time", "agee", "--event", "kind")),
    ):
        assert nearest.format(wrong, right) in fails(*line)
    for id in ("idd", "sampl"):  # of the data, whatever the table has
        assert f"{data}: no column {id!r}." in fails(*chosen, "kind", "--id", id)
    for option in ("--covariates", "--force"):
        said = fails(*chosen, "kind", option, "agee")
        assert f"{option}: no column 'agee' in pheno.tsv, and no feature of {data}. Did" in said
        assert "Did you mean 'age'?" in said
        assert f"{option}: no feature 'g99'" in fails(*chosen, "kind", option, "g99")


def test_a_target_without_its_table_is_told_where_it_may_be(run, fails, tables, tmp_path):
    """The file of the genes has no such column, and nothing says that another file has it."""
    run("select", "genes.csv", *GIVEN, "-k", "2", "--no-cv", "--quiet", "-o", "m.npz")
    header, *lines = (tmp_path / "genes.csv").read_text().splitlines()
    more = [line.replace("g", f"{name}", 1) for name in "hijk" for line in lines]
    (tmp_path / "tall.csv").write_text("\n".join([header, *lines, *more]) + "\n")
    for command in ("predict", "evaluate"):
        said = fails(command, "m.npz", "tall.csv", "--target", "kind")
        assert "tall.csv: no column 'kind'. Where features are in the rows" in said
        assert "name a table of the samples with --samples FILE --target kind" in said


def test_a_table_without_a_covariate_of_the_model_is_told(run, fails, tables, tmp_path):
    """The data were blamed, which never had it, and a column of almost its name was not seen."""
    given = (*GIVEN, "--covariates", "age", "-k", "2", "--no-cv", "--quiet", "-o", "m.npz")
    run("select", "genes.csv", *given)
    text = (tmp_path / "pheno.tsv").read_text()
    (tmp_path / "other.tsv").write_text(text.replace("age\t", "Age\t"))
    for command in ("predict", "evaluate"):
        said = fails(command, "m.npz", "genes.csv", "--samples", "other.tsv")
        assert (
            "genes.csv, other.tsv: the model needs the feature 'age', which is not there." in said
        )
        assert said.endswith("Did you mean 'Age'?")


def described(tmp_path, first=False):
    """Write genes in rows with a column of text, one that is empty, and calls of one name."""
    head, *lines = (tmp_path / "genes.csv").read_text().splitlines()
    begin, rest = (lambda j: f"kinase {j // 3},"), (lambda j: "")
    if not first:
        begin, rest = rest, lambda j: f"kinase {j // 3},"
    heads = ("about,", "") if first else ("", "about,")
    gene, names = head.split(",", 1)
    text = [f"{heads[0]}{gene},{heads[1]}empty,{names},call,call"]
    for j, line in enumerate(lines):
        gene, cells = line.split(",", 1)
        text.append(f"{begin(j)}{gene},{rest(j)},{cells},{'AP'[j % 2]},{'AM'[j % 2]}")
    (tmp_path / "described.csv").write_text("\n".join(text) + "\n")


@pytest.mark.parametrize("first", [False, True])
def test_columns_that_describe_features_are_no_samples(run, tables, tmp_path, first):
    """Descriptions had to be dropped by hand, and new samples beside them could not be predicted;
    where they stand first, features had their names."""
    described(tmp_path, first)
    document, found = chosen(run, "described.csv", *GIVEN, "-o", "m.npz")
    _, wanted = chosen(run, "genes.csv", *GIVEN, "-o", "other.npz")
    assert found == wanted
    notes = " ".join(document["notes"])
    assert "4 columns of described.csv without numbers are no samples, and left out:" in notes
    assert "40 of 40 samples are in pheno.tsv" in notes
    rows = run("predict", "m.npz", "described.csv", "-o", "-").stdout
    assert rows == run("predict", "other.npz", "genes.csv", "-o", "-").stdout
    assert len(rows.splitlines()) == N + 1
    given = ("m.npz", "described.csv", "--samples", "pheno.tsv", "--json")
    assert json.loads(run("evaluate", *given).stdout)["data"]["n_samples"] == N


def test_numbers_that_are_no_samples_are_named(run, tables, tmp_path):
    """The length of the genes would be a patient without a label, of whom nobody knows."""
    first, *lines = (tmp_path / "genes.csv").read_text().splitlines()
    lines = [f"{line},{1000 + j}" for j, line in enumerate(lines)]
    (tmp_path / "genes.csv").write_text("\n".join([f"{first},length", *lines]) + "\n")
    said = run("select", "genes.csv", *GIVEN, "-k", "2", "--no-cv", "--no-save").stderr
    assert "since 40 of its columns are samples of --samples, and 1 is not ('length')" in said


def test_a_sample_with_a_spoilt_cell_is_no_description(run, fails, tables, tmp_path):
    """A patient whose column has a slip, or nothing at all, would silently be left out."""
    text = (tmp_path / "genes.csv").read_text()
    lines = [line.split(",") for line in text.splitlines()]
    lines[4][7] = "n.d."
    (tmp_path / "genes.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    assert f"column '{lines[0][7]}', line 5: 'n.d.'" in fails("select", "genes.csv", *GIVEN)
    for line in lines[1:]:
        line[7] = ""
    (tmp_path / "genes.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    assert f"sample '{lines[0][7]}'" in fails("select", "genes.csv", *GIVEN)


def test_tables_in_other_encodings_with_decimal_commas(run, fails, tables, tmp_path):
    """What a spreadsheet writes in German could be the data, and no table beside them."""
    first, *lines = (tmp_path / "pheno.tsv").read_text().splitlines()
    cells = [line.split("\t") for line in lines]
    text = ["Alter;Probe;Größe;kind"]
    text += [f"{age},5;{name};{'NA' if row == 3 else '170,25'};{kind}"
             for row, (age, name, kind) in enumerate(cells)]  # fmt: skip
    (tmp_path / "german.csv").write_bytes("\r\n".join(text).encode("cp1252"))
    (tmp_path / "points.tsv").write_text("\n".join([first, *(
        f"{age}.5\t{name}\t{kind}" for age, name, kind in cells)]))  # fmt: skip
    given = ("genes.csv", "--samples", "german.csv", "--target", "kind", "--covariates", "Alter")
    assert "say --encoding NAME" in fails("select", *given)
    document, found = chosen(run, *given, "--encoding", "cp1252")
    points = ("genes.csv", "--samples", "points.tsv", "--target", "kind", "--covariates", "age")
    assert found == chosen(run, *points)[1]
    assert "german.csv: numbers with a decimal comma" in " ".join(document["notes"])
    where = ("--encoding", "cp1252", "--where", "Größe > 170.1")
    assert chosen(run, *given, *where)[0]["data"]["n_samples"] == N - (cells[3][1] != "X1")


def test_tables_in_workbooks(run, tables, tmp_path):
    """Phenotypes in a workbook had to be saved as text, though data in one are read."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for line in (tmp_path / "pheno.tsv").read_text().splitlines():
        age, *rest = line.split("\t")
        book.active.append([int(age) if age.isdigit() else age, *rest, None])
    book.save(tmp_path / "pheno.xlsx")
    given = ("--samples", "pheno.xlsx", *GIVEN[2:], "--covariates", "age")
    _, found = chosen(run, "genes.csv", *given)
    assert found == chosen(run, "genes.csv", *GIVEN, "--covariates", "age")[1]


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "jsonl.gz"])
def test_tables_of_any_format_say_the_same(run, tables, tmp_path, kind):
    """Phenotypes out of a data frame or a database had to be saved as text first."""
    lines = [line.split("\t") for line in (tmp_path / "pheno.tsv").read_text().splitlines()]
    rows = [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
    typed = [{**row, "age": int(row["age"]), "drawn": None, "frozen": True} for row in rows]
    typed[3]["drawn"] = 0.25
    if kind == "parquet":
        pl = pytest.importorskip("polars")
        day = datetime.datetime(2024, 5, 31)
        pl.DataFrame([{**row, "day": day} for row in typed]).write_parquet(tmp_path / "p.parquet")
    else:
        content = "".join(json.dumps(row) + "\n" for row in typed).encode()
        packed = gzip.compress(content) if kind.endswith("gz") else content
        (tmp_path / f"p.{kind}").write_bytes(packed)
    given = ("--samples", f"p.{kind}", *GIVEN[2:], "--covariates", "age", "--where", "age >= 21")
    _, found = chosen(run, "genes.csv", *given)
    assert found == chosen(run, "genes.csv", *GIVEN, *given[4:])[1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.jsonl", '{"id": "S01", "kind": "A"}\n{"id": "S02", "sort": "B"}\n',
         "line 2: the key 'sort' is not on the first line"),
        ("p.json", '[{"id": "S01"}]', "JSON must be lines with an object each"),
        ("p.parquet", "PAR1 and no more", "p.parquet: not a readable Parquet file"),
    ],
)  # fmt: skip
def test_tables_that_are_damaged_are_told(fails, tables, tmp_path, name, content, message):
    """A traceback of a library, or samples without their values, would be the answer."""
    (tmp_path / name).write_text(content)
    said = fails("select", "rows.csv", "--samples", name, "--target", "kind", "-k", "2")
    assert message in said


def test_tables_are_read_once(run, tables, monkeypatch):
    """Tables of hundred thousands of people would be parsed four times."""
    from zeronorm.io import samples as _sample_file

    asked, parsed = _sample_file._rows_of, []
    monkeypatch.setattr(
        _sample_file, "_rows_of", lambda *given: parsed.append(given[0]) or asked(*given)
    )
    run("select", "genes.csv", *GIVEN, "-k", "2", "--no-cv", "--quiet", "-o", "m.npz")
    assert len(parsed) == 1
    run("evaluate", "m.npz", "genes.csv", *GIVEN[:2], "--quiet")
    assert len(parsed) == 2


def test_transpose_beside_a_table_is_sent_away(fails, tables):
    """Who has the table would be told to write one."""
    message = fails("select", "genes.csv", *GIVEN, "--transpose")
    assert "--transpose cannot be with --samples, which shows by itself that features" in message
    assert "leave out --transpose" in message


def test_forced_columns_of_a_table_are_there_to_verify(run, tables):
    """A certificate could not be checked: a feature of its model would be missing."""
    given = ("rows.csv", "--samples", "pheno.tsv", "--target", "kind")
    run("select", *given, "-k", 2, "--force", "age", "--no-cv", "-q", "--certificate", "c.npz")
    said = run("verify", "c.npz", given[0], *given[1:]).stdout
    assert "forced: age" in said
    assert "recomputed: objective" in said


def with_batches(tmp_path, kind, age):
    """Write a table of the samples, in another order, with ages and a column of text."""
    lines = [f"S{i:02d}\t{KINDS[kind[i]]}\tB{i % 3}\t{age[i]}" for i in reversed(range(N))]
    (tmp_path / "batch.tsv").write_text("\n".join(["id\tkind\tbatch\tage", *lines]) + "\n")
    return "--samples", "batch.tsv", "--target", "kind"


@pytest.mark.parametrize("data", ["rows.csv", "genes.csv"])
def test_a_model_with_forced_columns_is_certified_proven_and_reported(run, tables, tmp_path, data):
    """What --force took of the table would not be joined, and no command know the features."""
    X, kind, age = tables
    given = with_batches(tmp_path, kind, age)
    asked = ("--force", "age", "--force", "batch", "-k", 6, "--no-cv", "--no-calibrate", "--json")
    files = ("-o", "m.npz", "--certificate", "s.npz")
    (model,) = json.loads(run("select", data, *given, *asked, *files).stdout)["models"]
    levels = [np.arange(N) % 3 == one for one in range(3)]
    beside = np.column_stack([X, age, *levels]).astype(float)
    support = sorted(one["index"] for one in model["features"])
    forced = [P, P + 1, P + 2, P + 3]
    problem = BudgetClassifier(6, forced_features=forced, C=0.1, calibrate=False)
    wanted = certify(support, beside, kind, problem=problem)
    for command in ("certify", "prove"):
        call = (command, "m.npz", data, *given[:2], "--certificate", "c.npz", "--json")
        claim = json.loads(run(*call).stdout)["certificate"]
        assert claim["n_forced"] == 4
        np.testing.assert_allclose(claim["objective"], wanted.objective, rtol=1e-6)
        for file in ("c.npz", "s.npz"):
            said = run("verify", file, data, *given[:2]).stdout
            assert "forced: age, batch=B0, batch=B1, batch=B2" in said
    pytest.importorskip("matplotlib")
    quick = ("--pairs", 0, "--time-limit", 0, "--cv", 3)
    run("report", "m.npz", data, *given[:2], *quick, "-o", "page.html")
    assert "batch=B2" in (tmp_path / "page.html").read_text()


def test_lists_may_have_columns_of_tables_and_single_levels(run, fails, tables, tmp_path):
    """A list from anywhere that has a column of the table could not be certified."""
    given = with_batches(tmp_path, *tables[1:])

    def claim(features):
        document = json.loads(run("certify", features, "genes.csv", *given, "--json").stdout)
        names = [one["name"] for one in document["features"]]
        return names, document["certificate"]["n_forced"]

    assert claim("g3,age,batch=B1") == (["g3", "age", "batch=B1"], 2)
    assert claim("g3,batch") == (["g3", "batch=B0", "batch=B1", "batch=B2"], 3)
    assert claim("g3,g5") == (["g3", "g5"], 0)
    said = fails("certify", "g3,batch=B7", "genes.csv", *given)
    assert "no feature 'batch=B7'. Did you mean 'batch=B" in said


def test_features_in_rows_on_standard_input(run, piped, tables, tmp_path):
    """What comes out of a pipe would be refused, or be taken with genes for samples."""
    genes = (tmp_path / "genes.csv").read_bytes()
    options = ("-k", "2", "--no-cv", "--no-calibrate", "--json", "-o", "m.npz")
    result = piped(genes, "select", "-", *GIVEN, *options)
    document = json.loads(result.stdout)
    _, wanted = chosen(run, "genes.csv", *GIVEN)
    (model,) = document["models"]
    assert [(one["name"], one["coefficient"]) for one in model["features"]] == wanted
    assert any("are in the rows of standard input, since 40" in one for one in document["notes"])
    for given in ((), GIVEN[:2]):
        rows = piped(genes, "predict", "m.npz", "-", *given, "-o", "-").stdout
        assert rows == run("predict", "m.npz", "genes.csv", *given, "-o", "-").stdout


def test_labels_of_columns_on_standard_input(piped, labels, tmp_path):
    """--transpose would read a pipe that is empty by then, and none would be told of it."""
    genes = (tmp_path / "genes.csv").read_bytes()
    given = ("select", "-", "--target", "labels.txt", "-k", "2", "--no-cv", "--no-save")
    said = piped(genes, *given, code=2).stderr
    assert "standard input has 40 columns of numbers: where features are in the rows, say" in said
    shown = piped(genes, *given, "--transpose", "--by-position", "--no-calibrate").stdout
    assert "40 samples" in shown
    assert "12 features" in shown


def test_hdf5_of_a_pipe_is_refused_beside_tables_too(piped, tables):
    """Blocks would be read of a file that is gone."""
    h5py = pytest.importorskip("h5py")
    with h5py.File("x.h5", "w") as file:
        file["X"] = tables[0]
    content = pathlib.Path("x.h5").read_bytes()
    said = piped(content, "select", "-", *GIVEN, "-k", "2", code=2).stderr
    assert "standard input: HDF5 is read where it lies; name the file." in said


@pytest.mark.parametrize("way", ["samples", "transpose", "pipe"])
def test_features_in_rows_become_a_store(run, piped, tables, tmp_path, way):
    """A store would have genes for its samples, or had to be made of a copy in another form."""
    X, kind, age = tables
    given = {"transpose": ("--transpose",)}.get(way, (*GIVEN, "--keep", "age"))
    if way == "pipe":
        genes = (tmp_path / "genes.csv").read_bytes()
        shown = piped(genes, "convert", "-", "g.zarr", *given, "--json").stdout
    else:
        shown = run("convert", "genes.csv", "g.zarr", *given, "--json").stdout
    document = json.loads(shown)
    assert document["shape"] == [N, P]
    assert document["columns"] == ([] if way == "transpose" else ["kind", "age"])
    table = read_table("g.zarr", None if way == "transpose" else "kind")
    np.testing.assert_array_equal(np.asarray(as_design(table.X).gather(slice(None))), X)
    assert table.sample_names == [f"S{i:02d}" for i in range(N)]
    if way != "transpose":
        assert table.y.tolist() == [KINDS[one] for one in kind]
        found = read_table("g.zarr", "age").y
        assert found.tolist() == age.tolist()


def test_what_a_store_cannot_join_is_told(fails, tables, tmp_path):
    """The text of a column of names would be taken for a category, or a table for nothing."""
    given = ("convert", "genes.csv", "g.zarr")
    (tmp_path / "many.csv").write_text(
        "gene,a,b\n" + "".join(f"name{row},{row},{row + 1}\n" for row in range(60))
    )
    said = fails("convert", "many.csv", "g.zarr")
    assert said.endswith(" and samples are in the columns, say --transpose.")
    assert "name its columns with --target or --keep" in fails(*given, *GIVEN[:2])
    said = fails(*given, "--transpose", "--target", "kind")
    assert "--transpose cannot be with --target; put what is known of the samples" in said
    assert "no column 'sort', and none in genes.csv" in fails(*given, *GIVEN, "--keep", "sort")
    assert not (tmp_path / "g.zarr").exists()


def test_a_store_keeps_columns_of_the_data_beside_tables(run, tables, tmp_path):
    """A column of the data that --keep names would be a feature of the store."""
    given = ("convert", "rows.csv", "g.zarr", *GIVEN, "--keep", "age,g1", "--json")
    document = json.loads(run(*given).stdout)
    assert document["columns"] == ["kind", "g1", "age"]
    assert document["shape"] == [N, P - 1]
    np.testing.assert_array_equal(read_table("g.zarr", "g1").y, tables[0][:, 1])


def test_a_sheet_of_a_workbook_is_a_table_of_samples(run, fails, tables, tmp_path):
    """The first sheet would be joined, or no sample be found in it."""
    openpyxl = pytest.importorskip("openpyxl")
    rows = [line.split("\t") for line in pathlib.Path("pheno.tsv").read_text().splitlines()]
    book = openpyxl.Workbook()
    book.active.append(["nothing"])
    sheet = book.create_sheet("Samples")
    for row in [["Table 1"], [], *rows]:
        sheet.append(row)
    book.save("pheno.xlsx")
    given = (*GIVEN[2:], "-k", "2", "--no-cv", "--quiet")
    one, two = ["--samples", "pheno.tsv"], ["--samples", "pheno.xlsx:Samples"]
    run("select", "genes.csv", *one, *given, "-o", "one.npz")
    run("select", "genes.csv", *two, *given, "-o", "two.npz")
    models = [load(name) for name in ("one.npz", "two.npz")]
    assert models[0].support_.tolist() == models[1].support_.tolist()
    said = fails("select", "genes.csv", "--samples", "pheno.xlsx:Sample", *given)
    assert "pheno.xlsx: no sheet 'Sample'. Did you mean 'Samples'?" in said


def test_only_keeps_the_names_of_the_samples(tables, tmp_path, monkeypatch):
    """The column that names the samples would be lost, and with it the table of the samples."""
    monkeypatch.chdir(tmp_path)
    for only, names in ((["g1", "g2"], ["g1", "g2"]), ("g1?", ["g10", "g11"])):
        found = read_table("rows.csv", "kind", samples="pheno.tsv", only=only)
        assert found.feature_names == names
        assert found.sample_names == [f"S{i:02d}" for i in range(N)]
    found = read_table("rows.csv", "kind", samples="pheno.tsv", only="g2", covariates="age")
    assert found.feature_names == ["g2", "age"]
    found = read_table("rows.csv", "kind", samples="pheno.tsv", only="g2", where="g1 > 0")
    assert 0 < len(found.sample_names) < N
    assert found.notes[0].startswith(f"kept {len(found.sample_names)} of {N} rows (g1 > 0)")


@pytest.mark.parametrize("what", ["covariates", "force"])
def test_python_refuses_names_of_no_feature(tables, tmp_path, monkeypatch, what):
    """A model without the covariate that was asked for would look as if it had it."""
    monkeypatch.chdir(tmp_path)
    for given, words in (
        ({what: "g33"}, f"^{what}: no feature 'g33'. Did you mean"),
        ({what: ["g1", "g3"], "only": "g1"}, "'g3'.*Features are those of only alone"),
        ({what: "g1,g3"}, "no feature 'g1,g3'"),
    ):
        with pytest.raises(ValueError, match=words):
            read_table("joined.csv", "kind", **given)
        with pytest.raises(ValueError, match=words):
            read_table("rows.csv", "kind", samples="pheno.tsv", **given)
    with pytest.raises(ValueError, match="no feature 'gene'"):
        read_table("demo", **{what: "gene"})
    np.save("x.npy", np.eye(3))
    assert read_table("x.npy", **{what: "2"}).X.shape == (3, 3)
    with pytest.raises(ValueError, match=f"{what} must be between 0 and 2"):
        read_table("x.npy", **{what: "3"})


def test_like_says_alone_what_is_a_feature(tables, tmp_path, monkeypatch):
    """Columns would be left out, or filled, for a model that does not hear of it."""
    monkeypatch.chdir(tmp_path)
    like = read_table("joined.csv", "kind", only=["g1", "g2"])
    assert read_table("joined.csv", like=like).feature_names == ["g1", "g2"]
    for given in ("drop", "only", "covariates", "force"):
        with pytest.raises(ValueError, match=f"like says what is a feature; leave out {given}"):
            read_table("joined.csv", like=like, **{given: "g1"})
    with pytest.raises(ValueError, match="leave out missing"):
        read_table("joined.csv", like=like, missing="mean")
