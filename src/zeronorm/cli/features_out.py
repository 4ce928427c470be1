"""The file of --features-out: the selected features, a row for each, as CSV or Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.effects import ratio_name
from .columns_file import check_columns_file, columns_file
from .options import DiscoverOptions, SelectOptions
from .paths import refuse_overwriting

if TYPE_CHECKING:
    import numpy as np

    from ..io.input import Samples

_MAX_CLASSES = 20  # So many classes have a column of their means.


def check_features_out(options: SelectOptions | DiscoverOptions, others: Sequence[Path]) -> None:
    """Refuse a file of features that cannot be written, or that is another file of the run.

    others : the models and certificates.
    """
    path = options.features_out
    if path is None:
        return
    check_columns_file(path, "--features-out", (".csv", ".parquet"))
    groups, checkpoint = (getattr(options, name, None) for name in ("group_file", "checkpoint"))
    for source in (options.target, *(options.samples or ())):
        refuse_overwriting([path], options.data, source, groups, "--features-out")
    for other in (*others, checkpoint):
        if other is not None and path.resolve() == other.resolve():
            raise ValueError(f"--features-out {path} is another file of this run; name another.")


def write_features(path: Path, document: Mapping[str, Any], samples: Samples) -> None:
    """Write the features of all models that are kept, those of a size by falling effect."""
    with columns_file(path) as write:
        write(features_table(document, samples))


def features_table(document: Mapping[str, Any], samples: Samples) -> dict[str, list[Any]]:
    """Return the columns of the file, by their names.

    Where there are covariates, they are behind the features of their model, without a rank, and
    "covariate" says which they are. A model that has a coefficient for each of several outputs has
    a column for each, as "coefficient(LABEL)". The statistics are those of all rows of the data.
    """
    models = document["models"]
    if document["rule"] != "all":
        models = [model for model in models if model["size"] == document["chosen"]]
    rows = [
        (model["n_features"], part, row)
        for model in models
        for part in ("features", "covariates")
        for row in model[part]
    ]
    found: dict[str, list[Any]] = {
        "n_features": [size for size, *_ in rows],
        **{
            name: [row.get(name) for *_, row in rows] for name in ("class", "rank", "name", "index")
        },
        "covariate": [part == "covariates" for _, part, _ in rows],
        **{name: [row.get(name) for *_, row in rows] for name in ("description", "group")},
        "entered": [row.get("block") for *_, row in rows],
    }
    for name in ("class", "description", "group"):
        if all(value is None for value in found[name]):
            del found[name]
    if not any(found["covariate"]):
        del found["covariate"]
    outputs = [str(label) for label in document["outputs"]]
    heads = {name: name for name in ("coefficient", "coefficient_per_sd")}
    ratio = ratio_name(document["parameters"].get("loss"))
    if ratio is not None and not (outputs and document["classes"]):
        own = ratio.replace(" ", "_")
        heads |= {own: "ratio", f"{own}_per_sd": "ratio_per_sd"}
    for name, key in heads.items():
        found |= _by_output(name, [row[key] for *_, row in rows], outputs)
    labels, names = document["classes"], document["outputs"]
    threads = document["parameters"].get("n_threads")
    indices = [row["index"] for *_, row in rows]
    return found | column_statistics(indices, labels, names, samples, threads)


def _by_output(name: str, values: list[Any], outputs: Sequence[str]) -> dict[str, list[Any]]:
    """Return one column, or one for each output."""
    if not outputs:
        return {name: values}
    return {f"{name}({label})": [row[i] for row in values] for i, label in enumerate(outputs)}


def column_statistics(
    indices: list[int],
    classes: Sequence[Any],
    outputs: Sequence[Any],
    samples: Samples,
    threads: int | None,
) -> dict[str, list[Any]]:
    """Return what the columns of the data say by themselves, a row for each index."""
    import numpy as np

    from ..io.opening import dense_columns

    response = samples.response
    distinct, places = np.unique(np.asarray(indices, np.int64), return_inverse=True)
    labels: list[Any] = []
    if response.labelled and len(classes) <= _MAX_CLASSES:
        labels = list(classes)
    masks = [np.asarray(response.y) == label for label in labels]
    targets: list[tuple[str, Any]] = []
    if response.task in ("numbers", "counts"):
        columns = [response.y] if response.y.ndim == 1 else list(response.y.T)
        names = [f"correlation({name})" for name in outputs] or ["correlation"]
        targets = list(zip(names, columns, strict=True))
    rows = []
    for column in dense_columns(samples.table.X, distinct, threads):
        mean, deviation = float(column.mean()), float(column.std())
        of_classes = [float(column[mask].mean()) for mask in masks]
        related = [_correlation(column, y) for _, y in targets]
        rows.append([mean, deviation, *of_classes, *related])
    heads = ["mean", "standard_deviation", *(f"mean({label})" for label in labels)]
    heads += [name for name, _ in targets]
    return {head: [rows[place][i] for place in places] for i, head in enumerate(heads)}


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return Pearson's correlation; NaN of what is constant."""
    import numpy as np

    a, b = x - x.mean(), y - y.mean()
    norm = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / norm if norm else float("nan")
