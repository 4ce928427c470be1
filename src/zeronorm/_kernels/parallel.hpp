// Threads and instruction sets: the only file that knows of either.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

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

// Calls kernel(block) for 0 <= block < n_blocks, on at most n_threads threads. `work` is the number
// of elements in all. Which thread runs a block must not matter for its result.
template <class Kernel>
void parallel_for(std::int64_t n_blocks, std::int64_t work, std::int64_t n_threads,
                  const Kernel& kernel) {
    n_threads = std::min({n_threads, n_blocks, work / kWorkPerThread});
    if (n_threads <= 1) {
        for (std::int64_t block = 0; block < n_blocks; ++block)
            run_block(kernel, block);
        return;
    }
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto worker = [&]() noexcept {
        try {
            for (;;) {
                const std::int64_t block = next.fetch_add(1, std::memory_order_relaxed);
                if (block >= n_blocks) return;
                run_block(kernel, block);
            }
        } catch (...) {
            next.store(n_blocks, std::memory_order_relaxed);
            const std::lock_guard lock(failure_mutex);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(n_threads - 1));
    try {
        while (static_cast<std::int64_t>(threads.size()) < n_threads - 1)
            threads.emplace_back(worker);
    } catch (const std::system_error&) {
        // The system has no more threads to give: those that run do all the work.
    }
    worker();
    for (std::thread& thread : threads)
        thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace zeronorm
