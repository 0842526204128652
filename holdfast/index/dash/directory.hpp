// directory.hpp: which segment holds the keys of a hash: 2^depth sealed words on the medium.
//
// A place is the lowest `depth` bits of a hash. Doubling therefore copies the directory behind
// itself and then raises the depth: the places that are in use never move.
//
// Guarantee  After a crash a change of the depth is there wholly or not at all; link() may be there
//            for some places only.
// Threads    lookups: any, beside one that links or doubles.
// Errors     kCorrupt, naming the word, where its check does not hold.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include <holdfast/base/result.hpp>
#include <holdfast/base/sparse_array.hpp>
#include <holdfast/index/dash/dash_format.hpp>
#include <holdfast/memory/durable_writer.hpp>

namespace holdfast::index::dash_detail {

class Directory {
 public:
  Directory(const DurableWriter& writer, const DashShape& shape, std::uint64_t id)
      : writer_(writer), shape_(shape), id_(id), known_(std::size_t{1} << shape.max_depth) {}

  // A directory of one place, which is segment 0's. Not durable before the next fence.
  Status create();
  // Reads the depth.
  Status open();

  std::uint32_t depth() const { return depth_.load(std::memory_order_acquire); }
  // kCorrupt: the place's check fails, or no segment in use has that number.
  Result<std::uint32_t> segment_of(KeyHash hash) const {
    const auto place = hash.pattern(depth());
    if (const auto known = this->known(place).load(std::memory_order_relaxed); known != 0)
        [[likely]]
      return known - 1;
    return learn(place);
  }
  // Whether that place names this segment, in use or not.
  bool leads_to(std::uint32_t place, std::uint32_t segment) const;
  // How many segments are in use, from 0 on. Raised before a place leads to the new one.
  std::uint32_t in_use() const { return in_use_.load(std::memory_order_acquire); }
  void set_in_use(std::uint32_t segments) { in_use_.store(segments, std::memory_order_release); }
  // Where segment_of() will read, unless the directory doubles meanwhile.
  const void* place_of(KeyHash hash) const { return &known_[hash.pattern(depth())]; }

  // kNoSpace: max_depth is reached. Two fences.
  Status grow();
  // All places of `keys` name `segment`. Written back; not durable before the next fence.
  // Requires keys.depth <= depth().
  Status link(const SegmentKeys& keys, std::uint32_t segment);

 private:
  static std::uint64_t entry_at(std::uint32_t place) {
    return kDirectoryAt + std::uint64_t{8} * place;
  }
  std::optional<std::uint64_t> word(std::uint32_t place) const;  // Nothing: its check fails.
  Result<std::uint32_t> entry(std::uint32_t place) const;
  // The entry, from the medium; known from now on.
  Result<std::uint32_t> learn(std::uint32_t place) const;
  std::atomic_ref<std::uint32_t> known(std::uint32_t place) const {
    return std::atomic_ref<std::uint32_t>(known_[place]);
  }
  Status put_entry(std::uint32_t place, std::uint32_t segment);
  Status put_depth(std::uint32_t depth);

  const DurableWriter& writer_;
  const DashShape& shape_;
  std::uint64_t id_;
  std::atomic<std::uint32_t> depth_{0};  // As on the medium.
  std::atomic<std::uint32_t> in_use_{1};
  // By place: a segment and one, as on the medium; 0: not read since the index was opened. A
  // look-up reads 4 bytes that a cache keeps, and the check of a place is compared once.
  mutable SparseArray<std::uint32_t> known_;
};

}  // namespace holdfast::index::dash_detail
