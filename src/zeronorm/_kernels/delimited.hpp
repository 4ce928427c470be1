// Rows of delimited text (CSV and its kin) whose quotes, if any, are around whole fields.
#pragma once

#include <cstdint>
#include <vector>

#include "decimal.hpp"
#include "parallel.hpp"

namespace zeronorm {

// What the columns are, and where their fields go. places[j]: the row of `numbers` that column j
// fills, -1 where it is not read, else -2 minus its place in `spans`.
struct DelimitedColumns {
    char delimiter;
    const std::int64_t* places;
    std::int64_t n_columns;
    double* numbers;      // (some, stride)
    std::int64_t stride;  // at least the lines of the text
    std::int64_t* spans;  // (stride, n_texts, 2): where each field of text begins and ends
    std::int64_t n_texts;
};

// Where a text departs from what is read here: the start of the line and the column; -1 where not.
struct DelimitedFault {
    std::int64_t line = -1;
    std::int64_t column = -1;
};

ZERONORM_INLINE bool ends_line(const char* p) {
    return *p == '\n' || (*p == '\r' && p[1] == '\n');
}

ZERONORM_INLINE void skip_spaces(const char*& p) {
    while (*p == ' ')
        ++p;
}

ZERONORM_INLINE bool read_number(const char*& p, double& value) {
    const bool quoted = *p == '"';
    if (quoted) ++p;
    skip_spaces(p);
    if (!read_decimal(p, value)) return false;
    skip_spaces(p);
    return !quoted || *p++ == '"';
}

// Moves behind a field of any text, which is [first, last).
ZERONORM_INLINE bool read_text(const char*& p, char delimiter, const char*& first,
                               const char*& last) {
    const bool quoted = *p == '"';
    if (quoted) ++p;
    const char end = quoted ? '"' : delimiter;
    first = p;
    for (; *p != end && *p != '\n' && *p != '\r'; ++p)
        if (*p == '\0') return false;
    last = p;
    return !quoted || *p++ == '"';
}

// Reads the fields of the line at `p` into `row`; the column that it stopped at, or -1.
ZERONORM_INLINE std::int64_t read_fields(const char*& p, const char* text,
                                         const DelimitedColumns& columns, std::int64_t row) {
    for (std::int64_t j = 0; j < columns.n_columns; ++j) {
        const std::int64_t place = columns.places[j];
        if (place >= 0) {
            if (!read_number(p, columns.numbers[place * columns.stride + row])) return j;
        } else {
            const char* first = nullptr;
            const char* last = nullptr;
            if (!read_text(p, columns.delimiter, first, last)) return j;
            if (place < -1) {
                std::int64_t* const span = columns.spans + 2 * (row * columns.n_texts - 2 - place);
                span[0] = first - text;
                span[1] = last - text;
            }
        }
        if (j + 1 == columns.n_columns ? !ends_line(p) : *p++ != columns.delimiter) return j;
    }
    return -1;
}

// Reads text in the pieces of `cut_text`; piece i fills rows from the number of line ends before it
// on, rows[i] of them: lines without a byte are none.
inline DelimitedFault read_delimited(const char* text, const std::int64_t* cuts,
                                     const std::int64_t* counted, std::int64_t n_pieces,
                                     const DelimitedColumns& columns, std::int64_t* rows,
                                     std::int64_t n_threads) {
    std::vector<std::int64_t> start(static_cast<std::size_t>(n_pieces) + 1);
    for (std::size_t piece = 0; piece + 1 < start.size(); ++piece)
        start[piece + 1] = start[piece] + counted[2 * piece];
    std::vector<DelimitedFault> faults(static_cast<std::size_t>(n_pieces));
    parallel_for(n_pieces, cuts[n_pieces], n_threads, [&](std::int64_t piece) {
        const auto k = static_cast<std::size_t>(piece);
        std::int64_t row = start[k];
        for (const char* p = text + cuts[k]; p < text + cuts[k + 1]; ++p) {
            const char* const line = p;
            if (!ends_line(p)) {
                const std::int64_t column = read_fields(p, text, columns, row++);
                if (column >= 0) {
                    faults[k] = {line - text, column};
                    break;
                }
            }
            if (*p == '\r') ++p;
        }
        rows[k] = row - start[k];
    });
    for (const DelimitedFault& fault : faults)
        if (fault.line >= 0) return fault;
    return {};
}

}  // namespace zeronorm
