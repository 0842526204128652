// star_scan.hpp: the rows of a plan's table that pass, by a team of threads: as groups, or as rows.
//
// A block is a morsel. Conditions on one index column are tables of answers (index_kernels.hpp):
// the bounds of a block say which of them are open, and whether any row can pass; of the open ones
// that which lets least pass comes first. What is left to say is said of the rows that are left.
//
// Groups  Each worker has its own (groups.hpp). Many in hash tables become one by all threads: each
//         takes those of a part of the hashes.
// Errors  kCorrupt (a damaged block), kInvalidOption (an expression has no answer).
#pragma once

#include <cstdint>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/star_plan.hpp>
#include <holdfast/olap/team.hpp>

namespace holdfast::olap::mart {

// So many groups may always lie in an array; more, where a worker will meet as many rows.
inline constexpr std::uint32_t kMaxDense = 1u << 17;
// From so many on, of all workers, they become one in parts.
inline constexpr std::uint64_t kManyGroups = 1u << 14;

struct ScanCounts {
  std::uint64_t rows = 0;              // Of the table.
  std::uint64_t passed = 0;            // Rows.
  std::uint64_t blocks = 0, read = 0;  // Of them, those in which a row could pass.

  void add(const ScanCounts& more) {
    rows += more.rows, passed += more.passed;
    blocks += more.blocks, read += more.read;
  }
};

struct Scanned {
  // Of a grouped plan: [keys, aggregates] of so many groups. Texts of keys lie in the version.
  std::vector<Vector> columns;
  std::size_t groups = 0;
  std::vector<sql::Row> rows;  // Else: items, then order keys.
  ScanCounts counts;
};

// Without groups, rows come in the order in which they are stored. Of a plan with a limit some are
// left out that its answer has not: where it has no order, not all of them are looked at.
Result<Scanned> scan(const MartVersion& version, const StarPlan& plan, Team& team,
                     VectorWidth width);

}  // namespace holdfast::olap::mart
