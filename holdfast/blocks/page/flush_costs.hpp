// flush_costs.hpp: what a page flush costs on this medium, by method, and which method to take.
//
// The model: a flush by copy-on-write writes the whole page, one by micro log each dirty line
// twice; both take two fences. Where the two meet depends on the machine, on how many threads share
// its bandwidth and on whether the clean lines must be loaded from the medium first, so it is
// measured at start-up, with the code that flushes. Implements the hybrid proposed by van
// Renen et al., "Building Blocks for Persistent Memory" (VLDB Journal 2020), section 3.2.4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/blocks/page/page_format.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast::blocks {

// Which lines of the page the caller has in DRAM.
enum class InDram : std::uint8_t { kWholePage = 0, kDirtyLines = 1 };

struct FlushCosts {
  // The most dirty lines for which the micro log is the faster one; 0: never.
  // [several flushes at a time][InDram]
  std::array<std::array<std::uint32_t, 2>, 2> micro_log_up_to{};

  bool prefers_micro_log(std::uint32_t dirty_lines, unsigned flushes_at_a_time,
                         InDram in_dram) const {
    return dirty_lines <= micro_log_up_to[flushes_at_a_time > 1][static_cast<std::size_t>(in_dram)];
  }

  // What it was derived from; empty where the limits were given.
  struct Point {
    unsigned threads;
    std::uint32_t dirty_lines;
    double micro_log_ns, copy_ns, copy_dirty_lines_ns;
  };
  std::vector<Point> measured;
};

namespace page_detail {

// Scratch memory on the medium, which is overwritten: page slots and places for records that
// nobody else uses. What it leaves in a log is no valid record.
struct CostScratch {
  static constexpr std::size_t kSlots = 64;  // More are of no use.
  std::vector<std::byte*> slots;             // At least 1; with few, flushes meet in one slot.
  std::vector<std::byte*> logs;              // At least 1.
};
// Some 20 ms. Two threads are tried where there are two CPUs and two places of each kind.
FlushCosts measure_flush_costs(const Persist& persist, const CostScratch& scratch,
                               std::uint32_t page_bytes);

// From measured points to limits. `points` of one thread count, ascending.
std::uint32_t micro_log_limit(std::span<const FlushCosts::Point> points, InDram in_dram,
                              std::uint32_t lines_per_page);

}  // namespace page_detail
}  // namespace holdfast::blocks
