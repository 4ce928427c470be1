"""Genotypes from PLINK's .bed, .bim and .fam files, which are mapped and never loaded."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.files import did_you_mean, quote
from ..core.types import Design, FloatArray, IndexArray
from ..data import Beside, Rows, as_design, resolve_threads
from ..data.genotypes import CODINGS, Genotypes
from .plink import check_bed, names_of_variants, read_samples_of, read_variants, stems_of
from .table import strict_float

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
            raise ValueError(
                f"names must be (m,) names or (m, 2) families and names; got shape {given.shape}."
            )
        if not given.size:
            raise ValueError("names must have at least one; got none.")
        if column.ndim == 0 or len(column) != len(given):
            raise ValueError(
                f"values must have one entry for every name ({len(given)}); got shape "
                f"{column.shape}."
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
        raise ValueError(f"coding must be one of {', '.join(CODINGS)}; got {coding!r}.")
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
        raise ValueError(f"{name} must be from 0 to {largest:g}; got {value:g}.")


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
            raise ValueError(
                f"{name} must be names{' or (family, name) pairs' if len(fields) > 1 else ''}, or "
                f"a mask; got shape {wanted.shape}."
            )
        keys = {tuple(map(str, row)) if pairs else str(row) for row in wanted.tolist()}
        columns = [table[field].astype(str).tolist() for field in fields]
        own = list(zip(*columns, strict=True)) if pairs else columns[-1]
        found = np.array([place for place, key in enumerate(own) if key in keys], np.int64)
        unknown = keys.difference(own)
        if unknown:
            first = min(unknown)
            shown = " ".join(first) if isinstance(first, tuple) else first
            raise ValueError(
                f"{name} must be in the files; {len(unknown)} of {len(keys)} are not, as {shown!r}."
            )
    if not found.size:
        raise ValueError(f"{name} must keep at least one; got none.")
    return found


__all__ = ["Plink", "phenotypes", "places_of", "read_plink", "read_samples"]
