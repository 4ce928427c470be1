// Threads.
#include "parallel.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace zeronorm {

void run_blocks(std::int64_t n_blocks, std::int64_t n_threads,
                void (*run)(const void* kernel, std::int64_t block), const void* kernel) {
    if (n_threads <= 1) {
        for (std::int64_t block = 0; block < n_blocks; ++block)
            run(kernel, block);
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
                run(kernel, block);
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
