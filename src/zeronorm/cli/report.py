"""The command `zeronorm report`."""

from __future__ import annotations

from .names import columns_named
from .output import show_document
from .page_command import check_page
from .plan import plan_selection
from .progress import watched
from .rare_levels import fold_remedies
from .rows_options import ReportOptions
from .takes import takes
from .task import settle_task
from .threshold import note_on
from .training_rows import read_training


@takes(ReportOptions)
def report(options: ReportOptions) -> None:
    """Write one page to forward: the features, how sure each is, what else would do.

    Example: zeronorm report golub-k5.model.npz golub -o golub.html
    """
    check_page(options.output, "--output", options, [])
    if options.pairs < 0:
        raise ValueError(f"--pairs must be at least 0; got {options.pairs}. 50 is the default.")
    if not 0 <= options.time_limit < float("inf"):
        raise ValueError(
            f"--time-limit must be a finite number of seconds, at least 0; got "
            f"{options.time_limit:g}."
        )
    with watched(options.quiet or options.as_json) as work:
        with work.timed("imports"):
            work.progress.phase("Starting")
            from .. import persistence
            from ..io.groups import read_groups
            from ..io.input import Samples
            from ..io.source import check_path
            from ..reporting.text.page import print_page
            from .again import Again, as_selection
            from .selection import run
        if options.group_file is not None:
            check_path(options.group_file)  # before DATA is read, which may take its time
        loaded = persistence.load(options.model)
        work.notes.extend(
            f"{note}; this page is about predictions of the likelier class"
            for note in note_on(options.model, loaded)
        )
        asked = as_selection(options, loaded)
        task = settle_task(asked)
        plan = plan_selection(asked)
        work.progress.phase(f"Reading {options.data}")
        with work.timed("read"):
            asked, table, response = read_training(
                asked, task, options.model, loaded.metadata, work.notes
            )
            work.notes.extend(table.notes)
            groups = None
            if options.group_file is not None:
                groups = read_groups(options.group_file, table, work.notes)
        samples = Samples(table, response, groups)
        again = Again.of(options, loaded, asked, plan, samples)
        with columns_named(table.feature_names), fold_remedies(table, response):
            found = run(asked, plan, samples, work, again)
    chosen = next(one for one in found["models"] if one["size"] == found["chosen"])
    document = {
        "model": options.model,
        "data": found["data"],
        "n_features": chosen["n_features"],
        "sizes": [model["n_features"] for model in found["models"]],
        "file": str(options.output),
        "n_bytes": options.output.stat().st_size,
        "n_scans": found["n_scans"],
        "seconds": work.seconds,
        "notes": work.notes,
    }
    show_document(document, options, print_page)
