#include <holdfast/base/aes.hpp>

#include <bit>

namespace holdfast {
namespace {

using Bytes = std::array<std::uint8_t, 256>;
using Columns = std::array<std::uint32_t, 256>;

// In the field of 256 elements modulo x^8 + x^4 + x^3 + x + 1.
constexpr std::uint8_t times_x(std::uint8_t value) {
  return static_cast<std::uint8_t>(value << 1 ^ (value & 0x80 ? 0x1b : 0));
}

// The inverse in the field, then an affine map. 3 generates the field: walking its powers upwards
// and those of its inverse downwards meets every element and its inverse.
constexpr Bytes make_substitution() {
  Bytes table{};
  std::uint8_t power = 1;
  std::uint8_t inverse = 1;
  do {
    power = static_cast<std::uint8_t>(power ^ times_x(power));
    inverse = static_cast<std::uint8_t>(inverse ^ inverse << 1);
    inverse = static_cast<std::uint8_t>(inverse ^ inverse << 2);
    inverse = static_cast<std::uint8_t>(inverse ^ inverse << 4);
    if (inverse & 0x80) inverse ^= 0x09;
    table[power] =
        static_cast<std::uint8_t>(inverse ^ std::rotl(inverse, 1) ^ std::rotl(inverse, 2) ^
                                  std::rotl(inverse, 3) ^ std::rotl(inverse, 4) ^ 0x63);
  } while (power != 1);
  table[0] = 0x63;
  return table;
}
constexpr Bytes kSubstitution = make_substitution();

// What a byte of row 0 gives to its column after substitution: 2, 1, 1 and 3 times. Row r gives the
// same, turned by r bytes.
constexpr Columns make_mixed() {
  Columns table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    const std::uint8_t once = kSubstitution[byte];
    const std::uint8_t twice = times_x(once);
    table[byte] = twice | static_cast<std::uint32_t>(once) << 8 |
                  static_cast<std::uint32_t>(once) << 16 |
                  static_cast<std::uint32_t>(twice ^ once) << 24;
  }
  return table;
}
constexpr Columns kMixed = make_mixed();

std::uint8_t byte_of(const AesBlock& state, unsigned column, unsigned row) {
  const unsigned at = column % 4 * 4 + row;
  return static_cast<std::uint8_t>(state.words[at / 8] >> (at % 8 * 8));
}

// `column(c)` is column c of the state behind the round, without the key.
template <class Column>
AesBlock assemble(const AesBlock& key, Column&& column) {
  AesBlock result = key;
#pragma GCC unroll 4
  for (unsigned c = 0; c < 4; ++c)
    result.words[c / 2] ^= static_cast<std::uint64_t>(column(c)) << (c % 2 * 32);
  return result;
}

}  // namespace

AesBlock aes_round_portable(const AesBlock& state, const AesBlock& key) {
  return assemble(key, [&](unsigned c) {
    std::uint32_t mixed = 0;
#pragma GCC unroll 4
    for (unsigned row = 0; row < 4; ++row)
      mixed ^= std::rotl(kMixed[byte_of(state, c + row, row)], static_cast<int>(8 * row));
    return mixed;
  });
}

AesBlock aes_last_round_portable(const AesBlock& state, const AesBlock& key) {
  return assemble(key, [&](unsigned c) {
    std::uint32_t column = 0;
    for (unsigned row = 0; row < 4; ++row) {
      column |= static_cast<std::uint32_t>(kSubstitution[byte_of(state, c + row, row)])
                << (8 * row);
    }
    return column;
  });
}

AesKeys expand_aes_key(const AesBlock& key) {
  AesKeys keys{key};
  std::uint8_t round_constant = 1;
  for (std::size_t round = 1; round < keys.size(); ++round) {
    const AesBlock& before = keys[round - 1];
    std::uint32_t column = std::rotr(static_cast<std::uint32_t>(before.words[1] >> 32), 8);
    std::uint32_t next = round_constant;
    for (unsigned row = 0; row < 4; ++row) {
      next ^= static_cast<std::uint32_t>(kSubstitution[column >> (8 * row) & 0xff]) << (8 * row);
    }
    for (unsigned c = 0; c < 4; ++c) {
      column = static_cast<std::uint32_t>(before.words[c / 2] >> (c % 2 * 32));
      next ^= column;
      keys[round].words[c / 2] |= static_cast<std::uint64_t>(next) << (c % 2 * 32);
    }
    round_constant = times_x(round_constant);
  }
  return keys;
}

AesBlock aes128_portable(const AesKeys& keys, const AesBlock& block) {
  AesBlock state = block ^ keys[0];
  for (std::size_t round = 1; round < 10; ++round)
    state = aes_round_portable(state, keys[round]);
  return aes_last_round_portable(state, keys[10]);
}

bool cpu_has_aes() {
  static const bool has = (__builtin_cpu_init(), __builtin_cpu_supports("aes"));
  return has;
}

}  // namespace holdfast
