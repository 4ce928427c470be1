"""Odds, rate and hazard ratios: of one unit, and of one standard deviation under another name."""

import csv
import json

import numpy as np
import pytest

from conftest import write_csv
from zeronorm import persistence
from zeronorm.core.effects import effects, ratio, ratio_text

RNG = np.random.default_rng(4)
N = 120
X = np.column_stack(
    [40 * RNG.standard_normal(N), RNG.random(N) < 0.3, RNG.standard_normal((N, 3)).T[0]]
)
Z = 0.02 * X[:, 0] + 0.8 * X[:, 1] + 0.3 * RNG.standard_normal(N)
TIME = RNG.exponential(np.exp(-Z)) + 0.01
CASES = {
    "odds": (("--target", "y"), "odds ratio", {"y": np.where(Z > 0.2, "b", "a")}),
    "ordered": (
        ("--target", "y", "--task", "ordered"), "odds ratio", {"y": np.digitize(Z, [-0.3, 0.6])},
    ),
    "rate": (("--target", "y", "--task", "counts"), "rate ratio", {"y": RNG.poisson(np.exp(Z))}),
    "mean": (
        ("--target", "y", "--task", "numbers", "--loss", "gamma"), "mean ratio", {"y": np.exp(Z)},
    ),
    "hazard": (
        ("--time", "t", "--event", "e"), "hazard ratio", {"t": TIME, "e": (TIME < 2).astype(int)},
    ),
}  # fmt: skip
CHEAP = ("-k", 2, "--no-cv")


def data_of(columns):
    """Write the columns with a target."""
    names = {"dose": X[:, 0], "smoker": X[:, 1].astype(int), "age": X[:, 2], **columns}
    write_csv("d.csv", {name: np.asarray(own).tolist() for name, own in names.items()})


@pytest.mark.parametrize("case", CASES)
def test_a_ratio_is_of_one_unit(run, tmp_path, case):
    """A rate ratio of 0.93 for a level would be published where it is 0.74 (per SD, unsaid)."""
    target, name, columns = CASES[case]
    data_of(columns)
    found = run("select", "d.csv", *target, *CHEAP, "-o", "m.npz", "--features-out", "f.csv")
    document = json.loads(run("select", "d.csv", *target, *CHEAP, "--no-save", "--json").stdout)
    model = persistence.load(tmp_path / "m.npz")
    coef = dict(zip(model.columns.tolist(), np.abs(model.coef[0]), strict=True))
    rows = document["models"][0]["features"]
    with open("f.csv") as file:
        written = list(csv.DictReader(file))
    column = name.replace(" ", "_")
    text = found.stdout
    heads = f"coefficient  {name}  {name} per SD"
    assert heads in text
    for row, line in zip(rows, written, strict=True):
        deviation = X[:, row["index"]].std()
        assert abs(row["coefficient"]) == pytest.approx(coef[row["index"]], rel=1e-9)
        assert row["coefficient_per_sd"] == pytest.approx(row["coefficient"] * deviation)
        assert row["ratio"] == pytest.approx(np.exp(row["coefficient"]))
        assert row["ratio_per_sd"] == pytest.approx(np.exp(row["coefficient"] * deviation))
        assert float(line[column]) == row["ratio"]
        assert float(line[f"{column}_per_sd"]) == row["ratio_per_sd"]
        assert float(line["coefficient_per_sd"]) == row["coefficient_per_sd"]
        shown = [ratio_text(row["coefficient"]), ratio_text(row["coefficient_per_sd"])]
        (printed,) = [one.split() for one in text.splitlines() if f" {row['name']} " in one]
        assert printed[3:5] == shown
    legend = " ".join(text.split())
    assert f"{name}: factor on the" in legend
    assert "per unit of the feature (of a column of 0 and 1: 1 compared with 0)" in legend


def test_a_column_of_0_and_1_is_level_against_base():
    """Of a level the ratio would depend on how many rows have it."""
    for share in (0.1, 0.5):
        flag = np.arange(100) < 100 * share
        found = effects(np.log(2.0), flag.std(), "poisson")
        assert found["ratio"] == pytest.approx(2.0)
        assert found["ratio_per_sd"] == pytest.approx(2.0 ** flag.std())


def test_numbers_have_coefficients_of_both_kinds(run, tmp_path):
    """Of numbers there is no ratio, and "per s.d." would have no name."""
    data_of({"y": Z})
    found = run("select", "d.csv", "--target", "y", *CHEAP, "--features-out", "f.csv")
    assert "coefficient  coefficient per SD" in found.stdout
    assert "ratio" not in (tmp_path / "f.csv").read_text()
    document = json.loads(run("select", "d.csv", "--target", "y", *CHEAP, "--json").stdout)
    assert {row["ratio"] for row in document["models"][0]["features"]} == {None}


def test_ratios_that_no_float_holds():
    """An exponential would be inf, which no JSON has, or an error."""
    assert ratio(800.0) is None
    assert ratio(-800.0) is None
    assert ratio([0.0, 800.0]) == [1.0, None]
    assert ratio_text(800.0) == "2.7e+347"
    assert ratio_text(-800.0) == "3.7e-348"
    assert ratio_text(np.log(10.0) * 5) in ("1.0e+5", "10.0e+4")
    assert ratio_text(0.00023) == "1.000230"
    assert ratio_text(-0.307) == "0.736"
    json.dumps(effects(900.0, 2.0, "cox"), allow_nan=False)
    for value in np.linspace(-30, 30, 241):
        assert float(ratio_text(value)) == pytest.approx(np.exp(value), rel=0.06)
