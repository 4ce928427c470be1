"""Files of a command: which paths are data, which may be written, and tables of columns."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np

from ..core.effects import ratio_name
from ..core.messages import csv_cell
from ..io.input import is_demo, is_genotypes
from ..io.read import parts_of
from ..persistence import is_archive, writing
from .messages import standard_output
from .options import DiscoverOptions, SelectOptions

if TYPE_CHECKING:
    from ..io.input import Samples
    from ..reporting.records import SelectionFound


def is_data(path: str) -> bool:
    """Return whether a path is data: what has no checksum of a model at its end."""
    from ..data.store import is_store  # which verify has not

    if path == "-" or is_genotypes(path) or is_store(path) or is_demo(path):
        return True
    if not Path(path).is_file():
        return parts_of(path) is not None
    return not path.endswith(".model.npz") and not is_archive(path)


def refuse_swapped(command: str, archive: str, data: str) -> None:
    """Refuse the arguments of a command, a file of zeronorm and data, in each other's place."""

    def is_one(path: str) -> bool:
        return Path(path).is_file() and is_archive(path)

    if is_one(data) and not is_one(archive):
        raise ValueError(
            f"{archive} is no file of zeronorm, and {data} is one: say zeronorm {command} "
            f"{shlex.quote(data)} {shlex.quote(archive)}."
        )


def check_folder(path: Path, option: str = "--output") -> None:
    """Refuse an output that cannot become a file."""
    if path.is_dir():
        raise ValueError(f"{option} must be a file; {path} is a directory.")
    if not path.parent.is_dir():
        raise ValueError(f"{option}: no such directory {str(path.parent)!r}; create it.")


def refuse_overwriting(
    outputs: Iterable[Path],
    data: str,
    target: str | None,
    other: Path | str | None = None,
    option: str = "--output",
) -> None:
    """Refuse outputs that are an input as well: the data, the labels or another file."""
    sources = [source for source in (data, target, other) if source is not None]
    for path in outputs:
        for source in sources:
            if path.exists() and Path(source).exists() and path.samefile(source):
                raise ValueError(f"{option} {path} is an input as well; name another file.")


# A file of columns, written block by block: CSV, JSON lines or Parquet.

# Columns of the file by name, a value for each row.
Columns: TypeAlias = Mapping[str, Sequence[Any]]
Write: TypeAlias = Callable[[Columns], None]

STDOUT = "-"
FORMATS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "json_lines", ".ndjson": "json_lines"}


def check_columns_file(path: Path, option: str, formats: Sequence[str], also: str = "") -> None:
    """Refuse what is no such file by its name, or cannot become one.

    formats : the suffixes that the option allows. also : what else it may be, for the message.
    """
    check_folder(path, option)
    suffix = path.suffix.lower()
    if suffix not in formats:
        known = " or ".join([*filter(None, [", ".join(formats[:-1])]), formats[-1]])
        raise ValueError(f"{option} must end in {known}{also}; got {path}.")


@contextmanager
def columns_file(path: Path | None, form: str = "delimited") -> Iterator[Write]:
    """Yield a function that writes the columns of some rows; the file is there at the end.

    path : None: nothing is written; - is stdout. form : that of the data, which stdout has where it
        can.
    """
    if path is None:
        yield lambda columns: None
        return
    with ExitStack() as stack:
        if str(path) == STDOUT:
            kind = "json_lines" if form == "json_lines" else "csv"
            file: BinaryIO = standard_output()
        else:
            kind = FORMATS[path.suffix.lower()]
            file = stack.enter_context(writing(path))
        yield stack.enter_context(_WRITERS[kind](file))
        file.flush()


@contextmanager
def _csv(file: BinaryIO) -> Iterator[Write]:
    is_first = True

    def write(columns: Columns) -> None:
        nonlocal is_first
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if is_first:
            writer.writerow(map(csv_cell, columns))
            is_first = False
        for row in zip(*columns.values(), strict=True):
            writer.writerow([csv_cell(cell) if isinstance(cell, str) else cell for cell in row])
        file.write(text.getvalue().encode("utf-8", "backslashreplace"))

    yield write


@contextmanager
def _json_lines(file: BinaryIO) -> Iterator[Write]:
    def write(columns: Columns) -> None:
        for row in zip(*columns.values(), strict=True):
            line = json.dumps(dict(zip(columns, row, strict=True)), allow_nan=False)
            file.write(f"{line}\n".encode())

    yield write


@contextmanager
def _parquet(file: BinaryIO) -> Iterator[Write]:
    """Write by polars, which has all blocks in memory."""
    import polars as pl

    frames: list[pl.DataFrame] = []
    yield lambda columns: frames.append(pl.DataFrame({**columns}))
    pl.concat(frames).write_parquet(file)


_WRITERS = {"csv": _csv, "json_lines": _json_lines, "parquet": _parquet}


# The file of --features-out: the selected features, a row for each, as CSV or Parquet.

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


def write_features(path: Path, document: SelectionFound, samples: Samples) -> None:
    """Write the features of all models that are kept, those of a size by falling effect."""
    with columns_file(path) as write:
        write(features_table(document, samples))


def features_table(found: SelectionFound, samples: Samples) -> dict[str, list[Any]]:
    """Return the columns of the file, by their names.

    Where there are covariates, they are behind the features of their model, without a rank, and
    "covariate" says which they are. A model that has a coefficient for each of several outputs has
    a column for each, as "coefficient(LABEL)". The statistics are those of all rows of the data.
    """
    from ..reporting.records import as_json

    models = found.models if found.rule == "all" else [found.model_of(found.chosen)]
    rows = [
        (model.n_features, part, as_json(row))
        for model in models
        for part, own in (("features", model.features), ("covariates", model.covariates))
        for row in own
    ]
    columns: dict[str, list[Any]] = {
        "n_features": [size for size, *_ in rows],
        **{
            name: [row.get(name) for *_, row in rows] for name in ("class", "rank", "name", "index")
        },
        "covariate": [part == "covariates" for _, part, _ in rows],
        **{name: [row.get(name) for *_, row in rows] for name in ("description", "group")},
        "entered": [row.get("block") for *_, row in rows],
    }
    for name in ("class", "description", "group"):
        if all(value is None for value in columns[name]):
            del columns[name]
    if not any(columns["covariate"]):
        del columns["covariate"]
    outputs = [str(label) for label in found.outputs]
    heads = {name: name for name in ("coefficient", "coefficient_per_sd")}
    ratio = ratio_name(found.parameters.get("loss"))
    if ratio is not None and not (outputs and found.classes):
        own = ratio.replace(" ", "_")
        heads |= {own: "ratio", f"{own}_per_sd": "ratio_per_sd"}
    for name, key in heads.items():
        columns |= _by_output(name, [row[key] for *_, row in rows], outputs)
    threads = found.parameters.get("n_threads")
    indices = [row["index"] for *_, row in rows]
    return columns | column_statistics(indices, found.classes, found.outputs, samples, threads)


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
    from ..io.opening import dense_columns  # which verify has not

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
    a, b = x - x.mean(), y - y.mean()
    norm = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / norm if norm else float("nan")
