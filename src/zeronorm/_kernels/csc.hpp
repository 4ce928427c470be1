// Compressed sparse columns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "columns.hpp"
#include "parallel.hpp"

namespace zeronorm {

// Compressed sparse columns; entries of a column in any order, repeated ones add up.
template <class I, class T>
struct Csc {
    // Entries are few and scattered: the vectors stay as they come, those of a row side by side.
    struct Vectors {
        const double* value;
        std::int64_t m;
        std::int64_t count() const { return m; }
    };

    const I* indptr;
    const I* indices;
    const T* data;
    std::int64_t n_columns;

    std::int64_t n_stored() const { return static_cast<std::int64_t>(indptr[n_columns]); }
    std::int64_t block(std::int64_t) const {
        return std::clamp<std::int64_t>(n_columns / 64, 16, 8192);
    }

    ZERONORM_INLINE void correlate(std::int64_t first, std::int64_t last, const Vectors& v,
                                   double* out) const {
        std::int64_t k = 0;
        for (; k + 8 <= v.m; k += 8)
            correlate_few<8>(first, last, v.value + k, v.m, out + k);
        for (; k + 2 <= v.m; k += 2)
            correlate_few<2>(first, last, v.value + k, v.m, out + k);
        for (; k < v.m; ++k)
            correlate_few<1>(first, last, v.value + k, v.m, out + k);
    }

    ZERONORM_INLINE void moments(std::int64_t first, std::int64_t last, const double* weight,
                                 double* total, double* square) const {
        for (std::int64_t j = first; j < last; ++j) {
            double sum = 0.0;
            double sum_square = 0.0;
            for (I e = indptr[j]; e < indptr[j + 1]; ++e) {
                const double value = static_cast<double>(data[e]);
                const double weighted = weight[indices[e]] * value;
                sum += weighted;
                sum_square += weighted * value;
            }
            total[j] = sum;
            square[j] = sum_square;
        }
    }

    // Of single columns.
    ZERONORM_INLINE double dot(std::int64_t j, const double* v) const {
        constexpr int chains = 4;
        double part[chains] = {};
        I e = indptr[j];
        const I end = indptr[j + 1];
        for (; e + chains <= end; e += chains)
            for (int k = 0; k < chains; ++k)
                part[k] += static_cast<double>(data[e + k]) * v[indices[e + k]];
        for (; e < end; ++e)
            part[0] += static_cast<double>(data[e]) * v[indices[e]];
        return (part[0] + part[1]) + (part[2] + part[3]);
    }
    ZERONORM_INLINE Terms terms(std::int64_t j, const double* v, const double* h) const {
        Terms sums{};
        for (I e = indptr[j]; e < indptr[j + 1]; ++e) {
            const double value = static_cast<double>(data[e]), weighted = value * h[indices[e]];
            sums.product += value * v[indices[e]];
            sums.total += weighted;
            sums.square += value * weighted;
        }
        return sums;
    }
    ZERONORM_INLINE void add(std::int64_t j, double z, double* v) const {
        for (I e = indptr[j]; e < indptr[j + 1]; ++e)
            v[indices[e]] += z * static_cast<double>(data[e]);
    }
    ZERONORM_INLINE void add_weighted(std::int64_t j, double z, const double* h, double* v) const {
        for (I e = indptr[j]; e < indptr[j + 1]; ++e)
            v[indices[e]] += z * (static_cast<double>(data[e]) * h[indices[e]]);
    }
    template <class Visit>
    ZERONORM_INLINE void each(std::int64_t j, const Visit& visit) const {
        for (I e = indptr[j]; e < indptr[j + 1]; ++e)
            visit(static_cast<std::int64_t>(indices[e]), static_cast<double>(data[e]));
    }
    std::int64_t size(std::int64_t j) const {
        return static_cast<std::int64_t>(indptr[j + 1] - indptr[j]);
    }

  private:
    // sum += products of entry e with V vectors, of which there are m.
    template <int V>
    ZERONORM_INLINE void add_entry(I e, const double* v, std::int64_t m, double (&sum)[V]) const {
        const double value = static_cast<double>(data[e]);
        const double* row = v + static_cast<std::int64_t>(indices[e]) * m;
        for (int k = 0; k < V; ++k)
            sum[k] += value * row[k];
    }

    template <int V>
    ZERONORM_INLINE void correlate_few(std::int64_t first, std::int64_t last, const double* v,
                                       std::int64_t m, double* out) const {
        // In a long column one chain of additions would have to wait for each of them; several
        // short columns overlap in the processor anyway.
        constexpr int lanes = 4;
        constexpr int long_column = 16;
        I e = indptr[first];
        for (std::int64_t j = first; j < last; ++j) {
            const I end = indptr[j + 1];
            double sum[V] = {};
            if (end - e >= long_column) {
                double partial[lanes][V] = {};
                for (; end - e >= lanes; e += lanes)
                    for (I l = 0; l < lanes; ++l)
                        add_entry(e + l, v, m, partial[l]);
                for (int k = 0; k < V; ++k)
                    sum[k] = (partial[0][k] + partial[1][k]) + (partial[2][k] + partial[3][k]);
            }
            for (; e < end; ++e)
                add_entry(e, v, m, sum);
            for (int k = 0; k < V; ++k)
                out[j * m + k] = sum[k];
        }
    }
};

}  // namespace zeronorm
