// core_window.hpp: how many instructions a core looks ahead while it waits for memory.
//
// Misses of neighbouring operations overlap only if the instructions between them fit into this
// window. A virtual CPU that shares its core with a busy neighbour has half of it. So the ratio of
// a store to its floor depends on what else runs on the host: with a window of 250 the loads of two
// operations of 200 instructions overlap, with one of 120 they do not.
//
// How        Two chains of reads that miss, so many instructions between a read of the one and of
//            the other. While both are in the window, a pair takes the time of one miss; beyond it,
//            of two (the method of Wong, Measuring Reorder Buffer Capacity, 2013).
#pragma once

#include <cstdint>
#include <span>

#include <holdfast/results/result.hpp>

namespace holdfast::bench {

struct CoreWindow {
  // Instructions; 0: not found, or the CPU is of another kind than x86-64 and AArch64.
  unsigned usual = 0;  // Half of the time at least.
  unsigned best = 0;   // In the best tenth of the time: that of a core which nobody shares.
  void add_to(results::Fields& fields) const;
};

// `chain`: chain[8 * i] is the index of the line read behind line i, one cycle through all; much
// larger than the caches. Takes a quarter of a second.
CoreWindow core_window(std::span<const std::uint64_t> chain);

}  // namespace holdfast::bench
