// Small dense systems of Newton steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "parallel.hpp"

namespace zeronorm {

// The matrix of a Newton step is not finite.
struct NotFinite : std::runtime_error {
    NotFinite() : std::runtime_error("the Newton system is not finite: the data overflow.") {}
};

// Puts the upper factor R of R'R = matrix + shift I over `factor`, (p, p) in rows of `width`; the
// upper triangle of `matrix` is read. The shift is 0, or at rounding level where rounding has made
// the matrix indefinite.
inline void cholesky(const double* matrix, std::int64_t p, std::int64_t width, double* factor) {
    double largest = 0.0;
    for (std::int64_t a = 0; a < p; ++a) {
        const double entry = matrix[a * width + a];
        if (!std::isfinite(entry)) throw NotFinite();
        largest = std::max(largest, entry);
    }
    if (p > 0 && !(largest > 0.0)) throw NotFinite();
    for (double shift = 0.0;; shift = std::max(1e-14 * largest, 10.0 * shift)) {
        bool positive = true;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t a = 0; a < p; ++a) {
                std::copy_n(matrix + a * width + a, p - a, factor + a * width + a);
                factor[a * width + a] += shift;
            }
            for (std::int64_t a = 0; a < p && positive; ++a) {
                double* const row = factor + a * width;
                positive = row[a] > 0.0;
                const double unit = 1.0 / std::sqrt(row[a]);
                for (std::int64_t b = a; b < p; ++b)
                    row[b] *= unit;
                for (std::int64_t k = a + 1; k < p; ++k) {
                    double* const below = factor + k * width;
                    const double multiple = row[k];
                    for (std::int64_t b = k; b < p; ++b)
                        below[b] -= multiple * row[b];
                }
            }
        };
        run_block(kernel, 0);
        if (positive) return;
        if (shift > largest) throw NotFinite();
    }
}

// x <- (R'R)^-1 x
inline void solve_factored(const double* factor, std::int64_t p, std::int64_t width, double* x) {
    for (std::int64_t a = 0; a < p; ++a) {
        const double* const row = factor + a * width;
        x[a] /= row[a];
        for (std::int64_t b = a + 1; b < p; ++b)
            x[b] -= row[b] * x[a];
    }
    for (std::int64_t a = p; a-- > 0;) {
        const double* const row = factor + a * width;
        double rest = x[a];
        for (std::int64_t b = a + 1; b < p; ++b)
            rest -= row[b] * x[b];
        x[a] = rest / row[a];
    }
}

}  // namespace zeronorm
