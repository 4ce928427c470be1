// Losses that are sums over rows, each with a value of its own, and their dual points.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>

#include "dual.hpp"
#include "lanes.hpp"
#include "losses.hpp"
#include "parallel.hpp"
#include "ridge_rows.hpp"
#include "risk.hpp"
#include "row_sums.hpp"

namespace zeronorm {

template <class Loss>
inline constexpr bool kHasJumps = requires { Loss::kJumps; };  // whether its f'' does

// A dual point of a loss whose rows are by themselves.
template <class Loss>
class RowDual final : public Dual {
  public:
    // y, weight: (n_rows,) with padding, which have to live as long as this.
    RowDual(const Loss& loss, const double* y, const double* weight, std::int64_t n,
            std::int64_t n_rows, const double* v)
        : loss_(loss), y_(y), weight_(weight), n_rows_(n_rows) {
        for (std::int64_t i = 0; i < n; ++i) {
            const double s = weight[i], t = s > 0.0 ? v[i] / s : 0.0;
            v_[i] = v[i];
            share_[i] = t;
            moved_ = moved_ || t != 0.0;
            if constexpr (!Loss::kQuadratic) {
                const auto [low, high] = loss.interval(y[i]);
                if (t != 0.0) end_ = std::min(end_, (t > 0.0 ? high : low) / t);
            }
        }
    }

    double conjugate(double c) const override {
        if (c > 0.0 && end_ < kInfinity && c > end_ * (1.0 + kRoundedShare)) return kInfinity;
        RowSum total;
        const Loss loss = loss_;
        const double *const y = y_, *const weight = weight_;
        const double *const share = share_, *const v = v_;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t i = 0; i < n_rows_; i += kLaneCount) {
                Lanes t, target, s, value;
                load(share + i, t);
                load(y + i, target);
                t *= c;
                if constexpr (Loss::kQuadratic) {
                    load(v + i, s);
                    total.add((0.5 * t - target) * (c * s));
                } else {
                    load(weight + i, s);
                    loss.conjugate(t, target, value);
                    total.add(s > 0.0 ? s * value : Lanes{});
                }
            }
        };
        run_block(kernel, 0);
        return std::isnan(total.value()) ? kInfinity : total.value();
    }

    double best_scale(double quadratic, double nearby) const override {
        if constexpr (Loss::kQuadratic) {
            const double total = sums(1.0).value, square = 2.0 * quadratic + sums(1.0).fall;
            return total > 0.0 && square > 0.0 ? total / square : 1.0;
        } else {
            if (!moved_ || !(end_ > 0.0)) return 1.0;
            const auto slopes = [&](double c) -> Slopes {
                const Slopes at = sums(c);
                return {at.value - 2.0 * c * quadratic, at.fall + 2.0 * quadratic};
            };
            return root_of_falling(slopes, kInside * end_, nearby);
        }
    }

  private:
    // sum_i v_i z_i, z_i the margin whose dual share is c v_i / s_i, and how fast it falls in c;
    // of least squares y'v and sum_i v_i^2 / s_i.
    Slopes sums(double c) const {
        RowSum value, fall;
        const Loss loss = loss_;
        const double *const y = y_, *const share = share_, *const v = v_;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t i = 0; i < n_rows_; i += kLaneCount) {
                Lanes t, target, own, z, bend;
                load(share + i, t);
                load(y + i, target);
                load(v + i, own);
                if constexpr (Loss::kQuadratic) {
                    value.add(target * own);
                    fall.add(t * own);
                } else {
                    const Lanes at = c * t;
                    loss.at_share(at, target, z, bend);
                    value.add(own != 0.0 ? own * z : Lanes{});
                    fall.add(own != 0.0 ? own * (t / bend) : Lanes{});
                }
            }
        };
        run_block(kernel, 0);
        return {value.value(), fall.value()};
    }

    Loss loss_;
    const double *y_, *weight_;
    std::int64_t n_rows_;
    double end_ = kInfinity;  // of the scales inside of all intervals
    bool moved_ = false;
    Buffer rows_{2 * n_rows_};
    double *share_ = rows_, *v_ = share_ + n_rows_;  // v / s, v
};

// The loss of n rows.
template <class Loss>
class RowRisk final : public Risk {
  public:
    RowRisk(const Loss& loss, const double* y, const double* weight, std::int64_t n)
        : Risk(n, {Loss::kQuadratic, kHasJumps<Loss>, true}), loss_(loss) {
        std::copy_n(y, n, y_);
        std::copy_n(weight, n, weight_);
    }

    RowTotals evaluate(const double* z, double b, double* v, double* curvature) const override {
        return evaluate(z, b, y_, weight_, n_rows_, v, curvature);
    }

    double null(bool intercept) const override {
        if constexpr (Loss::kOfLabels) {  // rows differ by their target only
            const double y[kLaneCount] = {1.0, -1.0, 1.0, 1.0}, zero[kLaneCount] = {};
            double weight[kLaneCount] = {}, v[kLaneCount], curvature[kLaneCount], b = 0.0;
            for (std::int64_t i = 0; i < n_; ++i)
                weight[y_[i] > 0.0 ? 0 : 1] += weight_[i];
            const auto at = [&](double to) {
                return evaluate(zero, to, y, weight, kLaneCount, v, curvature);
            };
            RowTotals totals = at(b);
            if (intercept) zeronorm::fit_intercept(at, Loss::kQuadratic, b, totals);
            return totals.value;
        }
        const double value = Risk::null(intercept);
        if constexpr (requires { Loss::kNoise; })
            return std::max(value, Loss::kNoise * std::accumulate(weight_, weight_ + n_, 0.0));
        return value;
    }

    void clip(double* v) const override {
        if constexpr (kHasJumps<Loss>)
            for (std::int64_t i = 0; i < n_; ++i) {
                const auto [low, high] = loss_.interval(y_[i]);
                if (weight_[i] > 0.0) v[i] = std::clamp(v[i], weight_[i] * low, weight_[i] * high);
            }
    }

    std::unique_ptr<Dual> dual(const double* v) const override {
        return std::make_unique<RowDual<Loss>>(loss_, y_, weight_, n_, n_rows_, v);
    }

  private:
    RowTotals evaluate(const double* z, double b, const double* y, const double* weight,
                       std::int64_t n_rows, double* v, double* curvature) const {
        RowTotals totals{};
        const Loss loss = loss_;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            RowSum value, slope, size, bend;
            for (std::int64_t i = 0; i < n_rows; i += kLaneCount) {
                Lanes margin, target, s, f, push, second;
                load(z + i, margin);
                load(y + i, target);
                load(weight + i, s);
                margin += b;
                loss.terms(target, margin, f, push, second);
                push *= s;
                second *= s;
                store(push, v + i);
                store(second, curvature + i);
                value.add(s * f);
                slope.add(-push);
                size.add(push < 0.0 ? -push : push);
                bend.add(second);
            }
            totals = {value.value(), slope.value(), size.value(), bend.value()};
        };
        run_block(kernel, 0);
        return totals;
    }

    Loss loss_;
    Buffer rows_{2 * n_rows_};
    double *y_ = rows_, *weight_ = y_ + n_rows_;
};

}  // namespace zeronorm
