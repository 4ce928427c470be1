"""Units of X, y and the weights, small penalties and large ones: they change no selected set."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from zeronorm import BudgetClassifier, L1Classifier, MeasureClassifier
from zeronorm.designs import Rows, as_design
from zeronorm.designs._operations import center_scale
from zeronorm.solvers.pool.support_norm import proximal_shares
from zeronorm.verification import verify


def test_shares_where_the_loss_is_flat():
    """A proof of a quantile would end in an IndexError: margins of 1e301 overflow in a product."""
    size = np.array([1.6e301, 2.7e301, 1.3e301, 3.2e301])
    for scale in (1.0, 1e-300, 1e-301 * 5e-324 / 3e-301):  # of the last only denormals are left
        share = proximal_shares(size * scale, 1, 1e-300)
        assert share.argmax() == 3
        np.testing.assert_allclose(share.sum(), 1.0, atol=1e-4)


@pytest.fixture(scope="module")
def times():
    """Return times in nanoseconds since 1970, a millisecond apart, and classes of the first."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    return X * 1e6 + 1.7e18, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        BudgetClassifier(1, calibrate=False),
        BudgetClassifier(1, method="l0", calibrate=False),
        L1Classifier(n_features=1, standardize=True),
        MeasureClassifier("auc", 1),
    ],
    ids=["pool", "l0", "l1", "auc"],
)
def test_times_in_nanoseconds_vary(model, times):
    """Columns of 200 different values would be called constant."""
    X, y = times
    with pytest.warns(UserWarning, match="column 0 varies by less than 1e-12 of its size"):
        model.fit(X, y)
    assert model.get_support().tolist() == [True, False, False]
    assert model.score(X, y) > 0.95
    if hasattr(model, "certificate_"):
        verify(X, y, model.certificate_)


def test_columns_far_from_zero_are_centred_exactly(times):
    """The mean of a column has a unit in the last place of 256 ns, which would stay in it."""
    X, _ = times
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 200)
    shifted = X - X[0]  # exact
    near = center_scale(as_design(shifted), weight, center=True)
    for design in (as_design(X), as_design(np.asfortranarray(X))):
        far = center_scale(design, weight, center=True)
        np.testing.assert_allclose(far.scale, near.scale, rtol=1e-12)
        np.testing.assert_allclose(far.gather(slice(None)), near.gather(slice(None)), atol=1e-9)
    rows = np.arange(0, 200, 2)
    far, near = (
        center_scale(Rows(as_design(one), rows), weight[rows], center=True) for one in (X, shifted)
    )
    np.testing.assert_allclose(far.gather(slice(None)), near.gather(slice(None)), atol=1e-9)


def test_the_rounding_of_a_constant_does_not_vary():
    """Sums that are the same but for rounding would become features."""
    x = np.full((50, 2), 0.3)
    x[::2, 1] = 0.1 + 0.2
    assert np.unique(x[:, 1]).size == 2
    assert not center_scale(as_design(x), np.ones(50), center=True).scale.any()
    with pytest.raises(ValueError, match="subtract a constant from such columns first"):
        BudgetClassifier(1).fit(x, np.arange(50) % 2)


def test_sparse_columns_far_from_zero_are_refused(times):
    """They are not centred: the fit would end in a Newton system that is not positive."""
    X, y = times
    with pytest.raises(ValueError, match=r"column 0 has a mean of .* standard deviations"):
        BudgetClassifier(1).fit(sp.csc_array(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = BudgetClassifier(1, calibrate=False).fit(sp.csc_array((X - 1.7e18) / 1e6 + 100.0), y)
    assert near.support_.tolist() == [0]
