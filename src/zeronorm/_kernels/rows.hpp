// Compressed sparse rows: sums over columns by scattering, and a gather of columns.
#pragma once

#include <algorithm>
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

template <class I, class T>
bool rows_are_sorted(const Csr<I, T>& x, std::int64_t n_threads) {
    constexpr std::int64_t rows_per_block = 512;
    std::atomic<bool> sorted{true};
    parallel_for((x.n_rows + rows_per_block - 1) / rows_per_block, x.n_stored() / 4, n_threads,
                 [&](std::int64_t block) ZERONORM_INLINE_LAMBDA {
                     const std::int64_t last = std::min((block + 1) * rows_per_block, x.n_rows);
                     bool descends = false;
                     for (std::int64_t i = block * rows_per_block; i < last; ++i)
                         for (I e = x.indptr[i] + 1; e < x.indptr[i + 1]; ++e)
                             descends |= x.indices[e] < x.indices[e - 1];
                     if (descends) sorted.store(false, std::memory_order_relaxed);
                 });
    return sorted.load();
}

// Calls add(i, e, j) for every entry e of row i and column j, so that the entries of one column
// come in one thread, in the order of the rows: sums are the same for any number of threads.
//
// Columns are divided into ranges whose sums stay in the L2 cache. In sorted rows each range goes
// on where the one before it ended; otherwise every range looks at all entries.
template <class I, class T, class Begin, class Add>
void scatter(const Csr<I, T>& x, std::int64_t bytes_per_column, std::int64_t n_threads,
             const Begin& begin, const Add& add) {
    constexpr std::int64_t cache = std::int64_t{1} << 19;
    const std::int64_t n_stored = x.n_stored();
    n_threads = std::clamp<std::int64_t>(n_stored / kWorkPerThread, 1, n_threads);
    const bool sorted = rows_are_sorted(x, n_threads);
    const std::int64_t n_ranges = sorted ? std::max(n_threads, std::min(x.n_columns * bytes_per_column / cache, n_stored / std::max<std::int64_t>(x.n_rows,1) / 16)) : n_threads;
    // A thread takes consecutive ranges, `n_parts` of them: cursors move on from one to the next.
    const std::int64_t n_parts = n_threads;
    parallel_for(n_parts, n_stored, n_threads, [&](std::int64_t part) ZERONORM_INLINE_LAMBDA {
        const std::int64_t first_range = part * n_ranges / n_parts;
        const std::int64_t last_range = (part + 1) * n_ranges / n_parts;
        std::vector<I> cursor;
        if (sorted && n_ranges > 1) {
            const std::int64_t j = first_range * x.n_columns / n_ranges;
            cursor.assign(x.indptr, x.indptr + x.n_rows);
            if (j > 0)
                for (std::int64_t i = 0; i < x.n_rows; ++i)
                    cursor[static_cast<std::size_t>(i)] = static_cast<I>(
                        std::lower_bound(x.indices + x.indptr[i], x.indices + x.indptr[i + 1], j) -
                        x.indices);
        }
        for (std::int64_t range = first_range; range < last_range; ++range) {
            const std::int64_t first = range * x.n_columns / n_ranges;
            const std::int64_t last = (range + 1) * x.n_columns / n_ranges;
            begin(first, last);
            for (std::int64_t i = 0; i < x.n_rows; ++i) {
                const I end = x.indptr[i + 1];
                if (n_ranges == 1) {
                    for (I e = x.indptr[i]; e < end; ++e)
                        add(i, static_cast<std::int64_t>(e), static_cast<std::int64_t>(x.indices[e]));
                } else if (sorted) {
                    I& e = cursor[static_cast<std::size_t>(i)];
                    I e1 = e;
                    for (; e1 < end && x.indices[e1] < last; ++e1)
                        add(i, static_cast<std::int64_t>(e1), static_cast<std::int64_t>(x.indices[e1]));
                    e = e1;
                } else {
                    for (I e = x.indptr[i]; e < end; ++e) {
                        const std::int64_t j = static_cast<std::int64_t>(x.indices[e]);
                        if (j >= first && j < last) add(i, static_cast<std::int64_t>(e), j);
                    }
                }
            }
        }
    });
}

// out (n_columns x m, row by row) = X' v.
template <class I, class T>
void correlate(const Csr<I, T>& x, const double* v, std::int64_t m, double* out,
               std::int64_t n_threads) {
    const auto clear = [=](std::int64_t first, std::int64_t last) ZERONORM_INLINE_LAMBDA {
        std::fill(out + first * m, out + last * m, 0.0);
    };
    const T* data = x.data;
    if (m == 1) {
        scatter(x, 8, n_threads, clear,
                [=](std::int64_t i, std::int64_t e, std::int64_t j) ZERONORM_INLINE_LAMBDA {
                    out[j] += static_cast<double>(data[e]) * v[i];
                });
    } else {
        scatter(x, 8 * m, n_threads, clear,
                [=](std::int64_t i, std::int64_t e, std::int64_t j) ZERONORM_INLINE_LAMBDA {
                    const double value = static_cast<double>(data[e]);
                    for (std::int64_t k = 0; k < m; ++k) out[j * m + k] += value * v[i * m + k];
                });
    }
}

// total[j] = sum_i s_i x_ij, square[j] = sum_i s_i x_ij^2.
template <class I, class T>
void moments(const Csr<I, T>& x, const double* weight, double* total, double* square,
             std::int64_t n_threads) {
    const T* data = x.data;
    scatter(
        x, 16, n_threads,
        [=](std::int64_t first, std::int64_t last) ZERONORM_INLINE_LAMBDA {
            std::fill(total + first, total + last, 0.0);
            std::fill(square + first, square + last, 0.0);
        },
        [=](std::int64_t i, std::int64_t e, std::int64_t j) ZERONORM_INLINE_LAMBDA {
            const double value = static_cast<double>(data[e]);
            const double weighted = weight[i] * value;
            total[j] += weighted;
            square[j] += weighted * value;
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
                    entries.push_back({static_cast<std::int32_t>(i), column,
                                       static_cast<double>(x.data[e])});
            }
    });
    Gathered result;
    result.indptr.assign(static_cast<std::size_t>(n_wanted) + 1, 0);
    for (const auto& entries : found)
        for (const Entry& entry : entries) ++result.indptr[static_cast<std::size_t>(entry.column) + 1];
    for (std::size_t c = 1; c < result.indptr.size(); ++c) result.indptr[c] += result.indptr[c - 1];
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
