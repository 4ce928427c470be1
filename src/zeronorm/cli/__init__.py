"""The command `zeronorm`: select features of a data file, predict with the model, look at it.

Results go to stdout, everything else to stderr. A command reads its arguments (`_input`), calls the
package, gathers what came out (`_documents`) and prints it as JSON or for people (`_report`). Heavy
modules are imported in the commands, so that --help is there at once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ._input import (
    NO_VALIDATION,
    check_folder,
    comparable,
    forced_positions,
    listed,
    output_files,
    parse_refit_c,
    parse_sizes,
    read,
    refuse_overwriting,
    usable_folds,
)
from ._messages import Group, say_notes
from ._progress import Progress, collect_warnings, fit, split_phases, timed

app = typer.Typer(
    cls=Group,
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
        from .. import __version__

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
_Id = Annotated[
    str | None,
    typer.Option("--id", metavar="NAME", help="The column that names the samples; no feature."),
]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Results only.")]
_Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


@app.command()
def select(
    data: _Data,
    features: Annotated[
        str,
        typer.Option("--features", "-k", metavar="K[,K2,...]", help="How many features, exactly."),
    ],
    target: _Target = None,
    id: _Id = None,
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
    sizes = parse_sizes(features)
    refit_C = parse_refit_c(refit_c)
    files = output_files(data, sizes, output) if save else {}
    if not no_cv and cv < 2:
        raise ValueError(f"--cv must be at least 2; got {cv}. Leave it out with --no-cv.")

    with Progress(quiet) as progress, collect_warnings() as notes:
        progress.phase("Starting")
        from .. import __version__, persistence
        from ..designs import as_design
        from ..estimators import BudgetClassifier
        from ..model_selection import CrossValidation, cross_validate
        from . import _documents, _report

        seconds["imports"] = time.perf_counter() - begin
        progress.phase(f"Reading {data}")
        with timed(seconds, "read"):
            table = read(data, target, id, need_labels=True)
        notes.extend(table.notes)
        if table.y is None:
            raise ValueError(f"{data}: labels are needed; say where they are with --target.")
        refuse_overwriting(files.values(), data, target)

        estimator = BudgetClassifier(
            sizes,
            C=C,
            refit_C=refit_C,
            tune=tune,
            standardize=standardize,
            fit_intercept=intercept,
            forced_features=forced_positions(force, table),
            class_weight=class_weight,
            n_threads=threads,
        )
        progress.phase("Selecting")
        with timed(seconds, "fit"):
            fit(estimator, table.X, table.y, progress)
        split_phases(seconds, estimator.seconds_)

        folds = None if no_cv else usable_folds(cv, table.y, notes)
        validation: CrossValidation | None = None
        if folds is not None:
            progress.phase("Cross-validating", total=int(estimator.n_scans_))
            with timed(seconds, "cross-validation"):
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
            model = _documents.describe_model(estimator, k, table, design, validation)
            if save:
                with timed(seconds, "write"):
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

    document = {
        "zeronorm": __version__,
        "data": _documents.describe_data(data, table),
        "parameters": {
            name: value for name, value in estimator.get_params().items() if name != "n_features"
        },
        "classes": estimator.classes_.tolist(),
        "models": models,
        "n_scans": int(estimator.n_scans_),
        "seconds": seconds,
        "notes": notes,
    }
    if as_json:
        _print_json(document)
        return
    # Quiet or not, a number that was asked for is not left out without a word.
    say_notes([note for note in notes if not quiet or note.startswith(NO_VALIDATION)])
    _report.print_selection(document, quiet)


@app.command()
def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file that select wrote.")],
    data: _Data,
    target: _Target = None,
    id: _Id = None,
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
    with Progress(quiet) as progress, collect_warnings() as notes:
        progress.phase("Starting")
        import numpy as np

        from .. import persistence
        from . import _documents, _report

        loaded = persistence.load(model)
        if output is not None:
            check_folder(output)
        progress.phase(f"Reading {data}")
        table = read(data, target, id, loaded.layout)
        notes.extend(table.notes)
        if output is not None:
            refuse_overwriting([output], data, target, model)
        progress.phase("Predicting")
        predicted = loaded.predict(table)
        probabilities = loaded.predict_proba(table) if proba else None
        accuracy, confusion = None, None
        if table.y is not None:
            truth = comparable(table.y, loaded.classes_)
            unknown = int((~np.isin(truth, loaded.classes_)).sum())
            if unknown == len(truth):
                notes.append(
                    f"no accuracy: the model does not know the classes {listed(np.unique(table.y))}"
                    f"; it knows {listed(loaded.classes_)}"
                )
            else:
                accuracy = float(np.mean(truth == predicted))
                confusion = _documents.confusion(truth, predicted, loaded.classes_)
                if unknown:
                    notes.append(f"{unknown} samples have classes that the model does not know")
        if output is not None:
            persistence.write_file(
                output,
                _documents.predictions_csv(table, predicted, probabilities, loaded.classes_),
            )
    document = {
        "model": model,
        "data": _documents.describe_data(data, table),
        "classes": loaded.classes_.tolist(),
        "predictions": predicted.tolist(),
        "probabilities": None if probabilities is None else probabilities.tolist(),
        "accuracy": accuracy,
        "confusion": confusion,
        "file": None if output is None else str(output),
        "notes": notes,
    }
    if as_json:
        _print_json(document)
        return
    if not quiet:
        say_notes(notes)
    _report.print_predictions(document, table.sample_names, quiet)


@app.command()
def info(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A file that select wrote.")
    ] = None,
    as_json: _Json = False,
    debug: _Debug = False,
) -> None:
    """Show what a model file holds, or versions and threads of this installation."""
    from .. import persistence
    from . import _documents, _report

    if model is None:
        document = _documents.describe_installation()
        if as_json:
            _print_json(document)
        else:
            _report.print_installation(document)
        return
    loaded = persistence.load(model)
    if as_json:
        document = {
            **loaded.metadata,
            "classes": loaded.classes_.tolist(),
            "support": loaded.support_.tolist(),
            "coef": loaded.coef.tolist(),
            "intercept": loaded.intercept_.tolist(),
        }
        _print_json(document)
    else:
        _report.print_model(model, loaded)


def _print_json(document: Mapping[str, Any]) -> None:
    typer.echo(json.dumps(document, indent=2, allow_nan=False))
