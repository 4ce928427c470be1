"""What a model file says of the problem that its model answers, as options of select."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..io.samples import SampleFile, column_of
from .options import SelectOptions

if TYPE_CHECKING:
    from ..io.encoding import Coding
    from ..persistence import LoadedModel


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
    from ..persistence.archive import named_among

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
    for role in ("time", "start", "strata", "offset", "exposure", "cv_groups", "id", "missing"):
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
        found["level"] = model.loss.parameters.get("level")
    if "time" not in found and isinstance(metadata["target_name"], str):
        found["target"] = metadata["target_name"]
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
