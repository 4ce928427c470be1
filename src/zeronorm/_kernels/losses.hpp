// The losses: all that kernels ask of one is in its struct, and which one it is comes as a number.
//
// A loss f(y, z) has targets y and margins z; s are weights. Kernels carry v = -s f'(y, z), minus
// the gradient in the margins, signed, so that X'v is what draws the coefficients. A further loss
// is one struct and one line of `with_loss`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include "lanes.hpp"
#include "parallel.hpp"
#include "row_sums.hpp"

namespace zeronorm {

// exp(t) for t <= 700, NaN for NaN.
ZERONORM_INLINE void exp_of(const Lanes& t, Lanes& to) {
    to = t;
    exponential<13>(to);
    to = t == t ? to : t;
}

// exp(-|t|), NaN for NaN.
ZERONORM_INLINE void exp_minus_size(const Lanes& t, Lanes& to) {
    exp_of(t > 0.0 ? -t : t, to);
}

// e^d - 1 - d, small d without cancellation; power = e^d.
ZERONORM_INLINE void exp_above_line(const Lanes& d, const Lanes& power, Lanes& to) {
    constexpr double series[] = {1.0 / 1307674368000.0,
                                 1.0 / 87178291200.0,
                                 1.0 / 6227020800.0,
                                 1.0 / 479001600.0,
                                 1.0 / 39916800.0,
                                 1.0 / 3628800.0,
                                 1.0 / 362880.0,
                                 1.0 / 40320.0,
                                 1.0 / 5040.0,
                                 1.0 / 720.0,
                                 1.0 / 120.0,
                                 1.0 / 24.0,
                                 1.0 / 6.0,
                                 0.5};
    Lanes near{};
    for (const double term : series)
        near = near * d + term;
    const Lanes size = d < 0.0 ? -d : d;
    to = size <= 0.5 ? near * d * d : (power - 1.0) - d;
}

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNothing = 1e-300;  // x log x of less vanishes beside any sum

// (1 + x) log(1 + x) - x for x >= -1
ZERONORM_INLINE void above_line(const Lanes& x, Lanes& to) {
    const Lanes above = 1.0 + x, inside = above > kNothing ? above : Lanes{} + 1.0;
    to = inside;
    log_positive(to);
    to = above > kNothing ? to + (x - (above - 1.0)) / inside : Lanes{};
    to = above * to - x;
}

// f(y, z) = log(1 + exp(-y z)), y = -1 or 1.
struct Logistic {
    static constexpr bool kOfLabels = true;  // rows without features differ by the sign of y alone
    static constexpr bool kQuadratic = false;

    // value = f, push = -f', curvature = f''.
    static ZERONORM_INLINE void terms(const Lanes& y, const Lanes& z, Lanes& value, Lanes& push,
                                      Lanes& curvature) {
        const Lanes t = -(z * y);
        Lanes small;
        exp_minus_size(t, small);
        const Lanes inverse = 1.0 / (1.0 + small);
        log1p_unit(small, inverse, value);
        value += t > 0.0 ? t : Lanes{};
        push = y * ((t > 0.0 ? Lanes{} + 1.0 : small) * inverse);
        curvature = small * inverse * inverse;
    }
    // s f'' alone.
    static ZERONORM_INLINE void bend(const Lanes& z, const Lanes& s, Lanes& curvature) {
        Lanes small;
        exp_minus_size(z, small);
        const Lanes above = 1.0 + small;
        curvature = s * small / (above * above);
    }
    // f* of -y share: minus the binary entropy; NaN where 0 <= share <= 1 fails.
    static ZERONORM_INLINE void conjugate(const Lanes& share, Lanes& value) {
        const Lanes p = share, q = 1.0 - p;
        Lanes logarithm = p > kNothing ? p : Lanes{} + 1.0;
        log_positive(logarithm);
        Lanes other = q > kNothing ? q : Lanes{} + 1.0;
        log_positive(other);
        // log(1 - p) of the p there is, not of the 1 - p that was rounded.
        other = q > kNothing ? other + ((1.0 - q) - p) / q : Lanes{};
        const Lanes nan = Lanes{} + std::numeric_limits<double>::quiet_NaN();
        value = p * logarithm + q * other;
        value = p >= 0.0 && q >= 0.0 ? value : nan;
    }
    // Dual shares t = v / s, y t of them in [0, 1]: as of the losses of numbers below.
    std::pair<double, double> interval(double y) const {
        return {std::min(y, 0.0), std::max(y, 0.0)};
    }
    ZERONORM_INLINE void at_share(const Lanes& t, const Lanes& y, Lanes& z, Lanes& bend) const {
        const Lanes share = y * t, rest = 1.0 - share;
        Lanes logarithm = share > kNothing ? share : Lanes{} + kNothing;
        log_positive(logarithm);
        z = rest > kNothing ? rest : Lanes{} + kNothing;
        log_positive(z);
        z = y * (z - logarithm);
        bend = share * rest;
    }
    ZERONORM_INLINE void conjugate(const Lanes& t, const Lanes& y, Lanes& value) const {
        conjugate(y * t, value);
    }

    // The same of one row, which costs less than a group of rows where they are visited one by one.
    static ZERONORM_INLINE double value(double y, double z) {
        const double t = -y * z;
        return std::max(t, 0.0) + std::log1p(std::exp(-std::abs(t)));
    }
    // f(y, z + step) - f(y, z), small steps without cancellation.
    static ZERONORM_INLINE double change(double y, double z, double step) {
        const double t = -y * step;
        if (std::abs(t) > 1.0) return value(y, z + step) - value(y, z);
        return std::log1p(std::expm1(t) / (1.0 + std::exp(y * z)));
    }
    // f' and f''.
    static ZERONORM_INLINE std::pair<double, double> derivatives(double y, double z) {
        const double small = std::exp(-std::abs(z)), part = 1.0 / (1.0 + small);
        return {-y * (y * z > 0.0 ? small * part : part), small * part * part};
    }
};

// f(y, z) = 1/2 max(0, 1 - y z)^2, y = -1 or 1.
struct SquaredHinge {
    static constexpr bool kOfLabels = true;
    static constexpr bool kQuadratic = false;
    static constexpr bool kJumps = true;  // f'' does

    static ZERONORM_INLINE void terms(const Lanes& y, const Lanes& z, Lanes& value, Lanes& push,
                                      Lanes& curvature) {
        const Lanes rest = 1.0 - y * z;
        const Lanes slack = rest < 0.0 ? Lanes{} : rest;  // NaN stays
        push = y * slack;
        value = 0.5 * slack * slack;
        curvature = rest > 0.0 ? Lanes{} + 1.0 : Lanes{};
    }
    std::pair<double, double> interval(double y) const {
        return {y > 0.0 ? 0.0 : -kInfinity, y > 0.0 ? kInfinity : 0.0};
    }
    ZERONORM_INLINE void at_share(const Lanes& t, const Lanes& y, Lanes& z, Lanes& bend) const {
        z = y - t;
        bend = Lanes{} + 1.0;
    }
    ZERONORM_INLINE void conjugate(const Lanes& t, const Lanes& y, Lanes& value) const {
        value = (0.5 * t - y) * t;
    }
    static ZERONORM_INLINE double value(double y, double z) {
        const double slack = std::max(0.0, 1.0 - y * z);
        return 0.5 * slack * slack;
    }
    static ZERONORM_INLINE double change(double y, double z, double step) {
        const double before = 1.0 - y * z, after = before - y * step;
        if (before <= 0.0 || after <= 0.0) return value(y, z + step) - value(y, z);
        return -0.5 * y * step * (before + after);
    }
    static ZERONORM_INLINE std::pair<double, double> derivatives(double y, double z) {
        const double slack = 1.0 - y * z;
        return slack > 0.0 ? std::pair{-y * slack, 1.0} : std::pair{0.0, 0.0};
    }
};

// f(y, z) = 1/2 (y - z)^2, any y.
struct LeastSquares {
    static constexpr bool kOfLabels = false;
    static constexpr bool kQuadratic = true;

    static ZERONORM_INLINE void terms(const Lanes& y, const Lanes& z, Lanes& value, Lanes& push,
                                      Lanes& curvature) {
        push = y - z;
        value = 0.5 * push * push;
        curvature = Lanes{} + 1.0;
    }
    static ZERONORM_INLINE double change(double y, double z, double step) {
        return step * (0.5 * step - (y - z));
    }
    static ZERONORM_INLINE std::pair<double, double> derivatives(double y, double z) {
        return {z - y, 1.0};
    }
};

// Margins beyond it, to either side, have the loss of a straight line: nothing overflows.
inline constexpr double kLargestMargin = 300.0;

// f(y, z) = e^z - y z - y + y log y, y >= 0.
struct Poisson {
    static constexpr bool kOfLabels = false;
    static constexpr bool kQuadratic = false;
    static constexpr double kNoise = 1e-20;  // the loss of a row that is no more than rounding

    static ZERONORM_INLINE void terms(const Lanes& y, const Lanes& z, Lanes& value, Lanes& push,
                                      Lanes& curvature) {
        const Lanes inner = z > kLargestMargin ? Lanes{} + kLargestMargin : z;
        exp_of(inner, curvature);
        push = y - curvature;
        // y (e^d - 1 - d) with d = z - log y: no digits are lost near the least value.
        constexpr double nothing = 1e-100;
        const Lanes count = y > nothing ? y : Lanes{} + 1.0;
        Lanes away = count;
        log_positive(away);
        away = inner - away;
        exp_above_line(away, curvature / count, value);
        value = (y > nothing ? y * value : curvature) - (z - inner) * push;
    }
    // Dual shares t = v / s: the ends of the interval where the conjugate is finite,
    std::pair<double, double> interval(double y) const { return {-kInfinity, y}; }
    // the margin z with -f' = t, and f'' there,
    ZERONORM_INLINE void at_share(const Lanes& t, const Lanes& y, Lanes& z, Lanes& bend) const {
        bend = y - t;
        z = bend > kNothing ? bend : Lanes{} + kNothing;
        log_positive(z);
    }
    // and f* of -t: r log r - r - y log y + y with r = y - t.
    ZERONORM_INLINE void conjugate(const Lanes& t, const Lanes& y, Lanes& value) const {
        const Lanes count = y > kNothing ? y : Lanes{} + 1.0, rate = y - t, away = -t / count;
        Lanes log_count = count, log_rate = rate > kNothing ? rate : Lanes{} + 1.0;
        log_positive(log_count);
        log_positive(log_rate);
        above_line(away, value);
        value = y > kNothing ? count * value - t * log_count : rate * log_rate - rate;
    }
};

// f(y, z) = z + y e^-z - 1 - log y, y > 0.
struct Gamma {
    static constexpr bool kOfLabels = false;
    static constexpr bool kQuadratic = false;
    static constexpr double kNoise = 1e-20;  // the loss of a row that is no more than rounding

    static ZERONORM_INLINE void terms(const Lanes& y, const Lanes& z, Lanes& value, Lanes& push,
                                      Lanes& curvature) {
        Lanes away = y > 0.0 ? y : Lanes{} + 1.0;  // rows of weight 0 have any y
        log_positive(away);
        away -= z;
        const Lanes inner = away > kLargestMargin ? Lanes{} + kLargestMargin : away;
        exp_of(inner, curvature);
        exp_above_line(inner, curvature, value);
        const Lanes size = inner < 0.0 ? -inner : inner;
        push = size <= 0.5 ? value + inner : curvature - 1.0;
        value += (away - inner) * push;
    }
    std::pair<double, double> interval(double) const { return {-1.0, kInfinity}; }
    ZERONORM_INLINE void at_share(const Lanes& t, const Lanes& y, Lanes& z, Lanes& bend) const {
        bend = 1.0 + t;
        z = y / bend;
        z = z > kNothing ? z : Lanes{} + kNothing;
        log_positive(z);
    }
    // q log q - q + 1 - t log y with q = 1 + t
    ZERONORM_INLINE void conjugate(const Lanes& t, const Lanes& y, Lanes& value) const {
        Lanes log_y = y > kNothing ? y : Lanes{} + 1.0;
        log_positive(log_y);
        above_line(t, value);
        value -= t * log_y;
    }
};

// Of the range between two ends: so near to one a residual counts as there.
inline constexpr double kAtEnd = 1e-12;

// f(y, z) = max over low <= t <= high of t (y - z) - t^2 / 2: Huber's loss, and smooth quantiles.
struct Clipped {
    static constexpr bool kOfLabels = false;
    static constexpr bool kQuadratic = false;
    static constexpr bool kJumps = true;  // f'' does
    double low, high;

    ZERONORM_INLINE void terms(const Lanes& y, const Lanes& z, Lanes& value, Lanes& push,
                               Lanes& curvature) const {
        const Lanes residual = y - z;
        push = residual < low ? Lanes{} + low : residual;
        push = push > high ? Lanes{} + high : push;
        value = push * (residual - 0.5 * push);
        const double near = kAtEnd * (high - low);
        curvature = residual > low - near && residual < high + near ? Lanes{} + 1.0 : Lanes{};
    }
    std::pair<double, double> interval(double) const { return {low, high}; }
    ZERONORM_INLINE void at_share(const Lanes& t, const Lanes& y, Lanes& z, Lanes& bend) const {
        z = y - t;
        bend = Lanes{} + 1.0;
    }
    ZERONORM_INLINE void conjugate(const Lanes& t, const Lanes& y, Lanes& value) const {
        value = (0.5 * t - y) * t;
    }
};

// Cox's partial likelihood, whose rows have to do with each other: `cox.hpp` has it.
struct Cox {
    bool efron;  // whether events at the same time are one after the other
};

// Losses that can change in one coordinate at a time: each row by itself, without lanes.
template <class Loss>
concept HasChange = requires { Loss::change(0.0, 0.0, 0.0); };

// The number of a loss, which Python's losses have as `kernel`, and its parameters.
struct LossNumber {
    int kernel;
    double first, second;
};

// Calls visit with a loss.
template <class Visit>
auto with_loss(const LossNumber& number, const Visit& visit) {
    switch (number.kernel) {
        case 0:
            return visit(Logistic{});
        case 1:
            return visit(SquaredHinge{});
        case 2:
            return visit(LeastSquares{});
        case 3:
            return visit(Poisson{});
        case 4:
            return visit(Gamma{});
        case 5:
            return visit(Clipped{number.first, number.second});
        case 6:
            return visit(Cox{number.first > 0.0});
        default:
            throw std::invalid_argument("there is no loss of this number.");
    }
}

// sum_i s_i f(y_i, z_i); gradient_i = s_i f'(y_i, z_i).
template <class Loss>
double value_gradient(const double* z, const double* y, const double* weight, std::int64_t n_rows,
                      double* gradient) {
    RowSum total;
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        each_group(n_rows, [&](std::int64_t i, std::int64_t n) ZERONORM_INLINE_LAMBDA {
            Lanes margin, target, s, value, push, curvature;
            load_some(z + i, n, margin);
            load_some(y + i, n, target);
            load_some(weight + i, n, s);
            Loss::terms(target, margin, value, push, curvature);
            total.add(s * value);
            store_some(-(s * push), n, gradient + i);
        });
    };
    run_block(kernel, 0);
    return total.value();
}

// out_i = s_i f''(z_i), of a loss whose curvature does not depend on y.
template <class Loss>
void curvature(const double* z, const double* weight, std::int64_t n_rows, double* out) {
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        each_group(n_rows, [&](std::int64_t i, std::int64_t n) ZERONORM_INLINE_LAMBDA {
            Lanes margin, s, bend;
            load_some(z + i, n, margin);
            load_some(weight + i, n, s);
            Loss::bend(margin, s, bend);
            store_some(bend, n, out + i);
        });
    };
    run_block(kernel, 0);
}

// sum_i s_i f*(-y_i alpha_i / s_i), of a loss of labels.
template <class Loss>
double conjugate(const double* alpha, const double* weight, std::int64_t n_rows) {
    RowSum total;
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        each_group(n_rows, [&](std::int64_t i, std::int64_t n) ZERONORM_INLINE_LAMBDA {
            Lanes a, s, value;
            load_some(alpha + i, n, a);
            load_some(weight + i, n, s);
            Loss::conjugate(a / (s > 0.0 ? s : Lanes{} + 1.0), value);
            total.add(s * value);
        });
    };
    run_block(kernel, 0);
    return total.value();
}

}  // namespace zeronorm
