// Bindings of Newton's method on few columns, and of exchanges on a pool. No arithmetic.

#include <algorithm>
#include <numeric>
#include <vector>

#include "bindings_risk.hpp"
#include "eliminate.hpp"
#include "exchange.hpp"
#include "left_out.hpp"
#include "output_eliminate.hpp"
#include "output_exchange.hpp"
#include "outputs.hpp"
#include "ridge.hpp"

namespace zeronorm {
namespace {

Numbers ridge(const StridedMatrix<double>& x, const Array<std::int64_t>& columns,
              const Array<double>& y, const Array<double>& weight, const Array<double>& penalty,
              int loss, const Pair& parameters, bool intercept, double start, double tol,
              bool of_value, double cutoff, const OutArray& u, const OutArray& margins,
              const OutArray& dual, const OutArray& scores) {
    return finite([&] {
        const auto risk = risk_of(loss, parameters, y, weight);
        RidgeSolver<> solver(*risk, intercept, length(columns, 0), penalty.data());
        solver.choose(x.data(), x.stride(0), x.stride(1), columns.data());
        return numbers(solver.solve(start, tol, of_value, cutoff, u.data(), margins.data(),
                                    dual.data(), scores.data()));
    });
}

template <class I>
Numbers sparse_ridge(const Array<I>& indptr, const Array<std::int32_t>& indices,
                     const Array<double>& data, const Array<std::int64_t>& columns,
                     const Array<double>& y, const Array<double>& weight,
                     const Array<double>& penalty, int loss, const Pair& parameters, bool intercept,
                     double start, double tol, bool of_value, double cutoff, const OutArray& u,
                     const OutArray& margins, const OutArray& dual, const OutArray& scores) {
    return finite([&] {
        const auto risk = risk_of(loss, parameters, y, weight);
        risk->check_by_row();
        RidgeSolver<SparseRows> solver(*risk, intercept, length(columns, 0), penalty.data());
        solver.choose(indptr.data(), indices.data(), data.data(), columns.data());
        return numbers(solver.solve(start, tol, of_value, cutoff, u.data(), margins.data(),
                                    dual.data(), scores.data()));
    });
}

Numbers multinomial(const StridedMatrix<double>& x, const Array<std::int64_t>& columns,
                    const Array<double>& y, const Array<double>& weight,
                    const Array<double>& penalty, std::int64_t outputs, bool intercept, double tol,
                    bool of_value, double cutoff, const OutArray& u, const OutArray& margins,
                    const OutArray& dual, const OutArray& scores) {
    return finite([&] {
        const std::int64_t n = length(x, 0), m = length(columns, 0);
        MultinomialRisk risk(y.data(), weight.data(), n, outputs, intercept);
        SharedColumns shared(x.data(), x.stride(0), x.stride(1), n, columns.data(), m);
        MultinomialRidge solver(risk, shared, penalty.data());
        return numbers(solver.solve(tol, of_value, cutoff, u.data(), margins.data(), dual.data(), n,
                                    scores.data()));
    });
}

void hessian(const StridedMatrix<double>& x, const Array<std::int64_t>& columns,
             const Array<double>& shares, const Array<double>& weight, std::int64_t outputs,
             bool intercept, const OutMatrix& out) {
    finite([&] {
        const std::int64_t n = length(x, 0);
        SharedColumns shared(x.data(), x.stride(0), x.stride(1), n, columns.data(),
                             length(columns, 0));
        multinomial_hessian(shared, shares.data(), weight.data(), n, outputs, intercept,
                            out.data());
    });
}

Numbers responses(const StridedMatrix<double>& x, const Array<std::int64_t>& columns,
                  const Array<double>& y, const Array<double>& weight, const Array<double>& penalty,
                  int loss, const Pair& parameters, std::int64_t outputs, bool intercept,
                  double tol, bool of_value, const OutArray& u, const OutArray& margins,
                  const OutArray& dual, const OutArray& scores) {
    return finite([&] {
        const std::int64_t n = length(x, 0);
        const ResponsesRidge ridge({loss, parameters.first, parameters.second}, y.data(),
                                   weight.data(), n, outputs, intercept);
        return numbers(ridge.solve(x.data(), x.stride(0), x.stride(1), columns.data(),
                                   length(columns, 0), penalty.data(), tol, of_value, u.data(),
                                   margins.data(), dual.data(), n, scores.data()));
    });
}

double left_out(const StridedMatrix<double>& x, const Array<double>& y, const Array<double>& weight,
                const Array<double>& unit, int loss, const Pair& parameters, bool intercept,
                double C, const Array<double>& penalty, const Array<double>& margins) {
    return finite([&] {
        const auto risk = risk_of(loss, parameters, y, weight);
        const auto one = risk_of(loss, parameters, y, unit);
        risk->check_by_row();
        const std::int64_t n = length(x, 0), p = length(x, 1), n_rows = risk->n_rows();
        const Buffer z(n_rows * whole(p, kGramRight));
        const auto column_of = [](std::int64_t j) { return j; };
        copy_columns(x.data(), x.stride(0), x.stride(1), n, p, column_of, n_rows, z);
        const double total = std::accumulate(weight.data(), weight.data() + n, 0.0);
        return left_out_loss(*risk, *one, total, z, p, C, penalty.data(), intercept,
                             margins.data());
    });
}

void compared(const StridedMatrix<double>& x, const Array<double>& y, const Array<double>& weight,
              const Array<double>& unit, int loss, const Pair& parameters, bool intercept,
              double start, const Array<double>& penalty, const Array<double>& values, double tol,
              const OutArray& u, const OutMatrix& coef, const OutArray& intercepts,
              const OutArray& losses) {
    finite([&] {
        compare({loss, parameters.first, parameters.second}, y.data(), weight.data(), unit.data(),
                length(x, 0), intercept, x.data(), x.stride(0), x.stride(1), length(x, 1),
                penalty.data(), values.data(), length(values, 0), tol, u.data(), start, coef.data(),
                intercepts.data(), losses.data());
    });
}

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

void bind_ridge(nb::module_& m) {
    m.def("dense_ridge", &ridge, "x"_array, "columns"_array, "y"_array, "weight"_array,
          "penalty"_array, "loss"_a, "parameters"_a, "intercept"_a, "start"_a, "tol"_a,
          "of_value"_a, "cutoff"_a, "u"_array, "margins"_array, "dual"_array, "scores"_array);
    const auto sparse = [&](auto solve) {
        m.def("sparse_ridge", solve, "indptr"_array, "indices"_array, "data"_array, "columns"_array,
              "y"_array, "weight"_array, "penalty"_array, "loss"_a, "parameters"_a, "intercept"_a,
              "start"_a, "tol"_a, "of_value"_a, "cutoff"_a, "u"_array, "margins"_array,
              "dual"_array, "scores"_array);
    };
    sparse(&sparse_ridge<std::int32_t>);
    sparse(&sparse_ridge<std::int64_t>);
    m.def("multinomial_ridge", &multinomial, "x"_array, "columns"_array, "y"_array, "weight"_array,
          "penalty"_array, "outputs"_a, "intercept"_a, "tol"_a, "of_value"_a, "cutoff"_a, "u"_array,
          "margins"_array, "dual"_array, "scores"_array);
    m.def("multinomial_hessian", &hessian, "x"_array, "columns"_array, "shares"_array,
          "weight"_array, "outputs"_a, "intercept"_a, "out"_array);
    m.def("responses_ridge", &responses, "x"_array, "columns"_array, "y"_array, "weight"_array,
          "penalty"_array, "loss"_a, "parameters"_a, "outputs"_a, "intercept"_a, "tol"_a,
          "of_value"_a, "u"_array, "margins"_array, "dual"_array, "scores"_array);
    m.def("left_out_loss", &left_out, "x"_array, "y"_array, "weight"_array, "unit"_array, "loss"_a,
          "parameters"_a, "intercept"_a, "C"_a, "penalty"_array, "margins"_array);
    m.def("compare_left_out", &compared, "x"_array, "y"_array, "weight"_array, "unit"_array,
          "loss"_a, "parameters"_a, "intercept"_a, "start"_a, "penalty"_array, "values"_array,
          "tol"_a, "u"_array, "coef"_array, "intercepts"_array, "losses"_array);
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
