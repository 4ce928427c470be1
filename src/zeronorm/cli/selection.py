"""The work of `zeronorm select`: its estimator, the features that it names, its files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from msgspec import structs

from .. import methods, persistence
from ..core.files import did_you_mean, quote
from ..core.messages import Doubt, show, span
from ..core.targets import check_pos_label
from ..estimators import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    MeasureClassifier,
)
from ..estimators.budget import unshared
from ..estimators.folds import check_folds, splits
from ..estimators.held_out import CrossValidation
from ..io.input import Samples, file_hint, listed
from ..io.opening import as_design
from ..io.table import Dataset, shared_name
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
from ..reporting.documents.trust import Question, kept_report, known_trust
from ..reporting.records import Category, Criteria, Interrupted, SelectionFound, Trust, as_json
from ..reporting.warnings import targets_in_disguise, too_many_features
from ..solvers.driver import PartialResults
from .files import write_features
from .folds import folds_of, stability_of, validated
from .messages import Work
from .options import PAIRS, SECONDS, DiscoverOptions, SelectOptions
from .page import commands_of, write_page
from .plan import OF_CRITERIA, OF_FOLDS, SelectionPlan, for_every_size, loss_of
from .target import columns_of

if TYPE_CHECKING:
    from .folds import Validated


_Estimator: TypeAlias = (
    BudgetClassifier | BudgetRegressor | BudgetSurvivalAnalysis | MeasureClassifier
)


def run(
    options: SelectOptions,
    plan: SelectionPlan,
    samples: Samples,
    work: Work,
) -> SelectionFound:
    """Fit, cross-validate and write the models; return what is known about them."""
    estimator = estimator_of(options, plan, samples)
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
        work.notes.extend(_note_on_forced(options, shown, samples.table))
    compared = len(validation.sizes) if validation is not None and rule in OF_FOLDS else 1

    def file_of(files: Mapping[int, Path] | None, size: Any) -> str | None:
        written = plan.rule == "all" or size == estimator.size_
        return str(files[size_number(size)]) if files and written else None

    models = [
        structs.replace(
            describe_model(estimator, size, *found, compared),
            file=file_of(plan.models, size),
            certificate_file=file_of(plan.certificates, size),
        )
        for size in sizes
    ]
    work.notes.extend(too_many_features(models, samples.table.X.shape[0]))
    work.notes.extend(targets_in_disguise(models, samples, options.keep or ()))
    document = describe_selection(
        options.data,
        samples,
        estimator,
        models,
        _parameters(options, plan, estimator),
        categories=categories(options, samples.table),
        criteria=_criteria_of(estimator, sizes),
        rule=plan.rule,
        chosen_by=validation.chosen_by if validation and plan.rule in OF_FOLDS else None,
        interrupted=interrupt.describe(),
        features_file=None if options.features_out is None else str(options.features_out),
        seconds=work.seconds,
        notes=work.notes,
    )
    trust = known_trust(estimator, samples, document, halves)
    document = structs.replace(document, stability=trust.stability)

    def write(trust: Trust) -> None:
        with work.timed("write"):
            for size in sizes:
                if plan.rule == "all" or size == estimator.size_:
                    report = as_json(kept_report(document, trust, size_number(size)))
                    _write_model(options, plan, samples, estimator, size, held_out, report)

    write(trust)
    if options.features_out is not None:
        with work.timed("write"):
            write_features(options.features_out, document, samples)
    if options.report is not None:
        question = Question(estimator, samples, document)
        model = question.chosen.file
        commands = commands_of("select", options, question, None if model is None else Path(model))
        write(write_page(options.report, question, trust, PAIRS, SECONDS, commands, work))
    return document


def _with_budgets(
    plan: SelectionPlan, estimator: _Estimator, X: Any, y: Any, **offset: Any
) -> SelectionPlan:
    """Return the plan, and give the estimator the budgets that are to be found."""
    name = "n_groups" if plan.whole else "n_features"
    if plan.sizes is not None and plan.n_groups != "auto":
        return plan
    if plan.sizes is None:
        estimator.set_params(**{name: "auto"})
    budgets = automatic_budgets(estimator, X, y, **offset)
    estimator.set_params(**budgets)
    return replace(plan, sizes=budgets.get(name, plan.sizes))


def _criteria_of(estimator: _Estimator, sizes: list[Any]) -> list[Criteria]:
    """Return the information criteria of some sizes; none where there are none."""
    rows = persistence.tabulate(getattr(estimator, "criteria_", None))
    own = zip(rows, estimator._paths[0], strict=bool(rows))
    return [Criteria(**row) for row, size in own if size in sizes]


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


@dataclass(slots=True)
class Interrupt:
    """Ctrl-C: whether there was one, when, and what it has left out.

    What is finished is reported and written. With --checkpoint nothing is written, as the same
    command goes on from it.
    """

    # "selection", "cross-validation", "comparison of penalties" or "stability"
    during: str | None = None
    lacking: list[int] = field(default_factory=list)  # numbers of features

    def describe(self) -> Interrupted | None:
        """Return the record of it; None without one."""
        if self.during is None:
            return None
        return Interrupted(during=cast("Any", self.during), lacking=self.lacking)

    def fit(
        self, options: SelectOptions, estimator: Any, X: Any, y: Any, work: Work, **more: Any
    ) -> None:
        """Fit; an interrupt leaves the sizes that are finished by then, if there are any."""
        kept = None if options.checkpoint is not None else PartialResults()
        estimator._kept = kept
        try:
            work.fit(estimator, X, y, **more)
        finally:
            estimator._kept = None
        if kept is not None and kept.interrupted:
            done = list(estimator._paths[0])
            self.during = "selection"
            self.lacking = sorted({*estimator.n_features} - {*done})
            lacking = f", {ranges(self.lacking)} are lacking" if self.lacking else ""
            work.notes.append(
                Doubt(
                    f"interrupted: the sizes {ranges(done)} are finished{lacking}; nothing is "
                    "calibrated or cross-validated"
                )
            )

    @contextmanager
    def validating(
        self, options: SelectOptions, work: Work, what: str = "cross-validation"
    ) -> Iterator[None]:
        """Validate in the block; an interrupt leaves that out, and keeps the models."""
        try:
            yield
        except KeyboardInterrupt:
            if options.checkpoint is not None:
                raise
            self.during = what
            work.notes.append(Doubt(f"interrupted in the {what}, which is left out"))


def ranges(sizes: Sequence[int]) -> str:
    """Return growing numbers as text, neighbours as first and last: 1 to 3, 7."""
    runs: list[list[int]] = []
    for k in sizes:
        if runs and runs[-1][-1] == k - 1:
            runs[-1].append(k)
        else:
            runs.append([k])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]} to {r[-1]}" for r in runs)


def estimator_of(options: SelectOptions, plan: SelectionPlan, samples: Samples) -> _Estimator:
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
        name, quantile = loss_of(options)
        loss: Any = name or ("poisson" if task == "counts" else "least_squares")
        return BudgetRegressor(**common, loss=loss if quantile is None else Quantile(quantile))
    multi_class: Any = {None: "auto", True: "multinomial", False: "ovr"}[options.shared]
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
    return "--signs"


def _each_by_itself(estimator: _Estimator) -> list[str]:
    """Return the note that several classes have a model each, though nobody asked for that."""
    if not isinstance(estimator, BudgetClassifier) or estimator.multi_class != "auto":
        return []
    n_classes = len(estimator.classes_)
    if n_classes == 2 or estimator.multi_class_ != "ovr":
        return []
    return [
        f"{_unshared_option(estimator)} cannot select for several classes at once, so that each of "
        f"the {n_classes} classes has a model and features of its own, as with --per-class"
    ]


def _for_accuracy(
    options: SelectOptions,
    plan: SelectionPlan,
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


def _common_parameters(
    options: SelectOptions, plan: SelectionPlan, table: Dataset
) -> dict[str, Any]:
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


def _parameters(
    options: SelectOptions, plan: SelectionPlan, estimator: _Estimator
) -> dict[str, Any]:
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
        "quantile": loss_of(options)[1],
        **{
            name: value
            for name, value in describe_parameters(estimator).items()
            if name not in stated
        },
    }


def _signs(options: SelectOptions, table: Dataset) -> int | dict[int, int] | None:
    """Return the sign of all coefficients, or those of some by their positions; None without."""
    signs: dict[int, int] = {}
    known = table.feature_names or ()
    for text in options.signs or ():
        name, _, mark = text.rpartition("=")
        if not name or mark not in ("+", "-"):
            raise ValueError(
                "--signs must be NAME=+ for coefficients of 0 or more, or NAME=-; got "
                f"{quote(text)}."
            )
        sign = 1 if mark == "+" else -1
        if name == "all" and "all" not in known:
            if len(options.signs or ()) > 1:
                raise ValueError(f"--signs {text} leaves no features for other signs.")
            return sign
        several = text.split(",")
        if name not in known and several[1:] and all(one[-2:] in ("=+", "=-") for one in several):
            each = " ".join(f"--signs {shlex.quote(show(one.strip()))}" for one in several[:8])
            raise ValueError(f"--signs names one feature each time; say {each}.")
        for place in positions_of("--signs", [name], table):
            if signs.setdefault(place, sign) != sign:
                raise ValueError(
                    f"--signs must have one sign for a feature; got both for {quote(name)}: its "
                    "coefficient would be 0."
                )
    return signs or None


def _check_measured_folds(estimator: Any, y: Any, folds: Any, groups: Any) -> None:
    """Refuse a measure that cannot score the rows left out of a fold, before anything is fitted."""
    labels, weight = np.asarray(y), np.ones(len(y))
    classes, _ = check_pos_label(np.unique(labels), estimator.pos_label)
    pairs = splits(labels, weight, folds, 0, groups=groups)
    check_folds(parse_measure(estimator.measure), labels, weight, pairs, [classes] * len(pairs))


def forced_features(options: SelectOptions, plan: SelectionPlan, table: Dataset) -> list[int]:
    """Return the positions of the features of --force; refuse levels that are more than a size."""
    positions = positions_of("--force", options.force, table)
    n_forced = len(set(positions))
    texts = [one for one in categories(options, table) if one.option == "--force"]
    sizes = None if plan.whole else plan.sizes
    if texts and sizes is not None and min(sizes) < n_forced:
        named = " and ".join(f"{show(one.column)} {one.features}" for one in texts)
        raise ValueError(
            f"--features counts what is forced, and a column of text is a feature for each of its "
            f"levels ({named}): it must be at least {n_forced}; got {min(sizes)}. Say so, or name "
            "the column with --covariates, which are not counted."
        )
    return positions


def _note_on_forced(options: SelectOptions, sizes: Sequence[int], table: Dataset) -> list[str]:
    """Return what is told of sizes where forced columns of text leave no other a place."""
    texts = [one for one in categories(options, table) if one.option == "--force"]
    n_forced = len(set(positions_of("--force", options.force, table)))
    if not texts or min(sizes) > n_forced:
        return []
    named = " and ".join(f"{one.features} of {quote(one.column)}" for one in texts)
    return [
        Doubt(
            f"the {n_forced} forced features ({named}) take all of k = {n_forced}: none is left "
            "for others; raise --features, or keep them out of k by --covariates"
        )
    ]


def covariates(options: SelectOptions | DiscoverOptions, table: Dataset) -> dict[str, Any]:
    """Return the parameter of --covariates."""
    if options.covariates is None:
        return {}
    names = _covariate_names(options, table)
    based = not getattr(options, "intercept", True)
    return {"covariates": positions_of("--covariates", names, table, based)}


def _covariate_names(options: SelectOptions | DiscoverOptions, table: Dataset) -> list[str]:
    """Return the names of --covariates, with commas between them, or one with commas."""
    text = options.covariates
    if text is None:
        return []
    whole = table.feature_names is not None and text in table.feature_names
    return [text] if whole else [name.strip() for name in text.split(",")]


def categories(options: SelectOptions, table: Dataset) -> list[Category]:
    """Return the columns of text that --force and --covariates name, as a document has them."""
    named = [("--force", name) for name in options.force or ()]
    named += [("--covariates", name) for name in _covariate_names(options, table)]
    found = []
    for option, name in named:
        levels = _levels_of(name, table)
        if levels and name not in (table.feature_names or ()):
            coding = table.codings[(table.feature_names or ())[levels[0]]]
            found.append(
                Category(
                    option=cast("Any", option),
                    column=name,
                    levels=len(coding.levels) + (coding.gaps is not None),
                    features=len(positions_of(option, [name], table, not options.intercept)),
                )
            )
    return found


def positions_of(
    option: str, names: Sequence[str] | None, table: Dataset, based: bool = False
) -> list[int]:
    """Return the positions of the features that an option names; a category is all of its own.

    based : whether covariates of text need their base level, as there is no intercept.
    """
    positions: list[int] = []
    if not names:
        return positions
    n_features = table.X.shape[1]
    known = table.feature_names
    for name in names:
        levels = _levels_of(name, table)
        if known is not None and name in known:
            positions.append(known.index(name))
        elif levels:
            # Beside an intercept all levels but one say everything, without a penalty. Only a store
            # has the base level nevertheless, as it was written without knowing of covariates.
            whole = len(levels) == len(table.codings[(known or ())[levels[0]]].names()) > 1
            without_base = whole and option == "--covariates" and not based
            positions += levels[1:] if without_base else levels
        elif len(alleles := _of_variant(option, name, table)) == 1:
            positions += alleles
        elif known is not None:
            same = [other for other in known if shared_name(other)[0] == name]
            same += [known[place] for place in alleles]
            if len(same) > 1:
                shown = ", ".join(show(other) for other in same[:8])
                raise ValueError(
                    f"{option}: {quote(name)} is the name of {len(same)} columns: {shown}; name "
                    "one of these."
                )
            parts = [part.strip() for part in name.split(",")]
            if len(parts) > 1 and {*parts} <= {*known}:
                each = " ".join(f"{option} {shlex.quote(show(part))}" for part in parts[:8])
                raise ValueError(f"{option} names one feature each time; say {each}.")
            hint = file_hint(option, name) or did_you_mean(name, known, given=names)
            raise ValueError(f"{option}: no feature {quote(name)}.{hint}")
        elif name.isdigit() and 0 <= int(name) - table.first_index < n_features:
            positions.append(int(name) - table.first_index)
        else:
            last = n_features - 1 + table.first_index
            raise ValueError(
                f"{option} must be {span(table.first_index, last)} (the features have no "
                f"names); got {quote(name)}."
            )
    return positions


def _of_variant(option: str, name: str, table: Dataset) -> list[int]:
    """Return the features that count an allele of a variant; none where it matters which one."""
    if table.variants is None or option == "--signs":
        return []
    return [place for place, own in enumerate(table.variants["name"].tolist()) if own == name]


def _levels_of(column: str, table: Dataset) -> list[int]:
    """Return the features that a category became, by the name of its column."""
    codings = [table.codings.get(name) for name in table.feature_names or ()]
    return [
        place
        for place, coding in enumerate(codings)
        if coding is not None and (coding.column, coding.kind) == (column, "category")
    ]


def _write_model(
    options: SelectOptions,
    plan: SelectionPlan,
    samples: Samples,
    estimator: Any,
    size: Any,
    held_out: Validated | None,
    report: dict[str, Any],
) -> None:
    """Write the model of a size, with what is known of it, and its certificate."""
    table, k = samples.table, size_number(size)
    names: dict[str, Any] = {
        "feature_names": table.feature_names,
        "first_index": table.first_index,
        "target_name": table.target_name,
        "columns": named_columns(options, table),
    }
    if plan.models:
        file = plan.models[k]
        names_of_data = {**names, "codings": table.codings}
        names_of_data["errors"] = None if held_out is None else held_out.errors(estimator, size)
        names_of_data["report"] = report
        persistence.save(estimator, file, n_features=size, **names_of_data, X=table.X)
    if plan.certificates:
        persistence.save_certificate(
            [path[size].certificate for path in estimator._paths],
            plan.certificates[k],
            table.X,
            samples.y,
            class_weight=options.class_weight,
            **names,
        )


def named_columns(options: SelectOptions, table: Dataset) -> dict[str, str]:
    """Return the names of the columns that the options name, as the file has them."""
    value = columns_of(options).get("event_value")
    more = {what: getattr(options, what) for what in ("missing", "where", "na", "dates")}
    more |= {"event_value": value}
    return {**table.column_names, **{what: text for what, text in more.items() if text}}
