// Splicing and swaps on a pool of dense columns, from a support to one that no exchange betters.
//
//     min_{u, b}  1/2 ||u||^2 + sum_i s_i f(y_i, z_i'u + b)   subject to  ||u||_0 = k
//
// Where a row has several outputs, u_j is the coefficients of a column in all of them, and k counts
// the columns. For pools so small that calls from outside would cost more than what they do.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "support_fit.hpp"

namespace zeronorm {

// How many exchanges are tried, as in `solvers/exchange.py`, which says why.
struct ExchangeRule {
    std::int64_t most_spliced, splice_rounds, most_leaving, most_trials, trials_each;
    double won_back;
};

class PoolExchanges {
  public:
    // x: n rows, p columns, by strides in elements; is_kept: p flags of columns of every support.
    PoolExchanges(const double* x, std::int64_t row_stride, std::int64_t column_stride,
                  std::int64_t p, SupportProblem& problem, const std::uint8_t* is_kept, double tol,
                  double fit_tol, const ExchangeRule& rule)
        : problem_(problem),
          p_(p),
          n_rows_(problem.n_rows()),
          q_(problem.outputs()),
          is_kept_(is_kept),
          tol_(tol),
          fit_tol_(fit_tol),
          rule_(rule) {
        const auto column_of = [](std::int64_t j) { return j; };
        copy_columns(x, row_stride, column_stride, problem.n(), p, column_of, n_rows_, z_);
    }

    // From `columns` with coefficients to start from. known: a support for which all exchanges with
    // columns before `n_known` have been tried.
    SupportFit improve(std::vector<std::int64_t> columns, std::vector<double> coef, double b,
                       bool swaps, std::vector<std::int64_t> known, std::int64_t n_known) {
        known_ = std::move(known);
        n_known_ = n_known;
        problem_.begin(size(columns));
        SupportFit current = fit(std::move(columns), std::move(coef), b, kNone);
        do {
            splice(current);
        } while (swaps && swap(current));
        return current;
    }

  private:
    static constexpr double kNone = std::numeric_limits<double>::infinity();

    SupportFit fit(std::vector<std::int64_t> columns, std::vector<double> coef, double b,
                   double cutoff) {
        SupportFit found;
        found.columns = std::move(columns);
        found.coef = std::move(coef);
        found.margins.assign(at(q_ * n_rows_), 0.0);
        found.dual.assign(at(q_ * n_rows_), 0.0);
        found.scores.assign(found.coef.size(), 0.0);
        found.answer.intercept = b;
        problem_.fit(z_, fit_tol_, cutoff, found);
        return found;
    }

    // The columns before this one have been tried at the support.
    std::int64_t tried(const SupportFit& current) const {
        return current.columns == known_ ? n_known_ : 0;
    }

    void splice(SupportFit& current) {
        for (std::int64_t round = 0; round < rule_.splice_rounds; ++round) {
            if (tried(current) == p_) return;
            std::vector<std::int64_t> leaving = movable(current), entering = outside(current, 0);
            const std::int64_t most = std::min({rule_.most_spliced, size(leaving), size(entering)});
            if (most == 0) return;
            problem_.evaluate(current.margins.data(), v_, curvature_);
            std::vector<double> score(at(q_ * p_)), bend(at(q_ * p_));
            products(current.dual.data(), curvature_, q_, 0, score.data(), bend.data());
            // Comparisons need an order, which NaN has not: what overflows stays.
            const auto ordered = [](double value, double instead) {
                return std::isnan(value) ? instead : value;
            };
            std::vector<double> lost(current.columns.size()), gain(at(p_));
            for (const std::int64_t place : leaving) {
                const std::int64_t j = current.columns[at(place)];
                lost[at(place)] = ordered(sum_of([&](std::int64_t o) {
                                              const double u = current.coef[at(place * q_ + o)];
                                              return bend[at(o * p_ + j)] * u * u;
                                          }),
                                          kNone);
            }
            for (const std::int64_t j : entering)
                gain[at(j)] = ordered(sum_of([&](std::int64_t o) {
                                          return score[at(o * p_ + j)] * score[at(o * p_ + j)] /
                                                 bend[at(o * p_ + j)];
                                      }),
                                      -1.0);
            first_of(leaving, most, [&](std::int64_t a, std::int64_t b) {
                const double x = lost[at(a)], y = lost[at(b)];
                return x < y || (x == y && a > b);  // ties keep the smaller index
            });
            first_of(entering, most, [&](std::int64_t a, std::int64_t b) {
                const double x = gain[at(a)], y = gain[at(b)];
                return x > y || (x == y && a < b);
            });
            std::vector<double> start;
            for (const std::int64_t j : entering)
                for (std::int64_t o = 0; o < q_; ++o)
                    start.push_back(first_coef(score[at(o * p_ + j)], bend[at(o * p_ + j)]));
            std::optional<SupportFit> best;
            double limit = limit_of(current);
            for (std::int64_t count = most; count >= 1; count /= 2) {
                std::optional<SupportFit> trial =
                    exchanged(current, {leaving.begin(), leaving.begin() + count},
                              {entering.begin(), entering.begin() + count}, start.data(), limit);
                if (trial) {
                    limit = trial->answer.objective;
                    best = std::move(trial);
                }
            }
            if (!best) return;
            current = std::move(*best);
        }
    }

    bool swap(SupportFit& current) {
        bool any = false;
        while (step(current))
            any = true;
        return any;
    }

    // Makes the first of the promising swaps that lowers the objective by enough; false: none does.
    bool step(SupportFit& current) {
        const std::vector<std::int64_t> entering = outside(current, tried(current));
        const std::vector<std::int64_t> leaving = weakest(current);
        const std::int64_t count = size(leaving);
        if (count == 0 || entering.empty()) return false;
        const std::vector<double> objective = without(current, leaving);
        const std::int64_t start = entering.front(), width = p_ - start;
        std::vector<double> score(at(count * q_ * width)), bend(at(count * q_ * width));
        products(many_v_.data(), many_curvature_.data(), count * q_, start, score.data(),
                 bend.data());
        struct Swap {
            double value;
            std::int64_t leaving, entering;
        };
        const auto before = [](const Swap& a, const Swap& b) {
            return a.value < b.value || (a.value == b.value && a.entering < b.entering);
        };
        std::vector<Swap> pairs, own;
        for (std::int64_t l = 0; l < count; ++l) {
            own.clear();
            const double needed = rule_.won_back * (objective[at(l)] - current.answer.objective);
            for (const std::int64_t j : entering) {
                const double gain = sum_of([&](std::int64_t o) {
                    const std::size_t place = at((l * q_ + o) * width + j - start);
                    return score[place] * score[place] / (2.0 * bend[place]);
                });
                const double value = objective[at(l)] - gain;
                // Neither where a number overflows.
                if (gain >= needed && std::isfinite(value)) own.push_back({value, l, j});
            }
            first_of(own, rule_.trials_each, before);
            pairs.insert(pairs.end(), own.begin(), own.end());
        }
        first_of(pairs, rule_.most_trials, before);
        const double limit = limit_of(current);
        std::vector<double> coef(at(q_));
        for (const Swap& pair : pairs) {
            for (std::int64_t o = 0; o < q_; ++o) {
                const std::size_t place =
                    at((pair.leaving * q_ + o) * width + pair.entering - start);
                coef[at(o)] = first_coef(score[place], bend[place]);
            }
            std::optional<SupportFit> trial = exchanged(current, {leaving[at(pair.leaving)]},
                                                        {pair.entering}, coef.data(), limit);
            if (trial) {
                current = std::move(*trial);
                return true;
            }
        }
        return false;
    }

    // The support with some places left and some columns entered where that is below the limit.
    std::optional<SupportFit> exchanged(const SupportFit& current,
                                        const std::vector<std::int64_t>& leaving,
                                        const std::vector<std::int64_t>& entering,
                                        const double* coef, double limit) {
        std::vector<std::pair<std::int64_t, const double*>> parts;  // columns, their coefficients
        for (std::int64_t place = 0; place < size(current.columns); ++place)
            if (std::find(leaving.begin(), leaving.end(), place) == leaving.end())
                parts.emplace_back(current.columns[at(place)], &current.coef[at(place * q_)]);
        for (std::int64_t k = 0; k < size(entering); ++k)
            parts.emplace_back(entering[at(k)], coef + k * q_);
        std::sort(parts.begin(), parts.end());
        std::vector<std::int64_t> columns;
        std::vector<double> start;
        for (const auto& [column, values] : parts) {
            columns.push_back(column);
            start.insert(start.end(), values, values + q_);
        }
        const auto known = failed_.find(columns);
        if (known != failed_.end() && known->second >= limit) return std::nullopt;
        SupportFit found = fit(columns, std::move(start), current.answer.intercept, limit);
        if (found.answer.objective < limit) return found;
        failed_[std::move(columns)] = limit;
        return std::nullopt;
    }

    // What a coefficient that enters starts from: of several outputs 0, as in Python, where
    // exchanges of groups have no model of a single column.
    double first_coef(double score, double bend) const { return q_ > 1 ? 0.0 : score / bend; }

    double limit_of(const SupportFit& current) const {
        return current.answer.objective * (1.0 - tol_);
    }

    // Places in the support that may leave, sorted.
    std::vector<std::int64_t> movable(const SupportFit& current) const {
        std::vector<std::int64_t> places;
        for (std::int64_t place = 0; place < size(current.columns); ++place)
            if (!is_kept_[current.columns[at(place)]]) places.push_back(place);
        return places;
    }

    // Of these the ones of the least sacrifices.
    std::vector<std::int64_t> weakest(const SupportFit& current) {
        std::vector<std::int64_t> places = movable(current);
        if (size(places) <= rule_.most_leaving) return places;
        problem_.evaluate(current.margins.data(), v_, curvature_);
        std::vector<double> lost(current.columns.size());
        for (const std::int64_t place : places) {
            const double* const column = z_ + current.columns[at(place)] * n_rows_;
            const double sacrifice = sum_of([&](std::int64_t o) {
                double bend = 1.0;
                for (std::int64_t i = 0; i < n_rows_; ++i)
                    bend += curvature_[o * n_rows_ + i] * column[i] * column[i];
                const double u = current.coef[at(place * q_ + o)];
                return bend * u * u;
            });
            lost[at(place)] = std::isnan(sacrifice) ? kNone : sacrifice;
        }
        first_of(places, rule_.most_leaving, [&](std::int64_t a, std::int64_t b) {
            return lost[at(a)] < lost[at(b)] || (lost[at(a)] == lost[at(b)] && a < b);
        });
        std::sort(places.begin(), places.end());
        return places;
    }

    // Columns from `first` on that are not in the support, sorted.
    std::vector<std::int64_t> outside(const SupportFit& current, std::int64_t first) const {
        std::vector<std::int64_t> found;
        auto inside = current.columns.begin();
        for (std::int64_t j = 0; j < p_; ++j) {
            if (inside != current.columns.end() && *inside == j)
                ++inside;
            else if (j >= first)
                found.push_back(j);
        }
        return found;
    }

    // The objectives without each of some places, the other coefficients as they are; the
    // derivatives of the losses there go into many_v_ (minus the first) and many_curvature_.
    std::vector<double> without(const SupportFit& current,
                                const std::vector<std::int64_t>& leaving) {
        const std::int64_t length = q_ * n_rows_;
        many_v_.resize(at(size(leaving) * length));
        many_curvature_.resize(at(size(leaving) * length));
        const double penalty = 0.5 * std::inner_product(current.coef.begin(), current.coef.end(),
                                                        current.coef.begin(), 0.0);
        std::vector<double> objective;
        for (std::int64_t l = 0; l < size(leaving); ++l) {
            const double* const u = &current.coef[at(leaving[at(l)] * q_)];
            const double* const column = z_ + current.columns[at(leaving[at(l)])] * n_rows_;
            for (std::int64_t o = 0; o < q_; ++o)
                for (std::int64_t i = 0; i < n_rows_; ++i)
                    margin_[o * n_rows_ + i] =
                        current.margins[at(o * n_rows_ + i)] - u[o] * column[i];
            const double value = problem_.evaluate(margin_, many_v_.data() + l * length,
                                                   many_curvature_.data() + l * length);
            objective.push_back(value + penalty -
                                0.5 * sum_of([&](std::int64_t o) { return u[o] * u[o]; }));
        }
        return objective;
    }

    // score = z_j'v_l, bend = 1 + sum_i w_il z_ij^2 for the columns from `first` on, by vector.
    void products(const double* v, const double* w, std::int64_t n_vectors, std::int64_t first,
                  double* score, double* bend) const {
        const std::int64_t width = p_ - first;
        const double* const pool = z_ + first * n_rows_;
        const auto kernel = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
            for (std::int64_t j = 0; j < width; ++j) {
                const double* const column = pool + j * n_rows_;
                for (std::int64_t l = 0; l < n_vectors; l += 2) {
                    // An odd number of vectors: the last one twice.
                    const std::int64_t next = std::min(l + 1, n_vectors - 1);
                    const double *const v0 = v + l * n_rows_, *const v1 = v + next * n_rows_;
                    const double *const w0 = w + l * n_rows_, *const w1 = w + next * n_rows_;
                    Lanes s0{}, s1{}, h0{}, h1{}, x, other;
                    for (std::int64_t i = 0; i < n_rows_; i += kLaneCount) {
                        load(column + i, x);
                        load(v0 + i, other);
                        s0 += x * other;
                        load(v1 + i, other);
                        s1 += x * other;
                        x *= x;
                        load(w0 + i, other);
                        h0 += x * other;
                        load(w1 + i, other);
                        h1 += x * other;
                    }
                    score[next * width + j] = sum(s1);
                    bend[next * width + j] = 1.0 + sum(h1);
                    score[l * width + j] = sum(s0);
                    bend[l * width + j] = 1.0 + sum(h0);
                }
            }
        };
        run_block(kernel, 0);
    }

    // Leaves the first `count` of the items, in order.
    template <class T, class Before>
    static void first_of(std::vector<T>& items, std::int64_t count, const Before& before) {
        const std::int64_t kept = std::min(count, size(items));
        std::partial_sort(items.begin(), items.begin() + kept, items.end(), before);
        items.erase(items.begin() + kept, items.end());
    }

    // The sum of numbers of the outputs.
    template <class Of>
    double sum_of(const Of& of) const {
        double total = of(0);
        for (std::int64_t o = 1; o < q_; ++o)
            total += of(o);
        return total;
    }

    template <class T>
    static std::int64_t size(const std::vector<T>& items) {
        return static_cast<std::int64_t>(items.size());
    }
    static std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }

    SupportProblem& problem_;
    std::int64_t p_, n_rows_, q_;  // rows with padding
    const std::uint8_t* is_kept_;
    double tol_, fit_tol_;
    ExchangeRule rule_;
    std::vector<std::int64_t> known_;
    std::int64_t n_known_ = 0;
    std::map<std::vector<std::int64_t>, double> failed_;  // objectives that supports reach
    std::vector<double> many_v_, many_curvature_;
    Buffer z_{n_rows_ * p_}, margin_{q_ * n_rows_}, v_{q_ * n_rows_}, curvature_{q_ * n_rows_};
};

}  // namespace zeronorm
