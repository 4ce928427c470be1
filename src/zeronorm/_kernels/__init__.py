"""The native kernels, or their NumPy twins when ZERONORM_KERNELS=reference; nothing in between."""

import os
from typing import TYPE_CHECKING

_choice = os.environ.get("ZERONORM_KERNELS", "native")

if TYPE_CHECKING or _choice == "native":
    from ._native import (
        FLOAT32_SCAN_ERROR,
        LANES,
        audit_indices,
        csc_combine,
        csc_correlate,
        csc_descend,
        csc_moments,
        csc_newton_cycle,
        csc_subspace_step,
        csc_terms,
        csr_correlate,
        csr_gather,
        csr_moments,
        csr_smoothing_sweep,
        csr_to_csc,
        dense_combine,
        dense_correlate,
        dense_descend,
        dense_moments,
        dense_newton_cycle,
        dense_smoothing_sweep,
        dense_subspace_step,
        dense_terms,
        gram_descend,
        logistic_conjugate,
        logistic_curvature,
        logistic_value_gradient,
        newton_bisections,
        sparse_gram,
    )
elif _choice == "reference":
    from .reference import (
        FLOAT32_SCAN_ERROR,
        LANES,
        audit_indices,
        csc_combine,
        csc_correlate,
        csc_descend,
        csc_moments,
        csc_newton_cycle,
        csc_subspace_step,
        csc_terms,
        csr_correlate,
        csr_gather,
        csr_moments,
        csr_smoothing_sweep,
        csr_to_csc,
        dense_combine,
        dense_correlate,
        dense_descend,
        dense_moments,
        dense_newton_cycle,
        dense_smoothing_sweep,
        dense_subspace_step,
        dense_terms,
        gram_descend,
        logistic_conjugate,
        logistic_curvature,
        logistic_value_gradient,
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
    "csc_combine",
    "csc_correlate",
    "csc_descend",
    "csc_moments",
    "csc_newton_cycle",
    "csc_subspace_step",
    "csc_terms",
    "csr_correlate",
    "csr_gather",
    "csr_moments",
    "csr_smoothing_sweep",
    "csr_to_csc",
    "dense_combine",
    "dense_correlate",
    "dense_descend",
    "dense_moments",
    "dense_newton_cycle",
    "dense_smoothing_sweep",
    "dense_subspace_step",
    "dense_terms",
    "gram_descend",
    "logistic_conjugate",
    "logistic_curvature",
    "logistic_value_gradient",
    "newton_bisections",
    "sparse_gram",
]
