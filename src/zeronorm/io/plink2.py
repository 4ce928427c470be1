"""The text beside genotypes of PLINK 2 and Oxford: variants (.pvar), samples (.psam, .sample)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from sys import intern

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, quote
from .plink import VARIANT
from .source import Source, check_path, not_utf8

_NAMES = ("#IID", "IID")
_PVAR = ("#CHROM", "POS", "ID", "REF", "ALT")


def read_pvar(path: Path) -> NDArray[np.void]:
    """Return the variants of a .pvar file, plain or compressed, with ALT as the counted allele."""
    lines = _lines(path)
    header = next((words for _, words in lines if not words[0].startswith("##")), [])
    missing = [name for name in _PVAR if name not in header]
    if missing:
        raise FileError(
            f"{path}: a .pvar file begins with a line of #CHROM, POS, ID, REF and ALT; "
            f"{', '.join(missing)} is not there. Write it anew: plink2 --pfile IN --make-pgen."
        )
    places = [header.index(name) for name in _PVAR]
    found = []
    for number, words in lines:
        if len(words) != len(header):
            raise FileError(
                f"{path}, line {number}: {len(header)} columns expected; got {len(words)}. The "
                "file is cut, or its header belongs to another one."
            )
        chromosome, position, name, other, allele = (words[place] for place in places)
        found.append(variant(path, chromosome, name, position, [other, *allele.split(",")]))
    return as_variants(path, found)


def variant(
    path: Path, chromosome: str, name: str | None, position: str | int, alleles: Sequence[str],
    counted: int = 1,
) -> tuple[str, str, int, str, str]:  # fmt: skip
    """Return one variant as a record; FileError where it has not exactly two alleles."""
    shown = quote(f"{name or '.'} at {chromosome}:{position}")
    if len(alleles) > 2:
        raise FileError(
            f"{path}: the variant {shown} has {len(alleles)} alleles, {quote(','.join(alleles))}; "
            "a column counts one of two. Split such variants (bcftools norm -m -any) or leave them "
            "out (plink2 --max-alleles 2)."
        )
    if not str(position).isascii() or not str(position).isdecimal():
        raise FileError(f"{path}: the position of the variant {shown} must be a whole number.")
    both = [*alleles, "."][:2]  # of BGEN with one allele: nobody differs from it
    return intern(chromosome), name or ".", int(position), both[counted], both[1 - counted]


def as_variants(path: Path, found: Sequence[tuple[str, str, int, str, str]]) -> NDArray[np.void]:
    """Return variants as an array of records."""
    if not found:
        raise FileError(f"{path}: no variants in it.")
    records = np.empty(len(found), VARIANT)
    for field, column in zip(VARIANT.names or (), zip(*found, strict=True), strict=True):
        records[field] = column
    return records


def read_psam(path: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Return the names of the samples of a .psam file, and its other columns."""
    lines = [words for _, words in _lines(path) if not words[0].startswith("##")]
    header = ["#FID", "IID", "PAT", "MAT", "SEX", "PHENO1"]
    if lines and lines[0][0] in ("#FID", "#IID"):
        header, *lines = lines
    elif lines and len(lines[0]) == 5:  # PLINK 2 takes a .fam file without a phenotype, too
        del header[-1]
    return _samples(path, header, lines, [name for name in _NAMES if name in header], "#FID")


def read_sample(path: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Return the names of the samples of Oxford's .sample file, and its other columns."""
    lines = [words for _, words in _lines(path)]
    if len(lines) < 3 or lines[0][0] not in ("ID_1", "ID"):
        raise FileError(
            f"{path}: a .sample file has two lines of header, the first of which begins with ID_1 "
            "or ID, and a line for each sample."
        )
    own: list[str] = [name for name in ("ID_2", "ID_1", "ID") if name in lines[0]]
    return _samples(path, lines[0], lines[2:], own, "ID_1")


def _samples(
    path: Path, header: list[str], lines: list[list[str]], own: list[str], family: str
) -> tuple[list[str], dict[str, list[str]]]:
    wrong = next((words for words in lines if len(words) != len(header)), None)
    if wrong is not None or not own:
        got = f"the line of {quote(' '.join(wrong))}" if wrong else f"{quote(' '.join(header))}"
        raise FileError(
            f"{path}: every sample has a name and as many columns as the header "
            f"({len(header)}); not so {got}. The file is cut, or no list of samples."
        )
    if not lines:
        raise FileError(f"{path}: no samples in it.")
    columns = {name: list(values) for name, *values in zip(header, *lines, strict=True)}
    names = columns.pop(own[0])
    families = columns.pop(family, names)
    return distinct(path, names, families), columns


def distinct(path: Path, names: Sequence[str], families: Sequence[str] = ()) -> list[str]:
    """Return names of samples, with their families where they repeat."""
    if len(set(names)) < len(names) and families:
        names = [f"{one}_{name}" for one, name in zip(families, names, strict=True)]
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise FileError(f"{path}: the sample {quote(name)} is there {times} times; rename it.")
    return list(names)


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbers and words of the lines that are not empty."""
    source = Source(check_path(path))
    with source.open() as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8").removeprefix("\ufeff").rstrip("\r\n")
            except UnicodeDecodeError:
                raise not_utf8(source) from None
            if text.strip():
                yield number, text.split()
