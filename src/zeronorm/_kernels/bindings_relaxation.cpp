// Bindings of the relaxation of a budget. No arithmetic.

#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings_risk.hpp"
#include "decisions.hpp"
#include "dual.hpp"
#include "quadratic.hpp"
#include "relaxation.hpp"
#include "risk.hpp"
#include "subtree.hpp"

namespace zeronorm {
namespace {

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
    QuadraticSpace space;
    QuadraticSolver solver(matrix.data(), right.data(), length(right, 0), n_fixed, q,
                           quadratic_rule(rule), space);
    solver.minimise(u.data(), tol);
}

// The loss of rows that are by themselves.
std::unique_ptr<Risk> risk_by_row(int loss, const Pair& parameters, const Array<double>& y,
                                  const Array<double>& weight) {
    auto risk = risk_of(loss, parameters, y, weight);
    risk->check_by_row();
    return risk;
}

// storage: (x,), or (indptr, indices, data) by column.
std::unique_ptr<ColumnPool> pool_of(const nb::tuple& storage) {
    if (storage.size() == 1) {
        const auto x = nb::cast<StridedMatrix<double>>(storage[0], false);
        if (length(x, 0) > 1 && x.stride(0) != 1)
            throw std::invalid_argument("x must lie by column.");
        return std::make_unique<PoolOf<DenseColumns>>(
            DenseColumns{x.data(), length(x, 0), x.stride(1)});
    }
    const auto indptr = nb::cast<Array<std::int32_t>>(storage[0], false);
    const auto indices = nb::cast<Array<std::int32_t>>(storage[1], false);
    const auto data = nb::cast<Array<double>>(storage[2], false);
    return std::make_unique<PoolOf<SparseColumns>>(
        SparseColumns{{indptr.data(), indices.data(), data.data(), length(indptr, 0) - 1}});
}

// most: steps, halvings, columns at 0, columns; tolerances: of a model, the finest.
using RelaxationNumbers =
    std::tuple<std::tuple<int, int, std::int64_t, std::int64_t>, Pair, QuadraticNumbers>;

RelaxationRule relaxation_rule(const RelaxationNumbers& numbers) {
    const auto [most, tolerances, quadratic] = numbers;
    const auto [newton, halvings, ahead, most_columns] = most;
    return {newton,
            halvings,
            ahead,
            most_columns,
            tolerances.first,
            tolerances.second,
            quadratic_rule(quadratic)};
}

// b, objective, bound, whether that is all. storage: (x,), or (indptr, indices, data) by column.
std::tuple<double, double, double, bool> relaxed(
    const nb::tuple& storage, const Array<std::int64_t>& columns, const Array<double>& y,
    const Array<double>& weight, int loss, const Pair& parameters, bool intercept, double start,
    std::int64_t n_fixed, std::int64_t q, const Pair& aim, const RelaxationNumbers& numbers,
    const OutArray& u, const OutArray& dual, const OutArray& scores, const OutArray& share,
    const OutArray& into, const OutArray& out) {
    const RelaxationRule rule = relaxation_rule(numbers);
    const auto x = pool_of(storage);
    const nb::gil_scoped_release release;
    const auto risk = risk_by_row(loss, parameters, y, weight);
    RelaxationSpace space(risk->n_rows());
    RelaxationSolver solver(*risk, intercept, *x, columns.data(), length(columns, 0), n_fixed, q,
                            rule, space);
    const RelaxationAnswer found =
        solver.solve(u.data(), start, {aim.first, aim.second}, dual.data(), scores.data(),
                     share.data(), into.data(), out.data());
    return {found.intercept, found.objective, found.bound, found.is_done};
}

using OutFlags = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The bound of a dual point, and the multiple of the point that gives it.
Pair decided(const Array<double>& v, const Array<double>& scores, const Array<double>& y,
             const Array<double>& weight, int loss, const Pair& parameters, std::int64_t k,
             std::int64_t n_fixed, double limit, const OutFlags& dropped, const OutFlags& fixed) {
    const nb::gil_scoped_release release;
    const auto risk = risk_by_row(loss, parameters, y, weight);
    const auto point = risk->dual(v.data());
    const auto bound = [&](double quadratic) -> ScaledBound {
        if (std::isinf(quadratic)) return {-point->conjugate(0.0), 0.0};
        return scaled_bound(*point, quadratic);
    };
    const auto [value, scale] = decide(bound, scores.data(), length(scores, 0), k, n_fixed, limit,
                                       kInfinity, dropped.data(), fixed.data());
    return {value, scale};
}

template <class T>
NewArray<T> to_numpy(std::vector<T>&& values) {
    return handed_over(values.data(), values.size(), std::move(values));
}

// Rows of different lengths: what is in them, and where each ends.
template <class Rows, class Of>
nb::tuple joined(const Rows& rows, const Of& of) {
    std::decay_t<decltype(of(rows.front()))> values;
    Places ends;
    std::size_t size = 0;
    for (const auto& row : rows)
        size += of(row).size();
    values.reserve(size);
    for (const auto& row : rows) {
        values.insert(values.end(), of(row).begin(), of(row).end());
        ends.push_back(static_cast<std::int64_t>(values.size()));
    }
    return nb::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(ends)));
}

// One number of each row.
template <class Rows, class Of>
auto each(const Rows& rows, const Of& of) {
    std::vector<std::decay_t<decltype(of(rows.front()))>> values;
    for (const auto& row : rows)
        values.push_back(of(row));
    return to_numpy(std::move(values));
}

nb::tuple to_tuple(Subtree& search) {
    using Node = SubtreeNode;
    using Solution = SubtreeSolution;
    auto& [parent, unit, known, inside] = search.record;
    auto& solutions = search.solutions;
    solutions.erase(solutions.begin());
    if (solutions.empty()) return nb::make_tuple();
    auto tree = nb::make_tuple(to_numpy(std::move(parent)), to_numpy(std::move(unit)),
                               to_numpy(std::move(inside)), to_numpy(std::move(known)));
    const auto dual = [](const Solution& one) -> const auto& { return one.dual; };
    const auto used = [](const Solution& one) -> const auto& { return one.used; };
    const auto coef = [](const Solution& one) -> const auto& { return one.coef; };
    auto found = nb::make_tuple(joined(solutions, dual)[0], joined(solutions, used),
                                joined(solutions, coef)[0],
                                each(solutions, [](const Solution& one) { return one.intercept; }));
    auto open = nb::make_tuple();
    if (!search.open.empty())
        open = nb::make_tuple(
            each(search.open, [](const Node& one) { return one.bound; }),
            each(search.open, [](const Node& one) { return one.number; }),
            each(search.open, [](const Node& one) { return one.known - 1; }),
            each(search.open, [](const Node& one) { return one.n_fixed; }),
            joined(search.open, [](const Node& one) -> const auto& { return one.units; }));
    return nb::make_tuple(tree, found, open, search.least, to_numpy(std::move(search.support)),
                          search.is_better);
}

// The tree, the solutions and the open nodes of a subtree, the bound of what is ended, a support
// and whether it is better.
nb::tuple grown(const nb::tuple& storage, const Array<double>& y, const Array<double>& weight,
                int loss, const Pair& parameters, bool intercept, const Array<std::int64_t>& units,
                std::int64_t n_fixed, double bound, const Array<double>& dual,
                const Array<std::int64_t>& used, const Array<double>& coef, double start,
                double target, double objective, const Array<std::int64_t>& best,
                std::int64_t budget, std::int64_t most_nodes, double most_coef, double level,
                const std::tuple<double, double, double, double>& tolerances,
                const RelaxationNumbers& numbers) {
    const auto [node_tol, leaf_tol, no_better, decided] = tolerances;
    const SubtreeRule rule{relaxation_rule(numbers),
                           node_tol,
                           leaf_tol,
                           no_better,
                           decided,
                           budget,
                           most_nodes,
                           most_coef,
                           level};
    const auto copied = [](const auto& array) {
        return std::vector(array.data(), array.data() + array.size());
    };
    const auto x = pool_of(storage);
    const auto risk = risk_by_row(loss, parameters, y, weight);
    Subtree search(*risk, intercept, *x, rule, target, objective, copied(best));
    {
        const nb::gil_scoped_release release;
        search.grow({bound, 0, 0, n_fixed, copied(units)},
                    {copied(dual), copied(used), copied(coef), start, {}, {}});
    }
    return to_tuple(search);
}

}  // namespace

void bind_relaxation(nb::module_& m) {
    m.def("minimise_quadratic", &minimise, "matrix"_array, "right"_array, "n_fixed"_a, "q"_a,
          "tol"_a, "rule"_a, "u"_array);
    m.def("relax", &relaxed, "storage"_a, "columns"_array, "y"_array, "weight"_array, "loss"_a,
          "parameters"_a, "intercept"_a, "start"_a, "n_fixed"_a, "q"_a, "aim"_a, "rule"_a,
          "u"_array, "dual"_array, "scores"_array, "share"_array, "into"_array, "out"_array);
    m.def("grow", &grown, "storage"_a, "y"_array, "weight"_array, "loss"_a, "parameters"_a,
          "intercept"_a, "units"_array, "n_fixed"_a, "bound"_a, "dual"_array, "used"_array,
          "coef"_array, "start"_a, "target"_a, "objective"_a, "best"_array, "budget"_a,
          "most_nodes"_a, "most_coef"_a, "level"_a, "tolerances"_a, "rule"_a);
    m.def("decide", &decided, "v"_array, "scores"_array, "y"_array, "weight"_array, "loss"_a,
          "parameters"_a, "k"_a, "n_fixed"_a, "limit"_a, "dropped"_array, "fixed"_array);
}

}  // namespace zeronorm
