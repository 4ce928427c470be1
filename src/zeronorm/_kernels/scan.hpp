// One pass over all columns: products with vectors, and moments.
#pragma once

#include <algorithm>
#include <cstdint>

#include "columns.hpp"
#include "parallel.hpp"

namespace zeronorm {

// Calls kernel(first, last) for blocks of `width` columns, or kernel(first, last, begin, end) for
// the blocks of a panel of rows and then those of the next one, where storage asks for that.
template <class C, class Kernel>
void for_blocks(const C& x, std::int64_t width, std::int64_t m, std::int64_t n_threads,
                const Kernel& kernel) {
    const std::int64_t n_blocks = (x.n_columns + width - 1) / width;
    const std::int64_t work = (x.n_stored() + x.n_columns) * m;
    if constexpr (requires { x.panel(); }) {
        for (std::int64_t begin = 0; begin < x.n_rows; begin += x.panel()) {
            const std::int64_t end = std::min(begin + x.panel(), x.n_rows);
            parallel_for(n_blocks, work / x.n_rows * (end - begin), n_threads,
                         [&](std::int64_t block) ZERONORM_INLINE_LAMBDA {
                             const std::int64_t first = block * width;
                             kernel(first, std::min(first + width, x.n_columns), begin, end);
                         });
        }
    } else {
        parallel_for(n_blocks, work, n_threads, [&](std::int64_t block) ZERONORM_INLINE_LAMBDA {
            const std::int64_t first = block * width;
            kernel(first, std::min(first + width, x.n_columns));
        });
    }
}

// out (n_columns x m, row by row) = X' v.
template <class C>
void correlate(const C& x, const typename C::Vectors& v, double* out, std::int64_t n_threads) {
    for_blocks(x, x.block(v.count()), v.count(), n_threads,
               [&](std::int64_t first, std::int64_t last, auto... rows)
                   ZERONORM_INLINE_LAMBDA { x.correlate(first, last, v, out, rows...); });
}

// total[j] = sum_i s_i x_ij, square[j] = sum_i s_i x_ij^2.
template <class C>
void moments(const C& x, const double* weight, double* total, double* square,
             std::int64_t n_threads) {
    for_blocks(x, x.block(2), 2, n_threads,
               [&](std::int64_t first, std::int64_t last, auto... rows) ZERONORM_INLINE_LAMBDA {
                   x.moments(first, last, weight, total, square, rows...);
               });
}

}  // namespace zeronorm
