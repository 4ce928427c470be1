"""The order of classes on the command line: of numbers, or as it is said."""

from __future__ import annotations

from typing import Any

from ..io.input import listed


def in_order(labels: Any, order: str | None, name: str, data: str) -> Any:
    """Return the labels from the lowest to the highest; numbers are by their size."""
    import numpy as np

    from ..core.files import quote

    classes = np.unique(labels)
    if order is None:
        if labels.dtype.kind not in "iuf":
            raise ValueError(
                f"{data}: the {name} is text, which has no order; say --order with its classes, "
                f"the lowest first. They are, by the alphabet: {listed(classes)}."
            )
        return classes
    known = {str(label): label for label in classes.tolist()}
    given = [text.strip() for text in order.split(",")]
    if len(set(given)) < len(given) or set(given) != set(known):
        raise ValueError(
            f"--order must have every class of the {name} once, with commas between them: "
            f"{listed(classes)}; got {quote(order)}."
        )
    return np.array([known[text] for text in given], classes.dtype)
