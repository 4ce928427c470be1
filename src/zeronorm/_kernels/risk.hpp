// The weighted loss of a problem as a function of the margins, with its best intercept.
//
//     sum_i s_i f(y_i, z_i + b)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "lanes.hpp"
#include "losses.hpp"
#include "parallel.hpp"
#include "ridge_rows.hpp"

namespace zeronorm {

inline constexpr int kMaxIntercept = 200;
inline constexpr double kFlat = 1e-13;  // slope in the intercept that counts as none, relative

// Sums over all rows at some margins.
struct RowTotals {
    double value, slope, size, bend;  // loss, d/db, sum of |d/dz_i|, d2/db2
};

// Moves b to where evaluate(b) has its least value, from where `totals` were evaluated: Newton's
// method on the increasing derivative, with a bracket that bisection can fall back to.
template <class Evaluate>
void fit_intercept(const Evaluate& evaluate, bool quadratic, double& b, RowTotals& totals,
                   double flat = kFlat) {
    if (quadratic) {  // two steps: the second one takes what rounding left
        for (int step = 0; step < 2 && totals.bend > 0.0; ++step) {
            b -= totals.slope / totals.bend;
            totals = evaluate(b);
        }
        return;
    }
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double low = -infinity, high = infinity, width = 1.0;
    for (int iteration = 0; iteration < kMaxIntercept; ++iteration) {
        if (!(std::abs(totals.slope) > flat * totals.size)) return;
        (totals.slope > 0.0 ? high : low) = b;
        double proposal = totals.bend > 0.0 ? b - totals.slope / totals.bend : infinity;
        if (!(low < proposal && proposal < high) || std::abs(proposal - b) > 10.0 * width) {
            if (std::isinf(low) || std::isinf(high)) {  // expand towards the missing end
                proposal = b - std::copysign(width, totals.slope);
                width *= 4.0;
            } else {
                proposal = 0.5 * (low + high);
            }
        }
        if (std::abs(proposal - b) <= 1e-15 * std::max(1.0, std::abs(b))) return;
        b = proposal;
        totals = evaluate(b);
    }
}

// A loss of n rows, which are padded to whole cache lines by rows of weight 0; what it writes for
// the rows has n_rows() numbers.
template <class Loss>
class Risk {
  public:
    Risk(const Loss& loss, const double* y, const double* weight, std::int64_t n)
        : loss_(loss), n_(n), n_rows_(whole(n, kLine)) {
        std::copy_n(y, n, static_cast<double*>(y_));
        std::copy_n(weight, n, static_cast<double*>(weight_));
    }
    std::int64_t n() const { return n_; }
    std::int64_t n_rows() const { return n_rows_; }
    const Loss& loss() const { return loss_; }
    const double* y() const { return y_; }
    const double* weight() const { return weight_; }

    // v_i = -s_i f'(y_i, z_i + b), curvature_i = s_i f''(y_i, z_i + b), and their sums.
    RowTotals evaluate(const double* z, double b, double* v, double* curvature) const {
        return evaluate(z, b, y_, weight_, n_rows_, v, curvature);
    }

    // Moves b to its best value, from where `totals` were evaluated.
    void fit_intercept(const double* z, double& b, double* v, double* curvature, RowTotals& totals,
                       double flat = kFlat) const {
        const auto at = [&](double to) { return evaluate(z, to, v, curvature); };
        zeronorm::fit_intercept(at, Loss::kQuadratic, b, totals, flat);
    }

    // The least value without features, or what rounding may make of 0.
    double null(bool intercept) const {
        double b = 0.0;
        if constexpr (Loss::kOfLabels) {  // rows differ by their target only
            double y[kLaneCount] = {1.0, -1.0, 1.0, 1.0}, weight[kLaneCount] = {};
            double zero[kLaneCount] = {}, v[kLaneCount], curvature[kLaneCount];
            for (std::int64_t i = 0; i < n_; ++i)
                weight[y_[i] > 0.0 ? 0 : 1] += weight_[i];
            const auto at = [&](double to) {
                return evaluate(zero, to, y, weight, kLaneCount, v, curvature);
            };
            RowTotals totals = at(b);
            if (intercept) zeronorm::fit_intercept(at, Loss::kQuadratic, b, totals);
            return totals.value;
        } else {
            Buffer zero(n_rows_), v(n_rows_), curvature(n_rows_);
            RowTotals totals = evaluate(zero, b, v, curvature);
            if (intercept) fit_intercept(zero, b, v, curvature, totals);
            if constexpr (requires { Loss::kNoise; }) {
                const double total = std::accumulate(&weight_[0], &weight_[n_], 0.0);
                totals.value = std::max(totals.value, Loss::kNoise * total);
            }
            return totals.value;
        }
    }

    // Takes off a Gram matrix Z'WZ (upper triangle, rows of `width`), with the curvature at margins
    // z, what the second derivative is less than it: nothing, as rows are by themselves.
    void couple(const double*, const double*, std::int64_t, double*) const {}

  private:
    RowTotals evaluate(const double* z, double b, const double* y, const double* weight,
                       std::int64_t n_rows, double* v, double* curvature) const {
        RowTotals totals{};
        const Loss loss = loss_;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            RowSum value, slope, size, bend;
            for (std::int64_t i = 0; i < n_rows; i += kLaneCount) {
                Lanes margin, target, s, f, push, second;
                load(z + i, margin);
                load(y + i, target);
                load(weight + i, s);
                margin += b;
                loss.terms(target, margin, f, push, second);
                push *= s;
                second *= s;
                store(push, v + i);
                store(second, curvature + i);
                value.add(s * f);
                slope.add(-push);
                size.add(push < 0.0 ? -push : push);
                bend.add(second);
            }
            totals = {value.value(), slope.value(), size.value(), bend.value()};
        };
        run_block(kernel, 0);
        return totals;
    }

    Loss loss_;
    std::int64_t n_, n_rows_;
    Buffer y_{n_rows_}, weight_{n_rows_};
};

}  // namespace zeronorm
