// Bindings of exchanges on a pool, and of eliminations. No arithmetic.

#include <algorithm>
#include <vector>

#include "bindings_risk.hpp"
#include "eliminate.hpp"
#include "exchange.hpp"
#include "output_eliminate.hpp"
#include "output_exchange.hpp"
#include "outputs.hpp"

namespace zeronorm {
namespace {

// most_spliced, splice_rounds, most_leaving, most_trials, trials_each
using Rule = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

// What the fit of a support is, written where exchanges begin.
struct Support {
    const OutIndices& columns;
    const OutArray &coef, &margins, &dual, &scores;
};

// Makes exchanges in a pool from a support, and writes the one where they end.
Numbers improve(SupportProblem& problem, const StridedMatrix<double>& x,
                const Array<std::uint8_t>& is_kept, double start, double tol, double fit_tol,
                bool swaps, const Rule& rule, double won_back,
                const std::vector<std::int64_t>& known, std::int64_t n_known,
                const Support& support) {
    const auto [most_spliced, rounds, most_leaving, most_trials, trials_each] = rule;
    const ExchangeRule exchange_rule{most_spliced, rounds,      most_leaving,
                                     most_trials,  trials_each, won_back};
    PoolExchanges pool(x.data(), x.stride(0), x.stride(1), length(x, 1), problem, is_kept.data(),
                       tol, fit_tol, exchange_rule);
    const std::int64_t k = length(support.columns, 0), n = problem.n(), q = problem.outputs();
    std::int64_t* const columns = support.columns.data();
    double* const coef = support.coef.data();
    const SupportFit found =
        pool.improve({columns, columns + k}, {coef, coef + q * k}, start, swaps, known, n_known);
    std::copy_n(found.columns.data(), k, columns);
    std::copy_n(found.coef.data(), q * k, coef);
    std::copy_n(found.scores.data(), q * k, support.scores.data());
    for (std::int64_t o = 0; o < q; ++o) {
        std::copy_n(found.margins.data() + o * problem.n_rows(), n, support.margins.data() + o * n);
        std::copy_n(found.dual.data() + o * problem.n_rows(), n, support.dual.data() + o * n);
    }
    return numbers(found.answer);
}

std::int64_t eliminated(const StridedMatrix<double>& x, const Array<double>& y,
                        const Array<double>& weight, const Array<std::uint8_t>& is_kept, int loss,
                        const Pair& parameters, bool intercept, const Array<std::int64_t>& columns,
                        const Array<std::int64_t>& sizes, double tol,
                        const std::pair<std::int64_t, double>& rule, const OutIndices& gone) {
    const auto order = finite([&] {
        const auto risk = risk_of(loss, parameters, y, weight);
        return eliminate(*risk, intercept, x.data(), x.stride(0), x.stride(1), is_kept.data(),
                         {columns.data(), columns.data() + length(columns, 0)},
                         {sizes.data(), sizes.data() + length(sizes, 0)}, tol,
                         {rule.first, rule.second});
    });
    std::copy(order.begin(), order.end(), gone.data());
    return static_cast<std::int64_t>(order.size());
}

// loss: negative for the multinomial one, else that of each response.
std::int64_t eliminated_outputs(const StridedMatrix<double>& x, const Array<double>& y,
                                const Array<double>& weight, const Array<std::uint8_t>& is_kept,
                                int loss, const Pair& parameters, std::int64_t outputs,
                                bool intercept, const Array<std::int64_t>& columns,
                                const Array<std::int64_t>& sizes, double tol,
                                const std::pair<std::int64_t, double>& rule,
                                const OutIndices& gone) {
    OutputElimination elimination{x.data(),
                                  x.stride(0),
                                  x.stride(1),
                                  is_kept.data(),
                                  {columns.data(), columns.data() + length(columns, 0)},
                                  {sizes.data(), sizes.data() + length(sizes, 0)},
                                  tol,
                                  {rule.first, rule.second}};
    const auto order = finite([&] {
        const std::int64_t n = length(x, 0);
        if (loss < 0) {
            MultinomialRisk risk(y.data(), weight.data(), n, outputs, intercept);
            return elimination.run(risk);
        }
        const ResponsesRidge ridge({loss, parameters.first, parameters.second}, y.data(),
                                   weight.data(), n, outputs, intercept);
        return elimination.run(ridge);
    });
    std::copy(order.begin(), order.end(), gone.data());
    return static_cast<std::int64_t>(order.size());
}

Numbers exchange(const StridedMatrix<double>& x, const Array<double>& y,
                 const Array<double>& weight, const Array<std::uint8_t>& is_kept, int loss,
                 const Pair& parameters, bool intercept, double start, double tol, double fit_tol,
                 bool swaps, const Rule& rule, double won_back, const Array<std::int64_t>& known,
                 std::int64_t n_known, const OutIndices& columns, const OutArray& u,
                 const OutArray& margins, const OutArray& dual, const OutArray& scores) {
    return finite([&] {
        const auto risk = risk_of(loss, parameters, y, weight);
        OneOutput problem(*risk, intercept);
        return improve(problem, x, is_kept, start, tol, fit_tol, swaps, rule, won_back,
                       {known.data(), known.data() + length(known, 0)}, n_known,
                       {columns, u, margins, dual, scores});
    });
}

// loss: negative for the multinomial one, else that of each response.
Numbers exchange_outputs(const StridedMatrix<double>& x, const Array<double>& y,
                         const Array<double>& weight, const Array<std::uint8_t>& is_kept, int loss,
                         const Pair& parameters, std::int64_t outputs, bool intercept, double tol,
                         double fit_tol, bool swaps, const Rule& rule, double won_back,
                         const OutIndices& columns, const OutArray& u, const OutArray& margins,
                         const OutArray& dual, const OutArray& scores) {
    return finite([&] {
        const std::int64_t n = length(x, 0);
        const auto run = [&](SupportProblem&& problem) {
            return improve(problem, x, is_kept, 0.0, tol, fit_tol, swaps, rule, won_back, {}, 0,
                           {columns, u, margins, dual, scores});
        };
        if (loss < 0) {
            MultinomialRisk risk(y.data(), weight.data(), n, outputs, intercept);
            return run(SharedClasses(risk));
        }
        const ResponsesRidge ridge({loss, parameters.first, parameters.second}, y.data(),
                                   weight.data(), n, outputs, intercept);
        return run(SharedResponses(ridge));
    });
}

}  // namespace

void bind_exchange(nb::module_& m) {
    m.def("dense_eliminate", &eliminated, "x"_array, "y"_array, "weight"_array, "is_kept"_array,
          "loss"_a, "parameters"_a, "intercept"_a, "columns"_array, "sizes"_array, "tol"_a,
          "rule"_a, "gone"_array);
    m.def("output_eliminate", &eliminated_outputs, "x"_array, "y"_array, "weight"_array,
          "is_kept"_array, "loss"_a, "parameters"_a, "outputs"_a, "intercept"_a, "columns"_array,
          "sizes"_array, "tol"_a, "rule"_a, "gone"_array);
    m.def("dense_exchange", &exchange, "x"_array, "y"_array, "weight"_array, "is_kept"_array,
          "loss"_a, "parameters"_a, "intercept"_a, "start"_a, "tol"_a, "fit_tol"_a, "swaps"_a,
          "rule"_a, "won_back"_a, "known"_array, "n_known"_a, "columns"_array, "u"_array,
          "margins"_array, "dual"_array, "scores"_array);
    m.def("output_exchange", &exchange_outputs, "x"_array, "y"_array, "weight"_array,
          "is_kept"_array, "loss"_a, "parameters"_a, "outputs"_a, "intercept"_a, "tol"_a,
          "fit_tol"_a, "swaps"_a, "rule"_a, "won_back"_a, "columns"_array, "u"_array,
          "margins"_array, "dual"_array, "scores"_array);
}

}  // namespace zeronorm
