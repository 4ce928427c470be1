"""What the commands can be asked for: a record of options for each of them.

A command is a function of its record.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..methods import METHODS
from ._shared_options import (
    ClassWeight,
    Data,
    Debug,
    Drop,
    Event,
    Exposure,
    Id,
    Intercept,
    Json,
    Offset,
    Quiet,
    Samples,
    Standardize,
    Start,
    Strata,
    Target,
    Threads,
    Ties,
    Time,
)

TASKS = ("auto", "classes", "ordered", "numbers", "counts", "survival")
# The losses that can be asked for, and the task of each.
LOSSES = {
    "least_squares": "numbers",
    "huber": "numbers",
    "quantile": "numbers",
    "gamma": "numbers",
    "poisson": "counts",
}
METHOD_NAMES = [
    "auto",
    *(name for name, method in METHODS.items() if "features" in method.budgets),
]


@dataclass(frozen=True, slots=True)
class SelectOptions:
    """What `zeronorm select` is asked for."""

    data: Data
    features: Annotated[
        str,
        typer.Option(
            "--features",
            "-k",
            metavar="K[,K2,...]",
            help="How many features, exactly (with --groups, at most); 1:20 stands for 1,2,...,20.",
        ),
    ]
    target: Target = None
    id: Id = None
    samples: Samples = None
    drop: Drop = None
    task: Annotated[
        str,
        typer.Option(
            metavar="TASK",
            help="The target: classes, ordered, numbers, counts or survival; auto: as it looks.",
        ),
    ] = "auto"
    order: Annotated[
        str | None,
        typer.Option(metavar="LABELS", help="Of ordered text: its classes, lowest first."),
    ] = None
    time: Time = None
    event: Event = None
    start: Start = None
    strata: Strata = None
    ties: Ties = None
    offset: Offset = None
    exposure: Exposure = None
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="LOSS",
            help="Of numbers least_squares, huber, quantile or, of positive ones, gamma; of counts "
            "poisson. Default: least_squares, poisson.",
        ),
    ] = None
    level: Annotated[
        float | None,
        typer.Option(metavar="Q", help="Of --loss quantile: which quantile. Default: 0.5."),
    ] = None
    groups: Annotated[
        int | None,
        typer.Option(
            metavar="G", help="In how many groups the features are at most; needs --group-file."
        ),
    ] = None
    group_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The groups: text with two columns, feature (its name, or its number as DATA "
            "counts) and group, and every feature of DATA once.",
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The model. Default: DATA-kK.model.npz, here."
        ),
    ] = None
    save: Annotated[bool, typer.Option("--save/--no-save", help="Write the model.")] = True
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Write the certificate, for zeronorm verify. Default: with --prove, beside the "
            "model.",
        ),
    ] = None
    cv: Annotated[int, typer.Option(metavar="FOLDS", help="Folds of the cross-validation.")] = 5
    no_cv: Annotated[bool, typer.Option("--no-cv", help="No cross-validation.")] = False
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help=f"What finds the features: {', '.join(METHOD_NAMES)}. Default: auto; with "
            "--prove, l0. With --groups, it is bilevel and no other.",
        ),
    ] = None
    prove: Annotated[
        bool,
        typer.Option(
            "--prove", help="Search until no other features of this number can be much better."
        ),
    ] = False
    gap: Annotated[
        float | None,
        typer.Option(
            metavar="GAP",
            help="Of the proof: by how much, as a share of the objective, others may be better; 0: "
            "not at all. Default: 0.01.",
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Of the proof of each size; classes share it. Default: 60."
        ),
    ] = None
    criterion: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Choose among the sizes by aic, bic, ebic or gic, and write that model only; "
            "--features K stands for 1:K.",
        ),
    ] = None
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            "-C",
            metavar="C",
            help="Weight of the loss in selection and certificate. Default: 0.1; 1 with "
            "--groups or --loss quantile, 100 with --measure auc or ap.",
        ),
    ] = None
    refit_c: Annotated[
        str, typer.Option("--refit-c", metavar="C", help="Of the final fit; loo: by leave-one-out.")
    ] = "loo"
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Scale the probabilities by folds that repeat the selection. Default: below 1000 "
            "samples.",
            show_default=False,
        ),
    ] = None
    standardize: Standardize = True
    intercept: Intercept = True
    force: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A feature that must be in; may be repeated."),
    ] = None
    covariates: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Columns in every model, uncounted and unpenalised: a,b."
        ),
    ] = None
    nonnegative: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A feature with a coefficient of at least 0, or all; may be repeated.",
        ),
    ] = None
    nonpositive: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A feature with a coefficient of at most 0, or all; may be repeated.",
        ),
    ] = None
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Train for f1 (f2, ...), precision@K, recall@K (K rows, or 2p: twice the "
            "positives), prbep, auc, ap or hamming, and report it beside a selection for accuracy.",
        ),
    ] = None
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="Of --measure: the positive of two classes. Default: the second."
        ),
    ] = None
    shared: Annotated[
        bool | None,
        typer.Option(
            "--shared/--per-class",
            help="Of three or more classes: K features in all, or K for each class against the "
            "others. Default: --shared; with --measure, --per-class.",
            show_default=False,
        ),
    ] = None
    class_weight: ClassWeight = None
    threads: Threads = None
    as_json: Json = False
    quiet: Quiet = False
    debug: Debug = False


RTOL = 1e-10  # as of `zeronorm.verify`


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """What `zeronorm verify` is asked for."""

    data: Data
    certificate: Annotated[
        str, typer.Argument(metavar="CERTIFICATE", help="A file that select wrote.")
    ]
    target: Target = None
    id: Id = None
    samples: Samples = None
    drop: Drop = None
    time: Time = None
    event: Event = None
    start: Start = None
    strata: Strata = None
    offset: Offset = None
    exposure: Exposure = None
    rtol: Annotated[
        float,
        typer.Option(
            metavar="R",
            help="By how much, as a share, figures may differ from the recomputed ones.",
        ),
    ] = RTOL
    as_json: Json = False
    quiet: Quiet = False
    debug: Debug = False


@dataclass(frozen=True, slots=True)
class PathOptions:
    """What `zeronorm path` is asked for."""

    data: Data
    target: Target = None
    id: Id = None
    samples: Samples = None
    drop: Drop = None
    points: Annotated[
        int, typer.Option(metavar="N", help="Values of C, growing, in geometric progression.")
    ] = 100
    ratio: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            help="Of the last C to the first. Default: 100 with fewer samples than features, "
            "else 10000.",
        ),
    ] = None
    max_features: Annotated[
        int | None, typer.Option(metavar="K", help="End with the first solution of more features.")
    ] = None
    l1_ratio: Annotated[
        float, typer.Option(metavar="R", help="Share of l1 in the penalty; the rest is ridge.")
    ] = 1.0
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="LOSS",
            help=f"Of classes logistic or squared_hinge; of others {', '.join(LOSSES)}, cox. "
            "Default: logistic; with --time and --event cox.",
        ),
    ] = None
    time: Time = None
    event: Event = None
    start: Start = None
    strata: Strata = None
    ties: Ties = None
    offset: Offset = None
    exposure: Exposure = None
    standardize: Standardize = True
    intercept: Intercept = True
    class_weight: ClassWeight = None
    tol: Annotated[
        float, typer.Option(metavar="GAP", help="Certified gap to stop at, for every C.")
    ] = 1e-4
    cv: Annotated[
        int | None,
        typer.Option(
            metavar="FOLDS", help="Choose C by cross-validation with so many folds. Default: no."
        ),
    ] = None
    scoring: Annotated[
        str | None,
        typer.Option(
            metavar="SCORE",
            help="Of the cross-validation: of classes log_loss, accuracy or auc, of survival "
            "deviance or c_index. Default: log_loss, deviance; accuracy for squared_hinge.",
        ),
    ] = None
    threads: Threads = None
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.csv", help="Write every point (CSV)."),
    ] = None
    as_json: Json = False
    quiet: Quiet = False
    debug: Debug = False


@dataclass(frozen=True, slots=True)
class PredictOptions:
    """What `zeronorm predict` is asked for."""

    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file that select wrote.")]
    data: Data
    target: Target = None
    id: Id = None
    samples: Samples = None
    time: Time = None
    event: Event = None
    start: Start = None
    strata: Strata = None
    offset: Offset = None
    exposure: Exposure = None
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.csv", help="Write every prediction (CSV)."),
    ] = None
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities as well.")] = False
    times: Annotated[
        str | None,
        typer.Option(
            metavar="T[,T2,...]",
            help="Of survival: the probability of no event up to these times as well.",
        ),
    ] = None
    as_json: Json = False
    quiet: Quiet = False
    debug: Debug = False


@dataclass(frozen=True, slots=True)
class InfoOptions:
    """What `zeronorm info` is asked for."""

    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A file that select wrote.")
    ] = None
    as_json: Json = False
    debug: Debug = False
