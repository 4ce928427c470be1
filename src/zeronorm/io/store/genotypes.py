"""Genotypes of PLINK 2 and BGEN as a source: dosages of one allele, a few variants at a time.

What is missing is NaN here; `convert` makes it the mean of the variant. The libraries that read
the formats are optional and are imported on use.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.files import FileError, did_you_mean, engine_errors, quote
from ..plink2 import as_variants, distinct, read_psam, read_pvar, read_sample, variant
from ..source import check_path

_BESIDE = {
    ".pgen": (".pvar", ".pvar.zst", ".psam", ".pgen.pgi"),
    ".bgen": (".sample",),
}
_LIBRARIES = {".pgen": "pgenlib", ".bgen": "bgen"}


def genotypes_suffix(path: Path) -> str | None:
    """Return .pgen or .bgen where a file is named so."""
    suffix = path.suffix.lower()
    return suffix if suffix in _BESIDE else None


def beside(path: Path) -> list[Path]:
    """Return the files that genotypes are in beside their own one, of those that there are."""
    suffix = genotypes_suffix(path)
    others = (path.with_suffix(other) for other in _BESIDE[suffix]) if suffix else ()
    return [other for other in others if other.is_file()]


@contextmanager
def _damage_of(message: str) -> Iterator[None]:
    """Turn whatever a library raises into a FileError, also memory that damaged counts ask for."""
    try:
        with engine_errors(message):
            yield
    except MemoryError:
        raise FileError(
            f"{message} (it asks for more memory than there is). Where the file is small, its "
            "header is damaged: copy it again."
        ) from None


class Dosages:
    """Dosages of one allele of each variant, (n_samples, n_variants) in float32.

    variants : records of chromosome, name, position, allele (the counted one) and other.
    samples : their names, None where the files have none.
    about : other columns of the samples, as text.
    """

    is_sparse = False
    dtype = np.dtype(np.float32)

    path: Path
    variants: NDArray[np.void]
    samples: list[str] | None
    n_samples: int
    about: dict[str, list[str]]

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_variants)."""
        return self.n_samples, len(self.variants)

    def columns(self, first: int, last: int) -> NDArray[np.float32]:
        """Return some variants, NaN where a dosage is missing."""
        out = np.empty((last - first, self.n_samples), np.float32)
        self.fill(first, out)
        return out.T

    def fill(self, first: int, out: NDArray[np.float32]) -> None:
        """Fill (some variants, n_samples) numbers, NaN where a dosage is missing."""
        last = first + len(out)
        with _damage_of(f"{self.path}: variants {first + 1} to {last} cannot be read"):
            self._read(first, out)
        wrong = np.argwhere((out < 0) | (out > 2.001))  # 16 bits round 2 a little
        if wrong.size:
            place, row = wrong[0].tolist()
            raise FileError(
                f"{self.path}: the dosage of the variant "
                f"{quote(self.variants['name'][first + place])} in sample {row + 1} must be from 0 "
                f"to 2; got {out[place, row]:g}."
            )

    def end(self, first: int, n_bytes: int) -> int:
        """Return where so many bytes are full."""
        return min(self.shape[1], first + max(1, n_bytes // (8 * self.n_samples)))

    def _read(self, first: int, out: NDArray[np.float32]) -> None:
        """Fill (some variants, n_samples) numbers."""
        raise NotImplementedError


class OfPgen(Dosages):
    """A .pgen file, which gives any variants; .pvar and .psam are beside it."""

    def __init__(self, path: Path) -> None:
        library = _library(path, ".pgen")
        self.path = path
        plain, packed = path.with_suffix(".pvar"), path.with_suffix(".pvar.zst")
        self.variants = read_pvar(packed if packed.is_file() and not plain.is_file() else plain)
        self.samples, self.about = read_psam(path.with_suffix(".psam"))
        self.n_samples = len(self.samples)
        with _damage_of(f"{path}: not readable as .pgen, damaged or truncated"):
            self._reader = library.PgenReader(bytes(path))
        found = self._reader.get_raw_sample_ct(), self._reader.get_variant_ct()
        if found != self.shape:
            raise FileError(
                f"{path}: {found[0]} samples and {found[1]} variants, but {self.n_samples} in "
                f".psam and {len(self.variants)} in .pvar; name files that belong together."
            )

    def _read(self, first: int, out: NDArray[np.float32]) -> None:
        self._reader.read_dosages_range(first, first + len(out), out)
        out[out == -9.0] = np.nan


class OfBgen(Dosages):
    """A .bgen file, of which the first allele is counted, as of .bed files.

    Variants come one after the other: a later block begins where the one before ended.
    """

    _next = -1
    _stream: Iterator[NDArray[Any]]

    def __init__(self, path: Path) -> None:
        self.path, self._library = path, _library(path, ".bgen")
        size, found, end = path.stat().st_size, [], 0
        with _damage_of(f"{path}: not readable as .bgen, damaged or truncated"):
            with self._library.BgenReader(str(path), delay_parsing=True) as reader:
                header, names = reader.header, list(reader.samples)
            for one in self._opened():
                name = one.rsid if one.rsid not in ("", ".") else one.varid
                found.append(variant(path, one.chrom, name, one.pos, one.alleles, counted=0))
                end = one.next_variant_offset
        if len(found) != header.nvariants or end > size:
            raise FileError(
                f"{path}: {header.nvariants} variants by its header, of which {len(found)} are "
                f"there, up to byte {end:,}; the file has {size:,}. It is cut; copy it again."
            )
        self.variants = as_variants(path, found)
        self.n_samples, self.about, own = header.nsamples, {}, None
        if path.with_suffix(".sample").is_file():
            own, self.about = read_sample(path.with_suffix(".sample"))
            if len(own) != self.n_samples:
                raise FileError(
                    f"{path.with_suffix('.sample')}: {len(own)} samples, but {self.n_samples} in "
                    f"{path}; name files that belong together."
                )
        self.samples = distinct(path, names) if header.has_sample_ids else own

    def _read(self, first: int, out: NDArray[np.float32]) -> None:
        if first != self._next:
            self._stream = map(self._dosages, islice(self._opened(), first, None))
        self._next = -1  # until all of the block are there
        read = 0
        for read, one in enumerate(islice(self._stream, len(out)), 1):
            out[read - 1] = one
        if read < len(out):
            raise FileError(
                f"{self.path}: ends after {first + read} of {len(self.variants)} variants."
            )
        self._next = first + len(out)

    def _opened(self) -> Iterator[Any]:
        yield from self._library.BgenReader(str(self.path), delay_parsing=True)

    def _dosages(self, one: Any) -> NDArray[Any]:
        """Return 2 p_0 + p_1 (p_0 + p_2 of phased ones), of haploid samples 2 p_0."""
        ploidy = np.asarray(one.ploidy)
        if not np.isin(ploidy, (1, 2)).all():
            raise FileError(
                f"{self.path}: the variant {quote(one.rsid)} has {ploidy.max()} copies in a sample;"
                " a dosage is of one or two."
            )
        chances = one.probabilities
        twice = 2.0 * chances[:, 0]
        if chances.shape[1] < 3:
            return np.asarray(twice)
        both = chances[:, 0] + chances[:, 2] if one.is_phased else twice + chances[:, 1]
        return np.asarray(np.where(ploidy == 1, twice, both))


def open_genotypes(
    path: Path, wanted: Sequence[str]
) -> tuple[Dosages, dict[str, NDArray[Any]], tuple[str, ...]]:
    """Return the genotypes of a file, columns of the samples and notes."""
    check_path(path)
    dosages: Dosages
    if genotypes_suffix(path) == ".bgen":
        dosages, notes = OfBgen(path), ["columns are the dosage of the first of both alleles"]
    else:
        dosages, notes = OfPgen(path), ["columns are the dosage of ALT"]
    if dosages.samples is None:
        notes.append("the file names no samples; they stay in its order")
    columns = {name: _column(path, name, dosages.about) for name in wanted}
    return dosages, columns, tuple(notes)


def _column(path: Path, name: str, about: dict[str, list[str]]) -> NDArray[Any]:
    """Return a column of the samples, as numbers where all of it are."""
    if name not in about:
        raise FileError(
            f"{path}: the samples have no column {quote(name)} (.psam and .sample files have "
            f"such).{did_you_mean(name, list(about))}"
        )
    text = about[name]
    gap = next((row for row, value in enumerate(text, 1) if value in ("NA", "nan", ".")), None)
    if gap is not None:
        raise FileError(
            f"{path}: the column {quote(name)} is missing in sample {gap}; a store has no gaps. "
            "Leave the column out, and give the target as a file when selecting."
        )
    for kind in (np.int64, np.float64):
        with suppress(ValueError, OverflowError):
            return np.array(text).astype(kind)
    return np.array(text)


def _library(path: Path, suffix: str) -> Any:
    """Return the package that reads a format."""
    name = _LIBRARIES[suffix]
    try:
        return importlib.import_module(name)
    except ImportError:
        raise FileError(
            f"{path}: {suffix} needs the package {name}; install it with pip install "
            "'zeronorm[genotypes]'."
        ) from None
