// The best k features in at most g groups: the exact projection of bi-level selection.
//
//     max_S  sum_{j in S} c_j   subject to  |S| <= k,  S in at most g groups beside the opened ones
//
// with c_j = v_j^2, or c_j = v_j of scores. Features with v_j = 0 (scores: v_j <= 0) are never in
// S. Xiang, Yang and Ye (KDD 2014), Algorithm 3, is `by_program`; `by_bound` finds the same value
// by a Lagrangian bound of the number of features, and by the programme only what that leaves open.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lanes.hpp"
#include "memory.hpp"
#include "parallel.hpp"

namespace zeronorm {

// How many features were selected, or -1 - j where v_j is not finite; and how many groups the
// dynamic programme had to decide about.
struct BilevelAnswer {
    std::int64_t count, undecided;
};

template <bool Squares>
class BilevelSearch {
  public:
    // opened: a flag for each group that is in the model anyway; g further ones may be selected.
    BilevelSearch(const double* v, const std::int64_t* code, std::int64_t p, std::int64_t n_groups,
                  std::int64_t k, std::int64_t g, const std::uint8_t* opened)
        : v_(v), code_(code), opened_(opened), p_(p), n_groups_(n_groups), k_(std::min(k, p)) {
        for (std::int64_t group = 0; group < n_groups; ++group)
            n_opened_ += opened[group] != 0;
        g_ = std::min(g, n_groups - n_opened_);
    }

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
            if (solve()) return {finish(out), undecided_};
        }
        if (!gather(k_)) return {-1 - bad_, 0};
        solve();
        return {finish(out), undecided_};
    }

    BilevelAnswer by_program(std::int64_t* out) {
        if (k_ == 0 || g_ + n_opened_ == 0) return {0, 0};
        if (!gather(p_)) return {-1 - bad_, 0};
        program();
        return {finish(out), static_cast<std::int64_t>(parts_.size())};
    }

  private:
    static constexpr std::int64_t kScanned = 16;  // values compared before any is looked at
    static constexpr std::int64_t kLine = 8;      // values of a cache line
    static constexpr std::int64_t kLines = 1024;  // of them in a sample, at most
    static constexpr std::int64_t kSampled = 16;
    static constexpr int kAttempts = 3, kEvaluations = 60;
    static constexpr double kClosed = 1e-14;  // relative gap: the rounding of the sums
    static constexpr std::int64_t kFew = 24;  // choices that are tried one by one
    static constexpr double kLargest = std::numeric_limits<double>::max();

    struct Candidate {
        double size;  // |v_j|, of scores v_j
        std::int64_t feature;
    };
    // The candidates of a group, largest first, ties by the smaller index: from `begin` to `end`.
    struct Part {
        std::int64_t group, begin, end;
        bool opened;
        // At the last lambda: features above it and the sum of their excesses; and numbers of
        // features that can only grow fewer or more within the bracket of lambda.
        std::int64_t above = 0, fewest = 0, most = 0;
        double excess = 0.0;

        std::int64_t size() const { return end - begin; }
    };
    // The tangent intercept + lambda * slope of the bound at a lambda.
    struct Tangent {
        double lambda, intercept;
        std::int64_t slope;

        double at(double point) const { return intercept + point * static_cast<double>(slope); }
    };

    static std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }
    static ZERONORM_INLINE double magnitude(double x) { return Squares ? std::abs(x) : x; }
    static bool before(const Candidate& a, const Candidate& b) {
        return a.size > b.size || (a.size == b.size && a.feature < b.feature);
    }
    std::int64_t group_of(std::int64_t feature) const {
        const std::int64_t group = code_[feature];
        if (group < 0 || group >= n_groups_)
            throw std::out_of_range("code of a group out of range");
        return group;
    }

    // Candidates: by one threshold for all, or by group

    // Keeps all features larger than a threshold, `wanted` or up to twice as many where there are
    // so many; false where one is not finite.
    bool filter(std::int64_t wanted) {
        kept_ = allocate<Candidate>(at(2 * wanted + 2 * kScanned));
        threshold_ = sampled(wanted);
        if (!scan(wanted)) return false;
        if (n_kept_ < wanted && threshold_ > 0.0) {  // the sample was not like the rest
            threshold_ = 0.0;
            return scan(wanted);
        }
        return true;
    }

    // A size that somewhat more than `wanted` features exceed, by those in some cache lines.
    double sampled(std::int64_t wanted) const {
        // So many lines that about kSampled of their values are among those wanted.
        const std::int64_t needed = kSampled * (p_ / wanted) / kLine;
        const std::int64_t lines = std::min({kLines, needed, p_ / (16 * kLine)});
        if (lines == 0) return 0.0;
        const std::int64_t stride = p_ / lines, size = lines * kLine;
        std::vector<double> sample;
        sample.reserve(at(size));
        for (std::int64_t line = 0; line < lines; ++line)
            for (std::int64_t i = 0; i < kLine; ++i) {
                const double value = magnitude(v_[line * stride + i]);
                sample.push_back(value > 0.0 ? value : 0.0);  // NaN has no order
            }
        const double expected =
            static_cast<double>(wanted) * static_cast<double>(size) / static_cast<double>(p_);
        const double rank = 1.25 * expected + 2.0 * std::sqrt(expected) + 2.0;
        if (rank >= static_cast<double>(size)) return 0.0;
        const auto cut = sample.begin() + static_cast<std::ptrdiff_t>(rank);
        std::nth_element(sample.begin(), cut, sample.end(), std::greater<>());
        return std::min(*cut, kLargest);
    }

    bool scan(std::int64_t wanted) {
        n_kept_ = 0;
        std::int64_t place = 0;
        while (scan_on(place, 2 * wanted) && place < p_) {
            Candidate* const last = kept_.get() + wanted - 1;
            std::nth_element(kept_.get(), last, kept_.get() + n_kept_, before);
            threshold_ = last->size;
            n_kept_ = wanted;
        }
        return bad_ < 0;
    }

    // Reads on from `place`, until more than `limit` are kept; false where one is not finite.
    bool scan_on(std::int64_t& place, std::int64_t limit) {
        const double* const v = v_;
        const double threshold = threshold_;
        Candidate* const kept = kept_.get();
        std::int64_t next = place, count = n_kept_;
        const auto keep = [&](std::int64_t from, std::int64_t to) ZERONORM_INLINE_LAMBDA {
            const std::int64_t first = count;
            for (std::int64_t j = from; j < to; ++j) {
                const double size = magnitude(v[j]);
                kept[count] = {size, j};
                count += !(size <= threshold);  // NaN is kept
            }
            for (std::int64_t i = first; i < count; ++i)
                if (!(kept[i].size <= kLargest)) {
                    bad_ = kept[i].feature;
                    return false;
                }
            return true;
        };
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (; next + kScanned <= p_ && count <= limit; next += kScanned) {
                LaneBits within = ~LaneBits{};
                for (std::int64_t i = 0; i < kScanned; i += kLaneCount) {
                    Lanes x;
                    load(v + next + i, x);
                    if constexpr (Squares) x = (Lanes)((LaneBits)x & (~std::uint64_t{0} >> 1));
                    within &= (LaneBits)(x <= threshold);
                }
                if ((within[0] & within[1] & within[2] & within[3]) != 0) continue;
                if (!keep(next, next + kScanned)) return;
            }
        };
        run_block(kernel, 0);
        if (bad_ < 0 && count <= limit && next < p_) {
            keep(next, p_);
            next = p_;
        }
        place = next;
        n_kept_ = count;
        return bad_ < 0;
    }

    // Sorts what the filter kept by group.
    void group_up() {
        std::vector<std::int64_t> group(at(n_kept_)), start(at(n_groups_ + 1), 0);
        for (std::int64_t i = 0; i < n_kept_; ++i) {
            group[at(i)] = group_of(kept_[at(i)].feature);
            ++start[at(group[at(i)] + 1)];
        }
        for (std::int64_t i = 0; i < n_groups_; ++i)
            start[at(i + 1)] += start[at(i)];
        candidates_ = allocate<Candidate>(at(n_kept_));
        std::vector<std::int64_t> end(start.begin(), start.end() - 1);
        for (std::int64_t i = 0; i < n_kept_; ++i)
            candidates_[at(end[at(group[at(i)])]++)] = kept_[at(i)];
        arrange(start, end, k_);
    }

    // All candidates, of each group only the `most` largest ones or up to twice as many; false
    // where one is not finite.
    bool gather(std::int64_t most) {
        threshold_ = 0.0;
        std::vector<std::int64_t> start(at(n_groups_ + 1), 0);
        for (std::int64_t j = 0; j < p_; ++j)
            ++start[at(group_of(j) + 1)];
        for (std::int64_t i = 0; i < n_groups_; ++i)
            start[at(i + 1)] = start[at(i)] + std::min(start[at(i + 1)], 2 * most);
        candidates_ = allocate<Candidate>(at(start.back()));
        std::vector<std::int64_t> end(start.begin(), start.end() - 1);
        std::vector<double> least(at(n_groups_), 0.0);
        for (std::int64_t j = 0; j < p_; ++j) {
            const double size = magnitude(v_[j]);
            const std::size_t group = at(code_[j]);
            if (size <= least[group]) continue;
            if (!(size <= kLargest)) {
                bad_ = j;
                return false;
            }
            if (end[group] == start[group + 1]) {  // full: 2 * most
                Candidate* const first = candidates_.get() + start[group];
                std::nth_element(first, first + most - 1, candidates_.get() + end[group], before);
                end[group] = start[group] + most;
                least[group] = first[most - 1].size;
                if (size <= least[group]) continue;
            }
            candidates_[at(end[group]++)] = {size, j};
        }
        arrange(start, end, most);
        return true;
    }

    // Makes the parts, of groups with candidates, at most `most` in each; their c and sums of c.
    void arrange(const std::vector<std::int64_t>& start, const std::vector<std::int64_t>& end,
                 std::int64_t most) {
        parts_.clear();
        double largest = 0.0;
        for (std::int64_t group = 0; group < n_groups_; ++group) {
            const std::int64_t size = end[at(group)] - start[at(group)];
            if (size == 0) continue;
            Candidate *const first = candidates_.get() + start[at(group)], *last = first + size;
            if (size > most) {
                std::nth_element(first, first + most, last, before);
                last = first + most;
            }
            std::sort(first, last, before);
            largest = std::max(largest, first->size);
            parts_.push_back(
                {group, start[at(group)], start[at(group)] + (last - first), opened_[group] != 0});
        }
        // A power of two: exact, and the largest c is between 1/4 and 4.
        int exponent = 0;
        static_cast<void>(std::frexp(largest, &exponent));
        scale_ = std::ldexp(1.0, std::clamp(-exponent, -1022, 1022));
        const std::size_t total = parts_.empty() ? 0 : at(parts_.back().end);
        worth_ = allocate<double>(total);
        sums_ = allocate<double>(total);
        for (Part& part : parts_) {
            double sum = 0.0;
            for (std::int64_t i = part.begin; i < part.end; ++i) {
                worth_[at(i)] = worth(candidates_[at(i)].size);
                sums_[at(i)] = sum += worth_[at(i)];
            }
            part.most = part.size();
        }
        chosen_.clear();
        lower_ = -1.0;
        undecided_ = 0;
    }

    double worth(double size) const {
        const double scaled = size * scale_;
        return Squares ? scaled * scaled : scaled;
    }
    // The sum of the largest `count` of a part.
    double sum(const Part& part, std::int64_t count) const {
        return count == 0 ? 0.0 : sums_[at(part.begin + count - 1)];
    }
    // How many of a part, from `low` to `high`, are above a value (or no smaller).
    template <class Above>
    std::int64_t count(const Part& part, std::int64_t low, std::int64_t high,
                       const Above& above) const {
        while (low < high) {
            const std::int64_t middle = low + (high - low) / 2;
            if (above(worth_[at(part.begin + middle)]))
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    // The bound

    // D(lambda) = lambda k + sum of the g largest excesses; the best features of these groups are
    // a solution. Puts the groups of the bound first in order_, the opened ones before.
    Tangent evaluate(double lambda) {
        order_.clear();
        std::int64_t n_opened = 0;
        for (std::int64_t i = 0; i < n_parts(); ++i) {
            Part& part = parts_[at(i)];
            part.above = count(part, part.fewest, part.most, [&](double c) { return c > lambda; });
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
            part.fewest = count(part, 0, part.size(), [&](double c) { return c >= lambda + gap; });
            part.most = count(part, 0, part.size(), [&](double c) { return c > lambda - gap; });
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

    // Puts the k largest features of the chosen groups into `out`, sorted, and returns how many.
    // Sums do not show what rounding hides: groups that are free to come in do so by their own
    // sums.
    std::int64_t finish(std::int64_t* out) {
        std::vector<std::uint8_t> is_chosen(parts_.size(), 0);
        std::int64_t left = g_;
        for (const std::int64_t i : chosen_) {
            is_chosen[at(i)] = 1;
            left -= !parts_[at(i)].opened;
        }
        std::vector<std::int64_t> others;
        for (std::int64_t i = 0; i < n_parts(); ++i)
            if (parts_[at(i)].opened)
                is_chosen[at(i)] = 1;
            else if (!is_chosen[at(i)])
                others.push_back(i);
        left = std::min(left, static_cast<std::int64_t>(others.size()));
        if (left > 0) {
            const auto better = [&](std::int64_t a, std::int64_t b) {
                const Part &x = parts_[at(a)], &y = parts_[at(b)];
                const double s = sum(x, std::min(k_, x.size())), t = sum(y, std::min(k_, y.size()));
                if (s != t) return s > t;
                return before(candidates_[at(x.begin)], candidates_[at(y.begin)]);
            };
            std::nth_element(others.begin(), others.begin() + left - 1, others.end(), better);
            for (std::int64_t i = 0; i < left; ++i)
                is_chosen[at(others[at(i)])] = 1;
        }
        std::vector<Candidate> found;
        for (std::int64_t i = 0; i < n_parts(); ++i) {
            const Part& part = parts_[at(i)];
            if (!is_chosen[at(i)]) continue;
            found.insert(found.end(), candidates_.get() + part.begin,
                         candidates_.get() + part.begin + std::min(part.size(), k_));
        }
        const std::int64_t size = std::min(k_, static_cast<std::int64_t>(found.size()));
        std::nth_element(found.begin(), found.begin() + size, found.end(), before);
        for (std::int64_t i = 0; i < size; ++i)
            out[i] = found[at(i)].feature;
        std::sort(out, out + size);
        return size;
    }

    std::int64_t n_parts() const { return static_cast<std::int64_t>(parts_.size()); }

    const double* v_;
    const std::int64_t* code_;
    const std::uint8_t* opened_;
    std::int64_t p_, n_groups_, k_, g_ = 0, n_opened_ = 0;

    std::int64_t bad_ = -1, n_kept_ = 0, n_selected_ = 0, undecided_ = 0;
    double threshold_ = 0.0, scale_ = 1.0, lower_ = -1.0, smallest_ = 0.0;
    std::unique_ptr<Candidate[]> kept_, candidates_;
    std::unique_ptr<double[]> worth_, sums_;  // of the candidates, sums from the first of a group
    std::vector<Part> parts_;
    std::vector<std::int64_t> order_, chosen_;
    std::vector<std::pair<double, std::pair<std::int64_t, std::int64_t>>> heap_;
};

}  // namespace zeronorm
