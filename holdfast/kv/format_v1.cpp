#include <holdfast/kv/format_v1.hpp>

#include <array>
#include <cstring>

#include <holdfast/base/hash.hpp>

namespace holdfast::kv::v1 {
namespace {

std::uint64_t body_hash(std::span<const std::byte> key_and_padding,
                        std::span<const std::byte> value,
                        std::span<const std::uint32_t> patchable) {
  constexpr std::array<std::byte, sizeof(std::uint64_t)> kZeros{};
  Hash64Stream hash;
  hash.add(key_and_padding.data(), key_and_padding.size());
  std::size_t from = 0;
  for (const std::uint32_t at : patchable) {
    if (at + kZeros.size() > value.size()) break;
    hash.add(value.data() + from, at - from);
    hash.add(kZeros.data(), kZeros.size());
    from = at + kZeros.size();
  }
  hash.add(value.data() + from, value.size() - from);
  return hash.digest();
}

}  // namespace

Sums sums_of(const RecordHeader& header, std::span<const std::byte> key_and_padding,
             std::span<const std::byte> value, std::uint64_t seed,
             std::span<const std::uint32_t> patchable) {
  const std::uint64_t place = header.key_bytes_and_kind | static_cast<std::uint64_t>(header.ordinal)
                                                              << 32;
  const std::uint64_t fields =
      mix64(header.sequence + mix64(place ^ header.size_word * 0x9E3779B97F4A7C15));
  const std::uint64_t fixed = (body_hash(key_and_padding, value, patchable) + fields) ^ seed;
  std::uint64_t whole = fixed;
  for (const std::uint32_t at : patchable) {
    if (at + sizeof(std::uint64_t) > value.size()) break;
    std::uint64_t word;
    std::memcpy(&word, value.data() + at, sizeof word);
    whole = mix64(whole + mix64(word + at));
  }
  return {fixed, whole};
}

}  // namespace holdfast::kv::v1
