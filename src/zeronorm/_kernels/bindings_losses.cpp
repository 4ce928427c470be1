// Bindings of the losses. No arithmetic.

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <utility>

#include "bindings.hpp"
#include "cox.hpp"
#include "losses.hpp"
#include "risk.hpp"

namespace zeronorm {
namespace {

template <class Loss>
double value_and_gradient(const Array<double>& z, const Array<double>& y,
                          const Array<double>& weight, const OutArray& gradient) {
    const nb::gil_scoped_release release;
    return value_gradient<Loss>(z.data(), y.data(), weight.data(), length(z, 0), gradient.data());
}

template <class Loss>
void weighted_curvature(const Array<double>& z, const Array<double>& weight, const OutArray& out) {
    const nb::gil_scoped_release release;
    curvature<Loss>(z.data(), weight.data(), length(z, 0), out.data());
}

template <class Loss>
double weighted_conjugate(const Array<double>& alpha, const Array<double>& weight) {
    const nb::gil_scoped_release release;
    return conjugate<Loss>(alpha.data(), weight.data(), length(alpha, 0));
}

using Pair = std::pair<double, double>;

Pair loss_at(const Array<double>& z, const Array<double>& y, const Array<double>& weight, int loss,
             const Pair& parameters, bool intercept, double start, const OutArray& gradient,
             const OutArray& curvature) {
    const nb::gil_scoped_release release;
    const std::int64_t n = length(z, 0);
    const auto visit = [&]<class Loss>(const Loss& one) -> Pair {
        const Risk<Loss> risk(one, y.data(), weight.data(), n);
        const Buffer margin(risk.n_rows()), v(risk.n_rows()), bend(risk.n_rows());
        std::copy_n(z.data(), n, static_cast<double*>(margin));
        double b = start;
        RowTotals totals = risk.evaluate(margin, b, v, bend);
        if (intercept) risk.fit_intercept(margin, b, v, bend, totals);
        std::transform(&v[0], &v[n], gradient.data(), [](double x) { return -x; });
        std::copy_n(static_cast<double*>(bend), n, curvature.data());
        return {b, totals.value};
    };
    return with_loss({loss, parameters.first, parameters.second}, visit);
}

}  // namespace

void bind_losses(nb::module_& m) {
    m.def("logistic_value_gradient", &value_and_gradient<Logistic>, "z"_a.noconvert(),
          "y"_a.noconvert(), "weight"_a.noconvert(), "gradient"_a.noconvert());
    m.def("logistic_curvature", &weighted_curvature<Logistic>, "z"_a.noconvert(),
          "weight"_a.noconvert(), "out"_a.noconvert());
    m.def("logistic_conjugate", &weighted_conjugate<Logistic>, "alpha"_a.noconvert(),
          "weight"_a.noconvert());
    m.def("loss_at", &loss_at, "z"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert(),
          "loss"_a, "parameters"_a, "intercept"_a, "start"_a, "gradient"_a.noconvert(),
          "curvature"_a.noconvert());
}

}  // namespace zeronorm
