"""The command `zeronorm`: select features, verify certificates, predict, look at models and paths.

Results go to stdout, everything else to stderr. A command reads its arguments (`_input`), calls the
package, gathers what came out (`_documents`) and prints it as JSON or for people (`_report`, of
`_tables`). Heavy modules are imported in the commands, so that --help is there at once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ._input import (
    FEWER_FOLDS,
    METHOD_NAMES,
    NO_VALIDATION,
    certificate_files,
    check_classes,
    check_folder,
    check_folds,
    check_grid,
    check_groups,
    check_measure,
    check_measured_folds,
    check_names,
    comparable,
    forced_positions,
    listed,
    named_class,
    output_files,
    parse_refit_c,
    parse_sizes,
    proof_options,
    read,
    read_labelled,
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
_Standardize = Annotated[
    bool,
    typer.Option(
        help="Select as if columns were standardised; coefficients are for DATA as it is."
    ),
]
_Intercept = Annotated[bool, typer.Option(help="Fit an intercept.")]
_ClassWeight = Annotated[
    str | None, typer.Option(metavar="balanced", help="Give all classes the same weight.")
]
_Threads = Annotated[int | None, typer.Option(metavar="N", help="Threads of a scan. Default: all.")]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Results only.")]
_Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


@app.command()
def select(
    data: _Data,
    features: Annotated[
        str,
        typer.Option(
            "--features",
            "-k",
            metavar="K[,K2,...]",
            help="How many features, exactly (with --groups, at most); 1:20 stands for 1,2,...,20.",
        ),
    ],
    target: _Target = None,
    id: _Id = None,
    groups: Annotated[
        int | None,
        typer.Option(
            metavar="G", help="In how many groups the features are at most; needs --group-file."
        ),
    ] = None,
    group_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The groups: text with two columns, feature (its name, or its number as DATA "
            "counts) and group, and every feature of DATA once.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The model. Default: DATA-kK.model.npz, here."
        ),
    ] = None,
    save: Annotated[bool, typer.Option("--save/--no-save", help="Write the model.")] = True,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Write the certificate, for zeronorm verify. Default: with --prove, beside the "
            "model.",
        ),
    ] = None,
    cv: Annotated[int, typer.Option(metavar="FOLDS", help="Folds of the cross-validation.")] = 5,
    no_cv: Annotated[bool, typer.Option("--no-cv", help="No cross-validation.")] = False,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help=f"What finds the features: {', '.join(METHOD_NAMES)}. Default: auto; with "
            "--prove, l0. With --groups, it is bilevel and no other.",
        ),
    ] = None,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove", help="Search until no other features of this number can be much better."
        ),
    ] = False,
    gap: Annotated[
        float | None,
        typer.Option(
            metavar="GAP",
            help="Of the proof: by how much, as a share of the objective, others may be better; 0: "
            "not at all. Default: 0.01.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Of the proof of each size; classes share it. Default: 60."
        ),
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Choose among the sizes by aic, bic, ebic or gic, and write that model only; "
            "--features K stands for 1:K.",
        ),
    ] = None,
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            "-C",
            metavar="C",
            help="Weight of the loss in selection and certificate. Default: 0.1; 1 with "
            "--groups, 100 with --measure auc or ap.",
        ),
    ] = None,
    refit_c: Annotated[
        str,
        typer.Option("--refit-c", metavar="C", help="Of the final fit; loo: by leave-one-out."),
    ] = "loo",
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Scale the probabilities by folds that repeat the selection. Default: below 1000 "
            "samples.",
            show_default=False,
        ),
    ] = None,
    standardize: _Standardize = True,
    intercept: _Intercept = True,
    force: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A feature that must be in; may be repeated."),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Train for f1 (f2, ...), precision@K, recall@K (K rows, or 2p: twice the "
            "positives), prbep, auc, ap or hamming, and report it beside a selection for accuracy.",
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="Of --measure: the positive of two classes. Default: the second."
        ),
    ] = None,
    class_weight: _ClassWeight = None,
    threads: _Threads = None,
    as_json: _Json = False,
    quiet: _Quiet = False,
    debug: _Debug = False,
) -> None:
    """Select exactly K features, fit the model, measure it, certify it and write it."""
    begin = time.perf_counter()
    seconds: dict[str, float] = {}
    others = {
        "--method": method is not None,
        "--criterion": criterion is not None,
        "--prove": prove,
        "--certificate": certificate is not None,
        "--calibrate": bool(calibrate),
    }
    check_groups(groups, group_file, others)
    check_measure(
        measure,
        positive,
        {"--groups": groups is not None, "--refit-c": refit_c != "loo", **others},
    )
    method, proof = proof_options(prove, method, gap, time_limit)
    sizes = parse_sizes(features)
    refit_C = parse_refit_c(refit_c)
    at_most = criterion is not None and len(sizes) == 1
    candidates = range(1, sizes[0] + 1) if at_most else sizes
    one = criterion is not None
    files = output_files(data, candidates, output, one=one) if save else {}
    certificates: dict[int, Path] = {}
    if certificate is not None or prove:
        certificates = certificate_files(data, candidates, files, certificate, one=one)
    if not no_cv:
        check_folds(cv, "Leave it out with --no-cv.")

    with Progress(quiet) as progress, collect_warnings() as notes:
        progress.phase("Starting")
        from .. import __version__, methods, persistence
        from ..designs import as_design
        from ..estimators import BudgetClassifier, MeasureClassifier
        from ..files import check_path, read_groups
        from ..model_selection import CrossValidation, cross_validate
        from . import _documents, _report

        seconds["imports"] = time.perf_counter() - begin
        if group_file is not None:
            check_path(group_file)  # before DATA is read, which may take its time
        progress.phase(f"Reading {data}")
        with timed(seconds, "read"):
            table, y = read_labelled(data, target, id)
            partition = None if group_file is None else read_groups(group_file, table)
        notes.extend(table.notes)
        refuse_overwriting(files.values(), data, target, group_file)
        refuse_overwriting(certificates.values(), data, target, option="--certificate")

        common: dict[str, Any] = {
            "n_features": sizes[0] if at_most else sizes,
            **({} if C is None else {"C": C}),
            "refit_C": refit_C,
            "calibrate": "auto" if calibrate is None else calibrate,
            "standardize": standardize,
            "fit_intercept": intercept,
            "forced_features": forced_positions(force, table),
            "class_weight": class_weight,
            "n_threads": threads,
        }
        estimator: BudgetClassifier | MeasureClassifier
        if measure is not None:
            method = "measure"
            # C of a measure weighs another loss: the selection for accuracy has its own.
            for_accuracy = BudgetClassifier(**{k: v for k, v in common.items() if k != "C"})
            del common["refit_C"], common["calibrate"]
            estimator = MeasureClassifier(
                measure,
                **{**common, "fit_intercept": "auto" if intercept else False},
                pos_label=None if positive is None else named_class(positive, y),
            )
        elif partition is not None:
            method = "bilevel"
            del common["calibrate"]
            estimator = BudgetClassifier(**common, n_groups=groups, groups=partition)
        elif prove:
            estimator = BudgetClassifier(**common, criterion=criterion, method=methods.L0(**proof))
        else:
            estimator = BudgetClassifier(**common, criterion=criterion, method=method)
        folds = None if no_cv else usable_folds(cv, y, notes)
        if folds is not None and isinstance(estimator, MeasureClassifier):
            check_measured_folds(estimator, y, folds)
        progress.phase("Selecting")
        with timed(seconds, "fit"):
            fit(estimator, table.X, y, progress)
        split_phases(seconds, estimator.seconds_)

        validation: CrossValidation | None = None
        if folds is not None:
            progress.phase("Cross-validating", total=int(estimator.n_scans_))
            with timed(seconds, "cross-validation"):
                validation = cross_validate(
                    estimator,
                    table.X,
                    y,
                    cv=folds,
                    callback=lambda state: progress.advance(state.n_scans),
                )
        beside: CrossValidation | None = None
        if folds is not None and isinstance(estimator, MeasureClassifier):
            progress.phase("Cross-validating a selection for accuracy")
            with timed(seconds, "cross-validation"):
                beside = cross_validate(
                    for_accuracy,
                    table.X,
                    y,
                    cv=folds,
                    measure=measure,
                    pos_label=estimator.pos_label,
                )

        progress.phase("Writing")
        design = as_design(table.X, n_threads=threads)
        chosen = estimator.size_
        names: dict[str, Any] = {
            "feature_names": table.feature_names,
            "first_index": table.first_index,
            "target_name": table.target_name,
        }
        models = []
        for size in estimator._paths[0]:
            model = _documents.describe_model(
                estimator, size, table, design, validation, partition, beside
            )
            k = model["n_features"]
            models.append(model)
            if criterion is not None and size != chosen:
                continue
            with timed(seconds, "write"):
                if save:
                    persistence.save(estimator, files[k], n_features=size, **names)
                    model["file"] = str(files[k])
                if certificates:
                    persistence.save_certificate(
                        [path[size].certificate for path in estimator._paths],
                        certificates[k],
                        table.X,
                        y,
                        class_weight=class_weight,
                        **names,
                    )
                    model["certificate_file"] = str(certificates[k])
    seconds["total"] = time.perf_counter() - begin

    stated = ("n_features", "n_groups", "groups", "method", "criterion")
    document = {
        "zeronorm": __version__,
        "data": _documents.describe_data(data, table, partition),
        "parameters": {
            "method": method,
            "criterion": criterion,
            "measure": measure,
            "n_groups": groups,
            "groups": None if group_file is None else str(group_file),
            **{
                name: value
                for name, value in _documents.describe_parameters(estimator).items()
                if name not in stated
            },
        },
        "classes": estimator.classes_.tolist(),
        "models": models,
        "criteria": persistence.tabulate(getattr(estimator, "criteria_", None)),
        "chosen": _documents.feature_budget(chosen),
        "n_scans": int(estimator.n_scans_),
        "seconds": seconds,
        "notes": notes,
    }
    _show(document, as_json, quiet, _report.print_selection)


@app.command()
def verify(
    data: _Data,
    certificate: Annotated[
        str, typer.Argument(metavar="CERTIFICATE", help="A file that select wrote.")
    ],
    target: _Target = None,
    id: _Id = None,
    as_json: _Json = False,
    quiet: _Quiet = False,
    debug: _Debug = False,
) -> None:
    """Check a certificate with the data, in plain NumPy; exit code 1 where it claims too much."""
    begin = time.perf_counter()
    with Progress(quiet) as progress, collect_warnings() as notes:
        progress.phase("Starting")
        from .. import persistence
        from ..certificate import CertificateError
        from . import _documents, _report

        saved = persistence.load_certificate(certificate)
        progress.phase(f"Reading {data}")
        table, y = read_labelled(data, target, id, saved.layout)
        notes.extend(table.notes)
        check_names(table, saved, data)
        progress.phase("Verifying")
        found: list[dict[str, float]] | None = None
        reason = None
        try:
            found = saved.verify(table.X, comparable(y, saved.classes_))
        except CertificateError as error:
            reason = str(error)
    document = {
        "certificate": certificate,
        "data": _documents.describe_data(data, table),
        "verified": found is not None,
        "reason": reason,
        **_documents.describe_claims(saved, found, table),
        "seconds": time.perf_counter() - begin,
        "notes": notes,
    }
    _show(document, as_json, quiet, _report.print_verification)
    if found is None:
        raise typer.Exit(1)


@app.command()
def path(
    data: _Data,
    target: _Target = None,
    id: _Id = None,
    points: Annotated[
        int, typer.Option(metavar="N", help="Values of C, growing, in geometric progression.")
    ] = 100,
    ratio: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            help="Of the last C to the first. Default: 100 with fewer samples than features, "
            "else 10000.",
        ),
    ] = None,
    max_features: Annotated[
        int | None,
        typer.Option(metavar="K", help="End with the first solution of more features."),
    ] = None,
    l1_ratio: Annotated[
        float, typer.Option(metavar="R", help="Share of l1 in the penalty; the rest is ridge.")
    ] = 1.0,
    loss: Annotated[
        str, typer.Option(metavar="LOSS", help="logistic or squared_hinge.")
    ] = "logistic",
    standardize: _Standardize = True,
    intercept: _Intercept = True,
    class_weight: _ClassWeight = None,
    tol: Annotated[
        float, typer.Option(metavar="GAP", help="Certified gap to stop at, for every C.")
    ] = 1e-4,
    cv: Annotated[
        int | None,
        typer.Option(
            metavar="FOLDS", help="Choose C by cross-validation with so many folds. Default: no."
        ),
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            metavar="SCORE",
            help="Of the cross-validation: log_loss, accuracy or auc. Default: log_loss; accuracy "
            "for squared_hinge.",
        ),
    ] = None,
    threads: _Threads = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.csv", help="Write every point (CSV)."),
    ] = None,
    as_json: _Json = False,
    quiet: _Quiet = False,
    debug: _Debug = False,
) -> None:
    """Follow the l1 regularisation path: which features enter as C grows, and which C to choose."""
    begin = time.perf_counter()
    seconds: dict[str, float] = {}
    check_grid(points, ratio, max_features)
    if cv is not None:
        check_folds(cv, "Leave it out for a path without cross-validation.")
    elif scoring is not None:
        raise ValueError(f"--scoring {scoring!r} needs a cross-validation; say --cv 5.")
    if output is not None:
        check_folder(output)

    with Progress(quiet) as progress, collect_warnings() as notes:
        progress.phase("Starting")
        from .. import L1ClassifierCV, __version__, l1_path, persistence
        from ..designs import as_design
        from . import _documents, _report

        seconds["imports"] = time.perf_counter() - begin
        progress.phase(f"Reading {data}")
        with timed(seconds, "read"):
            table, y = read_labelled(data, target, id)
        notes.extend(table.notes)
        if output is not None:
            refuse_overwriting([output], data, target)
        folds = None if cv is None else usable_folds(cv, y, notes)
        limited = ratio is not None or max_features is not None
        check_classes(y, cv, folds, limited)

        problem: dict[str, Any] = {
            "l1_ratio": l1_ratio,
            "loss": loss,
            "fit_intercept": intercept,
            "standardize": standardize,
            "class_weight": class_weight,
            "tol": tol,
            "n_threads": threads,
        }
        grid: dict[str, Any] = {"Cs": points, "C_ratio": ratio, "max_features": max_features}
        progress.phase("Following the path")
        model: L1ClassifierCV | None = None
        n_scans = 0
        if folds is None or limited:
            with timed(seconds, "path"):
                paths = [l1_path(table.X, y, **grid, **problem)]
            n_scans += paths[0].n_scans
        if folds is not None:
            if scoring is None:
                scoring = "log_loss" if loss == "logistic" else "accuracy"
            # Where the grid has limits, it is the one that the path has gone.
            Cs = paths[0].Cs if limited else points
            model = L1ClassifierCV(Cs, cv=folds, scoring=scoring, **problem)
            progress.phase("Cross-validating")
            with timed(seconds, "fit"):
                fit(model, table.X, y, progress)
            split_phases(seconds, model.seconds_)
            n_scans += model.n_scans_
            found = model.l1_path_
            paths = list(found) if isinstance(found, tuple) else [found]

        progress.phase("Writing")
        rows = _documents.describe_path(paths, model)
        chosen = None
        if model is not None:
            chosen = _documents.describe_chosen(
                model, paths, table, as_design(table.X, n_threads=threads)
            )
        if output is not None:
            with timed(seconds, "write"):
                persistence.write_file(output, _documents.path_csv(rows, paths, table))
    seconds["total"] = time.perf_counter() - begin

    document = {
        "zeronorm": __version__,
        "data": _documents.describe_data(data, table),
        "parameters": {**grid, **problem, "cv": folds, "scoring": scoring},
        "classes": paths[0].classes.tolist(),
        "path": rows,
        "entered": _documents.describe_entries(paths, table),
        "chosen": chosen,
        "n_scans": int(n_scans),
        "seconds": seconds,
        "file": None if output is None else str(output),
        "notes": notes,
    }
    _show(document, as_json, quiet, _report.print_path)


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
    _show(
        document,
        as_json,
        quiet,
        partial(_report.print_predictions, sample_names=table.sample_names),
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


def _show(
    document: Mapping[str, Any],
    as_json: bool,
    quiet: bool,
    report: Callable[[Mapping[str, Any], bool], None],
) -> None:
    """Print a document as JSON, or its notes and the report of it."""
    if as_json:
        _print_json(document)
        return
    # Quiet or not, a number that was asked for is not left out without a word.
    asked = (NO_VALIDATION, FEWER_FOLDS)
    say_notes(
        [note for note in document["notes"] if not quiet or any(words in note for words in asked)]
    )
    report(document, quiet)


def _print_json(document: Mapping[str, Any]) -> None:
    typer.echo(json.dumps(document, indent=2, allow_nan=False))
