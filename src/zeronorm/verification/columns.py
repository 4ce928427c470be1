"""The columns of X on the scaling of a certificate, held in memory where there is room for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.frames import frame_of, numbers_of
from ..core.memory import available_memory, readable
from ..core.types import Design, FloatArray, IndexArray

# The standard deviation of a constant column is at most this share of its largest entry.
CONSTANT = 1e-15
LEAST_SIZE = 1e-140  # A column with a smaller root mean square is 0, as its squares underflow.
CELLS = 1 << 19  # Blocks of so many entries stay in the cache while they are scaled.
LEAST_COLUMNS = 16  # of a block: of fewer, storage by row is read too often.
HELD, READ = 0.5, 0.15  # of the free memory: columns that are held, and read at a time
MOST_PASSES = 64  # over X where it is not in memory


class ScaledColumns:
    """The columns of X, rows of positive weight, on a scaling; constant ones are 0.

    What is not held is read and scaled again, block by block, whenever it is asked for, with the
    same operations in the same order: a column has the same bits each time.

    Parameters
    ----------
    source : X, (n, m).
    s : (n,) the weights of the rows, not negative; rows of weight 0 are left out.
    scaling : "standardized", "scaled" or "none", as of a certificate.
    intercept : whether there is one; columns are centred where it or the scaling allows it.

    Raises
    ------
    ValueError
        Where X is not finite.
    MemoryError
        Where X is not in memory and would have to be read more than MOST_PASSES times.
    """

    def __init__(self, source: Source, s: FloatArray, scaling: str, intercept: bool) -> None:
        used, free = s > 0, available_memory()
        source.plan(free)
        self._source, self._rows = source, None if used.all() else used
        share = s[used] / s.max()
        self._share = share / share.sum()
        self._scaling = scaling
        self._centred = scaling == "standardized" or intercept
        n, m = self.shape = share.size, source.shape[1]
        self._held = np.empty((0, n))
        self._place = np.full(m, -1, np.int64)
        self._unit, self._scale, self._mean, self._rest = np.empty((4, m))
        self.constant = np.empty(m, bool)
        self.largest = np.empty(m)  # entry in magnitude
        self._read(free)

    @property
    def mean(self) -> FloatArray:
        """What columns are centred by, more than their scaling is: a part of the intercept."""
        if self._scaling == "standardized" or not self._centred:
            return np.zeros(self.constant.size)
        return np.asarray((self._mean + self._rest) / self._scale)

    def dot(self, v: FloatArray, features: IndexArray | slice) -> FloatArray:
        """Return X'v of some columns, (k, outputs), for v (n, outputs)."""
        if isinstance(features, slice):
            features = np.arange(self.shape[1])[features]
        found = np.empty((features.size, v.shape[1]))
        for places, block in self._blocks(features):
            found[places] = block @ v
        return found

    def take(self, features: IndexArray) -> FloatArray:
        """Return some columns, (n, k)."""
        found = np.empty((features.size, self.shape[0]))
        for places, block in self._blocks(features):
            found[places] = block
        return found.T

    def told(self, features: IndexArray) -> FloatArray:
        """Return some columns as the scaling of the certificate alone has them, (n, k)."""
        if self._scaling == "standardized" or not self._centred:
            return self.take(features)
        found = np.empty((features.size, self.shape[0]))
        for places, block in self._source.blocks(features, self._rows):
            found[places] = self._scaled(block, features[places], centred=False)
        return found.T

    def hold(self, features: IndexArray) -> None:
        """Hold some columns, where there is room for them, as no others will be asked for."""
        room = HELD * available_memory() >= 8.0 * features.size * self.shape[0]
        if room and (self._place[features] < 0).any():
            self._held = np.ascontiguousarray(self.take(features).T)
            self._place[:] = -1
            self._place[features] = np.arange(features.size)

    def _blocks(self, features: IndexArray) -> Iterator[tuple[IndexArray | slice, FloatArray]]:
        """Yield places of some features, and their columns, (k, n)."""
        place = self._place[features]
        if (place < 0).any():
            for places, block in self._source.blocks(features, self._rows):
                yield places, self._scaled(block, features[places], self._centred)
            return
        for start in range(0, features.size, self._source.width):
            own = slice(start, start + self._source.width)
            yield own, self._held[place[own]]

    def _read(self, free: float) -> None:
        """Find how each column is scaled, and hold all of them where there is room."""
        n, m = self.shape
        if HELD * free >= 8.0 * n * m:
            self._held, self._place = np.empty((m, n)), np.arange(m)
        for features, block in self._source.blocks(np.arange(m), self._rows):
            values = self._measured(block, features)
            self.largest[features] = np.abs(values).max(axis=1)
            if self._held.size:
                self._held[features] = values

    def _measured(self, block: FloatArray, features: IndexArray) -> FloatArray:
        """Find how some columns, (k, n), are scaled, and return them so."""
        # Powers of two, by which columns are divided and multiplied without rounding, keep squares
        # in range; and the second mean removes the error of the first.
        size = np.abs(block).max(axis=1)
        if not np.isfinite(size).all():
            raise ValueError("X must be finite; got NaN or infinity.")
        unit = np.ldexp(1.0, np.clip(np.frexp(size)[1], -1021, 1023))
        Z = block / unit[:, None]
        mean = Z @ self._share
        away = Z - mean[:, None]
        rest = away @ self._share
        away -= rest[:, None]
        std = np.sqrt((away * away) @ self._share)
        constant = std <= CONSTANT * size / unit
        constant |= np.sqrt((Z * Z) @ self._share) < LEAST_SIZE / unit
        scale = np.where(constant, np.inf, 1.0 / unit if self._scaling == "none" else std)
        self._unit[features], self._scale[features] = unit, scale
        self._mean[features], self._rest[features] = mean, rest
        self.constant[features] = constant
        values: FloatArray = away if self._centred else Z
        values /= scale[:, None]
        return values

    def _scaled(self, block: FloatArray, features: IndexArray, centred: bool) -> FloatArray:
        """Return columns, (k, n), as `_measured` does."""
        Z: FloatArray = block / self._unit[features, None]
        if centred:
            Z -= self._mean[features, None]
            Z -= self._rest[features, None]
        Z /= self._scale[features, None]
        return Z


class Source:
    """X as it is given, read by blocks of columns."""

    width = LEAST_COLUMNS  # columns of a block

    def __init__(self, X: Any) -> None:
        if hasattr(X, "to_dask_array"):  # a data frame of Dask, whose rows have to be counted
            X = X.to_dask_array(lengths=True)
        shape = getattr(X, "shape", None) or ()
        if hasattr(X, "compute_chunk_sizes") and any(size != size for size in shape):
            X = X.compute_chunk_sizes()
        # Of the type, as columns of data frames are attributes, too.
        kind = type(X)
        self._elsewhere = isinstance(X, Design | np.memmap) or hasattr(kind, "chunks")
        if not self._elsewhere:
            X = X.compute() if hasattr(kind, "__dask_graph__") else X
            if hasattr(kind, "tocsc") and len(shape) == 2:
                X = X.tocsc()
            elif kind is not np.ndarray:
                _check_room(shape)
                X = np.asarray(X.toarray() if hasattr(kind, "toarray") else X)
        self._X, self.shape = X, tuple(X.shape or ())

    def plan(self, free: float) -> None:
        """Decide how many columns are read at a time, and how many of them are a block.

        free : the memory; raise MemoryError where X, not in memory, would be read too often.
        """
        n, m = max(1, self.shape[0]), self.shape[1]
        if isinstance(self._X, np.ndarray) and self._X.dtype.kind not in "fiub":
            if self._X.dtype.kind != "O" or any(isinstance(x, str | bytes) for x in self._X.flat):
                raise ValueError(f"X must hold numbers; got dtype {self._X.dtype}. Convert it.")
            self._X = self._X.astype(np.float64)
        room = min(READ * free / (8.0 * n), float(max(m, CELLS)))  # columns
        self.width = max(1, min(max(LEAST_COLUMNS, CELLS // n), int(room)))
        self._most = max(self.width, int(room)) if self._elsewhere else self.width
        least = max(1, -(-m // MOST_PASSES))
        if self._elsewhere and room < least:
            raise MemoryError(
                f"X must have room in memory for {least} of its {m} columns at a time to be "
                f"verified, which takes {readable(8.0 * n * least / READ)}; {readable(free)} are "
                "free. Verify where there is more memory."
            )

    def blocks(
        self, features: IndexArray, rows: np.ndarray | None
    ) -> Iterator[tuple[IndexArray, FloatArray]]:
        """Yield places of some features, all different, and their columns, (k, n)."""
        order = np.argsort(features, kind="stable")
        features, start = features[order], 0
        by_range = self._elsewhere and not isinstance(self._X, Design)
        while start < features.size:
            stop = start + self._most
            if by_range:
                stop = int(np.searchsorted(features, features[start] + self._most))
            stored = self._stored(features[start:stop], by_range)
            for a in range(0, stored.shape[1], self.width):
                part = stored[:, a : a + self.width]
                part = part.toarray() if hasattr(part, "toarray") else part
                block = np.ascontiguousarray(part.T, np.float64)
                places = order[start:stop][a : a + self.width]
                yield places, block if rows is None else block[:, rows]
            del stored, part, block  # before the next ones are read
            start = stop

    def _stored(self, features: IndexArray, by_range: bool) -> Any:
        """Return columns as they are stored, in rising order.

        by_range : whether all between the first and the last are read.
        """
        first, last = int(features[0]), int(features[-1])
        whole = last - first + 1 == features.size
        if not by_range:
            own = slice(first, last + 1) if whole else features
            return self._X.gather(own) if isinstance(self._X, Design) else self._X[:, own]
        part = self._X[:, first : last + 1]
        part = part.compute() if hasattr(part, "__dask_graph__") else part
        if isinstance(part, np.memmap):
            part = np.array(part)  # in one pass over the file
        part = part.tocsc() if hasattr(part, "tocsc") else np.asarray(part)
        return part if whole else part[:, features - first]


def read_frame(X: Any) -> Any:
    """Return the numbers of a data frame; all else as it is."""
    frame = frame_of(X)
    if frame is None:
        return X
    _check_room(frame.shape)
    return numbers_of(frame)


def _check_room(shape: Any) -> None:
    """Raise MemoryError where what is no array has no room as one."""
    size, free = 8.0 * float(np.prod(shape)), available_memory()
    if size > free:
        raise MemoryError(
            f"X must have room in memory as an array to be verified: {readable(size)}, and "
            f"{readable(free)} are free. Pass an array, a sparse matrix, or a file of one."
        )
