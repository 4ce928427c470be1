"""What searches for features return to the procedures that refit and certify."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..core.results import Result
from ..core.types import FloatArray


@dataclass(frozen=True, slots=True)
class BestDual:
    """The best lower bound of the l0 problem of one size seen on the way, with its dual point.

    Up to the rounding of the scan: certification scans again with the dual point.
    """

    bound: float
    dual: FloatArray


@dataclass(frozen=True, slots=True)
class Found:
    """What a search for features has found: the result, and bounds of l0 problems on the way."""

    result: Result
    l0_bounds: Mapping[int, BestDual]
