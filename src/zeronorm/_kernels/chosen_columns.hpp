// Some columns of a matrix, dense or sparse, and the curvature of a loss over them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "csc.hpp"
#include "parallel.hpp"
#include "ridge_rows.hpp"

namespace zeronorm {

// The curvature of some columns: z_a' diag(w) z_c for c >= a in row a of `gram`, m wide, w'z_a and
// z_a'pull.
struct Curvature {
    std::int64_t m;
    double *gram, *cross, *right;
};

// Some columns of a matrix of n rows, each without gaps between its rows.
struct ChosenColumns {
    const double* x;
    std::int64_t n, stride;  // from a column of x to the next
    const std::int64_t* chosen;
    std::int64_t p;  // columns chosen

    const double* operator[](std::int64_t j) const { return x + chosen[j] * stride; }
    double dot(std::int64_t j, const double* v) const {
        double total = 0.0;
        const double* column = (*this)[j];
        const std::int64_t most = n / kLine * kLine;
        const auto kernel = [&](std::int64_t)
                                ZERONORM_INLINE_LAMBDA { total = dot_rows(column, v, most); };
        run_block(kernel, 0);
        for (std::int64_t i = most; i < n; ++i)
            total += column[i] * v[i];
        return total;
    }
    void add(std::int64_t j, double multiple, double* to) const {
        const double* column = (*this)[j];
        for (std::int64_t i = 0; i < n; ++i)
            to[i] += multiple * column[i];
    }
    // some: m of them. weight, pull: (n_rows,), 0 after n.
    void curve(const std::vector<std::int64_t>& some, std::int64_t n_rows, const double* weight,
               const double* pull, const Curvature& to) const {
        const std::int64_t m = to.m, width = whole(m, kGramRight);
        Buffer z(width * n_rows), gram(width * width), cross(width);
        Buffer scaled(kGramLeft * kGramRows);
        for (std::int64_t a = 0; a < m; ++a)
            std::copy_n((*this)[some[static_cast<std::size_t>(a)]], n, z + a * n_rows);
        weighted_gram(z, n_rows, width, weight, gram, cross, scaled);
        for (std::int64_t a = 0; a < m; ++a) {
            to.right[a] = dot_rows(z + a * n_rows, pull, n_rows);
            to.cross[a] = cross[a];
            std::copy_n(gram + a * width, m, to.gram + a * m);
        }
    }
};

// The same of compressed sparse columns.
struct ChosenSparse {
    Csc<std::int32_t, double> x;
    std::int64_t n;
    const std::int64_t* chosen;
    std::int64_t p;

    double dot(std::int64_t j, const double* v) const { return x.dot(chosen[j], v); }
    void add(std::int64_t j, double multiple, double* to) const { x.add(chosen[j], multiple, to); }
    // Entry by entry with those of the same row in the columns before: rows have few of them.
    void curve(const std::vector<std::int64_t>& some, std::int64_t n_rows, const double* weight,
               const double* pull, const Curvature& to) const {
        const auto column = [&](std::int64_t a) {
            return chosen[some[static_cast<std::size_t>(a)]];
        };
        std::vector<std::int64_t> end(static_cast<std::size_t>(n_rows) + 1);
        for (std::int64_t a = 0; a < to.m; ++a)
            x.each(column(a),
                   [&](std::int64_t i, double) { ++end[static_cast<std::size_t>(i) + 1]; });
        std::partial_sum(end.begin(), end.end(), end.begin());
        const std::vector<std::int64_t> begin = end;
        struct Entry {
            std::int64_t a;
            double value;
        };
        std::vector<Entry> entries(static_cast<std::size_t>(end.back()));
        std::vector<double> own(static_cast<std::size_t>(n_rows));
        std::fill_n(to.gram, to.m * to.m, 0.0);
        for (std::int64_t c = 0; c < to.m; ++c) {
            double* const row = to.gram + c * to.m;
            const std::int64_t j = column(c);
            x.each(j, [&](std::int64_t i, double value) {
                const auto at = static_cast<std::size_t>(i);
                const double weighted = weight[i] * value;
                for (auto e = begin[at]; e < end[at]; ++e) {
                    const Entry& one = entries[static_cast<std::size_t>(e)];
                    row[one.a] += one.value * weighted;
                }
                own[at] += value;
            });
            x.each(j, [&](std::int64_t i, double value) {
                const auto at = static_cast<std::size_t>(i);
                row[c] += weight[i] * value * own[at];
                entries[static_cast<std::size_t>(end[at]++)] = {c, value};
            });
            x.each(j, [&](std::int64_t i, double) { own[static_cast<std::size_t>(i)] = 0.0; });
            for (std::int64_t a = 0; a < c; ++a)
                to.gram[a * to.m + c] = row[a];
            to.cross[c] = x.dot(j, weight);
            to.right[c] = x.dot(j, pull);
        }
    }
};

}  // namespace zeronorm
