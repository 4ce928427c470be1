// Compressed sparse rows: sums over columns by scattering, and a gather of columns.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "memory.hpp"
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
template <class I, class T>
struct Gathered {
    std::unique_ptr<I[]> indptr;
    std::unique_ptr<std::int32_t[]> indices;
    std::unique_ptr<T[]> data;
};

// The columns j with place(j) >= 0, as columns place(j) < n_wanted; entries in row order.
// Two passes over the rows, which are cut into a part for each thread: the first counts the entries
// of every column in every part, the second puts each where it belongs. Both ask for memory ahead:
// where there are many columns, the next counter is never in the cache.
template <class Out, class Value, class I, class T, class Place>
Gathered<Out, Value> gather(const Csr<I, T>& x, const Place& place, std::int64_t n_wanted,
                            std::int64_t n_threads) {
    constexpr I ahead = 32;
    // Every part has counts of its own: they must not outweigh the entries.
    const std::int64_t n_stored = x.n_stored();
    const std::int64_t n_parts = std::clamp<std::int64_t>(
        std::min(n_threads, n_stored / std::max(kWorkPerThread, 2 * n_wanted)), 1, 64);
    std::vector<std::int64_t> cuts(static_cast<std::size_t>(n_parts) + 1, x.n_rows);
    for (std::int64_t part = 0; part < n_parts; ++part)
        cuts[static_cast<std::size_t>(part)] =
            std::lower_bound(x.indptr, x.indptr + x.n_rows,
                             static_cast<I>(part * (n_stored / n_parts))) -
            x.indptr;
    // Columns that are not wanted are counted in the first place of every part.
    const std::int64_t width = n_wanted + 1;
    const auto next = allocate<Out>(static_cast<std::size_t>(n_parts * width));
    const I* const indices = x.indices;
    const I end = static_cast<I>(n_stored);
    parallel_for(n_parts, n_stored, n_threads, [&](std::int64_t part) ZERONORM_INLINE_LAMBDA {
        Out* const own = next.get() + part * width + 1;
        std::fill(own - 1, own + n_wanted, Out{0});
        const I last = x.indptr[cuts[static_cast<std::size_t>(part) + 1]];
        for (I e = x.indptr[cuts[static_cast<std::size_t>(part)]]; e < last; ++e) {
            if (e + ahead < end) place.prepare(indices[e + ahead], own);
            ++own[place(indices[e])];
        }
    });
    Gathered<Out, Value> result;
    result.indptr = allocate<Out>(static_cast<std::size_t>(width));
    Out total = 0;
    for (std::int64_t column = 0; column < n_wanted; ++column) {
        result.indptr[static_cast<std::size_t>(column)] = total;
        for (std::int64_t part = 0; part < n_parts; ++part) {
            Out& count = next[static_cast<std::size_t>(part * width + 1 + column)];
            total += std::exchange(count, total);
        }
    }
    result.indptr[static_cast<std::size_t>(n_wanted)] = total;
    const auto n_found = static_cast<std::size_t>(total);
    result.indices = allocate<std::int32_t>(n_found);
    result.data = allocate<Value>(n_found);
    parallel_for(n_parts, n_stored, n_threads, [&](std::int64_t part) ZERONORM_INLINE_LAMBDA {
        Out* const own = next.get() + part * width + 1;
        const std::int64_t last = cuts[static_cast<std::size_t>(part) + 1];
        for (std::int64_t i = cuts[static_cast<std::size_t>(part)]; i < last; ++i)
            for (I e = x.indptr[i]; e < x.indptr[i + 1]; ++e) {
                if (e + ahead < end) {
                    place.prepare(indices[e + ahead], own);
                    const std::int64_t soon = place(indices[e + ahead / 2]);
                    if (soon >= 0) {
                        prefetch(result.indices.get() + own[soon], 0);
                        prefetch(result.data.get() + own[soon], 0);
                    }
                }
                const std::int64_t column = place(indices[e]);
                if (column < 0) continue;
                const auto slot = static_cast<std::size_t>(own[column]++);
                result.indices[slot] = static_cast<std::int32_t>(i);
                result.data[slot] = static_cast<Value>(x.data[e]);
            }
    });
    return result;
}

// Places of columns: in an array, or all where they are.
struct ChosenColumns {
    const std::int32_t* position;
    ZERONORM_INLINE std::int64_t operator()(std::int64_t j) const { return position[j]; }
    template <class Out>
    ZERONORM_INLINE void prepare(std::int64_t j, const Out*) const {
        prefetch(position + j, 0);
    }
};
struct AllColumns {
    ZERONORM_INLINE std::int64_t operator()(std::int64_t j) const { return j; }
    template <class Out>
    ZERONORM_INLINE void prepare(std::int64_t j, const Out* own) const {
        prefetch(own + j, 0);
    }
};

}  // namespace zeronorm
