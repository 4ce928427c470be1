"""All models near the best one: the list is that of enumeration, or says what it lacks."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import KFold

import zeronorm
from golub import load_golub
from zeronorm import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis
from zeronorm.core.results import Status
from zeronorm.data.gathered import gather
from zeronorm.inspection.alternatives import NearOptimal, near_optimal
from zeronorm.inspection.replacements import substitutes
from zeronorm.solvers import branch_and_bound
from zeronorm.solvers.ridge_fits import signed_ridge

N, M, K = 30, 8, 2
PLAIN = {"calibrate": False}


def drawn(seed: int, n: int = N, m: int = M) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated columns, of which many sets do nearly the same, and a signal."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m)) + rng.standard_normal((n, 1))
    return X, X[:, :4] @ np.array([1.0, -0.8, 0.6, 0.4]) + rng.standard_normal(n)


def classes(signal: np.ndarray, many: int) -> np.ndarray:
    """Return classes of about equal size, in order of the signal."""
    return np.searchsorted(np.quantile(signal, np.linspace(0, 1, many + 1)[1:-1]), signal)


def times(signal: np.ndarray) -> np.ndarray:
    """Return survival times, two thirds of them events."""
    y = np.empty(signal.size, [("event", bool), ("time", float)])
    y["event"], y["time"] = np.arange(signal.size) % 3 > 0, np.round(np.exp(-signal) + 0.1, 1)
    return y


PROBLEMS = {
    "logistic": (BudgetClassifier(**PLAIN), lambda s: classes(s, 2)),
    "squared_hinge": (BudgetClassifier(**PLAIN, loss="squared_hinge"), lambda s: classes(s, 2)),
    "ordinal": (BudgetClassifier(**PLAIN, loss="ordinal"), lambda s: classes(s, 3)),
    "multinomial": (BudgetClassifier(**PLAIN), lambda s: classes(s, 3)),
    "least_squares": (BudgetRegressor(), lambda s: s),
    "huber": (BudgetRegressor(loss="huber"), lambda s: s),
    "quantile": (BudgetRegressor(loss="quantile"), lambda s: s),
    "poisson": (BudgetRegressor(loss="poisson"), lambda s: np.floor(np.exp(0.5 * s))),
    "gamma": (BudgetRegressor(loss="gamma"), lambda s: np.exp(0.3 * s)),
    "responses": (BudgetRegressor(), lambda s: np.column_stack([s, np.roll(s, 1)])),
    "cox": (BudgetSurvivalAnalysis(), times),
    "forced": (BudgetClassifier(**PLAIN, forced_features=[5]), lambda s: classes(s, 2)),
    "signs": (BudgetClassifier(**PLAIN, signs=1), lambda s: classes(s, 2)),
    "covariates": (BudgetClassifier(**PLAIN, covariates=[7]), lambda s: classes(s, 2)),
    "weights": (BudgetClassifier(**PLAIN, class_weight={0: 3.0, 1: 1.0}), lambda s: classes(s, 2)),
    "raw": (
        BudgetClassifier(**PLAIN, standardize=False, fit_intercept=False),
        lambda s: classes(s, 2),
    ),
}


OFTEN = ("logistic", "least_squares", "multinomial", "cox", "forced", "signs", "covariates")


def enumerated(
    estimator: Any, X: np.ndarray, y: np.ndarray, k: int
) -> dict[tuple[int, ...], float]:
    """Return the objective of every support, each fitted by itself."""
    poser = clone(estimator).set_params(n_features=k)
    problem = poser._pose(poser._read(X, y, None), (k,))
    (task,) = problem.tasks
    risk, forced = task.risk(problem.C), set(task.features(task.forced).tolist())
    choice = [j for j in range(X.shape[1]) if j not in task.covariates]
    found = {}
    for support in combinations(choice, k):
        if forced <= set(support):
            columns = task.columns(np.array(support))
            Z = gather(task.design, columns)
            fit = signed_ridge(Z, risk, task.signs[columns], tol=1e-12, of_value=True)
            found[support] = fit.objective
    return found


def as_dict(near: NearOptimal) -> dict[tuple[int, ...], float]:
    """Return the objectives by support."""
    supports = [tuple(support) for support in near.supports.tolist()]
    assert all(sorted(set(support)) == list(support) for support in supports)
    return dict(zip(supports, near.objectives.tolist(), strict=True))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_list_is_that_of_enumeration(name: str) -> None:
    """A model near the best one would be missing, or one that is not would be listed."""
    estimator, target = PROBLEMS[name]
    X, signal = drawn(3)
    y = target(signal)
    if name == "raw":
        X = X * np.linspace(0.5, 1.5, M)
    every = enumerated(estimator, X, y, K)
    best = min(every.values())
    counts = []
    for within in (0.0, 0.02, 0.4):
        near = near_optimal(X, y, K, within=within, problem=estimator, n_threads=1)
        assert isinstance(near, NearOptimal)
        limit = (1 + within + 1e-9) * best
        wanted = {support: value for support, value in every.items() if value <= limit}
        assert near.complete
        assert near.complete_within == within
        found = as_dict(near)
        assert set(found) == set(wanted)
        assert all(found[one] == pytest.approx(wanted[one], rel=1e-8) for one in wanted)
        assert np.all(np.diff(near.objectives) >= 0)
        assert near.bound >= (1 + within) * best
        rest = [value for support, value in every.items() if support not in wanted]
        assert min(rest, default=np.inf) >= near.bound * (1 - 1e-9)
        counts.append(len(near))
    assert counts[0] < counts[-1]  # else the case would be one of a single model


def one(near: Any) -> NearOptimal:
    """Return the answer for one problem."""
    assert isinstance(near, NearOptimal)
    return near


def many(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a problem with some hundred models of four features within 5 %."""
    X, signal = drawn(seed, n=40, m=12)
    return X, classes(signal, 2)


def test_what_an_incomplete_list_says_is_true() -> None:
    """A list that was cut short would pass for a complete one, or its bound not hold."""
    X, y = many()
    every = enumerated(BudgetClassifier(), X, y, 4)
    values = np.sort(list(every.values()))
    assert (values <= 1.05 * values[0]).sum() > 20
    whole = one(near_optimal(X, y, 4, within=0.05, n_threads=1))
    assert whole.complete
    most = one(near_optimal(X, y, 4, within=0.05, limit=8, n_threads=1))
    assert (len(most), most.status, most.complete) == (8, Status.LIMIT, False)
    np.testing.assert_allclose(most.objectives, values[:8], rtol=1e-8)
    np.testing.assert_array_equal(most.supports, whole.supports[:8])
    assert most.bound == pytest.approx(values[8], rel=1e-8)
    assert most.complete_within == pytest.approx(values[8] / values[0] - 1, rel=1e-6)
    exactly = one(near_optimal(X, y, 4, within=0.05, limit=len(whole), n_threads=1))
    assert exactly.complete


@pytest.mark.parametrize("n_nodes", [1, 5, 20])
def test_an_interrupted_search_says_how_far_it_is_complete(n_nodes: int, monkeypatch: Any) -> None:
    """What was found before Ctrl-C would be lost, or a model below the bound be missing."""
    X, y = many(1)
    every = enumerated(BudgetClassifier(), X, y, 4)
    examine = branch_and_bound.BranchAndBound._examine

    def interrupted(search: Any, *arguments: Any) -> None:
        if search.n_nodes >= n_nodes:
            raise KeyboardInterrupt
        examine(search, *arguments)

    monkeypatch.setattr(branch_and_bound.BranchAndBound, "_examine", interrupted)
    near = one(near_optimal(X, y, 4, within=0.05, n_threads=1))
    assert near.status is Status.INTERRUPTED
    assert not near.complete
    found = as_dict(near)
    assert all(support in found for support, value in every.items() if value < near.bound)
    assert all(found[support] == pytest.approx(every[support], rel=1e-8) for support in found)
    assert 0 <= near.complete_within < 0.05
    assert "complete within" in repr(near)


def test_equal_columns_are_ties() -> None:
    """One of two features that are the same would be missing from the list."""
    X, y = many(2)
    best = one(near_optimal(X, y, 3, within=0.0)).supports
    assert len(best) == 1
    twice = np.column_stack([X, -X[:, best[0, 1]]])
    near = one(near_optimal(twice, y, 3, within=0.0))
    assert near.complete
    with_twin = np.sort([best[0, 0], best[0, 2], X.shape[1]])
    assert sorted(near.supports.tolist()) == sorted([best[0].tolist(), with_twin.tolist()])
    assert set(near.in_some) == {best[0, 1], X.shape[1]}


def test_features_in_all_in_some_and_in_none() -> None:
    """A feature would be called needed that is not, or the other way round."""
    X, y = many()
    near = one(near_optimal(X, y, 4, within=0.02, cost=np.arange(12.0)))
    sets = [set(support) for support in near.supports.tolist()]
    assert set(near.in_all.tolist()) == set.intersection(*sets)
    assert set(near.in_some.tolist()) == set.union(*sets) - set.intersection(*sets)
    assert set(near.in_none.tolist()) == set(near.candidates.tolist()) - set.union(*sets)
    assert near.costs is not None
    np.testing.assert_array_equal(near.costs, near.supports.sum(axis=1))
    assert near.costs[near.cheapest] == near.costs.min()
    for feature in range(12):
        place = near.best_without(feature)
        without = [i for i, support in enumerate(sets) if feature not in support]
        assert place == (without[0] if without else None)
    with pytest.raises(ValueError, match="told cost"):
        _ = one(near_optimal(X, y, 4)).cheapest


def test_groups_have_their_labels() -> None:
    """Supports of groups would be numbers that nobody knows."""
    X, y = many(3)
    labels = np.array([f"g{j // 2}" for j in range(12)])
    estimator = BudgetClassifier(feature_groups=labels, n_groups=2)
    near = one(near_optimal(X, y, 2, within=0.1, problem=estimator, cost=np.ones(12)))
    assert near.complete
    assert len(near) > 1
    assert near.costs is not None
    assert set(near.costs) == {4.0}
    values = {}
    for pair in combinations(np.unique(labels), 2):
        support = np.flatnonzero(np.isin(labels, pair))
        certificate = zeronorm.certify(support, X, y, feature_groups=labels)
        assert not isinstance(certificate, list)
        values[pair] = certificate.objective
    best = min(values.values())
    assert set(as_dict(near)) == {pair for pair, value in values.items() if value <= 1.1 * best}


@pytest.mark.parametrize("storage", [np.float32, np.int8, sp.csc_matrix, sp.csr_matrix])
def test_storages_have_the_same_models(storage: Any) -> None:
    """Rounding of scans would rule out a model."""
    X, y = many(4)
    X = np.rint(3 * X[:, :10])
    dense = one(near_optimal(X, y, 3, within=0.1, standardize=False))
    stored = X.astype(storage) if storage in (np.float32, np.int8) else storage(X)
    other = one(near_optimal(stored, y, 3, within=0.1, standardize=False))
    assert set(as_dict(other)) == set(as_dict(dense))
    assert len(dense) > 1


def test_one_feature_all_features_and_several_classes() -> None:
    """The ends of the range of k, and lists of answers, would fail."""
    X, y = many()
    single = one(near_optimal(X, y, 1, within=0.5))
    every = enumerated(BudgetClassifier(), X, y, 1)
    assert len(single) == sum(value <= 1.5 * min(every.values()) for value in every.values())
    whole = one(near_optimal(X[:, :5], y, 5, within=0.5))
    assert whole.supports.tolist() == [[0, 1, 2, 3, 4]]
    assert whole.complete
    three = classes(X @ np.ones(12), 3)
    found = near_optimal(X, three, 2, problem=BudgetClassifier(multi_class="ovr"))
    assert isinstance(found, list)
    for label, near in enumerate(found):
        alone = one(near_optimal(X, three == label, 2))
        assert as_dict(near) == pytest.approx(as_dict(alone))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 2.5}, "k must be an integer"),
        ({"k": [2, 3]}, "k must be an integer"),
        ({"k": 13}, "k must be between 1 and 12"),
        ({"k": 1, "forced_features": [0, 1]}, "k counts the forced features"),
        ({"within": -0.1}, "within must be"),
        ({"within": "1%"}, "within must be"),
        ({"limit": 0}, "limit must be"),
        ({"time_limit": 0.0}, "time_limit must be"),
        ({"cost": np.ones(3)}, "cost must have one number for every column"),
        ({"cost": -np.ones(12)}, "cost must be finite"),
        ({"C": np.inf}, "C must be"),
        ({"problem": BudgetClassifier}, "problem must be a BudgetClassifier"),
        ({"problem": zeronorm.L1Classifier()}, "problem must be a BudgetClassifier"),
        ({"problem": BudgetClassifier(n_features=3, method="bilevel")}, "few groups no bound"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    """A mistake would end in an error from deep inside, or in an answer to another question."""
    X, y = many()
    with pytest.raises(ValueError, match=message):
        near_optimal(X, y, **{"k": 3, **options})


# ------------------------------------------------------------------------------- substitutes


@pytest.mark.parametrize("name", OFTEN)
def test_substitutes_are_those_of_all_exchanges(name: str) -> None:
    """A better substitute would be missing, or its cost be wrong."""
    estimator, target = PROBLEMS[name]
    X, signal = drawn(5)
    y = target(signal)
    fitted = clone(estimator).set_params(n_features=K).fit(X, y)
    own = clone(estimator).set_params(C=fitted.C_)
    every, fewer = (enumerated(own, X, y, k) for k in (K, K - 1))
    support, forced = fitted.support_.tolist(), set(estimator.forced_features or ())
    value = every[tuple(support)]
    found = substitutes(fitted, X, y, n=2, within=0.05, n_threads=1)
    assert [place.feature for place in found] == [j for j in support if j not in forced]
    for place in found:
        kept = [j for j in support if j != place.feature]
        assert place.without == pytest.approx(fewer[tuple(kept)] / value - 1, rel=1e-7)
        swaps = {
            i: every[tuple(sorted([*kept, i]))] / value - 1
            for i in range(M)
            if i not in support and tuple(sorted([*kept, i])) in every
        }
        cutoff = max(0.05, sorted(swaps.values())[1]) + 1e-9
        assert place.proven
        wanted = {i: cost for i, cost in swaps.items() if cost <= cutoff}
        assert dict(zip(place.features.tolist(), place.costs.tolist(), strict=True)) == (
            pytest.approx(wanted, rel=1e-6, abs=1e-9)
        )
        assert np.all(np.diff(place.costs) >= 0)
        assert place.exchangeable[0] == place.feature
        assert set(place.exchangeable[1:]) == {i for i, c in swaps.items() if c <= 0.05}
        assert place.loo_losses.size == 2
        assert place.loo_loss == pytest.approx(fitted.path_[K].loo_loss, rel=1e-5)


@pytest.mark.filterwarnings("ignore:.*with these signs only")
@pytest.mark.parametrize("name", OFTEN)
def test_substitutes_in_folds_are_those_of_fits_by_hand(name: str) -> None:
    """The score would be of another model, or of rows that it was fitted on."""
    estimator, target = PROBLEMS[name]
    if name != "logistic":  # which chooses C in every fold
        estimator = clone(estimator).set_params(C=1.0)
    X, signal = drawn(5, n=45)
    y = target(signal)
    fitted = clone(estimator).set_params(n_features=K).fit(X, y)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    found = substitutes(fitted, X, y, n=2, cv=folds)
    beside = list(estimator.covariates or ())

    def scores(chosen: list[int]) -> np.ndarray:
        """Fit these features alone, in every fold."""
        columns = [*chosen, *beside]
        model = clone(estimator).set_params(n_features=len(chosen), forced_features=None)
        if beside:
            model.set_params(covariates=[len(chosen)])
        if "calibrate" in model.get_params():
            model.set_params(calibrate=False)
        return np.array(
            [
                model.fit(X[train][:, columns], y[train]).score(X[test][:, columns], y[test])
                for train, test in folds
            ]
        )

    support = fitted.support_.tolist()
    own = scores(support)
    for place in found:
        kept = [j for j in support if j != place.feature]
        rows = [scores(kept), *(scores([*kept, int(i)]) for i in place.features[:2])]
        assert place.score == pytest.approx(own.mean(), abs=1e-6)
        errors = [(row - own).std(ddof=1) / np.sqrt(3) for row in rows]
        got = [place.score_without, *place.scores]
        assert got == pytest.approx([row.mean() for row in rows], abs=1e-6)
        assert [place.error_without, *place.errors] == pytest.approx(errors, abs=1e-6)


def test_substitutes_in_folds_where_the_model_has_no_final_fit() -> None:
    """A model for a measure has no C of a final fit, and ended in an error of an attribute."""
    X, y = load_golub(return_X_y=True)
    model = zeronorm.MeasureClassifier("f1", 2, pos_label="AML").fit(X[:, :50], y)
    places = substitutes(model, X[:, :50], y, n=1, cv=3)
    plain = BudgetClassifier(2, calibrate=False)
    same = substitutes(model.support_, X[:, :50], y, problem=plain, n=1, cv=3, scoring="roc_auc")
    by_auc = substitutes(model, X[:, :50], y, n=1, cv=3, scoring="roc_auc")
    assert [one.feature for one in places] == model.support_.tolist()
    assert by_auc[0].score == pytest.approx(same[0].score)
    assert places[0].score > 0.5


def test_features_in_few_groups_have_no_substitutes() -> None:
    """Two features of a group would be compared with all of another group."""
    X, y = load_golub(return_X_y=True)
    groups = np.arange(50) % 10
    model = BudgetClassifier(3, n_groups=2, feature_groups=groups).fit(X[:, :50], y)
    with pytest.raises(ValueError, match="one of features in few groups has no substitutes"):
        substitutes(model, X[:, :50], y)
    assert len(substitutes(model.support_, X[:, :50], y)) == 3


def test_substitutes_in_folds_of_groups_and_of_classes() -> None:
    """Features of a group would be missing, or the models of other classes change."""
    X, y = many()
    labels = np.array([f"g{j // 2}" for j in range(12)])
    grouped = BudgetClassifier(feature_groups=labels, n_groups=2, calibrate=False).fit(X, y)
    place = substitutes(grouped, X, y, n=1, cv=4, scoring="neg_log_loss")[0]
    same = substitutes(
        grouped.support_, X, y, feature_groups=labels, n=1, cv=4, scoring="neg_log_loss"
    )[0]
    assert (place.score, place.scores) == (same.score, same.scores)
    names = [*(set(grouped.groups_) - {place.feature}), place.features[0]]
    part = np.flatnonzero(np.isin(labels, names))
    alone = BudgetClassifier(feature_groups=labels[part], n_groups=2)
    expected = zeronorm.cross_validate(alone, X[:, part], y, cv=4, scoring="neg_log_loss")
    assert place.scores[0] == pytest.approx(expected.mean[0], rel=1e-5)
    three = classes(X @ np.ones(12), 3)
    each = substitutes(
        BudgetClassifier(2, multi_class="ovr", **PLAIN).fit(X, three), X, three, n=1, cv=3
    )
    assert len({row.score for rows in each for row in rows}) == 1
    plain = substitutes(grouped, X, y, n=1)[0]
    assert np.isnan(plain.score)
    assert not plain.scores.size


def test_substitutes_of_a_problem_with_many_features_are_proven() -> None:
    """Bounds would leave out a substitute that is better than those listed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 120)).astype(np.float32)
    X[:, 60:] += X[:, :60]
    y = classes(X[:, :5] @ np.ones(5) + rng.standard_normal(50), 2)
    fitted = BudgetClassifier(4, **PLAIN).fit(X, y)
    poser = BudgetClassifier(4, **PLAIN)
    problem = poser._pose(poser._read(X, y, None), (4,))
    risk, task = problem.tasks[0].risk(problem.C), problem.tasks[0]
    Z = gather(task.design, np.arange(120))
    value = fitted.certificate_.objective
    found = substitutes(fitted, X, y, n=7, within=0.0)
    for place in found:
        kept = fitted.support_[fitted.support_ != place.feature]
        costs = {
            i: signed_ridge(
                Z, risk, task.signs[:4], columns=np.sort(np.append(kept, i)), tol=1e-12,
                of_value=True,
            ).objective / value - 1
            for i in range(120) if i not in fitted.support_
        }  # fmt: skip
        best = sorted(costs, key=costs.__getitem__)[:7]
        assert place.proven
        assert place.features[:7].tolist() == best
    cut = substitutes(fitted, X, y, n=7, within=0.0, max_fits=1)
    assert not any(place.proven for place in cut)
    assert all(set(a.features) <= set(range(120)) for a in cut)


def test_substitutes_of_one_feature_of_groups_and_of_classes() -> None:
    """A model of one feature has none without it; groups and classes have answers of their own."""
    X, y = many()
    (single,) = substitutes(BudgetClassifier(1, **PLAIN).fit(X, y), X, y)
    assert single.proven
    assert single.without > 0
    labels = np.array([f"g{j // 2}" for j in range(12)])
    grouped = BudgetClassifier(feature_groups=labels, n_groups=2, **PLAIN).fit(X, y)
    found = substitutes(grouped, X, y)
    assert [place.feature for place in found] == sorted(set(labels[grouped.support_]))
    for place in found:
        best = np.isin(labels, [place.features[0], *set(grouped.groups_) - {place.feature}])
        certificate = zeronorm.certify(np.flatnonzero(best), X, y, feature_groups=labels)
        cost = certificate.objective / grouped.certificate_.objective - 1
        assert place.costs[0] == pytest.approx(cost, rel=1e-6, abs=1e-9)
    three = classes(X @ np.ones(12), 3)
    each = substitutes(BudgetClassifier(2, multi_class="ovr", **PLAIN).fit(X, three), X, three)
    assert [len(one) for one in each] == [2, 2, 2]
    assert "proven=True" in repr(each[0][0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be"),
        ({"within": np.nan}, "within"),
        ({"max_fits": 0}, "max_fits must"),
        ({"cv": 1}, "cv must be between 2"),
        ({"cv": 3, "scoring": "r3"}, "r3"),
    ],
)
def test_bad_input_for_substitutes_is_refused(options: dict[str, Any], message: str) -> None:
    """A mistake would end in an error from deep inside."""
    X, y = many()
    with pytest.raises(ValueError, match=message):
        substitutes([0, 1], X, y, **options)


def test_parameters_state_the_problem():
    """A parameter that the estimator has, or one that none has, would be left out silently."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    y = X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(40)
    model = BudgetRegressor(2, C=1.0).fit(X, y)
    others = {"C": 0.3, "covariates": [5], "standardize": False}
    stated = BudgetRegressor(2, **others)
    expected = zeronorm.certify(model, X, y, problem=stated)
    found = zeronorm.certify(model, X, y, **others, n_threads=1)
    assert (found.C, found.scaling, found.covariates.tolist()) == (0.3, "none", [5])
    assert (found.objective, found.bound) == (expected.objective, expected.bound)
    assert near_optimal(X, y, 2, problem=BudgetRegressor(), **others).objectives[0] > 0
    assert substitutes(model, X, y, C=0.3)[0].without > 0
    calls = (
        lambda: zeronorm.certify(model, X, y, ridge=1.0),
        lambda: zeronorm.prove(model, X, y, ridge=1.0),
        lambda: near_optimal(X, y > 0, 2, ridge=1.0),
        lambda: substitutes(model, X, y, ridge=1.0),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"those of Budget\w+, such as C, .*; got ridge\."):
            call()


@pytest.mark.parametrize("given", [{"n_features": 3}, {"n_groups": 1}, {"method": "greedy"}])
def test_parameters_of_the_search_are_refused(given):
    """The size of a support, or the search for it, would be left out silently."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    for call, model in ((zeronorm.certify, [0]), (zeronorm.prove, [0]), (substitutes, [0])):
        with pytest.raises(ValueError, match=f"{next(iter(given))} must not be given"):
            call(model, X, X[:, 0], **given)
    with pytest.raises(ValueError, match="size of the supports is known; got"):
        near_optimal(X, X[:, 0], 2, **given)
