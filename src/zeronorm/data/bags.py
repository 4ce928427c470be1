"""Bags of instances (MILES): the data of multiple-instance learning, checked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from ..core import validation as validate
from ..core.errors import Column, Message, ParameterError
from ..core.groups import Groups
from ..core.parallel import current_threads, map_threads, solver_threads
from ..core.types import Design, FloatArray, IndexArray
from .arrays import Dense, as_features, as_vectors, read_dense, read_sparse


@dataclass(frozen=True, eq=False)
class Bags:
    """Bags of instances, checked once; made by `Bags.of`.

    `len(bags)` is the number of bags and `bags[i]` the instances of one, so that scikit-learn can
    split them as it splits a list.

    Parameters
    ----------
    instances : (n_instances, n_features) float64, bag by bag, in the order of the user's rows
        within each: an array, or a csr_array where any of the user's is sparse.
    offsets : (n_bags + 1,) where every bag begins, and n_instances.
    labels : (n_bags,) the names of the bags, sorted: 0, 1, ... for a list.
    rows : (n_instances,) the row of every instance in the user's X; for a list, in all its arrays
        one below the other.
    """

    instances: Any
    offsets: IndexArray
    labels: np.ndarray
    rows: IndexArray

    @classmethod
    def of(cls, bags: Any) -> Bags:
        """Return the bags that a user describes.

        Parameters
        ----------
        bags : one of
            - a list or tuple of arrays (n_instances, n_features), one for each bag, also sparse;
            - a tuple (X, bag_index) of all instances, in any order, and an integer or str for each
              that names its bag: bags are in the order of the sorted names;
            - `Bags`, returned as they are.

        Raises
        ------
        ValueError
            Where there is no bag, a bag is empty, bags differ in their features, values are no
            finite numbers, or bag_index does not fit X; the message names the bag.
        """
        if isinstance(bags, Bags):
            return bags
        instances: Any
        if is_indexed(bags):
            X, bag_index = bags
            x = _matrix(X, "X")
            found = Groups.of_rows(bag_index, x.shape[0], "bag_index")
            rows, offsets = found.by_group
            instances = x[rows] if _is_sparse(x) else np.take(x, rows, axis=0)
            return cls._checked(instances, offsets, found.labels, rows)
        rule = "must be a list of arrays (instances by features), or a tuple (X, bag_index)"
        if isinstance(bags, np.ndarray) and bags.ndim == 2 and bags.dtype != np.object_:
            got = f"one array of shape {bags.shape}, which does not say whose its rows are"
            raise ParameterError("bags", rule, got, "Pass (X, bag_index).")
        if _is_sparse(bags):
            got = f"one sparse matrix of shape {bags.shape}, which does not say whose its rows are"
            raise ParameterError("bags", rule, got, "Pass (X, bag_index).")
        if not isinstance(bags, Sequence | np.ndarray) or isinstance(bags, str | bytes):
            raise ParameterError("bags", rule, f"a {type(bags).__name__}")
        if isinstance(bags, np.ndarray) and bags.ndim == 0:
            raise ParameterError("bags", rule, f"an array without dimensions, {bags!r}")
        if len(bags) == 0:
            raise ParameterError("bags", "must have at least one bag", "none")
        parts = [_matrix(one, f"bag {place}") for place, one in enumerate(bags)]
        widths = np.array([part.shape[1] for part in parts])
        if widths.min() < widths.max():
            other = int(np.flatnonzero(widths != widths[0])[0])
            column = isinstance(bags, tuple) and len(bags) == 2 and widths[1] == 1
            raise ValueError(
                f"bags must have the same features; got {widths[0]} columns in bag 0 and "
                f"{widths[other]} in bag {other}."
                + (" In (X, bag_index) the index is one-dimensional." if column else "")
            )
        offsets = np.concatenate([[0], np.cumsum([part.shape[0] for part in parts])])
        rows = np.arange(offsets[-1])
        if any(_is_sparse(part) for part in parts):
            instances = sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts], "csr"))
        else:
            instances = np.concatenate(parts, out=np.empty((rows.size, widths[0])))
        return cls._checked(instances, offsets, np.arange(len(parts)), rows)

    @classmethod
    def _checked(
        cls, instances: Any, offsets: IndexArray, labels: np.ndarray, rows: IndexArray
    ) -> Bags:
        """Return the bags after a look for values that are not finite, or too large."""
        values = instances.data if _is_sparse(instances) else instances
        values.flags.writeable = False
        bags = cls(instances, offsets, labels, rows)
        # NaN compares as false.
        largest = max(-float(values.min(initial=0.0)), float(values.max(initial=0.0)))
        if not largest <= validate.LARGEST:
            wrong = np.flatnonzero(~(np.abs(values) <= validate.LARGEST))[0]
            if _is_sparse(instances):
                place = int(np.searchsorted(instances.indptr, wrong, side="right")) - 1
                column = int(instances.indices[wrong])
            else:
                place, column = divmod(int(wrong), instances.shape[1])
            raise ParameterError(
                "bags",
                f"must hold finite numbers of at most {validate.LARGEST:g} in magnitude",
                Message(
                    f"{instances[place, column]:g} in ",
                    Column(column),
                    f" of {bags.where(place)} (row {rows[place]})",
                ),
                "Impute or rescale it, or leave that instance out.",
            )
        return bags

    def __len__(self) -> int:
        return int(self.labels.size)

    def __getitem__(self, index: int) -> Any:
        """Return the instances of one bag, (n_instances, n_features), not to be written to."""
        place = range(len(self))[index]
        return self.instances[self.offsets[place] : self.offsets[place + 1]]

    def __repr__(self) -> str:
        n_instances, n_features = self.instances.shape
        return f"Bags({len(self)} bags, {n_instances} instances, {n_features} features)"

    @property
    def n_features(self) -> int:
        return int(self.instances.shape[1])

    @cached_property
    def codes(self) -> IndexArray:
        """The place in `labels` of the bag of every instance, (n_instances,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def position(self, instance: int) -> int:
        """Return the place of an instance in its bag, from 0."""
        return int(instance - self.offsets[self.codes[instance]])

    def where(self, instance: int) -> str:
        """Return what an instance is called: "instance 3 of bag 7"."""
        return f"instance {self.position(instance)} of bag {self.labels[self.codes[instance]]}"


def is_indexed(bags: Any) -> bool:
    """Return whether bags are given as (X, bag_index), not as a list of arrays."""
    if not isinstance(bags, tuple) or len(bags) != 2:
        return False
    try:
        return np.ndim(bags[1]) < 2
    except ValueError:  # a ragged sequence
        return False


def _is_sparse(x: Any) -> bool:
    return bool(sp.issparse(x))


def _matrix(x: Any, name: str) -> Any:
    """Return instances as a float64 matrix or csr_array with at least one row and one column."""
    try:
        shape = np.shape(x)
    except ValueError:
        raise ParameterError(name, "must be an array", "rows of different lengths") from None
    if len(shape) == 2 and shape[0] == 0:
        raise ParameterError(name, "must have at least one instance", "none", "Leave it out.")
    if len(shape) != 2 or shape[1] == 0:
        raise ParameterError(
            name,
            "must be two-dimensional, instances by features, with at least one feature",
            f"shape {shape}",
            "A single instance is x.reshape(1, -1).",
        )
    try:
        if _is_sparse(x):
            return sp.csr_array(read_sparse(x, 1).gather(slice(None)))
        return read_dense(x, 1).gather(slice(None))
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(Message(f"{name}: ", error)) from error


# Similarities of bags with points (MILES) as a design that stores none of them.

# A tile of squared distances, concepts by instances, stays in the cache.
TILE_CONCEPTS, TILE_INSTANCES = 256, 1024
BLOCK_SIMILARITIES = 1 << 22  # The similarities of a scan block take 32 MiB.
# Concepts with ||z||^2 above this, in units of 2 sigma^2 from the centre, are compared by
# differences: ||x||^2 - 2x'z + ||z||^2 would lose more than three of 16 digits. Instances so far
# away from other concepts have similarities of 0 with them.
FAR = 1e3


class MilesDesign(Design):
    """The similarities of bags with concepts as a design, (n_bags, n_concepts): none is stored.

    With x_ij the instances of bag B_i and z_k the concepts,

        s_ik = max_j exp(-||x_ij - z_k||^2 / (2 sigma^2))
             = exp(-min_j ||x_ij - z_k||^2 / (2 sigma^2))

    Every scan computes them again, block by block: one matrix product of the instances and some
    concepts, the least distance in every bag, and one exp for each bag and concept. Cost of a scan
    O(n_instances n_concepts n_features); memory that of the instances and of a block. Sparse
    instances and concepts stay sparse; the products of both are.

    Parameters
    ----------
    bags : the rows of the matrix.
    concepts : (n_concepts, n_features) its columns; a csr_array where the instances are one.
    sigma : the width of the similarity, positive. In the article by Chen, Bi and Wang sigma^2
        stands for what is 2 sigma^2 here.
    centre : (n_features,) near the concepts: distances from there are small beside far values. Not
        used of sparse ones, which are compared as they are.
    n_threads : threads of a scan; None: as many as this process may use. They change no bit of any
        result.
    """

    def __init__(
        self,
        bags: Bags,
        concepts: Any,
        sigma: float,
        centre: FloatArray,
        n_threads: int | None = None,
    ) -> None:
        self.n_threads = n_threads or current_threads()
        self._bags, self._concepts, self._centre = bags, concepts, centre
        self._unit = 1.0 / (np.sqrt(2.0) * sigma)
        self._rows: Any
        if sp.issparse(bags.instances):
            self._rows = bags.instances * self._unit
            self._square = square_norms(self._rows)
            return
        # (x, ||x||^2) of every instance, from the centre and in units of sqrt(2) sigma: the
        # product with (-2z, 1) is the squared distance from z but for ||z||^2.
        n_instances, n_features = bags.instances.shape
        self._rows = np.empty((n_instances, n_features + 1))
        scaled = self._rows[:, :-1]
        np.subtract(bags.instances, centre, out=scaled)
        scaled *= self._unit
        np.einsum("ij,ij->i", scaled, scaled, out=self._rows[:, -1])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._bags), self._concepts.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the whole matrix, were it stored."""
        n_bags, n_concepts = self.shape
        return 8 * n_bags * n_concepts

    @property
    def block(self) -> int:
        n_bags, n_concepts = self.shape
        return min(max(1, BLOCK_SIMILARITIES // n_bags), n_concepts)

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        as_vectors(v, self.shape, start, stop)
        scores = np.empty((stop - start, *v.shape[1:]))
        for first in range(start, stop, self.block):
            last = min(first + self.block, stop)
            part = self._part(first, last)
            scores[first - start : last - start] = part.correlate(v, 0, last - first)
        return scores

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        as_vectors(weight, self.shape, start, stop)
        total, square = np.empty(stop - start), np.empty(stop - start)
        for first in range(start, stop, self.block):
            last = min(first + self.block, stop)
            place = slice(first - start, last - start)
            total[place], square[place] = self._part(first, last).moments(weight, 0, last - first)
        return total, square

    def gather(self, features: IndexArray | slice) -> FloatArray:
        """Return the similarities with some concepts, in the given order: F-ordered float64."""
        if not isinstance(features, slice):
            features = as_features(features, self.shape[1])
        concepts = self._concepts[features]
        similarity = np.full((concepts.shape[0], self.shape[0]), np.inf)
        tiles = [
            slice(first, first + TILE_CONCEPTS)
            for first in range(0, concepts.shape[0], TILE_CONCEPTS)
        ]

        def fill(tile: slice) -> None:
            self._fill(concepts[tile], similarity[tile])

        if tiles:
            with solver_threads(self.n_threads):
                map_threads(fill, tiles)
        return similarity.T

    def _part(self, start: int, stop: int) -> Dense:
        """Return the similarities with consecutive concepts in memory."""
        return Dense(self.gather(slice(start, stop)), self.n_threads)

    def _fill(self, concepts: FloatArray, similarity: FloatArray) -> None:
        """Put the similarities of all bags with a tile of concepts where infinity stands.

        similarity : (n_concepts, n_bags).
        """
        instances, offsets = self._bags.instances, self._bags.offsets
        square, distances = self._distances(concepts)
        for first in range(0, instances.shape[0], TILE_INSTANCES):
            last = min(first + TILE_INSTANCES, instances.shape[0])
            distance = distances(first, last)
            # The bags in this piece; the first and the last may go on beyond it.
            left = int(np.searchsorted(offsets, first, side="right")) - 1
            right = int(np.searchsorted(offsets, last))
            begins = np.maximum(offsets[left:right], first) - first
            nearest = similarity[:, left:right]
            np.minimum(nearest, np.minimum.reduceat(distance, begins, axis=1), out=nearest)
        similarity += square[:, None]
        np.maximum(similarity, 0.0, out=similarity)
        np.negative(similarity, out=similarity)
        np.exp(similarity, out=similarity)

    def _distances(self, concepts: Any) -> tuple[FloatArray, Callable[[int, int], FloatArray]]:
        """Return how squared distances from a tile of concepts are computed, in units of 2 sigma^2.

        A term for every concept, (n_concepts,), and a function of the first and last instance that
        gives the rest, (n_concepts, last - first).
        """
        instances = self._bags.instances
        sparse = sp.issparse(instances)
        z = concepts * self._unit if sparse else (concepts - self._centre) * self._unit
        square = square_norms(z)
        far = np.flatnonzero(square > FAR)
        factor: Any = z.T.tocsr() if sparse else None
        if not sparse:
            factor = np.concatenate([-2.0 * z, np.ones((z.shape[0], 1))], axis=1)

        def distances(first: int, last: int) -> FloatArray:
            found: FloatArray
            if sparse:
                found = (self._rows[first:last] @ factor).toarray().T
                found *= -2.0
                found += self._square[first:last]
            else:
                found = factor @ self._rows[first:last].T
            if far.size:
                # Differences of the user's values: those from the centre are rounded.
                part = instances[first:last]
                if sparse:
                    found[far] = square_distances(part, concepts[far]) * self._unit**2
                else:
                    found[far] = (cdist(concepts[far], part) * self._unit) ** 2
            return found

        terms = square.copy()
        terms[far] = 0.0
        return terms, distances


def square_norms(x: Any) -> FloatArray:
    """Return ||x_i||^2 of the rows of an array or a csr_array, (n_rows,)."""
    if isinstance(x, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", x, x))
    return np.asarray(x.multiply(x).sum(axis=1), np.float64)


def square_distances(x: Any, z: Any) -> FloatArray:
    """Return ||z_k - x_i||^2 of the rows of two csr_arrays by their differences, (n_z, n_x).

    Nothing cancels: the columns where z_k is not zero are subtracted, the others of x squared.
    """
    row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    outside = np.ones(x.shape[1], bool)
    found = np.empty((z.shape[0], x.shape[0]))
    for k in range(z.shape[0]):
        place = slice(z.indptr[k], z.indptr[k + 1])
        columns = z.indices[place]
        outside[columns] = False
        inner = x[:, columns].toarray() - z.data[place]
        other = np.where(outside[x.indices], x.data, 0.0)
        found[k] = np.bincount(row, other * other, x.shape[0]) + square_norms(inner)
        outside[columns] = True
    return found
