"""Options that several commands have: types from which typer makes arguments."""

from __future__ import annotations

from typing import Annotated

import typer

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="golub (built in), or a file: svmlight, .npz, .npy, CSV, TSV, Parquet; "
        "also .gz .bz2 .xz .zip; genotypes (.bed, several as 'chr*.bed').",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="What to predict: a column (name or index), an array, or a file of its own. Several "
        "responses: columns of numbers with commas between them, or such an array.",
    ),
]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="NAME", help="The column that names the samples; no feature."),
]
Samples = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Of genotypes: a table of the samples by IID, or FID and IID, whose columns --target, "
        "--covariates and others name; may be repeated. Without: the phenotypes of the .fam file.",
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="A column to leave out; may be repeated.")
]
Time = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Of survival: the time until the event, or to the end."),
]
Event = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN[=VALUE]",
        help="Of survival: 1 where the event was observed, 0 where the row is censored; or the "
        "value that stands for the event.",
    ),
]
Start = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Of survival: when a row comes under observation."),
]
Strata = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Of survival: rows are compared within a stratum only."),
]
Ties = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of survival: breslow (default) or efron.")
]
Offset = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Of numbers and counts: a known part of the margins."),
]
Exposure = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Of counts: the time, area or people that they are of. Its logarithm is the offset.",
    ),
]
Standardize = Annotated[
    bool,
    typer.Option(
        help="Select as if columns were standardised; coefficients are for DATA as it is."
    ),
]
Intercept = Annotated[bool, typer.Option(help="Fit an intercept.")]
ClassWeight = Annotated[
    str | None, typer.Option(metavar="balanced", help="Give all classes the same weight.")
]
Threads = Annotated[int | None, typer.Option(metavar="N", help="Threads of a scan. Default: all.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Results only.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
