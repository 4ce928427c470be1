// Z' diag(weight) Z of a very sparse Z.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace zeronorm {

// out (q x q, row by row), symmetric. Row a of the upper triangle is a sum over the entries (i, a)
// of s_i z_ia times what row i of Z has from column a on, found in a copy of Z by rows. A row of
// `out` fits the L1 cache and belongs to one thread.
template <class I>
void gram(const I* indptr, const std::int32_t* indices, const double* data, std::int64_t n_rows,
          std::int64_t q, const double* weight, double* out, std::int64_t n_threads) {
    const auto n_stored = static_cast<std::size_t>(indptr[q]);
    std::vector<std::int64_t> row_start(static_cast<std::size_t>(n_rows) + 1, 0);
    for (std::size_t e = 0; e < n_stored; ++e)
        ++row_start[static_cast<std::size_t>(indices[e]) + 1];
    for (std::size_t i = 1; i < row_start.size(); ++i)
        row_start[i] += row_start[i - 1];

    std::vector<std::int32_t> column(n_stored);
    std::vector<double> value(n_stored);
    // tail[e]: where the row of entry e of Z has its first entry of the same column or a later one.
    std::vector<std::int64_t> tail(n_stored);
    {
        std::vector<std::int64_t> next(row_start.begin(), row_start.end() - 1);
        for (std::int64_t a = 0; a < q; ++a)
            for (I e = indptr[a]; e < indptr[a + 1]; ++e) {
                const auto row = static_cast<std::size_t>(indices[e]);
                const std::int64_t slot = next[row]++;
                column[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(a);
                value[static_cast<std::size_t>(slot)] = data[e];
                std::int64_t first = slot;
                while (first > row_start[row] && column[static_cast<std::size_t>(first - 1)] == a)
                    --first;
                tail[static_cast<std::size_t>(e)] = first;
            }
    }

    double work = 0.0;
    for (std::size_t i = 1; i < row_start.size(); ++i) {
        const double length = static_cast<double>(row_start[i] - row_start[i - 1]);
        work += length * length / 2.0;
    }
    constexpr std::int64_t width = 8;
    const std::int64_t n_blocks = (q + width - 1) / width;
    parallel_for(
        n_blocks, static_cast<std::int64_t>(std::min(work, 1e15)), n_threads,
        [&](std::int64_t block) ZERONORM_INLINE_LAMBDA {
            const std::int64_t last = std::min((block + 1) * width, q);
            for (std::int64_t a = block * width; a < last; ++a) {
                double* sum = out + a * q;
                std::fill(sum + a, sum + q, 0.0);
                for (I e = indptr[a]; e < indptr[a + 1]; ++e) {
                    const auto row = static_cast<std::size_t>(indices[e]);
                    const double factor = weight[row] * data[e];
                    const auto end = static_cast<std::size_t>(row_start[row + 1]);
                    for (auto s = static_cast<std::size_t>(tail[static_cast<std::size_t>(e)]);
                         s < end; ++s)
                        sum[column[s]] += factor * value[s];
                }
            }
        });
    // In square tiles, so that neither side is walked column by column through all of memory.
    constexpr std::int64_t side = 32;
    for (std::int64_t a0 = 0; a0 < q; a0 += side)
        for (std::int64_t b0 = 0; b0 <= a0; b0 += side)
            for (std::int64_t a = a0; a < std::min(a0 + side, q); ++a)
                for (std::int64_t b = b0; b < std::min(b0 + side, a); ++b)
                    out[a * q + b] = out[b * q + a];
}

}  // namespace zeronorm
