"""Help of options that several commands share, by the names of their fields, and the panels."""

from __future__ import annotations

import typer
from typer.models import ArgumentInfo, OptionInfo

# The panels of --help; options of none stand first.
TARGET = "The target"
FEATURES = "The features"
PROBLEM = "The problem"
SEARCH = "The search"
SCORE = "The model and its score"
FILES = "Files"

SHARED_OPTIONS: dict[str, ArgumentInfo | OptionInfo] = {
    "data": typer.Argument(
        metavar="DATA",
        help="golub (built in), or a file: svmlight, .npz, .npy, CSV, TSV, JSON lines, .xlsx, "
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
        metavar="NAME", help="A column to leave out; may be repeated.", rich_help_panel=TARGET
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
        metavar="NAME", help="Of text but UTF-8: latin-1, cp1252, utf-16.", rich_help_panel=TARGET
    ),
    "missing": typer.Option(
        metavar="WAY",
        help="Fill empty cells by the training rows: mean or most_frequent; indicator: by the "
        "mean, and say where.",
        rich_help_panel=FEATURES,
    ),
    "layer": typer.Option(
        "--layer",
        "--dataset",
        metavar="NAME",
        help="Of HDF5: which matrix; of cells the layer, raw, or the genome; of .xlsx the sheet.",
        rich_help_panel=FEATURES,
    ),
    "time": typer.Option(
        metavar="COLUMN",
        help="Of survival: time to the event, or to the end.",
        rich_help_panel=TARGET,
    ),
    "event": typer.Option(
        metavar="COLUMN",
        help="Of survival: 1 where the event was observed, 0 where censored; or COLUMN=VALUE.",
        rich_help_panel=TARGET,
    ),
    "start": typer.Option(
        metavar="COLUMN",
        help="Of survival: when observation of a row begins.",
        rich_help_panel=TARGET,
    ),
    "strata": typer.Option(
        metavar="COLUMN", help="Of survival: rows are compared within one.", rich_help_panel=TARGET
    ),
    "ties": typer.Option(
        metavar="NAME", help="Of survival: breslow (default) or efron.", rich_help_panel=TARGET
    ),
    "offset": typer.Option(
        metavar="COLUMN",
        help="Of numbers, counts: a known part of margins.",
        rich_help_panel=TARGET,
    ),
    "exposure": typer.Option(
        metavar="COLUMN",
        help="Of counts: the time, area or people that they are of. Its logarithm is the offset.",
        rich_help_panel=TARGET,
    ),
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
    "threads": typer.Option(metavar="N", help="Of a scan. Default: all."),
    "as_json": typer.Option("--json", help="Print one JSON document."),
    "quiet": typer.Option("--quiet", "-q", help="Results only."),
    "debug": typer.Option("--debug", help="Show the traceback of an error."),
}
