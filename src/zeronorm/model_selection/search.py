"""The number of features, or of groups, by cross-validation, for every estimator with a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..core import validation as validate
from ..core.errors import ParameterError
from ..core.files import PathLike
from ..core.parallel import one_blas_thread
from ..core.types import FloatArray, IndexArray
from ..estimators.base import NestedParameters, with_parameters
from ..estimators.folds import RULES, named_fold, repeats_of
from ..estimators.held_out import CrossValidation, Validation, standard_error
from ..estimators.problem import Selector
from ..estimators.sizes import AUTOMATIC, is_automatic
from ..measures import Measure
from ..solvers import Progress, run_together
from ..solvers.checkpoint import recorded
from ..solvers.driver import Solver
from .cross_validation import cross_validate, prepared


def _has(name: str) -> Callable[[Any], bool]:
    """Return whether the estimator has a method."""

    def check(search: Any) -> bool:
        getattr(search.estimator, name)
        return True

    return check


def given_offset(offset: Any) -> dict[str, Any]:
    """Return an offset as an argument; none for estimators that do not know offsets."""
    return {} if offset is None else {"offset": offset}


@with_parameters
class BudgetCV(MetaEstimatorMixin, SelectorMixin, NestedParameters):  # type: ignore[misc]
    """A model whose number of features, or of groups, is chosen by cross-validation.

    The features of all sizes are selected inside every fold, in the same passes over X; with l_kf
    the mean loss of size k on the samples that fold f holds out, of F folds (log-loss, squared
    error, deviance, partial likelihood: see `CrossValidation.deviance`; with `scoring` or `measure`
    minus the score),

        m_k = sum_f l_kf / F,    b = argmin m_k,    d_kf = l_kf - l_bf,
        e_k = sqrt(sum_f (d_kf - m_k + m_b)^2 / (F - 1) / F),

    (of repeated folds F / R in place of the last F, see `CrossValidation.standard_error`)
    rule "1se" takes the smallest k with m_k <= m_b + e_k, and "best" takes b.

    Parameters
    ----------
    estimator : BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis or MeasureClassifier
        Its other parameters count. It is not changed.
    n_features : "auto", list or range of int, or None
        The sizes to compare. "auto": 1 to 6, then 8, 10, 12, 15, 20, 25, 30, 40 and 50, as far as
        half of the rows and the columns that are not constant go. None: whole groups are counted.
    n_groups : "auto", list or range of int, int, or None
        Of an estimator with groups of features, the numbers of groups to compare: "auto" takes the
        same numbers, as far as half of the rows and the groups go. With `n_features` all pairs are
        compared, of which those with fewer groups are the smaller ones, then those with fewer
        features. None: as the estimator has it.
    cv, scoring, measure, random_state : as of `cross_validate`
        Scores are the larger the better.
    rule : "1se" or "best"

    Attributes
    ----------
    n_features_, n_groups_ : the chosen size; of whole groups there is no `n_features_`, and of
        features without groups no `n_groups_`.
    best_estimator_ : the estimator fitted on all rows for all sizes (`path_` has their models), of
        which the chosen one predicts. `predict`, `score`, `transform`, `get_support` and the like,
        `support_`, `coef_`, `intercept_` and `classes_` are its own.
    validation_ : the `CrossValidation`: sizes, scores (n_sizes, n_folds), mean, standard error. The
        score of the chosen size is a little too good, as the folds chose it: where that matters,
        `zeronorm.model_selection.nested_cross_validate` scores the choice with the rest.

    Raises
    ------
    ValueError
        As by `fit` of the estimator and by `cross_validate`, and where `cv` gives one fold only.

    Source
    ------
    Breiman, Friedman, Olshen and Stone, Classification and regression trees, 1984, section 3.4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import BudgetCV, BudgetRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 400))
    >>> y = X[:, 3] + X[:, 5] - X[:, 7] + 0.3 * rng.standard_normal(100)
    >>> search = BudgetCV(BudgetRegressor()).fit(X, y)
    >>> search.n_features_, search.support_
    (3, array([3, 5, 7]))
    """

    estimator: Any = field(kw_only=False)
    n_features: str | Sequence[int] | None = field(default="auto", kw_only=False)
    n_groups: str | int | Sequence[int] | None = field(default=None, kw_only=False)
    cv: Any = 5
    scoring: Any = None
    measure: str | Measure | None = None
    rule: Literal["1se", "best"] = "1se"
    random_state: int | None = 0

    @one_blas_thread()
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        groups: Any = None,
    ) -> BudgetCV:
        """Choose the size, and fit the model on all rows.

        X, y, sample_weight, offset, groups : as for `fit` of the estimator. After a fit with an
            offset `predict` and `score` need one, too.
        """
        model = self._model()
        given = given_offset(offset)
        given |= {} if groups is None else {"groups": groups}
        file = self.estimator.checkpoint
        # One file has the folds and the fit.
        model.checkpoint = None  # published classes have no such parameter
        with recorded(file):
            self.validation_ = cross_validate(
                model, X, y, cv=self.cv, sample_weight=sample_weight, measure=self.measure,
                scoring=self.scoring, random_state=self.random_state, **given,
            )  # fmt: skip
            size = self.validation_.choose(self.rule)
            model.set_params(**_budgets(model, self.validation_.sizes))
            model.fit(X, y, sample_weight, **given)
        model._keep_size(size)
        model.checkpoint = file
        self.best_estimator_ = model
        for name in ("n_features", "n_groups"):
            self.__dict__.pop(f"{name}_", None)
        for name, chosen in _budgets(model, [size]).items():
            setattr(self, f"{name}_", chosen[0])
        self._keep_names()
        return self

    def _keep_names(self) -> None:
        """Set what scikit-learn asks a fitted estimator for, as the chosen model has it."""
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))
            else:
                self.__dict__.pop(name, None)

    @property
    def support_(self) -> IndexArray:
        """The selected features."""
        return self._best.support_  # type: ignore[no-any-return]

    @property
    def coef_(self) -> FloatArray:
        """As of the estimator."""
        return np.asarray(self._best.coef_)

    @property
    def intercept_(self) -> Any:
        """As of the estimator."""
        return self._best.intercept_

    @property
    def groups_(self) -> np.ndarray:
        """The labels of the groups of the selected features."""
        return np.asarray(self._best.groups_)

    @property
    def _best(self) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("set by fit.")
        return self.best_estimator_

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """Return what the estimator with the chosen budgets predicts.

        offset : as for `predict` of the estimator.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X, **given_offset(offset)))

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """Return the score of the estimator: accuracy, R^2 or D^2, or Harrell's C.

        offset : as for `predict` of the estimator.
        """
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y, sample_weight, **given_offset(offset)))

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator,unused-ignore]
    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of the estimator with the chosen budgets."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator,unused-ignore]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the estimator with the chosen budgets."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator,unused-ignore]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of these probabilities."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_log_proba(X))

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X."""
        check_is_fitted(self)
        return self.best_estimator_.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the selected features, (k,)."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.get_feature_names_out(input_features))

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.get_support())

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator."""
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags = inner.target_tags
        return tags

    def _model(self) -> Any:
        """Return the estimator with the sizes to compare, not fitted; check all but the data."""
        validate.check_option("rule", self.rule, RULES)
        if not isinstance(self.estimator, Selector):
            raise TypeError(
                "estimator must be one of zeronorm with a budget of features; got "
                f"{type(self.estimator).__name__}."
            )
        model = clone(self.estimator)
        if self.n_groups is not None:
            if "n_groups" not in model.get_params():
                raise TypeError(
                    f"n_groups is not for a {type(model).__name__}, which has no groups of "
                    f"features; got {self.n_groups!r}."
                )
            model.set_params(n_groups=self.n_groups)
        name = "n_features"
        wanted: Any = self.n_features
        if wanted is None and getattr(model, "feature_groups", None) is not None:
            name, wanted = "n_groups", model.n_groups
        if not is_automatic(wanted):
            if validate.dimensions(wanted) == 0:
                raise ParameterError(
                    name,
                    "must be 'auto' or a list or range of sizes to compare",
                    f"{wanted!r}",
                    "For one size fit the estimator itself.",
                )
            wanted = list(wanted)
        return model.set_params(**{name: wanted})


def automatic_budgets(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, offset: Any = None
) -> dict[str, list[int]]:
    """Return the parameters that are "auto", with the numbers that are worth comparing.

    estimator : with a budget of features; it is not changed.
    """
    data = estimator._read(X, y, sample_weight, offset)
    sizes = None
    if data.design.shape[1] > 2 * AUTOMATIC[-1]:  # else constant columns may matter
        sizes = estimator._sizes_of_folds(data)
    budgets = _budgets(estimator, estimator._pose(data).sizes if sizes is None else sizes)
    return {name: each for name, each in budgets.items() if is_automatic(getattr(estimator, name))}


def _budgets(model: Any, sizes: Sequence[Any]) -> dict[str, list[int]]:
    """Return the parameters of an estimator that some sizes are of, and their numbers, growing."""
    both = "n_features", "n_groups"
    names = [name for name in both if getattr(model, name, None) is not None]
    rows = [size if isinstance(size, tuple) else (size,) for size in sizes]
    return {
        name: sorted({int(number) for number in numbers})
        for name, numbers in zip(names, zip(*rows, strict=True), strict=False)
    }


@dataclass(frozen=True, slots=True)
class NestedCrossValidation:
    """The scores of a search for the size on rows that neither chose a size nor fitted a model."""

    sizes: tuple[Any, ...]  # of every outer fold, the size that its inner folds choose
    scores: FloatArray  # (n_folds,) of that size on the rows that the outer fold holds out
    baseline: FloatArray  # (n_folds,) the same of the model without features
    measure: str
    validations: tuple[CrossValidation, ...]  # the inner ones
    repeats: float = 1.0  # how often a row is held out by outer folds

    @property
    def mean(self) -> float:
        """Mean of the scores over the outer folds."""
        return float(self.scores.mean())

    @property
    def standard_error(self) -> float:
        """Its standard error, as of `CrossValidation`; of one fold NaN."""
        if self.scores.size < 2:
            return float("nan")
        return float(standard_error(self.scores[None, :], self.repeats)[0])


@one_blas_thread()
def nested_cross_validate(
    search: Any,
    X: Any,
    y: Any,
    *,
    cv: int | BaseCrossValidator | Iterable[Any] = 5,
    sample_weight: Any = None,
    offset: Any = None,
    groups: Any = None,
    random_state: int | None = 0,
    checkpoint: PathLike | None = None,
    callback: Callable[[Progress], None] | None = None,
) -> NestedCrossValidation:
    """Cross-validate a search for the number of features, the choice of the size with the rest.

    For every outer fold f, with rows T_f of training and H_f held out,

        k_f = the size that `search` chooses by the inner folds of T_f,
        s_f = the score on H_f of the model of k_f features that is selected on T_f,

    and the estimate is the mean of s_f. The rows H_f choose nothing, as in
    `cross_val_score(search, X, y)`, whose scores these are; but all inner and outer folds are
    selected in the same passes over X, for all sizes.

    Parameters
    ----------
    search : a `BudgetCV`, or an estimator with n_features="auto", or with groups and
        n_groups="auto". It is neither fitted nor changed.
        Its `cv` is of the inner folds, a number or a splitter, and its `scoring` or `measure` is of
        both. Scores of classes are not calibrated, as of `cross_validate`.
    X, y, sample_weight, offset : as for `fit` of its estimator.
    groups : as of `cross_validate`, of the outer and the inner folds.
    cv, random_state, checkpoint, callback : of the outer folds, as of `cross_validate`.

    Returns
    -------
    A `NestedCrossValidation`: `sizes` and `scores` of the outer folds, `mean`, `standard_error`,
    the `baseline` without features, and the inner `validations`.

    Raises
    ------
    TypeError, ValueError
        As by `cross_validate` and `fit` of the search, and where its `cv` are pairs of row numbers,
        which cannot be of all outer folds.

    Source
    ------
    Varma and Simon, Bias in error estimation when using cross-validation for model selection, BMC
    Bioinformatics 7(91), 2006. Stone, Cross-validatory choice and assessment of statistical
    predictions, JRSS B 36(2), 1974.

    Examples
    --------
    >>> from zeronorm import BudgetClassifier, BudgetCV
    >>> from zeronorm.datasets import load_demo
    >>> from zeronorm.model_selection import nested_cross_validate
    >>> X, y = load_demo(return_X_y=True)
    >>> honest = nested_cross_validate(BudgetCV(BudgetClassifier()), X, y)
    >>> len(honest.sizes), honest.scores.shape
    (5, (5,))
    """
    if not isinstance(search, BudgetCV):
        search = BudgetCV(search, getattr(search, "n_features", "auto"))
    inner_cv = search.cv
    if not (validate.is_integer(inner_cv) or hasattr(inner_cv, "split")):
        raise ParameterError(
            "cv",
            "of the search must be a number of folds or a splitter, as every outer fold has "
            "other rows",
            validate.shown(inner_cv),
        )
    model = search._model()
    judge, data = prepared(
        model, X, y, sample_weight, search.measure, search.scoring, offset, groups
    )
    with recorded(search.estimator.checkpoint if checkpoint is None else checkpoint):
        outer = Validation.pose(judge, data, cv, None, random_state)
        inner = []
        for number, (train, _) in enumerate(outer.folded.folds):
            with named_fold(number):
                part = data.rows(train)
                inner.append(Validation.pose(judge, part, inner_cv, None, search.random_state))
        solvers: list[Solver[Any]] = []
        for problem, own in zip(outer.folded.problems, inner, strict=True):
            solvers.append(replace(problem, sizes=own.folded.sizes).solver(certify=False))
            solvers += own.folded.solvers()
        rows = outer.folded.rows()
        for number, own in enumerate(inner):
            rows |= {f"fold {number} {name}": each for name, each in own.folded.rows().items()}
        identity = model._identity(data, **rows)
        paths = iter(run_together(solvers, callback, model.n_threads, identity))
        sizes, scores, baseline, validations = [], [], [], []
        for number, own in enumerate(inner):
            fold = outer.held_out(number, next(paths))
            validation = own.scored([next(paths) for _ in own.folded.problems])
            size = validation.choose(search.rule)
            sizes.append(size)
            scores.append(judge.score(judge.scores_of(fold, size), fold))
            baseline.append(judge.baseline(fold))
            validations.append(validation)
    tests = [test for _, test in outer.folded.folds]
    return NestedCrossValidation(
        tuple(sizes), np.array(scores), np.array(baseline), judge.name, tuple(validations),
        repeats_of(tests),
    )  # fmt: skip
