// Four numbers in one variable, by the vector extension that GCC and Clang share. It maps to
// whatever registers there are; every operation is the one on single numbers, lane by lane.
#pragma once

#include <cstdint>
#include <cstring>

#include "parallel.hpp"

namespace zeronorm {

inline constexpr std::int64_t kLaneCount = 4;

using Lanes = double __attribute__((vector_size(kLaneCount * sizeof(double))));
// The bits of four numbers. Unsigned: those of NaN would overflow.
using LaneBits = std::uint64_t __attribute__((vector_size(kLaneCount * sizeof(std::uint64_t))));

// By reference: passing such a variable by value would depend on the instruction set.
ZERONORM_INLINE void load(const double* from, Lanes& to) {
    std::memcpy(&to, from, sizeof(Lanes));
}
// Lane by lane: the compiler makes one conversion of it, of a conversion of the whole vector two.
ZERONORM_INLINE void load(const float* from, Lanes& to) {
    to = Lanes{from[0], from[1], from[2], from[3]};
}
ZERONORM_INLINE void store(const Lanes& from, double* to) {
    std::memcpy(to, &from, sizeof(Lanes));
}
ZERONORM_INLINE double sum(const Lanes& x) {
    return (x[0] + x[2]) + (x[1] + x[3]);
}
ZERONORM_INLINE double maximum(const Lanes& x) {
    const double a = x[0] > x[2] ? x[0] : x[2];
    const double b = x[1] > x[3] ? x[1] : x[3];
    return a > b ? a : b;
}

// x <- exp(x) for x <= 700, to a relative error of 1e-14 (Degree 11) or 3e-16 (13); 0 below -708.
template <int Degree = 11>
ZERONORM_INLINE void exponential(Lanes& x) {
    constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
    const Lanes bounded = x > -708.0 ? x : Lanes{} - 708.0;
    // 2^k exp(r) with |r| <= log(2) / 2
    const Lanes shifted = bounded * 1.4426950408889634 + shift;
    const Lanes k = shifted - shift;
    const Lanes r = (bounded - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    const Lanes r2 = r * r;
    const Lanes r4 = r2 * r2;
    const Lanes low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0));
    const Lanes middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    Lanes high =
        (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0));
    if constexpr (Degree == 13) high += r4 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
    const Lanes value = low + r4 * (middle + r4 * high);
    // The last bits of `shifted` are k: moved into the exponent, they multiply by 2^k.
    const LaneBits bits = (LaneBits)value + ((LaneBits)shifted << 52);
    x = x > -708.0 ? (Lanes)bits : Lanes{};
}

// x <- log(x) for normal positive numbers, to a relative error of 4e-16.
ZERONORM_INLINE void log_positive(Lanes& x) {
    // x = 2^k m with m from sqrt(1/2) to sqrt(2)
    constexpr std::uint64_t half_root = 0x3FE6A09E667F3BCD, one = 0x3FF0000000000000;
    const LaneBits bits = (LaneBits)x;
    const LaneBits k = ((bits - half_root + one) >> 52) - 1023;
    const Lanes m = (Lanes)(bits - (k << 52));
    // log(m) = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172
    const Lanes f = m - 1.0;
    const Lanes s = f / (2.0 + f);
    const Lanes z = s * s, z2 = z * z, z4 = z2 * z2;
    const Lanes low = (1.0 / 3.0 + z * (1.0 / 5.0)) + z2 * (1.0 / 7.0 + z * (1.0 / 9.0));
    const Lanes middle = (1.0 / 11.0 + z * (1.0 / 13.0)) + z2 * (1.0 / 15.0 + z * (1.0 / 17.0));
    const Lanes high = 1.0 / 19.0 + z * (1.0 / 21.0);
    const Lanes rest = z * (low + z4 * (middle + z4 * high));
    // k as a number: written into the last bits of 1.5 * 2^52, which is then subtracted.
    constexpr double shift = 6755399441055744.0;
    const Lanes exponent = (Lanes)(k + (LaneBits)(Lanes{} + shift)) - shift;
    x = exponent * 0.693147180369123816490 +
        (2.0 * s + (2.0 * s * rest + exponent * 1.90821492927058770002e-10));
}

// to <- log(1 + x) for 0 <= x <= 1, with the inverse of 1 + x.
ZERONORM_INLINE void log1p_unit(const Lanes& x, const Lanes& inverse, Lanes& to) {
    const Lanes above = 1.0 + x;
    to = above;
    log_positive(to);
    to += (x - (above - 1.0)) * inverse;  // of what rounding took from 1 + x
}

}  // namespace zeronorm
