// fixed_record.hpp: keys and values as types, for subjects whose records are typed at compile time.
//
// A volatile map is at its best with keys and values in its nodes, so the peers get types of the
// exact size for the shapes that people compare (those of the Viper paper), and std::string for all
// others.
#pragma once

#include <array>
#include <cstring>
#include <string>

#include <holdfast/bench/kv/workload.hpp>

namespace holdfast::bench::kv {

template <std::size_t kBytes>
struct FixedBytes {
  std::array<std::byte, kBytes> bytes;

  bool operator==(const FixedBytes&) const = default;
  void assign(const void* from, std::size_t) { std::memcpy(bytes.data(), from, kBytes); }
  const std::byte* data() const { return bytes.data(); }
  std::byte* data() { return bytes.data(); }
  static constexpr std::size_t size() { return kBytes; }
};

struct StringBytes {
  std::string bytes;

  bool operator==(const StringBytes&) const = default;
  void assign(const void* from, std::size_t size) {
    bytes.assign(static_cast<const char*>(from), size);
  }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(bytes.data()); }
  std::byte* data() { return reinterpret_cast<std::byte*>(bytes.data()); }
  std::size_t size() const { return bytes.size(); }
};

// Keys begin with a well-mixed word (workload.hpp): as good a hash as any, and free.
template <class Bytes>
std::size_t hash_of(const Bytes& key) {
  std::uint64_t word;
  std::memcpy(&word, key.data(), sizeof word);
  return word;
}

// Calls make.template operator()<KeyBytes, ValueBytes>() with the types for `shape`.
template <class Make>
auto with_types(const Shape& shape, Make&& make) {
  const auto is = [&](std::uint32_t key, std::uint32_t value) {
    return !shape.variable && shape.key_bytes == key && shape.value_bytes == value;
  };
  if (is(16, 200)) return make.template operator()<FixedBytes<16>, FixedBytes<200>>();
  if (is(8, 8)) return make.template operator()<FixedBytes<8>, FixedBytes<8>>();
  if (is(8, 200)) return make.template operator()<FixedBytes<8>, FixedBytes<200>>();
  if (is(16, 100)) return make.template operator()<FixedBytes<16>, FixedBytes<100>>();
  if (is(32, 500)) return make.template operator()<FixedBytes<32>, FixedBytes<500>>();
  if (is(100, 900)) return make.template operator()<FixedBytes<100>, FixedBytes<900>>();
  return make.template operator()<StringBytes, StringBytes>();
}

}  // namespace holdfast::bench::kv
