"""The command `zeronorm path`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import persistence
from .._version import __version__
from ..estimators import L1ClassifierCV, L1RegressorCV, L1SurvivalAnalysisCV, l1_path
from ..io.input import Response, Samples, check_folds
from ..io.opening import as_design
from ..reporting.documents.data import describe_data
from ..reporting.documents.selection import (
    describe_chosen,
    describe_entries,
    describe_path,
    path_csv,
)
from ..reporting.records import PathFound
from ..reporting.text.selection import print_path
from ..reporting.warnings import targets_in_disguise
from .files import check_columns_file, refuse_overwriting
from .folds import usable_folds
from .messages import Work, show_document, watched
from .options import LOSSES, PathOptions
from .target import read_response

if TYPE_CHECKING:
    from ..estimators import L1Path
    from ..io.table import Dataset


def path(options: PathOptions) -> None:
    """Follow the l1 regularisation path: which features enter as C grows, and which C to choose."""
    with watched(options) as work:
        options = _settled(options)
        _check_options(options)
        data, output = options.data, options.output
        work.progress.phase(f"Reading {data}")
        with work.timed("read"):
            table, response = read_response(options, _task_of(options))
        y = response.y
        work.has_read(table)
        if output is not None:
            refuse_overwriting([output], data, options.target)
        folds = (
            None if options.cv is None else usable_folds(options.cv, table, response, work.notes)
        )
        if response.task == "classes":
            _check_classes(y, options, folds)
        paths, model, n_scans = _follow(options, table, response, folds, work)
        work.progress.phase("Writing")
        rows = describe_path(paths, model)
        chosen = None
        if model is not None:
            design = as_design(table.X, n_threads=options.threads)
            chosen = describe_chosen(model, paths, table, design)
        entered = describe_entries(paths, table)
        shown = entered if chosen is None else chosen
        samples = Samples(table, response, None)
        work.notes.extend(targets_in_disguise([shown], samples, options.keep or ()))
        if output is not None:
            with work.timed("write"):
                persistence.write_file(output, path_csv(rows, paths, table))
    parameters = {
        **_grid(options),
        **_problem(options),
        "cv": folds,
        "scoring": options.scoring,
    }
    if model is not None:
        parameters["scoring"] = model.scoring
    classes = paths[0].classes
    document = PathFound(
        zeronorm=__version__,
        data=describe_data(data, table, response),
        parameters=parameters,
        classes=[] if classes is None else classes.tolist(),
        path=rows,
        entered=entered,
        chosen=chosen,
        n_scans=n_scans,
        seconds=work.seconds,
        file=None if output is None else str(output),
        notes=work.notes,
    )
    show_document(document, options, print_path)


def _follow(
    options: PathOptions, table: Dataset, response: Response, folds: Any, work: Work
) -> tuple[list[L1Path], Any, int]:
    """Return the path of each class, the model that folds choose, and the number of scans."""
    y, moved = response.y, {} if response.offset is None else {"offset": response.offset}
    work.progress.phase("Following the path")
    problem = _problem(options)
    paths: list[L1Path] = []
    n_scans = 0
    if folds is None or _is_limited(options):
        with work.timed("path"):
            paths = [l1_path(table.X, y, **moved, **_grid(options), **problem)]
        n_scans += paths[0].n_scans
    if folds is None:
        return paths, None, int(n_scans)
    # Where the grid has limits, it is the one that the path has gone.
    model = _model_of(options, paths[0].Cs if paths else options.points, folds)
    work.progress.phase("Cross-validating")
    work.fit(model, table.X, y, groups=response.groups, **moved)
    found = model.l1_path_
    paths = list(found) if isinstance(found, tuple) else [found]
    return paths, model, int(n_scans + model.n_scans_)


def _model_of(options: PathOptions, Cs: Any, folds: Any) -> Any:
    """Return the estimator that folds choose a C for."""
    problem, task = _problem(options), _task_of(options)
    scoring: dict[str, Any] = {} if options.scoring is None else {"scoring": options.scoring}
    if task == "classes":
        default = "log_loss" if options.loss == "logistic" else "accuracy"
        return L1ClassifierCV(Cs, cv=folds, **{"scoring": default, **scoring}, **problem)
    del problem["class_weight"]
    if task == "survival":
        del problem["loss"], problem["fit_intercept"]
        ties: Any = options.ties or "breslow"
        return L1SurvivalAnalysisCV(Cs, cv=folds, ties=ties, **scoring, **problem)
    return L1RegressorCV(Cs, cv=folds, **problem)


def _problem(options: PathOptions) -> dict[str, Any]:
    """Return the parameters of the problem at every C."""
    return {
        "l1_ratio": options.l1_ratio,
        "loss": options.loss,
        "fit_intercept": options.intercept,
        "standardize": options.standardize,
        "class_weight": options.class_weight,
        "tol": options.tol,
        "n_threads": options.threads,
    }


def _grid(options: PathOptions) -> dict[str, Any]:
    """Return the parameters of the values of C."""
    return {
        "Cs": options.points,
        "C_ratio": options.ratio,
        "max_features": options.max_features,
    }


def _is_limited(options: PathOptions) -> bool:
    """Return whether --ratio or --max-features ends the path."""
    return options.ratio is not None or options.max_features is not None


def _settled(options: PathOptions) -> PathOptions:
    """Return the options with their loss; refuse columns of a target that it has not."""
    of_survival = {
        f"--{name}": getattr(options, name)
        for name in ("time", "time_from", "event", "start", "strata", "ties")
        if getattr(options, name) is not None
    }
    loss = options.loss or ("cox" if of_survival else "logistic")
    known = ("logistic", "squared_hinge", *LOSSES, "cox")
    if loss not in known:
        raise ValueError(f"--loss must be one of {', '.join(known)}; got {loss!r}.")
    if loss == "cox":
        for option in ("--time", "--event"):
            if option not in of_survival:
                raise ValueError(f"--loss cox is of survival times: say {option} COLUMN.")
        if options.ties not in (None, "breslow", "efron"):
            raise ValueError(f"--ties must be breslow or efron; got {options.ties!r}.")
        if options.target is not None or not options.intercept:
            wrong = "--no-intercept" if options.target is None else "--target"
            raise ValueError(f"{wrong} is not of survival times. Leave it out.")
        loss = "cox_efron" if options.ties == "efron" else "cox"
    elif of_survival:
        raise ValueError(f"{next(iter(of_survival))} is of --loss cox; got --loss {loss}.")
    moved = [name for name in ("offset", "exposure") if getattr(options, name) is not None]
    if moved and (loss not in LOSSES or len(moved) == 2):
        raise ValueError(
            f"--offset and --exposure are one or the other, of --loss {', '.join(LOSSES)}; got "
            f"{' and '.join(f'--{name}' for name in moved)} with --loss {loss}."
        )
    return replace(options, loss=loss)


def _task_of(options: PathOptions) -> str:
    """Return the task of the loss."""
    loss = str(options.loss)
    return "survival" if loss.startswith("cox") else LOSSES.get(loss, "classes")


def _check_options(options: PathOptions) -> None:
    """Refuse what is no grid of a path, and half of a cross-validation."""
    points, ratio, max_features = options.points, options.ratio, options.max_features
    if points < 2:
        raise ValueError(f"--points must be at least 2; got {points}.")
    if ratio is not None and not 1 < ratio < float("inf"):
        raise ValueError(f"--ratio must be a finite number above 1; got {ratio:g}.")
    if max_features is not None and max_features < 1:
        raise ValueError(f"--max-features must be at least 1; got {max_features}.")
    if options.cv is not None:
        check_folds(options.cv, "Leave it out for a path without cross-validation.")
    elif options.scoring is not None:
        raise ValueError(f"--scoring {options.scoring!r} needs a cross-validation; say --cv 5.")
    task = _task_of(options)
    for option, given, of_survival in (
        ("--scoring", options.scoring, True),
        ("--class-weight", options.class_weight, False),
    ):
        if given is None or task == "classes" or (of_survival and task == "survival"):
            continue
        raise ValueError(
            f"{option} is of classes, but --loss {options.loss} says {task}. Leave out one of them."
        )
    if options.output is not None:
        check_columns_file(options.output, "--output", [".csv"])


def _check_classes(y: Any, options: PathOptions, folds: Any) -> None:
    """Refuse several classes where a path is for two of them.

    folds : as many of the folds of --cv as the classes allow.
    """
    n_classes = len(np.unique(y))
    if n_classes <= 2:
        return
    if options.cv is None:
        raise ValueError(
            f"A path without --cv is for two classes; got {n_classes}. Say --cv 5: it chooses one "
            "C for all of them."
        )
    if folds is None:
        raise ValueError(
            f"A path of several classes needs a cross-validation, and so two samples of each; got "
            f"{n_classes} classes, the smallest with one."
        )
    if _is_limited(options):
        raise ValueError(
            f"--ratio and --max-features are for two classes; got {n_classes}. Leave them out."
        )
