"""Genotypes in two bits each, as PLINK stores them, mapped and decoded inside the kernels."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import (
    FLOAT32_SCAN_ERROR,
    genotypes_correlate,
    genotypes_count,
    genotypes_gather,
    genotypes_moments,
)
from ..core.types import Design, FloatArray, IndexArray
from .arrays import BLOCK_BYTES, as_features, as_vectors

# What 2, 1 and 0 copies of the first allele mean.
CODINGS = {"additive": (2.0, 1.0, 0.0), "dominant": (1.0, 1.0, 0.0), "recessive": (1.0, 0.0, 0.0)}
HEADER = b"\x6c\x1b\x01"  # of a .bed file whose variants come one after the other
PER_BYTE = 4
MISSING, OBSERVED = 1, [0, 2, 3]  # codes: of no copies known; of 2, 1 and 0 copies
MAPPED = ("_mapped", "_packed")  # attributes that no other process can have
LARGE = 1 << 28  # bytes of a file that this process does not keep in its memory


class Genotypes(Design):
    """The genotypes of a .bed file, (n_samples, n_variants), two bits each, read where they lie.

    x_ij is what the coding makes of the copies of the first allele: their number (additive),
    whether there is one (dominant) or two (recessive). A missing genotype is the mean of the others
    of its variant, rounded to float32; 0 where all are missing.

    Parameters
    ----------
    path : the file, whose size must be that of its samples and variants.
    n_samples, n_variants : of the file.
    kept : (p,) the variants that are columns, in any order; None: all.
    coding : "additive", "dominant" or "recessive".
    counted : (n_samples,) bool, the samples that a mean is over; None: all.
    names : (p,) of the columns.
    n_threads : threads of a scan, at least 1.
    """

    def __init__(
        self,
        path: Path,
        n_samples: int,
        n_variants: int,
        *,
        kept: IndexArray | None = None,
        coding: str = "additive",
        counted: NDArray[np.bool_] | None = None,
        names: list[str] | None = None,
        n_threads: int = 1,
    ) -> None:
        self.path = path
        self._n_variants = n_variants
        self._stride = -(-n_samples // PER_BYTE)
        self._size = len(HEADER) + n_variants * self._stride
        self._map()
        self._kept = np.arange(n_variants) if kept is None else kept
        self._n_samples = n_samples
        self._copies = np.array(CODINGS[coding], np.float32)
        self._mask = packed_rows(np.ones(n_samples, bool) if counted is None else counted)
        # What the codes of a column mean; NaN until its genotypes have been counted.
        self._values = np.full((self._kept.size, 4), np.nan, np.float32)
        self._names = names
        self.n_threads = n_threads

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the map: a copy, as in another process, opens the file again."""
        kept = {name: value for name, value in vars(self).items() if name not in MAPPED}
        return kept | {"path": self.path.absolute()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the file again."""
        vars(self).update(state)
        size = self.path.stat().st_size
        if size != self._size:
            raise OSError(
                f"{self.path}: the file changed since it was opened ({self._size:,} bytes then, "
                f"{size:,} now). Open it anew."
            )
        self._map()

    def _map(self) -> None:
        with self.path.open("rb") as file:
            self._mapped = mmap.mmap(file.fileno(), self._size, access=mmap.ACCESS_READ)
        whole = np.frombuffer(self._mapped, np.uint8, offset=len(HEADER))
        self._packed = whole.reshape(self._n_variants, self._stride)

    @property
    def shape(self) -> tuple[int, int]:
        return self._n_samples, self._kept.size

    @property
    def storage(self) -> str:
        return "genotypes, two bits each"

    @property
    def block(self) -> int:
        """Columns per scan block: about 48 MiB of the file."""
        return min(max(1, BLOCK_BYTES // self._packed.shape[1]), self._kept.size)

    @property
    def resident_bytes(self) -> int:
        """The bytes of what the codes of the columns mean; the genotypes stay in their file."""
        return self._values.nbytes + self._kept.nbytes

    @property
    def scan_error(self) -> float:
        """The factor e of |error of c_j| <= e ||x_j|| ||v||: products are formed in float32."""
        return FLOAT32_SCAN_ERROR

    @property
    def feature_names(self) -> list[str] | None:
        return self._names

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        vectors = as_vectors(v, self.shape, start, stop)
        scores = np.empty((stop - start, vectors.shape[1]))
        if scores.size:  # kernels are never called for nothing
            columns = np.arange(start, stop)
            arrays = self._bytes(), self._kept[start:stop], self._decoding(columns)
            genotypes_correlate(*arrays, vectors, scores, self.n_threads)
            self._release()
        return scores.reshape(stop - start, *v.shape[1:])

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        weight = as_vectors(weight, self.shape, start, stop)[:, 0]
        positive, largest = weight > 0, weight.max(initial=0.0)
        columns = np.arange(start, stop)
        values = self._decoding(columns)
        if (weight[positive] == largest).all():
            # A row counts or does not, and so it is enough to know how many have each code.
            counts, exact = self._counts(columns, packed_rows(positive)), values.astype(np.float64)
            self._release()
            return largest * np.vecdot(counts, exact), largest * np.vecdot(counts, exact**2)
        total, square = np.empty(columns.size), np.empty(columns.size)
        if columns.size:
            arrays = self._bytes(), self._kept[columns], values
            genotypes_moments(*arrays, weight, total, square, self.n_threads)
            self._release()
        return total, square

    def gather(self, features: IndexArray | slice) -> FloatArray:
        if isinstance(features, slice):
            features = np.arange(self._kept.size)[features]
        columns = as_features(features, self._kept.size)
        out = np.empty((columns.size, self._n_samples))
        if columns.size:
            arrays = self._bytes(), self._kept[columns], self._decoding(columns)
            genotypes_gather(*arrays, out, self.n_threads)
        return out.T

    def counts(self) -> IndexArray:
        """Return how many counted samples have 2, 1 and 0 copies of the first allele, and none.

        (p, 4), the missing ones last.
        """
        found = np.empty((self._kept.size, 4), np.int64)
        for start in range(0, len(found), self.block):
            columns = np.arange(start, min(start + self.block, len(found)))
            found[columns] = self._counts(columns, self._mask)[:, [*OBSERVED, MISSING]]
            self._release()
        return found

    def _counts(self, columns: IndexArray, mask: NDArray[np.uint64]) -> IndexArray:
        """Return how many rows of a mask have each code, (p, 4)."""
        counts = np.empty((columns.size, 4), np.int64)
        if columns.size:
            genotypes_count(self._bytes(), self._kept[columns], mask, counts, self.n_threads)
        return counts

    def _decoding(self, columns: IndexArray) -> NDArray[np.float32]:
        """Return what the codes mean, (p, 4); columns met for the first time are counted."""
        new = columns[np.isnan(self._values[columns, 0])]
        if new.size:
            observed = self._counts(new, self._mask)[:, OBSERVED]
            total = observed @ self._copies.astype(np.float64)
            self._values[new[:, None], OBSERVED] = self._copies
            self._values[new, MISSING] = total / np.maximum(observed.sum(axis=1), 1)
        return self._values[columns]

    def _bytes(self) -> NDArray[np.uint8]:
        """Return the bytes of the file, (n_variants, stride), while it is as it was opened.

        To read a mapped file beyond its end would end the process.
        """
        size = self._mapped.size()  # of the file as it is now
        if size != self._size:
            raise OSError(
                f"{self.path}: the file changed while it was read ({self._size:,} bytes when it "
                f"was opened, {size:,} now). Fit again when nobody writes it."
            )
        return self._packed

    def _release(self) -> None:
        """Take the pages of a large file out of this process; the system may keep them."""
        if self._size > LARGE and hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


def packed_rows(chosen: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return a mask of rows for `genotypes_count`: the code 1 for chosen rows, in whole words."""
    per_word = 8 * PER_BYTE
    bits = np.zeros(-(-chosen.size // per_word) * per_word * 2, np.uint8)
    bits[: 2 * chosen.size : 2] = chosen
    packed = np.packbits(bits, bitorder="little")
    return np.asarray(packed.view(np.uint64))
