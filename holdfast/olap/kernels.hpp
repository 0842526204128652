// kernels.hpp: the loops over a block's columns, for the widest vectors that this CPU has.
//
// A group is 64 rows: one line of a byte column, one bit each of a word. Columns have kSlackBytes
// behind them, so that kernels take whole groups.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <holdfast/memory/cpu.hpp>
#include <holdfast/olap/block.hpp>
#include <holdfast/olap/bound_query.hpp>

namespace holdfast::olap {

inline constexpr std::uint32_t kGroupRows = 64;
// So many rows are filtered, then summed: masks, positions and the lines they lead to stay in the
// first-level cache, and the streams of all columns in the prefetcher's sight.
inline constexpr std::uint32_t kChunkRows = 1024;
inline constexpr std::uint32_t kChunkGroups = kChunkRows / kGroupRows;
inline constexpr std::uint32_t kMaxBlockGroups = kMaxBlockRows / kGroupRows;

struct ByteFilter {
  const std::byte* bytes;
  std::span<const ByteRange> ranges;
};

struct Kernels {
  VectorWidth width;
  // Bit i of masks[g] stays if row 64 g + i of `bytes` lies in one of the ranges. Returns how many
  // masks are not 0. Reads all lines: to pass over those of groups without candidates takes a
  // branch that the CPU cannot foresee, which costs more than a line that comes in a stream.
  std::uint32_t (*narrow)(const ByteFilter& filter, std::uint32_t groups, std::uint64_t* masks);
  // The same for the groups of `list` only, all of whose lines are asked for at once. Leaves in the
  // list those whose masks are not 0, and returns how many.
  std::uint32_t (*narrow_some)(const ByteFilter& filter, std::uint32_t* list, std::uint32_t count,
                               std::uint64_t* masks);
  // The set bits, ascending, counted from `first`. Returns how many; `rows` has room for 16 more.
  std::uint32_t (*expand)(const std::uint64_t* masks, std::uint32_t groups, std::uint32_t first,
                          std::uint32_t* rows);
  // The exclusive or of `count` bytes as 64-bit words, a multiple of 64 of them: the floor of what
  // reads memory.
  std::uint64_t (*read)(const std::byte* bytes, std::uint64_t count);
};

// The masks of the rows of a chunk that exist.
inline void set_all(std::uint32_t rows, std::uint64_t* masks) {
  const auto whole = rows / kGroupRows;
  std::fill_n(masks, whole, ~std::uint64_t{0});
  if (rows % kGroupRows != 0) masks[whole] = (std::uint64_t{1} << rows % kGroupRows) - 1;
}

// The groups whose masks are not 0. `list` has room for all of them. Returns how many.
inline std::uint32_t list_groups(const std::uint64_t* masks, std::uint32_t groups,
                                 std::uint32_t* list) {
  std::uint32_t count = 0;
  for (std::uint32_t group = 0; group < groups; ++group) {
    list[count] = group;  // Always written, kept only if it has a row: no branch.
    count += masks[group] != 0 ? 1 : 0;
  }
  return count;
}

// Those of `width`, or, if the CPU has not so much, the widest that it has.
const Kernels& kernels(VectorWidth width);

namespace kernel_detail {
extern const Kernels kPortableKernels, kAvx2Kernels, kAvx512Kernels, kVbmi2Kernels;
}

}  // namespace holdfast::olap
