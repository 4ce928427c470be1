// Most violated labellings of measures, from sorted scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace zeronorm {

// Numbers of positives and of negatives that are labelled positive.
struct Labelling {
    std::int64_t a, b;
};

// Maximises 100 (1 - (1 + beta^2) a / (a + b + beta^2 n_pos)) + 2 P(a) + 2 N(b), P(a) and N(b) the
// sums of the a and b largest scores, in O(n): for a fixed s = a + b the loss is linear in a, and
// the best a never falls with s. Scores are in growing order.
inline Labelling f_labelling(const double* positive, std::int64_t n_pos, const double* negative,
                             std::int64_t n_neg, double beta) {
    const double square = beta * beta;
    const double offset = square * static_cast<double>(n_pos);
    const double* const p = positive + n_pos - 1;  // p[-a]: the (a + 1)-th largest
    const double* const n = negative + n_neg - 1;
    std::int64_t a = 0, b = 0;
    double value = 0.0, best = -std::numeric_limits<double>::infinity();
    Labelling answer{0, 0};
    for (std::int64_t s = 0; s <= n_pos + n_neg; ++s) {
        if (s > 0) value += b < n_neg ? n[-b++] : p[-a++];
        const double kappa = 100.0 * (1.0 + square) / (static_cast<double>(s) + offset);
        while (a < n_pos && b > 0 && 2.0 * (p[-a] - n[1 - b]) > kappa)
            value += p[-a++] - n[1 - b--];
        const double total = 100.0 - kappa * static_cast<double>(a) + 2.0 * value;
        if (total > best) {
            best = total;
            answer = {a, b};
        }
    }
    return answer;
}

// Puts into `places`, for every negative, how many positives the worst ranking of average precision
// puts above it. Scores are in falling order. The place o of the j-th negative (j = 1, 2, ...) is
// the first that maximises
//
//     sum_{i > o} 100/n_pos (j/(j+i) - (j-1)/(j+i-1)) - 200/(n_pos n_neg) (v_i - v_j).
//
// Places grow with j, as every term falls with j: halving the negatives halves the places that are
// left, O(n log n) in all. Sums over i are differences of harmonic numbers and of prefix sums.
inline void ap_places(const double* positive, std::int64_t n_pos, const double* negative,
                      std::int64_t n_neg, std::int64_t* places) {
    std::vector<double> harmonic(static_cast<std::size_t>(n_pos + n_neg + 1));
    std::vector<double> above(static_cast<std::size_t>(n_pos + 1));
    for (std::size_t i = 1; i < harmonic.size(); ++i)
        harmonic[i] = harmonic[i - 1] + 1.0 / static_cast<double>(i);
    for (std::size_t i = 1; i < above.size(); ++i)
        above[i] = above[i - 1] + positive[i - 1];
    const double* const h = harmonic.data();
    const double* const sums = above.data();
    const double pair = 2.0 / static_cast<double>(n_neg);  // 200/(n_pos n_neg) over 100/n_pos
    struct Range {
        std::int64_t first, last, low, high;
    };
    std::vector<Range> waiting{{0, n_neg, 0, n_pos}};
    while (!waiting.empty()) {
        const Range range = waiting.back();
        waiting.pop_back();
        if (range.first >= range.last) continue;
        const std::int64_t middle = range.first + (range.last - range.first) / 2;
        const std::int64_t j = middle + 1;
        const auto later = static_cast<double>(j), before = static_cast<double>(j - 1);
        const double score = negative[middle];
        double most = -std::numeric_limits<double>::infinity();
        std::int64_t best = range.low;
        for (std::int64_t o = range.low; o <= range.high; ++o) {
            const double value =
                later * (h[j + n_pos] - h[j + o]) - before * (h[j - 1 + n_pos] - h[j - 1 + o]) -
                pair * ((sums[n_pos] - sums[o]) - static_cast<double>(n_pos - o) * score);
            if (value > most) {
                most = value;
                best = o;
            }
        }
        places[middle] = best;
        waiting.push_back({range.first, middle, range.low, best});
        waiting.push_back({middle + 1, range.last, best, range.high});
    }
}

}  // namespace zeronorm
