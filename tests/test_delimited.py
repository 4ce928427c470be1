"""Delimited text by the kernel: beside its twin, beside the careful reader, and what it leaves."""

import gzip
import io
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import reference_kernels as reference
from conftest import slow
from zeronorm._kernels import _native as native
from zeronorm.core.files import FileError
from zeronorm.io import delimited as _delimited
from zeronorm.io import read_table

EXAMPLES = settings(
    max_examples=75, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def kernel(text, places, n_pieces=1, n_threads=1, kernels=native):
    """What a kernel makes of text: numbers and words of each row, or where it stops."""
    array, places = np.frombuffer(text, np.uint8), np.array(places)
    cuts, counts = np.empty(n_pieces + 1, np.int64), np.empty((n_pieces, 2), np.int64)
    kernels.cut_text(array, ord("\n"), cuts, counts)
    lines = counts[:, 0]
    numbers = np.empty((places.max(initial=-1) + 1, lines.sum()))
    spans = np.empty((lines.sum(), max(-1 - places.min(initial=-1), 0), 2), np.int64)
    rows = np.empty(n_pieces, np.int64)
    fault = kernels.delimited_rows(
        array, cuts, counts, ord(","), places, numbers, spans, rows, n_threads
    )
    if fault[0] >= 0:
        return fault
    starts = np.cumsum(lines) - lines
    there = np.concatenate([np.arange(a, a + n) for a, n in zip(starts, rows, strict=True)])
    words = [[text[a:b] for a, b in row] for row in spans[there].tolist()]
    return numbers[:, there].tobytes(), words


def read(tmp_path, content, fast, name="a.csv", target="y", part=None, **options):
    """Everything in the table of a file, or the words of its refusal."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        if not fast:
            patch.setattr(_delimited, "read_body", lambda *_: None)
        if part is not None:
            patch.setattr(_delimited, "PART", part)
        try:
            table = read_table(path, target, **options)
        except FileError as error:
            return str(error)
    others = {what: (values.dtype, values.tolist()) for what, values in table.columns.items()}
    others |= {"names": table.feature_names, "notes": table.notes, "codings": table.codings}
    X = table.X if isinstance(table.X, np.ndarray) else table.X.gather(slice(None))
    y = None if table.y is None else (table.y.dtype, table.y.tolist())
    return np.ascontiguousarray(X).tobytes(), y, table.sample_names, others


def is_fast(path, target="y"):
    """Whether the kernel reads all of a file."""
    answers, read_body = [], _delimited.read_body
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            _delimited, "read_body", lambda *args: answers.append(read_body(*args)) or answers[-1]
        )
        read_table(path, target, missing="mean")
    return None not in answers


# --- the kernel beside its twin ------------------------------------------------------------

number = st.sampled_from(
    ["1", "-2.5", " 3", "4 ", '"5"', '" 6.5 "', "1e-7", "+.5", "7.", "0.1234567890123456789"]
) | st.floats(allow_nan=False, allow_infinity=False).map(repr)
word = st.sampled_from(
    ["a", "b c", '"quoted"', '"a,b"', "", '""', "é", "5'10\"", " x ", "12", "1.0"]
)
odd = st.sampled_from(
    ["", "nan", "inf", "1e999", "1_0", "x", '"1" ', ' "1"', '"1', '1"', '"a""b"', '"a\nb"', "a\rb",
     "\0", "\xa05", "1,1", '"', "\t1", "-", "1e", "\u0663"]
)  # fmt: skip
end = st.sampled_from(["\n"] * 8 + ["\r\n", "\n\n", "\n\r\n", "\r", "\n \n"])


@st.composite
def tables(draw, kinds="nnw"):
    """The body of a table: its columns are numbers or words, with odd fields here and there."""
    text = ""
    strange = draw(st.booleans())
    for _ in range(draw(st.integers(1, 8))):
        fields = [draw(number if kind == "n" else word) for kind in kinds]
        if strange and draw(st.integers(0, 3)) == 0:
            fields[draw(st.integers(0, len(fields) - 1))] = draw(odd)
        text += ",".join(fields) + draw(end)
    return text


@EXAMPLES
@given(tables(), st.integers(1, 6), st.sampled_from([[0, 1, -2], [0, -1, -2], [-1, 0, -1]]))
@example("1,2,x\n", 3, [0, 1, -2])
@example('1,2,"\n', 1, [0, 1, -2])
@example("\n", 1, [0, 1, -2])
def test_kernel_is_its_twin(text, n_pieces, places):
    """A field would be read otherwise than the specification says, or run into the next."""
    text = text.encode() + b"\n"
    native_says = kernel(text, places, n_pieces)
    assert native_says == kernel(text, places, n_pieces, kernels=reference)
    assert native_says == kernel(text, places)


def test_any_number_of_threads_reads_the_same():
    """Rows would be lost or mixed up where a thread ends and another one begins."""
    rng = np.random.default_rng(0)
    lines = [f"{x!r},{i},name {i}" + "\r" * (i % 3 == 0) + "\n" * (i % 5 == 0)
             for i, x in enumerate(rng.standard_normal(30_000).tolist())]  # fmt: skip
    text = ("\n".join(lines) + "\n").encode()
    assert len(text) > 4 << 17  # or a thread would not be worth its start
    alone = kernel(text, [0, 1, -2])
    for n_pieces, n_threads in ((2, 2), (16, 4), (1000, 3)):
        assert kernel(text, [0, 1, -2], n_pieces, n_threads) == alone
    broken = text[:-5] + b"\0" + text[-4:]
    broken = broken[:700_000] + b"\0" + broken[700_000:]
    assert kernel(broken, [0, 1, -2], 16, 4) == kernel(broken, [0, 1, -2])
    assert kernel(broken, [0, 1, -2])[0] < 700_000


def test_text_without_line_end_is_refused():
    """The kernel would read on behind the end of the text."""
    for text in (b"1,2", b"1,2\n\r"):
        with pytest.raises(ValueError, match="line end"):
            kernel(text, [0, 1])


# --- files beside the careful reader -------------------------------------------------------


@EXAMPLES
@given(
    tables("nnwn"),
    st.sampled_from(["", "a,b,y,c\n", "\n\na,b,y,c\r\n", '"a","b\nb",y,c\n', "\r\ra,b,y,c\n"]),
    st.sampled_from([None, 8, 60]),
)
@example("1,2,3,4\n1,2,5,6\n1,2,x,7\n", "a,b,y,c\n", 8)
@example("1,2,1.0,4\n1,2,2,6\n", "a,b,y,c\n", None)
@example("1,2,na,4\n1,2,x,6\n", "a,b,y,c\n", None)
@example('1,2,3,4\n1,2,a,4\n1,2,a,"5"\n', "", None)
def test_the_fast_reader_reads_what_the_careful_one_reads(tmp_path, text, header, part):
    """A file would be another table, or be refused in other words, because it is large."""
    content = (header + text).encode()
    target = "y" if header else "2"
    careful = read(tmp_path, content, False, target=target)
    assert read(tmp_path, content, True, target=target, part=part) == careful
    if header.startswith("a"):
        options = {"id": "y", "target": None, "columns": {"time": "a", "offset": "c"}}
        careful = read(tmp_path, content, False, **options)
        assert read(tmp_path, content, True, part=part, **options) == careful
        for where in ("a > 1", "y == 'a' and a != ''"):
            careful = read(tmp_path, content, False, where=where)
            assert read(tmp_path, content, True, where=where, part=part) == careful
        dropped = read(tmp_path, content, True, target="a", drop=["b"], part=part)
        assert dropped == read(tmp_path, content, False, target="a", drop=["b"])


cell = st.sampled_from(["a", "b c", '"quoted"', "é", " x ", "", "NA", "a longer text", "x" * 70])
gap = number | st.sampled_from(["", " ", "NA", '""', "inf", "?"])
day = st.sampled_from(["2024-01-02", "2024-03-05", "", " 2023-12-31 "])


@EXAMPLES
@given(
    st.lists(st.tuples(cell, number, gap, day, st.sampled_from("pq")), min_size=8, max_size=40),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.sampled_from([None, "mean", "indicator"]),
    st.sampled_from([None, 60]),
)
def test_text_dates_and_gaps_are_read_alike(tmp_path, rows, end, missing, part):
    """A large table with text would have other features, or errors in other lines."""
    lines = ["city,a,gap,day,y", *map(",".join, rows)]
    content = (end.join(lines) + "\n").encode()
    careful = read(tmp_path, content, False, missing=missing)
    assert read(tmp_path, content, True, missing=missing, part=part) == careful


def test_text_and_gaps_are_read_fast(tmp_path):
    """Tables with text, dates and empty cells would take twenty times as long."""
    rows = [f"{i},{'NA' if i == 30 else i},c{i % 3},{i % 2}" for i in range(50)]
    (tmp_path / "a.csv").write_text("\n".join(["a,gap,city,y", *rows]) + "\n")
    assert is_fast(tmp_path / "a.csv")


def test_fields_of_one_key_are_told_apart(monkeypatch):
    """Two texts would be one level where a short key of theirs is the same."""
    fields = ["abcdefgh1", "abcdefgh2", "bbcdefgh1", "", "abcdefgh2"]
    ends = np.cumsum([len(field) for field in fields])
    spans = np.column_stack([ends - [len(field) for field in fields], ends])
    content = "".join(fields).encode() + bytes(8)
    for factor in (None, np.uint64(0)):  # by which keys are the last bytes alone
        if factor is not None:
            monkeypatch.setattr(_delimited, "_FACTOR", factor)
        words = _delimited._Words()
        words.take(content, spans)
        words.take(content, spans[::-1])
        assert words.texts().tolist() == fields + fields[::-1]


@pytest.mark.parametrize("seed", [0, 1])
def test_damaged_files_are_what_they_are_to_the_careful_reader(tmp_path, seed):
    """Damage would be read as values, or the kernel read outside its text."""
    rng = np.random.default_rng(seed)
    rows = [
        f"{a!r},{i},k{i % 3},{b:.3g}"
        for i, (a, b) in enumerate(rng.standard_normal((60, 2)).tolist())
    ]
    plain = ("a,b,y,c\n" + "\n".join(rows)).encode()
    bytes_there = np.frombuffer(b',"\n\r\0.-e# \xff19', np.uint8)
    for _ in range(40):
        text = bytearray(plain)
        for _ in range(rng.integers(1, 3)):
            place = int(rng.integers(8, len(text)))
            if rng.random() < 0.3:
                del text[place : place + int(rng.integers(1, 9))]
            else:
                text[place : place + int(rng.integers(0, 2))] = rng.choice(bytes_there, 1).tobytes()
        careful = read(tmp_path, bytes(text), False)
        assert read(tmp_path, bytes(text), True, part=500) == careful


@pytest.mark.parametrize(
    "content",
    [
        b"a,b,y\n1,2,x\n3,4,z\n",
        b"a,b,y\r\n1,2,x\r\n\r\n3,4,z",
        b'"","a","y"\n"r1",1,"x"\n"r2",2,"z, w"\n',
        b"a;b;y\n1;2;x\n",
        b"\xef\xbb\xbfa\tb\ty\n1\t 2 \tx\n",
        "a,b,y\n1,2,é\n3,4,ü\n".encode(),
        b"a,y\n1,1\n2,1.5\n3,x\n",
    ],
)
def test_usual_files_are_read_fast(tmp_path, content):
    """Files as R, pandas or spreadsheets write them would take the slow reader."""
    for name, data in (("a.csv", content), ("a.csv.gz", gzip.compress(content))):
        fast = read(tmp_path, data, True, name)
        assert fast == read(tmp_path, data, False, name)
        assert not isinstance(fast, str)
        assert is_fast(tmp_path / name)


@pytest.mark.parametrize("place", ["y", "c", "a"])
def test_text_that_is_not_utf_8(tmp_path, place):
    """A column that is dropped would hide damage from one reader and not from the other."""
    values = {"a": "1", "c": "2", "y": "x"} | {place: "\xe9"}
    content = ("a,c,y\n" + ",".join(values.values()) + "\n").encode("latin-1")
    options = {"drop": ["c"]} if place == "c" else {}
    answer = read(tmp_path, content, True, **options)
    assert answer == read(tmp_path, content, False, **options)
    assert "not UTF-8 text" in answer


def test_labels_that_look_like_numbers_at_first(tmp_path):
    """Labels as 1.0 and x would become other strings because the first ones are numbers."""
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1,1.0\n2,02\n3,x\n")
    assert is_fast(path)
    _, (dtype, labels), *_ = read(tmp_path, path.read_bytes(), True)
    assert labels == ["1.0", "02", "x"]
    assert dtype.kind == "U"


def test_many_rows_and_many_columns(tmp_path):
    """Rows of several parts, or columns of long rows, would be put in other places."""
    rng = np.random.default_rng(0)
    for shape in ((3000, 4), (5, 3000)):
        X = rng.standard_normal(shape)
        text = io.StringIO()
        text.write(",".join(f"f{j}" for j in range(shape[1])) + ",y\n")
        for i, row in enumerate(X.tolist()):
            text.write(",".join(map(repr, row)) + f",{i}\n")
        (tmp_path / "a.csv").write_text(text.getvalue())
        assert is_fast(tmp_path / "a.csv")
        values, (_, y), *_ = read(tmp_path, text.getvalue().encode(), True, part=10_000)
        assert values == X.tobytes()
        assert y == list(range(shape[0]))


# --- other encodings ----------------------------------------------------------------------------


def accents(n_rows, delimiter=","):
    """A table with letters beyond ASCII in names and cells, of so many rows."""
    rng = np.random.default_rng(0)
    words = ["É", "ß", "Zürich", "a"]
    lines = [
        delimiter.join([f"{x:.5f}", words[j % 4], f"{z:.5f}", "jä" if x > 0 else "nö"])
        for j, (x, z) in enumerate(rng.standard_normal((n_rows, 2)))
    ]
    return "\n".join([delimiter.join(["größe", "ort", "x", "y"]), *lines]) + "\n"


@pytest.mark.parametrize("p", [100_000, *slow(1_000_000)])
def test_a_feature_among_a_hundred_thousand_columns_is_found(run, tmp_path, p):
    """Wide tables, as of methylation, would take minutes to read, or columns be mixed up."""
    rng = np.random.default_rng(0)
    n, place = 20, p - 1234
    numbers = np.array([f"{value:.2f}" for value in rng.standard_normal(1000)])
    with (tmp_path / "wide.csv").open("w") as file:
        file.write(",".join(["y", *(f"g{j}" for j in range(p))]) + "\n")
        for i in range(n):
            cells = numbers[rng.integers(0, 1000, p)].tolist()
            cells[place] = f"{8 * (i % 2) + rng.random():.2f}"
            file.write(",".join([["no", "yes"][i % 2], *cells]) + "\n")
    given = ("--target", "y", "-k", 1, "--no-cv", "--no-save", "--json")
    document = json.loads(run("select", "wide.csv", *given).stdout)
    assert document["data"]["n_features"] == p
    assert [one["name"] for one in document["models"][0]["features"]] == [f"g{place}"]


@pytest.mark.parametrize("n_rows", [20, 5000])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-be", "utf-8", "UTF8"])
def test_text_in_other_encodings_is_the_same_table(tmp_path, encoding, n_rows):
    """Letters would be others, or parts of letters at the ends of blocks be lost."""
    text = accents(n_rows)
    expected = read(tmp_path, text.encode(), True)
    given = text.encode(encoding)
    assert read(tmp_path, given, True, encoding=encoding) == expected
    assert read(tmp_path, gzip.compress(given), True, "a.csv.gz", encoding=encoding) == expected
    assert isinstance(expected[1], tuple)
    table = read_table(tmp_path / "a.csv", "y", encoding=encoding)
    assert table.feature_names[0] == "größe"
    assert sorted(set(table.y)) == ["jä", "nö"]


def test_other_encodings_have_decimal_commas_and_are_read_fast(tmp_path, monkeypatch):
    """Two translations, one over the other, would count the bytes of a file that changed."""
    answers, read_body = [], _delimited.read_body
    monkeypatch.setattr(
        _delimited, "read_body", lambda *args: answers.append(read_body(*args)) or answers[-1]
    )
    text = accents(5000, ";")
    expected = read(tmp_path, text.encode(), True)
    commas = text.replace(".", ",")
    for encoding in ("cp1252", "utf-16"):
        found = read(tmp_path, commas.encode(encoding), True, encoding=encoding)
        assert found[:2] == expected[:2]
    assert len(answers) == 3
    assert None not in answers


def test_encodings_of_json_lines(tmp_path):
    """JSON that another program wrote would be refused."""
    lines = "".join(f'{{"größe": {j}, "y": "jä{j % 2}"}}\n' for j in range(10))
    (tmp_path / "a.jsonl").write_bytes(lines.encode("latin-1"))
    table = read_table(tmp_path / "a.jsonl", "y", encoding="latin-1")
    assert table.feature_names == ["größe"]
    assert set(table.y) == {"jä0", "jä1"}


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        ("é,y\n1,a\n".encode("latin-1"), None, "say encoding=NAME, as cp1252"),
        ("a,y\n1,a\n".encode("utf-16"), None, "UTF-16 text; say encoding='utf-16'"),
        ("a,y\n1,\x81\n".encode("latin-1"), "cp1252", "not cp1252 text, near byte 0 .*another"),
        (b"a,y\n1,a\n\n", "utf-16", "not utf-16 text"),
        (b"\xff\xfea\x00,\x00y", "utf-16", "not utf-16 text|no samples"),
    ],
)
def test_encodings_that_a_text_has_not(tmp_path, content, encoding, message):
    """Wrong letters would be taken, or the way out not be told."""
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(FileError, match=message):
        read_table(path, "y", encoding=encoding)


@pytest.mark.parametrize("name", ["latin9000", "hex", "rot13", "", "a\0b"])
def test_names_that_are_no_encodings(tmp_path, name):
    """A traceback would come from the depths, or bytes be read as text."""
    (tmp_path / "a.csv").write_text("a,y\n1,p\n")
    with pytest.raises(ValueError, match="encoding must be the name of an encoding of text"):
        read_table(tmp_path / "a.csv", "y", encoding=name)


def test_commands_take_encodings(run, fails, tmp_path):
    """A user would have to rewrite every file."""
    text = accents(80)
    for name, encoding in (("a.csv", "utf-8"), ("b.csv", "cp1252"), ("c.csv", "utf-16")):
        (tmp_path / name).write_bytes(text.encode(encoding))
    given = ("--target", "y", "-k", 2, "--no-cv")
    assert "say --encoding NAME" in fails("select", "b.csv", *given)
    run("select", "b.csv", *given, "-o", "m.npz", "--encoding", "cp1252", "--certificate", "c.npz")
    run("verify", "c.npz", "c.csv", "--encoding", "utf-16")
    run("predict", "m.npz", "a.csv", "-o", "a.out.csv")
    expected = (tmp_path / "a.out.csv").read_text()
    for name, encoding in (("b.csv", "latin-1"), ("c.csv", "UTF-16")):
        run("predict", "m.npz", name, "-o", "p.csv", "--encoding", encoding)
        assert (tmp_path / "p.csv").read_text() == expected
        run("evaluate", "m.npz", name, "--encoding", encoding)
        run("info", name, "--encoding", encoding)
    made = ("convert", "c.csv", "c.zarr", "--target", "y", "--drop", "ort")
    run(*made, "--encoding", "utf-16")
    assert "größe" in run("select", "c.zarr", "-k", 1, "--no-cv", "--no-save").stdout
    assert "--encoding must be the name" in fails("select", "b.csv", *given, "--encoding", "lat")
    np.save(tmp_path / "x.npy", np.eye(3))
    for data in ("x.npy", "c.zarr", "demo"):
        assert "leave out" in fails("select", data, "-k", 1, "--encoding", "latin-1")
