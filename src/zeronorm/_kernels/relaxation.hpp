// Compiled solver: Newton steps on the relaxation of the l0 problem over columns, each a unit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "budget_norm.hpp"
#include "chosen_columns.hpp"
#include "dual.hpp"
#include "quadratic.hpp"
#include "ridge_rows.hpp"
#include "risk.hpp"

namespace zeronorm {

// Slope in the intercept, relative, from which on a short step need not be evaluated: its third
// power, or its square where f'' jumps, is lost to rounding.
inline constexpr double kNearlyFlat = 1e-4, kNearlyFlatOfJumps = 1e-8;
inline constexpr double kShort = 1e-3;            // where f'' jumps any step is
inline constexpr double kNearlyOne = 1.0 - 1e-9;  // a factor whose square is lost to rounding

// Constants of solvers/relaxation.py, by their names there.
struct RelaxationRule {
    int max_newton, most_halvings;
    std::int64_t ahead, most_columns;  // that a step moves: more at 0, and in all
    double model_tol, finest;
    QuadraticRule quadratic;
};

// When to stop: at a relative gap of `tol`, or with a bound above `cutoff`.
struct RelaxationAim {
    double tol, cutoff;
};

// 1/2 u'Hu - r'u over columns `near` of a relaxation; the best intercept is `intercept` - mean'u.
struct QuadraticModel {
    std::vector<std::int64_t> near;
    std::vector<double> matrix, right, mean;  // H, r
    double intercept = 0.0;
};

// What a solution has besides its arrays.
struct RelaxationAnswer {
    double intercept, objective, bound;
    bool is_done;  // false: no step descends, or there were too many
};

// Where a relaxation is at a point, and what the point gives.
struct RelaxationPoint {
    explicit RelaxationPoint(std::int64_t n_rows) : z(n_rows), v(n_rows), curvature(n_rows) {}
    std::vector<double> u;
    double b = 0.0;
    Buffer z, v, curvature;  // Zu, and of its margins with b: minus the gradient, f''
    RowTotals totals{};
    double objective = 0.0;
};

// Room for relaxations of so many rows, one after the other.
struct RelaxationSpace {
    explicit RelaxationSpace(std::int64_t n_rows)
        : now(n_rows), there(n_rows), trial(n_rows), dual(n_rows) {}
    RelaxationPoint now, there, trial;
    Buffer dual;
    QuadraticSpace quadratic;
};

// min_{u, b} 1/2 ||u_A||^2 + 1/2 ||u_F||_(q)^2 + sum_i s_i f(y_i, z_i'u + b), A the first columns,
// as `relax` of solvers/relaxation.py does until its interior-point method.
class RelaxationSolver {
  public:
    // columns: p of x.
    RelaxationSolver(const Risk& risk, bool intercept, const ColumnPool& x,
                     const std::int64_t* columns, std::int64_t p, std::int64_t n_fixed,
                     std::int64_t q, const RelaxationRule& rule, RelaxationSpace& space)
        : risk_(risk),
          intercept_(intercept),
          x_(x),
          columns_(columns),
          p_(p),
          n_fixed_(n_fixed),
          q_(q),
          rule_(rule),
          norm_(p, n_fixed, q),
          scores_(static_cast<std::size_t>(p)),
          now_(space.now),
          there_(space.there),
          trial_(space.trial),
          dual_(space.dual),
          quadratic_(space.quadratic) {}

    // Begins at the minimum of a quadratic model of the loss, over columns `near`, in order, among
    // which are all that are fixed.
    void begin_with(QuadraticModel model) { last_ = std::move(model); }

    // The model at the solution, with the curvature of the last step. It is gone then.
    QuadraticModel last_model() {
        last_.intercept = now_.b;
        for (std::size_t a = 0, m = last_.near.size(); a < m; ++a) {
            double image = 0.0;  // (Hu)_a
            for (std::size_t c = 0; c < m; ++c)
                image += last_.matrix[a * m + c] * now_.u[static_cast<std::size_t>(last_.near[c])];
            const auto j = static_cast<std::size_t>(last_.near[a]);
            last_.right[a] = scores_[j] + image;
            last_.intercept += last_.mean[a] * now_.u[j];
        }
        return std::move(last_);
    }

    // u: the start, then the solution. dual (n,), scores (p,): the dual point of the best bound,
    // and what it is for the columns. share, into, out (p,): see `BudgetNorm::shares`,
    // `QuadraticSolver::rises`; of the latter 0 where the bound is above.
    RelaxationAnswer solve(double* u, double b, const RelaxationAim& aim, double* dual,
                           double* scores, double* share, double* into, double* out) {
        const auto p = static_cast<std::size_t>(p_);
        const double model_gap = rule_.model_tol * aim.tol * std::abs(aim.cutoff);
        if (last_.near.empty() || !jump(u, model_gap)) {
            now_.u.assign(u, u + p);
            now_.b = b;
            combine(now_);
            assess(now_);
        }
        RelaxationAnswer answer{b, 0.0, -kInfinity, false};
        std::fill_n(dual, risk_.n(), 0.0);
        std::fill_n(scores, p, 0.0);
        const auto wanted = [&] { return now_.objective <= aim.cutoff ? aim.tol : rule_.finest; };
        const auto allowed = [&] { return wanted() * std::abs(now_.objective); };
        const auto model_tol = [&] {
            return rule_.model_tol * std::max(allowed(), now_.objective - aim.cutoff);
        };
        for (int n_steps = 0;; ++n_steps) {
            const double enough = std::min(aim.cutoff, now_.objective - allowed());
            bound(enough, aim.cutoff, answer.bound, dual, scores);
            answer.is_done =
                answer.bound > aim.cutoff || now_.objective - answer.bound <= allowed();
            if (answer.is_done || n_steps == rule_.max_newton) break;
            if (!step(model_tol())) break;
        }
        std::fill_n(into, p, 0.0);
        std::fill_n(out, p, 0.0);
        if (answer.is_done && !(answer.bound > aim.cutoff)) rise(into, out);
        norm_.shares(now_.u.data(), share);
        std::copy(now_.u.begin(), now_.u.end(), u);
        answer.intercept = now_.b;
        answer.objective = now_.objective;
        return answer;
    }

  private:
    using Point = RelaxationPoint;

    // z = Zu
    void combine(Point& point) const {
        std::fill_n(static_cast<double*>(point.z), risk_.n_rows(), 0.0);
        x_.combine(columns_, p_, point.u.data(), point.z);
    }

    // Moves b to its best value, and sets what follows from u, z and b.
    void assess(Point& point) {
        if (!intercept_) point.b = 0.0;
        point.totals = risk_.evaluate(point.z, point.b, point.v, point.curvature);
        if (intercept_) {
            RowTotals& totals = point.totals;
            const auto fit = [&](double flat) {
                risk_.fit_intercept(point.z, point.b, point.v, point.curvature, totals, flat);
            };
            const bool jumps = risk_.has_jumps();
            const double nearly = jumps ? kNearlyFlatOfJumps : kNearlyFlat;
            fit(nearly);
            if (!risk_.is_quadratic()) {
                const double last = -totals.slope / totals.bend;
                const bool is_flat = std::abs(totals.slope) <= nearly * totals.size;
                if (is_flat && std::abs(last) < (jumps ? kInfinity : kShort))
                    follow(point, last);
                else
                    fit(kFlat);
            }
        }
        point.objective = point.totals.value + norm_.half_square(point.u.data());
    }

    // Moves b so far, to where the slope is 0 to first order.
    void follow(Point& point, double step) const {
        RowTotals& totals = point.totals;
        point.b += step;
        for (std::int64_t i = 0; i < risk_.n(); ++i)
            point.v[i] -= step * point.curvature[i];
        if (risk_.has_jumps()) risk_.clip(point.v);  // else it does not leave the domain
        totals.value += 0.5 * totals.slope * step;
        totals.slope = 0.0;
    }

    // Minus the gradient, where the intercept is free rescaled so that its sum is 0.
    void balance() {
        double keep_up = 1.0, keep_down = 1.0;
        if (intercept_) {
            const auto [up, down] = two_sides(now_.v, risk_.n_rows());
            if (up > down) keep_up = down / up;
            if (down > up) keep_down = up / down;
        }
        for (std::int64_t i = 0; i < risk_.n(); ++i)
            dual_[i] = now_.v[i] * (now_.v[i] > 0.0 ? keep_up : keep_down);
        is_gradient_ = std::min(keep_up, keep_down) > kNearlyOne;
    }

    // The scores of the dual point, whose sum is 0 where the intercept is free; where its bound is
    // the best one, that, the point and its scores, scaled as the bound asks for.
    // enough, cutoff: see `scaled`.
    void bound(double enough, double cutoff, double& best, double* dual, double* scores) {
        balance();
        x_.dots(columns_, p_, dual_, scores_.data());
        const auto [value, scale] = scaled(norm_.conjugate(scores_.data()), enough, cutoff);
        if (!(value > best)) return;
        best = value;
        for (std::int64_t i = 0; i < risk_.n(); ++i)
            dual[i] = scale * dual_[i];
        for (std::size_t j = 0; j < scores_.size(); ++j)
            scores[j] = scale * scores_[j];
    }

    // The bound of the dual point, or, where that may end the steps, the largest one of a multiple.
    // enough: a bound that does. cutoff: one from which on no larger one is of use.
    ScaledBound scaled(double quadratic, double enough, double cutoff) const {
        double nearby = 0.0;
        if (!risk_.is_quadratic() && is_gradient_) {
            const Slopes at = along_margins(risk_.n_rows(), dual_, now_.z, now_.b, now_.curvature);
            const double plain = now_.totals.value + at.value - quadratic;
            const double slope = at.value - 2.0 * quadratic, bend = at.fall + 2.0 * quadratic;
            const bool is_far = plain + slope * (slope / bend) < enough;  // twice the gain
            if (std::isfinite(plain) && (plain > cutoff || is_far)) return {plain, 1.0};
            nearby = 1.0 + slope / bend;
        }
        return scaled_bound(*risk_.dual(dual_), quadratic, nearby);
    }

    // The columns that a step moves: those not at 0, and the next by score.
    std::vector<std::int64_t> near() const {
        std::vector<std::int64_t> some, others;
        for (std::int64_t j = 0; j < p_; ++j) {
            const bool moves = j < n_fixed_ || now_.u[static_cast<std::size_t>(j)] != 0.0;
            (moves ? some : others).push_back(j);
        }
        const auto ahead =
            std::min(std::max(rule_.ahead, q_), static_cast<std::int64_t>(others.size()));
        std::partial_sort(others.begin(), others.begin() + ahead, others.end(),
                          [&](std::int64_t a, std::int64_t c) {
                              const double first = std::abs(scores_[static_cast<std::size_t>(a)]);
                              const double second = std::abs(scores_[static_cast<std::size_t>(c)]);
                              return first > second || (first == second && a < c);
                          });
        some.insert(some.end(), others.begin(), others.begin() + ahead);
        std::sort(some.begin(), some.end());
        return some;
    }

    // The quadratic model of the loss over last_.near, with the best intercept of all coefficients.
    void expand() {
        const std::size_t m = last_.near.size();
        Buffer pull(risk_.n_rows());
        double shift = 0.0;  // w'z
        for (std::int64_t i = 0; i < risk_.n(); ++i) {
            pull[i] = now_.v[i] + now_.curvature[i] * now_.z[i];
            shift += now_.curvature[i] * now_.z[i];
        }
        last_.matrix.resize(m * m);
        last_.right.resize(m);
        last_.mean.resize(m);
        std::vector<std::int64_t> some(m);
        for (std::size_t a = 0; a < m; ++a)
            some[a] = columns_[last_.near[a]];
        x_.curve(some, risk_.n_rows(), now_.curvature, pull,
                 {static_cast<std::int64_t>(m), last_.matrix.data(), last_.mean.data(),
                  last_.right.data()});
        const double total = now_.totals.bend;
        const bool centre = intercept_ && total > 0.0;
        for (double& one : last_.mean)
            one = centre ? one / total : 0.0;
        for (std::size_t a = 0; a < m; ++a) {
            if (centre) last_.right[a] -= last_.mean[a] * shift;
            for (std::size_t c = a; c < m; ++c) {
                double& entry = last_.matrix[a * m + c];
                if (centre) entry -= last_.mean[a] * total * last_.mean[c];
                last_.matrix[c * m + a] = entry;
            }
        }
    }

    QuadraticSolver model() const {
        const auto m = static_cast<std::int64_t>(last_.near.size());
        const double *const matrix = last_.matrix.data(), *const right = last_.right.data();
        return {matrix, right, m, n_fixed_, q_, rule_.quadratic, quadratic_};
    }

    // Takes a Newton step, solved to a gap; false where it does not descend, or has too many
    // columns.
    bool step(double tol) {
        std::vector<std::int64_t> moved = near();
        if (static_cast<std::int64_t>(moved.size()) > rule_.most_columns) return false;
        last_.near.swap(moved);
        expand();
        return move(tol);
    }

    // Sets `there_.u` to the minimum of the model, sought from coefficients u.
    void seek(const double* u, double tol) {
        part_.resize(last_.near.size());
        for (std::size_t a = 0; a < last_.near.size(); ++a)
            part_[a] = u[last_.near[a]];
        model().minimise(part_.data(), tol);
        there_.u.assign(static_cast<std::size_t>(p_), 0.0);
        for (std::size_t a = 0; a < last_.near.size(); ++a)
            there_.u[static_cast<std::size_t>(last_.near[a])] = part_[a];
        combine(there_);
        is_known_ = true;
    }

    // Begins where the model is least; whether that is a point.
    bool jump(const double* u, double tol) {
        seek(u, tol);
        there_.b = last_.intercept;
        for (std::size_t a = 0; a < part_.size(); ++a)
            there_.b -= last_.mean[a] * part_[a];
        assess(there_);
        std::swap(now_, there_);
        is_known_ = std::isfinite(now_.objective);
        return is_known_;
    }

    // Goes as far towards the minimum of the model as there is descent; false where there is none.
    bool move(double tol) {
        seek(now_.u.data(), tol);
        double shift = 0.0, share = 1.0;  // of the best intercept, by the model
        if (intercept_ && now_.totals.bend > 0.0) {
            for (std::int64_t i = 0; i < risk_.n(); ++i)
                shift += now_.curvature[i] * (there_.z[i] - now_.z[i]);
            shift /= -now_.totals.bend;
        }
        for (int halving = 0; halving <= rule_.most_halvings; ++halving, share *= 0.3) {
            trial_.u.resize(now_.u.size());
            for (std::size_t j = 0; j < now_.u.size(); ++j)
                trial_.u[j] = now_.u[j] + share * (there_.u[j] - now_.u[j]);
            for (std::int64_t i = 0; i < risk_.n(); ++i)
                trial_.z[i] = now_.z[i] + share * (there_.z[i] - now_.z[i]);
            trial_.b = now_.b + share * shift;
            assess(trial_);
            if (trial_.objective < now_.objective * (1.0 - 1e-12)) {
                std::swap(now_, trial_);
                return true;
            }
        }
        return false;
    }

    // What dividing by a column would bring, by the model of the last step.
    void rise(double* into, double* out) {
        if (!is_known_) {
            last_.near = near();
            expand();
            part_.resize(last_.near.size());
            for (std::size_t a = 0; a < last_.near.size(); ++a)
                part_[a] = now_.u[static_cast<std::size_t>(last_.near[a])];
        }
        std::vector<double> own_into(last_.near.size()), own_out(last_.near.size());
        model().rises(part_.data(), own_into.data(), own_out.data());
        for (std::size_t a = 0; a < last_.near.size(); ++a) {
            into[last_.near[a]] = own_into[a];
            out[last_.near[a]] = own_out[a];
        }
    }

    const Risk& risk_;
    bool intercept_;
    const ColumnPool& x_;
    const std::int64_t* columns_;
    std::int64_t p_, n_fixed_, q_;
    RelaxationRule rule_;
    BudgetNorm norm_;
    std::vector<double> scores_;  // (p,) of the dual point of now_, not scaled
    Point &now_, &there_, &trial_;
    Buffer& dual_;
    QuadraticSpace& quadratic_;
    QuadraticModel last_;  // what the last step minimised, and where that led
    std::vector<double> part_;
    bool is_known_ = false;
    bool is_gradient_ = false;  // whether dual_ is minus the gradient at now_, but for rounding
};

}  // namespace zeronorm
