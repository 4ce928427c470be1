"""The stability of what `zeronorm select` has chosen: how often half-samples choose it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.messages import Doubt
from .names import notes_named
from .options import SelectOptions
from .progress import Work
from .rare_levels import half_remedy

if TYPE_CHECKING:
    from ..inference.stability import StabilitySelection
    from ..io.input import Samples
    from .interrupt import Interrupt


def check_pairs(options: SelectOptions) -> None:
    """Refuse a number of pairs that is none."""
    if options.stability is not None and options.stability < 1:
        raise ValueError(
            "--stability must be at least 1 pair of half-samples, 50 are usual; got "
            f"{options.stability}. Leave it out for none."
        )


def stability_of(
    options: SelectOptions, estimator: Any, samples: Samples, interrupt: Interrupt, work: Work
) -> StabilitySelection | None:
    """Return what half-samples choose, at the size of the chosen model.

    None where that is not asked for, or left out, of which a note tells.
    """
    if options.stability is None or interrupt.during is not None:
        return None
    from ..reporting.documents.stability import half_samples

    found = None
    work.progress.phase("Selecting on half-samples")
    with (
        notes_named(work.notes, samples.table.feature_names),
        interrupt.validating(options, work, "stability"),
        work.timed("stability"),
    ):
        try:
            found = half_samples(estimator, samples, options.stability)
        except ValueError as error:
            way = half_remedy(error, samples.table)
            work.notes.append(Doubt(f"no stability: {str(error).rstrip('.')}{way}"))
        else:
            for left_out in found._left_out[:1]:  # the one that the last note is of
                way = half_remedy(left_out, samples.table)
                work.notes[-1] = Doubt(f"{work.notes[-1]}{way}")
    return found
