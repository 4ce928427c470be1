"""The vocabulary of the package: array types, data (`Design`), gathered `Columns`, losses.

Data, loss and budget know nothing of each other: only a design and its gathered columns know how X
is stored, and losses see only margins.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .errors import ParameterError

FloatArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.int64]
Stored: TypeAlias = "FloatArray | sp.csc_array[Any]"


class Columns(Protocol):
    """A few gathered columns Z, (n, p), and all that small problems ask of them."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""

    @property
    def array(self) -> FloatArray | None:
        """Z where it is stored as an array, which compiled solvers read; else None."""

    @property
    def repeated(self) -> FloatArray | None:
        """Columns in an array that Z has once for each of several outputs, in order; else None."""

    @property
    def storage(self) -> tuple[NDArray[Any], ...]:
        """The arrays of Z: (x,), or (indptr, indices, data) by column."""

    def times(self, u: FloatArray) -> FloatArray:
        """Return Zu; u (p,) or (p, m)."""

    def dot(self, v: FloatArray) -> FloatArray:
        """Return Z'v; v (n,) or (n, m)."""

    def dot_each(self, v: FloatArray) -> FloatArray:
        """Return Z'v, v (n,), each product as if its column were alone."""

    def gram(self, weight: FloatArray) -> FloatArray:
        """Return Z' diag(weight) Z, (p, p), weight >= 0; the bits do not depend on threads."""

    def cross(self, chosen: IndexArray, weight: FloatArray) -> FloatArray:
        """Return Z_S' diag(weight) Z, (k, p), for k chosen columns."""

    def covariance(self, weight: FloatArray, mean: FloatArray) -> FloatArray:
        """Return (Z - 1 mean')' diag(weight) (Z - 1 mean') for mean the weighted one, or 0."""

    def squares(self, weight: FloatArray) -> FloatArray:
        """Return sum_i w_i z_ij^2, (p,)."""

    def squared(self) -> Columns:
        """Return the columns of the z_ij^2."""

    def take(self, columns: IndexArray | slice) -> Columns:
        """Return some of the columns, in the given order."""

    def rows(self, rows: IndexArray | slice) -> Columns:
        """Return some rows of all columns."""

    def summed(self, factor: FloatArray, outputs: int) -> FloatArray:
        """Return sum_o factor[o n + i] Z[o n + i], (n, p), over the outputs of every row."""

    def of_output(self, output: int) -> Columns:
        """Return the columns of one of several outputs, in its rows; of one output: Z."""

    def by_row(self, rows: IndexArray) -> tuple[NDArray[Any], ...]:
        """Return the arrays of some rows: (x,), or (indptr, indices, data) by row."""

    def dense(self) -> FloatArray:
        """Return Z as an array; of sparse columns only where they are few."""

    def compact(self) -> Columns:
        """Return Z in an array, zeros and all, where compiled solvers are the faster for it."""


class Design(ABC):
    """A matrix X of n_samples rows and n_features columns, of any storage.

    Two properties and three methods make a design. The others are abilities that a storage may
    have; their defaults are those of a storage without them.
    """

    n_threads: int = 1  # of a scan
    is_remote: bool = False  # whether columns are on other machines, and sums cheaper there
    is_sparse: bool = False  # whether zeros are not stored: columns are scaled then, never centred
    view: ClassVar[Any]  # view(design, rows): some of the rows, the class that `data` has for it
    _names: list[str] | None = None  # of the columns

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""

    @property
    @abstractmethod
    def block(self) -> int:
        """Columns per scan block; all of them where storage is by row."""

    @abstractmethod
    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return c with c[j - start] = sum_i X[i, j] v[i], start <= j < stop.

        v : (n_samples,) or (n_samples, m) -> (stop - start,) or (stop - start, m).
        The bits of the result do not depend on the number of threads.
        """

    @abstractmethod
    def gather(self, features: IndexArray | slice) -> Stored:
        """Return X[:, features] in the given order: F-ordered float64, or csc_array if sparse."""

    @abstractmethod
    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return sum_i s_i X[i, j] and sum_i s_i X[i, j]**2, start <= j < stop."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Design:
        """Return some of the rows, as scikit-learn's cross-validation asks for them; no copy.

        rows : row numbers, all different, a mask or a slice; alone or as (rows, ...).
        """
        if isinstance(rows, tuple):
            rows, *others = rows
            if others not in ([], [...]):
                raise TypeError("a design gives rows, X[rows]; columns are given by `gather`.")
        chosen = np.arange(len(self))[rows if isinstance(rows, slice) else np.asarray(rows)]
        if chosen.ndim != 1:
            raise TypeError(
                f"rows must be row numbers, a mask or a slice; got {rows!r:.50}. A single row is "
                "X[[i]]."
            )
        return self.view(self, chosen)  # type: ignore[no-any-return]

    @property
    def storage(self) -> str:
        """How the numbers are stored, in words."""
        return type(self).__name__.lower()

    @property
    def scan_error(self) -> float:
        """The e of |error of c_j| <= e ||x_j|| ||v||; by default that of sums in float64."""
        return float64_scan_error(self.shape[0])

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns, where the storage has them."""
        return self._names

    def named(self, names: list[str] | None) -> Design:
        """Give the columns names, where there are any, and return this design."""
        if names is not None and len(names) != self.shape[1]:
            raise ParameterError(
                "names", f"must be one for each of {self.shape[1]} columns", str(len(names))
            )
        self._names = self._names if names is None else names
        return self

    @property
    def density(self) -> float:
        """The share of entries that are stored; 1 of dense data."""
        return 1.0

    @property
    def note(self) -> str:
        """What reading the data costs more than it need, as a clause; "" where that is nothing."""
        return ""

    @property
    def resident_bytes(self) -> int:
        """The bytes that the data take in memory; 0 for what is read where it lies in a file."""
        return 0

    @property
    def read_bytes(self) -> int:
        """The bytes that a scan needs beside that, for what it reads or converts at a time."""
        return 0

    def conversion_bytes(self, for_descent: bool) -> int:
        """Return the bytes of the copy that `arranged` makes; 0 where it makes none."""
        return 0

    def norm_bounds(self) -> FloatArray | None:
        """Return numbers a little above ||x_j||, (n_features,), where that is cheap."""
        return None

    def gathered(self, features: IndexArray | slice) -> Columns | None:
        """Return columns as this design has them at best; None: those of `gather`."""
        return None

    def some_rows(self) -> FloatArray | None:
        """Return a few rows as float64, where columns can be centred and that is cheap."""
        return None

    def combine(self, coef: FloatArray) -> FloatArray | None:
        """Return X coef, (n_samples,), where one pass gives it without gathering columns."""
        return None

    def arranged(self, for_descent: bool) -> Design:
        """Return X as coordinate descent, or else many scans and gathers, want it, or itself."""
        return self

    def resident_columns(self) -> tuple[NDArray[Any], ...] | None:
        """Return the columns where they lie, for kernels that visit them in any order.

        (x,) for an array in Fortran order, (indptr, indices, data) for CSC, of float32 or float64
        in memory; None for other storages, whose columns have to be gathered.
        """
        return None

    def resident_rows(self) -> tuple[NDArray[Any], ...] | None:
        """Return (indptr, indices, data) of CSR in memory where Gram matrices are cheap."""
        return None


def _of_the_base(name: str) -> Any:
    return property(lambda design: getattr(design.base, name), doc="That of the base.")


class Wrapper(Design):
    """A design whose columns or rows are derived from those of another one (`base`).

    A scan is one of the base between two cheap maps: those of classes and folds share a pass.
    """

    def __init__(self, base: Design) -> None:
        self.base = base
        self.n_threads, self.is_sparse = base.n_threads, base.is_sparse

    block = _of_the_base("block")
    storage = _of_the_base("storage")
    density = _of_the_base("density")
    note = _of_the_base("note")
    resident_bytes = _of_the_base("resident_bytes")
    read_bytes = _of_the_base("read_bytes")
    scan_error = _of_the_base("scan_error")  # it counts ||x_j|| of the base
    feature_names = _of_the_base("feature_names")

    def conversion_bytes(self, for_descent: bool) -> int:
        """Return those of the base."""
        return self.base.conversion_bytes(for_descent)

    @abstractmethod
    def lower(self, v: FloatArray) -> FloatArray:
        """Map a vector over the samples of this design to one over the samples of the base."""

    def lift(self, scores: FloatArray, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Map `base.correlate(lower(v), start, stop)` to `self.correlate(v, start, stop)`."""
        return scores

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return c, as any design does, from that of the base."""
        return self.lift(self.base.correlate(self.lower(v), start, stop), v, start, stop)


# Below this relative error of a scan (float64 sums) rounding does not touch the digits of a bound.
EXACT_SCAN = 1e-10


def float64_scan_error(n_samples: int) -> float:
    """Return the error factor of float64 sums of n products in any order: n u / (1 - n u)."""
    rounding = n_samples * 2.0**-53
    return rounding / (1.0 - rounding)


class Loss(Protocol):
    """A convex loss of the margins z = Xu + b: sum_i s_i f(y_i, z_i)."""

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return sum_i s_i f(y_i, z_i) and its (sub)gradient with respect to z, (n_samples,)."""


class Curved(Loss, Protocol):
    """A loss with a (generalised) second derivative."""

    kernel: ClassVar[int]  # its number in the kernels; negative where they do not have it
    quadratic: ClassVar[bool]  # whether it is 1/2 (y - z)^2
    has_intercept: ClassVar[bool]  # whether a constant in the margins changes the loss

    @property
    def name(self) -> str:
        """What a certificate calls the loss."""

    @property
    def kernel_parameters(self) -> tuple[float, float]:
        """The numbers that the kernels are told beside that of the loss, 0 where it has none."""

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s_i f''(y_i, z_i), (n_samples,), or what no direction curves more than."""

    def coupling(
        self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> FloatArray | None:
        """Return what the second derivative in coefficients of Z is less than Z'WZ; None: 0."""

    def hessian(self, Z: Columns, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return that second derivative, with no intercept beside the coefficients."""

    def shared_hessian(self, Z: Columns, weight: FloatArray) -> FloatArray | None:
        """Return that of one output, where all have the same one at all margins; else None."""


class Smooth(Curved, Protocol):
    """A loss with a known conjugate, for any target.

    Dual variables are v = -gradient, (n_samples,), for weights that include C.
    """

    of_labels: ClassVar[bool]  # whether targets are -1 and 1
    of_residuals: ClassVar[bool]  # whether it is a function of y - z
    separable: ClassVar[bool]  # whether it is a sum over rows, of which one can be left out
    own_intercepts: ClassVar[bool]  # whether its value is that at its best `intercepts`
    counts_rows: ClassVar[bool]  # whether a weight of 2 is another thing than two rows
    flattens: ClassVar[bool]  # whether steps need the `majorant`, as rows lose their curvature
    # What targets are: "any", "not negative", "positive", "survival" or "ordered".
    target: ClassVar[str]
    largest_offset: ClassVar[float]  # of the margins
    variance_power: ClassVar[float | None]  # of the Tweedie deviance that is twice the loss, if any
    noise: ClassVar[float]  # the loss of a row that is no more than rounding; 0: it has a scale

    @property
    def outputs(self) -> int:
        """Of every row: entry o n + i of margins, y, weights and dual points is row i of o."""

    @property
    def parameters(self) -> dict[str, float]:
        """The numbers that it is stated with, by name."""

    @property
    def final(self) -> Likelihood:
        """The loss that the final model of a support is fitted with."""

    def fitted(self, y: FloatArray, weight: FloatArray) -> Smooth:
        """Return the loss with the parameters that follow from a target."""

    def conjugate(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return sum_i s_i f*(y_i, -v_i / s_i), the conjugate of the weighted loss at -v."""

    def majorant(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the curvature of a quadratic nowhere below the loss, which touches it at z."""

    def best_scale(
        self, v: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return the t > 0 that maximises -conjugate(t v) - t**2 * quadratic."""

    def with_offset(self, y: FloatArray, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the target and the weights of which this is the loss with an offset."""

    def inside(self, v: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the point nearest to v where the conjugate is finite."""

    def null(self, y: FloatArray, weight: FloatArray, intercept: bool) -> float:
        """Return the least value of the loss of the model without features."""


class Likelihood(Smooth, Protocol):
    """A loss that final models are fitted with: what it says of the target's distribution."""

    def deviance(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return twice the loss less that of a perfect fit."""

    def negative_log_likelihood(
        self, value: float, y: FloatArray, weight: FloatArray, n_rows: float
    ) -> float:
        """Return what information criteria count, of a fit with a summed loss, up to constants."""

    def mean(self, z: FloatArray) -> FloatArray:
        """Return the mean of the target at margins z, (n_samples,); of a quantile loss that."""
