// What views of a matrix X by its columns can, whatever the storage.
//
// A view borrows memory and owns nothing. Scans ask it for the products of a range of columns with
// m vectors, and for the weighted sums of its columns and of their squares; descents visit one
// column after the other. The order of all sums is fixed by explicit partial sums: it depends
// neither on threads, nor on the instruction set, nor on the range of columns asked for, nor on how
// many vectors are applied together.
#pragma once

#include <concepts>
#include <cstdint>

namespace zeronorm {

// x_j'v, sum_i h_i x_ij and sum_i h_i x_ij^2 of a column.
struct Terms {
    double product, total, square;
};

// Visited one by one.
template <class C>
concept VisitedColumns = requires(const C& columns, std::int64_t j, double z, const double* v,
                                  const double* h, double* out) {
    // The number of elements that column j has stored.
    { columns.size(j) } -> std::convertible_to<std::int64_t>;
    { columns.dot(j, v) } -> std::same_as<double>;  // x_j'v
    { columns.terms(j, v, h) } -> std::same_as<Terms>;
    columns.add(j, z, out);                        // out += z x_j
    columns.add_weighted(j, z, h, out);            // out_i += z h_i x_ij
    columns.each(j, [](std::int64_t, double) {});  // calls with i and x_ij
};

}  // namespace zeronorm
