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

// How many parts of the rows have `width` sums of their own in sum_rows: as many as let putting
// them together cost little. work: additions in all. Fixed, so that bits do not depend on threads.
inline std::int64_t row_parts(std::int64_t width, double work) {
    constexpr double most_parts = 16.0, work_per_sum = 32.0;
    const double affordable = work / (work_per_sum * static_cast<double>(width + 1));
    return static_cast<std::int64_t>(std::clamp(affordable, 1.0, most_parts));
}

// `width` sums over all rows: add(first, last, sums) adds those of some rows to sums that are 0 at
// first. Every part of the rows is summed by one thread, and parts are put together in order.
template <class Add>
void sum_rows(std::int64_t n_rows, std::int64_t n_parts, std::int64_t width, double work,
              double* out, std::int64_t n_threads, const Add& add) {
    std::vector<double> sums(static_cast<std::size_t>((n_parts - 1) * width));
    parallel_for(n_parts, static_cast<std::int64_t>(std::min(work, 1e15)), n_threads,
                 [&](std::int64_t part) ZERONORM_INLINE_LAMBDA {
                     double* sum = part == 0 ? out : sums.data() + (part - 1) * width;
                     std::fill(sum, sum + width, 0.0);
                     add(part * n_rows / n_parts, (part + 1) * n_rows / n_parts, sum);
                 });
    for (std::int64_t part = 1; part < n_parts; ++part) {
        const double* sum = sums.data() + (part - 1) * width;
        for (std::int64_t k = 0; k < width; ++k)
            out[k] += sum[k];
    }
}

// out (n_columns x m, row by row) = X' v. Few columns have sums for every part of the rows, many
// are divided among the threads.
template <class I, class T>
void correlate(const Csr<I, T>& x, const double* v, std::int64_t m, double* out,
               std::int64_t n_threads) {
    const auto add_entries = [=](std::int64_t i, I first, I last,
                                 double* sums) ZERONORM_INLINE_LAMBDA {
        if (m == 1) {
            const double factor = v[i];
            for (I e = first; e < last; ++e)
                sums[x.indices[e]] += static_cast<double>(x.data[e]) * factor;
            return;
        }
        const double* __restrict factor = v + i * m;
        for (I e = first; e < last; ++e) {
            const double value = static_cast<double>(x.data[e]);
            double* __restrict sum = sums + static_cast<std::int64_t>(x.indices[e]) * m;
            for (std::int64_t k = 0; k < m; ++k)
                sum[k] += value * factor[k];
        }
    };
    constexpr std::int64_t few = 4096;
    const auto n_stored = static_cast<double>(x.n_stored());
    const std::int64_t n_parts = row_parts(x.n_columns, n_stored);  // the same for any m
    if (x.n_columns <= few && n_parts > 1) {
        sum_rows(x.n_rows, n_parts, x.n_columns * m, n_stored, out, n_threads,
                 [=](std::int64_t first, std::int64_t last, double* sums) ZERONORM_INLINE_LAMBDA {
                     for (std::int64_t i = first; i < last; ++i)
                         add_entries(i, x.indptr[i], x.indptr[i + 1], sums);
                 });
        return;
    }
    scatter(
        x, n_threads,
        [=](std::int64_t first, std::int64_t last)
            ZERONORM_INLINE_LAMBDA { std::fill(out + first * m, out + last * m, 0.0); },
        [=](std::int64_t i, I first, I last)
            ZERONORM_INLINE_LAMBDA { add_entries(i, first, last, out); });
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

// product[j] = x_j'v, total[j] = sum_i h_i x_ij, square[j] = sum_i h_i x_ij^2.
template <class I, class T>
void row_terms(const Csr<I, T>& x, const double* v, const double* h, double* product, double* total,
               double* square, std::int64_t n_threads) {
    std::vector<double> terms(static_cast<std::size_t>(3 * x.n_columns));
    const auto work = static_cast<double>(x.n_stored());
    const std::int64_t width = 3 * x.n_columns;
    sum_rows(x.n_rows, row_parts(width, work), width, work, terms.data(), n_threads,
             [=](std::int64_t first, std::int64_t last, double* sums) ZERONORM_INLINE_LAMBDA {
                 for (std::int64_t i = first; i < last; ++i) {
                     const double vi = v[i], hi = h[i];
                     for (I e = x.indptr[i]; e < x.indptr[i + 1]; ++e) {
                         const double value = static_cast<double>(x.data[e]), weighted = value * hi;
                         double* sum = sums + 3 * static_cast<std::int64_t>(x.indices[e]);
                         sum[0] += value * vi;
                         sum[1] += weighted;
                         sum[2] += value * weighted;
                     }
                 }
             });
    for (std::int64_t j = 0; j < x.n_columns; ++j) {
        const auto at = static_cast<std::size_t>(3 * j);
        product[j] = terms[at];
        total[j] = terms[at + 1];
        square[j] = terms[at + 2];
    }
}

// v += X z.
template <class I, class T>
void row_combine(const Csr<I, T>& x, const double* z, double* v, std::int64_t n_threads) {
    constexpr std::int64_t height = 1024;
    parallel_for((x.n_rows + height - 1) / height, x.n_stored(), n_threads,
                 [=](std::int64_t block) ZERONORM_INLINE_LAMBDA {
                     const std::int64_t last = std::min((block + 1) * height, x.n_rows);
                     for (std::int64_t i = block * height; i < last; ++i) {
                         double sum = 0.0;
                         for (I e = x.indptr[i]; e < x.indptr[i + 1]; ++e)
                             sum += static_cast<double>(x.data[e]) * z[x.indices[e]];
                         v[i] += sum;
                     }
                 });
}

// out (q x q) = Z' diag(weight) Z, symmetric, for some columns Z of X. Every pair of entries of a
// row of Z is met once and added on one side of the diagonal, whichever order the row has. position
// (n_columns,): where a column of X is in Z, -1 where it is not.
template <class I, class T>
void row_gram(const Csr<I, T>& x, const std::int32_t* position, std::int64_t q,
              const double* weight, double* out, std::int64_t n_threads) {
    double n_pairs = 0.0;  // as if all columns were in Z
    for (std::int64_t i = 0; i < x.n_rows; ++i) {
        const auto length = static_cast<double>(x.indptr[i + 1] - x.indptr[i]);
        n_pairs += 0.5 * length * (length + 1.0);
    }
    struct Entry {
        std::int64_t column;
        double value;
    };
    sum_rows(x.n_rows, row_parts(q * q, n_pairs), q * q, n_pairs, out, n_threads,
             [=](std::int64_t first, std::int64_t last, double* sums) ZERONORM_INLINE_LAMBDA {
                 std::vector<Entry> row;
                 for (std::int64_t i = first; i < last; ++i) {
                     const double s = weight[i];
                     if (s == 0.0) continue;
                     const auto stored = static_cast<std::size_t>(x.indptr[i + 1] - x.indptr[i]);
                     if (row.size() <= stored) row.resize(stored + 1);
                     Entry* const entries = row.data();
                     std::int64_t length = 0;
                     for (I e = x.indptr[i]; e < x.indptr[i + 1]; ++e) {
                         const std::int64_t column = position[x.indices[e]];
                         entries[length] = {column, static_cast<double>(x.data[e])};
                         length += column >= 0;
                     }
                     for (std::int64_t a = 0; a < length; ++a) {
                         const double factor = s * entries[a].value;
                         double* const sum = sums + entries[a].column * q;
                         for (std::int64_t b = a; b < length; ++b)
                             sum[entries[b].column] += factor * entries[b].value;
                     }
                 }
             });
    for (std::int64_t a = 0; a < q; ++a)
        for (std::int64_t b = 0; b < a; ++b) {
            const double sum = out[a * q + b] + out[b * q + a];
            out[a * q + b] = out[b * q + a] = sum;
        }
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
        std::min(n_threads, n_stored / std::max(kWorkPerThread, n_wanted)), 1, 64);
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
