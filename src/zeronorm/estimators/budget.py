"""The front door of selection: classification and regression on so many features or groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from ..core import validation as validate
from ..core.ranking import numbered
from ..core.types import FloatArray, Smooth
from ..losses import Logistic, Multinomial, Ordinal
from ..losses.multinomial import classes_as_outputs
from ..losses.ordinal import log_odds_of_classes
from ..methods import names_of
from ..solvers.drive import Solver
from ..solvers.procedures.judge import JUDGING
from .budget_selection import BudgetSelection
from .linear import LinearClassifier
from .parameters import with_parameters
from .problem import Problem
from .rowwise import Rowwise
from .selected import begun
from .selecting import Plan


@with_parameters
class BudgetClassifier(BudgetSelection, LinearClassifier):
    """Give me exactly k features, the best you can: a linear model on exactly k features.

        min_{u, b}  1/2 ||u||^2 + C sum_i s_i f(y_i, x_i'u + b)   subject to the budget

    on the selection scaling, with f the logistic loss log(1 + exp(-y z)) or the squared hinge
    1/2 max(0, 1 - y z)^2. The budget is one of

    - `n_features`: exactly so many features, ||u||_0 <= k;
    - `feature_groups` and `n_groups`: exactly that many whole groups of features;
    - `feature_groups`, `n_groups` and `n_features`: at most that many features in at
      most that many groups.

    By default a pool of 3k features is found by the minimax cutting plane (about six passes over
    X), reduced to k by backward elimination and splicing, refitted on the scaling of X, and
    certified: `certificate_` says how far the support can be from the best one of its size. More
    than two classes share their features, with the multinomial loss log(sum_c e^z_c) - z_y of a
    margin for each, or are one-versus-rest, each with a budget of its own; their scans are merged
    into the same passes.

    Parameters
    ----------
    n_features : int, list or range of int, "auto", or None
        How many features. A list gives a model of each size from one fit (`path_`); predictions use
        the largest. "auto": cross-validation chooses, five folds (or as many as the smallest class
        has rows) by the rule of one standard error among 1 to 6, 8, 10, 12, 15, 20, 25, 30, 40 and
        50 features, as `BudgetCV` with its defaults, or the criterion, where there is one. None:
        10, or all usable columns if fewer; with `feature_groups` whole groups.
    n_groups : int, list or range of int, "auto", or None
        How many groups; a list gives several models. Only with `feature_groups`. "auto":
        cross-validation chooses, as of n_features="auto", among the same numbers as far as half of
        the rows and the groups go; of more than six whole groups as far as they have, in the mean,
        no more features than there are rows. With a budget of features as well it chooses among
        pairs of no more groups than features, and the fewest groups are the smallest model.
    feature_groups : (n_features_in_,) labels, a dict of lists, `Groups`, "columns" or None
        The group of every column of X, or the columns (indices or names) of every group by its
        label. "columns": X is a data frame whose categorical columns (of strings, categories or
        booleans) are one-hot encoded; every column of the frame is a group. Constant columns of a
        group are left out.
    loss : "logistic", "squared_hinge" or "ordinal"
        f, which selects and certifies. The final fit is logistic all the same, unless
        `refit_C=None`. "ordinal" is of ordered classes: one model of proportional odds,
        P(class <= k) = sigma(b_k - x_i'u), with thresholds b_1 < b_2 < ... in place of an
        intercept, by the methods "pool", "l0", "minimax", "greedy" and "bilevel". The classes are
        numbers, or an ordered categorical of pandas; two are those of the logistic loss.
    method : str or a record of `zeronorm.methods`
        What finds the features: a name for its defaults, or a record with options, such as
        `methods.L0(gap=0.01)`.

        - "auto": "pool" for features, "minimax" for whole groups, "bilevel" for both budgets. For
          features with k >= 30 and k >= n/40, k the largest size and n the number of samples,
          "pool", "minimax" and "l1" are compared; from k >= n/20 on "minimax" and "l1" alone.
          (Several classes in one model, covariates and forced features do without "l1"; `signs`
          always have "pool".) The candidate with the least log-loss on held-out samples, scaled as
          by `calibrate`, selects on all samples: five folds repeat the whole selection, and from
          1000 samples on a single fold of a fifth of them. Its models are then scaled. `method_`
          says which one it is.
        - "pool": the pool, elimination and splicing, as above, also of whole groups.
        - "l0": exchanges among all features, and on demand a proof.
        - "minimax": the cutting plane itself; nested supports, of features or of groups.
        - "greedy": the feature or group that fits best what is left, a scan for each.
        - "l1": the l1 path, at the largest C with at most k features.
        - "reweighted-l1": the same in stages that penalise large coefficients less.
        - "bilevel": a search under both budgets, without a certificate; without `feature_groups`
          every column is a group, and `n_groups` may be None for any number.
    C : "auto" or float
        Weight of the summed loss during selection, for standardised columns. "auto": 0.1, and 1 for
        "bilevel". Folds do not choose it for classes.
    refit_C : "auto", "loo", float or None
        C of the final logistic fit on the scaling of X; "loo" chooses by approximate leave-one-out
        log-loss, and penalises the coefficients of standardised columns where deviations of the
        selected ones differ by more than 100 times. None, for "bilevel" only: the solution of the
        problem above is the model. "auto": "loo", and None for "bilevel".
    calibrate : "auto" or bool
        Whether the margins are multiplied by a number between 0.02 and 1.2 for each size, so that
        probabilities hold on new rows: the final fit does not know of the selection before it, and
        on few rows is far too sure. The number is the one of least log-loss on rows that are held
        out of folds, up to five, which repeat the whole selection in the same passes over X and
        with five times the other work. Labels, support and certificate stay what they are; several
        classes share the number. "auto": where the sample weights (times class weights) have a sum
        below 1000, or where folds have chosen the method, and not for "bilevel", which has no
        folds. It is not done where a class has one row only.
    fit_intercept : bool
        Whether the model has an intercept; it is never penalised.
    standardize : bool
        Whether columns are standardised during selection (lazily: X is never copied, and sparse
        columns are scaled but not centred). The final fit is on the scaling of X.
    forced_features : list of int or str, or None
        Always in the model (with whole groups: their groups), counted in the budgets. With
        feature_groups="columns" they are encoded columns, "column=category".
    signs : None, -1, 1, (n_features_in_,) of -1, 0 and 1, or a mapping
        The signs that coefficients may have: 1 is w_j >= 0, -1 is w_j <= 0, 0 any; one number for
        all features, or {feature: sign} for some, by index or name. Selection, bounds and the final
        fit keep them, by the methods "pool" and "l0" for single features. Positive coefficients
        speak for the second of two classes, or for the class of "ovr". There are k features in any
        case: where fewer can have their sign, a warning says how many have a coefficient that is
        not 0.
    covariates : list of int or str, or None
        Columns in every model beside the selected features: not counted in the budgets, and free
        of any penalty, as the intercept is, in selection, certificate and final fit. With a_i their
        entries, z_i = x_i'u + b + a_i'g in the problem above, which is over u, b and g. One that
        depends on earlier ones has the coefficient 0; all have any sign. By "pool", "l0",
        "minimax", "greedy" and "bilevel".
    forced_groups : list of labels, or None
        Of "bilevel": counted as groups of every model, with or without features of theirs.
    criterion : "aic", "bic", "ebic", "gic" or None
        What chooses among numbers of single features: the size with the smallest criterion is the
        model, the smallest one of equals. With a single number n_features the sizes are 1, ...,
        n_features (with forced features, from their number on). None: the largest size.

            criterion = 2 l + k a,   a = 2 (aic), log n (bic), log n + 2 log p (ebic),
                                         log(p) log(log n) (gic)

        with l the log-loss of the final fit summed over the rows with their weights, k the size
        (and the coefficients of covariates),
        n the sum of the weights (which count rows) and p the number of columns that are not
        constant. Of several classes, the sum over the models of each class against the others, and
        one size for all. Sources in `zeronorm.core.criteria`.
    multi_class : "auto", "shared" or "ovr"
        With more than two classes, "shared" selects n_features in all, in one multinomial model (by
        the methods "pool", "minimax", "greedy", "l0" and "bilevel", with the logistic loss and
        without signs). "ovr" selects n_features for each class, in a model against the others.
        Budgets of groups count alike. "auto" is "shared" where that is possible, else "ovr".
    class_weight : dict, "balanced" or None
    tol : float or None
        What solves single problems stops at this: a certified gap relative to the objective of the
        model without features ("pool", "minimax", 1e-3; "l1", 1e-4), or to its own ("greedy",
        1e-6); or a decrease of the objective as a share of it ("l0", 1e-4; "bilevel", 1e-6). None:
        that of the method.
    warm_start : bool
        Whether to begin with the features that the previous fit generated, without scanning for
        them again: after a change of budgets, C or some rows. Not used in the folds of `calibrate`,
        and not for paths ("l1").
    n_threads : int or None
        Threads of a scan; all allowed ones by default. The result does not depend on it.
    checkpoint : path-like or None
        A file that keeps every pass over the data: a killed fit goes on from it, see `Checkpoint`.

    Attributes
    ----------
    support_ : (k,) sorted indices of the selected features (of all classes), covariates not among
        them.
    covariates_ : (q,) sorted indices of the covariates; where there are some.
    coef_, intercept_ : the model on all features, covariates among them, (1 or n_classes,
        n_features_in_); where it is calibrated, the final fit times `path_[k].scale`.
    classes_ : labels.
    multi_class_ : "shared" or "ovr", as "auto" has chosen; it matters with more than two classes.
    ordered_classes_, thresholds_ : of ordered classes, the labels from the lowest to the highest,
        and b, (n_classes - 1,); intercept_ is -b then, and coef_ has one row.
    size_ : the size of the model: a number of features, of groups, or the pair of both.
    C_ : C of the selection, and of the certificate.
    method_ : the name of the method that selected, as "auto" has chosen.
    path_ : a `Path`, the models of all sizes asked for; `path_[size]` is a `Selection`, with the
        honest log-loss of rows held out, `cv_log_loss`, where it is calibrated.
    history_ : a `Step` per scan or round: objective, bound and gap, and the features that entered.
    certificate_ : how far from the best support of its size this one can be. Not of "bilevel".
    optimality_gap_ : its gap; the largest of several classes.
    proof_ : how branch and bound ended, a `Proof`, where `methods.L0(gap=...)` asked for it.
    criteria_ : a table of all sizes as a dict of its columns (n_sizes,): "size", growing,
        "log_loss", minus the log-likelihood of the training rows, "aic", "bic", "ebic" and "gic".
        Of several classes, sums over the models of each class against the others. Not where the
        model has no log-loss.
    groups_ : the labels of the groups of the selected features, sorted; where there are groups.
    validation_ : with n_features="auto" or n_groups="auto", the `CrossValidation` that chose
        `size_`, a little too good for it; `zeronorm.model_selection.nested` has an honest estimate.
    n_scans_ : passes over X, those of the folds not among them. seconds_ : by phase.

    Where three or more classes have a model each, path_, history_, certificate_ and proof_ are
    tuples, one entry for each class against the rest in the order of `classes_`.

    References
    ----------
    Tan, Tsang and Wang, Minimax sparse logistic regression for very high-dimensional feature
    selection, IEEE TNNLS 24(10), 2013. `zeronorm.published` has the sources of the other methods.

    Examples
    --------
    >>> from zeronorm import BudgetClassifier
    >>> from zeronorm.datasets import load_golub
    >>> X, y = load_golub(return_X_y=True)
    >>> model = BudgetClassifier(n_features=5).fit(X, y)
    >>> len(model.support_)
    5
    """

    _losses: ClassVar[dict[str, Smooth]] = LinearClassifier._losses | {Ordinal.name: Ordinal()}

    loss: str = "logistic"
    fit_intercept: bool = True
    multi_class: str = "auto"
    class_weight: Any = None

    def _check_parameters(self) -> None:
        plan = self._plan()
        validate.check_option("multi_class", self.multi_class, ["auto", "shared", "ovr"])
        if self.loss == Ordinal.name:
            self._check_ordinal(plan)

    def _loss_weight(self) -> float:
        return self._plan().C

    def _pose(self, data: Rowwise, sizes: tuple[Any, ...] | None = None) -> Problem:
        data, unit = self._weigh(data)
        classes, targets = self._problems(data.labels, data.sample_weight)
        plan, outputs = self._plan(), None
        if self.loss == Ordinal.name and len(classes) > 2:
            if data.order is not None:
                classes = data.order[np.isin(data.order, classes)]
            codes = numbered(data.labels, classes)
            validate.check_weight_of_classes(codes, data.sample_weight)
            targets = [codes.astype(np.float64)]
        elif self.loss == Ordinal.name:  # two classes have no order
            plan = replace(plan, loss=Logistic())
        elif self._multi_class == "shared" and len(classes) > 2:
            self._check_shared(plan)
            outputs = Multinomial(len(classes), plan.fit_intercept)
            targets = [classes_as_outputs(np.searchsorted(classes, data.labels), len(classes))]
        return plan.pose(data, targets, classes, unit, sizes, outputs)

    @property
    def _multi_class(self) -> str:
        """Whether several classes share their features or have a model each: "shared" or "ovr"."""
        if self.multi_class != "auto":
            return str(self.multi_class)
        if self.loss == Ordinal.name:
            return "shared"
        return "shared" if unshared(self._plan()) is None else "ovr"

    def _check_shared(self, plan: Plan) -> None:
        """Raise ValueError where several classes cannot share their features."""
        wrong = unshared(plan)
        if wrong is not None:
            raise ValueError(
                "multi_class='shared' needs the logistic loss, no signs, and one of the methods "
                f"{names_of(lambda one: one.shares)}; got {wrong} for more than two classes. Use "
                "multi_class='ovr', "
                "which selects for each class against the others."
            )

    def _check_ordinal(self, plan: Plan) -> None:
        """Raise ValueError where ordered classes cannot be what the parameters ask for."""
        if not plan.fit_intercept:
            raise ValueError(
                "fit_intercept must be True for loss='ordinal', whose thresholds are intercepts; "
                "got False."
            )
        if self.multi_class == "ovr":
            raise ValueError(
                "multi_class must be 'auto' or 'shared' for loss='ordinal', one model of all "
                "classes; got 'ovr'. Use loss='logistic' for each class against the others."
            )
        # Thresholds are a part of the loss, as intercepts of several outputs are: the same methods
        # know them, not l1.
        if not plan.method.shares:
            raise ValueError(
                f"method must be one of {names_of(lambda one: one.shares)} for loss='ordinal'; got "
                f"{plan.method.name!r}."
            )

    def _order(self, y: Any) -> np.ndarray | None:
        if self.loss != Ordinal.name:
            return None
        order = validate.class_order(y)
        if order is None:
            validate.check_ordered(y)
        return order

    def _begin(
        self, data: Rowwise, seconds: dict[str, float]
    ) -> tuple[np.ndarray | None, list[Solver[Any]]]:
        scaled = None if self.calibrate == "auto" else bool(self.calibrate)
        if self.calibrate == "auto" and float(data.sample_weight.sum()) < JUDGING.auto_rows:
            scaled = self._plan().counts != "both"
        problem, solver = begun(self, data, seconds, scaled=scaled)
        return problem.classes, self._keeping(solver, len(problem.tasks))

    @property
    def thresholds_(self) -> FloatArray:
        """The thresholds between ordered classes, (n_classes - 1,); of other losses there are none.

        P(class <= k) = sigma(thresholds_[k - 1] - X @ coef_[0]), k = 1, 2, ...
        """
        if self.loss != Ordinal.name or not hasattr(self, "intercept_"):
            raise AttributeError("thresholds_ is set by fit, with loss='ordinal'.")
        return np.asarray(-self.intercept_)

    def _set_classes(self, classes: np.ndarray) -> None:
        super()._set_classes(classes)
        if "multi_class" in self.get_params(deep=False):  # published classes know "ovr" alone
            self.multi_class_ = self._multi_class
        self.__dict__.pop("ordered_classes_", None)
        if self.loss == Ordinal.name:
            # Whoever reads probabilities beside labels takes the sorted ones for their columns.
            self.ordered_classes_, self.classes_ = classes, np.sort(classes)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores, (n_samples,) or (n_samples, n_classes).

        Those of the classes are X[:, support_] @ coef + intercept; of three ordered classes or
        more, the log-odds of each of them against all others.
        """
        scores = super().decision_function(X)
        if scores.ndim == 2 and self.loss == Ordinal.name:
            return scores[:, np.argsort(self.ordered_classes_, kind="stable")]
        return scores

    def _class_scores(self, margins: FloatArray) -> FloatArray:
        # Of two classes there is one threshold, and its scores are the log-odds already.
        if self.loss == Ordinal.name and margins.shape[1] > 1:
            return log_odds_of_classes(margins)
        return margins

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        if self._multi_class == "shared" and scores.ndim == 2 and self.loss != Ordinal.name:
            found: FloatArray = softmax(scores, axis=1)
            return found
        return super()._probabilities(scores)

    @property
    def _score_loss(self) -> str:
        # Whoever asks for predict_proba of the logistic loss is told of no wrong parameter yet.
        certain = self.loss in ("logistic", Ordinal.name)
        solution = not certain and self._plan().refit_C is None
        return str(self.loss) if solution else "logistic"


def unshared(plan: Plan) -> str | None:
    """Return what keeps several classes from sharing their features; None: nothing."""
    if not plan.method.shares:
        return f"method={plan.method.name!r}"
    if plan.loss.name != Logistic.name:
        return f"loss={plan.loss.name!r}"
    return None if plan.signs is None else "signs"
