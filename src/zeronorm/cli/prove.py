"""The command `zeronorm prove`."""

from __future__ import annotations

from .certify import certified
from .certify_options import ProveOptions
from .near_optimal import check_within
from .takes import takes


@takes(ProveOptions)
def prove(options: ProveOptions) -> None:
    """Search for a better list of features of this length, or prove that there is none.

    Example: zeronorm prove golub X95735_at,M27891_at --gap 0
    """
    if not 0 <= options.gap < float("inf"):
        raise ValueError(f"--gap must be at least 0 (0.01 stands for 1%); got {options.gap:g}.")
    if not 0 < options.time_limit < float("inf"):
        raise ValueError(
            f"--time-limit must be a positive finite number of seconds; got {options.time_limit:g}."
        )
    check_within(options)
    certified(options)
