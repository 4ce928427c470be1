"""What messages of the command offer: what the command that runs has, for the files that it reads.

That no message of any test names an option of another command is asserted by `run` itself.
"""

import csv
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from zeronorm import cli
from zeronorm.core.messages import offered, remedy, ways_out

N = 40
TARGET = ("--target", "y", "--id", "id")
MODEL = ("predict", "evaluate")  # by which the features are known
COMMANDS = {
    "predict": ("predict", "m.npz", "DATA"),
    "evaluate": ("evaluate", "m.npz", "DATA"),
    "verify": ("verify", "c.npz", "DATA"),
    "report": ("report", "m.npz", "DATA", "-o", "p.html"),
    "certify": ("certify", "g0,g1", "DATA", *TARGET),
    "select": ("select", "DATA", *TARGET, "-k", "2", "--no-cv", "--no-save"),
    "path": ("path", "DATA", *TARGET, "--points", "3"),
    "convert": ("convert", "DATA", "d.zarr", *TARGET),
}


@pytest.fixture
def rows(run, tmp_path):
    """The rows of t.csv, which begin with their header, and models and certificates of it."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((N, 4)), 3) + 10
    y = np.where(X[:, 0] - X[:, 1] > 0, "sick", "well")
    batch = np.array(["B1", "B2"])[rng.integers(0, 2, N)]
    found = [["id", "g0", "g1", "g2", "g3", "batch", "y"]]
    found += [[f"P{i:02}", *map(str, X[i]), batch[i], y[i]] for i in range(N)]
    written(tmp_path / "t.csv", found)
    given = (*TARGET, "-k", 3, "--force", "batch", "--no-cv", "-q")
    run("select", "t.csv", *given, "-o", "m.npz", "--certificate", "c.npz")
    return found


def written(path, rows, encoding="utf-8"):
    with open(path, "w", newline="", encoding=encoding) as file:
        csv.writer(file).writerows(rows)


def with_cell(rows, text, row=4, column=2):
    """Rows with another cell: column g1 of line 5."""
    return [
        [*cells[:column], text, *cells[column + 1 :]] if number == row else cells
        for number, cells in enumerate(rows)
    ]


def asked(command, data):
    return [data if one == "DATA" else one for one in COMMANDS[command]]


DROP = "leave the column out with --drop NAME"
# A cell, what is told of it, and the ways out with a model, and without one.
CELLS = {
    "gap": ("", "a value is missing (1 of 40)", "Fill it: no cell was empty in the training", None),
    "word": ("fifty", "'fifty' is no number, ", "Write such a value as the training data", "Mend"),
    "formula": ("=A1+1", "'=A1+1' is a formula, of which", "Save values, not formulas", "Save"),
    "comma": ("1,5", "'1,5' ", "Write decimals with a point", "Write decimals with a point"),
    "infinite": ("inf", "a value is not finite (inf)", "Mend such a value.", "Mend such a value"),
}


@pytest.mark.parametrize("case", [*CELLS])
@pytest.mark.parametrize("command", [*COMMANDS])
def test_bad_cells_have_remedies_of_the_command(fails, rows, tmp_path, command, case):
    """A user of predict or evaluate would be sent to --drop, which they do not have."""
    text, what, of_model, of_data = CELLS[case]
    written(tmp_path / "bad.csv", with_cell(rows, text))
    said = fails(*asked(command, "bad.csv"))
    assert "bad.csv: column 'g1', line 5: " in said
    assert what in said
    if command in MODEL:
        assert of_model in said
        assert "--" not in said
        return
    filled = command in ("certify", "path", "select", "convert")
    assert (of_data or ("Say --missing mean, which fills" if filled else "Write a value")) in said
    assert said.count("with --drop NAME") == 1
    assert said.endswith(f"{DROP}.")


@pytest.mark.parametrize("command", [*COMMANDS])
def test_broken_text_is_told_with_its_line(fails, rows, tmp_path, command):
    """A message of a library has no line, and nothing to do."""
    name = [[*rows[0][:4], "n" * (1 << 20), *rows[0][5:]], *rows[1:]]
    written(tmp_path / "name.csv", name)
    said = fails(*asked(command, "name.csv"))
    assert said.startswith("Error: ")
    assert "name.csv: line 1: not a table in CSV form (field larger than" in said
    assert said.endswith("Close the quotes that begin there, or shorten the field.")
    text = (tmp_path / "t.csv").read_text()
    (tmp_path / "open.csv").write_text(text.replace("P05,", 'P05,"'))
    assert "open.csv: line 7: not a table in CSV form" in fails(*asked(command, "open.csv"))
    written(tmp_path / "latin.csv", with_cell(rows, "Bé", column=5), "latin-1")
    said = fails(*asked(command, "latin.csv"))
    assert re.search(r"latin.csv: line 5, byte \d+: not UTF-8 text; say --encoding NAME", said)
    (tmp_path / "nul.csv").write_text(text.replace("P05,", "P05\0,"))
    assert "nul.csv: line 7: a NUL byte" in fails(*asked(command, "nul.csv"))


def test_lines_of_json_are_told_the_way_out(fails, rows, tmp_path):
    """An error of the parser has nothing to do."""
    for line, what in (('{"g0": 1, "g0": 2}', "the key 'g0' occurs twice"), ('{"g0":', "Expect")):
        (tmp_path / "a.jsonl").write_text(line + "\n")
        said = fails("predict", "m.npz", "a.jsonl")
        assert f"a.jsonl: line 1: not JSON ({what}" in said
        assert said.endswith("Write one {object} on each line, with each key once.")


@pytest.mark.parametrize("command", ["info", "select"])
def test_parts_that_differ(fails, rows, tmp_path, command):
    """A look at data would offer --drop, which info does not have."""
    written(tmp_path / "part-1.csv", rows[:20])
    written(tmp_path / "part-2.csv", [[*cells, "extra"] for cells in [rows[0], *rows[20:]]])
    given = TARGET if command == "select" else ()
    said = fails(command, "part-*.csv", *given)
    assert "part-2.csv: the column 'extra' is not in part-1.csv" in said
    ways = f"Write it there, or {DROP}." if command == "select" else "Write it there."
    assert said.endswith(ways)


def test_values_too_large_are_told_with_the_feature(fails, rows, tmp_path):
    """The row alone leaves all its columns to be looked at."""
    written(tmp_path / "large.csv", with_cell(rows, "1e308"))
    for command in MODEL:
        said = fails(*asked(command, "large.csv"))
        assert "row 3 (from 0) has 1e+308 in feature 'g1'. Mend that value." in said


def test_a_report_tells_which_feature_is_another(fails, rows, tmp_path):
    """Features that are not there were said to be in another order."""
    written(tmp_path / "other.csv", [[*rows[0][:2], "G1", *rows[0][3:]], *rows[1:]])
    said = fails(*asked("report", "other.csv"))
    assert "other.csv: feature 2 must be 'g1', as in the data of m.npz; got 'G1', and it" in said
    turned = [[cells[0], cells[2], cells[1], *cells[3:]] for cells in rows]
    written(tmp_path / "turned.csv", turned)
    assert "got 'g1', and it is feature 2. A" in fails(*asked("report", "turned.csv"))


def test_certificates_and_paths_name_columns(fails, rows, tmp_path):
    """A number has to be counted out, and sample_weight is of Python alone."""
    written(tmp_path / "flat.csv", [rows[0], *([*one[:2], "7", *one[3:]] for one in rows[1:])])
    assert "got column 'g1'. Leave them out" in fails(*asked("certify", "flat.csv"))
    written(tmp_path / "large.csv", with_cell(rows, "1e308"))
    for command, ways in (
        ("path", "Rescale that column."),
        ("select", "column, or use a smaller --C."),
    ):
        said = fails(*asked(command, "large.csv"))
        assert "too large in column 'g1'" in said
        assert said.endswith(ways)
    written(tmp_path / "dead.csv", with_cell(rows, "dead", column=6))
    said = fails(*asked("verify", "dead.csv"))
    assert "1 rows have others, such as 'dead'. Leave out rows that the fit had not" in said


def test_classes_that_differ_by_case(run, fails, rows, tmp_path):
    """Classes in another case would be called unknown, and the right column wrong."""
    written(tmp_path / "upper.csv", [rows[0], *([*one[:-1], one[-1].upper()] for one in rows[1:])])
    said = fails("evaluate", "m.npz", "upper.csv")
    assert "40 samples have classes that the model does not know, SICK, WELL" in said
    assert "'SICK' differs from 'sick' by case or blanks alone" in said
    assert "write the classes as the training data have them" in said
    written(tmp_path / "one.csv", with_cell(rows, "Sick", column=6))
    for command, verb in (("evaluate", "left out: "), ("predict", "")):
        said = run(command, "m.npz", "one.csv", "-q").stderr
        assert f"Note: {verb}1 sample has a class that the model does not know, Sick" in said
        assert "'Sick' differs from 'sick' by case or blanks alone" in said


def test_a_target_that_is_not_there_is_named(run, fails, rows, tmp_path):
    """Nobody knows which column is wanted, or that another one is almost it."""
    written(tmp_path / "none.csv", [one[:-1] for one in rows])
    written(tmp_path / "upper.csv", [[*rows[0][:-1], "Y"], *rows[1:]])
    written(tmp_path / "two.csv", [[*rows[0][:4], "y", *rows[0][5:]], *rows[1:]])
    said = fails(*asked("evaluate", "none.csv"))
    assert "none.csv: no column 'y', so that there is nothing to compare predictions w" in said
    assert "say where the target is: --target column" in said.lower()
    assert "Did you mean 'Y'?" in fails(*asked("evaluate", "upper.csv"))
    said = fails(*asked("evaluate", "two.csv"))
    assert "2 columns have the name 'y' (positions 4, 6); give the target by position" in said
    assert run("predict", "m.npz", "none.csv", "-q").stderr == ""  # which needs none
    data = {"days": ["1", "2", "3", "4", "5", "6"] * 5, "died": ["1", "0"] * 15}
    g = [str(one) for one in np.random.default_rng(1).standard_normal(30)]
    written(tmp_path / "s.csv", [["g", *data], *zip(g, *data.values(), strict=True)])
    written(tmp_path / "g.csv", [["g", "days"], *zip(g, data["days"], strict=True)])
    given = ("--time", "days", "--event", "died", "-k", 1, "--no-cv", "-q")
    run("select", "s.csv", *given, "-o", "s.npz")
    said = fails("evaluate", "s.npz", "g.csv")
    assert "g.csv: no columns 'days', 'died', so that there is nothing" in said
    assert "--time COLUMN --event COLUMN" in said


def test_ways_out_are_those_of_the_reader():
    """A way that nobody can go would be offered, or none where one is left."""
    ways = ("mend it", "say --id NAME", "write it to --view FILE or say --missing mean")
    assert ways_out("say --na -9.5.", "give --samples a.b.csv") == [
        "say na='-9.5'.",
        "give samples='a.b.csv'",
    ]
    assert ways_out(*ways) == [
        "mend it",
        "say id=NAME",
        "write it to view=FILE or say missing='mean'",
    ]
    with offered(["--id", "--view", "-q"]):
        assert ways_out(*ways) == ["mend it", "say --id NAME"]
        assert remedy(*ways) == " Mend it, or say --id NAME."
        with offered(["--view", "--missing"]):
            assert remedy(*ways[1:], ways[2]) == " Write it to --view FILE or say --missing mean."
        assert remedy(*ways, "wait") == " Mend it; say --id NAME; or wait."
        assert remedy(ways[2]) == ""
    assert remedy("say --id 'a b'", "say --drop-all") == " Say id='a b', or say drop_all."


def test_predictions_need_no_target(run, fails, rows, tmp_path):
    """New rows have the column, empty as nobody knows it yet, and were refused."""
    for name, cells in {"some": with_cell(rows, "", column=6), "none": [
        rows[0], *([*one[:-1], ""] for one in rows[1:])
    ]}.items():  # fmt: skip
        written(tmp_path / f"{name}.csv", cells)
        result = run("predict", "m.npz", f"{name}.csv", "-q", "-o", "p.csv")
        assert "column 'y': the target is missing (''), so that no target is r" in result.stderr
        assert len((tmp_path / "p.csv").read_text().splitlines()) == N + 1
        said = fails("predict", "m.npz", f"{name}.csv", "--target", "y")
        assert said.endswith("Drop the row, or drop all without one by --where \"y != ''\".")
        assert "the target is missing" in fails("evaluate", "m.npz", f"{name}.csv")
    run("predict", "m.npz", "t.csv", "-q", "-o", "q.csv")
    assert (tmp_path / "p.csv").exists()
    piped = CliRunner().invoke(
        cli.app,
        ["predict", "m.npz", "-", "-q", "-o", "-"],
        input=(tmp_path / "some.csv").read_text(),
    )
    assert "standard input: line 5, column 'y': the target is missing" in piped.stderr
    assert piped.stdout == run("predict", "m.npz", "t.csv", "-q", "-o", "-").stdout
    # The first parts have a target, as old rows have, and the last has a gap.
    for part, (begin, end) in enumerate(((1, 3), (3, 4), (4, N + 1))):
        cells = with_cell(rows, "", column=6)
        written(tmp_path / f"part-{part}.csv", [cells[0], *cells[begin:end]])
    parted = run("predict", "m.npz", "part-*.csv", "-q", "-o", "-")
    assert "part-2.csv: line 2, column 'y': the target is missing" in parted.stderr
    assert parted.stdout == piped.stdout
    run("predict", "m.npz", "none.csv", "-q", "-o", "p.csv")
    assert (tmp_path / "p.csv").read_text() == (tmp_path / "q.csv").read_text()
