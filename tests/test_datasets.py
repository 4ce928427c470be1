"""Embedded and synthetic data."""

import hashlib
from importlib import resources

import numpy as np
import pytest

from zeronorm.datasets import load_golub
from zeronorm.published import make_paper_synthetic


def test_golub_shape_and_names():
    """The demo, the README and the examples count on these."""
    golub = load_golub()
    assert golub.X.shape == (38, 3051)
    assert golub.X.dtype == np.float32
    assert np.isfinite(golub.X).all()
    assert dict(zip(*np.unique(golub.y, return_counts=True), strict=True)) == {"ALL": 27, "AML": 11}
    assert len(set(golub.feature_names)) == len(golub.descriptions) == 3051
    assert golub.descriptions[golub.feature_names.index("X95735_at")] == "Zyxin"
    assert golub.target_name == "leukaemia"
    np.testing.assert_allclose(golub.X[0, :3], [-1.45769, -0.75161, 0.45695], atol=1e-6)


def test_golub_as_a_pair():
    """X and y would be others than those of the record."""
    X, y = load_golub(return_X_y=True)
    golub = load_golub()
    np.testing.assert_array_equal(X, golub.X)
    np.testing.assert_array_equal(y, golub.y)


def test_golub_carries_its_licence():
    """The data are LGPL-3: they must not travel without licence and attribution."""
    folder = resources.files("zeronorm.datasets")
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in (folder / "LICENSE.LGPL-3.txt").read_text()
    assert "GNU GENERAL PUBLIC LICENSE" in (folder / "LICENSE.GPL-3.txt").read_text()
    about = load_golub().about
    assert "multtest" in about
    assert "Golub" in about
    assert "LGPL-3" in about


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
        ((0, 5, 1), "n_samples must be at least 1; got 0"),
        ((5, 5, 6), r"n_informative must be between 1 and 5 \(n_features\); got 6"),
        ((5, 2.5, 1), "n_features must be an integer; got 2.5"),
        ((5, 5, 1, 0.0), "w_std must be a positive number; got 0.0"),
    ],
)
def test_synthetic_refuses(arguments, message):
    """Data that cannot be would be made up."""
    with pytest.raises(ValueError, match=message):
        make_paper_synthetic(*arguments)
