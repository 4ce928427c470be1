"""The command `zeronorm explain`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ._blocks import read_blocks
from ._columns_file import FORMATS, STDOUT, Write, check_columns_file, columns_file
from ._messages import say_notes
from ._output import show_document
from ._paths import refuse_overwriting, refuse_swapped
from ._predict import known_offset
from ._progress import watched
from ._rows_options import ExplainOptions
from ._takes import takes
from ._target import columns_of
from ._threshold import note_on

if TYPE_CHECKING:
    from ..files import Table
    from ..persistence import LoadedModel


@takes(ExplainOptions)
def explain(options: ExplainOptions) -> None:
    """Say what each feature adds to the prediction of a sample."""
    with watched(options.quiet or options.as_json) as work:
        work.progress.phase("Starting")
        import numpy as np

        from .. import persistence
        from ..export._model import feature_names, labels, link_of, outputs, positive
        from ..files import joined
        from .reports._explanation import print_explanations

        refuse_swapped("explain", options.model, options.data)
        loaded = persistence.load(options.model)
        work.notes.extend(note_on(options.model, loaded))
        to_stdout = options.output is not None and str(options.output) == STDOUT
        if options.output is not None:
            for other in (options.model, options.reference, *(options.samples or ())):
                refuse_overwriting([options.output], options.data, options.target, other)
            if not to_stdout:
                check_columns_file(options.output, "--output", [*FORMATS], ", or be - for stdout")
        if to_stdout and options.as_json:
            raise ValueError("--json and --output - both go to stdout; leave out one of them.")
        columns = columns_of(options)
        reference, compared = _reference(options, loaded, columns, work.notes)
        names, of = feature_names(loaded), outputs(loaded)
        samples: list[dict[str, Any]] = []
        missing = {*(options.sample or ())}
        seen: list[Table] = []
        base: Any = None
        n_rows = 0
        with ExitStack() as stack:
            write: Write | None = None
            for table in read_blocks(options, loaded.layout, columns, work.notes):
                work.progress.phase(f"Explaining, {n_rows:,} rows so far")
                block, base = _explained(options, loaded, table, reference, (of, names), n_rows)
                if write is None:
                    write = stack.enter_context(columns_file(options.output, table.form))
                if block:
                    write(_columns_of_file(block, base, of, names))
                missing -= {name for one in block for name in (one["sample"], str(one["number"]))}
                n_rows += table.X.shape[0]
                seen.append(replace(table, X=np.empty((table.X.shape[0], 0)), sample_names=None))
                keeps = options.output is None or options.as_json
                samples += block if keeps else []
            if missing:
                raise ValueError(
                    f"--sample {min(missing)}: no sample of {options.data} has that name or number."
                )
        work.notes[:0] = joined(seen).notes
    if to_stdout:
        say_notes(work.notes, options.quiet)
        return
    document = {
        "model": options.model,
        "source": options.data,
        "link": link_of(loaded),
        "compared_with": compared,
        "features": names,
        "outputs": of,
        "classes": labels(loaded),
        "positive": labels(loaded)[positive(loaded)] if len(labels(loaded)) == 2 else None,
        "base": dict(zip(of, base.tolist(), strict=True)),
        "n_samples": n_rows,
        "samples": samples,
        "file": None if options.output is None else str(options.output),
        "notes": work.notes,
    }
    show_document(document, options, print_explanations)


def _reference(
    options: ExplainOptions, loaded: LoadedModel, columns: Mapping[str, str], notes: list[str]
) -> tuple[Any, str]:
    """Return rows whose means count, None for those of the training, and what they are called."""
    from ..files import joined

    if options.reference is None and loaded.metadata["means"] is not None:
        return None, "the training samples"
    if options.reference is None and options.data == "-":
        raise ValueError(
            f"{options.model} has no means of its training data, and standard input is read only "
            "once; say with whose means its samples are compared: --reference."
        )
    if options.reference is None:
        notes.append(
            "the model has no means of its training data: samples are compared with the mean of "
            f"{options.data}; --reference names other data"
        )
    data = options.data if options.reference is None else options.reference
    asked = replace(options, data=data)
    table = joined(list(read_blocks(asked, loaded.layout, columns, [])))
    return table, f"the samples of {data}"


def _explained(
    options: ExplainOptions,
    loaded: LoadedModel,
    table: Table,
    reference: Any,
    heads: tuple[list[str], list[str]],
    n_before: int,
) -> tuple[list[dict[str, Any]], Any]:
    """Return what there is to say of the samples of a table that are asked for, and the base.

    heads : names of the outputs and of the features.
    """
    import numpy as np

    from ..export._model import sign
    from ..persistence import LoadedClassifier, LoadedRegressor

    n = table.X.shape[0]
    own = table.sample_names or [str(n_before + row + 1) for row in range(n)]
    rows = list(range(n))
    if options.sample:
        wanted = {*options.sample}
        rows = [
            row for row in rows if own[row] in wanted or str(n_before + row + 1) in wanted
        ]  # fmt: skip
    base, parts = loaded.contributions(table, reference)
    base, parts = sign(loaded) * base, sign(loaded) * parts
    offset = None
    values = loaded._values(table)
    probabilities: Any = None
    if isinstance(loaded, LoadedRegressor):
        offset = known_offset(loaded, table, options.data)
        predictions = loaded.predict(table, offset)
    else:
        predictions = loaded.predict(table)
    if isinstance(loaded, LoadedClassifier) and all(
        solution["loss"] == "logistic" for solution in loaded.metadata["solutions"]
    ):
        probabilities = loaded.predict_proba(table)
        code = np.searchsorted(loaded.classes_, predictions)
    known = np.zeros(n) if offset is None else offset
    outputs, _ = heads
    found = []
    for row in rows:
        one = {
            "sample": own[row],
            "number": n_before + row + 1,
            "prediction": np.asarray(predictions[row]).tolist(),
            "probability": None if probabilities is None else float(probabilities[row, code[row]]),
            "offset": None if offset is None else float(offset[row]),
            "values": values[row].tolist(),
            "scores": {
                output: {
                    "score": float(base[number] + parts[row, number].sum() + known[row]),
                    "parts": parts[row, number].tolist(),
                }
                for number, output in enumerate(outputs)
            },
        }
        found.append(one)
    return found, base


def _columns_of_file(
    samples: list[dict[str, Any]], base: Any, outputs: list[str], names: list[str]
) -> dict[str, list[Any]]:
    """Return the columns of the file: a row for each sample, or for each of its scores."""
    columns: dict[str, list[Any]] = {"sample": [], "prediction": [], "score": [], "base": []}
    if len(outputs) > 1:
        columns["of"] = []
    moved = samples[0]["offset"] is not None
    if moved:
        columns["offset"] = []
    columns |= {f"from {name}": [] for name in names}
    for one in samples:
        for number, output in enumerate(outputs):
            score = one["scores"][output]
            prediction = one["prediction"]
            several = isinstance(prediction, list)
            columns["sample"].append(one["sample"])
            columns["prediction"].append(prediction[number] if several else prediction)
            columns["score"].append(score["score"])
            columns["base"].append(float(base[number]))
            if len(outputs) > 1:
                columns["of"].append(output)
            if moved:
                columns["offset"].append(one["offset"])
            for name, part in zip(names, score["parts"], strict=True):
                columns[f"from {name}"].append(part)
    return columns
