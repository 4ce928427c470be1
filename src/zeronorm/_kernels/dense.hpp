// Dense storage of any strides.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "columns.hpp"
#include "lanes.hpp"
#include "parallel.hpp"
#include "vectors.hpp"

namespace zeronorm {

// Adds up the partial sums by halves.
template <int N>
ZERONORM_INLINE double reduce(double (&sum)[N]) {
    static_assert((N & (N - 1)) == 0);
    for (int width = N / 2; width > 0; width /= 2)
        for (int l = 0; l < width; ++l)
            sum[l] += sum[l + width];
    return sum[0];
}

// Adds the 32 partial sums of a run by halves down to the kFolded of a float64 total.
template <class P>
ZERONORM_INLINE void fold(P (&partial)[kLanes], double (&total)[kFolded]) {
    for (int l = 0; l < kLanes / 2; ++l)
        partial[l] += partial[l + kLanes / 2];
    for (int l = 0; l < kFolded; ++l)
        total[l] += static_cast<double>(partial[l] + partial[l + kFolded]);
}

// dot[c][k] = sum of x[c][i] v[k][i] over `rows` consecutive rows of C columns, for V vectors.
template <int C, int V, class T, class P>
ZERONORM_INLINE void dot_tile(const T* const (&x)[C], const P* const (&v)[V], std::int64_t rows,
                              double (&dot)[C][V]) {
    constexpr std::int64_t run = std::int64_t{kRun} * kLanes;
    double total[C][V][kFolded] = {};
    P partial[C][V][kLanes];
    std::int64_t i = 0;
    for (; i + run <= rows; i += run) {
        // Bytes go by too fast for the prefetcher of the hardware (measured: 1.4 times).
        if constexpr (sizeof(T) == 1)
            for (int c = 0; c < C; ++c)
                for (std::int64_t ahead = 0; ahead < run; ahead += 64)
                    prefetch(x[c] + i, 2048 + ahead);
        for (int c = 0; c < C; ++c)
            for (int k = 0; k < V; ++k)
                for (int l = 0; l < kLanes; ++l)
                    partial[c][k][l] = static_cast<P>(x[c][i + l]) * v[k][i + l];
        for (std::int64_t r = i + kLanes; r < i + run; r += kLanes)
            for (int c = 0; c < C; ++c)
                for (int k = 0; k < V; ++k)
                    for (int l = 0; l < kLanes; ++l)
                        partial[c][k][l] += static_cast<P>(x[c][r + l]) * v[k][r + l];
        for (int c = 0; c < C; ++c)
            for (int k = 0; k < V; ++k)
                fold(partial[c][k], total[c][k]);
    }
    if (i < rows) {
        for (int c = 0; c < C; ++c)
            for (int k = 0; k < V; ++k)
                std::fill_n(partial[c][k], kLanes, P{0});
        for (; i + kLanes <= rows; i += kLanes)
            for (int c = 0; c < C; ++c)
                for (int k = 0; k < V; ++k)
                    for (int l = 0; l < kLanes; ++l)
                        partial[c][k][l] += static_cast<P>(x[c][i + l]) * v[k][i + l];
        for (int l = 0; i < rows; ++i, ++l)
            for (int c = 0; c < C; ++c)
                for (int k = 0; k < V; ++k)
                    partial[c][k][l] += static_cast<P>(x[c][i]) * v[k][i];
        for (int c = 0; c < C; ++c)
            for (int k = 0; k < V; ++k)
                fold(partial[c][k], total[c][k]);
    }
    for (int c = 0; c < C; ++c)
        for (int k = 0; k < V; ++k)
            dot[c][k] = reduce(total[c][k]);
}

// total[c] += sum of s_i x[c][i], square[c] += sum of s_i x[c][i]^2 over consecutive rows.
template <int C, class T>
ZERONORM_INLINE void moments_tile(const T* const (&x)[C], const double* weight, std::int64_t rows,
                                  double* total, double* square) {
    constexpr int lanes = 8;
    double sum[C][lanes] = {};
    double sum_square[C][lanes] = {};
    std::int64_t i = 0;
    for (; i + lanes <= rows; i += lanes)
        for (int c = 0; c < C; ++c)
            for (int l = 0; l < lanes; ++l) {
                const double value = static_cast<double>(x[c][i + l]);
                const double weighted = weight[i + l] * value;
                sum[c][l] += weighted;
                sum_square[c][l] += weighted * value;
            }
    for (int l = 0; i < rows; ++i, ++l)
        for (int c = 0; c < C; ++c) {
            const double value = static_cast<double>(x[c][i]);
            const double weighted = weight[i] * value;
            sum[c][l] += weighted;
            sum_square[c][l] += weighted * value;
        }
    for (int c = 0; c < C; ++c) {
        total[c] += reduce(sum[c]);
        square[c] += reduce(sum_square[c]);
    }
}

// Dense storage of any strides (counted in elements). The layout decides the order of reading.
enum class Layout { by_column, by_row, strided };
// The size of a panel of row-wise storage: its bytes, about, and its runs of rows, at least.
inline constexpr std::int64_t kPanelBytes = std::int64_t{1} << 26;
inline constexpr std::int64_t kLeastRuns = 4;

template <class T, Layout layout>
struct Dense {
    using Vectors = zeronorm::Vectors<Partial<T>>;

    const T* data;
    std::int64_t n_rows, n_columns, row_stride, column_stride;

    std::int64_t n_stored() const { return n_rows * n_columns; }

    std::int64_t block(std::int64_t n_vectors) const {
        if constexpr (layout == Layout::by_row)
            return row_width(n_vectors);
        else
            return std::clamp<std::int64_t>(
                (std::int64_t{1} << 18) / std::max<std::int64_t>(n_rows, 1), 4, 4096);
    }

    // Rows that all threads read before the next ones: a file of rows is read from its beginning
    // to its end, and no page of it twice, also where it is larger than memory.
    std::int64_t panel() const
        requires(layout == Layout::by_row)
    {
        const std::int64_t row_bytes = n_columns * static_cast<std::int64_t>(sizeof(T));
        return std::max(kPanelBytes / std::max<std::int64_t>(row_bytes, 1) / kRun, kLeastRuns) *
               kRun;
    }

    ZERONORM_INLINE void correlate(std::int64_t first, std::int64_t last, const Vectors& v,
                                   double* out) const
        requires(layout != Layout::by_row)
    {
        const std::int64_t m = v.count();
        std::fill(out + first * m, out + last * m, 0.0);
        by_tile<sizeof(T) == 1 ? 1 : 4>(
            first, last, m,
            [=, &v](const auto& x, std::int64_t i, std::int64_t rows, std::int64_t j)
                ZERONORM_INLINE_LAMBDA { add_products(x, v, i, rows, out + j * m); });
        for (std::int64_t j = first; j < last; ++j)
            for (std::int64_t k = 0; k < m; ++k)
                out[j * m + k] *= v.scale(k);
    }

    // Adds the rows begin..end, of all of which the first ones set out to 0 and the last ones
    // finish it. In between the sums of a block lie vector by vector.
    ZERONORM_INLINE void correlate(std::int64_t first, std::int64_t last, const Vectors& v,
                                   double* out, std::int64_t begin, std::int64_t end) const
        requires(layout == Layout::by_row)
    {
        const std::int64_t m = v.count();
        const std::int64_t width = last - first;
        double* sums = out + first * m;
        if (begin == 0) std::fill(sums, sums + width * m, 0.0);
        std::int64_t i = begin;
        for (; i + kRun <= end; i += kRun)
            for (std::int64_t k = 0; k < m; ++k)
                add_rows<kRun>(data + i * row_stride + first, row_stride, v[k] + i, width,
                               sums + k * width);
        for (; i < end; ++i)
            for (std::int64_t k = 0; k < m; ++k)
                add_rows<1>(data + i * row_stride + first, row_stride, v[k] + i, width,
                            sums + k * width);
        if (end < n_rows) return;
        const std::vector<double> found(sums, sums + width * m);
        for (std::int64_t k = 0; k < m; ++k)
            for (std::int64_t c = 0; c < width; ++c)
                sums[c * m + k] = found[static_cast<std::size_t>(k * width + c)] * v.scale(k);
    }

    ZERONORM_INLINE void moments(std::int64_t first, std::int64_t last, const double* weight,
                                 double* total, double* square) const
        requires(layout != Layout::by_row)
    {
        std::fill(total + first, total + last, 0.0);
        std::fill(square + first, square + last, 0.0);
        by_tile<2>(first, last, 1,
                   [=](const auto& x, std::int64_t i, std::int64_t rows, std::int64_t j)
                       ZERONORM_INLINE_LAMBDA {
                           moments_tile(x, weight + i, rows, total + j, square + j);
                       });
    }

    ZERONORM_INLINE void moments(std::int64_t first, std::int64_t last, const double* weight,
                                 double* total, double* square, std::int64_t begin,
                                 std::int64_t end) const
        requires(layout == Layout::by_row)
    {
        constexpr int few = 4;
        if (begin == 0) {
            std::fill(total + first, total + last, 0.0);
            std::fill(square + first, square + last, 0.0);
        }
        const T* row = data + first;
        std::int64_t i = begin;
        for (; i + few <= end; i += few)
            add_moments<few>(row + i * row_stride, row_stride, weight + i, last - first,
                             total + first, square + first);
        for (; i < end; ++i)
            add_moments<1>(row + i * row_stride, row_stride, weight + i, last - first,
                           total + first, square + first);
    }

    // Of single columns, where they are consecutive.
    ZERONORM_INLINE double dot(std::int64_t j, const double* v) const
        requires(layout == Layout::by_column)
    {
        const T* const x = data + j * column_stride;
        constexpr int chains = 4;  // sums that do not wait for each other
        Lanes part[chains] = {}, a, b;
        std::int64_t i = 0;
        for (; i + chains * kLaneCount <= n_rows; i += chains * kLaneCount)
            for (int k = 0; k < chains; ++k) {
                load(x + i + k * kLaneCount, a);
                load(v + i + k * kLaneCount, b);
                part[k] += a * b;
            }
        double total = 0.0;
        for (std::int64_t e = i; e < n_rows; ++e)
            total += static_cast<double>(x[e]) * v[e];
        return sum((part[0] + part[1]) + (part[2] + part[3])) + total;
    }
    ZERONORM_INLINE Terms terms(std::int64_t j, const double* v, const double* h) const
        requires(layout == Layout::by_column)
    {
        const T* const x = data + j * column_stride;
        constexpr int chains = 2;
        Lanes part[chains] = {}, linear[chains] = {}, square[chains] = {}, a, b, c;
        std::int64_t i = 0;
        for (; i + chains * kLaneCount <= n_rows; i += chains * kLaneCount)
            for (int k = 0; k < chains; ++k) {
                load(x + i + k * kLaneCount, a);
                load(v + i + k * kLaneCount, b);
                load(h + i + k * kLaneCount, c);
                part[k] += a * b;
                linear[k] += a * c;
                square[k] += a * a * c;
            }
        Terms rest{};
        for (; i < n_rows; ++i) {
            const double value = static_cast<double>(x[i]);
            rest.product += value * v[i];
            rest.total += value * h[i];
            rest.square += value * value * h[i];
        }
        return {sum(part[0] + part[1]) + rest.product, sum(linear[0] + linear[1]) + rest.total,
                sum(square[0] + square[1]) + rest.square};
    }
    ZERONORM_INLINE void add(std::int64_t j, double z, double* v) const
        requires(layout == Layout::by_column)
    {
        const T* const x = data + j * column_stride;
        std::int64_t i = 0;
        for (; i + kLaneCount <= n_rows; i += kLaneCount) {
            Lanes a, b;
            load(x + i, a);
            load(v + i, b);
            b += z * a;
            store(b, v + i);
        }
        for (; i < n_rows; ++i)
            v[i] += z * static_cast<double>(x[i]);
    }
    ZERONORM_INLINE void add_weighted(std::int64_t j, double z, const double* h, double* v) const
        requires(layout == Layout::by_column)
    {
        const T* const x = data + j * column_stride;
        std::int64_t i = 0;
        for (; i + kLaneCount <= n_rows; i += kLaneCount) {
            Lanes a, b, c;
            load(x + i, a);
            load(h + i, b);
            load(v + i, c);
            c += z * (a * b);
            store(c, v + i);
        }
        for (; i < n_rows; ++i)
            v[i] += z * (static_cast<double>(x[i]) * h[i]);
    }
    template <class Visit>
    ZERONORM_INLINE void each(std::int64_t j, const Visit& visit) const
        requires(layout == Layout::by_column)
    {
        const T* const x = data + j * column_stride;
        for (std::int64_t i = 0; i < n_rows; ++i)
            visit(i, static_cast<double>(x[i]));
    }
    std::int64_t size(std::int64_t) const { return n_rows; }

  private:
    // Columns per tile of row-wise storage: one page of each row, and sums that stay in the cache.
    static std::int64_t row_width(std::int64_t n_vectors) {
        const std::int64_t sums = (std::int64_t{1} << 15) / std::max<std::int64_t>(n_vectors, 1);
        return std::clamp<std::int64_t>(sums, 128, 2048);
    }

    // `rows` consecutive elements of column j from row i on, copied if they are not consecutive.
    ZERONORM_INLINE const T* tile(std::int64_t i, std::int64_t j, std::int64_t rows,
                                  T* buffer) const {
        const T* source = data + i * row_stride + j * column_stride;
        if constexpr (layout == Layout::by_column) return source;
        for (std::int64_t r = 0; r < rows; ++r)
            buffer[r] = source[r * row_stride];
        return buffer;
    }

    // Calls visit(x, i, rows, j) for tiles of C columns j, j + 1, ... from row i on, rows in order.
    // Columns are read in one go unless m vectors would leave the L2 cache before the next ones,
    // and several at a time: one stream of reads does not fill the memory bus.
    template <int C, class Visit>
    ZERONORM_INLINE void by_tile(std::int64_t first, std::int64_t last, std::int64_t m,
                                 const Visit& visit) const {
        T buffer[C][layout == Layout::strided ? kTile : 1];
        const std::int64_t tiles =
            std::max<std::int64_t>(kVectorCache / (std::max<std::int64_t>(m, 1) * kTile), 1);
        for (std::int64_t start = 0; start < n_rows; start += tiles * kTile) {
            const std::int64_t stop = std::min(start + tiles * kTile, n_rows);
            std::int64_t j = first;
            for (; j + C <= last; j += C)
                for (std::int64_t i = start; i < stop; i += kTile) {
                    const std::int64_t rows = std::min(kTile, stop - i);
                    const T* x[C];
                    for (int c = 0; c < C; ++c)
                        x[c] = tile(i, j + c, rows, buffer[c]);
                    visit(x, i, rows, j);
                }
            for (; j < last; ++j)
                for (std::int64_t i = start; i < stop; i += kTile) {
                    const std::int64_t rows = std::min(kTile, stop - i);
                    const T* x[1] = {tile(i, j, rows, buffer[0])};
                    visit(x, i, rows, j);
                }
        }
    }

    // out[c, k] += products of C tiles, which begin at row i, with all vectors.
    template <int C>
    ZERONORM_INLINE static void add_products(const T* const (&x)[C], const Vectors& v,
                                             std::int64_t i, std::int64_t rows, double* out) {
        const std::int64_t m = v.count();
        // Vectors that share the conversion of bytes (measured: 1.4 times).
        constexpr int few = sizeof(T) == 1 ? 2 : 1;
        std::int64_t k = 0;
        for (; k + few <= m; k += few) {
            const Partial<T>* some[few];
            for (int l = 0; l < few; ++l)
                some[l] = v[k + l] + i;
            double dot[C][few];
            dot_tile(x, some, rows, dot);
            for (int c = 0; c < C; ++c)
                for (int l = 0; l < few; ++l)
                    out[c * m + k + l] += dot[c][l];
        }
        for (; k < m; ++k) {
            double dot[C][1];
            dot_tile(x, {v[k] + i}, rows, dot);
            for (int c = 0; c < C; ++c)
                out[c * m + k] += dot[c][0];
        }
    }

    // sum[c] += sum over R rows of v[r] x[r, c]: the partial sum of a column stays in a register.
    template <int R, class P>
    ZERONORM_INLINE static void add_rows(const T* __restrict x, std::int64_t stride, const P* v,
                                         std::int64_t width, double* __restrict sum) {
        P factor[R];
        for (int r = 0; r < R; ++r)
            factor[r] = v[r];
        for (std::int64_t c = 0; c < width; ++c) {
            P partial = factor[0] * static_cast<P>(x[c]);
            for (int r = 1; r < R; ++r)
                partial += factor[r] * static_cast<P>(x[r * stride + c]);
            sum[c] += static_cast<double>(partial);
        }
    }

    // The same for sums of s_r x[r, c] and s_r x[r, c]^2.
    template <int R>
    ZERONORM_INLINE static void add_moments(const T* __restrict x, std::int64_t stride,
                                            const double* weight, std::int64_t width,
                                            double* __restrict total, double* __restrict square) {
        for (std::int64_t c = 0; c < width; ++c) {
            double sum = 0.0;
            double sum_square = 0.0;
            for (int r = 0; r < R; ++r) {
                const double value = static_cast<double>(x[r * stride + c]);
                const double weighted = weight[r] * value;
                sum += weighted;
                sum_square += weighted * value;
            }
            total[c] += sum;
            square[c] += sum_square;
        }
    }
};

}  // namespace zeronorm
