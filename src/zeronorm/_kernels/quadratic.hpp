// Compiled solver: the relaxation of a quadratic loss over few columns, each a unit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "budget_norm.hpp"
#include "cholesky.hpp"
#include "vectors.hpp"

namespace zeronorm {

// Constants of solvers/quadratic.py, in the order of its `rule`.
struct QuadraticRule {
    int most_steps, most_proximal, halvings;
    double flat, no_descent, most_base, full_share;
};

// Room for linear systems, one after the other: large enough to be worth keeping.
struct QuadraticSpace {
    std::vector<double> system, factor, unit;
};

// min_u 1/2 u'Hu - r'u + 1/2 ||u_A||^2 + 1/2 ||u_F||_(q)^2, A the first columns, as `Quadratic` of
// solvers/quadratic.py does.
class QuadraticSolver {
  public:
    QuadraticSolver(const double* matrix, const double* right, std::int64_t p, std::int64_t n_fixed,
                    std::int64_t q, const QuadraticRule& rule, QuadraticSpace& space)
        : matrix_(matrix),
          right_(right),
          p_(p),
          n_fixed_(n_fixed),
          q_(q),
          norm_(p, n_fixed, q),
          rule_(rule),
          system_(space.system),
          factor_(space.factor),
          unit_(space.unit) {}

    // Moves u until the value is within `tol` of the least, or no step is left that descends.
    void minimise(double* u, double tol) {
        std::vector<double> image = times(u), scores(size()), move(size()), trial(size());
        double penalty = norm_.half_square(u);
        double value = 0.5 * dot(u, image.data()) - dot(right_, u) + penalty;
        double typical = 0.0;
        for (std::int64_t j = 0; j < p_; ++j)
            typical += matrix_[j * p_ + j] / static_cast<double>(p_);
        if (!(typical > 0.0)) typical = 1.0;
        int left = rule_.most_proximal;
        for (int round = 0; round < rule_.most_steps; ++round) {
            for (std::size_t j = 0; j < size(); ++j)
                scores[j] = right_[j] - image[j];
            if (penalty + norm_.conjugate(scores.data()) - dot(u, scores.data()) <= tol) return;
            bool descends = false;
            for (int way = 0; way < (left > 0 ? 3 : 2) && !descends; ++way) {
                const std::vector<double> towards =
                    way == 2 ? proximal_point(u, scores.data())
                             : target(u, scores.data(), way == 0 ? 1.0 : typical);
                for (std::size_t j = 0; j < size(); ++j)
                    move[j] = towards[j] - u[j];
                const std::vector<double> along = times(move.data());
                const double slope = -dot(move.data(), scores.data());
                const double bend = dot(move.data(), along.data()), smooth = value - penalty;
                double step = 1.0;
                for (int halving = 0; halving < rule_.halvings; ++halving, step *= 0.5) {
                    for (std::size_t j = 0; j < size(); ++j)
                        trial[j] = u[j] + step * move[j];
                    const double of_trial = norm_.half_square(trial.data());
                    const double lower =
                        smooth + step * slope + 0.5 * step * step * bend + of_trial;
                    if (!(lower < value - rule_.no_descent * std::abs(value))) continue;
                    for (std::size_t j = 0; j < size(); ++j)
                        image[j] += step * along[j];
                    std::copy(trial.begin(), trial.end(), u);
                    value = lower;
                    penalty = of_trial;
                    left -= way == 2;
                    descends = true;
                    break;
                }
            }
            if (!descends) return;
        }
    }

    // By how much the value rises if a column must be in, and if it must be out, at a solution u;
    // 0 where its share there is not between 0 and 1.
    void rises(const double* u, double* into, double* out) {
        std::fill_n(into, p_, 0.0);
        std::fill_n(out, p_, 0.0);
        const std::vector<double> image = times(u);
        std::vector<double> v(size());
        for (std::size_t j = 0; j < size(); ++j)
            v[j] = u[j] + (right_[j] - image[j]);
        if (!finite(v)) return;
        const Sets sets = sets_at(v, 1.0);
        const std::size_t m = sets.columns.size(), inside = sets.inside, n_between = m - inside;
        std::vector<double> part(m), column(m, 0.0), row(m);
        if (n_between == 0 || !solve_given(v, sets, part)) return;
        const auto order = static_cast<std::int64_t>(m);
        const auto left = static_cast<double>(sets.left);
        std::vector<double> own(n_between), shared(n_between, 0.0), length(n_between);
        for (std::size_t a = inside; a < m; ++a)
            column[a] = sign(v, sets.columns[a]) * unit_[a];
        solve_factored(factor_.data(), order, order, column.data());
        for (std::size_t c = 0; c < n_between; ++c) {
            const std::size_t at = inside + c;
            const double side = sign(v, sets.columns[at]);
            shared[c] = side * unit_[at] * column[at];
            const double diagonal =
                inverse_diagonal(factor_.data(), order, static_cast<std::int64_t>(at), row.data());
            own[c] = std::max(unit_[at] * unit_[at] * diagonal, kNothing);
            length[c] = std::max(part[at] * side, 0.0);
        }
        const double all = std::accumulate(shared.begin(), shared.end(), 0.0);
        const double total = std::accumulate(length.begin(), length.end(), 0.0);
        for (std::size_t c = 0; c < n_between; ++c) {
            const std::int64_t j = sets.columns[inside + c];
            const double across =
                left * (left - 1.0) + left * left * own[c] - 2.0 * left * shared[c] + all;
            const double away = left * length[c] - total;
            into[j] = 0.5 * away * away / std::max(across, kNothing);
            out[j] = 0.5 * length[c] * length[c] / own[c];
        }
    }

  private:
    std::size_t size() const { return static_cast<std::size_t>(p_); }

    double dot(const double* a, const double* c) const {
        return std::inner_product(a, a + p_, c, 0.0);
    }

    std::vector<double> times(const double* u) const {
        std::vector<double> image(size(), 0.0);
        for (std::int64_t j = 0; j < p_; ++j) {  // H is symmetric
            if (u[j] == 0.0) continue;
            const double* const row = matrix_ + j * p_;
            for (std::int64_t k = 0; k < p_; ++k)
                image[static_cast<std::size_t>(k)] += u[j] * row[k];
        }
        return image;
    }

    // The shares of argmin_u curvature/2 ||u - v||^2 + 1/2 ||u||_(q)^2 over the free columns, 1 of
    // the others: clip(x |v_j| - 1/curvature, 0, 1) for the x at which they sum to q.
    std::vector<double> shares(const double* v, double curvature) {
        std::vector<double> share(size(), 1.0);
        std::fill(share.begin() + n_fixed_, share.end(), 0.0);
        if (q_ == 0) return share;
        std::vector<std::pair<double, std::int64_t>> order;
        std::int64_t nonzero = 0;
        for (std::int64_t j = n_fixed_; j < p_; ++j) {
            order.emplace_back(-std::abs(v[j]), j);
            nonzero += v[j] != 0.0;
        }
        const std::int64_t count = std::min(q_, p_ - n_fixed_);
        if (nonzero <= q_) {  // ties by index
            std::partial_sort(order.begin(), order.begin() + count, order.end());
            for (std::int64_t i = 0; i < count; ++i)
                share[static_cast<std::size_t>(order[static_cast<std::size_t>(i)].second)] = 1.0;
            return share;
        }
        const double base = std::min(1.0 / curvature, rule_.most_base);
        std::nth_element(order.begin(), order.begin() + (count - 1), order.end());
        // At (1 + base) / the q-th the sum is at least q: what is zero there is zero at the end.
        const double least =
            -order[static_cast<std::size_t>(count - 1)].first * (base / (1.0 + base));
        std::vector<double> some;
        for (std::int64_t j = n_fixed_; j < p_; ++j)
            if (std::abs(v[j]) >= least) some.push_back(std::abs(v[j]));
        const double x = where_they_sum_to_q(some, base);
        for (std::int64_t j = n_fixed_; j < p_; ++j)
            if (std::abs(v[j]) >= least)
                share[static_cast<std::size_t>(j)] =
                    std::clamp(x * std::abs(v[j]) - base, 0.0, 1.0);
        return share;
    }

    double where_they_sum_to_q(const std::vector<double>& a, double base) const {
        const auto total = [&](double x) {
            double sum = 0.0;
            for (const double one : a)
                sum += std::clamp(x * one - base, 0.0, 1.0);
            return sum;
        };
        std::vector<double> points;  // where a share leaves 0 or reaches 1
        for (const double one : a) {
            points.push_back(base / one);
            points.push_back((1.0 + base) / one);
        }
        std::sort(points.begin(), points.end());
        const auto wanted = static_cast<double>(q_);
        // The sum rises from point to point.
        auto high = std::partition_point(points.begin() + 1, points.end() - 1,
                                         [&](double x) { return total(x) <= wanted; });
        const double first = *(high - 1), last = *high, below = total(first), above = total(last);
        return above > below ? first + (last - first) * (wanted - below) / (above - below) : last;
    }

    // The columns of share 1 at a point v = u + c / t, then those between 0 and 1.
    struct Sets {
        std::vector<std::int64_t> columns;
        std::size_t inside = 0;  // of them, the first: their share is 1
        std::int64_t left = 0;   // of the budget, for the others
    };

    Sets sets_at(const std::vector<double>& v, double curvature) {
        std::vector<double> share = shares(v.data(), curvature);
        for (double& one : share)
            if (one >= rule_.full_share) one = 1.0;
        Sets sets;
        for (std::int64_t j = 0; j < p_; ++j)
            if (share[static_cast<std::size_t>(j)] == 1.0) sets.columns.push_back(j);
        sets.inside = sets.columns.size();
        sets.left = n_fixed_ + q_ - static_cast<std::int64_t>(sets.inside);
        for (std::int64_t j = 0; j < p_ && sets.left > 0; ++j) {  // 0: by rounding
            const double one = share[static_cast<std::size_t>(j)];
            if (one > 0.0 && one < 1.0) sets.columns.push_back(j);
        }
        return sets;
    }

    // The minimum given the sets at u, the columns at 0 that would change their signs.
    std::vector<double> target(const double* u, const double* scores, double curvature) {
        std::vector<double> v(size()), found(size(), 0.0);
        for (std::size_t j = 0; j < size(); ++j)
            v[j] = u[j] + scores[j] / curvature;
        if (!finite(v)) return {u, u + p_};
        Sets sets = sets_at(v, curvature);
        const auto ahead = [&](double one, std::int64_t j) { return one * sign(v, j) > 0.0; };
        for (bool again = true; again;) {
            std::vector<double> part(sets.columns.size());
            if (!solve_given(v, sets, part)) return {u, u + p_};
            std::fill(found.begin(), found.end(), 0.0);
            std::vector<std::int64_t> stay;
            for (std::size_t a = 0; a < sets.columns.size(); ++a) {
                const std::int64_t j = sets.columns[a];
                if (a >= sets.inside && !ahead(part[a], j)) continue;
                stay.push_back(j);
                found[static_cast<std::size_t>(j)] = part[a];
            }
            again = stay.size() < sets.columns.size();
            sets.columns = stay;
        }
        return found;
    }

    // Sets factor_ to that of the system of some sets, between unit_ on both sides; whether there
    // is one.
    bool factor_given(const std::vector<double>& v, const Sets& sets) {
        const std::size_t m = sets.columns.size();
        std::vector<double> side(m, 0.0);
        system_.resize(m * m);  // the upper triangle
        factor_.resize(m * m);
        unit_.resize(m);
        for (std::size_t a = sets.inside; a < m; ++a)
            side[a] = sign(v, sets.columns[a]);
        for (std::size_t a = 0; a < m; ++a) {
            const double* const row = matrix_ + sets.columns[a] * p_;
            const double across =
                side[a] / static_cast<double>(std::max<std::int64_t>(sets.left, 1));
            for (std::size_t c = a; c < m; ++c)
                system_[a * m + c] = row[sets.columns[c]] + across * side[c];
            double& diagonal = system_[a * m + a];
            diagonal += a < sets.inside ? 1.0 : rule_.flat * (1.0 + diagonal);
            unit_[a] = 1.0 / std::sqrt(diagonal);
        }
        for (std::size_t a = 0; a < m; ++a)  // the scales may differ by many orders
            for (std::size_t c = a; c < m; ++c)
                system_[a * m + c] *= unit_[a] * unit_[c];
        const auto order = static_cast<std::int64_t>(m);
        try {
            cholesky(system_.data(), order, order, factor_.data());
        } catch (const NotFinite&) {
            return false;
        }
        return true;
    }

    // The minimum over the columns of some sets; whether there is one.
    bool solve_given(const std::vector<double>& v, const Sets& sets, std::vector<double>& part) {
        if (!factor_given(v, sets)) return false;
        const auto order = static_cast<std::int64_t>(part.size());
        for (std::size_t a = 0; a < part.size(); ++a)
            part[a] = unit_[a] * right_[sets.columns[a]];
        solve_factored(factor_.data(), order, order, part.data());
        for (std::size_t a = 0; a < part.size(); ++a)
            part[a] *= unit_[a];
        return true;
    }

    // Where a proximal gradient step leads, from which there is always descent.
    std::vector<double> proximal_point(const double* u, const double* scores) {
        double bend = 0.0;
        for (std::int64_t j = 0; j < p_; ++j) {
            double row = 0.0;
            for (std::int64_t k = 0; k < p_; ++k)
                row += std::abs(matrix_[j * p_ + k]);
            bend = std::max(bend, row);
        }
        if (bend == 0.0) bend = 1.0;
        std::vector<double> point(size());
        for (std::size_t j = 0; j < size(); ++j)
            point[j] = u[j] + scores[j] / bend;
        if (!finite(point)) return {u, u + p_};
        const std::vector<double> share = shares(point.data(), bend);
        for (std::size_t j = 0; j < size(); ++j)
            point[j] *= bend * share[j] / (bend * share[j] + 1.0);
        return point;
    }

    static double sign(const std::vector<double>& v, std::int64_t j) {
        return v[static_cast<std::size_t>(j)] < 0.0 ? -1.0 : 1.0;
    }

    const double* matrix_;
    const double* right_;
    std::int64_t p_, n_fixed_, q_;
    BudgetNorm norm_;
    QuadraticRule rule_;
    std::vector<double>&system_, &factor_, &unit_;  // of the last sets
};

}  // namespace zeronorm
