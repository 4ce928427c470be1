"""The work of `zeronorm select`: the estimator, its cross-validation, its files, the document."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import methods, persistence
from ..core.targets import check_pos_label
from ..estimators import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    MeasureClassifier,
)
from ..estimators.budget import unshared
from ..estimators.folds import check_folds, splits
from ..estimators.validation import CrossValidation
from ..io.input import Samples, listed
from ..io.opening import as_design
from ..io.table import Table
from ..losses import Quantile
from ..measures import parse_measure
from ..model_selection.cross_validation import cross_validate
from ..model_selection.search import automatic_budgets
from ..reporting.documents.selection import (
    describe_model,
    describe_parameters,
    describe_selection,
    size_number,
)
from ..reporting.documents.stability import describe_stability
from ..reporting.warnings import targets_in_disguise, too_many_features
from .features_out import write_features
from .interrupt import Interrupt
from .named_features import categories, covariates, forced_features, note_on_forced, positions_of
from .options import SelectOptions
from .plan import OF_CRITERIA, OF_FOLDS, Plan, for_every_size
from .progress import Work
from .selection_files import draw_variants, write_model
from .stability import stability_of
from .validation import folds_of, validated

if TYPE_CHECKING:
    from .again import Again

_Estimator: TypeAlias = (
    BudgetClassifier | BudgetRegressor | BudgetSurvivalAnalysis | MeasureClassifier
)


def run(
    options: SelectOptions, plan: Plan, samples: Samples, work: Work, again: Again | None = None
) -> dict[str, Any]:
    """Fit, cross-validate and write the models; return what is known about them.

    again : a selection that is repeated, and has its own estimator.
    """
    if options.view is not None and samples.table.variants is None:
        raise ValueError(
            f"--view {options.view} needs genotypes (a .bed file); leave it out for other data."
        )
    estimator = estimator_of(options, plan, samples) if again is None else again.estimator
    X, y, response = samples.table.X, samples.y, samples.response
    offset = {} if response.offset is None else {"offset": response.offset}
    together = {} if response.groups is None else {"groups": response.groups}
    plan = _with_budgets(plan, estimator, X, y, **offset)
    folds = folds_of(plan, samples, work)
    if folds is not None and isinstance(estimator, MeasureClassifier):
        _check_measured_folds(estimator, y, folds, response.groups)
    work.progress.phase("Selecting")
    if options.prove:
        work.progress.proving(plan.search["gap"], plan.search["time_limit"])
    interrupt = Interrupt()
    interrupt.fit(options, estimator, X, y, work, **offset, **together)
    if again is not None:
        again.check()
    work.notes.extend(_each_by_itself(estimator))
    held_out, for_accuracy = None, None
    if folds is not None and interrupt.during is None:
        with interrupt.validating(options, work):
            held_out = validated(options, estimator, samples, folds, work)
            for_accuracy = _for_accuracy(options, plan, samples, estimator, folds, work)
    validation = None if held_out is None else held_out.scores
    rule = plan.rule
    if validation is not None and rule in OF_FOLDS:
        estimator._keep_size(validation.choose(rule))
    elif rule in OF_FOLDS:  # nothing has chosen
        plan = for_every_size(options, plan)
    halves = stability_of(options, estimator, samples, interrupt, work)
    work.progress.phase("Writing")
    design = as_design(X, n_threads=options.threads)
    permutations = None if held_out is None else held_out.permutations
    found = samples.table, response, design, validation, samples.groups, for_accuracy, permutations
    sizes = _one_of_each_number(estimator, validation, rule)
    if estimator.size_ not in sizes:
        estimator._keep_size(sizes[-1])
    if not plan.whole:
        shown = [size_number(one) for one in (sizes if plan.rule == "all" else [estimator.size_])]
        work.notes.extend(note_on_forced(options, shown, samples.table))
    chosen = rule in OF_FOLDS or (again is not None and again.was_chosen)
    compared = len(validation.sizes) if validation is not None and chosen else 1
    models = [describe_model(estimator, size, *found, compared) for size in sizes]
    work.notes.extend(too_many_features(models, samples.table.X.shape[0]))
    work.notes.extend(targets_in_disguise(models, samples, options.keep or ()))
    for size, model in zip(sizes, models, strict=True):
        if plan.rule == "all" or size == estimator.size_:
            with work.timed("write"):
                write_model(options, plan, samples, estimator, size, model, held_out)
    if options.view is not None:
        draw_variants(options.view, estimator, samples, offset.get("offset"))
    document = {
        **describe_selection(
            options.data, samples, estimator, models, _parameters(options, plan, estimator)
        ),
        "categories": categories(options, samples.table),
        "criteria": _criteria_of(estimator, sizes),
        "rule": plan.rule,
        "chosen_by": validation.chosen_by if validation and plan.rule in OF_FOLDS else None,
        "stability": None
        if halves is None
        else describe_stability(halves, samples.table, estimator),
        "interrupted": interrupt.describe(),
        "n_scans": int(estimator.n_scans_),
        "features_file": None if options.features_out is None else str(options.features_out),
        "seconds": work.seconds,
        "notes": work.notes,
    }
    if options.features_out is not None:
        with work.timed("write"):
            write_features(options.features_out, document, samples)
    if options.report is not None:
        from .page_command import write_page

        write_page(options, again, estimator, samples, validation, halves, document, work)
    return document


def _with_budgets(plan: Plan, estimator: _Estimator, X: Any, y: Any, **offset: Any) -> Plan:
    """Return the plan, and give the estimator the budgets that are to be found."""
    name = "n_groups" if plan.whole else "n_features"
    if plan.sizes is not None and plan.n_groups != "auto":
        return plan
    if plan.sizes is None:
        estimator.set_params(**{name: "auto"})
    budgets = automatic_budgets(estimator, X, y, **offset)
    estimator.set_params(**budgets)
    return replace(plan, sizes=budgets.get(name, plan.sizes))


def _criteria_of(estimator: _Estimator, sizes: list[Any]) -> list[dict[str, Any]]:
    """Return the information criteria of some sizes; none where there are none."""
    rows = persistence.tabulate(getattr(estimator, "criteria_", None))
    own = zip(rows, estimator._paths[0], strict=bool(rows))
    return [row for row, size in own if size in sizes]


def _one_of_each_number(
    estimator: _Estimator, validation: CrossValidation | None, rule: str | None
) -> list[Any]:
    """Return the sizes, with the number of groups that the folds choose where there are several.

    Without folds, after an interrupt, the largest of these.
    """
    by_number: dict[int, list[Any]] = {}
    for size in estimator._paths[0]:
        by_number.setdefault(size_number(size), []).append(size)
    found = []
    for sizes in by_number.values():
        size = sizes[-1]
        if estimator.size_ in sizes and rule in OF_FOLDS:
            size = estimator.size_
        elif validation is not None and len(sizes) > 1:
            size = validation.choose(rule if rule in OF_FOLDS else "1se", sizes)
        found.append(size)
    return found


def estimator_of(options: SelectOptions, plan: Plan, samples: Samples) -> _Estimator:
    """Return the estimator that the options ask for."""
    common = _common_parameters(options, plan, samples.table)
    task = samples.response.task
    if options.measure is not None:
        del common["refit_C"]
        common |= {"class_weight": options.class_weight}
        common["fit_intercept"] = "auto" if options.intercept else False
        positive = options.positive
        return MeasureClassifier(
            options.measure,
            **common,
            pos_label=None if positive is None else _positive_of(positive, samples.y),
        )
    common["calibrate"] = "auto" if options.calibrate is None else options.calibrate
    if samples.groups is not None:
        n_groups = plan.sizes if plan.whole else plan.n_groups
        common |= {"n_groups": n_groups, "feature_groups": samples.groups}
    if samples.groups is None or plan.whole:
        method = methods.L0(**plan.search) if plan.search else plan.method
        common |= {"method": method, "signs": _signs(options, samples.table)}
        common["criterion"] = plan.rule if plan.rule in OF_CRITERIA else None
    if task == "survival":
        del common["fit_intercept"]
        ties: Any = options.ties or "breslow"
        return BudgetSurvivalAnalysis(**common, ties=ties)
    if task == "ordered":
        return BudgetClassifier(**common, class_weight=options.class_weight, loss="ordinal")
    if task != "classes":
        loss: Any = options.loss or ("poisson" if task == "counts" else "least_squares")
        return BudgetRegressor(
            **common, loss=loss if options.level is None else Quantile(options.level)
        )
    multi_class: Any = {None: "auto", True: "shared", False: "ovr"}[options.shared]
    estimator = BudgetClassifier(
        **common, class_weight=options.class_weight, multi_class=multi_class
    )
    if options.shared and np.unique(samples.y).size > 2 and unshared(estimator._plan()):
        raise ValueError(
            f"--shared: {_unshared_option(estimator)} cannot select for several classes at once. "
            "Use --per-class for features of each class, or leave that option out."
        )
    return estimator


def _positive_of(label: str, y: Any) -> Any:
    """Return the positive class that a label names."""
    classes = {str(value): value for value in np.unique(y).tolist()}
    if label not in classes:
        raise ValueError(
            f"--positive must be one of the classes {listed(np.unique(y))}; got {label!r}."
        )
    return classes[label]


def _unshared_option(estimator: BudgetClassifier) -> str:
    """Return the option that keeps several classes from sharing their features."""
    if not estimator._plan().method.shares:
        return f"--method {estimator._plan().method.name}"
    return "--nonnegative or --nonpositive"


def _each_by_itself(estimator: _Estimator) -> list[str]:
    """Return the note that several classes have a model each, though nobody asked for that."""
    if not isinstance(estimator, BudgetClassifier) or estimator.multi_class != "auto":
        return []
    n_classes = len(estimator.classes_)
    if n_classes == 2 or estimator.multi_class_ == "shared":
        return []
    return [
        f"{_unshared_option(estimator)} cannot select for several classes at once, so that each of "
        f"the {n_classes} classes has a model and features of its own, as with --per-class"
    ]


def _for_accuracy(
    options: SelectOptions,
    plan: Plan,
    samples: Samples,
    estimator: _Estimator,
    folds: Any,
    work: Work,
) -> CrossValidation | None:
    """Return the cross-validation of what a model for a measure is compared with."""
    if not isinstance(estimator, MeasureClassifier):
        return None
    common = _common_parameters(options, plan, samples.table)
    common.pop("C", None)  # that of a measure weighs another loss
    rival = BudgetClassifier(**common, class_weight=options.class_weight, multi_class="ovr")
    scoring: dict[str, Any] = {"measure": options.measure, "pos_label": estimator.pos_label}
    work.progress.phase("Cross-validating a selection for accuracy")
    with work.timed("cross-validation"):
        X, y, groups = samples.table.X, samples.y, samples.response.groups
        return cross_validate(rival, X, y, cv=folds, groups=groups, **scoring)


def _common_parameters(options: SelectOptions, plan: Plan, table: Table) -> dict[str, Any]:
    """Return the parameters that all estimators of the command have, with few exceptions."""
    return {
        "n_features": None if plan.whole else plan.sizes,
        **({} if options.C is None else {"C": options.C}),
        "refit_C": plan.refit_C,
        "standardize": options.standardize,
        "fit_intercept": options.intercept,
        "forced_features": forced_features(options, plan, table) or None,
        "n_threads": options.threads,
        **covariates(options, table),
    }


def _parameters(options: SelectOptions, plan: Plan, estimator: _Estimator) -> dict[str, Any]:
    stated = ("n_features", "n_groups", "feature_groups", "method", "criterion")
    # Of a report the model has it, not the options.
    own = plan.method if plan.method in ("measure", "bilevel") else estimator.method
    if own == "auto" and isinstance(estimator, BudgetClassifier):
        by_folds = estimator._paths[0].n_folds or estimator.method_ != estimator._plan().method.name
        own = estimator.method_ if by_folds else own
    return {
        "method": own if isinstance(own, str) else own.name,
        "measure": options.measure,
        "n_groups": plan.sizes if plan.whole else plan.n_groups,
        "feature_groups": None if options.group_file is None else str(options.group_file),
        "level": options.level,
        **{
            name: value
            for name, value in describe_parameters(estimator).items()
            if name not in stated
        },
    }


def _signs(options: SelectOptions, table: Table) -> int | dict[int, int] | None:
    """Return the sign of all coefficients, or those of some by their positions; None without."""
    signs: dict[int, int] = {}
    for option, names, sign in (
        ("--nonnegative", options.nonnegative, 1),
        ("--nonpositive", options.nonpositive, -1),
    ):
        if names == ["all"] and "all" not in (table.feature_names or ()):
            if options.nonnegative and options.nonpositive:
                raise ValueError(f"{option} all leaves no features for the other sign.")
            return sign
        for place in positions_of(option, names, table):
            if signs.setdefault(place, sign) != sign:
                raise ValueError(
                    f"{option} must not have a feature of --nonnegative: its coefficient would be "
                    "0. Leave it out of one of them."
                )
    return signs or None


def _check_measured_folds(estimator: Any, y: Any, folds: Any, groups: Any) -> None:
    """Refuse a measure that cannot score the rows left out of a fold, before anything is fitted."""
    labels, weight = np.asarray(y), np.ones(len(y))
    classes, _ = check_pos_label(np.unique(labels), estimator.pos_label)
    pairs = splits(labels, weight, folds, 0, groups=groups)
    check_folds(parse_measure(estimator.measure), labels, weight, pairs, [classes] * len(pairs))
