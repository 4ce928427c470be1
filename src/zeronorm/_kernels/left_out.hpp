// Compiled solver: what rows lose under models fitted without one unit of them, approximately.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "cholesky.hpp"
#include "lanes.hpp"
#include "ridge.hpp"
#include "ridge_rows.hpp"
#include "risk.hpp"

namespace zeronorm {

// h_i = x_i'H^-1 x_i of rows x_i = (z_i, 1), H = diag(p, 0) + sum_i w_i x_i x_i'; without an
// intercept there is no 1. z: padded columns; curvature: w. As `leverages` of
// solvers/final_fits.py.
inline void leverages(const double* z, std::int64_t n_rows, std::int64_t p, const double* curvature,
                      const double* penalty, bool intercept, double* out) {
    const std::int64_t width = whole(p, kGramRight);
    Buffer gram(width * width), centre(width), scaled(kGramLeft * kGramRows), unit(p),
        factor(width * width), white(p * kLaneCount);
    weighted_gram(z, n_rows, width, curvature, gram, centre, scaled);
    const double total = std::accumulate(curvature, curvature + n_rows, 0.0);
    const bool is_centred = intercept && total > 0.0;
    for (std::int64_t a = 0; a < p; ++a)
        centre[a] = is_centred ? centre[a] / total : 0.0;
    for (std::int64_t a = 0; a < p; ++a) {
        double* const row = gram + a * width;
        const double least = kRounding * row[a];
        for (std::int64_t b = a; b < p; ++b)
            row[b] -= total * centre[a] * centre[b];
        row[a] = std::max(row[a] + penalty[a], least);
        unit[a] = 1.0 / std::sqrt(row[a]);
    }
    for (std::int64_t a = 0; a < p; ++a)
        for (std::int64_t b = a; b < p; ++b)
            gram[a * width + b] *= unit[a] * unit[b];
    cholesky(gram, p, width, factor);
    const double base = is_centred ? 1.0 / total : 0.0;
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        // With R'R the scaled H over the centred columns, h_i = ||R'^-1 z_i||^2.
        for (std::int64_t i = 0; i < n_rows; i += kLaneCount) {
            Lanes length = Lanes{} + base, x, other;
            for (std::int64_t a = 0; a < p; ++a) {
                load(z + a * n_rows + i, x);
                x = (x - centre[a]) * unit[a];
                for (std::int64_t b = 0; b < a; ++b) {
                    load(white + b * kLaneCount, other);
                    x -= factor[b * width + a] * other;
                }
                x /= factor[a * width + a];
                store(x, white + a * kLaneCount);
                length += x * x;
            }
            store(length, out + i);
        }
    };
    run_block(kernel, 0);
}

// The mean loss of each row under the model fitted without one unit of its weight, from the margins
// of the fit with C: as `leave_one_out_loss` of solvers/final_fits.py. one: the risk of a unit
// of each row. total: of the weights.
inline double left_out_loss(const Risk& risk, const Risk& one, double total, const double* z,
                            std::int64_t p, double C, const double* penalty, bool intercept,
                            const double* margins) {
    const std::int64_t n = risk.n(), n_rows = risk.n_rows();
    Buffer margin(n_rows), v(n_rows), curvature(n_rows), leverage(n_rows);
    std::copy_n(margins, n, static_cast<double*>(margin));
    risk.evaluate(margin, 0.0, v, curvature);
    for (std::int64_t i = 0; i < n_rows; ++i)
        curvature[i] *= C;
    leverages(z, n_rows, p, curvature, penalty, intercept, leverage);
    one.evaluate(margin, 0.0, v, curvature);
    for (std::int64_t i = 0; i < n; ++i) {
        const double damping = 1.0 - C * leverage[i] * curvature[i];
        margin[i] -= C * leverage[i] * v[i] / std::max(damping, 1e-8);
    }
    return risk.evaluate(margin, 0.0, v, curvature).value / total;
}

// Fits the columns of x with every C of `values`, each from the fit before, and leaves rows out.
// weight: without C; unit: what of it is left out of a row. u (p,), b: the start, then the last
// fit. Row k of coef (m, p), and entry k of intercepts and losses, are of the k-th C.
inline void compare(const LossNumber& loss, const double* y, const double* weight,
                    const double* unit, std::int64_t n, bool intercept, const double* x,
                    std::int64_t row_stride, std::int64_t column_stride, std::int64_t p,
                    const double* penalty, const double* values, std::int64_t m, double tol,
                    double* u, double b, double* coef, double* intercepts, double* losses) {
    const auto risk = make_risk(loss, y, weight, n), one = make_risk(loss, y, unit, n);
    risk->check_by_row();
    const double total = std::accumulate(weight, weight + n, 0.0);
    std::vector<std::int64_t> columns(static_cast<std::size_t>(p));
    std::iota(columns.begin(), columns.end(), std::int64_t{0});
    Buffer times(n), margins(n), dual(n), scores(p);
    for (std::int64_t k = 0; k < m; ++k) {
        std::transform(weight, weight + n, static_cast<double*>(times),
                       [&](double s) { return values[k] * s; });
        const auto weighted = make_risk(loss, y, times, n);
        RidgeSolver<> solver(*weighted, intercept, p, penalty);
        solver.choose(x, row_stride, column_stride, columns.data());
        b = solver.solve(b, tol, false, kInfinity, u, margins, dual, scores).intercept;
        std::copy_n(u, p, coef + k * p);
        intercepts[k] = b;
        losses[k] = left_out_loss(*risk, *one, total, solver.columns(), p, values[k], penalty,
                                  intercept, margins);
    }
}

}  // namespace zeronorm
