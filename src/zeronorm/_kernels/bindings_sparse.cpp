// Bindings of the kernels on compressed sparse storage. No arithmetic.

#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "audit.hpp"
#include "bindings.hpp"
#include "csc.hpp"
#include "gram.hpp"
#include "row_forms.hpp"
#include "rows.hpp"
#include "scan.hpp"

namespace zeronorm {
namespace {

template <class Visit>
auto with_any(const AnyArray& indptr, const AnyArray& indices, const AnyArray& data,
              const Visit& visit) {
    return with_compressed<float, double, std::int8_t, std::uint8_t>(indptr, indices, data, visit);
}

void csc_correlate(const AnyArray& indptr, const AnyArray& indices, const AnyArray& data,
                   const Matrix& v, const OutMatrix& out, std::int64_t n_threads) {
    with_any(indptr, indices, data, [&]<class I, class T>(const I* p, const I* i, const T* d) {
        const nb::gil_scoped_release release;
        const Csc<I, T> x{p, i, d, length(out, 0)};
        correlate(x, {v.data(), length(v, 1)}, out.data(), n_threads);
    });
}

void csc_moments(const AnyArray& indptr, const AnyArray& indices, const AnyArray& data,
                 const Array<double>& weight, const OutArray& total, const OutArray& square,
                 std::int64_t n_threads) {
    with_any(indptr, indices, data, [&]<class I, class T>(const I* p, const I* i, const T* d) {
        const nb::gil_scoped_release release;
        const Csc<I, T> x{p, i, d, length(total, 0)};
        moments(x, weight.data(), total.data(), square.data(), n_threads);
    });
}

void csr_correlate(const AnyArray& indptr, const AnyArray& indices, const AnyArray& data,
                   const Matrix& v, const OutMatrix& out, std::int64_t n_threads) {
    with_any(indptr, indices, data, [&]<class I, class T>(const I* p, const I* i, const T* d) {
        const nb::gil_scoped_release release;
        const Csr<I, T> x{p, i, d, length(v, 0), length(out, 0)};
        correlate(x, v.data(), length(v, 1), out.data(), n_threads);
    });
}

void csr_moments(const AnyArray& indptr, const AnyArray& indices, const AnyArray& data,
                 const Array<double>& weight, const OutArray& total, const OutArray& square,
                 std::int64_t n_threads) {
    with_any(indptr, indices, data, [&]<class I, class T>(const I* p, const I* i, const T* d) {
        const nb::gil_scoped_release release;
        const Csr<I, T> x{p, i, d, length(weight, 0), length(total, 0)};
        moments(x, weight.data(), total.data(), square.data(), n_threads);
    });
}

void csr_terms(const AnyArray& indptr, const AnyArray& indices, const AnyArray& data,
               const Array<double>& v, const Array<double>& h, const OutArray& product,
               const OutArray& total, const OutArray& square, std::int64_t n_threads) {
    with_any(indptr, indices, data, [&]<class I, class T>(const I* p, const I* i, const T* d) {
        const nb::gil_scoped_release release;
        const Csr<I, T> x{p, i, d, length(v, 0), length(product, 0)};
        row_terms(x, v.data(), h.data(), product.data(), total.data(), square.data(), n_threads);
    });
}

void csr_combine(const AnyArray& indptr, const AnyArray& indices, const AnyArray& data,
                 const Array<double>& z, const OutArray& v, std::int64_t n_threads) {
    with_any(indptr, indices, data, [&]<class I, class T>(const I* p, const I* i, const T* d) {
        const nb::gil_scoped_release release;
        const Csr<I, T> x{p, i, d, length(v, 0), length(z, 0)};
        row_combine(x, z.data(), v.data(), n_threads);
    });
}

void csr_gram(const AnyArray& indptr, const AnyArray& indices, const AnyArray& data,
              const Array<std::int32_t>& position, const Array<double>& weight,
              const OutMatrix& out, std::int64_t n_threads) {
    with_any(indptr, indices, data, [&]<class I, class T>(const I* p, const I* i, const T* d) {
        const nb::gil_scoped_release release;
        const Csr<I, T> x{p, i, d, length(weight, 0), length(position, 0)};
        row_gram(x, position.data(), length(out, 0), weight.data(), out.data(), n_threads);
    });
}

template <class I>
void csr_forms(const Array<I>& indptr, const Array<I>& indices, const Array<double>& data,
               const Matrix& matrix, const OutArray& out, std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    const Csr<I, double> x{indptr.data(), indices.data(), data.data(), length(out, 0),
                           length(matrix, 0)};
    row_forms(x, matrix.data(), out.data(), n_threads);
}

template <class T>
NewArray<T> to_numpy(std::unique_ptr<T[]>&& values, std::int64_t size) {
    return handed_over(values.get(), static_cast<std::size_t>(size), std::move(values));
}

template <class Out, class T>
nb::tuple to_numpy(Gathered<Out, T>&& columns, std::int64_t n_columns) {
    const auto n_stored = static_cast<std::int64_t>(columns.indptr[n_columns]);
    return nb::make_tuple(to_numpy(std::move(columns.indptr), n_columns + 1),
                          to_numpy(std::move(columns.indices), n_stored),
                          to_numpy(std::move(columns.data), n_stored));
}

nb::tuple csr_gather(const AnyArray& indptr, const AnyArray& indices, const AnyArray& data,
                     const Array<std::int32_t>& position, std::int64_t n_columns,
                     std::int64_t n_threads) {
    return with_any(indptr, indices, data,
                    [&]<class I, class T>(const I* p, const I* i, const T* d) {
                        const Csr<I, T> x{p, i, d, length(indptr, 0) - 1, length(position, 0)};
                        Gathered<std::int64_t, double> gathered;
                        {
                            const nb::gil_scoped_release release;
                            const ChosenColumns place{position.data()};
                            gathered = gather<std::int64_t, double>(x, place, n_columns, n_threads);
                        }
                        return to_numpy(std::move(gathered), n_columns);
                    });
}

nb::tuple csr_to_csc(const AnyArray& indptr, const AnyArray& indices, const AnyArray& data,
                     std::int64_t n_columns, std::int64_t n_threads) {
    return with_any(
        indptr, indices, data, [&]<class I, class T>(const I* p, const I* i, const T* d) {
            using Value = std::conditional_t<std::is_integral_v<T>, float, T>;
            const Csr<I, T> x{p, i, d, length(indptr, 0) - 1, n_columns};
            Gathered<std::int32_t, Value> gathered;
            {
                const nb::gil_scoped_release release;
                gathered = gather<std::int32_t, Value>(x, AllColumns{}, n_columns, n_threads);
            }
            return to_numpy(std::move(gathered), n_columns);
        });
}

template <class I>
auto audit_indices(const Array<I>& indptr, const Array<I>& indices, std::int64_t n_minor) {
    Audit found;
    {
        const nb::gil_scoped_release release;
        found =
            audit(indptr.data(), length(indptr, 0), indices.data(), length(indices, 0), n_minor);
    }
    return std::make_tuple(found.bad_indptr, found.bad_entry, found.is_sorted,
                           found.has_duplicates);
}

template <class I>
void sparse_gram(const Array<I>& indptr, const Array<std::int32_t>& indices,
                 const Array<double>& data, const Array<double>& weight, const OutMatrix& out,
                 std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    gram(indptr.data(), indices.data(), data.data(), length(weight, 0), length(out, 0),
         weight.data(), out.data(), n_threads);
}

template <class I>
void bind_indices(nb::module_& m) {
    m.def("audit_indices", &audit_indices<I>, "indptr"_array, "indices"_array, "n_minor"_a);
    m.def("csr_forms", &csr_forms<I>, "indptr"_array, "indices"_array, "data"_array, "matrix"_array,
          "out"_array, "n_threads"_a);
    m.def("sparse_gram", &sparse_gram<I>, "indptr"_array, "indices"_array, "data"_array,
          "weight"_array, "out"_array, "n_threads"_a);
}

}  // namespace

void bind_sparse(nb::module_& m) {
    const auto correlate = [&m](const char* name, auto function) {
        m.def(name, function, "indptr"_array, "indices"_array, "data"_array, "v"_array, "out"_array,
              "n_threads"_a);
    };
    const auto moments = [&m](const char* name, auto function) {
        m.def(name, function, "indptr"_array, "indices"_array, "data"_array, "weight"_array,
              "total"_array, "square"_array, "n_threads"_a);
    };
    correlate("csc_correlate", &csc_correlate);
    correlate("csr_correlate", &csr_correlate);
    moments("csc_moments", &csc_moments);
    moments("csr_moments", &csr_moments);
    m.def("csr_terms", &csr_terms, "indptr"_array, "indices"_array, "data"_array, "v"_array,
          "h"_array, "product"_array, "total"_array, "square"_array, "n_threads"_a);
    m.def("csr_combine", &csr_combine, "indptr"_array, "indices"_array, "data"_array, "z"_array,
          "v"_array, "n_threads"_a);
    m.def("csr_gram", &csr_gram, "indptr"_array, "indices"_array, "data"_array, "position"_array,
          "weight"_array, "out"_array, "n_threads"_a);
    m.def("csr_gather", &csr_gather, "indptr"_array, "indices"_array, "data"_array,
          "position"_array, "n_columns"_a, "n_threads"_a);
    m.def("csr_to_csc", &csr_to_csc, "indptr"_array, "indices"_array, "data"_array, "n_columns"_a,
          "n_threads"_a);
    bind_indices<std::int32_t>(m);
    bind_indices<std::int64_t>(m);
}

}  // namespace zeronorm
