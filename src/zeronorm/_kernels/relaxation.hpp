// Compiled solver: Newton steps on the relaxation of the l0 problem over columns, each a unit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "budget_norm.hpp"
#include "csc.hpp"
#include "dual.hpp"
#include "quadratic.hpp"
#include "ridge_rows.hpp"
#include "risk.hpp"

namespace zeronorm {

// What solvers/pool/relaxation.py calls by the same names, in small letters.
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

// What a solution has besides its arrays.
struct RelaxationAnswer {
    double intercept, objective, bound;
    bool is_done;  // false: no step descends, or there were too many
};

// min_{u, b} 1/2 ||u_A||^2 + 1/2 ||u_F||_(q)^2 + sum_i s_i f(y_i, z_i'u + b), A the first columns,
// as `relax` of solvers/pool/relaxation.py does until its interior-point method.
template <class Loss, class Chosen>
class RelaxationSolver {
  public:
    RelaxationSolver(const Risk<Loss>& risk, bool intercept, const Chosen& columns,
                     std::int64_t n_fixed, std::int64_t q, const RelaxationRule& rule)
        : risk_(risk),
          intercept_(intercept),
          columns_(columns),
          n_fixed_(n_fixed),
          q_(q),
          rule_(rule),
          norm_(columns.p, n_fixed, q),
          scores_(static_cast<std::size_t>(columns.p)) {}

    // u: the start, then the solution. dual (n,), scores (p,): the dual point of the best bound,
    // and what it is for the columns. share, into, out (p,): see `BudgetNorm::shares`,
    // `QuadraticSolver::rises`; of the latter 0 where the bound is above.
    RelaxationAnswer solve(double* u, double b, const RelaxationAim& aim, double* dual,
                           double* scores, double* share, double* into, double* out) {
        const auto p = static_cast<std::size_t>(columns_.p);
        now_.u.assign(u, u + p);
        combine(now_);
        now_.b = b;
        assess(now_);
        RelaxationAnswer answer{b, 0.0, -kInfinity, false};
        std::fill_n(dual, columns_.n, 0.0);
        std::fill_n(scores, p, 0.0);
        for (int n_steps = 0;; ++n_steps) {
            bound(answer.bound, dual, scores);
            const double wanted = now_.objective <= aim.cutoff ? aim.tol : rule_.finest;
            const double allowed = wanted * std::abs(now_.objective);
            answer.is_done = answer.bound > aim.cutoff || now_.objective - answer.bound <= allowed;
            if (answer.is_done || n_steps == rule_.max_newton) break;
            const double gap = std::max(allowed, now_.objective - aim.cutoff);
            if (!step(rule_.model_tol * gap)) break;
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
    struct Point {
        explicit Point(std::int64_t n_rows) : z(n_rows), v(n_rows), curvature(n_rows) {}
        std::vector<double> u;
        double b = 0.0;
        Buffer z, v, curvature;  // Zu, and of its margins with b: minus the gradient, f''
        RowTotals totals{};
        double objective = 0.0;
    };

    // z = Zu
    void combine(Point& point) const {
        std::fill_n(static_cast<double*>(point.z), risk_.n_rows(), 0.0);
        for (std::int64_t j = 0; j < columns_.p; ++j) {
            const double one = point.u[static_cast<std::size_t>(j)];
            if (one != 0.0) columns_.add(j, one, point.z);
        }
    }

    // Moves b to its best value, and sets what follows from u, z and b.
    void assess(Point& point) {
        if (!intercept_) point.b = 0.0;
        point.totals = risk_.evaluate(point.z, point.b, point.v, point.curvature);
        if (intercept_)
            risk_.fit_intercept(point.z, point.b, point.v, point.curvature, point.totals);
        point.objective = point.totals.value + norm_.half_square(point.u.data());
    }

    // The scores of the dual point, whose sum is 0 where the intercept is free; where its bound is
    // the best one, that, the point and its scores, scaled as the bound asks for.
    void bound(double& best, double* dual, double* scores) {
        double up = 0.0, down = 0.0;
        for (std::int64_t i = 0; i < columns_.n; ++i)
            (now_.v[i] > 0.0 ? up : down) += std::abs(now_.v[i]);
        const double light = std::min(up, down);
        const double keep_up = intercept_ && up > down ? light / up : 1.0;
        const double keep_down = intercept_ && down > up ? light / down : 1.0;
        for (std::int64_t i = 0; i < columns_.n; ++i)
            dual_[i] = now_.v[i] * (now_.v[i] > 0.0 ? keep_up : keep_down);
        for (std::int64_t j = 0; j < columns_.p; ++j)
            scores_[static_cast<std::size_t>(j)] = columns_.dot(j, dual_);
        const Dual<Loss> point(risk_, dual_);
        const auto [value, scale] = scaled_bound(point, norm_.conjugate(scores_.data()));
        if (!(value > best)) return;
        best = value;
        for (std::int64_t i = 0; i < columns_.n; ++i)
            dual[i] = scale * dual_[i];
        for (std::size_t j = 0; j < scores_.size(); ++j)
            scores[j] = scale * scores_[j];
    }

    // The columns that a step moves: those not at 0, and the next by score.
    std::vector<std::int64_t> near() const {
        std::vector<std::int64_t> some, others;
        for (std::int64_t j = 0; j < columns_.p; ++j) {
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

    // The quadratic model of the loss over near_, with the best intercept of all coefficients.
    void expand() {
        const std::size_t m = near_.size();
        Buffer pull(risk_.n_rows());
        double shift = 0.0;  // w'z
        for (std::int64_t i = 0; i < columns_.n; ++i) {
            pull[i] = now_.v[i] + now_.curvature[i] * now_.z[i];
            shift += now_.curvature[i] * now_.z[i];
        }
        matrix_.resize(m * m);
        right_.resize(m);
        cross_.resize(m);
        columns_.curve(
            near_, risk_.n_rows(), now_.curvature, pull,
            {static_cast<std::int64_t>(m), matrix_.data(), cross_.data(), right_.data()});
        const double total = now_.totals.bend;
        const bool centre = intercept_ && total > 0.0;
        for (std::size_t a = 0; a < m; ++a) {
            if (centre) right_[a] -= cross_[a] / total * shift;
            for (std::size_t c = a; c < m; ++c) {
                double& entry = matrix_[a * m + c];
                if (centre) entry -= cross_[a] * (cross_[c] / total);
                matrix_[c * m + a] = entry;
            }
        }
    }

    QuadraticSolver model() const {
        return {
            matrix_.data(), right_.data(), static_cast<std::int64_t>(near_.size()), n_fixed_, q_,
            rule_.quadratic};
    }

    // Takes a Newton step, solved to a gap; false where it does not descend, or has too many
    // columns.
    bool step(double tol) {
        std::vector<std::int64_t> moved = near();
        if (static_cast<std::int64_t>(moved.size()) > rule_.most_columns) return false;
        near_.swap(moved);
        expand();
        part_.resize(near_.size());
        for (std::size_t a = 0; a < near_.size(); ++a)
            part_[a] = now_.u[static_cast<std::size_t>(near_[a])];
        model().minimise(part_.data(), tol);
        there_.u.assign(now_.u.size(), 0.0);
        for (std::size_t a = 0; a < near_.size(); ++a)
            there_.u[static_cast<std::size_t>(near_[a])] = part_[a];
        combine(there_);
        double share = 1.0;
        for (int halving = 0; halving <= rule_.most_halvings; ++halving, share *= 0.3) {
            trial_.u.resize(now_.u.size());
            for (std::size_t j = 0; j < now_.u.size(); ++j)
                trial_.u[j] = now_.u[j] + share * (there_.u[j] - now_.u[j]);
            for (std::int64_t i = 0; i < columns_.n; ++i)
                trial_.z[i] = now_.z[i] + share * (there_.z[i] - now_.z[i]);
            trial_.b = now_.b;
            assess(trial_);
            if (trial_.objective < now_.objective * (1.0 - 1e-12)) {
                std::swap(now_, trial_);
                is_known_ = true;
                return true;
            }
        }
        return false;
    }

    // What dividing by a column would bring, by the model of the last step.
    void rise(double* into, double* out) {
        if (!is_known_) {
            near_ = near();
            expand();
            part_.resize(near_.size());
            for (std::size_t a = 0; a < near_.size(); ++a)
                part_[a] = now_.u[static_cast<std::size_t>(near_[a])];
        }
        std::vector<double> own_into(near_.size()), own_out(near_.size());
        model().rises(part_.data(), own_into.data(), own_out.data());
        for (std::size_t a = 0; a < near_.size(); ++a) {
            into[near_[a]] = own_into[a];
            out[near_[a]] = own_out[a];
        }
    }

    const Risk<Loss>& risk_;
    bool intercept_;
    Chosen columns_;
    std::int64_t n_fixed_, q_;
    RelaxationRule rule_;
    BudgetNorm norm_;
    std::vector<double> scores_;  // (p,) of the dual point of now_, not scaled
    Point now_{risk_.n_rows()}, there_{risk_.n_rows()}, trial_{risk_.n_rows()};
    Buffer dual_{risk_.n_rows()};
    // The last step: its columns, what it minimised, and where that led.
    std::vector<std::int64_t> near_;
    std::vector<double> matrix_, right_, cross_, part_;
    bool is_known_ = false;
};

}  // namespace zeronorm
