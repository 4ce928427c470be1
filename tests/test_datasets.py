"""The drawn data that come with the package, those among the examples, and synthetic ones."""

import hashlib
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from golub import GOLUB, load_golub
from zeronorm import BudgetClassifier
from zeronorm.datasets import load_demo
from zeronorm.model_selection import cross_validate
from zeronorm.published import make_paper_synthetic


def test_demo_is_the_same_everywhere():
    """The numbers in README would be those of one machine."""
    demo = load_demo()
    assert demo.X.shape == (72, 2400)
    assert demo.X.dtype == np.float32
    assert hashlib.sha256(demo.X.astype("<f4").tobytes()).hexdigest() == (
        "b95587023b41e4afa9ac24ef78657286af688e51816d7f6c7e1faeed8ab657be"
    )
    assert dict(zip(*np.unique(demo.y, return_counts=True), strict=True)) == {
        "healthy": 42,
        "sick": 30,
    }
    assert len(set(demo.feature_names)) == len(demo.descriptions) == 2400
    assert demo.feature_names[::2399] == ["gene_0001", "gene_2400"]
    assert demo.target_name == "state"
    assert "BSD 3-clause" in load_demo.__doc__


def test_demo_as_a_pair():
    """X and y would be others than those of the record."""
    X, y = load_demo(return_X_y=True)
    demo = load_demo()
    np.testing.assert_array_equal(X, demo.X)
    np.testing.assert_array_equal(y, demo.y)


def test_demo_is_as_its_descriptions_say():
    """A newcomer would look for genes that inform, and these would not."""
    demo = load_demo()
    place = {name: j for j, name in enumerate(demo.feature_names)}
    Z = StandardScaler().fit_transform(demo.X.astype(float))
    t = np.where(demo.y == "sick", 1, -1)
    informing = [j for j, text in enumerate(demo.descriptions) if text.startswith("informs")]
    assert len(informing) == 8
    for j in informing:
        text = demo.descriptions[j]
        if text == "informs alone":
            assert abs(Z[:, j] @ t) / 72 > 0.5
        else:
            other = place[text.removeprefix("informs with ")]
            assert demo.descriptions[other] == f"informs with {demo.feature_names[j]}"
            difference = Z[:, j] - Z[:, other]
            alone, both = (abs(np.corrcoef(one, t)[0, 1]) for one in (Z[:, j], difference))
            assert both > 0.7 > alone
    followers = [j for j, text in enumerate(demo.descriptions) if text.startswith("follows")]
    leaders = [place[demo.descriptions[j].removeprefix("follows ")] for j in followers]
    assert len(followers) == 4 * 19
    assert np.mean((Z[:, followers] * Z[:, leaders]).mean(axis=0)) > 0.3


def test_demo_needs_several_genes():
    """Eight genes would be no better than one, or the data no test of a method."""
    X, y = load_demo(return_X_y=True)
    found = cross_validate(BudgetClassifier([1, 8], calibrate=False), X, y)
    one, eight = found.mean
    assert one < 0.8
    assert 0.9 < eight < 0.98


def test_golub_shape_and_names():
    """Tests, examples and `make demo` count on these."""
    golub = load_golub()
    assert golub.X.shape == (38, 3051)
    assert golub.X.dtype == np.float32
    assert np.isfinite(golub.X).all()
    assert dict(zip(*np.unique(golub.y, return_counts=True), strict=True)) == {"ALL": 27, "AML": 11}
    assert len(set(golub.feature_names)) == len(golub.descriptions) == 3051
    assert golub.descriptions[golub.feature_names.index("X95735_at")] == "Zyxin"
    np.testing.assert_allclose(golub.X[0, :3], [-1.45769, -0.75161, 0.45695], atol=1e-6)


def test_golub_carries_its_licence():
    """The data are LGPL-3: they must not travel without licence and attribution."""
    folder = Path(GOLUB).parent
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in (folder / "LICENSE.LGPL-3.txt").read_text()
    assert "GNU GENERAL PUBLIC LICENSE" in (folder / "LICENSE.GPL-3.txt").read_text()
    about = (folder / "ATTRIBUTION.txt").read_text(encoding="utf-8")
    assert "multtest" in about
    assert "Golub" in about
    assert "LGPL-3" in about


def test_the_package_is_under_its_own_licence_alone():
    """A wheel with other data than the drawn ones would need other licences too."""
    folder = resources.files("zeronorm.datasets")
    assert {one.name for one in folder.iterdir()} - {"__pycache__"} == {"__init__.py"}


def test_synthetic_is_what_it_says():
    """Benchmarks would run on other data than the paper's."""
    X, y, support = make_paper_synthetic(2000, 60, 5, random_state=1)
    assert X.shape == (2000, 60)
    assert X.dtype == np.float32
    assert abs(float(X.mean())) < 0.02
    assert abs(float(X.std()) - 1) < 0.02
    assert set(np.unique(y)) == {-1, 1}
    assert support.dtype == np.int64
    assert (np.diff(support) > 0).all()
    # y is a function of the support alone: least squares on it separates almost all samples.
    w, *_ = np.linalg.lstsq(X[:, support].astype(float), y.astype(float), rcond=None)
    assert np.mean(np.sign(X[:, support] @ w) == y) > 0.95


def test_synthetic_is_reproducible():
    """Two runs of a benchmark would have different data."""
    first, again = (make_paper_synthetic(30, 40, 3, random_state=7) for _ in range(2))
    other = make_paper_synthetic(30, 40, 3, random_state=8)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    digest = [hashlib.sha256(X.tobytes()).digest() for X, _, _ in (first, other)]
    assert digest[0] != digest[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, 1), "n_samples must be an integer of at least 1; got 0"),
        ((5, 5, 6), r"n_informative must be between 1 and 5 \(n_features\); got 6"),
        ((5, 2.5, 1), "n_features must be an integer of at least 1; got 2.5"),
        ((5, 5, 1, 0.0), "w_std must be a positive number; got 0.0"),
    ],
)
def test_synthetic_refuses(arguments, message):
    """Data that cannot be would be made up."""
    with pytest.raises(ValueError, match=message):
        make_paper_synthetic(*arguments)
