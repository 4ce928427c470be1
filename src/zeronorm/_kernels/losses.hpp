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

namespace zeronorm {

// Calls visit(i, first, n) for every group of kLaneCount rows; n < kLaneCount at the end.
template <class Visit>
ZERONORM_INLINE void each_group(std::int64_t n_rows, const Visit& visit) {
    std::int64_t i = 0;
    for (; i + kLaneCount <= n_rows; i += kLaneCount)
        visit(i, kLaneCount);
    if (i < n_rows) visit(i, n_rows - i);
}

// The next n <= kLaneCount elements, zeros after them.
ZERONORM_INLINE void load_some(const double* from, std::int64_t n, Lanes& to) {
    if (n == kLaneCount) return load(from, to);
    to = Lanes{};
    for (std::int64_t k = 0; k < n; ++k)
        to[k] = from[k];
}
ZERONORM_INLINE void store_some(const Lanes& from, std::int64_t n, double* to) {
    if (n == kLaneCount) return store(from, to);
    for (std::int64_t k = 0; k < n; ++k)
        to[k] = from[k];
}

// A sum over many rows: those of a stretch first, then the stretches.
class RowSum {
  public:
    ZERONORM_INLINE void add(const Lanes& x) {
        part_ += x;
        if (++count_ == 64) {
            total_ += part_;
            part_ = Lanes{};
            count_ = 0;
        }
    }
    ZERONORM_INLINE double value() const { return sum(total_ + part_); }

  private:
    Lanes total_{}, part_{};
    int count_ = 0;
};

// exp(-|t|), NaN for NaN.
ZERONORM_INLINE void exp_minus_size(const Lanes& t, Lanes& to) {
    to = t > 0.0 ? -t : t;
    exp_nonpositive<13>(to);
    to = t == t ? to : t;
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
        log1p_unit(small, value);
        value += t > 0.0 ? t : Lanes{};
        const Lanes above = 1.0 + small;
        push = y * ((t > 0.0 ? Lanes{} + 1.0 : small) / above);
        curvature = small / (above * above);
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
        constexpr double nothing = 1e-300;  // x log x of less vanishes beside any sum
        const Lanes p = share, q = 1.0 - p;
        Lanes logarithm = p > nothing ? p : Lanes{} + 1.0;
        log_positive(logarithm);
        Lanes other = q > nothing ? q : Lanes{} + 1.0;
        log_positive(other);
        // log(1 - p) of the p there is, not of the 1 - p that was rounded.
        other = q > nothing ? other + ((1.0 - q) - p) / q : Lanes{};
        const Lanes nan = Lanes{} + std::numeric_limits<double>::quiet_NaN();
        value = p * logarithm + q * other;
        value = p >= 0.0 && q >= 0.0 ? value : nan;
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

    static ZERONORM_INLINE void terms(const Lanes& y, const Lanes& z, Lanes& value, Lanes& push,
                                      Lanes& curvature) {
        const Lanes rest = 1.0 - y * z;
        const Lanes slack = rest < 0.0 ? Lanes{} : rest;  // NaN stays
        push = y * slack;
        value = 0.5 * slack * slack;
        curvature = rest > 0.0 ? Lanes{} + 1.0 : Lanes{};
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

// Calls visit with the loss of a number, which Python's losses have as `kernel`.
template <class Visit>
auto with_loss(int kernel, const Visit& visit) {
    switch (kernel) {
        case 0:
            return visit(Logistic{});
        case 1:
            return visit(SquaredHinge{});
        case 2:
            return visit(LeastSquares{});
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
