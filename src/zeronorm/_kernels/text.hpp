// Text cut at line ends into pieces, each for a thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace zeronorm {

// Returns where the line that has text[position] ends: behind its line end.
inline std::int64_t line_end(const char* text, std::int64_t position, std::int64_t size) {
    const void* const found =
        std::memchr(text + position, '\n', static_cast<std::size_t>(size - position));
    return found ? static_cast<const char*>(found) - text + 1 : size;
}

// Puts the numbers of line ends and of bytes `mark` in text[begin:end] into two counts.
inline void count_bytes(const char* text, std::int64_t begin, std::int64_t end, char mark,
                        std::int64_t* counts) {
    counts[0] = counts[1] = 0;
    while (begin < end) {
        // Counters of one byte, which many lanes of a register hold, for as long as they last.
        const std::int64_t stop = std::min<std::int64_t>(end, begin + 255);
        std::uint8_t lines = 0;
        std::uint8_t marks = 0;
        for (; begin < stop; ++begin) {
            lines = static_cast<std::uint8_t>(lines + (text[begin] == '\n'));
            marks = static_cast<std::uint8_t>(marks + (text[begin] == mark));
        }
        counts[0] += lines;
        counts[1] += marks;
    }
}

// Cuts text into pieces of whole lines, about equally long; puts their bounds into `cuts`,
// (n_pieces + 1), and the numbers of their line ends and of their bytes `mark` into `counts`,
// (n_pieces, 2).
inline void cut_text(const char* text, std::int64_t size, char mark, std::int64_t n_pieces,
                     std::int64_t* cuts, std::int64_t* counts) {
    cuts[0] = 0;
    for (std::int64_t piece = 1; piece <= n_pieces; ++piece) {
        const std::int64_t wanted = size / n_pieces * piece;
        const std::int64_t before = cuts[piece - 1];
        cuts[piece] = piece == n_pieces  ? size
                      : wanted <= before ? before
                                         : line_end(text, wanted, size);
    }
    for (std::int64_t piece = 0; piece < n_pieces; ++piece)
        count_bytes(text, cuts[piece], cuts[piece + 1], mark, counts + 2 * piece);
}

}  // namespace zeronorm
