"""The command `zeronorm cv`: the folds of select, without its model."""

from __future__ import annotations

from dataclasses import asdict, field, fields, make_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from .options import SelectOptions
from .select import selected
from .takes import takes

# What is of the model, its proof and its files.
_NOT_OF_FOLDS = {
    "output", "save", "certificate", "features_out", "report", "view", "no_cv", "prove", "gap",
    "time_limit", "stability",
}  # fmt: skip
_TYPES = get_type_hints(SelectOptions)

if TYPE_CHECKING:
    CvOptions = SelectOptions
else:
    CvOptions = make_dataclass(
        "CvOptions",
        [
            (one.name, _TYPES[one.name], field(default=one.default, metadata=one.metadata))
            for one in fields(SelectOptions)
            if one.name not in _NOT_OF_FOLDS
        ],
        frozen=True,
        kw_only=True,
    )


@takes(CvOptions)
def cv(options: CvOptions) -> None:
    """Say how well each number of features does on rows held out of their selection.

    Example: zeronorm cv golub -k 1:20
    """
    given: dict[str, Any] = asdict(options)
    selected(SelectOptions(**given, save=False), "print_folds")
