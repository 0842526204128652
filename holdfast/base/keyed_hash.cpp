#include <holdfast/base/keyed_hash.hpp>

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace holdfast {
namespace {

// Blocks of AES-128 under the secret bytes from which the other secrets are drawn: purpose and
// number. Frozen.
enum class Purpose : std::uint64_t { kStart = 1, kChain = 2 };

AesBlock drawn(const AesKeys& keys, Purpose purpose, std::uint64_t number) {
  return aes128_portable(keys, {{number, static_cast<std::uint64_t>(purpose)}});
}

// The blocks of a chain: the count, then 16 bytes each, of which the last ends where the bytes do.
template <class Block, class Load, class Four, class All>
Block chained(Block state, std::size_t count, Load&& load, Four&& four_rounds, All&& aes128) {
  const std::size_t last = (count + 15) / 16;
  for (std::size_t number = 0; number <= last; ++number) {
    state = state ^ load(number, std::min((number - 1) * 16, count - 16));
    state = number == last || number % 4 == 3 ? aes128(state) : four_rounds(state, number % 4);
  }
  return state;
}

// A vector with the operator that chained() needs.
struct Vector {
  __m128i bits;
  friend Vector operator^(Vector a, Vector b) { return {_mm_xor_si128(a.bits, b.bits)}; }
};

[[gnu::target("aes")]] Vector aes128_by_instruction(const AesKeys& keys, Vector block) {
  __m128i state = _mm_xor_si128(block.bits, keys[0].vector());
  for (std::size_t round = 1; round < 10; ++round)
    state = aes_round(state, keys[round].vector());
  return {aes_last_round(state, keys[10].vector())};
}

[[gnu::target("aes")]] Vector four_rounds_by_instruction(const std::array<AesBlock, 4>& keys,
                                                         Vector block) {
  __m128i state = _mm_xor_si128(block.bits, keys[0].vector());
  for (std::size_t round = 1; round < 4; ++round)
    state = aes_round(state, keys[round].vector());
  return {aes_round(state, _mm_setzero_si128())};
}

AesBlock four_rounds_portable(const std::array<AesBlock, 4>& keys, const AesBlock& block) {
  AesBlock state = block ^ keys[0];
  for (std::size_t round = 1; round < 4; ++round)
    state = aes_round_portable(state, keys[round]);
  return aes_round_portable(state, {});
}

}  // namespace

HashKey::HashKey(std::span<const std::byte, kBytes> bytes) : uses_instruction_(cpu_has_aes()) {
  std::memcpy(bytes_.data(), bytes.data(), kBytes);
  AesBlock secret;
  std::memcpy(&secret, bytes.data(), sizeof secret);
  schedule_.keys = expand_aes_key(secret);
  for (std::size_t count = 0; count < schedule_.start.size(); ++count)
    schedule_.start[count] = drawn(schedule_.keys, Purpose::kStart, count) ^ schedule_.keys[0];
  std::uint64_t number = 0;
  for (auto& block : schedule_.chain) {
    for (AesBlock& round_key : block)
      round_key = drawn(schedule_.keys, Purpose::kChain, number++);
  }
}

Result<HashKey> HashKey::draw() {
  std::array<std::byte, kBytes> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return Error{Errc::kIo, "getrandom: " + std::string(std::strerror(errno))};
  return HashKey(bytes);
}

namespace detail {

std::uint64_t keyed_hash_long(const HashKey& key, const std::byte* bytes, std::size_t count) {
  const HashKey::Schedule& with = key.schedule();
  const Vector end = chained(
      Vector{with.start[HashKey::kLong].vector()}, count,
      [&](std::size_t number, std::size_t at) -> Vector {
        if (number == 0) return {_mm_cvtsi64_si128(static_cast<long long>(count))};
        return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + at))};
      },
      [&](Vector state, std::size_t turn) {
        return four_rounds_by_instruction(with.chain[turn], state);
      },
      [&](Vector state) { return aes128_by_instruction(with.keys, state); });
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(end.bits));
}

std::uint64_t keyed_hash_portable(const HashKey& key, const std::byte* bytes, std::size_t count) {
  const HashKey::Schedule& with = key.schedule();
  if (count <= HashKey::kShortBytes) {
    const AesBlock block = count >= 8 ? AesBlock{{word_at(bytes), word_at(bytes + count - 8)}}
                                      : AesBlock{{below_word(bytes, count), 0}};
    // start[] has the key before the first round in it.
    return aes128_portable(with.keys, block ^ with.start[count] ^ with.keys[0]).words[0];
  }
  return chained(
             with.start[HashKey::kLong], count,
             [&](std::size_t number, std::size_t at) -> AesBlock {
               if (number == 0) return {{count, 0}};
               return {{word_at(bytes + at), word_at(bytes + at + 8)}};
             },
             [&](const AesBlock& state, std::size_t turn) {
               return four_rounds_portable(with.chain[turn], state);
             },
             [&](const AesBlock& state) { return aes128_portable(with.keys, state); })
      .words[0];
}

}  // namespace detail
}  // namespace holdfast
