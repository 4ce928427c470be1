// Bindings of Newton's method on few columns. No arithmetic.

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.hpp"
#include "ridge.hpp"

namespace zeronorm {
namespace {

std::tuple<double, double, double, double> ridge(
    const StridedMatrix<double>& x, const Array<std::int64_t>& columns, const Array<double>& y,
    const Array<double>& weight, const Array<double>& penalty, bool squared_hinge, bool intercept,
    double start, double tol, bool of_value, double cutoff, const OutArray& u,
    const OutArray& margins, const OutArray& alpha, const OutArray& scores) {
    const auto solve = [&]<class Loss>() {
        const nb::gil_scoped_release release;
        RidgeSolver<Loss> solver(x.data(), x.stride(0), x.stride(1), columns.data(), length(x, 0),
                                 length(columns, 0), y.data(), weight.data(), penalty.data());
        return solver.solve(intercept, start, tol, of_value, cutoff, u.data(), margins.data(),
                            alpha.data(), scores.data());
    };
    try {
        const RidgeAnswer answer = squared_hinge ? solve.template operator()<SquaredHingeLoss>()
                                                 : solve.template operator()<LogisticLoss>();
        return {answer.intercept, answer.objective, answer.bound, answer.gap};
    } catch (const NotFinite& error) {
        const nb::object type = nb::module_::import_("numpy.linalg").attr("LinAlgError");
        PyErr_SetString(type.ptr(), error.what());
        throw nb::python_error();
    }
}

}  // namespace

void bind_ridge(nb::module_& m) {
    m.def("dense_ridge", &ridge, "x"_a.noconvert(), "columns"_a.noconvert(), "y"_a.noconvert(),
          "weight"_a.noconvert(), "penalty"_a.noconvert(), "squared_hinge"_a, "intercept"_a,
          "start"_a, "tol"_a, "of_value"_a, "cutoff"_a, "u"_a.noconvert(), "margins"_a.noconvert(),
          "alpha"_a.noconvert(), "scores"_a.noconvert());
}

}  // namespace zeronorm
