// CRC-32C (Castagnoli), the checksum of a block of a store: eight bytes at a time, by the
// instruction of x86-64 processors that have it, else by tables.
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

inline std::uint32_t remainder_by_tables(const std::uint8_t* bytes, std::size_t size,
                                         std::uint32_t rest) {
    static constexpr ChecksumTables tables = checksum_tables();
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
    return rest;
}

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
__attribute__((target("sse4.2"))) inline std::uint32_t remainder_by_instruction(
    const std::uint8_t* bytes, std::size_t size, std::uint32_t rest) {
    std::uint64_t wide = rest;
    for (; size >= 8; size -= 8, bytes += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    return remainder_by_tables(bytes, size, static_cast<std::uint32_t>(wide));
}
inline std::uint32_t remainder(const std::uint8_t* bytes, std::size_t size, std::uint32_t rest) {
    static const bool has_instruction = __builtin_cpu_supports("sse4.2");
    return has_instruction ? remainder_by_instruction(bytes, size, rest)
                           : remainder_by_tables(bytes, size, rest);
}
#else
inline std::uint32_t remainder(const std::uint8_t* bytes, std::size_t size, std::uint32_t rest) {
    return remainder_by_tables(bytes, size, rest);
}
#endif

// The checksum of what `value` is that of, followed by these bytes; value: 0 to begin with.
inline std::uint32_t crc32c(const std::uint8_t* bytes, std::size_t size, std::uint32_t value) {
    return ~remainder(bytes, size, ~value);
}

}  // namespace zeronorm
