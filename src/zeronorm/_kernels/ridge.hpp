// Newton's method for a ridge problem on a few columns, from start to certificate.
//
//     min_{u, b}  1/2 sum_j p_j u_j^2 + sum_i s_i f(y_i, z_i'u + b)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "cholesky.hpp"
#include "ridge_rows.hpp"
#include "risk.hpp"

namespace zeronorm {

inline constexpr double kBalanced = 1.0 - 1e-9;  // less is kept only where b has not its best value
inline constexpr int kMaxNewton = 100, kMaxHalvings = 40;
inline constexpr int kMostLevel = 3;        // steps without a decrease, which rounding hides
inline constexpr double kWorstStart = 2.0;  // relative to the model without features

// What a solution has besides its arrays.
struct RidgeAnswer {
    double intercept, objective, bound, gap;
};

// Rows: how the columns are kept, `DenseRows` or `SparseRows`.
template <class Rows = DenseRows>
class RidgeSolver {
  public:
    RidgeSolver(const Risk& risk, bool intercept, std::int64_t p, const double* penalty)
        : risk_(&risk),
          intercept_(intercept),
          n_(risk.n()),
          p_(p),
          n_rows_(risk.n_rows()),
          width_(whole(p, kGramRight)),
          penalty_(penalty),
          zero_value_(risk.null(intercept)),
          rows_(n_, n_rows_, p) {}

    // Goes on with another loss of the same rows, which has to live as long as this.
    // null: its value without features. is_same_matrix: whether its weights, and the penalty, are
    // those that a Newton system was made of before.
    void turn_to(const Risk& risk, double null, bool is_same_matrix) {
        risk_ = &risk;
        zero_value_ = null;
        is_factored_ = is_factored_ && is_same_matrix;
    }
    // The chosen columns, every n_rows() of the risk.
    const double* columns() const { return rows_.columns(); }

    // Takes p columns of a matrix as `rows_` does: the Z of the next solution.
    template <class... Matrix>
    void choose(const Matrix&... x) {
        rows_.choose(x...);
        is_factored_ = false;
    }

    // u: the start, then the solution. margins, dual (n,) and scores (p,) are written: dual is v at
    // the solution, with sum 0 where the intercept is free, and scores are Z'v.
    RidgeAnswer solve(double b, double tol, bool of_value, double cutoff, double* u,
                      double* margins, double* dual, double* scores) {
        rows_.combine(u, margin_);
        RowTotals totals = evaluate(margin_, b);
        // From where an exponential is huge, Newton's steps come back by about 1 in the margins
        // each, and from where it overflows not at all: no start is better then.
        if (!(totals.value + half_penalty(u) <= kWorstStart * zero_value_)) {
            std::fill_n(u, p_, 0.0);
            std::fill_n(static_cast<double*>(margin_), n_rows_, 0.0);
            totals = evaluate(margin_, b = 0.0);
        }
        double objective = 0.0, bound = -std::numeric_limits<double>::infinity();
        int level = 0;
        // Goes to the best intercept and bounds the optimum there.
        const auto certify = [&] {
            if (intercept_) risk_->fit_intercept(margin_, b, v_, curvature_, totals);
            objective = totals.value + half_penalty(u);
            const double kept = dual_point(intercept_, scores);
            const double left = set_slope(u, scores);
            // The dual point is that of the margins but for rounding: their loss and its conjugate
            // are equal together, so what is left of the gap is the square of the slope.
            if (kept >= kBalanced) bound = std::max(bound, objective - left);
        };
        for (int iteration = 0;; ++iteration) {
            objective = totals.value + half_penalty(u);
            dual_point(false, scores);
            const double left = set_slope(u, scores);
            const double wanted = tol * (of_value ? objective : zero_value_);
            const bool last = iteration == kMaxNewton - 1 || level == kMostLevel;
            const bool flat = intercept_ && !(totals.bend > 0.0);  // no Newton step in b
            const bool certified = left <= wanted || objective - left >= cutoff || last || flat;
            if (certified) {
                certify();
                if (objective - bound <= wanted || bound >= cutoff || p_ == 0 || last) break;
            }
            const double shift = newton_direction(totals);
            if (!line_search(u, b, shift, objective, totals)) {
                if (!certified) certify();
                break;
            }
            level += totals.value + half_penalty(u) >= objective;
        }
        for (std::int64_t i = 0; i < n_; ++i)
            margins[i] = margin_[i] + b;
        std::copy_n(static_cast<double*>(dual_), n_, dual);
        return {b, objective, bound, zero_value_ > 0.0 ? (objective - bound) / zero_value_ : 0.0};
    }

  private:
    RowTotals evaluate(const double* z, double b) { return risk_->evaluate(z, b, v_, curvature_); }

    double half_penalty(const double* u) const {
        double total = 0.0;
        for (std::int64_t j = 0; j < p_; ++j)
            total += penalty_[j] * u[j] * u[j];
        return 0.5 * total;
    }

    // slope_ = scores - p u, minus the gradient in u; returns 1/2 sum_j slope_j^2 / p_j.
    double set_slope(const double* u, const double* scores) {
        double left = 0.0;
        for (std::int64_t j = 0; j < p_; ++j) {
            slope_[j] = scores[j] - penalty_[j] * u[j];
            left += 0.5 * slope_[j] * (slope_[j] / penalty_[j]);
        }
        return left;
    }

    // The dual point v of the last evaluation, the heavier sign shrunk so that sum_i v_i = 0 where
    // the intercept is free; scores = Z'v. Returns what is kept of that sign.
    double dual_point(bool intercept, double* scores) {
        const double* const v = v_;
        double* const dual = dual_;
        double kept = 1.0;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            RowSum above, below;
            for (std::int64_t i = 0; i < n_rows_; i += kLaneCount) {
                Lanes x;
                load(v + i, x);
                above.add(x > 0.0 ? x : Lanes{});
                below.add(x > 0.0 ? Lanes{} : -x);  // NaN too
            }
            const double up = above.value(), down = below.value();
            const bool shrink = intercept && up != down && up > 0.0 && down > 0.0;
            const double keep_up = shrink ? std::min(1.0, down / up) : 1.0;
            const double keep_down = shrink ? std::min(1.0, up / down) : 1.0;
            kept = std::min(keep_up, keep_down);
            for (std::int64_t i = 0; i < n_rows_; i += kLaneCount) {
                Lanes x;
                load(v + i, x);
                x *= x > 0.0 ? Lanes{} + keep_up : Lanes{} + keep_down;
                store(x, dual + i);
            }
        };
        run_block(kernel, 0);
        rows_.scores(dual, scores);
        return kept;
    }

    // Puts the Newton direction in u into direction_, returns the one in b. The system is
    // (diag(p) + Z'WZ - (Z'w)(Z'w)' / sum w) d = slope + Z'w g / sum w, g the gradient in b: the
    // rank-one term eliminates b.
    double newton_direction(const RowTotals& totals) {
        const double total = totals.bend;  // 0 where a constant in the margins changes nothing
        const bool centre = intercept_ && total > 0.0;
        // Least squares have one matrix at all margins.
        if (!(risk_->is_quadratic() && is_factored_)) factor_system(total, centre);
        for (std::int64_t a = 0; a < p_; ++a) {
            const double pull = centre ? cross_[a] * (totals.slope / total) : 0.0;
            direction_[a] = unit_[a] * (slope_[a] + pull);
        }
        solve_factored(factor_, p_, width_, direction_);
        double shift = 0.0;
        for (std::int64_t a = 0; a < p_; ++a) {
            direction_[a] *= unit_[a];
            shift += cross_[a] * direction_[a];
        }
        return centre ? -(shift + totals.slope) / total : 0.0;
    }

    // factor_: of the system between unit_ on both sides; cross_ = Z'w.
    void factor_system(double total, bool centre) {
        rows_.gram(curvature_, gram_, cross_);
        for (std::int64_t a = 0; a < p_; ++a)
            unit_[a] = kRounding * gram_[a * width_ + a];
        if constexpr (Rows::kDense) risk_->couple(margin_, columns(), width_, gram_);
        for (std::int64_t a = 0; a < p_; ++a) {
            double* const row = gram_ + a * width_;
            if (centre)
                for (std::int64_t b = a; b < p_; ++b)
                    row[b] -= cross_[a] * (cross_[b] / total);
            // Where one row has nearly all the curvature, nothing is left of a centred column, and
            // rounding may leave less.
            row[a] = std::max(row[a] + penalty_[a], unit_[a]);
            unit_[a] = 1.0 / std::sqrt(row[a]);  // the columns may differ in scale by many orders
        }
        for (std::int64_t a = 0; a < p_; ++a)
            for (std::int64_t b = a; b < p_; ++b)
                gram_[a * width_ + b] = gram_[a * width_ + b] * unit_[a] * unit_[b];
        cholesky(gram_, p_, width_, factor_);
        is_factored_ = true;
    }

    // Moves along the direction by halves until the objective falls by enough; false: it does not.
    bool line_search(double* u, double& b, double shift, double objective, RowTotals& totals) {
        rows_.combine(direction_, along_);
        double decrease = intercept_ ? -totals.slope * shift : 0.0;
        for (std::int64_t j = 0; j < p_; ++j)
            decrease += slope_[j] * direction_[j];
        double step = 1.0;
        for (int halving = 0; halving < kMaxHalvings; ++halving, step *= 0.5) {
            for (std::int64_t j = 0; j < p_; ++j)
                trial_[j] = u[j] + step * direction_[j];
            for (std::int64_t i = 0; i < n_rows_; ++i)
                trial_margin_[i] = margin_[i] + step * along_[i];
            totals = evaluate(trial_margin_, b + step * shift);
            if (totals.value + half_penalty(trial_) <= objective - 1e-4 * step * decrease) {
                std::copy_n(static_cast<double*>(trial_), p_, u);
                std::copy_n(static_cast<double*>(trial_margin_), n_rows_,
                            static_cast<double*>(margin_));
                b += step * shift;
                return true;
            }
        }
        totals = evaluate(margin_, b);
        return false;  // rounding: no decrease is left
    }

    const Risk* risk_;
    bool is_factored_ =
        false;  // whether factor_, unit_ and cross_ are of these columns and weights
    bool intercept_;
    std::int64_t n_, p_, n_rows_, width_;  // the last two with padding
    const double* penalty_;
    double zero_value_;  // the objective of the model without features
    Rows rows_;
    Buffer margin_{n_rows_}, trial_margin_{n_rows_}, along_{n_rows_}, v_{n_rows_},
        curvature_{n_rows_}, dual_{n_rows_}, trial_{p_}, slope_{p_}, direction_{p_}, unit_{p_},
        cross_{width_}, gram_{width_ * width_}, factor_{width_ * width_};
};

}  // namespace zeronorm
