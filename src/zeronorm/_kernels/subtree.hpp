// Compiled solver: a part of a branch and bound search, over columns each a unit.
#pragma once

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "decisions.hpp"
#include "dual.hpp"
#include "relaxation.hpp"
#include "risk.hpp"

namespace zeronorm {

using Places = std::vector<std::int64_t>;

inline constexpr std::size_t kKinds = 4096;

// Constants of solvers/branch_and_bound.py (`no_better` is PROVEN there), and the limits of a call.
struct SubtreeRule {
    RelaxationRule relaxation;
    double node_tol, leaf_tol, no_better, decided;  // relative
    std::int64_t budget, most_nodes;
    double most_coef;  // the models' coefficients are no larger
    double level;      // nodes but the first are examined where their bounds are no larger
};

// Models with all of the first n_fixed units and some of the others.
struct SubtreeNode {
    double bound;
    std::int64_t number;  // in the subtree
    std::int64_t known;   // of the solution that it has its bound and its start from
    std::int64_t n_fixed;
    Places units;
};

// What is known of an examined node.
struct SubtreeSolution {
    std::vector<double> dual;
    Places used;  // columns that are not 0 in its relaxation, their coefficients
    std::vector<double> coef;
    double intercept;
    Places support;        // rounded
    QuadraticModel model;  // of the last step of its relaxation, over units
};

// The nodes of a subtree but the first, in the order in which they came up.
struct SubtreeRecord {
    Places parent, unit, known;  // -1: no unit divides it, and it is not examined
    std::vector<std::uint8_t> inside;
};

// `BranchAndBound` of solvers/branch_and_bound.py from one node on, for the best known objective as
// it was at the beginning. A better model ends it: decisions by that are sharper.
class Subtree {
  public:
    Subtree(const Risk& risk, bool intercept, const ColumnPool& x, const SubtreeRule& rule,
            double target, double objective, const Places& best)
        : risk_(risk),
          intercept_(intercept),
          x_(x),
          rule_(rule),
          target_(target),
          objective_(objective),
          limit_(target + rule.decided * std::abs(target)),
          tried_{best} {}

    // Examines the nodes of the smallest bounds, of the first one and what comes of it.
    void grow(SubtreeNode first, SubtreeSolution start) {
        solutions.push_back(std::move(start));
        open.push_back(std::move(first));
        while (!open.empty() && open.front().bound < target_ && !is_better &&
               n_examined() < rule_.most_nodes &&
               (n_examined() == 0 || open.front().bound <= rule_.level)) {
            std::pop_heap(open.begin(), open.end(), after);
            SubtreeNode node = std::move(open.back());
            open.pop_back();
            if (!examine(node)) {
                left.push_back(std::move(node));
                if (n_examined() == 0) break;
            }
        }
        for (SubtreeNode& node : left)
            open.push_back(std::move(node));
    }

    std::int64_t n_examined() const { return static_cast<std::int64_t>(solutions.size()) - 1; }

    std::vector<SubtreeNode> open;           // in the end
    std::vector<SubtreeSolution> solutions;  // the first one is given
    SubtreeRecord record;
    double least = kInfinity;  // bound of what is ended, and of units that are ruled out
    Places support;            // a rounded one, better than the best known one if any is
    bool is_better = false;    // whether it is

  private:
    // The order of `Node.__lt__`, backwards.
    static bool after(const SubtreeNode& one, const SubtreeNode& other) {
        return std::tuple(one.bound, -one.n_fixed, -one.number) >
               std::tuple(other.bound, -other.n_fixed, -other.number);
    }

    // Where a relaxation of some columns leads.
    struct Relaxation {
        explicit Relaxation(std::size_t p) : u(p) {}
        RelaxationAnswer answer{};
        std::vector<double> u, dual, scores, share, into, out;
    };

    std::int64_t n_free(const SubtreeNode& node) const {
        return std::min(rule_.budget, static_cast<std::int64_t>(node.units.size())) - node.n_fixed;
    }

    // Returns the last quadratic model of the steps, over units.
    QuadraticModel relax(const Places& units, std::int64_t n_fixed, double tol, double cutoff,
                         Relaxation& to, const QuadraticModel& model = {}) {
        const std::int64_t p = static_cast<std::int64_t>(units.size());
        RelaxationSolver solver(risk_, intercept_, x_, units.data(), p, n_fixed,
                                std::min(rule_.budget, p) - n_fixed, rule_.relaxation, space_);
        to.dual.resize(at(risk_.n()));
        for (auto* one : {&to.scores, &to.share, &to.into, &to.out})
            one->resize(units.size());
        solver.begin_with(among(units, n_fixed, model));
        to.answer = solver.solve(to.u.data(), to.answer.intercept, {tol, cutoff}, to.dual.data(),
                                 to.scores.data(), to.share.data(), to.into.data(), to.out.data());
        QuadraticModel last = solver.last_model();
        for (std::int64_t& j : last.near)
            j = units[at(j)];
        return last;
    }

    // Where some units are among others; -1: nowhere. There are few of the first.
    static Places places_of(const Places& some, const Places& units) {
        std::vector<std::pair<std::int64_t, std::size_t>> sorted;
        std::bitset<kKinds> may_be;  // of units by their last bits: most are looked up no further
        for (std::size_t a = 0; a < some.size(); ++a) {
            sorted.emplace_back(some[a], a);
            may_be.set(at(some[a]) % kKinds);
        }
        std::sort(sorted.begin(), sorted.end());
        Places places(some.size(), -1);
        for (std::size_t j = 0; j < units.size(); ++j) {
            if (!may_be[at(units[j]) % kKinds]) continue;
            const auto found =
                std::lower_bound(sorted.begin(), sorted.end(), std::pair(units[j], std::size_t{}));
            if (found != sorted.end() && found->first == units[j])
                places[found->second] = static_cast<std::int64_t>(j);
        }
        return places;
    }

    // A model of some units as one of those among others, numbered by their places there; empty
    // where one of the first n_fixed of these is missing.
    QuadraticModel among(const Places& units, std::int64_t n_fixed, const QuadraticModel& model) {
        std::vector<std::pair<std::int64_t, std::size_t>> kept;  // place, which of the model
        const Places places = places_of(model.near, units);
        for (std::size_t a = 0; a < places.size(); ++a)
            if (places[a] >= 0) kept.emplace_back(places[a], a);
        std::sort(kept.begin(), kept.end());
        const std::size_t m = kept.size(), all = model.near.size();
        if (m < at(n_fixed) || (n_fixed > 0 && kept[at(n_fixed - 1)].first != n_fixed - 1))
            return {};
        QuadraticModel found{Places(m), std::vector<double>(m * m), std::vector<double>(m),
                             std::vector<double>(m), model.intercept};
        for (std::size_t a = 0; a < m; ++a) {
            const auto [place, from] = kept[a];
            found.near[a] = place;
            found.right[a] = model.right[from];
            found.mean[a] = model.mean[from];
            for (std::size_t c = 0; c < m; ++c)
                found.matrix[a * m + c] = model.matrix[from * all + kept[c].second];
        }
        return found;
    }

    // What shows the most of a node: its relaxation, or else the dual point of its parent.
    struct Known {
        double value;
        std::vector<double> dual, scores;
    };

    Known best_known(const SubtreeNode& node, Relaxation& relaxation) const {
        Known known{relaxation.answer.bound, std::move(relaxation.dual),
                    std::move(relaxation.scores)};
        if (rule_.most_coef < kInfinity)  // which the relaxation does not know of
            known = shown(node, std::move(known.dual), std::move(known.scores));
        if (known.value < node.bound) {
            const std::vector<double>& dual = solutions[at(node.known)].dual;
            std::vector<double> scores(node.units.size());
            x_.dots(node.units.data(), static_cast<std::int64_t>(scores.size()), dual.data(),
                    scores.data());
            Known inherited = shown(node, dual, std::move(scores));
            if (inherited.value > known.value) return inherited;
        }
        return known;
    }

    // What a dual point shows, or a multiple of it.
    Known shown(const SubtreeNode& node, std::vector<double> dual,
                std::vector<double> scores) const {
        BudgetNorm norm(static_cast<std::int64_t>(scores.size()), node.n_fixed, n_free(node));
        const auto point = risk_.dual(dual.data());
        auto [value, scale] = scaled_bound(*point, norm.conjugate(scores.data()));
        if (rule_.most_coef < kInfinity) {  // the best scale has no closed form: that one, or 1
            std::vector<double> scaled(scores.size());
            const auto bound = [&](double t) {
                std::transform(scores.begin(), scores.end(), scaled.begin(),
                               [&](double one) { return t * one; });
                return -point->conjugate(t) - norm.conjugate(scaled.data(), rule_.most_coef);
            };
            value = bound(scale);
            const double plain = bound(1.0);
            if (plain > value) std::tie(value, scale) = std::pair(plain, 1.0);
        }
        for (auto* values : {&dual, &scores})
            for (double& one : *values)
                one *= scale;
        return {value, std::move(dual), std::move(scores)};
    }

    // The model of the largest coefficients, which is fitted where it may be better and is none of
    // the earlier ones.
    Places rounded(const SubtreeNode& node, const Relaxation& relaxation, const Known& known,
                   const QuadraticModel& model) {
        const std::size_t p = node.units.size(), size = std::min(p, at(rule_.budget));
        std::vector<std::pair<double, std::size_t>> order;
        for (std::size_t j = at(node.n_fixed); j < p; ++j)
            order.emplace_back(-std::abs(relaxation.u[j]), j);
        const auto most = static_cast<std::ptrdiff_t>(size) - node.n_fixed;
        std::partial_sort(order.begin(), order.begin() + most, order.end());
        Places found(node.units.begin(), node.units.begin() + node.n_fixed);
        BudgetNorm norm(static_cast<std::int64_t>(p), node.n_fixed, most);
        // By how much its scores are worth less than the best ones, twice.
        double missing = 2.0 * norm.conjugate(known.scores.data(), rule_.most_coef);
        for (std::size_t j = 0; j < at(node.n_fixed); ++j)
            missing -= worth(known.scores[j], rule_.most_coef);
        for (std::ptrdiff_t i = 0; i < most; ++i) {
            const std::size_t j = order[static_cast<std::size_t>(i)].second;
            found.push_back(node.units[j]);
            missing -= worth(known.scores[j], rule_.most_coef);
        }
        std::sort(found.begin(), found.end());
        if (support.empty()) support = found;
        const bool is_worse = known.value + 0.5 * missing > objective_;
        if (is_worse || found == solutions[at(node.known)].support || !tried_.insert(found).second)
            return found;
        Relaxation fit(size);
        const Places places = places_of(found, node.units);
        for (std::size_t j = 0; j < size; ++j)
            fit.u[j] = relaxation.u[at(places[j])];
        fit.answer.intercept = relaxation.answer.intercept;
        relax(found, static_cast<std::int64_t>(size), rule_.leaf_tol, objective_, fit, model);
        if (fit.answer.objective < objective_ - rule_.no_better * std::abs(objective_)) {
            support = found;
            is_better = true;
        }
        return found;
    }

    // Bounds a node, and divides it where that is not enough; false where its relaxation needs
    // other steps.
    bool examine(const SubtreeNode& node) {
        const SubtreeSolution& start = solutions[at(node.known)];
        const std::size_t p = node.units.size();
        const bool single = p <= at(rule_.budget);
        Relaxation relaxation(p);
        const Places places = places_of(start.used, node.units);
        for (std::size_t a = 0; a < places.size(); ++a)
            if (places[a] >= 0) relaxation.u[at(places[a])] = start.coef[a];
        relaxation.answer.intercept = start.intercept;
        QuadraticModel model =
            relax(node.units, node.n_fixed, single ? rule_.leaf_tol : rule_.node_tol, target_,
                  relaxation, start.model);
        if (!relaxation.answer.is_done) return false;
        Known known = best_known(node, relaxation);
        const auto whole = [](double share) { return share == 0.0 || share == 1.0; };
        if (!single && known.value < target_ &&
            std::all_of(relaxation.share.begin(), relaxation.share.end(), whole)) {
            model = relax(node.units, node.n_fixed, rule_.leaf_tol, target_, relaxation, model);
            if (!relaxation.answer.is_done) return false;
            known = best_known(node, relaxation);
        }
        SubtreeSolution found;
        found.support = start.support;
        if (known.value < std::max(target_, objective_))
            found.support = rounded(node, relaxation, known, model);
        for (std::size_t j = 0; j < p; ++j) {
            if (relaxation.u[j] == 0.0) continue;
            found.used.push_back(node.units[j]);
            found.coef.push_back(relaxation.u[j]);
        }
        found.intercept = relaxation.answer.intercept;
        found.dual = std::move(known.dual);
        found.model = std::move(model);
        solutions.push_back(std::move(found));
        if (node.number > 0) record.known[at(node.number - 1)] = n_examined() - 1;
        if (known.value >= target_ || single)
            least = std::min(least, known.value);
        else
            divide(node, relaxation, known);
        return true;
    }

    // Adds the nodes of what is left of a node.
    void divide(const SubtreeNode& node, const Relaxation& relaxation, const Known& known) {
        const auto first = node.units.begin();
        Places fixed(first, first + node.n_fixed), free;
        Places places;  // of the free ones
        const std::size_t p = node.units.size();
        std::vector<std::uint8_t> dropped(p), inside(p);
        decide([&](double) { return ScaledBound{known.value, 1.0}; }, known.scores.data(),
               static_cast<std::int64_t>(p), rule_.budget, node.n_fixed, limit_, rule_.most_coef,
               dropped.data(), inside.data());
        for (std::size_t j = at(node.n_fixed); j < p; ++j) {
            if (inside[j] || dropped[j]) least = std::min(least, target_);
            if (inside[j]) {
                fixed.push_back(node.units[j]);
            } else if (!dropped[j]) {
                free.push_back(node.units[j]);
                places.push_back(static_cast<std::int64_t>(j));
            }
        }
        const std::size_t most = at(rule_.budget);
        if (fixed.size() > most) return;  // no model has them all: none is better
        if (fixed.size() == most) free.clear();
        if (fixed.size() + free.size() <= most) {
            add(node, known, -1, false, std::move(fixed), free);
            return;
        }
        const double enough = target_ - known.value;  // what rises by more ends no more nodes
        std::vector<double> rise;
        for (const std::int64_t place : places)
            rise.push_back(std::min(relaxation.into[at(place)], enough) *
                           std::min(relaxation.out[at(place)], enough));
        if (std::all_of(rise.begin(), rise.end(), [](double one) { return one == 0.0; }))
            for (std::size_t j = 0; j < rise.size(); ++j)  // all shares are 0 or 1
                rise[j] = relaxation.share[at(places[j])];
        const auto chosen = std::max_element(rise.begin(), rise.end()) - rise.begin();
        const std::int64_t unit = free[static_cast<std::size_t>(chosen)];
        free.erase(free.begin() + chosen);
        Places with = fixed;
        with.push_back(unit);
        add(node, known, unit, true, with, with.size() < most ? free : Places());
        add(node, known, unit, false, std::move(fixed), free);
    }

    void add(const SubtreeNode& parent, const Known& known, std::int64_t unit, bool inside,
             Places units, const Places& free) {
        record.parent.push_back(parent.number);
        record.unit.push_back(unit);
        record.inside.push_back(inside);
        record.known.push_back(-1);
        const auto n_fixed = static_cast<std::int64_t>(units.size());
        units.insert(units.end(), free.begin(), free.end());
        open.push_back({known.value, static_cast<std::int64_t>(record.parent.size()), n_examined(),
                        n_fixed, std::move(units)});
        std::push_heap(open.begin(), open.end(), after);
    }

    static std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }

    const Risk& risk_;
    bool intercept_;
    const ColumnPool& x_;
    SubtreeRule rule_;
    double target_, objective_, limit_;
    RelaxationSpace space_{risk_.n_rows()};
    std::set<Places> tried_;
    std::vector<SubtreeNode> left;  // whose relaxations need other steps
};

}  // namespace zeronorm
