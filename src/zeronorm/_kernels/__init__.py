"""The native kernels, or their NumPy twins when ZERONORM_KERNELS=reference; nothing in between."""

import os
from typing import TYPE_CHECKING

_choice = os.environ.get("ZERONORM_KERNELS", "native")

if TYPE_CHECKING or _choice == "native":
    from ._native import (
        FLOAT32_SCAN_ERROR,
        LANES,
        audit_indices,
        csc_correlate,
        csc_moments,
        csr_correlate,
        csr_gather,
        csr_moments,
        csr_smoothing_sweep,
        dense_correlate,
        dense_moments,
        dense_smoothing_sweep,
        newton_bisections,
        sparse_gram,
    )
elif _choice == "reference":
    from .reference import (
        FLOAT32_SCAN_ERROR,
        LANES,
        audit_indices,
        csc_correlate,
        csc_moments,
        csr_correlate,
        csr_gather,
        csr_moments,
        csr_smoothing_sweep,
        dense_correlate,
        dense_moments,
        dense_smoothing_sweep,
        newton_bisections,
        sparse_gram,
    )
else:
    raise ImportError(
        f"ZERONORM_KERNELS must be 'native' or 'reference'; got {_choice!r}. "
        "Unset it for the native kernels."
    )

__all__ = [
    "FLOAT32_SCAN_ERROR",
    "LANES",
    "audit_indices",
    "csc_correlate",
    "csc_moments",
    "csr_correlate",
    "csr_gather",
    "csr_moments",
    "csr_smoothing_sweep",
    "dense_correlate",
    "dense_moments",
    "dense_smoothing_sweep",
    "newton_bisections",
    "sparse_gram",
]
