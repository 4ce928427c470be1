"""The command `zeronorm compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ._evaluate import loss_of, measure_of, read_rows, shown_classes
from ._output import show_document
from ._paths import is_data
from ._progress import Work, watched
from ._rows_options import ColumnsOptions, CompareOptions, RowsOptions
from ._standard_input import lasting
from ._takes import takes
from ._threshold import Cost, costs_of
from ._training_rows import note_on_rows

if TYPE_CHECKING:
    from ..persistence import LoadedModel
    from ._evaluate import LabelledRows


@takes(CompareOptions)
def compare(options: CompareOptions) -> None:
    """Compare models of one target: features, coefficients, and scores on the same rows."""
    files, data = _models_and_data(options)
    with watched(options.quiet) as work:
        work.progress.phase("Starting")
        from .. import persistence
        from .documents._comparison import (
            check_comparable,
            describe_coefficients,
            describe_model,
            describe_overlap,
            names_in_common,
        )
        from .documents._data import describe_data
        from .documents._evaluation import describe_costs
        from .reports._comparison import print_comparison

        models = [persistence.load(file) for file in files]
        check_comparable(files, models, named=bool(options.target or options.time))
        names = names_in_common(files, models)
        described = [describe_model(*one) for one in zip(files, models, strict=True)]
        if len({one["link"] for one in described}) > 1:
            work.notes.append(
                "the scores of these models are on several scales "
                f"({', '.join(dict.fromkeys(one['link'] for one in described))}): their "
                "coefficients are not to be compared in size"
            )
        rows: list[LabelledRows] = []
        if data is not None:
            rows = _rows(options, files, models, data, work)
            work.progress.phase("Resampling rows")
        measures = [measure_of(model) for model in models]
        measure = next((one for one in measures if one[0] is not None), None)
        costs = costs_of(models)
        document = {
            "models": described,
            "target": models[0].metadata["target_name"],
            "classes": shown_classes(models[0]),
            "loss": loss_of(models[0]),
            "overlap": describe_overlap(models, names),
            "features": describe_coefficients(
                models, names, [one.deviations for one in rows] if rows else None
            ),
            "data": describe_data(
                data, rows[0].table, rows[0].response, n_covariates=models[0].covariates_.size
            )
            if data
            else None,
            "scores": [_compared(one, rows[0], measure, costs) for one in rows],
            "costs": describe_costs(costs, rows[0].truth) if rows else [],
            "notes": work.notes,
        }
    show_document(document, options, print_comparison)


def _models_and_data(options: CompareOptions) -> tuple[list[str], str | None]:
    """Return the model files, and the data, which stand last where there are any."""
    files = list(options.files)
    data = files.pop() if is_data(files[-1]) else None
    if len(files) < 2:
        last = "" if data is None else f" and {data}, which is no model file"
        raise ValueError(
            f"compare needs two models or more; got {', '.join(files) or 'none'}{last}. Name "
            "files that select wrote, and DATA after them."
        )
    if data is None:
        for one in fields(ColumnsOptions):
            if getattr(options, one.name) not in (None, False):
                name = one.name.replace("_", "-")
                raise ValueError(
                    f"--{name} is of DATA; name DATA after the models, or leave out --{one.name}."
                )
    return files, data


def _rows(
    options: CompareOptions,
    files: list[str],
    models: list[LoadedModel],
    data: str,
    work: Work,
) -> list[LabelledRows]:
    """Return the rows of the data as each model takes them; refuse where targets differ."""
    import numpy as np

    found: list[LabelledRows] = []
    columns = {one.name: getattr(options, one.name) for one in fields(ColumnsOptions)}
    with lasting(data) as (path, _):
        for file, model in zip(files, models, strict=True):
            work.progress.phase(f"Reading {data} for {file}")
            work.notes.extend(note_on_rows(options, data, file, model.metadata))
            asked = RowsOptions(model=file, data=path, **columns)
            notes: list[str] = []
            found.append(read_rows(asked, model, notes))
            new = [type(note)(note.replace(path, data)) for note in notes]
            work.notes.extend(note for note in new if note not in work.notes)
            if len(found[0].truth) != len(found[-1].truth):
                raise ValueError(_other_rows(data, found, (files[0], file), work.notes))
            if not np.array_equal(found[0].truth, found[-1].truth):
                raise ValueError(
                    f"{data}: {files[0]} and {file} have other targets in it; say which one is "
                    "meant with --target, or of survival times --time, --event, --start, --strata."
                )
    return found


def _other_rows(
    data: str, found: Sequence[LabelledRows], files: Sequence[str], notes: Sequence[str]
) -> str:
    """Return the error of two models that take other rows of the data, with what differs."""
    both = [*zip(files, (found[0], found[-1]), strict=True)]
    taken = " and ".join(f"{file} takes {len(one.truth):,}" for file, one in both)
    ways = {file: one.loaded.metadata["columns"].get("missing") for file, one in both}
    why = [note for note in notes if "left out" in note]
    if len({*ways.values()}) > 1:
        why += [
            f"{file} fills {'no gaps' if way is None else f'gaps by {way}'}"
            for file, way in ways.items()
        ]
    because = f" ({'; '.join(why)})" if why else ""
    return (
        f"{data}: models are compared on the same rows, and {taken} of them{because}. Keep the "
        "rows that both take with --where \"COLUMN != ''\", or select both "
        "anew with one zeronorm select --missing WAY."
    )


def _compared(
    own: LabelledRows, first: LabelledRows, measure: Any, costs: Mapping[str, Cost]
) -> dict[str, Any]:
    """Return how good a model is on some rows, and how that differs from the first one.

    measure : one that a model was trained for, and its positive. costs : as of `scores`.
    """
    from .documents._evaluation import correlation, judged, mcnemar

    same = own is first
    scores = own.scores(measure, costs)
    others = {} if same else first.scores(measure, costs)
    if loss_of(own.loaded) != loss_of(first.loaded):
        others = {name: score for name, score in others.items() if name != "d2"}  # of two kinds
    found = judged(scores, {**scores, **others}, *own.size)
    for score in found:
        baseline, error = score.pop("baseline"), score.pop("advantage_error")
        known = score["name"] in others and None not in (baseline, score["value"])
        score["difference"] = score["value"] - baseline if known else None
        score["difference_error"] = error if known else None
    predicted, reference = own.found["predicted"], first.found["predicted"]
    classes = first.response.labelled
    survival = first.response.task == "survival"
    return {
        "scores": found,
        "agreement": float((predicted == reference).mean()) if classes and not same else None,
        "mcnemar": mcnemar(own.truth, reference, predicted) if classes and not same else None,
        "correlation": None
        if classes or same
        else correlation(reference, predicted, ranks=survival),
    }
