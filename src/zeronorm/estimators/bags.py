"""Classifiers of bags: similarities with instances, and a classifier that selects among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    TransformerMixin,
    clone,
    is_classifier,
)
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..core import validation as validate
from ..core.errors import Message, Parameter, ParameterError
from ..core.targets import check_target
from ..core.types import FloatArray
from ..data import resolve_threads
from ..data.bags import Bags, MilesDesign, is_indexed, square_distances, square_norms
from .base import SparseLinearModel, with_parameters
from .measures import MeasureClassifier

# MilesEmbedding: bags as vectors of similarities.

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

        Every estimator of the package takes it instead of X.
        """
        check_is_fitted(self)
        data = Bags.of(bags)
        if data.n_features != self.n_features_in_:
            raise ParameterError(
                "bags",
                f"must have the {self.n_features_in_} features of those that "
                f"{type(self).__name__} was fitted to",
                f"{data.n_features}",
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
            raise ParameterError(
                "memory_limit",
                f"must be at least {design.nbytes} bytes, for the similarities of {n_bags} bags "
                f"with {n_concepts} instances",
                f"{self.memory_limit!r}",
                "Raise it, or pass design(bags) to an estimator: it computes them when they are "
                "needed.",
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


MOST_INSTANCES = 20  # selected by default


@dataclass(frozen=True, eq=False)
class SelectedInstance:
    """A training instance that a model of bags compares others with.

    Parameters
    ----------
    bag : the name of its bag: of a list of bags, the place in the list.
    position : its place in the bag, from 0.
    row : its row in the X of (X, bag_index); of a list, in all its arrays one below the other.
    weight : the coefficient of the similarity with it; positive speaks for `classes_[1]`. With
        several classes (n_classes,), one for each.
    instance : (n_features,) itself; of sparse bags a csr_array (1, n_features).
    """

    bag: Any
    position: int
    row: int
    weight: float | FloatArray
    instance: Any = field(repr=False)


def _has(name: str) -> Callable[[Any], bool]:
    """Return whether the wrapped estimator has a method."""

    def check(model: Any) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), name)
        return True

    return check


@with_parameters
class MultipleInstanceClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of bags of instances, where only the bags have labels (MILES).

    Every bag becomes the vector of its similarities with all training instances, as
    `MilesEmbedding` computes them, and a classifier of this package selects few of these: the
    scores of new bags depend on the selected instances alone, and only similarities with them are
    computed.

    Bags are a list of arrays (n_instances, n_features) with one label for each, or all instances
    in one tuple (X, bag_index) with one label for every row, the same in all rows of a bag. Results
    for a tuple are in the order of the sorted names of its bags (`Bags.of((X, bag_index)).labels`).
    Instances may be sparse, words of texts for example: they stay so.

    Parameters
    ----------
    estimator : classifier of this package, or None
        What selects; its parameters count, it is not changed. None:
        `MeasureClassifier("f1", n_features=20)`.
    sigma : "median" or float
        The width of the similarity, see `MilesEmbedding`.
    memory_limit : float
        Similarities of the training bags that take more bytes are not stored but computed again in
        every scan, which takes longer and gives the same.
    n_threads : int or None
        Threads that compute similarities; all allowed ones by default.

    Attributes
    ----------
    estimator_ : the fitted classifier; its X is `embedding_.design(bags)` for any bags.
    embedding_ : the fitted `MilesEmbedding`.
    selected_instances_ : list of `SelectedInstance`, the largest weight first.
    classes_ : labels.

    Raises
    ------
    ValueError
        Where bags or labels break a rule; the message names the bag and says what to do.
    TypeError
        Where the estimator is no classifier of this package.

    References
    ----------
    Chen, Bi and Wang, MILES: multiple-instance learning via embedded instance selection, IEEE
    TPAMI 28(12), 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import MultipleInstanceClassifier, BudgetClassifier
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.standard_normal((5, 4)) for _ in range(40)]
    >>> for bag in bags[:20]:
    ...     bag[0] += 4.0
    >>> y = np.repeat([1, 0], 20)
    >>> model = MultipleInstanceClassifier(BudgetClassifier(n_features=1), sigma=2.0).fit(bags, y)
    >>> model.selected_instances_[0].position, model.score(bags, y)
    (0, 0.975)
    """

    estimator: Any = field(default=None, kw_only=False)
    sigma: float | str = "median"
    memory_limit: float = 2**30
    n_threads: int | None = None

    def fit(self, bags: Any, y: Any) -> MultipleInstanceClassifier:
        """Embed the bags and fit the classifier to their similarities with all instances.

        Parameters
        ----------
        bags : a list of arrays (n_instances, n_features), a tuple (X, bag_index), or `Bags`.
        y : (n_bags,) labels, two or more classes; with (X, bag_index) one for every row of X.
        """
        limit = validate.check_positive_or_infinite("memory_limit", self.memory_limit)
        data = Bags.of(bags)
        estimator = self._new_estimator(data.rows.size)
        target = _labels_of_bags(bags, data, y)
        embedding = MilesEmbedding(
            self.sigma, memory_limit=self.memory_limit, n_threads=self.n_threads
        ).fit(data)
        design = embedding.design(data)
        estimator.fit(design.gather(slice(None)) if design.nbytes <= limit else design, target)
        self.estimator_, self.embedding_ = estimator, embedding
        self.classes_ = estimator.classes_
        self.n_features_in_ = data.n_features
        return self

    def _new_estimator(self, n_instances: int) -> Any:
        """Return the classifier to fit; `n_instances` are there to select from."""
        if self.estimator is None:
            return MeasureClassifier("f1", n_features=min(MOST_INSTANCES, n_instances))
        if not isinstance(self.estimator, SparseLinearModel) or not is_classifier(self.estimator):
            name = getattr(self.estimator, "__name__", type(self.estimator).__name__)
            raise TypeError(
                f"estimator must be a classifier of this package, or None; got {name}. For others, "
                "put MilesEmbedding before them in a scikit-learn Pipeline."
            )
        return clone(self.estimator)

    def _design(self, bags: Any) -> MilesDesign:
        """Return bags as the estimator reads them: it asks for selected columns only."""
        check_is_fitted(self)
        return self.embedding_.design(bags)

    def predict(self, bags: Any) -> np.ndarray:
        """Return the label of every bag, (n_bags,)."""
        design = self._design(bags)
        return np.asarray(self.estimator_.predict(design))

    def decision_function(self, bags: Any) -> FloatArray:
        """Return the scores of every bag, (n_bags,) or (n_bags, n_classes)."""
        design = self._design(bags)
        return np.asarray(self.estimator_.decision_function(design))

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator,unused-ignore]
    def predict_proba(self, bags: Any) -> FloatArray:
        """Return the probabilities of every bag, (n_bags, n_classes)."""
        design = self._design(bags)
        return np.asarray(self.estimator_.predict_proba(design))

    def score(self, bags: Any, y: Any) -> float:
        """Return the score of the wrapped estimator; y as for `fit`."""
        check_is_fitted(self)
        data = Bags.of(bags)
        target = _labels_of_bags(bags, data, y)
        return float(self.estimator_.score(self._design(data), target))

    @property
    def selected_instances_(self) -> list[SelectedInstance]:
        """The instances that the model compares bags with, the largest |weight| first."""
        if not hasattr(self, "estimator_"):
            raise AttributeError("selected_instances_ is set by fit.")
        data, support = self.embedding_.bags_, self.estimator_.support_
        weights, sparse = self.estimator_.coef_[:, support], sp.issparse(data.instances)
        order = np.argsort(-np.abs(weights).max(axis=0), kind="stable")
        return [
            SelectedInstance(
                bag=validate.plain(data.labels[data.codes[place]]),
                position=data.position(place),
                row=int(data.rows[place]),
                weight=float(weight[0]) if weight.size == 1 else weight,
                instance=data.instances[[place]] if sparse else data.instances[place],
            )
            for place, weight in zip(support[order], weights[:, order].T, strict=True)
        ]

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: bags are no matrix."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def _labels_of_bags(bags: Any, data: Bags, y: Any) -> np.ndarray:
    """Return the label of every bag, (n_bags,), of y as the user gives it."""
    if not is_indexed(bags):
        return check_target(y, len(data), "bag")
    n_rows = data.rows.size
    if np.ndim(y) == 1 and len(y) == len(data) != n_rows:
        raise ParameterError(
            "y",
            Message("must have one label per row of ", Parameter("X"), " with (X, bag_index)"),
            f"{len(y)} labels for {n_rows} rows in {len(data)} bags",
            "Labels of bags go with Bags.of((X, bag_index)), in the order of its labels.",
        )
    labels = check_target(y, n_rows)[data.rows]
    first = labels[data.offsets[:-1]]
    other = np.flatnonzero(labels != first[data.codes])
    if other.size:
        bag = int(data.codes[other[0]])
        rows = data.rows[[data.offsets[bag], other[0]]]
        given = [validate.plain(label) for label in (first[bag], labels[other[0]])]
        raise ParameterError(
            "y",
            f"must have one label per bag; bag {validate.plain(data.labels[bag])!r} has "
            f"{given[0]!r} (row {rows[0]}) and {given[1]!r} (row {rows[1]})",
            "",
            "Give all its rows the same label, or make two bags of it.",
        )
    return np.asarray(first)
