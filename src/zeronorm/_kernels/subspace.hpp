// One step of the features that are not at zero towards the minimum of a quadratic model with their
// signs kept: conjugate gradients preconditioned by the diagonal, until the slopes add up to at
// most a target. Where coordinates hinder each other this is worth many sweeps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "descent.hpp"
#include "parallel.hpp"

namespace zeronorm {

template <VisitedColumns C>
class SubspaceStep {
  public:
    // d (q,), residual (n_rows,) and offset are changed by the step.
    SubspaceStep(const C& x, const std::int64_t* features, std::int64_t q, const Model& model,
                 double* d, double* residual, double& offset)
        : x_(x),
          features_(features),
          q_(q),
          model_(model),
          d_(d),
          residual_(residual),
          offset_(offset),
          along_(static_cast<std::size_t>(model.n_rows)) {}

    // Returns the iterations.
    ZERONORM_INLINE std::int64_t run(double target, std::int64_t max_iterations) {
        begin();
        const std::int64_t n_iterations = iterate(target, max_iterations);
        if (n_iterations > 0) {
            shorten();
            stop_at_zero();
        }
        return n_iterations;
    }

  private:
    struct Coordinate {
        std::int64_t j;
        double t, ridge, bend;  // u + d; nu + l2; the diagonal of the model
        double slope, step, direction, left;
        bool stopped;

        // The step, to zero where it would change the sign.
        ZERONORM_INLINE double bounded() const { return stopped ? -t : step; }
    };

    // Collects the features that are not at zero.
    ZERONORM_INLINE void begin() {
        share_ = model_.share();
        if (share_ > 0.0) offset_ = model_.best_offset(residual_, share_);
        for (std::int64_t j = 0; j < q_; ++j) {
            const double t = model_.u[j] + d_[j];
            const Penalty penalty = Penalty::at(model_.penalty, j);
            const double ridge = model_.nu + penalty.l2;
            const double bend = model_.bend(j, share_) + penalty.l2;
            if (t == 0.0 || !(bend > 0.0)) continue;
            const double slope = -(model_.gradient[j] + model_.nu * d_[j] + penalty.l2 * t +
                                   std::copysign(penalty.l1, t) + x_.dot(features_[j], residual_) +
                                   offset_ * model_.total[j]);
            free_.push_back({j, t, ridge, bend, slope, 0.0, slope / bend, slope, false});
            size_ += std::abs(slope);
            norm_ += slope * slope / bend;
        }
    }

    // along_i <- h_i x_i'direction; returns what the intercept adds to x_i'direction, and the
    // curvature of the model in that direction.
    template <class Of>
    ZERONORM_INLINE std::pair<double, double> extend(const Of& of) {
        std::fill(along_.begin(), along_.end(), 0.0);
        double bent = 0.0, total = 0.0;
        for (const Coordinate& c : free_) {
            const double z = of(c);
            if (z != 0.0) x_.add(features_[c.j], z, along_.data());
            bent += c.ridge * z * z;
            total += z * model_.total[c.j];
        }
        const double e = -total * share_;
        for (std::int64_t i = 0; i < model_.n_rows; ++i) {
            double& along = along_[static_cast<std::size_t>(i)];
            const double weighted = model_.curvature[i] * along;
            bent += model_.curvature[i] * (along + e) * (along + e);
            along = weighted;
        }
        return {e, bent};
    }

    // Conjugate gradients; returns the iterations.
    ZERONORM_INLINE std::int64_t iterate(double target, std::int64_t max_iterations) {
        const double least = std::max(target, 1e-12 * size_);  // less is rounding
        // Without rounding so many iterations are enough; with it, more would only amplify it.
        max_iterations = std::min(max_iterations, static_cast<std::int64_t>(free_.size()));
        std::int64_t iteration = 0;
        for (; iteration < max_iterations && size_ > least; ++iteration) {
            const auto [e, bent] = extend([](const Coordinate& c) { return c.direction; });
            const double length = norm_ / bent;
            if (!(bent > 0.0) || !std::isfinite(length)) break;
            double next = 0.0;
            size_ = 0.0;
            for (Coordinate& c : free_) {
                c.step += length * c.direction;
                c.left -= length * (c.ridge * c.direction + x_.dot(features_[c.j], along_.data()) +
                                    e * model_.total[c.j]);
                size_ += std::abs(c.left);
                next += c.left * c.left / c.bend;
            }
            const double kept = next / norm_;
            norm_ = next;
            for (Coordinate& c : free_)
                c.direction = c.left / c.bend + kept * c.direction;
        }
        return iteration;
    }

    // All step less far where one would exceed its largest step a hundred times: steps that cancel
    // each other may be long, but without curvature they would have no end.
    ZERONORM_INLINE void shorten() {
        double excess = 1.0;
        for (const Coordinate& c : free_)
            excess = std::max(excess, std::abs(c.step) / (100.0 * model_.largest_step[c.j]));
        if (excess > 1.0)
            for (Coordinate& c : free_)
                c.step /= excess;
    }

    // Takes the step. What would change its sign stops at zero, if the model still decreases; else
    // all stop where the first one reaches zero.
    ZERONORM_INLINE void stop_at_zero() {
        double farthest = 1.0, change = 0.0;  // how far all may go together; of the model
        for (Coordinate& c : free_) {
            c.stopped = (c.t + c.step) * c.t <= 0.0;
            if (c.stopped) farthest = std::min(farthest, -c.t / c.step);
            change -= c.slope * c.bounded();
        }
        const auto bounded = [](const Coordinate& c) { return c.bounded(); };
        auto [e, bent] = extend(bounded);
        change += 0.5 * bent;
        if (!std::isfinite(change)) return;
        if (!(change < 0.0)) {
            if (!(farthest < 1.0)) return;  // rounding
            for (Coordinate& c : free_) {
                c.stopped = c.stopped && -c.t / c.step <= farthest;
                c.step *= farthest;
            }
            e = extend(bounded).first;
        }
        for (const Coordinate& c : free_)
            d_[c.j] = c.stopped ? -model_.u[c.j] : d_[c.j] + c.step;
        for (std::int64_t i = 0; i < model_.n_rows; ++i)
            residual_[i] += along_[static_cast<std::size_t>(i)];
        offset_ += e;
    }

    const C& x_;
    const std::int64_t* features_;
    std::int64_t q_;
    const Model& model_;
    double* d_;
    double* residual_;
    double& offset_;
    std::vector<Coordinate> free_;
    std::vector<double> along_;
    double share_ = 0.0, size_ = 0.0, norm_ = 0.0;
};

// Returns the iterations; d, residual and offset are changed.
template <VisitedColumns C>
std::int64_t subspace_step(const C& x, const std::int64_t* features, std::int64_t q,
                           const Model& model, double target, std::int64_t max_iterations,
                           double* d, double* residual, double& offset) {
    SubspaceStep<C> step(x, features, q, model, d, residual, offset);
    std::int64_t n_iterations = 0;
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        n_iterations = step.run(target, max_iterations);
    };
    run_block(kernel, 0);
    return n_iterations;
}

}  // namespace zeronorm
