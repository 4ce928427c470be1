"""The command `zeronorm discover`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import ParameterError
from ..inference.false_discoveries import FalseDiscoverySelector
from ..io.input import Response, Samples
from ..reporting.documents.selection import describe_discoveries
from ..reporting.records import Discovered
from ..reporting.text.selection import print_discoveries
from ..reporting.warnings import targets_in_disguise
from .files import check_features_out, column_statistics, columns_file
from .messages import show_document, watched
from .options import DiscoverOptions
from .selection import covariates
from .target import read_response

if TYPE_CHECKING:
    from ..io.table import Dataset

_TASKS = ("auto", "classes", "numbers")


def discover(options: DiscoverOptions) -> None:
    """Find the features that have an effect, with a bound on the share of false ones."""
    _check(options)
    with watched(options) as work:
        work.progress.phase(f"Reading {options.data}")
        with work.timed("read"):
            table, response = read_response(options, options.task)
        work.has_read(table)
        _check_target(options, response)
        beside = covariates(options, table)
        selector = FalseDiscoverySelector(
            options.fdr, n_experiments=options.experiments, n_threads=options.threads, **beside
        )
        work.progress.phase("Letting features compete with dummies")
        with work.timed("experiments"):
            _fit(selector, table, response)
        samples = Samples(table, response, None)
        file = None if options.features_out is None else str(options.features_out)
        document = describe_discoveries(
            options.data, samples, selector.discoveries_, sorted({*beside.get("covariates", ())}),
            features_file=file, seconds=work.seconds, notes=work.notes,
        )  # fmt: skip
        found = [row for row in document.features if row.found]
        told = targets_in_disguise([found], samples, options.keep or ())
        work.notes.extend(told)
        if options.features_out is not None:
            with work.timed("write"), columns_file(options.features_out) as write:
                write(_table(found, samples, options.threads))
    show_document(document, options, print_discoveries)


def _check(options: DiscoverOptions) -> None:
    """Refuse what is wrong whatever the data are."""
    if not 0 < options.fdr < 1:
        raise ValueError(
            f"--fdr must be a rate above 0 and below 1; got {options.fdr:g}. 0.1 stands for 10%."
        )
    if options.experiments < 2:
        raise ValueError(
            f"--experiments must be at least 2; got {options.experiments}. Leave it out for 20."
        )
    if options.task not in _TASKS:
        raise ValueError(
            f"--task must be one of {', '.join(_TASKS)}; got {options.task!r}. False discoveries "
            "are controlled for a linear model of numbers or of two classes."
        )
    check_features_out(options, [])


def _check_target(options: DiscoverOptions, response: Response) -> None:
    """Refuse several classes; whole numbers that look like some are told how to be numbers."""
    if not response.labelled:
        return
    classes = np.unique(response.y)
    if classes.size > 2:
        numbers = "; or say --task numbers" if response.y.dtype.kind in "iuf" else ""
        raise ValueError(
            f"{options.data}: the target must be numbers or two classes for false discoveries, "
            f"which are of a linear model; got {classes.size} classes. Leave out the others "
            f"by --where \"NAME != 'LABEL'\"{numbers}."
        )


def _fit(selector: FalseDiscoverySelector, table: Dataset, response: Response) -> None:
    """Fit, and say of groups what the option calls them."""
    try:
        selector.fit(table.X, response.y, groups=table.columns.get("blocks"))
    except ParameterError as error:
        if error.name != "groups":
            raise
        raise ParameterError("blocks", error.rule, error.got, error.remedies) from error


def _table(rows: Sequence[Discovered], samples: Samples, threads: int | None) -> dict[str, Any]:
    """Return the columns of the file, named as those of select; the least doubtful first."""
    found: dict[str, list[Any]] = {
        "rank": list(range(1, len(rows) + 1)),
        **{
            name: [getattr(row, name) for row in rows]
            for name in ("name", "index", "description", "votes", "stand_in")
        },
        "rival": [None if row.rival is None else row.rival.name for row in rows],
    }
    if samples.table.descriptions is None:
        del found["description"]
    classes = np.unique(samples.response.y).tolist() if samples.response.labelled else []
    indices = [row.index for row in rows]
    return found | column_statistics(indices, classes, [], samples, threads)
