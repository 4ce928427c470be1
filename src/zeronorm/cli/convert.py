"""The command `zeronorm convert`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.files import FileError
from ..io.input import check_missing, lasting, read_table
from ..io.joins import check_across
from ..io.store import write_store as written
from ..reporting.records import StoreWritten
from ..reporting.text.data import print_store
from .messages import print_json, watched
from .options import ConvertOptions

if TYPE_CHECKING:
    from ..io.table import Dataset

_MOST_MEGABYTES = 1e12


def convert(options: ConvertOptions) -> None:
    """Write data as a store: blocks of columns on disk, which may be larger than memory."""
    if not 1 <= options.memory <= _MOST_MEGABYTES:  # NaN is not either
        raise ValueError(
            f"--memory must be a number of megabytes from 1 to {_MOST_MEGABYTES:g}; got "
            f"{options.memory:g}. For example: --memory 1024."
        )
    check_missing(options.missing, "mean", "indicator")
    with watched(options) as work:
        work.progress.phase(f"Reading {options.data}")

        began = False

        def progress(done: int, n_features: int) -> None:
            nonlocal began
            if not began:
                work.progress.phase(f"Writing {options.store}", n_features, "feature features")
                began = True
            work.progress.advance(done)

        given: dict[str, Any] = {
            "dtype": options.dtype, "memory": int(options.memory * 2**20),
            "overwrite": options.overwrite, "progress": progress,
        }  # fmt: skip
        if options.samples or options.transpose or options.na or options.dates:
            made = written(_read(options), options.store, **given)
        else:
            with lasting(options.data) as (path, _), _across_hint():
                made = written(
                    Path(path), options.store, target=options.target, id=options.id,
                    keep=_kept(options), drop=options.drop or (), layer=options.layer,
                    encoding=options.encoding, decimal=options.decimal,
                    missing=options.missing, feature_names=options.feature_names, **given,
                )  # fmt: skip
    document = StoreWritten(
        **{**asdict(made), "path": str(options.store), "shape": list(made.shape)}
    )
    if options.as_json:
        print_json(document)
    else:
        print_store(document)


def _kept(options: ConvertOptions) -> list[str]:
    return [name.strip() for text in options.keep or () for name in text.split(",")]


def _read(options: ConvertOptions) -> Dataset:
    """Return data with their samples in rows, and what tables say of these; in memory."""
    kept, target = _kept(options), options.target
    if options.transpose:
        check_across(options.samples or (), {"--target": target, "--keep": kept})
    elif options.samples and target is None and not kept:
        raise ValueError(
            f"--samples {options.samples[0]} is joined for what it says of the samples: "
            "name its columns with --target or --keep."
        )
    return read_table(
        options.data, target, id=options.id, columns={name: name for name in kept},
        drop=options.drop or (), samples=options.samples or (), layer=options.layer,
        missing=options.missing, encoding=options.encoding, transpose=options.transpose,
        na=options.na, dates=options.dates, decimal=options.decimal,
        feature_names=options.feature_names,
    )  # fmt: skip


@contextmanager
def _across_hint() -> Iterator[None]:
    """Say of a column of text that is in the way what to do where it names features."""
    try:
        yield
    except FileError as error:
        if error.column is None:
            raise
        raise FileError(
            f"{error} Where it names features, and samples are in the columns, say --transpose."
        ) from None
