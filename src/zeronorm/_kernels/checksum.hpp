// CRC-32C (Castagnoli), the checksum of a block of a store: eight bytes at a time, by tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zeronorm {

constexpr std::uint32_t kCastagnoli = 0x82F63B78;  // its bits the other way round

using ChecksumTables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[t][byte]: what a byte does to the remainder from t bytes before the end of a word.
constexpr ChecksumTables checksum_tables() {
    ChecksumTables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit)
            rest = rest & 1 ? (rest >> 1) ^ kCastagnoli : rest >> 1;
        tables[0][byte] = rest;
    }
    for (std::size_t t = 1; t < tables.size(); ++t)
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[t - 1][byte];
            tables[t][byte] = (before >> 8) ^ tables[0][before & 0xFF];
        }
    return tables;
}

// The checksum of what `value` is that of, followed by these bytes; value: 0 to begin with.
inline std::uint32_t crc32c(const std::uint8_t* bytes, std::size_t size, std::uint32_t value) {
    static constexpr ChecksumTables tables = checksum_tables();
    std::uint32_t rest = ~value;
    for (; size >= 8; size -= 8, bytes += 8) {
        std::uint32_t next = 0;
        for (std::size_t t = 0; t < 4; ++t) {
            const std::uint8_t low = static_cast<std::uint8_t>(bytes[t] ^ (rest >> (8 * t)));
            next ^= tables[7 - t][low] ^ tables[3 - t][bytes[4 + t]];
        }
        rest = next;
    }
    for (; size > 0; --size, ++bytes)
        rest = (rest >> 8) ^ tables[0][(rest ^ *bytes) & 0xFF];
    return ~rest;
}

}  // namespace zeronorm
