"""The vocabulary of the package: array types, and the protocols of data and losses.

Data (`Design`, `Wrapper`) and losses (`Loss`, `Curved`, `Smooth`) know nothing of each other: only
a design knows how X is stored, and losses see only margins.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.int64]
Columns: TypeAlias = "FloatArray | sp.csc_array[Any]"


@runtime_checkable
class Design(Protocol):
    """A matrix X of n_samples rows and n_features columns, of any storage."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""

    @property
    def block(self) -> int:
        """Columns per scan block; all of them where storage is by row."""

    def correlate(self, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Return c with c[j - start] = sum_i X[i, j] v[i], start <= j < stop.

        v : (n_samples,) or (n_samples, m) -> (stop - start,) or (stop - start, m).
        The bits of the result do not depend on the number of threads.
        """

    def gather(self, features: IndexArray | slice) -> Columns:
        """Return X[:, features] in the given order: F-ordered float64, or csc_array if sparse."""

    def moments(self, weight: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return sum_i s_i X[i, j] and sum_i s_i X[i, j]**2, start <= j < stop."""


class Wrapper(Design, Protocol):
    """A design whose columns or rows are derived from those of another one (`base`).

    A scan of it is a scan of the base between two cheap maps, so that scans of several wrappers
    of one base (classes, folds) share one pass over the data.
    """

    @property
    def base(self) -> Design:
        """The design underneath."""

    def lower(self, v: FloatArray) -> FloatArray:
        """Map a vector over the samples of this design to one over the samples of the base."""

    def lift(self, scores: FloatArray, v: FloatArray, start: int, stop: int) -> FloatArray:
        """Map `base.correlate(lower(v), start, stop)` to `self.correlate(v, start, stop)`."""


class Loss(Protocol):
    """A convex loss of the margins z = Xu + b: sum_i s_i f(y_i, z_i)."""

    def value_gradient(
        self, z: FloatArray, y: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return sum_i s_i f(y_i, z_i) and its (sub)gradient with respect to z, (n_samples,)."""


class Curved(Loss, Protocol):
    """A loss with a (generalised) second derivative."""

    name: ClassVar[str]  # what a certificate calls the loss

    def curvature(self, z: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        """Return s_i f''(y_i, z_i), (n_samples,)."""


class Smooth(Curved, Protocol):
    """A loss of labels +-1 with a known conjugate.

    Dual variables are alpha = -y * gradient >= 0, (n_samples,), for weights that include C.
    """

    def conjugate(self, alpha: FloatArray, y: FloatArray, weight: FloatArray) -> float:
        """Return sum_i s_i f*(y_i, -y_i alpha_i / s_i), the conjugate of the weighted loss."""

    def best_scale(
        self, alpha: FloatArray, y: FloatArray, weight: FloatArray, quadratic: float
    ) -> float:
        """Return the t > 0 that maximises -conjugate(t alpha) - t**2 * quadratic."""
