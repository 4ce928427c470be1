"""The command `zeronorm convert`."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from ._input import check_missing
from ._options import ConvertOptions
from ._output import print_json
from ._progress import watched
from ._takes import takes

MOST_MEGABYTES = 1e12


@takes(ConvertOptions)
def convert(options: ConvertOptions) -> None:
    """Write data as a store: blocks of columns on disk, which may be larger than memory."""
    if not 1 <= options.memory <= MOST_MEGABYTES:  # NaN is not either
        raise ValueError(
            f"--memory must be a number of megabytes from 1 to {MOST_MEGABYTES:g}; got "
            f"{options.memory:g}. For example: --memory 1024."
        )
    check_missing(options.missing, "mean", "indicator")
    with watched(options.quiet or options.as_json) as work:
        work.progress.phase("Starting")
        from ..files import standard_input
        from ..store import convert as written
        from .reports._store import print_store

        work.progress.phase(f"Reading {options.data}")

        began = False

        def progress(done: int, n_features: int) -> None:
            nonlocal began
            if not began:
                work.progress.phase(f"Writing {options.store}", n_features, "feature features")
                began = True
            work.progress.advance(done)

        piped = standard_input() if options.data == "-" else nullcontext(Path(options.data))
        with piped as data:
            made = written(
                data, options.store, target=options.target, id=options.id,
                keep=options.keep.split(",") if options.keep else (), drop=options.drop or (),
                layer=options.layer, encoding=options.encoding, missing=options.missing,
                dtype=options.dtype, memory=int(options.memory * 2**20),
                overwrite=options.overwrite, progress=progress,
            )  # fmt: skip
    document = {**asdict(made), "path": str(options.store), "shape": list(made.shape)}
    if options.as_json:
        print_json(document)
    else:
        print_store(document)
