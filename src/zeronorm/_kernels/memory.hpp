// Large arrays whose first values do not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace zeronorm {

// Returns an array of `size` elements with any values. Large ones are asked for in huge pages, as
// NumPy does: writes all over them then miss the tables of pages less often.
template <class T>
std::unique_ptr<T[]> allocate(std::size_t size) {
    auto array = std::make_unique_for_overwrite<T[]>(size);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    constexpr std::size_t large = std::size_t{1} << 22, page = 4096;
    if (size * sizeof(T) >= large) {
        const auto begin = reinterpret_cast<std::uintptr_t>(array.get());
        const std::uintptr_t first = (begin + page - 1) / page * page;
        const std::uintptr_t last = (begin + size * sizeof(T)) / page * page;
        // Advice only: whatever it answers, the memory is there.
        static_cast<void>(madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE));
    }
#endif
    return array;
}

}  // namespace zeronorm
