// Compiled solver: backward elimination of columns that several outputs share, in a small pool, as
// `GroupExchanges.eliminate_by_steps` of solvers/exchange.py does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "eliminate.hpp"
#include "outputs.hpp"

namespace zeronorm {

// Columns of a pool, by strides, and how they are eliminated.
struct OutputElimination {
    const double* x;
    std::int64_t row_stride, column_stride;
    const std::uint8_t* is_kept;
    std::vector<std::int64_t> left;   // to begin with, sorted
    std::vector<std::int64_t> sizes;  // falling
    double tol;
    EliminationRule rule;

    // Of the classes of a multinomial model.
    std::vector<std::int64_t> run(MultinomialRisk& risk) {
        const auto fit = [&](const auto& columns, auto& u, double* penalty, double* margins,
                             double* dual, double* scores) {
            risk.restart();
            SharedColumns shared(x, row_stride, column_stride, risk.n(), columns.data(),
                                 static_cast<std::int64_t>(columns.size()));
            MultinomialRidge(risk, shared, penalty)
                .solve(tol, false, kInfinity, u.data(), margins, dual, risk.n(), scores);
        };
        return by(fit, risk.n(), risk.outputs());
    }

    // Of responses.
    std::vector<std::int64_t> run(const ResponsesRidge& ridge) {
        const auto fit = [&](const auto& columns, auto& u, double* penalty, double* margins,
                             double* dual, double* scores) {
            ridge.solve(x, row_stride, column_stride, columns.data(),
                        static_cast<std::int64_t>(columns.size()), penalty, tol, false, u.data(),
                        margins, dual, ridge.n(), scores);
        };
        return by(fit, ridge.n(), ridge.outputs());
    }

  private:
    template <class Fit>
    std::vector<std::int64_t> by(const Fit& fit, std::int64_t n, std::int64_t outputs) {
        const auto q = static_cast<std::size_t>(outputs);
        std::vector<double> penalty(q * left.size(), 1.0), scores(penalty.size());
        std::vector<double> margins(q * static_cast<std::size_t>(n)), dual(margins.size());
        const auto with_room = [&](const auto& columns, auto& u) {
            fit(columns, u, penalty.data(), margins.data(), dual.data(), scores.data());
        };
        return eliminate_by(with_room, q, is_kept, std::move(left), sizes, rule);
    }
};

}  // namespace zeronorm
