"""The losses of held-out samples: what compares sizes, and tells numbers from chance."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.model_selection import KFold, StratifiedKFold

from conftest import slow
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    MeasureClassifier,
    cross_validate,
)
from zeronorm.estimators.held_out import losses_of_events
from zeronorm.losses import Cox
from zeronorm.losses.cox import CoxOfEntries

CHEAP = {"C": 1.0, "calibrate": False}
RNG = np.random.default_rng(5)
X = RNG.standard_normal((60, 8))
Z = 1.5 * X[:, 2] - X[:, 5]


def survival_of(time, event):
    """Return survival times as estimators take them."""
    return np.rec.fromarrays([event.astype(bool), time], names="event,time")


def test_losses_of_classes_are_log_losses_of_one_scale():
    """Margins as large as few samples make them would decide which size is best."""
    y, weight = (RNG.random(60) < 1 / (1 + np.exp(-Z))) * 1, RNG.integers(1, 4, 60).astype(float)
    folds = list(StratifiedKFold(3).split(X, y))
    model = BudgetClassifier([1, 4], class_weight={0: 1.0, 1: 2.0}, **CHEAP)
    found = cross_validate(model, X, y, cv=folds, sample_weight=weight)
    assert (found.deviance_name, found.chosen_by) == ("log_loss", "log_loss")
    s = weight * np.where(y == 1, 2.0, 1.0)
    margins, null = np.empty((2, 60)), np.empty(60)
    for train, test in folds:
        fitted = BudgetClassifier([1, 4], class_weight={0: 1.0, 1: 2.0}, **CHEAP)
        fitted.fit(X[train], y[train], sample_weight=weight[train])
        for row, k in enumerate((1, 4)):
            fitted._keep_size(k)
            margins[row, test] = fitted.decision_function(X[test])
        share = s[train] @ y[train] / s[train].sum()
        null[test] = -np.log(np.where(y[test] == 1, share, 1 - share))
    for row in range(2):
        signed = np.where(y == 1, 1, -1) * margins[row]
        total = [np.average(np.logaddexp(0, -a * signed), weights=s) for a in (0.02, 1.2)]
        best = minimize_scalar(
            lambda a, z=signed: s @ np.logaddexp(0, -a * z), bounds=(0.02, 1.2), method="bounded"
        ).x
        loss = np.logaddexp(0, -best * signed)
        assert s @ loss / s.sum() <= min(total) + 1e-9
        own = [np.average(loss[test], weights=s[test]) for _, test in folds]
        np.testing.assert_allclose(found.deviance[row], own, rtol=1e-4)
    own = [np.average(null[test], weights=s[test]) for _, test in folds]
    np.testing.assert_allclose(found.baseline_deviance, own, rtol=1e-5)


def test_losses_of_several_classes():
    """They would be of other columns."""
    y = np.array(["c", "a", "b"])[np.digitize(Z, [-1, 1])]
    folds = list(StratifiedKFold(3).split(X, y))
    found = cross_validate(BudgetClassifier(2, **CHEAP), X, y, cv=folds)
    z, codes = np.empty((60, 3)), np.searchsorted(["a", "b", "c"], y)
    for train, test in folds:
        z[test] = BudgetClassifier(2, **CHEAP).fit(X[train], y[train]).decision_function(X[test])

    def loss(a):
        return -log_softmax(a * z, axis=1)[np.arange(60), codes]

    a = minimize_scalar(lambda a: loss(a).sum(), bounds=(0.02, 1.2), method="bounded").x
    own = [loss(a)[test].mean() for _, test in folds]
    np.testing.assert_allclose(found.deviance[0], own, rtol=1e-4)
    assert (found.deviance < found.baseline_deviance).all()


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_losses_of_numbers_and_what_differences_of_them_say(loss):
    """The mean would be of other samples, or its error blind to groups and weights."""
    offset = None if loss == "squared" else RNG.uniform(-1, 1, 60)
    y = Z + RNG.standard_normal(60)
    options = {"C": 1.0}
    if offset is not None:
        y, options = RNG.poisson(np.exp(0.5 * Z + offset)).astype(float), options | {"loss": loss}
    weight, groups = RNG.uniform(0.5, 2, 60), np.arange(60) // 2
    folds = list(KFold(3).split(X))
    found = cross_validate(
        BudgetRegressor(2, **options), X, y, cv=folds, sample_weight=weight, offset=offset,
        groups=groups,
    )  # fmt: skip
    o = np.zeros(60) if offset is None else offset
    both = np.empty((2, 60))
    for train, test in folds:
        more = {} if offset is None else {"offset": offset[train]}
        fitted = BudgetRegressor(2, **options).fit(
            X[train], y[train], sample_weight=weight[train], groups=groups[train], **more
        )
        mean = fitted.predict(X[test], *([] if offset is None else [offset[test]]))
        s = weight[train]
        plain = np.exp(o[test]) * (s @ y[train]) / (s @ np.exp(o[train]))
        for row, m in enumerate((plain, mean)):
            if offset is None:
                both[row, test] = 0.5 * (y[test] - m) ** 2
            else:
                full = np.where(y[test] > 0, y[test] * np.log(np.maximum(y[test], 1) / m), 0)
                both[row, test] = full - y[test] + m
    by_fold = [[np.average(one[test], weights=weight[test]) for _, test in folds] for one in both]
    np.testing.assert_allclose(found.baseline_deviance, by_fold[0], rtol=1e-6)
    np.testing.assert_allclose(found.deviance[0], by_fold[1], rtol=1e-6)
    gain = both[0] - both[1]
    np.testing.assert_allclose(found.advantage[0], np.subtract(*by_fold), rtol=1e-5)
    part = np.empty(60)
    for _, test in folds:
        part[test] = weight[test] / weight[test].sum() / 3
    of_group = np.bincount(groups, part * (gain - part @ gain))
    error = np.sqrt(30 / 29 * of_group @ of_group)
    assert found.advantage_error[0] == pytest.approx(error, rel=1e-5)
    assert found.degrees == 29
    assert found.better_than_chance[0] == (part @ gain > found.limit_of_chance() * error)
    assert found.better_than_chance[0]


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("entries", [False, True])
def test_losses_of_events_add_up_to_the_partial_likelihood(ties, entries):
    """Samples that are not at risk would be, or events at one time be counted in another way."""
    y = np.column_stack(
        [np.ceil(RNG.exponential(4.0, 60)), RNG.random(60) < 0.7, np.arange(60) % 2]
    )
    if entries:
        y = np.column_stack([y, np.floor(RNG.uniform(0, 1, 60) * y[:, 0])])
    weight = RNG.uniform(0.5, 2.0, 60)
    loss = CoxOfEntries(ties) if entries else Cox(ties)
    z = RNG.standard_normal(60)
    given = losses_of_events(y, weight, z, ties == "efron")
    assert (given[y[:, 1] == 0] == 0).all()
    plain = losses_of_events(y, weight, np.zeros(60), ties == "efron")
    values = [loss.value_gradient(one, y, weight)[0] for one in (z, np.zeros(60))]
    assert weight @ (given - plain) == pytest.approx(values[0] - values[1])


@pytest.mark.parametrize("kind", ["numbers", *slow("classes", "survival")])
def test_weights_are_repeated_samples(kind):
    """A sample of weight 2 would choose another size than two samples.

    With Efron's ties it does: events are counted there, whatever their weights.
    """
    times = np.ceil(10 * RNG.exponential(np.exp(-Z))) + np.arange(60) / 100
    estimator, y = {
        "numbers": (BudgetRegressor([1, 2, 4], C=1.0), Z + RNG.standard_normal(60)),
        "classes": (BudgetClassifier([1, 2, 4], **CHEAP), Z > 0.3),
        "survival": (
            BudgetSurvivalAnalysis([1, 2, 4], C=1.0, ties="breslow"),
            survival_of(times, Z < 1),
        ),
    }[kind]
    weight = RNG.integers(1, 4, 60)
    number = np.repeat(np.arange(60), weight)
    folds = [(np.flatnonzero(np.arange(60) % 3 != f), np.flatnonzero(np.arange(60) % 3 == f))
             for f in range(3)]  # fmt: skip
    of_rows = [tuple(np.flatnonzero(np.isin(number, part)) for part in fold) for fold in folds]
    one = cross_validate(estimator, X, y, cv=folds, sample_weight=weight)
    other = cross_validate(estimator, X[number], y[number], cv=of_rows)
    np.testing.assert_allclose(one.deviance, other.deviance, rtol=1e-5)
    np.testing.assert_allclose(one.baseline_deviance, other.baseline_deviance, rtol=1e-5)
    assert one.choose() == other.choose()


def test_a_measure_has_no_losses():
    """Its margins are no probabilities; the measure chooses."""
    found = cross_validate(MeasureClassifier("f1", [1, 2]), X, Z > 0, cv=3)
    assert found.deviance is None
    assert found.chosen_by == found.measure == "f1"
    np.testing.assert_array_equal(found.compared, found.scores)


def test_noise_of_numbers_is_told():
    """A target that has nothing to do with X would be taken for a find, or a weak one for noise."""
    told = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = cross_validate(
            BudgetRegressor(3, C=1.0), rng.standard_normal((40, 30)), rng.standard_normal(40)
        )
        told.append(bool(found.better_than_chance[0]))
    assert sum(told) <= 3
    weak = X[:, 2] + 1.2 * RNG.standard_normal(60)
    assert cross_validate(BudgetRegressor(1, C=1.0), X, weak).better_than_chance.all()


def test_the_order_of_samples_is_of_no_consequence():
    """Losses would be of other samples where folds are no blocks of rows."""
    y = Z + RNG.standard_normal(60)
    order = RNG.permutation(60)
    place = np.argsort(order)
    folds = [(np.flatnonzero(np.arange(60) % 3 != f), np.flatnonzero(np.arange(60) % 3 == f))
             for f in range(3)]  # fmt: skip
    moved = [tuple(place[part] for part in fold) for fold in folds]
    one = cross_validate(BudgetRegressor([1, 3], C=1.0), X, y, cv=folds)
    other = cross_validate(BudgetRegressor([1, 3], C=1.0), X[order], y[order], cv=moved)
    np.testing.assert_allclose(one.deviance, other.deviance, rtol=1e-9)
    np.testing.assert_allclose(one.advantage_error, other.advantage_error, rtol=1e-9)
