"""Gathered columns against plain NumPy, and designs that others write."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import zeronorm
from conftest import slow
from zeronorm import BudgetClassifier, L1Classifier
from zeronorm.core.parallel import solver_threads
from zeronorm.core.types import Design, Wrapper
from zeronorm.data import Rows, Scaled, as_design
from zeronorm.data.gathered import (
    BLOCK_ROWS,
    FLOAT32_GRAM,
    GatheredColumns,
    GrowingColumns,
    as_columns,
    gather,
)
from zeronorm.published import (
    BilevelClassifier,
    BilevelRegressor,
    GreedyLogisticRegression,
    L0LogisticRegression,
)
from zeronorm.solvers import Task, run_together
from zeronorm.solvers.minimax import CuttingPlane, cutting_plane

N, P = 50, 7
NONE = np.empty(0, np.int64)


def wide_indices(x):
    x = sp.csc_array(x)
    x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    return x


FORMS = {
    "fortran": np.asfortranarray,
    "c": np.ascontiguousarray,
    "strided": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "csc": sp.csc_array,
    "csc64": wide_indices,
}
each_form = pytest.mark.parametrize("form", list(FORMS))


def matrix(p=P):
    rng = np.random.default_rng(15)
    return rng.standard_normal((N, p)) * (rng.uniform(size=(N, p)) < 0.5)


def of(form, x):
    return as_columns(FORMS[form](x))


def rebuilt(storage, shape, by="csc"):
    """The matrix that the arrays of columns, or of rows, stand for."""
    if len(storage) == 1:
        return storage[0]
    indptr, indices, data = storage
    kind = sp.csc_array if by == "csc" else sp.csr_array
    return kind((data, indices, indptr), shape=shape).toarray()


# ------------------------------------------------------------------------------------- methods


@each_form
@pytest.mark.parametrize("p", [P, 1, 0])
def test_products(form, p):
    """Margins, scores and Newton steps would be those of other columns."""
    x, rng = matrix(p), np.random.default_rng(0)
    Z = of(form, x)
    weight = rng.uniform(0, 1, N) * (rng.random(N) < 0.9)
    assert Z.shape == x.shape
    for shape in ((), (3,)):
        u, v = rng.standard_normal((p, *shape)), rng.standard_normal((N, *shape))
        np.testing.assert_allclose(Z.times(u), x @ u, rtol=0, atol=1e-13)
        np.testing.assert_allclose(Z.dot(v), x.T @ v, rtol=0, atol=1e-13)
        assert Z.times(u).shape == (N, *shape)
        assert Z.dot(v).shape == (p, *shape)
    np.testing.assert_allclose(Z.dot_each(v[:, 0]), x.T @ v[:, 0], rtol=0, atol=1e-13)
    gram = x.T @ (weight[:, None] * x)
    np.testing.assert_allclose(Z.gram(weight), gram, rtol=0, atol=1e-12)
    for chosen in (np.arange(p)[::-2], NONE):
        found = Z.cross(chosen, weight)
        assert found.shape == (chosen.size, p)
        np.testing.assert_allclose(found, gram[chosen], rtol=0, atol=1e-12)
    mean = weight @ x / weight.sum()
    centred = (x - mean).T @ (weight[:, None] * (x - mean))
    np.testing.assert_allclose(Z.covariance(weight, mean), centred, rtol=0, atol=1e-12)
    np.testing.assert_allclose(Z.covariance(weight, np.zeros(p)), gram, rtol=0, atol=1e-12)
    np.testing.assert_allclose(Z.squares(weight), np.diag(gram), rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", ["fortran", "csc", "csc64"])
def test_each_product_is_the_one_of_its_column_alone(form):
    """Equal columns would get scores that differ by rounding, and ties depend on their place."""
    x = np.random.default_rng(0).standard_normal((1001, 9))
    x[:, 5] = x[:, 2]
    v = np.random.default_rng(1).standard_normal(1001)
    scores = of(form, x).dot_each(v)
    assert scores[5] == scores[2]
    alone = [of(form, x[:, [j]]).dot_each(v)[0] for j in range(9)]
    np.testing.assert_array_equal(scores, alone)


@each_form
@pytest.mark.parametrize(
    "columns", [slice(2, 5), slice(0, 0), slice(None), np.array([4, 0, 4]), NONE], ids=str
)
def test_selections_of_columns(form, columns):
    """Columns would come in another order, or a copy of one be left out."""
    x = matrix()
    taken = of(form, x).take(columns)
    assert taken.shape == x[:, columns].shape
    np.testing.assert_array_equal(taken.dense(), x[:, columns])
    np.testing.assert_array_equal(rebuilt(taken.storage, taken.shape), x[:, columns])
    if taken.array is not None and form != "strided":
        again = as_columns(np.asfortranarray(x)).take(columns)
        assert again.array.flags.f_contiguous  # as the kernels read them


@each_form
@pytest.mark.parametrize(
    "rows", [slice(3, 40), slice(45, 99), slice(0, 0), np.array([44, 3, 3, 9]), NONE], ids=str
)
def test_selections_of_rows(form, rows):
    """Rows of a fold, of a sample or of one block of a sum would be others."""
    x = matrix()
    Z = of(form, x)
    some = Z.rows(rows)
    assert some.shape == x[rows].shape
    np.testing.assert_array_equal(some.dense(), x[rows])
    index = np.arange(N)[rows]
    by_row = Z.by_row(index)
    np.testing.assert_array_equal(rebuilt(by_row, (index.size, P), "csr"), x[rows])
    if len(by_row) == 3:
        assert by_row[1].dtype == np.int32  # as the kernels read them


@each_form
def test_squared_columns(form):
    """Splicing would weigh columns by other curvatures than theirs."""
    x = matrix()
    Z = of(form, x)
    np.testing.assert_array_equal(Z.squared().dense(), x**2)
    np.testing.assert_array_equal(Z.dense(), x)


@each_form
def test_storage(form):
    """Kernels would read other numbers than the products use."""
    x = matrix()
    Z = of(form, x)
    assert (Z.array is None) == form.startswith("csc")
    np.testing.assert_array_equal(rebuilt(Z.storage, x.shape), x)
    if Z.array is not None:
        assert Z.storage[0] is Z.array
        np.testing.assert_array_equal(Z.dense(), x)


@each_form
def test_compact_columns(form, monkeypatch):
    """Small sparse problems would go without compiled solvers, or large ones fill the memory."""
    x = matrix()
    Z = of(form, x)
    found = Z.compact()
    np.testing.assert_array_equal(found.array, x)
    assert (found is Z) == (not form.startswith("csc"))
    if found is not Z:
        assert found.array.flags.f_contiguous
    monkeypatch.setattr("zeronorm.data.gathered.COMPACT_GRAM", x.size * x.shape[1] - 1)
    assert Z.compact() is Z


@pytest.mark.parametrize("form", ["fortran", "csc"])
def test_what_is_gathered_is_not_copied(form):
    """Every solver would hold its columns twice."""
    stored = FORMS[form](matrix())
    data = stored if form == "fortran" else stored.data
    assert np.shares_memory(as_columns(stored).storage[-1], data)


@each_form
def test_operands_are_not_changed(form):
    """A product would spoil the vector or the columns that it is of."""
    x = matrix()
    Z, rng = of(form, x), np.random.default_rng(1)
    weight, u = rng.random(N), rng.random(P)
    for array in (weight, u):
        array.flags.writeable = False
    for result in (Z.times(u), Z.gram(weight), Z.covariance(weight, u), Z.squares(weight)):
        result[:] = np.nan
    Z.cross(np.array([1]), weight)[:] = np.nan
    Z.squared().dense()[:] = np.nan
    np.testing.assert_array_equal(Z.dense(), x)


# ------------------------------------------------------------------------------ large matrices


@pytest.fixture(scope="module")
def tall():
    """Columns above the size where Gram matrices are formed in float32, and their weights."""
    rng = np.random.default_rng(2)
    x = np.asfortranarray(rng.standard_normal((3 * BLOCK_ROWS - 100, 100)) + 3.0)
    assert x.size * x.shape[1] > FLOAT32_GRAM
    return x, rng.uniform(0, 1, len(x))


@pytest.mark.parametrize("form", ["fortran", "csc"])
def test_gram_matrices_above_the_limit_of_float64(form, tall):
    """Newton steps would lose more than the digits that float32 has, or all of a column."""
    x, weight = tall[0].copy(order="F"), tall[1]
    x[:, 3] = 0.0
    x[::16, 4] = 0.0  # the rows that rough norms are taken from
    exact = x.T @ (weight[:, None] * x)
    found = of(form, x).gram(weight)
    size = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    assert np.abs(found - exact)[size > 0].max() <= 1e-6 * size.max()
    assert not found[3].any()
    np.testing.assert_array_equal(of(form, x).gram(np.zeros(len(x))), np.zeros((100, 100)))


@pytest.mark.parametrize("form", ["fortran", "csc"])
def test_bits_do_not_depend_on_threads(form, tall):
    """A fit could not be repeated on another machine."""
    x, weight = tall
    if form == "csc":
        x = x * (np.random.default_rng(0).random(x.shape) < 0.2)
    found = []
    for n_threads in (1, 2, 5):
        with solver_threads(n_threads):
            Z = of(form, x)
            found.append((Z.gram(weight), Z.squares(weight)))
    for gram, squares in found[1:]:
        np.testing.assert_array_equal(gram, found[0][0])
        np.testing.assert_array_equal(squares, found[0][1])
    np.testing.assert_allclose(found[0][1], weight @ x**2, rtol=1e-12)


# -------------------------------------------------------------------------------------- growth


@pytest.mark.parametrize("form", ["fortran", "csc"])
@pytest.mark.parametrize("capacity", [0, 4, 100])
def test_growing_columns(form, capacity):
    """Columns that came before would move, change or be lost."""
    x = np.random.default_rng(4).standard_normal((20, 31))
    grown = GrowingColumns(capacity)
    assert grown.size == 0
    views = []
    ends = [0, 1, 3, 3, 10, 31]
    for first, last in pairwise(ends):
        grown.append(of(form, x[:, first:last]))
        assert grown.size == last
        views.append(grown.columns())
    for view, last in zip(views, ends[1:], strict=True):  # what was handed out stays what it was
        np.testing.assert_array_equal(view.dense(), x[:, :last])
    if form == "fortran":
        assert grown.columns().array.flags.f_contiguous
    assert (views[0].array is None) == (form == "csc")


def test_room_is_made_at_once():
    """Every append would copy all columns before it."""
    x = np.random.default_rng(4).standard_normal((20, 30))
    grown = GrowingColumns(30)
    for j in range(30):
        grown.append(of("fortran", x[:, [j]]))
        if j == 0:
            first = grown.columns().array
    assert np.shares_memory(first, grown.columns().array)


@pytest.mark.parametrize("form", ["fortran", "csc"])
def test_gathered_columns(form):
    """A solver would read the column of another feature."""
    x = matrix(12)
    gathered = GatheredColumns(as_design(FORMS[form](x)))
    assert gathered.size == 0
    assert gathered.position(np.array([3])).tolist() == [-1]
    for features in ([7, 2], [11], [0, 3, 1]):
        gathered.add(np.array(features))
    order = [7, 2, 11, 0, 3, 1]
    assert gathered.size == 6
    assert gathered.features.tolist() == order
    assert gathered.position(np.array([11, 5, 7])).tolist() == [2, -1, 0]
    np.testing.assert_array_equal(gathered.columns().dense(), x[:, order])
    some = gather(as_design(FORMS[form](x)), slice(2, 4))
    np.testing.assert_array_equal(some.dense(), x[:, 2:4])


# -------------------------------------------------------------------- designs of someone else


class Foreign(Design):
    """A design of someone else: the two properties and three methods, and a count of scans."""

    def __init__(self, x):
        self.x, self.is_sparse = x, sp.issparse(x)
        self.columns = 0

    @property
    def shape(self):
        return self.x.shape

    @property
    def block(self):
        return 16

    def correlate(self, v, start, stop):
        self.columns += stop - start
        return np.asarray(self.x[:, start:stop].T @ v)

    def gather(self, features):
        found = self.x[:, features]
        return sp.csc_array(found) if self.is_sparse else np.array(found, order="F")

    def moments(self, weight, start, stop):
        x = self.x[:, start:stop]
        square = x.multiply(x) if self.is_sparse else x**2
        return np.asarray(weight @ x), np.asarray(weight @ square)

    @property
    def passes(self):
        assert self.columns % self.shape[1] == 0
        return self.columns // self.shape[1]


class Mixed(Wrapper):
    """A wrapper of someone else: rows in another order, columns times powers of two."""

    def __init__(self, base, order, factor):
        super().__init__(base)
        self.order, self.factor = order, factor

    @property
    def shape(self):
        return self.base.shape

    def lower(self, v):
        lowered = np.zeros_like(v)
        lowered[self.order] = v
        return lowered

    def lift(self, scores, v, start, stop):
        return (scores.T * self.factor[start:stop]).T

    def correlate(self, v, start, stop):
        return self.lift(self.base.correlate(self.lower(v), start, stop), v, start, stop)

    def gather(self, features):
        found, factor = self.base.gather(features), self.factor[features]
        if self.is_sparse:
            return sp.csc_array(found[self.order] * factor)
        return np.asfortranarray(found[self.order] * factor)

    def moments(self, weight, start, stop):
        total, square = self.base.moments(self.lower(weight), start, stop)
        factor = self.factor[start:stop]
        return factor * total, factor**2 * square


CODE = np.arange(40) // 4
PROCEDURES = {
    "budget": BudgetClassifier(n_features=5, calibrate=False),
    "l1": L1Classifier(n_features=5),
    "greedy": GreedyLogisticRegression(n_features=5, calibrate=False),
    "l0": L0LogisticRegression(n_features=5, calibrate=False),
    "l0 to a gap": L0LogisticRegression(3, gap=0.05, time_limit=20, calibrate=False),
    "bilevel": BilevelClassifier(n_features=5, n_groups=3, feature_groups=CODE),
    "bilevel regressor": BilevelRegressor(n_features=5, n_groups=3, feature_groups=CODE),
}


def mixed_data(form):
    """A wrapper over a foreign design, the same matrix as an array, and labels."""
    rng = np.random.default_rng(21)
    x = rng.standard_normal((120, 40)) * (rng.random((120, 40)) < 0.6)
    order, factor = rng.permutation(120), 2.0 ** rng.integers(-2, 3, 40)
    plain = x[order] * factor
    margins = x[order, :6] @ [2.0, -2.0, 1.5, 1.5, -1.0, 1.0] + 0.5 * rng.logistic(size=120)
    stored = sp.csc_array(x) if form == "sparse" else x
    plain = sp.csc_array(plain) if form == "sparse" else plain
    return Mixed(Foreign(stored), order, factor), plain, np.where(margins > 0, 1, 0)


@pytest.mark.parametrize("form", ["sparse", *slow("dense")])
@pytest.mark.parametrize("procedure", list(PROCEDURES))
def test_procedures_on_a_design_and_a_wrapper_of_someone_else(procedure, form):
    """A procedure would look for abilities that a design need not have, or into its storage."""
    design, plain, y = mixed_data(form)
    expected = clone(PROCEDURES[procedure]).fit(plain, y)
    for X in (design, Foreign(plain)):
        found = clone(PROCEDURES[procedure]).fit(X, y)
        np.testing.assert_array_equal(found.support_, expected.support_)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(found.predict(X), expected.predict(plain), rtol=1e-5, atol=1e-8)


def test_certificates_and_proofs_on_a_wrapper_of_someone_else():
    """A design of one's own would select, but never be certified."""
    design, plain, y = mixed_data("dense")
    y = np.where(y == 1, 1.0, -1.0)
    for of_it in (zeronorm.certify, lambda *a: zeronorm.prove(*a, gap=0.2).certificate):
        found, expected = of_it([0, 1, 2], design, y), of_it([0, 1, 2], plain, y)
        np.testing.assert_array_equal(found.support, expected.support)
        assert found.objective == pytest.approx(expected.objective, rel=1e-9)
        assert found.bound == pytest.approx(expected.bound, rel=1e-6)


def test_scans_of_wrappers_of_one_base_are_one_pass():
    """Folds and classes on a wrapper that the package does not know would cost a pass each."""
    design, plain, y = mixed_data("dense")
    base, y = design.base, np.where(y == 1, 1.0, -1.0)
    other = Mixed(base, design.order[::-1], np.ones(40))
    rows = np.flatnonzero(np.arange(120) % 3 > 0)
    mean, scale = plain[rows].mean(axis=0), 1.0 / plain[rows].std(axis=0)
    problems = [
        (design, plain, y),
        (other, base.x[design.order[::-1]], y[::-1].copy()),
        (Mixed(design, np.arange(120), np.full(40, 0.5)), 0.5 * plain, y),
        (Scaled(Rows(design, rows), mean, scale), scale * (plain[rows] - mean), y[rows]),
        (base, base.x, y[np.argsort(design.order)]),
    ]

    def solvers(which):
        return [cutting_plane(Task.of(X, labels), 9, CuttingPlane(3), C=0.1) for X, labels in which]

    alone = run_together(solvers([(as_design(x), labels) for _, x, labels in problems]))
    base.columns = 0
    found = run_together(solvers([(X, labels) for X, _, labels in problems]))
    assert base.passes == max(len(one.result.history) + 1 for one in found)
    for one, expected in zip(found, alone, strict=True):
        np.testing.assert_array_equal(one.result.order, expected.result.order)
        np.testing.assert_allclose(one.result.coef, expected.result.coef, rtol=1e-6, atol=1e-9)


def test_an_unfinished_design_says_so():
    """A design without one of its parts would fail in the middle of a fit."""

    class Half(Design):
        def correlate(self, v, start, stop):
            return np.zeros(stop - start)

    with pytest.raises(TypeError, match="abstract"):
        Half()


# ------------------------------------------------------------------------------ the source

PACKAGE = Path(zeronorm.__file__).parent
STORAGE = {"issparse", "csc_array", "csr_array", "storage_of"}
KINDS = {"Scaled", "Rows", "Dense", "Sparse"}
# What may look at storage, by file and name, and why.
EXCEPTIONS = {
    ("estimators/frames.py", "csr_array"): "makes one-hot columns of a frame",
    ("estimators/frames.py", "csc_array"): "makes one-hot columns of a frame",
    ("estimators/bags.py", "issparse"): "reads instances of the user's bags",
    ("estimators/bags.py", "csr_array"): "makes dense and sparse bags alike",
    ("estimators/l1.py", "csr_array"): "makes the coefficients that the user gets",
    ("solvers/problem.py", "Scaled"): "changes the scaling that the estimator asked for",
}


def looks_at_storage(tree):
    """Names by which a module looks at how X is stored."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in STORAGE:
            found.add(node.id)
        if isinstance(node, ast.Attribute) and node.attr in STORAGE:
            found.add(node.attr)
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id == "isinstance":
            names = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
            names |= {n.attr for n in ast.walk(node.args[1]) if isinstance(n, ast.Attribute)}
            found |= names & KINDS
        if node.func.id in ("getattr", "hasattr"):
            words = {n.id for n in ast.walk(node.args[0]) if isinstance(n, ast.Name)}
            words |= {n.attr for n in ast.walk(node.args[0]) if isinstance(n, ast.Attribute)}
            if words & {"design", "_design", "base", "storage"}:
                found.add(node.func.id)
    return found


def test_only_designs_know_how_x_is_stored():
    """A storage that is added would have to be taught to solvers one by one."""
    files = [PACKAGE / "model_selection/cross_validation.py"]
    for folder in ("solvers", "estimators"):
        files += sorted((PACKAGE / folder).rglob("*.py"))
    assert len(files) > 30
    found = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in files
        for name in looks_at_storage(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(EXCEPTIONS)  # an exception that is not needed any more goes, too


@pytest.mark.parametrize(
    "line",
    [
        "sp.issparse(Z)", "from_csc = csc_array(x)", "storage_of(task.design)",
        "isinstance(design, Scaled | Rows)", "isinstance(x, designs.Dense)",
        "getattr(self._design, 'norm_bounds', None)", "hasattr(task.design, 'block')",
    ],
)  # fmt: skip
def test_the_rule_finds_what_it_forbids(line):
    """The rule would hold because it sees nothing."""
    assert looks_at_storage(ast.parse(line))
    assert not looks_at_storage(ast.parse("getattr(estimator, 'C'); isinstance(loss, Logistic)"))
