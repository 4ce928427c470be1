"""`zeronorm discover`: what it promises, on whatever data, and refuses."""

import csv
import json

import numpy as np
import pytest

from conftest import write_csv
from zeronorm.inference.false_discoveries import FalseDiscoverySelector

RNG = np.random.default_rng(3)
X = np.round(RNG.standard_normal((120, 60)), 4)
Y = np.round(X[:, :3].sum(axis=1) + 0.7 * RNG.standard_normal(120), 4)


@pytest.fixture
def data(tmp_path):
    columns = {f"x{j}": X[:, j] for j in range(60)}
    columns |= {"y": Y, "three": np.array(["a", "b", "c"])[np.digitize(Y, [-1, 1])]}
    write_csv(tmp_path / "data.csv", columns)
    return ("data.csv", "--target")


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_discoveries_are_those_of_the_selector(run, data, tmp_path):
    """The command would find other features than the package."""
    text = run("discover", *data, "y", "--drop", "three", "--json", "--features-out", "f.csv")
    document = json.loads(text.stdout)
    known = FalseDiscoverySelector(0.1).fit(X, Y).discoveries_
    found = [row for row in document["features"] if row["found"]]
    assert [row["index"] for row in document["features"]] == known.features.tolist()
    assert len(found) == known.n_found >= 3
    assert document["estimate"] == pytest.approx(known.estimate)
    rows = rows_of(tmp_path / "f.csv")
    assert [row["name"] for row in rows] == [row["name"] for row in found]
    assert {"rank", "index", "votes", "stand_in", "rival", "mean", "correlation"} <= rows[0].keys()


def test_covariates_and_blocks_are_those_of_the_selector(run, fails, data, tmp_path):
    """Text would be one number, blocks a feature; or features would be compared without either."""
    family = np.repeat(np.arange(40), 3)
    y = Y + np.random.default_rng(0).standard_normal(40)[family]
    three = np.array(["a", "b", "c"])[np.arange(120) % 3]
    columns = {f"x{j}": X[:, j] for j in range(60)} | {"y": y, "three": three}
    write_csv(tmp_path / "d.csv", {"id": np.array([f"s{i}" for i in range(120)]), **columns})
    names = [f"s{i}" for i in range(120)][::-1]
    table = {"id": np.array(names), "family": np.array([f"f{i}" for i in family])[::-1]}
    write_csv(tmp_path / "s.csv", {**table, "one": np.array(["a"] * 120)})
    asked = ("discover", "d.csv", "--target", "y", "--id", "id", "--samples", "s.csv")
    both = ("--covariates", "three,x9", "--blocks", "family")
    document = json.loads(run(*asked, *both, "--json").stdout)
    levels = np.column_stack([three == "b", three == "c"]).astype(float)
    selector = FalseDiscoverySelector(0.1, covariates=[9, 60, 61])
    known = selector.fit(np.column_stack([X, levels]), y, groups=family).discoveries_
    assert [row["votes"] for row in document["features"]] == known.votes.tolist()
    assert [row["name"] for row in document["features"]] == [f"x{j}" for j in known.features]
    assert [row["name"] for row in document["covariates"]] == ["x9", "three=b", "three=c"]
    own = {"column": "family", "n_blocks": 40, "correlation": known.correlation}
    assert document["blocks"] == pytest.approx(own)
    assert known.correlation > 0.1
    text = " ".join(run(*asked, *both).stdout.split())
    assert "40 blocks of family, whose errors have a correlation of 0." in text
    assert "It assumes independent blocks of samples" in text
    text = " ".join(fails(*asked, "--blocks", "one").split())
    assert "--blocks must have several labels; got 'a' in all 120 rows" in text
    assert "no column 'famly'" in " ".join(fails(*asked, "--blocks", "famly").split())


def test_the_report_says_what_the_rate_is_not(run, data):
    """A reader would take the rate for the probability that one feature is false."""
    text = " ".join(run("discover", *data, "y", "--drop", "three").stdout.split())
    assert "On average over data like these, at most 10%" in text
    assert "not the probability that one of them is false" in text
    none = run("discover", *data, "y", "--drop", "three", "--fdr", "0.001").stdout
    assert "no feature at a false discovery rate of 0.1%" in none
    assert "Finding none does not prove that none has an effect." in none


def test_none_found_is_an_empty_table(run, data, tmp_path):
    """A script that reads the table would find no columns; with gaps the command would fail."""
    gaps = X.copy()
    gaps[5:9, 4] = np.nan
    columns = {f"x{j}": gaps[:, j] for j in range(60)} | {"y": Y}
    text = [",".join(columns)]
    text += [
        ",".join("" if np.isnan(v) else repr(float(v)) for v in row)
        for row in zip(*columns.values(), strict=True)
    ]
    (tmp_path / "gaps.csv").write_text("\n".join(text) + "\n")
    for name in ("data.csv", "gaps.csv"):
        options = ("--fdr", "0.001", "--features-out", "none.csv", "--missing", "mean")
        dropped = ("--drop", "three") if name == "data.csv" else ()
        run("discover", name, "--target", "y", *options, *dropped)
        assert rows_of(tmp_path / "none.csv") == []
        head = (tmp_path / "none.csv").read_text()
        assert head.startswith("rank,name,index,votes,stand_in,rival,mean,standard_deviation")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("discover", "--fdr", "1"), "--fdr must be a rate above 0 and below 1; got 1"),
        (("discover", "--fdr", "nan"), "--fdr must be a rate above 0 and below 1; got nan"),
        (("discover", "--experiments", "1"), "--experiments must be at least 2; got 1"),
        (("discover", "--task", "counts"), "--task must be one of auto, classes, numbers"),
        (("discover", "--where", "x0 > 2"), "DATA must have at least 10 rows"),
        (("discover", "--features-out", "f.txt"), "--features-out must end in .csv or .parquet"),
    ],
)
def test_what_is_wrong_is_one_error(fails, data, arguments, message):
    """A user would get an error in words of Python, or figures that mean nothing."""
    command, *rest = arguments
    text = " ".join(fails(command, *data, "y", "--drop", "three", *rest).split())
    assert message in text


def test_several_classes_are_refused(fails, data):
    """Their numbers would be taken for a scale."""
    text = " ".join(fails("discover", *data, "three", "--drop", "y").split())
    assert "two classes" in text
    assert "got 3" in text
    assert "--where" in text
