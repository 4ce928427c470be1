"""The panels of `--help`: options by what they are about."""

from __future__ import annotations

from copy import copy
from typing import Annotated, Any, get_args, get_origin

from typer.models import OptionInfo

PANELS = {
    "The target": (
        "target", "id", "samples", "drop", "task", "order", "time", "event", "start", "strata",
        "ties", "offset", "exposure",
    ),
    "The features": (
        "groups", "group_file", "force", "covariates", "nonnegative", "nonpositive", "shared",
    ),
    "The problem": (
        "loss", "level", "C", "standardize", "intercept", "class_weight", "measure",
        "positive",
    ),
    "The search": ("method", "prove", "gap", "time_limit", "criterion"),
    "The model and its score": ("refit_c", "calibrate", "cv", "no_cv", "scoring"),
}  # fmt: skip
_PANEL_OF = {option: panel for panel, options in PANELS.items() for option in options}


def in_panel(name: str, hint: Any) -> Any:
    """Return the type of an argument, an option in its panel; what has none stands first."""
    if get_origin(hint) is not Annotated or name not in _PANEL_OF:
        return hint
    kind, info = get_args(hint)
    if not isinstance(info, OptionInfo):
        return hint
    info = copy(info)
    info.rich_help_panel = _PANEL_OF[name]
    return Annotated[kind, info]


__all__ = ["PANELS", "in_panel"]
