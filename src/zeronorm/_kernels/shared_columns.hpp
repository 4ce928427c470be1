// Dense columns that several outputs share, and the second derivative of the multinomial loss in
// their coefficients.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cholesky.hpp"
#include "lanes.hpp"
#include "parallel.hpp"
#include "ridge_rows.hpp"

namespace zeronorm {

// Columns in every output, with margins of n_rows numbers in each.
class SharedColumns {
  public:
    SharedColumns(const double* x, std::int64_t row_stride, std::int64_t column_stride,
                  std::int64_t n, const std::int64_t* columns, std::int64_t m)
        : m_(m), n_rows_(whole(n, kLine)), width_(whole(m + 1, kGramRight)) {
        const auto column_of = [&](std::int64_t j) { return columns[j]; };
        copy_columns(x, row_stride, column_stride, n, m, column_of, n_rows_, z_);
        std::fill_n(z_ + m * n_rows_, n, 1.0);  // the column of the intercepts
    }
    std::int64_t m() const { return m_; }
    std::int64_t width() const { return width_; }
    const double* column(std::int64_t j) const { return z_ + j * n_rows_; }

    // to (q, n_rows) = Z u_o
    void times(const double* u, std::int64_t q, double* to) const {
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t o = 0; o < q; ++o)
                for (std::int64_t i = 0; i < n_rows_; i += kLine) {
                    Lanes first{}, second{}, x;
                    for (std::int64_t j = 0; j < m_; ++j) {
                        load(z_ + j * n_rows_ + i, x);
                        first += x * u[j * q + o];
                        load(z_ + j * n_rows_ + i + kLaneCount, x);
                        second += x * u[j * q + o];
                    }
                    store(first, to + o * n_rows_ + i);
                    store(second, to + o * n_rows_ + i + kLaneCount);
                }
        };
        run_block(kernel, 0);
    }

    // to_jo = z_j'v_o
    void dot(const double* v, std::int64_t q, double* to) const {
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t j = 0; j < m_; ++j)
                for (std::int64_t o = 0; o < q; ++o)
                    to[j * q + o] = dot_rows(z_ + j * n_rows_, v + o * n_rows_, n_rows_);
        };
        run_block(kernel, 0);
    }

    // gram (width, width), upper triangle: with the column of ones after the others.
    void gram(const double* weight, double* gram) {
        weighted_gram(z_, n_rows_, width_, weight, gram, cross_, scaled_);
    }

  private:
    std::int64_t m_, n_rows_, width_;
    Buffer z_{n_rows_ * width_}, cross_{width_}, scaled_{kGramLeft * kGramRows};
};

// Intercepts have next to no ridge, relative to their curvature: that of classes without rows is 0.
inline constexpr double kShiftRidge = 1e-10;

// The Gram matrices of pairs of classes, sum_i s_i p_ia p_ic z_i z_i' with a 1 after each z_i.
//
// The second derivative of the multinomial loss in the coefficients of two classes is minus that of
// their pair, and of one class the sum over its pairs, as the shares of a row have the sum 1.
class PairGrams {
  public:
    PairGrams(SharedColumns& columns, std::int64_t n, std::int64_t q)
        : columns_(columns), n_(n), q_(q) {}

    // share: p, `stride` numbers of each class. weight (n,): s.
    void set(const double* share, std::int64_t stride, const double* weight) {
        for (std::int64_t a = 0; a < q_; ++a)
            for (std::int64_t c = a + 1; c < q_; ++c) {
                const double *const p = share + a * stride, *const other = share + c * stride;
                for (std::int64_t i = 0; i < n_; ++i)
                    bend_[i] = weight[i] * p[i] * other[i];
                columns_.gram(bend_, grams_ + pair(a, c) * size_);
            }
    }

    // Of columns j <= l, the last of them the constant.
    double of(std::int64_t a, std::int64_t c, std::int64_t j, std::int64_t l) const {
        return grams_[(a < c ? pair(a, c) : pair(c, a)) * size_ + j * columns_.width() + l];
    }

    // The same of one class with itself in the second derivative.
    double own(std::int64_t a, std::int64_t j, std::int64_t l) const {
        double total = 0.0;
        for (std::int64_t c = 0; c < q_; ++c)
            if (c != a) total += of(a, c, j, l);
        return total;
    }

  private:
    std::int64_t pair(std::int64_t a, std::int64_t c) const {
        return a * q_ - a * (a + 1) / 2 + c - a - 1;
    }

    SharedColumns& columns_;
    std::int64_t n_, q_, size_ = columns_.width() * columns_.width();
    Buffer bend_{whole(n_, kLine)}, grams_{q_ * (q_ - 1) / 2 * size_};
};

// Takes off matrix (p, p) what r intercepts have of it, a Schur complement. own (r, r), at least
// its upper triangle, is their second derivative, and cross (p, r) that with the rest; both are
// changed.
inline void eliminate_intercepts(std::int64_t r, std::int64_t p, double* own, double* cross,
                                 double* matrix, std::int64_t stride) {
    const Buffer factor(r * r);
    for (std::int64_t a = 0; a < r; ++a) {
        double& each = own[a * r + a];
        each = each > 0.0 ? each * (1.0 + kShiftRidge) : 1.0;  // a class without rows
    }
    cholesky(own, r, r, factor);
    for (std::int64_t k = 0; k < p; ++k) {  // row k of the cross terms times R^-1
        double* const row = cross + k * r;
        for (std::int64_t a = 0; a < r; ++a) {
            row[a] /= factor[a * r + a];
            for (std::int64_t c = a + 1; c < r; ++c)
                row[c] -= row[a] * factor[a * r + c];
        }
    }
    for (std::int64_t k = 0; k < p; ++k)
        for (std::int64_t l = k; l < p; ++l) {
            double total = 0.0;
            for (std::int64_t a = 0; a < r; ++a)
                total += cross[k * r + a] * cross[l * r + a];
            matrix[l * stride + k] = matrix[k * stride + l] -= total;
        }
}

// out (m q, m q), symmetric: the second derivative of the multinomial loss in coefficients, at the
// best intercepts where `is_free`. share, weight (q n,): p and s.
inline void multinomial_hessian(SharedColumns& columns, const double* share, const double* weight,
                                std::int64_t n, std::int64_t q, bool is_free, double* out) {
    // The intercept of the last class stays: equal shifts of all change nothing.
    const std::int64_t m = columns.m(), p = m * q, moving = is_free ? q - 1 : 0;
    PairGrams grams(columns, n, q);
    grams.set(share, n, weight);
    const auto entry = [&](std::int64_t a, std::int64_t c, std::int64_t j, std::int64_t l) {
        return a == c ? grams.own(a, j, l) : -grams.of(a, c, j, l);
    };
    for (std::int64_t j = 0; j < m; ++j)
        for (std::int64_t l = j; l < m; ++l)
            for (std::int64_t a = 0; a < q; ++a)
                for (std::int64_t c = 0; c < q; ++c)
                    out[(j * q + a) * p + l * q + c] = entry(a, c, j, l);
    const Buffer own(moving * moving), cross(p * moving);
    for (std::int64_t a = 0; a < moving; ++a)
        for (std::int64_t c = a; c < moving; ++c)
            own[a * moving + c] = entry(a, c, m, m);
    for (std::int64_t k = 0; k < p; ++k)
        for (std::int64_t a = 0; a < moving; ++a)
            cross[k * moving + a] = entry(k % q, a, k / q, m);
    eliminate_intercepts(moving, p, own, cross, out, p);
}

}  // namespace zeronorm
