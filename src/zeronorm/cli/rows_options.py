"""What the commands that take a model and rows can be asked for."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path

from .shared_options import FEATURES, FILES, SCORE, SEARCH
from .takes import argument, option

PAIRS, SECONDS = 50, 1.0  # of a report, unless the user says others


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsOptions:
    """What the columns of rows are that models are for."""

    target: str | None = None
    id: str | None = None
    samples: list[str] | None = None
    by_position: bool = False
    transpose: bool = False
    where: str | None = None
    encoding: str | None = None
    layer: str | None = None
    time: str | None = None
    event: str | None = None
    start: str | None = None
    strata: str | None = None
    offset: str | None = None
    exposure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOptions(ColumnsOptions):
    """A model, and the rows that it is for."""

    model: str = argument("A file that select wrote.", metavar="MODEL")
    data: str


_THRESHOLD = option(
    "Of two classes: predict the positive one from this probability on. Default: as MODEL has it.",
    metavar="NUMBER",
)


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
    threshold: float | None = _THRESHOLD
    interval: float | None = option(
        "Of numbers: an interval around each, that has about this share of new rows, as 0.9; by "
        "the errors of rows out of fold.",
        metavar="SHARE",
    )
    times: str | None = option(
        "Of survival: the probability of no event up to these times as well.", metavar="T[,T2,...]"
    )
    as_json: bool = False
    quiet: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions(RowsOptions):
    """What `zeronorm evaluate` is asked for."""

    threshold: float | None = _THRESHOLD
    as_json: bool = False
    quiet: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(RowsOptions):
    """What `zeronorm report` is asked for."""

    data: str = argument("The samples that MODEL was selected from, as select reads them.",
                         metavar="DATA")  # fmt: skip
    drop: list[str] | None = None
    keep: list[str] | None = None
    output: Path = option(
        "The page.", "--output", "-o", metavar="FILE.html", default=MISSING, rich_help_panel=FILES
    )
    features: str | None = option(
        "Other numbers of features beside that of MODEL: 1:20, or 5,10. Default: those that were "
        "compared when it was selected.",
        "--features",
        "-k",
        metavar="K[,K2,...]",
    )
    group_file: Path | None = option(
        "Of whole groups: the file that select took, as the model has not the groups of all "
        "features.",
        metavar="FILE",
        rich_help_panel=FEATURES,
    )
    cv: int | None = option("Folds, to score; default: 5.", metavar="FOLDS", rich_help_panel=SCORE)
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
    as_json: bool = False
    quiet: bool = False
    debug: bool = False
