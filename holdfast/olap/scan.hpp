// scan.hpp: a bound query over the blocks of a star, by a team of threads.
//
// A block is a morsel; morsels.hpp says which worker takes which. Of each block a worker decides by
// the bounds of its columns which predicates are open, narrows 64 rows at a time, expands what is
// left to row numbers, and reads all other columns for these rows only. Sums are 64-bit, each
// worker has its own.
//
// Errors   kCorrupt (a damaged block; sums are void).
#pragma once

#include <cstdint>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/bound_query.hpp>
#include <holdfast/olap/kernels.hpp>
#include <holdfast/olap/star_version.hpp>
#include <holdfast/olap/team.hpp>

namespace holdfast::olap {

struct Cell {
  std::int64_t sum = 0;
  std::uint64_t rows = 0;
};

struct ScanResult {
  std::vector<Cell> cells;  // By group number.
  std::uint64_t rows = 0;   // That passed.
};

// Whether the columns behind the filters are read line by line, where so many of a chunk's groups
// have a row that passes: a stream of all lines comes sooner than a third of them one by one.
inline bool reads_all_lines(std::uint32_t candidates, std::uint32_t groups) {
  return candidates * 4 >= groups;
}

// Whether so few of a block's groups have a row that passes that the next block is narrowed as a
// whole by one filter after the other, and by the later ones only where something is left. Long
// streams come sooner than short ones of several columns in turn.
inline bool is_sparse(std::uint32_t candidates, std::uint32_t groups) {
  return candidates * 4 < groups;
}
// The same of the first block, by the shares that the filters let pass.
bool expected_sparse(const BoundQuery& query);

Result<ScanResult> scan(const StarVersion& star, const BoundQuery& query, Team& team,
                        const Kernels& kernels);

}  // namespace holdfast::olap
