"""The command `zeronorm report`: what a model file keeps of its selection, as text or a page.

With DATA what the file lacks is computed, and pictures join; the selection is not fitted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import estimators, persistence
from ..core.files import quote
from ..io.groups import read_groups
from ..io.input import Samples, comparable, is_demo
from ..io.source import check_path
from ..methods import METHODS
from ..model_selection.cross_validation import fold_models
from ..persistence import LoadedClassifier
from ..persistence.models import means_of
from ..reporting.documents.selection import with_validation
from ..reporting.documents.trust import Question, has_bounds, report_of
from ..reporting.page.html import render, versions
from ..reporting.records import PageWritten
from ..reporting.text.data import print_page
from ..reporting.text.selection import print_selection
from .folds import fold_remedies, usable_folds
from .messages import Work, show_document, watched
from .options import FOLDS, PAIRS, ReportOptions, SelectOptions
from .page import check_page, command_line, commands_of, write_page
from .plan import plan_selection
from .training import has_whole_groups, options_of_model, other_rows, read_training, with_forced

if TYPE_CHECKING:
    from ..persistence import LoadedModel
    from ..reporting.records import SelectionFound, Trust


def report(options: ReportOptions) -> None:
    """Show what is known of a model, or write it as a page: with DATA how sure each feature is."""
    if not options.data:
        _show_kept(options)
        return
    if options.output is None:
        raise ValueError(
            "--output FILE.html is needed with DATA, whose report is a page; leave DATA out for "
            "what the model keeps."
        )
    check_page(options.output, "--output", options, [])
    if options.pairs < 0:
        raise ValueError(f"--pairs must be at least 0; got {options.pairs}. 50 is the default.")
    if not 0 <= options.time_limit < float("inf"):
        raise ValueError(
            f"--time-limit must be a finite number of seconds, at least 0; got "
            f"{options.time_limit:g}."
        )
    with watched(options) as work:
        if options.group_file is not None:
            check_path(options.group_file)  # before DATA is read, which may take its time
        loaded = persistence.load(options.model)
        selection, known = _kept(options, loaded)
        asked = _as_selection(options, loaded)
        plan = plan_selection(asked)
        work.progress.phase(f"Reading {options.data}")
        with work.timed("read"):
            asked, table, response = read_training(
                asked, plan.task, options.model, loaded.metadata, work.notes
            )
            work.has_read(table)
            groups = None
            if options.group_file is not None:
                groups = read_groups(options.group_file, table, work.notes)
        samples = Samples(table, response, groups)
        _check_same_samples(options, loaded, samples)
        question = Question(estimator_of_file(loaded, samples, options), samples, selection)
        with fold_remedies(table, response):
            different = question.differs() or _other_accuracy(loaded, question)
            if different is not None:
                raise ValueError(
                    f"{options.data}: not the samples that {options.model} was selected from: "
                    f"{different}. A report needs the same samples, which have no weights."
                )
            work.notes.extend(_unused(options, selection, known))
            question, computed = _cross_validated(options, question, work)
            computed += _lacking(options, question.selection, known)
            if computed:
                note = f"computed from {options.data}, as the model file lacks it: "
                notes = [*selection.notes, note + ", ".join(computed)]
                question = replace(question, selection=with_notes(question.selection, notes))
            commands = commands_of("report", options, question, Path(options.model))
            limits = options.pairs, options.time_limit
            write_page(options.output, question, known, *limits, commands, work)
    _show_page(options, question.selection, computed, work, print_page)


def _unused(options: ReportOptions, selection: SelectionFound, known: Trust) -> Iterator[str]:
    """Yield notes on options for what the model file keeps already."""
    chosen = selection.model_of(selection.chosen)
    if options.cv is not None and chosen.cross_validation is not None:
        folds = chosen.cross_validation.folds
        yield f"{options.model} keeps held-out scores of {folds} folds; --cv is not used"
    if options.pairs != PAIRS and known.stability is not None:
        pairs = known.stability.n_pairs
        yield f"{options.model} keeps the stability of {pairs} pairs; --pairs is not used"


def _lacking(options: ReportOptions, selection: SelectionFound, known: Trust) -> list[str]:
    """Return what the model file lacks of a page, and DATA give."""
    bounds, sizes = has_bounds(selection), {model.size for model in selection.models}
    searched = {size for size, own in known.models.items() if own.proofs}
    return [
        what
        for what, lacks in (
            ("stability", known.stability is None and options.pairs),
            ("substitutes", bounds and sizes - {*known.models}),
            ("the search for better features", bounds and options.time_limit and sizes - searched),
            ("near-optimal feature sets", bounds and options.time_limit and known.near is None),
        )
        if lacks
    ]


def _cross_validated(
    options: ReportOptions, question: Question, work: Work
) -> tuple[Question, list[str]]:
    """Return a selection with held-out scores, where the file has none and the data allow folds."""
    selection, samples = question.selection, question.samples
    if any(model.cross_validation is not None for model in selection.models):
        return question, []
    cv = FOLDS if options.cv is None else options.cv
    folds = usable_folds(cv, samples.table, samples.response, work.notes)
    if folds is None:
        return question, []

    work.progress.phase("Cross-validating")
    with work.timed("cross-validation"):
        posed, paths = fold_models(
            question.estimator, samples.table.X, samples.y, cv=folds,
            offset=samples.response.offset, groups=samples.response.groups,
        )  # fmt: skip
        found = with_validation(selection, posed.scored(paths))
    return replace(question, selection=found), ["held-out scores"]


def _kept(options: ReportOptions, loaded: LoadedModel) -> tuple[SelectionFound, Trust]:
    """Return what a model file keeps; refuse one that keeps nothing, or of another model."""
    try:
        kept = report_of(loaded)
    except ValueError as error:
        raise ValueError(f"{options.model}: {error}.") from error
    if kept is None:
        raise ValueError(
            f"{options.model} keeps no report: zeronorm select writes one with a model, `save` of "
            "Python does not. In Python, zeronorm.report(model, X, y, 'FILE.html') writes a page."
        )
    return kept


def _show_kept(options: ReportOptions) -> None:
    """Show what a model file keeps of its selection, as text, JSON or a page."""
    asked = [
        one.name for one in fields(options)
        if one.name not in ("model", "output", "as_json", "quiet", "debug")
        and getattr(options, one.name) != one.default
    ]  # fmt: skip
    if asked:
        raise ValueError(
            f"--{asked[0].replace('_', '-')} needs DATA: name them after MODEL, or leave it out."
        )
    if options.output is not None:
        check_page(options.output, "--output", options, [], draws=False)
    with watched(options) as work:
        selection, trust = _kept(options, persistence.load(options.model))
        if options.output is not None:
            lacking = [
                what
                for what, lacks in (
                    ("stability", trust.stability is None),
                    ("other feature sets", not trust.models),
                )
                if lacks
            ]
            what = " and ".join(["pictures", *lacking])
            note = f"zeronorm report MODEL DATA adds what the model file lacks: {what}"
            shown = with_notes(selection, [*selection.notes, note])
            again = [("This page", command_line("report", options))]
            page = render(shown, trust, (), again, versions())
            persistence.write_file(options.output, page)
    if options.output is None:
        show_document(selection, options, print_selection)
        return
    _show_page(options, selection, [], work, print_page)


def with_notes(selection: SelectionFound, notes: list[str]) -> SelectionFound:
    """Return the record of a selection with other notes."""
    from msgspec import structs

    return structs.replace(selection, notes=notes)


def _show_page(
    options: ReportOptions, selection: SelectionFound, computed: list[str], work: Work, show: Any
) -> None:
    """Print the file and the size of the page."""
    assert options.output is not None
    document = PageWritten(
        model=options.model,
        data=selection.data,
        n_features=selection.model_of(selection.chosen).n_features,
        sizes=[model.n_features for model in selection.models],
        file=str(options.output),
        n_bytes=options.output.stat().st_size,
        computed=computed,
        seconds=work.seconds,
        notes=work.notes,
    )
    show_document(document, options, show)


def _as_selection(options: ReportOptions, loaded: LoadedModel) -> SelectOptions:
    """Return the options by which DATA are read, as far as the file and the options have them."""
    parameters = loaded.metadata["parameters"]
    whole = has_whole_groups(loaded)
    if whole != (options.group_file is not None):
        raise ValueError(
            f"{options.model} is of whole groups of features, which the file has of its own alone; "
            "say --group-file FILE as well, with which it was selected."
            if whole
            else f"--group-file {options.group_file} is of whole groups, and {options.model} is of "
            "features; leave it out."
        )
    if parameters.get("feature_groups") is not None and not whole:
        raise ValueError(
            f"{options.model} is of features in groups, which the file does not have; zeronorm "
            "select --report writes the page with the model."
        )
    own = {one.name for one in fields(SelectOptions)} - {"output", "time_limit"}
    given = {one.name: getattr(options, one.name) for one in fields(options) if one.name in own}
    built_in = ("target", "id") if is_demo(options.data) else ()
    of_model = options_of_model(loaded)
    if parameters.get("measure") is not None:
        of_model |= {"measure": parameters["measure"]}
        of_model.pop("C", None)
    for name, value in of_model.items():
        if given.get(name) is None and name not in built_in:
            given[name] = value
    groups = {*(loaded.metadata["feature_groups"] or ())}
    sizes = {"features": "all", "groups": str(len(groups))}
    given |= sizes if whole else {"features": str(loaded.support_.size)}
    given |= {"rule": "all", "save": False, "report": options.output}
    return with_forced(SelectOptions(**given), loaded.feature_names or (), loaded)


def _check_same_samples(options: ReportOptions, loaded: LoadedModel, samples: Samples) -> None:
    """Refuse data that are not those of the fit."""
    import numpy as np

    table, columns = samples.table, loaded.columns
    n_features, names = table.X.shape[1], loaded.feature_names
    known = table.feature_names
    if n_features != loaded.n_features_in_:
        raise ValueError(
            f"{options.data} has {n_features:,} features; {options.model} was selected from "
            f"{loaded.n_features_in_:,}. A report needs the same data; --drop leaves out columns "
            "and --where chooses rows."
        )
    others = other_rows(options.data, table, options.model, loaded.metadata)
    if others is not None:
        raise ValueError(f"{others}. A report needs the same samples; --where chooses them.")
    if names is not None and known is not None and [known[j] for j in columns] != list(names):
        first = next(j for j, name in zip(columns, names, strict=True) if known[j] != name)
        name = names[columns.tolist().index(first)]
        there = f"it is feature {known.index(name) + 1}" if name in known else "it is not there"
        raise ValueError(
            f"{options.data}: feature {first + 1} must be {quote(name)}, as in the data of "
            f"{options.model}; got {quote(known[first])}, and {there}. A report needs the same "
            "data."
        )
    means = loaded.metadata["means"]
    if means is None:
        return
    found = np.array(means_of(table.X, columns))
    if not np.allclose(found, means, rtol=1e-5, atol=1e-9 + 1e-6 * np.abs(means).max(initial=0)):
        raise ValueError(
            f"{options.data}: not the samples that {options.model} was selected from, as the means "
            "of its features are others. A report needs these; zeronorm evaluate says how good a "
            "model is on others."
        )


def _other_accuracy(loaded: LoadedModel, question: Question) -> str | None:
    """Return how the accuracy of a classifier on data differs from that on its training data.

    A model without a certificate has no objective to compare. A sample on the boundary may be
    rounded to either side.
    """
    known, y = question.chosen.training_accuracy, question.samples.response.y
    if not (isinstance(loaded, LoadedClassifier) and isinstance(known, float)):
        return None
    y = comparable(y, loaded.classes_)
    found = float((loaded.predict(question.samples.table) == y).mean())
    if abs(found - known) * len(y) < 1.5:
        return None
    return f"the accuracy of the model is {found:.3f} on them, and was {known:.3f} on those"


def estimator_of_file(loaded: LoadedModel, samples: Samples, options: ReportOptions) -> Any:
    """Return the estimator of a model file, not fitted, with the parameters of its fit."""
    kinds = (
        estimators.BudgetClassifier, estimators.BudgetRegressor,
        estimators.BudgetSurvivalAnalysis, estimators.MeasureClassifier,
    )  # fmt: skip
    kind = {one.__name__: one for one in kinds}[loaded.metadata["estimator"]]
    found: dict[str, Any] = {"n_threads": options.threads}
    for name, value in loaded.metadata["parameters"].items():
        if name == "method" and isinstance(value, Mapping):
            own = {key: _number(one) for key, one in value.items() if key != "name"}
            found[name] = METHODS[value["name"]](**own)
        elif name == "loss" and not str(value).islower():
            found[name] = getattr(loaded, "loss", value)
        elif name == "class_weight" and isinstance(value, Mapping):
            classes = loaded.classes_.tolist() if isinstance(loaded, LoadedClassifier) else []
            found[name] = {label: value[str(label)] for label in classes if str(label) in value}
        elif name == "signs" and isinstance(value, Mapping):
            found[name] = {int(key) if key.isdigit() else key: one for key, one in value.items()}
        elif name == "multi_class":  # which a fit has settled; of ordered classes it has no say
            found[name] = value if value in ("multinomial", "ovr") else "auto"
        elif name == "feature_groups":
            found[name] = samples.groups
        elif name not in found and "__" not in name:  # those of the method are in it
            found[name] = _number(value)
    return kind(**found)


def _number(value: Any) -> Any:
    """Return a parameter, an infinite one as a number."""
    return float(value) if value in ("inf", "-inf") else value
