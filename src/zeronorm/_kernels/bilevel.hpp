// The best k features in at most g groups: the exact projection of bi-level selection.
//
//     max_S  sum_{j in S} c_j   subject to  |S| <= k,  S in at most g groups beside the opened ones
//
// with c_j = v_j^2. Features with v_j = 0 are never in S. Xiang, Yang and Ye (KDD 2014), Algorithm
// 3, is `by_program`; `by_bound` finds the same value by a Lagrangian bound of the number of
// features, and by the programme only what that leaves open.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "bilevel_candidates.hpp"

namespace zeronorm {

// How many features were selected, or -1 - j where v_j is not finite; and how many groups the
// dynamic programme had to decide about.
struct BilevelAnswer {
    std::int64_t count, undecided;
};

class BilevelSearch : BilevelCandidates {
  public:
    using BilevelCandidates::BilevelCandidates;

    BilevelAnswer by_bound(std::int64_t* out) {
        if (k_ == 0 || g_ + n_opened_ == 0) return {0, 0};
        // As many features as hold k of some g groups if all groups are alike: the best g hold
        // more.
        const double expected = static_cast<double>(k_) * static_cast<double>(n_groups_) /
                                static_cast<double>(g_ + n_opened_);
        const auto limit = static_cast<double>(p_);
        std::int64_t wanted = static_cast<std::int64_t>(std::min(expected, limit)) + 16;
        for (int attempt = 0; attempt < kAttempts && 4 * wanted < p_; ++attempt, wanted *= 4) {
            const bool finite = filter(wanted);
            if (finite) group_up();
            if (!finite) return {-1 - bad_, 0};
            forget();
            if (solve()) return {finish(chosen_, out), undecided_};
        }
        if (!gather(k_)) return {-1 - bad_, 0};
        forget();
        solve();
        return {finish(chosen_, out), undecided_};
    }

    BilevelAnswer by_program(std::int64_t* out) {
        if (k_ == 0 || g_ + n_opened_ == 0) return {0, 0};
        if (!gather(p_)) return {-1 - bad_, 0};
        forget();
        program();
        return {finish(chosen_, out), static_cast<std::int64_t>(parts_.size())};
    }

  private:
    static constexpr int kAttempts = 3, kEvaluations = 60;
    static constexpr double kClosed = 1e-14;  // relative gap: the rounding of the sums
    static constexpr std::int64_t kFew = 24;  // choices that are tried one by one

    // The tangent intercept + lambda * slope of the bound at a lambda.
    struct Tangent {
        double lambda, intercept;
        std::int64_t slope;

        double at(double point) const { return intercept + point * static_cast<double>(slope); }
    };

    // Begins anew with other candidates.
    void forget() {
        chosen_.clear();
        lower_ = -1.0;
        undecided_ = 0;
    }

    // The bound

    // D(lambda) = lambda k + sum of the g largest excesses; the best features of these groups are
    // a solution. Puts the groups of the bound first in order_, the opened ones before.
    Tangent evaluate(double lambda) {
        order_.clear();
        std::int64_t n_opened = 0;
        for (std::int64_t i = 0; i < n_parts(); ++i) {
            Part& part = parts_[at(i)];
            part.above =
                n_above(part, part.fewest, part.most, [&](double c) { return c > lambda; });
            part.excess = sum(part, part.above) - lambda * static_cast<double>(part.above);
            order_.push_back(i);
            if (part.opened) std::swap(order_[at(n_opened++)], order_.back());
        }
        n_selected_ = std::min(n_opened + g_, n_parts());
        std::nth_element(order_.begin() + n_opened, order_.begin() + n_selected_, order_.end(),
                         [&](std::int64_t a, std::int64_t b) {
                             const Part &x = parts_[at(a)], &y = parts_[at(b)];
                             if (x.excess != y.excess) return x.excess > y.excess;
                             const double s = candidates_[at(x.begin)].size,
                                          t = candidates_[at(y.begin)].size;
                             return s > t || (s == t && a < b);
                         });
        Tangent tangent{lambda, 0.0, k_};
        for (std::int64_t i = 0; i < n_selected_; ++i) {
            const Part& part = parts_[at(order_[at(i)])];
            tangent.intercept += sum(part, part.above);
            tangent.slope -= part.above;
        }
        solution(tangent);
        return tangent;
    }

    // The k largest features of the groups of the bound; keeps the groups where that is the best so
    // far. smallest_ is the last feature's c.
    void solution(const Tangent& tangent) {
        heap_.clear();
        double value = tangent.intercept;
        const bool more = tangent.slope > 0;  // to be added, else to be taken away
        const auto later = [&](const auto& a, const auto& b) {
            return more ? a.first < b.first : a.first > b.first;
        };
        for (std::int64_t i = 0; i < n_selected_; ++i) {
            const Part& part = parts_[at(order_[at(i)])];
            const std::int64_t place = part.begin + part.above - (more ? 0 : 1);
            if (place >= part.begin && place < part.end)
                heap_.emplace_back(worth_[at(place)], std::pair{place, order_[at(i)]});
        }
        std::make_heap(heap_.begin(), heap_.end(), later);
        for (std::int64_t left = std::abs(tangent.slope); left > 0 && !heap_.empty(); --left) {
            std::pop_heap(heap_.begin(), heap_.end(), later);
            auto [c, where] = heap_.back();
            heap_.pop_back();
            value += more ? c : -c;
            const Part& part = parts_[at(where.second)];
            where.first += more ? 1 : -1;
            if (where.first >= part.begin && where.first < part.end) {
                heap_.emplace_back(worth_[at(where.first)], where);
                std::push_heap(heap_.begin(), heap_.end(), later);
            }
        }
        smallest_ = !more && !heap_.empty() ? heap_.front().first : 0.0;
        if (value > lower_) {
            lower_ = value;
            chosen_.assign(order_.begin(), order_.begin() + n_selected_);
        }
    }

    bool closed(double upper) const { return upper - lower_ <= kClosed * lower_; }

    // Finds the best groups among the candidates; false where features below the threshold could
    // belong to a better solution.
    bool solve() {
        if (parts_.empty()) return threshold_ == 0.0;
        const bool complete = threshold_ == 0.0;
        const double least = worth(threshold_);
        Tangent left = evaluate(least);
        const double first = smallest_;
        double upper = left.at(least);
        if (closed(upper) || left.slope >= 0) return complete || (closed(upper) && is_full());
        for (Part& part : parts_)
            part.most = part.above;
        double largest = 0.0;
        for (const Part& part : parts_)
            largest = std::max(largest, worth_[at(part.begin)]);
        Tangent right{largest, 0.0, k_};
        double best = least, lambda = first;
        if (right.at(largest) < upper) {
            upper = right.at(largest);
            best = largest;
            if (closed(upper)) return complete || is_full();
        }
        for (int i = 0; i < kEvaluations && lambda > left.lambda && lambda < right.lambda; ++i) {
            const Tangent tangent = evaluate(lambda);
            if (tangent.at(lambda) < upper) {
                upper = tangent.at(lambda);
                best = lambda;
            }
            if (closed(upper)) return complete || is_full();
            for (Part& part : parts_)
                (tangent.slope < 0 ? part.most : part.fewest) = part.above;
            (tangent.slope < 0 ? left : right) = tangent;
            lambda =
                (left.intercept - right.intercept) / static_cast<double>(right.slope - left.slope);
            if (left.at(lambda) >= upper) break;
        }
        return decide(best, least, complete);
    }

    // Whether the solution has k features; with fewer, ones below the threshold would come in.
    bool is_full() const {
        std::int64_t size = 0;
        for (const std::int64_t i : chosen_)
            size += parts_[at(i)].size();
        return size >= k_;
    }

    // What the bound leaves open

    // Looks for solutions better than the best one so far. At the lambda of the smallest bound,
    // none has a feature by a gap smaller than lambda, lacks one by a gap larger in a group of its
    // own, or has or lacks a group against its excess by a gap.
    bool decide(double lambda, double least, bool complete) {
        const Tangent tangent = evaluate(lambda);
        const double gap = tangent.at(lambda) - lower_ + kClosed * lower_;
        if (!complete && lambda - gap < least) return false;
        double weakest = std::numeric_limits<double>::infinity(), strongest = 0.0;
        std::int64_t n_free = 0;
        for (std::int64_t i = 0; i < n_parts(); ++i) {
            const Part& part = parts_[at(order_[at(i)])];
            if (i >= n_selected_) {
                strongest = std::max(strongest, part.excess);
            } else if (!part.opened) {
                weakest = std::min(weakest, part.excess);
                ++n_free;
            }
        }
        if (n_free < g_) weakest = 0.0;
        std::vector<std::int64_t> fixed, open;
        for (std::int64_t i = 0; i < n_parts(); ++i) {
            Part& part = parts_[at(order_[at(i)])];
            part.fewest =
                n_above(part, 0, part.size(), [&](double c) { return c >= lambda + gap; });
            part.most = n_above(part, 0, part.size(), [&](double c) { return c > lambda - gap; });
            if (part.opened || (i < n_selected_ && part.excess - strongest >= gap))
                fixed.push_back(order_[at(i)]);
            else if (part.most > 0 && (i < n_selected_ || weakest - part.excess < gap))
                open.push_back(order_[at(i)]);
        }
        std::sort(open.begin(), open.end());
        undecided_ = static_cast<std::int64_t>(open.size());
        if (!open.empty()) enumerate(fixed, open);
        return complete || is_full();
    }

    // The dynamic programme on the undecided groups, from the best features of the fixed ones.
    void enumerate(const std::vector<std::int64_t>& fixed, const std::vector<std::int64_t>& open) {
        std::int64_t room = k_, rest = g_;
        double value = 0.0;
        std::vector<double> pool;
        for (const std::int64_t i : fixed) {
            const Part& part = parts_[at(i)];
            room -= part.fewest;
            rest -= !part.opened;
            value += sum(part, part.fewest);
            pool.insert(pool.end(), worth_.get() + part.begin + part.fewest,
                        worth_.get() + part.begin + part.most);
        }
        if (room < 0) return;
        rest = std::min(rest, undecided_);
        std::sort(pool.begin(), pool.end(), std::greater<>());
        // best[j * width + q]: at most j of the groups so far, at most q features.
        const std::int64_t width = room + 1;
        std::vector<double> best(at((rest + 1) * width));
        for (std::int64_t q = 0; q < width; ++q) {
            if (q > 0 && q <= static_cast<std::int64_t>(pool.size())) value += pool[at(q - 1)];
            for (std::int64_t j = 0; j <= rest; ++j)
                best[at(j * width + q)] = value;
        }
        std::vector<std::int32_t> taken(at(undecided_ * rest * width), 0);
        for (std::int64_t i = 0; i < undecided_; ++i) {
            const Part& part = parts_[at(open[at(i)])];
            const std::int64_t fewest = std::max<std::int64_t>(part.fewest, 1);
            if (fewest > room) continue;
            for (std::int64_t j = rest; j >= 1; --j) {
                const double* const from = best.data() + (j - 1) * width;
                double* const to = best.data() + j * width;
                std::int32_t* const row = taken.data() + (i * rest + j - 1) * width;
                if (part.most - fewest <= kFew)
                    for (std::int64_t q = fewest; q <= room; ++q)
                        choose(part, fewest, from, to, row, q, 0, q);
                else
                    divide(part, fewest, from, to, row, fewest, room, 0, room);
            }
        }
        if (best.back() <= lower_) return;
        lower_ = best.back();
        chosen_ = fixed;
        std::int64_t j = rest, q = room;
        for (std::int64_t i = undecided_ - 1; i >= 0 && j > 0; --i) {
            const std::int64_t count = taken[at((i * rest + j - 1) * width + q)];
            if (count == 0) continue;
            chosen_.push_back(open[at(i)]);
            --j;
            q -= count;
        }
    }

    // The best number of features of a group for q in all, leaving `low` to `high` to the others;
    // returns how many it leaves.
    std::int64_t choose(const Part& part, std::int64_t fewest, const double* from, double* to,
                        std::int32_t* taken, std::int64_t q, std::int64_t low,
                        std::int64_t high) const {
        low = std::max({low, q - part.most, std::int64_t{0}});
        high = std::min(high, q - fewest);
        std::int64_t others = low;
        double value = -1.0;
        for (std::int64_t left = low; left <= high; ++left) {
            const double total = from[left] + sum(part, q - left);
            if (total > value) {
                value = total;
                others = left;
            }
        }
        if (value > to[q]) {
            to[q] = value;
            taken[q] = static_cast<std::int32_t>(q - others);
        }
        return others;
    }

    // `choose` for all q of an interval: the sums are concave, so that more features in all never
    // leave fewer to the others.
    void divide(const Part& part, std::int64_t fewest, const double* from, double* to,
                std::int32_t* taken, std::int64_t first, std::int64_t last, std::int64_t low,
                std::int64_t high) const {
        if (first > last) return;
        const std::int64_t middle = first + (last - first) / 2;
        const std::int64_t others = choose(part, fewest, from, to, taken, middle, low, high);
        divide(part, fewest, from, to, taken, first, middle - 1, low, others);
        divide(part, fewest, from, to, taken, middle + 1, last, others, high);
    }

    // Algorithm 3: T(i, j, q) for all groups, then back. Opened groups take no place among the j.
    void program() {
        const std::int64_t width = k_ + 1, layer = (g_ + 1) * width;
        std::vector<double> before(at(layer), 0.0), now(at(layer));
        std::vector<std::int32_t> taken(at(n_parts() * layer), 0);
        for (std::int64_t i = 0; i < n_parts(); ++i) {
            const Part& part = parts_[at(i)];
            const double* const sums = sums_.get() + part.begin;
            now = before;
            const std::int64_t used = part.opened ? 0 : 1;
            for (std::int64_t j = used; j <= g_; ++j) {
                const double* const from = before.data() + (j - used) * width;
                for (std::int64_t q = 1; q <= k_; ++q) {
                    double best = from[q + used * width];
                    std::int64_t count = 0;
                    const std::int64_t most = std::min(q, part.size());
                    for (std::int64_t t = 1; t <= most; ++t) {
                        const double value = from[q - t] + sums[t - 1];
                        if (value > best) {
                            best = value;
                            count = t;
                        }
                    }
                    now[at(j * width + q)] = best;
                    taken[at(i * layer + j * width + q)] = static_cast<std::int32_t>(count);
                }
            }
            std::swap(before, now);
        }
        std::int64_t j = g_, q = k_;
        for (std::int64_t i = n_parts() - 1; i >= 0; --i) {
            const std::int64_t count = taken[at(i * layer + j * width + q)];
            if (count == 0) continue;
            chosen_.push_back(i);
            if (!parts_[at(i)].opened) --j;
            q -= count;
        }
    }

    std::int64_t n_selected_ = 0, undecided_ = 0;
    double lower_ = -1.0, smallest_ = 0.0;
    std::vector<std::int64_t> order_, chosen_;
    std::vector<std::pair<double, std::pair<std::int64_t, std::int64_t>>> heap_;
};

}  // namespace zeronorm
