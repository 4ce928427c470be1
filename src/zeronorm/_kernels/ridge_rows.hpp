// Sums over the rows of a few dense columns.
//
// Rows are padded to whole cache lines by rows of weight 0, columns to whole groups by columns of
// zeros, so that no loop has an end of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lanes.hpp"
#include "parallel.hpp"

namespace zeronorm {

inline constexpr std::int64_t kLine = 8;        // numbers in a cache line
inline constexpr std::int64_t kGramRows = 512;  // rows whose products are summed in registers
inline constexpr std::int64_t kGramLeft = 2;    // columns on the left of such products
inline constexpr std::int64_t kGramRight = 4;   // columns on the right

ZERONORM_INLINE std::int64_t whole(std::int64_t size, std::int64_t unit) {
    return (size + unit - 1) / unit * unit;
}

// x'v over padded rows, whole lines of them.
ZERONORM_INLINE double dot_rows(const double* x, const double* v, std::int64_t n_rows) {
    Lanes first{}, second{}, a, b;
    for (std::int64_t i = 0; i < n_rows; i += kLine) {
        load(x + i, a);
        load(v + i, b);
        first += a * b;
        load(x + i + kLaneCount, a);
        load(v + i + kLaneCount, b);
        second += a * b;
    }
    return sum(first + second);
}

// Zeros that begin with a cache line.
class Buffer {
  public:
    explicit Buffer(std::int64_t size)
        : memory_(std::make_unique<double[]>(static_cast<std::size_t>(size + kLine))) {
        constexpr std::uintptr_t line = kLine * sizeof(double);
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
        start_ = memory_.get() + (line - address % line) % line / sizeof(double);
    }
    operator double*() const { return start_; }

  private:
    std::unique_ptr<double[]> memory_;
    double* start_;
};

// Copies some columns of a matrix of n rows, by strides in elements, one every `n_rows` numbers.
// column_of(j): which column of the matrix is the j-th.
template <class ColumnOf>
void copy_columns(const double* x, std::int64_t row_stride, std::int64_t column_stride,
                  std::int64_t n, std::int64_t p, const ColumnOf& column_of, std::int64_t n_rows,
                  double* to) {
    for (std::int64_t j = 0; j < p; ++j) {
        const double* const column = x + column_of(j) * column_stride;
        for (std::int64_t i = 0; i < n; ++i)
            to[j * n_rows + i] = column[i * row_stride];
    }
}

// gram (upper triangle, row by row, `width` numbers each) = Z' diag(weight) Z, cross = Z' weight.
// `width` is a multiple of kGramRight, `scaled` has room for kGramLeft columns of kGramRows.
inline void weighted_gram(const double* z, std::int64_t n_rows, std::int64_t width,
                          const double* weight, double* gram, double* cross, double* scaled) {
    std::fill_n(gram, width * width, 0.0);
    std::fill_n(cross, width, 0.0);
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        for (std::int64_t first = 0; first < n_rows; first += kGramRows) {
            const std::int64_t rows = std::min(kGramRows, n_rows - first);
            for (std::int64_t a = 0; a < width; a += kGramLeft) {
                for (std::int64_t k = 0; k < kGramLeft; ++k) {
                    const double* const column = z + (a + k) * n_rows + first;
                    Lanes total{};
                    for (std::int64_t i = 0; i < rows; i += kLaneCount) {
                        Lanes x, s;
                        load(column + i, x);
                        load(weight + first + i, s);
                        x *= s;
                        total += x;
                        store(x, scaled + k * kGramRows + i);
                    }
                    cross[a + k] += sum(total);
                }
                for (std::int64_t b = a / kGramRight * kGramRight; b < width; b += kGramRight) {
                    const double* const right = z + b * n_rows + first;
                    Lanes product[kGramLeft][kGramRight] = {};
                    for (std::int64_t i = 0; i < rows; i += kLaneCount) {
                        Lanes left[kGramLeft], x;
                        for (std::int64_t k = 0; k < kGramLeft; ++k)
                            load(scaled + k * kGramRows + i, left[k]);
                        for (std::int64_t l = 0; l < kGramRight; ++l) {
                            load(right + l * n_rows + i, x);
                            for (std::int64_t k = 0; k < kGramLeft; ++k)
                                product[k][l] += left[k] * x;
                        }
                    }
                    for (std::int64_t k = 0; k < kGramLeft; ++k)
                        for (std::int64_t l = 0; l < kGramRight; ++l)
                            gram[(a + k) * width + b + l] += sum(product[k][l]);
                }
            }
        }
    };
    run_block(kernel, 0);
}

}  // namespace zeronorm
