"""The files of `zeronorm select`: models, certificates, pictures, pages."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import persistence
from ..io.table import Table
from .options import SelectOptions
from .plan import Plan
from .target import columns_of

if TYPE_CHECKING:
    from ..io.input import Samples
    from .validation import Validated


def draw_variants(path: Path, estimator: Any, samples: Samples, offset: Any) -> None:
    """Write a Manhattan plot of the selected variants."""
    import matplotlib

    matplotlib.use("agg")
    from ..plotting import ManhattanDisplay

    suffix, file = path.suffix.lower()[1:], io.BytesIO()
    date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix)
    with matplotlib.rc_context({"svg.hashsalt": "zeronorm"}):
        figure = ManhattanDisplay.from_estimator(
            estimator, samples.table.X, samples.y, variants=samples.table.variants, offset=offset
        ).figure_
        figure.savefig(file, format=suffix, dpi=200, metadata=date)
    matplotlib.pyplot.close(figure)
    persistence.write_file(path, file.getvalue())


def write_model(
    options: SelectOptions,
    plan: Plan,
    samples: Samples,
    estimator: Any,
    size: Any,
    model: dict[str, Any],
    held_out: Validated | None,
) -> None:
    """Write the model of a size and its certificate, and note in its document where."""
    table, k = samples.table, model["size"]
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
        persistence.save(estimator, file, n_features=size, **names_of_data, X=table.X)
        model["file"] = str(plan.models[k])
    if plan.certificates:
        persistence.save_certificate(
            [path[size].certificate for path in estimator._paths],
            plan.certificates[k],
            table.X,
            samples.y,
            class_weight=options.class_weight,
            **names,
        )
        model["certificate_file"] = str(plan.certificates[k])


def named_columns(options: SelectOptions, table: Table) -> dict[str, str]:
    """Return the names of the columns that the options name, as the file has them."""
    value = columns_of(options).get("event_value")
    more = {"event_value": value, "missing": options.missing, "where": options.where}
    return {**table.column_names, **{what: text for what, text in more.items() if text}}
