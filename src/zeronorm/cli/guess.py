"""What a target is, where no option says it: classes, or numbers."""

from __future__ import annotations

from typing import Any


def guess_task(y: Any, name: str, data: str) -> tuple[str, str | None]:
    """Return what a target is, and why, where it could be something else.

    name : of the target, for messages. data : what it is of.
    """
    import numpy as np

    from ..core.targets import MANY_CLASSES, NUMBERS, ROWS_OF_CLASS

    _refuse_spoilt_numbers(y, name, data)
    values, counts = np.unique(y, return_counts=True)
    if y.dtype.kind not in "iuf":
        many = values.size > max(NUMBERS, y.size / 2)  # as dates and names are
        return "classes", f"{values.size:,} distinct texts in {y.size:,} rows" if many else None
    if y.dtype.kind == "f":  # not whole: no classes, however few
        return "numbers", f"{values.size:,} distinct values in {y.size:,} rows"
    if values.size <= 2:
        return "classes", None
    found = f"{values.size:,} distinct whole numbers in {y.size:,} rows"
    counted = ", or --task counts if they count something" if values[0] >= 0 else ""
    few = values.size <= max(MANY_CLASSES, y.size / ROWS_OF_CLASS)
    if few and (values.size <= NUMBERS or counts.min() > 1):
        return "classes", f"{found}; say --task numbers if they are measurements{counted}"
    counted = counted.replace(", or", "; say", 1)
    return "numbers", f"{found}{counted}"


def _refuse_spoilt_numbers(y: Any, name: str, data: str) -> None:
    """Refuse text of many values most of which are numbers: a few slips make a class of each."""
    import numpy as np

    from ..core.files import quote
    from ..core.targets import NUMBERS
    from ..io.texts import strict_float

    if y.dtype.kind != "U":
        return
    values = np.unique(y).tolist()
    odd = {text for text in values if strict_float(text) is None}
    commas = {text for text in odd if strict_float(text.replace(",", ".", 1)) is not None}
    if len(values) <= NUMBERS or 2 * len(odd - commas) >= len(values):
        return
    row, text = next((row, text) for row, text in enumerate(y.tolist()) if text in (commas or odd))
    remedy = "Mend such values; names of classes that look like numbers need --task classes."
    if commas:
        remedy = "Write decimals with a point, thousands without a comma."
    raise ValueError(
        f"{data}: the {name} must be numbers, as most of it are, or classes; got {quote(text)} in "
        f"sample {row + 1}. {remedy}"
    )
