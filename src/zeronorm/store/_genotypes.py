"""Genotypes of PLINK 2, BGEN and VCF as a source: dosages of one allele, a few variants at a time.

What is missing is NaN here; `convert` makes it the mean of the variant. The libraries that read
the formats are optional and are imported on use.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import FileError, check_path, did_you_mean, quote
from ..files._errors import engine_errors
from ..files._plink2 import as_variants, distinct, read_psam, read_pvar, read_sample, variant

_BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_BLOCK_SIZE = b"BC"  # the extra field by which BGZF is known
_BESIDE = {
    ".pgen": (".pvar", ".pvar.zst", ".psam", ".pgen.pgi"),
    ".bgen": (".sample",),
    ".vcf": (),
}
FIELDS = ("GT", "DS")
_LIBRARIES = {".pgen": "pgenlib", ".bgen": "bgen", ".vcf": "cyvcf2"}


def genotypes_suffix(path: Path) -> str | None:
    """Return .pgen, .bgen or .vcf where a file is named so, .vcf also where it is compressed."""
    name = path.name.lower()
    for suffix in (".gz", ".bgz"):
        if name.endswith(f".vcf{suffix}"):
            name = name.removesuffix(suffix)
    return next((suffix for suffix in _BESIDE if name.endswith(suffix)), None)


def beside(path: Path) -> list[Path]:
    """Return the files that genotypes are in beside their own one, of those that there are."""
    suffix = genotypes_suffix(path)
    others = (path.with_suffix(other) for other in _BESIDE[suffix]) if suffix else ()
    return [other for other in others if other.is_file()]


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
        with engine_errors(f"{self.path}: variants {first + 1} to {last} cannot be read"):
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
        with engine_errors(f"{path}: not readable as .pgen, or it is cut"):
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


class _Streamed(Dosages):
    """Variants that come one after the other: a later block begins where the one before ended."""

    _next = -1
    _stream: Iterator[NDArray[Any]]

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
        """Return the variants as the library has them."""
        raise NotImplementedError

    def _dosages(self, one: Any) -> NDArray[Any]:
        """Return the dosages of a variant."""
        raise NotImplementedError


class OfBgen(_Streamed):
    """A .bgen file, of which the first allele is counted, as of .bed files."""

    def __init__(self, path: Path) -> None:
        self.path, self._library = path, _library(path, ".bgen")
        size, found, end = path.stat().st_size, [], 0
        with engine_errors(f"{path}: not readable as .bgen, or it is cut"):
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


class OfVcf(_Streamed):
    """A VCF file, of which ALT is counted: by GT, or by DS."""

    def __init__(self, path: Path, field: str | None) -> None:
        if field is not None and field not in FIELDS:
            raise FileError(f"{path}: layer must be GT or DS of a VCF file; got {quote(field)}.")
        self.path, self._library = path, _library(path, ".vcf")
        _check_end(path)
        found, counts = [], dict.fromkeys(FIELDS, 0)
        with engine_errors(f"{path}: not readable as VCF, or it is cut"):
            self.samples = list(self._library.VCF(str(path)).samples)
            for one in self._opened():
                alleles = [one.REF, *one.ALT]
                found.append(variant(path, one.CHROM, one.ID, one.POS, alleles))
                for name in FIELDS:
                    counts[name] += name in (one.FORMAT or ())
        if not self.samples:
            raise FileError(f"{path}: no samples in it, only sites; give the file with genotypes.")
        self.variants = as_variants(path, found)
        whole = [name for name in FIELDS if counts[name] == len(found)]
        if not whole or (field is not None and field not in whole):
            raise FileError(
                f"{path}: {field or 'GT or DS'} must be there for every variant; of {len(found)} "
                f"variants {counts['GT']} have GT and {counts['DS']} have DS. Leave out the others "
                "(bcftools view -i), or name the layer that all have."
            )
        self.field = field or whole[0]
        self.n_samples, self.about = len(self.samples), {}

    def _opened(self) -> Iterator[Any]:
        yield from self._library.VCF(str(self.path))

    def _dosages(self, one: Any) -> NDArray[Any]:
        """Return DS, or twice the share of the copies that are ALT; NaN where one is missing."""
        if self.field == "DS":
            dosages = np.asarray(one.format("DS"))
            if dosages.ndim != 2 or dosages.shape[1] != 1 or dosages.dtype.kind not in "fi":
                raise FileError(
                    f"{self.path}: DS of {one.CHROM}:{one.POS} must be one number for each sample; "
                    "its header may say otherwise."
                )
            return dosages[:, 0]
        copies = one.genotype.array()[:, :-1]  # -1 where missing, -2 where there is none
        there = (copies != -2).sum(axis=1)
        if (there > 2).any() or (copies > 1).any():
            raise FileError(
                f"{self.path}: {one.CHROM}:{one.POS} has {there.max()} copies of alleles up to "
                f"number {copies.max()} in a sample; a dosage is of one or two, of REF and ALT."
            )
        dosages = 2.0 * (copies == 1).sum(axis=1) / np.maximum(there, 1)
        return np.where((copies == -1).any(axis=1) | (there == 0), np.nan, dosages)


def open_genotypes(path: Path, layer: str | None, wanted: Sequence[str]) -> tuple[
    Dosages, dict[str, NDArray[Any]], tuple[str, ...]
]:  # fmt: skip
    """Return the genotypes of a file, columns of the samples and notes."""
    check_path(path)
    suffix = genotypes_suffix(path)
    if layer is not None and suffix != ".vcf":
        raise FileError(f"{path}: only a VCF file has layers (GT, DS); got {quote(layer)}.")
    dosages: Dosages
    if suffix == ".vcf":
        dosages = vcf = OfVcf(path, layer)
        notes = [f"columns are {vcf.field}, the dosage of ALT"]
    elif suffix == ".bgen":
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


def _check_end(path: Path) -> None:
    """Refuse a VCF that was cut where its reader does not notice: in a call, or between blocks."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(14)
        if not head:
            raise FileError(f"{path}: the file is empty.")
        end, what = b"\n", "a whole line"
        if head[:2] == _BGZF_END[:2]:
            in_blocks = head[3] & 4 and head[12:14] == _BLOCK_SIZE
            end, what = _BGZF_END if in_blocks else b"", "an empty block"
        file.seek(max(0, size - len(end)))
        if end and file.read() != end:
            raise FileError(f"{path}: does not end with {what}; it is cut. Copy it again.")
