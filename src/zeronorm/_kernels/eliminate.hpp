// Compiled solver: backward elimination in a small pool.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "ridge.hpp"
#include "risk.hpp"

namespace zeronorm {

struct EliminationRule {
    std::int64_t one_by_one;  // with no more columns than that they leave one by one,
    double share;             // before that this share of them at a time
};

// Leaves out the columns of smallest |u_j| until each of the sizes, falling, is reached, as
// `Exchanges.eliminate` of solvers/pool/exchange.py does. left: what to begin with, sorted. Returns
// the columns that have left, in order.
template <class Loss>
std::vector<std::int64_t> eliminate(const Risk<Loss>& risk, bool intercept, const double* x,
                                    std::int64_t row_stride, std::int64_t column_stride,
                                    const std::uint8_t* is_kept, std::vector<std::int64_t> left,
                                    const std::vector<std::int64_t>& sizes, double tol,
                                    const EliminationRule& rule) {
    const auto size_of = [](const auto& items) { return static_cast<std::int64_t>(items.size()); };
    std::vector<std::int64_t> gone;
    std::vector<double> u(left.size(), 0.0), ones(left.size(), 1.0), scores(left.size());
    std::vector<double> margins(static_cast<std::size_t>(risk.n())), dual(margins.size());
    double b = 0.0;
    for (const std::int64_t size : sizes) {
        while (size_of(left) > size) {
            RidgeSolver<Loss> solver(risk, intercept, size_of(left), ones.data());
            solver.choose(x, row_stride, column_stride, left.data());
            b = solver
                    .solve(b, tol, false, kInfinity, u.data(), margins.data(), dual.data(),
                           scores.data())
                    .intercept;
            std::int64_t count = 1;
            if (size_of(left) > rule.one_by_one)
                count = std::max(count, static_cast<std::int64_t>(
                                            rule.share * static_cast<double>(left.size())));
            count = std::min(count, size_of(left) - size);
            std::vector<std::size_t> order(left.size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            const auto magnitude = [&](std::size_t a) {  // a NaN has no place in an order
                return is_kept[left[a]] || std::isnan(u[a]) ? kInfinity : std::abs(u[a]);
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
                u[next++] = u[a];
            }
            left.resize(next);
        }
    }
    return gone;
}

}  // namespace zeronorm
