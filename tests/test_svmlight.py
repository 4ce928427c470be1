"""svmlight files: the kernels beside their twins and scikit-learn, faults, blocks of rows."""

import gzip
import io
import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import reference_kernels as reference
from zeronorm._kernels import _native as native
from zeronorm.core.files import FileError
from zeronorm.core.parallel import solver_threads
from zeronorm.io import read_table
from zeronorm.io import svmlight as _svmlight
from zeronorm.io.svmlight import svmlight_blocks

EXAMPLES = settings(
    max_examples=75, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def kernels(text, n_pieces=1, n_threads=1, kernels=native):
    """What the kernels make of text: everything they say, as lists."""
    text = np.frombuffer(text, np.uint8)
    cuts, counts = np.empty(n_pieces + 1, np.int64), np.empty((n_pieces, 2), np.int64)
    kernels.cut_text(text, ord(":"), cuts, counts)
    lines, colons = counts.sum(0)
    labels, lengths = np.empty(lines), np.empty(lines, np.int64)
    indices, values = np.empty(colons, np.int32), np.empty(colons)
    rows, entries, lowest, highest, fault = kernels.svmlight_rows(
        text, cuts, counts, labels, lengths, indices, values, n_threads
    )
    pieces = cuts.tolist(), counts.tolist()
    if fault >= 0:
        return *pieces, fault
    bits = (labels[:rows].tobytes(), lengths[:rows].tolist())
    return *pieces, *bits, indices[:entries].tolist(), values[:entries].tobytes(), lowest, highest


def read(tmp_path, text, name="a.svm", part=None):
    """The table of a text, or the words of its refusal without the name of the file."""
    path = tmp_path / name
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        if part is not None:
            patch.setattr(_svmlight, "PART", part)
        try:
            return read_table(path)
        except FileError as error:
            return str(error).removeprefix(f"{path}: ")


# --- numbers -------------------------------------------------------------------------------


def number(text):
    """The value that the kernel reads as a label, None if it refuses."""
    labels, lengths = np.empty(1), np.empty(1, np.int64)
    line = np.frombuffer(text.encode() + b"\n", np.uint8)
    cuts, counts = np.array([0, line.size]), np.array([[1, 0]])
    *_, fault = native.svmlight_rows(
        line, cuts, counts, labels, lengths, np.empty(0, np.int32), np.empty(0), 1
    )
    return None if fault >= 0 else float(labels[0])


def same_bits(a, b):
    return a.hex() == b.hex()


HARD = (
    # halfway between two doubles, and a little beside
    "9007199254740993", "9007199254740992.99999999999999999999", "9007199254740993.0000000000001",
    "1.00000000000000011102230246251565404236316680908203125",
    "1.00000000000000011102230246251565404236316680908203124",
    "1.00000000000000011102230246251565404236316680908203126",
    # the ends of the range
    "1.7976931348623157e308", "1.7976931348623158e308", "2.2250738585072014e-308",
    "2.2250738585072011e-308", "4.9406564584124654e-324", "5e-324", "2.4703282292062328e-324",
    "2.4703282292062327e-324", "1e-400", "-1e-400", "0e999999999999", "0.0e-99999999999999999999",
    # the ends of the fast way
    "9007199254740992e22", "9007199254740992e-22", "9007199254740993e22", "1e23", "1e22", "1e-22",
    "1e-23", "9999999999999999999", "99999999999999999999", "18446744073709551616",
    "123456789012345678901234567890e-10", "0.00000000000000000001234567890123456789",
    "3.", ".5", "+.5e1", "-0", "-0.0", "+7E-05", "1E5", "0" * 400 + "1", "1" + "0" * 308,
    "." + "0" * 330 + "1e30", "8.41e+21", "6929495644600919.5", "3.7339230500000001",
)  # fmt: skip


@pytest.mark.parametrize("text", HARD)
def test_hard_numbers_have_the_bits_of_float(text):
    """A value would be a neighbour of the nearest double, or lose its sign."""
    assert same_bits(number(text), float(text))


@EXAMPLES
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 25))
def test_printed_doubles_come_back(x, digits):
    """What other programs print with any number of digits would be read as another double."""
    for text in (repr(x), f"{x:.{digits}e}", f"{x:.17g}", f"{x:.{digits}f}"):
        expected = float(text)
        found = number(text)
        assert found is None if math.isinf(expected) else same_bits(found, expected)


@EXAMPLES
@given(st.from_regex(r"[-+]?[0-9]{0,25}\.?[0-9]{0,25}([eE][-+]?[0-9]{0,4})?", fullmatch=True))
def test_numerals_are_those_of_float(text):
    """A numeral would be read that is none, refused though it is one, or rounded otherwise."""
    try:
        expected = float(text)
    except ValueError:
        expected = math.nan
    if not text:
        return
    found = number(text)
    assert found is None if not math.isfinite(expected) else same_bits(found, expected)


@pytest.mark.parametrize(
    "text",
    ["", "-", "+", ".", "e5", "1e", "1e+", "--1", "1_0", "0x1p3", "inf", "nan", "infinity", "1d3",
     "1,5", "1e999", "-1e309", "1.8e308", "1..2", "1e5.", "1\0", "\u0661", "1\x1c"],
)  # fmt: skip
def test_what_is_no_finite_number(text):
    """Words, hexadecimal numbers or overflow would become values."""
    line = f"1 1:{text}\n".encode()
    assert kernels(line)[-1] == kernels(line, kernels=reference)[-1] == 0


# --- kernels beside their twins ------------------------------------------------------------

blank = st.sampled_from([" ", "  ", "\t", "\v", "\f", "\r"])
numeral = st.sampled_from([*HARD, "1", "2", "0.5", "-3.25e-3", "0"]) | st.floats(
    allow_nan=False, allow_infinity=False
).map(repr)
bad_numeral = st.sampled_from(["nan", "inf", "1e400", "", "1_0", "x", "1:2", "\0", "\xff"])
index = st.integers(0, 40).map(str) | st.sampled_from(["007", "2147483647", "2147483646"])
bad_index = st.sampled_from(
    ["-1", "+1", "2147483648", "4294967297", "9223372036854775808", "18446744073709551617", "", "a"]
)


@st.composite
def lines(draw, bad=False):
    """A line: blank, a comment, or a sample; often what breaks the format, if that is asked."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(["", "  ", "# 1:2 3:4", " \t#", "\r"]))
    fault = bad and draw(st.integers(0, 2)) == 0
    words = [draw(bad_numeral if fault and draw(st.booleans()) else numeral)]
    if draw(st.integers(0, 4)) == 0:
        words.append("qid:" + draw(st.sampled_from(["0", "17", "x" if fault else "3"])))
    places = draw(st.lists(index, max_size=6, unique_by=int))
    if not fault or draw(st.booleans()):
        places.sort(key=int)
    pairs = [f"{place}:{draw(numeral)}" for place in places]
    if fault:
        worst = draw(st.sampled_from(["1", "1:", ":1", "1:1:1", "qid:3", "1 :1", "1:#"]))
        pairs.append(draw(st.just(worst) | bad_index.map(lambda i: f"{i}:1")))
    text = draw(st.sampled_from(["", " "])) + words[0]
    for word in [*words[1:], *pairs]:
        text += draw(blank) + word
    return text + draw(st.sampled_from(["", " ", "\r", "#", " # nan 7:8 _"]))


def texts(bad):
    return st.lists(lines(bad), min_size=1, max_size=12).map(
        lambda some: "\n".join(some).encode("latin-1") + b"\n"
    )


@EXAMPLES
@given(texts(bad=True), st.integers(1, 9))
@example(b"\n\n\n", 2)
@example(b"1 1:1", 1)
@example(b"\n", 5)
def test_kernels_are_their_twins(text, n_pieces):
    """A row would be read otherwise than the specification says, or in another piece."""
    text = text.removesuffix(b"\n") + b"\n"
    native_says = kernels(text, n_pieces)
    twin_says = kernels(text, n_pieces, kernels=reference)
    assert native_says == twin_says
    assert kernels(text)[2:] == native_says[2:]  # whatever the pieces are


def test_any_number_of_threads_reads_the_same():
    """Rows would be lost or mixed up where a thread ends and another one begins."""
    rng = np.random.default_rng(0)
    some = [
        f"{i} # {i}:{i}" if i % 7 == 0 else f"{i} " + " ".join(f"{j}:{x!r}" for j, x in row)
        for i in range(9000)
        for row in [enumerate(rng.standard_normal(int(rng.integers(0, 9))).tolist())]
    ]
    text = ("\n\n# 1:2\n".join(some) + "\n").encode()
    assert len(text) > 4 << 17  # or a thread would not be worth its start
    alone = kernels(text)
    for n_pieces, n_threads in ((2, 2), (16, 4), (1000, 3)):
        assert kernels(text, n_pieces, n_threads)[2:] == alone[2:]
    for position in (0, len(text) // 2, len(text) - 3):  # the first fault, whoever meets it first
        broken = text[:position] + b"x" + text[position + 1 :]
        broken = broken[: len(text) * 3 // 4] + b"y\n" + broken[len(text) * 3 // 4 :]
        assert kernels(broken, 16, 4)[-1] == kernels(broken)[-1]


def test_text_without_line_end_is_refused():
    """The kernels would read on behind the end of the text."""
    for text in (b"", b"1 1:1"):
        with pytest.raises(ValueError, match="line end"):
            kernels(text)


# --- files beside scikit-learn -------------------------------------------------------------


@EXAMPLES
@given(texts(bad=False), st.sampled_from(["", ".gz"]), st.sampled_from([None, 2, 5, 64]))
def test_files_are_read_as_by_scikit_learn(tmp_path, text, suffix, part):
    """A file would be another matrix, or other labels, than it is for everybody else."""
    X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)
    table = read(tmp_path, gzip.compress(text) if suffix else text, "a.svm" + suffix, part)
    if not X.nnz:
        assert table.startswith("no samples in it" if not y.size else "no features in it")
        return
    first = int(X.indices.min() > 0)
    assert table.first_index == first
    assert table.X.data.tobytes() == X.data.tobytes()
    assert np.array_equal(table.X.indices, X.indices - first)
    assert np.array_equal(table.X.indptr, X.indptr)
    assert np.array_equal(table.y, y)
    assert table.X.shape == (y.size, X.shape[1] - first)


@EXAMPLES
@given(texts(bad=True), st.sampled_from([None, 2, 7]))
def test_faults_have_their_line(tmp_path, text, part):
    """A fault would be read, blamed on another line, or have other words in other parts."""
    answer = read(tmp_path, text, part=part)
    broken = [
        number
        for number, line in enumerate(text.split(b"\n"), 1)
        if kernels(line + b"\n", kernels=reference)[-1] == 0
        and len(kernels(line + b"\n", kernels=reference)) == 3
    ]
    if not broken or b"\0" in text:
        assert not isinstance(answer, str) or answer.startswith(("no ", "binary data", "line "))
        return
    assert answer.startswith(f"line {broken[0]}, column ")
    assert "not a line of" not in answer


@pytest.mark.parametrize("seed", [0, 1])
def test_damaged_files_never_crash(tmp_path, seed):
    """A kernel would read outside its text, or a file be misread, where bytes are damaged."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((300, 50), density=0.2, rng=rng, format="csr")
    plain = io.BytesIO()
    dump_svmlight_file(X, rng.integers(0, 2, 300), plain)
    for _ in range(40):
        text = bytearray(plain.getvalue())
        for _ in range(rng.integers(1, 4)):
            place, some = rng.integers(0, len(text)), rng.integers(0, 256, 2).astype(np.uint8)
            action = rng.integers(0, 3)
            if action == 0:
                text[place] = some[0]
            elif action == 1:
                del text[place : place + int(some[0])]
            else:
                text[place:place] = some.tobytes()
        text = bytes(text.removesuffix(b"\n") + b"\n")
        assert kernels(text, 5, 2) == kernels(text, 5, kernels=reference)
        answer = read(tmp_path, text, part=4096)
        if not isinstance(answer, str):
            expected, _ = load_svmlight_file(io.BytesIO(text.removeprefix(b"\xef\xbb\xbf")))
            assert answer.X.data.tobytes() == expected.data.tobytes()


# --- blocks --------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_blocks_are_the_rows_of_the_file(tmp_path, suffix):
    """A conversion would lose rows, number them wrongly, or shift their indices."""
    rng = np.random.default_rng(0)
    X = sp.random_array((500, 300), density=0.1, rng=rng, format="csr")
    X.data = rng.standard_normal(X.nnz).round(6)  # scikit-learn writes 16 digits
    y = rng.integers(0, 3, 500)
    plain = io.BytesIO()
    dump_svmlight_file(X, y, plain, zero_based=False)
    path = tmp_path / ("a.svm" + suffix)
    path.write_bytes(gzip.compress(plain.getvalue()) if suffix else plain.getvalue())
    blocks = list(svmlight_blocks(path, size=20_000))
    assert len(blocks) > 5
    assert [block.start for block in blocks] == np.cumsum(
        [0, *(block.labels.size for block in blocks[:-1])]
    ).tolist()
    matrices = [block.matrix for block in blocks]
    for block, matrix in zip(blocks, matrices, strict=True):
        assert matrix.shape == (block.labels.size, block.highest + 1)
        assert (block.lowest, block.highest) == (matrix.indices.min(), matrix.indices.max())
        matrix.resize((matrix.shape[0], 301))
    joined = sp.vstack(matrices, format="csr")
    assert np.array_equal(np.concatenate([block.labels for block in blocks]), y)
    assert (joined[:, 1:] != X).nnz == 0
    assert joined[:, [0]].nnz == 0


def test_blocks_take_bounded_memory(tmp_path):
    """A file larger than the memory could not be converted."""
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:0.25 2:0.5 7:1\n" * 400_000)
    size = 1 << 16
    tracemalloc.start()
    try:
        n_rows = sum(block.labels.size for block in svmlight_blocks(path, size))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert n_rows == 400_000
    assert peak < 12 * size  # of 7.6 MB of text


def test_a_line_longer_than_a_part(tmp_path):
    """A line that ends in no part of the usual size would be cut in two."""
    long = b"1 " + b" ".join(b"%d:%d" % (j, j % 9) for j in range(5000)) + b" # end\n"
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:1\n" + long + b"\n" + long + b"0 1:1")
    blocks = list(svmlight_blocks(path, size=1000))
    assert np.concatenate([block.lengths for block in blocks]).tolist() == [1, 5000, 5000, 1]
    table = read_table(path)
    assert table.X.shape == (4, 5000)
    assert table.y.tolist() == [1, 1, 1, 0]


def test_blocks_end_with_their_reader(tmp_path):
    """A loop that stops early would leave a thread at work, or a file open."""
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:1\n" * 10_000 + b"1 x\n")
    blocks = svmlight_blocks(path, size=1000)
    assert next(blocks).start == 0
    blocks.close()
    with pytest.raises(FileError, match="line 10001, column 3: expected index:value; got 'x'"):
        list(svmlight_blocks(path, size=1000))
    with solver_threads(1):  # of the kernel
        assert next(svmlight_blocks(path, size=1000)).labels.size == 166


def test_a_file_that_changes_while_it_is_read(tmp_path):
    """Half a file would be taken for all of it, or end the process where it is mapped."""
    path = tmp_path / "a.svm"
    for change in (b"", b"1 1:1\n" * 200_000):
        path.write_bytes(b"1 1:1\n" * 100_000)
        blocks = svmlight_blocks(path, size=1000)
        next(blocks)
        with path.open("r+b") as file:
            file.truncate(300_000)
            file.seek(0, io.SEEK_END)
            file.write(change)
        with pytest.raises(FileError, match="changed while it was read: it had 600000 bytes, then"):
            list(blocks)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 1:1\n2 qid:3 1:1\n1 qid:x 1:1\n", "line 3, column 3: qid: must have a whole number"),
        (b"1,2 1:1\n", "got '1,2'. Write a file for each of several labels."),
        (b"1,x 1:1\n", "got '1,x'."),
        (b"1 1:1\n" * 9 + b"1 1:1 # a comment\n\n\xff 1:1\n", "line 12, column 1: the label"),
        (
            b"1 1:1" + b" " * 200_000 + b"3\0:1\n",
            "line 1, column 200006: the index must be a whole",
        ),
        (b"1 0000000000007:1 7:2\n", "indices must increase along a line; got 7 after 7."),
        (b"1 1:1\n" + b"1 " + b"9" * 100_000 + b":1\n", "the index must be below 2147483648"),
        (b"1 1:1 1" + b"0" * 100_000, "expected index:value; got '1000"),
        (b"1 1:1\r-1 2:1\r", "line 1, column 7: expected index:value; got '-1'."),
    ],
)
def test_further_faults(tmp_path, text, message):
    """A fault would be read, or have words that do not help."""
    answer = read(tmp_path, text)
    assert message in answer
    assert answer.endswith(".")


def test_what_the_format_allows(tmp_path):
    """Files with query ids in some lines, leading zeros or a label alone would be refused."""
    table = read(tmp_path, b"1 qid:3 0001:2\n2\n3 qid:4\n4 2:-0 # 5:5\n")
    assert table.X.toarray().tolist() == [[2, 0], [0, 0], [0, 0], [0, 0]]
    assert np.signbit(table.X.data).tolist() == [False, True]
    assert table.y.tolist() == [1, 2, 3, 4]
    wide = read(tmp_path, b"1 0:1 2147483647:2\n")
    assert wide.X.shape == (1, 2**31)
    assert wide.X.indices.tolist() == [0, 2**31 - 1]
    cut = gzip.compress(b"1 1:1\n" * 5000)
    assert "truncated or damaged" in read(tmp_path, cut[: len(cut) // 2], "a.svm.gz")
