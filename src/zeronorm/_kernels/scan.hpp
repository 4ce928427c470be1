// One pass over all columns: products with vectors, and moments.
#pragma once

#include <algorithm>
#include <cstdint>

#include "columns.hpp"
#include "parallel.hpp"

namespace zeronorm {

// out (n_columns x m, row by row) = X' v.
template <Columns C>
void correlate(const C& x, const typename C::Vectors& v, double* out, std::int64_t n_threads) {
    const std::int64_t width = x.block(v.count());
    const std::int64_t n_blocks = (x.n_columns + width - 1) / width;
    parallel_for(n_blocks, (x.n_stored() + x.n_columns) * v.count(), n_threads,
                 [&](std::int64_t block) ZERONORM_INLINE_LAMBDA {
                     const std::int64_t first = block * width;
                     x.correlate(first, std::min(first + width, x.n_columns), v, out);
                 });
}

// total[j] = sum_i s_i x_ij, square[j] = sum_i s_i x_ij^2.
template <Columns C>
void moments(const C& x, const double* weight, double* total, double* square,
             std::int64_t n_threads) {
    const std::int64_t width = x.block(2);
    const std::int64_t n_blocks = (x.n_columns + width - 1) / width;
    parallel_for(n_blocks, 2 * (x.n_stored() + x.n_columns), n_threads,
                 [&](std::int64_t block) ZERONORM_INLINE_LAMBDA {
                     const std::int64_t first = block * width;
                     x.moments(first, std::min(first + width, x.n_columns), weight, total, square);
                 });
}

}  // namespace zeronorm
