// Is compressed sparse storage what it claims to be? Reads nothing outside the arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace zeronorm {

struct Audit {
    std::int64_t bad_indptr = -1;
    std::int64_t bad_entry = -1;
    bool is_sorted = false;
    bool has_duplicates = false;
};

// n_pointers and n_indices: sizes of the arrays; n_minor: indices must be in [0, n_minor).
template <class I>
Audit audit(const I* indptr, std::int64_t n_pointers, const I* indices, std::int64_t n_indices,
            std::int64_t n_minor) {
    Audit result;
    std::int64_t previous = 0;
    for (std::int64_t i = 0; i < n_pointers; ++i) {
        const std::int64_t pointer = static_cast<std::int64_t>(indptr[i]);
        if (pointer < previous || pointer > n_indices || (i == 0 && pointer != 0)) {
            result.bad_indptr = i;
            return result;
        }
        previous = pointer;
    }
    const std::int64_t n_stored = previous;
    if (n_stored == 0) {
        result.is_sorted = true;
        return result;
    }
    // One pass of plain reductions over all entries at once, at the speed of memory. `stalls`
    // counts the entries that are not above the one before them.
    I lowest = indices[0];
    I highest = indices[0];
    I stalls = 0;
    for (std::int64_t e = 1; e < n_stored; ++e) {
        lowest = std::min(lowest, indices[e]);
        highest = std::max(highest, indices[e]);
        stalls += static_cast<I>(indices[e] <= indices[e - 1]);
    }
    if (lowest < 0 || highest >= n_minor) {
        std::int64_t e = 0;
        while (indices[e] >= 0 && indices[e] < n_minor)
            ++e;
        result.bad_entry = e;
        return result;
    }
    // Where one row (column) ends and the next begins the order means nothing.
    for (std::int64_t i = 1; i + 1 < n_pointers; ++i) {
        const std::int64_t e = static_cast<std::int64_t>(indptr[i]);
        if (e > static_cast<std::int64_t>(indptr[i - 1]) && e < n_stored)
            stalls -= static_cast<I>(indices[e] <= indices[e - 1]);
    }
    result.is_sorted = true;
    if (stalls == 0) return result;

    // marker[j]: the last unsorted row (column) in which j was seen; made when first needed.
    std::vector<std::int64_t> marker;
    for (std::int64_t i = 0; i + 1 < n_pointers; ++i) {
        const std::int64_t first = static_cast<std::int64_t>(indptr[i]);
        const std::int64_t last = static_cast<std::int64_t>(indptr[i + 1]);
        bool descends = false;
        bool repeats = false;
        for (std::int64_t e = first + 1; e < last; ++e) {
            descends |= indices[e] < indices[e - 1];
            repeats |= indices[e] == indices[e - 1];
        }
        if (descends) {
            result.is_sorted = false;
            if (result.has_duplicates) continue;
            if (marker.empty()) marker.assign(static_cast<std::size_t>(n_minor), -1);
            for (std::int64_t e = first; e < last && !repeats; ++e) {
                std::int64_t& seen = marker[static_cast<std::size_t>(indices[e])];
                repeats = seen == i;
                seen = i;
            }
        }
        result.has_duplicates |= repeats;
    }
    return result;
}

}  // namespace zeronorm
