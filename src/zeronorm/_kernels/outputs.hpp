// Newton's method for a ridge problem of several outputs that share a few dense columns.
//
//     min_u  1/2 sum_jo p_jo u_jo^2 + the loss of the margins z_i'u_o in all outputs o
//
// Coefficients are feature by feature, u_jo at j q + o.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "multinomial.hpp"
#include "ridge.hpp"

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
                for (std::int64_t o = 0; o < q; ++o) {
                    const double *const column = z_ + j * n_rows_, *const part = v + o * n_rows_;
                    Lanes first{}, second{}, x, other;
                    for (std::int64_t i = 0; i < n_rows_; i += kLine) {
                        load(column + i, x);
                        load(part + i, other);
                        first += x * other;
                        load(column + i + kLaneCount, x);
                        load(part + i + kLaneCount, other);
                        second += x * other;
                    }
                    to[j * q + o] = sum(first + second);
                }
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

// Intercepts have next to no ridge, relative to their curvature: equal shifts of all of them change
// nothing.
inline constexpr double kShiftRidge = 1e-10;

// out (m q, m q), symmetric: what the second derivative of the multinomial loss in coefficients is
// less than that of s_i p_io, by the sums of a row and, where `is_free`, by the intercepts.
// share, weight (q n,): p and s.
inline void multinomial_coupling(SharedColumns& columns, const double* share, const double* weight,
                                 std::int64_t n, std::int64_t q, bool is_free, double* out) {
    const std::int64_t m = columns.m(), width = columns.width(), p = m * q,
                       padded = whole(n, kLine);
    const Buffer bend(padded), gram(width * width), shift(q * q), factor(q * q), cross(p * q);
    for (std::int64_t a = 0; a < q; ++a)
        for (std::int64_t c = a; c < q; ++c) {
            for (std::int64_t i = 0; i < n; ++i)
                bend[i] = weight[i] * share[a * n + i] * share[c * n + i];
            columns.gram(bend, gram);
            for (std::int64_t j = 0; j < m; ++j) {
                for (std::int64_t l = j; l < m; ++l) {
                    const double entry = gram[j * width + l];
                    out[(j * q + a) * p + l * q + c] = out[(j * q + c) * p + l * q + a] = entry;
                }
                cross[(j * q + a) * q + c] = cross[(j * q + c) * q + a] = -gram[j * width + m];
            }
            shift[a * q + c] = -gram[m * width + m];
        }
    // Rows of p have the sum 1: what a class has for itself is what it gives to the others.
    for (std::int64_t a = 0; is_free && a < q; ++a) {
        for (std::int64_t i = 0; i < n; ++i)
            bend[i] = weight[i] * share[a * n + i];
        columns.gram(bend, gram);
        for (std::int64_t j = 0; j < m; ++j)
            cross[(j * q + a) * q + a] += gram[j * width + m];
        shift[a * q + a] += gram[m * width + m];
    }
    if (is_free) {
        for (std::int64_t a = 0; a < q; ++a) {
            double& entry = shift[a * q + a];
            entry = entry > 0.0 ? entry * (1.0 + kShiftRidge) : 1.0;  // a class without rows
        }
        cholesky(shift, q, q, factor);
        for (std::int64_t k = 0; k < p; ++k) {  // row k of the cross terms times R^-1
            double* const row = cross + k * q;
            for (std::int64_t a = 0; a < q; ++a) {
                row[a] /= factor[a * q + a];
                for (std::int64_t c = a + 1; c < q; ++c)
                    row[c] -= row[a] * factor[a * q + c];
            }
        }
    }
    for (std::int64_t k = 0; k < p; ++k)
        for (std::int64_t l = k; l < p; ++l) {
            double total = 0.0;
            for (std::int64_t a = 0; is_free && a < q; ++a)
                total += cross[k * q + a] * cross[l * q + a];
            out[l * p + k] = out[k * p + l] += total;
        }
}

class MultinomialRidge {
  public:
    MultinomialRidge(MultinomialRisk& risk, SharedColumns& columns, const double* penalty)
        : risk_(risk), columns_(columns), penalty_(penalty) {
        const Buffer zero(q_ * n_rows_);
        zero_value_ = std::max(risk_.evaluate(zero), 1e-300);
    }

    // As RidgeSolver, without an intercept of its own; margins and dual (q n,).
    RidgeAnswer solve(double tol, bool of_value, double cutoff, double* u, double* margins,
                      double* dual, double* scores) {
        columns_.times(u, q_, margin_);
        double value = risk_.evaluate(margin_);
        if (!(value + half_penalty(u) <= kWorstStart * zero_value_)) {  // no start is better then
            std::fill_n(u, p_, 0.0);
            std::fill_n(static_cast<double*>(margin_), q_ * n_rows_, 0.0);
            risk_.restart();
            value = risk_.evaluate(margin_);
        }
        double objective = value;
        double bound = -std::numeric_limits<double>::infinity();
        for (int iteration = 0;; ++iteration) {
            objective = value + half_penalty(u);
            const double left = set_slope(u, scores);
            const double wanted = tol * (of_value ? objective : zero_value_);
            const bool last = iteration == kMaxNewton - 1;
            if (left <= wanted || objective - left >= cutoff || last) {
                // The loss of the margins and its conjugate at v are equal together but for
                // rounding: what is left of the gap is the square of the slope.
                bound = std::max(bound, objective - left);
                if (objective - bound <= wanted || bound >= cutoff || p_ == 0 || last) break;
            }
            set_direction();
            if (!line_search(u, objective, value)) {
                bound = std::max(bound, objective - left);
                break;
            }
        }
        for (std::int64_t o = 0; o < q_; ++o) {
            std::copy_n(margin_ + o * n_rows_, n_, margins + o * n_);
            std::copy_n(v_ + o * n_rows_, n_, dual + o * n_);
        }
        return {0.0, objective, bound, (objective - bound) / zero_value_};
    }

  private:
    double half_penalty(const double* u) const {
        double total = 0.0;
        for (std::int64_t k = 0; k < p_; ++k)
            total += penalty_[k] * u[k] * u[k];
        return 0.5 * total;
    }

    // v_, scores = Z'v and slope_ = scores - p u; returns 1/2 sum_k slope_k^2 / p_k.
    double set_slope(const double* u, double* scores) {
        risk_.dual_point(v_);
        columns_.dot(v_, q_, scores);
        double left = 0.0;
        for (std::int64_t k = 0; k < p_; ++k) {
            slope_[k] = scores[k] - penalty_[k] * u[k];
            left += 0.5 * slope_[k] * (slope_[k] / penalty_[k]);
        }
        return left;
    }

    // The Newton direction; intercepts are coefficients of the last column, with next to no ridge,
    // as equal shifts of all of them change nothing.
    void set_direction() {
        const double *const share = risk_.shares(), *const s = risk_.weight();
        const std::int64_t m = columns_.m(), width = columns_.width();
        for (std::int64_t a = 0; a < q_; ++a)
            for (std::int64_t c = a; c < q_; ++c) {
                const double *const p = share + a * n_rows_, *const other = share + c * n_rows_;
                for (std::int64_t i = 0; i < n_rows_; ++i)
                    bend_[i] = s[i] * (p[i] * ((a == c ? 1.0 : 0.0) - other[i]));
                columns_.gram(bend_, gram_);
                for (std::int64_t j = 0; j < n_used_; ++j)
                    for (std::int64_t l = j; l < n_used_; ++l) {
                        const double entry = gram_[j * width + l];
                        system_[(j * q_ + a) * size_ + l * q_ + c] = entry;
                        system_[(j * q_ + c) * size_ + l * q_ + a] = entry;
                    }
            }
        for (std::int64_t k = 0; k < size_; ++k) {
            double& entry = system_[k * size_ + k];
            if (k < m * q_)
                entry += penalty_[k];
            else
                entry = entry > 0.0 ? entry * (1.0 + kShiftRidge) : 1.0;  // a class without rows
            unit_[k] = 1.0 / std::sqrt(entry);  // the columns may differ in scale by many orders
            direction_[k] = k < p_ ? unit_[k] * slope_[k] : 0.0;
        }
        for (std::int64_t k = 0; k < size_; ++k)
            for (std::int64_t l = k; l < size_; ++l)
                system_[k * size_ + l] *= unit_[k] * unit_[l];
        cholesky(system_, size_, size_, factor_);
        solve_factored(factor_, size_, size_, direction_);
        for (std::int64_t k = 0; k < size_; ++k)
            direction_[k] *= unit_[k];
    }

    // Moves along the direction by halves until the objective falls by enough; false: it does not.
    bool line_search(double* u, double objective, double& value) {
        columns_.times(direction_, q_, along_);
        double decrease = 0.0;
        for (std::int64_t k = 0; k < p_; ++k)
            decrease += slope_[k] * direction_[k];
        double step = 1.0;
        for (int halving = 0; halving < kMaxHalvings; ++halving, step *= 0.5) {
            for (std::int64_t k = 0; k < p_; ++k)
                trial_[k] = u[k] + step * direction_[k];
            for (std::int64_t i = 0; i < q_ * n_rows_; ++i)
                trial_margin_[i] = margin_[i] + step * along_[i];
            const double at_trial = risk_.evaluate(trial_margin_);
            if (at_trial + half_penalty(trial_) <= objective - 1e-4 * step * decrease) {
                std::copy_n(static_cast<double*>(trial_), p_, u);
                std::copy_n(static_cast<double*>(trial_margin_), q_ * n_rows_,
                            static_cast<double*>(margin_));
                value = at_trial;
                return true;
            }
            risk_.restart();  // those of margins far away may be far away
        }
        return false;  // rounding: no decrease is left
    }

    MultinomialRisk& risk_;
    SharedColumns& columns_;
    const double* penalty_;
    std::int64_t n_ = risk_.n(), q_ = risk_.outputs(), n_rows_ = risk_.n_rows();
    std::int64_t p_ = columns_.m() * q_;
    // Columns of a Newton system, with that of the intercepts where there are any.
    std::int64_t n_used_ = columns_.m() + (risk_.is_free() ? 1 : 0), size_ = n_used_ * q_;
    double zero_value_ = 0.0;  // the objective of the model without features
    Buffer margin_{q_ * n_rows_}, trial_margin_{q_ * n_rows_}, along_{q_ * n_rows_},
        v_{q_ * n_rows_}, bend_{n_rows_}, slope_{p_}, trial_{p_}, direction_{size_}, unit_{size_},
        gram_{columns_.width() * columns_.width()}, system_{size_ * size_}, factor_{size_ * size_};
};

// Responses, each with a loss of its own and an intercept where `intercept`: the problem is the sum
// of as many, and those of least squares have one matrix. Margins are without the intercepts.
template <class Loss>
RidgeAnswer solve_responses(const Loss& loss, const double* x, std::int64_t row_stride,
                            std::int64_t column_stride, std::int64_t n, const double* y,
                            const double* weight, std::int64_t q, const std::int64_t* columns,
                            std::int64_t m, const double* penalty, bool intercept, double tol,
                            bool of_value, double* u, double* margins, double* dual,
                            double* scores) {
    RidgeAnswer sum{};
    double null = 0.0;
    std::vector<double> own(static_cast<std::size_t>(3 * m));
    double *const coef = own.data(), *const score = coef + m, *const ridge = score + m;
    for (std::int64_t j = 0; j < m; ++j)
        ridge[j] = penalty[j * q];
    const Risk<Loss> first(loss, y, weight, n);
    RidgeSolver<Loss> solver(first, intercept, m, ridge);
    solver.choose(x, row_stride, column_stride, columns);
    for (std::int64_t o = 0; o < q; ++o) {
        const Risk<Loss> risk(loss, y + o * n, weight + o * n, n);
        bool is_same = std::equal(weight, weight + n, weight + o * n);
        for (std::int64_t j = 0; j < m; ++j) {
            coef[j] = u[j * q + o];
            is_same = is_same && penalty[j * q + o] == penalty[j * q];
            ridge[j] = penalty[j * q + o];
        }
        solver.turn_to(risk, is_same);
        const RidgeAnswer answer =
            solver.solve(0.0, tol, of_value, std::numeric_limits<double>::infinity(), coef,
                         margins + o * n, dual + o * n, score);
        for (std::int64_t j = 0; j < m; ++j) {
            u[j * q + o] = coef[j];
            scores[j * q + o] = score[j];
        }
        for (std::int64_t i = 0; i < n; ++i)
            margins[o * n + i] -= answer.intercept;
        sum.objective += answer.objective;
        sum.bound += answer.bound;
        null += solver.null();
    }
    sum.gap = null > 0.0 ? (sum.objective - sum.bound) / null : 0.0;
    return sum;
}

}  // namespace zeronorm
