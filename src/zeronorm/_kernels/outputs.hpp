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
    const Buffer shift(moving * moving), factor(moving * moving), cross(p * moving);
    for (std::int64_t a = 0; a < moving; ++a) {
        for (std::int64_t c = a; c < moving; ++c)
            shift[a * moving + c] = entry(a, c, m, m);
        double& own = shift[a * moving + a];
        own = own > 0.0 ? own * (1.0 + kShiftRidge) : 1.0;  // a class without rows
    }
    cholesky(shift, moving, moving, factor);
    for (std::int64_t k = 0; k < p; ++k) {  // row k of the cross terms times R^-1
        double* const row = cross + k * moving;
        for (std::int64_t a = 0; a < moving; ++a)
            row[a] = entry(k % q, a, k / q, m);
        for (std::int64_t a = 0; a < moving; ++a) {
            row[a] /= factor[a * moving + a];
            for (std::int64_t c = a + 1; c < moving; ++c)
                row[c] -= row[a] * factor[a * moving + c];
        }
    }
    for (std::int64_t k = 0; k < p; ++k)
        for (std::int64_t l = k; l < p; ++l) {
            double total = 0.0;
            for (std::int64_t a = 0; a < moving; ++a)
                total += cross[k * moving + a] * cross[l * moving + a];
            out[l * p + k] = out[k * p + l] -= total;
        }
}

class MultinomialRidge {
  public:
    // penalty: the same in all outputs of a column.
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

    // The Newton direction. Equal shifts of a coefficient in all classes change no loss: along them
    // there is the ridge alone, and across them the shift of the last class is minus the sum of
    // those of the others. Intercepts are coefficients of the last column.
    void set_direction() {
        const std::int64_t last = q_ - 1;
        grams_.set(risk_.shares(), n_rows_, risk_.weight());
        for (std::int64_t j = 0; j < n_used_; ++j)
            for (std::int64_t l = j; l < n_used_; ++l)
                set_block(j, l);
        for (std::int64_t k = 0; k < size_; ++k)
            unit_[k] = 1.0 / std::sqrt(system_[k * size_ + k]);  // columns may differ in scale
        for (std::int64_t k = 0; k < size_; ++k) {
            for (std::int64_t l = k; l < size_; ++l)
                system_[k * size_ + l] *= unit_[k] * unit_[l];
            const double* const slope = slope_ + k / last * q_;
            moved_[k] = k < columns_.m() * last ? unit_[k] * (slope[k % last] - slope[last]) : 0.0;
        }
        cholesky(system_, size_, size_, factor_);
        solve_factored(factor_, size_, size_, moved_);
        for (std::int64_t j = 0; j < columns_.m(); ++j) {
            double level = 0.0, total = 0.0;
            for (std::int64_t a = 0; a < q_; ++a)
                level += slope_[j * q_ + a];
            level /= static_cast<double>(q_) * penalty_[j * q_];
            for (std::int64_t a = 0; a < last; ++a) {
                const double moved = unit_[j * last + a] * moved_[j * last + a];
                direction_[j * q_ + a] = level + moved;
                total += moved;
            }
            direction_[j * q_ + last] = level - total;
        }
    }

    // The entries of the system, upper triangle, for two columns in all classes but the last.
    void set_block(std::int64_t j, std::int64_t l) {
        const std::int64_t last = q_ - 1, m = columns_.m();
        const double of_last = grams_.own(last, j, l),
                     ridge = j == l && j < m ? penalty_[j * q_] : 0.0;
        for (std::int64_t a = 0; a < last; ++a)
            for (std::int64_t c = j == l ? a : 0; c < last; ++c) {
                const double pair = a == c ? -grams_.own(a, j, l) : grams_.of(a, c, j, l);
                double& entry = system_[(j * last + a) * size_ + l * last + c];
                entry = of_last + grams_.of(a, last, j, l) + grams_.of(c, last, j, l) - pair;
                entry += ridge;
                if (j != l || a != c) continue;
                entry += ridge;
                if (j == m) entry = entry > 0.0 ? entry * (1.0 + kShiftRidge) : 1.0;
            }
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
    std::int64_t n_used_ = columns_.m() + (risk_.is_free() ? 1 : 0), size_ = n_used_ * (q_ - 1);
    double zero_value_ = 0.0;  // the objective of the model without features
    Buffer margin_{q_ * n_rows_}, trial_margin_{q_ * n_rows_}, along_{q_ * n_rows_},
        v_{q_ * n_rows_}, slope_{p_}, trial_{p_}, direction_{p_}, moved_{size_}, unit_{size_},
        system_{size_ * size_}, factor_{size_ * size_};
    PairGrams grams_{columns_, n_, q_};
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
