// The weighted loss of a problem as a function of the margins, with its best intercept.
//
//     sum_i s_i f(y_i, z_i + b)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>

#include "losses.hpp"
#include "ridge_rows.hpp"

namespace zeronorm {

inline constexpr int kMaxIntercept = 200;
inline constexpr double kFlat = 1e-13;  // slope in the intercept that counts as none, relative

// Sums over all rows at some margins.
struct RowTotals {
    double value, slope, size, bend;  // loss, d/db, sum of |d/dz_i|, d2/db2
};

// Moves b to where evaluate(b) has its least value, from where `totals` were evaluated: Newton's
// method on the increasing derivative, with a bracket that bisection can fall back to.
template <class Evaluate>
void fit_intercept(const Evaluate& evaluate, bool quadratic, double& b, RowTotals& totals,
                   double flat = kFlat) {
    if (quadratic) {  // two steps: the second one takes what rounding left
        for (int step = 0; step < 2 && totals.bend > 0.0; ++step) {
            b -= totals.slope / totals.bend;
            totals = evaluate(b);
        }
        return;
    }
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double low = -infinity, high = infinity, width = 1.0;
    for (int iteration = 0; iteration < kMaxIntercept; ++iteration) {
        if (!(std::abs(totals.slope) > flat * totals.size)) return;
        (totals.slope > 0.0 ? high : low) = b;
        double proposal = totals.bend > 0.0 ? b - totals.slope / totals.bend : infinity;
        if (!(low < proposal && proposal < high) || std::abs(proposal - b) > 10.0 * width) {
            if (std::isinf(low) || std::isinf(high)) {  // expand towards the missing end
                proposal = b - std::copysign(width, totals.slope);
                width *= 4.0;
            } else {
                proposal = 0.5 * (low + high);
            }
        }
        if (std::abs(proposal - b) <= 1e-15 * std::max(1.0, std::abs(b))) return;
        b = proposal;
        totals = evaluate(b);
    }
}

// A dual point v of a loss.
class Dual {
  public:
    virtual ~Dual() = default;
    // The conjugate at -c v, infinite outside of its domain.
    virtual double conjugate(double c) const = 0;
    // The c that maximises -conjugate(c v) - c^2 quadratic, 1 where there is none.
    // nearby: of it, 0 if unknown.
    virtual double best_scale(double quadratic, double nearby = 0.0) const = 0;
};

// A loss of n rows, which are padded to whole cache lines by rows of weight 0; what it writes for
// the rows has n_rows() numbers. Solvers do not know which loss it is: each call is for all rows.
class Risk {
  public:
    virtual ~Risk() = default;
    std::int64_t n() const { return n_; }
    std::int64_t n_rows() const { return n_rows_; }
    bool is_quadratic() const { return traits_.is_quadratic; }
    bool has_jumps() const { return traits_.has_jumps; }

    // v_i = -s_i f'(y_i, z_i + b), curvature_i = s_i f''(y_i, z_i + b), and their sums.
    virtual RowTotals evaluate(const double* z, double b, double* v, double* curvature) const = 0;

    // Moves b to its best value, from where `totals` were evaluated.
    void fit_intercept(const double* z, double& b, double* v, double* curvature, RowTotals& totals,
                       double flat = kFlat) const {
        const auto at = [&](double to) { return evaluate(z, to, v, curvature); };
        zeronorm::fit_intercept(at, is_quadratic(), b, totals, flat);
    }

    // The least value without features, or what rounding may make of 0.
    virtual double null(bool intercept) const {
        const Buffer zero(n_rows_), v(n_rows_), curvature(n_rows_);
        double b = 0.0;
        RowTotals totals = evaluate(zero, b, v, curvature);
        if (intercept) fit_intercept(zero, b, v, curvature, totals);
        return totals.value;
    }

    // Takes off a Gram matrix Z'WZ (upper triangle, rows of `width`), with the curvature at margins
    // z, what the second derivative is less than it: nothing where rows are by themselves.
    virtual void couple(const double* /*z*/, const double* /*columns*/, std::int64_t /*width*/,
                        double* /*gram*/) const {}

    // Moves v of rows into where the conjugate is finite: rounding may have taken it out.
    virtual void clip(double* /*v*/) const {}

    virtual std::unique_ptr<Dual> dual(const double* v) const = 0;

    // Throws where rows are not by themselves.
    void check_by_row() const {
        if (!traits_.is_by_row)
            throw std::invalid_argument("the loss of a row depends on other rows.");
    }

  protected:
    struct Traits {
        bool is_quadratic, has_jumps, is_by_row;  // the second: whether f'' does
    };
    Risk(std::int64_t n, const Traits& traits) : n_(n), n_rows_(whole(n, kLine)), traits_(traits) {}

    std::int64_t n_, n_rows_;

  private:
    Traits traits_;
};

// y, weight: (n,), or y: time, event and stratum of the rows, row by row.
std::unique_ptr<Risk> make_risk(const LossNumber& loss, const double* y, const double* weight,
                                std::int64_t n);

}  // namespace zeronorm
