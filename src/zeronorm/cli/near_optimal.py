"""The lists that are nearly as good as the best one: `zeronorm prove --within`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.messages import Doubt
from .certify_options import ProveOptions
from .columns_file import check_columns_file, columns_file
from .paths import refuse_overwriting
from .progress import Work

if TYPE_CHECKING:
    from ..core.results import Proof
    from ..core.types import FloatArray
    from ..inspection.alternatives import NearOptimal
    from ..io.input import Samples
    from ..io.table import Table


def check_within(options: ProveOptions) -> None:
    """Refuse what is no share, and options of lists that nobody asks for."""
    within, path = options.within, options.output
    if within is None:
        of_lists = (("--output", path), ("--limit", options.limit), ("--cost", options.cost))
        for option, given in of_lists:
            if given is not None:
                raise ValueError(
                    f"{option} is of the lists of --within; got {given} without it. Say --within "
                    "0.01 as well, or leave it out."
                )
        return
    if options.group_file is not None:
        raise ValueError(
            "--within lists features, and --group-file is of whole groups; leave out one of them."
        )
    if not 0 <= within < float("inf"):
        raise ValueError(f"--within must be at least 0 (0.01 stands for 1%); got {within:g}.")
    if options.max_abs_coef is not None:
        raise ValueError(
            "--within lists models with any coefficients; leave out --max-abs-coef, or --within."
        )
    if options.limit is not None and options.limit < 1:
        raise ValueError(f"--limit must be at least 1; got {options.limit}.")
    if path is not None:
        check_columns_file(path, "--output", (".csv", ".parquet"))
        others = options.features, options.certificate, options.cost, *(options.samples or ())
        for other in others:
            refuse_overwriting([path], options.data, options.target, other)


def near_lists(
    options: ProveOptions,
    support: list[int],
    samples: Samples,
    cost: FloatArray | None,
    given: dict[str, Any],
    proof: Proof,
    work: Work,
) -> dict[str, Any] | None:
    """Return the lists of as many features, and write them where a file is named.

    None where they are not asked for, and after an interrupt.

    cost : of every feature. given : the problem, the offset and the threads.
    """
    from ..core.results import Status
    from ..inspection.alternatives import near_optimal
    from ..reporting.documents.near_optimal import describe_near_optimal
    from ..reporting.documents.units import Units

    if options.within is None:
        return None
    if proof.status is Status.INTERRUPTED:
        work.notes.append(Doubt("interrupted: the lists of --within are left out"))
        return None
    work.progress.phase("Listing what is nearly as good")
    with work.timed("lists"):
        near: Any = near_optimal(
            samples.table.X,
            samples.y,
            len(support),
            within=options.within,
            cost=cost,
            limit=1000 if options.limit is None else options.limit,
            time_limit=options.time_limit,
            **given,
        )
    if options.output is not None:
        with work.timed("write"):
            _write(options.output, near, samples.table)
    return describe_near_optimal(near, support, Units(samples.table), options.output)


def _write(path: Path, near: NearOptimal, table: Table) -> None:
    """Write a row for each list, the best first."""
    from ..reporting.documents.data import feature_name
    from ..reporting.documents.near_optimal import excess_of

    excess = excess_of(near)
    columns: dict[str, list[Any]] = {
        "rank": list(range(1, len(near) + 1)),
        "objective": near.objectives.tolist(),
        "worse_by": excess.tolist(),
        # Whether no list that is as good as this one, or better, is missing.
        "complete": [near.complete or one < near.complete_within for one in excess.tolist()],
    }
    for place, features in enumerate(near.supports.T.tolist(), 1):
        columns[f"feature_{place}"] = [feature_name(table, j) for j in features]
    if near.costs is not None:
        columns["cost"] = near.costs.tolist()
    with columns_file(path) as write:
        write(columns)
