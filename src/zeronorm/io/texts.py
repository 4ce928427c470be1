"""A column of text: its different values, and which of them every row has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.types import FloatArray


def folded(text: str) -> str:
    """Return a text without case and blanks."""
    return "".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class Texts:
    """A column of text, where "" stands for an empty cell."""

    levels: list[str]  # all different
    codes: NDArray[np.int64]  # (n,) the place of each row's text among them
    are_labels: bool = False  # whether they are labels even where they look like numbers or dates

    @classmethod
    def of(cls, texts: Iterable[str], are_labels: bool = False) -> Texts:
        """Return the column of some texts."""
        known = list(texts)
        code = {text: place for place, text in enumerate(dict.fromkeys(known))}
        codes = np.fromiter(map(code.__getitem__, known), np.int64, len(known))
        return cls([*code], codes, are_labels)

    def __len__(self) -> int:
        return self.codes.size

    def __getitem__(self, row: int) -> str:
        return self.levels[int(self.codes[row])]

    def tolist(self) -> list[str]:
        """Return the text of every row."""
        levels = self.levels
        return [levels[code] for code in self.codes.tolist()]

    def mapped(self, function: Callable[[str], str]) -> Texts:
        """Return the column with every text replaced by what a function makes of it."""
        merged = Texts.of(map(function, self.levels))
        return Texts(merged.levels, merged.codes[self.codes])

    def rows(self, holds: Callable[[str], object]) -> NDArray[np.int64]:
        """Return the rows of whose texts something holds."""
        return np.flatnonzero(np.array([bool(holds(text)) for text in self.levels])[self.codes])

    def numbers(self) -> FloatArray | None:
        """Return the numbers of the rows, NaN where a cell is empty; None where there is text."""
        values = np.empty(len(self.levels))
        for place, text in enumerate(self.levels):
            value = strict_float(text) if text else math.nan
            if value is None:
                return None
            values[place] = value
        found: FloatArray = values[self.codes]
        return found

    def counts(self) -> dict[str, int]:
        """Return how many rows have each text, "" apart, but those that none has."""
        found = np.bincount(self.codes, minlength=len(self.levels)).tolist()
        pairs = zip(self.levels, found, strict=True)
        return {text: count for text, count in pairs if text and count}


def strict_float(token: str) -> float | None:
    """Return the number that a token is, or None: no underscores, which Python's float takes."""
    if "_" in token:
        return None
    try:
        return float(token)
    except ValueError:
        return None
