// calibration.hpp: two seconds that find this machine's limits, so that a number beyond them is not
// believed.
//
// A benchmark whose loop the compiler removed, or whose reads never left a register, reports rates
// that no memory has. Before a run four limits are measured, per thread, the best of several tries:
// reading from the first-level cache and from memory, writing to memory, and making one written
// line durable with the region's own primitive. A row that beats a limit by more than the slack
// below is invalid. And how far the core looks ahead, without which ratios cannot be compared.
#pragma once

#include <holdfast/bench/core_window.hpp>
#include <holdfast/memory/persist.hpp>
#include <holdfast/results/result.hpp>

namespace holdfast::bench {

struct Limits {
  double cache_read_bytes_per_s = 0;   // One thread, data in its first-level cache.
  double memory_read_bytes_per_s = 0;  // One thread, sequential, four times the last-level cache.
  double memory_write_bytes_per_s = 0;
  double dependent_read_ns = 0;  // Each address known from the read before; 4 KiB pages.
  // Store, write back and fence of one line; 0 where persist does nothing.
  double persist_line_ns = 0;
  CoreWindow window;
  double seconds = 0;  // That this took.
  results::Fields fields() const;
};

// Four times the last-level cache, from 64 to 512 MiB, but never more than an eighth of the memory
// that is available: in a small container it would be the only benchmark that does not fit.
std::uint64_t calibration_bytes();
// `persist`: of the region that will be measured.
Limits calibrate(const Persist& persist);

// Calls row.invalidate() if it claims more than the limits allow:
//   bytes_per_s_median above threads x cache_read (any footprint) x slack,
//   bytes_per_s_median above threads x memory_read x slack where `footprint_bytes` is 4 x the
//   last-level cache, fences_per_op x persist_line_ns above ns_per_op_median x slack (a fence that
//   waited for nothing).
void check_against_limits(results::Row& row, const Limits& limits, std::uint64_t footprint_bytes);
// The last of these alone.
void check_fences(results::Row& row, const Limits& limits);

}  // namespace holdfast::bench
