"""Numbers with a decimal comma: read as with a point, text left alone, mixtures refused."""

import json
import re

import numpy as np
import pytest

from zeronorm.core.files import FileError
from zeronorm.io import read_table


def drawn(n=30, p=4, seed=0):
    return np.round(np.random.default_rng(seed).standard_normal((n, p)) * 100, 3)


def text_of(X, y, delimiter=";", comma=",", header=True, more=()):
    """A table as a spreadsheet writes it, with columns of text."""
    lines = [
        delimiter.join([f"g{j}" for j in range(X.shape[1])] + [name for name, _ in more] + ["t"])
    ]
    for i, row in enumerate(X.tolist()):
        cells = [repr(value).replace(".", comma) for value in row]
        cells += [values[i] for _, values in more] + [str(y[i])]
        lines.append(delimiter.join(cells))
    return "\n".join(lines if header else lines[1:]) + "\n"


@pytest.mark.parametrize("delimiter", [";", "\t"])
@pytest.mark.parametrize("header", [True, False])
def test_numbers_are_those_with_points(tmp_path, delimiter, header):
    """Without a header a line has more commas than semicolons."""
    X, y = drawn(), np.arange(30) % 2
    (tmp_path / "a.csv").write_text(text_of(X, y, delimiter, header=header))
    (tmp_path / "b.csv").write_text(text_of(X, y, delimiter, ".", header=header))
    found = read_table(tmp_path / "a.csv", "t" if header else "-1")
    wanted = read_table(tmp_path / "b.csv", "t" if header else "-1")
    assert np.array_equal(found.X, wanted.X)
    assert np.array_equal(found.y, wanted.y)
    assert any("decimal comma" in note for note in found.notes)
    assert not any("decimal comma" in note for note in wanted.notes)


def test_text_is_left_alone(tmp_path):
    """A category or a name would be changed without a word."""
    X, y = drawn(), np.arange(30) % 2
    kinds = np.array(["a, b 1,5", '"1,5;x"', "c"])[np.arange(30) % 3]
    (tmp_path / "a.csv").write_text(text_of(X, y, more=[("kind", kinds)]))
    table = read_table(tmp_path / "a.csv", "t")
    assert table.feature_names[4:] == ["kind=1,5;x", "kind=a, b 1,5", "kind=c"]
    assert np.array_equal(table.X[:, :4], X)


def test_whole_numbers_and_names_with_points_may_stand_beside(tmp_path):
    """Wavelengths in the header, counts in a column."""
    text = "w850.5;w852.5;n;t\n1,5;2,5;3;0\n-,5;2e3;4;1\n1,5e-3;0;5;0\n"
    (tmp_path / "a.csv").write_text(text)
    table = read_table(tmp_path / "a.csv", "t")
    assert table.feature_names == ["w850.5", "w852.5", "n"]
    assert table.X.tolist() == [[1.5, 2.5, 3], [-0.5, 2e3, 4], [1.5e-3, 0, 5]]


def test_both_kinds_in_one_file_are_refused(tmp_path):
    """1.234 may be a thousand there; the place is said."""
    X, y = drawn(3000, 8), np.arange(3000) % 2
    lines = text_of(X, y).splitlines()
    lines[2700] = lines[2700].replace(",", ".", 1)
    (tmp_path / "late.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(FileError, match=r"'g0', line 2: '.*' has a comma, and other .* have a po"):
        read_table(tmp_path / "late.csv", "t")
    (tmp_path / "soon.csv").write_text("a;b;t\n1,5;2.5;0\n2,5;3.5;1\n")
    with pytest.raises(FileError, match=r"line 2, column 'b': 2.5 has a decimal point, where"):
        read_table(tmp_path / "soon.csv", "t")


def test_the_command_reads_them(run, tmp_path):
    """Selection, its note, and predictions for a file of the same kind."""
    X = drawn()
    y = np.where(X[:, 2] > 0, "high", "low")
    (tmp_path / "a.csv").write_text(text_of(X, y))
    (tmp_path / "b.csv").write_text(text_of(X, y, ",", "."))
    given = ("--target", "t", "-k", "1", "--no-cv", "--json")
    one = json.loads(run("select", "a.csv", *given, "-o", "m.npz").stdout)
    two = json.loads(run("select", "b.csv", *given, "--no-save").stdout)
    assert one["models"][0]["features"] == two["models"][0]["features"]
    assert any("decimal comma" in note for note in one["notes"])
    assert run("predict", "m.npz", "a.csv").exit_code == 0


@pytest.mark.parametrize("spoilt", ["1,5", "n/k"])
def test_a_target_of_numbers_with_slips_is_no_hundred_classes(fails, tmp_path, spoilt):
    """Each number would be a class of its own, for minutes."""
    X = drawn(80)
    y = [repr(value) for value in X[:, 0].tolist()]
    y[7] = f'"{spoilt}"'
    lines = ["a,b,t", *(f"{X[i, 1]},{X[i, 2]},{y[i]}" for i in range(80))]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    said = fails("select", "a.csv", "--target", "t", "-k", "1")
    assert f"must be numbers, as most of it are, or classes; got '{spoilt}' in sample 8" in said


def test_commas_that_may_separate_thousands_are_refused(tmp_path):
    """22,432 between tabs may be either; a number that is no thousand settles it."""
    rows = [f"{a:,}\t{b:,}\t{t}" for a, b, t in ((22432, 1234, 0), (9876, 12345, 1))]
    path = tmp_path / "a.tsv"
    path.write_text("\n".join(["a\tb\tt", *rows]) + "\n")
    with pytest.raises(FileError, match="'22,432' may have a decimal comma, or one of thousands"):
        read_table(path, "t")
    path.write_text("\n".join(["a\tb\tt", *rows, "0,512\t3,100\t1"]) + "\n")
    assert read_table(path, "t").X[:, 0].tolist() == [22.432, 9.876, 0.512]


def test_points_in_quotes_are_no_numbers(tmp_path):
    """A note of a laboratory may hold whatever it likes."""
    X, y = drawn(), np.arange(30) % 2
    notes = np.array(['"p;1.5;q"', '"p;2,5;q"', '"p;\n3.5;q"'])[np.arange(30) % 3]
    path = tmp_path / "a.csv"
    path.write_text(text_of(X, y, more=[("note", notes)]))
    assert np.array_equal(read_table(path, "t").X[:, :4], X)
    lines = path.read_text()
    path.write_text(lines + lines.splitlines()[1].replace(",", ".", 1) + "\n")
    with pytest.raises(FileError, match=MIXED):
        read_table(path, "t")


def quoted(X, y, header="a,b,n,t"):
    """A table whose columns but the last two are numbers with commas in quotes."""
    lines = [header]
    for row, label in zip(X.tolist(), y, strict=True):
        cells = [f'"{value}"'.replace(".", ",") for value in row[:2]]
        lines.append(",".join([*cells, str(int(row[2])), str(label)]))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("n", [30, 4000])
def test_quoted_numbers_between_commas(tmp_path, n):
    """Most programs that write a comma between columns put such numbers in quotes."""
    X, y = drawn(n, 3), np.arange(n) % 2
    X[:, 2] = np.round(X[:, 2])
    path = tmp_path / "a.csv"
    path.write_text(quoted(X, y))
    table = read_table(path, "t")
    assert np.array_equal(table.X, X)
    assert table.feature_names == ["a", "b", "n"]
    said = "numbers with a decimal comma are read as with a point (column 'a', column 'b')"
    assert table.notes[0] == said
    # The target and gaps, whole numbers before the first comma.
    lines = path.read_text().splitlines()
    lines[1] = '7,"",3,"1,5"'
    lines[2] = '"1,25",,3,2'
    lines[3:] = [line[:-1] + '"2,75"' for line in lines[3:]]
    path.write_text("\n".join(lines) + "\n")
    table = read_table(path, "t", missing="mean")
    assert table.y.tolist() == [1.5, 2, *[2.75] * (n - 2)]
    assert table.filled == {"b": 2}
    found = table.X.gather(np.array([0]))[:, 0]
    assert found.tolist() == [7, 1.25, *X[2:, 0].tolist()]


@pytest.mark.parametrize("n", [30, 4000])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"1.5","2,5",3,1', "column 'a', line 2: '.*,.*' has a comma, and other .* have a point"),
        ('1.5,"2,5",3,1', "column 'a', line 2: '.*,.*' has a comma, and other .* have a point"),
        ('"1,5","2,5",3.5,1', "line 9, column 'n': 3.5 has a decimal point, where .* 'a' have a"),
        ('"1,5","p",3,1', "column 'b', line 9: 'p' is no number, as most of the column are"),
        ('"1,500,000","2,5",3,1', "column 'a', line 9: '1,500,000' has points or commas"),
    ],
)
def test_mixtures_in_quotes_are_refused(tmp_path, n, line, message):
    """1.234 beside 1,5 may be a thousand."""
    X, y = drawn(n, 3), np.arange(n) % 2
    lines = quoted(X, y).splitlines()
    lines[8] = line
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(FileError, match=message):
        read_table(path, "t")


def test_quoted_numbers_that_may_be_thousands(tmp_path):
    """Prices of some countries have commas at thousands alone."""
    path = tmp_path / "a.csv"
    path.write_text('a,t\n"1,234",0\n"22,432",1\n950,1\n')
    said = "'1,234' may have a decimal comma, or one of thousands. Write decimals with a point"
    with pytest.raises(FileError, match=said):
        read_table(path, "t")


def test_a_model_reads_quoted_numbers(run, tmp_path):
    """Text that was a level of a category would turn into a number."""
    X = drawn(60, 3)
    X[:, 2] = np.round(X[:, 2])
    y = np.where(X[:, 0] > 0, "high", "low")
    (tmp_path / "a.csv").write_text(quoted(X, y))
    rows = [f"{a},{b},{n:.0f},{t}" for (a, b, n), t in zip(X.tolist(), y, strict=True)]
    (tmp_path / "b.csv").write_text("\n".join(["a,b,n,t", *rows]) + "\n")
    run("select", "a.csv", "--target", "t", "-k", "2", "--no-cv", "-o", "m.npz")
    for name in ("a.csv", "b.csv"):
        run("predict", "m.npz", name, "-o", f"{name}.out.csv")
    assert (tmp_path / "a.csv.out.csv").read_text() == (tmp_path / "b.csv.out.csv").read_text()


MIXED = "has a comma, and other numbers of the column have a point"
NEITHER = "may be {}, with a decimal point, or {}, with one between thousands"
SETTLED = "has a decimal {}, and decimal is '{}'"


@pytest.mark.parametrize(
    ("text", "decimal", "expected"),
    [
        # A column says by itself which mark is the decimal one.
        ("a;t\n4.198,06;0\n1.200,50;1\n", None, [4198.06, 1200.5]),
        ("a;t\n4.198,06;0\n1.200;1\n", None, [4198.06, 1200]),
        ("a;t\n1.198.060;0\n1.200;1\n", None, [1198060, 1200]),
        ("a;t\n1.234;0\n0.512;1\n", None, [1.234, 0.512]),
        ("a;t\n1.234;0\n12.5;1\n", None, [1.234, 12.5]),
        ("a;t\n1.234;0\n1500;1\n", None, [1.234, 1500]),
        ("a;t\n1.234;0\n2.345;1\n", None, [1.234, 2.345]),  # as of "%.3f"
        ("a;t\n1500;0\n950;1\n", None, [1500, 950]),
        ("a,t\n1.234,0\n950,1\n", None, [1.234, 950]),
        ('a,t\n"1,234.5",0\n"2,000",1\n', None, [1234.5, 2000]),
        ('a,t\n"1,234,500",0\n"2,000",1\n', None, [1234500, 2000]),
        # Nothing does.
        ("a;t\n1,5;0\n1.234;1\n", None, MIXED),
        ('a,t\n"2.5",0\n"1,500",1\n', None, MIXED),
        (
            "a;t\n1.234;0\n950;1\n",
            None,
            "line 2, column 'a': '1.234' " + NEITHER.format("1.234", "1234"),
        ),
        (
            "a;t\n1.000;0\n2.000;1\n950;0\n",
            None,
            "line 2, column 'a': '1.000' " + NEITHER.format("1.000", "1000"),
        ),
        (
            "a;b;t\n1.234;1,5;0\n2.345;2,5;1\n",
            None,
            "line 2, column 'a': '1.234' " + NEITHER.format("1.234", "1234"),
        ),
        (
            "a;t\n950;0\n1.234;1.5\n",
            None,
            "line 3, column 'a': '1.234' " + NEITHER.format("1.234", "1234"),
        ),
        # The user does.
        ("a;t\n1.234;0\n950;1\n", ",", [1234, 950]),
        ("a;t\n1.000;0\n950;1\n", ",", [1000, 950]),
        ("a;t\n1.234;0\n950;1\n", ".", [1.234, 950]),
        ('a,t\n"1,234",0\n950,1\n', ",", [1.234, 950]),
        ('a,t\n"1,234",0\n950,1\n', ".", [1234, 950]),
        ("a;t\n1.5;0\n950;1\n", ",", "line 2, column 'a': '1.5' " + SETTLED.format("point", ",")),
        ("a;t\n1,5;0\n950;1\n", ".", "line 2, column 'a': '1,5' " + SETTLED.format("comma", ".")),
    ],
)
@pytest.mark.parametrize("n", [1, 3000])
def test_marks_between_thousands(tmp_path, text, decimal, expected, n):
    """A thousand and ten would be read as 1.01, in a small file or by the kernel."""
    header, *rows = text.splitlines()
    path = tmp_path / "a.csv"
    path.write_text("\n".join([header, *rows * n]) + "\n")
    if isinstance(expected, str):
        with pytest.raises(FileError, match=re.escape(expected)):
            read_table(path, "t", decimal=decimal)
    else:
        assert read_table(path, "t", decimal=decimal).X[:, 0].tolist() == expected * n
