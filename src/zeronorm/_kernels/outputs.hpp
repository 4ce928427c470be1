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
#include <memory>
#include <vector>

#include "multinomial.hpp"
#include "ridge.hpp"
#include "shared_columns.hpp"

namespace zeronorm {

class MultinomialRidge {
  public:
    // penalty: the same in all outputs of a column.
    MultinomialRidge(MultinomialRisk& risk, SharedColumns& columns, const double* penalty)
        : risk_(risk), columns_(columns), penalty_(penalty) {
        const Buffer zero(q_ * n_rows_);
        zero_value_ = std::max(risk_.evaluate(zero), 1e-300);
    }

    // As RidgeSolver, without an intercept of its own; margins and dual have `stride` numbers of
    // each output.
    RidgeAnswer solve(double tol, bool of_value, double cutoff, double* u, double* margins,
                      double* dual, std::int64_t stride, double* scores) {
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
            std::copy_n(margin_ + o * n_rows_, n_, margins + o * stride);
            std::copy_n(v_ + o * n_rows_, n_, dual + o * stride);
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
class ResponsesRidge {
  public:
    // y, weight: (q n,).
    ResponsesRidge(const LossNumber& loss, const double* y, const double* weight, std::int64_t n,
                   std::int64_t q, bool intercept)
        : n_(n), q_(q), intercept_(intercept) {
        risks_.reserve(static_cast<std::size_t>(q));
        for (std::int64_t o = 0; o < q; ++o) {
            risks_.push_back(make_risk(loss, y + o * n, weight + o * n, n));
            nulls_.push_back(risks_.back()->null(intercept));
            is_alike_ = is_alike_ && std::equal(weight, weight + n, weight + o * n);
        }
    }
    std::int64_t n() const { return n_; }
    std::int64_t n_rows() const { return risks_.front()->n_rows(); }
    std::int64_t outputs() const { return q_; }

    // As RidgeSolver, for m columns of x; margins and dual have `stride` numbers of each output.
    RidgeAnswer solve(const double* x, std::int64_t row_stride, std::int64_t column_stride,
                      const std::int64_t* columns, std::int64_t m, const double* penalty,
                      double tol, bool of_value, double* u, double* margins, double* dual,
                      std::int64_t stride, double* scores) const {
        RidgeAnswer sum{};
        double null = 0.0;
        std::vector<double> own(static_cast<std::size_t>(3 * m));
        double *const coef = own.data(), *const score = coef + m, *const ridge = score + m;
        RidgeSolver<> solver(*risks_.front(), intercept_, m, ridge);
        solver.choose(x, row_stride, column_stride, columns);
        for (std::int64_t o = 0; o < q_; ++o) {
            bool is_same = is_alike_;
            for (std::int64_t j = 0; j < m; ++j) {
                coef[j] = u[j * q_ + o];
                is_same = is_same && penalty[j * q_ + o] == penalty[j * q_];
                ridge[j] = penalty[j * q_ + o];
            }
            const auto place = static_cast<std::size_t>(o);
            solver.turn_to(*risks_[place], nulls_[place], is_same);
            const RidgeAnswer answer =
                solver.solve(0.0, tol, of_value, std::numeric_limits<double>::infinity(), coef,
                             margins + o * stride, dual + o * stride, score);
            for (std::int64_t j = 0; j < m; ++j) {
                u[j * q_ + o] = coef[j];
                scores[j * q_ + o] = score[j];
            }
            for (std::int64_t i = 0; i < n_; ++i)
                margins[o * stride + i] -= answer.intercept;
            sum.objective += answer.objective;
            sum.bound += answer.bound;
            null += nulls_[place];
        }
        sum.gap = null > 0.0 ? (sum.objective - sum.bound) / null : 0.0;
        return sum;
    }

    // The loss at margins without intercepts, n_rows() numbers of each output, at the best of them;
    // v <- minus its gradient, and its second derivatives by row.
    double evaluate(const double* margins, double* v, double* curvature) const {
        double value = 0.0;
        for (std::int64_t o = 0; o < q_; ++o) {
            const Risk& risk = *risks_[static_cast<std::size_t>(o)];
            const std::int64_t start = o * risk.n_rows();
            double b = 0.0;
            RowTotals totals = risk.evaluate(margins + start, b, v + start, curvature + start);
            if (intercept_)
                risk.fit_intercept(margins + start, b, v + start, curvature + start, totals);
            value += totals.value;
        }
        return value;
    }

  private:
    std::int64_t n_, q_;
    bool intercept_, is_alike_ = true;  // whether all outputs have the same weights
    std::vector<std::unique_ptr<Risk>> risks_;
    std::vector<double> nulls_;
};

}  // namespace zeronorm
