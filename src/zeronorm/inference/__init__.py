"""Which features have an effect: stability, false discoveries, estimates on other samples."""

from .false_discoveries import Discoveries, FalseDiscoverySelector
from .split import SplitInference, split_inference
from .stability import Stability, StabilitySelection

__all__ = [
    "Discoveries",
    "FalseDiscoverySelector",
    "SplitInference",
    "Stability",
    "StabilitySelection",
    "split_inference",
]
