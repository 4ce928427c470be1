// Bindings of the bi-level selection. No arithmetic.

#include <cstdint>
#include <utility>

#include <nanobind/stl/pair.h>

#include "bilevel.hpp"
#include "bindings.hpp"

namespace zeronorm {
namespace {

using Answer = std::pair<std::int64_t, std::int64_t>;

template <bool ByProgram>
Answer select(const Array<double>& v, const Array<std::int64_t>& code, std::int64_t n_groups,
              std::int64_t k, std::int64_t g, const Array<std::uint8_t>& opened,
              const OutIndices& out) {
    const nb::gil_scoped_release release;
    BilevelSearch search(v.data(), code.data(), length(v, 0), n_groups, k, g, opened.data());
    const BilevelAnswer answer =
        ByProgram ? search.by_program(out.data()) : search.by_bound(out.data());
    return {answer.count, answer.undecided};
}

}  // namespace

void bind_bilevel(nb::module_& m) {
    m.def("bilevel_select", &select<false>, "v"_array, "code"_array, "n_groups"_a, "k"_a, "g"_a,
          "opened"_array, "out"_array);
    m.def("bilevel_program", &select<true>, "v"_array, "code"_array, "n_groups"_a, "k"_a, "g"_a,
          "opened"_array, "out"_array);
}

}  // namespace zeronorm
