// Compressed sparse rows: sums over columns by scattering, and a gather of columns.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace zeronorm {

template <class I, class T>
struct Csr {
    const I* indptr;
    const I* indices;
    const T* data;
    std::int64_t n_rows, n_columns;

    std::int64_t n_stored() const { return static_cast<std::int64_t>(indptr[n_rows]); }
};

// Cuts the columns into `n_parts` consecutive ranges with about as many entries each.
template <class I, class T>
std::vector<I> cut_columns(const Csr<I, T>& x, std::int64_t n_parts) {
    constexpr std::int64_t n_samples = 4096;
    const std::int64_t n_stored = x.n_stored();
    std::vector<I> sample;
    for (std::int64_t s = 0; s < n_samples && n_stored > 0; ++s)
        sample.push_back(x.indices[s * n_stored / n_samples]);
    std::sort(sample.begin(), sample.end());
    std::vector<I> cuts(static_cast<std::size_t>(n_parts) + 1, 0);
    for (std::size_t part = 1; part + 1 < cuts.size() && !sample.empty(); ++part)
        cuts[part] = sample[part * sample.size() / (cuts.size() - 1)];
    cuts.back() = static_cast<I>(x.n_columns);
    return cuts;
}

// Calls clear(first, last) for ranges of columns, then add(i, first, last) for the entries of row i
// in that range, rows in order. A range belongs to one thread: the entries of a column are added in
// the order of the rows, whatever the number of threads.
template <class I, class T, class Clear, class Add>
void scatter(const Csr<I, T>& x, std::int64_t n_threads, const Clear& clear, const Add& add) {
    std::int64_t n_parts = std::clamp<std::int64_t>(x.n_stored() / kWorkPerThread, 1,
                                                    std::max<std::int64_t>(n_threads, 1));
    std::vector<I> cuts = cut_columns(x, n_parts);
    // bound[i, part]: the first entry of row i in that part or a later one.
    std::vector<I> bound;
    if (n_parts > 1) {
        bound.resize(static_cast<std::size_t>(x.n_rows * n_parts));
        std::atomic<bool> sorted{true};
        constexpr std::int64_t rows_per_block = 256;
        parallel_for((x.n_rows + rows_per_block - 1) / rows_per_block, x.n_stored(), n_threads,
                     [&](std::int64_t block) ZERONORM_INLINE_LAMBDA {
                         if (!sorted.load(std::memory_order_relaxed)) return;
                         const std::int64_t last = std::min((block + 1) * rows_per_block, x.n_rows);
                         I descents = 0;
                         for (std::int64_t i = block * rows_per_block; i < last; ++i) {
                             const I begin = x.indptr[i];
                             const I end = x.indptr[i + 1];
                             for (I e = begin + 1; e < end; ++e)
                                 descents |= static_cast<I>(x.indices[e] < x.indices[e - 1]);
                             I* row = bound.data() + i * n_parts;
                             row[0] = begin;
                             for (std::int64_t part = 1; part < n_parts; ++part)
                                 row[part] = static_cast<I>(
                                     std::lower_bound(x.indices + row[part - 1], x.indices + end,
                                                      cuts[static_cast<std::size_t>(part)]) -
                                     x.indices);
                         }
                         if (descents != 0) sorted.store(false, std::memory_order_relaxed);
                     });
        if (!sorted.load()) {
            // Rows that are not sorted cannot be divided by a search: one thread does it all.
            n_parts = 1;
            cuts = {0, static_cast<I>(x.n_columns)};
        }
    }
    parallel_for(n_parts, x.n_stored(), n_threads, [&](std::int64_t part) ZERONORM_INLINE_LAMBDA {
        clear(static_cast<std::int64_t>(cuts[static_cast<std::size_t>(part)]),
              static_cast<std::int64_t>(cuts[static_cast<std::size_t>(part) + 1]));
        if (n_parts == 1) {
            for (std::int64_t i = 0; i < x.n_rows; ++i)
                add(i, x.indptr[i], x.indptr[i + 1]);
        } else {
            const I* begin = bound.data() + part;
            for (std::int64_t i = 0; i < x.n_rows; ++i, begin += n_parts) {
                // The hardware foresees neither where the piece of the next row begins.
                if (i + 1 < x.n_rows)
                    for (std::int64_t ahead = 0; ahead < 512; ahead += 64) {
                        prefetch(x.indices + begin[n_parts], ahead);
                        prefetch(x.data + begin[n_parts], ahead);
                    }
                add(i, *begin, part + 1 < n_parts ? begin[1] : x.indptr[i + 1]);
            }
        }
    });
}

// out (n_columns x m, row by row) = X' v.
template <class I, class T>
void correlate(const Csr<I, T>& x, const double* v, std::int64_t m, double* out,
               std::int64_t n_threads) {
    scatter(
        x, n_threads,
        [=](std::int64_t first, std::int64_t last)
            ZERONORM_INLINE_LAMBDA { std::fill(out + first * m, out + last * m, 0.0); },
        [=](std::int64_t i, I first, I last) ZERONORM_INLINE_LAMBDA {
            if (m == 1) {
                const double factor = v[i];
                for (I e = first; e < last; ++e)
                    out[x.indices[e]] += static_cast<double>(x.data[e]) * factor;
                return;
            }
            const double* __restrict factor = v + i * m;
            for (I e = first; e < last; ++e) {
                const double value = static_cast<double>(x.data[e]);
                double* __restrict sum = out + static_cast<std::int64_t>(x.indices[e]) * m;
                for (std::int64_t k = 0; k < m; ++k)
                    sum[k] += value * factor[k];
            }
        });
}

// total[j] = sum_i s_i x_ij, square[j] = sum_i s_i x_ij^2.
template <class I, class T>
void moments(const Csr<I, T>& x, const double* weight, double* total, double* square,
             std::int64_t n_threads) {
    scatter(
        x, n_threads,
        [=](std::int64_t first, std::int64_t last) ZERONORM_INLINE_LAMBDA {
            std::fill(total + first, total + last, 0.0);
            std::fill(square + first, square + last, 0.0);
        },
        [=](std::int64_t i, I first, I last) ZERONORM_INLINE_LAMBDA {
            const double s = weight[i];
            for (I e = first; e < last; ++e) {
                const double value = static_cast<double>(x.data[e]);
                const double weighted = s * value;
                total[x.indices[e]] += weighted;
                square[x.indices[e]] += weighted * value;
            }
        });
}

// Compressed sparse columns, owned.
struct Gathered {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<double> data;
};

// The columns j with position[j] >= 0, as columns position[j] < n_wanted; entries in row order.
template <class I, class T>
Gathered gather(const Csr<I, T>& x, const std::int32_t* position, std::int64_t n_wanted,
                std::int64_t n_threads) {
    struct Entry {
        std::int32_t row, column;
        double value;
    };
    constexpr std::int64_t rows_per_block = 1024;
    const std::int64_t n_blocks = (x.n_rows + rows_per_block - 1) / rows_per_block;
    std::vector<std::vector<Entry>> found(static_cast<std::size_t>(n_blocks));
    parallel_for(n_blocks, x.n_stored(), n_threads, [&](std::int64_t block) ZERONORM_INLINE_LAMBDA {
        std::vector<Entry>& entries = found[static_cast<std::size_t>(block)];
        const std::int64_t last = std::min((block + 1) * rows_per_block, x.n_rows);
        for (std::int64_t i = block * rows_per_block; i < last; ++i)
            for (I e = x.indptr[i]; e < x.indptr[i + 1]; ++e) {
                const std::int32_t column = position[x.indices[e]];
                if (column >= 0)
                    entries.push_back(
                        {static_cast<std::int32_t>(i), column, static_cast<double>(x.data[e])});
            }
    });
    Gathered result;
    result.indptr.assign(static_cast<std::size_t>(n_wanted) + 1, 0);
    for (const auto& entries : found)
        for (const Entry& entry : entries)
            ++result.indptr[static_cast<std::size_t>(entry.column) + 1];
    for (std::size_t c = 1; c < result.indptr.size(); ++c)
        result.indptr[c] += result.indptr[c - 1];
    const auto n_found = static_cast<std::size_t>(result.indptr.back());
    result.indices.resize(n_found);
    result.data.resize(n_found);
    std::vector<std::int64_t> next(result.indptr.begin(), result.indptr.end() - 1);
    for (const auto& entries : found)
        for (const Entry& entry : entries) {
            const auto slot =
                static_cast<std::size_t>(next[static_cast<std::size_t>(entry.column)]++);
            result.indices[slot] = entry.row;
            result.data[slot] = entry.value;
        }
    return result;
}

}  // namespace zeronorm
