// The vectors of a dense scan, and the precision of its products.
//
// Dense float32, int8 and uint8 are multiplied in float32; at most kRun products are summed in
// float32 before the sum is added to a float64. Everything else is float64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "parallel.hpp"

namespace zeronorm {

// The type in which products of dense elements are formed.
template <class T>
using Partial = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Products summed in Partial before they are folded into a float64.
inline constexpr int kRun = 8;
// Rows whose products go to different partial sums: lane l takes the rows l, l + kLanes, ...
inline constexpr int kLanes = 32;
// Partial sums kept in float64.
inline constexpr int kFolded = 8;
// Rows of a column applied to all vectors before the next ones: they stay in the L1 cache.
inline constexpr std::int64_t kTile = 4096;
// Elements of vectors that a core keeps in its L2 cache.
inline constexpr std::int64_t kVectorCache = std::int64_t{1} << 16;

// Bounds |error| <= kScanError ||x_j|| ||v|| of a dense scan of float32, int8 or uint8, with
// u = 2^-24. An entry v_i is rounded to float32 (1), multiplied by x_ij (1), and passes at most
// kRun - 1 = 7 additions in float32 and 2 of a fold: a relative error of at most
// (1 + u)^11 - 1 <= 11.001 u of each |x_ij v_i|, whose sum is at most ||x_j|| ||v|| by
// Cauchy-Schwarz. Column by column, a product then passes at most 20 + n/4096 additions in float64,
// which adds less than 0.1 u for n < 2^31. Row by row there is no fold (9.001 u), and n/8 + 7
// additions in float64 add less than 0.6 u. Both stay below 12 u.
//
// Range: vectors are scaled to a largest magnitude in [1/64, 1/32), so that no partial sum of
// finite elements overflows. A product below the normal range of float32 errs by up to 2^-150
// instead: at most n 2^-144 max|v| in all, below u ||x_j|| max|v| / 1000 for n < 2^31 and any
// column with an element above 2^-79.
inline constexpr double kScanError = 12.0 / 16777216.0;

// m vectors over the rows, one after the other, times a power of two each.
template <class P>
class Vectors {
  public:
    // v: n_rows x count, row by row.
    Vectors(const double* v, std::int64_t n_rows, std::int64_t count)
        : n_rows_(n_rows),
          count_(count),
          value_(static_cast<std::size_t>(n_rows * count)),
          scale_(static_cast<std::size_t>(count), 1.0) {
        for (std::int64_t k = 0; k < count; ++k) {
            double inverse = 1.0;
            if constexpr (std::is_same_v<P, float>) {
                double largest = 0.0;
                for (std::int64_t i = 0; i < n_rows; ++i)
                    largest = std::max(largest, std::abs(v[i * count + k]));
                if (largest > 0.0 && largest <= std::numeric_limits<double>::max()) {
                    // Within these bounds 2^e and 2^-e are both exact.
                    const int e = std::clamp(std::ilogb(largest) + 6, -1022, 1022);
                    scale_[static_cast<std::size_t>(k)] = std::ldexp(1.0, e);
                    inverse = std::ldexp(1.0, -e);
                }
            }
            P* target = value_.data() + k * n_rows;
            for (std::int64_t i = 0; i < n_rows; ++i)
                target[i] = static_cast<P>(v[i * count + k] * inverse);
        }
    }
    std::int64_t count() const { return count_; }
    ZERONORM_INLINE const P* operator[](std::int64_t k) const {
        return value_.data() + k * n_rows_;
    }
    ZERONORM_INLINE double scale(std::int64_t k) const {
        return scale_[static_cast<std::size_t>(k)];
    }

  private:
    std::int64_t n_rows_, count_;
    std::vector<P> value_;
    std::vector<double> scale_;
};

}  // namespace zeronorm
