"""The command `zeronorm`: select features of a data file, predict with the model, look at it.

Results go to stdout, everything else to stderr. Exit codes: 0, 2 for bad input or usage (one line,
no traceback unless --debug), 130 for Ctrl-C, 1 for anything unexpected. Heavy modules are imported
in the commands, so that --help is there at once.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    from ._typing import FloatArray
    from .files import Layout, Table
    from .model_selection import CrossValidation
    from .result import Certificate

_SUFFIXES = {".gz", ".bz2", ".xz", ".zip"}
_LEGEND = (
    "per s.d.: what one standard deviation of the feature adds to the log-odds; "
    "block: the scan at which it entered."
)
_GAP = 2  # cells between two columns of a table
_MAX_ROWS = 50  # features shown
_PREVIEW = 10  # predictions shown without --output
_MAX_CONFUSION = 10  # classes of a confusion matrix that still fits a terminal


class _Group(TyperGroup):
    """The command group with one line per error and the exit codes of this module."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run, and exit with the code unless `standalone_mode` is False."""
        code = self._guarded(*args, **extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def _guarded(self, *args: Any, **extra: Any) -> int:
        given = extra.get("args") or (args[0] if args else None) or sys.argv[1:]
        debug = "--debug" in given
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # names that the terminal cannot show
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except (KeyboardInterrupt, typer.Abort):
            code = 130
        except Exception as error:
            if debug:
                raise
            usage = getattr(error, "format_message", None)  # a UsageError of typer
            if usage is not None:
                _say(f"Error: {_one_line(usage())}")
                return 2
            if isinstance(error, MemoryError):
                _say(f"Error: not enough memory. {_one_line(error)}".rstrip())
                return 2
            if isinstance(error, OSError) and error.strerror:
                _say(f"Error: {_one_line(error.filename or 'file')}: {error.strerror}.")
                return 2
            if isinstance(error, (ValueError, OSError)):
                _say(f"Error: {_one_line(error)}")
                return 2
            _say(
                f"Error: unexpected {type(error).__name__}: {_one_line(error)} "
                "(--debug shows where; please report it)."
            )
            return 1
        if code == 130:  # also what newer versions of typer make of Ctrl-C
            _say("Interrupted.")
        return code if isinstance(code, int) else 0


app = typer.Typer(
    cls=_Group,
    name="zeronorm",
    help="Exactly the features you ask for: budgeted feature selection with certificates.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command."""
    app()


def _version(value: bool) -> None:
    if value:
        from . import __version__

        typer.echo(f"zeronorm {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="golub (built in), or a file: svmlight, .npz, .npy, CSV, TSV, Parquet; "
        "also .gz .bz2 .xz .zip.",
    ),
]
_Target = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Labels: a column (name or index), an array, or a file of their own."
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
_Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


@app.command()
def select(
    data: _Data,
    features: Annotated[
        str,
        typer.Option("--features", "-k", metavar="K[,K2,...]", help="How many features, exactly."),
    ],
    target: _Target = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The model. Default: DATA-kK.model.npz, here."
        ),
    ] = None,
    save: Annotated[bool, typer.Option("--save/--no-save", help="Write the model.")] = True,
    cv: Annotated[int, typer.Option(metavar="FOLDS", help="Folds of the cross-validation.")] = 5,
    no_cv: Annotated[bool, typer.Option("--no-cv", help="No cross-validation.")] = False,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the procedure by cross-validation (slower).")
    ] = False,
    C: Annotated[
        float, typer.Option("--C", "-C", metavar="C", help="Weight of the loss during selection.")
    ] = 0.1,
    refit_c: Annotated[
        str,
        typer.Option("--refit-c", metavar="C", help="Of the final fit; loo: by leave-one-out."),
    ] = "loo",
    standardize: Annotated[bool, typer.Option(help="Standardise columns during selection.")] = True,
    intercept: Annotated[bool, typer.Option(help="Fit an intercept.")] = True,
    force: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A feature that must be in; may be repeated."),
    ] = None,
    class_weight: Annotated[
        str | None, typer.Option(metavar="balanced", help="Give all classes the same weight.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(metavar="N", help="Threads of a scan. Default: all.")
    ] = None,
    as_json: _Json = False,
    quiet: _Quiet = False,
    debug: _Debug = False,
) -> None:
    """Select exactly K features, fit the model, measure it, certify it and write it."""
    begin = time.perf_counter()
    seconds: dict[str, float] = {}
    sizes = _parse_sizes(features)
    refit_C = _parse_refit_c(refit_c)
    files = _output_files(data, sizes, output) if save else {}
    if not no_cv and cv < 2:
        raise ValueError(f"--cv must be at least 2; got {cv}. Leave it out with --no-cv.")

    with _Progress(quiet) as progress, _collect_warnings() as notes:
        progress.phase("Starting")
        import numpy as np

        from . import persistence
        from .designs import as_design
        from .estimators import BudgetClassifier
        from .model_selection import cross_validate, predict

        seconds["imports"] = time.perf_counter() - begin
        progress.phase(f"Reading {data}")
        with _timed(seconds, "read"):
            table = _read(data, target)
        notes.extend(table.notes)
        if table.y is None:
            raise ValueError(f"{data}: labels are needed; say where they are with --target.")
        _refuse_overwriting(data, target, files)

        estimator = BudgetClassifier(
            sizes,
            C=C,
            refit_C=refit_C,
            tune=tune,
            standardize=standardize,
            fit_intercept=intercept,
            forced_features=_forced(force, table),
            class_weight=class_weight,
            n_threads=threads,
        )
        progress.phase("Selecting")
        if hasattr(estimator, "set_callbacks"):
            estimator.set_callbacks(_FitCallback(progress))
        with _timed(seconds, "fit"):
            estimator.fit(table.X, table.y)
        if hasattr(estimator, "set_callbacks"):
            estimator.set_callbacks()
        _split_phases(seconds, estimator.seconds_)

        folds = None if no_cv else _usable_folds(cv, table.y, notes)
        validation: CrossValidation | None = None
        if folds is not None:
            progress.phase("Cross-validating", total=int(estimator.n_scans_))
            with _timed(seconds, "cross-validation"):
                validation = cross_validate(
                    estimator,
                    table.X,
                    table.y,
                    cv=folds,
                    callback=lambda state: progress.advance(state.n_scans),
                )

        progress.phase("Writing")
        design = as_design(table.X, n_threads=threads)
        models = []
        for k in sizes:
            predicted = predict(estimator.estimators_, k, design, estimator.classes_)
            model = {
                "n_features": k,
                "features": _describe_features(estimator, k, table, design),
                "intercept": [float(path[k].intercept) for path in estimator.estimators_],
                "refit_C": [float(path[k].refit_C) for path in estimator.estimators_],
                "training_accuracy": float(np.mean(predicted == np.asarray(table.y))),
                "cross_validation": _describe_validation(validation, k),
                "certificates": [
                    _describe_certificate(path[k].certificate) for path in estimator.estimators_
                ],
                "file": None,
            }
            if save:
                with _timed(seconds, "write"):
                    persistence.save(
                        estimator,
                        files[k],
                        n_features=k,
                        feature_names=table.feature_names,
                        first_index=table.first_index,
                        target_name=table.target_name,
                    )
                model["file"] = str(files[k])
            models.append(model)
    seconds["total"] = time.perf_counter() - begin

    from . import __version__

    document = {
        "zeronorm": __version__,
        "data": _describe_data(data, table),
        "parameters": {
            name: value for name, value in estimator.get_params().items() if name != "n_features"
        },
        "classes": [_scalar(label) for label in estimator.classes_],
        "models": models,
        "n_scans": int(estimator.n_scans_),
        "seconds": seconds,
        "notes": notes,
    }
    if as_json:
        typer.echo(json.dumps(document, indent=2, allow_nan=False, default=_scalar))
        return
    if not quiet:
        _print_notes(notes)
    _print_selection(document)


@app.command()
def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file that select wrote.")],
    data: _Data,
    target: _Target = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.csv", help="Write every prediction (CSV)."),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities as well.")] = False,
    as_json: _Json = False,
    quiet: _Quiet = False,
    debug: _Debug = False,
) -> None:
    """Predict with a model; with labels in DATA, say how well."""
    with _Progress(quiet) as progress, _collect_warnings() as notes:
        progress.phase("Starting")
        import numpy as np

        from . import persistence

        loaded = persistence.load(model)
        if output is not None:
            _check_folder(output)
        progress.phase(f"Reading {data}")
        table = _read(data, target, loaded.layout)
        notes.extend(table.notes)
        if output is not None:
            _refuse_overwriting(data, target, {0: output, 1: Path(output)}, model)
        progress.phase("Predicting")
        predicted = loaded.predict(table)
        probabilities = loaded.predict_proba(table) if proba else None
        accuracy, confusion = None, None
        if table.y is not None:
            truth = _comparable(table.y, loaded.classes_)
            accuracy = float(np.mean(truth == predicted))
            confusion = _confusion(truth, predicted, loaded.classes_)
            unknown = int((~np.isin(truth, loaded.classes_)).sum())
            if unknown:
                notes.append(f"{unknown} samples have classes that the model does not know")
        if output is not None:
            persistence.write_file(
                output, _predictions_csv(table, predicted, probabilities, loaded.classes_)
            )
    if as_json:
        document = {
            "model": model,
            "data": _describe_data(data, table),
            "classes": [_scalar(label) for label in loaded.classes_],
            "predictions": [_scalar(label) for label in predicted],
            "probabilities": None if probabilities is None else probabilities.tolist(),
            "accuracy": accuracy,
            "confusion": confusion,
            "file": None if output is None else str(output),
            "notes": notes,
        }
        typer.echo(json.dumps(document, indent=2, allow_nan=False, default=_scalar))
        return
    if not quiet:
        _print_notes(notes)
    _print_predictions(
        model, data, table, loaded.classes_, predicted, probabilities, accuracy, confusion, output
    )


@app.command()
def info(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A file that select wrote.")
    ] = None,
    as_json: _Json = False,
    debug: _Debug = False,
) -> None:
    """Show what a model file holds, or versions and threads of this installation."""
    if model is None:
        document = _installation()
        if as_json:
            typer.echo(json.dumps(document, indent=2))
        else:
            _print_pairs(_console(), [(key, str(value)) for key, value in document.items()])
        return
    from . import persistence

    loaded = persistence.load(model)
    if as_json:
        document = {
            **loaded.metadata,
            "classes": [_scalar(label) for label in loaded.classes_],
            "support": loaded.support_.tolist(),
            "coef": loaded.coef.tolist(),
            "intercept": loaded.intercept_.tolist(),
        }
        typer.echo(json.dumps(document, indent=2, allow_nan=False))
    else:
        _print_model(model, loaded)


# ---------------------------------------------------------------------------------------------
# Input


def _parse_sizes(text: str) -> list[int]:
    """Return the sizes of --features, smallest first."""
    sizes = set()
    for part in text.split(","):
        if not part.strip().isascii() or not part.strip().isdigit() or len(part) > 12:
            raise ValueError(
                "--features must be whole numbers with commas between them, such as 10 or 5,10,20; "
                f"got {text!r}."
            )
        sizes.add(int(part))
    if 0 in sizes:
        raise ValueError(f"--features must be at least 1; got {text!r}.")
    return sorted(sizes)


def _parse_refit_c(text: str) -> float | str:
    if text == "loo":
        return text
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise ValueError(f"--refit-c must be loo or a positive finite number; got {text!r}.")
    return value


def _read(data: str, target: str | None, like: Layout | None = None) -> Table:
    """Return the built-in data or a file; a file of that name comes first."""
    from .files import Table, read_table

    if data == "golub" and not Path(data).exists():
        from .datasets import load_golub

        if target is not None:
            raise ValueError(f"golub has its labels built in; leave out --target {target!r}.")
        golub = load_golub()
        return Table(
            golub.X,
            golub.y,
            golub.feature_names,
            golub.target_name,
            descriptions=golub.descriptions,
        )
    return read_table(data, target, like=like)


def _forced(names: Sequence[str] | None, table: Table) -> list[int] | None:
    """Return the positions of the features of --force."""
    if not names:
        return None
    from .files import did_you_mean, quote

    positions = []
    n_features = table.X.shape[1]
    known = table.feature_names
    for name in names:
        if known is not None and name in known:
            positions.append(known.index(name))
        elif known is not None:
            raise ValueError(f"--force: no feature {quote(name)}.{did_you_mean(name, known)}")
        elif name.isdigit() and 0 <= int(name) - table.first_index < n_features:
            positions.append(int(name) - table.first_index)
        else:
            last = n_features - 1 + table.first_index
            raise ValueError(
                f"--force must be between {table.first_index} and {last} (the features have no "
                f"names); got {quote(name)}."
            )
    return positions


def _output_files(data: str, sizes: Sequence[int], output: Path | None) -> dict[int, Path]:
    """Return where the model of each size goes; checked before the long work begins."""
    if output is None:
        stem = Path(data).name
        while Path(stem).suffix.lower() in _SUFFIXES:
            stem = Path(stem).stem
        stem = Path(stem).stem
        files = {k: Path(f"{stem}-k{k}.model.npz") for k in sizes}
    elif len(sizes) == 1:
        files = {sizes[0]: output}
    else:
        name, dot, rest = output.name.partition(".")
        files = {k: output.with_name(f"{name}-k{k}{dot}{rest}") for k in sizes}
    for path in files.values():
        _check_folder(path)
    return files


def _check_folder(path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"--output must be a file; {path} is a directory.")
    if not path.parent.is_dir():
        raise ValueError(f"--output: no such directory {str(path.parent)!r}; create it.")


def _refuse_overwriting(
    data: str, target: str | None, files: Mapping[int, Path], model: str | None = None
) -> None:
    for path in files.values():
        for source in (data, target, model):
            known = source is not None and path.exists() and Path(source).exists()
            if known and path.samefile(str(source)):
                raise ValueError(f"--output {path} is an input as well; name another file.")


def _usable_folds(cv: int, y: Any, notes: list[str]) -> int | None:
    """Return as many folds as the smallest class allows; None if it allows none."""
    import numpy as np

    classes, counts = np.unique(y, return_counts=True)
    smallest = int(counts.min())
    if smallest >= cv:
        return cv
    label = _show(str(classes[counts.argmin()]))
    if smallest < 2:
        notes.append(f"no cross-validation: the class {label} has one sample")
        return None
    notes.append(f"{smallest} folds in place of {cv}: the class {label} has {smallest} samples")
    return smallest


def _comparable(y: Any, classes: Any) -> Any:
    """Return labels in the type of the classes: a file may say 1 where another says 1.0 or "1"."""
    import numpy as np

    if (y.dtype.kind == "U") == (classes.dtype.kind == "U"):
        return y
    if classes.dtype.kind == "U":
        return y.astype(str)
    text = {str(label): label for label in classes}
    return np.array([text.get(label, np.nan) for label in y.tolist()])


# ---------------------------------------------------------------------------------------------
# What the documents hold


def _describe_data(data: str, table: Table) -> dict[str, Any]:
    import numpy as np
    import scipy.sparse as sp

    n_samples, n_features = table.X.shape
    storage = f"dense {table.X.dtype}"
    if sp.issparse(table.X):
        share = table.X.nnz / max(1, n_samples * n_features)
        storage = f"sparse {table.X.dtype}, {100 * share:.2g}% stored"
    counts = {}
    if table.y is not None:
        labels, sizes = np.unique(table.y, return_counts=True)
        counts = {str(label): int(size) for label, size in zip(labels, sizes, strict=True)}
    return {
        "source": data,
        "n_samples": int(n_samples),
        "n_features": int(n_features),
        "storage": storage,
        "target": table.target_name,
        "class_counts": counts,
    }


def _describe_features(estimator: Any, k: int, table: Table, design: Any) -> list[dict[str, Any]]:
    """Return the features of a model, by class and falling effect of one standard deviation."""
    import numpy as np

    rows = []
    classes = estimator.classes_
    for number, path in enumerate(estimator.estimators_):
        model = path[k]
        deviation = _deviations(design.gather(model.support))
        effect = model.coef * deviation
        label = classes[1] if len(classes) == 2 else classes[number]
        # Ties, as of features without effect, go by position.
        order = np.lexsort((model.support, -np.abs(effect)))
        for rank, j in enumerate(order, 1):
            index = int(model.support[j])
            rows.append(
                {
                    "class": _scalar(label),
                    "rank": rank,
                    "index": index,
                    "name": _feature_name(table.feature_names, table.first_index, index),
                    "description": table.descriptions[index] if table.descriptions else None,
                    "coefficient": float(model.coef[j]),
                    "per_deviation": float(effect[j]),
                    "block": int(model.entered[j]),
                }
            )
    return rows


def _feature_name(names: Sequence[str] | None, first_index: int, index: int) -> str:
    return names[index] if names is not None else str(index + first_index)


def _deviations(columns: Any) -> FloatArray:
    """Return the standard deviation of every column, (k,)."""
    import numpy as np

    if isinstance(columns, np.ndarray):
        return np.asarray(columns.std(axis=0))
    n_samples = columns.shape[0]
    mean = np.asarray(columns.sum(axis=0)).ravel() / n_samples
    square = np.asarray(columns.power(2).sum(axis=0)).ravel() / n_samples
    return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))


def _describe_validation(validation: CrossValidation | None, k: int) -> dict[str, Any] | None:
    if validation is None or k not in validation.sizes:
        return None
    row = validation.sizes.index(k)
    return {
        "folds": int(validation.scores.shape[1]),
        "mean": float(validation.mean[row]),
        "standard_error": float(validation.standard_error[row]),
        "scores": validation.scores[row].tolist(),
    }


def _describe_certificate(certificate: Certificate | None) -> dict[str, Any] | None:
    from .persistence import summarize

    return summarize(certificate)


def _split_phases(seconds: dict[str, float], phases: Mapping[str, float]) -> None:
    """Replace the seconds of a fit by those of its phases; what they leave is named other."""
    rest = seconds.pop("fit")
    for name, value in phases.items():
        if name != "total":
            seconds[name] = seconds.get(name, 0.0) + value
            rest -= value
    seconds["other"] = max(0.0, rest)


def _scalar(value: Any) -> Any:
    """Return a NumPy scalar as JSON has it."""
    return value.item() if hasattr(value, "item") else str(value)


def _confusion(truth: Any, predicted: Any, classes: Any) -> list[list[int]]:
    """Return counts, a row per true class of the model and a column per predicted class."""
    return [
        [int(((truth == actual) & (predicted == guess)).sum()) for guess in classes]
        for actual in classes
    ]


def _predictions_csv(table: Table, predicted: Any, probabilities: Any, classes: Any) -> bytes:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header = ["sample", "prediction"]
    if probabilities is not None:
        header += [f"p({_cell(str(label))})" for label in classes]
    writer.writerow(header)
    names = table.sample_names
    for row, label in enumerate(predicted.tolist()):
        cells = [_cell(names[row]) if names else row + 1, _cell(str(label))]
        if probabilities is not None:
            cells += [repr(float(value)) for value in probabilities[row]]
        writer.writerow(cells)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cell(text: str) -> str:
    """Return text that a spreadsheet does not take for a formula."""
    if text[:1] in ("=", "+", "-", "@", "\t", "\r"):
        try:
            float(text)
        except ValueError:
            return "'" + text
    return text


def _installation() -> dict[str, Any]:
    import os
    import platform
    from importlib.metadata import version

    from . import __version__, _kernels

    native = _kernels.dense_correlate.__module__.endswith("reference")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "zeronorm": __version__,
        "kernels": "reference (NumPy)" if native else "native",
        "threads": cores,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "scikit-learn": version("scikit-learn"),
        "platform": platform.platform(),
    }


# ---------------------------------------------------------------------------------------------
# Output for people


def _say(message: str) -> None:
    typer.echo(message, err=True)


def _one_line(value: object) -> str:
    return _show(" ".join(str(value).split()), 2000)


def _show(text: str, limit: int = 200) -> str:
    """Return text from a file so that a terminal can do nothing but show it."""
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _console() -> Console:
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


def _text(*parts: str | tuple[str, str]) -> Text:
    from rich.text import Text

    return Text.assemble(*parts)


def _print_notes(notes: Sequence[str]) -> None:
    for note in notes:
        _say(f"Note: {_one_line(note)}.")


def _print_pairs(
    console: Console, pairs: Sequence[tuple[str, str | Text]], airy: bool = False
) -> None:
    """Print a list of names and texts, the texts wrapped in a column of their own."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for order, (name, value) in enumerate(pairs):
        if airy and name and order:
            grid.add_row("", "")
        grid.add_row(name, value)
    console.print(grid)


def _print_selection(document: Mapping[str, Any]) -> None:
    console = _console()
    data, models, classes = document["data"], document["models"], document["classes"]
    console.print()
    _print_header(console, data)
    console.print()
    if len(models) > 1:
        _print_sizes(console, models, len(classes))
        console.print()
    model = models[-1]
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for row in model["features"]:
        groups.setdefault(row["class"], []).append(row)
    for label, rows in groups.items():
        title = _title(model["n_features"], label, classes)
        _print_features(console, title, rows)
        console.print()
    console.print(_text((_LEGEND, "dim")))
    console.print()
    _print_pairs(console, _facts(document, model), airy=True)
    console.print()


def _print_header(console: Console, data: Mapping[str, Any]) -> None:
    console.print(
        _text(
            (_show(data["source"], 60), "bold"),
            f"   {data['n_samples']:,} samples \u00d7 {data['n_features']:,} features"
            f"   {data['storage']}",
        )
    )
    counts = data["class_counts"]
    if counts:
        shown = [f"{_show(label, 30)} {count:,}" for label, count in list(counts.items())[:12]]
        more = f", and {len(counts) - 12} more" if len(counts) > 12 else ""
        name = _show(data["target"] or "classes", 40)
        console.print(_text((f"{name}: ", "dim"), f"{', '.join(shown)}{more}"))


def _title(k: int, label: Any, classes: Sequence[Any]) -> Text:
    what = "feature" if k == 1 else "features"
    shown = _show(str(label), 30)
    if len(classes) > 2:
        return _text((f"{k} {what} of {shown}", "bold"), ("   against the other classes", "dim"))
    return _text((f"{k} {what}", "bold"), (f"   positive speaks for {shown}", "dim"))


def _print_features(console: Console, title: Text, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a row per feature; names and descriptions share what the numbers leave of the width."""
    from rich.cells import cell_len

    more = len(rows) - _MAX_ROWS
    rows = rows[:_MAX_ROWS]
    described = any(row["description"] for row in rows)
    numbers = list(
        zip(
            [str(row["rank"]) for row in rows],
            _aligned([row["coefficient"] for row in rows]),
            _aligned([row["per_deviation"] for row in rows], 3),
            [str(row["block"]) for row in rows],
            strict=True,
        )
    )
    heads = ("rank", "coefficient", "per s.d.", "block")
    fixed = sum(
        max(len(head), *(len(cells[column]) for cells in numbers)) + _GAP
        for column, head in enumerate(heads)
    )
    room = console.width - fixed
    names = [_show(row["name"]) for row in rows]
    width = min(max(7, *(cell_len(name) for name in names)), max(12, room))
    if described:
        width = min(width, max(12, room // 2))
    rest = room - width - _GAP  # of a description; less than a word is of no use
    described = described and rest >= 11
    grid = _grid()
    grid.add_column("rank", justify="right", no_wrap=True)
    grid.add_column("feature", no_wrap=True, overflow="ellipsis", width=width, style="bold")
    if described:
        grid.add_column("description", no_wrap=True, overflow="ellipsis", max_width=rest)
    for head in heads[1:]:
        grid.add_column(head, justify="right", no_wrap=True)
    for row, name, (rank, coefficient, effect, block) in zip(rows, names, numbers, strict=True):
        colour = "green" if row["coefficient"] > 0 else "red"
        cells: list[str | Text] = [rank, _text(name)]
        if described:
            cells.append(_text((_show(row["description"] or ""), "dim")))
        cells += [_text((coefficient, colour)), _text((effect, colour)), _text((block, "dim"))]
        grid.add_row(*cells)
    console.print(title)
    console.print(grid)
    if more > 0:
        console.print(_text((f"{more:,} more; --json lists them all.", "dim")))


def _grid() -> Grid:
    """Return an empty table with a line under its header and nothing else drawn."""
    from rich import box
    from rich.table import Table as Grid

    return Grid(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        header_style="dim",
        border_style="dim",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def _print_sizes(console: Console, models: Sequence[Mapping[str, Any]], n_classes: int) -> None:
    """Print a row per size."""
    validated = all(model["cross_validation"] for model in models)
    grid = _grid()
    grid.add_column("features", justify="right", style="bold")
    grid.add_column("training", justify="right")
    if validated:
        grid.add_column("cross-validated", justify="right")
    grid.add_column("certified gap", justify="right")
    grid.add_column("model", overflow="fold")
    for model in models:
        cells = [str(model["n_features"]), f"{model['training_accuracy']:.3f}"]
        if validated:
            cells.append(_mean_error(model["cross_validation"]))
        cells += [_gap(model["certificates"]), _show(model["file"] or "not written")]
        grid.add_row(*cells)
    console.print(grid)
    if validated:
        best = max(model["cross_validation"]["mean"] for model in models)
        leader = next(m for m in models if m["cross_validation"]["mean"] == best)
        limit = best - leader["cross_validation"]["standard_error"]
        small = next(m for m in models if m["cross_validation"]["mean"] >= limit)
        console.print(
            _text(
                (
                    f"{small['n_features']} is the smallest of these sizes within one standard "
                    f"error of the best ({leader['n_features']}).",
                    "dim",
                )
            )
        )


def _facts(document: Mapping[str, Any], model: Mapping[str, Any]) -> list[tuple[str, str | Text]]:
    """Return what stands under the table of features."""
    classes = document["classes"]
    validation = model["cross_validation"]
    accuracy: list[str | tuple[str, str]] = []
    if validation is not None:
        accuracy += [
            (_mean_error(validation), "bold"),
            f" in {validation['folds']}-fold cross-validation, features selected inside every "
            "fold (± standard error)\n",
        ]
    accuracy.append(f"{model['training_accuracy']:.3f} on the training data")
    facts: list[tuple[str, str | Text]] = [("accuracy", _text(*accuracy))]

    certificates = model["certificates"]
    for number, certificate in enumerate(certificates):
        name = "certificate" if number == 0 else ""
        prefix = ""
        if len(classes) > 2:
            prefix = f"{_show(str(classes[number]), 30)}: "
        facts.append((name, _certificate_text(prefix, certificate, document, model)))
    known = [certificate for certificate in certificates if certificate is not None]
    if known:
        facts.append(("", _text((_scope(known[0]), "dim"))))

    phases = [
        f"{name} {value:.2f}"
        for name, value in document["seconds"].items()
        if name != "total" and value >= 0.005
    ]
    total = document["seconds"]["total"]
    facts.append(
        (
            "seconds",
            _text(
                (f"{total:.2f}", "bold"),
                f": {', '.join(phases)}\n",
                (f"{document['n_scans']} passes over the data to select and certify", "dim"),
            ),
        )
    )
    if model["file"] is not None:
        command = f"zeronorm predict {_shell(model['file'])} DATA"
        facts.append(("model", _text((_show(model["file"]), "bold"))))
        facts.append(("", _text(("use it: ", "dim"), command)))
    return facts


def _certificate_text(
    prefix: str,
    certificate: Mapping[str, Any] | None,
    document: Mapping[str, Any],
    model: Mapping[str, Any],
) -> Text:
    if certificate is None:
        return _text(f"{prefix}none")
    k = model["n_features"]
    what = "single feature" if k == 1 else f"{k} features"
    among = ""
    if certificate["n_forced"]:
        among = f" with the {certificate['n_forced']} forced"
    total = document["data"]["n_features"]
    excluded = total - certificate["candidates"]
    if prefix:  # one of several classes: in one line
        gap = "proven" if certificate["proven"] else f"gap {_percent(certificate['gap'])}"
        return _text(
            prefix,
            (gap, "bold"),
            f", objective {certificate['objective']:.5g}, {excluded:,} of {total:,} ruled out",
        )
    if certificate["proven"]:
        head = (f"proven: no other {what}{among} lower the objective", "bold green")
    else:
        head = (
            f"not proven: no {what}{among} lower the objective by more than "
            f"{_percent(certificate['gap'])}",
            "bold",
        )
    return _text(
        head,
        f"\nobjective {certificate['objective']:.6g}, lower bound {certificate['bound']:.6g}; "
        f"{excluded:,} of {total:,} features ruled out, {certificate['fixed_in']} proven to belong",
    )


def _scope(certificate: Mapping[str, Any]) -> str:
    scaling = {
        "standardized": "standardised columns",
        "scaled": "columns scaled to unit deviation, not centred",
        "none": "columns as they are",
    }.get(certificate["scaling"], certificate["scaling"])
    return (
        f"It holds for the selection problem: C = {certificate['C']:g}, {scaling}, its own refit. "
        "It says nothing about test accuracy."
    )


def _gap(certificates: Sequence[Mapping[str, Any] | None]) -> str:
    known = [certificate for certificate in certificates if certificate is not None]
    if len(known) < len(certificates):
        return "-"
    if all(certificate["proven"] for certificate in known):
        return "proven"
    return _percent(max(certificate["gap"] for certificate in known))


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.0995 else f"{100 * share:.0f}%"


def _mean_error(validation: Mapping[str, Any]) -> str:
    return f"{validation['mean']:.3f} ± {validation['standard_error']:.3f}"


def _aligned(values: Sequence[float], least: int = 4) -> list[str]:
    """Return numbers with signs and one number of decimals, all of them three digits or more."""
    sizes = [abs(value) for value in values if value]
    low, high = min(sizes, default=1.0), max(sizes, default=1.0)
    decimals = max(least, 3 - int(f"{low:e}".partition("e")[2]) - 1)
    if high >= 1e6 or decimals > 7:
        return [f"{value:+.3e}" for value in values]
    if high >= 1e3:
        decimals = min(decimals, 2)
    return [f"{value:+.{decimals}f}" for value in values]


def _shell(path: str) -> str:
    import shlex

    return _show(shlex.quote(path))


def _print_predictions(
    model: str,
    data: str,
    table: Table,
    classes: Any,
    predicted: Any,
    probabilities: Any,
    accuracy: float | None,
    confusion: list[list[int]] | None,
    output: Path | None,
) -> None:
    import numpy as np

    console = _console()
    labels = [_show(str(label), 30) for label in classes]
    counts = [int((predicted == label).sum()) for label in classes]
    console.print()
    console.print(
        _text((_show(data, 60), "bold"), f"   {len(predicted):,} samples", f"   by {_show(model)}")
    )
    console.print(
        _text(
            ("predicted: ", "dim"),
            ", ".join(f"{label} {count:,}" for label, count in zip(labels, counts, strict=True)),
        )
    )
    console.print()
    if accuracy is not None and confusion is not None:
        console.print(_text(("accuracy ", "bold cyan"), (f"{accuracy:.4f}", "bold")))
        if len(labels) <= _MAX_CONFUSION:
            grid = _grid()
            grid.add_column("true \\ predicted", style="dim")
            for label in labels:
                grid.add_column(_text(label), justify="right")
            for row, (label, row_counts) in enumerate(zip(labels, confusion, strict=True)):
                grid.add_row(
                    _text(label),
                    *(
                        _text((f"{count:,}", "bold green" if row == column else ""))
                        for column, count in enumerate(row_counts)
                    ),
                )
            console.print(grid)
        console.print()
    if output is not None:
        _print_pairs(console, [("written", _text((_show(str(output)), "bold")))])
        console.print()
        return
    grid = _grid()
    grid.add_column("sample", justify="left" if table.sample_names else "right")
    grid.add_column("prediction", style="bold")
    if probabilities is not None:
        for label in labels[:6]:
            grid.add_column(_text(f"p({label})"), justify="right")
    for row in range(min(_PREVIEW, len(predicted))):
        name = table.sample_names[row] if table.sample_names else str(row + 1)
        cells: list[str | Text] = [_text(_show(name, 40)), _text(_show(str(predicted[row]), 30))]
        if probabilities is not None:
            cells += [f"{value:.4f}" for value in np.asarray(probabilities)[row, :6]]
        grid.add_row(*cells)
    console.print(grid)
    if len(predicted) > _PREVIEW:
        console.print(
            _text(
                (
                    f"{len(predicted) - _PREVIEW:,} more; --output FILE.csv writes them all.",
                    "dim",
                )
            )
        )
    console.print()


def _print_model(path: str, loaded: Any) -> None:
    console = _console()
    metadata = loaded.metadata
    labels = [_show(str(label), 30) for label in loaded.classes_]
    console.print()
    pairs: list[tuple[str, str | Text]] = [
        ("model", _text((_show(path), "bold"))),
        ("made by", _show(f"{metadata['estimator']} of zeronorm {metadata['zeronorm']}")),
        ("created", _show(metadata["created"])),
        ("classes", _text(", ".join(labels))),
        ("features", f"{loaded.support_.size:,} of {loaded.n_features_in_:,}"),
    ]
    if metadata["target_name"] is not None:
        pairs.append(("target", _text(_show(metadata["target_name"]))))
    if metadata["certificates"][0] is not None:
        pairs.append(("certified gap", _gap(metadata["certificates"])))
        pairs.append(("", _text((_scope(metadata["certificates"][0]), "dim"))))
    _print_pairs(console, pairs)
    console.print()
    grid = _grid()
    grid.add_column("feature", style="bold", overflow="ellipsis", no_wrap=True)
    heads = labels if len(labels) > 2 else [f"for {labels[1]}"]
    for head in heads:
        grid.add_column(_text(head), justify="right")
    columns = [_aligned(row.tolist()) for row in loaded.coef]
    intercepts = _aligned(loaded.intercept_.tolist())
    for column, index in enumerate(loaded.support_.tolist()):
        name = (
            loaded.feature_names[column]
            if loaded.feature_names is not None
            else str(index + metadata["first_index"])
        )
        cells = [
            text[column] if row[column] else ""
            for text, row in zip(columns, loaded.coef, strict=True)
        ]
        grid.add_row(_text(_show(name)), *cells)
    grid.add_row(_text(("intercept", "dim")), *intercepts)
    console.print(grid)
    console.print()


# ---------------------------------------------------------------------------------------------
# Progress


class _Progress:
    """A bar on stderr, on a terminal only, and only for work that takes more than a second."""

    def __init__(self, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> _Progress:
        if self._wanted:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                SpinnerColumn,
                TextColumn,
                TimeElapsedColumn,
            )

            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=30),
                TextColumn("{task.fields[count]}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("", total=None, count="")
            self._timer = threading.Timer(1.0, self._bar.start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._bar.stop()

    def phase(self, description: str, total: int | None = None) -> None:
        """Begin a phase of work; `total` passes over the data if known."""
        if self._bar is not None:
            self._bar.reset(self._task, description=_show(description, 60), total=total, count="")

    def advance(self, passes: int) -> None:
        """Report the number of passes done in this phase."""
        if self._bar is not None:
            what = "pass" if passes == 1 else "passes"
            self._bar.update(self._task, completed=passes, count=f"{passes} {what}")


class _FitCallback:
    """Counts the scans of a fit, by scikit-learn's callback API."""

    def __init__(self, progress: _Progress) -> None:
        self._progress = progress
        self._passes = 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin a fit."""
        self._passes = 0

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
        """Do nothing at the beginning of a scan."""

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> bool:
        """Count a scan; never ask to stop."""
        if context.task_name == "scan":
            self._passes += 1
            self._progress.advance(self._passes)
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """End a fit."""


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - begin


@contextmanager
def _collect_warnings() -> Iterator[list[str]]:
    """Yield a list that receives the texts of warnings, each once, in place of stderr."""
    notes: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)  # for programmers

        def keep(message: Warning | str, *_: Any, **__: Any) -> None:
            text = _one_line(message).rstrip(".")
            if text not in notes:
                notes.append(text)

        warnings.showwarning = keep
        yield notes
