"""Notes about data that are as they should be, but hardly meant so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._messages import show, some

if TYPE_CHECKING:
    from ._selection import Samples
    from ._target import Response

_ROUNDING = 1e-12  # by which a correlation of 1 may be less
_MOST = 4  # A note names so many labels or columns.


def alike_labels(response: Response) -> list[str]:
    """Return a note for each set of labels that differ only in case or blanks."""
    import numpy as np

    if not response.labelled or response.y.dtype.kind != "U":
        return []
    alike: dict[str, list[str]] = {}
    for label in np.unique(response.y).tolist():
        alike.setdefault("".join(label.casefold().split()), []).append(repr(show(label, 40)))
    return [
        f"the labels {some(labels, _MOST)} differ only in case or blanks, and are different classes"
        for labels in alike.values()
        if len(labels) > 1
    ]


def targets_in_disguise(models: Sequence[Mapping[str, Any]], samples: Samples) -> list[str]:
    """Return a note where selected columns are the target itself.

    Its numbers or times in other units or signs; of classes what has one value in each.
    """
    import numpy as np

    from ._features_out import dense_columns

    names = {row["index"]: row["name"] for model in models for row in model["features"]}
    indices = np.array(sorted(names))
    response, y = samples.response, samples.response.y
    if response.task == "survival":
        y = np.asarray(y["time"])
    found = []
    for j, column in zip(indices.tolist(), dense_columns(samples.table.X, indices), strict=True):
        tells = _one_value_each if response.labelled else _is_linear
        if tells(column, y):
            found.append(repr(show(names[j], 40)))
    if not found:
        return []
    what = "the time itself" if response.task == "survival" else "the target itself"
    if response.labelled:
        sure = "one value in each class" if np.unique(y).size > 2 else "correlation 1"
    else:
        sure = "correlation 1"
    verb = "column {} is" if len(found) == 1 else "columns {} are each"
    return [
        f"{verb.format(some(found, _MOST))} {what} ({sure}); if made from it, leave out by --drop"
    ]


def _is_linear(column: Any, y: Any) -> bool:
    """Return whether a column is any of the responses, up to shift, scale and sign."""
    import numpy as np

    a = column - column.mean()
    for one in [y] if y.ndim == 1 else y.T:
        b = one - one.mean()
        norm = float(np.sqrt((a @ a) * (b @ b)))
        if norm and abs(float(a @ b)) >= (1 - _ROUNDING) * norm:
            return True
    return False


def _one_value_each(column: Any, y: Any) -> bool:
    """Return whether a column has one value in every class, and another in every other."""
    import numpy as np

    classes, code = np.unique(y, return_inverse=True)
    first = np.empty(classes.size)
    first[code] = column
    return bool((column == first[code]).all()) and np.unique(first).size == classes.size
