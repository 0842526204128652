#include <holdfast/base/checksum.hpp>

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace holdfast {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // Castagnoli, bits reversed.

// tables[k][byte]: the remainder of `byte` followed by k zero bytes, so that eight bytes of input
// are eight independent look-ups.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ (remainder & 1 ? kPolynomial : 0);
    }
    tables[0][byte] = remainder;
  }
  for (std::size_t zeros = 1; zeros < tables.size(); ++zeros) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const auto before = tables[zeros - 1][byte];
      tables[zeros][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}
constexpr Tables kTables = make_tables();

std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_instruction(std::span<const std::byte> bytes,
                                                                   std::uint32_t crc) {
  std::uint64_t state = ~crc;
  const auto* at = bytes.data();
  auto left = bytes.size();
  for (; left >= 8; at += 8, left -= 8)
    state = _mm_crc32_u64(state, word_at(at));
  auto narrow = static_cast<std::uint32_t>(state);
  for (; left > 0; ++at, --left)
    narrow = _mm_crc32_u8(narrow, std::to_integer<unsigned char>(*at));
  return ~narrow;
}
#endif

}  // namespace

namespace base_detail {

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc) {
  std::uint32_t state = ~crc;
  const auto* at = bytes.data();
  auto left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    const auto word = word_at(at) ^ state;
    state = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) {
      state ^= kTables[7 - byte][(word >> (8 * byte)) & 0xff];
    }
  }
  for (; left > 0; ++at, --left) {
    state = (state >> 8) ^ kTables[0][(state ^ std::to_integer<std::uint32_t>(*at)) & 0xff];
  }
  return ~state;
}

}  // namespace base_detail

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
#if defined(__x86_64__)
  static const bool has_instruction = (__builtin_cpu_init(), __builtin_cpu_supports("sse4.2"));
  if (has_instruction) return crc32c_instruction(bytes, crc);
#endif
  return base_detail::crc32c_portable(bytes, crc);
}

}  // namespace holdfast
