"""What the commands can be asked for: a record of options for each of them.

A command is a function of its record. What is said of an option stands at its field, or in
`SHARED_OPTIONS` where several commands have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..methods import METHODS
from .rows_options import ColumnsOptions
from .shared_options import FEATURES, FILES, PROBLEM, SCORE, SEARCH, TARGET
from .takes import argument, option

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectOptions:
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
    missing: str | None = None
    layer: str | None = None
    task: str = option(
        "The target: classes, ordered, numbers, counts or survival; auto: as it looks.",
        metavar="TASK",
        default="auto",
        rich_help_panel=TARGET,
    )
    order: str | None = option(
        "Of ordered text: its classes, lowest first.", metavar="LABELS", rich_help_panel=TARGET
    )
    time: str | None = None
    event: str | None = None
    start: str | None = None
    strata: str | None = None
    ties: str | None = None
    offset: str | None = None
    exposure: str | None = None
    loss: str | None = option(
        "Of numbers least_squares, huber, quantile or, of positive ones, gamma; of counts "
        "poisson. Default: least_squares, poisson.",
        metavar="LOSS",
        rich_help_panel=PROBLEM,
    )
    level: float | None = option(
        "Of --loss quantile: which quantile. Default: 0.5.", metavar="Q", rich_help_panel=PROBLEM
    )
    groups: str | None = option(
        "How many groups: at most G, or auto; of whole ones G, or 1:5.",
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
    cv: int | None = option("Folds, to score; default: 5.", metavar="FOLDS", rich_help_panel=SCORE)
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
        "Of the proof: by how much, as a share of the objective, others may be better; 0: "
        "not at all. Default: 0.01.",
        metavar="GAP",
        rich_help_panel=SEARCH,
    )
    time_limit: float | None = option(
        "Of the proof of each size; classes share it. Default: 60.",
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
        "Of the final fit; loo: by leave-one-out.",
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
    covariates: str | None = option(
        "Columns in every model, uncounted and unpenalised: a,b.",
        metavar="NAMES",
        rich_help_panel=FEATURES,
    )
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
        "Of three or more classes: K features in all, or K for each class against the "
        "others. Default: --shared where the method can; with --measure, --per-class.",
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
    as_json: bool = False
    quiet: bool = False
    debug: bool = False


FOLDS = 5  # unless the user says another number


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
    as_json: bool = False
    quiet: bool = False
    debug: bool = False


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
        "Of the last C to the first. Default: 100 with fewer samples than features, else 10000.",
        metavar="R",
    )
    max_features: int | None = option("End with the first solution of more features.", metavar="K")
    l1_ratio: float = option(
        "Share of l1 in the penalty; the rest is ridge.", metavar="R", default=1.0
    )
    loss: str | None = option(
        f"Of classes logistic or squared_hinge; of others {', '.join(LOSSES)}, cox. "
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
        "Of the cross-validation: of classes log_loss, accuracy or auc, of survival "
        "deviance or c_index. Default: log_loss, deviance; accuracy for squared_hinge.",
        metavar="SCORE",
        rich_help_panel=SCORE,
    )
    threads: int | None = None
    output: Path | None = option(
        "Write every point (CSV).", "--output", "-o", metavar="FILE.csv", rich_help_panel=FILES
    )
    as_json: bool = False
    quiet: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoverOptions:
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
    missing: str | None = None
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
    as_json: bool = False
    quiet: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
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
    layer: str | None = option(
        "Of HDF5: which matrix; of cells the layer, raw, or the genome; default: X.",
        "--layer",
        "--dataset",
        metavar="NAME",
        rich_help_panel=FEATURES,
    )
    missing: str | None = None
    dtype: str | None = option(
        "The type of the numbers, as float32; default: the one that they have.", metavar="TYPE"
    )
    memory: float = option(
        "Megabytes that columns on the way may take, about.", metavar="MB", default=1024
    )
    overwrite: bool = option("Replace a store that is there.", "--overwrite", default=False)
    as_json: bool = False
    quiet: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoOptions:
    """What `zeronorm info` is asked for."""

    model: str | None = argument(
        "A file that select wrote; or DATA, what its columns hold and selecting from it will need.",
        metavar="[MODEL|DATA]",
        default=None,
    )
    features: str = option(
        "Of DATA: for how many features.", "--features", "-k", metavar="K", default="10"
    )
    method: str = option(
        "Of DATA: by which method.", metavar="METHOD", default="auto", rich_help_panel=SEARCH
    )
    check: bool = option(
        "Of a store: compare all of its blocks with their checksums; 1 where one is damaged.",
        "--check",
        default=False,
    )
    layer: str | None = None
    encoding: str | None = None
    format: str | None = option(
        "Export MODEL for other programs: json or sql.",
        "--format",
        metavar="NAME",
    )
    output: Path | None = option(
        "Of --format: the file. Default: standard output.",
        "--output",
        "-o",
        metavar="FILE",
        rich_help_panel=FILES,
    )
    table: str | None = option(
        "Of --format sql: the table that it reads. Default: data.", metavar="NAME"
    )
    key: str | None = option(
        "Of --format sql: a column to keep beside the predictions.", metavar="COLUMN"
    )
    as_json: bool = False
    debug: bool = False
