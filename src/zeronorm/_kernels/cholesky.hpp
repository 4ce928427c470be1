// Small dense systems of Newton steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "parallel.hpp"

namespace zeronorm {

inline constexpr double kRounding = 1e-14;  // of a diagonal, what may be left by subtraction

// The matrix of a Newton step is not finite.
struct NotFinite : std::runtime_error {
    NotFinite()
        : std::runtime_error(
              "the Newton system is not finite: the data overflow. Rescale the "
              "largest columns of X, or standardise them.") {}
};

// Rows of the factor that are subtracted at a time: each element below is read and written once
// for all of them, and four, written out, stay in registers.
constexpr std::int64_t kPanel = 4;

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
            for (std::int64_t first = 0; first < p && positive; first += kPanel) {
                const std::int64_t last = std::min(first + kPanel, p);
                for (std::int64_t a = first; a < last && positive; ++a) {
                    double* const row = factor + a * width;
                    positive = row[a] > 0.0;
                    const double unit = 1.0 / std::sqrt(row[a]);
                    for (std::int64_t b = a; b < p; ++b)
                        row[b] *= unit;
                    for (std::int64_t k = a + 1; k < last; ++k) {
                        double* const below = factor + k * width;
                        const double multiple = row[k];
                        for (std::int64_t b = k; b < p; ++b)
                            below[b] -= multiple * row[b];
                    }
                }
                if (!positive || last - first < kPanel) break;  // the last panel has none below
                const double* __restrict const r0 = factor + first * width;
                const double* __restrict const r1 = r0 + width;
                const double* __restrict const r2 = r1 + width;
                const double* __restrict const r3 = r2 + width;
                for (std::int64_t k = last; k < p; ++k) {
                    double* __restrict const below = factor + k * width;
                    const double m0 = r0[k], m1 = r1[k], m2 = r2[k], m3 = r3[k];
                    for (std::int64_t b = k; b < p; ++b)
                        below[b] -= (m0 * r0[b] + m1 * r1[b]) + (m2 * r2[b] + m3 * r3[b]);
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
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        double* __restrict const solution = x;
        for (std::int64_t a = 0; a < p; ++a) {
            const double* __restrict const row = factor + a * width;
            const double known = solution[a] /= row[a];
            for (std::int64_t b = a + 1; b < p; ++b)
                solution[b] -= row[b] * known;
        }
        for (std::int64_t a = p; a-- > 0;) {
            const double* const row = factor + a * width;
            double sums[4] = {};
            std::int64_t b = a + 1;
            for (; b + 4 <= p; b += 4)
                for (int lane = 0; lane < 4; ++lane)
                    sums[lane] += row[b + lane] * solution[b + lane];
            for (; b < p; ++b)
                sums[0] += row[b] * solution[b];
            solution[a] = (solution[a] - ((sums[0] + sums[2]) + (sums[1] + sums[3]))) / row[a];
        }
    };
    run_block(kernel, 0);
}

// Entry (a, a) of (R'R)^-1: the squares of row a of R^-1, which is put into `row`, (p,).
inline double inverse_diagonal(const double* factor, std::int64_t p, std::int64_t a, double* row) {
    double total = 0.0;
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        double* __restrict const solution = row;
        std::fill(solution + a, solution + p, 0.0);
        solution[a] = 1.0;
        for (std::int64_t b = a; b < p; ++b) {
            const double* __restrict const line = factor + b * p;
            const double known = solution[b] /= line[b];
            total += known * known;
            for (std::int64_t c = b + 1; c < p; ++c)
                solution[c] -= line[c] * known;
        }
    };
    run_block(kernel, 0);
    return total;
}

}  // namespace zeronorm
