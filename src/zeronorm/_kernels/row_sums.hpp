// Rows in groups of lanes, and sums over many of them.
#pragma once

#include <cstdint>

#include "lanes.hpp"
#include "parallel.hpp"

namespace zeronorm {

// Calls visit(i, first, n) for every group of kLaneCount rows; n < kLaneCount at the end.
template <class Visit>
ZERONORM_INLINE void each_group(std::int64_t n_rows, const Visit& visit) {
    std::int64_t i = 0;
    for (; i + kLaneCount <= n_rows; i += kLaneCount)
        visit(i, kLaneCount);
    if (i < n_rows) visit(i, n_rows - i);
}

// The next n <= kLaneCount elements, zeros after them.
ZERONORM_INLINE void load_some(const double* from, std::int64_t n, Lanes& to) {
    if (n == kLaneCount) return load(from, to);
    to = Lanes{};
    for (std::int64_t k = 0; k < n; ++k)
        to[k] = from[k];
}
ZERONORM_INLINE void store_some(const Lanes& from, std::int64_t n, double* to) {
    if (n == kLaneCount) return store(from, to);
    for (std::int64_t k = 0; k < n; ++k)
        to[k] = from[k];
}

// A sum over many rows: those of a stretch first, then the stretches.
class RowSum {
  public:
    ZERONORM_INLINE void add(const Lanes& x) {
        part_ += x;
        if (++count_ == 64) {
            total_ += part_;
            part_ = Lanes{};
            count_ = 0;
        }
    }
    ZERONORM_INLINE double value() const { return sum(total_ + part_); }

  private:
    Lanes total_{}, part_{};
    int count_ = 0;
};

}  // namespace zeronorm
