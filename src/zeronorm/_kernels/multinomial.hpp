// The multinomial loss of several classes, as `losses/multi_output.py` has it, at its best
// intercepts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "cholesky.hpp"
#include "lanes.hpp"
#include "losses.hpp"
#include "multinomial_dual.hpp"
#include "parallel.hpp"
#include "ridge_rows.hpp"

namespace zeronorm {

inline constexpr double kNearSums = 1e-13;  // of shares: made equal to what is wanted afterwards

// The loss of n rows in q outputs. Margins, shares and v have n_rows() numbers of each output, one
// output after the other; those beyond n are padding of weight 0.
class MultinomialRisk {
  public:
    // y, weight: (q n,), y is 1 in the output of the class of a row, else 0. is_free: whether there
    // are intercepts.
    MultinomialRisk(const double* y, const double* weight, std::int64_t n, std::int64_t q,
                    bool is_free)
        : n_(n), q_(q), n_rows_(whole(n, kLine)), is_free_(is_free), circulation_(q) {
        std::copy_n(weight, n, static_cast<double*>(weight_));
        total_ = std::accumulate(weight, weight + n, 0.0);
        own_.resize(static_cast<std::size_t>(n));
        for (std::int64_t i = 0; i < n; ++i) {
            std::int64_t own = 0;
            for (std::int64_t o = 1; o < q; ++o)
                if (y[o * n + i] > y[own * n + i]) own = o;
            own_[static_cast<std::size_t>(i)] = own;
            wanted_[own] += weight[i];
        }
        double level = 0.0;  // of the intercepts: their mean is 0
        std::int64_t n_some = 0;
        for (std::int64_t o = 0; o < q; ++o)
            if (wanted_[o] > 0.0) level += std::log(wanted_[o]), ++n_some;
        for (std::int64_t o = 0; is_free && o < q; ++o)
            start_[o] = wanted_[o] > 0.0
                            ? std::log(wanted_[o]) - level / static_cast<double>(n_some)
                            : -std::numeric_limits<double>::infinity();
        restart();
    }
    std::int64_t n() const { return n_; }
    std::int64_t n_rows() const { return n_rows_; }
    std::int64_t outputs() const { return q_; }
    bool is_free() const { return is_free_; }
    const double* intercepts() const { return b_; }
    const double* shares() const { return share_; }
    const double* weight() const { return weight_; }

    // Takes the intercepts of the model without features.
    void restart() { std::copy_n(static_cast<double*>(start_), q_, static_cast<double*>(b_)); }

    // Goes to the best intercepts for margins, from those before; returns the value there.
    double evaluate(const double* z) {
        double value = state(z, b_);
        for (int iteration = 0; is_free_ && iteration < kMaxNewton; ++iteration) {
            const double out = pull();
            if (!(out > kNearSums * total_)) break;
            std::copy_n(static_cast<double*>(b_), q_, static_cast<double*>(before_));
            const double before = value;
            bool moved = newton_step();
            if (moved) value = state(z, b_);
            if (!(moved && value <= before)) {  // scale every output to its sum
                for (std::int64_t o = 0; o < q_; ++o)
                    if (wanted_[o] > 0.0)
                        b_[o] = before_[o] + std::log(wanted_[o] / std::max(sums_[o], 1e-300));
                value = state(z, b_);
            }
            if (value < before) continue;
            set_sums();
            if (!(largest_pull() < out)) {
                std::copy_n(static_cast<double*>(before_), q_, static_cast<double*>(b_));
                value = state(z, b_);
                break;
            }
        }
        center();
        return value < 0.0 ? 0.0 : value;
    }

    // v <- a dual point near s (y - p), p of the last evaluation, where the conjugate is finite:
    // rows give to other classes, every class gets what it gives.
    void dual_point(double* v) {
        std::fill_n(static_cast<double*>(flow_), q_ * q_, 0.0);
        for (std::int64_t o = 0; o < q_; ++o)
            for (std::int64_t i = 0; i < n_; ++i) {
                const std::int64_t own = own_[static_cast<std::size_t>(i)];
                const double given = own == o ? 0.0 : weight_[i] * share_[o * n_rows_ + i];
                v[o * n_rows_ + i] = -given;
                flow_[own * q_ + o] += given;
            }
        keep_inside(v);
    }

    // The same of any v, (q, n_rows()): its own entries are set.
    void inside(double* v) {
        std::fill_n(static_cast<double*>(flow_), q_ * q_, 0.0);
        for (std::int64_t o = 0; o < q_; ++o)
            for (std::int64_t i = 0; i < n_; ++i) {
                const std::int64_t own = own_[static_cast<std::size_t>(i)];
                double& entry = v[o * n_rows_ + i];
                entry = own == o ? 0.0 : std::min(entry, 0.0);
                flow_[own * q_ + o] -= entry;
            }
        keep_inside(v);
    }

  private:
    static constexpr int kMaxNewton = 100;

    // share_ <- p at margins and intercepts; returns the loss there.
    double state(const double* z, const double* b) {
        double value = 0.0;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            RowSum loss;
            for (std::int64_t i = 0; i < n_rows_; i += kLaneCount) {
                Lanes top, x, total{}, s;
                load(z + i, top);
                top += b[0];
                for (std::int64_t o = 1; o < q_; ++o) {
                    load(z + o * n_rows_ + i, x);
                    x += b[o];
                    top = x > top ? x : top;
                }
                for (std::int64_t o = 0; o < q_; ++o) {
                    load(z + o * n_rows_ + i, x);
                    x += b[o] - top;
                    exp_of(x, x);
                    total += x;
                    store(x, share_ + o * n_rows_ + i);
                }
                for (std::int64_t o = 0; o < q_; ++o) {
                    load(share_ + o * n_rows_ + i, x);
                    x /= total;
                    store(x, share_ + o * n_rows_ + i);
                }
                Lanes logarithm = total;
                log_positive(logarithm);
                logarithm = total == total ? logarithm : total;  // NaN stays
                Lanes moved = top;
                for (std::int64_t k = 0; k < kLaneCount && i + k < n_; ++k) {
                    const std::int64_t own = own_[static_cast<std::size_t>(i + k)];
                    moved[k] = z[own * n_rows_ + i + k] + b[own];
                }
                load(weight_ + i, s);
                // Rows beyond the last have no weight, and margins of 0.
                loss.add(s * (logarithm + (top - moved)));
            }
            value = loss.value();
        };
        run_block(kernel, 0);
        return value;
    }

    void set_sums() {
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t o = 0; o < q_; ++o) {
                Lanes total{}, s, p;
                for (std::int64_t i = 0; i < n_rows_; i += kLaneCount) {
                    load(weight_ + i, s);
                    load(share_ + o * n_rows_ + i, p);
                    total += s * p;
                }
                sums_[o] = sum(total);
            }
        };
        run_block(kernel, 0);
    }
    // hessian_ (upper triangle) <- sum_i s_i p_ia p_ic
    void set_products() {
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t a = 0; a < q_; ++a)
                for (std::int64_t c = a; c < q_; ++c) {
                    Lanes total{}, s, p, other;
                    for (std::int64_t i = 0; i < n_rows_; i += kLaneCount) {
                        load(weight_ + i, s);
                        load(share_ + a * n_rows_ + i, p);
                        load(share_ + c * n_rows_ + i, other);
                        total += s * p * other;
                    }
                    hessian_[a * q_ + c] = sum(total);
                }
        };
        run_block(kernel, 0);
    }
    double largest_pull() const {
        double largest = 0.0;
        for (std::int64_t o = 0; o < q_; ++o)
            largest = std::max(largest, std::abs(wanted_[o] - sums_[o]));
        return largest;
    }
    double pull() {
        set_sums();
        return largest_pull();
    }

    // Moves the intercepts by a Newton step; false where there is none.
    bool newton_step() {
        double level = 0.0;
        std::int64_t n_some = 0;
        for (std::int64_t o = 0; o < q_; ++o)
            if (wanted_[o] > 0.0) level += sums_[o], ++n_some;
        level /= static_cast<double>(n_some) * static_cast<double>(n_some);
        set_products();
        for (std::int64_t a = 0; a < q_; ++a) {
            const bool is_used = wanted_[a] > 0.0;
            for (std::int64_t c = a; c < q_; ++c) {
                // Along equal shifts, which change nothing, there is a curvature of its own.
                const bool both = is_used && wanted_[c] > 0.0;
                double& entry = hessian_[a * q_ + c];
                entry = both ? (a == c ? sums_[a] : 0.0) - entry + level : 0.0;
            }
            if (!is_used) hessian_[a * q_ + a] = 1.0;
            step_[a] = is_used ? wanted_[a] - sums_[a] : 0.0;
        }
        try {
            cholesky(hessian_, q_, q_, factor_);
        } catch (const NotFinite&) {
            return false;
        }
        solve_factored(factor_, q_, q_, step_);
        bool moved = false;
        for (std::int64_t o = 0; o < q_; ++o) {
            if (!(std::abs(step_[o]) <= std::numeric_limits<double>::max())) return false;
            moved = moved || step_[o] != 0.0;
        }
        for (std::int64_t o = 0; o < q_; ++o)
            if (wanted_[o] > 0.0) b_[o] += step_[o];
        return moved;
    }

    // Intercepts of mean 0: only their differences count.
    void center() {
        double level = 0.0;
        std::int64_t n_some = 0;
        for (std::int64_t o = 0; o < q_; ++o)
            if (wanted_[o] > 0.0) level += b_[o], ++n_some;
        for (std::int64_t o = 0; is_free_ && o < q_; ++o)
            if (wanted_[o] > 0.0) b_[o] -= level / static_cast<double>(n_some);
    }

    // Scales what rows give so that classes get it back and no row gives more than its weight, and
    // sets the entries of the own classes.
    void keep_inside(double* v) {
        if (is_free_) circulation_.balance(flow_);
        double scale = 1.0;
        for (std::int64_t i = 0; i < n_; ++i) {
            const std::int64_t own = own_[static_cast<std::size_t>(i)];
            double total = 0.0;
            for (std::int64_t o = 0; o < q_; ++o) {
                if (is_free_) v[o * n_rows_ + i] *= flow_[own * q_ + o];
                total -= o == own ? 0.0 : v[o * n_rows_ + i];
            }
            given_[i] = total;
            if (total > 0.0) scale = std::min(scale, weight_[i] / total);
        }
        std::fill_n(static_cast<double*>(given_), n_, 0.0);
        for (std::int64_t o = 0; o < q_; ++o) {
            double* const part = v + o * n_rows_;
            for (std::int64_t i = 0; i < n_; ++i) {
                if (own_[static_cast<std::size_t>(i)] == o) continue;
                part[i] *= scale;
                given_[i] -= part[i];
            }
            std::fill(part + n_, part + n_rows_, 0.0);
        }
        for (std::int64_t i = 0; i < n_; ++i)
            v[own_[static_cast<std::size_t>(i)] * n_rows_ + i] = given_[i];
    }

    std::int64_t n_, q_, n_rows_;
    bool is_free_;
    double total_ = 0.0;             // weight of all rows
    std::vector<std::int64_t> own_;  // the class of every row
    Circulation circulation_;
    Buffer weight_{n_rows_}, share_{q_ * n_rows_}, given_{n_rows_}, wanted_{q_}, start_{q_}, b_{q_},
        before_{q_}, sums_{q_}, step_{q_}, hessian_{q_ * q_}, factor_{q_ * q_}, flow_{q_ * q_};
};

}  // namespace zeronorm
