"""NumPy twins of the kernels: the oracle of the tests.

`_kernels/_native.pyi` says what each of them does. `n_threads` is ignored here; callers check
shapes and types.
"""

# ruff: noqa: F401 - the list of the twins.

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
from ._multinomial import (
    multinomial_at,
    multinomial_conjugate,
    multinomial_hessian,
    multinomial_inside,
    multinomial_scale,
)
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
