"""Units of X, y and the weights, small penalties and large ones: they change no selected set."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    L1Classifier,
    L1Regressor,
    L1RegressorCV,
    MeasureClassifier,
    methods,
)
from zeronorm.data import Rows, as_design
from zeronorm.data.operations import center_scale
from zeronorm.estimators import LeakWarning
from zeronorm.losses import Ordinal
from zeronorm.published import L0LogisticRegression, Splitting
from zeronorm.solvers.measures import InnerLayer
from zeronorm.solvers.quadratic import proximal_shares
from zeronorm.verification import verify


def test_shares_where_the_loss_is_flat():
    """A proof of a quantile would end in an IndexError: margins of 1e301 overflow in a product."""
    size = np.array([1.6e301, 2.7e301, 1.3e301, 3.2e301])
    for scale in (1.0, 1e-300):
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
        verify(model.certificate_, X, y)


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
        warnings.simplefilter("ignore", LeakWarning)  # the column does order the classes
        near = BudgetClassifier(1, calibrate=False).fit(sp.csc_array((X - 1.7e18) / 1e6 + 100.0), y)
    assert near.support_.tolist() == [0]


@pytest.fixture(scope="module")
def pair():
    """Return 12 columns and the signal of columns 3 and 8."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12))
    return X, X[:, 3] - X[:, 8] + 0.5 * rng.standard_normal(80)


GROUPS = np.arange(12) // 2
SMALL = [1e-3, 1e-6, 1e-8, 1e-10, 1e-30, 1e-90]


@pytest.mark.parametrize("C", SMALL)
@pytest.mark.parametrize(
    "make",
    [
        lambda C: BudgetClassifier(2, C=C, calibrate=False),
        lambda C: BudgetClassifier(2, C=C, method="l0", calibrate=False),
        lambda C: BudgetClassifier(2, C=C, method="minimax", calibrate=False),
        lambda C: BudgetClassifier(2, method=methods.Greedy(fit_C=C), calibrate=False),
        lambda C: BudgetClassifier(
            2, n_groups=2, feature_groups=GROUPS, method="bilevel", C=C, calibrate=False
        ),
        lambda C: L0LogisticRegression(2, solver=Splitting("salm"), C=C, calibrate=False),
    ],
    ids=["pool", "l0", "minimax", "greedy", "bilevel", "salm"],
)
def test_small_penalties_select_by_scores(pair, make, C):
    """Where the loss cannot move, the first columns would be "selected", or none."""
    X, s = pair
    y = (s > 0).astype(int)
    scores = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())) / X.std(axis=0)
    assert np.sort(np.argsort(-scores)[:2]).tolist() == [3, 8]
    assert make(C).fit(X, y).get_support().nonzero()[0].tolist() == [3, 8]


@pytest.mark.parametrize("C", [1e-6, 1e-12, 1e-90])
def test_small_penalties_of_groups_classes_and_numbers(pair, C):
    """Tolerances would be larger than what whole groups, several outputs and numbers can move."""
    X, s = pair
    group = BudgetClassifier(n_groups=2, feature_groups=GROUPS, C=C, calibrate=False).fit(X, s > 0)
    assert group.support_.tolist() == [2, 3, 8, 9]
    classes = np.digitize(s, [-0.7, 0.7])
    for model in (
        BudgetClassifier(2, C=C, loss="ordinal", calibrate=False),
        BudgetRegressor(2, C=C, loss="huber"),
        BudgetRegressor(2, C=C, loss="quantile"),
        BudgetRegressor(2, C=C),
    ):
        target = classes if isinstance(model, BudgetClassifier) else s
        assert model.fit(X, target).support_.tolist() == [3, 8]
    for loss in ("poisson", "gamma"):
        assert BudgetRegressor(2, C=C, loss=loss).fit(X, np.exp(s)).support_.tolist() == [3, 8]
    both = np.column_stack([s, s + 0.1 * X[:, 0]])
    assert BudgetRegressor(2, C=C).fit(X, both).get_support().nonzero()[0].tolist() == [3, 8]


@pytest.mark.parametrize("unit", [1e-10, 1e-6, 1e6, 1e12])
def test_units_of_targets_and_weights_change_no_set(pair, unit):
    """Rates of a person and of a million people would have other features."""
    X, s = pair
    for loss in ("least_squares", "huber", "quantile"):
        own, other = (BudgetRegressor(3, loss=loss).fit(X, s * one) for one in (1.0, unit))
        assert other.support_.tolist() == own.support_.tolist()
        np.testing.assert_allclose(other.coef_, unit * own.coef_, rtol=1e-6, atol=1e-9 * unit)
    y = np.exp(s)
    for loss in ("poisson", "gamma"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            assert set(BudgetRegressor(2, loss=loss).fit(X, y * unit).support_) == {3, 8}
            weighted = BudgetRegressor(2, loss=loss).fit(X, y, sample_weight=np.full(80, unit))
        assert set(weighted.support_) == {3, 8}


def test_a_loss_of_next_to_no_weight_is_refused(pair):
    """Squares of the scores would underflow, and no solver would end, or all features be equal."""
    X, s = pair
    with pytest.raises(ValueError, match=r"must be at least 1e-100.*use a larger C"):
        BudgetClassifier(2, C=1e-300).fit(X, s > 0)
    with pytest.raises(ValueError, match="all their scores are 0, but for rounding"):
        L1RegressorCV(5, cv=2).fit(X * 1e-310, s)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("loss", ["least_squares", "huber", "quantile"])
def test_sweeps_of_l1_do_not_grow_with_the_unit_of_y(pair, loss, unit):
    """A step moved a margin by 10 at most: targets of 1e9 took minutes."""
    X, s = pair
    model = L1Regressor(loss=loss).fit(X, unit * s)
    sweeps = sum(step.extra.get("sweeps", 0) for step in model.history_)
    assert sweeps < (1000 if unit < 1e12 else 30_000)  # there rounding ends the last descents
    if unit > 1.0:
        free = L1Regressor(loss=loss, C=1e6).fit(X, s).coef_
        np.testing.assert_allclose(model.coef_ / unit, free, atol=2e-3)


@pytest.mark.parametrize(("even", "odd"), [(1e10, 1.0), (1e30, 1e30), (1e12, 1.0)])
def test_programs_of_measures_end_for_any_weights(pair, even, odd, monkeypatch):
    """Cuts grow with the weights: rounding left nothing of the programs, for thousands of them."""
    X, s = pair
    count, solve = [0], InnerLayer._program

    def counted(*args):
        count[0] += 1
        return solve(*args)

    monkeypatch.setattr(InnerLayer, "_program", counted)
    weight = np.where(np.arange(80) % 2 == 0, even, odd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MeasureClassifier("f1", 2).fit(X, s > 0, sample_weight=weight)
    assert count[0] < 100
    assert model.get_support().sum() == 2


def test_repeated_rows_are_weights_to_the_tolerance_of_measures():
    """What scores differ by would not be the tolerance of the fit, but a fault of the weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 10))
    y = (X[:, 0] - X[:, 1] + rng.normal(size=80) > 0).astype(int)
    weight = rng.integers(0, 4, 80)
    rows = np.repeat(np.arange(80), weight)
    weighted = MeasureClassifier("f1", 2, tol=1e-9).fit(X, y, sample_weight=weight)
    repeated = MeasureClassifier("f1", 2, tol=1e-9).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-9)


def test_ordered_classes_with_huge_weights_end(pair, monkeypatch):
    """Steps that change the objective by rounding only went on, each with searches of its own."""
    X, s = pair
    count, value = [0], Ordinal.value_gradient

    def counted(*args):
        count[0] += 1
        return value(*args)

    monkeypatch.setattr(Ordinal, "value_gradient", counted)
    y = np.digitize(s + np.random.default_rng(1).logistic(size=80), [-1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BudgetClassifier(2, loss="ordinal", C=1e20, calibrate=False).fit(X, y)
    assert model.support_.size == 2
    assert count[0] < 2000


@pytest.fixture(scope="module")
def copied():
    """Return columns, the last one a copy of the third, and classes."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 8))
    y = (2 * X[:, 2] - 1.5 * X[:, 5] + 0.5 * rng.normal(size=60) > 0).astype(int)
    X[:, 7] = X[:, 2]
    return X, y


@pytest.mark.parametrize("method", ["pool", "l1", "reweighted-l1", "minimax", "greedy"])
@pytest.mark.parametrize("factor", [1.0, -3.7])
def test_a_copy_is_not_selected_beside_its_column(copied, method, factor):
    """The ridge prefers a feature and its copy to a second one: accuracy .82 instead of .92."""
    X, y = copied
    X = X * np.append(np.ones(7), factor)
    model = BudgetClassifier(2, method=method, calibrate=False).fit(X, y)
    assert model.support_.tolist() == [2, 5]


def test_copies_are_selected_where_nothing_else_is_left(copied):
    """Fewer features than asked for would be returned, or a forced one be lost."""
    X, y = copied
    for method in ("pool", "l1"):
        model = BudgetClassifier(8, method=method, calibrate=False).fit(X, y)
        assert model.support_.size == 8
    forced = BudgetClassifier(2, forced_features=[7], calibrate=False).fit(X, y)
    assert forced.support_.tolist() == [5, 7]


def test_a_feature_that_is_in_a_model_twice_is_named(copied):
    """Exchanges prefer the pair for its objective, without a word; a sign and unit hide it."""
    pd = pytest.importorskip("pandas")
    X, y = copied
    X = pd.DataFrame(X * np.append(np.ones(7), -3.7) + 1.0, columns=list("abcdefgh"))
    with pytest.warns(UserWarning, match=r"X columns 'c' and 'h' are equal up to their units"):
        model = BudgetClassifier(2, method="l0", calibrate=False).fit(X, y)
    assert model.support_.tolist() == [2, 7]


def test_a_loss_that_can_hardly_move_is_told(pair):
    """Rates per person would be ranked by single scores without a word."""
    X, s = pair
    rates = np.exp(s) * 1e-7
    with pytest.warns(
        ConvergenceWarning, match=r"C=0.1 is too small.*exposure instead of small rates"
    ):
        small = BudgetRegressor(2, loss="poisson", C=0.1).fit(X, rates)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        large = BudgetRegressor(2, loss="poisson", C=0.1).fit(X, rates * 1e7)
    assert small.support_.tolist() == large.support_.tolist() == [3, 8]
    np.testing.assert_allclose(small.coef_, large.coef_, rtol=0.02)  # refit_C follows the unit
    both = np.column_stack([rates, 3.0 * rates])
    with pytest.warns(ConvergenceWarning, match="C=0.1 is too small"):
        BudgetRegressor(2, loss="poisson", C=0.1).fit(X, both)
    with pytest.warns(ConvergenceWarning, match="coefficients of the selection are about 2e-05"):
        BudgetClassifier(2, C=1e-6, calibrate=False).fit(X, s > 0)
