"""NumPy twin of every kernel: the specification, and the oracle of the tests.

Conventions of all functions: X has n rows (samples) and p columns (features). `v` is (n, m)
float64, C order; `out` is (p, m) float64, C order, and is overwritten. Sparse storage is
(indptr, indices, data), with entries in any order within a row or column. `n_threads` is at least
1 and never changes a bit of a result (here it is ignored). Callers check shapes and types.
"""

# ruff: noqa: F401 - the only list of the kernels; `_kernels` takes it whole.

from ._bilevel import bilevel_program, bilevel_select
from ._checksum import crc32c
from ._descent import (
    csc_combine,
    csc_descend,
    csc_newton_cycle,
    csc_subspace_step,
    csc_terms,
    dense_combine,
    dense_descend,
    dense_newton_cycle,
    dense_subspace_step,
    dense_terms,
    gram_descend,
)
from ._genotypes import (
    genotypes_correlate,
    genotypes_count,
    genotypes_gather,
    genotypes_moments,
)
from ._losses import logistic_conjugate, logistic_curvature, logistic_value_gradient
from ._measures import ap_places, f_labelling, solve_cuts
from ._scans import (
    FLOAT32_SCAN_ERROR,
    audit_indices,
    csc_correlate,
    csc_moments,
    csr_combine,
    csr_correlate,
    csr_forms,
    csr_gather,
    csr_gram,
    csr_moments,
    csr_terms,
    csr_to_csc,
    dense_correlate,
    dense_moments,
    sparse_gram,
)
from ._smoothing import LANES, csr_smoothing_sweep, dense_smoothing_sweep, newton_bisections
from ._text import cut_text, delimited_rows, svmlight_rows
