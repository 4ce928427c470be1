// Compiled solver: backward elimination in a small pool.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "ridge.hpp"
#include "risk.hpp"

namespace zeronorm {

struct EliminationRule {
    std::int64_t one_by_one;  // with no more columns than that they leave one by one,
    double share;             // before that this share of them at a time
};

// Leaves out the columns of smallest ||u_j||, u_j their coefficients in q outputs, until each of
// the sizes, falling, is reached. left: what to begin with, sorted. fit(left, u) solves the problem
// on these columns from u, q numbers of each of them, which it overwrites. Returns the columns that
// have left, in order.
inline std::vector<std::int64_t> eliminate_by(
    const std::function<void(const std::vector<std::int64_t>&, std::vector<double>&)>& fit,
    std::size_t q, const std::uint8_t* is_kept, std::vector<std::int64_t> left,
    const std::vector<std::int64_t>& sizes, const EliminationRule& rule) {
    const auto size_of = [](const auto& items) { return static_cast<std::int64_t>(items.size()); };
    std::vector<std::int64_t> gone;
    std::vector<double> u(q * left.size(), 0.0);
    for (const std::int64_t size : sizes) {
        while (size_of(left) > size) {
            fit(left, u);
            std::int64_t count = 1;
            if (size_of(left) > rule.one_by_one)
                count = std::max(count, static_cast<std::int64_t>(
                                            rule.share * static_cast<double>(left.size())));
            count = std::min(count, size_of(left) - size);
            std::vector<std::size_t> order(left.size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            const auto magnitude = [&](std::size_t a) {  // a NaN has no place in an order
                double length = q == 1 ? std::abs(u[a]) : 0.0;
                for (std::size_t o = 0; q > 1 && o < q; ++o)
                    length += u[a * q + o] * u[a * q + o];
                return is_kept[left[a]] || std::isnan(length) ? kInfinity : length;
            };
            // Of equal magnitudes the larger index goes first, so that ties keep the smaller.
            std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t c) {
                const double first = magnitude(a), second = magnitude(c);
                return first < second || (first == second && left[a] > left[c]);
            });
            std::vector<char> leaves(left.size(), 0);
            for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
                gone.push_back(left[order[k]]);
                leaves[order[k]] = 1;
            }
            std::size_t next = 0;
            for (std::size_t a = 0; a < left.size(); ++a) {
                if (leaves[a]) continue;
                left[next] = left[a];
                std::copy_n(u.data() + a * q, q, u.data() + next++ * q);
            }
            left.resize(next);
            u.resize(q * next);
        }
    }
    return gone;
}

// Elimination for one output, as `Exchanges.eliminate` of solvers/exchange.py does it.
inline std::vector<std::int64_t> eliminate(const Risk& risk, bool intercept, const double* x,
                                           std::int64_t row_stride, std::int64_t column_stride,
                                           const std::uint8_t* is_kept,
                                           std::vector<std::int64_t> left,
                                           const std::vector<std::int64_t>& sizes, double tol,
                                           const EliminationRule& rule) {
    const std::vector<double> ones(left.size(), 1.0);
    std::vector<double> scores(left.size());
    std::vector<double> margins(static_cast<std::size_t>(risk.n())), dual(margins.size());
    double b = 0.0;
    const auto fit = [&](const std::vector<std::int64_t>& columns, std::vector<double>& u) {
        const auto m = static_cast<std::int64_t>(columns.size());
        RidgeSolver<> solver(risk, intercept, m, ones.data());
        solver.choose(x, row_stride, column_stride, columns.data());
        b = solver
                .solve(b, tol, false, kInfinity, u.data(), margins.data(), dual.data(),
                       scores.data())
                .intercept;
    };
    return eliminate_by(fit, 1, is_kept, std::move(left), sizes, rule);
}

}  // namespace zeronorm
