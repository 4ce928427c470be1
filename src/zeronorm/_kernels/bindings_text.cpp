// Bindings of the kernels that read text. No arithmetic.

#include <nanobind/stl/tuple.h>

#include <stdexcept>

#include "bindings.hpp"
#include "delimited.hpp"
#include "svmlight.hpp"
#include "text.hpp"

namespace zeronorm {
namespace {

using Text = Array<std::uint8_t>;
using OutPairs = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Pairs = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutSpans = nb::ndarray<std::int64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using OutInt32 = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The readers go on until a line ends.
const char* characters(const Text& text) {
    const std::int64_t size = length(text, 0);
    if (size == 0 || text.data()[size - 1] != '\n')
        throw std::invalid_argument("text must end with a line end");
    return reinterpret_cast<const char*>(text.data());
}

void cut(const Text& text, std::int64_t mark, const OutIndices& cuts, const OutPairs& counts) {
    const char* const bytes = characters(text);
    const nb::gil_scoped_release release;
    cut_text(bytes, length(text, 0), static_cast<char>(mark), length(counts, 0), cuts.data(),
             counts.data());
}

auto svmlight_rows(const Text& text, const Array<std::int64_t>& cuts, const Pairs& counts,
                   const OutArray& labels, const OutIndices& lengths, const OutInt32& indices,
                   const OutArray& values, std::int64_t n_threads) {
    const char* const bytes = characters(text);
    const nb::gil_scoped_release release;
    const SvmlightRows rows{labels.data(), lengths.data(), indices.data(), values.data()};
    const SvmlightCounts all =
        read_svmlight(bytes, cuts.data(), counts.data(), length(counts, 0), rows, n_threads);
    return std::make_tuple(all.rows, all.entries, all.lowest, all.highest, all.fault);
}

auto delimited_rows(const Text& text, const Array<std::int64_t>& cuts, const Pairs& counts,
                    std::int64_t delimiter, const Array<std::int64_t>& places,
                    const OutMatrix& numbers, const OutSpans& spans, const OutIndices& rows,
                    std::int64_t n_threads) {
    const char* const bytes = characters(text);
    const nb::gil_scoped_release release;
    const DelimitedColumns columns{
        static_cast<char>(delimiter), places.data(), length(places, 0), numbers.data(),
        length(numbers, 1),           spans.data(),  length(spans, 1)};
    const DelimitedFault fault = read_delimited(bytes, cuts.data(), counts.data(),
                                                length(counts, 0), columns, rows.data(), n_threads);
    return std::make_tuple(fault.line, fault.column);
}

}  // namespace

void bind_text(nb::module_& m) {
    m.def("cut_text", &cut, "text"_array, "mark"_a, "cuts"_array, "counts"_array);
    m.def("svmlight_rows", &svmlight_rows, "text"_array, "cuts"_array, "counts"_array,
          "labels"_array, "lengths"_array, "indices"_array, "values"_array, "n_threads"_a);
    m.def("delimited_rows", &delimited_rows, "text"_array, "cuts"_array, "counts"_array,
          "delimiter"_a, "places"_array, "numbers"_array, "spans"_array, "rows"_array,
          "n_threads"_a);
}

}  // namespace zeronorm
