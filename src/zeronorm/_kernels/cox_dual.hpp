// Dual points of Cox's partial likelihood with Breslow's ties, as `losses/cox.py` has them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include "cox.hpp"
#include "dual.hpp"
#include "lanes.hpp"

namespace zeronorm {

inline double entropy(double x) {
    return x > 0.0 ? x * std::log(x) : 0.0;
}

// A dual point v. p_i = s_i d_i - v_i, x_t = sum_{T_i >= t} p_i - sum_{events after t} D, L = x -
// D.
class CoxDual final : public Dual {
  public:
    CoxDual(const CoxRisk& risk, const double* v) : risk_(risk) {
        for (std::int64_t r = 0; r < risk.n(); ++r)
            v_[r] = v[risk.order_[at(r)]];
    }

    double conjugate(double c) const override {
        double total = 0.0;
        bool inside = true;
        each_stratum(c, [&](const Found& found) { inside = inside && found.is_inside; });
        if (!inside) return kInfinity;
        each_stratum(c, [&](const Found& found) {
            if (!found.has_events) return;
            for (std::int64_t r = found.begin; r < found.end; ++r)
                if (p_[r] > 0.0) total += p_[r] * std::log(p_[r] / risk_.weight_[r]);
            for (std::int64_t t = found.first_time; t < found.last_time; ++t) {
                const double D = risk_.times_[at(t)].deaths, L = left_[t];
                total -= entropy(L + D) - entropy(D) - entropy(L);
            }
        });
        return std::isnan(total) ? kInfinity : total;
    }

    double best_scale(double quadratic, double /*nearby*/) const override {
        std::int64_t rows = 0, times = 0;
        double end = 1e300;
        bool known = true;
        each_stratum(1.0, [&](const Found& found) {
            known = known && found.is_known;
            for (std::int64_t r = found.begin; found.has_events && r < found.end; ++r) {
                if (v_[r] == 0.0) continue;
                moved_[rows] = v_[r];
                event_[rows] = p_[r] + v_[r];
                size_[rows] = risk_.weight_[r];
                if (v_[r] > 0.0) end = std::min(end, event_[rows] / v_[r]);
                ++rows;
            }
            for (std::int64_t t = found.first_time; t < found.last_time; ++t)
                if (left_[t] > 0.0) {
                    some_[times] = left_[t];
                    deaths_[times++] = risk_.times_[at(t)].deaths;
                }
        });
        if (!known || rows == 0) return 1.0;
        // The last group of lanes is filled by what adds nothing.
        for (std::int64_t i = rows; i < whole(rows, kLaneCount); ++i) {
            moved_[i] = 0.0;
            event_[i] = size_[i] = 1.0;
        }
        for (std::int64_t t = times; t < whole(times, kLaneCount); ++t) {
            some_[t] = 1.0;
            deaths_[t] = 0.0;
        }
        const auto slopes = [&](double c) { return slopes_at(c, rows, times, quadratic); };
        return root_of_falling(slopes, kInside * end);
    }

  private:
    struct Found {
        std::int64_t begin, end, first_time, last_time;
        bool has_events;
        bool is_known, is_inside;  // of a multiple of v, of v itself
    };

    static std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }

    // Sets p and L of c v, stratum by stratum, and calls visit with what there is of each.
    template <class Visit>
    void each_stratum(double c, const Visit& visit) const {
        for (const auto& [begin, end, first_time, last_time] : risk_.strata_) {
            double size = 0.0, total = 0.0;
            for (std::int64_t r = begin; r < end; ++r)
                size += std::abs(c * v_[r]);
            const double noise = 8.0 * std::numeric_limits<double>::epsilon() *
                                 static_cast<double>(end - begin) * size;
            bool is_known = true, is_positive = true;
            std::int64_t t = first_time;
            for (std::int64_t r = begin; r < end; ++r) {
                const double own = c * v_[r];
                p_[r] = risk_.death_[r] - own;
                if (std::abs(p_[r]) <= noise) p_[r] = std::max(p_[r], 0.0);
                is_positive = is_positive && p_[r] >= 0.0;
                total -= own;
                // Rows that leave before the first event are in no risk set.
                if (risk_.first_[at(r)] == last_time) is_known = is_known && std::abs(own) <= noise;
                for (; t < last_time && risk_.times_[at(t)].end == r + 1; ++t) {
                    is_known = is_known && total >= -noise;
                    left_[t] = total > noise ? total : 0.0;
                }
            }
            const bool has_events = first_time < last_time;
            is_known = is_known && (!has_events || std::abs(total) <= noise);
            visit({begin, end, first_time, last_time, has_events, is_known,
                   is_known && (is_positive || !has_events)});
        }
    }

    // The derivative in c, and how fast it falls.
    Slopes slopes_at(double c, std::int64_t rows, std::int64_t times, double quadratic) const {
        RowSum value, fall;
        const double *const moved = moved_, *const event = event_, *const size = size_;
        const double *const some = some_, *const deaths = deaths_;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t i = 0; i < rows; i += kLaneCount) {
                Lanes own, all, s;
                load(moved + i, own);
                load(event + i, all);
                load(size + i, s);
                const Lanes rest = all - c * own;
                Lanes logarithm = rest / s;
                logarithm = logarithm > kNothing ? logarithm : Lanes{} + kNothing;
                log_positive(logarithm);
                value.add(own * logarithm);
                fall.add(own * (own / rest));
            }
            for (std::int64_t t = 0; t < times; t += kLaneCount) {
                Lanes L, D;
                load(some + t, L);
                load(deaths + t, D);
                const Lanes x = c * L + D;
                Lanes logarithm = x / (c * L);
                log_positive(logarithm);
                value.add(L * logarithm);
                fall.add(L * D / x / c);
            }
        };
        run_block(kernel, 0);
        return {value.value() - 2.0 * c * quadratic, fall.value() + 2.0 * quadratic};
    }

    const CoxRisk& risk_;
    // Of rows in their order: v, p, and of those with v_i != 0 that, s_i d_i and s_i; of event
    // times L, and of those with L > 0 that and D.
    Buffer v_{risk_.n_rows()}, p_{risk_.n_rows()}, moved_{risk_.n_rows()}, event_{risk_.n_rows()},
        size_{risk_.n_rows()}, left_{risk_.n_rows()}, some_{risk_.n_rows()},
        deaths_{risk_.n_rows()};
};

inline std::unique_ptr<Dual> CoxRisk::dual(const double* v) const {
    return std::make_unique<CoxDual>(*this, v);
}

}  // namespace zeronorm
