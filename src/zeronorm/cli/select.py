"""The command `zeronorm select`."""

from __future__ import annotations

from dataclasses import replace

import typer

from .cluster import connected
from .names import columns_named
from .options import SelectOptions
from .output import show_document
from .plan import plan_selection
from .progress import watched
from .rare_levels import fold_remedies
from .stability import check_pairs
from .takes import takes
from .target import read_response
from .task import settle_task
from .validation import check_permutations


@takes(SelectOptions)
def select(options: SelectOptions) -> None:
    """Select exactly K features, fit the model, measure it, certify it and write it.

    Example: zeronorm select golub -k 5
    """
    selected(options, "print_selection")


def selected(options: SelectOptions, report: str) -> None:
    """Select, and show what came out by a report of that name."""
    with watched(options.quiet or options.as_json) as work, connected(options.scheduler) as client:
        with work.timed("imports"):
            task = settle_task(options)
            check_permutations(options)
            check_pairs(options)
            plan = plan_selection(options)
            work.progress.phase("Starting")
            from ..io.groups import read_groups
            from ..io.input import Samples
            from ..io.source import check_path
            from ..reporting.text import selection
            from ..solvers.checkpoint import resumable
            from .interrupt import EXIT_CODE
            from .selection import run
        data, group_file = options.data, options.group_file
        if group_file is not None:
            check_path(group_file)  # before DATA is read, which may take its time
        with resumable(options.checkpoint, work.notes):
            work.progress.phase(f"Reading {data}")
            with work.timed("read"):
                table, response = read_response(options, task)
                work.notes.extend(table.notes)
                if report == "print_folds" and response.labelled:  # no scale changes a score
                    options = replace(options, calibrate=False)
                groups = None
                if group_file is not None:
                    groups = read_groups(group_file, table, work.notes)
            if client is not None:
                from ..io.opening import on_cluster

                table = replace(table, X=on_cluster(table.X, client))
            others = "say --no-cv" if report == "print_selection" else ""
            with (
                columns_named(table.feature_names),
                fold_remedies(table, response, others=others),
            ):
                document = run(options, plan, Samples(table, response, groups), work)
    show_document(document, options, getattr(selection, report))
    if document["interrupted"] is not None:
        raise typer.Exit(EXIT_CODE)
    if options.checkpoint is not None:
        options.checkpoint.unlink(missing_ok=True)
