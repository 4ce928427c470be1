"""Names of features from a file with one on each line, for data that have none."""

import json

import numpy as np
import pytest

from zeronorm import read_table, write_store
from zeronorm.core.files import FileError
from zeronorm.persistence import load

WORDS = ["the", "dog", "cat", "ox"]


@pytest.fixture(autouse=True)
def texts(tmp_path, monkeypatch):
    """Counts with indices from 1, the third of which tells the classes, and names for them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4)).round(3)
    y = np.tile([1, -1], 20)
    X[:, 2] += 2 * y
    for name, first in (("from1.svm", 1), ("from0.svm", 0)):
        lines = (
            f"{label} {' '.join(f'{j}:{x}' for j, x in enumerate(row, first))}\n"
            for label, row in zip(y, X, strict=True)
        )
        (tmp_path / name).write_text("".join(lines))
    np.save("x.npy", X)
    np.savez("x.npz", X=X)
    for name, words in (("vocab.txt", WORDS), ("more.txt", [*WORDS, "ant", "bee"])):
        (tmp_path / name).write_text("".join(f"{word}\n" for word in words))
    return X


@pytest.mark.parametrize("data", ["from1.svm", "from0.svm", "x.npy", "x.npz"])
def test_names_are_those_of_the_lines(texts, data):
    """A model of words would list numbers."""
    found = read_table(data, feature_names="vocab.txt")
    assert found.feature_names == WORDS
    assert found.notes == ()
    X = found.X.toarray() if data.endswith("svm") else found.X
    assert np.array_equal(X, texts)


def test_names_behind_the_highest_index_are_features_of_zeros(texts):
    """Two files with one vocabulary would have different features; a shift would go unseen."""
    for data, first, why in (("from1.svm", 1, ("as no index is 0",)), ("from0.svm", 0, ())):
        found = read_table(data, feature_names="more.txt")
        assert found.feature_names == [*WORDS, "ant", "bee"]
        assert np.array_equal(found.X.toarray(), np.pad(texts, ((0, 0), (0, 2))))
        notes = [f"the index {first} is 'the' of more.txt, {one}" for one in why]
        assert list(found.notes) == notes
        made = write_store(data, f"{first}.zarr", feature_names="more.txt")
        assert list(made.notes) == notes
        stored = read_table(f"{first}.zarr")
        assert stored.feature_names == found.feature_names
        assert np.array_equal(stored.X.gather(slice(None)).toarray(), found.X.toarray())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a\nb\n", "the index 4 has no name; names.txt has 2 names, for the indices 1 to 2"),
        ("a\n\nb\nc\n", "names.txt: line 2 is empty; write one name on each line"),
        ("a\nb\na\nc\n", "line 3: 'a' is the name on line 1 as well"),
        ("a\tb\nc\n", r"line 1 is 'a\\tb'; write one name"),
        ("", "names.txt: the file is empty"),
        (b"a\n\xff\n", "line 2, byte 1: not UTF-8 text; say encoding"),
    ],
)
def test_bad_names_are_refused(tmp_path, words, message):
    """Names of other features would stand in the model."""
    (tmp_path / "names.txt").write_bytes(words if isinstance(words, bytes) else words.encode())
    with pytest.raises(FileError, match=message):
        read_table("from1.svm", feature_names="names.txt")
    with pytest.raises(FileError, match=message):
        write_store("from1.svm", "s.zarr", feature_names="names.txt")


def test_other_encodings_and_line_ends(tmp_path):
    """An old vocabulary would have to be converted."""
    (tmp_path / "old.txt").write_bytes("the\r\ndög\r\ncat\r\nox".encode("latin-1"))
    found = read_table("from1.svm", feature_names="old.txt", encoding="latin-1")
    assert found.feature_names == ["the", "dög", "cat", "ox"]


def test_names_go_with_data_that_have_none(tmp_path):
    """They would be ignored in silence, or stand above other columns."""
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,0\n3,4,1\n")
    write_store("x.npy", "s.zarr")
    for data, message in (
        ("a.csv", "its features have names; leave out feature_names"),
        ("s.zarr", "leave out feature_names"),
        ("demo", "demo has names of its own"),
    ):
        with pytest.raises(ValueError, match=message):
            read_table(data, "y" if data == "a.csv" else None, feature_names="vocab.txt")
    for read in (read_table, lambda data, **more: write_store(data, "t.zarr", **more)):
        with pytest.raises(FileError, match=r"more.txt: 6 names, and x.npy has 4 features"):
            read("x.npy", feature_names="more.txt")
    assert write_store(np.eye(4), "u.zarr", feature_names="vocab.txt").shape == (4, 4)
    assert read_table("u.zarr").feature_names == WORDS


def test_models_find_their_words_by_name(run, texts):
    """A model would take whatever stands at the place of its word."""
    run("select", "from1.svm", "--feature-names", "vocab.txt", "-k", 1, "--no-cv", "-o", "m.npz")
    assert load("m.npz").feature_names == ("cat",)

    def predicted(*arguments):
        return json.loads(run("predict", "m.npz", *arguments, "--json").stdout)["predictions"]

    expected = predicted("from1.svm")
    assert predicted("from1.svm", "--feature-names", "more.txt") == expected
    (found := texts[:, ::-1].copy())[:, 0] = 0
    np.save("turned.npy", found)
    with open("turned.txt", "w") as file:
        file.write("".join(f"{word}\n" for word in reversed(WORDS)))
    assert predicted("turned.npy", "--feature-names", "turned.txt") == expected
    made = run("convert", "from1.svm", "w.zarr", "--feature-names", "more.txt").stdout
    assert "the index 1 is 'the' of more.txt" in made
    assert predicted("w.zarr") == expected
    assert "6 features" in run("info", "from1.svm", "--feature-names", "more.txt").stdout
