"""--features-out: the table of the selected features."""

import csv
import json

import numpy as np
import pytest

from conftest import make_classification
from golub import GOLUB, load_golub
from zeronorm import persistence

CHEAP = ("--no-cv", "--no-save", "--quiet")


def table_of(path):
    """Return the columns of a CSV file by their names, numbers as floats."""
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    columns = {}
    for name, cells in zip(header, zip(*rows, strict=True), strict=True):
        try:
            columns[name] = np.array([float(cell) for cell in cells])
        except ValueError:
            columns[name] = list(cells)
    return columns


def write_csv(path, X, y, names=("y",)):
    """Write data and targets as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(X.shape[1])), *names])
        writer.writerows([*map(repr, row), *t] for row, t in zip(X.tolist(), y, strict=True))
    return path


def test_features_of_two_classes(run, tmp_path):
    """The table would say other coefficients than the model, or other means than the data."""
    text = run("select", GOLUB, "-k", 4, "--no-cv", "--features-out", "f.csv").stdout
    assert "features       f.csv" in text or "features     f.csv" in text
    found, golub = table_of(tmp_path / "f.csv"), load_golub()
    model = persistence.load(tmp_path / "golub-k4.model.npz")
    index = found["index"].astype(int)
    assert found["name"] == [golub.feature_names[j] for j in index]
    coef = dict(zip(model.columns.tolist(), np.ravel(model.coef), strict=True))
    np.testing.assert_array_equal(found["coefficient"], [coef[j] for j in index])
    np.testing.assert_allclose(found["odds_ratio"], np.exp(found["coefficient"]))
    X = golub.X[:, index].astype(float)
    np.testing.assert_allclose(found["mean"], X.mean(axis=0))
    np.testing.assert_allclose(found["standard_deviation"], X.std(axis=0))
    for label in ("ALL", "AML"):
        np.testing.assert_allclose(found[f"mean({label})"], X[golub.y == label].mean(axis=0))
    assert list(found["rank"]) == [1, 2, 3, 4]
    assert set(found["class"]) == {"AML"}
    assert "group" not in found
    assert "correlation" not in found


def test_parquet_is_the_same_table(run, tmp_path):
    """The two formats would differ, or text and numbers would change their types."""
    pq = pytest.importorskip("pyarrow.parquet")
    for file in ("f.csv", "f.parquet"):
        run("select", GOLUB, "-k", "2,4", "--rule", "all", *CHEAP, "--features-out", file)
    found = pq.read_table(tmp_path / "f.parquet").to_pydict()
    expected = table_of(tmp_path / "f.csv")
    assert list(found) == list(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)
    assert found["n_features"] == [2, 2, 4, 4, 4, 4]


def test_a_criterion_leaves_one_size(run, tmp_path):
    """The table would have models that were not chosen."""
    run("select", GOLUB, "-k", "1:3", "--rule", "bic", *CHEAP, "--features-out", "f.csv")
    assert np.unique(table_of(tmp_path / "f.csv")["n_features"]).size == 1


@pytest.mark.parametrize("each", [(), ("--per-class",)])
def test_features_of_several_classes(run, tmp_path, each):
    """Coefficients of classes that share features would be lost, or called odds ratios."""
    X, y = make_classification(90, 8, n_classes=3, seed=1)
    write_csv(tmp_path / "three.csv", X, [[f"c{label}"] for label in y])
    run("select", "three.csv", "--target", "y", "-k", 3, *each, *CHEAP, "--features-out", "f.csv")
    found = table_of(tmp_path / "f.csv")
    index = found["index"].astype(int)
    for label in np.unique(y):
        np.testing.assert_allclose(found[f"mean(c{label})"], X[y == label][:, index].mean(axis=0))
        assert (f"coefficient(c{label})" in found) == (not each)
    assert ("class" in found) == bool(each)
    assert ("odds_ratio" in found) == bool(each)
    assert not any("odds" in name for name in found) or each


def test_features_of_numbers(run, tmp_path):
    """Correlations would be those of other columns or responses; least squares has no ratio."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 10))
    Y = np.column_stack([X[:, 1] - X[:, 4], X[:, 1] + X[:, 6]]) + 0.1 * rng.standard_normal((80, 2))
    write_csv(tmp_path / "d.csv", X, Y.tolist(), ("a", "b"))
    run("select", "d.csv", "--target", "a,b", "-k", 3, *CHEAP, "--features-out", "two.csv")
    found = table_of(tmp_path / "two.csv")
    for i, name in enumerate("ab"):
        expected = [np.corrcoef(X[:, int(j)], Y[:, i])[0, 1] for j in found["index"]]
        np.testing.assert_allclose(found[f"correlation({name})"], expected)
    run("select", "d.csv", "--target", "a", "--drop", "b", "-k", 2, *CHEAP,
        "--features-out", "one.csv")  # fmt: skip
    found = table_of(tmp_path / "one.csv")
    expected = [np.corrcoef(X[:, int(j)], Y[:, 0])[0, 1] for j in found["index"]]
    np.testing.assert_allclose(found["correlation"], expected)
    assert not any("ratio" in name for name in found)


def test_features_of_counts_and_groups(run, tmp_path):
    """A factor of counts would be called odds, or the groups would be missing."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 6))
    y = rng.poisson(np.exp(X[:, 1] - 0.5 * X[:, 2]))
    write_csv(tmp_path / "c.csv", X, [[value] for value in y.tolist()])
    (tmp_path / "groups.csv").write_text(
        "feature,group\n" + "".join(f"x{j},g{j // 2}\n" for j in range(6))
    )
    run("select", "c.csv", "--target", "y", "--task", "counts", "-k", 2, *CHEAP,
        "--features-out", "c-features.csv")  # fmt: skip
    found = table_of(tmp_path / "c-features.csv")
    np.testing.assert_allclose(found["rate_ratio"], np.exp(found["coefficient"]))
    run("select", "c.csv", "--target", "y", "--task", "numbers", "-k", 2, *CHEAP, "--groups", 2,
        "--group-file", "groups.csv", "--features-out", "g.csv")  # fmt: skip
    found = table_of(tmp_path / "g.csv")
    assert found["group"] == [f"g{int(j) // 2}" for j in found["index"]]


def test_names_are_no_formulas(run, tmp_path):
    """A spreadsheet would run what a column is called."""
    X, y = make_classification(60, 6, seed=1)
    path = write_csv(tmp_path / "t.csv", X, [[f"c{label}"] for label in y])
    path.write_text(path.read_text().replace("x", "=x"))
    run("select", "t.csv", "--target", "y", "-k", 2, *CHEAP, "--features-out", "f.csv")
    assert all(name.startswith("'=") for name in table_of(tmp_path / "f.csv")["name"])


def test_files_that_are_refused(fails, tmp_path):
    """A run of hours would end without its table, or with the data overwritten."""
    X, y = make_classification(40, 6, seed=1)
    write_csv(tmp_path / "t.csv", X, [[f"c{label}"] for label in y])
    before = (tmp_path / "t.csv").read_bytes()
    select = ("select", "t.csv", "--target", "y", "-k", 2)
    assert "must end in .csv or .parquet; got f.xlsx" in fails(*select, "--features-out", "f.xlsx")
    assert "--features-out t.csv is an input as well" in fails(*select, "--features-out", "t.csv")
    assert "--features-out: no such directory" in fails(*select, "--features-out", "no/f.csv")
    assert "another file of this run" in fails(
        *select, "--features-out", "f.csv", "--checkpoint", "f.csv"
    )
    assert (tmp_path / "t.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("options", [("--per-class",), ("--shared",)])
def test_covariates_are_told_apart(run, tmp_path, options):
    """They would be counted as features, be lost, or have the statistics of others."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((90, 6))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 4] + rng.standard_normal(90), [-1, 1])]
    path = write_csv(tmp_path / "d.csv", X, y[:, None].tolist())
    given = (path, "--target", "y", "-k", "1,2", "--rule", "all", "--covariates", "x5,x3", *options)
    text = run("select", *given, "--no-cv", "--no-save", "--json", "--features-out", "f.csv").stdout
    found = table_of(tmp_path / "f.csv")
    models, row = json.loads(text)["models"], 0
    covariate = [one == "True" for one in found["covariate"]]
    for model in models:
        for part in ("features", "covariates"):
            for one in model[part]:
                assert covariate[row] == (part == "covariates")
                assert found["n_features"][row] == model["n_features"]
                assert (found["name"][row], found["index"][row]) == (one["name"], one["index"])
                assert (found["rank"][row] == "") == covariate[row]
                given = [one["coefficient"]] if options == ("--per-class",) else one["coefficient"]
                heads = ["coefficient"] if options == ("--per-class",) else [
                    f"coefficient({label})" for label in "abc"
                ]  # fmt: skip
                assert [found[head][row] for head in heads] == given
                column = X[:, one["index"]]
                assert found["mean"][row] == pytest.approx(column.mean())
                assert found["standard_deviation"][row] == pytest.approx(column.std())
                for label in "abc":
                    wanted = column[y == label].mean()
                    assert found[f"mean({label})"][row] == pytest.approx(wanted)
                row += 1
    assert row == len(covariate)
    assert {found["name"][j] for j in range(row) if covariate[j]} == {"x3", "x5"}


def test_a_list_has_no_covariates(run, tmp_path):
    """A certificate would be of a list with covariates in it."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((90, 6))
    y = np.where(X[:, 0] + X[:, 4] + rng.standard_normal(90) > 0, "u", "v")
    path = write_csv(tmp_path / "d.csv", X, y[:, None].tolist())
    given = ("--target", "y", "--covariates", "x3")
    asked = ("-k", 2, *given, "--json", "--no-cv", "--no-save")
    text = run("select", path, *asked, "--features-out", "f.csv").stdout
    names = {one["name"] for one in json.loads(text)["models"][0]["features"]}
    pq = pytest.importorskip("pyarrow.parquet")
    run("select", path, *asked, "--features-out", "f.parquet")
    assert pq.read_table(tmp_path / "f.parquet")["covariate"].to_pylist() == [False, False, True]
    shown = run("certify", "f.csv", path, *given).stdout
    assert "2 features" in shown
    assert all(name in shown for name in names)
