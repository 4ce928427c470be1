"""What is said of options that several commands have, by the names of their fields."""

from __future__ import annotations

import typer
from typer.models import ArgumentInfo, OptionInfo

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
    ),
    "id": typer.Option("--id", metavar="NAME", help="The column that names the samples."),
    "samples": typer.Option(
        metavar="FILE",
        help="A table of the samples, joined by their names (of genotypes IID, or FID and IID); "
        "--target, --covariates and others name its columns; may be repeated.",
    ),
    "by_position": typer.Option("--by-position", help="A file of labels is in the samples' order."),
    "transpose": typer.Option("--transpose", help="DATA have samples in columns."),
    "drop": typer.Option(metavar="NAME", help="A column to leave out; may be repeated."),
    "keep": typer.Option(metavar="NAME", help="Keep a column that numbers the rows."),
    "where": typer.Option(
        metavar="TEXT",
        help="Keep rows by columns: \"batch == 'B1' and age >= 18\"; columns of text there "
        "are no features.",
    ),
    "encoding": typer.Option(metavar="NAME", help="Of text but UTF-8: latin-1, cp1252, utf-16."),
    "missing": typer.Option(
        metavar="WAY",
        help="Fill empty cells by the training rows: mean or most_frequent; indicator: by the "
        "mean, and say where.",
    ),
    "layer": typer.Option(
        "--layer",
        "--dataset",
        metavar="NAME",
        help="Of HDF5: which matrix; of cells the layer, raw, or the genome; of .xlsx the sheet.",
    ),
    "time": typer.Option(metavar="COLUMN", help="Of survival: time to the event, or to the end."),
    "event": typer.Option(
        metavar="COLUMN",
        help="Of survival: 1 where the event was observed, 0 where censored; or COLUMN=VALUE.",
    ),
    "start": typer.Option(metavar="COLUMN", help="Of survival: when observation of a row begins."),
    "strata": typer.Option(metavar="COLUMN", help="Of survival: rows are compared within one."),
    "ties": typer.Option(metavar="NAME", help="Of survival: breslow (default) or efron."),
    "offset": typer.Option(metavar="COLUMN", help="Of numbers, counts: a known part of margins."),
    "exposure": typer.Option(
        metavar="COLUMN",
        help="Of counts: the time, area or people that they are of. Its logarithm is the offset.",
    ),
    "cv_groups": typer.Option(
        metavar="COLUMN",
        help="Whose samples stay together.",
    ),
    "standardize": typer.Option(
        help="Select as if columns were standardised; coefficients are for DATA as it is."
    ),
    "intercept": typer.Option(help="Fit an intercept."),
    "class_weight": typer.Option(metavar="balanced", help="Give classes equal weight."),
    "threads": typer.Option(metavar="N", help="Of a scan. Default: all."),
    "as_json": typer.Option("--json", help="Print one JSON document."),
    "quiet": typer.Option("--quiet", "-q", help="Results only."),
    "debug": typer.Option("--debug", help="Show the traceback of an error."),
}
