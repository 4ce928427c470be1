// Genotypes in two bits, as PLINK's .bed files have them: four samples in a byte, the first in its
// lowest bits, and every variant from a byte of its own on. A code means a value of its variant's
// table, so that missing genotypes and every coding cost the same.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "dense.hpp"
#include "parallel.hpp"
#include "vectors.hpp"

namespace zeronorm {

inline constexpr std::int64_t kCodes = 4;          // of a genotype
inline constexpr std::int64_t kPerByte = 4;        // genotypes
inline constexpr std::int64_t kGenotypeLanes = 8;  // decoded together, half of a word of 32 bits
inline constexpr std::int64_t kGenotypeGroups = kLanes / kGenotypeLanes;

using Values = float __attribute__((vector_size(kGenotypeLanes * sizeof(float))));
using Codes = std::uint32_t __attribute__((vector_size(kGenotypeLanes * sizeof(float))));

// The table of a variant, twice: three bits of a code's place may then index it, and the bit of
// the next genotype needs no mask.
ZERONORM_INLINE void load_table(const float* values, Values& table) {
    table = Values{values[0], values[1], values[2], values[3],
                   values[0], values[1], values[2], values[3]};
}

// to <- the values of the genotypes `first` .. `first` + 7 of the 16 in a word.
template <int first>
ZERONORM_INLINE void decode(std::uint32_t word, const Values& table, Values& to) {
    constexpr Codes shift = {2 * first,     2 * first + 2,  2 * first + 4,  2 * first + 6,
                             2 * first + 8, 2 * first + 10, 2 * first + 12, 2 * first + 14};
    const Codes code = (Codes{} + word) >> shift;
#if defined(__clang__)
    for (int l = 0; l < kGenotypeLanes; ++l)
        to[l] = table[code[l] & 3];
#else
    to = __builtin_shuffle(table, code);
#endif
}

ZERONORM_INLINE std::uint32_t load_word(const std::uint8_t* from) {
    std::uint32_t word;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&word, from, sizeof word);
    } else {
        word = 0;
        for (int b = 0; b < 4; ++b)
            word |= static_cast<std::uint32_t>(from[b]) << (8 * b);
    }
    return word;
}

// partial[c][k] += the products of kLanes genotypes of C variants with V vectors.
template <int C, int V>
ZERONORM_INLINE void multiply_lanes(const std::uint8_t* const (&x)[C], std::int64_t byte,
                                    const Values (&table)[C], const float* const (&v)[V],
                                    std::int64_t row, Values (&partial)[C][V][kGenotypeGroups]) {
    for (int half = 0; half < 2; ++half) {
        Values low[C], high[C];
        for (int c = 0; c < C; ++c) {
            const std::uint32_t word = load_word(x[c] + byte + 4 * half);
            decode<0>(word, table[c], low[c]);
            decode<8>(word, table[c], high[c]);
        }
        for (int k = 0; k < V; ++k) {
            Values first, second;
            std::memcpy(&first, v[k] + row + 16 * half, sizeof first);
            std::memcpy(&second, v[k] + row + 16 * half + kGenotypeLanes, sizeof second);
            for (int c = 0; c < C; ++c) {
                partial[c][k][2 * half] += low[c] * first;
                partial[c][k][2 * half + 1] += high[c] * second;
            }
        }
    }
}

// The 32 partial sums of a run, added to the kFolded of a float64 total.
ZERONORM_INLINE void fold_genotypes(const Values (&partial)[kGenotypeGroups],
                                    double (&total)[kFolded]) {
    const Values folded = (partial[0] + partial[2]) + (partial[1] + partial[3]);
    for (int l = 0; l < kFolded; ++l)
        total[l] += static_cast<double>(folded[l]);
}

// dot[c][k] = sum of x[c][i] v[k][i] over all rows; the precision is that of `dot_tile`.
template <int C, int V>
ZERONORM_INLINE void dot_genotypes(const std::uint8_t* const (&x)[C], const Values (&table)[C],
                                   const float* const (&v)[V], std::int64_t rows,
                                   double (&dot)[C][V]) {
    constexpr std::int64_t run = std::int64_t{kRun} * kLanes;
    double total[C][V][kFolded] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= rows;) {
        Values partial[C][V][kGenotypeGroups] = {};
        for (const std::int64_t stop = std::min(i + run, rows - kLanes + 1); i < stop; i += kLanes)
            multiply_lanes(x, i / kPerByte, table, v, i, partial);
        for (int c = 0; c < C; ++c)
            for (int k = 0; k < V; ++k)
                fold_genotypes(partial[c][k], total[c][k]);
    }
    if (i < rows) {
        // Of the last rows: copies that end with zeros, which padding bits are multiplied with.
        std::uint8_t bytes[C][kLanes / kPerByte] = {};
        float rest[V][kLanes] = {};
        const std::uint8_t* last[C];
        const float* vector[V];
        for (int c = 0; c < C; ++c) {
            std::memcpy(bytes[c], x[c] + i / kPerByte,
                        static_cast<std::size_t>((rows - i + kPerByte - 1) / kPerByte));
            last[c] = bytes[c];
        }
        for (int k = 0; k < V; ++k) {
            std::memcpy(rest[k], v[k] + i, static_cast<std::size_t>(rows - i) * sizeof(float));
            vector[k] = rest[k];
        }
        Values partial[C][V][kGenotypeGroups] = {};
        multiply_lanes(last, 0, table, vector, 0, partial);
        for (int c = 0; c < C; ++c)
            for (int k = 0; k < V; ++k)
                fold_genotypes(partial[c][k], total[c][k]);
    }
    for (int c = 0; c < C; ++c)
        for (int k = 0; k < V; ++k)
            dot[c][k] = reduce(total[c][k]);
}

// Some variants of packed genotypes: column j is variant index[j], with the table values[4 j].
struct Genotypes {
    using Vectors = zeronorm::Vectors<float>;

    const std::uint8_t* data;
    std::int64_t n_rows, n_columns, stride;  // stride: bytes of a variant
    const std::int64_t* index;
    const float* values;

    std::int64_t n_stored() const { return n_rows * n_columns / kPerByte; }

    std::int64_t block(std::int64_t) const {
        return std::clamp<std::int64_t>((std::int64_t{1} << 18) / stride, 4, 4096);
    }

    ZERONORM_INLINE const std::uint8_t* variant(std::int64_t j) const {
        return data + index[j] * stride;
    }

    ZERONORM_INLINE void correlate(std::int64_t first, std::int64_t last, const Vectors& v,
                                   double* out) const {
        std::int64_t j = first;
        for (; j + 2 <= last; j += 2)
            multiply<2>(j, v, out);
        for (; j < last; ++j)
            multiply<1>(j, v, out);
    }

    ZERONORM_INLINE void moments(std::int64_t first, std::int64_t last, const double* weight,
                                 double* total, double* square) const {
        float buffer[kTile];
        for (std::int64_t j = first; j < last; ++j) {
            total[j] = square[j] = 0.0;
            for (std::int64_t i = 0; i < n_rows; i += kTile) {
                const std::int64_t rows = std::min(kTile, n_rows - i);
                decode_rows(j, i, rows, buffer);
                const float* const x[1] = {buffer};
                moments_tile(x, weight + i, rows, total + j, square + j);
            }
        }
    }

    // to[i - start] = x_ij of consecutive rows from a multiple of four on.
    template <class T>
    ZERONORM_INLINE void decode_rows(std::int64_t j, std::int64_t start, std::int64_t rows,
                                     T* to) const {
        const std::uint8_t* const x = variant(j) + start / kPerByte;
        const float* const table = values + kCodes * j;
        for (std::int64_t i = 0; i < rows; ++i)
            to[i] = static_cast<T>(table[(x[i / kPerByte] >> (2 * (i % kPerByte))) & 3]);
    }

    // counts[4 j + code] = the rows of a code of column j. `mask` is packed as a variant is, with
    // the code 1 for a row that counts and 0 for others; it has whole words, zeros at the end.
    ZERONORM_INLINE void count(std::int64_t j, const std::uint64_t* mask,
                               std::int64_t* counts) const {
        const std::uint8_t* const x = variant(j);
        std::int64_t rows = 0, low_bits = 0, high_bits = 0, both = 0;
        for (std::int64_t b = 0; b < stride; b += 8) {
            std::uint64_t word = 0;
            const std::int64_t bytes = std::min<std::int64_t>(8, stride - b);
            std::memcpy(&word, x + b, static_cast<std::size_t>(bytes));
            const std::uint64_t kept = mask[b / 8];
            const std::uint64_t low = word & kept, high = (word >> 1) & kept;
            rows += std::popcount(kept);
            low_bits += std::popcount(low);
            high_bits += std::popcount(high);
            both += std::popcount(low & high);
        }
        counts[kCodes * j] = rows - low_bits - high_bits + both;
        counts[kCodes * j + 1] = low_bits - both;
        counts[kCodes * j + 2] = high_bits - both;
        counts[kCodes * j + 3] = both;
    }

    // Calls visit(j) for every column, the columns of a block on one thread.
    template <class Visit>
    void each_column(std::int64_t n_threads, const Visit& visit) const {
        const std::int64_t width = block(1);
        parallel_for((n_columns + width - 1) / width, n_stored(), n_threads,
                     [&](std::int64_t part) ZERONORM_INLINE_LAMBDA {
                         const std::int64_t last = std::min((part + 1) * width, n_columns);
                         for (std::int64_t j = part * width; j < last; ++j)
                             visit(j);
                     });
    }

  private:
    // Row j .. j + C - 1 of out: the products with all vectors, in passes over tiles of rows.
    template <int C>
    ZERONORM_INLINE void multiply(std::int64_t j, const Vectors& v, double* out) const {
        const std::int64_t m = v.count();
        std::fill(out + j * m, out + (j + C) * m, 0.0);
        const std::uint8_t* column[C];
        Values table[C];
        for (int c = 0; c < C; ++c) {
            column[c] = variant(j + c);
            load_table(values + kCodes * (j + c), table[c]);
            for (std::int64_t ahead = 0; ahead < stride; ahead += 64)
                prefetch(column[c] + C * stride, ahead);
        }
        std::int64_t k = 0;
        for (; C == 1 && k + 3 <= m; k += 3)
            add<C, 3>(column, table, v, k, out + j * m);
        for (; k < m; ++k)
            add<C, 1>(column, table, v, k, out + j * m);
    }

    template <int C, int V>
    ZERONORM_INLINE void add(const std::uint8_t* const (&x)[C], const Values (&table)[C],
                             const Vectors& v, std::int64_t k, double* out) const {
        const float* some[V];
        for (int l = 0; l < V; ++l)
            some[l] = v[k + l];
        double dot[C][V];
        dot_genotypes(x, table, some, n_rows, dot);
        for (int c = 0; c < C; ++c)
            for (int l = 0; l < V; ++l)
                out[c * v.count() + k + l] = dot[c][l] * v.scale(k + l);
    }
};

}  // namespace zeronorm
