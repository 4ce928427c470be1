// Bindings of the losses. No arithmetic.

#include "bindings.hpp"
#include "losses.hpp"

namespace zeronorm {
namespace {

double value_gradient(const Array<double>& z, const Array<double>& y, const Array<double>& weight,
                      const OutArray& gradient) {
    const nb::gil_scoped_release release;
    return logistic(z.data(), y.data(), weight.data(), length(z, 0), gradient.data());
}

void curvature(const Array<double>& z, const Array<double>& weight, const OutArray& out) {
    const nb::gil_scoped_release release;
    logistic_curvature(z.data(), weight.data(), length(z, 0), out.data());
}

double conjugate(const Array<double>& alpha, const Array<double>& weight) {
    const nb::gil_scoped_release release;
    return logistic_conjugate(alpha.data(), weight.data(), length(alpha, 0));
}

}  // namespace

void bind_losses(nb::module_& m) {
    m.def("logistic_value_gradient", &value_gradient, "z"_a.noconvert(), "y"_a.noconvert(),
          "weight"_a.noconvert(), "gradient"_a.noconvert());
    m.def("logistic_curvature", &curvature, "z"_a.noconvert(), "weight"_a.noconvert(),
          "out"_a.noconvert());
    m.def("logistic_conjugate", &conjugate, "alpha"_a.noconvert(), "weight"_a.noconvert());
}

}  // namespace zeronorm
