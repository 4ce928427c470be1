"""What `zeronorm certify` and `zeronorm prove` can be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .rows_options import ColumnsOptions
from .shared_options import FEATURES, FILES, PROBLEM, SEARCH, TARGET
from .takes import argument, option


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
    order: str | None = option(
        "Of ordered text: its classes, lowest first.", metavar="LABELS", rich_help_panel=TARGET
    )
    ties: str | None = None
    covariates: str | None = option(
        "Columns in every model, uncounted and unpenalised: a,b.",
        metavar="NAMES",
        rich_help_panel=FEATURES,
    )
    loss: str | None = option(
        "Of numbers least_squares, huber, quantile or gamma; of counts poisson.",
        metavar="LOSS",
        rich_help_panel=PROBLEM,
    )
    level: float | None = option(
        "Of --loss quantile: which quantile.", metavar="Q", rich_help_panel=PROBLEM
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
    as_json: bool = False
    quiet: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProveOptions(ProblemOptions):
    """What `zeronorm prove` is asked for."""

    gap: float = option(
        "By how much, as a share of the objective, others may be better at the end; 0: not at all.",
        metavar="GAP",
        default=0.01,
        rich_help_panel=SEARCH,
    )
    time_limit: float = option("Seconds.", metavar="SECONDS", default=60.0, rich_help_panel=SEARCH)
    within: float | None = option(
        "List all lists of this length that are worse than the best by at most this share; 0.01 "
        "stands for 1%. It takes --time-limit once more.",
        metavar="SHARE",
    )
    cost: Path | None = option(
        "Of --within: feature and its cost in every line; the cheapest list is told.",
        metavar="FILE",
    )
    limit: int | None = option(
        "Of --within: so many lists are kept, the best ones. Default: 1000.", metavar="N"
    )
    output: Path | None = option(
        "Of --within: the lists, a row each (.csv, .parquet).",
        "--output",
        "-o",
        metavar="FILE",
        rich_help_panel=FILES,
    )
    certificate: Path | None = option(
        "Write the proof, for zeronorm verify.", metavar="FILE.npz", rich_help_panel=FILES
    )
    as_json: bool = False
    quiet: bool = False
    debug: bool = False
