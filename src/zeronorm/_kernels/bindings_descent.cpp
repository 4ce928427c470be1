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

using FortranMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::f_contig, nb::device::cpu>;
using Features = Array<std::int64_t>;
// offset, active features, limit, sweeps, violations, done
using State = std::tuple<double, std::int64_t, double, std::int64_t, double, bool>;

// Call visit with a view of the columns, whatever the types of their arrays.
struct DenseStorage {
    const FortranMatrix& x;

    template <class Visit>
    auto visit(const Visit& of) const {
        return with_type<float, double>(x, [&]<class T>(const T* data) {
            const std::int64_t n = length(x, 0);
            return of(Dense<T, Layout::by_column>{data, n, length(x, 1), 1, n});
        });
    }
};
struct CscStorage {
    const AnyArray &indptr, &indices, &data;

    template <class Visit>
    auto visit(const Visit& of) const {
        const auto view = [&]<class I, class T>(const I* pointers, const I* places,
                                                const T* values) {
            return of(Csc<I, T>{pointers, places, values, length(indptr, 0) - 1});
        };
        return with_compressed<float, double>(indptr, indices, data, view);
    }
};

template <class Storage>
void terms(const Storage& storage, const Features& features, const Array<double>& v,
           const Array<double>& h, const OutArray& product, const OutArray& total,
           const OutArray& square, std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    storage.visit([&](const auto& x) {
        column_terms(x, features.data(), length(features, 0), v.data(), h.data(), product.data(),
                     total.data(), square.data(), n_threads);
    });
}

template <class Storage>
void add(const Storage& storage, const Features& features, const Array<double>& z,
         const OutArray& v) {
    const nb::gil_scoped_release release;
    storage.visit([&](const auto& x) {
        combine(x, features.data(), length(features, 0), z.data(), v.data());
    });
}

template <class Storage>
State sweeps(const Storage& storage, const Features& features, const Array<double>& curvature,
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
    storage.visit([&](const auto& x) {
        descend(x, features.data(), length(features, 0), model, target, max_sweeps, shrinking,
                Random(seed), active.data(), d.data(), residual.data(), descent);
    });
    return {descent.offset,   descent.n_active, descent.limit,
            descent.n_sweeps, descent.total,    descent.done};
}

template <class Storage>
std::pair<std::int64_t, double> subspace(
    const Storage& storage, const Features& features, const Array<double>& curvature,
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
    const std::int64_t n_iterations = storage.visit([&](const auto& x) {
        return subspace_step(x, features.data(), length(features, 0), model, target, max_iterations,
                             d.data(), residual.data(), offset);
    });
    return {n_iterations, offset};
}

template <class Storage>
double cycle(const Storage& storage, const Features& features, const Array<double>& y,
             const Array<double>& weight, const Matrix& penalty, int loss, double nu, double sigma,
             const Array<double>& largest_step, std::int64_t max_halvings, std::uint64_t seed,
             const OutIndices& order, const OutArray& u, const OutArray& z) {
    const nb::gil_scoped_release release;
    return storage.visit([&](const auto& x) {
        return with_loss({loss, 0.0, 0.0}, [&]<class Loss>(const Loss&) -> double {
            if constexpr (HasChange<Loss>)
                return newton_cycle<Loss>(x, features.data(), length(features, 0), y.data(),
                                          weight.data(), penalty.data(), nu, sigma,
                                          largest_step.data(), max_halvings, Random(seed),
                                          order.data(), u.data(), z.data());
            throw std::invalid_argument("there are no coordinate steps for this loss.");
        });
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
template <class Result, class... Rest>
auto wrapped(Result (*f)(const DenseStorage&, Rest...)) {
    return [f](const FortranMatrix& x, Rest... rest) { return f({x}, rest...); };
}
template <class Result, class... Rest>
auto wrapped(Result (*f)(const CscStorage&, Rest...)) {
    return [f](const AnyArray& indptr, const AnyArray& indices, const AnyArray& data,
               Rest... rest) { return f({indptr, indices, data}, rest...); };
}

template <class Storage, class... Arrays>
void define(nb::module_& m, const std::string& name, const Arrays&... arrays) {
    m.def((name + "_terms").c_str(), wrapped(&terms<Storage>), arrays..., "features"_array,
          "v"_array, "h"_array, "product"_array, "total"_array, "square"_array, "n_threads"_a);
    m.def((name + "_combine").c_str(), wrapped(&add<Storage>), arrays..., "features"_array,
          "z"_array, "v"_array);
    m.def((name + "_descend").c_str(), wrapped(&sweeps<Storage>), arrays..., "features"_array,
          "curvature"_array, "gradient"_array, "total"_array, "square"_array, "penalty"_array,
          "u"_array, "largest_step"_array, "nu"_a, "intercept"_a, "gradient_e"_a, "target"_a,
          "max_sweeps"_a, "shrinking"_a, "seed"_a, "active"_array, "d"_array, "residual"_array,
          "state"_a);
    m.def((name + "_subspace_step").c_str(), wrapped(&subspace<Storage>), arrays...,
          "features"_array, "curvature"_array, "gradient"_array, "total"_array, "square"_array,
          "penalty"_array, "u"_array, "largest_step"_array, "nu"_a, "intercept"_a, "gradient_e"_a,
          "target"_a, "max_iterations"_a, "d"_array, "residual"_array, "offset"_a);
    m.def((name + "_newton_cycle").c_str(), wrapped(&cycle<Storage>), arrays..., "features"_array,
          "y"_array, "weight"_array, "penalty"_array, "loss"_a, "nu"_a, "sigma"_a,
          "largest_step"_array, "max_halvings"_a, "seed"_a, "order"_array, "u"_array, "z"_array);
}

}  // namespace

void bind_descent(nb::module_& m) {
    define<DenseStorage>(m, "dense", "x"_array);
    define<CscStorage>(m, "csc", "indptr"_array, "indices"_array, "data"_array);
    m.def("gram_descend", &gram_descend, "gram"_array, "penalty"_array, "u"_array,
          "largest_step"_array, "target"_a, "max_sweeps"_a, "d"_array, "slope"_array);
}

}  // namespace zeronorm
