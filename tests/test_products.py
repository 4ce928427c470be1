"""Products of features in pairs: columns that are never stored, and the search for the best."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from generators import gaussian, sparse
from test_designs import OPERATIONS, WRAPPERS
from test_genotypes import draw, write_plink
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    Interactions,
    cross_validate,
    prove,
    read_plink,
    verify,
)
from zeronorm.data import Rows, Scaled, as_design
from zeronorm.data import interactions as _factors
from zeronorm.data import interactions as _products
from zeronorm.data import (
    operations as _operations,
)
from zeronorm.data.interactions import Grid
from zeronorm.data.operations import center_scale, multiply, scan
from zeronorm.persistence import load, save

N, P = 41, 13
LABELS = np.array(list("abcabcabcabcd"))
LISTED = np.array([[3, 1], [0, 12], [5, 7], [7, 8]])
SETTINGS = {
    "all": {},
    "products alone": {"main_effects": False},
    "squares": {"squares": True},
    "within": {"within": LABELS},
    "listed": {"pairs": LISTED},
}
DATA = {
    "float64": lambda: gaussian(N, P),
    "float32": lambda: gaussian(N, P, dtype=np.float32),
    "int8": lambda: gaussian(N, P, dtype=np.int8),
    "bool": lambda: gaussian(N, P) > 0,
    "csc": lambda: sparse(N, P),
    "csr float32": lambda: sparse(N, P, dtype=np.float32, form="csr"),
}


def expected_pairs(settings):
    """The pairs of a setting, by loops."""
    if "pairs" in settings:
        return [tuple(pair) for pair in settings["pairs"]]
    least = 0 if settings.get("squares") else 1
    labels = settings.get("within", np.zeros(P, int))
    return [
        (a, b)
        for label in sorted(set(labels.tolist()))
        for a, b in itertools.product(range(P), repeat=2)
        if labels[a] == labels[b] == label and b >= a + least
    ]


def twin_of(X, settings, center=None):
    """The columns by NumPy, in float64."""
    x = np.asarray(X.toarray() if sp.issparse(X) else X).astype(np.float64)
    factors = x if center is None else x - center
    pairs = expected_pairs(settings)
    products = np.column_stack([factors[:, a] * factors[:, b] for a, b in pairs])
    return products if settings.get("main_effects") is False else np.hstack([x, products])


def binary(seed, n, p):
    """Balanced zeros and ones, and a target that is an exclusive or of two features."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, p)).astype(np.int8)
    a, b = np.sort(rng.choice(p, 2, replace=False))
    y = X[:, a] ^ X[:, b]
    return X, np.where(rng.random(n) < 0.05, 1 - y, y), (a, b)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("data", DATA.values(), ids=DATA.keys())
def test_every_operation(data, settings, monkeypatch):
    """A solver would see other columns than the products; tiles are small, so that they show."""
    monkeypatch.setattr(_factors, "ELEMENTS", 3 * N)
    monkeypatch.setattr(_factors, "SPARSE_TILE", 3)
    monkeypatch.setattr(_products, "BLOCK_BYTES", 8 * N * 3)
    monkeypatch.setattr(_products, "LEAST_BLOCK", 7)
    monkeypatch.setattr(_products, "MOST_BLOCK", 7)
    X = data()
    design = Interactions(X, **settings, n_threads=2)
    for name in ("plain", "standardized", "scaled rows"):
        wrap = WRAPPERS[name]
        wrapped, expected = wrap(design, twin_of(X, settings))
        gathered = expected - wrap(design, 0 * twin_of(X, settings))[1] if sp.issparse(X) else None
        for operation in OPERATIONS:
            operation(wrapped, expected, gathered)
    coef = np.random.default_rng(0).standard_normal(design.shape[1])
    assert np.allclose(multiply(design, coef), twin_of(X, settings) @ coef, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("center", ["mean", np.linspace(-1, 1, P)], ids=["mean", "numbers"])
@pytest.mark.parametrize("kind", ["float64", "float32", "int8"])
def test_centred_factors(kind, center):
    """Products would not be of centred features, or scans of other ones than are gathered."""
    X = DATA[kind]()
    design = Interactions(X, center=center)
    mean = X.astype(np.float64).mean(axis=0) if isinstance(center, str) else center
    assert np.allclose(design.center, mean, rtol=1e-14, atol=1e-14)
    columns = design.gather(slice(None))
    assert np.allclose(columns, twin_of(X, {}, mean), rtol=1e-6, atol=1e-6)
    for operation in OPERATIONS:
        operation(design, columns, None)


@pytest.mark.parametrize("data", DATA.values(), ids=DATA.keys())
def test_bits_depend_on_no_tile_and_no_thread(data, monkeypatch):
    """A fit could not be reproduced on another machine, or with other blocks."""
    X = data()
    rng = np.random.default_rng(0)
    v, weight = rng.standard_normal((N, 2)), rng.uniform(size=N)
    answers = []
    for elements, tile, threads in ((1 << 22, 512, 1), (3 * N, 4, 7), (20 * N, 5, 2)):
        monkeypatch.setattr(_factors, "ELEMENTS", elements)
        monkeypatch.setattr(_factors, "SPARSE_TILE", tile)
        design = Interactions(X, n_threads=threads)
        p = design.shape[1]
        parts = [design.correlate(v, j, min(j + 11, p)) for j in range(0, p, 11)]
        answers.append((np.vstack(parts), scan(design, v), *design.moments(weight, 0, p)))
    assert np.array_equal(answers[0][0], answers[0][1])
    for other in answers[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(answers[0], other, strict=True))


def test_numbers_of_pairs_are_exact_for_five_thousand_million():
    """A product of 100,000 features would be that of other features."""
    p = 100_001
    pairs = Grid.of(np.zeros(p, np.int64), squares=False)
    assert pairs.size == p * (p - 1) // 2 == 5_000_050_000
    rng = np.random.default_rng(0)
    a = rng.integers(0, p - 1, 10_000)
    b = rng.integers(a + 1, p)
    a, b = np.append(a, [0, p - 2, 0]), np.append(b, [1, p - 1, p - 1])
    number = np.array(
        [i * (2 * p - i - 1) // 2 + j - i - 1 for i, j in zip(a.tolist(), b.tolist(), strict=True)]
    )
    assert np.array_equal(pairs.number(a, b), number)
    assert np.array_equal(pairs.number(b, a), number)
    assert np.array_equal(np.column_stack(pairs.factors(number)), np.column_stack([a, b]))


def test_five_thousand_million_products_are_a_design():
    """Nothing of their number may be allocated before somebody asks for it."""
    X = np.broadcast_to(np.array([[0], [1], [1], [0]], np.int8), (4, 100_001))
    design = Interactions(X, main_effects=False)
    last = design.shape[1] - 1
    assert last == 5_000_050_000 - 1
    assert design.names([0, last]) == ["x0*x1", "x99999*x100000"]
    assert np.array_equal(design.gather(np.array([last]))[:, 0], [0, 1, 1, 0])
    assert np.array_equal(design.correlate(np.arange(4.0), last - 2, last + 1), [3.0] * 3)
    assert design.feature_names is None


def test_vectors_beyond_memory_are_refused_with_the_figure(monkeypatch):
    """The system would end the process in the middle of a fit."""
    X, y, _ = binary(0, 30, 40)
    monkeypatch.setattr(_operations, "machine_memory", lambda: 6 * 8 * 819.0)
    with pytest.raises(ValueError, match=r"X has 820 columns; .* Interactions.best"):
        BudgetClassifier(1, calibrate=False).fit(Interactions(X), y)
    monkeypatch.setattr(_operations, "machine_memory", lambda: 6 * 8 * 820.0)
    BudgetClassifier(1, calibrate=False).fit(Interactions(X), y)


def naive_best(X, settings, center, v, k, least=0.0):
    """The best products of the scores of all, in float64."""
    scores = twin_of(X, {**settings, "main_effects": False}, center).T @ v
    order = np.argsort(-np.abs(scores), kind="stable")[:k]
    return order[np.abs(scores[order]) >= least], scores


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("data", DATA.values(), ids=DATA.keys())
def test_best_is_that_of_all_scores(data, settings, monkeypatch):
    """A bound would leave out a product that is among the best."""
    monkeypatch.setattr(_factors, "ELEMENTS", 3 * N)
    monkeypatch.setattr(_factors, "SPARSE_TILE", 3)
    X = data()
    design = Interactions(X, **settings)
    main = 0 if settings.get("main_effects") is False else P
    for seed in range(2):
        v = np.random.default_rng(seed).standard_t(2, N)
        _, scores = naive_best(X, settings, None, v, 1)
        for k, least in ((1, 0.0), (3, 0.0), (500, 0.0), (500, float(np.abs(scores).max() / 2))):
            found = design.best(v, k, least=least)
            expected, _ = naive_best(X, settings, None, v, k, least)
            assert found.columns.size == expected.size
            assert np.allclose(found.scores, scores[found.columns - main], rtol=1e-4, atol=1e-4)
            assert np.allclose(np.abs(found.scores), np.abs(scores[expected]), rtol=1e-4, atol=1e-4)
            assert np.array_equal(found.pairs, design.factors(found.columns))


def test_best_leaves_out_what_cannot_be_among_the_best():
    """An exhaustive search would never stop early."""
    X, y, (a, b) = binary(0, 1200, 400)
    design = Interactions(X, center="mean")
    v = y - y.mean()
    alone = design.best(v, 1)
    assert alone.pairs.tolist() == [[a, b]]
    above = design.best(v, 10, least=0.7 * abs(alone.scores[0]))
    assert above.pairs.tolist() == [[a, b]]
    assert above.share < 0.75
    rng = np.random.default_rng(1)  # variants of all frequencies, and a large score of common ones
    rare = rng.random((1200, 3000)) < rng.uniform(0.001, 0.5, 3000) ** 2
    rare[:, 5] = rare[:, 9] = v > 0
    found = Interactions(rare).best(v, 3)
    assert found.pairs[0].tolist() == [5, 9]
    assert found.share < 0.5


def test_best_of_standardised_products():
    """The scores would not be n times the covariance over the deviation."""
    X = DATA["int8"]()
    X[:, 4] = 0
    v = np.random.default_rng(0).standard_normal(N)
    columns = twin_of(X, {"main_effects": False})
    deviation = columns.std(axis=0)
    varies = deviation > 0
    expected = np.zeros(len(varies))
    expected[varies] = ((v - v.mean()) @ columns)[varies] / deviation[varies]
    for settings in ({}, {"pairs": np.array(expected_pairs({}))}):
        found = Interactions(X, **settings).best(v, 5, standardize=True)
        order = np.argsort(-np.abs(expected), kind="stable")[:5]
        assert np.array_equal(found.columns - P, order)
        assert np.allclose(found.scores, expected[order], rtol=1e-4)


def test_an_exclusive_or_that_no_feature_shows():
    """The pair would be missed by a fit of all products, of raw or of centred features."""
    X, y, (a, b) = binary(3, 300, 60)
    centred = Interactions(X, center="mean")
    model = BudgetClassifier(1, calibrate=False).fit(centred, y)
    assert centred.factors(model.support_).tolist() == [[a, b]]
    assert model.certificate_.gap < 1e-3
    assert model.score(centred, y) > 0.9
    single = BudgetClassifier(1, calibrate=False).fit(X, y)
    assert single.score(X, y) < 0.65
    raw = Interactions(X)
    model = BudgetClassifier(3, calibrate=False).fit(raw, y)
    assert sorted(model.support_[:2].tolist()) == [a, b]
    assert raw.factors(model.support_[2:]).tolist() == [[a, b]]


@pytest.mark.slow
def test_an_exclusive_or_among_two_million_products():
    """The size of the guide: 500 samples, 2,000 features, all pairs."""
    X, y, (a, b) = binary(4, 500, 2000)
    design = Interactions(X, center="mean")
    assert design.best(y - y.mean(), 1).pairs.tolist() == [[a, b]]
    model = BudgetClassifier(1, calibrate=False).fit(design, y)
    assert design.factors(model.support_).tolist() == [[a, b]]


@pytest.mark.parametrize("kind", ["float64", "int8", "csc"])
def test_fits_and_proofs_are_those_of_the_stored_columns(kind):
    """A certificate of products would be of other columns."""
    X = DATA[kind]()
    settings = {"within": LABELS}
    design, stored = Interactions(X, **settings), twin_of(X, settings)
    stored = sp.csc_array(stored) if sp.issparse(X) else stored
    y = np.asarray(twin_of(X, settings)[:, [2, 20]] @ [2.0, -3.0])
    y += 0.1 * np.random.default_rng(0).standard_normal(N)
    ours, theirs = (BudgetRegressor(2).fit(x, y) for x in (design, stored))
    assert np.array_equal(ours.support_, theirs.support_)
    assert np.allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)
    assert ours.certificate_.bound == pytest.approx(theirs.certificate_.bound, rel=1e-4)
    proof = prove(ours, design, y, gap=0)
    assert proof.certificate.proven
    verify(proof.certificate, design, y)
    verify(proof.certificate, stored, y, rtol=1e-5)
    scores = [cross_validate(BudgetRegressor([1, 2]), x, y).mean for x in (design, stored)]
    assert np.allclose(*scores, rtol=1e-5)


def test_models_predict_on_new_rows_and_keep_names(tmp_path):
    """A saved model would multiply other columns, or centre them by the new rows."""
    pd = pytest.importorskip("pandas")
    X, y, (a, b) = binary(5, 200, 20)
    names = [f"HLA*{j:02d}" if j % 2 else f"g{j}" for j in range(20)]
    design = Interactions(pd.DataFrame(X, columns=names), center="mean")
    model = BudgetClassifier(2, calibrate=False).fit(design, y)
    new = binary(6, 30, 20)[0]
    later = design.on(pd.DataFrame(new, columns=names))
    z = ((new - design.center)[:, [a]] * (new - design.center)[:, [b]])[:, 0]
    place = int(np.flatnonzero((design.factors(model.support_) == [a, b]).all(axis=1))[0])
    assert np.allclose(later.gather(model.support_)[:, place], z, atol=1e-6)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert list(loaded.feature_names) == design.names(model.support_)
    assert np.array_equal(loaded.predict(later), model.predict(later))
    assert np.array_equal(model.predict(design.on(new)), model.predict(later))
    with pytest.raises(ValueError, match="must have the columns that fit has seen"):
        design.on(pd.DataFrame(new, columns=names[::-1]))
    with pytest.raises(ValueError, match="must have the 20 features that these products are of"):
        design.on(new[:, :19])
    with pytest.raises(ValueError, match="must not be sparse where products are centred"):
        design.on(sp.csc_array(new))


def test_names_are_distinct_whatever_features_are_called():
    """A model file would name two products alike."""
    names = ["a", "b", "c", "a*b", "b*c", '"a', 'a"', "(a"]
    design = Interactions(gaussian(9, 8), names=names)
    assert design.feature_names[:4] == ["a", "b", "c", '"a*b"']
    assert design.feature_names[8] == "a*b"
    assert len(set(design.feature_names)) == design.shape[1] == 36
    assert Interactions(gaussian(9, 3)).feature_names is None
    assert Interactions(design, pairs=[[0, 8]], main_effects=False).feature_names == ['a*"a*b"']


def test_genotypes(tmp_path):
    """Epistasis would need decoded genotypes, or miss that a missing one is the mean."""
    copies = draw(120, 30)
    y = (copies[:, 3] > 0) ^ (copies[:, 17] > 0)
    genotypes = read_plink(write_plink(tmp_path / "x", copies))
    decoded = genotypes.X.gather(slice(None))
    design = Interactions(genotypes.X, center="mean")
    columns = design.gather(slice(None))
    assert np.allclose(columns, twin_decoded(decoded), atol=1e-5)
    for operation in OPERATIONS:
        operation(design, columns, None)
    best = design.best(y - y.mean(), 1)
    scores = columns[:, 30:].T @ (y - y.mean())
    assert best.columns[0] == 30 + np.abs(scores).argmax()
    first, second = genotypes.X.feature_names[:2]
    assert design.names([30]) == [f"{first}*{second}"]


def twin_decoded(x):
    """Features and products of centred features."""
    centred = x - x.mean(axis=0)
    pairs = itertools.combinations(range(x.shape[1]), 2)
    return np.column_stack([x, *(centred[:, a] * centred[:, b] for a, b in pairs)])


def test_tiny_and_huge_factors_are_multiplied_in_float64():
    """A product of float32 numbers below the range of float32 would have the score 0."""
    X = gaussian(N, 6, dtype=np.float32)
    X[:, :2] *= np.float32(1e-28)
    design = Interactions(X, main_effects=False)
    v = np.random.default_rng(0).standard_normal(N)
    assert np.allclose(scan(design, v), design.gather(slice(None)).T @ v, rtol=1e-9, atol=0)


def test_constant_and_nonfinite_products():
    """A constant product would be divided by its deviation, NaN would be a score."""
    X = np.column_stack([binary(0, N, 3)[0], np.ones(N), np.zeros(N)])
    scaled = center_scale(Interactions(X), np.ones(N), center=True)
    assert (scaled.scale == 0).tolist() == [
        *[False] * 3, True, True, False, False, False, True, False, False, True, False, True, True,
    ]  # fmt: skip
    y = X[:, 0] + X[:, 1]
    for bad in (np.nan, np.inf):
        Z = X.copy()
        Z[4, 2] = bad
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
            BudgetRegressor(2).fit(Interactions(Z), y)
        with pytest.raises(ValueError, match="scores of products must be finite"):
            Interactions(Z).best(y, 2)


WRONG = [
    ({"degree": 3}, ValueError, "degree must be 2; got 3"),
    ({"degree": True}, ValueError, "degree must be 2; got True"),
    ({"pairs": [[0, 0]]}, ValueError, r"two different features; got \[0, 0\] in row 0"),
    ({"pairs": [[0, 1], [0, 13]]}, ValueError, r"from 0 to 12; got \[0, 13\] in row 1"),
    ({"pairs": [[-1, 1]]}, ValueError, "from 0 to 12"),
    ({"pairs": [[0, 1], [1, 0]]}, ValueError, r"distinct, in either order; got \[1, 0\] again"),
    ({"pairs": [[0.0, 1.0]]}, TypeError, "pairs must be integers"),
    ({"pairs": [0, 1]}, ValueError, r"pairs must be \(m, 2\)"),
    ({"pairs": np.empty((0, 2), int)}, ValueError, "at least one pair"),
    ({"pairs": [[0, 1]], "within": LABELS}, ValueError, "cannot both be given"),
    ({"within": LABELS[:4]}, ValueError, "one label for each of 13 features"),
    ({"within": np.arange(13)}, ValueError, "alone in its group"),
    ({"within": [np.nan] * 13}, ValueError, "got NaN or infinity"),
    ({"center": "median"}, ValueError, "center must be None"),
    ({"center": np.full(13, np.nan)}, ValueError, "13 finite numbers"),
    ({"names": ["a"] * 13}, ValueError, "names must be distinct"),
    ({"names": ["a"]}, ValueError, "names must be 13 strings"),
    ({"squares": 1}, TypeError, "squares must be True or False"),
]


@pytest.mark.parametrize(("settings", "error", "text"), WRONG)
def test_wrong_settings(settings, error, text):
    """Other products than the user means would be formed."""
    with pytest.raises(error, match=text):
        Interactions(gaussian(N, P), **settings)


def test_wrong_data_and_searches():
    """Scaled designs have other errors than certificates count; sparse data are not centred."""
    design = as_design(gaussian(N, P))
    with pytest.raises(TypeError, match="X must be data as they are; got a Scaled design"):
        Interactions(Rows(Scaled(design, None, np.ones(P)), np.arange(9)))
    with pytest.raises(ValueError, match="center must be None where X is sparse"):
        Interactions(sparse(N, P), center="mean")
    with pytest.raises(ValueError, match="at least two features"):
        Interactions(gaussian(N, 1))
    products = Interactions(Rows(design, np.arange(9)))
    assert products.shape == (9, P + P * (P - 1) // 2)
    for v, k, settings, text in (
        (np.ones(8), 1, {}, "v must be 9 finite numbers"),
        (np.full(9, np.nan), 1, {}, "v must be 9 finite numbers"),
        (np.ones(9), 0, {}, "k must be at least 1"),
        (np.ones(9), 1, {"least": -1.0}, "least must be a finite number"),
        (np.ones(9), 1, {"least": np.nan}, "least must be a finite number"),
    ):
        with pytest.raises(ValueError, match=text):
            products.best(v, k, **settings)
    with pytest.raises(TypeError, match="k must be an integer"):
        products.best(np.ones(9), 1.5)
