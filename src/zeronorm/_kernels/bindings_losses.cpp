// Bindings of the losses. No arithmetic.

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "bindings.hpp"
#include "losses.hpp"
#include "multinomial.hpp"
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
    const auto risk =
        make_risk({loss, parameters.first, parameters.second}, y.data(), weight.data(), n);
    const Buffer margin(risk->n_rows()), v(risk->n_rows()), bend(risk->n_rows());
    std::copy_n(z.data(), n, static_cast<double*>(margin));
    double b = start;
    RowTotals totals = risk->evaluate(margin, b, v, bend);
    if (intercept) risk->fit_intercept(margin, b, v, bend, totals);
    std::transform(&v[0], &v[n], gradient.data(), [](double x) { return -x; });
    std::copy_n(static_cast<double*>(bend), n, curvature.data());
    return {b, totals.value};
}

double loss_scale(const Array<double>& v, const Array<double>& y, const Array<double>& weight,
                  int loss, const Pair& parameters, double quadratic) {
    const nb::gil_scoped_release release;
    return make_risk({loss, parameters.first, parameters.second}, y.data(), weight.data(),
                     length(v, 0))
        ->dual(v.data())
        ->best_scale(quadratic);
}

double loss_conjugate(const Array<double>& v, const Array<double>& y, const Array<double>& weight,
                      int loss, const Pair& parameters) {
    const nb::gil_scoped_release release;
    return make_risk({loss, parameters.first, parameters.second}, y.data(), weight.data(),
                     length(v, 0))
        ->dual(v.data())
        ->conjugate(1.0);
}

// Margins, or a vector like them, (q n,), with the rows of every output padded.
void pad(const double* from, std::int64_t n, std::int64_t n_rows, std::int64_t q, double* to) {
    for (std::int64_t o = 0; o < q; ++o)
        std::copy_n(from + o * n, n, to + o * n_rows);
}
void strip(const double* from, std::int64_t n, std::int64_t n_rows, std::int64_t q, double* to) {
    for (std::int64_t o = 0; o < q; ++o)
        std::copy_n(from + o * n_rows, n, to + o * n);
}

double multinomial_at(const Array<double>& z, const Array<double>& y, const Array<double>& weight,
                      std::int64_t outputs, bool intercept, const OutArray& intercepts,
                      const OutArray& shares, const OutArray& dual) {
    const nb::gil_scoped_release release;
    const std::int64_t n = length(z, 0) / outputs;
    MultinomialRisk risk(y.data(), weight.data(), n, outputs, intercept);
    const std::int64_t n_rows = risk.n_rows();
    const Buffer part(outputs * n_rows);
    pad(z.data(), n, n_rows, outputs, part);
    const double value = risk.evaluate(part);
    std::copy_n(risk.intercepts(), outputs, intercepts.data());
    strip(risk.shares(), n, n_rows, outputs, shares.data());
    risk.dual_point(part);
    strip(part, n, n_rows, outputs, dual.data());
    return value;
}

void multinomial_inside(const Array<double>& v, const Array<double>& y, const Array<double>& weight,
                        std::int64_t outputs, bool intercept, const OutArray& out) {
    const nb::gil_scoped_release release;
    const std::int64_t n = length(v, 0) / outputs;
    MultinomialRisk risk(y.data(), weight.data(), n, outputs, intercept);
    const Buffer part(outputs * risk.n_rows());
    pad(v.data(), n, risk.n_rows(), outputs, part);
    risk.inside(part);
    strip(part, n, risk.n_rows(), outputs, out.data());
}

double multinomial_conjugate(const Array<double>& v, const Array<double>& y,
                             const Array<double>& weight, std::int64_t outputs, bool intercept) {
    const nb::gil_scoped_release release;
    const std::int64_t n = length(v, 0) / outputs;
    return MultinomialDual{v.data(), y.data(), weight.data(), n, outputs}.conjugate(intercept);
}

double multinomial_scale(const Array<double>& v, const Array<double>& y,
                         const Array<double>& weight, std::int64_t outputs, double quadratic) {
    const nb::gil_scoped_release release;
    const std::int64_t n = length(v, 0) / outputs;
    return MultinomialDual{v.data(), y.data(), weight.data(), n, outputs}.best_scale(quadratic);
}

}  // namespace

void bind_losses(nb::module_& m) {
    m.def("logistic_value_gradient", &value_and_gradient<Logistic>, "z"_array, "y"_array,
          "weight"_array, "gradient"_array);
    m.def("logistic_curvature", &weighted_curvature<Logistic>, "z"_array, "weight"_array,
          "out"_array);
    m.def("logistic_conjugate", &weighted_conjugate<Logistic>, "alpha"_array, "weight"_array);
    m.def("multinomial_at", &multinomial_at, "z"_array, "y"_array, "weight"_array, "outputs"_a,
          "intercept"_a, "intercepts"_array, "shares"_array, "dual"_array);
    m.def("multinomial_inside", &multinomial_inside, "v"_array, "y"_array, "weight"_array,
          "outputs"_a, "intercept"_a, "out"_array);
    m.def("multinomial_conjugate", &multinomial_conjugate, "v"_array, "y"_array, "weight"_array,
          "outputs"_a, "intercept"_a);
    m.def("multinomial_scale", &multinomial_scale, "v"_array, "y"_array, "weight"_array,
          "outputs"_a, "quadratic"_a);
    m.def("loss_at", &loss_at, "z"_array, "y"_array, "weight"_array, "loss"_a, "parameters"_a,
          "intercept"_a, "start"_a, "gradient"_array, "curvature"_array);
    m.def("loss_scale", &loss_scale, "v"_array, "y"_array, "weight"_array, "loss"_a, "parameters"_a,
          "quadratic"_a);
    m.def("loss_conjugate", &loss_conjugate, "v"_array, "y"_array, "weight"_array, "loss"_a,
          "parameters"_a);
}

}  // namespace zeronorm
