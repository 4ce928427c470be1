"""What cells mean: dates, units, codes, missing values that are written as numbers or words."""

from __future__ import annotations

import json

import numpy as np
import pytest

from archives import parts, rewrite
from zeronorm import BudgetClassifier, BudgetRegressor, survival_target
from zeronorm.core.files import FileError
from zeronorm.io import read_table
from zeronorm.io.meaning import stand_ins
from zeronorm.io.read import read_frame
from zeronorm.persistence import ModelFileError, load, save
from zeronorm.persistence.models import MODEL

N = 40
ROWS = range(N)
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "Sept",
    "October",
    "Nov",
    "Dec",
]


def days(since, values):
    """Days from a date to others, as ISO dates."""
    return (np.array(values, "datetime64[s]") - np.datetime64(since, "s")).astype(float) / 86400


# Each: the cells, and the feature that they become.
DATES = {
    "iso": [f"2020-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in ROWS],
    "slashes": [f"2020/{i % 12 + 1:02}/{i % 28 + 1}" for i in ROWS],
    "points": [f"{i % 28 + 1:02}.{i % 12 + 1:02}.2020" for i in ROWS],
    "short points": [f"{i % 28 + 1}. {i % 12 + 1}. 2020" for i in ROWS],
    "day first": [f"{i % 28 + 1:02}/{i % 12 + 1:02}/2020" for i in ROWS],
    "day first, hyphens": [f"{i % 28 + 1:02}-{i % 12 + 1:02}-2020" for i in ROWS],
    "month first": [f"{i % 12 + 1}/{i % 28 + 1}/2020" for i in ROWS],
    "a blank and a time": [f"2020-{i % 12 + 1:02}-{i % 28 + 1:02} 00:00:00" for i in ROWS],
    "SAS": [f"{i % 28 + 1:02}{MONTHS[i % 12][:3].upper()}2020" for i in ROWS],
    "words": [f"{MONTHS[i % 12]} {i % 28 + 1}, 2020" for i in ROWS],
}


def table(cells, form, tmp_path, **asked):
    """Read a column `m` of cells beside a target, from a file or a frame."""
    n = len(cells)
    columns = {"m": list(cells), "x": [i * i % 7 for i in range(n)], "y": list("ab") * (n // 2)}
    if form == "frame":
        return read_frame(pytest.importorskip("pandas").DataFrame(columns), "y", **asked)
    if form == "json":
        rows = zip(*columns.values(), strict=True)
        path = tmp_path / "a.jsonl"
        path.write_text("\n".join(json.dumps(dict(zip(columns, row, strict=True))) for row in rows))
    elif form == "parquet":
        path = tmp_path / "a.parquet"
        pytest.importorskip("polars").DataFrame(columns).write_parquet(path)
    else:
        path = tmp_path / "a.csv"
        lines = [f'"{a}",{b},{c}' for a, b, c in zip(*columns.values(), strict=True)]
        path.write_text("\n".join(["m,x,y", *lines]), encoding="utf-8")
    return read_table(path, "y", **asked)


FORMS = ["csv", "frame", "json", "parquet"]


# --- dates --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", DATES)
def test_dates_are_days_however_they_are_written(tmp_path, way, form):
    """Dates of Europe and America would be hundreds of categories, or called names of samples."""
    found = table(DATES[way], form, tmp_path)
    assert found.feature_names == ["m: days since 2020-01-01", "x"]
    assert np.array_equal(found.X[:, 0], days("2020-01-01", DATES["iso"]))
    order = "month" if way == "month first" else "day"
    read = f", read with the {order} first," if way[:3] in ("day", "mon", "poi", "sho") else ""
    assert found.notes[0] == f"1 column of dates{read} as days since the first: m"


@pytest.mark.parametrize(
    ("cells", "hours"),
    [
        (["31/01/2020 06:30", "31/01/2020 18:00:30"], [6.5, 18 + 1 / 120]),
        (["01/31/2020 6:30 AM", "01/31/2020, 12:00 PM"], [6.5, 12.0]),
        (["2020-01-31T06:30Z", "2020-01-31 18:00:00.5+02:00"], [6.5, 18 + 0.5 / 3600]),
        (["31.01.2020 12:15 am", "31.01.2020 23:00"], [0.25, 23.0]),
    ],
)
def test_times_are_those_on_the_wall(tmp_path, cells, hours):
    """Times would be lost, or half a day off."""
    found = table(cells * 10, "csv", tmp_path)
    np.testing.assert_allclose(found.X[:2, 0] * 24, hours, rtol=1e-12)


def test_months_are_dates(tmp_path):
    """A month of a year would be a category without an order."""
    cells = [f"{2019 + i % 2}-{i % 12 + 1:02}" for i in ROWS]
    found = table(cells, "csv", tmp_path)
    assert np.array_equal(found.X[:, 0], days("2019-01-01", cells))


@pytest.mark.parametrize("form", FORMS)
def test_dates_of_two_readings_are_refused(tmp_path, form):
    """Every date would be months off, and nobody be told."""
    cells = [f"{i % 12 + 1:02}/{i % 11 + 1:02}/2020" for i in ROWS]
    with pytest.raises(FileError, match=r"'12/01/2020' may be 2020-01-12 \(day first\) or 2020-12"):
        table(cells, form, tmp_path)
    with pytest.raises(FileError, match="Say dates='day-first' or dates='month-first'"):
        table(cells, form, tmp_path)
    for order, first in (("day-first", "%d/%m"), ("month-first", "%m/%d")):
        found = table(cells, form, tmp_path, dates=order).X[:, 0]
        own = [
            f"2020-{c[3:5]}-{c[:2]}" if first == "%d/%m" else f"2020-{c[:2]}-{c[3:5]}"
            for c in cells
        ]
        assert np.array_equal(found, days("2020-01-01", own))
    with pytest.raises(FileError, match="is no ISO date"):
        table(cells, form, tmp_path, dates="iso")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["13/01/2020", "01/13/2020"], "'01/13/2020' has the month first, and '13/01/2020' of"),
        (["31/01/20", "13/01/20"], "'31/01/20' is a date with a year of two digits"),
        (["31/01/2020", "30/02/2020", "01/02/2020"], "'30/02/2020' is no date, as most"),
        (["1-Mar-20", "2-Mar-20"], "'1-Mar-20' is a date with a year of two digits"),
        (["31/01/1220", "30/01/1220"], "'31/01/1220' is a date beyond the years 1600 to 2399"),
    ],
)
def test_dates_that_are_none_are_refused(tmp_path, cells, message):
    """A slip would be a level, or a column in two orders be read in one."""
    with pytest.raises(FileError) as caught:
        table((cells * 20)[:N], "csv", tmp_path)
    assert message in str(caught.value)
    assert "names the samples" not in str(caught.value)


def test_the_option_for_dates_is_checked(tmp_path):
    """A word that is none would be read as no order."""
    for form in ("csv", "frame"):
        with pytest.raises(ValueError, match="dates must be day-first, month-first or iso; got"):
            table(DATES["iso"], form, tmp_path, dates="dmy")


def test_a_model_reads_dates_as_in_its_training(tmp_path):
    """A few new rows, which show no order themselves, would be refused or turned round."""
    trained = table(DATES["day first"], "csv", tmp_path)
    fitted = BudgetClassifier(2, calibrate=False).fit(trained.X, trained.y)
    names = {"feature_names": trained.feature_names, "codings": trained.codings}
    like = load(save(fitted, tmp_path / "m.npz", **names)).layout
    new = table(["03/04/2020", "2020-04-03"] * 2, "csv", tmp_path, like=like)
    assert new.X[:2, 0].tolist() == [93.0, 93.0]
    with pytest.raises(FileError, match="'04/13/2020' is no date as 31/01/2020, and the model was"):
        table(["04/13/2020", "2020-04-03"] * 2, "csv", tmp_path, like=like)


@pytest.mark.parametrize(
    ("form", "origin"), [("day", "2020-01-01"), (None, "2020-01-01"), ("iso", None)]
)
def test_dates_of_a_model_that_are_none_are_refused(tmp_path, form, origin):
    """A damaged model would read dates in no order, or count from nowhere."""
    trained = table(DATES["iso"], "csv", tmp_path)
    fitted = BudgetClassifier(2, calibrate=False).fit(trained.X, trained.y)
    names = {"feature_names": trained.feature_names, "codings": trained.codings}
    path = save(fitted, tmp_path / "m.npz", **names)
    arrays = parts(path)
    (record,) = arrays["metadata"]["codings"]
    record |= {"form": form, "origin": origin}
    with pytest.raises(ModelFileError, match="of a coding"):
        load(rewrite(MODEL, path, arrays))


# --- numbers ------------------------------------------------------------------------------------

NUMBERS = {
    "percent": ([f"{i * 1.5:.1f}%" for i in ROWS], [i * 1.5 for i in ROWS], "%"),
    "percent, a blank": ([f"{i} %" for i in ROWS], list(ROWS), "%"),
    "percent, commas": ([f"{i},{i % 10}%" for i in ROWS], [i + i % 10 / 10 for i in ROWS], "%"),
    "mg": ([f"{i}.5 mg" for i in ROWS], [i + 0.5 for i in ROWS], "mg"),
    "per litre": ([f"{i} x10^9/L" for i in ROWS], list(ROWS), "x10^9/L"),
    "kg without a blank": ([f"{i + 50}kg" for i in ROWS], [i + 50 for i in ROWS], "kg"),
    "years": ([f"{i} years" for i in ROWS], list(ROWS), "years"),
    "euros": ([f"€{i}.25" for i in ROWS], [i + 0.25 for i in ROWS], "€"),
    "euros behind": ([f"{i},25 €" for i in ROWS], [i + 0.25 for i in ROWS], "€"),
    "minus": ([f"\u2212{i}.5" for i in ROWS], [-i - 0.5 for i in ROWS], "signs"),
    "en dash": (
        [f"\u2013{i}" if i % 2 else f"{i}" for i in ROWS],
        [-i if i % 2 else i for i in ROWS],
        "signs",
    ),
    "thin blanks": (
        [f"{i + 1}\u202f{i:03}" for i in ROWS],
        [1000 * i + 1000 + i for i in ROWS],
        "signs",
    ),
    "apostrophes": (
        [f"{i + 1}'{i:03}.5" for i in ROWS],
        [1000 * i + 1000.5 + i for i in ROWS],
        "signs",
    ),
    "points of thousands": (
        [f"{i + 1}.198,06 €" for i in ROWS],
        [1000 * i + 1198.06 for i in ROWS],
        "€",
    ),
    "commas of thousands": (
        [f"${i + 1},198.50" for i in ROWS],
        [1000 * i + 1198.5 for i in ROWS],
        "$",
    ),
    "millions": (
        [f"{i + 1},000,000 g" for i in ROWS],
        [1e6 * i + 1e6 for i in ROWS],
        "g",
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", NUMBERS)
def test_numbers_with_units_and_other_signs_are_numbers(tmp_path, way, form):
    """They were refused as names of samples, or were a category for each number."""
    cells, values, unit = NUMBERS[way]
    found = table(cells, form, tmp_path)
    assert found.feature_names == ["m", "x"]
    np.testing.assert_allclose(found.X[:, 0], values, rtol=1e-14)
    (note,) = (note for note in found.notes if "read without them" in note)
    assert unit in note


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([f"{i}%" if i else "0.5" for i in ROWS], "'0.5' is no number with the unit '%', as most"),
        (
            [f"{i} {'mg' if i % 2 else 'g'}" for i in ROWS],
            "units of the column are several (g, mg)",
        ),
        ([f"{i} mg" if i % 9 else f"{i} g" for i in ROWS], "'0 g' is no number with the unit 'mg'"),
        ([f"{i}" if i else "0 mg" for i in ROWS], "Write numbers without 'mg'"),
        ([f"{i},{i:03}%" for i in range(1, N + 1)], "'1,001%' may have a decimal comma, or one of"),
        ([f"{i},5%" if i % 2 else f"{i}.5%" for i in ROWS], "has a comma, and other numbers of"),
    ],
)
def test_numbers_in_several_ways_are_refused(tmp_path, cells, message):
    """Milligrams and grams would be one number, or names of samples."""
    with pytest.raises(FileError) as caught:
        table(cells, "csv", tmp_path)
    assert message in str(caught.value)
    assert "names the samples" not in str(caught.value)


def test_names_with_digits_stay_categories(tmp_path):
    """Rooms, doses of letters and versions would be numbers."""
    for cells in (["1A", "2A", "3B"], ["T1", "T2", "T3"], ["1.0.1", "1.2.0", "2.0.0"], ["3-4"] * 3):
        found = table((cells * 20)[:N], "csv", tmp_path)
        assert found.feature_names[-1] == "x"
        assert set(found.feature_names[:-1]) <= {f"m={cell}" for cell in cells}


def test_a_model_asks_for_the_unit_of_its_training(tmp_path):
    """A share of 0.125 would be predicted as 0.125%."""
    trained = table(NUMBERS["percent"][0], "csv", tmp_path)
    fitted = BudgetRegressor(1, C=1.0, calibrate=False).fit(trained.X, trained.X[:, 0])
    names = {"feature_names": trained.feature_names, "codings": trained.codings}
    model = load(save(fitted, tmp_path / "m.npz", **names))
    assert model.layout.codings["m"].form == "%"
    like = model.layout
    new = table(["12.5%", "\u22123 %", "1.5%", "0%"], "csv", tmp_path, like=like)
    assert new.X[:, 0].tolist() == [12.5, -3.0, 1.5, 0.0]
    with pytest.raises(
        FileError, match=r"'0\.125' has no unit, and the model was trained on .*'%'"
    ):
        table([0.125, 0.25], "csv", tmp_path, like=like)
    with pytest.raises(FileError, match="'3 g' is no number with the unit '%', and the model was"):
        table(["3 g", "4%"], "csv", tmp_path, like=like)


def test_points_of_thousands_are_refused(tmp_path):
    """A thousand and ten grams would be 1.01."""
    path = tmp_path / "a.csv"
    for mark in ";\t":
        rows = [f"{w}{mark}{i}{mark}{'ab'[i % 2]}" for i, w in enumerate(["950", "1.010"] * 8)]
        path.write_text("\n".join([f"w{mark}i{mark}y", *rows]))
        with pytest.raises(
            FileError,
            match=r"line 3, column 'w': '1\.010' may be 1\.010, .* or 1010, with one between",
        ):
            read_table(path, "y")
        assert read_table(path, "y", decimal=".").X[1, 0] == 1.01
        assert read_table(path, "y", decimal=",").X[1, 0] == 1010
    for cells in (["1.01", "950"], ["1.010", "950.000"], ["0.125", "2"], ["1.500", "2.25", "3"]):
        rows = [f"{w};{i};{'ab'[i % 2]}" for i, w in enumerate(cells * 8)]
        path.write_text("\n".join(["w;i;y", *rows]))
        assert read_table(path, "y").X[0, 0] == float(cells[0])


# --- codes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [40, 8000])
def test_codes_with_zeros_stay_text(tmp_path, form, n):
    """ZIP codes would be measurements, and 007 be 7; large files are read by another reader."""
    cells = (["10115", "01067", "99084", "80331"] * n)[:n]
    found = table(cells, form, tmp_path)
    assert found.feature_names == ["m=01067", "m=10115", "m=80331", "m=99084", "x"]
    told = "numbers with zeros before them are codes, and stay text: m (as '01067')"
    assert told in found.notes
    some = table((["7", "007.5", "0", "0.5", "-3"] * n)[:n], "csv", tmp_path)
    assert some.feature_names == ["m", "x"]
    assert some.X[:5, 0].tolist() == [7, 7.5, 0, 0.5, -3]


def test_codes_below_many_numbers_are_found(tmp_path):
    """One code at the end of a large file would be a number as all before it."""
    cells = [str(10000 + i % 50) for i in range(20000)]
    cells[-2:] = "01067", "01067"
    found = table(cells, "csv", tmp_path)
    assert "m=01067" in found.feature_names
    assert found.X[:, found.feature_names.index("m=01067")].sum() == 2


def test_codes_are_no_names_of_samples_for_a_model_of_numbers(tmp_path):
    """A model of numbers would refuse numbers with zeros before them."""
    trained = table(range(N), "csv", tmp_path)
    fitted = BudgetRegressor(1, C=1.0, calibrate=False).fit(trained.X, trained.X[:, 0])
    path = save(fitted, tmp_path / "m.npz", feature_names=trained.feature_names)
    new = table(["007", "012"], "csv", tmp_path, like=load(path).layout)
    assert new.X[:, 0].tolist() == [7.0, 12.0]
    with pytest.raises(FileError, match="is a code that begins with a zero, with 40 different"):
        table([f"{i:03}" for i in ROWS], "csv", tmp_path)


@pytest.mark.parametrize("n", [40, 20000])
def test_classes_that_are_codes_stay_text(tmp_path, n):
    """The class 007 would be predicted as 7, in small files or in large ones."""
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{i},{['007', '12', '013'][i % 3]}\n" for i in range(n)))
    assert sorted(set(read_table(path, "y").y.tolist())) == ["007", "013", "12"]


@pytest.mark.parametrize("turned", [False, True])
def test_codes_of_several_files_are_one_column(tmp_path, turned):
    """A file without a code that begins with a zero would be one of numbers."""
    cells = [["01067", "10115"] * 4, ["80331", "10115"] * 4]
    for place, own in enumerate(cells[::-1] if turned else cells):
        rows = [f"{cell},{i},{'ab'[i % 2]}" for i, cell in enumerate(own)]
        (tmp_path / f"p{place}.csv").write_text("\n".join(["m,x,y", *rows]))
    found = read_table(tmp_path / "p*.csv", "y")
    assert found.feature_names == ["m=01067", "m=10115", "m=80331", "x"]
    assert found.X.sum(axis=0)[:3].tolist() == [4, 8, 4]


# --- levels -------------------------------------------------------------------------------------


def test_doubled_levels_are_named(tmp_path):
    """Stage IIA would be two features, each with half of the samples."""
    for form in ("csv", "frame"):
        notes = table(["IIA", "iia", "IIA ", "I"] * 10, form, tmp_path).notes
        assert any("the levels 'IIA', 'iia' differ only in case or blanks" in one for one in notes)


# --- numbers that stand for missing values ------------------------------------------------------

RNG = np.random.default_rng(0)
AGES = RNG.integers(18, 91, 300).astype(float)
CODED = {
    "measured -999": (RNG.standard_normal(300).round(2), -999.0),
    "measured 99.9": (RNG.normal(36.5, 1, 300).round(1), 99.9),
    "measured -9": (RNG.gamma(2, 3, 300).round(2), -9.0),
    "ages 999": (AGES, 999.0),
    "ages -9": (AGES, -9.0),
    "ages -1": (AGES, -1.0),
    "incomes -9": (RNG.lognormal(10, 1, 300).round(), -9.0),
    "scale 99": (RNG.integers(1, 6, 300).astype(float), 99.0),
    "scale 9": (RNG.integers(1, 5, 300).astype(float), 9.0),
    "sex 9": (RNG.integers(1, 3, 300).astype(float), 9.0),
    "yes 9": (RNG.integers(0, 2, 300).astype(float), 9.0),
    "genotypes -9": (RNG.integers(0, 3, 300).astype(float), -9.0),
    "counts 9999": (RNG.poisson(2, 300).astype(float), 9999.0),
    "least integer": (RNG.standard_normal(300), -2147483648.0),
    "NetCDF": (RNG.standard_normal(300), 9.969209968386869e36),
}
PLAIN = {
    "counts of many zeros": RNG.poisson(0.3, 300) * RNG.integers(0, 12, 300),
    "counts with a long tail": np.repeat([0, 1, 2, 3, 9], [200, 60, 25, 13, 2]),
    "0 and 1": RNG.integers(0, 2, 300),
    "-1 and 1": 2 * RNG.integers(0, 2, 300) - 1,
    "-1, 0, 1": RNG.integers(-1, 2, 300),
    "-1 to 10": RNG.integers(-1, 11, 300),
    "ages": np.append(AGES, [99, 99]),
    "scale to 9": RNG.integers(1, 10, 300),
    "scale to 10": RNG.integers(0, 11, 300),
    "percentages": RNG.uniform(0, 99.9, 300).round(1).clip(0, 99.9),
    "prices": RNG.choice([0.99, 1.99, 2.99, 9.99], 300),
    "normal": RNG.standard_normal(300),
    "temperatures": RNG.integers(-15, 30, 300),
    "contrasts": RNG.choice([-9, 0, 9], 300),
    "years": RNG.integers(1950, 2020, 300),
    "once": np.append(RNG.standard_normal(299), -999.0),
    "one value": np.full(300, 99.0),
    "two values": RNG.choice([0, 999], 300),
    "heavy": RNG.standard_cauchy(300).round(),
    "bytes": RNG.integers(0, 256, 300),
}


@pytest.mark.parametrize("name", CODED)
def test_codes_for_missing_values_are_found(name):
    """-999 would be a measurement."""
    values, code = CODED[name]
    column = np.where(np.arange(300) % 12 == 5, code, values)
    (found,) = stand_ins(column)
    assert (found.value, found.count) == (code, 25)
    assert (found.least, found.largest) == (
        column[column != code].min(),
        column[column != code].max(),
    )


def test_several_codes_of_a_column_are_found():
    """The second of refused, unknown and missing would hide the first."""
    for codes in ([97, 98, 99], [-9, -8], [-99, -88, -77], [777, 999]):
        column = RNG.integers(0, 11, 300).astype(float)
        column[:60] = np.tile(codes, 30)[:60]
        assert sorted(one.value for one in stand_ins(column)) == sorted(codes)
    column = np.append(RNG.integers(0, 11, 100), [-9, -9, 99, 99, 99]).astype(float)
    assert {one.value for one in stand_ins(column)} == {-9.0, 99.0}


@pytest.mark.parametrize("name", PLAIN)
def test_numbers_are_no_codes(name):
    """Rare counts, labels and ages would be doubted."""
    assert stand_ins(np.asarray(PLAIN[name], float)) == []


def coded_columns():
    column = np.where(np.arange(N) % 8 == 3, -999.0, np.round(RNG.standard_normal(N), 2))
    return {"m": column, "x": RNG.standard_normal(N), "y": list("ab") * (N // 2)}


@pytest.mark.parametrize("form", ["csv", "text", "frame", "parquet", "json", "npz"])
def test_codes_for_missing_values_are_told(tmp_path, form):
    """A reader of one format would be told, and that of another not."""
    columns = coded_columns()
    X = np.column_stack([columns["m"], columns["x"]])
    if form == "npz":
        np.savez(tmp_path / "a.npz", X=X, y=columns["y"])
        found = read_table(tmp_path / "a.npz")
    else:
        cells = columns["m"].tolist()
        cells = [f"{cell} mg" for cell in cells] if form == "text" else cells
        found = table(cells, "csv" if form == "text" else form, tmp_path)
    (note,) = (one for one in found.notes if "codes for missing values" in one)
    assert "has -999 in 5 rows, far from all its other values (" in note
    remedy = "na='-999' and missing" if form == "npz" else "na='-999' missing='mean'"
    assert (remedy in note) == (form != "npz")


@pytest.mark.parametrize("form", ["csv", "frame", "json", "parquet"])
def test_a_target_with_codes_is_told(tmp_path, form):
    """A model would be fitted to -9."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({**coded_columns(), "z": [-9, 1, 2, 1] * 10})
    if form == "frame":
        found = read_frame(frame, "z", drop=["y"])
    else:
        path = tmp_path / f"a.{'jsonl' if form == 'json' else form}"
        write = {
            "csv": lambda: frame.to_csv(path, index=False),
            "json": lambda: frame.to_json(path, orient="records", lines=True),
            "parquet": lambda: frame.to_parquet(path),
        }
        write[form]()
        found = read_table(path, "z", drop=["y"])
    assert any("column 'z' has -9 in 10 rows" in one and "na='-9'" in one for one in found.notes)


@pytest.mark.parametrize("form", ["csv", "frame", "json", "parquet"])
@pytest.mark.parametrize("n", [40, 8000])
def test_what_stands_for_missing_values_is_missing(tmp_path, form, n):
    """-9 and words for nothing would be numbers and levels; large files are read otherwise."""
    number = (["-9.0", "1.5", "2", "unknown", "4"] * n)[:n]
    cells = (
        number if form in ("csv", "json") else [float(c.replace("unknown", "-9")) for c in number]
    )
    if form == "json":
        cells = [one if one == "unknown" else float(one) for one in number]
    found = table(cells, form, tmp_path, na="-9, unknown", missing="mean")
    assert found.feature_names == ["m", "x"]
    assert found.filled == {"m": 2 * n // 5}
    assert found.X.gather(slice(None))[:5, 0] == pytest.approx([2.5, 1.5, 2, 2.5, 4])
    words = table(
        (["k.A.", "a", "b", "a", "-9"] * n)[:n], form, tmp_path, na="-9,k.A.", missing="mean"
    )
    assert words.feature_names == ["m=a", "m=b", "m is missing", "x"]
    assert words.X[:5, 2].tolist() == [1, 0, 0, 0, 1]
    with pytest.raises(FileError, match=r"a value is missing \(\d"):
        table(cells, form, tmp_path, na="-9,unknown")


@pytest.mark.parametrize("form", ["csv", "frame", "json", "parquet"])
def test_a_target_that_is_missing_is_refused(tmp_path, form):
    """Rows without a target would be a class of their own."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": range(8), "k.A.": range(8), "y": ["a", "b", "a", "k.A."] * 2})
    paths = {one: tmp_path / f"a.{one}" for one in ("csv", "json", "parquet")}
    frame.to_csv(paths["csv"], index=False)
    frame.to_json(paths["json"], orient="records", lines=True)
    frame.to_parquet(paths["parquet"])
    paths["json"].rename(tmp_path / "a.jsonl")
    paths["json"] = tmp_path / "a.jsonl"

    def read(**asked):
        if form == "frame":
            return read_frame(frame, "y", **asked)
        return read_table(paths[form], "y", **asked)

    assert set(read().y) == {"a", "b", "k.A."}
    with pytest.raises(FileError, match="column 'y': the target is missing"):
        read(na="-9,k.A.")
    if form != "frame":
        kept = read(na="-9,k.A.", where="y != ''")
        assert kept.y.tolist() == ["a", "b", "a"] * 2
        assert kept.feature_names == ["x", "k.A."]  # names of columns are no cells


def test_names_of_samples_are_no_missing_values(tmp_path):
    """The sample 9 would have no name."""
    path = tmp_path / "a.csv"
    path.write_text("id,x,y\n" + "".join(f"{i},{i % 4 or 9},{'ab'[i % 2]}\n" for i in range(20)))
    found = read_table(path, "y", id="id", na="9", missing="mean")
    assert found.sample_names == [str(i) for i in range(20)]
    assert found.filled == {"x": 5}


def test_arrays_have_no_cells_that_are_missing(tmp_path):
    """The option would be ignored."""
    np.savez(tmp_path / "a.npz", X=np.eye(4), y=[0, 1, 0, 1])
    with pytest.raises(FileError, match=r"only cells of CSV, .* can stand for missing values"):
        read_table(tmp_path / "a.npz", na="-9")


# --- targets ------------------------------------------------------------------------------------


def test_targets_with_units_are_numbers(run, fails, tmp_path):
    """Sixty percentages, or negative numbers of a typesetter, would be sixty classes."""
    rng = np.random.default_rng(4)
    z = np.arange(60) - 20.0
    own = {
        "plain": [f"{one:g}" for one in z],
        "percent": [f"{one:g}%" for one in z],
        "minus": [f"{one:g}".replace("-", "\u2212") for one in z],
    }
    beside = np.column_stack([z + rng.standard_normal(60), rng.standard_normal(60)]).round(3)
    found = {}
    for way, cells in own.items():
        rows = [f"{cell},{a},{b}" for cell, (a, b) in zip(cells, beside.tolist(), strict=True)]
        (tmp_path / "a.csv").write_text("\n".join(["t,a,b", *rows]), encoding="utf-8")
        asked = ("select", "a.csv", "--target", "t", "-k", 1, "--no-cv", "--json")
        found[way] = json.loads(run(*asked, "-o", f"{way}.npz").stdout)
        assert found[way]["models"][0]["features"] == found["plain"]["models"][0]["features"]
        scored = json.loads(run("evaluate", f"{way}.npz", "a.csv", "--json").stdout)
        assert scored["scores"][0]["value"] > 0.9
    days = [f"{i % 28 + 1:02}/{i % 12 + 1:02}/2020,{i * i % 7}" for i in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["t,a", *days]))
    message = fails("select", "a.csv", "--target", "t", "-k", 1)
    assert "the target 't' has dates, as '01/01/2020', which are no classes" in message
    assert "--time COLUMN --time-from COLUMN" in message


# --- commands -----------------------------------------------------------------------------------


def test_a_model_keeps_what_is_missing_and_how_dates_are_written(run, fails, tmp_path):
    """Predictions would be of -9, and a report of other data than the selection."""
    rng = np.random.default_rng(1)
    n = 60
    day = rng.integers(0, 300, n)
    iso = (np.datetime64("2020-01-01") + day).astype(str)
    age = rng.integers(20, 80, n)
    y = np.where(0.05 * age + day / 100 + rng.standard_normal(n) > 4, "u", "v")
    shown = np.where(np.arange(n) % 6 == 0, -9, age)
    rows = [f"{d[5:7]}/{d[8:]}/{d[:4]},{a},{c}" for d, a, c in zip(iso, shown, y, strict=True)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["seen,age,y", *rows]))
    asked = ("--target", "y", "-k", 2, "--no-cv", "--missing", "mean", "--dates", "month-first")
    made = run(
        "select", path, *asked, "--na", "-9", "-o", "m.npz", "--certificate", "c.npz", "--json"
    )
    found = json.loads(made.stdout)
    assert found["data"]["filled"] == {"age": 10}
    assert not any("codes for missing" in note for note in found["notes"])
    model = load("m.npz")
    assert model.layout.columns["na"] == "-9"
    assert model.layout.codings[model.feature_names[0]].form in (None, "month-first")
    new = tmp_path / "new.csv"
    new.write_text("seen,age\n03/04/2020,-9\n03/04/2020,50\n")
    scores = json.loads(run("predict", "m.npz", new, "--json", "--proba").stdout)
    new.write_text("seen,age\n2020-03-04,\n2020-03-04,50\n")
    again = json.loads(run("predict", "m.npz", new, "--json", "--proba").stdout)
    assert scores["probabilities"] == again["probabilities"]
    verify = ("verify", "c.npz", path, "--na", "-9", "--dates", "month-first")
    assert "verified" in run(*verify).stdout
    told = json.loads(run("select", path, *asked, "--no-save", "--json").stdout)["notes"]
    (note,) = (note for note in told if "codes for missing" in note)
    assert "column 'age' has -9 in 10 rows" in note
    assert note.endswith("if it stands for a missing value, say --na -9 --missing mean")
    assert "--dates must be day-first, month-first or iso; got 'dmy'" in fails(
        "select", path, *asked[:-1], "dmy"
    )


def test_tables_of_samples_have_missing_values_and_codes(run, tmp_path):
    """A covariate of -9 would be a number where it is joined, and a code one everywhere."""
    n = 40
    rng = np.random.default_rng(2)
    z = rng.standard_normal(n)
    data = ["id,g1,g2", *(f"s{i},{z[i]:.3f},{rng.standard_normal():.3f}" for i in range(n))]
    (tmp_path / "a.csv").write_text("\n".join(data))
    lines = [f"s{i},{-9 if i % 8 == 0 else 30 + i},{['01', '02'][i % 2]},{'uv'[int(z[i] > 0)]}"
             for i in range(n)]  # fmt: skip
    (tmp_path / "s.csv").write_text("\n".join(["id,age,centre,y", *lines]))
    asked = (
        "select",
        "a.csv",
        "--samples",
        "s.csv",
        "--target",
        "y",
        "-k",
        1,
        "--no-cv",
        "--no-save",
    )
    beside = ("--covariates", "age,centre", "--missing", "mean", "--json")
    found = json.loads(run(*asked, *beside, "--na", "-9").stdout)
    assert found["data"]["filled"] == {"age": 5}
    assert [one["name"] for one in found["models"][0]["covariates"]] == ["age", "centre=02"]
    told = json.loads(run(*asked, *beside).stdout)["notes"]
    assert any("column 'age' has -9 in 5 rows" in note for note in told)


def test_durations_are_days():
    """Nanoseconds would be refused, or be times of another unit than those of the command."""
    pandas = pytest.importorskip("pandas")
    entry = pandas.Series(pandas.to_datetime(["2020-01-01 00:00", "2020-02-01 12:00"]))
    end = pandas.Series(pandas.to_datetime(["2020-01-31", "2020-02-03"]))
    for given in (end - entry, (end - entry).to_numpy().astype("timedelta64[s]")):
        assert survival_target(given, [True, False])["time"].tolist() == [30.0, 1.5]
    late = survival_target(end - entry, [1, 0], start=[0.0, 0.5])
    assert late["stop"].tolist() == [30.0, 1.5]
    with pytest.raises(ValueError, match="time must be numbers or durations; got dates"):
        survival_target(end, [True, False])
    with pytest.raises(ValueError, match="finite"):
        survival_target(pandas.Series([pandas.NaT, pandas.Timedelta("2D")]), [True, False])


@pytest.mark.parametrize("order", ["%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d", "%d.%m.%Y"])
def test_survival_times_between_dates(run, fails, tmp_path, order):
    """Times would have to be computed elsewhere, dates be refused, or the days be months."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    n = 60
    x = rng.standard_normal(n)
    entry = pandas.Timestamp("2015-01-05") + pandas.to_timedelta(rng.integers(0, 700, n), "D")
    time = (1 + rng.exponential(300 * np.exp(-x))).astype(int)
    frame = pandas.DataFrame({"x": x, "z": rng.standard_normal(n), "died": rng.integers(0, 2, n)})
    plain = frame.assign(time=time)
    plain.to_csv("days.csv", index=False)
    end = entry + pandas.to_timedelta(time, "D")
    dated = frame.assign(entered=entry.strftime(order), end=end.strftime(order))
    dated.to_csv("dates.csv", index=False)
    asked = ("--event", "died", "-k", 1, "--no-cv", "--json")
    a = json.loads(run("select", "days.csv", "--time", "time", *asked, "--no-save").stdout)
    given = ("--time", "end", "--time-from", "entered", *asked, "-o", "m.npz")
    b = json.loads(run("select", "dates.csv", *given).stdout)
    assert a["data"]["range"] == b["data"]["range"]
    assert a["models"][0]["features"] == b["models"][0]["features"]
    scored = json.loads(run("evaluate", "m.npz", "dates.csv", "--json").stdout)
    assert scored["data"]["n_samples"] == n if "data" in scored else scored
    refused = fails("select", "dates.csv", "--time", "end", *asked[:-1], "--no-save")
    assert "has dates, as" in refused
    assert "Say --time-from COLUMN, with the date at which the time begins" in refused
    if order == "%d/%m/%Y":
        early = (dated.end.str[:2] <= "12") & (dated.entered.str[:2] <= "12")
        dated[early].to_csv("few.csv", index=False)
        message = fails("select", "few.csv", *given[:-2], "--no-save")
        assert "(day first) or" in message
        assert "Say --dates day-first or --dates month-first" in message
        # A model knows the order by which it was trained.
        asked = ("evaluate", "m.npz", "few.csv", "--json")
        scored = json.loads(run(*asked).stdout)["scores"]
        assert scored == json.loads(run(*asked, "--dates", "day-first").stdout)["scores"]


@pytest.mark.parametrize(
    "levels", [("1st", "2nd", "3rd", "3rd", "3rd"), ("2L", "3L", "3L", "3L", "2R"), ("1a", "2a")]
)
def test_names_that_begin_with_a_number_are_categories(tmp_path, levels):
    """Classes on a ship and arms of chromosomes would be refused, as numbers in another unit."""
    cells = [levels[i % len(levels)] for i in range(N)]
    found = table(cells, "csv", tmp_path)
    names = [f"m={level}" for level in sorted({*levels})]
    assert list(found.feature_names) == [*names[len(names) == 2 :], "x"]
