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

// A matrix of n rows of which columns are taken by their numbers, dense or sparse: solvers do not
// know which, as each call is for many columns.
class ColumnPool {
  public:
    virtual ~ColumnPool() = default;
    // to += sum_a u_a x_a over p columns, those with u_a != 0.
    virtual void combine(const std::int64_t* some, std::int64_t p, const double* u,
                         double* to) const = 0;
    // to_a = x_a'v
    virtual void dots(const std::int64_t* some, std::int64_t p, const double* v,
                      double* to) const = 0;
    // some: m of them. weight, pull: (n_rows,), 0 after n.
    virtual void curve(const std::vector<std::int64_t>& some, std::int64_t n_rows,
                       const double* weight, const double* pull, const Curvature& to) const = 0;
};

// A pool over a view of single columns.
template <class View>
class PoolOf final : public ColumnPool {
  public:
    explicit PoolOf(const View& x) : x_(x) {}
    void combine(const std::int64_t* some, std::int64_t p, const double* u,
                 double* to) const override {
        for (std::int64_t a = 0; a < p; ++a)
            if (u[a] != 0.0) x_.add(some[a], u[a], to);
    }
    void dots(const std::int64_t* some, std::int64_t p, const double* v,
              double* to) const override {
        for (std::int64_t a = 0; a < p; ++a)
            to[a] = x_.dot(some[a], v);
    }
    void curve(const std::vector<std::int64_t>& some, std::int64_t n_rows, const double* weight,
               const double* pull, const Curvature& to) const override {
        x_.curve(some, n_rows, weight, pull, to);
    }

  private:
    View x_;
};

// Columns without gaps between their rows.
struct DenseColumns {
    const double* x;
    std::int64_t n, stride;  // from a column to the next

    double dot(std::int64_t j, const double* v) const {
        double total = 0.0;
        const double* column = x + j * stride;
        const std::int64_t most = n / kLine * kLine;
        const auto kernel = [&](std::int64_t)
                                ZERONORM_INLINE_LAMBDA { total = dot_rows(column, v, most); };
        run_block(kernel, 0);
        for (std::int64_t i = most; i < n; ++i)
            total += column[i] * v[i];
        return total;
    }
    void add(std::int64_t j, double multiple, double* to) const {
        const double* column = x + j * stride;
        for (std::int64_t i = 0; i < n; ++i)
            to[i] += multiple * column[i];
    }
    void curve(const std::vector<std::int64_t>& some, std::int64_t n_rows, const double* weight,
               const double* pull, const Curvature& to) const {
        const std::int64_t m = to.m, width = whole(m, kGramRight);
        Buffer z(width * n_rows), gram(width * width), cross(width);
        Buffer scaled(kGramLeft * kGramRows);
        for (std::int64_t a = 0; a < m; ++a)
            std::copy_n(x + some[static_cast<std::size_t>(a)] * stride, n, z + a * n_rows);
        weighted_gram(z, n_rows, width, weight, gram, cross, scaled);
        for (std::int64_t a = 0; a < m; ++a) {
            to.right[a] = dot_rows(z + a * n_rows, pull, n_rows);
            to.cross[a] = cross[a];
            std::copy_n(gram + a * width, m, to.gram + a * m);
        }
    }
};

// The same of compressed sparse columns.
struct SparseColumns {
    Csc<std::int32_t, double> x;

    double dot(std::int64_t j, const double* v) const { return x.dot(j, v); }
    void add(std::int64_t j, double multiple, double* to) const { x.add(j, multiple, to); }
    // Entry by entry with those of the same row in the columns before: rows have few of them.
    void curve(const std::vector<std::int64_t>& some, std::int64_t n_rows, const double* weight,
               const double* pull, const Curvature& to) const {
        const auto column = [&](std::int64_t a) { return some[static_cast<std::size_t>(a)]; };
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
