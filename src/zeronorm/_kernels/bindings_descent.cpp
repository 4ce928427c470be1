// Bindings of coordinate descent over columns. No arithmetic.

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "bindings.hpp"
#include "csc.hpp"
#include "dense.hpp"
#include "descent.hpp"
#include "subspace.hpp"

namespace zeronorm {
namespace {

template <class T>
using ByColumn = Dense<T, Layout::by_column>;
template <class T>
using FortranMatrix = nb::ndarray<const T, nb::ndim<2>, nb::f_contig, nb::device::cpu>;
using Features = Array<std::int64_t>;
// offset, active features, limit, sweeps, violations, done
using State = std::tuple<double, std::int64_t, double, std::int64_t, double, bool>;

template <class T>
ByColumn<T> columns(const FortranMatrix<T>& x) {
    return {x.data(), length(x, 0), length(x, 1), 1, length(x, 0)};
}

template <VisitedColumns C>
void terms(const C& x, const Features& features, const Array<double>& v, const Array<double>& h,
           const OutArray& product, const OutArray& total, const OutArray& square,
           std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    column_terms(x, features.data(), length(features, 0), v.data(), h.data(), product.data(),
                 total.data(), square.data(), n_threads);
}

template <VisitedColumns C>
void add(const C& x, const Features& features, const Array<double>& z, const OutArray& v) {
    const nb::gil_scoped_release release;
    combine(x, features.data(), length(features, 0), z.data(), v.data());
}

template <VisitedColumns C>
State sweeps(const C& x, const Features& features, const Array<double>& curvature,
             const Array<double>& gradient, const Array<double>& total, const Array<double>& square,
             const Matrix& penalty, const Array<double>& u, const Array<double>& largest_step,
             double nu, bool intercept, double gradient_e, double target, std::int64_t max_sweeps,
             double shrinking, std::uint64_t seed, const OutIndices& active, const OutArray& d,
             const OutArray& residual, const State& state) {
    const nb::gil_scoped_release release;
    const Model model{length(curvature, 0),
                      curvature.data(),
                      gradient.data(),
                      total.data(),
                      square.data(),
                      penalty.data(),
                      u.data(),
                      largest_step.data(),
                      nu,
                      intercept,
                      gradient_e};
    const auto [offset, n_active, limit, n_sweeps, total_before, done] = state;
    Descent descent{offset, n_active, limit, n_sweeps, total_before, false};
    descend(x, features.data(), length(features, 0), model, target, max_sweeps, shrinking,
            Random(seed), active.data(), d.data(), residual.data(), descent);
    return {descent.offset,   descent.n_active, descent.limit,
            descent.n_sweeps, descent.total,    descent.done};
}

template <VisitedColumns C>
std::pair<std::int64_t, double> subspace(
    const C& x, const Features& features, const Array<double>& curvature,
    const Array<double>& gradient, const Array<double>& total, const Array<double>& square,
    const Matrix& penalty, const Array<double>& u, const Array<double>& largest_step, double nu,
    bool intercept, double gradient_e, double target, std::int64_t max_iterations,
    const OutArray& d, const OutArray& residual, double offset) {
    const nb::gil_scoped_release release;
    const Model model{length(curvature, 0),
                      curvature.data(),
                      gradient.data(),
                      total.data(),
                      square.data(),
                      penalty.data(),
                      u.data(),
                      largest_step.data(),
                      nu,
                      intercept,
                      gradient_e};
    const std::int64_t n_iterations =
        subspace_step(x, features.data(), length(features, 0), model, target, max_iterations,
                      d.data(), residual.data(), offset);
    return {n_iterations, offset};
}

template <VisitedColumns C>
double cycle(const C& x, const Features& features, const Array<double>& y,
             const Array<double>& weight, const Matrix& penalty, int loss, double nu, double sigma,
             const Array<double>& largest_step, std::int64_t max_halvings, std::uint64_t seed,
             const OutIndices& order, const OutArray& u, const OutArray& z) {
    const nb::gil_scoped_release release;
    return with_loss({loss, 0.0, 0.0}, [&]<class Loss>(const Loss&) -> double {
        if constexpr (HasChange<Loss>)
            return newton_cycle<Loss>(x, features.data(), length(features, 0), y.data(),
                                      weight.data(), penalty.data(), nu, sigma, largest_step.data(),
                                      max_halvings, Random(seed), order.data(), u.data(), z.data());
        throw std::invalid_argument("there are no coordinate steps for this loss.");
    });
}

std::pair<std::int64_t, double> gram_descend(const Matrix& gram, const Matrix& penalty,
                                             const Array<double>& u,
                                             const Array<double>& largest_step, double target,
                                             std::int64_t max_sweeps, const OutArray& d,
                                             const OutArray& slope) {
    const nb::gil_scoped_release release;
    return descend_gram(gram.data(), length(u, 0), penalty.data(), u.data(), largest_step.data(),
                        target, max_sweeps, d.data(), slope.data());
}

// Makes the storage the first arguments of a function of columns.
template <class T, class Result, class... Rest>
auto of_dense(Result (*f)(const ByColumn<T>&, Rest...)) {
    return [f](const FortranMatrix<T>& x, Rest... rest) { return f(columns<T>(x), rest...); };
}
template <class I, class T, class Result, class... Rest>
auto of_csc(Result (*f)(const Csc<I, T>&, Rest...)) {
    return
        [f](const Array<I>& indptr, const Array<I>& indices, const Array<T>& data, Rest... rest) {
            const Csc<I, T> x{indptr.data(), indices.data(), data.data(), length(indptr, 0) - 1};
            return f(x, rest...);
        };
}

template <VisitedColumns C, class Wrap, class... Storage>
void define(nb::module_& m, const std::string& name, const Wrap& wrap, const Storage&... storage) {
    m.def((name + "_terms").c_str(), wrap(&terms<C>), storage..., "features"_array, "v"_array,
          "h"_array, "product"_array, "total"_array, "square"_array, "n_threads"_a);
    m.def((name + "_combine").c_str(), wrap(&add<C>), storage..., "features"_array, "z"_array,
          "v"_array);
    m.def((name + "_descend").c_str(), wrap(&sweeps<C>), storage..., "features"_array,
          "curvature"_array, "gradient"_array, "total"_array, "square"_array, "penalty"_array,
          "u"_array, "largest_step"_array, "nu"_a, "intercept"_a, "gradient_e"_a, "target"_a,
          "max_sweeps"_a, "shrinking"_a, "seed"_a, "active"_array, "d"_array, "residual"_array,
          "state"_a);
    m.def((name + "_subspace_step").c_str(), wrap(&subspace<C>), storage..., "features"_array,
          "curvature"_array, "gradient"_array, "total"_array, "square"_array, "penalty"_array,
          "u"_array, "largest_step"_array, "nu"_a, "intercept"_a, "gradient_e"_a, "target"_a,
          "max_iterations"_a, "d"_array, "residual"_array, "offset"_a);
    m.def((name + "_newton_cycle").c_str(), wrap(&cycle<C>), storage..., "features"_array,
          "y"_array, "weight"_array, "penalty"_array, "loss"_a, "nu"_a, "sigma"_a,
          "largest_step"_array, "max_halvings"_a, "seed"_a, "order"_array, "u"_array, "z"_array);
}

template <class T>
void define_dense(nb::module_& m) {
    const auto wrap = [](auto f) { return of_dense<T>(f); };
    define<ByColumn<T>>(m, "dense", wrap, "x"_array);
}

template <class I, class T>
void define_csc(nb::module_& m) {
    const auto wrap = [](auto f) { return of_csc<I, T>(f); };
    define<Csc<I, T>>(m, "csc", wrap, "indptr"_array, "indices"_array, "data"_array);
}

}  // namespace

void bind_descent(nb::module_& m) {
    define_dense<float>(m);
    define_dense<double>(m);
    define_csc<std::int32_t, float>(m);
    define_csc<std::int32_t, double>(m);
    define_csc<std::int64_t, float>(m);
    define_csc<std::int64_t, double>(m);
    m.def("gram_descend", &gram_descend, "gram"_array, "penalty"_array, "u"_array,
          "largest_step"_array, "target"_a, "max_sweeps"_a, "d"_array, "slope"_array);
}

}  // namespace zeronorm
