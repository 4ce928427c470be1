"""What the commands can be asked for: a record of options for each of them.

A command is a function of its record, whose docstring is its help. An option is declared once: at
its field, in the record `ReadingOptions` of all commands that read data, or as an annotated type
that records share.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

import typer

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
READING = "Reading DATA"
FEATURES = "The features"
PROBLEM = "The problem"
SEARCH = "The search"
SCORE = "The model and its score"
FILES = "Files"


def option(help: str, *names: str, metavar: str | None = None, panel: str | None = None) -> Any:
    """Return an option; without names that of its field."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel)


def argument(help: str, *, metavar: str) -> Any:
    """Return an argument."""
    return typer.Argument(help=help, metavar=metavar)


_Options = TypeVar("_Options")


def options_of(record: type[Any]) -> dict[str, Any]:
    """Return the annotated types of the options that a command has, by their names."""
    types = get_type_hints(record, include_extras=True)
    without: frozenset[str] = record.without
    return {one.name: types[one.name] for one in fields(record) if one.name not in without}


def takes(
    record: type[_Options],
) -> Callable[[Callable[[_Options], None]], Callable[..., None]]:
    """Return a decorator: a function of a record becomes one of the options of the record.

    Options of a command alone come first, then those of all that read data, and of the output.
    """
    annotations = options_of(record)
    output, reading = (
        [one.name for one in fields(kind)] for kind in (OutputOptions, ReadingOptions)
    )
    parameters = [
        one.replace(annotation=annotations[one.name])
        for one in inspect.signature(record).parameters.values()
        if one.name in annotations
    ]
    parameters.sort(key=lambda one: (one.name in reading, one.name in output))

    def decorate(command: Callable[[_Options], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def called(**values: Any) -> None:
            command(record(**values))

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = annotations
        return called

    return decorate


# Arguments and options of several records.

Data = Annotated[str, argument(
    "demo (built in), or a file: svmlight, .npz, .npy, CSV, TSV, JSON lines, .xlsx, "
    "Parquet (parts as 'part-*.parquet'); also .gz .bz2 .xz .zip; single cells (.h5ad, 10x "
    ".h5); genotypes (.bed, 'chr*.bed'); a store of zeronorm convert; -: standard input.",
    metavar="DATA",
)]  # fmt: skip
Sizes = option(
    "How many, exactly (with --groups, at most): 5; or 1:20 or 5,10; all: whole groups.",
    "--features", "-k", metavar="K[,K2,...]",
)  # fmt: skip
Task = Annotated[str, option(
    "The target: classes, ordered, numbers, counts or survival; auto: as it looks, or as MODEL "
    "has it.", metavar="TASK", panel=PROBLEM,
)]  # fmt: skip
Loss = Annotated[str | None, option(
    "The loss. Numbers: least_squares (default), huber, quantile or quantile:0.9, or, of "
    "positive ones, gamma; counts: poisson.", metavar="LOSS", panel=PROBLEM,
)]  # fmt: skip
Ties = Annotated[str | None, option(
    "Survival: breslow (default) or efron.", metavar="NAME", panel=PROBLEM
)]  # fmt: skip
Covariates = Annotated[str | None, option(
    "Columns to adjust for: in every model, not counted, not penalised: a,b.",
    metavar="NAMES", panel=FEATURES,
)]  # fmt: skip
GroupFile = Annotated[Path | None, option(
    "Feature (name, or number as DATA counts) and its group in every line; or gene sets that "
    "do not overlap (.gmt).", metavar="FILE", panel=FEATURES,
)]  # fmt: skip
Cv = Annotated[int | None, option("Folds, to score; default: 5.", metavar="FOLDS", panel=SCORE)]
CvGroups = Annotated[str | None, option(
    "Whose samples stay together.", metavar="COLUMN", panel=SCORE
)]  # fmt: skip
C = option(
    "Weight of the loss. Default: that of MODEL; by folds; of classes 0.1, with --groups 1, with "
    "--measure auc or ap 100.", "--C", "-C", metavar="C", panel=PROBLEM,
)  # fmt: skip
Standardize = Annotated[bool, option(
    "Select as if columns were standardised; coefficients are for DATA as it is.", panel=PROBLEM
)]  # fmt: skip
Intercept = Annotated[bool, option("Fit an intercept.", panel=PROBLEM)]
ClassWeight = Annotated[str | None, option(
    "Give classes equal weight.", metavar="balanced", panel=PROBLEM
)]  # fmt: skip
Gap = option(
    "How much better others may be at the end of the proof, as a share of the objective; 0: "
    "not at all. Default: 0.01.", metavar="GAP", panel=SEARCH,
)  # fmt: skip
TimeLimit = option(
    "Seconds for the proof of each size; classes share them. Default: 60.",
    metavar="SECONDS", panel=SEARCH,
)  # fmt: skip
Certificate = Annotated[Path | None, option(
    "The certificate, for zeronorm verify. Default: with select --prove, beside the model.",
    metavar="FILE", panel=FILES,
)]  # fmt: skip
FeaturesOut = Annotated[Path | None, option(
    "The features (.csv, .parquet).", metavar="FILE", panel=FILES
)]  # fmt: skip
Model = Annotated[str, argument("A file that select wrote.", metavar="MODEL")]
Threshold = Annotated[float | None, option(
    "Predict the positive class of two from this probability on. Default: as MODEL has it.",
    metavar="NUMBER",
)]  # fmt: skip
Threads = Annotated[int | None, option("Threads of a scan. Default: all.", metavar="N")]
AsJson = Annotated[bool, option("Print one JSON document.", "--json")]
Debug = Annotated[bool, option("Show the traceback of an error.", "--debug")]


def output(help: str, metavar: str = "FILE") -> Any:
    """Return the option of what a command writes."""
    return option(help, "--output", "-o", metavar=metavar, panel=FILES)


def column(help: str, metavar: str = "COLUMN") -> Any:
    """Return an option of how data are read."""
    return option(help, metavar=metavar, panel=READING)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """How a command shows what it finds out.

    without : of the options of a record those that the command has not.
    """

    without: ClassVar[frozenset[str]] = frozenset()

    as_json: AsJson = False
    quiet: Annotated[bool, option("Results only.", "--quiet", "-q")] = False
    debug: Debug = False


_SURVIVAL = frozenset({"time", "time_from", "event", "start", "strata"})
_OTHERS = frozenset({"order", "offset", "exposure"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions(OutputOptions):
    """How DATA are read: which rows and columns, what they are, and how cells are written."""

    target: Annotated[str | None, option(
        "What to predict: a column (name or index), an array, or a file of its own. Several "
        "responses: columns of numbers with commas between them, or such an array.",
        "--target", "--obs", metavar="NAME", panel=READING,
    )] = None  # fmt: skip
    id: Annotated[str | None, option(
        "The column that names the samples.", "--id", metavar="NAME", panel=READING
    )] = None  # fmt: skip
    samples: Annotated[list[str] | None, column(
        "A table of the samples, joined by their names (of genotypes IID, or FID and IID); "
        "--target, --covariates and others name its columns; may be repeated.", "FILE"
    )] = None  # fmt: skip
    by_position: Annotated[bool, option(
        "A file of labels is in the samples' order.", "--by-position", panel=READING
    )] = False  # fmt: skip
    transpose: Annotated[bool, option(
        "DATA have samples in columns.", "--transpose", panel=READING
    )] = False  # fmt: skip
    drop: Annotated[list[str] | None, column("Columns to leave out: age, g_*, a:f.", "NAME")] = None
    only: Annotated[list[str] | None, column("Columns to take alone: g_*, a:f.", "NAME")] = None
    keep: Annotated[list[str] | None, column("Keep a column that numbers the rows.", "NAME")] = None
    where: Annotated[str | None, column(
        "Keep rows by columns: \"batch == 'B1' and age >= 18\"; columns of text there are no "
        "features.", "TEXT"
    )] = None  # fmt: skip
    encoding: Annotated[str | None, column(
        "Encoding other than UTF-8: latin-1, utf-16.", "NAME"
    )] = None  # fmt: skip
    decimal: Annotated[str | None, column(
        "Decimal mark of CSV: ',' or '.'.", "MARK"
    )] = None  # fmt: skip
    missing: Annotated[str | None, column(
        "Fill empty cells by the training rows: mean or most_frequent; indicator: by the mean, "
        "and say where.", "WAY"
    )] = None  # fmt: skip
    na: Annotated[str | None, option(
        "Read as missing: -9,unknown.", "--na", metavar="VALUES", panel=READING
    )] = None  # fmt: skip
    dates: Annotated[str | None, column(
        "How 03/04/2020 is read: day-first, month-first, iso.", "ORDER"
    )] = None  # fmt: skip
    layer: Annotated[str | None, option(
        "The matrix of HDF5; the layer, raw, or the genome of cells; the sheet of .xlsx.",
        "--layer", "--dataset", metavar="NAME", panel=READING,
    )] = None  # fmt: skip
    feature_names: Annotated[Path | None, column(
        "Names of features without any, of svmlight, .npy, .npz: a line each.", "FILE"
    )] = None  # fmt: skip
    time: Annotated[str | None, column(
        "Survival: time to the event, or to the end of observation."
    )] = None  # fmt: skip
    time_from: Annotated[str | None, column(
        "Survival: date from which --time runs."
    )] = None  # fmt: skip
    event: Annotated[str | None, column(
        "Survival: 1 where the event was observed, 0 where censored; or COLUMN=VALUE."
    )] = None  # fmt: skip
    start: Annotated[str | None, column("Survival: when observation of a row begins.")] = None
    strata: Annotated[str | None, column("Survival: rows are compared within a stratum.")] = None
    order: Annotated[str | None, column(
        "The classes of an ordered target of text, lowest first.", "LABELS"
    )] = None  # fmt: skip
    offset: Annotated[str | None, column(
        "Known part of the margin (numbers, counts)."
    )] = None  # fmt: skip
    exposure: Annotated[str | None, column(
        "The time, area or people that counts are of. Its logarithm is the offset."
    )] = None  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectOptions(ReadingOptions):
    """Select exactly K features, fit the model, measure it, certify it and write it.

    Example: zeronorm select demo -k 5
    """

    data: Data
    features: Annotated[str, Sizes] = "auto"
    task: Task = "auto"
    ties: Ties = None
    loss: Loss = None
    groups: Annotated[str | None, option(
        "How many groups, at most: G, or auto; of whole groups G, or 1:5.",
        metavar="G", panel=FEATURES,
    )] = None  # fmt: skip
    group_file: GroupFile = None
    output: Annotated[Path | None, output("The model. Default: DATA-kK.model.npz, here.")] = None
    save: Annotated[bool, option("Write the model.", "--save/--no-save", panel=FILES)] = True
    certificate: Certificate = None
    features_out: FeaturesOut = None
    report: Annotated[Path | None, option(
        "A page to forward (.html).", metavar="FILE", panel=FILES
    )] = None  # fmt: skip
    cv: Cv = None
    cv_groups: CvGroups = None
    no_cv: Annotated[bool, option("No cross-validation.", "--no-cv", panel=SCORE)] = False
    permutations: Annotated[int | None, option(
        "Number of label permutations, for a p-value.", metavar="N", panel=SCORE
    )] = None  # fmt: skip
    stability: Annotated[int | None, option(
        "Pairs of half-samples, for how stable the features are.", metavar="PAIRS", panel=SCORE
    )] = None  # fmt: skip
    method: Annotated[str | None, option(
        f"What finds the features: {', '.join(METHOD_NAMES)}. Default: auto; with --prove, l0; "
        "with --groups bilevel alone, but for whole groups.", metavar="METHOD", panel=SEARCH,
    )] = None  # fmt: skip
    prove: Annotated[bool, option(
        "Search until no other features of this number can be much better.", "--prove",
        panel=SEARCH,
    )] = False  # fmt: skip
    gap: Annotated[float | None, Gap] = None
    time_limit: Annotated[float | None, TimeLimit] = None
    rule: Annotated[str | None, option(
        "Takes one of several sizes: 1se (default), the smallest within a standard error of the "
        "best by --cv, or best; aic, bic, ebic, gic (K stands for 1:K); all: a model of each.",
        metavar="RULE", panel=SCORE,
    )] = None  # fmt: skip
    C: Annotated[float | None, C] = None
    refit_c: Annotated[str, option(
        "C of the final fit; loo: by leave-one-out.", "--refit-c", metavar="C", panel=SCORE
    )] = "loo"  # fmt: skip
    calibrate: Annotated[bool | None, typer.Option(
        "--calibrate/--no-calibrate", show_default=False, rich_help_panel=SCORE,
        help="Scale models by folds. Default: of classes below 1000 samples, of others without "
        "--C.",
    )] = None  # fmt: skip
    standardize: Standardize = True
    intercept: Intercept = True
    force: Annotated[list[str] | None, option(
        "A feature that must be in; may be repeated.", metavar="NAME", panel=FEATURES
    )] = None  # fmt: skip
    covariates: Covariates = None
    signs: Annotated[list[str] | None, option(
        "A feature whose coefficient is 0 or more (age=+), or 0 or less (price=-); all=+ for all; "
        "may be repeated.", metavar="NAME=SIGN", panel=FEATURES,
    )] = None  # fmt: skip
    measure: Annotated[str | None, option(
        "Train for f1 (f2, ...), precision@K, recall@K (K rows, or 2p: twice the positives), "
        "prbep, auc, ap or hamming.", metavar="NAME", panel=PROBLEM,
    )] = None  # fmt: skip
    positive: Annotated[str | None, option(
        "With --measure: the positive of two classes. Default: second.", metavar="LABEL",
        panel=PROBLEM,
    )] = None  # fmt: skip
    checkpoint: Annotated[Path | None, option(
        "Kept until the end: after a kill the same command goes on from it.", metavar="FILE",
        panel=FILES,
    )] = None  # fmt: skip
    shared: Annotated[bool | None, typer.Option(
        "--shared/--per-class", show_default=False, rich_help_panel=FEATURES,
        help="Three or more classes: K features in all, or K for each class against the others. "
        "Default: --shared where the method can; with --measure, --per-class.",
    )] = None  # fmt: skip
    class_weight: ClassWeight = None
    threads: Threads = None
    scheduler: Annotated[str | None, option(
        "Scan on workers of Dask (tcp://HOST:8786), which open DATA (.npy, .bed) at its path.",
        metavar="ADDRESS",
    )] = None  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CvOptions(SelectOptions):
    """Say how well each number of features does on rows held out of their selection.

    Example: zeronorm cv demo -k 1:20
    """

    without = frozenset({
        "output", "save", "certificate", "features_out", "report", "no_cv", "prove", "gap",
        "time_limit", "stability",
    })  # fmt: skip
    save: Annotated[bool, None] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemOptions(ReadingOptions):
    """A list of features, and the problem that it is an answer to."""

    features: Annotated[str, argument(
        "The list: a model that select wrote; a file, a name on each line, or CSV with a column "
        "feature or name; or names with commas between them.", metavar="FEATURES",
    )]  # fmt: skip
    data: Data
    group_file: Annotated[Path | None, option(
        "Feature and its group in every line, or gene sets (.gmt): FEATURES are whole groups then, "
        "a model of them or their names.", metavar="FILE", panel=FEATURES,
    )] = None  # fmt: skip
    task: Task = "auto"
    ties: Ties = None
    covariates: Covariates = None
    loss: Loss = None
    C: Annotated[float | None, C] = None
    max_abs_coef: Annotated[float | None, option(
        "Only models whose coefficients per SD are at most so large: a tighter bound at a large C.",
        metavar="SIZE",
    )] = None  # fmt: skip
    standardize: Standardize = True
    intercept: Intercept = True
    class_weight: ClassWeight = None
    threads: Threads = None
    certificate: Certificate = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifyOptions(ProblemOptions):
    """Say how far a list of features, from anywhere, can be from the best of its length.

    Example: zeronorm certify gene_1806,gene_1814 demo
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ProveOptions(ProblemOptions):
    """Search for a better list of features of this length, or prove that there is none.

    Example: zeronorm prove gene_1806,gene_1814 demo --gap 0
    """

    gap: Annotated[float, Gap] = 0.01
    time_limit: Annotated[float, TimeLimit] = 60.0
    within: Annotated[float | None, option(
        "List all lists of this length that are worse than the best by at most this share; 0.01 "
        "stands for 1%. It takes --time-limit once more.", metavar="SHARE",
    )] = None  # fmt: skip
    cost: Annotated[Path | None, option(
        "A file with a feature and its cost in every line; --within tells the cheapest list.",
        metavar="FILE",
    )] = None  # fmt: skip
    limit: Annotated[int | None, option(
        "How many lists of --within are kept, the best ones. Default: 1000.", metavar="N"
    )] = None  # fmt: skip
    output: Annotated[Path | None, output(
        "The lists of --within, a row each (.csv, .parquet)."
    )] = None  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions(ReadingOptions):
    """Check a certificate with the data, in plain NumPy.

    The exit code is 1 where it claims too much, and 3 where rounding leaves that open.

    Example: zeronorm verify demo-k4.certificate.npz demo
    """

    without = frozenset({"keep", "missing", "order"})

    certificate: Annotated[str, argument("A file that select wrote.", metavar="CERTIFICATE")]
    data: Data
    rtol: Annotated[float, option(
        "By how much, as a share, figures may differ from the recomputed ones.", metavar="R"
    )] = 1e-10  # fmt: skip  # as of `zeronorm.verify`


@dataclass(frozen=True, slots=True, kw_only=True)
class PathOptions(ReadingOptions):
    """Follow the l1 regularisation path: which features enter as C grows, and which C to choose.

    Example: zeronorm path demo --cv 5 -o path.csv
    """

    without = frozenset({"order"})

    data: Data
    points: Annotated[int, option(
        "Values of C, growing, in geometric progression.", metavar="N"
    )] = 100  # fmt: skip
    ratio: Annotated[float | None, option(
        "Ratio of the last C to the first. Default: 100 where samples are fewer than features, "
        "else 10000.", metavar="R",
    )] = None  # fmt: skip
    max_features: Annotated[int | None, option(
        "End with the first solution of more features.", metavar="K"
    )] = None  # fmt: skip
    l1_ratio: Annotated[float, option(
        "Share of l1 in the penalty; the rest is ridge.", metavar="R"
    )] = 1.0  # fmt: skip
    loss: Annotated[str | None, option(
        f"The loss. Classes: logistic or squared_hinge; others: {', '.join(LOSSES)}, cox. "
        "Default: logistic; with --time and --event cox.", metavar="LOSS", panel=PROBLEM,
    )] = None  # fmt: skip
    ties: Ties = None
    standardize: Standardize = True
    intercept: Intercept = True
    class_weight: ClassWeight = None
    tol: Annotated[float, option("Certified gap to stop at, for every C.", metavar="GAP")] = 1e-4
    cv: Annotated[int | None, option(
        "Number of folds to choose C by cross-validation. Default: none.", metavar="FOLDS",
        panel=SCORE,
    )] = None  # fmt: skip
    cv_groups: CvGroups = None
    scoring: Annotated[str | None, option(
        "Score of the cross-validation. Classes: log_loss, accuracy or auc; survival: deviance or "
        "c_index. Default: log_loss, deviance; accuracy for squared_hinge.", metavar="SCORE",
        panel=SCORE,
    )] = None  # fmt: skip
    threads: Threads = None
    output: Annotated[Path | None, output("Write every point (CSV).", "FILE.csv")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoverOptions(ReadingOptions):
    """Find the features that have an effect, with a bound on the share of false ones.

    Example: zeronorm discover demo --fdr 0.2
    """

    without = _SURVIVAL | _OTHERS

    data: Data
    fdr: Annotated[float, option(
        "The false discovery rate: the share of the features found that is false, in the mean over "
        "data like these.", metavar="RATE",
    )] = 0.1  # fmt: skip
    task: Annotated[str, option(
        "The target: classes (two) or numbers; auto: as it looks.", metavar="TASK", panel=PROBLEM
    )] = "auto"  # fmt: skip
    covariates: Annotated[str | None, option(
        "Columns that features are compared beside, never found: ancestry components, age: a,b.",
        metavar="NAMES", panel=FEATURES,
    )] = None  # fmt: skip
    blocks: Annotated[str | None, option(
        "Samples that belong together have one value of this column; of genotypes FID: families.",
        metavar="COLUMN", panel=PROBLEM,
    )] = None  # fmt: skip
    experiments: Annotated[int, option(
        "Random experiments, in which features vote; a low RATE needs more than 1 / RATE of them.",
        metavar="N",
    )] = 20  # fmt: skip
    features_out: FeaturesOut = None
    threads: Threads = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOptions(ReadingOptions):
    """A model, and the rows that it is for."""

    without = frozenset({"drop", "only", "keep", "missing", "order"})

    model: Model
    data: Data


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions(RowsOptions):
    """Predict with a model; with its target in DATA, say how well.

    Example: zeronorm predict visits-k5.model.npz new.csv -o predictions.csv
    """

    output: Annotated[Path | None, output(
        "Write every prediction: .csv, .parquet or .jsonl; -: to stdout, as CSV, or JSON lines "
        "where DATA are."
    )] = None  # fmt: skip
    proba: Annotated[bool, option("Probabilities as well.", "--proba")] = False
    threshold: Threshold = None
    interval: Annotated[float | None, option(
        "Intervals around predicted numbers that hold about this share of new rows, as 0.9; by "
        "the errors of rows out of fold.", metavar="SHARE",
    )] = None  # fmt: skip
    times: Annotated[str | None, option(
        "Survival: the probability of no event up to these times as well.", metavar="T[,T2,...]"
    )] = None  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions(RowsOptions):
    """Say how good a model is on rows whose target is known, and how sure that is.

    Example: zeronorm evaluate visits-k5.model.npz new.csv
    """

    threshold: Threshold = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(RowsOptions):
    """Show what is known of a model, or write it as a page: with DATA how sure each feature is.

    Example: zeronorm report demo-k5.model.npz demo -o demo.html
    """

    without = frozenset({"missing", "order"})

    data: Annotated[str, argument(
        "The samples that MODEL was selected from, as select reads them; without them the report "
        "is what MODEL keeps.", metavar="[DATA]",
    )] = ""  # fmt: skip
    output: Annotated[Path | None, output(
        "The page; without it, and without DATA, the report is text.", "FILE.html"
    )] = None  # fmt: skip
    group_file: GroupFile = None
    cv: Cv = None
    cv_groups: CvGroups = None
    pairs: Annotated[int, option(
        "Pairs of half-samples, where MODEL keeps no stability; 0: none.", metavar="N"
    )] = PAIRS  # fmt: skip
    time_limit: Annotated[float, option(
        "Seconds to look for a better list of each size, and for lists nearly as good; 0: neither.",
        metavar="SECONDS", panel=SEARCH,
    )] = SECONDS  # fmt: skip
    threads: Threads = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions(ReadingOptions):
    """Write data as a store: blocks of columns on disk, which may be larger than memory.

    Example: zeronorm convert visits.csv visits.zarr --target relapse
    """

    without = _SURVIVAL | _OTHERS | {"by_position", "where", "only"}

    data: Annotated[str, argument(
        "svmlight, .npy, .npz, CSV, TSV, JSON lines, .xlsx or Parquet; -: standard input; single "
        "cells (.h5ad, 10x .h5); genotypes (.pgen, .bgen), several files by a pattern in quotes, "
        "as 'chr*.pgen'; or a directory: of Parquet files, of Zarr.", metavar="DATA",
    )]  # fmt: skip
    store: Annotated[
        Path, argument("The store, a directory; by custom NAME.zarr.", metavar="STORE")
    ]
    keep: Annotated[list[str] | None, column(
        "A column that is no feature and stays with the samples, as times to an event; may be "
        "repeated.", "NAME"
    )] = None  # fmt: skip
    dtype: Annotated[str | None, option(
        "The type of the numbers, as float32; default: the one that they have.", metavar="TYPE"
    )] = None  # fmt: skip
    memory: Annotated[float, option(
        "Megabytes that columns on the way may take, about.", metavar="MB"
    )] = 1024  # fmt: skip
    overwrite: Annotated[bool, option("Replace a store that is there.", "--overwrite")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoOptions(ReadingOptions):
    """Show what a model file or data hold, or versions here; export a model.

    Example: zeronorm info visits.csv -k 100
    """

    without = frozenset(
        one.name
        for one in fields(ReadingOptions)
        if one.name not in ("layer", "feature_names", "encoding", "decimal", "as_json", "debug")
    )

    model: Annotated[str | None, argument(
        "A file that select wrote; or DATA, what its columns hold and selecting from it will need.",
        metavar="[MODEL|DATA]",
    )] = None  # fmt: skip
    features: Annotated[str, option(
        "For how many features DATA are looked at.", "--features", "-k", metavar="K"
    )] = "10"  # fmt: skip
    method: Annotated[str, option(
        "By which method DATA are to be selected from.", metavar="METHOD", panel=SEARCH
    )] = "auto"  # fmt: skip
    check: Annotated[bool, option(
        "Compare all blocks of a store with their checksums; exit code 1 where one is damaged.",
        "--check",
    )] = False  # fmt: skip
    format: Annotated[str | None, option(
        "Export MODEL for other programs: json or sql.", metavar="NAME"
    )] = None  # fmt: skip
    output: Annotated[Path | None, output(
        "The file of --format. Default: standard output."
    )] = None  # fmt: skip
    table: Annotated[str | None, option(
        "The table that --format sql reads. Default: data.", metavar="NAME"
    )] = None  # fmt: skip
    key: Annotated[str | None, option(
        "A column that --format sql keeps beside the predictions.", metavar="COLUMN"
    )] = None  # fmt: skip
