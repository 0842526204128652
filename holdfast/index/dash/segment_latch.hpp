// segment_latch.hpp: a latch and version of one segment, in DRAM.
//
//   0      not repaired since the index was opened
//   odd    latched
//   even   free; each change raises it
//
// Zero bytes are a latch, so that a table for all segments costs nothing when an index is opened.
// Threads    Any.
#pragma once

#include <atomic>
#include <cstdint>

#include <holdfast/base/spin.hpp>

namespace holdfast::index::dash_detail {

class SegmentLatch {
 public:
  static constexpr std::uint64_t kNotRepaired = 0;
  static constexpr std::uint64_t kRepaired = 2;

  // The version of a segment that nobody is changing.
  std::uint64_t wait_free() const {
    for (SpinWait wait;; wait()) {
      const auto now = word().load(std::memory_order_acquire);
      if ((now & 1) == 0) return now;
    }
  }
  // After loads with acquire order: nothing changed since wait_free() returned `version`.
  bool unchanged(std::uint64_t version) const {
    return word().load(std::memory_order_relaxed) == version;
  }
  // The version before.
  std::uint64_t lock() {
    for (;;) {
      auto now = wait_free();
      if (word().compare_exchange_weak(now, now | 1, std::memory_order_acquire)) return now;
    }
  }
  void unlock(std::uint64_t version) { word().store(version, std::memory_order_release); }

 private:
  std::atomic_ref<std::uint64_t> word() const {
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(word_));
  }

  std::uint64_t word_;  // A plain one: SparseArray holds nothing that cannot be copied.
};

}  // namespace holdfast::index::dash_detail
