// Decimal numbers in text, as the doubles nearest to them: the bits that Python's float has.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <version>

#if defined(__APPLE__)
#include <xlocale.h>
#else
#include <locale.h>
#endif

#include "parallel.hpp"

namespace zeronorm {

// The powers of ten that are doubles exactly.
inline constexpr double kTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Returns the double nearest to a numeral without a sign, however long: infinity above all doubles.
inline double nearest_double(const char* first, const char* last) {
#if defined(__cpp_lib_to_chars)
    double value = 0;
    if (std::from_chars(first, last, value).ec == std::errc()) return value;
#endif
    // Out of range, which says neither whether above or below, or a library without the function.
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
    return strtod_l(std::string(first, last).c_str(), nullptr, plain);
}

ZERONORM_INLINE bool is_digit(char c) {
    return static_cast<unsigned char>(c - '0') < 10;
}

// Adds the digits at `p` to the end of a number and moves behind them; beyond 19 of them in all
// the number is not what they say.
ZERONORM_INLINE void read_digits(const char*& p, std::uint64_t& number) {
    for (; is_digit(*p); ++p)
        number = 10 * number + static_cast<std::uint64_t>(*p - '0');
}

// Reads [+-] digits [. digits] [e [+-] digits], at least one digit before the e, and moves `p`
// behind it. False where there is no such number, or where it is above all doubles; `p` then stands
// anywhere in it. The text has to go on with a byte that is no part of a number.
ZERONORM_INLINE bool read_decimal(const char*& p, double& value) {
    const bool negative = *p == '-';
    if (negative || *p == '+') ++p;
    const char* const first = p;
    std::uint64_t digits = 0;
    std::int64_t exponent = 0;
    read_digits(p, digits);
    std::int64_t n_digits = p - first;
    if (*p == '.') {
        const char* const point = ++p;
        read_digits(p, digits);
        exponent = point - p;
        n_digits -= exponent;
    }
    if (n_digits == 0) return false;
    if ((*p | 0x20) == 'e') {
        ++p;
        const bool down = *p == '-';
        if (down || *p == '+') ++p;
        if (!is_digit(*p)) return false;
        std::int64_t power = 0;
        for (; is_digit(*p); ++p)
            if (power < 1000000) power = 10 * power + (*p - '0');
        exponent += down ? -power : power;
    }
    // A whole number of 53 bits times or by an exact power of ten is rounded once, so rightly.
    constexpr std::uint64_t exact = std::uint64_t{1} << std::numeric_limits<double>::digits;
    if (n_digits <= 19 && digits <= exact && exponent >= -22 && exponent <= 22) {
        const auto whole = static_cast<double>(digits);
        value = exponent < 0 ? whole / kTen[-exponent] : whole * kTen[exponent];
    } else {
        value = nearest_double(first, p);
    }
    if (negative) value = -value;
    return std::isfinite(value);
}

}  // namespace zeronorm
