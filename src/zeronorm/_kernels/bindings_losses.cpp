// Bindings of the losses. No arithmetic.

#include "bindings.hpp"
#include "losses.hpp"

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

}  // namespace

void bind_losses(nb::module_& m) {
    m.def("logistic_value_gradient", &value_and_gradient<Logistic>, "z"_a.noconvert(),
          "y"_a.noconvert(), "weight"_a.noconvert(), "gradient"_a.noconvert());
    m.def("logistic_curvature", &weighted_curvature<Logistic>, "z"_a.noconvert(),
          "weight"_a.noconvert(), "out"_a.noconvert());
    m.def("logistic_conjugate", &weighted_conjugate<Logistic>, "alpha"_a.noconvert(),
          "weight"_a.noconvert());
}

}  // namespace zeronorm
