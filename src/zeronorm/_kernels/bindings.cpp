// The module zeronorm._kernels._native: names, array types, the release of the GIL. No arithmetic.
// Types and docstrings of the functions stand in _native.pyi, their specification in reference.py.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "audit.hpp"
#include "columns.hpp"
#include "gram.hpp"
#include "rows.hpp"
#include "scan.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace {

// An array that is read may be read-only; one that is written must not be.
template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using StridedMatrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
using OutArray = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class A>
std::int64_t length(const A& array, std::size_t axis) {
    return static_cast<std::int64_t>(array.shape(axis));
}

// Calls f with the view of x whose layout allows the longest consecutive reads.
template <class T, class F>
void with_layout(const StridedMatrix<T>& x, const F& f) {
    using zeronorm::Dense;
    using zeronorm::Layout;
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
    const zeronorm::Vectors<zeronorm::Partial<T>> vectors(v.data(), length(v, 0), length(v, 1));
    with_layout<T>(
        x, [&](const auto& view) { zeronorm::correlate(view, vectors, out.data(), n_threads); });
}

template <class T>
void dense_moments(const StridedMatrix<T>& x, const Array<double>& weight, const OutArray& total,
                   const OutArray& square, std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    with_layout<T>(x, [&](const auto& view) {
        zeronorm::moments(view, weight.data(), total.data(), square.data(), n_threads);
    });
}

template <class I, class T>
void csc_correlate(const Array<I>& indptr, const Array<I>& indices, const Array<T>& data,
                   const Matrix& v, const OutMatrix& out, std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    const zeronorm::Csc<I, T> x{indptr.data(), indices.data(), data.data(), length(v, 0),
                                length(out, 0)};
    zeronorm::correlate(x, {v.data(), length(v, 1)}, out.data(), n_threads);
}

template <class I, class T>
void csc_moments(const Array<I>& indptr, const Array<I>& indices, const Array<T>& data,
                 const Array<double>& weight, const OutArray& total, const OutArray& square,
                 std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    const zeronorm::Csc<I, T> x{indptr.data(), indices.data(), data.data(), length(weight, 0),
                                length(total, 0)};
    zeronorm::moments(x, weight.data(), total.data(), square.data(), n_threads);
}

template <class I, class T>
void csr_correlate(const Array<I>& indptr, const Array<I>& indices, const Array<T>& data,
                   const Matrix& v, const OutMatrix& out, std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    const zeronorm::Csr<I, T> x{indptr.data(), indices.data(), data.data(), length(v, 0),
                                length(out, 0)};
    zeronorm::correlate(x, v.data(), length(v, 1), out.data(), n_threads);
}

template <class I, class T>
void csr_moments(const Array<I>& indptr, const Array<I>& indices, const Array<T>& data,
                 const Array<double>& weight, const OutArray& total, const OutArray& square,
                 std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    const zeronorm::Csr<I, T> x{indptr.data(), indices.data(), data.data(), length(weight, 0),
                                length(total, 0)};
    zeronorm::moments(x, weight.data(), total.data(), square.data(), n_threads);
}

// Hands a vector over to NumPy.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    const nb::capsule owner(owned,
                            [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return {owned->data(), {owned->size()}, owner};
}

template <class I, class T>
auto csr_gather(const Array<I>& indptr, const Array<I>& indices, const Array<T>& data,
                const Array<std::int32_t>& position, std::int64_t n_columns,
                std::int64_t n_threads) {
    zeronorm::Gathered gathered;
    {
        const nb::gil_scoped_release release;
        const zeronorm::Csr<I, T> x{indptr.data(), indices.data(), data.data(),
                                    length(indptr, 0) - 1, length(position, 0)};
        gathered = zeronorm::gather(x, position.data(), n_columns, n_threads);
    }
    return std::make_tuple(to_numpy(std::move(gathered.indptr)),
                           to_numpy(std::move(gathered.indices)),
                           to_numpy(std::move(gathered.data)));
}

template <class I>
auto audit_indices(const Array<I>& indptr, const Array<I>& indices, std::int64_t n_minor) {
    zeronorm::Audit audit;
    {
        const nb::gil_scoped_release release;
        audit = zeronorm::audit(indptr.data(), length(indptr, 0), indices.data(),
                                length(indices, 0), n_minor);
    }
    return std::make_tuple(audit.bad_indptr, audit.bad_entry, audit.is_sorted,
                           audit.has_duplicates);
}

template <class I>
void sparse_gram(const Array<I>& indptr, const Array<std::int32_t>& indices,
                 const Array<double>& data, const Array<double>& weight, const OutMatrix& out,
                 std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    zeronorm::gram(indptr.data(), indices.data(), data.data(), length(weight, 0), length(out, 0),
                   weight.data(), out.data(), n_threads);
}

// Without noconvert an output of another type would be copied, and the result lost.
template <class T>
void bind_dense(nb::module_& m) {
    m.def("dense_correlate", &dense_correlate<T>, "x"_a.noconvert(), "v"_a.noconvert(),
          "out"_a.noconvert(), "n_threads"_a);
    m.def("dense_moments", &dense_moments<T>, "x"_a.noconvert(), "weight"_a.noconvert(),
          "total"_a.noconvert(), "square"_a.noconvert(), "n_threads"_a);
}

template <class I, class T>
void bind_sparse(nb::module_& m) {
    const auto correlate = [&m](const char* name, auto function) {
        m.def(name, function, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
              "v"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a);
    };
    const auto moments = [&m](const char* name, auto function) {
        m.def(name, function, "indptr"_a.noconvert(), "indices"_a.noconvert(), "data"_a.noconvert(),
              "weight"_a.noconvert(), "total"_a.noconvert(), "square"_a.noconvert(), "n_threads"_a);
    };
    correlate("csc_correlate", &csc_correlate<I, T>);
    correlate("csr_correlate", &csr_correlate<I, T>);
    moments("csc_moments", &csc_moments<I, T>);
    moments("csr_moments", &csr_moments<I, T>);
    m.def("csr_gather", &csr_gather<I, T>, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "data"_a.noconvert(), "position"_a.noconvert(), "n_columns"_a, "n_threads"_a);
}

template <class I>
void bind_indices(nb::module_& m) {
    bind_sparse<I, float>(m);
    bind_sparse<I, double>(m);
    bind_sparse<I, std::int8_t>(m);
    bind_sparse<I, std::uint8_t>(m);
    m.def("audit_indices", &audit_indices<I>, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "n_minor"_a);
    m.def("sparse_gram", &sparse_gram<I>, "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "data"_a.noconvert(), "weight"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a);
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Native kernels; zeronorm._kernels.reference is their specification.";
    m.attr("FLOAT32_SCAN_ERROR") = zeronorm::kScanError;
    bind_dense<float>(m);
    bind_dense<double>(m);
    bind_dense<std::int8_t>(m);
    bind_dense<std::uint8_t>(m);
    bind_indices<std::int32_t>(m);
    bind_indices<std::int64_t>(m);
}
