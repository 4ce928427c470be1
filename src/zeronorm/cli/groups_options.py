"""What --groups and --features all mean: features in few groups, or whole groups."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .options import SelectOptions

# Reasons why an option does not go with groups.
_NOT_OF_GROUPS = {
    "--method": "which is the only one that has a budget of groups",
    "--rule": "and information criteria do not count groups",
    "--prove": "and there are no proofs for budgets of features and groups at once",
    "--certificate": "which gives no certificate",
    "--calibrate": "whose models are not scaled",
    "--nonnegative": "whose coefficients have any sign",
    "--nonpositive": "whose coefficients have any sign",
}
_NOT_OF_WHOLE_GROUPS = ("--nonnegative", "--nonpositive", "--rule")  # --rule by a criterion


def sizes_option(options: SelectOptions) -> tuple[str, str]:
    """Return the option that says the sizes, and what it says."""
    if options.features.strip() == "all" and options.groups is not None:
        return "--groups", options.groups
    return "--features", options.features


def check_groups(options: SelectOptions, others: Mapping[str, bool]) -> int | str | None:
    """Return the number of groups that features are in at most; None of whole groups, and without.

    Refuse half of a selection in groups, and what does not go with one.

    others : whether each option was given of those that features in few groups do not have.
    """
    groups, file, whole = options.groups, options.group_file, options.features.strip() == "all"
    if groups is None:
        if whole:
            raise ValueError(
                "--features all takes whole groups of features; say --groups G and --group-file "
                "FILE as well."
            )
        if file is not None:
            raise ValueError(
                f"--group-file {file} needs the number of groups to select at most; say "
                "--groups G as well."
            )
        return None
    n_groups = None if whole else _number_of_groups(groups)
    if file is None:
        raise ValueError(
            f"--groups {groups.strip():.60} needs the group of every feature; say --group-file "
            "FILE as well."
        )
    for option in [name for name, given in others.items() if given]:
        of_single = option.split()[0] in _NOT_OF_WHOLE_GROUPS
        if whole and of_single:
            raise ValueError(
                f"{option} is of single features, and --features all takes whole groups; leave "
                "out one of them."
            )
        if not whole:
            raise ValueError(
                f"--groups implies the method bilevel, {_NOT_OF_GROUPS[option.split()[0]]}. Leave "
                f"out {option}, or --groups and --group-file."
                + ("" if of_single else " Whole groups, --features all, may have it.")
            )
    return n_groups


def _number_of_groups(groups: str) -> int | str:
    """Return the number of groups that features are in at most; it may be "auto"."""
    text = groups.strip()
    if text != "auto" and not re.fullmatch("[0-9]{1,12}", text):
        raise ValueError(
            f"--groups must be a whole number or auto; got {groups!r:.60}. Which features are in "
            "which group says --group-file FILE; several numbers are of whole groups, "
            "--features all."
        )
    if text != "auto" and int(text) < 1:
        raise ValueError(f"--groups must be at least 1; got {text}.")
    return text if text == "auto" else int(text)
