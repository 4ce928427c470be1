// Convex quadratic programs over the simplex, by an active set.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cholesky.hpp"

namespace zeronorm {

// Puts argmin of g'x + 1/2 x'Hx over x >= 0, sum x = 1 over x, the start; H is PSD, all of its
// size x size entries are read. As `minimize_on_simplex` of solvers/minimax.py.
class OnSimplex {
  public:
    explicit OnSimplex(std::int64_t size) : size_(size) {}

    void minimise(const double* gradient, const double* hessian, double* x) {
        normalise(x);
        double unit = 1e-300;
        for (std::int64_t t = 0; t < size_; ++t)
            unit = std::max({unit, hessian[t * size_ + t], std::abs(gradient[t])});
        for (std::int64_t t = 0; t < size_; ++t) {
            g_[at(t)] = gradient[t] / unit;
            for (std::int64_t s = 0; s < size_; ++s)
                H_[at(t * size_ + s)] = hessian[t * size_ + s] / unit + (s == t ? 1e-12 : 0.0);
            free_[at(t)] = x[t] > 0.0;
        }
        for (std::int64_t round = 0; round < 10 * size_ + 20; ++round) {
            solve_free();
            if (std::all_of(goal_.begin(), goal_.end(), [](double z) { return z >= -1e-15; })) {
                std::fill_n(x, size_, 0.0);
                for (std::size_t a = 0; a < index_.size(); ++a)
                    x[index_[a]] = goal_[a];
                normalise(x);
                if (!release(x)) return;
            } else {
                step_to_wall(x);
            }
        }
    }

  private:
    static std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }

    void normalise(double* x) const {
        double total = 0.0;
        for (std::int64_t t = 0; t < size_; ++t)
            total += x[t] = std::max(x[t], 0.0);
        for (std::int64_t t = 0; t < size_; ++t)
            x[t] /= total;
    }

    // goal_ <- the minimum over the free variables under their sum of 1. On it 11' added to H
    // changes nothing, and H may have no curvature along equal changes.
    void solve_free() {
        index_.clear();
        for (std::int64_t t = 0; t < size_; ++t)
            if (free_[at(t)]) index_.push_back(t);
        const auto m = static_cast<std::int64_t>(index_.size());
        goal_.assign(at(m), 1.0);
        if (m == 1) return;
        matrix_.assign(at(m * m), 0.0);
        factor_.assign(at(m * m), 0.0);
        even_.assign(at(m), 1.0);
        for (std::int64_t a = 0; a < m; ++a) {
            goal_[at(a)] = -g_[at(index_[at(a)])];
            for (std::int64_t b = 0; b < m; ++b)
                matrix_[at(a * m + b)] = 1.0 + H_[at(index_[at(a)] * size_ + index_[at(b)])];
        }
        cholesky(matrix_.data(), m, m, factor_.data());
        solve_factored(factor_.data(), m, m, goal_.data());
        solve_factored(factor_.data(), m, m, even_.data());
        double own = -1.0, each = 0.0;
        for (std::int64_t a = 0; a < m; ++a) {
            own += goal_[at(a)];
            each += even_[at(a)];
        }
        for (std::int64_t a = 0; a < m; ++a)
            goal_[at(a)] -= own / each * even_[at(a)];
    }

    // Frees the variable whose rise lowers the objective most; false where none does.
    bool release(const double* x) {
        double multiplier = 0.0, scale = 1e-300, least = 0.0;
        std::int64_t worst = 0;
        for (std::int64_t t = 0; t < size_; ++t) {
            double slope = g_[at(t)];
            for (std::int64_t s = 0; s < size_; ++s)
                slope += H_[at(t * size_ + s)] * x[s];
            multiplier += x[t] * slope;
            scale = std::max(scale, std::abs(slope));
            if (t == 0 || slope < least) {
                least = slope;
                worst = t;
            }
        }
        if (least >= multiplier - 1e-12 * scale || free_[at(worst)]) return false;
        free_[at(worst)] = true;
        return true;
    }

    // Moves towards goal_ until a free variable is 0, and fixes it there.
    void step_to_wall(double* x) {
        double step = 1.0;
        std::size_t first = 0;
        bool some = false;
        for (std::size_t a = 0; a < index_.size(); ++a) {
            const double move = goal_[a] - x[index_[a]];
            if (!(move < 0.0)) continue;
            const double ratio = x[index_[a]] / -move;
            if (!some || ratio < step) {
                step = ratio;
                first = a;
            }
            some = true;
        }
        step = std::min(step, 1.0);
        for (std::size_t a = 0; a < index_.size(); ++a)
            x[index_[a]] += step * (goal_[a] - x[index_[a]]);
        x[index_[first]] = 0.0;
        free_[at(index_[first])] = false;
    }

    std::int64_t size_;
    std::vector<double> g_ = std::vector<double>(at(size_)),
                        H_ = std::vector<double>(at(size_ * size_));
    std::vector<char> free_ = std::vector<char>(at(size_));
    std::vector<std::int64_t> index_;  // of the free variables
    std::vector<double> goal_, even_, matrix_, factor_;
};

}  // namespace zeronorm
