"""What a file of a model or a certificate says: the rows that it is of, and the problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.messages import some
from ..io.samples import SampleFile, column_of
from .options import ColumnsOptions, SelectOptions, VerifyOptions
from .target import read_response

if TYPE_CHECKING:
    from ..io.encoding import Coding
    from ..io.input import Response
    from ..io.table import Layout, Table
    from ..persistence import LoadedModel

_Options = TypeVar("_Options", SelectOptions, VerifyOptions)


def read_training(
    options: _Options,
    task: str,
    file: str,
    metadata: Mapping[str, Any],
    notes: list[str],
    like: Layout | None = None,
) -> tuple[_Options, Table, Response]:
    """Return data as `read_response`, of the rows that a file was made from, and what chose them.

    A condition of the user's own wins over that of the file.

    metadata : of the model or the certificate; empty where there is none.
    """
    from ..core.files import WhereError

    own = metadata.get("columns", {}).get("where")
    if own is None or options.where is not None:
        if own not in (None, options.where):
            notes.append(f"rows are chosen by --where; those of {file} were by {own}")
        return options, *read_response(options, task, like)
    asked = replace(options, where=own)
    try:
        table, response = read_response(asked, task, like)
    except WhereError:
        if options.data == "-":  # which is read only once
            raise
        table, response = read_response(options, task, like)
        notes.append(
            f"{file} is of the rows where {own}, and {options.data} has no such column: all of its "
            "rows are taken"
        )
        return options, table, response
    notes.append(
        f"{file} is of the rows where {own}, and so they are taken here; --where chooses others"
    )
    return asked, table, response


def other_rows(data: str, table: Table, file: str, metadata: Mapping[str, Any]) -> str | None:
    """Return what is said where data have not as many rows as a file was made from; else None."""
    n, known = table.X.shape[0], metadata.get("n_samples")
    if known in (None, n):
        return None
    return f"{data} has {n:,} samples here, and {file} is of {known:,}"


def note_on_rows(
    options: ColumnsOptions, data: str, file: str, metadata: Mapping[str, Any]
) -> list[str]:
    """Return what is told of new rows where a model was selected from some rows alone."""
    from ..core.files import quote
    from ..io.table import Where, typed

    own = metadata["columns"].get("where")
    if own is None or options.where is not None:
        return []
    names = dict.fromkeys(quote(one.name) for one in Where(own).comparisons)
    what = "the column" if len(names) == 1 else "the columns"
    return [
        f"{file} is of rows where {own}, and all rows of {data} are taken; if it has {what} "
        f"{some([*names], 5)}, {typed(own)} takes such rows alone"
    ]


# What a model file says of the problem that its model answers, as options of select.


def _named_whole(names: Sequence[str], codings: Mapping[str, Coding]) -> Iterator[str]:
    """Yield names of covariates, of text that is one as a whole that of its column."""
    for name in names:
        coding = codings.get(name)
        own = [one for one in names if codings.get(one) == coding]
        whole = coding is not None and own == coding.names_beside([coding.column])
        yield coding.column if coding is not None and whole else name


def has_whole_groups(model: LoadedModel) -> bool:
    """Return whether a model was selected as whole groups of features."""
    parameters = model.metadata["parameters"]
    return parameters.get("feature_groups") is not None and parameters.get("n_features") is None


def options_of_model(model: LoadedModel) -> dict[str, Any]:
    """Return what a model says of its problem, as options."""
    from ..persistence import LoadedClassifier, LoadedRegressor
    from ..persistence.loaded import named_among

    metadata = model.metadata
    found: dict[str, Any] = {}
    for certificate in filter(None, metadata["certificates"]):
        found["C"] = certificate["C"]
    if metadata["parameters"].get("class_weight") == "balanced":
        found["class_weight"] = "balanced"
    names = named_among(model.covariates_, model.columns, model.feature_names)
    if names:
        found["covariates"] = ",".join(dict.fromkeys(_named_whole(names, model.layout.codings)))
    columns = metadata["columns"]
    for role in (
        "time", "time_from", "start", "strata", "offset", "exposure", "cv_groups", "id", "missing",
        "na", "dates",
    ):  # fmt: skip
        if role in columns:
            found[role] = columns[role]
    if "event" in columns:
        value = columns.get("event_value")
        found["event"] = columns["event"] if value is None else f"{columns['event']}={value}"
    if isinstance(model, LoadedClassifier):
        if model.ordered_classes_.size:
            found["order"] = ",".join(map(str, model.ordered_classes_.tolist()))
        elif "time" not in found:
            found["task"] = "classes"
    elif isinstance(model, LoadedRegressor):
        found["task"] = "counts" if model.loss.name == "poisson" else "numbers"
        found["loss"] = model.loss.name
        found["quantile"] = model.loss.parameters.get("quantile")
    target = metadata["target_name"]
    own = target if isinstance(target, list) else [target]
    if "time" not in found and target is not None and (len(own) == 1 or "," not in "".join(own)):
        found["target"] = ",".join(own)
    return found


def with_forced(
    options: SelectOptions, names: Sequence[str], model: LoadedModel | None
) -> SelectOptions:
    """Return options that force the features that are columns of --samples: they are joined so.

    Of a model that has forced features these alone can be.

    names : of the features, of a model its own. model : None for a list from anywhere.
    """
    if not options.samples:
        return options
    files = [SampleFile.read(path, options.encoding) for path in options.samples]
    there = {name for file in files for name in file.header}
    own = names if model is None else _forced_in(model) or names
    joined = [name for name in own if column_of(name, there) in there]
    return replace(options, force=joined) if joined else options


def _forced_in(model: LoadedModel) -> list[str]:
    """Return the names of the features that were forced into a model."""
    forced = model.metadata["parameters"].get("forced_features") or []
    if model.feature_names is None:
        return []
    known = dict(zip(model.columns.tolist(), model.feature_names, strict=True))
    return [name for one in forced if (name := known.get(one, one)) in model.feature_names]
