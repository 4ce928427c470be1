"""The panels of `--help`: options by what they are about."""

from __future__ import annotations

from copy import copy
from typing import Any

from typer.models import OptionInfo

PANELS = {
    "The target": (
        "target", "by_position", "id", "samples", "transpose", "drop", "keep", "where",
        "encoding", "task", "order", "time", "event", "start", "strata", "ties", "offset",
        "exposure", "blocks",
    ),
    "The features": (
        "layer", "missing", "groups", "group_file", "force", "covariates", "nonnegative",
        "nonpositive", "shared",
    ),
    "The problem": (
        "loss", "level", "C", "standardize", "intercept", "class_weight", "measure",
        "positive",
    ),
    "The search": ("method", "starts", "prove", "gap", "time_limit"),
    "The model and its score": (
        "rule", "refit_c", "calibrate", "threshold", "cv", "cv_groups", "no_cv", "permutations",
        "stability", "scoring", "splits", "share", "confidence",
    ),
    "Files": (
        "output", "save", "certificate", "features_out", "report", "view", "checkpoint", "config",
        "save_config", "log",
    ),
}  # fmt: skip
_PANEL_OF = {option: panel for panel, options in PANELS.items() for option in options}


def in_panel(name: str, info: Any) -> Any:
    """Return what is said of an argument, an option in its panel; what has none stands first."""
    if name not in _PANEL_OF or not isinstance(info, OptionInfo):
        return info
    info = copy(info)
    info.rich_help_panel = _PANEL_OF[name]
    return info
