"""What `zeronorm info` says of a table before anything else is known of it."""

import json

import numpy as np
import pytest

from conftest import write_csv
from golub import GOLUB, load_golub
from zeronorm import BudgetClassifier
from zeronorm.persistence import save
from zeronorm.reporting.documents import data as _data

N = 60
rng = np.random.default_rng(8)
SEX = rng.choice(["f", "m"], N)
DIED = rng.integers(0, 2, N)


@pytest.fixture
def raw(run, tmp_path):
    """Write a table as hospitals have them; return its name."""
    days = [f"1970-0{1 + i % 9}-1{i % 7}" for i in range(N)]
    columns = {
        "patient": [f"P{i // 2 if i < 10 else i}" for i in range(N)],  # five have two rows
        "visit": [*range(1, N + 1)],
        "sex": ["" if i in (3, 4) else SEX[i] for i in range(N)],
        "dose": ["" if i in (4, 5, 6) else f"{rng.random():.3f}" for i in range(N)],
        "born": days,
        "site": ["Basel"] * N,
        "empty": [""] * N,
        "comment": [f"text {i % 50}" for i in range(N)],
        "score": ["n.d." if i == 17 else f"{rng.normal():.3f}" for i in range(N)],
        "died": DIED.tolist(),
    }
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (tmp_path / "raw.csv").write_text("\n".join([",".join(columns), *lines]) + "\n")
    return "raw.csv"


def test_a_raw_table_is_described(run, raw):
    """It was refused for its first column, with options that info does not have."""
    found = json.loads(run("info", raw, "--json").stdout)
    columns = {one["name"]: one for one in found["table"]["columns"]}
    assert {name: one["kind"] for name, one in columns.items()} == {
        "patient": "text", "visit": "number", "sex": "category", "dose": "number", "born": "date",
        "site": "category", "empty": "number", "comment": "text", "score": "unusable",
        "died": "number",
    }  # fmt: skip
    assert [name for name, one in columns.items() if one["constant"]] == ["site", "empty"]
    missing = {name: one["missing"] for name, one in columns.items() if one["missing"]}
    assert missing == {"sex": 2, "dose": 3, "empty": N}
    assert found["table"]["rows_with_gaps"] == 4
    assert columns["score"]["problem"].startswith("score, line 19: 'n.d.' is no number")
    counts = {one["column"]: one["counts"] for one in found["table"]["targets"]}
    kept = np.delete(SEX, [3, 4])
    assert counts == {
        "sex": {"f": int((kept == "f").sum()), "m": int((kept == "m").sum())},
        "died": {"0": int((DIED == 0).sum()), "1": int((DIED == 1).sum())},
    }
    told = " ".join(run("info", raw).stdout.split())
    for words in (
        "60 rows x 10 columns",
        "categories 2: sex 2 values, site 1 value",
        "patient has 55 values, and 5 rows repeat one of them",
        "visit differs in all rows; if it names the samples, say select --id visit",
        "constant 2: site, empty; of one value or none, they can never be selected",
        "missing dose 3 (5.0%), sex 2 (3.3%); in 4 of 60 rows",
        "unusable 1: score, line 19: 'n.d.' is no number, as most of the column are; mend them",
    ):
        assert words in told
    assert "--id comment" not in told
    assert "select --target died: 0" in told


def test_features_in_rows_are_told_by_info(run, tmp_path):
    """Who looks at a table of expressions would be told of names of samples alone."""
    head = ",".join(["gene", *(f"S{i}" for i in range(6))])
    lines = [",".join([f"g{j}", *map(str, rng.random(6))]) for j in range(9)]
    (tmp_path / "expression.csv").write_text("\n".join([head, *lines]) + "\n")
    told = " ".join(run("info", "expression.csv").stdout.split())
    assert "the samples are in the columns, select --samples FILE --target COLUMN reads" in told
    (tmp_path / "rows.csv").write_text("\n".join([head, *lines[:4]]) + "\n")
    assert "are in the columns" not in run("info", "rows.csv").stdout


def test_what_info_says_of_features_is_what_select_reads(run, raw):
    """Memory would be that of other data."""
    n_features = json.loads(run("info", raw, "--json").stdout)["n_features"]
    left = [part for name in ("patient", "comment", "score") for part in ("--drop", name)]
    options = ("--target", "died", "-k", 1, "--no-cv", "--no-save", "--missing", "mean", "--json")
    options += ("--keep", "visit")  # which numbers the rows
    document = json.loads(run("select", raw, *left, *options).stdout)
    assert document["data"]["n_features"] == n_features - 1  # the target is no feature


def test_a_million_columns_are_described_at_once(run, tmp_path):
    """Every column would be described by itself, which takes a minute of a million."""
    p, n = 3000, 4
    X = rng.integers(0, 3, (n, p)).astype(str)
    X[:, 7], X[2, 9], X[1, 11] = ["-0", "0", "1", ""], "inf", "0.25"
    lines = [",".join(row) for row in X]
    (tmp_path / "wide.csv").write_text("\n".join([",".join(f"g{j}" for j in range(p)), *lines]))
    taken = []
    with pytest.MonkeyPatch.context() as patch:
        own = _data.fitted
        patch.setattr(_data, "fitted", lambda name, *of: taken.append(name) or own(name, *of))
        columns = json.loads(run("info", "wide.csv", "--json").stdout)["table"]["columns"]
    assert taken == ["g9"]  # which has a number that is not finite
    assert columns[7] == {
        "name": "g7", "kind": "number", "problem": None, "constant": False, "missing": 1,
        "distinct": 2, "least": 0, "largest": 1,
    }  # fmt: skip
    assert columns[9]["problem"].endswith("a value is not finite (inf)")
    assert columns[11]["distinct"] is None
    for j in (0, 8, 12, p - 1):
        values = X[:, j].astype(int)
        assert columns[j]["distinct"] == np.unique(values).size
        assert columns[j]["constant"] == (np.unique(values).size == 1)
        assert (columns[j]["least"], columns[j]["largest"]) == (values.min(), values.max())


def test_counts_are_no_candidates_for_a_target(run, tmp_path):
    """A table of genotypes would be listed as thousands of targets."""
    X = rng.integers(0, 3, (20, 30))
    names = [f"g{j}" for j in range(30)]
    lines = [",".join([*map(str, row), kind]) for row, kind in zip(X, "ab" * 10, strict=True)]
    (tmp_path / "g.csv").write_text("\n".join([",".join([*names, "kind"]), *lines]) + "\n")
    found = json.loads(run("info", "g.csv", "--json").stdout)["table"]["targets"]
    assert found == [{"column": "kind", "counts": {"a": 10, "b": 10}}]


def test_tables_of_nothing_but_text_and_other_data(run, fails, tmp_path):
    """Names alone would end in an error of arrays without columns."""
    (tmp_path / "names.csv").write_text("a,b\n" + "".join(f"x{i},y{i}\n" for i in range(9)))
    said = fails("info", "names.csv")
    assert "none of its columns can be a feature: a, line 2: 'x0' is text, with 9 different" in said
    assert json.loads(run("info", GOLUB, "--json").stdout)["table"] is None
    golub = load_golub()
    np.savez(tmp_path / "g.npz", X=golub.X, y=golub.y)
    assert "38 samples x 3,051 features" in run("info", "g.npz").stdout


def test_names_of_samples_that_repeat_are_told(run, tmp_path):
    """Replicates would be found after a selection alone."""
    lines = [f"S{i // 2},{i},{'ab'[i % 2]}" for i in range(8)]
    (tmp_path / "d.csv").write_text("\n".join([",x,y", *lines]) + "\n")
    told = " ".join(run("info", "d.csv").stdout.split())
    assert "4 names stand on several rows, as on the samples 1 and 2" in told


def test_an_export_says_what_it_wrote(run, tmp_path):
    """Nobody knows whether anything was written, and where."""
    run("select", GOLUB, "-k", 2, "--no-cv", "-q", "-o", "m.npz")
    said = " ".join(run("info", "m.npz", "--format", "json", "-o", "m.json").stdout.split())
    size = (tmp_path / "m.json").stat().st_size
    assert said == f"model m.npz json m.json, {size:,} bytes"


def test_names_cannot_act_on_a_terminal(run, fails, tmp_path):
    """A name would set the title of the terminal, clear it, or turn the direction of text."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] + rng.logistic(size=60) > 0, "\x1b[31mcase", "con\x9btrol")
    model = BudgetClassifier(2, calibrate=False).fit(X, y)
    names = ["\x1b]0;pwned\x07\x1b[2Jx", "\u202eb", "c\rd"]
    save(model, tmp_path / "m.npz", feature_names=names)
    shown = run("info", "m.npz", "--format", "json")
    refused = fails("info", "m.npz", "--format", "sql")
    for text in (shown.stdout, shown.stderr, refused):
        assert not set(text) & {*"\x1b\x07\x9b\u202e\r"}
    assert "u001b" in shown.stdout
    assert "control characters" in refused


def test_predictions_cannot_act_on_a_terminal(run, tmp_path):
    """A label would clear the terminal by way of standard output."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(60)
    y = np.where(x + rng.logistic(size=60) > 0, "\x1b[2Jcase", "control")
    write_csv(tmp_path / "d.csv", {"a\x1b[31m": x, "b": x[::-1], "y": y, "s\x9b": [*map(str, x)]})
    columns = ("--target", "y", "--id", "s\x9b")
    run("select", "d.csv", *columns, "-k", 1, "--no-cv", "-o", "m.npz")
    shown = run("predict", "m.npz", "d.csv", "--id", "s\x9b")
    assert "case" in shown.stdout
    for text in (shown.stdout, shown.stderr):
        assert not set(text) & {*"\x1b\x9b"}
    run("predict", "m.npz", "d.csv", "--id", "s\x9b", "-o", "p.csv")
    assert "\x1b[2Jcase" in (tmp_path / "p.csv").read_text()
