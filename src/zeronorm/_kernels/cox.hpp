// Cox's partial likelihood, as `losses/cox.py` has it: the loss of a row depends on the rows that
// are at risk with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "lanes.hpp"
#include "losses.hpp"
#include "parallel.hpp"
#include "ridge_rows.hpp"
#include "risk.hpp"
#include "row_sums.hpp"

namespace zeronorm {

// Margins that differ by no more are exponentiated and summed as they are.
inline constexpr double kPlainRange = 600.0;

// log(e^a + e^b)
inline double log_add(double a, double b) {
    const double high = std::max(a, b);
    return std::isinf(high) ? high : high + std::log1p(std::exp(-std::abs(a - b)));
}

class CoxRisk final : public Risk {
    friend class CoxDual;

  public:
    // y: time, event and stratum of the rows, row by row.
    CoxRisk(const Cox& loss, const double* y, const double* weight, std::int64_t n)
        : Risk(n, {false, false, false}), order_(static_cast<std::size_t>(n)) {
        const auto time = [&](std::int64_t i) { return y[3 * i]; };
        const auto stratum = [&](std::int64_t i) { return y[3 * i + 2]; };
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(), [&](std::int64_t a, std::int64_t b) {
            return stratum(a) < stratum(b) || (stratum(a) == stratum(b) && time(a) > time(b));
        });
        for (std::int64_t r = 0; r < n; ++r) {
            const std::int64_t i = order_[at(r)];
            weight_[r] = weight[i];
            death_[r] = y[3 * i + 1] > 0.0 ? weight[i] : 0.0;
        }
        for (std::int64_t begin = 0, end; begin < n; begin = end) {
            const std::int64_t first_time = size(times_);
            end = begin;
            while (end < n && stratum(order_[at(end)]) == stratum(order_[at(begin)])) {
                std::int64_t next = end;  // the rows of one time are from `end` to here
                double deaths = 0.0;
                std::int64_t count = 0;
                bool any = false;
                for (; next < n && stratum(order_[at(next)]) == stratum(order_[at(begin)]) &&
                       time(order_[at(next)]) == time(order_[at(end)]);
                     ++next) {
                    any = any || y[3 * order_[at(next)] + 1] > 0.0;
                    deaths += death_[next];
                    count += death_[next] > 0.0;
                    first_.push_back(size(times_));
                }
                const bool is_tied = loss.efron && count > 1;
                if (any) times_.push_back({next, deaths, is_tied ? count : 1});
                n_tied_ += is_tied;
                end = next;
            }
            strata_.push_back({begin, end, first_time, size(times_)});
        }
    }

    // A constant in the margins changes nothing: the derivatives in b are 0.
    // But where `couple` takes nothing off, a second one that is not centres the columns.
    RowTotals evaluate(const double* z, double, double* v, double* curvature) const override {
        double value = 0.0, total = 0.0, bend = 0.0;
        for (const Stratum& one : strata_)
            value += share(one, z);
        for (std::int64_t r = 0; r < n_; ++r) {
            const std::int64_t i = order_[at(r)];
            v[i] = death_[r] - share_[r];
            curvature[i] = share_[r];
            bend += share_[r];
            total += std::abs(v[i]);
        }
        std::fill(v + n_, v + n_rows_, 0.0);
        std::fill(curvature + n_, curvature + n_rows_, 0.0);
        return {value < 0.0 ? 0.0 : value, 0.0, total, is_plain(z) ? 0.0 : bend};
    }

    // Takes sum_t D_t m_t m_t' off, m_t the mean of the columns over the rows at risk; nothing
    // where margins differ by much: the loss is all but straight there, and steps would have no
    // end.
    void couple(const double* z, const double* columns, std::int64_t width,
                double* gram) const override {
        if (!is_plain(z)) return;
        const std::int64_t n_times = size(times_), n_padded = whole(n_times + n_tied_, kLine);
        Buffer mean(n_padded * width), deaths(n_padded), at_risk(n_padded), own(n_padded),
            product(width * width), cross(width), scaled(kGramLeft * kGramRows);
        std::int64_t extra = n_times;  // a second row of a tied time
        for (const Stratum& one : strata_) {
            set_sizes(one, z);
            // Sums over the rows at risk, and those over the events of a tied time.
            const auto sums = [&](const auto& value_of, double* to, double* tied) {
                double sum = 0.0;
                std::int64_t r = one.begin, next = extra;
                for (std::int64_t t = one.first_time; t < one.last_time; ++t) {
                    double events = 0.0;
                    for (; r < times_[at(t)].end; ++r) {
                        sum += share_[r] * value_of(r);
                        if (death_[r] > 0.0) events += share_[r] * value_of(r);
                    }
                    to[t] = sum;
                    if (times_[at(t)].count > 1) tied[next++] = events;
                }
            };
            sums([](std::int64_t) { return 1.0; }, at_risk, own);
            for (std::int64_t j = 0; j < width; ++j) {
                const double* const column = columns + j * n_rows_;
                double* const to = mean + j * n_padded;
                sums([&](std::int64_t r) { return column[order_[at(r)]]; }, to, to);
            }
            for (std::int64_t t = one.first_time; t < one.last_time; ++t) {
                const EventTime& now = times_[at(t)];
                const double unit = 1.0 / at_risk[t];
                deaths[t] = now.deaths;
                double mixed = 0.0;
                if (now.count > 1) {
                    double left = 0.0, factor = 0.0;
                    coupled(now.count, own[extra] * unit, mixed, factor, left);
                    deaths[t] *= factor;
                    deaths[extra] = now.deaths * left;
                }
                for (std::int64_t j = 0; j < width; ++j) {
                    double* const to = mean + j * n_padded;
                    if (now.count > 1) {
                        to[extra] *= unit;
                        to[t] = to[t] * unit - mixed * to[extra];
                    } else {
                        to[t] *= unit;
                    }
                }
                extra += now.count > 1;
            }
        }
        weighted_gram(mean, n_padded, width, deaths, product, cross, scaled);
        for (std::int64_t k = 0; k < width * width; ++k)
            gram[k] -= product[k];
    }

    std::unique_ptr<Dual> dual(const double* v) const override;

  private:
    // Rows, and event times, of a stratum: from the last time to the first.
    struct Stratum {
        std::int64_t begin, end, first_time, last_time;
    };
    // The rows at risk at an event time are those of the stratum before `end`.
    struct EventTime {
        std::int64_t end;
        double deaths;       // the weight of its events, D_t
        std::int64_t count;  // how many of these are one after the other
    };
    // Means over l = 0, ..., count - 1, k = l / count, of log(1 - k share), less the least value,
    // and of 1 and k over 1 - k share; share: of the events in the sum over the rows at risk.
    struct Tie {
        double logarithm = 0.0, more = 1.0, less = 0.0;
        Tie(std::int64_t count, double share) {
            if (count == 1) return;
            const double n = static_cast<double>(count), unit = 1.0 / n;
            more = 0.0;
            for (std::int64_t l = 0; l < count; ++l) {
                const double k = static_cast<double>(l) * unit;
                const double left = 1.0 - k * std::min(share, 1.0);
                logarithm += unit * std::log(left);
                more += unit / left;
                less += unit * k / left;
            }
            logarithm += std::log(n) - std::lgamma(n + 1.0) * unit;
        }
    };
    // mean (M - k N)(M - k N)' / (1 - k share)^2 = factor (M - mixed N)(M - mixed N)' + left N N'.
    static void coupled(std::int64_t count, double share, double& mixed, double& factor,
                        double& left) {
        const double unit = 1.0 / static_cast<double>(count);
        double second = 0.0, third = 0.0;
        for (std::int64_t l = 0; l < count; ++l) {
            const double k = static_cast<double>(l) * unit, rest = 1.0 - k * std::min(share, 1.0);
            const double power = unit / (rest * rest);
            factor += power;
            second += k * power;
            third += k * k * power;
        }
        mixed = second / factor;
        left = std::max(0.0, third - mixed * second);
    }

    static std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }
    template <class T>
    static std::int64_t size(const std::vector<T>& items) {
        return static_cast<std::int64_t>(items.size());
    }

    bool is_plain(const double* z) const {
        const auto [low, high] = std::minmax_element(z, z + n_);
        return n_ == 0 || *high - *low <= kPlainRange;
    }

    // share_ <- s e^(z - the largest z), in order; false where the margins differ by too much.
    bool set_sizes(const Stratum& one, const double* z) const {
        double smallest = std::numeric_limits<double>::infinity();
        largest_ = -smallest;
        for (std::int64_t r = one.begin; r < one.end; ++r) {
            margin_[r] = z[order_[at(r)]];
            largest_ = std::max(largest_, margin_[r]);
            smallest = std::min(smallest, margin_[r]);
        }
        if (!(largest_ - smallest <= kPlainRange)) return false;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            each_group(one.end - one.begin,
                       [&](std::int64_t i, std::int64_t n) ZERONORM_INLINE_LAMBDA {
                           Lanes margin, s, power;
                           load_some(margin_ + one.begin + i, n, margin);
                           load_some(weight_ + one.begin + i, n, s);
                           exp_of(margin - largest_, power);
                           store_some(s * power, n, share_ + one.begin + i);
                       });
        };
        run_block(kernel, 0);
        return true;
    }

    // share_ <- p of the rows of a stratum, in order; returns the loss of these.
    double share(const Stratum& one, const double* z) const {
        const bool plain = set_sizes(one, z);
        if (!plain)
            for (std::int64_t r = one.begin; r < one.end; ++r)
                share_[r] = std::log(weight_[r]) + margin_[r] - largest_;
        hazard_.assign(at(one.last_time - one.first_time + 1), 0.0);
        less_.assign(hazard_.size(), 0.0);
        double value = 0.0, at_risk = plain ? 0.0 : -std::numeric_limits<double>::infinity();
        std::int64_t r = one.begin;
        for (std::int64_t t = one.first_time; t < one.last_time; ++t) {
            const auto [end, deaths, count] = times_[at(t)];
            const std::int64_t begin = r;
            for (; r < end; ++r)
                at_risk = plain ? at_risk + share_[r] : log_add(at_risk, share_[r]);
            double events = 0.0;
            for (std::int64_t i = begin; count > 1 && i < end; ++i)
                if (death_[i] > 0.0)
                    events += plain ? share_[i] / at_risk : std::exp(share_[i] - at_risk);
            const Tie tie(count, events);
            const double logarithm = plain ? std::log(at_risk) : at_risk;
            // Less D log D, the least value.
            if (deaths > 0.0) value += deaths * (logarithm + tie.logarithm - std::log(deaths));
            const std::size_t place = at(t - one.first_time);
            hazard_[place] = plain ? deaths / at_risk * tie.more
                                   : std::log(deaths) - logarithm + std::log(tie.more);
            less_[place] = plain ? deaths / at_risk * tie.less
                                 : std::log(deaths) - logarithm + std::log(tie.less);
        }
        hazard_.back() = plain ? 0.0 : -std::numeric_limits<double>::infinity();
        for (std::size_t t = hazard_.size() - 1; t-- > 0;)
            hazard_[t] = plain ? hazard_[t] + hazard_[t + 1] : log_add(hazard_[t], hazard_[t + 1]);
        for (r = one.begin; r < one.end; ++r) {
            value += death_[r] * (largest_ - margin_[r]);
            const std::size_t place = at(first_[at(r)] - one.first_time);
            const double own = hazard_[place];
            const bool is_tied = death_[r] > 0.0 && times_[at(first_[at(r)])].count > 1;
            const double size = share_[r];
            share_[r] = plain ? size * own : std::exp(size + own);
            if (is_tied) share_[r] -= plain ? size * less_[place] : std::exp(size + less_[place]);
        }
        return value;
    }

    std::vector<std::int64_t> order_;  // of the rows: by stratum, from the last time to the first
    std::vector<std::int64_t> first_;  // of the rows, in order: the last event time at risk
    std::vector<EventTime> times_;
    std::vector<Stratum> strata_;
    std::int64_t n_tied_ = 0;  // times of several events that are one after the other
    // In order: s, s of the events, and what the functions above work on.
    Buffer weight_{n_rows_}, death_{n_rows_}, share_{n_rows_}, margin_{n_rows_};
    mutable std::vector<double> hazard_, less_;
    mutable double largest_ = 0.0;
};

}  // namespace zeronorm
