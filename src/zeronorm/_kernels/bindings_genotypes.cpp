// Bindings of the kernels on genotypes in two bits. No arithmetic.

#include "bindings.hpp"
#include "genotypes.hpp"
#include "scan.hpp"

namespace zeronorm {
namespace {

using Packed = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutCounts = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Genotypes view(const Packed& packed, const Array<std::int64_t>& index, const Table& values,
               std::int64_t n_rows) {
    return {packed.data(),     n_rows,       length(index, 0),
            length(packed, 1), index.data(), values.data()};
}

void genotypes_correlate(const Packed& packed, const Array<std::int64_t>& index,
                         const Table& values, const Matrix& v, const OutMatrix& out,
                         std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    const Vectors<float> vectors(v.data(), length(v, 0), length(v, 1));
    correlate(view(packed, index, values, length(v, 0)), vectors, out.data(), n_threads);
}

void genotypes_moments(const Packed& packed, const Array<std::int64_t>& index, const Table& values,
                       const Array<double>& weight, const OutArray& total, const OutArray& square,
                       std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    moments(view(packed, index, values, length(weight, 0)), weight.data(), total.data(),
            square.data(), n_threads);
}

void genotypes_count(const Packed& packed, const Array<std::int64_t>& index,
                     const Array<std::uint64_t>& mask, const OutCounts& counts,
                     std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    const Genotypes x{packed.data(),    kPerByte * length(packed, 1),
                      length(index, 0), length(packed, 1),
                      index.data(),     nullptr};
    x.each_column(n_threads, [&](std::int64_t j) ZERONORM_INLINE_LAMBDA {
        x.count(j, mask.data(), counts.data());
    });
}

void genotypes_gather(const Packed& packed, const Array<std::int64_t>& index, const Table& values,
                      const OutMatrix& out, std::int64_t n_threads) {
    const nb::gil_scoped_release release;
    const std::int64_t n_rows = length(out, 1);
    const Genotypes x = view(packed, index, values, n_rows);
    x.each_column(n_threads, [&](std::int64_t j) ZERONORM_INLINE_LAMBDA {
        x.decode_rows(j, 0, n_rows, out.data() + j * n_rows);
    });
}

}  // namespace

void bind_genotypes(nb::module_& m) {
    m.def("genotypes_correlate", &genotypes_correlate, "packed"_array, "index"_array,
          "values"_array, "v"_array, "out"_array, "n_threads"_a);
    m.def("genotypes_moments", &genotypes_moments, "packed"_array, "index"_array, "values"_array,
          "weight"_array, "total"_array, "square"_array, "n_threads"_a);
    m.def("genotypes_count", &genotypes_count, "packed"_array, "index"_array, "mask"_array,
          "counts"_array, "n_threads"_a);
    m.def("genotypes_gather", &genotypes_gather, "packed"_array, "index"_array, "values"_array,
          "out"_array, "n_threads"_a);
}

}  // namespace zeronorm
