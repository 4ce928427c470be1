// What one dual point proves of the best models of a budget, where each column is a unit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "budget_norm.hpp"
#include "dual.hpp"
#include "losses.hpp"

namespace zeronorm {

// What the bound of `scale` times a dual point of scores c, (p,), decides, as `bound_at` of
// solvers/bounds.py has it: columns that are in no model with an objective of at most `limit`,
// and those that are in all of them. Models have k columns, the first n_fixed among them,
// and coefficients of at most `most` in size.
//
// bound: returns that and the scale, of half the sum of what the best k scores are worth.
template <class Bound>
ScaledBound decide(const Bound& bound, const double* c, std::int64_t p, std::int64_t k,
                   std::int64_t n_fixed, double limit, double most, std::uint8_t* dropped,
                   std::uint8_t* fixed) {
    std::fill_n(dropped, p, 0);
    std::fill_n(fixed, p, 0);
    const std::int64_t q = std::min(k, p) - n_fixed;
    std::vector<double> square(static_cast<std::size_t>(p - n_fixed));
    std::transform(c + n_fixed, c + p, square.begin(),
                   [&](double one) { return worth(one, most); });
    if (!finite(square)) return bound(kInfinity);
    // The least square of the best q free columns, and the largest of the others.
    const auto cut = square.begin() + q;
    if (q > 0) std::nth_element(square.begin(), cut - 1, square.end(), std::greater<>());
    const double last = q > 0 ? *(cut - 1) : kInfinity;
    const double following = cut == square.end() ? 0.0 : *std::max_element(cut, square.end());
    const double own = std::accumulate(
        c, c + n_fixed, 0.0, [&](double sum, double one) { return sum + worth(one, most); });
    const ScaledBound found = bound(0.5 * std::accumulate(square.begin(), cut, own));
    const double half = 0.5 * found.scale * found.scale;
    auto ties = std::count(square.begin(), cut, last);  // the first ones are among the best
    std::fill_n(fixed, n_fixed, 1);
    for (std::int64_t j = n_fixed; j < p; ++j) {
        const double one = worth(c[j], most);
        const bool is_best = one > last || (one == last && ties-- > 0);
        const double cost = is_best ? one - following : last - one;
        (is_best ? fixed : dropped)[j] = found.value + half * cost > limit;
    }
    return found;
}

}  // namespace zeronorm
