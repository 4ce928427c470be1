// Newton's method for a ridge problem on a few dense columns, from start to certificate.
//
//     min_{u, b}  1/2 sum_j p_j u_j^2 + sum_i s_i f(y_i, z_i'u + b)
//
// Rows are padded to whole cache lines by rows of weight 0, columns to whole groups by columns of
// zeros, so that no loop has an end of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "cholesky.hpp"
#include "lanes.hpp"
#include "losses.hpp"
#include "parallel.hpp"

namespace zeronorm {

inline constexpr std::int64_t kLine = 8;         // numbers in a cache line
inline constexpr std::int64_t kGramRows = 512;   // rows whose products are summed in registers
inline constexpr std::int64_t kGramLeft = 2;     // columns on the left of such products
inline constexpr std::int64_t kGramRight = 4;    // columns on the right
inline constexpr double kBalanced = 1.0 - 1e-9;  // less is kept only where b has not its best value
inline constexpr int kMaxNewton = 100, kMaxHalvings = 40, kMaxIntercept = 200;

ZERONORM_INLINE std::int64_t whole(std::int64_t size, std::int64_t unit) {
    return (size + unit - 1) / unit * unit;
}

// Zeros that begin with a cache line.
class Buffer {
  public:
    explicit Buffer(std::int64_t size)
        : memory_(std::make_unique<double[]>(static_cast<std::size_t>(size + kLine))) {
        constexpr std::uintptr_t line = kLine * sizeof(double);
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
        start_ = memory_.get() + (line - address % line) % line / sizeof(double);
    }
    operator double*() const { return start_; }

  private:
    std::unique_ptr<double[]> memory_;
    double* start_;
};

// Sums over all rows at some margins.
struct RowTotals {
    double value, slope, size, bend;  // loss, d/db, sum of |d/dz_i|, d2/db2
};

// v_i = -s_i f'(y_i, z_i + b), curvature_i = s_i f''(y_i, z_i + b), and their sums.
template <class Loss>
RowTotals evaluate(const double* z, double b, const double* y, const double* weight,
                   std::int64_t n_rows, double* v, double* curvature) {
    RowTotals totals{};
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        RowSum value, slope, size, bend;
        for (std::int64_t i = 0; i < n_rows; i += kLaneCount) {
            Lanes margin, target, s, f, push, second;
            load(z + i, margin);
            load(y + i, target);
            load(weight + i, s);
            margin += b;
            Loss::terms(target, margin, f, push, second);
            push *= s;
            second *= s;
            store(push, v + i);
            store(second, curvature + i);
            value.add(s * f);
            slope.add(-push);
            size.add(push < 0.0 ? -push : push);
            bend.add(second);
        }
        totals = {value.value(), slope.value(), size.value(), bend.value()};
    };
    run_block(kernel, 0);
    return totals;
}

// Moves b to argmin_b sum_i s_i f(y_i, z_i + b) from where `totals` were evaluated: Newton's method
// on the increasing derivative, with a bracket that bisection can fall back to.
template <class Loss>
void fit_intercept(const double* z, double& b, const double* y, const double* weight,
                   std::int64_t n_rows, double* v, double* curvature, RowTotals& totals) {
    if constexpr (Loss::kQuadratic) {  // two steps: the second one takes what rounding left
        for (int step = 0; step < 2 && totals.bend > 0.0; ++step) {
            b -= totals.slope / totals.bend;
            totals = evaluate<Loss>(z, b, y, weight, n_rows, v, curvature);
        }
        return;
    }
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double low = -infinity, high = infinity, width = 1.0;
    for (int iteration = 0; iteration < kMaxIntercept; ++iteration) {
        if (!(std::abs(totals.slope) > 1e-13 * totals.size)) return;
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
        totals = evaluate<Loss>(z, b, y, weight, n_rows, v, curvature);
    }
}

// Copies some columns of a matrix of n rows, by strides in elements, one every `n_rows` numbers.
// column_of(j): which column of the matrix is the j-th.
template <class ColumnOf>
void copy_columns(const double* x, std::int64_t row_stride, std::int64_t column_stride,
                  std::int64_t n, std::int64_t p, const ColumnOf& column_of, std::int64_t n_rows,
                  double* to) {
    for (std::int64_t j = 0; j < p; ++j) {
        const double* const column = x + column_of(j) * column_stride;
        for (std::int64_t i = 0; i < n; ++i)
            to[j * n_rows + i] = column[i * row_stride];
    }
}

// gram (upper triangle, row by row, `width` numbers each) = Z' diag(weight) Z, cross = Z' weight.
// `width` is a multiple of kGramRight, `scaled` has room for kGramLeft columns of kGramRows.
inline void weighted_gram(const double* z, std::int64_t n_rows, std::int64_t width,
                          const double* weight, double* gram, double* cross, double* scaled) {
    std::fill_n(gram, width * width, 0.0);
    std::fill_n(cross, width, 0.0);
    const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        for (std::int64_t first = 0; first < n_rows; first += kGramRows) {
            const std::int64_t rows = std::min(kGramRows, n_rows - first);
            for (std::int64_t a = 0; a < width; a += kGramLeft) {
                for (std::int64_t k = 0; k < kGramLeft; ++k) {
                    const double* const column = z + (a + k) * n_rows + first;
                    Lanes total{};
                    for (std::int64_t i = 0; i < rows; i += kLaneCount) {
                        Lanes x, s;
                        load(column + i, x);
                        load(weight + first + i, s);
                        x *= s;
                        total += x;
                        store(x, scaled + k * kGramRows + i);
                    }
                    cross[a + k] += sum(total);
                }
                for (std::int64_t b = a / kGramRight * kGramRight; b < width; b += kGramRight) {
                    const double* const right = z + b * n_rows + first;
                    Lanes product[kGramLeft][kGramRight] = {};
                    for (std::int64_t i = 0; i < rows; i += kLaneCount) {
                        Lanes left[kGramLeft], x;
                        for (std::int64_t k = 0; k < kGramLeft; ++k)
                            load(scaled + k * kGramRows + i, left[k]);
                        for (std::int64_t l = 0; l < kGramRight; ++l) {
                            load(right + l * n_rows + i, x);
                            for (std::int64_t k = 0; k < kGramLeft; ++k)
                                product[k][l] += left[k] * x;
                        }
                    }
                    for (std::int64_t k = 0; k < kGramLeft; ++k)
                        for (std::int64_t l = 0; l < kGramRight; ++l)
                            gram[(a + k) * width + b + l] += sum(product[k][l]);
                }
            }
        }
    };
    run_block(kernel, 0);
}

// What a solution has besides its arrays.
struct RidgeAnswer {
    double intercept, objective, bound, gap;
};

template <class Loss>
class RidgeSolver {
  public:
    RidgeSolver(std::int64_t n, std::int64_t p, const double* y, const double* weight,
                const double* penalty)
        : n_(n), p_(p), n_rows_(whole(n, kLine)), width_(whole(p, kGramRight)), penalty_(penalty) {
        std::copy_n(y, n, static_cast<double*>(y_));
        std::copy_n(weight, n, static_cast<double*>(weight_));
    }

    // Takes p columns of x, n rows by strides in elements: the Z of the next solution.
    void choose(const double* x, std::int64_t row_stride, std::int64_t column_stride,
                const std::int64_t* columns) {
        const auto column_of = [&](std::int64_t j) { return columns[j]; };
        copy_columns(x, row_stride, column_stride, n_, p_, column_of, n_rows_, z_);
    }

    // u: the start, then the solution. margins, dual (n,) and scores (p,) are written: dual is v at
    // the solution, with sum 0 where the intercept is free, and scores are Z'v.
    RidgeAnswer solve(bool intercept, double b, double tol, bool of_value, double cutoff, double* u,
                      double* margins, double* dual, double* scores) {
        const double zero_value = zero_objective(intercept);
        combine(u, margin_);
        RowTotals totals = evaluate(margin_, b);
        double objective = 0.0, bound = -std::numeric_limits<double>::infinity();
        // Goes to the best intercept and bounds the optimum there.
        const auto certify = [&] {
            if (intercept) fit_intercept(margin_, b, totals);
            objective = totals.value + half_penalty(u);
            const double kept = dual_point(intercept, scores);
            const double left = set_slope(u, scores);
            // The dual point is that of the margins but for rounding: their loss and its conjugate
            // are equal together, so what is left of the gap is the square of the slope.
            if (kept >= kBalanced) bound = std::max(bound, objective - left);
        };
        for (int iteration = 0;; ++iteration) {
            objective = totals.value + half_penalty(u);
            dual_point(false, scores);
            const double left = set_slope(u, scores);
            const double wanted = tol * (of_value ? objective : zero_value);
            const bool last = iteration == kMaxNewton - 1;
            const bool flat = intercept && !(totals.bend > 0.0);  // no Newton step in b
            const bool certified = left <= wanted || objective - left >= cutoff || last || flat;
            if (certified) {
                certify();
                if (objective - bound <= wanted || bound >= cutoff || p_ == 0 || last) break;
            }
            const double shift = newton_direction(intercept, totals);
            if (!line_search(u, b, shift, objective, intercept, totals)) {
                if (!certified) certify();
                break;
            }
        }
        for (std::int64_t i = 0; i < n_; ++i)
            margins[i] = margin_[i] + b;
        std::copy_n(static_cast<double*>(dual_), n_, dual);
        return {b, objective, bound, zero_value > 0.0 ? (objective - bound) / zero_value : 0.0};
    }

  private:
    RowTotals evaluate(const double* z, double b) {
        return zeronorm::evaluate<Loss>(z, b, y_, weight_, n_rows_, v_, curvature_);
    }

    void fit_intercept(const double* z, double& b, RowTotals& totals) {
        zeronorm::fit_intercept<Loss>(z, b, y_, weight_, n_rows_, v_, curvature_, totals);
    }

    // The objective of the model without features, where rows differ by their target only.
    double zero_objective(bool intercept) {
        double b = 0.0;
        if constexpr (Loss::kOfLabels) {
            double y[kLaneCount] = {1.0, -1.0, 1.0, 1.0}, weight[kLaneCount] = {};
            double z[kLaneCount] = {}, v[kLaneCount], curvature[kLaneCount];
            for (std::int64_t i = 0; i < n_; ++i)
                weight[y_[i] > 0.0 ? 0 : 1] += weight_[i];
            RowTotals totals = zeronorm::evaluate<Loss>(z, b, y, weight, kLaneCount, v, curvature);
            if (intercept)
                zeronorm::fit_intercept<Loss>(z, b, y, weight, kLaneCount, v, curvature, totals);
            return totals.value;
        }
        std::fill_n(static_cast<double*>(margin_), n_rows_, 0.0);
        RowTotals totals = evaluate(margin_, b);
        if (intercept) fit_intercept(margin_, b, totals);
        return totals.value;
    }

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

    // to = Z u
    void combine(const double* u, double* to) const {
        const double* const z = z_;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t i = 0; i < n_rows_; i += kLine) {
                Lanes first{}, second{}, x;
                for (std::int64_t j = 0; j < p_; ++j) {
                    const double* const part = z + j * n_rows_ + i;
                    load(part, x);
                    first += x * u[j];
                    load(part + kLaneCount, x);
                    second += x * u[j];
                }
                store(first, to + i);
                store(second, to + i + kLaneCount);
            }
        };
        run_block(kernel, 0);
    }

    // The dual point v of the last evaluation, the heavier sign shrunk so that sum_i v_i = 0 where
    // the intercept is free; scores = Z'v. Returns what is kept of that sign.
    double dual_point(bool intercept, double* scores) {
        const double *const z = z_, *const v = v_;
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
            for (std::int64_t j = 0; j < p_; ++j) {
                const double* const column = z + j * n_rows_;
                Lanes first{}, second{}, x, other;
                for (std::int64_t i = 0; i < n_rows_; i += kLine) {
                    load(column + i, x);
                    load(dual + i, other);
                    first += x * other;
                    load(column + i + kLaneCount, x);
                    load(dual + i + kLaneCount, other);
                    second += x * other;
                }
                scores[j] = sum(first + second);
            }
        };
        run_block(kernel, 0);
        return kept;
    }

    // Puts the Newton direction in u into direction_, returns the one in b. The system is
    // (diag(p) + Z'WZ - (Z'w)(Z'w)' / sum w) d = slope + Z'w g / sum w, g the gradient in b: the
    // rank-one term eliminates b.
    double newton_direction(bool intercept, const RowTotals& totals) {
        const double total = totals.bend;
        weighted_gram(z_, n_rows_, width_, curvature_, gram_, cross_, scaled_);
        const bool centre = intercept && total > 0.0;
        for (std::int64_t a = 0; a < p_; ++a) {
            double* const row = gram_ + a * width_;
            if (centre)
                for (std::int64_t b = a; b < p_; ++b)
                    row[b] -= cross_[a] * (cross_[b] / total);
            row[a] += penalty_[a];
            unit_[a] = 1.0 / std::sqrt(row[a]);  // the columns may differ in scale by many orders
        }
        for (std::int64_t a = 0; a < p_; ++a) {
            for (std::int64_t b = a; b < p_; ++b)
                gram_[a * width_ + b] = gram_[a * width_ + b] * unit_[a] * unit_[b];
            const double pull = centre ? cross_[a] * (totals.slope / total) : 0.0;
            direction_[a] = unit_[a] * (slope_[a] + pull);
        }
        cholesky(gram_, p_, width_, factor_);
        solve_factored(factor_, p_, width_, direction_);
        double shift = 0.0;
        for (std::int64_t a = 0; a < p_; ++a) {
            direction_[a] *= unit_[a];
            shift += cross_[a] * direction_[a];
        }
        return centre ? -(shift + totals.slope) / total : 0.0;
    }

    // Moves along the direction by halves until the objective falls by enough; false: it does not.
    bool line_search(double* u, double& b, double shift, double objective, bool intercept,
                     RowTotals& totals) {
        combine(direction_, along_);
        double decrease = intercept ? -totals.slope * shift : 0.0;
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

    std::int64_t n_, p_, n_rows_, width_;  // the last two with padding
    const double* penalty_;
    Buffer z_{n_rows_ * width_}, y_{n_rows_}, weight_{n_rows_}, margin_{n_rows_},
        trial_margin_{n_rows_}, along_{n_rows_}, v_{n_rows_}, curvature_{n_rows_}, dual_{n_rows_},
        trial_{p_}, slope_{p_}, direction_{p_}, unit_{p_}, cross_{width_}, gram_{width_ * width_},
        factor_{width_ * width_}, scaled_{kGramLeft * kGramRows};
};

}  // namespace zeronorm
