// Bindings of the kernels on dense storage, and of checksums. No arithmetic.

#include "bindings.hpp"
#include "checksum.hpp"
#include "dense.hpp"
#include "scan.hpp"

namespace zeronorm {
namespace {

// Calls f with the view of x whose layout allows the longest consecutive reads.
template <class T, class F>
void with_layout(const StridedMatrix<T>& x, const F& f) {
    const std::int64_t n = length(x, 0);
    const std::int64_t p = length(x, 1);
    const std::int64_t row = x.stride(0);
    const std::int64_t column = x.stride(1);
    if (row == 1 || n <= 1)
        f(Dense<T, Layout::by_column>{x.data(), n, p, row, column});
    else if (column == 1)
        f(Dense<T, Layout::by_row>{x.data(), n, p, row, column});
    else
        f(Dense<T, Layout::strided>{x.data(), n, p, row, column});
}

template <class T>
void dense_correlate(const StridedMatrix<T>& x, const Matrix& v, const OutMatrix& out,
                     std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    const Vectors<Partial<T>> vectors(v.data(), length(v, 0), length(v, 1));
    with_layout<T>(x, [&](const auto& view) { correlate(view, vectors, out.data(), n_threads); });
}

template <class T>
void dense_moments(const StridedMatrix<T>& x, const Array<double>& weight, const OutArray& total,
                   const OutArray& square, std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    with_layout<T>(x, [&](const auto& view) {
        moments(view, weight.data(), total.data(), square.data(), n_threads);
    });
}

template <class T>
void bind_type(nb::module_& m) {
    m.def("dense_correlate", &dense_correlate<T>, "x"_array, "v"_array, "out"_array, "n_threads"_a);
    m.def("dense_moments", &dense_moments<T>, "x"_array, "weight"_array, "total"_array,
          "square"_array, "n_threads"_a);
}

std::uint32_t checksum(const Array<std::uint8_t>& bytes, std::uint32_t value) {
    const nb::gil_scoped_release release;
    return crc32c(bytes.data(), bytes.size(), value);
}

}  // namespace

void bind_dense(nb::module_& m) {
    bind_type<float>(m);
    bind_type<double>(m);
    bind_type<std::int8_t>(m);
    bind_type<std::uint8_t>(m);
    m.def("crc32c", &checksum, "bytes"_array, "value"_a);
}

}  // namespace zeronorm
