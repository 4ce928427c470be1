// One sweep of smoothing coordinate descent on the dual of the inner minimax problem, for the
// logistic loss alone.
//
// The unknowns are 0 < alpha_i < w_i; the objective, for blocks t and the smoothing parameter q, is
//
//     1/q log sum_t exp(q s_t) + sum_i alpha_i log alpha_i + (w_i - alpha_i) log(w_i - alpha_i),
//     s_t = 1/2 ||c_t||^2,   c_t = sum_i alpha_i x_it,
//
// where x_it is row i on the features of block t, times its label. A step on coordinate i adds z to
// alpha_i; then s_t becomes s_t + z (b_t + a_t z / 2) with a_t = ||x_it||^2 and b_t = x_it'c_t.
// alpha_i and w_i - alpha_i are kept apart, so that neither is lost to cancellation.
//
// Source: Tan, Tsang and Wang, IEEE TNNLS 24(10), 2013, Algorithms 2 and 3; the safeguards of the
// root search (a test of progress, a step in log Z, bisection in log Z) are not in the paper.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lanes.hpp"
#include "parallel.hpp"

namespace zeronorm {

// The blocks along one coordinate: levels s_t(z), their slopes and softmax weights. Groups is the
// number of their groups of kLaneCount where the compiler is to know it, else 0.
template <int Groups>
class SmoothedMaximum {
  public:
    SmoothedMaximum(std::int64_t n_blocks, double q)
        : n_(n_blocks), q_(q), slope_(size()), trial_(size()), weight_(size()) {}

    ZERONORM_INLINE double* slope() { return slope_.data(); }  // b_t, filled by the caller

    // Evaluates all at a step z from the levels s; `a` are the curvatures a_t.
    ZERONORM_INLINE void evaluate(const double* s, const double* a, double z) {
        Lanes top = Lanes{} - std::numeric_limits<double>::infinity();
        for (std::int64_t t = 0; t < n_blocks(); t += kLaneCount) {
            Lanes level, b, bend;
            load(s + t, level);
            load(slope_.data() + t, b);
            load(a + t, bend);
            level += z * (b + (0.5 * z) * bend);
            store(level, trial_.data() + t);
            top = level > top ? level : top;
        }
        const double best = zeronorm::maximum(top);
        for (std::int64_t t = 0; t < n_blocks(); t += kLaneCount) {
            Lanes weight;
            load(trial_.data() + t, weight);
            weight = q_ * (weight - best);
            exponential(weight);
            store(weight, weight_.data() + t);
        }
        average(a, z);
    }
    // Slope and curvature at z with the weights of the last evaluation.
    ZERONORM_INLINE void average(const double* a, double z) {
        Lanes total{}, first{}, second{}, bend{};
        for (std::int64_t t = 0; t < n_blocks(); t += kLaneCount) {
            Lanes weight, g, curved;
            load(weight_.data() + t, weight);
            load(slope_.data() + t, g);
            load(a + t, curved);
            g += z * curved;
            total += weight;
            bend += weight * curved;
            weight *= g;
            first += weight;
            second += weight * g;
        }
        const double inverse = 1.0 / sum(total);
        part = sum(first) * inverse;
        const double variance = std::max(0.0, sum(second) * inverse - part * part);
        curvature = sum(bend) * inverse + q_ * variance;
    }
    // Writes the levels of the last evaluation to s.
    ZERONORM_INLINE void levels(double* s) const {
        for (std::int64_t t = 0; t < n_blocks(); t += kLaneCount) {
            Lanes level;
            load(trial_.data() + t, level);
            store(level, s + t);
        }
    }

    double part = 0.0;       // sum_t lambda_t (b_t + a_t z)
    double curvature = 0.0;  // its derivative in z

  private:
    ZERONORM_INLINE std::int64_t n_blocks() const { return Groups > 0 ? Groups * kLaneCount : n_; }
    std::size_t size() const { return static_cast<std::size_t>(n_); }

    std::int64_t n_;
    double q_;
    std::vector<double> slope_, trial_, weight_;
};

// What a root search ended with: the unknown, within its bracket, and the work.
struct Root {
    double low, high;
    bool lower;  // the unknown Z is alpha (true) or w - alpha (false), the smaller of the two
    std::int64_t n_evaluations;
};

// Newton-bisection (Algorithm 3) on the derivative of the objective along one coordinate,
//     log((alpha + z) / (rest - z)) + sum_t lambda_t(z) (b_t + a_t z),
// which increases from -inf to inf. Changes alpha and rest; `maximum` is left at the new point.
// Stops where |derivative| <= max(accuracy, ratio * |derivative at the start|). `maximum` has to
// hold the weights at z = 0 and the slopes b.
template <int Groups>
ZERONORM_INLINE Root newton_bisection(SmoothedMaximum<Groups>& maximum, const double* s,
                                      const double* a, double w, double accuracy, double ratio,
                                      double& alpha, double& rest) {
    const double least = std::max(1e-300 * w, std::numeric_limits<double>::min());
    const double c1 = alpha, c2 = rest, middle = 0.5 * w;
    Root root{0.0, middle, c1 <= c2, 0};
    double Z = std::min(c1, c2), sign = root.lower ? 1.0 : -1.0;
    maximum.average(a, 0.0);
    double G = sign * (std::log(c1 / c2) + maximum.part);
    double bend = w / c1 / c2 + maximum.curvature;
    if (std::abs(G) <= accuracy) {
        root.low = root.high = Z;
        return root;
    }
    const double goal = std::max(accuracy, ratio * std::abs(G));
    double previous = std::numeric_limits<double>::infinity();
    bool closed = false;  // whether the derivative is known to be positive at root.high
    while (root.n_evaluations < 1000) {
        (G > 0.0 ? root.high : root.low) = Z;
        closed = closed || G > 0.0;
        double next = Z - G / bend;
        if (!(next > root.low && next < root.high)) next = Z * std::exp(-G / (Z * bend));
        if (!(next > root.low && next < root.high) || std::abs(G) > 0.5 * previous) {
            if (!closed)
                next = middle;
            else if (root.low > 0.0)
                next = root.high > 4.0 * root.low ? std::sqrt(root.low) * std::sqrt(root.high)
                                                  : 0.5 * (root.low + root.high);
            else
                next = root.high * std::min(0.1, root.high / w);  // doubles log Z
        }
        previous = std::abs(G);
        Z = std::max(next, least);
        maximum.evaluate(s, a, root.lower ? Z - c1 : c2 - Z);
        ++root.n_evaluations;
        const double other = w - Z;
        G = std::log(Z / other) + sign * maximum.part;
        bend = w / Z / other + maximum.curvature;
        if (!closed && Z >= middle && G < 0.0) {  // the other part is the smaller one
            root = {0.0, middle, !root.lower, root.n_evaluations};
            sign = -sign;
            G = -G;
            previous = std::numeric_limits<double>::infinity();
        }
        // Neighbouring numbers can be that far apart: a smaller distance is never reached.
        const double spacing = std::numeric_limits<double>::epsilon() * root.high;
        if (std::abs(G) <= goal || root.high - root.low <= spacing) break;
        if (G > 0.0 && Z <= least) break;  // the root is out of reach
    }
    (G > 0.0 ? root.high : root.low) = Z;
    alpha = root.lower ? Z : w - Z;
    rest = root.lower ? w - Z : Z;
    return root;
}

// The rows of a dense matrix on the features of every block. Blocks come in groups of kLaneCount,
// and group g has the entries starts[g] to starts[g + 1]: the first feature of each of its blocks,
// then the second of each, and so on, 0 beyond the end of a shorter block.
template <class T>
struct DenseRows {
    const T* data;
    const std::int64_t* starts;
    std::int64_t n_groups;

    std::int64_t n_blocks() const { return n_groups * kLaneCount; }
    std::int64_t width() const { return starts[n_groups]; }
    ZERONORM_INLINE void prefetch_row(std::int64_t i) const {
        const std::int64_t bytes = width() * static_cast<std::int64_t>(sizeof(T));
        for (std::int64_t b = 0; b < bytes; b += 64)
            prefetch(data + i * width(), b);
    }
    // b_t = x_it'c_t
    ZERONORM_INLINE void dot(std::int64_t i, const double* c, double* b) const {
        const T* const row = data + i * width();
        for (std::int64_t g = 0; g < n_groups; ++g) {
            constexpr int chains = 4;  // sums that do not wait for each other
            Lanes part[chains] = {}, x, y;
            std::int64_t e = starts[g];
            for (; e + chains * kLaneCount <= starts[g + 1]; e += chains * kLaneCount)
                for (int k = 0; k < chains; ++k) {
                    load(row + e + k * kLaneCount, x);
                    load(c + e + k * kLaneCount, y);
                    part[k] += x * y;
                }
            for (; e < starts[g + 1]; e += kLaneCount) {
                load(row + e, x);
                load(c + e, y);
                part[0] += x * y;
            }
            store((part[0] + part[1]) + (part[2] + part[3]), b + g * kLaneCount);
        }
    }
    // c_t += z x_it
    ZERONORM_INLINE void add(std::int64_t i, double z, double* c) const {
        const std::int64_t end = width();
        const T* const row = data + i * end;
        for (std::int64_t e = 0; e < end; e += kLaneCount) {
            Lanes x, y;
            load(row + e, x);
            load(c + e, y);
            y += z * x;
            store(y, c + e);
        }
    }
};

// The same for a matrix in CSR, one column for every feature of every block; block[e] is the block
// of column e.
template <class I>
struct SparseRows {
    const I* indptr;
    const std::int32_t* indices;
    const double* data;
    const std::int32_t* block;
    std::int64_t n_groups;

    std::int64_t n_blocks() const { return n_groups * kLaneCount; }
    ZERONORM_INLINE void prefetch_row(std::int64_t i) const {
        prefetch(indices + indptr[i], 0);
        prefetch(data + indptr[i], 0);
    }
    ZERONORM_INLINE void dot(std::int64_t i, const double* c, double* b) const {
        std::fill_n(b, n_blocks(), 0.0);
        for (I e = indptr[i]; e < indptr[i + 1]; ++e)
            b[block[indices[e]]] += data[e] * c[indices[e]];
    }
    ZERONORM_INLINE void add(std::int64_t i, double z, double* c) const {
        for (I e = indptr[i]; e < indptr[i + 1]; ++e)
            c[indices[e]] += z * data[e];
    }
};

// Visits the coordinates in the given order; changes alpha, rest, c and s. Returns the number of
// evaluations of the smoothed maximum. square (n, T): ||x_it||^2; padded blocks have the level -inf
// and no features.
template <int Groups, class Rows>
std::int64_t sweep_groups(const Rows& rows, const std::int64_t* order, std::int64_t n,
                          const double* square, const double* weight, double q, double accuracy,
                          double ratio, double* alpha, double* rest, double* c, double* s) {
    std::int64_t n_evaluations = 0;
    const std::int64_t n_blocks = rows.n_blocks();
    const auto sweep = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        SmoothedMaximum<Groups> maximum(n_blocks, q);
        std::fill_n(maximum.slope(), n_blocks, 0.0);
        if (n > 0) maximum.evaluate(s, square, 0.0);
        for (std::int64_t visit = 0; visit < n; ++visit) {
            const std::int64_t i = order[visit];
            if (visit + 2 < n) {
                const std::int64_t ahead = order[visit + 2];
                rows.prefetch_row(ahead);
                prefetch(square + ahead * n_blocks, 0);
                prefetch(square + ahead * n_blocks, 64);
                prefetch(alpha + ahead, 0);
                prefetch(rest + ahead, 0);
                prefetch(weight + ahead, 0);
            }
            const double* const a = square + i * n_blocks;
            rows.dot(i, c, maximum.slope());
            const double before = alpha[i], before_rest = rest[i];
            const Root root =
                newton_bisection(maximum, s, a, weight[i], accuracy, ratio, alpha[i], rest[i]);
            n_evaluations += root.n_evaluations;
            if (root.n_evaluations == 0) continue;
            // The difference of the smaller of the two parts has the smaller error.
            const double z = root.lower ? alpha[i] - before : before_rest - rest[i];
            rows.add(i, z, c);
            maximum.levels(s);
        }
    };
    run_block(sweep, 0);
    return n_evaluations;
}

// The same for any number of blocks: unrolled for the usual ones (the paper has ten).
template <class Rows, class... Rest>
std::int64_t smoothing_sweep(const Rows& rows, Rest... rest) {
    switch (rows.n_groups) {
        case 1:
            return sweep_groups<1>(rows, rest...);
        case 2:
            return sweep_groups<2>(rows, rest...);
        case 3:
            return sweep_groups<3>(rows, rest...);
        default:
            return sweep_groups<0>(rows, rest...);
    }
}

}  // namespace zeronorm
