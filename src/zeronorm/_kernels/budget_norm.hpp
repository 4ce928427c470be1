// The ridge term of the relaxation of a budget, where each column is a unit, and its conjugate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "losses.hpp"

namespace zeronorm {

inline bool finite(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double one) { return std::isfinite(one); });
}

// Twice the largest u c - u^2 / 2 over |u| <= most: see `worths` of solvers/problem.py.
inline double worth(double c, double most) {
    const double size = std::abs(c);
    return size <= most ? c * c : most * (2.0 * size - most);
}

// 1/2 ||u_A||^2 + 1/2 ||u_F||_(q)^2, A the first of p columns, as solvers/relaxation.py has
// the norm.
class BudgetNorm {
  public:
    BudgetNorm(std::int64_t p, std::int64_t n_fixed, std::int64_t q)
        : p_(p), n_fixed_(n_fixed), q_(q) {}

    double half_square(const double* u) {
        const double fixed = std::inner_product(u, u + n_fixed_, u, 0.0);
        return 0.5 * fixed + 0.5 * square_and_threshold(u).first;
    }

    // d_j = min(1, |u_j| / t) of the free columns, 1 of A.
    void shares(const double* u, double* share) {
        const double threshold = square_and_threshold(u).second;
        std::fill_n(share, n_fixed_, 1.0);
        for (std::int64_t j = n_fixed_; j < p_; ++j) {
            const double size = std::abs(u[j]);
            share[j] = threshold > 0.0 ? std::min(1.0, size / threshold) : size > 0.0;
        }
    }

    // 1/2 (the squares of A, and the q largest of the others), or what bounds make of them.
    double conjugate(const double* scores, double most = kInfinity) {
        double own = 0.0;
        for (std::int64_t j = 0; j < n_fixed_; ++j)
            own += worth(scores[j], most);
        const auto count = static_cast<std::size_t>(std::min(q_, p_ - n_fixed_));
        sizes_.clear();  // the largest so far, the least of them first: few of the others enter
        for (std::int64_t j = n_fixed_; j < p_; ++j) {
            const double one = worth(scores[j], most);
            if (!std::isfinite(one)) return kInfinity;
            if (sizes_.size() == count) {
                if (count == 0 || one <= sizes_.front()) continue;
                std::pop_heap(sizes_.begin(), sizes_.end(), std::greater<>());
                sizes_.back() = one;
            } else {
                sizes_.push_back(one);
            }
            std::push_heap(sizes_.begin(), sizes_.end(), std::greater<>());
        }
        return 0.5 * std::accumulate(sizes_.begin(), sizes_.end(), own);
    }

  private:
    // ||u_F||_(q)^2, and t. With the sizes sorted, the first ones are above
    // t = (sum of the others) / (q - how many); 0 where all are.
    std::pair<double, double> square_and_threshold(const double* u) {
        sizes_.clear();
        for (std::int64_t j = n_fixed_; j < p_; ++j)
            if (u[j] != 0.0) sizes_.push_back(std::abs(u[j]));
        double squares = 0.0;
        const auto q = static_cast<std::size_t>(q_);
        if (sizes_.size() <= q) {
            for (const double one : sizes_)
                squares += one * one;
            return {squares, 0.0};
        }
        if (q == 0 || !finite(sizes_)) return {kInfinity, kInfinity};  // NaN has no place in order
        std::sort(sizes_.begin(), sizes_.end());
        rests_.resize(sizes_.size());
        std::partial_sum(sizes_.begin(), sizes_.end(), rests_.begin());
        std::size_t above = 0;
        for (;; ++above) {
            const std::size_t at = sizes_.size() - 1 - above;
            const double mean = rests_[at] / static_cast<double>(q - above);
            if (above + 1 == q || sizes_[at] <= mean) return {squares + rests_[at] * mean, mean};
            squares += sizes_[at] * sizes_[at];
        }
    }

    std::int64_t p_, n_fixed_, q_;
    std::vector<double> sizes_, rests_;
};

}  // namespace zeronorm
