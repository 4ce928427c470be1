// Compiled solver: Newton's method for the problem over the blocks of the minimax family.
//
//     min_{lambda in simplex} min_{u, b}  1/2 sum_j u_j^2 / (E lambda)_j + sum_i s_i f(y_i, z_i'u +
//     b)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "block_model.hpp"
#include "ridge_rows.hpp"
#include "risk.hpp"

namespace zeronorm {

class BlockSolver {
  public:
    // x: n rows and p columns by strides in elements. membership: (p, T) 0/1, row by row.
    BlockSolver(const Risk& risk, bool intercept, const double* x, std::int64_t row_stride,
                std::int64_t column_stride, std::int64_t p, const double* membership,
                std::int64_t T)
        : risk_(risk),
          intercept_(intercept),
          p_(p),
          T_(T),
          n_rows_(risk.n_rows()),
          width_(whole(p, kGramRight)),
          model_(p, T, membership) {
        const auto column_of = [](std::int64_t j) { return j; };
        copy_columns(x, row_stride, column_stride, risk.n(), p, column_of, n_rows_, z_);
    }

    // u (p,), lambda (T,): the start, then the solution. dual (n,): of the last point.
    BlockAnswer solve(double b, double tol, double scale, double* u, double* lambda, double* dual,
                      const BlockHistory& history) {
        b_ = b;
        u_ = u;
        lambda_ = lambda;
        combine(u, margin_);
        BlockAnswer answer = solve_blocks(*this, tol, scale, history);
        answer.intercept = b_;
        std::copy_n(static_cast<double*>(dual_), risk_.n(), dual);
        return answer;
    }

    // The objective at the best intercept, and the bound there.
    std::pair<double, double> assess() {
        totals_ = risk_.evaluate(margin_, b_, v_, curvature_);
        if (intercept_) risk_.fit_intercept(margin_, b_, v_, curvature_, totals_);
        balance();
        set_scores();
        return {totals_.value + model_.penalty(u_, lambda_), lower_bound()};
    }

    // Goes to the goal of the model, solved to a gap of `tol`, or less far; false: it does not.
    bool move(double objective, double tol) {
        set_model(totals_.bend);
        model_.minimise(lambda_, tol, u_, scores_);
        return line_search(objective, totals_.bend, b_, u_, lambda_);
    }

  private:
    // to = Z w
    void combine(const double* w, double* to) const {
        const double* const z = z_;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t i = 0; i < n_rows_; i += kLaneCount) {
                Lanes total{}, x;
                for (std::int64_t j = 0; j < p_; ++j) {
                    load(z + j * n_rows_ + i, x);
                    total += x * w[j];
                }
                store(total, to + i);
            }
        };
        run_block(kernel, 0);
    }

    // dual_ <- v, its heavier sign shrunk so that sum_i v_i = 0 where the intercept is free.
    void balance() {
        double up = 0.0, down = 0.0;
        for (std::int64_t i = 0; i < n_rows_; ++i)
            (v_[i] > 0.0 ? up : down) += std::abs(v_[i]);
        const bool is_free = intercept_ && up != down;
        const double keep_up = is_free && up > down ? down / up : 1.0;
        const double keep_down = is_free && down > up ? up / down : 1.0;
        for (std::int64_t i = 0; i < n_rows_; ++i)
            dual_[i] = v_[i] * (v_[i] > 0.0 ? keep_up : keep_down);
    }

    // scores_ <- Z'v
    void set_scores() {
        const double *const z = z_, *const dual = dual_;
        double* const scores = scores_;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t j = 0; j < p_; ++j) {
                Lanes total{}, x, other;
                for (std::int64_t i = 0; i < n_rows_; i += kLaneCount) {
                    load(z + j * n_rows_ + i, x);
                    load(dual + i, other);
                    total += x * other;
                }
                scores[j] = sum(total);
            }
        };
        run_block(kernel, 0);
    }

    // What v proves, on its best scale.
    double lower_bound() const {
        const double worst = model_.largest_block(scores_);
        const auto dual = risk_.dual(dual_);
        const double c = dual->best_scale(worst);
        return -dual->conjugate(c) - c * (c * worst);
    }

    // The matrix of the model <- Z'WZ without the free intercept; cross_ <- Z'w where there is one,
    // else 0.
    void set_model(double total) {
        double* const A = model_.matrix();
        weighted_gram(z_, n_rows_, width_, curvature_, A, cross_, scaled_);
        risk_.couple(margin_, z_, width_, A);
        const bool centre = intercept_ && total > 0.0;
        if (!centre) std::fill_n(static_cast<double*>(cross_), width_, 0.0);
        for (std::int64_t a = 0; a < p_; ++a)
            for (std::int64_t b = a; b < p_; ++b) {
                if (centre) A[a * width_ + b] -= cross_[a] * (cross_[b] / total);
                A[b * width_ + a] = A[a * width_ + b];
            }
    }

    // Moves to the goal of the model, or less far by halves; false where no step is of use.
    bool line_search(double objective, double total, double& b, double* u, double* lambda) {
        double shift = 0.0;
        for (std::int64_t j = 0; j < p_; ++j) {
            part_[j] = model_.goal()[j] - u[j];
            shift -= cross_[j] * part_[j];
        }
        shift = intercept_ && total > 0.0 ? shift / total : 0.0;
        combine(part_, move_);
        double step = 1.0;
        for (int halving = 0; halving < 40; ++halving, step *= 0.5) {
            for (std::int64_t j = 0; j < p_; ++j)
                goal_[j] = u[j] + step * part_[j];
            for (std::int64_t t = 0; t < T_; ++t)
                trial_[t] = lambda[t] + step * (model_.weights()[t] - lambda[t]);
            for (std::int64_t i = 0; i < n_rows_; ++i)
                trial_margin_[i] = margin_[i] + step * move_[i];
            const double at = b + step * shift;
            const double value = risk_.evaluate(trial_margin_, at, v_, curvature_).value;
            // Near the optimum the objective is flat to rounding while the gap still falls.
            if (!(value + model_.penalty(goal_, trial_) <=
                  objective + kSameObjective * std::abs(objective)))
                continue;
            std::copy_n(static_cast<double*>(goal_), p_, u);
            std::copy_n(static_cast<double*>(trial_), T_, lambda);
            std::copy_n(static_cast<double*>(trial_margin_), n_rows_,
                        static_cast<double*>(margin_));
            b = at;
            return true;
        }
        return false;
    }

    const Risk& risk_;
    bool intercept_;
    std::int64_t p_, T_, n_rows_, width_;  // the last two with padding
    BlockModel model_;
    double b_ = 0.0, *u_ = nullptr, *lambda_ = nullptr;
    RowTotals totals_{};
    Buffer z_{n_rows_ * width_}, margin_{n_rows_}, trial_margin_{n_rows_}, move_{n_rows_},
        v_{n_rows_}, curvature_{n_rows_}, dual_{n_rows_}, scores_{p_}, cross_{width_},
        scaled_{kGramLeft * kGramRows}, goal_{p_}, part_{p_}, trial_{T_};
};

}  // namespace zeronorm
