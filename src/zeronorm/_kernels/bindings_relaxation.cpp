// Bindings of the relaxation of a budget. No arithmetic.

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bindings.hpp"
#include "cox.hpp"
#include "cox_dual.hpp"
#include "decisions.hpp"
#include "dual.hpp"
#include "quadratic.hpp"
#include "relaxation.hpp"
#include "risk.hpp"

namespace zeronorm {
namespace {

using Pair = std::pair<double, double>;
// steps, steps that are none of Newton's, halvings; what is flat, no descent, the most base, a full
// share
using QuadraticNumbers =
    std::pair<std::tuple<int, int, int>, std::tuple<double, double, double, double>>;

QuadraticRule quadratic_rule(const QuadraticNumbers& numbers) {
    const auto [steps, proximal, halvings] = numbers.first;
    const auto [flat, no_descent, base, full_share] = numbers.second;
    return {steps, proximal, halvings, flat, no_descent, base, full_share};
}

void minimise(const Matrix& matrix, const Array<double>& right, std::int64_t n_fixed,
              std::int64_t q, double tol, const QuadraticNumbers& rule, const OutArray& u) {
    const nb::gil_scoped_release release;
    QuadraticSolver solver(matrix.data(), right.data(), length(right, 0), n_fixed, q,
                           quadratic_rule(rule));
    solver.minimise(u.data(), tol);
}

// visit of the risk of a loss whose rows are by themselves.
template <class Answer, class Visit>
Answer with_risk(int loss, const Pair& parameters, const Array<double>& y,
                 const Array<double>& weight, const Visit& visit) {
    const auto of = [&]<class Loss>(const Loss& one) -> Answer {
        if constexpr (std::is_same_v<Loss, Cox>)
            throw std::invalid_argument("rows of this loss are not by themselves.");
        else
            return visit(Risk<Loss>(one, y.data(), weight.data(), length(weight, 0)));
    };
    return with_loss({loss, parameters.first, parameters.second}, of);
}

// b, objective, bound, whether that is all. storage: (x,), or (indptr, indices, data) by column.
std::tuple<double, double, double, bool> relaxed(
    const nb::tuple& storage, const Array<std::int64_t>& columns, const Array<double>& y,
    const Array<double>& weight, int loss, const Pair& parameters, bool intercept, double start,
    std::int64_t n_fixed, std::int64_t q, const Pair& aim,
    const std::tuple<int, int, std::int64_t, std::int64_t>& most, const Pair& tolerances,
    const QuadraticNumbers& quadratic, const OutArray& u, const OutArray& dual,
    const OutArray& scores, const OutArray& share, const OutArray& into, const OutArray& out) {
    const auto [newton, halvings, ahead, most_columns] = most;
    const RelaxationRule rule{newton,
                              halvings,
                              ahead,
                              most_columns,
                              tolerances.first,
                              tolerances.second,
                              quadratic_rule(quadratic)};
    const auto over = [&]<class Chosen>(const Chosen& chosen) {
        const nb::gil_scoped_release release;
        const auto solve = [&]<class Loss>(const Risk<Loss>& risk) {
            RelaxationSolver<Loss, Chosen> solver(risk, intercept, chosen, n_fixed, q, rule);
            return solver.solve(u.data(), start, {aim.first, aim.second}, dual.data(),
                                scores.data(), share.data(), into.data(), out.data());
        };
        const auto found = with_risk<RelaxationAnswer>(loss, parameters, y, weight, solve);
        return std::tuple{found.intercept, found.objective, found.bound, found.is_done};
    };
    const std::int64_t p = length(columns, 0);
    if (storage.size() == 1) {
        const auto x = nb::cast<StridedMatrix<double>>(storage[0], false);
        if (length(x, 0) > 1 && x.stride(0) != 1)
            throw std::invalid_argument("x must lie by column.");
        return over(ChosenColumns{x.data(), length(x, 0), x.stride(1), columns.data(), p});
    }
    const auto indptr = nb::cast<Array<std::int32_t>>(storage[0], false);
    const auto indices = nb::cast<Array<std::int32_t>>(storage[1], false);
    const auto data = nb::cast<Array<double>>(storage[2], false);
    const Csc<std::int32_t, double> x{indptr.data(), indices.data(), data.data(),
                                      length(indptr, 0) - 1};
    return over(ChosenSparse{x, length(weight, 0), columns.data(), p});
}

using OutFlags = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The bound of a dual point, and the multiple of the point that gives it.
Pair decided(const Array<double>& v, const Array<double>& scores, const Array<double>& y,
             const Array<double>& weight, int loss, const Pair& parameters, std::int64_t k,
             std::int64_t n_fixed, double limit, const OutFlags& dropped, const OutFlags& fixed) {
    const nb::gil_scoped_release release;
    const auto at = [&]<class Loss>(const Risk<Loss>& risk) {
        return decide(Dual<Loss>(risk, v.data()), scores.data(), length(scores, 0), k, n_fixed,
                      limit, dropped.data(), fixed.data());
    };
    const auto [value, scale] = with_risk<ScaledBound>(loss, parameters, y, weight, at);
    return {value, scale};
}

}  // namespace

void bind_relaxation(nb::module_& m) {
    m.def("minimise_quadratic", &minimise, "matrix"_array, "right"_array, "n_fixed"_a, "q"_a,
          "tol"_a, "rule"_a, "u"_array);
    m.def("relax", &relaxed, "storage"_a, "columns"_array, "y"_array, "weight"_array, "loss"_a,
          "parameters"_a, "intercept"_a, "start"_a, "n_fixed"_a, "q"_a, "aim"_a, "most"_a,
          "tolerances"_a, "quadratic"_a, "u"_array, "dual"_array, "scores"_array, "share"_array,
          "into"_array, "out"_array);
    m.def("decide", &decided, "v"_array, "scores"_array, "y"_array, "weight"_array, "loss"_a,
          "parameters"_a, "k"_a, "n_fixed"_a, "limit"_a, "dropped"_array, "fixed"_array);
}

}  // namespace zeronorm
