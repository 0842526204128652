// access_list.hpp: where random accesses go, decided before the clock starts.
//
// A list of 4-byte slot numbers that is as long as the run would cost 6 % of the traffic of 64-byte
// accesses (8-byte pointers: 12 %). So a uniform list is short, stays in the second-level cache,
// and is replayed: each time all its slots are shifted by another distance, around the end of the
// range, so that they are other lines each time (shift_of_replay(), shifted()). With zipf, where
// hot slots must stay the same, a list is long, and replayed as it is: the lines of one replay
// alone are several GiB, more than any cache keeps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <holdfast/base/hash.hpp>
#include <holdfast/bench/memory/words.hpp>

namespace holdfast::bench::memory {

inline constexpr std::uint64_t kListMax = std::uint64_t{1} << 25;  // 128 MiB; 2 GiB of lines.

inline constexpr std::uint64_t kShiftedListMax = std::uint64_t{1} << 16;  // 256 KiB.

struct SlotRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;  // > 0; first + count <= 2^32.
};

// Where a slot of the list goes in a replay. So many slots at most, that sums fit 32 bits.
inline constexpr std::uint64_t kShiftedSlotsMax = std::uint64_t{1} << 31;
constexpr std::uint32_t shifted(std::uint32_t slot, std::uint32_t first, std::uint32_t count,
                                std::uint32_t shift) {
  const auto at = slot - first + shift;
  const auto around = at - count;  // Beyond 2^31 where `at` was inside of the range.
  return first + (around < at ? around : at);
}
constexpr std::uint32_t shift_of_replay(std::uint64_t replay, std::uint64_t count) {
  return replay == 0 ? 0 : static_cast<std::uint32_t>(mix64(replay) % count);
}

class AccessList {
 public:
  AccessList() = default;
  // `length` draws from `slots`, at most kListMax; the same seed gives the same list. With zipf the
  // ranks are scattered over the range (base/random.hpp). Filled by `threads` threads.
  AccessList(std::uint64_t length, SlotRange slots, Distribution distribution, double alpha,
             std::uint64_t seed, unsigned threads);

  std::uint64_t size() const { return size_; }
  const SlotRange& range() const { return range_; }
  // Readable up to the next multiple of 16 behind its end.
  const std::uint32_t* data() const { return slots_.get(); }
  std::uint32_t at(std::uint64_t operation) const { return slots_[operation % size_]; }

 private:
  std::unique_ptr<std::uint32_t[]> slots_;
  std::uint64_t size_ = 0;
  SlotRange range_;
};

}  // namespace holdfast::bench::memory
