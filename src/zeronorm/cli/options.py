"""What the commands can be asked for: a record of options for each of them.

A command is a function of its record. What is said of an option stands at its field, or in
`SHARED_OPTIONS` where several commands have it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from ..methods import METHODS

TASKS = ("auto", "classes", "ordered", "numbers", "counts", "survival")
# The losses that can be asked for, and the task of each.
LOSSES = {
    "least_squares": "numbers",
    "huber": "numbers",
    "quantile": "numbers",
    "gamma": "numbers",
    "poisson": "counts",
}
METHOD_NAMES = ["auto", *(name for name, one in METHODS.items() if "features" in one.budgets)]
FOLDS = 5  # unless the user says another number
PAIRS, SECONDS = 50, 1.0  # of a report, unless the user says others

# The panels of --help; options of none stand first.
TARGET = "The target"
FEATURES = "The features"
PROBLEM = "The problem"
SEARCH = "The search"
SCORE = "The model and its score"
FILES = "Files"

# What is said of options that several commands share, by the names of their fields.
SHARED_OPTIONS: dict[str, ArgumentInfo | OptionInfo] = {
    "data": typer.Argument(
        metavar="DATA",
        help="demo (built in), or a file: svmlight, .npz, .npy, CSV, TSV, JSON lines, .xlsx, "
        "Parquet (parts as 'part-*.parquet'); also .gz .bz2 .xz .zip; single cells (.h5ad, 10x "
        ".h5); genotypes (.bed, 'chr*.bed'); a store of zeronorm convert; -: standard input.",
    ),
    "target": typer.Option(
        "--target",
        "--obs",
        metavar="NAME",
        help="What to predict: a column (name or index), an array, or a file of its own. Several "
        "responses: columns of numbers with commas between them, or such an array.",
        rich_help_panel=TARGET,
    ),
    "id": typer.Option(
        "--id", metavar="NAME", help="The column that names the samples.", rich_help_panel=TARGET
    ),
    "samples": typer.Option(
        metavar="FILE",
        help="A table of the samples, joined by their names (of genotypes IID, or FID and IID); "
        "--target, --covariates and others name its columns; may be repeated.",
        rich_help_panel=TARGET,
    ),
    "by_position": typer.Option(
        "--by-position", help="A file of labels is in the samples' order.", rich_help_panel=TARGET
    ),
    "transpose": typer.Option(
        "--transpose", help="DATA have samples in columns.", rich_help_panel=TARGET
    ),
    "drop": typer.Option(
        metavar="NAME", help="Columns to leave out: age, g_*, a:f.", rich_help_panel=TARGET
    ),
    "keep": typer.Option(
        metavar="NAME", help="Keep a column that numbers the rows.", rich_help_panel=TARGET
    ),
    "where": typer.Option(
        metavar="TEXT",
        help="Keep rows by columns: \"batch == 'B1' and age >= 18\"; columns of text there "
        "are no features.",
        rich_help_panel=TARGET,
    ),
    "encoding": typer.Option(
        metavar="NAME",
        help="The encoding of text that is not UTF-8: latin-1, cp1252, utf-16.",
        rich_help_panel=TARGET,
    ),
    "decimal": typer.Option(
        metavar="MARK",
        help="Decimal mark of CSV (',' or '.'); else found.",
        rich_help_panel=TARGET,
    ),
    "missing": typer.Option(
        metavar="WAY",
        help="Fill empty cells by the training rows: mean or most_frequent; indicator: by the "
        "mean, and say where.",
        rich_help_panel=FEATURES,
    ),
    "na": typer.Option(
        "--na", metavar="VALUES", help="Read as missing: -9,unknown.", rich_help_panel=TARGET
    ),
    "dates": typer.Option(
        metavar="ORDER",
        help="How 03/04/2020 is read: day-first, month-first, iso.",
        rich_help_panel=TARGET,
    ),
    "layer": typer.Option(
        "--layer",
        "--dataset",
        metavar="NAME",
        help="The matrix of HDF5; the layer, raw, or the genome of cells; the sheet of .xlsx.",
        rich_help_panel=FEATURES,
    ),
    "order": typer.Option(
        metavar="LABELS",
        help="The classes of an ordered target of text, lowest first.",
        rich_help_panel=TARGET,
    ),
    "time": typer.Option(
        metavar="COLUMN",
        help="Survival: time to the event, or to the end of observation.",
        rich_help_panel=TARGET,
    ),
    "time_from": typer.Option(
        metavar="COLUMN",
        help="Survival: the date from which --time runs, a date then.",
        rich_help_panel=TARGET,
    ),
    "event": typer.Option(
        metavar="COLUMN",
        help="Survival: 1 where the event was observed, 0 where censored; or COLUMN=VALUE.",
        rich_help_panel=TARGET,
    ),
    "start": typer.Option(
        metavar="COLUMN",
        help="Survival: when observation of a row begins.",
        rich_help_panel=TARGET,
    ),
    "strata": typer.Option(
        metavar="COLUMN",
        help="Survival: rows are compared within a stratum.",
        rich_help_panel=TARGET,
    ),
    "ties": typer.Option(
        metavar="NAME", help="Survival: breslow (default) or efron.", rich_help_panel=TARGET
    ),
    "offset": typer.Option(
        metavar="COLUMN",
        help="A known part of the margins, of numbers and counts.",
        rich_help_panel=TARGET,
    ),
    "exposure": typer.Option(
        metavar="COLUMN",
        help="The time, area or people that counts are of. Its logarithm is the offset.",
        rich_help_panel=TARGET,
    ),
    "covariates": typer.Option(
        metavar="NAMES",
        help="Columns in every model, uncounted and unpenalised: a,b.",
        rich_help_panel=FEATURES,
    ),
    "cv": typer.Option(metavar="FOLDS", help="Folds, to score; default: 5.", rich_help_panel=SCORE),
    "cv_groups": typer.Option(
        metavar="COLUMN", help="Whose samples stay together.", rich_help_panel=SCORE
    ),
    "standardize": typer.Option(
        help="Select as if columns were standardised; coefficients are for DATA as it is.",
        rich_help_panel=PROBLEM,
    ),
    "intercept": typer.Option(help="Fit an intercept.", rich_help_panel=PROBLEM),
    "class_weight": typer.Option(
        metavar="balanced", help="Give classes equal weight.", rich_help_panel=PROBLEM
    ),
    "threshold": typer.Option(
        metavar="NUMBER",
        help="Predict the positive class of two from this probability on. Default: as MODEL "
        "has it.",
    ),
    "threads": typer.Option(metavar="N", help="Threads of a scan. Default: all."),
    "as_json": typer.Option("--json", help="Print one JSON document."),
    "quiet": typer.Option("--quiet", "-q", help="Results only."),
    "debug": typer.Option("--debug", help="Show the traceback of an error."),
}


def option(help: str, *names: str, default: Any = None, **more: Any) -> Any:
    """Return a field for an option; MISSING stands for the default of one that must be given."""
    return field(default=default, metadata={"info": typer.Option(*names, help=help, **more)})


def argument(help: str, *, metavar: str, default: Any = MISSING) -> Any:
    """Return a field for an argument."""
    return field(default=default, metadata={"info": typer.Argument(help=help, metavar=metavar)})


def info_of(one: Field[Any]) -> Any:
    """Return what is said of the field of an option, at itself or where several share it."""
    return one.metadata.get("info", SHARED_OPTIONS.get(one.name))


_Options = TypeVar("_Options")


def takes(
    record: type[_Options],
) -> Callable[[Callable[[_Options], None]], Callable[..., None]]:
    """Return a decorator: a function of a record becomes one of the fields of the record."""
    types = get_type_hints(record)
    annotations = {
        one.name: Annotated[types[one.name], info_of(one)]
        for one in fields(record)  # type: ignore[arg-type]
    }
    output = [one.name for one in fields(OutputOptions)]
    parameters = [
        one.replace(annotation=annotations[one.name])
        for one in inspect.signature(record).parameters.values()
    ]
    parameters.sort(key=lambda one: one.name in output)

    def decorate(command: Callable[[_Options], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def called(**values: Any) -> None:
            command(record(**values))

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = annotations
        return called

    return decorate


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """How a command shows what it finds out; `takes` lists these options last."""

    as_json: bool = False
    quiet: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectOptions(OutputOptions):
    """What `zeronorm select` is asked for."""

    data: str
    features: str = option(
        "How many, exactly (with --groups, at most): 5; or 1:20 or 5,10; all: whole groups.",
        "--features",
        "-k",
        metavar="K[,K2,...]",
        default="auto",
    )
    target: str | None = None
    id: str | None = None
    samples: list[str] | None = None
    by_position: bool = False
    transpose: bool = False
    drop: list[str] | None = None
    keep: list[str] | None = None
    where: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    missing: str | None = None
    na: str | None = None
    dates: str | None = None
    layer: str | None = None
    task: str = option(
        "The target: classes, ordered, numbers, counts or survival; auto: as it looks.",
        metavar="TASK",
        default="auto",
        rich_help_panel=TARGET,
    )
    order: str | None = None
    time: str | None = None
    time_from: str | None = None
    event: str | None = None
    start: str | None = None
    strata: str | None = None
    ties: str | None = None
    offset: str | None = None
    exposure: str | None = None
    loss: str | None = option(
        "The loss. Numbers: least_squares, huber, quantile or, of positive ones, gamma; counts: "
        "poisson. Default: least_squares, poisson.",
        metavar="LOSS",
        rich_help_panel=PROBLEM,
    )
    quantile: float | None = option(
        "The quantile of --loss quantile. Default: 0.5.", metavar="Q", rich_help_panel=PROBLEM
    )
    groups: str | None = option(
        "How many groups, at most: G, or auto; of whole groups G, or 1:5.",
        metavar="G",
        rich_help_panel=FEATURES,
    )
    group_file: Path | None = option(
        "Feature (name, or number as DATA counts) and its group in every line; or gene sets that "
        "do not overlap (.gmt).",
        metavar="FILE",
        rich_help_panel=FEATURES,
    )
    output: Path | None = option(
        "The model. Default: DATA-kK.model.npz, here.",
        "--output",
        "-o",
        metavar="FILE",
        rich_help_panel=FILES,
    )
    save: bool = option("Write the model.", "--save/--no-save", default=True, rich_help_panel=FILES)
    certificate: Path | None = option(
        "For zeronorm verify. Default: with --prove, beside the model.",
        metavar="FILE",
        rich_help_panel=FILES,
    )
    features_out: Path | None = option(
        "The features (.csv, .parquet).", metavar="FILE", rich_help_panel=FILES
    )
    report: Path | None = option(
        "A page to forward (.html).", metavar="FILE", rich_help_panel=FILES
    )
    cv: int | None = None
    cv_groups: str | None = None
    no_cv: bool = option("No cross-validation.", "--no-cv", default=False, rich_help_panel=SCORE)
    permutations: int | None = option(
        "Labels permuted: a p-value.", metavar="N", rich_help_panel=SCORE
    )
    stability: int | None = option(
        "How stable, by half-samples.", metavar="PAIRS", rich_help_panel=SCORE
    )
    method: str | None = option(
        f"What finds the features: {', '.join(METHOD_NAMES)}. Default: auto; with "
        "--prove, l0; with --groups bilevel alone, but for whole groups.",
        metavar="METHOD",
        rich_help_panel=SEARCH,
    )
    starts: int | None = option(
        "Number of random starts of the l0 search; the best is kept.",
        metavar="N",
        rich_help_panel=SEARCH,
    )
    prove: bool = option(
        "Search until no other features of this number can be much better.",
        "--prove",
        default=False,
        rich_help_panel=SEARCH,
    )
    gap: float | None = option(
        "How much better others may be at the end of the proof, as a share of the objective; 0: "
        "not at all. Default: 0.01.",
        metavar="GAP",
        rich_help_panel=SEARCH,
    )
    time_limit: float | None = option(
        "Seconds for the proof of each size; classes share them. Default: 60.",
        metavar="SECONDS",
        rich_help_panel=SEARCH,
    )
    rule: str | None = option(
        "Takes one of several sizes: 1se (default), the smallest within a standard error of the "
        "best by --cv, or best; aic, bic, ebic, gic (K stands for 1:K); all: a model of each.",
        metavar="RULE",
        rich_help_panel=SCORE,
    )
    C: float | None = option(
        "Weight of the loss. Default: by folds; of classes 0.1, with --groups 1, with --measure "
        "auc or ap 100.",
        "--C",
        "-C",
        metavar="C",
        rich_help_panel=PROBLEM,
    )
    refit_c: str = option(
        "C of the final fit; loo: by leave-one-out.",
        "--refit-c",
        metavar="C",
        default="loo",
        rich_help_panel=SCORE,
    )
    calibrate: bool | None = option(
        "Scale models by folds. Default: of classes below 1000 samples, of others without --C.",
        "--calibrate/--no-calibrate",
        show_default=False,
        rich_help_panel=SCORE,
    )
    standardize: bool = True
    intercept: bool = True
    force: list[str] | None = option(
        "A feature that must be in; may be repeated.", metavar="NAME", rich_help_panel=FEATURES
    )
    covariates: str | None = None
    nonnegative: list[str] | None = option(
        "A feature of coefficient 0 or more, or all; may be repeated.",
        metavar="NAME",
        rich_help_panel=FEATURES,
    )
    nonpositive: list[str] | None = option(
        "A feature of coefficient 0 or less, or all; may be repeated.",
        metavar="NAME",
        rich_help_panel=FEATURES,
    )
    measure: str | None = option(
        "Train for f1 (f2, ...), precision@K, recall@K (K rows, or 2p: twice the "
        "positives), prbep, auc, ap or hamming.",
        metavar="NAME",
        rich_help_panel=PROBLEM,
    )
    positive: str | None = option(
        "With --measure: the positive of two classes. Default: second.",
        metavar="LABEL",
        rich_help_panel=PROBLEM,
    )
    view: Path | None = option(
        "Manhattan plot of the selected variants (.svg, .png or .pdf).",
        metavar="FILE",
        rich_help_panel=FILES,
    )
    checkpoint: Path | None = option(
        "Kept until the end: after a kill the same command goes on from it.",
        metavar="FILE",
        rich_help_panel=FILES,
    )
    shared: bool | None = option(
        "Three or more classes: K features in all, or K for each class against the others. "
        "Default: --shared where the method can; with --measure, --per-class.",
        "--shared/--per-class",
        show_default=False,
        rich_help_panel=FEATURES,
    )
    class_weight: str | None = None
    threads: int | None = None
    scheduler: str | None = option(
        "Scan on workers of Dask (tcp://HOST:8786), which open DATA (.npy, .bed) at its path.",
        metavar="ADDRESS",
    )


# What is of the model, its proof and its files.
_NOT_OF_FOLDS = {
    "output", "save", "certificate", "features_out", "report", "view", "no_cv", "prove", "gap",
    "time_limit", "stability",
}  # fmt: skip
_TYPES = get_type_hints(SelectOptions)

if TYPE_CHECKING:
    CvOptions = SelectOptions
else:
    CvOptions = make_dataclass(
        "CvOptions",
        [
            (one.name, _TYPES[one.name], field(default=one.default, metadata=one.metadata))
            for one in fields(SelectOptions)
            if one.name not in _NOT_OF_FOLDS
        ],
        frozen=True,
        kw_only=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsOptions(OutputOptions):
    """What the columns of rows are that models are for."""

    target: str | None = None
    id: str | None = None
    samples: list[str] | None = None
    by_position: bool = False
    transpose: bool = False
    where: str | None = None
    encoding: str | None = None
    na: str | None = None
    dates: str | None = None
    decimal: str | None = None
    layer: str | None = None
    time: str | None = None
    time_from: str | None = None
    event: str | None = None
    start: str | None = None
    strata: str | None = None
    offset: str | None = None
    exposure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemOptions(ColumnsOptions):
    """A list of features, and the problem that it is an answer to."""

    data: str
    features: str = argument(
        "The list: a model that select wrote; a file, a name on each line, or CSV with a column "
        "feature or name; or names with commas between them.",
        metavar="FEATURES",
    )
    group_file: Path | None = option(
        "Feature and its group in every line, or gene sets (.gmt): FEATURES are whole groups then, "
        "a model of them or their names.",
        metavar="FILE",
        rich_help_panel=FEATURES,
    )
    drop: list[str] | None = None
    keep: list[str] | None = None
    missing: str | None = None
    task: str = option(
        "The target: classes, ordered, numbers, counts or survival; auto: as it looks, or as the "
        "model has it.",
        metavar="TASK",
        default="auto",
        rich_help_panel=TARGET,
    )
    order: str | None = None
    ties: str | None = None
    covariates: str | None = None
    loss: str | None = option(
        "The loss. Numbers: least_squares, huber, quantile or gamma; counts: poisson.",
        metavar="LOSS",
        rich_help_panel=PROBLEM,
    )
    quantile: float | None = option(
        "The quantile of --loss quantile.", metavar="Q", rich_help_panel=PROBLEM
    )
    C: float | None = option(
        "Weight of the loss. Default: that of the model, or 0.1.",
        "--C",
        "-C",
        metavar="C",
        rich_help_panel=PROBLEM,
    )
    max_abs_coef: float | None = option(
        "Only models whose coefficients per SD are at most so large: a tighter bound at a large C.",
        metavar="SIZE",
    )
    standardize: bool = True
    intercept: bool = True
    class_weight: str | None = None
    threads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifyOptions(ProblemOptions):
    """What `zeronorm certify` is asked for."""

    certificate: Path | None = option(
        "Write it, for zeronorm verify.", metavar="FILE.npz", rich_help_panel=FILES
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProveOptions(ProblemOptions):
    """What `zeronorm prove` is asked for."""

    gap: float = option(
        "By how much, as a share of the objective, others may be better at the end; 0: not at all.",
        metavar="GAP",
        default=0.01,
        rich_help_panel=SEARCH,
    )
    time_limit: float = option(
        "Seconds for the search.", metavar="SECONDS", default=60.0, rich_help_panel=SEARCH
    )
    within: float | None = option(
        "List all lists of this length that are worse than the best by at most this share; 0.01 "
        "stands for 1%. It takes --time-limit once more.",
        metavar="SHARE",
    )
    cost: Path | None = option(
        "A file with a feature and its cost in every line; --within tells the cheapest list.",
        metavar="FILE",
    )
    limit: int | None = option(
        "How many lists of --within are kept, the best ones. Default: 1000.", metavar="N"
    )
    output: Path | None = option(
        "The lists of --within, a row each (.csv, .parquet).",
        "--output",
        "-o",
        metavar="FILE",
        rich_help_panel=FILES,
    )
    certificate: Path | None = option(
        "Write the proof, for zeronorm verify.", metavar="FILE.npz", rich_help_panel=FILES
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions(ColumnsOptions):
    """What `zeronorm verify` is asked for."""

    data: str
    certificate: str = argument("A file that select wrote.", metavar="CERTIFICATE")
    drop: list[str] | None = None
    rtol: float = option(
        "By how much, as a share, figures may differ from the recomputed ones.",
        metavar="R",
        default=1e-10,  # as of `zeronorm.verify`
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PathOptions(ColumnsOptions):
    """What `zeronorm path` is asked for."""

    data: str
    drop: list[str] | None = None
    keep: list[str] | None = None
    missing: str | None = None
    points: int = option(
        "Values of C, growing, in geometric progression.", metavar="N", default=100
    )
    ratio: float | None = option(
        "Ratio of the last C to the first. Default: 100 where samples are fewer than features, "
        "else 10000.",
        metavar="R",
    )
    max_features: int | None = option("End with the first solution of more features.", metavar="K")
    l1_ratio: float = option(
        "Share of l1 in the penalty; the rest is ridge.", metavar="R", default=1.0
    )
    loss: str | None = option(
        f"The loss. Classes: logistic or squared_hinge; others: {', '.join(LOSSES)}, cox. "
        "Default: logistic; with --time and --event cox.",
        metavar="LOSS",
        rich_help_panel=PROBLEM,
    )
    ties: str | None = None
    standardize: bool = True
    intercept: bool = True
    class_weight: str | None = None
    tol: float = option("Certified gap to stop at, for every C.", metavar="GAP", default=1e-4)
    cv: int | None = option(
        "Number of folds to choose C by cross-validation. Default: none.",
        metavar="FOLDS",
        rich_help_panel=SCORE,
    )
    cv_groups: str | None = None
    scoring: str | None = option(
        "Score of the cross-validation. Classes: log_loss, accuracy or auc; survival: "
        "deviance or c_index. Default: log_loss, deviance; accuracy for squared_hinge.",
        metavar="SCORE",
        rich_help_panel=SCORE,
    )
    threads: int | None = None
    output: Path | None = option(
        "Write every point (CSV).", "--output", "-o", metavar="FILE.csv", rich_help_panel=FILES
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoverOptions(OutputOptions):
    """What `zeronorm discover` is asked for."""

    data: str
    fdr: float = option(
        "The false discovery rate: the share of the features found that is false, in the mean over "
        "data like these.",
        metavar="RATE",
        default=0.1,
    )
    target: str | None = None
    id: str | None = None
    samples: list[str] | None = None
    by_position: bool = False
    transpose: bool = False
    drop: list[str] | None = None
    keep: list[str] | None = None
    where: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    missing: str | None = None
    na: str | None = None
    dates: str | None = None
    layer: str | None = None
    task: str = option(
        "The target: classes (two) or numbers; auto: as it looks.",
        metavar="TASK",
        default="auto",
        rich_help_panel=TARGET,
    )
    covariates: str | None = option(
        "Columns that features are compared beside, never found: ancestry components, age: a,b.",
        metavar="NAMES",
        rich_help_panel=FEATURES,
    )
    blocks: str | None = option(
        "Samples that belong together have one value of this column; of genotypes FID: families.",
        metavar="COLUMN",
        rich_help_panel=TARGET,
    )
    experiments: int = option(
        "Random experiments, in which features vote; a low RATE needs more than 1 / RATE of them.",
        metavar="N",
        default=20,
    )
    features_out: Path | None = option(
        "The features found, a table (.csv, .parquet).", metavar="FILE", rich_help_panel=FILES
    )
    threads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOptions(ColumnsOptions):
    """A model, and the rows that it is for."""

    model: str = argument("A file that select wrote.", metavar="MODEL")
    data: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions(RowsOptions):
    """What `zeronorm predict` is asked for."""

    output: Path | None = option(
        "Write every prediction: .csv, .parquet or .jsonl; -: to stdout, as CSV, or JSON lines "
        "where DATA are.",
        "--output",
        "-o",
        metavar="FILE",
        rich_help_panel=FILES,
    )
    proba: bool = option("Probabilities as well.", "--proba", default=False)
    threshold: float | None = None
    interval: float | None = option(
        "Intervals around predicted numbers that hold about this share of new rows, as 0.9; by "
        "the errors of rows out of fold.",
        metavar="SHARE",
    )
    times: str | None = option(
        "Survival: the probability of no event up to these times as well.", metavar="T[,T2,...]"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions(RowsOptions):
    """What `zeronorm evaluate` is asked for."""

    threshold: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(RowsOptions):
    """What `zeronorm report` is asked for."""

    data: str = argument(
        "The samples that MODEL was selected from, as select reads them; without them the report "
        "is what MODEL keeps.",
        metavar="[DATA]",
        default="",
    )
    drop: list[str] | None = None
    keep: list[str] | None = None
    output: Path | None = option(
        "The page; without it, and without DATA, the report is text.",
        "--output",
        "-o",
        metavar="FILE.html",
        rich_help_panel=FILES,
    )
    features: str | None = option(
        "Other numbers of features beside that of MODEL: 1:20, or 5,10. Default: those that were "
        "compared when it was selected.",
        "--features",
        "-k",
        metavar="K[,K2,...]",
    )
    group_file: Path | None = option(
        "The file of whole groups that select took, as the model has not the groups of all "
        "features.",
        metavar="FILE",
        rich_help_panel=FEATURES,
    )
    cv: int | None = None
    cv_groups: str | None = None
    pairs: int = option(
        "Pairs of half-samples, for how sure each feature is; 0: none.", metavar="N", default=PAIRS
    )
    time_limit: float = option(
        "Seconds to look for a better list of each size, and for lists nearly as good; 0: neither.",
        metavar="SECONDS",
        default=SECONDS,
        rich_help_panel=SEARCH,
    )
    threads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions(OutputOptions):
    """What `zeronorm convert` is asked for."""

    data: str = argument(
        "svmlight, .npy, .npz, CSV, TSV, JSON lines, .xlsx or Parquet; -: standard input; "
        "single cells (.h5ad, 10x .h5); "
        "genotypes (.pgen, .bgen), several files by a pattern in quotes, as "
        "'chr*.pgen'; or a directory: of Parquet files, of Zarr.",
        metavar="DATA",
    )
    store: Path = argument("The store, a directory; by custom NAME.zarr.", metavar="STORE")
    target: str | None = None
    id: str | None = None
    samples: list[str] | None = option(
        "A table of the samples, joined by their names; --target and --keep name its columns; may "
        "be repeated.",
        metavar="FILE",
        rich_help_panel=TARGET,
    )
    transpose: bool = False
    keep: str | None = option(
        "Columns that are no features and stay with the samples, as times to an event.",
        metavar="NAME[,NAME2,...]",
        rich_help_panel=TARGET,
    )
    drop: list[str] | None = None
    encoding: str | None = None
    decimal: str | None = None
    layer: str | None = option(
        "The matrix of HDF5; the layer, raw, or the genome of cells; default: X.",
        "--layer",
        "--dataset",
        metavar="NAME",
        rich_help_panel=FEATURES,
    )
    missing: str | None = None
    na: str | None = None
    dates: str | None = None
    dtype: str | None = option(
        "The type of the numbers, as float32; default: the one that they have.", metavar="TYPE"
    )
    memory: float = option(
        "Megabytes that columns on the way may take, about.", metavar="MB", default=1024
    )
    overwrite: bool = option("Replace a store that is there.", "--overwrite", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoOptions:
    """What `zeronorm info` is asked for."""

    model: str | None = argument(
        "A file that select wrote; or DATA, what its columns hold and selecting from it will need.",
        metavar="[MODEL|DATA]",
        default=None,
    )
    features: str = option(
        "For how many features DATA are looked at.", "--features", "-k", metavar="K", default="10"
    )
    method: str = option(
        "By which method DATA are to be selected from.",
        metavar="METHOD",
        default="auto",
        rich_help_panel=SEARCH,
    )
    check: bool = option(
        "Compare all blocks of a store with their checksums; exit code 1 where one is damaged.",
        "--check",
        default=False,
    )
    layer: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    format: str | None = option(
        "Export MODEL for other programs: json or sql.",
        "--format",
        metavar="NAME",
    )
    output: Path | None = option(
        "The file of --format. Default: standard output.",
        "--output",
        "-o",
        metavar="FILE",
        rich_help_panel=FILES,
    )
    table: str | None = option("The table that --format sql reads. Default: data.", metavar="NAME")
    key: str | None = option(
        "A column that --format sql keeps beside the predictions.", metavar="COLUMN"
    )
    as_json: bool = False
    debug: bool = False
