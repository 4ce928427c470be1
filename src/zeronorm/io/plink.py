"""PLINK's files as text and bytes: which there are, their samples and variants, and what is wrong.

The genotypes themselves are read by `designs`, where they lie.
"""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import FileError, MissingFileError, quote
from ..data.genotypes import HEADER, PER_BYTE
from .parts import matching

SAMPLE = np.dtype(
    [(name, "O") for name in ("family", "name", "father", "mother", "sex", "phenotype")]
)
VARIANT = np.dtype(
    [("chromosome", "O"), ("name", "O"), ("position", np.int64), ("allele", "O"), ("other", "O")]
)


def stems_of(path: Any) -> list[Path]:
    """Return the paths of the files without their suffixes."""
    if isinstance(path, str | os.PathLike):
        text = os.fspath(path)
        if glob.has_magic(text) and not Path(text).exists():
            pattern = text if text.endswith(".bed") else f"{text}.bed"
            paths: list[Any] = matching(pattern)
        else:
            paths = [text]
    else:
        paths = list(path)
        if not paths:
            raise ValueError("path must name at least one .bed file; got an empty list.")
    stems = []
    for one in paths:
        name = os.fspath(one)
        stem = Path(name.removesuffix(".bed"))
        for suffix in (".bed", ".bim", ".fam"):
            if not Path(f"{stem}{suffix}").is_file():
                raise MissingFileError(
                    f"{stem}{suffix}: no such file; genotypes are three files, .bed, .bim and .fam."
                )
        if stem in stems:
            raise ValueError(f"path must name every file once; got {name} twice.")
        stems.append(stem)
    return stems


def _columns_of(path: Path, widths: tuple[int, ...], what: str) -> list[tuple[str, ...]]:
    """Return the columns of a .bim or .fam file, which has as many in every line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FileError(f"{path}: no text file.") from None
    if lines and lines[0].startswith("#"):
        raise FileError(
            f"{path}, line 1: {quote(lines[0][:40])} is a header, which .bim and .fam files do not "
            "have. Remove that line."
        )
    found = Counter(len(line.split()) for line in lines if line.strip())
    if not found:
        raise FileError(f"{path}: no {what}s in it.")
    width = found.most_common(1)[0][0]
    if len(found) > 1 or width not in widths:
        right = {0, width if width in widths else widths[0]}
        number, bad = next(
            (n, line.split()) for n, line in enumerate(lines, 1) if len(line.split()) not in right
        )
        raise FileError(
            f"{path}, line {number}: a {what} has {max(right)} columns; got {len(bad)}."
        )
    # One flat list: as many small ones would be looked through again and again by the collector.
    words = " ".join(lines).split()
    return [tuple(words[column::width]) for column in range(width)]


def read_samples_of(stems: Sequence[Path]) -> NDArray[np.void]:
    """Return the samples, which all files must have alike."""
    first = _columns_of(Path(f"{stems[0]}.fam"), (6,), "sample")
    twice = next((pair for pair, n in Counter(zip(*first[:2], strict=True)).items() if n > 1), None)
    if twice is not None:
        raise FileError(
            f"{stems[0]}.fam: the sample {quote(' '.join(twice))} is there twice; family and name "
            "(FID, IID) must be distinct. Rename one of them."
        )
    for stem in stems[1:]:
        path = Path(f"{stem}.fam")
        own = _columns_of(path, (6,), "sample")
        rule = "All files must have the same samples in the same order; give each set by itself."
        if len(own[0]) != len(first[0]):
            raise FileError(
                f"{path}: {len(own[0])} samples, but {len(first[0])} in {stems[0]}.fam. {rule}"
            )
        pairs = zip(zip(*own[:2], strict=True), zip(*first[:2], strict=True), strict=True)
        for row, (here, there) in enumerate(pairs, 1):
            if here != there:
                raise FileError(
                    f"{path}: sample {row} is {quote(' '.join(here))}, but "
                    f"{quote(' '.join(there))} in {stems[0]}.fam. {rule}"
                )
    return _records(SAMPLE, first)


def read_variants(path: Path) -> NDArray[np.void]:
    """Return the variants of a .bim file."""
    chromosome, name, *_, position, allele, other = _columns_of(path, (6, 5), "variant")
    try:
        if any("_" in place for place in position):  # which Python's int takes
            raise ValueError
        places = np.array([*map(int, position)], np.int64).tolist()
    except (ValueError, OverflowError):
        row, bad = next(
            (n, p) for n, p in enumerate(position, 1) if not re.fullmatch(r"-?\d{1,18}", p)
        )
        raise FileError(
            f"{path}: the position of variant {row} must be a whole number; got {quote(bad)}."
        ) from None
    few = (map(intern, column) for column in (chromosome, allele, other))
    chromosome, allele, other = map(tuple, few)
    return _records(VARIANT, [chromosome, name, places, allele, other])


def names_of_variants(variants: NDArray[np.void]) -> list[str]:
    """Return the names of columns, name_allele as PLINK's own exports have them.

    So another file that counts the other allele does not pass for the same. Where names are not
    distinct, place and both alleles stand for them, and a number from the second such variant on.
    """
    columns = [variants[field].tolist() for field in ("name", "allele")]
    names = [f"{name}_{allele}" for name, allele in zip(*columns, strict=True)]
    count = Counter(names)
    for place, name in enumerate(columns[0]):
        if name == "." or count[names[place]] > 1:
            chromosome, _, position, allele, other = variants[place]
            names[place] = f"{chromosome}:{position}:{other}:{allele}_{allele}"
    seen = Counter[str]()
    for place, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            names[place] = f"{name}#{seen[name]}"
    return names


def _records(kind: np.dtype[np.void], columns: Sequence[Sequence[Any]]) -> NDArray[np.void]:
    records = np.empty(len(columns[0]), kind)
    for field, column in zip(kind.names or (), columns, strict=True):
        records[field] = column
    return records


_LOOKED_AT = 1000  # variants at both ends of a file whose last bytes are read


def check_bed(path: Path, n_variants: int, n_samples: int) -> None:
    """Refuse a .bed file by its first bytes, its size or samples that the .fam file has not."""
    with path.open("rb") as file:
        head = file.read(len(HEADER))
    size = path.stat().st_size
    if head[:2] != HEADER[:2]:
        found = "is empty" if not head else f"begins with {head.hex(' ')}, not with 6c 1b"
        raise FileError(f"{path}: no .bed file of PLINK 1; it {found}.")
    if head[2:] == b"\x00":
        raise FileError(
            f"{path}: its genotypes come sample by sample, so that no variant can be read by "
            f"itself. Rewrite it once: plink --bfile {path.with_suffix('')} --make-bed --out NEW."
        )
    if head != HEADER:
        raise FileError(f"{path}: the third byte of a .bed file is 1; got {head[2:].hex()!r}.")
    stride = -(-n_samples // PER_BYTE)
    expected = len(HEADER) + n_variants * stride
    if size != expected:
        fits, rest = divmod(size - len(HEADER), stride)
        whole = f"which is {fits:,} variants" + (f" and {rest} bytes" if rest else "")
        raise FileError(
            f"{path}: {n_variants:,} variants of {n_samples:,} samples are {expected:,} bytes; the "
            f"file has {size:,}, {whole}. It is cut or belongs to another .bim or .fam file."
        )
    spare = n_samples % PER_BYTE
    if spare and n_variants:
        last = np.memmap(path, np.uint8, "r", len(HEADER), (n_variants, stride))[:, -1]
        behind = np.concatenate([last[:_LOOKED_AT], last[-_LOOKED_AT:]]) >> 2 * spare
        if np.unique(behind).size > 1:  # what fills a byte is the same in all
            raise FileError(
                f"{path}: its variants have genotypes of more than {n_samples:,} samples, as the "
                "bits behind those of the last one differ. Give the .fam file that was written "
                "with it; to leave samples out, let PLINK write a new set."
            )
