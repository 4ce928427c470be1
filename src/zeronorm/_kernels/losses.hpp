// The logistic loss over all rows: what every solver asks for at every point it visits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

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

// value = log(1 + exp(-y z)), sigma = sigma(-y z), curvature = sigma (1 - sigma).
ZERONORM_INLINE void logistic_terms(const Lanes& z, const Lanes& label, Lanes& value, Lanes& sigma,
                                    Lanes& curvature) {
    const Lanes t = -(z * label);
    Lanes small;
    exp_minus_size(t, small);
    log1p_unit(small, value);
    value += t > 0.0 ? t : Lanes{};
    const Lanes above = 1.0 + small;
    sigma = (t > 0.0 ? Lanes{} + 1.0 : small) / above;
    curvature = small / (above * above);
}

// sum_i s_i log(1 + exp(-y_i z_i)); gradient_i = -s_i y_i sigma(-y_i z_i).
inline double logistic(const double* z, const double* y, const double* weight, std::int64_t n_rows,
                       double* gradient) {
    RowSum total;
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        each_group(n_rows, [&](std::int64_t i, std::int64_t n) ZERONORM_INLINE_LAMBDA {
            Lanes t, label, s, value, sigma, curvature;
            load_some(z + i, n, t);
            load_some(y + i, n, label);
            load_some(weight + i, n, s);
            logistic_terms(t, label, value, sigma, curvature);
            total.add(s * value);
            store_some(-(label * s) * sigma, n, gradient + i);
        });
    };
    run_block(kernel, 0);
    return total.value();
}

// out_i = s_i sigma(z_i) sigma(-z_i).
inline void logistic_curvature(const double* z, const double* weight, std::int64_t n_rows,
                               double* out) {
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        each_group(n_rows, [&](std::int64_t i, std::int64_t n) ZERONORM_INLINE_LAMBDA {
            Lanes t, s, small;
            load_some(z + i, n, t);
            load_some(weight + i, n, s);
            exp_minus_size(t, small);
            const Lanes below = 1.0 + small;
            store_some(s * small / (below * below), n, out + i);
        });
    };
    run_block(kernel, 0);
}

// -sum_i s_i H(alpha_i / s_i), H the binary entropy; NaN where 0 <= alpha_i <= s_i fails.
inline double logistic_conjugate(const double* alpha, const double* weight, std::int64_t n_rows) {
    RowSum total;
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        constexpr double nothing = 1e-300;  // x log x of less vanishes beside any sum
        const Lanes nan = Lanes{} + std::numeric_limits<double>::quiet_NaN();
        each_group(n_rows, [&](std::int64_t i, std::int64_t n) ZERONORM_INLINE_LAMBDA {
            Lanes a, s, logarithm, other;
            load_some(alpha + i, n, a);
            load_some(weight + i, n, s);
            const Lanes p = a / (s > 0.0 ? s : Lanes{} + 1.0), q = 1.0 - p;
            logarithm = p > nothing ? p : Lanes{} + 1.0;
            log_positive(logarithm);
            other = q > nothing ? q : Lanes{} + 1.0;
            log_positive(other);
            // log(1 - p) of the p there is, not of the 1 - p that was rounded.
            other = q > nothing ? other + ((1.0 - q) - p) / q : Lanes{};
            const Lanes value = s * (p * logarithm + q * other);
            total.add(p >= 0.0 && q >= 0.0 ? value : nan);
        });
    };
    run_block(kernel, 0);
    return total.value();
}

}  // namespace zeronorm
