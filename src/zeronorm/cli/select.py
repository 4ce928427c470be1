"""The commands `zeronorm select`, and `zeronorm cv`: its folds without its model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import typer

from ..io.groups import read_groups
from ..io.input import Samples
from ..io.opening import from_dask
from ..io.source import check_path
from ..reporting.text import selection
from ..solvers.checkpoint import resumable
from .folds import fold_remedies
from .messages import INTERRUPTED, show_document, watched
from .options import CvOptions, SelectOptions
from .plan import plan_selection
from .selection import run
from .target import read_response

_WAIT = 15  # seconds for an answer


def select(options: SelectOptions) -> None:
    """Select exactly K features, fit the model, measure it, certify it and write it."""
    _selected(options)


def cv(options: CvOptions) -> None:
    """Say how well each number of features does on rows held out of their selection."""
    _selected(options, folds_alone=True)


def _selected(options: SelectOptions, *, folds_alone: bool = False) -> None:
    """Select, and show the models, or how good those of the folds are."""
    with watched(options) as work, _connected(options.scheduler) as client:
        plan = plan_selection(options)
        data, group_file = options.data, options.group_file
        if group_file is not None:
            check_path(group_file)  # before DATA is read, which may take its time
        with resumable(options.checkpoint, work.notes):
            work.progress.phase(f"Reading {data}")
            with work.timed("read"):
                table, response = read_response(options, plan.task)
                work.has_read(table)
                if folds_alone and response.labelled:  # no scale changes a score
                    options = replace(options, calibrate=False)
                groups = None
                if group_file is not None:
                    groups = read_groups(group_file, table, work.notes)
            if client is not None:
                table = replace(table, X=from_dask(table.X, client))
            others = "" if folds_alone else "say --no-cv"
            with fold_remedies(table, response, others=others):
                document = run(options, plan, Samples(table, response, groups), work)
    report = selection.print_folds if folds_alone else selection.print_selection
    show_document(document, options, report)
    if document.interrupted is not None:
        raise typer.Exit(INTERRUPTED)
    if options.checkpoint is not None:
        options.checkpoint.unlink(missing_ok=True)


@contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    """Give a client of the scheduler at an address, which is closed at the end; None without one.

    Raises
    ------
    ValueError
        Where nothing answers there, or Dask is not installed.
    """
    if address is None:
        yield None
        return
    try:
        import distributed
    except ImportError:
        raise ValueError(
            "--scheduler needs dask and distributed: pip install 'zeronorm[dask]'."
        ) from None
    try:
        connect: Any = distributed.Client
        client = connect(address, timeout=_WAIT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(
            f"--scheduler must be the address of a Dask scheduler, as tcp://HOST:8786; nothing "
            f"answers at {address} ({type(error).__name__}). Start one with: dask scheduler"
        ) from None
    with client:
        yield client
