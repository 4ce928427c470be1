"""Products of two features as columns, which are never stored."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._kernels import FLOAT32_SCAN_ERROR
from ..core.errors import Message, Parameter, ParameterError
from ..core.types import (
    EXACT_SCAN,
    Design,
    FloatArray,
    IndexArray,
    Stored,
    Wrapper,
    float64_scan_error,
)
from ..core.validation import check_names
from .arrays import BLOCK_BYTES, Dense, as_features, as_vectors, read_sparse
from .opening import as_design
from .operations import moments
from .views import Rows

# Pairs of features as columns: which pair is which column, in whole numbers of 64 bits.


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """All pairs of features of the same group, a < b (a <= b with squares), never listed.

    Features stand in places, group by group and ascending within a group, and the partners of a
    place are the places after it until the end of its group. Pair number starts[r] + i is that of
    place r with place r + skip + i, so that pairs ascend by group, then by a, then by b.

    Attributes
    ----------
    order : (p,) the feature at each place.
    stops : (p,) where the group of a place ends.
    starts : (p + 1,) pairs before those of a place.
    skip : 1, or 0 with squares.
    """

    order: IndexArray
    stops: IndexArray
    starts: IndexArray
    skip: int

    @classmethod
    def of(cls, code: IndexArray, squares: bool) -> Grid:
        """Return the pairs of features with equal numbers, (p,)."""
        order = np.argsort(code, kind="stable")
        sizes = np.bincount(code)
        stops = np.repeat(np.cumsum(sizes), sizes)
        skip = 0 if squares else 1
        partners = stops - np.arange(code.size) - skip
        return cls(order, stops, np.concatenate([[0], np.cumsum(partners)]), skip)

    @property
    def size(self) -> int:
        return int(self.starts[-1])

    def factors(self, pairs: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return the features a and b of some pairs."""
        place = np.searchsorted(self.starts, pairs, side="right") - 1
        partner = place + self.skip + (pairs - self.starts[place])
        return self.order[place], self.order[partner]

    def number(self, a: IndexArray, b: IndexArray) -> IndexArray:
        """Return the numbers of pairs of features, in either order, that are among these."""
        place = np.empty_like(self.order)
        place[self.order] = np.arange(self.order.size)
        first, second = np.minimum(place[a], place[b]), np.maximum(place[a], place[b])
        return self.starts[first] + second - first - self.skip

    def partners(self, place: int, start: int, stop: int) -> tuple[int, int]:
        """Return the places first <= r < last whose pairs with a place are within start..stop."""
        begin = place + self.skip - int(self.starts[place])
        first = max(start, int(self.starts[place]))
        last = min(stop, int(self.starts[place + 1]))
        return begin + first, begin + max(first, last)

    def tiles(self, first: int, last: int, few: int, many: int) -> Iterator[tuple[range, int, int]]:
        """Yield places, and a range of partners, of the tiles that have pairs first..last."""
        begin, end = np.searchsorted(self.starts, [first, last - 1], side="right") - 1
        for top in range(int(begin), int(end) + 1, few):
            places = range(top, min(top + few, int(end) + 1))
            spans = [(one, two) for _, one, two in self.spans(places, first, last) if one < two]
            low, high = min(one for one, _ in spans), max(two for _, two in spans)
            for left in range(low, high, many):
                yield places, left, min(left + many, high)

    def spans(self, places: range, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Yield each place with the range of its partners among the pairs first..last."""
        for place in places:
            yield place, *self.partners(place, first, last)


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Pairs as a user lists them, (m, 2)."""

    pairs: IndexArray

    @property
    def size(self) -> int:
        return len(self.pairs)

    def factors(self, pairs: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return the features a and b of some pairs."""
        return self.pairs[pairs, 0], self.pairs[pairs, 1]


def read_pairs(
    pairs: ArrayLike | None, within: ArrayLike | None, squares: bool, n_features: int
) -> Grid | Listed:
    """Return the pairs that `Interactions` is asked for, after their check."""
    if pairs is not None and within is not None:
        raise ValueError("pairs and within cannot both be given: pairs are a list of their own.")
    if pairs is not None:
        return Listed(_checked(np.asarray(pairs), squares, n_features))
    code = np.zeros(n_features, np.int64)
    if within is not None:
        labels: NDArray[Any] = np.asarray(within)
        if labels.shape != (n_features,):
            raise ParameterError(
                "within",
                f"must have one label for each of {n_features} features",
                f"shape {labels.shape}",
            )
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ParameterError("within", "must have a label for every feature", "NaN or infinity")
        try:
            code = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        except TypeError as error:
            raise TypeError(
                f"within must have labels of one kind, that can be sorted ({error})."
            ) from error
    found = Grid.of(code, squares)
    if not found.size:
        raise ValueError(
            f"within must leave a pair; each of {n_features} features is alone in its group."
            if within is not None
            else f"X must have at least two features to form products; got {n_features}."
        )
    return found


def _checked(pairs: NDArray[Any], squares: bool, n_features: int) -> IndexArray:
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
        raise ParameterError(
            "pairs", "must be (m, 2) numbers of features, at least one pair", f"shape {pairs.shape}"
        )
    if pairs.dtype.kind not in "iu":
        raise TypeError(f"pairs must be integers, numbers of features; got {pairs.dtype}.")
    outside = (pairs < 0) | (pairs >= n_features)
    if outside.any():
        row = int(np.argmax(outside.any(axis=1)))
        raise ParameterError(
            "pairs",
            f"must be of features from 0 to {n_features - 1}",
            f"{pairs[row].tolist()} in row {row}",
        )
    found = pairs.astype(np.int64)
    same = found[:, 0] == found[:, 1]
    if same.any() and not squares:
        row = int(np.argmax(same))
        raise ParameterError(
            "pairs",
            "must be of two different features",
            f"{found[row].tolist()} in row {row}",
            "Say squares=True for squares.",
        )
    low, high = found.min(axis=1), found.max(axis=1)
    order = np.lexsort((high, low))
    again = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    if again.any():
        row = int(order[1:][again].min())
        raise ParameterError(
            "pairs",
            "must be distinct, in either order",
            f"{found[row].tolist()} again in row {row}",
        )
    return found


# The factors of products: columns of a design, centred, and the matrices of their products.

# Elements of the columns that a tile has of either factor, and at most so many of the first one.
ELEMENTS, FIRST = 1 << 22, 256
SPARSE_TILE = 512  # columns of either factor where they are sparse
# Factors of this range are multiplied in float32 without underflow; see `kScanError`.
SMALLEST, LARGEST = 2.0**-20, 2.0**20


class Factors:
    """The columns x_j - m_j of a design.

    Parameters
    ----------
    base : the design.
    center : (p,) m, or None: 0. None where the design is sparse.
    """

    def __init__(self, base: Design, center: FloatArray | None) -> None:
        self.base, self.center = base, center

    @cached_property
    def kind(self) -> np.dtype[Any]:
        """The type that factors are multiplied in; one look at the features decides."""
        exact = np.dtype(np.float64)
        if self.base.is_sparse or self.base.scan_error <= EXACT_SCAN:
            return exact
        width = self.widths()[1]
        for begin in range(0, self.base.shape[1], width):
            chosen = np.arange(begin, min(begin + width, self.base.shape[1]))
            size: Any = self.base.gather(chosen)
            size = np.abs(size if self.center is None else size - self.center[chosen])
            if not ((size == 0) | ((size >= SMALLEST) & (size <= LARGEST))).all():
                return exact
        return np.dtype(np.float32)

    def columns(self, features: IndexArray) -> Any:
        """Return factors x_j - m_j, rounded to the type of products, or a csc_array."""
        stored: Any = self.base.gather(features)
        if self.base.is_sparse:
            return stored
        if self.center is not None:
            stored = stored - self.center[features]
        with np.errstate(over="ignore"):
            return stored.astype(self.kind, order="F")

    def multiplied(self, first: IndexArray, second: IndexArray) -> Any:
        """Return the columns of some products, each factor gathered once."""
        wanted, place = np.unique(np.concatenate([first, second]), return_inverse=True)
        found = self.columns(wanted)
        left, right = place[: first.size], place[first.size :]
        if self.base.is_sparse:
            product = sp.csc_array(found[:, left].multiply(found[:, right]))
            product.sort_indices()
            product.indices = product.indices.astype(np.int32, copy=False)
            product.indptr = product.indptr.astype(np.int32, copy=False)
            return product
        found = np.asfortranarray(found, np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray((found.T[left] * found.T[right]).T)

    def tile(
        self,
        first: IndexArray,
        second: IndexArray,
        weights: list[FloatArray],
        change: Callable[[Any], Any] = np.asarray,
        kind: DTypeLike | None = None,
        rows: slice = slice(None),
    ) -> list[FloatArray]:
        """Return the matrices sum_i w_i f(x_ia) f(x_ib), (second, first), of weights w (n,)."""
        a, b = self.columns(first), self.columns(second)
        if self.base.is_sparse:
            return [_sparse_tile(a, b, weight, change) for weight in weights]
        own = self.kind if kind is None else np.dtype(kind)
        left, right = change(a[rows].astype(np.float64)), change(b[rows].astype(own, order="F"))
        columns = Dense(np.asfortranarray(right), self.base.n_threads)
        return [
            columns.correlate(np.ascontiguousarray(weight[rows, None] * left), 0, second.size)
            for weight in weights
        ]

    def widths(self) -> tuple[int, int]:
        """Return how many first and second factors a tile has."""
        if self.base.is_sparse:
            return SPARSE_TILE, SPARSE_TILE
        wide = max(8, ELEMENTS // self.base.shape[0])
        return min(FIRST, wide), wide


def _sparse_tile(a: Any, b: Any, weight: FloatArray, change: Callable[[Any], Any]) -> FloatArray:
    left = sp.csc_array((change(a.data) * weight[a.indices], a.indices, a.indptr), shape=a.shape)
    right = sp.csc_array((change(b.data), b.indices, b.indptr), shape=b.shape)
    return np.asarray((left.T @ right).toarray().T)


# The best products of all by their scores, without a vector of all scores.

SHARES = (0.125, 0.25, 0.5, 0.75, 0.875)  # of the rows, after which a tile may be left out
SPREAD = 6.0  # deviations of a score of chance that a tile is expected to reach
ROUNDING = 1e-6  # of bounds, which are of norms in float64
LISTED = 1 << 16  # listed products at a time
# Of a deviation: below this share of the root mean square it is the rounding of a constant.
CONSTANT = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class BestProducts:
    """The best products, largest |score| first.

    Attributes
    ----------
    columns : (k,) of the design.
    pairs : (k, 2) their features, which `Interactions(X, pairs=...)` takes.
    scores : (k,) signed.
    share : the part of the multiplications of all scores that was done.
    """

    columns: IndexArray
    pairs: IndexArray
    scores: FloatArray
    share: float


class _BestSeen:
    """The best k of the scores seen, and the least |score| that still counts."""

    def __init__(self, k: int, least: float) -> None:
        self._k = k
        self.columns, self.scores = np.empty(0, np.int64), np.empty(0)
        self.least = least

    def add(self, columns: IndexArray, scores: FloatArray) -> None:
        """Take what is not below the least; ties go to the smaller column."""
        if not np.isfinite(scores).all():
            raise ValueError(
                "scores of products must be finite; X has NaN, infinity or values so large that "
                "products overflow."
            )
        counts = np.abs(scores) >= self.least
        columns = np.concatenate([self.columns, columns[counts]])
        scores = np.concatenate([self.scores, scores[counts]])
        order = np.lexsort((columns, -np.abs(scores)))[: self._k]
        self.columns, self.scores = columns[order], scores[order]
        if order.size == self._k:
            self.least = max(self.least, float(np.abs(self.scores[-1])))


def best_products(
    design: Design,
    factors: Factors,
    pairs: Grid | Listed,
    main: int,
    v: ArrayLike,
    k: int,
    least: float,
    *,
    standardize: bool,
) -> BestProducts:
    """Return the best products of a design; see `Interactions.best`."""
    n = design.shape[0]
    vector = np.asarray(v, np.float64)
    if vector.shape != (n,) or not np.isfinite(vector).all():
        raise ParameterError(
            "v",
            Message(f"must be {n} finite numbers (the samples of ", Parameter("X"), ")"),
            f"shape {vector.shape}",
        )
    try:
        k = operator.index(k)
    except TypeError:
        raise TypeError(f"k must be an integer; got {k!r}.") from None
    if k < 1:
        raise ParameterError("k", "must be at least 1", f"{k}")
    if not 0.0 <= float(least) < np.inf:
        raise ParameterError("least", "must be a finite number, not negative", f"{least!r}")
    if standardize:
        vector = vector - vector.mean()
    kept, share = _BestSeen(min(k, pairs.size), float(least)), 1.0
    if isinstance(pairs, Listed):
        for start in range(0, pairs.size, LISTED):
            first, last = main + start, main + min(start + LISTED, pairs.size)
            scores = design.correlate(vector, first, last)
            if standardize:
                scores = _standardized(scores, *design.moments(np.full(n, 1.0 / n), first, last))
            kept.add(np.arange(first, last), scores)
    elif standardize:
        weights = [np.full(n, 1.0 / n)]
        for a, b, chosen in _tiles(factors, pairs, pairs.order):
            own, other = np.nonzero(chosen)
            scores = factors.tile(a, b, [vector])[0][chosen]
            total = factors.tile(a, b, weights, np.asarray, np.float64)[0][chosen]
            square = factors.tile(a, b, weights, np.square, np.float64)[0][chosen]
            columns = pairs.number(a[other], b[own]) + main
            kept.add(columns, _standardized(scores, total, square))
    else:
        error = 2.0 * design.scan_error + ROUNDING
        share = _search(factors, pairs, main, vector, kept, error)
    found = np.column_stack(pairs.factors(kept.columns - main))
    return BestProducts(kept.columns, found, kept.scores, share)


def _standardized(scores: FloatArray, total: FloatArray, square: FloatArray) -> FloatArray:
    variance = np.maximum(square - total**2, 0.0)
    varies = variance > CONSTANT**2 * square
    return np.divide(scores, np.sqrt(variance), out=np.zeros(scores.size), where=varies)


def _search(
    factors: Factors, pairs: Grid, main: int, v: FloatArray, kept: _BestSeen, error: float
) -> float:
    """Keep the best of all pairs; return the part of the multiplications that was done.

    With N_a^2 = sum_i |v_i| x_ia^2 over the rows that are left, they add at most N_a N_b to a
    score. Features are taken by their N_a, so that the largest bounds come first.
    """
    n = v.size
    cuts = [0] if factors.base.is_sparse else sorted({0, *(int(share * n) for share in SHARES)})
    left = _norms(factors, v, cuts)
    arranged = pairs.order[np.lexsort((-left[0][pairs.order], pairs.stops))]
    done = 0
    for first, second, chosen in _tiles(factors, pairs, arranged):
        a, b = left[:, first], left[:, second]
        whole = float(a[0].max() * b[0].max())
        if whole * (1.0 + error) < kept.least:
            continue
        cut = _cut_of(a, b, cuts, kept.least - error * whole)
        if cut:
            rows = cuts[cut]
            part = factors.tile(first, second, [v], rows=slice(0, rows))[0]
            done += rows * int(chosen.sum())
            bound = np.abs(part) + np.outer(b[cut], a[cut]) + error * whole
            chosen &= bound >= kept.least
            left_over = chosen.any(axis=1)
            second, chosen = second[left_over], chosen[left_over]
        if chosen.any():
            scores = factors.tile(first, second, [v])[0]
            done += n * int(chosen.sum())
            chosen &= ~(np.abs(scores) < kept.least)  # NaN is kept, and refused
            own, other = np.nonzero(chosen)
            kept.add(pairs.number(first[other], second[own]) + main, scores[chosen])
    return done / (n * pairs.size)


def _cut_of(a: FloatArray, b: FloatArray, cuts: list[int], least: float) -> int:
    """Return after which of the cuts a tile is likely to be out of the running; 0: after none."""
    whole = float(a[0].max() * b[0].max())
    for cut in range(1, len(cuts)):
        rest = float(a[cut].max() * b[cut].max())
        if rest + SPREAD * (whole - rest) / np.sqrt(cuts[cut]) < least:
            return cut
    return 0


def _norms(factors: Factors, v: FloatArray, cuts: list[int]) -> FloatArray:
    """Return sqrt(sum_i |v_i| x_ij^2) over the rows from each cut on, (cuts, p)."""
    p = factors.base.shape[1]
    found = np.empty((len(cuts), p))
    for start in range(0, p, factors.widths()[1]):
        features = np.arange(start, min(start + factors.widths()[1], p))
        columns: Any = factors.columns(features)
        if factors.base.is_sparse:
            found[0, features] = columns.power(2).T @ np.abs(v)
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            square = np.abs(v)[:, None] * columns.astype(np.float64) ** 2
            for row, cut in enumerate(cuts):
                found[row, features] = square[cut:].sum(axis=0)
    return np.sqrt(found)


def _tiles(
    factors: Factors, pairs: Grid, order: IndexArray
) -> Iterator[tuple[IndexArray, IndexArray, NDArray[np.bool_]]]:
    """Yield first and second factors, and which of their products are pairs, (second, first).

    order : (p,) the features at the places of `pairs`, in any order within a group.
    """
    few, many = factors.widths()
    for top in range(0, order.size, few):
        places = np.arange(top, min(top + few, order.size))
        low, high = top + pairs.skip, int(pairs.stops[places[-1]])
        for begin in range(low, high, many):
            other = np.arange(begin, min(begin + many, high))
            chosen = (other[:, None] >= places + pairs.skip) & (
                other[:, None] < pairs.stops[places]
            )
            if chosen.any():
                yield order[places], order[other], chosen


SCANNED = 1 << 34  # multiplications of a scan block, some seconds
LEAST_BLOCK, MOST_BLOCK = 1 << 16, 1 << 24  # its columns
POWERS: tuple[Callable[[Any], Any], ...] = (np.asarray, np.square)
MOST_NAMED = 1 << 22  # columns whose names are listed


class Interactions(Design):
    """The features of X and their products in pairs, as columns that are never stored.

    The columns are x_1, ..., x_p (with `main_effects`) and then

        x_ab,i = (x_ia - m_a) (x_ib - m_b),   a < b,

    for all pairs, those `within` groups or the `pairs` of a list; m is `center`, or 0. A scan of
    all pairs is the matrix X' diag(v) X, formed in tiles: nothing of its size is kept but the
    scores. An estimator takes the design as X. It centres and scales the columns x_ab as any
    others, so `center` says what a product is, and not on which scale: products of centred
    features are less correlated with the features themselves. A product alone sees an exclusive
    or of balanced features only if they are centred.

    Parameters
    ----------
    X : what `as_design` takes, of p features: an array, a sparse matrix, a path, genotypes, a
        data frame, a design.
    degree : 2. Products of three features are pairs of a design of chosen products.
    pairs : (m, 2) the features of each product; None: all a < b.
    within : (p,) labels; only features with the same one are multiplied. Columns are sorted by
        group then.
    squares : whether all pairs, or those within groups, include a = b.
    main_effects : whether the features themselves are columns, before the products.
    center : None; "mean" for the means of X; or (p,) numbers. Not for sparse data. For new data
        it must be that of the fit: `on` sees to it.
    names : (p,) of the features; None: those that X has.
    n_threads : threads of a scan; None: as many as this process may use.

    Attributes
    ----------
    center : (p,) what was subtracted, or None.

    Notes
    -----
    Where X is stored in float32, small integers or genotypes, factors are rounded to float32 after
    they are centred, and scores have the precision of scans of such data; elsewhere all is float64.
    """

    def __init__(
        self,
        X: Any,
        degree: int = 2,
        *,
        pairs: ArrayLike | None = None,
        within: ArrayLike | None = None,
        squares: bool = False,
        main_effects: bool = True,
        center: ArrayLike | str | None = None,
        names: list[str] | None = None,
        n_threads: int | None = None,
    ) -> None:
        if isinstance(degree, bool) or degree != 2:
            raise ParameterError(
                "degree",
                "must be 2",
                f"{degree!r}",
                "For products of three features choose pairs first, and multiply "
                "Interactions(X, pairs=...) in their turn.",
            )
        for name, flag in (("squares", squares), ("main_effects", main_effects)):
            if not isinstance(flag, bool | np.bool_):
                raise TypeError(f"{name} must be True or False; got {flag!r}.")
        self.base, own_names = _read(X, n_threads)
        self.n_threads, self.is_sparse = self.base.n_threads, self.base.is_sparse
        n_features = self.base.shape[1]
        self._main = n_features if main_effects else 0
        self._pairs = read_pairs(pairs, within, bool(squares), n_features)
        self._names = own_names if names is None else _check_names(names, n_features)
        self.center = self._read_center(center)
        self._factors = Factors(self.base, self.center)

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape[0], self._main + self._pairs.size

    @property
    def block(self) -> int:
        """Columns per scan block: some seconds of products, or as much memory as others take."""
        n = self.base.shape[0]
        if isinstance(self._pairs, Grid):
            wide = min(max(SCANNED // n, LEAST_BLOCK), MOST_BLOCK)
        else:
            wide = max(1, BLOCK_BYTES // (8 * n))
        return min(max(wide, self._main), self.shape[1])

    @property
    def scan_error(self) -> float:
        """The e of |error of c_j| <= e ||x_j|| ||v||.

        An entry of v times a factor is rounded once more than in a scan of the other factor; all
        errors are relative to sum_i |v_i x_ia x_ib| <= ||v|| ||x_ab||.
        """
        if self._factors.kind == np.float32:
            return max(self.base.scan_error, FLOAT32_SCAN_ERROR)
        return max(self.base.scan_error, float64_scan_error(self.base.shape[0] + 2))

    @cached_property
    def feature_names(self) -> list[str] | None:
        """The names of the columns, where X has names and they are at most 4 million."""
        if self._names is None or self.shape[1] > MOST_NAMED:
            return None
        return self.names(np.arange(self.shape[1]))

    def names(self, features: ArrayLike) -> list[str]:
        """Return the names of some columns: "a*b" of a product; x0, x1, ... where X has none.

        A name that has a star itself is quoted: '"HLA-A*02"*age'.
        """
        columns = as_features(np.asarray(features, np.int64), self.shape[1])
        own = self._names
        words: dict[int, str] = {}

        def word(feature: int) -> str:
            if feature not in words:
                name = f"x{feature}" if own is None else own[feature]
                words[feature] = json.dumps(name) if "*" in name or '"' in name else name
            return words[feature]

        return [
            word(a) if b < 0 else f"{word(a)}*{word(b)}" for a, b in self.factors(columns).tolist()
        ]

    def factors(self, features: ArrayLike) -> IndexArray:
        """Return the two features of X in each of some columns, (k, 2); (j, -1) of x_j itself."""
        columns = as_features(np.asarray(features, np.int64), self.shape[1])
        found = np.column_stack([columns, np.full(columns.size, -1)])
        products = columns >= self._main
        found[products] = np.column_stack(self._pairs.factors(columns[products] - self._main))
        return found

    def on(self, X: Any) -> Interactions:
        """Return the same products of the features of other rows, for `predict`."""
        base, names = _read(X, self.n_threads)
        if base.shape[1] != self.base.shape[1]:
            raise ParameterError(
                "X",
                f"must have the {self.base.shape[1]} features that these products are of",
                f"{base.shape[1]}",
            )
        if base.is_sparse and self.center is not None:
            raise ParameterError(
                "X", "must not be sparse where products are centred", "", "Convert it."
            )
        check_names(names, self._names)
        # A copy of the settings, since arrays that they were made of may have changed.
        found = copy(self)
        found.__dict__.pop("feature_names", None)
        found.base, found.is_sparse = base, base.is_sparse
        found._factors = Factors(base, self.center)
        return found

    def best(
        self, v: ArrayLike, k: int, *, least: float = 0.0, standardize: bool = False
    ) -> BestProducts:
        """Return the k products with the largest |c_ab|, c_ab = sum_i v_i x_ab,i, of any number.

        It is for more products than vectors over all of them fit into memory: a screening, by the
        residuals of a model, say, whose pairs make a design for a fit. What that fit certifies
        is certain of these pairs alone.

        Tiles of the matrix of scores are left out where bounds show that none of their scores is
        among the best: |c_ab|^2 <= sum_i |v_i| x_ia^2 sum_i |v_i| x_ib^2, of all rows and of those
        that remain after a product of some rows. The result is that of all scores, ties by the
        smaller column, up to the rounding of scores. The bounds tell rare features early; of
        balanced ones they tell what is far above chance from all else, so that much is left out
        where `least` is above chance.

        Parameters
        ----------
        v : (n_samples,) finite.
        k : from 1; all products if there are fewer.
        least : products with |c_ab| below it are of no interest, and none of them is returned.
        standardize : divide c_ab by the standard deviation of x_ab (0 where it is constant), with
            v centred: n times the covariance over the deviation. No tile is left out then.

        Returns
        -------
        Best : columns (k,), pairs (k, 2), scores (k,) signed, largest first, fewer than k where
            `least` leaves fewer; share, the part of the multiplications that was done.
        """
        return best_products(
            self, self._factors, self._pairs, self._main, v, k, least, standardize=standardize
        )

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        vectors = as_vectors(v, self.shape, start, stop)
        scores = np.empty((stop - start, vectors.shape[1]))
        main = min(max(self._main - start, 0), stop - start)
        scores[:main] = self.base.correlate(vectors, start, start + main) if main else 0.0
        first, last = start + main - self._main, stop - self._main
        if scores.size and first < last:
            weights = [np.ascontiguousarray(vector) for vector in vectors.T]
            if isinstance(self._pairs, Grid):
                self._fill(self._pairs, first, last, weights, scores[main:])
            else:
                for begin, columns in self._listed(first, last):
                    part = columns.correlate(vectors, 0, columns.shape[1])
                    scores[main + begin : main + begin + len(part)] = part
        return scores.reshape(stop - start, *v.shape[1:])

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return sum_i s_i x_ij and sum_i s_i x_ij**2, start <= j < stop, summed in float64."""
        weight = as_vectors(weight, self.shape, start, stop)[:, 0]
        found = np.empty((2, stop - start))
        main = min(max(self._main - start, 0), stop - start)
        if main:
            found[:, :main] = self.base.moments(weight, start, start + main)
        first, last = start + main - self._main, stop - self._main
        if first < last and isinstance(self._pairs, Grid):
            weights, pairs = [np.ascontiguousarray(weight)], self._pairs
            for row, change in enumerate(POWERS):
                out = found[row, main:, None]
                self._fill(pairs, first, last, weights, out, change, np.float64)
        elif first < last:
            for begin, columns in self._listed(first, last):
                wide = columns.shape[1]
                part = slice(main + begin, main + begin + wide)
                found[:, part] = columns.moments(weight, 0, wide)
        return found[0], found[1]

    def gather(self, features: IndexArray | slice) -> Stored:
        if isinstance(features, slice):
            features = np.arange(*features.indices(self.shape[1]), dtype=np.int64)
        columns = as_features(features, self.shape[1])
        main = columns < self._main
        first, second = self._pairs.factors(columns[~main] - self._main)
        products: Any = self._factors.multiplied(first, second)
        if not main.any():
            return products  # type: ignore[no-any-return]
        own: Any = self.base.gather(columns[main])
        place = np.argsort(np.concatenate([np.flatnonzero(main), np.flatnonzero(~main)]))
        if self.is_sparse:
            beside: sp.csc_array[Any] = sp.csc_array(sp.hstack([own, products]))[:, place]
            beside.sort_indices()
            return beside
        found = np.empty((self.shape[0], columns.size), order="F")
        found[:, main], found[:, ~main] = own, products
        return found

    def combine(self, coef: FloatArray) -> FloatArray | None:
        """Return X coef, (n_samples,): of all pairs z_i = sum_a x_ia (sum_b coef_ab x_ib)."""
        if self.is_sparse or not isinstance(self._pairs, Grid):
            return None
        pairs, z = self._pairs, np.zeros(self.shape[0])
        few, many = self._factors.widths()
        for begin in range(0, self._main, many):
            chosen = np.arange(begin, min(begin + many, self._main))
            own: Any = self.base.gather(chosen)
            z += own @ coef[chosen]
        for places, left, right in pairs.tiles(0, pairs.size, few, many):
            table = np.zeros((right - left, len(places)))
            for column, (place, one, two) in enumerate(pairs.spans(places, 0, pairs.size)):
                one, two = max(one, left), min(two, right)
                if one < two:
                    begin = self._main + int(pairs.starts[place]) - place - pairs.skip
                    table[one - left : two - left, column] = coef[begin + one : begin + two]
            a = self._factors.columns(pairs.order[places.start : places.stop])
            b = self._factors.columns(pairs.order[left:right]).astype(np.float64)
            z += np.vecdot(Dense(b.T, self.n_threads).correlate(table, 0, z.size), a)
        return z

    def _listed(self, first: int, last: int) -> Iterator[tuple[int, Design]]:
        """Yield (place, columns) of the listed products first..last, as designs."""
        width = max(8, BLOCK_BYTES // (8 * self.shape[0]))
        for begin in range(first, last, width):
            chosen = np.arange(begin, min(begin + width, last))
            columns = self._factors.multiplied(*self._pairs.factors(chosen))
            if self.is_sparse:
                yield begin - first, read_sparse(columns, self.n_threads)
            else:
                yield begin - first, Dense(columns, self.n_threads)

    def _fill(
        self,
        pairs: Grid,
        first: int,
        last: int,
        weights: list[FloatArray],
        out: FloatArray,
        change: Callable[[Any], Any] = np.asarray,
        kind: DTypeLike | None = None,
    ) -> None:
        """Put the sums of pairs first..last into `out`, (last - first, number of weights)."""
        for places, left, right in pairs.tiles(first, last, *self._factors.widths()):
            own = pairs.order[places.start : places.stop]
            with np.errstate(over="ignore", invalid="ignore"):
                found = self._factors.tile(own, pairs.order[left:right], weights, change, kind)
            for column, (place, one, two) in enumerate(pairs.spans(places, first, last)):
                one, two = max(one, left), min(two, right)
                if one < two:
                    target = int(pairs.starts[place]) - place - pairs.skip - first
                    for number, scores in enumerate(found):
                        part = scores[one - left : two - left, column]
                        out[target + one : target + two, number] = part

    def _read_center(self, center: ArrayLike | str | None) -> FloatArray | None:
        if center is None:
            return None
        n, p = self.base.shape
        if self.is_sparse:
            raise ParameterError(
                "center",
                "must be None where X is sparse: centred columns have no zeros",
                "",
                "Convert X.",
            )
        if isinstance(center, str):
            if center != "mean":
                raise ParameterError(
                    "center", 'must be None, "mean" or (p,) numbers', f"{center!r}"
                )
            return moments(self.base, np.full(n, 1.0 / n))[0]  # NaN of X is found by the first scan
        found: NDArray[Any] = np.asarray(center)
        if found.shape != (p,) or found.dtype.kind not in "biuf" or not np.isfinite(found).all():
            raise ParameterError(
                "center",
                Message(
                    f'must be None, "mean" or {p} finite numbers (the features of ',
                    Parameter("X"),
                    ")",
                ),
                f"shape {found.shape} of {found.dtype}",
            )
        return found.astype(np.float64)


def _read(X: Any, n_threads: int | None) -> tuple[Design, list[str] | None]:
    """Return X as a design, and the names of its columns.

    A design of scaled columns is refused: its scans do not err as those of products are said to.
    """
    base = storage = as_design(X, n_threads)
    while isinstance(storage, Wrapper):
        if not isinstance(storage, Rows):
            raise TypeError(
                f"X must be data as they are; got a {type(storage).__name__} design. Estimators "
                "scale products themselves; center= says what a product is."
            )
        storage = storage.base
    return base, base.feature_names


def _check_names(names: Any, n_features: int) -> list[str]:
    found = list(names)
    if len(found) != n_features or not all(isinstance(name, str) for name in found):
        raise ParameterError(
            "names",
            Message(f"must be {n_features} strings (the features of ", Parameter("X"), ")"),
            f"{len(found)} of {sorted({type(name).__name__ for name in found})}",
        )
    if len(set(found)) < n_features:
        raise ParameterError("names", "must be distinct; two features share one")
    return found
