"""MilesEmbedding: bags as vectors of similarities."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..core import validation as validate
from ..core.types import FloatArray
from ..data import resolve_threads
from ..data.bags import Bags
from ..data.miles import MilesDesign, square_distances, square_norms
from .parameters import with_parameters

MEDIAN_SAMPLE = 500  # The distances of so many instances give the median.


@with_parameters
class MilesEmbedding(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Bags as vectors: their similarities with all instances of the bags it was fitted to.

    A bag B is as similar to a concept z as its nearest instance,

        s(z, B) = max_{x in B} exp(-||x - z||^2 / (2 sigma^2))

    in (0, 1], and every training instance, of positive and negative bags, is a concept. A linear
    model that selects few of these features says which instances make a bag positive (multiple
    instance learning via embedded instance selection, MILES).

    Parameters
    ----------
    sigma : "median" or float
        The width of the similarity, on the scale of your features: standardise instances whose
        features have different units. "median": the median distance between different training
        instances (of 500 of them, evenly from the centre outwards, where there are more).
        In the article sigma^2 stands for what is 2 sigma^2 here.
    memory_limit : float
        The most bytes that `transform` may return; inf: no limit.
    n_threads : int or None
        Threads; all allowed ones by default. The result does not depend on it.

    Attributes
    ----------
    bags_ : the training bags as `Bags`; `bags_.instances`, (n_concepts, n_features_in_), are the
        concepts.
    sigma_ : the width.

    References
    ----------
    Chen, Bi and Wang, MILES: multiple-instance learning via embedded instance selection, IEEE
    TPAMI 28(12), 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm.estimators import MilesEmbedding
    >>> bags = [np.array([[0.0], [1.0]]), np.array([[3.0]])]
    >>> MilesEmbedding(sigma=1.0).fit_transform(bags).round(3)
    array([[1.   , 1.   , 0.135],
           [0.011, 0.135, 1.   ]])
    """

    sigma: float | str = field(default="median", kw_only=False)
    memory_limit: float = 2**30
    n_threads: int | None = None

    def fit(self, bags: Any, y: Any = None) -> MilesEmbedding:
        """Keep the instances as concepts and settle sigma.

        Parameters
        ----------
        bags : a list of arrays (n_instances, n_features), a tuple (X, bag_index), or `Bags`.
            Sparse instances stay sparse.
        y : not used.
        """
        sigma = validate.check_sigma(self.sigma)
        validate.check_positive_or_infinite("memory_limit", self.memory_limit)
        resolve_threads(self.n_threads)
        concepts = Bags.of(bags)
        centre = np.asarray(concepts.instances.mean(axis=0))
        self.sigma_ = _median_distance(concepts.instances, centre) if sigma == "median" else sigma
        self.bags_, self._centre = concepts, centre
        self.n_features_in_ = concepts.n_features
        return self

    def design(self, bags: Any) -> MilesDesign:
        """Return the similarities as a design that computes them when they are needed.

        Every estimator of the package takes it in place of X.
        """
        check_is_fitted(self)
        data = Bags.of(bags)
        if data.n_features != self.n_features_in_:
            raise ValueError(
                f"bags must have the {self.n_features_in_} features of those that "
                f"{type(self).__name__} was fitted to; got {data.n_features}."
            )
        sparse = sp.issparse(self.bags_.instances)
        if sparse != sp.issparse(data.instances):
            other = data.instances
            data = replace(data, instances=sp.csr_array(other) if sparse else other.toarray())
        threads = resolve_threads(self.n_threads)
        return MilesDesign(data, self.bags_.instances, float(self.sigma_), self._centre, threads)

    def transform(self, bags: Any) -> FloatArray:
        """Return the similarities, (n_bags, n_concepts), F-ordered.

        Bags of a tuple (X, bag_index) are in the order of their sorted names.

        Raises
        ------
        ValueError
            Where they take more than `memory_limit`, before any is computed.
        """
        design = self.design(bags)
        limit = validate.check_positive_or_infinite("memory_limit", self.memory_limit)
        if design.nbytes > limit:
            n_bags, n_concepts = design.shape
            raise ValueError(
                f"memory_limit must be at least {design.nbytes} bytes, for the similarities of "
                f"{n_bags} bags with {n_concepts} instances; got {self.memory_limit!r}. Raise it, "
                "or pass design(bags) to an estimator: it computes them when they are needed."
            )
        return design.gather(slice(None))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the concepts, (n_concepts,): "instance 3 of bag 7", from 0.

        input_features : not used.
        """
        check_is_fitted(self)
        n_concepts = self.bags_.instances.shape[0]
        return np.array([self.bags_.where(place) for place in range(n_concepts)], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: bags are no matrix."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def _median_distance(instances: Any, centre: FloatArray) -> float:
    """Return the median distance of different instances.

    Of many, those are taken that are evenly spaced in the order of the distance from the centre,
    which does not depend on the order of the rows.
    """
    sparse = sp.issparse(instances)
    if instances.shape[0] > MEDIAN_SAMPLE:
        if sparse:
            # ||x||^2 - 2x'c, which orders them as the distances do.
            radius = square_norms(instances) - 2.0 * (instances @ centre)
        else:
            radius = cdist(instances, centre[None, :])[:, 0]
        places = np.linspace(0, radius.size - 1, MEDIAN_SAMPLE).round().astype(np.int64)
        instances = instances[np.argsort(radius, kind="stable")[places]]
    if sparse:
        above = np.triu_indices(instances.shape[0], 1)
        distance = np.sqrt(square_distances(instances, instances)[above])
    else:
        distance = pdist(instances)
    distance = distance[distance > 0]
    median = float(np.median(distance)) if distance.size else 0.0
    if median < validate.SMALLEST_SIGMA:
        raise ValueError(
            "sigma='median' needs instances that differ (by "
            f"{validate.SMALLEST_SIGMA:g} or more); the median of their distances is {median:g}. "
            "Pass sigma as a number, or rescale the features."
        )
    return median
