"""A fitted selection as one page to forward, as the command `zeronorm report` writes it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ..core import validation as validate
from ..core.errors import Message, Parameter, ParameterError
from ..core.files import PathLike
from ..core.frames import frame_of, in_memory
from ..core.groups import Groups
from ..core.targets import check_survival
from ..estimators import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    MeasureClassifier,
)
from ..estimators.held_out import CrossValidation
from ..io.input import Response, Samples
from ..io.opening import as_design
from ..io.table import Dataset
from ..model_selection.cross_validation import fold_models
from ..model_selection.search import BudgetCV
from ..persistence import write_file
from ..plotting.drawing import pyplot
from .documents.selection import (
    describe_model,
    describe_parameters,
    describe_selection,
    with_validation,
)
from .documents.trust import Question, known_trust
from .page.figures import figures_of
from .page.html import code_of_report, render, versions
from .warnings import alike_labels, targets_in_disguise

if TYPE_CHECKING:
    from .records import SelectionFound

_KINDS = BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis, MeasureClassifier


def report(
    estimator: Any,
    X: Any,
    y: Any,
    path: PathLike,
    *,
    cv: int | None = 5,
    n_pairs: int = 50,
    time_limit: float = 1.0,
    offset: Any = None,
    groups: Any = None,
    feature_names: Any = None,
    descriptions: Any = None,
    target_name: str | None = None,
    variants: Any = None,
    title: str | None = None,
) -> Path:
    """Write what is known of a fitted selection as one page of HTML; return its path.

    The page says which features were selected, how good they are on held-out rows, how sure each
    is, what could stand in for it, and whether the list is the best of its length. It loads
    nothing and sends nothing; its size depends on the number of features selected.

    Parameters
    ----------
    estimator : fitted BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis, MeasureClassifier,
        or BudgetCV of one of them
        With a budget of features, of whole groups (then the page is of groups, and substitutes are
        groups, too), or of features in few groups, of which no bounds and no substitutes are known.
        It is not fitted again. X and y are those of its fit, without weights of samples.
    X, y, offset, groups : as for its `fit`; of a data frame all columns are numbers. Samples of a
        group are held out together in all folds, and come to the same half.
    path : of the page, NAME.html. It appears whole or not at all.
    cv : folds of the cross-validation, 2 or more; None: none. A BudgetCV has its own.
    n_pairs : of half-samples for the stability, see `StabilitySelection`; 0: none.
    time_limit : seconds for the search for a better list of each size, and for the lists that are
        nearly as good; 0: neither.
    feature_names, descriptions : (n_features,) texts; None: names that the estimator knows.
    target_name : what y is called.
    variants : of genotypes, `read_plink(...).variants` of the first columns of X, for a view of the
        genome.
    title : what the data are called; None: "X, y".

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        Where an argument breaks its rule, and where the selected features have another objective on
        X and y than their certificate. A model without certificates is not checked.

    Examples
    --------
    >>> from zeronorm import BudgetClassifier
    >>> from zeronorm import report
    >>> from zeronorm.datasets import load_demo
    >>> demo = load_demo()
    >>> model = BudgetClassifier(n_features=3).fit(demo.X, demo.y)
    >>> page = report(
    ...     model, demo.X, demo.y, "demo.html", n_pairs=5, feature_names=demo.feature_names
    ... )
    >>> page.stat().st_size < 500_000
    True
    """
    file = _checked_path(path)
    if not (validate.is_integer(n_pairs) and n_pairs == 0):
        n_pairs = validate.check_iterations("n_pairs", n_pairs)
    time_limit = validate.check_not_negative("time_limit", time_limit)
    if cv is not None and (not validate.is_integer(cv) or cv < 2):
        raise ParameterError("cv", "must be None or an integer of at least 2", validate.shown(cv))
    model, validation = _model_of(estimator)
    names = _names_of(model, X, feature_names)
    if frame_of(X) is not None:
        X = validate.as_fitted(model, X)
    samples = _samples(model, X, y, offset, names, descriptions, target_name, variants)
    together = validate.check_groups(in_memory(groups), len(samples.response.y))
    samples = replace(samples, response=replace(samples.response, groups=together))
    poser = clone(model)
    if samples.groups is not None:
        poser.set_params(feature_groups=samples.groups)
    selection = _described(model, samples, validation, "X, y" if title is None else title)
    different = Question(poser, samples, selection).differs()
    if different is not None:
        raise ValueError(
            f"X and y must be those of the fit of estimator: {different}. Pass the same samples, "
            "and fit without weights of samples."
        )
    if validation is None and cv is not None:
        posed, paths = fold_models(poser, X, samples.y, cv=cv, offset=offset, groups=together)
        selection = with_validation(selection, posed.scored(paths))
    question = Question(poser, samples, selection)
    known = known_trust(poser, samples, selection, None)
    trust, proofs = question.answered(known, n_pairs, time_limit, lambda _: None)
    figures = figures_of(question, trust, proofs)
    given = poser, question.chosen, file.name, cv, n_pairs, time_limit
    again = code_of_report(*given, together=groups is not None)
    write_file(file, render(selection, trust, figures, again, versions() | _digests(X)))
    return file


def _checked_path(path: PathLike) -> Path:
    """Return the path of a page that can be written and drawn, before any work."""
    found = Path(path)
    if found.suffix.lower() not in (".html", ".htm"):
        raise ParameterError("path", "must be that of a page, NAME.html", f"{str(found)!r:.80}")
    if found.is_dir() or not found.parent.is_dir():
        what = "is a directory" if found.is_dir() else "has no such directory; create it"
        raise ParameterError("path", f"must be a file in a directory that is there; {found} {what}")

    pyplot()
    return found


def _model_of(estimator: Any) -> tuple[Any, CrossValidation | None]:
    """Return the fitted model of an estimator, and its cross-validation where it has one."""
    model, validation = estimator, None
    if isinstance(estimator, BudgetCV):
        model = getattr(estimator, "best_estimator_", None)
        validation = getattr(estimator, "validation_", None)
    elif not isinstance(estimator, _KINDS):
        names = ", ".join(kind.__name__ for kind in _KINDS)
        raise TypeError(
            f"estimator must be one of {names} or a BudgetCV of one; got "
            f"{type(estimator).__name__}.{validate.model_inside('estimator', estimator)}"
        )
    if not hasattr(model, "support_"):
        raise ParameterError(
            "estimator", "must be fitted", f"{estimator!r:.60}", "Call its fit first."
        )
    if isinstance(getattr(model, "feature_groups", None), str):
        raise ParameterError(
            "estimator",
            "must have groups as labels or lists for a report",
            Message(
                Parameter.of("feature_groups", "columns"),
                ", whose features are not those of ",
                Parameter("X"),
            ),
            "Encode the columns first, as by pandas.get_dummies, and pass the group of every "
            "column.",
        )
    return model, validation


def _names_of(model: Any, X: Any, given: Any) -> list[str] | None:
    """Return the names of all features; those of the fit where none are given."""
    known = getattr(model, "feature_names_in_", getattr(X, "feature_names", None))
    found = known if given is None else given
    if found is None:
        return None
    names = [str(name) for name in found]
    if len(names) != model.n_features_in_ or len(set(names)) < len(names):
        raise ParameterError(
            "feature_names",
            Message(
                f"must be {model.n_features_in_:,} different names, one of each column of ",
                Parameter("X"),
            ),
            f"{len(names):,}, {len(set(names)):,} of them different",
        )
    return names


def _samples(
    model: Any,
    X: Any,
    y: Any,
    offset: Any,
    names: Any,
    descriptions: Any,
    target_name: Any,
    variants: Any,
) -> Samples:
    """Return the data as the command has them."""
    order, columns = None, {}
    if isinstance(model, BudgetSurvivalAnalysis):
        task, target = "survival", _structured(check_survival(y, as_design(X).shape[0]))
        columns = {"time": "time", "event": "event"}
    elif isinstance(model, BudgetRegressor):
        task = "counts" if model._loss().name == "poisson" else "numbers"
        target = np.asarray(y, float)
    else:
        ordinal = getattr(model, "loss", None) == "ordinal"
        task, target = "ordered" if ordinal else "classes", np.asarray(y)
        order = model.ordered_classes_ if ordinal else None
    if descriptions is not None:
        descriptions = [str(one) for one in descriptions]
        if len(descriptions) != model.n_features_in_:
            raise ParameterError(
                "descriptions",
                Message(
                    f"must be {model.n_features_in_:,}, one of each column of ", Parameter("X")
                ),
                f"{len(descriptions):,}",
            )
    if variants is not None and len(variants) > model.n_features_in_:
        raise ParameterError(
            "variants",
            Message(
                "must be of the first columns of ",
                Parameter("X"),
                f", at most {model.n_features_in_:,}",
            ),
            f"{len(variants):,}",
        )
    several = target.ndim == 2
    target_names: Any = target_name
    if several:
        of = target_name or "response"
        target_names = tuple(f"{of} {number}" for number in range(target.shape[1]))
    data: Any = X
    table = Dataset(
        data,
        target,
        names,
        target_names,
        descriptions=descriptions,
        column_names=columns,
        variants=variants,
    )  # fmt: skip
    groups = getattr(model, "feature_groups", None)
    if groups is not None:
        known = getattr(model, "feature_names_in_", None)
        own = None if known is None else [str(name) for name in known]
        groups = Groups.of(groups, model.n_features_in_, own)
    return Samples(table, Response(task, target, offset, order=order), groups)


def _structured(target: np.ndarray) -> np.ndarray:
    """Return survival times by names: time, event, and where there are several the stratum."""
    parts = [("event", target[:, 1] > 0), ("time", target[:, 0])]
    if np.unique(target[:, 2]).size > 1:
        parts.append(("stratum", target[:, 2]))
    if target.shape[1] == 4:
        parts.append(("start", target[:, 3]))
    found = np.empty(len(target), [(name, values.dtype) for name, values in parts])
    for name, values in parts:
        found[name] = values
    return found


def _described(
    model: Any, samples: Samples, validation: CrossValidation | None, source: str
) -> SelectionFound:
    """Return the record of a fitted selection, as the command has it."""
    table, response = samples.table, samples.response
    design = as_design(table.X)
    sizes = list(model._paths[0])
    chosen = validation is not None and len(sizes) > 1
    given = table, response, design, validation, samples.groups
    models = [
        describe_model(model, size, *given, compared=len(sizes) if chosen else 1) for size in sizes
    ]
    parameters = describe_parameters(model)
    measured = isinstance(model, MeasureClassifier)
    parameters["method"] = "cuts of the measure" if measured else model.method_
    quantile = None if measured else getattr(model._plan().loss, "quantile", None)
    chosen_by = validation.chosen_by if chosen and validation is not None else None
    return describe_selection(
        source, samples, model, models, {"quantile": quantile, **parameters},
        rule="cross-validation" if chosen else None, chosen_by=chosen_by,
        notes=[*alike_labels(response), *targets_in_disguise(models, samples)],
    )  # fmt: skip


def _digests(X: Any) -> dict[str, str]:
    """Return the digest of an array, by rows or by columns as it lies in memory."""
    if not isinstance(X, np.ndarray):
        return {}
    for values, order in ((X, "row by row"), (X.T, "column by column")):
        if values.flags.c_contiguous:
            digest = hashlib.sha256(values.data.cast("B")).hexdigest()
            return {f"SHA-256 of X, {values.dtype}, {order}": digest}
    return {}


__all__ = ["report"]
