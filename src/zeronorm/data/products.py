"""Products of two features as columns, which are never stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._kernels import FLOAT32_SCAN_ERROR
from ..core.types import Design, FloatArray, IndexArray, Stored, Wrapper, float64_scan_error
from ..core.validation import check_names
from .best_products import Best, best_products
from .dense import BLOCK_BYTES, Dense, as_features, as_vectors
from .factors import Factors
from .pairs import Grid, read_pairs
from .sparse_input import read_sparse
from .wrappers import Rows

SCANNED = 1 << 34  # multiplications of a scan block, some seconds
LEAST_BLOCK, MOST_BLOCK = 1 << 16, 1 << 24  # its columns
POWERS: tuple[Callable[[Any], Any], ...] = (np.asarray, np.square)
MOST_NAMED = 1 << 22  # columns whose names are listed


class Products(Design):
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
            raise ValueError(
                f"degree must be 2; got {degree!r}. For products of three features choose pairs "
                "first, and multiply Products(X, pairs=...) in their turn."
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
        """(n_samples, n_features), products among these."""
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

    def on(self, X: Any) -> Products:
        """Return the same products of the features of other rows, for `predict`."""
        base, names = _read(X, self.n_threads)
        if base.shape[1] != self.base.shape[1]:
            raise ValueError(
                f"X must have the {self.base.shape[1]} features that these products are of; got "
                f"{base.shape[1]}."
            )
        if base.is_sparse and self.center is not None:
            raise ValueError("X must not be sparse where products are centred. Convert it.")
        check_names(names, self._names)
        # A copy of the settings, since arrays that they were made of may have changed.
        found = copy(self)
        found.__dict__.pop("feature_names", None)
        found.base, found.is_sparse = base, base.is_sparse
        found._factors = Factors(base, self.center)
        return found

    def best(self, v: ArrayLike, k: int, *, least: float = 0.0, standardize: bool = False) -> Best:
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
        """Return c with c[j - start] = sum_i x_ij v_i, start <= j < stop.

        v : (n_samples,) or (n_samples, m) -> (stop - start,) or (stop - start, m).
        """
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
        """Return the columns in the given order: F-ordered float64, or a csc_array."""
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
            raise ValueError(
                "center must be None where X is sparse: centred columns have no zeros. Convert X."
            )
        if isinstance(center, str):
            if center != "mean":
                raise ValueError(f'center must be None, "mean" or (p,) numbers; got {center!r}.')
            share = np.full(n, 1.0 / n)
            parts = [
                self.base.moments(share, begin, min(begin + self.base.block, p))[0]
                for begin in range(0, p, self.base.block)
            ]
            return np.concatenate(parts)  # NaN of X is found by the first scan
        found: NDArray[Any] = np.asarray(center)
        if found.shape != (p,) or found.dtype.kind not in "biuf" or not np.isfinite(found).all():
            raise ValueError(
                f'center must be None, "mean" or {p} finite numbers (the features of X); got shape '
                f"{found.shape} of {found.dtype}."
            )
        return found.astype(np.float64)


def _read(X: Any, n_threads: int | None) -> tuple[Design, list[str] | None]:
    """Return X as a design, and the names of its columns.

    A design of scaled columns is refused: its scans do not err as those of products are said to.
    """
    from .opening import as_design

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
        raise ValueError(
            f"names must be {n_features} strings (the features of X); got {len(found)} of "
            f"{sorted({type(name).__name__ for name in found})}."
        )
    if len(set(found)) < n_features:
        raise ValueError("names must be distinct; two features share one.")
    return found
