// Bindings of the measures. No arithmetic.

#include <cstdint>
#include <tuple>
#include <utility>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "bindings.hpp"
#include "cuts.hpp"
#include "measures.hpp"

namespace zeronorm {
namespace {

using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

std::pair<std::int64_t, std::int64_t> f_label(const Array<double>& positive,
                                              const Array<double>& negative, double beta) {
    const nb::gil_scoped_release release;
    const Labelling found = f_labelling(positive.data(), length(positive, 0), negative.data(),
                                        length(negative, 0), beta);
    return {found.a, found.b};
}

void place(const Array<double>& positive, const Array<double>& negative, const OutIndices& places) {
    const nb::gil_scoped_release release;
    ap_places(positive.data(), length(positive, 0), negative.data(), length(negative, 0),
              places.data());
}

std::tuple<double, double, double, std::int64_t> solve(const Cube& grams,
                                                       const Array<double>& delta,
                                                       const Array<double>& g, double C, double tol,
                                                       const OutArray& alpha,
                                                       const OutArray& block_weight) {
    const nb::gil_scoped_release release;
    CutProgram program(grams.data(), delta.data(), g.data(), length(grams, 0), length(delta, 0), C);
    const CutAnswer answer = program.solve(tol, alpha.data(), block_weight.data());
    return {answer.bound, answer.value, answer.intercept, answer.n_steps};
}

}  // namespace

void bind_measures(nb::module_& m) {
    m.def("f_labelling", &f_label, "positive"_array, "negative"_array, "beta"_a);
    m.def("ap_places", &place, "positive"_array, "negative"_array, "places"_array);
    m.def("solve_cuts", &solve, "grams"_array, "delta"_array, "g"_array, "C"_a, "tol"_a,
          "alpha"_array, "block_weight"_array);
}

}  // namespace zeronorm
