// The module zeronorm._kernels._native: names, array types, the release of the GIL.
// Types and specifications of the functions are in _native.pyi.

#include "bindings.hpp"
#include "vectors.hpp"

NB_MODULE(_native, m) {
    m.doc() = "Native kernels and compiled solvers; _native.pyi is their specification.";
    m.attr("FLOAT32_SCAN_ERROR") = zeronorm::kScanError;
    zeronorm::bind_dense(m);
    zeronorm::bind_sparse(m);
    zeronorm::bind_smoothing(m);
    zeronorm::bind_descent(m);
    zeronorm::bind_losses(m);
    zeronorm::bind_ridge(m);
    zeronorm::bind_blocks(m);
    zeronorm::bind_relaxation(m);
    zeronorm::bind_bilevel(m);
    zeronorm::bind_measures(m);
    zeronorm::bind_genotypes(m);
    zeronorm::bind_text(m);
}
