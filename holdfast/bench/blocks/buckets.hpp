// buckets.hpp: a hash table with keys whose bucket is known, so that it is filled the quick way:
// node by node, in order, and every answer can be checked. For the suites that look up or insert.
#pragma once

#include <cstdint>
#include <optional>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/baselines/hash_buckets.hpp>
#include <holdfast/bench/unmix.hpp>

namespace holdfast::bench::blocks {

constexpr std::uint64_t value_of(std::uint64_t key) { return mix64(key + 1); }

// One pair per bucket, room for two. The keys of a bucket are found from their hash, which is a
// bijection: bucket_of() is floor(mix64(key) * buckets / 2^64).
class Buckets {
 public:
  using Table = baselines::HashBuckets;
  static constexpr const char* kName = "hash bucket";
  static constexpr unsigned kFilled = 1, kRoom = 2;
  static constexpr std::uint64_t kNodeBytes = sizeof(Table::Bucket);
  explicit Buckets(const Table& table)
      : nodes_(table.buckets()), width_(~std::uint64_t{0} / nodes_) {}

  std::uint64_t nodes() const { return nodes_; }
  // The hash lies i + 2 eighths into the bucket's range; `node` makes up for what width_ lacks.
  std::uint64_t key(std::uint64_t node, unsigned i) const {
    return unmix64(node * width_ + node + width_ / 8 * (i + 2));
  }
  void fill(Table& table, const Persist& persist) const {
    for (std::uint64_t node = 0; node < nodes_; ++node) {
      Table::Bucket bucket{};
      bucket.used = 1;
      bucket.slots[0] = {key(node, 0), value_of(key(node, 0))};
      persist.copy(&table.bucket(node), &bucket, sizeof bucket);
    }
  }
  void reset(Table& table, const Persist& persist) const {
    for (std::uint64_t node = 0; node < nodes_; ++node)
      persist.store(&table.bucket(node).used, 1);
  }

  // What a floor does (interleave_suite.cpp): the memory traffic of an operation and nothing else.
  void ask(const Table& table, std::uint64_t key) const {
    prefetch_for_read(&table.bucket(table.bucket_of(key)));
  }
  std::optional<std::uint64_t> read(const Table& table, std::uint64_t key) const {
    const auto& slot = table.bucket(table.bucket_of(key)).slots[0];
    if (Persist::load(&slot.key) != key) return std::nullopt;
    return Persist::load(&slot.value);
  }
  void write(const Table& table, const Persist& persist, const baselines::KeyValue& pair) const {
    auto& bucket = table.bucket(table.bucket_of(pair.key));
    const auto used = bucket.used;
    auto& slot = bucket.slots[used >> 1 & 1 ? 2 : 1];
    persist.store(&slot.key, pair.key);
    persist.store(&slot.value, pair.value);
    persist.store(&bucket.used, used << 1 | 1);
    persist.write_back(&bucket, sizeof bucket);
  }

 private:
  std::uint64_t nodes_, width_;
};

}  // namespace holdfast::bench::blocks
