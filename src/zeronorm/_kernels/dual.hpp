// Bounds of dual points of a loss, and the scales at which they bound the most.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "lanes.hpp"
#include "losses.hpp"
#include "ridge_rows.hpp"
#include "risk.hpp"

namespace zeronorm {

inline constexpr double kScaleTol = 1e-7;  // relative, of a scale: the bound is flat there
inline constexpr double kLastStep = 1e-4;  // relative, of Newton's from nearby: its square is left
inline constexpr double kLeastScale = 1e-100;
inline constexpr int kMaxScaling = 400;
inline constexpr double kInside = 1.0 - 1e-12;  // of the way to the end of an interval
inline constexpr double kRoundedShare = 1e-14;  // relative, of a dual share at an end

struct Slopes {
    double value, fall;  // of a falling function, and minus its derivative
};

// The root in (0, end] of a function that falls, `end` where it is positive there: Newton's method
// in a bracket, as `losses.base.root_of_falling` has it. nearby: a point near it, 0 if unknown.
template <class Function>
double root_of_falling(const Function& slopes, double end, double nearby = 0.0) {
    const bool is_near = 0.0 < nearby && nearby < end;
    double c = is_near ? nearby : std::min(1.0, 0.5 * end), low = 0.0, high = end;
    for (int step = 0; step < kMaxScaling; ++step) {
        const Slopes at = slopes(c);
        (at.value > 0.0 ? low : high) = c;
        double following = at.fall > 0.0 ? c + at.value / at.fall : kInfinity;
        if (is_near && std::abs(following - c) <= kLastStep * c) return std::min(following, end);
        if (!(low < following && following < high)) {
            if (std::isinf(high)) {
                following = 4.0 * c;
            } else if (high < end) {
                following = low > 0.0 ? std::sqrt(low) * std::sqrt(high) : 0.25 * c;
            } else if (slopes(end).value > 0.0) {
                return end;
            } else {
                following = 0.5 * (c + end);
            }
        }
        if (std::abs(following - c) <= kScaleTol * c || following < kLeastScale) return following;
        c = following;
    }
    return c;
}

// v'm of minus the gradient v at margins m = z + b, and how fast that falls with a multiple of v,
// as `RowDual::sums` has them, but without a logarithm: -f*(-v) = f(m) + v m.
inline Slopes along_margins(std::int64_t n_rows, const double* v, const double* z, double b,
                            const double* curvature) {
    RowSum value, fall;
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        for (std::int64_t i = 0; i < n_rows; i += kLaneCount) {
            Lanes own, margin, bend;
            load(v + i, own);
            load(z + i, margin);
            load(curvature + i, bend);
            value.add(own * (margin + b));
            fall.add(own != 0.0 ? own * (own / bend) : Lanes{});
        }
    };
    run_block(kernel, 0);
    return {value.value(), fall.value()};
}

// The sum of the positive ones of some numbers, and minus that of the others.
inline std::pair<double, double> two_sides(const double* v, std::int64_t n_rows) {
    RowSum up, down;
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        for (std::int64_t i = 0; i < n_rows; i += kLaneCount) {
            Lanes own;
            load(v + i, own);
            up.add(own > 0.0 ? own : Lanes{});
            down.add(own < 0.0 ? -own : Lanes{});
        }
    };
    run_block(kernel, 0);
    return {up.value(), down.value()};
}

// The largest bound at a multiple of a dual point, and the multiple: 0 where rounding leaves the
// point outside of the domain.
struct ScaledBound {
    double value, scale;
};

// quadratic: the quadratic part of the dual at the point. nearby: of the multiple, 0 if unknown.
inline ScaledBound scaled_bound(const Dual& point, double quadratic, double nearby = 0.0) {
    const double scale = point.best_scale(quadratic, nearby);
    const double value = -point.conjugate(scale) - scale * (scale * quadratic);
    if (value > -kInfinity) return {value, scale};
    return {-point.conjugate(0.0), 0.0};
}

}  // namespace zeronorm
