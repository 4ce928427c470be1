"""Several files of genotypes as one source, as of chromosomes: their variants side by side."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.files import FileError, quote
from ..elsewhere import refuse_format
from ..parts import matching
from .genotypes import Dosages, genotypes_suffix, open_genotypes


def several(data: Any) -> list[Path] | None:
    """Return the files of genotypes that a pattern or a list names; None of other data."""
    if isinstance(data, str | os.PathLike):
        text = os.fspath(data)
        if not glob.has_magic(text) or Path(text).exists() or not genotypes_suffix(Path(text)):
            return None
        names: Sequence[Any] = matching(text)
    elif isinstance(data, list | tuple) and data:
        if not all(isinstance(one, str | os.PathLike) for one in data):
            return None
        names = data
    else:
        return None
    paths = [Path(name).absolute() for name in names]
    kind = genotypes_suffix(paths[0])
    for place, path in enumerate(paths):
        refuse_format(path)
        if kind is None or genotypes_suffix(path) != kind:
            raise FileError(
                f"{path}: several files must all be .pgen or all .bgen; the first one "
                f"is {paths[0].name}. Convert files of other formats each by itself."
            )
        if path in paths[:place]:
            raise ValueError(f"data must name every file once; got {path} twice.")
    return paths


class Beside(Dosages):
    """The variants of several files, one file after the other."""

    def __init__(self, parts: Sequence[Dosages]) -> None:
        first = parts[0]
        for part in parts[1:]:
            _check_samples(first, part)
        self.path, self._parts = first.path, parts
        self.variants = np.concatenate([part.variants for part in parts])
        self.samples, self.n_samples, self.about = first.samples, first.n_samples, first.about
        self._starts = np.cumsum([0, *(len(part.variants) for part in parts)]).tolist()

    def fill(self, first: int, out: NDArray[np.float32]) -> None:
        """Fill (some variants, n_samples) numbers, of each file its own."""
        last = first + len(out)
        for part, start, end in zip(self._parts, self._starts, self._starts[1:], strict=False):
            low, high = max(first, start), min(last, end)
            if low < high:
                part.fill(low - start, out[low - first : high - first])


def open_several(
    paths: Sequence[Path], wanted: Sequence[str]
) -> tuple[Dosages, dict[str, NDArray[Any]], tuple[str, ...]]:
    """Return the genotypes of files, columns of the samples from the first one, and notes."""
    matrix, columns, notes = open_genotypes(paths[0], wanted)
    if len(paths) == 1:
        return matrix, columns, notes
    parts = [matrix, *(open_genotypes(path, ())[0] for path in paths[1:])]
    return Beside(parts), columns, notes


def _check_samples(first: Dosages, part: Dosages) -> None:
    """Refuse files whose samples are not the same."""
    rule = "All files must have the same samples in the same order; give each set by itself."
    if part.n_samples != first.n_samples:
        raise FileError(
            f"{part.path}: {part.n_samples} samples, but {first.n_samples} in {first.path}. {rule}"
        )
    if (part.samples is None) != (first.samples is None):
        raise FileError(
            f"{part.path}: its samples have {'no' if part.samples is None else 'some'} names, and "
            f"those of {first.path} have {'no' if first.samples is None else 'some'}. {rule}"
        )
    for row, (here, there) in enumerate(zip(part.samples or (), first.samples or (), strict=True)):
        if here != there:
            raise FileError(
                f"{part.path}: sample {row + 1} is {quote(here)}, but {quote(there)} in "
                f"{first.path}. {rule}"
            )
