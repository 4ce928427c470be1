"""Feature selection that trains for a performance measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core import validation as validate
from ..core.budgets import check_features, check_sizes
from ..core.errors import Message, Parameter, ParameterError
from ..core.messages import span
from ..core.ranking import largest
from ..core.results import Path, Status
from ..core.targets import check_pos_label, check_sample_weight, check_target
from ..measures import Measure, macro_average, parse_measure
from ..solvers import MeasureRequest, MeasureTask, Task, select_by_measure
from ..solvers.driver import Solver
from ..solvers.problem import centred, rounded, selection_scaling
from .base import LinearClassifier, one_versus_rest, with_parameters
from .budget import begun, keep_paths, keep_size
from .problem import Problem, TrainingData
from .sizes import is_automatic, ladder, sizes_of_rows

DEFAULT_C, DEFAULT_C_OF_PAIRS = 0.1, 100.0


@with_parameters
class MeasureClassifier(LinearClassifier):
    """Select exactly k features for F1, precision at k, PRBEP, AUC or another measure.

    Solves, by two layers of cutting planes,

        min_{d in D_B} min_{u, b}  1/2 sum_j u_j^2 / d_j + C R(Xu + b)
        D_B = {0 <= d_j <= 1, sum_j d_j <= B}
        R(z) = max(0, max_{y'} Delta(y, y') - sum_i (y_i - y'_i) z_i)

    where Delta(y, y') is the loss of the labels y' in the measure, in percent: R bounds the measure
    of all scores at once, which no sum over samples can. Every scan of X adds the B features with
    the largest |X'beta|, until there are exactly k; then the model is fitted on these,
    min 1/2 ||u||^2 + C R(X_S u + b), to a certified gap.

    Parameters
    ----------
    measure : str or Measure
        "f1" (or "f2", "f0.5", ...), "precision@50", "recall@50", "recall@2p" (twice as many rows as
        there are positives), "prbep", "auc", "ap" (average precision), "hamming" (accuracy), or an
        object of `zeronorm.measures`, for example a `Contingency` of your own.
    n_features : int, list or range of int, "auto", or None
        How many features, exactly (`max_blocks` yields to it); a list gives several models. "auto":
        cross-validation by the measure chooses, as in `BudgetClassifier`. None: the problem itself,
        to a gap of `tol` over all features: with a block_size as many features as that takes, and
        else all of them, the support vector machine for multivariate measures (SVMperf).
    C : float or "auto"
        Weight of the loss, once for all samples. "auto": 0.1; 100 for AUC and average precision,
        which are means over pairs. A C beyond what float64 resolves gives (nearly) the least loss
        that there is, with a warning where the gap is not certified.
    block_size : int or None
        B, new features per scan; by default n_features / max_blocks, of several sizes a tenth of
        the smallest, but at least a thirtieth of the largest.
    max_blocks : int or None
        T_m, by default 10. There are more scans where blocks share features. With n_features=None
        as many as `tol` takes.
    refit : bool
        Whether the final model is fitted on the selected features alone. False: it is the solution
        over the generated blocks, as published; then only one size can be asked for.
    fit_intercept : "auto" or bool
        "auto": wherever the measure allows it. True is refused for precision and recall at k, where
        a free intercept makes R vanish. PRBEP, AUC and average precision do not depend on it.
        Scores have their threshold subtracted: predictions are positive where they exceed 0. The
        threshold of F_beta and your own measures is 0 or, where another one is better by more than
        a point on the training rows, the nearest one that is within a point of the best.
    standardize : bool
        Whether features are selected and penalised as if all had variance 1.
    forced_features : list of int or str, or None
        Always in the model, counted in n_features.
    pos_label : label or None
        The positive class of two; by default the second in sorted order.
    class_weight : dict, "balanced" or None
        As sample weights: of "hamming", F_beta, measures of your own and "auc"; the others count
        rows in a ranking, so that weights other than 0 and 1 are refused.
    tol : float
        Certified gap of the final models, relative to the objective of the model without features;
        with n_features=None and a block_size also of the problem over all features.
    n_threads : int or None
        Threads of a scan; all allowed by default.
    checkpoint : path-like or None
        A file that keeps every pass over the data: a killed fit goes on from it, see `Checkpoint`.

    Attributes
    ----------
    support_ : (k,) selected features, sorted; with several classes the union over the classes.
    coef_, intercept_ : the model on the scaling of X, the threshold subtracted from the intercept.
    size_ : n_features; of None the number of features that could be selected.
    path_, history_ : as in `BudgetClassifier`; a `Step` per scan has upper and lower bounds of the
        problem over the blocks.
    gap_ : (objective - bound) / objective of the fit on the support, where the bound
        holds for all supports of k features; 0 is optimal. Not with refit=False, but for
        n_features=None: there it is that of the problem over all features.
    n_scans_, seconds_, classes_, n_features_in_, feature_names_in_ : as in `BudgetClassifier`.

    Notes
    -----
    With several classes there is one model of k features per class against the others, scans are
    merged, `predict` returns the class of the largest score and `score` is the mean of the measure
    over the classes.

    The model does not depend on the type, order in memory or sparse format of X (with all features,
    up to some four million numbers), and integer weights equal repeated rows within `tol`: scores
    may differ by some percent of the largest at the default.

    Where a rare class overlaps much with the others, no features at all may minimise R of F_beta,
    PRBEP, precision and recall at k and Hamming, at any C: the scores and predictions are all
    equal. "auc", whose threshold predicts as many positives as there are, learns from such data.

    References
    ----------
    Mao and Tsang, A feature selection method for multivariate performance measures, TPAMI 2013.
    Joachims, A support vector method for multivariate performance measures, ICML 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from zeronorm import MeasureClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((600, 500))
    >>> y = X[:, 3] - X[:, 7] + 0.5 * rng.standard_normal(600) > 2.5
    >>> model = MeasureClassifier("f1", n_features=2).fit(X, y)
    >>> model.support_
    array([3, 7])
    """

    _published = False  # whether the algorithm is the published one

    measure: str | Measure = field(default="f1", kw_only=False)
    n_features: int | str | Sequence[int] | None = field(default=None, kw_only=False)
    C: float | str = "auto"
    block_size: int | None = None
    max_blocks: int | None = None
    refit: bool = True
    fit_intercept: bool | str = "auto"
    standardize: bool = True
    forced_features: Any = None
    pos_label: Any = None
    class_weight: Any = None
    tol: float = 1e-3
    n_threads: int | None = None
    checkpoint: Any = None

    def _record_of(self, parameter: str, name: str) -> Any:
        known = super()._record_of(parameter, name)
        return parse_measure(name) if parameter == "measure" else known

    def _check_parameters(self) -> None:
        measure = parse_measure(self.measure)
        if not (isinstance(self.C, str) and self.C == "auto"):
            validate.check_positive("C", self.C)
        validate.check_positive("tol", self.tol)
        for name in ("block_size", "max_blocks", "n_threads"):
            validate.check_count(name, getattr(self, name))
        for name in ("standardize", "refit"):
            validate.check_flag(name, getattr(self, name))
        automatic = isinstance(self.fit_intercept, str) and self.fit_intercept == "auto"
        if not automatic:
            validate.check_flag("fit_intercept", self.fit_intercept)
            if self.fit_intercept and measure.intercept == "spoils":
                raise ParameterError(
                    "fit_intercept",
                    f"must be 'auto' or False for {measure.name!r}",
                    "True",
                    "Each labelling of k rows has the same number of positives, so a free "
                    "intercept lowers the loss to 0 for any features. The threshold is set "
                    "after training.",
                )
        one = validate.dimensions(self.n_features) == 0 and not is_automatic(self.n_features)
        if self.n_features is None and self.block_size is None and self.max_blocks is not None:
            raise ValueError(
                Message(
                    "max_blocks needs block_size where ",
                    Parameter("n_features"),
                    " is None: all features are one block without it; got "
                    f"max_blocks={self.max_blocks!r}. Set block_size or ",
                    Parameter("n_features"),
                    ".",
                )
            )
        if not self.refit and not one:
            raise ParameterError(
                "n_features",
                "must be one number with refit=False, as the model over the generated blocks is "
                "of one size",
                f"{self.n_features!r}",
                "Use refit=True.",
            )

    def _loss_weight(self) -> float:
        if isinstance(self.C, str):
            pairs = not parse_measure(self.measure).labels
            return DEFAULT_C_OF_PAIRS if pairs else DEFAULT_C
        return float(self.C)

    def _sizes_of_folds(self, data: TrainingData) -> tuple[Any, ...] | None:
        return sizes_of_rows(self, data)

    def _pose(self, data: TrainingData, sizes: tuple[Any, ...] | None = None) -> Problem:
        measure = parse_measure(self.measure)
        data, unit = self._weigh(data)
        weight, intercept = data.sample_weight, bool(self.fit_intercept)
        design, scaling, usable = selection_scaling(
            data.design, weight, center=intercept, standardize=bool(self.standardize)
        )
        forced = check_features("forced_features", self.forced_features, usable, data.names)
        if sizes is None:
            n_usable = int(usable.sum())
            sizes = (n_usable,)
            wanted = self.n_features
            if is_automatic(wanted):
                wanted = ladder(weight.size, n_usable, forced.size)
            if wanted is not None:
                sizes = check_sizes(wanted, n_usable, usable.size, forced.size)
        if not measure.weighted and np.any(weight != 1.0):
            raise ValueError(
                Message(
                    "sample_weight and ",
                    Parameter("class_weight"),
                    f" must be 0 or 1 for {measure.name!r}, which counts rows; got weights from "
                    f"{weight.min():g} to {weight.max():g}. Use a measure of the labels, such as "
                    "'f1', or 'auc' with weights.",
                )
            )
        if not usable.any():
            raise ParameterError("X", "must have a column that is not constant", "none")
        classes, _ = check_pos_label(np.unique(data.labels), self.pos_label)
        targets = one_versus_rest(data.labels, classes)
        for y in targets:
            measure.check(y)
        if measure.intercept == "spoils" and intercept:
            # Without an intercept the offset of the columns would take its part.
            design = centred(design, weight)
        tasks = [
            Task.of(
                rounded(design), y, weight, scaling, intercept=intercept, forced=forced, unit=unit,
                usable=usable,
            )
            for y in targets
        ]  # fmt: skip
        return Problem(data, tasks, classes, sizes, self._select, self._loss_weight())

    def _begin(
        self, data: TrainingData, seconds: dict[str, float]
    ) -> tuple[np.ndarray | None, list[Solver[Any]]]:
        problem, solver = begun(self, data, seconds)
        return problem.classes, [solver]

    def _store(self, results: list[Any]) -> None:
        keep_paths(self, results[0])

    def _keep_size(self, size: Any) -> None:
        """Make one of the sizes of the fit the model that predicts."""
        keep_size(self, size)

    def _select(
        self,
        task: Task,
        sizes: tuple[int, ...],
        *,
        seconds: dict[str, float] | None = None,
        **_: Any,
    ) -> Solver[Path]:
        """Return the generator of scans that selects for one task, always from the beginning."""
        solver = select_by_measure(
            MeasureTask(task, parse_measure(self.measure), self._loss_weight()),
            None if self.n_features is None else sizes,
            MeasureRequest(
                self.block_size,
                self.max_blocks,
                float(self.tol),
                bool(self.refit),
                self._published,
            ),
            seconds=seconds,
        )
        return renamed(solver, sizes[0]) if self.n_features is None else solver

    def _doubts(self) -> Iterator[Warning]:
        gap = max(path.gap for path in self._paths)
        blocks = any(path.status is Status.MAX_BLOCKS for path in self._paths)
        if blocks:
            yield ConvergenceWarning(
                f"The problem over all features has a certified gap of {gap:.2g} after max_blocks="
                f"{self.max_blocks} blocks (asked: tol={self.tol:g}). Use a larger max_blocks, or "
                "None."
            )
        elif not gap <= 2.0 * float(self.tol):
            yield ConvergenceWarning(
                f"The final fit stopped at a certified gap of {gap:.2g} (asked: tol={self.tol:g}). "
                "A smaller C helps."
            )
            return
        for path in self._paths:
            without = path.history[0].extra["without_features"]
            objective = path[max(path)].objective
            if objective is not None and objective >= (1.0 - float(self.tol)) * without:
                name = parse_measure(self.measure).name
                yield ConvergenceWarning(
                    Message(
                        f"No features lower the loss of {name!r} by more than {self.tol:g} of "
                        "that without features: the classes overlap too much, or C is too "
                        "small, and the model tells (nearly) nothing apart. Use ",
                        Parameter.of("measure", "auc"),
                        " or ",
                        Parameter.of("measure", "ap"),
                        ", or a larger C.",
                    )
                )
                return

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the measure of the scores of X, from 0 to 1; of several classes the mean.

        F_beta, Hamming and measures of your own are those of the predicted labels (of several
        classes: of each class by its own threshold), the others those of the ranking.
        """
        scores = self._scores(X)
        y = check_target(y, len(scores))
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ParameterError(
                "y", f"must have the classes {self.classes_.tolist()} only", f"{unknown.tolist()}"
            )
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, len(scores))
        return macro_average(parse_measure(self.measure), scores, y, self.classes_, weight)

    def predict_top(self, X: Any, k: int, label: Any = None) -> np.ndarray:
        """Return the numbers of the k rows with the largest scores, (k,), largest first.

        label : of several classes, the one whose scores count.
        """
        scores = self._scores(X)
        if not validate.is_integer(k) or not 1 <= k <= len(scores):
            raise ParameterError(
                "k",
                Message(f"must be {span(1, len(scores))} (the rows of ", Parameter("X"), ")"),
                f"{k!r}",
            )
        column = 0
        if scores.shape[1] > 1:
            place = np.flatnonzero(self.classes_ == label)
            if place.size != 1:
                raise ParameterError(
                    "label", f"must be one of the classes {self.classes_.tolist()}", f"{label!r}"
                )
            column = int(place[0])
        elif label is not None:
            raise ValueError(f"label is for several classes; got {label!r} with two. Leave it out.")
        return np.asarray(largest(scores[:, column], int(k)))

    @property
    def _score_loss(self) -> str:
        return f"measure {parse_measure(self.measure).name}"


def renamed(solver: Solver[Path], size: int) -> Solver[Path]:
    """Run a solver of one model and call its size by the given one.

    In cross-validation "all features" is one size, though folds differ in their constant columns.
    """
    path = yield from solver
    return replace(path, selections={size: path[max(path)]})
