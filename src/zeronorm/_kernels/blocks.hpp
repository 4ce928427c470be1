// Compiled solver: Newton's method for the problem over the blocks of the minimax family.
//
//     min_{lambda in simplex} min_{u, b}  1/2 sum_j u_j^2 / (E lambda)_j + sum_i s_i f(y_i, z_i'u +
//     b)
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cholesky.hpp"
#include "cox_dual.hpp"
#include "dual.hpp"
#include "ridge_rows.hpp"
#include "risk.hpp"
#include "simplex.hpp"

namespace zeronorm {

inline constexpr int kMaxBlockSteps = 60, kMaxWeightSteps = 50, kMaxIdle = 3;
inline constexpr double kSameObjective = 1e-15;  // relative differences below it are rounding

enum class BlockStatus { kConverged, kStalled, kMaxSteps };

struct BlockAnswer {
    double intercept, objective, bound;
    int steps;
    BlockStatus status;
};

template <class Loss>
class BlockSolver {
  public:
    // x: n rows and p columns by strides in elements. membership: (p, T) 0/1, row by row.
    BlockSolver(const Risk<Loss>& risk, bool intercept, const double* x, std::int64_t row_stride,
                std::int64_t column_stride, std::int64_t p, const double* membership,
                std::int64_t T)
        : risk_(risk),
          intercept_(intercept),
          p_(p),
          T_(T),
          n_rows_(risk.n_rows()),
          width_(whole(p, kGramRight)),
          E_(membership) {
        const auto column_of = [](std::int64_t j) { return j; };
        copy_columns(x, row_stride, column_stride, risk.n(), p, column_of, n_rows_, z_);
    }

    // u (p,), lambda (T,): the start, then the solution. dual (n,): of the last point. history
    // (kMaxBlockSteps + 1, 3): the best objective and bound, and the seconds, after every step.
    BlockAnswer solve(double b, double tol, double scale, double* u, double* lambda, double* dual,
                      double* history) {
        const auto begin = std::chrono::steady_clock::now();
        combine(u, margin_);
        double best = kInfinity, bound = -kInfinity, best_gap = kInfinity, last = kInfinity;
        BlockStatus status = BlockStatus::kMaxSteps;
        int step = 0, idle = 0;
        for (;; ++step) {
            RowTotals totals = risk_.evaluate(margin_, b, v_, curvature_);
            if (intercept_) risk_.fit_intercept(margin_, b, v_, curvature_, totals);
            balance();
            set_scores();
            const double objective = totals.value + penalty(u, lambda);
            best = std::min(best, objective);
            bound = std::max(bound, lower_bound());
            const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
            history[3 * step] = best;
            history[3 * step + 1] = bound;
            history[3 * step + 2] = spent.count();
            const double gap = (best - bound) / scale;
            if (gap <= tol) status = BlockStatus::kConverged;
            if (gap <= tol) break;
            idle = gap < 0.9 * best_gap ? 0 : idle + 1;
            best_gap = std::min(gap, best_gap);
            if (idle >= kMaxIdle && objective >= last - kSameObjective * std::abs(last))
                status = BlockStatus::kStalled;
            if (status == BlockStatus::kStalled || step == kMaxBlockSteps) break;
            last = objective;
            set_model(totals.bend);
            minimise_model(lambda, 0.01 * gap * scale, u);
            if (!line_search(objective, totals.bend, b, u, lambda)) {
                status = BlockStatus::kStalled;
                break;
            }
        }
        std::copy_n(static_cast<double*>(dual_), risk_.n(), dual);
        return {b, best, bound, step, status};
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
        double worst = 0.0;
        for (std::int64_t t = 0; t < T_; ++t) {
            double square = 0.0;
            for (std::int64_t j = 0; j < p_; ++j)
                square += E_[j * T_ + t] * scores_[j] * scores_[j];
            worst = std::max(worst, 0.5 * square);
        }
        const Dual<Loss> dual(risk_, dual_);
        const double c = dual.best_scale(worst);
        return -dual.conjugate(c) - c * (c * worst);
    }

    double share(const double* lambda, std::int64_t j) const {
        double d = 0.0;
        for (std::int64_t t = 0; t < T_; ++t)
            d += E_[j * T_ + t] * lambda[t];
        return d;
    }

    // 1/2 sum_j u_j^2 / (E lambda)_j, with 0/0 = 0
    double penalty(const double* u, const double* lambda) const {
        double total = 0.0;
        for (std::int64_t j = 0; j < p_; ++j) {
            if (u[j] == 0.0) continue;
            const double d = share(lambda, j);
            if (!(d > 0.0)) return kInfinity;
            total += u[j] * u[j] / d;
        }
        return 0.5 * total;
    }

    // A_ <- Z'WZ without the free intercept; cross_ <- Z'w where there is one, else 0.
    void set_model(double total) {
        weighted_gram(z_, n_rows_, width_, curvature_, A_, cross_, scaled_);
        risk_.couple(margin_, z_, width_, A_);
        const bool centre = intercept_ && total > 0.0;
        if (!centre) std::fill_n(static_cast<double*>(cross_), width_, 0.0);
        for (std::int64_t a = 0; a < p_; ++a)
            for (std::int64_t b = a; b < p_; ++b) {
                if (centre) A_[a * width_ + b] -= cross_[a] * (cross_[b] / total);
                A_[b * width_ + a] = A_[a * width_ + b];
            }
    }

    // to = A w
    void multiply(const double* w, double* to) const {
        for (std::int64_t a = 0; a < p_; ++a) {
            double total = 0.0;
            for (std::int64_t b = 0; b < p_; ++b)
                total += A_[a * width_ + b] * w[b];
            to[a] = total;
        }
    }

    // Minimises 1/2 u'(A + diag(E lambda)^-1) u - h'u, h = A u + c, into goal_ and weights_: the
    // projected Newton method of `_quadratic_model` in solvers/minimax/newton.py.
    void minimise_model(const double* lambda, double tol, const double* u) {
        multiply(u, h_);
        for (std::int64_t j = 0; j < p_; ++j)
            h_[j] += scores_[j];
        std::copy_n(lambda, T_, static_cast<double*>(weights_));
        double value = factor_model(weights_);
        for (int round = 0; T_ > 1 && round < kMaxWeightSteps; ++round) {
            multiply(goal_, c_);
            for (std::int64_t j = 0; j < p_; ++j)
                c_[j] = h_[j] - c_[j];
            double mean = 0.0, least = kInfinity;
            for (std::int64_t t = 0; t < T_; ++t) {
                double square = 0.0;
                for (std::int64_t j = 0; j < p_; ++j)
                    square += E_[j * T_ + t] * c_[j] * c_[j];
                slope_[t] = -0.5 * square;
                mean += weights_[t] * slope_[t];
                least = std::min(least, slope_[t]);
            }
            if (mean - least <= tol) break;
            aim();
            double slope = 0.0;
            for (std::int64_t t = 0; t < T_; ++t)
                slope += slope_[t] * (target_[t] - weights_[t]);
            double step = 1.0, found = 0.0;
            for (;; step *= 0.5) {
                for (std::int64_t t = 0; t < T_; ++t)
                    trial_[t] = weights_[t] + step * (target_[t] - weights_[t]);
                found = factor_model(trial_);
                if (found <= value + 1e-4 * step * slope + 1e-14 * std::abs(value)) break;
                if (step < 1e-8) break;
            }
            if (step < 1e-8) {
                factor_model(weights_);
                break;
            }
            std::copy_n(static_cast<double*>(trial_), T_, static_cast<double*>(weights_));
            value = found;
        }
    }

    // target_ <- the minimum over the simplex of the quadratic model in the weights.
    void aim() {
        for (std::int64_t t = 0; t < T_; ++t) {
            double *const image = image_ + t * p_, *const solved = solved_ + t * p_;
            for (std::int64_t j = 0; j < p_; ++j)
                part_[j] = c_[j] * E_[j * T_ + t];
            multiply(part_, image);
            for (std::int64_t j = 0; j < p_; ++j)
                solved[j] = root_[j] * image[j];
            solve_factored(factor_, p_, width_, solved);
        }
        for (std::int64_t s = 0; s < T_; ++s)
            for (std::int64_t t = 0; t < T_; ++t) {
                double total = 0.0;
                for (std::int64_t j = 0; j < p_; ++j)
                    total += image_[t * p_ + j] *
                             (c_[j] * E_[j * T_ + s] - root_[j] * solved_[s * p_ + j]);
                hessian_[s * T_ + t] = total;
            }
        for (std::int64_t s = 0; s < T_; ++s) {
            along_[s] = slope_[s];
            for (std::int64_t t = 0; t < T_; ++t)
                along_[s] -= hessian_[s * T_ + t] * weights_[t];
        }
        std::copy_n(static_cast<double*>(weights_), T_, static_cast<double*>(target_));
        simplex_.minimise(along_, hessian_, target_);
    }

    // goal_ <- the best u for weights, and root_ and factor_ of these; returns the value there.
    double factor_model(const double* lambda) {
        for (std::int64_t j = 0; j < p_; ++j) {
            root_[j] = std::sqrt(share(lambda, j));
            goal_[j] = root_[j] * h_[j];
        }
        for (std::int64_t a = 0; a < p_; ++a) {
            for (std::int64_t b = a; b < p_; ++b)
                K_[a * width_ + b] = A_[a * width_ + b] * root_[a] * root_[b];
            K_[a * width_ + a] += 1.0;
        }
        cholesky(K_, p_, width_, factor_);
        solve_factored(factor_, p_, width_, goal_);
        double value = 0.0;
        for (std::int64_t j = 0; j < p_; ++j) {
            goal_[j] *= root_[j];
            value += h_[j] * goal_[j];
        }
        return -0.5 * value;
    }

    // Moves to goal_ and weights_, or less far by halves; false where no step is of use.
    bool line_search(double objective, double total, double& b, double* u, double* lambda) {
        double shift = 0.0;
        for (std::int64_t j = 0; j < p_; ++j) {
            part_[j] = goal_[j] - u[j];
            shift -= cross_[j] * part_[j];
        }
        shift = intercept_ && total > 0.0 ? shift / total : 0.0;
        combine(part_, move_);
        double step = 1.0;
        for (int halving = 0; halving < 40; ++halving, step *= 0.5) {
            for (std::int64_t j = 0; j < p_; ++j)
                c_[j] = u[j] + step * part_[j];
            for (std::int64_t t = 0; t < T_; ++t)
                trial_[t] = lambda[t] + step * (weights_[t] - lambda[t]);
            for (std::int64_t i = 0; i < n_rows_; ++i)
                trial_margin_[i] = margin_[i] + step * move_[i];
            const double at = b + step * shift;
            const double value = risk_.evaluate(trial_margin_, at, v_, curvature_).value;
            // Near the optimum the objective is flat to rounding while the gap still falls.
            if (!(value + penalty(c_, trial_) <= objective + kSameObjective * std::abs(objective)))
                continue;
            std::copy_n(static_cast<double*>(c_), p_, u);
            std::copy_n(static_cast<double*>(trial_), T_, lambda);
            std::copy_n(static_cast<double*>(trial_margin_), n_rows_,
                        static_cast<double*>(margin_));
            b = at;
            return true;
        }
        return false;
    }

    const Risk<Loss>& risk_;
    bool intercept_;
    std::int64_t p_, T_, n_rows_, width_;  // the last two with padding
    const double* E_;
    OnSimplex simplex_{T_};
    Buffer z_{n_rows_ * width_}, margin_{n_rows_}, trial_margin_{n_rows_}, move_{n_rows_},
        v_{n_rows_}, curvature_{n_rows_}, dual_{n_rows_}, scores_{p_}, cross_{width_},
        A_{width_ * width_}, K_{width_ * width_}, factor_{width_ * width_},
        scaled_{kGramLeft * kGramRows}, h_{p_}, c_{p_}, root_{p_}, goal_{p_}, part_{p_},
        image_{T_ * p_}, solved_{T_ * p_}, weights_{T_}, trial_{T_}, target_{T_}, slope_{T_},
        along_{T_}, hessian_{T_ * T_};
};

}  // namespace zeronorm
