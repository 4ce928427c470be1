// Lines of svmlight files: a label, and pairs of an index and a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "decimal.hpp"
#include "parallel.hpp"

namespace zeronorm {

// Where the rows of a text go; later the rows that were read.
struct SvmlightRows {
    double* labels;
    std::int64_t* lengths;
    std::int32_t* indices;
    double* values;
};

// What a piece of text holds. fault: where the first line begins that breaks the format, or -1.
struct SvmlightCounts {
    std::int64_t rows = 0;
    std::int64_t entries = 0;
    std::int64_t lowest = std::numeric_limits<std::int32_t>::max();
    std::int64_t highest = -1;
    std::int64_t fault = -1;
};

// Space, tab, vertical tab, form feed, carriage return.
ZERONORM_INLINE bool is_blank(char c) {
    return c == ' ' || (c != '\n' && static_cast<unsigned char>(c - '\t') < 5);
}

ZERONORM_INLINE bool ends_token(char c) {
    return is_blank(c) || c == '\n' || c == '#';
}

// Moves behind blanks; at a comment behind that, too.
ZERONORM_INLINE void skip_blanks(const char*& p) {
    while (is_blank(*p))
        ++p;
    if (*p == '#')
        while (*p != '\n')
            ++p;
}

// Moves behind "qid:7".
ZERONORM_INLINE bool skip_query(const char*& p) {
    for (const char expected : {'q', 'i', 'd', ':'})
        if (*p++ != expected) return false;
    if (!is_digit(*p)) return false;
    while (is_digit(*p))
        ++p;
    return ends_token(*p);
}

ZERONORM_INLINE bool read_index(const char*& p, std::int64_t& index) {
    if (!is_digit(*p)) return false;
    index = 0;
    for (; is_digit(*p); ++p) {
        index = 10 * index + (*p - '0');
        if (index > std::numeric_limits<std::int32_t>::max()) return false;
    }
    return *p++ == ':';
}

// Reads a line, if it has a sample adds it to the rows, and moves to its line end. False where the
// line breaks the format.
ZERONORM_INLINE bool read_line(const char*& p, const SvmlightRows& rows, SvmlightCounts& counts) {
    skip_blanks(p);
    if (*p == '\n') return true;
    if (!read_decimal(p, rows.labels[counts.rows]) || !ends_token(*p)) return false;
    skip_blanks(p);
    if (*p == 'q') {
        if (!skip_query(p)) return false;
        skip_blanks(p);
    }
    const std::int64_t first = counts.entries;
    std::int64_t previous = -1;
    while (*p != '\n') {
        std::int64_t index = 0;
        double value = 0;
        if (!read_index(p, index) || index <= previous) return false;
        if (!read_decimal(p, value) || !ends_token(*p)) return false;
        previous = index;
        rows.indices[counts.entries] = static_cast<std::int32_t>(index);
        rows.values[counts.entries++] = value;
        skip_blanks(p);
    }
    if (counts.entries > first) {
        counts.lowest = std::min<std::int64_t>(counts.lowest, rows.indices[first]);
        counts.highest = std::max(counts.highest, previous);
    }
    rows.lengths[counts.rows++] = counts.entries - first;
    return true;
}

// Reads text[begin:end], whole lines.
inline SvmlightCounts read_piece(const char* text, std::int64_t begin, std::int64_t end,
                                 const SvmlightRows& rows) {
    SvmlightCounts counts;
    for (const char* p = text + begin; p < text + end; ++p) {
        const char* const line = p;
        if (!read_line(p, rows, counts)) {
            counts.fault = line - text;
            break;
        }
    }
    return counts;
}

template <class T>
void move_down(T* array, std::int64_t from, std::int64_t to, std::int64_t size) {
    if (from != to)
        std::memmove(array + to, array + from, static_cast<std::size_t>(size) * sizeof(T));
}

// Reads text in the pieces of `cut_text`, whose mark was the colon, so that no piece has more rows
// and entries than its part of the arrays takes; then moves the parts together.
inline SvmlightCounts read_svmlight(const char* text, const std::int64_t* cuts,
                                    const std::int64_t* counted, std::int64_t n_pieces,
                                    const SvmlightRows& rows, std::int64_t n_threads) {
    const auto size = static_cast<std::size_t>(n_pieces);
    std::vector<std::int64_t> row(size + 1), entry(size + 1);
    for (std::size_t piece = 0; piece < size; ++piece) {
        row[piece + 1] = row[piece] + counted[2 * piece];
        entry[piece + 1] = entry[piece] + counted[2 * piece + 1];
    }
    std::vector<SvmlightCounts> parts(size);
    parallel_for(n_pieces, cuts[n_pieces], n_threads, [&](std::int64_t piece) {
        const auto k = static_cast<std::size_t>(piece);
        parts[k] = read_piece(text, cuts[k], cuts[k + 1],
                              {rows.labels + row[k], rows.lengths + row[k], rows.indices + entry[k],
                               rows.values + entry[k]});
    });
    SvmlightCounts all;
    for (std::size_t piece = 0; piece < size; ++piece) {
        const SvmlightCounts& part = parts[piece];
        if (part.fault >= 0) {
            all.fault = part.fault;
            return all;
        }
        move_down(rows.labels, row[piece], all.rows, part.rows);
        move_down(rows.lengths, row[piece], all.rows, part.rows);
        move_down(rows.indices, entry[piece], all.entries, part.entries);
        move_down(rows.values, entry[piece], all.entries, part.entries);
        all.rows += part.rows;
        all.entries += part.entries;
        all.lowest = std::min(all.lowest, part.lowest);
        all.highest = std::max(all.highest, part.highest);
    }
    return all;
}

}  // namespace zeronorm
