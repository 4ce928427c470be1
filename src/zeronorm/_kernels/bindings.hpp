// Array types of the bindings, and the parts the module is made of (each compiled by itself).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace zeronorm {

namespace nb = nanobind;
using nb::literals::operator""_a;
// An argument that is an array, never converted: an output of another type would be copied, and the
// result lost.
inline auto operator""_array(const char* name, std::size_t) {
    return nb::arg(name).noconvert();
}

// An array that is read may be read-only; one that is written must not be.
template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using StridedMatrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
using OutArray = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutIndices = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// One of several types of numbers, told apart when it is called: a function of its own for each
// type and name would be most of the module.
using AnyArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T, class A>
const T* typed(const A& array) {
    if (array.dtype() != nb::dtype<T>()) throw nb::next_overload();
    return static_cast<const T*>(array.data());
}

// Calls visit with the elements of an array, which have one of the types.
template <class T, class... Others, class A, class Visit>
auto with_type(const A& array, const Visit& visit) {
    if constexpr (sizeof...(Others) > 0)
        if (array.dtype() != nb::dtype<T>()) return with_type<Others...>(array, visit);
    return visit(typed<T>(array));
}

// Calls visit with the three arrays of compressed storage.
template <class... Ts, class Visit>
auto with_compressed(const AnyArray& indptr, const AnyArray& indices, const AnyArray& data,
                     const Visit& visit) {
    return with_type<std::int32_t, std::int64_t>(indptr, [&]<class I>(const I* pointers) {
        const I* const places = typed<I>(indices);
        return with_type<Ts...>(
            data, [&](const auto* values) { return visit(pointers, places, values); });
    });
}

template <class A>
std::int64_t length(const A& array, std::size_t axis) {
    return static_cast<std::int64_t>(array.shape(axis));
}

template <class T>
using NewArray = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// Hands an array of so many numbers over to NumPy, with what owns them.
template <class T, class Owner>
NewArray<T> handed_over(T* data, std::size_t size, Owner&& owner) {
    auto* const kept = new Owner(std::move(owner));
    return {
        data, {size}, nb::capsule(kept, [](void* p) noexcept { delete static_cast<Owner*>(p); })};
}

void bind_dense(nb::module_& m);
void bind_sparse(nb::module_& m);
void bind_smoothing(nb::module_& m);
void bind_descent(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_ridge(nb::module_& m);
void bind_blocks(nb::module_& m);
void bind_relaxation(nb::module_& m);
void bind_bilevel(nb::module_& m);
void bind_measures(nb::module_& m);
void bind_genotypes(nb::module_& m);
void bind_text(nb::module_& m);

}  // namespace zeronorm
