"""The command `zeronorm report`: what a model file keeps of its selection, as text or a page.

With the data more can be said: the selection is repeated, and half-samples and other lists join.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from ..io.input import is_demo
from ..methods import METHODS
from .folds import fold_remedies
from .messages import Work, show_document, watched
from .options import ReportOptions, SelectOptions
from .page import check_page, command_line
from .plan import SelectionPlan, plan_selection
from .predict import note_on
from .training import has_whole_groups, options_of_model, other_rows, read_training, with_forced

if TYPE_CHECKING:
    from ..io.input import Samples
    from ..persistence import LoadedModel

# Parameters of a model file that the data and the options of the report have.
_NOT_RESTORED = {
    "n_features", "n_threads", "feature_groups", "n_groups", "forced_groups", "covariates",
}  # fmt: skip


def report(options: ReportOptions) -> None:
    """Show what is known of a model, or write it as a page: with DATA how sure each feature is."""
    if not options.data:
        try:
            _show_kept(options)
        except (AttributeError, KeyError, TypeError) as error:  # of a file of anyone
            raise ValueError(
                f"{options.model}: its report is not of this zeronorm ({type(error).__name__}: "
                f"{error})."
            ) from error
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
        with work.timed("imports"):
            work.progress.phase("Starting")
            from .. import persistence
            from ..io.groups import read_groups
            from ..io.input import Samples
            from ..io.source import check_path
            from ..reporting.text.data import print_page
            from .selection import run
        if options.group_file is not None:
            check_path(options.group_file)  # before DATA is read, which may take its time
        loaded = persistence.load(options.model)
        work.notes.extend(
            f"{note}; this page is about predictions of the likelier class"
            for note in note_on(options.model, loaded)
        )
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
        again = Again.of(options, loaded, asked, plan, samples)
        with fold_remedies(table, response):
            found = run(asked, plan, samples, work, again)
    _show_page(options, found, work, n_scans=found["n_scans"], show=print_page)


_LACKS = (
    "this page has what the model file keeps of the selection; zeronorm report MODEL DATA adds "
    "pictures, and what the file lacks: {}"
)


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
        with work.timed("imports"):
            from .. import persistence
            from ..reporting.documents.trust import report_of
            from ..reporting.page.html import render, versions
            from ..reporting.text.data import print_page
            from ..reporting.text.selection import print_selection
        loaded = persistence.load(options.model)
        try:
            kept = report_of(loaded)
        except ValueError as error:
            raise ValueError(f"{options.model}: {error}.") from error
        if kept is None:
            raise ValueError(
                f"{options.model} keeps no report: zeronorm select writes one with a model, `save` "
                "of Python does not. Name its data after it, and a page: zeronorm report MODEL "
                "DATA -o FILE.html."
            )
        document, trust = kept
        if options.output is not None:
            lacking = {"how stable the list is": "stability", "other lists": "models"}
            parts = " and ".join(what for what, name in lacking.items() if not trust[name])
            if parts:
                document["notes"].append(_LACKS.format(parts))
            again = [("This page", command_line("report", options))]
            page = render(document, trust, (), again, versions())
            persistence.write_file(options.output, page)
    if options.output is None:
        show_document(document, options, print_selection)
        return
    _show_page(options, document, work, n_scans=0, show=print_page)


def _show_page(
    options: ReportOptions, found: Mapping[str, Any], work: Work, n_scans: int, show: Any
) -> None:
    """Print the file and the size of the page. found : the document of its selection."""
    assert options.output is not None
    chosen = next(one for one in found["models"] if one["size"] == found["chosen"])
    document = {
        "model": options.model,
        "data": found["data"],
        "n_features": chosen["n_features"],
        "sizes": [model["n_features"] for model in found["models"]],
        "file": str(options.output),
        "n_bytes": options.output.stat().st_size,
        "n_scans": n_scans,
        "seconds": work.seconds,
        "notes": work.notes,
    }
    show_document(document, options, show)


@dataclass(frozen=True, slots=True, eq=False)
class Again:
    """The selection of a model file, repeated on its data, so that more can be said of it."""

    options: ReportOptions
    loaded: LoadedModel
    estimator: Any
    size: int

    @classmethod
    def of(
        cls,
        options: ReportOptions,
        loaded: LoadedModel,
        asked: SelectOptions,
        plan: SelectionPlan,
        samples: Samples,
    ) -> Again:
        """Return the estimator as the file has its parameters; refuse other data."""
        from .selection import estimator_of

        _check_same_samples(options, loaded, samples)
        estimator = estimator_of(asked, plan, samples)
        known = estimator.get_params(deep=False)
        given = _restored(loaded)
        estimator.set_params(**{name: value for name, value in given.items() if name in known})
        return cls(options, loaded, estimator, _size_of(loaded))

    @property
    def was_chosen(self) -> bool:
        """Whether the model may be the best of the sizes that were compared when it was chosen."""
        return self.options.features is None

    def check(self) -> None:
        """Make the fitted estimator that of the file; refuse another model."""
        import numpy as np

        from ..persistence.models import as_loaded

        self.estimator._keep_size(self.size)
        found = as_loaded(self.estimator, n_features=self.size)
        own = self.loaded
        same = found.columns.shape == own.columns.shape and bool(
            (found.columns == own.columns).all()
        )
        slack = 1e-4 * np.abs(own.coef).max(initial=1e-300)
        if not same or np.abs(found.coef - own.coef).max(initial=0.0) > slack:
            what = "coefficients" if same else "features"
            raise ValueError(
                f"{self.options.model}: selected again from {self.options.data} by the options "
                f"that it has, its {what} are others, so that a report would be of another model. "
                "Were the rows weighted, or the data changed? zeronorm select --report writes the "
                "page with the model."
            )


def _size_of(loaded: LoadedModel) -> int:
    """Return the number of features of a model, of several classes each that of one.

    Of whole groups their number.
    """
    import numpy as np

    if has_whole_groups(loaded):
        return len({*loaded.metadata["feature_groups"]})
    if len(loaded.metadata["certificates"]) == 1:
        return int(loaded.support_.size)
    own = ~np.isin(loaded.columns, loaded.covariates_)
    return int((loaded.coef[:, own] != 0).sum(axis=1).max())


def _as_selection(options: ReportOptions, loaded: LoadedModel) -> SelectOptions:
    """Return the options of the selection, as far as the file and those of the report have them."""
    metadata = loaded.metadata
    parameters = metadata["parameters"]
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
    if metadata["solutions"] and "measure" not in parameters:
        raise ValueError(
            f"{options.model} is of {metadata['estimator']}; a report is of models with a number "
            "of features, as zeronorm select writes them."
        )
    own = {one.name for one in fields(SelectOptions)} - {"features", "output", "time_limit"}
    given = {one.name: getattr(options, one.name) for one in fields(options) if one.name in own}
    built_in = ("target", "id") if is_demo(options.data) else ()
    of_model = options_of_model(loaded)
    if parameters.get("measure") is not None:
        of_model |= {"measure": parameters["measure"]}
        of_model.pop("C", None)
    elif parameters.get("multi_class") == "ovr" and len(metadata["certificates"]) > 1:
        of_model["shared"] = False
    for name, value in of_model.items():
        if given.get(name) is None and name not in built_in:
            given[name] = value
    sizes = options.features or ",".join(map(str, _sizes(loaded)))
    sizes = f"{sizes},{_size_of(loaded)}"
    given |= {"features": "all", "groups": sizes} if whole else {"features": sizes}
    given |= {"rule": "all", "save": False}
    asked = SelectOptions(**given, report=options.output)
    return with_forced(asked, loaded.feature_names or (), loaded)


def _sizes(loaded: LoadedModel) -> list[int]:
    """Return the sizes that were compared when a model was selected."""
    name = "n_groups" if has_whole_groups(loaded) else "n_features"
    wanted = loaded.metadata["parameters"].get(name)
    if isinstance(wanted, list) and all(type(one) is int for one in wanted):
        return [int(one) for one in wanted]
    return [int(row["size"]) for row in loaded.metadata["criteria"]] or [_size_of(loaded)]


def _check_same_samples(options: ReportOptions, loaded: LoadedModel, samples: Samples) -> None:
    """Refuse data that are not those of the fit."""
    import numpy as np

    from ..core.files import quote
    from ..persistence.models import means_of

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


def _restored(loaded: LoadedModel) -> dict[str, Any]:
    """Return the parameters of the estimator that a model file has, as they were."""
    from ..persistence import LoadedClassifier

    found: dict[str, Any] = {}
    for name, value in loaded.metadata["parameters"].items():
        if name in _NOT_RESTORED:
            continue
        if name == "method":
            value = _method(value)
        elif name == "loss" and not str(value).islower():
            value = getattr(loaded, "loss", value)
        elif name == "class_weight" and isinstance(value, Mapping):
            classes = loaded.classes_.tolist() if isinstance(loaded, LoadedClassifier) else []
            value = {label: value[str(label)] for label in classes if str(label) in value}
        elif name == "signs" and isinstance(value, Mapping):
            value = {int(key) if key.isdigit() else key: sign for key, sign in value.items()}
        elif value in ("inf", "-inf"):
            value = float(value)
        found[name] = value
    if loaded.covariates_.size:
        found["covariates"] = loaded.covariates_.tolist()
    return found


def _method(text: Any) -> Any:
    """Return a method by its name, or by what its record was written as."""
    if not isinstance(text, str) or "(" not in text:
        return text
    kinds = {type_.__name__: type_ for type_ in METHODS.values()}
    try:
        call = ast.parse(text, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args:
            return kinds[call.func.id](**{str(one.arg): _value(one) for one in call.keywords})
    except (KeyError, SyntaxError, TypeError, ValueError):
        pass
    raise ValueError(f"method {text:.80} of the model is not of this zeronorm.")


def _value(keyword: ast.keyword) -> Any:
    text = ast.unparse(keyword.value)
    return float(text) if text in ("inf", "nan") else ast.literal_eval(text)
