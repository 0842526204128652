// access_list.hpp: where random accesses go, decided before the clock starts.
//
// A list holds 4-byte slot numbers, so that a block of a thousand is read from the first-level
// cache and costs 6 % of the traffic of 64-byte accesses (8-byte pointers: 12 %). A list longer
// than kListMax is replayed: the lines of one replay alone are several GiB, more than any cache
// keeps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <holdfast/bench/memory/words.hpp>

namespace holdfast::bench::memory {

inline constexpr std::uint64_t kListMax = std::uint64_t{1} << 25;  // 128 MiB; 2 GiB of lines.

struct SlotRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;  // > 0; first + count <= 2^32.
};

class AccessList {
 public:
  AccessList() = default;
  // `length` draws from `slots`, at most kListMax; the same seed gives the same list. With zipf the
  // ranks are scattered over the range (base/random.hpp). Filled by `threads` threads.
  AccessList(std::uint64_t length, SlotRange slots, Distribution distribution, double alpha,
             std::uint64_t seed, unsigned threads);

  std::uint64_t size() const { return size_; }
  const std::uint32_t* data() const { return slots_.get(); }
  // Sum of the slots of operations [first, first + count), which count on over replays.
  std::uint64_t sum(std::uint64_t first, std::uint64_t count) const;
  std::uint32_t at(std::uint64_t operation) const { return slots_[operation % size_]; }

 private:
  std::unique_ptr<std::uint32_t[]> slots_;
  std::uint64_t size_ = 0;
};

}  // namespace holdfast::bench::memory
