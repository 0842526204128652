// custom_operation.hpp: the chains of `custom_operations`: what a lookup or an update of an index
// does to memory, in one line.
//
//   chain  = op {"," op}                                   the first one is a read
//   read   = ("r" | "rp" | "rd") "_" size
//   write  = ("w" | "wp" | "wd") "_" size "_" persist ["_" offset]
//   persist = "none" | "cache" | "cacheinv" | "nocache" | "flush" | "fence"
//
// p (or nothing) is the region that is measured, d the region in DRAM. A read goes to a random
// place, aligned to its size, that depends on what the read before it returned; a write to where
// the operation before it was, plus `offset` bytes (may be negative, a multiple of 64; offsets add
// up). Sizes are multiples of 64, with K for KiB. Spaces are allowed between operations, and the
// older spelling without the first "_" (r64, w64_cache).
//
// Implements section 3.2.2 of the work that config.hpp cites. Deviations: sizes need not be powers
// of two, superfluous parts are errors, and offsets are checked against the range (the published
// tool writes outside).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::bench::memory {

// What makes a store durable; each but the first is followed by a fence, as `fence_every_…` says.
enum class PersistKind : std::uint8_t {
  kNone,             // Nothing.
  kCache,            // clwb: writes the line back, may keep it in the cache.
  kCacheInvalidate,  // clflushopt: writes it back and evicts it.
  kNoCache,          // Non-temporal stores.
  kFlush,            // clflush: as clflushopt, but one after another. Ours.
  kFence,            // No flush, only a fence: enough where caches survive a power loss. Ours.
};

struct CustomOperation {
  bool write = false;
  bool dram = false;
  std::uint64_t bytes = 0;
  PersistKind persist = PersistKind::kNone;
  std::int64_t offset = 0;
  bool operator==(const CustomOperation&) const = default;
};
using Chain = std::vector<CustomOperation>;

inline constexpr std::size_t kChainOperationsMax = 256;
inline constexpr std::uint64_t kAccessBytesMax = std::uint64_t{1} << 30;

// Errors: kInvalidOption, a line for each operation that is wrong: its number, itself, and what is
// allowed.
Result<Chain> parse_chain(std::string_view text);
std::string to_string(const Chain& chain);

// Where the writes of a read reach, in bytes relative to the read: [low, high).
struct Reach {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
// Of operation `index`, which is a read: itself and the writes that follow it.
Reach reach_of(const Chain& chain, std::size_t index);
bool uses_dram(const Chain& chain);
bool uses_target(const Chain& chain);
bool writes(const Chain& chain);
// Fences per run of the chain.
unsigned fences_of(const Chain& chain);
// Bytes read and written per run of the chain.
std::uint64_t bytes_of(const Chain& chain);

}  // namespace holdfast::bench::memory
