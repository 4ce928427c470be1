"""Samples that belong together, as those of one patient, are never on both sides of a fold."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
import sklearn.model_selection
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    StratifiedGroupKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import zeronorm.estimators.folds
import zeronorm.plotting
from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1ClassifierCV,
    L1RegressorCV,
    L1SurvivalAnalysisCV,
    MeasureClassifier,
    cross_validate,
    permutation_test,
)
from zeronorm.estimators.folds import order_of_groups, splits
from zeronorm.inference.half_samples import half_samples
from zeronorm.inference.split import split_inference
from zeronorm.inference.stability import StabilitySelection
from zeronorm.inspection.replacements import substitutes
from zeronorm.model_selection.search import nested_cross_validate
from zeronorm.solvers.folds import fold_numbers_of_groups, folds_of_groups

N, PER = 60, 3
PATIENT = np.array([f"P{i // PER}" for i in range(N)])[np.random.default_rng(5).permutation(N)]
CODE = np.unique(PATIENT, return_inverse=True)[1]


def apart(folds, groups):
    """Assert that no group is on both sides of a fold."""
    assert folds
    for train, test in folds:
        assert test.size
        assert not np.intersect1d(groups[train], groups[test]).size


@pytest.fixture
def data():
    """X with a level of each patient in every column, and the class of the patient by chance."""
    rng = np.random.default_rng(0)
    level = rng.standard_normal((CODE.max() + 1, 30))
    X = level[CODE] + 0.05 * rng.standard_normal((N, 30))
    return X, rng.permutation(np.arange(CODE.max() + 1) % 2)[CODE]


@pytest.fixture
def seen(monkeypatch):
    """Return the list of all folds that are drawn, each with the groups of its rows."""
    found = []

    def recorded(*given, groups=None, **more):
        folds = splits(*given, groups=groups, **more)
        assert groups is not None
        apart(folds, groups)
        found.append((folds, groups))
        return folds

    for module in (
        "estimators.held_out",
        "estimators.l1",
    ):
        monkeypatch.setattr(f"zeronorm.{module}.splits", recorded)
    return found


@pytest.mark.parametrize("stratified", [True, False])
@pytest.mark.parametrize("cv", [2, 3, 5])
def test_folds_of_groups(cv, stratified):
    """A group would be cut, a fold empty, or the shares of the classes far from equal."""
    rng = np.random.default_rng(cv)
    groups = rng.integers(0, 40, 400)
    labels = rng.random(40)[groups] + rng.random(400) > 1.0
    fold = folds_of_groups(groups, np.ones(400), cv, labels if stratified else None)
    apart([(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(cv)], groups)
    counts = np.bincount(fold)
    assert counts.max() - counts.min() <= 12
    if stratified:
        positive = np.bincount(fold, labels)
        assert positive.max() - positive.min() <= 8
    order = rng.permutation(400)
    again = folds_of_groups(groups[order], np.ones(400), cv, labels[order] if stratified else None)
    np.testing.assert_array_equal(again, fold[order])


def test_integer_weights_are_repeated_rows():
    """A weight of 3 would count another way than a row that is there three times."""
    rng = np.random.default_rng(0)
    groups, labels, weight = rng.integers(0, 17, 80), rng.integers(0, 3, 80), rng.integers(1, 4, 80)
    again = folds_of_groups(
        np.repeat(groups, weight), np.ones(weight.sum()), 4, np.repeat(labels, weight)
    )
    fold = folds_of_groups(groups, weight.astype(float), 4, labels)
    np.testing.assert_array_equal(again, np.repeat(fold, weight))
    # Class weights are factors: they change the folds no more than they change the classes.
    factor = np.array([1.0, 1 / 3, 0.7])[labels]
    np.testing.assert_array_equal(folds_of_groups(groups, weight * factor, 4, labels), fold)


def test_classes_of_patients_are_shared_out():
    """Where a patient has one class, folds could hold out cases alone, without an AUC."""
    labels = np.arange(20) < 6
    groups = np.repeat(np.arange(20), 4)
    fold = folds_of_groups(groups, np.ones(80), 3, labels[groups])
    np.testing.assert_array_equal(np.bincount(fold, labels[groups]), [8, 8, 8])


def test_seeds_draw_other_folds_of_groups():
    """random_state would do nothing with groups."""
    drawn = [
        tuple(splits(CODE % 2, np.ones(N), 4, seed, groups=CODE)[0][1]) for seed in (0, 1, 2, 0)
    ]
    assert drawn[0] == drawn[3]
    assert len({*drawn}) > 1


@pytest.mark.parametrize(
    "cv",
    [
        GroupKFold(3), StratifiedGroupKFold(3), LeaveOneGroupOut(),
        GroupShuffleSplit(4, random_state=0), PredefinedSplit(CODE % 4),
    ],
    ids=lambda cv: type(cv).__name__,
)  # fmt: skip
def test_splitters(data, cv):
    """A splitter of scikit-learn would not be given the groups."""
    X, y = data
    search = BudgetCV(BudgetClassifier(calibrate=False), [1, 2], cv=cv).fit(X, y, groups=PATIENT)
    folds = list(cv.split(X, y, None if isinstance(cv, PredefinedSplit) else PATIENT))
    same = cross_validate(BudgetClassifier([1, 2]), X, y, cv=folds)
    np.testing.assert_array_equal(search.validation_.scores, same.scores)


@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut()])
@pytest.mark.parametrize("kind", ["search", "cross_validate", "l1"])
def test_a_splitter_of_groups_says_how_to_pass_them(data, cv, kind):
    """Case 10: "The 'groups' parameter should not be None." of a call that takes groups."""
    X, y = data
    call = {
        "search": BudgetCV(BudgetClassifier(), [1, 2], cv=cv).fit,
        "l1": L1ClassifierCV(cv=cv).fit,
        "cross_validate": partial(cross_validate, BudgetClassifier(2), cv=cv),
    }[kind]
    with pytest.raises(ValueError, match=r"cv=.* needs the group of every sample.*Pass groups="):
        call(X, y)


def test_accuracy_of_new_patients(data):
    """Labels that have nothing to do with X would be predicted, from other samples of a patient."""
    X, y = data
    model = BudgetClassifier(5, calibrate=False)
    leaky = cross_validate(model, X, y).mean[0]
    honest = cross_validate(model, X, y, groups=PATIENT).mean[0]
    assert leaky > 0.9
    assert honest < 0.7


SURVIVAL = np.array(
    [(i % 4 > 0, t) for i, t in enumerate(np.random.default_rng(1).exponential(size=N))],
    [("event", bool), ("time", float)],
)
NUMBERS = np.random.default_rng(2).standard_normal(N)
SEARCHES = {
    "auto": (BudgetClassifier("auto", calibrate=False), None),
    "auto-regressor": (BudgetRegressor("auto"), NUMBERS),
    "auto-survival": (BudgetSurvivalAnalysis("auto"), SURVIVAL),
    "auto-measure": (MeasureClassifier("f1", "auto"), None),
    "budget-cv": (BudgetCV(BudgetClassifier(calibrate=False), [1, 2]), None),
    "bilevel-cv": (BudgetCV(BudgetRegressor(feature_groups=np.arange(30) // 5), [2], [1, 2]),
                   NUMBERS),
    "l1": (L1ClassifierCV(5), None),
    "l1-regressor": (L1RegressorCV(5), NUMBERS),
    "l1-survival": (L1SurvivalAnalysisCV(5), SURVIVAL),
}  # fmt: skip


@pytest.mark.parametrize("name", SEARCHES)
def test_every_fit_that_makes_folds(data, seen, name):
    """A fit would hold out a sample and learn from another one of its patient."""
    X, y = data
    model, target = SEARCHES[name]
    sklearn.base.clone(model).fit(X, y if target is None else target, groups=PATIENT)
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0][1], CODE)


def test_every_function_that_makes_folds(data, seen):
    """A function would hold out a sample and learn from another one of its patient."""
    X, y = data
    model = BudgetClassifier(2, calibrate=False)
    nested_cross_validate(BudgetCV(model, [1, 2], cv=3), X, y, cv=3, groups=PATIENT)
    assert [groups.size < N for _, groups in seen] == [False, True, True, True]
    permutation_test(model, X, y, 1, cv=3, groups=PATIENT)
    assert len(seen) == 6
    substitutes(model.fit(X, y), X, y, n=1, cv=3, groups=PATIENT)
    assert len(seen) == 7


def test_weights_and_order_of_rows(data):
    """A search with groups would depend on the order of rows, or on how a weight is written."""
    X, y = data
    weight = np.random.default_rng(3).integers(0, 3, N)
    search = BudgetCV(BudgetClassifier(), [1, 2, 3], cv=4)
    one = sklearn.base.clone(search).fit(X, y, weight, groups=PATIENT)
    parts = [np.repeat(each, weight, axis=0) for each in (X, y, PATIENT)]
    order = np.random.default_rng(4).permutation(len(parts[1]))
    X, y, groups = (each[order] for each in parts)
    other = sklearn.base.clone(search).fit(X, y, groups=groups)
    np.testing.assert_allclose(one.validation_.scores, other.validation_.scores, rtol=1e-12)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-5, atol=1e-8)
    first, second = one.best_estimator_.path_[2], other.best_estimator_.path_[2]
    np.testing.assert_allclose(first.cv_log_loss, second.cv_log_loss, rtol=1e-5)


def test_calibration_holds_patients_out(data):
    """Probabilities of new patients would be as sure as those of patients that are known."""
    X, y = data
    plain = BudgetClassifier(5).fit(X, y).path_[5]
    honest = BudgetClassifier(5).fit(X, y, groups=PATIENT).path_[5]
    np.testing.assert_array_equal(plain.support, honest.support)
    assert plain.cv_log_loss < 0.6
    assert honest.cv_log_loss > 0.68
    assert honest.scale < plain.scale / 2


def test_folds_of_the_calibration():
    """A class in few groups would stop the fit, or leave a fold without it."""
    labels, groups = np.repeat([0, 0, 0, 1, 1], 4), np.repeat(np.arange(5), 4)
    number = fold_numbers_of_groups(groups, labels, np.ones(20))
    assert number.max() == 1
    assert all(np.unique(labels[number != f]).size == 2 for f in (0, 1))
    assert not fold_numbers_of_groups(labels, labels, np.ones(20)).any()


def test_a_class_in_one_group_is_not_calibrated(data):
    """There is nothing to learn from folds there: the fit ends without them."""
    X, y = data
    y = np.where(CODE == 0, 2, y)
    model = BudgetClassifier(2).fit(X, y, groups=PATIENT)
    assert model.path_[2].scale == 1.0


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        (PATIENT[1:], r"a label for every sample \(60\); got shape \(59,\)"),
        (PATIENT[:, None], r"got shape \(60, 1\)"),
        ("patient", "got 'patient'"),
        ([*CODE[:-1].astype(float), np.nan], "sample 59 has none"),
        ([*PATIENT[:-1], None], "sample 59 has none"),
        (pd.Series([*PATIENT[:-1], pd.NA]), "sample 59 has none"),
        (pd.Series(pd.to_datetime(["2020-01-01"] * 59 + [None])), "sample 59 has none"),
        (pd.Series([*PATIENT[:-1], 3]), "of one kind; got int and str"),
        ([1, [2, 3]], "got a ragged sequence"),
        (np.ma.masked_equal(CODE, 4), "groups must not have masked entries"),
        (np.zeros(N), "at least two groups"),
        (CODE // 5, r"cv must be between 2 and 4 \(the groups"),
    ],
)
def test_wrong_groups(data, groups, told):
    """Folds would be drawn from labels that are none, or from others than the user means."""
    X, _ = data
    with pytest.raises(ValueError, match=told):
        cross_validate(BudgetRegressor(2), X, NUMBERS, groups=groups)


@pytest.mark.parametrize(
    "groups",
    [
        list(PATIENT), pd.Series(PATIENT, index=np.arange(N)[::-1]), pd.Categorical(PATIENT),
        CODE + 0.5, CODE.astype(np.uint8),
        pd.to_datetime("2020-01-01") + pd.to_timedelta(CODE, "D"),
        pd.array(PATIENT, dtype="string"), [(f"{one}",)[0] for one in PATIENT], CODE * 10**15,
    ],
    ids=lambda groups: getattr(getattr(groups, "dtype", None), "name", "list"),
)  # fmt: skip
def test_labels_of_any_kind(data, seen, groups):
    """Labels that a data frame has would be refused, or cut patients."""
    X, y = data
    cross_validate(BudgetClassifier(2, calibrate=False), X, y, groups=groups)
    ((_, code),) = seen
    pairs = np.unique(np.column_stack([code, CODE]), axis=0)
    assert len(pairs) == CODE.max() + 1 == code.max() + 1


def test_classes_in_few_groups(data):
    """Folds that cannot have all classes in training would end in an error about columns."""
    X, y = data
    alone = np.where(CODE == 0, 2, y)
    with pytest.raises(ValueError, match="all samples of class 2 are in one"):
        cross_validate(BudgetClassifier(2), X, alone, groups=PATIENT)
    with pytest.raises(ValueError, match="1 group with a sample of class 2"):
        BudgetClassifier("auto").fit(X, alone, groups=PATIENT)
    three = np.where(CODE < 3, 2, y)
    told = r"cv must be between 2 and 3 \(the groups that have a sample of class 2\); got 5"
    with pytest.raises(ValueError, match=told):
        cross_validate(BudgetClassifier(2), X, three, groups=PATIENT)
    assert BudgetClassifier("auto").fit(X, three, groups=PATIENT).validation_.scores.shape[1] == 3


@pytest.mark.parametrize("cv", [KFold(3), list(KFold(3).split(np.zeros(N)))])
def test_folds_that_cut_a_group(data, cv):
    """Groups beside folds that cut them would be passed over."""
    X, y = data
    with pytest.raises(ValueError, match="cv must hold out the samples of a group together"):
        cross_validate(BudgetClassifier(2), X, y, cv=cv, groups=PATIENT)


def test_halves_of_patients(data, monkeypatch):
    """Both halves of a pair would have samples of one patient: they are not independent."""
    X, y = data
    pairs = half_samples(y, np.ones(N), 9, 0, CODE)
    apart(pairs, CODE)
    kinds = {tuple(np.unique(y[half], return_counts=True)[1]) for pair in pairs for half in pair}
    assert kinds == {(15, 15)}
    drawn = []

    def recorded(*given):
        found = half_samples(*given)
        if len(given) == 5:  # with the groups of the rows
            drawn.append(found)
        return found

    monkeypatch.setattr(
        "zeronorm.inference.stability.half_samples",
        recorded,
    )
    StabilitySelection(BudgetClassifier(2), 3).fit(X, y, groups=PATIENT)
    apart(drawn[0], CODE)
    StabilitySelection(BudgetRegressor(2), 3, screen=10).fit(X, NUMBERS, groups=PATIENT)
    apart(drawn[1], CODE)


def test_halves_of_mixed_patients():
    """Patients with samples of both classes have no stratum of their own: none is left out."""
    groups = np.repeat(np.arange(10), 4)
    y = np.tile([0, 1], 20)
    pairs = half_samples(y, np.ones(40), 5, 0, groups)
    assert all(half.size == 20 for pair in pairs for half in pair)
    with pytest.raises(ValueError, match=r"at least two groups of samples .* of every class"):
        half_samples((groups == 0).astype(int), np.ones(40), 5, 0, groups)
    with pytest.raises(ValueError, match="groups must be at least two"):
        half_samples(None, np.ones(40), 5, 0, np.zeros(40, np.int64))


def test_inference_from_other_patients(data):
    """Samples of a patient that chose would infer."""
    pytest.importorskip("statsmodels")
    X, y = data
    for target in (NUMBERS, y + 0.0):
        model = BudgetRegressor(2)
        found = split_inference(model, X, target, n_splits=4, groups=PATIENT, model="linear")
        apart([*zip(found.chosen_on, found.inferred_on, strict=True)], CODE)
        assert found.chosen_on[0].size == N // 2


def test_patients_are_exchanged(data):
    """Labels of single samples would be exchanged: p of classes of patients is then too small."""
    X, y = data
    model = BudgetClassifier(2, calibrate=False)
    alone = permutation_test(model, X, y, 19, cv=4)
    together = permutation_test(model, X, y, 19, cv=4, groups=PATIENT)
    assert alone.p_value[0] == 0.05
    assert together.p_value[0] > 0.1


def test_orders_of_groups():
    """A group would get labels of several groups, or the null would not be that of the groups."""
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(8), [1, 2, 2, 3, 3, 3, 4, 1]))
    order, alike = order_of_groups(groups, [groups % 2], rng)
    assert alike
    assert all(np.unique(groups[order][groups == g]).size == 1 for g in range(8))
    assert sorted({*groups[order]}) == list(range(8))
    of_row = np.arange(groups.size)
    order, alike = order_of_groups(groups, [of_row], rng)
    assert not alike
    assert sorted(order) == of_row.tolist()
    moved = groups[order]
    assert all(np.unique(moved[groups == g]).size == 1 for g in range(8))
    assert (np.bincount(groups)[moved] == np.bincount(groups)[groups]).all()
    seen = {tuple(order_of_groups(np.arange(3), [np.array([0, 1, 2])], rng)[0]) for _ in range(99)}
    assert len(seen) == 6


ROUTED = {
    "auto": BudgetClassifier("auto", method="greedy", calibrate=False),
    "search": BudgetCV(BudgetClassifier(calibrate=False), [1, 2], cv=3),
    "l1": L1ClassifierCV(5, cv=3),
}


@pytest.mark.parametrize("name", ROUTED)
@pytest.mark.parametrize("through", ["grid", "pipeline", "cross_validate", "all"])
def test_metadata_routing(data, seen, name, through):
    """Groups would not arrive, or not those of the rows, through scikit-learn's own tools."""
    X, y = data
    with sklearn.config_context(enable_metadata_routing=True):
        model = sklearn.base.clone(ROUTED[name]).set_fit_request(groups=True)
        if through == "pipeline":
            make_pipeline(StandardScaler(), model).fit(X, y, groups=PATIENT)
        elif through == "grid":
            grid = {"random_state": [0, 1]} if name != "auto" else {"C": [0.1, 1.0]}
            GridSearchCV(model, grid, cv=StratifiedGroupKFold(3)).fit(X, y, groups=PATIENT)
        else:
            inside = make_pipeline(StandardScaler(), model) if through == "all" else model
            sklearn.model_selection.cross_validate(
                inside,
                X,
                y,
                cv=StratifiedGroupKFold(3),
                params={"groups": PATIENT},
                error_score="raise",
            )
    inner = [groups for _, groups in seen]
    assert len(inner) == {"pipeline": 1, "grid": 7}.get(through, 3)
    assert [own.size < N for own in inner[:3]] == [through != "pipeline"] * len(inner[:3])
    assert all({*np.bincount(np.unique(own, return_inverse=True)[1])} == {PER} for own in inner)


def test_a_checkpoint_knows_its_groups(data, tmp_path):
    """A fit with other groups would go on from the answers of this one."""
    X, y = data
    search = BudgetCV(BudgetClassifier(checkpoint=tmp_path / "fit.checkpoint"), [1, 2])
    search.fit(X, y, groups=PATIENT)
    with pytest.raises(ValueError, match="groups differs"):
        search.fit(X, y, groups=np.arange(N) // 4)


def test_groups_do_not_change_a_fit_without_folds(data):
    """A fit of one size would depend on groups that it does not use."""
    X, y = data
    one = BudgetClassifier(3, calibrate=False).fit(X, y)
    other = BudgetClassifier(3, calibrate=False).fit(X, y, groups=PATIENT)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert zeronorm.estimators.folds.splits is splits
