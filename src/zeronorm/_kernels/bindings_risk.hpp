// Shared by bindings of solvers: a loss by its number, the error of a system that is not finite.
#pragma once

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>
#include <utility>

#include "bindings.hpp"
#include "cholesky.hpp"
#include "ridge.hpp"
#include "risk.hpp"

namespace zeronorm {

using Pair = std::pair<double, double>;
using Numbers = std::tuple<double, double, double, double>;  // b, objective, bound, gap

inline std::unique_ptr<Risk> risk_of(int loss, const Pair& parameters, const Array<double>& y,
                                     const Array<double>& weight) {
    return make_risk({loss, parameters.first, parameters.second}, y.data(), weight.data(),
                     length(weight, 0));
}

// Returns what run() does, where its Newton systems are finite.
template <class Run>
auto finite(const Run& run) {
    try {
        const nb::gil_scoped_release release;
        return run();
    } catch (const NotFinite& error) {
        const nb::object type = nb::module_::import_("numpy.linalg").attr("LinAlgError");
        PyErr_SetString(type.ptr(), error.what());
        throw nb::python_error();
    }
}

inline Numbers numbers(const RidgeAnswer& answer) {
    return {answer.intercept, answer.objective, answer.bound, answer.gap};
}

}  // namespace zeronorm
