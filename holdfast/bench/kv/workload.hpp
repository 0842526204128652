// workload.hpp: the records that every store of a comparison holds, made and checked in a few
// nanoseconds from a number.
//
// Record `index` (0, 1, 2, …) has the key word mix(index), a bijection, so that keys in the order
// of their index are in random order for a tree and in random places for a hash table. A key is
// that word and words derived from it. A value is
//
//   word 0   upper 40 bits of the key word, lower 24 bits a stamp: the phase of the last writer;
//            update8 replaces the stamp, put and overwrite begin a value with their own
//   word 1   version: the phase that wrote the value as a whole
//   word 2…  tag + j * kStep, with a tag that depends on the key word and the version; a last piece
//            of fewer than 8 bytes is the beginning of such a word
//
// A check compares every word with what follows from the key and the version, so every byte of
// every value read is really read. A value of another key, another size, a torn one and one from
// the future all differ. Whether a value is the newest is checked after a phase: what it wrote
// carries its number.
//
// Neither making nor checking has a branch that depends on data, so that neighbouring operations of
// a store overlap in the processor as they would in an application. Threads: all pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/bench/unmix.hpp>
#include <holdfast/bench/value_kernels.hpp>

namespace holdfast::bench::kv {

inline constexpr std::uint32_t kMinKeyBytes = 8;
inline constexpr std::uint32_t kMaxKeyBytes = 4096;
inline constexpr std::uint32_t kMinValueBytes = 8;
inline constexpr std::uint32_t kMaxValueBytes = 1 << 20;
inline constexpr std::uint64_t kStampMask = (1u << 24) - 1;
inline constexpr std::uint32_t kAbsent = ~std::uint32_t{0};

// A bijection on 64-bit words (splitmix64), and the number whose mix is `x`.
constexpr std::uint64_t mix(std::uint64_t x) { return mix64(x + kStep); }
constexpr std::uint64_t unmix(std::uint64_t x) { return unmix64(x) - kStep; }

// x * n / 2^64: a number below n that is uniform if x is.
constexpr std::uint64_t scaled(std::uint64_t x, std::uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(x) * n) >> 64);
}

// Word 0 of a value after update8 in phase `stamp`.
constexpr std::uint64_t stamped(std::uint64_t word, std::uint64_t stamp) {
  return (word & ~kStampMask) | (stamp & kStampMask);
}

// The same of the value at `value`, which has any alignment.
inline void stamp_value(void* value, std::uint64_t stamp) {
  std::uint64_t word;
  std::memcpy(&word, value, sizeof word);
  word = stamped(word, stamp);
  std::memcpy(value, &word, sizeof word);
}

// A key as stores get it. `index` is for the floor, which has no search to do.
struct Key {
  std::uint64_t index = 0;
  std::uint64_t word = 0;
  const char* data = nullptr;
  std::uint32_t size = 0;
  std::string_view view() const { return {data, size}; }
};

struct ValueView {
  const std::byte* data = nullptr;
  std::uint32_t size = 0;
  std::string_view view() const { return {reinterpret_cast<const char*>(data), size}; }
};

struct Shape {
  std::uint32_t key_bytes = 16;
  std::uint32_t value_bytes = 200;
  // Sizes normally distributed around these with a standard deviation of a fifth of them, as in
  // section 5.3.3 of the Viper paper (paper.cpp): N(16, 3.2^2) and N(200, 40^2).
  bool variable = false;

  Status validate() const;
  bool operator==(const Shape&) const = default;
};

class Records {
 public:
  explicit Records(const Shape& shape);

  std::uint32_t key_bytes(std::uint64_t word) const {
    return shape_.variable ? key_sizes_[word & 255] : shape_.key_bytes;
  }
  std::uint32_t value_bytes(std::uint64_t word) const {
    return shape_.variable ? value_sizes_[(word >> 8) & 255] : shape_.value_bytes;
  }
  // Of one key and its value.
  std::uint32_t bytes(std::uint64_t word) const { return key_bytes(word) + value_bytes(word); }
  std::uint32_t max_key_bytes() const { return max_key_bytes_; }
  std::uint32_t max_value_bytes() const { return max_value_bytes_; }
  // Room for one key or value of any size, and for the whole words that are written.
  std::size_t key_stride() const { return round_up(max_key_bytes_, 8) + 8; }
  std::size_t value_stride() const {
    return round_up(max_value_bytes_ + 8, kCacheLineBytes) + kCacheLineBytes;
  }

  // Writes the key of record `index` to `buffer` (key_stride() bytes).
  [[gnu::always_inline]] Key key(std::uint64_t index, std::byte* buffer) const {
    Key key;
    key.index = index;
    key.word = mix(index);
    key.size = key_bytes(key.word);
    key.data = reinterpret_cast<const char*>(buffer);
    std::memcpy(buffer, &key.word, 8);
    auto derived = key.word;
    for (std::uint32_t at = 8; at < key.size; at += 8) {
      derived = derived * 0xd6e8feb86659fd93 + kStep;
      std::memcpy(buffer + at, &derived, 8);  // May write past the key, within the stride.
    }
    return key;
  }

  // 0 if the key.size bytes at `buffer` are the key of a record. Fills in its number and word.
  std::uint64_t key_difference(const std::byte* buffer, Key& key) const {
    if (key.size < 8) return 1;
    std::memcpy(&key.word, buffer, 8);
    key.index = unmix(key.word);
    std::uint64_t difference = key.size ^ key_bytes(key.word);
    auto derived = key.word;
    for (std::uint32_t at = 8; at < key.size; at += 8) {
      derived = derived * 0xd6e8feb86659fd93 + kStep;
      difference |= static_cast<std::uint64_t>(
          std::memcmp(buffer + at, &derived, std::min(key.size - at, 8u)) != 0);
    }
    return difference;
  }

  // Writes the value of version `version` to `buffer` (value_stride() bytes).
  [[gnu::always_inline]] ValueView value(const Key& key, std::uint64_t version,
                                         std::byte* buffer) const {
    const auto size = value_bytes(key.word);
    const auto first = stamped(key.word, version);
    std::memcpy(buffer, &first, 8);
    if (size > 8) {
      std::memcpy(buffer + 8, &version, 8);
      if (size > 16) kernels_.fill(buffer, (size + 7) / 8, tag(key.word, version));
    }
    return {buffer, size};
  }

  // 0 if `size` bytes at `buffer` are a right value for `key`, with a version and a stamp up to
  // `newest`. `size` is kAbsent for a value that was not found; `buffer` is readable all the same.
  [[gnu::always_inline]] std::uint64_t difference(const Key& key, const std::byte* buffer,
                                                  std::uint32_t size, std::uint64_t newest) const {
    const auto expected_size = value_bytes(key.word);
    std::uint64_t first, version;
    std::memcpy(&first, buffer, 8);
    auto difference = (size ^ expected_size) | ((first ^ key.word) & ~kStampMask) |
                      ((newest - (first & kStampMask)) >> 63);
    if (expected_size < 16) return difference;
    std::memcpy(&version, buffer + 8, 8);
    const auto start = tag(key.word, version);
    const auto words = expected_size / 8;
    difference |= ((newest - version) >> 63) | kernels_.differs(buffer, words, start);
    if (expected_size % 8 != 0)
      difference |= rest_difference(buffer, expected_size, start + words * kStep);
    return difference;
  }

  // The version that a value carries as a whole (word 1), or its stamp if it has no word 1.
  std::uint64_t version_of(const Key& key, const std::byte* buffer) const {
    std::uint64_t word;
    if (value_bytes(key.word) < 16) return stamp_of(buffer);
    std::memcpy(&word, buffer + 8, 8);
    return word;
  }
  static std::uint64_t stamp_of(const std::byte* buffer) {
    std::uint64_t word;
    std::memcpy(&word, buffer, 8);
    return word & kStampMask;
  }

 private:
  static std::uint64_t tag(std::uint64_t key_word, std::uint64_t version) {
    return (key_word + version * kStep) * 0x2545f4914f6cdd1d;
  }
  static std::uint64_t rest_difference(const std::byte* buffer, std::uint32_t size,
                                       std::uint64_t word) {
    return static_cast<std::uint64_t>(std::memcmp(buffer + size / 8 * 8, &word, size % 8) != 0);
  }

  Shape shape_;
  const ValueKernels kernels_;
  std::uint32_t max_key_bytes_, max_value_bytes_;
  std::vector<std::uint32_t> key_sizes_, value_sizes_;  // The 256 quantiles, where variable.
};

// Which record the i-th operation of a thread takes. No state, so that neighbouring operations do
// not wait for one another, and one type for all, so that each loop is compiled once per store.
class Choice {
 public:
  // Records that were not there before, in order.
  static Choice next_new(std::uint64_t first) { return {nullptr, 0, 0, first}; }
  // Uniform over all records.
  static Choice uniform(std::uint64_t seed, std::uint64_t records) {
    return {nullptr, 0, records, seed};
  }
  // From a list of mask + 1 numbers (a power of two) made beforehand; starts again at its end.
  static Choice listed(const std::uint32_t* list, std::uint64_t mask) { return {list, mask, 0, 0}; }

  std::uint64_t operator()(std::uint64_t i) const {
    if (list_ != nullptr) return list_[i & mask_];
    return records_ != 0 ? scaled(mix(base_ + i), records_) : base_ + i;
  }

 private:
  Choice(const std::uint32_t* list, std::uint64_t mask, std::uint64_t records, std::uint64_t base)
      : list_(list), mask_(mask), records_(records), base_(base) {}
  const std::uint32_t* list_;
  std::uint64_t mask_, records_, base_;
};

// `count` distinct numbers below `records` in random order, those numbered [first, first + count)
// of one permutation fixed by the seed. O(count). first + count <= records.
std::vector<std::uint32_t> permutation_slice(std::uint64_t records, std::uint64_t seed,
                                             std::uint64_t first, std::uint64_t count);

// Zipf ranks with theta 0.99 as YCSB draws them (base/random.hpp): 0 is the most frequent.
// `scramble`: spread the frequent ones over all records. O(count).
std::vector<std::uint32_t> zipf_list(std::uint64_t records, std::uint64_t seed, std::size_t count,
                                     bool scramble);

}  // namespace holdfast::bench::kv
