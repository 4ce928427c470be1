"""Features that options name: those of a column of text are all that it became."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.files import did_you_mean, quote
from ..core.messages import Doubt, show
from ..io.input import file_hint
from ..io.table import Table, shared_name
from .options import DiscoverOptions, SelectOptions
from .plan import Plan


def forced_features(options: SelectOptions, plan: Plan, table: Table) -> list[int]:
    """Return the positions of the features of --force; refuse levels that are more than a size."""
    positions = positions_of("--force", options.force, table)
    n_forced = len(set(positions))
    texts = [one for one in categories(options, table) if one["option"] == "--force"]
    sizes = None if plan.whole else plan.sizes
    if texts and sizes is not None and min(sizes) < n_forced:
        named = " and ".join(f"{show(one['column'])} {one['features']}" for one in texts)
        raise ValueError(
            f"--features counts what is forced, and a column of text is a feature for each of its "
            f"levels ({named}): it must be at least {n_forced}; got {min(sizes)}. Say so, or name "
            "the column with --covariates, which are not counted."
        )
    return positions


def note_on_forced(options: SelectOptions, sizes: Sequence[int], table: Table) -> list[str]:
    """Return what is told of sizes where forced columns of text leave no other a place."""
    texts = [one for one in categories(options, table) if one["option"] == "--force"]
    n_forced = len(set(positions_of("--force", options.force, table)))
    if not texts or min(sizes) > n_forced:
        return []
    named = " and ".join(f"{one['features']} of {quote(one['column'])}" for one in texts)
    return [
        Doubt(
            f"the {n_forced} forced features ({named}) take all of k = {n_forced}: none is left "
            "for others; raise --features, or keep them out of k by --covariates"
        )
    ]


def covariates(options: SelectOptions | DiscoverOptions, table: Table) -> dict[str, Any]:
    """Return the parameter of --covariates."""
    if options.covariates is None:
        return {}
    names = _covariate_names(options, table)
    based = not getattr(options, "intercept", True)
    return {"covariates": positions_of("--covariates", names, table, based)}


def _covariate_names(options: SelectOptions | DiscoverOptions, table: Table) -> list[str]:
    """Return the names of --covariates, with commas between them, or one with commas."""
    text = options.covariates
    if text is None:
        return []
    whole = table.feature_names is not None and text in table.feature_names
    return [text] if whole else [name.strip() for name in text.split(",")]


def categories(options: SelectOptions, table: Table) -> list[dict[str, Any]]:
    """Return the columns of text that --force and --covariates name, as a document has them."""
    named = [("--force", name) for name in options.force or ()]
    named += [("--covariates", name) for name in _covariate_names(options, table)]
    found = []
    for option, name in named:
        levels = _levels_of(name, table)
        if levels and name not in (table.feature_names or ()):
            coding = table.codings[(table.feature_names or ())[levels[0]]]
            found.append({
                "option": option,
                "column": name,
                "levels": len(coding.levels) + (coding.gaps is not None),
                "features": len(positions_of(option, [name], table, not options.intercept)),
            })  # fmt: skip
    return found


def positions_of(
    option: str, names: Sequence[str] | None, table: Table, based: bool = False
) -> list[int]:
    """Return the positions of the features that an option names; a category is all of its own.

    based : whether covariates of text need their base level, as there is no intercept.
    """
    positions: list[int] = []
    if not names:
        return positions
    n_features = table.X.shape[1]
    known = table.feature_names
    for name in names:
        levels = _levels_of(name, table)
        if known is not None and name in known:
            positions.append(known.index(name))
        elif levels:
            # Beside an intercept all levels but one say everything, without a penalty. Only a store
            # has the base level nevertheless, as it was written without knowing of covariates.
            whole = len(levels) == len(table.codings[(known or ())[levels[0]]].names()) > 1
            without_base = whole and option == "--covariates" and not based
            positions += levels[1:] if without_base else levels
        elif len(alleles := _of_variant(option, name, table)) == 1:
            positions += alleles
        elif known is not None:
            same = [other for other in known if shared_name(other)[0] == name]
            same += [known[place] for place in alleles]
            if len(same) > 1:
                shown = ", ".join(show(other) for other in same[:8])
                raise ValueError(
                    f"{option}: {quote(name)} is the name of {len(same)} columns: {shown}; name "
                    "one of these."
                )
            parts = [part.strip() for part in name.split(",")]
            if len(parts) > 1 and {*parts} <= {*known}:
                each = " ".join(f"{option} {show(part)}" for part in parts[:8])
                raise ValueError(f"{option} names one feature each time; say {each}.")
            hint = file_hint(option, name) or did_you_mean(name, known, given=names)
            raise ValueError(f"{option}: no feature {quote(name)}.{hint}")
        elif name.isdigit() and 0 <= int(name) - table.first_index < n_features:
            positions.append(int(name) - table.first_index)
        else:
            last = n_features - 1 + table.first_index
            raise ValueError(
                f"{option} must be between {table.first_index} and {last} (the features have no "
                f"names); got {quote(name)}."
            )
    return positions


def _of_variant(option: str, name: str, table: Table) -> list[int]:
    """Return the features that count an allele of a variant; none where it matters which one."""
    if table.variants is None or option in ("--nonnegative", "--nonpositive"):
        return []
    return [place for place, own in enumerate(table.variants["name"].tolist()) if own == name]


def _levels_of(column: str, table: Table) -> list[int]:
    """Return the features that a category became, by the name of its column."""
    codings = [table.codings.get(name) for name in table.feature_names or ()]
    return [
        place
        for place, coding in enumerate(codings)
        if coding is not None and (coding.column, coding.kind) == (column, "category")
    ]
