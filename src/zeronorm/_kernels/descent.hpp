// Coordinate descent over columns: what the solvers of l1-regularised problems repeat many times.
//
// `features` are the columns of the problem, q of them; vectors of length q belong to them in this
// order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "losses.hpp"
#include "parallel.hpp"

namespace zeronorm {

// The terms of the features.
template <VisitedColumns C>
void column_terms(const C& x, const std::int64_t* features, std::int64_t q, const double* v,
                  const double* h, double* product, double* total, double* square,
                  std::int64_t n_threads) {
    std::int64_t work = 0;
    for (std::int64_t j = 0; j < q; ++j)
        work += x.size(features[j]);
    constexpr std::int64_t width = 32;
    parallel_for((q + width - 1) / width, work, n_threads,
                 [&](std::int64_t block) ZERONORM_INLINE_LAMBDA {
                     const std::int64_t last = std::min((block + 1) * width, q);
                     for (std::int64_t j = block * width; j < last; ++j) {
                         const Terms terms = x.terms(features[j], v, h);
                         product[j] = terms.product;
                         total[j] = terms.total;
                         square[j] = terms.square;
                     }
                 });
}

// v += sum_j z_j x_j over the features with z_j != 0.
template <VisitedColumns C>
void combine(const C& x, const std::int64_t* features, std::int64_t q, const double* z, double* v) {
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        for (std::int64_t j = 0; j < q; ++j)
            if (z[j] != 0.0) x.add(features[j], z[j], v);
    };
    run_block(kernel, 0);
}

// What a coefficient t costs: l1 |t| + l2 / 2 t^2 for low <= t <= high, where low is -inf or 0 and
// high is 0 or inf.
struct Penalty {
    double l1, l2, low, high;

    // From row j of a matrix.
    ZERONORM_INLINE static Penalty at(const double* rows, std::int64_t j) {
        return {rows[4 * j], rows[4 * j + 1], rows[4 * j + 2], rows[4 * j + 3]};
    }

    ZERONORM_INLINE double value(double t) const { return l1 * std::abs(t) + 0.5 * l2 * t * t; }
    // The least norm of g + the subgradients at t: how far t is from optimal.
    ZERONORM_INLINE double violation(double g, double t) const {
        g += l2 * t;
        if (t > 0.0) return std::abs(g + l1);
        if (t < 0.0) return std::abs(g - l1);
        const double up = high > 0.0 ? -(g + l1) : 0.0, down = low < 0.0 ? g - l1 : 0.0;
        return std::max({up, down, 0.0});
    }
    // Whether 0 is optimal with a margin.
    ZERONORM_INLINE bool settled(double g, double margin) const {
        return (high <= 0.0 || g + l1 > margin) && (low >= 0.0 || l1 - g > margin);
    }
    // The minimiser of g (x - t) + h/2 (x - t)^2 + the penalty of x.
    ZERONORM_INLINE double minimiser(double g, double h, double t) const {
        const double centre = h * t - g, bend = h + l2;
        const double size = std::abs(centre) - l1;
        if (!(size > 0.0)) return 0.0;
        return std::clamp(std::copysign(size / bend, centre), low, high);
    }
};

// Random numbers for the order of visits (xorshift64).
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
    ZERONORM_INLINE std::int64_t below(std::int64_t n) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::int64_t>((state_ >> 11) % static_cast<std::uint64_t>(n));
    }

  private:
    std::uint64_t state_;
};

// The quadratic model of a problem at u, in the step d of the features and e of the intercept:
//     gradient'd + gradient_e e + 1/2 sum_i h_i (x_i'd + e)^2 + nu/2 ||d||^2 + penalty(u + d)
// A free intercept is eliminated: e is the best one for every d. What is left is the model of the
// columns less their means, weighted by h; without it columns far from zero would take forever.
struct Model {
    std::int64_t n_rows;
    const double* curvature;     // (n_rows,) h
    const double* gradient;      // (q,)
    const double* total;         // (q,) sum_i h_i x_ij
    const double* square;        // (q,) sum_i h_i x_ij^2
    const double* penalty;       // (q, 4) l1, l2, low, high
    const double* u;             // (q,)
    const double* largest_step;  // (q,)
    double nu;
    bool intercept;
    double gradient_e;

    // 1 / sum_i h_i, 0 where there is no intercept to eliminate.
    ZERONORM_INLINE double share() const {
        double sum = 0.0;
        if (intercept)
            for (std::int64_t i = 0; i < n_rows; ++i)
                sum += curvature[i];
        const double result = sum > 0.0 ? 1.0 / sum : 0.0;
        return std::isfinite(result) ? result : 0.0;
    }
    // The best e where sum_i h_i x_i'd is the sum of `along`.
    ZERONORM_INLINE double best_offset(const double* along, double share) const {
        double slope = gradient_e;
        for (std::int64_t i = 0; i < n_rows; ++i)
            slope += along[i];
        const double offset = -slope * share;
        return share > 0.0 && std::isfinite(offset) ? offset : 0.0;
    }
    // The curvature along feature j, the intercept following; never quite 0 by cancellation.
    ZERONORM_INLINE double bend(std::int64_t j, double share) const {
        return std::max(square[j] - total[j] * total[j] * share, 1e-14 * square[j]) + nu;
    }
};

// How far a descent has come; with d and the residual its state between calls.
struct Descent {
    double offset;          // e
    std::int64_t n_active;  // features still visited: the first ones of `active`
    double limit;           // the largest violation of the previous sweep
    std::int64_t n_sweeps;
    double total;  // of the violations met in the last sweep
    bool done;     // it was at most the target, in a sweep over all features
};

// Sweeps over the features until the violations add up to at most `target`, or max_sweeps.
// active (q,): the features in the order of their visits; residual (n_rows,): h_i x_i'd.
// shrinking: features at zero that are optimal by this share of the largest violation of the
// previous sweep are not visited again until the others have converged; 0: all are visited.
template <VisitedColumns C>
void descend(const C& x, const std::int64_t* features, std::int64_t q, const Model& model,
             double target, std::int64_t max_sweeps, double shrinking, Random random,
             std::int64_t* active, double* d, double* residual, Descent& state) {
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        const double share = model.share();
        for (std::int64_t sweep = 0; sweep < max_sweeps && !state.done; ++sweep) {
            const bool shrinks = shrinking > 0.0 && std::isfinite(state.limit);
            double largest = 0.0, total = 0.0;
            if (share > 0.0) state.offset = model.best_offset(residual, share);
            for (std::int64_t k = state.n_active - 1; k > 0; --k)
                std::swap(active[k], active[random.below(k + 1)]);
            for (std::int64_t k = 0; k < state.n_active;) {
                const std::int64_t j = active[k];
                const Penalty penalty = Penalty::at(model.penalty, j);
                const double t = model.u[j] + d[j];
                const double g = model.gradient[j] + model.nu * d[j] +
                                 x.dot(features[j], residual) + state.offset * model.total[j];
                if (shrinks && t == 0.0 && penalty.settled(g, shrinking * state.limit)) {
                    std::swap(active[k], active[--state.n_active]);
                    continue;  // with the feature that was moved here
                }
                ++k;
                const double violation = penalty.violation(g, t);
                largest = std::max(largest, violation);
                total += violation;
                const double h = model.bend(j, share);
                if (!(h + penalty.l2 > 0.0) && std::abs(g) > penalty.l1) continue;  // no minimum
                double z = penalty.minimiser(g, h, t) - t;
                if (std::abs(z) > model.largest_step[j])
                    z = std::copysign(model.largest_step[j], z);
                if (z == 0.0 || !std::isfinite(z)) continue;
                d[j] = z == -t ? -model.u[j] : d[j] + z;
                x.add_weighted(features[j], z, model.curvature, residual);
                state.offset -= z * model.total[j] * share;
            }
            ++state.n_sweeps;
            state.total = total;
            state.limit = largest;
            if (total <= target) {
                state.done = state.n_active == q;
                state.n_active = q;  // the others are looked at again
                state.limit = std::numeric_limits<double>::infinity();
            }
        }
    };
    run_block(kernel, 0);
}

// Coordinate descent on min_d slope'd + 1/2 d'Ad + penalty(u + d), A (q, q) symmetric: for few
// columns of many rows. A feature that does not move costs nothing. Changes d and the slopes at d.
// Returns the number of sweeps, and the sum of the violations met in the last one.
inline std::pair<std::int64_t, double> descend_gram(const double* A, std::int64_t q,
                                                    const double* penalties, const double* u,
                                                    const double* largest_step, double target,
                                                    std::int64_t max_sweeps, double* d,
                                                    double* slope) {
    std::int64_t n_sweeps = 0;
    double total = 0.0;
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        while (n_sweeps < max_sweeps) {
            total = 0.0;
            for (std::int64_t j = 0; j < q; ++j) {
                const Penalty penalty = Penalty::at(penalties, j);
                const double* const column = A + j * q;
                const double t = u[j] + d[j];
                total += penalty.violation(slope[j], t);
                if (!(column[j] + penalty.l2 > 0.0) && std::abs(slope[j]) > penalty.l1) continue;
                double z = penalty.minimiser(slope[j], column[j], t) - t;
                if (std::abs(z) > largest_step[j]) z = std::copysign(largest_step[j], z);
                if (z == 0.0 || !std::isfinite(z)) continue;
                d[j] = z == -t ? -u[j] : d[j] + z;
                for (std::int64_t k = 0; k < q; ++k)
                    slope[k] += z * column[k];
            }
            ++n_sweeps;
            if (total <= target) break;
        }
    };
    run_block(kernel, 0);
    return {n_sweeps, total};
}

// One cycle of coordinate-wise Newton steps (CDN) on sum_i s_i f(y_i, z_i) + penalty(u), each with
// its own line search on the margins z. Returns the sum of the violations met.
template <class Loss, VisitedColumns C>
double newton_cycle(const C& x, const std::int64_t* features, std::int64_t q, const double* y,
                    const double* weight, const double* penalties, double nu, double sigma,
                    const double* largest_step, std::int64_t max_halvings, Random random,
                    std::int64_t* order, double* u, double* z) {
    double total = 0.0;
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        for (std::int64_t k = q - 1; k > 0; --k)
            std::swap(order[k], order[random.below(k + 1)]);
        for (std::int64_t k = 0; k < q; ++k) {
            const std::int64_t j = order[k], column = features[j];
            const Penalty penalty = Penalty::at(penalties, j);
            double g = 0.0, h = nu;
            x.each(column, [&](std::int64_t i, double value) ZERONORM_INLINE_LAMBDA {
                const auto [slope, bend] = Loss::derivatives(y[i], z[i]);
                g += weight[i] * slope * value;
                h += weight[i] * bend * value * value;
            });
            total += penalty.violation(g, u[j]);
            double step = penalty.minimiser(g, h, u[j]) - u[j];
            if (std::abs(step) > largest_step[j]) step = std::copysign(largest_step[j], step);
            if (step == 0.0) continue;
            const double model = g * step + penalty.value(u[j] + step) - penalty.value(u[j]);
            double share = 1.0;
            bool found = false;
            for (std::int64_t halving = 0; halving < max_halvings && !found; ++halving) {
                const double moved = u[j] + share * step;
                double change = penalty.value(moved) - penalty.value(u[j]);
                x.each(column, [&](std::int64_t i, double value) ZERONORM_INLINE_LAMBDA {
                    change += weight[i] * Loss::change(y[i], z[i], share * step * value);
                });
                found = change <= sigma * share * model;
                if (!found) share *= 0.5;
            }
            if (!found) continue;
            u[j] = share == 1.0 && step == -u[j] ? 0.0 : u[j] + share * step;
            x.add(column, share * step, z);
        }
    };
    run_block(kernel, 0);
    return total;
}

}  // namespace zeronorm
