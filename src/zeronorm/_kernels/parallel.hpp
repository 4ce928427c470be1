// Threads and instruction sets: only this file and parallel.cpp know of either.
#pragma once

#include <algorithm>
#include <cstdint>

#if defined(__GNUC__) || defined(__clang__)
#define ZERONORM_INLINE __attribute__((always_inline)) inline
#define ZERONORM_INLINE_LAMBDA __attribute__((always_inline))
#else
#define ZERONORM_INLINE inline
#define ZERONORM_INLINE_LAMBDA
#endif

namespace zeronorm {

// Asks for the cache line some bytes beyond `address`; the line need not exist.
ZERONORM_INLINE void prefetch(const void* address, std::int64_t bytes) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(address) +
                                                     static_cast<std::uintptr_t>(bytes)));
#else
    static_cast<void>(address);
    static_cast<void>(bytes);
#endif
}

// Below this number of elements a thread costs more to start than it saves.
inline constexpr std::int64_t kWorkPerThread = std::int64_t{1} << 17;

// A kernel is compiled for the baseline and, where GCC builds for x86-64, for AVX2 (1.3 to 1.8
// times faster on int8 and on several vectors). Everything it calls must be ZERONORM_INLINE, or it
// stays at the baseline. No sum is reordered and no multiply-add fused, so both give the same bits.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
template <class Kernel>
__attribute__((target("avx2"))) void run_avx2(const Kernel& kernel, std::int64_t block) {
    kernel(block);
}
template <class Kernel>
void run_block(const Kernel& kernel, std::int64_t block) {
    static const bool has_avx2 = __builtin_cpu_supports("avx2");
    has_avx2 ? run_avx2(kernel, block) : kernel(block);
}
#else
template <class Kernel>
void run_block(const Kernel& kernel, std::int64_t block) {
    kernel(block);
}
#endif

// Calls run(kernel, block) for 0 <= block < n_blocks, on at most n_threads threads.
void run_blocks(std::int64_t n_blocks, std::int64_t n_threads,
                void (*run)(const void* kernel, std::int64_t block), const void* kernel);

// Calls kernel(block) for 0 <= block < n_blocks, on at most n_threads threads. `work` is the number
// of elements in all. Which thread runs a block must not matter for its result.
template <class Kernel>
void parallel_for(std::int64_t n_blocks, std::int64_t work, std::int64_t n_threads,
                  const Kernel& kernel) {
    const auto run = [](const void* one, std::int64_t block) {
        run_block(*static_cast<const Kernel*>(one), block);
    };
    run_blocks(n_blocks, std::min({n_threads, n_blocks, work / kWorkPerThread}), run, &kernel);
}

}  // namespace zeronorm
