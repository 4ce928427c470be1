// Compiled solver: Newton's method for the problem over blocks of features that classes share.
//
//     min_{lambda in simplex} min_u  1/2 sum_jo u_jo^2 / (E lambda)_j + the multinomial loss
//
// As equal shifts of u_j in all classes change no loss, u_j = V x_j with q - 1 coordinates x_j, V
// orthonormal with columns of sum 0: the ridge is that of x, and the loss has a definite curvature.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "block_model.hpp"
#include "multinomial.hpp"
#include "ridge.hpp"
#include "shared_columns.hpp"

namespace zeronorm {

class ClassBlocks {
  public:
    // y, weight: (q n,). membership: (m q, T), the same for all classes of a feature.
    ClassBlocks(MultinomialRisk& risk, SharedColumns& columns, const double* y,
                const double* weight, const double* membership, std::int64_t T)
        : risk_(risk), columns_(columns), y_(y), weight_(weight), T_(T) {
        for (std::int64_t k = 0; k < p_; ++k)
            std::copy_n(membership + k / r_ * q_ * T, T, E_ + k * T);
        for (std::int64_t a = 0; a < r_; ++a) {  // Helmert's contrasts
            const double unit = 1.0 / std::sqrt(static_cast<double>((a + 1) * (a + 2)));
            for (std::int64_t o = 0; o <= a; ++o)
                V_[o * r_ + a] = unit;
            V_[(a + 1) * r_ + a] = -static_cast<double>(a + 1) * unit;
        }
    }

    // u (m q,), lambda (T,): the start, then the solution. dual (q n,): of the last point.
    BlockAnswer solve(double tol, double scale, double* u, double* lambda, double* dual,
                      const BlockHistory& history) {
        lambda_ = lambda;
        to_coordinates(u, x_);
        times(x_, margin_);
        const BlockAnswer answer = solve_blocks(*this, tol, scale, history);
        to_coefficients(x_, u);
        for (std::int64_t o = 0; o < q_; ++o)
            std::copy_n(v_ + o * n_rows_, n_, dual + o * n_);
        return answer;
    }

    std::pair<double, double> assess() {
        const double value = risk_.evaluate(margin_);
        risk_.dual_point(v_);
        columns_.dot(v_, q_, u_);
        to_coordinates(u_, scores_);
        return {value + model_.penalty(x_, lambda_), lower_bound()};
    }

    bool move(double objective, double tol) {
        set_model();
        model_.minimise(lambda_, tol, x_, scores_);
        for (std::int64_t k = 0; k < p_; ++k)
            part_[k] = model_.goal()[k] - x_[k];
        times(part_, along_);
        double step = 1.0;
        for (int halving = 0; halving < kMaxHalvings; ++halving, step *= 0.5) {
            for (std::int64_t k = 0; k < p_; ++k)
                goal_[k] = x_[k] + step * part_[k];
            for (std::int64_t t = 0; t < T_; ++t)
                trial_[t] = lambda_[t] + step * (model_.weights()[t] - lambda_[t]);
            for (std::int64_t i = 0; i < q_ * n_rows_; ++i)
                trial_margin_[i] = margin_[i] + step * along_[i];
            const double found = risk_.evaluate(trial_margin_) + model_.penalty(goal_, trial_);
            // Near the optimum the objective is flat to rounding while the gap still falls.
            if (found <= objective + kSameObjective * std::abs(objective)) {
                std::copy_n(static_cast<double*>(goal_), p_, static_cast<double*>(x_));
                std::copy_n(static_cast<double*>(trial_), T_, lambda_);
                std::copy_n(static_cast<double*>(trial_margin_), q_ * n_rows_,
                            static_cast<double*>(margin_));
                return true;
            }
            risk_.restart();  // intercepts of margins far away may be far away
        }
        return false;
    }

  private:
    void to_coordinates(const double* u, double* x) const {
        for (std::int64_t k = 0; k < p_; ++k) {
            x[k] = 0.0;
            for (std::int64_t o = 0; o < q_; ++o)
                x[k] += V_[o * r_ + k % r_] * u[k / r_ * q_ + o];
        }
    }
    void to_coefficients(const double* x, double* u) const {
        for (std::int64_t k = 0; k < columns_.m() * q_; ++k) {
            u[k] = 0.0;
            for (std::int64_t a = 0; a < r_; ++a)
                u[k] += V_[k % q_ * r_ + a] * x[k / q_ * r_ + a];
        }
    }
    void times(const double* x, double* margins) {
        to_coefficients(x, u_);
        columns_.times(u_, q_, margins);
    }

    // What v proves, on its best scale.
    double lower_bound() {
        const double worst = model_.largest_block(scores_);
        for (std::int64_t o = 0; o < q_; ++o)
            std::copy_n(v_ + o * n_rows_, n_, scaled_ + o * n_);
        MultinomialDual dual{scaled_, y_, weight_, n_, q_};
        const double c = dual.best_scale(worst);
        for (std::int64_t k = 0; k < q_ * n_; ++k)
            scaled_[k] *= c;
        return -dual.conjugate(risk_.is_free()) - c * (c * worst);
    }

    // The matrix of the model <- the curvature in x at the best intercepts.
    void set_model() {
        const std::int64_t m = columns_.m(), width = model_.width();
        double* const A = model_.matrix();
        grams_.set(risk_.shares(), n_rows_, risk_.weight());
        for (std::int64_t j = 0; j < m; ++j)
            for (std::int64_t l = j; l < m; ++l) {
                set_block(j, l);
                for (std::int64_t a = 0; a < r_; ++a)
                    for (std::int64_t b = 0; b < r_; ++b)
                        A[(l * r_ + b) * width + j * r_ + a] =
                            A[(j * r_ + a) * width + l * r_ + b] = block_[a * r_ + b];
            }
        if (risk_.is_free()) take_off_intercepts();
    }

    // Takes off A what the intercepts have.
    void take_off_intercepts() {
        const std::int64_t m = columns_.m();
        for (std::int64_t j = 0; j < m; ++j) {
            set_block(j, m);
            std::copy_n(static_cast<const double*>(block_), r_ * r_, cross_ + j * r_ * r_);
        }
        set_block(m, m);
        eliminate_intercepts(r_, p_, block_, cross_, model_.matrix(), model_.width());
    }

    // block_ <- sum over pairs of classes of their entry for columns j <= l times ww', w the
    // difference of the rows of V of the two.
    void set_block(std::int64_t j, std::int64_t l) {
        std::fill_n(static_cast<double*>(block_), r_ * r_, 0.0);
        for (std::int64_t o = 0; o < q_; ++o)
            for (std::int64_t c = o + 1; c < q_; ++c) {
                const double entry = grams_.of(o, c, j, l);
                for (std::int64_t a = 0; a < r_; ++a) {
                    const double first = entry * (V_[o * r_ + a] - V_[c * r_ + a]);
                    for (std::int64_t b = 0; b < r_; ++b)
                        block_[a * r_ + b] += first * (V_[o * r_ + b] - V_[c * r_ + b]);
                }
            }
    }

    MultinomialRisk& risk_;
    SharedColumns& columns_;
    const double *y_, *weight_;
    std::int64_t T_, n_ = risk_.n(), q_ = risk_.outputs(), r_ = q_ - 1, n_rows_ = risk_.n_rows(),
                     p_ = columns_.m() * r_;
    double* lambda_ = nullptr;
    Buffer V_{q_ * r_}, E_{p_ * T_}, x_{p_}, goal_{p_}, part_{p_}, scores_{p_}, trial_{T_},
        u_{columns_.m() * q_}, margin_{q_ * n_rows_}, trial_margin_{q_ * n_rows_},
        along_{q_ * n_rows_}, v_{q_ * n_rows_}, scaled_{q_ * n_}, block_{r_ * r_}, cross_{p_ * r_};
    BlockModel model_{p_, T_, E_};
    PairGrams grams_{columns_, n_, q_};
};

}  // namespace zeronorm
