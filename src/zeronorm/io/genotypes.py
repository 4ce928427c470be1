"""Genotypes from PLINK's .bed, .bim and .fam files, which are mapped and never loaded."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import ParameterError
from ..core.files import FileError, MissingFileError, did_you_mean, quote
from ..core.types import Design, FloatArray, IndexArray
from ..data import Beside, Rows, as_design, resolve_threads
from ..data.genotypes import CODINGS, HEADER, PER_BYTE, Genotypes
from .read import matching
from .source import Source, check_path, not_utf8
from .texts import strict_float

# PLINK's files as text and bytes: which there are, their samples and variants, and what is wrong.
#
# The genotypes themselves are read by `data.genotypes`, where they lie.

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
            raise ParameterError("path", "must name at least one .bed file", "an empty list")
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
            raise ParameterError("path", "must name every file once", f"{name} twice")
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


MISSING_PHENOTYPES = ("NA", "nan", "NaN", "na", ".")
MISSING_NUMBER = -9.0


@dataclass(frozen=True, slots=True, eq=False)
class Plink:
    """A set of genotypes, its samples and its variants.

    Attributes
    ----------
    X : design of (n_samples, n_variants), which estimators take as X. Its columns are the copies of
        `variants["allele"]`, as coded, and their names name_allele.
    samples : (n_samples,) records of family, name, father, mother, sex and phenotype, text as the
        .fam file has it.
    variants : (n_variants,) records of chromosome, name, position, allele (the .bim file's fifth
        column) and other (the sixth).
    """

    X: Design
    samples: NDArray[np.void]
    variants: NDArray[np.void]

    @property
    def phenotype(self) -> FloatArray:
        """The sixth column of the .fam file, (n_samples,): see `phenotypes`."""
        return phenotypes(self.samples)

    def with_columns(self, columns: Mapping[str, ArrayLike]) -> Design:
        """Return the genotypes with further columns of the samples after them, as covariates are.

        columns : {name: (n_samples,) numbers}.
        """
        if not columns:
            return self.X
        n_samples = self.X.shape[0]
        for name, one in columns.items():
            given = np.asarray(one)
            if given.shape != (n_samples,) or given.dtype.kind not in "biuf":
                raise ValueError(
                    f"columns[{name!r}] must be ({n_samples},) numbers; got shape {given.shape} of "
                    f"{given.dtype}."
                )
        numbers = np.column_stack([np.asarray(one, np.float64) for one in columns.values()])
        names = [*(self.X.feature_names or ()), *columns]
        return Beside([self.X, as_design(numbers, self.X.n_threads)], names)

    def aligned(self, names: ArrayLike, values: ArrayLike) -> tuple[NDArray[Any], IndexArray]:
        """Return a column of another table in the order of the samples.

        Parameters
        ----------
        names : (m,) the samples of the table, by their names; (m, 2) by family and name.
        values : (m, ...) numbers or text.

        Returns
        -------
        values : (k, ...) of the samples that the table has, in the order of the samples.
        rows : (k,) which of the samples these are: `Rows(X, rows)`, or `samples[rows]`.

        Raises
        ------
        ValueError
            Where a sample is named twice, in the table or in the set, or none of them matches.
        """
        given = np.asarray(names)
        column = np.asarray(values)
        if given.ndim not in (1, 2) or (given.ndim == 2 and given.shape[1] != 2):
            raise ParameterError(
                "names", "must be (m,) names or (m, 2) families and names", f"shape {given.shape}"
            )
        if not given.size:
            raise ParameterError("names", "must have at least one", "none")
        if column.ndim == 0 or len(column) != len(given):
            raise ParameterError(
                "values",
                f"must have one entry for every name ({len(given)})",
                f"shape {column.shape}",
            )
        listed = given.tolist()
        keys = [tuple(map(str, row)) if given.ndim == 2 else (str(row),) for row in listed]
        place = places_of(self.samples, keys)
        rows = np.flatnonzero(place >= 0)
        if not rows.size:
            first, own = " ".join(keys[0]), _keys_of(self.samples[:1000], len(keys[0]))
            hint = did_you_mean(first, [" ".join(key) for key in own], listing=False)
            raise ValueError(
                f"names must be those of samples; none of {len(keys)} is, the first is "
                f"{first!r}.{hint}"
            )
        return column[place[rows]], rows


def read_plink(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    coding: str = "additive",
    samples: ArrayLike | None = None,
    variants: ArrayLike | None = None,
    min_maf: float = 0.0,
    max_missing: float = 1.0,
    n_threads: int | None = None,
) -> Plink:
    """Open genotypes of PLINK 1: path.bed with path.bim and path.fam beside it.

    Nothing is loaded but the lists of samples and variants: the genotypes stay in the file, in two
    bits each, and every scan reads it once.

    Parameters
    ----------
    path : the .bed file, with or without its suffix; several files of the same samples, as one for
        each chromosome, as a list or with wildcards ("chr*.bed"): they follow each other in the
        order of the list, of wildcards in that of the numbers in their names.
    coding : what a genotype counts: "additive" the copies of the first allele (the fifth column of
        the .bim file), "dominant" whether there is one, "recessive" whether there are two. A
        missing genotype is the mean of the variant over the samples.
    samples : which samples to keep: their names, (family, name) pairs, or a mask; None: all.
    variants : which variants to keep: their names or a mask; None: all.
    min_maf : the least frequency of the rarer allele among the samples kept, from 0 to 0.5.
    max_missing : the largest share of missing genotypes of a variant among the samples kept.
    n_threads : threads of a scan; None: as many as this process may use.

    Raises
    ------
    FileError
        If a file is missing, is no .bed file of this form, or does not fit to the other two.
    ValueError
        If a parameter is wrong, or nothing is left of the samples or variants.
    """
    if coding not in CODINGS:
        raise ParameterError("coding", f"must be one of {', '.join(CODINGS)}", f"{coding!r}")
    _check_share("min_maf", min_maf, 0.5)
    _check_share("max_missing", max_missing, 1.0)
    stems = stems_of(path)
    people = read_samples_of(stems)
    tables = [read_variants(Path(f"{stem}.bim")) for stem in stems]
    for stem, table in zip(stems, tables, strict=True):
        check_bed(Path(f"{stem}.bed"), len(table), len(people))
    rows = _chosen("samples", samples, people, ("family", "name"))
    table = np.concatenate(tables)
    kept = _chosen("variants", variants, table, ("name",))
    counted = np.zeros(len(people), bool)
    counted[rows] = True
    starts = np.cumsum([0, *map(len, tables)])

    def opened(kept: IndexArray, names: list[str] | None = None) -> Iterator[Genotypes]:
        places = np.searchsorted(kept, starts)
        for stem, part, start, first, last in zip(
            stems, tables, starts[:-1], places[:-1], places[1:], strict=True
        ):
            if first < last:
                yield Genotypes(
                    Path(f"{stem}.bed"), len(people), len(part), kept=kept[first:last] - start,
                    coding=coding, counted=counted, names=names and names[first:last],
                    n_threads=resolve_threads(n_threads),
                )  # fmt: skip

    if min_maf > 0.0 or max_missing < 1.0:
        counts = np.concatenate([part.counts() for part in opened(kept)])
        kept = kept[_passing(counts, min_maf, max_missing)]
        if not kept.size:
            raise ValueError(
                f"min_maf={min_maf:g} and max_missing={max_missing:g} leave none of "
                f"{len(counts):,} variants; ask for less."
            )
    names = names_of_variants(table)  # of all: filters change no name
    table = table[kept]
    parts = [*opened(kept, [names[place] for place in kept.tolist()])]
    X: Design = parts[0] if len(parts) == 1 else Beside(parts)
    return Plink(X if rows.size == len(people) else Rows(X, rows), people[rows], table)


def read_samples(path: str | os.PathLike[str] | Sequence[Any]) -> NDArray[np.void]:
    """Return the samples of a set, as `Plink.samples`, without a look at its genotypes."""
    return read_samples_of(stems_of(path))


def phenotypes(samples: NDArray[np.void]) -> FloatArray:
    """Return the phenotypes of samples, (n_samples,): NaN where they are -9, NA or a dot.

    Cases and controls (no value but 0, 1, 2 and -9, and a 2 among them) are 1 and 0, and 0 in the
    file is missing.
    """
    text = [str(value) for value in samples["phenotype"]]
    values = np.full(len(text), np.nan)
    for row, value in enumerate(text):
        if value not in MISSING_PHENOTYPES:
            number = strict_float(value)
            if number is None or not np.isfinite(number):
                raise ValueError(
                    f"the phenotypes of the .fam file must be finite numbers, or NA; got "
                    f"{quote(value)}. Use another table of the samples."
                )
            values[row] = np.nan if number == MISSING_NUMBER else number
    known = values[~np.isnan(values)]
    if known.size and np.isin(known, (0.0, 1.0, 2.0)).all() and (known == 2.0).any():
        values[values == 0.0] = np.nan
        values -= 1.0
    return values


def places_of(samples: NDArray[np.void], keys: Sequence[tuple[str, ...]]) -> IndexArray:
    """Return where each sample is among names, (name,) or (family, name); -1: it is not there.

    Raises ValueError where names or samples repeat.
    """
    by_family = bool(keys) and len(keys[0]) == 2
    own = _keys_of(samples, 2 if by_family else 1)
    remedy = "Rename one of them" if by_family else "Name them by family and name (FID, IID)"
    for what, listed in (("names", keys), ("the samples of the .fam file", own)):
        twice = next((key for key, n in Counter(listed).items() if n > 1), None)
        if twice is not None:
            raise ValueError(f"{what} must be distinct; got {' '.join(twice)!r} twice. {remedy}.")
    place = {key: row for row, key in enumerate(keys)}
    return np.array([place.get(key, -1) for key in own], np.int64)


def _keys_of(samples: NDArray[np.void], width: int) -> list[tuple[str, ...]]:
    fields = ("family", "name")[-width:]
    columns = [map(str, samples[field].tolist()) for field in fields]
    return list(zip(*columns, strict=True))


def _check_share(name: str, value: float, largest: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{name} must be a number from 0 to {largest:g}; got {value!r}.")
    if not 0.0 <= value <= largest:
        raise ParameterError(name, f"must be from 0 to {largest:g}", f"{value:g}")


def _passing(counts: IndexArray, min_maf: float, max_missing: float) -> NDArray[np.bool_]:
    """Return which variants are common and complete enough."""
    observed = counts[:, :3].sum(axis=1)
    share = counts[:, :3] @ np.array([1.0, 0.5, 0.0]) / np.maximum(observed, 1)
    frequency = np.minimum(share, 1.0 - share)
    missing = counts[:, 3] / np.maximum(counts.sum(axis=1), 1)
    return np.asarray((frequency >= min_maf) & (missing <= max_missing) & (observed > 0))


def _chosen(
    name: str, asked: ArrayLike | None, table: NDArray[np.void], fields: tuple[str, ...]
) -> IndexArray:
    """Return the ascending places of the samples or variants that are asked for."""
    if asked is None:
        return np.arange(len(table))
    wanted = np.asarray([*asked] if isinstance(asked, set | frozenset) else asked)
    if wanted.dtype == bool:
        if wanted.shape != (len(table),):
            raise ValueError(
                f"{name} as a mask must have shape ({len(table)},); got {wanted.shape}."
            )
        found = np.flatnonzero(wanted)
    else:
        pairs = wanted.ndim == 2
        if not 1 <= wanted.ndim <= len(fields) or (pairs and wanted.shape[1] != len(fields)):
            raise ParameterError(
                name,
                f"must be names{' or (family, name) pairs' if len(fields) > 1 else ''}, or a mask",
                f"shape {wanted.shape}",
            )
        keys = {tuple(map(str, row)) if pairs else str(row) for row in wanted.tolist()}
        columns = [table[field].astype(str).tolist() for field in fields]
        own = list(zip(*columns, strict=True)) if pairs else columns[-1]
        found = np.array([place for place, key in enumerate(own) if key in keys], np.int64)
        unknown = keys.difference(own)
        if unknown:
            first = min(unknown)
            shown = " ".join(first) if isinstance(first, tuple) else first
            raise ParameterError(
                name, f"must be in the files; {len(unknown)} of {len(keys)} are not, as {shown!r}"
            )
    if not found.size:
        raise ParameterError(name, "must keep at least one", "none")
    return found


# The text beside genotypes of PLINK 2 and Oxford: variants (.pvar), samples (.psam, .sample).

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
    source = Source(check_path(path))
    with source.open() as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8").removeprefix("\ufeff").rstrip("\r\n")
            except UnicodeDecodeError:
                raise not_utf8(source) from None
            if text.strip():
                yield number, text.split()
