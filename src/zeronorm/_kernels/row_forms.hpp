// Quadratic forms of compressed sparse rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "parallel.hpp"
#include "rows.hpp"

namespace zeronorm {

// out_i = x_i' A x_i, A (n_columns x n_columns).
template <class I, class T>
void row_forms(const Csr<I, T>& x, const double* matrix, double* out, std::int64_t n_threads) {
    double n_pairs = 0.0;
    for (std::int64_t i = 0; i < x.n_rows; ++i) {
        const auto length = static_cast<double>(x.indptr[i + 1] - x.indptr[i]);
        n_pairs += length * length;
    }
    constexpr std::int64_t height = 1024;
    parallel_for((x.n_rows + height - 1) / height,
                 static_cast<std::int64_t>(std::min(n_pairs, 1e15)), n_threads,
                 [=](std::int64_t block) ZERONORM_INLINE_LAMBDA {
                     const std::int64_t last = std::min((block + 1) * height, x.n_rows);
                     for (std::int64_t i = block * height; i < last; ++i) {
                         double form = 0.0;
                         for (I a = x.indptr[i]; a < x.indptr[i + 1]; ++a) {
                             const double* row = matrix + x.indices[a] * x.n_columns;
                             double image = 0.0;
                             for (I b = x.indptr[i]; b < x.indptr[i + 1]; ++b)
                                 image += row[x.indices[b]] * static_cast<double>(x.data[b]);
                             form += static_cast<double>(x.data[a]) * image;
                         }
                         out[i] = form;
                     }
                 });
}

}  // namespace zeronorm
