"""Files as people have them: standard input, JSON lines, parts, chosen rows; and predictions."""

import ast
import csv
import gzip
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from zeronorm.core.files import FileError, MissingFeaturesError, MissingFileError
from zeronorm.io import read_blocks, read_table
from zeronorm.io.encoding import Coding
from zeronorm.io.store import write_store
from zeronorm.io.table import Layout, TableRequest, Where
from zeronorm.persistence import load

N, P = 60, 5
LOST = "the column 'batch' is compared with text, and is no feature"


def made(seed=0):
    """Rows of a table: an id, a batch, features, a label, a number that features explain."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P)).round(3)
    return [
        {
            "id": f"s{i}",
            "batch": "B1" if i % 2 else "B 2",
            **{f"x{j}": value for j, value in enumerate(x.tolist())},
            "y": "case" if x[1] - x[3] > 0 else "control",
        }
        for i, x in enumerate(X)
    ]


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_table(path, rows, delimiter=","):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_parquet(path, rows):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({key: [row[key] for row in rows] for key in rows[0]}), path)
    return path


WRITERS = {"csv": write_table, "jsonl": write_lines, "parquet": write_parquet}


def same(one, other):
    """Whether two tables hold the same."""
    return (
        np.array_equal(one.X, other.X)
        and np.array_equal(one.y, other.y)
        and one.feature_names == other.feature_names
        and one.sample_names == other.sample_names
    )


@pytest.fixture
def model(run, tmp_path):
    """A model of the rows, of features alone."""
    data = write_table(tmp_path / "train.csv", made())
    chosen = ("--id", "id", "--drop", "batch", "--target", "y", "--no-cv", "-o", "m.npz")
    run("select", data, "-k", 2, *chosen, "--certificate", "c.npz", "--quiet")
    return tmp_path / "m.npz"


# --- JSON lines ----------------------------------------------------------------------------


def test_json_lines_are_a_table(tmp_path):
    """Keys in another order, another first line or blank lines would change the table."""
    rows = made()
    expected = read_table(write_table(tmp_path / "a.csv", rows), "y", id="id", drop=["batch"])
    turned = [rows[0], *(dict(reversed(row.items())) for row in rows[1:])]
    for name in ("a.jsonl", "a.ndjson", "a"):
        path = write_lines(tmp_path / name, turned)
        assert same(read_table(path, "y", id="id", drop=["batch"]), expected)
    content = path.read_bytes().replace(b"\n", b"\r\n\r\n")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + content))
    assert same(read_table(tmp_path / "b.jsonl.gz", "y", id="id", drop=["batch"]), expected)


def test_a_key_that_lines_lack_is_missing_and_never_zero(run, fails, tmp_path):
    """A model would be trained on zeros, or predict by the means of a key that no line has."""
    rows = made()
    for row in rows[1::3]:
        del row["x3"]
    data = write_lines(tmp_path / "a.jsonl", rows)
    given = ("-k", 2, "--target", "y", "--id", "id", "--drop", "batch", "--no-cv")
    said = "A key that a line lacks is a missing value; where it means 0, write 0."
    message = fails("select", data, *given)
    assert "column 'x3', line 2: a value is missing (20 of 60)" in message
    assert said in message
    run("select", data, *given, "--missing", "mean", "-o", "m.npz")
    model = load("m.npz")
    assert "x3" in model.feature_names
    run("predict", "m.npz", data, "-o", "a.csv")
    null = write_lines(tmp_path / "null.jsonl", [{"x3": None, **row} for row in rows])
    # What the first line lacks is found below, in any order.
    turned = write_lines(tmp_path / "turned.jsonl", [rows[1], *rows])
    for other, start in ((null, 1), (turned, 2)):
        run("predict", "m.npz", other, "-o", "b.csv")
        lines = Path("b.csv").read_text().splitlines()
        assert lines[start:] == Path("a.csv").read_text().splitlines()[1:]
    assert json.loads(run("evaluate", "m.npz", turned, "--json").stdout)["data"]["n_samples"] == 61

    absent = [{key: row[key] for key in row if key != "x3"} for row in rows]
    none = write_lines(tmp_path / "none.jsonl", absent)
    for command in ("predict", "evaluate"):
        message = fails(command, "m.npz", none)
        assert "none.jsonl: the model needs the feature 'x3', which is not there" in message
    # A model that was trained without gaps knows no mean for them.
    full = write_lines(tmp_path / "full.jsonl", made())
    run("select", full, *given, "-o", "f.npz")
    assert said in fails("predict", "f.npz", data)


def test_a_key_is_looked_for_on_the_first_lines_alone(tmp_path):
    """All of a long stream would be held in memory for a key that it lacks."""
    rows = [{"a": 1.0}] * 40 + [{"a": 1.0, "b": 2.0}]
    data = write_lines(tmp_path / "a.jsonl", rows)
    gaps = Coding("b", "number", gaps="mean", fill=5.0)
    request = TableRequest(like=Layout(2, ["a", "b"], codings={"b": gaps}))
    blocks = [table.X for table in read_blocks(data, request, 50)]
    assert np.concatenate(blocks)[:, 1].tolist() == [5.0] * 40 + [2.0]
    with pytest.raises(MissingFeaturesError, match="the feature 'b', which is not there"):
        next(read_blocks(data, request, 30))


# --- standard input ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WRITERS)
def test_standard_input_is_data(piped, model, tmp_path, kind):
    """What predicts from a file would predict something else from a pipe."""
    path = WRITERS[kind](tmp_path / f"new.{kind}", made(1))
    given = ("--id", "id")
    file = json.loads(piped(b"", "predict", model, path, *given, "--json").stdout)
    pipe = json.loads(piped(path.read_bytes(), "predict", model, "-", *given, "--json").stdout)
    assert pipe.pop("data") | {"source": 0} == file.pop("data") | {"source": 0}
    assert pipe == file
    assert file["accuracy"] > 0.8


def test_predictions_go_to_a_pipe(piped, model, tmp_path):
    """Anything beside the predictions would break what reads them."""
    rows = made(1)
    lines, table = write_lines(tmp_path / "a.jsonl", rows), write_table(tmp_path / "a.csv", rows)
    out = piped(lines.read_bytes(), "predict", model, "-", "--id", "id", "-o", "-").stdout
    found = [json.loads(line) for line in out.splitlines()]
    assert [row["sample"] for row in found] == [row["id"] for row in rows]
    out = piped(table.read_bytes(), "predict", model, "-", "--id", "id", "-o", "-").stdout
    assert [*csv.DictReader(io.StringIO(out))] == found
    said = piped(b"", "predict", model, table, "-o", "-", "--json", code=2).stderr
    assert "--json and --output - both go to stdout" in said


def test_select_and_convert_from_standard_input(piped, model, tmp_path):
    """A pipe would have no name that a model could be written by."""
    content = (tmp_path / "train.csv").read_bytes()
    given = ("--id", "id", "--drop", "batch", "--target", "y")
    piped(content, "select", "-", "-k", 2, *given, "--no-cv")
    assert (tmp_path / "input-k2.model.npz").exists()
    assert piped(content, "verify", "c.npz", "-", "--drop", "batch").exit_code == 0
    assert "no samples" in piped(b"\n\n", "predict", model, "-", code=2).stderr
    assert "is empty" in piped(b"", "predict", model, "-", code=2).stderr


# --- parts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WRITERS)
def test_parts_are_one_table(tmp_path, kind):
    """Rows would be lost, doubled or in an order that nobody expects."""
    rows = made()
    given = {"id": "id", "drop": ["batch"]}
    expected = read_table(WRITERS[kind](tmp_path / f"all.{kind}", rows), "y", **given)
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, start in ((2, 0), (10, 20), (11, 40)):
        part = rows[start : start + 20]
        if number == 10:  # another order of the columns
            part = [dict(reversed(row.items())) for row in part]
        WRITERS[kind](folder / f"part-{number}.{kind}", part)
    assert same(read_table(folder / f"part-*.{kind}", "y", **given), expected)
    if kind == "parquet":
        assert same(read_table(folder, "y", **given), expected)


def test_rows_of_parts_are_kept(run, model, tmp_path):
    """A part without any of the rows would end the reading, or count for nothing."""
    rows = made()
    write_table(tmp_path / "p1.csv", [row for row in rows if row["batch"] == "B1"])
    write_table(tmp_path / "p2.csv", [row for row in rows if row["batch"] != "B1"])
    table = read_table(tmp_path / "p*.csv", "y", id="id", where="batch == 'B 2'")
    assert table.X.shape == (N // 2, P)
    assert table.notes == ("kept 30 of 60 rows (batch == 'B 2')", LOST)
    given = ("--where", "batch == 'B 2'", "-o", "out.csv")
    assert "kept 30 of 60 rows" in run("predict", model, tmp_path / "p*.csv", *given).stderr
    with pytest.raises(FileError, match="no samples are left: kept 0 of 60 rows"):
        read_table(tmp_path / "p*.csv", "y", id="id", where="batch == 'B3'")


def test_parts_must_be_alike(tmp_path):
    """A column that one part lacks would be filled with anything, or shift the others."""
    write_table(tmp_path / "p1.csv", [{"a": 1, "b": 2, "y": 0}, {"a": 2, "b": 2, "y": 1}])
    for rows, message in (
        ([{"a": 1, "y": 0}], r"p2\.csv: no column 'b', which p1\.csv has"),
        ([{"a": 1, "b": 1, "c": 2, "y": 0}], r"p2\.csv: the column 'c' is not in p1\.csv"),
        ([{"a": 1, "b": 1, "y": "no"}], r"p2\.csv: the target is text here"),
        (
            [{"a": 1, "b": "no", "y": 1}],
            r"p2\.csv: the column 'b' is text here, and numbers in p1\.csv",
        ),
    ):
        write_table(tmp_path / "p2.csv", rows)
        with pytest.raises(FileError, match=message):
            read_table(tmp_path / "p*.csv", "y")
    with pytest.raises(MissingFileError, match="no such files"):
        read_table(tmp_path / "q*.csv", "y")
    with pytest.raises(FileError, match="a directory; name a file in it"):
        read_table(tmp_path, "y")


def test_commands_take_parts(run, model, tmp_path):
    """select, verify, path and predict would each know another set of files."""
    rows = made()
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(3):
        write_parquet(folder / f"part-{number}.parquet", rows[20 * number : 20 * number + 20])
    given = ("--id", "id", "--drop", "batch", "--target", "y")
    for data in (folder, f"{folder}/part-*.parquet"):
        run("verify", "c.npz", data, "--drop", "batch")
        assert "60 samples" in run("path", data, *given, "--points", 5).stdout
        found = json.loads(run("predict", model, data, "--json").stdout)
        assert len(found["predictions"]) == found["data"]["n_samples"] == N
        assert found["accuracy"] > 0.8
        run("select", data, "-k", 2, *given, "--no-cv")
    assert (tmp_path / "part-k2.model.npz").exists()


@pytest.mark.parametrize("kind", WRITERS)
def test_convert_takes_pipes_and_parts(piped, tmp_path, monkeypatch, kind):
    """A store would have other rows than the files, or go on from those of other files."""
    monkeypatch.chdir(tmp_path)
    rows = made()
    whole = WRITERS[kind](tmp_path / f"all.{kind}", rows)
    given = ("--id", "id", "--drop", "batch", "--target", "y")
    piped(whole.read_bytes(), "convert", "-", "pipe.zarr", *given)
    for number, start in enumerate((0, 30)):
        WRITERS[kind](tmp_path / f"part-{number}.{kind}", rows[start : start + 30])
    piped(b"", "convert", f"part-*.{kind}", "parts.zarr", *given)
    expected = read_table(whole, "y", id="id", drop=["batch"])
    for name in ("pipe.zarr", "parts.zarr"):
        table = read_table(name, "y")
        assert np.array_equal(table.X.gather(np.arange(P)), expected.X)
        assert table.y.tolist() == expected.y.tolist()
        assert table.sample_names == expected.sample_names


# --- rows that are kept --------------------------------------------------------------------


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("target", ["income of all", "y"])
def test_rows_without_a_target_are_left_out_by_what_the_error_says(tmp_path, kind, target):
    """The error said to drop them, and the command had no way that did not lose the column."""
    rows = [{**row, "income of all": row["x0"] + 50.0} for row in made()]
    for row in rows[3::7]:
        row[target] = row["x1"] = None
    path = WRITERS[kind](tmp_path / f"a.{kind}", rows)
    with pytest.raises(FileError, match="the target is missing") as failed:
        read_table(path, target, id="id", drop=["batch"])
    where = ast.literal_eval(str(failed.value).partition("where=")[2].removesuffix("."))
    assert where == ("y != ''" if target == "y" else '`income of all` != ""')
    table = read_table(path, target, id="id", drop=["batch"], where=f"{where} and x1 != ''")
    kept = [row for row in rows if row[target] is not None]
    assert table.sample_names == [row["id"] for row in kept]
    assert table.y.tolist() == [row[target] for row in kept]
    assert "x1" in table.feature_names  # it is compared with no text


@pytest.mark.parametrize("kind", WRITERS)
def test_rows_are_kept(tmp_path, kind):
    """Other rows would be selected from, or values that are left out would be refused."""
    rows = made()
    for row in rows:
        if row["batch"] != "B1":
            row["x2"] = None
    path = WRITERS[kind](tmp_path / f"a.{kind}", rows)
    table = read_table(path, "y", id="id", where="batch == 'B1' and x0 > -0.5")
    kept = [row for row in rows if row["batch"] == "B1" and row["x0"] > -0.5]
    assert table.sample_names == [row["id"] for row in kept]
    assert table.X.tolist() == [[row[f"x{j}"] for j in range(P)] for row in kept]
    assert table.y.tolist() == [row["y"] for row in kept]
    assert table.notes == (f"kept {len(kept)} of {N} rows (batch == 'B1' and x0 > -0.5)", LOST)
    rest = read_table(path, "y", id="id", drop=["x2"], where="`batch` != \"B1\" and y<='case'")
    wanted = {row["id"] for row in rows if row["batch"] != "B1" and row["y"] == "case"}
    assert {*rest.sample_names} == wanted
    none = read_table(path, "y", id="id", drop=["batch", "x2"], where="x1 >= -99 and x2 < 99")
    assert none.X.shape == (N // 2, P - 1)
    assert none.notes == ("kept 30 of 60 rows (x1 >= -99 and x2 < 99); 30 have no value there",)
    with pytest.raises(FileError, match=r"no samples are left: kept 0 of 60 rows \(batch == 'q'\)"):
        read_table(path, "y", id="id", where="batch == 'q'")
    with pytest.raises(FileError, match=r"(line|row) \d+: where compares the column 'batch' with"):
        read_table(path, "y", id="id", where="batch == 1")
    with pytest.raises(FileError, match=r"no column 'bach'\. Did you mean 'batch'"):
        read_table(path, "y", id="id", where="bach == 'B1'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not understood at ''"),
        ("a = 1", "equality is =="),
        ("a == b", "write text in quotes: == 'b'"),
        ("a == nan", "write text in quotes"),
        ("a == 1_0", "write text in quotes"),
        ("a == 1 b == 2", "comparisons are joined by and, or"),
        ("a in 1", "write in ('a', 'b')"),
        ("a in (1, 'x')", "in takes numbers, or text in quotes, and not both"),
        ("a in ()", "not understood at ')'"),
        ("(a == 1 or b == 2", "a bracket is not closed"),
        ("a == 1)", "not understood at ')'"),
        ("(" * 60 + "a == 1" + ")" * 60, "too many brackets"),
        ("a == 1 and", "not understood at ''"),
        ("a == 'x", "not understood"),
        ("1 < a < 2", "write text in quotes: < 'a'"),
        ("__import__('os').getcwd() == 'x'", "not understood"),
    ],
)
def test_comparisons_that_are_refused(text, message):
    """A mistyped comparison would keep other rows, or run as code."""
    with pytest.raises(ValueError, match=r"^where must be NAME OP VALUE") as error:
        Where(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a == 1 or b == 'y'", "12"),
        ("b in ('x', 'z')", "13"),
        ("b NOT IN ('x', 'z')", "2"),
        ("a in (1, 4)", "14"),
        ("(a == 1 or a == 2) and b == 'y'", "2"),
        ("a == 9 and b == 'x' or a >= 4", "4"),
        ("a == 9 and (b == 'x' or a >= 4)", ""),
        ("b != '' or a == 4", "1234"),
        ("(a < 2 or a > 3) and (b in ('x') or b > 'y' or a == 4)", "14"),
    ],
)
def test_conditions_hold_as_they_are_written(text, kept):
    """Another row would be kept: `and` binds before `or`, and a missing cell passes nothing."""
    where = Where(text)
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": None, "b": "z"}, {"a": 4, "b": None}]
    cells = [[row[one.name] for one in where.comparisons] for row in rows]
    found = [where.keeps(own, "row") for own in cells]
    assert "".join(str(row) for row, held in enumerate(found, 1) if held) == kept
    again = Where(str(where.condition))
    assert [again.keeps(own, "row") for own in cells] == found


def test_or_between_a_file_and_its_table_of_samples_is_refused():
    """Rows that only one of both can judge would be kept or lost by chance."""
    where = Where("a == 1 and (b == 2 or c == 3)")
    own, of_samples = where.parted(["b", "c"])
    assert (str(own.condition), str(of_samples.condition)) == ("a == 1", "b == 2 or c == 3")
    with pytest.raises(ValueError, match="columns of both can be joined by and alone"):
        where.parted(["b"])


def test_comparisons_are_read():
    """Names, operators and values would be cut at another place."""
    found = Where("`a b`=='x and y' AND c>=-1e3 and HLA-A!=\"it's\"").comparisons
    assert [(one.name, one.operator, one.value) for one in found] == [
        ("a b", "==", "x and y"), ("c", ">=", -1000.0), ("HLA-A", "!=", "it's")
    ]  # fmt: skip


def test_commands_keep_rows(run, fails, tmp_path):
    """A model of some rows would be verified or measured with others."""
    data = write_table(tmp_path / "a.csv", made())
    given = ("--where", "batch == 'B1'", "--target", "y", "--id", "id")
    files = ("--no-cv", "-o", "m.npz", "--certificate", "c.npz")
    result = run("select", data, "-k", 2, *given, *files)
    assert "kept 30 of 60 rows (batch == 'B1')" in result.stderr
    assert "30 samples" in result.stdout
    assert "kept 30 of 60" in run("verify", "c.npz", data, "--where", "batch == 'B1'").stderr
    assert "kept 30 of 60" in run("path", data, *given, "--points", 4).stderr
    for path in (data, write_lines(tmp_path / "a.jsonl", made())):
        result = run("predict", "m.npz", path, "--where", "batch != 'B1'", "-o", "p.csv")
        assert "kept 30 of 60 rows (batch != 'B1')" in result.stderr
        with open("p.csv", newline="") as file:
            assert [row["sample"] for row in csv.DictReader(file)] == [
                f"s{i}" for i in range(0, N, 2)
            ]
        assert "no samples are left" in fails("predict", "m.npz", path, "--where", "batch == 'q'")
    assert "demo has no columns" in fails("select", "demo", "-k", 2, "--where", "a == 1")


# --- text and empty cells ------------------------------------------------------------------


def with_text(seed=0):
    """Rows with a category, a date, a number with gaps, and a target of the category and it."""
    rng = np.random.default_rng(seed)
    rows = []
    for i, row in enumerate(made(seed)):
        city = str(rng.choice(["Oslo", "Rome", "Lima"]))
        age = None if i % 7 == 3 else round(float(rng.normal(40, 9)), 1)
        label = "yes" if (city == "Oslo") + ((age or 40) - 40) / 15 > 0.4 else "no"
        day = f"2020-{1 + i % 12:02}-{1 + i % 27:02}"
        rows.append({**row, "city": city, "age": age, "day": day, "y": label})
    return rows


def equal(one, other):
    """Whether two tables with coded columns hold the same."""
    X, Y = (t.X.gather(slice(None)) if hasattr(t.X, "gather") else t.X for t in (one, other))
    return (
        np.array_equal(X, Y)
        and one.feature_names == other.feature_names
        and one.y.tolist() == other.y.tolist()
        and one.codings == other.codings
        and one.filled == other.filled
    )


@pytest.mark.parametrize("kind", WRITERS)
def test_rows_are_kept_before_cells_are_coded(tmp_path, kind):
    """Levels, means and counts would be of rows that are left out."""
    rows = with_text()
    for row in rows[::2]:
        row |= {"city": "Nowhere", "age": None, "x1": "odd" if kind == "csv" else None}
    path = WRITERS[kind](tmp_path / f"a.{kind}", rows)
    kept = [row for row in rows if row["batch"] == "B1"]
    for row in kept:
        del row["batch"]
    given = {"id": "id", "missing": "indicator"}
    expected = read_table(write_table(tmp_path / "b.csv", kept), "y", **given)
    table = read_table(path, "y", where="batch == 'B1'", **given)
    assert equal(table, expected)
    assert table.filled == {"age": sum(row["age"] is None for row in kept)}
    assert table.codings["city=Oslo"].levels == ("Lima", "Oslo", "Rome")
    assert table.notes[-2:] == ("kept 30 of 60 rows (batch == 'B1')", LOST)
    with pytest.raises(FileError, match=r"column 'age', (line|row) \d+: a value is missing"):
        read_table(path, "y", id="id", where="batch == 'B1'")


def test_text_below_numbers_is_read_once_for_where(tmp_path):
    """A second pass over the text would count rows twice, or keep others."""
    rows = [{"code": i if i < 4 else f"c{i % 3}", "x": i, "y": i % 2} for i in range(40)]
    path = write_table(tmp_path / "a.csv", rows)
    table = read_table(path, "y", where="x >= 3")
    assert table.notes[-1] == "kept 37 of 40 rows (x >= 3)"
    assert table.feature_names == ["code=3", "code=c0", "code=c1", "code=c2", "x"]
    assert table.X[:, -1].tolist() == [*range(3, 40)]


@pytest.mark.parametrize("kind", WRITERS)
def test_parts_are_coded_together(tmp_path, kind):
    """A level that one part lacks would shift its columns, or a mean be that of one part."""
    rows = with_text()
    rows.sort(key=lambda row: row["city"])  # no part has all levels
    given = {"id": "id", "drop": ["batch"], "missing": "mean"}
    expected = read_table(write_table(tmp_path / "all.csv", rows), "y", **given)
    for number in range(3):
        part = rows[20 * number : 20 * number + 20]
        if number == 1:
            part = [dict(reversed(row.items())) for row in part]
        WRITERS[kind](tmp_path / f"part-{number}.{kind}", part)
    table = read_table(tmp_path / f"part-*.{kind}", "y", **given)
    assert equal(table, expected)
    assert table.notes == expected.notes
    with pytest.raises(FileError, match=rf"column 'age', part-\d\.{kind}: .*a value is missing"):
        read_table(tmp_path / f"part-*.{kind}", "y", id="id", drop=["batch"])
    one = read_table(tmp_path / f"part-*.{kind}", "y", where="city == 'Oslo'", **given)
    assert one.X.shape[0] == sum(row["city"] == "Oslo" for row in rows)  # parts without rows


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_blocks_are_coded_by_the_model(run, tmp_path, monkeypatch, kind):
    """A block would be coded by its own levels and means, and notes count those of one."""
    train = write_table(tmp_path / "train.csv", with_text())
    given = ("--id", "id", "--drop", "batch", "--target", "y", "--missing", "indicator")
    found = run(
        "select", train, "-k", 4, *given, "--no-cv", "-o", "m.npz", "--certificate", "c.npz",
        "--json",
    )  # fmt: skip
    chosen = {one["name"] for one in json.loads(found.stdout)["models"][0]["features"]}
    assert {"city=Oslo", "age"} <= chosen
    rows = with_text(1)
    for row in rows[5:40:5]:
        row["city"] = "Bergen"
    expected = run("predict", "m.npz", write_table(tmp_path / "new.csv", rows), "--json").stdout
    expected = json.loads(expected)
    notes = " ".join(expected["notes"])
    assert "7 rows have a value of 'city' that the model never saw, as 'Bergen'" in notes
    assert "9 empty cells in 1 column filled (age 9) as the model was trained" in notes
    monkeypatch.setattr("zeronorm.cli.predict._BLOCK", 64)
    paths = [WRITERS[kind](tmp_path / f"a.{kind}", rows)]
    for number in range(3):
        part = rows[20 * number : 20 * number + 20]
        WRITERS[kind](tmp_path / f"part-{number}.{kind}", part)
    for path in (*paths, tmp_path / f"part-*.{kind}"):
        document = json.loads(run("predict", "m.npz", path, "-o", "p.csv", "--json").stdout)
        for what in ("predictions", "accuracy", "notes"):
            assert document[what] == expected[what]
        assert document["data"]["filled"] == expected["data"]["filled"]
    for path in (WRITERS[kind](tmp_path / f"t.{kind}", with_text()),):
        document = run("verify", "c.npz", path, "--drop", "batch", "--json").stdout
        assert json.loads(document)["verified"]


# --- what predict writes -------------------------------------------------------------------


def test_predictions_in_every_format(run, fails, model, tmp_path, monkeypatch):
    """A name would say one format and the file have another."""
    monkeypatch.setattr("zeronorm.cli.predict._BLOCK", 64)  # eight rows
    data = write_lines(tmp_path / "a.jsonl", made(1))
    for name in ("p.csv", "p.jsonl", "p.parquet"):
        run("predict", model, data, "--proba", "-o", name)
    with open("p.csv", newline="") as file:
        table = [*csv.DictReader(file)]
    with open("p.jsonl") as file:
        lines = [json.loads(line) for line in file]
    parquet = pytest.importorskip("pyarrow.parquet").read_table("p.parquet").to_pylist()
    assert lines == parquet
    assert [{key: str(value) for key, value in row.items()} for row in lines] == table
    assert [row["sample"] for row in lines] == [f"s{i}" for i in range(N)]  # as at training
    whole = json.loads(run("predict", model, data, "--proba", "--json").stdout)
    assert whole["predictions"] == [row["prediction"] for row in lines]
    assert whole["probabilities"] == [[row["p(case)"], row["p(control)"]] for row in lines]
    for name in ("p.txt", "p", "p.xlsx"):
        assert "--output must end in .csv, .parquet" in fails("predict", model, data, "-o", name)


def test_blocks_say_what_the_whole_says(run, model, tmp_path, monkeypatch):
    """The accuracy would be that of one block, rows be numbered anew, errors leave half a file."""
    rows = [{key: value for key, value in row.items() if key != "id"} for row in made(1)]
    data = write_lines(tmp_path / "a.jsonl", rows)
    whole = json.loads(run("predict", model, data, "--json").stdout)
    text = run("predict", model, data, "-o", "p.jsonl").stdout
    monkeypatch.setattr("zeronorm.cli.predict._BLOCK", 64)
    assert json.loads(run("predict", model, data, "--json").stdout) == whole
    assert run("predict", model, data, "-o", "q.jsonl").stdout == text.replace("p.jsonl", "q.jsonl")
    assert (tmp_path / "p.jsonl").read_text() == (tmp_path / "q.jsonl").read_text()
    with open("q.jsonl") as file:
        assert [json.loads(line)["sample"] for line in file] == [*range(1, N + 1)]
    write_lines(data, [*rows, {**rows[0], "x1": None, "x3": None}])
    assert "line 61" in run("predict", model, data, "-o", "r.jsonl", code=2).stderr
    assert not (tmp_path / "r.jsonl").exists()
    assert not [*tmp_path.glob(".zeronorm*")]


def test_a_model_knows_the_id(run, model, tmp_path):
    """Names of samples would be asked for again, or be predicted from."""
    columns = json.loads(run("info", model, "--json").stdout)["columns"]
    assert columns == {"id": "id"}
    run("predict", model, write_table(tmp_path / "new.csv", made(1)), "-o", "p.csv")
    with open("p.csv", newline="") as file:
        assert next(csv.DictReader(file))["sample"] == "s0"
    rows = [{key: value for key, value in row.items() if key != "id"} for row in made(1)]
    run("predict", model, write_table(tmp_path / "new.csv", rows), "-o", "p.csv")
    with open("p.csv", newline="") as file:
        assert next(csv.DictReader(file))["sample"] == "1"


# --- Excel ---------------------------------------------------------------------------------


def write_sheets(path, **sheets):
    """Write a workbook of sheets, each of rows of cells."""
    book = pytest.importorskip("openpyxl").Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_sheets_are_tables(run, tmp_path):
    """A sheet would be read as another table than its CSV, or another sheet be read."""
    rows = made()
    cells = [[*rows[0]], *([*row.values()] for row in rows)]
    cells.insert(3, [None] * 4)  # a row without anything
    path = write_sheets(tmp_path / "a.xlsx", notes=[["by", "whom"], ["us", 1]], data=cells)
    given = {"id": "id", "drop": ["batch"]}
    expected = read_table(write_table(tmp_path / "a.csv", rows), "y", **given)
    table = read_table(path, "y", layer="data", **given)
    assert same(table, expected)
    assert table.layers == ["notes", "data"]
    kept = read_table(path, "y", layer="data", where="batch == 'B1'", id="id")
    assert kept.X.shape == (N // 2, P)
    chosen = ("--id", "id", "--drop", "batch", "--target", "y", "--layer", "data", "-o", "m.npz")
    run("select", path, "-k", 2, "--no-cv", *chosen)
    run("predict", "m.npz", path, "-o", "p.jsonl")  # the model knows the sheet
    lines = (tmp_path / "p.jsonl").read_text().splitlines()
    assert [json.loads(line)["sample"] for line in lines] == expected.sample_names
    with pytest.raises(FileError, match=r"no sheet 'dat'\. Did you mean 'data'"):
        read_table(path, "y", layer="dat")


def test_workbooks_need_a_reader(tmp_path, monkeypatch):
    """A user would not know what to install."""
    path = write_sheets(tmp_path / "a.xlsx", data=[["a", "y"], [1, 0]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(FileError, match=r"need the package openpyxl.*zeronorm\[excel\]"):
        read_table(path, "y")
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(FileError, match="Excel before 2007"):
        read_table(path, "y")


def test_a_column_without_any_value_is_not_told_to_be_filled(tmp_path):
    """It has no mean, and is of no use."""
    (tmp_path / "e.csv").write_text("a,e,y\n1,,1.5\n,,2.5\n3,,3.1\n4,,1.2\n")
    table = read_table(tmp_path / "e.csv", target="y", missing="mean")
    assert table.filled == {"a": 1}
    assert any(note.startswith("1 empty cell in 1 column filled (a 1)") for note in table.notes)


def test_tables_of_samples_are_joined_in_python(tmp_path):
    """Python would need another program for what the command reads."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 3)).round(2)
    ids = [f"s{i}" for i in range(8)]
    lines = [",".join([name, *map(str, row)]) for name, row in zip(ids, X.tolist(), strict=True)]
    (tmp_path / "g.csv").write_text("\n".join(["id,a,b,c", *lines]) + "\n")
    people = [f"{ids[i]}\t{'uv'[i % 2]}\t{30 + i}\t{i / 2}" for i in (3, 1, 7, 0, 5, 2, 4, 6)]
    (tmp_path / "p.tsv").write_text("\n".join(["id\till\tage\tdays", *people]) + "\n")
    given = {"samples": [tmp_path / "p.tsv"], "covariates": ["age"]}
    table = read_table(tmp_path / "g.csv", "ill", where="age > 31", **given)
    assert table.sample_names == ids[2:]
    assert table.y.tolist() == ["u", "v"] * 3
    assert table.feature_names == ["a", "b", "c", "age"]
    np.testing.assert_array_equal(table.X, np.column_stack([X, 30 + np.arange(8)])[2:])
    assert table.features["column"].to_list() == table.feature_names
    asked = read_table(tmp_path / "g.csv", "ill", columns={"time": "days"}, **given)
    assert asked.samples.columns == ["sample", "ill", "days"]
    assert asked.samples["days"].to_list() == [i / 2 for i in range(8)]
    # Other rows are read as these were.
    new = (tmp_path / "g.csv").read_text().replace("id,a,b,c", "id,b,a,c")
    (tmp_path / "n.csv").write_text(new)
    again = read_table(tmp_path / "n.csv", like=table, samples=[tmp_path / "p.tsv"])
    np.testing.assert_array_equal(again.X[:, :3], X[:, [1, 0, 2]])
    with pytest.raises(ValueError, match=r"^transpose cannot be with samples, which"):
        read_table(tmp_path / "g.csv", "ill", transpose=True, **given)


def test_codings_and_missing_values_are_those_of_other_data(tmp_path):
    """New rows would be coded by their own levels and means, and -9 be a number in them."""
    cells = ["red,1", "blue,-9", "red,3", "green,5", "blue,7", "green,9"]
    text = "\n".join(["colour,size,y", *(f"{one},{i % 2}" for i, one in enumerate(cells))])
    (tmp_path / "a.csv").write_text(text + "\n")
    table = read_table(tmp_path / "a.csv", "y", na="-9", missing="mean")
    assert table.features["kind"].to_list() == ["category"] * 3 + ["number"]
    (tmp_path / "b.csv").write_text("size,colour\n-9,blue\n2,red\n")
    new = read_table(tmp_path / "b.csv", like=table)
    assert new.feature_names == table.feature_names
    assert new.X.tolist() == [[1, 0, 0, 5.0], [0, 0, 1, 2]]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    ("drop", "left"),
    [
        (["x*"], "id"),
        (["x?", "id"], ""),
        (["x1:x3"], "id x0 x4"),
        (["x0:x0", "*d"], "x1 x2 x3 x4"),
        (["*4", "x1"], "id x0 x2 x3"),
    ],
)
def test_patterns_and_ranges_of_columns_are_dropped(tmp_path, kind, drop, left):
    """A hundred names would have to be written, or others be left out; the target stays."""
    rows = [{**row, "xy": 1} for row in made()]
    for number, row in enumerate(rows):
        row["id"], row["xy"] = number * number % 7, number % 2
        del row["batch"], row["y"]
    path = WRITERS[kind](tmp_path / f"a.{kind}", rows)
    if not left:
        with pytest.raises(FileError, match=r"no features in it \(every column is left out\)"):
            read_table(path, "xy", drop=drop)
        return
    assert read_table(path, "xy", drop=drop).feature_names == left.split()


def test_patterns_that_mean_no_columns_are_refused(tmp_path):
    """A slip would drop nothing, in silence."""
    path = tmp_path / "a.csv"
    path.write_text("a,b,c:d,a*,y\n1,2,3,4,0\n4,5,6,7,1\n")
    with pytest.raises(FileError, match=r"no column is like 'g\*'"):
        read_table(path, "y", drop=["g*"])
    with pytest.raises(FileError, match="'b' stands behind 'a'; write a:b"):
        read_table(path, "y", drop=["b:a"])
    with pytest.raises(FileError, match="no column 'a:z'"):
        read_table(path, "y", drop=["a:z"])
    assert read_table(path, "y", drop=["c:d", "a*"]).feature_names == ["a", "b"]


@pytest.mark.parametrize("kind", WRITERS)
def test_only_named_columns_are_features(tmp_path, kind):
    """What is not named would be selected, or the target and the names of samples be lost."""
    path = WRITERS[kind](tmp_path / f"a.{kind}", [{**row, "xy": 1} for row in made()])
    everything = read_table(path, "y", id="id", drop=["batch"])
    names = everything.feature_names
    for only in (["*4"], ["x0:x1"], ["xy", "x0", "id", "y"]):
        found = read_table(path, "y", id="id", only=only)
        kept = [place for place, name in enumerate(names) if name in found.feature_names]
        assert len(kept) == len(found.feature_names) == (1 if only == ["*4"] else 2)
        np.testing.assert_array_equal(found.X, everything.X[:, kept])
        np.testing.assert_array_equal(found.y, everything.y)
    with pytest.raises(FileError, match="no column 'nothing'"):
        read_table(path, "y", id="id", only=["nothing"])


def test_one_name_is_not_read_letter_by_letter(tmp_path):
    """drop="xy" would drop x and y, covariates="sex" nothing at all, in silence."""
    (tmp_path / "a.csv").write_text("id,x,y,xy,t\ns1,1,2,3,0\ns2,4,5,6,1\ns3,7,8,9,1\ns4,0,1,1,0\n")
    (tmp_path / "p.csv").write_text("id,age,sex\ns1,30,f\ns2,40,m\ns3,50,f\ns4,20,m\n")
    table, given = tmp_path / "a.csv", {"id": "id"}
    assert read_table(table, "t", drop="xy", **given).feature_names == ["x", "y"]
    assert read_table(table, "t", only="xy", **given).feature_names == ["xy"]
    for path in (tmp_path / "p.csv", str(tmp_path / "p.csv")):
        joined = read_table(table, "age", samples=path, covariates="sex", force="xy", drop="t")
        assert joined.feature_names == ["x", "y", "xy", "sex=m"]
    with pytest.raises(ValueError, match="no column 'sx'"):
        read_table(table, "age", samples=path, force="sx")
    for target in (4, -1):
        found = read_table(table, target, drop=[1], **given)
        assert (found.target_name, found.feature_names) == ("t", ["y", "xy"])


def test_rows_are_chosen_by_the_names_of_samples(tmp_path):
    """The column that joins a table of the samples would be an AssertionError."""
    (tmp_path / "a.csv").write_text("id,x,z\ns1,1,2\ns2,4,5\ns3,7,8\ns4,0,1\n")
    (tmp_path / "p.csv").write_text("id,age\ns2,40\ns1,30\ns3,50\n")
    for where in ("id in ('s1', 's3')", "id != 's2' and age > 1"):
        table = read_table(tmp_path / "a.csv", "age", samples=[tmp_path / "p.csv"], where=where)
        assert table.sample_names == ["s1", "s3"]
        assert table.y.tolist() == [30, 50]


WRONG = [
    ("a.csv", {"where": "x = 1"}, "where must be"),
    ("a.csv", {"where": "id > 1"}, "where compares the column 'id' with the number 1"),
    ("a.csv", {"where": "x > 1 or age > 1", "samples": "p.csv"}, "where x > 1 or age > 1: or"),
    ("a.csv", {"decimal": ","}, "decimal is ','"),
    ("a.csv", {"samples": "p.csv"}, "predict with target, a column of samples:"),
    ("a.csv", {"samples": "a.csv"}, "samples a.csv is DATA"),
    (
        "a.csv",
        {"samples": "p.csv", "drop": "id", "target": "age"},
        "column names them with id.",
    ),
    ("a.csv", {"samples": "p.csv", "target": "age", "force": "age"}, "leave it out of force or"),
    ("a.csv", {"samples": "p.csv", "target": "x", "covariates": "aged"}, "covariates: no column"),
    ("a.csv", {"need_labels": True}, "nothing says what to predict; name it with target"),
    ("a.csv", {"target": "p.csv"}, "with samples=FILE target=COLUMN"),
    ("a.csv", {"target": "p.csv:age"}, "samples='p.csv' target='age'"),
    ("a.npy", {"decimal": ","}, "leave out decimal"),
    ("a.npy", {"encoding": "cp1252"}, "leave out encoding"),
    ("a.npy", {"where": "x > 1"}, "leave out where"),
    ("b.csv", {}, "say encoding=NAME"),
    ("c.csv", {}, "say encoding='utf-16'"),
    ("b.csv", {"encoding": "ascii"}, "say another encoding"),
]


@pytest.mark.parametrize(("name", "given", "message"), WRONG)
def test_messages_in_python_name_parameters(tmp_path, monkeypatch, name, given, message):
    """They would name options of the command, which read_table does not have."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("id,x,z\ns1,1.5,2\ns2,4,5\ns3,7,8\n")
    Path("p.csv").write_text("id,age\ns1,30\ns2,40\ns3,50\n")
    Path("b.csv").write_bytes("x,é\n1,2\n".encode("cp1252"))
    Path("c.csv").write_bytes("x,y\n1,2\n".encode("utf-16"))
    np.save("a.npy", np.eye(3))
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read_table(name, **given)
    assert " --" not in f" {error.value}"


@pytest.mark.parametrize("given", [{"only": "x"}, {"drop": "x"}, {"decimal": ","}])
def test_stores_refuse_what_they_do_not_use(tmp_path, given):
    """All features of a store would be read, whatever only= names."""
    write_lines(tmp_path / "a.jsonl", [{"x": 1, "z": 2, "y": 0}, {"x": 3, "z": 5, "y": 1}])
    write_store(tmp_path / "a.jsonl", tmp_path / "s.zarr", target="y")
    assert read_table(tmp_path / "s.zarr").feature_names == ["x", "z"]
    with pytest.raises(FileError, match=f"leave out {next(iter(given))}"):
        read_table(tmp_path / "s.zarr", **given)
