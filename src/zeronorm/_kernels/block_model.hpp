// The quadratic model of the problem over blocks, minimised in coefficients and block weights.
//
//     min_{lambda in simplex} min_u  1/2 u'(A + diag(E lambda)^-1) u - h'u
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "cholesky.hpp"
#include "losses.hpp"
#include "parallel.hpp"
#include "ridge_rows.hpp"
#include "simplex.hpp"

namespace zeronorm {

inline constexpr int kMaxWeightSteps = 50, kMaxIdle = 3;
inline constexpr double kSameObjective = 1e-15;  // relative differences below it are rounding

enum class BlockStatus { kConverged, kStalled, kMaxSteps };

// Three numbers for the start and every step: the best objective and bound, and the seconds.
struct BlockHistory {
    double* values;
    std::int64_t most_steps;
};

struct BlockAnswer {
    double intercept, objective, bound;
    int steps;
    BlockStatus status;
};

class BlockModel {
  public:
    // E: (p, T) 0/1, row by row. sides: u and h are as many vectors of p numbers, one after the
    // other, with the same A and lambda; the model is the sum over them.
    BlockModel(std::int64_t p, std::int64_t T, const double* E, std::int64_t sides = 1)
        : p_(p), T_(T), sides_(sides), width_(whole(p, kGramRight)), E_(E) {}

    // A, all entries, in rows of `width`: set before the model is minimised.
    double* matrix() const { return A_; }
    std::int64_t width() const { return width_; }
    // Where the model is least.
    const double* goal() const { return goal_; }
    const double* weights() const { return weights_; }

    // to = A w for every side, A being symmetric
    void multiply(const double* w, double* to) const {
        for (std::int64_t side = 0; side < sides_; ++side)
            multiply_one(w + side * p_, to + side * p_);
    }

    // 1/2 of the largest sum of squares of a block
    double largest_block(const double* scores) const {
        double worst = 0.0;
        for (std::int64_t t = 0; t < T_; ++t)
            worst = std::max(worst, half_square(scores, t));
        return worst;
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
            double square = 0.0;
            for (std::int64_t k = j; k < sides_ * p_; k += p_)
                square += u[k] * u[k];
            if (square == 0.0) continue;
            const double d = share(lambda, j);
            if (!(d > 0.0)) return kInfinity;
            total += square / d;
        }
        return 0.5 * total;
    }

    // Minimises 1/2 u'(A + diag(E lambda)^-1) u - h'u, h = A u + scores, into goal_ and weights_:
    // the projected Newton method of `_quadratic_model` in solvers/minimax.py.
    void minimise(const double* lambda, double tol, const double* u, const double* scores) {
        multiply(u, h_);
        for (std::int64_t k = 0; k < sides_ * p_; ++k)
            h_[k] += scores[k];
        std::copy_n(lambda, T_, static_cast<double*>(weights_));
        double value = factor_model(weights_);
        for (int round = 0; T_ > 1 && round < kMaxWeightSteps; ++round) {
            multiply(goal_, c_);
            for (std::int64_t k = 0; k < sides_ * p_; ++k)
                c_[k] = h_[k] - c_[k];
            double mean = 0.0, least = kInfinity;
            for (std::int64_t t = 0; t < T_; ++t) {
                slope_[t] = -half_square(c_, t);
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

  private:
    double half_square(const double* scores, std::int64_t t) const {
        double square = 0.0;
        for (std::int64_t k = 0; k < sides_ * p_; ++k)
            square += E_[k % p_ * T_ + t] * scores[k] * scores[k];
        return 0.5 * square;
    }

    void multiply_one(const double* w, double* to) const {
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            double* __restrict const sums = to;
            std::fill_n(sums, p_, 0.0);
            for (std::int64_t a = 0; a < p_; ++a) {
                const double* __restrict const row = A_ + a * width_;
                const double factor = w[a];
                for (std::int64_t b = 0; b < p_; ++b)
                    sums[b] += row[b] * factor;
            }
        };
        run_block(kernel, 0);
    }

    // target_ <- the minimum over the simplex of the quadratic model in the weights.
    void aim() {
        for (std::int64_t k = 0; k < T_ * sides_; ++k) {
            const std::int64_t t = k / sides_;
            const double* const c = c_ + k % sides_ * p_;
            double *const image = image_ + k * p_, *const solved = solved_ + k * p_;
            for (std::int64_t j = 0; j < p_; ++j)
                part_[j] = c[j] * E_[j * T_ + t];
            multiply_one(part_, image);
            for (std::int64_t j = 0; j < p_; ++j)
                solved[j] = root_[j] * image[j];
            solve_factored(factor_, p_, width_, solved);
        }
        for (std::int64_t s = 0; s < T_; ++s)
            for (std::int64_t t = 0; t < T_; ++t) {
                double total = 0.0, rounding = 0.0;
                for (std::int64_t k = 0; k < sides_ * p_; ++k) {
                    const std::int64_t j = k % p_;
                    const double image = image_[t * sides_ * p_ + k], own = c_[k] * E_[j * T_ + s];
                    total += image * (own - root_[j] * solved_[s * sides_ * p_ + k]);
                    rounding += kRounding * std::abs(image * own);
                }
                hessian_[s * T_ + t] = total + (s == t ? rounding : 0.0);
            }
        for (std::int64_t s = 0; s < T_; ++s) {
            along_[s] = slope_[s];
            for (std::int64_t t = 0; t < T_; ++t)
                along_[s] -= hessian_[s * T_ + t] * weights_[t];
        }
        std::copy_n(static_cast<double*>(weights_), T_, static_cast<double*>(target_));
        simplex_.minimise(along_, hessian_, target_);
    }

    // goal_ <- the best u for weights, and root_ and factor_ of these, the diagonal of the system
    // scaled to 1; returns the value there.
    double factor_model(const double* lambda) {
        for (std::int64_t j = 0; j < p_; ++j) {
            root_[j] = std::sqrt(share(lambda, j));
            for (std::int64_t k = j; k < sides_ * p_; k += p_)
                goal_[k] = root_[j] * h_[k];
        }
        for (std::int64_t a = 0; a < p_; ++a) {
            for (std::int64_t b = a; b < p_; ++b)
                K_[a * width_ + b] = A_[a * width_ + b] * root_[a] * root_[b];
            K_[a * width_ + a] += 1.0;
            unit_[a] = 1.0 / std::sqrt(K_[a * width_ + a]);
        }
        for (std::int64_t a = 0; a < p_; ++a)  // the columns may differ in scale by many orders
            for (std::int64_t b = a; b < p_; ++b)
                K_[a * width_ + b] *= unit_[a] * unit_[b];
        cholesky(K_, p_, width_, factor_);
        for (std::int64_t k = 0; k < sides_ * p_; ++k) {
            if (k < p_) root_[k] *= unit_[k];
            goal_[k] *= unit_[k % p_];
        }
        double value = 0.0;
        for (std::int64_t side = 0; side < sides_; ++side) {
            double* const goal = goal_ + side * p_;
            solve_factored(factor_, p_, width_, goal);
            for (std::int64_t j = 0; j < p_; ++j) {
                goal[j] *= root_[j];
                value += h_[side * p_ + j] * goal[j];
            }
        }
        return -0.5 * value;
    }

    std::int64_t p_, T_, sides_, width_;  // the last with padding
    const double* E_;
    OnSimplex simplex_{T_};
    Buffer A_{width_ * width_}, K_{width_ * width_}, factor_{width_ * width_}, h_{sides_ * p_},
        c_{sides_ * p_}, root_{p_}, unit_{p_}, goal_{sides_ * p_}, part_{p_},
        image_{T_ * sides_ * p_}, solved_{T_ * sides_ * p_}, weights_{T_}, trial_{T_}, target_{T_},
        slope_{T_}, along_{T_}, hessian_{T_ * T_};
};

// Newton's method for a problem over blocks. problem.assess() returns the objective and a lower
// bound where it is, problem.move(objective, tol) goes to the goal of its model, solved to a gap of
// `tol`, or less far; false where no step is of use.
template <class Problem>
BlockAnswer solve_blocks(Problem& problem, double tol, double scale, const BlockHistory& history) {
    const auto begin = std::chrono::steady_clock::now();
    double best = kInfinity, bound = -kInfinity, best_gap = kInfinity, last = kInfinity;
    int step = 0, idle = 0;
    const auto answer = [&](BlockStatus status) {
        return BlockAnswer{0.0, best, bound, step, status};
    };
    for (;; ++step) {
        const auto [objective, lower] = problem.assess();
        best = std::min(best, objective);
        bound = std::max(bound, lower);
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        history.values[3 * step] = best;
        history.values[3 * step + 1] = bound;
        history.values[3 * step + 2] = spent.count();
        const double gap = (best - bound) / scale;
        if (gap <= tol) return answer(BlockStatus::kConverged);
        idle = gap < 0.9 * best_gap ? 0 : idle + 1;
        best_gap = std::min(gap, best_gap);
        if (idle >= kMaxIdle && objective >= last - kSameObjective * std::abs(last))
            return answer(BlockStatus::kStalled);
        if (step == history.most_steps) return answer(BlockStatus::kMaxSteps);
        last = objective;
        if (!problem.move(objective, 0.01 * gap * scale)) return answer(BlockStatus::kStalled);
    }
}

}  // namespace zeronorm
