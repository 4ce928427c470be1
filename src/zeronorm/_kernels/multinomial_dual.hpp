// Dual points of the multinomial loss: flows between classes, the conjugate, the best scale.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace zeronorm {

inline constexpr double kBalancedFlow = 1e-15;  // relative, of what classes give and get
inline constexpr double kRoundedFlow = 1e-13;   // below this, what no longer falls is rounding
inline constexpr int kMaxBalancing = 10000;

// Factors x_a / x_b in [0, 1], over q x q flows between classes, by which every class gets what it
// gives (Osborne's balancing). What a class gives that never comes back is left out.
class Circulation {
  public:
    explicit Circulation(std::int64_t q) : q_(q), reach_(size(q * q)), x_(size(q)) {}

    // flow (q, q): not negative, overwritten by the factors.
    void balance(double* flow) {
        keep_cycles(flow);
        std::fill(x_.begin(), x_.end(), 1.0);
        double before = std::numeric_limits<double>::infinity();
        for (int round = 0; round < kMaxBalancing; ++round) {
            const double worst = turn(flow);
            if (worst <= kBalancedFlow || (worst <= kRoundedFlow && worst >= before)) break;
            before = worst;
        }
        double largest = 1.0;
        for (std::int64_t a = 0; a < q_; ++a)
            for (std::int64_t b = 0; b < q_; ++b) {
                double& factor = flow[a * q_ + b];
                factor = factor > 0.0 ? x_[size(a)] / x_[size(b)] : 0.0;
                largest = std::max(largest, factor);
            }
        for (std::int64_t k = 0; k < q_ * q_; ++k)
            flow[k] /= largest;
    }

  private:
    static std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

    // Sets flows to 0 whose class cannot be reached from the other one.
    void keep_cycles(double* flow) {
        bool whole = true;
        for (std::int64_t a = 0; a < q_; ++a)
            for (std::int64_t b = 0; b < q_; ++b) {
                reach_[size(a * q_ + b)] = a == b || flow[a * q_ + b] > 0.0;
                whole = whole && reach_[size(a * q_ + b)];
            }
        if (whole) return;
        for (std::int64_t k = 0; k < q_; ++k)
            for (std::int64_t a = 0; a < q_; ++a)
                for (std::int64_t b = 0; reach_[size(a * q_ + k)] && b < q_; ++b)
                    if (reach_[size(k * q_ + b)]) reach_[size(a * q_ + b)] = 1;
        for (std::int64_t a = 0; a < q_; ++a)
            for (std::int64_t b = 0; b < q_; ++b)
                if (!reach_[size(b * q_ + a)]) flow[a * q_ + b] = 0.0;
    }

    // Balances one class after another; returns by how much the worst of them was out.
    double turn(const double* flow) {
        double worst = 0.0;
        for (std::int64_t o = 0; o < q_; ++o) {
            double gives = 0.0, gets = 0.0;
            for (std::int64_t b = 0; b < q_; ++b) {
                gives += flow[o * q_ + b] * (x_[size(o)] / x_[size(b)]);
                gets += flow[b * q_ + o] * (x_[size(b)] / x_[size(o)]);
            }
            if (gives > 0.0 && gets > 0.0) {
                worst = std::max(worst, std::abs(gives - gets) / (gives + gets));
                x_[size(o)] *= std::sqrt(gets / gives);
            }
        }
        return worst;
    }

    std::int64_t q_;
    std::vector<char> reach_;
    std::vector<double> x_;
};

// The dual of the multinomial loss at v, (q n,), whose shares are p_io = y_io - c v_io / s_i.
struct MultinomialDual {
    const double *v, *y, *weight;
    std::int64_t n, q;

    double share(std::int64_t k, double c) const {
        return weight[k] > 0.0 ? y[k] - c * v[k] / weight[k] : y[k];
    }

    // The conjugate at -v, infinite outside of its domain: sum_i s_i sum_o p_io log p_io.
    double conjugate(bool is_free) const {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        double value = 0.0;
        for (std::int64_t i = 0; i < n; ++i) {
            double total = 0.0, size = 0.0, own = 0.0;
            for (std::int64_t k = i; k < q * n; k += n) {
                const double p = share(k, 1.0);
                total += v[k];
                size += std::abs(v[k]);
                if (!(p >= -kDualRounding)) return infinity;
                if (p > 0.0) own += p * std::log(p);
            }
            if (!(std::abs(total) <= kDualRounding * size)) return infinity;
            value += weight[i] * own;
        }
        for (std::int64_t o = 0; is_free && o < q; ++o) {
            double total = 0.0, size = 0.0;
            for (std::int64_t i = 0; i < n; ++i) {
                total += v[o * n + i];
                size += std::abs(v[o * n + i]);
            }
            if (!(std::abs(total) <= kDualRounding * size)) return infinity;
        }
        return value;
    }

    // The c that maximises -conjugate(c v) - c^2 quadratic, as `root_of_falling` finds it.
    double best_scale(double quadratic) const {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        double end = infinity;
        for (std::int64_t k = 0; k < q * n; ++k)
            if (weight[k] > 0.0 && v[k] != 0.0)
                end = std::min(end, (v[k] > 0.0 ? y[k] : y[k] - 1.0) / (v[k] / weight[k]));
        if (!(end > 0.0) || end == infinity) return 1.0;
        end *= kInside;
        double c = std::min(1.0, 0.5 * end), low = 0.0, high = end;
        for (int step = 0; step < kMostSteps; ++step) {
            const auto [value, fall] = slope(c, quadratic);
            (value > 0.0 ? low : high) = c;
            double following = fall > 0.0 ? c + value / fall : infinity;
            if (!(low < following && following < high)) {
                if (high < end)
                    following = low > 0.0 ? std::sqrt(low) * std::sqrt(high) : 0.25 * c;
                else if (slope(end, quadratic).first > 0.0)
                    return end;
                else
                    following = 0.5 * (c + end);
            }
            if (std::abs(following - c) <= kScaleTol * c || following < 1e-100) return following;
            c = following;
        }
        return c;
    }

  private:
    static constexpr double kDualRounding = 1e-12, kInside = 1.0 - 1e-12, kScaleTol = 1e-7;
    static constexpr int kMostSteps = 400;

    // The derivative at c, and by how much it falls.
    std::pair<double, double> slope(double c, double quadratic) const {
        double value = -2.0 * c * quadratic, fall = 2.0 * quadratic;
        for (std::int64_t k = 0; k < q * n; ++k) {
            if (!(weight[k] > 0.0) || v[k] == 0.0) continue;
            const double p = share(k, c);
            value += v[k] * std::log(p);
            fall += v[k] * (v[k] / weight[k]) / p;
        }
        return {value, fall};
    }
};

}  // namespace zeronorm
