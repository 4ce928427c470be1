// The columns of small problems, dense or sparse, and sums over their rows.
//
// Rows are padded to whole cache lines by rows of weight 0, columns to whole groups by columns of
// zeros, so that no loop has an end of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

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

// Z in an array: p columns, `n_rows` numbers each.
class DenseRows {
  public:
    static constexpr bool kDense = true;
    DenseRows(std::int64_t n, std::int64_t n_rows, std::int64_t p)
        : n_(n), n_rows_(n_rows), p_(p), width_(whole(p, kGramRight)) {}
    const double* columns() const { return z_; }

    // Takes columns of x by strides in elements.
    void choose(const double* x, std::int64_t row_stride, std::int64_t column_stride,
                const std::int64_t* columns) {
        const auto column_of = [&](std::int64_t j) { return columns[j]; };
        copy_columns(x, row_stride, column_stride, n_, p_, column_of, n_rows_, z_);
    }

    // to = Z u
    void combine(const double* u, double* to) const {
        const double* const z = z_;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t i = 0; i < n_rows_; i += kLine) {
                Lanes first{}, second{}, x;
                for (std::int64_t j = 0; j < p_; ++j) {
                    const double* const part = z + j * n_rows_ + i;
                    load(part, x);
                    first += x * u[j];
                    load(part + kLaneCount, x);
                    second += x * u[j];
                }
                store(first, to + i);
                store(second, to + i + kLaneCount);
            }
        };
        run_block(kernel, 0);
    }

    // to = Z'v
    void scores(const double* v, double* to) const {
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t j = 0; j < p_; ++j)
                to[j] = dot_rows(z_ + j * n_rows_, v, n_rows_);
        };
        run_block(kernel, 0);
    }

    // As `weighted_gram`.
    void gram(const double* weight, double* to, double* cross) const {
        weighted_gram(z_, n_rows_, width_, weight, to, cross, scaled_);
    }

  private:
    std::int64_t n_, n_rows_, p_, width_;
    Buffer z_{n_rows_ * width_}, scaled_{kGramLeft * kGramRows};
};

// Z where it lies, in compressed columns, and beside it row by row for Gram matrices.
class SparseRows {
  public:
    static constexpr bool kDense = false;
    SparseRows(std::int64_t n, std::int64_t n_rows, std::int64_t p)
        : n_(n), n_rows_(n_rows), p_(p), width_(whole(p, kGramRight)) {}

    // Takes columns of a matrix, which has to live as long as this.
    template <class I>
    void choose(const I* indptr, const std::int32_t* indices, const double* data,
                const std::int64_t* columns) {
        index_ = indices;
        data_ = data;
        begin_.clear();
        end_.clear();
        std::vector<std::size_t> next(at(n_), 0);  // of each row, its number of entries at first
        for (std::int64_t j = 0; j < p_; ++j) {
            begin_.push_back(at(indptr[columns[j]]));
            end_.push_back(at(indptr[columns[j] + 1]));
            for (std::size_t e = begin_.back(); e < end_.back(); ++e)
                ++next[at(indices[e])];
        }
        // Rows by that number: loops over them end where the processor expects.
        first_.assign(at(p_ + 2), 0);
        for (const std::size_t count : next)
            ++first_[count + 1];
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        std::vector<std::size_t> place(first_), entry(at(p_ + 1), 0);
        for (std::size_t count = 1; count < entry.size(); ++count)
            entry[count] = entry[count - 1] + (count - 1) * (first_[count] - first_[count - 1]);
        row_.resize(next.size());
        for (std::size_t i = 0; i < next.size(); ++i) {
            const std::size_t count = next[i];
            next[i] = entry[count];
            entry[count] += count;
            row_[place[count]++] = static_cast<std::int32_t>(i);
        }
        column_.resize(entry.back());
        value_.resize(entry.back());
        for (std::size_t j = 0; j < begin_.size(); ++j)
            for (std::size_t e = begin_[j]; e < end_[j]; ++e) {
                const std::size_t to = next[at(indices[e])]++;
                column_[to] = static_cast<std::int32_t>(j);
                value_[to] = data[e];
            }
    }

    // to = Z u
    void combine(const double* u, double* to) const {
        std::fill_n(to, n_rows_, 0.0);
        for (std::size_t j = 0; j < begin_.size(); ++j)
            for (std::size_t e = begin_[j]; e < end_[j]; ++e)
                to[index_[e]] += data_[e] * u[j];
    }

    // to = Z'v
    void scores(const double* v, double* to) const {
        for (std::size_t j = 0; j < begin_.size(); ++j) {
            double sums[kLaneCount] = {};
            std::size_t e = begin_[j];
            for (; e + kLaneCount <= end_[j]; e += kLaneCount)
                for (std::size_t lane = 0; lane < kLaneCount; ++lane)
                    sums[lane] += data_[e + lane] * v[index_[e + lane]];
            for (; e < end_[j]; ++e)
                sums[0] += data_[e] * v[index_[e]];
            to[j] = (sums[0] + sums[2]) + (sums[1] + sums[3]);
        }
    }

    // As `weighted_gram`.
    void gram(const double* weight, double* to, double* cross) const {
        std::fill_n(to, width_ * width_, 0.0);
        std::fill_n(cross, width_, 0.0);
        std::size_t begin = 0;
        for (std::size_t count = 1; count + 1 < first_.size(); ++count)
            for (std::size_t r = first_[count]; r < first_[count + 1]; ++r, begin += count)
                for (std::size_t e = begin; e < begin + count; ++e) {
                    const double factor = weight[row_[r]] * value_[e];
                    cross[column_[e]] += factor;
                    double* const line = to + column_[e] * width_;
                    for (std::size_t other = e; other < begin + count; ++other)
                        line[column_[other]] += factor * value_[other];
                }
    }

  private:
    template <class I>
    static std::size_t at(I place) {
        return static_cast<std::size_t>(place);
    }

    std::int64_t n_, n_rows_, p_, width_;
    const std::int32_t* index_ = nullptr;
    const double* data_ = nullptr;
    std::vector<std::size_t> begin_, end_;    // of the columns, in these
    std::vector<std::size_t> first_;          // where rows of so many entries begin in row_
    std::vector<std::int32_t> row_, column_;  // rows by their number of entries; their entries
    std::vector<double> value_;
};

}  // namespace zeronorm
