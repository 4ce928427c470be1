"""Features at a controlled false discovery rate, by random experiments with virtual dummies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..core import validation as validate
from ..core.parallel import one_blas_thread, solver_threads
from ..core.types import FloatArray, IndexArray
from ..data.columns import gather
from ..data.operations import center_scale
from ..data.wrappers import Scaled
from ..estimators import covariates as _covariates
from ..estimators.budget_regressor import BudgetRegressor
from .blocks import Blocks, blocks_of
from .competition import Competition, adjust, compete, compete_on, residuals
from .discoveries import Candidates, best_of, expected_false
from .discoveries import Discoveries as Discoveries
from .dummies import Dummies
from .experiments import Experiments
from .selectors import SelectedColumns
from .single_effects import stand_ins

LEAST_ROWS = 10
# Of a feature; as many in the mean exceed the best of features without effect, and are drawn.
MOST_DUMMIES = 1000
ROUNDS = 5  # of the covariance within blocks, beside the discoveries


class FalseDiscoverySelector(SelectedColumns):
    """The features of a linear model, with a bound on the share of them that are false.

    With H the features that have no effect given all others, and S those that are chosen,

        E |S and H| / max(|S|, 1)  <=  level,

    as far as the assumptions of the notes hold. In each of K random experiments features enter a
    linear model one by one, the one of the largest partial correlation first, among L dummies,
    until T of these have entered. A feature has a vote for each experiment that it entered before.
    Votes and T are chosen so that the estimate of the false share is at most the level, with the
    most features. No dummy is ever a column: of each only its partial correlation is drawn, and
    that only where it exceeds those of all features.

    Parameters
    ----------
    level : float
        The false discovery rate, above 0 and below 1.
    covariates : list of int or str, or None
        Columns that no feature is found for being correlated with, as components of ancestry, by
        index or name: features are compared beside them, and they are never found. One that depends
        on earlier ones changes nothing.
    n_experiments : int
        K, at least 2. A single feature can be found at a level of 1/K at least.
    n_dummies : int or None
        L, at most 1000 times the features that vary; None: as many as these.
    n_threads : int or None
        Of passes over X; None: all.
    random_state : int or None
        Of the dummies, from 0 to 2^32 - 1; None draws others every time.

    Attributes
    ----------
    discoveries_ : the `Discoveries`: votes, stand-ins and rivals of the features, the estimate;
        how many covariates and blocks there were, and the correlation within blocks.
    support_ : the discoveries, ascending; `get_support`, `transform` and `get_feature_names_out`
        are of them. It may be empty.

    Notes
    -----
    The estimate is (V + sum over S of q_j) / |S|. V is how many features would be chosen that are
    independent of the target and all others (`expected_false`): it is right where rows are
    independent and either the features are normal, or the errors of the target are. Where features
    *and* errors have heavy tails it is too small; normal scores of y are a remedy. q_j is the
    probability that feature j stands for another one that it is correlated with: it rests on the
    likelihood of the linear model. Features of large q_j are not counted as found, so that of two
    copies neither is.

    The target are numbers, or two classes, which enter as two numbers: the working model is linear
    for both, and partial correlations with a class are no odds ratios. Counts, several classes and
    survival times have no proven control here, and the latter two are refused.

    With covariates A, H are the features that have no effect given A and all others. Numbers,
    columns and dummies are compared in the space orthogonal to 1 and A; two classes less their
    probabilities given A, by a logistic model. The law of votes holds if features are linear in A
    with normal errors, or if that model of the target is right.

    With `groups`, rows of different blocks are independent. The errors of a block share an
    intercept, whose variance is that of the largest restricted likelihood beside the discoveries:
    rows are mixed so that their errors are independent, and dummies are drawn for these. Features
    may be dependent within blocks in any way. Where y, or all features, are constant within blocks,
    the rows are the means of blocks.

    Raises
    ------
    ValueError
        Where a parameter breaks its rule, X has fewer than 10 rows (more than covariates), y is
        constant, has several columns or more than two classes that are no numbers, covariates
        determine y, labels of groups are missing or all equal, the models exceed the memory, or X
        is not finite.

    Source
    ------
    Machkour, Muma and Palomar, The terminating-random experiments selector: fast high-dimensional
    variable selection with false discovery rate control, Signal Processing 231 (2025), for the
    experiments. Koka, Machkour, Palomar and Muma, Virtual dummies: enabling scalable FDR-controlled
    variable selection via sequential sampling of null features, arXiv:2604.07464 (2026), for
    dummies as projections. Here forward selection by partial correlations takes the place of LARS,
    dummies that cannot enter are not drawn at all, and the estimate counts votes by their law.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm.inference.false_discoveries import FalseDiscoverySelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1000))
    >>> y = X[:, :5].sum(axis=1) + rng.standard_normal(200)
    >>> FalseDiscoverySelector(level=0.1).fit(X, y).support_
    array([0, 1, 2, 3, 4])
    """

    def __init__(
        self,
        level: float = 0.1,
        *,
        covariates: Any = None,
        n_experiments: int = 20,
        n_dummies: int | None = None,
        n_threads: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.level = level
        self.covariates = covariates
        self.n_experiments = n_experiments
        self.n_dummies = n_dummies
        self.n_threads = n_threads
        self.random_state = random_state

    @one_blas_thread
    def fit(self, X: Any, y: Any, groups: Any = None) -> FalseDiscoverySelector:
        """Find features at the level.

        X : array, sparse matrix or array, data frame, path of a file that can be mapped, or a
            Design, (n_samples, n_features). It is never copied.
        y : (n_samples,) finite numbers, or two classes.
        groups : (n_samples,) labels of blocks of samples that belong together, or None: all are
            independent.
        """
        self._check()
        model = BudgetRegressor(1, n_threads=self.n_threads)
        data = model._read(X, _numbers(y), None)
        target = _target(data.labels)
        blocks = blocks_of(validate.in_memory(groups), target.size)
        with solver_threads(self.n_threads):
            design = center_scale(data.design, np.ones(target.size), center=True)
            usable = design.scale > 0
            validate.check_usable(int(usable.sum()), usable.size)
            own = _covariates.taken(self.covariates, None, data, usable)
            _check_left(int(usable.sum()))
            columns = np.empty((target.size, 0)) if own is None else own[1]
            if blocks is not None:
                found = self._find_in_blocks(design, usable, target, columns, blocks, data.names)
            elif own is not None:
                part, free = adjust(target, columns)
                found = self._find(compete(design, usable, part, free), data.names)
            else:
                found = self._find(Competition(design, usable.astype(float), target), data.names)
        self._keep_columns(model, data, found.found)
        self.discoveries_ = found
        return self

    def _check(self) -> None:
        """Raise ValueError where a parameter breaks a rule that no data are needed for."""
        if not 0 < validate.number(self.level) < 1:
            raise ValueError(
                f"level must be a rate above 0 and below 1; got {validate.shown(self.level)}."
            )
        if validate.check_iterations("n_experiments", self.n_experiments) < 2:
            raise ValueError(f"n_experiments must be at least 2; got {self.n_experiments}.")
        validate.check_count("n_dummies", self.n_dummies)
        validate.check_count("n_threads", self.n_threads)
        validate.check_seed(self.random_state)

    def _find_in_blocks(
        self,
        design: Scaled,
        usable: np.ndarray,
        y: FloatArray,
        columns: FloatArray,
        code: IndexArray,
        names: list[str] | None,
    ) -> Discoveries:
        """Return the discoveries where rows of a block depend on each other.

        The covariance within blocks is that beside the discoveries, which are found with it.

        columns : (n, q) the covariates. code : (n,) the block of every row.
        """
        part, free = adjust(y, columns)
        blocks = Blocks(design, usable, code, y)
        known, fixed = np.empty(0, np.int64), free
        for _ in range(ROUNDS):
            rows, correlation = blocks.whitening(part, fixed)
            found = self._find(compete_on(rows, design, usable, part, free), names)
            if blocks.are_alike or np.array_equal(found.found, known):
                break
            known = found.found
            fixed = np.column_stack([free, residuals(free, gather(design, known).dense())])
        return replace(found, n_blocks=blocks.n_blocks, correlation=correlation)

    def _find(self, competition: Competition, names: list[str] | None) -> Discoveries:
        """Return the discoveries, from experiments with more and more dummies."""
        n_usable, n_covariates = int((competition.left > 0).sum()), competition.n_free - 1
        n_rows = competition.y.size - n_covariates
        if n_rows < LEAST_ROWS:
            raise ValueError(
                f"X must have at least {LEAST_ROWS} rows more than covariates for experiments with "
                "dummies, or as many blocks where the target or all features are constant within "
                f"them; got {competition.y.size}, and {n_covariates} covariates."
            )
        _check_left(n_usable)
        largest = n_rows // 2
        n_dummies = n_usable if self.n_dummies is None else int(self.n_dummies)
        if n_dummies > MOST_DUMMIES * n_usable:
            raise ValueError(
                f"n_dummies must be at most {MOST_DUMMIES * n_usable:,}, {MOST_DUMMIES} times the "
                f"features that vary; got {n_dummies:,}. Hardly a feature could be the first."
            )
        seeds = np.random.SeedSequence(self.random_state).spawn(self.n_experiments)
        dummies = [Dummies(np.random.default_rng(seed), float(n_dummies)) for seed in seeds]
        experiments = Experiments(
            competition.design, competition.left, competition.y, dummies, largest, competition.free
        )
        candidates: list[Candidates] = []
        for n_entered in range(1, largest + 1):
            reached = experiments.run(n_entered)
            own = list(self._candidates(experiments, n_entered, n_usable / n_dummies))
            candidates += [one for one in own if 0 < one.features.size <= largest]
            strictest = own[-1]
            if not reached or strictest.false > self.level * strictest.features.size:
                break
        candidates = [one for one in candidates if one.false <= self.level * one.features.size]
        settings = n_dummies, n_usable, self.n_experiments, float(self.level), n_covariates
        if not candidates:
            none, empty = np.empty(0, np.int64), np.empty(0)
            return Discoveries(none, empty, empty, none, 0, 0.0, 1.0, n_entered, *settings)
        one, doubt, rivals, n_found, estimate = best_of(
            candidates, float(self.level), lambda some: stand_ins(competition, some)
        )
        named = None if names is None else tuple(str(names[at]) for at in one.features)
        others = (
            None if names is None else tuple(str(names[at]) if at >= 0 else "" for at in rivals)
        )
        return Discoveries(
            one.features, one.votes, doubt, rivals, n_found, estimate, one.least, one.n_entered,
            *settings, names=named, rival_names=others,
        )  # fmt: skip

    def _candidates(
        self, experiments: Experiments, n_entered: int, share: float
    ) -> Iterator[Candidates]:
        """Yield the features with more than half of the votes, and so on up to all of them.

        share : features for each dummy.
        """
        K = self.n_experiments
        features, votes = experiments.votes(n_entered)
        for least in range(K // 2 + 1, K + 1):
            enough = votes >= least
            false = expected_false(least, K, n_entered) * share
            yield Candidates(features[enough], votes[enough] / K, false, least / K, n_entered)

    def __sklearn_tags__(self) -> Any:
        """Return the tags: sparse input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _check_left(n_usable: int) -> None:
    """Raise ValueError where covariates or blocks leave no feature."""
    if not n_usable:
        raise ValueError(
            "X must have a column that covariates and blocks leave a part of, to select from; "
            "all others are sums of these."
        )


def _numbers(y: Any) -> Any:
    """Return two classes as 0 and 1, and numbers as they are."""
    given = np.asarray(validate.in_memory(y))
    if given.dtype.kind in "iuf" or given.ndim != 1:
        return y
    labels = validate.check_target(y, given.size)
    classes = np.unique(labels)
    if classes.size > 2 and all(isinstance(one, (int, float)) for one in classes.tolist()):
        return y
    if classes.size > 2:
        raise ValueError(
            "y must be numbers, or two classes, for a linear working model; got "
            f"{classes.size} classes. Compare one class with the others."
        )
    return (labels == classes[-1]).astype(float)


def _target(y: np.ndarray) -> FloatArray:
    """Return a target that a linear model can explain, (n,)."""
    if y.ndim != 1:
        raise ValueError(
            f"y must be one column of numbers; got {y.shape[1]}. Fit each response by itself."
        )
    if y.size < LEAST_ROWS:
        raise ValueError(
            f"X must have at least {LEAST_ROWS} rows for experiments with dummies; got {y.size}."
        )
    if np.ptp(y) == 0:
        raise ValueError(f"y must vary; got {y.size} times {validate.shown(y[0])}.")
    return np.asarray(y, np.float64)


__all__ = ["Discoveries", "FalseDiscoverySelector"]
