"""Bags of instances (MILES): the data of multiple-instance learning, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import validation as validate
from ..core.groups import Groups
from ..core.types import IndexArray
from .dense import read_dense
from .sparse_input import read_sparse


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
        rule = "bags must be a list of arrays (instances by features), or a tuple (X, bag_index)"
        if isinstance(bags, np.ndarray) and bags.ndim == 2 and bags.dtype != np.object_:
            raise ValueError(
                f"{rule}; got one array of shape {bags.shape}, which does not say whose its rows "
                "are. Pass (X, bag_index)."
            )
        if _is_sparse(bags):
            raise ValueError(
                f"{rule}; got one sparse matrix of shape {bags.shape}, which does not say whose "
                "its rows are. Pass (X, bag_index)."
            )
        if not isinstance(bags, Sequence | np.ndarray) or isinstance(bags, str | bytes):
            raise ValueError(f"{rule}; got a {type(bags).__name__}.")
        if isinstance(bags, np.ndarray) and bags.ndim == 0:
            raise ValueError(f"{rule}; got an array without dimensions, {bags!r}.")
        if len(bags) == 0:
            raise ValueError("bags must have at least one bag; got none.")
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
            raise ValueError(
                f"bags must hold finite numbers of at most {validate.LARGEST:g} in magnitude; got "
                f"{instances[place, column]:g} in column {column} of {bags.where(place)} (row "
                f"{rows[place]}). Impute or rescale it, or leave that instance out."
            )
        return bags

    def __len__(self) -> int:
        """Return the number of bags."""
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
        """The number of features of an instance."""
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
        raise ValueError(f"{name} must be an array; got rows of different lengths.") from None
    if len(shape) == 2 and shape[0] == 0:
        raise ValueError(f"{name} must have at least one instance; got none. Leave it out.")
    if len(shape) != 2 or shape[1] == 0:
        raise ValueError(
            f"{name} must be two-dimensional, instances by features, with at least one feature; "
            f"got shape {shape}. A single instance is x.reshape(1, -1)."
        )
    try:
        if _is_sparse(x):
            return sp.csr_array(read_sparse(x, 1).gather(slice(None)))
        return read_dense(x, 1).gather(slice(None))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error
