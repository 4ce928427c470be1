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

#include "cholesky.hpp"
#include "vectors.hpp"

namespace zeronorm {

// What solvers/pool/quadratic.py calls by the same names, in small letters.
struct QuadraticRule {
    int most_steps, most_proximal, halvings;
    double flat, no_descent, most_base;
};

// min_u 1/2 u'Hu - r'u + 1/2 ||u_A||^2 + 1/2 ||u_F||_(q)^2, A the first columns, as `Quadratic` of
// solvers/pool/quadratic.py does.
class QuadraticSolver {
  public:
    QuadraticSolver(const double* matrix, const double* right, std::int64_t p, std::int64_t n_fixed,
                    std::int64_t q, const QuadraticRule& rule)
        : matrix_(matrix), right_(right), p_(p), n_fixed_(n_fixed), q_(q), rule_(rule) {}

    // Moves u until the value is within `tol` of the least, or no step is left that descends.
    void minimise(double* u, double tol) {
        std::vector<double> image = times(u), scores(size()), move(size()), trial(size());
        double penalty = penalty_of(u);
        double value = 0.5 * dot(u, image.data()) - dot(right_, u) + penalty;
        double typical = 0.0;
        for (std::int64_t j = 0; j < p_; ++j)
            typical += matrix_[j * p_ + j] / static_cast<double>(p_);
        if (!(typical > 0.0)) typical = 1.0;
        int left = rule_.most_proximal;
        for (int round = 0; round < rule_.most_steps; ++round) {
            for (std::size_t j = 0; j < size(); ++j)
                scores[j] = right_[j] - image[j];
            if (penalty + conjugate(scores.data()) - dot(u, scores.data()) <= tol) return;
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
                    const double of_trial = penalty_of(trial.data());
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

    // 1/2 ||u_A||^2 + 1/2 ||u_F||_(q)^2: with the sizes sorted, the first ones are above
    // t = (sum of the others) / (q - how many they are).
    double penalty_of(const double* u) {
        const double fixed = std::inner_product(u, u + n_fixed_, u, 0.0);
        sizes_.clear();
        for (std::int64_t j = n_fixed_; j < p_; ++j)
            if (u[j] != 0.0) sizes_.push_back(std::abs(u[j]));
        double squares = 0.0;
        const auto q = static_cast<std::size_t>(q_);
        if (sizes_.size() <= q) {
            for (const double one : sizes_)
                squares += one * one;
            return 0.5 * fixed + 0.5 * squares;
        }
        if (q == 0) return kInfinity;
        if (!finite(sizes_)) return kInfinity;  // a NaN has no place in an order
        std::sort(sizes_.begin(), sizes_.end());
        rests_.resize(sizes_.size());
        std::partial_sum(sizes_.begin(), sizes_.end(), rests_.begin());
        std::size_t above = 0;
        for (;; ++above) {
            const std::size_t at = sizes_.size() - 1 - above;
            const double mean = rests_[at] / static_cast<double>(q - above);
            if (above + 1 == q || sizes_[at] <= mean)
                return 0.5 * fixed + 0.5 * (squares + rests_[at] * mean);
            squares += sizes_[at] * sizes_[at];
        }
    }

    // 1/2 (the squares of A, and the q largest of the others)
    double conjugate(const double* scores) {
        const double squares = std::inner_product(scores, scores + n_fixed_, scores, 0.0);
        sizes_.clear();
        for (std::int64_t j = n_fixed_; j < p_; ++j)
            sizes_.push_back(scores[j] * scores[j]);
        if (!finite(sizes_)) return kInfinity;
        const std::int64_t count = std::min(q_, p_ - n_fixed_);
        std::nth_element(sizes_.begin(), sizes_.begin() + count, sizes_.end(), std::greater<>());
        return 0.5 * std::accumulate(sizes_.begin(), sizes_.begin() + count, squares);
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
            -order[static_cast<std::size_t>(count - 1)].first * base / (1.0 + base);
        std::vector<double> some;
        for (std::int64_t j = n_fixed_; j < p_; ++j)
            if (std::abs(v[j]) > least) some.push_back(std::abs(v[j]));
        const double x = where_they_sum_to_q(some, base);
        for (std::int64_t j = n_fixed_; j < p_; ++j)
            if (std::abs(v[j]) > least)
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

    // The minimum given the sets at u, the columns at 0 that would change their signs.
    std::vector<double> target(const double* u, const double* scores, double curvature) {
        std::vector<double> v(size()), found(size(), 0.0);
        for (std::size_t j = 0; j < size(); ++j)
            v[j] = u[j] + scores[j] / curvature;
        if (!finite(v)) return {u, u + p_};
        const std::vector<double> share = shares(v.data(), curvature);
        std::vector<std::int64_t> columns;
        for (std::int64_t j = 0; j < p_; ++j)
            if (share[static_cast<std::size_t>(j)] == 1.0) columns.push_back(j);
        const std::size_t inside = columns.size();
        const std::int64_t left = n_fixed_ + q_ - static_cast<std::int64_t>(inside);
        for (std::int64_t j = 0; j < p_ && left > 0; ++j) {  // 0: by rounding
            const double one = share[static_cast<std::size_t>(j)];
            if (one > 0.0 && one < 1.0) columns.push_back(j);
        }
        const auto ahead = [&](double one, std::int64_t j) { return one * sign(v, j) > 0.0; };
        for (bool again = true; again;) {
            std::vector<double> part(columns.size());
            if (!solve_given(v, columns, inside, left, part)) return {u, u + p_};
            std::fill(found.begin(), found.end(), 0.0);
            std::vector<std::int64_t> stay;
            for (std::size_t a = 0; a < columns.size(); ++a) {
                if (a >= inside && !ahead(part[a], columns[a])) continue;
                stay.push_back(columns[a]);
                found[static_cast<std::size_t>(columns[a])] = part[a];
            }
            again = stay.size() < columns.size();
            columns = stay;
        }
        return found;
    }

    // The minimum over some columns, the first of share 1, the others with the shares that are
    // left; whether there is one.
    bool solve_given(const std::vector<double>& v, const std::vector<std::int64_t>& columns,
                     std::size_t inside, std::int64_t left, std::vector<double>& part) const {
        const std::size_t m = columns.size();
        std::vector<double> system(m * m), factor(m * m), unit(m);
        for (std::size_t a = 0; a < m; ++a) {
            for (std::size_t c = 0; c < m; ++c) {
                double entry = matrix_[columns[a] * p_ + columns[c]];
                if (a >= inside && c >= inside)
                    entry += sign(v, columns[a]) * sign(v, columns[c]) / static_cast<double>(left);
                system[a * m + c] = entry;
            }
            double& diagonal = system[a * m + a];
            diagonal += a < inside ? 1.0 : rule_.flat * (1.0 + diagonal);
            unit[a] = 1.0 / std::sqrt(diagonal);
        }
        for (std::size_t a = 0; a < m; ++a) {  // the scales may differ by many orders
            for (std::size_t c = 0; c < m; ++c)
                system[a * m + c] *= unit[a] * unit[c];
            part[a] = unit[a] * right_[columns[a]];
        }
        const auto order = static_cast<std::int64_t>(m);
        try {
            cholesky(system.data(), order, order, factor.data());
        } catch (const NotFinite&) {
            return false;
        }
        solve_factored(factor.data(), order, order, part.data());
        for (std::size_t a = 0; a < m; ++a)
            part[a] *= unit[a];
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

    static bool finite(const std::vector<double>& values) {
        return std::all_of(values.begin(), values.end(),
                           [](double one) { return std::isfinite(one); });
    }

    static double sign(const std::vector<double>& v, std::int64_t j) {
        return v[static_cast<std::size_t>(j)] < 0.0 ? -1.0 : 1.0;
    }

    const double* matrix_;
    const double* right_;
    std::int64_t p_, n_fixed_, q_;
    QuadraticRule rule_;
    std::vector<double> sizes_, rests_;
};

}  // namespace zeronorm
