// index_kernels.hpp: the loops over index columns of a block, by the widest vectors of this CPU.
//
// A table of answers has a byte for each index, 1: the row passes, and kSlackBytes behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/memory/cpu.hpp>

namespace holdfast::olap::mart {

// The indexes of one column of one block: a code per row, and what is added to it.
struct IndexView {
  const std::byte* codes = nullptr;
  std::uint32_t width = 0;    // Bits; 0: all are `base`.
  std::uint32_t base = 0;     // Modulo 2^32.
  bool null_is_zero = false;  // Code 0 is index 0, without the base.
};

struct IndexKernels {
  VectorWidth width;
  // Rows of [first, first + count) that pass, ascending. `rows` has room for 16 more.
  std::uint32_t (*select)(const IndexView& view, const std::uint8_t* passes, std::uint32_t first,
                          std::uint32_t count, std::uint32_t* rows);
};

// Those of `width`, or, if the CPU has not so much, the widest that it has.
const IndexKernels& index_kernels(VectorWidth width);

// Keeps those of `rows` that pass, in place. Returns how many.
std::uint32_t refine(const IndexView& view, const std::uint8_t* passes, std::uint32_t* rows,
                     std::uint32_t count);
// The indexes of these rows.
void gather(const IndexView& view, std::span<const std::uint32_t> rows,
            std::vector<std::uint32_t>& to);

}  // namespace holdfast::olap::mart
