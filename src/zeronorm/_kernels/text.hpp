// Text cut at line ends into pieces, each for a thread.
#pragma once

#include <cstdint>
#include <cstring>

#include "parallel.hpp"

namespace zeronorm {

// Returns where the line that has text[position] ends: behind its line end.
inline std::int64_t line_end(const char* text, std::int64_t position, std::int64_t size) {
    const void* const found =
        std::memchr(text + position, '\n', static_cast<std::size_t>(size - position));
    return found ? static_cast<const char*>(found) - text + 1 : size;
}

// Cuts text into pieces of whole lines, about equally long; puts their bounds into `cuts`,
// (n_pieces + 1), and the numbers of their line ends and of their bytes `mark` into `counts`,
// (n_pieces, 2).
inline void cut_text(const char* text, std::int64_t size, char mark, std::int64_t n_pieces,
                     std::int64_t* cuts, std::int64_t* counts, std::int64_t n_threads) {
    cuts[0] = 0;
    for (std::int64_t piece = 1; piece <= n_pieces; ++piece) {
        const std::int64_t wanted = size / n_pieces * piece;
        const std::int64_t before = cuts[piece - 1];
        cuts[piece] = piece == n_pieces  ? size
                      : wanted <= before ? before
                                         : line_end(text, wanted, size);
    }
    parallel_for(n_pieces, size, n_threads, [&](std::int64_t piece) ZERONORM_INLINE_LAMBDA {
        std::int64_t lines = 0;
        std::int64_t marks = 0;
        for (std::int64_t i = cuts[piece]; i < cuts[piece + 1];) {
            // Counters of one byte, which many lanes of a register hold, for as long as they last.
            const std::int64_t stop = std::min<std::int64_t>(cuts[piece + 1], i + 255);
            std::uint8_t some_lines = 0;
            std::uint8_t some_marks = 0;
            for (; i < stop; ++i) {
                some_lines = static_cast<std::uint8_t>(some_lines + (text[i] == '\n'));
                some_marks = static_cast<std::uint8_t>(some_marks + (text[i] == mark));
            }
            lines += some_lines;
            marks += some_marks;
        }
        counts[2 * piece] = lines;
        counts[2 * piece + 1] = marks;
    });
}

}  // namespace zeronorm
