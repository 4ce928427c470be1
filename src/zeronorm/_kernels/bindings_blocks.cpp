// Bindings of Newton's method over blocks of features. No arithmetic.

#include <numeric>
#include <vector>

#include "bindings_risk.hpp"
#include "blocks.hpp"
#include "class_blocks.hpp"
#include "response_blocks.hpp"

namespace zeronorm {
namespace {

// history: a row for the start, and one for each of the steps that there may be.
BlockHistory history_of(const OutMatrix& history) {
    return {history.data(), length(history, 0) - 1};
}

// objective, bound, steps, and how they ended
std::tuple<double, double, int, int> blocks_of_outputs(
    const StridedMatrix<double>& x, const Matrix& membership, const Array<double>& y,
    const Array<double>& weight, bool of_classes, std::int64_t outputs, bool intercept, double tol,
    double scale, const OutArray& u, const OutArray& lambda, const OutArray& dual,
    const OutMatrix& history) {
    BlockAnswer found{};
    finite([&] {
        const std::int64_t n = length(x, 0), m = length(x, 1);
        std::vector<std::int64_t> columns(static_cast<std::size_t>(m));
        std::iota(columns.begin(), columns.end(), 0);
        SharedColumns shared(x.data(), x.stride(0), x.stride(1), n, columns.data(), m);
        const auto run = [&](auto&& solver) {
            found =
                solver.solve(tol, scale, u.data(), lambda.data(), dual.data(), history_of(history));
        };
        if (of_classes) {
            MultinomialRisk risk(y.data(), weight.data(), n, outputs, intercept);
            run(ClassBlocks(risk, shared, y.data(), weight.data(), membership.data(),
                            length(membership, 1)));
        } else {
            run(ResponseBlocks(shared, y.data(), weight.data(), n, outputs, intercept,
                               membership.data(), length(membership, 1)));
        }
    });
    return {found.objective, found.bound, found.steps, static_cast<int>(found.status)};
}

// b, objective, bound, steps, and how they ended
std::tuple<double, double, double, int, int> blocks(
    const StridedMatrix<double>& x, const Matrix& membership, const Array<double>& y,
    const Array<double>& weight, int loss, const Pair& parameters, bool intercept, double start,
    double tol, double scale, const OutArray& u, const OutArray& lambda, const OutArray& dual,
    const OutMatrix& history) {
    BlockAnswer found{};
    finite([&] {
        const auto risk = risk_of(loss, parameters, y, weight);
        BlockSolver solver(*risk, intercept, x.data(), x.stride(0), x.stride(1), length(x, 1),
                           membership.data(), length(membership, 1));
        found = solver.solve(start, tol, scale, u.data(), lambda.data(), dual.data(),
                             history_of(history));
    });
    return {found.intercept, found.objective, found.bound, found.steps,
            static_cast<int>(found.status)};
}

}  // namespace

void bind_blocks(nb::module_& m) {
    m.def("block_newton", &blocks, "x"_array, "membership"_array, "y"_array, "weight"_array,
          "loss"_a, "parameters"_a, "intercept"_a, "start"_a, "tol"_a, "scale"_a, "u"_array,
          "weights"_array, "dual"_array, "history"_array);
    m.def("output_blocks", &blocks_of_outputs, "x"_array, "membership"_array, "y"_array,
          "weight"_array, "of_classes"_a, "outputs"_a, "intercept"_a, "tol"_a, "scale"_a, "u"_array,
          "weights"_array, "dual"_array, "history"_array);
}

}  // namespace zeronorm
