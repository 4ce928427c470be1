"""The data on the scaling of a certificate, and its loss there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.frames import frame_of, numbers_of
from ..core.memory import available_memory, readable
from ..core.results import Certificate
from ..core.types import Design, FloatArray, IndexArray
from .covariates import Covariates
from .form import CertificateError, check_range
from .losses import (
    ROUNDOFF,
    ReferenceLoss,
    ReferenceMultinomial,
    ReferenceOrdinal,
    in_order,
    loss_of,
    survival_target,
)

# The sums of a dual point over both classes differ by this share of its total at most.
BALANCED = 1e-9
LEAST_SHARE = 1e-290  # A dual value below this share of C s_i is 0: its quotient has no digits.
LEAST_NORMAL = 2.0**-1022  # Smaller numbers have fewer digits.


def read_data(
    X: Any, y: Any, sample_weight: Any, certificate: Certificate, offset: Any = None
) -> Data:
    """Return the data on the scaling of a certificate."""
    X = read_frame(X)
    _check_real(X=X, y=y, sample_weight=sample_weight, offset=offset)
    given = Source(X)
    q = len(certificate.dual) if certificate.dual.ndim == 2 else 1
    loss = loss_of(certificate.loss, certificate.parameters, q, certificate.intercept)
    labels = in_order(y) if loss.ordered else np.asarray(y)
    shape = (*given.shape[:1], q) if q > 1 and not loss.classes else given.shape[:1]
    if len(given.shape) != 2 or labels.shape != shape:  # () of an object that is no array
        wanted = f"(n, {q})" if len(shape) == 2 else "(n,)"
        raise ValueError(
            f"X must be (n, m) and y {wanted}; got the shapes {given.shape} and {labels.shape}."
        )
    n, m = len(labels), given.shape[1]
    s = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if s.shape != (n,) or not (np.isfinite(s) & (s >= 0)).all():
        raise ValueError("sample_weight must be a finite number for each row of X, not negative.")
    used = s > 0
    labels = labels[used]
    target = read_target(labels.T.ravel() if labels.ndim == 2 else labels, loss)
    exposure = np.ones(q * len(labels))
    if offset is not None:
        o = np.asarray(offset, dtype=np.float64)
        if o.shape != (n,) or not np.isfinite(o).all():
            raise ValueError("offset must be a finite number for each row of X.")
        target, exposure = loss.offset(target, np.tile(o[used], q))
    centre, blur = np.zeros(q), 0.0
    if loss.centred and certificate.fit_intercept:
        outputs = target.reshape(q, -1)
        centre = outputs @ s[used] / float(s.sum())
        target = (outputs - centre[:, None]).ravel()
        blur = ROUNDOFF * float(np.abs(target).max())
    n = len(labels)
    if certificate.dual.shape[-1] != n:
        raise CertificateError(
            f"the dual point of the certificate is of {certificate.dual.shape[-1]} samples; X has "
            f"{n} of positive weight."
        )
    if certificate.groups is not None and certificate.groups.code.size != m:
        raise CertificateError(
            f"the groups of the certificate are of {certificate.groups.code.size} features; X has "
            f"{m}."
        )
    check_range(certificate, m)
    free = bool(certificate.fit_intercept)
    X = ScaledColumns(given, s, certificate.scaling, free)
    # A score is a sum of n products, and so are the mean and the deviation in its entries.
    error = ROUNDOFF * (4 * n + 8) * X.largest
    own, weight = certificate.covariates, certificate.C * np.tile(s[used], q) * exposure
    _check_features(certificate, X.constant)
    usable = ~X.constant
    usable[own] = False  # they are no features either
    beside = Covariates.of(X.take(own), error[own], loss, target, weight, free, q)
    return Data(
        X, target, centre, blur, weight, usable, error, loss, free, q, certificate.signs, beside
    )


@dataclass(frozen=True, slots=True)
class Data:
    """The data of a certificate, rows of positive weight, on its selection scaling."""

    X: ScaledColumns  # (n, m); centred where the intercept is free
    # (n,) +-1, or numbers; of losses of residuals centred where b is free. Of several outputs, as
    # weights and dual points, (outputs n,): all rows of the first one, then those of the next.
    y: FloatArray
    centre: FloatArray  # (outputs,) of y: a part of the intercept
    blur: float  # by how much centring may have changed an entry of y
    weight: FloatArray  # (n,) C s_i, times e^o_i where an offset o makes it so
    usable: np.ndarray  # (m,) columns that are not constant, and no covariates
    error: FloatArray  # (m,) rounding of a score, relative to the sum of the dual point
    loss: ReferenceLoss
    intercept: bool
    outputs: int = 1
    signs: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))  # (m,), or none
    covariates: Covariates | None = None

    def scores(self, dual: FloatArray, features: IndexArray | slice) -> FloatArray:
        """Return X'v of some features, (k, outputs); 0 where its sign is that of no coefficient.

        With u >= 0 the largest value of u c - u^2 / 2 is that of max(0, c)^2 / 2, and a score
        that is known to some error is so after this, too.
        """
        found = self.X.dot(dual.reshape(self.outputs, -1).T, features)
        if not self.signs.size:
            return found
        return np.where(self.signs[features][:, None] * found < 0.0, 0.0, found)

    def feasible(self, dual: FloatArray) -> FloatArray:
        """Return a dual point that is feasible; the given one must be so but for rounding."""
        dual = np.array(dual, np.float64).ravel()
        total = float(np.abs(dual).sum())
        low, high = self.loss.limits(self.y, self.weight)
        near = 1.0 + BALANCED
        sound = np.isfinite(total) and bool(((low * near <= dual) & (dual <= high * near)).all())
        dual = np.clip(dual, low, high)
        if self.intercept:
            sound = sound and abs(float(dual.sum())) <= BALANCED * total
        if not sound:
            raise CertificateError("the dual point of the certificate is not feasible.")
        dual = np.where(np.abs(dual) < LEAST_SHARE * self.weight, 0.0, dual)
        return self.balanced(dual) if self.covariates is None else self.covariates.feasible(dual)

    def balanced(self, dual: FloatArray) -> FloatArray:
        """Return a dual point between its ends as a feasible one."""
        if self.covariates is not None:
            return self.covariates.feasible(dual, near=np.inf)
        if self.outputs == 1 or self.loss.classes:
            return self.loss.balanced(dual, self.y, self.weight, self.intercept)
        parts = (one.reshape(self.outputs, -1) for one in (dual, self.y, self.weight))
        return np.concatenate(
            [
                self.loss.balanced(v, y, weight, self.intercept)
                for v, y, weight in zip(*parts, strict=True)
            ]
        )

    def conjugate(self, dual: FloatArray) -> tuple[float, float]:
        """Return the conjugate of the loss at a feasible point, and its rounding."""
        found, terms = self.loss.conjugates(dual, self.y, self.weight)
        rounding = ROUNDOFF * (dual.size + 8) * float(terms @ self.coarse)
        if self.covariates is not None:
            rounding += self.covariates.rounding(dual)
        return float(found.sum()), rounding

    def reach(self, dual: FloatArray) -> FloatArray:
        """Return what the rounding of scores is relative to, (outputs,): above all sums of |v|."""
        sums = np.abs(dual).reshape(self.outputs, -1).sum(axis=1)
        return np.asarray(sums + self.loss.blur(self.y, self.weight))

    def errors(self, dual: FloatArray, features: IndexArray | slice) -> FloatArray:
        """Return by how much scores of a feasible point may differ from these, (k, outputs)."""
        error = self.error[features]
        found = error[:, None] * self.reach(dual)
        if self.covariates is None:
            return found
        return found + self.covariates.moved(dual, lambda v: self.X.dot(v, features), error)

    @property
    def coarse(self) -> FloatArray:
        """How much more than other numbers, relative to them, the weights are rounded."""
        return np.maximum(1.0, LEAST_NORMAL / self.weight)

    def losses(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weighted losses of margins, and terms of which they have the rounding."""
        return self.loss.losses(z, self.y, self.weight)

    def slopes(self, z: FloatArray) -> FloatArray:
        """Return the dual point of margins, minus the derivative of the loss."""
        return self.loss.slopes(z, self.y, self.weight)


def read_target(y: np.ndarray, loss: ReferenceLoss) -> FloatArray:
    """Return numbers, and +-1 for the two classes of labels."""
    if loss.survival:
        return read_survival(y)
    wrong = ~np.isfinite(y) if y.dtype.kind in "fc" else y != y  # as NaN among objects, and NaT
    if wrong.any():
        raise ValueError("y must be labels or numbers; got NaN or infinity.")
    if isinstance(loss, ReferenceOrdinal):
        classes, places = np.unique(y, return_inverse=True)
        n_classes = loss.thresholds.size + 1
        if len(classes) != n_classes:
            raise ValueError(
                f"y must have the {n_classes} classes of the certificate; got {len(classes)}."
            )
        return places.astype(np.float64)
    if not loss.labels:
        if y.dtype.kind not in "fiub":
            raise ValueError(f"y must be real numbers for this loss; got dtype {y.dtype}.")
        numbers = y.astype(np.float64)
        if not (numbers >= loss.least).all():
            raise ValueError(
                f"y must be {'not negative' if loss.least == 0 else 'positive'} for this loss; got "
                f"{numbers.min():g}."
            )
        return numbers
    classes = np.unique(y)
    if isinstance(loss, ReferenceMultinomial):
        if len(classes) != loss.outputs:
            raise ValueError(
                f"y must have the {loss.outputs} classes of the certificate; got {len(classes)}."
            )
        return np.asarray(classes[:, None] == y, np.float64).ravel()
    if len(classes) != 2:
        raise ValueError(
            f"y must have two classes; got {len(classes)}. Verify one class at a time."
        )
    return np.where(y == classes[1], 1.0, -1.0)


def read_survival(y: np.ndarray) -> FloatArray:
    """Return time, event and stratum of a structured array; raise ValueError where it is none."""
    try:
        return survival_target(y)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be survival times: {error}") from None


def _check_real(**given: Any) -> None:
    """Raise ValueError where values are masked or complex."""
    for name, lazy in given.items():
        values = getattr(lazy, "_meta", lazy)  # of Dask: an array without rows
        is_design = isinstance(values, Design)  # of real numbers
        if isinstance(values, np.ma.MaskedArray) or not (is_design or np.isrealobj(values)):
            raise ValueError(f"{name} must not be masked or complex: a part of it would be lost.")


def _check_features(certificate: Certificate, constant: np.ndarray) -> None:
    """Raise CertificateError where columns that are no features are named as ones."""
    for name, own in (("support", certificate.support), ("covariates", certificate.covariates)):
        if constant[own].any():
            raise CertificateError(
                f"the {name} of the certificate must have no constant columns of X, which are no "
                "features."
            )


# The columns of X on the scaling of a certificate, held in memory where there is room for them.

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
