// What bi-level selection selects from: the largest features, by group, largest first.
//
// They are all above one threshold, as many as a solution is likely to need, or all; with their c
// and the sums of c from the first of a group.

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

class BilevelCandidates {
  public:
    // opened: a flag for each group that is in the model anyway; g further ones may be selected.
    BilevelCandidates(const double* v, const std::int64_t* code, std::int64_t p,
                      std::int64_t n_groups, std::int64_t k, std::int64_t g,
                      const std::uint8_t* opened)
        : v_(v), code_(code), opened_(opened), p_(p), n_groups_(n_groups), k_(std::min(k, p)) {
        for (std::int64_t group = 0; group < n_groups; ++group)
            n_opened_ += opened[group] != 0;
        g_ = std::min(g, n_groups - n_opened_);
    }

  protected:
    static constexpr std::int64_t kScanned = 16;  // values compared before any is looked at
    static constexpr std::int64_t kLine = 8;      // values of a cache line
    static constexpr std::int64_t kLines = 1024;  // of them in a sample, at most
    static constexpr std::int64_t kSampled = 16;
    static constexpr double kLargest = std::numeric_limits<double>::max();

    struct Candidate {
        double size;  // |v_j|
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
    static std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }
    static bool before(const Candidate& a, const Candidate& b) {
        return a.size > b.size || (a.size == b.size && a.feature < b.feature);
    }
    std::int64_t group_of(std::int64_t feature) const {
        const std::int64_t group = code_[feature];
        if (group < 0 || group >= n_groups_)
            throw std::out_of_range("code of a group out of range");
        return group;
    }

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
                const double value = std::abs(v_[line * stride + i]);
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
                const double size = std::abs(v[j]);
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
                    x = (Lanes)((LaneBits)x & (~std::uint64_t{0} >> 1));
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
            const double size = std::abs(v_[j]);
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
    }

    double worth(double size) const {
        const double scaled = size * scale_;
        return scaled * scaled;
    }
    // The sum of the largest `count` of a part.
    double sum(const Part& part, std::int64_t count) const {
        return count == 0 ? 0.0 : sums_[at(part.begin + count - 1)];
    }
    // How many of a part, from `low` to `high`, are above a value (or no smaller).
    template <class Above>
    std::int64_t n_above(const Part& part, std::int64_t low, std::int64_t high,
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

    // Puts the k largest features of the chosen groups into `out`, sorted, and returns how many.
    // Sums do not show what rounding hides: groups that are free to come in do so by their own
    // sums.
    std::int64_t finish(const std::vector<std::int64_t>& chosen, std::int64_t* out) const {
        std::vector<std::uint8_t> is_chosen(parts_.size(), 0);
        std::int64_t left = g_;
        for (const std::int64_t i : chosen) {
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

    std::int64_t bad_ = -1;  // a feature that is not finite
    double threshold_ = 0.0;
    std::unique_ptr<Candidate[]> candidates_;
    std::unique_ptr<double[]> worth_, sums_;  // of the candidates, sums from the first of a group
    std::vector<Part> parts_;

  private:
    std::int64_t n_kept_ = 0;
    double scale_ = 1.0;
    std::unique_ptr<Candidate[]> kept_;
};

}  // namespace zeronorm
