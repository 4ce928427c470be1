// Bindings of the smoothing coordinate descent. No arithmetic.

#include "bindings.hpp"
#include "smoothing.hpp"

namespace zeronorm {
namespace {

template <class T>
using RowMatrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::int64_t dense_smoothing_sweep(const RowMatrix<T>& rows, const Array<std::int64_t>& starts,
                                   const Array<std::int64_t>& order, const Matrix& square,
                                   const Array<double>& weight, double q, double accuracy,
                                   double ratio, const OutArray& alpha, const OutArray& rest,
                                   const OutArray& scores, const OutArray& level) {
    const nb::gil_scoped_release release;
    const DenseRows<T> view{rows.data(), starts.data(), length(starts, 0) - 1};
    return smoothing_sweep(view, order.data(), length(order, 0), square.data(), weight.data(), q,
                           accuracy, ratio, alpha.data(), rest.data(), scores.data(), level.data());
}

template <class I>
std::int64_t csr_smoothing_sweep(const Array<I>& indptr, const Array<std::int32_t>& indices,
                                 const Array<double>& data, const Array<std::int32_t>& block,
                                 const Array<std::int64_t>& order, const Matrix& square,
                                 const Array<double>& weight, double q, double accuracy,
                                 double ratio, const OutArray& alpha, const OutArray& rest,
                                 const OutArray& scores, const OutArray& level) {
    const nb::gil_scoped_release release;
    const SparseRows<I> view{indptr.data(), indices.data(), data.data(), block.data(),
                             length(level, 0) / kLaneCount};
    return smoothing_sweep(view, order.data(), length(order, 0), square.data(), weight.data(), q,
                           accuracy, ratio, alpha.data(), rest.data(), scores.data(), level.data());
}

void newton_bisections(const Matrix& level, const Matrix& slope, const Matrix& square,
                       const Array<double>& weight, const Array<double>& q, double accuracy,
                       const OutArray& alpha, const OutArray& rest, const OutMatrix& bracket,
                       const OutArray& n_evaluations) {
    const nb::gil_scoped_release release;
    const std::int64_t n = length(level, 0), n_blocks = length(level, 1);
    const auto solve = [&](std::int64_t) ZERONORM_INLINE_LAMBDA {
        for (std::int64_t i = 0; i < n; ++i) {
            const double* const s = level.data() + i * n_blocks;
            const double* const a = square.data() + i * n_blocks;
            SmoothedMaximum<0> maximum(n_blocks, q.data()[i]);
            std::copy_n(slope.data() + i * n_blocks, n_blocks, maximum.slope());
            maximum.evaluate(s, a, 0.0);
            const Root root = newton_bisection(maximum, s, a, weight.data()[i], accuracy, 0.0,
                                               alpha.data()[i], rest.data()[i]);
            bracket.data()[2 * i] = root.low;
            bracket.data()[2 * i + 1] = root.high;
            n_evaluations.data()[i] = static_cast<double>(root.n_evaluations);
        }
    };
    run_block(solve, 0);
}

template <class T>
void bind_rows(nb::module_& m) {
    m.def("dense_smoothing_sweep", &dense_smoothing_sweep<T>, "rows"_array, "starts"_array,
          "order"_array, "square"_array, "weight"_array, "q"_a, "accuracy"_a, "ratio"_a,
          "alpha"_array, "rest"_array, "scores"_array, "level"_array);
}

template <class I>
void bind_indices(nb::module_& m) {
    m.def("csr_smoothing_sweep", &csr_smoothing_sweep<I>, "indptr"_array, "indices"_array,
          "data"_array, "block"_array, "order"_array, "square"_array, "weight"_array, "q"_a,
          "accuracy"_a, "ratio"_a, "alpha"_array, "rest"_array, "scores"_array, "level"_array);
}

}  // namespace

void bind_smoothing(nb::module_& m) {
    m.attr("LANES") = kLaneCount;
    bind_rows<float>(m);
    bind_rows<double>(m);
    bind_indices<std::int32_t>(m);
    bind_indices<std::int64_t>(m);
    m.def("newton_bisections", &newton_bisections, "level"_array, "slope"_array, "square"_array,
          "weight"_array, "q"_array, "accuracy"_a, "alpha"_array, "rest"_array, "bracket"_array,
          "n_evaluations"_array);
}

}  // namespace zeronorm
